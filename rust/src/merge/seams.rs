//! Learns merges from long words of known tokens: first, words are cut where no merge will join.
//!
//! A merge across the seam of two tokens is never more frequent than these two are next to each
//! other. So as long as only merges are made that reach a bound, words can be cut where the
//! neighbours are rarer: single tokens are dropped, and equal runs are one word.
//!
//! ```text
//! bound 50        neighbours: (of, the) 90,000   (the, king) 60   (king, Alfred) 3   (Alfred, the) 7
//! word            of the king Alfred the x 3
//! runs            of the king x 3
//! ```
//!
//! If the best pair falls below the bound before there are enough merges, words are cut again with a
//! lower bound, and all merges are learned again.
//!
//! The neighbours are counted in a table without keys: pairs of the same place share a counter,
//! which can only be too high, so that fewer places are cut than could be.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::pairs::key_of;
use super::{MergeRow, Rules, SymbolWords, Training, Tuning};
use crate::error::Result;
use crate::key::HashSeed;
use crate::key::hasher::Keyed;
use crate::memory;
use crate::watch::{Pulse, Watch};
use crate::workers;

/// Fewer symbols than this are not cut: they take little memory as they are.
const WORTH_CUTTING: usize = if cfg!(test) { 2 } else { 1 << 22 };

/// The bound is chosen so that so many neighbours for each merge reach it. Most merges of a large
/// vocabulary are more frequent than the pairs that are left, but each also makes some rarer.
const NEIGHBOURS_FOR_MERGE: u64 = 4;

/// A bound that was too high is divided by this.
const LOWERED: u64 = 4;

/// Learns merges of words whose symbols are those of `symbols`.
pub fn learn_from_long_words(
    parts: Vec<SymbolWords>,
    symbols: &[&[u8]],
    rules: &Rules,
    tuning: Tuning,
    watch: &mut dyn Watch,
) -> Result<Vec<MergeRow>> {
    let symbols = symbols.iter().copied();
    if parts.iter().map(SymbolWords::size).sum::<usize>() < WORTH_CUTTING {
        return Training::new(symbols, parts, rules, tuning, watch)?.train(watch);
    }
    let mut highest = u64::MAX;
    loop {
        let mut pulse = Pulse::of(watch);
        let neighbours = Neighbours::count(&parts, tuning.threads, &mut pulse)?;
        let least = neighbours.bound(rules.max_tokens).min(highest);
        let runs = cut(&parts, &neighbours, least, tuning.threads, &mut pulse)?;
        drop(neighbours); // Training needs the memory.
        let rules = Rules { least, ..rules.clone() };
        let merges = Training::new(symbols.clone(), runs, &rules, tuning, watch)?.train(watch)?;
        if least == 1 || rules.max_tokens == Some(merges.len() as u64) {
            return Ok(merges);
        }
        highest = (least / LOWERED).max(1);
    }
}

fn neighbours_in(word: &[u32]) -> impl Iterator<Item = [u32; 2]> {
    word.windows(2).map(|pair| [pair[0], pair[1]])
}

/// How often tokens are next to each other, or more.
struct Neighbours {
    counters: Vec<AtomicU64>,
    seed: HashSeed,
}

/// Counters for each symbol of the words, on average.
const SYMBOLS_FOR_COUNTER: usize = 4;
const MOST_COUNTERS: usize = 1 << 26;

/// A word counts at most so often: more makes no difference to any bound, and sums fit.
const MOST: u64 = 1 << 32;

impl Neighbours {
    fn count(parts: &[SymbolWords], threads: usize, pulse: &mut Pulse<'_>) -> Result<Self> {
        let symbols: usize = parts.iter().map(SymbolWords::size).sum();
        let size = (symbols / SYMBOLS_FOR_COUNTER).next_power_of_two().clamp(1 << 8, MOST_COUNTERS);
        let counters = memory::gathered((0..size).map(|_| AtomicU64::new(0)))?;
        let neighbours = Self { counters, seed: HashSeed::of_process() };
        workers::each(threads, parts, pulse, |words, pulse| {
            for (word, count) in words.iter() {
                pulse.beat(word.len())?;
                for pair in neighbours_in(word) {
                    neighbours.of(pair).fetch_add(count.min(MOST), Ordering::Relaxed);
                }
            }
            Ok(())
        })?;
        Ok(neighbours)
    }

    fn of(&self, [left, right]: [u32; 2]) -> &AtomicU64 {
        let place = self.seed.hash_number(key_of(left, right)) as usize;
        &self.counters[place & (self.counters.len() - 1)]
    }

    /// The bound to begin with, if so many tokens are to be made.
    fn bound(&self, tokens: Option<u64>) -> u64 {
        let Some(tokens) = tokens else { return 1 };
        // For each power of two: how many counters reach it, but not the next one.
        let mut reached = [0u64; 64];
        for counter in &self.counters {
            if let Some(power) = counter.load(Ordering::Relaxed).checked_ilog2() {
                reached[power as usize] += 1;
            }
        }
        let mut sum = 0;
        for power in (0..64).rev() {
            sum += reached[power];
            if sum >= tokens.saturating_mul(NEIGHBOURS_FOR_MERGE) {
                return (1 << power).min(MOST);
            }
        }
        1
    }
}

/// The number of parts of the runs: equal ones are in the same.
const PARTS: usize = 16;

/// Cuts words where neighbours are rarer than a bound, and counts equal runs once.
fn cut(
    parts: &[SymbolWords],
    neighbours: &Neighbours,
    bound: u64,
    threads: usize,
    pulse: &mut Pulse<'_>,
) -> Result<Vec<SymbolWords>> {
    let hasher = Keyed::default();
    let part_of = |run: &[u32]| std::hash::BuildHasher::hash_one(&hasher, run) as usize % PARTS;
    let pieces = workers::each(threads, parts, pulse, |words, pulse| {
        let mut runs: Vec<SymbolWords> = (0..PARTS).map(|_| SymbolWords::default()).collect();
        for (word, count) in words.iter() {
            pulse.beat(word.len())?;
            let stays = |left: &u32, right: &u32| {
                neighbours.of([*left, *right]).load(Ordering::Relaxed) >= bound
            };
            for run in word.chunk_by(stays).filter(|run| run.len() > 1) {
                runs[part_of(run)].add(run, count)?;
            }
        }
        Ok(runs)
    })?;
    workers::each(threads, 0..PARTS, pulse, |part, pulse| {
        let mut count_of: HashMap<&[u32], u64, Keyed> = HashMap::default();
        for (run, count) in pieces.iter().flat_map(|runs| runs[part].iter()) {
            pulse.beat(run.len())?;
            let sum = count_of.entry(run).or_insert(0);
            *sum = super::pairs::sum(*sum, count)?;
        }
        let mut distinct = SymbolWords::default();
        for (run, count) in count_of {
            distinct.add(run, count)?;
        }
        Ok(distinct)
    })
}
