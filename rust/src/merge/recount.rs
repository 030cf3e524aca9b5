//! Counts all pairs in the words and lists the positions of those that reach the threshold.
//!
//! There are three ways, with the same result for the followed pairs:
//!
//! - *sorted*, for few pairs: sort all occurrences by pair; this counts and lists them at once;
//! - *dense*, for few codes: a counter for every possible pair;
//! - *sketched*, for all else: a small array of shared counters bounds each pair's count from above (a count-min sketch
//!   of one row); then only pairs that may reach the threshold are counted exactly.
//!
//! Each way divides the words into sections, one per thread, and adds up the sections' counts.

use std::cmp::Reverse;
use std::iter::zip;
use std::ops::Range;

use super::Rules;
use super::code_array::SlotWidth;
use super::pairs::{Candidate, DenseLists, PairTable, add, codes_of, key_of};
use super::positions::Measure;
use super::slots::{Group, PairAt};
use super::tokens::{Code, Tokens};
use super::tuning::{FEW_PAIRS_PER_MERGE, FREQUENT, MAX_SORTED, Tuning};
use super::word_store::{Occurrence, PairRun, WordStore};
use crate::error::Result;
use crate::key::HashSeed;
use crate::memory;
use crate::memory::cells::{Cells, Content, Plain};
use crate::memory::rows::Rows;
use crate::prefetch::prefetch;
use crate::watch::Pulse;
use crate::workers;

/// The result of a recount.
pub struct Recount {
    /// Every pair that reaches this count, and may be merged, is followed.
    pub threshold: u64,
    pub followed: PairTable,
}

/// The lengths of the lists in units: by section of the words, then by list.
type ListLengths = Vec<Vec<u32>>;

/// The memory of a followed pair besides its table entry and its positions: a candidate and the number of its list.
const BYTES_PER_FOLLOWED: usize = size_of::<Candidate>() + size_of::<u32>();

/// The count of a pair in a section, and the length of its list.
#[derive(Clone, Copy, Default)]
struct DenseCount {
    count: u64,
    positions: Measure,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for DenseCount {}

/// The pairs of a section with their counts and the lengths of their lists.
type CountedPairs = PairTable<Measure>;

/// A pair and its count.
struct CountedPair {
    key: u64,
    count: u64,
}

/// The input of a recount.
pub struct Plan<'a> {
    pub tokens: &'a Tokens,
    pub rules: &'a Rules,
    pub tuning: &'a Tuning,
    /// The preferred threshold; `None` to derive it from `slack`, or its variants for few pairs and frequent words.
    pub threshold: Option<u64>,
    /// The threshold may be higher than preferred if enough pairs reach it, but not above this.
    pub max_threshold: u64,
    /// The number of merges still to make; `None` without a limit.
    pub merges: Option<u64>,
}

impl Plan<'_> {
    /// The preferred threshold for `occurrences` pairs whose counts sum to `total`.
    fn threshold(&self, total: u64, occurrences: usize) -> u64 {
        let room = self.merges.map_or(u64::MAX, |merges| {
            let (occurrences, tuning) = (occurrences as u64, self.tuning);
            merges.saturating_mul(if occurrences / FEW_PAIRS_PER_MERGE < merges {
                tuning.slack_when_few
            } else if total / FREQUENT < occurrences {
                tuning.slack
            } else {
                tuning.slack_when_frequent
            })
        });
        self.threshold.unwrap_or(total / room.max(1))
    }

    /// The number of pairs that are enough to follow.
    fn enough(&self) -> usize {
        let pairs = self.merges.map(|merges| merges.saturating_mul(self.tuning.pairs_per_merge as u64));
        pairs.map_or(usize::MAX, |pairs| pairs as usize)
    }

    fn allows(&self, key: u64) -> bool {
        let (left, right) = codes_of(key);
        self.rules.max_token_length.is_none() || self.rules.allow(self.tokens, left, right)
    }
}

