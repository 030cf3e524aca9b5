//! Work units in, reports several times a second out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::memory;
use crate::watch::{Stage, Watch};

/// Counts work. In the calling thread it reports when a tenth of a second has passed; in others it looks whether
/// the call has ended.
pub struct Pulse<'w> {
    beat: Beat<'w>,
    work: usize,
}

enum Beat<'w> {
    Watched { watch: &'w mut dyn Watch, reported: Instant, done: u64, total: u64 },
    Ended(&'w AtomicBool),
}

/// Work (slots or positions looked at) between two looks at the clock: well below a hundredth of a second.
const STRIDE: usize = 1 << 17;
const INTERVAL: Duration = Duration::from_millis(100);

impl<'w> Pulse<'w> {
    /// The calling thread's, with the number of merges planned (0 when nobody set a bound).
    pub fn new(watch: &'w mut dyn Watch, total: u64) -> Self {
        Self { beat: Beat::Watched { watch, reported: Instant::now(), done: 0, total }, work: 0 }
    }

    /// A helping thread's.
    pub fn helping(ended: &'w AtomicBool) -> Self {
        Self { beat: Beat::Ended(ended), work: 0 }
    }

    /// Tells how much memory the call is expected to take, before it takes it.
    pub fn expect(&mut self, bytes: u64) -> Result<()> {
        match &mut self.beat {
            Beat::Watched { watch, .. } => watch.expect(bytes),
            Beat::Ended(_) => Ok(()),
        }
    }

    /// Tells that so much more was done; an error means that the call must end.
    pub fn work(&mut self, work: usize) -> Result<()> {
        self.work += work;
        if self.work < STRIDE {
            return Ok(());
        }
        self.work = 0;
        self.look()
    }

    /// Looks at the clock now.
    pub fn look(&mut self) -> Result<()> {
        match &mut self.beat {
            Beat::Watched { reported, .. } if reported.elapsed() < INTERVAL => Ok(()),
            Beat::Watched { .. } => self.report(),
            Beat::Ended(ended) if ended.load(Ordering::Relaxed) => {
                Err(Error::Value("the call has ended".to_string()))
            }
            Beat::Ended(_) => Ok(()),
        }
    }

    /// Tells how many merges were made.
    pub fn merged(&mut self, merges: usize) {
        if let Beat::Watched { done, .. } = &mut self.beat {
            *done = merges as u64;
        }
    }

    /// Reports now.
    pub fn report(&mut self) -> Result<()> {
        match &mut self.beat {
            Beat::Watched { watch, reported, done, total } => {
                // Tables that grow with the vocabulary grow slowly, and are not asked for each time.
                memory::ensure_spare()?;
                *reported = Instant::now();
                watch.report(Stage::Merging, *done, *total)
            }
            Beat::Ended(_) => Ok(()),
        }
    }
}
