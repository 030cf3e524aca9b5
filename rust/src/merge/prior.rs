//! Merges that are given in advance (`prior_merges`): they become tokens, and are applied to every word before training.
//!
//! Words are merged as an encoder does: the lowest rank first, the leftmost among equals. A heap holds the candidates
//! of one word; an entry whose tokens have changed since is skipped.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::MergeRow;
use super::pairs::key_of;
use super::slots::{SlotWidth, Slots, replace};
use super::tokens::{BOUNDARY, Code, FIRST, Tokens};
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::Pulse;
use crate::workers;

/// The memory of a merge: its row, its entry in `ranks`, and its token.
const BYTES_PER_MERGE: usize = 128;

/// Prior merges.
pub struct Prior {
    /// The rank and the result of each pair; for equal pairs the first one counts.
    merges: HashMap<u64, (u32, Code)>,
}

/// The merges that may apply to a word: their ranks, and the places of their left tokens.
type Candidates = BinaryHeap<Reverse<(u32, usize)>>;

impl Prior {
    /// Adds the merges' tokens to `tokens`; refuses a merge whose result does not follow from its pair.
    pub fn new(merges: &[MergeRow], tokens: &mut Tokens) -> Result<Self> {
        memory::ensure(merges.len() * BYTES_PER_MERGE)?;
        let mut prior = Self { merges: HashMap::new() };
        let refused = |row, reason: String| Err(Error::Value(format!("prior_merges: row {row} {reason}")));
        for (row, &[left, right, result]) in merges.iter().enumerate() {
            let (known, largest) = (tokens.len() as u64 - u64::from(FIRST), left.max(right));
            if u64::from(largest) >= known {
                return refused(row, format!("uses symbol {largest} before it is made"));
            }
            let [left, right] = [left + FIRST, right + FIRST];
            let (code, _) = tokens.join(left, right)?;
            let made = code - FIRST;
            if made != result {
                return refused(row, format!("makes symbol {made}, not {result}"));
            }
            prior.merges.entry(key_of(left, right)).or_insert((row as u32, code));
        }
        Ok(prior)
    }

    /// Merges inside every word until no prior merge applies.
    pub fn apply<S: SlotWidth>(
        &self,
        slots: &mut Slots<S>,
        spans: &[u32],
        threads: usize,
        pulse: &mut Pulse<'_>,
    ) -> Result<()> {
        if self.merges.is_empty() {
            return Ok(());
        }
        workers::each(threads, slots.split(threads), pulse, |words, pulse| {
            let mut candidates = Candidates::new();
            words
                .split_mut(|slot| slot.code() == BOUNDARY)
                .try_for_each(|word| self.merge_word(word, spans, &mut candidates, pulse))
        })?;
        Ok(())
    }

    fn merge_word<S: SlotWidth>(
        &self,
        word: &mut [S],
        spans: &[u32],
        candidates: &mut Candidates,
        pulse: &mut Pulse<'_>,
    ) -> Result<()> {
        let span = |code: Code| spans[code as usize] as usize;
        let merge_at = |word: &[S], at: usize, next: usize| {
            let right = word.get(next)?;
            self.merges.get(&key_of(word[at].code(), right.code())).copied()
        };
        // Adds the merge of the tokens at two places, if there is one.
        let offer = |candidates: &mut Candidates, word: &[S], at: usize, next: usize| {
            candidates.extend(merge_at(word, at, next).map(|(rank, _)| Reverse((rank, at))));
        };
        pulse.beat(word.len())?;
        let mut at = 0;
        while at < word.len() {
            let next = at + span(word[at].code());
            offer(candidates, word, at, next);
            at = next;
        }
        while let Some(Reverse((rank, at))) = candidates.pop() {
            pulse.beat(1)?;
            let middle = at + span(word[at].code());
            let Some((_, joined)) = merge_at(word, at, middle).filter(|&(now, _)| now == rank) else {
                continue;
            };
            let end = middle + span(word[middle].code());
            replace(&mut word[at..end], middle - at, joined);
            if at > 0 {
                offer(candidates, word, at - span(word[at - 1].code()), at);
            }
            offer(candidates, word, at, end);
        }
        Ok(())
    }
}
