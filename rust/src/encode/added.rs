//! Finds added tokens in a text: one search for all of them, whatever their flags.
//!
//! A *candidate* is the text of a token: the leftmost, and of those at one place the longest. The
//! next one is searched behind it, even if its flags or the caller's choice turn it down. Only then
//! does a token take the white space around it, and tokens of white space may lie within what the
//! one before took.
//!
//! ```text
//! tokens    <r>, which takes the white space after it, and !
//! text      a <r>  !b
//! visited   "a " text | "<r>  " token | "!" token | "b" text
//! ```

use std::collections::HashSet;
use std::mem;
use std::ops::Range;

use super::choice::{Choice, Special};
use crate::error::{Error, Result};
use crate::finder::{Finder, Search, Touched};
use crate::unicode::lookup::{self, Property};
use crate::watch::Pulse;

/// The number of bytes that are searched between two beats of the pulse.
const BEAT: usize = 1 << 16;

/// A text that becomes an id by itself, without merging.
#[derive(Clone, Debug)]
pub struct AddedToken {
    pub text: String,
    pub id: u32,
    /// Whether it is a special token, which a text from users must not contain.
    pub is_special: bool,
    /// Whether it is only found where no character of a word touches it.
    pub single_word: bool,
    /// Whether it takes the white space before it, unless the token before it did.
    pub lstrip: bool,
    /// Whether it takes the white space after it.
    pub rstrip: bool,
}

impl AddedToken {
    /// A token without flags.
    pub fn new(text: String, id: u32) -> Self {
        Self { text, id, is_special: false, single_word: false, lstrip: false, rstrip: false }
    }
}

/// Tokens that are found all at once.
pub struct AddedTokens {
    tokens: Vec<AddedToken>,
    finder: Finder,
    /// The characters of words, if a token must not touch them.
    words: Vec<lookup::Range>,
    /// Whether any token takes white space before or after it.
    pub strips: bool,
    /// Whether any token is not special.
    any_plain: bool,
    /// Whether any token may lie in white space that the one before it takes.
    any_in_taken: bool,
}

