//! The merge loop: pick the best pair, replace it everywhere, bring the counts up to date.

use super::neighbours::Neighbours;
use super::pairs::{List, Pair, PairTable, add};
use super::prior::Prior;
use super::pulse::Pulse;
use super::queue::{Candidate, Queue, TieBreak};
use super::slots::{Layout, Slot, Slots};
use super::tokens::{BOUNDARY, Code, FIRST, Tokens};
use super::{Merge, Rules, Words};
use crate::error::{Error, Result};
use crate::watch::Watch;

/// Learns merges from words whose units are `symbols`, after the merges in `prior`; returns the new ones.
///
/// Every unit of a word must be the number of one of the symbols.
pub fn train<'a, W: Words>(
    symbols: impl Iterator<Item = &'a [u8]> + Clone,
    words: &W,
    rules: &Rules,
    prior: &[Merge],
    watch: &mut dyn Watch,
) -> Result<Vec<Merge>> {
    train_at_pace(symbols, words, rules, prior, Pace::default(), watch)
}

/// How fast the threshold falls. It changes how long training takes, never what is learned.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    /// The first threshold leaves room for so many times the remaining merges.
    pub slack: u64,
    /// A recount divides the threshold by this (at least 2).
    pub divisor: u64,
    /// The positions that may be added before a recount, for each pair that stands in the words, in percent.
    pub growth: usize,
    /// Use 32-bit slots even for few tokens.
    pub wide: bool,
}

impl Default for Pace {
    fn default() -> Self {
        Self { slack: 64, divisor: 8, growth: 100, wide: false }
    }
}

pub(super) fn train_at_pace<'a, W: Words>(
    symbols: impl Iterator<Item = &'a [u8]> + Clone,
    words: &W,
    rules: &Rules,
    prior: &[Merge],
    pace: Pace,
    watch: &mut dyn Watch,
) -> Result<Vec<Merge>> {
    let mut pulse = Pulse::new(watch, rules.remaining(0, 0).unwrap_or(0));
    pulse.report()?;
    let keep_bytes = rules.tie_break != TieBreak::SmallestIds;
    let mut tokens = Tokens::new(symbols, keep_bytes, rules.shared_tokens)?;
    let prior = Prior::new(prior, &mut tokens)?;
    let layout = Layout::measure(words, &tokens, &mut pulse)?;
    let new_tokens = rules.remaining(0, 0).map_or(layout.slots(), |most| layout.slots().min(most as usize));
    let merges = if !pace.wide && tokens.len() + new_tokens <= u16::MOST {
        let slots = Slots::<u16>::fill(layout, words, &tokens, &mut pulse)?;
        Trainer::start(slots, tokens, rules, pace).run(&prior, &mut pulse)?
    } else {
        let slots = Slots::<u32>::fill(layout, words, &tokens, &mut pulse)?;
        Trainer::start(slots, tokens, rules, pace).run(&prior, &mut pulse)?
    };
    pulse.report()?;
    Ok(merges)
}

/// An occurrence that was merged: where, and what stood on both sides.
#[derive(Clone, Copy)]
struct Event {
    at: u32,
    before: Code,
    after: Code,
}

struct Trainer<'r, S> {
    rules: &'r Rules,
    pace: Pace,
    slots: Slots<S>,
    tokens: Tokens,
    base_tokens: usize,
    merges: Vec<Merge>,
    /// A pair that is not in `pairs` occurs less often than this.
    threshold: u64,
    pairs: PairTable,
    /// For every pair at or above the threshold, a candidate with at least the pair's count.
    queue: Queue,
    /// Positions, list after list.
    arena: Vec<u32>,
    arena_limit: usize,
    /// Tokens found left and right of the pair being merged.
    before: Neighbours,
    after: Neighbours,
    events: Vec<Event>,
}

