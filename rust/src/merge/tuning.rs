//! The tuning constants of the merge stage. They change its time and memory, never its result:
//! tests train with very different values. The defaults were measured; see
//! docs/performance/merging.md.

use crate::memory;

#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Threads that read the words, count pairs and list positions.
    pub threads: usize,

    // The threshold: how rare a pair may be and still be followed, with a list of positions and an
    // entry in the queue.
    /// The first threshold would admit this many pairs per remaining merge if all pairs were
    /// equally frequent.
    pub slack: u64,
    /// The same when the words hold so few pairs that counting again is cheap.
    pub slack_when_few: u64,
    /// The same when words are so frequent that counting again costs more than following rarer
    /// pairs.
    pub slack_when_frequent: u64,
    /// A recount divides the threshold by this (at least 2).
    pub divisor: u64,

    // The way pairs are counted.
    /// With up to this many codes, every possible pair has a counter.
    pub few_codes: usize,
    /// With more codes, about this many occurrences of pairs are sorted at once; more where there
    /// are many slots.
    pub sorted: usize,

    // The growth of position lists.
    /// The positions that may be added before a recount, in percent of the pairs in the words.
    pub growth_percent: usize,
    /// The units that may be added before unused lists are dropped, per entry of the pair table.
    pub growth_per_entry: usize,

    // The queue.
    /// Each count below this has a bucket of its own.
    pub buckets: u64,
    /// The number of pairs of equal count that are sorted at a time.
    pub sort_batch: usize,

    // Slots.
    /// Up to this many codes, slots have 16 bits.
    pub narrow_codes: usize,
}

impl Tuning {
    pub const fn with_threads(threads: usize) -> Self {
        Self {
            threads,
            slack: 64,
            slack_when_few: 16,
            slack_when_frequent: 128,
            divisor: 8,
            few_codes: 320,
            sorted: 1 << 19,
            growth_percent: 100,
            growth_per_entry: 4,
            buckets: 1024,
            sort_batch: 4096,
            narrow_codes: 1 << 16,
        }
    }

    /// Returns the tuning for a number of words and threads. There are fewer threads if memory does
    /// not allow more.
    pub fn for_words(words: usize, threads: usize) -> Self {
        let useful = if words < MIN_WORDS_FOR_THREADS { 1 } else { threads.clamp(1, MAX_THREADS) };
        // This thread is one of them, and needs no memory.
        Self::with_threads(1 + memory::threads(useful - 1))
    }
}

/// With fewer words, a second thread costs more than it saves.
const MIN_WORDS_FOR_THREADS: usize = 1 << 15;

/// More threads than this are limited by memory bandwidth.
const MAX_THREADS: usize = 16;

/// With fewer pairs per merge, the last merges are of pairs so rare that following them from the
/// start costs more than counting again.
pub const FEW_PAIRS_PER_MERGE: u64 = 24;

/// Words are frequent if the mean count, over all occurrences of pairs, is at least this. It is in
/// corpora of some 500 MB.
pub const FREQUENT: u64 = 50;

/// The number of slots for each occurrence of a pair that is sorted at a time. An occurrence takes
/// 24 bytes, and lists take 2 to 4 bytes a slot.
pub const SLOTS_PER_SORTED: u64 = 8;

/// The distance, in merges, between two steps of prefetching a later merge.
pub const STEP: usize = 4;

/// The number of a list's first positions whose slots are prefetched before its merge begins.
pub const PREFETCHED_SLOTS: usize = 16;

/// The maximum number of tokens that room is made for in advance.
pub const MAX_EXPECTED_TOKENS: u64 = 1 << 18;

/// With more slots, positions might not fit 32 bits.
pub const MAX_SLOTS: u64 = 1 << 31;

/// The measured memory of merging: bytes per slot for positions and lists, and bytes for tables
/// that depend only on the vocabulary.
pub const LIST_BYTES_PER_SLOT: u64 = 4;
pub const TABLE_BYTES: u64 = 16 << 20;
