//! Pairs of ids in, rank and resulting id out: the merge list as a table that is looked up in one or two loads.

use crate::error::{Error, Result};
use crate::tokens::Tokens;

/// Ranks are packed beside positions, so they are kept to this many bits: 67 million merges.
pub const RANK_BITS: u32 = 26;
const NO_RANK: u32 = u32::MAX;

/// What a merge does: its rank, and the id of its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merge {
    pub rank: u32,
    pub id: u32,
}

#[derive(Clone, Copy)]
struct Slot {
    left: u32,
    right: u32,
    merge: Merge,
}

const EMPTY: Slot = Slot { left: 0, right: 0, merge: Merge { rank: NO_RANK, id: 0 } };

/// The base ids and the merges of a vocabulary.
pub struct Merges {
    base: [u32; 256],
    /// Open addressing with linear probing, at most half full.
    slots: Vec<Slot>,
    shift: u32,
    /// A bit for every two bytes that stand side by side in some merge's token.
    joined: Box<[u64; 1024]>,
}

impl Merges {
    /// Take rows of left id, right id and resulting id, in the order of rank.
    ///
    /// A pair may be listed again with the same result (the first rank counts), never with another one.
    pub fn new(base: [u32; 256], rows: &[[u32; 3]], tokens: &Tokens) -> Result<Self> {
        if rows.len() >= 1 << RANK_BITS {
            return Err(Error::Value(format!("{} merges are more than the engine can take", rows.len())));
        }
        let bits = (rows.len() * 2).next_power_of_two().trailing_zeros().max(4);
        let mut merges =
            Self { base, slots: vec![EMPTY; 1 << bits], shift: 64 - bits, joined: Box::new([0; 1024]) };
        for (rank, &row) in rows.iter().enumerate() {
            check_spelling(rank, row, tokens)?;
            merges.insert(rank as u32, row)?;
            merges.join(row, tokens);
        }
        Ok(merges)
    }

    fn insert(&mut self, rank: u32, [left, right, id]: [u32; 3]) -> Result<()> {
        let found = self.find(left, right);
        let slot = &mut self.slots[found];
        if slot.merge.rank == NO_RANK {
            *slot = Slot { left, right, merge: Merge { rank, id } };
        } else if slot.merge.id != id {
            return Err(Error::Value(format!(
                "merges {} and {rank} make different tokens of the same pair",
                slot.merge.rank
            )));
        }
        Ok(())
    }

    /// Note the two bytes that a merge joins; those inside its parents were joined by theirs, or never are.
    fn join(&mut self, [left, right, _]: [u32; 3], tokens: &Tokens) {
        let last = tokens.get(left).and_then(<[u8]>::last);
        let first = tokens.get(right).and_then(<[u8]>::first);
        if let (Some(&last), Some(&first)) = (last, first) {
            let bit = usize::from(last) << 8 | usize::from(first);
            self.joined[bit / 64] |= 1 << (bit % 64);
        }
    }

    /// Whether some merge joins a token that ends in the first byte with one that begins with the second. Where none
    /// does, a pretoken may be cut: no merge ever crosses that place.
    #[inline]
    pub fn may_join(&self, last: u8, first: u8) -> bool {
        let bit = usize::from(last) << 8 | usize::from(first);
        self.joined[bit / 64] >> (bit % 64) & 1 != 0
    }

    /// The slot that holds the pair, or the empty one where it would be.
    #[inline]
    fn find(&self, left: u32, right: u32) -> usize {
        let pair = u64::from(left) << 32 | u64::from(right);
        let mut at = (pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize;
        loop {
            let slot = &self.slots[at];
            if (slot.left == left && slot.right == right) || slot.merge.rank == NO_RANK {
                return at;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// The merge of two neighbouring tokens, if there is one.
    #[inline]
    pub fn get(&self, left: u32, right: u32) -> Option<Merge> {
        let merge = self.slots[self.find(left, right)].merge;
        (merge.rank != NO_RANK).then_some(merge)
    }

    /// The id of a byte's base token.
    #[inline]
    pub fn base(&self, byte: u8) -> u32 {
        self.base[byte as usize]
    }
}

fn check_spelling(rank: usize, [left, right, id]: [u32; 3], tokens: &Tokens) -> Result<()> {
    let spelled = |id: u32| {
        tokens.get(id).ok_or_else(|| Error::Value(format!("merge {rank} names id {id}, which no token has")))
    };
    let (left, right, merged) = (spelled(left)?, spelled(right)?, spelled(id)?);
    if merged.len() != left.len() + right.len() || !merged.starts_with(left) || !merged.ends_with(right) {
        return Err(Error::Value(format!("merge {rank}: token {id} is not what its parents spell")));
    }
    Ok(())
}
