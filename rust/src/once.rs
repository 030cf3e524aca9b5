//! Values that are made when they are first asked for, and stay until the process ends.
//!
//! Unlike with the standard library's `OnceLock`, nobody waits for a value that another thread makes: in a process that was
//! forked meanwhile there is no such thread. Two threads may both make it; the first to be done gives it to all.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Nothing at first, then one value for ever.
pub struct Once<T>(AtomicPtr<T>);

impl<T: Send + Sync> Once<T> {
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// The value.
    #[inline]
    pub fn get_or_make(&'static self, make: impl FnOnce() -> Box<T>) -> &'static T {
        let made = self.0.load(Ordering::Acquire);
        // SAFETY: a pointer that is stored here came out of a box, with Release after the value was made; it is never
        // stored over and the value never dropped or changed.
        unsafe { made.as_ref() }.unwrap_or_else(|| self.make(make))
    }

    #[cold]
    fn make(&'static self, make: impl FnOnce() -> Box<T>) -> &'static T {
        let new = Box::into_raw(make());
        let stored = self.0.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire);
        // SAFETY: `new` came out of a box; it is stored, and stays for ever, or nobody else has seen it, and it is dropped
        // once. What was stored before stays for ever.
        unsafe {
            match stored {
                Ok(_) => &*new,
                Err(first) => {
                    drop(Box::from_raw(new));
                    &*first
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn all_threads_have_the_value_of_the_first_to_be_done() {
        static VALUE: Once<usize> = Once::new();
        let (all_ask, all_make) = (Barrier::new(4), Barrier::new(4));
        let ask = |number| {
            all_ask.wait();
            VALUE.get_or_make(|| {
                all_make.wait();
                Box::new(number)
            })
        };
        let got: Vec<&usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|number| {
                    scope.spawn({
                        let ask = &ask;
                        move || ask(number)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(got.iter().all(|&value| ptr::eq(value, got[0])));
        assert!(ptr::eq(VALUE.get_or_make(|| Box::new(9)), got[0]));
    }
}
