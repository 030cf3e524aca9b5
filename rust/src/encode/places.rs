//! Ids and their text in, the place of every token out, and of which pretoken it is.
//!
//! One walk goes through the stages again, with the ids in hand. Of every section it tells where in the text for the model
//! its tokens stand; from there, places lead back:
//!
//! ```text
//! text given  -> normalized       -> section -> text for the model (with the spaces that a pattern puts)
//! places here <- through Alignment <- before  <- tokens, each as long as its bytes
//! ```

use std::ops::Range;
use std::slice::Iter;

use super::{
    Choice, ChoicePart, Encoder, Model, NO_ID, Places, Section, Special, Stretch, Unknown, Workspace,
};
use crate::error::{Error, Result};
use crate::memory;
use crate::pretokenize::{Prepared, pretokenize};
use crate::watch::Pulse;

/// The memory of a pretoken in a list, besides its bytes.
const BYTES_PER_PRETOKEN: usize = 48;

/// The unit of offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Characters,
    Bytes,
}

/// Whether the white space that a token begins and ends with is part of its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trim {
    No,
    Yes,
    /// But not a single space that the text, or these ids, begin with: it was put there.
    KeepFirst,
}

/// Where something begins, and where it ends.
pub type Span = (usize, usize);

impl Encoder {
    /// Whether the tokens of a text have the bytes of the text.
    pub fn tiles_text(&self) -> bool {
        self.keeps_text() && self.model.unknown.is_none()
    }

    /// Whether a text comes to the model as it is, and each of its added tokens is as long as its text.
    fn keeps_text(&self) -> bool {
        self.stages.is_plain() && !self.stages.later.strips && !self.model.pattern.puts_spaces()
    }

    /// The start and end of every token in a text. Where a text is changed before it comes to the model, a token with part
    /// of a character has the place of the whole of it in bytes, too.
    pub fn offsets(
        &self,
        text: &str,
        ids: &[u32],
        choice: Choice,
        unit: Unit,
        pulse: &mut Pulse,
    ) -> Result<Vec<Span>> {
        if self.tiles_text() {
            return self.model.tiled(ids, text, unit, pulse);
        }
        if self.keeps_text() {
            let mut spans = self.spans_in_bytes(text, ids, choice, pulse)?;
            if unit == Unit::Characters {
                let mut characters = CountedCharacters::of(text);
                spans.iter_mut().for_each(|span| *span = characters.place(span.0, span.1));
            }
            return Ok(spans);
        }
        let mut places = self.places(text, ids, choice, Trim::No, pulse)?;
        if unit == Unit::Bytes && !text.is_ascii() {
            let mut starts = Vec::new();
            memory::reserve(&mut starts, text.len() + 1)?;
            starts.extend(text.char_indices().map(|(start, _)| start));
            starts.push(text.len());
            for (start, end) in &mut places {
                (*start, *end) = (starts[*start], starts[*end]);
            }
        }
        Ok(places)
    }

    /// The start and end of every token in bytes of a text that comes to the model as it is. Bytes without a token belong to
    /// the token that stands for them, or to none.
    fn spans_in_bytes(
        &self,
        text: &str,
        ids: &[u32],
        choice: Choice,
        pulse: &mut Pulse,
    ) -> Result<Vec<Span>> {
        let (mut all, mut spans, mut rest) = (Vec::new(), Vec::new(), ids);
        memory::reserve(&mut all, ids.len())?;
        memory::reserve(&mut spans, ids.len())?;
        let again = |unknown| Ok((unknown, Workspace::new()?));
        let mut again = self.model.unknown.map(again).transpose()?;
        self.stages.sections(
            Stretch::whole(text),
            choice,
            Places::Needed,
            pulse,
            &mut |section, pulse| {
                let prepared = match section.id {
                    None => self.model.pattern.prepare(section.text, pulse)?,
                    Some(_) => Prepared::plain(section.text),
                };
                self.model.find_spans(&section, &prepared, rest, &mut spans, &mut again, pulse)?;
                rest = rest.get(spans.len()..).ok_or_else(other_text)?;
                let begun = section.source_start + section.before.len();
                let moved = |&(start, end): &Span| (begun + start, begun + end);
                all.extend(spans.iter().map(moved));
                Ok(())
            },
        )?;
        if rest.is_empty() { Ok(all) } else { Err(other_text()) }
    }

