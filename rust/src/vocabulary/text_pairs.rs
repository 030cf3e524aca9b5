//! Resolves merges that are listed as pairs of texts to merges of tokens, and finds out which of
//! them can ever apply.
//!
//! ```text
//! tokens    0 a    1 b    2 c    3 ab    4 bc    5 abc
//! pairs     a b    b c    ab c    a bc
//! merges    0 + 1 = 3    1 + 2 = 4    3 + 2 = 5    0 + 4 = 5 (never applies)
//! ```
//!
//! Files of other libraries list merges as pairs of texts. Some list every way to divide a token in
//! two. At most one of the merges that result in a token ever applies: wherever the token appears
//! in a text, the merges inside it are those of its bytes alone (see [`super::recover`]), and the
//! last of these results in the token.

use std::collections::{HashMap, HashSet};

use memchr::memchr;

use super::check::{Places, first_repeated, parents_come_first};
use super::recover::{Rule, last_merges};
use super::spellings::{NO_TOKEN, Spellings};
use crate::error::Result;
use crate::key::hasher::Keyed;
use crate::memory;
use crate::watch::{Pulse, Watch};

/// The number of a text that is no token.
pub const UNKNOWN: u32 = NO_TOKEN;

/// The byte between the two texts of a pair, and the byte between pairs: no UTF-8 has these bytes.
pub const WITHIN: u8 = 0xFE;
pub const BETWEEN: u8 = 0xFF;

/// What the merges of a list may do with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenUse {
    Merged(u32),
    /// No text has it, so that merges with it are left out.
    OnlyDecoded,
    /// It is cut out of texts first, so that merges with it are ignored, even if another part is
    /// unknown.
    CutOut,
}

/// What a list of pairs consists of.
#[derive(Debug, PartialEq, Eq)]
pub enum PairList {
    Merges(ListedMerges),
    /// The number of the first item that does not have two parts.
    NotPair(usize),
}

/// The merges of a list of pairs, as rows of left, right and resulting id.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ListedMerges {
    pub rows: Vec<[u32; 3]>,
    /// The first pair with a part that is no token, or that makes none: which of the three is
    /// unknown.
    pub unknown: Option<(usize, [bool; 3])>,
    /// The first pair that repeats an earlier one.
    pub repeated: Option<usize>,
}

/// Finds the merges of pairs of texts. A pair that is listed again has the rank of its last place,
/// or of its first.
///
/// All tokens must be distinct.
pub fn listed_merges(
    tokens: &[&[u8]],
    uses: impl Fn(u32) -> TokenUse,
    pairs: &[u8],
    keeps_last: bool,
    watch: &mut dyn Watch,
) -> Result<PairList> {
    let mut listed = ListedMerges::default();
    if pairs.is_empty() {
        return Ok(PairList::Merges(listed));
    }
    let spellings = Spellings::new(tokens)?;
    let mut pulse = Pulse::of(watch);
    // The number of the pair of each row.
    let mut numbers = Vec::new();
    let mut both = Vec::new();
    let mut result = UNKNOWN;
    for (number, pair) in pairs.split(|&byte| byte == BETWEEN).enumerate() {
        pulse.beat(pair.len())?;
        let Some((left, right)) = two_parts(pair) else { return Ok(PairList::NotPair(number)) };
        both.clear();
        both.extend_from_slice(left);
        both.extend_from_slice(right);
        // In most files, merges are in the order of their results; some list all that have the same
        // one.
        let is_both =
            |number: &u32| tokens.get(*number as usize).is_some_and(|&token| token == both);
        let likely = [result.wrapping_add(1), result].into_iter().find(is_both);
        result = likely.unwrap_or_else(|| spellings.find(&both));

        let parts = [spellings.find(left), spellings.find(right), result];
        let part_uses = parts.map(|token| (token != UNKNOWN).then(|| uses(token)));
        if part_uses.contains(&Some(TokenUse::CutOut)) {
            continue;
        }
        if part_uses.contains(&None) {
            listed.unknown = Some((number, part_uses.map(|part_use| part_use.is_none())));
            return Ok(PairList::Merges(listed));
        }
        let [
            Some(TokenUse::Merged(left)),
            Some(TokenUse::Merged(right)),
            Some(TokenUse::Merged(result)),
        ] = part_uses
        else {
            continue;
        };
        memory::push(&mut listed.rows, [left, right, result])?;
        memory::push(&mut numbers, number)?;
    }

    // A pair makes one token, so that pairs of different tokens are distinct.
    let results_ascend = listed.rows.is_sorted_by(|before, after| before[2] < after[2]);
    if !results_ascend && let Some(place) = first_repeated(&listed.rows)? {
        listed.repeated = Some(numbers[place]);
        remove_repeated(&mut listed.rows, keeps_last);
    }
    Ok(PairList::Merges(listed))
}

