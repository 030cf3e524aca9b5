//! The followed pairs: for each its count and the number of its list of positions.
//!
//! A hash table with open addressing. If too many keys collide, it is rebuilt with another random seed.

use super::tokens::Code;
use crate::error::{Error, Result};
use crate::key::{HashSeed, search};
use crate::memory::cells::{Cells, Content, Plain};
use crate::prefetch::prefetch;

/// A hash table of pairs, which are never removed, with the number of each pair's list.
///
/// Keys and counts share cache lines because every merge lowers counts; lists are read far less often.
pub struct PairTable {
    pairs: Cells<Pair>,
    lists: Cells<u32>,
    len: usize,
    shift: u32,
    seed: HashSeed,
}

/// A pair and its count; no pair has key 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    pub key: u64,
    pub count: u64,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for Pair {}

/// The list number of a pair without a list of positions; its count is then an upper bound.
pub const UNLISTED: u32 = u32::MAX;

const SMALLEST: usize = 1 << 8;
/// The maximum load factor, as a fraction.
const MAX_LOAD: (usize, usize) = (5, 8);

/// Both codes in one number; never 0, because no symbol has code 0.
pub fn key_of(left: Code, right: Code) -> u64 {
    (u64::from(left) << 32) | u64::from(right)
}

/// The codes of a key.
pub fn codes_of(key: u64) -> (Code, Code) {
    ((key >> 32) as Code, key as Code)
}

impl PairTable {
    /// A table that holds `pairs` pairs without growing.
    pub fn with_capacity(pairs: usize) -> Result<Self> {
        Self::with_seed(pairs, HashSeed::of_process())
    }

    fn with_seed(pairs: usize, seed: HashSeed) -> Result<Self> {
        let size = (pairs * MAX_LOAD.1 / MAX_LOAD.0 + 1).next_power_of_two().max(SMALLEST);
        Ok(Self {
            pairs: Cells::new(size, Content::LateZeros)?,
            lists: Cells::new(size, Content::LateZeros)?,
            len: 0,
            shift: 64 - size.trailing_zeros(),
            seed,
        })
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The size of the table.
    pub fn places(&self) -> usize {
        self.pairs.len()
    }

    /// All pairs and lists.
    pub fn iter(&self) -> impl Iterator<Item = (Pair, u32)> {
        self.pairs
            .iter()
            .zip(self.lists.iter())
            .filter(|(pair, _)| pair.key != 0)
            .map(|(&pair, &list)| (pair, list))
    }

    /// The lists of the pairs with a count below the threshold.
    pub fn lists_below(&mut self, threshold: u64) -> impl Iterator<Item = &mut u32> {
        let entries = self.pairs.iter().zip(self.lists.iter_mut());
        entries.filter(move |(pair, _)| pair.key != 0 && pair.count < threshold).map(|(_, list)| list)
    }

    /// Prefetches the entry of a pair.
    pub fn prefetch(&self, key: u64) {
        prefetch(&self.pairs, self.home(key));
    }

    /// The index of a pair in the table, valid until the next insertion.
    pub fn find(&self, key: u64) -> Option<usize> {
        self.place(key).filter(|&at| self.pairs[at].key != 0)
    }

    /// The pair's index; a new pair has count 0 and list 0.
    #[inline]
    pub fn insert(&mut self, key: u64) -> Result<usize> {
        if self.len * MAX_LOAD.1 >= self.pairs.len() * MAX_LOAD.0 {
            self.refill(self.len * 2, self.seed)?;
        }
        let Some(at) = self.place(key) else {
            self.refill(self.len, HashSeed::random())?;
            return self.insert(key);
        };
        if self.pairs[at].key == 0 {
            self.len += 1;
            self.pairs[at].key = key;
        }
        Ok(at)
    }

    pub fn count(&self, at: usize) -> u64 {
        self.pairs[at].count
    }

    pub fn count_mut(&mut self, at: usize) -> &mut u64 {
        &mut self.pairs[at].count
    }

    pub fn list(&self, at: usize) -> u32 {
        self.lists[at]
    }

    pub fn list_mut(&mut self, at: usize) -> &mut u32 {
        &mut self.lists[at]
    }

    /// The index where the search for a key begins.
    fn home(&self, key: u64) -> usize {
        (self.seed.hash_number(key) >> self.shift) as usize
    }

    /// The index where the key is, or belongs; `None` if the search became too long.
    fn place(&self, key: u64) -> Option<usize> {
        search(&self.pairs, self.home(key), |pair| pair.key == 0, |pair| pair.key == key)
    }

    /// Moves all pairs to a table with room for `pairs` pairs.
    #[cold]
    fn refill(&mut self, pairs: usize, mut seed: HashSeed) -> Result<()> {
        let mut other = Self::with_seed(pairs, seed)?;
        while !self.copy_to(&mut other) {
            seed = HashSeed::random();
            other = Self::with_seed(pairs, seed)?;
        }
        *self = other;
        Ok(())
    }

    /// Copies all pairs to an empty table; false if too many of them collide.
    fn copy_to(&self, other: &mut Self) -> bool {
        other.len = self.len;
        self.iter().all(|(pair, list)| {
            let place = other.place(pair.key);
            place.map(|at| (other.pairs[at], other.lists[at]) = (pair, list)).is_some()
        })
    }
}

/// Adds to the count of a pair, with an overflow check.
///
/// Only counts of base pairs can overflow. Each occurrence of a later pair contains one of a base pair, so a later
/// count fits if those fitted.
pub fn add(count: &mut u64, more: u64) -> Result<()> {
    *count = count
        .checked_add(more)
        .ok_or_else(|| Error::Overflow("the count of a pair does not fit 64 bits".to_string()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::LONGEST_SEARCH;

    /// The number of entries that lookups of all pairs visit.
    fn steps(table: &PairTable) -> usize {
        let size = table.places();
        let steps = |(at, pair): (usize, &Pair)| 1 + (at + size - table.home(pair.key)) % size;
        table.pairs.iter().enumerate().filter(|(_, pair)| pair.key != 0).map(steps).sum()
    }

    #[test]
    fn pairs_that_collide_under_one_seed_make_the_table_draw_another() {
        let seed = HashSeed::random();
        let chosen = (1..).filter(|&key| seed.hash_number(key) >> 52 == 5);
        let chosen: Vec<u64> = chosen.take(2 * LONGEST_SEARCH).collect();
        for first in [seed, HashSeed::random()] {
            let mut table = PairTable::with_seed(chosen.len(), first).unwrap();
            for &key in &chosen {
                let place = table.insert(key).unwrap();
                *table.count_mut(place) += key;
            }
            assert_ne!(table.seed, seed);
            assert_eq!(table.len, chosen.len());
            assert!(chosen.iter().all(|&key| table.find(key).is_some_and(|place| table.count(place) == key)));
            assert!(steps(&table) < 4 * chosen.len(), "{} steps", steps(&table));
        }
    }
}