impl Recount {
    /// Counts the pairs and lists the positions of the frequent ones; `None` if no pair may be merged.
    pub fn count<S: SlotWidth>(
        store: &mut WordStore<S>,
        plan: &Plan<'_>,
        pulse: &mut Pulse<'_>,
    ) -> Result<Option<Self>> {
        let is_sparse = store.occurrences as u64 * 100
            <= store.slots.len() as u64 * plan.tuning.sparse_percent
            && store.occurrences <= MAX_SORTED;
        if plan.threshold.is_some() && !is_sparse {
            store.compact(pulse)?;
        }
        if is_sparse {
            return Self::by_sorting(store, plan, pulse);
        }
        if plan.tokens.len() <= plan.tuning.dense_codes {
            Self::by_dense_table(store, plan, pulse)
        } else {
            Self::by_sketch(store, plan, pulse)
        }
    }

    /// Follows the pairs that reach the threshold; `None` if there are none. `length` returns the units that a pair's
    /// positions in a section take.
    fn follow<R>(
        mut found: Vec<CountedPair>,
        threshold: u64,
        counted: &[R],
        length: impl Fn(&R, u64) -> u32,
    ) -> Result<Option<(Self, ListLengths)>> {
        found.retain(|pair| pair.count >= threshold);
        if found.is_empty() {
            return Ok(None);
        }
        memory::ensure(found.len() * (BYTES_PER_FOLLOWED + counted.len() * size_of::<u32>()))?;
        let mut followed = table_of(found.len())?;
        for (list, pair) in found.iter().enumerate() {
            let place = followed.insert(pair.key)?;
            *followed.count_mut(place) = pair.count;
            *followed.list_mut(place) = list as u32;
        }
        let lengths_in = |counted: &R| found.iter().map(|pair| length(counted, pair.key)).collect();
        let lengths = counted.iter().map(lengths_in).collect();
        Ok(Some((Self { threshold, followed }, lengths)))
    }

    /// Lists the positions of the followed pairs.
    fn list<S: SlotWidth>(
        self,
        store: &mut WordStore<S>,
        lengths: &ListLengths,
        plan: &Plan<'_>,
        pulse: &mut Pulse<'_>,
    ) -> Result<Option<Self>> {
        let codes = plan.tokens.len();
        let dense = (codes <= plan.tuning.dense_codes).then(|| DenseLists::new(codes, &self.followed));
        let growth = store.occurrences / 100 * plan.tuning.growth_percent;
        match &dense {
            Some(lists) => store.list_all(lists, lengths, growth, pulse)?,
            None => store.list_all(&self.followed, lengths, growth, pulse)?,
        }
        Ok(Some(self))
    }

    /// Sorts the pairs' occurrences, which counts the pairs and lists their positions at once.
    fn by_sorting<S: SlotWidth>(
        store: &mut WordStore<S>,
        plan: &Plan<'_>,
        pulse: &mut Pulse<'_>,
    ) -> Result<Option<Self>> {
        let ranges = gather(store, plan, pulse)?;
        let of = ranges.len();
        let mut sorted = workers::each(ranges.into_iter().enumerate(), pulse, |(nth, pieces), pulse| {
            let sorted = sort(pieces, (nth, of))?;
            pulse.check()?;
            Sorted::of(sorted, store, plan.threshold.unwrap_or(1), plan.max_threshold)
        })?;
        store.occurrences = sorted.iter().map(|sorted| sorted.occurrences.len()).sum();
        let Some(highest) = sorted.iter().map(|sorted| sorted.highest).max().filter(|&highest| highest > 0)
        else {
            return Ok(None);
        };
        if plan.threshold.is_some_and(|least| highest < least) {
            sorted = workers::each(sorted, pulse, |sorted, _| {
                Sorted::of(sorted.occurrences, store, highest, plan.max_threshold)
            })?;
        }
        let total = sorted.iter().fold(0u64, |sum, sorted| sum.saturating_add(sorted.total));
        let likely = sorted_reached_by(plan.enough(), &sorted);
        let threshold = plan.threshold(total, store.occurrences).max(likely).clamp(1, highest);
        workers::each(&mut sorted, pulse, |sorted, _| {
            sorted.runs.retain(|run| run.count >= threshold);
            Ok(())
        })?;
        let lists = sorted.iter().map(|sorted| sorted.runs.len()).sum();
        memory::ensure(lists * BYTES_PER_FOLLOWED)?;
        let mut followed = table_of(lists)?;
        let found = sorted.iter().flat_map(|sorted| sorted.runs.iter().map(|run| (run, &sorted.occurrences)));
        for (list, (run, occurrences)) in (0..).zip(found) {
            let place = followed.insert(occurrences[run.start as usize].key())?;
            *followed.count_mut(place) = run.count;
            *followed.list_mut(place) = list;
        }
        let growth = store.occurrences / 100 * plan.tuning.growth_percent;
        let ranges: Vec<_> =
            sorted.iter().map(|sorted| (&sorted.occurrences[..], &sorted.runs[..])).collect();
        store.store_lists(&ranges, growth, pulse)?;
        Ok(Some(Self { threshold, followed }))
    }

