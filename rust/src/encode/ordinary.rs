//! Encodes ordinary text: cuts it into pretokens, looks each up in the cache, and merges the new ones.
//!
//! A block of pretokens is gone through twice. First each one's key is made and the entry it falls into is fetched;
//! then, with the entries on their way or there, the ids are copied out.

use std::ops::Range;
use std::sync::Arc;

use super::cache::{CacheEntries, EntryPlace, INLINE, LONGEST, NO_KEY, SHORT, Table, key_of};
use super::merging::{self, Scratch};
use super::{Encoder, NO_ID, Sink, check_known};
use crate::error::Result;
use crate::key::{HashSeed, Key};
use crate::memory::{boxed_array, expect};
use crate::pretokenize::Batch;
use crate::watch::Pulse;

/// The number of pretokens in a block.
const BLOCK: usize = 256;

/// The number of bytes that are loaded at once for a key.
const LOADED: usize = 16;

/// Successive pretokens of a text.
#[derive(Clone, Copy)]
struct Block<'a> {
    text: &'a [u8],
    start: usize,
    ends: &'a [usize],
}

impl<'a> Block<'a> {
    fn end(&self) -> usize {
        self.ends.last().copied().unwrap_or(self.start)
    }

    fn pretoken(&self, index: usize) -> &'a [u8] {
        let start = if index == 0 { self.start } else { self.ends[index - 1] };
        &self.text[start..self.ends[index]]
    }
}

/// Memory that a thread reuses from text to text, all on the heap, because a thread's stack may be small.
pub struct Workspace {
    batch: Box<[Batch; 1]>,
    buffers: BlockBuffers,
    /// The table of the encoder with this number, kept for the next text: getting it writes to shared memory.
    table: Option<(u64, Arc<Table>)>,
}

/// The memory for a block.
struct BlockBuffers {
    lookups: Lookups,
    staged: StagedIds,
    misses: Misses,
}

impl BlockBuffers {
    /// Drop what a failed call left behind.
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
            buffers: BlockBuffers {
                lookups: Lookups { keys: boxed_array(|| NO_KEY)?, places: boxed_array(Default::default)? },
                staged: StagedIds { ids: boxed_array(|| 0)?, length: 0 },
                misses: Misses { ids: Vec::new(), scratch: Scratch::new()?, learned: 0 },
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

    /// Release the encoder's table.
    pub fn release(&mut self) {
        self.table = None;
    }

    /// The number of bytes it has grown by, for long pretokens.
    pub fn grown(&self) -> usize {
        let Misses { ids, scratch, .. } = &self.buffers.misses;
        size_of::<u32>() * ids.capacity() + scratch.grown()
    }
}

/// Merges pretokens that are not in the cache.
struct Misses {
    ids: Vec<u32>,
    scratch: Scratch,
    /// The number of table entries used since the last report; it is reported once per batch, because the counter is shared
    /// by all threads.
    learned: usize,
}

/// The keys of a block and their buckets.
struct Lookups {
    keys: Box<[Key; BLOCK]>,
    places: Box<[EntryPlace; BLOCK]>,
}

impl Lookups {
    /// Make the keys of a block and begin to fetch the entries they fall into.
    fn prepare(&mut self, block: Block, entries: CacheEntries) {
        // Pretokens that begin before this place have `LOADED` bytes of text from there on.
        let loadable = (block.text.len() + 1).saturating_sub(LOADED);
        if block.end() < loadable {
            self.prepare_before::<true>(block, entries, loadable);
        } else {
            self.prepare_before::<false>(block, entries, loadable);
        }
    }

