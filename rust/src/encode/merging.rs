//! Merges one pretoken: the merge with the lowest rank first, the leftmost among equals.
//!
//! Up to 64 bytes, every step takes the minimum of an array of ranks. Longer pretokens are merged window by window, which
//! is exact for every merge list, and linear:
//!
//! - A step merges *the lowest-ranked, leftmost pair of all*. Merges inside a span of text are therefore the same, in the
//!   same order, whether the span stands alone or in a text where no merge crosses its ends.
//! - So each token of a result, and each pair of neighbours, is also the result for its bytes alone.
//! - Conversely, if all pairs of neighbours pass that test, the tokens are the result for the whole: up to the first merge
//!   across a border, the two tokens next to it would have had the same merges alone, and would have been joined, too.
//! - So two overlapping windows whose results share a token at the same place may be joined there.
//!
//! Before all this, a pretoken is cut between bytes that no merge ever joins; in Chinese text, that is nearly everywhere.
//!
//! If windows share no token (as with very long tokens), wider ones are tried; then the whole pretoken is merged with a
//! heap, in n log n steps for any input.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::merges::{BytePair, Merge, Merges, RANK_BITS};
use crate::error::{Error, Result};
use crate::memory;
use crate::tokens::TokenBytes;
use crate::watch::Pulse;

/// The longest pretoken that is merged with an array of ranks; a rank and a position fit 32 bits.
pub const SHORT: usize = 1 << (32 - RANK_BITS);
const NO_PAIR: u32 = u32::MAX;
/// The number of bytes that are merged between two beats of the pulse.
const BEAT: usize = 1 << 16;
/// The number of heap steps between two beats of the pulse.
const HEAP_STEPS: usize = 1 << 16;

/// Window sizes and overlaps, in the order in which they are tried.
const WINDOWS: [(usize, usize); 2] = [(SHORT, 24), (4096, 1024)];

/// From this size on, memory for a pretoken is checked first: per byte a node, an id, and a place on a heap that may
/// have just doubled.
const LARGE: usize = 1 << 16;
const BYTES_PER_BYTE: usize = size_of::<LinkedToken>() + size_of::<u32>() + 2 * size_of::<u64>();

/// Memory that is reused from one pretoken to the next.
pub struct Scratch {
    short: Box<[ShortPretoken; 1]>,
    heap: BinaryHeap<Reverse<u64>>,
    nodes: Vec<LinkedToken>,
    window: Vec<u32>,
    next_window: Vec<u32>,
}

impl Scratch {
    pub fn new() -> Result<Self> {
        let none = [Merge::NONE; SHORT];
        let empty = || ShortPretoken { ids: [0; SHORT], merges: none, starts: 0, length: 0, of_bytes: none };
        Ok(Self {
            short: memory::boxed_array(empty)?,
            heap: BinaryHeap::new(),
            nodes: Vec::new(),
            window: Vec::new(),
            next_window: Vec::new(),
        })
    }

    /// The size of the memory for long pretokens in bytes.
    pub fn grown(&self) -> usize {
        let ids = self.window.capacity() + self.next_window.capacity();
        size_of::<u64>() * self.heap.capacity()
            + size_of::<LinkedToken>() * self.nodes.capacity()
            + size_of::<u32>() * ids
    }
}

/// A token in a doubly linked list over the bytes of a pretoken.
#[derive(Clone, Copy)]
struct LinkedToken {
    id: u32,
    previous: u32,
    next: u32,
    /// The rank of the pair made of this token and the next, if there is such a merge.
    rank: u32,
}

const END: u32 = u32::MAX;

