//! Counts all pairs in the words and lists the positions of those that reach the threshold.
//!
//! There are two ways, with the same result for the followed pairs:
//!
//! - *directly*, with few codes: a counter for every possible pair; a second pass through the words lists positions;
//! - *by sorting*, with more: the occurrences are sorted by pair, which counts and lists them at once. This is done for one
//!   range of the pairs' hashes after the other, as many as the memory needs or as there are threads.
//!
//! ```text
//! words        |  a  b  a  b  |  c  a  b  |      all pairs: (a,b) at 1 3 7, (b,a) at 2, (c,a) at 6
//! first range  (c,a) 6   (b,a) 2                 sorted: (b,a) 2 | (c,a) 6
//! second range (a,b) 1   (a,b) 3   (a,b) 7       sorted: (a,b) 1 3 7, whose count is that of the words at 1, 3 and 7
//! ```

use super::Rules;
use super::lists::{Cursor, Lists};
use super::pairs::{Followed, PairTable, add, codes_of, key_of};
use super::slots::{Group, PairAt, SlotWidth, Slots};
use super::tokens::{Code, Tokens};
use super::tuning::{FEW_PAIRS_PER_MERGE, FREQUENT, Tuning};
use crate::error::Result;
use crate::key::HashSeed;
use crate::memory;
use crate::memory::cells::{Cells, Plain};
use crate::watch::Pulse;
use crate::workers;

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
    /// The preferred threshold for so many occurrences of pairs, whose words' counts sum to `total`.
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

    fn allows(&self, key: u64) -> bool {
        let (left, right) = codes_of(key);
        self.rules.max_token_length.is_none() || self.rules.allow(self.tokens, left, right)
    }
}

/// The result of a recount.
pub struct Recount {
    /// Every pair that reaches this count, and may be merged, is followed.
    pub threshold: u64,
    pub followed: PairTable,
    pub lists: Lists,
}

impl Recount {
    /// Counts the pairs and lists the positions of the frequent ones; `None` if no pair may be merged. Words without a pair
    /// may be dropped from the slots.
    pub fn count<S: SlotWidth>(
        slots: &mut Slots<S>,
        plan: &Plan<'_>,
        pulse: &mut Pulse<'_>,
    ) -> Result<Option<Self>> {
        if plan.tokens.len() <= plan.tuning.few_codes {
            directly(slots, plan, pulse)
        } else {
            by_sorting(slots, plan, pulse)
        }
    }

    /// With room for so many pairs, for that many occurrences of theirs, and for those that merges will add.
    fn with_room(threshold: u64, pairs: usize, occurrences: usize, tuning: &Tuning) -> Result<Self> {
        let followed = PairTable::with_capacity(pairs + pairs / 2)?;
        let growth = occurrences / 100 * tuning.growth_percent;
        let lists = Lists::with_room(pairs, occurrences, growth)?;
        Ok(Self { threshold, followed, lists })
    }
}

/// The count of a pair in a section, and the room for its positions; then whether and where they are listed.
#[derive(Clone, Copy)]
struct Counter {
    count: u64,
    list: Cursor,
}

