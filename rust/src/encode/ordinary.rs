//! Ordinary text in, ids out: cut into pretokens, look each up, merge those that are new.
//!
//! A block of pretokens is gone through twice. First each one's key is made and the bucket it falls into is fetched;
//! then, with the buckets on their way or there, the ids are copied out.

use std::ops::Range;

use super::cache::{BucketPlace, Buckets, INLINE, Key, LONGEST, SHORT, Table};
use super::memory;
use super::merging::{self, Scratch};
use super::{Encoder, Sink, Work};
use crate::error::Result;
use crate::watch::Pulse;

/// How many pretokens are gone through at a time.
const BLOCK: usize = 256;

/// Bytes that are loaded at once to make a key.
const LOADED: usize = 16;

/// Pretokens that follow one another in a text.
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

/// What a block is gathered in, on its way to the sink.
#[derive(Default)]
pub struct Gathering {
    lookups: Lookups,
    row: Row,
    merging: Merging,
}

/// Where a pretoken is merged.
#[derive(Default)]
struct Merging {
    ids: Vec<u32>,
    scratch: Scratch,
    /// How many entries of the table were taken that it was not told of: it is told once for each batch, because all
    /// threads tell it the same way.
    learned: usize,
}

/// The keys of a block and where they are looked for.
struct Lookups {
    keys: [Key; BLOCK],
    places: [BucketPlace; BLOCK],
}

impl Default for Lookups {
    fn default() -> Self {
        Self { keys: [Key::NONE; BLOCK], places: [BucketPlace::default(); BLOCK] }
    }
}

impl Lookups {
    /// Make the keys of a block and begin to fetch the buckets they fall into.
    #[inline(always)]
    fn prepare(&mut self, block: Block, buckets: Buckets) {
        let mut start = block.start;
        // Pretokens that begin before this place have `LOADED` bytes of text from there on.
        let loadable = (block.text.len() + 1).saturating_sub(LOADED);
        for ((key, place), &end) in self.keys.iter_mut().zip(&mut self.places).zip(block.ends) {
            let length = end.wrapping_sub(start);
            *key = if start < loadable && length <= SHORT {
                // SAFETY: `LOADED` bytes from `start` on lie within the text, and bytes may be read at any address.
                let bytes = unsafe { block.text.as_ptr().add(start).cast::<[u8; LOADED]>().read_unaligned() };
                Key::short(bytes, length)
            } else if length <= SHORT {
                Key::short(last_bytes(block.text, start), length)
            } else {
                long_key(&block.text[start..end])
            };
            *place = buckets.place(*key);
            buckets.prefetch(*place);
            start = end;
        }
    }
}

/// The bytes of a text from a place less than `LOADED` before its end on, filled up with zeros.
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
fn long_key(pretoken: &[u8]) -> Key {
    if pretoken.len() <= LONGEST { Key::of(pretoken) } else { Key::NONE }
}

/// Ids on their way to the sink: gathered here, so that the hot loop writes to one small place.
struct Row {
    ids: [u32; ROW],
    length: usize,
}

/// The most ids that are copied as they are found.
const FEW: usize = 16;

/// Room for a block of which every pretoken has that many.
const ROW: usize = BLOCK * FEW;

impl Default for Row {
    fn default() -> Self {
        Self { ids: [0; ROW], length: 0 }
    }
}

impl Row {
    fn put(&mut self, ids: &[u32], sink: &mut impl Sink) {
        if let Some(room) = self.ids.get_mut(self.length..self.length + ids.len()) {
            room.copy_from_slice(ids);
            self.length += ids.len();
        } else {
            self.flush(sink);
            sink.put(ids);
        }
    }

    /// Copy the ids of successive pretokens, as long as entries hold them: the index of the first where none does.
    #[inline(always)]
    fn copy(&mut self, lookups: &Lookups, indexes: Range<usize>, table: &Table) -> usize {
        let buckets = table.buckets();
        let mut length = self.length;
        let mut index = indexes.start;
        let places = lookups.places[..indexes.end].iter();
        for (&key, &place) in lookups.keys[..indexes.end].iter().zip(places).skip(indexes.start) {
            let Some(held) = buckets.find(key, place) else { break };
            let Some(room) = self.ids.get_mut(length..length + FEW) else { break };
            // All four are copied, and the next ones written over the rest: a copy of fixed size is the cheapest.
            room[..INLINE].copy_from_slice(held.ids);
            let mut count = held.count;
            if count == 0 {
                count = table.copy_words(key, held, room);
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
    /// Encode text in which no special token is looked for.
    pub(super) fn encode_ordinary(
        &self,
        text: &str,
        sink: &mut impl Sink,
        work: &mut Work,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let Work { batch, gathering } = work;
        let text = self.pattern.prepare(text)?;
        let mut scanner = self.pattern.scan(&text);
        let mut table = self.cache.table();
        loop {
            let batch_start = scanner.position();
            if scanner.fill(batch)? == 0 {
                return Ok(());
            }
            let mut start = batch_start;
            // No text has more ids than bytes.
            sink.make_room(scanner.position() - batch_start)?;
            for ends in batch.ends().chunks(BLOCK) {
                let block = Block { text: text.text().as_bytes(), start, ends };
                match &table {
                    Some(table) => self.encode_block(block, table, sink, gathering, pulse)?,
                    None => self.merge_block(block, sink, &mut gathering.merging, pulse)?,
                }
                start = block.end();
            }
            if let Some(table) = &table {
                table.taken(std::mem::take(&mut gathering.merging.learned));
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
        gathering: &mut Gathering,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let Gathering { lookups, row, merging } = gathering;
        let length = block.ends.len();
        lookups.prepare(block, table.buckets());
        let mut next = row.copy(lookups, 0..length, table);
        while next < length {
            let ids = self.find_or_merge(block.pretoken(next), lookups.keys[next], table, merging, pulse)?;
            row.put(ids, sink);
            next = row.copy(lookups, next + 1..length, table);
        }
        row.flush(sink);
        Ok(())
    }

    /// The ids of a pretoken for which there may be no entry in the bucket it falls into.
    #[inline(never)]
    fn find_or_merge<'a>(
        &self,
        pretoken: &[u8],
        key: Key,
        table: &'a Table,
        merging: &'a mut Merging,
        pulse: &mut Pulse,
    ) -> Result<&'a [u32]> {
        if let Some(ids) = table.find(key, pretoken) {
            return Ok(ids);
        }
        self.merge(pretoken, merging, pulse)?;
        if key != Key::NONE {
            merging.learned += usize::from(table.insert(key, pretoken, &merging.ids));
        }
        Ok(&merging.ids)
    }

    /// Encode a block without a table to look into.
    fn merge_block(
        &self,
        block: Block,
        sink: &mut impl Sink,
        merging: &mut Merging,
        pulse: &mut Pulse,
    ) -> Result<()> {
        for index in 0..block.ends.len() {
            self.merge(block.pretoken(index), merging, pulse)?;
            sink.put(&merging.ids);
        }
        Ok(())
    }

    /// Find the ids of a pretoken without the cache.
    fn merge(&self, pretoken: &[u8], merging: &mut Merging, pulse: &mut Pulse) -> Result<()> {
        merging.ids.clear();
        if let Some(&id) = self.whole.get(pretoken) {
            merging.ids.push(id);
            return Ok(());
        }
        if pretoken.len() > LONGEST {
            memory::expect(&mut merging.ids, pretoken.len());
        }
        merging::merge(&self.merges, &self.tokens, pretoken, &mut merging.ids, &mut merging.scratch, pulse)
    }
}