/// Append the ids of a pretoken.
pub fn merge(
    merges: &Merges,
    tokens: &TokenBytes,
    pretoken: &[u8],
    ids: &mut Vec<u32>,
    scratch: &mut Scratch,
    pulse: &mut Pulse,
) -> Result<()> {
    if pretoken.len() >= LARGE {
        memory::ensure(pretoken.len().saturating_mul(BYTES_PER_BYTE))?;
    }
    let mut rest = pretoken;
    while !rest.is_empty() {
        let left = scratch.short[0].merge_stretches(merges, rest, ids);
        pulse.beat(rest.len() - left.len())?;
        rest = left;
        let length = joined_length(merges, rest);
        if length > SHORT {
            merge_long(merges, tokens, &rest[..length], ids, scratch, pulse)?;
            rest = &rest[length..];
        }
    }
    Ok(())
}

/// The number of bytes that a token stands for; a byte may have no token.
pub fn length_of(id: u32, tokens: &TokenBytes) -> usize {
    tokens.length(id).unwrap_or(1)
}

/// The first token that two results have at the same place, as an index into each; both begin at the same place.
pub fn shared_token(current: &[u32], next: &[u32], tokens: &TokenBytes) -> Option<(usize, usize)> {
    let (mut i, mut j) = (0, 0);
    let (mut start, mut next_start) = (0, 0);
    while i < current.len() && j < next.len() {
        if start == next_start && current[i] == next[j] {
            return Some((i, j));
        }
        if start <= next_start {
            start += length_of(current[i], tokens);
            i += 1;
        } else {
            next_start += length_of(next[j], tokens);
            j += 1;
        }
    }
    None
}

/// The number of bytes up to the first place where no merge joins two bytes.
fn joined_length(merges: &Merges, bytes: &[u8]) -> usize {
    let apart = bytes.windows(2).position(|two| !merges.may_join(two[0], two[1]));
    apart.map_or(bytes.len(), |place| place + 1)
}

/// Append the ids of more than `SHORT` bytes without a place to cut.
fn merge_long(
    merges: &Merges,
    tokens: &TokenBytes,
    pretoken: &[u8],
    ids: &mut Vec<u32>,
    scratch: &mut Scratch,
    pulse: &mut Pulse,
) -> Result<()> {
    for (size, overlap) in WINDOWS {
        let before = ids.len();
        if size < pretoken.len() {
            let windows = Windows { merges, tokens, pretoken, size, overlap };
            if windows.merge(ids, scratch, pulse)? {
                return Ok(());
            }
            ids.truncate(before);
        }
    }
    merge_with_heap(merges, pretoken, ids, scratch, pulse)
}

/// The tokens of a short pretoken, at the places of their first bytes, and the merge of each with the next one.
struct ShortPretoken {
    ids: [u32; SHORT],
    /// The merge and the place of each pair in one number, so that the minimum is the lowest rank, leftmost first. From
    /// `length` on, and once nothing merges any more, all are `NONE`.
    merges: [Merge; SHORT],
    /// A bit for every place where a token starts.
    starts: u64,
    length: usize,
    /// The merges of neighbouring bytes.
    of_bytes: [Merge; SHORT],
}

