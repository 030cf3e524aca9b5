//! Encodes many texts on any number of threads into one array; the ids do not depend on the number of threads.
//!
//! Texts are grouped into jobs of about equal size; a long text is cut at special tokens and safe cuts. Threads live as long
//! as the call and take jobs in order, while the calling thread still gets texts and adds jobs. Once all jobs before it are
//! encoded, the place of a job's ids in the array is known, and the thread that encoded the job copies them there, while they
//! are still in its processor's cache.
//!
//! So threads share only the queue of jobs and the jobs' numbers of ids, each behind a lock that is taken once per job, for
//! about twenty instructions. Nothing is copied under the lock, and no page is touched for the first time.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use super::special::{Segment, Special};
use super::{Count, Encoder, Id, Sink, Workspace, character_start};
use crate::error::{Error, Result};
use crate::memory;
use crate::memory::pool::{Pooled, vec_for_text};
use crate::watch::{Pulse, Watch};
use crate::workers::{self, CHECK_INTERVAL, lock};

/// The bytes of text for which another thread is started. (In tests, every text is cut wherever possible.)
const FOR_THREAD: usize = if cfg!(test) { 1 } else { 1 << 18 };

/// The approximate size of a job in bytes: at least, and at most.
const JOB: (usize, usize) = if cfg!(test) { (1, 1) } else { (1 << 15, 1 << 18) };
/// The number of jobs for each thread, as far as their size allows it. The last ones end at different times, and a
/// system may let a thread begin late.
const JOBS_EACH: usize = 16;

/// How many bytes a text may have for each that is known of.
const MOST_BYTES: usize = 4;

/// The memory of a text besides its ids: a part, its end (twice while that vector grows), and an offset.
const BYTES_PER_TEXT: usize = size_of::<TextPart>() + 4 * size_of::<usize>();

/// The ids of several texts in one array; text `i` has those from `offsets[i]` to `offsets[i + 1]`.
pub struct Encoded<T: Id> {
    pub ids: Pooled<T>,
    pub offsets: Vec<u64>,
}

/// The default number of threads: all that the machine offers.
fn all_threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// How the work of a call is divided.
#[derive(Clone, Copy)]
struct Division {
    threads: usize,
    /// The approximate size of a job in bytes.
    job: usize,
    /// The number of jobs, or more.
    jobs: usize,
}

impl Division {
    fn of(bytes: usize, threads: Option<usize>) -> Self {
        // The number of processors is only queried if it matters, because the query is slow.
        let threads = if bytes < 2 * FOR_THREAD {
            1
        } else {
            threads.unwrap_or_else(all_threads).min(bytes / FOR_THREAD)
        };
        let job = (bytes / threads / JOBS_EACH).clamp(JOB.0, JOB.1);
        Self { threads, job, jobs: MOST_BYTES * bytes / job + 1 }
    }
}

/// Part of a text, small enough for one job; in order, the parts are the texts.
struct TextPart<'t> {
    text: usize,
    is_last: bool,
    content: PartText<'t>,
}

enum PartText<'t> {
    Unparsed(&'t str),
    Parsed(Segment<'t>),
}

impl PartText<'_> {
    fn bytes(&self) -> usize {
        match self {
            Self::Unparsed(text) | Self::Parsed(Segment::Ordinary(text)) => text.len(),
            Self::Parsed(Segment::Special(_)) => 0,
        }
    }
}

/// The result of a job: its ids, and their number after each of its parts.
#[derive(Default)]
struct Done<T> {
    ids: Vec<T>,
    ends: Vec<usize>,
}

