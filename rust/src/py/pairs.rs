//! Merges by the spelling of their parts in, arrays of tokens out; which merges of an array ever happen.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use super::PyWatch;
use super::numbers::merge_rows;
use super::recover::cut;
use crate::{memory, pairs};

/// What a line takes in the result, and what a merge takes in the table.
const FOR_EACH_LINE: usize = 32;
const FOR_EACH_MERGE: usize = 64;

/// Finds the parts of lines `left right`, and both together, among tokens: an array of three for each line, or the
/// number of the first line that is not two parts.
#[pyfunction]
pub fn resolve_pairs<'py>(
    py: Python<'py>,
    tokens: &[u8],
    ends: PyReadonlyArray1<'py, u64>,
    lines: &[u8],
) -> PyResult<(Bound<'py, PyArray2<u32>>, Option<usize>)> {
    let tokens = cut(tokens, &ends)?;
    let count = py.detach(|| lines.iter().filter(|&&byte| byte == b'\n').count() + 1);
    memory::ensure(count * FOR_EACH_LINE)?;
    let found = py.detach(|| pairs::resolve_pairs(&tokens, lines, &mut PyWatch::default()))?;
    let (rows, wrong) = match found {
        Ok(rows) => (rows, None),
        Err(number) => (Vec::new(), Some(number)),
    };
    let count = rows.len();
    Ok((rows.into_flattened().into_pyarray(py).reshape([count, 3])?, wrong))
}

/// Tells which merges, rows of left, right and resulting token, ever happen.
#[pyfunction]
pub fn happening_merges<'py>(
    py: Python<'py>,
    tokens: &[u8],
    ends: PyReadonlyArray1<'py, u64>,
    merges: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let tokens = cut(tokens, &ends)?;
    let merges = merge_rows(merges)?;
    memory::ensure(3 * merges.len() * FOR_EACH_MERGE)?;
    let happen = py.detach(|| pairs::happening_merges(&tokens, &merges, &mut PyWatch::default()))?;
    Ok(happen.into_pyarray(py))
}
