//! Readers of file formats: text with separators ([`split`]), lines of JSON ([`json_lines`]), and
//! gzip ([`gunzip`]). Python opens the files and passes blocks. Input that a reader here does not
//! fully understand is left to the readers in Python.

use std::mem;
use std::ops::Range;

use crate::error::Result;
use crate::memory;

pub mod gunzip;
pub mod json_lines;
pub mod split;

/// The memory that texts of a batch usually need. It is asked for at once: growing would touch new
/// pages.
const ROOM: usize = 4 << 20;

/// Texts in one buffer, and where each is.
pub type JoinedTexts = (Vec<u8>, Vec<Range<usize>>);

/// Gathers the texts of a file: those that end with a separator, or those of one field of lines of
/// JSON.
pub struct GatheredTexts {
    /// The separator or the name of the field.
    by: Vec<u8>,
    /// The texts, with what is between them, and the beginning of one that has no end yet.
    pub bytes: Vec<u8>,
    pub places: Vec<Range<usize>>,
    /// Where the incomplete text starts.
    start: usize,
}

impl GatheredTexts {
    pub fn new(by: Vec<u8>) -> Self {
        Self { by, bytes: Vec::new(), places: Vec::new(), start: 0 }
    }

    /// Makes room for `more` bytes.
    fn make_room(&mut self, more: usize) -> Result<()> {
        let more = if self.bytes.is_empty() { more.max(ROOM) } else { more };
        memory::reserve(&mut self.bytes, more)
    }

    /// Adds a text.
    pub fn append(&mut self, text: &[u8]) -> Result<()> {
        memory::extend(&mut self.bytes, text)?;
        memory::push(&mut self.places, self.start..self.bytes.len())?;
        self.start = self.bytes.len();
        Ok(())
    }

    /// Returns the incomplete text.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Leaves the incomplete text out.
    pub fn drop_rest(&mut self) {
        self.bytes.truncate(self.start);
    }

    /// Gives away the complete texts; the incomplete one goes on in another vector, which is empty.
    pub fn take(&mut self, empty: Vec<u8>) -> Result<JoinedTexts> {
        let bytes = mem::replace(&mut self.bytes, empty);
        let rest = &bytes[mem::take(&mut self.start)..];
        self.make_room(rest.len())?;
        self.bytes.extend_from_slice(rest);
        Ok((bytes, mem::take(&mut self.places)))
    }
}
