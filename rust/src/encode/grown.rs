//! Ordinary text that grows, with added tokens in it, and its ids; the cost of appending depends only on the appended text.
//!
//! A *settled* place is one where the text may be cut, whatever follows: the ids before it never change again. The text
//! after the last settled place is *open*. It consists of few pretokens, and some may be long. Of each, the state of the
//! automaton and the tokens are kept: both go on where they stopped, and only the last tokens are made again.
//!
//! Without one automaton for the whole pattern, or where the ids of a pretoken are not made from its tokens one by one,
//! all open text is encoded again; so is what is left where a pattern has many open pretokens, or attempts to match fail.

use std::sync::Arc;

use super::merged::ChangingTokens;
use super::{Model, Unknown, Workspace};
use crate::error::Result;
use crate::memory;
use crate::pretokenize::{Automaton, OpenPiece};
use crate::watch::Pulse;

/// The number of open pretokens that are kept. The named patterns have two at most.
const MOST_OPEN: usize = 8;

/// A text, its ids, and its settled places.
pub struct Grown {
    model: Arc<Model>,
    /// Normalized text, and what was found as added tokens.
    text: String,
    /// The length of the text that the next one to be appended replaces.
    tail: usize,
    ids: Vec<u32>,
    /// In order; the beginning of the text is always settled, and not listed.
    settled: Vec<Settled>,
    /// The end of the text that was searched for settled places.
    searched: usize,
    /// The first open pretokens; those that are missing are found again.
    open: Vec<OpenPretoken>,
}

/// A place in the text, and the number of ids before it.
#[derive(Clone, Copy, Default)]
struct Settled {
    place: usize,
    ids: usize,
    /// How far the text was looked at to find it.
    looked: usize,
}

/// A pretoken that later text may change.
struct OpenPretoken {
    run: OpenPiece,
    tokens: ChangingTokens,
    /// The number of its ids.
    ids: usize,
    /// Whether its id is not made from its tokens.
    is_replaced: bool,
    /// Whether its last tokens were dropped.
    is_shortened: bool,
}

/// New ids: so many of the ids before stay, and these follow.
struct Change {
    kept: usize,
    new: Vec<u32>,
}

impl Change {
    fn ids(&self) -> usize {
        self.kept + self.new.len()
    }
}

impl OpenPretoken {
    fn new(start: usize) -> Self {
        Self {
            run: OpenPiece::new(start),
            tokens: ChangingTokens::default(),
            ids: 0,
            is_replaced: false,
            is_shortened: false,
        }
    }

    fn copy(&self) -> Result<Self> {
        Ok(Self { tokens: self.tokens.copy()?, ..*self })
    }

    fn end(&self) -> usize {
        self.run.piece() + self.tokens.bytes()
    }

    /// Drop the tokens that reach past a place of the text.
    fn shorten(&mut self, model: &Model, place: usize) {
        let dropped = self.tokens.shorten(&model.tokens, place - self.run.piece());
        if !dropped.is_empty() {
            self.is_shortened = true;
            self.ids -= if self.is_replaced { self.ids } else { model.number_of_ids(&dropped) };
        }
    }

    /// Become the pretoken that ends with a text; returns whether it is another one.
    fn become_piece(
        &mut self,
        model: &Model,
        text: &str,
        change: &mut Change,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<bool> {
        self.shorten(model, text.len());
        if self.end() == text.len() && !self.is_shortened {
            change.kept += self.ids;
            return Ok(false);
        }
        let now = &text.as_bytes()[self.run.piece()..];
        let merged = self.tokens.remerged(&model.merges, &model.tokens, now, workspace.scratch(), pulse)?;
        let dropped = model.number_of_ids(&self.tokens.ids[merged.kept..]);
        self.tokens.become_remerged(&merged, now.len())?;
        let replacing = model.replacing(now);
        let (kept, mut new) = if self.is_replaced || replacing.is_some() {
            (0, self.tokens.ids.clone())
        } else {
            (self.ids - dropped, merged.following)
        };
        match replacing {
            Some(id) => new = vec![id],
            None => model.make_ids(now, &mut new)?,
        }
        (self.ids, self.is_replaced, self.is_shortened) = (kept + new.len(), replacing.is_some(), false);
        change.kept += kept;
        memory::extend(&mut change.new, &new)?;
        Ok(true)
    }
}

impl Grown {
    /// Begin with an empty text.
    pub fn new(model: Arc<Model>) -> Self {
        let (text, ids, settled, open) = (String::new(), Vec::new(), Vec::new(), Vec::new());
        Self { model, text, tail: 0, ids, settled, searched: 0, open }
    }

