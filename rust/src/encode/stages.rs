//! What is done with a text before it is cut into pretokens: added tokens are found, and the text between them is
//! normalized.
//!
//! ```text
//! text -> first added tokens -> normalized text -> later added tokens -> text for the model
//! ```
//!
//! Each stage may be empty: an ordinary vocabulary has only later tokens, and its text goes through unchanged.

use std::borrow::Cow;
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use super::added::{AddedToken, AddedTokens, Passed, TokenSearch};
use super::character_start;
use super::choice::{Choice, ChoicePart, Special};
use crate::error::{Error, Result};
use crate::memory;
use crate::normalize::{Alignment, Beginning, Normalizer};
use crate::watch::{Pulse, Unwatched};

/// The stages before a text is cut into pretokens.
pub struct Stages {
    /// The tokens that are found in a text as it is given.
    pub first: AddedTokens,
    pub normalizer: Arc<Normalizer>,
    /// The tokens that are found in normalized text.
    pub later: AddedTokens,
    /// Whether a space is put before the text that a text begins with, once tokens are found, if it begins with none.
    space_first: bool,
}

/// A stretch of a text that is encoded by itself, and what begins with it.
pub struct Stretch<'t> {
    pub text: &'t str,
    pub range: Range<usize>,
    pub at: Beginning,
}

impl<'t> Stretch<'t> {
    pub fn whole(text: &'t str) -> Self {
        Self { text, range: 0..text.len(), at: Beginning::Text }
    }
}

/// A part of a normalized text: an added token, or what stands between.
pub struct Section<'t> {
    pub text: &'t str,
    pub id: Option<u32>,
    /// Whether the first character is a space that was put there.
    pub has_put: bool,
    /// The normalized text before it.
    pub before: &'t str,
    /// Where the text that was normalized begins in the given one, in bytes.
    pub given: usize,
    /// Where the characters of the normalized text stand in that text, if they were moved. It is only known of placed
    /// sections.
    pub alignment: Option<&'t Alignment>,
}

/// The name of the step that puts a space at the beginning of a text.
const SPACE_FIRST: &str = "Space first";

impl Stages {
    /// From tokens, each with whether it is found in normalized text, and the steps of the normalizer.
    pub fn new(tokens: Vec<(AddedToken, bool)>, steps: &[Vec<String>]) -> Result<Self> {
        let (space, steps): (Vec<_>, Vec<_>) =
            steps.iter().cloned().partition(|step| step.first().is_some_and(|name| name == SPACE_FIRST));
        Self::of(Arc::new(Normalizer::new(&steps)?), !space.is_empty(), tokens)
    }

    #[cfg(test)]
    pub fn none() -> Self {
        Self::new(Vec::new(), &[]).unwrap()
    }

    /// The same stages with other tokens.
    pub fn with_tokens(&self, tokens: Vec<(AddedToken, bool)>) -> Result<Self> {
        Self::of(Arc::clone(&self.normalizer), self.space_first, tokens)
    }

    fn of(normalizer: Arc<Normalizer>, space_first: bool, tokens: Vec<(AddedToken, bool)>) -> Result<Self> {
        let (mut first, mut later) = (Vec::new(), Vec::new());
        for (token, is_normalized) in tokens {
            if !is_normalized {
                first.push(token);
                continue;
            }
            let text =
                normalizer.normalize(&token.text, Beginning::Segment, &mut Pulse::of(&mut Unwatched))?;
            // A token of which nothing is left is never found.
            if !text.is_empty() {
                later.push(AddedToken { text: text.into_owned(), ..token });
            }
        }
        if later.is_empty() && normalizer.is_identity() {
            std::mem::swap(&mut first, &mut later);
        }
        Ok(Self { first: AddedTokens::new(first)?, later: AddedTokens::new(later)?, normalizer, space_first })
    }

    /// Whether a text reaches the search of the later tokens as it is given.
    pub fn is_plain(&self) -> bool {
        self.first.is_empty() && self.normalizer.is_identity() && !self.space_first
    }

    /// Go through a stretch of a text: its added tokens, and the normalized text between them. If sections are placed, it is
    /// known where in the text they stand.
    #[inline]
    pub fn sections(
        &self,
        stretch: Stretch,
        choice: Choice,
        are_placed: bool,
        pulse: &mut Pulse,
        visit: &mut impl FnMut(Section, &mut Pulse) -> Result<()>,
    ) -> Result<()> {
        if self.first.is_empty() {
            return self.sections_between(stretch, choice, are_placed, pulse, visit);
        }
        let Stretch { text, range, at } = stretch;
        let begin = range.start;
        self.first.stretches(text, range, choice, &mut |range, id| {
            if id.is_some() {
                let (given, text) = (range.start, &text[range]);
                let section = Section { text, id, has_put: false, before: "", given, alignment: None };
                return visit(section, pulse);
            }
            let at = if range.start > begin { Beginning::Segment } else { at };
            self.sections_between(Stretch { text, range, at }, choice, are_placed, pulse, visit)
        })
    }

