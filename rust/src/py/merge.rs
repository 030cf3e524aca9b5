//! The Python functions that learn merges, from counts or from words of symbols.

use std::borrow::Borrow;
use std::mem::take;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::arguments::Threads;
use super::count::PyCountTable;
use super::vocabulary::{merge_rows, numbers, python_bytes};
use super::watch::PyWatch;
use crate::count::Shard;
use crate::encode::{Merger, Merges, Scratch, ranks};
use crate::error::Result;
use crate::memory;
use crate::merge::{
    Conditions, MergeRow, Rules, SymbolWords, TieBreak, Training, Tuning, Visit, Words,
};
use crate::tokens::TokenBytes;
use crate::watch::Pulse;
use crate::workers::thread_count;

/// Learns merges from words that are sequences of symbol numbers, each the bytes of an array.
#[pyfunction]
#[pyo3(signature = (symbols, words, counts, *, tie_break, shared_tokens, max_merges))]
pub fn train_symbol_merges<'py>(
    py: Python<'py>,
    symbols: Vec<PyBackedBytes>,
    words: Vec<PyBackedBytes>,
    counts: Vec<u64>,
    tie_break: TieBreak,
    shared_tokens: bool,
    max_merges: Option<u64>,
) -> PyResult<Bound<'py, PyBytes>> {
    let rules = Rules {
        tie_break,
        shared_tokens,
        max_tokens: None,
        max_merges,
        max_token_length: None,
        conditions: Conditions::default(),
    };
    let words: Vec<&[u32]> =
        words.iter().map(|word| numbers("words", word)).collect::<PyResult<_>>()?;
    if words.len() != counts.len() {
        let message = format!("counts: {} counts for {} words", counts.len(), words.len());
        return Err(PyValueError::new_err(message));
    }
    for symbol in words.iter().copied().flatten() {
        if *symbol as usize >= symbols.len() {
            let count = symbols.len();
            let message =
                format!("words: {symbol} is not the number of one of the {count} symbols");
            return Err(PyValueError::new_err(message));
        }
    }
    let words = SymbolWords { words: &words, counts: &counts };
    let merges = py.detach(|| {
        let mut watch = PyWatch::default();
        let tuning = Tuning::with_threads(1);
        let symbols = symbols.iter().map(|symbol| &symbol[..]);
        Training::new(symbols, vec![words], &rules, tuning, &mut watch)?.train(&mut watch)
    })?;
    python_bytes(py, merges.as_flattened())
}

/// Learns merges from counts, for base tokens in the order of their ids.
#[pyfunction]
#[pyo3(signature = (
    counts, *, base, tie_break, shared_tokens, max_tokens, max_merges, min_count=1,
    max_token_length=None, max_words=None, without=Vec::new(), whole_characters=false, taken=None,
    prior_merges=None, num_threads=Threads(None),
    progress=None, expect=None, keep_counts=true,
))]
#[allow(clippy::too_many_arguments)] // Python's keyword arguments
pub fn train_merges<'py>(
    py: Python<'py>,
    counts: &Bound<'py, PyCountTable>,
    base: &[u8],
    tie_break: TieBreak,
    shared_tokens: bool,
    max_tokens: Option<u64>,
    max_merges: Option<u64>,
    min_count: u64,
    max_token_length: Option<u64>,
    max_words: Option<u64>,
    without: Vec<PyBackedBytes>,
    whole_characters: bool,
    taken: Option<Vec<PyBackedBytes>>,
    prior_merges: Option<&[u8]>,
    num_threads: Threads,
    progress: Option<Py<PyAny>>,
    expect: Option<Py<PyAny>>,
    keep_counts: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let without = without.iter().map(|text| text.to_vec()).collect();
    let taken = taken.map(|taken| taken.iter().map(|token| token.to_vec()).collect());
    let conditions = Conditions { max_words, without, whole_characters, taken };
    let rules =
        Rules { tie_break, shared_tokens, max_tokens, max_merges, max_token_length, conditions };
    let prior = prior_merges.map_or(Ok(&[][..]), merge_rows)?;
    let symbol_of = &symbols_of_bytes(base)?;
    let mut watch = PyWatch { expect: expect.as_ref(), ..PyWatch::of(progress.as_ref()) };
    let mut released = None;
    // Counts that another thread is using are kept; giving them up would only save memory.
    if !keep_counts && let Ok(mut counts) = counts.try_borrow_mut() {
        released = Some(take(&mut counts.table.shards));
    }
    let training = {
        let table = &counts.try_borrow()?.table;
        let shards: Vec<HeldShard> = match released {
            Some(shards) => shards.into_iter().map(|shard| Box::new(shard) as HeldShard).collect(),
            None => table.shards.iter().map(|shard| Box::new(shard) as HeldShard).collect(),
        };
        py.detach(|| {
            let distinct: Result<usize> =
                shards.iter().map(|shard| (**shard).borrow().distinct()).sum();
            let tuning = Tuning::for_words(distinct?, thread_count(num_threads.0, usize::MAX));
            let words = shards.into_iter().map(|shard| Pretokens { shard, min_count, symbol_of });
            if prior.is_empty() {
                return Training::new(base.chunks(1), words.collect(), &rules, tuning, &mut watch);
            }
            let symbols = symbols_after(base, prior)?;
            let numbered = (0..).zip(&symbols).map(|(symbol, bytes)| (symbol, &bytes[..]));
            let tokens = &TokenBytes::new(numbered)?;
            let mut base = Box::new([0; 256]);
            base.copy_from_slice(symbol_of);
            let merges = &Merges::new(base, prior, &ranks(prior.len(), &[])?, tokens)?;
            let words = words.map(|pretokens| MergedPretokens { pretokens, merges, tokens });
            let symbols = symbols.iter().map(|symbol| &symbol[..]);
            Training::new(symbols, words.collect(), &rules, tuning, &mut watch)
        })?
    };
    let merges = py.detach(|| training.train(&mut watch))?;
    python_bytes(py, merges.as_flattened())
}