    fn by_dense_table<S: SlotWidth>(
        store: &mut WordStore<S>,
        plan: &Plan<'_>,
        pulse: &mut Pulse<'_>,
    ) -> Result<Option<Self>> {
        let codes = plan.tokens.len();
        let counted = on_sections(store, pulse, |store, section, pulse| {
            let mut counters = Cells::new(codes * codes, Content::LateZeros)?;
            counters.fill(DenseCount::default());
            let mut occurrences = 0;
            store.slots.each_batch(section, &store.spans, pulse, |batch| {
                for pair in batch {
                    let (left, right) = codes_of(pair.key);
                    let counter = &mut counters[left as usize * codes + right as usize];
                    occurrences += 1;
                    counter.positions.add(pair.at);
                    add(&mut counter.count, pair.count)?;
                }
                Ok(())
            })?;
            Ok((counters, occurrences))
        })?;
        let (counted, occurrences): (Vec<_>, Vec<usize>) = counted.into_iter().unzip();
        store.occurrences = occurrences.iter().sum();
        let mut total = 0u64;
        let mut found = Vec::new();
        for at in 0..codes * codes {
            let mut count = 0;
            for counters in &counted {
                add(&mut count, counters[at].count)?;
            }
            total = total.saturating_add(count);
            let key = key_of((at / codes) as Code, (at % codes) as Code);
            if count > 0 && plan.allows(key) {
                found.push(CountedPair { key, count });
            }
        }
        let Some(highest) = found.iter().map(|pair| pair.count).max() else {
            return Ok(None);
        };
        let threshold = plan.threshold(total, store.occurrences).clamp(1, highest);
        let length = |counters: &Cells<DenseCount>, key| {
            let (left, right) = codes_of(key);
            counters[left as usize * codes + right as usize].positions.units
        };
        match Self::follow(found, threshold, &counted, length)? {
            Some((recount, lengths)) => recount.list(store, &lengths, plan, pulse),
            None => Ok(None),
        }
    }

