//! Cuts text into pieces by a pattern: the first step of counting and encoding.
//!
//! A piece is a match of the pattern, or a gap: the text between two matches. Joined in order,
//! pieces are the text.
//!
//! A pattern is [parsed](syntax) to an [expression], which becomes a [graph]. The [backtracking
//! machine](machine) can run every graph. Most patterns have a faster way, too, and the fastest is
//! taken:
//!
//! 1. [Masks](masks) find the starts of pieces for hundreds of bytes at a time, by rules about
//!    three neighbouring characters. These [local] rules are derived from the automaton, which
//!    decides wherever they are unsure. Look-ahead of any length becomes [a property of
//!    characters](ahead) first.
//! 2. The [automaton] takes one step per character. It runs patterns that need no more than one
//!    character of look-ahead.
//!
//! The choice depends on the structure of a pattern, never on its spelling. In a [sequence] of
//! patterns, each one cuts the pieces of the one before; masks cut by several at once, with [views]
//! where a match may fail.

use std::panic::resume_unwind;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::error::{Error, Result};
use crate::memory;
use crate::watch::{Pulse, Unwatched};

mod ahead;
mod alphabet;
mod automaton;
mod compiled;
mod expression;
mod graph;
mod local;
mod machine;
mod masks;
mod net;
mod open;
mod sequence;
mod set;
mod syntax;
#[cfg(test)]
mod tests;
mod views;

pub use compiled::{Compiled, Cursor, Way};
use masks::Windows;
pub use open::OpenPiece;
use sequence::Sequence;
pub use sequence::{MatchTest, Prepared, Scanner};
pub use set::CharSet;
pub use syntax::{Dialect, alike, avoids, read, set_of};

/// The number of pieces that a [`Batch`] holds.
pub const BATCH: usize = 512;

/// The number of compiled patterns that are cached.
const MAX_CACHED: usize = 8;

/// A stack size that is enough for the compilers of regular expressions.
const LARGE_STACK: usize = 8 << 20;

/// A pattern, ready to cut text.
pub struct Pattern {
    sources: Vec<String>,
    sequence: Sequence,
    can_cut: bool,
}

impl Pattern {
    /// Compiles a regular expression, or the steps of a sequence. The error says why a pattern
    /// cannot be run.
    ///
    /// The last patterns are cached, so that repeated use of a pattern costs its compilation (a
    /// millisecond) only once.
    pub fn new(sources: &[String]) -> Result<Arc<Self>> {
        Self::watched(sources, &mut Pulse::of(&mut Unwatched))
    }

    /// The same with a pulse: a step takes up to 0.2 seconds to compile, and many steps so many
    /// times as long.
    pub fn watched(sources: &[String], pulse: &mut Pulse) -> Result<Arc<Self>> {
        static LAST: Mutex<Vec<Arc<Pattern>>> = Mutex::new(Vec::new());
        // If another thread holds the lock (perhaps since a fork), the pattern is compiled again.
        if let Ok(mut last) = LAST.try_lock()
            && let Some(place) = last.iter().position(|pattern| pattern.sources == sources)
        {
            last[..=place].rotate_right(1);
            return Ok(Arc::clone(&last[0]));
        }
        let pattern = Arc::new(Self::compile(sources, pulse)?);
        if let Ok(mut last) = LAST.try_lock() {
            last.truncate(MAX_CACHED - 1);
            last.insert(0, Arc::clone(&pattern));
        }
        Ok(pattern)
    }

    fn compile(sources: &[String], pulse: &mut Pulse) -> Result<Self> {
        let sequence = Sequence::new(sources, pulse)?;
        let is_safe = |before, behind| sequence.keeps_pieces(&[before, behind], 1);
        let can_cut = (0..128).any(|before| (0..128).any(|behind| is_safe(before, behind)));
        Ok(Self { sources: sources.to_vec(), sequence, can_cut })
    }

    /// Whether it certainly matches all of every text.
    pub fn covers_all_text(&self) -> bool {
        self.sequence.only().is_some_and(Compiled::covers_all_text)
    }

    /// The way text is cut; for a sequence, that of its slowest pattern.
    pub fn way(&self) -> Way {
        self.sequence.way()
    }

