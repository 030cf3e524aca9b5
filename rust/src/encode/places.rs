//! The place of every token of a text, and the part in which it begins.
//!
//! The ids are known. One walk goes through the stages again, and finds for every section where its
//! tokens are in the text for the model. From there, places lead back:
//!
//! ```text
//! text         -> normalized       -> section -> text for the model (with added spaces)
//! places in it <- through Alignment <- before  <- tokens, each as long as its bytes
//! ```

use std::ops::Range;
use std::slice::Iter;

use super::{
    Choice, ChoicePart, Dropout, Encoder, Model, NO_ID, Section, SectionPlaces, Special, Stretch,
    Unknown, Workspace,
};
use crate::error::{Error, Result};
use crate::memory;
use crate::normalize::Beginning;
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
    /// But not a single space that the text, or these ids, begin with: it was prepended.
    KeepFirst,
}

/// Where something begins, and where it ends.
pub type Span = (usize, usize);

impl Encoder {
    /// Whether the tokens of a text have the bytes of the text.
    pub fn tiles_text(&self) -> bool {
        self.keeps_text() && self.model.gaps().is_none()
    }

    /// Whether a text reaches the model unchanged, and each of its added tokens is as long as its
    /// text.
    pub(super) fn keeps_text(&self) -> bool {
        self.stages.is_plain() && !self.stages.later.strips && !self.model.pattern.puts_spaces()
    }