    /// The number of the part in which each token of a text begins.
    pub fn numbers_of_parts(
        &self,
        text: &str,
        ids: &[u32],
        parts: &[ChoicePart],
        pulse: &mut Pulse,
    ) -> Result<Vec<u32>> {
        let spans = self.offsets(text, ids, Choice::of(parts), Unit::Bytes, pulse)?;
        memory::gathered(
            spans.iter().map(|&(start, _)| parts.partition_point(|part| part.end <= start) as u32),
        )
    }

    /// Where each token of a text stands, in characters. A token with part of a character stands where the whole of
    /// it stands, and a space that was put in where the character behind it stands.
    pub fn places(
        &self,
        text: &str,
        ids: &[u32],
        choice: Choice,
        trim: Trim,
        pulse: &mut Pulse,
    ) -> Result<Vec<Span>> {
        let (mut places, mut spans, mut rest) = (Vec::new(), Vec::new(), ids);
        memory::reserve(&mut places, ids.len())?;
        memory::reserve(&mut spans, ids.len())?;
        let mut given = CountedCharacters::of(text);
        let again = |unknown| Ok((unknown, Workspace::new()?));
        let mut again = self.model.unknown.map(again).transpose()?;
        // Of the normalized text in which a section stands: where it was given, and how much of it was gone through.
        let (mut from, mut bytes, mut skipped) = (0, 0, 0);
        self.stages.sections(
            Stretch::whole(text),
            choice,
            Places::Needed,
            pulse,
            &mut |section, pulse| {
                let prepared = match section.id {
                    None => self.model.pattern.prepare(section.text, pulse)?,
                    Some(_) => Prepared::plain(section.text),
                };
                self.model.find_spans(&section, &prepared, rest, &mut spans, &mut again, pulse)?;
                let (own, others) = rest.split_at_checked(spans.len()).ok_or_else(other_text)?;
                rest = others;
                if section.source_start != from {
                    (from, bytes, skipped) = (section.source_start, 0, 0);
                }
                skipped += section.before[bytes..].chars().count();
                bytes = section.before.len();
                let first = given.before(section.source_start);
                let written = prepared.text();
                let has_spaces = written != section.text;
                let spaced =
                    if has_spaces { Some(places_of_characters(section.text, written)?) } else { None };
                let put = usize::from(section.has_added_space);
                let mut written = CountedCharacters::of(written);
                for (&id, &(start, end)) in own.iter().zip(&spans) {
                    let (mut start, mut end) = written.place(start, end);
                    if let Some(spaced) = &spaced {
                        (start, end) = (spaced[start], spaced[end - 1] + 1);
                    }
                    (start, end) =
                        (start.saturating_sub(put) + skipped, end.saturating_sub(put).max(1) + skipped);
                    if let Some(alignment) = section.alignment {
                        (start, end) = alignment.place(start, end);
                    }
                    let spaces = || match section.id {
                        Some(_) => spaces_around_text(section.text),
                        None => spaces_around(self.tokens().get(id).unwrap_or_default()),
                    };
                    places.push(trimmed((first + start, first + end), spaces, trim, places.is_empty()));
                }
                Ok(())
            },
        )?;
        if rest.is_empty() { Ok(places) } else { Err(other_text()) }
    }

    /// The pretokens of a text, and its added tokens.
    pub fn pretokens(&self, text: &str, pulse: &mut Pulse) -> Result<Vec<Box<[u8]>>> {
        let mut found = Vec::new();
        let visit = &mut |section: Section, pulse: &mut Pulse| {
            if section.id.is_some() {
                return memory::push(&mut found, section.text.as_bytes().into());
            }
            let pieces = pretokenize(section.text, &self.model.pattern, pulse)?;
            memory::ensure(section.text.len() + pieces.iter().len() * BYTES_PER_PRETOKEN)?;
            pieces.iter().try_for_each(|piece| memory::push(&mut found, piece.into()))
        };
        self.stages.sections(Stretch::whole(text), Special::Parse.into(), Places::Unneeded, pulse, visit)?;
        Ok(found)
    }
}

