//! Lists of positions, one for each followed pair, in one array of 16-bit *units*.
//!
//! Most positions of a list are near the one before, so a position takes one unit if it is less than 2^15 after the one
//! before it, which the unit then holds as a distance; else two that hold the position itself, the first of them marked:
//!
//! ```text
//! positions  100000         100002  100050  40
//! units      FAR|1  34464   2       48      FAR|0  40
//! ```
//!
//! The first position of a list, and the first that is added to it later, always takes two. A list is one block of the
//! array; if it grows, it moves to a larger block. Free blocks are kept by size class (powers of two) and used again.
//!
//! A list may hold positions that are out of date: whoever reads it checks the slots.

use std::sync::atomic::{AtomicU16, Ordering};

use crate::error::{Error, Result};
use crate::memory::cells::Plain;
use crate::memory::rows::Rows;
use crate::prefetch::prefetch;

/// The mark of a unit that holds the upper half of a position; also the least distance that does not fit one unit.
const FAR: u16 = 1 << 15;

/// Stands for the position before the first: every position is far from it, as all are less.
const NONE: u32 = u32::MAX >> 1;

/// A bit that no position has.
const MARK: u32 = !NONE;

/// A place among the units of a list: it passes over positions to measure them, or writes them. One of zeros is at the
/// beginning of a list at place 0.
#[derive(Clone, Copy, Default)]
pub struct Cursor {
    pub place: u32,
    /// The last position, by its difference (exclusive or) from `NONE`; and perhaps the `MARK`, which it leaves free.
    last: u32,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for Cursor {}

impl Cursor {
    /// A cursor for the first positions at a place.
    pub fn at(place: u32) -> Self {
        Self { place, last: 0 }
    }

    /// The distance of a position from the last one.
    #[inline(always)]
    fn distance(self, at: u32) -> u32 {
        at.wrapping_sub((self.last ^ NONE) & NONE)
    }

    /// Passes over the units of a position.
    #[inline(always)]
    pub fn pass(&mut self, at: u32) {
        self.place += 1 + is_far(self.distance(at));
        self.last = at ^ NONE;
    }

    /// Writes a position by `put`, which takes a place and a unit. (A single unit is put twice.)
    #[inline(always)]
    fn write_by(&mut self, at: u32, mut put: impl FnMut(usize, u16)) {
        let distance = self.distance(at);
        let far = is_far(distance);
        let (first, last) = if far == 1 { (at >> 16 | u32::from(FAR), at) } else { (distance, distance) };
        put(self.place as usize, first as u16);
        put((self.place + far) as usize, last as u16);
        self.place += 1 + far;
        self.last = at ^ NONE | self.last & MARK;
    }

    /// Writes a position.
    #[inline(always)]
    pub fn write(&mut self, at: u32, units: &mut [u16]) {
        self.write_by(at, |place, unit| units[place] = unit);
    }

    /// Writes a position, beside other threads that write to other places.
    #[inline(always)]
    pub fn write_shared(&mut self, at: u32, units: &[AtomicU16]) {
        self.write_by(at, |place, unit| units[place].store(unit, Ordering::Relaxed));
    }

    /// The same with a mark, which stays until the next one is made.
    pub fn marked(self) -> Self {
        Self { last: self.last | MARK, ..self }
    }

    #[inline(always)]
    pub fn is_marked(self) -> bool {
        self.last & MARK != 0
    }
}

/// Whether a position takes two units: 1 if it does, else 0. Branches would often be guessed wrong here.
#[inline(always)]
fn is_far(distance: u32) -> u32 {
    u32::from(distance >= u32::from(FAR))
}

/// The positions of a list, in order.
#[derive(Clone)]
pub struct Positions<'a> {
    units: &'a [u16],
    before: u32,
}

impl Iterator for Positions<'_> {
    type Item = u32;

    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        let &first = self.units.first()?;
        let far = usize::from(first >> 15);
        let &last = self.units.get(far)?;
        let (near, head) = (self.before.wrapping_add(u32::from(first)), u32::from(first & !FAR) << 16);
        self.before = if far == 1 { head | u32::from(last) } else { near };
        self.units = &self.units[1 + far..];
        Some(self.before)
    }
}

