//! The tokens of a pretoken that changes at its end: only the last ones are made again.
//!
//! The reasoning is that of [`merging`](super::merging) in windows: the tokens before are joined to those of a window over
//! the end where both have a token at the same place.

use super::merges::Merges;
use super::merging::{SHORT, Scratch, length_of, merge, shared_token};
use crate::error::Result;
use crate::memory;
use crate::tokens::TokenBytes;
use crate::watch::Pulse;

/// The tokens of a pretoken that changes at its end.
#[derive(Default)]
pub struct ChangingTokens {
    pub ids: Vec<u32>,
    bytes: usize,
}

/// The tokens that stay when a pretoken changes, and those that follow them.
pub struct ChangedTokens {
    pub kept: usize,
    pub following: Vec<u32>,
}

impl ChangingTokens {
    /// The length of the pretoken.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// A copy.
    pub fn copy(&self) -> Result<Self> {
        let mut ids = Vec::new();
        memory::extend(&mut ids, &self.ids)?;
        Ok(Self { ids, bytes: self.bytes })
    }

    /// Drop the tokens that reach past a place, and return them.
    pub fn shorten(&mut self, tokens: &TokenBytes, bytes: usize) -> Vec<u32> {
        let mut kept = self.ids.len();
        while self.bytes > bytes && kept > 0 {
            kept -= 1;
            self.bytes -= length_of(self.ids[kept], tokens);
        }
        self.ids.split_off(kept)
    }

    /// What changes if this becomes a longer pretoken, or is shortened to it.
    pub fn remerged(
        &self,
        merges: &Merges,
        tokens: &TokenBytes,
        pretoken: &[u8],
        scratch: &mut Scratch,
        pulse: &mut Pulse,
    ) -> Result<ChangedTokens> {
        let (mut first, mut start, mut back) = (self.ids.len(), self.bytes, SHORT);
        loop {
            while first > 0 && start + back > self.bytes {
                first -= 1;
                start -= length_of(self.ids[first], tokens);
            }
            let mut window = Vec::new();
            merge(merges, tokens, &pretoken[start..], &mut window, scratch, pulse)?;
            if first == 0 {
                return Ok(ChangedTokens { kept: 0, following: window });
            }
            if let Some((shared, in_window)) = shared_token(&self.ids[first..], &window, tokens) {
                window.drain(..=in_window);
                return Ok(ChangedTokens { kept: first + shared + 1, following: window });
            }
            back = back.saturating_mul(4);
        }
    }

    /// Change it so.
    pub fn become_remerged(&mut self, changed: &ChangedTokens, bytes: usize) -> Result<()> {
        self.ids.truncate(changed.kept);
        memory::extend(&mut self.ids, &changed.following)?;
        self.bytes = bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::merging::tests::{RandomNumbers, RandomVocabulary, defined};
    use super::*;
    use crate::watch::Unwatched;

    #[test]
    fn a_pretoken_that_changes_at_its_end_has_the_tokens_that_are_defined() {
        let mut numbers = RandomNumbers(11);
        let mut scratch = Scratch::new().unwrap();
        let mut kept = 0;
        for round in 0..600 {
            let letters = 1 + numbers.below(3);
            let RandomVocabulary { merges, tokens, .. } =
                RandomVocabulary::new(&mut numbers, letters, if letters == 1 { 6 } else { 40 });
            let (mut merged, mut pretoken) = (ChangingTokens::default(), Vec::new());
            for _ in 0..12 {
                if numbers.below(3) == 0 {
                    pretoken.truncate(numbers.below(pretoken.len() + 1));
                    merged.shorten(&tokens, pretoken.len());
                }
                for _ in 0..1 + numbers.below(if round % 2 == 0 { 3 } else { 120 }) {
                    pretoken.push(b'a' + numbers.below(letters) as u8);
                }
                let watch = &mut Unwatched;
                let pulse = &mut Pulse::of(watch);
                let changed = merged.remerged(&merges, &tokens, &pretoken, &mut scratch, pulse).unwrap();
                merged.become_remerged(&changed, pretoken.len()).unwrap();
                assert_eq!(merged.ids, defined(&merges, &pretoken), "{pretoken:?}");
                kept += changed.kept;
            }
        }
        assert!(kept > 10_000, "{kept}");
    }
}
