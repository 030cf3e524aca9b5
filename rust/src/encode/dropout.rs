//! BPE dropout: before each merge, every candidate is dropped with the same probability.
//!
//! `specification/dropout.py` says which are dropped. A pretoken is merged by itself and never
//! cached:
//!
//! 1. Units are put together as ever: bytes, or characters where their parts are provisional.
//! 2. All pairs with a rank are candidates, in ascending order ([`Candidates`]).
//! 3. A number says how many of the lowest are dropped in a row. The next one is taken out, and
//!    merged, if its pair is still there; the two new pairs become candidates.
//!
//! One number for a step, not one for each candidate, takes the same time for any probability, so
//! that n steps take n log n. (Only where tens of thousands of candidates are dropped in a row, the
//! blocks that hold them are counted, too.)

use super::merges::Merge;
use super::merging::{Merger, Scratch};
use super::ordinary::Misses;
use super::stages::{SectionPlaces, Stretch};
use super::written::MarkPlace;
use super::{Choice, Encoder, Id, Model, NO_ID, Workspace};
use crate::error::{Error, Result};
use crate::memory::{self, push, reserve};
use crate::watch::Pulse;

/// The number of steps between two beats of the pulse.
const STEPS: usize = 1 << 14;

/// From this size on, memory for a pretoken is checked first: per byte a token, a candidate, and
/// an id.
const LARGE: usize = 1 << 16;
const BYTES_PER_BYTE: usize = size_of::<PlacedToken>() + 2 * size_of::<u64>() + size_of::<u32>();

/// The number of powers: a pretoken has less than 2 ^ 32 candidates.
const POWERS: usize = 32;

/// How often candidates are dropped, and what decides which ones.
pub struct Dropout {
    /// The probability to the powers 1, 2, 4, ..., in units of 2 ^ -64.
    powers: [u64; POWERS],
    drops_all: bool,
    seed: u64,
    /// The number of the first text, and the bytes of it that were encoded before.
    document: u64,
    begun: u64,
}

impl Dropout {
    /// From a probability between 0 and 1.
    pub fn new(probability: f64, seed: u64, document: u64, begun: u64) -> Self {
        let mut powers = [0; POWERS];
        // Exact, but for bits below the last one; 1 is too large for it.
        let mut power = (probability * (u64::MAX as f64)) as u64;
        for place in &mut powers {
            *place = power;
            power = product(power, power);
        }
        Self { powers, drops_all: probability >= 1.0, seed: mixed(seed), document, begun }
    }

    /// What is dropped from the text of a number.
    pub fn of_text(&self, number: usize) -> TextDropout<'_> {
        let document = self.document.wrapping_add(number as u64);
        TextDropout {
            dropout: self,
            key: mixed(self.seed.wrapping_add(document)),
            place: if number == 0 { self.begun } else { 0 },
        }
    }
}

/// What is dropped from a text, from a place on.
#[derive(Clone, Copy)]
pub struct TextDropout<'d> {
    dropout: &'d Dropout,
    key: u64,
    place: u64,
}

impl<'d> TextDropout<'d> {
    /// The same for what follows so many bytes.
    pub fn behind(self, bytes: usize) -> Self {
        Self { place: self.place.wrapping_add(bytes as u64), ..self }
    }

    /// What is dropped from the pretoken at an offset.
    pub fn of_pretoken(self, offset: usize) -> Draws<'d> {
        let place = self.place.wrapping_add(offset as u64);
        Draws { dropout: self.dropout, state: mixed(self.key.wrapping_add(place)) }
    }
}

/// The numbers that decide what is dropped from a pretoken.
pub struct Draws<'d> {
    dropout: &'d Dropout,
    state: u64,
}

impl Draws<'_> {
    /// How many candidates are dropped in a row before the next step.
    fn dropped(&mut self) -> usize {
        if self.dropout.drops_all {
            return usize::MAX;
        }
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let number = mixed(self.state);
        let powers = &self.dropout.powers;
        if number >= powers[0] {
            return 0;
        }
        let mut in_a_row = 0;
        let mut chance = None;
        for (exponent, &power) in powers.iter().enumerate().rev() {
            let lower = chance.map_or(power, |chance| product(chance, power));
            if number < lower {
                in_a_row += 1 << exponent;
                chance = Some(lower);
            }
        }
        in_a_row
    }
}

