//! Builds the bytes of all tokens from merges, for valid vocabularies.
//!
//! It is the fast path of loading. It reports only that something is wrong; the caller then finds out what.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use crate::memory;
use crate::memory::cells::{Cells, Content};

/// The tokens of a vocabulary, concatenated in the order of their ids.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Spelled {
    pub ids: Vec<u32>,
    pub joined: Vec<u8>,
    pub ends: Vec<u64>,
}

/// The memory of a merge besides its token's bytes: a pair, a place, an id and an end.
const BYTES_PER_MERGE: usize = 128;

/// Ids are indices of an array, and must be below this factor times the number of tokens.
const SPREAD: usize = 8;

/// Build the token of every merge (left id, right id, resulting id); `base` has the id of every byte.
///
/// `None` if a pair is merged twice, a parent is made too late, an id has two spellings, the tokens exceed `most` bytes
/// or the memory, or ids are too far apart. The caller then finds out what is wrong, if anything.
pub fn spell_merges(base: &[u32; 256], merges: &[[u32; 3]], most: usize) -> Option<Spelled> {
    memory::ensure(merges.len() * BYTES_PER_MERGE).ok()?;
    let spread = SPREAD * (base.len() + merges.len());
    let ids = || base.iter().copied().chain(merges.iter().map(|&[_, _, id]| id));
    let largest = ids().max().map(|id| id as usize).filter(|&id| id < spread)?;
    if !are_distinct(merges) || spelled_length(base, merges, largest) > most as u64 {
        return None;
    }
    let mut tokens = SpelledTokens { bytes: Vec::new(), places: vec![TokenPlace::default(); largest + 1] };
    let mut bytes: Vec<(u32, u8)> = base.iter().copied().zip(0..=255).collect();
    bytes.sort_unstable();
    for (id, byte) in bytes {
        tokens.add_byte(id, byte)?;
    }
    for &[left, right, id] in merges {
        tokens.join(left, right, id, most.saturating_add(base.len()))?;
    }
    memory::ensure(2 * tokens.bytes.len()).ok()?;
    Some(tokens.in_order())
}

/// How many bytes the tokens of merges have in all: a few merges can double one without end.
fn spelled_length(base: &[u32; 256], merges: &[[u32; 3]], largest: usize) -> u64 {
    let mut lengths = vec![0_u64; largest + 1];
    base.iter().for_each(|&id| lengths[id as usize] = 1);
    let mut total = 0_u64;
    for &[left, right, id] in merges {
        let length = |id: u32| lengths.get(id as usize).copied().unwrap_or(0);
        let length = length(left).saturating_add(length(right));
        total = total.saturating_add(length);
        lengths[id as usize] = length;
    }
    total
}

/// Convert the symbols of merges to ids: the first 256 symbols are the bytes; new tokens are numbered from `first` on.
/// With shared tokens a pair may be merged again; only its first merge is kept. Returns the id after the last new one, too.
pub fn number_merges<'a>(
    merges: &'a [[u32; 3]],
    base: &[u32; 256],
    first: u32,
) -> (Cow<'a, [[u32; 3]]>, u32) {
    let id = |symbol: u32| match base.get(symbol as usize) {
        Some(&id) => id,
        None => first.wrapping_add(symbol - base.len() as u32),
    };
    let end = merges
        .iter()
        .map(|&[_, _, result]| result.saturating_add(1))
        .max()
        .unwrap_or(0)
        .max(base.len() as u32);
    let is_new_each_time = merges.windows(2).all(|two| two[0][2] < two[1][2]);
    if is_new_each_time && (0..=256).all(|symbol| id(symbol) == symbol) {
        return (Cow::Borrowed(merges), end);
    }
    let mut numbered: Vec<_> = merges.iter().map(|merge| merge.map(id)).collect();
    if !is_new_each_time {
        let mut seen = HashSet::with_capacity(merges.len());
        numbered.retain(|&[left, right, _]| seen.insert((left, right)));
    }
    (Cow::Owned(numbered), id(end))
}

/// Whether the parents of every merge (left, right and resulting token) are bytes or results of earlier merges. `None`
/// if the result of a merge is not its parents' bytes.
pub fn spelled_in_order(tokens: &[&[u8]], merges: &[[u32; 3]]) -> Option<bool> {
    let mut made: Vec<bool> = tokens.iter().map(|token| token.len() == 1).collect();
    let mut in_order = true;
    for &[left, right, both] in merges {
        let token = |number: u32| tokens.get(number as usize).copied();
        let (first, second, whole) = (token(left)?, token(right)?, token(both)?);
        if whole.len() != first.len() + second.len() || !whole.starts_with(first) || !whole.ends_with(second)
        {
            return None;
        }
        in_order &= made[left as usize] && made[right as usize];
        made[both as usize] = true;
    }
    Some(in_order)
}

/// Up to so many numbers for each id, a table of all numbers is quicker than searching.
const FEW_GAPS: usize = 4;

