//! Memory that grows with the input: running out of it is an error, not an abort.
//!
//! Before a large allocation, [`ensure`] tests whether the system can provide the memory and
//! [`SPARE`] bytes more, and returns an error if not. Small allocations are not checked; they are
//! served from the spare bytes. [`cells`] allocates tables in large [`pages`]; [`reuse`] keeps the
//! memory of the last large array for the next one.

use std::hint::black_box;

use crate::error::{Error, Result};

pub mod cells;
pub mod machine;
#[cfg(target_os = "linux")]
pub mod pages;
pub mod reuse;

/// The bytes that must stay free for allocations that are not checked. The allocator gets a block
/// of this size directly from the system and returns it at once, so trying it changes nothing.
const SPARE: usize = 32 << 20;

/// The memory of a thread: its stack, its own tables, and the addresses that the allocator reserves
/// for it.
const BYTES_PER_THREAD: usize = 80 << 20;

/// With this much memory, any number of threads is allowed.
const ENOUGH_FOR_THREADS: usize = 1 << 30;

/// Smaller allocations are not checked.
const SMALL: usize = 1 << 20;

/// Fails unless `bytes` and `SPARE` more can be allocated now; small numbers are not checked.
#[inline]
pub fn ensure(bytes: usize) -> Result<()> {
    if bytes < SMALL { Ok(()) } else { try_allocate(bytes) }
}

/// Fails unless `SPARE` bytes can be allocated.
pub fn ensure_spare() -> Result<()> {
    try_allocate(0)
}

/// Returns the number of threads, up to `wanted`, that there is memory for.
pub fn threads(wanted: usize) -> usize {
    for threads in (1..=wanted).rev() {
        let bytes = (threads * BYTES_PER_THREAD).min(ENOUGH_FOR_THREADS);
        if try_allocate(bytes).is_ok() {
            return threads;
        }
    }
    0
}

/// Fails unless `bytes` and `SPARE` more can be allocated now, if necessary without the memory that
/// is kept for reuse.
#[cold]
fn try_allocate(bytes: usize) -> Result<()> {
    let wanted = bytes.saturating_add(SPARE);
    if is_available(wanted) {
        return Ok(());
    }
    reuse::clear();
    if is_available(wanted) { Ok(()) } else { Err(missing(bytes)) }
}

fn is_available(bytes: usize) -> bool {
    let mut room = Vec::<u8>::new();
    let reserved = room.try_reserve_exact(bytes);
    // Without this, the compiler would remove the allocation.
    black_box(&room);
    reserved.is_ok()
}

/// Returns unused memory to the system: that of the last large array, and the allocator's.
#[cfg(feature = "python")]
pub fn trim() {
    reuse::clear();
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call touches only memory that is not allocated.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Makes room for `more` values.
#[inline(always)]
pub fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    if values.capacity() - values.len() >= more { Ok(()) } else { grow(values, more) }
}

#[cold]
#[inline(never)]
fn grow<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    let before = values.capacity();
    let bytes = more.saturating_mul(size_of::<T>());
    values.try_reserve(more).map_err(|_| missing(bytes))?;
    if values.capacity() * size_of::<T>() < SMALL {
        return Ok(());
    }
    try_allocate(0).map_err(|_| {
        values.shrink_to(before);
        missing(bytes)
    })
}

/// Makes room for `more` values if the system can provide it; if not, the vector grows later, as
/// needed. About a quarter of the values will come.
pub fn expect<T>(values: &mut Vec<T>, more: usize) {
    let reserved = reserve(values, more);
    #[cfg(target_os = "linux")]
    if reserved.is_ok() && more * size_of::<T>() >= pages::LARGE {
        let bytes = values.capacity() * size_of::<T>();
        pages::clear_now(values.as_ptr().cast(), bytes, pages::MOST_CLEARED.min(bytes / 4));
    }
    #[cfg(not(target_os = "linux"))]
    let _ = reserved;
}