/// The product of two fractions in units of 2 ^ -64.
fn product(left: u64, right: u64) -> u64 {
    ((u128::from(left) * u128::from(right)) >> u64::BITS) as u64
}

/// A hash of a number: the last step of SplitMix64.
fn mixed(mut number: u64) -> u64 {
    number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}

/// The most candidates of a block.
const BLOCK: usize = 512;

/// Candidates in ascending order: the rank in the highest bits, then the place. They are in blocks,
/// so that few are moved when one is put in or taken out.
#[derive(Default)]
struct Candidates {
    /// None of them is empty, except that there is always one.
    blocks: Vec<Vec<u64>>,
}

impl Candidates {
    /// Begins with these, in any order.
    fn fill(&mut self, all: &mut Vec<u64>) -> Result<()> {
        all.sort_unstable();
        self.blocks.truncate(1);
        match self.blocks.first_mut() {
            Some(block) => block.clear(),
            None => push(&mut self.blocks, Vec::new())?,
        }
        for (number, block) in all.chunks(BLOCK / 2).enumerate() {
            if number > 0 {
                push(&mut self.blocks, Vec::new())?;
            }
            memory::extend(&mut self.blocks[number], block)?;
        }
        all.clear();
        Ok(())
    }

    fn insert(&mut self, candidate: u64) -> Result<()> {
        let is_before = |block: &Vec<u64>| block.last().is_some_and(|&last| last < candidate);
        let number = self.blocks.partition_point(is_before).min(self.blocks.len() - 1);
        let block = &mut self.blocks[number];
        reserve(block, 1)?;
        let place = block.partition_point(|&other| other < candidate);
        block.insert(place, candidate);
        if block.len() == BLOCK {
            let mut upper = Vec::new();
            memory::extend(&mut upper, &block[BLOCK / 2..])?;
            block.truncate(BLOCK / 2);
            reserve(&mut self.blocks, 1)?;
            self.blocks.insert(number + 1, upper);
        }
        Ok(())
    }

    /// Takes out the candidate at an index.
    fn take(&mut self, mut index: usize) -> Option<u64> {
        for number in 0..self.blocks.len() {
            let block = &mut self.blocks[number];
            if index < block.len() {
                let candidate = block.remove(index);
                if block.is_empty() && self.blocks.len() > 1 {
                    self.blocks.remove(number);
                }
                return Some(candidate);
            }
            index -= block.len();
        }
        None
    }
}

/// A token at the place of its first byte, the merge of it and the next one, and where the one
/// before it begins.
#[derive(Clone, Copy)]
struct PlacedToken {
    merge: Merge,
    id: u32,
    previous: u32,
}

impl PlacedToken {
    /// Where no token begins.
    const NONE: Self = Self { merge: Merge::NONE, id: NO_ID, previous: 0 };
}

/// The tokens of a pretoken.
struct Tokens<'a> {
    model: &'a Model,
    placed: &'a mut [PlacedToken],
}

impl Tokens<'_> {
    /// Where the token ends that begins at a place.
    fn after(&self, place: usize) -> usize {
        place + self.model.merged_length(self.placed[place].id)
    }

    /// Finds the merge of a token and the next one, and returns the candidate, if there is one.
    fn find_merge(&mut self, place: usize) -> Option<u64> {
        let next = self.placed.get(self.after(place));
        let merge = next.map_or(Merge::NONE, |next| {
            self.model.merges.pairs.get(self.placed[place].id, next.id)
        });
        self.placed[place].merge = merge;
        let candidate = u64::from(merge.rank()) << u32::BITS | place as u64;
        (merge != Merge::NONE).then_some(candidate)
    }

    /// Merges a token and the next one, if they are still those of a candidate. Returns the places
    /// whose merges must be found again.
    fn join(&mut self, candidate: u64) -> impl Iterator<Item = usize> + use<> {
        let place = candidate as u32 as usize;
        let merge = self.placed[place].merge;
        let is_there = merge != Merge::NONE && u64::from(merge.rank()) == candidate >> u32::BITS;
        if is_there {
            let absorbed = self.after(place);
            self.placed[absorbed] = PlacedToken::NONE;
            self.placed[place].id = merge.id();
            let next = self.after(place);
            if let Some(next) = self.placed.get_mut(next) {
                next.previous = place as u32;
            }
        }
        let before = (is_there && place > 0).then_some(self.placed[place].previous as usize);
        before.into_iter().chain(is_there.then_some(place))
    }
}

