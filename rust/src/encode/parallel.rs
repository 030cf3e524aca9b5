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
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use super::jobs::{Check, Cutting, Division, Job, JobHandler, Jobs};
use super::parts::{TextPart, TextSource, explained};
use super::{Choices, Count, Encoder, Id, Sink, Workspace};
use crate::error::Result;
use crate::memory;
use crate::watch::{Pulse, Watch};
use crate::workers::{CHECK_INTERVAL, lock};

/// The memory of a text besides its ids: a part, its end (twice while that vector grows), and an offset.
const BYTES_PER_TEXT: usize = size_of::<TextPart>() + 4 * size_of::<usize>();

/// The ids of several texts in one array; text `i` has those from `offsets[i]` to `offsets[i + 1]`.
pub struct Encoded<T: Id> {
    pub ids: Vec<T>,
    pub offsets: Vec<u64>,
}

/// The result of a job: its ids, and their number after each of its parts.
#[derive(Default)]
struct Done<T> {
    ids: Vec<T>,
    ends: Vec<usize>,
}

impl Encoder {
    /// Encode texts into one array of ids. The error is that of the first bad text, on any number of threads.
    pub fn encode_all<'t, T: Id>(
        &self,
        texts: impl TextSource<'t>,
        choices: Choices,
        threads: Option<usize>,
        watch: &mut dyn Watch,
    ) -> Result<Encoded<T>> {
        self.model.check_fits::<T>()?;
        memory::ensure(texts.number() * BYTES_PER_TEXT)?;
        let division = Division::of(texts.bytes(), threads);
        let offsets: Vec<AtomicU64> =
            std::iter::repeat_with(AtomicU64::default).take(texts.number() + 1).collect();
        let mut ids = if division.threads == 1 {
            let mut done = Done::<T>::default();
            let parts = on_this_thread(&texts, |parts, workspace| {
                self.encode_parts(parts, choices, &mut done, workspace, &mut Pulse::of(watch))
            })?;
            tell_ends(&parts, &done.ends, 0, &offsets);
            done.ids
        } else {
            let mut ids = Vec::new();
            memory::expect(&mut ids, texts.most_ids());
            let row = SharedRow::new(&mut ids, division.jobs, &offsets)?;
            let encoding = Encoding { encoder: self, choices, row };
            let cutting = Cutting { encoder: self, choices, division };
            Jobs::new(division.jobs)?.run(&texts, cutting, &encoding, watch)?;
            let Encoding { row, .. } = encoding;
            row.finish()?;
            ids
        };
        ids.finish();
        Ok(Encoded { ids, offsets: offsets.into_iter().map(AtomicU64::into_inner).collect() })
    }

    /// Count the ids of each text.
    pub fn count_all<'t>(
        &self,
        texts: impl TextSource<'t>,
        choices: Choices,
        threads: Option<usize>,
        watch: &mut dyn Watch,
    ) -> Result<Vec<u64>> {
        memory::ensure(texts.number() * BYTES_PER_TEXT)?;
        let division = Division::of(texts.bytes(), threads);
        let counts: Vec<AtomicU64> =
            std::iter::repeat_with(AtomicU64::default).take(texts.number()).collect();
        let counting = Counting { encoder: self, choices, counts: &counts };
        if division.threads == 1 {
            on_this_thread(&texts, |parts, workspace| {
                counting.count(parts, workspace, &mut Pulse::of(watch))
            })?;
        } else {
            let cutting = Cutting { encoder: self, choices, division };
            Jobs::new(division.jobs)?.run(&texts, cutting, &counting, watch)?;
        }
        Ok(counts.into_iter().map(AtomicU64::into_inner).collect())
    }

    fn encode_parts<T: Id>(
        &self,
        parts: &[TextPart],
        choices: Choices,
        done: &mut Done<T>,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let Done { ids, ends } = done;
        ids.expect(parts.iter().map(TextPart::length).sum());
        memory::reserve(ends, parts.len())?;
        for part in parts {
            self.encode_part(part, choices.of(part.text), ids, workspace, pulse)?;
            ends.push(ids.len());
        }
        Ok(())
    }
}

/// Set the ends of the texts whose last parts these are, for a job whose ids begin at `start`.
fn tell_ends(parts: &[TextPart], ends: &[usize], start: usize, offsets: &[AtomicU64]) {
    for (part, &end) in parts.iter().zip(ends) {
        if part.is_last {
            offsets[part.text + 1].store((start + end) as u64, Ordering::Relaxed);
        }
    }
}

/// Do work with all texts of a source on this thread, each as one part; returns the parts.
fn on_this_thread<'t>(
    texts: &impl TextSource<'t>,
    work: impl FnOnce(&[TextPart<'t>], &mut Workspace) -> Result<()> + Send,
) -> Result<Vec<TextPart<'t>>> {
    let mut parts = Vec::with_capacity(texts.number());
    // The texts before a bad one may be bad in another way.
    let got = (0..texts.number()).try_for_each(|text| {
        parts.push(TextPart::whole(text, texts.get(text)?));
        Ok(())
    });
    let worked = texts.aside(|| work(&parts, &mut Workspace::new()?));
    worked.map_err(|error| explained(error, texts)).and(got).map(|()| parts)
}

