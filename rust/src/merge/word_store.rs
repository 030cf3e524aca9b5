//! The words, and where their pairs stand: merging happens here. One thread merges; several may count pairs and list
//! their positions, each in a stretch of its own.

use std::iter::zip;
use std::ops::Range;
use std::sync::atomic::Ordering;

use super::code_array::SlotWidth;
use super::neighbours::Neighbours;
use super::pairs::{ListNumbers, UNLISTED, codes_of, key_of};
use super::positions::{PositionArena, PositionList};
use super::slots::{AnySlots, BATCH, Group, Slots, Standing, replace};
use super::tokens::Code;
use crate::error::Result;
use crate::memory;
use crate::prefetch::prefetch;
use crate::watch::Pulse;
use crate::workers;

/// A pair to be merged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Task {
    pub left: Code,
    pub right: Code,
    pub joined: Code,
    /// How many slots the left token takes, and both.
    pub left_span: u32,
    pub span: u32,
    /// The number of the list of the pair's positions.
    pub list: u32,
}

/// On which side of a merged pair a token stood.
#[derive(Clone, Copy, Debug)]
pub enum Side {
    Before,
    After,
}

/// What is needed of a list, one after the other.
#[derive(Clone, Copy, Debug)]
pub enum Need {
    /// Where its positions are.
    List,
    /// The first positions.
    Positions,
    /// The slots at the first positions.
    Slots,
}

/// An occurrence that was merged: where, and what stood on both sides.
#[derive(Clone, Copy)]
struct Event {
    at: u32,
    before: Code,
    after: Code,
}

/// The words, and the lists of positions in them.
pub struct WordStore {
    pub slots: AnySlots,
    /// The span of every token.
    pub spans: Vec<u32>,
    /// So many threads pass over the words together.
    threads: usize,
    /// No more pairs stand in the words.
    pub standing: usize,
    /// By list number.
    lists: Vec<PositionList>,
    arena: PositionArena,
    arena_limit: usize,
    /// How large the arena was when it was last looked for lists that nobody needs.
    arena_noted: usize,
    /// Tokens found left and right of the pair that is being merged.
    pub before: Neighbours,
    pub after: Neighbours,
    /// Occurrences of the last merge whose neighbours' lists are not yet written.
    events: Vec<Event>,
}

/// How many positions ahead slots are asked for.
const AHEAD: usize = 32;
/// How many of them are asked for before the merges that come first.
const FEW: usize = 8;
/// Room for more than so many times the events of a merge, and of so few, is given up.
const ROOM: usize = 8;
const LEAST_ROOM: usize = 1 << 10;
/// Positions that may be added before a recount, however few pairs stand in the words.
const SPARE: usize = 1 << 10;
/// With more positions than this, pairs are counted again before 32 bits cannot number them.
const MOST_POSITIONS: usize = 3 << 30;

impl WordStore {
    pub fn new(slots: AnySlots, spans: &[u32], threads: usize) -> Self {
        Self {
            standing: slots.len(),
            slots,
            spans: spans.to_vec(),
            threads,
            lists: Vec::new(),
            arena: PositionArena::default(),
            arena_limit: 0,
            arena_noted: 0,
            before: Neighbours::default(),
            after: Neighbours::default(),
            events: Vec::new(),
        }
    }

    /// Cuts the slots into stretches of whole words, one for each thread.
    pub fn stretches(&self) -> Vec<Range<usize>> {
        self.slots.stretches(self.threads)
    }

    /// How many positions a list has, of which some may no longer hold.
    pub fn list_len(&self, list: u32) -> usize {
        self.lists[list as usize].len as usize
    }

    /// Tells that something of a list will soon be needed.
    pub fn prefetch(&self, list: u32, need: Need) {
        match (need, self.lists.get(list as usize)) {
            (Need::List, _) => prefetch(&self.lists, list as usize),
            (Need::Positions, Some(&list)) => self.arena.prefetch(list),
            (Need::Slots, Some(&list)) => {
                self.arena.positions(list).iter().take(FEW).for_each(|&at| self.slots.prefetch(at as usize));
            }
            (_, None) => {}
        }
    }

