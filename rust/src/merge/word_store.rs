//! The words and the lists of their pairs' positions.
//!
//! A list may hold positions that are out of date: whoever reads it checks the slots. A merge visits its list from left
//! to right, replaces the pair where it still is, and tallies both neighbours ([`super::replacing`]). The positions of new
//! pairs are written afterwards, once it is known which of them are followed.
//!
//! Several threads list all positions after a count, each those in its own section of the words.

use std::iter::zip;
use std::ops::Range;

use super::code_array::SlotWidth;
use super::neighbours::Neighbours;
use super::pairs::{ListNumbers, UNLISTED, codes_of, key_of};
use super::positions::{ListPlace, PositionArena, PositionList};
use super::replacing::{PREFETCHED_SLOTS, Replaced, Task, replace_all, replace_few};
use super::slots::{BATCH, PairAt, Slots};
use super::tokens::Code;
use super::tuning::Tuning;
use crate::error::Result;
use crate::memory;
use crate::memory::cells::Plain;
use crate::memory::rows::Rows;
use crate::prefetch::prefetch;
use crate::watch::Pulse;
use crate::workers;

/// A side of a merged pair.
#[derive(Clone, Copy, Debug)]
pub enum Side {
    Before,
    After,
}

/// The steps of prefetching a list.
#[derive(Clone, Copy, Debug)]
pub enum Need {
    /// Its place in the arena.
    List,
    /// Its first positions.
    Positions,
    /// The slots at the first positions.
    Slots,
}

/// The words, and the lists of positions in them.
pub struct WordStore<S> {
    pub slots: Slots<S>,
    /// The span of every token.
    pub spans: Vec<u32>,
    /// The number of threads that read the words together.
    threads: usize,
    /// An upper bound of the number of pair occurrences in the words.
    pub occurrences: usize,
    /// By list number.
    lists: Rows<PositionList>,
    /// Whether a list was lengthened, perhaps with positions that are smaller than earlier ones, as far as lists were.
    lengthened: Vec<bool>,
    arena: PositionArena,
    arena_limit: usize,
    /// The size of the arena when unused lists were last dropped.
    arena_noted: usize,
    /// The occurrences of the last merge.
    pub replaced: Replaced,
}

/// Units that may always be added before a recount, however few pairs there are.
const MIN_GROWTH: usize = 1 << 10;
/// Above this many units, pairs are counted again: places must fit 32 bits.
const MAX_UNITS: usize = 3 << 30;

impl<S: SlotWidth> WordStore<S> {
    /// A store without lists; there will be about `codes` codes.
    pub fn new(slots: Slots<S>, spans: &[u32], tuning: &Tuning, codes: usize) -> Result<Self> {
        Ok(Self {
            occurrences: slots.len(),
            slots,
            spans: spans.to_vec(),
            threads: tuning.threads,
            lists: Rows::default(),
            lengthened: Vec::new(),
            arena: PositionArena::default(),
            arena_limit: 0,
            arena_noted: 0,
            replaced: Replaced::with_capacity(codes)?,
        })
    }

    /// Divides the slots into sections of whole words, one per thread.
    pub fn sections(&self) -> Vec<Range<usize>> {
        self.slots.sections(self.threads)
    }

    /// An upper bound of the positions of a list, some of which may be out of date.
    pub fn list_len(&self, list: u32) -> usize {
        self.lists[list as usize].len as usize
    }

    /// Prefetches one step of a list.
    pub fn prefetch(&self, list: u32, need: Need) {
        match (need, self.lists.get(list as usize)) {
            (Need::List, _) => prefetch(&self.lists, list as usize),
            (Need::Positions, Some(&list)) => self.arena.prefetch(list),
            (Need::Slots, Some(&list)) => {
                let first = self.arena.positions(list).take(PREFETCHED_SLOTS);
                first.for_each(|at| self.slots.prefetch(at as usize));
            }
            (_, None) => {}
        }
    }

    /// Prefetches what a merge will change around its first positions, whose slots are there already: the tallies of its
    /// neighbours; `pairs` is called with both of them. The token that it makes is not needed.
    pub fn look_around(&self, task: Task, mut pairs: impl FnMut(Code, Code)) {
        let Some(&list) = self.lists.get(task.list as usize) else { return };
        for at in self.arena.positions(list).take(PREFETCHED_SLOTS) {
            if let Some((before, after)) = self.slots.neighbours(at, &task) {
                self.replaced.before.prefetch(before);
                self.replaced.after.prefetch(after);
                pairs(before, after);
            }
        }
    }

    /// Whether so many positions were added that a recount pays off.
    pub fn is_full(&self) -> bool {
        self.arena.len() > self.arena_limit
    }

