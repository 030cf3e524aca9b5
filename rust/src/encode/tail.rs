//! The long open end of a text that grows: what is appended is encoded, and little of what was there before.
//!
//! A pretoken may be long, and not end before the text does: a run of letters or white space, or all of a text that is not cut
//! at all. It is not encoded again at each step:
//!
//! 1. Its end is found by an automaton, which reads on from where the text ended before.
//! 2. Its tokens are those that it had, up to one that a window over its end shares with them. [`merging`](super::merging)
//!    says why this is right: it is how windows of a long pretoken are joined.
//! 3. Its ids are made of its tokens: a provisional token is taken apart, and unknown bytes become an id. This is done for
//!    each token by itself, except that unknown bytes may be joined to those before them. So the ids of the tokens that are
//!    kept stay, up to the last one, and the others are made again.
//!
//! Tokens and ids are two lists because the second step needs to know which token lies where: the ids of a token that was
//! taken apart do not say that.
//!
//! So that nothing has to be known of what is before, this is done only for text without added tokens, of which no part
//! changes what the normalizer makes of the part before: what is appended must begin with a character that starts. (A run of
//! accents under NFC is encoded anew at each step: one may move in front of others, or change their letter.) At the beginning,
//! something may be put.
//!
//! ```text
//! settled | aaaaaaaaaaaaaaaaaaaaaaaa    the pretoken so far, and its ids
//!                           aaaaaaaa aa    what is read again, and what was appended
//! ```

use super::growing::Settled;
use super::ordinary::Misses;
use super::stages::{Places, Stretch};
use super::{Choice, Encoder};
use crate::error::Result;
use crate::memory;
use crate::normalize::Beginning;
use crate::pretokenize::OpenPiece;
use crate::watch::Pulse;

/// Text before the pieces is forgotten once it is longer than this, and than the rest.
const FORGOTTEN: usize = 1 << 12;

/// The open end of a text.
#[derive(Clone)]
pub struct Tail {
    /// The text that reaches the model. Behind its first bytes, which may have been `put` there or normalized, it is the given
    /// text from the place `begin` on.
    text: String,
    put: usize,
    begin: usize,
    /// In order: each begins where the one before it ends, and the last ends where the text does.
    pieces: Vec<Piece>,
    /// Where the first of them begins, and the number of ids before it.
    start: usize,
    ids: usize,
    /// Places where the text may be cut as far as pretokens are concerned, and its length when that was found; whether a token
    /// will lie there is not sure yet.
    waiting: Vec<Settled>,
    /// Up to here, places of the text are no beginnings of added tokens, given ones and those in normalized text.
    searched: [usize; 2],
}

/// A piece, the tokens that it was merged to, and the number of ids that these become.
#[derive(Clone)]
struct Piece {
    open: OpenPiece,
    tokens: Vec<u32>,
    ids: usize,
}

/// New ids behind those that are kept.
pub struct NewIds {
    pub kept: usize,
    pub ids: Vec<u32>,
}

impl Encoder {
    /// Whether the end of a growing text can be encoded by itself.
    pub fn has_tails(&self) -> bool {
        self.model.pattern.reads_on()
    }
}

impl Tail {
    /// The open end of a text behind a settled place, before any of it is encoded; `None` if it cannot be encoded by itself.
    pub fn new(
        encoder: &Encoder,
        text: &str,
        settled: Settled,
        choice: Choice,
        pulse: &mut Pulse,
    ) -> Result<Option<Self>> {
        let (stages, open) = (&encoder.stages, &text[settled.place..]);
        let kept = stages.kept_end(open);
        if kept.len() < open.len() && !stages.later.is_empty() {
            return Ok(None);
        }
        let (mut sections, mut own) = (0, None);
        let stretch = Stretch { text, range: settled.place..text.len(), at: settled.at };
        stages.sections(stretch, choice, Places::Unneeded, pulse, &mut |section, _| {
            sections += 1;
            if section.id.is_none() && section.text.ends_with(kept) {
                let mut written = String::new();
                memory::append(&mut written, section.text)?;
                own = Some(written);
            }
            Ok(())
        })?;
        let is_alone = |own: &String| sections == 1 && !encoder.model.drops_part_of(own);
        let Some(own) = own.filter(is_alone) else { return Ok(None) };
        Ok(Some(Self {
            put: own.len() - kept.len(),
            text: own,
            begin: text.len() - kept.len(),
            pieces: Vec::new(),
            start: 0,
            ids: settled.ids,
            waiting: Vec::new(),
            searched: [settled.place; 2],
        }))
    }

