//! Encodes a text that arrives in pieces; ids are returned as soon as no later text can change them.

use std::sync::Arc;

use super::added::PassedOn;
use super::stages::Front;
use super::{Encoder, Model, Special, Workspace};
use crate::error::Result;
use crate::memory;
use crate::watch::Pulse;

/// Encodes a text that arrives in pieces; all ids together equal those of the joined text.
///
/// The text from the last safe cut on is buffered: a pretoken or two for the named patterns. With a pattern without safe
/// cuts, everything after the last added token is buffered, since later text might change its matches.
pub struct EncodeStream {
    encoder: Arc<Encoder>,
    special: Special,
    front: Front,
    ordinary: Ordinary,
}

/// The text for the model that has come through the stages.
#[derive(Clone, Default)]
struct Ordinary {
    pending: String,
    /// No settled place is in so much of the pending text: it is looked at once, however small the pieces are.
    searched: usize,
}

impl EncodeStream {
    /// Begin a text.
    pub fn new(encoder: Arc<Encoder>, special: Special) -> Self {
        Self { encoder, special, front: Front::new(), ordinary: Ordinary::default() }
    }

    /// A copy, which goes on by itself.
    pub fn copy(&self) -> Self {
        Self {
            encoder: Arc::clone(&self.encoder),
            special: self.special,
            front: self.front.clone(),
            ordinary: self.ordinary.clone(),
        }
    }

    /// Add the next piece of the text and append the ids that are now final. After an error the text is dropped.
    pub fn feed(
        &mut self,
        piece: &str,
        ids: &mut Vec<u32>,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let Self { encoder, special, front, ordinary } = self;
        let fed = front.feed(&encoder.stages, (*special).into(), piece, pulse, &mut |found, pulse| {
            ordinary.take(&encoder.model, found, ids, workspace, pulse)
        });
        fed.inspect_err(|_| self.begin_again())
    }

    /// End the text: append the remaining ids. A new text may then begin.
    pub fn finish(&mut self, ids: &mut Vec<u32>, workspace: &mut Workspace, pulse: &mut Pulse) -> Result<()> {
        let Self { encoder, special, front, ordinary } = self;
        let ended = front.finish(&encoder.stages, (*special).into(), pulse, &mut |found, pulse| {
            ordinary.take(&encoder.model, found, ids, workspace, pulse)
        });
        let ended = ended.and_then(|()| ordinary.end(&encoder.model, ids, workspace, pulse));
        self.begin_again();
        ended
    }

    fn begin_again(&mut self) {
        (self.front, self.ordinary) = (Front::new(), Ordinary::default());
    }
}

impl Ordinary {
    fn take(
        &mut self,
        model: &Model,
        found: PassedOn,
        ids: &mut Vec<u32>,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let text = match found {
            PassedOn::Text(text) => text,
            PassedOn::Token(_, id, _) => {
                self.end(model, ids, workspace, pulse)?;
                return memory::push(ids, id);
            }
        };
        memory::append(&mut self.pending, text)?;
        pulse.beat(self.pending.len() - self.searched)?;
        let place = model.settled(&self.pending, self.searched);
        self.searched = self.pending.len() - place;
        model.encode_ordinary(&self.pending[..place], ids, workspace, pulse)?;
        self.pending.drain(..place);
        Ok(())
    }

    fn end(
        &mut self,
        model: &Model,
        ids: &mut Vec<u32>,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        self.searched = 0;
        model.encode_ordinary(&std::mem::take(&mut self.pending), ids, workspace, pulse)
    }
}
