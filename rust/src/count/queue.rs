//! Items that are counted by several threads while more of them come: numbered items in, the sum of what was counted
//! out, or the error of the first bad item.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use super::counter::Tally;
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::Pulse;
use crate::workers::{self, LOOK_EVERY, Workers, lock};

/// More threads than this are of no use to anybody.
const MOST_THREADS: usize = 256;

/// What the threads of one call share.
pub struct WorkQueue {
    backlog: Mutex<Backlog>,
    /// There is news for whoever waits: an item, a thread that left, or what [`WorkQueue::tell`] was called for.
    news: Condvar,
    failure: Mutex<Option<(usize, Error)>>,
    /// What is done.
    tally: Mutex<Tally>,
    /// Whether the call was stopped: what is being done need not be finished.
    pub stopped: AtomicBool,
}

/// Which items are to be done.
#[derive(Default)]
pub struct Backlog {
    /// The item that is begun next.
    next: usize,
    /// How many items there are so far.
    offered: usize,
    /// Whether no more of them come.
    ended: bool,
    /// How many threads are at work, or wait for it.
    busy: usize,
}

impl Backlog {
    /// No more items are begun.
    fn close(&mut self) {
        self.offered = self.next;
        self.ended = true;
    }

    /// Whether nothing that is offered now would be done.
    pub fn is_closed(&self) -> bool {
        self.ended
    }
}

/// What one thread does.
pub trait Worker {
    /// Do an item, and tell what was in it.
    fn work(&mut self, item: usize) -> Result<Tally>;

    /// Hand over what was done.
    fn finish(self) -> Result<()>;
}

/// Sees to it that there are so many threads, if so many items have yet to be begun; where the system starts none,
/// this thread does the items.
pub type StartThreads<'a> = dyn FnMut(usize) + 'a;

/// How many threads to use for so many items.
pub fn thread_count(wanted: Option<usize>, items: usize) -> usize {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    wanted.unwrap_or_else(cores).clamp(1, MOST_THREADS).min(items.max(1))
}

impl WorkQueue {
    pub fn new() -> Self {
        Self {
            backlog: Mutex::default(),
            news: Condvar::new(),
            failure: Mutex::new(None),
            tally: Mutex::default(),
            stopped: AtomicBool::new(false),
        }
    }

    /// Have items done, by each thread with a `worker` of its own, while `lead` offers them and starts threads. This
    /// thread does what they leave when `lead` has come to its end, which is all if there are none.
    ///
    /// Items are begun in order and one that was begun is finished, so that of several bad items the first is told.
    /// An error of `lead` comes after all items that it offered, unless it is an interrupt.
    pub fn work<W: Worker>(
        &self,
        pulse: &mut Pulse,
        worker: impl Fn() -> W + Sync,
        lead: impl FnOnce(&mut Pulse, &Workers, &mut StartThreads) -> Result<()>,
    ) -> Result<Tally> {
        memory::ensure_spare()?;
        let shift = |waits| self.shift(worker(), waits);
        let led = workers::scope(|workers| {
            let mut start_threads = |wanted: usize| {
                let missing = wanted.saturating_sub(workers.started());
                for _ in 0..memory::threads(self.not_begun().min(missing)) {
                    let (at_work, shift) = (AtWork::new(self), &shift);
                    let started = workers.start(move || {
                        let _at_work = at_work;
                        shift(true);
                    });
                    if !started {
                        break;
                    }
                }
                if workers.started() == 0 {
                    shift(false);
                }
            };
            let led = lead(pulse, workers, &mut start_threads);
            workers.check()?;
            self.change(|backlog| backlog.ended = true);
            let is_interrupt = matches!(led, Err(Error::Caller { interrupts: true, .. }));
            if !is_interrupt && workers.started() == 0 {
                shift(false);
            }
            let waited = if is_interrupt { Ok(()) } else { self.wait(pulse, workers, |_| false) };
            workers.check()?;
            let led = led.and(waited);
            if led.is_err() {
                self.stopped.store(true, Ordering::Relaxed);
                self.change(Backlog::close);
            }
            led
        });
        if matches!(led, Err(Error::Forked)) {
            return led.map(|()| Tally::default());
        }
        if let Some((_, error)) = lock(&self.failure).take() {
            return Err(error);
        }
        led?;
        self.look(pulse);
        pulse.report()?;
        Ok(*lock(&self.tally))
    }

    /// Wait until something holds or nobody is at work any more, and report meanwhile.
    pub fn wait(&self, pulse: &mut Pulse, workers: &Workers, until: impl Fn(&Backlog) -> bool) -> Result<()> {
        let mut backlog = lock(&self.backlog);
        while backlog.busy > 0 && !until(&backlog) {
            drop(self.news.wait_timeout(backlog, LOOK_EVERY));
            self.report(pulse, workers)?;
            backlog = lock(&self.backlog);
        }
        Ok(())
    }

    /// Report how much is done, unless that was a moment ago.
    pub fn report(&self, pulse: &mut Pulse, workers: &Workers) -> Result<()> {
        self.look(pulse);
        let reported = pulse.check();
        workers.check().and(reported)
    }

    /// Have the pulse know how much is done.
    fn look(&self, pulse: &mut Pulse) {
        let Tally { bytes, documents, .. } = *lock(&self.tally);
        pulse.finished(bytes as usize);
        pulse.finished_documents(documents);
    }

    /// Add items to those that are to be done.
    pub fn offer(&self, items: usize) {
        self.change(|backlog| {
            if !backlog.ended {
                backlog.offered += items;
            }
        });
    }

    /// Tell whoever waits that there is news.
    pub fn tell(&self) {
        self.change(|_| ());
    }

    fn change(&self, change: impl FnOnce(&mut Backlog)) {
        change(&mut lock(&self.backlog));
        self.news.notify_all();
    }

    /// Whether nothing that is offered now would be done.
    pub fn is_closed(&self) -> bool {
        lock(&self.backlog).is_closed()
    }

    fn not_begun(&self) -> usize {
        let backlog = lock(&self.backlog);
        backlog.offered - backlog.next
    }

    /// One thread's part; whether it `waits` for more items where all have been begun.
    fn shift<W: Worker>(&self, mut worker: W, waits: bool) {
        while let Some(item) = self.take(waits) {
            match worker.work(item) {
                Ok(done) => lock(&self.tally).add(&done),
                Err(error) => self.fail(item, error),
            }
        }
        if let Err(error) = worker.finish() {
            self.fail(usize::MAX, error);
        }
    }

    /// The item that is begun next.
    fn take(&self, waits: bool) -> Option<usize> {
        let mut backlog = lock(&self.backlog);
        while waits && !backlog.ended && backlog.next == backlog.offered {
            backlog = self.news.wait(backlog).unwrap_or_else(PoisonError::into_inner);
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

/// A thread is at work while it has this.
struct AtWork<'a>(&'a WorkQueue);

impl<'a> AtWork<'a> {
    fn new(crew: &'a WorkQueue) -> Self {
        crew.change(|backlog| backlog.busy += 1);
        Self(crew)
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.change(|backlog| {
            backlog.busy -= 1;
            if thread::panicking() {
                backlog.close();
            }
        });
    }
}
