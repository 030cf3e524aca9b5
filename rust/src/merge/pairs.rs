//! The followed pairs: for each its count and the number of its list of positions.

use super::tokens::Code;
use crate::error::{Error, Result};
use crate::key::HashSeed;
use crate::key::table::{HashTable, TableSlot};
use crate::memory::cells::Plain;

/// A pair and its count; no pair has key 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    pub key: u64,
    pub count: u64,
}

/// A followed pair, and the number of its list.
#[derive(Clone, Copy, Default)]
pub struct Followed {
    key: u64,
    pub count: u64,
    pub list: u32,
}

// SAFETY: it consists of integers and padding, for which any bytes are valid.
unsafe impl Plain for Followed {}

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

impl Followed {
    #[inline(always)]
    pub fn key(&self) -> u64 {
        self.key
    }

    pub fn pair(&self) -> Pair {
        Pair { key: self.key, count: self.count }
    }
}

/// The list number of a pair without a list of positions; its count is then an upper bound.
pub const UNLISTED: u32 = u32::MAX;

/// Both codes in one number; never 0, because no symbol has code 0.
pub fn key_of(left: Code, right: Code) -> u64 {
    (u64::from(left) << 32) | u64::from(right)
}

/// The codes of a key.
pub fn codes_of(key: u64) -> (Code, Code) {
    ((key >> 32) as Code, key as Code)
}

/// A table of followed pairs, which are never removed.
pub struct PairTable {
    pairs: HashTable<Followed>,
}

impl PairTable {
    /// A table that holds so many pairs without growing.
    pub fn with_capacity(pairs: usize) -> Result<Self> {
        Ok(Self { pairs: HashTable::with_capacity(pairs)? })
    }

    /// The size of the table.
    pub fn size(&self) -> usize {
        self.pairs.size()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Followed> {
        self.pairs.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Followed> {
        self.pairs.iter_mut()
    }

    /// Prefetches the entry of a pair.
    pub fn prefetch(&self, key: u64) {
        self.pairs.prefetch(&Followed { key, ..Followed::default() });
    }

    #[inline(always)]
    pub fn find(&self, key: u64) -> Option<&Followed> {
        self.pairs.find(&Followed { key, ..Followed::default() }, |pair| pair.key == key)
    }

    #[inline(always)]
    pub fn find_mut(&mut self, key: u64) -> Option<&mut Followed> {
        self.pairs.find_mut(&Followed { key, ..Followed::default() }, |pair| pair.key == key)
    }

    /// The entry of a pair, and whether it is new: then its count is 0.
    #[inline(always)]
    pub fn insert(&mut self, key: u64) -> Result<(&mut Followed, bool)> {
        self.pairs.make_room()?;
        self.pairs.insert(Followed { key, ..Followed::default() }, |pair| pair.key == key)
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
