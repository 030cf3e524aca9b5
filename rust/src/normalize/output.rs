//! What a step writes: the normalized text, and where each of its characters is in the original
//! one.

use crate::error::Result;
use crate::memory;

/// Where each character of a normalized text is in the original text, in characters.
///
/// Each run begins at a character of the normalized text and ends where the next one begins. Before
/// the first run, each character is in its own place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alignment {
    runs: Vec<PlaceRun>,
}

/// Characters of a normalized text from `at` on: if `width` is 1, they stand for one character
/// each, from `start` on; if not, each stands for all of `start..start + width`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PlaceRun {
    at: usize,
    start: usize,
    width: usize,
}

/// The run before the first one.
const OWN: PlaceRun = PlaceRun { at: 0, start: 0, width: 1 };

impl PlaceRun {
    /// Returns the place of one of its characters.
    fn place(self, character: usize) -> (usize, usize) {
        let start = if self.width == 1 { self.start + (character - self.at) } else { self.start };
        (start, start + self.width)
    }
}

impl Alignment {
    /// Whether each character is in its own place.
    pub fn is_same(&self) -> bool {
        self.runs.is_empty()
    }

    /// The place of the characters `start..end` of the normalized text; of none, behind the one
    /// before them.
    pub fn place(&self, start: usize, end: usize) -> (usize, usize) {
        let end_of = |character: usize| self.run(character).place(character).1;
        if start < end {
            return (self.run(start).place(start).0, end_of(end - 1));
        }
        let behind = start.checked_sub(1).map_or(0, end_of);
        (behind, behind)
    }

    fn run(&self, character: usize) -> PlaceRun {
        let count = self.runs.partition_point(|run| run.at <= character);
        self.runs[..count].last().copied().unwrap_or(OWN)
    }

    /// Adds the place of the next character, the one of number `at`.
    #[inline]
    fn push(&mut self, at: usize, start: usize, width: usize) -> Result<()> {
        let run = self.runs.last().copied().unwrap_or(OWN);
        // Where the character would be if it went on with the last run.
        let next_place =
            if width == 1 { run.place(at) } else { (run.start, run.start + run.width) };
        if next_place == (start, start + width) && run.width == width {
            return Ok(());
        }
        memory::push(&mut self.runs, PlaceRun { at, start, width })
    }

    /// Returns the places of the first `count` characters in the text before an `earlier` step.
    fn behind(&self, earlier: &Self, count: usize) -> Result<Self> {
        let mut joined = Self::default();
        for character in 0..count {
            let (start, end) = self.place(character, character + 1);
            // These are characters of the text between the two steps.
            let (start, end) = earlier.place(start, end);
            joined.push(character, start, end - start)?;
        }
        Ok(joined)
    }
}

/// A text that is written from an original one, with the places of its characters if it `ALIGNS`.
pub struct Output<'t, const ALIGNS: bool> {
    original: &'t str,
    /// The number of bytes of the original text that were kept or taken.
    pub done: usize,
    pub text: String,
    /// The number of characters written, and of those of the original text that are done.
    written: usize,
    taken: usize,
    alignment: Alignment,
}

impl<'t, const ALIGNS: bool> Output<'t, ALIGNS> {
    pub fn new(original: &'t str) -> Self {
        let alignment = Alignment::default();
        Self { original, done: 0, text: String::new(), written: 0, taken: 0, alignment }
    }

    /// Writes the original text up to a place as it is.
    pub fn keep_to(&mut self, end: usize) -> Result<()> {
        let part = &self.original[self.done..end];
        memory::append(&mut self.text, part)?;
        self.done = end;
        if ALIGNS && !part.is_empty() {
            self.alignment.push(self.written, self.taken, 1)?;
            let characters = part.chars().count();
            self.written += characters;
            self.taken += characters;
        }
        Ok(())
    }

    /// Takes the original text up to a place; what is put next stands for it.
    pub fn take_to(&mut self, end: usize) {
        if ALIGNS {
            self.taken += self.original[self.done..end].chars().count();
        }
        self.done = end;
    }

    /// The original text up to a place, without what was kept or taken.
    pub fn rest(&self, end: usize) -> &'t str {
        &self.original[self.done..end]
    }

    /// Takes characters of a part of the original text that is `done` later.
    pub fn take(&mut self, characters: usize) {
        self.taken += characters;
    }

    /// Writes a text, each of whose characters stands for all of the last `characters` that were
    /// taken; or for the first one of the original text if none was.
    #[inline]
    pub fn put(&mut self, new: &str, characters: usize) -> Result<()> {
        memory::append(&mut self.text, new)?;
        if ALIGNS {
            for _ in new.chars() {
                self.alignment.push(
                    self.written,
                    self.taken.saturating_sub(characters),
                    characters,
                )?;
                self.written += 1;
            }
        }
        Ok(())
    }

    /// Keeps the rest; `None` if nothing has changed.
    pub fn finish(mut self) -> Result<Option<Written>> {
        if self.done == 0 && self.text.is_empty() {
            return Ok(None);
        }
        self.keep_to(self.original.len())?;
        let is_same = self.alignment.is_same() && self.text == self.original;
        let Self { text, written, alignment, .. } = self;
        Ok((!is_same).then_some(Written { text, characters: written, alignment }))
    }
}

/// A text that has changed; if it is aligned, the number of its characters is known, too.
pub struct Written {
    pub text: String,
    characters: usize,
    pub alignment: Alignment,
}

impl Written {
    /// Changes all places to those in the text before the `earlier` step.
    pub fn follow(&mut self, earlier: &Self) -> Result<()> {
        if !earlier.alignment.is_same() {
            self.alignment = self.alignment.behind(&earlier.alignment, self.characters)?;
        }
        Ok(())
    }
}
