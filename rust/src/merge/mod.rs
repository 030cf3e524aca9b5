//! Words with counts in, merges out: the second stage of training.
//!
//! The answer is that of a fresh recount after every merge: the pair with the highest count wins, ties go by a total
//! order, and the pair is replaced in one pass from left to right through every word. An example, with the words
//! `abab` (counted 5 times) and `cab` (twice):
//!
//! ```text
//! position  0   1    2    3    4    5   6    7    8    9
//! slots     |   a    b    a    b    |   c    a    b    |     | is BOUNDARY; words of equal count lie together
//! pairs     (a,b) 12 times, at 1 3 7;  (b,a) 5, at 2;  (c,a) 2, at 6
//! merge     (a,b), the most frequent, into ab, whose code stands on the first and the last of its slots
//! slots     |   ab   ab   ab   ab   |   c    ab   ab   |
//! beside    before it stood ab 5 times and c twice, behind it a 5 times (of the next ab, which was not merged then)
//! pairs     (b,a) falls by 5, (c,a) by 2;  new are (ab,ab) 5, at 1;  (c,ab) 2, at 6
//! merge     (ab,ab) into abab; where its right half began stands a HOLE, and what is between is not looked at
//! slots     |   abab ab   HOLE abab |   c    ab   ab   |     and so on until there are enough tokens
//! ```
//!
//! Getting there fast rests on four ideas:
//!
//! - All words lie in one flat array of slots ([`slots`]), so that a merge finds both neighbours, and writes its
//!   result, within one or two cache lines. A word's count is looked up by position and stored once for each group.
//! - Only pairs whose count has reached a *threshold* are followed ([`pairs`]): they have an exact count, a list of
//!   positions ([`positions`]) and a place in the queue ([`queue`]). All others are known to be rarer. When the best
//!   followed pair falls below the threshold, the words are counted once more with a lower one ([`recount`]). A new pair
//!   is born with all its occurrences, so it is known at once whether it must be followed.
//! - A merge sums its changes for each neighbour first ([`neighbours`]); each neighbouring pair is then looked up once,
//!   not once for each occurrence ([`word_store`] replaces, [`trainer`] brings counts up to date).
//! - Several threads read words, count pairs and list positions; one makes the merges, which are too small to share.
//!
//! With shared tokens a merge may spell a token that exists, and the count of an unfollowed pair may rise. It
//! then enters the queue with an upper bound, and a recount decides if the bound ever comes out on top.

mod code_array;
mod neighbours;
mod pairs;
mod positions;
mod prior;
mod queue;
mod recount;
mod slots;
mod tokens;
mod trainer;
mod tuning;
mod word_store;

#[cfg(test)]
mod tests;

use crate::error::Result;
use tokens::{Code, Tokens};

pub use queue::TieBreak;
pub use trainer::train;

/// One merge: left symbol, right symbol, result symbol.
pub type MergeRow = [u32; 3];

/// What decides which merges are made, and how many.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Which of the pairs with the highest count is merged.
    pub tie_break: TieBreak,
    /// Merges that spell an existing token result in it, and add none.
    pub shared_tokens: bool,
    /// At most so many new tokens.
    pub max_tokens: Option<u64>,
    /// At most so many merges.
    pub max_merges: Option<u64>,
    /// No token grows beyond so many bytes.
    pub max_token_length: Option<u64>,
}

impl Rules {
    /// How many merges are left to make once `merges` were made and `tokens` added; `None` without a bound.
    fn remaining(&self, merges: usize, tokens: usize) -> Option<u64> {
        let left = |most: Option<u64>, made: usize| most.map(|most| most.saturating_sub(made as u64));
        match (left(self.max_merges, merges), left(self.max_tokens, tokens)) {
            (Some(merges), Some(tokens)) => Some(merges.min(tokens)),
            (merges, tokens) => merges.or(tokens),
        }
    }

    /// Whether the pair makes a token that is not too long.
    fn allow(&self, tokens: &Tokens, left: Code, right: Code) -> bool {
        let length = tokens.length(left).saturating_add(tokens.length(right));
        self.max_token_length.is_none_or(|longest| length <= longest)
    }
}

/// What a word and its count are passed to; an error ends the visit.
pub type Visit<'a, Unit> = dyn FnMut(&[Unit], u64) -> Result<()> + 'a;

/// One of several equal parts of the words: part `nth` of `of`.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    pub nth: usize,
    pub of: usize,
}

/// Words (pretokens) with their counts, for several threads at once.
pub trait Words: Sync {
    /// What a word is made of: bytes or symbol numbers.
    type Unit: Copy;
    /// The symbol of a unit.
    fn symbol(&self, unit: Self::Unit) -> u32;
    /// How many words there are.
    fn len(&self) -> usize;
    /// Whether there are no words.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Passes every word of a share and its count, or the error that `each` returned. Every word is in one share,
    /// and comes at the same place in every visit; equal words may come several times.
    fn visit(&self, share: Share, each: &mut Visit<'_, Self::Unit>) -> Result<()>;
}

/// Words made of symbol numbers, flat.
pub struct SymbolWords<'a> {
    /// The symbols of all words, one word after the other.
    pub symbols: &'a [u32],
    /// How many symbols each word has.
    pub lengths: &'a [usize],
    /// How often each word occurs.
    pub counts: &'a [u64],
}

impl Words for SymbolWords<'_> {
    type Unit = u32;

    fn symbol(&self, unit: u32) -> u32 {
        unit
    }

    fn len(&self) -> usize {
        self.lengths.len()
    }

    fn visit(&self, share: Share, each: &mut Visit<'_, u32>) -> Result<()> {
        let mut rest = self.symbols;
        for (nth, (&length, &count)) in self.lengths.iter().zip(self.counts).enumerate() {
            let (word, after) = rest.split_at(length);
            if nth % share.of == share.nth {
                each(word, count)?;
            }
            rest = after;
        }
        Ok(())
    }
}
