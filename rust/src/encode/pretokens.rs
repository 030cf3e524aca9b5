//! Encodes pretokens that were counted, one by one and without the cache: each occurs once.

use super::Model;
use super::ordinary::Misses;
use crate::error::Result;
use crate::watch::Pulse;

/// Encodes pretokens on one thread.
pub struct PretokenEncoder<'a> {
    model: &'a Model,
    misses: Misses,
}

impl<'a> PretokenEncoder<'a> {
    pub fn new(model: &'a Model) -> Result<Self> {
        Ok(Self { model, misses: Misses::new()? })
    }

    /// Returns the ids of a pretoken.
    pub fn ids(&mut self, pretoken: &[u8], pulse: &mut Pulse) -> Result<&[u32]> {
        self.model.merge(pretoken, &mut self.misses, pulse)?;
        Ok(&self.misses.ids)
    }
}
