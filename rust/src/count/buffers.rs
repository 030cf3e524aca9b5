//! Buffers between a thread and the shards: a shard is locked once for many pretokens, and their
//! places in its table can be prefetched.

use std::sync::Mutex;

use super::shard::{CountSlot, SHARDS, Shard, shard_of};
use crate::error::Result;
use crate::key::table::TableSlot;
use crate::key::{HashSeed, Key};
use crate::memory::{self, boxed_array};
use crate::workers::lock;

/// The shards of a table while threads count into it.
pub type SharedShards<'s> = [Mutex<&'s mut Shard>; SHARDS];

/// The number of pretokens of a kind, and of bytes of long ones, that are buffered for a shard.
const BUFFERED: usize = 256;
const BUFFERED_BYTES: usize = 1 << 14;

/// The buffers of one thread.
pub struct ShardBuffers<'a, 's> {
    shards: &'a SharedShards<'s>,
    seed: HashSeed,
    buffers: Box<[Buffer; SHARDS]>,
}

/// Short pretokens, and long ones with their bytes. They are kept apart, because a loop over both
/// kinds in turns mispredicts which one comes next.
#[derive(Default)]
struct Buffer {
    short: Vec<CountSlot>,
    long: Vec<CountSlot>,
    bytes: Vec<u8>,
}

impl<'a, 's> ShardBuffers<'a, 's> {
    pub fn new(shards: &'a SharedShards<'s>) -> Result<Self> {
        Ok(Self { shards, seed: HashSeed::of_process(), buffers: boxed_array(Buffer::default)? })
    }

    /// Adds to the count of a pretoken of any length.
    pub fn add(&mut self, pretoken: &[u8], count: u64) -> Result<()> {
        let entry = CountSlot { key: Key::of(pretoken, self.seed), count };
        if entry.key.is_short() { self.add_short(entry) } else { self.add_long(entry, pretoken) }
    }

    /// The same for a pretoken that is its own key.
    #[inline(never)]
    pub fn add_short(&mut self, entry: CountSlot) -> Result<()> {
        let shard = shard_of(self.seed.hash(entry.key));
        let short = &mut self.buffers[shard].short;
        short.push(entry);
        if short.len() < BUFFERED { Ok(()) } else { self.flush(shard) }
    }

    /// The same for a pretoken that is longer than a key.
    #[inline(never)]
    pub fn add_long(&mut self, entry: CountSlot, pretoken: &[u8]) -> Result<()> {
        let shard = shard_of(entry.hash(self.seed));
        let Buffer { long, bytes, .. } = &mut self.buffers[shard];
        memory::extend(bytes, pretoken)?;
        long.push(entry);
        let has_room = long.len() < BUFFERED && bytes.len() < BUFFERED_BYTES;
        if has_room { Ok(()) } else { self.flush(shard) }
    }

    /// Moves the buffered pretokens of a shard to it.
    fn flush(&mut self, shard: usize) -> Result<()> {
        let Buffer { short, long, bytes } = &mut self.buffers[shard];
        let mut locked = lock(&self.shards[shard]);
        locked.add_short(short)?;
        locked.add_long(long, bytes)?;
        drop(locked);
        short.clear();
        long.clear();
        bytes.clear();
        bytes.shrink_to(2 * BUFFERED_BYTES);
        Ok(())
    }

    /// Flushes all buffers.
    pub fn finish(mut self) -> Result<()> {
        (0..SHARDS).try_for_each(|shard| self.flush(shard))
    }
}