impl<'r, S: Slot> Trainer<'r, S> {
    fn start(slots: Slots<S>, tokens: Tokens, rules: &'r Rules, pace: Pace) -> Self {
        Self {
            rules,
            pace,
            slots,
            base_tokens: tokens.len(),
            tokens,
            merges: Vec::new(),
            threshold: u64::MAX,
            pairs: PairTable::new(),
            queue: Queue::new(rules.tie_break),
            arena: Vec::new(),
            arena_limit: 0,
            before: Neighbours::default(),
            after: Neighbours::default(),
            events: Vec::new(),
        }
    }

    fn run(mut self, prior: &Prior, pulse: &mut Pulse<'_>) -> Result<Vec<Merge>> {
        if !prior.is_empty() {
            prior.apply(&mut self.slots, &self.tokens, pulse)?;
        }
        while self.remaining() != Some(0) {
            let Some(best) = self.queue.best() else {
                if self.threshold == 1 || !self.recount(pulse)? {
                    break;
                }
                continue;
            };
            let (count, list) = match self.pairs.get_mut(best.left, best.right) {
                Some(pair) => (pair.count, pair.list),
                None => (0, None),
            };
            if count < self.threshold {
                self.queue.remove_best(&self.tokens);
            } else if count != best.count {
                self.queue.lower_best(&self.tokens, count);
            } else if let Some(list) = list {
                self.queue.remove_best(&self.tokens);
                self.merge(best.left, best.right, list, pulse)?;
                if self.arena.len() > self.arena_limit {
                    self.follow(self.threshold, pulse)?;
                }
            } else {
                self.recount(pulse)?;
            }
        }
        Ok(self.merges)
    }

    fn remaining(&self) -> Option<u64> {
        self.rules.remaining(self.merges.len(), self.tokens.len() - self.base_tokens)
    }

    /// Merges the pair at all its positions.
    fn merge(&mut self, left: Code, right: Code, list: List, pulse: &mut Pulse<'_>) -> Result<()> {
        let (joined, is_new) = self.tokens.join(left, right)?;
        self.before.widen(self.tokens.len());
        self.after.widen(self.tokens.len());
        self.replace(left, right, joined, list, pulse)?;
        if let Some(pair) = self.pairs.get_mut(left, right) {
            pair.count = 0;
            pair.list = Some(List::default());
        }
        if is_new {
            self.settle_new(left, right, joined);
        } else {
            self.settle_known(left, right, joined)?;
        }
        self.before.clear();
        self.after.clear();
        self.merges.push([left - FIRST, right - FIRST, joined - FIRST]);
        pulse.done = self.merges.len() as u64;
        pulse.work(1)
    }

    /// Replaces the pair in the words, in order of position, and tallies what stood beside it.
    ///
    /// Each replacement changes four counts: (before, left) and (right, after) fall, (before, joined) and
    /// (joined, after) rise, as the words are at that moment. So the sums are those of a recount, also where
    /// occurrences touch each other.
    fn replace(
        &mut self,
        left: Code,
        right: Code,
        joined: Code,
        list: List,
        pulse: &mut Pulse<'_>,
    ) -> Result<()> {
        let left_span = self.tokens.span(left) as usize;
        let span = left_span + self.tokens.span(right) as usize;
        self.events.clear();
        for &position in &self.arena[list.range()] {
            let at = position as usize;
            if !self.slots.holds(at, left, left_span, right) {
                continue;
            }
            let before = self.slots.code(at - 1);
            let after = self.slots.code(at + span);
            let count = self.slots.count(at);
            self.slots.replace(at, at + left_span, at + span, joined);
            self.before.add(before, count);
            self.after.add(after, count);
            self.events.push(Event { at: position, before, after });
        }
        pulse.work(list.len as usize)
    }

    /// Brings the counts up to date after a merge into a new token: all its pairs are known exactly.
    fn settle_new(&mut self, left: Code, right: Code, joined: Code) {
        // Where occurrences followed each other, (joined, left) rose with one and fell with the next.
        let repeated = *self.before.tally(joined);
        for nth in 0..self.before.touched() {
            let before = self.before.code(nth);
            let tally = *self.before.tally(before);
            if before == BOUNDARY {
                continue;
            }
            if before != joined {
                self.lower(before, left, tally.weight);
            }
            self.before.tally(before).cursor = self.follow_new(before, joined, tally.weight, tally.number);
        }
        for nth in 0..self.after.touched() {
            let after = self.after.code(nth);
            let tally = *self.after.tally(after);
            if after == BOUNDARY {
                continue;
            }
            if (right, after) != (left, right) {
                self.lower(right, after, tally.weight);
            }
            let undone = if after == left { repeated.weight } else { 0 };
            let weight = tally.weight - undone;
            self.after.tally(after).cursor = self.follow_new(joined, after, weight, tally.number);
        }
        self.list_positions();
    }

