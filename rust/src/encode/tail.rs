//! The long open end of a text that grows: what is appended is encoded, and little of what was
//! there before.
//!
//! A pretoken may be long, and not end before the text does: a run of letters or white space, or
//! all of a text that is not cut at all. It is not encoded again at each step:
//!
//! 1. Its end is found by an automaton, which reads on from where the text ended before.
//! 2. Its tokens are those that it had, up to one that a window over its end shares with them.
//!    [`merging`](super::merging) says why this is right: windows of a long pretoken are joined in
//!    the same way.
//! 3. Its ids come from its tokens: a provisional token is taken apart, and unknown bytes become an
//!    id. This is done for each token by itself, except that unknown bytes may be joined to those
//!    before them. So the ids of the tokens that are kept stay, up to the last one, and the others
//!    are computed again.
//!
//! Tokens and ids are two lists because the second step needs to know which token is where: the ids
//! of a token that was taken apart do not say that.
//!
//! ```text
//! settled | aaaaaaaaaaaaaaaaaaaaaaaa    the pretoken so far, and its ids
//!                           aaaaaaaa aa    what is read again, and what was appended
//! ```
//!
//! A tail must not need to know what is before it. So this is done only for text:
//!
//! - without added tokens;
//! - of which no part changes what the normalizer makes of the part before: what is appended must
//!   begin with a character that starts. (A run of accents under NFC is encoded anew at each step:
//!   one may move in front of others, or change their letter.)
//!
//! At the beginning, something may be prepended.

use std::mem;

use super::growing::Settled;
use super::ordinary::Misses;
use super::stages::{SectionPlaces, Stretch};
use super::{Choice, Encoder};
use crate::error::Result;
use crate::memory;
use crate::normalize::Beginning;
use crate::pretokenize::OpenPiece;
use crate::watch::Pulse;

/// Text before the pieces is forgotten once it is longer than this, and than the rest.
const FORGOTTEN: usize = 1 << 12;

/// The open end of a text.
///
/// ```text
/// whole text   ............ | changed before | kept
///                                            ^ kept_from
/// text                      |   is changed   | kept
///                                            ^ changed
/// ```
#[derive(Clone)]
pub struct Tail {
    /// The text that reaches the model.
    text: String,
    /// The length of its beginning that was prepended or normalized. What is behind is the same in
    /// the whole text.
    changed: usize,
    /// Where in the whole text that begins.
    kept_from: usize,
    /// In order: each begins where the one before it ends, and the last ends where the text does.
    pieces: Vec<Piece>,
    /// Where the first of them begins, and the number of ids before it.
    start: usize,
    ids_before: usize,
    /// Places where the text may be cut as far as pretokens are concerned, and its length when that
    /// was found; whether a token will be there is not known yet.
    waiting: Vec<Settled>,
    /// Up to here, places of the text are no beginnings of first tokens, and of later ones.
    searched_first: usize,
    searched_later: usize,
}

/// A piece, the tokens that it was merged to, and the number of ids that these become.
#[derive(Clone)]
struct Piece {
    open: OpenPiece,
    tokens: Vec<u32>,
    ids: usize,
}

impl Piece {
    fn new(start: usize) -> Self {
        Self { open: OpenPiece::new(start), tokens: Vec::new(), ids: 0 }
    }
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
    /// The open end of a text behind a settled place, before any of it is encoded; `None` if it
    /// cannot be encoded by itself.
    pub fn new(
        encoder: &Encoder,
        text: &str,
        settled: Settled,
        choice: Choice,
        pulse: &mut Pulse,
    ) -> Result<Option<Self>> {
        let stages = &encoder.stages;
        let open = &text[settled.place..];
        let kept = stages.kept_end(open);
        if kept.len() < open.len() && !stages.later.is_empty() {
            return Ok(None);
        }
        let mut sections = 0;
        let mut for_model = None;
        let stretch = Stretch { text, range: settled.place..text.len(), at: settled.at };
        stages.sections(stretch, choice, SectionPlaces::Unneeded, pulse, &mut |section, _| {
            sections += 1;
            if section.id.is_none() && section.text.ends_with(kept) {
                let mut copy = String::new();
                memory::append(&mut copy, section.text)?;
                for_model = Some(copy);
            }
            Ok(())
        })?;
        let Some(for_model) = for_model else { return Ok(None) };
        if sections > 1 || encoder.model.drops_part_of(&for_model)? {
            return Ok(None);
        }
        Ok(Some(Self {
            changed: for_model.len() - kept.len(),
            text: for_model,
            kept_from: text.len() - kept.len(),
            pieces: Vec::new(),
            start: 0,
            ids_before: settled.ids,
            waiting: Vec::new(),
            searched_first: settled.place,
            searched_later: settled.place,
        }))
    }

    /// The size of its memory in bytes.
    pub fn bytes(&self) -> usize {
        let tokens: usize = self.pieces.iter().map(|piece| size_of_val(&piece.tokens[..])).sum();
        self.text.len() + tokens + size_of_val(&self.pieces[..]) + size_of_val(&self.waiting[..])
    }

    /// Where in the whole text a place is that is not in the changed beginning.
    fn place_in_whole(&self, place: usize) -> usize {
        self.kept_from + place - self.changed
    }

