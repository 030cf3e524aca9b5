//! Tokens in, a table out that finds the number of a token by its bytes: what reading foreign files is made of.
//!
//! A slot is eight bytes, half of them bits of the hash, so that most of what is no token is told without a look at
//! any token.

use crate::error::{Error, Result};
use crate::key::{HashSeed, search};
use crate::memory;

/// The numbers of tokens by their bytes.
pub struct Spellings<'a> {
    tokens: &'a [&'a [u8]],
    seed: HashSeed,
    shift: u32,
    slots: Vec<Slot>,
}

#[derive(Clone, Copy)]
struct Slot {
    /// The low bits of the hash; the high ones say where a search begins.
    tag: u32,
    number: u32,
}

/// No token has this number.
pub const NO_TOKEN: u32 = u32::MAX;
const EMPTY: Slot = Slot { tag: 0, number: NO_TOKEN };

impl<'a> Spellings<'a> {
    /// Make the table; of equal tokens, only the first has a number.
    pub fn new(tokens: &'a [&'a [u8]]) -> Result<Self> {
        if tokens.len() >= NO_TOKEN as usize {
            return Err(Error::Value(format!("{} tokens are too many", tokens.len())));
        }
        let bits = (tokens.len() * 2).next_power_of_two().trailing_zeros().max(4);
        let slots = memory::filled(EMPTY, 1 << bits)?;
        let mut table = Self { tokens, seed: HashSeed::of_process(), shift: u64::BITS - bits, slots };
        while !table.fill() {
            table.seed = HashSeed::random();
            table.slots.fill(EMPTY);
        }
        Ok(table)
    }

    /// Whether all tokens find a place that a search comes to.
    fn fill(&mut self) -> bool {
        for (number, token) in (0..).zip(self.tokens) {
            let hash = self.seed.hash_bytes(token);
            let Some(place) = self.place(token, hash) else { return false };
            if self.slots[place].number == NO_TOKEN {
                self.slots[place] = Slot { tag: hash as u32, number };
            }
        }
        true
    }

    /// The slot that holds a token, or the empty one where it would be.
    #[inline]
    fn place(&self, token: &[u8], hash: u64) -> Option<usize> {
        let home = (hash >> self.shift) as usize;
        let is_free = |slot: &Slot| slot.number == NO_TOKEN;
        search(&self.slots, home, is_free, |slot| {
            slot.tag == hash as u32 && !is_free(slot) && self.tokens[slot.number as usize] == token
        })
    }

    /// The number of the token of these bytes, or `NO_TOKEN`.
    #[inline]
    pub fn find(&self, token: &[u8]) -> u32 {
        let place = self.place(token, self.seed.hash_bytes(token));
        place.map_or(NO_TOKEN, |place| self.slots[place].number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_found_by_its_bytes_and_nothing_else_is() {
        let spelled: Vec<Vec<u8>> = (0..5000u32).map(|number| number.to_string().repeat(3).into()).collect();
        let tokens: Vec<&[u8]> = spelled.iter().map(Vec::as_slice).collect();
        let table = Spellings::new(&tokens).unwrap();
        assert!((0..).zip(&tokens).all(|(number, token)| table.find(token) == number));
        for other in [&b""[..], b"0", b"000000", b"5000 5000"] {
            assert_eq!(table.find(other), NO_TOKEN);
        }
    }

    #[test]
    fn of_equal_tokens_the_first_is_found() {
        let table = Spellings::new(&[b"", b"a", b"b", b"a"]).map(|table| [table.find(b"a"), table.find(b"")]);
        assert_eq!(table.unwrap(), [1, 0]);
        assert_eq!(Spellings::new(&[]).unwrap().find(b"a"), NO_TOKEN);
    }
}