    /// Whether more than `by` positions were added since `note_size`.
    pub fn has_grown(&self, by: usize) -> bool {
        self.arena.len() - self.arena_noted > by
    }

    /// Remembers the size of the arena.
    pub fn note_size(&mut self) {
        self.arena_noted = self.arena.len();
    }

    /// Replaces the pair in the words, from left to right, and tallies its neighbours.
    ///
    /// Each replacement changes four counts, as the words are at that moment: (before, left) and (right, after) fall,
    /// (before, joined) and (joined, after) rise. The sums therefore equal those of a recount, even for adjacent
    /// occurrences.
    pub fn merge(&mut self, task: Task) -> Result<()> {
        self.list_positions();
        if task.joined as usize == self.spans.len() {
            self.spans.push(task.span);
        }
        let list = std::mem::take(&mut self.lists[task.list as usize]);
        let positions = self.arena.positions(list);
        // Positions that were added after a list was made are at its end, but adjacent occurrences must be replaced
        // from left to right.
        if self.lengthened.get(task.list as usize) == Some(&true) && !positions.clone().is_sorted() {
            let mut sorted = memory::gathered(positions)?;
            sorted.sort_unstable();
            self.replaced.make_room(self.spans.len(), sorted.len())?;
            replace_all(&mut self.slots, sorted.iter().copied(), task, &mut self.replaced);
        } else {
            let few = list.len as usize <= PREFETCHED_SLOTS;
            self.replaced.make_room(self.spans.len(), list.len as usize)?;
            let replace = if few { replace_few } else { replace_all };
            replace(&mut self.slots, positions, task, &mut self.replaced);
        }
        self.occurrences -= self.replaced.len();
        self.arena.free_block(list);
        Ok(())
    }

    /// The tallies of one side.
    pub fn neighbours(&mut self, side: Side) -> &mut Neighbours {
        match side {
            Side::Before => &mut self.replaced.before,
            Side::After => &mut self.replaced.after,
        }
    }

    /// Frees the positions of a list that is no longer needed; does nothing for `UNLISTED`.
    pub fn drop_list(&mut self, list: u32) {
        if let Some(positions) = self.lists.get_mut(list as usize) {
            self.arena.free_block(std::mem::take(positions));
        }
    }

    /// The same before `compact_lists`, which frees all that is in no list.
    pub fn forget_list(&mut self, list: u32) {
        if let Some(positions) = self.lists.get_mut(list as usize) {
            *positions = PositionList::default();
        }
    }

    /// Moves all lists to an arena without gaps. Call `list_positions` before: places change.
    pub fn compact_lists(&mut self) -> Result<()> {
        self.arena.compact(&mut self.lists)?;
        self.note_size();
        Ok(())
    }

    /// The same with wide slots, and without the memory of lists that nobody needs.
    pub fn widened(mut self, pulse: &mut Pulse<'_>) -> Result<WordStore<u32>> {
        self.compact_lists()?;
        Ok(WordStore {
            slots: self.slots.widened(self.threads, pulse)?,
            spans: self.spans,
            threads: self.threads,
            occurrences: self.occurrences,
            lists: self.lists,
            lengthened: self.lengthened,
            arena: self.arena,
            arena_limit: self.arena_limit,
            arena_noted: self.arena_noted,
            replaced: self.replaced,
        })
    }

    /// Adds an empty list.
    pub fn add_list(&mut self) -> Result<()> {
        self.lists.push(PositionList::default())
    }

    /// Makes a list longer by some units; returns the place of the first new one.
    pub fn lengthen(&mut self, list: u32, by: u32) -> Result<u32> {
        let old = self.lists[list as usize];
        if old.len > 0 {
            self.note_lengthened(list)?;
        }
        let longer = self.arena.lengthen(old, by)?;
        self.lists[list as usize] = longer;
        Ok(longer.start + old.len)
    }

    /// Notes that a list may be out of order.
    #[cold]
    pub fn note_lengthened(&mut self, list: u32) -> Result<()> {
        let list = list as usize;
        if list >= self.lengthened.len() {
            let more = self.lists.len() - self.lengthened.len();
            memory::reserve(&mut self.lengthened, more)?;
            self.lengthened.resize(self.lists.len(), false);
        }
        self.lengthened[list] = true;
        Ok(())
    }

    /// Writes the positions of the merged occurrences to the lists of the neighbouring pairs.
    pub fn list_positions(&mut self) {
        self.replaced.list_positions(&self.spans, self.arena.places());
    }

    /// Drops all positions.
    pub fn forget(&mut self) {
        self.replaced.clear();
        self.lists = Rows::default();
        self.lengthened = Vec::new();
        self.arena = PositionArena::default();
        self.note_size();
    }