    /// Go through the text between first tokens.
    #[inline]
    fn sections_between(
        &self,
        stretch: Stretch,
        choice: Choice,
        are_placed: bool,
        pulse: &mut Pulse,
        visit: &mut impl FnMut(Section, &mut Pulse) -> Result<()>,
    ) -> Result<()> {
        let Stretch { text, range, at } = stretch;
        let (given, part, mut own) = (range.start, &text[range.clone()], choice.behind(range.start));
        let mut room = Vec::new();
        let (mut normalized, mut alignment) = (Cow::Borrowed(part), None);
        if self.normalizer.is_identity() {
        } else if are_placed || self.later.any_special() && choice.needs_places() {
            let (written, places) = self.normalizer.aligned(part, at, pulse)?;
            if let Cow::Owned(_) = written {
                own = own.normalized(part, &written, &places, &mut room)?;
                (normalized, alignment) = (written, Some(places));
            }
        } else {
            normalized = self.normalizer.normalize(part, at, pulse)?;
        }
        let (normalized, alignment) = (&*normalized, alignment.as_ref());
        let puts_space = self.space_first && at == Beginning::Text && needs_space(normalized);
        let found = self.later.stretches(normalized, 0..normalized.len(), own, &mut |range, id| {
            let (text, before) = (&normalized[range.clone()], &normalized[..range.start]);
            let mut section = Section { text, id, has_put: false, before, given, alignment };
            if !(puts_space && before.is_empty() && id.is_none()) {
                return visit(section, pulse);
            }
            let mut spaced = String::new();
            memory::append(&mut spaced, " ")?;
            memory::append(&mut spaced, text)?;
            (section.text, section.has_put) = (&spaced, true);
            visit(section, pulse)
        });
        found.map_err(|error| match error {
            Error::Special { token, character } => {
                let moved = alignment.map_or(character, |to| to.place(character, character + 1).0);
                Error::Special { token, character: text[..given].chars().count() + moved }
            }
            other => other,
        })
    }

    /// Whether a text may be cut at a place where its pretokens may.
    pub fn may_cut(&self, text: &str, place: usize) -> bool {
        self.first.may_cut(text, place)
            && if self.normalizer.is_identity() {
                self.later.may_cut(text, place)
            } else {
                self.may_cut_normalized(text, place)
            }
    }

    /// Whether the text may be cut there before it is normalized, and the normalized one there, too.
    fn may_cut_normalized(&self, text: &str, place: usize) -> bool {
        let (left, right) = text.split_at(place);
        let (before, mut behind) = (left.chars().next_back(), right.chars());
        // What follows white space that a token has taken is the beginning of a segment.
        if self.first.takes_white_space() && before.is_some_and(char::is_whitespace) {
            return false;
        }
        let keeps = |character: char| self.normalizer.keeps(character);
        let is_kept = before.is_none_or(keeps)
            && behind.next().is_none_or(keeps)
            && behind.next().is_none_or(|character| self.normalizer.starts(character));
        if !is_kept || self.later.is_empty() {
            return is_kept;
        }
        // As far as a token may reach, all characters must be as they are given, and nothing put before them.
        let far = self.later.longest() + char::MAX.len_utf8();
        let Some(segment) = place.checked_sub(far + self.first.longest()) else { return false };
        let first = character_start(text, place - far);
        let near = &text[first..character_start(text, place + far)];
        near.chars().all(keeps)
            && self.later.may_cut(near, place - first)
            && !self.first.any_is_in(&text[character_start(text, segment)..place])
    }

    /// The choice for a text whose parts arrive one after the other: one for the whole text if special tokens are found in
    /// normalized text, of whose characters these stages do not know the places.
    pub fn choice_of_parts<'p>(&self, parts: &'p [ChoicePart], special: Special) -> Choice<'p> {
        match self.normalizer.is_identity() || !self.later.any_special() {
            true => Choice::Parts(parts, 0),
            false => Choice::Whole(special),
        }
    }
}

/// Whether a space is put before the text that a text begins with.
fn needs_space(text: &str) -> bool {
    !text.starts_with(' ')
}

