//! Counts batches of documents, from memory or from files, while more arrive.
//!
//! Each batch is divided into parts that can be counted independently: several small documents, or a chunk of a large
//! one. The leading thread asks for batches until enough bytes are waiting; workers take parts of any batch. No worker
//! waits for the others to finish a batch. A batch is returned to its producer once all its parts are counted.
//!
//! ```text
//! leader:  next() -> batch 0 -> parts 0 1 2, batch 1 -> parts 3 4 ... -> queue -> workers, each with its counter
//!          next(counted batches) <- batch 0, when part 2, its last, was counted
//! ```

use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::boundary::Cutter;
use super::counter::{Counter, Tally};
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::Pulse;
use crate::workers::{self, Queue, Team, Worker, lock};

/// The approximate size of a part in bytes: large enough that its cost is negligible, small enough for a near cache. In
/// tests it is tiny, so that there are many parts.
const PART: usize = if cfg!(test) { 48 } else { 1 << 18 };

/// No further batch is requested while so many parts for each thread wait to be counted, or at least this many bytes.
const WAITING_PARTS: usize = 2;
const LEAST_WAITING: usize = 4 << 20;

/// The overhead of a document in bytes.
const DOCUMENT_OVERHEAD: usize = 64;

/// With fewer bytes, a thread costs more than it saves.
const SMALL: usize = 1 << 16;

/// A batch of documents, in order.
pub trait Documents: Send + Sync {
    fn count(&self) -> usize;

    fn document(&self, index: usize) -> &[u8];

    /// A document's name, for error messages.
    fn name(&self, index: usize) -> String;

    /// The offset of a document's first byte, if it continues an earlier one.
    fn offset(&self, _index: usize) -> u64 {
        0
    }

    /// Whether it is not counted as a document, as it continues one.
    fn continues(&self, _index: usize) -> bool {
        false
    }
}

/// The documents of one call.
pub struct Feed<'a, D> {
    cutter: Cutter<'a>,
    pub queue: Queue<Part<D>>,
    counted: Mutex<Counted<D>>,
}

/// What was counted so far.
struct Counted<D> {
    tally: Tally,
    /// Batches whose parts are all counted.
    batches: Vec<D>,
    /// The size of the other batches in bytes.
    waiting: usize,
}

struct Batch<D> {
    documents: D,
    size: usize,
}

/// A unit of work: several small documents of a batch, or a chunk of a large one.
pub struct Part<D> {
    batch: Arc<Batch<D>>,
    documents: Range<usize>,
    /// The chunk's nominal place in the only document.
    chunk: Option<Range<usize>>,
}

impl<'a, D: Documents> Feed<'a, D> {
    pub fn new(cutter: Cutter<'a>) -> Self {
        let counted = Counted { tally: Tally::default(), batches: Vec::new(), waiting: 0 };
        Self { cutter, queue: Queue::default(), counted: Mutex::new(counted) }
    }

    /// Count all batches of `next` on up to so many threads, each with a counter; `next` receives the batches that were
    /// counted.
    ///
    /// An error of a document takes precedence over one of `next`, whose earlier batches are counted first, unless it is an
    /// interrupt.
    pub fn count<'s: 'a>(
        &self,
        threads: usize,
        counter: impl Fn() -> Result<Counter<'a, 's>> + Sync,
        pulse: &mut Pulse,
        next: &mut dyn FnMut(Vec<D>) -> Result<Option<D>>,
    ) -> Result<Tally> {
        memory::ensure_spare()?;
        let worker = || Ok(PartWorker { feed: self, counter: counter()? });
        workers::lead(&self.queue, &worker, pulse, |team, pulse| {
            let offered = self.offer_all(threads, team, pulse, next);
            team.check()?;
            if matches!(offered, Err(Error::Caller { interrupts: true, .. })) {
                return offered;
            }
            self.queue.close();
            if team.started() == 0 {
                team.work(pulse)?;
            }
            team.wait(pulse, |_| false, |pulse| self.report(pulse))?;
            offered
        })?;
        self.update(pulse);
        pulse.report()?;
        Ok(lock(&self.counted).tally)
    }

    fn offer_all<W: Worker<Part<D>>>(
        &self,
        threads: usize,
        team: &Team<Part<D>, W>,
        pulse: &mut Pulse,
        next: &mut dyn FnMut(Vec<D>) -> Result<Option<D>>,
    ) -> Result<()> {
        let (mut batches, mut size) = (0, 0);
        let most_waiting = LEAST_WAITING.max(threads.saturating_mul(WAITING_PARTS * PART));
        loop {
            let counted = std::mem::take(&mut lock(&self.counted).batches);
            let documents = next(counted);
            team.check()?;
            let Some(documents) = documents? else { return Ok(()) };
            size += self.offer(documents);
            batches += 1;
            if batches > 1 || size >= SMALL {
                // No more threads than parts that wait. If the system refuses even one, this thread does the work.
                team.start(threads.min(team.started() + self.queue.not_begun()), pulse);
                if team.started() == 0 {
                    team.work(pulse)?;
                }
            }
            self.report(pulse)?;
            let is_over = |is_closed| is_closed || lock(&self.counted).waiting < most_waiting;
            team.wait(pulse, is_over, |pulse| self.report(pulse))?;
            if self.queue.is_closed() {
                return Ok(());
            }
        }
    }

