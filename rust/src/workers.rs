//! Worker threads that live for one call: they process items and return the results in order, or the first error.
//!
//! There is no thread pool that a fork could break. If the process is forked during such a call (by a callback, say), the
//! child has none of the threads and cannot know their results: there the call ends with [`Error::Forked`]. Code that
//! shares locks with workers must therefore call [`check`](Workers::check) after every call of foreign code, before it
//! takes the next lock.

use std::marker::PhantomData;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle, available_parallelism, panicking};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::memory;
use crate::watch::Pulse;

/// The longest wait for other threads before the caller checks for signals and reports.
pub const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Lock a mutex even if a thread panicked while it held it: each change of the shared data is complete in itself.
pub fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts threads; none outlives [`scope`].
pub struct Workers<'scope> {
    /// The process that has the threads.
    process: AtomicU32,
    /// Locked by the leading thread only.
    threads: Mutex<Vec<JoinHandle<()>>>,
    running: Arc<Running>,
    /// As in `std::thread::Scope`: threads borrow for exactly the lifetime of the scope.
    scope: PhantomData<&'scope mut &'scope ()>,
}

/// The number of threads that have not ended, and a signal when one does.
#[derive(Default)]
struct Running {
    number: Mutex<usize>,
    ended: Condvar,
}

/// Counts a thread as running for as long as this value lives.
struct RunningGuard(Arc<Running>);

impl RunningGuard {
    fn new(running: &Arc<Running>) -> Self {
        *lock(&running.number) += 1;
        Self(Arc::clone(running))
    }
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        *lock(&self.0.number) -= 1;
        self.0.ended.notify_all();
    }
}

/// Run `lead` in this thread. All threads that it starts have ended when this returns.
///
/// Two differences from `std::thread::scope`: a thread that cannot be started is no panic, and a forked process does
/// not wait for the threads of its parent.
pub fn scope<'env, R>(lead: impl FnOnce(&Workers<'env>) -> Result<R>) -> Result<R> {
    let workers = JoinOnDrop(Workers {
        process: AtomicU32::default(),
        threads: Mutex::default(),
        running: Arc::default(),
        scope: PhantomData,
    });
    let led = lead(&workers.0);
    let forked = workers.0.check();
    let panic = workers.0.join();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
    forked.and(led)
}

impl<'scope> Workers<'scope> {
    /// Start a thread; `false` if the system refuses.
    pub fn start(&self, work: impl FnOnce() + Send + 'scope) -> bool {
        if self.started() == 0 {
            self.process.store(std::process::id(), Ordering::Relaxed);
        } else if self.are_in_parent() {
            return false;
        }
        let running = RunningGuard::new(&self.running);
        let work = move || {
            let _running = running;
            work();
        };
        // SAFETY: what the thread borrows outlives `'scope`, and `scope` neither returns nor unwinds before the thread
        // has ended, except in a forked process, which does not have the thread.
        let started = unsafe { Builder::new().spawn_unchecked(work) };
        started.map(|thread| lock(&self.threads).push(thread)).is_ok()
    }

    /// The number of threads that were started.
    pub fn started(&self) -> usize {
        lock(&self.threads).len()
    }

    /// Fail in a forked process, which does not have the threads.
    pub fn check(&self) -> Result<()> {
        if self.are_in_parent() { Err(Error::Forked) } else { Ok(()) }
    }

    /// Whether the threads belong to a parent process that this one was forked from.
    fn are_in_parent(&self) -> bool {
        self.started() > 0 && self.process.load(Ordering::Relaxed) != std::process::id()
    }

    /// Wait until all threads have ended, and report meanwhile.
    pub fn wait(&self, pulse: &mut Pulse<'_>) -> Result<()> {
        self.check()?;
        let mut running = lock(&self.running.number);
        while *running > 0 {
            drop(self.running.ended.wait_timeout(running, CHECK_INTERVAL));
            pulse.check()?;
            self.check()?;
            running = lock(&self.running.number);
        }
        Ok(())
    }

    /// Wait for all threads; returns the first panic.
    fn join(&self) -> Option<Box<dyn std::any::Any + Send>> {
        let are_in_parent = self.are_in_parent();
        let threads = std::mem::take(&mut *lock(&self.threads));
        if are_in_parent {
            threads.into_iter().for_each(std::mem::forget);
            return None;
        }
        threads.into_iter().filter_map(|thread| thread.join().err()).reduce(|first, _| first)
    }
}

/// Waits for the threads even if the leading thread panics.
struct JoinOnDrop<'scope>(Workers<'scope>);

impl Drop for JoinOnDrop<'_> {
    fn drop(&mut self) {
        self.0.join();
    }
}

/// Stops the other threads if this one panics: they would wait for it, or work in vain.
pub struct StopOnPanic<'a>(pub &'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// More threads would bring nothing.
const MAX_THREADS: usize = 256;

/// The number of threads of a call: as many as wanted, or one for each core, but no more than there are items. Every default
/// for a number of threads comes from here.
pub fn thread_count(wanted: Option<usize>, items: usize) -> usize {
    let cores = || available_parallelism().map_or(1, NonZero::get);
    wanted.unwrap_or_else(cores).clamp(1, MAX_THREADS).min(items.max(1))
}

/// Run a job on every item, on one thread per item as far as memory allows, and return the results in the order of the
/// items. The calling thread takes part, and reports meanwhile. Of several errors, that of the first item is returned.
pub fn each<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    pulse: &mut Pulse<'_>,
    job: impl Fn(T, &mut Pulse<'_>) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    each_on(usize::MAX, items, pulse, job)
}

/// The same on up to so many threads.
pub fn each_on<T: Send, R: Send>(
    threads: usize,
    items: impl IntoIterator<Item = T>,
    pulse: &mut Pulse<'_>,
    job: impl Fn(T, &mut Pulse<'_>) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let items: Vec<_> = items.into_iter().enumerate().collect();
    let number = items.len();
    let items = Mutex::new(items.into_iter());
    let results: Mutex<Vec<(usize, Result<R>)>> = Mutex::new(Vec::with_capacity(number));
    let stop = AtomicBool::new(false);
    let work = |pulse: &mut Pulse<'_>, check: &dyn Fn() -> Result<()>| -> Result<()> {
        let _stopped = StopOnPanic(&stop);
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
        }
    };
    scope(|workers| {
        for _ in 0..memory::threads(threads.min(number).saturating_sub(1)) {
            let work = &work;
            let stop = &stop;
            // If a thread cannot be started, the others do its work.
            if !workers.start(move || {
                let _ = work(&mut Pulse::until(stop), &|| Ok(()));
            }) {
                break;
            }
        }
        work(pulse, &|| workers.check())?;
        workers.wait(pulse).inspect_err(|_| stop.store(true, Ordering::Relaxed))
    })?;
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Errors of workers that were merely stopped come last.
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
    fn the_first_error_is_returned_and_ends_the_others() {
        for _ in 0..20 {
            let result = each(0..3, &mut Pulse::of(&mut Unwatched), |item, pulse| match item {
                0 => Ok(()),
                1 => Err(Error::Value("first".into())),
                _ => loop {
                    pulse.check()?;
                },
            });
            assert!(matches!(result, Err(Error::Value(message)) if message == "first"));
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
