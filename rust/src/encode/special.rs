//! Text in, special tokens and the ordinary text between them out.

use std::collections::HashSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use memchr::memchr;

use crate::error::{Error, Result};

/// What to do with the literal text of a special token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// It becomes the token's id.
    Parse,
    /// It is text like any other.
    Text,
    /// It is refused.
    Error,
}

/// A stretch of text: ordinary, or a special token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment<'t> {
    Ordinary(&'t str),
    Special(u32),
}

/// The special tokens of a vocabulary, matched all at once: the longest at the leftmost place.
pub struct SpecialTokens {
    matcher: Option<AhoCorasick>,
    /// The byte that all begin with, if there is one: most texts do not have it, which is the quickest to see.
    first: Option<u8>,
    ids: Vec<u32>,
    longest: usize,
}

impl SpecialTokens {
    /// Take different non-empty strings and their ids.
    pub fn new(tokens: &[(String, u32)]) -> Result<Self> {
        let mut seen = HashSet::with_capacity(tokens.len());
        for (text, _) in tokens {
            if text.is_empty() {
                return Err(Error::Value("a special token is empty".to_owned()));
            }
            if !seen.insert(text) {
                return Err(Error::Value(format!("special token {text:?} is given twice")));
            }
        }
        let matcher = (!tokens.is_empty())
            .then(|| {
                AhoCorasick::builder()
                    .match_kind(MatchKind::LeftmostLongest)
                    .build(tokens.iter().map(|(text, _)| text))
            })
            .transpose()
            .map_err(|reason| Error::Value(format!("special tokens: {reason}")))?;
        let mut firsts = tokens.iter().map(|(text, _)| text.as_bytes()[0]);
        Ok(Self {
            matcher,
            first: firsts.next().filter(|&first| firsts.all(|other| other == first)),
            ids: tokens.iter().map(|&(_, id)| id).collect(),
            longest: tokens.iter().map(|(text, _)| text.len()).max().unwrap_or(0),
        })
    }

    /// The length in bytes of the longest special token; 0 where there is none.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// The first special token at or after `from`: where it lies, and its id.
    pub fn find(&self, text: &str, from: usize) -> Option<(Range<usize>, u32)> {
        let from = match self.first {
            Some(first) => from + memchr(first, &text.as_bytes()[from..])?,
            None => from,
        };
        let found = self.matcher.as_ref()?.find(Input::new(text).span(from..text.len()))?;
        Some((found.range(), self.ids[found.pattern().as_usize()]))
    }

    /// The segments of a text, in order. An error where a special token is found and none may be.
    pub fn split<'t>(
        &self,
        text: &'t str,
        special: Special,
    ) -> impl Iterator<Item = Result<Segment<'t>>> + use<'t, '_> {
        let mut segments = Segments { tokens: self, text, special, position: 0, found: None };
        std::iter::from_fn(move || segments.next().transpose())
    }
}

struct Segments<'t, 'a> {
    tokens: &'a SpecialTokens,
    text: &'t str,
    special: Special,
    position: usize,
    /// A special token that begins where the ordinary text just handed out ends.
    found: Option<(usize, u32)>,
}

impl<'t> Segments<'t, '_> {
    fn next(&mut self) -> Result<Option<Segment<'t>>> {
        if let Some((end, id)) = self.found.take() {
            self.position = end;
            return Ok(Some(Segment::Special(id)));
        }
        let rest = self.position..self.text.len();
        if rest.is_empty() {
            return Ok(None);
        }
        let found = match self.special {
            Special::Text => None,
            Special::Parse | Special::Error => self.tokens.find(self.text, self.position),
        };
        let Some((range, id)) = found else {
            self.position = rest.end;
            return Ok(Some(Segment::Ordinary(&self.text[rest])));
        };
        if self.special == Special::Error {
            return Err(refusal(self.text, range));
        }
        if range.start == rest.start {
            self.position = range.end;
            return Ok(Some(Segment::Special(id)));
        }
        self.found = Some((range.end, id));
        Ok(Some(Segment::Ordinary(&self.text[rest.start..range.start])))
    }
}

fn refusal(text: &str, range: Range<usize>) -> Error {
    let character = text[..range.start].chars().count();
    Error::Value(format!(
        "the text contains the special token {:?} at character {character}; special=\"parse\" gives its id, \
         special=\"text\" encodes it as ordinary text",
        &text[range]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(texts: &[&str]) -> SpecialTokens {
        let numbered: Vec<_> = texts.iter().zip(1000..).map(|(&text, id)| (text.to_owned(), id)).collect();
        SpecialTokens::new(&numbered).unwrap()
    }

    #[test]
    fn the_longest_at_the_leftmost_place_is_taken() {
        let tokens = tokens(&["<a>", "<a><b>", "b>x"]);
        let segments: Vec<_> = tokens.split("..<a><b>x<a>", Special::Parse).map(Result::unwrap).collect();
        use Segment::{Ordinary, Special as Token};
        assert_eq!(segments, [Ordinary(".."), Token(1001), Ordinary("x"), Token(1000)]);
    }

    #[test]
    fn text_is_left_alone_and_a_refusal_names_the_place() {
        let tokens = tokens(&["<a>"]);
        let segments: Vec<_> = tokens.split("é<a>", Special::Text).map(Result::unwrap).collect();
        assert_eq!(segments, [Segment::Ordinary("é<a>")]);
        let refused = tokens.split("é<a>", Special::Error).find_map(Result::err).unwrap();
        assert!(refused.to_string().contains("\"<a>\" at character 1"), "{refused}");
    }

    #[test]
    fn empty_and_repeated_tokens_are_refused() {
        for texts in [&["a", "a"][..], &[""]] {
            let numbered: Vec<_> = texts.iter().map(|&text| (text.to_owned(), 0)).collect();
            assert!(SpecialTokens::new(&numbered).is_err());
        }
    }
}
