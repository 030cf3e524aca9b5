//! Splits text into special tokens and the ordinary text between them.

use std::collections::HashSet;
use std::iter;
use std::ops::Range;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use memchr::memchr;

use crate::error::{Error, Result};

/// What to do with the literal text of a special token.
#[derive(Clone, Copy)]
pub enum Special<'a> {
    /// It becomes the token's id.
    Parse,
    /// Those of another set become their ids, and no others.
    ParseThese(&'a SpecialTokens),
    /// It is text like any other, unless it is an added token.
    Text,
    /// As an error, unless it is an added token.
    Error,
    /// It is text like any other, whatever it is.
    Ordinary,
}

/// A segment of text: ordinary, or a special token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment<'t> {
    Ordinary(&'t str),
    Special(u32),
}

/// Where a segment lies in a text, and the id of the special token that it is.
pub struct Stretch {
    pub range: Range<usize>,
    pub id: Option<u32>,
}

/// On which sides a special token takes the white space beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strips {
    pub left: bool,
    pub right: bool,
}

/// Special tokens, matched all at once: the longest at the leftmost place.
pub struct SpecialTokens {
    matcher: Option<AhoCorasick>,
    /// The first byte of all special tokens, if it is the same: searching for it is the fastest test, and most texts lack
    /// it.
    first: Option<u8>,
    ids: Vec<u32>,
    /// The ids of added tokens, which are never refused.
    added: HashSet<u32>,
    /// One for each token, or none where no token takes white space.
    strips: Vec<Strips>,
    longest: usize,
}

impl SpecialTokens {
    /// From distinct non-empty strings and their ids.
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
            added: HashSet::new(),
            strips: Vec::new(),
            longest: tokens.iter().map(|(text, _)| text.len()).max().unwrap_or(0),
        })
    }

    /// The same tokens, each of which takes white space as it is told.
    pub fn stripping(mut self, strips: Vec<Strips>) -> Self {
        let any = strips.iter().any(|strips| strips.left || strips.right);
        self.strips = if any { strips } else { Vec::new() };
        self
    }

    /// The same tokens, of which those with these ids are added tokens: each text may contain them.
    pub fn adding(mut self, ids: &[u32]) -> Self {
        self.added = ids.iter().copied().collect();
        self
    }

    /// Those of the tokens, which these are of, that are added tokens.
    pub fn added_of(&self, tokens: &[(String, u32)]) -> Result<Self> {
        let added: Vec<_> = tokens.iter().filter(|(_, id)| self.added.contains(id)).cloned().collect();
        Self::new(&added)
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The length in bytes of the longest special token; 0 where there is none.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// The first special token at or after `from`: its range and its id.
    pub fn find(&self, text: &str, from: usize) -> Option<(Range<usize>, u32)> {
        let (range, number) = self.find_number(text, from)?;
        Some((range, self.ids[number]))
    }

    fn find_number(&self, text: &str, from: usize) -> Option<(Range<usize>, usize)> {
        let from = match self.first {
            Some(first) => from + memchr(first, &text.as_bytes()[from..])?,
            None => from,
        };
        let found = self.matcher.as_ref()?.find(Input::new(text).span(from..text.len()))?;
        Some((found.range(), found.pattern().as_usize()))
    }

    /// The segments of a text, in order; an error at a special token if none is allowed.
    pub fn split<'t>(
        &self,
        text: &'t str,
        special: Special<'_>,
    ) -> impl Iterator<Item = Result<Segment<'t>>> + use<'t, '_> {
        let refuses = matches!(special, Special::Error);
        self.stretches(text, special).map(move |Stretch { range, id }| match id {
            Some(id) if refuses && !self.added.contains(&id) => Err(refusal(text, range)),
            Some(id) => Ok(Segment::Special(id)),
            None => Ok(Segment::Ordinary(&text[range])),
        })
    }

    /// Where the segments of a text lie, in order.
    pub fn stretches<'t>(
        &self,
        text: &'t str,
        special: Special<'_>,
    ) -> impl Iterator<Item = Stretch> + use<'t, '_> {
        let mut walk = Walk::new(self, text, matches!(special, Special::Ordinary));
        iter::from_fn(move || walk.next())
    }
}

