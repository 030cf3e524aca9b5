//! `recover_merges`: tokens in the order of rank in, an array of their parents out.

use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::PyWatch;
use crate::memory;
use crate::recover::{self, Origin};

/// What a token takes in the tables and the result, and a byte of the longest one while it is merged.
const FOR_EACH_TOKEN: usize = 256;
const FOR_EACH_BYTE: usize = 64;

/// Finds the two parents of every token.
#[pyfunction]
pub fn recover_merges<'py>(
    py: Python<'py>,
    tokens: &[u8],
    ends: PyReadonlyArray1<'py, u64>,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let tokens = cut(tokens, &ends)?;
    let origins = py.detach(|| recover::recover_merges(&tokens, &mut PyWatch::default()))?;
    let rows = origins.len();
    let flat: Vec<i64> = origins.into_iter().flat_map(row).collect();
    flat.into_pyarray(py).reshape([rows, 2])
}

/// Cut joined tokens apart; there is memory to look at how each of them is merged.
pub fn cut<'a>(tokens: &'a [u8], ends: &PyReadonlyArray1<'_, u64>) -> PyResult<Vec<&'a [u8]>> {
    let longest = ends.as_array().windows(2).into_iter().map(|ends| ends[1].saturating_sub(ends[0])).max();
    memory::ensure(ends.len()? * FOR_EACH_TOKEN + longest.unwrap_or(0) as usize * FOR_EACH_BYTE)?;
    let mut cut = Vec::with_capacity(ends.as_array().len());
    let mut start = 0;
    for &end in ends.as_array() {
        let token = usize::try_from(end).ok().and_then(|end| tokens.get(start..end));
        cut.push(token.ok_or_else(|| PyValueError::new_err("ends do not cut the joined tokens"))?);
        start = end as usize;
    }
    Ok(cut)
}

fn row(origin: Origin) -> [i64; 2] {
    match origin {
        Origin::Merge(left, right) => [left.into(), right.into()],
        Origin::Base | Origin::Unreachable => [-1, -1],
    }
}
