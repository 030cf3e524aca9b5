//! Counts batches of documents while more arrive.
//!
//! Each batch is divided into parts that can be counted independently: several small documents, or
//! a chunk of a large one. The leader asks for batches until enough bytes are waiting; workers take
//! parts of any batch. No worker waits for the others to finish a batch. A batch is returned to its
//! producer once all its parts are counted.
//!
//! ```text
//! leader:  next() -> batch 0 -> parts 0 1 2, batch 1 -> parts 3 4 ... -> queue -> workers,
//!          each with its counter
//!          next(counted batches) <- batch 0, when part 2, its last, was counted
//! ```

use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::boundary::Cutter;
use super::counter::{Amount, Counter};
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::Pulse;
use crate::workers::{self, Queue, Team, Worker, lock};

/// The approximate size of a part in bytes: large enough that its cost is negligible, small enough
/// for a near cache. In tests it is tiny, so that there are many parts.
const PART: usize = if cfg!(test) { 48 } else { 1 << 18 };

/// No document is divided into more parts: those of a very large one are larger.
const MOST_PARTS: usize = 1 << 18;

/// The number of bytes behind a part that are searched first for its end.
const AHEAD: usize = if cfg!(test) { 1 } else { 1 << 12 };

/// No further batch is requested while this many parts for each thread wait to be counted, or this
/// many bytes if they are more. They are few enough for a near cache.
const WAITING_PARTS: usize = 2;
const LEAST_WAITING: usize = 1 << 20;

/// The overhead of a document in bytes.
const DOCUMENT_OVERHEAD: usize = 64;

/// With fewer bytes, a thread costs more than it saves.
const SMALL: usize = 1 << 16;

/// A batch of documents, in order.
pub trait Documents: Send + Sync {
    fn count(&self) -> usize;

    /// Returns the size of a document in bytes.
    fn length(&self, index: usize) -> usize;

    /// Returns a range of a document's bytes, which may be read into `buffer`.
    fn read<'b>(
        &'b self,
        index: usize,
        range: Range<usize>,
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b [u8]>;

    /// Returns a document's name, for error messages.
    fn name(&self, index: usize) -> String;
}

/// The documents of one call.
pub struct Feed<'a, D> {
    cutter: Cutter<'a>,
    queue: Queue<Part<D>>,
    counted: Mutex<Amount>,
}

/// A batch and its size in bytes. Each part that is not counted yet owns the batch, too.
type Offered<D> = (Arc<D>, usize);

/// A unit of work: several small documents of a batch, or a chunk of a large one.
pub struct Part<D> {
    batch: Arc<D>,
    documents: Range<usize>,
    /// The chunk's nominal place in the only document.
    chunk: Option<Range<usize>>,
}

impl<'a, D: Documents> Feed<'a, D> {
    pub fn new(cutter: Cutter<'a>) -> Self {
        Self { cutter, queue: Queue::default(), counted: Mutex::default() }
    }

    /// Counts all batches of `next` on up to `threads` threads, each with a counter. `next`
    /// receives the batches that were counted.
    ///
    /// After an error of `next`, its earlier batches are still counted, and an error of a document
    /// in them takes precedence. An interrupt ends the call at once.
    pub fn count<'s: 'a>(
        &self,
        threads: usize,
        counter: impl Fn() -> Result<Counter<'a, 's>> + Sync,
        pulse: &mut Pulse,
        next: &mut dyn FnMut(Vec<D>) -> Result<Option<D>>,
    ) -> Result<Amount> {
        memory::ensure_spare()?;
        let worker = || Ok(PartWorker { feed: self, counter: counter()?, buffer: Vec::new() });
        let mut batches = Vec::new();
        workers::lead(&self.queue, &worker, pulse, |team, pulse| {
            let all_offered = self.offer_all(&mut batches, threads, team, pulse, next);
            team.check()?;
            if matches!(all_offered, Err(Error::Caller { interrupts: true, .. })) {
                return all_offered;
            }
            self.queue.close();
            if team.started() == 0 {
                team.work(pulse)?;
            }
            team.wait(pulse, |_| false, |pulse| self.report(pulse))?;
            all_offered
        })?;
        self.update(pulse);
        pulse.report()?;
        Ok(*lock(&self.counted))
    }

    /// Puts the parts of all batches into the queue, and starts threads when there is work for
    /// them.
    fn offer_all<W: Worker<Part<D>>>(
        &self,
        batches: &mut Vec<Offered<D>>,
        threads: usize,
        team: &Team<Part<D>, W>,
        pulse: &mut Pulse,
        next: &mut dyn FnMut(Vec<D>) -> Result<Option<D>>,
    ) -> Result<()> {
        let mut is_first = true;
        let most_waiting = LEAST_WAITING.max(threads.saturating_mul(WAITING_PARTS * PART));
        loop {
            let counted = batches.extract_if(.., |(batch, _)| Arc::strong_count(batch) == 1);
            let documents = next(counted.filter_map(|(batch, _)| Arc::into_inner(batch)).collect());
            // Before the error of `next`: in a forked process, `Forked` takes precedence.
            team.check()?;
            let Some(documents) = documents? else { return Ok(()) };

            let mut bytes = 0;
            for index in 0..documents.count() {
                bytes += documents.length(index) + DOCUMENT_OVERHEAD;
            }
            let batch = Arc::new(documents);
            self.queue.push(parts(&batch, self.cutter.can_cut()));
            batches.push((batch, bytes));
            if !is_first || bytes >= SMALL {
                // No more threads than parts that wait. If the system refuses even one, this thread
                // does the work.
                team.start(threads.min(team.started() + self.queue.not_begun()), pulse);
                if team.started() == 0 {
                    team.work(pulse)?;
                }
            }
            is_first = false;
            self.report(pulse)?;

            let waiting = || -> usize {
                let uncounted = batches.iter().filter(|(batch, _)| Arc::strong_count(batch) > 1);
                uncounted.map(|(_, bytes)| bytes).sum()
            };
            let is_over = |is_closed| is_closed || waiting() < most_waiting;
            team.wait(pulse, is_over, |pulse| self.report(pulse))?;
            if self.queue.is_closed() {
                return Ok(());
            }
        }
    }

