//! The merge loop: pick the best pair, replace it everywhere, bring the counts up to date.

use std::sync::MutexGuard;

use super::census::{Census, Plan};
use super::crew::Crew;
use super::neighbours::{Neighbours, Tally};
use super::on_each::on_each;
use super::pairs::{PairTable, UNLISTED, add, codes_of, key_of};
use super::part::{Need, Part, Side, Task};
use super::prior::Prior;
use super::queue::{Candidate, Queue, TieBreak};
use super::slots::{AnySlots, Layout};
use super::tokens::{BOUNDARY, Code, FIRST, Tokens};
use super::{Merge, Rules, Share, Words};
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::{Pulse, Stage, Watch};

/// Learns merges from words whose units are `symbols`, after the merges in `prior`; returns the new ones.
///
/// Every unit of a word must be the number of one of the symbols. The answer does not depend on `threads`.
pub fn train<'a, W: Words>(
    symbols: impl Iterator<Item = &'a [u8]> + Clone,
    words: &W,
    rules: &Rules,
    prior: &[Merge],
    threads: usize,
    watch: &mut dyn Watch,
) -> Result<Vec<Merge>> {
    let useful = if words.len() < FEW_WORDS { 1 } else { threads.clamp(1, MOST_THREADS) };
    let useful = 1 + memory::threads(useful - 1);
    train_at_pace(symbols, words, rules, prior, Pace { threads: useful, ..Pace::default() }, watch)
}

/// Fewer words are not worth a second thread.
const FEW_WORDS: usize = 1 << 15;
/// With more threads, a merge's changes take longer to combine than to make.
const MOST_THREADS: usize = 16;

/// How the work is cut up. It changes how long training takes, never what is learned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// So many threads work.
    pub threads: usize,
    /// So many slots are worth a part of their own, with threads of its own: each merge costs more with two parts than
    /// with one, which only long lists of positions make good.
    pub part: u64,
    /// The first threshold leaves room for so many times the remaining merges.
    pub slack: u64,
    /// The same where so few pairs stand that to count again is cheap.
    pub slack_of_few: u64,
    /// A recount divides the threshold by this (at least 2).
    pub divisor: u64,
    /// Up to so many codes, pairs are counted in a table of all possible ones.
    pub dense: usize,
    /// The positions that may be added before a recount, for each pair that stands in the words, in percent.
    pub growth: usize,
    /// The positions that may be added before those that nobody needs are dropped, for each place in the table of pairs.
    pub keep: usize,
    /// Merges with at least so many positions are made by all threads.
    pub together: usize,
    /// Pairs rarer than this lie in buckets.
    pub buckets: usize,
    /// So many of them are sorted at a time.
    pub at_a_time: usize,
    /// A recount need not follow more pairs than this for each merge that is left to make.
    pub enough: usize,
    /// Where at most so many pairs stand for each hundred slots, they are put in order to count them.
    pub few: u64,
    /// Up to so many codes, of 16 bits, slots are narrow.
    pub narrow: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            threads: 1,
            part: 1 << 24,
            slack: 64,
            slack_of_few: 16,
            divisor: 8,
            dense: 320,
            growth: 100,
            keep: 1,
            together: 2048,
            buckets: 1024,
            at_a_time: 4096,
            enough: 2,
            few: 25,
            narrow: 1 << 16,
        }
    }
}

/// So many merges lie between two steps of asking for a merge's memory.
const STEP: usize = 4;

/// More slots in one part could need more positions than 32 bits can number.
const MOST_SLOTS: u64 = 1 << 30;

/// The memory of merging, as measured: beside each slot so many bytes for positions and lists, and the tables that
/// depend on the vocabulary alone.
const LISTED: u64 = 8;
const TABLES: u64 = 16 << 20;

