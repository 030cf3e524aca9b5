//! Lists of positions, one for each followed pair, in one array.
//!
//! The array holds units of 16 bits. A position takes one unit, its distance, if that is less than 2^15 from the one before it
//! in the list. Otherwise it takes two, the first of them marked; so do the first position, and those that are added later.
//!
//! ```text
//! positions   5          9    70000            70003
//! units       mark+0 5   4    mark+1 4464      3
//! ```
//!
//! A list is one extent of the array; if it grows, it moves to a larger one. Free extents are kept by size class (powers of
//! two) and used again.
//!
//! A list may hold positions that are out of date: whoever reads it checks the slots.

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
    /// How often positions were added: they are in order up to the first time, then each may begin with a smaller one.
    pub additions: u32,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for Extent {}

impl Extent {
    fn range(self) -> Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// The mark of the first of two units; also the least distance that takes two.
const MARK: u32 = 1 << 15;
/// So far from every position that the next one takes two units.
const NOWHERE: u32 = 1 << 31;
/// So many units hold a position that is added.
pub const ADDED: u32 = 2;

/// Where the next position of a list is written, and the one before it.
#[derive(Clone, Copy)]
pub struct Cursor {
    pub place: u32,
    before: u32,
}

impl Cursor {
    /// For the first positions at a place.
    pub fn at(place: u32) -> Self {
        Self { place, before: NOWHERE }
    }

    /// Leaves room for a position; returns whether it takes two units.
    #[inline(always)]
    pub fn skip(&mut self, at: u32) -> bool {
        let is_far = at.wrapping_sub(self.before) >= MARK;
        (self.place, self.before) = (self.place + 1 + u32::from(is_far), at);
        is_far
    }

    /// Writes a position, beside other threads that write to other places.
    #[inline(always)]
    pub fn write(&mut self, at: u32, units: &[AtomicU16]) {
        let (place, distance) = (self.place, at.wrapping_sub(self.before));
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
    /// No lists, and room for so many of so many positions in all, and for at least `growth` more before a
    /// recount.
    pub fn with_room(lists: usize, positions: usize, growth: usize) -> Result<Self> {
        let units = ADDED as usize * (positions + growth);
        Ok(Self {
            lists: Cells::with_capacity(lists + lists / 2)?,
            // Addresses are kept free for what will be added.
            units: Cells::with_capacity(units)?,
            limit: (units + MIN_GROWTH).min(MAX_UNITS),
            ..Self::default()
        })
    }

    /// Whether so many units were added that a recount pays off.
    pub fn is_full(&self) -> bool {
        self.units.len() > self.limit
    }

    /// Whether more than `by` units were added since `note_size`.
    pub fn has_grown(&self, by: usize) -> bool {
        self.units.len() - self.noted > by
    }

    pub fn note_size(&mut self) {
        self.noted = self.units.len();
    }

    /// A list's positions; none if there is no such list.
    pub fn of(&self, list: u32) -> impl Iterator<Item = u32> + Clone {
        self.at(self.lists.get(list as usize).copied().unwrap_or_default())
    }

    /// The positions in an extent.
    pub fn at(&self, extent: Extent) -> impl Iterator<Item = u32> + Clone {
        let (mut units, mut before) = (&self.units[extent.range()], 0);
        std::iter::from_fn(move || {
            let (&first, rest) = units.split_first()?;
            let first = u32::from(first);
            (before, units) = if first < MARK {
                (before + first, rest)
            } else {
                let (&last, rest) = rest.split_first()?;
                ((first - MARK) << 16 | u32::from(last), rest)
            };
            Some(before)
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

    /// All units, for threads that each write to their own places.
    pub fn shared(&mut self) -> &[AtomicU16] {
        const { assert!(align_of::<AtomicU16>() == align_of::<u16>()) };
        let units: *mut [u16] = &mut *self.units;
        // SAFETY: an AtomicU16 is as large as a u16, has the same valid values and the same alignment (asserted); the
        // exclusive borrow lasts as long as the shared one that is made of it.
        unsafe { &*(units as *const [AtomicU16]) }
    }

    /// Adds a list of so many arbitrary units; returns its number and its first place.
    pub fn add(&mut self, len: u32) -> Result<(u32, u32)> {
        let start = if len == 0 { 0 } else { self.extend(len)? };
        self.lists.push(Extent { start, len, additions: u32::from(len > 0) })?;
        Ok((self.lists.len() as u32 - 1, start))
    }

    /// Adds a list of these positions; returns its number.
    pub fn append(&mut self, positions: impl Iterator<Item = u32> + Clone) -> Result<u32> {
        let mut length = Cursor::at(0);
        positions.clone().for_each(|at| _ = length.skip(at));
        let (list, start) = self.add(length.place)?;
        let (mut cursor, units) = (Cursor::at(start), self.shared());
        positions.for_each(|at| cursor.write(at, units));
        Ok(list)
    }

    /// Takes a list's extent, which must be freed; the list is then empty.
    pub fn take(&mut self, list: u32) -> Extent {
        self.lists.get_mut(list as usize).map(std::mem::take).unwrap_or_default()
    }

    /// Makes a list longer by so many units; returns the first new place.
    pub fn lengthen(&mut self, list: u32, by: u32) -> Result<u32> {
        let old = self.lists[list as usize];
        let start = self.allocate(old.len + by)?;
        self.units.copy_within(old.range(), start as usize);
        self.free(old);
        self.lists[list as usize] = Extent { start, len: old.len + by, additions: old.additions + 1 };
        Ok(start + old.len)
    }

    /// The start of an extent of so many arbitrary units.
    fn allocate(&mut self, len: u32) -> Result<u32> {
        let class = len.max(1).next_power_of_two().ilog2() as usize;
        let Some(extent) = self.free[class..].iter_mut().find_map(Vec::pop) else { return self.extend(len) };
        self.free(Extent { start: extent.start + len, len: extent.len - len, additions: 0 });
        Ok(extent.start)
    }

    /// Adds places behind all others; returns where they begin.
    fn extend(&mut self, len: u32) -> Result<u32> {
        let start = self.units.len();
        if start + len as usize > u32::MAX as usize {
            return Err(Error::Memory("the lists of positions are too long; raise min_count".into()));
        }
        self.units.lengthen(start + len as usize)?;
        Ok(start as u32)
    }

    pub fn free(&mut self, extent: Extent) {
        if extent.len >= SHORTEST {
            self.free[extent.len.ilog2() as usize].push(extent);
        }
    }

    /// Moves all lists to new memory without gaps, and gives back the old.
    pub fn compact(&mut self) -> Result<()> {
        let sum: usize = self.lists.iter().map(|extent| extent.len as usize).sum();
        let mut units = Cells::with_capacity(2 * sum)?;
        for extent in self.lists.iter_mut() {
            let start = units.len() as u32;
            units.extend(&self.units[extent.range()])?;
            extent.start = start;
        }
        (self.units, self.free) = (units, Default::default());
        self.note_size();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Positions that are near, far, just near or far enough, and the largest.
    const POSITIONS: [u32; 9] =
        [1, 2, 2 + MARK - 1, 2 + 2 * MARK - 1, 1 << 16, (1 << 16) + 7, 1 << 30, (1 << 31) - 2, (1 << 31) - 1];

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
