//! The Python functions that read, check and write the tokens and merges of vocabularies. Arrays of
//! numbers are passed as their bytes, so that NumPy need not be imported for them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::watch::PyWatch;
use crate::memory;
use crate::memory::cells::Plain;
use crate::vocabulary::write_json::{self, TokenForm};
use crate::vocabulary::{TokenList, check, rank_files, recover};

/// Returns the numbers whose bytes these are, where they are: new memory takes longer than reading
/// them.
pub fn numbers<'a, T: Plain + Copy>(name: &str, bytes: &'a [u8]) -> PyResult<&'a [T]> {
    // The content of `bytes` begins where any number may begin.
    let Some(numbers) = viewed(bytes) else {
        let size = size_of::<T>();
        return Err(PyValueError::new_err(format!(
            "{name}: the number of bytes is not a multiple of {size}"
        )));
    };
    Ok(numbers)
}

/// Returns merges, in rows of three numbers.
pub fn merge_rows(bytes: &[u8]) -> PyResult<&[[u32; 3]]> {
    match numbers::<u32>("merges", bytes)?.as_chunks() {
        (rows, []) => Ok(rows),
        _ => Err(PyValueError::new_err("merges: the bytes are not whole rows of three numbers")),
    }
}

/// Returns the bytes of numbers.
pub fn python_bytes<'py, T: Plain + Copy>(
    py: Python<'py>,
    numbers: &[T],
) -> PyResult<Bound<'py, PyBytes>> {
    memory::ensure(size_of_val(numbers))?;
    Ok(PyBytes::new(py, viewed(numbers).unwrap_or_default()))
}

/// Views values as others, if they begin where these may and are whole ones.
fn viewed<T: Plain + Copy, U: Plain + Copy>(values: &[T]) -> Option<&[U]> {
    // SAFETY: any bytes are valid values, and what can be copied does not change through a shared
    // borrow.
    match unsafe { values.align_to() } {
        ([], values, []) => Some(values),
        _ => None,
    }
}

/// The memory of a token in the tables and the result, and of a byte of the longest token while it
/// is merged or written.
const BYTES_PER_TOKEN: usize = 256;
const BYTES_PER_BYTE: usize = 64;

/// Returns tokens with their ids, from concatenated bytes and the end of each.
pub fn tokens_of<'a>(
    ids: &'a [u8],
    joined: &'a [u8],
    ends: &[u8],
) -> PyResult<(&'a [u32], Vec<&'a [u8]>)> {
    let ids = numbers::<u32>("ids", ids)?;
    let tokens = cut(joined, numbers("ends", ends)?)?;
    if ids.len() != tokens.len() {
        return Err(PyValueError::new_err(format!(
            "ids: {} for {} tokens",
            ids.len(),
            tokens.len()
        )));
    }
    Ok((ids, tokens))
}

/// Splits concatenated tokens, and checks that there is memory for what is done with them.
fn cut<'a>(joined: &'a [u8], ends: &[u64]) -> PyResult<Vec<&'a [u8]>> {
    let longest =
        ends.windows(2).map(|ends| ends[1].saturating_sub(ends[0])).max().unwrap_or(0) as usize;
    memory::ensure(ends.len() * BYTES_PER_TOKEN + longest * BYTES_PER_BYTE)?;
    let wrong = || PyValueError::new_err("ends: they must ascend to the end of the joined tokens");
    let mut tokens = Vec::with_capacity(ends.len());
    let mut start = 0;
    for &end in ends {
        let end = usize::try_from(end).map_err(|_| wrong())?;
        tokens.push(joined.get(start..end).ok_or_else(wrong)?);
        start = end;
    }
    if start != joined.len() {
        return Err(wrong());
    }
    Ok(tokens)
}

/// The ids of tokens, their concatenated bytes, and the end of each.
pub type TokenArrays<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

pub fn token_arrays<'py>(py: Python<'py>, tokens: &TokenList) -> PyResult<TokenArrays<'py>> {
    memory::ensure(tokens.joined.len())?;
    let ids = python_bytes(py, &tokens.ids)?;
    let joined = PyBytes::new(py, &tokens.joined);
    Ok((ids, joined, python_bytes(py, &tokens.ends)?))
}

