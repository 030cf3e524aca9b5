//! The patterns that are scanned by hand: a pattern and a text in, batches of the ends of its pieces out.

use super::ends::{Cl100k, Text};
use super::{Batch, gpt2_blocks};
use crate::unicode::{ClassTable, LETTER, LOWER, NUMBER, SPACE, UPPER, class_table};

/// The patterns that are scanned by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// GPT-2's.
    Gpt2,
    /// cl100k's and its relatives'.
    Cl100k(Cl100k),
    /// o200k's.
    O200k,
    /// Runs of white space, and what is between them.
    Whitespace,
    /// The whole text.
    Whole,
}

/// Every source that is scanned by hand: the named patterns, and other spellings that cut all text alike.
const SOURCES: [(&str, Named); 10] = [
    (r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", Named::Gpt2),
    (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", Named::Gpt2),
    (r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s", Named::Gpt2),
    (
        concat!(
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+",
            r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
        ),
        Named::Cl100k(Cl100k { digits: 3, whole_ending: true }),
    ),
    (
        concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*",
            r"|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
        Named::Cl100k(Cl100k { digits: 3, whole_ending: false }),
    ),
    (
        concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*",
            r"|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
        Named::Cl100k(Cl100k { digits: 1, whole_ending: false }),
    ),
    (
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
        Named::O200k,
    ),
    (r"\S+|\s+", Named::Whitespace),
    (r"\s+|\S+", Named::Whitespace),
    (r"(?s:.+)", Named::Whole),
];

impl Named {
    /// The scanner of a regular expression, where there is one.
    pub fn from_source(source: &str) -> Option<Self> {
        SOURCES.iter().find(|(known, _)| *known == source).map(|(_, named)| *named)
    }

    /// Add pieces to the batch until it is full or the text ends.
    pub fn fill(self, text: &str, mut position: usize, classes: &ClassTable, batch: &mut Batch) {
        let text = Text { bytes: text.as_bytes(), classes };
        if self == Self::Gpt2 {
            return gpt2_blocks::fill(&text, position, batch);
        }
        while position < text.bytes.len() && !batch.is_full() {
            position = match self {
                Self::Gpt2 => text.gpt2_end(position),
                Self::Cl100k(variant) => text.cl100k_end(position, variant),
                Self::O200k => text.o200k_end(position),
                Self::Whitespace => text.whitespace_end(position),
                Self::Whole => text.bytes.len(),
            };
            batch.push(position);
        }
    }

    /// See [`super::Pattern::safe_cut`].
    ///
    /// None of the patterns looks back, so the text behind a cut is scanned the same if some match ended at the
    /// cut; and the text before it is, if the last match before the cut neither took nor looked at what follows.
    /// A run of letters ends where no letter follows, whatever matched it, and nothing looks past its end but
    /// the contractions and marks that o200k may add; digits likewise.
    pub fn safe_cut(self, text: &[u8], from: usize) -> Option<usize> {
        let text = Text { bytes: text, classes: class_table() };
        let mut position = from;
        while position > 0 && position < text.bytes.len() && text.bytes[position] & 0xC0 == 0x80 {
            position += 1;
        }
        let mut before = text.class_before(position);
        while position < text.bytes.len() {
            let (class, next) = text.at(position);
            if before != 0 && self.always_cuts(before, class, text.bytes[position]) {
                return Some(position);
            }
            (before, position) = (class, next);
        }
        None
    }

    /// Whether a piece surely ends between two characters of these classes; `byte` is the second one's first.
    fn always_cuts(self, before: u8, class: u8, byte: u8) -> bool {
        match self {
            Self::Gpt2 | Self::Cl100k(_) => before & (LETTER | NUMBER) & !class != 0,
            Self::O200k if before & LETTER != 0 => class & (LETTER | UPPER | LOWER) == 0 && byte != b'\'',
            Self::O200k => before & NUMBER & !class != 0,
            Self::Whitespace => (before ^ class) & SPACE != 0,
            Self::Whole => false,
        }
    }
}
