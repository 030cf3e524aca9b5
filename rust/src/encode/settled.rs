//! Finds the last *settled* place of an incomplete text: one where it may be cut, whatever text follows.

use super::special::Special;
use super::{Encoder, character_start};

/// The distance of the first search backwards for a cut; each further search goes four times as far.
const FIRST_LOOK: usize = 64;

/// What is known about an incomplete text.
#[derive(Clone, Copy, Default)]
pub struct Settling {
    /// The last settled place, or 0. The ids of the text before it are final, and the rest can be encoded on its own.
    pub place: usize,
    /// The end of the text that is certain to be ordinary, or before the last settled place. A special token that begins
    /// later may still be incomplete, or become a longer one.
    pub sure: usize,
}

impl Encoder {
    /// Look for the last settled place of a text that was looked at up to `from` before: up to the `sure` end that was
    /// found then, and no settled place. With a pattern without safe cuts, only places after special tokens are settled.
    pub(super) fn settled(&self, text: &str, from: usize, special: Special) -> Settling {
        let (start, sure) = self.last_segment(text, from, special);
        let ordinary = &text[start..sure];
        let first = from.saturating_sub(start);
        let mut back = FIRST_LOOK;
        loop {
            let look = character_start(ordinary, ordinary.len().saturating_sub(back)).max(first);
            match self.last_safe_cut(ordinary, look) {
                Some(cut) => return Settling { place: start + cut, sure },
                None if look == first => return Settling { place: start, sure },
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

    /// The start of the ordinary text after the last settled special token (0 if there is none from `from` on), and its
    /// certain end.
    fn last_segment(&self, text: &str, from: usize, special: Special) -> (usize, usize) {
        let tokens = self.looked_for(special);
        let longest = tokens.longest();
        if matches!(special, Special::Ordinary) || longest == 0 {
            return (0, text.len());
        }
        let sure_end = (text.len() + 1).saturating_sub(longest);
        let (mut start, mut place) = (0, from);
        while let Some((found, _)) = tokens.find(text, place) {
            if found.start >= sure_end {
                break;
            }
            (start, place) = (found.end, found.end);
        }
        (start, character_start(text, sure_end).max(place))
    }
}
