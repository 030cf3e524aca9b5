//! Encodes ordinary text: cuts it into pretokens, looks each up in the cache, and merges the new
//! ones.
//!
//! Each block of pretokens is passed twice:
//!
//! 1. The key of each pretoken is computed, and the entry that it falls into is prefetched.
//! 2. With the entries there or on their way, the ids are copied out. What is not in the cache is
//!    merged, and added to it.

use std::borrow::Cow;
use std::mem;
use std::ops::Range;
use std::sync::{Arc, Weak};

use super::cache::{Cache, INLINE, LONGEST, Table};
use super::merging::{Merger, SHORT, Scratch};
use super::model::check_known;
use super::superwords::{StageMerger, Superworder};
use super::written::MarkPlace;
use super::{Encoder, Id, Model, NO_ID, Unknown};
use crate::error::Result;
use crate::key::block::{BLOCK, Block, Lookups};
use crate::memory::{boxed_array, expect, extend, gathered, push, reserve};
use crate::pretokenize::Batch;
use crate::watch::Pulse;

/// Memory that a thread reuses from text to text, all on the heap, because a thread's stack may be
/// small.
pub struct Workspace {
    pub(super) batch: Box<[Batch; 1]>,
    pub(super) buffers: BlockBuffers,
    /// The table of the cache with this number, kept for the next text.
    table: Option<(u64, Arc<Table>)>,
    /// The same after its release.
    released: (u64, Weak<Table>),
}

/// The memory for a block.
pub(super) struct BlockBuffers {
    lookups: Lookups,
    staged: StagedIds,
    pub(super) misses: Misses,
}

impl BlockBuffers {
    /// Drops what a failed call left behind.
    fn clear(&mut self) {
        self.staged.length = 0;
        self.misses.learned = 0;
    }
}

impl Workspace {
    pub fn new() -> Result<Self> {
        Ok(Self {
            batch: boxed_array(Batch::default)?,
            table: None,
            released: (u64::MAX, Weak::new()),
            buffers: BlockBuffers {
                lookups: Lookups::new()?,
                staged: StagedIds { ids: boxed_array(|| 0)?, length: 0 },
                misses: Misses::new()?,
            },
        })
    }

    /// The existing workspace, or a new one.
    pub fn ready(kept: &mut Option<Self>) -> Result<&mut Self> {
        match kept {
            Some(workspace) => Ok(workspace),
            none => Ok(none.insert(Self::new()?)),
        }
    }

    /// Takes the table of a cache, the cheapest way first: without writing to shared memory if it
    /// was kept, by one such write if it was released, and by three from the cache itself.
    #[inline]
    fn take_table(&mut self, cache: &Cache) -> Option<Arc<Table>> {
        if let Some((number, table)) = self.table.take()
            && number == cache.number
        {
            return Some(table);
        }
        let (number, released) = &self.released;
        if *number == cache.number
            && let Some(table) = released.upgrade()
        {
            return Some(table);
        }
        cache.table()
    }

    /// Releases the table.
    pub fn release(&mut self) {
        let Some((cache, table)) = self.table.take() else { return };
        if self.released.1.as_ptr() != Arc::as_ptr(&table) {
            self.released = (cache, Arc::downgrade(&table));
        }
    }

    /// The number of bytes it has grown by, for long pretokens.
    pub fn grown(&self) -> usize {
        let Misses { ids, scratch, .. } = &self.buffers.misses;
        size_of::<u32>() * ids.capacity() + scratch.grown()
    }
}

/// Merges pretokens that are not in the cache.
pub(super) struct Misses {
    pub(super) ids: Vec<u32>,
    pub(super) scratch: Scratch,
    superworder: Option<Superworder>,
    /// The number of table entries used since the last report; it is reported once per batch,
    /// because the counter is shared by all threads.
    learned: usize,
    /// The number of blocks so far. Some of them mark what is used of a full cache.
    blocks: usize,
}

impl Misses {
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            ids: Vec::new(),
            scratch: Scratch::new()?,
            superworder: None,
            learned: 0,
            blocks: 0,
        })
    }
}

/// A small buffer for ids before they go to the sink.
struct StagedIds {
    ids: Box<[u32; STAGED]>,
    length: usize,
}

/// One block of so many marks what is used.
const MARKED: usize = 4;

/// The capacity of the buffer: a block of pretokens with 16 ids each.
const STAGED: usize = BLOCK * 16;

impl StagedIds {
    fn put(&mut self, ids: &[u32], to: &mut Vec<impl Id>) {
        if let Some(room) = self.ids.get_mut(self.length..self.length + ids.len()) {
            room.copy_from_slice(ids);
            self.length += ids.len();
        } else {
            self.flush(to);
            Id::put(to, ids);
        }
    }

