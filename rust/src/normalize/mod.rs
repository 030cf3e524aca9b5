//! Text in, normalized text out, with the place of each character: the steps that a vocabulary asks for, one after the other.
//!
//! Most text is normal already, or nearly so. Each step finds the characters that it may change, and copies all others; if
//! none changes, the text is passed on as it is.

use std::borrow::Cow;

use crate::error::Result;
use crate::watch::Pulse;

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
    /// Behind a token.
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
        let steps = steps.iter().map(|step| NormalizerStep::new(step)).collect::<Result<Vec<_>>>()?;
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

    /// Normalize a text; it is borrowed if nothing changes.
    pub fn normalize<'t>(&self, text: &'t str, at: Beginning, pulse: &mut Pulse) -> Result<Cow<'t, str>> {
        Ok(self.written::<false>(text, at, pulse)?.map_or(Cow::Borrowed(text), |out| Cow::Owned(out.text)))
    }

    /// What a text becomes, if anything changes; with the place of each character if it `ALIGNS`.
    pub fn written<const ALIGNS: bool>(
        &self,
        text: &str,
        at: Beginning,
        pulse: &mut Pulse,
    ) -> Result<Option<Written>> {
        let mut last: Option<Written> = None;
        for step in &self.steps {
            let given = last.as_ref().map_or(text, |earlier| &earlier.text);
            if given.is_empty() {
                break;
            }
            pulse.beat(given.len())?;
            if let Some(mut written) = step.apply::<ALIGNS>(given, at, pulse)? {
                last.iter().try_for_each(|earlier| written.follow(earlier))?;
                last = Some(written);
            }
        }
        Ok(last)
    }

    /// Whether a text may be cut before this character, whatever stands before it and follows: both parts are normalized
    /// on their own, the second one as [`Beginning::Within`].
    pub fn starts(&self, character: char) -> bool {
        let deciding = self.steps.iter().position(NormalizerStep::decides);
        let (before, from) = self.steps.split_at(deciding.unwrap_or(self.steps.len()));
        let starts =
            |step: &NormalizerStep| before.iter().all(|step| step.keeps(character)) && step.starts(character);
        self.can_cut && from.first().is_none_or(starts)
    }

    /// Whether a character starts, and becomes itself when what follows starts.
    pub fn keeps(&self, character: char) -> bool {
        self.can_cut && self.steps.iter().all(|step| step.keeps(character))
    }
}

/// Whether a text may be cut before some characters: where one step allows it, if all others look at each character by itself.
/// (A text is put only before what is not empty, so what may drop characters must have seen the whole text.)
fn can_cut(steps: &[NormalizerStep]) -> bool {
    let (mut deciding, mut drops) = (0, false);
    steps.iter().all(|step| {
        deciding += usize::from(step.decides());
        let fits = deciding <= 1 && step.is_local() && !(step.prepends() && drops);
        drops |= step.may_drop();
        fits
    })
}
