//! Threads that work on the parts of the words at the same time.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};

use super::part::{Part, Task};

/// The parts, and helpers who take part in merges that are worth it.
///
/// A merge is a round: the calling thread publishes the task, and whoever claims a part first does it, so that a
/// helper who is late is not waited for. All parts are free whenever no round is under way.
pub struct Crew {
    parts: Vec<Mutex<Part>>,
    round: AtomicU32,
    task: Mutex<Task>,
    /// For each part, the last round in which it was claimed.
    claims: Vec<AtomicU32>,
    unfinished: AtomicUsize,
    helpers: Vec<Helper>,
    over: AtomicBool,
}

#[derive(Default)]
struct Helper {
    thread: OnceLock<Thread>,
    asleep: AtomicBool,
}

/// How often a helper looks for a new round before it sleeps: some twenty microseconds.
const LOOKS: u32 = 500;

impl Crew {
    pub fn new(parts: Vec<Part>) -> Self {
        Self {
            round: AtomicU32::new(0),
            task: Mutex::new(Task::default()),
            claims: parts.iter().map(|_| AtomicU32::new(0)).collect(),
            unfinished: AtomicUsize::new(0),
            helpers: parts.iter().skip(1).map(|_| Helper::default()).collect(),
            over: AtomicBool::new(false),
            parts: parts.into_iter().map(Mutex::new).collect(),
        }
    }

    /// Runs `work` while the helpers stand by.
    pub fn together<R>(&self, work: impl FnOnce() -> R) -> R {
        thread::scope(|scope| {
            for nth in 0..self.helpers.len() {
                // Who could not be started is not waited for: the others claim his part.
                if thread::Builder::new().spawn_scoped(scope, move || self.help(nth)).is_err() {
                    break;
                }
            }
            let _dismissal = Dismissal(self);
            work()
        })
    }

    /// All parts, between rounds.
    pub fn parts(&self) -> impl Iterator<Item = MutexGuard<'_, Part>> {
        self.parts.iter().map(lock)
    }

    /// Merges in all parts at the same time.
    pub fn merge(&self, task: Task) {
        *lock(&self.task) = task;
        self.unfinished.store(self.parts.len(), Ordering::Relaxed);
        let round = self.round.load(Ordering::Relaxed).wrapping_add(1);
        self.round.store(round, Ordering::SeqCst);
        self.wake();
        for part in 0..self.parts.len() {
            self.claim(part, round);
        }
        let mut looks = 0u32;
        while self.unfinished.load(Ordering::Acquire) > 0 {
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { thread::yield_now() }
        }
    }

    /// Merges in a part, unless someone else does.
    fn claim(&self, part: usize, round: u32) {
        let before = round.wrapping_sub(1);
        if self.claims[part].compare_exchange(before, round, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            let _finish = Finish(&self.unfinished);
            let task = *lock(&self.task);
            lock(&self.parts[part]).merge(task);
        }
    }

    fn wake(&self) {
        for helper in &self.helpers {
            if helper.asleep.swap(false, Ordering::SeqCst)
                && let Some(thread) = helper.thread.get()
            {
                thread.unpark();
            }
        }
    }

    /// What a helper does until the work is over: its own part first.
    fn help(&self, nth: usize) {
        let helper = &self.helpers[nth];
        helper.thread.get_or_init(thread::current);
        let mut seen = 0;
        while !self.over.load(Ordering::SeqCst) {
            let round = self.round.load(Ordering::SeqCst);
            if round != seen {
                seen = round;
                self.claim(nth + 1, round);
                continue;
            }
            let unchanged = || self.round.load(Ordering::SeqCst) == seen && !self.over.load(Ordering::SeqCst);
            if (0..LOOKS).all(|_| {
                std::hint::spin_loop();
                unchanged()
            }) {
                helper.asleep.store(true, Ordering::SeqCst);
                if unchanged() {
                    thread::park();
                }
                helper.asleep.store(false, Ordering::SeqCst);
            }
        }
    }
}

/// Counts a part as finished, whatever becomes of it.
struct Finish<'a>(&'a AtomicUsize);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Sends the helpers home, whatever becomes of the work.
struct Dismissal<'a>(&'a Crew);

impl Drop for Dismissal<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::SeqCst);
        self.0.wake();
    }
}

/// A thread that panicked ends the whole call, so what it left behind is not looked at.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
