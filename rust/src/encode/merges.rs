//! The merges of a vocabulary: what joins two neighbouring tokens, and when.
//!
//! - [`MergeTable`] is a hash table from pairs of ids to rank and resulting id, with one or two
//!   loads per lookup.
//! - [`BytePair`] answers the same for pairs of bytes, by which every pretoken begins, with one
//!   load. It also knows which pairs are merged wherever they are between some neighbours, and so
//!   may be merged at once.
//! - [`Merges::certain_character`] knows this of characters of three bytes.

use crate::error::{Error, Result};
use crate::key::{HashSeed, search};
use crate::memory;
use crate::memory::cells::{Cells, Plain};
use crate::prefetch::prefetch;
use crate::tokens::TokenBytes;

/// Ranks are packed with positions in one number, so they are limited to this many bits: 67 million
/// merges.
pub const RANK_BITS: u32 = 26;
const RANK_SHIFT: u32 = u64::BITS - RANK_BITS;

/// A merge: its rank in the highest bits, the id of its token in the lowest 32, and zeros between
/// them. So the smaller number has the lower rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Merge(u64);

impl Merge {
    /// No merge.
    pub const NONE: Self = Self(u64::MAX);

    fn new(rank: u32, id: u32) -> Self {
        Self(u64::from(rank) << RANK_SHIFT | u64::from(id))
    }

    pub fn rank(self) -> u32 {
        (self.0 >> RANK_SHIFT) as u32
    }

    pub fn id(self) -> u32 {
        self.0 as u32
    }

    /// Adds a place, a number below 64, between rank and id. `NONE` has no place.
    #[inline]
    pub fn at(self, place: usize) -> Self {
        Self(self.0 | (place as u64) << u32::BITS)
    }

    /// The place that was added.
    #[inline]
    pub fn place(self) -> usize {
        (self.0 >> u32::BITS) as usize % (1 << (u32::BITS - RANK_BITS))
    }
}

/// A pair whose slot is being fetched.
#[derive(Clone, Copy)]
pub struct AskedPair {
    pair: u64,
    hash: u64,
}

#[derive(Clone, Copy)]
struct MergeSlot {
    pair: u64,
    merge: Merge,
}

// SAFETY: any bytes are two numbers.
unsafe impl Plain for MergeSlot {}

const EMPTY: MergeSlot = MergeSlot { pair: 0, merge: Merge::NONE };

/// Two neighbouring bytes, and when merges join them or take one of them away.
#[derive(Clone, Copy)]
pub struct BytePair {
    /// The rank of the merge of the two, with the bit `LATE` if a merge of its token has a lower
    /// one; without a merge, `u32::MAX`.
    rank: u32,
    /// The token of the merge. Without one, `LATE` if there are merges of its token, and `JOINED`
    /// if some merge joins a token that ends with the first byte and one that begins with the
    /// second.
    id: u32,
    /// The lowest rank of merges that join the second byte to a token that ends with the first one;
    /// `LATE` for none.
    takes_second: u32,
    /// The lowest rank of merges that join the first byte to a token that begins with the second
    /// one; `LATE` for none.
    takes_first: u32,
}

// SAFETY: any bytes are four numbers.
unsafe impl Plain for BytePair {}

/// More than any rank.
const LATE: u32 = 1 << 31;
const JOINED: u32 = 1;

impl BytePair {
    pub const NONE: Self = Self { rank: u32::MAX, id: 0, takes_second: LATE, takes_first: LATE };

    /// The merge of the two bytes, or none.
    #[inline]
    pub fn merge(self) -> Merge {
        if self.rank == u32::MAX { Merge::NONE } else { Merge::new(self.rank & !LATE, self.id) }
    }

    /// Whether some merge crosses the place between the two. If not, a pretoken may be cut there.
    #[inline]
    pub fn are_joined(self) -> bool {
        self.rank != u32::MAX || self.id & JOINED != 0
    }

