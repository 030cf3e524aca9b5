//! Ids and their text in, the span of every token out, and of which pretoken it is.

use std::borrow::Cow;

use super::added::Stretch;
use super::{Choice, ChoicePart, Encoder, Model, NO_ID, Section, Special, Unknown};
use crate::error::{Error, Result};
use crate::memory;
use crate::normalize::{Alignment, Beginning};
use crate::pretokenize::{Batch, Prepared, pretokenize};
use crate::tokens::TokenBytes;
use crate::watch::Pulse;

/// The unit of offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Characters,
    Bytes,
}

/// The start and end of every token in the text that the ids encode.
///
/// In bytes, spans are adjacent and cover the text. In characters, a token that has a part of a character spans all of
/// it: from the character of the token's first byte to that of its last byte. So tokens that share a character overlap.
fn spans(
    ids: &[u32],
    text: &str,
    tokens: &TokenBytes,
    unit: Unit,
    pulse: &mut Pulse,
) -> Result<Vec<(usize, usize)>> {
    let mut spans = Vec::new();
    memory::reserve(&mut spans, ids.len())?;
    let mut characters = (unit == Unit::Characters && !text.is_ascii()).then(|| CountedCharacters::of(text));
    let mut end = 0;
    for &id in ids {
        let start = end;
        end += tokens.length(id).unwrap_or(0);
        pulse.beat(end - start)?;
        spans.push(characters.as_mut().map_or((start, end), |characters| characters.place(start, end)));
    }
    Ok(spans)
}

/// Whether the white space that a token begins and ends with is part of its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trim {
    No,
    Yes,
    /// But not a single space that the text, or these ids, begin with: it was put there.
    KeepFirst,
}

/// The first character of a token, and the one behind its last.
pub type CharacterSpan = (usize, usize);

/// A section of a text, and where its characters stand in the text that was given.
struct Placed<'a> {
    section: Section<'a>,
    /// How many characters stand before the part of the given text that was normalized with it.
    first: usize,
    /// How many characters of the normalized part stand before the section.
    skipped: usize,
    alignment: &'a Alignment,
}

impl Placed<'_> {
    /// The place of characters of the section. A space that was put there stands where the first one behind it does.
    fn place(&self, (start, end): CharacterSpan) -> CharacterSpan {
        let put = usize::from(self.section.has_put);
        let (start, end) = (start.saturating_sub(put), end.saturating_sub(put).max(1));
        let (start, end) = self.alignment.place(self.skipped + start, self.skipped + end);
        (self.first + start, self.first + end)
    }
}

impl Encoder {
    /// Whether the tokens of a text have the bytes of the text.
    pub fn tiles_text(&self) -> bool {
        self.stages.is_plain()
            && !self.stages.later.takes_white_space()
            && !self.model.pattern.puts_spaces()
            && self.model.check_tiles_text().is_ok()
    }

    /// The start and end of every token in a text.
    pub fn offsets(
        &self,
        text: &str,
        ids: &[u32],
        choice: Choice,
        unit: Unit,
        pulse: &mut Pulse,
    ) -> Result<Vec<CharacterSpan>> {
        self.model.check_tiles_text()?;
        self.spans(text, ids, choice, unit, pulse)
    }

    /// The number of the part in which each token of a text begins.
    pub fn numbers_of_parts(
        &self,
        text: &str,
        ids: &[u32],
        parts: &[ChoicePart],
        choice: Choice,
        pulse: &mut Pulse,
    ) -> Result<Vec<u32>> {
        let starts = match self.starts_as_given(text, ids, choice, pulse)? {
            Some(starts) => starts,
            None => {
                let spans = self.spans(text, ids, choice, Unit::Bytes, pulse)?;
                spans.into_iter().map(|(start, _)| start).collect()
            }
        };
        let mut part = 0;
        let number = |&start: &usize| {
            while part > 0 && start < parts[part - 1].end {
                part -= 1;
            }
            while parts.get(part).is_some_and(|own| own.end <= start) {
                part += 1;
            }
            part as u32
        };
        let mut numbers = Vec::new();
        memory::reserve(&mut numbers, starts.len())?;
        numbers.extend(starts.iter().map(number));
        Ok(numbers)
    }

