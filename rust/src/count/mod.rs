//! The first stage of training: counts how often each pretoken occurs in files and documents.
//!
//! Documents come in batches, in memory or as files ([`files`]), and are divided at places where a
//! cut changes no pretoken ([`boundary`]) into parts, which a queue hands to workers ([`feed`]).
//! Each worker counts into a small table of its own ([`counter`]) and from there into shards that
//! all workers share ([`shard`]). What does not fit the memory limit is spilled to sorted runs in
//! temporary files ([`spill`]).
//!
//! Boundaries are special tokens between documents: they are never counted, and no pretoken crosses
//! them. Counts do not depend on the order or the division of the documents, or on the number of
//! threads.

mod boundary;
mod buffers;
mod counter;
mod feed;
mod files;
mod shard;
mod sorted;
mod spill;
mod uses;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use boundary::{Boundaries, Cutter};
use buffers::ShardBuffers;
use counter::Counter;
use feed::Feed;
use files::Files;
use shard::SHARDS;
use sorted::Merged;
use spill::sources;

use crate::encode::Stages;
use crate::error::{Error, Result};
use crate::pretokenize::Pattern;
use crate::watch::{COUNTING, Pulse, Watch};
use crate::workers::{each, thread_count};

pub use feed::Documents;
pub use shard::Shard;
pub use sorted::CountRows;

/// The limits of a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// The number of threads; `None` for one per core.
    pub threads: Option<usize>,
    /// The maximum size of the table in bytes; the rest is kept in temporary files.
    pub memory: Option<u64>,
}

/// Pretokens and their counts.
pub struct CountTable {
    pattern: Arc<Pattern>,
    boundaries: Option<Boundaries>,
    stages: Stages,
    count_unmatched: bool,
    /// Each pretoken is in one of them. If they are taken away, the sums below stay.
    pub shards: Box<[Shard; SHARDS]>,
    /// The memory limit in bytes.
    pub limit: Option<u64>,
    /// The sum of all counts.
    pub total: u128,
    /// The number of documents, without empty ones.
    pub documents: u64,
    /// The number of bytes of text that were read.
    pub bytes: u64,
}

impl CountTable {
    /// Returns an empty table. `boundaries` are the texts between documents; if several match, the
    /// leftmost and then the longest one counts. `count_unmatched` decides whether text that the
    /// pattern does not match is counted or left out. The text between boundaries goes through the
    /// stages before it is cut; added tokens in it are not counted.
    pub fn new(
        pattern: &[String],
        boundaries: &[String],
        count_unmatched: bool,
        stages: Stages,
    ) -> Result<Self> {
        Ok(Self {
            pattern: Pattern::new(pattern)?,
            boundaries: Boundaries::new(boundaries)?,
            stages,
            count_unmatched,
            shards: Box::default(),
            limit: None,
            total: 0,
            documents: 0,
            bytes: 0,
        })
    }

    /// Returns the number of distinct pretokens.
    pub fn distinct(&self) -> Result<usize> {
        self.shards.iter().map(Shard::distinct).sum()
    }

    /// Returns the size of the table in bytes.
    pub fn memory(&self) -> usize {
        self.shards.iter().map(Shard::memory).sum()
    }

    /// Counts files. After an error the table is incomplete and must not be used.
    pub fn add_files(
        &mut self,
        paths: &[PathBuf],
        limits: Limits,
        watch: &mut dyn Watch,
    ) -> Result<()> {
        let files = Files::new(paths)?;
        let mut pulse = Pulse::of_stage(watch, COUNTING, files.size());
        pulse.report()?;
        let mut files = Some(files);
        self.add(limits, &mut pulse, &mut |_| Ok(files.take()))
    }

    /// Counts documents, batch by batch, until `next` returns none. `next` receives the batches
    /// that were counted.
    pub fn add_documents<D: Documents>(
        &mut self,
        limits: Limits,
        watch: &mut dyn Watch,
        next: &mut dyn FnMut(Vec<D>) -> Result<Option<D>>,
    ) -> Result<()> {
        self.add(limits, &mut Pulse::of_stage(watch, COUNTING, 0), next)
    }