    /// The start and end of every token in a text. Where a text is changed before it reaches the
    /// model, a token with part of a character has the place of the whole character in bytes, too.
    pub fn offsets(
        &self,
        text: &str,
        at: Beginning,
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
                count_characters(text, &mut spans);
            }
            return Ok(spans);
        }
        let mut places = self.places(text, at, ids, choice, Trim::No, pulse)?;
        if unit == Unit::Bytes && !text.is_ascii() {
            let mut starts = Vec::new();
            memory::reserve(&mut starts, text.len() + 1)?;
            starts.extend(text.char_indices().map(|(start, _)| start));
            starts.push(text.len());
            for (start, end) in &mut places {
                *start = starts[*start];
                *end = starts[*end];
            }
        }
        Ok(places)
    }

    /// The start and end of every token in bytes of a text that reaches the model unchanged. Bytes
    /// without a token belong to the token that stands for them, or to none.
    fn spans_in_bytes(
        &self,
        text: &str,
        ids: &[u32],
        choice: Choice,
        pulse: &mut Pulse,
    ) -> Result<Vec<Span>> {
        let mut all = Vec::new();
        memory::reserve(&mut all, ids.len())?;
        let mut finder = SpanFinder::new(self, ids)?;
        let stretch = Stretch::whole(text);
        self.stages.sections(
            stretch,
            choice,
            SectionPlaces::Needed,
            pulse,
            &mut |section, pulse| {
                finder.find(&section, pulse)?;
                let offset = section.source_start + section.before.len();
                all.extend(finder.spans.iter().map(|&(start, end)| (offset + start, offset + end)));
                Ok(())
            },
        )?;
        finder.finish()?;
        Ok(all)
    }

    /// The number of the part in which each token of a text begins.
    pub fn numbers_of_parts(
        &self,
        text: &str,
        at: Beginning,
        ids: &[u32],
        parts: &[ChoicePart],
        pulse: &mut Pulse,
    ) -> Result<Vec<u32>> {
        let spans = self.offsets(text, at, ids, Choice::of(parts), Unit::Bytes, pulse)?;
        let number = |&(start, _): &Span| parts.partition_point(|part| part.end <= start) as u32;
        memory::gathered(spans.iter().map(number))
    }

    /// The place of each token of a text, in characters. A token with part of a character has the
    /// place of the whole character, and a space that was put in has the place of the character
    /// behind it.
    pub fn places(
        &self,
        text: &str,
        at: Beginning,
        ids: &[u32],
        choice: Choice,
        trim: Trim,
        pulse: &mut Pulse,
    ) -> Result<Vec<Span>> {
        let mut places = Vec::new();
        memory::reserve(&mut places, ids.len())?;
        let mut finder = SpanFinder::new(self, ids)?;
        let mut in_text = CountedCharacters::of(text);
        // How much was passed of the normalized text whose source begins here.
        let mut source_start = 0;
        let mut bytes = 0;
        let mut characters = 0;
        let stretch = Stretch { text, range: 0..text.len(), at };
        self.stages.sections(
            stretch,
            choice,
            SectionPlaces::Needed,
            pulse,
            &mut |section, pulse| {
                let (prepared, section_ids) = finder.find(&section, pulse)?;
                if section.source_start != source_start {
                    source_start = section.source_start;
                    bytes = 0;
                    characters = 0;
                }
                characters += section.before[bytes..].chars().count();
                bytes = section.before.len();
                let offset = in_text.before(source_start);
                let for_model = prepared.text();
                let without_spaces = if for_model == section.text {
                    None
                } else {
                    Some(places_of_characters(section.text, for_model)?)
                };
                let added = usize::from(section.has_added_space);
                let mut in_model = CountedCharacters::of(for_model);
                for (&id, &(start, end)) in section_ids.iter().zip(&finder.spans) {
                    let (mut start, mut end) = in_model.place(start, end);
                    if let Some(places) = &without_spaces {
                        start = places[start];
                        end = places[end - 1] + 1;
                    }
                    // An added space has the place of the character behind it.
                    start = start.saturating_sub(added) + characters;
                    end = end.saturating_sub(added).max(1) + characters;
                    if let Some(alignment) = section.alignment {
                        (start, end) = alignment.place(start, end);
                    }
                    let mut place = (offset + start, offset + end);
                    if trim != Trim::No {
                        let (mut leading, trailing) = match section.id {
                            Some(_) => spaces_around_text(section.text),
                            None => spaces_around(self.model.tokens.get(id).unwrap_or_default()),
                        };
                        let is_first = places.is_empty() || place.0 == 0;
                        if trim == Trim::KeepFirst && is_first && leading == 1 {
                            leading = 0;
                        }
                        place = trimmed(place, leading, trailing);
                    }
                    places.push(place);
                }
                Ok(())
            },
        )?;
        finder.finish()?;
        Ok(places)
    }

    /// The pretokens of a text, and its added tokens.
    pub fn pretokens(&self, text: &str, pulse: &mut Pulse) -> Result<Vec<Box<[u8]>>> {
        let mut pretokens = Vec::new();
        let visit = &mut |section: Section, pulse: &mut Pulse| {
            if section.id.is_some() {
                return memory::push(&mut pretokens, section.text.as_bytes().into());
            }
            let pieces = pretokenize(section.text, &self.model.pattern, pulse)?;
            let overhead = pieces.iter().len() * BYTES_PER_PRETOKEN;
            memory::ensure(section.text.len() + overhead)?;
            pieces.iter().try_for_each(|piece| memory::push(&mut pretokens, piece.into()))
        };
        let choice = Special::Parse.into();
        self.stages.sections(
            Stretch::whole(text),
            choice,
            SectionPlaces::Unneeded,
            pulse,
            visit,
        )?;
        Ok(pretokens)
    }
}

impl Model {
    /// The start and end of every token in the text that the ids encode.
    ///
    /// In bytes, spans are adjacent and cover the text. In characters, a token that has a part of a
    /// character spans all of it: from the character of the token's first byte to the character of
    /// its last byte. So tokens that share a character overlap.
    fn tiled(&self, ids: &[u32], text: &str, unit: Unit, pulse: &mut Pulse) -> Result<Vec<Span>> {
        let mut spans = Vec::new();
        memory::reserve(&mut spans, ids.len())?;
        self.add_spans(text, &mut ids.iter(), &mut spans, pulse)?;
        if unit == Unit::Characters {
            count_characters(text, &mut spans);
        }
        Ok(spans)
    }