/// Splits an item of a list, if it has two parts.
fn two_parts(pair: &[u8]) -> Option<(&[u8], &[u8])> {
    let place = memchr(WITHIN, pair)?;
    let left = &pair[..place];
    let right = &pair[place + 1..];
    if right.contains(&WITHIN) {
        return None;
    }
    Some((left, right))
}

/// Removes the rows whose pair also occurs in a later row, or in an earlier one.
fn remove_repeated(rows: &mut Vec<[u32; 3]>, keeps_last: bool) {
    let mut seen = HashSet::with_capacity_and_hasher(rows.len(), Keyed::default());
    if keeps_last {
        rows.reverse();
    }
    rows.retain(|&[left, right, _]| seen.insert(pair(left, right)));
    if keeps_last {
        rows.reverse();
    }
}

/// Leaves out the merges (rows of ids) that never apply; if all parents come before their merges,
/// all are kept. Returns `None` if a merge names no token, or ids are not in their order.
pub fn merges_that_happen(
    ids: &[u32],
    tokens: &[&[u8]],
    merges: Vec<[u32; 3]>,
    watch: &mut dyn Watch,
) -> Result<Option<Vec<[u32; 3]>>> {
    if merges.is_empty() {
        return Ok(Some(merges));
    }
    let Ok(rows) = Places::new(ids).rows(&merges) else { return Ok(None) };
    if parents_come_first(tokens, &rows) {
        return Ok(Some(merges));
    }
    let mut is_result = vec![false; tokens.len()];
    for &[_, _, result] in &rows {
        is_result[result as usize] = true;
    }
    let mut results = Vec::new();
    for (&token, is_result) in tokens.iter().zip(is_result) {
        if is_result {
            results.push(token);
        }
    }
    let mut happens = vec![false; merges.len()];
    let last_merges = last_merges(&Pairs::new(tokens, &rows), &results, watch)?;
    for [_, _, rank] in last_merges.into_iter().flatten() {
        happens[rank as usize] = true;
    }
    let mut kept = Vec::new();
    for (merge, happens) in merges.into_iter().zip(happens) {
        if happens {
            kept.push(merge);
        }
    }
    Ok(Some(kept))
}

/// The rule by which two neighbours merge if they are a pair of the list.
struct Pairs {
    byte: [u32; 256],
    /// The rank and the result of each pair.
    merge_of: HashMap<u64, (u32, u32), Keyed>,
}

impl Pairs {
    fn new(tokens: &[&[u8]], merges: &[[u32; 3]]) -> Self {
        let mut byte = [UNKNOWN; 256];
        for (number, &token) in (0..).zip(tokens) {
            if let &[value] = token {
                byte[usize::from(value)] = number;
            }
        }
        let mut merge_of = HashMap::with_capacity_and_hasher(merges.len(), Keyed::default());
        for (rank, &[left, right, result]) in (0..UNKNOWN).zip(merges) {
            merge_of.entry(pair(left, right)).or_insert((rank, result));
        }
        Self { byte, merge_of }
    }
}

impl Rule for Pairs {
    fn byte(&self, byte: u8) -> u32 {
        self.byte[usize::from(byte)]
    }

    fn merge(&self, left: u32, right: u32, _: &[u8]) -> Option<(u32, u32)> {
        self.merge_of.get(&pair(left, right)).copied()
    }
}