/// A block of units.
#[derive(Clone, Copy, Debug, Default)]
pub struct Block {
    start: u32,
    /// At least the number of positions in it.
    pub len: u32,
    /// Whether positions were added later, perhaps some that are smaller than earlier ones.
    pub is_mixed: u32,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for Block {}

impl Block {
    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// All lists, by their numbers.
#[derive(Default)]
pub struct Lists {
    lists: Rows<Block>,
    units: Rows<u16>,
    /// Free blocks: those of class n have at least 2^n units.
    free: Box<[Vec<Block>; 32]>,
    /// Bit n is set if there are blocks of class n.
    classes: u32,
    /// With more units, pairs are counted again.
    limit: usize,
    /// The number of units when unused lists were last dropped.
    noted: usize,
}

/// Shorter blocks are not kept when they are free.
const SHORTEST: u32 = 8;
/// Units that may always be added before a recount, however few pairs there are.
const MIN_GROWTH: usize = 1 << 10;
/// Above this many units, pairs are counted again: places must fit 32 bits.
const MAX_UNITS: usize = 3 << 30;

impl Lists {
    /// No lists, and room for so many of so many units in all, to which `growth` units may be added before a recount.
    pub fn with_room(lists: usize, units: usize, growth: usize) -> Result<Self> {
        Ok(Self {
            lists: Rows::with_capacity(lists + lists / 2)?,
            // Addresses are kept free for what will be added.
            units: Rows::with_capacity(units + growth)?,
            limit: (units + growth + MIN_GROWTH).min(MAX_UNITS),
            noted: units,
            ..Self::default()
        })
    }

    /// Whether so many positions were added that a recount pays off.
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

    /// A list's block; an empty one if there is no such list.
    pub fn block(&self, list: u32) -> Block {
        self.lists.get(list as usize).copied().unwrap_or_default()
    }

    /// The positions in a block.
    pub fn positions(&self, block: Block) -> Positions<'_> {
        Positions { units: &self.units[block.range()], before: NONE }
    }

    /// Prefetches a list's entry.
    pub fn prefetch(&self, list: u32) {
        prefetch(&self.lists, list as usize);
    }

    /// Prefetches a list's first positions.
    pub fn prefetch_positions(&self, list: u32) {
        prefetch(&self.units, self.block(list).start as usize);
    }

    /// All units, for threads that each write to their own places.
    pub fn shared_units(&mut self) -> &[AtomicU16] {
        const { assert!(align_of::<AtomicU16>() == align_of::<u16>()) };
        let units: *mut [u16] = &mut *self.units;
        // SAFETY: an AtomicU16 is as large as a u16, has the same valid values and the same alignment (asserted); the
        // exclusive borrow lasts as long as the shared one that is made of it.
        unsafe { &*(units as *const [AtomicU16]) }
    }

    /// Adds a list of so many units with arbitrary content behind all others; returns where it begins.
    pub fn add(&mut self, len: u32) -> Result<u32> {
        let start = self.extend(len)?;
        self.lists.push(Block { start, len, is_mixed: 0 })?;
        Ok(start)
    }

    /// Adds a list of these units.
    pub fn append(&mut self, units: &[u16]) -> Result<()> {
        let start = self.add(units.len() as u32)?;
        self.units[start as usize..].copy_from_slice(units);
        Ok(())
    }

    /// Adds an empty list; returns its number.
    pub fn add_empty(&mut self) -> Result<u32> {
        self.lists.push(Block::default())?;
        Ok(self.last())
    }

    /// The number of the list that was added last.
    pub fn last(&self) -> u32 {
        self.lists.len() as u32 - 1
    }

    /// Takes a list's block, which must be freed; the list is then empty.
    pub fn take(&mut self, list: u32) -> Block {
        self.lists.get_mut(list as usize).map(std::mem::take).unwrap_or_default()
    }