    /// Copies the ids of successive pretokens of a block, as long as entries hold them. Returns the
    /// index of the first pretoken where none does, or whose ids may not have room. Not inlined, so
    /// that the loop has all registers.
    #[inline(never)]
    fn copy(
        &mut self,
        lookups: &Lookups,
        block: &Block,
        indexes: Range<usize>,
        table: &Table,
    ) -> usize {
        let (entries, ids) = (table.entries(), &mut *self.ids);
        let (keys, places) = (&*lookups.keys, &*lookups.places);
        let end = indexes.end.min(BLOCK);
        let mut length = self.length;
        let mut index = indexes.start;
        while index < end && length <= STAGED - INLINE {
            length += if let Some(cached) = entries.at(places[index]).get_own(keys[index]) {
                // All four are copied, and the next ones overwrite those too many: a copy of fixed
                // size is the cheapest.
                ids[length..length + INLINE].copy_from_slice(cached.ids);
                cached.count
            } else if let Some(count) = table.copy(lookups, block, index, &mut ids[length..]) {
                count
            } else {
                break;
            };
            index += 1;
        }
        self.length = length;
        index
    }

    fn flush(&mut self, to: &mut Vec<impl Id>) {
        Id::put(to, &self.ids[..self.length]);
        self.length = 0;
    }
}

impl Encoder {
    /// Encodes text for the model.
    pub(super) fn encode_ordinary<T: Id>(
        &self,
        text: &str,
        ids: &mut Vec<T>,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let text = self.model.pattern.prepare(text, pulse)?;
        let mut scanner = self.model.pattern.scan(&text);
        let mut table = workspace.take_table(&self.cache);
        let [batch] = &mut *workspace.batch;
        let buffers = &mut workspace.buffers;
        buffers.clear();
        let mut start = 0;
        while start < text.text().len() && scanner.fill(batch, pulse)? > 0 {
            if self.pieces.is_some() {
                self.take_pieces(&mut buffers.misses)?;
            }
            let batch_start = start;
            // No text has more ids than bytes.
            reserve(ids, scanner.position() - batch_start)?;
            for ends in batch.ends().chunks(BLOCK) {
                let block = Block { text: text.text().as_bytes(), start, ends };
                if let Some(table) = &table {
                    self.encode_block(&block, table, ids, buffers, pulse)?;
                } else {
                    for index in 0..ends.len() {
                        self.merge(&block, index, &mut buffers.misses, pulse)?;
                        T::put(ids, &buffers.misses.ids);
                    }
                }
                start = block.end();
            }
            pulse.beat(start - batch_start)?;
            table = self.cache.renewed(table, mem::take(&mut buffers.misses.learned));
        }
        workspace.table = table.map(|table| (self.cache.number, table));
        if self.pieces.is_some() {
            self.release_pieces(&mut buffers.misses);
        }
        Ok(())
    }