/// Writes the ids of jobs to an array.
struct Encoding<'a, T> {
    encoder: &'a Encoder,
    choices: Choices<'a>,
    row: SharedRow<'a, T>,
}

/// The array that jobs write their ids to, each to a range of its own.
struct SharedRow<'a, T> {
    /// The vector, and its memory, which is not accessed through the vector before the row is finished.
    ids: &'a mut Vec<T>,
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
        self.encoder.encode_parts(&job.parts, self.choices, &mut done, workspace, pulse)?;
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
    /// The memory of an empty vector, for a number of jobs.
    fn new(ids: &'a mut Vec<T>, jobs: usize, offsets: &'a [AtomicU64]) -> Result<Self> {
        let (mut starts, mut lengths) = (Vec::new(), Vec::new());
        memory::reserve(&mut starts, jobs + 1)?;
        memory::reserve(&mut lengths, jobs)?;
        starts.push(0);
        lengths.resize(jobs, None);
        let order = Order { starts, lengths, waiting: 0 };
        Ok(Self {
            start: ids.as_mut_ptr(),
            room: ids.capacity(),
            ids,
            offsets,
            order: Mutex::new(order),
            more_known: Condvar::new(),
            left: Mutex::default(),
        })
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
    fn finish(self) -> Result<()> {
        let ids = self.ids;
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
    choices: Choices<'a>,
    counts: &'a [AtomicU64],
}

impl Counting<'_> {
    fn count(&self, parts: &[TextPart], workspace: &mut Workspace, pulse: &mut Pulse) -> Result<()> {
        for part in parts {
            let mut count = Count::default();
            self.encoder.encode_part(part, self.choices.of(part.text), &mut count, workspace, pulse)?;
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
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::super::{AddedToken, Definition, Encoder, RawText, Special, Stages, TextSource};
    use crate::error::{Error, Result};
    use crate::watch::Unwatched;

    const PATTERNS: [&str; 3] = [
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"\S+|\s+",
        r"[a-z]+|[^a-z]",
    ];

    /// Steps that keep most characters, and steps that change all or put some before.
    const NORMALIZATIONS: [&[&[&str]]; 5] = [
        &[],
        &[&["NFC"]],
        &[&["Lowercase"], &["Prepend", " "]],
        &[&["Prepend first", "é"], &["Replace", "ab", "a"]],
        &[&["Space first"]],
    ];

    fn encoder(pattern: &str, steps: &[&[&str]], flagged: bool) -> Encoder {
        let steps: Vec<Vec<String>> =
            steps.iter().map(|step| step.iter().map(|word| (*word).to_owned()).collect()).collect();
        let is_normalized = !steps.is_empty();
        let stages = |tokens| Stages::new(tokens, &steps).unwrap();
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
        let definition = Definition { tokens: &tokens, merges: &merges, ..Definition::of(pattern) };
        let special = AddedToken { is_special: true, ..AddedToken::new("<s>".to_owned(), 261) };
        let added = AddedToken::new("ab<s>".to_owned(), 262);
        let taking = AddedToken { lstrip: true, rstrip: true, ..AddedToken::new("!".to_owned(), 263) };
        let word = AddedToken { single_word: true, ..AddedToken::new("l".to_owned(), 264) };
        let mut tokens = vec![(special, false), (added, is_normalized)];
        if flagged {
            tokens.extend([(taking, is_normalized), (word, false)]);
        }
        Encoder::new(&definition, stages(tokens)).unwrap()
    }

    /// The same numbers every time.
    fn random(state: &mut u64) -> usize {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 33) as usize
    }

    #[test]
    fn texts_cut_wherever_they_may_be_have_the_ids_of_whole_ones() {
        let pieces = [
            "ab", "AB", " ", "  ", "\n", "é", "e\u{301}", "\u{301}", "中", "'s", "l", "1", "!", "<s>",
            "ab<s>", "\u{3000}",
        ];
        let mut state = 1;
        for number in 0..2 * PATTERNS.len() * NORMALIZATIONS.len() {
            let (pattern, steps) = (PATTERNS[number % 3], NORMALIZATIONS[number % 5]);
            let encoder = encoder(pattern, steps, number % 2 == 1);
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
                        encoder
                            .encode_all::<u32>(&texts[..], special.into(), Some(threads), &mut Unwatched)
                            .unwrap()
                    };
                    let (whole, cut) = (encode(1), encode(3));
                    assert_eq!(*cut.ids, *whole.ids, "{texts:?}");
                    assert_eq!(cut.offsets, whole.offsets, "{texts:?}");
                    let counts =
                        encoder.count_all(&texts[..], special.into(), Some(3), &mut Unwatched).unwrap();
                    let numbers: Vec<u64> =
                        whole.offsets.windows(2).map(|bounds| bounds[1] - bounds[0]).collect();
                    assert_eq!(counts, numbers);
                }
            }
        }
    }

    /// Texts that are given as UTF-8 or as bytes; some are none, and nobody knows it before.
    struct Unchecked<'t> {
        texts: &'t [String],
        bad: &'t [bool],
    }

    impl<'t> TextSource<'t> for &Unchecked<'t> {
        fn number(&self) -> usize {
            self.texts.len()
        }

        fn length(&self, text: usize) -> usize {
            // What is told to be short is not asked for as text.
            if text.is_multiple_of(3) { self.texts[text].len() } else { 1 }
        }

        fn text(&self, text: usize) -> Result<&'t str> {
            if self.bad[text] { Err(Error::Value(format!("bad: {text}"))) } else { Ok(&self.texts[text]) }
        }

        fn get(&self, text: usize) -> Result<RawText<'t>> {
            match text % 3 {
                2 if self.bad[text] => Ok(RawText::Bytes(b"ab\xff")),
                2 => Ok(RawText::Bytes(self.texts[text].as_bytes())),
                _ => self.text(text).map(RawText::Text),
            }
        }
    }

    const THREADS: [usize; 3] = [1, 2, 5];

    #[test]
    fn texts_that_come_unchecked_have_the_ids_of_checked_ones() {
        let encoder = encoder(PATTERNS[0], &[], false);
        let mut state = 1;
        for number in 0..200 {
            let texts: Vec<String> = (0..number)
                .map(|_| {
                    (0..random(&mut state) % 40)
                        .map(|_| ["ab", " ", "é", "中", "😀", "<s>"][random(&mut state) % 6])
                        .collect()
                })
                .collect();
            let known: Vec<&str> = texts.iter().map(String::as_str).collect();
            let expected = encoder
                .encode_all::<u32>(&known[..], Special::Parse.into(), Some(1), &mut Unwatched)
                .unwrap();
            let unchecked = &Unchecked { texts: &texts, bad: &vec![false; texts.len()] };
            for threads in THREADS {
                let encoded = encoder
                    .encode_all::<u32>(unchecked, Special::Parse.into(), Some(threads), &mut Unwatched)
                    .unwrap();
                assert_eq!(*encoded.ids, *expected.ids);
                assert_eq!(encoded.offsets, expected.offsets);
            }
        }
    }

    #[test]
    fn the_error_is_that_of_the_first_bad_text() {
        let encoder = encoder(PATTERNS[0], &[], false);
        let mut state = 1;
        for _ in 0..300 {
            let number = random(&mut state) % 40;
            let bad: Vec<bool> = (0..number).map(|_| random(&mut state).is_multiple_of(20)).collect();
            // The place of the special token is the number of the text.
            let texts: Vec<String> = (0..number)
                .map(|text| {
                    let special = if random(&mut state).is_multiple_of(20) { "<s>" } else { "" };
                    format!("{}{special}{}", "x".repeat(text), "é".repeat(random(&mut state) % 20))
                })
                .collect();
            let first = (0..number).find(|&text| bad[text] || texts[text].contains('<'));
            let expected = first.map(|text| match bad[text] {
                // Of two faults of one text, that which is found first: the whole text is looked at before its parts are.
                true => format!("bad: {text}"),
                false => format!("at character {text};"),
            });
            for threads in THREADS {
                let texts = &Unchecked { texts: &texts, bad: &bad };
                let found = [
                    encoder
                        .encode_all::<u32>(texts, Special::Error.into(), Some(threads), &mut Unwatched)
                        .err(),
                    encoder.count_all(texts, Special::Error.into(), Some(threads), &mut Unwatched).err(),
                ];
                for error in found {
                    let error = error.map(|error| error.to_string());
                    match &expected {
                        Some(expected) => assert!(error.unwrap().contains(expected)),
                        None => assert_eq!(error, None),
                    }
                }
            }
        }
    }

    /// Texts with which the calling thread panics as soon as it has taken a job.
    struct Panics<'t>(&'t [&'t str]);

    impl<'t> TextSource<'t> for &Panics<'t> {
        fn number(&self) -> usize {
            self.0.len()
        }

        fn length(&self, text: usize) -> usize {
            self.0[text].len()
        }

        fn text(&self, text: usize) -> Result<&'t str> {
            Ok(self.0[text])
        }

        fn aside<R: Send>(&self, _: impl FnOnce() -> R + Send) -> R {
            panic!("as it should")
        }
    }

    /// The others would wait for the place of its ids.
    #[test]
    fn a_panic_of_the_calling_thread_in_a_job_ends_the_call() {
        let encoder = encoder(PATTERNS[0], &[], false);
        let texts = Panics(&["ab"; 1000]);
        for threads in THREADS {
            let call =
                || encoder.encode_all::<u32>(&texts, Special::Text.into(), Some(threads), &mut Unwatched);
            assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
        }
    }
}
