//! Readers of file formats: text with separators ([`split`]), lines of JSON ([`json_lines`]), and gzip
//! ([`gunzip`]). Python opens the files and passes blocks, except for small files ([`small_files`]). Input that a reader
//! here does not fully understand is left to the readers in Python.

use std::mem;
use std::ops::Range;

use crate::error::Result;
use crate::memory;

pub mod cut_json;
pub mod gunzip;
pub mod json_lines;
pub mod small_files;
pub mod split;

/// Texts in one buffer.
#[derive(Default)]
pub struct GatheredTexts {
    /// The texts, followed by free space.
    bytes: Vec<u8>,
    places: Vec<Range<usize>>,
}

impl GatheredTexts {
    /// The ranges of the texts.
    pub fn places(&self) -> &[Range<usize>] {
        &self.places
    }

    /// The size of the texts in bytes.
    pub fn length(&self) -> usize {
        self.places.last().map_or(0, |place| place.end)
    }

    /// Return the texts and their buffer.
    pub fn take(&mut self) -> (Vec<u8>, Vec<Range<usize>>) {
        (mem::take(&mut self.bytes), mem::take(&mut self.places))
    }

    /// Append a text.
    pub fn push(&mut self, text: &[u8]) -> Result<()> {
        self.room_for(text.len())?[..text.len()].copy_from_slice(text);
        self.end_text(text.len())
    }

    /// Free space after the texts, at least this many bytes.
    fn room_for(&mut self, more: usize) -> Result<&mut [u8]> {
        let length = self.length();
        memory::lengthen(&mut self.bytes, length + more)?;
        Ok(&mut self.bytes[length..])
    }

    /// Record that the next bytes of the free space are a text.
    fn end_text(&mut self, length: usize) -> Result<()> {
        let start = self.length();
        memory::push(&mut self.places, start..start + length)
    }
}
