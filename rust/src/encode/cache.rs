//! A cache from pretokens to their ids, so that no pretoken is merged twice.
//!
//! All threads share one table and read it without locks. The content of an entry never changes
//! once it is published:
//!
//! ```text
//! empty ----------claim----> claimed ----publish----> published ----mark----> published and used
//! unused token ---claim----> claimed
//! unused token ---begin_use-------------------------> published
//! ```
//!
//! - **Claim**: a writer takes a free entry for itself. It fills it, and publishes it by storing
//!   the second half of its key last. Without room for the ids, the entry stays claimed.
//! - **Unused tokens**: a new cache holds the first tokens of the vocabulary, as most texts have
//!   many of them. Until a text has such a token, its entry is as free as an empty one, and is
//!   looked for only if a pretoken is not found. So tokens that never occur take no place from
//!   pretokens that do.
//! - **Growth**: a table that is half full is replaced by a larger one; the largest, by one with
//!   those entries that were used meanwhile. So memory is limited (see [`Bound`]), and the cache
//!   adapts to new kinds of text.
//!
//! A pretoken of up to 15 bytes is its own key. The key of a longer one is a hash, and its bytes
//! are compared before its ids are used. So the cache never changes a result.
//!
//! No thread ever waits: if a lock is taken (perhaps since a fork), the work goes on without it.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

use crate::error::Result;
use crate::key::Key;
use crate::key::block::{Block, KeyTable, Lookups};
use crate::key::instructions::KeyHasher;
use crate::memory::cells::{Cells, Plain};
use crate::memory::machine;
use crate::prefetch::{prefetch, prefetch_at};

/// The longest pretoken that is cached.
pub const LONGEST: usize = 255;
/// The number of ids that an entry holds itself.
pub const INLINE: usize = 4;

/// The entries of a new table, at least and at most. Each later table has four times as many, up to
/// the bound.
const SMALLEST: usize = 1 << 13;
const LARGEST_FIRST: usize = 1 << 19;
/// Entries of a new table for each token: growing would cost a first pass more than it costs to
/// begin so large.
const PER_TOKEN: usize = 16;
/// The words of an arena, at least and at most. Memory takes nothing before it is used, except on
/// Windows, which sets it aside at once.
const LEAST_WORDS: usize = 1 << 16;
const MOST_WORDS: usize = if cfg!(windows) { 1 << 21 } else { u32::MAX as usize };
/// The maximum number of entries: their places are counted in bytes, by 32 bits.
const MOST_ENTRIES: usize = 1 << 27;
/// The memory of a cache unless another bound is chosen: this part of the machine's memory, within
/// limits; or, if that is unknown, the usual memory.
const PART_OF_MACHINE: usize = 32;
const LEAST_MEMORY: usize = 32 << 20;
const MOST_MEMORY: usize = 1 << 30;
const USUAL_MEMORY: usize = 128 << 20;
/// How many entries ahead of the one that is copied another one's place and words are prefetched.
const AHEAD: usize = 16;
/// How many entries are searched for a key: a bound on what hostile keys can cost.
const PROBES: usize = 16;

// The second half of an entry's key, 64 bits:
//
//     63..62   the number of ids, less one     COUNT_SHIFT
//     61       the entry was found             USED
//     60       the ids are in the arena        IN_ARENA
//     59..0    the key's own
//
/// The number of the highest bits of an entry's `high`, which belong to no key.
const OWN_BITS: u32 = 4;
const OWN: u64 = !(u64::MAX >> OWN_BITS);
const COUNT_SHIFT: u32 = u64::BITS - 2;
/// Marks an entry that was found since its table was made.
const USED: u64 = 1 << (COUNT_SHIFT - 1);
/// Marks an entry whose ids are in the arena: the last of the own bits.
const IN_ARENA: u64 = 1 << (COUNT_SHIFT - 2);
const EMPTY: u64 = 0;
/// Never the second half of a key: a short key has a length, and the low bits of a long one are its
/// length, more than 1.
const CLAIMED: u64 = 1;
/// Marks the key of an unused token: a bit of the key's 15th byte, which is 0 for any pretoken of
/// up to 14 bytes. So no pretoken has this key.
const UNUSED: u64 = 1 << 55;
/// The longest token that a new cache holds.
const LONGEST_TOKEN: usize = 14;

/// The memory that a cache takes at most unless another bound is chosen. It is the same in the
/// whole life of a process.
pub fn default_memory() -> usize {
    memory_on(machine::memory())
}

/// The same on a machine with this much memory, if it is known.
fn memory_on(machine: Option<usize>) -> usize {
    match machine {
        Some(memory) => (memory / PART_OF_MACHINE).clamp(LEAST_MEMORY, MOST_MEMORY),
        None => USUAL_MEMORY,
    }
}

