//! Text in, counts out: how often each pretoken occurs in files and documents.
//!
//! A document is a stretch of text between two inputs' ends or boundaries; boundaries are special tokens, which are
//! never counted and which no pretoken crosses. Counts do not depend on the order or the partition of documents.

mod boundary;
mod counter;
mod crew;
mod key;
mod shard;
mod sorted;
mod source;
mod spill;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use boundary::{Boundaries, Cutter};
use counter::{Counter, Held, Tally, lock};
use crew::{Crew, Member, thread_count};
use shard::{SHARDS, Shard, shard_of_bytes};
use sorted::Entries;
use source::{Reader, Source};
use spill::Merged;

pub use sorted::SortedCounts;

use crate::error::{Error, Result};
use crate::memory;
use crate::pretokenize::Pattern;
use crate::watch::{Stage, Watch};

/// About how many bytes of documents are one thread's next part of the work; few in tests, so that there are many.
const PART: usize = if cfg!(test) { 48 } else { 1 << 18 };

/// What a long count may use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Means {
    /// How many threads; `None` is one for each core.
    pub threads: Option<usize>,
    /// How many bytes the table may take; beyond that it is kept in temporary files.
    pub memory_limit: Option<u64>,
}

/// Pretokens and their counts.
pub struct CountTable {
    pattern: Pattern,
    boundaries: Option<Boundaries>,
    count_unmatched: bool,
    shards: Box<[Mutex<Shard>; SHARDS]>,
    /// What the threads of earlier calls left for those of the next one.
    left: Mutex<Vec<Held>>,
    /// Whether some of it was lost when there was no memory for it.
    lost: AtomicBool,
    total: u128,
    documents: u64,
    bytes: u64,
}

impl CountTable {
    /// An empty table. `boundaries` are the texts that cut documents, of which the longest of the leftmost counts;
    /// `count_unmatched` says whether text that the pattern does not match is counted or left out.
    pub fn new(pattern: &str, boundaries: &[String], count_unmatched: bool) -> Result<Self> {
        Ok(Self {
            pattern: Pattern::new(pattern)?,
            boundaries: Boundaries::new(boundaries)?,
            count_unmatched,
            shards: Box::default(),
            left: Mutex::default(),
            lost: AtomicBool::new(false),
            total: 0,
            documents: 0,
            bytes: 0,
        })
    }

    /// How many distinct pretokens there are.
    pub fn distinct(&self) -> Result<usize> {
        self.settle()?;
        self.shards.iter().map(|shard| lock(shard).distinct()).sum()
    }

    /// The sum of all counts.
    pub fn total(&self) -> u128 {
        self.total
    }