    /// Adds the spans of the tokens of a text in which bytes may be unknown.
    fn add_spans_again(
        &self,
        prepared: &Prepared,
        (unknown, workspace): &mut (Unknown, Workspace),
        dropout: Option<Dropout>,
        ids: &mut Iter<u32>,
        spans: &mut Vec<Span>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let [batch] = &mut *workspace.batch;
        let misses = &mut workspace.buffers.misses;
        let text = prepared.text().as_bytes();
        let mut scanner = self.pattern.scan(prepared);
        let mut start = 0;
        while scanner.fill(batch, pulse)? > 0 {
            for &end in batch.ends() {
                let pretoken = &text[start..end];
                if let Some(dropout) = dropout {
                    self.merge_some(pretoken, dropout.behind(start), misses, pulse)?;
                } else {
                    self.merge_tokens(pretoken, misses, pulse)?;
                }
                // A token that replaces a pretoken has all of its bytes, also those without a token
                // of their own.
                let replaced = dropout.is_none() && self.replacing.contains_key(pretoken);
                let has_all = unknown.id().is_some() || replaced;
                self.add_merged_spans(
                    text,
                    start..end,
                    (*unknown, has_all),
                    &misses.ids,
                    ids,
                    spans,
                )?;
                start = end;
            }
        }
        Ok(())
    }

    /// Adds the spans of the tokens of a text without unknown bytes.
    fn add_spans(
        &self,
        text: &str,
        ids: &mut Iter<u32>,
        spans: &mut Vec<Span>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let mut end = 0;
        while end < text.len() {
            let length = ids.next().and_then(|&id| self.length_in_text(id)).unwrap_or(0);
            if length == 0 {
                return Err(other_text());
            }
            let start = end;
            end += length;
            pulse.beat(length)?;
            spans.push((start, end));
        }
        if end == text.len() { Ok(()) } else { Err(other_text()) }
    }

    /// Adds the spans of the tokens that a pretoken was merged to. The ids came from these, but
    /// unknown ones do not tell how many bytes they stand for.
    fn add_merged_spans(
        &self,
        text: &[u8],
        pretoken: Range<usize>,
        (unknown, has_all): (Unknown, bool),
        tokens: &[u32],
        ids: &mut Iter<u32>,
        spans: &mut Vec<Span>,
    ) -> Result<()> {
        let merged = if has_all {
            memory::gathered(pretoken)?
        } else {
            let places = self.merged_places(&text[pretoken.clone()])?;
            memory::gathered(places.into_iter().map(|place| pretoken.start + place))?
        };
        let mut end = 0;
        let mut was_unknown = false;
        for &token in tokens {
            let start = end;
            end += self.length_in_text(token).unwrap_or(1);
            if end == start {
                continue; // The mark alone, behind a character without a token.
            }
            let span = (merged[start], merged[end - 1] + 1);
            let is_part = self.provisional.contains_key(&token);
            let is_unknown = is_part || token == NO_ID;
            // One id may stand for several unknown tokens.
            let is_joined =
                matches!(unknown, Unknown::Joined(_)) || is_part && is_continuation(text[span.0]);
            if is_joined
                && was_unknown
                && is_unknown
                && let Some(before) = spans.last_mut()
            {
                before.1 = span.1;
            } else {
                let id = if is_unknown { unknown.id() } else { Some(token) };
                if id.is_none() {
                    continue;
                }
                if ids.next().copied() != id {
                    return Err(other_text());
                }
                spans.push(span);
            }
            was_unknown = is_unknown;
        }
        Ok(())
    }
}

/// Finds the tokens of one section after the other, with the ids of the whole text.
struct SpanFinder<'m, 'i> {
    model: &'m Model,
    /// The ids of the sections that follow.
    ids: &'i [u32],
    /// The start and end of every token of the last section, in the text that the model had.
    spans: Vec<Span>,
    /// Where bytes may be unknown, pretokens are merged again, ...
    again: Option<(Unknown, Workspace)>,
    /// ... with the dropout of the next section.
    dropout: Option<Dropout>,
}

