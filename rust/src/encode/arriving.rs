//! Text for the model that arrives in pieces, with added tokens in it, and its ids.
//!
//! A *settled* place is one where the text may be cut, whatever follows: the ids before it never change again. The text
//! after the last settled place is *open*.
//!
//! ```text
//! the cat sat on| the ma       settled up to "on"; open are " the" and " ma", as "mat" may follow
//! ```
//!
//! A stream lets open text wait. For a text that grows, its ids are made at every step, as if it ended there. It consists of
//! few pretokens, and some may be long. Of each, the state of the automaton and the tokens are kept: both go on where they
//! stopped, and only the last tokens are made again. So a step costs no more than what is new.
//!
//! Without one automaton for the whole pattern, or where bytes are left out, all open text is encoded again; so is what is
//! left where a pattern has many open pretokens, or attempts to match fail.

use std::mem::{replace, take};

use super::added::PassedOn;
use super::merging::{Merger, length_of};
use super::ordinary::Run;
use super::{Model, Unknown, character_start};
use crate::error::Result;
use crate::memory;
use crate::pretokenize::{Automaton, OpenPiece};
use crate::tokens::TokenBytes;

/// The number of open pretokens that are kept. The named patterns have two at most.
const MOST_OPEN: usize = 8;

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
    /// The first open pretokens; those that are missing are found again.
    open: Vec<OpenPretoken>,
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
    /// The number of bytes, without those of open pretokens.
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

    /// Add what no later text changes: text, or an added token, which ends the text before it.
    pub fn take(&mut self, model: &Model, found: PassedOn, run: &mut Run) -> Result<()> {
        let (text, id) = match found {
            PassedOn::Text(text) => return memory::append(&mut self.text, text),
            PassedOn::Token(text, id, _) => (text, id),
        };
        self.end(model, run)?;
        memory::append(&mut self.text, text)?;
        memory::push(&mut self.ids, id)?;
        // If the text is shortened to a part of it, it is no token.
        let end = self.text.len();
        memory::push(&mut self.settled, Settled { place: end, ids: self.ids.len(), looked: end - 1 })?;
        self.searched = end;
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

    /// Make the ids up to a place where the text is cut. An open pretoken goes on.
    fn settle_to(&mut self, model: &Model, place: usize, run: &mut Run) -> Result<()> {
        let (text, mut start) = (&self.text[..place], self.last().place);
        let first = take(&mut self.open).into_iter().next();
        if let (Some(automaton), Some(mut pretoken)) = (automaton(model), first)
            && let Some(end) = pretoken.run.piece_end(automaton, text.as_bytes(), usize::MAX, run.pulse)?
        {
            let piece = &text.as_bytes()[pretoken.run.piece()..end];
            pretoken.become_piece(piece, &mut model.merger(run.workspace.scratch(), run.pulse))?;
            pretoken.put_ids(model, piece, &mut self.ids)?;
            start = end;
        }
        model.encode_ordinary(&text[start..], &mut self.ids, run)?;
        self.searched = self.searched.max(place);
        memory::push(&mut self.settled, Settled { place, ids: self.ids.len(), looked: place })
    }

    /// The ids of the open text, if the whole text ended with a tail that later text may change.
    pub fn open_ids(&mut self, model: &Model, tail: &str, run: &mut Run) -> Result<Vec<u32>> {
        let sure = self.text.len();
        memory::append(&mut self.text, tail)?;
        let ids = self.encode_open(model, sure, run);
        self.text.truncate(sure);
        ids
    }

    /// Encode the open text, which is certain up to a place. First pretokens whose ends are certain become settled.
    fn encode_open(&mut self, model: &Model, sure: usize, run: &mut Run) -> Result<Vec<u32>> {
        let mut open = take(&mut self.open);
        let (mut ids, mut last) = (Vec::new(), self.last());
        let (text, mut place) = (&self.text[..], last.place);
        if let Some(automaton) = automaton(model) {
            let (mut number, mut done) = (0, 0);
            while place < text.len() && number - done < MOST_OPEN {
                if open.get(number).is_none_or(|pretoken| pretoken.run.piece() != place) {
                    open.truncate(number);
                    memory::push(&mut open, OpenPretoken::new(place))?;
                }
                let pretoken = &mut open[number];
                let Some(end) = pretoken.run.piece_end(automaton, text.as_bytes(), sure, run.pulse)? else {
                    break;
                };
                let piece = &text.as_bytes()[place..end];
                pretoken.become_piece(piece, &mut model.merger(run.workspace.scratch(), run.pulse))?;
                place = end;
                if done == number && pretoken.run.is_done() {
                    pretoken.put_ids(model, piece, &mut self.ids)?;
                    let looked = pretoken.run.looked().max(last.looked);
                    last = Settled { place, ids: self.ids.len(), looked };
                    memory::push(&mut self.settled, last)?;
                    done += 1;
                } else {
                    pretoken.put_ids(model, piece, &mut ids)?;
                }
                number += 1;
            }
            open.truncate(number);
            open.drain(..done);
        }
        model.encode_ordinary(&text[place..], &mut ids, run)?;
        open.retain(|pretoken| pretoken.run.piece() < sure);
        open.iter_mut().for_each(|pretoken| pretoken.shorten(&model.tokens, sure - pretoken.run.piece()));
        self.open = open;
        Ok(ids)
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
        self.open.clear();
    }

    /// Keep the first `length` bytes, and of the settled places those that were found in them: each was found by looking at
    /// the character behind the text that was looked at. The rest can be put back.
    pub fn split_off(&mut self, length: usize) -> Self {
        let kept = self.settled.partition_point(|settled| settled.looked < length);
        let settled = self.settled.split_off(kept);
        let last = self.last();
        let (text, ids) = (self.text.split_off(length), self.ids.split_off(last.ids));
        Self {
            text,
            ids,
            settled,
            searched: replace(&mut self.searched, last.place),
            open: take(&mut self.open),
        }
    }

    /// Put back what was split off. It needs no memory, as vectors keep what they have.
    pub fn put_back(&mut self, rest: &Self) {
        self.text.push_str(&rest.text);
        self.ids.extend_from_slice(&rest.ids);
        self.settled.extend_from_slice(&rest.settled);
        self.searched = rest.searched;
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

/// The automaton, if open pretokens are kept: their tokens have all of their bytes.
fn automaton(model: &Model) -> Option<&Automaton> {
    model.pattern.automaton().filter(|_| !matches!(model.unknown, Some(Unknown::Dropped)))
}

/// A pretoken that later text may change.
#[derive(Clone)]
struct OpenPretoken {
    run: OpenPiece,
    tokens: Vec<u32>,
    /// The number of bytes of its tokens.
    bytes: usize,
}

impl OpenPretoken {
    fn new(start: usize) -> Self {
        Self { run: OpenPiece::new(start), tokens: Vec::new(), bytes: 0 }
    }

    /// Drop the tokens that reach past a length. The first tokens of a result are the result for their bytes.
    fn shorten(&mut self, tokens: &TokenBytes, bytes: usize) {
        while self.bytes > bytes
            && let Some(token) = self.tokens.pop()
        {
            self.bytes -= length_of(token, tokens);
        }
    }

    /// Become another pretoken that begins with its bytes, or is the beginning of it.
    fn become_piece(&mut self, pretoken: &[u8], merger: &mut Merger) -> Result<()> {
        self.shorten(merger.tokens, pretoken.len());
        merger.go_on(pretoken, (0, self.bytes), &mut self.tokens)?;
        self.bytes = pretoken.len();
        Ok(())
    }

    /// Append its ids.
    fn put_ids(&self, model: &Model, pretoken: &[u8], ids: &mut Vec<u32>) -> Result<()> {
        if let Some(id) = model.replacing(pretoken) {
            return memory::push(ids, id);
        }
        let mut own = self.tokens.clone();
        model.make_ids(pretoken, &mut own)?;
        memory::extend(ids, &own)
    }
}

#[cfg(test)]
mod tests {
    use super::super::merging::Scratch;
    use super::super::tests::{RandomNumbers, RandomVocabulary, defined};
    use super::*;
    use crate::watch::{Pulse, Unwatched};

    #[test]
    fn a_pretoken_that_changes_at_its_end_has_the_tokens_that_are_defined() {
        let mut numbers = RandomNumbers(11);
        let mut scratch = Scratch::new().unwrap();
        let mut kept = 0;
        for round in 0..600 {
            let letters = 1 + numbers.below(3);
            let RandomVocabulary { merges, tokens, .. } =
                RandomVocabulary::new(&mut numbers, letters, if letters == 1 { 6 } else { 40 });
            let (mut open, mut pretoken) = (OpenPretoken::new(0), Vec::new());
            for _ in 0..12 {
                if numbers.below(3) == 0 {
                    pretoken.truncate(numbers.below(pretoken.len() + 1));
                    open.shorten(&tokens, pretoken.len());
                }
                for _ in 0..1 + numbers.below(if round % 2 == 0 { 3 } else { 120 }) {
                    pretoken.push(b'a' + numbers.below(letters) as u8);
                }
                let watch = &mut Unwatched;
                let (pulse, before) = (&mut Pulse::of(watch), open.tokens.clone());
                let mut merger = Merger { merges: &merges, tokens: &tokens, scratch: &mut scratch, pulse };
                open.become_piece(&pretoken, &mut merger).unwrap();
                assert_eq!(open.tokens, defined(&merges, &pretoken), "{pretoken:?}");
                kept += before.iter().zip(&open.tokens).take_while(|(before, now)| before == now).count();
            }
        }
        assert!(kept > 10_000, "{kept}");
    }
}
