//! Pretokens on their way to the shards, buffered for each shard: so a shard is locked once for many of them, whose places
//! can be prefetched.

use std::sync::Mutex;

use super::shard::{CountSlot, SHARDS, Shard, shard_of};
use crate::error::Result;
use crate::key::table::TableSlot;
use crate::key::{HashSeed, Key};
use crate::memory::{self, boxed_array};
use crate::workers::lock;

/// The shards of a table while threads count into it.
pub type SharedShards<'s> = [Mutex<&'s mut Shard>; SHARDS];

/// The number of pretokens, and of bytes of long ones, that are buffered for a shard.
const BUFFERED: usize = 256;
const BUFFERED_BYTES: usize = 1 << 14;

/// The buffers of one thread.
pub struct ShardBuffers<'a, 's> {
    shards: &'a SharedShards<'s>,
    seed: HashSeed,
    buffers: Box<[Buffer; SHARDS]>,
}

/// Pretokens, and the bytes of those that are not their own keys.
#[derive(Default)]
struct Buffer {
    entries: Vec<CountSlot>,
    bytes: Vec<u8>,
}

impl<'a, 's> ShardBuffers<'a, 's> {
    pub fn new(shards: &'a SharedShards<'s>) -> Result<Self> {
        Ok(Self { shards, seed: HashSeed::of_process(), buffers: boxed_array(Buffer::default)? })
    }

    /// Add to the count of a pretoken of any length.
    pub fn add(&mut self, pretoken: &[u8], count: u64) -> Result<()> {
        let entry = CountSlot { key: Key::of(pretoken, self.seed), count };
        if entry.key.is_short() { self.add_entry(entry, &[]) } else { self.add_entry(entry, pretoken) }
    }

    /// The same for a pretoken whose key is known; `long` is empty if that is the pretoken itself.
    #[inline(never)]
    pub fn add_entry(&mut self, entry: CountSlot, long: &[u8]) -> Result<()> {
        let shard = shard_of(entry.hash(self.seed));
        let Buffer { entries, bytes } = &mut self.buffers[shard];
        if !long.is_empty() {
            memory::extend(bytes, long)?;
        }
        entries.push(entry);
        if entries.len() < BUFFERED && bytes.len() < BUFFERED_BYTES { Ok(()) } else { self.flush(shard) }
    }

    fn flush(&mut self, shard: usize) -> Result<()> {
        let Buffer { entries, bytes } = &mut self.buffers[shard];
        lock(&self.shards[shard]).add(entries, bytes)?;
        entries.clear();
        bytes.clear();
        bytes.shrink_to(2 * BUFFERED_BYTES);
        Ok(())
    }

    /// Add what is left.
    pub fn finish(mut self) -> Result<()> {
        (0..SHARDS).try_for_each(|shard| self.flush(shard))
    }
}