    /// Counts batches into the shards, on threads that each have a counter.
    fn add<D: Documents>(
        &mut self,
        limits: Limits,
        pulse: &mut Pulse,
        next: &mut dyn FnMut(Vec<D>) -> Result<Option<D>>,
    ) -> Result<()> {
        if let Some(limit) = limits.memory {
            self.limit = Some(limit);
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            for shard in self.shards.iter_mut() {
                // 0 would be no limit.
                shard.budget = (limit / SHARDS).max(1);
            }
        }
        let cutter = Cutter {
            pattern: &self.pattern,
            boundaries: self.boundaries.as_ref(),
            stages: &self.stages,
        };
        let feed = Feed::new(cutter);
        let shards = self.shards.each_mut().map(Mutex::new);
        let counter = || Counter::new(cutter, self.count_unmatched, &shards);
        let threads = thread_count(limits.threads, usize::MAX);
        let amount = feed.count(threads, counter, pulse, next)?;
        self.total += u128::from(amount.pretokens);
        self.documents += amount.documents;
        self.bytes += amount.bytes;
        Ok(())
    }

    /// Prepares for reading: if anything was moved to temporary files, the rest is, too.
    pub fn settle(&mut self) -> Result<()> {
        self.shards.iter_mut().try_for_each(Shard::settle)
    }

    /// Adds finished counts: pretoken `i` ends at `ends[i]` of `pretokens`.
    pub fn add_counts(&mut self, pretokens: &[u8], ends: &[u64], counts: &[u64]) -> Result<()> {
        if ends.len() != counts.len() {
            return Err(Error::Value(format!(
                "counts: {} counts for {} pretokens",
                counts.len(),
                ends.len()
            )));
        }
        if ends.last().copied().unwrap_or(0) != pretokens.len() as u64 {
            return Err(Error::Value("ends: the last one is not the end of the pretokens".into()));
        }
        let shards = self.shards.each_mut().map(Mutex::new);
        let mut buffers = ShardBuffers::new(&shards)?;
        let mut start = 0;
        for (&end, &count) in ends.iter().zip(counts) {
            let pretoken = match pretokens.get(start as usize..end as usize) {
                Some(pretoken) if start < end => pretoken,
                _ => return Err(Error::Value(format!("ends: {end} does not come after {start}"))),
            };
            if count > 0 {
                buffers.add(pretoken, count)?;
                self.total += u128::from(count);
            }
            start = end;
        }
        buffers.finish()
    }

    /// Adds the counts of another table `times` times, but its documents and bytes once.
    pub fn merge(&mut self, other: &Self, times: u128) -> Result<()> {
        let shards = self.shards.each_mut().map(Mutex::new);
        let mut buffers = ShardBuffers::new(&shards)?;
        let too_many = || Error::Overflow(format!("a count times {times} does not fit 64 bits"));
        other.visit(&mut |pretoken, count| {
            let product = u64::try_from(times.saturating_mul(count.into()));
            buffers.add(pretoken, product.map_err(|_| too_many())?)
        })?;
        buffers.finish()?;
        self.total += other.total * times;
        self.documents += other.documents;
        self.bytes += other.bytes;
        Ok(())
    }

    /// Visits the pretokens, in no particular order.
    pub fn visit(&self, visitor: &mut dyn FnMut(&[u8], u64) -> Result<()>) -> Result<()> {
        self.shards.iter().try_for_each(|shard| shard.visit(visitor))
    }

    /// Visits the pretokens in the order of their bytes.
    pub fn visit_sorted(
        &self,
        threads: Option<usize>,
        pulse: &mut Pulse<'_>,
        visitor: &mut dyn FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<()> {
        let runs: Vec<_> = self.shards.iter().flat_map(|shard| shard.spill.runs()).collect();
        let threads = thread_count(threads, SHARDS);
        let sorted = each(threads, self.shards.iter(), pulse, |shard, _| shard.sorted())?;
        let all = sources(&runs)?.into_iter().chain(sorted.into_iter().flatten());
        Merged::of(all)?.visit(visitor)
    }

    /// Returns all pretokens, sorted.
    pub fn sorted(&self, threads: Option<usize>, pulse: &mut Pulse<'_>) -> Result<CountRows> {
        let mut sorted = CountRows::default();
        self.visit_sorted(threads, pulse, &mut |pretoken, count| sorted.push(pretoken, count))?;
        Ok(sorted)
    }

    /// Moves the whole table to temporary files if memory is limited and the table takes more than
    /// `most` bytes.
    pub fn spill(&mut self, most: u64) -> Result<()> {
        if self.limit.is_none() || self.memory() as u64 <= most {
            return Ok(());
        }
        self.shards.iter_mut().try_for_each(Shard::spill)
    }
}

#[cfg(test)]
mod tests;