/// Texts that the calling thread gets one after the other; meanwhile other threads encode those it has got.
pub trait TextSource<'t> {
    /// The number of texts.
    fn number(&self) -> usize;

    /// Their number of bytes, or less if it is not known yet.
    fn bytes(&self) -> usize;

    /// No fewer ids than they have, unless they are unusual.
    fn most_ids(&self) -> usize;

    /// Get the texts in order.
    fn each(&mut self, take: &mut dyn FnMut(&'t str) -> Result<()>) -> Result<()>;

    /// Do work for which no text must be got any more.
    fn after<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R;
}

impl<'t> TextSource<'t> for &[&'t str] {
    fn number(&self) -> usize {
        self.len()
    }

    fn bytes(&self) -> usize {
        self.iter().map(|text| text.len()).sum()
    }

    fn most_ids(&self) -> usize {
        self.bytes()
    }

    fn each(&mut self, take: &mut dyn FnMut(&'t str) -> Result<()>) -> Result<()> {
        self.iter().try_for_each(|text| take(text))
    }

    fn after<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        work()
    }
}

impl Encoder {
    /// Encode texts into one array of ids.
    pub fn encode_all<'t, T: Id>(
        &self,
        mut texts: impl TextSource<'t>,
        special: Special,
        threads: Option<usize>,
        watch: &mut (dyn Watch + Send),
    ) -> Result<Encoded<T>> {
        self.check_fits::<T>()?;
        memory::ensure(texts.number() * BYTES_PER_TEXT)?;
        let division = Division::of(texts.bytes(), threads);
        let offsets: Vec<AtomicU64> =
            std::iter::repeat_with(AtomicU64::default).take(texts.number() + 1).collect();
        let mut ids = if division.threads == 1 {
            let parts = whole(&mut texts)?;
            let mut done = Done::<T>::default();
            texts.after(|| {
                let (workspace, pulse) = (&mut Workspace::new()?, &mut Pulse::of(watch));
                self.encode_parts(&parts, special, &mut done, workspace, pulse)
            })?;
            tell_ends(&parts, &done.ends, 0, &offsets);
            done.ids
        } else {
            let mut ids = vec_for_text(texts.bytes());
            if ids.capacity() == 0 {
                memory::expect(&mut ids, texts.most_ids());
            }
            let row = SharedRow::new(&mut ids, division.jobs, &offsets);
            let encoding = Encoding { encoder: self, special, row };
            Jobs::new(division.jobs).run(texts, (self, special, division), &encoding, watch)?;
            let Encoding { row, .. } = encoding;
            row.finish(&mut ids)?;
            ids
        };
        ids.finish();
        Ok(Encoded { ids: ids.into(), offsets: offsets.into_iter().map(AtomicU64::into_inner).collect() })
    }

    /// Count the ids of each text.
    pub fn count_all<'t>(
        &self,
        mut texts: impl TextSource<'t>,
        special: Special,
        threads: Option<usize>,
        watch: &mut (dyn Watch + Send),
    ) -> Result<Vec<u64>> {
        memory::ensure(texts.number() * BYTES_PER_TEXT)?;
        let division = Division::of(texts.bytes(), threads);
        let counts: Vec<AtomicU64> =
            std::iter::repeat_with(AtomicU64::default).take(texts.number()).collect();
        let counting = Counting { encoder: self, special, counts: &counts };
        if division.threads == 1 {
            let parts = whole(&mut texts)?;
            texts.after(|| counting.count(&parts, &mut Workspace::new()?, &mut Pulse::of(watch)))?;
        } else {
            Jobs::new(division.jobs).run(texts, (self, special, division), &counting, watch)?;
        }
        Ok(counts.into_iter().map(AtomicU64::into_inner).collect())
    }

    /// Cut a text into parts for jobs of a size; a short text stays whole.
    fn cut_text<'t>(
        &self,
        (text, content): (usize, &'t str),
        special: Special,
        job: usize,
        take: &mut impl FnMut(TextPart<'t>) -> Result<()>,
    ) -> Result<()> {
        if content.len() <= 2 * job {
            return take(TextPart { text, is_last: true, content: PartText::Unparsed(content) });
        }
        let mut last = None;
        for segment in self.looked_for(special).split(content, special) {
            for segment in self.cut(segment?, job) {
                let part = TextPart { text, is_last: false, content: PartText::Parsed(segment) };
                last.replace(part).map_or(Ok(()), &mut *take)?;
            }
        }
        last.map_or(Ok(()), |last| take(TextPart { is_last: true, ..last }))
    }

    /// Cut a segment into segments of about the size of a job, as far as safe cuts allow.
    fn cut<'t>(&self, segment: Segment<'t>, job: usize) -> impl Iterator<Item = Segment<'t>> + use<'t, '_> {
        let mut rest = Some(segment);
        std::iter::from_fn(move || {
            let Segment::Ordinary(text) = rest? else { return rest.take() };
            let from = character_start(text, job);
            match self.pattern.safe_cut(text, from).filter(|&cut| from < text.len() && cut < text.len()) {
                Some(cut) => {
                    rest = Some(Segment::Ordinary(&text[cut..]));
                    Some(Segment::Ordinary(&text[..cut]))
                }
                None => rest.take(),
            }
        })
    }

    fn encode_parts<T: Id>(
        &self,
        parts: &[TextPart],
        special: Special,
        done: &mut Done<T>,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let Done { ids, ends } = done;
        ids.expect(total(parts));
        memory::reserve(ends, parts.len())?;
        for part in parts {
            self.encode_part(part, special, ids, workspace, pulse)?;
            ends.push(ids.len());
        }
        Ok(())
    }

    fn encode_part(
        &self,
        part: &TextPart,
        special: Special,
        sink: &mut impl Sink,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        match part.content {
            PartText::Unparsed(text) => self.encode(text, special, sink, workspace, pulse),
            PartText::Parsed(Segment::Ordinary(text)) => self.encode_ordinary(text, sink, workspace, pulse),
            PartText::Parsed(Segment::Special(id)) => {
                sink.make_room(1)?;
                sink.put(&[id]);
                Ok(())
            }
        }
    }
}