    /// Starts to follow a new pair, if it is frequent enough; returns where its positions go.
    fn follow_new(&mut self, left: Code, right: Code, count: u64, number: u32) -> Option<usize> {
        if count < self.threshold || !self.rules.allow(&self.tokens, left, right) {
            return None;
        }
        let list = self.new_list(number);
        let pair = self.pairs.entry(left, right);
        pair.count = count;
        pair.list = Some(list);
        self.queue.push(&self.tokens, Candidate { count, left, right });
        Some(list.start)
    }

    /// Brings the counts up to date after a merge into a token that existed before.
    fn settle_known(&mut self, left: Code, right: Code, joined: Code) -> Result<()> {
        // Risen counts come first, so that none falls below zero on the way.
        for nth in 0..self.before.touched() {
            let before = self.before.code(nth);
            let tally = *self.before.tally(before);
            if before != BOUNDARY && before != joined {
                self.before.tally(before).cursor = self.raise(before, joined, tally.weight, tally.number)?;
            }
        }
        for nth in 0..self.after.touched() {
            let after = self.after.code(nth);
            let tally = *self.after.tally(after);
            if after != BOUNDARY && after != joined {
                self.after.tally(after).cursor = self.raise(joined, after, tally.weight, tally.number)?;
            }
        }
        let (ahead, behind) = (*self.before.tally(joined), *self.after.tally(joined));
        if ahead.number + behind.number > 0 {
            let mut weight = ahead.weight;
            add(&mut weight, behind.weight)?;
            let cursor = self.raise(joined, joined, weight, ahead.number + behind.number)?;
            self.before.tally(joined).cursor = cursor;
            self.after.tally(joined).cursor = cursor.map(|start| start + ahead.number as usize);
        }
        for nth in 0..self.before.touched() {
            let before = self.before.code(nth);
            let weight = self.before.tally(before).weight;
            if (before, left) != (left, right) {
                self.lower(before, left, weight);
            }
        }
        for nth in 0..self.after.touched() {
            let after = self.after.code(nth);
            let weight = self.after.tally(after).weight;
            if (right, after) != (left, right) {
                self.lower(right, after, weight);
            }
        }
        self.list_positions();
        // Occurrences of a token paired with itself overlap, so they must be met from left to right.
        if let Some(list) = self.pairs.get_mut(joined, joined).and_then(|pair| pair.list) {
            self.arena[list.range()].sort_unstable();
        }
        Ok(())
    }

    /// Adds to the count of a pair that may have existed before; returns where its new positions go.
    fn raise(&mut self, left: Code, right: Code, weight: u64, number: u32) -> Result<Option<usize>> {
        if !self.rules.allow(&self.tokens, left, right) {
            return Ok(None);
        }
        let unseen = self.threshold - 1;
        let known = self.pairs.get_mut(left, right).map(|pair| (pair.count, pair.list));
        let (mut count, list) = known.unwrap_or((unseen, (unseen == 0).then(List::default)));
        match list {
            Some(_) => add(&mut count, weight)?,
            None => count = count.saturating_add(weight),
        }
        let longer = list.map(|list| {
            let longer = self.new_list(list.len + number);
            self.arena.copy_within(list.range(), longer.start);
            longer
        });
        let pair = self.pairs.entry(left, right);
        pair.count = count;
        pair.list = longer;
        if count >= self.threshold {
            self.queue.push(&self.tokens, Candidate { count, left, right });
        }
        Ok(longer.map(|longer| longer.start + (longer.len - number) as usize))
    }

