//! Texts that arrive in pieces. Of a stream, ids are told as soon as no later text can change them; of a growing text, all
//! ids are always those of the whole text.
//!
//! Both let each piece through the stages (a [`Front`]); what those pass on is final, and goes on to an [`ArrivingText`].
//! What they keep may still change: for a growing text, at each step a copy of them is ended, and what that passes on is
//! the end of the open text.

use std::mem;
use std::sync::Arc;

use super::added::Passed;
use super::arriving::ArrivingText;
use super::ordinary::Run;
use super::stages::{Front, Passing, Stretch};
use super::{Choice, ChoicePart, Encoder, Special, Unit, Workspace, character_start};
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::{Pulse, Unwatched};

/// Encodes a text that arrives in pieces; all ids together equal those of the joined text.
///
/// The text from the last safe cut on is buffered: a pretoken or two for the named patterns. With a pattern without safe
/// cuts, everything after the last added token is buffered, since later text might change its matches.
#[derive(Clone)]
pub struct EncodeStream {
    encoder: Arc<Encoder>,
    special: Special,
    front: Front,
    text: ArrivingText,
}

impl EncodeStream {
    /// Begin a text.
    pub fn new(encoder: Arc<Encoder>, special: Special) -> Self {
        Self { encoder, special, front: Front::new(), text: ArrivingText::default() }
    }

    /// Add the next piece of the text; returns the ids that are now final. After an error the text is dropped.
    pub fn feed(&mut self, piece: &str, workspace: &mut Workspace, pulse: &mut Pulse) -> Result<Vec<u32>> {
        let fed = self.pass(piece, workspace, pulse);
        if fed.is_err() {
            (self.front, self.text) = (Front::new(), ArrivingText::default());
        }
        fed
    }

    fn pass(&mut self, piece: &str, workspace: &mut Workspace, pulse: &mut Pulse) -> Result<Vec<u32>> {
        let Self { encoder, special, front, text } = self;
        let passed = front.feed(piece, Passing::new(&encoder.stages, (*special).into(), pulse))?;
        let run = &mut Run { workspace, pulse };
        text.take(&encoder.model, passed, run)?;
        text.settle(&encoder.model, run)?;
        Ok(text.take_settled())
    }

    /// End the text; returns the remaining ids. A new text may then begin.
    pub fn finish(&mut self, workspace: &mut Workspace, pulse: &mut Pulse) -> Result<Vec<u32>> {
        let (front, mut text) = (mem::replace(&mut self.front, Front::new()), mem::take(&mut self.text));
        let passed = front.finish(Passing::new(&self.encoder.stages, self.special.into(), pulse))?;
        let run = &mut Run { workspace, pulse };
        text.take(&self.encoder.model, passed, run)?;
        text.end(&self.encoder.model, run)?;
        Ok(text.take_settled())
    }
}

/// The distance of places to which a text can be shortened without going further back, in bytes.
const EVERY: usize = 1 << 10;

/// A text that grows at its end.
#[derive(Clone)]
pub struct Growing {
    encoder: Arc<Encoder>,
    /// The choice for parts that have none of their own.
    special: Special,
    text: String,
    /// The parts of the text.
    parts: Vec<ChoicePart>,
    front: Front,
    /// What the stages have passed on.
    passed: ArrivingText,
    /// The ids behind its settled ones.
    open: Vec<u32>,
    /// In order.
    checkpoints: Vec<Checkpoint>,
}

/// How far everything was when the text had a length.
#[derive(Clone)]
struct Checkpoint {
    text: usize,
    front: Front,
    passed: usize,
}

impl Growing {
    /// Begin with an empty text.
    pub fn new(encoder: Arc<Encoder>, special: Special) -> Self {
        let (text, parts, passed, open) = (String::new(), Vec::new(), ArrivingText::default(), Vec::new());
        Self { encoder, special, text, parts, front: Front::new(), passed, open, checkpoints: Vec::new() }
    }

    /// A copy, which grows by itself.
    pub fn copy(&self) -> Result<Self> {
        memory::ensure(self.text.len() + self.passed.size() + size_of_val(&self.open[..]))?;
        Ok(self.clone())
    }

    /// The text so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The ids of the whole text from a number on.
    pub fn ids_from(&self, start: usize) -> impl Iterator<Item = u32> {
        let settled = self.passed.ids();
        let open = self.open.get(start.saturating_sub(settled.len())..).unwrap_or_default();
        settled.get(start..).unwrap_or_default().iter().chain(open).copied()
    }

    /// The number of ids.
    pub fn number(&self) -> usize {
        self.settled_ids() + self.open.len()
    }

    /// The number of ids that no later text can change.
    pub fn settled_ids(&self) -> usize {
        self.passed.ids().len()
    }

    /// The length of the open text, more or less.
    pub fn open(&self) -> usize {
        self.passed.length() - self.passed.last().place
    }

    /// The number of the part in which each id begins.
    pub fn numbers_of_parts(&self, pulse: &mut Pulse) -> Result<Vec<u32>> {
        let ids: Vec<u32> = self.ids_from(0).collect();
        self.encoder.numbers_of_parts(&self.text, &ids, &self.parts, self.choice(), pulse)
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
        let (length, parts) = (self.text.len(), self.parts.len());
        let appended = self.add(piece, special).and_then(|()| self.grow(length, workspace, pulse));
        appended.map_err(|error| {
            let error = self.placed(error);
            self.text.truncate(length);
            self.keep_parts(parts, length);
            error
        })
    }