    /// First bounds every pair's count from above with a sketch; then counts only the pairs that may reach the threshold.
    fn by_sketch<S: SlotWidth>(
        store: &mut WordStore<S>,
        plan: &Plan<'_>,
        pulse: &mut Pulse<'_>,
    ) -> Result<Option<Self>> {
        let slots = store.slots.len();
        let sketches = on_sections(store, pulse, |store, section, pulse| {
            Sketch::build(store, section, slots, plan, pulse)
        })?;
        store.occurrences = sketches.iter().map(|sketch| sketch.occurrences).sum();
        let Some(sketch) = sketches.into_iter().reduce(Sketch::combine) else {
            return Ok(None);
        };
        let Some(highest) = sketch.highest() else {
            return Ok(None);
        };
        let likely = sketch.reached_by(plan.enough())?.min(plan.max_threshold);
        let mut threshold = plan.threshold(sketch.total, sketch.occurrences).max(likely).clamp(1, highest);
        loop {
            let counted = on_sections(store, pulse, |store, section, pulse| {
                let mut pairs = CountedPairs::with_capacity(sketch.number_that_reach(threshold))?;
                let mut likely: Vec<PairAt> = Vec::new();
                store.slots.each_batch(section, &store.spans, pulse, |batch| {
                    likely.clear();
                    likely.extend(batch.iter().filter(|pair| sketch.may_reach(pair.key, threshold)).copied());
                    likely.iter().for_each(|pair| pairs.prefetch(pair.key));
                    for pair in &likely {
                        let place = pairs.insert(pair.key)?;
                        pairs.list_mut(place).add(pair.at);
                        add(pairs.count_mut(place), pair.count)?;
                    }
                    Ok(())
                })?;
                Ok(pairs)
            })?;
            let length =
                |pairs: &CountedPairs, key| pairs.find(key).map_or(0, |place| pairs.list(place).units);
            let found = add_up(&counted, plan)?;
            if let Some((recount, lengths)) = Self::follow(found, threshold, &counted, length)? {
                drop(counted);
                return recount.list(store, &lengths, plan, pulse);
            }
            if threshold == 1 {
                return Ok(None);
            }
            threshold = (threshold / plan.tuning.divisor.max(2)).max(1);
        }
    }
}

/// A table for so many followed pairs and those that merges will soon add.
fn table_of(pairs: usize) -> Result<PairTable> {
    PairTable::with_capacity(pairs + pairs / 2)
}

