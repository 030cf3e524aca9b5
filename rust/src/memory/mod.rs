//! Memory that grows with the input.
//!
//! It is asked for before it is taken, so that a call which finds too little ends with an error. What is too small to
//! be asked for lives off [`SPARE`], which every answer leaves free. Two mechanisms make large memory cheaper:
//! [`pool`] keeps that of the last result for the next one, and [`cells`] lays tables in large [`pages`].

use std::hint::black_box;

use crate::error::{Error, Result};

pub mod cells;
#[cfg(target_os = "linux")]
pub mod pages;
pub mod pool;

/// What is left free for all that is taken without asking. (As much as the allocator always gets from the system and
/// gives back: looking for it leaves nothing changed.)
const SPARE: usize = 32 << 20;

/// What a thread may take before it has done anything: a stack, tables of its own, and the addresses that the
/// allocator sets aside for it.
const FOR_EACH_THREAD: usize = 80 << 20;

/// With so much memory there is room for any number of threads.
const ENOUGH: usize = 1 << 30;

/// Fewer bytes are taken without a look at what is left then.
const FEW: usize = 1 << 20;

/// Fail unless so many bytes can be had now, and `SPARE` more; few can always be had.
#[inline]
pub fn ensure(bytes: usize) -> Result<()> {
    if bytes < FEW { Ok(()) } else { look_for(bytes) }
}

/// Fail unless `SPARE` is free.
pub fn ensure_spare() -> Result<()> {
    look_for(0)
}

/// How many of the threads that are wanted there is room for.
pub fn threads(wanted: usize) -> usize {
    let fits = |threads: &usize| look_for((threads * FOR_EACH_THREAD).min(ENOUGH)).is_ok();
    (1..=wanted).rev().find(fits).unwrap_or(0)
}

#[cold]
fn look_for(bytes: usize) -> Result<()> {
    let wanted = bytes.saturating_add(SPARE);
    if can_be_had(wanted) {
        return Ok(());
    }
    pool::give_back();
    if can_be_had(wanted) { Ok(()) } else { Err(missing(bytes)) }
}

fn can_be_had(bytes: usize) -> bool {
    let mut room = Vec::<u8>::new();
    let found = room.try_reserve_exact(bytes);
    // Room that nobody looks at would not be asked for at all.
    black_box(&room);
    found.is_ok()
}

/// Give back to the system what is kept for later: by us, and by the allocator.
#[cfg(feature = "python")]
pub fn trim() {
    pool::give_back();
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it touches only what the allocator has not given to anybody.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Make room for so many values more.
#[inline(always)]
pub fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    if values.capacity() - values.len() >= more { Ok(()) } else { grow(values, more) }
}

#[cold]
#[inline(never)]
fn grow<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    let before = values.capacity();
    let bytes = more.saturating_mul(size_of::<T>());
    let found = values.try_reserve(more).or_else(|_| {
        pool::give_back();
        values.try_reserve(more)
    });
    found.map_err(|_| missing(bytes))?;
    if values.capacity() * size_of::<T>() < FEW {
        return Ok(());
    }
    look_for(0).map_err(|_| {
        values.shrink_to(before);
        missing(bytes)
    })
}

/// Make room for so many values more, if the system has it. (If not, room is made as it is needed.)
pub fn expect<T>(values: &mut Vec<T>, more: usize) {
    let reserved = reserve(values, more);
    #[cfg(target_os = "linux")]
    if reserved.is_ok() && more * size_of::<T>() >= 2 * pages::LARGE {
        pages::ask_for_large_pages(values.as_ptr().cast(), values.capacity() * size_of::<T>(), 0);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = reserved;
}

/// Put a value behind the others.
#[inline(always)]
pub fn push<T>(values: &mut Vec<T>, value: T) -> Result<()> {
    reserve(values, 1)?;
    values.push(value);
    Ok(())
}

/// Put values behind the others.
#[inline]
pub fn extend<T: Copy>(values: &mut Vec<T>, more: &[T]) -> Result<()> {
    reserve(values, more.len())?;
    values.extend_from_slice(more);
    Ok(())
}

/// Make bytes so many at least.
pub fn lengthen(bytes: &mut Vec<u8>, length: usize) -> Result<()> {
    if bytes.len() < length {
        let missing = length - bytes.len();
        reserve(bytes, missing)?;
        bytes.resize(length, 0);
    }
    Ok(())
}

/// Put text behind text.
pub fn append(text: &mut String, more: &str) -> Result<()> {
    text.try_reserve(more.len()).map_err(|_| missing(more.len()))?;
    text.push_str(more);
    Ok(())
}

/// So many times the same value. (Zeros are not written, but come from the system as they are.)
pub fn filled<T: Clone>(value: T, length: usize) -> Result<Vec<T>> {
    ensure(length.saturating_mul(size_of::<T>()))?;
    Ok(vec![value; length])
}

/// All values of an iterator.
pub fn gathered<T>(items: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let mut values = Vec::new();
    items.into_iter().try_for_each(|item| push(&mut values, item))?;
    Ok(values)
}

/// An array on the heap: what would be large on the stack, of which a thread may have little.
pub fn boxed_array<T, const LENGTH: usize>(mut value: impl FnMut() -> T) -> Result<Box<[T; LENGTH]>> {
    let mut values = Vec::new();
    values.try_reserve_exact(LENGTH).map_err(|_| missing(LENGTH * size_of::<T>()))?;
    values.resize_with(LENGTH, &mut value);
    values.into_boxed_slice().try_into().map_err(|_| missing(0))
}

fn missing(bytes: usize) -> Error {
    Error::Memory(format!("not enough memory: {} bytes are not to be had", bytes.saturating_add(SPARE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than any machine can give.
    const TOO_MUCH: usize = isize::MAX as usize;

    #[test]
    fn what_there_is_can_be_taken_and_no_more() {
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
    fn values_stay_where_room_cannot_be_made() {
        let mut values = vec![1_u64, 2];
        assert!(reserve(&mut values, TOO_MUCH).is_err());
        extend(&mut values, &[3, 4]).unwrap();
        push(&mut values, 5).unwrap();
        assert_eq!(values, [1, 2, 3, 4, 5]);
    }
}
