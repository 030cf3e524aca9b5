//! A hash table with open addressing that a hostile text cannot make slow.
//!
//! Slots are ordered by the first bits of their hashes, so growing moves them in order. Each table
//! has its own random seed: the entries of another table, in their order, do not cluster here. If a
//! search becomes too long, the table is rebuilt with a new seed.

use super::{HashSeed, search};
use crate::error::Result;
use crate::memory::cells::{Cells, Plain};
use crate::prefetch::prefetch;

/// An entry of a table. One that consists of zeros is free, and the default.
pub trait TableSlot: Copy + Default + Plain {
    /// Whether the slot is free.
    fn is_free(&self) -> bool;

    /// Returns the hash of an entry.
    fn hash(&self, seed: HashSeed) -> u64;
}

/// The table.
pub struct HashTable<S> {
    slots: Cells<S>,
    /// The number of entries.
    len: usize,
    /// With this many entries, the table must grow before the next one.
    most: usize,
    seed: HashSeed,
}

/// The minimum number of slots; tiny in tests, so that tables often have no room.
const MIN_SLOTS: usize = if cfg!(test) { 8 } else { 256 };

/// A table of fewer bytes is small.
const SMALL: usize = 1 << 20;

/// The maximum load factor, as a fraction: above it, searches become long.
const MAX_LOAD: (usize, usize) = (3, 4);

/// Returns the number of entries with which this many slots are full.
fn most_entries(slots: usize) -> usize {
    (slots * MAX_LOAD.0).div_ceil(MAX_LOAD.1)
}

impl<S> Default for HashTable<S> {
    fn default() -> Self {
        Self { slots: Cells::default(), len: 0, most: 0, seed: HashSeed::random() }
    }
}

impl<S: TableSlot> HashTable<S> {
    /// Returns a table that holds this many entries before it grows.
    pub fn with_capacity(entries: usize) -> Result<Self> {
        let slots = (entries * MAX_LOAD.1 / MAX_LOAD.0 + 1).max(MIN_SLOTS);
        Ok(Self { slots: Cells::cleared(slots)?, most: most_entries(slots), ..Self::default() })
    }

    /// Returns the number of entries.
    pub fn entries(&self) -> usize {
        self.len
    }

    /// Returns the number of slots.
    pub fn size(&self) -> usize {
        self.slots.len()
    }

    /// Returns the size of the slots in bytes.
    pub fn memory(&self) -> usize {
        size_of_val(&self.slots[..])
    }

    /// Returns the bytes that growing takes, if the table must grow before the next entry.
    pub fn growth(&self) -> Option<usize> {
        (self.len >= self.most).then(|| self.more() * size_of::<S>())
    }

    /// Makes the table larger.
    pub fn grow(&mut self) -> Result<()> {
        self.resize((self.slots.len() + self.more()).max(MIN_SLOTS))
    }

    /// Returns the number of slots to add. A small table becomes twice as large. A large one grows
    /// by half, which takes little more time, and less memory.
    fn more(&self) -> usize {
        if self.memory() < SMALL { self.slots.len() } else { self.slots.len() / 2 }
    }

    /// Returns all slots, including the free ones.
    pub fn slots(&self) -> &[S] {
        &self.slots
    }

    /// Returns all entries.
    pub fn iter(&self) -> impl Iterator<Item = &S> {
        self.slots.iter().filter(|slot| !slot.is_free())
    }

