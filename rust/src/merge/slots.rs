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
//! Words of equal count form a group. Groups are sorted by count, so a position leads to its word's count.

use std::cmp::Reverse;
use std::iter::zip;
use std::ops::Range;

use super::code_array::{CodeArray, SlotWidth};
use super::pairs::key_of;
use super::tokens::{BOUNDARY, Code, FIRST, HOLE};
use super::{Share, Words};
use crate::error::Result;
use crate::memory;
use crate::prefetch::prefetch;
use crate::watch::Pulse;
use crate::workers;

/// The number of slots that the words of each count need.
pub struct Layout {
    /// Counts and slots, highest count first.
    groups: Vec<(u64, u64)>,
    slots: u64,
}

/// Slots of counts below this are summed in an array, others by sorting.
const SMALL: usize = 1 << 12;

impl Layout {
    /// Measures the words of a share; words without a pair are left out.
    pub fn measure<W: Words>(words: &W, share: Share, spans: &[u32], pulse: &mut Pulse<'_>) -> Result<Self> {
        let uniform = spans.iter().all(|&span| span == 1);
        let span = |unit: &W::Unit| u64::from(spans[(words.symbol(*unit) + FIRST) as usize]);
        let mut small = vec![0u64; SMALL];
        let mut large: Vec<(u64, u64)> = Vec::new();
        words.visit(share, &mut |word, count| {
            pulse.beat(word.len())?;
            if word.len() < 2 || count == 0 {
                return Ok(());
            }
            let tokens = if uniform { word.len() as u64 } else { word.iter().map(span).sum() };
            match small.get_mut(usize::try_from(count).unwrap_or(usize::MAX)) {
                Some(slots) => *slots += tokens + 1,
                None => memory::push(&mut large, (count, tokens + 1))?,
            }
            Ok(())
        })?;
        large.extend((0..).zip(small).filter(|&(_, slots)| slots > 0));
        Ok(Self::of(large))
    }

    fn of(mut groups: Vec<(u64, u64)>) -> Self {
        groups.sort_unstable_by_key(|&(count, _)| Reverse(count));
        groups.dedup_by(|next, previous| {
            let equal = next.0 == previous.0;
            if equal {
                previous.1 += next.1;
            }
            equal
        });
        let slots = groups.iter().map(|group| group.1).sum();
        Self { groups, slots }
    }

    /// The sum of the layouts of all shares.
    fn sum(shares: &[(Share, Self)]) -> Self {
        Self::of(shares.iter().flat_map(|(_, layout)| &layout.groups).copied().collect())
    }

    /// The number of slots, which is also an upper bound of the number of merges.
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// Writes the words of a share to the regions of their groups.
    fn place<W: Words, S: SlotWidth>(
        &self,
        words: &W,
        share: Share,
        spans: &[u32],
        mut regions: Vec<&mut [S]>,
        pulse: &mut Pulse<'_>,
    ) -> Result<()> {
        let mut small = vec![0; SMALL];
        for (group, &(count, _)) in
            self.groups.iter().enumerate().filter(|&(_, group)| group.0 < SMALL as u64)
        {
            small[count as usize] = group;
        }
        words.visit(share, &mut |word, count| {
            pulse.beat(word.len())?;
            if word.len() < 2 || count == 0 {
                return Ok(());
            }
            let group = match usize::try_from(count).ok().and_then(|count| small.get(count)) {
                Some(&group) => group,
                None => self.groups.partition_point(|&(larger, _)| larger > count),
            };
            let region = std::mem::take(&mut regions[group]);
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
            regions[group] = &mut region[at + 1..];
            Ok(())
        })
    }
}

/// Divides the slots into regions: for each share, one per group. Within a group, the regions follow in the order of the
/// shares.
fn regions<'a, S>(
    layout: &Layout,
    shares: &[(Share, Layout)],
    mut slots: &'a mut [S],
) -> Vec<Vec<&'a mut [S]>> {
    let mut regions: Vec<Vec<&mut [S]>> = shares.iter().map(|_| Vec::new()).collect();
    let mut groups: Vec<_> = shares.iter().map(|(_, layout)| layout.groups.iter().peekable()).collect();
    for &(count, _) in &layout.groups {
        for (regions, groups) in zip(&mut regions, &mut groups) {
            if let Some(&(_, needed)) = groups.next_if(|group| group.0 == count) {
                let (region, others) = slots.split_at_mut(needed as usize);
                regions.push(region);
                slots = others;
            }
        }
    }
    regions
}

/// All words with at least one pair.
#[derive(Default)]
pub struct Slots<S> {
    slots: CodeArray<S>,
    groups: Groups,
}

/// Where the groups of words lie.
#[derive(Default)]
struct Groups {
    /// The first slot of each group, and after them the end of the last group.
    starts: Vec<u32>,
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
    /// Writes the words in groups of equal count, the most frequent first; one thread per share.
    pub fn fill<W: Words>(
        shares: &[(Share, Layout)],
        words: &W,
        spans: &[u32],
        may_widen: bool,
        pulse: &mut Pulse<'_>,
    ) -> Result<Self> {
        let layout = Layout::sum(shares);
        let mut starts = Vec::with_capacity(layout.groups.len() + 1);
        let mut end = 1;
        for &(_, slots) in &layout.groups {
            starts.push(end);
            end += slots as u32;
        }
        starts.push(end);
        let mut array = CodeArray::of_boundaries(end as usize, may_widen)?;
        let regions = regions(&layout, shares, &mut array[1..]);
        workers::each(zip(shares, regions), pulse, |((share, layout), regions), pulse| {
            layout.place(words, *share, spans, regions, pulse)
        })?;
        let counts = layout.groups.iter().map(|group| group.0).collect();
        let mut groups = Groups { starts, counts, of_block: Vec::new() };
        groups.index(array.len())?;
        Ok(Self { slots: array, groups })
    }

