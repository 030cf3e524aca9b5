//! Keys, hashes and searches, for every hash table that texts or files fill.
//!
//! A pretoken of up to 15 bytes is its own key: its bytes and its length in two registers.
//!
//! The author of a text or file chooses the entries of our tables, and could make them collide.
//! Therefore hashes depend on a random seed that each process draws, and a search gives up after
//! [`LONGEST_SEARCH`] slots; the table is then rebuilt with another seed. No result depends on a
//! seed or on the order of a table.

use std::hash::{BuildHasher, RandomState};

use once_cell::race::OnceBox;

pub mod block;
pub mod hasher;
pub mod instructions;
pub mod table;

/// The longest pretoken that is its own key.
pub const LONGEST: usize = 15;

/// A pretoken of 1 to 15 bytes in 16 bytes: the pretoken, zeros, and the length in the last byte.
/// All zeros mean no pretoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Key {
    pub low: u64,
    pub high: u64,
}

/// The place of a short pretoken's length in the second half of its key.
const LENGTH_SHIFT: u32 = 56;

/// Masks of the first 0 to 15 of 16 bytes.
static BYTES: [u128; LONGEST + 1] = {
    let mut bytes = [0; LONGEST + 1];
    let mut length = 1;
    while length <= LONGEST {
        bytes[length] = u128::MAX >> (128 - 8 * length);
        length += 1;
    }
    bytes
};

/// Returns the key of the first `length` bytes, 1 to 15; the other bytes do not matter.
#[inline(always)]
fn key_of_bytes(bytes: [u8; 16], length: usize) -> Key {
    let length = length & LONGEST;
    let value = u128::from_le_bytes(bytes) & BYTES[length];
    Key { low: value as u64, high: (value >> 64) as u64 | (length as u64) << LENGTH_SHIFT }
}

impl Key {
    /// Returns the key of a pretoken. If it has more than `LONGEST` bytes, that is its hash and its
    /// length.
    pub fn of(pretoken: &[u8], seed: HashSeed) -> Self {
        let length = pretoken.len();
        if length > LONGEST {
            return Self { low: seed.hash_bytes(pretoken), high: length as u64 };
        }
        let mut bytes = [0; 16];
        bytes[..length].copy_from_slice(pretoken);
        key_of_bytes(bytes, length)
    }

    /// Whether the key is the pretoken itself.
    #[inline(always)]
    pub fn is_short(self) -> bool {
        self.high >> LENGTH_SHIFT != 0
    }

    /// Whether this is the key of no pretoken.
    #[inline(always)]
    pub fn is_none(self) -> bool {
        self.high == 0
    }

    /// Returns the 16 bytes of the key, which begin with the pretoken.
    pub fn bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.low.to_le_bytes());
        bytes[8..].copy_from_slice(&self.high.to_le_bytes());
        bytes
    }

    /// Returns the length of the pretoken.
    pub fn length(self) -> usize {
        (self.high >> LENGTH_SHIFT) as usize
    }
}

/// The random part of a hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashSeed([u64; 3]);

impl HashSeed {
    /// Returns the seed of this process, which is drawn once. (One seed in a hundred leaves more
    /// pretokens without a place than tests of tables allow, so tests have a fixed one.)
    pub fn of_process() -> Self {
        static SEED: OnceBox<HashSeed> = OnceBox::new();
        *SEED.get_or_init(|| {
            let seed = if cfg!(test) { Self([0x9E37_79B9_7F4A_7C15; 3]) } else { Self::random() };
            Box::new(seed)
        })
    }

    /// Draws a new random seed.
    pub fn random() -> Self {
        let random = RandomState::new();
        // Odd factors are not zero and lose no low bits.
        Self([0, 1, 2].map(|number: u64| random.hash_one(number) | 1))
    }

    /// Returns the hash of a short pretoken, all bits of which are equally good. (A single product
    /// would keep consecutive numbers close together.)
    #[inline(always)]
    pub fn hash(self, key: Key) -> u64 {
        fold(fold(key.low ^ self.0[0], key.high ^ self.0[1]), self.0[2])
    }

    /// Returns the hash of a number.
    #[inline(always)]
    pub fn hash_number(self, number: u64) -> u64 {
        fold(fold(number ^ self.0[0], self.0[1]), self.0[2])
    }

    /// Returns the hash of a pretoken of any length.
    pub fn hash_bytes(self, pretoken: &[u8]) -> u64 {
        let mut hash = pretoken.len() as u64 ^ self.0[2];
        let (blocks, rest) = pretoken.as_chunks::<16>();
        for block in blocks {
            hash = self.hash_block(*block, hash);
        }
        // The last block overlaps the one before it, if there is one.
        let last = pretoken.last_chunk().copied().unwrap_or_else(|| {
            let mut last = [0; 16];
            last[..rest.len()].copy_from_slice(rest);
            last
        });
        self.hash_block(last, hash)
    }

    fn hash_block(self, block: [u8; 16], before: u64) -> u64 {
        let value = u128::from_le_bytes(block);
        fold(value as u64 ^ self.0[0] ^ before, (value >> 64) as u64 ^ self.0[1])
    }
}

/// Returns the exclusive or of both halves of a product: every bit of the result depends on every
/// bit of both numbers.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

/// The maximum number of slots that a search visits. With random hashes and a quarter of the slots
/// free, no search in a table of any size comes near it.
pub const LONGEST_SEARCH: usize = 1 << 10;

/// Returns the index of the first slot, from `home` on, that is `free` or `wanted`. `None` if the
/// search became too long: then the wanted entry is not in the table.
#[inline(always)]
pub fn search<S>(
    slots: &[S],
    home: usize,
    free: impl Fn(&S) -> bool,
    wanted: impl Fn(&S) -> bool,
) -> Option<usize> {
    let mut place = home;
    for _ in 0..LONGEST_SEARCH {
        let slot = &slots[place];
        if wanted(slot) || free(slot) {
            return Some(place);
        }
        place = if place + 1 == slots.len() { 0 } else { place + 1 };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_pretoken_and_its_length() {
        let text = b"abcdefghijklmno";
        for length in 1..=LONGEST {
            let key = Key::of(&text[..length], HashSeed::of_process());
            assert!(key.is_short());
            assert_eq!(&key.bytes()[..key.length()], &text[..length]);
        }
    }

    #[test]
    fn keys_of_zeros_differ_by_their_length() {
        let seed = HashSeed::of_process();
        assert_ne!(Key::of(b"\0", seed), Key::of(b"\0\0", seed));
        assert_ne!(seed.hash_bytes(&[0; 16]), seed.hash_bytes(&[0; 17]));
    }

    #[test]
    fn a_process_has_one_seed_and_may_draw_others() {
        assert_eq!(HashSeed::of_process(), HashSeed::of_process());
        assert_ne!(HashSeed::random(), HashSeed::random());
    }

    #[test]
    fn a_search_ends_at_a_wanted_or_free_slot_or_when_it_is_too_long() {
        let mut slots = vec![7; 4 * LONGEST_SEARCH];
        let find = |slots: &[u32], home, wanted| {
            search(slots, home, |&slot| slot == 0, |&slot| slot == wanted)
        };
        assert_eq!(find(&slots, 5, 8), None);
        slots[5 + LONGEST_SEARCH] = 8;
        assert_eq!(find(&slots, 5, 8), None);
        assert_eq!(find(&slots, 6, 8), Some(5 + LONGEST_SEARCH));
        slots[3] = 0;
        assert_eq!(find(&slots, slots.len() - 1, 8), Some(3));
    }
}