/// A key, and four ids; or the place of more ids in the arena (place in words, number of ids).
#[repr(C, align(32))]
pub struct Entry {
    /// The first half of the key.
    low: AtomicU64,
    /// The second half, with the number of ids, which a writer stores last, and a reader loads
    /// first: `EMPTY` or that of an unused token until the entry is claimed, `CLAIMED` until it is
    /// published.
    high: AtomicU64,
    ids: UnsafeCell<[u32; INLINE]>,
}

// SAFETY: integers, atomic or in cells, may be any bytes, and none has anything to drop.
unsafe impl Plain for Entry {}

/// The largest table that a cache may have.
#[derive(Clone, Copy)]
pub struct Bound {
    entries: usize,
    words: usize,
}

impl Bound {
    /// A power of two of entries, which take three quarters of some memory at most; the rest is for
    /// what they do not hold themselves.
    pub fn of(memory: usize) -> Self {
        let memory_of_entries = memory / 4 * 3;
        let most_entries = (memory_of_entries / size_of::<Entry>()).max(1);
        let entries = (1 << most_entries.ilog2()).clamp(SMALLEST, MOST_ENTRIES);
        let rest = memory.saturating_sub(entries * size_of::<Entry>());
        let words = rest / size_of::<u32>();
        Self { entries, words: words.clamp(LEAST_WORDS, MOST_WORDS) }
    }

    pub fn memory(self) -> usize {
        self.entries * size_of::<Entry>() + self.words * size_of::<u32>()
    }
}

/// One generation of the cache.
pub struct Table {
    pub hasher: KeyHasher,
    entries: Cells<Entry>,
    /// The next table has the same, unless this is the largest.
    arena: Arc<Arena>,
    bound: Bound,
    /// The number of used entries, which every new pretoken changes, away from the fields that all
    /// threads read constantly.
    used: CachePadded<AtomicUsize>,
}

/// Words that do not fit the entries themselves.
struct Arena {
    words: Cells<UnsafeCell<u32>>,
    /// The number of used words, in a cache line of its own.
    used: CachePadded<AtomicUsize>,
}

/// A value in cache lines of its own.
#[repr(align(128))]
struct CachePadded<T>(T);

/// The entries of a table, at hand for the hot loop. The place of an entry is its distance from the
/// first one, in bytes.
#[derive(Clone, Copy)]
pub struct CacheEntries<'a> {
    entries: &'a [Entry],
    /// The bits of a place: those of the number of an entry, shifted by its size.
    places: u32,
}

impl KeyTable for CacheEntries<'_> {
    #[inline(always)]
    fn place(self, hash: u64) -> u32 {
        hash as u32 & self.places
    }

    /// Brings an entry, and its neighbour, into the processor's cache.
    #[inline(always)]
    fn prefetch(self, place: u32) {
        prefetch_at(self.entries.as_ptr().cast::<u8>().wrapping_add(place as usize));
    }
}

impl<'a> CacheEntries<'a> {
    /// The entry at a place.
    #[inline(always)]
    pub fn at(self, place: u32) -> &'a Entry {
        debug_assert!(place & !self.places == 0, "the place is one of this table");
        let place = (place & self.places) as usize;
        // SAFETY: `places` has the bits of the number of an entry (there is a power of two of
        // them), shifted by its size.
        unsafe { &*self.entries.as_ptr().byte_add(place) }
    }

    /// Where keys with a place are looked for: the entry there, its neighbour in the same cache
    /// line, then those of the lines after it.
    fn probes(self, place: u32) -> impl Iterator<Item = &'a Entry> {
        let first = place as usize / size_of::<Entry>();
        (0..PROBES).map(move |probe| {
            let place = (first ^ (probe & 1)) + (probe & !1);
            &self.entries[place & (self.entries.len() - 1)]
        })
    }
}

/// The content of an entry: up to four ids and their number; or number 0 and the place of the ids
/// in the arena.
#[derive(Clone, Copy)]
pub struct CachedIds<'a> {
    pub ids: &'a [u32; INLINE],
    pub count: usize,
}

// SAFETY: threads share the `UnsafeCell` of an entry.
//
// 1. Only one thread writes to it: the one that changed the entry's `high` from free to CLAIMED, by
//    one atomic exchange; or the one that makes the table, before others have it.
// 2. It writes before it stores the final `high` with Release. From then on nobody writes.
// 3. A reader loads that final `high` with Acquire first, so it sees what was written. Or it is the
//    thread that exchanged the `high` of an unused token, whose content the maker of the table
//    wrote.
// 4. The final `high` later changes only by `fetch_or` of the mark `USED`, so a load of the marked
//    value still meets the store with Release.
unsafe impl Sync for Table {}

