//! A team: a leading thread and others that live for one call. They take items in order from a
//! queue.
//!
//! ```text
//! leader:  push 0, 1, 2, ... -> [ 3 | 2 ]  -> each thread: work(1, item), ..., finish
//! ```
//!
//! A leader may work, too, or wait for the others. Items are begun in order. After an error no
//! further item is begun, but those before it are finished. So the reported error does not depend
//! on timing: it is the error of the first bad item. If no thread can be started, the leader does
//! all the work.
//!
//! There is no thread pool that a fork could break. If the process is forked during such a call (by
//! a callback, say), the child has none of the threads and cannot know their results: there the
//! call ends with [`Error::Forked`]. So a leader must call [`check`](Team::check) after every call
//! of foreign code, before it takes the next lock; its pulse does so itself.

use std::any::Any;
use std::collections::VecDeque;
use std::mem;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle, available_parallelism, panicking};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::memory;
use crate::watch::Pulse;

/// The longest wait for other threads before the leader checks for signals and reports.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Locks a mutex, even if a thread panicked while it held the lock: each change of the shared data
/// is complete in itself.
pub fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The items of a call, numbered from 0 on, and the state that the threads share.
pub struct Queue<T> {
    items: Mutex<Items<T>>,
    /// Signals any change of the items.
    changed: Condvar,
    /// The error to report, and the number of its item.
    failure: Mutex<Option<(usize, Error)>>,
    /// Whether the call was stopped: threads give up their current items.
    pub stop: AtomicBool,
}

/// What a thread does when the queue is empty and not closed.
#[derive(Clone, Copy, PartialEq)]
enum WhenEmpty {
    Wait,
    Return,
}

/// The items that are not begun.
struct Items<T> {
    waiting: VecDeque<T>,
    /// The number of the next item to begin.
    next: usize,
    /// Whether no more items are accepted.
    closed: bool,
    /// The number of threads.
    threads: usize,
}

/// The work of one thread.
pub trait Worker<T>: Sized {
    /// Works on an item.
    fn work(&mut self, number: usize, item: T, pulse: &mut Pulse) -> Result<()>;

    /// Finishes the work once there are no more items.
    fn finish(self) -> Result<()> {
        Ok(())
    }
}

impl<T, F: FnMut(usize, T, &mut Pulse) -> Result<()>> Worker<T> for F {
    fn work(&mut self, number: usize, item: T, pulse: &mut Pulse) -> Result<()> {
        self(number, item, pulse)
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        let items = Items { waiting: VecDeque::new(), next: 0, closed: false, threads: 0 };
        Self {
            items: Mutex::new(items),
            changed: Condvar::new(),
            failure: Mutex::default(),
            stop: AtomicBool::new(false),
        }
    }
}

impl<T> Queue<T> {
    /// Adds items, unless the queue is closed.
    pub fn push(&self, new: impl IntoIterator<Item = T>) {
        let mut items = lock(&self.items);
        if !items.closed {
            items.waiting.extend(new);
        }
        drop(items);
        self.changed.notify_all();
    }

    /// Accepts no more items.
    pub fn close(&self) {
        self.close_from(usize::MAX);
    }

    /// Makes sure that no item from this number on is begun.
    fn close_from(&self, number: usize) {
        let mut items = lock(&self.items);
        let kept = number.saturating_sub(items.next);
        items.waiting.truncate(kept);
        items.closed = true;
        drop(items);
        self.changed.notify_all();
    }

