//! A growing text and its ids; the cost of appending depends only on the appended text.
//!
//! A *settled* place is one where the text may be cut, whatever follows: the ids before it never change again. The text
//! after the last settled place is encoded again whenever the end of the text changes.

use std::sync::Arc;

use super::special::Special;
use super::{Encoder, Workspace};
use crate::error::Result;
use crate::memory;
use crate::watch::Pulse;

/// A text, its ids, and its settled places.
pub struct Growing {
    encoder: Arc<Encoder>,
    special: Special<'static>,
    text: String,
    ids: Vec<u32>,
    /// In order; the beginning of the text is always settled, and not listed.
    settled: Vec<Settled>,
    workspace: Workspace,
}

/// A place in the text, and the number of ids before it.
#[derive(Clone, Copy, Default)]
struct Settled {
    place: usize,
    ids: usize,
}

impl Growing {
    /// Begin with an empty text.
    pub fn new(encoder: Arc<Encoder>, special: Special<'static>) -> Result<Self> {
        let (text, ids, settled) = (String::new(), Vec::new(), Vec::new());
        Ok(Self { encoder, special, text, ids, settled, workspace: Workspace::new()? })
    }

    /// The text so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The ids of the whole text.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The number of ids that no later text can change.
    pub fn settled_ids(&self) -> usize {
        self.last_settled().ids
    }

    /// Append text; returns the number of unchanged ids. After an error nothing has changed.
    pub fn append(&mut self, piece: &str, pulse: &mut Pulse) -> Result<usize> {
        let before = self.text.len();
        memory::append(&mut self.text, piece)?;
        self.renew(pulse).inspect_err(|_| self.text.truncate(before))
    }

    /// Where the text of the first `count` ids ends, in bytes; if they end within a character, where it begins.
    pub fn end_of(&self, count: usize) -> Result<usize> {
        self.encoder.check_tiles_text()?;
        let settled = self.settled.partition_point(|settled| settled.ids <= count);
        let known = self.settled[..settled].last().copied().unwrap_or_default();
        let ids = self.ids.iter().take(count).skip(known.ids);
        let lengths = ids.map(|&id| self.encoder.tokens().length(id).unwrap_or(0));
        let end = known.place + lengths.sum::<usize>();
        Ok((0..=end).rev().find(|place| self.text.is_char_boundary(*place)).unwrap_or(0))
    }

    /// Shorten the text to `length` bytes; returns the number of unchanged ids. After an error nothing has changed.
    pub fn truncate(&mut self, length: usize, pulse: &mut Pulse) -> Result<usize> {
        // A place was found to be settled by looking at the character after it, and at as much text as the longest special
        // token that might have begun before it.
        let seen = self.encoder.looked_for(self.special).longest().max(1);
        let remaining = self.settled.partition_point(|settled| settled.place + seen <= length);
        let dropped = self.settled.split_off(remaining);
        let rest = self.text.split_off(length);
        self.renew(pulse).inspect_err(|_| {
            self.text.push_str(&rest);
            self.settled.truncate(remaining);
            self.settled.extend(dropped);
        })
    }

    fn last_settled(&self) -> Settled {
        self.settled.last().copied().unwrap_or_default()
    }

    /// Encode the text after the last settled place again; returns the number of unchanged ids.
    fn renew(&mut self, pulse: &mut Pulse) -> Result<usize> {
        let Settled { place, ids: settled_ids } = self.last_settled();
        let open = &self.text[place..];
        let (newly_settled, last) = open.split_at(self.encoder.settled_end(open, self.special));
        let (encoder, special, workspace) = (&self.encoder, self.special, &mut self.workspace);
        let mut ids = Vec::new();
        encoder.encode(newly_settled, special, &mut ids, workspace, pulse)?;
        let settled = Settled { place: place + newly_settled.len(), ids: settled_ids + ids.len() };
        encoder.encode(last, special, &mut ids, workspace, pulse)?;
        workspace.release();
        memory::reserve(&mut self.ids, ids.len())?;
        if settled.place > place {
            memory::push(&mut self.settled, settled)?;
        }
        let same = self.ids[settled_ids..].iter().zip(&ids).take_while(|(before, now)| before == now).count();
        self.ids.truncate(settled_ids);
        self.ids.extend_from_slice(&ids);
        Ok(settled_ids + same)
    }
}
