//! Merges one pretoken: the merge with the lowest rank first, the leftmost among equals.
//!
//! Up to 64 bytes, every step takes the minimum of an array of ranks. Longer pretokens are merged
//! window by window, which is exact for every merge list, and linear:
//!
//! - A step merges *the lowest-ranked, leftmost pair of all*. Merges inside a span of text are
//!   therefore the same, in the same order, whether the span stands alone or in a text where no
//!   merge crosses its ends.
//! - So each token of a result, and each pair of neighbours, is also the result for its bytes
//!   alone.
//! - Conversely, if all pairs of neighbours pass that test, the tokens are the result for the
//!   whole: up to the first merge across a border, the two tokens next to it would have had the
//!   same merges alone, and would have been joined, too.
//! - So two overlapping windows whose results share a token at the same place may be joined there.
//!
//! Before all this, a pretoken is cut between bytes that no merge ever joins; in Chinese text, that
//! is nearly everywhere.
//!
//! If windows share no token (as with very long tokens), wider ones are tried, which are merged
//! with a heap; the widest is the whole pretoken, in n log n steps for any input.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;

use super::NO_ID;
use super::merges::{BytePair, FIRST_OF_THREE, Merge, Merges, RANK_BITS};
use crate::error::{Error, Result};
use crate::memory;
use crate::tokens::TokenBytes;
use crate::watch::Pulse;

/// The longest pretoken that is merged with an array of ranks: a rank and a place fit 32 bits.
pub const SHORT: usize = 1 << (32 - RANK_BITS);
/// The number of bytes that are merged between two beats of the pulse.
const BEAT: usize = 1 << 16;
/// The number of heap steps between two beats of the pulse.
const HEAP_STEPS: usize = 1 << 16;

/// How many times as wide the next window is if two windows share no token, or tokens are nearly as
/// long as windows.
const WIDER: usize = 64;

/// How many times as long the end of a pretoken is merged again if it shares no token with the
/// earlier result: fewer than for windows, because this is done whenever a few bytes are appended.
/// (For runs of spaces, 96 bytes are usually enough.)
const LONGER: usize = 4;

/// From this size on, memory for a pretoken is checked first: per byte a token, an id, and a place
/// on a heap that may have just doubled.
const LARGE: usize = 1 << 16;
const BYTES_PER_BYTE: usize = size_of::<PlacedToken>() + size_of::<u32>() + 2 * size_of::<u64>();

/// Memory that is reused from one pretoken to the next.
pub struct Scratch {
    short: Box<[ShortPretoken; 1]>,
    heap: BinaryHeap<Candidate>,
    placed: Vec<PlacedToken>,
    window: Vec<u32>,
}

impl Scratch {
    pub fn new() -> Result<Self> {
        let none = [Merge::NONE; SHORT];
        let empty = || ShortPretoken {
            ids: [0; SHORT],
            merges: none,
            starts: 0,
            length: 0,
            of_bytes: none,
        };
        Ok(Self {
            short: memory::boxed_array(empty)?,
            heap: BinaryHeap::new(),
            placed: Vec::new(),
            window: Vec::new(),
        })
    }

    /// The size of the memory for long pretokens in bytes.
    pub fn grown(&self) -> usize {
        size_of::<u64>() * self.heap.capacity()
            + size_of::<PlacedToken>() * self.placed.capacity()
            + size_of::<u32>() * self.window.capacity()
    }
}

/// A pair of tokens that merge, on a heap: the rank in the highest bits, then the place, so that the
/// lowest rank is on top, leftmost first.
pub type Candidate = Reverse<u64>;

/// A token at the place of its first byte, and where the one before it begins.
#[derive(Clone, Copy)]
struct PlacedToken {
    id: u32,
    previous: u32,
}

/// What a thread merges pretokens with.
pub struct Merger<'a, 'p> {
    pub merges: &'a Merges,
    pub tokens: &'a TokenBytes,
    pub scratch: &'a mut Scratch,
    pub pulse: &'a mut Pulse<'p>,
}

impl Merger<'_, '_> {
    /// Appends the ids of a pretoken.
    pub fn merge(&mut self, pretoken: &[u8], ids: &mut Vec<u32>) -> Result<()> {
        self.check_memory(pretoken)?;
        let mut rest = pretoken;
        while !rest.is_empty() {
            let unmerged = self.scratch.short[0].merge_stretches(self.merges, rest, ids);
            self.pulse.beat(rest.len() - unmerged.len())?;
            rest = unmerged;
            let length = self.joined_length(rest);
            if length > SHORT {
                self.merge_by_windows(&rest[..length], ids)?;
                rest = &rest[length..];
            }
        }
        Ok(())
    }

