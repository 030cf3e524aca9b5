//! A queue of numbered items that workers count while more are offered. The result is the sum of all tallies, or the
//! error of the first bad item.
//!
//! Items are begun in order, and one that was begun is always finished. So the reported error does not depend on timing:
//! it is that of the lowest bad item. If no thread can be started, the calling thread does all the work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use super::counter::Tally;
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::Pulse;
use crate::workers::{self, CHECK_INTERVAL, Workers, lock};

/// The state that the threads of one call share.
pub struct WorkQueue {
    backlog: Mutex<Backlog>,
    /// Signals any change: a new item, a thread that ended, or a call of [`WorkQueue::notify`].
    changed: Condvar,
    failure: Mutex<Option<(usize, Error)>>,
    /// The sum of the finished items.
    tally: Mutex<Tally>,
    /// Whether the call was stopped: workers may give up the items they are at.
    pub stopped: AtomicBool,
}

/// The items that are still to be counted.
#[derive(Default)]
pub struct Backlog {
    /// The next item to begin.
    next: usize,
    /// The number of items so far.
    offered: usize,
    /// Whether no more items will be offered.
    ended: bool,
    /// The number of threads that work or wait for an item.
    busy: usize,
}

impl Backlog {
    /// Drop all items that are not begun, and accept no more.
    fn close(&mut self) {
        self.offered = self.next;
        self.ended = true;
    }

    /// Whether the backlog accepts no more items.
    pub fn is_closed(&self) -> bool {
        self.ended
    }
}

/// The work of one thread.
pub trait Worker {
    /// Count an item and return its tally.
    fn work(&mut self, item: usize) -> Result<Tally>;

    /// Flush the results that are still buffered.
    fn finish(self) -> Result<()>;
}

/// Starts threads until there are as many as wanted, but no more than items waiting. If the system refuses even one,
/// the calling thread does the work.
pub type StartThreads<'a> = dyn FnMut(usize) + 'a;

impl WorkQueue {
    pub fn new() -> Self {
        Self {
            backlog: Mutex::default(),
            changed: Condvar::new(),
            failure: Mutex::new(None),
            tally: Mutex::default(),
            stopped: AtomicBool::new(false),
        }
    }

    /// Run `lead`, which offers items and starts threads, each with its own `worker`. Without any thread, the calling
    /// thread does the work after `lead` has returned.
    ///
    /// An error of an item takes precedence over an error of `lead`, whose offered items are finished first, unless it is
    /// an interrupt.
    pub fn work<W: Worker>(
        &self,
        pulse: &mut Pulse,
        worker: impl Fn() -> Result<W> + Sync,
        lead: impl FnOnce(&mut Pulse, &Workers, &mut StartThreads) -> Result<()>,
    ) -> Result<Tally> {
        memory::ensure_spare()?;
        let run_worker = |waits| self.run_worker(worker(), waits);
        let led = workers::scope(|workers| {
            let _closed = CloseOnPanic { queue: self, workers };
            let mut start_threads = |wanted: usize| {
                let missing = wanted.saturating_sub(workers.started());
                for _ in 0..memory::threads(self.not_begun().min(missing)) {
                    let (busy, run_worker) = (BusyGuard::new(self), &run_worker);
                    let started = workers.start(move || {
                        let _busy = busy;
                        run_worker(true);
                    });
                    if !started {
                        break;
                    }
                }
                if workers.started() == 0 {
                    run_worker(false);
                }
            };
            let led = lead(pulse, workers, &mut start_threads);
            workers.check()?;
            self.change(|backlog| backlog.ended = true);
            let is_interrupt = matches!(led, Err(Error::Caller { interrupts: true, .. }));
            if !is_interrupt && workers.started() == 0 {
                run_worker(false);
            }
            let waited = if is_interrupt { Ok(()) } else { self.wait(pulse, workers, |_| false) };
            workers.check()?;
            led.and(waited).inspect_err(|_| self.stop())
        });
        if matches!(led, Err(Error::Forked)) {
            return led.map(|()| Tally::default());
        }
        if let Some((_, error)) = lock(&self.failure).take() {
            return Err(error);
        }
        led?;
        self.update(pulse);
        pulse.report()?;
        Ok(*lock(&self.tally))
    }

    /// Wait until a condition holds or no thread is at work, and report meanwhile.
    pub fn wait(&self, pulse: &mut Pulse, workers: &Workers, until: impl Fn(&Backlog) -> bool) -> Result<()> {
        let mut backlog = lock(&self.backlog);
        while backlog.busy > 0 && !until(&backlog) {
            drop(self.changed.wait_timeout(backlog, CHECK_INTERVAL));
            self.report(pulse, workers)?;
            backlog = lock(&self.backlog);
        }
        Ok(())
    }

