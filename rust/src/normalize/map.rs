//! Replaces texts by others: at each place the longest of those that stand there. The result is not searched again.

use std::collections::HashMap;

use super::output::Output;
use super::quick::CodePoints;
use crate::error::{Error, Result};

/// Texts and what replaces them.
pub struct Replacements {
    new: HashMap<Box<str>, Box<str>>,
    begins: HashMap<char, Begin>,
    /// The characters that stand in a text behind its first one.
    within: CodePoints,
    /// Whether the new text stands for the last character that it replaces; if not, for all of them.
    for_last: bool,
}

/// What is known about the texts that begin with a character.
#[derive(Default)]
struct Begin {
    /// Their lengths in bytes, the longest first.
    lengths: Vec<usize>,
    /// Whether the character alone is one of them.
    alone: bool,
    /// Whether one of them is replaced by nothing.
    vanishes: bool,
    /// How what replaces them begins.
    images: Vec<char>,
}

impl Replacements {
    /// A map: new texts stand for all that they replace.
    pub fn map<'p>(pairs: impl Iterator<Item = (&'p str, &'p str)>) -> Result<Self> {
        Self::new(pairs, false)
    }

    /// A text that is replaced wherever it stands. The new text stands for the last character of it.
    pub fn literal(replaced: &str, new: &str) -> Result<Self> {
        Self::new(std::iter::once((replaced, new)), true)
    }

    fn new<'p>(pairs: impl Iterator<Item = (&'p str, &'p str)>, for_last: bool) -> Result<Self> {
        let (mut new, mut within) = (HashMap::new(), CodePoints::default());
        let mut begins: HashMap<char, Begin> = HashMap::new();
        for (replaced, by) in pairs {
            let mut characters = replaced.chars();
            let first = characters.next().ok_or_else(|| {
                Error::Value("normalization: a map cannot replace an empty text".to_owned())
            })?;
            let begin = begins.entry(first).or_default();
            begin.lengths.push(replaced.len());
            begin.alone |= replaced.len() == first.len_utf8();
            begin.vanishes |= by.is_empty();
            begin.images.extend(by.chars().next());
            characters.for_each(|character| within.add(character));
            new.insert(replaced.into(), by.into());
        }
        for begin in begins.values_mut() {
            begin.lengths.sort_unstable_by(|one, other| other.cmp(one));
            begin.lengths.dedup();
            begin.images.sort_unstable();
            begin.images.dedup();
        }
        Ok(Self { new, begins, within, for_last })
    }

    /// Whether a text may be cut before a character, and something is left of it.
    pub fn starts(&self, character: char) -> bool {
        !self.within.contains(character) && !self.vanishes(character)
    }

    fn vanishes(&self, character: char) -> bool {
        self.begins.get(&character).is_some_and(|begin| begin.vanishes)
    }

    /// Whether something may be replaced by nothing.
    pub fn may_drop(&self) -> bool {
        self.begins.values().any(|begin| begin.vanishes)
    }

    /// The characters that the texts begin with.
    pub fn beginnings(&self) -> impl Iterator<Item = char> {
        self.begins.keys().copied()
    }

    /// How what a character becomes may begin.
    pub fn images(&self, character: char) -> Vec<char> {
        let Some(begin) = self.begins.get(&character) else { return vec![character] };
        let mut images = begin.images.clone();
        if !begin.alone {
            images.push(character);
        }
        images
    }

    /// Add the characters that do not start, or are replaced though what follows starts.
    pub fn add_changes(&self, changes: &mut CodePoints) {
        changes.add_all(&self.within);
        for (&character, begin) in &self.begins {
            if begin.alone || begin.vanishes {
                changes.add(character);
            }
        }
    }

    /// The one text that is replaced, if there is only one.
    pub fn only(&self) -> Option<&str> {
        let mut texts = self.new.keys();
        texts.next().filter(|_| texts.next().is_none()).map(|only| &**only)
    }

    pub fn apply<const ALIGNS: bool>(&self, text: &str, out: &mut Output<ALIGNS>) -> Result<()> {
        let (mut kept, mut place) = (0, 0);
        while let Some(character) = text[place..].chars().next() {
            let Some((old, new)) = self.at(&text[place..], character) else {
                place += character.len_utf8();
                continue;
            };
            out.keep(&text[kept..place])?;
            let characters = old.chars().count();
            out.take(characters);
            out.put_all(new, if self.for_last { 1 } else { characters })?;
            place += old.len();
            kept = place;
        }
        out.keep(&text[kept..])
    }

    /// The longest text that a text begins with, and what replaces it.
    #[inline]
    fn at<'t>(&self, text: &'t str, first: char) -> Option<(&'t str, &str)> {
        let begin = self.begins.get(&first)?;
        let mut found = begin.lengths.iter().filter_map(|&length| text.get(..length));
        found.find_map(|old| self.new.get(old).map(|new| (old, &**new)))
    }
}