impl ShortPretoken {
    /// Append the ids of the parts between places to cut, up to a part of more than `SHORT` bytes or until the next beat
    /// of the pulse is due; return the rest.
    #[inline]
    fn merge_stretches<'a>(&mut self, merges: &Merges, mut bytes: &'a [u8], ids: &mut Vec<u32>) -> &'a [u8] {
        let enough = bytes.len().saturating_sub(BEAT);
        while bytes.len() > enough
            && let Some(length) = self.load(merges, bytes)
        {
            while self.step(merges) {}
            self.append_to(ids);
            bytes = &bytes[length..];
        }
        bytes
    }

    /// Load bytes up to the first place to cut, and return their number; `None` if there are none or more than `SHORT`.
    #[inline]
    fn load(&mut self, merges: &Merges, bytes: &[u8]) -> Option<usize> {
        let (&first, others) = bytes.split_first()?;
        let (mut last, mut length) = (first, 1);
        self.ids[0] = merges.base(first);
        let (mut before, mut pair, mut certain) = (BytePair::NONE, BytePair::NONE, 0_u64);
        for &byte in others {
            let next = merges.of_bytes(last, byte);
            if next.merge() == Merge::NONE && !merges.may_join(last, byte) {
                break;
            }
            if length == SHORT {
                return None;
            }
            certain |= u64::from(pair.is_certain(before, next)) << (length - 1) >> 1;
            self.of_bytes[length - 1] = next.merge();
            self.ids[length] = merges.base(byte);
            last = byte;
            length += 1;
            (before, pair) = (pair, next);
        }
        if length > 1 {
            certain |= u64::from(pair.is_certain(before, BytePair::NONE)) << (length - 2);
        }
        self.start(merges, length, certain);
        Some(length)
    }

    /// Begin with the tokens of certain pairs, and single bytes.
    #[inline]
    fn start(&mut self, merges: &Merges, length: usize, certain: u64) {
        let mut pairs = certain;
        while pairs != 0 {
            let place = pairs.trailing_zeros() as usize;
            self.ids[place] = self.of_bytes[place].id();
            pairs &= pairs - 1;
        }
        let mut rest = u64::MAX >> (SHORT - length) & !(certain << 1);
        let (mut place, mut count) = (0, 0);
        loop {
            rest &= rest - 1;
            self.ids[count] = self.ids[place];
            if rest == 0 {
                break;
            }
            let next = rest.trailing_zeros() as usize;
            let merge = if (certain >> place | certain >> next) & 1 == 0 {
                self.of_bytes[place]
            } else {
                merges.get(self.ids[place], self.ids[next])
            };
            self.merges[count] = merge.at(count);
            (place, count) = (next, count + 1);
        }
        self.length = count + 1;
        self.starts = u64::MAX >> (SHORT - self.length);
    }

    /// Apply the merge of the lowest rank; false if there is none.
    #[inline]
    fn step(&mut self, merges: &Merges) -> bool {
        let best = self.smallest();
        if best == Merge::NONE {
            return false;
        }
        let place = best.place();
        self.ids[place] = best.id();
        let absorbed = self.after(place) % SHORT;
        self.starts &= !(1 << absorbed);
        self.merges[absorbed] = Merge::NONE;
        self.merges[place] = Merge::NONE;
        // Both pairs are asked for before either answer is waited for.
        let following = self.after(place);
        let with_next = (following < SHORT).then(|| merges.ask(best.id(), self.ids[following]));
        let earlier = self.starts & ((1 << place) - 1);
        if earlier != 0 {
            let before = SHORT - 1 - earlier.leading_zeros() as usize;
            let with_previous = merges.ask(self.ids[before], best.id());
            self.merges[before] = merges.answer(with_previous).at(before);
        }
        if let Some(with_next) = with_next {
            self.merges[place] = merges.answer(with_next).at(place);
        }
        true
    }

    /// The next merge to apply.
    #[inline]
    fn smallest(&self) -> Merge {
        let mut smallest = [Merge::NONE; 4];
        for four in self.merges.chunks_exact(4).take(self.length.div_ceil(4)) {
            for (smallest, &merge) in smallest.iter_mut().zip(four) {
                *smallest = merge.min(*smallest);
            }
        }
        let [a, b, c, d] = smallest;
        a.min(b).min(c.min(d))
    }

    /// The place of the token after the one at `place`; `SHORT` or more if there is none.
    #[inline]
    fn after(&self, place: usize) -> usize {
        place + 1 + (self.starts >> place >> 1).trailing_zeros() as usize
    }

    fn append_to(&self, ids: &mut Vec<u32>) {
        let mut starts = self.starts;
        while starts != 0 {
            ids.push(self.ids[starts.trailing_zeros() as usize]);
            starts &= starts - 1;
        }
    }
}