fn total(parts: &[TextPart]) -> usize {
    parts.iter().map(|part| part.content.bytes()).sum()
}

/// Set the ends of the texts whose last parts these are, for a job whose ids begin at `start`.
fn tell_ends(parts: &[TextPart], ends: &[usize], start: usize, offsets: &[AtomicU64]) {
    for (part, &end) in parts.iter().zip(ends) {
        if part.is_last {
            offsets[part.text + 1].store((start + end) as u64, Ordering::Relaxed);
        }
    }
}

/// All texts of a source, each as one part.
fn whole<'t>(texts: &mut impl TextSource<'t>) -> Result<Vec<TextPart<'t>>> {
    let mut parts = Vec::with_capacity(texts.number());
    texts.each(&mut |content| {
        parts.push(TextPart { text: parts.len(), is_last: true, content: PartText::Unparsed(content) });
        Ok(())
    })?;
    Ok(parts)
}

/// Successive parts of texts, which one thread encodes.
struct Job<'t> {
    number: usize,
    parts: Vec<TextPart<'t>>,
}

/// The processing of jobs.
trait JobHandler<'t>: Sync {
    /// The state of a thread.
    type Own: Default;

    /// Process a job; `check` fails in a process that was forked meanwhile, and is called before any lock is taken.
    fn job(
        &self,
        own: &mut Self::Own,
        job: Job<'t>,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
        check: Check,
    ) -> Result<()>;

    /// There is no job left.
    fn end(&self, jobs: &Jobs, own: &mut Self::Own, pulse: &mut Pulse, check: Check) -> Result<()>;
}

type Check<'a> = &'a dyn Fn() -> Result<()>;

/// Jobs that threads take in order, while more are added. After an error no further job is started, and all jobs before
/// it are finished, so the reported error is that of the first bad text.
struct Jobs<'t> {
    queue: Mutex<JobQueue<'t>>,
    /// Signals that a job was added, or that none will be.
    queue_changed: Condvar,
    /// Whether any job has failed.
    failed: AtomicBool,
    /// Whether all threads must stop at once.
    stop: AtomicBool,
    errors: Mutex<Vec<(usize, Error)>>,
}

