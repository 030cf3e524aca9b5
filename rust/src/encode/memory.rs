//! Memory for tables and results that are large and written everywhere: zeros that cost nothing until they are used,
//! and large pages, which make the first touch and every later one cheaper.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::Deref;
#[cfg(target_os = "linux")]
use std::ptr::NonNull;
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::memory;

/// Where slices begin: a multiple of this many bytes.
const ALIGNMENT: usize = 64;
/// The size of a large page; slices of that size or more begin at a multiple of it where the system has such pages.
const LARGE: usize = 2 << 20;

/// Small pages take longer than this to clear as much as a large one.
#[cfg(target_os = "linux")]
const SLOW: Duration = Duration::from_micros(700);

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

/// Where zeros come from.
enum Storage {
    /// Words of the allocator's, and how many of them lie before the first multiple of `ALIGNMENT`.
    Allocated(Box<[UnsafeCell<u64>]>, usize),
    #[cfg(target_os = "linux")]
    Mapped(Mapping),
}

impl<T: Zeroable> Zeroed<T> {
    /// Values that will be used one after the other.
    pub fn new(length: usize) -> Result<Self> {
        Ok(Self { storage: Storage::new(length * size_of::<T>(), LARGE)?, length, values: PhantomData })
    }

    /// Values that will be read before they are written, in no order: the system clears them all now. Otherwise every
    /// page would cost two faults, and the second one an interrupt of the other processors.
    pub fn cleared(length: usize) -> Result<Self> {
        let bytes = length * size_of::<T>();
        Ok(Self { storage: Storage::new(bytes, bytes)?, length, values: PhantomData })
    }
}

impl Storage {
    /// So many bytes, the first `cleared` of which the system clears now, where it can.
    fn new(bytes: usize, cleared: usize) -> Result<Self> {
        memory::ensure(bytes)?;
        #[cfg(target_os = "linux")]
        if bytes >= LARGE
            && let Some(mapping) = Mapping::new(bytes)
        {
            ask_for_large_pages(mapping.start.as_ptr().cast(), bytes, cleared);
            return Ok(Self::Mapped(mapping));
        }
        #[cfg(not(target_os = "linux"))]
        let _ = cleared;
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
        ask_for_large_pages(values.as_ptr().cast(), values.capacity() * size_of::<T>(), 0);
    }
}

/// Ask the system to map this memory in large pages, and have it clear the first bytes now. (It may do so or not.) Where
/// a large page is slow to come, the following ones are small: in a virtual machine the host may have taken back what
/// was free, and to find it again costs most for large pages.
fn ask_for_large_pages(start: *const u8, bytes: usize, cleared: usize) {
    #[cfg(target_os = "linux")]
    {
        let first = start.align_offset(LARGE).min(bytes);
        let advise = |from: usize, to: usize, advice| {
            let start = start.wrapping_add(from).cast_mut().cast();
            // SAFETY: the advice concerns pages of memory that the caller owns, and changes nothing of what they hold.
            unsafe { libc::madvise(start, to - from, advice) };
        };
        advise(first, bytes, libc::MADV_HUGEPAGE);
        let end = bytes.min(first + cleared);
        for from in (first..end).step_by(LARGE) {
            let (began, to) = (Instant::now(), end.min(from + LARGE));
            advise(from, to, libc::MADV_POPULATE_WRITE);
            if began.elapsed() > SLOW {
                advise(to, bytes, libc::MADV_NOHUGEPAGE);
                advise(to, end, libc::MADV_POPULATE_WRITE);
                break;
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, bytes, cleared);
}