    /// Takes from the count of a pair, if it is followed.
    fn lower(&mut self, left: Code, right: Code, weight: u64) {
        if let Some(pair) = self.pairs.get_mut(left, right) {
            pair.count -= weight;
        }
    }

    fn new_list(&mut self, number: u32) -> List {
        let start = self.arena.len();
        self.arena.resize(start + number as usize, 0);
        List { start, len: number }
    }

    /// Writes the positions of the merged occurrences into the lists of the pairs beside them.
    fn list_positions(&mut self) {
        for event in &self.events {
            if let Some(cursor) = &mut self.before.tally(event.before).cursor {
                self.arena[*cursor] = event.at - self.tokens.span(event.before);
                *cursor += 1;
            }
            if let Some(cursor) = &mut self.after.tally(event.after).cursor {
                self.arena[*cursor] = event.at;
                *cursor += 1;
            }
        }
    }

    /// Counts all pairs again with a lower threshold; false when there are none.
    fn recount(&mut self, pulse: &mut Pulse<'_>) -> Result<bool> {
        let lower = self.threshold / self.pace.divisor.max(2);
        self.follow(lower.max(1), pulse)
    }

    /// Follows all pairs that occur at least so often, or the most frequent ones if there are none.
    fn follow(&mut self, threshold: u64, pulse: &mut Pulse<'_>) -> Result<bool> {
        self.slots.compact(&self.tokens, pulse)?;
        self.arena.clear();
        let mut all = PairTable::new();
        let mut instances = 0;
        let mut total = 0u64;
        self.slots.each_pair(&self.tokens, pulse, |_, left, right, count| {
            let pair = all.entry(left, right);
            add(&mut pair.count, count)?;
            let list = pair.list.get_or_insert_default();
            list.len += 1;
            instances += 1;
            total = total.saturating_add(count);
            Ok(())
        })?;
        let (tokens, rules) = (&self.tokens, self.rules);
        let may_join = |pair: &&Pair| {
            let (left, right) = pair.codes();
            rules.allow(tokens, left, right)
        };
        let Some(highest) = all.iter().filter(may_join).map(|pair| pair.count).max() else {
            self.pairs = PairTable::new();
            self.queue.fill(&self.tokens, std::iter::empty());
            self.threshold = 1;
            return Ok(false);
        };
        let needed =
            self.remaining().map_or(1, |merges| total / merges.saturating_mul(self.pace.slack).max(1));
        let first = self.threshold == u64::MAX;
        let threshold = if first { needed } else { threshold };
        self.threshold = threshold.clamp(1, highest);

        let followed = all.iter().filter(may_join).filter(|pair| pair.count >= self.threshold).count();
        let mut pairs = PairTable::with_capacity(followed);
        let mut listed = 0;
        for pair in all.iter().filter(may_join).filter(|pair| pair.count >= self.threshold) {
            let (left, right) = pair.codes();
            let len = pair.list.unwrap_or_default().len;
            let entry = pairs.entry(left, right);
            entry.count = pair.count;
            entry.list = Some(List { start: listed, len: 0 });
            listed += len as usize;
        }
        drop(all);
        self.arena
            .try_reserve(listed)
            .map_err(|_| Error::Memory(format!("no memory for the positions of {listed} pairs")))?;
        self.arena.resize(listed, 0);
        let arena = &mut self.arena;
        self.slots.each_pair(&self.tokens, pulse, |at, left, right, _| {
            if let Some(list) = pairs.get_mut(left, right).and_then(|pair| pair.list.as_mut()) {
                arena[list.start + list.len as usize] = at as u32;
                list.len += 1;
            }
            Ok(())
        })?;
        self.arena_limit = listed + instances / 100 * self.pace.growth + SPARE;
        self.pairs = pairs;
        let candidates = self.pairs.iter().map(|pair| {
            let (left, right) = pair.codes();
            Candidate { count: pair.count, left, right }
        });
        self.queue.fill(&self.tokens, candidates);
        Ok(true)
    }
}

/// Positions that may be added before a recount, however few pairs stand in the words.
const SPARE: usize = 1 << 10;
