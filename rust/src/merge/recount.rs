//! Counts all pairs in the words and lists the positions of those that reach the threshold.
//!
//! There are two ways, with the same result for the followed pairs:
//!
//! - *directly*, with few codes: a counter for every possible pair; a second pass through the words
//!   lists positions;
//! - *by sorting*, with more: the occurrences are sorted by pair, which counts and lists them at
//!   once. This is done for one range of the pairs' hashes after the other, as many as the memory
//!   needs or as there are threads.
//!
//! ```text
//! words        |  a  b  a  b  |  c  a  b  |      all pairs: (a,b) at 1 3 7, (b,a) at 2, (c,a) at 6
//! first range  (c,a) 6   (b,a) 2                 sorted: (b,a) 2 | (c,a) 6
//! second range (a,b) 1   (a,b) 3   (a,b) 7       sorted: (a,b) 1 3 7, and the words' counts
//! ```

use super::Rules;
use super::conditions::Conditions;
use super::lists::{ListCursor, Lists};
use super::pairs::{Followed, PairTable, codes_of, key_of, sum};
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
    pub conditions: &'a Conditions,
    pub tuning: &'a Tuning,
    /// The preferred threshold; `None` to derive it from `slack`, or its variants for few pairs and
    /// frequent words.
    pub threshold: Option<u64>,
    /// The threshold may be higher than preferred if enough pairs reach it, but not above this.
    pub max_threshold: u64,
    /// The number of merges still to make; `None` without a limit.
    pub merges: Option<u64>,
}

impl Plan<'_> {
    /// Returns the preferred threshold for this many occurrences of pairs, whose words' counts sum
    /// to `total`.
    fn threshold(&self, total: u64, occurrences: usize) -> u64 {
        if let Some(threshold) = self.threshold {
            return threshold;
        }
        // Without a limit, all pairs will be merged.
        let Some(merges) = self.merges else { return 1 };
        let occurrences = occurrences as u64;
        let slack = if occurrences / FEW_PAIRS_PER_MERGE < merges {
            self.tuning.slack_when_few
        } else if total / FREQUENT < occurrences {
            self.tuning.slack
        } else {
            self.tuning.slack_when_frequent
        };
        total / merges.saturating_mul(slack).max(1)
    }

    /// Whether the token of a pair is within the maximum length.
    fn allows(&self, key: u64) -> bool {
        let (left, right) = codes_of(key);
        self.rules.max_token_length.is_none() || self.rules.allow(self.tokens, left, right)
    }

    /// Whether the token of a pair fulfils the conditions.
    fn fulfils(&self, key: u64) -> Result<bool> {
        let (left, right) = codes_of(key);
        self.conditions.allow(self.tokens, left, right)
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
    /// Counts the pairs and lists the positions of the frequent ones; `None` if no pair may be
    /// merged. Words without a pair may be dropped from the slots.
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

    /// Returns an empty recount with room for this many pairs and occurrences, and for those that
    /// merges will add.
    fn with_room(
        threshold: u64,
        pairs: usize,
        occurrences: usize,
        tuning: &Tuning,
    ) -> Result<Self> {
        let followed = PairTable::with_capacity(pairs + pairs / 2)?;
        let growth = occurrences / 100 * tuning.growth_percent;
        let lists = Lists::with_room(pairs, occurrences, growth)?;
        Ok(Self { threshold, followed, lists })
    }
}

/// The count of a pair in a section, and the length of the list of its positions.
#[derive(Clone, Copy)]
struct Counter {
    count: u64,
    list_end: ListCursor,
}

