//! Counts and lists pairs by sorting their occurrences, where few are left: 0.85 of the time of a training for 128,000
//! tokens that counts by tables alone.
//!
//! Each thread takes the pairs whose hashes are in its own range.

use super::lists::{Cursor, Lists};
use super::pairs::{Pair, add, codes_of, key_of};
use super::recount::{Plan, Recount};
use super::slots::{Group, PairAt, SlotWidth, Slots};
use super::tokens::Code;
use super::tuning::MAX_SORTED;
use crate::error::Result;
use crate::key::HashSeed;
use crate::memory;
use crate::memory::cells::{Cells, Content, Plain};
use crate::memory::rows::Rows;
use crate::watch::Pulse;
use crate::workers;

/// About this many occurrences are sorted at a time.
const SORT_BATCH: usize = 16;
/// From this count on, pairs are not told apart when a threshold is chosen.
const MOST_TOLD_APART: u64 = 1 << 16;

/// A pair and its position.
#[derive(Clone, Copy, Default)]
struct Occurrence {
    left: Code,
    right: Code,
    at: u32,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for Occurrence {}

impl Occurrence {
    fn of(pair: &PairAt) -> Self {
        let (left, right) = codes_of(pair.key);
        Self { left, right, at: pair.at }
    }

    fn key(&self) -> u64 {
        key_of(self.left, self.right)
    }
}

/// Counts the pairs and lists the positions of the frequent ones; `None` if no pair may be merged.
pub fn recount<S: SlotWidth>(
    slots: &Slots<S>,
    plan: &Plan<'_>,
    pulse: &mut Pulse<'_>,
) -> Result<Option<Recount>> {
    let of = plan.tuning.threads;
    let sorted = workers::each(0..of, pulse, |nth, pulse| Sorted::of(slots, plan, (nth, of), pulse))?;
    let highest = sorted.iter().map(|sorted| sorted.highest).max().unwrap_or(0);
    if highest == 0 {
        return Ok(None);
    }
    let occurrences = sorted.iter().map(|sorted| sorted.occurrences.len()).sum();
    let total = sorted.iter().fold(0u64, |sum, sorted| sum.saturating_add(sorted.total));
    let threshold =
        plan.threshold(total, occurrences).max(reached_by(plan.enough(), &sorted)).clamp(1, highest);
    let parts = workers::each(sorted, pulse, |sorted, _| sorted.frequent(slots, threshold))?;
    let found: Vec<(Pair, u32)> = parts.iter().flat_map(|(found, _)| found).copied().collect();
    let followed = Recount::follow(found.iter().map(|&(pair, _)| pair))?;
    let mut lists = Lists::with_lengths(found.iter().map(|&(_, units)| units), plan.growth(occurrences))?;
    let mut rest = lists.shared_units();
    let mut work = Vec::new();
    for (found, positions) in parts {
        let (own, others) = rest.split_at(found.iter().map(|&(_, units)| units as usize).sum());
        work.push((found, positions, own));
        rest = others;
    }
    workers::each(work, pulse, |(found, positions, units), _| {
        let (mut positions, mut place) = (positions.iter(), 0);
        for (_, length) in found {
            let mut cursor = Cursor::at(place);
            place += length;
            while cursor.place < place
                && let Some(&at) = positions.next()
            {
                cursor.write(at, units);
            }
        }
        Ok(())
    })?;
    Ok(Some(Recount { threshold, followed, lists, occurrences }))
}

/// Frequent pairs, the units that their positions take, and these positions.
type Frequent = (Vec<(Pair, u32)>, Rows<u32>);

/// Occurrences sorted by pair and position.
struct Sorted {
    occurrences: Cells<Occurrence>,
    /// The sum of all counts, and the highest.
    total: u64,
    highest: u64,
    /// How many pairs have each count; those above the last one are added to it.
    by_count: Vec<u32>,
}

impl Sorted {
    /// Sorts and counts the pairs of one of `of` ranges of hashes.
    fn of<S: SlotWidth>(
        slots: &Slots<S>,
        plan: &Plan<'_>,
        (nth, of): (usize, usize),
        pulse: &mut Pulse<'_>,
    ) -> Result<Self> {
        let seed = HashSeed::of_process();
        let mut found = Rows::with_capacity(plan.occurrences / of)?;
        slots.each_batch(1..slots.len(), plan.spans, pulse, |batch| {
            let own =
                batch.iter().filter(|pair| range_of(seed, pair.key, of) == nth && plan.allows(pair.key));
            own.map(Occurrence::of).try_for_each(|occurrence| found.push(occurrence))
        })?;
        pulse.check()?;
        let occurrences = sort(&found, (nth, of))?;
        let most = plan.max_threshold.min(MOST_TOLD_APART);
        let by_count = memory::filled(0, most as usize + 1)?;
        let mut sorted = Self { occurrences, total: 0, highest: 0, by_count };
        let mut group = Group::default();
        for run in sorted.occurrences.chunk_by(|one, next| one.key() == next.key()) {
            let count = count_of(run, slots, &mut group)?;
            (sorted.total, sorted.highest) = (sorted.total.saturating_add(count), sorted.highest.max(count));
            sorted.by_count[count.min(most) as usize] += 1;
        }
        Ok(sorted)
    }

