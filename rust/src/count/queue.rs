//! The work of one call: numbered items that workers count while more are offered, and what was counted so far.

use std::sync::Mutex;

use super::counter::Tally;
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::Pulse;
use crate::workers::{Queue, Team, Worker, lead, lock};

/// What the threads of a call share.
#[derive(Default)]
pub struct Counting {
    pub queue: Queue<()>,
    /// The sum of the finished items.
    pub tally: Mutex<Tally>,
}

impl Counting {
    /// Run `offer`, which offers items and starts threads, each with its own `worker`, until all is counted.
    ///
    /// An error of an item takes precedence over an error of `offer`, whose offered items are finished first, unless it is
    /// an interrupt.
    pub fn work<W: Worker<()>>(
        &self,
        pulse: &mut Pulse,
        worker: impl Fn() -> Result<W> + Sync,
        offer: impl FnOnce(&Team<(), W>, &mut Pulse) -> Result<()>,
    ) -> Result<()> {
        memory::ensure_spare()?;
        lead(&self.queue, &worker, pulse, |team, pulse| {
            let offered = offer(team, pulse);
            team.check()?;
            if matches!(offered, Err(Error::Caller { interrupts: true, .. })) {
                return offered;
            }
            self.queue.close();
            if team.started() == 0 {
                team.work(pulse)?;
            }
            team.wait(pulse, |_| false, |pulse| self.report(pulse))?;
            offered
        })?;
        self.update(pulse);
        pulse.report()
    }

    /// Start threads until there are as many as wanted, but no more than items waiting. If the system refuses even one,
    /// this thread does the work.
    pub fn start<W: Worker<()>>(&self, threads: usize, team: &Team<(), W>, pulse: &mut Pulse) -> Result<()> {
        team.start(threads.min(team.started() + self.queue.not_begun()), pulse);
        if team.started() == 0 { team.work(pulse) } else { Ok(()) }
    }

    /// Report the progress, if the last report is not too recent.
    pub fn report(&self, pulse: &mut Pulse) -> Result<()> {
        self.update(pulse);
        pulse.check()
    }

    /// Pass the progress to the pulse.
    fn update(&self, pulse: &mut Pulse) {
        let Tally { bytes, documents, .. } = *lock(&self.tally);
        pulse.finished = bytes;
        pulse.finished_documents = documents;
    }
}