fn directly<S: SlotWidth>(
    slots: &Slots<S>,
    plan: &Plan<'_>,
    pulse: &mut Pulse<'_>,
) -> Result<Option<Recount>> {
    let codes = plan.tokens.len();
    let index_of = |key| {
        let (left, right) = codes_of(key);
        left as usize * codes + right as usize
    };
    let threads = plan.tuning.threads;
    let sections = slots.sections(threads);
    let counted = workers::each(threads, sections.clone(), pulse, |section, pulse| {
        let mut counters =
            memory::filled(Counter { count: 0, list_end: ListCursor::at(0) }, codes * codes)?;
        let mut occurrences = 0;
        slots.each_pair(section, plan.tokens.spans(), pulse, |pair| {
            let counter = &mut counters[index_of(pair.key)];
            counter.list_end.skip(pair.at);
            occurrences += 1;
            counter.count = sum(counter.count, pair.count)?;
            Ok(())
        })?;
        Ok((occurrences, counters))
    })?;
    let (occurrences, counted): (Vec<usize>, Vec<_>) = counted.into_iter().unzip();
    let occurrences = occurrences.iter().sum();

    let mut pairs = Vec::new();
    let mut total = 0u64;
    for index in 0..codes * codes {
        let mut count = 0;
        for counters in &counted {
            count = sum(count, counters[index].count)?;
        }
        total = total.saturating_add(count);
        let key = key_of((index / codes) as Code, (index % codes) as Code);
        if count > 0 && plan.allows(key) && plan.fulfils(key)? {
            memory::push(&mut pairs, (key, count))?;
        }
    }
    let Some(highest) = pairs.iter().map(|&(_, count)| count).max() else { return Ok(None) };
    let threshold = plan.threshold(total, occurrences).clamp(1, highest);
    pairs.retain(|&(_, count)| count >= threshold);

    // A list has the positions of the first section, then those of the second, and so on. Each
    // thread has a cursor for every pair that is followed, and `None` for the others.
    let mut recount = Recount::with_room(threshold, pairs.len(), occurrences, plan.tuning)?;
    let mut cursors = memory::filled(memory::filled(None, codes * codes)?, counted.len())?;
    for (key, count) in pairs {
        let length = counted.iter().map(|counters| counters[index_of(key)].list_end.place).sum();
        let (list, mut start) = recount.lists.add(length)?;
        for (counters, cursors) in counted.iter().zip(&mut cursors) {
            cursors[index_of(key)] = Some(ListCursor::at(start));
            start += counters[index_of(key)].list_end.place;
        }
        recount.followed.add(Followed { key, count, list }, threshold)?;
    }
    let units = recount.lists.shared();
    workers::each(
        threads,
        sections.into_iter().zip(cursors),
        pulse,
        |(section, mut cursors), pulse| {
            slots.each_pair(section, plan.tokens.spans(), pulse, |pair| {
                if let Some(cursor) = &mut cursors[index_of(pair.key)] {
                    cursor.write(pair.at, units);
                }
                Ok(())
            })
        },
    )?;
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
    let ranges = occurrences.div_ceil(plan.tuning.sorted).max(1).next_multiple_of(threads);
    // Ranges differ in size; one that is larger than this still grows as needed.
    let room = occurrences / ranges * 2;
    loop {
        let slots = &*slots;
        let parts = workers::each(threads, 0..ranges, pulse, |range, pulse| {
            let sorted = sorted(slots, plan, range, ranges, room, pulse)?;
            count(sorted, slots, plan, least, pulse)
        })?;
        let highest = parts.iter().map(|part| part.highest).max().unwrap_or(0);
        if highest == 0 {
            return Ok(None);
        }
        if highest < least {
            // Nothing was listed: once more, with a threshold that a pair reaches.
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
/// Counts from this one on are treated as equal when a threshold is chosen.
const MOST_DISTINGUISHED: u64 = 1 << 16;

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

/// Returns which of `ranges` equal ranges of hashes a pair belongs to.
fn range_of(seed: HashSeed, key: u64, ranges: usize) -> usize {
    (((seed.hash_number(key) >> 32) * ranges as u64) >> 32) as usize
}

/// Returns the occurrences of the pairs in one range, ordered by pair and position; `room` is an
/// upper estimate of their number. They are first ordered by narrow ranges, with a counting sort,
/// and then within each of these.
fn sorted<S: SlotWidth>(
    slots: &Slots<S>,
    plan: &Plan<'_>,
    range: usize,
    ranges: usize,
    room: usize,
    pulse: &mut Pulse<'_>,
) -> Result<Cells<Occurrence>> {
    let seed = HashSeed::of_process();
    let mut occurrences = Cells::with_capacity(room)?;
    slots.each_pair(1..slots.len(), plan.tokens.spans(), pulse, |pair| {
        let is_in_range = range_of(seed, pair.key, ranges) == range && plan.allows(pair.key);
        if is_in_range { occurrences.push(Occurrence::of(&pair)) } else { Ok(()) }
    })?;

    let narrow = (occurrences.len() / SORT_BATCH).max(1);
    let narrow_range =
        |pair: &Occurrence| range_of(seed, pair.key(), ranges * narrow) - range * narrow;
    let mut ends = memory::filled(0u32, narrow)?;
    for pair in occurrences.iter() {
        ends[narrow_range(pair)] += 1;
    }
    // Each number becomes the start of its narrow range, which moves to its end as occurrences are
    // written.
    let mut total = 0;
    for end in &mut ends {
        total += std::mem::replace(end, total);
    }
    let mut ordered = Cells::<Occurrence>::new(occurrences.len())?;
    for pair in occurrences.iter() {
        let end = &mut ends[narrow_range(pair)];
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

/// The pairs of one range of hashes.
struct Part {
    /// The pairs that are frequent enough, and their positions.
    pairs: Vec<Followed>,
    lists: Lists,
    /// The highest count of any pair.
    highest: u64,
    /// For each count from `least` on, how many pairs have it; the last entry includes all higher
    /// counts.
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
    let most = plan.max_threshold.min(MOST_DISTINGUISHED);
    let by_count = memory::filled(0, most as usize + 1)?;
    let mut part = Part { pairs: Vec::new(), lists: Lists::default(), highest: 0, by_count };
    let mut group = Group::default();
    for occurrences in sorted.chunk_by(|pair, next| pair.key() == next.key()) {
        pulse.beat(occurrences.len())?;
        let mut count = 0;
        for &Occurrence { at, .. } in occurrences {
            if !group.contains(at) {
                group = slots.group(at as usize);
            }
            count = sum(count, group.count)?;
        }
        // Rarer pairs change nothing: of all pairs, most are rarer.
        let key = occurrences[0].key();
        if count < least && count <= part.highest || !plan.fulfils(key)? {
            continue;
        }
        part.highest = part.highest.max(count);
        part.by_count[count.min(most) as usize] += 1;
        if count >= least {
            let list = part.lists.append(occurrences.iter().map(|occurrence| occurrence.at))?;
            memory::push(&mut part.pairs, Followed { key, count, list })?;
        }
    }
    Ok(part)
}

/// Returns the highest count, among those with an entry in `by_count`, that more pairs reach than
/// there are merges to make; 0 if there are fewer pairs.
fn reached_by(merges: Option<u64>, parts: &[Part]) -> u64 {
    let Some(merges) = merges else { return 0 };
    let counts = parts.iter().map(|part| part.by_count.len()).max().unwrap_or(0);
    let mut reached = 0;
    for count in (0..counts).rev() {
        for part in parts {
            reached += u64::from(part.by_count[count]);
        }
        if reached > merges {
            return count as u64;
        }
    }
    0
}