pub(super) fn train_at_pace<'a, W: Words>(
    symbols: impl Iterator<Item = &'a [u8]> + Clone,
    words: &W,
    rules: &Rules,
    prior: &[Merge],
    pace: Pace,
    watch: &mut dyn Watch,
) -> Result<Vec<Merge>> {
    let mut pulse = Pulse::of_stage(watch, Stage::Merging, rules.remaining(0, 0).unwrap_or(0));
    pulse.report()?;
    let keep_bytes = rules.tie_break != TieBreak::SmallestIds;
    let mut tokens = Tokens::new(symbols, keep_bytes, rules.shared_tokens)?;
    let prior = Prior::new(prior, &mut tokens)?;
    let of = pace.threads;
    let shares = (0..of).map(|nth| Share { nth, of });
    let spans = tokens.spans();
    let layouts = on_each(shares, &mut pulse, |share, pulse| {
        Ok((share, Layout::measure(words, share, spans, pulse)?))
    })?;
    let slots: u64 = layouts.iter().map(|(_, layout)| layout.slots()).sum();
    // What prior merges make of the words is found by one thread for each part.
    let parts = if prior.is_empty() { (slots / pace.part).clamp(1, of as u64) as usize } else { of };
    let parts: Vec<_> = layouts.chunks(of.div_ceil(parts)).collect();
    let slots_of = |part: &&[(Share, Layout)]| part.iter().map(|(_, layout)| layout.slots()).sum::<u64>();
    let most = parts.iter().map(slots_of).max().unwrap_or(0);
    if most > MOST_SLOTS {
        return Err(Error::Memory(format!(
            "the distinct pretokens hold {most} bytes for each of {of} threads, which is more than {MOST_SLOTS}; \
             use more threads or raise min_count"
        )));
    }
    let new_tokens = rules.remaining(0, 0).map_or(slots, |most| slots.min(most));
    let stays_narrow = tokens.len() as u64 + new_tokens <= pace.narrow as u64;
    let slot = if stays_narrow { size_of::<u16>() } else { size_of::<u32>() };
    let expected = slots * (slot as u64 + LISTED) + TABLES;
    pulse.expect(expected)?;
    memory::ensure(usize::try_from(expected).unwrap_or(usize::MAX))?;
    let merges = Trainer::run(parts, words, tokens, rules, &prior, pace, &mut pulse)?;
    pulse.report()?;
    Ok(merges)
}

/// All parts, held by the calling thread. The first one's tallies are the sums of all.
type Parts<'a, 'g> = &'a mut [MutexGuard<'g, Part>];

/// Why pairs are counted again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// Nothing was counted yet.
    Start,
    /// No followed pair is left at or above the threshold.
    Exhausted,
    /// The best pair may be one whose count has only an upper bound. The threshold falls by a factor, so that this
    /// cannot happen often.
    Unsure,
    /// The lists of positions have taken all the room that was left for them.
    Full,
}

struct Trainer<'r> {
    crew: &'r Crew,
    /// All parts, except while helpers work on them.
    parts: Vec<MutexGuard<'r, Part>>,
    rules: &'r Rules,
    pace: Pace,
    tokens: Tokens,
    base_tokens: usize,
    merges: Vec<Merge>,
    /// A pair that is not in `pairs` occurs less often than this.
    threshold: u64,
    pairs: PairTable,
    /// For every pair at or above the threshold, a candidate with at least the pair's count.
    queue: Queue,
    /// How many lists of positions there are.
    lists: u32,
}

impl<'r> Trainer<'r> {
    fn run<W: Words>(
        parts: Vec<&[(Share, Layout)]>,
        words: &W,
        tokens: Tokens,
        rules: &'r Rules,
        prior: &Prior,
        pace: Pace,
        pulse: &mut Pulse<'_>,
    ) -> Result<Vec<Merge>> {
        let spans = tokens.spans();
        let parts = on_each(parts, pulse, |shares, pulse| {
            let narrow = spans.len() <= pace.narrow;
            let mut slots = AnySlots::fill(narrow, shares, words, spans, pulse)?;
            if !prior.is_empty() {
                prior.apply(&mut slots, spans, pulse)?;
            }
            Ok(Part::new(slots, spans, shares.len()))
        })?;
        let crew = Crew::new(parts);
        let pairs = PairTable::with_capacity(0)?;
        crew.together(|| {
            let trainer = Trainer {
                crew: &crew,
                parts: crew.parts().collect(),
                rules,
                pace,
                base_tokens: tokens.len(),
                tokens,
                merges: Vec::new(),
                threshold: u64::MAX,
                pairs,
                queue: Queue::new(rules.tie_break, pace.buckets, pace.at_a_time),
                lists: 0,
            };
            trainer.learn(pulse)
        })
    }

