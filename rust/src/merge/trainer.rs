//! The merge loop: pick the best pair, replace it everywhere, update the counts.
//!
//! Invariants between two merges: every pair at or above the threshold is in `pairs` and in the queue; a pair with a
//! list has its exact count; a pair without one (`UNLISTED`) has an upper bound. When the best candidate has no list, or
//! none is left, a recount starts afresh with a lower threshold.

use super::code_array::SlotWidth;
use super::neighbours::{NeighbourCount, Neighbours};
use super::pairs::{Candidate, PairTable, UNLISTED, add, codes_of, key_of};
use super::prior::Prior;
use super::queue::PairQueue;
use super::recount::{Plan, Recount};
use super::replacing::Task;
use super::slots::{Layout, Slots};
use super::tie_break::TieBreak;
use super::tokens::{BOUNDARY, Code, FIRST, Tokens};
use super::tuning::{LIST_BYTES_PER_SLOT, MAX_EXPECTED_TOKENS, MAX_SLOTS, STEP, TABLE_BYTES, Tuning};
use super::word_store::{Need, Side, WordStore};
use super::{MergeRow, Rules, Share, Words};
use crate::error::{Error, Result};
use crate::memory;
use crate::memory::cells::Plain;
use crate::memory::rows::Rows;
use crate::watch::{Pulse, Stage, Watch};
use crate::workers;

/// Learns merges from words of `symbols`, starting after the merges in `prior`; returns the new ones.
///
/// Every unit of a word must be the number of a symbol. The result does not depend on `threads`.
pub fn train<'a, W: Words>(
    symbols: impl Iterator<Item = &'a [u8]> + Clone,
    words: &W,
    rules: &Rules,
    prior: &[MergeRow],
    threads: usize,
    watch: &mut dyn Watch,
) -> Result<Rows<MergeRow>> {
    Planned::new(symbols, words, rules, prior, threads, watch)?.fill(words, watch)?.train(watch)
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for MergeRow {}

/// The reason for a recount.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// Nothing was counted yet.
    Start,
    /// No followed pair reaches the threshold any more.
    Exhausted,
    /// The best candidate has only an upper bound. The threshold falls by a factor, so that this is rare.
    Unsure,
    /// The lists of positions have reached their limit.
    Full,
}

/// A training whose words are measured: the memory that it takes is known, and the words can be taken over.
pub struct Planned<'r> {
    rules: &'r Rules,
    tuning: Tuning,
    tokens: Tokens,
    prior: Prior,
    layouts: Vec<(Share, Layout)>,
    /// The number of codes that training may need, as far as room is made for them.
    codes: usize,
    is_narrow: bool,
    /// Whether narrow slots may become wide.
    may_widen: bool,
}

