//! Merges that are already fixed: they become tokens, and every word is brought to the state that they make.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::MergeRow;
use super::code_array::SlotWidth;
use super::pairs::key_of;
use super::slots::{AnySlots, Slots, replace};
use super::tokens::{BOUNDARY, Code, FIRST, Tokens};
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::Pulse;
use crate::workers;

/// What a merge takes: its row, its rank by its pair, and its token.
const FOR_EACH_MERGE: usize = 128;

/// Fixed merges by pair; among equal pairs the first has the rank.
pub struct Prior {
    ranks: HashMap<u64, u32>,
    merges: Vec<[Code; 3]>,
}

impl Prior {
    /// Adds the merges' tokens to `tokens`; refuses a merge whose result is not what its pair makes.
    pub fn new(merges: &[MergeRow], tokens: &mut Tokens) -> Result<Self> {
        memory::ensure(merges.len() * FOR_EACH_MERGE)?;
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

    /// Merges inside every word, lowest rank first and leftmost among equals, until no fixed merge applies.
    pub fn apply(
        &self,
        slots: &mut AnySlots,
        spans: &[u32],
        threads: usize,
        pulse: &mut Pulse<'_>,
    ) -> Result<()> {
        match slots {
            AnySlots::Narrow(slots) => self.apply_to(slots, spans, threads, pulse),
            AnySlots::Wide(slots) => self.apply_to(slots, spans, threads, pulse),
        }
    }

    fn apply_to<S: SlotWidth>(
        &self,
        slots: &mut Slots<S>,
        spans: &[u32],
        threads: usize,
        pulse: &mut Pulse<'_>,
    ) -> Result<()> {
        let boundary = S::of(BOUNDARY);
        workers::each(slots.split(threads), pulse, |words, pulse| {
            let mut waiting = BinaryHeap::new();
            words
                .split_mut(|slot| *slot == boundary)
                .try_for_each(|word| self.merge_word(word, spans, &mut waiting, pulse))
        })?;
        Ok(())
    }

    fn merge_word<S: SlotWidth>(
        &self,
        word: &mut [S],
        spans: &[u32],
        waiting: &mut BinaryHeap<Reverse<(u32, usize)>>,
        pulse: &mut Pulse<'_>,
    ) -> Result<()> {
        let span = |code: Code| spans[code as usize] as usize;
        pulse.beat(word.len())?;
        let mut at = 0;
        while at < word.len() {
            let next = at + span(word[at].code());
            self.offer(waiting, at, word, next);
            at = next;
        }
        while let Some(Reverse((rank, at))) = waiting.pop() {
            pulse.beat(1)?;
            let [left, right, joined] = self.merges[rank as usize];
            let middle = at + span(left);
            if word[at].code() != left || word.get(middle).is_none_or(|slot| slot.code() != right) {
                continue;
            }
            let end = middle + span(right);
            replace(&mut word[at..end], middle - at, joined);
            if at > 0 {
                self.offer(waiting, at - span(word[at - 1].code()), word, at);
            }
            self.offer(waiting, at, word, end);
        }
        Ok(())
    }

    /// Notes that a fixed merge applies to the tokens at two places of a word, if one does.
    fn offer<S: SlotWidth>(
        &self,
        waiting: &mut BinaryHeap<Reverse<(u32, usize)>>,
        at: usize,
        word: &[S],
        next: usize,
    ) {
        let Some(right) = word.get(next) else { return };
        if let Some(&rank) = self.ranks.get(&key_of(word[at].code(), right.code())) {
            waiting.push(Reverse((rank, at)));
        }
    }
}
