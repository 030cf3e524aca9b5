//! Jobs: successive parts of texts, which threads encode while the calling thread still makes more of them.
//!
//! The calling thread can feed only so many others, so it leaves to them whatever they can do: they check `bytes`. No other
//! thread needs Python's lock, and the calling thread releases it once all texts are got and it works on jobs itself.

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use super::parts::{RawText, TextPart, TextSource, explained};
use super::{Choices, Encoder, Workspace};
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::{Pulse, Watch};
use crate::workers::{self, CHECK_INTERVAL, StopOnPanic, lock, thread_count};

/// The bytes of text for which another thread is started. (In tests, every text is cut wherever possible.)
const FOR_THREAD: usize = if cfg!(test) { 1 } else { 1 << 18 };

/// The approximate size of a job in bytes: at least, and at most.
const JOB: (usize, usize) = if cfg!(test) { (1, 1) } else { (1 << 15, 1 << 18) };
/// The number of jobs for each thread, as far as their size allows it. The last ones end at different times, and a
/// system may let a thread begin late.
const JOBS_EACH: usize = 16;

/// How many bytes a text may have for each that is known of.
const MOST_BYTES: usize = 4;

/// How the work of a call is divided.
#[derive(Clone, Copy)]
pub struct Division {
    pub threads: usize,
    /// The approximate size of a job in bytes.
    job: usize,
    /// The number of jobs, or more.
    pub jobs: usize,
}

impl Division {
    pub fn of(bytes: usize, threads: Option<usize>) -> Self {
        // The number of processors is only queried if it matters, because the query is slow.
        let threads = if bytes < 2 * FOR_THREAD { 1 } else { thread_count(threads, bytes / FOR_THREAD) };
        let job = (bytes / threads / JOBS_EACH).clamp(JOB.0, JOB.1);
        Self { threads, job, jobs: MOST_BYTES * bytes / job + 1 }
    }
}

/// Successive parts of texts, which one thread encodes.
#[derive(Default)]
pub struct Job<'t> {
    pub number: usize,
    pub parts: Vec<TextPart<'t>>,
}

/// The processing of jobs.
pub trait JobHandler<'t>: Sync {
    /// The state of a thread.
    type Own: Default + Send;

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

pub type Check<'a> = &'a (dyn Fn() -> Result<()> + Sync);

/// What a thread keeps from job to job.
#[derive(Default)]
struct Thread<Own> {
    workspace: Option<Workspace>,
    own: Own,
}

/// Jobs that threads take in order, while more are added. After an error no further job is started, and all jobs before
/// it are finished, so the reported error is that of the first bad text.
pub struct Jobs<'t> {
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
    pub fn new(jobs: usize) -> Result<Self> {
        let mut room = Vec::new();
        memory::reserve(&mut room, jobs)?;
        let queue = JobQueue { jobs: VecDeque::from(room), waiting: 0, closed: false };
        Ok(Self {
            queue: Mutex::new(queue),
            queue_changed: Condvar::new(),
            failed: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            errors: Mutex::default(),
        })
    }

    /// Process the jobs of all texts, on this thread and others.
    pub fn run<W: JobHandler<'t>>(
        &self,
        texts: &impl TextSource<'t>,
        cutting: Cutting,
        handler: &W,
        watch: &mut dyn Watch,
    ) -> Result<()> {
        workers::scope(|workers| {
            let _ended = StopOnPanic(&self.stop);
            for _ in 0..memory::threads(cutting.division.threads - 1) {
                let help = || {
                    let _ended = StopOnPanic(&self.stop);
                    let (thread, pulse) = (&mut Thread::default(), &mut Pulse::until(&self.stop));
                    // Errors are recorded with the jobs.
                    let _ = self.work_on(handler, thread, pulse, &|| Ok(()));
                };
                if !workers.start(help) {
                    break; // The threads that did start do all the work.
                }
            }
            let check = || workers.check();
            let added = JobMaker { jobs: self, texts, cutting, check: &check, job: Job::default(), bytes: 0 }
                .add_all(&mut Pulse::of(watch));
            let lead = || {
                let thread = &mut Thread::default();
                let pulse = &mut Pulse::of(watch);
                self.work_on(handler, thread, pulse, &check)?;
                workers.wait(pulse)
            };
            let led = added.and_then(|()| texts.aside(lead));
            led.inspect_err(|_| self.stop.store(true, Ordering::Relaxed))
        })?;
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        errors.sort_by_key(|(job, error)| (matches!(error, Error::Stopped), *job));
        errors.drain(..).next().map_or(Ok(()), |(_, error)| Err(explained(error, texts)))
    }

    /// Add a job, unless one before it has failed.
    fn add(&self, job: Job<'t>) {
        let mut queue = lock(&self.queue);
        if !queue.closed {
            queue.jobs.push_back(job);
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

    /// Process jobs until none is left.
    fn work_on<W: JobHandler<'t>>(
        &self,
        handler: &W,
        thread: &mut Thread<W::Own>,
        pulse: &mut Pulse,
        check: Check,
    ) -> Result<()> {
        while let Some(job) = self.next() {
            self.process(job, handler, thread, pulse, check)?;
        }
        handler.end(self, &mut thread.own, pulse, check)
    }

    /// Process a job. Its own error is recorded; other errors are returned.
    fn process<W: JobHandler<'t>>(
        &self,
        job: Job<'t>,
        handler: &W,
        thread: &mut Thread<W::Own>,
        pulse: &mut Pulse,
        check: Check,
    ) -> Result<()> {
        let number = job.number;
        let Thread { workspace, own } = thread;
        let processed =
            Workspace::ready(workspace).and_then(|workspace| handler.job(own, job, workspace, pulse, check));
        check()?;
        match processed {
            // A signal, or the callback for progress, ends the call whatever else is wrong.
            Err(error @ Error::Caller { .. }) => return Err(error),
            Err(error) => self.fail(number, error),
            Ok(()) => (),
        }
        Ok(())
    }

    fn fail(&self, job: usize, error: Error) {
        self.close(job);
        lock(&self.errors).push((job, error));
        self.failed.store(true, Ordering::Release);
    }

    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire) || self.stop.load(Ordering::Relaxed)
    }
}