    fn learn(mut self, pulse: &mut Pulse<'_>) -> Result<Vec<Merge>> {
        while self.remaining() != Some(0) {
            let Some(best) = self.queue.pop(&self.tokens, &self.pairs, self.threshold) else {
                let reason = if self.threshold == u64::MAX { Reason::Start } else { Reason::Exhausted };
                if self.threshold == 1 || !self.recount(reason, pulse)? {
                    break;
                }
                continue;
            };
            self.look_ahead();
            let place = self.pairs.find(best.key);
            let (count, list) =
                place.map_or((0, UNLISTED), |place| (self.pairs.count(place), self.pairs.list(place)));
            if count < self.threshold {
                continue;
            }
            if count != best.count {
                self.queue.push(&self.tokens, Candidate { count, ..best });
            } else if list == UNLISTED {
                self.recount(Reason::Unsure, pulse)?;
            } else {
                let (left, right) = codes_of(best.key);
                self.merge(left, right, list, pulse)?;
            }
        }
        Ok(self.merges)
    }

    /// Asks for the memory of merges that will come soon, each time for what the last time has brought into reach.
    fn look_ahead(&self) {
        if let Some(key) = self.queue.ahead(4 * STEP) {
            let (left, right) = codes_of(key);
            self.pairs.prefetch_with_list(key);
            self.tokens.prefetch(left, right);
        }
        if let Some(key) = self.queue.ahead(3 * STEP) {
            let (left, right) = codes_of(key);
            self.tokens.prefetch_join(left, right);
        }
        for (steps, need) in [(3, Need::List), (2, Need::Positions), (1, Need::Slots)] {
            let place = self.queue.ahead(steps * STEP).and_then(|key| self.pairs.find(key));
            if let Some(list) = place.map(|place| self.pairs.list(place)) {
                self.parts.iter().for_each(|part| part.prefetch(list, need));
            }
        }
    }

    fn remaining(&self) -> Option<u64> {
        self.rules.remaining(self.merges.len(), self.tokens.len() - self.base_tokens)
    }

    /// Merges the pair at all its positions.
    fn merge(&mut self, left: Code, right: Code, list: u32, pulse: &mut Pulse<'_>) -> Result<()> {
        let (joined, is_new) = self.tokens.join(left, right)?;
        let (left_span, span) = (self.tokens.span(left), self.tokens.span(joined));
        let task = Task { left, right, joined, left_span, span, list };
        let mut parts = std::mem::take(&mut self.parts);
        if joined as usize == self.pace.narrow {
            let narrow = parts.iter_mut().map(|part| &mut part.slots);
            on_each(narrow, pulse, |slots, _| slots.widen())?;
        }
        parts.iter_mut().try_for_each(|part| part.make_room(list))?;
        let positions: usize = parts.iter().map(|part| part.list_len(list)).sum();
        if parts.len() > 1 && positions >= self.pace.together {
            parts.clear();
            self.crew.merge(task);
            parts.extend(self.crew.parts());
        } else {
            parts.iter_mut().for_each(|part| part.merge(task));
        }
        self.gather(&mut parts, task);
        if let Some(place) = self.pairs.find(key_of(left, right)) {
            *self.pairs.count_mut(place) = 0;
        }
        if is_new {
            self.settle_new(&mut parts, task)?;
        } else {
            self.settle_known(&mut parts, task)?;
        }
        self.merges.push([left - FIRST, right - FIRST, joined - FIRST]);
        pulse.finished(self.merges.len());
        pulse.beat(positions + 1)?;
        if parts.iter().any(|part| part.has_grown(self.pace.keep * self.pairs.places())) {
            self.drop_lists(&mut parts);
        }
        self.parts = parts;
        if self.parts.iter().any(|part| part.is_full()) {
            self.recount(Reason::Full, pulse)?;
        }
        Ok(())
    }