/// A long pretoken, merged in windows of `size` bytes that overlap by `overlap` bytes or a little more.
struct Windows<'a> {
    merges: &'a Merges,
    tokens: &'a TokenBytes,
    pretoken: &'a [u8],
    size: usize,
    overlap: usize,
}

impl Windows<'_> {
    /// Append all ids; false (with an arbitrary part appended) if two windows could not be joined.
    fn merge(&self, ids: &mut Vec<u32>, scratch: &mut Scratch, pulse: &mut Pulse) -> Result<bool> {
        let mut current = std::mem::take(&mut scratch.window);
        let mut next = std::mem::take(&mut scratch.next_window);
        let joined = self.merge_all(ids, &mut current, &mut next, scratch, pulse);
        scratch.window = current;
        scratch.next_window = next;
        joined
    }

    fn merge_all(
        &self,
        ids: &mut Vec<u32>,
        current: &mut Vec<u32>,
        next: &mut Vec<u32>,
        scratch: &mut Scratch,
        pulse: &mut Pulse,
    ) -> Result<bool> {
        // `ids`, then `current` from index `first` on, are the result for all bytes up to `end`.
        let mut end = self.size;
        let mut first = 0;
        let mut first_start = 0;
        self.merge_window(0, end, current, scratch, pulse)?;
        while end < self.pretoken.len() {
            pulse.beat(self.size)?;
            let (restart, restart_start) = self.restart(current, first, first_start, end);
            if restart_start + self.size <= end + self.size / 4 {
                return Ok(false);
            }
            end = self.pretoken.len().min(restart_start + self.size);
            self.merge_window(restart_start, end, next, scratch, pulse)?;
            let Some((shared, shared_next)) = shared_token(&current[restart..], next, self.tokens) else {
                return Ok(false);
            };
            ids.extend_from_slice(&current[first..=restart + shared]);
            first = shared_next + 1;
            first_start = restart_start + self.length(&next[..first]);
            std::mem::swap(current, next);
        }
        ids.extend_from_slice(&current[first..]);
        Ok(true)
    }

    fn merge_window(
        &self,
        start: usize,
        end: usize,
        ids: &mut Vec<u32>,
        scratch: &mut Scratch,
        pulse: &mut Pulse,
    ) -> Result<()> {
        ids.clear();
        let bytes = &self.pretoken[start..end];
        if bytes.len() <= SHORT {
            scratch.short[0].merge_stretches(self.merges, bytes, ids);
            return Ok(());
        }
        merge_with_heap(self.merges, bytes, ids, scratch, pulse)
    }

    /// The last token, from index `first` on, that starts at least `overlap` bytes before `end`: its index and start.
    fn restart(&self, current: &[u32], first: usize, first_start: usize, end: usize) -> (usize, usize) {
        let (mut index, mut start) = (first, first_start);
        while index + 1 < current.len() {
            let following = start + self.length(&current[index..=index]);
            if following + self.overlap > end {
                break;
            }
            (index, start) = (index + 1, following);
        }
        (index, start)
    }

    fn length(&self, ids: &[u32]) -> usize {
        ids.iter().map(|&id| length_of(id, self.tokens)).sum()
    }
}

/// Append the ids of any number of bytes below 4 GiB.
fn merge_with_heap(
    merges: &Merges,
    bytes: &[u8],
    ids: &mut Vec<u32>,
    scratch: &mut Scratch,
    pulse: &mut Pulse,
) -> Result<()> {
    let mut tokens = LongPretoken::new(merges, bytes, scratch)?;
    let mut steps = 0;
    while let Some(Reverse(entry)) = tokens.heap.pop() {
        steps += 1;
        if steps % HEAP_STEPS == 0 {
            pulse.check()?;
        }
        let (rank, place) = ((entry >> 32) as u32, entry as u32);
        // An outdated entry is recognised by its rank.
        if tokens.nodes[place as usize].rank == rank {
            tokens.apply(place);
        }
    }
    tokens.append_to(ids);
    Ok(())
}