    /// The number of slots.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// The same in wide slots. Positions do not change.
    pub fn widened(self, threads: usize, pulse: &mut Pulse<'_>) -> Result<Slots<u32>> {
        Ok(Slots { slots: self.slots.widened(threads, pulse)?, groups: self.groups })
    }

    pub fn code(&self, at: usize) -> Code {
        self.slots[at].code()
    }

    /// Prefetches the slots around `at`.
    pub fn prefetch(&self, at: usize) {
        prefetch(&self.slots, at);
    }

    /// The slots from the one before `at` to the one after `span`; `None` past the end, where no pair can be.
    pub fn seen_around(&self, at: usize, span: usize) -> Option<&[S]> {
        self.slots.get(at - 1..=at + span)
    }

    /// Prefetches the number of the group at a position.
    pub fn prefetch_group(&self, at: usize) {
        prefetch(&self.groups.of_block, at >> BLOCK);
    }

    /// The same to change them.
    #[inline(always)]
    pub fn around(&mut self, at: usize, span: usize) -> Option<&mut [S]> {
        self.slots.get_mut(at - 1..=at + span)
    }

    /// The group of words at a position.
    pub fn group(&self, at: usize) -> Group {
        self.groups.at(at)
    }

    /// The slots as `of` mutable sections of whole words, each word with the boundary after it.
    pub fn split(&mut self, of: usize) -> Vec<&mut [S]> {
        let sections = self.sections(of);
        let mut rest = &mut self.slots[1..];
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
            let mut end = (self.slots.len() * nth / of).max(begin);
            while self.code(end - 1) != BOUNDARY {
                end += 1;
            }
            std::mem::replace(&mut begin, end)..end
        };
        (1..=of).map(cut).collect()
    }

    /// Calls `each` with the pairs of a section, in order and in batches, so that `each` can prefetch.
    pub fn each_batch(
        &self,
        section: Range<usize>,
        spans: &[u32],
        pulse: &mut Pulse<'_>,
        mut each: impl FnMut(&[PairAt]) -> Result<()>,
    ) -> Result<()> {
        // If every token has one slot, no lookup of spans is needed.
        if spans.iter().all(|&span| span == 1) {
            self.each_batch_by(section, |_| 1, pulse, &mut each)
        } else {
            self.each_batch_by(section, |code| spans[code as usize] as usize, pulse, &mut each)
        }
    }

    fn each_batch_by(
        &self,
        section: Range<usize>,
        span: impl Fn(Code) -> usize,
        pulse: &mut Pulse<'_>,
        each: &mut impl FnMut(&[PairAt]) -> Result<()>,
    ) -> Result<()> {
        let mut batch = [PairAt::default(); BATCH];
        let mut len = 0;
        let first = self.groups.starts.partition_point(|&start| start as usize <= section.start) - 1;
        for (group, &count) in self.groups.counts.iter().enumerate().skip(first) {
            let mut at = section.start.max(self.groups.starts[group] as usize);
            let end = section.end.min(self.groups.starts[group + 1] as usize);
            if at >= section.end {
                break;
            }
            let mut left = BOUNDARY;
            let mut left_at = at;
            while at < end {
                let right = self.code(at);
                if left != BOUNDARY && right != BOUNDARY {
                    batch[len] = PairAt { key: key_of(left, right), count, at: left_at as u32 };
                    len += 1;
                    if len == BATCH {
                        each(&batch)?;
                        pulse.beat(BATCH)?;
                        len = 0;
                    }
                }
                (left, left_at) = (right, at);
                at += span(right);
            }
        }
        each(&batch[..len])
    }

    /// Drops the words that have become one token. This changes positions.
    pub fn compact(&mut self, spans: &[u32], pulse: &mut Pulse<'_>) -> Result<()> {
        let next = |slots: &[S], at: usize| at + spans[slots[at].code() as usize] as usize;
        let (mut at, mut to) = (1, 1);
        for group in 0..self.groups.counts.len() {
            let end = self.groups.starts[group + 1] as usize;
            self.groups.starts[group] = to as u32;
            while at < end {
                let begin = at;
                at = next(&self.slots, at);
                if self.code(at) == BOUNDARY {
                    at += 1;
                    continue;
                }
                while self.code(at) != BOUNDARY {
                    at = next(&self.slots, at);
                }
                at += 1;
                pulse.beat(at - begin)?;
                self.slots.copy_within(begin..at, to);
                to += at - begin;
            }
        }
        if let Some(last) = self.groups.starts.last_mut() {
            *last = to as u32;
        }
        self.slots.truncate(to);
        self.groups.index(to)
    }
}

impl Groups {
    /// Notes the group of every block of so many slots.
    fn index(&mut self, slots: usize) -> Result<()> {
        self.of_block.clear();
        memory::reserve(&mut self.of_block, slots.div_ceil(1 << BLOCK))?;
        let mut group = 0;
        for first in (0..slots).step_by(1 << BLOCK) {
            while group + 1 < self.counts.len() && self.starts[group + 1] as usize <= first {
                group += 1;
            }
            self.of_block.push(group as u32);
        }
        Ok(())
    }

    /// The group of words at a position.
    fn at(&self, at: usize) -> Group {
        let mut group = self.of_block[at >> BLOCK] as usize;
        while self.starts[group + 1] as usize <= at {
            group += 1;
        }
        Group { start: self.starts[group], end: self.starts[group + 1], count: self.counts[group] }
    }
}

/// The number of pairs in a batch: enough to hide the latency of memory, few enough for the L1 cache.
pub const BATCH: usize = 64;