    /// Stops the call: no more items are begun, and threads give up their current ones.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.close_from(0);
    }

    /// Wakes all threads that wait.
    pub fn notify(&self) {
        // With the lock, no thread is between its test and its wait.
        drop(lock(&self.items));
        self.changed.notify_all();
    }

    /// Whether no more items are accepted.
    pub fn is_closed(&self) -> bool {
        lock(&self.items).closed
    }

    /// Returns the number of items that are not begun.
    pub fn not_begun(&self) -> usize {
        lock(&self.items).waiting.len()
    }

    /// Keeps the error of an item, unless an earlier item has failed.
    fn fail(&self, number: usize, error: Error) {
        self.close_from(number);
        // Items that were merely stopped come last.
        let rank = |number, error: &Error| (matches!(error, Error::Stopped), number);
        let mut failure = lock(&self.failure);
        let is_first = match &*failure {
            Some((first, first_error)) => rank(number, &error) < rank(*first, first_error),
            None => true,
        };
        if is_first {
            *failure = Some((number, error));
        }
    }

    /// Keeps the error of the item that would come next: the call fails once all items before it
    /// are finished.
    pub fn fail_next(&self, error: Error) {
        let items = lock(&self.items);
        let number = items.next + items.waiting.len();
        drop(items);
        self.fail(number, error);
    }

    /// Returns the next item and its number; `None` if there is none.
    fn next(&self, when_empty: WhenEmpty) -> Option<(usize, T)> {
        let mut items = lock(&self.items);
        loop {
            if let Some(item) = items.waiting.pop_front() {
                items.next += 1;
                return Some((items.next - 1, item));
            }
            if items.closed || when_empty == WhenEmpty::Return {
                return None;
            }
            items = self.changed.wait(items).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The loop of one thread. Errors are kept with the numbers of their items, except those that
    /// end the call at once.
    fn run(
        &self,
        worker: Result<impl Worker<T>>,
        when_empty: WhenEmpty,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let mut worker = worker?;
        while let Some((number, item)) = self.next(when_empty) {
            match worker.work(number, item, pulse) {
                Ok(()) => (),
                Err(error @ (Error::Caller { .. } | Error::Forked)) => return Err(error),
                Err(error) => self.fail(number, error),
            }
        }
        worker.finish()
    }
}

/// Counts a thread for as long as this value lives.
struct ThreadGuard<'a, T>(&'a Queue<T>);

impl<'a, T> ThreadGuard<'a, T> {
    fn new(queue: &'a Queue<T>) -> Self {
        lock(&queue.items).threads += 1;
        Self(queue)
    }
}

impl<T> Drop for ThreadGuard<'_, T> {
    fn drop(&mut self) {
        // The other threads would wait for this one, or work in vain.
        if panicking() {
            self.0.stop();
        }
        lock(&self.0.items).threads -= 1;
        self.0.changed.notify_all();
    }
}

/// The threads of a call, as its leader sees them.
pub struct Team<'env, T, W> {
    queue: &'env Queue<T>,
    /// Makes the worker of a thread.
    worker: &'env (dyn Fn() -> Result<W> + Sync),
    /// The process that has the threads.
    process: AtomicU32,
    /// Only the leader locks this.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Runs `lead` in this thread. All threads that it starts have ended when this returns.
///
/// Two differences from `std::thread::scope`: a thread that cannot be started is no panic, and a
/// forked process does not wait for the threads of its parent.
pub fn lead<'env, T: Send, W: Worker<T>>(
    queue: &'env Queue<T>,
    worker: &'env (dyn Fn() -> Result<W> + Sync),
    pulse: &mut Pulse,
    lead: impl FnOnce(&Team<'env, T, W>, &mut Pulse) -> Result<()>,
) -> Result<()> {
    let team = Team { queue, worker, process: AtomicU32::default(), threads: Mutex::default() };
    let result = lead(&team, pulse);
    pulse.process = None;
    team.check()?;
    match &result {
        Ok(()) => queue.close(),
        Err(_) => queue.stop(),
    }
    if let Some(panic) = team.join() {
        resume_unwind(panic);
    }
    // An interrupt comes first, then the error of an item, then the leader's. An item that was
    // merely stopped has none.
    match (lock(&queue.failure).take(), result) {
        (_, Err(interrupt @ Error::Caller { interrupts: true, .. })) => Err(interrupt),
        (Some((_, Error::Stopped)), Err(error)) => Err(error),
        (Some((_, error)), _) => Err(error),
        (None, result) => result,
    }
}

