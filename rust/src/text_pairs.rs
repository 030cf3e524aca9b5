//! Resolves merges that are given as pairs of texts to merges of tokens, and finds out which of them can ever apply.
//!
//! Files of other libraries list merges as pairs of texts. Some list every way to divide a token in two. At most one of
//! the merges that result in a token ever applies: wherever the token appears in a text, the merges inside it are those
//! of its bytes alone (see [`crate::recover`]), and the last of these results in the token.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::recover::{Keyed, MergeRun, Rule, TOKENS_PER_ITEM};
use crate::token_numbers::{NO_TOKEN, Spellings};
use crate::watch::{Pulse, Watch};
use crate::workers::each;

/// The number that stands for a text that is no token.
pub const UNKNOWN: u32 = NO_TOKEN;

/// For every line `left right`: find the tokens of the left part, of the right part, and of both together.
///
/// The inner error is the number of the first line that does not have two parts. All tokens must be distinct.
pub fn resolve_pairs(
    tokens: &[&[u8]],
    lines: &[u8],
    watch: &mut dyn Watch,
) -> Result<std::result::Result<Vec<[u32; 3]>, usize>> {
    let spellings = Spellings::new(tokens)?;
    let mut pulse = Pulse::of(watch);
    let mut rows = Vec::new();
    let mut both = Vec::new();
    if lines.is_empty() {
        return Ok(Ok(rows));
    }
    for (number, line) in lines.split(|&byte| byte == b'\n').enumerate() {
        pulse.beat(line.len())?;
        let mut parts = line.split(|&byte| byte == b' ');
        let (Some(left), Some(right), None) = (parts.next(), parts.next(), parts.next()) else {
            return Ok(Err(number));
        };
        both.clear();
        both.extend_from_slice(left);
        both.extend_from_slice(right);
        // In most files, merges are in the order of their results.
        let following = rows.last().map_or(0, |row: &[u32; 3]| row[2].wrapping_add(1));
        let made = match tokens.get(following as usize) {
            Some(&token) if token == both => following,
            _ => spellings.find(&both),
        };
        rows.push([spellings.find(left), spellings.find(right), made]);
    }
    Ok(Ok(rows))
}

/// For each merge (left, right and resulting token, in the order of rank): whether it ever applies in any text.
pub fn happening_merges(tokens: &[&[u8]], merges: &[[u32; 3]], watch: &mut dyn Watch) -> Result<Vec<bool>> {
    let rule = Pairs::new(tokens, merges)?;
    let mut is_made = vec![false; tokens.len()];
    merges.iter().for_each(|&[_, _, made]| is_made[made as usize] = true);
    let made: Vec<&[u8]> =
        tokens.iter().zip(is_made).filter_map(|(&token, is_made)| is_made.then_some(token)).collect();
    let last_merges = each(made.chunks(TOKENS_PER_ITEM), &mut Pulse::of(watch), |tokens, pulse| {
        let mut merge_run = MergeRun::default();
        let last_rank = |&token: &&[u8]| {
            pulse.beat(token.len())?;
            Ok(merge_run.run(&rule, token)?.map(|[_, _, rank]| rank))
        };
        tokens.iter().map(last_rank).collect::<Result<Vec<_>>>()
    })?;
    let mut happen = vec![false; merges.len()];
    last_merges.iter().flatten().flatten().for_each(|&rank| happen[rank as usize] = true);
    Ok(happen)
}

/// The rule by which two neighbours merge if they are a pair of the list.
struct Pairs {
    byte: [u32; 256],
    merge_of: HashMap<u64, (u32, u32), Keyed>,
}

impl Pairs {
    fn new(tokens: &[&[u8]], merges: &[[u32; 3]]) -> Result<Self> {
        let mut byte = [UNKNOWN; 256];
        for (number, &token) in (0..).zip(tokens) {
            if let &[value] = token {
                byte[usize::from(value)] = number;
            }
        }
        let mut merge_of = HashMap::with_capacity_and_hasher(merges.len(), Keyed::random());
        for (rank, &[left, right, made]) in (0..UNKNOWN).zip(merges) {
            if [left, right, made].iter().any(|&token| token as usize >= tokens.len()) {
                return Err(Error::Value(format!("merge {rank} names a token that does not exist")));
            }
            merge_of.entry(pair(left, right)).or_insert((rank, made));
        }
        Ok(Self { byte, merge_of })
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

    #[test]
    fn lines_become_rows_of_tokens() {
        let rows = resolve_pairs(&TOKENS, b"a b\nb c\nab c\nx c\na c", &mut Unwatched).unwrap().unwrap();
        let expected = [[0, 1, 3], [1, 2, 4], [3, 2, 5], [UNKNOWN, 2, UNKNOWN], [0, 2, UNKNOWN]];
        assert_eq!(rows, expected);
        assert_eq!(resolve_pairs(&TOKENS, b"", &mut Unwatched).unwrap(), Ok(vec![]));
    }

    #[test]
    fn a_line_without_two_parts_is_reported() {
        for (lines, number) in [(&b"a b\nab"[..], 1), (b"a b c", 0), (b"a b\n", 1)] {
            assert_eq!(resolve_pairs(&TOKENS, lines, &mut Unwatched).unwrap(), Err(number));
        }
    }

    #[test]
    fn one_merge_of_those_that_make_a_token_happens() {
        let merges = [[0, 4, 5], [3, 2, 5], [1, 2, 4], [0, 1, 3]];
        let happen = happening_merges(&TOKENS, &merges, &mut Unwatched).unwrap();
        assert_eq!(happen, [true, false, true, true]);
    }

    #[test]
    fn a_merge_of_a_token_that_no_merge_makes_never_happens() {
        let happen = happening_merges(&TOKENS, &[[3, 2, 5], [1, 2, 4]], &mut Unwatched).unwrap();
        assert_eq!(happen, [false, true]);
        assert!(happening_merges(&TOKENS, &[[9, 2, 5]], &mut Unwatched).is_err());
    }
}
