//! The Python functions `cut_json`, `read_printed`, `read_pieces`, `listed_merges` and `merges_that_happen`. Arrays of
//! numbers are passed as bytes.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use super::PyWatch;
use super::vocabulary::{bytes_of, cut, merge_rows, numbers, tokens_of};
use crate::pieces::PieceRules;
use crate::read::cut_json::LongList;
use crate::text_pairs::TokenUse;
use crate::{memory, pieces, printable, text_pairs};

/// The memory of a pair in the result, of a merge in the table, and of a token while it is read.
const BYTES_PER_PAIR: usize = 64;
const BYTES_PER_MERGE: usize = 64;
const BYTES_PER_PRINTED: usize = 128;

/// Cuts the long lists out of the JSON of a tokenizer; see [`crate::read::cut_json`]. Numbers are given as the bytes of an array.
#[pyfunction]
pub fn cut_json<'py>(
    py: Python<'py>,
    json: &[u8],
) -> PyResult<Option<(Bound<'py, PyBytes>, Bound<'py, PyDict>)>> {
    memory::ensure(2 * json.len())?;
    let Some(cut) = py.detach(|| crate::read::cut_json::cut_json(json)) else { return Ok(None) };
    let lists = PyDict::new(py);
    for (place, list) in cut.lists {
        match list {
            LongList::Numbers(numbers) => lists.set_item(place, bytes_of(py, &numbers)?)?,
            LongList::Pairs(pairs) => lists.set_item(place, PyBytes::new(py, &pairs))?,
            LongList::Ids(texts, ends, numbers) => {
                let (ids, mut start) = (PyDict::new(py), 0);
                for (&end, &id) in ends.iter().zip(&numbers) {
                    ids.set_item(PyString::from_bytes(py, &texts[start..end])?, id)?;
                    start = end;
                }
                if ids.len() < numbers.len() {
                    return Ok(None); // A text is there twice.
                }
                lists.set_item(place, ids)?;
            }
        }
    }
    Ok(Some((PyBytes::new(py, &cut.rest), lists)))
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
    let texts = texts_of(ids)?;
    let mut tokens = Vec::with_capacity(texts.len());
    for (id, text) in &texts {
        tokens.push((*id, text.to_str()?));
    }
    let read = printable::read_printed(&tokens);
    Ok((
        bytes_of(py, &read.ids)?,
        PyBytes::new(py, &read.joined),
        bytes_of(py, &read.ends)?,
        PyBytes::new(py, &read.printed),
        bytes_of(py, &read.printed_ends)?,
        read.others.into_iter().map(|place| texts[place].1.clone()).collect(),
    ))
}

/// Tokens of bytes that are read from pieces; see [`pieces`].
#[pyclass(frozen, get_all, module = "bpetite._engine")]
pub struct PieceTokens {
    ids: Py<PyBytes>,
    tokens: Py<PyBytes>,
    ends: Py<PyBytes>,
    characters: Py<PyBytes>,
    /// The ids of the pieces in the given order, and their joined texts with the end of each.
    piece_ids: Py<PyBytes>,
    piece_texts: Py<PyBytes>,
    piece_ends: Py<PyBytes>,
    single_bytes: Vec<(u32, u8)>,
    others: Vec<usize>,
    spare: Vec<(u32, u8)>,
    has_inner_spaces: bool,
    has_joined_lines: bool,
}

