//! An array of codes with 16 bits each while there are few tokens, then with 32 bits.
//!
//! Both widths use the same memory, so the array is widened in place, without a second copy.

use std::iter::zip;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::tokens::{BOUNDARY, Code};
use crate::error::Result;
use crate::memory::cells::{Cells, Content};
use crate::watch::Pulse;
use crate::workers;

/// The integer type that stores a code.
pub trait SlotWidth: Copy + Eq + Send + Sync {
    /// Whether codes may be too large for it: 16 bits while all fit, then 32, is half the memory for the first 65,000 tokens.
    const IS_NARROW: bool;
    fn of(code: Code) -> Self;
    fn code(self) -> Code;
    /// Views memory as slots.
    fn slots(memory: &[u32]) -> &[Self];
    /// Views memory as mutable slots.
    fn slots_mut(memory: &mut [u32]) -> &mut [Self];
}

impl SlotWidth for u16 {
    const IS_NARROW: bool = true;
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
    const IS_NARROW: bool = false;
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

/// A thread widens at least this many slots.
const FOR_THREAD: usize = 1 << 18;

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

    /// The same codes in wide slots. Most of the time is spent on memory that is touched first, which threads share.
    pub fn widened(self, threads: usize, pulse: &mut Pulse<'_>) -> Result<CodeArray<u32>> {
        let mut wide = CodeArray { memory: self.memory, len: self.len, slots: PhantomData };
        if wide.memory.len() < wide.len {
            let narrow = std::mem::replace(&mut wide.memory, Cells::new(wide.len, Content::LateZeros)?);
            wide.memory[..narrow.len()].copy_from_slice(&narrow);
        }
        // The last half, then the last half of the others, and so on: these wide slots lie behind all that are narrow.
        let mut end = wide.len;
        while end > 1 {
            let start = end.div_ceil(2);
            let (narrow, last) = wide.memory[..end].split_at_mut(start);
            let part = last.len().div_ceil(threads).max(FOR_THREAD);
            let parts = zip(last.chunks_mut(part), S::slots(narrow)[start..end].chunks(part));
            workers::each(parts, pulse, |(wide, narrow), _| {
                zip(wide, narrow).for_each(|(wide, narrow)| *wide = narrow.code());
                Ok(())
            })?;
            end = start;
        }
        if end == 1 {
            wide.memory[0] = S::slots(&wide.memory)[0].code();
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
    use crate::watch::Unwatched;

    #[test]
    fn an_array_is_widened_and_truncated_in_place() {
        for len in [0, 1, 2, 3, 7, 8, 63, 64, 65, 200, 4 * FOR_THREAD + 1] {
            let mut array = CodeArray::<u16>::of_boundaries(len, len % 2 == 0).unwrap();
            assert!(array.iter().all(|slot| slot.code() == BOUNDARY));
            let codes = || (65_300..=u16::MAX).cycle().take(len);
            zip(&mut *array, codes()).for_each(|(slot, code)| *slot = code);
            let mut wide = array.widened(3, &mut Pulse::of(&mut Unwatched)).unwrap();
            assert!(wide.iter().copied().eq(codes().map(Code::from)));
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
