//! Conversion of arrays of numbers, and the Python functions that write and read the lists of vocabularies as JSON.
//!
//! Numbers may be NumPy arrays or the bytes of arrays. Results are bytes, so that NumPy need not be imported for them.

use std::borrow::Cow;

use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::json_lists::{
    BYTES_PER_BYTE, MergeForm, TokenForm, TokenList, read_numbers, write_merges, write_tokens,
};
use crate::memory;
use crate::memory::cells::Plain;

/// Numbers of 32 bits: a one-dimensional array, or its bytes.
pub fn numbers_32<'a>(name: &str, given: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u32]>> {
    numbers(name, given, u32::from_ne_bytes)
}

/// Numbers of 64 bits: a one-dimensional array, or its bytes.
pub fn numbers_64<'a>(name: &str, given: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u64]>> {
    numbers(name, given, u64::from_ne_bytes)
}

/// Numbers in bytes are not copied, as long as they are where numbers may be: new memory takes longer than reading them.
fn numbers<'a, T: Element + Copy + Plain, const SIZE: usize>(
    name: &str,
    given: &'a Bound<'_, PyAny>,
    of_bytes: fn([u8; SIZE]) -> T,
) -> PyResult<Cow<'a, [T]>> {
    let Ok(bytes) = given.cast::<PyBytes>() else {
        let array: PyReadonlyArray1<'_, T> = given.extract()?;
        return Ok(array.as_array().iter().copied().collect());
    };
    let bytes = bytes.as_bytes();
    if let Some(numbers) = viewed(bytes) {
        return Ok(Cow::Borrowed(numbers));
    }
    memory::ensure(bytes.len())?;
    match bytes.as_chunks::<SIZE>() {
        (numbers, []) => Ok(numbers.iter().map(|&bytes| of_bytes(bytes)).collect()),
        _ => Err(PyValueError::new_err(format!("{name}: the number of bytes is not a multiple of {SIZE}"))),
    }
}

/// Views bytes as values, if the bytes begin where a value may and are whole values.
fn viewed<T: Plain + Copy>(bytes: &[u8]) -> Option<&[T]> {
    // SAFETY: any bytes are valid values, and what can be copied does not change through a shared borrow.
    match unsafe { bytes.align_to() } {
        ([], values, []) => Some(values),
        _ => None,
    }
}

/// Merges: an array of three columns, or its bytes.
pub fn merge_rows<'a>(given: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [[u32; 3]]>> {
    if !given.is_instance_of::<PyBytes>() {
        let array: PyReadonlyArray2<'_, u32> = given.extract()?;
        let rows = array.as_array();
        if rows.ncols() != 3 {
            return Err(PyValueError::new_err(format!("merges: rows have {} numbers, not 3", rows.ncols())));
        }
        return Ok(rows.rows().into_iter().map(|row| [row[0], row[1], row[2]]).collect());
    }
    let bytes = given.cast::<PyBytes>()?.as_bytes();
    if let Some((rows, [])) = viewed::<u32>(bytes).map(<[u32]>::as_chunks) {
        return Ok(Cow::Borrowed(rows));
    }
    memory::ensure(bytes.len())?;
    match bytes.as_chunks::<12>() {
        (rows, []) => Ok(rows.iter().map(merge_row).collect()),
        _ => Err(PyValueError::new_err("merges: the bytes are not whole rows of three numbers")),
    }
}

fn merge_row(bytes: &[u8; 12]) -> [u32; 3] {
    let numbers = bytes.as_chunks::<4>().0;
    std::array::from_fn(|at| u32::from_ne_bytes(numbers[at]))
}

/// The bytes of numbers of 32 bits.
pub fn bytes_of_32<'py>(py: Python<'py>, numbers: &[u32]) -> PyResult<Bound<'py, PyBytes>> {
    packed(py, numbers, u32::to_ne_bytes)
}

/// The bytes of numbers of 64 bits.
pub fn bytes_of_64<'py>(py: Python<'py>, numbers: &[u64]) -> PyResult<Bound<'py, PyBytes>> {
    packed(py, numbers, u64::to_ne_bytes)
}

