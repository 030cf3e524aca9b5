//! The Python functions `cut_json`, `read_printed`, `read_pieces`, `listed_merges` and
//! `merges_that_happen`. Arrays of numbers are passed as bytes.

use std::collections::HashSet;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyDict, PyString};

use super::vocabulary::{TokenArrays, merge_rows, python_bytes, token_arrays, tokens_of};
use super::watch::PyWatch;
use crate::memory;
use crate::vocabulary::cut_json::LongList;
use crate::vocabulary::text_pairs::{PairList, TokenUse};
use crate::vocabulary::{pieces, printed, text_pairs};

/// The memory of a pair in the result, of a merge in the table, and of a token while it is read.
const BYTES_PER_PAIR: usize = 64;
const BYTES_PER_MERGE: usize = 64;
const BYTES_PER_TEXT: usize = 128;

/// The memory of the lists, for each byte of the JSON: a token of no bytes has 7 there, and 44 in
/// two lists that grow.
const FOR_EACH_BYTE: usize = 10;

/// Cuts the long lists out of the JSON of a tokenizer; see [`crate::vocabulary::cut_json`]. Numbers
/// are returned as the bytes of an array, pairs of numbers as a tuple of these alone, and tokens as
/// a tuple of ids, bytes and ends.
#[pyfunction]
pub fn cut_json<'py>(
    py: Python<'py>,
    json: &[u8],
) -> PyResult<Option<(Bound<'py, PyBytes>, Bound<'py, PyDict>)>> {
    memory::ensure(FOR_EACH_BYTE * json.len())?;
    let Some(cut) = py.detach(|| crate::vocabulary::cut_json::cut_json(json)) else {
        return Ok(None);
    };
    let lists = PyDict::new(py);
    for (place, list) in cut.lists {
        match list {
            LongList::Numbers(numbers) => lists.set_item(place, python_bytes(py, &numbers)?)?,
            LongList::NumberPairs(pairs) => {
                lists.set_item(place, (python_bytes(py, pairs.as_flattened())?,))?;
            }
            LongList::Tokens(tokens) => lists.set_item(place, token_arrays(py, &tokens)?)?,
            LongList::Pairs(pairs) => lists.set_item(place, PyBytes::new(py, &pairs))?,
            LongList::Ids(texts, ends, numbers) => {
                let ids = PyDict::new(py);
                let mut start = 0;
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

/// Reads tokens in printable form; see [`printed`].
#[pyfunction]
pub fn read_printed<'py>(
    py: Python<'py>,
    ids: &Bound<'py, PyDict>,
) -> PyResult<(TokenArrays<'py>, Vec<u32>)> {
    let mut texts = texts_of(ids)?;
    texts.sort_by_key(|&(id, _)| id);
    let (tokens, unread) = printed::read_printed(texts.iter().map(|(id, text)| (*id, &**text)));
    Ok((token_arrays(py, &tokens)?, unread))
}

type Pieces<'py> = (TokenArrays<'py>, Bound<'py, PyBytes>, Vec<u32>);

/// Reads tokens that are made of characters; see [`pieces`].
#[pyfunction]
pub fn read_pieces<'py>(
    py: Python<'py>,
    ids: &Bound<'py, PyDict>,
    byte_ids: Vec<(u8, u32)>,
    first_free: u32,
    has_marks: bool,
    word_mark: Option<u8>,
) -> PyResult<Pieces<'py>> {
    let texts = texts_of(ids)?;
    let texts = texts.iter().map(|(id, text)| (*id, &**text));
    let read = pieces::read_pieces(texts, &byte_ids, first_free, has_marks, word_mark)?;
    let tokens = token_arrays(py, &read.tokens)?;
    Ok((tokens, python_bytes(py, read.characters.as_flattened())?, read.unread))
}

/// Tokens with their ids.
fn texts_of(ids: &Bound<'_, PyDict>) -> PyResult<Vec<(u32, PyBackedStr)>> {
    memory::ensure(ids.len() * BYTES_PER_TEXT)?;
    let mut texts: Vec<(u32, PyBackedStr)> = Vec::with_capacity(ids.len());
    let mut length = 0;
    for (text, id) in ids {
        let id = id.extract()?;
        let text: PyBackedStr = text.extract()?;
        length += text.len();
        texts.push((id, text));
    }
    memory::ensure(3 * length)?;
    Ok(texts)
}

type Listed<'py> = (Bound<'py, PyBytes>, Option<usize>, Option<(usize, [bool; 3])>, Option<usize>);

/// Finds the merges of pairs of texts among tokens with ids: the rows of ids, the first without two
/// parts, the first with an unknown part and which it is, and the first that repeats another. No
/// text has the tokens `only_decoded`; those that are `cut_out` of texts have no ids.
#[pyfunction]
pub fn listed_merges<'py>(
    py: Python<'py>,
    ids: &Bound<'py, PyDict>,
    pairs: &[u8],
    keeps_last: bool,
    only_decoded: HashSet<u32>,
    cut_out: Vec<PyBackedStr>,
) -> PyResult<Listed<'py>> {
    let texts = texts_of(ids)?;
    // What is cut out comes last: its numbers are beyond the tokens with ids.
    let all_texts = texts.iter().map(|(_, text)| text).chain(&cut_out);
    let tokens: Vec<&[u8]> = all_texts.map(|text| text.as_bytes()).collect();
    let use_of = |token: u32| match texts.get(token as usize) {
        None => TokenUse::CutOut,
        Some((id, _)) if only_decoded.contains(id) => TokenUse::OnlyDecoded,
        Some((id, _)) => TokenUse::Merged(*id),
    };
    let separators =
        py.detach(|| pairs.iter().filter(|&&byte| byte == text_pairs::BETWEEN).count());
    memory::ensure((separators + 1) * BYTES_PER_PAIR)?;
    let listed = py.detach(|| {
        let watch = &mut PyWatch::default();
        text_pairs::listed_merges(&tokens, use_of, pairs, keeps_last, watch)
    })?;
    match listed {
        PairList::Merges(listed) => {
            let rows = python_bytes(py, listed.rows.as_flattened())?;
            Ok((rows, None, listed.unknown, listed.repeated))
        }
        PairList::NotPair(number) => Ok((PyBytes::new(py, b""), Some(number), None, None)),
    }
}

/// Leaves out the merges that never apply to a text; ids are in their order, and merges are rows of
/// them.
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
    let kept = py.detach(|| {
        let watch = &mut PyWatch::default();
        text_pairs::merges_that_happen(ids, &tokens, merges.to_vec(), watch)
    })?;
    let kept = kept.ok_or_else(|| {
        PyValueError::new_err("merges: one refers to a token that does not exist")
    })?;
    python_bytes(py, kept.as_flattened())
}
