//! Many texts in, the ids of all of them in one row out, on any number of threads: always the same ids.
//!
//! Texts are gathered into jobs of about equal size; a long one is cut at special tokens and safe cuts. Threads
//! take jobs in order and live as long as the call. Whoever finishes the job that is due puts its ids behind those of
//! the jobs before it, while they are still in the processor's cache.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::special::{Segment, Special};
use super::{Count, Encoder, Id, Sink, Workspace, character_start};
use crate::error::{Error, Result};
use crate::memory;
use crate::memory::pool::Pooled;
use crate::watch::{Pulse, Watch};

/// About how many bytes of text make a job, and how many make it worth while to start threads.
/// (In tests every text is cut wherever it may be.)
const JOB: usize = if cfg!(test) { 1 } else { 1 << 18 };

/// What a text takes besides its ids: a part, where it ends, twice over while the row of ends grows, and an offset.
const FOR_EACH_TEXT: usize = size_of::<Part>() + 4 * size_of::<usize>();

/// The ids of several texts in one row; text `i` has those from `offsets[i]` to `offsets[i + 1]`.
pub struct Encoded<T: Id> {
    pub ids: Pooled<T>,
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

/// What jobs gave: their ids, and how many there were after each of their parts.
#[derive(Default)]
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
        memory::ensure(texts.len() * FOR_EACH_TEXT)?;
        let parts = self.parts(texts, special, threads, &mut Pulse::of(watch))?;
        let Done::<Vec<T>> { sink, ends } = self.run(&parts, special, threads, watch)?;
        let mut offsets = vec![0; texts.len() + 1];
        for (part, &end) in parts.iter().zip(&ends) {
            offsets[part.text + 1] = end as u64;
        }
        Ok(Encoded { ids: sink.into(), offsets })
    }

    /// Count the ids of each text.
    pub fn count_all(
        &self,
        texts: &[&str],
        special: Special,
        threads: Option<usize>,
        watch: &mut dyn Watch,
    ) -> Result<Vec<u64>> {
        memory::ensure(texts.len() * FOR_EACH_TEXT)?;
        let parts = self.parts(texts, special, threads, &mut Pulse::of(watch))?;
        let done: Done<Count> = self.run(&parts, special, threads, watch)?;
        let mut counts = vec![0; texts.len()];
        let mut before = 0;
        for (part, &end) in parts.iter().zip(&done.ends) {
            counts[part.text] += (end - before) as u64;
            before = end;
        }
        Ok(counts)
    }

    /// Cut texts into parts; whole texts, as far as one thread is to take them or they are short.
    fn parts<'t>(
        &self,
        texts: &[&'t str],
        special: Special,
        threads: Option<usize>,
        pulse: &mut Pulse,
    ) -> Result<Vec<Part<'t>>> {
        let mut parts = Vec::with_capacity(texts.len());
        for (text, &content) in texts.iter().enumerate() {
            if content.len() <= 2 * JOB || threads.unwrap_or_else(all_threads) == 1 {
                parts.push(Part { text, content: Content::Unparsed(content) });
                continue;
            }
            for segment in self.special_tokens.split(content, special) {
                for segment in self.cut(segment?) {
                    parts.push(Part { text, content: Content::Parsed(segment) });
                    pulse.beat(JOB)?;
                }
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
    ) -> Result<Done<S>> {
        let total: usize = parts.iter().map(|part| part.content.bytes()).sum();
        // The system is only asked how many there are where it matters: it takes its time to answer.
        let number = if total < 2 * JOB { 1 } else { threads.unwrap_or_else(all_threads).min(total / JOB) };
        if number <= 1 {
            let mut done = Done::<S>::default();
            self.encode_parts(parts, special, &mut done, &mut Workspace::new()?, &mut Pulse::of(watch))?;
            done.sink.finish();
            return Ok(done);
        }
        let jobs = Jobs::new(parts, total);
        thread::scope(|scope| {
            for _ in 0..memory::threads(number - 1) {
                let spawned = thread::Builder::new().spawn_scoped(scope, || {
                    self.work_on(&jobs, special, &mut Pulse::until(&jobs.stop));
                });
                if spawned.is_err() {
                    break; // The threads that could be started do all the work.
                }
            }
            self.work_on(&jobs, special, &mut Pulse::of(watch));
        });
        jobs.into_result()
    }

    fn work_on<S: Sink + Default>(&self, jobs: &Jobs<S>, special: Special, pulse: &mut Pulse) {
        let mut workspace = None;
        while let Some((index, parts)) = jobs.take() {
            let mut done = jobs.gathered().used.pop().unwrap_or_default();
            let result = Workspace::ready(&mut workspace)
                .and_then(|workspace| self.encode_parts(parts, special, &mut done, workspace, pulse));
            jobs.finish(index, result.map(|()| done));
        }
    }

    fn encode_parts<S: Sink>(
        &self,
        parts: &[Part],
        special: Special,
        done: &mut Done<S>,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let Done { sink, ends } = done;
        sink.expect(parts.iter().map(|part| part.content.bytes()).sum());
        ends.reserve(parts.len());
        for part in parts {
            match part.content {
                Content::Unparsed(text) => self.encode(text, special, sink, workspace, pulse)?,
                Content::Parsed(Segment::Ordinary(text)) => {
                    self.encode_ordinary(text, sink, workspace, pulse)?
                }
                Content::Parsed(Segment::Special(id)) => {
                    sink.make_room(1)?;
                    sink.put(&[id]);
                }
            }
            ends.push(sink.taken());
        }
        Ok(())
    }
}

