//! The Python functions `find_merges`, `read_printed`, `listed_merges` and `merges_that_happen`. Arrays of numbers are
//! passed as bytes.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use super::PyWatch;
use super::numbers::{bytes_of_32, bytes_of_64, merge_rows, numbers_32, numbers_64};
use super::recover::cut;
use crate::text_pairs::TokenUse;
use crate::{json_merges, memory, printable, text_pairs};

/// The memory of a line in the result, of a merge in the table, and of a token while it is read.
const BYTES_PER_LINE: usize = 64;
const BYTES_PER_MERGE: usize = 64;
const BYTES_PER_PRINTED: usize = 128;

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

type Printed<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Vec<Bound<'py, PyString>>,
);

/// Reads tokens in printable form; see [`printable`].
#[pyfunction]
pub fn read_printed<'py>(py: Python<'py>, ids: &Bound<'py, PyDict>) -> PyResult<Printed<'py>> {
    memory::ensure(ids.len() * BYTES_PER_PRINTED)?;
    let mut texts = Vec::with_capacity(ids.len());
    for (text, id) in ids.iter() {
        texts.push((id.extract::<u32>()?, text.cast_into::<PyString>()?));
    }
    let mut tokens = Vec::with_capacity(texts.len());
    for (id, text) in &texts {
        tokens.push((*id, text.to_str()?));
    }
    let read = printable::read_printed(&tokens);
    Ok((
        bytes_of_32(py, &read.ids)?,
        PyBytes::new(py, &read.joined),
        bytes_of_64(py, &read.ends)?,
        PyBytes::new(py, &read.printed),
        bytes_of_64(py, &read.printed_ends)?,
        read.others.into_iter().map(|place| texts[place].1.clone()).collect(),
    ))
}

type Listed<'py> = (Bound<'py, PyBytes>, Option<usize>, Option<(usize, [bool; 3])>, Option<usize>);

/// Finds the merges of lines `left right` among tokens with ids: the rows of ids, the first line without two parts, the
/// first with an unknown part and which it is, and the first that repeats another. Tokens in `only_decoded` are in no
/// text; those without an id, which are the last, are cut out of texts.
#[pyfunction]
pub fn listed_merges<'py>(
    py: Python<'py>,
    ids: &Bound<'py, PyAny>,
    tokens: &[u8],
    ends: &Bound<'py, PyAny>,
    lines: &[u8],
    keeps_last: bool,
    only_decoded: Vec<usize>,
) -> PyResult<Listed<'py>> {
    let (ids, ends) = (numbers_32("ids", ids)?, numbers_64("ends", ends)?);
    let tokens = cut(tokens, &ends)?;
    let mut uses: Vec<TokenUse> = ids.into_iter().map(TokenUse::Merged).collect();
    uses.resize(tokens.len().max(uses.len()), TokenUse::CutOut);
    for place in only_decoded {
        *uses
            .get_mut(place)
            .ok_or_else(|| PyValueError::new_err("only_decoded: there is no such token"))? =
            TokenUse::OnlyDecoded;
    }
    let count = py.detach(|| lines.iter().filter(|&&byte| byte == b'\n').count() + 1);
    memory::ensure(count * BYTES_PER_LINE)?;
    let listed = py.detach(|| {
        let watch = &mut PyWatch::default();
        text_pairs::listed_merges(&tokens, |token| uses[token as usize], lines, keeps_last, watch)
    })?;
    match listed {
        Ok(listed) => {
            let rows = bytes_of_32(py, listed.rows.as_flattened())?;
            Ok((rows, None, listed.unknown, listed.repeated))
        }
        Err(number) => Ok((PyBytes::new(py, b""), Some(number), None, None)),
    }
}

/// Leaves out the merges that never apply to a text; ids are in their order, and merges are rows of them.
#[pyfunction]
pub fn merges_that_happen<'py>(
    py: Python<'py>,
    ids: &Bound<'py, PyAny>,
    tokens: &[u8],
    ends: &Bound<'py, PyAny>,
    merges: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (ids, ends) = (numbers_32("ids", ids)?, numbers_64("ends", ends)?);
    let tokens = cut(tokens, &ends)?;
    let merges = merge_rows(merges)?;
    memory::ensure(3 * merges.len() * BYTES_PER_MERGE)?;
    let kept =
        py.detach(|| text_pairs::merges_that_happen(&ids, &tokens, merges, &mut PyWatch::default()))?;
    let kept = kept.ok_or_else(|| PyValueError::new_err("merges: one names a token that does not exist"))?;
    bytes_of_32(py, kept.as_flattened())
}

pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(find_merges, module)?)?;
    module.add_function(wrap_pyfunction!(read_printed, module)?)?;
    module.add_function(wrap_pyfunction!(listed_merges, module)?)?;
    module.add_function(wrap_pyfunction!(merges_that_happen, module)?)?;
    Ok(())
}