/// Runs a job on every section of the words, each in a thread.
fn on_sections<S: SlotWidth, R: Send>(
    store: &WordStore<S>,
    pulse: &mut Pulse<'_>,
    job: impl Fn(&WordStore<S>, Range<usize>, &mut Pulse<'_>) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    workers::each(store.sections(), pulse, |section, pulse| job(store, section, pulse))
}

/// The occurrences of all pairs, divided by the pairs' hashes into one range per thread. Each range consists of pieces,
/// one per section.
fn gather<S: SlotWidth>(
    store: &WordStore<S>,
    plan: &Plan<'_>,
    pulse: &mut Pulse<'_>,
) -> Result<Vec<Vec<Rows<Occurrence>>>> {
    let sections = store.sections();
    let of = sections.len();
    let seed = HashSeed::of_process();
    let pieces = workers::each(sections, pulse, |section, pulse| {
        // Most pairs may be in one section: the first have the frequent words, which are merged.
        let room = store.occurrences / of;
        let mut pieces = Vec::with_capacity(of);
        for _ in 0..of {
            pieces.push(Rows::with_capacity(room)?);
        }
        store.slots.each_batch(section, &store.spans, pulse, |batch| {
            batch.iter().filter(|pair| plan.allows(pair.key)).try_for_each(|pair| {
                let piece = &mut pieces[range_of(seed, pair.key, of)];
                piece.push(Occurrence::of(pair))
            })
        })?;
        Ok(pieces)
    })?;
    let mut ranges: Vec<_> = (0..of).map(|_| Vec::new()).collect();
    for pieces in pieces {
        zip(&mut ranges, pieces).for_each(|(range, piece)| range.push(piece));
    }
    Ok(ranges)
}

/// The range, of `of` equal ones, that a pair's hash belongs to.
fn range_of(seed: HashSeed, key: u64, of: usize) -> usize {
    (((seed.hash_number(key) >> 32) * of as u64) >> 32) as usize
}

/// Occurrences sorted by pair, and the run of each pair that is frequent enough.
struct Sorted {
    occurrences: Cells<Occurrence>,
    runs: Rows<PairRun>,
    /// The sum of all counts, and the highest.
    total: u64,
    highest: u64,
    /// How many pairs have each count; those above the last one are added to it.
    by_count: Vec<u32>,
}

/// About this many occurrences are sorted at a time.
const SORT_BATCH: usize = 16;

/// From this count on, pairs are not told apart when a threshold is chosen.
const MOST_TOLD_APART: u64 = 1 << 16;

impl Sorted {
    /// Counts the pairs of sorted occurrences; a threshold will be chosen from `least` to `most`. Runs that take no memory
    /// take no time to get it, either: they are most of all.
    fn of<S: SlotWidth>(
        occurrences: Cells<Occurrence>,
        store: &WordStore<S>,
        least: u64,
        most: u64,
    ) -> Result<Self> {
        // Room that is not used takes no memory; enlarging it would take time.
        let (mut runs, mut start) = (Rows::with_capacity(occurrences.len())?, 0);
        let (mut total, mut highest) = (0u64, 0);
        let most = most.min(MOST_TOLD_APART);
        let mut by_count = memory::filled(0, most as usize + 1)?;
        let mut group = Group::default();
        for run in occurrences.chunk_by(|one, next| one.key() == next.key()) {
            let (mut count, mut positions) = (0, Measure::default());
            for at in run.iter().map(Occurrence::at) {
                if !group.contains(at) {
                    group = store.slots.group(at as usize);
                }
                add(&mut count, group.count)?;
                positions.add(at);
            }
            (total, highest) = (total.saturating_add(count), highest.max(count));
            by_count[count.min(most) as usize] += 1;
            let end = start + run.len() as u32;
            if count >= least {
                runs.push(PairRun { count, start, end, units: positions.units })?;
            }
            start = end;
        }
        Ok(Self { occurrences, runs, total, highest, by_count })
    }
}

/// Sorts occurrences: a counting sort by narrow ranges of the pairs' hashes, then by pair and position within each.
fn sort(pieces: Vec<Rows<Occurrence>>, (nth, of): (usize, usize)) -> Result<Cells<Occurrence>> {
    let all = || pieces.iter().flat_map(|piece| piece.iter());
    let ranges = (all().count() / SORT_BATCH).clamp(1, MAX_SORTED / SORT_BATCH);
    let seed = HashSeed::of_process();
    let range = |pair: &Occurrence| range_of(seed, pair.key(), of * ranges) - nth * ranges;
    let mut ends = memory::filled(0u32, ranges)?;
    all().for_each(|pair| ends[range(pair)] += 1);
    let mut total = 0;
    for end in &mut ends {
        total += std::mem::replace(end, total);
    }
    let mut ordered = Cells::<Occurrence>::new(total as usize, Content::LateZeros)?;
    for pair in all() {
        let end = &mut ends[range(pair)];
        ordered[*end as usize] = *pair;
        *end += 1;
    }
    let mut start = 0;
    for end in ends {
        ordered[start..end as usize].sort_unstable_by_key(|pair| (pair.key(), pair.at()));
        start = end as usize;
    }
    Ok(ordered)
}

/// The highest count that about `pairs` of these counts reach; 0 if there are fewer.
fn reached_by(pairs: usize, counts: impl Iterator<Item = u64>) -> Result<u64> {
    let mut counts = memory::gathered(counts)?;
    if pairs >= counts.len() {
        return Ok(0);
    }
    Ok(*counts.select_nth_unstable_by_key(pairs, |&count| Reverse(count)).1)
}

/// The highest count, among those that are told apart, that about `pairs` pairs reach; 0 if there are fewer.
fn sorted_reached_by(pairs: usize, sorted: &[Sorted]) -> u64 {
    let mut reached = 0;
    let most = sorted.iter().map(|sorted| sorted.by_count.len()).max().unwrap_or(0);
    let count = (0..most).rev().find(|&count| {
        reached += sorted.iter().map(|sorted| sorted.by_count[count] as usize).sum::<usize>();
        reached > pairs
    });
    count.map_or(0, |count| count as u64)
}

/// Adds up the counts of all sections.
fn add_up(tables: &[CountedPairs], plan: &Plan<'_>) -> Result<Vec<CountedPair>> {
    let found = |table: &CountedPairs| {
        let allowed = table.iter().filter(|&(key, ..)| plan.allows(key));
        memory::gathered(allowed.map(|(key, count, _)| CountedPair { key, count }))
    };
    if let [alone] = tables {
        return found(alone);
    }
    let mut all = CountedPairs::with_capacity(tables.iter().map(PairTable::len).max().unwrap_or(0))?;
    for (key, count, _) in tables.iter().flat_map(PairTable::iter) {
        let place = all.insert(key)?;
        add(all.count_mut(place), count)?;
    }
    found(&all)
}

/// Upper bounds of the pairs' counts; a counter that is full stays full.
struct Sketch {
    counters: Vec<u16>,
    seed: HashSeed,
    /// The sum of all pairs' counts.
    total: u64,
    /// The number of pair occurrences in the words.
    occurrences: usize,
}

/// The minimum and maximum size of a sketch, as powers of two.
const SIZES: std::ops::RangeInclusive<u32> = 12..=20;

impl Sketch {
    /// A sketch of one section; `slots` is the number of slots of all words.
    fn build<S: SlotWidth>(
        store: &WordStore<S>,
        section: Range<usize>,
        slots: usize,
        plan: &Plan<'_>,
        pulse: &mut Pulse<'_>,
    ) -> Result<Self> {
        let size = slots.max(1).ilog2().clamp(*SIZES.start(), *SIZES.end());
        let mut sketch =
            Self { counters: vec![0; 1 << size], seed: HashSeed::of_process(), total: 0, occurrences: 0 };
        store.slots.each_batch(section, &store.spans, pulse, |batch| {
            batch.iter().for_each(|pair| prefetch(&sketch.counters, sketch.place(pair.key)));
            sketch.occurrences += batch.len();
            for pair in batch.iter().filter(|pair| plan.allows(pair.key)) {
                sketch.total = sketch.total.saturating_add(pair.count);
                let place = sketch.place(pair.key);
                let counter = &mut sketch.counters[place];
                *counter = counter.saturating_add(pair.count.min(u64::from(u16::MAX)) as u16);
            }
            Ok(())
        })?;
        Ok(sketch)
    }

    fn combine(mut self, other: Self) -> Self {
        for (counter, more) in self.counters.iter_mut().zip(other.counters) {
            *counter = counter.saturating_add(more);
        }
        self.total = self.total.saturating_add(other.total);
        self.occurrences += other.occurrences;
        self
    }

    /// An upper bound of all pairs' counts; `None` if there is no pair.
    fn highest(&self) -> Option<u64> {
        match self.counters.iter().copied().max() {
            None | Some(0) => None,
            Some(u16::MAX) => Some(u64::MAX),
            Some(highest) => Some(u64::from(highest)),
        }
    }

    /// The highest bound that about `pairs` pairs reach.
    fn reached_by(&self, pairs: usize) -> Result<u64> {
        reached_by(
            pairs,
            self.counters.iter().filter(|&&counter| counter > 0).map(|&counter| u64::from(counter)),
        )
    }

    /// About the number of pairs that may reach the threshold.
    fn number_that_reach(&self, threshold: u64) -> usize {
        self.counters.iter().filter(|&&counter| reaches(counter, threshold)).count()
    }

    fn may_reach(&self, key: u64, threshold: u64) -> bool {
        reaches(self.counters[self.place(key)], threshold)
    }

    fn place(&self, key: u64) -> usize {
        (self.seed.hash_number(key) >> (64 - self.counters.len().trailing_zeros())) as usize
    }
}

/// Whether a pair may reach the threshold; for a full counter, any pair may.
fn reaches(counter: u16, threshold: u64) -> bool {
    u64::from(counter) >= threshold.min(u64::from(u16::MAX))
}