    /// Shorten the text to `length` bytes; returns the number of unchanged ids. After an error nothing has changed.
    pub fn truncate(&mut self, length: usize, workspace: &mut Workspace, pulse: &mut Pulse) -> Result<usize> {
        let mut shorter = self.copy()?;
        let kept = shorter.checkpoints.partition_point(|checkpoint| checkpoint.text <= length);
        shorter.checkpoints.truncate(kept);
        let begin = || Checkpoint { text: 0, front: Front::new(), passed: 0 };
        let checkpoint = shorter.checkpoints.last().cloned().unwrap_or_else(begin);
        shorter.text.truncate(length);
        shorter.front = checkpoint.front;
        let mut dropped = shorter.passed.shorten(checkpoint.passed);
        memory::extend(&mut dropped, &mem::take(&mut shorter.open))?;
        let parts = shorter.parts.partition_point(|part| part.end < length) + usize::from(length > 0);
        shorter.keep_parts(parts, length);
        let same = shorter.settled_ids();
        shorter.grow(checkpoint.text, workspace, pulse)?;
        let same = same + common(shorter.ids_from(same), &dropped);
        *self = shorter;
        Ok(same)
    }

    /// Where the text of the first `count` ids ends, in bytes; if they end within a character, where it begins.
    pub fn end_of(&self, count: usize, pulse: &mut Pulse) -> Result<usize> {
        if count >= self.number() {
            return Ok(self.text.len());
        }
        if self.encoder.tiles_text() {
            let known = self.passed.last_within(count);
            let ids = self.ids_from(known.ids).take(count - known.ids);
            let length: usize = ids.map(|id| self.encoder.tokens().length(id).unwrap_or(0)).sum();
            return Ok(character_start(&self.text, known.place + length));
        }
        let ids: Vec<u32> = self.ids_from(0).collect();
        let spans = self.encoder.offsets(&self.text, &ids, self.choice(), Unit::Bytes, pulse)?;
        Ok(spans[count..].iter().map(|&(start, _)| start).min().unwrap_or(self.text.len()))
    }

    /// The same error where a special token was refused: it says where in the whole text it stands.
    fn placed(&self, error: Error) -> Error {
        if !matches!(error, Error::Special { .. }) {
            return error;
        }
        let (stages, whole, watch) = (&self.encoder.stages, Stretch::whole(&self.text), &mut Unwatched);
        let placed = stages.sections(whole, self.choice(), true, &mut Pulse::of(watch), &mut |_, _| Ok(()));
        placed.err().unwrap_or(error)
    }

    /// The choice for the whole text.
    fn choice(&self) -> Choice<'_> {
        self.encoder.stages.choice_of_parts(&self.parts, self.special)
    }

    /// Add a piece to the text and its parts.
    fn add(&mut self, piece: &str, special: Option<Special>) -> Result<()> {
        if special.is_some() && matches!(self.choice(), Choice::Whole(_)) {
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

    /// Make the ids of a text that goes on behind a place; returns the number of unchanged ids. After an error nothing has
    /// changed but the text.
    fn grow(&mut self, from: usize, workspace: &mut Workspace, pulse: &mut Pulse) -> Result<usize> {
        let (front, mark) = (self.front.clone(), self.passed.mark());
        let grown = self.pass(from, workspace, pulse).and_then(|open| {
            self.check_in()?;
            Ok(mem::replace(&mut self.open, open))
        });
        match grown {
            Ok(before) => Ok(mark.ids + common(self.ids_from(mark.ids), &before)),
            Err(error) => {
                self.front = front;
                self.passed.go_back(&mark);
                Err(error)
            }
        }
    }

    /// Let the text from a place on pass the stages; returns the ids behind the settled ones.
    fn pass(&mut self, from: usize, workspace: &mut Workspace, pulse: &mut Pulse) -> Result<Vec<u32>> {
        let Self { encoder, special, text, parts, front, passed, .. } = self;
        let (stages, model) = (&*encoder.stages, &encoder.model);
        let choice = stages.choice_of_parts(parts, *special);
        let sure = front.feed(&text[from..], Passing::new(stages, choice, pulse))?;
        let mut rest = front.clone().finish(Passing::new(stages, choice, pulse))?;
        let run = &mut Run { workspace, pulse };
        passed.take(model, sure, run)?;
        passed.settle(model, run)?;
        // The open text goes on up to the first token that later text may change.
        let token = rest.iter().position(|found| matches!(found, Passed::Token(..)));
        let beyond = rest.split_off(token.unwrap_or(rest.len()));
        let mut open = passed.open_ids(model, rest, run)?;
        let mut last = ArrivingText::default();
        last.take(model, beyond, run)?;
        last.end(model, run)?;
        memory::extend(&mut open, last.ids())?;
        Ok(open)
    }

    /// Add a checkpoint, if the last one is far enough.
    fn check_in(&mut self) -> Result<()> {
        let last = self.checkpoints.last().map_or(0, |checkpoint| checkpoint.text);
        if self.text.len() < last + EVERY {
            return Ok(());
        }
        let (text, front, passed) = (self.text.len(), self.front.clone(), self.passed.length());
        memory::push(&mut self.checkpoints, Checkpoint { text, front, passed })
    }
}

/// How many ids are the same at the beginning.
fn common<'i>(now: impl Iterator<Item = u32>, before: impl IntoIterator<Item = &'i u32>) -> usize {
    now.zip(before).take_while(|(now, before)| now == *before).count()
}

#[cfg(test)]
mod tests {
    use super::super::{AddedToken, Definition, Stages};
    use super::*;

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
                let (mut workspace, watch) = (Workspace::new().unwrap(), &mut Unwatched);
                let mut pulse = Pulse::of(watch);
                for _ in 0..3000 {
                    stream.feed(part, &mut workspace, &mut pulse).unwrap();
                }
                stream.finish(&mut workspace, &mut pulse).unwrap();
                assert!(pulse.total <= 10 * 3000 * part.len(), "{pattern} {part:?}: {}", pulse.total);
            }
        }
    }
}
