//! A priority queue of pairs: the highest count first, ties by a total order.
//!
//! Pairs are in unordered buckets: one for each small count, and one for each of 16 ranges between
//! two powers of two. When the queue reaches a bucket, it updates the counts of its pairs and sorts
//! them, many at a time. The next merges are then known in advance, and their memory can be
//! prefetched.
//!
//! ```text
//! buckets   ... | 7: e b | 8: d a c |         reached: 8, of which a and c are sorted, and d waits
//! sorted    c a                               a is next; a new pair with count 8 is put between
//! ```
//!
//! Invariant: a queued count is never lower than the pair's real count. It may be higher, and is
//! checked when popped.

use std::cmp::Ordering;

use super::pairs::{Followed, PairTable, codes_of};
use super::tokens::{Code, Tokens};

/// The rule that picks among the pairs with the highest count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieBreak {
    /// The smallest pair of symbols.
    SmallestIds,
    /// The largest pair of token bytes; for equal bytes, the smaller symbols.
    LargestBytes,
    /// The smallest pair of token bytes; for equal bytes, the smaller symbols.
    SmallestBytes,
}

impl TieBreak {
    /// A total order on distinct pairs of equal count: the lesser is merged first.
    #[inline]
    fn compare(self, tokens: &Tokens, a: u64, b: u64) -> Ordering {
        if self == Self::SmallestIds {
            return a.cmp(&b);
        }
        let by_bytes = |a: Code, b: Code| {
            if a == b { Ordering::Equal } else { tokens.bytes(a).cmp(&tokens.bytes(b)) }
        };
        let (a_left, a_right) = codes_of(a);
        let (b_left, b_right) = codes_of(b);
        let order = by_bytes(a_left, b_left).then_with(|| by_bytes(a_right, b_right));
        let order = if self == Self::LargestBytes { order.reverse() } else { order };
        order.then(a.cmp(&b))
    }
}

/// The queue. A pair in it may have become rarer since.
pub struct PairQueue {
    rule: TieBreak,
    /// Each count below this has a bucket of its own.
    exact: u64,
    /// The keys of pairs by their counts. The pairs in the bucket at `floor` all come after those
    /// in `sorted`.
    buckets: Vec<Vec<u64>>,
    /// The current bucket: all buckets above it are empty.
    floor: usize,
    /// Pairs of the current bucket, the best last.
    sorted: Vec<Followed>,
    /// The minimum number of pairs of equal count that are sorted at a time, unless an eighth of
    /// the bucket is more.
    sort_batch: usize,
}

/// The number of buckets between two powers of two.
const RANGES: usize = 16;
/// The prefetch distance, in pairs.
const AHEAD: usize = 16;

impl PairQueue {
    /// Returns an empty queue with a bucket for each count below `exact`.
    pub fn new(rule: TieBreak, exact: u64, sort_batch: usize) -> Self {
        let buckets = exact as usize + RANGES * u64::BITS as usize;
        Self {
            rule,
            exact,
            buckets: vec![Vec::new(); buckets],
            floor: buckets - 1,
            sorted: Vec::new(),
            sort_batch,
        }
    }

    /// Removes all pairs.
    pub fn clear(&mut self) {
        *self = Self::new(self.rule, self.exact, self.sort_batch);
    }

    /// Returns the bucket of a count above 0.
    fn bucket_of(&self, count: u64) -> usize {
        if count < self.exact {
            return count as usize;
        }
        // The place of the highest bit, and the four bits behind it: they choose one of 16 ranges.
        let power = count.ilog2();
        let range = (count << (u64::BITS - 1 - power) << 1) >> (u64::BITS - RANGES.ilog2());
        self.exact as usize + RANGES * power as usize + range as usize
    }

    /// Adds a pair.
    #[inline]
    pub fn push(&mut self, tokens: &Tokens, pair: &Followed) {
        let bucket = self.bucket_of(pair.count);
        if bucket < self.floor {
            self.buckets[bucket].push(pair.key);
        } else {
            self.push_to_best(tokens, pair, bucket);
        }
    }

