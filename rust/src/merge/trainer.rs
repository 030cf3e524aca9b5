//! The merge loop: pick the best pair, replace it everywhere, update the counts.
//!
//! Invariants between two merges: every pair at or above the threshold is in `pairs` and in the
//! queue, unless the rules or conditions refuse it; a pair with a list has its exact count; a pair without one (`UNLISTED`) has an upper
//! bound. When the best pair has no list, or none is left, a recount starts afresh with a lower
//! threshold.

use super::conditions::Conditions;
use super::lists::{ADDED, Lists};
use super::pairs::{Followed, PairTable, UNLISTED, codes_of, key_of, sum};
use super::queue::{PairQueue, TieBreak};
use super::recount::{Plan, Recount};
use super::replacing::{Replaced, SIDES, Side, Task};
use super::slots::{Layout, SlotWidth, Slots};
use super::tokens::{BOUNDARY, Code, FIRST, Tokens};
use super::tuning::{
    LIST_BYTES_PER_SLOT, MAX_EXPECTED_TOKENS, MAX_SLOTS, PREFETCHED_SLOTS, SLOTS_PER_SORTED, STEP,
    TABLE_BYTES, Tuning,
};
use super::{MergeRow, Rules, Words};
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::{MERGING, Pulse, Watch};
use crate::workers;

/// A training that has copied all words: it needs nothing else to learn merges.
pub struct Training<'r> {
    slots: AnySlots,
    /// In a box, because it is large and moved often.
    trainer: Box<Trainer<'r>>,
}

/// While all codes fit 16 bits, slots have 16 bits, which is half the memory.
enum AnySlots {
    Narrow(Slots<u16>),
    Wide(Slots<u32>),
}

/// Why the merge loop has ended.
enum End {
    /// No merge remains.
    Complete,
    /// The code of the next token does not fit the slots.
    SlotsTooNarrow,
}

/// The threshold that a recount prefers.
#[derive(PartialEq)]
enum Threshold {
    /// Lower by a factor, so that recounts are rare.
    Lower,
    Same,
}

impl<'r> Training<'r> {
    /// Copies the words into slots, and drops each part when it is copied. Every unit of a word
    /// must be the number of a symbol.
    pub fn new<'a, W: Words>(
        symbols: impl Iterator<Item = &'a [u8]> + Clone,
        parts: Vec<W>,
        rules: &'r Rules,
        tuning: Tuning,
        watch: &mut dyn Watch,
    ) -> Result<Self> {
        let mut pulse = pulse_of(watch, rules);
        pulse.report()?;
        let keeps_bytes = rules.tie_break != TieBreak::SmallestIds || rules.conditions.any();
        let mut tokens = Tokens::new(symbols, keeps_bytes, rules.shared_tokens)?;
        let threads = tuning.threads;
        let layouts = workers::each(threads, &parts, &mut pulse, |words, pulse| {
            Layout::measure(words, tokens.spans(), pulse)
        })?;
        let slot_count: u64 = layouts.iter().map(Layout::slots).sum();
        if slot_count > MAX_SLOTS {
            return Err(Error::Memory(format!(
                "the distinct pretokens hold {slot_count} bytes, more than the limit of \
                 {MAX_SLOTS}; raise min_count"
            )));
        }

        // Slots that become wide later do not count: so few pairs are left then that their lists
        // take less than before.
        let is_narrow = tokens.len() < tuning.narrow_codes;
        let slot_bytes = if is_narrow { size_of::<u16>() } else { size_of::<u32>() };
        let expected_bytes = slot_count * (slot_bytes as u64 + LIST_BYTES_PER_SLOT) + TABLE_BYTES;
        pulse.expect(expected_bytes)?;
        memory::ensure(usize::try_from(expected_bytes).unwrap_or(usize::MAX))?;

        let sorted = tuning.sorted.max((slot_count / SLOTS_PER_SORTED) as usize);
        let tuning = Tuning { sorted, ..tuning };
        let base_tokens = tokens.len();
        // No more merges are possible than there are slots.
        let most_tokens = slot_count.min(rules.remaining(0, 0).unwrap_or(u64::MAX));
        let expected_tokens = most_tokens.min(MAX_EXPECTED_TOKENS) as usize;
        tokens.make_room(expected_tokens)?;
        let slots = if is_narrow {
            AnySlots::Narrow(Slots::fill(&layouts, parts, tokens.spans(), threads, &mut pulse)?)
        } else {
            AnySlots::Wide(Slots::fill(&layouts, parts, tokens.spans(), threads, &mut pulse)?)
        };
        let trainer = Box::new(Trainer {
            rules,
            conditions: rules.conditions.clone(),
            tuning,
            base_tokens,
            merges: Vec::new(),
            tokens,
            threshold: u64::MAX,
            pairs: PairTable::with_capacity(0)?,
            queue: PairQueue::new(rules.tie_break, tuning.buckets, tuning.sort_batch),
            lists: Lists::default(),
            replaced: Replaced::with_capacity(base_tokens + expected_tokens)?,
        });
        Ok(Self { slots, trainer })
    }

    /// Learns the merges.
    pub fn train(self, watch: &mut dyn Watch) -> Result<Vec<MergeRow>> {
        let Self { slots, mut trainer } = self;
        let mut pulse = pulse_of(watch, trainer.rules);
        let wide = match slots {
            AnySlots::Wide(slots) => Some(slots),
            AnySlots::Narrow(mut slots) => match trainer.learn(&mut slots, &mut pulse)? {
                End::Complete => None,
                End::SlotsTooNarrow => {
                    // The memory of lists that nobody needs is given back first.
                    trainer.drop_lists();
                    trainer.lists.compact()?;
                    Some(slots.widened())
                }
            },
        };
        if let Some(mut slots) = wide {
            trainer.learn(&mut slots, &mut pulse)?;
        }
        pulse.report()?;
        Ok(trainer.merges)
    }
}

