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

use super::Words;
use super::pulse::Pulse;
use super::tokens::{BOUNDARY, Code, FIRST, HOLE, Tokens};
use crate::error::{Error, Result};

/// How a code is stored: in 16 bits while there are few tokens, else in 32.
pub trait Slot: Copy {
    /// The largest code that fits.
    const MOST: usize;
    fn of(code: Code) -> Self;
    fn code(self) -> Code;
}

impl Slot for u16 {
    const MOST: usize = u16::MAX as usize;
    fn of(code: Code) -> Self {
        code as u16
    }
    fn code(self) -> Code {
        Code::from(self)
    }
}

impl Slot for u32 {
    const MOST: usize = u32::MAX as usize;
    fn of(code: Code) -> Self {
        code
    }
    fn code(self) -> Code {
        self
    }
}

/// How many slots the words of each count need.
pub struct Layout {
    /// Counts and slots, highest count first.
    groups: Vec<(u64, u64)>,
    slots: usize,
}

/// Counts below this have their slots summed in an array, others by sorting.
const SMALL: usize = 1 << 12;

impl Layout {
    /// Measures the words; those without a pair are left out.
    pub fn measure<W: Words>(words: &W, tokens: &Tokens, pulse: &mut Pulse<'_>) -> Result<Self> {
        let mut small = vec![0u64; SMALL];
        let mut large: Vec<(u64, u64)> = Vec::new();
        words.visit(&mut |word, count| {
            pulse.work(word.len())?;
            if word.len() < 2 || count == 0 {
                return Ok(());
            }
            let span = |unit: &W::Unit| u64::from(tokens.span(words.symbol(*unit) + FIRST));
            let slots = word.iter().map(span).sum::<u64>() + 1;
            match small.get_mut(usize::try_from(count).unwrap_or(usize::MAX)) {
                Some(sum) => *sum += slots,
                None => large.push((count, slots)),
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
        if slots > u64::from(u32::MAX) {
            return Err(Error::Memory(format!(
                "the distinct pretokens hold {slots} bytes; one training can merge at most {} of them (raise min_count)",
                u32::MAX
            )));
        }
        Ok(Self { groups, slots: slots as usize })
    }

    /// How many slots the words need, and so more than the merges that they can give.
    pub fn slots(&self) -> usize {
        self.slots
    }
}

/// All words with at least one pair.
pub struct Slots<S> {
    slots: Vec<S>,
    /// Where each group of words of equal count begins, and behind them where the last one ends.
    starts: Vec<u32>,
    counts: Vec<u64>,
    /// The group of the first slot of every block.
    group_of_block: Vec<u32>,
}

/// Slots in a block, as a power of two.
const BLOCK: u32 = 6;

impl<S: Slot> Slots<S> {
    /// Places the words in groups of equal count, the most frequent first.
    pub fn fill<W: Words>(layout: Layout, words: &W, tokens: &Tokens, pulse: &mut Pulse<'_>) -> Result<Self> {
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

        let mut slots = Vec::new();
        slots
            .try_reserve_exact(layout.slots)
            .map_err(|_| Error::Memory(format!("no memory for {} slots of pretokens", layout.slots)))?;
        slots.resize(layout.slots, S::of(BOUNDARY));
        words.visit(&mut |word, count| {
            pulse.work(word.len())?;
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
                let span = tokens.span(code) as usize;
                slots[at..at + span].fill(S::of(HOLE));
                slots[at] = S::of(code);
                slots[at + span - 1] = S::of(code);
                at += span;
            }
            cursors[group] = at + 1;
            Ok(())
        })?;
        let mut filled = Self { slots, starts, counts, group_of_block: Vec::new() };
        filled.index_groups();
        Ok(filled)
    }

    fn index_groups(&mut self) {
        self.group_of_block.clear();
        let mut group = 0;
        for first in (0..self.slots.len()).step_by(1 << BLOCK) {
            while group + 1 < self.counts.len() && self.starts[group + 1] as usize <= first {
                group += 1;
            }
            self.group_of_block.push(group as u32);
        }
    }

    pub fn code(&self, at: usize) -> Code {
        self.slots[at].code()
    }

    /// Whether the pair stands at this position, `span` being that of its left token.
    pub fn holds(&self, at: usize, left: Code, span: usize, right: Code) -> bool {
        self.code(at) == left && self.code(at + span) == right
    }

    /// The count of the word that the position lies in.
    pub fn count(&self, at: usize) -> u64 {
        let mut group = self.group_of_block[at >> BLOCK] as usize;
        while self.starts[group + 1] as usize <= at {
            group += 1;
        }
        self.counts[group]
    }

    /// Replaces the pair that stands at `at`: its right token begins at `middle`, its slots end before `end`.
    pub fn replace(&mut self, at: usize, middle: usize, end: usize, joined: Code) {
        self.slots[at] = S::of(joined);
        self.slots[middle] = S::of(HOLE);
        self.slots[end - 1] = S::of(joined);
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

    /// Passes every pair that stands anywhere, in order: position, left, right, the word's count.
    pub fn each_pair(
        &self,
        tokens: &Tokens,
        pulse: &mut Pulse<'_>,
        mut each: impl FnMut(usize, Code, Code, u64) -> Result<()>,
    ) -> Result<()> {
        for (group, &count) in self.counts.iter().enumerate() {
            let (mut at, end) = (self.starts[group] as usize, self.starts[group + 1] as usize);
            pulse.work(end - at)?;
            let mut left = BOUNDARY;
            let mut left_at = at;
            while at < end {
                let right = self.code(at);
                if left != BOUNDARY && right != BOUNDARY {
                    each(left_at, left, right, count)?;
                }
                (left, left_at) = (right, at);
                at += tokens.span(right) as usize;
            }
        }
        Ok(())
    }

    /// Drops the words that have become one token. Positions change.
    pub fn compact(&mut self, tokens: &Tokens, pulse: &mut Pulse<'_>) -> Result<()> {
        let (mut at, mut to) = (1, 1);
        for group in 0..self.counts.len() {
            let end = self.starts[group + 1] as usize;
            self.starts[group] = to as u32;
            pulse.work(end - at)?;
            while at < end {
                let begin = at;
                at += tokens.span(self.code(at)) as usize;
                if self.code(at) == BOUNDARY {
                    at += 1;
                    continue;
                }
                while self.code(at) != BOUNDARY {
                    at += tokens.span(self.code(at)) as usize;
                }
                at += 1;
                self.slots.copy_within(begin..at, to);
                to += at - begin;
            }
        }
        if let Some(last) = self.starts.last_mut() {
            *last = to as u32;
        }
        self.slots.truncate(to);
        self.index_groups();
        Ok(())
    }
}