/// How texts are cut.
#[derive(Clone, Copy)]
pub struct Cutting<'a> {
    pub encoder: &'a Encoder,
    pub choices: Choices<'a>,
    pub division: Division,
}

/// The calling thread while it gets texts and makes jobs of them.
struct JobMaker<'f, 't, S> {
    jobs: &'f Jobs<'t>,
    texts: &'f S,
    cutting: Cutting<'f>,
    check: Check<'f>,
    /// The job that is being made, and the bytes of its parts.
    job: Job<'t>,
    bytes: usize,
}

impl<'t, S: TextSource<'t>> JobMaker<'_, 't, S> {
    /// Get all texts, up to the first bad one, and make jobs of them.
    fn add_all(mut self, pulse: &mut Pulse) -> Result<()> {
        let _closed = CloseOnDrop { jobs: self.jobs, check: self.check };
        let Cutting { encoder, choices, division } = self.cutting;
        for text in 0..self.texts.number() {
            if self.jobs.has_failed() {
                return Ok(());
            }
            match self.get(text) {
                Ok(RawText::Text(content)) if content.len() > 2 * division.job => {
                    for part in encoder.cut_text((text, content), choices.of(text), division.job) {
                        match part {
                            Ok(part) => self.add_part(part, pulse)?,
                            Err(error) => return self.refuse(error),
                        }
                    }
                }
                Ok(given) => self.add_part(TextPart::whole(text, given), pulse)?,
                Err(error) => return self.refuse(error),
            }
        }
        self.add_job()
    }

    /// Get a text; one that must be cut is checked for that.
    fn get(&self, text: usize) -> Result<RawText<'t>> {
        if self.texts.length(text) > 2 * self.cutting.division.job {
            return self.texts.text(text).map(RawText::Text);
        }
        self.texts.get(text)
    }

    fn add_part(&mut self, part: TextPart<'t>, pulse: &mut Pulse) -> Result<()> {
        self.bytes += part.length();
        memory::push(&mut self.job.parts, part)?;
        if self.bytes < self.cutting.division.job {
            return Ok(());
        }
        self.add_job()?;
        pulse.beat(mem::take(&mut self.bytes))?;
        (self.check)()
    }

    /// Add the job, and begin the next one, which will have about as many parts.
    fn add_job(&mut self) -> Result<()> {
        let mut parts = Vec::new();
        memory::reserve(&mut parts, self.job.parts.len())?;
        let next = Job { number: self.job.number + 1, parts };
        self.jobs.add(mem::replace(&mut self.job, next));
        Ok(())
    }

    /// The next text is bad: once the job before it is processed, the call fails.
    fn refuse(mut self, error: Error) -> Result<()> {
        self.add_job()?;
        self.jobs.fail(self.job.number, error);
        Ok(())
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

#[cfg(test)]
mod tests {
    use std::thread::{self, ThreadId};
    use std::time::{Duration, Instant};

    use super::super::{Definition, Special, Stages};
    use super::*;
    use crate::watch::Stage;

    /// Its jobs last until the call is stopped; the leader's own only until another thread has begun one.
    struct Endless {
        leader: ThreadId,
        begun: AtomicBool,
    }

    impl<'t> JobHandler<'t> for Endless {
        type Own = ();

        fn job(&self, (): &mut (), _: Job, _: &mut Workspace, pulse: &mut Pulse, _: Check) -> Result<()> {
            if self.leader == thread::current().id() {
                while !self.begun.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
                return Ok(());
            }
            self.begun.store(true, Ordering::Relaxed);
            let start = Instant::now();
            while start.elapsed() < Duration::from_secs(20) {
                pulse.check()?;
                thread::yield_now();
            }
            panic!("nobody ended it")
        }

        fn end(&self, _: &Jobs, (): &mut (), _: &mut Pulse, _: Check) -> Result<()> {
            Ok(())
        }
    }

    struct Interrupted;

    impl Watch for Interrupted {
        fn report(&mut self, _: Stage, _: u64, _: u64) -> Result<()> {
            Err(Error::Caller { raised: "Ctrl-C".into(), interrupts: true })
        }
    }

    #[test]
    fn an_interrupt_ends_the_last_job_of_another_thread() {
        let (texts, threads) = (&["a"; 2][..], 2);
        let definition = Definition { tokens: &[(0, b"a")], ..Definition::of(".") };
        let encoder = Encoder::new(&definition, Stages::none()).unwrap();
        let division = Division::of(texts.len(), Some(threads));
        assert_eq!(division.threads, threads);
        let cutting = Cutting { encoder: &encoder, choices: Special::Text.into(), division };
        let jobs = Jobs::new(division.jobs).unwrap();
        let endless = Endless { leader: thread::current().id(), begun: AtomicBool::new(false) };
        let ended = jobs.run(&texts, cutting, &endless, &mut Interrupted);
        assert!(matches!(ended, Err(Error::Caller { interrupts: true, .. })));
    }
}
