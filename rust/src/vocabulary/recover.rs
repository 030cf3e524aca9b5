//! Recovers merges from ranks alone: finds the two parents of each token.
//!
//! With ranks alone, two neighbouring tokens merge if their bytes together are a token: the lowest
//! rank first, the leftmost among equals. The parents of a token are the two tokens that are left
//! of its bytes before the last merge. They may have higher ranks than the token itself.
//!
//! Merging by these pairs gives the same ids as merging by ranks. Proof: consider a substring whose
//! ends no merge crosses.
//!
//! 1. The merges inside it are, one by one, those of the substring on its own: whenever the lowest
//!    and leftmost merge of the text is inside the substring, it is the lowest and leftmost there.
//! 2. On its own, the substring has one sequence of merges, each of which reduces the number of its
//!    tokens by one. So it consists of two tokens exactly once.
//! 3. By 1 and 2, no other pair ever results in that token. If the merges of a token's own bytes do
//!    not end with the token, no merge makes it in any text.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::check::shown;
use super::spellings::{NO_TOKEN, Spellings};
use crate::encode::ranks;
use crate::error::{Error, Result};
use crate::watch::{Pulse, Watch};
use crate::workers::{each, thread_count};

const NONE: u32 = NO_TOKEN;

/// The number of tokens that a thread takes at a time.
const TOKENS_PER_ITEM: usize = 1 << 12;

/// Returns the merges that make tokens, as rows of left, right and resulting id, and the ids of
/// tokens that no merge makes.
///
/// `tokens` must be in the order of rank; some may have `equal` ones.
pub fn recover_merges(
    ids: &[u32],
    tokens: &[&[u8]],
    equal: &[(u32, u32)],
    watch: &mut dyn Watch,
) -> Result<(Vec<[u32; 3]>, Vec<u32>)> {
    let rule = Ranks::new(tokens, ids, ranks(tokens.len(), equal)?)?;
    let last_merges = last_merges(&rule, tokens, watch)?;
    let mut rows = Vec::with_capacity(ids.len());
    let mut unreachable = Vec::new();
    for (number, last) in last_merges.into_iter().enumerate() {
        match last {
            Some([left, right, _]) => {
                rows.push([left, right, number as u32].map(|token| ids[token as usize]))
            }
            None if tokens[number].len() == 1 => {}
            None => unreachable.push(ids[number]),
        }
    }
    Ok((rows, unreachable))
}

/// Returns the last merge (left, right, rank) of each token's own bytes, if they become one token.
pub fn last_merges(
    rule: &(impl Rule + Sync),
    tokens: &[&[u8]],
    watch: &mut dyn Watch,
) -> Result<Vec<Option<[u32; 3]>>> {
    let threads = thread_count(None, usize::MAX);
    let pulse = &mut Pulse::of(watch);
    let of_chunks = each(threads, tokens.chunks(TOKENS_PER_ITEM), pulse, |chunk, pulse| {
        let mut merge_run = MergeRun::default();
        let mut last_merges = Vec::with_capacity(chunk.len());
        for token in chunk {
            pulse.beat(token.len())?;
            last_merges.push(merge_run.run(rule, token)?);
        }
        Ok(last_merges)
    })?;
    Ok(of_chunks.concat())
}

/// A rule that says which neighbours merge, and into which token.
pub trait Rule {
    /// Returns the token of a byte; `u32::MAX` if there is none.
    fn byte(&self, byte: u8) -> u32;
    /// Returns the rank and the resulting token of two neighbours that spell `bytes` together, if
    /// they merge.
    fn merge(&self, left: u32, right: u32, bytes: &[u8]) -> Option<(u32, u32)>;
}

/// The rule that two neighbours merge if their bytes together are a token. A token's number is its
/// place in the order of ranks.
struct Ranks<'a> {
    spellings: Spellings<'a>,
    /// The token of every byte.
    bytes: [u32; 256],
    /// The rank of every token by its number: tokens of equal rank share the number of the first.
    ranks: Vec<u32>,
}

impl<'a> Ranks<'a> {
    fn new(tokens: &'a [&'a [u8]], ids: &[u32], ranks: Vec<u32>) -> Result<Self> {
        let spellings = Spellings::new(tokens)?;
        for (number, &token) in tokens.iter().enumerate() {
            let first = spellings.find(token) as usize;
            if first != number {
                let token = shown(token);
                let [first, again] = [ids[first], ids[number]];
                let message = format!("token {token} appears twice, at ranks {first} and {again}");
                return Err(Error::Value(message));
            }
        }
        let bytes = std::array::from_fn(|byte| spellings.find(&[byte as u8]));
        Ok(Self { spellings, bytes, ranks })
    }
}

