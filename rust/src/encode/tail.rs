//! The long open end of a text that grows: what is appended is encoded, and little of what was there before.
//!
//! A pretoken may be long, and not end before the text does: a run of letters or white space. It is not encoded again at each
//! step:
//!
//! 1. Its end is found by an automaton, which reads on from where the text ended before.
//! 2. Its ids are those that it had, up to a token that a window over its end shares with them. Why this is right says
//!    [`merging`](super::merging): it is how windows of a long pretoken are joined.
//!
//! So that nothing has to be known of what is before, this is done only for text that reaches the model as it is given: it
//! has no added tokens, and each of its characters is kept by the normalizer. Only at its beginning may something be put.
//!
//! ```text
//! settled | aaaaaaaaaaaaaaaaaaaaaaaa    the pretoken so far, and its ids
//!                           aaaaaaaa aa    what is read again, and what was appended
//! ```

use super::growing::Settled;
use super::ordinary::Misses;
use super::stages::Stretch;
use super::{Choice, Encoder};
use crate::error::Result;
use crate::memory;
use crate::pretokenize::OpenPiece;
use crate::watch::Pulse;

/// Text before the pieces is forgotten once it is longer than this, and than the rest.
const FORGOTTEN: usize = 1 << 12;

/// The open end of a text.
#[derive(Clone)]
pub struct Tail {
    /// The text that reaches the model. Behind the first bytes, which may have been `put` there, it is the text from the place
    /// `begin` on.
    text: String,
    put: usize,
    begin: usize,
    /// In order: each begins where the one before it ends, and the last ends where the text does.
    pieces: Vec<Piece>,
    /// Where the first of them begins, and the number of ids before it.
    start: usize,
    ids: usize,
    /// Places where the text may be cut as far as pretokens are concerned; whether a token will lie there is not sure yet.
    waiting: Vec<Settled>,
    /// Up to here, places of the text are no beginnings of added tokens, given ones and those in normalized text.
    searched: [usize; 2],
}

/// A piece, and the range of its ids.
#[derive(Clone, Copy)]
struct Piece {
    open: OpenPiece,
    first_id: usize,
    end_id: usize,
}

/// New ids behind those that are kept.
pub struct NewIds {
    pub kept: usize,
    pub ids: Vec<u32>,
}

impl Encoder {
    /// Whether the end of a growing text can be encoded by itself.
    pub fn has_tails(&self) -> bool {
        let model = &self.model;
        let ids_are_tokens = model.unknown.is_none() && model.provisional.is_empty() && !model.lacks_bytes;
        ids_are_tokens && model.pattern.reads_on()
    }
}

impl Tail {
    /// The open end of a text behind a settled place, before any of it is encoded; `None` if it does not reach the model as it
    /// is.
    pub fn new(
        encoder: &Encoder,
        text: &str,
        settled: Settled,
        choice: Choice,
        pulse: &mut Pulse,
    ) -> Result<Option<Self>> {
        let open = &text[settled.place..];
        if !open.chars().all(|character| encoder.stages.normalizer.keeps(character)) {
            return Ok(None);
        }
        let (mut sections, mut own) = (0, None);
        let stretch = Stretch { text, range: settled.place..text.len(), at: settled.at };
        encoder.stages.sections(stretch, choice, false, pulse, &mut |section, _| {
            sections += 1;
            if section.id.is_none() && section.text.ends_with(open) {
                let mut written = String::new();
                memory::append(&mut written, section.text)?;
                own = Some(written);
            }
            Ok(())
        })?;
        let Some(own) = own.filter(|_| sections == 1) else { return Ok(None) };
        Ok(Some(Self {
            put: own.len() - open.len(),
            text: own,
            begin: settled.place,
            pieces: Vec::new(),
            start: 0,
            ids: settled.ids,
            waiting: Vec::new(),
            searched: [settled.place; 2],
        }))
    }

    /// The size of its memory in bytes.
    pub fn bytes(&self) -> usize {
        self.text.len() + size_of_val(&self.pieces[..]) + size_of_val(&self.waiting[..])
    }

