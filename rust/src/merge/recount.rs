//! Counts all pairs in the words and lists the positions of those that reach the threshold.
//!
//! There are two ways, with the same result for the followed pairs:
//!
//! - *by sorting*, for few pairs: sort all occurrences by pair; this counts and lists them at once ([`super::sorting`]);
//! - *by a table*, for all else: count pairs in a hash table, then list them in a second pass. Where there are many
//!   codes, a small array of shared counters first bounds each pair's count from above (a count-min sketch of one row),
//!   so that only pairs that may reach the threshold take a place in the table.
//!
//! Each way divides its work among threads and adds up their counts.

use std::cmp::Reverse;
use std::iter::zip;
use std::ops::Range;

use super::Rules;
use super::lists::{Cursor, Lists};
use super::pairs::{Pair, PairTable, UNLISTED, add, codes_of};
use super::slots::{BATCH, PairAt, SlotWidth, Slots};
use super::sorting;
use super::tokens::Tokens;
use super::tuning::{FEW_PAIRS_PER_MERGE, FREQUENT, MAX_SORTED, Tuning};
use crate::error::Result;
use crate::key::HashSeed;
use crate::memory;
use crate::prefetch::prefetch;
use crate::watch::Pulse;
use crate::workers;

/// The result of a recount.
pub struct Recount {
    /// Every pair that reaches this count, and may be merged, is followed.
    pub threshold: u64,
    pub followed: PairTable,
    pub lists: Lists,
    /// The number of pair occurrences in the words.
    pub occurrences: usize,
}

/// The memory of a followed pair besides its table entry and its positions, and in every section.
const BYTES_PER_FOLLOWED: usize = 32;
const BYTES_PER_CURSOR: usize = 16;

/// The pairs of a section with their counts and the lengths of their lists.
type CountedPairs = PairTable<Cursor>;

/// The input of a recount.
pub struct Plan<'a> {
    pub tokens: &'a Tokens,
    pub spans: &'a [u32],
    pub rules: &'a Rules,
    pub tuning: &'a Tuning,
    /// The preferred threshold; `None` to derive it from `slack`, or its variants for few pairs and frequent words.
    pub threshold: Option<u64>,
    /// The threshold may be higher than preferred if enough pairs reach it, but not above this.
    pub max_threshold: u64,
    /// The number of merges still to make; `None` without a limit.
    pub merges: Option<u64>,
    /// An upper bound of the number of pair occurrences.
    pub occurrences: usize,
}

impl Plan<'_> {
    /// The preferred threshold for `occurrences` pairs whose counts sum to `total`.
    pub fn threshold(&self, total: u64, occurrences: usize) -> u64 {
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

    /// The number of pairs that are enough to follow: as many as there are merges to make.
    pub fn enough(&self) -> usize {
        self.merges.map_or(usize::MAX, |merges| merges as usize)
    }

    /// The number of units that may be added to the lists before pairs are counted again.
    pub fn growth(&self, occurrences: usize) -> usize {
        occurrences / 100 * self.tuning.growth_percent
    }

    pub fn allows(&self, key: u64) -> bool {
        let (left, right) = codes_of(key);
        self.rules.max_token_length.is_none() || self.rules.allow(self.tokens, left, right)
    }
}

impl Recount {
    /// Counts the pairs and lists the positions of the frequent ones; `None` if no pair may be merged.
    pub fn count<S: SlotWidth>(
        slots: &Slots<S>,
        plan: &Plan<'_>,
        pulse: &mut Pulse<'_>,
    ) -> Result<Option<Self>> {
        let most = slots.len() as u64 * plan.tuning.sparse_percent / 100;
        if plan.occurrences as u64 <= most && plan.occurrences <= MAX_SORTED {
            sorting::recount(slots, plan, pulse)
        } else {
            by_table(slots, plan, pulse)
        }
    }

    /// The table of followed pairs, numbered as their lists, with room for those that merges will soon add.
    pub fn follow(pairs: impl ExactSizeIterator<Item = Pair>) -> Result<PairTable> {
        memory::ensure(pairs.len() * BYTES_PER_FOLLOWED)?;
        let mut followed = PairTable::with_capacity(pairs.len() + pairs.len() / 2)?;
        for (list, pair) in (0..).zip(pairs) {
            let place = followed.insert(pair.key)?;
            *followed.count_mut(place) = pair.count;
            *followed.list_mut(place) = list;
        }
        Ok(followed)
    }
}

