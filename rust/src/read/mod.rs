//! Files' blocks in, texts out: cut at a separator ([`split`]), from lines of JSON ([`json_lines`]), from pages of
//! Parquet ([`parquet`]), and the bytes that gzip packed ([`gunzip`]). Python opens the files and hands their blocks
//! in; what a reader here has doubts about is left to Python's own.

use std::mem;
use std::ops::Range;

use crate::error::Result;
use crate::memory;

pub mod gunzip;
pub mod json_lines;
pub mod parquet;
pub mod split;

/// Texts that a reader gathered, one behind the other.
#[derive(Default)]
pub struct GatheredTexts {
    /// The texts, and behind them room for more.
    bytes: Vec<u8>,
    places: Vec<Range<usize>>,
}

impl GatheredTexts {
    /// Where the texts are.
    pub fn places(&self) -> &[Range<usize>] {
        &self.places
    }

    /// How many bytes the texts are.
    pub fn length(&self) -> usize {
        self.places.last().map_or(0, |place| place.end)
    }

    /// Whether there is no room yet: a buffer may be given.
    pub fn lacks_room(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Gather in this buffer from now on; there are no texts yet.
    pub fn use_buffer(&mut self, buffer: Vec<u8>) {
        debug_assert!(self.places.is_empty());
        self.bytes = buffer;
    }

    /// Give the texts away, in the buffer that they are gathered in.
    pub fn take(&mut self) -> (Vec<u8>, Vec<Range<usize>>) {
        (mem::take(&mut self.bytes), mem::take(&mut self.places))
    }

    /// Put a text behind the others.
    pub fn push(&mut self, text: &[u8]) -> Result<()> {
        self.room_for(text.len())?[..text.len()].copy_from_slice(text);
        self.end_text(text.len())
    }

    /// Room behind the texts for so many bytes at least.
    fn room_for(&mut self, more: usize) -> Result<&mut [u8]> {
        let length = self.length();
        memory::lengthen(&mut self.bytes, length + more)?;
        Ok(&mut self.bytes[length..])
    }

    /// The next so many bytes of the room are a text.
    fn end_text(&mut self, length: usize) -> Result<()> {
        let start = self.length();
        memory::push(&mut self.places, start..start + length)
    }
}
