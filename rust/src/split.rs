//! Blocks of text in, the texts in them out, each of which a separator ends.

use std::mem;
use std::ops::Range;

use memchr::memmem::Finder;

use crate::error::Result;
use crate::memory;

/// Texts between separators, one behind the other.
pub struct SplitTexts {
    /// None ends no text.
    separator: Option<Finder<'static>>,
    /// All blocks so far, and behind them room for more.
    pub bytes: Vec<u8>,
    length: usize,
    places: Vec<Range<usize>>,
    /// Where the text begins that has no end yet.
    start: usize,
}

impl SplitTexts {
    pub fn new(separator: &[u8]) -> Self {
        let separator = (!separator.is_empty()).then(|| Finder::new(separator).into_owned());
        Self { separator, bytes: Vec::new(), length: 0, places: Vec::new(), start: 0 }
    }

    /// How many bytes were taken in, and not out again.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The texts that have an end.
    pub fn places(&self) -> &[Range<usize>] {
        &self.places
    }

    /// The beginning of a text that has no end yet.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.start..self.length]
    }

    /// Put a block behind the others, and find the texts that end in it.
    pub fn take_block(&mut self, block: &[u8]) -> Result<()> {
        let before = self.length;
        memory::lengthen(&mut self.bytes, before + block.len())?;
        self.length += block.len();
        self.bytes[before..self.length].copy_from_slice(block);
        let Some(separator) = &self.separator else { return Ok(()) };
        let width = separator.needle().len();
        // A separator may begin in one block and end in the next.
        let from = self.start.max((before + 1).saturating_sub(width));
        for found in separator.find_iter(&self.bytes[from..self.length]) {
            let end = from + found;
            memory::push(&mut self.places, self.start..end)?;
            self.start = end + width;
        }
        Ok(())
    }

    /// Give away the texts that have an end; what is behind them goes on in another vector.
    pub fn take(&mut self, mut room: Vec<u8>) -> Result<(Vec<u8>, Vec<Range<usize>>)> {
        let rest = self.rest();
        memory::lengthen(&mut room, rest.len())?;
        room[..rest.len()].copy_from_slice(rest);
        (self.length, self.start) = (rest.len(), 0);
        Ok((mem::replace(&mut self.bytes, room), mem::take(&mut self.places)))
    }

    /// Leave out the beginning of a text that has no end yet.
    pub fn drop_rest(&mut self) {
        self.length = self.start;
    }
}