    /// The pairs that reach the threshold, the units that their positions take, and these positions.
    fn frequent<S: SlotWidth>(self, slots: &Slots<S>, threshold: u64) -> Result<Frequent> {
        let (mut found, mut positions, mut group) = (Vec::new(), Rows::default(), Group::default());
        for run in self.occurrences.chunk_by(|one, next| one.key() == next.key()) {
            let count = count_of(run, slots, &mut group)?;
            if count >= threshold {
                let mut measure = Cursor::default();
                for occurrence in run {
                    measure.pass(occurrence.at);
                    positions.push(occurrence.at)?;
                }
                memory::push(&mut found, (Pair { key: run[0].key(), count }, measure.place))?;
            }
        }
        Ok((found, positions))
    }
}

/// The count of a pair, of which these are all occurrences; `group` is that of the last one.
fn count_of<S: SlotWidth>(run: &[Occurrence], slots: &Slots<S>, group: &mut Group) -> Result<u64> {
    let mut count = 0;
    for occurrence in run {
        if !group.contains(occurrence.at) {
            *group = slots.group(occurrence.at as usize);
        }
        add(&mut count, group.count)?;
    }
    Ok(count)
}

/// The range, of `of` equal ones, that a pair's hash belongs to.
fn range_of(seed: HashSeed, key: u64, of: usize) -> usize {
    (((seed.hash_number(key) >> 32) * of as u64) >> 32) as usize
}

/// Sorts occurrences: a counting sort by narrow ranges of the pairs' hashes, then by pair and position within each.
fn sort(found: &[Occurrence], (nth, of): (usize, usize)) -> Result<Cells<Occurrence>> {
    let ranges = (found.len() / SORT_BATCH).clamp(1, MAX_SORTED / SORT_BATCH);
    let seed = HashSeed::of_process();
    let range = |pair: &Occurrence| range_of(seed, pair.key(), of * ranges) - nth * ranges;
    let mut ends = memory::filled(0u32, ranges)?;
    found.iter().for_each(|pair| ends[range(pair)] += 1);
    let mut total = 0;
    for end in &mut ends {
        total += std::mem::replace(end, total);
    }
    let mut ordered = Cells::<Occurrence>::new(found.len(), Content::LateZeros)?;
    for pair in found {
        let end = &mut ends[range(pair)];
        ordered[*end as usize] = *pair;
        *end += 1;
    }
    let mut start = 0;
    for end in ends {
        ordered[start..end as usize].sort_unstable_by_key(|pair| (pair.key(), pair.at));
        start = end as usize;
    }
    Ok(ordered)
}

/// The highest count, among those that are told apart, that about `pairs` pairs reach; 0 if there are fewer.
fn reached_by(pairs: usize, sorted: &[Sorted]) -> u64 {
    let mut reached = 0;
    let most = sorted.iter().map(|sorted| sorted.by_count.len()).max().unwrap_or(0);
    let count = (0..most).rev().find(|&count| {
        reached += sorted.iter().map(|sorted| sorted.by_count[count] as usize).sum::<usize>();
        reached > pairs
    });
    count.map_or(0, |count| count as u64)
}