impl AddedTokens {
    /// From tokens with distinct texts, none of them empty.
    pub fn new(tokens: Vec<AddedToken>) -> Result<Self> {
        let mut seen = HashSet::with_capacity(tokens.len());
        for token in &tokens {
            if token.text.is_empty() {
                return Err(Error::Value("a special token is empty".to_owned()));
            }
            if !seen.insert(&token.text) {
                return Err(Error::Value(format!("special token {:?} is given twice", token.text)));
            }
        }
        let any = |property: fn(&AddedToken) -> bool| tokens.iter().any(property);
        let words = if any(|token| token.single_word) { Property::named("Word") } else { None };
        let any_takes_behind = any(|token| token.rstrip);
        Ok(Self {
            finder: Finder::new(tokens.iter().map(|token| token.text.as_bytes())),
            words: words.map(Property::ranges).unwrap_or_default(),
            strips: any_takes_behind || any(|token| token.lstrip),
            any_plain: any(|token| !token.is_special),
            any_in_taken: any_takes_behind
                && any(|token| token.text.starts_with(char::is_whitespace)),
            tokens,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The length in bytes of the longest token; 0 where there is none.
    pub fn longest(&self) -> usize {
        self.finder.longest
    }

    /// Whether any token is found with this choice.
    pub fn any_found(&self, choice: Choice) -> bool {
        match choice.of_all() {
            Some(Special::Text) => self.any_plain,
            _ => !self.is_empty(),
        }
    }

    /// Visits the tokens in a part of a text, each with its id, and the text between them, in
    /// order.
    #[inline]
    pub fn stretches(
        &self,
        text: &str,
        part: Range<usize>,
        choice: Choice,
        pulse: &mut Pulse,
        visit: &mut impl FnMut(Range<usize>, Option<u32>, &mut Pulse) -> Result<()>,
    ) -> Result<()> {
        if !self.any_found(choice) {
            return if part.is_empty() { Ok(()) } else { visit(part, None, pulse) };
        }
        let offset = part.start;
        let mut walk = Walk::new(self, &text[part], 0, choice.behind(offset));
        let walked = walk.visit_all(pulse, &mut |range, id, pulse| {
            visit(offset + range.start..offset + range.end, id, pulse)
        });
        walked.map_err(|error| error.moved(|character| character + text[..offset].chars().count()))
    }

    /// Begins to ask where a text may be cut without changing what is found; for an open text,
    /// whatever follows.
    pub fn cuts<'t>(&self, text: &'t str, open: Option<Choice<'t>>) -> TokenCuts<'_, 't> {
        let unsure_from = match open {
            Some(_) => self.finder.incomplete_from(text.as_bytes()),
            None => usize::MAX,
        };
        TokenCuts { tokens: self, text, open, unsure_from, touched: Touched::default() }
    }

    /// Whether it shows at once that the text of no token is in a text.
    #[inline]
    pub fn are_surely_not_in(&self, text: &str) -> bool {
        self.finder.begins_nowhere(text.as_bytes())
    }

    /// Whether the text of any token is in a text.
    pub fn any_is_in(&self, text: &str) -> bool {
        let mut search = Search::default();
        self.finder.find(text.as_bytes(), 0..text.len(), &mut search, |_, _| true).is_some()
    }

    /// Whether no token is found behind the place `searched` of an open text as it is now. The
    /// place moves on as far as that is so whatever follows.
    pub fn finds_none(
        &self,
        text: &str,
        searched: &mut usize,
        choice: Choice,
        pulse: &mut Pulse,
    ) -> Result<bool> {
        if !self.any_found(choice) {
            return Ok(true);
        }
        let mut walk = Walk::new(self, text, *searched, choice);
        let mut is_sure = true;
        while let Some(candidate) = walk.candidate(pulse)? {
            if !walk.turns_down(&candidate) {
                return Ok(false);
            }
            let Range { start, end } = candidate.range;
            // Near the end of the text, a longer token may still begin here, or another character
            // follow.
            is_sure &= start + self.longest() <= text.len() && end < text.len();
            if is_sure {
                *searched = end;
            }
        }
        if is_sure {
            // A token that begins behind this place may be incomplete.
            let complete = (text.len() + 1).saturating_sub(self.longest());
            *searched = complete.max(*searched);
        }
        Ok(true)
    }

    /// Whether what is found behind a token may depend on what is before the end of the text that
    /// it takes.
    pub fn look_back(&self) -> bool {
        !self.words.is_empty() || self.any_in_taken
    }

    fn is_of_word(&self, character: Option<char>) -> bool {
        character.is_some_and(|character| {
            let code_point = character.into();
            let begun = self.words.partition_point(|&(first, _)| first <= code_point);
            begun > 0 && self.words[begun - 1].1 >= code_point
        })
    }
}

/// The places where a text may be cut as far as these tokens are concerned. They are asked for in
/// ascending order.
pub struct TokenCuts<'a, 't> {
    tokens: &'a AddedTokens,
    text: &'t str,
    /// The choice for an open text.
    open: Option<Choice<'t>>,
    /// From here on, the text of a token may lie at a place if more text follows.
    unsure_from: usize,
    touched: Touched,
}

impl TokenCuts<'_, '_> {
    /// Whether the answer for a place is the same whatever follows.
    pub fn is_sure(&self, place: usize) -> bool {
        place < self.unsure_from
    }

    /// Whether the text may be cut at a place: no token's text, found or not, lies across it or
    /// touches it, and white space is on one side at most, if any token takes white space.
    pub fn may_cut_at(&mut self, place: usize) -> bool {
        let Self { tokens, text, .. } = *self;
        // A token may take the white space though it is far away, or has not arrived yet.
        if tokens.strips {
            let (before, behind) = text.split_at(place);
            if before.ends_with(char::is_whitespace) && behind.starts_with(char::is_whitespace) {
                return false;
            }
        }
        let near = place.saturating_sub(tokens.longest())..place + tokens.longest();
        // Here no token is found, not even one that is incomplete so far.
        if !tokens.any_plain && self.open.is_some_and(|choice| choice.is_text(near)) {
            return true;
        }
        self.is_sure(place) && !tokens.finder.any_touches(text.as_bytes(), place, &mut self.touched)
    }
}

/// The text of a token, where it is in a text.
struct Candidate<'a> {
    token: &'a AddedToken,
    range: Range<usize>,
}

/// A walk from token to token through a text.
struct Walk<'t, 'a> {
    tokens: &'a AddedTokens,
    text: &'t str,
    choice: Choice<'a>,
    /// Where what was visited ends.
    visited: usize,
    /// Where the next candidate is looked for: before `visited` where the last token took white
    /// space.
    searched: usize,
    /// White space that was found behind a token: a token within it takes the rest, without another
    /// search.
    space_behind: Range<usize>,
    search: Search,
}

impl<'t, 'a> Walk<'t, 'a> {
    fn new(tokens: &'a AddedTokens, text: &'t str, searched: usize, choice: Choice<'a>) -> Self {
        Self {
            tokens,
            text,
            choice,
            visited: 0,
            searched,
            space_behind: 0..0,
            search: Search::default(),
        }
    }

