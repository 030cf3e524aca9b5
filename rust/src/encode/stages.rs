//! What is done with a text before it is cut into pretokens: added tokens are found, and the text between them is
//! normalized.
//!
//! ```text
//! text -> first added tokens -> normalized text -> later added tokens -> text for the model
//! ```
//!
//! Each stage may be empty: an ordinary vocabulary has only later tokens, and its text goes through unchanged.

use std::borrow::Cow;
use std::sync::Arc;

use super::added::{AddedToken, AddedTokens, PassedOn, Stretch, TokenSearch};
use super::character_start;
use super::choice::{Choice, ChoicePart, Special};
use crate::error::{Error, Result};
use crate::memory;
use crate::normalize::{Beginning, Normalizer};
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
    /// Where it begins in the normalized text, in bytes.
    pub start: usize,
    /// Whether the first character is a space that was put there.
    pub has_put: bool,
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

    /// Go through a text: its added tokens, and the normalized text between them.
    #[inline]
    pub fn sections(
        &self,
        text: &str,
        at: Beginning,
        choice: Choice,
        pulse: &mut Pulse,
        visit: &mut impl FnMut(Section, &mut Pulse) -> Result<()>,
    ) -> Result<()> {
        if self.first.is_empty() {
            return self.sections_between(text, at, choice, pulse, visit);
        }
        for stretch in self.first.stretches(text, choice) {
            let Stretch { range, id } = stretch?;
            let (start, choice, text) = (range.start, choice.behind(range.start), &text[range]);
            match id {
                Some(_) => visit(Section { text, id, start: 0, has_put: false }, pulse)?,
                None => {
                    let at = if start > 0 { Beginning::Segment } else { at };
                    self.sections_between(text, at, choice, pulse, visit)?;
                }
            }
        }
        Ok(())
    }

    /// Go through the text between first tokens.
    #[inline]
    pub fn sections_between(
        &self,
        text: &str,
        at: Beginning,
        choice: Choice,
        pulse: &mut Pulse,
        visit: &mut impl FnMut(Section, &mut Pulse) -> Result<()>,
    ) -> Result<()> {
        let normalized = match self.normalizer.is_identity() {
            true => Cow::Borrowed(text),
            false if matches!(choice, Choice::Parts(..)) && self.later.any_special() => {
                let (normalized, alignment) = self.normalizer.aligned(text, at, pulse)?;
                let mut room = Vec::new();
                let choice = choice.normalized(text, &normalized, &alignment, &mut room)?;
                return self.sections_of_normalized(&normalized, at, choice, pulse, visit);
            }
            false => self.normalizer.normalize(text, at, pulse)?,
        };
        self.sections_of_normalized(&normalized, at, choice, pulse, visit)
    }

    /// Go through normalized text.
    #[inline]
    pub fn sections_of_normalized(
        &self,
        text: &str,
        at: Beginning,
        choice: Choice,
        pulse: &mut Pulse,
        visit: &mut impl FnMut(Section, &mut Pulse) -> Result<()>,
    ) -> Result<()> {
        let begins = self.space_first && at == Beginning::Text;
        let show = &mut |text: &str, Stretch { range, id }, pulse: &mut Pulse| {
            let start = range.start;
            if !(begins && start == 0 && id.is_none() && needs_space(text)) {
                return visit(Section { text: &text[range], id, start, has_put: false }, pulse);
            }
            let mut spaced = String::new();
            memory::append(&mut spaced, " ")?;
            memory::append(&mut spaced, &text[range])?;
            visit(Section { text: &spaced, id, start, has_put: true }, pulse)
        };
        if !self.later.any_found(choice) {
            let whole = Stretch { range: 0..text.len(), id: None };
            return if text.is_empty() { Ok(()) } else { show(text, whole, pulse) };
        }
        self.later.stretches(text, choice).try_for_each(|stretch| show(text, stretch?, pulse))
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
        match error {
            Error::Special { .. } => self.refusal(text, choice).unwrap_or(error),
            _ => error,
        }
    }

    fn refusal(&self, text: &str, choice: Choice) -> Option<Error> {
        let mut unwatched = Unwatched;
        let pulse = &mut Pulse::of(&mut unwatched);
        for stretch in self.first.stretches(text, choice) {
            let (start, part) = match stretch {
                Err(error) => return Some(error),
                Ok(Stretch { id: Some(_), .. }) => continue,
                Ok(Stretch { range, .. }) => (range.start, &text[range]),
            };
            let at = if start > 0 { Beginning::Segment } else { Beginning::Text };
            let (normalized, alignment) = self.normalizer.aligned(part, at, pulse).ok()?;
            let mut room = Vec::new();
            let choice = choice.behind(start).normalized(part, &normalized, &alignment, &mut room).ok()?;
            let refused = self.later.stretches(&normalized, choice).find_map(Result::err);
            if let Some(Error::Special { token, character }) = refused {
                let (place, _) = alignment.place(character, character + 1);
                return Some(Error::Special { token, character: text[..start].chars().count() + place });
            }
        }
        None
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
pub type Put<'a> = &'a mut dyn FnMut(PassedOn, &mut Pulse) -> Result<()>;

impl Front {
    pub fn new() -> Self {
        let (first, later) = (TokenSearch::default(), TokenSearch::default());
        let (pending, at) = (String::new(), Beginning::Text);
        let between = Between { pending, next_cut: 0, at, begin: 0, later, begins: true };
        Self { first, between }
    }

    /// Add the next piece of the text; pass on what no later text can change.
    pub fn feed(
        &mut self,
        stages: &Stages,
        choice: Choice,
        piece: &str,
        pulse: &mut Pulse,
        put: Put,
    ) -> Result<()> {
        let Self { first, between } = self;
        if stages.first.is_empty() {
            return between.take(stages, choice, piece, pulse, put);
        }
        first.feed(&stages.first, choice, piece, &mut |found| match found {
            PassedOn::Text(text) => between.take(stages, choice, text, pulse, put),
            PassedOn::Token(.., end) => between.take_token(stages, choice, (found, end), pulse, put),
        })
    }

    /// End the text: pass on the rest. A new text may then begin.
    pub fn finish(&mut self, stages: &Stages, choice: Choice, pulse: &mut Pulse, put: Put) -> Result<()> {
        let Self { first, between } = self;
        first.finish(&stages.first, choice, &mut |found| match found {
            PassedOn::Text(text) => between.take(stages, choice, text, pulse, put),
            PassedOn::Token(.., end) => between.take_token(stages, choice, (found, end), pulse, put),
        })?;
        between.end(stages, choice, pulse, put)?;
        *self = Self::new();
        Ok(())
    }
}

impl Between {
    /// Add text between first tokens.
    fn take(
        &mut self,
        stages: &Stages,
        choice: Choice,
        text: &str,
        pulse: &mut Pulse,
        put: Put,
    ) -> Result<()> {
        if stages.normalizer.is_identity() {
            return self.take_normalized(stages, choice, text, pulse, put);
        }
        memory::append(&mut self.pending, text)?;
        if self.pending.len() < self.next_cut {
            return Ok(());
        }
        let cut = stages.normalizer.last_cut(&self.pending);
        if cut > 0 {
            self.normalize(stages, choice, cut, pulse, put)?;
        }
        self.next_cut = if cut > 0 { 0 } else { self.pending.len() * 5 / 4 };
        Ok(())
    }

    /// Normalize the pending text up to a place.
    fn normalize(
        &mut self,
        stages: &Stages,
        choice: Choice,
        end: usize,
        pulse: &mut Pulse,
        put: Put,
    ) -> Result<()> {
        let mut pending = std::mem::take(&mut self.pending);
        let normalized = stages.normalizer.normalize(&pending[..end], self.at, pulse)?;
        self.take_normalized(stages, choice, &normalized, pulse, put)?;
        drop(normalized);
        if end > 0 {
            self.at = Beginning::Within;
        }
        pending.drain(..end);
        self.pending = pending;
        Ok(())
    }

    fn take_normalized(
        &mut self,
        stages: &Stages,
        choice: Choice,
        text: &str,
        pulse: &mut Pulse,
        put: Put,
    ) -> Result<()> {
        let (begins, choice) = (&mut self.begins, choice.behind(self.begin));
        self.later.feed(&stages.later, choice, text, &mut |found| pass_on(stages, found, begins, pulse, put))
    }

    /// A first token ends the text before it.
    fn take_token(
        &mut self,
        stages: &Stages,
        choice: Choice,
        (token, end): (PassedOn, usize),
        pulse: &mut Pulse,
        put: Put,
    ) -> Result<()> {
        self.end(stages, choice, pulse, put)?;
        (self.at, self.begins, self.begin, self.next_cut) = (Beginning::Segment, false, end, 0);
        put(token, pulse)
    }

    fn end(&mut self, stages: &Stages, choice: Choice, pulse: &mut Pulse, put: Put) -> Result<()> {
        self.normalize(stages, choice, self.pending.len(), pulse, put)?;
        let (begins, choice) = (&mut self.begins, choice.behind(self.begin));
        self.later.finish(&stages.later, choice, &mut |found| pass_on(stages, found, begins, pulse, put))
    }
}

/// Pass on normalized text or a token, behind a space if one is put there.
fn pass_on(stages: &Stages, found: PassedOn, begins: &mut bool, pulse: &mut Pulse, put: Put) -> Result<()> {
    if std::mem::take(begins)
        && stages.space_first
        && matches!(found, PassedOn::Text(text) if needs_space(text))
    {
        put(PassedOn::Text(" "), pulse)?;
    }
    put(found, pulse)
}
