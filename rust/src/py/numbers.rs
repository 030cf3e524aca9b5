//! Conversion of arrays of numbers, and the Python functions that write and read the lists of vocabularies as JSON.
//!
//! Numbers may be NumPy arrays or the bytes of arrays. Results are bytes, so that NumPy need not be imported for them.

use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::json_lists::{
    BYTES_PER_BYTE, BYTES_PER_MERGE, BYTES_PER_TOKEN, MergeForm, TokenForm, read_numbers, write_merges,
    write_tokens,
};
use crate::memory;

/// Numbers of 32 bits: a one-dimensional array, or its bytes.
pub fn numbers_32(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    numbers(name, given, u32::from_ne_bytes)
}

/// Numbers of 64 bits: a one-dimensional array, or its bytes.
pub fn numbers_64(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    numbers(name, given, u64::from_ne_bytes)
}

fn numbers<T: Element + Copy, const SIZE: usize>(
    name: &str,
    given: &Bound<'_, PyAny>,
    of_bytes: fn([u8; SIZE]) -> T,
) -> PyResult<Vec<T>> {
    let Ok(bytes) = given.cast::<PyBytes>() else {
        let array: PyReadonlyArray1<'_, T> = given.extract()?;
        return Ok(array.as_array().iter().copied().collect());
    };
    memory::ensure(bytes.as_bytes().len())?;
    match bytes.as_bytes().as_chunks::<SIZE>() {
        (numbers, []) => Ok(numbers.iter().map(|&bytes| of_bytes(bytes)).collect()),
        _ => Err(PyValueError::new_err(format!("{name}: the number of bytes is not a multiple of {SIZE}"))),
    }
}

/// Merges: an array of three columns, or its bytes.
pub fn merge_rows(given: &Bound<'_, PyAny>) -> PyResult<Vec<[u32; 3]>> {
    if !given.is_instance_of::<PyBytes>() {
        let array: PyReadonlyArray2<'_, u32> = given.extract()?;
        let rows = array.as_array();
        if rows.ncols() != 3 {
            return Err(PyValueError::new_err(format!("merges: rows have {} numbers, not 3", rows.ncols())));
        }
        return Ok(rows.rows().into_iter().map(|row| [row[0], row[1], row[2]]).collect());
    }
    let bytes = given.cast::<PyBytes>()?.as_bytes();
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

/// Write merges as JSON.
#[pyfunction]
pub fn merges_json<'py>(
    py: Python<'py>,
    merges: &Bound<'_, PyAny>,
    form: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let form = match form {
        "pairs" => MergeForm::Pairs,
        "flat" => MergeForm::Flat,
        "results" => MergeForm::Results,
        _ => return Err(unknown(form, "pairs, flat or results")),
    };
    let merges = merge_rows(merges)?;
    memory::ensure(2 * merges.len() * BYTES_PER_MERGE)?;
    Ok(PyBytes::new(py, &py.detach(|| write_merges(&merges, form))))
}

/// Write tokens, given as concatenated bytes and the end of each, as JSON.
#[pyfunction]
pub fn tokens_json<'py>(
    py: Python<'py>,
    ids: &Bound<'_, PyAny>,
    tokens: &[u8],
    ends: &Bound<'_, PyAny>,
    form: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let form = match form {
        "lists" => TokenForm::Lists,
        "hexadecimal" => TokenForm::Hexadecimal,
        "rows" => TokenForm::Rows,
        _ => return Err(unknown(form, "lists, hexadecimal or rows")),
    };
    let (ids, ends) = (numbers_32("ids", ids)?, numbers_64("ends", ends)?);
    memory::ensure(4 * ids.len() * BYTES_PER_TOKEN + 2 * tokens.len() * BYTES_PER_BYTE)?;
    let tokens = cut_tokens(tokens, ends.into_iter(), ids.into_iter())?;
    Ok(PyBytes::new(py, &py.detach(|| write_tokens(&tokens, form))))
}

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

/// Split concatenated tokens, and pair each with its id.
pub fn cut_tokens(
    tokens: &[u8],
    ends: impl ExactSizeIterator<Item = u64>,
    ids: impl ExactSizeIterator<Item = u32>,
) -> PyResult<Vec<(u32, &[u8])>> {
    if ends.len() != ids.len() {
        return Err(PyValueError::new_err(format!("ends: {} ends for {} ids", ends.len(), ids.len())));
    }
    let mut start = 0;
    let mut cut = Vec::with_capacity(ids.len());
    for (end, id) in ends.zip(ids) {
        let token = usize::try_from(end).ok().and_then(|end| tokens.get(start..end));
        let token = token.ok_or_else(|| {
            PyValueError::new_err(format!("ends: {end} is not between {start} and {}", tokens.len()))
        })?;
        start += token.len();
        cut.push((id, token));
    }
    if start < tokens.len() {
        return Err(PyValueError::new_err(format!("ends: the last is {start}, not {}", tokens.len())));
    }
    Ok(cut)
}