    /// The same, to change them, except for what their hashes and `is_free` depend on.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut S> {
        self.slots.iter_mut().filter(|slot| !slot.is_free())
    }

    /// Prefetches the place of an entry.
    #[inline(always)]
    pub fn prefetch(&self, slot: &S) {
        prefetch(&self.slots, self.home(slot));
    }

    /// Returns the entry for which `is_same` holds, among those with the hash of `slot`, to change
    /// it, except for what its hash and `is_free` depend on.
    #[inline(always)]
    pub fn find(&mut self, slot: &S, is_same: impl Fn(&S) -> bool) -> Option<&mut S> {
        let place = search(&self.slots, self.home(slot), S::is_free, is_same)?;
        Some(&mut self.slots[place]).filter(|slot| !slot.is_free())
    }

    /// Returns the entry for which `is_same` holds, and whether it is new: if there was none,
    /// `slot` is added. There must be room.
    #[inline(always)]
    pub fn insert(&mut self, slot: S, is_same: impl Fn(&S) -> bool) -> Result<(&mut S, bool)> {
        let place = match search(&self.slots, self.home(&slot), S::is_free, &is_same) {
            Some(place) => place,
            None => self.reseed_and_search(&slot, &is_same)?,
        };
        let entry = &mut self.slots[place];
        let is_new = entry.is_free();
        if is_new {
            *entry = slot;
            self.len += 1;
        }
        Ok((entry, is_new))
    }

    /// Removes the entries that are not kept. The others stay or move towards their homes, so that
    /// searches still find them.
    pub fn retain(&mut self, keep: impl Fn(&S) -> bool) {
        let Some(free) = self.slots.iter().position(S::is_free) else { return };
        // From a free slot on, which no search passes: so entries are moved in the order in which
        // searches visit them.
        for place in (free + 1..self.slots.len()).chain(0..free) {
            let slot = std::mem::take(&mut self.slots[place]);
            if slot.is_free() {
                continue;
            }
            if keep(&slot) {
                let new = search(&self.slots, self.home(&slot), S::is_free, |_| false);
                self.slots[new.unwrap_or(place)] = slot;
            } else {
                self.len -= 1;
            }
        }
    }

    /// Returns the index where the search for an entry begins.
    #[inline(always)]
    fn home(&self, slot: &S) -> usize {
        ((u128::from(slot.hash(self.seed)) * self.slots.len() as u128) >> 64) as usize
    }

    /// Rebuilds the table with new seeds until the search is short enough.
    #[cold]
    fn reseed_and_search(&mut self, slot: &S, is_same: &impl Fn(&S) -> bool) -> Result<usize> {
        loop {
            self.seed = HashSeed::random();
            self.resize(self.slots.len())?;
            if let Some(place) = search(&self.slots, self.home(slot), S::is_free, is_same) {
                return Ok(place);
            }
        }
    }

    /// Moves all entries to a table of `slots` slots, with new seeds until no search is too long.
    fn resize(&mut self, slots: usize) -> Result<()> {
        let old = std::mem::replace(&mut self.slots, Cells::cleared(slots)?);
        self.most = most_entries(slots);
        while !self.copy_all(&old) {
            self.seed = HashSeed::random();
            self.slots.fill(S::default());
        }
        Ok(())
    }

    /// Copies the entries of another table to this one, which is empty. Returns false if a search
    /// became too long.
    fn copy_all(&mut self, slots: &[S]) -> bool {
        for slot in slots {
            if slot.is_free() {
                continue;
            }
            let Some(place) = search(&self.slots, self.home(slot), S::is_free, |_| false) else {
                return false;
            };
            self.slots[place] = *slot;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::LONGEST_SEARCH;

    #[derive(Clone, Copy, Default)]
    struct Number(u64);

    // SAFETY: any eight bytes are a valid integer.
    unsafe impl Plain for Number {}

    impl TableSlot for Number {
        fn is_free(&self) -> bool {
            self.0 == 0
        }

        fn hash(&self, seed: HashSeed) -> u64 {
            seed.hash_number(self.0)
        }
    }

    impl HashTable<Number> {
        fn with(seed: HashSeed, numbers: &[u64]) -> Self {
            let mut table = Self { seed, ..Self::default() };
            for &number in numbers {
                if table.growth().is_some() {
                    table.grow().unwrap();
                }
                assert!(table.insert(Number(number), |slot| slot.0 == number).unwrap().1);
            }
            table
        }

        /// The number of slots that lookups of all entries visit.
        fn steps(&self) -> usize {
            let steps = |(place, slot): (usize, &Number)| {
                1 + (place + self.slots.len() - self.home(slot)) % self.slots.len()
            };
            self.slots.iter().enumerate().filter(|(_, slot)| !slot.is_free()).map(steps).sum()
        }
    }

    /// Numbers that all have the same home slot in a table of 16,384 slots with this seed.
    fn chosen(seed: HashSeed, count: usize) -> Vec<u64> {
        (1..).filter(|&number| seed.hash_number(number) >> 50 == 5).take(count).collect()
    }

    #[test]
    fn numbers_that_collide_under_another_seed_are_found_as_fast_as_others() {
        let numbers = chosen(HashSeed::random(), 3000);
        let table = HashTable::with(HashSeed::random(), &numbers);
        assert!(table.steps() < 4 * numbers.len(), "{} steps", table.steps());
    }

    #[test]
    fn numbers_that_collide_make_the_table_draw_another_seed() {
        let seed = HashSeed::random();
        let numbers = chosen(seed, 2 * LONGEST_SEARCH);
        let table = HashTable::with(seed, &numbers);
        assert_ne!(table.seed, seed);
        assert!(table.steps() < 4 * numbers.len(), "{} steps", table.steps());
        assert_eq!(table.entries(), numbers.len());
        let mut entries: Vec<u64> = table.iter().map(|slot| slot.0).collect();
        entries.sort_unstable();
        assert_eq!(entries, numbers);
    }

    #[test]
    fn entries_that_are_kept_are_found_after_others_were_removed() {
        for count in [1, 100, 191, 1000, 5000] {
            let numbers: Vec<u64> = (1..=count).collect();
            let mut table = HashTable::with(HashSeed::random(), &numbers);
            let size = table.size();
            table.retain(|slot| slot.0 % 3 == 0);
            assert_eq!((table.entries() as u64, table.size()), (count / 3, size));
            for number in numbers {
                let found = table.find(&Number(number), |slot| slot.0 == number).is_some();
                assert_eq!(found, number % 3 == 0, "{number} of {count}");
            }
        }
    }

    #[test]
    fn growing_ends_even_where_the_seed_makes_entries_collide() {
        let seed = HashSeed::random();
        let numbers: Vec<u64> = (1..)
            .filter(|&number| seed.hash_number(number) >> 53 == 5)
            .take(LONGEST_SEARCH + 100)
            .collect();
        let mut table = HashTable::with(HashSeed::random(), &numbers);
        table.seed = seed;
        table.grow().unwrap();
        assert_ne!(table.seed, seed);
        assert_eq!(table.iter().count(), numbers.len());
    }
}
