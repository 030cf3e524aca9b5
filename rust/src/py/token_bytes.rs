//! The Python functions that build and check the tokens of merges, and read tokens in base64. Arrays of numbers are
//! passed as bytes.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::numbers::{bytes_of, merge_rows, numbers};
use super::recover::cut;
use crate::{base64, memory, token_bytes};

/// Whether merges are in order, and the id of each single byte.
type CheckedTokens = (bool, Vec<(u32, u8)>);
type SpelledBytes<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Builds the tokens of merges: all ids, the concatenated bytes of their tokens, and the end of each.
#[pyfunction]
pub fn spell_merges<'py>(
    py: Python<'py>,
    base_ids: [u32; 256],
    merges: &[u8],
    most: usize,
) -> PyResult<Option<SpelledBytes<'py>>> {
    let merges = merge_rows(merges)?;
    let Some(spelled) = py.detach(|| token_bytes::spell_merges(&base_ids, merges, most)) else {
        return Ok(None);
    };
    memory::ensure(spelled.joined.len())?;
    let joined = PyBytes::new(py, &spelled.joined);
    Ok(Some((bytes_of(py, &spelled.ids)?, joined, bytes_of(py, &spelled.ends)?)))
}

/// Converts the symbols of merges to ids: `base_ids` for bytes; new tokens are numbered from `first` on. Returns the
/// merges, and the id after the last new one.
#[pyfunction]
pub fn number_merges<'py>(
    py: Python<'py>,
    merges: &Bound<'py, PyBytes>,
    base_ids: [u32; 256],
    first: u32,
) -> PyResult<(Bound<'py, PyBytes>, u32)> {
    let rows = merge_rows(merges.as_bytes())?;
    memory::ensure(rows.len() * 64)?;
    let (numbered, end) = py.detach(|| token_bytes::number_merges(rows, &base_ids, first));
    match numbered {
        Cow::Borrowed(_) => Ok((merges.clone(), end)),
        Cow::Owned(numbered) => Ok((bytes_of(py, numbered.as_flattened())?, end)),
    }
}

/// Checks tokens with ids in their order, and merges of them: whether the parents of every merge are made before it, and
/// the id of each single byte; `None` if anything is wrong.
#[pyfunction]
pub fn check_tokens(
    py: Python<'_>,
    ids: &[u8],
    tokens: &[u8],
    ends: &[u8],
    merges: &[u8],
) -> PyResult<Option<CheckedTokens>> {
    let ids = numbers::<u32>("ids", ids)?;
    let tokens = cut(tokens, numbers("ends", ends)?)?;
    let merges = merge_rows(merges)?;
    let checked = py.detach(|| token_bytes::checked(ids, &tokens, merges));
    Ok(checked.map(|checked| (checked.in_order, checked.bytes)))
}

/// What a byte of a file of lines may take in the result.
const FOR_EACH_BYTE: usize = 4;

/// Reads lines of a token in base64 and its number: all numbers, the joined bytes of the tokens, and where each ends.
#[pyfunction]
pub fn base64_lines<'py>(
    py: Python<'py>,
    content: &[u8],
    largest: u32,
) -> PyResult<Option<SpelledBytes<'py>>> {
    memory::ensure(content.len() * FOR_EACH_BYTE)?;
    let Some(read) = py.detach(|| base64::numbered_lines(content, largest)) else { return Ok(None) };
    let joined = PyBytes::new(py, &read.joined);
    Ok(Some((bytes_of(py, &read.numbers)?, joined, bytes_of(py, &read.ends)?)))
}
