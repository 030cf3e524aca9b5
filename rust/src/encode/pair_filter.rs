//! Goes through a text 64 bytes at a time, past all places where none of many byte strings begins.
//!
//! Each string is in one of eight groups; four tables of 16 entries say, for the halves of two neighbouring bytes, which
//! groups have a string that begins with them. Most of the places that it leaves are those of strings.

use crate::portable;

/// 64 places of a text, and those of them where a string may begin.
#[derive(Clone, Copy, Debug, Default)]
pub struct PairBlock {
    end: usize,
    places: u64,
}

impl PairBlock {
    pub fn end(&self) -> usize {
        self.end
    }

    /// The next place, which is then done.
    pub fn next(&mut self) -> Option<usize> {
        let place = self.places.trailing_zeros() as usize;
        self.places &= self.places.wrapping_sub(1);
        (place < 64).then(|| self.end - 64 + place)
    }

    /// Drop the places before this one.
    pub fn forget_before(&mut self, place: usize) {
        let passed = place.saturating_sub(self.end.saturating_sub(64));
        self.places &= if passed < 64 { u64::MAX << passed } else { 0 };
    }
}

/// The number of bytes that are looked at for 64 places.
const SEEN: usize = 65;

/// For the lower and the upper half of the first byte, then of the second one, the groups that have such a string.
type Halves = [[u8; 16]; 4];

/// Which pairs of bytes may begin a string.
pub struct PairFilter {
    halves: Halves,
    instructions: PairInstructions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PairInstructions {
    /// Any machine.
    Portable,
    /// x86-64 with AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl PairInstructions {
    /// All that this machine has, the best one last.
    fn all() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            return vec![Self::Portable, Self::Avx2];
        }
        vec![Self::Portable]
    }

    fn this() -> Self {
        let best = Self::all().pop().filter(|_| !portable::is_wanted());
        best.unwrap_or(Self::Portable)
    }
}

impl PairFilter {
    /// From strings in order.
    pub fn new<'t>(texts: impl Iterator<Item = &'t [u8]>) -> Self {
        let mut halves = [[0; 16]; 4];
        for (group, members) in groups(texts).iter().enumerate() {
            for (halves, group_halves) in halves.iter_mut().zip(members.halves) {
                for (half, groups) in halves.iter_mut().enumerate() {
                    *groups |= u8::from(group_halves >> half & 1 != 0) << group;
                }
            }
        }
        Self { halves, instructions: PairInstructions::this() }
    }

    /// The first 64 places from `from` on among which a string may begin; the end of the text without any.
    pub fn next(&self, text: &[u8], from: usize) -> PairBlock {
        let (passed, places) = self.scan(&text[from..]);
        let start = from + passed;
        if places != 0 {
            return PairBlock { end: start + 64, places };
        }
        let rest = &text[start..];
        let mut padded = [0; SEEN];
        padded[..rest.len()].copy_from_slice(rest);
        let (_, places) = self.scan(&padded);
        PairBlock { end: start + 64, places: places & u64::MAX.unbounded_shr(64 - rest.len() as u32) }
    }

    /// Whether a text may begin with a string.
    pub fn may_begin(&self, text: &[u8]) -> bool {
        text.first().is_some_and(|&first| may_begin(&self.halves, [first, text.get(1).copied().unwrap_or(0)]))
    }

    /// Go to the first 64 places where a string may begin: how many are before them, and which of them. If there are none,
    /// fewer than 65 bytes are left.
    fn scan(&self, text: &[u8]) -> (usize, u64) {
        match self.instructions {
            PairInstructions::Portable => scan_portable(text, &self.halves),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this machine was found to have the instructions.
            PairInstructions::Avx2 => unsafe { x86_64::scan(text, &self.halves) },
        }
    }
}

/// Strings that the filter does not tell apart: which halves of bytes they have, one bit each.
#[derive(Clone, Copy, PartialEq, Eq)]
struct PairGroup {
    halves: [u16; 4],
}

