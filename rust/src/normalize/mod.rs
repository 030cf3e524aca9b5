//! Normalizes text by the steps that a vocabulary asks for, one after the other, and keeps the
//! place of each character.
//!
//! Most text is normal already, or nearly so. Each step finds the characters that it may change,
//! and copies all others; if none changes, the text is passed on as it is.

use std::borrow::Cow;

use crate::error::Result;
use crate::watch::Pulse;

mod clusters;
mod code_points;
mod forms;
mod output;
mod replacements;
mod step;
#[cfg(test)]
mod tests;

pub use output::{Alignment, Written};
use step::NormalizerStep;

/// Where a text that is to be normalized begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// Where the whole text does: what is put before it only once is put there.
    Text,
    /// After a token.
    Segment,
    /// In the middle of a segment: nothing is put before it.
    Within,
}

/// The steps of a normalization.
pub struct Normalizer {
    steps: Vec<NormalizerStep>,
    can_cut: bool,
}

impl Normalizer {
    /// The normalizer of steps, each a name and its arguments.
    pub fn new(steps: &[Vec<String>]) -> Result<Self> {
        let steps: Vec<_> =
            steps.iter().map(|step| NormalizerStep::new(step)).collect::<Result<_>>()?;
        Ok(Self { can_cut: can_cut(&steps), steps })
    }

    /// Whether no text is changed.
    pub fn is_identity(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether anything is put before a text or a segment.
    pub fn prepends(&self) -> bool {
        self.steps.iter().any(NormalizerStep::prepends)
    }

    /// Normalizes a text; it is borrowed if nothing changes.
    pub fn normalize<'t>(
        &self,
        text: &'t str,
        at: Beginning,
        pulse: &mut Pulse,
    ) -> Result<Cow<'t, str>> {
        match self.written::<false>(text, at, pulse)? {
            Some(written) => Ok(Cow::Owned(written.text)),
            None => Ok(Cow::Borrowed(text)),
        }
    }

    /// Returns what a text becomes, if anything changes; with the place of each character if it
    /// `ALIGNS`.
    pub fn written<const ALIGNS: bool>(
        &self,
        text: &str,
        at: Beginning,
        pulse: &mut Pulse,
    ) -> Result<Option<Written>> {
        let mut last: Option<Written> = None;
        for step in &self.steps {
            let input = last.as_ref().map_or(text, |earlier| &earlier.text);
            if input.is_empty() {
                break;
            }
            pulse.beat(input.len())?;
            if let Some(mut written) = step.apply::<ALIGNS>(input, at, pulse)? {
                if let Some(earlier) = &last {
                    written.follow(earlier)?;
                }
                last = Some(written);
            }
        }
        Ok(last)
    }

    /// Whether a text may be cut before this character, whatever stands before it and follows: both
    /// parts are normalized on their own, the second one as [`Beginning::Within`].
    pub fn starts(&self, character: char) -> bool {
        let Some(deciding) = self.steps.iter().position(NormalizerStep::decides) else {
            return self.can_cut;
        };
        let keeps = |step: &NormalizerStep| step.keeps(character);
        self.can_cut
            && self.steps[..deciding].iter().all(keeps)
            && self.steps[deciding].starts(character)
    }

    /// Whether a character starts, and becomes itself when what follows starts.
    pub fn keeps(&self, character: char) -> bool {
        self.can_cut && self.steps.iter().all(|step| step.keeps(character))
    }
}

/// Whether a text may be cut before some characters: where one step allows it, if all others look
/// at each character by itself. (A text is put only before what is not empty, so what may drop
/// characters must have seen the whole text.)
fn can_cut(steps: &[NormalizerStep]) -> bool {
    let mut deciding = 0;
    let mut drops = false;
    for step in steps {
        deciding += usize::from(step.decides());
        if deciding > 1 || !step.is_local() || step.prepends() && drops {
            return false;
        }
        drops |= step.may_drop();
    }
    true
}
