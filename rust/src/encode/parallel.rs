//! Encodes many texts on any number of threads into one array; the ids do not depend on the number
//! of threads.
//!
//! Texts are grouped into jobs of about equal size; a long text is cut where that changes no id.
//! The calling thread makes jobs, and leaves all other work to its team: finding added tokens,
//! normalizing, encoding. No other thread needs Python's lock, and the calling thread releases it
//! once it has all texts and works on jobs itself.
//!
//! ```text
//! texts -> jobs 0, 1, 2, ... -> ids of each, in some order -> one array, in the order of jobs
//! ```
//!
//! Once all jobs before it are encoded, the place of a job's ids in the array is known, and the
//! thread that finds this out copies them there: nearly always the one that encoded them, while
//! they are still in its processor's cache. So threads share only the queue of jobs and what waits
//! for its place, each behind a lock that is taken once per job. Nothing is copied under the lock,
//! and no page is touched for the first time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{iter, mem};

use super::parts::{TextPart, TextSource};
use super::stages::Stretch;
use super::{Choice, Encoder, Id, Workspace};
use crate::error::{Error, Result};
use crate::memory::{self, reuse};
use crate::watch::{Pulse, Watch};
use crate::workers::{Queue, Team, lead, lock, thread_count};

/// The memory of a text besides its ids: a part, its end (twice while that vector grows), and an
/// offset.
const BYTES_PER_TEXT: usize = size_of::<TextPart>() + 5 * size_of::<usize>();

/// The bytes of text for which another thread is started. (In tests, every text is cut wherever
/// possible.)
const FOR_THREAD: usize = if cfg!(test) { 1 } else { 1 << 18 };

/// The approximate size of a job in bytes, at least and at most.
const SMALLEST_JOB: usize = if cfg!(test) { 1 } else { 1 << 15 };
const LARGEST_JOB: usize = if cfg!(test) { 1 } else { 1 << 18 };
/// The number of jobs for each thread, as far as their size allows it. The last ones end at
/// different times, and a system may let a thread begin late.
const JOBS_EACH: usize = 16;

/// The ids of several texts in one array; text `i` has those from `offsets[i]` to `offsets[i + 1]`.
pub struct Encoded<T: Id> {
    pub ids: Vec<T>,
    pub offsets: Vec<u64>,
}

/// Successive parts of texts, which one thread encodes.
type Job<'t> = Vec<TextPart<'t>>;

/// Whether so many bytes of text are encoded by one thread, however many are allowed.
pub fn is_for_one_thread(bytes: usize) -> bool {
    bytes < 2 * FOR_THREAD
}

/// The number of threads for so many bytes of text, and the approximate size of a job in bytes.
fn division(bytes: usize, threads: Option<usize>) -> (usize, usize) {
    // The number of processors is only queried if it matters, because the query is slow.
    let threads =
        if is_for_one_thread(bytes) { 1 } else { thread_count(threads, bytes / FOR_THREAD) };
    if threads == 1 {
        // One thread has one job.
        return (1, usize::MAX / 2);
    }
    let size = bytes / threads / JOBS_EACH;
    (threads, size.clamp(SMALLEST_JOB, LARGEST_JOB))
}

/// An empty vector with room for so many ids, if that much memory is available. Memory that is not
/// used is never touched, and released at the end.
fn room_for_ids<T: Id>(most: usize) -> Vec<T> {
    let mut ids = reuse::for_ids(most);
    if ids.capacity() == 0 {
        memory::expect(&mut ids, most);
    }
    ids
}

