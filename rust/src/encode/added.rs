//! Finds added tokens in a text: one search for all of them, whatever their flags.
//!
//! A *candidate* is the text of a token: the leftmost, and of those at one place the longest. The next one is searched
//! behind it, even if its flags or the caller's choice turn it down. Only then does a token take the white space beside it,
//! and tokens of white space may lie within what the one before took.

use std::collections::HashSet;
use std::mem;
use std::ops::Range;

use super::candidates::{Candidates, Places};
use super::character_start;
use super::choice::{Choice, Special};
use crate::error::{Error, Result};
use crate::memory;
use crate::unicode::lookup::{self, Property};

/// A text that becomes an id of its own, without merging.
#[derive(Clone, Debug)]
pub struct AddedToken {
    pub text: String,
    pub id: u32,
    /// Whether it is one of those that a text from users must not contain.
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

/// What is found in a text that arrives in pieces: a token, or text between tokens, which may arrive in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passed {
    Text(String),
    /// What was found, its id, and where it ends in the text.
    Token(String, u32, usize),
}

/// Tokens that are found all at once.
pub struct AddedTokens {
    tokens: Vec<AddedToken>,
    candidates: Candidates,
    /// The characters of words, if a token must not touch them.
    words: Vec<lookup::Range>,
    /// Whether any token takes white space before it, and on any side.
    lstrip: bool,
    strips: bool,
    /// Whether any token is not special, and whether any is.
    any_plain: bool,
    any_special: bool,
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
        let words = tokens.iter().any(|token| token.single_word).then(|| Property::named("Word")).flatten();
        Ok(Self {
            candidates: Candidates::new(tokens.iter().map(|token| token.text.as_bytes())),
            words: words.map(Property::ranges).unwrap_or_default(),
            lstrip: tokens.iter().any(|token| token.lstrip),
            strips: tokens.iter().any(|token| token.lstrip || token.rstrip),
            any_plain: tokens.iter().any(|token| !token.is_special),
            any_special: tokens.iter().any(|token| token.is_special),
            tokens,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The length in bytes of the longest token; 0 where there is none.
    pub fn longest(&self) -> usize {
        self.candidates.longest()
    }

    /// Whether any token is found with this choice.
    pub fn any_found(&self, choice: Choice) -> bool {
        if matches!(choice, Choice::Whole(Special::Text)) { self.any_plain } else { !self.is_empty() }
    }

    /// Whether what stands from here on may be found, or may be taken by a token that more text brings.
    fn may_find_from(&self, choice: Choice) -> bool {
        self.any_plain || self.lstrip || !self.words.is_empty() || !choice.is_text()
    }

    /// Whether any token is special.
    pub fn any_special(&self) -> bool {
        self.any_special
    }

    /// Go through the tokens in a part of a text, each with its id, and the text between them, in order.
    #[inline]
    pub fn stretches(
        &self,
        text: &str,
        part: Range<usize>,
        choice: Choice,
        visit: &mut impl FnMut(Range<usize>, Option<u32>) -> Result<()>,
    ) -> Result<()> {
        if !self.any_found(choice) {
            return if part.is_empty() { Ok(()) } else { visit(part, None) };
        }
        let begin = part.start;
        let gone = if begin > 0 && choice.needs_places() { text[..begin].chars().count() } else { 0 };
        let state = WalkState { gone, ..WalkState::default() };
        Walk::new(self, &text[part], choice.behind(begin), false, state)
            .tell(&mut |range, id| visit(begin + range.start..begin + range.end, id))
    }

    /// Whether a text may be cut at a place without changing what is found: no token's text, found or not, lies across it
    /// or touches it, and white space lies on one side at most, if any token takes white space.
    pub fn may_cut(&self, text: &str, place: usize) -> bool {
        let (left, right) = text.split_at(place);
        let is_white = left.ends_with(char::is_whitespace) && right.starts_with(char::is_whitespace);
        let may_be_taken = self.strips && is_white;
        !may_be_taken && !self.candidates.any_touches(text.as_bytes(), place)
    }

    /// Whether the text of any token is in a text.
    pub fn any_is_in(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        self.candidates.find(bytes, 0..bytes.len(), &mut Places::default(), |_, _| true).is_some()
    }

    /// Whether any token takes white space.
    pub fn takes_white_space(&self) -> bool {
        self.strips
    }

    fn is_of_word(&self, character: Option<char>) -> bool {
        character.is_some_and(|character| {
            let code_point = character.into();
            let past = self.words.partition_point(|&(first, _)| first <= code_point);
            past > 0 && self.words[past - 1].1 >= code_point
        })
    }
}

/// What is known of a text up to a place. Places are counted from where the text begins, or what is left of it.
#[derive(Clone, Debug, Default)]
struct WalkState {
    /// Where what was told ends.
    told: usize,
    /// Where the next candidate is looked for: before `told` where the last token took white space.
    searched: usize,
    /// White space that was found behind a token: a token within it takes the rest, without another search.
    behind: Range<usize>,
    /// White space that is not told, as the next token may take it.
    kept: Range<usize>,
    /// The character before the text, and the length of all that is before.
    before: Option<char>,
    begin: usize,
    /// How many characters are before: only counted where any token would be refused.
    gone: usize,
    /// The length of all text that was searched: a test counts it.
    looked: usize,
}

impl WalkState {
    /// Forget the text before a place.
    fn forget(&mut self, text: &str, place: usize, choice: Choice) {
        let gone = &text[..place];
        self.before = gone.chars().next_back().or(self.before);
        self.begin += place;
        if matches!(choice, Choice::Whole(Special::Error)) {
            self.gone += gone.chars().count();
        }
        for known in [&mut self.behind, &mut self.kept] {
            *known = known.start.saturating_sub(place)..known.end.saturating_sub(place);
        }
        self.told -= place;
        self.searched -= place;
    }
}

/// A walk from token to token through a text, or through what has arrived of it.
struct Walk<'t, 'a> {
    tokens: &'a AddedTokens,
    text: &'t str,
    choice: Choice<'a>,
    /// Whether more text may follow: then only what it cannot change is found.
    is_open: bool,
    state: WalkState,
    places: Places,
}

impl<'t, 'a> Walk<'t, 'a> {
    fn new(
        tokens: &'a AddedTokens,
        text: &'t str,
        choice: Choice<'a>,
        is_open: bool,
        state: WalkState,
    ) -> Self {
        Self { tokens, text, choice, is_open, state, places: Places::default() }
    }

    /// Tell all tokens, and the text before each; then the text that is left, as far as no later text can change it.
    fn tell(&mut self, visit: &mut impl FnMut(Range<usize>, Option<u32>) -> Result<()>) -> Result<()> {
        while let Some((range, id)) = self.next()? {
            // It goes back if a token is found in the white space that the one before it took.
            let told = mem::replace(&mut self.state.told, range.end);
            if told < range.start {
                visit(told..range.start, None)?;
            }
            visit(range, Some(id))?;
        }
        let end = self.sure_text();
        if self.state.told < end {
            visit(mem::replace(&mut self.state.told, end)..end, None)?;
        }
        Ok(())
    }

    /// The next token, with the white space that it takes, and its id.
    fn next(&mut self) -> Result<Option<(Range<usize>, u32)>> {
        while let Some((candidate, number)) = self.candidate() {
            let token = &self.tokens.tokens[number];
            let (mut start, mut end) = (candidate.start, candidate.end);
            self.state.searched = end;
            let choice = self.choice.behind(self.state.begin);
            let special = token.is_special.then(|| choice.within(candidate.clone())).flatten();
            if special == Some(Special::Text) {
                continue;
            }
            if token.single_word {
                if end == self.text.len() && self.is_open {
                    self.state.searched = start;
                    return Ok(None);
                }
                if self.touches_word(&candidate) {
                    continue;
                }
            }
            if token.rstrip {
                end = self.white_space_from(end);
                if end == self.text.len() && self.is_open {
                    self.state.searched = start;
                    return Ok(None);
                }
            }
            if token.lstrip {
                start = self.white_space_before(start);
            }
            // Nothing is left of a token of white space that the token before it took.
            if start >= end {
                continue;
            }
            if special == Some(Special::Error) {
                let character = self.state.gone + self.text[..start].chars().count();
                return Err(Error::Special { token: token.text.clone(), character });
            }
            return Ok(Some((start..end, token.id)));
        }
        Ok(None)
    }

    /// The next candidate and the number of its token; none that a longer one may replace as more text follows.
    fn candidate(&mut self) -> Option<(Range<usize>, usize)> {
        let length = self.text.len();
        let sure = if self.is_open { (length + 1).saturating_sub(self.tokens.longest()) } else { length };
        let from = self.state.searched;
        let (tokens, choice) = (self.tokens, self.choice.behind(self.state.begin));
        let may_lie = |at, number: usize| !tokens.tokens[number].is_special || choice.within(at).is_some();
        let found =
            tokens.candidates.find(self.text.as_bytes(), from..sure.max(from), &mut self.places, may_lie);
        self.state.searched = found.as_ref().map_or(sure.max(from), |(candidate, _)| candidate.start);
        self.state.looked += found.as_ref().map_or(length, |(candidate, _)| candidate.end) - from;
        found
    }

    fn touches_word(&self, candidate: &Range<usize>) -> bool {
        let (before, behind) = (&self.text[..candidate.start], &self.text[candidate.end..]);
        self.tokens.is_of_word(before.chars().next_back().or(self.state.before))
            || self.tokens.is_of_word(behind.chars().next())
    }

    /// The end of the white space that begins at a place.
    fn white_space_from(&mut self, start: usize) -> usize {
        let known = &mut self.state.behind;
        if !known.contains(&start) {
            *known = start..start;
        }
        let more = &self.text[known.end..];
        let length = more.len() - more.trim_start().len();
        known.end += length;
        self.state.looked += length;
        known.end
    }

    /// The start of the white space that ends at a place, but no further back than the token before it.
    fn white_space_before(&mut self, end: usize) -> usize {
        let Some(between) = self.text.get(self.state.told..end) else { return self.state.told };
        let length = between.trim_end().len();
        self.state.looked += between.len() - length;
        self.state.told + length
    }

    /// Where the text ends that no later one can make part of a token.
    fn sure_text(&mut self) -> usize {
        if !self.is_open {
            return self.text.len();
        }
        let end = character_start(self.text, self.state.searched);
        if !self.tokens.lstrip || end <= self.state.told {
            return end;
        }
        // What was white space before need not be looked at again.
        let WalkState { told, kept, looked, .. } = &mut self.state;
        let from = kept.end.max(*told);
        let new = &self.text[from..end];
        let length = new.trim_end().len();
        *looked += new.len() - length;
        *kept = if length > 0 { from + length } else { kept.start.max(*told).min(from) }..end;
        kept.start
    }
}

/// The search in a text that arrives in pieces. Copies go on by themselves.
#[derive(Clone, Debug, Default)]
pub struct TokenSearch {
    /// The text that is not told, or may be part of a token.
    pending: String,
    state: WalkState,
}

impl TokenSearch {
    /// Add a piece of the text; returns all that no later text can change. After an error the text is lost.
    pub fn feed(&mut self, tokens: &AddedTokens, choice: Choice, piece: &str) -> Result<Vec<Passed>> {
        let rest = choice.behind(self.state.begin);
        if self.pending.is_empty() && !(tokens.any_found(choice) && tokens.may_find_from(rest)) {
            self.state.begin += piece.len();
            let text = (!piece.is_empty()).then(|| memory::copied(piece)).transpose()?;
            return Ok(text.into_iter().map(Passed::Text).collect());
        }
        memory::append(&mut self.pending, piece)?;
        let passed = self.pass(tokens, choice, true)?;
        let done = self.state.told.min(character_start(&self.pending, self.state.searched));
        self.state.forget(&self.pending, done, choice);
        self.pending.drain(..done);
        Ok(passed)
    }

    /// End the text; returns the rest. A new text may then begin.
    pub fn finish(&mut self, tokens: &AddedTokens, choice: Choice) -> Result<Vec<Passed>> {
        let passed = self.pass(tokens, choice, false)?;
        *self = Self::default();
        Ok(passed)
    }

    /// What is sure.
    fn pass(&mut self, tokens: &AddedTokens, choice: Choice, is_open: bool) -> Result<Vec<Passed>> {
        let (text, mut passed) = (&*self.pending, Vec::new());
        let mut walk = Walk::new(tokens, text, choice, is_open, mem::take(&mut self.state));
        let begin = walk.state.begin;
        walk.tell(&mut |range, id| {
            let found = memory::copied(&text[range.clone()])?;
            memory::push(
                &mut passed,
                match id {
                    None => Passed::Text(found),
                    Some(id) => Passed::Token(found, id, begin + range.end),
                },
            )
        })?;
        self.state = walk.state;
        Ok(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARSE: Choice = Choice::Whole(Special::Parse);

    /// The flags are letters: s for special, w for a single word, l and r for the white space that it takes.
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

    fn cut<'t>(tokens: &AddedTokens, text: &'t str, special: Special) -> Vec<(&'t str, Option<u32>)> {
        let mut found = Vec::new();
        let cut = tokens.stretches(text, 0..text.len(), special.into(), &mut |range, id| {
            found.push((&text[range], id));
            Ok(())
        });
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

    /// What a search looks at, whatever the length of the pieces.
    fn looked(tokens: &AddedTokens, text: &str, length: usize) -> usize {
        let (mut search, mut looked, mut rest) = (TokenSearch::default(), 0, text);
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(character_start(rest, length));
            search.feed(tokens, PARSE, piece).unwrap();
            looked += mem::take(&mut search.state.looked);
            rest = behind;
        }
        search.pass(tokens, PARSE, false).unwrap();
        looked + search.state.looked
    }

    #[test]
    fn text_is_looked_at_once_though_each_of_it_is_white_space_and_a_token() {
        let white = "\u{a0} ".repeat(3000);
        let text = [&white, "x", &white, "a", &white].concat();
        for flags in ["", "l", "r", "lr", "wl", "wr"] {
            for token in [" ", "\u{a0} \u{a0}", "x", "a", "aa"] {
                let tokens = tokens(&[(token, flags), ("y", "lr")]);
                for length in [2, 7, 1000, text.len()] {
                    let looked = looked(&tokens, &text, length);
                    let pieces = text.len().div_ceil(length - 1);
                    let most = 4 * text.len() + 2 * pieces * tokens.longest();
                    assert!(looked <= most, "{token:?}, {flags}, {length}: {looked} of {most}");
                }
            }
        }
    }

    #[test]
    fn what_is_kept_is_what_later_text_may_change() {
        let tokens = tokens(&[("<mask>", "lr")]);
        let mut search = TokenSearch::default();
        search.feed(&tokens, PARSE, "some text   <mask>  ").unwrap();
        assert_eq!(search.pending, "   <mask>  ");
        let mut copy = search.clone();
        let rest = copy.finish(&tokens, PARSE).unwrap();
        assert_eq!(rest, [Passed::Token("   <mask>  ".to_owned(), 1000, 20)]);
        assert_eq!((&*copy.pending, &*search.pending), ("", "   <mask>  "));
    }
}
