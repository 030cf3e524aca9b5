//! Checks the tokens and merges of a vocabulary, and lists all tokens in the order of their ids.
//!
//! ```text
//! tokens             0 a    1 b
//! merges (with ids)  0 + 1 = 3    3 + 0 = 2
//! all tokens         0 a    1 b    2 aba    3 ab
//! ```
//!
//! The result of a merge may be a token already, from the list or from an earlier merge; then it
//! must spell the same bytes.

use std::collections::HashSet;
use std::ops::Range;

use super::TokenList;
use crate::error::{Error, Result};
use crate::key::hasher::Keyed;
use crate::memory;

/// The result of the check.
#[derive(Debug, PartialEq, Eq)]
pub struct CompleteTokens {
    /// All tokens, unless merges add none.
    pub all: Option<TokenList>,
    /// Whether the parents of every merge are bytes or results of earlier merges.
    pub in_order: bool,
    /// The id of each single byte that has one.
    pub id_of_byte: Vec<(u8, u32)>,
}

/// The largest size of the tokens that merges add: a few merges can double a token without end.
const MOST_BYTES: usize = 1 << 28;

/// The memory of a token or a merge besides its bytes.
const BYTES_PER_TOKEN: usize = 64;

/// What is wrong with a parent.
const NOT_MADE_EARLIER: &str = "no earlier merge makes";

/// Adds the results of merges (left, right and resulting id) to the tokens, and checks all of them.
///
/// Unless they may be `irregular`, each byte has a token, and parents are bytes or results of
/// earlier merges.
pub fn complete_tokens(
    ids: &[u32],
    tokens: &[&[u8]],
    merges: &[[u32; 3]],
    irregular: bool,
) -> Result<CompleteTokens> {
    let length: usize = tokens.iter().map(|token| token.len()).sum();
    memory::ensure(length + (ids.len() + merges.len()) * BYTES_PER_TOKEN)?;
    let id_of_byte = ids_of_bytes(ids, tokens, irregular)?;
    if let Some(rank) = first_repeated(merges)? {
        let [left, right, _] = merges[rank];
        return Err(Error::Value(format!("pair ({left}, {right}) is given twice")));
    }

    let places = Places::new(ids);
    let mut all_ids = ids.to_vec();
    for &[_, _, result] in merges {
        if places.get(result).is_none() {
            all_ids.push(result);
        }
    }
    let is_complete = all_ids.len() == ids.len();
    all_ids.sort();
    all_ids.dedup();
    if all_ids.last() == Some(&u32::MAX) {
        let most = u32::MAX - 1;
        return Err(Error::Value(format!(
            "ids must lie between 0 and {most}: {} was given",
            u32::MAX
        )));
    }

    let places = Places::new(&all_ids);
    let fault = if irregular { "no token has" } else { NOT_MADE_EARLIER };
    let rows = places.rows(merges).map_err(|(rank, id)| wrong_parent(rank, id, fault))?;

    // By place: where the bytes of a token are in `text` (nowhere yet: an empty range), and whether
    // it is a byte or made.
    let mut text = tokens.concat();
    let mut ranges = memory::filled(0..0, all_ids.len())?;
    let mut is_made = memory::filled(false, all_ids.len())?;
    let mut start = 0;
    for (&id, token) in ids.iter().zip(tokens) {
        let place = places.get(id).unwrap_or_default() as usize;
        let end = start + token.len();
        ranges[place] = start..end;
        is_made[place] = token.len() == 1;
        start = end;
    }
    // Before any of them is spelled: the text would grow without bound.
    let added = added_bytes(&ranges, &rows);
    if added > MOST_BYTES {
        let message = format!("the tokens of the merges have more than {MOST_BYTES} bytes in all");
        return Err(Error::Value(message));
    }
    memory::reserve(&mut text, added)?;

    let mut in_order = true;
    for (rank, row) in rows.iter().enumerate() {
        let [left, right, result] = row.map(|place| place as usize);
        for parent in [left, right] {
            in_order &= is_made[parent];
            if ranges[parent].is_empty() || !(irregular || is_made[parent]) {
                return Err(wrong_parent(rank, all_ids[parent], NOT_MADE_EARLIER));
            }
        }
        is_made[result] = true;
        let [first, second, token] = [left, right, result].map(|place| ranges[place].clone());
        if token.is_empty() {
            let start = text.len();
            text.extend_from_within(first);
            text.extend_from_within(second);
            ranges[result] = start..text.len();
        } else {
            let spellings = [first, second, token].map(|range| &text[range]);
            check_spelled(rank, spellings, all_ids[result])?;
        }
    }
    if is_complete {
        return Ok(CompleteTokens { all: None, in_order, id_of_byte });
    }

    memory::ensure(text.len())?;
    let mut list = TokenList::default();
    for (&id, range) in all_ids.iter().zip(ranges) {
        list.push(id, &text[range]);
    }
    Ok(CompleteTokens { all: Some(list), in_order, id_of_byte })
}

