//! Pages of the system's own for what is large: fresh ones, because what an allocator gives again has small pages
//! already; or those of a table that nobody has any more.
//!
//! Fresh pages are what a new table costs besides the work, and at times far more than the work, in virtual machines
//! whose host has to find them. So the pages of one table of each size are kept for the next one. The system may take
//! them back whenever it needs memory, and they are given back before a call fails for want of it.

use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The size of a large page.
pub const LARGE: usize = 2 << 20;

/// Small pages take longer than this to clear as much as a large one.
const SLOW: Duration = Duration::from_micros(700);

/// Memory that begins at a multiple of `LARGE` and belongs to this value alone.
pub struct Pages {
    start: NonNull<UnsafeCell<u64>>,
    bytes: usize,
    /// Whether they are to hold zeros at first, and are all cleared at once; otherwise they come as they are used.
    zeros: bool,
    /// Whether another table has taken the place of theirs already.
    spent: AtomicBool,
    /// All that was mapped, which is `LARGE` more than what is used.
    all: NonNull<libc::c_void>,
}

// SAFETY: the pages belong to this value alone, as a box's would.
unsafe impl Send for Pages {}

impl Pages {
    /// Fresh ones, if the system has them.
    pub fn fresh(bytes: usize, zeros: bool) -> Option<Self> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new private memory at a place of the system's choice touches nobody's.
        let all = unsafe { libc::mmap(std::ptr::null_mut(), bytes.checked_add(LARGE)?, access, kind, -1, 0) };
        if all == libc::MAP_FAILED {
            return None;
        }
        let start = all.wrapping_byte_add(all.align_offset(LARGE).min(LARGE));
        let (all, start) = (NonNull::new(all)?, NonNull::new(start.cast())?);
        let pages = Self { start, bytes, zeros, spent: AtomicBool::new(false), all };
        let cleared = if zeros { bytes } else { LARGE.min(bytes) };
        ask_for_large_pages(start.as_ptr().cast(), bytes, cleared);
        Some(pages)
    }

    /// Whether there are kept ones for this.
    pub fn are_kept(bytes: usize, zeros: bool) -> bool {
        KEPT.has(bytes, zeros)
    }

    /// Kept ones, if there are any for this.
    pub fn kept(bytes: usize, zeros: bool) -> Option<Self> {
        KEPT.take(bytes, zeros)
    }

    /// Keep them for the next table, if there are none for it so far.
    pub fn keep(self) {
        if !self.spent.load(Ordering::Relaxed) {
            KEPT.keep(self);
        }
    }

    /// Do not keep them.
    pub fn spend(&self) {
        self.spent.store(true, Ordering::Relaxed);
    }

    /// Where they begin.
    pub fn start(&self) -> *const UnsafeCell<u64> {
        self.start.as_ptr()
    }

    fn serve(&self, bytes: usize, zeros: bool) -> bool {
        (self.bytes, self.zeros) == (bytes, zeros)
    }

    /// Write zeros everywhere.
    fn clear(&mut self) {
        // SAFETY: these bytes belong to this value, which is borrowed by nobody else, and zero is an integer.
        unsafe { self.start.cast::<u8>().write_bytes(0, self.bytes) };
    }

    /// Let the system take back what it needs: until something is written again, a page may turn to zeros.
    fn lend(&mut self) {
        // SAFETY: these pages belong to this value, of which nobody expects that it holds anything.
        unsafe { libc::madvise(self.start.as_ptr().cast(), self.bytes, libc::MADV_FREE) };
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

/// What is kept: of each size one that was cleared at first and one that was not. Tables have few sizes, so this
/// is bounded. Nobody waits for it: a lock that is taken (or was, when this process was forked) means doing without.
struct Shelf(Mutex<Vec<Pages>>);

static KEPT: Shelf = Shelf(Mutex::new(Vec::new()));

/// Give back to the system all that is kept.
pub fn give_back() {
    KEPT.give_back();
}

impl Shelf {
    fn has(&self, bytes: usize, zeros: bool) -> bool {
        self.0.try_lock().is_ok_and(|kept| kept.iter().any(|pages| pages.serve(bytes, zeros)))
    }

    fn take(&self, bytes: usize, zeros: bool) -> Option<Pages> {
        let mut kept = self.0.try_lock().ok()?;
        let place = kept.iter().position(|pages| pages.serve(bytes, zeros))?;
        let mut pages = kept.swap_remove(place);
        drop(kept);
        if zeros {
            pages.clear();
        }
        Some(pages)
    }

    fn keep(&self, mut pages: Pages) {
        if let Ok(mut kept) = self.0.try_lock()
            && !kept.iter().any(|other| other.serve(pages.bytes, pages.zeros))
        {
            pages.lend();
            kept.push(pages);
        }
    }

    fn give_back(&self) {
        if let Ok(mut kept) = self.0.try_lock() {
            kept.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Pages {
        /// All that they hold. (Nobody else writes into them while it is looked at.)
        fn words(&mut self) -> &mut [u64] {
            // SAFETY: these words belong to this value, which is borrowed for as long as they are.
            unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.bytes / 8) }
        }
    }

    fn written(bytes: usize, zeros: bool) -> Pages {
        let mut pages = Pages::fresh(bytes, zeros).unwrap();
        pages.words().fill(u64::MAX);
        pages
    }

    #[test]
    fn the_pages_of_one_table_of_each_size_are_kept_for_the_next_one() {
        let shelf = Shelf(Mutex::new(Vec::new()));
        let pages = written(2 * LARGE, true);
        let start = pages.start();
        shelf.keep(pages);
        shelf.keep(written(2 * LARGE, true));
        assert!(shelf.take(LARGE, true).is_none(), "another size");
        assert!(shelf.take(2 * LARGE, false).is_none(), "those of the other kind");
        assert!(shelf.has(2 * LARGE, true) && !shelf.has(2 * LARGE, false) && !shelf.has(LARGE, true));
        let mut again = shelf.take(2 * LARGE, true).unwrap();
        assert_eq!(again.start(), start, "the first ones");
        assert!(again.words().iter().all(|&word| word == 0), "cleared");
        assert!(shelf.take(2 * LARGE, true).is_none(), "no others");
        assert!(!shelf.has(2 * LARGE, true));
        for zeros in [true, false] {
            shelf.keep(written(LARGE, zeros));
            shelf.keep(written(3 * LARGE, zeros));
        }
        assert_eq!(shelf.0.lock().unwrap().len(), 4);
        assert!(shelf.take(LARGE, false).is_some());
        shelf.give_back();
        assert!(shelf.0.lock().unwrap().is_empty());
    }

    #[test]
    fn a_lock_that_is_taken_means_doing_without() {
        let shelf = Shelf(Mutex::new(Vec::new()));
        let taken = shelf.0.lock().unwrap();
        shelf.keep(written(LARGE, true));
        assert!(shelf.take(LARGE, true).is_none());
        assert!(!shelf.has(LARGE, true));
        shelf.give_back();
        drop(taken);
        assert!(shelf.take(LARGE, true).is_none());
    }
}
