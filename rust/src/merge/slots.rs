//! One flat array of slots that holds the tokens of all words.
//!
//! A token of span n takes n slots. Its code is in the first and in the last of them; the slot where its right part
//! began is a [`HOLE`]. A [`BOUNDARY`] is before the first word and after every word. So the slot before a token's
//! first slot names its left neighbour, and the slot after its last one names its right neighbour.
//!
//! A listed position is checked before it is used: the pair is there exactly when the left code is at the position and
//! the right code one left span further. This is safe because a slot that is no longer the first of a token never
//! shows a code that it showed as one: it is a hole, or, if the token that began there had one slot, the last slot of a
//! longer token.
//!
//! Words of equal count form a group, so a position leads to its word's count. Each share of the words has its own
//! stretch of the array and its own groups.
//!
//! Slots have 16 bits while all codes fit, then 32. Both widths use the same memory, so they are widened in place.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::ops::Range;

use super::pairs::key_of;
use super::tokens::{BOUNDARY, Code, FIRST, HOLE};
use super::{Share, Words};
use crate::error::Result;
use crate::memory;
use crate::memory::cells::{Cells, Content};
use crate::prefetch::prefetch;
use crate::token_numbers::Keyed;
use crate::watch::Pulse;
use crate::workers;

/// The integer type of a slot.
pub trait SlotWidth: Copy + Eq + Send + Sync {
    /// Whether codes may be too large for it.
    const IS_NARROW: bool;
    fn of(code: Code) -> Self;
    fn code(self) -> Code;
    /// Views memory as slots.
    fn slots(memory: &[u32]) -> &[Self];
    /// Views memory as mutable slots.
    fn slots_mut(memory: &mut [u32]) -> &mut [Self];
}

impl SlotWidth for u16 {
    const IS_NARROW: bool = true;
    fn of(code: Code) -> Self {
        code as u16
    }
    fn code(self) -> Code {
        Code::from(self)
    }
    fn slots(memory: &[u32]) -> &[Self] {
        // SAFETY: each u32 is two u16 in the same place, of which all bits are valid, and aligned for them.
        unsafe { std::slice::from_raw_parts(memory.as_ptr().cast(), 2 * memory.len()) }
    }
    fn slots_mut(memory: &mut [u32]) -> &mut [Self] {
        // SAFETY: as in `slots`; whatever is written is valid as u32 too, and the borrow is as exclusive.
        unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), 2 * memory.len()) }
    }
}

impl SlotWidth for u32 {
    const IS_NARROW: bool = false;
    fn of(code: Code) -> Self {
        code
    }
    fn code(self) -> Code {
        self
    }
    fn slots(memory: &[u32]) -> &[Self] {
        memory
    }
    fn slots_mut(memory: &mut [u32]) -> &mut [Self] {
        memory
    }
}

/// The number of slots that the words of each count need, for one share of the words.
pub struct Layout {
    share: Share,
    /// Counts and slots, highest count first.
    groups: Vec<(u64, u64)>,
}

impl Layout {
    /// Measures the words of a share; words without a pair are left out.
    pub fn measure<W: Words>(words: &W, share: Share, spans: &[u32], pulse: &mut Pulse<'_>) -> Result<Self> {
        let span = |unit: &W::Unit| u64::from(spans[(words.symbol(*unit) + FIRST) as usize]);
        let is_uniform = spans.iter().all(|&span| span == 1);
        let mut slots_of = HashMap::with_hasher(Keyed::random());
        words.visit(share, &mut |word, count| {
            pulse.beat(word.len())?;
            if word.len() >= 2 && count > 0 {
                let slots = if is_uniform { word.len() as u64 } else { word.iter().map(span).sum() };
                *slots_of.entry(count).or_insert(0) += 1 + slots;
            }
            Ok(())
        })?;
        let mut groups = memory::gathered(slots_of)?;
        groups.sort_unstable_by_key(|&(count, _)| Reverse(count));
        Ok(Self { share, groups })
    }

    /// The number of slots, which is also an upper bound of the number of merges.
    pub fn slots(&self) -> u64 {
        self.groups.iter().map(|group| group.1).sum()
    }

    /// Writes the words of the share to its stretch of the array.
    fn place<W: Words, S: SlotWidth>(
        &self,
        words: &W,
        spans: &[u32],
        slots: &mut [S],
        pulse: &mut Pulse<'_>,
    ) -> Result<()> {
        // Where the next word of each count begins.
        let (mut next_of, mut end) = (HashMap::with_hasher(Keyed::random()), 0);
        for &(count, needed) in &self.groups {
            next_of.insert(count, end);
            end += needed as usize;
        }
        words.visit(self.share, &mut |word, count| {
            pulse.beat(word.len())?;
            let Some(next) = next_of.get_mut(&count).filter(|_| word.len() >= 2) else { return Ok(()) };
            let mut at = *next;
            for &unit in word {
                let code = words.symbol(unit) + FIRST;
                let span = spans[code as usize] as usize;
                if span > 1 {
                    slots[at..at + span].fill(S::of(HOLE));
                    slots[at + span - 1] = S::of(code);
                }
                slots[at] = S::of(code);
                at += span;
            }
            *next = at + 1;
            Ok(())
        })
    }
}

