//! Decides which of several pairs with the same count is merged first.

use std::cmp::Ordering;

use super::pairs::{Candidate, codes_of};
use super::tokens::{Code, Tokens};

/// The rule that picks among the pairs with the highest count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieBreak {
    /// The smallest pair of symbols.
    SmallestIds,
    /// The largest pair of token bytes; for equal bytes, the smaller symbols.
    LargestBytes,
    /// The smallest pair of token bytes; for equal bytes, the smaller symbols.
    SmallestBytes,
}

impl TieBreak {
    /// A total order on distinct pairs of equal count: the lesser is merged first.
    #[inline]
    pub fn compare(self, tokens: &Tokens, a: u64, b: u64) -> Ordering {
        if self == Self::SmallestIds {
            return a.cmp(&b);
        }
        let by_bytes = |a: Code, b: Code| {
            if a == b { Ordering::Equal } else { tokens.bytes(a).cmp(&tokens.bytes(b)) }
        };
        let (left, right) = (codes_of(a), codes_of(b));
        let order = by_bytes(left.0, right.0).then_with(|| by_bytes(left.1, right.1));
        let order = if self == Self::LargestBytes { order.reverse() } else { order };
        order.then(a.cmp(&b))
    }

    /// Whether `a` is merged before `b`.
    pub fn prefers(self, tokens: &Tokens, a: &Candidate, b: &Candidate) -> bool {
        let order = b.count.cmp(&a.count).then_with(|| self.compare(tokens, a.key, b.key));
        order == Ordering::Less
    }
}
