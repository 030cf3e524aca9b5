//! Finds the places of a text where one of many byte strings begins: the leftmost, and there the longest.
//!
//! Nearly all places are passed 64 at a time, by comparing their bytes with the first two bytes of all strings. Only where
//! these are the same are the strings looked through.
//!
//! ```text
//! strings: <|end|>  <|user|>      first bytes: <|
//! text:    if a <b then <|end|>   places: 14
//! ```

use std::iter::zip;
use std::ops::Range;

use crate::vectors::{Instructions, Job, Vectors};

/// Byte strings that are looked for all at once.
pub struct Finder {
    /// In order, with their numbers.
    strings: Vec<(Box<[u8]>, usize)>,
    /// First two bytes, and which of the strings begin with them: one look tells that a text begins with none.
    groups: Vec<(u16, Range<usize>)>,
    begins: Begins,
    instructions: Instructions,
    shortest: usize,
    /// The length of the longest string; 0 where there is none.
    pub longest: usize,
}

impl Finder {
    /// From distinct strings, none of them empty.
    pub fn new<'t>(texts: impl Iterator<Item = &'t [u8]>) -> Self {
        let mut strings: Vec<(Box<[u8]>, usize)> = texts.map(Box::from).zip(0..).collect();
        strings.sort_unstable();
        let lengths = || strings.iter().map(|(string, _)| string.len());
        let (shortest, longest) = (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0));
        let begins = Begins::of(strings.iter().map(|(string, _)| &**string));
        let mut end = 0;
        let group = |of: &[(Box<[u8]>, usize)]| {
            end += of.len();
            (first_two(&of[0].0), end - of.len()..end)
        };
        let groups =
            strings.chunk_by(|one, next| first_two(&one.0) == first_two(&next.0)).map(group).collect();
        Self { strings, groups, begins, instructions: Instructions::this(), shortest, longest }
    }

    /// The first string that begins within a range and may lie where it does: where it is, and its number. The range begins
    /// where the one of the call before did, or later.
    pub fn find(
        &self,
        text: &[u8],
        starts: Range<usize>,
        places: &mut Starts,
        may_lie: impl Fn(Range<usize>, usize) -> bool,
    ) -> Option<(Range<usize>, usize)> {
        places.forget_before(starts.start);
        loop {
            while let Some(start) = places.next() {
                if start >= starts.end {
                    return None;
                }
                let is_allowed = |length, number| may_lie(start..start + length, number);
                if let Some((length, number)) = self.longest_at(&text[start..], is_allowed) {
                    return Some((start..start + length, number));
                }
            }
            let from = places.end.max(starts.start);
            if from >= starts.end {
                return None;
            }
            *places = self.instructions.run(Search { begins: &self.begins, text, from });
        }
    }

    /// Where the longest string that begins at a place ends.
    pub fn end_at(&self, text: &[u8], start: usize) -> Option<usize> {
        self.longest_at(&text[start..], |_, _| true).map(|(length, _)| start + length)
    }

    /// Whether any string lies across a place or touches it; in an open text, whether one might if more follows.
    pub fn any_touches(&self, text: &[u8], place: usize, is_open: bool) -> bool {
        let touches = |start: usize| {
            self.end_at(text, start).is_some_and(|end| end >= place)
                || is_open && self.may_complete(&text[start..])
        };
        (place.saturating_sub(self.longest)..=place).any(touches)
    }

    /// Whether a string begins with a text and is longer.
    fn may_complete(&self, text: &[u8]) -> bool {
        let after = self.strings.partition_point(|(string, _)| **string <= *text);
        text.len() < self.longest
            && self.strings.get(after).is_some_and(|(string, _)| string.starts_with(text))
    }

    /// The length and number of the longest string that a text begins with, of those that are allowed.
    #[inline]
    fn longest_at(&self, text: &[u8], is_allowed: impl Fn(usize, usize) -> bool) -> Option<(usize, usize)> {
        let first = text.first_chunk::<2>().map_or(0, |two| first_two(two));
        let found = longest_of(self.group(first), text, &is_allowed);
        // Those of one byte are in the group of this byte and a zero.
        let single = || longest_of(self.group(first_two(text.get(..1)?)), text, &is_allowed);
        if self.shortest == 1 { found.or_else(single) } else { found }
    }

    fn group(&self, first: u16) -> &[(Box<[u8]>, usize)] {
        let found = self.groups.binary_search_by_key(&first, |&(first, _)| first);
        found.map_or(&[], |place| &self.strings[self.groups[place].1.clone()])
    }
}

