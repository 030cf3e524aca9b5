//! The Python functions that learn merges, from counts or from words of symbols.

use std::borrow::Borrow;
use std::mem::take;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::arguments::Threads;
use super::count::PyCountTable;
use super::encode::PyEncoder;
use super::vocabulary::{numbers, python_bytes, tokens_of};
use super::watch::PyWatch;
use crate::count::Shard;
use crate::encode::{Model, PretokenEncoder};
use crate::error::Result;
use crate::memory;
use crate::merge::{
    Conditions, Rules, SymbolWords, TieBreak, Training, Tuning, Visit, Words, learn_from_long_words,
};
use crate::watch::Pulse;
use crate::workers::{self, thread_count};

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
        least: 1,
        conditions: Conditions::default(),
    };
    if words.len() != counts.len() {
        let message = format!("counts: {} counts for {} words", counts.len(), words.len());
        return Err(PyValueError::new_err(message));
    }
    let mut of_symbols = SymbolWords::default();
    for (word, count) in words.iter().zip(counts) {
        let word = numbers("words", word)?;
        if let Some(symbol) = word.iter().find(|&&symbol| symbol as usize >= symbols.len()) {
            let count = symbols.len();
            let message =
                format!("words: {symbol} is not the number of one of the {count} symbols");
            return Err(PyValueError::new_err(message));
        }
        of_symbols.add(word, count)?;
    }
    let merges = py.detach(|| {
        let mut watch = PyWatch::default();
        let tuning = Tuning::with_threads(1);
        let symbols = symbols.iter().map(|symbol| &symbol[..]);
        Training::new(symbols, vec![of_symbols], &rules, tuning, &mut watch)?.train(&mut watch)
    })?;
    python_bytes(py, merges.as_flattened())
}

/// The options that all trainings on counts have: a dict.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct MergeOptions {
    tie_break: TieBreak,
    max_tokens: u64,
    #[pyo3(default = 1)]
    min_count: u64,
    #[pyo3(default)]
    max_token_length: Option<u64>,
    #[pyo3(default)]
    max_words: Option<u64>,
    #[pyo3(default)]
    without: Vec<PyBackedBytes>,
    #[pyo3(default)]
    whole_characters: bool,
    #[pyo3(default)]
    taken: Option<Vec<PyBackedBytes>>,
}

impl MergeOptions {
    fn rules(&self, shared_tokens: bool) -> Rules {
        let bytes_of = |texts: &[PyBackedBytes]| texts.iter().map(|text| text.to_vec()).collect();
        let taken = self.taken.as_ref();
        Rules {
            tie_break: self.tie_break,
            shared_tokens,
            max_tokens: Some(self.max_tokens),
            max_merges: None,
            max_token_length: self.max_token_length,
            least: 1,
            conditions: Conditions {
                max_words: self.max_words,
                without: bytes_of(&self.without),
                whole_characters: self.whole_characters,
                taken: taken.map(|tokens| tokens.iter().map(|token| token.to_vec()).collect()),
            },
        }
    }
}

/// Learns merges from counts, for base tokens in the order of their ids.
#[pyfunction]
#[pyo3(signature = (
    counts, options, *, base, shared_tokens, num_threads=Threads(None), progress=None, expect=None,
    keep_counts=true,
))]
#[allow(clippy::too_many_arguments)] // Python's keyword arguments
pub fn train_merges<'py>(
    py: Python<'py>,
    counts: &Bound<'py, PyCountTable>,
    options: MergeOptions,
    base: &[u8],
    shared_tokens: bool,
    num_threads: Threads,
    progress: Option<Py<PyAny>>,
    expect: Option<Py<PyAny>>,
    keep_counts: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let rules = options.rules(shared_tokens);
    let min_count = options.min_count;
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
            let tuning = tuning_for(shards.iter().map(|shard| (**shard).borrow()), num_threads)?;
            let words = shards.into_iter().map(|shard| Pretokens { shard, min_count, symbol_of });
            Training::new(base.chunks(1), words.collect(), &rules, tuning, &mut watch)
        })?
    };
    let merges = py.detach(|| training.train(&mut watch))?;
    python_bytes(py, merges.as_flattened())
}

fn tuning_for<'a>(shards: impl Iterator<Item = &'a Shard>, threads: Threads) -> Result<Tuning> {
    let distinct: Result<usize> = shards.map(Shard::distinct).sum();
    Ok(Tuning::for_words(distinct?, thread_count(threads.0, usize::MAX)))
}

/// A shard of a table, or one that was given up.
type HeldShard<'a> = Box<dyn Borrow<Shard> + Send + Sync + 'a>;

/// The pretokens of a shard that occur often enough, as words whose symbols are bytes.
struct Pretokens<'a> {
    shard: HeldShard<'a>,
    min_count: u64,
    symbol_of: &'a [u32],
}

