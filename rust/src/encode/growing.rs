//! A growing text and its ids, which are always those of the whole text.
//!
//! What is appended goes through the stages of a stream; what they pass on is final and is put behind the text of a
//! `Grown`. What they keep may still change: at each call a copy of them is ended, and what it passes on is the open end.

use std::sync::Arc;

use super::added::PassedOn;
use super::grown::Grown;
use super::stages::Front;
use super::{Choice, ChoicePart, Encoder, Special, Workspace};
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::{Pulse, Unwatched};

/// The distance of places to which a text can be shortened without going further back, in bytes.
const EVERY: usize = 1 << 10;

/// A text that grows at its end.
pub struct Growing {
    encoder: Arc<Encoder>,
    /// The choice for parts that have none of their own.
    special: Special,
    text: String,
    /// The parts of the text.
    parts: Vec<ChoicePart>,
    front: Front,
    grown: Grown,
    /// The ids of the open end from its first added token on.
    beyond: Vec<u32>,
    /// In order.
    checkpoints: Vec<Checkpoint>,
}

/// How far everything was when the text had a length.
#[derive(Clone)]
struct Checkpoint {
    text: usize,
    front: Front,
    /// The length of the fixed text of the `Grown`.
    grown: usize,
}

/// What the stages have passed on: text, or the text and the id of an added token.
type Arrived = Vec<(String, Option<u32>)>;

impl Growing {
    /// Begin with an empty text.
    pub fn new(encoder: Arc<Encoder>, special: Special) -> Self {
        let grown = Grown::new(Arc::clone(&encoder.model));
        let (text, parts, beyond, checkpoints) = (String::new(), Vec::new(), Vec::new(), Vec::new());
        Self { encoder, special, text, parts, front: Front::new(), grown, beyond, checkpoints }
    }

    /// A copy, which grows by itself.
    pub fn copy(&self) -> Result<Self> {
        let mut copy = Self::new(Arc::clone(&self.encoder), self.special);
        memory::append(&mut copy.text, &self.text)?;
        memory::extend(&mut copy.parts, &self.parts)?;
        memory::extend(&mut copy.beyond, &self.beyond)?;
        copy.grown = self.grown.copy()?;
        (copy.front, copy.checkpoints) = (self.front.clone(), self.checkpoints.clone());
        Ok(copy)
    }

    /// The text so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The ids of the whole text from a number on.
    pub fn ids_from(&self, start: usize) -> impl Iterator<Item = u32> {
        let own = self.grown.ids();
        let beyond = self.beyond.get(start.saturating_sub(own.len())..).unwrap_or_default();
        own.get(start..).unwrap_or_default().iter().chain(beyond).copied()
    }

    /// The number of ids.
    pub fn number(&self) -> usize {
        self.grown.ids().len() + self.beyond.len()
    }

    /// The number of ids that no later text can change.
    pub fn settled_ids(&self) -> usize {
        self.grown.settled_ids()
    }

    /// The length of the open text, more or less.
    pub fn open(&self) -> usize {
        self.grown.open()
    }

    /// The number of the part in which each id begins.
    pub fn numbers_of_parts(&self, pulse: &mut Pulse) -> Result<Vec<u32>> {
        let ids: Vec<u32> = self.ids_from(0).collect();
        let choice = self.encoder.stages.choice_of_parts(&self.parts, self.special);
        self.encoder.numbers_of_parts(&self.text, &ids, &self.parts, choice, pulse)
    }

