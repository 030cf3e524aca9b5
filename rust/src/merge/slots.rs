//! Words in, one flat array out: every word's tokens, in place, with the word's count found by position.
//!
//! A token of span n takes n slots. Its code stands on the first and the last of them; where a token begins
//! inside another, [`HOLE`] stands instead. [`BOUNDARY`] stands before the first word and after every word.
//! So from the first slot of a token, the slot before it names the left neighbour, and the slot after its
//! span names the right one.
//!
//! A position remembered for a pair is checked by looking: the pair is there exactly when the left code
//! stands at the position and the right code one left span further. A slot that is no longer a token's first
//! never shows a code that it showed as one: it is a hole, or, if the token that began there had one slot, it
//! may show a longer token as that token's last slot.

use super::pairs::key_of;
use super::row::{Row, Slot};
use super::tokens::{BOUNDARY, Code, FIRST, HOLE};
use super::{Share, Words};
use crate::error::Result;
use crate::memory;
use crate::prefetch::prefetch;
use crate::watch::Pulse;

/// How many slots the words of each count need.
pub struct Layout {
    /// Counts and slots, highest count first.
    groups: Vec<(u64, u64)>,
    slots: u64,
}

/// Counts below this have their slots summed in an array, others by sorting.
const SMALL: usize = 1 << 12;

impl Layout {
    /// Measures the words of a share; those without a pair are left out.
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
        large.sort_unstable();
        large.dedup_by(|next, kept| {
            let equal = next.0 == kept.0;
            if equal {
                kept.1 += next.1;
            }
            equal
        });
        let mut groups: Vec<(u64, u64)> = (0..).zip(small).filter(|&(_, slots)| slots > 0).collect();
        groups.append(&mut large);
        groups.reverse();
        let slots = groups.iter().map(|group| group.1).sum::<u64>() + 1;
        Ok(Self { groups, slots })
    }

    /// How many slots the words need, and so more than the merges that they can give.
    pub fn slots(&self) -> u64 {
        self.slots
    }
}

/// All words with at least one pair.
#[derive(Default)]
pub struct Slots<S> {
    slots: Row<S>,
    /// Where each group of words of equal count begins, and behind them where the last one ends.
    starts: Vec<u32>,
    counts: Vec<u64>,
    /// The group of the first slot of every block.
    group_of_block: Vec<u32>,
}

/// Slots that are as wide as the codes so far need: half the memory for the first 65,000 tokens.
pub enum AnySlots {
    Narrow(Slots<u16>),
    Wide(Slots<u32>),
}

/// A pair where it stands, with the count of its word.
#[derive(Clone, Copy, Default)]
pub struct Standing {
    pub key: u64,
    pub count: u64,
    pub at: u32,
}

/// Words of equal count, and where they lie.
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

/// Puts a token over the pair that stands in the middle of `around`, whose right token begins at `middle`.
pub fn replace<S: Slot>(around: &mut [S], middle: usize, joined: Code) {
    let last = around.len() - 2;
    around[1] = S::of(joined);
    around[middle] = S::of(HOLE);
    around[last] = S::of(joined);
}

/// Slots in a block, as a power of two.
const BLOCK: u32 = 6;

impl<S: Slot> Slots<S> {
    /// Places the words in groups of equal count, the most frequent first.
    pub fn fill<W: Words>(
        layout: &Layout,
        words: &W,
        share: Share,
        spans: &[u32],
        pulse: &mut Pulse<'_>,
    ) -> Result<Self> {
        let mut starts = Vec::with_capacity(layout.groups.len() + 1);
        let mut end = 1;
        for &(_, slots) in &layout.groups {
            starts.push(end);
            end += slots as u32;
        }
        let mut cursors: Vec<usize> = starts.iter().map(|&start| start as usize).collect();
        starts.push(end);
        let counts: Vec<u64> = layout.groups.iter().map(|group| group.0).collect();
        let mut small = vec![0; SMALL];
        for (group, &count) in counts.iter().enumerate().filter(|&(_, &count)| count < SMALL as u64) {
            small[count as usize] = group;
        }

        let mut row = Row::of(BOUNDARY, layout.slots as usize)?;
        let slots: &mut [S] = &mut row;
        words.visit(share, &mut |word, count| {
            pulse.beat(word.len())?;
            if word.len() < 2 || count == 0 {
                return Ok(());
            }
            let group = match usize::try_from(count).ok().and_then(|count| small.get(count)) {
                Some(&group) => group,
                None => counts.partition_point(|&larger| larger > count),
            };
            let mut at = cursors[group];
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
            cursors[group] = at + 1;
            Ok(())
        })?;
        let mut filled = Self { slots: row, starts, counts, group_of_block: Vec::new() };
        filled.index_groups()?;
        Ok(filled)
    }

    fn index_groups(&mut self) -> Result<()> {
        self.group_of_block.clear();
        memory::reserve(&mut self.group_of_block, self.slots.len().div_ceil(1 << BLOCK))?;
        let mut group = 0;
        for first in (0..self.slots.len()).step_by(1 << BLOCK) {
            while group + 1 < self.counts.len() && self.starts[group + 1] as usize <= first {
                group += 1;
            }
            self.group_of_block.push(group as u32);
        }
        Ok(())
    }