    /// Visits all tokens, each with the white space that it takes, and the text before each; then
    /// the rest of the text.
    fn visit_all(
        &mut self,
        pulse: &mut Pulse,
        visit: &mut impl FnMut(Range<usize>, Option<u32>, &mut Pulse) -> Result<()>,
    ) -> Result<()> {
        while let Some(candidate) = self.candidate(pulse)? {
            let token = candidate.token;
            if self.turns_down(&candidate) {
                continue;
            }
            let special = self.special(&candidate);
            let Range { mut start, mut end } = candidate.range;
            if token.rstrip {
                end = self.space_end(end);
            }
            if token.lstrip {
                start = self.space_start(start);
            }
            // Nothing is left of a token of white space that the token before it took.
            if start >= end {
                continue;
            }
            if special == Some(Special::Error) {
                let character = self.text[..start].chars().count();
                return Err(Error::Special { token: token.text.clone(), character });
            }
            // It goes back if a token is found in the white space that the one before it took.
            let visited = mem::replace(&mut self.visited, end);
            if visited < start {
                visit(visited..start, None, pulse)?;
            }
            visit(start..end, Some(token.id), pulse)?;
        }
        let rest = self.visited..self.text.len();
        if rest.is_empty() { Ok(()) } else { visit(rest, None, pulse) }
    }

    /// The next candidate.
    fn candidate(&mut self, pulse: &mut Pulse) -> Result<Option<Candidate<'a>>> {
        let Self { tokens, text, choice, .. } = *self;
        let may_lie = |range, number: usize| {
            let is_special = tokens.tokens[number].is_special;
            !is_special || choice.within(range).is_some()
        };
        while self.searched < text.len() {
            let starts = self.searched..text.len().min(self.searched + BEAT);
            let next =
                tokens.finder.find(text.as_bytes(), starts.clone(), &mut self.search, may_lie);
            self.searched = next.as_ref().map_or(starts.end, |(range, _)| range.end);
            pulse.beat(self.searched - starts.start)?;
            if let Some((range, number)) = next {
                return Ok(Some(Candidate { token: &tokens.tokens[number], range }));
            }
        }
        Ok(None)
    }

    /// The choice for a candidate.
    fn special(&self, candidate: &Candidate) -> Option<Special> {
        if !candidate.token.is_special {
            return None;
        }
        self.choice.within(candidate.range.clone())
    }

    /// Whether a candidate is not found, because of the choice or the flags of its token.
    fn turns_down(&self, candidate: &Candidate) -> bool {
        self.special(candidate) == Some(Special::Text)
            || candidate.token.single_word && self.touches_word(&candidate.range)
    }

    fn touches_word(&self, range: &Range<usize>) -> bool {
        let before = self.text[..range.start].chars().next_back();
        let behind = self.text[range.end..].chars().next();
        self.tokens.is_of_word(before) || self.tokens.is_of_word(behind)
    }