/// Returns the id of each byte that has a token.
fn ids_of_bytes(ids: &[u32], tokens: &[&[u8]], irregular: bool) -> Result<Vec<(u8, u32)>> {
    let mut id_of_byte = [None; 256];
    for (&id, &token) in ids.iter().zip(tokens) {
        match *token {
            [] => return Err(Error::Value(format!("token {id} is empty"))),
            [byte] => {
                if let Some(first) = id_of_byte[usize::from(byte)].replace(id) {
                    return Err(Error::Value(format!("byte {byte} has two ids, {first} and {id}")));
                }
            }
            _ => {}
        }
    }
    let mut present = Vec::new();
    for (byte, id) in (0..=255).zip(id_of_byte) {
        match id {
            Some(id) => present.push((byte, id)),
            None if irregular => {}
            None => return Err(Error::Value(format!("the base tokens lack byte {byte}"))),
        }
    }
    Ok(present)
}

/// Returns the number of bytes that merges add to the text. A parent that has no bytes yet counts
/// as none; it is an error later.
fn added_bytes(ranges: &[Range<usize>], rows: &[[u32; 3]]) -> usize {
    let mut lengths: Vec<usize> = ranges.iter().map(Range::len).collect();
    let mut added = 0_usize;
    for row in rows {
        let [left, right, result] = row.map(|place| place as usize);
        if lengths[result] == 0 {
            lengths[result] = lengths[left].saturating_add(lengths[right]);
            added = added.saturating_add(lengths[result]);
        }
    }
    added
}

fn wrong_parent(rank: usize, id: u32, fault: &str) -> Error {
    Error::Value(format!("merge {rank} uses id {id}, which {fault}"))
}

/// Checks that a token is what its parents spell.
fn check_spelled(rank: usize, [first, second, token]: [&[u8]; 3], id: u32) -> Result<()> {
    let has_length = token.len() == first.len() + second.len();
    if has_length && token.starts_with(first) && token.ends_with(second) {
        return Ok(());
    }
    let both = shown(&[first, second].concat());
    let token = shown(token);
    Err(Error::Value(format!("merge {rank} makes {both}, but id {id} is {token}")))
}

/// Returns bytes as Python writes them; of many, the first.
pub fn shown(bytes: &[u8]) -> String {
    let (first, rest) = bytes.split_at(bytes.len().min(40));
    let more = if rest.is_empty() { "" } else { "..." };
    format!("b'{}{more}'", first.escape_ascii())
}

/// The places of ids in ascending order.
pub struct Places<'a> {
    ids: &'a [u32],
    /// The place of each number up to the last id. Empty if there are many gaps: the ids are
    /// searched then.
    table: Vec<u32>,
}

/// There is a table if it has at most this many numbers for each id.
const FEW_GAPS: usize = 4;

impl<'a> Places<'a> {
    pub fn new(ids: &'a [u32]) -> Self {
        let end = ids.last().map_or(0, |&last| last as usize + 1);
        let mut table = Vec::new();
        if end <= FEW_GAPS * ids.len() {
            table = vec![u32::MAX; end];
            for (place, &id) in (0..).zip(ids) {
                table[id as usize] = place;
            }
        }
        Self { ids, table }
    }

    #[inline]
    pub fn get(&self, id: u32) -> Option<u32> {
        if self.table.is_empty() {
            return self.ids.binary_search(&id).ok().map(|place| place as u32);
        }
        self.table.get(id as usize).copied().filter(|&place| place != u32::MAX)
    }

    /// Returns merges as rows of places; the error is the rank of the first that names another id,
    /// and that id.
    pub fn rows(&self, merges: &[[u32; 3]]) -> std::result::Result<Vec<[u32; 3]>, (usize, u32)> {
        let mut rows = Vec::with_capacity(merges.len());
        for (rank, merge) in merges.iter().enumerate() {
            let mut row = *merge;
            for id in &mut row {
                *id = self.get(*id).ok_or((rank, *id))?;
            }
            rows.push(row);
        }
        Ok(rows)
    }
}

/// Whether the parents of every merge (left, right and resulting token) are bytes or results of
/// earlier merges.
pub fn parents_come_first(tokens: &[&[u8]], merges: &[[u32; 3]]) -> bool {
    let mut is_made: Vec<bool> = tokens.iter().map(|token| token.len() == 1).collect();
    for merge in merges {
        let [left, right, result] = merge.map(|token| token as usize);
        if !is_made[left] || !is_made[right] {
            return false;
        }
        is_made[result] = true;
    }
    true
}

