//! Memory mapped directly from the system, in large pages. (Memory that the allocator reuses
//! already has small pages.)
//!
//! Half the page faults of merging, or fewer, and 0.9 of its time for many languages, 0.93 to 1.0
//! for English and code (docs/performance/merging.md). Where the system takes long to clear a large
//! page, small ones are faster: see [`SLOW`].

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// The size of a large page.
pub const LARGE: usize = 2 << 20;

/// The size of a small page, on most systems.
const SMALL: usize = 1 << 12;

/// The maximum number of bytes that are cleared before it is known that they are used.
pub const MOST_CLEARED: usize = 16 << 20;

/// If clearing a large page takes longer than this, small pages are faster.
const SLOW: Duration = Duration::from_micros(700);

/// The number of mappings for smaller arrays that are left to the allocator, which uses memory
/// again, after a slow large page. Then the next mapping is tried: the page may have been one of
/// few (a machine that was just started has slow and quick ones), or another process was at work
/// meanwhile.
const SPARED: usize = 64;

static SPEED: PageSpeed = PageSpeed(AtomicUsize::new(0));

/// How fast the last large page was: the number of mappings to leave to the allocator.
struct PageSpeed(AtomicUsize);

impl PageSpeed {
    /// Notes how long a large page took. Returns whether it was slow.
    fn was_slow(&self, elapsed: Duration) -> bool {
        let is_slow = elapsed > SLOW;
        self.0.store(if is_slow { SPARED } else { 0 }, Ordering::Relaxed);
        is_slow
    }

    /// Whether the next mapping should be tried. If not, the number of mappings to leave falls by
    /// one.
    fn is_promising(&self) -> bool {
        let subtract = |spared: usize| spared.checked_sub(1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, subtract).is_err()
    }
}

/// The mapping of one large page that parts are cut from, as long as one of them lives, and how
/// many of its bytes are used.
static SHARING: Mutex<(Weak<Pages>, usize)> = Mutex::new((Weak::new(), 0));

/// A mapping that starts at a multiple of `LARGE`.
pub struct Pages {
    start: NonNull<u64>,
    bytes: usize,
    /// The start of the mapping, which is `LARGE` bytes longer than the part that is used.
    all: NonNull<libc::c_void>,
}

// SAFETY: a mapping belongs to no thread, and this value gives only its address.
unsafe impl Send for Pages {}
// SAFETY: the same.
unsafe impl Sync for Pages {}

/// Returns memory of this many bytes: it holds zeros, begins at a multiple of 64, and nobody else
/// uses it. Less than a large page is cut from a mapping that several arrays share. `None` if there
/// is no mapping, or another thread has the lock (perhaps since a fork).
pub fn zeros(bytes: usize) -> Option<(NonNull<u64>, Arc<Pages>)> {
    if bytes >= LARGE {
        let pages = Pages::fresh(bytes)?;
        return Some((pages.start, Arc::new(pages)));
    }
    let mut sharing = SHARING.try_lock().ok()?;
    let (pages, used) = match sharing.0.upgrade() {
        Some(pages) if sharing.1 + bytes <= pages.bytes => (pages, sharing.1),
        _ if !SPEED.is_promising() => return None,
        _ => (Arc::new(Pages::fresh(LARGE)?), 0),
    };
    *sharing = (Arc::downgrade(&pages), used + bytes.next_multiple_of(64));
    // SAFETY: the mapping has `bytes` more bytes after those that are used.
    Some((unsafe { pages.start.byte_add(used) }, pages))
}

impl Pages {
    /// Maps new pages, if the system can provide them and the spare bytes. Each page is cleared
    /// when it is first used.
    fn fresh(bytes: usize) -> Option<Self> {
        super::try_allocate(bytes).ok()?;
        // The last page is a large one if half of it is used.
        let bytes = if bytes % LARGE < LARGE / 2 {
            bytes
        } else {
            bytes.checked_next_multiple_of(LARGE)?
        };
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // One large page more, so that the start can be moved to a multiple of `LARGE`.
        let mapped = bytes.checked_add(LARGE)?;
        // SAFETY: new private memory at an address of the system's choice affects no other memory.
        let all = unsafe { libc::mmap(std::ptr::null_mut(), mapped, access, kind, -1, 0) };
        if all == libc::MAP_FAILED {
            return None;
        }
        let start = all.wrapping_byte_add(all.align_offset(LARGE).min(LARGE));
        let pages = Self { start: NonNull::new(start.cast())?, bytes, all: NonNull::new(all)? };
        ask_for_large_pages(start.cast(), bytes);
        Some(pages)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: this is exactly what was mapped, and nothing borrows from a value that is
        // dropped.
        unsafe { libc::munmap(self.all.as_ptr(), self.bytes + LARGE) };
    }
}