/// Visits the pretokens of a shard that are frequent.
fn visit_frequent(
    shard: &Shard,
    min_count: u64,
    pulse: &mut Pulse<'_>,
    mut visitor: impl FnMut(&[u8], u64, &mut Pulse<'_>) -> Result<()>,
) -> Result<()> {
    shard.visit(&mut |pretoken, count| {
        if count < min_count {
            return Ok(());
        }
        pulse.beat(pretoken.len())?;
        visitor(pretoken, count, pulse)
    })
}

impl Words for Pretokens<'_> {
    type Unit = u8;

    fn symbol(&self, unit: u8) -> u32 {
        self.symbol_of[usize::from(unit)]
    }

    fn visit(&self, pulse: &mut Pulse<'_>, each: &mut Visit<'_, u8>) -> Result<()> {
        let shard = (*self.shard).borrow();
        visit_frequent(shard, self.min_count, pulse, |pretoken, count, _| each(pretoken, count))
    }
}

/// Encodes counted pretokens, each once, to words whose symbols are the tokens of a vocabulary. What
/// may not be joined ends a word, so a pretoken may become several.
fn encoded(
    shard: &Shard,
    min_count: u64,
    model: &Model,
    symbols: &Symbols,
    pulse: &mut Pulse,
) -> Result<SymbolWords> {
    let mut encoder = PretokenEncoder::new(model)?;
    let mut words = SymbolWords::default();
    visit_frequent(shard, min_count, pulse, |pretoken, count, pulse| {
        let ids = encoder.ids(pretoken, pulse)?;
        if ids.len() < 2 {
            return Ok(());
        }
        let mut start = words.size();
        for &id in ids {
            match symbols.of(id) {
                Some(symbol) => words.push(symbol)?,
                None => start = words.end_word(start, count)?,
            }
        }
        words.end_word(start, count)?;
        Ok(())
    })?;
    Ok(words)
}

/// The symbols of a vocabulary's tokens: their places in the order of ids.
struct Symbols<'a> {
    ids: &'a [u32],
    may_join: Vec<bool>,
}

impl<'a> Symbols<'a> {
    fn new(ids: &'a [u32], apart: &[u32]) -> Result<Self> {
        let mut may_join = memory::filled(true, ids.len())?;
        for id in apart {
            if let Ok(symbol) = ids.binary_search(id) {
                may_join[symbol] = false;
            }
        }
        Ok(Self { ids, may_join })
    }

    /// The symbol of a token that may be joined with others.
    fn of(&self, id: u32) -> Option<u32> {
        // Most vocabularies have no gaps between ids.
        let symbol = match self.ids.get(id as usize) {
            Some(&same) if same == id => id as usize,
            _ => self.ids.binary_search(&id).ok()?,
        };
        self.may_join[symbol].then_some(symbol as u32)
    }
}

/// Learns merges behind those of an encoder, from counts: the words are the ids that it gives each
/// pretoken. A token is the symbol of its place in the order of ids.
#[pyfunction]
#[pyo3(signature = (
    encoder, counts, options, *, ids, tokens, ends, apart, num_threads=Threads(None), progress=None,
    expect=None,
))]
#[allow(clippy::too_many_arguments)] // Python's keyword arguments
pub fn extend_merges<'py>(
    py: Python<'py>,
    encoder: &PyEncoder,
    counts: &Bound<'py, PyCountTable>,
    options: MergeOptions,
    ids: &[u8],
    tokens: &[u8],
    ends: &[u8],
    apart: Vec<u32>,
    num_threads: Threads,
    progress: Option<Py<PyAny>>,
    expect: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut rules = options.rules(false);
    let min_count = options.min_count;
    let (ids, tokens) = tokens_of(ids, tokens, ends)?;
    let taken = rules.conditions.taken.get_or_insert_default();
    taken.extend(tokens.iter().map(|token| token.to_vec()));
    let symbols = &Symbols::new(ids, &apart)?;
    let model = &encoder.encoder.model;
    let mut watch = PyWatch { expect: expect.as_ref(), ..PyWatch::of(progress.as_ref()) };
    let table = &counts.try_borrow()?.table;
    let merges = py.detach(|| {
        let tuning = tuning_for(table.shards.iter(), num_threads)?;
        let words = {
            let mut pulse = Pulse::of(&mut watch);
            workers::each(tuning.threads, table.shards.iter(), &mut pulse, |shard, pulse| {
                encoded(shard, min_count, model, symbols, pulse)
            })?
        };
        learn_from_long_words(words, &tokens, &rules, tuning, &mut watch)
    })?;
    python_bytes(py, merges.as_flattened())
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