// SAFETY: threads share the `UnsafeCell`s of words.
//
// 1. Only one thread writes to a word: the one that reserved it by moving `used` past it, by one
//    atomic addition.
// 2. It writes before it publishes the entry that names the words (see above). From then on nobody
//    writes.
// 3. Words are read only through that entry, or through one in a larger table that was made of it.
unsafe impl Sync for Arena {}

impl Arena {
    fn of(bound: Bound) -> Result<Arc<Self>> {
        let words = Cells::new(bound.words)?;
        Ok(Arc::new(Self { words, used: CachePadded(AtomicUsize::new(0)) }))
    }

    /// The words that a published entry refers to.
    #[inline]
    fn words(&self, place: usize, count: usize) -> &[u32] {
        let cells = self.words.get(place..place + count).unwrap_or_default();
        // SAFETY: a cell has the layout of its content, and words named by a published entry do not
        // change any more.
        unsafe { std::slice::from_raw_parts(cells.as_ptr().cast::<u32>(), cells.len()) }
    }

    /// Writes words, first those of bytes; returns their place, if there is room.
    fn store(&self, bytes: &[u8], words: &[u32]) -> Option<usize> {
        let count = bytes.len().div_ceil(4) + words.len();
        let place = self.used.0.fetch_add(count, Ordering::Relaxed);
        let cells = self.words.get(place..place.checked_add(count)?)?;
        for (cell, word) in cells.iter().zip(words_of(bytes).chain(words.iter().copied())) {
            // SAFETY: `fetch_add` gave these words to this thread alone, and no published entry
            // names them yet.
            unsafe { *cell.get() = word };
        }
        Some(place)
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.used.0.load(Ordering::Relaxed) > self.words.len()
    }
}

impl Table {
    /// One without entries.
    fn new(entries: usize, bound: Bound, arena: Arc<Arena>) -> Result<Self> {
        Ok(Self {
            hasher: KeyHasher::of_process(),
            entries: Cells::new(entries)?,
            arena,
            bound,
            used: CachePadded(AtomicUsize::new(0)),
        })
    }

