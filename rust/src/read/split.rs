//! Splits blocks of text into texts that end at a separator.

use std::mem;
use std::ops::Range;

use memchr::memmem::Finder;

use super::{JoinedTexts, room_for};
use crate::error::Result;
use crate::memory;

/// Texts between separators.
pub struct SplitTexts {
    /// `None`: nothing ends a text.
    separator: Option<Finder<'static>>,
    /// The texts that have an end, with the separators between them, and the beginning of one that has none yet.
    pub bytes: Vec<u8>,
    pub places: Vec<Range<usize>>,
    /// The start of the incomplete text.
    start: usize,
}

impl SplitTexts {
    pub fn new(separator: &[u8]) -> Self {
        let separator = (!separator.is_empty()).then(|| Finder::new(separator).into_owned());
        Self { separator, bytes: Vec::new(), places: Vec::new(), start: 0 }
    }

    /// The incomplete text.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Put a block behind the others, and find the texts that end in it.
    pub fn take_block(&mut self, block: &[u8]) -> Result<()> {
        let before = self.bytes.len();
        room_for(&mut self.bytes, block.len())?;
        self.bytes.extend_from_slice(block);
        let Some(separator) = &self.separator else { return Ok(()) };
        let width = separator.needle().len();
        // A separator may extend from one block into the next.
        let from = self.start.max((before + 1).saturating_sub(width));
        for found in separator.find_iter(&self.bytes[from..]) {
            let end = from + found;
            memory::push(&mut self.places, self.start..end)?;
            self.start = end + width;
        }
        Ok(())
    }

    /// Give away the texts that have an end; what is behind them goes on in another vector.
    pub fn take(&mut self, mut rest: Vec<u8>) -> Result<JoinedTexts> {
        room_for(&mut rest, self.rest().len())?;
        rest.extend_from_slice(self.rest());
        self.start = 0;
        Ok((mem::replace(&mut self.bytes, rest), mem::take(&mut self.places)))
    }

    /// Leave out the beginning of a text that has no end yet.
    pub fn drop_rest(&mut self) {
        self.bytes.truncate(self.start);
    }
}
