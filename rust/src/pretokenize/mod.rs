//! Text in, the ends of its pieces out: the first step of counting and of encoding.
//!
//! A piece is what the pattern matches, or a gap: the text between two matches. Pieces tile the text in order.
//!
//! A pattern is [parsed](syntax) to an [expression], and compiled to the fastest of three ways that can run it:
//!
//! 1. [Masks](masks): what three neighbouring characters tell of where pieces begin, for hundreds of bytes at a time.
//!    The [local] rules for that are derived from the automaton, which is asked wherever they are unsure.
//! 2. The [automaton]: one step for each character, for patterns whose matches show by reading on, one character ahead.
//! 3. A [regex machine](machine) that tries one way after the other, for back-references and the like.
//!
//! No spelling is known to any of them. A [sequence] of patterns cuts what the one before left.

use std::panic::resume_unwind;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::error::{Error, Result};
use crate::memory;

mod alphabet;
mod automaton;
mod compiled;
mod expression;
mod local;
mod machine;
mod masks;
mod reader;
mod sequence;
mod set;
mod syntax;
#[cfg(test)]
mod tests;
mod vectors;

pub use compiled::Way;
use compiled::{Compiled, Scan};
pub use reader::{Syntax, alike, read};
pub use sequence::Prepared;
use sequence::{Sequence, Steps};

/// How many pieces a [`Batch`] holds.
pub const BATCH: usize = 512;

/// How many patterns are kept for their next use.
const MOST_KEPT: usize = 8;

/// Enough for the compilers of regular expressions.
const LARGE_STACK: usize = 8 << 20;

/// A pattern, ready to cut text.
pub struct Pattern {
    source: String,
    cut: Cut,
}

enum Cut {
    Once(Compiled),
    InSteps(Sequence),
}

impl Pattern {
    /// Understand a regular expression, or several in a sequence. One that cannot be run is an error that says why.
    ///
    /// The patterns used last are kept: whoever counts, trains and encodes by one pattern, or cuts many short texts,
    /// waits a millisecond once.
    pub fn new(source: &str) -> Result<Arc<Self>> {
        static LAST: Mutex<Vec<Arc<Pattern>>> = Mutex::new(Vec::new());
        // Where another thread is at it (or was when this process was forked), the pattern is compiled anew.
        if let Ok(mut last) = LAST.try_lock()
            && let Some(place) = last.iter().position(|pattern| pattern.source == source)
        {
            last[..=place].rotate_right(1);
            return Ok(Arc::clone(&last[0]));
        }
        let pattern = Arc::new(Self::compile(source)?);
        if let Ok(mut last) = LAST.try_lock() {
            last.truncate(MOST_KEPT - 1);
            last.insert(0, Arc::clone(&pattern));
        }
        Ok(pattern)
    }

    fn compile(source: &str) -> Result<Self> {
        let cut = match Sequence::new(source)? {
            Some(sequence) => Cut::InSteps(sequence),
            None => Cut::Once(Compiled::new(source)?),
        };
        Ok(Self { source: source.to_owned(), cut })
    }

    /// The pattern as it was given.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether no text can lie between two matches.
    pub fn matches_all_text(&self) -> bool {
        matches!(&self.cut, Cut::Once(compiled) if compiled.matches_all_text())
    }

    /// How text is cut: of a sequence, how its slowest pattern cuts.
    pub fn way(&self) -> Way {
        match &self.cut {
            Cut::Once(compiled) => compiled.way(),
            Cut::InSteps(sequence) => sequence.way(),
        }
    }

