//! Slices for large tables that many threads read and write, in large pages, which make the first touch and every later
//! one cheaper.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::Deref;

use super::ensure;
#[cfg(target_os = "linux")]
use super::pages::{LARGE, Pages};
use crate::error::Result;

/// Where slices begin: a multiple of this many bytes.
const ALIGNMENT: usize = 64;

/// Types of which all bytes are a value.
///
/// # Safety
/// Any bytes must be a value, dropping it must do nothing, and its alignment must be at most 64.
pub unsafe trait Plain {}

// SAFETY: any four bytes are an integer.
unsafe impl Plain for UnsafeCell<u32> {}

/// A slice of values that change only through interior mutability.
pub struct Cells<T> {
    storage: Storage,
    length: usize,
    values: PhantomData<T>,
}

/// What cells hold at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Zeros: for values that are read before they are written, in no order. The system clears all pages at once;
    /// otherwise each would cost two faults, and the second one an interrupt of the other processors.
    Zeros,
    /// Any values: for those that are written one after the other before they are read.
    Any,
}

/// Where the memory comes from.
enum Storage {
    /// Words of the allocator's, and how many of them lie before the first multiple of `ALIGNMENT`.
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
        // SAFETY: the storage holds the bytes of `length` values from its start on, which is a multiple of 64 (a box
        // of words begins at a multiple of 8, so 8 words reach one); any bytes are values; and as everything in it is in
        // cells, values may change while they are borrowed, as far as `T` allows it.
        unsafe { std::slice::from_raw_parts(self.storage.start().cast::<T>(), self.length) }
    }
}