fn by_table<S: SlotWidth>(
    slots: &Slots<S>,
    plan: &Plan<'_>,
    pulse: &mut Pulse<'_>,
) -> Result<Option<Recount>> {
    let sections = slots.sections(plan.tuning.threads);
    let sketch = match plan.tokens.len() > plan.tuning.few_codes {
        true => Some(Sketch::build(slots, &sections, plan, pulse)?),
        false => None,
    };
    // A pair that is rarer is not counted.
    let mut least = match &sketch {
        Some(sketch) if sketch.occurrences == 0 => return Ok(None),
        Some(sketch) => sketch.threshold(plan)?,
        None => 1,
    };
    loop {
        let (mut counted, mut occurrences) = (Vec::new(), 0);
        for (pairs, number) in workers::each(sections.clone(), pulse, |section, pulse| {
            count_section(slots, section, sketch.as_ref(), least, plan, pulse)
        })? {
            counted.push(pairs);
            occurrences += number;
        }
        let mut found = add_up(&counted, plan)?;
        let highest = found.iter().map(|pair| pair.count).max().unwrap_or(0);
        let threshold = match sketch {
            Some(_) => least,
            None => {
                let total = found.iter().fold(0u64, |sum, pair| sum.saturating_add(pair.count));
                plan.threshold(total, occurrences).clamp(1, highest.max(1))
            }
        };
        if highest >= threshold {
            found.retain(|pair| pair.count >= threshold);
            let growth = plan.growth(occurrences);
            return list(slots, plan.spans, &sections, &found, counted, growth, pulse)
                .map(|(followed, lists)| Some(Recount { threshold, followed, lists, occurrences }));
        }
        if least == 1 {
            return Ok(None);
        }
        least = (least / plan.tuning.divisor.max(2)).max(1);
    }
}

/// Counts the pairs of a section that may reach a count; also returns the number of all its pairs.
fn count_section<S: SlotWidth>(
    slots: &Slots<S>,
    section: Range<usize>,
    sketch: Option<&Sketch>,
    least: u64,
    plan: &Plan<'_>,
    pulse: &mut Pulse<'_>,
) -> Result<(CountedPairs, usize)> {
    let expected = sketch.map_or(0, |sketch| sketch.number_that_reach(least));
    let (mut pairs, mut occurrences) = (CountedPairs::with_capacity(expected)?, 0);
    let mut likely: Vec<PairAt> = Vec::new();
    slots.each_batch(section, plan.spans, pulse, |batch| {
        occurrences += batch.len();
        likely.clear();
        let may_reach = |pair: &&PairAt| sketch.is_none_or(|sketch| sketch.may_reach(pair.key, least));
        likely.extend(batch.iter().filter(may_reach));
        likely.iter().for_each(|pair| pairs.prefetch(pair.key));
        for pair in &likely {
            let place = pairs.insert(pair.key)?;
            pairs.list_mut(place).pass(pair.at);
            add(pairs.count_mut(place), pair.count)?;
        }
        Ok(())
    })?;
    Ok((pairs, occurrences))
}

/// Adds up the counts of all sections.
fn add_up(tables: &[CountedPairs], plan: &Plan<'_>) -> Result<Vec<Pair>> {
    let found = |table: &CountedPairs| {
        memory::gathered(table.iter().map(|(pair, _)| pair).filter(|pair| plan.allows(pair.key)))
    };
    if let [alone] = tables {
        return found(alone);
    }
    let mut all = CountedPairs::with_capacity(tables.iter().map(PairTable::len).max().unwrap_or(0))?;
    for (pair, _) in tables.iter().flat_map(PairTable::iter) {
        let place = all.insert(pair.key)?;
        add(all.count_mut(place), pair.count)?;
    }
    found(&all)
}