    /// Takes in what was appended to the whole text; returns false if that changes text before it,
    /// or may have tokens.
    pub fn take(
        &mut self,
        encoder: &Encoder,
        text: &str,
        choice: Choice,
        pulse: &mut Pulse,
    ) -> Result<bool> {
        let stages = &encoder.stages;
        let normalizer = &stages.normalizer;
        let appended = &text[self.place_in_whole(self.text.len())..];
        let kept = stages.kept_end(appended);
        let is_kept = kept.len() == appended.len();
        let is_apart = appended.chars().next().is_none_or(|character| normalizer.starts(character));
        if !(is_apart && stages.first.finds_none(text, &mut self.searched_first, choice, pulse)?) {
            return Ok(false);
        }
        // In text that is normalized, later tokens are elsewhere than in the whole text.
        let has_no_later = stages.later.is_empty()
            || is_kept && stages.later.finds_none(text, &mut self.searched_later, choice, pulse)?;
        if !has_no_later {
            return Ok(false);
        }
        let normalized = normalizer.normalize(appended, Beginning::Within, pulse)?;
        if encoder.model.drops_part_of(&normalized)? {
            return Ok(false);
        }
        memory::append(&mut self.text, &normalized)?;
        if !is_kept {
            self.kept_from = text.len() - kept.len();
            self.changed = self.text.len() - kept.len();
        }
        Ok(true)
    }

    /// Encodes what is new.
    pub fn encode(
        &mut self,
        encoder: &Encoder,
        misses: &mut Misses,
        pulse: &mut Pulse,
    ) -> Result<NewIds> {
        let model = &encoder.model;
        let mut earlier_pieces = mem::take(&mut self.pieces).into_iter().peekable();
        // As long as all is as it was before, ids are kept.
        let mut is_same = true;
        let mut new = NewIds { kept: self.ids_before, ids: Vec::new() };
        let mut start = self.start;
        while start < self.text.len() {
            while earlier_pieces.next_if(|piece| piece.open.start < start).is_some() {}
            let earlier = earlier_pieces.next_if(|piece| piece.open.start == start);
            let mut piece = earlier.unwrap_or_else(|| Piece::new(start));
            let earlier_end = piece.open.end;
            model.pattern.read_on(&mut piece.open, &self.text, pulse)?;
            let end = piece.open.end;
            let pretoken = &self.text.as_bytes()[start..end];
            let mut kept = piece.tokens.len();
            if end != earlier_end {
                kept = model.merge_longer(
                    pretoken,
                    &piece.tokens,
                    earlier_end - start,
                    misses,
                    pulse,
                )?;
                piece.ids -= model.ids_behind(kept, &piece.tokens, pretoken)?.len();
                piece.tokens.truncate(kept);
                memory::extend(&mut piece.tokens, &misses.ids)?;
            }
            if !is_same {
                kept = 0;
                piece.ids = 0;
            }
            new.kept += piece.ids;
            let ids_behind = model.ids_behind(kept, &piece.tokens, pretoken)?;
            memory::extend(&mut new.ids, &ids_behind)?;
            piece.ids += ids_behind.len();
            is_same &= end == earlier_end;
            if piece.open.is_final && self.pieces.is_empty() {
                self.start = end;
                self.ids_before = new.kept + new.ids.len();
                // What was prepended goes if a token takes all white space behind it.
                if end > self.changed {
                    let place = self.place_in_whole(end);
                    let needs = self.place_in_whole(self.text.len());
                    memory::push(
                        &mut self.waiting,
                        Settled::within(place, self.ids_before, needs),
                    )?;
                }
            } else {
                memory::push(&mut self.pieces, piece)?;
            }
            start = end;
        }
        Ok(new)
    }

    /// The places that are settled now, of those between pieces.
    ///
    /// [`Cuts`](super::stages::Cuts) would refuse many of them, as it looks only near a place. Here
    /// more is known:
    ///
    /// - The pattern: an automaton has read the text up to where the piece ends in every longer
    ///   text.
    /// - The normalizer: what was appended begins with a character that starts ([`Self::take`]),
    ///   and if there are later tokens, all of the text is kept. So both kinds of tokens can be
    ///   looked for in the whole text.
    ///
    /// And an answer may have to wait: where a token may still arrive, the place is asked for again
    /// at the next step.
    pub fn settle(
        &mut self,
        encoder: &Encoder,
        text: &str,
        choice: Choice,
    ) -> Result<Vec<Settled>> {
        let mut settled = Vec::new();
        if self.waiting.is_empty() {
            return Ok(settled);
        }
        let stages = &encoder.stages;
        let mut first = stages.first.cuts(text, Some(choice));
        let mut later = stages.later.cuts(text, Some(choice));
        let is_identity = stages.normalizer.is_identity();
        let mut passed = 0;
        for waiting in &self.waiting {
            let place = waiting.place;
            // The last character of the text, by which a piece may have ended, may still change
            // when it is normalized.
            let is_read = is_identity || waiting.needs < text.len();
            if !(is_read && first.is_sure(place) && later.is_sure(place)) {
                break;
            }
            passed += 1;
            // Otherwise a token's text lies across the place, or may take white space: that remains
            // so.
            if first.may_cut_at(place) && later.may_cut_at(place) {
                memory::push(&mut settled, Settled { needs: text.len(), ..*waiting })?;
            }
        }
        self.waiting.drain(..passed);
        self.forget();
        Ok(settled)
    }

    /// Forgets the text before the pieces, if it is long.
    fn forget(&mut self) {
        let past = self.start;
        if past < FORGOTTEN.max(self.text.len() / 2) || past < self.changed {
            return;
        }
        self.text.drain(..past);
        self.kept_from += past - self.changed;
        self.changed = 0;
        self.start = 0;
        for piece in &mut self.pieces {
            piece.open = piece.open.moved_back(past);
        }
    }
}
