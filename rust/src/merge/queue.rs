//! A priority queue of pairs: the highest count first, ties by a total order.
//!
//! Frequent pairs are in a heap. Rare pairs, which are far more numerous, are in unordered buckets, one per count. When
//! the queue reaches a count, it brings the pairs of that bucket up to date and sorts them many at a time. The next
//! merges are then known in advance, and their memory can be prefetched.
//!
//! Invariant: a queued count is never lower than the pair's real count. It may be higher, and is checked when popped.

use std::cmp::Ordering;

use super::pairs::{Pair, PairTable, codes_of};
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
        let (left, right) = (codes_of(a), codes_of(b));
        let order = by_bytes(left.0, right.0).then_with(|| by_bytes(left.1, right.1));
        let order = if self == Self::LargestBytes { order.reverse() } else { order };
        order.then(a.cmp(&b))
    }

    /// Whether `a` is merged before `b`.
    fn prefers(self, tokens: &Tokens, a: &Pair, b: &Pair) -> bool {
        let order = b.count.cmp(&a.count).then_with(|| self.compare(tokens, a.key, b.key));
        order == Ordering::Less
    }
}

/// The queue. A pair in it may have become rarer since.
pub struct PairQueue {
    rule: TieBreak,
    /// Pairs with a count of `floor` or more, except those in `sorted` and in the bucket of `floor`.
    heap: Vec<Pair>,
    /// Pairs with count `floor` and the numbers of their lists, the best last.
    sorted: Vec<(u64, u32)>,
    /// The highest count of a pair in a bucket.
    floor: usize,
    /// Pairs by count. Those with count `floor` all come after those in `sorted`.
    buckets: Vec<Vec<u64>>,
    /// The minimum number of pairs of a bucket that are sorted at a time; at least an eighth of them are.
    sort_batch: usize,
}

/// Children of a node of the heap.
const CHILDREN: usize = 4;
/// The prefetch distance, in pairs.
const AHEAD: usize = 16;

impl PairQueue {
    /// An empty queue with one bucket for each count below `buckets`.
    pub fn new(rule: TieBreak, buckets: usize, sort_batch: usize) -> Self {
        let (heap, sorted, floor) = (Vec::new(), Vec::new(), buckets);
        Self { rule, heap, sorted, floor, buckets: vec![Vec::new(); buckets], sort_batch }
    }

    /// Removes all pairs.
    pub fn clear(&mut self) {
        *self = Self::new(self.rule, self.buckets.len(), self.sort_batch);
    }

    /// Adds a pair.
    pub fn push(&mut self, tokens: &Tokens, pair: Pair) {
        match self.buckets[..self.floor].get_mut(usize::try_from(pair.count).unwrap_or(usize::MAX)) {
            Some(bucket) => bucket.push(pair.key),
            None => self.push_frequent(tokens, pair),
        }
    }

    /// Removes and returns the best pair. Pairs of the current bucket whose count has fallen are moved to their bucket, or
    /// dropped if their count is below `threshold`.
    pub fn pop(&mut self, tokens: &Tokens, pairs: &PairTable, threshold: u64) -> Option<Pair> {
        while self.sorted.is_empty() {
            match self.buckets.get_mut(self.floor) {
                Some(bucket) if !bucket.is_empty() => self.sort_some(tokens, pairs, threshold),
                _ if !self.heap.is_empty() => break,
                _ => self.floor = self.floor.checked_sub(1)?,
            }
        }
        let sorted = self.sorted.last().map(|&(key, _)| Pair { key, count: self.floor as u64 });
        match (sorted, self.heap.first()) {
            (Some(best), other) if other.is_none_or(|other| self.rule.prefers(tokens, &best, other)) => {
                self.sorted.pop();
                Some(best)
            }
            _ => self.pop_frequent(tokens),
        }
    }

    /// The pair `places` places after the best and its list, provided that nothing better is pushed before.
    pub fn ahead(&self, places: usize) -> Option<(u64, u32)> {
        Some(self.sorted[self.sorted.len().checked_sub(places + 1)?])
    }

    /// Moves the best pairs of the bucket of `floor` to `sorted`.
    fn sort_some(&mut self, tokens: &Tokens, pairs: &PairTable, threshold: u64) {
        match self.rule {
            // A rule that is known here needs no branch for each comparison.
            TieBreak::SmallestIds => self.sort_some_by(tokens, pairs, threshold, |a, b| b.cmp(&a)),
            rule => self.sort_some_by(tokens, pairs, threshold, |a, b| rule.compare(tokens, b, a)),
        }
    }

    fn sort_some_by(
        &mut self,
        tokens: &Tokens,
        pairs: &PairTable,
        threshold: u64,
        worst_first: impl Fn(u64, u64) -> Ordering,
    ) {
        let bucket = &mut self.buckets[self.floor];
        let some = bucket.len() - self.sort_batch.max(bucket.len() / 8).min(bucket.len());
        if some > 0 {
            bucket.select_nth_unstable_by(some, |&a, &b| worst_first(a, b));
        }
        let best = bucket.split_off(some);
        for (nth, &key) in best.iter().enumerate() {
            if let Some(&later) = best.get(nth + AHEAD) {
                pairs.prefetch(later);
            }
            let Some(at) = pairs.find(key) else { continue };
            let count = pairs.count(at);
            if count == self.floor as u64 {
                self.sorted.push((key, pairs.list(at)));
            } else if count >= threshold {
                self.push(tokens, Pair { key, count });
            }
        }
        self.sorted.sort_unstable_by(|a, b| worst_first(a.0, b.0));
    }

    fn push_frequent(&mut self, tokens: &Tokens, pair: Pair) {
        self.heap.push(pair);
        let mut at = self.heap.len() - 1;
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if !self.rule.prefers(tokens, &pair, &self.heap[parent]) {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = pair;
    }

    fn pop_frequent(&mut self, tokens: &Tokens) -> Option<Pair> {
        let last = self.heap.pop()?;
        let Some(&best) = self.heap.first() else { return Some(last) };
        let mut at = 0;
        loop {
            let first = at * CHILDREN + 1;
            let children = first..(first + CHILDREN).min(self.heap.len());
            let preferred = children.reduce(|best, child| {
                if self.rule.prefers(tokens, &self.heap[child], &self.heap[best]) { child } else { best }
            });
            match preferred {
                Some(child) if self.rule.prefers(tokens, &self.heap[child], &last) => {
                    self.heap[at] = self.heap[child];
                    at = child;
                }
                _ => break,
            }
        }
        self.heap[at] = last;
        Some(best)
    }
}