    /// Whether the two are merged wherever they stand between these pairs: no merge takes one of
    /// them away before, and none could use their token before. So they may be merged at once.
    #[inline]
    pub fn is_certain(self, before: Self, behind: Self) -> bool {
        // Among equals, the leftmost is first.
        self.rank < before.takes_second && self.rank <= behind.takes_first
    }
}

/// The lowest first byte of a character of three bytes, and the number of these characters, like
/// that of pairs of bytes.
pub const FIRST_OF_THREE: u8 = 0xE0;
const CHARACTERS: usize = 1 << 16;

/// The last merge of a character of three bytes, of which the first two are merged before.
#[derive(Clone, Copy)]
struct CharacterMerge {
    id: u32,
    rank: u32,
    /// Whether a merge that joins the first two bytes to a token of which the last byte is ASCII
    /// comes before.
    may_join_ascii: bool,
}

/// What is collected from a list of merges to know the characters that are merged wherever they
/// are.
struct CharacterSearch {
    /// The lowest ranks of merges that join two bytes, as one token, to a token before them: one
    /// that ends with ASCII, or another.
    joins_ascii: Vec<u32>,
    joins_other: Vec<u32>,
    /// The lowest ranks of merges of each character's token.
    uses: Vec<u32>,
    merges: Vec<MergedCharacter>,
}

/// A merge that makes a character: the number of the character, its first two bytes and the id of
/// their token.
struct MergedCharacter {
    character: usize,
    start: [u8; 2],
    left: u32,
    id: u32,
    rank: u32,
}

impl CharacterSearch {
    fn new() -> Result<Self> {
        let none = || memory::filled(LATE, CHARACTERS);
        Ok(Self { joins_ascii: none()?, joins_other: none()?, uses: none()?, merges: Vec::new() })
    }

    /// Sees a merge of tokens with these bytes.
    #[inline]
    fn see(&mut self, rank: u32, left: &[u8], right: &[u8]) {
        if let &[first, second] = right {
            let is_joined_to_ascii = left.last().is_some_and(u8::is_ascii);
            let joins =
                if is_joined_to_ascii { &mut self.joins_ascii } else { &mut self.joins_other };
            let lowest = &mut joins[two(first, second)];
            *lowest = rank.min(*lowest);
        }
        for token in [left, right] {
            if let &[first, second, third] = token
                && let Some(character) = character_of([first, second, third])
            {
                self.uses[character] = rank.min(self.uses[character]);
            }
        }
    }
}

/// The base ids and the merges of a vocabulary.
pub struct Merges {
    base: Box<[u32; 256]>,
    /// All pairs of bytes, by whose merges every pretoken begins.
    of_bytes: Cells<BytePair>,
    /// For the characters of three bytes that are merged wherever they stand between some
    /// neighbours (see `certain_character`), one more than the index of their merge, which most
    /// texts have few of; 0 for others.
    characters: Cells<u16>,
    of_characters: Vec<CharacterMerge>,
    pub pairs: MergeTable,
}

impl Merges {
    /// From rows of left id, right id and resulting id, and the rank of each, in ascending order.
    ///
    /// A pair may be listed again with the same result (the first rank counts), but not with
    /// another one.
    pub fn new(
        base: Box<[u32; 256]>,
        rows: &[[u32; 3]],
        ranks: &[u32],
        tokens: &TokenBytes,
    ) -> Result<Self> {
        if rows.len() >= 1 << RANK_BITS {
            return Err(Error::Value(format!(
                "{} merges are more than the engine supports",
                rows.len()
            )));
        }
        let mut merges = Self {
            base,
            of_bytes: Cells::new(1 << 16)?,
            characters: Cells::new(CHARACTERS)?,
            of_characters: Vec::new(),
            pairs: MergeTable::new(rows, ranks)?,
        };
        merges.of_bytes.fill(BytePair::NONE);
        let mut characters = CharacterSearch::new()?;
        for ((place, &row), &rank) in rows.iter().enumerate().zip(ranks) {
            check_spelling(place, row, tokens)?;
            merges.join(rank, row, tokens, &mut characters)?;
        }
        merges.add_characters(&characters)?;
        Ok(merges)
    }