/// The tokens of a long pretoken in a linked list, and their merges in a heap.
struct LongPretoken<'a> {
    merges: &'a Merges,
    nodes: &'a mut Vec<LinkedToken>,
    heap: &'a mut BinaryHeap<Reverse<u64>>,
}

impl<'a> LongPretoken<'a> {
    fn new(merges: &'a Merges, bytes: &[u8], scratch: &'a mut Scratch) -> Result<Self> {
        let length = u32::try_from(bytes.len())
            .map_err(|_| Error::Value(format!("a pretoken of {} bytes is too long", bytes.len())))?;
        scratch.nodes.clear();
        scratch.nodes.extend((0..length).zip(bytes).map(|(place, &byte)| LinkedToken {
            id: merges.base(byte),
            previous: place.wrapping_sub(1),
            next: if place + 1 < length { place + 1 } else { END },
            rank: NO_PAIR,
        }));
        let mut entries = std::mem::take(&mut scratch.heap).into_vec();
        entries.clear();
        for place in 1..scratch.nodes.len() {
            let merge = merges.of_bytes(bytes[place - 1], bytes[place]).merge();
            if merge != Merge::NONE {
                scratch.nodes[place - 1].rank = merge.rank();
                entries.push(Reverse(u64::from(merge.rank()) << 32 | (place - 1) as u64));
            }
        }
        scratch.heap = BinaryHeap::from(entries);
        Ok(Self { merges, nodes: &mut scratch.nodes, heap: &mut scratch.heap })
    }

    /// Merge the token at `place` with the next one.
    fn apply(&mut self, place: u32) {
        let node = self.nodes[place as usize];
        let absorbed = self.nodes[node.next as usize];
        let merge = self.merges.get(node.id, absorbed.id);
        self.nodes[node.next as usize].rank = NO_PAIR;
        self.nodes[place as usize].id = merge.id();
        self.nodes[place as usize].next = absorbed.next;
        if absorbed.next != END {
            self.nodes[absorbed.next as usize].previous = place;
        }
        self.look_up(place);
        if node.previous != END {
            self.look_up(node.previous);
        }
    }

    fn look_up(&mut self, place: u32) {
        let node = self.nodes[place as usize];
        let merge = match node.next {
            END => Merge::NONE,
            next => self.merges.get(node.id, self.nodes[next as usize].id),
        };
        self.nodes[place as usize].rank = NO_PAIR;
        if merge != Merge::NONE {
            self.nodes[place as usize].rank = merge.rank();
            self.heap.push(Reverse(u64::from(merge.rank()) << 32 | u64::from(place)));
        }
    }

