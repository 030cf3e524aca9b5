//! Pairs with counts in, the best pair out: a heap under the dialect's total order.

use std::cmp::Ordering;

use super::pairs::codes_of;
use super::tokens::{Code, Tokens};

/// Which of the pairs with the highest count is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieBreak {
    /// The smallest pair of symbols.
    SmallestIds,
    /// The largest pair of token bytes; equal bytes are decided by the smaller symbols.
    LargestBytes,
    /// The smallest pair of token bytes; equal bytes are decided by the smaller symbols.
    SmallestBytes,
}

/// A pair as the queue knows it. Its count may have fallen since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub count: u64,
    pub left: Code,
    pub right: Code,
}

impl Candidate {
    pub fn new(key: u64, count: u64) -> Self {
        let (left, right) = codes_of(key);
        Self { count, left, right }
    }
}

impl TieBreak {
    /// Whether `a` is merged before `b`: a total order on distinct pairs.
    fn prefers(self, tokens: &Tokens, a: &Candidate, b: &Candidate) -> bool {
        if a.count != b.count {
            return a.count > b.count;
        }
        let by_ids = (a.left, a.right).cmp(&(b.left, b.right));
        let by_bytes = |a: Code, b: Code| {
            if a == b { Ordering::Equal } else { tokens.bytes(a).cmp(&tokens.bytes(b)) }
        };
        let order = match self {
            Self::SmallestIds => by_ids,
            Self::SmallestBytes => {
                by_bytes(a.left, b.left).then_with(|| by_bytes(a.right, b.right)).then(by_ids)
            }
            Self::LargestBytes => {
                by_bytes(b.left, a.left).then_with(|| by_bytes(b.right, a.right)).then(by_ids)
            }
        };
        order == Ordering::Less
    }
}

/// The candidates, best first; four children to a node, so that a level is one cache line.
pub struct Queue {
    rule: TieBreak,
    heap: Vec<Candidate>,
}

const CHILDREN: usize = 4;

impl Queue {
    pub fn new(rule: TieBreak) -> Self {
        Self { rule, heap: Vec::new() }
    }

    /// Replaces all candidates.
    pub fn fill(&mut self, tokens: &Tokens, candidates: impl Iterator<Item = Candidate>) {
        self.heap.clear();
        self.heap.extend(candidates);
        for at in (0..self.heap.len().div_ceil(CHILDREN)).rev() {
            self.sink(tokens, at);
        }
    }

    pub fn best(&self) -> Option<Candidate> {
        self.heap.first().copied()
    }

    pub fn push(&mut self, tokens: &Tokens, candidate: Candidate) {
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

    /// Gives the best candidate the count that it has now.
    pub fn set_best(&mut self, tokens: &Tokens, count: u64) {
        if let Some(best) = self.heap.first_mut() {
            best.count = count;
            self.sink(tokens, 0);
        }
    }

    pub fn remove_best(&mut self, tokens: &Tokens) {
        let last = self.heap.pop();
        if let (Some(last), Some(best)) = (last, self.heap.first_mut()) {
            *best = last;
            self.sink(tokens, 0);
        }
    }

    fn sink(&mut self, tokens: &Tokens, mut at: usize) {
        let Some(&sinking) = self.heap.get(at) else { return };
        loop {
            let first = at * CHILDREN + 1;
            let children = first..(first + CHILDREN).min(self.heap.len());
            let preferred = children.reduce(|best, child| {
                if self.rule.prefers(tokens, &self.heap[child], &self.heap[best]) { child } else { best }
            });
            match preferred {
                Some(child) if self.rule.prefers(tokens, &self.heap[child], &sinking) => {
                    self.heap[at] = self.heap[child];
                    at = child;
                }
                _ => break,
            }
        }
        self.heap[at] = sinking;
    }
}
