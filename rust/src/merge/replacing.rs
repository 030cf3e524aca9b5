//! Replaces a pair in the words, and sums up what changed for each neighbouring token.
//!
//! A tally per token says how often it was next to the merged pair, weighted by the words' counts, and how many units
//! the positions of these occurrences take. When it is known which neighbouring pairs are followed, the positions are
//! written to their lists.

use std::iter::zip;
use std::sync::atomic::AtomicU16;

use super::lists::Cursor;
use super::pairs::key_of;
use super::slots::{Group, SlotWidth, Slots, replace};
use super::tokens::Code;
use crate::error::Result;
use crate::memory;
use crate::memory::cells::Plain;
use crate::memory::rows::Rows;
use crate::prefetch::prefetch;

/// A pair to be merged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Task {
    pub left: Code,
    pub right: Code,
    pub joined: Code,
    /// The span of the left token, and of both.
    pub left_span: u32,
    pub span: u32,
}

/// A side of a merged pair; also its index among both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Before,
    After,
}

pub const SIDES: [Side; 2] = [Side::Before, Side::After];

impl Side {
    /// The pair of a token and its neighbour on this side.
    pub fn pair(self, neighbour: Code, token: Code) -> u64 {
        match self {
            Self::Before => key_of(neighbour, token),
            Self::After => key_of(token, neighbour),
        }
    }

    /// The pair that a neighbour on this side formed with a part of the merged pair.
    pub fn old_pair(self, neighbour: Code, task: &Task) -> u64 {
        self.pair(neighbour, if self == Self::Before { task.left } else { task.right })
    }
}

/// The occurrences of a merged pair that have a certain token on one side.
#[derive(Clone, Copy, Default)]
pub struct Tally {
    /// The sum of their words' counts.
    pub weight: u64,
    /// First measures their positions; then writes them, if it is marked: the pair with this token is followed.
    cursor: Cursor,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for Tally {}

impl Tally {
    /// The units that the positions of the occurrences take.
    pub fn units(&self) -> u32 {
        self.cursor.place
    }
}

/// A tally for every token, and the list of those in use, so that clearing them costs as much as the merge did.
#[derive(Default)]
pub struct Tallies {
    tallies: Rows<Tally>,
    /// The tokens whose tallies are in use, and room for more.
    touched: Vec<Code>,
    used: usize,
}

impl Tallies {
    /// Makes room for codes below `codes`, and for so many occurrences.
    fn make_room(&mut self, codes: usize, occurrences: usize) -> Result<()> {
        if codes > self.tallies.len() {
            self.tallies.lengthen(codes.next_power_of_two())?;
        }
        // One more than are in use: a place is written whether or not it is needed.
        let most = occurrences.min(codes) + 1;
        if most > self.touched.len() {
            memory::reserve(&mut self.touched, most)?;
            self.touched.resize(most.next_power_of_two(), 0);
        }
        Ok(())
    }

    /// Adds an occurrence at a position, in a word with this count.
    #[inline(always)]
    fn add(&mut self, code: Code, weight: u64, at: u32) {
        let tally = &mut self.tallies[code as usize];
        // Without a branch, which would wait for the tally.
        self.touched[self.used] = code;
        self.used += usize::from(tally.weight == 0);
        // No overflow: the merged pair's own count is the sum over all its neighbours, and it fits.
        tally.weight += weight;
        tally.cursor.pass(at);
    }

    /// The tokens whose tallies are in use.
    pub fn touched(&self) -> &[Code] {
        &self.touched[..self.used]
    }

    pub fn get(&self, code: Code) -> Tally {
        self.tallies[code as usize]
    }

    /// Sets where the positions of a token's occurrences are written. One without any is not in use, and would not be
    /// cleared.
    pub fn set_place(&mut self, code: Code, place: u32) {
        let tally = &mut self.tallies[code as usize];
        if tally.weight > 0 {
            tally.cursor = Cursor::at(place).marked();
        }
    }

    /// Writes the next position, if positions are wanted.
    #[inline(always)]
    fn write(&mut self, code: Code, at: impl FnOnce() -> u32, units: &[AtomicU16]) {
        let tally = &mut self.tallies[code as usize];
        if tally.cursor.is_marked() {
            tally.cursor.write_shared(at(), units);
        }
    }

