//! Texts that arrive in pieces. A stream returns ids as soon as no later text can change them; the
//! ids of a growing text are always those of all its text so far.
//!
//! A *settled* place is one where the text may be cut, whatever follows: the ids before it never
//! change again. The text behind the last settled place is *open*.
//!
//! ```text
//! the cat sat on| the ma       settled up to "on"; open are " the" and " ma", as "mat" may follow
//! ```
//!
//! A stream lets open text wait. A growing text encodes it at every step, as if the text ended
//! there: with the named patterns it is a pretoken or two. If it is long, and what is appended is
//! not, its [`Tail`] is encoded.
//!
//! Settled places come from three questions, which `encode/stages.rs` compares:
//!
//! - [`Encoder::settled_place`] asks for places from the end of the text, without encoding
//!   anything.
//! - [`Stages::cuts_behind_tokens`](super::Stages::cuts_behind_tokens) answers while the text is
//!   encoded.
//! - [`Tail::settle`] answers for the ends of the pieces of a tail.

use std::sync::Arc;

use super::stages::{SectionPlaces, Stretch};
use super::tail::Tail;
use super::{Choice, ChoicePart, Encoder, Span, Special, Unit, Workspace, character_start};
use crate::error::Result;
use crate::memory;
use crate::normalize::Beginning;
use crate::watch::Pulse;

/// Encodes a text that arrives in pieces; all ids together equal those of the joined text.
#[derive(Clone)]
pub struct EncodeStream {
    encoder: Arc<Encoder>,
    special: Special,
    /// The open text, and what begins with it.
    open: String,
    at: Beginning,
    /// Up to here, no place is settled.
    searched: usize,
    /// The number of characters before the open text.
    characters_before: usize,
}

impl EncodeStream {
    /// Begins a text.
    pub fn new(encoder: Arc<Encoder>, special: Special) -> Self {
        Self {
            encoder,
            special,
            open: String::new(),
            at: Beginning::Text,
            searched: 0,
            characters_before: 0,
        }
    }

