//! One part of all counts: pretokens of a range of hashes in, their sums out.
//!
//! Two open-addressing tables: short pretokens are their own keys, of longer ones the bytes lie in one arena. Slots are
//! taken in the order of hashes, so that growing moves entries in order.

use super::key::{Key, LONGEST, Short, hash_bytes};
use super::sorted::Entries;
use super::spill::{Merged, Spill, overflow};
use crate::error::Result;
use crate::memory;
use crate::prefetch::prefetch;

/// A longer pretoken: where its bytes are, and its count. A length of zero is no pretoken.
#[derive(Clone, Copy, Default)]
struct Long {
    hash: u64,
    start: usize,
    length: usize,
    count: u64,
}

/// The counts of pretokens whose hashes begin with the same [`SHARD_BITS`] bits.
#[derive(Default)]
pub struct Shard {
    short: Vec<Short>,
    short_len: usize,
    long: Vec<Long>,
    long_len: usize,
    arena: Vec<u8>,
    /// What did not fit in memory.
    spill: Option<Spill>,
    /// How many bytes the tables and the arena may take before they are spilled; 0 is no limit.
    budget: usize,
}

/// How many of a hash's first bits choose the shard.
pub const SHARD_BITS: u32 = 4;
/// How many shards there are.
pub const SHARDS: usize = 1 << SHARD_BITS;

/// The shard that a hash belongs to.
#[inline(always)]
pub fn shard_of(hash: u64) -> usize {
    (hash >> (64 - SHARD_BITS)) as usize
}

/// Where the search for a hash begins in a table of `slots`, a power of two.
#[inline(always)]
fn home(hash: u64, slots: usize) -> usize {
    ((hash << SHARD_BITS) >> (64 - slots.trailing_zeros())) as usize
}

/// How many additions ahead a slot is asked for.
const AHEAD: usize = 8;

const FEWEST_SLOTS: usize = 256;

/// How many bytes of long pretokens room is made for, at the least.
const FEWEST_BYTES: usize = 1 << 12;

/// Less memory than this is not worth a run, whatever the limit; in tests nearly everything is.
const FEWEST_SPILLED: usize = if cfg!(test) { 1 } else { 1 << 17 };

/// Whether a table is too full for one more entry: above three quarters, searches grow long.
fn is_full(len: usize, slots: usize) -> bool {
    len * 4 >= slots * 3
}

fn add_checked(sum: &mut u64, count: u64, pretoken: &[u8]) -> Result<()> {
    *sum = sum.checked_add(count).ok_or_else(|| overflow(pretoken))?;
    Ok(())
}

impl Shard {
    /// How many distinct pretokens there are.
    pub fn distinct(&mut self) -> Result<usize> {
        if self.spill.is_none() {
            return Ok(self.len());
        }
        let mut distinct = 0;
        self.visit(&mut |_, _| {
            distinct += 1;
            Ok(())
        })?;
        Ok(distinct)
    }

    /// How many distinct pretokens are in memory.
    fn len(&self) -> usize {
        self.short_len + self.long_len
    }

    /// How many bytes the tables and the arena take.
    pub fn memory(&self) -> usize {
        self.short.capacity() * size_of::<Short>()
            + self.long.capacity() * size_of::<Long>()
            + self.arena.capacity()
    }

    /// Add many short pretokens.
    pub fn add_short(&mut self, entries: &[Short]) -> Result<()> {
        for (index, entry) in entries.iter().enumerate() {
            if is_full(self.short_len, self.short.len()) {
                self.make_room(self.short.len() * size_of::<Short>())?;
                if is_full(self.short_len, self.short.len()) {
                    self.resize_short(self.short.len() * 2)?;
                }
            }
            if let Some(later) = entries.get(index + AHEAD) {
                prefetch(&self.short, home(later.key.hash(), self.short.len()));
            }
            self.add_one_short(*entry)?;
        }
        Ok(())
    }

    fn add_one_short(&mut self, entry: Short) -> Result<()> {
        let mut place = home(entry.key.hash(), self.short.len());
        loop {
            let slot = &mut self.short[place];
            if slot.key == entry.key {
                return add_checked(&mut slot.count, entry.count, &entry.key.bytes()[..entry.key.length()]);
            }
            if slot.key.is_none() {
                *slot = entry;
                self.short_len += 1;
                return Ok(());
            }
            place = (place + 1) & (self.short.len() - 1);
        }
    }

