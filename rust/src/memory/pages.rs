//! Pages of the system's own for what is large, because what an allocator gives again has small pages already.

use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

/// The size of a large page.
pub const LARGE: usize = 2 << 20;

/// Small pages take longer than this to clear as much as a large one.
const SLOW: Duration = Duration::from_micros(700);

/// Memory that begins at a multiple of `LARGE` and belongs to this value alone.
pub struct Pages {
    start: NonNull<UnsafeCell<u64>>,
    bytes: usize,
    /// All that was mapped, which is `LARGE` more than what is used.
    all: NonNull<libc::c_void>,
}

// SAFETY: the pages belong to this value alone, as a box's would.
unsafe impl Send for Pages {}

impl Pages {
    /// Fresh ones, if the system has them: all cleared at once if they are to hold zeros at first, else as they are used.
    pub fn fresh(bytes: usize, zeros: bool) -> Option<Self> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new private memory at a place of the system's choice touches nobody's.
        let all = unsafe { libc::mmap(std::ptr::null_mut(), bytes.checked_add(LARGE)?, access, kind, -1, 0) };
        if all == libc::MAP_FAILED {
            return None;
        }
        let start = all.wrapping_byte_add(all.align_offset(LARGE).min(LARGE));
        let (all, start) = (NonNull::new(all)?, NonNull::new(start.cast())?);
        let pages = Self { start, bytes, all };
        let cleared = if zeros { bytes } else { LARGE.min(bytes) };
        ask_for_large_pages(start.as_ptr().cast(), bytes, cleared);
        Some(pages)
    }

    /// Where they begin.
    pub fn start(&self) -> *const UnsafeCell<u64> {
        self.start.as_ptr()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: this is what was mapped, and nobody borrows from a value that is dropped.
        unsafe { libc::munmap(self.all.as_ptr(), self.bytes + LARGE) };
    }
}

/// Ask the system to map this memory in large pages, and have it clear the first bytes now. (It may do so or not.) Where
/// a large page is slow to come, the following ones are small: in a virtual machine the host may have taken back what
/// was free, and to find it again costs most for large pages.
pub fn ask_for_large_pages(start: *const u8, bytes: usize, cleared: usize) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_begin_at_a_multiple_of_their_size_and_hold_zeros() {
        for zeros in [true, false] {
            let pages = Pages::fresh(2 * LARGE + 4096, zeros).unwrap();
            assert_eq!(pages.start().align_offset(LARGE), 0);
            // SAFETY: these words belong to the pages, and nobody writes to them.
            let words =
                unsafe { std::slice::from_raw_parts(pages.start().cast::<u64>(), (2 * LARGE + 4096) / 8) };
            assert!(words.iter().all(|&word| word == 0));
        }
    }
}