impl Model {
    /// The start and end of every token in the text that the ids encode.
    ///
    /// In bytes, spans are adjacent and cover the text. In characters, a token that has a part of a character spans all of
    /// it: from the character of the token's first byte to that of its last byte. So tokens that share a character overlap.
    fn tiled(&self, ids: &[u32], text: &str, unit: Unit, pulse: &mut Pulse) -> Result<Vec<Span>> {
        let (mut spans, mut characters) = (Vec::new(), CountedCharacters::of(text));
        memory::reserve(&mut spans, ids.len())?;
        self.add_spans(text, &mut ids.iter(), &mut spans, pulse)?;
        if unit == Unit::Characters {
            spans.iter_mut().for_each(|span| *span = characters.place(span.0, span.1));
        }
        Ok(spans)
    }

    /// Find where the tokens of a section stand in the text that the model had; the first of some ids are theirs.
    fn find_spans(
        &self,
        section: &Section,
        prepared: &Prepared,
        ids: &[u32],
        spans: &mut Vec<Span>,
        again: &mut Option<(Unknown, Workspace)>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let (text, mut ids) = (prepared.text(), ids.iter());
        spans.clear();
        if section.id.is_some() {
            spans.extend(ids.next().map(|_| (0, text.len())));
            return Ok(());
        }
        let Some((unknown, Workspace { batch: batches, buffers, .. })) = again else {
            return self.add_spans(text, &mut ids, spans, pulse);
        };
        let [batch] = &mut **batches;
        let (mut scanner, mut start) = (self.pattern.scan(prepared), 0);
        while scanner.fill(batch, pulse)? > 0 {
            for &end in batch.ends() {
                self.merge_tokens(&text.as_bytes()[start..end], &mut buffers.misses, pulse)?;
                self.add_merged_spans(
                    text.as_bytes(),
                    start..end,
                    *unknown,
                    &buffers.misses.ids,
                    &mut ids,
                    spans,
                )?;
                start = end;
            }
        }
        Ok(())
    }

    /// Add where the tokens of a text without unknown bytes stand.
    fn add_spans(
        &self,
        text: &str,
        ids: &mut Iter<u32>,
        spans: &mut Vec<Span>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let mut end = 0;
        while end < text.len() {
            let length = ids.next().and_then(|&id| self.tokens.length(id)).filter(|&length| length > 0);
            let start = end;
            end += length.ok_or_else(other_text)?;
            pulse.beat(end - start)?;
            spans.push((start, end));
        }
        if end == text.len() { Ok(()) } else { Err(other_text()) }
    }

    /// Add where the tokens stand that a pretoken was merged to, from which the ids were made: of the unknown ones, those
    /// do not tell how many bytes they stand for.
    fn add_merged_spans(
        &self,
        text: &[u8],
        pretoken: Range<usize>,
        unknown: Unknown,
        tokens: &[u32],
        ids: &mut Iter<u32>,
        spans: &mut Vec<Span>,
    ) -> Result<()> {
        // A token that replaces a pretoken has all of its bytes, also those without a token of their own.
        let has_all = unknown.id().is_some() || self.replacing.contains_key(&text[pretoken.clone()]);
        let is_merged = |&place: &usize| has_all || self.merges.base(text[place]) != NO_ID;
        let merged = memory::gathered(pretoken.filter(is_merged))?;
        let (mut end, mut was_unknown) = (0, false);
        for &token in tokens {
            let start = end;
            end += self.tokens.length(token).unwrap_or(1);
            let span = (merged[start], merged[end - 1] + 1);
            let is_part = self.provisional.contains_key(&token);
            let is_unknown = is_part || token == NO_ID;
            let goes_on = matches!(unknown, Unknown::Joined(_)) || is_part && is_continuation(text[span.0]);
            match spans.last_mut().filter(|_| goes_on && was_unknown && is_unknown) {
                Some(before) => before.1 = span.1,
                None if ids.next().copied() == if is_unknown { unknown.id() } else { Some(token) } => {
                    spans.push(span)
                }
                None => return Err(other_text()),
            }
            was_unknown = is_unknown;
        }
        Ok(())
    }
}

#[cold]
fn other_text() -> Error {
    Error::Value("these ids do not belong to this text".into())
}

/// A text in which characters are counted from its beginning on.
struct CountedCharacters<'t> {
    text: &'t [u8],
    is_ascii: bool,
    /// Invariant: `begun` characters begin in the first `position` bytes.
    position: usize,
    begun: usize,
}

impl<'t> CountedCharacters<'t> {
    fn of(text: &'t str) -> Self {
        Self { text: text.as_bytes(), is_ascii: text.is_ascii(), position: 0, begun: 0 }
    }

