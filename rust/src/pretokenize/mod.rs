//! Text in, the ends of its pieces out: the first step of counting and of encoding.
//!
//! A piece is what the pattern matches, or a gap: the text between two matches. Pieces tile the text in order.
//! The named patterns are scanned by hand and leave no gaps; any other is run by a regex machine.

use crate::error::Result;
use crate::memory;
use crate::unicode::class_table;

mod classify;
mod custom;
mod ends;
#[allow(dead_code, reason = "the parser that makes it comes next")]
mod expression;
mod gpt2_blocks;
mod named;
#[allow(dead_code, reason = "expressions are made of it")]
mod set;

use custom::{Custom, Gaps};
use named::Named;

/// How many pieces a [`Batch`] holds.
pub const BATCH: usize = 512;

/// A pattern, ready to cut text.
pub struct Pattern {
    source: String,
    kind: Kind,
}

enum Kind {
    Named(Named),
    Custom(Custom),
}

impl Pattern {
    /// Understand a regular expression. One that cannot be run is an error that says why.
    pub fn new(source: &str) -> Result<Self> {
        let kind = match Named::from_source(source) {
            Some(named) => Kind::Named(named),
            None => Kind::Custom(Custom::new(source)?),
        };
        Ok(Self { source: source.to_owned(), kind })
    }

    /// The regular expression.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether no text can lie between two matches.
    pub fn matches_all_text(&self) -> bool {
        matches!(self.kind, Kind::Named(_))
    }

    /// Begin to cut a text.
    pub fn scan<'a>(&'a self, text: &'a str) -> Scanner<'a> {
        let state = match &self.kind {
            Kind::Named(named) => State::Named(*named),
            Kind::Custom(custom) => State::Custom(custom.gaps(text)),
        };
        Scanner { text, position: 0, state }
    }

    /// The first position at or after `from` where cutting the text in two provably changes no piece, or `None`
    /// where there is no proof. The proof needs only the characters on both sides of the cut: it holds for
    /// every text in which they stand side by side.
    pub fn safe_cut(&self, text: &str, from: usize) -> Option<usize> {
        self.safe_cut_of_bytes(text.as_bytes(), from)
    }

    /// The same for a part of a text, of which the first and the last character need not be whole.
    pub fn safe_cut_of_bytes(&self, text: &[u8], from: usize) -> Option<usize> {
        match &self.kind {
            Kind::Named(named) => named.safe_cut(text, from),
            Kind::Custom(_) => None,
        }
    }

    /// Whether there is any proof that a text may be cut.
    pub fn can_cut(&self) -> bool {
        matches!(self.kind, Kind::Named(named) if named != Named::Whole)
    }
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

    /// How many more pieces fit.
    fn room(&self) -> usize {
        BATCH - self.len
    }

    /// Add an end at `base + i` for every bit `i` that is set; there must be room for 64.
    #[inline(always)]
    fn push_bits(&mut self, base: usize, mut bits: u64) {
        let count = bits.count_ones() as usize;
        let Some(room) = self.ends[self.len..].first_chunk_mut::<64>() else { return };
        // Eight at a time without asking whether so many are left: what is written too much is overwritten.
        let mut written = 0;
        while written < count {
            for end in &mut room[written..][..8] {
                *end = base + bits.trailing_zeros() as usize;
                bits &= bits.wrapping_sub(1);
            }
            written += 8;
        }
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
    Named(Named),
    Custom(Gaps<'a>),
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
            State::Named(named) => named.fill(self.text, self.position, class_table(), batch),
            State::Custom(gaps) => gaps.fill(self.text, self.position, batch)?,
        }
        if let Some(&end) = batch.ends().last() {
            self.position = end;
        }
        Ok(batch.len)
    }
}

/// Every piece of a text, in order.
pub fn pretokenize<'t>(text: &'t str, pattern: &Pattern) -> Result<Vec<&'t str>> {
    let mut pieces = Vec::new();
    let mut batch = Batch::default();
    let mut scanner = pattern.scan(text);
    let mut start = 0;
    while scanner.fill(&mut batch)? > 0 {
        for &end in batch.ends() {
            memory::push(&mut pieces, &text[start..end])?;
            start = end;
        }
    }
    Ok(pieces)
}
