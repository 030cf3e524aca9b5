//! Keys for successive pretokens of a text, and the prefetching of their table entries.
//!
//! Keys are made for a whole block of pretokens before the first one is looked up. Meanwhile, their
//! entries come into the processor's cache.

use std::ops::Range;

use super::instructions::KeyHasher;
#[cfg(target_arch = "x86_64")]
use super::instructions::aes;
use super::{HashSeed, Key, LONGEST, key_of_bytes};
use crate::error::Result;
use crate::memory::boxed_array;

/// The number of pretokens in a block. Twice as many are slower: keys and entries then leave the
/// first-level cache.
pub const BLOCK: usize = 256;

/// The number of bytes that are loaded at once for a key.
const LOADED: usize = 16;

/// Successive pretokens of a text: where the first one begins, and where each ends.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    pub text: &'a [u8],
    pub start: usize,
    pub ends: &'a [usize],
}

impl<'a> Block<'a> {
    pub fn end(&self) -> usize {
        self.ends.last().copied().unwrap_or(self.start)
    }

    /// Returns the place before which `LOADED` bytes can be loaded from any place.
    fn loadable(&self) -> usize {
        (self.text.len() + 1).saturating_sub(LOADED)
    }

    /// Returns where a pretoken starts.
    pub fn start_of(&self, index: usize) -> usize {
        if index == 0 { self.start } else { self.ends[index - 1] }
    }

    pub fn pretoken(&self, index: usize) -> &'a [u8] {
        &self.text[self.start_of(index)..self.ends[index]]
    }
}

/// A table with a place for each key.
pub trait KeyTable: Copy {
    /// Returns the place of a key with this hash.
    fn place(self, hash: u64) -> u32;

    /// Prefetches the entry at a place.
    fn prefetch(self, place: u32);
}

/// The keys of a block, and their places in a table. On the heap, because a thread's stack may be
/// small.
pub struct Lookups {
    pub keys: Box<[Key; BLOCK]>,
    pub places: Box<[u32; BLOCK]>,
}

impl Lookups {
    pub fn new() -> Result<Self> {
        Ok(Self { keys: boxed_array(Key::default)?, places: boxed_array(|| 0)? })
    }

    /// Makes the keys of a block, and prefetches their entries.
    pub fn prepare(&mut self, block: &Block, hasher: &KeyHasher, table: impl KeyTable) {
        let loadable = block.loadable();
        // The number of pretokens that begin before `loadable`: the first one, and those whose
        // predecessors end there.
        let whole = match block.ends {
            ends if block.end() < loadable => ends.len(),
            _ if block.start >= loadable => 0,
            ends => ends.len().min(1 + ends.partition_point(|end| *end < loadable)),
        };
        self.prepare_some::<false>(block, 0..whole, hasher, table);
        if whole < block.ends.len() {
            self.prepare_some::<true>(block, whole..block.ends.len(), hasher, table);
        }
    }

    /// The same for some pretokens. `LAST` if they begin in the last bytes, from `loadable` on.
    fn prepare_some<const LAST: bool>(
        &mut self,
        block: &Block,
        indexes: Range<usize>,
        hasher: &KeyHasher,
        table: impl KeyTable,
    ) {
        match &hasher.rounds {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: there are rounds only where the machine has the instructions.
            Some(rounds) => unsafe {
                self.prepare_aes::<LAST>(block, indexes, hasher, rounds, table)
            },
            _ => self.prepare_portable::<LAST>(block, indexes, hasher, table),
        }
    }

    // Not inlined, so that each loop has all registers.

    #[inline(never)]
    fn prepare_portable<const LAST: bool>(
        &mut self,
        block: &Block,
        indexes: Range<usize>,
        hasher: &KeyHasher,
        table: impl KeyTable,
    ) {
        self.prepare_with::<LAST>(block, indexes, hasher, table, |bytes, length, key| {
            *key = key_of_bytes(*bytes, length);
            hasher.seed.hash(*key)
        });
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(never)]
    #[target_feature(enable = "aes,avx")]
    fn prepare_aes<const LAST: bool>(
        &mut self,
        block: &Block,
        indexes: Range<usize>,
        hasher: &KeyHasher,
        rounds: &[u128; 4],
        table: impl KeyTable,
    ) {
        self.prepare_with::<LAST>(block, indexes, hasher, table, |bytes, length, key| {
            aes::make(rounds, bytes, length, key)
        });
    }