fn pair(left: u32, right: u32) -> u64 {
    u64::from(left) << u32::BITS | u64::from(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Unwatched;

    const TOKENS: [&[u8]; 6] = [b"a", b"b", b"c", b"ab", b"bc", b"abc"];

    fn packed(lines: &str) -> Vec<u8> {
        let separated = |byte| match byte {
            b' ' => WITHIN,
            b'\n' => BETWEEN,
            other => other,
        };
        lines.bytes().map(separated).collect()
    }

    #[test]
    fn pairs_of_texts_become_rows_of_tokens() {
        let list = |lines| {
            listed_merges(&TOKENS, TokenUse::Merged, &packed(lines), true, &mut Unwatched).unwrap()
        };
        let rows = vec![[0, 1, 3], [1, 2, 4], [3, 2, 5]];
        let expected = ListedMerges { rows, ..ListedMerges::default() };
        assert_eq!(list("a b\nb c\nab c"), PairList::Merges(expected));
        assert_eq!(list(""), PairList::Merges(ListedMerges::default()));
    }

    #[test]
    fn what_does_not_have_two_parts_is_reported() {
        for (lines, number) in [("a b\nab", 1), ("a b c", 0), ("a b\n", 1)] {
            let listed =
                listed_merges(&TOKENS, TokenUse::Merged, &packed(lines), true, &mut Unwatched);
            assert_eq!(listed.unwrap(), PairList::NotPair(number));
        }
    }

    fn listed(lines: &str, keeps_last: bool) -> ListedMerges {
        let uses = |token| match token {
            3 => TokenUse::OnlyDecoded,
            4 => TokenUse::CutOut,
            other => TokenUse::Merged(other + 10),
        };
        let tokens: [&[u8]; 7] = [b"a", b"b", b"aa", b"d", b"c", b"ba", b"ad"];
        match listed_merges(&tokens, uses, &packed(lines), keeps_last, &mut Unwatched).unwrap() {
            PairList::Merges(listed) => listed,
            PairList::NotPair(number) => panic!("item {number} is no pair"),
        }
    }

    #[test]
    fn merges_of_what_no_text_has_are_left_out() {
        let listed = listed("a a\na d\nc zz\nb a", true);
        assert_eq!(
            listed,
            ListedMerges { rows: vec![[10, 10, 12], [11, 10, 15]], unknown: None, repeated: None }
        );
    }

    #[test]
    fn of_equal_pairs_the_last_or_the_first_is_kept() {
        let lines = "c a\na a\nb a\na a";
        assert_eq!(listed(lines, true).rows, [[11, 10, 15], [10, 10, 12]]);
        assert_eq!(listed(lines, false).rows, [[10, 10, 12], [11, 10, 15]]);
        assert_eq!(listed(lines, false).repeated, Some(3));
    }

    #[test]
    fn the_first_unknown_part_is_told() {
        assert_eq!(listed("a a\nb zz\nzz b", true).unknown, Some((1, [false, true, true])));
        assert_eq!(listed("a b", true).unknown, Some((0, [false, false, true])));
    }

    #[test]
    fn merges_in_order_are_all_kept_and_of_others_those_that_happen() {
        let ids = [1, 2, 3, 5, 8, 9];
        let kept = |merges: &[[u32; 3]]| {
            merges_that_happen(&ids, &TOKENS, merges.to_vec(), &mut Unwatched).unwrap()
        };
        let in_order = [[1, 2, 5], [2, 3, 8], [5, 3, 9], [1, 8, 9]];
        assert_eq!(kept(&in_order).unwrap(), in_order);
        assert_eq!(kept(&[[1, 8, 9], [5, 3, 9], [2, 3, 8]]).unwrap(), [[1, 8, 9], [2, 3, 8]]);
        assert_eq!(kept(&[[1, 4, 9]]), None);
    }

    #[test]
    fn one_merge_of_those_that_make_a_token_happens() {
        let kept = |merges: &[[u32; 3]]| {
            let ids = [0, 1, 2, 3, 4, 5];
            merges_that_happen(&ids, &TOKENS, merges.to_vec(), &mut Unwatched).unwrap().unwrap()
        };
        let merges = [[0, 4, 5], [3, 2, 5], [1, 2, 4], [0, 1, 3]];
        assert_eq!(kept(&merges), [[0, 4, 5], [1, 2, 4], [0, 1, 3]]);
        // A token that no merge makes is never merged.
        assert_eq!(kept(&[[3, 2, 5], [1, 2, 4]]), [[1, 2, 4]]);
    }
}
