//! Merges that are given in advance (`prior_merges`): they become tokens, and are applied to every word before training.
//!
//! Words are merged as an encoder does: the lowest rank first, the leftmost among equals. A heap holds the candidates
//! of one word; an entry whose tokens have changed since is skipped.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::MergeRow;
use super::code_array::SlotWidth;
use super::pairs::key_of;
use super::slots::{Slots, replace};
use super::tokens::{BOUNDARY, Code, FIRST, Tokens};
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::Pulse;
use crate::workers;

/// The memory of a merge: its row, its entry in `ranks`, and its token.
const BYTES_PER_MERGE: usize = 128;

/// Prior merges by pair; for equal pairs the first rank counts.
pub struct Prior {
    ranks: HashMap<u64, u32>,
    merges: Vec<[Code; 3]>,
}

impl Prior {
    /// Adds the merges' tokens to `tokens`; refuses a merge whose result does not follow from its pair.
    pub fn new(merges: &[MergeRow], tokens: &mut Tokens) -> Result<Self> {
        memory::ensure(merges.len() * BYTES_PER_MERGE)?;
        let mut prior = Self { ranks: HashMap::new(), merges: Vec::with_capacity(merges.len()) };
        for (row, &[left, right, result]) in merges.iter().enumerate() {
            let known = (tokens.len() - FIRST as usize) as u64;
            if u64::from(left.max(right)) >= known {
                let unknown = left.max(right);
                return Err(Error::Value(format!(
                    "prior_merges: row {row} uses symbol {unknown} before it is made"
                )));
            }
            let pair = (left + FIRST, right + FIRST);
            let (code, _) = tokens.join(pair.0, pair.1)?;
            if u64::from(code) != u64::from(result) + u64::from(FIRST) {
                let made = code - FIRST;
                return Err(Error::Value(format!(
                    "prior_merges: row {row} makes symbol {made}, not {result}"
                )));
            }
            prior.ranks.entry(key_of(pair.0, pair.1)).or_insert(prior.merges.len() as u32);
            prior.merges.push([pair.0, pair.1, code]);
        }
        Ok(prior)
    }

    pub fn is_empty(&self) -> bool {
        self.merges.is_empty()
    }

    /// Merges inside every word, lowest rank first and leftmost among equals, until no prior merge applies.
    pub fn apply<S: SlotWidth>(
        &self,
        slots: &mut Slots<S>,
        spans: &[u32],
        threads: usize,
        pulse: &mut Pulse<'_>,
    ) -> Result<()> {
        let boundary = S::of(BOUNDARY);
        workers::each(slots.split(threads), pulse, |words, pulse| {
            let mut candidates = BinaryHeap::new();
            words
                .split_mut(|slot| *slot == boundary)
                .try_for_each(|word| self.merge_word(word, spans, &mut candidates, pulse))
        })?;
        Ok(())
    }

    fn merge_word<S: SlotWidth>(
        &self,
        word: &mut [S],
        spans: &[u32],
        candidates: &mut BinaryHeap<Reverse<(u32, usize)>>,
        pulse: &mut Pulse<'_>,
    ) -> Result<()> {
        let span = |code: Code| spans[code as usize] as usize;
        pulse.beat(word.len())?;
        let mut at = 0;
        while at < word.len() {
            let next = at + span(word[at].code());
            self.push_candidate(candidates, at, word, next);
            at = next;
        }
        while let Some(Reverse((rank, at))) = candidates.pop() {
            pulse.beat(1)?;
            let [left, right, joined] = self.merges[rank as usize];
            let middle = at + span(left);
            if word[at].code() != left || word.get(middle).is_none_or(|slot| slot.code() != right) {
                continue;
            }
            let end = middle + span(right);
            replace(&mut word[at..end], middle - at, joined);
            if at > 0 {
                self.push_candidate(candidates, at - span(word[at - 1].code()), word, at);
            }
            self.push_candidate(candidates, at, word, end);
        }
        Ok(())
    }

    /// Adds a candidate if a prior merge applies to the tokens at `at` and `next`.
    fn push_candidate<S: SlotWidth>(
        &self,
        candidates: &mut BinaryHeap<Reverse<(u32, usize)>>,
        at: usize,
        word: &[S],
        next: usize,
    ) {
        let Some(right) = word.get(next) else { return };
        if let Some(&rank) = self.ranks.get(&key_of(word[at].code(), right.code())) {
            candidates.push(Reverse((rank, at)));
        }
    }
}
