//! Finds the last *settled* place of an incomplete text: one where it may be cut, whatever text follows.

use super::special::Special;
use super::{Encoder, character_start};

/// The distance of the first search backwards for a cut; each further search goes four times as far.
pub const FIRST_LOOK: usize = 64;

impl Encoder {
    /// The last settled place, or 0. The ids of the text before it are final, and the rest can be encoded on its own. With a
    /// pattern without safe cuts, only places after special tokens are settled.
    pub(super) fn settled_end(&self, text: &str, special: Special) -> usize {
        let (start, sure_end) = self.last_segment(text, special);
        let ordinary = &text[start..sure_end];
        let mut back = FIRST_LOOK;
        loop {
            let look = character_start(ordinary, ordinary.len().saturating_sub(back));
            match self.last_safe_cut(ordinary, look) {
                Some(cut) => return start + cut,
                None if look == 0 => return start,
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

    /// The start of the ordinary text after the last settled special token, and the place up to which it is certain to be
    /// ordinary: a special token that begins later may still be incomplete, or become a longer one.
    fn last_segment(&self, text: &str, special: Special) -> (usize, usize) {
        let tokens = self.looked_for(special);
        let longest = tokens.longest();
        if matches!(special, Special::Ordinary) || longest == 0 {
            return (0, text.len());
        }
        let sure_end = (text.len() + 1).saturating_sub(longest);
        let mut start = 0;
        while let Some((found, _)) = tokens.find(text, start) {
            if found.start >= sure_end {
                break;
            }
            start = found.end;
        }
        (start, character_start(text, sure_end.max(start)))
    }
}
