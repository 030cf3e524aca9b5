//! What is done with a text before it is cut into pretokens: added tokens are found, and the text between them is
//! normalized.
//!
//! ```text
//! text -> first added tokens -> normalized text -> later added tokens -> text for the model
//! ```
//!
//! Each stage may be empty: an ordinary vocabulary has only later tokens, and its text goes through unchanged.

use std::ops::Range;
use std::sync::Arc;

use super::added::{self, AddedToken, AddedTokens};
use super::character_start;
use super::choice::{Choice, Special};
use crate::error::Result;
use crate::memory;
use crate::normalize::{Alignment, Beginning, Normalizer};
use crate::pretokenize::Pattern;
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
    /// Whether it was found in the text as it is given.
    pub is_given: bool,
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

/// The places where a text may be cut. They are asked for in ascending order.
pub struct Cuts<'t> {
    stages: &'t Stages,
    pattern: &'t Pattern,
    text: &'t str,
    is_open: bool,
    first: added::Cuts<'t, 't>,
    /// In a text that is not normalized.
    later: Option<added::Cuts<'t, 't>>,
}

impl Cuts<'_> {
    /// Whether the text may be cut at a place.
    pub fn may_be_at(&mut self, place: usize) -> bool {
        if !self.first.may_be_at(place) {
            return false;
        }
        if let Some(later) = &mut self.later {
            return later.may_be_at(place);
        }
        let is_unsure = self.is_open && self.text.len() < place + self.stages.reach();
        !is_unsure && self.stages.may_cut_normalized(self.text, place, self.pattern)
    }
}

