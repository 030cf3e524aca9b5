//! The memory of the last large array of ids, kept for the next one.
//!
//! An array is written once, so half of its cost may be page faults: 28 MB of many languages again
//! and again, into 37 MB of ids, take 67 ms on one thread, and without this 73 ms where the system
//! has large pages, and 89 ms where it has small ones. The allocator itself keeps less than 32 MB.
//! The system may take the pages back whenever it needs memory.

use std::any::Any;
use std::ops::RangeInclusive;
use std::sync::Mutex;

/// The sizes in bytes that are kept.
const KEPT: RangeInclusive<usize> = 32 << 20..=64 << 20;

/// The ids for which kept memory has more room than its array needed. The last texts ask for room
/// for as many ids as they have bytes; without that room, memory that was kept for the same texts
/// would be allocated again, as it must grow.
const SPARE: usize = 1 << 14;

static LAST: Last = Last(Mutex::new(Vec::new()));

/// The memory of an array that is gone.
struct Last(Mutex<Vec<u32>>);

/// Returns an empty vector for the ids of this many bytes of text, with the kept memory if that has
/// about the right size.
pub fn for_ids<T: 'static>(bytes: usize) -> Vec<T> {
    LAST.take(bytes)
}

/// Gives back the memory that an array of these ids does not need.
pub fn shrink<T: 'static>(ids: &mut Vec<T>) {
    let spare = if is_kept(ids) { SPARE } else { 0 };
    ids.shrink_to(ids.len() + spare);
}

/// Whether an array of these ids is worth keeping. Only Linux can take kept memory back.
pub fn is_kept<T: 'static>(ids: &[T]) -> bool {
    let is_of_last_kind = (&Vec::<T>::new() as &dyn Any).is::<Vec<u32>>();
    cfg!(target_os = "linux") && is_of_last_kind && KEPT.contains(&size_of_val(ids))
}

/// Keeps the memory of an array.
#[cfg(feature = "python")]
pub fn keep<T: 'static>(ids: Vec<T>) {
    LAST.keep(ids);
}

/// Gives the kept memory back to the system.
pub fn clear() {
    if let Ok(mut last) = LAST.0.try_lock() {
        *last = Vec::new();
    }
}

// If another thread has the lock (perhaps it had when the process was forked), nothing is kept or
// reused.
impl Last {
    /// Returns the kept memory if it is of this type and has about the right size, else none.
    fn take<T: 'static>(&self, bytes: usize) -> Vec<T> {
        let Ok(mut last) = self.0.try_lock() else { return Vec::new() };
        let last: &mut dyn Any = &mut *last;
        match last.downcast_mut::<Vec<T>>() {
            Some(ids) if (bytes / 8..=bytes).contains(&ids.capacity()) => std::mem::take(ids),
            _ => Vec::new(),
        }
    }

    /// Keeps memory if it is of the right type and larger than the kept one.
    #[cfg(any(test, feature = "python"))]
    fn keep<T: 'static>(&self, mut ids: Vec<T>) {
        ids.clear();
        let Ok(mut last) = self.0.try_lock() else { return };
        let last: &mut dyn Any = &mut *last;
        let Some(last) = last.downcast_mut::<Vec<T>>() else { return };
        let bytes = ids.capacity() * size_of::<T>();
        if last.capacity() < ids.capacity() && KEPT.contains(&bytes) {
            #[cfg(target_os = "linux")]
            super::pages::allow_reclaiming(ids.as_ptr().cast(), bytes);
            *last = ids;
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_one_large_array_is_kept_for_another_of_about_its_size() {
        let (last, large) = (Last(Mutex::default()), *KEPT.start() / size_of::<u32>());
        last.keep(vec![1_u32; 1000]);
        assert_eq!(last.take::<u32>(1000).capacity(), 0, "small ones are not kept");
        last.keep(vec![1_u32; large]);
        assert_eq!(last.take::<u16>(large).capacity(), 0, "nor are ids of 16 bits");
        assert_eq!(last.take::<u32>(large - 1).capacity(), 0);
        assert_eq!(last.take::<u32>(9 * large).capacity(), 0);
        assert_eq!(last.take::<u32>(8 * large).capacity(), large);
        assert_eq!(last.take::<u32>(8 * large).capacity(), 0, "it is handed out once");
        last.keep(vec![1_u32; 4 * large]);
        assert_eq!(last.take::<u32>(4 * large).capacity(), 0, "too large a one is not kept");
        let mut ids = vec![1_u32; large];
        ids.reserve_exact(2 * large);
        shrink(&mut ids);
        assert_eq!(ids.capacity(), large + SPARE, "the same texts fit once more");
        let mut few = Vec::with_capacity(100);
        few.extend([1_u32; 5]);
        shrink(&mut few);
        assert_eq!(few.capacity(), 5);
        assert!(
            is_kept(&vec![1_u32; large]) && !is_kept(&[1_u32; 5]) && !is_kept(&vec![1_u64; large])
        );
    }
}
