//! A priority queue of pairs: the highest count first, ties by a total order ([`super::tie_break`]).
//!
//! Frequent pairs are in a heap. Rare pairs, which are far more numerous, are in unordered buckets, one per count. When
//! the queue reaches a count, it brings the pairs of that bucket up to date and sorts them many at a time. The next
//! merges are then known in advance, and their memory can be prefetched.
//!
//! Invariant: a queued count is never lower than the pair's real count. It may be higher, and is checked when popped.

use std::cmp::Ordering;

use super::pairs::{Candidate, PairTable};
use super::tie_break::TieBreak;
use super::tokens::Tokens;

/// The queue of candidates.
pub struct PairQueue {
    rule: TieBreak,
    /// Pairs with a count of `floor` or more, except those in `sorted` and in the bucket of `floor`.
    heap: Vec<Candidate>,
    /// Pairs with count `floor`, the best last.
    sorted: Vec<u64>,
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

    /// Removes all candidates.
    pub fn clear(&mut self) {
        *self = Self::new(self.rule, self.buckets.len(), self.sort_batch);
    }

    /// Adds a candidate.
    pub fn push(&mut self, tokens: &Tokens, candidate: Candidate) {
        match self.buckets[..self.floor].get_mut(usize::try_from(candidate.count).unwrap_or(usize::MAX)) {
            Some(bucket) => bucket.push(candidate.key),
            None => self.push_frequent(tokens, candidate),
        }
    }

    /// Removes and returns the best candidate. Candidates of the current bucket whose count has fallen are moved to their
    /// bucket, or dropped if their count is below `threshold`.
    pub fn pop(&mut self, tokens: &Tokens, pairs: &PairTable, threshold: u64) -> Option<Candidate> {
        while self.sorted.is_empty() {
            match self.buckets.get_mut(self.floor) {
                Some(bucket) if !bucket.is_empty() => self.sort_some(tokens, pairs, threshold),
                _ if !self.heap.is_empty() => break,
                _ => self.floor = self.floor.checked_sub(1)?,
            }
        }
        let sorted = self.sorted.last().map(|&key| Candidate { key, count: self.floor as u64 });
        match (sorted, self.heap.first()) {
            (Some(best), None) => {
                self.sorted.pop();
                Some(best)
            }
            (Some(best), Some(other)) if self.rule.prefers(tokens, &best, other) => {
                self.sorted.pop();
                Some(best)
            }
            _ => self.pop_frequent(tokens),
        }
    }

    /// The candidate `places` places after the best, provided that nothing better is pushed before; and its number, which
    /// stays the same.
    pub fn ahead(&self, places: usize) -> Option<(usize, u64)> {
        self.sorted.len().checked_sub(places + 1).map(|at| (at, self.sorted[at]))
    }

    /// Moves the best pairs of the bucket of `floor` to `sorted`.
    fn sort_some(&mut self, tokens: &Tokens, pairs: &PairTable, threshold: u64) {
        match self.rule {
            // A rule that is known here needs no branch for each comparison.
            TieBreak::SmallestIds => self
                .sort_some_by(tokens, pairs, threshold, |a, b| TieBreak::SmallestIds.compare(tokens, *b, *a)),
            rule => self.sort_some_by(tokens, pairs, threshold, |a, b| rule.compare(tokens, *b, *a)),
        }
    }

    fn sort_some_by(
        &mut self,
        tokens: &Tokens,
        pairs: &PairTable,
        threshold: u64,
        worst_first: impl Fn(&u64, &u64) -> Ordering + Copy,
    ) {
        let bucket = &mut self.buckets[self.floor];
        let some = bucket.len() - self.sort_batch.max(bucket.len() / 8).min(bucket.len());
        if some > 0 {
            bucket.select_nth_unstable_by(some, worst_first);
        }
        let best = bucket.split_off(some);
        let floor = self.floor as u64;
        for (nth, &key) in best.iter().enumerate() {
            if let Some(&later) = best.get(nth + AHEAD) {
                pairs.prefetch(later);
            }
            let count = pairs.find(key).map_or(0, |place| pairs.count(place));
            if count == floor {
                self.sorted.push(key);
            } else if count >= threshold {
                self.push(tokens, Candidate { key, count });
            }
        }
        self.sorted.sort_unstable_by(worst_first);
    }

    fn push_frequent(&mut self, tokens: &Tokens, candidate: Candidate) {
        self.heap.push(candidate);
        let mut at = self.heap.len() - 1;
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if !self.rule.prefers(tokens, &candidate, &self.heap[parent]) {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = candidate;
    }

    fn pop_frequent(&mut self, tokens: &Tokens) -> Option<Candidate> {
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