    /// The end of the white space that begins at a place.
    fn space_end(&mut self, start: usize) -> usize {
        if !self.space_behind.contains(&start) {
            self.space_behind = start..start;
        }
        let rest = &self.text[self.space_behind.end..];
        let length = rest.len() - rest.trim_start().len();
        self.space_behind.end += length;
        self.space_behind.end
    }

    /// The start of the white space that ends at a place, but no further back than the token before
    /// it.
    fn space_start(&mut self, end: usize) -> usize {
        let Some(between) = self.text.get(self.visited..end) else { return self.visited };
        let length = between.trim_end().len();
        self.visited + length
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::watch::Unwatched;

    /// The flags are letters: s for special, w for a single word, l and r for the white space that
    /// it takes.
    fn tokens(tokens: &[(&str, &str)]) -> AddedTokens {
        let numbered = tokens.iter().zip(1000..).map(|(&(text, flags), id)| AddedToken {
            text: text.to_owned(),
            id,
            is_special: flags.contains('s'),
            single_word: flags.contains('w'),
            lstrip: flags.contains('l'),
            rstrip: flags.contains('r'),
        });
        AddedTokens::new(numbered.collect()).unwrap()
    }

    fn cut<'t>(
        tokens: &AddedTokens,
        text: &'t str,
        special: Special,
    ) -> Vec<(&'t str, Option<u32>)> {
        let mut found = Vec::new();
        let (watch, all) = (&mut Unwatched, 0..text.len());
        let cut = tokens.stretches(
            text,
            all,
            special.into(),
            &mut Pulse::of(watch),
            &mut |range, id, _| {
                found.push((&text[range], id));
                Ok(())
            },
        );
        cut.unwrap();
        found
    }

    #[test]
    fn the_longest_at_the_leftmost_place_is_taken() {
        let tokens = tokens(&[("<a>", "s"), ("<a><b>", "s"), ("b>x", "s")]);
        let expected = [("..", None), ("<a><b>", Some(1001)), ("x", None), ("<a>", Some(1000))];
        assert_eq!(cut(&tokens, "..<a><b>x<a>", Special::Parse), expected);
    }

    #[test]
    fn white_space_is_taken_as_far_as_no_token_before_took_it() {
        let tokens = tokens(&[("<l>", "l"), ("<r>", "r")]);
        let expected = [
            (" ", None),
            ("<r>\u{a0} ", Some(1001)),
            ("<l>", Some(1000)),
            (" x", None),
            (" \n<l>", Some(1000)),
            ("y", None),
        ];
        assert_eq!(cut(&tokens, " <r>\u{a0} <l> x \n<l>y", Special::Parse), expected);
    }

    #[test]
    fn a_search_that_must_stop_does_though_it_finds_nothing() {
        let text = " a".repeat(1 << 18);
        let long = [&" a".repeat(100), "!"].concat();
        for (token, flags) in [(&*long, "s"), ("a", "w"), ("b", "")] {
            let (tokens, stop) = (tokens(&[(token, flags), ("  ", "w")]), AtomicBool::new(true));
            let (all, mut pulse) = (0..text.len(), Pulse::until(&stop));
            let end =
                tokens.stretches(&text, all, Special::Parse.into(), &mut pulse, &mut |_, _, _| {
                    Ok(())
                });
            assert!(matches!(end, Err(Error::Stopped)), "{token:?}");
        }
    }

    #[test]
    fn long_text_takes_no_long_time_though_each_of_it_is_white_space_and_a_token() {
        // Looking at all white space from each place would take minutes.
        let white = "\u{a0} ".repeat(100_000);
        let text = [&white, "x", &white, "a", &white].concat();
        for flags in ["", "l", "r", "lr", "wl", "wr"] {
            for token in [" ", "\u{a0} \u{a0}", "x", "a", "aa"] {
                let tokens = tokens(&[(token, flags), ("y", "lr")]);
                let found = cut(&tokens, &text, Special::Parse);
                let end = found.last().map(|(piece, _)| piece.as_bytes().as_ptr_range().end);
                assert_eq!(end, Some(text.as_bytes().as_ptr_range().end), "{token:?}, {flags}");
            }
        }
    }
}
