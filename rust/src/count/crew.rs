//! Work on several threads: numbered items in, the sum of what was counted out, or the error of the first bad item.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::counter::{Tally, lock};
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::Pulse;

/// More threads than this are of no use to anybody.
const MOST_THREADS: usize = 256;

/// How long whoever waits does so without a look at the clock.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What the threads of one call share.
pub struct Crew {
    agenda: Mutex<Agenda>,
    /// There is news for whoever waits: an item, a thread that left, or what [`Crew::tell`] was called for.
    news: Condvar,
    failure: Mutex<Option<(usize, Error)>>,
    /// What is done.
    tally: Mutex<Tally>,
    /// Whether the call was stopped: what is being done need not be finished.
    pub stopped: AtomicBool,
}

/// Which items are to be done.
#[derive(Default)]
pub struct Agenda {
    /// The item that is begun next.
    next: usize,
    /// How many items there are so far.
    offered: usize,
    /// Whether no more of them come.
    ended: bool,
    /// How many threads are at work, or wait for it.
    busy: usize,
}

impl Agenda {
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
pub trait Member {
    /// Do an item, and tell what was in it.
    fn work(&mut self, item: usize) -> Result<Tally>;

    /// Hand over what was done.
    fn finish(self) -> Result<()>;
}

/// Sees to it that there are so many threads, if so many items have yet to be begun; where the system starts none,
/// this thread does the items.
pub type Hire<'a> = dyn FnMut(usize) + 'a;

/// How many threads to use for so many items.
pub fn thread_count(wanted: Option<usize>, items: usize) -> usize {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    wanted.unwrap_or_else(cores).clamp(1, MOST_THREADS).min(items.max(1))
}

impl Crew {
    pub fn new() -> Self {
        Self {
            agenda: Mutex::default(),
            news: Condvar::new(),
            failure: Mutex::new(None),
            tally: Mutex::default(),
            stopped: AtomicBool::new(false),
        }
    }

    /// Have items done, by each thread with a `member` of its own, while `lead` offers them and hires threads. This
    /// thread does what they leave when `lead` has come to its end, which is all if there are none.
    ///
    /// Items are begun in order and one that was begun is finished, so that of several bad items the first is told.
    /// An error of `lead` comes after all items that it offered, unless it is an interrupt.
    pub fn work<M: Member>(
        &self,
        pulse: &mut Pulse,
        member: impl Fn() -> M + Sync,
        lead: impl FnOnce(&mut Pulse, &mut Hire) -> Result<()>,
    ) -> Result<Tally> {
        memory::ensure_spare()?;
        let shift = |waits| self.shift(member(), waits);
        let led = thread::scope(|scope| {
            let mut hired = 0;
            let mut hire = |wanted: usize| {
                for _ in 0..memory::threads(self.not_begun().min(wanted.saturating_sub(hired))) {
                    let at_work = AtWork::new(self);
                    let shift = &shift;
                    let spawned = thread::Builder::new().spawn_scoped(scope, move || {
                        let _at_work = at_work;
                        shift(true);
                    });
                    if spawned.is_err() {
                        break;
                    }
                    hired += 1;
                }
                if hired == 0 {
                    shift(false);
                }
            };
            let led = lead(pulse, &mut hire);
            self.change(|agenda| agenda.ended = true);
            let is_interrupt = matches!(led, Err(Error::Caller { interrupts: true, .. }));
            if !is_interrupt && hired == 0 {
                shift(false);
            }
            let waited = if is_interrupt { Ok(()) } else { self.wait(pulse, |_| false) };
            let led = led.and(waited);
            if led.is_err() {
                self.stopped.store(true, Ordering::Relaxed);
                self.change(Agenda::close);
            }
            led
        });
        if let Some((_, error)) = lock(&self.failure).take() {
            return Err(error);
        }
        led?;
        self.look(pulse);
        pulse.report()?;
        Ok(*lock(&self.tally))
    }

    /// Wait until something holds or nobody is at work any more, and report meanwhile.
    pub fn wait(&self, pulse: &mut Pulse, until: impl Fn(&Agenda) -> bool) -> Result<()> {
        let mut agenda = lock(&self.agenda);
        while agenda.busy > 0 && !until(&agenda) {
            let waited = self.news.wait_timeout(agenda, LOOK_EVERY);
            drop(waited);
            self.report(pulse)?;
            agenda = lock(&self.agenda);
        }
        Ok(())
    }

    /// Report how much is done, unless that was a moment ago.
    pub fn report(&self, pulse: &mut Pulse) -> Result<()> {
        self.look(pulse);
        pulse.check()
    }

    /// Have the pulse know how much is done.
    fn look(&self, pulse: &mut Pulse) {
        let Tally { bytes, documents, .. } = *lock(&self.tally);
        pulse.finished(bytes as usize);
        pulse.finished_documents(documents);
    }

    /// Add items to those that are to be done.
    pub fn offer(&self, items: usize) {
        self.change(|agenda| {
            if !agenda.ended {
                agenda.offered += items;
            }
        });
    }

    /// Tell whoever waits that there is news.
    pub fn tell(&self) {
        self.change(|_| ());
    }

    fn change(&self, change: impl FnOnce(&mut Agenda)) {
        change(&mut lock(&self.agenda));
        self.news.notify_all();
    }

    /// Whether nothing that is offered now would be done.
    pub fn is_closed(&self) -> bool {
        lock(&self.agenda).is_closed()
    }

    fn not_begun(&self) -> usize {
        let agenda = lock(&self.agenda);
        agenda.offered - agenda.next
    }

    /// One thread's part; whether it `waits` for more items where all have been begun.
    fn shift<M: Member>(&self, mut member: M, waits: bool) {
        while let Some(item) = self.take(waits) {
            match member.work(item) {
                Ok(done) => lock(&self.tally).add(&done),
                Err(error) => self.fail(item, error),
            }
        }
        if let Err(error) = member.finish() {
            self.fail(usize::MAX, error);
        }
    }

    /// The item that is begun next.
    fn take(&self, waits: bool) -> Option<usize> {
        let mut agenda = lock(&self.agenda);
        while waits && !agenda.ended && agenda.next == agenda.offered {
            agenda = self.news.wait(agenda).unwrap_or_else(PoisonError::into_inner);
        }
        let item = agenda.next;
        (item < agenda.offered).then(|| {
            agenda.next += 1;
            item
        })
    }

    fn fail(&self, item: usize, error: Error) {
        self.change(Agenda::close);
        let mut failure = lock(&self.failure);
        if failure.as_ref().is_none_or(|(first, _)| item < *first) {
            *failure = Some((item, error));
        }
    }
}

/// A thread is at work while it has this.
struct AtWork<'a>(&'a Crew);

impl<'a> AtWork<'a> {
    fn new(crew: &'a Crew) -> Self {
        crew.change(|agenda| agenda.busy += 1);
        Self(crew)
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.change(|agenda| {
            agenda.busy -= 1;
            if thread::panicking() {
                agenda.close();
            }
        });
    }
}
