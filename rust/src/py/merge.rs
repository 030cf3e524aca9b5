//! `train_symbol_merges`: sequences of symbols in, an array of merges out.

use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use super::PyWatch;
use crate::merge::{Merge, Rules, SymbolWords, TieBreak, train};

/// Learns merges from words that are sequences of symbol numbers.
#[pyfunction]
#[pyo3(signature = (symbols, words, counts, *, tie_break, shared_tokens, max_merges))]
pub fn train_symbol_merges<'py>(
    py: Python<'py>,
    symbols: Vec<PyBackedBytes>,
    words: &Bound<'py, PyAny>,
    counts: Vec<u64>,
    tie_break: &str,
    shared_tokens: bool,
    max_merges: Option<u64>,
) -> PyResult<Bound<'py, PyArray2<u32>>> {
    let rules = Rules {
        tie_break: named_tie_break(tie_break)?,
        shared_tokens,
        max_tokens: None,
        max_merges,
        max_token_length: None,
    };
    let (flat, lengths) = flatten(words, symbols.len())?;
    if lengths.len() != counts.len() {
        let message = format!("counts: {} of them for {} words", counts.len(), lengths.len());
        return Err(PyValueError::new_err(message));
    }
    let words = SymbolWords { symbols: &flat, lengths: &lengths, counts: &counts };
    let merges = py.detach(|| {
        let mut watch = PyWatch { progress: None };
        train(symbols.iter().map(|symbol| &symbol[..]), &words, &rules, &[], &mut watch)
    })?;
    merge_array(py, merges)
}

fn named_tie_break(name: &str) -> PyResult<TieBreak> {
    match name {
        "smallest_ids" => Ok(TieBreak::SmallestIds),
        "largest_bytes" => Ok(TieBreak::LargestBytes),
        "smallest_bytes" => Ok(TieBreak::SmallestBytes),
        _ => {
            let known = "smallest_ids, largest_bytes, smallest_bytes";
            Err(PyValueError::new_err(format!("tie_break: must be one of {known}, not '{name}'")))
        }
    }
}

/// The numbers of all words, one word after the other, and the words' lengths.
fn flatten(words: &Bound<'_, PyAny>, symbols: usize) -> PyResult<(Vec<u32>, Vec<usize>)> {
    let (mut flat, mut lengths) = (Vec::new(), Vec::new());
    for word in words.try_iter()? {
        let start = flat.len();
        for symbol in word?.try_iter()? {
            let symbol: u32 = symbol?.extract()?;
            if symbol as usize >= symbols {
                let message = format!("words: {symbol} is not the number of one of the {symbols} symbols");
                return Err(PyValueError::new_err(message));
            }
            flat.push(symbol);
        }
        lengths.push(flat.len() - start);
    }
    Ok((flat, lengths))
}

fn merge_array(py: Python<'_>, merges: Vec<Merge>) -> PyResult<Bound<'_, PyArray2<u32>>> {
    let rows = merges.len();
    merges.into_flattened().into_pyarray(py).reshape([rows, 3])
}