    /// Where the tokens of a text start, if no section of it is changed before it is cut into pretokens.
    fn starts_as_given(
        &self,
        text: &str,
        ids: &[u32],
        choice: Choice,
        pulse: &mut Pulse,
    ) -> Result<Option<Vec<usize>>> {
        if self.model.pattern.puts_spaces() || self.model.check_tiles_text().is_err() {
            return Ok(None);
        }
        let (mut starts, mut rest, mut is_given) = (Vec::new(), ids.iter(), true);
        memory::reserve(&mut starts, ids.len())?;
        self.stages.sections(text, Beginning::Text, choice, pulse, &mut |section, _| {
            let place = place_in(text, section.text).filter(|_| is_given);
            is_given = place.is_some();
            let mut start = place.unwrap_or(text.len());
            let end = start + section.text.len();
            while is_given && start < end {
                let id = *rest.next().ok_or_else(other_text)?;
                starts.push(start);
                start = if section.id.is_some() { end } else { start + self.model.spelled(id)? };
            }
            Ok(())
        })?;
        Ok(is_given.then_some(starts))
    }

    fn spans(
        &self,
        text: &str,
        ids: &[u32],
        choice: Choice,
        unit: Unit,
        pulse: &mut Pulse,
    ) -> Result<Vec<CharacterSpan>> {
        if self.tiles_text() {
            return spans(ids, text, self.tokens(), unit, pulse);
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

    /// Where each token of a text stands, in characters. A token with part of a character stands where the whole of
    /// it stands, and a space that the pattern put in where the character behind it stands.
    pub fn places(
        &self,
        text: &str,
        ids: &[u32],
        choice: Choice,
        trim: Trim,
        pulse: &mut Pulse,
    ) -> Result<Vec<CharacterSpan>> {
        let mut places = Vec::new();
        memory::reserve(&mut places, ids.len())?;
        self.walk(text, ids, choice, pulse, |placed, ids, pulse| {
            let text = placed.section.text;
            if placed.section.id.is_some() {
                let place = placed.place((0, text.chars().count()));
                places.push(trimmed(place, || spaces_around_text(text), trim, places.is_empty()));
                return Ok(());
            }
            let prepared = self.model.pattern.prepare(text, pulse)?;
            let put = prepared.text() != text;
            let of_characters = if put { places_of_characters(text, prepared.text()) } else { Vec::new() };
            let mut written = CountedCharacters::of(prepared.text());
            let mut take = |id, start, end| {
                let (first, last) = written.place(start, end);
                let place =
                    if put { (of_characters[first], of_characters[last - 1] + 1) } else { (first, last) };
                let spaces = || spaces_around(self.tokens().get(id).unwrap_or_default());
                places.push(trimmed(placed.place(place), spaces, trim, places.is_empty()));
            };
            if self.model.has_gaps(prepared.text()) {
                let spans = self.model.spans_with_gaps(&prepared, ids, pulse)?;
                ids.iter().zip(spans).for_each(|(&id, WordSpan { start, end, .. })| take(id, start, end));
                return Ok(());
            }
            let mut end = 0;
            for &id in ids {
                let start = end;
                end += self.model.spelled(id)?;
                pulse.beat(end - start)?;
                take(id, start, end);
            }
            Ok(())
        })?;
        Ok(places)
    }

    /// Of which pretoken each token of a text is; added tokens are pretokens, too. If a text is not cut, all of its tokens
    /// between added ones are of one.
    pub fn words(
        &self,
        text: &str,
        ids: &[u32],
        choice: Choice,
        is_cut: bool,
        pulse: &mut Pulse,
    ) -> Result<Vec<u32>> {
        let mut words = Vec::new();
        memory::reserve(&mut words, ids.len())?;
        let mut word = 0;
        let mut batch = Box::<Batch>::default();
        let model = &self.model;
        self.walk(text, ids, choice, pulse, |placed, ids, pulse| {
            if placed.section.id.is_some() || !is_cut {
                words.extend(std::iter::repeat_n(word, ids.len()));
                word += 1;
                return Ok(());
            }
            let prepared = model.pattern.prepare(placed.section.text, pulse)?;
            if model.has_gaps(prepared.text()) {
                let spans = model.spans_with_gaps(&prepared, ids, pulse)?;
                words.extend(spans.iter().map(|span| word + span.word));
                word += model.pretoken_count(&prepared, &mut batch, pulse)?;
                return Ok(());
            }
            let mut scanner = model.pattern.scan(&prepared);
            let (mut ids, mut end) = (ids.iter(), 0);
            while scanner.fill(&mut batch, pulse)? > 0 {
                for &pretoken_end in batch.ends() {
                    pulse.beat(pretoken_end - end.min(pretoken_end))?;
                    while end < pretoken_end {
                        let Some(&id) = ids.next() else { return Err(other_text()) };
                        end += model.spelled(id)?;
                        words.push(word);
                    }
                    word += 1;
                }
            }
            Ok(())
        })?;
        Ok(words)
    }

    /// The number of each id that is an added token of a text, and what was found as it.
    pub fn added_in(
        &self,
        text: &str,
        ids: &[u32],
        choice: Choice,
        pulse: &mut Pulse,
    ) -> Result<Vec<(usize, String)>> {
        let (mut found, mut number) = (Vec::new(), 0);
        self.walk(text, ids, choice, pulse, |placed, ids, _| {
            if placed.section.id.is_some() {
                memory::push(&mut found, (number, placed.section.text.to_owned()))?;
            }
            number += ids.len();
            Ok(())
        })?;
        Ok(found)
    }

    /// The pretokens of a text, and its added tokens.
    pub fn pretokens(&self, text: &str, pulse: &mut Pulse) -> Result<Vec<Box<[u8]>>> {
        let mut found = Vec::new();
        let visit = &mut |section: Section, pulse: &mut Pulse| {
            if section.id.is_some() {
                return memory::push(&mut found, section.text.as_bytes().into());
            }
            let pieces = pretokenize(section.text, &self.model.pattern, pulse)?;
            pieces.iter().try_for_each(|piece| memory::push(&mut found, piece.into()))
        };
        self.stages.sections(text, Beginning::Text, Special::Parse.into(), pulse, visit)?;
        Ok(found)
    }

    /// Go through the sections of a text, each with its ids.
    fn walk(
        &self,
        text: &str,
        ids: &[u32],
        choice: Choice,
        pulse: &mut Pulse,
        mut visit: impl FnMut(Placed, &[u32], &mut Pulse) -> Result<()>,
    ) -> Result<()> {
        let mut rest = ids;
        let same = Alignment::default();
        let stages = &self.stages;
        let mut characters = CountedCharacters::of(text);
        let mut show = |placed: Placed, pulse: &mut Pulse| {
            let count = match placed.section.id {
                Some(_) => 1,
                None => self.model.count_in(placed.section.text, rest, pulse)?,
            };
            let (own, others) = rest.split_at_checked(count).ok_or_else(other_text)?;
            rest = others;
            visit(placed, own, pulse)
        };
        for stretch in stages.first.stretches(text, choice) {
            let Stretch { range, id } = stretch?;
            let (first, begins) = (characters.before(range.start), range.start == 0);
            let text = &text[range.clone()];
            if id.is_some() {
                let section = Section { text, id, start: 0, has_put: false };
                show(Placed { section, first, skipped: 0, alignment: &same }, pulse)?;
                continue;
            }
            let at = if begins { Beginning::Text } else { Beginning::Segment };
            let (normalized, alignment) = match stages.normalizer.is_identity() {
                true => (Cow::Borrowed(text), Alignment::default()),
                false => stages.normalizer.aligned(text, at, pulse)?,
            };
            let mut counted = CountedCharacters::of(&normalized);
            let mut room = Vec::new();
            let choice = choice.behind(range.start).normalized(text, &normalized, &alignment, &mut room)?;
            stages.sections_of_normalized(&normalized, at, choice, pulse, &mut |section, pulse| {
                let skipped = counted.before(section.start);
                show(Placed { section, first, skipped, alignment: &alignment }, pulse)
            })?;
        }
        if rest.is_empty() { Ok(()) } else { Err(other_text()) }
    }
}

impl Model {
    /// How many of the ids are those of a section.
    fn count_in(&self, text: &str, ids: &[u32], pulse: &mut Pulse) -> Result<usize> {
        let prepared = self.pattern.prepare(text, pulse)?;
        if self.has_gaps(prepared.text()) {
            return Ok(self.spans_with_gaps(&prepared, ids, pulse)?.len());
        }
        self.count_of(prepared.text().len(), ids, pulse)
    }

    /// How many of the ids spell so many bytes.
    fn count_of(&self, bytes: usize, ids: &[u32], pulse: &mut Pulse) -> Result<usize> {
        let (mut spelled, mut count) = (0, 0);
        while spelled < bytes {
            let id = *ids.get(count).ok_or_else(other_text)?;
            spelled += self.spelled(id)?;
            pulse.beat(1)?;
            count += 1;
        }
        if spelled == bytes { Ok(count) } else { Err(other_text()) }
    }

    /// How many bytes of a text an id stands for; never none: a token without bytes is no part of any text.
    #[inline]
    fn spelled(&self, id: u32) -> Result<usize> {
        match self.unknown {
            Some(Unknown::Each(unknown)) if unknown == id => Ok(1),
            _ => self.tokens.length(id).filter(|&length| length > 0).ok_or_else(other_text),
        }
    }

    /// Whether some bytes of a text are dropped, or joined to one unknown token.
    fn has_gaps(&self, text: &str) -> bool {
        matches!(self.unknown, Some(Unknown::Joined(_) | Unknown::Dropped))
            && self.lacks_bytes
            && text.bytes().any(|byte| self.is_unknown(byte))
    }

    fn is_unknown(&self, byte: u8) -> bool {
        self.merges.base(byte) == NO_ID
    }

    /// Where the tokens of such a text stand; there may be more ids than it has.
    fn spans_with_gaps(&self, text: &Prepared, ids: &[u32], pulse: &mut Pulse) -> Result<Vec<WordSpan>> {
        let mut spans = Vec::new();
        memory::reserve(&mut spans, ids.len())?;
        let mut scanner = self.pattern.scan(text);
        let mut batch = Box::<Batch>::default();
        let (mut ids, mut begin, mut word) = (ids.iter(), 0, 0);
        while scanner.fill(&mut batch, pulse)? > 0 {
            for &end in batch.ends() {
                pulse.beat(end - begin)?;
                let pretoken = &text.text().as_bytes()[begin..end];
                let moved = |(start, end)| WordSpan { start: begin + start, end: begin + end, word };
                if matches!(self.unknown, Some(Unknown::Dropped)) {
                    spans.extend(self.spans_without_unknown(pretoken, &mut ids)?.into_iter().map(moved));
                } else {
                    spans.extend(self.spans_with_joined(pretoken, &mut ids)?.into_iter().map(moved));
                }
                begin = end;
                word += 1;
            }
        }
        Ok(spans)
    }

    fn spans_with_joined(
        &self,
        pretoken: &[u8],
        ids: &mut std::slice::Iter<u32>,
    ) -> Result<Vec<(usize, usize)>> {
        let (mut spans, mut end) = (Vec::new(), 0);
        while end < pretoken.len() {
            let (start, id) = (end, *ids.next().ok_or_else(other_text)?);
            let unknown = pretoken[start..].iter().take_while(|&&byte| self.is_unknown(byte)).count();
            end += if unknown > 0 { unknown } else { self.spelled(id)? };
            spans.push((start, end));
        }
        if end == pretoken.len() { Ok(spans) } else { Err(other_text()) }
    }

    /// `tokenizers` counts lengths from the beginning of the pretoken, in the printable form of bytes, as if nothing had
    /// been dropped. So a token behind a gap stands further to the left than its bytes.
    fn spans_without_unknown(
        &self,
        pretoken: &[u8],
        ids: &mut std::slice::Iter<u32>,
    ) -> Result<Vec<(usize, usize)>> {
        let of_place: Vec<usize> = (0..pretoken.len())
            .flat_map(|place| std::iter::repeat_n(place, printable_length(pretoken[place])))
            .collect();
        let known = self.merged_part(pretoken);
        let (mut spans, mut spelled, mut end) = (Vec::new(), 0, 0);
        while spelled < known.len() {
            let length = self.spelled(*ids.next().ok_or_else(other_text)?)?;
            let token = known.get(spelled..spelled + length).ok_or_else(other_text)?;
            let start = end;
            end += token.iter().map(|&byte| printable_length(byte)).sum::<usize>();
            spelled += length;
            spans.push((of_place[start], of_place[end - 1] + 1));
        }
        Ok(spans)
    }

    fn pretoken_count(&self, text: &Prepared, batch: &mut Batch, pulse: &mut Pulse) -> Result<u32> {
        let (mut scanner, mut count) = (self.pattern.scan(text), 0);
        while scanner.fill(batch, pulse)? > 0 {
            count += batch.ends().len() as u32;
        }
        Ok(count)
    }
}

/// The bytes of a token, and the number of its pretoken.
struct WordSpan {
    start: usize,
    end: usize,
    word: u32,
}

/// How many bytes of UTF-8 the character has by which a byte is printed.
fn printable_length(byte: u8) -> usize {
    if (0x21..0x7F).contains(&byte) { 1 } else { 2 }
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
    fn place(&mut self, start: usize, end: usize) -> CharacterSpan {
        let begun = self.before(start);
        let within = self.text.get(start).is_some_and(|&byte| is_continuation(byte));
        (if within { begun - 1 } else { begun }, self.before(end))
    }
}

/// Where a text stands in another one, if it is a slice of it.
fn place_in(whole: &str, text: &str) -> Option<usize> {
    let start = (text.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    (start + text.len() <= whole.len()).then_some(start)
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// The place of each character of a text with the spaces that were put in: such a space stands only before what is
/// none, and where that stands.
fn places_of_characters(text: &str, written: &str) -> Vec<usize> {
    let mut places = Vec::with_capacity(written.len());
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
    places
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
    (mut start, mut end): CharacterSpan,
    spaces: impl FnOnce() -> (usize, usize),
    trim: Trim,
    is_first: bool,
) -> CharacterSpan {
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
        let definition = Definition { tokens: &tokens, ..Definition::of(r"\S+|\s+") };
        let encoder = Encoder::new(&definition, Stages::none());
        let (encoder, text, ids) = (encoder.unwrap(), "a ".repeat(1 << 18), [0, 1].repeat(1 << 18));
        let stopped = |work: &dyn Fn(&mut Pulse) -> bool| {
            let stop = AtomicBool::new(true);
            work(&mut Pulse::until(&stop))
        };
        let (special, unit) = (Special::Text.into(), Unit::Characters);
        assert!(stopped(&|pulse| spans(&ids, &text, encoder.tokens(), unit, pulse).is_err()));
        assert!(stopped(&|pulse| { encoder.places(&text, &ids, special, Trim::No, pulse).is_err() }));
        assert!(stopped(&|pulse| encoder.words(&text, &ids, special, true, pulse).is_err()));
    }

    #[test]
    fn a_token_with_part_of_a_character_spans_all_of_it() {
        let given: Vec<(u32, &[u8])> =
            vec![(0, b"a\xC3"), (1, b"\xA9"), (2, b"b"), (3, b"\xE4\xB8"), (4, b"\xADc")];
        let tokens = TokenBytes::new(given.into_iter()).unwrap();
        let in_unit = |unit| {
            let watch = &mut Unwatched;
            spans(&[0, 1, 2, 3, 4], "aéb中c", &tokens, unit, &mut Pulse::of(watch)).unwrap()
        };
        assert_eq!(in_unit(Unit::Characters), [(0, 2), (1, 2), (2, 3), (3, 4), (3, 5)]);
        assert_eq!(in_unit(Unit::Bytes), [(0, 2), (2, 3), (3, 4), (4, 6), (6, 8)]);
    }
}