/// The places of ids; `None` if they are not in their order, or one is not among them.
pub fn places_of(ids: &[u32], merges: &[[u32; 3]]) -> Option<Vec<[u32; 3]>> {
    let (&first, &last) = (ids.first()?, ids.last()?);
    if !ids.is_sorted_by(|one, other| one < other) {
        return None;
    }
    if last as usize > FEW_GAPS * ids.len() {
        let place = |id| ids.binary_search(&id).ok().map(|place| place as u32);
        return merges
            .iter()
            .map(|&[left, right, made]| Some([place(left)?, place(right)?, place(made)?]))
            .collect();
    }
    // Without gaps, as in most vocabularies, an id is an index.
    let has_gaps = (last - first) as usize != ids.len() - 1;
    let mut table = vec![u32::MAX; if has_gaps { last as usize + 1 } else { 0 }];
    if has_gaps {
        (0..).zip(ids).for_each(|(place, &id)| table[id as usize] = place);
    }
    let place = |id: u32| {
        if has_gaps {
            table.get(id as usize).copied().filter(|&place| place != u32::MAX)
        } else {
            id.checked_sub(first).filter(|_| id <= last)
        }
    };
    merges.iter().map(|&[left, right, made]| Some([place(left)?, place(right)?, place(made)?])).collect()
}

/// What is to know of tokens with ids, and their merges (rows of ids).
#[derive(Debug, PartialEq, Eq)]
pub struct Checked {
    /// Whether the parents of every merge are bytes or results of earlier merges.
    pub in_order: bool,
    /// The id of each single byte.
    pub bytes: Vec<(u32, u8)>,
}

/// Check tokens and merges. `None` if ids are not in their order, a merge names no token or does not make its parents'
/// bytes, or a pair is merged twice.
pub fn checked(ids: &[u32], tokens: &[&[u8]], merges: &[[u32; 3]]) -> Option<Checked> {
    if ids.len() != tokens.len() || !are_distinct(merges) {
        return None;
    }
    let in_order = spelled_in_order(tokens, &places_of(ids, merges)?)?;
    let bytes = ids.iter().zip(tokens);
    let bytes = bytes.filter_map(|(&id, token)| if let &[byte] = *token { Some((id, byte)) } else { None });
    Some(Checked { in_order, bytes: bytes.collect() })
}

/// Whether no pair is merged twice.
pub fn are_distinct(merges: &[[u32; 3]]) -> bool {
    let Ok(mut pairs) = Cells::<u64>::new(merges.len(), Content::LateZeros) else { return false };
    for (pair, &[left, right, _]) in pairs.iter_mut().zip(merges) {
        *pair = u64::from(left) << 32 | u64::from(right);
    }
    pairs.sort_unstable();
    pairs.windows(2).all(|two| two[0] != two[1])
}

/// The place of a token's bytes; length 0 if there is no such token.
#[derive(Clone, Copy, Default)]
struct TokenPlace {
    start: u32,
    length: u32,
}

/// Tokens in the order in which they are made.
struct SpelledTokens {
    bytes: Vec<u8>,
    /// By id.
    places: Vec<TokenPlace>,
}

impl SpelledTokens {
    fn add_byte(&mut self, id: u32, byte: u8) -> Option<()> {
        let place = self.places.get_mut(id as usize).filter(|place| place.length == 0)?;
        *place = TokenPlace { start: u32::try_from(self.bytes.len()).ok()?, length: 1 };
        self.bytes.push(byte);
        Some(())
    }

    fn join(&mut self, left: u32, right: u32, id: u32, most: usize) -> Option<()> {
        let parents = [self.range(left)?, self.range(right)?];
        let start = self.bytes.len();
        let length = parents[0].len() + parents[1].len();
        if length > most.checked_sub(start)? {
            return None;
        }
        self.bytes.try_reserve(length).ok()?;
        for parent in parents {
            self.bytes.extend_from_within(parent);
        }
        if let Some(known) = self.range(id) {
            let is_same = self.bytes[known] == self.bytes[start..];
            self.bytes.truncate(start);
            return is_same.then_some(());
        }
        *self.places.get_mut(id as usize)? =
            TokenPlace { start: u32::try_from(start).ok()?, length: u32::try_from(length).ok()? };
        Some(())
    }

    /// The range of a token's bytes, if there is a token of that id.
    fn range(&self, id: u32) -> Option<Range<usize>> {
        let place = self.places.get(id as usize).filter(|place| place.length > 0)?;
        let start = place.start as usize;
        Some(start..start + place.length as usize)
    }

    fn in_order(self) -> Spelled {
        let (mut ids, mut ends, mut end) = (Vec::new(), Vec::new(), 0);
        let mut is_in_order = true;
        for (id, place) in (0..).zip(&self.places).filter(|(_, place)| place.length > 0) {
            is_in_order &= u64::from(place.start) == end;
            end += u64::from(place.length);
            ids.push(id);
            ends.push(end);
        }
        let joined = if is_in_order { self.bytes } else { self.joined(&ids) };
        Spelled { ids, joined, ends }
    }

