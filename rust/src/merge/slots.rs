//! One flat array of slots that holds the tokens of all words.
//!
//! A token of span n takes n slots. Its code is in the first and in the last of them; the slot
//! where its right part began is a [`HOLE`]. A [`BOUNDARY`] is before the first word and after
//! every word. So the slot before a token's first slot names its left neighbour, and the slot after
//! its last one names its right neighbour.
//!
//! A listed position is checked before it is used: the pair is there exactly when the left code is
//! at the position and the right code one left span further. This is safe because a slot that was
//! the first of a token, and no longer is, never again shows the code it had then. It is one of
//! two:
//!
//! 1. a hole;
//! 2. the last slot of a longer token, if the token that began there had one slot.
//!
//! Words of equal count form a group, the most frequent first, so a position leads to its word's
//! count. In each group, each part of the words has its own region.
//!
//! Slots have 16 bits while all codes fit, then 32. They are widened in place: the memory has
//! addresses for wide ones from the start.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::ops::Range;

use super::Words;
use super::pairs::key_of;
use super::tokens::{BOUNDARY, Code, FIRST, HOLE};
use crate::error::Result;
use crate::key::hasher::Keyed;
use crate::memory;
use crate::memory::cells::{Cells, Plain};
use crate::prefetch::prefetch;
use crate::watch::Pulse;
use crate::workers;

/// The integer type of a slot.
pub trait SlotWidth: Copy + Eq + Plain + Send + Sync {
    /// Whether a code may be too large for this type.
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
    /// Measures words, except those without a pair.
    pub fn measure<W: Words>(words: &W, spans: &[u32], pulse: &mut Pulse<'_>) -> Result<Self> {
        let span = |unit: &W::Unit| u64::from(spans[(words.symbol(*unit) + FIRST) as usize]);
        let is_uniform = spans.iter().all(|&span| span == 1);
        let mut slots_of = HashMap::<_, _, Keyed>::default();
        words.visit(pulse, &mut |word, count| {
            if word.len() >= 2 && count > 0 {
                let slots =
                    if is_uniform { word.len() as u64 } else { word.iter().map(span).sum() };
                *slots_of.entry(count).or_insert(0) += 1 + slots;
            }
            Ok(())
        })?;
        Ok(Self { groups: memory::gathered(slots_of)? })
    }

    /// Returns the number of slots, which is also an upper bound of the number of merges.
    pub fn slots(&self) -> u64 {
        self.groups.iter().map(|(_, slots)| slots).sum()
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
        if word.len() < 2 {
            return Ok(());
        }
        // Words that occur 0 times have no region.
        let Some(region) = regions.get_mut(&count) else { return Ok(()) };
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
        // One slot more is the boundary after the word.
        *region = &mut std::mem::take(region)[at + 1..];
        Ok(())
    })
}