/// Reads tokens that are made of characters; see [`pieces`].
#[pyfunction]
pub fn read_pieces(
    py: Python<'_>,
    ids: &Bound<'_, PyDict>,
    byte_ids: Vec<(u8, u32)>,
    needed: Vec<u8>,
    first_free: u32,
    has_marks: bool,
) -> PyResult<PieceTokens> {
    let texts = texts_of(ids)?;
    let mut given = Vec::with_capacity(texts.len());
    let (mut piece_texts, mut piece_ends) = (Vec::new(), Vec::with_capacity(texts.len()));
    for (id, text) in &texts {
        let text = text.to_str()?;
        given.push((*id, text));
        piece_texts.extend_from_slice(text.as_bytes());
        piece_ends.push(piece_texts.len() as u64);
    }
    let rules = PieceRules { has_marks, byte_ids: &byte_ids, needed: &needed, first_free };
    let read = pieces::read_pieces(&given, rules)?;
    let piece_ids: Vec<u32> = given.iter().map(|&(id, _)| id).collect();
    Ok(PieceTokens {
        ids: bytes_of(py, &read.ids)?.unbind(),
        tokens: PyBytes::new(py, &read.joined).unbind(),
        ends: bytes_of(py, &read.ends)?.unbind(),
        characters: bytes_of(py, read.characters.as_flattened())?.unbind(),
        piece_ids: bytes_of(py, &piece_ids)?.unbind(),
        piece_texts: PyBytes::new(py, &piece_texts).unbind(),
        piece_ends: bytes_of(py, &piece_ends)?.unbind(),
        single_bytes: read.single_bytes,
        others: read.others,
        spare: read.spare,
        has_inner_spaces: read.has_inner_spaces,
        has_joined_lines: read.has_joined_lines,
    })
}

/// The texts of tokens, each with its id.
fn texts_of<'py>(ids: &Bound<'py, PyDict>) -> PyResult<Vec<(u32, Bound<'py, PyString>)>> {
    memory::ensure(ids.len() * BYTES_PER_PRINTED)?;
    ids.iter().map(|(text, id)| Ok((id.extract()?, text.cast_into()?))).collect()
}

type Listed<'py> = (Bound<'py, PyBytes>, Option<usize>, Option<(usize, [bool; 3])>, Option<usize>);

/// Finds the merges of pairs of texts among tokens with ids: the rows of ids, the first without two parts, the first with an
/// unknown part and which it is, and the first that repeats another. Tokens in `only_decoded` are in no
/// text; those without an id, which are the last, are cut out of texts.
#[pyfunction]
pub fn listed_merges<'py>(
    py: Python<'py>,
    ids: &[u8],
    tokens: &[u8],
    ends: &[u8],
    pairs: &[u8],
    keeps_last: bool,
    only_decoded: Vec<usize>,
) -> PyResult<Listed<'py>> {
    let ids = numbers::<u32>("ids", ids)?;
    let tokens = cut(tokens, numbers("ends", ends)?)?;
    let mut uses: Vec<TokenUse> = ids.iter().copied().map(TokenUse::Merged).collect();
    uses.resize(tokens.len().max(uses.len()), TokenUse::CutOut);
    for place in only_decoded {
        *uses
            .get_mut(place)
            .ok_or_else(|| PyValueError::new_err("only_decoded: there is no such token"))? =
            TokenUse::OnlyDecoded;
    }
    let count = py.detach(|| pairs.iter().filter(|&&byte| byte == text_pairs::BETWEEN).count() + 1);
    memory::ensure(count * BYTES_PER_PAIR)?;
    let listed = py.detach(|| {
        let watch = &mut PyWatch::default();
        text_pairs::listed_merges(&tokens, |token| uses[token as usize], pairs, keeps_last, watch)
    })?;
    match listed {
        Ok(listed) => {
            let rows = bytes_of(py, listed.rows.as_flattened())?;
            Ok((rows, None, listed.unknown, listed.repeated))
        }
        Err(number) => Ok((PyBytes::new(py, b""), Some(number), None, None)),
    }
}

/// Leaves out the merges that never apply to a text; ids are in their order, and merges are rows of them.
#[pyfunction]
pub fn merges_that_happen<'py>(
    py: Python<'py>,
    ids: &[u8],
    tokens: &[u8],
    ends: &[u8],
    merges: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let (ids, tokens) = tokens_of(ids, tokens, ends)?;
    let merges = merge_rows(merges)?;
    memory::ensure(3 * merges.len() * BYTES_PER_MERGE)?;
    let kept =
        py.detach(|| text_pairs::merges_that_happen(ids, &tokens, merges.to_vec(), &mut PyWatch::default()))?;
    let kept = kept.ok_or_else(|| PyValueError::new_err("merges: one names a token that does not exist"))?;
    bytes_of(py, kept.as_flattened())
}
