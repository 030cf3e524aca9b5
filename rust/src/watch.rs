//! How a long call tells what it has done, and how it is stopped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

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

/// How often a call that is watched reports, and how much work may pass between two looks at the clock.
const INTERVAL: Duration = Duration::from_millis(100);
const BYTES_PER_LOOK: usize = 1 << 18;

/// The pulse of a call that works through bytes: the calling thread reports now and then, every other thread
/// looks whether it has been told to stop. The clock is first looked at when a good deal is done.
pub struct Pulse<'a> {
    beats_for: Beats<'a>,
    bytes: usize,
}

enum Beats<'a> {
    Watch { watch: &'a mut dyn Watch, last: Option<Instant> },
    Stop(&'a AtomicBool),
}

impl<'a> Pulse<'a> {
    /// The pulse of the calling thread.
    pub fn of(watch: &'a mut dyn Watch) -> Self {
        Self { beats_for: Beats::Watch { watch, last: None }, bytes: 0 }
    }

    /// The pulse of a thread that `stop` ends.
    pub fn until(stop: &'a AtomicBool) -> Self {
        Self { beats_for: Beats::Stop(stop), bytes: 0 }
    }

    /// So many bytes more are done; an error means that the call is to end.
    #[inline]
    pub fn beat(&mut self, bytes: usize) -> Result<()> {
        self.bytes += bytes;
        if self.bytes < BYTES_PER_LOOK { Ok(()) } else { self.check() }
    }

    /// Look at once.
    #[cold]
    pub fn check(&mut self) -> Result<()> {
        self.bytes = 0;
        match &mut self.beats_for {
            Beats::Watch { watch, last } => {
                let now = Instant::now();
                if now.duration_since(*last.get_or_insert(now)) < INTERVAL {
                    return Ok(());
                }
                *last = Some(now);
                watch.report(Stage::Encoding, 0, 0)
            }
            Beats::Stop(stop) if stop.load(Ordering::Relaxed) => Err(Error::Stopped),
            _ => Ok(()),
        }
    }
}
