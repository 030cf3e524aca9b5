//! What is done with the special tokens of a text: the same everywhere, or something else in each
//! of its parts.
//!
//! ```text
//! parts    <s>system | text of a user with <s> | </s>
//! choice   Parse     | Text                    | Parse
//! ```

use std::ops::Range;

use crate::error::Result;
use crate::memory;
use crate::normalize::Alignment;

/// What to do with the text of a special token. Tokens that are not special are always found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// It becomes the token's id.
    Parse,
    /// It is text like any other.
    Text,
    /// It is an error.
    Error,
}

/// A part of a text. It begins where the one before it ends.
#[derive(Clone, Copy, Debug)]
pub struct ChoicePart {
    /// In bytes.
    pub end: usize,
    /// `None` where no special token can be.
    pub special: Option<Special>,
    /// Whether text that is appended without a choice of its own belongs to it.
    pub is_open: bool,
}

/// The choice for a text: for each token, the choice of the part that it is within. Across a seam
/// there is no token.
#[derive(Clone, Copy)]
pub struct Choice<'p> {
    parts: &'p [ChoicePart],
    /// Where the text begins in them.
    begin: usize,
}

impl From<Special> for Choice<'_> {
    fn from(special: Special) -> Self {
        const fn whole(special: Special) -> [ChoicePart; 1] {
            [ChoicePart { end: usize::MAX, special: Some(special), is_open: false }]
        }
        const WHOLE: [&[ChoicePart]; 3] =
            [&whole(Special::Parse), &whole(Special::Text), &whole(Special::Error)];
        Self { parts: WHOLE[special as usize], begin: 0 }
    }
}

/// The number of the part in which the character at a place is.
fn part_at(parts: &[ChoicePart], place: usize) -> usize {
    parts.partition_point(|part| part.end <= place)
}

impl<'p> Choice<'p> {
    /// The choice of all parts of a text. A single part is all of it, also once the text is
    /// normalized and longer.
    pub fn of(parts: &'p [ChoicePart]) -> Self {
        if let [ChoicePart { special: Some(special), .. }] = parts {
            return (*special).into();
        }
        Self { parts, begin: 0 }
    }

    /// The choice for the rest of the text from a place on.
    pub fn behind(self, place: usize) -> Self {
        Self { begin: self.begin + place, ..self }
    }

    /// The choice for every special token, if there are no seams.
    pub fn of_all(self) -> Option<Special> {
        if let [part] = self.parts { part.special } else { None }
    }

    /// Whether all special tokens near a place are text.
    pub fn is_text(self, near: Range<usize>) -> bool {
        let first = part_at(self.parts, self.begin + near.start);
        let last = part_at(self.parts, self.begin + near.end);
        let end = self.parts.len().min(last + 1);
        self.parts[first..end].iter().all(|part| part.special == Some(Special::Text))
    }

    /// Whether it must be known where the places of a normalized text were before: for seams, and
    /// for what an error says.
    pub fn needs_places(self) -> bool {
        !matches!(self.of_all(), Some(Special::Parse | Special::Text))
    }

    /// The choice for a special token; `None` if it is across a seam.
    #[inline]
    pub fn within(self, token: Range<usize>) -> Option<Special> {
        let start = self.begin + token.start;
        let end = self.begin + token.end;
        let part = self.parts.get(part_at(self.parts, start))?;
        if end <= part.end { part.special } else { None }
    }

    /// The choice for what a text was normalized to. A character that stands for some of several
    /// parts is within none.
    pub fn normalized<'r>(
        self,
        text: &str,
        normalized: &str,
        alignment: &Alignment,
        room: &'r mut Vec<ChoicePart>,
    ) -> Result<Choice<'r>>
    where
        'p: 'r,
    {
        if let Some(special) = self.of_all() {
            return Ok(special.into());
        }
        let parts = &self.parts[part_at(self.parts, self.begin)..];
        // Where each part ends, in characters of the text.
        let mut ends = Vec::new();
        let mut place = 0;
        let mut characters = 0;
        for part in parts {
            let end = text.len().min(part.end - self.begin);
            characters += text[place..end].chars().count();
            memory::push(&mut ends, characters)?;
            place = end;
            if end == text.len() {
                break;
            }
        }
        let part_of = |character| ends.partition_point(|&end| end <= character);
        let mut parts_before = None;
        for (character, (start, written)) in normalized.char_indices().enumerate() {
            let (from, to) = alignment.place(character, character + 1);
            let (first, last) = (part_of(from), part_of(to - 1));
            let end = start + written.len_utf8();
            match room.last_mut() {
                Some(part) if parts_before == Some((first, last)) => part.end = end,
                _ => {
                    let part = if first == last { parts.get(first) } else { None };
                    let special = part.and_then(|part| part.special);
                    memory::push(room, ChoicePart { end, special, is_open: false })?;
                }
            }
            parts_before = Some((first, last));
        }
        Ok(Choice::of(room))
    }
}