impl<'r> Planned<'r> {
    /// Measures the words of [`train`].
    pub fn new<'a, W: Words>(
        symbols: impl Iterator<Item = &'a [u8]> + Clone,
        words: &W,
        rules: &'r Rules,
        prior: &[MergeRow],
        threads: usize,
        watch: &mut dyn Watch,
    ) -> Result<Self> {
        let tuning = Tuning::for_words(words.len(), threads);
        Self::tuned(symbols, words, rules, prior, tuning, watch)
    }

    pub(super) fn tuned<'a, W: Words>(
        symbols: impl Iterator<Item = &'a [u8]> + Clone,
        words: &W,
        rules: &'r Rules,
        prior: &[MergeRow],
        tuning: Tuning,
        watch: &mut dyn Watch,
    ) -> Result<Self> {
        let mut pulse = pulse_of(watch, rules);
        pulse.report()?;
        let keep_bytes = rules.tie_break != TieBreak::SmallestIds;
        let mut tokens = Tokens::new(symbols, keep_bytes, rules.shared_tokens)?;
        let prior = Prior::new(prior, &mut tokens)?;
        let of = tuning.threads;
        let shares = (0..of).map(|nth| Share { nth, of });
        let spans = &tokens.spans()[..];
        let layouts = workers::each(shares, &mut pulse, |share, pulse| {
            Ok((share, Layout::measure(words, share, spans, pulse)?))
        })?;
        let slots: u64 = layouts.iter().map(|(_, layout)| layout.slots()).sum();
        if slots > MAX_SLOTS {
            return Err(Error::Memory(format!(
                "the distinct pretokens hold {slots} bytes, more than the limit of {MAX_SLOTS}; raise min_count"
            )));
        }
        let is_narrow = spans.len() < tuning.narrow_codes;
        let new_tokens = rules.remaining(0, 0).map_or(slots, |most| slots.min(most));
        let may_widen = spans.len() as u64 + new_tokens >= tuning.narrow_codes as u64;
        // Slots become wide when so few pairs are left that their lists take less than before.
        let slot = if is_narrow { size_of::<u16>() } else { size_of::<u32>() };
        let expected = slots * (slot as u64 + LIST_BYTES_PER_SLOT) + TABLE_BYTES;
        pulse.expect(expected)?;
        memory::ensure(usize::try_from(expected).unwrap_or(usize::MAX))?;
        let new_tokens = new_tokens.min(MAX_EXPECTED_TOKENS) as usize;
        tokens.make_room(new_tokens)?;
        let codes = tokens.len() + new_tokens;
        Ok(Self { rules, tuning, tokens, prior, layouts, codes, is_narrow, may_widen })
    }

    /// Takes over the words, which must be those that were measured.
    pub fn fill<W: Words>(self, words: &W, watch: &mut dyn Watch) -> Result<AnyTrainer<'r>> {
        Ok(if self.is_narrow {
            AnyTrainer::Narrow(self.filled(words, watch)?)
        } else {
            AnyTrainer::Wide(self.filled(words, watch)?)
        })
    }

    fn filled<W: Words, S: SlotWidth>(self, words: &W, watch: &mut dyn Watch) -> Result<Box<Trainer<'r, S>>> {
        let Self { rules, tuning, tokens, prior, layouts, codes, may_widen, .. } = self;
        let mut pulse = pulse_of(watch, rules);
        let spans = &tokens.spans()[..];
        let mut slots = Slots::fill(&layouts, words, spans, may_widen, &mut pulse)?;
        if !prior.is_empty() {
            prior.apply(&mut slots, spans, tuning.threads, &mut pulse)?;
        }
        Ok(Box::new(Trainer {
            store: WordStore::new(slots, spans, &tuning, codes)?,
            rules,
            tuning,
            base_tokens: tokens.len(),
            // Some merges result in known tokens.
            merges: Rows::with_capacity((codes - tokens.len()) / 8 * 9)?,
            tokens,
            threshold: u64::MAX,
            pairs: PairTable::with_capacity(0)?,
            queue: PairQueue::new(rules.tie_break, tuning.buckets, tuning.sort_batch),
            lists: 0,
            next_lists: [UNLISTED; NEXT_LISTS],
        }))
    }
}

/// A training whose words are all taken over: it needs nothing else to learn merges. While all codes fit 16 bits, slots have
/// so many, which is half the memory.
pub enum AnyTrainer<'r> {
    Narrow(Box<Trainer<'r, u16>>),
    Wide(Box<Trainer<'r, u32>>),
}

impl AnyTrainer<'_> {
    /// Learns the merges.
    pub fn train(self, watch: &mut dyn Watch) -> Result<Rows<MergeRow>> {
        let mut wide = match self {
            Self::Wide(trainer) => trainer,
            Self::Narrow(mut trainer) => {
                let mut pulse = pulse_of(watch, trainer.rules);
                if trainer.learn(&mut pulse)? {
                    pulse.report()?;
                    return Ok(trainer.merges);
                }
                trainer.widened(&mut pulse)?
            }
        };
        let mut pulse = pulse_of(watch, wide.rules);
        wide.learn(&mut pulse)?;
        pulse.report()?;
        Ok(wide.merges)
    }
}

/// A training with slots of one width.
pub struct Trainer<'r, S> {
    store: WordStore<S>,
    rules: &'r Rules,
    tuning: Tuning,
    tokens: Tokens,
    base_tokens: usize,
    merges: Rows<MergeRow>,
    /// A pair that is not in `pairs` has a lower count.
    threshold: u64,
    pairs: PairTable,
    /// For every pair at or above the threshold, a candidate with at least the pair's count.
    queue: PairQueue,
    /// The number of lists of positions.
    lists: u32,
    /// The lists of the next merges, by their numbers in the queue; only for prefetching, as pairs may have lost theirs.
    next_lists: [u32; NEXT_LISTS],
}

/// More than are prefetched at a time.
const NEXT_LISTS: usize = 4 * STEP;
/// How many merges lie between the present one and the one whose neighbours are looked at.
const AROUND: usize = 1;