    fn resize_short(&mut self, slots: usize) -> Result<()> {
        let slots = slots.max(FEWEST_SLOTS);
        let old = std::mem::replace(&mut self.short, memory::filled(Short::default(), slots)?);
        for entry in old {
            if !entry.key.is_none() {
                let mut place = home(entry.key.hash(), slots);
                while !self.short[place].key.is_none() {
                    place = (place + 1) & (slots - 1);
                }
                self.short[place] = entry;
            }
        }
        Ok(())
    }

    /// Add many pretokens that are too long to be keys, each with its hash.
    pub fn add_long(&mut self, entries: &[(u64, &[u8], u64)]) -> Result<()> {
        for (index, &(hash, pretoken, count)) in entries.iter().enumerate() {
            if self.arena.capacity() - self.arena.len() < pretoken.len() {
                self.grow_arena(pretoken.len())?;
            }
            if is_full(self.long_len, self.long.len()) {
                self.make_room(self.long.len() * size_of::<Long>())?;
                if is_full(self.long_len, self.long.len()) {
                    self.resize_long(self.long.len() * 2)?;
                }
            }
            if let Some((later, ..)) = entries.get(index + AHEAD) {
                prefetch(&self.long, home(*later, self.long.len()));
            }
            self.add_one_long(hash, pretoken, count)?;
        }
        Ok(())
    }

    fn add_one_long(&mut self, hash: u64, pretoken: &[u8], count: u64) -> Result<()> {
        let mut place = home(hash, self.long.len());
        loop {
            let slot = &mut self.long[place];
            if slot.hash == hash
                && slot.length == pretoken.len()
                && self.arena[slot.start..][..slot.length] == *pretoken
            {
                return add_checked(&mut slot.count, count, pretoken);
            }
            if slot.length == 0 {
                *slot = Long { hash, start: self.arena.len(), length: pretoken.len(), count };
                self.arena.extend_from_slice(pretoken);
                self.long_len += 1;
                return Ok(());
            }
            place = (place + 1) & (self.long.len() - 1);
        }
    }

    fn resize_long(&mut self, slots: usize) -> Result<()> {
        let slots = slots.max(FEWEST_SLOTS);
        let old = std::mem::replace(&mut self.long, memory::filled(Long::default(), slots)?);
        for entry in old {
            if entry.length > 0 {
                let mut place = home(entry.hash, slots);
                while self.long[place].length > 0 {
                    place = (place + 1) & (slots - 1);
                }
                self.long[place] = entry;
            }
        }
        Ok(())
    }

    /// Make room in the arena for one more pretoken.
    fn grow_arena(&mut self, length: usize) -> Result<()> {
        let wanted = length.max(self.arena.capacity()).max(FEWEST_BYTES);
        self.make_room(wanted)?;
        memory::reserve(&mut self.arena, wanted)
    }

    /// Limit the memory that may be taken from now on; 0 is no limit.
    pub fn set_budget(&mut self, budget: usize) {
        self.budget = budget;
    }

    /// Spill everything if so many bytes more would be too many.
    fn make_room(&mut self, more: usize) -> Result<()> {
        let memory = self.memory();
        if self.budget > 0 && memory + more > self.budget && memory >= FEWEST_SPILLED {
            self.spill()?;
        }
        Ok(())
    }

    /// Write all counts to a run and forget them.
    fn spill(&mut self) -> Result<()> {
        if self.len() == 0 {
            return Ok(());
        }
        memory::ensure(self.long_len * size_of::<(&[u8], u64)>())?;
        let mut spill = match self.spill.take() {
            Some(spill) => spill,
            None => Spill::new()?,
        };
        let (short, long) = (std::mem::take(&mut self.short), std::mem::take(&mut self.long));
        (self.short_len, self.long_len) = (0, 0);
        let arena = std::mem::take(&mut self.arena);
        let long: Vec<(&[u8], u64)> = long_entries(&long, &arena).collect();
        let entries = Entries::new(short, long);
        let mut run = spill.write();
        entries.visit(&mut |pretoken, count| run.push(pretoken, count))?;
        run.finish()?;
        self.spill = Some(spill);
        Ok(())
    }

