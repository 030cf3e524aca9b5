//! Slices for large tables that several threads read and write.
//!
//! Large slices are allocated in large pages where the system offers them: fewer page faults, and fewer TLB misses.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::ensure;
#[cfg(target_os = "linux")]
use super::pages::{LARGE, Pages};
use crate::error::Result;

/// The alignment of slices in bytes.
const ALIGNMENT: usize = 64;

/// Types for which any bytes are a valid value.
///
/// # Safety
/// Any bytes must be a valid value, dropping it must do nothing, and its alignment must be at most 64.
pub unsafe trait Plain {}

// SAFETY: any four bytes are a valid integer.
unsafe impl Plain for UnsafeCell<u32> {}
// SAFETY: the same.
unsafe impl Plain for u32 {}
// SAFETY: any two bytes are a valid integer.
unsafe impl Plain for u16 {}

/// A slice whose values change only through interior mutability.
pub struct Cells<T> {
    storage: Storage,
    length: usize,
    values: PhantomData<T>,
}

// SAFETY: a shared borrow gives nothing but shared borrows of the values.
unsafe impl<T: Sync> Sync for Cells<T> {}

/// The initial content of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Zeros: for values that are read before they are written, in random order. The system clears all pages at once;
    /// otherwise each page would cost two faults, the second with an interrupt of the other processors.
    Zeros,
    /// Zeros, each page of which is cleared when it is first used: for values of which many are perhaps never used.
    LateZeros,
    /// Arbitrary values: for values that are written sequentially before they are read.
    Any,
}

/// The source of the memory.
enum Storage {
    /// Words from the allocator, and the number of words before the first multiple of `ALIGNMENT`.
    Allocated(Box<[UnsafeCell<u64>]>, usize),
    #[cfg(target_os = "linux")]
    Mapped(Pages),
}

impl<T: Plain> Cells<T> {
    pub fn new(length: usize, content: Content) -> Result<Self> {
        Ok(Self { storage: Storage::new(length * size_of::<T>(), content)?, length, values: PhantomData })
    }
}

impl Storage {
    fn new(bytes: usize, content: Content) -> Result<Self> {
        ensure(bytes)?;
        #[cfg(target_os = "linux")]
        if bytes >= LARGE
            && let Some(pages) = Pages::fresh(bytes, content == Content::Zeros)
        {
            return Ok(Self::Mapped(pages));
        }
        #[cfg(not(target_os = "linux"))]
        let _ = content;
        let zeros = Box::into_raw(vec![0_u64; (bytes + ALIGNMENT).div_ceil(8)].into_boxed_slice());
        // SAFETY: a cell has the layout of its content, and the pointer came from a box.
        let words = unsafe { Box::from_raw(zeros as *mut [UnsafeCell<u64>]) };
        let skipped = words.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT / 8);
        Ok(Self::Allocated(words, skipped))
    }

    #[inline(always)]
    fn start(&self) -> *const UnsafeCell<u64> {
        match self {
            Self::Allocated(words, skipped) => words.as_ptr().wrapping_add(*skipped),
            #[cfg(target_os = "linux")]
            Self::Mapped(pages) => pages.start(),
        }
    }
}

impl<T: Plain> Deref for Cells<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the storage holds the bytes of `length` values from its start on. The start is a multiple of 64: a box
        // of words begins at a multiple of 8, and up to 8 words are skipped. Any bytes are valid values. Everything is in
        // cells, so values may change while they are borrowed, as far as `T` allows it.
        unsafe { std::slice::from_raw_parts(self.storage.start().cast::<T>(), self.length) }
    }
}

impl<T: Plain> DerefMut for Cells<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the borrow is as exclusive as that of the storage.
        unsafe { std::slice::from_raw_parts_mut(self.storage.start().cast_mut().cast::<T>(), self.length) }
    }
}

impl<T> Default for Cells<T> {
    /// No cells.
    fn default() -> Self {
        const { assert!(align_of::<T>() <= 8, "an empty box of words begins at a multiple of 8") };
        Self { storage: Storage::Allocated(Box::default(), 0), length: 0, values: PhantomData }
    }
}
