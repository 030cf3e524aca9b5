//! Memory for tables and results that are large and written everywhere: zeros that cost nothing until they are used,
//! and large pages, which make the first touch and every later one cheaper.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::Deref;

/// Where slices begin: a multiple of this many bytes.
const ALIGNMENT: usize = 64;
/// The size of a large page; slices of that size or more begin at a multiple of it.
const LARGE: usize = 2 << 20;

/// Types of which zero bytes are a value.
///
/// # Safety
/// All bytes zero must be a value, dropping it must do nothing, and its alignment must be at most 64.
pub unsafe trait Zeroable {}

// SAFETY: zero is an integer.
unsafe impl Zeroable for UnsafeCell<u32> {}

/// A slice of values that are zero at first and change only through interior mutability.
pub struct Zeroed<T> {
    /// Asked for as plain zeros, which the system gives without touching them.
    storage: Box<[UnsafeCell<u64>]>,
    /// How many words of it lie before the first multiple of `ALIGNMENT`.
    skipped: usize,
    length: usize,
    values: PhantomData<T>,
}

impl<T: Zeroable> Zeroed<T> {
    pub fn new(length: usize) -> Self {
        let alignment = if length * size_of::<T>() < LARGE { ALIGNMENT } else { LARGE };
        let words = (length * size_of::<T>()).div_ceil(8) + alignment / 8;
        let zeros = Box::into_raw(vec![0_u64; words].into_boxed_slice());
        // SAFETY: a cell has the layout of its content, and the pointer came from a box.
        let storage = unsafe { Box::from_raw(zeros as *mut [UnsafeCell<u64>]) };
        let skipped = storage.as_ptr().align_offset(alignment).min(alignment / 8);
        if alignment == LARGE {
            ask_for_large_pages(storage[skipped..].as_ptr().cast(), length * size_of::<T>());
        }
        Self { storage, skipped, length, values: PhantomData }
    }
}

impl<T: Zeroable> Deref for Zeroed<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the storage holds `length` values behind the `skipped` words, which end at a multiple of 64 (a box
        // of words begins at a multiple of 8, so 8 words reach one); zeros are values; and as everything in it is in
        // cells, values may change while they are borrowed, as far as `T` allows it.
        unsafe {
            std::slice::from_raw_parts(self.storage.as_ptr().add(self.skipped).cast::<T>(), self.length)
        }
    }
}

/// Make room for so many values more, if the system has it. (If not, room is made as it is needed.)
pub fn reserve<T>(values: &mut Vec<T>, more: usize) {
    if values.try_reserve(more).is_ok() && more * size_of::<T>() >= 2 * LARGE {
        ask_for_large_pages(values.as_ptr().cast(), values.capacity() * size_of::<T>());
    }
}

/// Ask the system to map this memory in large pages. It may do so or not.
fn ask_for_large_pages(start: *const u8, bytes: usize) {
    #[cfg(target_os = "linux")]
    {
        let skipped = start.align_offset(LARGE).min(bytes);
        // SAFETY: the advice concerns pages of memory that the caller owns, and changes nothing of what they hold.
        unsafe {
            libc::madvise(start.wrapping_add(skipped).cast_mut().cast(), bytes - skipped, libc::MADV_HUGEPAGE)
        };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, bytes);
}