/// Appends a value.
#[inline(always)]
pub fn push<T>(values: &mut Vec<T>, value: T) -> Result<()> {
    reserve(values, 1)?;
    values.push(value);
    Ok(())
}

/// Appends values.
#[inline]
pub fn extend<T: Copy>(values: &mut Vec<T>, more: &[T]) -> Result<()> {
    reserve(values, more.len())?;
    values.extend_from_slice(more);
    Ok(())
}

/// Extends bytes with zeros to at least this length.
pub fn lengthen(bytes: &mut Vec<u8>, length: usize) -> Result<()> {
    if bytes.len() < length {
        let missing = length - bytes.len();
        reserve(bytes, missing)?;
        bytes.resize(length, 0);
    }
    Ok(())
}

/// Appends text.
#[inline]
pub fn append(text: &mut String, more: &str) -> Result<()> {
    if text.capacity() - text.len() < more.len() {
        grow_text(text, more.len())?;
    }
    text.push_str(more);
    Ok(())
}

#[cold]
#[inline(never)]
fn grow_text(text: &mut String, more: usize) -> Result<()> {
    let before = text.capacity();
    text.try_reserve(more).map_err(|_| missing(more))?;
    if text.capacity() < SMALL {
        return Ok(());
    }
    try_allocate(0).map_err(|_| {
        text.shrink_to(before);
        missing(more)
    })
}

/// Returns a vector of `length` equal values. (Zeros are not written: the system provides zeroed
/// pages.)
pub fn filled<T: Clone>(value: T, length: usize) -> Result<Vec<T>> {
    ensure(length.saturating_mul(size_of::<T>()))?;
    Ok(vec![value; length])
}

/// Collects all values of an iterator.
pub fn gathered<T>(items: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let mut values = Vec::new();
    items.into_iter().try_for_each(|item| push(&mut values, item))?;
    Ok(values)
}

/// Returns an array on the heap, for arrays that could overflow a small stack.
pub fn boxed_array<T, const LENGTH: usize>(
    mut value: impl FnMut() -> T,
) -> Result<Box<[T; LENGTH]>> {
    let mut values = Vec::new();
    values.try_reserve_exact(LENGTH).map_err(|_| missing(LENGTH * size_of::<T>()))?;
    values.resize_with(LENGTH, &mut value);
    values.into_boxed_slice().try_into().map_err(|_| missing(0))
}

/// Returns the error of an allocation that is not possible.
fn missing(bytes: usize) -> Error {
    Error::Memory(format!(
        "not enough memory: {} bytes could not be allocated",
        bytes.saturating_add(SPARE)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than any machine has.
    const TOO_MUCH: usize = isize::MAX as usize;

    #[test]
    fn memory_is_allocated_up_to_what_the_system_has() {
        assert!(ensure(1 << 20).is_ok());
        for bytes in [TOO_MUCH, usize::MAX] {
            assert!(matches!(ensure(bytes), Err(Error::Memory(_))));
        }
        assert!(filled(1_u8, TOO_MUCH).is_err());
        assert_eq!(filled(1_u8, 3).unwrap(), [1; 3]);
        assert_eq!(threads(3), 3);
        assert_eq!(*boxed_array::<_, 3>(|| 7).unwrap(), [7; 3]);
        assert_eq!(gathered(0..5).unwrap(), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn values_are_unchanged_if_room_cannot_be_made() {
        let mut values = vec![1_u64, 2];
        assert!(reserve(&mut values, TOO_MUCH).is_err());
        extend(&mut values, &[3, 4]).unwrap();
        push(&mut values, 5).unwrap();
        assert_eq!(values, [1, 2, 3, 4, 5]);
        let mut text = "ab".to_owned();
        assert!(grow_text(&mut text, TOO_MUCH).is_err());
        append(&mut text, "c").unwrap();
        assert_eq!(text, "abc");
    }
}
