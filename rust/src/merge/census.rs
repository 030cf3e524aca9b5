//! The words' pairs, counted afresh: which pairs occur at least so often, and where.

use std::cmp::Reverse;

use super::Rules;
use super::crew::on_each;
use super::pairs::{DenseLists, PairTable, add, codes_of, hash, key_of};
use super::part::Part;
use super::queue::Candidate;
use super::slots::Standing;
use super::tokens::{Code, Tokens};
use crate::error::Result;
use crate::memory;
use crate::prefetch::prefetch;
use crate::watch::Pulse;

/// The pairs that a census found, with the numbers of their lists.
pub struct Census {
    /// Every pair that occurs this often, and may be merged, is followed.
    pub threshold: u64,
    pub followed: PairTable,
    /// How many pairs stand in the words.
    pub standing: usize,
    /// How many codes there are, if few.
    dense_codes: Option<usize>,
    /// For each part and list, how many positions are listed.
    numbers: Vec<Vec<u32>>,
}

/// What a followed pair takes besides its place in the table and its positions: a candidate, and its list's number.
const FOR_EACH_FOLLOWED: usize = size_of::<Candidate>() + size_of::<u32>();

/// A pair and its count.
struct Found {
    key: u64,
    count: u64,
}

/// All parts, none of them at work.
type Parts<'a, 'p> = &'a mut [&'p mut Part];

/// What decides which pairs are followed.
pub struct Plan<'a> {
    pub tokens: &'a Tokens,
    pub rules: &'a Rules,
    /// The threshold wished for; `None` for one that leaves room for so many pairs as `room` says, were all of
    /// them equally frequent.
    pub threshold: Option<u64>,
    pub room: u64,
    /// As long as so many pairs reach it, the threshold may be higher than wished for, but not above `most`.
    pub most: u64,
    pub enough: usize,
    /// Up to so many codes, every pair has a counter of its own.
    pub dense: usize,
    /// How fast a threshold that no pair reaches falls.
    pub divisor: u64,
}

impl Plan<'_> {
    fn threshold(&self, total: u64) -> u64 {
        self.threshold.unwrap_or(total / self.room.max(1))
    }

    fn allows(&self, key: u64) -> bool {
        let (left, right) = codes_of(key);
        self.rules.max_token_length.is_none() || self.rules.allow(self.tokens, left, right)
    }
}

impl Census {
    /// Counts the pairs; `None` when none may be merged.
    pub fn take(parts: Parts<'_, '_>, plan: &Plan<'_>, pulse: &mut Pulse<'_>) -> Result<Option<Self>> {
        if plan.tokens.len() <= plan.dense {
            Self::take_dense(parts, plan, pulse)
        } else {
            Self::take_sketched(parts, plan, pulse)
        }
    }

    /// Puts the followed pairs' positions into the parts' lists, and leaves room for `growth` more in each part.
    pub fn list(&self, parts: Parts<'_, '_>, growth: usize, pulse: &mut Pulse<'_>) -> Result<()> {
        let items = parts.iter_mut().zip(&self.numbers);
        if let Some(codes) = self.dense_codes {
            let lists = DenseLists::new(codes, &self.followed);
            on_each(items, pulse, |(part, numbers), pulse| part.list_all(&lists, numbers, growth, pulse))?;
        } else {
            on_each(items, pulse, |(part, numbers), pulse| {
                part.list_all(&self.followed, numbers, growth, pulse)
            })?;
        }
        Ok(())
    }

    /// Follows the pairs that reach the threshold; `None` when there are none. `number` tells at how many positions
    /// of a part a pair stands.
    fn follow(
        mut found: Vec<Found>,
        threshold: u64,
        (parts, standing): (usize, usize),
        number: impl Fn(usize, u64) -> u32,
        plan: &Plan<'_>,
    ) -> Result<Option<Self>> {
        found.retain(|pair| pair.count >= threshold);
        if found.is_empty() {
            return Ok(None);
        }
        memory::ensure(found.len() * (FOR_EACH_FOLLOWED + parts * size_of::<u32>()))?;
        let mut followed = PairTable::with_capacity(found.len())?;
        let mut numbers = vec![Vec::with_capacity(found.len()); parts];
        for (list, pair) in found.iter().enumerate() {
            let place = followed.insert(pair.key)?;
            *followed.count_mut(place) = pair.count;
            *followed.list_mut(place) = list as u32;
            for (part, numbers) in numbers.iter_mut().enumerate() {
                numbers.push(number(part, pair.key));
            }
        }
        Ok(Some(Self {
            threshold,
            followed,
            standing,
            dense_codes: (plan.tokens.len() <= plan.dense).then_some(plan.tokens.len()),
            numbers,
        }))
    }

    fn take_dense(parts: Parts<'_, '_>, plan: &Plan<'_>, pulse: &mut Pulse<'_>) -> Result<Option<Self>> {
        let codes = plan.tokens.len();
        let counted = on_each(parts.iter_mut(), pulse, |part, pulse| {
            let mut counters = vec![(0u64, 0u32); codes * codes];
            part.slots.each_batch(&part.spans, pulse, |batch| {
                for pair in batch {
                    let (left, right) = codes_of(pair.key);
                    let counter = &mut counters[left as usize * codes + right as usize];
                    counter.1 += 1;
                    add(&mut counter.0, pair.count)?;
                }
                Ok(())
            })?;
            Ok(counters)
        })?;
        let mut standing = 0;
        let mut total = 0u64;
        let mut found = Vec::new();
        for at in 0..codes * codes {
            standing += counted.iter().map(|part| part[at].1 as usize).sum::<usize>();
            let mut count = 0;
            for part in &counted {
                add(&mut count, part[at].0)?;
            }
            total = total.saturating_add(count);
            let key = key_of((at / codes) as Code, (at % codes) as Code);
            if count > 0 && plan.allows(key) {
                found.push(Found { key, count });
            }
        }
        let Some(highest) = found.iter().map(|pair| pair.count).max() else { return Ok(None) };
        let threshold = plan.threshold(total).clamp(1, highest);
        let number = |part: usize, key| {
            let (left, right) = codes_of(key);
            counted[part][left as usize * codes + right as usize].1
        };
        Self::follow(found, threshold, (counted.len(), standing), number, plan)
    }