    /// How many documents were counted; empty ones are none.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// How many bytes of text were read.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many bytes the table takes.
    pub fn memory(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).memory()).sum()
    }

    fn cutter(&self) -> Cutter<'_> {
        Cutter { pattern: &self.pattern, boundaries: self.boundaries.as_ref() }
    }

    /// Count files. After an error the table holds a part of them and is of no further use.
    pub fn add_files(&mut self, paths: &[PathBuf], means: Means, watch: &mut dyn Watch) -> Result<()> {
        self.limit_memory(means.memory_limit);
        let sources: Vec<Source> = paths.iter().map(|path| Source::new(path)).collect::<Result<_>>()?;
        let total = sources.iter().map(|source| source.size).sum();
        watch.report(Stage::Counting, 0, total)?;
        let cutter = self.cutter();
        let chunks = sources.iter().map(|source| source.chunks(cutter));
        let items = Items::new(chunks);
        let crew = Crew::new(items.len());
        let member = || FileMember {
            sources: &sources,
            items: &items,
            reader: Reader::default(),
            counter: Counter::new(cutter, self.count_unmatched, &self.shards, Held::default(), &crew.stopped),
            crew: &crew,
        };
        let tally = crew.work(thread_count(means.threads, items.len()), total, 0, watch, member)?;
        self.add_tally(&tally);
        Ok(())
    }

    /// Count documents that are in memory. `named` gives a document's name, should it not be UTF-8; `before` is how
    /// many bytes of documents were counted earlier, for the report.
    pub fn add_documents(
        &mut self,
        documents: &[&[u8]],
        means: Means,
        named: &(dyn Fn(usize) -> String + Sync),
        watch: &mut dyn Watch,
        before: u64,
    ) -> Result<()> {
        self.limit_memory(means.memory_limit);
        let cutter = self.cutter();
        let parts = parts(documents, cutter);
        let crew = Crew::new(parts.len());
        let member = || DocumentMember {
            documents,
            parts: &parts,
            named,
            counter: Counter::new(
                cutter,
                self.count_unmatched,
                &self.shards,
                lock(&self.left).pop().unwrap_or_default(),
                &crew.stopped,
            ),
            left: &self.left,
            crew: &crew,
        };
        let threads = thread_count(means.threads, parts.len());
        let tally = crew.work(threads, 0, before, watch, member)?;
        self.add_tally(&tally);
        Ok(())
    }

    fn add_tally(&mut self, tally: &Tally) {
        self.total += u128::from(tally.pretokens);
        self.documents += tally.documents;
        self.bytes += tally.bytes;
    }

    /// Add counts that were made elsewhere: pretoken `i` ends at `ends[i]` of `pretokens`.
    pub fn add_counts(&mut self, pretokens: &[u8], ends: &[u64], counts: &[u64]) -> Result<()> {
        if ends.len() != counts.len() {
            return Err(Error::Value(format!("counts: {} for {} pretokens", counts.len(), ends.len())));
        }
        if ends.last().copied().unwrap_or(0) != pretokens.len() as u64 {
            return Err(Error::Value("ends: the last one is not the end of the pretokens".into()));
        }
        let mut start = 0;
        for (&end, &count) in ends.iter().zip(counts) {
            match pretokens.get(start as usize..end as usize) {
                Some(pretoken) if start < end => self.add_one(pretoken, count)?,
                _ => return Err(Error::Value(format!("ends: {end} does not come after {start}"))),
            }
            start = end;
        }
        Ok(())
    }

    fn add_one(&mut self, pretoken: &[u8], count: u64) -> Result<()> {
        if count > 0 {
            lock(&self.shards[shard_of_bytes(pretoken)]).add(pretoken, count)?;
            self.total += u128::from(count);
        }
        Ok(())
    }

    /// Have everything in the shards that was counted.
    fn settle(&self) -> Result<()> {
        let mut left = lock(&self.left);
        if self.lost.load(Ordering::Relaxed) {
            return Err(Error::Value("an earlier error left some pretokens uncounted".into()));
        }
        let settled = left.drain(..).try_for_each(|held| held.finish(&self.shards));
        self.lost.store(settled.is_err(), Ordering::Relaxed);
        settled
    }

    /// Add everything that another table counted.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        other.settle()?;
        for (shard, other) in self.shards.iter().zip(other.shards.iter()) {
            lock(shard).absorb(&mut lock(other))?;
        }
        self.total += other.total;
        self.documents += other.documents;
        self.bytes += other.bytes;
        Ok(())
    }

    /// Show the pretokens that were counted at least `min_count` times, in no order.
    pub fn visit(&self, min_count: u64, visitor: &mut dyn FnMut(&[u8], u64) -> Result<()>) -> Result<()> {
        self.visit_part(0, 1, min_count, visitor)
    }

    /// The same for part `nth` of `of` parts that have no pretoken in common; the order stays while nothing is added.
    pub fn visit_part(
        &self,
        nth: usize,
        of: usize,
        min_count: u64,
        visitor: &mut dyn FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<()> {
        self.settle()?;
        let mut frequent =
            |pretoken: &[u8], count| if count >= min_count { visitor(pretoken, count) } else { Ok(()) };
        let mut shards = self.shards.iter().skip(nth).step_by(of);
        shards.try_for_each(|shard| lock(shard).visit(&mut frequent))
    }

    /// Show the pretokens that were counted at least `min_count` times, in the order of their bytes.
    pub fn visit_sorted(
        &self,
        min_count: u64,
        visitor: &mut dyn FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<()> {
        let mut frequent =
            |pretoken: &[u8], count| if count >= min_count { visitor(pretoken, count) } else { Ok(()) };
        self.settle()?;
        let mut shards: Vec<_> = self.shards.iter().map(lock).collect();
        if !shards.iter().any(|shard| shard.is_spilled()) {
            let (mut short, mut long) = (Vec::new(), Vec::new());
            for shard in &shards {
                let (slots, mut longer) = shard.tables();
                let mut frequent = slots.iter().filter(|slot| slot.count >= min_count);
                frequent.try_for_each(|slot| memory::push(&mut short, *slot))?;
                longer.try_for_each(|entry| {
                    if entry.1 >= min_count { memory::push(&mut long, entry) } else { Ok(()) }
                })?;
            }
            return Entries::new(short, long).visit(&mut frequent);
        }
        let spills: Vec<_> = shards.iter_mut().map(|shard| shard.settle_all()).collect::<Result<_>>()?;
        let mut merged = Merged::of(spills.into_iter().flatten())?;
        while let Some((pretoken, count)) = merged.next()? {
            frequent(pretoken, count)?;
        }
        Ok(())
    }

    /// The pretokens that were counted at least `min_count` times, sorted.
    pub fn sorted(&self, min_count: u64) -> Result<SortedCounts> {
        let mut sorted = SortedCounts::default();
        self.visit_sorted(min_count, &mut |pretoken, count| sorted.push(pretoken, count))?;
        Ok(sorted)
    }

    /// Limit the memory of the shards from now on.
    fn limit_memory(&mut self, limit: Option<u64>) {
        if let Some(limit) = limit {
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            self.shards.iter().for_each(|shard| lock(shard).set_budget((limit / SHARDS).max(1)));
        }
    }
}

/// The chunks of several sources, numbered through.
struct Items {
    /// How many chunks come before each source, and before the end.
    before: Vec<usize>,
}

impl Items {
    fn new(chunks: impl Iterator<Item = u64>) -> Self {
        let mut before = vec![0];
        let mut sum = 0;
        before.extend(chunks.map(|count| {
            sum += count as usize;
            sum
        }));
        Self { before }
    }

    fn len(&self) -> usize {
        self.before.last().copied().unwrap_or(0)
    }

    /// The source of a chunk, and the chunk's number in it.
    fn locate(&self, item: usize) -> (usize, usize) {
        let source = self.before.partition_point(|before| *before <= item) - 1;
        (source, item - self.before[source])
    }
}

/// Counts chunks of files.
struct FileMember<'a> {
    sources: &'a [Source],
    items: &'a Items,
    reader: Reader,
    counter: Counter<'a>,
    crew: &'a Crew,
}