    /// If anything was spilled, merge all runs, and what is in memory, to one run.
    pub fn settle(&mut self) -> Result<Option<&Spill>> {
        if self.spill.is_some() {
            self.spill()?;
        }
        if let Some(spill) = self.spill.take_if(|spill| spill.runs() > 1) {
            let mut settled = Spill::new()?;
            let mut run = settled.write();
            let mut merged = Merged::of([&spill])?;
            while let Some((pretoken, count)) = merged.next()? {
                run.push(pretoken, count)?;
            }
            run.finish()?;
            self.spill = Some(settled);
        }
        Ok(self.spill.as_ref())
    }

    /// Whether anything was spilled.
    pub fn is_spilled(&self) -> bool {
        self.spill.is_some()
    }

    /// Spill everything to one run.
    pub fn settle_all(&mut self) -> Result<Option<&Spill>> {
        self.spill()?;
        self.settle()
    }

    /// The tables, for sorting: slots of short pretokens, of which some are empty, and all longer ones.
    pub fn tables(&self) -> (&[Short], impl Iterator<Item = (&[u8], u64)>) {
        (&self.short, long_entries(&self.long, &self.arena))
    }

    /// Add one pretoken of any length.
    pub fn add(&mut self, pretoken: &[u8], count: u64) -> Result<()> {
        if pretoken.len() <= LONGEST {
            self.add_short(&[Short { key: Key::new(pretoken, 0, pretoken.len()), count }])
        } else {
            self.add_long(&[(hash_bytes(pretoken), pretoken, count)])
        }
    }

    /// Add everything that the same shard of another table holds.
    pub fn absorb(&mut self, other: &mut Self) -> Result<()> {
        if self.budget > 0 {
            // Sorted by bytes, the other's entries come in no order of hashes.
            other.spill()?;
        }
        if other.spill.is_some() {
            return other.visit(&mut |pretoken, count| self.add(pretoken, count));
        }
        // The other's slots are in the order of hashes: a table that is still small would take the first of them all in
        // one corner and look through that for each of the others. So there is room for all before the first comes.
        let slots = |len: usize| (len * 4 / 3 + 1).next_power_of_two();
        if slots(self.short_len + other.short_len) > self.short.len() {
            self.resize_short(slots(self.short_len + other.short_len))?;
        }
        if slots(self.long_len + other.long_len) > self.long.len() {
            self.resize_long(slots(self.long_len + other.long_len))?;
        }
        memory::reserve(&mut self.arena, other.arena.len())?;
        for entry in other.short.iter().filter(|entry| !entry.key.is_none()) {
            self.add_one_short(*entry)?;
        }
        for entry in other.long.iter().filter(|entry| entry.length > 0) {
            self.add_one_long(entry.hash, &other.arena[entry.start..][..entry.length], entry.count)?;
        }
        Ok(())
    }

    /// Show every pretoken and its count; in the order of their bytes if they were spilled, else in none.
    pub fn visit(&mut self, visitor: &mut dyn FnMut(&[u8], u64) -> Result<()>) -> Result<()> {
        if let Some(spill) = self.settle()? {
            let mut merged = Merged::of([spill])?;
            while let Some((pretoken, count)) = merged.next()? {
                visitor(pretoken, count)?;
            }
            return Ok(());
        }
        for slot in self.short.iter().filter(|slot| !slot.key.is_none()) {
            visitor(&slot.key.bytes()[..slot.key.length()], slot.count)?;
        }
        long_entries(&self.long, &self.arena).try_for_each(|(pretoken, count)| visitor(pretoken, count))
    }
}

fn long_entries<'a>(slots: &'a [Long], arena: &'a [u8]) -> impl Iterator<Item = (&'a [u8], u64)> {
    let taken = slots.iter().filter(|slot| slot.length > 0);
    taken.map(|slot| (&arena[slot.start..][..slot.length], slot.count))
}

/// The shard that a pretoken of any length belongs to.
pub fn shard_of_bytes(pretoken: &[u8]) -> usize {
    if pretoken.len() <= LONGEST {
        shard_of(Key::new(pretoken, 0, pretoken.len()).hash())
    } else {
        shard_of(hash_bytes(pretoken))
    }
}
