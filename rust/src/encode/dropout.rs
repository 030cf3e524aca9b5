//! BPE dropout: before each merge, every candidate is dropped with the same probability.
//!
//! `specification/dropout.py` says which are dropped. A pretoken is merged by itself and never
//! cached: with a heap, as very long ones always are, from which the lowest candidate is taken that
//! is not dropped.

use std::collections::BinaryHeap;

use super::merging::{Candidate, Merger};
use super::ordinary::Misses;
use super::stages::{SectionPlaces, Stretch};
use super::written::MarkPlace;
use super::{Choice, Encoder, Id, Model, Workspace};
use crate::error::Result;
use crate::memory::{push, reserve};
use crate::watch::Pulse;

/// If this many candidates are dropped in a row, merging ends. So a step takes a few microseconds
/// for any probability, and up to 0.99, nobody will ever see a difference: 0.99 ^ MOST < 10 ^ -71.
const MOST: usize = 1 << 14;

/// How often candidates are dropped, and what decides which ones.
#[derive(Clone, Copy)]
pub struct Dropout {
    /// The probability in units of 2 ^ -53, which are the precision of numbers below 1.
    chance: u64,
    seed: u64,
    /// The number of a text, and the bytes of it that were encoded before.
    document: u64,
    place: u64,
}

impl Dropout {
    /// From a probability between 0 and 1. The first text has the number `document`, and `begun`
    /// bytes of it were encoded before.
    pub fn new(probability: f64, seed: u64, document: u64, begun: u64) -> Self {
        let chance = (probability * (1u64 << f64::MANTISSA_DIGITS) as f64) as u64;
        Self { chance, seed, document, place: begun }
    }

    /// What is dropped from the text of a number.
    pub fn of_text(self, number: usize) -> Self {
        let document = self.document.wrapping_add(number as u64);
        Self { document, place: if number == 0 { self.place } else { 0 }, ..self }
    }

    /// The same for what follows so many bytes.
    pub fn behind(self, bytes: usize) -> Self {
        Self { place: self.place.wrapping_add(bytes as u64), ..self }
    }

    /// What is dropped from a pretoken that begins here.
    pub fn draws(self) -> Draws {
        let of_document = mixed(mixed(self.seed).wrapping_add(self.document));
        let state = mixed(of_document.wrapping_add(self.place));
        Draws { chance: self.chance, state, lowest: Vec::new() }
    }
}

/// Decides which candidates of a pretoken are dropped.
pub struct Draws {
    chance: u64,
    state: u64,
    /// Candidates that were dropped before, in ascending order; others are on the heap.
    lowest: Vec<Candidate>,
}

impl Draws {
    /// Takes the lowest candidate that is not dropped.
    fn take(&mut self, heap: &mut BinaryHeap<Candidate>) -> Option<Candidate> {
        for index in 0..MOST {
            let next = self.lowest.get(index);
            // A heap has its lowest candidate on top, which is the largest in reverse.
            if heap.peek().is_some_and(|top| next.is_none_or(|next| top > next)) {
                self.lowest.insert(index, heap.pop()?);
                if self.lowest.len() > MOST {
                    heap.extend(self.lowest.pop());
                }
            }
            if index == self.lowest.len() {
                return None;
            }
            if !self.drops() {
                return Some(self.lowest.remove(index));
            }
        }
        None
    }

    /// Whether the next candidate is dropped.
    fn drops(&mut self) -> bool {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed(self.state) >> (u64::BITS - f64::MANTISSA_DIGITS) < self.chance
    }
}

/// A hash of a number: the last step of SplitMix64.
fn mixed(mut number: u64) -> u64 {
    number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}

impl Encoder {
    /// Encodes a stretch of a text on this thread, with dropout.
    #[cold]
    pub(super) fn encode_dropping<T: Id>(
        &self,
        stretch: Stretch,
        choice: Choice,
        dropout: Dropout,
        ids: &mut Vec<T>,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let mut dropout = dropout.behind(stretch.range.start);
        let unneeded = SectionPlaces::Unneeded;
        self.stages.sections(stretch, choice, unneeded, pulse, &mut |section, pulse| {
            if let Some(id) = section.id {
                push(ids, T::from_id(id))?;
            } else {
                let text = self.model.pattern.prepare(section.text, pulse)?;
                let mut scanner = self.model.pattern.scan(&text);
                let [batch] = &mut *workspace.batch;
                let misses = &mut workspace.buffers.misses;
                let mut start = 0;
                while scanner.fill(batch, pulse)? > 0 {
                    for &end in batch.ends() {
                        let pretoken = &text.text().as_bytes()[start..end];
                        self.model.merge_some(pretoken, dropout.behind(start), misses, pulse)?;
                        self.model.replace_tokens(pretoken, &mut misses.ids)?;
                        reserve(ids, misses.ids.len())?;
                        T::put(ids, &misses.ids);
                        start = end;
                    }
                }
            }
            dropout = dropout.behind(section.text.len());
            Ok(())
        })
    }
}

impl Model {
    /// Merges a pretoken to tokens, as `merge_tokens` does, but with dropout: no token is taken for
    /// a whole pretoken. Bytes are put together as ever that are never apart.
    pub(super) fn merge_some(
        &self,
        pretoken: &[u8],
        dropout: Dropout,
        misses: &mut Misses,
        pulse: &mut Pulse,
    ) -> Result<()> {
        misses.ids.clear();
        if self.leaves_out(pretoken) {
            return Ok(());
        }
        let part = self.merged_part(pretoken)?;
        let Misses { ids, scratch, .. } = misses;
        let mut merger = Merger { merges: &self.merges, tokens: &self.tokens, scratch, pulse };
        merger.check_memory(&part)?;
        for unit in part.chunk_by(|&left, &right| self.never_part(left, right)) {
            match unit {
                &[byte] => push(ids, self.merges.base(byte))?,
                bytes => merger.merge(bytes, ids)?,
            }
        }
        let mut draws = dropout.draws();
        merger.merge_with_heap(ids, |heap| draws.take(heap))
    }

    /// Whether two neighbouring bytes are never apart: those of a character, where merges begin
    /// with characters, and a mark with what is beside it.
    fn never_part(&self, left: u8, right: u8) -> bool {
        let goes_on = self.has_characters && right & 0xC0 == 0x80;
        let has_mark = match self.mark {
            Some(MarkPlace::Start) => left == MarkPlace::Start.byte(),
            Some(MarkPlace::End) => right == MarkPlace::End.byte(),
            None => false,
        };
        goes_on || has_mark
    }
}