    #[inline(always)]
    pub fn entries(&self) -> CacheEntries<'_> {
        let places = (self.entries.len() - 1) * size_of::<Entry>();
        CacheEntries { entries: &self.entries, places: places as u32 }
    }

    /// Where the entry lies that a key falls into.
    fn place(&self, key: Key) -> u32 {
        self.entries().place(self.hasher.hash(key))
    }

    /// Copies the ids of the pretoken of a block, if any entry has them and there is room; returns
    /// their number. Not inlined, to keep the path of most keys short, whose ids are in the entry
    /// at their place.
    #[cold]
    #[inline(never)]
    pub fn copy(
        &self,
        lookups: &Lookups,
        block: &Block,
        index: usize,
        room: &mut [u32],
    ) -> Option<usize> {
        let ids = self.find(lookups.keys[index], lookups.places[index], block.pretoken(index))?;
        room.get_mut(..ids.len())?.copy_from_slice(ids);
        Some(ids.len())
    }

    /// The ids of a pretoken, whose key falls into a place. None lie behind a free entry, since the
    /// first free one is claimed.
    pub fn find(&self, key: Key, place: u32, pretoken: &[u8]) -> Option<&[u32]> {
        let content = match self.entries().at(place).get(key) {
            Some(content) => content,
            None => self.find_near(key, place)?.1,
        };
        if content.count == 0 {
            return self.words(key, content, pretoken);
        }
        Some(&content.ids[..content.count])
    }

    /// The entry of a key that falls into a place, and its content.
    fn find_near(&self, key: Key, place: u32) -> Option<(&Entry, CachedIds<'_>)> {
        for entry in self.entries().probes(place) {
            if entry.is_free() {
                return None;
            }
            if let Some(content) = entry.get(key) {
                return Some((entry, content));
            }
        }
        None
    }

    /// The ids in the arena of an entry with the key of a pretoken, if that is the same.
    fn words(&self, key: Key, content: CachedIds, pretoken: &[u8]) -> Option<&[u32]> {
        let &[place, count, ..] = content.ids;
        let (place, count) = (place as usize, count as usize);
        if key.is_short() {
            return Some(self.arena.words(place, count));
        }
        let length = pretoken.len().div_ceil(4);
        let spelling = self.arena.words(place, length).iter().copied();
        spelling.eq(words_of(pretoken)).then(|| self.arena.words(place + length, count))
    }

    /// Stores the ids of a pretoken, if there is a free entry nearby; returns whether an entry was
    /// used.
    pub fn insert(&self, key: Key, place: u32, pretoken: &[u8], ids: &[u32]) -> bool {
        let Some(entry) = self.claim(key, place) else { return false };
        self.fill(entry, key, pretoken, ids);
        true
    }

    /// Adds unused tokens, all of different bytes, to a table that is not shared yet.
    fn add_unused(&self, tokens: &[(u32, &[u8])]) {
        for &(id, token) in tokens {
            let key = Key::of(token, self.hasher.seed);
            let free = self.entries().probes(self.place(key)).find(|entry| entry.is_empty());
            if let (Some(key), Some(entry)) = (unused(key), free) {
                entry.publish(key, [id, 0, 0, 0], 1);
            }
        }
    }

    /// The id of a pretoken that is an unused token; from now on it is found like any other, where
    /// it would lie if there were no unused ones.
    pub fn find_unused(&self, key: Key, place: u32) -> Option<&[u32]> {
        let sought = unused(key)?;
        let mut lies_behind_free = false;
        for entry in self.entries().probes(place) {
            if entry.holds(sought) {
                let ids = entry.begin_use(key)?;
                if lies_behind_free {
                    self.insert(key, place, &[], ids);
                }
                return Some(ids);
            }
            if entry.is_empty() {
                return None;
            }
            lies_behind_free |= entry.is_free();
        }
        None
    }

    /// Claims a free entry for this thread; `None` if the key has an entry already or none is free
    /// nearby.
    #[inline(always)]
    fn claim(&self, key: Key, place: u32) -> Option<&Entry> {
        for entry in self.entries().probes(place) {
            if entry.holds(key) {
                return None;
            }
            let high = entry.high.load(Ordering::Relaxed);
            if is_free(high) && entry.replace(high, CLAIMED) {
                return Some(entry);
            }
        }
        None
    }

    /// Adds to the number of used entries.
    #[inline]
    fn taken(&self, entries: usize) {
        if entries > 0 {
            self.used.0.fetch_add(entries, Ordering::Relaxed);
        }
    }

    /// Fills and publish an entry that this thread has claimed. Without room in the arena it stays
    /// claimed: the table is about to be replaced.
    fn fill(&self, entry: &Entry, key: Key, pretoken: &[u8], ids: &[u32]) {
        if key.is_short() && (1..=INLINE).contains(&ids.len()) {
            let mut held = [0; INLINE];
            held[..ids.len()].copy_from_slice(ids);
            return entry.publish(key, held, ids.len());
        }
        // The bytes of a short pretoken are in its key.
        let spelling = if key.is_short() { &[] } else { pretoken };
        if let Some(place) = self.arena.store(spelling, ids) {
            entry.publish(key, [place as u32, ids.len() as u32, 0, 0], 0);
        }
    }

    /// Whether the table should be replaced.
    #[inline]
    fn is_full(&self) -> bool {
        self.used.0.load(Ordering::Relaxed) > self.entries.len() / 2 || self.arena.is_full()
    }

    /// Whether no larger table may follow.
    pub fn is_largest(&self) -> bool {
        self.entries.len() == self.bound.entries
    }

    /// Marks the entries of some keys, with their places, as used.
    pub fn mark(&self, keys: &[Key], places: &[u32]) {
        for (&key, &place) in keys.iter().zip(places) {
            if let Some((entry, _)) = self.find_near(key, place) {
                entry.mark();
            }
        }
    }

    /// The successor of this table: larger, with the same entries; after the largest, one with
    /// those that were used.
    fn successor(&self) -> Result<Self> {
        let arena =
            if self.is_largest() { Arena::of(self.bound)? } else { Arc::clone(&self.arena) };
        let size = self.bound.entries.min(4 * self.entries.len());
        let table = Self::new(size, self.bound, arena)?;
        self.copy_to(&table);
        Ok(table)
    }

    /// Copies entries to a table that is not shared yet: all, or those that were used, up to half
    /// of what it can take.
    fn copy_to(&self, table: &Self) {
        let is_largest = self.is_largest();
        let most = if is_largest { table.entries.len() / 4 } else { usize::MAX };
        let published = || self.entries.iter().map(|entry| entry.published(is_largest));
        let mut ahead = published().skip(AHEAD);
        let mut copied = 0;
        for entry in published() {
            if let Some((key, content)) = ahead.next().flatten() {
                table.entries().prefetch(table.place(key));
                if content.count == 0 && is_largest {
                    prefetch(&self.arena.words, content.ids[0] as usize);
                }
            }
            let Some((key, content)) = entry else { continue };
            if self.copy_entry(key, content, table).is_some() {
                copied += 1;
            }
            if copied == most {
                break;
            }
        }
        table.taken(copied);
    }

    /// Copies an entry to a table that is not shared yet, if there is a free entry nearby.
    fn copy_entry(&self, key: Key, content: CachedIds, table: &Self) -> Option<()> {
        let entry = table.entries().probes(table.place(key)).find(|entry| entry.is_empty())?;
        let mut ids = *content.ids;
        if content.count == 0 && self.is_largest() {
            // The successor of the largest table has an arena of its own.
            if table.arena.used.0.load(Ordering::Relaxed) > table.arena.words.len() / 2 {
                return None;
            }
            let [place, count] = [ids[0] as usize, ids[1] as usize];
            let spelling =
                if key.is_short() { 0 } else { (key.high as usize & 0xFFFF).div_ceil(4) };
            let words = self.arena.words(place, spelling + count);
            ids[0] = table.arena.store(&[], words)? as u32;
        }
        entry.publish(key, ids, content.count);
        Some(())
    }
}