/// Memory that is reused from one pretoken to the next.
#[derive(Default)]
pub struct DropoutScratch {
    candidates: Candidates,
    first: Vec<u64>,
    placed: Vec<PlacedToken>,
    unit: Vec<u32>,
}

impl Encoder {
    /// Encodes a stretch of a text on this thread, with dropout.
    #[cold]
    pub(super) fn encode_dropping<T: Id>(
        &self,
        stretch: Stretch,
        choice: Choice,
        dropout: TextDropout,
        ids: &mut Vec<T>,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let mut dropout = dropout.behind(stretch.range.start);
        let mut scratch = DropoutScratch::default();
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
                        let draws = dropout.of_pretoken(start);
                        self.model.merge_some(pretoken, draws, &mut scratch, misses, pulse)?;
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
    /// a whole pretoken.
    pub(super) fn merge_some(
        &self,
        pretoken: &[u8],
        mut draws: Draws,
        scratch: &mut DropoutScratch,
        misses: &mut Misses,
        pulse: &mut Pulse,
    ) -> Result<()> {
        misses.ids.clear();
        if self.leaves_out(pretoken) {
            return Ok(());
        }
        if pretoken.len() >= LARGE {
            memory::ensure(pretoken.len().saturating_mul(BYTES_PER_BYTE))?;
        }
        let part = self.merged_part(pretoken)?;
        pulse.beat(part.len())?;
        self.place_units(&part, scratch, &mut misses.scratch, pulse)?;
        let DropoutScratch { candidates, first, placed, .. } = scratch;
        let length = placed.len();
        let mut tokens = Tokens { model: self, placed };
        let mut place = 0;
        while place < length {
            if let Some(candidate) = tokens.find_merge(place) {
                push(first, candidate)?;
            }
            place = tokens.after(place);
        }
        candidates.fill(first)?;
        let mut steps = 0;
        while let Some(candidate) = candidates.take(draws.dropped()) {
            steps += 1;
            if steps % STEPS == 0 {
                pulse.check()?;
            }
            for place in tokens.join(candidate) {
                if let Some(candidate) = tokens.find_merge(place) {
                    candidates.insert(candidate)?;
                }
            }
        }
        let mut place = 0;
        while place < length {
            push(&mut misses.ids, tokens.placed[place].id)?;
            place = tokens.after(place);
        }
        Ok(())
    }

    /// The number of bytes of a token that is merged; a byte may have no token.
    fn merged_length(&self, id: u32) -> usize {
        self.tokens.length(id).unwrap_or(1)
    }

    /// Puts the tokens of units to the places of their first bytes.
    fn place_units(
        &self,
        part: &[u8],
        scratch: &mut DropoutScratch,
        merging: &mut Scratch,
        pulse: &mut Pulse,
    ) -> Result<()> {
        if u32::try_from(part.len()).is_err() {
            return Err(Error::Value(format!("a pretoken of {} bytes is too long", part.len())));
        }
        let DropoutScratch { placed, unit: ids, .. } = scratch;
        placed.clear();
        reserve(placed, part.len())?;
        let mut previous = 0;
        let mut start = 0;
        while start < part.len() {
            let end = self.unit_end(part, start);
            ids.clear();
            if end == start + 1 {
                ids.push(self.merges.base(part[start]));
            } else {
                let mut merger =
                    Merger { merges: &self.merges, tokens: &self.tokens, scratch: merging, pulse };
                merger.merge(&part[start..end], ids)?;
            }
            for &id in &*ids {
                let place = placed.len();
                placed.push(PlacedToken { id, previous, ..PlacedToken::NONE });
                placed.resize(place + self.merged_length(id), PlacedToken::NONE);
                previous = place as u32;
            }
            start = end;
        }
        Ok(())
    }

    /// Where the unit ends that begins at a place: a byte, or a character, with the mark beside it.
    fn unit_end(&self, part: &[u8], start: usize) -> usize {
        let goes_on = |byte: u8| {
            let is_mark = self.mark == Some(MarkPlace::End) && byte == MarkPlace::End.byte();
            is_mark || self.has_characters && byte & 0xC0 == 0x80
        };
        let has_mark =
            self.mark == Some(MarkPlace::Start) && part[start] == MarkPlace::Start.byte();
        let first = start + usize::from(has_mark);
        let behind = part.get(first + 1..).unwrap_or_default();
        let more = behind.iter().take_while(|&&byte| goes_on(byte)).count();
        part.len().min(first + 1 + more)
    }
}