impl Rule for Ranks<'_> {
    fn byte(&self, byte: u8) -> u32 {
        self.bytes[usize::from(byte)]
    }

    fn merge(&self, left: u32, right: u32, bytes: &[u8]) -> Option<(u32, u32)> {
        if left == NONE || right == NONE {
            return None;
        }
        match self.spellings.find(bytes) {
            NONE => None,
            token => Some((self.ranks[token as usize], token)),
        }
    }
}

/// Tokens of at most this many bytes are merged without a heap, by a search among all pairs: it is
/// faster for them.
const SHORT: usize = 24;

/// The merge of two neighbours that do not merge: its rank is above all others.
const NO_MERGE: (u32, u32) = (NONE, NONE);

/// Does what [`MergeRun::run`] does, for a few bytes.
fn run_short(rule: &impl Rule, bytes: &[u8]) -> Option<[u32; 3]> {
    let mut count = bytes.len();
    let mut tokens = [NONE; SHORT];
    let mut starts = [0; SHORT + 1];
    // The rank and the result of merging a token with the next one.
    let mut merges = [NO_MERGE; SHORT];
    for (place, &byte) in bytes.iter().enumerate() {
        tokens[place] = rule.byte(byte);
        starts[place + 1] = place + 1;
    }
    let merge_at = |place: usize, tokens: &[u32], starts: &[usize]| {
        let both = &bytes[starts[place]..starts[place + 2]];
        rule.merge(tokens[place], tokens[place + 1], both).unwrap_or(NO_MERGE)
    };
    for place in 1..count {
        merges[place - 1] = merge_at(place - 1, &tokens, &starts);
    }
    let mut last = None;
    while count > 1 {
        // The leftmost of the lowest rank.
        let mut place = 0;
        for candidate in 1..count - 1 {
            if merges[candidate].0 < merges[place].0 {
                place = candidate;
            }
        }
        let (rank, result) = merges[place];
        if rank == NONE {
            return None;
        }
        last = Some([tokens[place], tokens[place + 1], rank]);
        // The result takes the place of both: what follows moves to the left.
        tokens.copy_within(place + 1..count, place);
        starts.copy_within(place + 2..=count, place + 1);
        merges.copy_within(place + 1..count, place);
        tokens[place] = result;
        count -= 1;
        if place + 1 < count {
            merges[place] = merge_at(place, &tokens, &starts);
        }
        if place > 0 {
            merges[place - 1] = merge_at(place - 1, &tokens, &starts);
        }
    }
    last
}

/// The tokens of a byte string while it is merged, as a doubly linked list indexed by start.
#[derive(Default)]
struct MergeRun {
    token: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    /// The rank and the result of merging a token with the next one.
    merge: Vec<(u32, u32)>,
    /// The rank and place of every pair. An outdated entry is recognised by its rank.
    heap: BinaryHeap<Reverse<(u32, u32)>>,
}

impl MergeRun {
    /// Merges bytes until no merge applies. Returns the last merge (left, right, rank) if one token
    /// remains.
    fn run(&mut self, rule: &impl Rule, bytes: &[u8]) -> Result<Option<[u32; 3]>> {
        if bytes.len() <= SHORT {
            return Ok(run_short(rule, bytes));
        }
        let Ok(length) = u32::try_from(bytes.len()) else {
            return Err(Error::Value(format!("a token of {} bytes is too long", bytes.len())));
        };
        self.begin(rule, bytes, length);

        let mut last = None;
        while let Some(Reverse((rank, start))) = self.heap.pop() {
            let place = start as usize;
            if self.merge[place].0 != rank {
                continue; // Outdated.
            }
            let absorbed = self.next[place] as usize;
            let following = self.next[absorbed];
            last = Some([self.token[place], self.token[absorbed], rank]);
            self.token[place] = self.merge[place].1;
            self.merge[absorbed] = NO_MERGE;
            self.next[place] = following;
            if following < length {
                self.previous[following as usize] = start;
            }
            self.look_up(rule, bytes, start);
            if start > 0 {
                self.look_up(rule, bytes, self.previous[place]);
            }
        }
        let is_one_token = self.next[0] == length;
        Ok(last.filter(|_| is_one_token))
    }

    /// Makes each byte a token, and looks up all merges.
    fn begin(&mut self, rule: &impl Rule, bytes: &[u8], length: u32) {
        self.token.clear();
        self.token.extend(bytes.iter().map(|&byte| rule.byte(byte)));
        self.next.clear();
        self.next.extend(1..=length);
        self.previous.clear();
        self.previous.extend((0..length).map(|start| start.wrapping_sub(1)));
        self.merge.clear();
        self.merge.resize(bytes.len(), NO_MERGE);
        self.heap.clear();
        for start in 0..length {
            self.look_up(rule, bytes, start);
        }
    }

