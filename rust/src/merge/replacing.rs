//! Replaces a pair in the words, and sums up what changed for each neighbouring token.
//!
//! This takes two steps:
//!
//! 1. Each occurrence is replaced and noted as an event. For each token, a [`Neighbour`] counts how
//!    often it was next to the merged pair, and sums those words' counts.
//! 2. The trainer decides which neighbouring pairs are followed, and makes room in their lists.
//!    Then the positions of the events are written there.

use std::sync::atomic::AtomicU16;

use super::lists::{ADDED, write_whole};
use super::pairs::key_of;
use super::slots::{Group, SlotWidth, Slots, replace};
use super::tokens::Code;
use crate::error::Result;
use crate::memory;
use crate::memory::cells::{Cells, Plain};
use crate::prefetch::prefetch;

/// A pair to merge.
#[derive(Clone, Copy, Debug, Default)]
pub struct Task {
    pub left: Code,
    pub right: Code,
    pub joined: Code,
    /// The number of slots of the left token.
    pub left_span: u32,
    /// The number of slots of both tokens.
    pub span: u32,
}

/// A side of a merged pair; as a number, its index in [`SIDES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Before,
    After,
}

pub const SIDES: [Side; 2] = [Side::Before, Side::After];

impl Side {
    /// Returns the pair of a token and its neighbour on this side.
    pub fn pair(self, neighbour: Code, token: Code) -> u64 {
        match self {
            Self::Before => key_of(neighbour, token),
            Self::After => key_of(token, neighbour),
        }
    }

    /// Returns the pair that a neighbour on this side formed with a part of the merged pair.
    pub fn old_pair(self, neighbour: Code, task: &Task) -> u64 {
        match self {
            Self::Before => key_of(neighbour, task.left),
            Self::After => key_of(task.right, neighbour),
        }
    }
}

/// The occurrences of a merged pair that have a certain token on one side.
#[derive(Clone, Copy, Default)]
pub struct Neighbour {
    pub occurrences: u32,
    /// Just after the place where the next position is written; 0 if the pair with this token is
    /// not followed.
    end: u32,
    /// The sum of their words' counts.
    pub weight: u64,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for Neighbour {}

/// All neighbours on one side.
#[derive(Default)]
pub struct Neighbours {
    /// An entry for every code. Those of codes that are not in `touched` are zeros.
    of_codes: Cells<Neighbour>,
    /// The codes that occur, and behind them room for more. So clearing them costs no more than the
    /// merge did.
    touched: Vec<Code>,
    /// The number of codes that occur.
    used: usize,
}

impl Neighbours {
    /// Makes room for codes below `codes`, and for this many occurrences.
    fn make_room(&mut self, codes: usize, occurrences: usize) -> Result<()> {
        if codes > self.of_codes.len() {
            self.of_codes.lengthen(codes.next_power_of_two())?;
        }
        // One more than are in use: `add` writes a place whether or not it is needed.
        let most = occurrences.min(codes) + 1;
        if most > self.touched.len() {
            memory::reserve(&mut self.touched, most)?;
            self.touched.resize(most.next_power_of_two(), 0);
        }
        Ok(())
    }

    /// Adds an occurrence, in a word with this count.
    #[inline(always)]
    fn add(&mut self, code: Code, weight: u64) {
        let neighbour = &mut self.of_codes[code as usize];
        // Without a branch, which would wait for the neighbour.
        self.touched[self.used] = code;
        self.used += usize::from(neighbour.occurrences == 0);
        // No overflow: the merged pair's own count is the sum over all its neighbours, and it fits.
        neighbour.weight += weight;
        neighbour.occurrences += 1;
    }

    /// Returns the codes of the neighbours that occur.
    pub fn touched(&self) -> &[Code] {
        &self.touched[..self.used]
    }

    pub fn get(&self, code: Code) -> Neighbour {
        self.of_codes[code as usize]
    }

    /// Sets where the positions of a neighbour's occurrences are written. A neighbour without
    /// occurrences is skipped, because it would not be cleared.
    pub fn set_place(&mut self, code: Code, place: u32) {
        let neighbour = &mut self.of_codes[code as usize];
        if neighbour.occurrences > 0 {
            neighbour.end = place + 1;
        }
    }

    /// Writes the next position, if the pair with this neighbour is followed.
    #[inline(always)]
    fn write(&mut self, code: Code, at: impl FnOnce() -> u32, units: &[AtomicU16]) {
        let neighbour = &mut self.of_codes[code as usize];
        if neighbour.end > 0 {
            write_whole(at(), neighbour.end - 1, units);
            neighbour.end += ADDED;
        }
    }