    /// Takes the current table of pieces. Not inlined, like the next one, so that most vocabularies
    /// do not pay for it.
    #[cold]
    #[inline(never)]
    fn take_pieces(&self, misses: &mut Misses) -> Result<()> {
        if misses.superworder.is_none() {
            misses.superworder = Some(Superworder::new()?);
        }
        if let (Some(superworder), Some(pieces)) = (&mut misses.superworder, &self.pieces) {
            superworder.take_table(pieces);
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn release_pieces(&self, misses: &mut Misses) {
        if let (Some(superworder), Some(pieces)) = (&mut misses.superworder, &self.pieces) {
            superworder.release_table(pieces);
        }
    }

    /// Computes the ids of a pretoken that is not in the cache.
    fn merge(
        &self,
        block: &Block,
        index: usize,
        misses: &mut Misses,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let model = &self.model;
        let (Some(superwords), Some(superworder)) = (&model.superwords, &mut misses.superworder)
        else {
            return model.merge(block.pretoken(index), misses, pulse);
        };
        let merger = &mut StageMerger { model, superwords, scratch: &mut misses.scratch, pulse };
        let pretoken = block.start_of(index)..block.ends[index];
        superworder.merge(block.text, pretoken, &mut misses.ids, merger)
    }

    /// Encodes a block: ids that the table has are copied.
    #[inline(always)]
    fn encode_block(
        &self,
        block: &Block,
        table: &Table,
        to: &mut Vec<impl Id>,
        buffers: &mut BlockBuffers,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let BlockBuffers { lookups, staged, misses } = &mut *buffers;
        let length = block.ends.len();
        lookups.prepare(block, &table.hasher, table.entries());
        misses.blocks = misses.blocks.wrapping_add(1);
        if table.is_largest() && misses.blocks.is_multiple_of(MARKED) {
            table.mark(&lookups.keys[..length], &lookups.places[..length]);
        }
        let copied = staged.copy(lookups, block, 0..length, table);
        if copied < length {
            self.encode_rest(block, copied, table, to, buffers, pulse)?;
        }
        buffers.staged.flush(to);
        Ok(())
    }

    /// Encodes a block from a pretoken on that may be new, which is merged. Those that follow are
    /// copied up to the next new one, and so on.
    #[inline(never)]
    fn encode_rest(
        &self,
        block: &Block,
        mut next: usize,
        table: &Table,
        to: &mut Vec<impl Id>,
        buffers: &mut BlockBuffers,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let BlockBuffers { lookups, staged, misses } = buffers;
        let length = block.ends.len();
        while next < length {
            let pretoken = block.pretoken(next);
            let key = lookups.keys[next];
            let place = lookups.places[next];
            if staged.length + LONGEST + INLINE > STAGED {
                // Perhaps only room was missing.
                staged.flush(to);
            } else if let Some(ids) = table.find_unused(key, place) {
                misses.learned += 1;
                staged.put(ids, to);
                next += 1;
            } else {
                self.merge(block, next, misses, pulse)?;
                if pretoken.len() <= LONGEST {
                    misses.learned += usize::from(table.insert(key, place, pretoken, &misses.ids));
                }
                staged.put(&misses.ids, to);
                next += 1;
            }
            next = staged.copy(lookups, block, next..length, table);
        }
        Ok(())
    }
}

impl Model {
    /// Computes the ids of a pretoken without the cache.
    #[inline(never)]
    pub(super) fn merge(
        &self,
        pretoken: &[u8],
        misses: &mut Misses,
        pulse: &mut Pulse,
    ) -> Result<()> {
        self.merge_tokens(pretoken, misses, pulse)?;
        self.replace_tokens(pretoken, &mut misses.ids)
    }

    /// Turns the tokens that a pretoken was merged to into ids: replaces provisional ones, and
    /// bytes without a token.
    #[inline]
    pub(super) fn replace_tokens(&self, pretoken: &[u8], tokens: &mut Vec<u32>) -> Result<()> {
        if !self.provisional.is_empty() {
            self.take_apart(tokens)?;
        }
        match self.unknown {
            Some(unknown) => unknown.put(tokens),
            None if self.lacks_bytes => check_known(pretoken, tokens)?,
            None => (),
        }
        Ok(())
    }

    /// The ids that the last tokens of a pretoken add to those of its first `kept` ones.
    ///
    /// Each token is replaced by itself, except that unknown bytes may be joined to one id. So what
    /// is before matters only from the last token on that has an id.
    pub(super) fn ids_behind(
        &self,
        kept: usize,
        tokens: &[u32],
        pretoken: &[u8],
    ) -> Result<Vec<u32>> {
        let has_ids = |token: &u32| self.provisional.get(token).is_none_or(|ids| !ids.is_empty());
        let last = tokens[..kept].iter().rposition(has_ids).unwrap_or(0);
        let mut before = Vec::new();
        extend(&mut before, &tokens[last..kept])?;
        self.replace_tokens(pretoken, &mut before)?;
        let mut ids = Vec::new();
        extend(&mut ids, &tokens[last..])?;
        self.replace_tokens(pretoken, &mut ids)?;
        ids.drain(..before.len());
        Ok(ids)
    }

    /// Merges a pretoken that begins with an earlier one, or is a part of it, whose tokens are
    /// known. Returns how many of these it begins with; the tokens behind them are computed. None
    /// of its bytes may be dropped.
    pub(super) fn merge_longer(
        &self,
        pretoken: &[u8],
        earlier: &[u32],
        earlier_length: usize,
        misses: &mut Misses,
        pulse: &mut Pulse,
    ) -> Result<usize> {
        // A token that replaces a whole pretoken says nothing about a longer one.
        let short = self.longest_replacing.max(SHORT);
        if pretoken.len() <= short || earlier_length <= short {
            self.merge_tokens(pretoken, misses, pulse)?;
            return Ok(0);
        }
        let mut count = earlier.len();
        let mark_before = usize::from(self.mark == Some(MarkPlace::Start));
        let mut done = earlier_length + usize::from(self.mark.is_some());
        // A mark at the end was behind the earlier one.
        while done > mark_before + pretoken.len().min(earlier_length) {
            count -= 1;
            done -= self.tokens.length(earlier[count]).unwrap_or(1);
        }
        let part = self.merged_part(pretoken)?;
        let Misses { ids, scratch, .. } = misses;
        let mut merger = Merger { merges: &self.merges, tokens: &self.tokens, scratch, pulse };
        merger.merge_longer(&part, &earlier[..count], done, ids)
    }

    /// Whether some bytes of a text are left out when it is merged.
    pub(super) fn drops_part_of(&self, text: &str) -> Result<bool> {
        let drops = matches!(self.unknown, Some(Unknown::Dropped));
        let drops_byte = drops && self.merged_places(text.as_bytes())?.len() < text.len();
        Ok(drops_byte || self.may_leave_out(text))
    }

    /// Merges a pretoken to tokens, some of which may be provisional, and bytes without a token.
    pub(super) fn merge_tokens(
        &self,
        pretoken: &[u8],
        misses: &mut Misses,
        pulse: &mut Pulse,
    ) -> Result<()> {
        misses.ids.clear();
        if self.leaves_out(pretoken) {
            return Ok(());
        }
        if let Some(&id) = self.replacing.get(pretoken) {
            misses.ids.push(id);
            return Ok(());
        }
        if pretoken.len() > LONGEST {
            expect(&mut misses.ids, pretoken.len());
        }
        let part = self.merged_part(pretoken)?;
        let scratch = &mut misses.scratch;
        let mut merger = Merger { merges: &self.merges, tokens: &self.tokens, scratch, pulse };
        merger.merge(&part, &mut misses.ids)
    }

    /// What is merged of a pretoken: without bytes that are dropped, and with its mark, unless the
    /// byte beside that has no token.
    pub(super) fn merged_part<'a>(&self, pretoken: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        let has_token = |byte: &&u8| self.merges.base(**byte) != NO_ID;
        let (mut start, mut end) = (None, None);
        match self.mark {
            Some(mark @ MarkPlace::Start) => {
                start = pretoken.first().filter(has_token).map(|_| mark.byte())
            }
            Some(mark @ MarkPlace::End) => {
                end = pretoken.last().filter(has_token).map(|_| mark.byte())
            }
            None => {}
        }
        if matches!(self.unknown, Some(Unknown::Dropped)) {
            let kept = self.merged_places(pretoken)?.into_iter().map(|place| pretoken[place]);
            return Ok(Cow::Owned(gathered(start.into_iter().chain(kept).chain(end))?));
        }
        if start.is_none() && end.is_none() {
            return Ok(Cow::Borrowed(pretoken));
        }
        let marked = start.into_iter().chain(pretoken.iter().copied()).chain(end);
        Ok(Cow::Owned(gathered(marked)?))
    }

    /// Replaces provisional tokens by the ids of their bytes.
    fn take_apart(&self, ids: &mut Vec<u32>) -> Result<()> {
        if !ids.iter().any(|&id| id > self.largest_id && id != NO_ID) {
            return Ok(());
        }
        for id in mem::take(ids) {
            match self.provisional.get(&id) {
                Some(bytes) => extend(ids, bytes)?,
                None => push(ids, id)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Definition;
    use super::*;

    /// Tokens of the first two and the last two bytes of a character.
    const BEGINNING: u32 = 10;
    const END: u32 = 11;

    #[test]
    fn the_ids_of_the_first_tokens_and_those_behind_are_the_ids_of_all() {
        let tokens: [(u32, &[u8]); 6] = [
            (0, b"a"),
            (1, b"\xE6"),
            (2, b"\x97"),
            (3, b"\xA5"),
            (BEGINNING, b"\xE6\x97"),
            (END, b"\x97\xA5"),
        ];
        for unknown in [None, Some(Unknown::Each(4)), Some(Unknown::Joined(4))] {
            let definition = Definition {
                pattern: &["(?s:.+)".to_owned()],
                tokens: &tokens,
                merges: &[[1, 2, BEGINNING], [2, 3, END]],
                unknown,
                provisional: &[BEGINNING, END],
                ..Definition::default()
            };
            let model = Model::new(&definition).unwrap();
            // Without an unknown token, text with an unknown byte is refused.
            let byte = if unknown.is_some() { NO_ID } else { 1 };
            let ids_of = |tokens: &[u32]| model.ids_behind(0, tokens, b"").unwrap();
            let mut lists = vec![Vec::new()];
            while let Some(list) = lists.pop() {
                let mut all = list.clone();
                model.replace_tokens(b"", &mut all).unwrap();
                for kept in 0..=list.len() {
                    let behind = model.ids_behind(kept, &list, b"").unwrap();
                    assert_eq!([ids_of(&list[..kept]), behind].concat(), all, "{list:?} {kept}");
                }
                if list.len() < 5 {
                    lists.extend(
                        [0, byte, BEGINNING, END].map(|token| [&list[..], &[token]].concat()),
                    );
                }
            }
        }
    }
}
