//! Keys and their hashes for the tables in which every pretoken of a text is looked up: in portable
//! code, or with AES instructions.
//!
//! Three rounds of AES with a secret seed are a good hash of 16 bytes, and the key stays in the
//! vector register in which it is made. (Two rounds are too few: of 3,049 keys that differed in one
//! byte, two thirds shared their last 32 bits with another.)

use super::{HashSeed, Key};
#[cfg(target_arch = "x86_64")]
use crate::portable;
use once_cell::race::OnceBox;

/// Hashes keys, with AES instructions or without. The hashes of both kinds differ.
#[derive(Clone, Copy, Debug)]
pub struct KeyHasher {
    pub seed: HashSeed,
    /// The keys of the rounds, where the machine has AES and AVX.
    pub rounds: Option<[u128; 4]>,
}

impl KeyHasher {
    /// Returns the hasher of this process, with its seed and the best instructions of the machine.
    pub fn of_process() -> Self {
        static HASHER: OnceBox<KeyHasher> = OnceBox::new();
        *HASHER.get_or_init(|| {
            let portable = Self { seed: HashSeed::of_process(), rounds: None };
            #[cfg(target_arch = "x86_64")]
            if !portable::is_wanted() {
                return Box::new(portable.with_aes().unwrap_or(portable));
            }
            Box::new(portable)
        })
    }

    /// Returns this hasher with AES instructions, if the machine has them.
    #[cfg(target_arch = "x86_64")]
    fn with_aes(self) -> Option<Self> {
        let half = |number| u128::from(self.seed.hash_number(number));
        let rounds = [1, 2, 3, 4].map(|round| half(2 * round) << 64 | half(2 * round + 1));
        let has_aes = is_x86_feature_detected!("aes") && is_x86_feature_detected!("avx");
        has_aes.then_some(Self { rounds: Some(rounds), ..self })
    }

    /// Returns the hash of a key, whose 32 low bits are equally good.
    pub fn hash(&self, key: Key) -> u64 {
        match &self.rounds {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: there are rounds only where the machine has the instructions.
            Some(rounds) => unsafe { aes::hash_of_key(rounds, &key) },
            _ => self.seed.hash(key),
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod aes {
    use std::arch::x86_64::*;

    use super::super::{BYTES, Key, LONGEST};

    /// For each length, the last byte of a key.
    static LENGTHS: [u128; LONGEST + 1] = {
        let mut lengths = [0; LONGEST + 1];
        let mut length = 1;
        while length <= LONGEST {
            lengths[length] = (length as u128) << 120;
            length += 1;
        }
        lengths
    };

    /// Writes the key of the first `length` bytes, 1 to 15, and returns its hash.
    #[inline]
    #[target_feature(enable = "aes,avx")]
    pub fn make(rounds: &[u128; 4], bytes: &[u8; 16], length: usize, key: &mut Key) -> u64 {
        let length = length & LONGEST;
        // SAFETY:
        // 1. `bytes`, `key` and the entries of both tables have 16 bytes each.
        // 2. The entries are numbers of 128 bits, so they begin at a multiple of 16; the others
        //    need no alignment.
        unsafe {
            let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
            let first_bytes =
                _mm_and_si128(bytes, _mm_load_si128((&raw const BYTES[length]).cast()));
            let value =
                _mm_or_si128(first_bytes, _mm_load_si128((&raw const LENGTHS[length]).cast()));
            _mm_storeu_si128((&raw mut *key).cast(), value);
            hash(rounds, value)
        }
    }

    /// Returns the hash of a key in memory.
    #[target_feature(enable = "aes,avx")]
    pub fn hash_of_key(rounds: &[u128; 4], key: &Key) -> u64 {
        // SAFETY: the key has 16 bytes.
        hash(rounds, unsafe { _mm_loadu_si128((&raw const *key).cast()) })
    }

    #[inline]
    #[target_feature(enable = "aes,avx")]
    fn hash(rounds: &[u128; 4], key: __m128i) -> u64 {
        // SAFETY: each number has 16 bytes and begins at a multiple of 16.
        let [before, first, second, third] =
            [0, 1, 2, 3].map(|round| unsafe { _mm_load_si128((&raw const rounds[round]).cast()) });
        let mixed = _mm_aesenc_si128(_mm_xor_si128(key, before), first);
        _mm_cvtsi128_si64(_mm_aesenc_si128(_mm_aesenc_si128(mixed, second), third)) as u64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    impl KeyHasher {
        /// All hashers that this machine can run.
        pub fn all() -> Vec<Self> {
            let portable = Self { seed: HashSeed::of_process(), rounds: None };
            #[cfg(target_arch = "x86_64")]
            return [Some(portable), portable.with_aes()].into_iter().flatten().collect();
            #[cfg(not(target_arch = "x86_64"))]
            vec![portable]
        }
    }

    /// A byte more or less, anywhere, gives another place in a table, about as seldom the same one
    /// as chance has it.
    #[test]
    fn similar_keys_have_different_places() {
        for hasher in KeyHasher::all() {
            let keys = (0..LENGTH_TRIED).flat_map(|place| {
                (1..=255_u8).map(move |byte| {
                    let mut bytes = [b'a'; LENGTH_TRIED];
                    bytes[place] = byte;
                    Key::of(&bytes, hasher.seed)
                })
            });
            let hashes: HashSet<u32> = keys.map(|key| hasher.hash(key) as u32).collect();
            // The unchanged text occurs once for each place.
            let distinct = LENGTH_TRIED * 254 + 1;
            assert!(hashes.len() + 3 >= distinct, "{hasher:?}: {} of {distinct}", hashes.len());
        }
    }

    const LENGTH_TRIED: usize = 12;
}
