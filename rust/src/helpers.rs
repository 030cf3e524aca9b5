//! Threads that help the calling one with a short job, and then with the next one: starting a thread for each would take
//! longer than such a job does.
//!
//! A helper that has nothing to do looks for a job for some 0.1 ms, and then sleeps until there is one. The calling thread
//! takes part in every job, and does all of it while no helper comes.

use std::cell::Cell;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{panicking, yield_now};

use crate::error::{Error, Result};
use crate::memory;
use crate::workers::{self, Workers, lock};

/// The threads of [`scope`], which are started for the first job.
pub struct Helpers<'a, 'env> {
    workers: &'a Workers<'env>,
    shared: &'env Shared,
    /// How many may be started; 0 once they are.
    wanted: Cell<usize>,
}

/// What the calling thread and the helpers share.
#[derive(Default)]
struct Shared {
    state: Mutex<HelperState>,
    /// How many jobs there were; changed under the lock.
    jobs: AtomicUsize,
    /// Signals another job, or the end.
    changed: Condvar,
}

#[derive(Default)]
struct HelperState {
    job: Option<HelpersJob>,
    /// The pieces of the job that nobody does yet.
    next: usize,
    pieces: usize,
    /// The number of helpers that do one.
    busy: usize,
    /// Whether a helper panicked in one.
    panicked: bool,
    is_over: bool,
}

/// A job, which is called with the number of each of its pieces.
#[derive(Clone, Copy)]
struct HelpersJob(&'static (dyn Fn(usize) + Sync));

/// How often a helper looks for another job before it lets other threads go first, and before it sleeps.
const LOOKS: usize = 1 << 10;
const PATIENT_LOOKS: usize = 1 << 8;

/// Run `lead` with up to so many helpers, which have ended when this returns.
pub fn scope<R>(helpers: usize, lead: impl FnOnce(&Helpers<'_, '_>) -> Result<R>) -> Result<R> {
    let shared = Shared::default();
    workers::scope(|workers| {
        let _over = EndOnDrop { workers, shared: &shared };
        lead(&Helpers { workers, shared: &shared, wanted: Cell::new(helpers) })
    })
}

impl Helpers<'_, '_> {
    /// Call `job` with every number below `pieces`, in any order and on any of the threads. Fails in a forked process, and if
    /// a helper panics; [`scope`] passes that on.
    pub fn run(&self, pieces: usize, job: &(dyn Fn(usize) + Sync)) -> Result<()> {
        self.workers.check()?;
        if pieces < 2 {
            (0..pieces).for_each(job);
            return Ok(());
        }
        self.start();
        // SAFETY: only the lifetime changes. Nobody calls the job once `DoneOnDrop` has taken it back, before this returns
        // or unwinds.
        let lasting = HelpersJob(unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static _>(job) });
        let done = DoneOnDrop(self.shared);
        self.shared.offer(lasting, pieces);
        while let Some((_, piece)) = self.shared.take(false) {
            job(piece);
        }
        drop(done);
        if lock(&self.shared.state).panicked { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Start the helpers, as far as memory and the system allow.
    fn start(&self) {
        let shared = self.shared;
        for _ in 0..memory::threads(self.wanted.take()) {
            if !self.workers.start(|| shared.help()) {
                break;
            }
        }
    }
}

impl Shared {
    fn offer(&self, job: HelpersJob, pieces: usize) {
        let mut state = lock(&self.state);
        *state = HelperState { job: Some(job), pieces, ..HelperState::default() };
        self.jobs.fetch_add(1, Ordering::Release);
        drop(state);
        self.changed.notify_all();
    }

    /// The next piece of the job, if there is one.
    fn take(&self, is_helper: bool) -> Option<(HelpersJob, usize)> {
        let mut state = lock(&self.state);
        let job = state.job.filter(|_| state.next < state.pieces)?;
        state.next += 1;
        state.busy += usize::from(is_helper);
        Some((job, state.next - 1))
    }

    /// What a helper does until the end.
    fn help(&self) {
        let mut known = 0;
        while self.wait(&mut known) {
            while let Some((HelpersJob(job), piece)) = self.take(true) {
                let _idle = IdleOnDrop(self);
                job(piece);
            }
        }
    }

    /// Wait for another job than the known one; false at the end.
    fn wait(&self, known: &mut usize) -> bool {
        let is_new = || self.jobs.load(Ordering::Acquire) != *known;
        for look in 0..LOOKS + PATIENT_LOOKS {
            if is_new() {
                break;
            }
            if look < LOOKS { spin_loop() } else { yield_now() }
        }
        let state = lock(&self.state);
        let waits = |state: &mut HelperState| !state.is_over && !is_new();
        let state = self.changed.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner);
        *known = self.jobs.load(Ordering::Acquire);
        !state.is_over
    }
}

/// A helper is done with a piece, also if it panics.
struct IdleOnDrop<'a>(&'a Shared);

impl Drop for IdleOnDrop<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.busy -= 1;
        state.panicked |= panicking();
    }
}

/// Takes the job back, and waits until no helper is busy with it.
struct DoneOnDrop<'a>(&'a Shared);

impl Drop for DoneOnDrop<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).job = None;
        let mut look = 0;
        while lock(&self.0.state).busy > 0 {
            if look < LOOKS {
                spin_loop()
            } else {
                yield_now()
            }
            look += 1;
        }
    }
}

/// Lets the helpers end, even if the leading thread panics.
struct EndOnDrop<'a, 'env> {
    workers: &'a Workers<'env>,
    shared: &'env Shared,
}

impl Drop for EndOnDrop<'_, '_> {
    fn drop(&mut self) {
        // A forked process has no helpers, and perhaps a lock that is taken.
        if self.workers.check().is_ok() {
            lock(&self.shared.state).is_over = true;
            self.shared.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_piece_of_every_job_is_done_once() {
        for helpers in [0, 1, 3] {
            scope(helpers, |helpers| {
                for pieces in (0..200).map(|job| job % 7) {
                    let done: Vec<_> = (0..pieces).map(|_| AtomicUsize::new(0)).collect();
                    helpers.run(pieces, &|piece| {
                        done[piece].fetch_add(1, Ordering::Relaxed);
                    })?;
                    assert!(done.iter().all(|times| times.load(Ordering::Relaxed) == 1));
                }
                Ok(())
            })
            .unwrap();
        }
    }

    #[test]
    fn helpers_take_part_also_after_they_slept() {
        scope(1, |helpers| {
            for _ in 0..3 {
                // Neither ends before the other has begun.
                let begun = AtomicUsize::new(0);
                helpers.run(2, &|_| {
                    begun.fetch_add(1, Ordering::Relaxed);
                    while begun.load(Ordering::Relaxed) < 2 {
                        yield_now();
                    }
                })?;
                std::thread::sleep(Duration::from_millis(20));
            }
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn a_panic_of_any_piece_ends_the_scope_and_nothing_comes_after_it() {
        for bad in 0..4 {
            let panicked = std::panic::catch_unwind(|| {
                scope(2, |helpers| {
                    helpers.run(4, &|piece| assert_ne!(piece, bad, "as it should"))?;
                    unreachable!()
                })
            });
            let panic = panicked.map(|_: Result<()>| ()).unwrap_err();
            assert!(panic.downcast_ref::<String>().unwrap().contains("as it should"));
        }
    }
}