/// The state of a training, except the words.
struct Trainer<'r> {
    rules: &'r Rules,
    /// Those of the rules; tokens that merges create are noted in them.
    conditions: Conditions,
    tuning: Tuning,
    tokens: Tokens,
    base_tokens: usize,
    merges: Vec<MergeRow>,
    /// Every pair that is not in `pairs` has a lower count. `u64::MAX` until pairs are counted.
    threshold: u64,
    pairs: PairTable,
    /// Every pair at or above the threshold, with at least its count.
    queue: PairQueue,
    lists: Lists,
    /// The occurrences of the last merge.
    replaced: Replaced,
}

impl Trainer<'_> {
    /// Learns merges until none remains or the slots are too narrow.
    fn learn<S: SlotWidth>(&mut self, slots: &mut Slots<S>, pulse: &mut Pulse<'_>) -> Result<End> {
        while self.remaining() != Some(0) {
            if S::IS_NARROW && self.tokens.len() >= self.tuning.narrow_codes {
                return Ok(End::SlotsTooNarrow);
            }
            let Some(best) = self.queue.pop(&self.tokens, &mut self.pairs, self.threshold) else {
                // All pairs that remain are below the threshold: with one of 1, there are none.
                let are_rarer = self.threshold <= self.rules.least;
                if are_rarer || !self.recount(Threshold::Lower, slots, pulse)? {
                    break;
                }
                continue;
            };
            if best.count < self.rules.least {
                break;
            }
            self.look_ahead(slots);
            let Some(pair) = self.pairs.pair(best.key) else { continue };
            if pair.count < self.threshold {
                continue;
            }
            if pair.count != best.count {
                // The pair has become rarer since it was queued.
                self.queue.push(&self.tokens, pair);
            } else if pair.list == UNLISTED {
                // Its count is an upper bound: only a recount shows whether it is the best.
                self.recount(Threshold::Lower, slots, pulse)?;
            } else {
                let (left, right) = codes_of(best.key);
                if self.conditions.may_change()
                    && !self.conditions.allow(&self.tokens, left, right)?
                {
                    continue; // It is still followed, but no longer queued.
                }
                // All of its occurrences are merged now.
                pair.count = 0;
                let list = pair.list;
                self.merge((left, right), list, slots, pulse)?;
            }
        }
        Ok(End::Complete)
    }

    /// Prefetches the memory of the next merges, one step further for each merge that is nearer.
    fn look_ahead<S: SlotWidth>(&self, slots: &Slots<S>) {
        // First the entries of the pair, its tokens and its list,
        if let Some(pair) = self.queue.ahead(3 * STEP) {
            let (left, right) = codes_of(pair.key);
            self.pairs.prefetch_pair(pair.key);
            self.tokens.prefetch(left, right);
            self.lists.prefetch(pair.list);
        }
        // then the bytes and positions that these lead to,
        if let Some(pair) = self.queue.ahead(2 * STEP) {
            let (left, right) = codes_of(pair.key);
            self.tokens.prefetch_bytes(left, right);
            self.lists.prefetch_positions(pair.list);
        }
        // then the slots at the positions,
        if let Some(pair) = self.queue.ahead(STEP) {
            self.first_positions(pair.list).for_each(|at| slots.prefetch(at as usize));
        }
        // and at last, where the pair is still there, its neighbours and the pairs that it forms
        // with them.
        if let Some(pair) = self.queue.ahead(1) {
            let (left, right) = codes_of(pair.key);
            let [left_span, right_span] = [left, right].map(|code| self.tokens.span(code) as usize);
            for at in self.first_positions(pair.list) {
                let Some(around) = slots.around(at as usize, left_span + right_span) else {
                    continue;
                };
                if around[1] == S::of(left) && around[1 + left_span] == S::of(right) {
                    let (before, after) =
                        (around[0].code(), around[1 + left_span + right_span].code());
                    slots.prefetch_group(at as usize);
                    self.replaced.prefetch(before, after);
                    self.pairs.prefetch_pair(Side::Before.pair(before, left));
                    self.pairs.prefetch_pair(Side::After.pair(after, right));
                }
            }
        }
    }

    fn first_positions(&self, list: u32) -> impl Iterator<Item = u32> {
        self.lists.of(list).take(PREFETCHED_SLOTS)
    }

    fn remaining(&self) -> Option<u64> {
        self.rules.remaining(self.merges.len(), self.tokens.len() - self.base_tokens)
    }

    /// Merges a pair at all its positions.
    fn merge<S: SlotWidth>(
        &mut self,
        (left, right): (Code, Code),
        list: u32,
        slots: &mut Slots<S>,
        pulse: &mut Pulse<'_>,
    ) -> Result<()> {
        let (joined, is_new) = self.tokens.join(left, right)?;
        if self.conditions.may_change() {
            self.conditions.note(self.tokens.bytes(joined).1);
        }
        let left_span = self.tokens.span(left);
        let span = self.tokens.span(joined);
        let task = Task { left, right, joined, left_span, span };
        let positions = self.replace(task, list, slots)?;
        self.prefetch_neighbours(task);
        self.update(task, is_new)?;
        self.replaced.list_positions(self.tokens.spans(), self.lists.shared());
        memory::push(&mut self.merges, [left - FIRST, right - FIRST, joined - FIRST])?;
        pulse.finished = self.merges.len() as u64;
        pulse.beat(positions + 1)?;
        if self.lists.has_grown(self.tuning.growth_per_entry * self.pairs.size()) {
            self.drop_lists();
        }
        if self.lists.is_full() {
            self.recount(Threshold::Same, slots, pulse)?;
        }
        Ok(())
    }

    /// Replaces a pair in the words. Returns an upper bound of the number of positions in its list.
    fn replace<S: SlotWidth>(
        &mut self,
        task: Task,
        list: u32,
        slots: &mut Slots<S>,
    ) -> Result<usize> {
        let codes = self.tokens.len();
        let extent = self.lists.take(list);
        let positions = self.lists.at(extent);
        let most = extent.len as usize;
        // Adjacent occurrences must be replaced from left to right.
        if extent.additions <= 1 {
            self.replaced.replace_all(slots, positions, most, task, codes)?;
        } else {
            let mut sorted = memory::gathered(positions)?;
            sorted.sort_unstable();
            self.replaced.replace_all(slots, sorted.into_iter(), most, task, codes)?;
        }
        self.lists.free(extent);
        Ok(most)
    }

    /// Drops the lists of pairs that have fallen below the threshold. If such a pair rises again,
    /// it has no list.
    fn drop_lists(&mut self) {
        for pair in self.pairs.iter_mut().filter(|pair| pair.count < self.threshold) {
            let extent = self.lists.take(std::mem::replace(&mut pair.list, UNLISTED));
            self.lists.free(extent);
        }
        self.lists.note_size();
    }

    /// Prefetches the neighbouring pairs of a merge, which are looked up next.
    #[inline(always)]
    fn prefetch_neighbours(&mut self, task: Task) {
        for side in SIDES {
            let neighbours = self.replaced.side(side);
            for &code in neighbours.touched() {
                self.pairs.prefetch_pair(side.old_pair(code, &task));
                if neighbours.get(code).weight >= self.threshold {
                    self.pairs.prefetch_pair(side.pair(code, task.joined));
                }
            }
        }
    }

    /// Updates the counts of all neighbouring pairs after a merge.
    ///
    /// Where occurrences are adjacent, the neighbour may be the new token. Its pair with a part of
    /// the merged pair rose when the first occurrence was replaced, and fell with the second. So
    /// these pairs are lowered last: no count falls below zero on the way.
    fn update(&mut self, task: Task, is_new: bool) -> Result<()> {
        let joined = task.joined;
        for side in SIDES {
            // By index, because the loop changes other parts of `self`.
            for nth in 0..self.replaced.side(side).touched().len() {
                let code = self.replaced.side(side).touched()[nth];
                if code == BOUNDARY || code == joined {
                    continue;
                }
                let neighbour = self.replaced.side(side).get(code);
                self.lower(side, code, task, neighbour.weight);
                if let Some(list) = self.raise(side.pair(code, joined), neighbour.weight, is_new)? {
                    let place = self.lists.lengthen(list, ADDED * neighbour.occurrences)?;
                    self.replaced.side(side).set_place(code, place);
                }
            }
        }
        let doubled = SIDES.map(|side| self.replaced.side(side).get(joined).weight);
        self.raise_doubled(joined, is_new)?;
        for (side, weight) in SIDES.into_iter().zip(doubled) {
            self.lower(side, joined, task, weight);
        }
        Ok(())
    }

    /// Lowers the count of the pair that a neighbour formed with a part of the merged pair.
    fn lower(&mut self, side: Side, neighbour: Code, task: Task, weight: u64) {
        let old = side.old_pair(neighbour, &task);
        if weight > 0
            && old != key_of(task.left, task.right)
            && let Some(pair) = self.pairs.pair(old)
        {
            pair.count -= weight;
        }
    }

    /// Raises the pair (joined, joined), whose occurrences may come from both sides.
    fn raise_doubled(&mut self, joined: Code, is_new: bool) -> Result<()> {
        let [before, after] = SIDES.map(|side| self.replaced.side(side).get(joined));
        let weight = sum(before.weight, after.weight)?;
        if weight > 0
            && let Some(list) = self.raise(Side::Before.pair(joined, joined), weight, is_new)?
        {
            self.lists.lengthen(list, ADDED * before.occurrences)?;
            let place = self.lists.lengthen(list, ADDED * after.occurrences)?;
            self.replaced.side(Side::Before).set_place(joined, place - ADDED * before.occurrences);
            self.replaced.side(Side::After).set_place(joined, place);
        }
        Ok(())
    }

    /// Adds to the count of a pair with the token of a merge, which `is_new` or shared. Returns the
    /// number of the pair's list, if it has one.
    #[inline(always)]
    fn raise(&mut self, key: u64, weight: u64, is_new: bool) -> Result<Option<u32>> {
        // Most pairs with a new token are too rare: this is decided here, without a call.
        if is_new && weight < self.threshold {
            return Ok(None);
        }
        self.follow(key, weight, is_new)
    }

    /// The same for a pair that is not known to be rare.
    ///
    /// A pair with a new token appears with all its occurrences at once, so its count is exact. A
    /// pair with a shared token may have other occurrences that were too rare to be followed:
    /// unless all pairs are, its count is an upper bound.
    #[inline(never)]
    fn follow(&mut self, key: u64, weight: u64, is_new: bool) -> Result<Option<u32>> {
        let (left, right) = codes_of(key);
        if !self.rules.allow(&self.tokens, left, right)
            || !self.conditions.allow(&self.tokens, left, right)?
        {
            return Ok(None);
        }
        let is_exact = is_new || self.threshold == 1;
        let most_before = if is_exact { 0 } else { self.threshold - 1 };
        let pair = Followed { key, count: most_before, list: UNLISTED };
        let (pair, is_new_pair) = self.pairs.add(pair, self.threshold)?;
        if is_new_pair && is_exact {
            pair.list = self.lists.add(0)?.0;
        }
        if pair.list == UNLISTED {
            pair.count = pair.count.saturating_add(weight);
        } else {
            pair.count = sum(pair.count, weight)?;
        }
        if pair.count >= self.threshold {
            self.queue.push(&self.tokens, pair);
        }
        Ok((pair.list != UNLISTED).then_some(pair.list))
    }

    /// Counts all pairs again and follows the frequent ones. Returns whether any pair is left.
    fn recount<S: SlotWidth>(
        &mut self,
        preferred: Threshold,
        slots: &mut Slots<S>,
        pulse: &mut Pulse<'_>,
    ) -> Result<bool> {
        // Their memory is given back before the recount takes its own.
        self.lists = Lists::default();
        self.pairs = PairTable::with_capacity(0)?;
        self.queue.clear();
        let (threshold, max_threshold) = match self.threshold {
            u64::MAX => (None, 1),
            last if preferred == Threshold::Lower => {
                (Some((last / self.tuning.divisor.max(2)).max(1)), last / 2)
            }
            last => (Some(last), last),
        };
        let plan = Plan {
            tokens: &self.tokens,
            rules: self.rules,
            conditions: &self.conditions,
            tuning: &self.tuning,
            threshold,
            max_threshold,
            merges: self.remaining(),
        };
        let Some(recount) = Recount::count(slots, &plan, pulse)? else {
            self.threshold = 1;
            return Ok(false);
        };
        self.threshold = recount.threshold;
        self.pairs = recount.followed;
        self.lists = recount.lists;
        self.lists.note_size();
        for pair in self.pairs.iter() {
            self.queue.push(&self.tokens, pair);
        }
        Ok(true)
    }
}

fn pulse_of<'w>(watch: &'w mut dyn Watch, rules: &Rules) -> Pulse<'w> {
    Pulse::of_stage(watch, MERGING, rules.remaining(0, 0).unwrap_or(0))
}
