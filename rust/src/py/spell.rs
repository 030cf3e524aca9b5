//! Base ids and merges in, arrays of all tokens out; tokens and merges in, whether they fit.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::encode::merge_rows;
use super::recover::cut;
use crate::memory;
use crate::spell;

type Arrays<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyBytes>, Bound<'py, PyArray1<u64>>);

/// Spells what merges make: all ids, the joined bytes of their tokens, and where each ends.
#[pyfunction]
pub fn spell_merges<'py>(
    py: Python<'py>,
    base_ids: [u32; 256],
    merges: PyReadonlyArray2<'py, u32>,
    most: usize,
) -> PyResult<Option<Arrays<'py>>> {
    let merges = merge_rows(&merges)?;
    let spelled = py.detach(|| spell::spell_merges(&base_ids, &merges, most));
    memory::ensure(spelled.as_ref().map_or(0, |spelled| spelled.joined.len()))?;
    Ok(spelled.map(|spelled| {
        let joined = PyBytes::new(py, &spelled.joined);
        (spelled.ids.into_pyarray(py), joined, spelled.ends.into_pyarray(py))
    }))
}

/// Tells whether parents are made before their merges, or `None` where a merge does not make what they spell.
#[pyfunction]
pub fn spelled_in_order(
    py: Python<'_>,
    tokens: &[u8],
    ends: PyReadonlyArray1<'_, u64>,
    merges: PyReadonlyArray2<'_, u32>,
) -> PyResult<Option<bool>> {
    let tokens = cut(tokens, &ends)?;
    let merges = merge_rows(&merges)?;
    Ok(py.detach(|| spell::spelled_in_order(&tokens, &merges)))
}
