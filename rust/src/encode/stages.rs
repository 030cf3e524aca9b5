//! The stages of a text before it is cut into pretokens: added tokens are found, and the text
//! between them is normalized.
//!
//! ```text
//! text -> first added tokens -> normalized text -> later added tokens -> text for the model
//! ```
//!
//! - A **stage** is one of these steps. Each may be empty: an ordinary vocabulary has only later
//!   tokens, and its text goes through unchanged.
//! - A **stretch** is a part of a text that is encoded by itself, because the text was cut at both
//!   ends.
//! - A **section** is what the stages make of a stretch, one after the other: an added token, or
//!   the text for the model between two of them.
//!
//! ```text
//! stretch    Hello <s>WORLD
//! sections   "hello " | <s> | "world"      with the step Lowercase
//! ```
//!
//! # Where a text may be cut
//!
//! Threads encode the parts of a long text, and a stream encodes what has arrived of an open one. A
//! text may be cut where the ids of both parts, one after the other, are the ids of the whole.
//! [`Cuts::safe_cut`] finds the next such place:
//!
//! 1. The pattern cuts there in every text with the two characters at the place
//!    ([`Pattern::safe_cut`]).
//! 2. No added token's text lies across the place or touches it, and if tokens take white space, it
//!    is not on both sides.
//! 3. Each part is normalized alone to what it is within the whole.
//! 4. If the text is open, all this is so whatever follows.
//!
//! This never needs the ids, or anything but the characters near the place. Two other questions
//! need more, and so find places that this one must refuse: [`Stages::cuts_behind_tokens`], once it
//! is known which tokens are found, and [`Tail::settle`](super::tail::Tail::settle), once an
//! automaton has found the pieces.

use std::ops::Range;
use std::sync::Arc;

use super::added::{AddedToken, AddedTokens, TokenCuts};
use super::character_start;
use super::choice::{Choice, Special};
use crate::error::Result;
use crate::memory;
use crate::normalize::{Alignment, Beginning, Normalizer};
use crate::pretokenize::Pattern;
use crate::watch::{Pulse, Unwatched};

/// The stages before a text is cut into pretokens.
pub struct Stages {
    /// The tokens that are found in the text itself, before it is normalized.
    pub first: AddedTokens,
    pub normalizer: Arc<Normalizer>,
    /// The tokens that are found in normalized text.
    pub later: AddedTokens,
    /// Whether a space is prepended to the text that a text begins with, once tokens are found, if
    /// it begins with none.
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

/// A section of a stretch: an added token, or the text between two of them.
pub struct Section<'t> {
    /// The text for the model, or of the token with the white space that it takes.
    pub text: &'t str,
    /// The id of an added token.
    pub id: Option<u32>,
    /// Whether it is a first token, which is found before the text is normalized.
    pub is_first_token: bool,
    /// Whether the first character is a space that was prepended.
    pub has_added_space: bool,
    /// The normalized text before it.
    pub before: &'t str,
    /// Where the text that was normalized begins in the whole text, in bytes.
    pub source_start: usize,
    /// Where the characters of the normalized text were before, if they were moved. It is only
    /// known if `SectionPlaces` are needed.
    pub alignment: Option<&'t Alignment>,
}

/// Whether it must be known where in the text each section is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SectionPlaces {
    Needed,
    Unneeded,
}

/// The places where a text may be cut. They are asked for in ascending order.
pub struct Cuts<'t> {
    stages: &'t Stages,
    pattern: &'t Pattern,
    text: &'t str,
    is_open: bool,
    first: TokenCuts<'t, 't>,
    /// In a text that is not normalized. (In one that is, they are looked for near each place.)
    later: Option<TokenCuts<'t, 't>>,
}

impl Cuts<'_> {
    /// Returns the first of these places where the text may be cut without changing any id; for an
    /// open text, whatever follows. They end at the end of a character.
    pub fn safe_cut(&mut self, places: Range<usize>, pulse: &mut Pulse) -> Result<Option<usize>> {
        let Range { start: mut from, end } = places;
        while from < end {
            // The pattern looks only at the characters on both sides of a place.
            let seen = character_start(self.text, end.min(from + MOST_SEEN));
            let cut = self.pattern.safe_cut(&self.text[..seen], from);
            // The rest is no work to speak of: a stream looks at the last few bytes at each step.
            if cut.is_none() && seen == end {
                break;
            }
            let place = cut.unwrap_or(seen);
            pulse.beat(place - from)?;
            if cut.is_some() && self.may_cut_at(place) {
                return Ok(cut);
            }
            from = seen.min(place + 1);
        }
        Ok(None)
    }

    /// Whether tokens and the normalizer allow a cut at a place where the pattern does.
    fn may_cut_at(&mut self, place: usize) -> bool {
        if !self.first.may_cut_at(place) {
            return false;
        }
        if let Some(later) = &mut self.later {
            return later.may_cut_at(place);
        }
        let is_unsure = self.is_open && self.text.len() < place + self.stages.reach();
        !is_unsure && self.stages.may_cut_normalized(self.text, place, self.pattern)
    }
}

