//! An arena for lists of positions.
//!
//! Most positions of a list are near the one before, so a position takes one or two *units* of 16 bits: one if it is
//! less than 2^15 after the position before it in the list, which the unit then holds as a distance; else two that hold
//! the position itself, the first of them marked. The first position of a list, and the first that is added to it
//! later, always takes two.
//!
//! Each list is one contiguous block of a common array. A list that grows moves to a larger block. Freed blocks are kept
//! by size class (powers of two) and used again; those shorter than `SHORTEST` are not worth tracking.

use std::sync::atomic::{AtomicU16, Ordering};

use crate::error::{Error, Result};
use crate::memory::cells::Plain;
use crate::memory::rows::Rows;
use crate::prefetch::prefetch;

/// The mark of a unit that holds the upper half of a position; also the least distance that does not fit one unit.
const FAR: u16 = 1 << 15;

/// Stands for the position before the first: every position is far from it, as all are less.
pub const NONE: u32 = u32::MAX >> 1;

/// Whether a position takes two units after the one before: 1 if it does, else 0. Branches would often be guessed wrong
/// here, as in all of what follows.
#[inline(always)]
fn is_far(before: u32, at: u32) -> u32 {
    u32::from(at.wrapping_sub(before) >= u32::from(FAR))
}

/// How many units the positions of a list take, which are added in their order.
#[derive(Clone, Copy)]
pub struct Measure {
    /// Below 2^31: only positions that are far from each other take two.
    pub units: u32,
    pub before: u32,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for Measure {}

impl Default for Measure {
    fn default() -> Self {
        Self { units: 0, before: NONE }
    }
}

impl Measure {
    #[inline(always)]
    pub fn add(&mut self, at: u32) {
        self.units += 1 + is_far(self.before, at);
        self.before = at;
    }
}

/// Where the next position of a list is written.
#[derive(Clone, Copy)]
pub struct ListPlace {
    pub place: u32,
    pub before: u32,
}

impl ListPlace {
    /// A cursor for the first positions at a place.
    pub fn at(place: u32) -> Self {
        Self { place, before: NONE }
    }

    /// Writes a position by `put`, which takes a place and a unit. A single unit is put twice.
    #[inline(always)]
    fn write_by(&mut self, at: u32, mut put: impl FnMut(usize, u16)) {
        let far = is_far(self.before, at);
        let distance = at.wrapping_sub(self.before);
        let (first, last) = if far == 1 { (at >> 16 | u32::from(FAR), at) } else { (distance, distance) };
        put(self.place as usize, first as u16);
        put((self.place + far) as usize, last as u16);
        self.place += 1 + far;
        self.before = at;
    }

    /// Writes a position.
    #[inline(always)]
    pub fn write(&mut self, at: u32, places: &mut [u16]) {
        self.write_by(at, |place, unit| places[place] = unit);
    }

    /// Writes a position, beside other threads that write to other places.
    #[inline(always)]
    pub fn write_shared(&mut self, at: u32, places: &[AtomicU16]) {
        self.write_by(at, |place, unit| places[place].store(unit, Ordering::Relaxed));
    }
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

/// A list: a block of the arena.
#[derive(Clone, Copy, Debug, Default)]
pub struct PositionList {
    pub start: u32,
    /// In units: at least the number of positions.
    pub len: u32,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for PositionList {}

impl PositionList {
    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// The memory of all lists.
#[derive(Default)]
pub struct PositionArena {
    units: Rows<u16>,
    /// Unused blocks: those of class n have at least 2^n places.
    free: [Vec<PositionList>; 32],
    /// Bit n is set if there are blocks of class n.
    classes: u32,
}

/// Shorter blocks are not tracked when they are freed.
const SHORTEST: u32 = 8;

impl PositionArena {
    /// The size of the arena in units, used or free.
    pub fn len(&self) -> usize {
        self.units.len()
    }

    /// Makes room for exactly so many units in an empty arena, and keeps addresses free for some more.
    pub fn reserve(&mut self, units: usize, more: usize) -> Result<()> {
        if units > u32::MAX as usize {
            return Err(too_many());
        }
        self.units = Rows::with_capacity(units + more)?;
        self.units.lengthen(units)
    }