/// All tokens if merges add some, whether merges are in order, and the id of each byte.
type CompleteTokens<'py> = (Option<TokenArrays<'py>>, bool, Vec<(u8, u32)>);

/// Completes and checks the tokens of a vocabulary; see [`vocabulary`].
#[pyfunction]
pub fn complete_tokens<'py>(
    py: Python<'py>,
    ids: &[u8],
    tokens: &[u8],
    ends: &[u8],
    merges: &[u8],
    irregular: bool,
) -> PyResult<CompleteTokens<'py>> {
    let (ids, tokens) = tokens_of(ids, tokens, ends)?;
    let merges = merge_rows(merges)?;
    let complete = py.detach(|| check::complete_tokens(ids, &tokens, merges, irregular))?;
    let all = complete.all.map(|all| token_arrays(py, &all)).transpose()?;
    Ok((all, complete.in_order, complete.id_of_byte))
}

/// Finds the two parents of every token; tokens are in the order of rank, and some may have equal
/// ones.
#[pyfunction]
#[pyo3(signature = (ids, tokens, ends, equal_ranks=vec![]))]
pub fn recover_merges<'py>(
    py: Python<'py>,
    ids: &[u8],
    tokens: &[u8],
    ends: &[u8],
    equal_ranks: Vec<(u32, u32)>,
) -> PyResult<(Bound<'py, PyBytes>, Vec<u32>)> {
    let (ids, tokens) = tokens_of(ids, tokens, ends)?;
    let (rows, unreachable) =
        py.detach(|| recover::recover_merges(ids, &tokens, &equal_ranks, &mut PyWatch::default()))?;
    Ok((python_bytes(py, rows.as_flattened())?, unreachable))
}

/// What a byte of a file of lines may take in the result.
const FOR_EACH_BYTE: usize = 4;

/// Reads lines of a token in base64 and its number: the tokens in the order of their numbers, and
/// the numbers of empty ones.
#[pyfunction]
pub fn base64_lines<'py>(
    py: Python<'py>,
    content: &[u8],
    largest: u32,
) -> PyResult<(TokenArrays<'py>, Vec<u32>)> {
    memory::ensure(content.len() * FOR_EACH_BYTE)?;
    let (tokens, empty) = py.detach(|| rank_files::numbered_lines(content, largest))?;
    Ok((token_arrays(py, &tokens)?, empty))
}

/// Writes numbers as a list in JSON; see [`write_json`].
#[pyfunction]
pub fn numbers_json<'py>(py: Python<'py>, numbers: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let numbers = self::numbers("numbers", numbers)?;
    let json = py.detach(|| write_json::numbers(numbers))?;
    Ok(PyBytes::new(py, &json))
}

/// Writes numbers as a list of pairs in JSON.
#[pyfunction]
pub fn pairs_json<'py>(py: Python<'py>, numbers: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let (pairs, rest) = self::numbers("numbers", numbers)?.as_chunks();
    if !rest.is_empty() {
        return Err(PyValueError::new_err("numbers: there must be an even number of them"));
    }
    let json = py.detach(|| write_json::pairs(pairs))?;
    Ok(PyBytes::new(py, &json))
}

/// Writes tokens with their ids in JSON, without those that merges make.
#[pyfunction]
#[pyo3(signature = (ids, tokens, ends, form, merges=b"".as_slice()))]
pub fn tokens_json<'py>(
    py: Python<'py>,
    ids: &[u8],
    tokens: &[u8],
    ends: &[u8],
    form: &str,
    merges: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let form = match form {
        "lists" => TokenForm::ListsByIds,
        "hexadecimal" => TokenForm::HexadecimalByIds,
        "rows" => TokenForm::HexadecimalRows,
        _ => return Err(PyValueError::new_err(format!("form: {form:?} is none"))),
    };
    let (ids, tokens) = tokens_of(ids, tokens, ends)?;
    let merges = merge_rows(merges)?;
    let json = py.detach(|| {
        let mut results = memory::gathered(merges.iter().map(|&[_, _, result]| result))?;
        results.sort_unstable();
        let all = ids.iter().copied().zip(tokens);
        let kept = memory::gathered(all.filter(|(id, _)| results.binary_search(id).is_err()))?;
        write_json::tokens(&kept, form)
    })?;
    Ok(PyBytes::new(py, &json))
}