    fn clear(&mut self) {
        for &code in &self.touched[..self.used] {
            self.of_codes[code as usize] = Neighbour::default();
        }
        self.used = 0;
    }
}

/// A merged occurrence: its position and its neighbours.
#[derive(Clone, Copy)]
struct Event {
    at: u32,
    before: Code,
    after: Code,
}

/// The occurrences of the last merge.
#[derive(Default)]
pub struct Replaced {
    /// The tokens on both sides of the merged pair.
    sides: [Neighbours; 2],
    events: Vec<Event>,
}

/// The prefetch distance, in positions.
const AHEAD: usize = 32;
/// The capacity for events is shrunk to this factor times the positions of a merge, and not below
/// the minimum: the first merges have by far the most.
const EVENTS_FACTOR: usize = 8;
const MIN_EVENTS: usize = 1 << 10;

impl Replaced {
    /// Reserves room for this many codes, so that neighbours need not be moved. Room that is not
    /// used takes no memory.
    pub fn with_capacity(codes: usize) -> Result<Self> {
        let mut new = Self::default();
        for side in &mut new.sides {
            side.of_codes = Cells::with_capacity(codes.next_power_of_two())?;
        }
        Ok(new)
    }

    pub fn side(&mut self, side: Side) -> &mut Neighbours {
        &mut self.sides[side as usize]
    }

    /// Prefetches the entries of two neighbours.
    pub fn prefetch(&self, before: Code, after: Code) {
        prefetch(&self.sides[0].of_codes, before as usize);
        prefetch(&self.sides[1].of_codes, after as usize);
    }

    /// Replaces a pair at all positions where it still is, from left to right. There are at most
    /// `most` positions; `codes` is the number of codes.
    ///
    /// Each replacement changes four counts, as the words are at that moment: (before, left) and
    /// (right, after) fall, (before, joined) and (joined, after) rise. The sums therefore equal
    /// those of a recount, even for adjacent occurrences.
    ///
    /// A function of its own, so that the loop has all registers.
    #[inline(never)]
    pub fn replace_all<S: SlotWidth>(
        &mut self,
        slots: &mut Slots<S>,
        positions: impl Iterator<Item = u32> + Clone,
        most: usize,
        task: Task,
        codes: usize,
    ) -> Result<()> {
        self.sides.iter_mut().try_for_each(|side| side.make_room(codes, most))?;
        self.events.shrink_to(EVENTS_FACTOR * most.max(MIN_EVENTS));
        memory::reserve(&mut self.events, most)?;
        let middle = 1 + task.left_span as usize;
        let span = task.span as usize;
        let left = S::of(task.left);
        let right = S::of(task.right);
        let mut group = Group::default();
        let mut later = positions.clone();
        later.by_ref().take(AHEAD).for_each(|at| slots.prefetch(at as usize));
        for at in positions {
            if let Some(later) = later.next() {
                slots.prefetch(later as usize);
            }
            let Some(around) = slots.around_mut(at as usize, span) else { continue };
            if around[1] != left || around[middle] != right {
                continue;
            }
            let (before, after) = (around[0].code(), around[span + 1].code());
            replace(&mut around[1..=span], middle - 1, task.joined);
            if !group.contains(at) {
                group = slots.group(at as usize);
            }
            let [all_before, all_after] = &mut self.sides;
            all_before.add(before, group.count);
            all_after.add(after, group.count);
            self.events.push(Event { at, before, after });
        }
        Ok(())
    }

    /// Writes the positions of the occurrences to the lists of the neighbouring pairs, and clears
    /// everything.
    pub fn list_positions(&mut self, spans: &[u32], units: &[AtomicU16]) {
        let [before, after] = &mut self.sides;
        for event in &self.events {
            // A pair with the token before begins where that token does.
            before.write(event.before, || event.at - spans[event.before as usize], units);
            after.write(event.after, || event.at, units);
        }
        self.events.clear();
        self.sides.iter_mut().for_each(Neighbours::clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_without_occurrences_gets_no_place_that_the_next_merge_would_find() {
        let mut neighbours = Neighbours::default();
        neighbours.make_room(8, 8).unwrap();
        neighbours.add(3, 2);
        neighbours.set_place(3, 50);
        neighbours.set_place(4, 60);
        neighbours.clear();
        assert_eq!([3, 4].map(|code| neighbours.get(code).end), [0, 0]);
    }
}
