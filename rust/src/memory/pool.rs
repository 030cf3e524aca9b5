//! A pool that keeps the memory of the last large result for the next one.
//!
//! A large result is written once, so page faults are a large part of its cost. Encoding 42 MB of English again and again
//! into 58 MB of ids takes 0.10 s of processor time on one thread. Without the pool it takes 0.12 s and 15,058 faults where
//! the system gives small pages, and 3 ms more where it gives large ones.
//!
//! The pool holds at most one vector per type, and [`MAX_BYTES`] in all. The system may reclaim pooled pages when it needs
//! memory, and the pool is cleared before a call fails for lack of memory.

use std::ops::{Deref, DerefMut};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The minimum size of a pooled vector in bytes: the allocator itself reuses smaller memory.
const MIN_BYTES: usize = 32 << 20;
/// The maximum size of all pooled vectors in bytes.
const MAX_BYTES: usize = 64 << 20;

/// The number of pooled bytes.
static POOLED: AtomicUsize = AtomicUsize::new(0);

/// The spare capacity that a large result keeps, so that it can be reused for one of the same size. (Encoding reserves
/// one id per byte for each batch of pretokens.) The spare pages are never touched.
const SPARE_IDS: usize = 1 << 16;

/// The number types of large results.
pub trait Poolable: Sized + 'static {
    fn pool() -> &'static Pool<Self>;
}

impl Poolable for u32 {
    fn pool() -> &'static Pool<Self> {
        static POOL: Pool<u32> = Pool(Mutex::new(Vec::new()));
        &POOL
    }
}

impl Poolable for u16 {
    fn pool() -> &'static Pool<Self> {
        static POOL: Pool<u16> = Pool(Mutex::new(Vec::new()));
        &POOL
    }
}

impl Poolable for u8 {
    fn pool() -> &'static Pool<Self> {
        static POOL: Pool<u8> = Pool(Mutex::new(Vec::new()));
        &POOL
    }
}

/// Return all pooled memory to the system.
pub fn clear() {
    u8::pool().take(|_| true);
    u32::pool().take(|_| true);
    u16::pool().take(|_| true);
}

/// An empty vector for the ids of a text of this size, with pooled memory if that has about the right capacity.
pub fn vec_for_text<T: Poolable>(bytes: usize) -> Vec<T> {
    T::pool().take(|values| (bytes / 8..=bytes).contains(&values))
}

/// An empty vector, with pooled memory if its capacity is 1 to 8 times `values`.
#[cfg(feature = "python")]
pub fn vec_with_room<T: Poolable>(values: usize) -> Vec<T> {
    T::pool().take(|pooled| (values..=values.saturating_mul(8)).contains(&pooled))
}

/// Shrink the capacity, except for the spare ids of a result that will be pooled.
pub fn trim<T: Poolable>(values: &mut Vec<T>) {
    let spare = if is_poolable(values.len() * size_of::<T>()) { SPARE_IDS } else { 0 };
    values.shrink_to(values.len() + spare);
}

/// Whether a vector of this size is pooled. Only on Linux, which can reclaim pooled pages.
fn is_poolable(bytes: usize) -> bool {
    cfg!(target_os = "linux") && (MIN_BYTES..=MAX_BYTES).contains(&bytes)
}

/// A result whose memory goes to the pool when it is dropped.
#[derive(Debug, Default)]
pub struct Pooled<T: Poolable>(Vec<T>);

impl<T: Poolable> From<Vec<T>> for Pooled<T> {
    fn from(values: Vec<T>) -> Self {
        Self(values)
    }
}

impl<T: Poolable> Deref for Pooled<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: Poolable> DerefMut for Pooled<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T: Poolable> Drop for Pooled<T> {
    fn drop(&mut self) {
        T::pool().put(std::mem::take(&mut self.0));
    }
}

/// An empty vector with its capacity. If the lock is taken (perhaps since a fork), the pool is simply not used.
pub struct Pool<T>(Mutex<Vec<T>>);

impl<T> Pool<T> {
    /// The pooled vector, if its capacity is acceptable; otherwise a new one.
    fn take(&self, accepts: impl Fn(usize) -> bool) -> Vec<T> {
        let Ok(mut pooled) = self.0.try_lock() else { return Vec::new() };
        if !accepts(pooled.capacity()) {
            return Vec::new();
        }
        POOLED.fetch_sub(pooled.capacity() * size_of::<T>(), Ordering::Relaxed);
        std::mem::take(&mut *pooled)
    }

