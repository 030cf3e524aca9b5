//! The pulse of a long call: how it reports its progress, and how it is stopped.
//!
//! Hot loops call [`Pulse::beat`] with the amount of work done. Once enough work has passed, the calling thread looks at
//! the clock, and reports if the interval is over; worker threads only check a stop flag.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::memory;

/// The stages of a long call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Text to counts; measured in bytes.
    Counting,
    /// Counts to merges; measured in merges.
    Merging,
    /// Text to ids; not measured.
    Encoding,
}

impl Stage {
    /// The stage's name, as callers know it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counting => "counting",
            Self::Merging => "merging",
            Self::Encoding => "encoding",
        }
    }
}

/// Receives the reports of a long call, several times a second and always in the calling thread. An error that it
/// returns ends the call and is passed on.
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

/// The interval between reports, and the amount of work (bytes, slots or positions) between two looks at the clock,
/// which takes well below 10 ms.
const INTERVAL: Duration = Duration::from_millis(100);
const WORK_PER_CHECK: usize = 1 << 17;

/// The pulse of one thread: the calling thread reports, every other thread checks its stop flag.
pub struct Pulse<'a> {
    beats_for: Beats<'a>,
    work: usize,
    /// All work so far: tests count it.
    #[cfg(test)]
    pub total: usize,
}

enum Beats<'a> {
    Watch {
        watch: &'a mut dyn Watch,
        stage: Stage,
        done: u64,
        total: u64,
        documents: u64,
        last: Option<Instant>,
    },
    Stop(&'a AtomicBool),
}

impl<'a> Pulse<'a> {
    /// The pulse of the calling thread when it encodes.
    pub fn of(watch: &'a mut dyn Watch) -> Self {
        Self::of_stage(watch, Stage::Encoding, 0)
    }

    /// The pulse of the calling thread in a stage of `total` units (0 if unknown).
    pub fn of_stage(watch: &'a mut dyn Watch, stage: Stage, total: u64) -> Self {
        let beats_for = Beats::Watch { watch, stage, done: 0, total, documents: 0, last: None };
        Self::new(beats_for)
    }

    /// The pulse of a thread that `stop` ends.
    pub fn until(stop: &'a AtomicBool) -> Self {
        Self::new(Beats::Stop(stop))
    }

    fn new(beats_for: Beats<'a>) -> Self {
        Self {
            beats_for,
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
        match &mut self.beats_for {
            Beats::Watch { last, .. } => {
                let now = Instant::now();
                if now.duration_since(*last.get_or_insert(now)) < INTERVAL {
                    return Ok(());
                }
                *last = Some(now);
                self.report()
            }
            Beats::Stop(stop) if stop.load(Ordering::Relaxed) => Err(Error::Stopped),
            Beats::Stop(_) => Ok(()),
        }
    }

    /// Set the number of finished units for the next report.
    pub fn finished(&mut self, units: usize) {
        if let Beats::Watch { done, .. } = &mut self.beats_for {
            *done = units as u64;
        }
    }

    /// Set the number of finished documents for the next report.
    pub fn finished_documents(&mut self, so_far: u64) {
        if let Beats::Watch { documents, .. } = &mut self.beats_for {
            *documents = so_far;
        }
    }

    /// Report now.
    pub fn report(&mut self) -> Result<()> {
        match &mut self.beats_for {
            Beats::Watch { watch, stage, done, total, documents, .. } => {
                if *stage == Stage::Merging {
                    // Tables that grow with the vocabulary grow slowly and without a check of their own.
                    memory::ensure_spare()?;
                }
                if *documents > 0 {
                    watch.documents(*documents)?;
                }
                watch.report(*stage, *done, *total)
            }
            Beats::Stop(_) => Ok(()),
        }
    }

    /// Report the memory that the call is expected to take, before it takes it.
    pub fn expect(&mut self, bytes: u64) -> Result<()> {
        match &mut self.beats_for {
            Beats::Watch { watch, .. } => watch.expect(bytes),
            Beats::Stop(_) => Ok(()),
        }
    }
}
