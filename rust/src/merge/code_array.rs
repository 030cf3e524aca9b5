//! Codes in a row, in 16 bits while there are few tokens, then in 32: widened where they lie, without a second row.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::tokens::{BOUNDARY, Code};
use crate::error::Result;
use crate::memory;

/// How a code is stored.
pub trait SlotWidth: Copy + Eq + Send + Sync {
    fn of(code: Code) -> Self;
    fn code(self) -> Code;
    /// Memory as the slots in it.
    fn slots(memory: &[u32]) -> &[Self];
    /// Memory as the slots in it, to be changed.
    fn slots_mut(memory: &mut [u32]) -> &mut [Self];
}

impl SlotWidth for u16 {
    fn of(code: Code) -> Self {
        code as u16
    }
    fn code(self) -> Code {
        Code::from(self)
    }
    fn slots(memory: &[u32]) -> &[Self] {
        // SAFETY: each u32 is two u16 in the same place, of which all bits are valid, and aligned for them.
        unsafe { std::slice::from_raw_parts(memory.as_ptr().cast(), 2 * memory.len()) }
    }
    fn slots_mut(memory: &mut [u32]) -> &mut [Self] {
        // SAFETY: as in `slots`; whatever is written is valid as u32 too, and the borrow is as exclusive.
        unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), 2 * memory.len()) }
    }
}

impl SlotWidth for u32 {
    fn of(code: Code) -> Self {
        code
    }
    fn code(self) -> Code {
        self
    }
    fn slots(memory: &[u32]) -> &[Self] {
        memory
    }
    fn slots_mut(memory: &mut [u32]) -> &mut [Self] {
        memory
    }
}

/// So many slots are widened at a time.
const PIECE: usize = 64;

/// A row of slots.
#[derive(Default)]
pub struct CodeArray<S> {
    memory: Vec<u32>,
    len: usize,
    slots: PhantomData<S>,
}

impl<S: SlotWidth> CodeArray<S> {
    /// So many slots that all hold `BOUNDARY`.
    pub fn of_boundaries(len: usize) -> Result<Self> {
        const { assert!(BOUNDARY == 0, "it is in memory that holds nothing") };
        Ok(Self { memory: memory::filled(0, Self::memory_of(len))?, len, slots: PhantomData })
    }

    /// Drops the slots from a place on.
    pub fn truncate(&mut self, len: usize) {
        self.len = len;
        self.memory.truncate(Self::memory_of(len));
    }

    /// The same codes in wide slots.
    pub fn widened(self) -> Result<CodeArray<u32>> {
        let mut wide = CodeArray { memory: self.memory, len: self.len, slots: PhantomData };
        wide.lengthen()?;
        // From the last to the first: where wide slots are written, no narrow one is that is still to be read.
        for start in (0..wide.len).step_by(PIECE).rev() {
            let range = start..(start + PIECE).min(wide.len);
            let mut codes = [0; PIECE];
            for (code, slot) in codes.iter_mut().zip(&S::slots(&wide.memory)[range.clone()]) {
                *code = slot.code();
            }
            wide.memory[range.clone()].copy_from_slice(&codes[..range.len()]);
        }
        Ok(wide)
    }

    fn memory_of(slots: usize) -> usize {
        (slots * size_of::<S>()).div_ceil(size_of::<u32>())
    }

    fn lengthen(&mut self) -> Result<()> {
        let more = Self::memory_of(self.len) - self.memory.len();
        memory::reserve(&mut self.memory, more)?;
        self.memory.resize(Self::memory_of(self.len), 0);
        Ok(())
    }
}

impl<S: SlotWidth> Deref for CodeArray<S> {
    type Target = [S];

    fn deref(&self) -> &[S] {
        &S::slots(&self.memory)[..self.len]
    }
}

impl<S: SlotWidth> DerefMut for CodeArray<S> {
    fn deref_mut(&mut self) -> &mut [S] {
        &mut S::slots_mut(&mut self.memory)[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_widened_and_cut_where_it_lies() {
        for len in [0, 1, 2, 7, 8, 63, 64, 65, 200] {
            let mut row = CodeArray::<u16>::of_boundaries(len).unwrap();
            assert!(row.iter().all(|slot| slot.code() == BOUNDARY));
            for (slot, code) in row.iter_mut().zip(65_300..) {
                *slot = code;
            }
            let mut wide = row.widened().unwrap();
            assert_eq!(*wide, (65_300..).take(len).collect::<Vec<u32>>());
            wide.truncate(len / 2);
            assert_eq!(wide.len(), len / 2);
        }
    }

    #[test]
    fn a_narrow_row_is_cut_anywhere() {
        let mut row = CodeArray::<u16>::of_boundaries(5).unwrap();
        row.fill(7);
        row.truncate(3);
        assert_eq!(*row, [7, 7, 7]);
    }
}