impl<T: Send, W: Worker<T>> Team<'_, T, W> {
    /// Starts threads until there are `threads`, as far as the system allows it.
    pub fn start(&self, threads: usize, pulse: &mut Pulse) {
        let more = threads.saturating_sub(self.started());
        for _ in 0..memory::threads(more) {
            if self.started() == 0 {
                self.process.store(std::process::id(), Ordering::Relaxed);
                pulse.process = Some(std::process::id());
            }
            if self.check().is_err() || !self.start_one() {
                break;
            }
        }
    }

    /// Starts a thread. Returns whether the system allows it.
    fn start_one(&self) -> bool {
        let queue = self.queue;
        let worker = self.worker;
        // Counted from now on, so that a leader that waits does not miss the thread.
        let guard = ThreadGuard::new(queue);
        let work = move || {
            let _guard = guard;
            if let Err(error) = queue.run(worker(), WhenEmpty::Wait, &mut Pulse::until(&queue.stop))
            {
                queue.fail(usize::MAX, error);
            }
        };
        // SAFETY:
        // 1. What the thread borrows outlives the team.
        // 2. A team is not dropped before the thread has ended, except in a forked process, which
        //    does not have the thread.
        let started = unsafe { Builder::new().spawn_unchecked(work) };
        let Ok(thread) = started else { return false };
        lock(&self.threads).push(thread);
        true
    }

    /// Lets the leader work on items until none is left.
    pub fn work(&self, pulse: &mut Pulse) -> Result<()> {
        self.queue.run((self.worker)(), WhenEmpty::Return, pulse)
    }

    /// Lets the leader work as well, and wait for the others.
    pub fn finish(&self, pulse: &mut Pulse) -> Result<()> {
        self.work(pulse)?;
        self.wait(pulse, |_| false, |pulse| pulse.check())
    }

    /// Waits until `is_over` holds, which receives whether the queue is closed, or no thread is
    /// left; reports meanwhile.
    pub fn wait(
        &self,
        pulse: &mut Pulse,
        is_over: impl Fn(bool) -> bool,
        report: impl Fn(&mut Pulse) -> Result<()>,
    ) -> Result<()> {
        self.check()?;
        let mut items = lock(&self.queue.items);
        while items.threads > 0 && !is_over(items.closed) {
            // Reports may call foreign code, so the lock is free meanwhile.
            drop(self.queue.changed.wait_timeout(items, CHECK_INTERVAL));
            let reported = report(pulse);
            self.check().and(reported)?;
            items = lock(&self.queue.items);
        }
        Ok(())
    }
}

impl<T, W> Team<'_, T, W> {
    /// Returns the number of threads that were started.
    pub fn started(&self) -> usize {
        lock(&self.threads).len()
    }

    /// Fails in a forked process, which does not have the threads.
    pub fn check(&self) -> Result<()> {
        let is_forked =
            self.started() > 0 && self.process.load(Ordering::Relaxed) != std::process::id();
        if is_forked { Err(Error::Forked) } else { Ok(()) }
    }

    /// Waits for all threads. Returns the first panic.
    fn join(&self) -> Option<Box<dyn Any + Send>> {
        let is_forked = self.check().is_err();
        let threads = mem::take(&mut *lock(&self.threads));
        let mut first_panic = None;
        for thread in threads {
            if is_forked {
                mem::forget(thread);
            } else if let Err(panic) = thread.join() {
                first_panic.get_or_insert(panic);
            }
        }
        first_panic
    }
}

impl<T, W> Drop for Team<'_, T, W> {
    /// Waits for the threads even if the leader panics.
    fn drop(&mut self) {
        // A forked process has no threads, and perhaps a lock that is taken.
        if panicking() && self.check().is_ok() {
            self.queue.stop();
        }
        self.join();
    }
}

/// More threads would gain nothing.
const MAX_THREADS: usize = 256;

/// Returns the number of threads of a call: `wanted`, or one for each core, but no more than there
/// are items. Every default for a number of threads comes from here.
pub fn thread_count(wanted: Option<usize>, items: usize) -> usize {
    let cores = || available_parallelism().map_or(1, NonZero::get);
    wanted.unwrap_or_else(cores).clamp(1, MAX_THREADS).min(items.max(1))
}

