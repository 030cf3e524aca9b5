//! Work on several threads: numbered items in, the sum of what was counted out, or the error of the first bad item.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use super::counter::Tally;
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::{Stage, Watch};

/// More threads than this are of no use to anybody.
const MOST_THREADS: usize = 256;

/// How long the watch waits for a report.
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// What the threads of one call share.
pub struct Crew {
    items: usize,
    next: AtomicUsize,
    /// Items from here on need not be done: one before them failed, or the call was stopped.
    until: AtomicUsize,
    failure: Mutex<Option<(usize, Error)>>,
    /// How many bytes are done.
    done: AtomicU64,
    /// Whether the call was stopped: what is being done need not be finished.
    pub stopped: AtomicBool,
}

/// How many threads to use for so many items.
pub fn thread_count(wanted: Option<usize>, items: usize) -> usize {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    wanted.unwrap_or_else(cores).clamp(1, MOST_THREADS).min(items.max(1))
}

impl Crew {
    pub fn new(items: usize) -> Self {
        Self {
            items,
            next: AtomicUsize::new(0),
            until: AtomicUsize::new(items),
            failure: Mutex::new(None),
            done: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    /// Let every thread do items with a `member` of its own, until all are done. `total` is what is reported as the
    /// number of bytes to do.
    ///
    /// Items are begun in order and one that was begun is finished, so that of several bad items the first is told.
    pub fn work<M: Member>(
        &self,
        threads: usize,
        total: u64,
        before: u64,
        watch: &mut dyn Watch,
        member: impl Fn() -> M + Sync,
    ) -> Result<Tally> {
        memory::ensure_spare()?;
        let tally = Mutex::new(Tally::default());
        let shift = || {
            let done = self.shift(member());
            tally.lock().unwrap_or_else(PoisonError::into_inner).add(&done);
        };
        let watched = if threads == 1 && total < SMALL {
            shift();
            Ok(())
        } else {
            let threads = memory::threads(threads);
            thread::scope(|scope| {
                let (finished, news) = mpsc::channel::<()>();
                let mut started = 0;
                for _ in 0..threads {
                    let finished = finished.clone();
                    let shift = &shift;
                    let spawned = thread::Builder::new().spawn_scoped(scope, move || {
                        shift();
                        drop(finished);
                    });
                    if spawned.is_err() {
                        break;
                    }
                    started += 1;
                }
                // The threads that could be started do all the work; without any, this one does it.
                if started == 0 {
                    shift();
                }
                drop(finished);
                let watched = self.watch(&news, total, before, watch);
                self.stopped.store(watched.is_err(), Ordering::Relaxed);
                watched
            })
        };
        if let Some((_, error)) = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(error);
        }
        watched?;
        watch.report(Stage::Counting, before + self.done.load(Ordering::Relaxed), total)?;
        Ok(tally.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Report until every thread is done.
    fn watch(&self, news: &mpsc::Receiver<()>, total: u64, before: u64, watch: &mut dyn Watch) -> Result<()> {
        while news.recv_timeout(REPORT_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
            watch.report(Stage::Counting, before + self.done.load(Ordering::Relaxed), total)?;
        }
        Ok(())
    }

    /// One thread's part.
    fn shift<M: Member>(&self, mut member: M) -> Tally {
        loop {
            let item = self.next.fetch_add(1, Ordering::Relaxed);
            if item >= self.until.load(Ordering::Relaxed) || self.stopped.load(Ordering::Relaxed) {
                break;
            }
            if let Err(error) = member.work(item) {
                self.fail(item, error);
            }
        }
        member.finish().unwrap_or_else(|error| {
            self.fail(self.items, error);
            Tally::default()
        })
    }

    /// Note that so many bytes are done.
    pub fn did(&self, bytes: usize) {
        self.done.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn fail(&self, item: usize, error: Error) {
        self.until.fetch_min(item, Ordering::Relaxed);
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.as_ref().is_none_or(|(first, _)| item < *first) {
            *failure = Some((item, error));
        }
    }
}

/// Below so many bytes a thread costs more than it brings.
const SMALL: u64 = 1 << 16;

/// What one thread does.
pub trait Member {
    /// Do an item.
    fn work(&mut self, item: usize) -> Result<()>;

    /// Hand over what was done.
    fn finish(self) -> Result<Tally>;
}
