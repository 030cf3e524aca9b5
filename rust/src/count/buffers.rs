//! Pretokens on their way to the shards, buffered for each shard: so a shard is locked once for many of them, whose places
//! can be prefetched.

use std::sync::Mutex;

use super::shard::{SHARDS, Shard, Short, shard_of};
use crate::error::Result;
use crate::key::{HashSeed, Key};
use crate::memory::{self, boxed_array};
use crate::workers::lock;

/// The shards of a table while threads count into it.
pub type SharedShards<'s> = [Mutex<&'s mut Shard>; SHARDS];

/// The number of short pretokens that are buffered for a shard.
const BUFFERED: usize = 256;

/// The number of bytes of long pretokens that are buffered for a shard.
const BUFFERED_BYTES: usize = 1 << 14;

/// The buffers of one thread.
pub struct ShardBuffers<'a, 's> {
    shards: &'a SharedShards<'s>,
    seed: HashSeed,
    short: Box<[Vec<Short>; SHARDS]>,
    long: Box<[LongPretokens; SHARDS]>,
}

/// Long pretokens: the hash, the end and the count of each, and all bytes.
#[derive(Default)]
struct LongPretokens {
    entries: Vec<(u64, usize, u64)>,
    bytes: Vec<u8>,
}

impl<'a, 's> ShardBuffers<'a, 's> {
    pub fn new(shards: &'a SharedShards<'s>) -> Result<Self> {
        let (short, long) = (boxed_array(Vec::new)?, boxed_array(LongPretokens::default)?);
        Ok(Self { shards, seed: HashSeed::of_process(), short, long })
    }

    /// Add to the count of a pretoken of any length.
    pub fn add(&mut self, pretoken: &[u8], count: u64) -> Result<()> {
        let key = Key::of(pretoken, self.seed);
        if key.is_short() {
            self.add_short(Short { key, count })
        } else {
            self.add_long(key, pretoken, count)
        }
    }

    #[inline(never)]
    pub fn add_short(&mut self, entry: Short) -> Result<()> {
        let shard = shard_of(self.seed.hash(entry.key));
        self.short[shard].push(entry);
        if self.short[shard].len() < BUFFERED { Ok(()) } else { self.flush_short(shard) }
    }

    fn flush_short(&mut self, shard: usize) -> Result<()> {
        lock(&self.shards[shard]).add_short(&self.short[shard])?;
        self.short[shard].clear();
        Ok(())
    }

    /// Add a pretoken that is not its own key; the first half of its key is its hash.
    #[inline(never)]
    pub fn add_long(&mut self, key: Key, pretoken: &[u8], count: u64) -> Result<()> {
        let shard = shard_of(key.low);
        if pretoken.len() >= BUFFERED_BYTES {
            return lock(&self.shards[shard]).add_long(&[(key.low, pretoken, count)]);
        }
        let buffer = &mut self.long[shard];
        memory::extend(&mut buffer.bytes, pretoken)?;
        buffer.entries.push((key.low, buffer.bytes.len(), count));
        if buffer.bytes.len() < BUFFERED_BYTES { Ok(()) } else { self.flush_long(shard) }
    }

    fn flush_long(&mut self, shard: usize) -> Result<()> {
        let LongPretokens { entries, bytes } = &mut self.long[shard];
        let mut start = 0;
        let pretokens: Vec<(u64, &[u8], u64)> = entries
            .iter()
            .map(|&(hash, end, count)| (hash, &bytes[std::mem::replace(&mut start, end)..end], count))
            .collect();
        lock(&self.shards[shard]).add_long(&pretokens)?;
        entries.clear();
        bytes.clear();
        Ok(())
    }

    /// Add what is left.
    pub fn finish(mut self) -> Result<()> {
        (0..SHARDS).try_for_each(|shard| {
            self.flush_short(shard)?;
            self.flush_long(shard)
        })
    }
}