    fn append_to(&self, ids: &mut Vec<u32>) {
        let mut place = if self.nodes.is_empty() { END } else { 0 };
        while place != END {
            ids.push(self.nodes[place as usize].id);
            place = self.nodes[place as usize].next;
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::watch::Unwatched;

    /// Numbers that look random and are the same in every run.
    pub struct RandomNumbers(pub u64);

    impl RandomNumbers {
        pub fn below(&mut self, bound: usize) -> usize {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) as usize % bound
        }
    }

    /// A merge list over the first letters, in which several merges may make the same token.
    pub struct RandomVocabulary {
        pub merges: Merges,
        pub tokens: TokenBytes,
        pub rows: Vec<[u32; 3]>,
        pub ranks: Vec<u32>,
    }

    impl RandomVocabulary {
        pub fn new(numbers: &mut RandomNumbers, letters: usize, count: usize) -> Self {
            let mut spelled: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
            let mut made: Vec<u32> = (0..letters).map(|letter| b'a' as u32 + letter as u32).collect();
            let mut rows: Vec<[u32; 3]> = Vec::new();
            while rows.len() < count {
                let (left, right) = (made[numbers.below(made.len())], made[numbers.below(made.len())]);
                let token = [&spelled[left as usize][..], &spelled[right as usize]].concat();
                if token.len() > 40 || rows.iter().any(|row| row[..2] == [left, right]) {
                    continue;
                }
                let known = (numbers.below(2) == 0).then(|| spelled.iter().position(|other| *other == token));
                let id = known.flatten().unwrap_or(spelled.len());
                if id == spelled.len() {
                    spelled.push(token);
                    made.push(id as u32);
                }
                rows.push([left, right, id as u32]);
            }
            let tokens =
                TokenBytes::new(spelled.iter().enumerate().map(|(id, token)| (id as u32, &token[..])))
                    .unwrap();
            // Tokens may be used by merges that come before their own.
            let shuffled = numbers.below(2) == 0;
            for last in (1..rows.len()).rev().filter(|_| shuffled) {
                rows.swap(last, numbers.below(last + 1));
            }
            let base = Box::new(std::array::from_fn(|byte| byte as u32));
            // Of few ranks, or of one for each merge.
            let equal = [1, 1, 2, 5, 60][numbers.below(5)];
            let ranks: Vec<u32> = (0..rows.len() as u32).map(|rank| rank / equal * equal).collect();
            Self { merges: Merges::new(base, &rows, &ranks, &tokens).unwrap(), tokens, rows, ranks }
        }
    }

    /// The definition: the lowest-ranked, leftmost pair, again and again.
    pub fn defined(merges: &Merges, bytes: &[u8]) -> Vec<u32> {
        let mut ids: Vec<u32> = bytes.iter().map(|&byte| merges.base(byte)).collect();
        loop {
            let merge = |i: usize| merges.get(ids[i - 1], ids[i]);
            let possible = (1..ids.len()).filter(|&i| merge(i) != Merge::NONE);
            let Some(i) = possible.min_by_key(|&i| (merge(i).rank(), i)) else { return ids };
            let id = merge(i).id();
            ids.splice(i - 1..=i, [id]);
        }
    }

    fn text(numbers: &mut RandomNumbers, letters: usize, length: usize) -> Vec<u8> {
        let repeat = 1 + numbers.below(12);
        let mut bytes: Vec<u8> = (0..length).map(|_| b'a' + numbers.below(letters) as u8).collect();
        if numbers.below(2) == 0 {
            for i in repeat..length {
                bytes[i] = bytes[i - repeat];
            }
        }
        bytes
    }

    #[test]
    fn every_way_of_merging_gives_what_is_defined() {
        let mut numbers = RandomNumbers(7);
        for round in 0..300 {
            let letters = 1 + numbers.below(4);
            let count = numbers.below(if letters == 1 { 8 } else { 60 });
            let RandomVocabulary { merges, tokens, .. } = RandomVocabulary::new(&mut numbers, letters, count);
            for _ in 0..20 {
                let length = numbers.below(if round % 3 == 0 { 400 } else { 100 });
                let bytes = text(&mut numbers, letters, length);
                let expected = defined(&merges, &bytes);
                let mut scratch = Scratch::new().unwrap();
                let mut unwatched = Unwatched;
                let mut pulse = Pulse::of(&mut unwatched);
                let mut ids = vec![1];
                merge(&merges, &tokens, &bytes, &mut ids, &mut scratch, &mut pulse).unwrap();
                assert_eq!(ids[1..], expected);
                ids.clear();
                merge_with_heap(&merges, &bytes, &mut ids, &mut scratch, &mut pulse).unwrap();
                assert_eq!(ids, expected);
                for (size, overlap) in [(8, 3), (20, 10), (64, 24)] {
                    let windows =
                        Windows { merges: &merges, tokens: &tokens, pretoken: &bytes, size, overlap };
                    ids.clear();
                    if size < length && windows.merge(&mut ids, &mut scratch, &mut pulse).unwrap() {
                        assert_eq!(ids, expected);
                    }
                }
            }
        }
    }
}