    /// Drops the words that have become one token. Call `forget` before: positions change.
    pub fn compact(&mut self, pulse: &mut Pulse<'_>) -> Result<()> {
        self.slots.compact(&self.spans, pulse)
    }

    /// Lists the positions of all followed pairs; `lengths` holds the units of each list, per section.
    pub fn list_all(
        &mut self,
        followed: &impl ListNumbers,
        lengths: &[Vec<u32>],
        growth: usize,
        pulse: &mut Pulse<'_>,
    ) -> Result<()> {
        let lists = lengths.first().map_or(0, Vec::len);
        memory::ensure(lists * (size_of::<PositionList>() + lengths.len() * size_of::<ListPlace>()))?;
        self.make_arena(lengths.iter().flatten().map(|&units| units as usize).sum(), growth)?;
        let mut cursors = vec![Vec::with_capacity(lists); lengths.len()];
        let mut end = 0;
        for list in 0..lists {
            let start = end;
            for (cursors, lengths) in zip(&mut cursors, lengths) {
                cursors.push(ListPlace::at(end));
                end += lengths[list];
            }
            self.lists.push(PositionList { start, len: end - start })?;
        }
        let work = zip(self.sections(), cursors);
        let (slots, spans, places) = (&self.slots, &self.spans, self.arena.shared_places());
        workers::each(work, pulse, |(section, mut cursors), pulse| {
            let mut lists = [UNLISTED; BATCH];
            slots.each_batch(section, spans, pulse, |batch| {
                batch.iter().for_each(|pair| followed.prefetch(pair.key));
                for (list, pair) in lists.iter_mut().zip(batch) {
                    *list = followed.list_of(pair.key);
                    if let Some(cursor) = cursors.get(*list as usize) {
                        prefetch(places, cursor.place as usize);
                    }
                }
                for (&list, pair) in lists.iter().zip(batch) {
                    if let Some(cursor) = cursors.get_mut(list as usize) {
                        cursor.write_shared(pair.at, places);
                    }
                }
                Ok(())
            })
        })?;
        Ok(())
    }

    /// Makes an arena for lists that take so many units, which may grow by some more before pairs are counted again.
    fn make_arena(&mut self, units: usize, growth: usize) -> Result<()> {
        self.arena.reserve(units, growth)?;
        self.arena_limit = (units + growth + MIN_GROWTH).min(MAX_UNITS);
        self.note_size();
        Ok(())
    }

    /// Stores the lists of pairs, given as their occurrences and runs of these; those of each range in a thread.
    pub fn store_lists(
        &mut self,
        ranges: &[(&[Occurrence], &[PairRun])],
        growth: usize,
        pulse: &mut Pulse<'_>,
    ) -> Result<()> {
        let units_of = |runs: &[PairRun]| runs.iter().map(|run| run.units as usize).sum::<usize>();
        self.make_arena(ranges.iter().map(|(_, runs)| units_of(runs)).sum(), growth)?;
        let lists = ranges.iter().map(|(_, runs)| runs.len()).sum();
        self.lists = Rows::with_capacity(2 * lists)?;
        self.lists.lengthen(lists)?;
        let (mut places, mut lists, mut start) = (self.arena.places(), &mut self.lists[..], 0);
        let mut work = Vec::new();
        for &(occurrences, runs) in ranges {
            let (own_places, other_places) = places.split_at_mut(units_of(runs));
            let (own_lists, other_lists) = lists.split_at_mut(runs.len());
            start += own_places.len() as u32;
            work.push((start - own_places.len() as u32, occurrences, runs, own_lists, own_places));
            (places, lists) = (other_places, other_lists);
        }
        workers::each(work, pulse, |(start, occurrences, runs, lists, places), _| {
            let mut end = 0;
            for (list, run) in zip(lists, runs) {
                *list = PositionList { start: start + end, len: run.units };
                let mut cursor = ListPlace::at(end);
                let occurrences = &occurrences[run.start as usize..run.end as usize];
                occurrences.iter().for_each(|occurrence| cursor.write(occurrence.at(), places));
                end = cursor.place;
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// A pair's count, its range of occurrences, and the units that their positions take.
#[derive(Clone, Copy)]
pub struct PairRun {
    pub count: u64,
    pub start: u32,
    pub end: u32,
    pub units: u32,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for PairRun {}

/// A pair and its position.
#[derive(Clone, Copy, Default)]
pub struct Occurrence {
    left: Code,
    right: Code,
    at: u32,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for Occurrence {}

impl Occurrence {
    pub fn of(pair: &PairAt) -> Self {
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
