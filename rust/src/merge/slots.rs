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
//! Words of equal count form a group, the most frequent first, so a position leads to its word's count. In each group, each
//! part of the words has its own region.
//!
//! Slots have 16 bits while all codes fit, then 32. Both widths use the same memory, which has addresses for the wider one, so
//! they are widened in place.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::ops::Range;

use super::Words;
use super::pairs::key_of;
use super::tokens::{BOUNDARY, Code, FIRST, HOLE};
use crate::error::Result;
use crate::memory;
use crate::memory::cells::{Cells, Plain};
use crate::prefetch::prefetch;
use crate::token_numbers::Keyed;
use crate::watch::Pulse;
use crate::workers;

/// The integer type of a slot.
pub trait SlotWidth: Copy + Eq + Plain + Send + Sync {
    /// Whether codes may be too large for it.
    const IS_NARROW: bool;
    fn of(code: Code) -> Self;
    fn code(self) -> Code;
}

impl SlotWidth for u16 {
    const IS_NARROW: bool = true;
    fn of(code: Code) -> Self {
        code as u16
    }
    fn code(self) -> Code {
        Code::from(self)
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
}

/// The number of slots that the words of each count need, for one part of the words.
pub struct Layout {
    /// Counts and slots.
    groups: Vec<(u64, u64)>,
}

/// For each count, where the next words of a part with this count are written.
type Regions<'s, S> = HashMap<u64, &'s mut [S], Keyed>;

impl Layout {
    /// Measures words; those without a pair are left out.
    pub fn measure<W: Words>(words: &W, spans: &[u32], pulse: &mut Pulse<'_>) -> Result<Self> {
        let span = |unit: &W::Unit| u64::from(spans[(words.symbol(*unit) + FIRST) as usize]);
        let is_uniform = spans.iter().all(|&span| span == 1);
        let mut slots_of = HashMap::<_, _, Keyed>::default();
        words.visit(pulse, &mut |word, count| {
            if word.len() >= 2 && count > 0 {
                let slots = if is_uniform { word.len() as u64 } else { word.iter().map(span).sum() };
                *slots_of.entry(count).or_insert(0) += 1 + slots;
            }
            Ok(())
        })?;
        Ok(Self { groups: memory::gathered(slots_of)? })
    }

    /// The number of slots, which is also an upper bound of the number of merges.
    pub fn slots(&self) -> u64 {
        self.groups.iter().map(|group| group.1).sum()
    }
}

/// Writes the words of a part to its regions.
fn place<W: Words, S: SlotWidth>(
    words: &W,
    mut regions: Regions<'_, S>,
    spans: &[u32],
    pulse: &mut Pulse<'_>,
) -> Result<()> {
    words.visit(pulse, &mut |word, count| {
        let Some(region) = regions.get_mut(&count).filter(|_| word.len() >= 2) else { return Ok(()) };
        let mut at = 0;
        for &unit in word {
            let code = words.symbol(unit) + FIRST;
            let span = spans[code as usize] as usize;
            if span > 1 {
                region[at..at + span].fill(S::of(HOLE));
                region[at + span - 1] = S::of(code);
            }
            region[at] = S::of(code);
            at += span;
        }
        *region = &mut std::mem::take(region)[at + 1..];
        Ok(())
    })
}

/// All words with at least one pair.
pub struct Slots<S> {
    /// As many numbers as there were slots, of which narrow ones use the first half.
    memory: Cells<u32>,
    len: usize,
    width: PhantomData<S>,
    groups: Vec<Group>,
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
    /// Writes the words. Each part of them is dropped when it is written.
    pub fn fill<W: Words>(
        layouts: &[Layout],
        parts: Vec<W>,
        spans: &[u32],
        threads: usize,
        pulse: &mut Pulse<'_>,
    ) -> Result<Self> {
        const { assert!(BOUNDARY == 0, "fresh memory is zeroed") };
        let all = layouts.iter().enumerate().flat_map(|(part, layout)| {
            layout.groups.iter().map(move |&(count, slots)| (Reverse(count), part, slots))
        });
        let mut needed = memory::gathered(all)?;
        needed.sort_unstable();
        let (mut groups, mut start) = (Vec::<Group>::new(), 1);
        for &(Reverse(count), _, slots) in &needed {
            let end = start + slots as u32;
            match groups.last_mut().filter(|group| group.count == count) {
                Some(group) => group.end = end,
                None => memory::push(&mut groups, Group { start, end, count })?,
            }
            start = end;
        }
        let len = start as usize;
        let memory = Cells::new(len)?;
        let of_block = memory::filled(0, len.div_ceil(1 << BLOCK))?;
        let mut filled = Self { memory, len, width: PhantomData, groups, of_block };
        filled.index();
        let mut rest = &mut filled.all_mut()[1..];
        let mut regions = memory::gathered(layouts.iter().map(|_| Regions::default()))?;
        for (Reverse(count), part, slots) in needed {
            regions[part].extend(rest.split_off_mut(..slots as usize).map(|region| (count, region)));
        }
        workers::each(threads, parts.into_iter().zip(regions), pulse, |(words, regions), pulse| {
            place(&words, regions, spans, pulse)
        })?;
        Ok(filled)
    }