    /// A copy, which grows by itself.
    pub fn copy(&self) -> Result<Self> {
        let mut copy = Self::new(Arc::clone(&self.model));
        memory::append(&mut copy.text, &self.text)?;
        memory::extend(&mut copy.ids, &self.ids)?;
        memory::extend(&mut copy.settled, &self.settled)?;
        copy.open = self.open.iter().map(OpenPretoken::copy).collect::<Result<_>>()?;
        (copy.tail, copy.searched) = (self.tail, self.searched);
        Ok(copy)
    }

    /// The length of the text without its tail.
    pub fn fixed(&self) -> usize {
        self.text.len() - self.tail
    }

    /// The text that the next one to be appended replaces.
    pub fn tail(&self) -> &str {
        &self.text[self.fixed()..]
    }

    /// The ids of the whole text.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The number of ids that no later text can change.
    pub fn settled_ids(&self) -> usize {
        self.last_settled().ids
    }

    /// The same if only so much of the text is kept.
    pub fn settled_ids_within(&self, length: usize) -> usize {
        let remaining = self.settled_within(length);
        self.settled[..remaining].last().map_or(0, |settled| settled.ids)
    }

    /// The length of the open text.
    pub fn open(&self) -> usize {
        self.text.len() - self.last_settled().place
    }

    /// Put an added token, of which a text was found, behind the text, of which nothing more is open.
    pub fn put(&mut self, id: u32, text: &str) -> Result<()> {
        let (start, end) = (self.text.len(), self.text.len() + text.len());
        memory::reserve(&mut self.settled, 2)?;
        memory::reserve(&mut self.ids, 1)?;
        memory::append(&mut self.text, text)?;
        self.settled.push(Settled { place: start, ids: self.ids.len(), looked: start });
        self.ids.push(id);
        self.settled.push(Settled { place: end, ids: self.ids.len(), looked: end - 1 });
        self.tail = 0;
        self.forget_open();
        Ok(())
    }