impl<'m, 'i> SpanFinder<'m, 'i> {
    fn new(encoder: &'m Encoder, ids: &'i [u32]) -> Result<Self> {
        let model = &*encoder.model;
        let mut spans = Vec::new();
        memory::reserve(&mut spans, ids.len())?;
        let again = match model.gaps() {
            Some(unknown) => Some((unknown, Workspace::new()?)),
            None => None,
        };
        let dropout = encoder.dropout;
        Ok(Self { model, ids, spans, again, dropout })
    }

    /// Finds the `spans` of the next section. Returns the text that the model had, and the ids.
    fn find<'t>(
        &mut self,
        section: &Section<'t>,
        pulse: &mut Pulse,
    ) -> Result<(Prepared<'t>, &'i [u32])> {
        let prepared = match section.id {
            None => self.model.pattern.prepare(section.text, pulse)?,
            Some(_) => Prepared::plain(section.text),
        };
        let Self { model, spans, again, dropout, .. } = self;
        let mut ids = self.ids.iter();
        spans.clear();
        if section.id.is_some() {
            spans.extend(ids.next().map(|_| (0, section.text.len())));
        } else if let Some(again) = again {
            model.add_spans_again(&prepared, again, *dropout, &mut ids, spans, pulse)?;
        } else {
            model.add_spans(prepared.text(), &mut ids, spans, pulse)?;
        }
        *dropout = dropout.map(|dropout| dropout.behind(section.text.len()));
        let (section_ids, rest) = self.ids.split_at_checked(spans.len()).ok_or_else(other_text)?;
        self.ids = rest;
        Ok((prepared, section_ids))
    }

    /// Fails unless these were the ids of the whole text.
    fn finish(self) -> Result<()> {
        if self.ids.is_empty() { Ok(()) } else { Err(other_text()) }
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

    /// The number of characters that begin before a place. It is quick for places in order.
    fn before(&mut self, place: usize) -> usize {
        if self.is_ascii {
            return place;
        }
        if place < self.position {
            self.position = 0;
            self.begun = 0;
        }
        let passed = &self.text[self.position..place];
        self.begun += passed.iter().filter(|&&byte| !is_continuation(byte)).count();
        self.position = place;
        self.begun
    }

    /// The characters that the bytes of a token belong to.
    fn place(&mut self, start: usize, end: usize) -> Span {
        let mut first = self.before(start);
        if self.text.get(start).is_some_and(|&byte| is_continuation(byte)) {
            first -= 1;
        }
        (first, self.before(end))
    }
}

/// Turns spans in bytes of a text into spans in characters.
fn count_characters(text: &str, spans: &mut [Span]) {
    let mut characters = CountedCharacters::of(text);
    for span in spans {
        *span = characters.place(span.0, span.1);
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// The place of each character of a text with the spaces that were put in. Such a space is only
/// before a character that is none, and has the place of that character.
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
    let is_space = |byte: &&u8| **byte == b' ';
    let leading = token.iter().take_while(is_space).count();
    let trailing = token.iter().rev().take_while(is_space).count();
    (leading, trailing)
}

/// How much white space a special token begins and ends with. The spelling of a space at byte level
/// counts, too.
fn spaces_around_text(token: &str) -> (usize, usize) {
    let is_space = |character: &char| character.is_whitespace() || *character == '\u{120}';
    let leading = token.chars().take_while(is_space).count();
    let trailing = token.chars().rev().take_while(is_space).count();
    (leading, trailing)
}

/// A place without the spaces at its ends, as far as it has any.
fn trimmed((start, end): Span, leading: usize, trailing: usize) -> Span {
    let start = end.min(start + leading);
    let end = if end >= trailing { start.max(end - trailing) } else { end };
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
        assert!(stopped(&|pulse| {
            encoder.places(&text, Beginning::Text, &ids, special, Trim::No, pulse).is_err()
        }));
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
