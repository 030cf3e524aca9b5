//! The Python functions `recover_merges` and `places_of_length`. Arrays of numbers are passed as bytes.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::PyWatch;
use super::numbers::{bytes_of, numbers};
use crate::{memory, recover};

/// The memory of a token in the tables and the result, and of a byte of the longest token while it is merged.
const BYTES_PER_TOKEN: usize = 256;
const BYTES_PER_BYTE: usize = 64;

/// Finds the two parents of every token; tokens are in the order of rank, and some may have equal ones.
#[pyfunction]
#[pyo3(signature = (ids, tokens, ends, equal_ranks=vec![]))]
pub fn recover_merges<'py>(
    py: Python<'py>,
    ids: &[u8],
    tokens: &[u8],
    ends: &[u8],
    equal_ranks: Vec<(u32, u32)>,
) -> PyResult<(Bound<'py, PyBytes>, Vec<u32>)> {
    let ids = numbers::<u32>("ids", ids)?;
    let tokens = cut(tokens, numbers("ends", ends)?)?;
    if ids.len() != tokens.len() {
        return Err(PyValueError::new_err(format!("ids: {} for {} tokens", ids.len(), tokens.len())));
    }
    let (rows, unreachable) = py.detach(|| {
        let origins = recover::recover_merges(&tokens, &equal_ranks, &mut PyWatch::default())?;
        Ok::<_, crate::error::Error>(recover::rows_of_ids(&origins, ids))
    })?;
    Ok((bytes_of(py, rows.as_flattened())?, unreachable))
}

/// The places of all tokens of a length in bytes.
#[pyfunction]
pub fn places_of_length(ends: &[u8], length: u64) -> PyResult<Vec<usize>> {
    let ends = numbers::<u64>("ends", ends)?;
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let lengths = ends.iter().zip(starts).map(|(&end, start)| end.wrapping_sub(start));
    Ok(lengths.enumerate().filter_map(|(place, own)| (own == length).then_some(place)).collect())
}

/// Split concatenated tokens; it is also checked that there is memory to merge each of them.
pub fn cut<'a>(tokens: &'a [u8], ends: &[u64]) -> PyResult<Vec<&'a [u8]>> {
    let longest = ends.windows(2).map(|ends| ends[1].saturating_sub(ends[0])).max();
    memory::ensure(ends.len() * BYTES_PER_TOKEN + longest.unwrap_or(0) as usize * BYTES_PER_BYTE)?;
    let mut cut = Vec::with_capacity(ends.len());
    let mut start = 0;
    for &end in ends {
        let token = usize::try_from(end).ok().and_then(|end| tokens.get(start..end));
        cut.push(
            token.ok_or_else(|| PyValueError::new_err("ends: they must ascend within the joined tokens"))?,
        );
        start = end as usize;
    }
    Ok(cut)
}
