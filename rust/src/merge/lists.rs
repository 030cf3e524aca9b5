//! Lists of positions, one for each followed pair, in one array.
//!
//! The array holds units of 16 bits. A position less than 2^15 after the one before it takes one
//! unit: its distance. Any other takes two units, the first of them marked; so do the first
//! position of a list, and those that are added later.
//!
//! ```text
//! positions   5          9    70000            70003
//! units       mark+0 5   4    mark+1 4464      3
//! ```
//!
//! A list is one extent of the array; if it grows, it moves to a larger one. Free extents are kept
//! by size class (powers of two) and used again.
//!
//! A list may hold positions that are out of date: its reader checks the slots.

use std::ops::Range;
use std::sync::atomic::{AtomicU16, Ordering};

use crate::error::{Error, Result};
use crate::memory::cells::{Cells, Plain};
use crate::prefetch::prefetch;

/// The place of a list.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extent {
    start: u32,
    /// In units: at least the number of positions in it.
    pub len: u32,
    /// How often positions were added. The positions of one addition are in order, but may begin
    /// before the last of the previous addition.
    pub additions: u32,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for Extent {}

impl Extent {
    fn range(self) -> Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// The mark of the first of two units; also the smallest distance that takes two.
const MARK: u32 = 1 << 15;
/// Too far from every position for a distance: the next position takes two units.
const NOWHERE: u32 = 1 << 31;
/// The number of units that an added position takes.
pub const ADDED: u32 = 2;

/// Where the next position of a list is written, and the one before it.
#[derive(Clone, Copy)]
pub struct ListCursor {
    pub place: u32,
    before: u32,
}

impl ListCursor {
    /// Returns a cursor for the first position of a list, at this place.
    pub fn at(place: u32) -> Self {
        Self { place, before: NOWHERE }
    }

    /// Leaves room for a position; returns whether it takes two units.
    #[inline(always)]
    pub fn skip(&mut self, at: u32) -> bool {
        let is_far = at.wrapping_sub(self.before) >= MARK;
        self.place += 1 + u32::from(is_far);
        self.before = at;
        is_far
    }

    /// Writes a position. Other threads may write to other places at the same time.
    #[inline(always)]
    pub fn write(&mut self, at: u32, units: &[AtomicU16]) {
        let place = self.place;
        let distance = at.wrapping_sub(self.before);
        if self.skip(at) {
            write_whole(at, place, units);
        } else {
            units[place as usize].store(distance as u16, Ordering::Relaxed);
        }
    }
}

/// Writes a position in two units.
#[inline(always)]
pub fn write_whole(at: u32, place: u32, units: &[AtomicU16]) {
    units[place as usize].store((at >> 16 | MARK) as u16, Ordering::Relaxed);
    units[place as usize + 1].store(at as u16, Ordering::Relaxed);
}

/// All lists, by their numbers.
#[derive(Default)]
pub struct Lists {
    lists: Cells<Extent>,
    units: Cells<u16>,
    /// Free extents: those of class n have at least 2^n units.
    free: Box<[Vec<Extent>; 32]>,
    /// With more units, pairs are counted again.
    limit: usize,
    /// The number of units when unused lists were last dropped.
    noted: usize,
}

/// Shorter extents are not kept when they are free.
const SHORTEST: u32 = 16;
/// Units that may always be added before a recount, however few pairs there are.
const MIN_GROWTH: usize = 1 << 10;
/// Above this many units, pairs are counted again: places must fit 32 bits.
const MAX_UNITS: usize = 3 << 30;

impl Lists {
    /// Returns no lists, but room for this many, with this many positions in all and at least
    /// `growth` more before a recount.
    pub fn with_room(lists: usize, positions: usize, growth: usize) -> Result<Self> {
        let units = ADDED as usize * (positions + growth);
        Ok(Self {
            lists: Cells::with_capacity(lists + lists / 2)?,
            // Room that is not used takes addresses, but no memory.
            units: Cells::with_capacity(units)?,
            limit: (units + MIN_GROWTH).min(MAX_UNITS),
            ..Self::default()
        })
    }

    /// Whether enough units were added that a recount pays off.
    pub fn is_full(&self) -> bool {
        self.units.len() > self.limit
    }

    /// Whether more than `by` units were added since the last `note_size`.
    pub fn has_grown(&self, by: usize) -> bool {
        self.units.len() - self.noted > by
    }

    pub fn note_size(&mut self) {
        self.noted = self.units.len();
    }

    /// Returns a list's positions; none if there is no such list.
    pub fn of(&self, list: u32) -> impl Iterator<Item = u32> + Clone {
        self.at(self.lists.get(list as usize).copied().unwrap_or_default())
    }

    /// Returns the positions in an extent.
    pub fn at(&self, extent: Extent) -> impl Iterator<Item = u32> + Clone {
        let mut units = &self.units[extent.range()];
        let mut position = 0;
        std::iter::from_fn(move || {
            let (&first, mut rest) = units.split_first()?;
            let first = u32::from(first);
            if first < MARK {
                position += first;
            } else {
                let (&last, after) = rest.split_first()?;
                position = (first - MARK) << 16 | u32::from(last);
                rest = after;
            }
            units = rest;
            Some(position)
        })
    }

    /// Prefetches a list's entry.
    pub fn prefetch(&self, list: u32) {
        prefetch(&self.lists, list as usize);
    }