    /// Adds the next piece of the text; returns the ids that are now final. After an error the text
    /// is dropped.
    pub fn feed(
        &mut self,
        piece: &str,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<Vec<u32>> {
        let ids = self.add(piece, workspace, pulse);
        if ids.is_err() {
            self.begin();
        }
        ids
    }

    fn add(
        &mut self,
        piece: &str,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<Vec<u32>> {
        memory::append(&mut self.open, piece)?;
        pulse.beat(piece.len())?;
        let choice = self.special.into();
        let settled = self.encoder.settled_place(&self.open, self.searched, choice, pulse)?;
        self.searched = self.searched.max(self.encoder.searched(&self.open));
        match settled {
            Some(place) => self.encode(place, workspace, pulse),
            None => Ok(Vec::new()),
        }
    }

    /// Ends the text; returns the remaining ids. A new text may then begin.
    pub fn finish(&mut self, workspace: &mut Workspace, pulse: &mut Pulse) -> Result<Vec<u32>> {
        let ids = self.encode(self.open.len(), workspace, pulse);
        self.begin();
        ids
    }

    fn begin(&mut self) {
        *self = Self::new(Arc::clone(&self.encoder), self.special);
    }

    /// Encodes the open text up to a place, and forgets it.
    fn encode(
        &mut self,
        end: usize,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        let choice = self.special.into();
        let stretch = Stretch { text: &self.open, range: 0..end, at: self.at };
        let encoded = self.encoder.encode_stretch(stretch, choice, &mut ids, workspace, pulse);
        encoded.map_err(|error| error.moved(|character| self.characters_before + character))?;
        self.characters_before += self.open[..end].chars().count();
        self.open.drain(..end);
        self.searched = self.searched.saturating_sub(end);
        self.at = Beginning::Within;
        Ok(ids)
    }
}

/// A text that grows at its end.
#[derive(Clone)]
pub struct Growing {
    encoder: Arc<Encoder>,
    /// The choice for parts that have none of their own.
    special: Special,
    /// What begins with the text.
    at: Beginning,
    text: String,
    /// The parts of the text.
    parts: Vec<ChoicePart>,
    ids: Vec<u32>,
    /// In order; the beginning of the text is always settled, and not listed.
    settled: Vec<Settled>,
    /// From the last settled place up to here, none is settled.
    searched: usize,
    /// The open text, if it was encoded as a tail.
    tail: Option<Box<Tail>>,
}

/// Open text is encoded as a tail if it is longer than this, and a few times as long as what is
/// appended.
const LONG: usize = 256;
const TIMES_AS_LONG: usize = 4;

/// A place in the text, the number of ids before it, and what begins there.
#[derive(Clone, Copy)]
pub struct Settled {
    pub place: usize,
    pub ids: usize,
    pub at: Beginning,
    /// The place is settled while the text ends here or later.
    pub needs: usize,
}

impl Settled {
    /// The beginning of a text.
    fn beginning(at: Beginning) -> Self {
        Self { place: 0, ids: 0, at, needs: 0 }
    }

    /// A place within a segment.
    pub fn within(place: usize, ids: usize, needs: usize) -> Self {
        Self { place, ids, at: Beginning::Within, needs }
    }
}

impl Growing {
    /// Begins with an empty text.
    pub fn new(encoder: Arc<Encoder>, special: Special, at: Beginning) -> Self {
        Self {
            encoder,
            special,
            at,
            text: String::new(),
            parts: Vec::new(),
            ids: Vec::new(),
            settled: Vec::new(),
            searched: 0,
            tail: None,
        }
    }

    /// A copy, which grows by itself.
    pub fn copy(&self) -> Result<Self> {
        let tail = self.tail.as_ref().map_or(0, |tail| tail.bytes());
        let lists = size_of_val(&self.ids[..]) + size_of_val(&self.settled[..]);
        memory::ensure(self.text.len() + lists + tail)?;
        Ok(self.clone())
    }

    /// The text so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The ids of the whole text.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The number of ids that no later text can change.
    pub fn settled_ids(&self) -> usize {
        self.last_settled().ids
    }

    /// The length of the open text.
    pub fn open(&self) -> usize {
        self.text.len() - self.last_settled().place
    }

    fn last_settled(&self) -> Settled {
        self.settled.last().copied().unwrap_or(Settled::beginning(self.at))
    }

    /// The number of the part in which each id begins.
    pub fn numbers_of_parts(&self, pulse: &mut Pulse) -> Result<Vec<u32>> {
        self.encoder.numbers_of_parts(&self.text, self.at, &self.ids, &self.parts, pulse)
    }

    /// The start and end of each token in the text.
    pub fn offsets(&self, unit: Unit, pulse: &mut Pulse) -> Result<Vec<Span>> {
        let choice = Choice::of(&self.parts);
        self.encoder.offsets(&self.text, self.at, &self.ids, choice, unit, pulse)
    }

    /// Appends text, with a choice of its own as a part of its own; returns the number of unchanged
    /// ids. After an error nothing has changed.
    pub fn append(
        &mut self,
        piece: &str,
        special: Option<Special>,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<usize> {
        let length = self.text.len();
        let parts = self.parts.len();
        let added = self.add(piece, special);
        let grown = added.and_then(|()| self.grow(piece.len(), workspace, pulse));
        if grown.is_err() {
            self.text.truncate(length);
            self.keep_parts(parts, length);
        }
        grown
    }

    /// Shortens the text to `length` bytes; returns the number of unchanged ids. After an error
    /// nothing has changed.
    pub fn truncate(
        &mut self,
        length: usize,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<usize> {
        let mut shorter = self.copy()?;
        let last = shorter.settled.iter().rposition(|settled| settled.needs <= length);
        let still_settled = last.map_or(0, |last| last + 1);
        shorter.settled.truncate(still_settled);
        shorter.tail = None;
        shorter.searched = shorter.last_settled().place;
        shorter.text.truncate(length);
        let parts_before = shorter.parts.partition_point(|part| part.end < length);
        shorter.keep_parts(parts_before + usize::from(length > 0), length);
        let unchanged = shorter.encode_open(workspace, pulse)?;
        *self = shorter;
        Ok(unchanged)
    }

    /// Where the text of the first `count` ids ends, in bytes; if they end within a character,
    /// where it begins.
    pub fn end_of(&self, count: usize, pulse: &mut Pulse) -> Result<usize> {
        if count >= self.ids.len() {
            return Ok(self.text.len());
        }
        if self.encoder.tiles_text() {
            let settled_before = self.settled.partition_point(|settled| settled.ids <= count);
            let nearest = self.settled[..settled_before]
                .last()
                .copied()
                .unwrap_or(Settled::beginning(self.at));
            let mut end = nearest.place;
            for &id in &self.ids[nearest.ids..count] {
                end += self.encoder.model.length_in_text(id).unwrap_or(0);
            }
            return Ok(character_start(&self.text, end));
        }
        let spans = self.offsets(Unit::Bytes, pulse)?;
        let starts_behind = spans[count..].iter().map(|&(start, _)| start);
        Ok(starts_behind.min().unwrap_or(self.text.len()))
    }

    /// Adds a piece to the text and its parts.
    fn add(&mut self, piece: &str, special: Option<Special>) -> Result<()> {
        memory::append(&mut self.text, piece)?;
        let end = self.text.len();
        match self.parts.last_mut() {
            Some(part) if part.is_open && special.is_none() => part.end = end,
            _ => {
                let is_open = special.is_none();
                let special = special.or(Some(self.special));
                memory::push(&mut self.parts, ChoicePart { end, special, is_open })?;
            }
        }
        Ok(())
    }

    /// Keeps the first parts of the text, which ends at a place.
    fn keep_parts(&mut self, count: usize, end: usize) {
        self.parts.truncate(count);
        if let Some(last) = self.parts.last_mut() {
            last.end = end;
        }
    }

    /// Computes the ids of a text to whose end so many bytes were appended; returns the number of
    /// unchanged ids. After an error nothing has changed but the text.
    fn grow(
        &mut self,
        appended: usize,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<usize> {
        let is_long = self.open() - appended > LONG.max(TIMES_AS_LONG * appended);
        if is_long
            && self.encoder.has_tails()
            && let Some(unchanged) = self.grow_tail(workspace, pulse)?
        {
            return Ok(unchanged);
        }
        self.tail = None;
        self.encode_open(workspace, pulse)
    }

    /// The same for what can be encoded as a tail; `None` if it cannot.
    fn grow_tail(&mut self, workspace: &mut Workspace, pulse: &mut Pulse) -> Result<Option<usize>> {
        let encoder = &*self.encoder;
        let choice = Choice::of(&self.parts);
        // After an error, it is gone.
        let mut tail = match self.tail.take() {
            Some(tail) => tail,
            None => match Tail::new(encoder, &self.text, self.last_settled(), choice, pulse)? {
                Some(tail) => Box::new(tail),
                None => return Ok(None),
            },
        };
        if !tail.take(encoder, &self.text, choice, pulse)? {
            return Ok(None);
        }
        let new = tail.encode(encoder, &mut workspace.buffers.misses, pulse)?;
        let settled = tail.settle(encoder, &self.text, choice)?;
        let unchanged = self.replace_ids(new.kept, new.ids, &settled)?;
        self.searched = self.last_settled().place;
        self.tail = Some(tail);
        Ok(Some(unchanged))
    }

    /// Computes the ids behind the last settled place anew; returns the number of unchanged ids.
    /// After an error nothing has changed but the text.
    fn encode_open(&mut self, workspace: &mut Workspace, pulse: &mut Pulse) -> Result<usize> {
        let mut open = self.last_settled();
        let ids_before = open.ids;
        let mut ids = Vec::new();
        let mut settled = Vec::new();
        pulse.beat(self.text.len() - self.searched)?;
        let from = self.searched.max(open.place);
        let choice = Choice::of(&self.parts);
        if let Some(place) = self.encoder.settled_place(&self.text, from, choice, pulse)? {
            self.encode(open, place, &mut ids, workspace, pulse)?;
            let needs = place + self.encoder.stages.reach();
            open = Settled::within(place, ids_before + ids.len(), needs);
            settled.push(open);
        }
        let behind_token = self.encode(open, self.text.len(), &mut ids, workspace, pulse)?;
        settled.extend(behind_token);
        let unchanged = self.replace_ids(ids_before, ids, &settled)?;
        self.searched = self.encoder.searched(&self.text).max(self.last_settled().place);
        Ok(unchanged)
    }

    /// Replaces all ids behind the first `kept` ones, and adds settled places; returns the number
    /// of unchanged ids.
    fn replace_ids(
        &mut self,
        kept: usize,
        mut ids: Vec<u32>,
        settled: &[Settled],
    ) -> Result<usize> {
        // After an error nothing has changed.
        memory::reserve(&mut self.ids, ids.len())?;
        memory::extend(&mut self.settled, settled)?;
        let pairs = self.ids[kept..].iter().zip(&ids);
        let unchanged = kept + pairs.take_while(|(before, now)| before == now).count();
        self.ids.truncate(kept);
        self.ids.append(&mut ids);
        Ok(unchanged)
    }

    /// Adds the ids of a part of the text to those behind the last settled place. Returns the last
    /// place behind an added token in it where the text may be cut.
    fn encode(
        &self,
        begin: Settled,
        end: usize,
        ids: &mut Vec<u32>,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<Option<Settled>> {
        let Self { encoder, text, parts, .. } = self;
        let stages = &encoder.stages;
        let choice = Choice::of(parts);
        let stretch = Stretch { text, range: begin.place..end, at: begin.at };
        let cuts = stages.cuts_behind_tokens(&stretch, choice);
        let ids_before = self.last_settled().ids;
        let mut settled = None;
        stages.sections(
            stretch,
            choice,
            SectionPlaces::Unneeded,
            pulse,
            &mut |section, pulse| {
                let Some(id) = section.id else {
                    return encoder.encode_ordinary(section.text, ids, workspace, pulse);
                };
                memory::push(ids, id)?;
                if let Some(place) = cuts.place_behind(&section) {
                    let needs = place + stages.reach();
                    settled = Some(Settled {
                        place,
                        ids: ids_before + ids.len(),
                        at: Beginning::Segment,
                        needs,
                    });
                }
                Ok(())
            },
        )?;
        Ok(settled)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AddedToken, Definition, Stages, Unknown};
    use super::*;
    use crate::watch::Unwatched;

    const PATTERNS: [&str; 4] = [
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        r"\S+|\s+",
        r"(?s:.+)",
    ];

    /// What may be done with a text before: nothing, and what moves characters or puts some there.
    const NORMALIZATIONS: [&[&[&str]]; 4] =
        [&[], &[&["NFC"]], &[&["Lowercase"]], &[&["Prepend", " "], &["Replace", "\u{2581}", " "]]];

    /// What stands for unknown bytes, and the provisional tokens: of an ordinary vocabulary, and as
    /// SentencePiece's have them.
    const SPELLINGS: [(Option<Unknown>, &[u32]); 3] =
        [(None, &[]), (None, &[259]), (Some(Unknown::Joined(2)), &[259])];

    fn growing(pattern: &str, steps: &[&[&str]], special: Special) -> Growing {
        growing_of(pattern, steps, SPELLINGS[0], special)
    }

    fn growing_of(
        pattern: &str,
        steps: &[&[&str]],
        (unknown, provisional): (Option<Unknown>, &[u32]),
        special: Special,
    ) -> Growing {
        let mut spelled: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        spelled.extend([b"aa".to_vec(), b"aaaa".to_vec(), b"  ".to_vec(), b"\xE6\x97".to_vec()]);
        let tokens: Vec<(u32, &[u8])> = (0..).zip(spelled.iter().map(|token| &token[..])).collect();
        let added = [("<s>", 300), ("    ", 301)].map(|(text, id)| {
            (AddedToken { is_special: true, ..AddedToken::new(text.to_owned(), id) }, false)
        });
        let steps: Vec<Vec<String>> =
            steps.iter().map(|step| step.iter().map(|word| (*word).to_owned()).collect()).collect();
        let definition = Definition {
            tokens: &tokens,
            merges: &[[97, 97, 256], [256, 256, 257], [32, 32, 258], [0xE6, 0x97, 259]],
            pattern: &[pattern.into()],
            unknown,
            provisional,
            ..Definition::default()
        };
        let encoder =
            Encoder::new(&definition, Stages::new(added.into(), &steps).unwrap()).unwrap();
        Growing::new(Arc::new(encoder), special, Beginning::Text)
    }

    /// The work of appending a part so many times, one after the other.
    fn work(growing: &mut Growing, part: &str, times: usize) -> usize {
        let mut workspace = Workspace::new().unwrap();
        let watch = &mut Unwatched;
        let mut pulse = Pulse::of(watch);
        for _ in 0..times {
            growing.append(part, None, &mut workspace, &mut pulse).unwrap();
        }
        pulse.total
    }

    const PARTS: [&str; 14] = [
        "a", " ", "\n", "1", "日", "日本", "ab ", "a  b", "<s", "     ", "!", "'s", "e\u{301}",
        "<s> ",
    ];

    #[test]
    fn the_work_of_appending_does_not_depend_on_the_text_before_the_last_pretokens() {
        let kinds = PATTERNS[..2].iter().map(|pattern| (*pattern, NORMALIZATIONS[0]));
        for (pattern, steps) in kinds.chain(NORMALIZATIONS.map(|steps| (PATTERNS[1], steps))) {
            for special in [Special::Parse, Special::Text] {
                for begin in ["", "a b\n"] {
                    for part in ["ab ", "a  b", "日本 ", "<s> ", "e\u{301} a", "1 a"] {
                        let mut growing = growing(pattern, steps, special);
                        let first = work(&mut growing, &[begin, part].concat(), 1);
                        let early = work(&mut growing, part, 300);
                        work(&mut growing, part, 3000);
                        let late = work(&mut growing, part, 300);
                        assert!(
                            late <= 2 * early + first,
                            "{pattern} {steps:?} {part:?}: {early}, {late}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_work_of_appending_does_not_depend_on_the_length_of_a_pretoken() {
        let ordinary = PATTERNS.iter().map(|pattern| (*pattern, NORMALIZATIONS[0], SPELLINGS[0]));
        let normalized = NORMALIZATIONS.map(|steps| (PATTERNS[1], steps, SPELLINGS[0]));
        let uncut = SPELLINGS.map(|spelling| (PATTERNS[3], NORMALIZATIONS[3], spelling));
        for (pattern, steps, spelling) in ordinary.chain(normalized).chain(uncut) {
            for special in [Special::Parse, Special::Text] {
                for begin in ["", " ", "<s>  \n"] {
                    for part in [
                        "a",
                        "   ",
                        "\n",
                        "\n  ",
                        "日",
                        "日本",
                        "aab",
                        "1",
                        "! ",
                        "ae\u{301}",
                        "\u{2581}a",
                    ] {
                        let mut growing = growing_of(pattern, steps, spelling, special);
                        let first = work(&mut growing, &[begin, part].concat(), 1);
                        let early = work(&mut growing, part, 500);
                        work(&mut growing, part, 4000);
                        let late = work(&mut growing, part, 500);
                        assert!(
                            late <= 2 * early + first,
                            "{pattern} {steps:?} {part:?}: {early}, {late}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_stream_looks_at_its_text_once() {
        for pattern in PATTERNS {
            for part in PARTS {
                let encoder =
                    Arc::clone(&growing(pattern, NORMALIZATIONS[1], Special::Parse).encoder);
                let mut stream = EncodeStream::new(encoder, Special::Parse);
                let (mut workspace, watch) = (Workspace::new().unwrap(), &mut Unwatched);
                let mut pulse = Pulse::of(watch);
                for _ in 0..3000 {
                    stream.feed(part, &mut workspace, &mut pulse).unwrap();
                }
                stream.finish(&mut workspace, &mut pulse).unwrap();
                assert!(
                    pulse.total <= 10 * 3000 * part.len(),
                    "{pattern} {part:?}: {}",
                    pulse.total
                );
            }
        }
    }
}