    /// Take in what was appended to the text, if it reaches the model as it is; whether it does.
    pub fn take(&mut self, encoder: &Encoder, text: &str, choice: Choice, pulse: &mut Pulse) -> Result<bool> {
        let stages = &encoder.stages;
        let appended = &text[self.begin + self.text.len() - self.put..];
        let [first, later] = &mut self.searched;
        let reaches_model = appended.chars().all(|character| stages.normalizer.keeps(character))
            && stages.first.finds_none(text, first, choice, pulse)?
            && stages.later.finds_none(text, later, choice, pulse)?;
        if reaches_model {
            memory::append(&mut self.text, appended)?;
        }
        Ok(reaches_model)
    }

    /// Encode what is new. All ids of the text before are given.
    pub fn encode(
        &mut self,
        encoder: &Encoder,
        ids: &[u32],
        misses: &mut Misses,
        pulse: &mut Pulse,
    ) -> Result<NewIds> {
        let (model, text) = (&encoder.model, &self.text);
        let before = std::mem::take(&mut self.pieces);
        let mut before = before.iter().peekable();
        // As long as all is as it was before, ids are kept.
        let mut is_same = true;
        let mut new = NewIds { kept: self.ids, ids: Vec::new() };
        let mut start = self.start;
        while start < text.len() {
            while before.next_if(|piece| piece.open.start < start).is_some() {}
            let known = before.next_if(|piece| piece.open.start == start).copied();
            let mut open = known.map_or(OpenPiece::new(start), |piece| piece.open);
            model.pattern.read_on(&mut open, text, pulse)?;
            let first_id = new.kept + new.ids.len();
            let (own, known_end) = match known {
                Some(piece) => (&ids[piece.first_id..piece.end_id], piece.open.end),
                None => (&ids[..0], start),
            };
            let mut kept = own.len();
            misses.ids.clear();
            if open.end != known_end {
                let pretoken = &text.as_bytes()[start..open.end];
                kept = model.merge_longer(pretoken, own, known_end - start, misses, pulse)?;
            }
            if is_same {
                new.kept = first_id + kept;
            } else {
                memory::extend(&mut new.ids, &own[..kept])?;
            }
            memory::extend(&mut new.ids, &misses.ids)?;
            is_same &= open.end == known_end;
            let end_id = new.kept + new.ids.len();
            if open.is_final && self.pieces.is_empty() {
                (self.start, self.ids) = (open.end, end_id);
                // What was put there goes if a token takes all white space behind it.
                if open.end > self.put {
                    let place = self.begin + open.end - self.put;
                    memory::push(&mut self.waiting, Settled::within(place, end_id))?;
                }
            } else {
                memory::push(&mut self.pieces, Piece { open, first_id, end_id })?;
            }
            start = open.end;
        }
        Ok(new)
    }

    /// The places that are settled now.
    pub fn settle(&mut self, encoder: &Encoder, text: &str, choice: Choice) -> Result<Vec<Settled>> {
        let mut settled = Vec::new();
        if self.waiting.is_empty() {
            return Ok(settled);
        }
        let [mut first, mut later] =
            [&encoder.stages.first, &encoder.stages.later].map(|tokens| tokens.cuts(text, Some(choice)));
        let mut passed = 0;
        for waiting in &self.waiting {
            let place = waiting.place;
            if !(first.is_known(place) && later.is_known(place)) {
                break;
            }
            passed += 1;
            // Elsewhere, a token's text lies across the place, or may take white space: that remains so.
            if first.may_be_at(place) && later.may_be_at(place) {
                memory::push(&mut settled, Settled { needs: text.len(), ..*waiting })?;
            }
        }
        self.waiting.drain(..passed);
        self.forget();
        Ok(settled)
    }

    /// Forget the text before the pieces, if it is long.
    fn forget(&mut self) {
        let past = self.start;
        if past < FORGOTTEN.max(self.text.len() / 2) || past < self.put {
            return;
        }
        self.text.drain(..past);
        self.begin += past - self.put;
        (self.put, self.start) = (0, 0);
        for piece in &mut self.pieces {
            piece.open = piece.open.moved_back(past);
        }
    }
}
