//! Many texts in, the ids of all of them in one row out, on any number of threads: always the same ids.
//!
//! Texts are gathered into jobs of about equal size; a long one is cut at special tokens and safe cuts. Threads
//! take jobs in order and live as long as the call.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::special::{Segment, Special};
use super::{Count, Encoder, Id, Sink, Work, character_start};
use crate::error::{Error, Result};
use crate::watch::{Pulse, Watch};

/// About how many bytes of text make a job, and how many make it worth while to start threads.
const JOB: usize = 1 << 18;

/// The ids of several texts in one row; text `i` has those from `offsets[i]` to `offsets[i + 1]`.
pub struct Encoded<T> {
    pub ids: Vec<T>,
    pub offsets: Vec<u64>,
}

/// How many threads a call uses when none is named: all that the machine offers.
fn all_threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Part of a text, small enough for one job; in order, the parts are the texts.
struct Part<'t> {
    text: usize,
    content: Content<'t>,
}

enum Content<'t> {
    Unparsed(&'t str),
    Parsed(Segment<'t>),
}

impl Content<'_> {
    fn bytes(&self) -> usize {
        match self {
            Self::Unparsed(text) | Self::Parsed(Segment::Ordinary(text)) => text.len(),
            Self::Parsed(Segment::Special(_)) => 0,
        }
    }
}

/// What a job gave: its ids, and how many there were after each of its parts.
struct Done<S> {
    sink: S,
    ends: Vec<usize>,
}

impl Encoder {
    /// Encode texts into one row of ids.
    pub fn encode_all<T: Id>(
        &self,
        texts: &[&str],
        special: Special,
        threads: Option<usize>,
        watch: &mut dyn Watch,
    ) -> Result<Encoded<T>> {
        self.check_fits::<T>()?;
        let parts = self.parts(texts, special, threads)?;
        let done: Vec<Done<Vec<T>>> = self.run(&parts, special, threads, watch)?;
        let mut offsets = vec![0; texts.len() + 1];
        for (part, number) in parts.iter().zip(numbers(&done)) {
            offsets[part.text + 1] += number as u64;
        }
        for i in 1..offsets.len() {
            offsets[i] += offsets[i - 1];
        }
        Ok(Encoded { ids: joined(done), offsets })
    }

    /// Count the ids of each text.
    pub fn count_all(
        &self,
        texts: &[&str],
        special: Special,
        threads: Option<usize>,
        watch: &mut dyn Watch,
    ) -> Result<Vec<u64>> {
        let parts = self.parts(texts, special, threads)?;
        let done: Vec<Done<Count>> = self.run(&parts, special, threads, watch)?;
        let mut counts = vec![0; texts.len()];
        for (part, number) in parts.iter().zip(numbers(&done)) {
            counts[part.text] += number as u64;
        }
        Ok(counts)
    }