    /// Whether so many positions were added that a recount pays.
    pub fn is_full(&self) -> bool {
        self.arena.len() > self.arena_limit
    }

    /// Whether more than so many positions were added since the size was noted.
    pub fn has_grown(&self, by: usize) -> bool {
        self.arena.len() - self.arena_noted > by
    }

    /// Notes how large the arena is.
    pub fn note_size(&mut self) {
        self.arena_noted = self.arena.len();
    }

    /// Makes room for what a merge at all positions of a list leaves behind, and keeps no more than a few times that:
    /// the first merges have by far the most positions.
    pub fn make_room(&mut self, list: u32) -> Result<()> {
        let positions = self.list_len(list);
        self.events.shrink_to(ROOM * positions.max(LEAST_ROOM));
        memory::reserve(&mut self.events, positions)
    }

    /// Replaces the pair in the words, in order of position, and tallies what stood beside it.
    ///
    /// Each replacement changes four counts: (before, left) and (right, after) fall, (before, joined) and
    /// (joined, after) rise, as the words are at that moment. So the sums are those of a recount, also where
    /// occurrences touch each other.
    pub fn merge(&mut self, task: Task) {
        self.list_positions();
        if task.joined as usize == self.spans.len() {
            self.spans.push(task.span);
        }
        self.before.widen(self.spans.len());
        self.after.widen(self.spans.len());
        let list = std::mem::take(&mut self.lists[task.list as usize]);
        // Where the pair gained occurrences after it was listed, they stand behind the others; but those that touch
        // each other must be met from left to right.
        let positions = self.arena.positions_mut(list);
        if !positions.is_sorted() {
            positions.sort_unstable();
        }
        let kept = (&mut self.before, &mut self.after, &mut self.events);
        match &mut self.slots {
            AnySlots::Narrow(slots) => replace_all(slots, positions, task, kept),
            AnySlots::Wide(slots) => replace_all(slots, positions, task, kept),
        }
        self.standing -= self.events.len();
        self.arena.give_back(list);
    }

    /// What stood on a side of the pair that was merged.
    pub fn beside(&mut self, side: Side) -> &mut Neighbours {
        match side {
            Side::Before => &mut self.before,
            Side::After => &mut self.after,
        }
    }

    /// Forgets the positions of a list that nobody will ask for, if there is such a list.
    pub fn drop_list(&mut self, list: u32) {
        if let Some(positions) = self.lists.get_mut(list as usize) {
            self.arena.give_back(std::mem::take(positions));
        }
    }

    /// Makes an empty list.
    pub fn add_list(&mut self) {
        self.lists.push(PositionList::default());
    }

    /// Makes a list longer; returns where its new positions go.
    pub fn lengthen(&mut self, list: u32, by: u32) -> Result<u32> {
        let old = self.lists[list as usize];
        let longer = self.arena.lengthen(old, by)?;
        self.lists[list as usize] = longer;
        Ok(longer.start + old.len)
    }

    /// Writes the positions of merged occurrences into the lists of the pairs beside them.
    pub fn list_positions(&mut self) {
        let places = self.arena.places();
        for event in &self.events {
            if let Some(place) = self.before.next_place(event.before) {
                places[place] = event.at - self.spans[event.before as usize];
            }
            if let Some(place) = self.after.next_place(event.after) {
                places[place] = event.at;
            }
        }
        self.events.clear();
        self.before.clear();
        self.after.clear();
    }

    /// Forgets all positions.
    pub fn forget(&mut self) {
        self.events.clear();
        self.before.clear();
        self.after.clear();
        self.lists = Vec::new();
        self.arena = PositionArena::default();
        self.note_size();
    }

    /// Drops the words that have become one token; the positions must be forgotten.
    pub fn compact(&mut self, pulse: &mut Pulse<'_>) -> Result<()> {
        self.slots.compact(&self.spans, pulse)
    }