impl Entry {
    /// Publishes an entry that this thread has claimed, or that is not shared yet.
    #[inline(always)]
    fn publish(&self, key: Key, held: [u32; INLINE], count: usize) {
        // SAFETY: this thread claimed the entry (or nobody else has the table), and nobody reads
        // the cells before `high` is stored.
        unsafe { *self.ids.get() = held };
        self.low.store(key.low, Ordering::Relaxed);
        let own_bits = match count {
            0 => IN_ARENA,
            _ => (count as u64 - 1) << COUNT_SHIFT,
        };
        self.high.store(key.high | own_bits, Ordering::Release);
    }

    /// The key and the content of an entry, if it was published, and if it was used, where only
    /// these are `wanted`.
    fn published(&self, wants_used: bool) -> Option<(Key, CachedIds<'_>)> {
        let high = self.high.load(Ordering::Acquire);
        if is_free(high) || high == CLAIMED || wants_used && high & USED == 0 {
            return None;
        }
        let key = Key { low: self.low.load(Ordering::Relaxed), high: high & !OWN };
        Some((key, self.content(high)))
    }

    /// Marks a published entry as used. Most are already, and are not written to again.
    fn mark(&self) {
        if self.high.load(Ordering::Relaxed) & USED == 0 {
            self.high.fetch_or(USED, Ordering::Relaxed);
        }
    }

    /// Makes an unused token one that is found by its key; its id, unless another thread was
    /// faster.
    fn begin_use(&self, key: Key) -> Option<&[u32]> {
        let is_ours = self.replace(key.high | UNUSED, key.high);
        is_ours.then(|| &self.content(key.high).ids[..1])
    }

    /// Replaces the second half of the key, if it has not changed.
    fn replace(&self, old: u64, new: u64) -> bool {
        self.high.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    fn is_empty(&self) -> bool {
        self.high.load(Ordering::Relaxed) == EMPTY
    }

    /// Whether the entry may be claimed.
    fn is_free(&self) -> bool {
        is_free(self.high.load(Ordering::Relaxed))
    }

    /// The content of an entry that was published with this second half of its key, which was
    /// loaded with Acquire.
    #[inline(always)]
    fn content(&self, high: u64) -> CachedIds<'_> {
        let count = if high & IN_ARENA == 0 { (high >> COUNT_SHIFT) as usize + 1 } else { 0 };
        // SAFETY: the entry's final `high` has been loaded with Acquire; the ids do not change any
        // more.
        CachedIds { ids: unsafe { &*self.ids.get() }, count }
    }

    /// The second half of its key, if the entry was published for this key; the first `differing`
    /// bits may differ.
    #[inline(always)]
    fn high_of(&self, key: Key, differing: u32) -> Option<u64> {
        let high = self.high.load(Ordering::Acquire);
        let differs = (high ^ key.high) << differing | self.low.load(Ordering::Relaxed) ^ key.low;
        (differs == 0).then_some(high)
    }

    /// The content, if the entry was published for this key.
    fn get(&self, key: Key) -> Option<CachedIds<'_>> {
        self.high_of(key, OWN_BITS).map(|high| self.content(high))
    }

    /// The same, if the entry holds the ids itself.
    #[inline(always)]
    pub fn get_own(&self, key: Key) -> Option<CachedIds<'_>> {
        // `IN_ARENA` is the last of the own bits, and compared with the key, which has a zero
        // there.
        self.high_of(key, OWN_BITS - 1).map(|high| self.content(high & !IN_ARENA))
    }

    /// Whether the entry was published for this key.
    fn holds(&self, key: Key) -> bool {
        self.get(key).is_some()
    }
}

