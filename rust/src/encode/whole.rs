//! Finds the tokens that are the whole result for their own bytes, so that these need not be
//! merged.
//!
//! A merge of two such tokens makes a third one, unless another merge crosses the border between
//! the two before both are complete. So time is followed backwards:
//!
//! 1. Of the two tokens at the border, the one that was made last is taken apart.
//! 2. Only its part at the border matters: it and the other token stood there before.
//! 3. If these two would have been merged before the last one was made, the two tokens never meet.
//!    If not, the same is asked of them, until both are single bytes.
//!
//! Only tokens are found whose parts were made by earlier merges. There are few others, and none
//! has to be found.

use super::merges::Merges;
use crate::error::Result;
use crate::memory;

/// The tokens that a new cache holds are those with ids below this number.
const FIRST: usize = 1 << 15;

/// Where all tokens are searched, these are the ids below `SPREAD` times the number of merges, and
/// `SPARE`.
const SPREAD: usize = 2;
const SPARE: usize = 1 << 12;

/// How a token that is the result for its own bytes is made.
#[derive(Clone, Copy)]
struct Origin {
    left: u32,
    right: u32,
    /// When: 0 for a byte, then one more than the rank of its merge; `NEVER` for other tokens.
    time: u32,
}

const NEVER: Origin = Origin { left: 0, right: 0, time: u32::MAX };

/// The tokens that are the result for their own bytes, by their ids.
pub struct WholeTokens {
    origins: Vec<Origin>,
}

/// Whether a new cache may hold the token with this id.
pub fn is_first(id: u32) -> bool {
    (id as usize) < FIRST
}

impl WholeTokens {
    /// Searches the first tokens, or all, for those that rows of left id, right id and resulting id
    /// make, each with its rank.
    pub fn new(merges: &Merges, rows: &[[u32; 3]], ranks: &[u32], among_all: bool) -> Result<Self> {
        let most = if among_all { usize::MAX } else { FIRST };
        let count = most.min(SPREAD * rows.len() + SPARE);
        let mut tokens = Self { origins: memory::filled(NEVER, count)? };
        for byte in 0..=u8::MAX {
            if let Some(origin) = tokens.origins.get_mut(merges.base(byte) as usize) {
                origin.time = 0;
            }
        }
        for (&[left, right, id], &rank) in rows.iter().zip(ranks) {
            if tokens.may_make(left, right, id) && tokens.meet(merges, left, right) {
                tokens.origins[id as usize] = Origin { left, right, time: rank + 1 };
            }
        }
        Ok(tokens)
    }

    /// Whether a token is the result for its own bytes. (Not all are found.)
    pub fn holds(&self, id: u32) -> bool {
        self.origin(id).time != NEVER.time
    }

    fn origin(&self, id: u32) -> Origin {
        self.origins.get(id as usize).copied().unwrap_or(NEVER)
    }

    /// Whether a merge is the first one of a token, and of two that are results for their own
    /// bytes.
    fn may_make(&self, left: u32, right: u32, id: u32) -> bool {
        let is_searched = (id as usize) < self.origins.len();
        is_searched && !self.holds(id) && self.holds(left) && self.holds(right)
    }

    /// Whether two tokens meet when both are complete: whether no merge crosses the border between
    /// them before.
    fn meet(&self, merges: &Merges, mut left: u32, mut right: u32) -> bool {
        loop {
            let before = self.origin(left);
            let behind = self.origin(right);
            // A merge across the border comes before the last one if its rank is below this. Among
            // equal ranks, the leftmost is the first: so it comes before one that makes the token
            // on the right, but not on the left.
            let too_late = if before.time > behind.time {
                left = before.right;
                before.time - 1
            } else if behind.time > 0 {
                right = behind.left;
                behind.time
            } else {
                return true;
            };
            if merges.pairs.get(left, right).rank() < too_late {
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{RandomNumbers, RandomVocabulary, defined};
    use super::*;

    #[test]
    fn tokens_are_found_that_merging_makes_of_their_bytes() {
        let mut numbers = RandomNumbers(3);
        let (mut whole, mut found) = (0, 0);
        for _ in 0..1000 {
            let letters = 1 + numbers.below(4);
            let count = numbers.below(if letters == 1 { 8 } else { 60 });
            let RandomVocabulary { merges, tokens, rows, ranks } =
                RandomVocabulary::new(&mut numbers, letters, count);
            let known = WholeTokens::new(&merges, &rows, &ranks, numbers.below(2) == 0).unwrap();
            for id in rows.iter().map(|&[_, _, id]| id) {
                let is_whole = defined(&merges, tokens.get(id).unwrap()) == [id];
                assert!(is_whole || !known.holds(id), "{rows:?}: {id}");
                whole += usize::from(is_whole);
                found += usize::from(known.holds(id));
            }
        }
        // Not those with a part that is made by a later merge, which are many where merges come in
        // any order.
        assert!(whole > 5000 && found > whole / 2, "{found} of {whole}");
    }

    #[test]
    fn all_are_found_if_every_merge_is_of_tokens_that_were_made_before() {
        let mut numbers = RandomNumbers(5);
        for _ in 0..300 {
            let letters = 1 + numbers.below(4);
            let vocabulary = RandomVocabulary::new(&mut numbers, letters, 12);
            let rows = &vocabulary.rows;
            let in_order = (256..)
                .zip(rows)
                .all(|(next, &[left, right, id])| left < next && right < next && id == next);
            let known =
                WholeTokens::new(&vocabulary.merges, rows, &vocabulary.ranks, false).unwrap();
            for id in rows.iter().map(|&[_, _, id]| id).filter(|_| in_order) {
                let is_whole =
                    defined(&vocabulary.merges, vocabulary.tokens.get(id).unwrap()) == [id];
                assert_eq!(known.holds(id), is_whole, "{rows:?}: {id}");
            }
        }
    }
}
