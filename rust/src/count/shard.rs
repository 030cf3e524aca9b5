//! A shard: the counts of the pretokens whose hashes begin with the same bits.
//!
//! A short pretoken is its own key; a longer one is in an arena, behind its length, and its key has
//! its place. A shard that would exceed its memory limit writes everything to a sorted run and
//! starts afresh; its counts are then the merged runs.
//!
//! ```text
//! table   | " the" 52 | | hash of " internationally", at 8: 3 |      24 bytes an entry
//! arena   16 0 0 0 0 0 0 0 " internationally"
//! ```

use std::mem::take;

use super::sorted::{Merged, Source, overflow};
use super::spill::{Spill, sources};
use crate::error::Result;
use crate::key::table::{HashTable, TableSlot};
use crate::key::{HashSeed, Key};
use crate::memory;
use crate::memory::cells::Plain;
use crate::prefetch::prefetch;

/// A pretoken and its count. The second half of a long pretoken's key is its place in the arena;
/// before it is in a table, its length.
#[derive(Clone, Copy, Default)]
pub struct CountSlot {
    pub key: Key,
    pub count: u64,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for CountSlot {}

impl TableSlot for CountSlot {
    #[inline(always)]
    fn is_free(&self) -> bool {
        self.key.is_none()
    }

    #[inline(always)]
    fn hash(&self, seed: HashSeed) -> u64 {
        // The second half of a long pretoken's key changes. A branch would be mispredicted, as
        // short and long ones alternate.
        let high = if self.key.is_short() { self.key.high } else { 0 };
        seed.hash(Key { high, ..self.key })
    }
}

/// The bytes in front of a pretoken in the arena: its length.
const PREFIX: usize = size_of::<u64>();

/// Returns the pretoken of an entry of a table: from the arena or, if it is short, in `room`.
fn pretoken_of<'a>(key: Key, arena: &'a [u8], room: &'a mut [u8; 16]) -> &'a [u8] {
    if key.is_short() {
        *room = key.bytes();
        return &room[..key.length()];
    }
    long_at(key, arena)
}

/// Returns the long pretoken of a key in a table.
fn long_at(key: Key, arena: &[u8]) -> &[u8] {
    let (before, rest) = arena.split_at(key.high as usize);
    let length = before.last_chunk().map_or(0, |length| u64::from_le_bytes(*length));
    &rest[..length as usize]
}

/// Adds to the count of an entry of a table.
fn add_checked(entry: &mut CountSlot, count: u64, arena: &[u8]) -> Result<()> {
    let sum = entry.count.checked_add(count);
    entry.count = sum.ok_or_else(|| overflow(pretoken_of(entry.key, arena, &mut [0; 16])))?;
    Ok(())
}

/// Returns the pretokens of sorted entries, and their counts.
fn source(entries: Vec<CountSlot>, arena: &[u8]) -> Source<'_> {
    let mut entries = entries.into_iter();
    Box::new(move |pretoken| {
        let Some(entry) = entries.next() else { return Ok(None) };
        pretoken.clear();
        memory::extend(pretoken, pretoken_of(entry.key, arena, &mut [0; 16]))?;
        Ok(Some(entry.count))
    })
}

/// The counts of pretokens whose hashes begin with the same [`SHARD_BITS`] bits.
#[derive(Default)]
pub struct Shard {
    table: HashTable<CountSlot>,
    arena: Vec<u8>,
    /// The sorted runs that were written.
    pub spill: Spill,
    /// The maximum size of the table and the arena in bytes; 0 for no limit.
    pub budget: usize,
}

/// The number of leading hash bits that choose the shard.
const SHARD_BITS: u32 = 4;
/// The number of shards.
pub const SHARDS: usize = 1 << SHARD_BITS;

/// Returns the shard that a hash belongs to.
#[inline(always)]
pub fn shard_of(hash: u64) -> usize {
    (hash >> (64 - SHARD_BITS)) as usize
}

/// The prefetch distance, in additions or places of the table.
const AHEAD: usize = 16;

/// The minimum growth of the arena in bytes.
const MIN_ARENA_GROWTH: usize = 1 << 12;

/// The minimum size of a spill in bytes, regardless of the limit; tiny in tests, so that spills are
/// frequent.
const MIN_SPILL: usize = if cfg!(test) { 1 } else { 1 << 17 };

impl Shard {
    /// Returns the number of distinct pretokens.
    pub fn distinct(&self) -> Result<usize> {
        if self.spill.is_empty() {
            return Ok(self.table.entries());
        }
        let mut distinct = 0;
        self.visit(&mut |_, _| {
            distinct += 1;
            Ok(())
        })?;
        Ok(distinct)
    }

    /// Returns the size of the table and the arena in bytes.
    pub fn memory(&self) -> usize {
        self.table.memory() + self.arena.capacity()
    }

    /// Adds pretokens that are their own keys.
    pub fn add_short(&mut self, entries: &[CountSlot]) -> Result<()> {
        for (index, &entry) in entries.iter().enumerate() {
            self.prefetch(entries, index + AHEAD);
            self.make_room(0)?;
            match self.table.insert(entry, |slot| slot.key == entry.key)? {
                (_, true) => {}
                (slot, false) => add_checked(slot, entry.count, &self.arena)?,
            }
        }
        Ok(())
    }

