//! The pulse of a long call: how it reports its progress, and how it is stopped.
//!
//! Hot loops call [`Pulse::beat`] with the amount of work done. Once enough work has passed, the
//! calling thread looks at the clock, and reports if the interval is over; worker threads only
//! check a stop flag.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::memory;

/// A stage of a long call: its name, as callers know it.
pub type Stage = &'static str;

/// Text to counts; measured in bytes.
pub const COUNTING: Stage = "counting";
/// Counts to merges; measured in merges.
pub const MERGING: Stage = "merging";
/// Text to ids; not measured.
pub const ENCODING: Stage = "encoding";

/// Receives the reports of a long call, several times a second and always in the calling thread. An
/// error that it returns ends the call and is passed on.
pub trait Watch: Send {
    /// `done` of `total` units of `stage` are finished (`total` is 0 if unknown).
    fn report(&mut self, stage: Stage, done: u64, total: u64) -> Result<()>;

    /// The number of documents counted so far.
    fn documents(&mut self, _so_far: u64) -> Result<()> {
        Ok(())
    }

    /// The expected memory, in bytes, of the work that begins now.
    fn expect(&mut self, _bytes: u64) -> Result<()> {
        Ok(())
    }
}

/// No watch: the call runs to its end.
pub struct Unwatched;

impl Watch for Unwatched {
    fn report(&mut self, _: Stage, _: u64, _: u64) -> Result<()> {
        Ok(())
    }
}

/// The interval between reports, and the amount of work (bytes, slots or positions) between two
/// looks at the clock, which takes well below 10 ms.
const INTERVAL: Duration = Duration::from_millis(100);
const WORK_PER_CHECK: usize = 1 << 17;

/// The pulse of one thread: the calling thread reports, every other thread checks its stop flag.
pub struct Pulse<'a> {
    beats_for: Beats<'a>,
    stage: Stage,
    /// The number of units in all, or 0, and those that are finished.
    units: u64,
    pub finished: u64,
    pub finished_documents: u64,
    /// The process that has the threads of this call, if there are any. A report that returns in
    /// another one, which was forked meanwhile and does not have them, ends the call there.
    pub process: Option<u32>,
    last: Option<Instant>,
    work: usize,
    /// All work so far: tests count it.
    #[cfg(test)]
    pub total: usize,
}

enum Beats<'a> {
    Watch(&'a mut dyn Watch),
    Stop(&'a AtomicBool),
}

impl<'a> Pulse<'a> {
    /// The pulse of the calling thread when it encodes.
    pub fn of(watch: &'a mut dyn Watch) -> Self {
        Self::of_stage(watch, ENCODING, 0)
    }

    /// The pulse of the calling thread in a stage of so many units (0 if unknown).
    pub fn of_stage(watch: &'a mut dyn Watch, stage: Stage, units: u64) -> Self {
        Self::new(Beats::Watch(watch), stage, units)
    }

    /// The pulse of a thread that `stop` ends.
    pub fn until(stop: &'a AtomicBool) -> Self {
        Self::new(Beats::Stop(stop), ENCODING, 0)
    }

    fn new(beats_for: Beats<'a>, stage: Stage, units: u64) -> Self {
        Self {
            beats_for,
            stage,
            units,
            finished: 0,
            finished_documents: 0,
            process: None,
            last: None,
            work: 0,
            #[cfg(test)]
            total: 0,
        }
    }

    /// Record that `work` is done; an error means that the call must end.
    #[inline]
    pub fn beat(&mut self, work: usize) -> Result<()> {
        self.work += work;
        #[cfg(test)]
        {
            self.total += work;
        }
        if self.work < WORK_PER_CHECK { Ok(()) } else { self.check() }
    }

    /// Check now: report if the interval is over, or fail if stopped.
    #[cold]
    pub fn check(&mut self) -> Result<()> {
        self.work = 0;
        if let Beats::Stop(stop) = &self.beats_for {
            return if stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) };
        }
        let now = Instant::now();
        if now.duration_since(*self.last.get_or_insert(now)) < INTERVAL {
            return Ok(());
        }
        self.last = Some(now);
        self.report()
    }

    /// Report now.
    pub fn report(&mut self) -> Result<()> {
        let Beats::Watch(watch) = &mut self.beats_for else { return Ok(()) };
        if self.stage == MERGING {
            // Tables that grow with the vocabulary grow slowly and without a check of their own.
            memory::ensure_spare()?;
        }
        if self.finished_documents > 0 {
            watch.documents(self.finished_documents)?;
        }
        let reported = watch.report(self.stage, self.finished, self.units);
        if self.process.is_some_and(|process| process != std::process::id()) {
            return Err(Error::Forked);
        }
        reported
    }

    /// Report the memory that the call is expected to take, before it takes it.
    pub fn expect(&mut self, bytes: u64) -> Result<()> {
        match &mut self.beats_for {
            Beats::Watch(watch) => watch.expect(bytes),
            Beats::Stop(_) => Ok(()),
        }
    }
}