impl PairGroup {
    fn of(text: &[u8]) -> Self {
        let halves = |byte: u8| [1 << (byte & 15), 1 << (byte >> 4)];
        let [low, high] = halves(text[0]);
        let [second_low, second_high] = text.get(1).map_or([u16::MAX; 2], |&byte| halves(byte));
        Self { halves: [low, high, second_low, second_high] }
    }

    fn with(self, other: Self) -> Self {
        let mut halves = self.halves;
        halves.iter_mut().zip(other.halves).for_each(|(one, another)| *one |= another);
        Self { halves }
    }

    /// The number of pairs of bytes that it lets pass.
    fn pairs(self) -> u32 {
        self.halves.iter().map(|halves| halves.count_ones()).product()
    }
}

/// At most eight groups, which let few pairs of bytes pass: of neighbours in order, those are joined that add the fewest.
fn groups<'t>(texts: impl Iterator<Item = &'t [u8]>) -> Vec<PairGroup> {
    let mut groups: Vec<_> = texts.map(|text| (text[0], text.get(1).copied(), PairGroup::of(text))).collect();
    groups.dedup_by_key(|&mut (first, second, _)| (first, second));
    let mut groups: Vec<_> = groups.into_iter().map(|(first, _, group)| (first, group)).collect();
    if groups.len() > MOST_JOINED {
        groups.dedup_by(|next, before| {
            let is_same = next.0 == before.0;
            if is_same {
                before.1 = before.1.with(next.1);
            }
            is_same
        });
    }
    let mut groups: Vec<_> = groups.into_iter().map(|(_, group)| group).collect();
    while groups.len() > 8 {
        let added = |place: &usize| {
            let (one, another) = (groups[*place], groups[place + 1]);
            i64::from(one.with(another).pairs()) - i64::from(one.pairs()) - i64::from(another.pairs())
        };
        let place = (0..groups.len() - 1).min_by_key(added).unwrap_or(0);
        let next = groups.remove(place + 1);
        groups[place] = groups[place].with(next);
    }
    groups
}

/// The most groups that are joined one by one; among more, those with the same first byte are one.
const MOST_JOINED: usize = 256;

#[inline(always)]
fn may_begin([low, high, second_low, second_high]: &Halves, [first, second]: [u8; 2]) -> bool {
    let half = |halves: &[u8; 16], half: u8| halves[usize::from(half & 15)];
    let of_first = half(low, first) & half(high, first >> 4);
    of_first & half(second_low, second) & half(second_high, second >> 4) != 0
}

