//! What is done with the special tokens of a text: the same everywhere, or in each of its parts something else.

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
    /// None where no special token can lie.
    pub special: Option<Special>,
    /// Whether it goes on with the next text that is appended, if that is no part of its own.
    pub is_open: bool,
}

/// The choice for a text.
#[derive(Clone, Copy)]
pub enum Choice<'p> {
    Whole(Special),
    /// That of the part within which a token lies; across a seam lies none. The number is where the text begins in them.
    Parts(&'p [ChoicePart], usize),
}

/// The choice for each of several texts.
#[derive(Clone, Copy)]
pub enum Choices<'p> {
    Same(Special),
    Each(&'p [&'p [ChoicePart]]),
}

impl From<Special> for Choice<'_> {
    fn from(special: Special) -> Self {
        Self::Whole(special)
    }
}

impl From<Special> for Choices<'_> {
    fn from(special: Special) -> Self {
        Self::Same(special)
    }
}

impl<'p> Choices<'p> {
    /// That for the text of a number.
    pub fn of(self, text: usize) -> Choice<'p> {
        match self {
            Self::Same(special) => Choice::Whole(special),
            Self::Each(parts) => Choice::Parts(parts[text], 0),
        }
    }
}

/// The number of the part in which the character at a place is.
fn part_at(parts: &[ChoicePart], place: usize) -> usize {
    parts.partition_point(|part| part.end <= place)
}

impl<'p> Choice<'p> {
    /// That for the rest of the text from a place on.
    pub fn behind(self, place: usize) -> Self {
        match self {
            Self::Whole(_) => self,
            Self::Parts(parts, begin) => Self::Parts(parts, begin + place),
        }
    }

    /// Whether all special tokens near a place are text.
    pub fn is_text(self, near: Range<usize>) -> bool {
        match self {
            Self::Whole(special) => special == Special::Text,
            Self::Parts(parts, begin) => {
                let (first, last) = (part_at(parts, begin + near.start), part_at(parts, begin + near.end));
                let near = &parts[first..parts.len().min(last + 1)];
                near.iter().all(|part| part.special == Some(Special::Text))
            }
        }
    }

    /// Whether places of a normalized text must be known in the given one.
    pub fn needs_places(self) -> bool {
        !matches!(self, Self::Whole(Special::Parse | Special::Text))
    }

    /// That for a special token; none if it lies across a seam.
    #[inline]
    pub fn within(self, token: Range<usize>) -> Option<Special> {
        match self {
            Self::Whole(special) => Some(special),
            Self::Parts(parts, begin) => {
                let part = parts.get(part_at(parts, begin + token.start))?;
                part.special.filter(|_| begin + token.end <= part.end)
            }
        }
    }

    /// That for what a text was normalized to. A character that stands for some of several parts lies within none.
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
        let Self::Parts(parts, begin) = self else { return Ok(self) };
        let parts = &parts[part_at(parts, begin)..];
        let (mut ends, mut place, mut characters) = (Vec::new(), 0, 0);
        for part in parts {
            let end = text.len().min(part.end - begin);
            characters += text[place..end].chars().count();
            memory::push(&mut ends, characters)?;
            place = end;
            if end == text.len() {
                break;
            }
        }
        let number = |character| ends.partition_point(|&end| end <= character);
        let mut before = None;
        for (character, (start, written)) in normalized.char_indices().enumerate() {
            let (first, last) = alignment.place(character, character + 1);
            let (first, last) = (number(first), number(last - 1));
            let end = start + written.len_utf8();
            match room.last_mut() {
                Some(part) if before == Some((first, last)) => part.end = end,
                _ => {
                    let special = parts.get(first).filter(|_| first == last).and_then(|part| part.special);
                    memory::push(room, ChoicePart { end, special, is_open: false })?;
                }
            }
            before = Some((first, last));
        }
        Ok(Choice::Parts(room, 0))
    }
}