impl<'r, S: SlotWidth> Trainer<'r, S> {
    /// The same with wide slots.
    fn widened(mut self, pulse: &mut Pulse<'_>) -> Result<Box<Trainer<'r, u32>>> {
        self.drop_lists(WordStore::forget_list);
        Ok(Box::new(Trainer {
            store: self.store.widened(pulse)?,
            rules: self.rules,
            tuning: self.tuning,
            tokens: self.tokens,
            base_tokens: self.base_tokens,
            merges: self.merges,
            threshold: self.threshold,
            pairs: self.pairs,
            queue: self.queue,
            lists: self.lists,
            next_lists: self.next_lists,
        }))
    }

    /// Learns merges; false if the next token does not fit the slots.
    fn learn(&mut self, pulse: &mut Pulse<'_>) -> Result<bool> {
        while self.remaining() != Some(0) {
            if S::IS_NARROW && self.tokens.len() >= self.tuning.narrow_codes {
                return Ok(false);
            }
            let Some(best) = self.queue.pop(&self.tokens, &self.pairs, self.threshold) else {
                let reason = if self.threshold == u64::MAX { Reason::Start } else { Reason::Exhausted };
                if self.threshold == 1 || !self.recount(reason, pulse)? {
                    break;
                }
                continue;
            };
            self.look_ahead();
            let Some(place) = self.pairs.find(best.key) else { continue };
            let (count, list) = (self.pairs.count(place), self.pairs.list(place));
            if count < self.threshold {
                continue;
            }
            if count != best.count {
                self.queue.push(&self.tokens, Candidate { count, ..best });
            } else if list == UNLISTED {
                self.recount(Reason::Unsure, pulse)?;
            } else {
                // All of its occurrences are merged now.
                *self.pairs.count_mut(place) = 0;
                let (left, right) = codes_of(best.key);
                self.merge((left, right, list), pulse)?;
            }
        }
        Ok(true)
    }

    /// Prefetches the memory of the next merges, one step further for each merge that is nearer.
    fn look_ahead(&mut self) {
        if let Some((_, key)) = self.queue.ahead(4 * STEP) {
            let (left, right) = codes_of(key);
            self.pairs.prefetch_with_list(key);
            self.tokens.prefetch(left, right);
        }
        if let Some((number, key)) = self.queue.ahead(3 * STEP) {
            let (left, right) = codes_of(key);
            self.tokens.prefetch_join(left, right);
            let list = self.pairs.find(key).map_or(UNLISTED, |place| self.pairs.list(place));
            self.next_lists[number % NEXT_LISTS] = list;
            self.store.prefetch(list, Need::List);
        }
        for (steps, need) in [(2, Need::Positions), (1, Need::Slots)] {
            if let Some((number, _)) = self.queue.ahead(steps * STEP) {
                self.store.prefetch(self.next_lists[number % NEXT_LISTS], need);
            }
        }
        if let Some((number, key)) = self.queue.ahead(AROUND) {
            let (left, right) = codes_of(key);
            let left_span = self.tokens.span(left);
            let span = left_span + self.tokens.span(right);
            let list = self.next_lists[number % NEXT_LISTS];
            let task = Task { left, right, left_span, span, list, ..Task::default() };
            self.store.look_around(task, |before, after| {
                self.pairs.prefetch(key_of(before, left));
                self.pairs.prefetch(key_of(right, after));
            });
        }
    }

    fn remaining(&self) -> Option<u64> {
        self.rules.remaining(self.merges.len(), self.tokens.len() - self.base_tokens)
    }

    /// Merges a pair at all its positions.
    fn merge(&mut self, (left, right, list): (Code, Code, u32), pulse: &mut Pulse<'_>) -> Result<()> {
        let (joined, is_new) = self.tokens.join(left, right)?;
        let (left_span, span) = (self.tokens.span(left), self.tokens.span(joined));
        let task = Task { left, right, joined, left_span, span, list };
        let positions = self.store.list_len(list);
        self.store.merge(task)?;
        self.prefetch_neighbours(task);
        if is_new {
            self.update_for_new_token(task)?;
        } else {
            self.update_for_known_token(task)?;
        }
        self.merges.push([left - FIRST, right - FIRST, joined - FIRST])?;
        pulse.finished = self.merges.len() as u64;
        pulse.beat(positions + 1)?;
        if self.store.has_grown(self.tuning.growth_per_entry * self.pairs.places()) {
            self.drop_lists(WordStore::drop_list);
        }
        if self.store.is_full() {
            self.recount(Reason::Full, pulse)?;
        }
        Ok(())
    }

    /// Drops the lists of pairs that have fallen below the threshold. If such a pair rises again, it has no list.
    fn drop_lists(&mut self, drop: impl Fn(&mut WordStore<S>, u32)) {
        self.store.list_positions();
        for list in self.pairs.lists_below(self.threshold) {
            drop(&mut self.store, std::mem::replace(list, UNLISTED));
        }
        self.store.note_size();
    }

    /// Prefetches the neighbouring pairs of a merge, which are looked up next.
    fn prefetch_neighbours(&self, task: Task) {
        let ask = |old: u64, new: u64, weight: u64| {
            self.pairs.prefetch(old);
            if weight >= self.threshold {
                self.pairs.prefetch(new);
            }
        };
        for &before in self.store.replaced.before.touched() {
            let weight = self.store.replaced.before.get(before).weight;
            ask(key_of(before, task.left), key_of(before, task.joined), weight);
        }
        for &after in self.store.replaced.after.touched() {
            let weight = self.store.replaced.after.get(after).weight;
            ask(key_of(task.right, after), key_of(task.joined, after), weight);
        }
    }

    /// Updates the counts after a merge into a new token: the counts of all its pairs are known exactly.
    fn update_for_new_token(&mut self, task: Task) -> Result<()> {
        let Task { left, right, joined, .. } = task;
        // Between adjacent occurrences, (joined, left) rose with the first and fell with the second.
        let repeated = self.store.replaced.before.get(joined).weight;
        for nth in 0..self.store.replaced.before.touched().len() {
            let (before, tally) = neighbour(&self.store.replaced.before, nth);
            if before == BOUNDARY {
                continue;
            }
            if before != joined {
                self.lower(before, left, tally.weight);
            }
            if let Some(list) = self.follow_new(before, joined, tally.weight)? {
                self.extend_list(Side::Before, before, list)?;
            }
        }
        for nth in 0..self.store.replaced.after.touched().len() {
            let (after, tally) = neighbour(&self.store.replaced.after, nth);
            if after == BOUNDARY {
                continue;
            }
            if (right, after) != (left, right) {
                self.lower(right, after, tally.weight);
            }
            let undone = if after == left { repeated } else { 0 };
            if let Some(list) = self.follow_new(joined, after, tally.weight - undone)? {
                self.extend_list(Side::After, after, list)?;
            }
        }
        Ok(())
    }

    /// Follows a new pair if it is frequent enough; returns the number of its list.
    fn follow_new(&mut self, left: Code, right: Code, count: u64) -> Result<Option<u32>> {
        if count < self.threshold || !self.rules.allow(&self.tokens, left, right) {
            return Ok(None);
        }
        let place = self.pairs.insert(key_of(left, right))?;
        *self.pairs.count_mut(place) = count;
        let list = self.lists;
        *self.pairs.list_mut(place) = list;
        self.add_list()?;
        self.queue.push(&self.tokens, Candidate { key: key_of(left, right), count });
        Ok(Some(list))
    }

    /// Updates the counts after a merge into a token that existed before.
    fn update_for_known_token(&mut self, task: Task) -> Result<()> {
        let Task { left, right, joined, .. } = task;
        // Counts are raised first, so that none falls below zero on the way.
        for nth in 0..self.store.replaced.before.touched().len() {
            let (before, tally) = neighbour(&self.store.replaced.before, nth);
            if before == BOUNDARY || before == joined {
                continue;
            }
            if let Some(list) = self.raise(before, joined, tally.weight)? {
                self.extend_list(Side::Before, before, list)?;
            }
        }
        for nth in 0..self.store.replaced.after.touched().len() {
            let (after, tally) = neighbour(&self.store.replaced.after, nth);
            if after == BOUNDARY || after == joined {
                continue;
            }
            if let Some(list) = self.raise(joined, after, tally.weight)? {
                self.extend_list(Side::After, after, list)?;
            }
        }
        self.raise_doubled(joined)?;
        for nth in 0..self.store.replaced.before.touched().len() {
            let (before, tally) = neighbour(&self.store.replaced.before, nth);
            if (before, left) != (left, right) {
                self.lower(before, left, tally.weight);
            }
        }
        for nth in 0..self.store.replaced.after.touched().len() {
            let (after, tally) = neighbour(&self.store.replaced.after, nth);
            if (right, after) != (left, right) {
                self.lower(right, after, tally.weight);
            }
        }
        self.store.list_positions();
        Ok(())
    }

    /// Raises the pair (joined, joined), whose occurrences may come from both sides.
    fn raise_doubled(&mut self, joined: Code) -> Result<()> {
        let mut weight = self.store.replaced.before.get(joined).weight;
        add(&mut weight, self.store.replaced.after.get(joined).weight)?;
        if weight == 0 {
            return Ok(());
        }
        let list = self.raise(joined, joined, weight)?;
        if let Some(list) = list {
            let store = &mut self.store;
            let (before, after) =
                (store.replaced.before.get(joined).units(), store.replaced.after.get(joined).units());
            let start = store.lengthen(list, before + after)?;
            store.note_lengthened(list)?;
            store.replaced.before.set_place(joined, start);
            store.replaced.after.set_place(joined, start + before);
        }
        Ok(())
    }

    /// Adds to the count of a pair that may exist already; returns the number of its list, if it has one.
    fn raise(&mut self, left: Code, right: Code, weight: u64) -> Result<Option<u32>> {
        if !self.rules.allow(&self.tokens, left, right) {
            return Ok(None);
        }
        let key = key_of(left, right);
        let place = match self.pairs.find(key) {
            Some(place) => place,
            None => {
                let place = self.pairs.insert(key)?;
                *self.pairs.count_mut(place) = self.threshold - 1;
                *self.pairs.list_mut(place) = if self.threshold == 1 { self.lists } else { UNLISTED };
                if self.threshold == 1 {
                    self.add_list()?;
                }
                place
            }
        };
        let list = self.pairs.list(place);
        let count = self.pairs.count_mut(place);
        if list == UNLISTED {
            *count = count.saturating_add(weight);
        } else {
            add(count, weight)?;
        }
        if *count >= self.threshold {
            self.queue.push(&self.tokens, Candidate { key, count: *count });
        }
        Ok((list != UNLISTED).then_some(list))
    }

    /// Subtracts from the count of a pair, if it is followed.
    fn lower(&mut self, left: Code, right: Code, weight: u64) {
        if let Some(place) = self.pairs.find(key_of(left, right)) {
            *self.pairs.count_mut(place) -= weight;
        }
    }

    /// Makes room in a list for the occurrences that have `code` on one side.
    fn extend_list(&mut self, side: Side, code: Code, list: u32) -> Result<()> {
        let units = self.store.neighbours(side).get(code).units();
        if units > 0 {
            let start = self.store.lengthen(list, units)?;
            self.store.neighbours(side).set_place(code, start);
        }
        Ok(())
    }

    fn add_list(&mut self) -> Result<()> {
        self.lists += 1;
        self.store.add_list()
    }

    /// Counts all pairs again and follows the frequent ones; false when no pair is left.
    fn recount(&mut self, reason: Reason, pulse: &mut Pulse<'_>) -> Result<bool> {
        self.store.forget();
        self.pairs = PairTable::with_capacity(0)?;
        let divisor = self.tuning.divisor.max(2);
        let (threshold, max_threshold) = match reason {
            Reason::Start => (None, 1),
            Reason::Exhausted | Reason::Unsure => {
                (Some((self.threshold / divisor).max(1)), self.threshold / 2)
            }
            Reason::Full => (Some(self.threshold), self.threshold),
        };
        let (tokens, rules, tuning, merges) = (&self.tokens, self.rules, &self.tuning, self.remaining());
        let plan = Plan { tokens, rules, tuning, threshold, max_threshold, merges };
        let Some(recount) = Recount::count(&mut self.store, &plan, pulse)? else {
            self.queue.clear();
            self.threshold = 1;
            return Ok(false);
        };
        self.threshold = recount.threshold;
        self.lists = recount.followed.len() as u32;
        self.pairs = recount.followed;
        self.queue.clear();
        for (key, count, _) in self.pairs.iter() {
            self.queue.push(&self.tokens, Candidate { key, count });
        }
        Ok(true)
    }
}

fn pulse_of<'w>(watch: &'w mut dyn Watch, rules: &Rules) -> Pulse<'w> {
    Pulse::of_stage(watch, Stage::Merging, rules.remaining(0, 0).unwrap_or(0))
}

fn neighbour(neighbours: &Neighbours, nth: usize) -> (Code, NeighbourCount) {
    let code = neighbours.touched()[nth];
    (code, neighbours.get(code))
}