    /// Makes a list longer by some units; returns the place of the first new one.
    pub fn lengthen(&mut self, list: u32, by: u32) -> Result<u32> {
        let old = self.lists[list as usize];
        let start = self.allocate(old.len + by)?;
        self.units.copy_within(old.range(), start as usize);
        self.free(old);
        let is_mixed = u32::from(old.len > 0);
        self.lists[list as usize] = Block { start, len: old.len + by, is_mixed };
        Ok(start + old.len)
    }

    /// Notes that a list's positions will be written out of order.
    pub fn mix(&mut self, list: u32) {
        self.lists[list as usize].is_mixed = 1;
    }

    /// The start of a block of so many units with arbitrary content.
    fn allocate(&mut self, len: u32) -> Result<u32> {
        let class = len.max(1).next_power_of_two().ilog2();
        // The smallest class that has a block; shifting by 32, where there is no class, would not be defined.
        let larger = self.classes & u32::MAX.checked_shl(class).unwrap_or(0);
        if larger != 0 {
            let class = larger.trailing_zeros();
            let blocks = &mut self.free[class as usize];
            let block = blocks.pop().unwrap_or_default();
            if blocks.is_empty() {
                self.classes &= !(1 << class);
            }
            self.free(Block { start: block.start + len, len: block.len - len, is_mixed: 0 });
            return Ok(block.start);
        }
        self.extend(len)
    }

    /// Adds units behind all others; returns where they begin.
    fn extend(&mut self, len: u32) -> Result<u32> {
        let start = self.units.len();
        if start + len as usize > u32::MAX as usize {
            return Err(Error::Memory("the lists of positions are too long; raise min_count".into()));
        }
        self.units.lengthen(start + len as usize)?;
        Ok(start as u32)
    }

    /// Frees a block.
    pub fn free(&mut self, block: Block) {
        if block.len >= SHORTEST {
            let class = block.len.ilog2();
            self.free[class as usize].push(block);
            self.classes |= 1 << class;
        }
    }

    /// Moves all lists to new memory without gaps, and gives back the old.
    pub fn compact(&mut self) -> Result<()> {
        let sum: usize = self.lists.iter().map(|block| block.len as usize).sum();
        let mut units = Rows::with_capacity(2 * sum)?;
        for block in self.lists.iter_mut() {
            let start = units.len() as u32;
            units.extend(&self.units[block.range()])?;
            block.start = start;
        }
        (self.units, self.free, self.classes) = (units, Default::default(), 0);
        self.note_size();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Positions that are near, far, the same, and before the one before.
    const POSITIONS: [u32; 12] = [
        1,
        2,
        2,
        32_769,
        65_537,
        65_537 + 32_767,
        65_537 + 2 * 32_767 + 1,
        NONE - 1,
        5,
        (1 << 16) + 7,
        (1 << 16) - 1,
        1 << 30,
    ];

    #[test]
    fn positions_are_read_as_they_were_written() {
        for from in 0..POSITIONS.len() {
            for to in from..=POSITIONS.len() {
                let mut lists = Lists::default();
                lists.add(0).unwrap();
                let list = lists.last();
                // In two steps, as lists grow.
                for part in [&POSITIONS[from..(from + to) / 2], &POSITIONS[(from + to) / 2..to]] {
                    let mut measure = Cursor::default();
                    part.iter().for_each(|&at| measure.pass(at));
                    let mut cursor = Cursor::at(lists.lengthen(list, measure.place).unwrap());
                    let units = lists.shared_units();
                    part.iter().for_each(|&at| cursor.write_shared(at, units));
                    assert_eq!(cursor.place as usize, lists.block(list).range().end);
                }
                let found = lists.positions(lists.block(list));
                assert!(found.eq(POSITIONS[from..to].iter().copied()), "{from} {to}");
            }
        }
    }

    #[test]
    fn near_positions_take_one_unit_each() {
        let mut measure = Cursor::default();
        (1..1000).for_each(|at| measure.pass(at * 30));
        assert_eq!(measure.place, 1000);
    }
}