/// The places of an open text behind added tokens that were found in it, where it may be cut.
pub struct CutsBehindTokens {
    /// Up to here, an added token is found whatever follows; `None` if that depends on what is
    /// before it.
    last_sure: Option<usize>,
    /// Whether it is known where in the text later tokens are.
    later_are_placed: bool,
}

impl CutsBehindTokens {
    /// Returns the place behind a token, and behind the white space that it takes, if the text may
    /// be cut there.
    pub fn place_behind(&self, token: &Section) -> Option<usize> {
        let is_placed = token.is_first_token || self.later_are_placed;
        let place = token.source_start + token.before.len() + token.text.len();
        // If it takes white space, more of that may follow at the end of the text.
        let is_sure = self.last_sure.is_some_and(|last| place <= last);
        (is_placed && is_sure).then_some(place)
    }
}

/// The most bytes that are searched at a time for a place to cut a text.
const MOST_SEEN: usize = 1 << 16;

/// A longer text is not searched for added tokens twice.
const SHORT_SECTION: usize = 1 << 12;

/// How many characters the last one that starts may have behind it.
const MARKS: usize = 32;

/// The name of the step that prepends a space.
const SPACE_FIRST: &str = "Space first";

impl Stages {
    /// From tokens, each with whether it is found in normalized text, and the steps of the
    /// normalizer.
    pub fn new(tokens: Vec<(AddedToken, bool)>, steps: &[Vec<String>]) -> Result<Self> {
        let (space, steps): (Vec<_>, Vec<_>) = steps
            .iter()
            .cloned()
            .partition(|step| step.first().is_some_and(|name| name == SPACE_FIRST));
        let normalizer = Normalizer::new(&steps)?;
        Self::of(Arc::new(normalizer), !space.is_empty(), tokens)
    }

    #[cfg(test)]
    pub fn none() -> Self {
        Self::new(Vec::new(), &[]).unwrap()
    }

    /// The same stages with other tokens.
    pub fn with_tokens(&self, tokens: Vec<(AddedToken, bool)>) -> Result<Self> {
        Self::of(Arc::clone(&self.normalizer), self.space_first, tokens)
    }

    fn of(
        normalizer: Arc<Normalizer>,
        space_first: bool,
        tokens: Vec<(AddedToken, bool)>,
    ) -> Result<Self> {
        let mut first = Vec::new();
        let mut later = Vec::new();
        for (token, is_normalized) in tokens {
            if !is_normalized {
                first.push(token);
                continue;
            }
            let watch = &mut Unwatched;
            let text =
                normalizer.normalize(&token.text, Beginning::Segment, &mut Pulse::of(watch))?;
            // A token whose text becomes empty is never found.
            if !text.is_empty() {
                later.push(AddedToken { text: text.into_owned(), ..token });
            }
        }
        // Without a normalizer, both stages see the same text. One search is enough, and most
        // vocabularies are so.
        if later.is_empty() && normalizer.is_identity() {
            std::mem::swap(&mut first, &mut later);
        }
        Ok(Self {
            first: AddedTokens::new(first)?,
            later: AddedTokens::new(later)?,
            normalizer,
            space_first,
        })
    }