    /// Cut texts into parts; whole texts, as far as one thread is to take them or they are short.
    fn parts<'t>(
        &self,
        texts: &[&'t str],
        special: Special,
        threads: Option<usize>,
    ) -> Result<Vec<Part<'t>>> {
        let mut parts = Vec::with_capacity(texts.len());
        for (text, &content) in texts.iter().enumerate() {
            if content.len() <= 2 * JOB || threads.unwrap_or_else(all_threads) == 1 {
                parts.push(Part { text, content: Content::Unparsed(content) });
                continue;
            }
            for segment in self.special_tokens.split(content, special) {
                let cut = self.cut(segment?);
                parts.extend(cut.map(|segment| Part { text, content: Content::Parsed(segment) }));
            }
        }
        Ok(parts)
    }

    /// Cut a segment into segments of about the size of a job, as far as there are safe cuts.
    fn cut<'t>(&self, segment: Segment<'t>) -> impl Iterator<Item = Segment<'t>> + use<'t, '_> {
        let mut rest = Some(segment);
        std::iter::from_fn(move || {
            let Segment::Ordinary(text) = rest? else { return rest.take() };
            let from = character_start(text, JOB);
            match self.pattern.safe_cut(text, from).filter(|&cut| from < text.len() && cut < text.len()) {
                Some(cut) => {
                    rest = Some(Segment::Ordinary(&text[cut..]));
                    Some(Segment::Ordinary(&text[..cut]))
                }
                None => rest.take(),
            }
        })
    }

    /// Encode parts, on as many threads as there is work for.
    fn run<S: Sink + Default + Send>(
        &self,
        parts: &[Part],
        special: Special,
        threads: Option<usize>,
        watch: &mut dyn Watch,
    ) -> Result<Vec<Done<S>>> {
        let total: usize = parts.iter().map(|part| part.content.bytes()).sum();
        let number = threads.unwrap_or_else(all_threads).min(total / JOB);
        if number <= 1 {
            let pulse = &mut Pulse::of(watch);
            return Ok(vec![self.encode_parts(parts, special, &mut Work::default(), pulse)?]);
        }
        let jobs = Jobs::new(parts);
        thread::scope(|scope| {
            for _ in 1..number {
                let spawned = thread::Builder::new().spawn_scoped(scope, || {
                    self.work_on(&jobs, special, &mut Pulse::until(&jobs.stop));
                });
                if spawned.is_err() {
                    break; // The threads that could be started do all the work.
                }
            }
            self.work_on(&jobs, special, &mut Pulse::of(watch));
        });
        jobs.into_results()
    }

    fn work_on<S: Sink + Default>(&self, jobs: &Jobs<S>, special: Special, pulse: &mut Pulse) {
        let mut work = Work::default();
        while let Some((index, parts)) = jobs.take() {
            let result = self.encode_parts(parts, special, &mut work, pulse);
            jobs.finish(index, result);
        }
    }

    fn encode_parts<S: Sink + Default>(
        &self,
        parts: &[Part],
        special: Special,
        work: &mut Work,
        pulse: &mut Pulse,
    ) -> Result<Done<S>> {
        let mut sink = S::default();
        sink.expect(parts.iter().map(|part| part.content.bytes()).sum());
        let mut ends = Vec::with_capacity(parts.len());
        for part in parts {
            match part.content {
                Content::Unparsed(text) => self.encode(text, special, &mut sink, work, pulse)?,
                Content::Parsed(Segment::Ordinary(text)) => {
                    self.encode_ordinary(text, &mut sink, work, pulse)?
                }
                Content::Parsed(Segment::Special(id)) => sink.put(&[id]),
            }
            ends.push(sink.taken());
        }
        sink.finish();
        Ok(Done { sink, ends })
    }
}

/// Jobs that threads take in order. After an error, no further one is handed out; the results of those before it are
/// all there, so that the error of the first text in order is the one reported.
struct Jobs<'p, 't, S> {
    jobs: Vec<&'p [Part<'t>]>,
    next: AtomicUsize,
    stop: AtomicBool,
    results: Mutex<Vec<Option<Result<Done<S>>>>>,
}

impl<'p, 't, S> Jobs<'p, 't, S> {
    fn new(parts: &'p [Part<'t>]) -> Self {
        let mut jobs = Vec::new();
        let (mut start, mut bytes) = (0, 0);
        for (index, part) in parts.iter().enumerate() {
            bytes += part.content.bytes();
            if bytes >= JOB || index + 1 == parts.len() {
                jobs.push(&parts[start..=index]);
                (start, bytes) = (index + 1, 0);
            }
        }
        let results = Mutex::new(std::iter::repeat_with(|| None).take(jobs.len()).collect());
        Self { jobs, next: AtomicUsize::new(0), stop: AtomicBool::new(false), results }
    }

    fn take(&self) -> Option<(usize, &'p [Part<'t>])> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        self.jobs.get(index).map(|&parts| (index, parts))
    }

    fn finish(&self, index: usize, result: Result<Done<S>>) {
        if matches!(result, Err(Error::Caller(_))) {
            self.stop.store(true, Ordering::Relaxed);
        }
        if result.is_err() {
            self.next.fetch_max(self.jobs.len(), Ordering::Relaxed);
        }
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        results[index] = Some(result);
    }

    fn into_results(self) -> Result<Vec<Done<S>>> {
        let mut results = self.results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.retain(|result| !matches!(result, None | Some(Err(Error::Stopped))));
        results.into_iter().flatten().collect()
    }
}

/// How many ids each part gave.
fn numbers<S>(done: &[Done<S>]) -> impl Iterator<Item = usize> + '_ {
    done.iter().flat_map(|done| {
        let starts = std::iter::once(0).chain(done.ends.iter().copied());
        done.ends.iter().zip(starts).map(|(end, start)| end - start)
    })
}

fn joined<T: Id>(mut done: Vec<Done<Vec<T>>>) -> Vec<T> {
    if done.len() == 1 {
        return done.pop().map(|only| only.sink).unwrap_or_default();
    }
    let mut ids = Vec::with_capacity(done.iter().map(|done| done.sink.len()).sum());
    for done in done {
        ids.extend_from_slice(&done.sink);
    }
    ids
}
