//! Threads that live for one call: work in, its results in order out, or the first error.
//!
//! There is no pool that a fork could break. A process that is forked while such a call is under way (by a callback,
//! say) has none of its threads, and cannot know what they did: there the call ends with [`Error::Forked`]. Whoever
//! shares locks with other threads must therefore [`check`](Workers::check) after every call of foreign code, and
//! before the next lock.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::memory;
use crate::watch::Pulse;

/// How long whoever waits for others does so without a look at the clock.
pub const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What threads share: it stays whole even if a thread that held it died, as every change is one.
pub fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts threads, of which none outlives [`scope`].
pub struct Workers<'scope> {
    /// Which process has the threads.
    process: Cell<u32>,
    threads: RefCell<Vec<JoinHandle<()>>>,
    /// As in `std::thread::Scope`: what threads borrow is borrowed for as long as the scope, no shorter and no longer.
    scope: PhantomData<&'scope mut &'scope ()>,
}

/// Run `lead` in this thread, and what it starts in others; all of them have ended when this returns.
///
/// This is `std::thread::scope` but for two things: a thread that cannot be started is no panic, and threads that this
/// process does not have, because it was forked, are not waited for.
pub fn scope<'env, R>(lead: impl FnOnce(&Workers<'env>) -> Result<R>) -> Result<R> {
    let workers = Workers { process: Cell::default(), threads: RefCell::default(), scope: PhantomData };
    let workers = JoinOnDrop(workers);
    let led = lead(&workers.0);
    let forked = workers.0.check();
    let panic = workers.0.join();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
    forked.and(led)
}

impl<'scope> Workers<'scope> {
    /// Start a thread; `false` if the system has none.
    pub fn start(&self, work: impl FnOnce() + Send + 'scope) -> bool {
        if self.started() == 0 {
            self.process.set(std::process::id());
        } else if self.are_elsewhere() {
            return false;
        }
        // SAFETY: what the thread borrows lives longer than `'scope`, during which `scope` runs; and that neither
        // returns nor unwinds before the thread has ended, except in another process, which has no such thread.
        let started = unsafe { Builder::new().spawn_unchecked(work) };
        started.map(|thread| self.threads.borrow_mut().push(thread)).is_ok()
    }

    /// How many threads were started.
    pub fn started(&self) -> usize {
        self.threads.borrow().len()
    }

    /// Whether any thread has not ended.
    fn are_running(&self) -> bool {
        self.threads.borrow().iter().any(|thread| !thread.is_finished())
    }

    /// Fail in a process that was forked and so has none of the threads.
    pub fn check(&self) -> Result<()> {
        if self.are_elsewhere() { Err(Error::Forked) } else { Ok(()) }
    }

    /// Whether there are threads that another process has, of which this one was forked.
    fn are_elsewhere(&self) -> bool {
        self.started() > 0 && self.process.get() != std::process::id()
    }

    /// Wait for all threads; the first of their panics.
    fn join(&self) -> Option<Box<dyn std::any::Any + Send>> {
        let are_elsewhere = self.are_elsewhere();
        let threads = std::mem::take(&mut *self.threads.borrow_mut());
        if are_elsewhere {
            threads.into_iter().for_each(std::mem::forget);
            return None;
        }
        threads.into_iter().filter_map(|thread| thread.join().err()).reduce(|first, _| first)
    }
}

/// Waits for threads also where the leading one panics.
struct JoinOnDrop<'scope>(Workers<'scope>);

impl Drop for JoinOnDrop<'_> {
    fn drop(&mut self) {
        self.0.join();
    }
}

/// Do a job on every item, on as many threads as there are items or room for; results in the order of items. The
/// calling thread takes part, and reports meanwhile. Of several errors, the first in order is the one told.
pub fn each<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    pulse: &mut Pulse<'_>,
    job: impl Fn(T, &mut Pulse<'_>) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let items: Vec<_> = items.into_iter().enumerate().collect();
    let number = items.len();
    let items = Mutex::new(items.into_iter());
    let results: Mutex<Vec<(usize, Result<R>)>> = Mutex::new(Vec::with_capacity(number));
    let (finished, stop) = (Condvar::new(), AtomicBool::new(false));
    let work = |pulse: &mut Pulse<'_>, check: &dyn Fn() -> Result<()>| -> Result<()> {
        loop {
            let Some((place, item)) = lock(&items).next() else { return Ok(()) };
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let result = job(item, pulse);
            check()?;
            if result.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            lock(&results).push((place, result));
            finished.notify_all();
        }
    };
    scope(|workers| {
        for _ in 0..memory::threads(number.saturating_sub(1)) {
            let work = &work;
            let stop = &stop;
            // Who could not be started is not missed: the others do all the work.
            if !workers.start(move || {
                let _ = work(&mut Pulse::until(stop), &|| Ok(()));
            }) {
                break;
            }
        }
        work(pulse, &|| workers.check())?;
        let mut done = lock(&results);
        while done.len() < number && workers.are_running() {
            drop(finished.wait_timeout(done, LOOK_EVERY));
            let watched = pulse.check();
            workers.check()?;
            watched.inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            done = lock(&results);
        }
        Ok(())
    })?;
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Who was only told to stop has nothing to say.
    results.sort_by_key(|(place, result)| (matches!(result, Err(Error::Stopped)), *place));
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Unwatched;

    #[test]
    fn results_come_in_the_order_of_items() {
        let double = |item: u32, _: &mut Pulse<'_>| Ok(2 * item);
        assert_eq!(
            each(0..9, &mut Pulse::of(&mut Unwatched), double).unwrap(),
            [0, 2, 4, 6, 8, 10, 12, 14, 16]
        );
        assert!(each([], &mut Pulse::of(&mut Unwatched), double).unwrap().is_empty());
    }

    #[test]
    fn the_first_error_is_told_and_ends_the_others() {
        for _ in 0..20 {
            let told = each(0..3, &mut Pulse::of(&mut Unwatched), |item, pulse| match item {
                0 => Ok(()),
                1 => Err(Error::Value("first".into())),
                _ => loop {
                    pulse.check()?;
                },
            });
            assert!(matches!(told, Err(Error::Value(message)) if message == "first"));
        }
    }

    #[test]
    fn threads_end_before_the_scope_does_and_their_panics_are_its_own() {
        let mut ended = AtomicBool::new(false);
        scope(|workers| {
            assert!(workers.start(|| {
                std::thread::sleep(Duration::from_millis(20));
                ended.store(true, Ordering::Relaxed);
            }));
            Ok(())
        })
        .unwrap();
        assert!(*ended.get_mut());
        let panicked = std::panic::catch_unwind(|| {
            scope(|workers| {
                workers.start(|| panic!("as it should"));
                Ok(())
            })
        });
        assert!(panicked.is_err());
    }
}