    /// Some of these merges, with the same tokens for bytes.
    pub fn of_rows(&self, rows: &[[u32; 3]], ranks: &[u32], tokens: &TokenBytes) -> Result<Self> {
        Self::new(self.base.clone(), rows, ranks, tokens)
    }

    /// Adds the characters that are merged before anything else is merged with their first two
    /// bytes, or with their token.
    fn add_characters(&mut self, search: &CharacterSearch) -> Result<()> {
        for &MergedCharacter { character, start: [first, second], left, id, rank } in &search.merges
        {
            let start = self.of_bytes(first, second);
            let start_is_left = start.rank <= rank && start.id == left;
            let is_before_joins = rank < search.joins_other[two(first, second)];
            let is_first = is_before_joins && rank < search.uses[character];
            if self.characters[character] != 0 || !start_is_left || !is_first {
                continue;
            }
            // Without a number, the characters that follow are merged like any other text.
            let Ok(number) = u16::try_from(self.of_characters.len() + 1) else { break };
            let may_join_ascii = rank >= search.joins_ascii[two(first, second)];
            memory::push(&mut self.of_characters, CharacterMerge { id, rank, may_join_ascii })?;
            self.characters[character] = number;
        }
        Ok(())
    }

    /// The token of a character of three bytes that is merged wherever it is between its
    /// neighbours, the byte before it and the pair of its last byte and the one behind it, if its
    /// first two bytes are:
    ///
    /// 1. These two are merged before anything else that takes one of them away.
    /// 2. Their token is not joined to a token before it, nor the third byte to one behind it,
    ///    before both are merged.
    /// 3. No merge of the character's token comes before its own, so it may as well be there from
    ///    the start.
    #[inline(always)]
    pub fn certain_character(
        &self,
        before: Option<u8>,
        bytes: [u8; 3],
        behind: BytePair,
    ) -> Option<u32> {
        let number = self.characters[character_of(bytes)?];
        let merge = self.of_characters.get(usize::from(number).wrapping_sub(1))?;
        let is_taken_before = merge.may_join_ascii && before.is_some_and(|byte| byte.is_ascii());
        // Among equals, the leftmost is first.
        (!is_taken_before && merge.rank <= behind.takes_first).then_some(merge.id)
    }

    /// Records what a merge does with bytes; other pairs inside its token belong to other merges.
    fn join(
        &mut self,
        rank: u32,
        [left, right, id]: [u32; 3],
        tokens: &TokenBytes,
        search: &mut CharacterSearch,
    ) -> Result<()> {
        let (Some(left_bytes), Some(right_bytes)) = (tokens.get(left), tokens.get(right)) else {
            return Ok(());
        };
        let (Some(&last), Some(&first)) = (left_bytes.last(), right_bytes.first()) else {
            return Ok(());
        };
        search.see(rank, left_bytes, right_bytes);
        for token in [left_bytes, right_bytes] {
            // A token of two bytes that is used here, but made later.
            if let &[left_byte, right_byte] = token {
                let pair = &mut self.of_bytes[two(left_byte, right_byte)];
                if pair.rank == u32::MAX {
                    pair.id |= LATE;
                }
            }
        }
        // A byte is taken if the whole token is that byte.
        let takes_first = self.base(last) == left;
        let takes_second = self.base(first) == right;
        if let (&[first, second], &[third]) = (left_bytes, right_bytes)
            && takes_second
            && let Some(character) = character_of([first, second, third])
        {
            let merge = MergedCharacter { character, start: [first, second], left, id, rank };
            memory::push(&mut search.merges, merge)?;
        }
        let pair = &mut self.of_bytes[two(last, first)];
        if pair.rank == u32::MAX {
            pair.id |= JOINED;
        }
        if takes_first {
            pair.takes_first = pair.takes_first.min(rank);
        }
        if takes_second {
            pair.takes_second = pair.takes_second.min(rank);
        }
        if takes_first && takes_second && pair.rank == u32::MAX {
            pair.rank = rank | pair.id & LATE;
            pair.id = id;
        }
        Ok(())
    }