    /// How many characters begin before a place. It is quick for places in order.
    fn before(&mut self, place: usize) -> usize {
        if self.is_ascii {
            return place;
        }
        if place < self.position {
            (self.position, self.begun) = (0, 0);
        }
        let passed = &self.text[self.position..place];
        self.begun += passed.iter().filter(|&&byte| !is_continuation(byte)).count();
        self.position = place;
        self.begun
    }

    /// The characters that the bytes of a token are of.
    fn place(&mut self, start: usize, end: usize) -> Span {
        let begun = self.before(start);
        let within = self.text.get(start).is_some_and(|&byte| is_continuation(byte));
        (if within { begun - 1 } else { begun }, self.before(end))
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// The place of each character of a text with the spaces that were put in: such a space stands only before what is
/// none, and where that stands.
fn places_of_characters(text: &str, written: &str) -> Result<Vec<usize>> {
    let mut places = Vec::new();
    memory::reserve(&mut places, written.chars().count())?;
    let mut rest = text.chars();
    let mut following = rest.next();
    let mut place = 0;
    for character in written.chars() {
        places.push(place);
        if Some(character) == following {
            following = rest.next();
            place += 1;
        }
    }
    Ok(places)
}

/// How many spaces a token begins and ends with.
fn spaces_around(token: &[u8]) -> (usize, usize) {
    let spaces = |&&byte: &&u8| byte == b' ';
    (token.iter().take_while(spaces).count(), token.iter().rev().take_while(spaces).count())
}

/// How much white space a special token begins and ends with; one that is spelled like a byte-level space has that, too.
fn spaces_around_text(token: &str) -> (usize, usize) {
    let is_space = |character: &char| character.is_whitespace() || *character == '\u{120}';
    (token.chars().take_while(is_space).count(), token.chars().rev().take_while(is_space).count())
}

fn trimmed(
    (mut start, mut end): Span,
    spaces: impl FnOnce() -> (usize, usize),
    trim: Trim,
    is_first: bool,
) -> Span {
    if trim == Trim::No {
        return (start, end);
    }
    let (mut leading, trailing) = spaces();
    if leading == 1 && trim == Trim::KeepFirst && (is_first || start == 0) {
        leading = 0;
    }
    start = end.min(start + leading);
    if end >= trailing {
        end = start.max(end - trailing);
    }
    (start, end)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::super::{Definition, Stages};
    use super::*;
    use crate::watch::Unwatched;

    #[test]
    fn a_call_that_must_stop_does() {
        let tokens: Vec<(u32, &[u8])> = vec![(0, b"a"), (1, b" ")];
        let definition =
            Definition { tokens: &tokens, pattern: &[r"\S+|\s+".into()], ..Definition::default() };
        let encoder = Encoder::new(&definition, Stages::none());
        let (encoder, text, ids) = (encoder.unwrap(), "a ".repeat(1 << 18), [0, 1].repeat(1 << 18));
        let stopped = |work: &dyn Fn(&mut Pulse) -> bool| {
            let stop = AtomicBool::new(true);
            work(&mut Pulse::until(&stop))
        };
        let (special, unit) = (Special::Text.into(), Unit::Characters);
        assert!(stopped(&|pulse| encoder.model.tiled(&ids, &text, unit, pulse).is_err()));
        assert!(stopped(&|pulse| { encoder.places(&text, &ids, special, Trim::No, pulse).is_err() }));
    }

    #[test]
    fn a_token_with_part_of_a_character_spans_all_of_it() {
        let given: Vec<(u32, &[u8])> =
            vec![(0, b"a\xC3"), (1, b"\xA9"), (2, b"b"), (3, b"\xE4\xB8"), (4, b"\xADc")];
        let model = Model::new(&Definition {
            tokens: &given,
            pattern: &[r"\S+|\s+".into()],
            ..Definition::default()
        })
        .unwrap();
        let in_unit = |unit| {
            let watch = &mut Unwatched;
            model.tiled(&[0, 1, 2, 3, 4], "aéb中c", unit, &mut Pulse::of(watch)).unwrap()
        };
        assert_eq!(in_unit(Unit::Characters), [(0, 2), (1, 2), (2, 3), (3, 4), (3, 5)]);
        assert_eq!(in_unit(Unit::Bytes), [(0, 2), (2, 3), (3, 4), (4, 6), (6, 8)]);
    }
}