/// The first two bytes; a second one that is missing is zero.
fn first_two(string: &[u8]) -> u16 {
    u16::from_be_bytes([string[0], string.get(1).copied().unwrap_or(0)])
}

/// The length and number of the longest of some strings that a text begins with.
fn longest_of(
    mut strings: &[(Box<[u8]>, usize)],
    text: &[u8],
    is_allowed: impl Fn(usize, usize) -> bool,
) -> Option<(usize, usize)> {
    let mut longest = None;
    for (place, &byte) in text.iter().enumerate() {
        let [(first, _), .., (last, _)] = strings else { break };
        if first[place] != byte || last[place] != byte {
            let start = strings.partition_point(|(string, _)| string[place] < byte);
            strings = &strings[start..];
            let end = strings.partition_point(|(string, _)| string[place] == byte);
            strings = &strings[..end];
        }
        if let Some(((string, number), longer)) = strings.split_first()
            && string.len() == place + 1
        {
            strings = longer;
            if is_allowed(place + 1, *number) {
                longest = Some((place + 1, *number));
            }
        }
    }
    // Of a single one that is left, the rest is compared at once.
    if let [(string, number)] = strings
        && begins_with(text, string)
        && is_allowed(string.len(), *number)
    {
        longest = Some((string.len(), *number));
    }
    longest
}

/// Whether a text begins with a string; most differ in the third byte, for which a call would take longer.
#[inline(always)]
fn begins_with(text: &[u8], string: &[u8]) -> bool {
    string.len() <= text.len() && zip(string, text).all(|(one, other)| one == other)
}

/// 64 places of a text, and those of them where a string may begin.
#[derive(Clone, Copy, Debug, Default)]
pub struct Starts {
    end: usize,
    bits: u64,
}

impl Starts {
    /// The next place, which is then done.
    fn next(&mut self) -> Option<usize> {
        let place = self.bits.trailing_zeros() as usize;
        self.bits &= self.bits.wrapping_sub(1);
        (place < 64).then(|| self.end - 64 + place)
    }

    /// Drop the places before this one.
    fn forget_before(&mut self, place: usize) {
        let passed = (place + 64).saturating_sub(self.end) as u32;
        self.bits &= u64::MAX.unbounded_shl(passed);
    }
}

/// The number of bytes that are looked at for 64 places.
const SEEN: usize = 65;

/// The most second bytes that a text is compared with for one first byte.
const MOST_SECONDS: usize = 8;

/// The first bytes of strings, each with the second ones; none if these may be any.
struct Begins(Vec<(u8, Vec<u8>)>);

impl Begins {
    /// Those of strings in order.
    fn of<'t>(strings: impl Iterator<Item = &'t [u8]>) -> Self {
        let mut pairs: Vec<_> = strings.map(|string| (string[0], string.get(1).copied())).collect();
        pairs.dedup();
        let seconds = |of_first: &[(u8, Option<u8>)]| {
            let seconds: Option<Vec<u8>> = of_first.iter().map(|(_, second)| *second).collect();
            (of_first[0].0, seconds.filter(|seconds| seconds.len() <= MOST_SECONDS).unwrap_or_default())
        };
        Self(pairs.chunk_by(|one, next| one.0 == next.0).map(seconds).collect())
    }

    /// The places among 64 where a string may begin.
    #[inline(always)]
    fn places(&self, vectors: impl Vectors, seen: &[u8; SEEN]) -> u64 {
        let [here, behind] = [0, 1].map(|start| seen[start..].first_chunk().unwrap_or(&[0; 64]));
        let mut places = 0;
        for (first, seconds) in &self.0 {
            let first = vectors.equal(here, *first);
            let mut fits = if seconds.is_empty() { !0 } else { 0 };
            // Most have one second byte, or are nowhere.
            if seconds.len() == 1 || first != 0 {
                for &second in seconds {
                    fits |= vectors.equal(behind, second);
                }
            }
            places |= first & fits;
        }
        places
    }
}