    /// Pool the memory of these values, if the pooled vector is smaller and the limit allows it.
    fn put(&self, mut values: Vec<T>) {
        if !is_poolable(values.capacity() * size_of::<T>()) {
            return;
        }
        values.clear();
        if let Ok(mut pooled) = self.0.try_lock()
            && pooled.capacity() < values.capacity()
            && reserve((values.capacity() - pooled.capacity()) * size_of::<T>())
        {
            mark_reclaimable(&mut values);
            std::mem::swap(&mut *pooled, &mut values);
        }
    }
}

/// Reserve `more` bytes of the limit; `false` if they would exceed it.
fn reserve(more: usize) -> bool {
    let total = |pooled: usize| Some(pooled + more).filter(|&total| total <= MAX_BYTES);
    POOLED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, total).is_ok()
}

/// Allow the system to reclaim the pages of an empty vector when it needs memory.
fn mark_reclaimable<T>(values: &mut Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        /// A multiple of the page size of every machine.
        const PAGE: usize = 1 << 16;
        let spare = values.spare_capacity_mut();
        let skipped = spare.as_ptr().align_offset(PAGE).min(spare.len());
        let start = spare[skipped..].as_mut_ptr();
        let whole_pages = size_of_val(&spare[skipped..]) / PAGE * PAGE;
        // SAFETY: these pages are spare capacity of a vector, whose content nobody relies on.
        unsafe { libc::madvise(start.cast(), whole_pages, libc::MADV_FREE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = values;
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// A number of 8-byte values that is poolable, and so is half of it.
    const LARGE: usize = MAX_BYTES / 8;

    #[test]
    fn the_memory_of_one_large_result_is_kept_for_one_of_about_its_size() {
        let pool = Pool(Mutex::new(Vec::new()));
        pool.put(vec![1_u64; 1000]);
        assert_eq!(pool.take(|values| values > 0).capacity(), 0, "small ones are not pooled");
        pool.put(vec![1_u64; LARGE]);
        pool.put(vec![1_u64; LARGE / 2]);
        assert_eq!(pool.take(|values| values > LARGE).capacity(), 0);
        let again = pool.take(|values| values == LARGE);
        assert_eq!((again.len(), again.capacity()), (0, LARGE));
        assert_eq!(pool.take(|values| values > 0).capacity(), 0, "it is handed out once");
        pool.put(Vec::with_capacity(LARGE / 2));
        pool.put(again);
        assert_eq!(pool.take(|_| true).capacity(), LARGE, "the larger one stays");
        pool.put(Vec::with_capacity(MAX_BYTES / 8 + 1));
        assert_eq!(pool.take(|_| true).capacity(), 0, "too large a vector is not pooled");
        let other = Pool(Mutex::new(Vec::new()));
        pool.put(vec![1_u64; MAX_BYTES / 8 - MIN_BYTES / 8 + 1]);
        other.put(vec![1_u64; MIN_BYTES / 8]);
        assert_eq!(
            other.take(|_| true).capacity(),
            0,
            "nor is one that would exceed the limit together with others"
        );
        assert!(pool.take(|_| true).capacity() > 0);
        other.put(vec![1_u64; MIN_BYTES / 8]);
        assert_eq!(other.take(|_| true).capacity(), MIN_BYTES / 8);
    }

    #[test]
    fn a_pool_whose_lock_is_taken_is_not_used() {
        let pool = Pool(Mutex::new(Vec::new()));
        let taken = pool.0.lock().unwrap();
        pool.put(vec![1_u64; LARGE]);
        assert_eq!(pool.take(|_| true).capacity(), 0);
        drop(taken);
        assert_eq!(pool.take(|_| true).capacity(), 0);
    }

    #[test]
    fn a_result_leaves_room_for_another_one_only_where_it_is_poolable() {
        let mut small = Vec::<u16>::with_capacity(1000);
        small.extend([1, 2, 3]);
        trim(&mut small);
        assert_eq!(small.capacity(), 3);
        let mut large = Vec::<u16>::with_capacity(9 * LARGE);
        large.resize(4 * LARGE - SPARE_IDS, 1);
        trim(&mut large);
        assert_eq!(large.capacity(), 4 * LARGE);
    }
}