    /// Checks that there is memory for a pretoken, if it is long.
    pub fn check_memory(&self, pretoken: &[u8]) -> Result<()> {
        if pretoken.len() < LARGE {
            return Ok(());
        }
        memory::ensure(pretoken.len().saturating_mul(BYTES_PER_BYTE))
    }

    /// Merges a pretoken whose first `done` bytes alone have the ids `earlier`. Returns how many of
    /// these it begins with, too, and sets `ids` to those behind them.
    pub fn merge_longer(
        &mut self,
        pretoken: &[u8],
        earlier: &[u32],
        done: usize,
        ids: &mut Vec<u32>,
    ) -> Result<usize> {
        let mut overlap = overlap(SHORT);
        loop {
            let (kept, start) = self.window_start(earlier, done, overlap);
            ids.clear();
            self.merge(&pretoken[start..], ids)?;
            if kept == 0 {
                return Ok(0);
            }
            if let Some((shared, in_window)) = self.shared_token(&earlier[kept..], ids) {
                ids.drain(..in_window);
                return Ok(kept + shared);
            }
            overlap = overlap.saturating_mul(LONGER);
        }
    }

    /// The number of bytes up to the first place where no merge joins two bytes.
    fn joined_length(&self, bytes: &[u8]) -> usize {
        let are_apart = |two: &[u8]| !self.merges.of_bytes(two[0], two[1]).are_joined();
        match bytes.windows(2).position(are_apart) {
            Some(place) => place + 1,
            None => bytes.len(),
        }
    }

    /// Where a window begins that overlaps `done` bytes by at least `overlap`, if they are so long:
    /// the number of their tokens before it, and its place. It begins with one of their tokens.
    fn window_start(&self, tokens: &[u32], done: usize, overlap: usize) -> (usize, usize) {
        let mut before = tokens.len();
        let mut start = done;
        while before > 0 && start + overlap > done {
            before -= 1;
            start -= length_of(tokens[before], self.tokens);
        }
        (before, start)
    }

    /// Appends the ids of a long pretoken, window by window.
    fn merge_by_windows(&mut self, pretoken: &[u8], ids: &mut Vec<u32>) -> Result<()> {
        let first = ids.len();
        let mut done = 0;
        let mut size = SHORT;
        let mut window = mem::take(&mut self.scratch.window);
        while done < pretoken.len() {
            let (before, start) = self.window_start(&ids[first..], done, overlap(size));
            let kept = first + before;
            let end = pretoken.len().min(start + size);
            // Tokens are nearly as long as the window, which brings too little.
            if end < pretoken.len() && end < done + size / 4 {
                size = size.saturating_mul(WIDER);
                continue;
            }
            window.clear();
            if end - start <= SHORT {
                self.scratch.short[0].merge_stretches(
                    self.merges,
                    &pretoken[start..end],
                    &mut window,
                );
            } else {
                let bytes = pretoken[start..end].iter();
                window.extend(bytes.map(|&byte| self.merges.base(byte)));
                self.merge_with_heap(&mut window, BinaryHeap::pop)?;
            }
            // A window from the beginning replaces all that is done.
            let shared =
                if start == 0 { Some((0, 0)) } else { self.shared_token(&ids[kept..], &window) };
            match shared {
                Some((shared, in_window)) => {
                    ids.truncate(kept + shared);
                    memory::extend(ids, &window[in_window..])?;
                    self.pulse.beat(end - done)?;
                    done = end;
                }
                None => size = size.saturating_mul(WIDER),
            }
        }
        self.scratch.window = window;
        Ok(())
    }

    /// The first token that two results have at the same place, as an index into each; both begin
    /// at the same place.
    fn shared_token(&self, current: &[u32], next: &[u32]) -> Option<(usize, usize)> {
        let mut i = 0;
        let mut j = 0;
        let mut start = 0;
        let mut next_start = 0;
        while i < current.len() && j < next.len() {
            if start == next_start && current[i] == next[j] {
                return Some((i, j));
            }
            if start <= next_start {
                start += length_of(current[i], self.tokens);
                i += 1;
            } else {
                next_start += length_of(next[j], self.tokens);
                j += 1;
            }
        }
        None
    }

