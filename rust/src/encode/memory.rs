//! Memory for tables and results that are large and written everywhere: zeros that cost nothing until they are used,
//! and large pages, which make the first touch and every later one cheaper.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::Deref;
#[cfg(target_os = "linux")]
use std::ptr::NonNull;

use crate::error::Result;
use crate::memory;

/// Where slices begin: a multiple of this many bytes.
const ALIGNMENT: usize = 64;
/// The size of a large page; slices of that size or more begin at a multiple of it where the system has such pages.
const LARGE: usize = 2 << 20;

/// Larger slices get small pages.
#[cfg(target_os = "linux")]
const MOST_IN_LARGE_PAGES: usize = 16 << 20;

/// Types of which zero bytes are a value.
///
/// # Safety
/// All bytes zero must be a value, dropping it must do nothing, and its alignment must be at most 64.
pub unsafe trait Zeroable {}

// SAFETY: zero is an integer.
unsafe impl Zeroable for UnsafeCell<u32> {}

/// A slice of values that are zero at first and change only through interior mutability.
pub struct Zeroed<T> {
    storage: Storage,
    length: usize,
    values: PhantomData<T>,
}

/// Where zeros come from. Nothing in them is touched before it is used.
enum Storage {
    /// Words of the allocator's, and how many of them lie before the first multiple of `ALIGNMENT`.
    Allocated(Box<[UnsafeCell<u64>]>, usize),
    #[cfg(target_os = "linux")]
    Mapped(Mapping),
}

impl<T: Zeroable> Zeroed<T> {
    pub fn new(length: usize) -> Result<Self> {
        Ok(Self { storage: Storage::new(length * size_of::<T>())?, length, values: PhantomData })
    }

    /// Have the system clear all of it now. Where values are read before they are written, in no order, every page
    /// would cost two faults, and the second one an interrupt of the other processors.
    pub fn touch(&self) {
        #[cfg(target_os = "linux")]
        if let Storage::Mapped(mapping) = &self.storage {
            let (start, bytes) = (mapping.start.as_ptr(), self.length * size_of::<T>());
            // SAFETY: the pages belong to this value and keep what they hold. A system that cannot do it refuses.
            unsafe { libc::madvise(start.cast(), bytes, libc::MADV_POPULATE_WRITE) };
        }
    }
}

impl Storage {
    fn new(bytes: usize) -> Result<Self> {
        memory::ensure(bytes)?;
        #[cfg(target_os = "linux")]
        if bytes >= LARGE
            && let Some(mapping) = Mapping::new(bytes)
        {
            return Ok(Self::Mapped(mapping));
        }
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
            Self::Mapped(mapping) => mapping.start.as_ptr(),
        }
    }
}

impl<T: Zeroable> Deref for Zeroed<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the storage holds the bytes of `length` values from its start on, which is a multiple of 64 (a box
        // of words begins at a multiple of 8, so 8 words reach one); zeros are values; and as everything in it is in
        // cells, values may change while they are borrowed, as far as `T` allows it.
        unsafe { std::slice::from_raw_parts(self.storage.start().cast::<T>(), self.length) }
    }
}

/// Pages of the system's own, fresh ones each time: what an allocator gives again has small pages already.
#[cfg(target_os = "linux")]
struct Mapping {
    /// The first multiple of `LARGE`.
    start: NonNull<UnsafeCell<u64>>,
    /// All that was mapped.
    all: NonNull<libc::c_void>,
    bytes: usize,
}

// SAFETY: the pages belong to this value alone, as a box's would.
#[cfg(target_os = "linux")]
unsafe impl Send for Mapping {}

#[cfg(target_os = "linux")]
impl Mapping {
    fn new(wanted: usize) -> Option<Self> {
        let bytes = wanted.checked_add(LARGE)?;
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new private memory at a place of the system's choice touches nobody's.
        let all = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
        if all == libc::MAP_FAILED {
            return None;
        }
        let start = all.wrapping_byte_add(all.align_offset(LARGE).min(LARGE));
        // The largest are filled in no order and over a long time: a large page would be cleared for each of the first
        // few values, and in virtual machines fresh ones are dear.
        if wanted <= MOST_IN_LARGE_PAGES {
            ask_for_large_pages(start.cast(), wanted);
        }
        Some(Self { start: NonNull::new(start.cast())?, all: NonNull::new(all)?, bytes })
    }
}

#[cfg(target_os = "linux")]
impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is what was mapped, and nobody borrows from a value that is dropped.
        unsafe { libc::munmap(self.all.as_ptr(), self.bytes) };
    }
}

/// Make room for so many values more, if the system has it. (If not, room is made as it is needed.)
pub fn expect<T>(values: &mut Vec<T>, more: usize) {
    if memory::reserve(values, more).is_ok() && more * size_of::<T>() >= 2 * LARGE {
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