    /// The same for a block of which all or some pretokens begin before `loadable`. A function of its own, so that the
    /// loop has all registers.
    #[inline(never)]
    fn prepare_before<const ALL: bool>(&mut self, block: Block, entries: CacheEntries, loadable: usize) {
        let (keys, places) = (&mut *self.keys, &mut *self.places);
        let mut start = block.start;
        for ((&end, key_room), place_room) in block.ends.iter().zip(keys).zip(places) {
            debug_assert!(start <= end && end <= block.text.len(), "the ends of pretokens ascend");
            let length = end.wrapping_sub(start);
            let key = if length <= SHORT && (ALL || start < loadable) {
                // SAFETY: `LOADED` bytes from `start` on lie within the text, as `start` is before `loadable`: it is if the
                // block ends there, because ends ascend. Bytes may be read at any address.
                let bytes = unsafe { block.text.as_ptr().add(start).cast::<[u8; LOADED]>().read_unaligned() };
                Key::short(bytes, length)
            } else if length <= SHORT {
                Key::short(last_bytes(block.text, start), length)
            } else {
                long_key(&block.text[start..end], entries.seed)
            };
            let place = entries.place(key);
            entries.prefetch(place);
            (*key_room, *place_room) = (key, place);
            start = end;
        }
    }
}

/// The last bytes of a text, fewer than `LOADED`, padded with zeros.
#[inline]
fn last_bytes(text: &[u8], start: usize) -> [u8; LOADED] {
    if let Some(last) = text.last_chunk() {
        let before = start + LOADED - text.len();
        return (u128::from_le_bytes(*last) >> (8 * before)).to_le_bytes();
    }
    let mut bytes = [0; LOADED];
    bytes[..text.len() - start].copy_from_slice(&text[start..]);
    bytes
}

/// The key of a pretoken of more than `SHORT` bytes.
#[cold]
fn long_key(pretoken: &[u8], seed: HashSeed) -> Key {
    if pretoken.len() <= LONGEST { key_of(pretoken, seed) } else { NO_KEY }
}

/// A small buffer for ids before they go to the sink.
struct StagedIds {
    ids: Box<[u32; STAGED]>,
    length: usize,
}

/// The maximum number of ids of a pretoken that the hot loop copies.
const MAX_COPIED: usize = 16;

/// The capacity of the buffer: a block of pretokens with that many ids each.
const STAGED: usize = BLOCK * MAX_COPIED;

impl StagedIds {
    fn put(&mut self, ids: &[u32], sink: &mut impl Sink) {
        if let Some(room) = self.ids.get_mut(self.length..self.length + ids.len()) {
            room.copy_from_slice(ids);
            self.length += ids.len();
        } else {
            self.flush(sink);
            sink.put(ids);
        }
    }

    /// Copy the ids of successive pretokens, as long as entries hold them: the index of the first where none does. A
    /// function of its own, so that the loop has all registers.
    #[inline(never)]
    fn copy(&mut self, lookups: &Lookups, indexes: Range<usize>, table: &Table) -> usize {
        let (entries, ids) = (table.entries(), &mut *self.ids);
        let (keys, places) = (&*lookups.keys, &*lookups.places);
        let end = indexes.end.min(BLOCK);
        let mut length = self.length;
        let mut index = indexes.start;
        while index < end {
            if length > STAGED - MAX_COPIED {
                break;
            }
            let room = &mut ids[length..length + MAX_COPIED];
            let Some(cached) = entries.find(&keys[index], places[index]) else { break };
            // All four are copied, and the next ones written over the rest: a copy of fixed size is the cheapest.
            room[..INLINE].copy_from_slice(cached.ids);
            let mut count = cached.count;
            if count == 0 {
                count = table.copy_words(keys[index], cached, room);
                if count == 0 {
                    break;
                }
            }
            length += count;
            index += 1;
        }
        self.length = length;
        index
    }

