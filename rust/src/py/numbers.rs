//! The Python functions that write and read the lists of vocabularies as JSON. Arrays of numbers are passed as their
//! bytes, so that NumPy need not be imported for them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::json_lists::{
    BYTES_PER_BYTE, MergeForm, TokenForm, TokenList, read_numbers, write_merges, write_tokens,
};
use crate::memory;
use crate::memory::cells::Plain;

/// The numbers whose bytes these are, where they are: new memory takes longer than reading them.
pub fn numbers<'a, T: Plain + Copy>(name: &str, bytes: &'a [u8]) -> PyResult<&'a [T]> {
    // The content of `bytes` begins where any number may begin.
    viewed(bytes).ok_or_else(|| {
        PyValueError::new_err(format!("{name}: the number of bytes is not a multiple of {}", size_of::<T>()))
    })
}

/// Merges, in rows of three numbers.
pub fn merge_rows(bytes: &[u8]) -> PyResult<&[[u32; 3]]> {
    match numbers::<u32>("merges", bytes)?.as_chunks() {
        (rows, []) => Ok(rows),
        _ => Err(PyValueError::new_err("merges: the bytes are not whole rows of three numbers")),
    }
}

/// The bytes of numbers.
pub fn bytes_of<'py, T: Plain + Copy>(py: Python<'py>, numbers: &[T]) -> PyResult<Bound<'py, PyBytes>> {
    memory::ensure(size_of_val(numbers))?;
    Ok(PyBytes::new(py, viewed(numbers).unwrap_or_default()))
}

/// Views values as others, if they begin where these may and are whole ones.
fn viewed<T: Plain + Copy, U: Plain + Copy>(values: &[T]) -> Option<&[U]> {
    // SAFETY: any bytes are valid values, and what can be copied does not change through a shared borrow.
    match unsafe { values.align_to() } {
        ([], values, []) => Some(values),
        _ => None,
    }
}

/// Write merges as JSON: calls `write` with pieces of it.
#[pyfunction]
pub fn merges_json(py: Python<'_>, merges: &[u8], form: MergeForm, write: &Bound<'_, PyAny>) -> PyResult<()> {
    write_merges(merge_rows(merges)?, form, |piece| write.call1((PyBytes::new(py, piece),)).map(drop))
}

/// Write tokens, given as concatenated bytes and the end of each, as JSON: calls `write` with pieces of it.
#[pyfunction]
pub fn tokens_json(
    py: Python<'_>,
    ids: &[u8],
    tokens: &[u8],
    ends: &[u8],
    form: TokenForm,
    write: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let ids = numbers("ids", ids)?;
    let tokens = token_list(ids, tokens, numbers("ends", ends)?)?;
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
    py.detach(|| read_numbers(text)).map(|numbers| bytes_of(py, &numbers)).transpose()
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