/// How many characters the last one that starts may have behind it.
const MARKS: usize = 32;

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
        self.first.stretches(text, range, choice, pulse, &mut |range, id, pulse| {
            if id.is_some() {
                let (given, text) = (range.start, &text[range]);
                let (is_given, has_put, before, alignment) = (true, false, "", None);
                let section = Section { text, id, is_given, has_put, before, given, alignment };
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
        let needs_places = are_placed || !self.later.is_empty() && choice.needs_places();
        let written = if needs_places {
            self.normalizer.written::<true>(part, at, pulse)?
        } else {
            self.normalizer.written::<false>(part, at, pulse)?
        };
        let normalized = written.as_ref().map_or(part, |written| &written.text);
        let alignment = written.as_ref().filter(|_| needs_places).map(|written| &written.alignment);
        if let Some(alignment) = alignment {
            own = own.normalized(part, normalized, alignment, &mut room)?;
        }
        let puts_space = self.space_first && at == Beginning::Text && !normalized.starts_with(' ');
        let found =
            self.later.stretches(normalized, 0..normalized.len(), own, pulse, &mut |range, id, pulse| {
                let (text, before) = (&normalized[range.clone()], &normalized[..range.start]);
                let (is_given, has_put) = (false, false);
                let mut section = Section { text, id, is_given, has_put, before, given, alignment };
                if !(puts_space && before.is_empty() && id.is_none()) {
                    return visit(section, pulse);
                }
                let mut spaced = String::new();
                memory::append(&mut spaced, " ")?;
                memory::append(&mut spaced, text)?;
                (section.text, section.has_put) = (&spaced, true);
                visit(section, pulse)
            });
        found.map_err(|error| {
            error.moved(|character| {
                let moved = alignment.map_or(character, |to| to.place(character, character + 1).0);
                text[..given].chars().count() + moved
            })
        })
    }

    /// The end of a text all of whose characters are kept by the normalizer.
    pub fn kept_end<'t>(&self, text: &'t str) -> &'t str {
        let changed = text.char_indices().rev().find(|&(_, character)| !self.normalizer.keeps(character));
        changed.map_or(text, |(place, character)| &text[place + character.len_utf8()..])
    }

    /// Where a text may be cut, of the places where its pretokens may; for an open text, whatever follows.
    pub fn cuts<'t>(&'t self, text: &'t str, open: Option<Choice<'t>>, pattern: &'t Pattern) -> Cuts<'t> {
        let later = self.normalizer.is_identity().then(|| self.later.cuts(text, open));
        Cuts {
            stages: self,
            pattern,
            text,
            is_open: open.is_some(),
            first: self.first.cuts(text, open),
            later,
        }
    }

    /// The last place of an open text where an added token is found whatever follows, and may be cut off behind the white space
    /// that it takes; `None` where what is found depends on what is before.
    pub fn last_sure_token(&self, text: &str) -> Option<usize> {
        let look_back = self.first.look_back() || self.later.look_back();
        let longest = self.first.longest().max(self.later.longest());
        // The last character may still change when it is normalized.
        text.len().checked_sub(longest + char::MAX.len_utf8()).filter(|_| !look_back)
    }

    /// Whether a stretch may be cut off behind a later token, too: it is passed on as it is, and the place is not within the
    /// text of a first token that is turned down.
    pub fn later_are_placed(&self, stretch: &Stretch, choice: Choice) -> bool {
        let none_is_turned_down = matches!(choice.of_all(), Some(Special::Parse | Special::Error));
        if self.later.is_empty() || !(self.first.is_empty() || none_is_turned_down) {
            return false;
        }
        let nothing_is_put =
            stretch.at == Beginning::Within || !self.space_first && !self.normalizer.prepends();
        let is_kept = || {
            let mut characters = stretch.text[stretch.range.clone()].chars();
            characters.all(|character| self.normalizer.keeps(character))
        };
        self.normalizer.is_identity() || nothing_is_put && is_kept()
    }

    /// How many bytes behind a place decide whether a text may be cut there.
    pub fn reach(&self) -> usize {
        self.first.longest().max(2 * char::MAX.len_utf8()).max(self.far())
    }

    /// How far a later token may reach, in a text that is not normalized.
    fn far(&self) -> usize {
        self.later.longest() + char::MAX.len_utf8()
    }

    /// Whether the text may be cut there before it is normalized, and the normalized one there, too.
    fn may_cut_normalized(&self, text: &str, place: usize, pattern: &Pattern) -> bool {
        let (left, right) = text.split_at(place);
        let (before, mut behind) = (left.chars().next_back(), right.chars());
        // What follows white space that a token has taken is the beginning of a segment.
        if self.first.strips && before.is_some_and(char::is_whitespace) {
            return false;
        }
        let keeps = |character: char| self.normalizer.keeps(character);
        let next = behind.next();
        let may_cut = next.is_none_or(keeps)
            && behind.next().is_none_or(|character| self.normalizer.starts(character))
            && (before.is_none_or(keeps) || self.may_cut_changed(left, next, pattern));
        if !may_cut || self.later.is_empty() {
            return may_cut;
        }
        // As far as a token may reach, all characters must be as they are given, and nothing put before them.
        let far = self.far();
        let Some(segment) = place.checked_sub(far + self.first.longest()) else { return false };
        let first = character_start(text, place - far);
        let near = &text[first..character_start(text, place + far)];
        near.chars().all(keeps)
            && self.later.cuts(near, None).may_be_at(place - first)
            && !self.first.any_is_in(&text[character_start(text, segment)..place])
    }

    /// Whether pretokens may be cut between what the end of a text becomes and a character that is kept.
    fn may_cut_changed(&self, left: &str, next: Option<char>, pattern: &Pattern) -> bool {
        let mut last = left.char_indices().rev().take(MARKS);
        let Some((start, _)) = last.find(|&(_, character)| self.normalizer.starts(character)) else {
            return false;
        };
        let (watch, end) = (&mut Unwatched, &left[start..]);
        let Ok(written) = self.normalizer.normalize(end, Beginning::Within, &mut Pulse::of(watch)) else {
            return false;
        };
        let (place, mut seam) = (written.len(), written.into_owned());
        seam.extend(next);
        place > 0 && pattern.safe_cut(&seam, place) == Some(place)
    }
}
