//! One job on several items at the same time, before and between merges.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::error::{Error, Result};
use crate::watch::Pulse;

/// Does a job on every item, each in a thread of its own and the first in the calling one.
pub fn on_each<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    pulse: &mut Pulse<'_>,
    job: impl Fn(T, &mut Pulse<'_>) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let ended = AtomicBool::new(false);
    let (job, stop) = (&job, &ended);
    thread::scope(|scope| {
        let mut items = items.into_iter();
        let first = items.next();
        let start =
            |item| thread::Builder::new().spawn_scoped(scope, move || job(item, &mut Pulse::until(stop)));
        let others: Vec<_> = match items.map(start).collect() {
            Ok(others) => others,
            Err(refused) => {
                ended.store(true, Ordering::Relaxed);
                return Err(Error::Memory(format!("no thread could be started: {refused}")));
            }
        };
        let mut results: Vec<Result<R>> = first.into_iter().map(|item| job(item, pulse)).collect();
        let mut watched = Ok(());
        while watched.is_ok()
            && results.iter().all(Result::is_ok)
            && others.iter().any(|other| !other.is_finished())
        {
            thread::yield_now();
            watched = pulse.check();
        }
        ended.store(true, Ordering::Relaxed);
        results.extend(
            others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic))),
        );
        watched?;
        // Who was only told to stop has nothing to say.
        results.sort_by_key(|result| matches!(result, Err(Error::Stopped)));
        results.into_iter().collect()
    })
}