/// The key of the entry of a token while it is unused.
fn unused(key: Key) -> Option<Key> {
    let may_be_cached = (1..=LONGEST_TOKEN).contains(&key.length());
    may_be_cached.then_some(Key { high: key.high | UNUSED, ..key })
}

/// Whether an entry whose key has this second half may be claimed: an empty one, or an unused
/// token.
fn is_free(high: u64) -> bool {
    let key = Key { low: 0, high: high & !OWN };
    high == EMPTY || high & UNUSED != 0 && key.length() <= LONGEST_TOKEN
}

/// Bytes as words, the last one padded with zeros.
fn words_of(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    let (whole, last) = bytes.as_chunks();
    let mut padded = [0; 4];
    padded[..last.len()].copy_from_slice(last);
    let last = (!last.is_empty()).then_some(padded);
    whole.iter().copied().chain(last).map(u32::from_le_bytes)
}

static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

/// The cache of one vocabulary.
pub struct Cache {
    /// A number that no other cache of this process has.
    pub number: u64,
    bound: Bound,
    table: RwLock<Arc<Table>>,
    being_replaced: AtomicBool,
}

impl Cache {
    /// A cache of the first tokens of a vocabulary with so many, which grows with its content.
    pub fn new(first: &[(u32, &[u8])], tokens: usize, bound: Bound) -> Result<Self> {
        let wanted = (PER_TOKEN * tokens).next_power_of_two().clamp(SMALLEST, LARGEST_FIRST);
        let table = Table::new(wanted.min(bound.entries), bound, Arena::of(bound)?)?;
        table.add_unused(first);
        Ok(Self {
            number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
            bound,
            table: RwLock::new(Arc::new(table)),
            being_replaced: AtomicBool::new(false),
        })
    }

    /// The memory that it takes at most.
    pub fn memory(&self) -> usize {
        self.bound.memory()
    }

    /// The current table, unless it is just being replaced.
    pub fn table(&self) -> Option<Arc<Table>> {
        self.table.try_read().ok().map(|table| Arc::clone(&table))
    }

    /// The table for the next batch, once this one has learned so many pretokens: a new one if it
    /// is full.
    #[inline]
    pub fn renewed(&self, table: Option<Arc<Table>>, learned: usize) -> Option<Arc<Table>> {
        let Some(table) = table else { return self.table() };
        table.taken(learned);
        Some(if table.is_full() { self.replaced(table) } else { table })
    }

