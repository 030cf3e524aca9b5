//! Encodes a text that arrives in pieces; ids are returned as soon as no later text can change them.

use std::sync::Arc;

use super::settled::Settling;
use super::special::Special;
use super::{Encoder, Workspace};
use crate::error::Result;
use crate::memory;
use crate::watch::Pulse;

/// Encodes a text that arrives in pieces; all ids together equal those of the joined text.
///
/// The text from the last safe cut on is buffered: a pretoken or two for the named patterns. With a pattern without safe
/// cuts, everything after the last special token is buffered, since later text might change its matches.
pub struct EncodeStream {
    encoder: Arc<Encoder>,
    special: Special<'static>,
    pending: String,
    /// No settled place is in so much of the pending text: it is looked at once, however small the pieces are.
    searched: usize,
}

impl EncodeStream {
    /// Begin a text.
    pub fn new(encoder: Arc<Encoder>, special: Special<'static>) -> Self {
        Self { encoder, special, pending: String::new(), searched: 0 }
    }

    /// A copy, which goes on by itself.
    pub fn copy(&self) -> Result<Self> {
        let mut copy = Self::new(Arc::clone(&self.encoder), self.special);
        memory::append(&mut copy.pending, &self.pending)?;
        copy.searched = self.searched;
        Ok(copy)
    }

    /// Add the next piece of the text and append the ids that are now final. After an error the text is dropped.
    pub fn feed(
        &mut self,
        piece: &str,
        ids: &mut Vec<u32>,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        self.encode_settled(piece, ids, workspace, pulse).inspect_err(|_| drop(self.take_pending()))
    }

    /// End the text: append the remaining ids. A new text may then begin.
    pub fn finish(&mut self, ids: &mut Vec<u32>, workspace: &mut Workspace, pulse: &mut Pulse) -> Result<()> {
        let pending = self.take_pending();
        self.encoder.encode(&pending, self.special, ids, workspace, pulse)
    }

    fn encode_settled(
        &mut self,
        piece: &str,
        ids: &mut Vec<u32>,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        memory::append(&mut self.pending, piece)?;
        pulse.beat(self.pending.len() - self.searched)?;
        let Settling { place, sure } = self.encoder.settled(&self.pending, self.searched, self.special);
        self.searched = sure - place;
        self.encoder.encode(&self.pending[..place], self.special, ids, workspace, pulse)?;
        self.pending.drain(..place);
        Ok(())
    }

    /// The pending text; afterwards the stream is as new.
    fn take_pending(&mut self) -> String {
        self.searched = 0;
        std::mem::take(&mut self.pending)
    }
}