    /// Whether the search of the later tokens sees every text unchanged.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.first.is_empty() && self.normalizer.is_identity() && !self.space_first
    }

    /// Whether there are added tokens.
    pub fn have_tokens(&self) -> bool {
        !self.first.is_empty() || !self.later.is_empty()
    }

    /// Whether every text goes through unchanged.
    pub fn are_none(&self) -> bool {
        self.is_plain() && self.later.is_empty()
    }

    /// Returns the whole text, if it is short and a single section that is not changed. Most short
    /// texts are so, and the walk through the stages would take as long as a few pretokens.
    #[inline(always)]
    pub fn only_section<'t>(&self, stretch: &Stretch<'t>) -> Option<&'t str> {
        let Stretch { text, range, .. } = stretch;
        let is_short = (1..=SHORT_SECTION).contains(&range.len());
        if !is_short || !self.is_plain() {
            return None;
        }
        let section = &text[range.clone()];
        self.later.are_surely_not_in(section).then_some(section)
    }

    /// Visits the sections of a stretch of a text in order.
    #[inline]
    pub fn sections(
        &self,
        stretch: Stretch,
        choice: Choice,
        places: SectionPlaces,
        pulse: &mut Pulse,
        visit: &mut impl FnMut(Section, &mut Pulse) -> Result<()>,
    ) -> Result<()> {
        if self.first.is_empty() {
            return self.sections_between(stretch, choice, places, pulse, visit);
        }
        let Stretch { text, range, at } = stretch;
        let stretch_start = range.start;
        self.first.stretches(text, range, choice, pulse, &mut |range, id, pulse| {
            if id.is_some() {
                let section = Section {
                    text: &text[range.clone()],
                    id,
                    is_first_token: true,
                    has_added_space: false,
                    before: "",
                    source_start: range.start,
                    alignment: None,
                };
                return visit(section, pulse);
            }
            let at = if range.start > stretch_start { Beginning::Segment } else { at };
            self.sections_between(Stretch { text, range, at }, choice, places, pulse, visit)
        })
    }

    /// Visits the sections of a stretch without first tokens.
    #[inline]
    fn sections_between(
        &self,
        stretch: Stretch,
        choice: Choice,
        places: SectionPlaces,
        pulse: &mut Pulse,
        visit: &mut impl FnMut(Section, &mut Pulse) -> Result<()>,
    ) -> Result<()> {
        let Stretch { text, range, at } = stretch;
        let source_start = range.start;
        let source = &text[range];
        let mut choice = choice.behind(source_start);
        let needs_places =
            places == SectionPlaces::Needed || !self.later.is_empty() && choice.needs_places();
        let written = if needs_places {
            self.normalizer.written::<true>(source, at, pulse)?
        } else {
            self.normalizer.written::<false>(source, at, pulse)?
        };
        let normalized = written.as_ref().map_or(source, |written| &written.text);
        let alignment = written.as_ref().filter(|_| needs_places).map(|written| &written.alignment);
        let mut room = Vec::new();
        if let Some(alignment) = alignment {
            choice = choice.normalized(source, normalized, alignment, &mut room)?;
        }
        let adds_space = self.space_first && at == Beginning::Text && !normalized.starts_with(' ');
        let all = 0..normalized.len();
        let visited =
            self.later.stretches(normalized, all, choice, pulse, &mut |range, id, pulse| {
                let mut section = Section {
                    text: &normalized[range.clone()],
                    id,
                    is_first_token: false,
                    has_added_space: false,
                    before: &normalized[..range.start],
                    source_start,
                    alignment,
                };
                if !(adds_space && range.start == 0 && id.is_none()) {
                    return visit(section, pulse);
                }
                let mut spaced = String::new();
                memory::append(&mut spaced, " ")?;
                memory::append(&mut spaced, section.text)?;
                section.text = &spaced;
                section.has_added_space = true;
                visit(section, pulse)
            });
        // A refused token is reported at its place in the whole text.
        visited.map_err(|error| {
            error.moved(|character| {
                let in_source =
                    alignment.map_or(character, |to| to.place(character, character + 1).0);
                text[..source_start].chars().count() + in_source
            })
        })
    }

    /// The end of a text all of whose characters are kept by the normalizer.
    pub fn kept_end<'t>(&self, text: &'t str) -> &'t str {
        let is_changed = |character| !self.normalizer.keeps(character);
        match text.char_indices().rfind(|&(_, character)| is_changed(character)) {
            Some((place, changed)) => &text[place + changed.len_utf8()..],
            None => text,
        }
    }

    /// Begins to ask where a text may be cut; for an open text, whatever follows.
    pub fn cuts<'t>(
        &'t self,
        text: &'t str,
        open: Option<Choice<'t>>,
        pattern: &'t Pattern,
    ) -> Cuts<'t> {
        Cuts {
            stages: self,
            pattern,
            text,
            is_open: open.is_some(),
            first: self.first.cuts(text, open),
            later: self.normalizer.is_identity().then(|| self.later.cuts(text, open)),
        }
    }

    /// Begins to ask where an open text may be cut behind the added tokens of a stretch of it,
    /// whatever follows.
    ///
    /// [`Cuts`] refuses all these places, because a token touches them. Here the token itself
    /// allows the cut: it was found, so what is behind it is a segment ([`Beginning::Segment`]),
    /// whatever the pattern and the normalizer do. But which tokens are found is known only once
    /// the stretch is encoded.
    pub fn cuts_behind_tokens(&self, stretch: &Stretch, choice: Choice) -> CutsBehindTokens {
        let looks_back = self.first.look_back() || self.later.look_back();
        let longest = self.first.longest().max(self.later.longest());
        // The last character may still change when it is normalized.
        let last_sure = stretch.text.len().checked_sub(longest + char::MAX.len_utf8());
        CutsBehindTokens {
            last_sure: if looks_back { None } else { last_sure },
            later_are_placed: self.later_are_placed(stretch, choice),
        }
    }

    /// Whether it is known where in a text the later tokens of a stretch are: it is not changed,
    /// and no place behind one is within the text of a first token that is not found.
    fn later_are_placed(&self, stretch: &Stretch, choice: Choice) -> bool {
        let all_are_found = matches!(choice.of_all(), Some(Special::Parse | Special::Error));
        if self.later.is_empty() || !(self.first.is_empty() || all_are_found) {
            return false;
        }
        if self.normalizer.is_identity() {
            return true;
        }
        let prepends =
            stretch.at != Beginning::Within && (self.space_first || self.normalizer.prepends());
        !prepends && self.keeps_all(&stretch.text[stretch.range.clone()])
    }

    /// How many bytes behind a place decide whether a text may be cut there.
    pub fn reach(&self) -> usize {
        self.first.longest().max(2 * char::MAX.len_utf8()).max(self.later_reach())
    }

    /// How far a later token may reach in a text before it is normalized.
    fn later_reach(&self) -> usize {
        self.later.longest() + char::MAX.len_utf8()
    }

    fn keeps_all(&self, text: &str) -> bool {
        text.chars().all(|character| self.normalizer.keeps(character))
    }

    /// Whether the text may be cut at a place before it is normalized, and the normalized text
    /// there, too.
    fn may_cut_normalized(&self, text: &str, place: usize, pattern: &Pattern) -> bool {
        let keeps = |character: char| self.normalizer.keeps(character);
        let (left, right) = text.split_at(place);
        let before = left.chars().next_back();
        let mut behind = right.chars();
        let next = behind.next();
        // What follows white space that a token has taken is the beginning of a segment.
        if self.first.strips && before.is_some_and(char::is_whitespace) {
            return false;
        }
        // Both characters behind the place matter: the first becomes itself only if the second
        // starts.
        if !next.is_none_or(keeps)
            || !behind.next().is_none_or(|second| self.normalizer.starts(second))
        {
            return false;
        }
        if !before.is_none_or(keeps) && !self.may_cut_changed(left, next, pattern) {
            return false;
        }
        self.later.is_empty() || self.no_later_token_touches(text, place)
    }

    /// Whether pretokens may be cut between what the end of a text becomes and a character that is
    /// kept.
    fn may_cut_changed(&self, left: &str, next: Option<char>, pattern: &Pattern) -> bool {
        let mut last = left.char_indices().rev().take(MARKS);
        let Some((start, _)) = last.find(|&(_, character)| self.normalizer.starts(character))
        else {
            return false;
        };
        let (end, watch) = (&left[start..], &mut Unwatched);
        let Ok(written) = self.normalizer.normalize(end, Beginning::Within, &mut Pulse::of(watch))
        else {
            return false;
        };
        let place = written.len();
        let mut seam = written.into_owned();
        seam.extend(next);
        place > 0 && pattern.safe_cut(&seam, place) == Some(place)
    }

    /// Whether no later token can lie across a place or touch it, as far as the text near it shows:
    /// as far as a token may reach, all characters must be kept, and nothing prepended to them.
    fn no_later_token_touches(&self, text: &str, place: usize) -> bool {
        let reach = self.later_reach();
        // Something is prepended at the beginning of the text, and behind a first token.
        let Some(far) = place.checked_sub(reach + self.first.longest()) else { return false };
        let start = character_start(text, place - reach);
        let near = &text[start..character_start(text, place + reach)];
        self.keeps_all(near)
            && self.later.cuts(near, None).may_cut_at(place - start)
            && !self.first.any_is_in(&text[character_start(text, far)..place])
    }
}
