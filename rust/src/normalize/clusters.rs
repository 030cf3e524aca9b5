//! Replaces texts by others as the `Precompiled` of `tokenizers` does: in grapheme clusters.
//!
//! A cluster of fewer than 6 bytes becomes what the shortest text becomes that it begins with,
//! whatever follows in it. Of any other cluster, each character is replaced by itself.

use std::collections::HashMap;

use unicode_segmentation::UnicodeSegmentation;

use super::output::Output;
use crate::error::Result;
use crate::key::hasher::Keyed;
use crate::watch::Pulse;

/// What replaces each text.
pub type NewTexts = HashMap<String, String, Keyed>;

/// The clusters of fewer bytes are replaced as a whole.
const LONG: usize = 6;

pub fn replace_clusters<const ALIGNS: bool>(
    text: &str,
    new_texts: &NewTexts,
    out: &mut Output<'_, ALIGNS>,
    pulse: &mut Pulse,
) -> Result<()> {
    let mut writer = Writer { out, last: None };
    for (start, cluster) in text.grapheme_indices(true) {
        pulse.beat(cluster.len())?;
        let ends = || cluster.char_indices().map(|(at, character)| at + character.len_utf8());
        if cluster.len() < LONG
            && let Some(new) = ends().find_map(|end| new_texts.get(&cluster[..end]))
        {
            writer.replace(start, cluster, new)?;
            continue;
        }
        let mut at = 0;
        for end in ends() {
            let character = &cluster[at..end];
            if let Some(new) = new_texts.get(character) {
                writer.replace(start + at, character, new)?;
            }
            at = end;
        }
    }
    writer.finish(text)
}

/// Writes a text with the places that `tokenizers` gives its characters.
///
/// Each new character stands for the next original one, and more of them for the last. Where there
/// are fewer, the last character written before takes the others, too: if it was one of too many,
/// it stands for the next one instead, and if there is none, all that follow are early.
struct Writer<'o, 't, const ALIGNS: bool> {
    out: &'o mut Output<'t, ALIGNS>,
    /// The last character, which is not written yet, and how many characters there are more than
    /// before.
    last: Option<(char, isize)>,
}

impl<const ALIGNS: bool> Writer<'_, '_, ALIGNS> {
    fn replace(&mut self, start: usize, old: &str, new: &str) -> Result<()> {
        self.keep_to(start)?;
        self.out.done = start + old.len();
        if !ALIGNS {
            return self.out.put(new, 1);
        }
        let old_count = old.chars().count();
        let mut missing = old_count.cast_signed();
        for (index, character) in new.chars().enumerate() {
            missing -= 1;
            self.push(character, isize::from(index >= old_count))?;
        }
        if let Some((_, more)) = &mut self.last {
            *more -= missing.max(0);
        }
        Ok(())
    }

    fn keep_to(&mut self, end: usize) -> Result<()> {
        if !ALIGNS {
            return self.out.keep_to(end);
        }
        for character in self.out.rest(end).chars() {
            self.push(character, 0)?;
        }
        self.out.done = end;
        Ok(())
    }

    fn push(&mut self, character: char, more: isize) -> Result<()> {
        let Some((character, more)) = self.last.replace((character, more)) else { return Ok(()) };
        self.write(character, more)
    }

    fn write(&mut self, character: char, more: isize) -> Result<()> {
        if more <= 0 {
            self.out.take(1);
        }
        self.out.put(character.encode_utf8(&mut [0; 4]), 1)?;
        self.out.take(more.min(0).unsigned_abs());
        Ok(())
    }

    /// Keeps the rest of a text of which anything was replaced.
    fn finish(mut self, text: &str) -> Result<()> {
        if self.out.done == 0 {
            return Ok(());
        }
        self.keep_to(text.len())?;
        match self.last {
            Some((character, more)) => self.write(character, more),
            None => Ok(()),
        }
    }
}