/// A shard of a table, or one that was given up.
type HeldShard<'a> = Box<dyn Borrow<Shard> + Send + Sync + 'a>;

/// The frequent pretokens of a shard as words whose symbols are bytes.
struct Pretokens<'a> {
    shard: HeldShard<'a>,
    min_count: u64,
    symbol_of: &'a [u32],
}

impl Pretokens<'_> {
    fn frequent(&self, visitor: &mut Visit<'_, u8>) -> Result<()> {
        (*self.shard).borrow().visit(&mut |pretoken, count| {
            if count < self.min_count {
                return Ok(());
            }
            visitor(pretoken, count)
        })
    }
}

impl Words for Pretokens<'_> {
    type Unit = u8;

    fn symbol(&self, unit: u8) -> u32 {
        self.symbol_of[usize::from(unit)]
    }

    fn visit(&self, pulse: &mut Pulse<'_>, each: &mut Visit<'_, u8>) -> Result<()> {
        self.frequent(&mut |pretoken, count| {
            pulse.beat(pretoken.len())?;
            each(pretoken, count)
        })
    }
}

/// Frequent pretokens as words whose symbols are tokens: merges are applied to each as an encoder
/// does it.
struct MergedPretokens<'a> {
    pretokens: Pretokens<'a>,
    merges: &'a Merges,
    tokens: &'a TokenBytes,
}

impl Words for MergedPretokens<'_> {
    type Unit = u32;

    fn symbol(&self, unit: u32) -> u32 {
        unit
    }

    fn visit(&self, pulse: &mut Pulse<'_>, each: &mut Visit<'_, u32>) -> Result<()> {
        let mut scratch = Scratch::new()?;
        let mut ids = Vec::new();
        let mut merger =
            Merger { merges: self.merges, tokens: self.tokens, scratch: &mut scratch, pulse };
        self.pretokens.frequent(&mut |pretoken, count| {
            ids.clear();
            merger.merge(pretoken, &mut ids)?;
            merger.pulse.beat(ids.len())?;
            each(&ids, count)
        })
    }
}

/// The memory of a merge in tables, besides the bytes of its symbol.
const BYTES_PER_MERGE: usize = 256;

/// Returns the bytes of the base symbols, and then of the results of merges.
fn symbols_after(base: &[u8], merges: &[MergeRow]) -> Result<Vec<Vec<u8>>> {
    memory::ensure(merges.len() * BYTES_PER_MERGE)?;
    let mut symbols: Vec<Vec<u8>> = base.iter().map(|&byte| vec![byte]).collect();
    for &[left, right, result] in merges {
        if result as usize == symbols.len() {
            let spelling_of =
                |symbol: u32| symbols.get(symbol as usize).map_or(&[][..], |bytes| bytes);
            symbols.push([spelling_of(left), spelling_of(right)].concat());
        }
    }
    Ok(symbols)
}

fn symbols_of_bytes(base: &[u8]) -> PyResult<Vec<u32>> {
    let mut symbol_of = vec![u32::MAX; 256];
    for (symbol, &byte) in (0..).zip(base) {
        symbol_of[usize::from(byte)] = symbol;
    }
    if base.len() != 256 || symbol_of.contains(&u32::MAX) {
        return Err(PyValueError::new_err("base must hold each of the 256 byte values once"));
    }
    Ok(symbol_of)
}