    #[cold]
    fn replaced(&self, table: Arc<Table>) -> Arc<Table> {
        let Some(current) = self.table() else { return table };
        if !Arc::ptr_eq(&current, &table) || self.being_replaced.swap(true, Ordering::Acquire) {
            return current;
        }
        // Without memory for a new table, this one stays in use.
        let successor = table.successor().ok().map(Arc::new);
        let stored = successor.filter(|successor| {
            self.table.try_write().map(|mut current| *current = Arc::clone(successor)).is_ok()
        });
        self.being_replaced.store(false, Ordering::Release);
        stored.unwrap_or(table)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    fn table(entries: usize, bound: Bound) -> Table {
        Table::new(entries, bound, Arena::of(bound).unwrap()).unwrap()
    }
    use crate::key::{HashSeed, LONGEST as SHORT};

    /// A short pretoken or a long one, with few ids or many.
    fn learned(number: usize) -> (Vec<u8>, Vec<u32>) {
        let pretoken = number.to_string().repeat(1 + number % 4);
        (pretoken.into_bytes(), (0..number % 7 + 1).map(|id| (number + id) as u32).collect())
    }

    fn key_of(pretoken: &[u8]) -> Key {
        Key::of(pretoken, HashSeed::of_process())
    }

    /// Whether at most one in a thousand is missing, and one more.
    fn nearly_all(some: usize, all: usize) -> bool {
        all - some <= 1 + all / 1000
    }

    /// Learn the pretokens of some numbers; returns those that found a free entry nearby, which
    /// nearly all do.
    fn learn(table: &Table, numbers: Range<usize>) -> Vec<usize> {
        let all = numbers.len();
        let kept: Vec<usize> = numbers
            .filter(|&number| {
                let (pretoken, ids) = learned(number);
                let key = key_of(&pretoken);
                table.insert(key, table.place(key), &pretoken, &ids)
            })
            .collect();
        assert!(nearly_all(kept.len(), all));
        table.taken(kept.len());
        kept
    }

    fn knows(table: &Table, number: usize) -> bool {
        let (pretoken, ids) = learned(number);
        let key = key_of(&pretoken);
        let found = table.find(key, table.place(key), &pretoken);
        assert!(found.is_none_or(|found| found == ids), "{number}");
        found.is_some()
    }

    #[test]
    fn a_larger_table_has_all_entries_and_learns_others() {
        for size in [SMALLEST, 1 << 16] {
            let table = table(size, Bound::of(USUAL_MEMORY));
            let (first, second) = (1000..1000 + size / 4, 1000 + size / 4..1000 + size);
            let first = learn(&table, first);
            let larger = table.successor().unwrap();
            assert!(larger.entries.len() > size);
            learn(&table, second.start..second.start + 100);
            assert!(first.iter().all(|&number| knows(&table, number)));

            let copied = first.iter().filter(|&&number| knows(&larger, number)).count();
            assert!(nearly_all(copied, first.len()));
            let second = learn(&larger, second);
            assert!(second.iter().all(|&number| knows(&larger, number)));
            assert_eq!(larger.used.0.load(Ordering::Relaxed), copied + second.len());
        }
    }

    /// A table with tokens that no text had yet.
    fn with_tokens(size: usize, tokens: &[(u32, &[u8])]) -> Table {
        let table = table(size, Bound::of(USUAL_MEMORY));
        table.add_unused(tokens);
        table
    }

    /// The numbers as tokens of up to 14 bytes.
    fn tokens_of(numbers: Range<u32>) -> Vec<(u32, Vec<u8>)> {
        numbers
            .map(|number| (number, format!("{:.14}", number.to_string().repeat(3)).into_bytes()))
            .collect()
    }

    #[test]
    fn a_token_is_found_once_as_an_unused_one_and_then_as_any_pretoken() {
        let tokens = tokens_of(0..2000);
        let tokens: Vec<_> = tokens.iter().map(|(id, token)| (*id, &token[..])).collect();
        let table = with_tokens(SMALLEST, &tokens);
        let mut missing = 0;
        for &(id, token) in &tokens {
            let key = key_of(token);
            let place = table.place(key);
            assert_eq!(table.find(key, place, token), None);
            match table.find_unused(key, place) {
                Some(ids) => {
                    assert_eq!(ids, [id]);
                    assert_eq!(table.find(key, place, token), Some(&[id][..]));
                    assert_eq!(table.find_unused(key, place), None);
                }
                None => missing += 1,
            }
        }
        // Some have made room for others.
        assert!(missing < tokens.len() / 20, "{missing}");
        let larger = table.successor().unwrap();
        let known = |table: &Table, token| {
            table.find(key_of(token), table.place(key_of(token)), token).is_some()
        };
        let kept = tokens.iter().filter(|(_, token)| known(&larger, token)).count();
        assert!(nearly_all(kept, tokens.len() - missing));
    }

    #[test]
    fn unused_tokens_take_no_place_from_pretokens() {
        let tokens = tokens_of(100_000..102_000);
        let tokens: Vec<_> = tokens.iter().map(|(id, token)| (*id, &token[..])).collect();
        let (table, without) =
            (with_tokens(SMALLEST, &tokens), table(SMALLEST, Bound::of(USUAL_MEMORY)));
        let numbers = 1000..1000 + SMALLEST / 2;
        assert_eq!(learn(&table, numbers.clone()), learn(&without, numbers.clone()));
        let place_of = |table: &Table, number| {
            let key = key_of(&learned(number).0);
            table.entries().probes(table.place(key)).position(|entry| entry.holds(key))
        };
        assert!(
            numbers.clone().all(|number| place_of(&table, number) == place_of(&without, number))
        );
        assert_eq!(table.is_full(), without.is_full());

        let larger = table.successor().unwrap();
        assert!(tokens.iter().all(|(_, token)| {
            larger.find_unused(key_of(token), larger.place(key_of(token))).is_none()
        }));
    }

    #[test]
    fn no_pretoken_is_taken_for_an_unused_token() {
        let table = table(SMALLEST, Bound::of(USUAL_MEMORY));
        for last in 0..=255 {
            let pretoken = [&[b'a'; SHORT - 1][..], &[last]].concat();
            let key = key_of(&pretoken);
            assert!(table.insert(key, table.place(key), &pretoken, &[u32::from(last)]));
        }
        let others = learn(&table, 1000..SMALLEST / 2);
        for last in 0..=255 {
            let pretoken = [&[b'a'; SHORT - 1][..], &[last]].concat();
            let key = key_of(&pretoken);
            assert_eq!(table.find(key, table.place(key), &pretoken), Some(&[u32::from(last)][..]));
            assert_eq!(table.find_unused(key, table.place(key)), None);
        }
        assert!(others.iter().all(|&number| knows(&table, number)));
    }

    #[test]
    fn pretokens_that_somebody_chose_are_kept_like_any_others() {
        // Alike in one half, which is where a hash without a seed can be aimed at.
        let of_halves = |low: u64, high: u64| {
            [low.to_le_bytes(), high.to_le_bytes()].concat()[..SHORT].to_vec()
        };
        for halves in [
            |number| (0xA076_1D64_78BD_642F, number),
            |number| (number << 40, 0),
            |number| (0, number),
        ] {
            let table = table(SMALLEST, Bound::of(USUAL_MEMORY));
            let kept = (0..SMALLEST as u64 / 2).filter(|&number| {
                let (low, high) = halves(number);
                let pretoken = of_halves(low, high);
                let key = key_of(&pretoken);
                table.insert(key, table.place(key), &pretoken, &[1])
            });
            assert!(kept.count() > SMALLEST / 2 * 99 / 100);
        }
    }

    /// A table that cannot grow.
    fn largest_table() -> Table {
        let bound = Bound::of(4 << 20);
        table(bound.entries, bound)
    }

    fn mark(table: &Table, number: usize) {
        let key = key_of(&learned(number).0);
        table.mark(&[key], &[table.place(key)]);
    }

    #[test]
    fn what_cannot_grow_is_followed_by_a_table_of_what_was_used() {
        for fills_arena in [false, true] {
            let table = largest_table();
            let kept = learn(&table, 1000..5000);
            let (used, unused): (Vec<_>, Vec<_>) =
                kept.into_iter().partition(|number| number % 3 == 0);
            used.iter().for_each(|&number| mark(&table, number));
            mark(&table, 9999);
            if fills_arena {
                table.arena.used.0.store(table.arena.words.len() + 1, Ordering::Relaxed);
            } else {
                table.taken(table.entries.len());
            }
            assert!(table.is_full());

            let next = table.successor().unwrap();
            assert!(next.is_largest() && !next.is_full());
            let found = used.iter().filter(|&&number| knows(&next, number)).count();
            assert!(nearly_all(found, used.len()));
            assert!(unused.iter().all(|&number| !knows(&next, number)));
            assert_eq!(next.used.0.load(Ordering::Relaxed), found);

            // What is not used again does not stay.
            mark(&next, used[0]);
            let last = next.successor().unwrap();
            assert!(used.iter().all(|&number| knows(&last, number) == (number == used[0])));
        }
    }

    #[test]
    fn if_all_was_used_half_of_the_room_is_free_again() {
        let table = largest_table();
        let entries = table.entries.len();
        for number in learn(&table, 1000..1000 + entries / 2) {
            mark(&table, number);
        }
        let next = table.successor().unwrap();
        let taken = next.used.0.load(Ordering::Relaxed);
        assert!((entries / 5..=entries / 4).contains(&taken), "{taken} of {entries}");
        assert!(next.arena.used.0.load(Ordering::Relaxed) < next.arena.words.len() * 5 / 8);
    }

    #[test]
    fn the_memory_of_a_machine_decides_that_of_its_caches() {
        assert!((LEAST_MEMORY..=MOST_MEMORY).contains(&default_memory()));
        assert_eq!(memory_on(None), 128 << 20);
        assert_eq!(memory_on(Some(4 << 30)), 128 << 20);
        assert_eq!(memory_on(Some(100 << 20)), 32 << 20);
        assert_eq!(memory_on(Some(usize::MAX)), 1 << 30);
    }

    #[test]
    fn a_cache_keeps_its_bound_whatever_it_learns() {
        for memory in [1 << 20, 3_000_000, 5 << 20] {
            let cache = Cache::new(&[], 0, Bound::of(memory)).unwrap();
            assert!(cache.memory() <= memory && cache.memory() > memory / 3);
            let mut table = cache.table();
            let (mut replaced, mut largest) = (0, 0);
            for number in (1000..100_000).step_by(100) {
                let current = table.unwrap();
                for number in number..number + 100 {
                    let (pretoken, ids) = learned(number);
                    let key = key_of(&pretoken);
                    current.taken(usize::from(current.insert(
                        key,
                        current.place(key),
                        &pretoken,
                        &ids,
                    )));
                }
                mark(&current, 1000);
                assert!(knows(&current, 1000));
                let bytes =
                    size_of_val(&current.entries[..]) + size_of_val(&current.arena.words[..]);
                largest = largest.max(bytes);
                let next = cache.renewed(Some(Arc::clone(&current)), 0).unwrap();
                replaced += usize::from(!Arc::ptr_eq(&next, &current));
                table = Some(next);
            }
            assert!(largest <= memory && replaced > 2, "{largest} of {memory}, {replaced}");
        }
    }
}