/// All words with at least one pair.
pub struct Slots<S> {
    /// One number for each slot that there was at first. Narrow slots use the first half of the
    /// memory.
    memory: Cells<u32>,
    /// The number of slots.
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
    /// Writes the words, and drops each part when it is written.
    pub fn fill<W: Words>(
        layouts: &[Layout],
        parts: Vec<W>,
        spans: &[u32],
        threads: usize,
        pulse: &mut Pulse<'_>,
    ) -> Result<Self> {
        const { assert!(BOUNDARY == 0, "fresh memory is zeroed") };
        // The count, the part and the size of each region, in the order of the regions.
        let mut sizes = Vec::new();
        for (part, layout) in layouts.iter().enumerate() {
            for &(count, slots) in &layout.groups {
                memory::push(&mut sizes, (Reverse(count), part, slots))?;
            }
        }
        sizes.sort_unstable();

        let mut groups = Vec::<Group>::new();
        let mut start = 1;
        for &(Reverse(count), _, slots) in &sizes {
            let end = start + slots as u32;
            match groups.last_mut() {
                Some(group) if group.count == count => group.end = end,
                _ => memory::push(&mut groups, Group { start, end, count })?,
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
        for (Reverse(count), part, slots) in sizes {
            if let Some(region) = rest.split_off_mut(..slots as usize) {
                regions[part].insert(count, region);
            }
        }
        workers::each(
            threads,
            parts.into_iter().zip(regions),
            pulse,
            |(words, regions), pulse| place(&words, regions, spans, pulse),
        )?;
        Ok(filled)
    }

    /// Notes the group of every block of slots.
    fn index(&mut self) {
        self.of_block.truncate(self.len.div_ceil(1 << BLOCK));
        let mut group = 0;
        for (block, of_block) in self.of_block.iter_mut().enumerate() {
            while group + 1 < self.groups.len() && self.groups[group].end as usize <= block << BLOCK
            {
                group += 1;
            }
            *of_block = group as u32;
        }
    }

    fn all(&self) -> &[S] {
        const { assert!(size_of::<S>() <= size_of::<u32>()) };
        // SAFETY:
        // 1. The memory has four bytes for each slot, which has at most four, as asserted.
        // 2. It begins at a multiple of 64, so slots are aligned.
        // 3. It is initialized, and any bytes are valid slots.
        // 4. The borrow of `self` lasts as long as the result.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), self.len) }
    }

    fn all_mut(&mut self) -> &mut [S] {
        // SAFETY: as in `all`; the borrow is exclusive, and any slots are valid bytes of a `u32`.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_mut_ptr().cast(), self.len) }
    }

    /// Returns the number of slots.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the same words in wide slots. Positions do not change.
    pub fn widened(mut self) -> Slots<u32> {
        // From the last slot on: a wide slot covers no narrow one that comes before it.
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

    /// Returns `span` slots from `at` on, the one before them and the one after them. `None` past
    /// the end, where no pair can be.
    pub fn around(&self, at: usize, span: usize) -> Option<&[S]> {
        self.all().get(at - 1..=at + span)
    }

    /// The same, to change them.
    #[inline(always)]
    pub fn around_mut(&mut self, at: usize, span: usize) -> Option<&mut [S]> {
        self.all_mut().get_mut(at - 1..=at + span)
    }

    /// Returns the group of words at a position.
    pub fn group(&self, at: usize) -> Group {
        let mut group = self.of_block[at >> BLOCK] as usize;
        while self.groups[group].end as usize <= at {
            group += 1;
        }
        self.groups[group]
    }

    /// Divides the slots into `count` sections of whole words, of about the same length.
    pub fn sections(&self, count: usize) -> Vec<Range<usize>> {
        let mut sections = Vec::new();
        let mut start = 1;
        for nth in 1..=count {
            let mut end = (self.len * nth / count).max(start);
            while self.code(end - 1) != BOUNDARY {
                end += 1;
            }
            sections.push(start..end);
            start = end;
        }
        sections
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
            let mut left = BOUNDARY;
            let mut left_at = at;
            while at < end {
                let right = self.code(at);
                if left != BOUNDARY && right != BOUNDARY {
                    each(PairAt { key: key_of(left, right), count, at: left_at as u32 })?;
                    pulse.beat(1)?;
                }
                left = right;
                left_at = at;
                at += span(right);
            }
        }
        Ok(())
    }

    /// Drops the words that have become one token, which changes positions. Returns the number of
    /// pairs in the others, and the sum of their words' counts.
    pub fn compact(&mut self, spans: &[u32], pulse: &mut Pulse<'_>) -> Result<(usize, u64)> {
        let mut at = 1;
        let mut to = 1;
        let mut pairs = 0;
        let mut total = 0u64;
        for nth in 0..self.groups.len() {
            let Group { end, count, .. } = self.groups[nth];
            let pairs_before = pairs;
            self.groups[nth].start = to as u32;
            while at < end as usize {
                let start = at;
                let mut tokens = 0;
                while self.code(at) != BOUNDARY {
                    at += spans[self.code(at) as usize] as usize;
                    tokens += 1;
                }
                at += 1;
                pulse.beat(tokens)?;
                if tokens > 1 {
                    self.all_mut().copy_within(start..at, to);
                    to += at - start;
                    pairs += tokens - 1;
                }
            }
            self.groups[nth].end = to as u32;
            total = total.saturating_add(count.saturating_mul((pairs - pairs_before) as u64));
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
            let mut words = SymbolWords::default();
            words.add(&symbols, 1).unwrap();
            let spans = vec![1; 1 << 16];
            let mut watch = Unwatched;
            let mut pulse = Pulse::of(&mut watch);
            let layout = Layout::measure(&words, &spans, &mut pulse).unwrap();
            let slots = Slots::<u16>::fill(&[layout], vec![words], &spans, 1, &mut pulse).unwrap();
            let wide = slots.widened();
            assert!(
                wide.all()[1..=len].iter().copied().eq(symbols.iter().map(|symbol| symbol + FIRST))
            );
            assert_eq!(
                (wide.len(), wide.code(0), wide.code(len + 1)),
                (len + 2, BOUNDARY, BOUNDARY)
            );
        }
    }
}