    /// Reports the progress, unless the last report is too recent.
    fn report(&self, pulse: &mut Pulse) -> Result<()> {
        self.update(pulse);
        pulse.check()
    }

    /// Passes the progress to the pulse.
    fn update(&self, pulse: &mut Pulse) {
        let Amount { bytes, documents, .. } = *lock(&self.counted);
        pulse.finished = bytes;
        pulse.finished_documents = documents;
    }
}

/// Divides the documents of a batch into parts.
fn parts<D: Documents>(batch: &Arc<D>, can_cut: bool) -> Vec<Part<D>> {
    let mut parts = Vec::new();
    // The first document that is in no part yet, and the size of the documents from there on.
    let mut first = 0;
    let mut size = 0;
    let part = |documents, chunk| Part { batch: batch.clone(), documents, chunk };
    let count = batch.count();
    for index in 0..count {
        let length = batch.length(index);
        let is_divided = length > PART && can_cut;
        size += length;
        // The documents before one that is divided are a part.
        let end = if is_divided { index } else { index + 1 };
        if first < end && (is_divided || size >= PART || end == count) {
            parts.push(part(first..end, None));
            first = end;
            size = 0;
        }
        if is_divided {
            let step = PART.max(length / MOST_PARTS);
            for start in (0..length).step_by(step) {
                let chunk = start..length.min(start + step);
                parts.push(part(index..index + 1, Some(chunk)));
            }
            first = index + 1;
            size = 0;
        }
    }
    parts
}

/// Counts parts.
struct PartWorker<'f, 'a, 's, D> {
    feed: &'f Feed<'a, D>,
    counter: Counter<'a, 's>,
    /// Documents are read into it.
    buffer: Vec<u8>,
}

impl<D: Documents> Worker<Part<D>> for PartWorker<'_, '_, '_, D> {
    fn work(&mut self, _: usize, part: Part<D>, pulse: &mut Pulse) -> Result<()> {
        let Part { batch, documents, chunk } = part;
        for index in documents {
            let whole = 0..batch.length(index);
            self.count_chunk(&batch, index, chunk.as_ref().unwrap_or(&whole), pulse)?;
        }
        lock(&self.feed.counted).add(&self.counter.take_amount());
        // If only the leader still owns the batch, it may return it.
        let counted = Arc::downgrade(&batch);
        drop(batch);
        if counted.strong_count() == 1 {
            self.feed.queue.notify();
        }
        Ok(())
    }

    fn finish(self) -> Result<()> {
        self.counter.finish()
    }
}

impl<D: Documents> PartWorker<'_, '_, '_, D> {
    /// Counts a chunk: from the first cut at or after its nominal start to the first cut at or
    /// after its nominal end. Both neighbours find the same cut, so every byte is in exactly one
    /// chunk. A chunk without a cut is counted with an earlier one.
    fn count_chunk(
        &mut self,
        documents: &D,
        index: usize,
        chunk: &Range<usize>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let cutter = self.feed.cutter;
        let length = documents.length(index);
        let context = cutter.context();
        let begin = chunk.start.saturating_sub(context);
        let mut ahead = context.max(AHEAD);
        let (text, range) = loop {
            let end = chunk.end.saturating_add(ahead).min(length);
            let text = documents.read(index, begin..end, &mut self.buffer)?;
            // A cut is certain if all bytes were read that decide on it.
            let certain = if end == length { text.len() } else { text.len() - context };
            let cut = |from: usize| cutter.next(text, from - begin).filter(|&cut| cut <= certain);
            let mut from = 0;
            if chunk.start > 0 {
                match cut(chunk.start) {
                    Some(first) if begin + first < chunk.end => from = first,
                    _ => return Ok(()),
                }
            }
            let to = if chunk.end == length { None } else { cut(chunk.end) };
            if to.is_some() || end == length {
                break (text, from..to.unwrap_or(text.len()));
            }
            // The chunk may end further behind: read more.
            ahead = ahead.saturating_mul(4);
        };
        let start = begin + range.start;
        let text = simdutf8::compat::from_utf8(&text[range]).map_err(|bad| {
            let offset = (start + bad.valid_up_to()) as u64;
            Error::NotUtf8 { input: documents.name(index), offset }
        })?;
        // A chunk that begins at a cut of the pattern continues a document; other cuts are behind
        // boundaries.
        let continues = start > 0 && cutter.pattern.can_cut();
        self.counter.count(text, continues, pulse)
    }
}
