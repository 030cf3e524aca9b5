//! A shard: the counts of the pretokens whose hashes begin with the same bits.
//!
//! It has two tables: a short pretoken is its own key; the bytes of longer ones are in an arena. A shard that would
//! exceed its memory limit writes everything to a sorted run and starts afresh; its counts are then the merged runs.

use std::mem::take;

use super::sorted::{Entries, Merged};
use super::spill::{SortedRun, Spill, overflow};
use crate::error::Result;
use crate::key::table::{HashTable, TableSlot};
use crate::key::{HashSeed, Key};
use crate::memory;
use crate::memory::cells::{Content, Plain};

/// A short pretoken, whose key is the pretoken itself, and its count.
#[derive(Clone, Copy, Default)]
pub struct Short {
    pub key: Key,
    pub count: u64,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for Short {}

impl TableSlot for Short {
    #[inline(always)]
    fn is_free(&self) -> bool {
        self.key.is_none()
    }

    #[inline(always)]
    fn hash(&self, seed: HashSeed) -> u64 {
        seed.hash(self.key)
    }
}

/// A long pretoken: its bytes' place in the arena, and its count. A free slot has length 0.
#[derive(Clone, Copy, Default)]
struct Long {
    hash: u64,
    start: usize,
    length: usize,
    count: u64,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for Long {}

impl TableSlot for Long {
    fn is_free(&self) -> bool {
        self.length == 0
    }

    fn hash(&self, seed: HashSeed) -> u64 {
        seed.hash_number(self.hash)
    }
}

/// The counts of pretokens whose hashes begin with the same [`SHARD_BITS`] bits.
#[derive(Default)]
pub struct Shard {
    short: HashTable<Short>,
    long: HashTable<Long>,
    arena: Vec<u8>,
    /// The runs that were written.
    spill: Spill,
    /// The maximum size of the tables and the arena in bytes; 0 for no limit.
    budget: usize,
}

/// The number of leading hash bits that choose the shard.
const SHARD_BITS: u32 = 4;
/// The number of shards.
pub const SHARDS: usize = 1 << SHARD_BITS;

/// The shard that a hash belongs to.
#[inline(always)]
pub fn shard_of(hash: u64) -> usize {
    (hash >> (64 - SHARD_BITS)) as usize
}

/// The prefetch distance, in additions.
const AHEAD: usize = 16;

/// The minimum growth of the arena in bytes.
const MIN_ARENA_GROWTH: usize = 1 << 12;

/// The minimum size of a spill in bytes, whatever the limit; tiny in tests, so that spills are frequent.
const MIN_SPILL: usize = if cfg!(test) { 1 } else { 1 << 17 };

fn add_checked(sum: &mut u64, count: u64, pretoken: &[u8]) -> Result<()> {
    *sum = sum.checked_add(count).ok_or_else(|| overflow(pretoken))?;
    Ok(())
}

impl Shard {
    /// The number of distinct pretokens.
    pub fn distinct(&self) -> Result<usize> {
        if !self.is_spilled() {
            return Ok(self.len());
        }
        let mut distinct = 0;
        self.visit(&mut |_, _| {
            distinct += 1;
            Ok(())
        })?;
        Ok(distinct)
    }

    /// The number of distinct pretokens in memory.
    fn len(&self) -> usize {
        self.short.entries() + self.long.entries()
    }

    /// The size of the tables and the arena in bytes.
    pub fn memory(&self) -> usize {
        self.short.memory() + self.long.memory() + self.arena.capacity()
    }