    /// Two neighbouring bytes.
    #[inline]
    pub fn of_bytes(&self, left: u8, right: u8) -> BytePair {
        self.of_bytes[two(left, right)]
    }

    /// The id of a byte's base token.
    #[inline]
    pub fn base(&self, byte: u8) -> u32 {
        self.base[byte as usize]
    }
}

/// The number of a character of three bytes.
#[inline(always)]
fn character_of([first, second, third]: [u8; 3]) -> Option<usize> {
    let is_character =
        first >> 4 == FIRST_OF_THREE >> 4 && second >> 6 == 0b10 && third >> 6 == 0b10;
    let number = usize::from(first & 0xF) << 12
        | usize::from(second & 0x3F) << 6
        | usize::from(third & 0x3F);
    is_character.then_some(number)
}

#[inline]
fn two(left: u8, right: u8) -> usize {
    usize::from(left) << 8 | usize::from(right)
}

#[inline]
fn pair(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// The number of filter bits per slot, as a power of two.
const FILTER_BITS: u32 = 4;

/// The merges by their pairs: open addressing with linear probing, at most four fifths full.
pub struct MergeTable {
    seed: HashSeed,
    shift: u32,
    /// A bit for the hash of every pair with a merge (a Bloom filter). Most lookups are of pairs
    /// without one, and this much smaller table, which stays in the near caches, answers nearly all
    /// of them.
    filter: Cells<u64>,
    slots: Cells<MergeSlot>,
}

impl MergeTable {
    pub fn new(rows: &[[u32; 3]], ranks: &[u32]) -> Result<Self> {
        let slots = (rows.len() * 5 / 4).next_power_of_two();
        let bits = slots.trailing_zeros().max(4);
        let mut table = Self {
            seed: HashSeed::of_process(),
            shift: u64::BITS - bits,
            filter: Cells::new(1 << (bits + FILTER_BITS - u64::BITS.trailing_zeros()))?,
            slots: Cells::new(1 << bits)?,
        };
        table.slots.fill(EMPTY);
        // Another seed, if somebody chose merges that fall into the same slots.
        while !table.fill(rows, ranks)? {
            table.seed = HashSeed::random();
            table.filter.fill(0);
            table.slots.fill(EMPTY);
        }
        Ok(table)
    }

    /// Inserts all merges; returns `false` if a search became too long.
    fn fill(&mut self, rows: &[[u32; 3]], ranks: &[u32]) -> Result<bool> {
        for (&[left, right, id], &rank) in rows.iter().zip(ranks) {
            let pair = pair(left, right);
            let hash = self.seed.hash_number(pair);
            let Some(place) = self.place(pair, hash) else { return Ok(false) };
            let slot = &mut self.slots[place];
            if slot.merge == Merge::NONE {
                *slot = MergeSlot { pair, merge: Merge::new(rank, id) };
                let bit = self.filter_bit(hash);
                self.filter[bit / 64] |= 1 << (bit % 64);
            } else if slot.merge.id() != id {
                return Err(Error::Value(format!(
                    "merges {} and {rank} make different tokens of the same pair",
                    slot.merge.rank()
                )));
            }
        }
        Ok(true)
    }

    /// The slot of a pair, or the empty slot where it belongs.
    #[inline]
    fn place(&self, pair: u64, hash: u64) -> Option<usize> {
        let home = (hash >> self.shift) as usize;
        search(&self.slots, home, |slot| slot.merge == Merge::NONE, |slot| slot.pair == pair)
    }

    #[inline]
    fn filter_bit(&self, hash: u64) -> usize {
        (hash >> (self.shift - FILTER_BITS)) as usize
    }

    /// The merge of two neighbouring tokens, or none.
    #[inline]
    pub fn get(&self, left: u32, right: u32) -> Merge {
        let pair = pair(left, right);
        self.answer(AskedPair { pair, hash: self.seed.hash_number(pair) })
    }

    /// Begins to look up two neighbouring tokens: their slot is prefetched while the filter, and
    /// other pairs, are looked at.
    #[inline]
    pub fn ask(&self, left: u32, right: u32) -> AskedPair {
        let pair = pair(left, right);
        let hash = self.seed.hash_number(pair);
        prefetch(&self.slots, (hash >> self.shift) as usize);
        AskedPair { pair, hash }
    }

    /// The merge of a pair that was asked for, or none.
    #[inline]
    pub fn answer(&self, AskedPair { pair, hash }: AskedPair) -> Merge {
        let bit = self.filter_bit(hash);
        if self.filter[bit / 64] >> (bit % 64) & 1 == 0 {
            return Merge::NONE;
        }
        self.place(pair, hash).map_or(Merge::NONE, |place| self.slots[place].merge)
    }
}

/// Fails unless the token of a merge has the bytes of the two tokens that it joins.
fn check_spelling(rank: usize, [left, right, id]: [u32; 3], tokens: &TokenBytes) -> Result<()> {
    let spelled = |id: u32| {
        tokens
            .get(id)
            .ok_or_else(|| Error::Value(format!("merge {rank} names id {id}, which no token has")))
    };
    let left = spelled(left)?;
    let right = spelled(right)?;
    let merged = spelled(id)?;
    if merged.len() != left.len() + right.len()
        || !merged.starts_with(left)
        || !merged.ends_with(right)
    {
        return Err(Error::Value(format!(
            "merge {rank}: token {id} does not have the bytes of its parents"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Merges {
        /// The number of characters that may be merged at once.
        pub fn characters_known(&self) -> usize {
            self.of_characters.len()
        }
    }

    impl MergeTable {
        /// The number of slots that lookups of all these pairs visit.
        fn steps(&self, rows: &[[u32; 3]]) -> usize {
            let steps = |&[left, right, _]: &[u32; 3]| {
                let pair = pair(left, right);
                let hash = self.seed.hash_number(pair);
                let place = self.place(pair, hash).unwrap();
                1 + (place.wrapping_sub((hash >> self.shift) as usize) & (self.slots.len() - 1))
            };
            rows.iter().map(steps).sum()
        }
    }

    #[test]
    fn merges_that_somebody_chose_are_found_in_a_few_steps_each() {
        const COUNT: u32 = 100_000;
        /// Its product with this number has nothing but zeros in its high bits.
        const INVERSE: u64 = 0xF1DE_83E1_9937_733D;
        let halves = |pair: u64| [(pair >> 32) as u32, pair as u32];
        let choices: [&dyn Fn(u32) -> [u32; 2]; 4] =
            [&|number| [number, 0], &|number| [0, number], &|number| [number, number], &|number| {
                halves(INVERSE.wrapping_mul(u64::from(number)))
            }];
        for choice in choices {
            let rows: Vec<[u32; 3]> =
                (0..COUNT).map(choice).map(|[left, right]| [left, right, 0]).collect();
            let ranks: Vec<u32> = (0..COUNT).collect();
            let table = MergeTable::new(&rows, &ranks).unwrap();
            assert!(table.steps(&rows) < 10 * rows.len());
            assert!((0..).zip(&rows).all(|(rank, row)| table.get(row[0], row[1]).rank() == rank));
        }
    }
}