struct JobQueue<'t> {
    jobs: VecDeque<Job<'t>>,
    /// The number of threads that wait for a job.
    waiting: usize,
    /// Whether no more jobs are added.
    closed: bool,
}

impl<'t> Jobs<'t> {
    /// None yet, and room for so many.
    fn new(jobs: usize) -> Self {
        let queue = JobQueue { jobs: VecDeque::with_capacity(jobs), waiting: 0, closed: false };
        Self {
            queue: Mutex::new(queue),
            queue_changed: Condvar::new(),
            failed: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            errors: Mutex::default(),
        }
    }

    /// Process all jobs, on this thread and others.
    fn run(
        &self,
        mut texts: impl TextSource<'t>,
        cutting: (&Encoder, Special, Division),
        work: &impl JobHandler<'t>,
        watch: &mut (dyn Watch + Send),
    ) -> Result<()> {
        workers::scope(|workers| {
            for _ in 0..memory::threads(cutting.2.threads - 1) {
                let help = || {
                    let _ended = StopOnPanic(&self.stop);
                    // Errors are recorded with the jobs.
                    let _ = self.work_on(work, &mut Pulse::until(&self.stop), &|| Ok(()));
                };
                if !workers.start(help) {
                    break; // The threads that did start do all the work.
                }
            }
            let check = || workers.check();
            let added = self.add_all(&mut texts, cutting, &mut Pulse::of(watch), &check);
            let lead = || {
                self.work_on(work, &mut Pulse::of(watch), &check)?;
                check()?;
                workers.wait();
                Ok(())
            };
            let led = added.and_then(|()| texts.after(lead));
            led.inspect_err(|_| self.stop.store(true, Ordering::Relaxed))
        })?;
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        errors.sort_by_key(|(job, error)| (matches!(error, Error::Stopped), *job));
        errors.drain(..).next().map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Get all texts and make jobs of them. An error of the source itself is returned, whatever else happens.
    fn add_all(
        &self,
        texts: &mut impl TextSource<'t>,
        (encoder, special, division): (&Encoder, Special, Division),
        pulse: &mut Pulse,
        check: Check,
    ) -> Result<()> {
        let _closed = CloseOnDrop { jobs: self, check };
        let mut job = Job { number: 0, parts: Vec::new() };
        let (mut text, mut bytes) = (0, 0);
        texts.each(&mut |content| {
            text += 1;
            if self.has_failed() {
                return Ok(());
            }
            let cut = encoder.cut_text((text - 1, content), special, division.job, &mut |part| {
                bytes += part.content.bytes();
                job.parts.push(part);
                if bytes < division.job {
                    return Ok(());
                }
                self.add(&mut job);
                pulse.beat(std::mem::take(&mut bytes))?;
                check()
            });
            match cut {
                Err(error @ Error::Value(_)) => {
                    self.add(&mut job);
                    self.fail(job.number, error);
                    Ok(())
                }
                cut => cut,
            }
        })?;
        self.add(&mut job);
        Ok(())
    }

    /// Add a job, unless one before it has failed; what is left is the next one, without parts.
    fn add(&self, job: &mut Job<'t>) {
        let next = Job { number: job.number + 1, parts: Vec::with_capacity(job.parts.len()) };
        let added = std::mem::replace(job, next);
        let mut queue = lock(&self.queue);
        if !queue.closed {
            queue.jobs.push_back(added);
        }
        if queue.waiting > 0 {
            drop(queue);
            self.queue_changed.notify_one();
        }
    }

    /// The next job, as soon as there is one.
    fn next(&self) -> Option<Job<'t>> {
        let mut queue = lock(&self.queue);
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            if queue.closed || self.stop.load(Ordering::Relaxed) {
                return None;
            }
            queue.waiting += 1;
            let waited = self.queue_changed.wait_timeout(queue, CHECK_INTERVAL);
            (queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
            queue.waiting -= 1;
        }
    }

