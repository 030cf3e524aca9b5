//! An array of codes with 16 bits each while there are few tokens, then with 32 bits.
//!
//! Both widths use the same memory, so the array is widened in place, without a second copy.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::tokens::{BOUNDARY, Code};
use crate::error::Result;
use crate::memory::cells::{Cells, Content};

/// The integer type that stores a code.
pub trait SlotWidth: Copy + Eq + Send + Sync {
    fn of(code: Code) -> Self;
    fn code(self) -> Code;
    /// Views memory as slots.
    fn slots(memory: &[u32]) -> &[Self];
    /// Views memory as mutable slots.
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

/// The number of slots that are widened at a time.
const WIDEN_BATCH: usize = 64;

/// An array of slots.
#[derive(Default)]
pub struct CodeArray<S> {
    memory: Cells<u32>,
    len: usize,
    slots: PhantomData<S>,
}

impl<S: SlotWidth> CodeArray<S> {
    /// An array of `len` slots that all hold `BOUNDARY`; `may_widen` keeps addresses free for `widened`.
    pub fn of_boundaries(len: usize, may_widen: bool) -> Result<Self> {
        const { assert!(BOUNDARY == 0, "fresh memory is zeroed") };
        let bytes = len * if may_widen { size_of::<u32>() } else { size_of::<S>() };
        let memory = Cells::new(bytes.div_ceil(size_of::<u32>()), Content::LateZeros)?;
        Ok(Self { memory, len, slots: PhantomData })
    }

    /// Drops the slots from index `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.len = len;
    }

    /// The same codes in wide slots.
    pub fn widened(self) -> Result<CodeArray<u32>> {
        let mut wide = CodeArray { memory: self.memory, len: self.len, slots: PhantomData };
        if wide.memory.len() < wide.len {
            let narrow = std::mem::replace(&mut wide.memory, Cells::new(wide.len, Content::LateZeros)?);
            wide.memory[..narrow.len()].copy_from_slice(&narrow);
        }
        // From the last to the first: a wide slot never overwrites a narrow slot that is still to be read.
        for start in (0..wide.len).step_by(WIDEN_BATCH).rev() {
            let range = start..(start + WIDEN_BATCH).min(wide.len);
            let mut codes = [0; WIDEN_BATCH];
            for (code, slot) in codes.iter_mut().zip(&S::slots(&wide.memory)[range.clone()]) {
                *code = slot.code();
            }
            wide.memory[range.clone()].copy_from_slice(&codes[..range.len()]);
        }
        Ok(wide)
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
    fn an_array_is_widened_and_truncated_in_place() {
        for len in [0, 1, 2, 7, 8, 63, 64, 65, 200] {
            let mut array = CodeArray::<u16>::of_boundaries(len, len % 2 == 0).unwrap();
            assert!(array.iter().all(|slot| slot.code() == BOUNDARY));
            for (slot, code) in array.iter_mut().zip(65_300..) {
                *slot = code;
            }
            let mut wide = array.widened().unwrap();
            assert_eq!(*wide, (65_300..).take(len).collect::<Vec<u32>>());
            wide.truncate(len / 2);
            assert_eq!(wide.len(), len / 2);
        }
    }

    #[test]
    fn a_narrow_array_is_truncated_at_any_length() {
        let mut array = CodeArray::<u16>::of_boundaries(5, false).unwrap();
        array.fill(7);
        array.truncate(3);
        assert_eq!(*array, [7, 7, 7]);
    }
}
