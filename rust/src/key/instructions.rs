//! Keys and their hashes for the tables in which every pretoken of a text is looked up: in portable code, or with AES
//! instructions.
//!
//! Three rounds of AES with a secret seed are a good hash of 16 bytes, for which the key may stay in the vector register in
//! which it is made and stored. (Two rounds are too few: of 3,049 keys that differed in one byte, two thirds
//! shared their last 32 bits with another.)

use super::{HashSeed, Key, key_of_bytes};
use crate::portable;
use once_cell::race::OnceBox;

/// Operations on keys.
pub trait KeyOperations {
    /// Write the key of the first `length` bytes, 1 to 15, and return its hash.
    ///
    /// # Safety
    /// The machine must have the instructions that the implementation names.
    unsafe fn make(hasher: &KeyHasher, bytes: &[u8; 16], length: usize, key: &mut Key) -> u64;
}

/// The implementations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyInstructions {
    /// Any machine.
    Portable,
    /// x86-64 with AES and AVX.
    #[cfg(target_arch = "x86_64")]
    Aes,
}

impl KeyInstructions {
    /// The best implementation for this machine.
    pub fn this() -> Self {
        if portable::is_wanted() {
            return Self::Portable;
        }
        Self::all().pop().unwrap_or(Self::Portable)
    }

    /// All implementations that this machine can run, the best one last.
    pub fn all() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("aes") && is_x86_feature_detected!("avx") {
            return vec![Self::Portable, Self::Aes];
        }
        vec![Self::Portable]
    }
}

/// Hashes keys with the instructions of one kind. Hashes of different kinds differ.
#[derive(Clone, Copy, Debug)]
pub struct KeyHasher {
    pub instructions: KeyInstructions,
    pub seed: HashSeed,
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "only AES uses them"))]
    rounds: [u128; 4],
}

impl KeyHasher {
    /// The hasher of this process, with its seed and the best instructions of the machine.
    pub fn of_process() -> Self {
        static HASHER: OnceBox<KeyHasher> = OnceBox::new();
        *HASHER.get_or_init(|| Box::new(Self::with(HashSeed::of_process(), KeyInstructions::this())))
    }

    /// A hasher with some seed and instructions, which this machine must have.
    pub fn with(seed: HashSeed, instructions: KeyInstructions) -> Self {
        let half = |number| u128::from(seed.hash_number(number));
        let rounds = [1, 2, 3, 4].map(|round| half(2 * round) << 64 | half(2 * round + 1));
        Self { instructions, seed, rounds }
    }

    /// The hash of a key; its 32 low bits are equally good.
    pub fn hash(&self, key: Key) -> u64 {
        match self.instructions {
            KeyInstructions::Portable => self.seed.hash(key),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this machine was found to have the instructions.
            KeyInstructions::Aes => unsafe { x86_64::hash_of_key(self, &key) },
        }
    }
}

/// For any machine.
pub struct PortableKeys;

impl KeyOperations for PortableKeys {
    #[inline(always)]
    unsafe fn make(hasher: &KeyHasher, bytes: &[u8; 16], length: usize, key: &mut Key) -> u64 {
        *key = key_of_bytes(*bytes, length);
        hasher.seed.hash(*key)
    }
}

#[cfg(target_arch = "x86_64")]
pub use x86_64::AesKeys;

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::*;

    use super::super::{BYTES, LONGEST};
    use super::{Key, KeyHasher, KeyOperations};

    /// AES and AVX.
    pub struct AesKeys;

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

    impl KeyOperations for AesKeys {
        #[inline]
        #[target_feature(enable = "aes,avx")]
        unsafe fn make(hasher: &KeyHasher, bytes: &[u8; 16], length: usize, key: &mut Key) -> u64 {
            let length = length & LONGEST;
            // SAFETY: the caller vouches for the instructions; what is loaded and stored are these 16 bytes each.
            unsafe {
                let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
                let kept = _mm_and_si128(bytes, _mm_load_si128((&raw const BYTES[length]).cast()));
                let made = _mm_or_si128(kept, _mm_load_si128((&raw const LENGTHS[length]).cast()));
                _mm_storeu_si128((&raw mut *key).cast(), made);
                hash(hasher, made)
            }
        }
    }

    /// The hash of a key in memory.
    ///
    /// # Safety
    /// The machine must have AES and AVX.
    #[target_feature(enable = "aes,avx")]
    pub unsafe fn hash_of_key(hasher: &KeyHasher, key: &Key) -> u64 {
        // SAFETY: the key has 16 bytes.
        hash(hasher, unsafe { _mm_loadu_si128((&raw const *key).cast()) })
    }

    #[inline]
    #[target_feature(enable = "aes,avx")]
    fn hash(hasher: &KeyHasher, key: __m128i) -> u64 {
        let [before, first, second, third] = &hasher.rounds;
        // SAFETY: each number has 16 bytes, on a multiple of 16.
        let [before, first, second, third] = unsafe {
            [
                _mm_load_si128((&raw const *before).cast()),
                _mm_load_si128((&raw const *first).cast()),
                _mm_load_si128((&raw const *second).cast()),
                _mm_load_si128((&raw const *third).cast()),
            ]
        };
        let mixed = _mm_aesenc_si128(_mm_xor_si128(key, before), first);
        _mm_cvtsi128_si64(_mm_aesenc_si128(_mm_aesenc_si128(mixed, second), third)) as u64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// The key and the hash of a pretoken, made by these instructions.
    fn made(hasher: &KeyHasher, bytes: &[u8; 16], length: usize) -> (Key, u64) {
        let mut key = Key::default();
        let hash = match hasher.instructions {
            // SAFETY: any machine will do.
            KeyInstructions::Portable => unsafe { PortableKeys::make(hasher, bytes, length, &mut key) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this machine was found to have the instructions.
            KeyInstructions::Aes => unsafe { AesKeys::make(hasher, bytes, length, &mut key) },
        };
        (key, hash)
    }

    #[test]
    fn all_instructions_make_the_same_keys() {
        let bytes = *b"abcdefghijklmnop";
        for instructions in KeyInstructions::all() {
            let hasher = KeyHasher::with(HashSeed::of_process(), instructions);
            for length in 1..=super::super::LONGEST {
                let (key, hash) = made(&hasher, &bytes, length);
                assert_eq!(key, Key::new(&bytes, 0, length));
                assert_eq!(hash, hasher.hash(key));
            }
        }
    }

    /// A byte more or less, anywhere, gives another place in a table, about as seldom the same one as chance has it.
    #[test]
    fn similar_keys_have_different_places() {
        for instructions in KeyInstructions::all() {
            let hasher = KeyHasher::with(HashSeed::of_process(), instructions);
            let keys = (0..LENGTH_TRIED).flat_map(|place| {
                (1..=255_u8).map(move |byte| {
                    let mut bytes = [b'a'; LENGTH_TRIED];
                    bytes[place] = byte;
                    Key::new(&bytes, 0, LENGTH_TRIED)
                })
            });
            let hashes: HashSet<u32> = keys.map(|key| hasher.hash(key) as u32).collect();
            // The unchanged text occurs once for each place.
            let distinct = LENGTH_TRIED * 254 + 1;
            assert!(hashes.len() + 3 >= distinct, "{instructions:?}: {} of {distinct}", hashes.len());
        }
    }

    const LENGTH_TRIED: usize = 12;
}