    /// Gives up the lists of pairs that have fallen below the threshold. A pair that rises again has no list then.
    fn drop_lists(&mut self, parts: Parts<'_, '_>) {
        parts.iter_mut().for_each(|part| part.list_positions());
        for list in self.pairs.lists_below(self.threshold) {
            let list = std::mem::replace(list, UNLISTED);
            parts.iter_mut().for_each(|part| part.drop_list(list));
        }
        parts.iter_mut().for_each(|part| part.note_size());
    }

    /// Sums up what the parts tallied, and asks for the pairs that will be looked up.
    fn gather(&self, parts: Parts<'_, '_>, task: Task) {
        let Some((first, others)) = parts.split_first_mut() else { return };
        for part in others {
            for side in [Side::Before, Side::After] {
                first.beside(side).add_weights(part.beside(side));
            }
        }
        let ask = |old: u64, new: u64, weight: u64| {
            self.pairs.prefetch(old);
            if weight >= self.threshold {
                self.pairs.prefetch(new);
            }
        };
        for &before in first.before.touched() {
            let weight = first.before.get(before).weight;
            ask(key_of(before, task.left), key_of(before, task.joined), weight);
        }
        for &after in first.after.touched() {
            let weight = first.after.get(after).weight;
            ask(key_of(task.right, after), key_of(task.joined, after), weight);
        }
    }

    /// Brings the counts up to date after a merge into a new token: all its pairs are known exactly.
    fn settle_new(&mut self, parts: Parts<'_, '_>, task: Task) -> Result<()> {
        let Task { left, right, joined, .. } = task;
        // Where occurrences followed each other, (joined, left) rose with one and fell with the next.
        let repeated = parts[0].before.get(joined).weight;
        for nth in 0..parts[0].before.touched().len() {
            let (before, tally) = neighbour(&parts[0].before, nth);
            if before == BOUNDARY {
                continue;
            }
            if before != joined {
                self.lower(before, left, tally.weight);
            }
            if let Some(list) = self.follow_new(parts, before, joined, tally.weight)? {
                list_beside(parts, Side::Before, before, list)?;
            }
        }
        for nth in 0..parts[0].after.touched().len() {
            let (after, tally) = neighbour(&parts[0].after, nth);
            if after == BOUNDARY {
                continue;
            }
            if (right, after) != (left, right) {
                self.lower(right, after, tally.weight);
            }
            let undone = if after == left { repeated } else { 0 };
            if let Some(list) = self.follow_new(parts, joined, after, tally.weight - undone)? {
                list_beside(parts, Side::After, after, list)?;
            }
        }
        Ok(())
    }

    /// Starts to follow a new pair, if it is frequent enough; returns the number of its list.
    fn follow_new(
        &mut self,
        parts: Parts<'_, '_>,
        left: Code,
        right: Code,
        count: u64,
    ) -> Result<Option<u32>> {
        if count < self.threshold || !self.rules.allow(&self.tokens, left, right) {
            return Ok(None);
        }
        let place = self.pairs.insert(key_of(left, right))?;
        *self.pairs.count_mut(place) = count;
        let list = self.lists;
        *self.pairs.list_mut(place) = list;
        self.add_list(parts);
        self.queue.push(&self.tokens, Candidate { key: key_of(left, right), count });
        Ok(Some(list))
    }

    /// Brings the counts up to date after a merge into a token that existed before.
    fn settle_known(&mut self, parts: Parts<'_, '_>, task: Task) -> Result<()> {
        let Task { left, right, joined, .. } = task;
        // Risen counts come first, so that none falls below zero on the way.
        for nth in 0..parts[0].before.touched().len() {
            let (before, tally) = neighbour(&parts[0].before, nth);
            if before == BOUNDARY || before == joined {
                continue;
            }
            if let Some(list) = self.raise(parts, before, joined, tally.weight)? {
                list_beside(parts, Side::Before, before, list)?;
            }
        }
        for nth in 0..parts[0].after.touched().len() {
            let (after, tally) = neighbour(&parts[0].after, nth);
            if after == BOUNDARY || after == joined {
                continue;
            }
            if let Some(list) = self.raise(parts, joined, after, tally.weight)? {
                list_beside(parts, Side::After, after, list)?;
            }
        }
        self.raise_doubled(parts, joined)?;
        for nth in 0..parts[0].before.touched().len() {
            let (before, tally) = neighbour(&parts[0].before, nth);
            if (before, left) != (left, right) {
                self.lower(before, left, tally.weight);
            }
        }
        for nth in 0..parts[0].after.touched().len() {
            let (after, tally) = neighbour(&parts[0].after, nth);
            if (right, after) != (left, right) {
                self.lower(right, after, tally.weight);
            }
        }
        for part in parts {
            part.list_positions();
        }
        Ok(())
    }