    /// Offer the parts of a batch; returns its size in bytes.
    fn offer(&self, documents: D) -> usize {
        let bytes: usize = (0..documents.count()).map(|index| documents.document(index).len()).sum();
        let size = bytes + documents.count() * DOCUMENT_OVERHEAD;
        lock(&self.counted).waiting += size;
        let batch = Arc::new(Batch { documents, size });
        let parts = parts(&batch, self.cutter.can_cut());
        self.queue.push(parts);
        self.close(batch);
        size
    }

    /// Give up a reference to a batch. With the last one, it is counted.
    fn close(&self, batch: Arc<Batch<D>>) {
        let Some(Batch { documents, size }) = Arc::into_inner(batch) else { return };
        let mut counted = lock(&self.counted);
        counted.waiting -= size;
        counted.batches.push(documents);
        drop(counted);
        self.queue.notify();
    }

    /// Report the progress, if the last report is not too recent.
    fn report(&self, pulse: &mut Pulse) -> Result<()> {
        self.update(pulse);
        pulse.check()
    }

    /// Pass the progress to the pulse.
    fn update(&self, pulse: &mut Pulse) {
        let Tally { bytes, documents, .. } = lock(&self.counted).tally;
        pulse.finished = bytes;
        pulse.finished_documents = documents;
    }
}

/// Divide the documents of a batch into parts.
fn parts<D: Documents>(batch: &Arc<Batch<D>>, can_cut: bool) -> Vec<Part<D>> {
    let (mut parts, mut first, mut size) = (Vec::new(), 0, 0);
    let part = |documents, chunk| Part { batch: batch.clone(), documents, chunk };
    let count = batch.documents.count();
    for index in 0..count {
        let length = batch.documents.document(index).len();
        let is_divided = length > PART && can_cut;
        size += length;
        let end = if is_divided { index } else { index + 1 };
        if first < end && (is_divided || size >= PART || end == count) {
            parts.push(part(first..end, None));
            (first, size) = (end, 0);
        }
        if is_divided {
            let chunks = (0..length).step_by(PART).map(|start| start..start + PART);
            parts.extend(chunks.map(|chunk| part(index..index + 1, Some(chunk))));
            (first, size) = (index + 1, 0);
        }
    }
    parts
}

/// Counts parts.
struct PartWorker<'f, 'a, 's, D> {
    feed: &'f Feed<'a, D>,
    counter: Counter<'a, 's>,
}

impl<D: Documents> Worker<Part<D>> for PartWorker<'_, '_, '_, D> {
    fn work(&mut self, _: usize, part: Part<D>, _: &mut Pulse) -> Result<()> {
        let documents = &part.batch.documents;
        let counted = part.documents.clone().try_for_each(|index| match &part.chunk {
            None => self.count(documents, index, 0..documents.document(index).len()),
            Some(chunk) => self.count_chunk(documents, index, chunk),
        });
        self.feed.close(part.batch);
        counted?;
        lock(&self.feed.counted).tally.add(&self.counter.take_tally());
        Ok(())
    }

    fn finish(self) -> Result<()> {
        self.counter.finish()
    }
}

impl<D: Documents> PartWorker<'_, '_, '_, D> {
    /// Count a chunk: from the first cut at or after its nominal start to the first one at or after its nominal end. Both
    /// neighbours find the same cut, so every byte is in exactly one chunk.
    fn count_chunk(&mut self, documents: &D, index: usize, chunk: &Range<usize>) -> Result<()> {
        let (cutter, document) = (self.feed.cutter, documents.document(index));
        let last = chunk.end.min(document.len());
        let visible = &document[..document.len().min(chunk.end + cutter.context())];
        let from = if chunk.start == 0 { Some(0) } else { cutter.next(visible, chunk.start) };
        let Some(from) = from.filter(|from| *from < last) else { return Ok(()) };
        let to = if chunk.end >= document.len() { None } else { cutter.next(document, chunk.end) };
        self.count(documents, index, from..to.unwrap_or(document.len()))
    }

    fn count(&mut self, documents: &D, index: usize, range: Range<usize>) -> Result<()> {
        let text = simdutf8::compat::from_utf8(&documents.document(index)[range.clone()]).map_err(|bad| {
            let offset = documents.offset(index) + (range.start + bad.valid_up_to()) as u64;
            Error::NotUtf8 { input: documents.name(index), offset }
        })?;
        let is_cut = range.start > 0 || documents.continues(index);
        self.counter.count(text, is_cut && self.feed.cutter.cuts_inside_documents())
    }
}
