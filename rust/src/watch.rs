//! How a long call tells what it has done, and how it is stopped.

use crate::error::Result;

/// The stages that a long call goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Text into counts; measured in bytes.
    Counting,
    /// Counts into merges; measured in merges.
    Merging,
}

impl Stage {
    /// The stage's name, as callers see it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counting => "counting",
            Self::Merging => "merging",
        }
    }
}

/// What a long call reports to, several times a second and always from the thread that made the call.
/// An error it returns ends the call, which passes that error on and leaves nothing behind.
pub trait Watch {
    /// `done` of `total` units of `stage` are finished (`total` is 0 where it cannot be known).
    fn report(&mut self, stage: Stage, done: u64, total: u64) -> Result<()>;
}

/// Nobody watches: the call runs to its end.
pub struct Unwatched;

impl Watch for Unwatched {
    fn report(&mut self, _: Stage, _: u64, _: u64) -> Result<()> {
        Ok(())
    }
}