impl Encoder {
    /// Encodes texts into one array of ids. Each text has the choice of its number; further ones
    /// have the last choice. The error is that of the first bad text, on any number of threads.
    pub fn encode_all<'t, T: Id>(
        &self,
        texts: impl TextSource<'t>,
        choices: &[Choice],
        threads: Option<usize>,
        watch: &mut dyn Watch,
    ) -> Result<Encoded<T>> {
        self.model.check_fits::<T>()?;
        memory::ensure(texts.number() * BYTES_PER_TEXT)?;
        let (threads, size) = division(texts.bytes(), threads);
        let mut ids = if threads > 1 { room_for_ids(texts.most_ids()) } else { Vec::new() };
        let offsets: Vec<_> =
            iter::repeat_with(AtomicU64::default).take(texts.number() + 1).collect();
        let row = SharedRow::new(&mut ids, &offsets);
        let worker = || {
            let row = &row;
            let mut workspace = Workspace::new()?;
            let mut free = Vec::<Done<T>>::new();
            Ok(move |number, job: Job<'t>, pulse: &mut Pulse| {
                let mut done = free.pop().unwrap_or_default();
                if done.ids.capacity() == 0 {
                    // No text has more ids than bytes.
                    let bytes = job.iter().map(|(_, part)| part.range.len()).sum();
                    done.ids = room_for_ids(bytes);
                }
                memory::reserve(&mut done.ends, job.len())?;
                for (text, part) in job {
                    let choice = choices[text.min(choices.len() - 1)];
                    let (ids, workspace) = (&mut done.ids, &mut workspace);
                    if let Some(dropout) = self.dropout {
                        let of_text = dropout.of_text(text);
                        self.encode_dropping(part, choice, of_text, ids, workspace, pulse)?;
                    } else {
                        self.encode_stretch(part, choice, ids, workspace, pulse)?;
                    }
                    done.ends.push((text, done.ids.len()));
                }
                row.put(number, done, &mut free);
                Ok(())
            })
        };
        let queue = Queue::default();
        lead(&queue, &worker, &mut Pulse::of(watch), |team, pulse| {
            team.start(threads - 1, pulse);
            let all_made = self.make_jobs(&texts, size, &queue, team, pulse);
            // The error of a job comes first.
            team.check().and(all_made)?;
            queue.close();
            texts.aside(|| team.finish(pulse))
        })?;
        row.finish()?;
        reuse::shrink(&mut ids);
        let offsets = offsets.into_iter().map(AtomicU64::into_inner).collect();
        Ok(Encoded { ids, offsets })
    }

    /// Gets all texts, up to the first bad one, and makes jobs of about the same size of them.
    fn make_jobs<'t, W>(
        &self,
        texts: &impl TextSource<'t>,
        size: usize,
        queue: &Queue<Job<'t>>,
        team: &Team<Job<'t>, W>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let mut job = Job::new();
        let mut bytes = 0;
        let mut add = |part: TextPart<'t>, pulse: &mut Pulse| {
            bytes += part.1.range.len();
            memory::push(&mut job, part)?;
            if bytes < size {
                return Ok(());
            }
            // The next job will have about as many parts.
            let mut next = Vec::new();
            memory::reserve(&mut next, job.len())?;
            queue.push([mem::replace(&mut job, next)]);
            pulse.beat(mem::take(&mut bytes))?;
            team.check()?;
            if queue.is_closed() { Err(Error::Stopped) } else { Ok(()) }
        };
        // The place of a pretoken must be known.
        let may_cut = self.dropout.is_none() || self.keeps_text();
        let mut bad = None;
        for number in 0..texts.number() {
            let added = match texts.text(number) {
                Ok(text) if may_cut && text.len() > 2 * size => {
                    texts.aside(|| self.cut_text((number, text), size, pulse, &mut add))
                }
                Ok(text) => add((number, Stretch::whole(text)), pulse),
                Err(error) => {
                    bad = Some(error);
                    break;
                }
            };
            match added {
                // A job has failed.
                Err(Error::Stopped) => return Ok(()),
                added => added?,
            }
        }
        // The call fails once the texts before a bad one are encoded.
        queue.push([job]);
        if let Some(error) = bad {
            queue.fail_next(error);
        }
        Ok(())
    }
}

/// The result of a job: its ids, and for each part the number of its text, and of ids up to its
/// end.
#[derive(Default)]
struct Done<T> {
    ids: Vec<T>,
    ends: Vec<(usize, usize)>,
}

