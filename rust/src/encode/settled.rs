//! Finds the last *settled* place of an incomplete text: one where it may be cut, whatever text follows.

use super::{Model, character_start};

/// The distance of the first search backwards for a cut; each further search goes four times as far.
const FIRST_LOOK: usize = 64;

impl Model {
    /// The last settled place of an ordinary text, or 0: the ids of the text before it are final, and the rest can be
    /// encoded on its own. The text was looked at up to `from` before.
    pub(super) fn settled(&self, text: &str, from: usize) -> usize {
        let mut back = FIRST_LOOK;
        loop {
            let look = character_start(text, text.len().saturating_sub(back)).max(from);
            match self.last_safe_cut(text, look) {
                Some(cut) => return cut,
                None if look == from => return 0,
                None => back *= 4,
            }
        }
    }

    fn last_safe_cut(&self, text: &str, mut from: usize) -> Option<usize> {
        let mut last = None;
        while let Some(cut) = self.pattern.safe_cut(text, from).filter(|&cut| cut < text.len()) {
            last = Some(cut);
            from = cut + text[cut..].chars().next().map_or(1, char::len_utf8);
        }
        last
    }
}
