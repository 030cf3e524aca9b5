//! One thread's counting: text in, counts into the shards that all threads share.
//!
//! A few thousand pretokens are most of any text: a small table of the thread's own, which stays in the processor's
//! cache, takes those. What falls out of it is gathered by shard, so that a shard is locked for many additions.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::boundary::Cutter;
use super::shard::{SHARDS, Shard, shard_of};
use super::short::Short;
use crate::error::Result;
use crate::key::{HashSeed, Key, LONGEST};
use crate::memory;
use crate::pretokenize::Batch;
use crate::workers::lock;

/// How many slots the thread's own table has: with 24 bytes each it takes less than half of a level-two cache of 1 MB,
/// which the text that is counted passes through as well.
const FRONT_SLOTS: usize = 1 << 14;

/// How many additions are gathered for a shard.
const GATHERED: usize = 256;

/// How many bytes of long pretokens are gathered for a shard.
const GATHERED_BYTES: usize = 1 << 14;

/// The shards of a table while threads count into it.
pub type SharedShards<'s> = [Mutex<&'s mut Shard>; SHARDS];

/// Counts text on one thread.
pub struct Counter<'a, 's> {
    pub cutter: Cutter<'a>,
    count_unmatched: bool,
    shards: &'a SharedShards<'s>,
    seed: HashSeed,
    front: Box<[Short]>,
    short: [Vec<Short>; SHARDS],
    long: [LongPretokens; SHARDS],
    stopped: &'a AtomicBool,
    tally: Tally,
}

/// What was counted, besides each pretoken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub pretokens: u64,
    pub documents: u64,
    pub bytes: u64,
}

impl Tally {
    pub fn add(&mut self, other: &Self) {
        self.pretokens += other.pretokens;
        self.documents += other.documents;
        self.bytes += other.bytes;
    }
}

/// Long pretokens on their way to a shard: the hash and the end of each, and all bytes.
#[derive(Default)]
struct LongPretokens {
    entries: Vec<(u64, usize)>,
    bytes: Vec<u8>,
}

impl<'a, 's> Counter<'a, 's> {
    pub fn new(
        cutter: Cutter<'a>,
        count_unmatched: bool,
        shards: &'a SharedShards<'s>,
        stopped: &'a AtomicBool,
    ) -> Self {
        Self {
            cutter,
            count_unmatched,
            shards,
            seed: HashSeed::of_process(),
            front: vec![Short::default(); FRONT_SLOTS].into_boxed_slice(),
            short: Default::default(),
            long: Default::default(),
            stopped,
            tally: Tally::default(),
        }
    }

    /// Count a part of a corpus: one document or several with boundaries between. `goes_on` says that the first of
    /// them began in an earlier part.
    pub fn count(&mut self, text: &str, goes_on: bool) -> Result<()> {
        self.tally.bytes += text.len() as u64;
        match self.cutter.boundaries {
            None => self.count_stretch(text, goes_on),
            Some(boundaries) => {
                let mut goes_on = goes_on;
                boundaries.stretches(text).try_for_each(|stretch| {
                    self.count_stretch(stretch, std::mem::replace(&mut goes_on, false))
                })
            }
        }
    }

    fn count_stretch(&mut self, text: &str, goes_on: bool) -> Result<()> {
        self.tally.documents += u64::from(!text.is_empty() && !goes_on);
        let text = self.cutter.pattern.prepare(text)?;
        let mut scanner = self.cutter.pattern.scan(&text);
        let mut batch = Batch::default();
        let mut start = 0;
        while scanner.fill(&mut batch)? > 0 && !self.stopped.load(Ordering::Relaxed) {
            start = self.count_batch(text.text().as_bytes(), start, &batch)?;
        }
        Ok(())
    }

    fn count_batch(&mut self, text: &[u8], mut start: usize, batch: &Batch) -> Result<usize> {
        for (piece, &end) in batch.ends().iter().enumerate() {
            if self.count_unmatched || !batch.is_gap(piece) {
                self.tally.pretokens += 1;
                if end - start <= LONGEST {
                    self.count_short(Key::new(text, start, end))?;
                } else {
                    self.count_long(&text[start..end])?;
                }
            }
            start = end;
        }
        Ok(start)
    }

    #[inline(always)]
    fn count_short(&mut self, key: Key) -> Result<()> {
        let hash = self.seed.hash(key);
        let slot = &mut self.front[hash as usize % FRONT_SLOTS];
        if slot.key == key {
            slot.count += 1;
            return Ok(());
        }
        let fallen_out = std::mem::replace(slot, Short { key, count: 1 });
        if fallen_out.key.is_none() {
            return Ok(());
        }
        self.gather_short(fallen_out)
    }

    fn gather_short(&mut self, entry: Short) -> Result<()> {
        let shard = shard_of(self.seed.hash(entry.key));
        self.short[shard].push(entry);
        if self.short[shard].len() >= GATHERED {
            self.hand_over_short(shard)?;
        }
        Ok(())
    }

    fn hand_over_short(&mut self, shard: usize) -> Result<()> {
        lock(&self.shards[shard]).add_short(&self.short[shard])?;
        self.short[shard].clear();
        Ok(())
    }

    #[inline(never)]
    fn count_long(&mut self, pretoken: &[u8]) -> Result<()> {
        let hash = self.seed.hash_bytes(pretoken);
        let shard = shard_of(hash);
        let gathered = &mut self.long[shard];
        memory::extend(&mut gathered.bytes, pretoken)?;
        gathered.entries.push((hash, gathered.bytes.len()));
        if gathered.bytes.len() >= GATHERED_BYTES {
            self.hand_over_long(shard)?;
        }
        Ok(())
    }

    fn hand_over_long(&mut self, shard: usize) -> Result<()> {
        let LongPretokens { entries, bytes } = &mut self.long[shard];
        let mut start = 0;
        let entries_with_bytes: Vec<(u64, &[u8], u64)> = entries
            .iter()
            .map(|&(hash, end)| (hash, &bytes[std::mem::replace(&mut start, end)..end], 1))
            .collect();
        lock(&self.shards[shard]).add_long(&entries_with_bytes)?;
        entries.clear();
        bytes.clear();
        Ok(())
    }

    /// What was counted since this was asked for last.
    pub fn take_tally(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }

    /// Hand everything over that is still on its way.
    pub fn finish(mut self) -> Result<()> {
        for entry in std::mem::take(&mut self.front) {
            if !entry.key.is_none() {
                self.gather_short(entry)?;
            }
        }
        for shard in 0..SHARDS {
            self.hand_over_short(shard)?;
            self.hand_over_long(shard)?;
        }
        Ok(())
    }
}