    /// Lists the positions of all followed pairs; `numbers` says how many each list has in every stretch.
    pub fn list_all(
        &mut self,
        followed: &impl ListNumbers,
        numbers: &[Vec<u32>],
        growth: usize,
        pulse: &mut Pulse<'_>,
    ) -> Result<()> {
        let lists = numbers.first().map_or(0, Vec::len);
        memory::ensure(lists * (size_of::<PositionList>() + numbers.len() * size_of::<u32>()))?;
        self.lists.reserve_exact(lists);
        let mut ends = vec![Vec::with_capacity(lists); numbers.len()];
        let mut listed = 0;
        for list in 0..lists {
            let start = listed;
            for (ends, numbers) in zip(&mut ends, numbers) {
                ends.push(listed);
                listed += numbers[list];
            }
            self.lists.push(PositionList { start, len: listed - start });
        }
        self.arena.reserve(listed as usize)?;
        self.arena_limit = (listed as usize + growth + SPARE).min(MOST_POSITIONS);
        self.note_size();
        let work = zip(self.stretches(), ends);
        let (slots, spans, places) = (&self.slots, &self.spans, self.arena.shared_places());
        workers::each(work, pulse, |(stretch, mut ends), pulse| {
            let mut lists = [UNLISTED; BATCH];
            slots.each_batch(stretch, spans, pulse, |batch| {
                batch.iter().for_each(|pair| followed.prefetch(pair.key));
                for (list, pair) in lists.iter_mut().zip(batch) {
                    *list = followed.list_of(pair.key);
                    if let Some(&end) = ends.get(*list as usize) {
                        prefetch(places, end as usize);
                    }
                }
                for (&list, pair) in lists.iter().zip(batch) {
                    if let Some(end) = ends.get_mut(list as usize) {
                        places[*end as usize].store(pair.at, Ordering::Relaxed);
                        *end += 1;
                    }
                }
                Ok(())
            })
        })?;
        Ok(())
    }

    /// Takes over lists of positions, each with so many places, of which there are so many in all.
    pub fn take_lists<'l>(
        &mut self,
        lists: impl Iterator<Item = &'l [Occurrence]>,
        places: usize,
        growth: usize,
    ) -> Result<()> {
        self.arena.reserve(places)?;
        self.arena_limit = (places + growth + SPARE).min(MOST_POSITIONS);
        self.note_size();
        let mut start = 0;
        for list in lists {
            let len = list.len() as u32;
            memory::push(&mut self.lists, PositionList { start, len })?;
            let places = &mut self.arena.places()[start as usize..(start + len) as usize];
            zip(places, list).for_each(|(place, occurrence)| *place = occurrence.at());
            start += len;
        }
        Ok(())
    }
}

/// A pair, and where it stands.
#[derive(Clone, Copy, Default)]
pub struct Occurrence {
    left: Code,
    right: Code,
    at: u32,
}

impl Occurrence {
    pub fn of(pair: &Standing) -> Self {
        let (left, right) = codes_of(pair.key);
        Self { left, right, at: pair.at }
    }

    pub fn key(&self) -> u64 {
        key_of(self.left, self.right)
    }

    pub fn at(&self) -> u32 {
        self.at
    }
}

/// Replaces a pair at all positions where it stands; tallies what stood before and after it, and keeps the events.
fn replace_all<S: SlotWidth>(
    slots: &mut Slots<S>,
    positions: &[u32],
    task: Task,
    (tallies_before, tallies_after, events): (&mut Neighbours, &mut Neighbours, &mut Vec<Event>),
) {
    let (left, right) = (S::of(task.left), S::of(task.right));
    let (middle, span) = (1 + task.left_span as usize, task.span as usize);
    positions.iter().take(AHEAD).for_each(|&at| slots.prefetch(at as usize));
    let mut group = Group::default();
    for (nth, &at) in positions.iter().enumerate() {
        if let Some(&later) = positions.get(nth + AHEAD) {
            slots.prefetch(later as usize);
        }
        let Some(around) = slots.around(at as usize, span) else { continue };
        if around[1] != left || around[middle] != right {
            continue;
        }
        let (before, after) = (around[0].code(), around[span + 1].code());
        replace(&mut around[1..=span], middle - 1, task.joined);
        if !group.contains(at) {
            group = slots.group(at as usize);
        }
        tallies_before.add(before, group.count, 1);
        tallies_after.add(after, group.count, 1);
        events.push(Event { at, before, after });
    }
}
