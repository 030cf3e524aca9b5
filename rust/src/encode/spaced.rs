//! Encodes texts into which spaces are inserted first, as imported vocabularies require; also gives each token's place.

use std::borrow::Cow;

use memchr::memmem;

use super::offsets::{CharacterSpan, CountedCharacters, other_text};
use super::special::{Special, SpecialTokens, Stretch};
use super::{Encoder, Sink, Workspace};
use crate::error::Result;
use crate::memory;
use crate::watch::Pulse;

/// Stands for a space, and becomes one.
const MARK: &str = "\u{2581}";

/// Where a space is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// Before each part of a text between special tokens.
    Each,
    /// Before the part that a text begins with.
    First,
    /// The same, if it begins with none.
    FirstIfNone,
}

/// How texts get their spaces.
pub struct Spaces {
    pub put: Put,
    /// Special tokens that are searched in a text as it is given.
    pub tokens: SpecialTokens,
    /// Special tokens that are searched once the spaces are there.
    pub later: SpecialTokens,
}

/// A part of a text: a special token, or what stands between, with its spaces.
pub enum SpacedPart<'t> {
    Special(u32),
    Ordinary(Cow<'t, str>),
}

impl Spaces {
    /// The parts of a text; `None` stands for one with a token that is searched later.
    pub fn parts<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Option<SpacedPart<'t>>> {
        self.tokens.stretches(text, Special::Parse).map(move |Stretch { range, id }| match id {
            Some(id) => Some(SpacedPart::Special(id)),
            None => {
                let segment = with_spaces_for_marks(&text[range.clone()]);
                let written = if self.puts(&segment, range.start) {
                    let mut spaced = String::with_capacity(segment.len() + 1);
                    spaced.push(' ');
                    spaced.push_str(&segment);
                    Cow::Owned(spaced)
                } else {
                    segment
                };
                let has_none = self.later.find(&written, 0).is_none();
                has_none.then_some(SpacedPart::Ordinary(written))
            }
        })
    }

    /// Whether a space is put before a part, which begins at a place of the text.
    fn puts(&self, part: &str, start: usize) -> bool {
        match self.put {
            Put::Each => true,
            Put::First => start == 0,
            Put::FirstIfNone => start == 0 && !part.starts_with(' '),
        }
    }
}

fn with_spaces_for_marks(text: &str) -> Cow<'_, str> {
    if !text.is_ascii() && memmem::find(text.as_bytes(), MARK.as_bytes()).is_some() {
        Cow::Owned(text.replace(MARK, " "))
    } else {
        Cow::Borrowed(text)
    }
}

impl Encoder {
    /// Encode a text with its spaces; `false` if it has a token that is searched later, and so none of the ids count.
    pub fn encode_spaced(
        &self,
        text: &str,
        spaces: &Spaces,
        sink: &mut impl Sink,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<bool> {
        for part in spaces.parts(text) {
            match part {
                Some(SpacedPart::Special(id)) => {
                    sink.make_room(1)?;
                    sink.put(&[id]);
                }
                Some(SpacedPart::Ordinary(written)) => {
                    self.encode_ordinary(&written, sink, workspace, pulse)?;
                }
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Where each token of such a text stands, in characters; a space that was put in has the place of the character
    /// behind it.
    pub fn spaced_places(
        &self,
        text: &str,
        ids: &[u32],
        spaces: &Spaces,
        pulse: &mut Pulse,
    ) -> Result<Vec<CharacterSpan>> {
        let mut places = Vec::new();
        memory::reserve(&mut places, ids.len())?;
        let mut characters = CountedCharacters::of(text);
        let mut rest = ids.iter();
        for Stretch { range, id } in spaces.tokens.stretches(text, Special::Parse) {
            let first = characters.before(range.start);
            if id.is_some() {
                rest.next().ok_or_else(other_text)?;
                places.push((first, characters.before(range.end)));
                continue;
            }
            let segment = with_spaces_for_marks(&text[range.clone()]);
            let put = usize::from(spaces.puts(&segment, range.start));
            let mut counted = CountedCharacters::of(&segment);
            let mut end = 0;
            while end < put + segment.len() {
                let start = end;
                end += self.spelled(*rest.next().ok_or_else(other_text)?)?;
                pulse.beat(end - start)?;
                if end > put + segment.len() {
                    return Err(other_text());
                }
                let (begin, stop) = counted.place(start.saturating_sub(put), end.saturating_sub(put));
                places.push((first + begin, first + stop.max(1)));
            }
        }
        if rest.as_slice().is_empty() { Ok(places) } else { Err(other_text()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spaces(put: Put) -> Spaces {
        let tokens = |texts: &[&str]| {
            let numbered: Vec<_> = texts.iter().map(|&text| (text.to_owned(), 9)).collect();
            SpecialTokens::new(&numbered).unwrap()
        };
        Spaces { put, tokens: tokens(&["<s>"]), later: tokens(&[" <x>"]) }
    }

    fn written(put: Put, text: &str) -> Option<String> {
        let spaces = spaces(put);
        let parts: Option<Vec<_>> = spaces.parts(text).collect();
        let shown = parts?.into_iter().map(|part| match part {
            SpacedPart::Special(_) => "*".to_owned(),
            SpacedPart::Ordinary(written) => written.replace(' ', "_"),
        });
        Some(shown.collect())
    }

    #[test]
    fn a_space_stands_where_it_is_put() {
        for (put, expected) in [(Put::Each, "__a*_b"), (Put::First, "__a*b"), (Put::FirstIfNone, "_a*b")] {
            assert_eq!(written(put, "\u{2581}a<s>b").unwrap(), expected);
            assert_eq!(written(put, "").unwrap(), "");
            assert_eq!(written(put, "a").unwrap(), "_a");
        }
    }

    #[test]
    fn a_text_with_a_token_that_is_searched_later_has_no_parts() {
        assert_eq!(written(Put::Each, "<s><x>"), None);
        assert_eq!(written(Put::First, "<s><x>").unwrap(), "*<x>");
    }
}
