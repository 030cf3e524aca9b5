//! Ids and their text in, the span of every token out, and of which pretoken it is.

use super::special::{Special, Stretch};
use super::{Encoder, NO_ID, Unknown};
use crate::error::{Error, Result};
use crate::memory;
use crate::pretokenize::{Batch, Prepared};
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
pub fn spans(
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

/// Where the characters of a text stand in the one that it was made from.
pub enum Moved {
    No,
    /// So many were put before it; they stand where its first character stands.
    Behind(usize),
    /// Each has a place.
    Characters(Vec<CharacterSpan>),
}

impl Moved {
    /// Of `rows` of a number of characters, and the place of the first; the others follow it. There must be as many as
    /// the text has.
    pub fn of_rows(rows: &[(usize, usize, usize)], text: &str) -> Result<Self> {
        let count = text.chars().count();
        if rows.iter().try_fold(0, |sum: usize, row| sum.checked_add(row.0)) != Some(count) {
            return Err(Error::Value("rows: they are not those of the characters of the text".into()));
        }
        let mut characters = Vec::new();
        memory::reserve(&mut characters, count)?;
        for &(count, start, end) in rows {
            characters.extend((0..count).map(|place| (start.wrapping_add(place), end.wrapping_add(place))));
        }
        Ok(Self::Characters(characters))
    }

    fn place(&self, (start, end): CharacterSpan) -> CharacterSpan {
        match self {
            Self::No => (start, end),
            Self::Behind(put) => (start.saturating_sub(*put), end.saturating_sub(*put).max(1)),
            Self::Characters(characters) => (characters[start].0, characters[end - 1].1),
        }
    }
}

impl Encoder {
    /// Where each token of a text stands, in characters. A token with part of a character stands where the whole of
    /// it stands, and a space that the pattern put in where the character behind it stands; then as they are `moved`.
    pub fn places(
        &self,
        text: &str,
        ids: &[u32],
        special: Special,
        trim: Trim,
        moved: &Moved,
        pulse: &mut Pulse,
    ) -> Result<Vec<CharacterSpan>> {
        let mut places = Vec::new();
        memory::reserve(&mut places, ids.len())?;
        let mut characters = CountedCharacters::of(text);
        self.walk(text, ids, special, pulse, |stretch, ids, pulse| {
            let Stretch { range, id } = stretch;
            let segment = &text[range.clone()];
            if id.is_some() {
                let place = moved.place((characters.before(range.start), characters.before(range.end)));
                places.push(trimmed(place, spaces_around_text(segment), trim, places.is_empty()));
                return Ok(());
            }
            let prepared = self.pattern.prepare(segment, pulse)?;
            let put = prepared.text() != segment;
            let of_characters = if put {
                places_of_characters(segment, prepared.text(), characters.before(range.start))
            } else {
                Vec::new()
            };
            let mut written = CountedCharacters::of(prepared.text());
            let mut take = |id, start, end| {
                let place = if put {
                    let (first, last) = written.place(start, end);
                    (of_characters[first], of_characters[last - 1] + 1)
                } else {
                    characters.place(range.start + start, range.start + end)
                };
                let spaces = spaces_around(self.tokens.get(id).unwrap_or_default());
                places.push(trimmed(moved.place(place), spaces, trim, places.is_empty()));
            };
            if self.has_gaps(prepared.text()) {
                let spans = self.spans_with_gaps(&prepared, ids, pulse)?;
                ids.iter().zip(spans).for_each(|(&id, WordSpan { start, end, .. })| take(id, start, end));
                return Ok(());
            }
            let mut end = 0;
            for &id in ids {
                let start = end;
                end += self.spelled(id)?;
                pulse.beat(end - start)?;
                take(id, start, end);
            }
            Ok(())
        })?;
        Ok(places)
    }

    /// Of which pretoken each token of a text is; special tokens are pretokens, too.
    pub fn words(&self, text: &str, ids: &[u32], special: Special, pulse: &mut Pulse) -> Result<Vec<u32>> {
        let mut words = Vec::new();
        memory::reserve(&mut words, ids.len())?;
        let mut word = 0;
        let mut batch = Box::<Batch>::default();
        self.walk(text, ids, special, pulse, |stretch, ids, pulse| {
            if stretch.id.is_some() {
                words.push(word);
                word += 1;
                return Ok(());
            }
            let prepared = self.pattern.prepare(&text[stretch.range], pulse)?;
            if self.has_gaps(prepared.text()) {
                let spans = self.spans_with_gaps(&prepared, ids, pulse)?;
                words.extend(spans.iter().map(|span| word + span.word));
                word += self.pretoken_count(&prepared, &mut batch, pulse)?;
                return Ok(());
            }
            let mut scanner = self.pattern.scan(&prepared);
            let (mut ids, mut end) = (ids.iter(), 0);
            while scanner.fill(&mut batch, pulse)? > 0 {
                for &pretoken_end in batch.ends() {
                    pulse.beat(pretoken_end - end.min(pretoken_end))?;
                    while end < pretoken_end {
                        let Some(&id) = ids.next() else { return Err(other_text()) };
                        end += self.spelled(id)?;
                        words.push(word);
                    }
                    word += 1;
                }
            }
            Ok(())
        })?;
        Ok(words)
    }

    /// Go through the segments of a text, each with its ids.
    fn walk(
        &self,
        text: &str,
        ids: &[u32],
        special: Special,
        pulse: &mut Pulse,
        mut visit: impl FnMut(Stretch, &[u32], &mut Pulse) -> Result<()>,
    ) -> Result<()> {
        let mut rest = ids;
        for stretch in self.looked_for(special).stretches(text, special) {
            let count = match stretch.id {
                Some(_) => 1,
                None => {
                    let prepared = self.pattern.prepare(&text[stretch.range.clone()], pulse)?;
                    if self.has_gaps(prepared.text()) {
                        self.spans_with_gaps(&prepared, rest, pulse)?.len()
                    } else {
                        self.count_of(prepared.text().len(), rest, pulse)?
                    }
                }
            };
            let (own, others) = rest.split_at_checked(count).ok_or_else(other_text)?;
            rest = others;
            visit(stretch, own, pulse)?;
        }
        if rest.is_empty() { Ok(()) } else { Err(other_text()) }
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
    pub(super) fn spelled(&self, id: u32) -> Result<usize> {
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
pub(super) fn other_text() -> Error {
    Error::Value("these ids do not belong to this text".into())
}

/// A text in which characters are counted from its beginning on.
pub(super) struct CountedCharacters<'t> {
    text: &'t [u8],
    is_ascii: bool,
    /// Invariant: `begun` characters begin in the first `position` bytes.
    position: usize,
    begun: usize,
}

impl<'t> CountedCharacters<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { text: text.as_bytes(), is_ascii: text.is_ascii(), position: 0, begun: 0 }
    }

    /// How many characters begin before a place. It is quick for places in order.
    pub(super) fn before(&mut self, place: usize) -> usize {
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
    pub(super) fn place(&mut self, start: usize, end: usize) -> CharacterSpan {
        let begun = self.before(start);
        let within = self.text.get(start).is_some_and(|&byte| is_continuation(byte));
        (if within { begun - 1 } else { begun }, self.before(end))
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// The place of each character of a segment with the spaces that were put in: such a space stands only before what is
/// none, and where that stands.
fn places_of_characters(segment: &str, written: &str, first: usize) -> Vec<usize> {
    let mut places = Vec::with_capacity(written.len());
    let mut rest = segment.chars();
    let mut following = rest.next();
    let mut place = first;
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
    spaces: (usize, usize),
    trim: Trim,
    is_first: bool,
) -> CharacterSpan {
    if trim == Trim::No {
        return (start, end);
    }
    let (mut leading, trailing) = spaces;
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

    use super::super::Definition;
    use super::*;
    use crate::watch::Unwatched;

    #[test]
    fn a_call_that_must_stop_does() {
        let tokens: Vec<(u32, &[u8])> = vec![(0, b"a"), (1, b" ")];
        let encoder = Encoder::new(&Definition {
            pattern: r"\S+|\s+",
            tokens: &tokens,
            unknown: None,
            decode_only: &[],
            merges: &[],
            special_tokens: &[],
            whole_pretoken_first: false,
            provisional: &[],
            equal_ranks: &[],
            added_tokens: &[],
        });
        let (encoder, text, ids) = (encoder.unwrap(), "a ".repeat(1 << 18), [0, 1].repeat(1 << 18));
        let stopped = |work: &dyn Fn(&mut Pulse) -> bool| {
            let stop = AtomicBool::new(true);
            work(&mut Pulse::until(&stop))
        };
        let (special, unit) = (Special::Text, Unit::Characters);
        assert!(stopped(&|pulse| spans(&ids, &text, encoder.tokens(), unit, pulse).is_err()));
        assert!(stopped(&|pulse| {
            encoder.places(&text, &ids, special, Trim::No, &Moved::No, pulse).is_err()
        }));
        assert!(stopped(&|pulse| encoder.words(&text, &ids, special, pulse).is_err()));
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