    /// Add no more jobs, and start none from this number on.
    fn close(&self, from: usize) {
        let mut queue = lock(&self.queue);
        queue.closed = true;
        queue.jobs.retain(|job| job.number < from);
        drop(queue);
        self.queue_changed.notify_all();
    }

    fn work_on<W: JobHandler<'t>>(&self, work: &W, pulse: &mut Pulse, check: Check) -> Result<()> {
        let mut workspace = None;
        let mut own = W::Own::default();
        while let Some(job) = self.next() {
            let number = job.number;
            let result = Workspace::ready(&mut workspace)
                .and_then(|workspace| work.job(&mut own, job, workspace, pulse, check));
            check()?;
            if let Err(error) = result {
                self.fail(number, error);
            }
        }
        work.end(self, &mut own, pulse, check)
    }

    fn fail(&self, job: usize, error: Error) {
        self.close(job);
        if matches!(error, Error::Caller { .. }) {
            self.stop.store(true, Ordering::Relaxed);
        }
        lock(&self.errors).push((job, error));
        self.failed.store(true, Ordering::Release);
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire) || self.stop.load(Ordering::Relaxed)
    }
}

/// Lets threads that wait for jobs end, even if the leading thread panics.
struct CloseOnDrop<'a, 't> {
    jobs: &'a Jobs<'t>,
    check: Check<'a>,
}

impl Drop for CloseOnDrop<'_, '_> {
    fn drop(&mut self) {
        // A forked process has no such threads, and perhaps a lock that is taken.
        if (self.check)().is_ok() {
            self.jobs.close(usize::MAX);
        }
    }
}

/// Stops the other threads if this one panics, because they would wait for its jobs.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Writes the ids of jobs to an array.
struct Encoding<'a, T> {
    encoder: &'a Encoder,
    special: Special<'a>,
    row: SharedRow<'a, T>,
}

/// The array that jobs write their ids to, each to a range of its own.
struct SharedRow<'a, T> {
    start: *mut T,
    room: usize,
    offsets: &'a [AtomicU64],
    order: Mutex<Order>,
    /// Signals that more starts are known.
    more_known: Condvar,
    /// Ids for which there was too little room, and their starts.
    left: Mutex<Vec<(usize, Vec<T>)>>,
}

// SAFETY: the row's memory is written by threads only in stretches that no two of them share (see `SharedRow::put`), and ids
// may be sent to other threads.
unsafe impl<T: Send> Sync for SharedRow<'_, T> {}

/// The starts of jobs in the array.
struct Order {
    /// The known starts: of all jobs up to the first one that is not encoded yet.
    starts: Vec<usize>,
    /// The number of ids of each job that is encoded.
    lengths: Vec<Option<usize>>,
    /// The number of threads that wait for more starts.
    waiting: usize,
}

/// The jobs that a thread has encoded but not written yet, and memory to reuse.
struct Pending<'t, T> {
    jobs: VecDeque<(Job<'t>, Done<T>)>,
    /// The starts of the first of them, as far as they are known.
    starts: Vec<usize>,
    free: Vec<Done<T>>,
}

impl<T> Default for Pending<'_, T> {
    fn default() -> Self {
        Self { jobs: VecDeque::new(), starts: Vec::new(), free: Vec::new() }
    }
}

impl<'t, T: Id> JobHandler<'t> for Encoding<'_, T> {
    type Own = Pending<'t, T>;

    fn job(
        &self,
        own: &mut Pending<'t, T>,
        job: Job<'t>,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
        check: Check,
    ) -> Result<()> {
        let mut done = own.free.pop().unwrap_or_default();
        self.encoder.encode_parts(&job.parts, self.special, &mut done, workspace, pulse)?;
        check()?;
        let (number, length) = (job.number, done.ids.len());
        own.jobs.push_back((job, done));
        self.row.encoded(number, length, own);
        self.row.put_known(own);
        Ok(())
    }

    fn end(&self, jobs: &Jobs, own: &mut Pending<'t, T>, pulse: &mut Pulse, check: Check) -> Result<()> {
        while !own.jobs.is_empty() && !jobs.has_failed() {
            check()?;
            self.row.wait_for(own);
            self.row.put_known(own);
            pulse.check()?;
        }
        Ok(())
    }
}