    /// Add many short pretokens.
    pub fn add_short(&mut self, entries: &[Short]) -> Result<()> {
        for (index, entry) in entries.iter().enumerate() {
            if let Some(bytes) = self.short.growth() {
                self.spill_if_needed(bytes)?;
                if self.short.growth().is_some() {
                    self.short.grow(self.content())?;
                }
            }
            if let Some(later) = entries.get(index + AHEAD) {
                self.short.prefetch(later);
            }
            self.add_one_short(*entry)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn add_one_short(&mut self, entry: Short) -> Result<()> {
        match self.short.insert(entry, |slot| slot.key == entry.key)? {
            (_, true) => Ok(()),
            (slot, false) => {
                add_checked(&mut slot.count, entry.count, &entry.key.bytes()[..entry.key.length()])
            }
        }
    }

    /// Add many long pretokens, each with its hash.
    pub fn add_long(&mut self, entries: &[(u64, &[u8], u64)]) -> Result<()> {
        for (index, &(hash, pretoken, count)) in entries.iter().enumerate() {
            if self.arena.capacity() - self.arena.len() < pretoken.len() {
                self.grow_arena(pretoken.len())?;
            }
            if let Some(bytes) = self.long.growth() {
                self.spill_if_needed(bytes)?;
                if self.long.growth().is_some() {
                    self.long.grow(self.content())?;
                }
            }
            if let Some(&(hash, ..)) = entries.get(index + AHEAD) {
                self.long.prefetch(&Long { hash, ..Long::default() });
            }
            self.add_one_long(hash, pretoken, count)?;
        }
        Ok(())
    }

    fn add_one_long(&mut self, hash: u64, pretoken: &[u8], count: u64) -> Result<()> {
        let entry = Long { hash, start: self.arena.len(), length: pretoken.len(), count };
        let arena = &self.arena;
        let is_same = |slot: &Long| {
            slot.hash == hash
                && slot.length == pretoken.len()
                && arena[slot.start..][..slot.length] == *pretoken
        };
        let (slot, is_new) = self.long.insert(entry, is_same)?;
        if is_new {
            self.arena.extend_from_slice(pretoken);
            return Ok(());
        }
        add_checked(&mut slot.count, count, pretoken)
    }

    /// Make room in the arena for a pretoken.
    fn grow_arena(&mut self, length: usize) -> Result<()> {
        let wanted = length.max(self.arena.capacity()).max(MIN_ARENA_GROWTH);
        self.spill_if_needed(wanted)?;
        memory::reserve(&mut self.arena, wanted)
    }

    /// The kind of memory for tables. What shares large pages is given back together, too late where memory is limited.
    fn content(&self) -> Content {
        if self.budget > 0 { Content::Zeros } else { Content::LateZeros }
    }

    /// Set the memory limit in bytes; 0 for no limit.
    pub fn set_budget(&mut self, budget: usize) {
        self.budget = budget;
    }

    /// Spill everything if `more` bytes would exceed the limit.
    fn spill_if_needed(&mut self, more: usize) -> Result<()> {
        let memory = self.memory();
        if self.budget > 0 && memory + more > self.budget && memory >= MIN_SPILL {
            self.spill()?;
        }
        Ok(())
    }

    /// Write all counts in memory to a run and clear the tables.
    pub fn spill(&mut self) -> Result<()> {
        if self.len() == 0 {
            return Ok(());
        }
        let mut full = take(self);
        (self.spill, self.budget) = (take(&mut full.spill), full.budget);
        self.spill.write(Merged::of(&[], vec![full.sorted(1)?])?)
    }

    /// If anything was spilled, spill the rest: otherwise each reading would write it.
    pub fn settle(&mut self) -> Result<()> {
        if self.is_spilled() { self.spill() } else { Ok(()) }
    }

    /// Whether anything was spilled.
    pub fn is_spilled(&self) -> bool {
        !self.spill.is_empty()
    }

    /// The runs that were spilled.
    pub fn runs(&self) -> Vec<SortedRun> {
        self.spill.runs()
    }

    /// The entries in memory with a count of at least `min_count`, sorted.
    pub fn sorted(&self, min_count: u64) -> Result<Entries<'_>> {
        let mut short = memory::gathered(self.short.iter().filter(|slot| slot.count >= min_count).copied())?;
        let mut long = memory::gathered(self.long_entries().filter(|entry| entry.1 >= min_count))?;
        short.sort_unstable_by_key(|slot| (slot.key.low.swap_bytes(), slot.key.high.swap_bytes()));
        long.sort_unstable();
        Ok(Entries { short, long })
    }

    fn long_entries(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.long.iter().map(|slot| (&self.arena[slot.start..][..slot.length], slot.count))
    }

    /// Visit every pretoken and its count: sorted by bytes if anything was spilled, else in no particular order.
    pub fn visit(&self, visitor: &mut dyn FnMut(&[u8], u64) -> Result<()>) -> Result<()> {
        if self.is_spilled() {
            return Merged::of(&self.runs(), vec![self.sorted(1)?])?.visit(visitor);
        }
        for slot in self.short.iter() {
            visitor(&slot.key.bytes()[..slot.key.length()], slot.count)?;
        }
        self.long_entries().try_for_each(|(pretoken, count)| visitor(pretoken, count))
    }
}
