//! Text for the model that arrives in pieces, with added tokens in it, and its ids.
//!
//! A *settled* place is one where the text may be cut, whatever follows: the ids before it never change again. The text
//! after the last settled place is *open*.
//!
//! ```text
//! the cat sat on| the ma       settled up to "on"; open are " the" and " ma", as "mat" may follow
//! ```
//!
//! A stream lets open text wait. For a text that grows, its ids are made at every step, as if it ended there: with the named
//! patterns it has a pretoken or two.

use std::mem::take;

use super::added::Passed;
use super::ordinary::Run;
use super::{Model, character_start};
use crate::error::Result;
use crate::memory;

/// The distance of the first search backwards for a cut; each further search goes four times as far.
const FIRST_LOOK: usize = 64;

/// A text, its settled places, and the ids before the last of them.
#[derive(Clone, Default)]
pub struct ArrivingText {
    /// Normalized text, and what was found as added tokens.
    text: String,
    ids: Vec<u32>,
    /// In order; the beginning of the text is always settled, and not listed.
    settled: Vec<Settled>,
    /// The end of the text that was searched for settled places: it is looked at once, however small the pieces are.
    searched: usize,
}

/// A place in the text, and the number of ids before it.
#[derive(Clone, Copy, Default)]
pub struct Settled {
    pub place: usize,
    pub ids: usize,
    /// How far the text was looked at to find it.
    looked: usize,
}

/// How far everything is, to come back to after an error.
pub struct Mark {
    text: usize,
    pub ids: usize,
    settled: usize,
    searched: usize,
}

impl ArrivingText {
    /// The number of bytes.
    pub fn size(&self) -> usize {
        self.text.len() + size_of_val(&self.ids[..]) + size_of_val(&self.settled[..])
    }

    pub fn length(&self) -> usize {
        self.text.len()
    }

    /// The settled ids.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The last settled place.
    pub fn last(&self) -> Settled {
        self.settled.last().copied().unwrap_or_default()
    }

    /// The last settled place with so many ids before it, or fewer.
    pub fn last_within(&self, ids: usize) -> Settled {
        let within = self.settled.partition_point(|settled| settled.ids <= ids);
        self.settled[..within].last().copied().unwrap_or_default()
    }

    /// Add what no later text changes: text, and added tokens, each of which ends the text before it.
    pub fn take(&mut self, model: &Model, passed: Vec<Passed>, run: &mut Run) -> Result<()> {
        for found in passed {
            let (text, id) = match found {
                Passed::Text(text) => {
                    memory::append(&mut self.text, &text)?;
                    continue;
                }
                Passed::Token(text, id, _) => (text, id),
            };
            self.end(model, run)?;
            memory::append(&mut self.text, &text)?;
            memory::push(&mut self.ids, id)?;
            // If the text is shortened to a part of it, it is no token.
            let end = self.text.len();
            memory::push(&mut self.settled, Settled { place: end, ids: self.ids.len(), looked: end - 1 })?;
            self.searched = end;
        }
        Ok(())
    }

    /// Make the ids of the text that no later text can change.
    pub fn settle(&mut self, model: &Model, run: &mut Run) -> Result<()> {
        let begin = self.last().place;
        run.pulse.beat(self.text.len() - self.searched)?;
        let length = settled_length(model, &self.text[begin..], self.searched - begin);
        if length > 0 {
            self.settle_to(model, begin + length, run)?;
        }
        self.searched = self.text.len();
        Ok(())
    }

    /// The text ends here: make the ids of all of it.
    pub fn end(&mut self, model: &Model, run: &mut Run) -> Result<()> {
        self.settle_to(model, self.text.len(), run)
    }

    /// Make the ids up to a place where the text is cut.
    fn settle_to(&mut self, model: &Model, place: usize, run: &mut Run) -> Result<()> {
        model.encode_ordinary(&self.text[self.last().place..place], &mut self.ids, run)?;
        self.searched = self.searched.max(place);
        memory::push(&mut self.settled, Settled { place, ids: self.ids.len(), looked: place })
    }

    /// The ids of the open text, if the whole text ended with a tail that later text may change.
    pub fn open_ids(&mut self, model: &Model, tail: Vec<Passed>, run: &mut Run) -> Result<Vec<u32>> {
        let (sure, mut ids) = (self.text.len(), Vec::new());
        let encoded = self
            .take(model, tail, run)
            .and_then(|()| model.encode_ordinary(&self.text[self.last().place..], &mut ids, run));
        self.text.truncate(sure);
        encoded.map(|()| ids)
    }

    /// How far everything is.
    pub fn mark(&self) -> Mark {
        let Self { text, ids, settled, searched, .. } = self;
        Mark { text: text.len(), ids: ids.len(), settled: settled.len(), searched: *searched }
    }

    /// Drop what was added since.
    pub fn go_back(&mut self, mark: &Mark) {
        self.text.truncate(mark.text);
        self.ids.truncate(mark.ids);
        self.settled.truncate(mark.settled);
        self.searched = mark.searched;
    }

    /// Keep the first `length` bytes, and of the settled places those that were found in them: each was found by looking at
    /// the character behind the text that was looked at. Returns the ids that are dropped.
    pub fn shorten(&mut self, length: usize) -> Vec<u32> {
        let kept = self.settled.partition_point(|settled| settled.looked < length);
        self.settled.truncate(kept);
        self.text.truncate(length);
        self.searched = self.last().place;
        self.ids.split_off(self.last().ids)
    }

    /// Give away the settled ids, and forget their text.
    pub fn take_settled(&mut self) -> Vec<u32> {
        let begin = self.last().place;
        self.text.drain(..begin);
        self.searched -= begin;
        self.settled.clear();
        take(&mut self.ids)
    }
}

/// The length of the text before its last settled place, or 0. The text was looked at up to `from` before.
fn settled_length(model: &Model, text: &str, from: usize) -> usize {
    let mut back = FIRST_LOOK;
    loop {
        let look = character_start(text, text.len().saturating_sub(back)).max(from);
        let (mut last, mut place) = (0, look);
        while let Some(cut) = model.pattern.safe_cut(text, place).filter(|&cut| cut < text.len()) {
            last = cut;
            place = cut + text[cut..].chars().next().map_or(1, char::len_utf8);
        }
        if last > 0 || look == from {
            return last;
        }
        back *= 4;
    }
}