/// A walk through the segments of a text.
struct Walk<'t, 'a> {
    tokens: &'a SpecialTokens,
    text: &'t str,
    /// Where the segments that were told end.
    position: usize,
    /// From where on the next special token is looked for: before `position` where the last one took white space.
    searched: usize,
    /// White space that was found behind a token: a token within it takes the rest, without another search.
    white_space: Range<usize>,
    /// A special token that follows the ordinary text just told.
    found: Option<Stretch>,
    is_ordinary: bool,
    /// The length of all text that was searched for white space: a test counts it.
    looked: usize,
}

impl<'t, 'a> Walk<'t, 'a> {
    fn new(tokens: &'a SpecialTokens, text: &'t str, is_ordinary: bool) -> Self {
        Self {
            tokens,
            text,
            position: 0,
            searched: 0,
            white_space: 0..0,
            found: None,
            is_ordinary,
            looked: 0,
        }
    }

    fn next(&mut self) -> Option<Stretch> {
        let special = self.found.take().or_else(|| self.find());
        let start = special.as_ref().map_or(self.text.len(), |special| special.range.start);
        if self.position < start {
            self.found = special;
            let range = self.position..start;
            self.position = start;
            return Some(Stretch { range, id: None });
        }
        // It goes back if a token is found in the white space that the one before it took.
        self.position = special.as_ref()?.range.end;
        special
    }

    /// The next special token, with the white space that it takes.
    fn find(&mut self) -> Option<Stretch> {
        if self.is_ordinary {
            return None;
        }
        loop {
            let (mut range, number) = self.tokens.find_number(self.text, self.searched)?;
            self.searched = range.end;
            let strips = self.tokens.strips.get(number).copied().unwrap_or_default();
            if strips.left {
                // No further back than the token before it.
                let between = self.text.get(self.position..range.start).unwrap_or_default();
                range.start = self.position + between.trim_end().len();
                self.looked += between.len() - between.trim_end().len();
            }
            if strips.right {
                range.end = self.white_space_from(range.end);
            }
            // Nothing is left of a token of white space that the token before it took.
            if !range.is_empty() {
                return Some(Stretch { range, id: Some(self.tokens.ids[number]) });
            }
        }
    }

    /// The end of the white space that begins at a place.
    fn white_space_from(&mut self, start: usize) -> usize {
        if !self.white_space.contains(&start) {
            let behind = &self.text[start..];
            self.white_space = start..start + (behind.len() - behind.trim_start().len());
            self.looked += self.white_space.len();
        }
        self.white_space.end
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
    fn white_space_is_taken_as_far_as_no_token_before_took_it() {
        let left = Strips { left: true, right: false };
        let right = Strips { left: false, right: true };
        let tokens = tokens(&["<l>", "<r>"]).stripping(vec![left, right]);
        let text = " <r>\u{a0} <l> x \n<l>y";
        let stretches = tokens.stretches(text, Special::Parse);
        let cut: Vec<_> = stretches.map(|stretch| (&text[stretch.range], stretch.id)).collect();
        let expected = [
            (" ", None),
            ("<r>\u{a0} ", Some(1001)),
            ("<l>", Some(1000)),
            (" x", None),
            (" \n<l>", Some(1000)),
            ("y", None),
        ];
        assert_eq!(cut, expected);
    }

    #[test]
    fn white_space_is_looked_at_once_though_each_of_it_is_a_token() {
        for (left, right) in [(true, false), (false, true), (true, true)] {
            let mut text = "\u{a0} ".repeat(1000);
            text.push('x');
            let text = [&text, "a", &text].concat();
            let tokens = tokens(&[" "]).stripping(vec![Strips { left, right }]);
            let mut walk = Walk::new(&tokens, &text, false);
            let found = iter::from_fn(|| walk.next()).filter(|stretch| stretch.id.is_some()).count();
            assert!(found >= 2 && walk.looked <= 2 * text.len(), "{found}, {}", walk.looked);
        }
    }

    #[test]
    fn text_is_left_alone_and_a_refusal_names_the_place() {
        let tokens = tokens(&["<a>", "é"]).adding(&[1001]);
        let segments: Vec<_> = tokens.split("é<a>", Special::Ordinary).map(Result::unwrap).collect();
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
