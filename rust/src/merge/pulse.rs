//! Work units in, reports several times a second out.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::watch::{Stage, Watch};

/// Counts work and reports when a tenth of a second has passed.
pub struct Pulse<'w> {
    watch: &'w mut dyn Watch,
    reported: Instant,
    work: usize,
    /// Merges made.
    pub done: u64,
    /// Merges planned; 0 when nobody set a bound.
    pub total: u64,
}

/// Work (slots or positions looked at) between two looks at the clock: well below a hundredth of a second.
const STRIDE: usize = 1 << 17;
const INTERVAL: Duration = Duration::from_millis(100);

impl<'w> Pulse<'w> {
    pub fn new(watch: &'w mut dyn Watch, total: u64) -> Self {
        Self { watch, reported: Instant::now(), work: 0, done: 0, total }
    }

    /// Tells that so much more was done; an error means that the call must end.
    pub fn work(&mut self, work: usize) -> Result<()> {
        self.work += work;
        if self.work < STRIDE {
            return Ok(());
        }
        self.work = 0;
        if self.reported.elapsed() < INTERVAL {
            return Ok(());
        }
        self.reported = Instant::now();
        self.report()
    }

    /// Reports now.
    pub fn report(&mut self) -> Result<()> {
        self.watch.report(Stage::Merging, self.done, self.total)
    }
}