impl<'a, T: Id> SharedRow<'a, T> {
    /// Borrow the memory of an empty vector, for a number of jobs, until [`finish`](Self::finish).
    fn new(ids: &mut Vec<T>, jobs: usize, offsets: &'a [AtomicU64]) -> Self {
        let mut starts = Vec::with_capacity(jobs + 1);
        starts.push(0);
        let order = Order { starts, lengths: vec![None; jobs], waiting: 0 };
        Self {
            start: ids.as_mut_ptr(),
            room: ids.capacity(),
            offsets,
            order: Mutex::new(order),
            more_known: Condvar::new(),
            left: Mutex::default(),
        }
    }

    /// Record that a job is encoded, with its number of ids, and collect the known starts of this thread's pending jobs.
    fn encoded(&self, job: usize, ids: usize, own: &mut Pending<T>) {
        own.starts.reserve(own.jobs.len()); // Nothing is allocated under the lock.
        let mut order = lock(&self.order);
        let known = order.starts.len();
        if job >= order.lengths.len() {
            order.lengths.resize(2 * job, None);
        }
        order.lengths[job] = Some(ids);
        while let (Some(&start), Some(&Some(ids))) =
            (order.starts.last(), order.lengths.get(order.starts.len() - 1))
        {
            order.starts.push(start + ids);
        }
        order.tell_starts(own);
        if order.waiting > 0 && order.starts.len() > known {
            drop(order);
            self.more_known.notify_all();
        }
    }

    /// Wait a while for the start of the first pending job.
    fn wait_for(&self, own: &mut Pending<T>) {
        let mut order = lock(&self.order);
        order.tell_starts(own);
        if own.starts.is_empty() {
            order.waiting += 1;
            let waited = self.more_known.wait_timeout(order, CHECK_INTERVAL);
            (order, _) = waited.unwrap_or_else(PoisonError::into_inner);
            order.waiting -= 1;
            order.tell_starts(own);
        }
    }

    /// Write the ids of the first pending jobs to their places.
    fn put_known(&self, own: &mut Pending<T>) {
        for start in own.starts.drain(..) {
            let Some((job, mut done)) = own.jobs.pop_front() else { return };
            tell_ends(&job.parts, &done.ends, start, self.offsets);
            done.ends.clear();
            if start + done.ids.len() <= self.room {
                // SAFETY: the row has that much room, which nobody else looks at until it is finished. A job's stretch begins
                // where that of the job before it ends, so no two of them share a place.
                unsafe {
                    done.ids.as_ptr().copy_to_nonoverlapping(self.start.add(start), done.ids.len());
                }
                done.ids.clear();
                own.free.push(done);
            } else {
                lock(&self.left).push((start, done.ids));
            }
        }
    }

    /// All jobs are done: give the vector its ids.
    fn finish(self, ids: &mut Vec<T>) -> Result<()> {
        let starts = self.order.into_inner().unwrap_or_else(PoisonError::into_inner).starts;
        let mut left = self.left.into_inner().unwrap_or_else(PoisonError::into_inner);
        left.sort_by_key(|(start, _)| *start);
        let all = starts.last().copied().unwrap_or(0);
        let there = left.first().map_or(all, |(start, _)| *start);
        // SAFETY: it is the room of this row that the jobs' ids were put into, and the threads that did so have ended. They
        // are there up to the first ones for which there was too little room.
        unsafe { ids.set_len(there) };
        memory::reserve(ids, all - there)?;
        left.iter().for_each(|(_, rest)| ids.extend_from_slice(rest));
        Ok(())
    }
}

