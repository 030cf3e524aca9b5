//! Replaces a pair in the words, and sums up the tokens beside it.
//!
//! A long list is divided among threads. Each has a stretch of the words to itself, and sums of its own, which are then added up.

use std::iter::zip;
use std::sync::Mutex;
use std::sync::atomic::AtomicU16;

use super::code_array::SlotWidth;
use super::neighbours::Neighbours;
use super::positions::Positions;
use super::slots::{AnySlots, Group, Slots, WordStretch, replace};
use super::tokens::Code;
use crate::error::Result;
use crate::helpers::Helpers;
use crate::memory;
use crate::workers::lock;

/// A pair to be merged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Task {
    pub left: Code,
    pub right: Code,
    pub joined: Code,
    /// The span of the left token, and of both.
    pub left_span: u32,
    pub span: u32,
    /// The number of the list of the pair's positions.
    pub list: u32,
}

/// A merged occurrence: its position and its neighbours.
#[derive(Clone, Copy)]
struct Event {
    at: u32,
    before: Code,
    after: Code,
}

/// The occurrences that were replaced in a stretch of the words.
#[derive(Default)]
pub struct Replaced {
    /// Tallies of the tokens left and right of the merged pair.
    pub before: Neighbours,
    pub after: Neighbours,
    /// Occurrences whose neighbouring pairs are not yet listed.
    events: Vec<Event>,
}

/// The prefetch distance, in positions.
const AHEAD: usize = 32;
/// The number of a list's positions whose slots are prefetched before its merge begins.
pub const PREFETCHED_SLOTS: usize = 16;
/// The capacity for events is shrunk to this factor times the positions of a merge, and not below the minimum.
const EVENTS_FACTOR: usize = 8;
const MIN_EVENTS: usize = 1 << 10;
/// After so many positions without a place to divide a list, it is not divided further.
const MOST_TRIES: usize = 1 << 8;

impl Replaced {
    /// With room for so many codes.
    pub fn with_capacity(codes: usize) -> Result<Self> {
        let (before, after) = (Neighbours::with_capacity(codes)?, Neighbours::with_capacity(codes)?);
        Ok(Self { before, after, events: Vec::new() })
    }

    /// Makes room for codes below `codes`, and for so many occurrences. The capacity is shrunk to a few times that: the first
    /// merges have by far the most.
    pub fn make_room(&mut self, codes: usize, occurrences: usize) -> Result<()> {
        self.before.widen(codes, occurrences)?;
        self.after.widen(codes, occurrences)?;
        self.events.shrink_to(EVENTS_FACTOR * occurrences.max(MIN_EVENTS));
        memory::reserve(&mut self.events, occurrences)
    }

    /// The number of occurrences.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Adds the tallies of another stretch.
    pub fn add_tallies(&mut self, other: &Self) -> Result<()> {
        self.before.add_all(&other.before)?;
        self.after.add_all(&other.after)
    }

    /// Hands on the places that were set to another stretch, whose positions come next.
    pub fn hand_places(&mut self, other: &mut Self) {
        self.before.hand_places(&mut other.before);
        self.after.hand_places(&mut other.after);
    }

    /// Writes the positions of the occurrences to the lists of the neighbouring pairs, and forgets them.
    pub fn list_positions(&mut self, spans: &[u32], places: &[AtomicU16]) {
        for event in &self.events {
            self.before.write(event.before, || event.at - spans[event.before as usize], places);
            self.after.write(event.after, || event.at, places);
        }
        self.clear();
    }

    /// Forgets all occurrences.
    pub fn clear(&mut self) {
        self.events.clear();
        self.before.clear();
        self.after.clear();
    }
}

impl AnySlots {
    /// The neighbours of a pair, if it is there.
    pub fn neighbours(&self, at: u32, task: &Task) -> Option<(Code, Code)> {
        match self {
            Self::Narrow(slots) => neighbours(slots, at, task),
            Self::Wide(slots) => neighbours(slots, at, task),
        }
    }

    /// Replaces a pair at all positions where it still is; `few` says that their slots were prefetched before.
    pub fn replace_all(
        &mut self,
        positions: impl Iterator<Item = u32>,
        few: bool,
        task: Task,
        replaced: &mut Replaced,
    ) {
        match self {
            Self::Narrow(slots) if few => replace_few(slots.whole(), positions, task, replaced),
            Self::Wide(slots) if few => replace_few(slots.whole(), positions, task, replaced),
            Self::Narrow(slots) => replace_all(slots.whole(), positions, task, replaced),
            Self::Wide(slots) => replace_all(slots.whole(), positions, task, replaced),
        }
    }

    /// The same for positions in their order, in up to so many stretches; returns how many there were. All neighbours
    /// have codes below `codes`.
    pub fn replace_together(
        &mut self,
        positions: Positions<'_>,
        task: Task,
        codes: usize,
        stretches: &mut [Replaced],
        helpers: &Helpers<'_, '_>,
    ) -> Result<usize> {
        match self {
            Self::Narrow(slots) => replace_together(slots, positions, task, codes, stretches, helpers),
            Self::Wide(slots) => replace_together(slots, positions, task, codes, stretches, helpers),
        }
    }
}