    /// The size of its memory in bytes.
    pub fn bytes(&self) -> usize {
        let tokens: usize = self.pieces.iter().map(|piece| size_of_val(&piece.tokens[..])).sum();
        self.text.len() + tokens + size_of_val(&self.pieces[..]) + size_of_val(&self.waiting[..])
    }

    /// Take in what was appended to the text, if it changes nothing of the text before that reaches the model; whether it does.
    pub fn take(&mut self, encoder: &Encoder, text: &str, choice: Choice, pulse: &mut Pulse) -> Result<bool> {
        let (stages, normalizer) = (&encoder.stages, &encoder.stages.normalizer);
        let appended = &text[self.begin + self.text.len() - self.put..];
        let kept = stages.kept_end(appended);
        let is_kept = kept.len() == appended.len();
        let [first, later] = &mut self.searched;
        let is_apart = appended.chars().next().is_none_or(|character| normalizer.starts(character))
            && stages.first.finds_none(text, first, choice, pulse)?
            // In text that is normalized, later tokens are elsewhere than in the given one.
            && (stages.later.is_empty() || is_kept && stages.later.finds_none(text, later, choice, pulse)?);
        if !is_apart {
            return Ok(false);
        }
        let normalized = normalizer.normalize(appended, Beginning::Within, pulse)?;
        if encoder.model.drops_part_of(&normalized) {
            return Ok(false);
        }
        memory::append(&mut self.text, &normalized)?;
        if !is_kept {
            self.begin = text.len() - kept.len();
            self.put = self.text.len() - kept.len();
        }
        Ok(true)
    }

    /// Encode what is new.
    pub fn encode(&mut self, encoder: &Encoder, misses: &mut Misses, pulse: &mut Pulse) -> Result<NewIds> {
        let (model, text) = (&encoder.model, &self.text);
        let mut before = std::mem::take(&mut self.pieces).into_iter().peekable();
        // As long as all is as it was before, ids are kept.
        let mut is_same = true;
        let mut new = NewIds { kept: self.ids, ids: Vec::new() };
        let mut start = self.start;
        while start < text.len() {
            while before.next_if(|piece| piece.open.start < start).is_some() {}
            let known = before.next_if(|piece| piece.open.start == start);
            let mut piece =
                known.unwrap_or_else(|| Piece { open: OpenPiece::new(start), tokens: Vec::new(), ids: 0 });
            let known_end = piece.open.end;
            model.pattern.read_on(&mut piece.open, text, pulse)?;
            let end = piece.open.end;
            let pretoken = &text.as_bytes()[start..end];
            let mut kept = piece.tokens.len();
            if end != known_end {
                kept = model.merge_longer(pretoken, &piece.tokens, known_end - start, misses, pulse)?;
                piece.ids -= model.ids_behind(kept, &piece.tokens, pretoken)?.len();
                piece.tokens.truncate(kept);
                memory::extend(&mut piece.tokens, &misses.ids)?;
            }
            if !is_same {
                (kept, piece.ids) = (0, 0);
            }
            new.kept += piece.ids;
            let behind = model.ids_behind(kept, &piece.tokens, pretoken)?;
            memory::extend(&mut new.ids, &behind)?;
            piece.ids += behind.len();
            is_same &= end == known_end;
            if piece.open.is_final && self.pieces.is_empty() {
                (self.start, self.ids) = (end, new.kept + new.ids.len());
                // What was put there goes if a token takes all white space behind it.
                if end > self.put {
                    let [place, needs] = [end, text.len()].map(|at| self.begin + at - self.put);
                    memory::push(&mut self.waiting, Settled { needs, ..Settled::within(place, self.ids) })?;
                }
            } else {
                memory::push(&mut self.pieces, piece)?;
            }
            start = end;
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
        let is_given = encoder.stages.normalizer.is_identity();
        let mut passed = 0;
        for waiting in &self.waiting {
            let place = waiting.place;
            // The last character of the text, by which a piece may have ended, may still change when it is normalized.
            let is_read = is_given || waiting.needs < text.len();
            if !(is_read && first.is_known(place) && later.is_known(place)) {
                break;
            }
            passed += 1;
            // Elsewhere, a token's text lies across the place, or may take white space: that remains so.
            if first.may_cut_at(place) && later.may_cut_at(place) {
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
