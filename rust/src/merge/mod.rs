//! The second stage of training: learns merges from words and their counts.
//!
//! The result is the same as if all pairs were counted afresh before every merge: the pair with the
//! highest count wins, a total order breaks ties, and one pass from left to right replaces the pair
//! in every word. An example with the words `abab` (count 5) and `cab` (count 2):
//!
//! ```text
//! position  0   1    2    3    4    5   6    7    8    9
//! slots     |   a    b    a    b    |   c    a    b    |   | is BOUNDARY; equal counts are grouped
//! pairs     (a,b) count 12, at 1 3 7;  (b,a) 5, at 2;  (c,a) 2, at 6
//! merge     (a,b), the most frequent, into ab, whose code is written to its first and last slot
//! slots     |   ab   ab   ab   ab   |   c    ab   ab   |
//! neighbours  left of it: ab 5 times, c twice; right of it: a 5 times (of the next ab)
//! pairs     (b,a) falls by 5, (c,a) by 2;  new: (ab,ab) 5, at 1;  (c,ab) 2, at 6
//! merge     (ab,ab) into abab; a HOLE marks where its right half began; no other is read
//! slots     |   abab ab   HOLE abab |   c    ab   ab   |   and so on until there are enough
//! ```
//!
//! Five ideas make this fast:
//!
//! - All words are stored in one flat array of slots ([`slots`]). A merge finds both neighbours and
//!   writes its result within one or two cache lines. Words of equal count form a group, and a
//!   position leads to its group's count.
//! - Only pairs whose count reaches a *threshold* are followed ([`pairs`]): they have an exact
//!   count, a list of positions ([`lists`]) and an entry in the queue ([`queue`], ordered by count
//!   and then by the rule for ties). All other pairs are rarer. When the best followed pair falls
//!   below the threshold, all pairs are counted again with a lower one ([`recount`]). A new pair
//!   appears with all its occurrences at once, so it can be decided immediately whether it is
//!   followed.
//! - A merge first sums its changes per neighbouring token ([`replacing`]). Each neighbouring pair
//!   is then looked up once, not once per occurrence ([`trainer`] updates the counts).
//! - Long words of known tokens are first cut where no merge will join ([`seams`]).
//! - Several threads read words, count pairs and list positions. One thread makes the merges.
//!
//! With shared tokens, a merge may result in a token that already exists, and the count of an
//! unfollowed pair may rise. The pair then enters the queue with an upper bound of its count. If it
//! becomes the best, a recount decides.

mod conditions;
mod lists;
mod pairs;
mod queue;
mod recount;
mod replacing;
mod seams;
mod slots;
mod tokens;
mod trainer;
mod tuning;

#[cfg(test)]
mod tests;

use crate::error::Result;
use crate::memory;
use crate::watch::Pulse;
use tokens::{Code, Tokens};

pub use conditions::{Conditions, Texts};
pub use queue::TieBreak;
pub use seams::learn_from_long_words;
pub use trainer::Training;
pub use tuning::Tuning;

/// One merge: left symbol, right symbol, result symbol.
pub type MergeRow = [u32; 3];

/// The rules that decide which merges are made, and how many.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The pair that is merged when several have the highest count.
    pub tie_break: TieBreak,
    /// A merge that spells an existing token results in that token and adds none.
    pub shared_tokens: bool,
    /// Maximum number of new tokens.
    pub max_tokens: Option<u64>,
    /// Maximum number of merges.
    pub max_merges: Option<u64>,
    /// Maximum length of a token in bytes.
    pub max_token_length: Option<u64>,
    /// Rarer pairs are not merged.
    pub least: u64,
    /// What the bytes of a token must fulfil.
    pub conditions: Conditions,
}

impl Rules {
    /// Returns the number of merges still to make after `merges` merges that added `tokens` tokens;
    /// `None` without a limit.
    fn remaining(&self, merges: usize, tokens: usize) -> Option<u64> {
        let merges = self.max_merges.map(|most| most.saturating_sub(merges as u64));
        let tokens = self.max_tokens.map(|most| most.saturating_sub(tokens as u64));
        match (merges, tokens) {
            (Some(merges), Some(tokens)) => Some(merges.min(tokens)),
            _ => merges.or(tokens),
        }
    }

    /// Whether the token of a pair is within the maximum length.
    fn allow(&self, tokens: &Tokens, left: Code, right: Code) -> bool {
        let Some(longest) = self.max_token_length else { return true };
        tokens.length(left).saturating_add(tokens.length(right)) <= longest
    }
}

/// A callback for each word and its count; an error ends the visit.
pub type Visit<'a, Unit> = dyn FnMut(&[Unit], u64) -> Result<()> + 'a;

/// A part of the words (pretokens), with their counts. Several parts may hold equal words.
pub trait Words: Send + Sync {
    /// The elements of a word: bytes or symbol numbers.
    type Unit: Copy;
    /// Returns the symbol of a unit.
    fn symbol(&self, unit: Self::Unit) -> u32;
    /// Calls `each` with every word and its count, and returns its first error. The order is the
    /// same in every visit. Words are visited twice: once to measure them, and once to copy them,
    /// after which they are dropped. The pulse beats for every unit.
    fn visit(&self, pulse: &mut Pulse<'_>, each: &mut Visit<'_, Self::Unit>) -> Result<()>;
}

/// Words made of symbol numbers.
#[derive(Debug, Default)]
pub struct SymbolWords {
    symbols: Vec<u32>,
    lengths: Vec<u32>,
    counts: Vec<u64>,
}

impl SymbolWords {
    /// Adds a word.
    pub fn add(&mut self, word: &[u32], count: u64) -> Result<()> {
        let start = self.symbols.len();
        memory::extend(&mut self.symbols, word)?;
        self.end_word(start, count)?;
        Ok(())
    }

    /// Adds a symbol to the word that is not ended yet.
    pub fn push(&mut self, symbol: u32) -> Result<()> {
        memory::push(&mut self.symbols, symbol)
    }

    /// Ends the word that began behind the first `start` symbols, and returns where the next one
    /// begins. A single symbol has no pair, and is left out.
    pub fn end_word(&mut self, start: usize, count: u64) -> Result<usize> {
        let length = self.symbols.len() - start;
        if length < 2 {
            self.symbols.truncate(start);
            return Ok(start);
        }
        memory::push(&mut self.lengths, length as u32)?;
        memory::push(&mut self.counts, count)?;
        Ok(self.symbols.len())
    }

    /// The number of symbols.
    pub fn size(&self) -> usize {
        self.symbols.len()
    }

    fn iter(&self) -> impl Iterator<Item = (&[u32], u64)> {
        let mut rest = &self.symbols[..];
        self.lengths.iter().zip(&self.counts).map(move |(&length, &count)| {
            let (word, others) = rest.split_at(length as usize);
            rest = others;
            (word, count)
        })
    }
}

impl Words for SymbolWords {
    type Unit = u32;

    fn symbol(&self, unit: u32) -> u32 {
        unit
    }

    fn visit(&self, pulse: &mut Pulse<'_>, each: &mut Visit<'_, u32>) -> Result<()> {
        for (word, count) in self.iter() {
            pulse.beat(word.len())?;
            each(word, count)?;
        }
        Ok(())
    }
}