    fn clear(&mut self) {
        for &code in &self.touched[..self.used] {
            self.tallies[code as usize] = Tally::default();
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
    /// Tallies of the tokens on both sides of the merged pair.
    sides: [Tallies; 2],
    events: Vec<Event>,
}

/// The prefetch distance, in positions.
const AHEAD: usize = 32;
/// The capacity for events is shrunk to this factor times the positions of a merge, and not below the minimum: the first
/// merges have by far the most.
const EVENTS_FACTOR: usize = 8;
const MIN_EVENTS: usize = 1 << 10;

impl Replaced {
    /// With room for so many codes, so that tallies need not be moved. Room that is not used takes no memory.
    pub fn with_capacity(codes: usize) -> Result<Self> {
        let tallies =
            || Ok(Tallies { tallies: Rows::with_capacity(codes.next_power_of_two())?, ..Tallies::default() });
        Ok(Self { sides: [tallies()?, tallies()?], events: Vec::new() })
    }

    pub fn side(&mut self, side: Side) -> &mut Tallies {
        &mut self.sides[side as usize]
    }

    /// Makes room for codes below `codes`, and for so many occurrences.
    pub fn make_room(&mut self, codes: usize, occurrences: usize) -> Result<()> {
        self.sides.iter_mut().try_for_each(|side| side.make_room(codes, occurrences))?;
        self.events.shrink_to(EVENTS_FACTOR * occurrences.max(MIN_EVENTS));
        memory::reserve(&mut self.events, occurrences)
    }

    /// Prefetches the tallies of two neighbours.
    pub fn prefetch(&self, before: Code, after: Code) {
        prefetch(&self.sides[0].tallies, before as usize);
        prefetch(&self.sides[1].tallies, after as usize);
    }

    /// Writes the positions of the occurrences to the lists of the neighbouring pairs, and forgets them.
    pub fn list_positions(&mut self, spans: &[u32], units: &[AtomicU16]) {
        let [before, after] = &mut self.sides;
        for event in &self.events {
            before.write(event.before, || event.at - spans[event.before as usize], units);
            after.write(event.after, || event.at, units);
        }
        self.events.clear();
        self.sides.iter_mut().for_each(Tallies::clear);
    }
}

/// Replaces a pair at positions where it still is, one after the other.
struct Replacer<'s, S> {
    slots: &'s mut Slots<S>,
    task: Task,
    replaced: &'s mut Replaced,
    /// The group of the last word.
    group: Group,
}

impl<S: SlotWidth> Replacer<'_, S> {
    #[inline(always)]
    fn replace_at(&mut self, at: u32) {
        let (middle, span) = (1 + self.task.left_span as usize, self.task.span as usize);
        let Some(around) = self.slots.around_mut(at as usize, span) else { return };
        if around[1] != S::of(self.task.left) || around[middle] != S::of(self.task.right) {
            return;
        }
        let (before, after) = (around[0].code(), around[span + 1].code());
        replace(&mut around[1..=span], middle - 1, self.task.joined);
        if !self.group.contains(at) {
            self.group = self.slots.group(at as usize);
        }
        let [tallies_before, tallies_after] = &mut self.replaced.sides;
        tallies_before.add(before, self.group.count, at);
        tallies_after.add(after, self.group.count, at);
        self.replaced.events.push(Event { at, before, after });
    }
}

/// Replaces a pair at all positions where it still is, from left to right.
///
/// Each replacement changes four counts, as the words are at that moment: (before, left) and (right, after) fall,
/// (before, joined) and (joined, after) rise. The sums therefore equal those of a recount, even for adjacent occurrences.
pub fn replace_all<S: SlotWidth>(
    slots: &mut Slots<S>,
    mut positions: impl Iterator<Item = u32>,
    task: Task,
    replaced: &mut Replaced,
) {
    let mut replacer = Replacer { slots, task, replaced, group: Group::default() };
    // The next positions, whose slots are on their way; a ring once it is full.
    let mut window = [0; AHEAD];
    let (mut place, mut left_over) = (0, 0);
    for (at, position) in zip(&mut window, positions.by_ref()) {
        replacer.slots.prefetch(position as usize);
        *at = position;
        left_over += 1;
    }
    while left_over > 0 {
        let at = window[place];
        match positions.next() {
            Some(later) => {
                replacer.slots.prefetch(later as usize);
                window[place] = later;
            }
            None => left_over -= 1,
        }
        place = (place + 1) % AHEAD;
        replacer.replace_at(at);
    }
}

/// The same for a few positions, whose slots were prefetched before.
pub fn replace_few<S: SlotWidth>(
    slots: &mut Slots<S>,
    positions: impl Iterator<Item = u32>,
    task: Task,
    replaced: &mut Replaced,
) {
    let mut replacer = Replacer { slots, task, replaced, group: Group::default() };
    positions.for_each(|at| replacer.replace_at(at));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_without_occurrences_gets_no_place_that_the_next_merge_would_find() {
        let mut tallies = Tallies::default();
        tallies.make_room(8, 8).unwrap();
        tallies.add(3, 2, 100);
        tallies.set_place(3, 50);
        tallies.set_place(4, 60);
        tallies.clear();
        assert_eq!([3, 4].map(|code| tallies.get(code).units()), [0, 0]);
    }
}