/// Jobs that threads take in order. After an error, no further one is handed out; those before it are all finished,
/// so that the error of the first text in order is the one reported.
struct Jobs<'p, 't, S> {
    jobs: Vec<&'p [Part<'t>]>,
    next: AtomicUsize,
    stop: AtomicBool,
    gathered: Mutex<Gathered<S>>,
}

/// The results of the first jobs in one row, and of others that wait for a job before them.
struct Gathered<S> {
    row: Done<S>,
    /// How many jobs are in the row.
    jobs: usize,
    waiting: Vec<Option<Result<Done<S>>>>,
    /// What has been copied into the row, to be used again.
    used: Vec<Done<S>>,
}

impl<S: Sink> Gathered<S> {
    fn gather(&mut self) {
        while let Some(result) = self.waiting.get_mut(self.jobs)
            && let Some(Ok(mut done)) = result.take_if(|result| result.is_ok())
        {
            let before = self.row.sink.taken();
            if let Err(error) = self.row.sink.append(&mut done.sink) {
                *result = Some(Err(error));
                break;
            }
            self.row.ends.extend(done.ends.drain(..).map(|end| before + end));
            self.jobs += 1;
            self.used.push(done);
        }
    }
}

impl<'p, 't, S: Sink + Default> Jobs<'p, 't, S> {
    fn new(parts: &'p [Part<'t>], total: usize) -> Self {
        let mut jobs = Vec::new();
        let (mut start, mut bytes) = (0, 0);
        for (index, part) in parts.iter().enumerate() {
            bytes += part.content.bytes();
            if bytes >= JOB || index + 1 == parts.len() {
                jobs.push(&parts[start..=index]);
                (start, bytes) = (index + 1, 0);
            }
        }
        let mut row = Done::<S>::default();
        row.sink.expect(total);
        row.ends.reserve(parts.len());
        let waiting = std::iter::repeat_with(|| None).take(jobs.len()).collect();
        let gathered = Mutex::new(Gathered { row, jobs: 0, waiting, used: Vec::new() });
        Self { jobs, next: AtomicUsize::new(0), stop: AtomicBool::new(false), gathered }
    }

    fn take(&self) -> Option<(usize, &'p [Part<'t>])> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        self.jobs.get(index).map(|&parts| (index, parts))
    }

    fn gathered(&self) -> MutexGuard<'_, Gathered<S>> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, index: usize, result: Result<Done<S>>) {
        if matches!(result, Err(Error::Caller { .. })) {
            self.stop.store(true, Ordering::Relaxed);
        }
        let mut gathered = self.gathered();
        gathered.waiting[index] = Some(result);
        gathered.gather();
        if [index, gathered.jobs].iter().any(|job| matches!(gathered.waiting.get(*job), Some(Some(Err(_))))) {
            self.next.fetch_max(self.jobs.len(), Ordering::Relaxed);
        }
    }

    fn into_result(self) -> Result<Done<S>> {
        let gathered = self.gathered.into_inner().unwrap_or_else(PoisonError::into_inner);
        let errors = gathered.waiting.into_iter().flatten().filter_map(Result::err);
        if let Some(error) = errors.into_iter().find(|error| !matches!(error, Error::Stopped)) {
            return Err(error);
        }
        let mut row = gathered.row;
        row.sink.finish();
        Ok(row)
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
                        encoder.encode_all::<u32>(&texts, special, Some(threads), &mut Unwatched).unwrap()
                    };
                    let (whole, cut) = (encode(1), encode(3));
                    assert_eq!(*cut.ids, *whole.ids, "{texts:?}");
                    assert_eq!(cut.offsets, whole.offsets, "{texts:?}");
                    let counts = encoder.count_all(&texts, special, Some(3), &mut Unwatched).unwrap();
                    let numbers: Vec<u64> =
                        whole.offsets.windows(2).map(|bounds| bounds[1] - bounds[0]).collect();
                    assert_eq!(counts, numbers);
                }
            }
        }
    }
}