    /// Prefetches a list's first positions.
    pub fn prefetch_positions(&self, list: u32) {
        if let Some(extent) = self.lists.get(list as usize) {
            prefetch(&self.units, extent.start as usize);
        }
    }

    /// Returns all units, for threads that each write to their own places.
    pub fn shared(&mut self) -> &[AtomicU16] {
        const { assert!(align_of::<AtomicU16>() == align_of::<u16>()) };
        let units: *mut [u16] = &mut *self.units;
        // SAFETY:
        // 1. An `AtomicU16` has the size and the valid values of a `u16`, and the same alignment,
        //    as asserted.
        // 2. Nobody else reads or writes the units: the exclusive borrow of `self` lasts as long as
        //    the result.
        unsafe { &*(units as *const [AtomicU16]) }
    }

    /// Adds a list of this many arbitrary units. Returns its number and its first place.
    pub fn add(&mut self, len: u32) -> Result<(u32, u32)> {
        // An empty list begins anywhere: it moves when it grows.
        let start = if len == 0 { 0 } else { self.extend(len)? };
        self.lists.push(Extent { start, len, additions: u32::from(len > 0) })?;
        Ok((self.lists.len() as u32 - 1, start))
    }

    /// Adds a list of these positions. Returns its number.
    pub fn append(&mut self, positions: impl Iterator<Item = u32> + Clone) -> Result<u32> {
        let mut end = ListCursor::at(0);
        for at in positions.clone() {
            end.skip(at);
        }
        let (list, start) = self.add(end.place)?;
        let mut cursor = ListCursor::at(start);
        let units = self.shared();
        for at in positions {
            cursor.write(at, units);
        }
        Ok(list)
    }

    /// Takes a list's extent, which the caller must free; the list is then empty.
    pub fn take(&mut self, list: u32) -> Extent {
        self.lists.get_mut(list as usize).map(std::mem::take).unwrap_or_default()
    }

    /// Makes a list longer by this many units. Returns the first new place.
    pub fn lengthen(&mut self, list: u32, by: u32) -> Result<u32> {
        let old = self.lists[list as usize];
        let start = self.allocate(old.len + by)?;
        self.units.copy_within(old.range(), start as usize);
        self.free(old);
        self.lists[list as usize] =
            Extent { start, len: old.len + by, additions: old.additions + 1 };
        Ok(start + old.len)
    }

    /// Returns the start of an extent of this many arbitrary units.
    fn allocate(&mut self, len: u32) -> Result<u32> {
        // From the first class on of which every extent is long enough.
        let class = len.max(1).next_power_of_two().ilog2() as usize;
        let Some(extent) = self.free[class..].iter_mut().find_map(Vec::pop) else {
            return self.extend(len);
        };
        self.free(Extent { start: extent.start + len, len: extent.len - len, additions: 0 });
        Ok(extent.start)
    }

    /// Adds places behind all others. Returns where they begin.
    fn extend(&mut self, len: u32) -> Result<u32> {
        let start = self.units.len();
        if start + len as usize > u32::MAX as usize {
            return Err(Error::Memory(
                "the lists of positions are too long; raise min_count".into(),
            ));
        }
        self.units.lengthen(start + len as usize)?;
        Ok(start as u32)
    }

    pub fn free(&mut self, extent: Extent) {
        if extent.len >= SHORTEST {
            self.free[extent.len.ilog2() as usize].push(extent);
        }
    }

    /// Moves all lists to new memory without gaps, and gives back the old memory.
    pub fn compact(&mut self) -> Result<()> {
        let used: usize = self.lists.iter().map(|extent| extent.len as usize).sum();
        let mut units = Cells::with_capacity(2 * used)?;
        for extent in self.lists.iter_mut() {
            let start = units.len() as u32;
            units.extend(&self.units[extent.range()])?;
            extent.start = start;
        }
        self.units = units;
        *self.free = Default::default();
        self.note_size();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Positions that are near, far, just near or far enough, and the largest.
    const POSITIONS: [u32; 9] = [
        1,
        2,
        2 + MARK - 1,
        2 + 2 * MARK - 1,
        1 << 16,
        (1 << 16) + 7,
        1 << 30,
        (1 << 31) - 2,
        (1 << 31) - 1,
    ];

    #[test]
    fn positions_are_read_as_they_were_written_and_added() {
        for from in 0..POSITIONS.len() {
            for to in from..=POSITIONS.len() {
                let (mut lists, (written, added)) =
                    (Lists::default(), POSITIONS[from..to].split_at((to - from) / 2));
                let list = lists.append(written.iter().copied()).unwrap();
                let start = lists.lengthen(list, ADDED * added.len() as u32).unwrap();
                for (nth, &at) in added.iter().enumerate() {
                    write_whole(at, start + ADDED * nth as u32, lists.shared());
                }
                assert!(lists.of(list).eq(POSITIONS[from..to].iter().copied()), "{from} {to}");
            }
        }
    }

    #[test]
    fn near_positions_take_one_unit_each() {
        let mut lists = Lists::default();
        let positions: Vec<u32> = (1..1000).map(|nth| nth * 30).collect();
        let list = lists.append(positions.into_iter()).unwrap();
        assert_eq!(lists.take(list).len, 1000);
    }
}