    /// Make a text ready to be cut: some patterns put spaces into it.
    pub fn prepare<'t>(&self, text: &'t str) -> Result<Prepared<'t>> {
        match &self.cut {
            Cut::Once(_) => Ok(Prepared::plain(text)),
            Cut::InSteps(sequence) => sequence.prepare(text),
        }
    }

    /// How many bytes there are at most once a text of so many is prepared.
    pub fn most_bytes(&self, bytes: usize) -> usize {
        match &self.cut {
            Cut::InSteps(sequence) if sequence.puts_spaces() => 2 * bytes,
            Cut::Once(_) | Cut::InSteps(_) => bytes,
        }
    }

    /// Begin to cut a text.
    pub fn scan<'a>(&'a self, text: &'a Prepared<'_>) -> Scanner<'a> {
        match &self.cut {
            Cut::Once(compiled) => compiled.scan(text.text()),
            Cut::InSteps(sequence) => {
                let state = State::Steps(Box::new(sequence.scan(text)));
                Scanner { text: text.text(), position: 0, state }
            }
        }
    }

    /// The first position at or after `from` where cutting the text in two provably changes no piece, or `None`
    /// where there is no proof. The proof needs only the characters on both sides of the cut: it holds for
    /// every text in which they stand side by side.
    pub fn safe_cut(&self, text: &str, from: usize) -> Option<usize> {
        self.safe_cut_of_bytes(text.as_bytes(), from)
    }

    /// The same for a part of a text, of which the first and the last character need not be whole.
    pub fn safe_cut_of_bytes(&self, text: &[u8], from: usize) -> Option<usize> {
        match &self.cut {
            Cut::Once(compiled) => compiled.safe_cut(text, from),
            Cut::InSteps(_) => None,
        }
    }

    /// Whether there is any proof that a text may be cut.
    pub fn can_cut(&self) -> bool {
        matches!(&self.cut, Cut::Once(compiled) if compiled.can_cut())
    }
}

/// Call on a stack of the usual size: that of a thread made by Python may be too small for the regex compilers.
fn on_large_stack<T: Send>(call: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let spawned = thread::Builder::new().stack_size(LARGE_STACK).spawn_scoped(scope, call);
        let thread =
            spawned.map_err(|reason| Error::Memory(format!("no thread for the pattern: {reason}")))?;
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// The ends of successive pieces.
pub struct Batch {
    ends: [usize; BATCH],
    len: usize,
    gaps: [u64; BATCH / 64],
}

impl Default for Batch {
    fn default() -> Self {
        Self { ends: [0; BATCH], len: 0, gaps: [0; BATCH / 64] }
    }
}

impl Batch {
    /// The end of each piece, in order; a piece begins where the one before it ends.
    pub fn ends(&self) -> &[usize] {
        &self.ends[..self.len]
    }

    /// Whether the piece lies between two matches.
    pub fn is_gap(&self, piece: usize) -> bool {
        self.gaps[piece / 64] >> (piece % 64) & 1 != 0
    }

    fn clear(&mut self) {
        self.len = 0;
        self.gaps = [0; BATCH / 64];
    }

    fn is_full(&self) -> bool {
        self.len == BATCH
    }

    fn push(&mut self, end: usize) {
        self.ends[self.len] = end;
        self.len += 1;
    }

    /// Add an end, and return it.
    fn push_to(&mut self, end: usize) -> usize {
        self.push(end);
        end
    }

    /// How many more pieces fit.
    fn room(&self) -> usize {
        BATCH - self.len
    }

    /// Add ends, which `write` writes to the beginning of what it is given; there must be room for 64.
    #[inline(always)]
    fn push_many(&mut self, count: usize, write: impl FnOnce(&mut [usize; 64])) {
        let Some(room) = self.ends[self.len..].first_chunk_mut() else { return };
        write(room);
        self.len += count;
    }

    fn push_gap(&mut self, end: usize) {
        self.gaps[self.len / 64] |= 1 << (self.len % 64);
        self.push(end);
    }
}

/// Cuts one text, a batch at a time.
pub struct Scanner<'a> {
    text: &'a str,
    position: usize,
    state: State<'a>,
}

enum State<'a> {
    Once(Scan<'a>),
    Steps(Box<Steps<'a>>),
}

impl Scanner<'_> {
    /// Where the next piece begins.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Replace the batch by the next pieces and return how many they are: none only at the end of the text.
    pub fn fill(&mut self, batch: &mut Batch) -> Result<usize> {
        batch.clear();
        match &mut self.state {
            State::Once(scan) => scan.fill(self.text, self.position, batch)?,
            State::Steps(steps) => steps.fill(batch)?,
        }
        if let Some(&end) = batch.ends().last() {
            self.position = end;
        }
        Ok(batch.len)
    }
}

/// A text that was cut.
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

/// Cut a text.
pub fn pretokenize<'t>(text: &'t str, pattern: &Pattern) -> Result<Pieces<'t>> {
    let text = pattern.prepare(text)?;
    let mut ends = Vec::new();
    let mut batch = Batch::default();
    let mut scanner = pattern.scan(&text);
    while scanner.fill(&mut batch)? > 0 {
        memory::extend(&mut ends, batch.ends())?;
    }
    drop(scanner);
    Ok(Pieces { text, ends })
}