impl Member for FileMember<'_> {
    fn work(&mut self, item: usize) -> Result<()> {
        let (index, chunk) = self.items.locate(item);
        let source = &self.sources[index];
        let cutter = self.counter.cutter;
        if let Some(chunk) = self.reader.read(index, source, chunk as u64, cutter)? {
            let text = as_text(chunk.bytes, chunk.offset, || source.path.display().to_string())?;
            self.counter.count(text, chunk.offset > 0 && cutter.cuts_inside_documents())?;
            self.crew.did(chunk.bytes.len());
        }
        Ok(())
    }

    fn finish(self) -> Result<Tally> {
        self.counter.finish()
    }
}

/// What is counted at once: several small documents, or a chunk of a large one.
enum Part {
    Documents(Range<usize>),
    Chunk { document: usize, start: usize, end: usize },
}

/// Divide documents into parts of about a chunk.
fn parts(documents: &[&[u8]], cutter: Cutter) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut first, mut size) = (0, 0);
    let close = |parts: &mut Vec<Part>, range: Range<usize>| {
        if !range.is_empty() {
            parts.push(Part::Documents(range));
        }
    };
    for (index, document) in documents.iter().enumerate() {
        if document.len() > PART && cutter.can_cut() {
            close(&mut parts, first..index);
            (first, size) = (index + 1, 0);
            let chunks = (0..document.len()).step_by(PART);
            let chunk = |start: usize| Part::Chunk { document: index, start, end: start + PART };
            parts.extend(chunks.map(chunk));
        } else {
            size += document.len();
            if size >= PART {
                close(&mut parts, first..index + 1);
                (first, size) = (index + 1, 0);
            }
        }
    }
    close(&mut parts, first..documents.len());
    parts
}

/// Counts documents that are in memory.
struct DocumentMember<'a> {
    documents: &'a [&'a [u8]],
    parts: &'a [Part],
    named: &'a (dyn Fn(usize) -> String + Sync),
    counter: Counter<'a>,
    left: &'a Mutex<Vec<Held>>,
    crew: &'a Crew,
}

impl Member for DocumentMember<'_> {
    fn work(&mut self, item: usize) -> Result<()> {
        match &self.parts[item] {
            Part::Documents(range) => range.clone().try_for_each(|index| {
                let document = self.documents[index];
                self.crew.did(document.len());
                self.counter.count(as_text(document, 0, || (self.named)(index))?, false)
            }),
            &Part::Chunk { document: index, start, end } => {
                let document = self.documents[index];
                let cutter = self.counter.cutter;
                let seen = &document[..document.len().min(end + cutter.context())];
                let from = if start == 0 { Some(0) } else { cutter.next(seen, start) };
                let Some(from) = from.filter(|from| *from < end) else { return Ok(()) };
                let to = if end >= document.len() { None } else { cutter.next(document, end) };
                let chunk = &document[from..to.unwrap_or(document.len())];
                self.crew.did(chunk.len());
                let text = as_text(chunk, from as u64, || (self.named)(index))?;
                self.counter.count(text, from > 0 && cutter.cuts_inside_documents())
            }
        }
    }

    fn finish(self) -> Result<Tally> {
        let (tally, held) = self.counter.leave();
        lock(self.left).push(held);
        Ok(tally)
    }
}

fn as_text(bytes: &[u8], offset: u64, input: impl FnOnce() -> String) -> Result<&str> {
    simdutf8::compat::from_utf8(bytes)
        .map_err(|bad| Error::NotUtf8 { input: input(), offset: offset + bad.valid_up_to() as u64 })
}

#[cfg(test)]
mod tests;
