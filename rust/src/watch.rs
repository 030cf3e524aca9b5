//! How a long call tells what it has done, and how it is stopped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::memory;

/// The stages that a long call goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Text into counts; measured in bytes.
    Counting,
    /// Counts into merges; measured in merges.
    Merging,
    /// Text into ids; not measured.
    Encoding,
}

impl Stage {
    /// The stage's name, as callers see it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counting => "counting",
            Self::Merging => "merging",
            Self::Encoding => "encoding",
        }
    }
}

/// What a long call reports to, several times a second and always from the thread that made the call.
/// An error it returns ends the call, which passes that error on and leaves nothing behind.
pub trait Watch {
    /// `done` of `total` units of `stage` are finished (`total` is 0 where it cannot be known).
    fn report(&mut self, stage: Stage, done: u64, total: u64) -> Result<()>;

    /// So many documents have been counted.
    fn documents(&mut self, _so_far: u64) -> Result<()> {
        Ok(())
    }

    /// The work that begins now is expected to take about so many bytes of memory.
    fn expect(&mut self, _bytes: u64) -> Result<()> {
        Ok(())
    }
}

/// Nobody watches: the call runs to its end.
pub struct Unwatched;

impl Watch for Unwatched {
    fn report(&mut self, _: Stage, _: u64, _: u64) -> Result<()> {
        Ok(())
    }
}

/// How often a call that is watched reports, and how much work (bytes, slots or positions) may pass between two looks
/// at the clock: well below a hundredth of a second.
const INTERVAL: Duration = Duration::from_millis(100);
const WORK_PER_LOOK: usize = 1 << 17;

/// The pulse of a long call: the calling thread reports now and then, every other thread looks whether it has been
/// told to stop. The clock is first looked at when a good deal is done.
pub struct Pulse<'a> {
    beats_for: Beats<'a>,
    work: usize,
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

    /// The pulse of the calling thread in a stage of so many units (0 where it cannot be known).
    pub fn of_stage(watch: &'a mut dyn Watch, stage: Stage, total: u64) -> Self {
        let beats_for = Beats::Watch { watch, stage, done: 0, total, documents: 0, last: None };
        Self { beats_for, work: 0 }
    }

    /// The pulse of a thread that `stop` ends.
    pub fn until(stop: &'a AtomicBool) -> Self {
        Self { beats_for: Beats::Stop(stop), work: 0 }
    }

    /// So much more work is done; an error means that the call is to end.
    #[inline]
    pub fn beat(&mut self, work: usize) -> Result<()> {
        self.work += work;
        if self.work < WORK_PER_LOOK { Ok(()) } else { self.check() }
    }

    /// Look at once.
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

    /// Tell how many units of the stage are done, at the next report.
    pub fn finished(&mut self, units: usize) {
        if let Beats::Watch { done, .. } = &mut self.beats_for {
            *done = units as u64;
        }
    }

    /// Tell how many documents are done, at the next report.
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
                    // Tables that grow with the vocabulary grow slowly, and are not asked for each time.
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

    /// Tell how much memory the call is expected to take, before it takes it.
    pub fn expect(&mut self, bytes: u64) -> Result<()> {
        match &mut self.beats_for {
            Beats::Watch { watch, .. } => watch.expect(bytes),
            Beats::Stop(_) => Ok(()),
        }
    }
}
