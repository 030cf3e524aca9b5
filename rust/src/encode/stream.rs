//! Text in pieces in, ids out as soon as no later text can change them.

use std::sync::Arc;

use super::special::Special;
use super::{Encoder, Workspace, character_start};
use crate::error::Result;
use crate::memory;
use crate::watch::Pulse;

/// How far back the first look for a place to cut goes; each further look goes four times as far.
const FIRST_LOOK: usize = 64;

/// Encodes a text that arrives in pieces; all ids together are those of the joined text.
///
/// It holds back the text from the last safe cut on: a pretoken or two for the named patterns. A pattern without
/// safe cuts is held back up to the last special token, since any later text might change its matches.
pub struct EncodeStream {
    encoder: Arc<Encoder>,
    special: Special,
    pending: String,
    /// How long the pending text must be before another look for a cut: tiny pieces of a text that cannot be cut
    /// must not each cost a look through all of it.
    worth_a_look: usize,
    workspace: Workspace,
}

impl EncodeStream {
    /// Begin a text.
    pub fn new(encoder: Arc<Encoder>, special: Special) -> Result<Self> {
        let workspace = Workspace::new()?;
        Ok(Self { encoder, special, pending: String::new(), worth_a_look: 0, workspace })
    }

    /// Take the next piece of the text and append the ids that are now final. After an error the text is dropped.
    pub fn feed(&mut self, piece: &str, ids: &mut Vec<u32>, pulse: &mut Pulse) -> Result<()> {
        memory::append(&mut self.pending, piece)?;
        let end = self.settled_end();
        let encoded =
            self.encoder.encode(&self.pending[..end], self.special, ids, &mut self.workspace, pulse);
        self.pending.drain(..if encoded.is_ok() { end } else { self.pending.len() });
        encoded
    }

    /// The text is complete: append the ids that were held back. A new text may then begin.
    pub fn finish(&mut self, ids: &mut Vec<u32>, pulse: &mut Pulse) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        self.encoder.encode(&pending, self.special, ids, &mut self.workspace, pulse)
    }

    /// Up to where the pending text may be encoded by itself.
    fn settled_end(&mut self) -> usize {
        if self.pending.len() < self.worth_a_look {
            return 0;
        }
        let end = self.last_cut();
        self.worth_a_look = if end == 0 { self.pending.len() * 5 / 4 } else { 0 };
        if self.pending.len() < FIRST_LOOK {
            self.worth_a_look = 0;
        }
        end
    }

    /// The last place where the pending text may be cut whatever follows, or 0.
    fn last_cut(&self) -> usize {
        let (start, sure_end) = self.last_segment();
        let ordinary = &self.pending[start..sure_end];
        let mut back = FIRST_LOOK;
        loop {
            let look = character_start(ordinary, ordinary.len().saturating_sub(back));
            match self.last_safe_cut(ordinary, look) {
                Some(cut) => return start + cut,
                None if look == 0 => return start,
                None => back *= 4,
            }
        }
    }

    fn last_safe_cut(&self, text: &str, from: usize) -> Option<usize> {
        let mut last = None;
        let mut from = from;
        while let Some(cut) = self.encoder.pattern.safe_cut(text, from).filter(|&cut| cut < text.len()) {
            last = Some(cut);
            from = cut + text[cut..].chars().next().map_or(1, char::len_utf8);
        }
        last
    }

    /// Where the ordinary text after the last settled special token begins, and up to where it is sure to be
    /// ordinary: a special token that begins behind that place may still be completed, or become a longer one.
    fn last_segment(&self) -> (usize, usize) {
        let text = &self.pending;
        let longest = self.encoder.special_tokens.longest();
        if self.special == Special::Text || longest == 0 {
            return (0, text.len());
        }
        let sure_end = (text.len() + 1).saturating_sub(longest);
        let mut start = 0;
        while let Some((found, _)) = self.encoder.special_tokens.find(text, start) {
            if found.start >= sure_end {
                break;
            }
            start = found.end;
        }
        (start, character_start(text, sure_end.max(start)))
    }
}