    /// Report the progress, if the last report is not too recent.
    pub fn report(&self, pulse: &mut Pulse, workers: &Workers) -> Result<()> {
        self.update(pulse);
        let reported = pulse.check();
        workers.check().and(reported)
    }

    /// Pass the progress to the pulse.
    fn update(&self, pulse: &mut Pulse) {
        let Tally { bytes, documents, .. } = *lock(&self.tally);
        pulse.finished(bytes as usize);
        pulse.finished_documents(documents);
    }

    /// Add items to the backlog.
    pub fn offer(&self, items: usize) {
        self.change(|backlog| {
            if !backlog.ended {
                backlog.offered += items;
            }
        });
    }

    /// Wake all threads that wait.
    pub fn notify(&self) {
        self.change(|_| ());
    }

    /// Begin no more items, and give up those that were begun.
    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.change(Backlog::close);
    }

    fn change(&self, change: impl FnOnce(&mut Backlog)) {
        change(&mut lock(&self.backlog));
        self.changed.notify_all();
    }

    /// Whether the queue accepts no more items.
    pub fn is_closed(&self) -> bool {
        lock(&self.backlog).is_closed()
    }

    fn not_begun(&self) -> usize {
        let backlog = lock(&self.backlog);
        backlog.offered - backlog.next
    }

    /// The loop of one thread. With `waits` it waits for more items; otherwise it ends when there are none.
    fn run_worker<W: Worker>(&self, worker: Result<W>, waits: bool) {
        let finished = worker.and_then(|mut worker| {
            while let Some(item) = self.next_item(waits) {
                match worker.work(item) {
                    Ok(done) => lock(&self.tally).add(&done),
                    Err(error) => self.fail(item, error),
                }
            }
            worker.finish()
        });
        if let Err(error) = finished {
            self.fail(usize::MAX, error);
        }
    }

    /// Take the next item to begin.
    fn next_item(&self, waits: bool) -> Option<usize> {
        let mut backlog = lock(&self.backlog);
        while waits && !backlog.ended && backlog.next == backlog.offered {
            backlog = self.changed.wait(backlog).unwrap_or_else(PoisonError::into_inner);
        }
        let item = backlog.next;
        (item < backlog.offered).then(|| {
            backlog.next += 1;
            item
        })
    }

    fn fail(&self, item: usize, error: Error) {
        self.change(Backlog::close);
        let mut failure = lock(&self.failure);
        if failure.as_ref().is_none_or(|(first, _)| item < *first) {
            *failure = Some((item, error));
        }
    }
}

/// Stops the queue if the leading thread panics: workers would wait for its items, and it for them.
struct CloseOnPanic<'a, 'env> {
    queue: &'a WorkQueue,
    workers: &'a Workers<'env>,
}

impl Drop for CloseOnPanic<'_, '_> {
    fn drop(&mut self) {
        // A forked process has no workers, and perhaps a lock that is taken.
        if thread::panicking() && self.workers.check().is_ok() {
            self.queue.stop();
        }
    }
}

/// Counts a thread as busy for as long as this value lives.
struct BusyGuard<'a>(&'a WorkQueue);

impl<'a> BusyGuard<'a> {
    fn new(queue: &'a WorkQueue) -> Self {
        queue.change(|backlog| backlog.busy += 1);
        Self(queue)
    }
}

impl Drop for BusyGuard<'_> {
    fn drop(&mut self) {
        self.0.change(|backlog| {
            backlog.busy -= 1;
            if thread::panicking() {
                backlog.close();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::watch::Unwatched;

    /// Panics at an item.
    struct PanicsAt(usize);

    impl Worker for PanicsAt {
        fn work(&mut self, item: usize) -> Result<Tally> {
            assert_ne!(item, self.0, "as it should");
            Ok(Tally::default())
        }

        fn finish(self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_panic_of_any_thread_ends_the_work() {
        for (threads, leads) in [(1, true), (2, true), (5, true), (1, false), (2, false), (5, false)] {
            let queue = WorkQueue::new();
            let worker = || Ok(PanicsAt(if leads { usize::MAX } else { 3 }));
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                queue.work(&mut Pulse::of(&mut Unwatched), worker, |pulse, workers, start_threads| {
                    queue.offer(9);
                    start_threads(threads);
                    assert!(!leads, "as it should");
                    queue.wait(pulse, workers, |_| false)
                })
            }));
            let panic = panicked.unwrap_err();
            let message = panic.downcast_ref::<String>().map(String::as_str);
            assert!(message.or(panic.downcast_ref().copied()).unwrap().contains("as it should"));
            assert!(queue.is_closed());
        }
    }
}
