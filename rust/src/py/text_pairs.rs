//! The Python functions `find_merges`, `resolve_pairs` and `happening_merges`.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::PyWatch;
use super::numbers::merge_rows;
use super::recover::cut;
use crate::{json_merges, memory, text_pairs};

/// The memory of a line in the result, and of a merge in the table.
const BYTES_PER_LINE: usize = 32;
const BYTES_PER_MERGE: usize = 64;

/// The start, the end and the merges of the first list of merges in a JSON text; see [`json_merges`].
#[pyfunction]
pub fn find_merges<'py>(
    py: Python<'py>,
    json: &[u8],
) -> PyResult<Option<(usize, usize, Bound<'py, PyBytes>)>> {
    memory::ensure(json.len())?;
    let found = py.detach(|| json_merges::find_merges(json));
    Ok(found.map(|(place, lines)| (place.start, place.end, PyBytes::new(py, &lines))))
}

/// Finds the tokens of the left part, the right part and both together for lines `left right`: an array of three numbers
/// per line, or the number of the first line without two parts.
#[pyfunction]
pub fn resolve_pairs<'py>(
    py: Python<'py>,
    tokens: &[u8],
    ends: PyReadonlyArray1<'py, u64>,
    lines: &[u8],
) -> PyResult<(Bound<'py, PyArray2<u32>>, Option<usize>)> {
    let tokens = cut(tokens, &ends)?;
    let count = py.detach(|| lines.iter().filter(|&&byte| byte == b'\n').count() + 1);
    memory::ensure(count * BYTES_PER_LINE)?;
    let found = py.detach(|| text_pairs::resolve_pairs(&tokens, lines, &mut PyWatch::default()))?;
    let (rows, wrong) = match found {
        Ok(rows) => (rows, None),
        Err(number) => (Vec::new(), Some(number)),
    };
    let count = rows.len();
    Ok((rows.into_flattened().into_pyarray(py).reshape([count, 3])?, wrong))
}

/// For each merge, a row of left, right and resulting token: whether it can ever apply.
#[pyfunction]
pub fn happening_merges<'py>(
    py: Python<'py>,
    tokens: &[u8],
    ends: PyReadonlyArray1<'py, u64>,
    merges: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let tokens = cut(tokens, &ends)?;
    let merges = merge_rows(merges)?;
    memory::ensure(3 * merges.len() * BYTES_PER_MERGE)?;
    let happen = py.detach(|| text_pairs::happening_merges(&tokens, &merges, &mut PyWatch::default()))?;
    Ok(happen.into_pyarray(py))
}