/// The array that the ids of jobs are written to, each job's to a range of its own.
struct SharedRow<'a, T> {
    /// The vector, and its memory, which is not accessed through the vector before the row is
    /// finished.
    ids: &'a mut Vec<T>,
    start: *mut T,
    room: usize,
    offsets: &'a [AtomicU64],
    order: Mutex<Order<T>>,
}

/// What waits for its place in the array.
struct Order<T> {
    /// The job whose place is known next, and this place.
    next: usize,
    start: usize,
    /// Jobs that are encoded, by their numbers.
    waiting: BTreeMap<usize, Done<T>>,
    /// Ids for which there was too little room, and their starts.
    overflow: Vec<(usize, Vec<T>)>,
}

// SAFETY: threads write to the row's memory only in ranges that no two of them share (see
// `SharedRow::put`), and ids may be sent to other threads.
unsafe impl<T: Send> Sync for SharedRow<'_, T> {}

impl<'a, T: Id> SharedRow<'a, T> {
    /// The memory of an empty vector.
    fn new(ids: &'a mut Vec<T>, offsets: &'a [AtomicU64]) -> Self {
        let order = Order { next: 0, start: 0, waiting: BTreeMap::new(), overflow: Vec::new() };
        Self {
            start: ids.as_mut_ptr(),
            room: ids.capacity(),
            ids,
            offsets,
            order: Mutex::new(order),
        }
    }

    /// Takes the ids of a job, and writes those of all jobs whose place is known now. Their memory
    /// is then `free` to be used again.
    fn put(&self, number: usize, done: Done<T>, free: &mut Vec<Done<T>>) {
        lock(&self.order).waiting.insert(number, done);
        // Not in the condition of the loop, which would keep the lock.
        let next = || lock(&self.order).next(self.room);
        while let Some((start, mut done)) = next() {
            for (text, end) in done.ends.drain(..) {
                // The last part of a text may come before others.
                self.offsets[text + 1].fetch_max((start + end) as u64, Ordering::Relaxed);
            }
            let ids = &mut done.ids;
            // Ids for which there is too little room were taken away: nothing is copied, and the
            // place is outside.
            let place = self.start.wrapping_add(start);
            // SAFETY:
            // 1. The row has room for these ids there, and nobody else looks at it until it is
            //    finished.
            // 2. A job's range begins where the one of the job before it ends, so no two of them
            //    share a place.
            unsafe { ids.as_ptr().copy_to_nonoverlapping(place, ids.len()) };
            ids.clear();
            free.push(done);
        }
    }

    /// Gives the vector its ids, once all jobs are done.
    fn finish(self) -> Result<()> {
        let ids = self.ids;
        let order = self.order.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Order { start: total, mut overflow, .. } = order;
        if let [(0, all)] = &mut overflow[..] {
            *ids = mem::take(all);
            return Ok(());
        }
        overflow.sort_unstable_by_key(|(start, _)| *start);
        let written = overflow.first().map_or(total, |(start, _)| *start);
        // SAFETY:
        // 1. The jobs' ids were put into the room of this row, and the threads that did so have
        //    ended.
        // 2. They are there up to the first ones for which there was too little room.
        unsafe { ids.set_len(written) };
        memory::reserve(ids, total - written)?;
        for (_, rest) in &overflow {
            ids.extend_from_slice(rest);
        }
        Ok(())
    }
}