    /// Notes the group of every block of slots.
    fn index(&mut self) {
        self.of_block.truncate(self.len.div_ceil(1 << BLOCK));
        let mut group = 0;
        for (block, of_block) in self.of_block.iter_mut().enumerate() {
            while group + 1 < self.groups.len() && self.groups[group].end as usize <= block << BLOCK {
                group += 1;
            }
            *of_block = group as u32;
        }
    }

    fn all(&self) -> &[S] {
        const { assert!(size_of::<S>() <= size_of::<u32>()) };
        // SAFETY: the memory, which begins at a multiple of 64, has four bytes for each slot, which has two or four; any bytes
        // are valid.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), self.len) }
    }

    fn all_mut(&mut self) -> &mut [S] {
        // SAFETY: as in `all`; whatever is written is valid as u32, too, and the borrow is as exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_mut_ptr().cast(), self.len) }
    }

    /// The number of slots.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The same in wide slots. Positions do not change.
    pub fn widened(mut self) -> Slots<u32> {
        // A wide slot covers no narrow one that comes before it.
        for at in (0..self.len).rev() {
            self.memory[at] = self.code(at);
        }
        let Self { memory, len, groups, of_block, .. } = self;
        Slots { memory, len, width: PhantomData, groups, of_block }
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
        while self.groups[group].end as usize <= at {
            group += 1;
        }
        self.groups[group]
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
        let first = self.groups.partition_point(|group| group.end as usize <= section.start);
        for &Group { start, end, count } in &self.groups[first..] {
            let mut at = section.start.max(start as usize);
            let end = section.end.min(end as usize);
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
        for nth in 0..self.groups.len() {
            let (Group { end, count, .. }, before) = (self.groups[nth], pairs);
            self.groups[nth].start = to as u32;
            while at < end as usize {
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
            self.groups[nth].end = to as u32;
            total = total.saturating_add(count.saturating_mul((pairs - before) as u64));
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
            let spans = vec![1; 1 << 16];
            let mut watch = Unwatched;
            let mut pulse = Pulse::of(&mut watch);
            let layout = Layout::measure(&words, &spans, &mut pulse).unwrap();
            let slots = Slots::<u16>::fill(&[layout], vec![words], &spans, 1, &mut pulse).unwrap();
            let wide = slots.widened();
            assert!(wide.all()[1..=len].iter().copied().eq(symbols.iter().map(|symbol| symbol + FIRST)));
            assert_eq!((wide.len(), wide.code(0), wide.code(len + 1)), (len + 2, BOUNDARY, BOUNDARY));
        }
    }
}