    /// Looks up the merge of the token at `start` with the next one.
    fn look_up(&mut self, rule: &impl Rule, bytes: &[u8], start: u32) {
        let place = start as usize;
        let following = self.next[place] as usize;
        let mut merge = None;
        if let Some(&end) = self.next.get(following) {
            let both = &bytes[place..end as usize];
            merge = rule.merge(self.token[place], self.token[following], both);
        }
        self.merge[place] = merge.unwrap_or(NO_MERGE);
        if let Some((rank, _)) = merge {
            self.heap.push(Reverse((rank, start)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;
    use std::thread::{self, ThreadId};

    use super::*;
    use crate::watch::Unwatched;
    use crate::workers::lock;

    /// The merges of tokens (the ids are their places), and those that no merge makes.
    fn recovered(tokens: &[&str], equal: &[(u32, u32)]) -> (Vec<[u32; 3]>, Vec<u32>) {
        let bytes: Vec<&[u8]> = tokens.iter().map(|token| token.as_bytes()).collect();
        let ids: Vec<u32> = (0..tokens.len() as u32).collect();
        recover_merges(&ids, &bytes, equal, &mut Unwatched).unwrap()
    }

    #[test]
    fn a_token_is_made_of_the_two_tokens_that_lower_ranks_leave() {
        let (rows, _) = recovered(&["a", "b", "c", "bc", "ab", "abc"], &[]);
        assert_eq!(rows, [[1, 2, 3], [0, 1, 4], [0, 3, 5]]);
    }

    #[test]
    fn rows_are_of_ids() {
        let tokens: [&[u8]; 4] = [b"a", b"b", b"ab", b"bbb"];
        let found = recover_merges(&[7, 5, 9, 3], &tokens, &[], &mut Unwatched).unwrap();
        assert_eq!(found, (vec![[7, 5, 9]], vec![3]));
    }

    #[test]
    fn runs_merge_from_the_left() {
        let (rows, _) = recovered(&["a", "aa", "aaa", "aaaa", "aaaaa"], &[]);
        assert_eq!(rows, [[0, 0, 1], [1, 0, 2], [1, 1, 3], [1, 2, 4]]);
    }

    #[test]
    fn a_token_may_be_made_of_tokens_of_higher_ranks_or_of_none() {
        assert_eq!(recovered(&["a", "b", "c", "abc"], &[]), (vec![], vec![3]));
        assert_eq!(recovered(&["a", "b", "c", "abc", "ab"], &[]).0, [[4, 2, 3], [0, 1, 4]]);
        assert_eq!(recovered(&["a", "b", "abab", "ab"], &[]).0, [[3, 3, 2], [0, 1, 3]]);
    }

    #[test]
    fn a_token_with_a_byte_that_is_no_token_is_unreachable() {
        assert_eq!(recovered(&["a", "ab"], &[]), (vec![], vec![1]));
    }

    /// Nothing merges; keeps the threads that ask.
    #[derive(Default)]
    struct Asked(Mutex<HashSet<ThreadId>>);

    impl Rule for Asked {
        fn byte(&self, byte: u8) -> u32 {
            lock(&self.0).insert(thread::current().id());
            byte.into()
        }

        fn merge(&self, _: u32, _: u32, _: &[u8]) -> Option<(u32, u32)> {
            None
        }
    }

    #[test]
    fn many_tokens_start_no_more_threads_than_there_are_cores() {
        let (asked, tokens) = (Asked::default(), vec![&b"ab"[..]; 100 * TOKENS_PER_ITEM]);
        assert_eq!(last_merges(&asked, &tokens, &mut Unwatched).unwrap(), vec![None; tokens.len()]);
        assert!((1..=thread_count(None, usize::MAX)).contains(&lock(&asked.0).len()));
    }

    #[test]
    fn of_equal_ranks_the_leftmost_pair_is_merged_first() {
        let tokens = ["a", "b", "c", "bc", "ab", "abc"];
        assert_eq!(recovered(&tokens, &[(3, 5)]).0, [[1, 2, 3], [0, 1, 4], [4, 2, 5]]);
        let bytes = tokens.map(str::as_bytes);
        for wrong in [(3, 7), (5, 3)] {
            assert!(recover_merges(&[0, 1, 2, 3, 4, 5], &bytes, &[wrong], &mut Unwatched).is_err());
        }
    }

    #[test]
    fn a_token_given_twice_is_refused() {
        let twice = recover_merges(&[4, 7], &[b"a", b"a"], &[], &mut Unwatched).unwrap_err();
        assert_eq!(twice.to_string(), "token b'a' appears twice, at ranks 4 and 7");
    }

    #[test]
    fn a_long_token_takes_no_quadratic_time() {
        let long = "ab".repeat(200_000);
        assert_eq!(recovered(&["a", "b", "ab", &long], &[]), (vec![[0, 1, 2]], vec![3]));
    }
}