#[inline(always)]
fn neighbours<S: SlotWidth>(slots: &Slots<S>, at: u32, task: &Task) -> Option<(Code, Code)> {
    let around = slots.seen_around(at as usize, task.span as usize)?;
    slots.prefetch_group(at as usize);
    let is_there = around[1] == S::of(task.left) && around[1 + task.left_span as usize] == S::of(task.right);
    is_there.then(|| (around[0].code(), around[task.span as usize + 1].code()))
}

/// Replaces a pair at positions where it still is, one after the other.
struct Replacer<'s, S> {
    words: WordStretch<'s, S>,
    task: Task,
    replaced: &'s mut Replaced,
    /// The group of the last word.
    group: Group,
}

impl<S: SlotWidth> Replacer<'_, S> {
    #[inline(always)]
    fn replace_at(&mut self, at: u32) {
        let (middle, span) = (1 + self.task.left_span as usize, self.task.span as usize);
        let Some(around) = self.words.around(at as usize, span) else { return };
        if around[1] != S::of(self.task.left) || around[middle] != S::of(self.task.right) {
            return;
        }
        let (before, after) = (around[0].code(), around[span + 1].code());
        replace(&mut around[1..=span], middle - 1, self.task.joined);
        if !self.group.contains(at) {
            self.group = self.words.group(at as usize);
        }
        self.replaced.before.add(before, self.group.count, at);
        self.replaced.after.add(after, self.group.count, at);
        self.replaced.events.push(Event { at, before, after });
    }
}

fn replace_all<S: SlotWidth>(
    words: WordStretch<'_, S>,
    mut positions: impl Iterator<Item = u32>,
    task: Task,
    replaced: &mut Replaced,
) {
    let mut replacer = Replacer { words, task, replaced, group: Group::default() };
    // The next positions, whose slots are on their way; a ring once it is full.
    let mut window = [0; AHEAD];
    let (mut place, mut left_over) = (0, 0);
    for (at, position) in zip(&mut window, positions.by_ref()) {
        replacer.words.prefetch(position as usize);
        *at = position;
        left_over += 1;
    }
    while left_over > 0 {
        let at = window[place];
        match positions.next() {
            Some(later) => {
                replacer.words.prefetch(later as usize);
                window[place] = later;
            }
            None => left_over -= 1,
        }
        place = (place + 1) % AHEAD;
        replacer.replace_at(at);
    }
}

/// The same for a few positions, whose slots were prefetched before.
fn replace_few<S: SlotWidth>(
    words: WordStretch<'_, S>,
    positions: impl Iterator<Item = u32>,
    task: Task,
    replaced: &mut Replaced,
) {
    let mut replacer = Replacer { words, task, replaced, group: Group::default() };
    positions.for_each(|at| replacer.replace_at(at));
}

fn replace_together<S: SlotWidth>(
    slots: &mut Slots<S>,
    positions: Positions<'_>,
    task: Task,
    codes: usize,
    stretches: &mut [Replaced],
    helpers: &Helpers<'_, '_>,
) -> Result<usize> {
    let (cuts, pieces) = divide(slots, positions, stretches.len(), task.span as usize);
    for (positions, replaced) in zip(&pieces, &mut *stretches) {
        replaced.make_room(codes, positions.units())?;
    }
    let number = pieces.len();
    let work = zip(slots.divided(&cuts), zip(pieces, stretches));
    let work: Vec<_> = work.map(|work| Mutex::new(Some(work))).collect();
    helpers.run(number, &|piece| {
        if let Some((words, (positions, replaced))) = lock(&work[piece]).take() {
            replace_all(words, positions, task, replaced);
        }
    })?;
    Ok(number)
}

/// Divides positions into up to `most` pieces of about the same length, and slots before some of them: each such slot lies
/// behind the words of the piece before, and its thread needs none before it.
fn divide<'p, S: SlotWidth>(
    slots: &Slots<S>,
    positions: Positions<'p>,
    most: usize,
    span: usize,
) -> (Vec<usize>, Vec<Positions<'p>>) {
    let size = positions.units().div_ceil(most);
    let (mut cuts, mut pieces, mut tries) = (Vec::new(), Vec::new(), 0);
    let (mut piece, mut rest, mut end) = (positions.clone(), positions, 0);
    while tries < MOST_TRIES && pieces.len() + 1 < most {
        let before = rest.clone();
        let Some(at) = rest.next() else { break };
        let at = at as usize;
        if piece.units() - before.units() >= size {
            // A thread reads the slot before its first position, too.
            match slots.boundary_in(end..at - 1) {
                Some(boundary) => {
                    cuts.push(boundary + 1);
                    pieces.push(piece.up_to(&before));
                    piece = before;
                }
                None => tries += 1,
            }
        }
        end = at + span;
    }
    pieces.push(piece);
    (cuts, pieces)
}