    /// Raises the pair of a token with itself, which occurrences may have joined from both sides.
    fn raise_doubled(&mut self, parts: Parts<'_, '_>, joined: Code) -> Result<()> {
        let mut weight = parts[0].before.get(joined).weight;
        add(&mut weight, parts[0].after.get(joined).weight)?;
        if weight == 0 {
            return Ok(());
        }
        let list = self.raise(parts, joined, joined, weight)?;
        if let Some(list) = list {
            for part in parts {
                let (before, after) = (part.before.get(joined).number, part.after.get(joined).number);
                let start = part.lengthen(list, before + after)?;
                part.before.set_cursor(joined, start);
                part.after.set_cursor(joined, start + before);
            }
        }
        Ok(())
    }

    /// Adds to the count of a pair that may have existed before; returns the number of its list, if it has one.
    fn raise(&mut self, parts: Parts<'_, '_>, left: Code, right: Code, weight: u64) -> Result<Option<u32>> {
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
                    self.add_list(parts);
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

    /// Takes from the count of a pair, if it is followed.
    fn lower(&mut self, left: Code, right: Code, weight: u64) {
        if let Some(place) = self.pairs.find(key_of(left, right)) {
            *self.pairs.count_mut(place) -= weight;
        }
    }

    fn add_list(&mut self, parts: Parts<'_, '_>) {
        parts.iter_mut().for_each(|part| part.add_list());
        self.lists += 1;
    }

    /// Counts all pairs again and follows the frequent ones; false when no pair is left.
    fn recount(&mut self, reason: Reason, pulse: &mut Pulse<'_>) -> Result<bool> {
        let mut guards = std::mem::take(&mut self.parts);
        let mut parts: Vec<&mut Part> = guards.iter_mut().map(|guard| &mut **guard).collect();
        parts.iter_mut().for_each(|part| part.forget());
        self.pairs = PairTable::with_capacity(0)?;
        let divisor = self.pace.divisor.max(2);
        let (threshold, most) = match reason {
            Reason::Start => (None, 1),
            Reason::Exhausted | Reason::Unsure => {
                (Some((self.threshold / divisor).max(1)), self.threshold / 2)
            }
            Reason::Full => (Some(self.threshold), self.threshold),
        };
        let enough = self.remaining().map(|merges| merges.saturating_mul(self.pace.enough as u64));
        let plan = Plan {
            tokens: &self.tokens,
            rules: self.rules,
            threshold,
            most,
            enough: enough.map_or(usize::MAX, |pairs| pairs as usize),
            merges: self.remaining(),
            slack: self.pace.slack,
            slack_of_few: self.pace.slack_of_few,
            dense: self.pace.dense,
            few: self.pace.few,
            growth: self.pace.growth,
            divisor,
        };
        let Some(census) = Census::take(&mut parts, &plan, pulse)? else {
            self.parts = guards;
            self.queue.clear();
            self.threshold = 1;
            return Ok(false);
        };
        self.parts = guards;
        self.threshold = census.threshold;
        self.lists = census.followed.len() as u32;
        self.pairs = census.followed;
        self.queue.clear();
        for (key, count, _) in self.pairs.iter() {
            self.queue.push(&self.tokens, Candidate { key, count });
        }
        Ok(true)
    }
}

fn neighbour(neighbours: &Neighbours, nth: usize) -> (Code, Tally) {
    let code = neighbours.touched()[nth];
    (code, neighbours.get(code))
}

/// Makes room in a list for the occurrences that have a token on one side.
fn list_beside(parts: Parts<'_, '_>, side: Side, code: Code, list: u32) -> Result<()> {
    for part in parts {
        let number = part.beside(side).get(code).number;
        if number > 0 {
            let start = part.lengthen(list, number)?;
            part.beside(side).set_cursor(code, start);
        }
    }
    Ok(())
}
