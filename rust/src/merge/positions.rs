//! Lists of positions, each in one piece of a common array; what a list leaves behind is used again.

use std::sync::atomic::AtomicU32;

use crate::error::{Error, Result};
use crate::memory;
use crate::prefetch::prefetch;

/// A list: a stretch of the arena.
#[derive(Clone, Copy, Debug, Default)]
pub struct PositionList {
    pub start: u32,
    pub len: u32,
}

impl PositionList {
    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// All lists.
#[derive(Default)]
pub struct PositionArena {
    positions: Vec<u32>,
    /// Stretches that no list uses: those of class n have at least 2^n places.
    free: [Vec<PositionList>; 32],
}

/// Shorter stretches are not worth remembering.
const SHORTEST: u32 = 8;

impl PositionArena {
    /// How many places the lists take, used or free.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Makes room for exactly so many positions in an empty arena.
    pub fn reserve(&mut self, places: usize) -> Result<()> {
        self.positions = memory::filled(0, places)?;
        Ok(())
    }

    /// The positions of a list.
    pub fn positions(&self, list: PositionList) -> &[u32] {
        &self.positions[list.range()]
    }

    /// Tells that a list will soon be read.
    pub fn prefetch(&self, list: PositionList) {
        prefetch(&self.positions, list.start as usize);
    }

    pub fn positions_mut(&mut self, list: PositionList) -> &mut [u32] {
        &mut self.positions[list.range()]
    }

    /// All places, for threads that write to different ones.
    pub fn shared_places(&mut self) -> &[AtomicU32] {
        const { assert!(align_of::<AtomicU32>() == align_of::<u32>()) };
        let places: *mut [u32] = &mut *self.positions;
        // SAFETY: an AtomicU32 is as large as a u32, has the same valid values and the same alignment (asserted); the
        // exclusive borrow lasts as long as the shared one that is made of it.
        unsafe { &*(places as *const [AtomicU32]) }
    }

    /// All places, for those who write to many lists at a time.
    pub fn places(&mut self) -> &mut [u32] {
        &mut self.positions
    }

    /// A new stretch, with anything in it.
    pub fn take(&mut self, len: u32) -> Result<PositionList> {
        let class = len.max(1).next_power_of_two().ilog2() as usize;
        if let Some(stretch) = self.free.iter_mut().skip(class).find_map(Vec::pop) {
            self.give_back(PositionList { start: stretch.start + len, len: stretch.len - len });
            return Ok(PositionList { start: stretch.start, len });
        }
        let (start, end) = (self.positions.len(), self.positions.len() + len as usize);
        if end > u32::MAX as usize {
            let message = "more places where pairs stand than 32 bits can number; raise min_count";
            return Err(Error::Memory(message.into()));
        }
        memory::reserve(&mut self.positions, len as usize)?;
        self.positions.resize(end, 0);
        Ok(PositionList { start: start as u32, len })
    }

    /// Ends the use of a stretch.
    pub fn give_back(&mut self, stretch: PositionList) {
        if stretch.len >= SHORTEST {
            self.free[stretch.len.ilog2() as usize].push(stretch);
        }
    }

    /// Makes a list longer; its new places come behind those that it had.
    pub fn lengthen(&mut self, list: PositionList, by: u32) -> Result<PositionList> {
        let longer = self.take(list.len + by)?;
        self.positions.copy_within(list.range(), longer.start as usize);
        self.give_back(list);
        Ok(longer)
    }
}
