//! The followed pairs: their counts, and where the lists of their positions lie.

use super::tokens::Code;
use crate::error::{Error, Result};

/// What is known about a pair.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    key: u64,
    /// How often the pair occurs; an upper bound while `list` is `None`.
    pub count: u64,
    /// Where in the arena the positions lie at which the pair was seen; some may no longer hold.
    pub list: Option<List>,
}

/// A part of the arena of positions.
#[derive(Clone, Copy, Debug, Default)]
pub struct List {
    pub start: usize,
    pub len: u32,
}

impl List {
    pub fn range(self) -> std::ops::Range<usize> {
        self.start..self.start + self.len as usize
    }
}

/// A hash table with open addressing; a pair is never taken out of it.
pub struct PairTable {
    entries: Vec<Pair>,
    len: usize,
    shift: u32,
}

const EMPTY: Pair = Pair { key: 0, count: 0, list: None };
const SMALLEST: usize = 1 << 8;

/// Both codes in one number, never 0 because no symbol's code is 0.
pub fn key_of(left: Code, right: Code) -> u64 {
    (u64::from(left) << 32) | u64::from(right)
}

impl Pair {
    pub fn codes(&self) -> (Code, Code) {
        ((self.key >> 32) as Code, self.key as Code)
    }
}

impl PairTable {
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// A table that holds `pairs` pairs without growing.
    pub fn with_capacity(pairs: usize) -> Self {
        let size = (pairs * 2).next_power_of_two().max(SMALLEST);
        Self { entries: vec![EMPTY; size], len: 0, shift: 64 - size.trailing_zeros() }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Pair> {
        self.entries.iter().filter(|pair| pair.key != 0)
    }

    pub fn get_mut(&mut self, left: Code, right: Code) -> Option<&mut Pair> {
        let at = self.place(key_of(left, right));
        let pair = &mut self.entries[at];
        (pair.key != 0).then_some(pair)
    }

    /// The entry of a pair, made if there is none.
    pub fn entry(&mut self, left: Code, right: Code) -> &mut Pair {
        if self.len * 2 >= self.entries.len() {
            self.grow();
        }
        let key = key_of(left, right);
        let at = self.place(key);
        if self.entries[at].key == 0 {
            self.len += 1;
            self.entries[at].key = key;
        }
        &mut self.entries[at]
    }

    /// The slot where the key is, or where it would go.
    fn place(&self, key: u64) -> usize {
        let mask = self.entries.len() - 1;
        let mut at = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize;
        while self.entries[at].key != key && self.entries[at].key != 0 {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let mut larger = Self::with_capacity(self.len * 2);
        for &pair in self.iter() {
            let at = larger.place(pair.key);
            larger.entries[at] = pair;
        }
        larger.len = self.len;
        *self = larger;
    }
}

/// Adds to a count of pairs.
///
/// Counts of words are added up here once, when pairs are first counted. Each later pair lies across the
/// boundary of two base symbols, so a count that fits there fits everywhere after.
pub fn add(count: &mut u64, more: u64) -> Result<()> {
    *count = count
        .checked_add(more)
        .ok_or_else(|| Error::Overflow("the count of a pair does not fit 64 bits".to_string()))?;
    Ok(())
}
