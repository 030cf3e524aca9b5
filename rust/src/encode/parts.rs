//! Texts as their source has them, and the parts of them that threads encode.

use super::stages::Stretch;
use super::{Choice, Encoder, character_start};
use crate::error::Result;
use crate::normalize::Beginning;
use crate::watch::Pulse;

/// How far from the end of an open text a place to cut it is looked for first, in bytes; then four times as far, and so on.
const FIRST_LOOK: usize = 64;

/// The most bytes that are looked through at a time for a place to cut a text.
const MOST_SEEN: usize = 1 << 16;

/// Texts that the calling thread gets one after the other; meanwhile other threads encode those it has got.
pub trait TextSource<'t> {
    /// The number of texts.
    fn number(&self) -> usize;

    /// The length of a text in bytes, or less if it is not known yet.
    fn length(&self, text: usize) -> usize;

    /// The sum of the lengths.
    fn bytes(&self) -> usize {
        (0..self.number()).map(|text| self.length(text)).sum()
    }

    /// No fewer ids than they have, unless they are unusual.
    fn most_ids(&self) -> usize {
        self.bytes()
    }

    /// A text; the error says what is wrong with one that is none.
    fn text(&self, text: usize) -> Result<&'t str>;

    /// Do work for which no text must be got.
    fn aside<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        work()
    }
}

impl<'t> TextSource<'t> for &[&'t str] {
    fn number(&self) -> usize {
        self.len()
    }

    fn length(&self, text: usize) -> usize {
        self[text].len()
    }

    fn text(&self, text: usize) -> Result<&'t str> {
        Ok(self[text])
    }
}

/// Part of a text, small enough for one job: the number of the text, and what stretch of it. In order, the parts are the
/// texts.
pub type TextPart<'t> = (usize, Stretch<'t>);

impl Encoder {
    /// Cut a text into parts for jobs of a size, as far as that is safe.
    pub fn cut_text<'t>(
        &self,
        (number, text): (usize, &'t str),
        job: usize,
        pulse: &mut Pulse,
        add: &mut impl FnMut(TextPart<'t>, &mut Pulse) -> Result<()>,
    ) -> Result<()> {
        let (mut start, mut at) = (0, Beginning::Text);
        while start < text.len() {
            let end = self.safe_cut(text, start.saturating_add(job), pulse)?;
            add((number, Stretch { text, range: start..end, at }), pulse)?;
            (start, at) = (end, Beginning::Within);
        }
        Ok(())
    }

    /// The first place from one on where a text may be cut, or its end.
    fn safe_cut(&self, text: &str, mut from: usize, pulse: &mut Pulse) -> Result<usize> {
        let mut cuts = self.stages.cuts(text, None, &self.model.pattern);
        while from < text.len() {
            // Whether it may be cut at a place depends on the characters on both sides alone.
            let end = character_start(text, from + MOST_SEEN);
            let cut = self.model.pattern.safe_cut(&text[..end], from).unwrap_or(end);
            pulse.beat(cut - from)?;
            if cut < end && cuts.may_be_at(cut) {
                return Ok(cut);
            }
            from = end.min(cut + 1);
        }
        Ok(text.len())
    }

    /// The last place behind `from` where an open text may be cut, whatever follows.
    pub fn settled_place(
        &self,
        text: &str,
        from: usize,
        choice: Choice,
        pulse: &mut Pulse,
    ) -> Result<Option<usize>> {
        let (mut back, mut end) = (FIRST_LOOK, text.len());
        loop {
            let look = character_start(text, text.len().saturating_sub(back)).max(from);
            let mut cuts = self.stages.cuts(text, Some(choice), &self.model.pattern);
            let (mut settled, mut next) = (None, look);
            while next < end
                && let Some(cut) = self.model.pattern.safe_cut(text, next)
                && let Some(character) = text[cut..].chars().next()
            {
                if cut > from && cuts.may_be_at(cut) {
                    settled = Some(cut);
                }
                pulse.beat(cut - next)?;
                next = cut + character.len_utf8();
            }
            if settled.is_some() || look == from {
                return Ok(settled);
            }
            (back, end) = (back * 4, look);
        }
    }

    /// Up to where it is known of each place of an open text whether it may be cut there.
    pub fn searched(&self, text: &str) -> usize {
        character_start(text, text.len().saturating_sub(self.stages.reach()))
    }
}