/// Returns the first merge whose pair an earlier one has.
pub fn first_repeated(merges: &[[u32; 3]]) -> Result<Option<usize>> {
    let pair = |&[left, right, _]: &[u32; 3]| u64::from(left) << 32 | u64::from(right);
    // Sorted pairs show whether there is one at all; only then is it looked for.
    let mut pairs = memory::gathered(merges.iter().map(pair))?;
    pairs.sort_unstable();
    let are_distinct = pairs.windows(2).all(|two| two[0] != two[1]);
    if are_distinct {
        return Ok(None);
    }
    let mut seen = HashSet::with_capacity_and_hasher(merges.len(), Keyed::default());
    Ok(merges.iter().position(|merge| !seen.insert(pair(merge))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(ids: impl Iterator<Item = u32>) -> Vec<(u32, Vec<u8>)> {
        ids.zip(0..=255).map(|(id, byte)| (id, vec![byte])).collect()
    }

    fn completed(
        mut tokens: Vec<(u32, Vec<u8>)>,
        merges: &[[u32; 3]],
        irregular: bool,
    ) -> std::result::Result<CompleteTokens, String> {
        tokens.sort();
        let ids: Vec<u32> = tokens.iter().map(|&(id, _)| id).collect();
        let spelled: Vec<&[u8]> = tokens.iter().map(|(_, token)| token.as_slice()).collect();
        complete_tokens(&ids, &spelled, merges, irregular).map_err(|error| error.to_string())
    }

    #[test]
    fn tokens_of_merges_are_added_in_the_order_of_ids() {
        let base = bytes((0..256).rev());
        let (a, b) = (255 - u32::from(b'a'), 255 - u32::from(b'b'));
        let all = completed(base, &[[a, b, 301], [301, a, 300]], false).unwrap();
        assert!(all.in_order);
        assert_eq!(all.id_of_byte[97], (b'a', a));
        let all = all.all.unwrap();
        assert_eq!(all.ids[255..], [255, 300, 301]);
        assert_eq!(all.joined[254..], *b"\x01\x00abaab");
        assert_eq!(all.ends[255..], [256, 259, 261]);
    }

    #[test]
    fn two_merges_may_make_the_same_token_with_any_id() {
        let merges = [[97, 97, 1 << 30], [1 << 30, 97, u32::MAX - 1], [97, 1 << 30, u32::MAX - 1]];
        assert_eq!(completed(bytes(0..), &merges, false).unwrap().all.unwrap().ids.len(), 258);
    }

    #[test]
    fn irregular_merges_may_come_before_their_parents_and_bytes_may_lack() {
        let tokens = || vec![(0, b"a".to_vec()), (1, b"b".to_vec()), (2, b"ab".to_vec())];
        let irregular =
            |merges: &[[u32; 3]]| completed(tokens(), merges, true).map(|all| all.in_order);
        assert_eq!(irregular(&[[0, 1, 2], [2, 0, 3]]), Ok(true));
        assert_eq!(irregular(&[[2, 0, 3], [0, 1, 2]]), Ok(false));
        assert!(
            irregular(&[[3, 0, 4], [2, 0, 3]])
                .unwrap_err()
                .contains("id 3, which no earlier merge makes")
        );
        assert!(
            irregular(&[[0, 9, 2]]).unwrap_err().contains("merge 0 uses id 9, which no token has")
        );
        assert!(completed(tokens(), &[], false).unwrap_err().contains("lack byte 0"));
    }

    #[test]
    fn what_is_wrong_is_told() {
        let wrong: [(&[[u32; 3]], &str); 5] = [
            (&[[97, 98, 256], [97, 98, 257]], "pair (97, 98) is given twice"),
            (&[[97, 256, 257], [97, 98, 256]], "merge 0 uses id 256, which no earlier merge makes"),
            (&[[97, 98, 256], [98, 99, 256]], "merge 1 makes b'bc', but id 256 is b'ab'"),
            (&[[97, 98, 99]], "merge 0 makes b'ab', but id 99 is b'c'"),
            (&[[1 << 20, 98, 256]], "merge 0 uses id 1048576, which no earlier merge makes"),
        ];
        for (merges, message) in wrong {
            assert_eq!(completed(bytes(0..), merges, false).unwrap_err(), message);
        }
        for (token, message) in
            [(b"a" as &[u8], "byte 97 has two ids, 97 and 300"), (b"", "token 300 is empty")]
        {
            let tokens = [bytes(0..), vec![(300, token.to_vec())]].concat();
            assert_eq!(completed(tokens, &[], false).unwrap_err(), message);
        }
    }

    #[test]
    fn merges_that_double_a_token_without_end_are_refused() {
        let merges: Vec<[u32; 3]> = (256..400)
            .map(|id| if id == 256 { [97, 97, id] } else { [id - 1, id - 1, id] })
            .collect();
        assert!(
            completed(bytes(0..), &merges, false)
                .unwrap_err()
                .contains("more than 268435456 bytes")
        );
    }

    #[test]
    fn ids_have_places_with_gaps_or_without() {
        for ids in [[3, 4, 5], [3, 4, 6], [3, 4, 1 << 30]] {
            let places = Places::new(&ids);
            assert_eq!(places.rows(&[[4, 3, ids[2]]]), Ok(vec![[1, 0, 2]]));
            for wrong in [0, 2, 7, u32::MAX] {
                assert_eq!(places.rows(&[[4, 3, 4], [4, 3, wrong]]), Err((1, wrong)));
            }
        }
        assert_eq!(Places::new(&[]).get(0), None);
    }

    #[test]
    fn the_first_repeated_pair_is_found() {
        assert_eq!(first_repeated(&[[0, 1, 2], [1, 0, 3], [0, 1, 3]]).unwrap(), Some(2));
        assert_eq!(first_repeated(&[[0, 1, 2], [1, 0, 3]]).unwrap(), None);
    }
}