/// All words with at least one pair.
pub struct Slots<S> {
    memory: Cells<u32>,
    len: usize,
    width: PhantomData<S>,
    /// The first slot of each group, and after them the end of the last group.
    starts: Vec<u32>,
    /// The count of each group.
    counts: Vec<u64>,
    /// For every block of slots, the group of its first slot.
    of_block: Vec<u32>,
}

/// An occurrence of a pair, with the count of its word.
#[derive(Clone, Copy, Default)]
pub struct PairAt {
    pub key: u64,
    pub count: u64,
    pub at: u32,
}

/// A group of words of equal count, and its range of slots.
#[derive(Clone, Copy, Default)]
pub struct Group {
    start: u32,
    end: u32,
    pub count: u64,
}

impl Group {
    pub fn contains(&self, at: u32) -> bool {
        self.start <= at && at < self.end
    }
}

/// Replaces the pair that fills these slots, whose right token begins at `middle`, by one token.
pub fn replace<S: SlotWidth>(pair: &mut [S], middle: usize, joined: Code) {
    let last = pair.len() - 1;
    pair[0] = S::of(joined);
    pair[middle] = S::of(HOLE);
    pair[last] = S::of(joined);
}

/// The size of a block in slots, as a power of two.
const BLOCK: u32 = 6;

impl<S: SlotWidth> Slots<S> {
    /// Writes the words, one thread per share; `may_widen` keeps addresses free for `widened`.
    pub fn fill<W: Words>(
        layouts: &[Layout],
        words: &W,
        spans: &[u32],
        may_widen: bool,
        pulse: &mut Pulse<'_>,
    ) -> Result<Self> {
        const { assert!(BOUNDARY == 0, "fresh memory is zeroed") };
        let (mut starts, mut counts, mut end) = (Vec::new(), Vec::new(), 1);
        for &(count, slots) in layouts.iter().flat_map(|layout| &layout.groups) {
            memory::push(&mut starts, end)?;
            memory::push(&mut counts, count)?;
            end += slots as u32;
        }
        starts.push(end);
        let len = end as usize;
        let bytes = len * if may_widen { size_of::<u32>() } else { size_of::<S>() };
        let memory = Cells::new(bytes.div_ceil(size_of::<u32>()), Content::LateZeros)?;
        let of_block = memory::filled(0, len.div_ceil(1 << BLOCK))?;
        let mut filled = Self { memory, len, width: PhantomData, starts, counts, of_block };
        filled.index();
        let (mut rest, mut work) = (&mut filled.all_mut()[1..], Vec::new());
        for layout in layouts {
            let (own, others) = rest.split_at_mut(layout.slots() as usize);
            work.push((layout, own));
            rest = others;
        }
        workers::each(layouts.len(), work, pulse, |(layout, slots), pulse| {
            layout.place(words, spans, slots, pulse)
        })?;
        Ok(filled)
    }

    /// Notes the group of every block of slots.
    fn index(&mut self) {
        self.of_block.truncate(self.len.div_ceil(1 << BLOCK));
        let mut group = 0;
        for (block, of_block) in self.of_block.iter_mut().enumerate() {
            while group + 1 < self.counts.len() && self.starts[group + 1] as usize <= block << BLOCK {
                group += 1;
            }
            *of_block = group as u32;
        }
    }

    fn all(&self) -> &[S] {
        &S::slots(&self.memory)[..self.len]
    }

    fn all_mut(&mut self) -> &mut [S] {
        &mut S::slots_mut(&mut self.memory)[..self.len]
    }

    /// The number of slots.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The same in wide slots. Positions do not change.
    pub fn widened(mut self) -> Result<Slots<u32>> {
        if self.memory.len() < self.len {
            let mut larger = Cells::new(self.len, Content::LateZeros)?;
            larger[..self.memory.len()].copy_from_slice(&self.memory);
            self.memory = larger;
        }
        // A wide slot covers no narrow one that comes before it.
        for at in (0..self.len).rev() {
            self.memory[at] = S::slots(&self.memory)[at].code();
        }
        let Self { memory, len, starts, counts, of_block, .. } = self;
        Ok(Slots { memory, len, width: PhantomData, starts, counts, of_block })
    }

    pub fn code(&self, at: usize) -> Code {
        self.all()[at].code()
    }

    /// Prefetches the slots around `at`.
    pub fn prefetch(&self, at: usize) {
        prefetch(self.all(), at);
    }

    /// Prefetches the number of the group at a position.
    pub fn prefetch_group(&self, at: usize) {
        prefetch(&self.of_block, at >> BLOCK);
    }

    /// The slots from the one before `at` to the one after `span`; `None` past the end, where no pair can be.
    pub fn around(&self, at: usize, span: usize) -> Option<&[S]> {
        self.all().get(at - 1..=at + span)
    }

    /// The same to change them.
    #[inline(always)]
    pub fn around_mut(&mut self, at: usize, span: usize) -> Option<&mut [S]> {
        self.all_mut().get_mut(at - 1..=at + span)
    }

