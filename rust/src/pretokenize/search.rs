//! What a search for matches remembers, so that its work is proportional to the text, whatever the pattern.
//!
//! An attempt to match may run far and fail, and the attempt at the next character over the same text again (`a+b`, where
//! there is no `b`). But what an automaton finds from a place on depends on its state there only. So the states of failed
//! attempts are remembered, at a checkpoint every few bytes: an attempt that comes to a checkpoint in one of them has
//! failed, too. The same holds for what an attempt tried in vain after its last match. So each state is run through once
//! between two checkpoints, and besides, each attempt takes at most the steps up to the next checkpoint.

use crate::error::Result;
use crate::memory;
use crate::watch::Pulse;

/// The distance between checkpoints in bytes: a checkpoint is the first character that begins at a multiple of it or after.
pub const STRIDE: usize = 64;

/// The number of steps between two beats of the pulse.
const STEPS_PER_BEAT: usize = 1 << 12;

/// A number of marks for each place, from the first one that a later attempt may come to. Most searches need none.
#[derive(Default)]
pub struct Marks {
    first: usize,
    bits: Vec<u64>,
}

impl Marks {
    /// Whether a place, which has `number` marks, has the mark `which`.
    #[inline]
    pub fn has(&self, place: usize, number: usize, which: usize) -> bool {
        let row = place.checked_sub(self.first).map(|row| row * number.div_ceil(64));
        row.and_then(|row| self.bits.get(row + which / 64)).is_some_and(|bits| bits >> (which % 64) & 1 != 0)
    }

    pub fn add(&mut self, place: usize, number: usize, which: usize) -> Result<()> {
        let words = number.div_ceil(64);
        let Some(row) = place.checked_sub(self.first).map(|row| row * words) else { return Ok(()) };
        if row >= self.bits.len() {
            let more = row + words - self.bits.len();
            memory::reserve(&mut self.bits, more)?;
            self.bits.resize(row + words, 0);
        }
        self.bits[row + which / 64] |= 1 << (which % 64);
        Ok(())
    }

    /// Forget the places before this one, if that makes much room.
    #[inline]
    pub fn forget_before(&mut self, place: usize, number: usize) {
        let past = place.saturating_sub(self.first).saturating_mul(number.div_ceil(64));
        if 2 * past >= self.bits.len() {
            self.bits.drain(..past.min(self.bits.len()));
            self.first = place;
        }
    }
}

/// What is known about one text: the states from which an automaton comes to no match.
#[derive(Default)]
pub struct Failures {
    states: Marks,
    /// The checkpoint from which on the current attempt has found no match, and its state there and at each later one.
    since: usize,
    passed: Vec<u16>,
}

impl Failures {
    /// Forget everything: another text follows.
    pub fn clear(&mut self) {
        self.states = Marks::default();
    }

    /// Note that an attempt whose last match ended at `end` comes to a checkpoint in a state, one of `states`; returns false
    /// if it is known to fail from there.
    fn pass(&mut self, checkpoint: usize, state: u16, states: usize, end: Option<usize>) -> Result<bool> {
        if self.states.has(checkpoint, states, state.into()) {
            return Ok(false);
        }
        if self.passed.is_empty() || end.is_some_and(|end| end >= (checkpoint - 1) * STRIDE) {
            self.passed.clear();
            self.since = checkpoint;
        }
        memory::push(&mut self.passed, state)?;
        Ok(true)
    }

    /// The attempt has ended: from the checkpoints after its last match on, it has failed.
    fn add(&mut self, start: usize, states: usize, end: Option<usize>) -> Result<()> {
        self.states.forget_before(start / STRIDE, states);
        let matched = end.map_or(0, |end| (end / STRIDE + 1).saturating_sub(self.since));
        for (checkpoint, &state) in (self.since..).zip(&self.passed).skip(matched) {
            self.states.add(checkpoint, states, state.into())?;
        }
        self.passed.clear();
        Ok(())
    }
}

/// An automaton's search in one text: what it remembers, and how it is interrupted.
pub struct Search<'s, 'p> {
    failures: &'s mut Failures,
    pulse: &'s mut Pulse<'p>,
    /// The number of steps since the last look at the clock.
    steps: usize,
    /// The error that ends the search. What is found afterwards is arbitrary.
    stopped: Result<()>,
}

impl<'s, 'p> Search<'s, 'p> {
    pub fn new(failures: &'s mut Failures, pulse: &'s mut Pulse<'p>) -> Self {
        Self { failures, pulse, steps: 0, stopped: Ok(()) }
    }

    /// Fail if the search was stopped.
    pub fn finish(self) -> Result<()> {
        self.stopped.and_then(|()| self.pulse.beat(self.steps))
    }

    /// Record steps; returns false if the search must end.
    #[inline(always)]
    pub fn work(&mut self, steps: usize) -> bool {
        self.steps += steps;
        self.steps < STEPS_PER_BEAT || self.beat()
    }

    #[cold]
    #[inline(never)]
    fn beat(&mut self) -> bool {
        let beat = self.pulse.beat(std::mem::take(&mut self.steps));
        self.check(beat)
    }

    /// Search in another way.
    pub fn by<T>(&mut self, search: impl FnOnce(&mut Pulse) -> Result<T>) -> Option<T> {
        let found = search(self.pulse);
        found.map_err(|error| self.check(Err(error))).ok()
    }

    fn check(&mut self, result: Result<()>) -> bool {
        if self.stopped.is_ok() {
            self.stopped = result;
        }
        self.stopped.is_ok()
    }

    /// Whether an attempt goes on at a checkpoint: its state there, one of `states`, is not known to fail.
    #[inline(never)]
    pub fn goes_on(&mut self, checkpoint: usize, state: u16, states: usize, end: Option<usize>) -> bool {
        match self.failures.pass(checkpoint, state, states, end) {
            Ok(goes_on) => self.work(STRIDE) && goes_on,
            Err(error) => self.check(Err(error)),
        }
    }

    /// An attempt that began at `start` and came to a checkpoint has ended, and its last match at `end`.
    #[inline(never)]
    pub fn ended(&mut self, start: usize, states: usize, end: Option<usize>) {
        let added = self.failures.add(start, states, end);
        self.check(added);
    }
}