fn directly<S: SlotWidth>(
    slots: &Slots<S>,
    plan: &Plan<'_>,
    pulse: &mut Pulse<'_>,
) -> Result<Option<Recount>> {
    let codes = plan.tokens.len();
    let place_of = |key| {
        let (left, right) = codes_of(key);
        left as usize * codes + right as usize
    };
    let threads = plan.tuning.threads;
    let sections = slots.sections(threads);
    let counted = workers::each(threads, sections.clone(), pulse, |section, pulse| {
        let mut counters = memory::filled(Counter { count: 0, list: Cursor::at(0) }, codes * codes)?;
        let mut pairs = 0;
        slots.each_pair(section, plan.tokens.spans(), pulse, |pair| {
            let counter = &mut counters[place_of(pair.key)];
            counter.list.skip(pair.at);
            pairs += 1;
            add(&mut counter.count, pair.count)
        })?;
        Ok((pairs, counters))
    })?;
    let (pairs, mut counted): (Vec<usize>, Vec<_>) = counted.into_iter().unzip();
    let (mut found, mut total, mut highest) = (Vec::new(), 0u64, 0);
    for key in (0..codes * codes).map(|place| key_of((place / codes) as Code, (place % codes) as Code)) {
        let mut count = 0;
        for counters in &counted {
            add(&mut count, counters[place_of(key)].count)?;
        }
        total = total.saturating_add(count);
        if count > 0 && plan.allows(key) {
            highest = highest.max(count);
            memory::push(&mut found, (key, count))?;
        }
    }
    if found.is_empty() {
        return Ok(None);
    }
    let pairs = pairs.iter().sum();
    let threshold = plan.threshold(total, pairs).clamp(1, highest);
    found.retain(|&(_, count)| count >= threshold);
    let mut recount = Recount::with_room(threshold, found.len(), pairs, plan.tuning)?;
    // A pair with a count is listed.
    counted.iter_mut().flat_map(|counters| counters.iter_mut()).for_each(|counter| counter.count = 0);
    for (key, count) in found {
        let length = counted.iter().map(|counters| counters[place_of(key)].list.place).sum();
        let (list, mut start) = recount.lists.add(length)?;
        for counters in &mut counted {
            let counter = &mut counters[place_of(key)];
            counter.count = 1;
            start += std::mem::replace(&mut counter.list, Cursor::at(start)).place;
        }
        recount.followed.add(Followed { key, count, list }, threshold)?;
    }
    let units = recount.lists.shared();
    workers::each(threads, sections.into_iter().zip(counted), pulse, |(section, mut counters), pulse| {
        slots.each_pair(section, plan.tokens.spans(), pulse, |pair| {
            let counter = &mut counters[place_of(pair.key)];
            if counter.count > 0 {
                counter.list.write(pair.at, units);
            }
            Ok(())
        })
    })?;
    Ok(Some(recount))
}

fn by_sorting<S: SlotWidth>(
    slots: &mut Slots<S>,
    plan: &Plan<'_>,
    pulse: &mut Pulse<'_>,
) -> Result<Option<Recount>> {
    let (occurrences, total) = slots.compact(plan.tokens.spans(), pulse)?;
    let mut least = plan.threshold(total, occurrences).max(1);
    let threads = plan.tuning.threads;
    let of = occurrences.div_ceil(plan.tuning.sorted).max(1).next_multiple_of(threads);
    loop {
        let slots = &*slots;
        let parts = workers::each(threads, 0..of, pulse, |nth, pulse| {
            sorted(slots, plan, (nth, of), occurrences / of * 2, pulse)
                .and_then(|sorted| count(sorted, slots, plan, least, pulse))
        })?;
        let highest = parts.iter().map(|part| part.highest).max().unwrap_or(0);
        if highest == 0 {
            return Ok(None);
        }
        if highest < least {
            least = highest;
            continue;
        }
        let threshold = reached_by(plan.merges, &parts).clamp(least, highest);
        let frequent = |pair: &&Followed| pair.count >= threshold;
        let pairs = parts.iter().flat_map(|part| &part.pairs).filter(frequent).count();
        let mut recount = Recount::with_room(threshold, pairs, occurrences, plan.tuning)?;
        for Part { pairs, lists, .. } in parts {
            for pair in pairs.iter().filter(frequent) {
                let list = recount.lists.append(lists.of(pair.list))?;
                recount.followed.add(Followed { list, ..*pair }, threshold)?;
            }
        }
        return Ok(Some(recount));
    }
}

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

/// The range, of `of` equal ones, that a pair's hash belongs to.
fn range_of(seed: HashSeed, key: u64, of: usize) -> usize {
    (((seed.hash_number(key) >> 32) * of as u64) >> 32) as usize
}