/// Looks for the first 64 places from `from` on among which a string may begin; the end of the text without any.
struct Search<'b, 't> {
    begins: &'b Begins,
    text: &'t [u8],
    from: usize,
}

impl Job for Search<'_, '_> {
    type Result = Starts;

    #[inline(always)]
    fn run(mut self, vectors: impl Vectors) -> Starts {
        while let Some(seen) = self.text[self.from..].first_chunk() {
            let bits = self.begins.places(vectors, seen);
            if bits != 0 {
                return Starts { end: self.from + 64, bits };
            }
            self.from += 64;
        }
        let rest = &self.text[self.from..];
        let mut padded = [0; SEEN];
        padded[..rest.len()].copy_from_slice(rest);
        let bits = self.begins.places(vectors, &padded) & !u64::MAX.unbounded_shl(rest.len() as u32);
        Starts { end: self.from + 64, bits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of all strings, the longest at each, and no place twice.
    fn found(strings: &[&[u8]], text: &[u8], range: Range<usize>) -> Vec<(Range<usize>, usize)> {
        let (finder, mut places) = (Finder::new(strings.iter().copied()), Starts::default());
        let mut next = range.start;
        std::iter::from_fn(|| {
            let found = finder.find(text, next..range.end, &mut places, |_, _| true)?;
            next = found.0.start + 1;
            Some(found)
        })
        .collect()
    }

    #[test]
    fn all_places_are_found_whatever_strings_begin_with() {
        let sets: [&[&[u8]]; 5] = [
            &[b"  ", b"<|"],
            &[b"\n", b"\n\n", b"<a", b"[x", b"\xE2\x96", b"\xE4\xBD", b"ab", b"aba", b"q", b"zz", b"ax"],
            &[b"a"],
            &[b"<|", b"<|b", b"<|bq", b"|", b" <|"],
            &[b"-", b"a", b"b", b"<", b" ", b"\n", b"q", b"z", b"zq", b"|", b"\xE2"],
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
            for (start, end) in [(0, 3000), (1, 64), (1, 65), (1, 66), (5, 134), (1000, 2999)] {
                let longest = |place| {
                    let here = strings.iter().enumerate();
                    let here = here.filter(|(_, string)| text[place..].starts_with(string));
                    here.max_by_key(|(_, string)| string.len())
                        .map(|(number, string)| (place..place + string.len(), number))
                };
                let expected: Vec<_> = (start..end).filter_map(longest).collect();
                assert_eq!(found(strings, &text, start..end), expected, "{strings:?} {start}..{end}");
            }
        }
        assert!(found(&[], &text, 0..3000).is_empty());
    }

    #[test]
    fn a_string_that_may_not_lie_gives_way_to_a_shorter_one() {
        let finder = Finder::new([&b"ab"[..], b"abc", b"abcd"].into_iter());
        let find = |most| {
            finder.find(b"-abcd", 0..5, &mut Starts::default(), |at, _| at.len() <= most).map(|found| found.0)
        };
        assert_eq!([1, 2, 3, 4].map(find), [None, Some(1..3), Some(1..4), Some(1..5)]);
    }

    #[test]
    fn all_machines_find_the_same() {
        let begins = Begins::of([&b"  "[..], b"<|", b"<t", b"\n"].into_iter());
        let text = b"a  b <| c\n<t<".repeat(100);
        let all = |instructions: Instructions| {
            let (mut all, mut from) = (Vec::new(), 0);
            while from < text.len() {
                let places = instructions.run(Search { begins: &begins, text: &text, from });
                all.push((places.end, places.bits));
                from = places.end;
            }
            all
        };
        for instructions in Instructions::all() {
            assert_eq!(all(instructions), all(Instructions::all()[0]), "{instructions:?}");
        }
    }
}