    /// Adds a pair to the current bucket, or to one that is better.
    #[inline(never)]
    fn push_to_best(&mut self, tokens: &Tokens, pair: &Followed, bucket: usize) {
        let comes_after = |last: &Followed| self.order(tokens, pair, last).is_lt();
        if self.sorted.first().is_none_or(comes_after) {
            self.buckets[bucket].push(pair.key);
            self.floor = bucket;
        } else {
            let place =
                self.sorted.partition_point(|other| self.order(tokens, other, pair).is_lt());
            self.sorted.insert(place, *pair);
        }
    }

    /// Removes and returns the best pair. Pairs of the current bucket whose count has fallen are
    /// moved to their bucket, or dropped if their count is below `threshold`.
    #[inline]
    pub fn pop(
        &mut self,
        tokens: &Tokens,
        pairs: &mut PairTable,
        threshold: u64,
    ) -> Option<Followed> {
        if self.sorted.is_empty() {
            self.sort_next(tokens, pairs, threshold);
        }
        self.sorted.pop()
    }

    /// Sorts pairs of the next bucket that has any of this count; none if no bucket has.
    #[inline(never)]
    fn sort_next(&mut self, tokens: &Tokens, pairs: &mut PairTable, threshold: u64) {
        while self.sorted.is_empty() {
            if !self.buckets[self.floor].is_empty() {
                self.sort_some(tokens, pairs, threshold);
            } else if self.floor > 0 {
                self.floor -= 1;
            } else {
                return;
            }
        }
    }

    /// Returns the pair `places` places after the best one, if it is sorted already. A better pair
    /// may still be pushed.
    pub fn ahead(&self, places: usize) -> Option<Followed> {
        Some(self.sorted[self.sorted.len().checked_sub(places + 1)?])
    }

    /// Returns the order in `sorted`: the worst pair is the least.
    fn order(&self, tokens: &Tokens, a: &Followed, b: &Followed) -> Ordering {
        a.compare_counts(b).then_with(|| self.rule.compare(tokens, b.key, a.key))
    }

    /// Moves the best pairs of the current bucket to `sorted`.
    fn sort_some(&mut self, tokens: &Tokens, pairs: &mut PairTable, threshold: u64) {
        match self.rule {
            // A rule that is a constant needs no branch for each comparison.
            TieBreak::SmallestIds => self.sort_some_by(pairs, threshold, |a, b| b.cmp(&a)),
            rule => self.sort_some_by(pairs, threshold, |a, b| rule.compare(tokens, b, a)),
        }
    }

    fn sort_some_by(
        &mut self,
        pairs: &mut PairTable,
        threshold: u64,
        worst_first: impl Fn(u64, u64) -> Ordering,
    ) {
        let is_exact = (self.floor as u64) < self.exact;
        let bucket = &mut self.buckets[self.floor];
        // In a bucket of several counts, the best pairs are only known once all are up to date.
        let batch = if is_exact { self.sort_batch.max(bucket.len() / 8) } else { bucket.len() };
        let remaining = bucket.len().saturating_sub(batch);
        if remaining > 0 {
            bucket.select_nth_unstable_by(remaining, |&a, &b| worst_first(a, b));
        }
        let best = bucket.split_off(remaining);
        for (nth, &key) in best.iter().enumerate() {
            if let Some(&later) = best.get(nth + AHEAD) {
                pairs.prefetch_pair(later);
            }
            let Some(pair) = pairs.pair(key).filter(|pair| pair.count >= threshold) else {
                continue;
            };
            let bucket = self.bucket_of(pair.count);
            if bucket == self.floor {
                self.sorted.push(*pair);
            } else {
                self.buckets[bucket].push(key);
            }
        }
        self.sorted
            .sort_unstable_by(|a, b| a.compare_counts(b).then_with(|| worst_first(a.key, b.key)));
    }
}
