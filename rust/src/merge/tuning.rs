//! What merging takes and how it is cut up. Nothing here changes what is learned, only how long that takes and how much
//! memory; the figures were measured, as docs/performance/merging.md tells, and tests train with quite different ones.

use crate::memory;

#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    // Threads.
    /// So many read the words, count their pairs and list their positions. One thread makes the merges.
    pub threads: usize,

    // How rare a pair may be and still be followed: with a list of its positions and a place in the queue.
    /// The first threshold leaves room for so many times the remaining merges, were all pairs equally frequent.
    pub slack: u64,
    /// The same where so few pairs stand in the words that to count again is cheap.
    pub slack_of_few: u64,
    /// A recount divides the threshold by this (at least 2).
    pub divisor: u64,
    /// A recount need not follow more pairs than this for each merge that is left to make.
    pub enough: usize,

    // How pairs are counted.
    /// Up to so many codes, in a table of all possible pairs.
    pub dense: usize,
    /// Where at most so many pairs stand for each hundred slots, by putting them in order.
    pub few: u64,

    // When lists are looked through.
    /// The positions that may be added before a recount, for each pair that stands in the words, in percent.
    pub growth: usize,
    /// The positions that may be added before those that nobody needs are dropped, for each place in the table of pairs.
    pub keep: usize,

    // The queue.
    /// Pairs rarer than this lie in buckets.
    pub buckets: usize,
    /// So many of them are sorted at a time.
    pub at_a_time: usize,

    // Slots.
    /// Up to so many codes, slots have 16 bits.
    pub narrow: usize,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            threads: 1,
            slack: 64,
            slack_of_few: 16,
            divisor: 8,
            enough: 2,
            dense: 320,
            few: 25,
            growth: 100,
            keep: 1,
            buckets: 1024,
            at_a_time: 4096,
            narrow: 1 << 16,
        }
    }
}

impl Tuning {
    /// For so many words and threads, as far as there is room for threads.
    pub fn for_words(words: usize, threads: usize) -> Self {
        let useful = if words < FEW_WORDS { 1 } else { threads.clamp(1, MOST_THREADS) };
        Self { threads: 1 + memory::threads(useful - 1), ..Self::default() }
    }
}

/// Fewer words are not worth a second thread.
const FEW_WORDS: usize = 1 << 15;

/// More threads than this wait for memory rather than for each other.
const MOST_THREADS: usize = 16;

/// Where fewer pairs stand for each merge, the last merges are made of pairs so rare that to follow them from the start
/// costs more than to count again.
pub const FEW_FOR_EACH_MERGE: u64 = 24;

/// To put more pairs in order would take too long without a look at whether to stop.
pub const MOST_SORTED: usize = 1 << 22;

/// So many merges lie between two steps of asking for a merge's memory.
pub const STEP: usize = 4;

/// More slots could need more positions than 32 bits can number.
pub const MOST_SLOTS: u64 = 1 << 31;

/// The memory of merging, as measured: beside each slot so many bytes for positions and lists, and the tables that
/// depend on the vocabulary alone.
pub const LISTED: u64 = 8;
pub const TABLES: u64 = 16 << 20;