fn packed<'py, T: Copy, const SIZE: usize>(
    py: Python<'py>,
    numbers: &[T],
    bytes_of: fn(T) -> [u8; SIZE],
) -> PyResult<Bound<'py, PyBytes>> {
    memory::ensure(numbers.len() * SIZE)?;
    PyBytes::new_with(py, numbers.len() * SIZE, |places| {
        let places = places.as_chunks_mut::<SIZE>().0;
        places.iter_mut().zip(numbers).for_each(|(place, &number)| *place = bytes_of(number));
        Ok(())
    })
}

/// Write merges as JSON: calls `write` with pieces of it.
#[pyfunction]
pub fn merges_json(
    py: Python<'_>,
    merges: &Bound<'_, PyAny>,
    form: &str,
    write: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let form = match form {
        "pairs" => MergeForm::Pairs,
        "flat" => MergeForm::Flat,
        "results" => MergeForm::Results,
        _ => return Err(unknown(form, "pairs, flat or results")),
    };
    write_merges(&merge_rows(merges)?, form, |piece| write.call1((PyBytes::new(py, piece),)).map(drop))
}

/// Write tokens, given as concatenated bytes and the end of each, as JSON: calls `write` with pieces of it.
#[pyfunction]
pub fn tokens_json(
    py: Python<'_>,
    ids: &Bound<'_, PyAny>,
    tokens: &[u8],
    ends: &Bound<'_, PyAny>,
    form: &str,
    write: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let form = match form {
        "hexadecimal" => TokenForm::Hexadecimal,
        "rows" => TokenForm::Rows,
        _ => return Err(unknown(form, "hexadecimal or rows")),
    };
    let (ids, ends) = (numbers_32("ids", ids)?, numbers_64("ends", ends)?);
    let tokens = token_list(&ids, tokens, &ends)?;
    let longest = (0..ids.len()).map(|place| tokens.get(place).1.len()).max().unwrap_or(0);
    memory::ensure(ids.len() * BYTES_PER_ORDERED + 3 * longest * BYTES_PER_BYTE)?;
    write_tokens(tokens, form, |piece| write.call1((PyBytes::new(py, piece),)).map(drop))
}

/// What putting a token in the order of ids as text takes.
const BYTES_PER_ORDERED: usize = 48;

/// Read all numbers in a text, whatever is between them; `None` if one does not fit 32 bits.
#[pyfunction]
pub fn numbers_in<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Option<Bound<'py, PyBytes>>> {
    memory::ensure(4 * text.len())?;
    py.detach(|| read_numbers(text)).map(|numbers| bytes_of_32(py, &numbers)).transpose()
}

fn unknown(form: &str, known: &str) -> PyErr {
    PyValueError::new_err(format!("form: must be {known}, not {form:?}"))
}

pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(merges_json, module)?)?;
    module.add_function(wrap_pyfunction!(tokens_json, module)?)?;
    module.add_function(wrap_pyfunction!(numbers_in, module)?)?;
    Ok(())
}

/// Concatenated tokens with their ends and ids, which must fit each other.
fn token_list<'a>(ids: &'a [u32], joined: &'a [u8], ends: &'a [u64]) -> PyResult<TokenList<'a>> {
    if ends.len() != ids.len() {
        return Err(PyValueError::new_err(format!("ends: {} ends for {} ids", ends.len(), ids.len())));
    }
    let mut start = 0;
    for &end in ends {
        if !(start..=joined.len() as u64).contains(&end) {
            let message = format!("ends: {end} is not between {start} and {}", joined.len());
            return Err(PyValueError::new_err(message));
        }
        start = end;
    }
    if start < joined.len() as u64 {
        return Err(PyValueError::new_err(format!("ends: the last is {start}, not {}", joined.len())));
    }
    Ok(TokenList { ids, joined, ends })
}

/// Split concatenated tokens, and pair each with its id.
pub fn cut_tokens<'a>(ids: &[u32], joined: &'a [u8], ends: &[u64]) -> PyResult<Vec<(u32, &'a [u8])>> {
    let mut start = 0;
    let cut =
        |(&id, &end): (&u32, &u64)| (id, &joined[std::mem::replace(&mut start, end as usize)..end as usize]);
    token_list(ids, joined, ends).map(|_| ids.iter().zip(ends).map(cut).collect())
}
