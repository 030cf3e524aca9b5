//! Merges that are already fixed: they become tokens, and every word is brought to the state that they make.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::Merge;
use super::pairs::key_of;
use super::row::Slot;
use super::slots::{AnySlots, Slots, replace};
use super::tokens::{BOUNDARY, Code, FIRST, Tokens};
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::Pulse;

/// What a merge takes: its row, its rank by its pair, and its token.
const FOR_EACH_MERGE: usize = 128;

/// Fixed merges by pair; among equal pairs the first has the rank.
pub struct Prior {
    ranks: HashMap<u64, u32>,
    merges: Vec<[Code; 3]>,
}

impl Prior {
    /// Adds the merges' tokens to `tokens`; refuses a merge whose result is not what its pair makes.
    pub fn new(merges: &[Merge], tokens: &mut Tokens) -> Result<Self> {
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
    pub fn apply(&self, slots: &mut AnySlots, spans: &[u32], pulse: &mut Pulse<'_>) -> Result<()> {
        match slots {
            AnySlots::Narrow(slots) => self.apply_to(slots, spans, pulse),
            AnySlots::Wide(slots) => self.apply_to(slots, spans, pulse),
        }
    }

    fn apply_to<S: Slot>(&self, slots: &mut Slots<S>, spans: &[u32], pulse: &mut Pulse<'_>) -> Result<()> {
        let span = |code: Code| spans[code as usize] as usize;
        let mut waiting = BinaryHeap::new();
        slots.each_word(|slots, word| {
            pulse.beat(word.len())?;
            let mut at = word.start;
            while at < word.end {
                let next = at + span(slots.code(at));
                self.offer(&mut waiting, at, slots.code(at), slots.code(next));
                at = next;
            }
            while let Some(Reverse((rank, at))) = waiting.pop() {
                pulse.beat(1)?;
                let [left, right, joined] = self.merges[rank as usize];
                let middle = at + span(left);
                if slots.code(at) != left || slots.code(middle) != right {
                    continue;
                }
                let end = middle + span(right);
                if let Some(around) = slots.around(at, end - at) {
                    replace(around, 1 + middle - at, joined);
                }
                let before = slots.code(at - 1);
                if before != BOUNDARY {
                    self.offer(&mut waiting, at - span(before), before, joined);
                }
                self.offer(&mut waiting, at, joined, slots.code(end));
            }
            Ok(())
        })
    }

    fn offer(&self, waiting: &mut BinaryHeap<Reverse<(u32, usize)>>, at: usize, left: Code, right: Code) {
        if let Some(&rank) = self.ranks.get(&key_of(left, right)) {
            waiting.push(Reverse((rank, at)));
        }
    }
}
