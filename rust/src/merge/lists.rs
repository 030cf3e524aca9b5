//! Lists of positions, one for each followed pair, in one array.
//!
//! A list is one extent of the array; if it grows, it moves to a larger one. Free extents are kept by size class (powers of
//! two) and used again.
//!
//! A list may hold positions that are out of date: whoever reads it checks the slots.

use std::ops::Range;
use std::sync::atomic::AtomicU32;

use crate::error::{Error, Result};
use crate::memory::cells::{Cells, Plain};
use crate::prefetch::prefetch;

/// The place of a list.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extent {
    start: u32,
    /// At least the number of positions in it.
    pub len: u32,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for Extent {}

impl Extent {
    fn range(self) -> Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// All lists, by their numbers.
#[derive(Default)]
pub struct Lists {
    lists: Cells<Extent>,
    positions: Cells<u32>,
    /// Free extents: those of class n have at least 2^n places.
    free: Box<[Vec<Extent>; 32]>,
    /// With more places, pairs are counted again.
    limit: usize,
    /// The number of places when unused lists were last dropped.
    noted: usize,
}

/// Shorter extents are not kept when they are free.
const SHORTEST: u32 = 8;
/// Positions that may always be added before a recount, however few pairs there are.
const MIN_GROWTH: usize = 1 << 10;
/// Above this many positions, pairs are counted again: places must fit 32 bits.
const MAX_PLACES: usize = 3 << 30;

impl Lists {
    /// No lists, and room for so many of so many positions in all, to which `growth` may be added before a recount.
    pub fn with_room(lists: usize, positions: usize, growth: usize) -> Result<Self> {
        Ok(Self {
            lists: Cells::with_capacity(lists + lists / 2)?,
            // Addresses are kept free for what will be added.
            positions: Cells::with_capacity(positions + growth)?,
            limit: (positions + growth + MIN_GROWTH).min(MAX_PLACES),
            noted: positions,
            ..Self::default()
        })
    }

    /// Whether so many positions were added that a recount pays off.
    pub fn is_full(&self) -> bool {
        self.positions.len() > self.limit
    }

    /// Whether more than `by` positions were added since `note_size`.
    pub fn has_grown(&self, by: usize) -> bool {
        self.positions.len() - self.noted > by
    }

    pub fn note_size(&mut self) {
        self.noted = self.positions.len();
    }

    /// A list's positions; none if there is no such list.
    pub fn of(&self, list: u32) -> &[u32] {
        self.at(self.lists.get(list as usize).copied().unwrap_or_default())
    }

    /// The positions in an extent.
    pub fn at(&self, extent: Extent) -> &[u32] {
        &self.positions[extent.range()]
    }

    /// Prefetches a list's entry.
    pub fn prefetch(&self, list: u32) {
        prefetch(&self.lists, list as usize);
    }

    /// Prefetches a list's first positions.
    pub fn prefetch_positions(&self, list: u32) {
        if let Some(extent) = self.lists.get(list as usize) {
            prefetch(&self.positions, extent.start as usize);
        }
    }

    /// All positions, for threads that each write to their own places.
    pub fn shared(&mut self) -> &[AtomicU32] {
        const { assert!(align_of::<AtomicU32>() == align_of::<u32>()) };
        let positions: *mut [u32] = &mut *self.positions;
        // SAFETY: an AtomicU32 is as large as a u32, has the same valid values and the same alignment (asserted); the
        // exclusive borrow lasts as long as the shared one that is made of it.
        unsafe { &*(positions as *const [AtomicU32]) }
    }

    /// Adds a list of so many arbitrary positions; returns its number and its first place.
    pub fn add(&mut self, len: u32) -> Result<(u32, u32)> {
        let start = if len == 0 { 0 } else { self.extend(len)? };
        self.lists.push(Extent { start, len })?;
        Ok((self.lists.len() as u32 - 1, start))
    }

    /// Adds a list of these positions; returns its number.
    pub fn append(&mut self, positions: &[u32]) -> Result<u32> {
        let (list, start) = self.add(positions.len() as u32)?;
        self.positions[start as usize..][..positions.len()].copy_from_slice(positions);
        Ok(list)
    }

    /// Takes a list's extent, which must be freed; the list is then empty.
    pub fn take(&mut self, list: u32) -> Extent {
        self.lists.get_mut(list as usize).map(std::mem::take).unwrap_or_default()
    }

    /// Makes a list longer; returns the first new place.
    pub fn lengthen(&mut self, list: u32, by: u32) -> Result<u32> {
        let old = self.lists[list as usize];
        let start = self.allocate(old.len + by)?;
        self.positions.copy_within(old.range(), start as usize);
        self.free(old);
        self.lists[list as usize] = Extent { start, len: old.len + by };
        Ok(start + old.len)
    }

    /// The start of an extent of so many arbitrary positions.
    fn allocate(&mut self, len: u32) -> Result<u32> {
        let class = len.max(1).next_power_of_two().ilog2() as usize;
        let Some(extent) = self.free[class..].iter_mut().find_map(Vec::pop) else { return self.extend(len) };
        self.free(Extent { start: extent.start + len, len: extent.len - len });
        Ok(extent.start)
    }

    /// Adds places behind all others; returns where they begin.
    fn extend(&mut self, len: u32) -> Result<u32> {
        let start = self.positions.len();
        if start + len as usize > u32::MAX as usize {
            return Err(Error::Memory("the lists of positions are too long; raise min_count".into()));
        }
        self.positions.lengthen(start + len as usize)?;
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
        let mut positions = Cells::with_capacity(2 * sum)?;
        for extent in self.lists.iter_mut() {
            let start = positions.len() as u32;
            positions.extend(&self.positions[extent.range()])?;
            extent.start = start;
        }
        (self.positions, self.free) = (positions, Default::default());
        self.note_size();
        Ok(())
    }
}
