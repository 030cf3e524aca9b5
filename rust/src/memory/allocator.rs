//! The allocator of the engine: the one of the C library, but large memory begins with a large page.
//!
//! Otherwise the allocator's own note before the memory lies in the first page, which makes that one and all others within
//! the next two megabytes small ones.

use std::alloc::{GlobalAlloc, Layout, System};

use super::pages::LARGE;

/// The smallest memory that begins with a large page: half of one would perhaps stay unused.
pub const MIN_BYTES: usize = LARGE + LARGE / 2;

/// The alignment of whatever the C library allocates.
const ALIGNMENT: usize = 2 * size_of::<usize>();

struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

// SAFETY: what has no special alignment is allocated, moved and freed by functions of the C library that belong together,
// `memalign` among them, whose memory has the alignment of `malloc` at least; the rest by the standard library.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller vouches for the layout, which is not empty.
        unsafe {
            if layout.align() > ALIGNMENT {
                System.alloc(layout)
            } else if layout.size() >= MIN_BYTES {
                libc::memalign(LARGE, layout.size()).cast()
            } else {
                libc::malloc(layout.size()).cast()
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the same.
        unsafe {
            if layout.align() > ALIGNMENT {
                System.alloc_zeroed(layout)
            } else {
                libc::calloc(layout.size(), 1).cast()
            }
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller vouches for memory of this allocator with this layout, so it came from the same functions.
        unsafe {
            if layout.align() > ALIGNMENT {
                System.realloc(memory, layout, size)
            } else {
                libc::realloc(memory.cast(), size).cast()
            }
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the same.
        unsafe {
            if layout.align() > ALIGNMENT {
                System.dealloc(memory, layout);
            } else {
                libc::free(memory.cast());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_memory_begins_with_a_large_page() {
        for bytes in [MIN_BYTES, 3 * LARGE + 1] {
            let memory = Vec::<u8>::with_capacity(bytes);
            assert_eq!(memory.as_ptr().align_offset(LARGE), 0);
        }
    }

    #[test]
    fn memory_that_is_moved_keeps_its_content() {
        let mut numbers: Vec<u64> = (0..1000).collect();
        for room in [MIN_BYTES, 2 * MIN_BYTES, 1001, MIN_BYTES] {
            numbers.shrink_to(room);
            numbers.reserve_exact(room);
            assert!((0..1000).eq(numbers.iter().copied()));
        }
        assert!(vec![0_u64; MIN_BYTES].iter().all(|&number| number == 0));
    }

    #[test]
    fn special_alignments_are_kept() {
        #[repr(align(128))]
        struct Aligned {
            _bytes: [u8; 2 * LARGE],
        }
        let layout = Layout::new::<Aligned>();
        // SAFETY: the layout is not empty, and what is allocated with it is freed with it.
        unsafe {
            for memory in [ALLOCATOR.alloc(layout), ALLOCATOR.alloc_zeroed(layout)] {
                assert_eq!(memory.align_offset(128), 0);
                let larger = ALLOCATOR.realloc(memory, layout, 2 * layout.size());
                assert_eq!(larger.align_offset(128), 0);
                ALLOCATOR.dealloc(larger, Layout::from_size_align_unchecked(2 * layout.size(), 128));
            }
        }
    }
}
