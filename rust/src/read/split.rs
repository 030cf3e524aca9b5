//! Splits blocks of text into texts that end at a separator.

use memchr::memmem;

use super::GatheredTexts;
use crate::error::Result;
use crate::memory;

impl GatheredTexts {
    /// Appends a block to the others, and finds the texts that end in it. Nothing ends a text if
    /// the separator is empty.
    pub fn take_block(&mut self, block: &[u8]) -> Result<()> {
        let before = self.bytes.len();
        self.make_room(block.len())?;
        self.bytes.extend_from_slice(block);
        let width = self.by.len();
        if width == 0 {
            return Ok(());
        }
        // A separator may extend from one block into the next.
        let from = self.start.max((before + 1).saturating_sub(width));
        for offset in memmem::find_iter(&self.bytes[from..], &self.by) {
            let end = from + offset;
            memory::push(&mut self.places, self.start..end)?;
            self.start = end + width;
        }
        Ok(())
    }
}