    /// The positions of a list.
    pub fn positions(&self, list: PositionList) -> Positions<'_> {
        Positions { units: &self.units[list.range()], before: NONE }
    }

    /// Prefetches the start of a list.
    pub fn prefetch(&self, list: PositionList) {
        prefetch(&self.units, list.start as usize);
    }

    /// All places, for threads that each write to their own.
    pub fn shared_places(&mut self) -> &[AtomicU16] {
        const { assert!(align_of::<AtomicU16>() == align_of::<u16>()) };
        let places: *mut [u16] = &mut *self.units;
        // SAFETY: an AtomicU16 is as large as a u16, has the same valid values and the same alignment (asserted); the
        // exclusive borrow lasts as long as the shared one that is made of it.
        unsafe { &*(places as *const [AtomicU16]) }
    }

    /// All places, for writing to many lists at a time.
    pub fn places(&mut self) -> &mut [u16] {
        &mut self.units
    }

    /// Allocates a block with arbitrary content.
    pub fn allocate(&mut self, len: u32) -> Result<PositionList> {
        let class = len.max(1).next_power_of_two().ilog2() as usize;
        // The smallest class that has a block; shifting by 32, where there is no class, would not be defined.
        let larger = self.classes & u32::MAX.checked_shl(class as u32).unwrap_or(0);
        if larger != 0
            && let Some(block) = self.take_block(larger.trailing_zeros())
        {
            self.free_block(PositionList { start: block.start + len, len: block.len - len });
            return Ok(PositionList { start: block.start, len });
        }
        let (start, end) = (self.units.len(), self.units.len() + len as usize);
        if end > u32::MAX as usize {
            return Err(too_many());
        }
        self.units.lengthen(end)?;
        Ok(PositionList { start: start as u32, len })
    }

    /// Frees a block.
    pub fn free_block(&mut self, block: PositionList) {
        if block.len >= SHORTEST {
            let class = block.len.ilog2();
            self.free[class as usize].push(block);
            self.classes |= 1 << class;
        }
    }

    /// Removes a free block of a class.
    fn take_block(&mut self, class: u32) -> Option<PositionList> {
        let blocks = &mut self.free[class as usize];
        let block = blocks.pop();
        if blocks.is_empty() {
            self.classes &= !(1 << class);
        }
        block
    }

    /// Moves these lists, which are all that are in use, to new memory without gaps, and gives back the old.
    pub fn compact(&mut self, lists: &mut [PositionList]) -> Result<()> {
        let sum: usize = lists.iter().map(|list| list.len as usize).sum();
        let mut units = Rows::with_capacity(2 * sum)?;
        for list in lists {
            let start = units.len() as u32;
            units.extend(&self.units[list.range()])?;
            list.start = start;
        }
        *self = Self { units, ..Self::default() };
        Ok(())
    }

    /// Makes a list longer by `by` units at its end.
    pub fn lengthen(&mut self, list: PositionList, by: u32) -> Result<PositionList> {
        let longer = self.allocate(list.len + by)?;
        self.units.copy_within(list.range(), longer.start as usize);
        self.free_block(list);
        Ok(longer)
    }
}

fn too_many() -> Error {
    Error::Memory("the lists of positions are too long; raise min_count".into())
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
                let mut arena = PositionArena::default();
                let mut list = PositionList::default();
                // In two steps, as lists grow.
                for part in [&POSITIONS[from..(from + to) / 2], &POSITIONS[(from + to) / 2..to]] {
                    let mut measure = Measure::default();
                    part.iter().for_each(|&at| measure.add(at));
                    let mut cursor = ListPlace::at(list.len);
                    list = arena.lengthen(list, measure.units).unwrap();
                    cursor.place += list.start;
                    part.iter().for_each(|&at| cursor.write(at, arena.places()));
                    assert_eq!(cursor.place, list.start + list.len);
                }
                assert!(arena.positions(list).eq(POSITIONS[from..to].iter().copied()), "{from} {to}");
            }
        }
    }

    #[test]
    fn near_positions_take_one_unit_each() {
        let mut measure = Measure::default();
        (1..1000).for_each(|at| measure.add(at * 30));
        assert_eq!(measure.units, 1000);
    }
}