    /// Merges tokens further.
    pub fn merge_tokens(&mut self, ids: &mut Vec<u32>) -> Result<()> {
        if ids.len() > SHORT {
            return self.merge_with_heap(ids, BinaryHeap::pop);
        }
        self.scratch.short[0].merge_tokens(self.merges, ids);
        Ok(())
    }

    /// Merges the tokens of a pretoken of less than 4 GiB further, each time at the candidate that
    /// `take` takes from the heap, until it takes none.
    pub fn merge_with_heap(
        &mut self,
        ids: &mut Vec<u32>,
        mut take: impl FnMut(&mut BinaryHeap<Candidate>) -> Option<Candidate>,
    ) -> Result<()> {
        self.place(ids)?;
        let Self { merges, tokens, .. } = *self;
        let Scratch { heap, placed, .. } = &mut *self.scratch;
        let after =
            |placed: &[PlacedToken], place: usize| place + length_of(placed[place].id, tokens);
        // The merge of the token at a place and the next one.
        let merge_at = |placed: &[PlacedToken], place: usize| {
            let next = placed.get(after(placed, place));
            next.map_or(Merge::NONE, |next| merges.pairs.get(placed[place].id, next.id))
        };
        let offer = |heap: &mut BinaryHeap<_>, placed: &[PlacedToken], place: usize| {
            let merge = merge_at(placed, place);
            if merge != Merge::NONE {
                heap.push(Reverse(u64::from(merge.rank()) << 32 | place as u64));
            }
        };
        heap.clear();
        for place in 0..placed.len() {
            offer(heap, placed, place);
        }
        let mut steps = 0;
        while let Some(Reverse(entry)) = take(heap) {
            steps += 1;
            if steps % HEAP_STEPS == 0 {
                self.pulse.check()?;
            }
            let rank = (entry >> 32) as u32;
            let place = entry as u32 as usize;
            let merge = merge_at(placed, place);
            // An outdated entry is recognised by its rank.
            if merge == Merge::NONE || merge.rank() != rank {
                continue;
            }
            let absorbed = after(placed, place);
            placed[absorbed].id = NO_ID;
            placed[place].id = merge.id();
            if let Some(next) = placed.get_mut(place + length_of(merge.id(), tokens)) {
                next.previous = place as u32;
            }
            offer(heap, placed, place);
            if place > 0 {
                offer(heap, placed, placed[place].previous as usize);
            }
        }
        ids.clear();
        let mut place = 0;
        while place < placed.len() {
            ids.push(placed[place].id);
            place = after(placed, place);
        }
        Ok(())
    }

    /// Puts tokens to the places of their first bytes.
    fn place(&mut self, ids: &[u32]) -> Result<()> {
        let length: usize = ids.iter().map(|&id| length_of(id, self.tokens)).sum();
        if u32::try_from(length).is_err() {
            return Err(Error::Value(format!("a pretoken of {length} bytes is too long")));
        }
        let placed = &mut self.scratch.placed;
        placed.clear();
        memory::reserve(placed, length)?;
        let mut previous = 0;
        for &id in ids {
            let start = placed.len();
            placed.push(PlacedToken { id, previous });
            let nothing = PlacedToken { id: NO_ID, previous };
            placed.resize(start + length_of(id, self.tokens), nothing);
            previous = start as u32;
        }
        Ok(())
    }
}

/// The number of bytes that a token stands for; a byte may have no token.
fn length_of(id: u32, tokens: &TokenBytes) -> usize {
    tokens.length(id).unwrap_or(1)
}

/// How many bytes of a window of this size are merged already, or a few more: a window begins with
/// a token.
fn overlap(size: usize) -> usize {
    size / 8 * 3
}

/// The token of the character of three bytes at a place, if it is merged wherever it is between its
/// neighbours. Its first two bytes are.
#[inline]
fn certain_character(merges: &Merges, bytes: &[u8], place: usize) -> Option<u32> {
    let (before, character) = bytes.split_at(place);
    let (&[first, second, third], rest) = character.split_first_chunk()?;
    let behind = rest.first().map_or(BytePair::NONE, |&next| merges.of_bytes(third, next));
    merges.certain_character(before.last().copied(), [first, second, third], behind)
}