    /// The bytes of tokens, concatenated.
    fn joined(&self, ids: &[u32]) -> Vec<u8> {
        ids.iter().filter_map(|&id| self.range(id)).flat_map(|range| &self.bytes[range]).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes() -> [u32; 256] {
        std::array::from_fn(|byte| byte as u32)
    }

    #[test]
    fn tokens_are_spelled_in_the_order_of_their_ids() {
        let mut base = bytes();
        base.reverse();
        let (a, b) = (base[usize::from(b'a')], base[usize::from(b'b')]);
        let spelled = spell_merges(&base, &[[a, b, 301], [301, a, 300]], 5).unwrap();
        assert_eq!(spelled.ids[255..], [255, 300, 301]);
        assert_eq!(spelled.joined[254..], *b"\x01\x00abaab");
        assert_eq!(spelled.ends[255..], [256, 259, 261]);
    }

    #[test]
    fn symbols_become_ids_and_a_pair_is_merged_once() {
        let mut base = bytes();
        base.reverse();
        let merges = [[0, 1, 256], [256, 0, 257], [0, 1, 256]];
        let (numbered, end) = number_merges(&merges, &base, 300);
        assert_eq!((&numbered[..], end), (&[[255, 254, 300], [300, 255, 301]][..], 302));
        assert_eq!(number_merges(&merges, &bytes(), 256).0[..], merges[..2]);
        assert_eq!(number_merges(&[], &base, 300).1, 300);
    }

    #[test]
    fn symbols_that_are_ids_are_not_copied() {
        let merges = [[0, 1, 256], [256, 0, 257]];
        assert!(matches!(number_merges(&merges, &bytes(), 256), (Cow::Borrowed(_), 258)));
        assert!(matches!(number_merges(&merges, &bytes(), 257), (Cow::Owned(_), 259)));
    }

    #[test]
    fn two_merges_may_make_the_same_token() {
        let merges = [[97, 97, 256], [256, 97, 257], [97, 256, 257]];
        assert_eq!(spell_merges(&bytes(), &merges, 100).unwrap().ids.len(), 258);
    }

    #[test]
    fn the_order_of_merges_and_what_they_spell_is_checked() {
        let tokens: [&[u8]; 5] = [b"a", b"b", b"ab", b"aba", b""];
        assert_eq!(spelled_in_order(&tokens, &[[0, 1, 2], [2, 0, 3]]), Some(true));
        assert_eq!(spelled_in_order(&tokens, &[[2, 0, 3], [0, 1, 2]]), Some(false));
        for wrong in [[0, 1, 3], [1, 0, 2], [0, 9, 2], [2, 4, 3]] {
            assert_eq!(spelled_in_order(&tokens, &[wrong]), None);
        }
    }

    #[test]
    fn ids_have_places_with_gaps_or_without() {
        for ids in [[3, 4, 5], [3, 4, 6], [3, 4, 1 << 30]] {
            assert_eq!(places_of(&ids, &[[4, 3, ids[2]]]), Some(vec![[1, 0, 2]]));
            for wrong in [0, 2, 7, u32::MAX] {
                assert_eq!(places_of(&ids, &[[4, 3, wrong]]), None);
            }
        }
        assert_eq!(places_of(&[], &[]), None);
    }

    #[test]
    fn tokens_and_merges_are_checked_together() {
        let tokens: [&[u8]; 4] = [b"a", b"ab", b"b", b"aba"];
        let checked_merges = |merges: &[[u32; 3]]| checked(&[5, 7, 8, 20], &tokens, merges);
        let bytes = vec![(5, b'a'), (8, b'b')];
        let in_order = Checked { in_order: true, bytes: bytes.clone() };
        assert_eq!(checked_merges(&[[5, 8, 7], [7, 5, 20]]), Some(in_order));
        assert_eq!(checked_merges(&[[7, 5, 20], [5, 8, 7]]), Some(Checked { in_order: false, bytes }));
        for wrong in [[5, 8, 20], [5, 6, 7]] {
            assert_eq!(checked_merges(&[wrong]), None);
        }
        assert_eq!(checked_merges(&[[5, 8, 7], [5, 8, 7]]), None);
        assert_eq!(checked(&[5, 5, 8, 20], &tokens, &[]), None);
    }

    #[test]
    fn invalid_merges_are_not_spelled() {
        let wrong: [&[[u32; 3]]; 7] = [
            &[[97, 98, 256], [97, 98, 257]],
            &[[97, 256, 257], [97, 98, 256]],
            &[[97, 98, 256], [98, 99, 256]],
            &[[97, 98, 99]],
            &[[97, 98, 1 << 20]],
            &[[1 << 20, 98, 256]],
            &[[97, 98, 256], [256, 98, 257]],
        ];
        for merges in wrong {
            assert_eq!(spell_merges(&bytes(), merges, 4), None, "{merges:?}");
        }
        let mut twice = bytes();
        twice[7] = 8;
        assert_eq!(spell_merges(&twice, &[], 4), None);
    }
}
