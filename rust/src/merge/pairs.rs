//! The followed pairs: for each its count and the number of its list of positions.

use std::cmp::Ordering;

use super::tokens::Code;
use crate::error::{Error, Result};
use crate::key::HashSeed;
use crate::key::table::{HashTable, TableSlot};
use crate::memory::cells::Plain;

/// A followed pair: its key (no pair has key 0), its count, and the number of its list.
///
/// Packed, it takes 20 bytes and not 24: large vocabularies follow some millions of pairs.
#[derive(Clone, Copy, Default)]
#[repr(C, packed(4))]
pub struct Followed {
    pub key: u64,
    pub count: u64,
    pub list: u32,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for Followed {}

impl Followed {
    /// Compares by value: a field of a packed structure cannot be referred to.
    pub fn compare_counts(&self, other: &Self) -> Ordering {
        let (ours, theirs) = (self.count, other.count);
        ours.cmp(&theirs)
    }
}

impl TableSlot for Followed {
    #[inline(always)]
    fn is_free(&self) -> bool {
        self.key == 0
    }

    #[inline(always)]
    fn hash(&self, seed: HashSeed) -> u64 {
        seed.hash_number(self.key)
    }
}

/// The list number of a pair without a list of positions; its count is then an upper bound.
pub const UNLISTED: u32 = u32::MAX;

/// Returns both codes in one number, which is never 0: no symbol has code 0.
pub fn key_of(left: Code, right: Code) -> u64 {
    (u64::from(left) << 32) | u64::from(right)
}

/// Returns the codes of a key.
pub fn codes_of(key: u64) -> (Code, Code) {
    ((key >> 32) as Code, key as Code)
}

/// A table of followed pairs. Those that have fallen below the threshold, and have no list, may be
/// removed.
pub type PairTable = HashTable<Followed>;

impl PairTable {
    /// Prefetches the entry of a pair.
    pub fn prefetch_pair(&self, key: u64) {
        self.prefetch(&Followed { key, ..Followed::default() });
    }

    /// Returns the entry of a pair, if it is followed.
    #[inline(always)]
    pub fn pair(&mut self, key: u64) -> Option<&mut Followed> {
        self.find(&Followed { key, ..Followed::default() }, |pair| pair.key == key)
    }

    /// Returns the entry of a pair, and whether it is new: then it is `pair` itself.
    #[inline(always)]
    pub fn add(&mut self, pair: Followed, threshold: u64) -> Result<(&mut Followed, bool)> {
        if self.growth().is_some() {
            self.make_room(threshold)?;
        }
        self.insert(pair, |entry| entry.key == pair.key)
    }

    /// Removes what may be removed, and grows the table if it is still more than half full.
    #[cold]
    fn make_room(&mut self, threshold: u64) -> Result<()> {
        self.retain(|pair| pair.count >= threshold || pair.list != UNLISTED);
        if self.entries() > self.size() / 2 { self.grow() } else { Ok(()) }
    }
}

/// Returns the sum of two counts of a pair, with an overflow check.
///
/// Only counts of base pairs can overflow. Each occurrence of a later pair contains one of a base
/// pair, so a later count fits if those fitted.
pub fn sum(count: u64, more: u64) -> Result<u64> {
    count
        .checked_add(more)
        .ok_or_else(|| Error::Overflow("the count of a pair does not fit 64 bits".to_string()))
}