    /// `make` writes the key of some bytes, and returns its hash.
    #[inline(always)]
    fn prepare_with<const LAST: bool>(
        &mut self,
        block: &Block,
        indexes: Range<usize>,
        hasher: &KeyHasher,
        table: impl KeyTable,
        make: impl Fn(&[u8; LOADED], usize, &mut Key) -> u64,
    ) {
        let loadable = block.loadable();
        let mut start = block.start_of(indexes.start);
        let (keys, places) = (&mut self.keys[indexes.clone()], &mut self.places[indexes.clone()]);
        for ((&end, key), place) in block.ends[indexes].iter().zip(keys).zip(places) {
            let length = end.wrapping_sub(start);
            let hash = if LAST {
                const { assert!(LOADED == LONGEST + 1, "no pretoken is too long here") };
                make(&last_bytes(block.text, start), block.text[start..end].len(), key)
            } else if length <= LONGEST && start < loadable {
                // SAFETY:
                // 1. `LOADED` bytes from `start` on lie within the text, as `start` is before
                //    `loadable`.
                // 2. An array of bytes needs no alignment, and any bytes are valid.
                make(unsafe { &*block.text.as_ptr().add(start).cast() }, length, key)
            } else {
                *key = long_key(&block.text[start..end], hasher.seed);
                hasher.hash(*key)
            };
            *place = table.place(hash);
            table.prefetch(*place);
            start = end;
        }
    }
}

/// Returns the key of a pretoken that is too long to be its own key. This is rare; inlined, it
/// would take the registers of the loop.
#[cold]
#[inline(never)]
fn long_key(pretoken: &[u8], seed: HashSeed) -> Key {
    Key::of(pretoken, seed)
}

/// Returns the last bytes of a text, fewer than `LOADED`, padded with zeros.
#[inline]
fn last_bytes(text: &[u8], start: usize) -> [u8; LOADED] {
    // The last `LOADED` bytes of the text, shifted so that those before `start` are gone.
    if let Some(last) = text.last_chunk() {
        let before = start + LOADED - text.len();
        return (u128::from_le_bytes(*last) >> (8 * before)).to_le_bytes();
    }
    let mut bytes = [0; LOADED];
    bytes[..text.len() - start].copy_from_slice(&text[start..]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    struct NoTable;

    impl KeyTable for NoTable {
        fn place(self, hash: u64) -> u32 {
            hash as u32
        }

        fn prefetch(self, _: u32) {}
    }

    #[test]
    fn keys_are_those_of_the_pretokens() {
        let text: Vec<u8> = (0..200).collect();
        let seed = HashSeed::of_process();
        for hasher in KeyHasher::all() {
            for length in 0..text.len() {
                for (start, step) in [(0, 1), (0, 3), (1, 7), (2, 15), (0, 16), (5, 40)] {
                    let ends: Vec<usize> =
                        (start + step..=length).step_by(step).take(BLOCK).collect();
                    let block = Block { text: &text[..length], start, ends: &ends };
                    let mut lookups = Lookups::new().unwrap();
                    lookups.prepare(&block, &hasher, NoTable);
                    for index in 0..ends.len() {
                        let key = Key::of(block.pretoken(index), seed);
                        assert_eq!(lookups.keys[index], key);
                        assert_eq!(lookups.places[index], hasher.hash(key) as u32);
                    }
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "out of range")]
    fn ends_beyond_the_text_are_not_read() {
        let block = Block { text: &[0; 100], start: 0, ends: &[50, 110, 120, 100] };
        Lookups::new().unwrap().prepare(&block, &KeyHasher::of_process(), NoTable);
    }
}
