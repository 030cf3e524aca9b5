//! Texts that arrive in pieces. Of a stream, ids are told as soon as no later text can change them; of a growing text, all
//! ids are always those of the whole text.
//!
//! Both let each piece through the stages (a [`Front`]); what those pass on is final, and goes on to an [`ArrivingText`].
//! What they keep may still change: for a growing text, at each step a copy of them is ended, and what that passes on is
//! the end of the open text.

use std::mem;
use std::sync::Arc;

use super::added::PassedOn;
use super::arriving::ArrivingText;
use super::ordinary::Run;
use super::stages::{Front, Passing};
use super::{Choice, ChoicePart, Encoder, Special, Unit, Workspace, character_start};
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::Pulse;

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
        let Self { encoder, special, front, text } = self;
        let (stages, model, choice) = (&*encoder.stages, &encoder.model, (*special).into());
        let put =
            &mut |found: PassedOn, pulse: &mut Pulse| text.take(model, found, &mut Run { workspace, pulse });
        let fed = front.feed(piece, Passing { stages, choice, pulse, put });
        match fed.and_then(|()| text.settle(model, &mut Run { workspace, pulse })) {
            Ok(()) => Ok(text.take_settled()),
            Err(error) => {
                (self.front, self.text) = (Front::new(), ArrivingText::default());
                Err(error)
            }
        }
    }

    /// End the text; returns the remaining ids. A new text may then begin.
    pub fn finish(&mut self, workspace: &mut Workspace, pulse: &mut Pulse) -> Result<Vec<u32>> {
        let (mut front, mut text) = (mem::replace(&mut self.front, Front::new()), mem::take(&mut self.text));
        let (stages, model, choice) = (&*self.encoder.stages, &self.encoder.model, self.special.into());
        let put =
            &mut |found: PassedOn, pulse: &mut Pulse| text.take(model, found, &mut Run { workspace, pulse });
        front.finish(Passing { stages, choice, pulse, put })?;
        text.end(model, &mut Run { workspace, pulse })?;
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
            let error = self.encoder.stages.in_whole(error, &self.text, self.choice());
            self.text.truncate(length);
            self.keep_parts(parts, length);
            error
        })
    }

    /// Shorten the text to `length` bytes; returns the number of unchanged ids. After an error nothing has changed.
    pub fn truncate(&mut self, length: usize, workspace: &mut Workspace, pulse: &mut Pulse) -> Result<usize> {
        memory::ensure(self.text.len() + self.passed.size())?;
        let kept = self.checkpoints.partition_point(|checkpoint| checkpoint.text <= length);
        let checkpoints = self.checkpoints.split_off(kept);
        let begin = || Checkpoint { text: 0, front: Front::new(), passed: 0 };
        let checkpoint = self.checkpoints.last().cloned().unwrap_or_else(begin);
        let (rest, passed) = (self.text.split_off(length), self.passed.split_off(checkpoint.passed));
        let (front, parts) = (mem::replace(&mut self.front, checkpoint.front), self.parts.clone());
        let open = mem::take(&mut self.open);
        self.keep_parts(parts.partition_point(|part| part.end < length) + usize::from(length > 0), length);
        let same = self.settled_ids();
        if let Err(error) = self.grow(checkpoint.text, workspace, pulse) {
            self.text.push_str(&rest);
            self.passed.put_back(&passed);
            (self.front, self.parts, self.open) = (front, parts, open);
            self.checkpoints.extend(checkpoints);
            return Err(error);
        }
        Ok(same + common(self.ids_from(same), passed.ids().iter().chain(&open)))
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
        let put = &mut |found: PassedOn, pulse: &mut Pulse| {
            passed.take(model, found, &mut Run { workspace, pulse })
        };
        front.feed(&text[from..], Passing { stages, choice, pulse, put })?;
        passed.settle(model, &mut Run { workspace, pulse })?;
        let (mut tail, mut beyond) = (String::new(), None);
        let put = &mut |found: PassedOn, pulse: &mut Pulse| match (&mut beyond, found) {
            (None, PassedOn::Text(text)) => memory::append(&mut tail, text),
            (beyond, found) => {
                let beyond = beyond.get_or_insert_with(ArrivingText::default);
                beyond.take(model, found, &mut Run { workspace, pulse })
            }
        };
        front.clone().finish(Passing { stages, choice, pulse, put })?;
        let run = &mut Run { workspace, pulse };
        let mut open = passed.open_ids(model, &tail, run)?;
        if let Some(mut beyond) = beyond {
            beyond.end(model, run)?;
            memory::extend(&mut open, beyond.ids())?;
        }
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