    /// The same words in wide slots.
    fn widened(self) -> Result<Slots<u32>> {
        let Self { slots, starts, counts, group_of_block } = self;
        Ok(Slots { slots: slots.widened()?, starts, counts, group_of_block })
    }

    pub fn code(&self, at: usize) -> Code {
        self.slots[at].code()
    }

    /// Tells that the slots around `at` will soon be looked at.
    pub fn prefetch(&self, at: usize) {
        prefetch(&self.slots, at);
    }

    /// The slots from the one before `at` to the one behind `span`; `None` past the end, where no pair stands.
    pub fn around(&mut self, at: usize, span: usize) -> Option<&mut [S]> {
        self.slots.get_mut(at - 1..=at + span)
    }

    /// The group of words that the position lies in.
    pub fn group(&self, at: usize) -> Group {
        let mut group = self.group_of_block[at >> BLOCK] as usize;
        while self.starts[group + 1] as usize <= at {
            group += 1;
        }
        Group { start: self.starts[group], end: self.starts[group + 1], count: self.counts[group] }
    }

    /// Passes the range of every word's slots; `each` may merge inside it.
    pub fn each_word(
        &mut self,
        mut each: impl FnMut(&mut Self, std::ops::Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let mut begin = 1;
        while begin < self.slots.len() {
            let mut end = begin;
            while self.code(end) != BOUNDARY {
                end += 1;
            }
            each(self, begin..end)?;
            begin = end + 1;
        }
        Ok(())
    }

    /// Passes every pair that stands anywhere, in order and many at a time, so that `each` can ask for memory
    /// before it needs it.
    pub fn each_batch(
        &self,
        spans: &[u32],
        pulse: &mut Pulse<'_>,
        mut each: impl FnMut(&[Standing]) -> Result<()>,
    ) -> Result<()> {
        // Where every token has one slot, the next one is found without looking.
        if spans.iter().all(|&span| span == 1) {
            self.each_batch_by(|_| 1, pulse, &mut each)
        } else {
            self.each_batch_by(|code| spans[code as usize] as usize, pulse, &mut each)
        }
    }

    fn each_batch_by(
        &self,
        span: impl Fn(Code) -> usize,
        pulse: &mut Pulse<'_>,
        each: &mut impl FnMut(&[Standing]) -> Result<()>,
    ) -> Result<()> {
        let mut batch = [Standing::default(); BATCH];
        let mut len = 0;
        for (group, &count) in self.counts.iter().enumerate() {
            let (mut at, end) = (self.starts[group] as usize, self.starts[group + 1] as usize);
            let mut left = BOUNDARY;
            let mut left_at = at;
            while at < end {
                let right = self.code(at);
                if left != BOUNDARY && right != BOUNDARY {
                    batch[len] = Standing { key: key_of(left, right), count, at: left_at as u32 };
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

    /// Drops the words that have become one token. Positions change.
    pub fn compact(&mut self, spans: &[u32], pulse: &mut Pulse<'_>) -> Result<()> {
        let next = |slots: &[S], at: usize| at + spans[slots[at].code() as usize] as usize;
        let (mut at, mut to) = (1, 1);
        for group in 0..self.counts.len() {
            let end = self.starts[group + 1] as usize;
            self.starts[group] = to as u32;
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
        if let Some(last) = self.starts.last_mut() {
            *last = to as u32;
        }
        self.slots.truncate(to);
        self.index_groups()
    }
}

impl AnySlots {
    /// See [`Slots::fill`].
    pub fn fill<W: Words>(
        narrow: bool,
        layout: &Layout,
        words: &W,
        share: Share,
        spans: &[u32],
        pulse: &mut Pulse<'_>,
    ) -> Result<Self> {
        Ok(if narrow {
            Self::Narrow(Slots::fill(layout, words, share, spans, pulse)?)
        } else {
            Self::Wide(Slots::fill(layout, words, share, spans, pulse)?)
        })
    }

    /// How many slots there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(slots) => slots.slots.len(),
            Self::Wide(slots) => slots.slots.len(),
        }
    }

    /// See [`Slots::prefetch`].
    pub fn prefetch(&self, at: usize) {
        match self {
            Self::Narrow(slots) => slots.prefetch(at),
            Self::Wide(slots) => slots.prefetch(at),
        }
    }

    /// See [`Slots::each_batch`].
    pub fn each_batch(
        &self,
        spans: &[u32],
        pulse: &mut Pulse<'_>,
        each: impl FnMut(&[Standing]) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Narrow(slots) => slots.each_batch(spans, pulse, each),
            Self::Wide(slots) => slots.each_batch(spans, pulse, each),
        }
    }

    /// See [`Slots::compact`].
    pub fn compact(&mut self, spans: &[u32], pulse: &mut Pulse<'_>) -> Result<()> {
        match self {
            Self::Narrow(slots) => slots.compact(spans, pulse),
            Self::Wide(slots) => slots.compact(spans, pulse),
        }
    }

    /// Makes room for codes that 16 bits cannot hold. Positions stay as they are.
    pub fn widen(&mut self) -> Result<()> {
        if let Self::Narrow(slots) = self {
            *self = Self::Wide(std::mem::take(slots).widened()?);
        }
        Ok(())
    }
}

/// How many pairs are passed at once: enough to hide the way to memory, few enough for the nearest cache.
pub const BATCH: usize = 64;
