//! Texts as their source has them, and the parts of them that threads encode.

use super::stages::Stretch;
use super::{Choice, Encoder, character_start};
use crate::error::Result;
use crate::normalize::Beginning;
use crate::watch::Pulse;

/// How far from the end of an open text a place to cut it is looked for first, in bytes.
const FIRST_LOOK: usize = 64;
/// How many times as far each further look reaches.
const FURTHER: usize = 4;

/// Texts that the calling thread gets one after the other; meanwhile other threads encode those it
/// already has.
pub trait TextSource<'t> {
    /// The number of texts.
    fn number(&self) -> usize;

    /// The length of a text in bytes, or less if it is not known yet.
    fn length(&self, text: usize) -> usize;

    /// The sum of the lengths.
    fn bytes(&self) -> usize {
        (0..self.number()).map(|text| self.length(text)).sum()
    }

    /// A number of ids that they do not exceed, unless they are unusual.
    fn most_ids(&self) -> usize {
        self.bytes()
    }

    /// A text; the error says why something else is none.
    fn text(&self, text: usize) -> Result<&'t str>;

    /// Does work that needs no further text.
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

/// A part of a text, small enough for one job: the number of the text, and a stretch of it. In
/// order, the parts are the whole texts.
pub type TextPart<'t> = (usize, Stretch<'t>);

impl Encoder {
    /// Cuts a text into parts for jobs of a size, or longer ones where there is no safe cut.
    pub fn cut_text<'t>(
        &self,
        (number, text): (usize, &'t str),
        job: usize,
        pulse: &mut Pulse,
        add: &mut impl FnMut(TextPart<'t>, &mut Pulse) -> Result<()>,
    ) -> Result<()> {
        let mut cuts = self.stages.cuts(text, None, &self.model.pattern);
        let mut start = 0;
        let mut at = Beginning::Text;
        while start < text.len() {
            let cut = cuts.safe_cut(start.saturating_add(job)..text.len(), pulse)?;
            let end = cut.unwrap_or(text.len());
            add((number, Stretch { text, range: start..end, at }), pulse)?;
            start = end;
            at = Beginning::Within;
        }
        Ok(())
    }

    /// The last place behind `from` where an open text may be cut, whatever follows. It is looked
    /// for from the end, as it is usually near.
    pub fn settled_place(
        &self,
        text: &str,
        from: usize,
        choice: Choice,
        pulse: &mut Pulse,
    ) -> Result<Option<usize>> {
        let mut distance = FIRST_LOOK;
        let mut end = text.len();
        loop {
            let look = character_start(text, text.len().saturating_sub(distance)).max(from);
            // Each look has its own: places are asked for in ascending order.
            let mut cuts = self.stages.cuts(text, Some(choice), &self.model.pattern);
            let mut settled = None;
            let mut next = look.max(from + 1);
            while let Some(cut) = cuts.safe_cut(next..end, pulse)? {
                settled = Some(cut);
                next = cut + 1;
            }
            if settled.is_some() || look == from {
                return Ok(settled);
            }
            distance *= FURTHER;
            end = look;
        }
    }

    /// Up to where it is known of each place of an open text whether it may be cut there.
    pub fn searched(&self, text: &str) -> usize {
        character_start(text, text.len().saturating_sub(self.stages.reach()))
    }
}