impl Order {
    /// Collect the starts of a thread's first pending jobs, as far as they are known.
    fn tell_starts<T>(&self, own: &mut Pending<T>) {
        let known = own.jobs.iter().map_while(|(job, _)| self.starts.get(job.number).copied());
        own.starts.extend(known);
    }
}

/// Counts the ids of each text.
struct Counting<'a> {
    encoder: &'a Encoder,
    special: Special<'a>,
    counts: &'a [AtomicU64],
}

impl Counting<'_> {
    fn count(&self, parts: &[TextPart], workspace: &mut Workspace, pulse: &mut Pulse) -> Result<()> {
        for part in parts {
            let mut count = Count::default();
            self.encoder.encode_part(part, self.special, &mut count, workspace, pulse)?;
            self.counts[part.text].fetch_add(count.taken() as u64, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl<'t> JobHandler<'t> for Counting<'_> {
    type Own = ();

    fn job(
        &self,
        (): &mut (),
        job: Job<'t>,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
        _: Check,
    ) -> Result<()> {
        self.count(&job.parts, workspace, pulse)
    }

    fn end(&self, _: &Jobs, (): &mut (), _: &mut Pulse, _: Check) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Definition, Encoder, Special};
    use crate::watch::Unwatched;

    const PATTERNS: [&str; 3] = [
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"\S+|\s+",
        r"[a-z]+|[^a-z]",
    ];

    fn encoder(pattern: &str) -> Encoder {
        let bytes: Vec<[u8; 1]> = (0..=255).map(|byte| [byte]).collect();
        let mut tokens: Vec<(u32, &[u8])> = (0..).zip(bytes.iter().map(|byte| &byte[..])).collect();
        tokens.extend([
            (256, &b"ab"[..]),
            (257, b"abab"),
            (258, b" ab"),
            (259, "é".as_bytes()),
            (260, b"  "),
        ]);
        let [e, acute] = [0, 1].map(|place| u32::from("é".as_bytes()[place]));
        let merges = [[97, 98, 256], [256, 256, 257], [32, 256, 258], [e, acute, 259], [32, 32, 260]];
        let special_tokens = [("<s>".to_owned(), 261), ("ab<s>".to_owned(), 262)];
        let definition = Definition {
            pattern,
            tokens: &tokens,
            decode_only: &[],
            merges: &merges,
            special_tokens: &special_tokens,
            whole_pretoken_first: false,
            provisional: &[],
            unknown: None,
        };
        Encoder::new(&definition).unwrap()
    }

    /// The same numbers every time.
    fn random(state: &mut u64) -> usize {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 33) as usize
    }

    #[test]
    fn texts_cut_wherever_they_may_be_have_the_ids_of_whole_ones() {
        let pieces =
            ["ab", " ", "  ", "\n", "é", "中", "'s", "'", "l", "1", "!", "<s>", "ab<s>", "\u{3000}", "x"];
        let mut state = 1;
        for pattern in PATTERNS {
            let encoder = encoder(pattern);
            for _ in 0..300 {
                let texts: Vec<String> = (0..random(&mut state) % 4)
                    .map(|_| {
                        let pieces =
                            (0..random(&mut state) % 60).map(|_| pieces[random(&mut state) % pieces.len()]);
                        pieces.collect()
                    })
                    .collect();
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                for special in [Special::Parse, Special::Text] {
                    let encode = |threads| {
                        encoder.encode_all::<u32>(&texts[..], special, Some(threads), &mut Unwatched).unwrap()
                    };
                    let (whole, cut) = (encode(1), encode(3));
                    assert_eq!(*cut.ids, *whole.ids, "{texts:?}");
                    assert_eq!(cut.offsets, whole.offsets, "{texts:?}");
                    let counts = encoder.count_all(&texts[..], special, Some(3), &mut Unwatched).unwrap();
                    let numbers: Vec<u64> =
                        whole.offsets.windows(2).map(|bounds| bounds[1] - bounds[0]).collect();
                    assert_eq!(counts, numbers);
                }
            }
        }
    }
}
