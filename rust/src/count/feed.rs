//! Counts documents in memory, which arrive in batches.
//!
//! Each batch is divided into parts that can be counted independently: several small documents, or a chunk of a large
//! one. The leading thread offers batches until enough bytes are waiting; workers take parts of any batch. No worker
//! waits for the others to finish a batch. A batch is returned to its producer once all its parts are counted.

use std::collections::VecDeque;
use std::iter::repeat_n;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::as_text;
use super::boundary::Cutter;
use super::counter::Counter;
use super::queue::Counting;
use crate::error::Result;
use crate::watch::Pulse;
use crate::workers::{Team, Worker, lock};

/// The approximate size of a part in bytes; small in tests, so that there are many parts.
const PART: usize = if cfg!(test) { 48 } else { 1 << 18 };

/// No further batch is requested while so many parts for each thread wait to be counted, or at least this many bytes.
const WAITING_PARTS: usize = 2;
const LEAST_WAITING: usize = 4 << 20;

/// The overhead of a document in bytes.
const DOCUMENT_OVERHEAD: usize = 64;

/// With fewer bytes, a thread costs more than it saves.
pub const SMALL: u64 = 1 << 16;

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
}

/// The documents of one call.
pub struct Feed<'a, D> {
    cutter: Cutter<'a>,
    counting: &'a Counting,
    batches: Mutex<Batches<D>>,
}

struct Batches<D> {
    /// Batches that are not finished, each with the number of parts still to count.
    open: VecDeque<(Arc<DocumentBatch<D>>, usize)>,
    /// Batches that are finished.
    finished: Vec<D>,
    /// The size of the open batches in bytes.
    size: usize,
    /// The number of parts of all batches so far.
    parts: usize,
}

struct DocumentBatch<D> {
    documents: D,
    parts: Vec<CountPart>,
    /// The number of the batch's first part.
    first: usize,
    size: usize,
}

/// A unit of work: several small documents, or a chunk of a large one.
enum CountPart {
    Documents(Range<usize>),
    Chunk { document: usize, start: usize, end: usize },
}

impl<'a, D: Documents> Feed<'a, D> {
    pub fn new(cutter: Cutter<'a>, counting: &'a Counting) -> Self {
        let batches = Batches { open: VecDeque::new(), finished: Vec::new(), size: 0, parts: 0 };
        Self { cutter, counting, batches: Mutex::new(batches) }
    }

    /// Offer all batches of `next` to up to `threads` workers. `next` receives the batches that were counted.
    pub fn lead<W: Worker<()>>(
        &self,
        threads: usize,
        team: &Team<(), W>,
        pulse: &mut Pulse,
        next: &mut dyn FnMut(Vec<D>) -> Result<Option<D>>,
    ) -> Result<()> {
        let (mut batches, mut size) = (0, 0);
        let most_waiting = LEAST_WAITING.max(threads.saturating_mul(WAITING_PARTS * PART));
        loop {
            let finished = std::mem::take(&mut lock(&self.batches).finished);
            let documents = next(finished);
            team.check()?;
            let Some(documents) = documents? else { return Ok(()) };
            size += self.offer(documents) as u64;
            batches += 1;
            if batches > 1 || size >= SMALL {
                self.counting.start(threads, team, pulse)?;
            }
            self.counting.report(pulse)?;
            let is_over = |is_closed| is_closed || lock(&self.batches).size < most_waiting;
            team.wait(pulse, is_over, |pulse| self.counting.report(pulse))?;
            if self.counting.queue.is_closed() {
                return Ok(());
            }
        }
    }

    /// Offer the parts of a batch; returns its size in bytes.
    fn offer(&self, documents: D) -> usize {
        let parts = parts(&documents, self.cutter);
        let bytes: usize = (0..documents.count()).map(|index| documents.document(index).len()).sum();
        let size = bytes + documents.count() * DOCUMENT_OVERHEAD;
        let offered = parts.len();
        let mut batches = lock(&self.batches);
        let batch = DocumentBatch { documents, parts, first: batches.parts, size };
        if offered > 0 {
            batches.size += size;
            batches.parts += offered;
            batches.open.push_back((Arc::new(batch), offered));
        }
        drop(batches);
        self.counting.queue.push(repeat_n((), offered));
        size
    }