/// Lists the positions of the pairs that were found; each thread those in its section.
fn list<S: SlotWidth>(
    slots: &Slots<S>,
    spans: &[u32],
    sections: &[Range<usize>],
    found: &[Pair],
    counted: Vec<CountedPairs>,
    growth: usize,
    pulse: &mut Pulse<'_>,
) -> Result<(PairTable, Lists)> {
    memory::ensure(found.len() * counted.len() * BYTES_PER_CURSOR)?;
    let followed = Recount::follow(found.iter().copied())?;
    let units = |pairs: &CountedPairs, key| pairs.find(key).map_or(0, |place| pairs.list(place).place);
    let lengths: Vec<Vec<u32>> =
        counted.iter().map(|pairs| found.iter().map(|pair| units(pairs, pair.key)).collect()).collect();
    drop(counted);
    let sums = (0..found.len()).map(|list| lengths.iter().map(|lengths| lengths[list]).sum());
    let mut lists = Lists::with_lengths(sums, growth)?;
    let mut next: Vec<u32> = lists.starts().collect();
    let cursors = lengths.into_iter().map(|lengths| {
        let begin = |(next, length): (&mut u32, u32)| Cursor::at(std::mem::replace(next, *next + length));
        zip(&mut next, lengths).map(begin).collect::<Vec<_>>()
    });
    let work: Vec<_> = zip(sections.iter().cloned(), cursors).collect();
    let units = lists.shared_units();
    workers::each(work, pulse, |(section, mut cursors), pulse| {
        let mut lists = [UNLISTED; BATCH];
        slots.each_batch(section, spans, pulse, |batch| {
            batch.iter().for_each(|pair| followed.prefetch(pair.key));
            for (list, pair) in lists.iter_mut().zip(batch) {
                *list = followed.find(pair.key).map_or(UNLISTED, |place| followed.list(place));
                if let Some(cursor) = cursors.get(*list as usize) {
                    prefetch(units, cursor.place as usize);
                }
            }
            for (&list, pair) in lists.iter().zip(batch) {
                if let Some(cursor) = cursors.get_mut(list as usize) {
                    cursor.write(pair.at, units);
                }
            }
            Ok(())
        })
    })?;
    Ok((followed, lists))
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
    /// The sum of the sketches of all sections.
    fn build<S: SlotWidth>(
        slots: &Slots<S>,
        sections: &[Range<usize>],
        plan: &Plan<'_>,
        pulse: &mut Pulse<'_>,
    ) -> Result<Self> {
        let size = slots.len().ilog2().clamp(*SIZES.start(), *SIZES.end());
        let empty =
            || Self { counters: vec![0; 1 << size], seed: HashSeed::of_process(), total: 0, occurrences: 0 };
        let sketches = workers::each(sections.iter().cloned(), pulse, |section, pulse| {
            let mut sketch = empty();
            slots.each_batch(section, plan.spans, pulse, |batch| {
                batch.iter().for_each(|pair| prefetch(&sketch.counters, sketch.place(pair.key)));
                batch.iter().filter(|pair| plan.allows(pair.key)).for_each(|pair| sketch.add(pair));
                Ok(())
            })?;
            Ok(sketch)
        })?;
        Ok(sketches.into_iter().fold(empty(), Self::combine))
    }

    fn add(&mut self, pair: &PairAt) {
        self.total = self.total.saturating_add(pair.count);
        self.occurrences += 1;
        let place = self.place(pair.key);
        let counter = &mut self.counters[place];
        *counter = counter.saturating_add(pair.count.min(u64::from(u16::MAX)) as u16);
    }

    fn combine(mut self, other: Self) -> Self {
        for (counter, more) in self.counters.iter_mut().zip(other.counters) {
            *counter = counter.saturating_add(more);
        }
        self.total = self.total.saturating_add(other.total);
        self.occurrences += other.occurrences;
        self
    }

    /// The threshold to begin with: the preferred one, or the highest that enough pairs seem to reach.
    fn threshold(&self, plan: &Plan<'_>) -> Result<u64> {
        let mut counters = memory::gathered(self.counters.iter().copied().filter(|&counter| counter > 0))?;
        let highest = match counters.iter().copied().max() {
            Some(u16::MAX) | None => u64::MAX,
            Some(highest) => u64::from(highest),
        };
        let likely = if plan.enough() < counters.len() {
            u64::from(*counters.select_nth_unstable_by_key(plan.enough(), |&counter| Reverse(counter)).1)
        } else {
            0
        };
        let preferred = plan.threshold(self.total, self.occurrences);
        Ok(preferred.max(likely.min(plan.max_threshold)).clamp(1, highest))
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
