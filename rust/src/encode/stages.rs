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

use super::added::{AddedToken, AddedTokens, PassedOn, TokenSearch};
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

    /// Go through a text: its added tokens, and the normalized text between them. If sections are placed, it is known where
    /// in the text they stand.
    #[inline]
    pub fn sections(
        &self,
        text: &str,
        choice: Choice,
        are_placed: bool,
        pulse: &mut Pulse,
        visit: &mut impl FnMut(Section, &mut Pulse) -> Result<()>,
    ) -> Result<()> {
        let at = Beginning::Text;
        if self.first.is_empty() {
            return self.sections_between(text, 0..text.len(), at, choice, are_placed, pulse, visit);
        }
        self.first.stretches(text, choice, &mut |range, id| {
            if id.is_some() {
                let (given, text) = (range.start, &text[range]);
                return visit(
                    Section { text, id, has_put: false, before: "", given, alignment: None },
                    pulse,
                );
            }
            let at = if range.start > 0 { Beginning::Segment } else { at };
            self.sections_between(text, range, at, choice, are_placed, pulse, visit)
        })
    }

    /// Go through the text between first tokens.
    #[inline]
    #[allow(clippy::too_many_arguments)] // Those of `sections`, and a part of its text.
    pub fn sections_between(
        &self,
        text: &str,
        range: Range<usize>,
        at: Beginning,
        choice: Choice,
        are_placed: bool,
        pulse: &mut Pulse,
        visit: &mut impl FnMut(Section, &mut Pulse) -> Result<()>,
    ) -> Result<()> {
        let (given, part, own) = (range.start, &text[range.clone()], choice.behind(range.start));
        let begins = self.space_first && at == Beginning::Text;
        let mut room = Vec::new();
        let (normalized, alignment, own) = if self.normalizer.is_identity() {
            (Cow::Borrowed(part), None, own)
        } else if are_placed || matches!(choice, Choice::Parts(..)) && self.later.any_special() {
            let (normalized, alignment) = self.normalizer.aligned(part, at, pulse)?;
            let own = own.normalized(part, &normalized, &alignment, &mut room)?;
            let is_same = matches!(normalized, Cow::Borrowed(_));
            (normalized, if is_same { None } else { Some(alignment) }, own)
        } else {
            (self.normalizer.normalize(part, at, pulse)?, None, own)
        };
        let alignment = alignment.as_ref();
        let found = self.later.stretches(&normalized, own, &mut |range, id| {
            let before = &normalized[..range.start];
            let has_put = begins && before.is_empty() && id.is_none() && needs_space(&normalized);
            if !has_put {
                let text = &normalized[range];
                return visit(Section { text, id, has_put, before, given, alignment }, pulse);
            }
            let mut text = String::new();
            memory::append(&mut text, " ")?;
            memory::append(&mut text, &normalized[range])?;
            visit(Section { text: &text, id, has_put, before, given, alignment }, pulse)
        });
        found.map_err(|error| match error {
            Error::Special { token, character } => {
                let moved = alignment.map_or(character, |to| to.place(character, character + 1).0);
                Error::Special { token, character: text[..given].chars().count() + moved }
            }
            other => other,
        })
    }

    /// Whether a text between first tokens may be cut at a place where its pretokens may.
    pub fn may_cut(&self, text: &str, place: usize) -> bool {
        let keeps = |character: char| self.normalizer.keeps(character);
        let mut behind = text[place..].chars();
        let is_kept = text[..place].chars().next_back().is_none_or(keeps)
            && behind.next().is_none_or(keeps)
            && behind.next().is_none_or(|character| self.normalizer.starts(character));
        if !is_kept || self.later.is_empty() {
            return is_kept;
        }
        if self.normalizer.is_identity() {
            return self.later.may_cut(text, place);
        }
        // As far as a token may reach, all characters must be as they are given, and nothing put before them.
        let far = self.later.longest() + char::MAX.len_utf8();
        let Some(first) = place.checked_sub(far) else { return false };
        let first = character_start(text, first);
        let near = &text[first..character_start(text, place + far)];
        near.chars().all(keeps) && self.later.may_cut(near, place - first)
    }

    /// The choice for a text whose parts arrive one after the other: one for the whole text if special tokens are found in
    /// normalized text, of whose characters these stages do not know the places.
    pub fn choice_of_parts<'p>(&self, parts: &'p [ChoicePart], special: Special) -> Choice<'p> {
        match self.normalizer.is_identity() || !self.later.any_special() {
            true => Choice::Parts(parts, 0),
            false => Choice::Whole(special),
        }
    }

    /// The same error where a special token was refused in a part of a text: it says where in the whole text it stands.
    pub fn in_whole(&self, error: Error, text: &str, choice: Choice) -> Error {
        if !matches!(error, Error::Special { .. }) {
            return error;
        }
        let mut unwatched = Unwatched;
        let placed = self.sections(text, choice, true, &mut Pulse::of(&mut unwatched), &mut |_, _| Ok(()));
        placed.err().unwrap_or(error)
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
    between: Between,
}