/// The tokens of a short pretoken, at the places of their first bytes, and the merge of each with
/// the next one.
struct ShortPretoken {
    ids: [u32; SHORT],
    /// The merge and the place of each pair in one number, so that the minimum is the lowest rank,
    /// leftmost first. From `length` on, and once nothing merges any more, all are `NONE`.
    merges: [Merge; SHORT],
    /// A bit for every place where a token starts.
    starts: u64,
    length: usize,
    /// The merges of neighbouring bytes.
    of_bytes: [Merge; SHORT],
}

impl ShortPretoken {
    /// Appends the ids of the parts between places to cut, up to a part of more than `SHORT` bytes
    /// or until the next beat of the pulse is due; returns the rest.
    #[inline]
    fn merge_stretches<'a>(
        &mut self,
        merges: &Merges,
        mut bytes: &'a [u8],
        ids: &mut Vec<u32>,
    ) -> &'a [u8] {
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

    /// Merges some tokens, from one to `SHORT`, further.
    fn merge_tokens(&mut self, merges: &Merges, ids: &mut Vec<u32>) {
        self.length = ids.len();
        self.starts = u64::MAX >> (SHORT - self.length);
        self.ids[..self.length].copy_from_slice(ids);
        for (place, pair) in ids.windows(2).enumerate() {
            self.merges[place] = merges.pairs.get(pair[0], pair[1]).at(place);
        }
        while self.step(merges) {}
        ids.clear();
        self.append_to(ids);
    }

    /// Loads bytes up to the first place to cut, and returns their number; `None` if there are none
    /// or more than `SHORT`.
    #[inline]
    fn load(&mut self, merges: &Merges, bytes: &[u8]) -> Option<usize> {
        let (&first, following) = bytes.split_first()?;
        let (mut last, mut length) = (first, 1);
        self.ids[0] = merges.base(first);
        let (mut before, mut pair, mut certain) = (BytePair::NONE, BytePair::NONE, 0_u64);
        for &byte in following {
            let next = merges.of_bytes(last, byte);
            if !next.are_joined() {
                break;
            }
            if length == SHORT {
                return None;
            }
            // `pair` ends with `last` and begins at `length - 2`. There is none at first: its bit
            // is shifted out.
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
        self.start(merges, &bytes[..length], certain);
        Some(length)
    }

    /// Begins with the tokens of certain characters and pairs, and single bytes. `certain` has a
    /// bit for the place of each certain pair.
    #[inline]
    fn start(&mut self, merges: &Merges, bytes: &[u8], certain: u64) {
        let (mut pairs, mut characters) = (certain, 0);
        while pairs != 0 {
            let place = pairs.trailing_zeros() as usize;
            self.ids[place] = self.of_bytes[place].id();
            if bytes[place] >= FIRST_OF_THREE
                && let Some(id) = certain_character(merges, bytes, place)
            {
                self.ids[place] = id;
                characters |= 1 << place;
            }
            pairs &= pairs - 1;
        }
        // The places where tokens start: all but the second byte of a pair, and the third of a
        // character.
        let mut rest = u64::MAX >> (SHORT - bytes.len()) & !(certain << 1 | characters << 2);
        let (mut place, mut count) = (0, 0);
        loop {
            rest &= rest - 1;
            self.ids[count] = self.ids[place];
            if rest == 0 {
                break;
            }
            let next = rest.trailing_zeros() as usize;
            // Two single bytes have a merge that was loaded already.
            let merge = if (certain >> place | certain >> next) & 1 == 0 {
                self.of_bytes[place]
            } else {
                merges.pairs.get(self.ids[place], self.ids[next])
            };
            self.merges[count] = merge.at(count);
            (place, count) = (next, count + 1);
        }
        self.length = count + 1;
        self.starts = u64::MAX >> (SHORT - self.length);
    }

    /// Applies the merge of the lowest rank; returns false if there is none.
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
        let with_next =
            (following < SHORT).then(|| merges.pairs.ask(best.id(), self.ids[following]));
        let earlier = self.starts & ((1 << place) - 1);
        if earlier != 0 {
            let before = SHORT - 1 - earlier.leading_zeros() as usize;
            let with_previous = merges.pairs.ask(self.ids[before], best.id());
            self.merges[before] = merges.pairs.answer(with_previous).at(before);
        }
        if let Some(with_next) = with_next {
            self.merges[place] = merges.pairs.answer(with_next).at(place);
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