    /// Append text, with a choice of its own as a part of its own; returns the number of unchanged ids. After an error
    /// nothing has changed.
    pub fn append(
        &mut self,
        piece: &str,
        special: Option<Special>,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<usize> {
        let (front, length, parts) = (self.front.clone(), self.text.len(), self.parts.len());
        let added = self.add(piece, special).and_then(|()| self.pass(piece, pulse));
        let appended = added.and_then(|passed| self.grow(passed, workspace, pulse)).map_err(|error| {
            let choice = self.encoder.stages.choice_of_parts(&self.parts, self.special);
            let error = self.encoder.stages.in_whole(error, &self.text, choice);
            self.text.truncate(length);
            self.keep_parts(parts, length);
            self.front = front;
            error
        })?;
        if self.text.len() >= self.last_checkpoint().text + EVERY {
            let (text, front, grown) = (self.text.len(), self.front.clone(), self.grown.fixed());
            memory::push(&mut self.checkpoints, Checkpoint { text, front, grown })?;
        }
        Ok(appended)
    }

    /// Add a piece to the text and its parts.
    fn add(&mut self, piece: &str, special: Option<Special>) -> Result<()> {
        let choice = self.encoder.stages.choice_of_parts(&self.parts, self.special);
        if special.is_some() && matches!(choice, Choice::Whole(_)) {
            return Err(Error::Value(
                "special: this vocabulary finds special tokens in normalized text, so all of a growing text has \
                 one choice; encode_parts takes parts with a choice for each"
                    .to_owned(),
            ));
        }
        memory::append(&mut self.text, piece)?;
        let end = self.text.len();
        match self.parts.last_mut() {
            Some(part) if part.is_open && special.is_none() => part.end = end,
            _ => {
                let (is_open, special) = (special.is_none(), special.or(Some(self.special)));
                memory::push(&mut self.parts, ChoicePart { end, special, is_open })?;
            }
        }
        Ok(())
    }

    /// Keep the first parts of the text, which ends at a place.
    fn keep_parts(&mut self, count: usize, end: usize) {
        self.parts.truncate(count);
        if let Some(last) = self.parts.last_mut() {
            last.end = end;
        }
    }

    /// Shorten the text to `length` bytes; returns the number of unchanged ids. After an error nothing has changed.
    pub fn truncate(&mut self, length: usize, workspace: &mut Workspace, pulse: &mut Pulse) -> Result<usize> {
        let kept = self.checkpoints.partition_point(|checkpoint| checkpoint.text <= length);
        let dropped = self.checkpoints.split_off(kept);
        let same = self.grown.settled_ids_within(self.last_checkpoint().grown);
        let before: Vec<u32> = self.ids_from(same).collect();
        let (rest, parts) = (self.text.split_off(length), self.parts.clone());
        self.keep_parts(parts.partition_point(|part| part.end < length) + usize::from(length > 0), length);
        if let Err(error) = self.go_back(workspace, pulse) {
            // What was there is there again, however long it takes.
            self.text.push_str(&rest);
            self.parts = parts;
            self.go_back(workspace, &mut Pulse::of(&mut Unwatched))?;
            self.checkpoints.extend(dropped);
            return Err(error);
        }
        Ok(same + common(self.ids_from(same), before))
    }

    /// Where the text of the first `count` ids ends, in bytes; if they end within a character, where it begins.
    pub fn end_of(&self, count: usize, pulse: &mut Pulse) -> Result<usize> {
        if count >= self.number() {
            return Ok(self.text.len());
        }
        if self.encoder.tiles_text() {
            let own = self.grown.ids().len();
            let beyond = self.beyond.iter().take(count.saturating_sub(own));
            let lengths = beyond.map(|&id| self.encoder.tokens().length(id).unwrap_or(0));
            let end = self.grown.end_of(count.min(own)) + lengths.sum::<usize>();
            return Ok(super::character_start(&self.text, end));
        }
        let ids: Vec<u32> = self.ids_from(0).collect();
        let choice = self.encoder.stages.choice_of_parts(&self.parts, self.special);
        let spans = self.encoder.offsets(&self.text, &ids, choice, super::Unit::Bytes, pulse)?;
        Ok(spans[count..].iter().map(|&(start, _)| start).min().unwrap_or(self.text.len()))
    }

    fn last_checkpoint(&self) -> Checkpoint {
        let begin = || Checkpoint { text: 0, front: Front::new(), grown: 0 };
        self.checkpoints.last().cloned().unwrap_or_else(begin)
    }

    /// Make everything that follows the last checkpoint from the text again.
    fn go_back(&mut self, workspace: &mut Workspace, pulse: &mut Pulse) -> Result<()> {
        let Checkpoint { text, front, grown } = self.last_checkpoint();
        self.grown.truncate(grown, workspace, pulse)?;
        self.front = front;
        let rest = self.text[text..].to_owned();
        let passed = self.pass(&rest, pulse)?;
        self.grow(passed, workspace, pulse).map(drop)
    }

    /// Let a text pass the stages; returns what they have passed on, and what they would if the text ended here.
    fn pass(&mut self, piece: &str, pulse: &mut Pulse) -> Result<(Arrived, Arrived)> {
        let Self { encoder, special, parts, front, .. } = self;
        let choice = encoder.stages.choice_of_parts(parts, *special);
        let (mut passed, mut end) = (Arrived::new(), Arrived::new());
        front.feed(&encoder.stages, choice, piece, pulse, &mut |found, _| take(&mut passed, found))?;
        front.clone().finish(&encoder.stages, choice, pulse, &mut |found, _| take(&mut end, found))?;
        Ok((passed, end))
    }

    /// Put what was passed on behind the text, and then the open end; returns the number of unchanged ids.
    fn grow(
        &mut self,
        (passed, end): (Arrived, Arrived),
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<usize> {
        let (tail, beyond) = match end.split_first() {
            Some(((tail, None), beyond)) => (&tail[..], beyond),
            _ => ("", &end[..]),
        };
        let beyond = self.ids_of(beyond, workspace, pulse)?;
        let text = match &passed[..] {
            [] => Some(""),
            [(text, None)] => Some(&text[..]),
            _ => None,
        };
        let Some(text) = text else {
            let same = self.settled_ids();
            let before: Vec<u32> = self.ids_from(same).collect();
            self.grow_by_tokens(&passed, tail, workspace, pulse)?;
            self.beyond = beyond;
            return Ok(same + common(self.ids_from(same), before));
        };
        let own = self.grown.ids().len();
        let same = self.grown.append(text, tail, workspace, pulse)?;
        let before = std::mem::replace(&mut self.beyond, beyond);
        let is_same = same == own && same == self.grown.ids().len();
        Ok(if is_same { same + common(self.beyond.iter().copied(), before) } else { same })
    }

    /// Put text and added tokens behind the text, and then a tail. After an error nothing has changed.
    fn grow_by_tokens(
        &mut self,
        passed: &Arrived,
        tail: &str,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let (fixed, last) = (self.grown.fixed(), self.grown.tail().to_owned());
        let mut put = || {
            self.grown.append("", "", workspace, pulse)?;
            for (text, id) in passed {
                match id {
                    Some(id) => self.grown.put(*id, text)?,
                    None => drop(self.grown.append(text, "", workspace, pulse)?),
                }
            }
            self.grown.append("", tail, workspace, pulse)
        };
        if let Err(error) = put() {
            let mut unwatched = Unwatched;
            let pulse = &mut Pulse::of(&mut unwatched);
            self.grown.truncate(fixed, workspace, pulse)?;
            self.grown.append("", &last, workspace, pulse)?;
            return Err(error);
        }
        Ok(())
    }

    /// The ids of what was passed on, of which only text between two tokens is merged.
    fn ids_of(
        &self,
        passed: &[(String, Option<u32>)],
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        let mut joined = String::new();
        for (text, id) in passed {
            match id {
                None => memory::append(&mut joined, text)?,
                Some(id) => {
                    let before = std::mem::take(&mut joined);
                    self.encoder.model.encode_ordinary(&before, &mut ids, workspace, pulse)?;
                    memory::push(&mut ids, *id)?;
                }
            }
        }
        self.encoder.model.encode_ordinary(&joined, &mut ids, workspace, pulse)?;
        Ok(ids)
    }
}

/// Keep what was passed on; successive texts are one.
fn take(passed: &mut Arrived, found: PassedOn) -> Result<()> {
    match (found, passed.last_mut()) {
        (PassedOn::Text(text), Some((before, None))) => memory::append(before, text),
        (PassedOn::Text(text), _) => memory::push(passed, (text.to_owned(), None)),
        (PassedOn::Token(text, id, _), _) => memory::push(passed, (text.to_owned(), Some(id))),
    }
}

/// How many ids are the same at the beginning.
fn common(now: impl Iterator<Item = u32>, before: Vec<u32>) -> usize {
    now.zip(before).take_while(|(now, before)| now == before).count()
}

#[cfg(test)]
mod tests {
    use super::super::{AddedToken, Definition, EncodeStream, Stages};
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

    fn growing(pattern: &str, steps: &[&[&str]], special: Special) -> Growing {
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
            ..Definition::of(pattern)
        };
        let encoder = Encoder::new(&definition, Stages::new(added.into(), &steps).unwrap()).unwrap();
        Growing::new(Arc::new(encoder), special)
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

    const PARTS: [&str; 14] =
        ["a", " ", "\n", "1", "日", "日本", "ab ", "a  b", "<s", "     ", "!", "'s", "e\u{301}", "<s> "];

    #[test]
    fn the_work_of_appending_does_not_depend_on_the_text_before() {
        let kinds = PATTERNS.map(|pattern| (pattern, NORMALIZATIONS[0]));
        for (pattern, steps) in kinds.into_iter().chain(NORMALIZATIONS.map(|steps| (PATTERNS[1], steps))) {
            for special in [Special::Parse, Special::Text] {
                for begin in ["", "a b\n"] {
                    for part in PARTS {
                        let mut growing = growing(pattern, steps, special);
                        let first = work(&mut growing, &[begin, part].concat(), 1);
                        let early = work(&mut growing, part, 300);
                        work(&mut growing, part, 3000);
                        let late = work(&mut growing, part, 300);
                        assert!(late <= 2 * early + first, "{pattern} {steps:?} {part:?}: {early}, {late}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_stream_looks_at_its_text_once() {
        for pattern in PATTERNS {
            for part in PARTS {
                let encoder = Arc::clone(&growing(pattern, NORMALIZATIONS[1], Special::Parse).encoder);
                let mut stream = EncodeStream::new(encoder, Special::Parse);
                let (mut workspace, mut ids, watch) = (Workspace::new().unwrap(), Vec::new(), &mut Unwatched);
                let mut pulse = Pulse::of(watch);
                for _ in 0..3000 {
                    stream.feed(part, &mut ids, &mut workspace, &mut pulse).unwrap();
                }
                stream.finish(&mut ids, &mut workspace, &mut pulse).unwrap();
                assert!(pulse.total <= 10 * 3000 * part.len(), "{pattern} {part:?}: {}", pulse.total);
            }
        }
    }

    #[test]
    fn the_end_of_a_long_pretoken_costs_no_more_than_what_ends_it() {
        for (pattern, part) in
            [(PATTERNS[0], "a"), (PATTERNS[1], " "), (PATTERNS[1], "日"), (PATTERNS[2], "a")]
        {
            let mut growing = growing(pattern, &[], Special::Text);
            work(&mut growing, &part.repeat(10_000), 1);
            assert!(work(&mut growing, "\n", 1) < 1000);
            assert!(work(&mut growing, "b", 1) < 1000);
            assert!(work(&mut growing, " c", 1) < 1000);
        }
    }
}