    /// The group of words at a position.
    pub fn group(&self, at: usize) -> Group {
        let mut group = self.of_block[at >> BLOCK] as usize;
        while self.starts[group + 1] as usize <= at {
            group += 1;
        }
        Group { start: self.starts[group], end: self.starts[group + 1], count: self.counts[group] }
    }

    /// The slots as `of` mutable sections of whole words, each word with the boundary after it.
    pub fn split(&mut self, of: usize) -> Vec<&mut [S]> {
        let sections = self.sections(of);
        let mut rest = &mut self.all_mut()[1..];
        let mut split = Vec::new();
        for section in sections {
            let (slots, others) = rest.split_at_mut(section.len());
            split.push(slots);
            rest = others;
        }
        split
    }

    /// Divides the slots into `of` sections of whole words, of about the same length.
    pub fn sections(&self, of: usize) -> Vec<Range<usize>> {
        let mut begin = 1;
        let cut = |nth: usize| {
            let mut end = (self.len * nth / of).max(begin);
            while self.code(end - 1) != BOUNDARY {
                end += 1;
            }
            std::mem::replace(&mut begin, end)..end
        };
        (1..=of).map(cut).collect()
    }

    /// Calls `each` with the pairs of a section, in order.
    pub fn each_pair(
        &self,
        section: Range<usize>,
        spans: &[u32],
        pulse: &mut Pulse<'_>,
        each: impl FnMut(PairAt) -> Result<()>,
    ) -> Result<()> {
        // If every token has one slot, no lookup of spans is needed.
        if spans.iter().all(|&span| span == 1) {
            self.each_pair_by(section, |_| 1, pulse, each)
        } else {
            self.each_pair_by(section, |code| spans[code as usize] as usize, pulse, each)
        }
    }

    #[inline(always)]
    fn each_pair_by(
        &self,
        section: Range<usize>,
        span: impl Fn(Code) -> usize,
        pulse: &mut Pulse<'_>,
        mut each: impl FnMut(PairAt) -> Result<()>,
    ) -> Result<()> {
        let first = self.starts.partition_point(|&start| start as usize <= section.start) - 1;
        for (group, &count) in self.counts.iter().enumerate().skip(first) {
            let mut at = section.start.max(self.starts[group] as usize);
            let end = section.end.min(self.starts[group + 1] as usize);
            if at >= section.end {
                break;
            }
            let (mut left, mut left_at) = (BOUNDARY, at);
            while at < end {
                let right = self.code(at);
                if left != BOUNDARY && right != BOUNDARY {
                    each(PairAt { key: key_of(left, right), count, at: left_at as u32 })?;
                    pulse.beat(1)?;
                }
                (left, left_at) = (right, at);
                at += span(right);
            }
        }
        Ok(())
    }

    /// Drops the words that have become one token, which changes positions. Returns the number of pairs that are left, and
    /// the sum of their words' counts.
    pub fn compact(&mut self, spans: &[u32], pulse: &mut Pulse<'_>) -> Result<(usize, u64)> {
        let (mut at, mut to, mut pairs, mut total) = (1, 1, 0, 0u64);
        for group in 0..self.counts.len() {
            let (end, before) = (self.starts[group + 1] as usize, pairs);
            self.starts[group] = to as u32;
            while at < end {
                let (begin, mut tokens) = (at, 0);
                while self.code(at) != BOUNDARY {
                    at += spans[self.code(at) as usize] as usize;
                    tokens += 1;
                }
                at += 1;
                pulse.beat(tokens)?;
                if tokens > 1 {
                    self.all_mut().copy_within(begin..at, to);
                    to += at - begin;
                    pairs += tokens - 1;
                }
            }
            total = total.saturating_add(self.counts[group].saturating_mul((pairs - before) as u64));
        }
        if let Some(end) = self.starts.last_mut() {
            *end = to as u32;
        }
        self.len = to;
        self.index();
        Ok((pairs, total))
    }
}

#[cfg(test)]
mod tests {
    use super::super::SymbolWords;
    use super::*;
    use crate::watch::Unwatched;

    #[test]
    fn slots_are_widened_in_place() {
        for len in [2, 3, 7, 8, 63, 64, 65, 200, 5000] {
            let symbols: Vec<u32> = (65_300..65_534).cycle().take(len).collect();
            let words = SymbolWords { words: std::slice::from_ref(&symbols), counts: &[1] };
            let (spans, share) = (vec![1; 1 << 16], Share { nth: 0, of: 1 });
            let (mut watch, may_widen) = (Unwatched, len % 2 == 0);
            let mut pulse = Pulse::of(&mut watch);
            let layout = Layout::measure(&words, share, &spans, &mut pulse).unwrap();
            let slots = Slots::<u16>::fill(&[layout], &words, &spans, may_widen, &mut pulse).unwrap();
            let wide = slots.widened().unwrap();
            assert!(wide.all()[1..=len].iter().copied().eq(symbols.iter().map(|symbol| symbol + FIRST)));
            assert_eq!((wide.len(), wide.code(0), wide.code(len + 1)), (len + 2, BOUNDARY, BOUNDARY));
        }
    }
}
