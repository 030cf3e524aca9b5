//! What steps write: the normalized text, and where each of its characters stands in the given one.

use std::mem;

use crate::error::Result;
use crate::memory;

/// Where each character of a normalized text stands in the given text, in characters.
///
/// Each run begins at a character of the normalized text and ends where the next one begins. Before the first run, each
/// character stands in its own place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alignment {
    runs: Vec<PlaceRun>,
}

/// Characters of a normalized text from `at` on: if `width` is 1, they stand for one character each, from `start` on;
/// if not, each stands for all of `start..start + width`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PlaceRun {
    at: usize,
    start: usize,
    width: usize,
}

/// The most bytes of a character.
const MOST: usize = 4;

const OWN: PlaceRun = PlaceRun { at: 0, start: 0, width: 1 };

impl PlaceRun {
    /// The place of one of its characters.
    fn place(self, character: usize) -> (usize, usize) {
        let start = if self.width == 1 { self.start + (character - self.at) } else { self.start };
        (start, start + self.width)
    }
}

impl Alignment {
    /// Whether each character stands in its own place.
    pub fn is_same(&self) -> bool {
        self.runs.is_empty()
    }

    /// The place of the characters `start..end` of the normalized text; of none, behind the one before them.
    pub fn place(&self, start: usize, end: usize) -> (usize, usize) {
        if start < end {
            (self.run(start).place(start).0, self.run(end - 1).place(end - 1).1)
        } else {
            let behind = start.checked_sub(1).map_or(0, |before| self.run(before).place(before).1);
            (behind, behind)
        }
    }

    fn run(&self, character: usize) -> PlaceRun {
        self.runs[..self.runs.partition_point(|run| run.at <= character)].last().copied().unwrap_or(OWN)
    }

    /// Add the place of the next character, the one of number `at`.
    #[inline]
    fn push(&mut self, at: usize, start: usize, width: usize) -> Result<()> {
        let run = self.runs.last().copied().unwrap_or(OWN);
        let goes_on = if width == 1 { run.place(at) } else { (run.start, run.start + run.width) };
        if goes_on == (start, start + width) && run.width == width {
            return Ok(());
        }
        memory::push(&mut self.runs, PlaceRun { at, start, width })
    }

    /// The places in the text that was given to an `earlier` step, of the first `count` characters.
    fn behind(&self, earlier: &Self, count: usize) -> Result<Self> {
        let mut joined = Self::default();
        for character in 0..count {
            let (start, end) = self.place(character, character + 1);
            let (start, end) = earlier.place(start, end);
            joined.push(character, start, end - start)?;
        }
        Ok(joined)
    }
}

/// A text that is written, with the places of its characters if it `ALIGNS`.
#[derive(Default)]
pub struct Output<const ALIGNS: bool> {
    pub text: String,
    /// The number of characters written, and of those taken from the given text.
    written: usize,
    taken: usize,
    pub alignment: Alignment,
}

impl<const ALIGNS: bool> Output<ALIGNS> {
    /// Forget everything that was written.
    pub fn clear(&mut self) {
        self.text.clear();
        (self.written, self.taken) = (0, 0);
        self.alignment.runs.clear();
    }

    /// Write the next part of the given text with small letters of ASCII.
    pub fn keep_small(&mut self, part: &str) -> Result<()> {
        let start = self.text.len();
        self.keep(part)?;
        if let Some(kept) = self.text.get_mut(start..) {
            kept.make_ascii_lowercase();
        }
        Ok(())
    }

    /// Write the next part of the given text as it is.
    pub fn keep(&mut self, part: &str) -> Result<()> {
        memory::append(&mut self.text, part)?;
        if ALIGNS && !part.is_empty() {
            self.alignment.push(self.written, self.taken, 1)?;
            let characters = part.chars().count();
            self.written += characters;
            self.taken += characters;
        }
        Ok(())
    }

    /// Take characters of the given text; what is put next stands for them.
    #[inline(always)]
    pub fn take(&mut self, characters: usize) {
        if ALIGNS {
            self.taken += characters;
        }
    }

    /// Write a character that stands for the last one that was taken, or for the first one if none was.
    #[inline(always)]
    pub fn put(&mut self, character: char) -> Result<()> {
        if self.text.capacity() - self.text.len() < MOST {
            memory::append(&mut self.text, character.encode_utf8(&mut [0; MOST]))?;
        } else {
            self.text.push(character);
        }
        if ALIGNS {
            self.align(self.taken.saturating_sub(1), 1)?;
        }
        Ok(())
    }

    /// Write a text, each of whose characters stands for all of the last `characters` that were taken.
    pub fn put_all(&mut self, new: &str, characters: usize) -> Result<()> {
        memory::append(&mut self.text, new)?;
        if ALIGNS {
            for _ in new.chars() {
                self.align(self.taken.saturating_sub(characters), characters)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn align(&mut self, start: usize, width: usize) -> Result<()> {
        self.alignment.push(self.written, start, width)?;
        self.written += 1;
        Ok(())
    }

    /// Add what was written for a part of the given text.
    pub fn append(&mut self, piece: &mut Self, part: &str) -> Result<()> {
        if self.text.is_empty() && self.taken == 0 {
            mem::swap(self, piece);
            self.taken = if ALIGNS { part.chars().count() } else { 0 };
            return Ok(());
        }
        memory::append(&mut self.text, &piece.text)?;
        if ALIGNS {
            if piece.written > 0 && piece.alignment.runs.first().is_none_or(|run| run.at > 0) {
                self.alignment.push(self.written, self.taken, 1)?;
            }
            for run in &piece.alignment.runs {
                self.alignment.push(self.written + run.at, self.taken + run.start, run.width)?;
            }
            self.written += piece.written;
            self.taken += part.chars().count();
        }
        Ok(())
    }

    /// What was written is what a later step made of what `earlier` wrote: from now on, places are those in the text that
    /// was given to the earlier one.
    pub fn follow(&mut self, earlier: &Self) -> Result<()> {
        if ALIGNS && !earlier.alignment.is_same() {
            self.alignment = self.alignment.behind(&earlier.alignment, self.written)?;
        }
        Ok(())
    }

    /// Whether it is the given text, each character in its own place.
    pub fn is(&self, given: &str) -> bool {
        self.alignment.is_same() && self.text == given
    }
}
