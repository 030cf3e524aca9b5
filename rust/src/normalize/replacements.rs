//! Replaces texts by others: at each place the longest one that begins there. The result is not
//! searched again.

use std::iter::zip;

use super::code_points::CodePoints;
use super::output::Output;
use crate::error::{Error, Result};
use crate::watch::Pulse;

/// Texts and what replaces them.
pub struct Replacements {
    /// In the order of the replaced texts.
    pairs: Vec<(String, String)>,
    /// The first characters of the replaced texts, and their later ones.
    begins: CodePoints,
    within: CodePoints,
    /// Whether the new text stands for the last character that it replaces; if not, for all of
    /// them.
    for_last: bool,
}

impl Replacements {
    pub fn new(mut pairs: Vec<(String, String)>, for_last: bool) -> Result<Self> {
        pairs.sort_unstable();
        if pairs.first().is_some_and(|(old, _)| old.is_empty()) {
            return Err(Error::Value(
                "normalization: a map cannot replace an empty text".to_owned(),
            ));
        }
        let old_texts = || pairs.iter().map(|(old, _)| old);
        let begins = old_texts().flat_map(|old| old.chars().take(1)).collect();
        let within = old_texts().flat_map(|old| old.chars().skip(1)).collect();
        Ok(Self { pairs, begins, within, for_last })
    }

    /// Whether a text may be cut before a character.
    pub fn starts(&self, character: char) -> bool {
        !self.within.contains(character)
    }

    /// Whether a character starts, and stays if what follows starts.
    pub fn keeps(&self, character: char) -> bool {
        if !self.starts(character) {
            return false;
        }
        !self.begins.contains(character)
            || self.longest(character.encode_utf8(&mut [0; 4])).is_none()
    }

    /// Whether each character is replaced, or not, regardless of its neighbours.
    pub fn are_of_characters(&self) -> bool {
        self.pairs.iter().all(|(old, _)| old.chars().nth(1).is_none())
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
        let mut place = 0;
        loop {
            let from = place;
            place = self.begins.find(text, from);
            pulse.beat(place - from)?;
            let Some(first) = text[place..].chars().next() else { return Ok(()) };
            let Some((old, new)) = self.longest(&text[place..]) else {
                place += first.len_utf8();
                continue;
            };
            out.keep_to(place)?;
            place += old.len();
            out.take_to(place);
            let replaced = if self.for_last { 1 } else { old.chars().count() };
            out.put(new, replaced)?;
        }
    }

    /// Returns the longest of the replaced texts that a text begins with, and what replaces it.
    ///
    /// It is the last one in order that does not follow the text; or if the text begins only with a
    /// part of that one, the same for that part: what is between them in the order begins with that
    /// part, too, and with something else after it.
    fn longest(&self, text: &str) -> Option<&(String, String)> {
        let mut text = text.as_bytes();
        loop {
            let behind = self.pairs.partition_point(|(old, _)| old.as_bytes() <= text);
            let pair = &self.pairs[behind.checked_sub(1)?];
            let common = zip(pair.0.bytes(), text).take_while(|(old, byte)| old == *byte).count();
            if common == pair.0.len() {
                return Some(pair);
            }
            text = &text[..common];
        }
    }
}