/// Runs a job on every item, on up to `threads` threads as far as memory allows, and returns the
/// results in the order of the items. The calling thread takes part, and reports meanwhile. Of
/// several errors, the first item's is returned.
pub fn each<T: Send, R: Send>(
    threads: usize,
    items: impl IntoIterator<Item = T>,
    pulse: &mut Pulse<'_>,
    job: impl Fn(T, &mut Pulse<'_>) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let queue = Queue::default();
    let results = Mutex::new(Vec::new());
    queue.push(items);
    queue.close();
    let threads = threads.min(queue.not_begun());
    lock(&results).reserve(queue.not_begun());
    let worker = || {
        Ok(|number, item, pulse: &mut Pulse<'_>| {
            let result = job(item, pulse).inspect_err(|error| {
                // The others need not finish their items.
                if !matches!(error, Error::Forked) {
                    queue.stop();
                }
            })?;
            lock(&results).push((number, result));
            Ok(())
        })
    };
    lead(&queue, &worker, pulse, |team, pulse| {
        team.start(threads.saturating_sub(1), pulse);
        team.finish(pulse)
    })?;
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_unstable_by_key(|(number, _)| *number);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread::{current, yield_now};
    use std::time::Instant;

    use super::*;
    use crate::watch::{Stage, Unwatched, Watch};

    #[test]
    fn results_come_in_the_order_of_items() {
        let double = |item: u32, _: &mut Pulse<'_>| Ok(2 * item);
        assert_eq!(
            each(9, 0..9, &mut Pulse::of(&mut Unwatched), double).unwrap(),
            [0, 2, 4, 6, 8, 10, 12, 14, 16]
        );
        assert!(each(9, [], &mut Pulse::of(&mut Unwatched), double).unwrap().is_empty());
    }

    #[test]
    fn the_first_error_is_returned_and_ends_the_others() {
        let leader = current().id();
        for _ in 0..20 {
            let has_failed = AtomicBool::new(false);
            let result = each(3, 0..3, &mut Pulse::of(&mut Unwatched), |item, pulse| match item {
                0 => Ok(()),
                1 => {
                    has_failed.store(true, Ordering::Relaxed);
                    Err(Error::Value("first".into()))
                }
                // The leader ends the item that it is at; the others would never end theirs.
                _ => loop {
                    pulse.check()?;
                    if current().id() == leader && has_failed.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                },
            });
            assert!(matches!(result, Err(Error::Value(message)) if message == "first"));
        }
    }

    /// Panics at an item.
    struct PanicsAt(usize);

    impl Worker<()> for PanicsAt {
        fn work(&mut self, number: usize, (): (), _: &mut Pulse) -> Result<()> {
            assert_ne!(number, self.0, "as it should");
            Ok(())
        }
    }

    #[test]
    fn a_panic_of_any_thread_ends_the_work() {
        for (threads, leads) in
            [(1, true), (2, true), (5, true), (1, false), (2, false), (5, false)]
        {
            let queue = Queue::default();
            let worker = || Ok(PanicsAt(if leads { usize::MAX } else { 3 }));
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                lead(&queue, &worker, &mut Pulse::of(&mut Unwatched), |team, pulse| {
                    queue.push([(); 9]);
                    team.start(threads, pulse);
                    assert!(!leads, "as it should");
                    team.wait(pulse, |_| false, |pulse| pulse.check())
                })
            }));
            let panic = panicked.unwrap_err();
            let message = panic.downcast_ref::<String>().map(String::as_str);
            assert!(message.or(panic.downcast_ref().copied()).unwrap().contains("as it should"));
            assert!(queue.is_closed());
        }
    }

    #[test]
    fn threads_end_before_the_call_does() {
        let (ended, queue) = (AtomicBool::new(false), Queue::default());
        let worker = || {
            Ok(|_, (), _: &mut Pulse| {
                std::thread::sleep(Duration::from_millis(20));
                ended.store(true, Ordering::Relaxed);
                Ok(())
            })
        };
        queue.push([()]);
        lead(&queue, &worker, &mut Pulse::of(&mut Unwatched), |team, pulse| {
            team.start(1, pulse);
            assert_eq!(team.started(), 1);
            Ok(())
        })
        .unwrap();
        assert!(ended.load(Ordering::Relaxed));
    }

    /// Its items last until the call is stopped; the leader's own only until another thread has
    /// begun one.
    #[test]
    fn an_interrupt_ends_the_last_item_of_another_thread() {
        let (leader, begun, queue) = (current().id(), AtomicBool::new(false), Queue::default());
        let worker = || {
            Ok(|_, (), pulse: &mut Pulse| {
                if leader == current().id() {
                    while !begun.load(Ordering::Relaxed) {
                        yield_now();
                    }
                    return Ok(());
                }
                begun.store(true, Ordering::Relaxed);
                let start = Instant::now();
                while start.elapsed() < Duration::from_secs(20) {
                    pulse.check()?;
                    yield_now();
                }
                panic!("nobody ended it")
            })
        };
        queue.push([(); 2]);
        let watch = &mut Interrupted;
        let ended = lead(&queue, &worker, &mut Pulse::of(watch), |team, pulse| {
            team.start(1, pulse);
            team.finish(pulse)
        });
        assert!(matches!(ended, Err(Error::Caller { interrupts: true, .. })));
    }

    struct Interrupted;

    impl Watch for Interrupted {
        fn report(&mut self, _: Stage, _: u64, _: u64) -> Result<()> {
            Err(Error::Caller { raised: "Ctrl-C".into(), interrupts: true })
        }
    }
}
