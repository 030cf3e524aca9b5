//! Replaces a pair in the words, and sums up the tokens beside it.

use std::iter::zip;

use super::code_array::SlotWidth;
use super::neighbours::Neighbours;
use super::slots::{Group, Slots, replace};
use super::tokens::Code;
use crate::error::Result;
use crate::memory;

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

/// The occurrences that were replaced.
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

    /// Writes the positions of the occurrences to the lists of the neighbouring pairs, and forgets them.
    pub fn list_positions(&mut self, spans: &[u32], places: &mut [u16]) {
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

impl<S: SlotWidth> Slots<S> {
    /// The neighbours of a pair, if it is there.
    #[inline(always)]
    pub fn neighbours(&self, at: u32, task: &Task) -> Option<(Code, Code)> {
        let around = self.seen_around(at as usize, task.span as usize)?;
        self.prefetch_group(at as usize);
        let is_there =
            around[1] == S::of(task.left) && around[1 + task.left_span as usize] == S::of(task.right);
        is_there.then(|| (around[0].code(), around[task.span as usize + 1].code()))
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
        let Some(around) = self.slots.around(at as usize, span) else { return };
        if around[1] != S::of(self.task.left) || around[middle] != S::of(self.task.right) {
            return;
        }
        let (before, after) = (around[0].code(), around[span + 1].code());
        replace(&mut around[1..=span], middle - 1, self.task.joined);
        if !self.group.contains(at) {
            self.group = self.slots.group(at as usize);
        }
        self.replaced.before.add(before, self.group.count, at);
        self.replaced.after.add(after, self.group.count, at);
        self.replaced.events.push(Event { at, before, after });
    }
}

/// Replaces a pair at all positions where it still is.
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
