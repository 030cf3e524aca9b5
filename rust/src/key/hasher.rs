//! A fast hash of short byte strings and of numbers for the standard library's tables. Its key is
//! random, so that no file can cause collisions on purpose.

use std::hash::{BuildHasher, Hasher, RandomState};

/// The hasher, and what builds it: a random key.
#[derive(Clone, Copy)]
pub struct Keyed {
    key: u64,
    state: u64,
}

impl Default for Keyed {
    /// Chooses a random key.
    fn default() -> Self {
        let random = RandomState::new();
        Self { key: random.hash_one(0) | 1, state: random.hash_one(1) }
    }
}

impl BuildHasher for Keyed {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        *self
    }
}

impl Hasher for Keyed {
    /// Hashes words of eight bytes, the last of which may overlap the one before it. Fewer bytes
    /// are one word, which tells them apart.
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let number = |bytes: [u8; 4]| u64::from(u32::from_le_bytes(bytes));
        if let Some(last) = bytes.last_chunk() {
            for word in bytes[..bytes.len() - 1].as_chunks().0 {
                self.write_u64(u64::from_le_bytes(*word));
            }
            self.write_u64(u64::from_le_bytes(*last));
        } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            self.write_u64(number(*first) | number(*last) << 32);
        } else if let (Some(first), Some(last)) = (bytes.first(), bytes.last()) {
            self.write_u64(number([*first, bytes[bytes.len() / 2], *last, 0]));
        }
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.state ^ word) * u128::from(self.key);
        self.state = (product as u64) ^ (product >> 64) as u64 ^ self.key;
    }

    #[inline]
    fn write_usize(&mut self, length: usize) {
        self.state = self.state.wrapping_add(length as u64);
    }

    fn finish(&self) -> u64 {
        self.state
    }
}
