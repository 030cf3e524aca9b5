//! A hash table that finds the number of a token by its bytes, for reading files of other libraries.
//!
//! A slot has eight bytes; half of them are bits of the hash, so that most texts that are no token are recognised
//! without comparing bytes.

use crate::error::{Error, Result};
use crate::key::{HashSeed, search};
use crate::memory;

/// The numbers of tokens by their bytes.
pub struct Spellings<'a> {
    tokens: &'a [&'a [u8]],
    seed: HashSeed,
    shift: u32,
    slots: Vec<Slot>,
    /// A filter of one bit per token, found by the hash: it is small enough to stay in the cache, and rejects most of
    /// what is no token.
    known: Vec<u64>,
}

#[derive(Clone, Copy)]
struct Slot {
    /// The low bits of the hash; the high bits decide where a search begins.
    tag: u32,
    number: u32,
}

/// How many bits of the filter there are for each slot; at most one of them is set.
const BITS_FOR_EACH_SLOT: usize = 4;

/// The number that means "no token".
pub const NO_TOKEN: u32 = u32::MAX;
const EMPTY: Slot = Slot { tag: 0, number: NO_TOKEN };

impl<'a> Spellings<'a> {
    /// Build the table. Of equal tokens, the first is found.
    pub fn new(tokens: &'a [&'a [u8]]) -> Result<Self> {
        if tokens.len() >= NO_TOKEN as usize {
            return Err(Error::Value(format!(
                "{} tokens are too many: their numbers must fit 32 bits",
                tokens.len()
            )));
        }
        let bits = (tokens.len() * 2).next_power_of_two().trailing_zeros().max(4);
        let slots = memory::filled(EMPTY, 1 << bits)?;
        let known = memory::filled(0, (BITS_FOR_EACH_SLOT << bits) / 64)?;
        let mut table = Self { tokens, seed: HashSeed::of_process(), shift: u64::BITS - bits, slots, known };
        while !table.fill() {
            table.seed = HashSeed::random();
            table.slots.fill(EMPTY);
            table.known.fill(0);
        }
        Ok(table)
    }

    /// Insert all tokens; `false` if a search became too long.
    fn fill(&mut self) -> bool {
        for (number, token) in (0..).zip(self.tokens) {
            let hash = self.seed.hash_bytes(token);
            let Some(place) = self.place(token, hash) else { return false };
            if self.slots[place].number == NO_TOKEN {
                self.slots[place] = Slot { tag: hash as u32, number };
                let (word, bit) = self.bit(hash);
                self.known[word] |= bit;
            }
        }
        true
    }

    /// The slot of a token, or the empty slot where it belongs.
    #[inline]
    fn place(&self, token: &[u8], hash: u64) -> Option<usize> {
        let home = (hash >> self.shift) as usize;
        let is_free = |slot: &Slot| slot.number == NO_TOKEN;
        search(&self.slots, home, is_free, |slot| {
            slot.tag == hash as u32 && !is_free(slot) && self.tokens[slot.number as usize] == token
        })
    }

    /// The word of the filter that a hash belongs to, and the bit in it.
    #[inline]
    fn bit(&self, hash: u64) -> (usize, u64) {
        ((hash >> 6) as usize & (self.known.len() - 1), 1 << (hash & 63))
    }

    /// The number of the token with these bytes, or `NO_TOKEN`.
    #[inline]
    pub fn find(&self, token: &[u8]) -> u32 {
        let hash = self.seed.hash_bytes(token);
        let (word, bit) = self.bit(hash);
        if self.known[word] & bit == 0 {
            return NO_TOKEN;
        }
        let place = self.place(token, hash);
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