    /// Prepares a text for cutting: some patterns insert spaces.
    #[inline(always)]
    pub fn prepare<'t>(&self, text: &'t str, pulse: &mut Pulse) -> Result<Prepared<'t>> {
        self.sequence.prepare(text, pulse)
    }

    /// Whether spaces are put into a text.
    pub fn puts_spaces(&self) -> bool {
        self.sequence.puts_spaces()
    }

    /// Begins to cut a text.
    #[inline]
    pub fn scan<'a>(&'a self, text: &'a Prepared<'_>) -> Scanner<'a> {
        self.sequence.scan(text)
    }

    /// Begins to ask which pieces of a text are matches.
    pub fn match_test<'a>(&'a self, text: &'a Prepared<'_>) -> MatchTest<'a> {
        self.sequence.match_test(text)
    }

    /// The first position at or after `from` where a cut provably changes no piece, or `None`
    /// without such a proof. The proof depends only on the characters on both sides of the cut, and
    /// holds for every text in which they are adjacent.
    pub fn safe_cut(&self, text: &str, from: usize) -> Option<usize> {
        self.safe_cut_of_bytes(text.as_bytes(), from)
    }

    /// The same for a part of a text, whose first and last character may be incomplete.
    pub fn safe_cut_of_bytes(&self, text: &[u8], from: usize) -> Option<usize> {
        if self.can_cut { self.sequence.safe_cut(text, from) } else { None }
    }

    /// Whether a text can be cut anywhere.
    pub fn can_cut(&self) -> bool {
        self.can_cut
    }
}

/// Calls on a large stack: that of a thread created by Python may be too small for compilers of
/// deep patterns.
fn on_large_stack<T: Send>(call: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let spawned = thread::Builder::new().stack_size(LARGE_STACK).spawn_scoped(scope, call);
        let thread = spawned
            .map_err(|reason| Error::Memory(format!("no thread for the pattern: {reason}")))?;
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// The ends of successive pieces.
pub struct Batch {
    ends: [usize; BATCH],
    len: usize,
    windows: Windows,
}

impl Default for Batch {
    fn default() -> Self {
        Self { ends: [0; BATCH], len: 0, windows: Windows::default() }
    }
}

impl Batch {
    /// The end of each piece, in order; a piece begins where the one before it ends.
    pub fn ends(&self) -> &[usize] {
        &self.ends[..self.len]
    }

    fn clear(&mut self) {
        self.len = 0;
    }

    /// Keeps only the first pieces.
    fn shorten(&mut self, len: usize) {
        self.len = len;
    }

    fn push(&mut self, end: usize) {
        self.ends[self.len] = end;
        self.len += 1;
    }

    /// Adds as many ends as there is room for; returns their number.
    fn push_all(&mut self, ends: &[usize]) -> usize {
        let count = ends.len().min(self.room());
        self.ends[self.len..][..count].copy_from_slice(&ends[..count]);
        self.len += count;
        count
    }

    /// Adds an end, and returns it.
    fn push_to(&mut self, end: usize) -> usize {
        self.push(end);
        end
    }

    /// The number of pieces that still fit.
    fn room(&self) -> usize {
        BATCH - self.len
    }

    /// Room for 64 ends, if there is as much; those that are written are then [`added`](Self::add).
    #[inline(always)]
    fn spare(&mut self) -> Option<&mut [usize; 64]> {
        self.ends[self.len..].first_chunk_mut()
    }

    #[inline(always)]
    fn add(&mut self, count: usize) {
        self.len += count;
    }
}

/// A text and its pieces.
pub struct Pieces<'t> {
    text: Prepared<'t>,
    ends: Vec<usize>,
}

impl Pieces<'_> {
    /// Every piece, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut start = 0;
        self.ends
            .iter()
            .map(move |&end| &self.text.text().as_bytes()[std::mem::replace(&mut start, end)..end])
    }
}

/// Cuts a text.
pub fn pretokenize<'t>(text: &'t str, pattern: &Pattern, pulse: &mut Pulse) -> Result<Pieces<'t>> {
    let text = pattern.prepare(text, pulse)?;
    let mut ends = Vec::new();
    let mut batch = Batch::default();
    let mut scanner = pattern.scan(&text);
    while scanner.fill(&mut batch, pulse)? > 0 {
        pulse.beat(BATCH)?;
        memory::extend(&mut ends, batch.ends())?;
    }
    drop(scanner);
    Ok(Pieces { text, ends })
}