/// The stages behind the search of first tokens.
#[derive(Clone)]
struct Between {
    /// What is not normalized yet.
    pending: String,
    /// The length of the pending text with which a place to cut it is looked for again.
    next_cut: usize,
    at: Beginning,
    /// Where the text that is searched begins in the given one.
    begin: usize,
    later: TokenSearch,
    /// Whether nothing was passed on.
    begins: bool,
}

/// Takes what has come through the stages.
type Put<'a> = &'a mut dyn FnMut(PassedOn, &mut Pulse) -> Result<()>;

/// How text passes the stages, and where it goes.
pub struct Passing<'a, 'p> {
    pub stages: &'a Stages,
    pub choice: Choice<'a>,
    pub pulse: &'a mut Pulse<'p>,
    pub put: Put<'a>,
}

impl Front {
    pub fn new() -> Self {
        let (first, later) = (TokenSearch::default(), TokenSearch::default());
        let (pending, at) = (String::new(), Beginning::Text);
        let between = Between { pending, next_cut: 0, at, begin: 0, later, begins: true };
        Self { first, between }
    }

    /// Add the next piece of the text; pass on what no later text can change.
    pub fn feed(&mut self, piece: &str, mut to: Passing) -> Result<()> {
        let (stages, choice) = (to.stages, to.choice);
        if stages.first.is_empty() {
            return self.between.take(piece, &mut to);
        }
        self.first.feed(&stages.first, choice, piece, &mut |found| self.between.take_found(found, &mut to))
    }

    /// End the text: pass on the rest. A new text may then begin.
    pub fn finish(&mut self, mut to: Passing) -> Result<()> {
        let (stages, choice) = (to.stages, to.choice);
        self.first.finish(&stages.first, choice, &mut |found| self.between.take_found(found, &mut to))?;
        self.between.end(&mut to)?;
        *self = Self::new();
        Ok(())
    }
}

impl Between {
    /// Add what the search for first tokens has passed on. Such a token ends the text before it.
    fn take_found(&mut self, found: PassedOn, to: &mut Passing) -> Result<()> {
        match found {
            PassedOn::Text(text) => self.take(text, to),
            PassedOn::Token(.., end) => {
                self.end(to)?;
                (self.at, self.begins, self.begin, self.next_cut) = (Beginning::Segment, false, end, 0);
                (to.put)(found, to.pulse)
            }
        }
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
        let (tokens, choice) = (&to.stages.later, to.choice.behind(self.begin));
        self.later.feed(tokens, choice, text, &mut |found| pass_on(found, &mut self.begins, to))
    }

    fn end(&mut self, to: &mut Passing) -> Result<()> {
        self.normalize(self.pending.len(), to)?;
        let (tokens, choice) = (&to.stages.later, to.choice.behind(self.begin));
        self.later.finish(tokens, choice, &mut |found| pass_on(found, &mut self.begins, to))
    }
}

/// Pass on normalized text or a token, behind a space if one is put there.
fn pass_on(found: PassedOn, begins: &mut bool, to: &mut Passing) -> Result<()> {
    let may_put = mem::take(begins) && to.stages.space_first;
    if may_put && matches!(found, PassedOn::Text(text) if needs_space(text)) {
        (to.put)(PassedOn::Text(" "), to.pulse)?;
    }
    (to.put)(found, to.pulse)
}
