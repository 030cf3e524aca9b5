//! Slots by hash: an open-addressing table that hostile texts cannot make slow.

use crate::error::Result;
use crate::key::{HashSeed, search};
use crate::memory;
use crate::prefetch::prefetch;

/// What lies in a table.
pub trait TableSlot: Copy + Default {
    /// Whether nothing lies here.
    fn is_free(&self) -> bool;

    fn hash(&self, seed: HashSeed) -> u64;
}

/// Slots in the order of hashes, so that growing moves them in order. (Each table has a seed of its own: what another one
/// holds comes in no order of this one's hashes, and so into no corner of it.)
pub struct HashTable<S> {
    slots: Vec<S>,
    len: usize,
    seed: HashSeed,
}

const FEWEST_SLOTS: usize = 256;

/// Above three quarters, searches grow long.
const FULL: (usize, usize) = (3, 4);

impl<S> Default for HashTable<S> {
    fn default() -> Self {
        Self { slots: Vec::new(), len: 0, seed: HashSeed::random() }
    }
}

impl<S: TableSlot> HashTable<S> {
    pub fn len(&self) -> usize {
        self.len
    }

    /// How many bytes the slots take.
    pub fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<S>()
    }

    /// How many bytes it takes to grow, if there is no room for another one.
    pub fn growth(&self) -> Option<usize> {
        (self.len * FULL.1 >= self.slots.len() * FULL.0).then(|| self.memory())
    }

    /// Make room for others; there may be none so far.
    pub fn grow(&mut self) -> Result<()> {
        self.resize((self.slots.len() * 2).max(FEWEST_SLOTS))
    }

    /// All slots; in some nothing lies.
    pub fn into_slots(self) -> Vec<S> {
        self.slots
    }

    /// All that lies here.
    pub fn iter(&self) -> impl Iterator<Item = &S> {
        self.slots.iter().filter(|slot| !slot.is_free())
    }

    /// Bring the place of a slot into the processor's cache.
    #[inline(always)]
    pub fn prefetch(&self, slot: &S) {
        prefetch(&self.slots, self.home(slot));
    }

    /// The slot that holds the same as this one, as `is_same` says; if there is none, this one is put there.
    #[inline(always)]
    pub fn find_or_put(&mut self, slot: S, is_same: impl Fn(&S) -> bool) -> Result<Option<&mut S>> {
        let place = match search(&self.slots, self.home(&slot), S::is_free, &is_same) {
            Some(place) => place,
            None => self.search_anew(&slot, &is_same)?,
        };
        let found = &mut self.slots[place];
        if !found.is_free() {
            return Ok(Some(found));
        }
        *found = slot;
        self.len += 1;
        Ok(None)
    }

    /// Where the search for a slot begins.
    #[inline(always)]
    fn home(&self, slot: &S) -> usize {
        (slot.hash(self.seed) >> (64 - self.slots.len().trailing_zeros())) as usize
    }

    /// Too many lie where this one belongs: with another seed they do not.
    #[cold]
    fn search_anew(&mut self, slot: &S, is_same: &impl Fn(&S) -> bool) -> Result<usize> {
        loop {
            self.seed = HashSeed::random();
            self.resize(self.slots.len())?;
            if let Some(place) = search(&self.slots, self.home(slot), S::is_free, is_same) {
                return Ok(place);
            }
        }
    }

    /// Put everything into a table of so many slots, a power of two.
    fn resize(&mut self, slots: usize) -> Result<()> {
        let old = std::mem::replace(&mut self.slots, memory::filled(S::default(), slots)?);
        while !old.iter().filter(|slot| !slot.is_free()).all(|slot| {
            let place = search(&self.slots, self.home(slot), S::is_free, |_| false);
            place.map(|place| self.slots[place] = *slot).is_some()
        }) {
            self.seed = HashSeed::random();
            self.slots.fill(S::default());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::LONGEST_SEARCH;

    #[derive(Clone, Copy, Default)]
    struct Number(u64);

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
                assert!(table.find_or_put(Number(number), |slot| slot.0 == number).unwrap().is_none());
            }
            table
        }

        /// How many slots are looked at to find everything.
        fn steps(&self) -> usize {
            let steps = |(place, slot): (usize, &Number)| {
                1 + (place + self.slots.len() - self.home(slot)) % self.slots.len()
            };
            self.slots.iter().enumerate().filter(|(_, slot)| !slot.is_free()).map(steps).sum()
        }
    }

    /// Numbers that all belong to one slot of a table of 16,384 with this seed.
    fn chosen(seed: HashSeed, count: usize) -> Vec<u64> {
        (1..).filter(|&number| seed.hash_number(number) >> 50 == 5).take(count).collect()
    }

    #[test]
    fn numbers_chosen_without_the_seed_are_found_as_fast_as_others() {
        let numbers = chosen(HashSeed::random(), 3000);
        let table = HashTable::with(HashSeed::random(), &numbers);
        assert!(table.steps() < 4 * numbers.len(), "{} steps", table.steps());
    }

    #[test]
    fn numbers_chosen_with_the_seed_make_the_table_draw_another_one() {
        let seed = HashSeed::random();
        let numbers = chosen(seed, 2 * LONGEST_SEARCH);
        let table = HashTable::with(seed, &numbers);
        assert_ne!(table.seed, seed);
        assert!(table.steps() < 4 * numbers.len(), "{} steps", table.steps());
        assert_eq!(table.len(), numbers.len());
        let mut held: Vec<u64> = table.iter().map(|slot| slot.0).collect();
        held.sort_unstable();
        assert_eq!(held, numbers);
    }

    #[test]
    fn growing_with_a_seed_that_is_known_ends_too() {
        let seed = HashSeed::random();
        let numbers: Vec<u64> =
            (1..).filter(|&number| seed.hash_number(number) >> 53 == 5).take(LONGEST_SEARCH + 100).collect();
        let mut table = HashTable::with(HashSeed::random(), &numbers);
        table.seed = seed;
        table.grow().unwrap();
        assert_ne!(table.seed, seed);
        assert_eq!(table.iter().count(), numbers.len());
    }
}
