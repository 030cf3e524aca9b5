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

/// The choice for a text: that of the part within which a token lies; across a seam lies none.
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
    /// That of all parts of a text; a single one is all of it, also of what it is normalized to.
    pub fn of(parts: &'p [ChoicePart]) -> Self {
        if let [ChoicePart { special: Some(special), .. }] = parts {
            return (*special).into();
        }
        Self { parts, begin: 0 }
    }

    /// That for the rest of the text from a place on.
    pub fn behind(self, place: usize) -> Self {
        Self { begin: self.begin + place, ..self }
    }

    /// That for every special token, if there are no seams.
    pub fn of_all(self) -> Option<Special> {
        if let [part] = self.parts { part.special } else { None }
    }

    /// Whether all special tokens near a place are text.
    pub fn is_text(self, near: Range<usize>) -> bool {
        let [first, last] = [near.start, near.end].map(|place| part_at(self.parts, self.begin + place));
        let near = &self.parts[first..self.parts.len().min(last + 1)];
        near.iter().all(|part| part.special == Some(Special::Text))
    }

    /// Whether places of a normalized text must be known in the given one.
    pub fn needs_places(self) -> bool {
        !matches!(self.of_all(), Some(Special::Parse | Special::Text))
    }

    /// That for a special token; none if it lies across a seam.
    #[inline]
    pub fn within(self, token: Range<usize>) -> Option<Special> {
        let part = self.parts.get(part_at(self.parts, self.begin + token.start))?;
        part.special.filter(|_| self.begin + token.end <= part.end)
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
        if let Some(special) = self.of_all() {
            return Ok(special.into());
        }
        let (parts, begin) = (&self.parts[part_at(self.parts, self.begin)..], self.begin);
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
        Ok(Choice::of(room))
    }
}
