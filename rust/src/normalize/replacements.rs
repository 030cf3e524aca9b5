//! Replaces texts by others: at each place the longest one that begins there. The result is not
//! searched again.
//!
//! The time is linear in the length of a text, whatever is replaced (see [`Finder`]).

use super::code_points::CodePoints;
use super::output::Output;
use crate::error::{Error, Result};
use crate::finder::{Finder, Search};
use crate::watch::Pulse;

/// The number of bytes that are searched between two beats of the pulse.
const BEAT: usize = 1 << 16;

/// Texts and what replaces them.
pub struct Replacements {
    pairs: Vec<(String, String)>,
    /// Finds the replaced texts, by their numbers in `pairs`.
    finder: Finder,
    /// The replaced texts that are one character.
    characters: CodePoints,
    /// The later characters of all others.
    within: CodePoints,
    /// Whether the new text stands for the last character that it replaces; if not, for all of
    /// them.
    for_last: bool,
}

impl Replacements {
    pub fn new(mut pairs: Vec<(String, String)>, for_last: bool) -> Result<Self> {
        // Among equal texts, the last pair counts.
        pairs.sort_unstable_by(|pair, other| other.cmp(pair));
        pairs.dedup_by(|pair, before| pair.0 == before.0);
        if pairs.iter().any(|(old, _)| old.is_empty()) {
            return Err(Error::Value(
                "normalization: a map cannot replace an empty text".to_owned(),
            ));
        }
        let old_texts = || pairs.iter().map(|(old, _)| old);
        let characters = old_texts().filter_map(|old| only_character(old)).collect();
        let within = old_texts().flat_map(|old| old.chars().skip(1)).collect();
        let finder = Finder::new(old_texts().map(|old| old.as_bytes()));
        Ok(Self { pairs, finder, characters, within, for_last })
    }

    /// Whether a text may be cut before a character.
    pub fn starts(&self, character: char) -> bool {
        !self.within.contains(character)
    }

    /// Whether a character starts, and stays if what follows starts.
    pub fn keeps(&self, character: char) -> bool {
        self.starts(character) && !self.characters.contains(character)
    }

    /// Whether each character is replaced, or not, regardless of its neighbours.
    pub fn are_of_characters(&self) -> bool {
        self.pairs.iter().all(|(old, _)| only_character(old).is_some())
    }

    /// Whether something may be replaced by nothing.
    pub fn may_drop(&self) -> bool {
        self.pairs.iter().any(|(_, new)| new.is_empty())
    }

    pub fn apply<const ALIGNS: bool>(
        &self,
        text: &str,
        out: &mut Output<'_, ALIGNS>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let mut search = Search::default();
        let mut place = 0;
        while place < text.len() {
            let starts = place..text.len().min(place + BEAT);
            let Some((old, number)) =
                self.finder.find(text.as_bytes(), starts.clone(), &mut search, |_, _| true)
            else {
                pulse.beat(starts.len())?;
                place = starts.end;
                continue;
            };
            pulse.beat(old.end - place)?;
            place = old.end;
            out.keep_to(old.start)?;
            out.take_to(old.end);
            let replaced = if self.for_last { 1 } else { text[old].chars().count() };
            out.put(&self.pairs[number].1, replaced)?;
        }
        Ok(())
    }
}

/// Returns the character of a text that has one.
fn only_character(text: &str) -> Option<char> {
    let mut characters = text.chars();
    let first = characters.next();
    if characters.next().is_none() { first } else { None }
}