    /// Adds longer pretokens, whose bytes follow one another in `bytes`.
    pub fn add_long(&mut self, entries: &[CountSlot], mut bytes: &[u8]) -> Result<()> {
        for (index, &entry) in entries.iter().enumerate() {
            self.prefetch(entries, index + AHEAD);
            let (pretoken, rest) = bytes.split_at(entry.key.high as usize);
            bytes = rest;
            self.add_one_long(entry, pretoken)?;
        }
        Ok(())
    }

    /// Prefetches the place of an entry that is added later.
    #[inline(always)]
    fn prefetch(&self, entries: &[CountSlot], index: usize) {
        if let Some(later) = entries.get(index) {
            self.table.prefetch(later);
        }
    }

    fn add_one_long(&mut self, CountSlot { key, count }: CountSlot, pretoken: &[u8]) -> Result<()> {
        self.make_room(PREFIX + pretoken.len())?;
        let Self { table, arena, .. } = self;
        // Where the pretoken will be, if it is new.
        let key = Key { high: (arena.len() + PREFIX) as u64, ..key };
        let is_same = |slot: &CountSlot| {
            slot.key.low == key.low && pretoken_of(slot.key, arena, &mut [0; 16]) == pretoken
        };
        match table.insert(CountSlot { key, count }, is_same)? {
            (slot, false) => add_checked(slot, count, arena),
            (_, true) => {
                // `make_room` has reserved these bytes.
                arena.extend_from_slice(&(pretoken.len() as u64).to_le_bytes());
                arena.extend_from_slice(pretoken);
                Ok(())
            }
        }
    }

    /// Makes room for another entry, and for this many bytes in the arena.
    #[inline(always)]
    fn make_room(&mut self, bytes: usize) -> Result<()> {
        let has_room =
            self.table.growth().is_none() && self.arena.capacity() - self.arena.len() >= bytes;
        if has_room { Ok(()) } else { self.grow(bytes) }
    }

    #[cold]
    fn grow(&mut self, bytes: usize) -> Result<()> {
        let is_full = self.arena.capacity() - self.arena.len() < bytes;
        let more = if is_full { bytes.max(self.arena.capacity()).max(MIN_ARENA_GROWTH) } else { 0 };
        let growth = more + self.table.growth().unwrap_or(0);
        let memory = self.memory();
        if self.budget > 0 && memory + growth > self.budget && memory >= MIN_SPILL {
            self.spill()?;
        }
        if self.table.growth().is_some() {
            self.table.grow()?;
        }
        memory::reserve(&mut self.arena, bytes.max(more))
    }

    /// Writes all counts in memory to a run and clears the table and the arena.
    pub fn spill(&mut self) -> Result<()> {
        if self.table.entries() == 0 {
            return Ok(());
        }
        let mut full = take(self);
        self.spill = take(&mut full.spill);
        self.budget = full.budget;
        self.spill.write(Merged::of(full.sorted()?)?)
    }

    /// If anything was spilled, spills the rest: otherwise every reader would sort it again.
    pub fn settle(&mut self) -> Result<()> {
        if self.spill.is_empty() { Ok(()) } else { self.spill() }
    }

    /// Returns the entries in memory: the short ones and the long ones, both sorted.
    pub fn sorted(&self) -> Result<[Source<'_>; 2]> {
        let arena = &self.arena;
        let mut short = Vec::new();
        let mut long = Vec::new();
        for &entry in self.table.iter() {
            let kind = if entry.key.is_short() { &mut short } else { &mut long };
            memory::push(kind, entry)?;
        }
        // As numbers of swapped bytes, keys have the order of their bytes; a prefix comes first.
        short.sort_unstable_by_key(|entry| {
            (entry.key.low.swap_bytes(), entry.key.high.swap_bytes())
        });
        memory::ensure(size_of::<(&[u8], usize)>() * long.len())?;
        long.sort_by_cached_key(|entry| long_at(entry.key, arena));
        Ok([short, long].map(|entries| source(entries, arena)))
    }

    /// Visits every pretoken and its count: sorted by bytes if anything was spilled, else in no
    /// particular order, which is the same as long as nothing is added.
    pub fn visit(&self, visitor: &mut dyn FnMut(&[u8], u64) -> Result<()>) -> Result<()> {
        if !self.spill.is_empty() {
            let all = sources(&self.spill.runs())?.into_iter().chain(self.sorted()?);
            return Merged::of(all)?.visit(visitor);
        }
        let slots = self.table.slots();
        for (at, slot) in slots.iter().enumerate() {
            if let Some(later) = slots.get(at + AHEAD) {
                // A branch would be mispredicted, as short and long pretokens alternate.
                let place = if later.key.is_short() { 0 } else { later.key.high as usize };
                prefetch(&self.arena, place);
            }
            if !slot.is_free() {
                visitor(pretoken_of(slot.key, &self.arena, &mut [0; 16]), slot.count)?;
            }
        }
        Ok(())
    }
}
