//! Slices for large tables that several threads read and write, and vectors of values that are
//! accessed in no order.
//!
//! Large ones are allocated in large pages where the system offers them: fewer page faults, and
//! fewer TLB misses.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
#[cfg(target_os = "linux")]
use std::sync::Arc;

#[cfg(target_os = "linux")]
use super::pages::{self, Pages};
use super::{filled, missing, try_allocate};
use crate::error::Result;

/// The alignment of slices in bytes.
const ALIGNMENT: usize = 64;

/// Slices of at least this many bytes are in large pages, if only as a part of one.
const MEDIUM: usize = 1 << 15;

/// Types for which any bytes are a valid value.
///
/// # Safety
/// Any bytes must be a valid value, dropping it must do nothing, and its alignment must be at most
/// 64.
pub unsafe trait Plain {}

// SAFETY: any four bytes are a valid integer.
unsafe impl Plain for UnsafeCell<u32> {}
// SAFETY: the same.
unsafe impl Plain for u32 {}
// SAFETY: any eight bytes are a valid integer.
unsafe impl Plain for u64 {}
// SAFETY: any two bytes are a valid integer.
unsafe impl Plain for u16 {}
// SAFETY: any byte is one.
unsafe impl Plain for u8 {}

/// A vector of values, whose slice several threads may share. It never becomes shorter, and the
/// memory behind its values holds zeros.
pub struct Cells<T> {
    /// The start of the storage, so that no access has to match on its kind: 0.95 to 1.0 of the
    /// time of merging.
    start: NonNull<T>,
    length: usize,
    capacity: usize,
    _storage: Option<Storage>,
}

// SAFETY: the memory belongs to this value alone, like that of a box.
unsafe impl<T: Send> Send for Cells<T> {}
// SAFETY: a shared borrow gives only shared borrows of the values.
unsafe impl<T: Sync> Sync for Cells<T> {}

/// The source of the memory.
#[allow(dead_code)] // The fields are only dropped.
enum Storage {
    Allocated(Vec<u64>),
    #[cfg(target_os = "linux")]
    Mapped(Arc<Pages>),
}

impl<T: Plain> Cells<T> {
    /// Returns zeros; each page of them is cleared when it is first used.
    pub fn new(length: usize) -> Result<Self> {
        let bytes = length.checked_mul(size_of::<T>()).ok_or_else(|| missing(usize::MAX))?;
        let (start, storage) = Storage::new(bytes)?;
        Ok(Self { start: start.cast(), length, capacity: length, _storage: Some(storage) })
    }

    /// Returns zeros that are cleared now, for values that are soon accessed in no order and read
    /// before they are written. (Otherwise the first read of a small page would map a page that all
    /// share. The first write would replace it, with an interrupt of the processors of all threads:
    /// a tenth of the time of counting on two threads.)
    pub fn cleared(length: usize) -> Result<Self> {
        let cells = Self::new(length)?;
        #[cfg(target_os = "linux")]
        if size_of_val(&cells[..]) >= MEDIUM {
            pages::clear(cells.start.as_ptr().cast(), size_of_val(&cells[..]));
        }
        Ok(cells)
    }
}

/// The minimum capacity of a vector that grows.
const FEW: usize = 64;

impl<T: Plain + Copy> Cells<T> {
    /// Returns no values, but room for this many. Room that is never used takes addresses, but no
    /// memory.
    pub fn with_capacity(values: usize) -> Result<Self> {
        Ok(Self { length: 0, ..Self::new(values)? })
    }

    /// Makes room for `more` values.
    #[inline(always)]
    pub fn reserve(&mut self, more: usize) -> Result<()> {
        if self.capacity - self.length >= more { Ok(()) } else { self.grow(more) }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) -> Result<()> {
        let capacity = self.length.saturating_add(more).max(2 * self.capacity).max(FEW);
        let mut larger = Self::new(capacity)?;
        larger.length = self.length;
        larger.copy_from_slice(self);
        *self = larger;
        Ok(())
    }

    /// Appends a value.
    #[inline(always)]
    pub fn push(&mut self, value: T) -> Result<()> {
        self.reserve(1)?;
        self.length += 1;
        let last = self.length - 1;
        self[last] = value;
        Ok(())
    }

    /// Appends values.
    pub fn extend(&mut self, values: &[T]) -> Result<()> {
        let start = self.length;
        self.lengthen(start + values.len())?;
        self[start..].copy_from_slice(values);
        Ok(())
    }

    /// Makes the vector at least `length` values long. The new values are zeros.
    pub fn lengthen(&mut self, length: usize) -> Result<()> {
        self.reserve(length.saturating_sub(self.length))?;
        self.length = self.length.max(length);
        Ok(())
    }
}

impl Storage {
    /// Returns memory and its start, a multiple of `ALIGNMENT`.
    fn new(bytes: usize) -> Result<(NonNull<u64>, Self)> {
        #[cfg(target_os = "linux")]
        if bytes >= MEDIUM
            && let Some((start, pages)) = pages::zeros(bytes)
        {
            return Ok((start, Self::Mapped(pages)));
        }
        if bytes >= MEDIUM {
            // Many slices are too small for `ensure`, and together they would use up its spare
            // bytes.
            try_allocate(bytes)?;
        }
        let mut words = filled(0_u64, bytes.saturating_add(ALIGNMENT).div_ceil(8))?;
        let skipped = words.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT / 8);
        // SAFETY: there are more words than are skipped, so the pointer is within them and not
        // null.
        let start = unsafe { NonNull::new_unchecked(words.as_mut_ptr().add(skipped)) };
        Ok((start, Self::Allocated(words)))
    }
}

impl<T: Plain> Deref for Cells<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY:
        // 1. The storage, which moves nothing, holds the bytes of `length` values from the start
        //    on.
        // 2. The start is aligned. It is a multiple of 64: a vector of words begins at a multiple
        //    of 8, and up to 8 words are skipped.
        // 3. Any bytes are valid values.
        // 4. Only this value leads to them. While they are borrowed, they change only as far as `T`
        //    allows it.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl<T: Plain> DerefMut for Cells<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the borrow of this value is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl<T> Default for Cells<T> {
    /// Returns no values.
    fn default() -> Self {
        Self { start: NonNull::dangling(), length: 0, capacity: 0, _storage: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_whose_bytes_cannot_be_counted_are_refused() {
        for length in [usize::MAX, usize::MAX / 8 + 1, usize::MAX / 8, isize::MAX as usize / 8] {
            assert!(Cells::<u64>::new(length).is_err(), "{length}");
        }
    }

    #[test]
    fn cells_grow_like_a_vector_beyond_the_size_of_a_large_page() {
        let mut cells = Cells::<u32>::with_capacity(3).unwrap();
        for value in 0..1 << 20 {
            cells.push(value).unwrap();
        }
        cells.extend(&[7, 8]).unwrap();
        cells.lengthen(1).unwrap();
        assert_eq!(cells.len(), (1 << 20) + 2);
        assert!(cells[..1 << 20].iter().copied().eq(0..1 << 20));
        cells[1] = 9;
        assert_eq!((cells[1], cells[1 << 20..].to_vec()), (9, vec![7, 8]));
        cells.lengthen((1 << 20) + 5).unwrap();
        assert_eq!(cells.len(), (1 << 20) + 5);
    }
}