/// Advises the system to use large pages for this memory, and to clear the first one now. If it is
/// slow, and the next one, too, the rest uses small pages: in a virtual machine, the host may have
/// reclaimed free memory, and large pages are then the most expensive to find. A single page may be
/// late because the thread had to wait for a processor.
pub fn ask_for_large_pages(start: *const u8, bytes: usize) {
    let mut cleared = start.align_offset(LARGE).min(bytes);
    advise(start, cleared..bytes, libc::MADV_HUGEPAGE);
    for _ in 0..2 {
        let page = cleared..bytes.min(cleared + LARGE);
        if page.is_empty() {
            break;
        }
        cleared = page.end;
        let began = Instant::now();
        advise(start, page, libc::MADV_POPULATE_WRITE);
        if !SPEED.was_slow(began.elapsed()) {
            return;
        }
    }
    advise(start, cleared..bytes, libc::MADV_NOHUGEPAGE);
}

/// Clears the first `used` bytes of memory, which will be used: thousands of page faults, one by
/// one, take longer.
pub fn clear_now(start: *const u8, bytes: usize, used: usize) {
    if start.align_offset(LARGE) < used && SPEED.is_promising() {
        ask_for_large_pages(start, bytes);
    }
    clear(start, used);
}

/// Clears this many bytes of memory now.
pub fn clear(start: *const u8, bytes: usize) {
    advise(start, start.align_offset(SMALL).min(bytes)..bytes, libc::MADV_POPULATE_WRITE);
}

/// Lets the system take these pages when it needs memory; their content is no longer needed.
#[cfg(any(test, feature = "python"))]
pub fn allow_reclaiming(start: *const u8, bytes: usize) {
    let first = start.align_offset(SMALL).min(bytes);
    let whole_pages = (bytes - first) / SMALL * SMALL;
    advise(start, first..first + whole_pages, libc::MADV_FREE);
}

/// Gives the system an advice about a range of bytes from `start` on. It may ignore it.
fn advise(start: *const u8, bytes: Range<usize>, advice: i32) {
    let start = start.wrapping_add(bytes.start).cast_mut().cast();
    // SAFETY: the advice concerns memory that the caller owns, and does not change its content.
    unsafe { libc::madvise(start, bytes.len(), advice) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_zeros_and_do_not_overlap() {
        let mut parts = Vec::new();
        for nth in 0..100 {
            // There is none while another test cuts one.
            let Some((start, pages)) = zeros(1 << 17) else { continue };
            assert_eq!(start.align_offset(64), 0);
            // SAFETY: these words belong to the part, which nothing else uses.
            let words = unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), (1 << 17) / 8) };
            assert!(words.iter().all(|&word| word == 0));
            words.fill(nth);
            parts.push((nth, words, pages));
        }
        assert!(parts.iter().all(|(nth, words, _)| words.iter().all(|word| word == nth)));
    }

    #[test]
    fn a_slow_page_spares_some_mappings_and_not_all_later_ones() {
        let (speed, quick) = (PageSpeed(AtomicUsize::new(0)), SLOW / 2);
        assert!(speed.is_promising() && !speed.was_slow(quick) && speed.is_promising());
        assert!(speed.was_slow(SLOW * 2));
        assert_eq!((0..2 * SPARED).filter(|_| speed.is_promising()).count(), SPARED);
        assert!(speed.was_slow(SLOW * 2) && !speed.was_slow(quick) && speed.is_promising());
    }

    #[test]
    fn pages_begin_at_a_multiple_of_their_size_and_hold_zeros() {
        let (start, _pages) = zeros(2 * LARGE + 4096).unwrap();
        assert_eq!(start.align_offset(LARGE), 0);
        // SAFETY: these words belong to the pages, and nothing writes to them.
        let words = unsafe { std::slice::from_raw_parts(start.as_ptr(), (2 * LARGE + 4096) / 8) };
        assert!(words.iter().all(|&word| word == 0));
    }
}