    /// Append text, and then a tail, which the next call replaces; returns the number of unchanged ids. After an error
    /// nothing has changed.
    pub fn append(
        &mut self,
        piece: &str,
        tail: &str,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<usize> {
        let fixed = self.text.len() - self.tail;
        let before = self.text.split_off(fixed);
        let appended = memory::append(&mut self.text, piece).and_then(|()| {
            memory::append(&mut self.text, tail)?;
            self.shorten_open(fixed);
            self.tail = tail.len();
            self.renew(workspace, pulse)
        });
        appended.inspect_err(|_| {
            self.text.truncate(fixed);
            self.text.push_str(&before);
            self.tail = before.len();
            self.forget_open();
        })
    }

    /// Where the text of the first `count` ids ends, in bytes, if these are the bytes of its tokens; if they end within a
    /// character, where it begins.
    pub fn end_of(&self, count: usize) -> usize {
        let settled = self.settled.partition_point(|settled| settled.ids <= count);
        let known = self.settled[..settled].last().copied().unwrap_or_default();
        let ids = self.ids.iter().take(count).skip(known.ids);
        let lengths = ids.map(|&id| self.model.tokens().length(id).unwrap_or(0));
        let end = known.place + lengths.sum::<usize>();
        (0..=end).rev().find(|place| self.text.is_char_boundary(*place)).unwrap_or(0)
    }

    /// Shorten the text to `length` bytes; returns the number of unchanged ids. After an error nothing has changed.
    pub fn truncate(&mut self, length: usize, workspace: &mut Workspace, pulse: &mut Pulse) -> Result<usize> {
        let remaining = self.settled_within(length);
        let dropped = self.settled.split_off(remaining);
        let rest = self.text.split_off(length);
        let tail = std::mem::take(&mut self.tail);
        self.forget_open();
        self.renew(workspace, pulse).inspect_err(|_| {
            self.text.push_str(&rest);
            self.tail = tail;
            self.settled.truncate(remaining);
            self.settled.extend(dropped);
            self.forget_open();
        })
    }

    /// How many settled places remain in the first `length` bytes: each was found by looking at the character behind the
    /// text that was looked at.
    fn settled_within(&self, length: usize) -> usize {
        self.settled.partition_point(|settled| settled.looked < length)
    }

    fn last_settled(&self) -> Settled {
        self.settled.last().copied().unwrap_or_default()
    }

    fn forget_open(&mut self) {
        self.open.clear();
        self.searched = self.last_settled().place;
    }

    /// Drop what is known about open text from a place on.
    fn shorten_open(&mut self, place: usize) {
        self.open.truncate(self.open.partition_point(|pretoken| pretoken.run.piece() < place));
        if let Some(pretoken) = self.open.last_mut() {
            pretoken.shorten(&self.model, place);
        }
    }

    /// Make the ids of the open text; returns the number of unchanged ids.
    fn renew(&mut self, workspace: &mut Workspace, pulse: &mut Pulse) -> Result<usize> {
        let mut last = self.last_settled();
        let mut change = Change { kept: last.ids, new: Vec::new() };
        let mut found = Vec::new();
        let sure = self.fixed();
        let place = self.model.settled(&self.text[last.place..sure], self.searched - last.place);
        let settled = last.place + place;
        if place > 0 {
            self.encode_settled(last.place, settled, &mut change, workspace, pulse)?;
            last = Settled { place: settled, ids: change.ids(), looked: settled };
            memory::push(&mut found, last)?;
        }
        self.encode_open(last.place, sure, &mut change, workspace, pulse)?;
        let done = self.open.iter().take_while(|pretoken| pretoken.run.is_done()).count();
        for pretoken in &self.open[..done] {
            let looked = pretoken.run.looked().max(last.looked);
            last = Settled { place: pretoken.end(), ids: last.ids + pretoken.ids, looked };
            memory::push(&mut found, last)?;
        }
        let Change { kept, new } = change;
        memory::reserve(&mut self.ids, new.len())?;
        memory::extend(&mut self.settled, &found)?;
        self.open.drain(..done);
        self.searched = sure.max(last.place);
        let same = self.ids[kept..].iter().zip(&new).take_while(|(before, now)| before == now).count();
        self.ids.truncate(kept + same);
        self.ids.extend_from_slice(&new[same..]);
        Ok(kept + same)
    }

    /// Make the ids of text that is now settled: open pretokens first, which go on.
    fn encode_settled(
        &mut self,
        start: usize,
        end: usize,
        change: &mut Change,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let mut place = start;
        let mut open = std::mem::take(&mut self.open);
        if let (Some(automaton), Some(pretoken)) = (self.automaton(), open.first_mut()) {
            let text = &self.text[..end];
            if let Some(end) = pretoken.run.piece_end(automaton, text.as_bytes(), usize::MAX, pulse)? {
                pretoken.become_piece(&self.model, &text[..end], change, workspace, pulse)?;
                place = end;
            }
        }
        self.model.encode_ordinary(&self.text[place..end], &mut change.new, workspace, pulse)
    }

    /// Make the ids of text behind a settled place. It is certain to be ordinary up to a place.
    fn encode_open(
        &mut self,
        start: usize,
        sure: usize,
        change: &mut Change,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let mut place = start;
        let text = &self.text[..];
        let mut open = std::mem::take(&mut self.open);
        if let Some(automaton) = self.automaton() {
            let mut index = 0;
            let mut undecided = 0;
            while place < text.len() && undecided < MOST_OPEN {
                if index == open.len() {
                    memory::push(&mut open, OpenPretoken::new(place))?;
                }
                let pretoken = &mut open[index];
                let Some(end) = pretoken.run.piece_end(automaton, text.as_bytes(), sure, pulse)? else {
                    break;
                };
                place = end;
                undecided += usize::from(!pretoken.run.is_done());
                if pretoken.become_piece(&self.model, &text[..place], change, workspace, pulse)? {
                    open.truncate(index + 1);
                }
                index += 1;
            }
            open.truncate(index);
        }
        self.open = open;
        self.model.encode_ordinary(&self.text[place..], &mut change.new, workspace, pulse)
    }

    /// The automaton, if open pretokens are kept.
    fn automaton(&self) -> Option<&Automaton> {
        let by_token = !matches!(self.model.unknown, Some(Unknown::Joined(_) | Unknown::Dropped));
        self.model.pattern.automaton().filter(|_| by_token)
    }
}
