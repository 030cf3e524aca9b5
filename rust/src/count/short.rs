//! The table entry of a short pretoken, whose key is the pretoken itself.

use super::table::TableSlot;
use crate::key::{HashSeed, Key};
use crate::memory::cells::Plain;

/// A short pretoken and its count.
#[derive(Clone, Copy, Default)]
pub struct Short {
    pub key: Key,
    pub count: u64,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for Short {}

impl TableSlot for Short {
    #[inline(always)]
    fn is_free(&self) -> bool {
        self.key.is_none()
    }

    #[inline(always)]
    fn hash(&self, seed: HashSeed) -> u64 {
        seed.hash(self.key)
    }
}