    /// The batch of a part that is not yet counted.
    fn batch(&self, part: usize) -> Arc<DocumentBatch<D>> {
        let open = &lock(&self.batches).open;
        open[Self::place(open, part)].0.clone()
    }

    fn place(open: &VecDeque<(Arc<DocumentBatch<D>>, usize)>, part: usize) -> usize {
        open.partition_point(|(batch, _)| batch.first <= part) - 1
    }

    /// Record that a part was counted; a batch whose parts are all counted is finished.
    fn finish(&self, part: usize, batch: Arc<DocumentBatch<D>>) {
        let mut batches = lock(&self.batches);
        drop(batch);
        let place = Self::place(&batches.open, part);
        batches.open[place].1 -= 1;
        if batches.open[place].1 > 0 {
            return;
        }
        // This was the last reference.
        if let Some(batch) = batches.open.remove(place).and_then(|(batch, _)| Arc::into_inner(batch)) {
            batches.size -= batch.size;
            batches.finished.push(batch.documents);
        }
        drop(batches);
        self.counting.queue.notify();
    }
}

/// Divide documents into parts.
fn parts(documents: &impl Documents, cutter: Cutter) -> Vec<CountPart> {
    let mut parts = Vec::new();
    let (mut first, mut size) = (0, 0);
    let close = |parts: &mut Vec<CountPart>, range: Range<usize>| {
        if !range.is_empty() {
            parts.push(CountPart::Documents(range));
        }
    };
    for index in 0..documents.count() {
        let length = documents.document(index).len();
        if length > PART && cutter.can_cut() {
            close(&mut parts, first..index);
            (first, size) = (index + 1, 0);
            let chunks = (0..length).step_by(PART);
            let chunk = |start: usize| CountPart::Chunk { document: index, start, end: start + PART };
            parts.extend(chunks.map(chunk));
        } else {
            size += length;
            if size >= PART {
                close(&mut parts, first..index + 1);
                (first, size) = (index + 1, 0);
            }
        }
    }
    close(&mut parts, first..documents.count());
    parts
}

/// Counts parts of documents.
pub struct DocumentWorker<'a, 's, D> {
    feed: &'a Feed<'a, D>,
    counter: Counter<'a, 's>,
}

impl<D: Documents> Worker<()> for DocumentWorker<'_, '_, D> {
    fn work(&mut self, item: usize, (): (), _: &mut Pulse) -> Result<()> {
        let batch = self.feed.batch(item);
        let counted = self.count(&batch, &batch.parts[item - batch.first]);
        self.feed.finish(item, batch);
        counted?;
        lock(&self.feed.counting.tally).add(&self.counter.take_tally());
        Ok(())
    }

    fn finish(self) -> Result<()> {
        self.counter.finish()
    }
}

impl<'a, 's, D: Documents> DocumentWorker<'a, 's, D> {
    pub fn new(feed: &'a Feed<'a, D>, counter: Counter<'a, 's>) -> Self {
        Self { feed, counter }
    }

    fn count(&mut self, batch: &DocumentBatch<D>, part: &CountPart) -> Result<()> {
        let documents = &batch.documents;
        match part {
            CountPart::Documents(range) => range.clone().try_for_each(|index| {
                let document = documents.document(index);
                self.counter
                    .count(as_text(document, documents.offset(index), || documents.name(index))?, false)
            }),
            &CountPart::Chunk { document: index, start, end } => {
                let document = documents.document(index);
                let cutter = self.counter.cutter;
                let visible = &document[..document.len().min(end + cutter.context())];
                let from = if start == 0 { Some(0) } else { cutter.next(visible, start) };
                let last = end.min(document.len());
                let Some(from) = from.filter(|from| *from < last) else { return Ok(()) };
                let to = if end >= document.len() { None } else { cutter.next(document, end) };
                let to = to.unwrap_or(document.len());
                let chunk = &document[from..to];
                let text = as_text(chunk, documents.offset(index) + from as u64, || documents.name(index))?;
                self.counter.count(text, from > 0 && cutter.cuts_inside_documents())
            }
        }
    }
}