impl<T> Order<T> {
    /// The next job whose place is known, and this place. Ids for which there is too little room
    /// are left here.
    fn next(&mut self, room: usize) -> Option<(usize, Done<T>)> {
        let mut done = self.waiting.remove(&self.next)?;
        let start = self.start;
        self.next += 1;
        self.start += done.ids.len();
        if self.start > room {
            self.overflow.push((start, mem::take(&mut done.ids)));
        }
        Some((start, done))
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::super::{AddedToken, Definition, Encoder, Special, Stages, TextSource};
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
        let merges =
            [[97, 98, 256], [256, 256, 257], [32, 256, 258], [e, acute, 259], [32, 32, 260]];
        let definition = Definition {
            tokens: &tokens,
            merges: &merges,
            pattern: &[pattern.into()],
            ..Definition::default()
        };
        let special = AddedToken { is_special: true, ..AddedToken::new("<s>".to_owned(), 261) };
        let added = AddedToken::new("ab<s>".to_owned(), 262);
        let taking =
            AddedToken { lstrip: true, rstrip: true, ..AddedToken::new("!".to_owned(), 263) };
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
            "ab", "AB", " ", "  ", "\n", "é", "e\u{301}", "\u{301}", "中", "'s", "l", "1", "!",
            "<s>", "ab<s>", "\u{3000}",
        ];
        let mut state = 1;
        for number in 0..2 * PATTERNS.len() * NORMALIZATIONS.len() {
            let (pattern, steps) = (PATTERNS[number % 3], NORMALIZATIONS[number % 5]);
            let encoder = encoder(pattern, steps, number % 2 == 1);
            for _ in 0..300 {
                let texts: Vec<String> = (0..random(&mut state) % 4)
                    .map(|_| {
                        let pieces = (0..random(&mut state) % 60)
                            .map(|_| pieces[random(&mut state) % pieces.len()]);
                        pieces.collect()
                    })
                    .collect();
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                for special in [Special::Parse, Special::Text] {
                    let encode = |threads| {
                        encoder
                            .encode_all::<u32>(
                                &texts[..],
                                &[special.into()],
                                Some(threads),
                                &mut Unwatched,
                            )
                            .unwrap()
                    };
                    let (whole, cut) = (encode(1), encode(3));
                    assert_eq!(*cut.ids, *whole.ids, "{texts:?}");
                    assert_eq!(cut.offsets, whole.offsets, "{texts:?}");
                    let counts = encoder
                        .encode_all::<()>(&texts[..], &[special.into()], Some(3), &mut Unwatched)
                        .unwrap();
                    assert_eq!(counts.offsets, whole.offsets);
                }
            }
        }
    }

    /// Texts some of which are none.
    struct Checked<'t> {
        texts: &'t [String],
        bad: &'t [bool],
    }

    impl<'t> TextSource<'t> for &Checked<'t> {
        fn number(&self) -> usize {
            self.texts.len()
        }

        fn length(&self, text: usize) -> usize {
            self.texts[text].len()
        }

        fn text(&self, text: usize) -> Result<&'t str> {
            if self.bad[text] {
                Err(Error::Value(format!("bad: {text}")))
            } else {
                Ok(&self.texts[text])
            }
        }
    }

    const THREADS: [usize; 3] = [1, 2, 5];

    #[test]
    fn the_error_is_that_of_the_first_bad_text() {
        let encoder = encoder(PATTERNS[0], &[], false);
        let mut state = 1;
        for _ in 0..300 {
            let number = random(&mut state) % 40;
            let bad: Vec<bool> =
                (0..number).map(|_| random(&mut state).is_multiple_of(20)).collect();
            // The place of the special token is the number of the text.
            let texts: Vec<String> = (0..number)
                .map(|text| {
                    let special = if random(&mut state).is_multiple_of(20) { "<s>" } else { "" };
                    format!("{}{special}{}", "x".repeat(text), "é".repeat(random(&mut state) % 20))
                })
                .collect();
            let first = (0..number).find(|&text| bad[text] || texts[text].contains('<'));
            let expected = first.map(|text| match bad[text] {
                // Of two faults of one text, that which is found first: the whole text is looked at
                // before its parts are.
                true => format!("bad: {text}"),
                false => format!("at character {text};"),
            });
            for threads in THREADS {
                let texts = &Checked { texts: &texts, bad: &bad };
                let found = [
                    encoder
                        .encode_all::<u32>(
                            texts,
                            &[Special::Error.into()],
                            Some(threads),
                            &mut Unwatched,
                        )
                        .err(),
                    encoder
                        .encode_all::<()>(
                            texts,
                            &[Special::Error.into()],
                            Some(threads),
                            &mut Unwatched,
                        )
                        .err(),
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
            let call = || {
                encoder.encode_all::<u32>(
                    &texts,
                    &[Special::Text.into()],
                    Some(threads),
                    &mut Unwatched,
                )
            };
            assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
        }
    }
}