/// A text that arrives in pieces, on its way through the stages. Each keeps what later text may change.
#[derive(Clone)]
pub struct Front {
    first: TokenSearch,
    /// What is not normalized yet.
    pending: String,
    /// The length of the pending text with which a place to cut it is looked for again.
    next_cut: usize,
    at: Beginning,
    /// Where the text that is normalized begins in the given one.
    begin: usize,
    later: TokenSearch,
    /// Whether nothing was passed on.
    begins: bool,
}

/// How text passes the stages, and what has come through.
pub struct Passing<'a, 'p> {
    stages: &'a Stages,
    choice: Choice<'a>,
    pulse: &'a mut Pulse<'p>,
    passed: Vec<Passed>,
}

impl<'a, 'p> Passing<'a, 'p> {
    pub fn new(stages: &'a Stages, choice: Choice<'a>, pulse: &'a mut Pulse<'p>) -> Self {
        Self { stages, choice, pulse, passed: Vec::new() }
    }
}

impl Front {
    pub fn new() -> Self {
        let (first, later, pending) = (TokenSearch::default(), TokenSearch::default(), String::new());
        Self { first, pending, next_cut: 0, at: Beginning::Text, begin: 0, later, begins: true }
    }

    /// Add the next piece of the text; returns what no later text can change. After an error the text is lost.
    pub fn feed(&mut self, piece: &str, mut to: Passing) -> Result<Vec<Passed>> {
        if to.stages.first.is_empty() {
            self.take(piece, &mut to)?;
        } else {
            let found = self.first.feed(&to.stages.first, to.choice, piece)?;
            self.take_found(found, &mut to)?;
        }
        Ok(to.passed)
    }

    /// End the text; returns the rest.
    pub fn finish(mut self, mut to: Passing) -> Result<Vec<Passed>> {
        let found = self.first.finish(&to.stages.first, to.choice)?;
        self.take_found(found, &mut to)?;
        self.end(&mut to)?;
        Ok(to.passed)
    }

    /// Add what the search for first tokens has passed on. Such a token ends the text before it.
    fn take_found(&mut self, found: Vec<Passed>, to: &mut Passing) -> Result<()> {
        for found in found {
            match found {
                Passed::Text(text) => self.take(&text, to)?,
                Passed::Token(.., end) => {
                    self.end(to)?;
                    (self.at, self.begins, self.begin, self.next_cut) = (Beginning::Segment, false, end, 0);
                    memory::push(&mut to.passed, found)?;
                }
            }
        }
        Ok(())
    }

    /// Add text between first tokens.
    fn take(&mut self, text: &str, to: &mut Passing) -> Result<()> {
        if to.stages.normalizer.is_identity() {
            return self.search(text, to);
        }
        memory::append(&mut self.pending, text)?;
        if self.pending.len() < self.next_cut {
            return Ok(());
        }
        let cut = to.stages.normalizer.last_cut(&self.pending);
        if cut > 0 {
            self.normalize(cut, to)?;
        }
        self.next_cut = if cut > 0 { 0 } else { self.pending.len() * 5 / 4 };
        Ok(())
    }

    /// Normalize the pending text up to a place.
    fn normalize(&mut self, end: usize, to: &mut Passing) -> Result<()> {
        let mut pending = mem::take(&mut self.pending);
        let normalized = to.stages.normalizer.normalize(&pending[..end], self.at, to.pulse)?;
        self.search(&normalized, to)?;
        drop(normalized);
        if end > 0 {
            self.at = Beginning::Within;
        }
        pending.drain(..end);
        self.pending = pending;
        Ok(())
    }

    /// Search normalized text for later tokens.
    fn search(&mut self, text: &str, to: &mut Passing) -> Result<()> {
        let found = self.later.feed(&to.stages.later, to.choice.behind(self.begin), text)?;
        self.pass_on(found, to)
    }

    /// End the text between first tokens.
    fn end(&mut self, to: &mut Passing) -> Result<()> {
        self.normalize(self.pending.len(), to)?;
        let found = self.later.finish(&to.stages.later, to.choice.behind(self.begin))?;
        self.pass_on(found, to)
    }

    /// Pass on normalized text and tokens, behind a space if one is put there.
    fn pass_on(&mut self, found: Vec<Passed>, to: &mut Passing) -> Result<()> {
        for found in found {
            let may_put = mem::take(&mut self.begins) && to.stages.space_first;
            if may_put && matches!(&found, Passed::Text(text) if needs_space(text)) {
                memory::push(&mut to.passed, Passed::Text(" ".to_owned()))?;
            }
            memory::push(&mut to.passed, found)?;
        }
        Ok(())
    }
}