/// The occurrences whose pairs' hashes are in one of some equal ranges, about as many as there is room for: by a counting sort
/// of narrow ranges, then by pair and position within each.
fn sorted<S: SlotWidth>(
    slots: &Slots<S>,
    plan: &Plan<'_>,
    (nth, of): (usize, usize),
    room: usize,
    pulse: &mut Pulse<'_>,
) -> Result<Cells<Occurrence>> {
    let seed = HashSeed::of_process();
    let mut found = Cells::with_capacity(room)?;
    slots.each_pair(1..slots.len(), plan.tokens.spans(), pulse, |pair| {
        let is_own = range_of(seed, pair.key, of) == nth && plan.allows(pair.key);
        if is_own { found.push(Occurrence::of(&pair)) } else { Ok(()) }
    })?;
    let narrow = (found.len() / SORT_BATCH).max(1);
    let range = |pair: &Occurrence| range_of(seed, pair.key(), of * narrow) - nth * narrow;
    let mut ends = memory::filled(0u32, narrow)?;
    found.iter().for_each(|pair| ends[range(pair)] += 1);
    let mut total = 0;
    for end in &mut ends {
        total += std::mem::replace(end, total);
    }
    let mut ordered = Cells::<Occurrence>::new(found.len())?;
    for pair in found.iter() {
        let end = &mut ends[range(pair)];
        ordered[*end as usize] = *pair;
        *end += 1;
    }
    let mut start = 0;
    for end in ends {
        pulse.beat(SORT_BATCH)?;
        ordered[start..end as usize].sort_unstable_by_key(|pair| (pair.key(), pair.at));
        start = end as usize;
    }
    Ok(ordered)
}

/// The pairs of a range.
struct Part {
    /// Those that are frequent enough, and their positions.
    pairs: Vec<Followed>,
    lists: Lists,
    /// The highest count of all.
    highest: u64,
    /// How many have each count; those above the last one are added to it.
    by_count: Vec<u32>,
}

/// Counts sorted occurrences, and lists those of pairs that reach `least`.
fn count<S: SlotWidth>(
    sorted: Cells<Occurrence>,
    slots: &Slots<S>,
    plan: &Plan<'_>,
    least: u64,
    pulse: &mut Pulse<'_>,
) -> Result<Part> {
    let most = plan.max_threshold.min(MOST_TOLD_APART);
    let by_count = memory::filled(0, most as usize + 1)?;
    let mut part = Part { pairs: Vec::new(), lists: Lists::default(), highest: 0, by_count };
    let mut group = Group::default();
    for occurrences in sorted.chunk_by(|one, next| one.key() == next.key()) {
        pulse.beat(occurrences.len())?;
        let mut count = 0;
        for &Occurrence { at, .. } in occurrences {
            if !group.contains(at) {
                group = slots.group(at as usize);
            }
            add(&mut count, group.count)?;
        }
        part.highest = part.highest.max(count);
        part.by_count[count.min(most) as usize] += 1;
        if count >= least {
            let list = part.lists.append(occurrences.iter().map(|occurrence| occurrence.at))?;
            memory::push(&mut part.pairs, Followed { key: occurrences[0].key(), count, list })?;
        }
    }
    Ok(part)
}

/// The highest count, among those that are told apart, that about as many pairs reach as there are merges to make; 0 if
/// there are fewer.
fn reached_by(merges: Option<u64>, parts: &[Part]) -> u64 {
    let (mut reached, merges) = (0, merges.unwrap_or(u64::MAX));
    let most = parts.iter().map(|part| part.by_count.len()).max().unwrap_or(0);
    let count = (0..most).rev().find(|&count| {
        reached += parts.iter().map(|part| u64::from(part.by_count[count])).sum::<u64>();
        reached > merges
    });
    count.map_or(0, |count| count as u64)
}