fn scan_portable(text: &[u8], halves: &Halves) -> (usize, u64) {
    let mut start = 0;
    while let Some(seen) = text.get(start..start + SEEN) {
        let mut places = 0;
        for (place, pair) in seen.windows(2).enumerate() {
            places |= u64::from(may_begin(halves, [pair[0], pair[1]])) << place;
        }
        if places != 0 {
            return (start, places);
        }
        start += 64;
    }
    (start, 0)
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::*;

    use super::{Halves, SEEN};

    /// # Safety
    /// The machine must have AVX2.
    #[target_feature(enable = "avx2")]
    pub unsafe fn scan(text: &[u8], halves: &Halves) -> (usize, u64) {
        let mut start = 0;
        // SAFETY: each table has 16 bytes; each load is of bytes within the text, as the comparison tells.
        unsafe {
            let low = _mm256_broadcastsi128_si256(_mm_loadu_si128(halves[0].as_ptr().cast()));
            let high = _mm256_broadcastsi128_si256(_mm_loadu_si128(halves[1].as_ptr().cast()));
            let second_low = _mm256_broadcastsi128_si256(_mm_loadu_si128(halves[2].as_ptr().cast()));
            let second_high = _mm256_broadcastsi128_si256(_mm_loadu_si128(halves[3].as_ptr().cast()));
            let tables = [low, high, second_low, second_high];
            while start + SEEN <= text.len() {
                let bytes = text.as_ptr().add(start);
                let (left, right) = (groups(bytes, &tables), groups(bytes.add(32), &tables));
                let any = _mm256_or_si256(left, right);
                if _mm256_testz_si256(any, any) == 0 {
                    let none = _mm256_setzero_si256();
                    let left = !_mm256_movemask_epi8(_mm256_cmpeq_epi8(left, none)) as u32;
                    let right = !_mm256_movemask_epi8(_mm256_cmpeq_epi8(right, none)) as u32;
                    return (start, u64::from(left) | u64::from(right) << 32);
                }
                start += 64;
            }
        }
        (start, 0)
    }

    /// The groups of 32 pairs of bytes.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn groups(bytes: *const u8, [low, high, second_low, second_high]: &[__m256i; 4]) -> __m256i {
        // SAFETY: the caller vouches for 33 bytes.
        let (first, second) =
            unsafe { (_mm256_loadu_si256(bytes.cast()), _mm256_loadu_si256(bytes.add(1).cast())) };
        let half = _mm256_set1_epi8(15);
        let upper = |bytes| _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), half);
        let lower = |bytes| _mm256_and_si256(bytes, half);
        _mm256_and_si256(
            _mm256_and_si256(
                _mm256_shuffle_epi8(*low, lower(first)),
                _mm256_shuffle_epi8(*high, upper(first)),
            ),
            _mm256_and_si256(
                _mm256_shuffle_epi8(*second_low, lower(second)),
                _mm256_shuffle_epi8(*second_high, upper(second)),
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_instructions_find_the_same_places() {
        let sets: [&[&[u8]]; 3] = [
            &[b"  ", b"<|"],
            &[b"\n", b"\n\n", b"<a", b"[x", b"\xE2\x96", b"\xE4\xBD", b"ab", b"ba", b"q", b"zz"],
            &[b"a"],
        ];
        let mut state = 1_u32;
        let text: Vec<u8> = (0..3000)
            .map(|place| {
                state = state.wrapping_mul(1664525).wrapping_add(1013904223);
                let rare = if place % 300 < 200 { b"-" } else { b" " };
                if state >> 30 == 0 { b"<| \nabq\xE2\x96z"[(state >> 20) as usize % 10] } else { rare[0] }
            })
            .collect();
        for strings in sets {
            for instructions in PairInstructions::all() {
                let filter = PairFilter { instructions, ..PairFilter::new(strings.iter().copied()) };
                for (start, end) in [(0, 3000), (1, 64), (1, 65), (1, 66), (5, 134), (1000, 2999)] {
                    let text = &text[..end];
                    let mut block = PairBlock { end: start, places: 0 };
                    let mut found = Vec::new();
                    while block.end() < end {
                        block = filter.next(text, block.end());
                        found.extend(std::iter::from_fn(|| block.next()));
                    }
                    let expected = (start..end).filter(|&place| filter.may_begin(&text[place..]));
                    assert_eq!(found, expected.collect::<Vec<_>>(), "{instructions:?}, {start}..{end}");
                    for string in strings {
                        let here = (start..end).filter(|&place| text[place..].starts_with(string));
                        assert!(here.into_iter().all(|place| found.contains(&place)));
                    }
                }
            }
        }
    }

    #[test]
    fn few_pairs_are_told_apart_and_many_still_pass() {
        let filter = PairFilter::new([&b"  "[..], b"<|"].into_iter());
        assert!(filter.may_begin(b"<|a") && !filter.may_begin(b"< ") && !filter.may_begin(b" |"));
        let all: Vec<[u8; 2]> = (0..=u16::MAX).step_by(3).map(u16::to_be_bytes).collect();
        let filter = PairFilter::new(all.iter().map(|pair| &pair[..]));
        assert!(all.iter().all(|pair| filter.may_begin(pair)));
        assert!(!PairFilter::new(std::iter::empty()).may_begin(b"a"));
    }
}