    /// First bounds every pair's count from above, by adding up many pairs in each of few counters; then counts
    /// only the pairs that may reach the threshold.
    fn take_sketched(parts: Parts<'_, '_>, plan: &Plan<'_>, pulse: &mut Pulse<'_>) -> Result<Option<Self>> {
        let slots: usize = parts.iter().map(|part| part.slots.len()).sum();
        let sketches =
            on_each(parts.iter_mut(), pulse, |part, pulse| Sketch::draw(part, slots, plan, pulse))?;
        let Some(sketch) = sketches.into_iter().reduce(Sketch::combine) else { return Ok(None) };
        let Some(highest) = sketch.highest() else { return Ok(None) };
        let standing = sketch.standing;
        let likely = sketch.reached_by(plan.enough)?.min(plan.most);
        let mut threshold = plan.threshold(sketch.total).max(likely).clamp(1, highest);
        loop {
            let counted = on_each(parts.iter_mut(), pulse, |part, pulse| {
                let mut pairs = PairTable::with_capacity(sketch.number_that_reach(threshold))?;
                let mut likely: Vec<Standing> = Vec::new();
                part.slots.each_batch(&part.spans, pulse, |batch| {
                    likely.clear();
                    likely.extend(batch.iter().filter(|pair| sketch.may_reach(pair.key, threshold)).copied());
                    likely.iter().for_each(|pair| pairs.prefetch(pair.key));
                    for pair in &likely {
                        let place = pairs.insert(pair.key)?;
                        *pairs.list_mut(place) += 1;
                        add(pairs.count_mut(place), pair.count)?;
                    }
                    Ok(())
                })?;
                Ok(pairs)
            })?;
            let number =
                |part: usize, key| counted[part].find(key).map_or(0, |place| counted[part].list(place));
            let found = add_up(&counted, plan)?;
            let census = Self::follow(found, threshold, (counted.len(), standing), number, plan)?;
            if census.is_some() || threshold == 1 {
                return Ok(census);
            }
            threshold = (threshold / plan.divisor).max(1);
        }
    }
}

/// Adds up what the parts counted.
fn add_up(counted: &[PairTable], plan: &Plan<'_>) -> Result<Vec<Found>> {
    let found = |table: &PairTable| {
        let allowed = table.iter().filter(|&(key, ..)| plan.allows(key));
        memory::gathered(allowed.map(|(key, count, _)| Found { key, count }))
    };
    if let [alone] = counted {
        return found(alone);
    }
    let mut all = PairTable::with_capacity(counted.iter().map(PairTable::len).max().unwrap_or(0))?;
    for (key, count, _) in counted.iter().flat_map(PairTable::iter) {
        let place = all.insert(key)?;
        add(all.count_mut(place), count)?;
    }
    found(&all)
}

/// Upper bounds of pairs' counts; a counter that is full stays full.
struct Sketch {
    counters: Vec<u16>,
    /// The sum of all pairs' counts.
    total: u64,
    /// How many pairs stand in the words.
    standing: usize,
}

/// The least and the largest size of a sketch, as powers of two.
const SIZES: std::ops::RangeInclusive<u32> = 12..=20;

impl Sketch {
    /// A sketch of a part of words that take so many slots in all.
    fn draw(part: &Part, slots: usize, plan: &Plan<'_>, pulse: &mut Pulse<'_>) -> Result<Self> {
        let size = slots.max(1).ilog2().clamp(*SIZES.start(), *SIZES.end());
        let mut sketch = Self { counters: vec![0; 1 << size], total: 0, standing: 0 };
        part.slots.each_batch(&part.spans, pulse, |batch| {
            batch.iter().for_each(|pair| prefetch(&sketch.counters, sketch.place(pair.key)));
            sketch.standing += batch.len();
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
        self.standing += other.standing;
        self
    }

    /// No pair occurs more often; `None` when there is no pair.
    fn highest(&self) -> Option<u64> {
        match self.counters.iter().copied().max() {
            None | Some(0) => None,
            Some(u16::MAX) => Some(u64::MAX),
            Some(highest) => Some(u64::from(highest)),
        }
    }

    /// What about so many pairs reach; 0 where there are not so many.
    fn reached_by(&self, pairs: usize) -> Result<u64> {
        let mut counters = memory::gathered(self.counters.iter().copied().filter(|&counter| counter > 0))?;
        if pairs >= counters.len() {
            return Ok(0);
        }
        Ok(u64::from(*counters.select_nth_unstable_by_key(pairs, |&counter| Reverse(counter)).1))
    }

    /// About how many pairs may reach the threshold.
    fn number_that_reach(&self, threshold: u64) -> usize {
        self.counters.iter().filter(|&&counter| reaches(counter, threshold)).count()
    }

    fn may_reach(&self, key: u64, threshold: u64) -> bool {
        reaches(self.counters[self.place(key)], threshold)
    }

    fn place(&self, key: u64) -> usize {
        (hash(key) >> (64 - self.counters.len().trailing_zeros())) as usize
    }
}

/// Whether a pair may occur as often as the threshold says; a full counter tells nothing.
fn reaches(counter: u16, threshold: u64) -> bool {
    u64::from(counter) >= threshold.min(u64::from(u16::MAX))
}
