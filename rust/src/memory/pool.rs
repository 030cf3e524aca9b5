//! The memory of the last large result, kept for the next one once its owner has let go of it.
//!
//! A large result is written once, so its pages are what it costs besides the work: a fault for each, and far more in
//! virtual machines whose host has to find them. The system may take back what is kept whenever it needs memory, and
//! what nobody else can have any more is given back before a call fails for want of it.

use std::ops::{Deref, DerefMut};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many bytes are kept, at least: what is smaller comes from what the allocator keeps itself.
const LEAST: usize = 32 << 20;
/// And at most, all together.
const MOST: usize = 64 << 20;

/// How many bytes are kept.
static POOLED: AtomicUsize = AtomicUsize::new(0);

/// How much room stays behind the numbers of a large result, so that one of the same size finds enough. (Room is made
/// for each batch of pretokens as if every byte were an id.) None of it is touched.
const ROOM: usize = 1 << 16;

/// Numbers of which large results are made.
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

/// Give back to the system all that is kept.
pub fn give_back() {
    u8::pool().take(|_| true);
    u32::pool().take(|_| true);
    u16::pool().take(|_| true);
}

/// A vector without values, for the result of a text of so many bytes: with the memory that is kept, if about so much
/// is needed.
pub fn vec_for_text<T: Poolable>(bytes: usize) -> Vec<T> {
    T::pool().take(|values| (bytes / 8..=bytes).contains(&values))
}

/// A vector without values, which has room for so many if what is kept is that much and not far more.
#[cfg(feature = "python")]
pub fn vec_with_room<T: Poolable>(values: usize) -> Vec<T> {
    T::pool().take(|kept| (values..=values.saturating_mul(8)).contains(&kept))
}

/// Give back the room behind the values, but for what a result of the same size may need.
pub fn trim<T: Poolable>(values: &mut Vec<T>) {
    let room = if is_kept(values.len() * size_of::<T>()) { ROOM } else { 0 };
    values.shrink_to(values.len() + room);
}

/// Whether so many bytes are kept; none are elsewhere than on Linux, which can take back what it needs.
fn is_kept(bytes: usize) -> bool {
    cfg!(target_os = "linux") && (LEAST..=MOST).contains(&bytes)
}

/// A result whose memory serves the next one.
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
        T::pool().keep(std::mem::take(&mut self.0));
    }
}

/// What is kept: a vector without values. Nobody waits for it: a lock that is taken (or was, when this process was
/// forked) means doing without.
pub struct Pool<T>(Mutex<Vec<T>>);

impl<T> Pool<T> {
    /// The vector that is kept, if there is one and its size is the wanted one.
    fn take(&self, wanted: impl Fn(usize) -> bool) -> Vec<T> {
        let Ok(mut kept) = self.0.try_lock() else { return Vec::new() };
        if !wanted(kept.capacity()) {
            return Vec::new();
        }
        POOLED.fetch_sub(kept.capacity() * size_of::<T>(), Ordering::Relaxed);
        std::mem::take(&mut *kept)
    }

    /// Keep the memory of these values, if no more is kept so far.
    fn keep(&self, mut values: Vec<T>) {
        if !is_kept(values.capacity() * size_of::<T>()) {
            return;
        }
        values.clear();
        if let Ok(mut kept) = self.0.try_lock()
            && kept.capacity() < values.capacity()
            && fits((values.capacity() - kept.capacity()) * size_of::<T>())
        {
            let_system_take(&mut values);
            std::mem::swap(&mut *kept, &mut values);
        }
    }
}

/// Whether so many more bytes may be kept; then they count as kept.
fn fits(more: usize) -> bool {
    let together = |kept: usize| Some(kept + more).filter(|&together| together <= MOST);
    POOLED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, together).is_ok()
}

/// Let the system take back the room of a vector when it needs memory; until it does, what is written there stays.
fn let_system_take<T>(values: &mut Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        /// A multiple of the size of a page on every machine.
        const PAGE: usize = 1 << 16;
        let room = values.spare_capacity_mut();
        let skipped = room.as_ptr().align_offset(PAGE).min(room.len());
        let start = room[skipped..].as_mut_ptr();
        let whole_pages = size_of_val(&room[skipped..]) / PAGE * PAGE;
        // SAFETY: these pages lie in the room of a vector, of which nobody expects that it holds anything.
        unsafe { libc::madvise(start.cast(), whole_pages, libc::MADV_FREE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = values;
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Numbers of eight bytes that are kept, and so is half as many.
    const LARGE: usize = MOST / 8;

    #[test]
    fn the_memory_of_one_large_result_is_kept_for_one_of_about_its_size() {
        let pool = Pool(Mutex::new(Vec::new()));
        pool.keep(vec![1_u64; 1000]);
        assert_eq!(pool.take(|values| values > 0).capacity(), 0, "small ones are not kept");
        pool.keep(vec![1_u64; LARGE]);
        pool.keep(vec![1_u64; LARGE / 2]);
        assert_eq!(pool.take(|values| values > LARGE).capacity(), 0);
        let again = pool.take(|values| values == LARGE);
        assert_eq!((again.len(), again.capacity()), (0, LARGE));
        assert_eq!(pool.take(|values| values > 0).capacity(), 0, "nobody else gets it");
        pool.keep(Vec::with_capacity(LARGE / 2));
        pool.keep(again);
        assert_eq!(pool.take(|_| true).capacity(), LARGE, "the larger one is kept");
        pool.keep(Vec::with_capacity(MOST / 8 + 1));
        assert_eq!(pool.take(|_| true).capacity(), 0, "too much is not kept");
        let other = Pool(Mutex::new(Vec::new()));
        pool.keep(vec![1_u64; MOST / 8 - LEAST / 8 + 1]);
        other.keep(vec![1_u64; LEAST / 8]);
        assert_eq!(other.take(|_| true).capacity(), 0, "nor is it together with others");
        assert!(pool.take(|_| true).capacity() > 0);
        other.keep(vec![1_u64; LEAST / 8]);
        assert_eq!(other.take(|_| true).capacity(), LEAST / 8);
    }

    #[test]
    fn a_lock_that_is_taken_means_doing_without() {
        let pool = Pool(Mutex::new(Vec::new()));
        let taken = pool.0.lock().unwrap();
        pool.keep(vec![1_u64; LARGE]);
        assert_eq!(pool.take(|_| true).capacity(), 0);
        drop(taken);
        assert_eq!(pool.take(|_| true).capacity(), 0);
    }

    #[test]
    fn a_result_leaves_room_for_another_one_only_where_it_is_kept() {
        let mut small = Vec::<u16>::with_capacity(1000);
        small.extend([1, 2, 3]);
        trim(&mut small);
        assert_eq!(small.capacity(), 3);
        let mut large = Vec::<u16>::with_capacity(9 * LARGE);
        large.resize(4 * LARGE - ROOM, 1);
        trim(&mut large);
        assert_eq!(large.capacity(), 4 * LARGE);
    }
}
