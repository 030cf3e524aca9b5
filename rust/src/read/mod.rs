//! Readers of file formats: text with separators ([`split`]), lines of JSON ([`json_lines`]), and gzip
//! ([`gunzip`]). Python opens the files and passes blocks. Input that a reader here does not fully understand is left to the
//! readers in Python.

use std::ops::Range;

use crate::error::Result;
use crate::memory;

pub mod cut_json;
pub mod gunzip;
pub mod json_lines;
pub mod split;

/// The memory that texts of a batch usually need. It is asked for at once: growing would touch new pages.
const ROOM: usize = 4 << 20;

/// Make room for `more` bytes of texts.
fn room_for(bytes: &mut Vec<u8>, more: usize) -> Result<()> {
    memory::reserve(bytes, if bytes.is_empty() { more.max(ROOM) } else { more })
}

/// Texts in one buffer, and where each is.
pub type JoinedTexts = (Vec<u8>, Vec<Range<usize>>);
