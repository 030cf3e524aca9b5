//! The changes of one merge, summed per neighbouring token.
//!
//! A tally per token says how often it was next to the merged pair, weighted by the words' counts, and where the
//! positions of these occurrences are to be written. `touched` names the tallies in use, so that clearing them costs
//! as much as the merge did, not as much as the vocabulary is large.

use super::positions::{ListPlace, Measure, NONE};
use super::tokens::Code;
use crate::error::Result;
use crate::memory::cells::Plain;
use crate::memory::rows::Rows;
use crate::prefetch::prefetch;

/// The occurrences of a merged pair that have a certain token on one side.
#[derive(Clone, Copy, Default)]
pub struct NeighbourCount {
    /// The sum of their words' counts.
    pub weight: u64,
    /// The units that their positions take; while these are written, `WRITTEN` and the position before the next.
    units: u32,
    /// The last position, by its difference (exclusive or) from `NONE`; while positions are written, the place in the
    /// arena for the next.
    at: u32,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for NeighbourCount {}

/// Marks a tally whose positions are written: the pair with this token is followed.
const WRITTEN: u32 = 1 << 31;

impl NeighbourCount {
    /// The units that the positions of the occurrences take.
    pub fn units(&self) -> u32 {
        self.units
    }

    fn set_place(&mut self, place: u32) {
        let cursor = ListPlace::at(place);
        (self.units, self.at) = (WRITTEN | cursor.before, cursor.place);
    }
}

/// A tally for every token, and the list of those in use.
#[derive(Default)]
pub struct Neighbours {
    tallies: Rows<NeighbourCount>,
    /// The tokens whose tallies are in use, and room for more.
    touched: Vec<Code>,
    /// How many tallies are in use.
    used: usize,
}

impl Neighbours {
    /// With room for so many codes, so that tallies need not be moved. Room that is not used takes no memory.
    pub fn with_capacity(codes: usize) -> Result<Self> {
        Ok(Self { tallies: Rows::with_capacity(codes.next_power_of_two())?, ..Self::default() })
    }

    /// Makes room for codes below `codes`, and for so many occurrences.
    #[inline(always)]
    pub fn widen(&mut self, codes: usize, occurrences: usize) -> Result<()> {
        // One more than are in use: a place is written whether or not it is needed.
        let most = occurrences.min(codes) + 1;
        if codes <= self.tallies.len() && most <= self.touched.len() {
            Ok(())
        } else {
            self.grow(codes, most)
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, codes: usize, most: usize) -> Result<()> {
        if codes > self.tallies.len() {
            self.tallies.lengthen(codes.next_power_of_two())?;
        }
        if most > self.touched.len() {
            self.touched.resize(most.next_power_of_two(), 0);
        }
        Ok(())
    }

    /// Prefetches a tally.
    pub fn prefetch(&self, code: Code) {
        prefetch(&self.tallies, code as usize);
    }

    /// Adds an occurrence at a position, in a word with this count.
    #[inline(always)]
    pub fn add(&mut self, code: Code, weight: u64, at: u32) {
        let tally = &mut self.tallies[code as usize];
        // Without a branch, which would wait for the tally.
        self.touched[self.used] = code;
        self.used += usize::from(tally.weight == 0);
        // No overflow: the merged pair's own count is the sum over all its neighbours, and it fits.
        tally.weight += weight;
        let mut measure = Measure { units: tally.units, before: tally.at ^ NONE };
        measure.add(at);
        (tally.units, tally.at) = (measure.units, measure.before ^ NONE);
    }

    /// The tokens whose tallies are in use.
    pub fn touched(&self) -> &[Code] {
        &self.touched[..self.used]
    }

    pub fn get(&self, code: Code) -> NeighbourCount {
        self.tallies[code as usize]
    }

    /// Sets where the positions of the occurrences are written, if there are any.
    pub fn set_place(&mut self, code: Code, place: u32) {
        let tally = &mut self.tallies[code as usize];
        if tally.weight > 0 {
            tally.set_place(place);
        }
    }

    /// Writes the next position, if positions are wanted. They come in the order of `add`, each less by the same number.
    #[inline(always)]
    pub fn write(&mut self, code: Code, at: impl FnOnce() -> u32, places: &mut [u16]) {
        let tally = &mut self.tallies[code as usize];
        if tally.units & WRITTEN != 0 {
            let mut cursor = ListPlace { place: tally.at, before: tally.units & !WRITTEN };
            cursor.write(at(), places);
            (tally.units, tally.at) = (WRITTEN | cursor.before, cursor.place);
        }
    }

    /// Clears all tallies.
    pub fn clear(&mut self) {
        for &code in &self.touched[..self.used] {
            self.tallies[code as usize] = NeighbourCount::default();
        }
        self.used = 0;
    }
}