    fn flush(&mut self, sink: &mut impl Sink) {
        sink.put(&self.ids[..self.length]);
        self.length = 0;
    }
}

impl Encoder {
    /// Encode text without looking for special tokens.
    pub(super) fn encode_ordinary(
        &self,
        text: &str,
        sink: &mut impl Sink,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let Workspace { batch, buffers, table: held } = workspace;
        let [batch] = &mut **batch;
        buffers.clear();
        let text = self.pattern.prepare(text)?;
        let mut scanner = self.pattern.scan(&text);
        let held_before = held.take().filter(|(encoder, _)| *encoder == self.number);
        let mut table = held_before.map(|(_, table)| table).or_else(|| self.cache.table());
        loop {
            let batch_start = scanner.position();
            if scanner.fill(batch)? == 0 {
                *held = table.map(|table| (self.number, table));
                return Ok(());
            }
            let mut start = batch_start;
            // No text has more ids than bytes.
            sink.make_room(scanner.position() - batch_start)?;
            for ends in batch.ends().chunks(BLOCK) {
                let block = Block { text: text.text().as_bytes(), start, ends };
                match &table {
                    Some(table) => self.encode_block(block, table, sink, buffers, pulse)?,
                    None => self.merge_block(block, sink, &mut buffers.misses, pulse)?,
                }
                start = block.end();
            }
            if let Some(table) = &table {
                table.taken(std::mem::take(&mut buffers.misses.learned));
            }
            pulse.beat(start - batch_start)?;
            table = self.cache.renewed(table);
        }
    }

    fn encode_block(
        &self,
        block: Block,
        table: &Table,
        sink: &mut impl Sink,
        buffers: &mut BlockBuffers,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let BlockBuffers { lookups, staged, misses } = buffers;
        let length = block.ends.len();
        lookups.prepare(block, table.entries());
        let mut next = staged.copy(lookups, 0..length, table);
        while next < length {
            let ids = self.find_or_merge(block.pretoken(next), lookups.keys[next], table, misses, pulse)?;
            staged.put(ids, sink);
            next = staged.copy(lookups, next + 1..length, table);
        }
        staged.flush(sink);
        Ok(())
    }

    /// The ids of a pretoken that may not be found where it falls.
    #[inline(never)]
    fn find_or_merge<'a>(
        &self,
        pretoken: &[u8],
        key: Key,
        table: &'a Table,
        misses: &'a mut Misses,
        pulse: &mut Pulse,
    ) -> Result<&'a [u32]> {
        if let Some(ids) = table.find(key, pretoken) {
            return Ok(ids);
        }
        self.merge(pretoken, misses, pulse)?;
        if key != NO_KEY {
            misses.learned += usize::from(table.insert(key, pretoken, &misses.ids));
        }
        Ok(&misses.ids)
    }

    /// Encode a block without a table.
    fn merge_block(
        &self,
        block: Block,
        sink: &mut impl Sink,
        misses: &mut Misses,
        pulse: &mut Pulse,
    ) -> Result<()> {
        for index in 0..block.ends.len() {
            self.merge(block.pretoken(index), misses, pulse)?;
            sink.put(&misses.ids);
        }
        Ok(())
    }

    /// Compute the ids of a pretoken without the cache.
    fn merge(&self, pretoken: &[u8], misses: &mut Misses, pulse: &mut Pulse) -> Result<()> {
        misses.ids.clear();
        if let Some(&id) = self.whole.get(pretoken) {
            misses.ids.push(id);
            return Ok(());
        }
        if pretoken.len() > LONGEST {
            expect(&mut misses.ids, pretoken.len());
        }
        merging::merge(&self.merges, &self.tokens, pretoken, &mut misses.ids, &mut misses.scratch, pulse)?;
        if !self.provisional.is_empty() {
            self.take_apart(&mut misses.ids);
        }
        match self.unknown {
            Some(unknown) => unknown.put(&mut misses.ids),
            None if self.lacks_bytes => check_known(pretoken, &misses.ids)?,
            None => (),
        }
        Ok(())
    }

    /// Replace provisional tokens by the ids of their bytes.
    fn take_apart(&self, ids: &mut Vec<u32>) {
        if ids.iter().any(|&id| id > self.largest_id && id != NO_ID) {
            let apart = |id| self.provisional.get(&id).map_or(vec![id], |bytes| bytes.to_vec());
            *ids = std::mem::take(ids).into_iter().flat_map(apart).collect();
        }
    }
}
