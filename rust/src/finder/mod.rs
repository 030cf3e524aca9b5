//! Finds the places of a text where one of many byte strings begins: the leftmost, and there the
//! longest.
//!
//! Nearly all places are passed 64 at a time, by comparing their bytes with the first two bytes of
//! all strings. Only where these are the same are the strings looked through.
//!
//! ```text
//! strings: <|end|>  <|user|>      first bytes: <|
//! text:    if a <b then <|end|>   places: 14
//! ```
//!
//! A text in which strings often begin but are not completed would be read many times: `" a"` 100
//! times and `"!"`, in a text of `" a"`. So once much of it was read in vain, the rest is read
//! backwards by a [tree](SuffixTree) of all strings, which reads each byte about twice, however
//! long the strings are.

use std::iter::zip;
use std::ops::Range;

use memchr::memchr;
use once_cell::race::OnceBox;

use crate::vectors::{Instructions, Job, Vectors};

mod suffix_tree;

use suffix_tree::SuffixTree;

/// The bytes that a search may read in vain, and how many more at each place. After that, the tree
/// reads the rest.
const MOST_IN_VAIN: usize = 1 << 12;
const MOST_IN_VAIN_PER_PLACE: usize = 16;

/// The minimum number of places that the tree reads at a time.
const READ_BACKWARDS: usize = 1 << 10;

/// A string and its number: how many were listed before it.
type Numbered = (Box<[u8]>, usize);

/// Byte strings that are all searched at once.
pub struct Finder {
    /// In the order of their bytes.
    strings: Vec<Numbered>,
    /// First two bytes, and which of the strings begin with them: one lookup shows that a text
    /// begins with none.
    groups: Vec<(u16, Range<usize>)>,
    begins: Begins,
    instructions: Instructions,
    shortest: usize,
    /// The length of the longest string; 0 where there is none.
    pub longest: usize,
    /// Built when a search needs it first.
    tree: OnceBox<SuffixTree>,
}

impl Finder {
    /// Builds the finder of distinct strings, none of them empty.
    pub fn new<'t>(texts: impl Iterator<Item = &'t [u8]>) -> Self {
        let mut strings: Vec<Numbered> = texts.map(Box::from).zip(0..).collect();
        strings.sort_unstable();

        let mut groups = Vec::new();
        let mut end = 0;
        for group in strings.chunk_by(|(string, _), (next, _)| first_two(string) == first_two(next))
        {
            let start = end;
            end += group.len();
            groups.push((first_two(&group[0].0), start..end));
        }

        let lengths = strings.iter().map(|(string, _)| string.len());
        Self {
            shortest: lengths.clone().min().unwrap_or(0),
            longest: lengths.max().unwrap_or(0),
            begins: Begins::of(strings.iter().map(|(string, _)| &**string)),
            instructions: Instructions::this(),
            tree: OnceBox::new(),
            groups,
            strings,
        }
    }

    /// Returns the range and the number of the first string that begins within `starts` and may lie
    /// where it does. `starts` must begin where the range of the previous call began, or later.
    pub fn find(
        &self,
        text: &[u8],
        starts: Range<usize>,
        search: &mut Search,
        may_lie: impl Fn(Range<usize>, usize) -> bool,
    ) -> Option<(Range<usize>, usize)> {
        let mut from = starts.start;
        while let Some(start) = self.next_start(text, from..starts.end, search) {
            let is_allowed = |length, number| may_lie(start..start + length, number);
            if let Some((length, number)) = self.longest_at(text, start, search, is_allowed) {
                search.allow(length);
                return Some((start..start + length, number));
            }
            search.allow(1);
            from = start + 1;
        }
        None
    }

    /// Whether nowhere in a text are two bytes the first two of a string. A quick question, which
    /// most short texts answer with yes.
    #[inline]
    pub fn begins_nowhere(&self, text: &[u8]) -> bool {
        let begins = &self.begins;
        begins.0.is_empty() || self.instructions.run(NextStarts { begins, text, from: 0 }).bits == 0
    }

    /// Returns the first place within a range where the first two bytes are the same as a string's.
    fn next_start(&self, text: &[u8], range: Range<usize>, search: &mut Search) -> Option<usize> {
        let starts = &mut search.starts;
        starts.forget_before(range.start);
        loop {
            if let Some(start) = starts.first() {
                return (start < range.end).then_some(start);
            }
            let from = starts.end.max(range.start);
            if from >= range.end {
                return None;
            }
            *starts = self.instructions.run(NextStarts { begins: &self.begins, text, from });
        }
    }

    /// Returns the end of the longest string that begins at a place.
    pub fn end_at(&self, text: &[u8], start: usize) -> Option<usize> {
        let (length, _) = self.longest_at(text, start, &mut Search::default(), |_, _| true)?;
        Some(start + length)
    }

    /// Whether any string lies across a place or touches it. Callers ask for places in ascending
    /// order.
    pub fn any_touches(&self, text: &[u8], place: usize, touched: &mut Touched) -> bool {
        touched.from = touched.from.max(place.saturating_sub(self.longest));
        while let Some(start) = self.next_start(text, touched.from..place + 1, &mut touched.search)
        {
            if let Some((length, _)) =
                self.longest_at(text, start, &mut touched.search, |_, _| true)
            {
                touched.to = touched.to.max(Some(start + length));
            }
            touched.search.allow(1);
            touched.from = start + 1;
        }
        touched.from = touched.from.max(place + 1);
        touched.to >= Some(place)
    }

    /// Returns the start of the longest end of a text that may become a string if more follows;
    /// without one, the end of the text.
    pub fn incomplete_from(&self, text: &[u8]) -> usize {
        let first = (text.len() + 1).saturating_sub(self.longest);
        for start in first..text.len() {
            let rest = &text[start..];
            // If any longer string begins so, the first string after `rest` does.
            let after = self.strings.partition_point(|(string, _)| **string <= *rest);
            if self.strings.get(after).is_some_and(|(string, _)| string.starts_with(rest)) {
                return start;
            }
        }
        text.len()
    }

    /// Returns the length and number of the longest string that begins at a place, among those that
    /// are allowed.
    #[inline]
    fn longest_at(
        &self,
        text: &[u8],
        start: usize,
        search: &mut Search,
        is_allowed: impl Fn(usize, usize) -> bool,
    ) -> Option<(usize, usize)> {
        if search.in_vain > MOST_IN_VAIN {
            return self.longest_by_tree(text, start, search, is_allowed);
        }
        let rest = &text[start..];
        // One lookup instead of two: spaces are replaced in 0.83 of the time.
        if self.longest == 1 {
            return longest_of(self.group(first_two(&rest[..1])), rest, &is_allowed).0;
        }
        let first = rest.first_chunk::<2>().map_or(0, |two| first_two(two));
        let (longest, looked) = longest_of(self.group(first), rest, &is_allowed);
        search.in_vain += looked;
        #[cfg(test)]
        {
            search.looked += looked;
        }
        if longest.is_some() || self.shortest > 1 {
            return longest;
        }
        // Strings of one byte are in the group of this byte and a zero.
        longest_of(self.group(first_two(rest.get(..1)?)), rest, &is_allowed).0
    }

    /// The same with the tree. It reads this place and the ones behind it backwards, unless it has
    /// read them before.
    #[inline(never)]
    fn longest_by_tree(
        &self,
        text: &[u8],
        start: usize,
        search: &mut Search,
        is_allowed: impl Fn(usize, usize) -> bool,
    ) -> Option<(usize, usize)> {
        let tree = self.tree.get_or_init(|| Box::new(SuffixTree::new(&self.strings)));
        let ahead = &mut search.ahead;
        let is_read = start >= ahead.from && start - ahead.from < ahead.nodes.len();
        if !is_read {
            // From `start` to `end` the nodes are kept; up to `seen`, strings that begin before
            // `end` may go on.
            let end = text.len().min(start + self.longest.max(READ_BACKWARDS));
            let seen = text.len().min(end + self.longest);
            ahead.from = start;
            #[cfg(test)]
            {
                search.looked += seen - start;
            }
            tree.read_backwards(&text[start..seen], end - start, &mut ahead.nodes);
        }
        tree.strings_at(ahead.nodes[start - ahead.from])
            .find(|&(length, number)| is_allowed(length, number))
    }

    /// Returns the strings that begin with these two bytes.
    fn group(&self, first: u16) -> &[Numbered] {
        match self.groups.binary_search_by_key(&first, |&(first, _)| first) {
            Ok(index) => &self.strings[self.groups[index].1.clone()],
            Err(_) => &[],
        }
    }
}

/// Returns the first two bytes; a missing second one is zero.
fn first_two(string: &[u8]) -> u16 {
    u16::from_be_bytes([string[0], string.get(1).copied().unwrap_or(0)])
}

/// Returns the length and number of the longest of some strings that a text begins with, and how
/// many bytes of the text were looked at.
///
/// `strings` shrinks to those that agree with the text so far. They are in order, so if the first
/// and the last of them have the next byte of the text, all have it.
fn longest_of(
    mut strings: &[Numbered],
    text: &[u8],
    is_allowed: impl Fn(usize, usize) -> bool,
) -> (Option<(usize, usize)>, usize) {
    let mut longest = None;
    let mut looked = 0;
    for (place, &byte) in text.iter().enumerate() {
        let [(first, _), .., (last, _)] = strings else { break };
        looked = place + 1;
        if first[place] != byte || last[place] != byte {
            let start = strings.partition_point(|(string, _)| string[place] < byte);
            strings = &strings[start..];
            let end = strings.partition_point(|(string, _)| string[place] == byte);
            strings = &strings[..end];
        }
        // A string that ends here comes before all that are longer.
        if let Some(((string, number), longer)) = strings.split_first()
            && string.len() == place + 1
        {
            strings = longer;
            if is_allowed(place + 1, *number) {
                longest = Some((place + 1, *number));
            }
        }
    }
    // If a single string remains, all of it is compared at once.
    if let [(string, number)] = strings {
        // Most differ in the third byte: a call of a comparing function would take longer.
        let alike = zip(&**string, text).take_while(|(byte, of_text)| byte == of_text).count();
        looked = looked.max(alike);
        if alike == string.len() && is_allowed(alike, *number) {
            longest = Some((alike, *number));
        }
    }
    (longest, looked)
}

/// The state of a search through one text.
#[derive(Default)]
pub struct Search {
    starts: Starts,
    /// The number of bytes that were looked at in vain, less those that were allowed.
    in_vain: usize,
    ahead: Ahead,
    /// The number of bytes that were looked at, for tests.
    #[cfg(test)]
    looked: usize,
}

impl Search {
    /// Allows some more bytes to be read in vain, after the search has passed a place. Once the
    /// tree is in use, it stays.
    #[inline]
    fn allow(&mut self, passed: usize) {
        if self.in_vain <= MOST_IN_VAIN {
            self.in_vain = self.in_vain.saturating_sub(passed + MOST_IN_VAIN_PER_PLACE);
        }
    }
}

/// The nodes of successive places that the tree has read, the first of which is `from`.
#[derive(Default)]
struct Ahead {
    from: usize,
    nodes: Vec<u32>,
}

/// Which places of a text strings touch, as far as it is known.
#[derive(Default)]
pub struct Touched {
    search: Search,
    /// All strings that begin before this place were found.
    from: usize,
    /// The last of their ends.
    to: Option<usize>,
}

/// The 64 places of a text before `end`, with a bit for each where a string may begin.
#[derive(Clone, Copy, Debug, Default)]
struct Starts {
    end: usize,
    bits: u64,
}

impl Starts {
    /// Returns the first place where a string may begin.
    #[inline]
    fn first(self) -> Option<usize> {
        let place = self.bits.trailing_zeros() as usize;
        (place < 64).then(|| self.end - 64 + place)
    }

    /// Drops the places before this one.
    fn forget_before(&mut self, place: usize) {
        let passed = (place + 64).saturating_sub(self.end) as u32;
        self.bits &= u64::MAX.unbounded_shl(passed);
    }
}

/// The number of bytes that are looked at for 64 places.
const SEEN: usize = 65;

/// The maximum number of second bytes that a text is compared with for one first byte.
const MOST_SECONDS: usize = 8;

/// The first bytes of strings, each with its second bytes: an empty list means that any byte may
/// follow.
struct Begins(Vec<(u8, Vec<u8>)>);

impl Begins {
    /// Returns the first bytes of ordered strings.
    fn of<'t>(strings: impl Iterator<Item = &'t [u8]>) -> Self {
        let mut pairs: Vec<_> = strings.map(|string| (string[0], string.get(1).copied())).collect();
        pairs.dedup();
        let mut begins = Vec::new();
        for group in pairs.chunk_by(|(first, _), (next, _)| first == next) {
            // `None` if one of the strings has no second byte.
            let seconds: Option<Vec<u8>> = group.iter().map(|(_, second)| *second).collect();
            let seconds = match seconds {
                Some(seconds) if seconds.len() <= MOST_SECONDS => seconds,
                _ => Vec::new(),
            };
            begins.push((group[0].0, seconds));
        }
        Self(begins)
    }

    /// Returns the first two bytes of all strings, if they are the same.
    fn only(&self) -> Option<[u8; 2]> {
        let [(first, seconds)] = &self.0[..] else { return None };
        let [second] = seconds[..] else { return None };
        Some([*first, second])
    }

    /// Returns a bit for each of 64 places where a string may begin. `here` has the bytes at these
    /// places, `behind` the bytes behind them.
    #[inline(always)]
    fn places(&self, vectors: impl Vectors, [here, behind]: [&[u8; 64]; 2]) -> u64 {
        let mut places = 0;
        for (first, seconds) in &self.0 {
            let first = vectors.equal(here, *first);
            let mut fits = if seconds.is_empty() { !0 } else { 0 };
            // Most first bytes have one second byte, or do not occur.
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

/// Finds the first 64 places from `from` on among which a string may begin; without any, the last
/// places of the text.
struct NextStarts<'b, 't> {
    begins: &'b Begins,
    text: &'t [u8],
    from: usize,
}

impl Job for NextStarts<'_, '_> {
    type Result = Starts;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> Starts {
        let only = self.begins.only();
        let whole_views = match only {
            // A loop of its own for most sets of strings, such as those that all begin with `<|`:
            // it takes half the time.
            Some([first, second]) => self.first_places(|[here, behind]| {
                vectors.equal(here, first) & vectors.equal(behind, second)
            }),
            None => self.first_places(|seen| self.begins.places(vectors, seen)),
        };
        let from = match whole_views {
            Ok(starts) => return starts,
            Err(from) => from,
        };
        let rest = &self.text[from..];
        // Fewer bytes than a view has remain. Most ends of texts, and most short texts, do not have
        // the first byte: to search for it takes less time than to copy them.
        if only.is_some_and(|[first, _]| memchr(first, rest).is_none()) {
            return Starts { end: from + 64, bits: 0 };
        }
        let mut padded = [0; SEEN];
        padded[..rest.len()].copy_from_slice(rest);
        let bits = self.begins.places(vectors, views(&padded))
            & !u64::MAX.unbounded_shl(rest.len() as u32);
        Starts { end: from + 64, bits }
    }
}

impl NextStarts<'_, '_> {
    /// Returns the first places where a string may begin, among those for which the text has all
    /// `SEEN` bytes; as an error, where the rest of the text begins.
    #[inline(always)]
    fn first_places(&self, places: impl Fn([&[u8; 64]; 2]) -> u64) -> Result<Starts, usize> {
        let mut from = self.from;
        while let Some(seen) = self.text[from..].first_chunk() {
            let bits = places(views(seen));
            from += 64;
            if bits != 0 {
                return Ok(Starts { end: from, bits });
            }
        }
        Err(from)
    }
}

/// Returns the bytes at 64 places, and the bytes one place behind them.
#[inline(always)]
fn views(seen: &[u8; SEEN]) -> [&[u8; 64]; 2] {
    [0, 1].map(|start| seen[start..].first_chunk().unwrap_or(&[0; 64]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of all strings, the longest at each, and no place twice.
    fn found(strings: &[&[u8]], text: &[u8], range: Range<usize>) -> Vec<(Range<usize>, usize)> {
        let (finder, mut places) = (Finder::new(strings.iter().copied()), Search::default());
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
            &[
                b"\n",
                b"\n\n",
                b"<a",
                b"[x",
                b"\xE2\x96",
                b"\xE4\xBD",
                b"ab",
                b"aba",
                b"q",
                b"zz",
                b"ax",
            ],
            &[b"a"],
            &[b"<|", b"<|b", b"<|bq", b"|", b" <|"],
            &[b"-", b"a", b"b", b"<", b" ", b"\n", b"q", b"z", b"zq", b"|", b"\xE2"],
        ];
        let mut state = 1_u32;
        let text: Vec<u8> = (0..3000)
            .map(|place| {
                state = state.wrapping_mul(1664525).wrapping_add(1013904223);
                let rare = if place % 300 < 200 { b"-" } else { b" " };
                if state >> 30 == 0 {
                    b"<| \nabq\xE2\x96z"[(state >> 20) as usize % 10]
                } else {
                    rare[0]
                }
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
                assert_eq!(
                    found(strings, &text, start..end),
                    expected,
                    "{strings:?} {start}..{end}"
                );
            }
        }
        assert!(found(&[], &text, 0..3000).is_empty());
    }

    #[test]
    fn a_string_begins_nowhere_only_where_none_is_found() {
        let strings: [&[u8]; 4] = [b"<|end|>", b"<|user|>", b"!", b"\n\n"];
        let finder = Finder::new(strings.into_iter());
        let none = Finder::new(std::iter::empty());
        for length in 0..200 {
            let plain = vec![b'a'; length];
            assert!(finder.begins_nowhere(&plain) && none.begins_nowhere(&plain));
            for place in 0..length {
                let mut text = plain.clone();
                text[place] = b'!';
                assert!(
                    !finder.begins_nowhere(&text) && none.begins_nowhere(&text),
                    "{length} {place}"
                );
            }
        }
        assert!(finder.begins_nowhere(b"a < b | c > d \n"));
        assert!(!finder.begins_nowhere(b"<|en"), "it may say less than a search");
    }

    #[test]
    fn a_string_that_may_not_lie_gives_way_to_a_shorter_one() {
        let finder = Finder::new([&b"ab"[..], b"abc", b"abcd"].into_iter());
        let find = |most| {
            finder
                .find(b"-abcd", 0..5, &mut Search::default(), |at, _| at.len() <= most)
                .map(|found| found.0)
        };
        assert_eq!([1, 2, 3, 4].map(find), [None, Some(1..3), Some(1..4), Some(1..5)]);
    }

    /// Sets of strings that begin alike, or begin nearly everywhere, and are seldom complete.
    fn adversarial_sets() -> Vec<Vec<Vec<u8>>> {
        let numbered = |number: usize| [b"ab".repeat(60), number.to_string().into_bytes()].concat();
        vec![
            vec![b" a".repeat(100), b" ".to_vec(), [b" a".repeat(100), b"!".to_vec()].concat()],
            (1..300).map(|length| b"a".repeat(length)).collect(),
            (0..1000).map(numbered).collect(),
            (2..40).map(|length| b" ".repeat(length)).collect(),
            vec![[b"a".repeat(3000), b"!".to_vec()].concat(), b"a".to_vec()],
            vec![
                [b"a".repeat(3000), b"!".to_vec()].concat(),
                [b"ab".repeat(900), b"!".to_vec()].concat(),
            ],
        ]
    }

    #[test]
    fn each_byte_is_looked_at_a_few_times_whatever_the_strings_and_the_text() {
        const SIZE: usize = 60_000;
        for strings in adversarial_sets() {
            let finder = Finder::new(strings.iter().map(Vec::as_slice));
            for part in ["a", " a", " ", "ab", "aab", &"a".repeat(299), "ab1 "] {
                let text = part.repeat(SIZE / part.len()).into_bytes();
                let most = 2 * (MOST_IN_VAIN_PER_PLACE + 4) * SIZE;
                let (mut search, mut from) = (Search::default(), 0);
                while let Some((at, _)) =
                    finder.find(&text, from..text.len(), &mut search, |_, _| true)
                {
                    from = at.end;
                }
                assert!(search.looked <= most, "{part:?}: {}", search.looked);
                let mut touched = Touched::default();
                for place in 0..text.len() {
                    finder.any_touches(&text, place, &mut touched);
                }
                assert!(touched.search.looked <= most, "{part:?}: {}", touched.search.looked);
            }
        }
    }

    #[test]
    fn what_the_tree_finds_is_what_is_found_without() {
        let mut state = 7_u32;
        let mut random = |below: usize| {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            (state >> 16) as usize % below
        };
        for _ in 0..300 {
            let mut string =
                |length: usize| (0..1 + random(length)).map(|_| b"ab <"[random(4) % 3]).collect();
            let strings: std::collections::BTreeSet<Vec<u8>> = (0..20).map(|_| string(9)).collect();
            let text: Vec<u8> = string(400);
            let finder = Finder::new(strings.iter().map(Vec::as_slice));
            let by_tree = || Search { in_vain: usize::MAX, ..Search::default() };
            let mut touched = [Search::default(), by_tree()]
                .map(|search| Touched { search, ..Touched::default() });
            let mut searches = [Search::default(), by_tree()];
            for place in 0..text.len() {
                let most = random(12);
                let [plain, tree] = searches.each_mut().map(|search| {
                    finder.longest_at(&text, place, search, |length, _| length <= most)
                });
                assert_eq!(plain, tree);
                let [plain, tree] =
                    touched.each_mut().map(|touched| finder.any_touches(&text, place, touched));
                assert_eq!(plain, tree);
                let lies = |start: usize| {
                    let here = strings.iter().filter(|string| text[start..].starts_with(string));
                    here.map(Vec::len).max().is_some_and(|length| start + length >= place)
                };
                assert_eq!(plain, (0..=place).any(lies));
                searches[0].in_vain = 0;
                touched[0].search.in_vain = 0;
            }
            let begins = |start: &usize| {
                strings.iter().any(|string| {
                    string.len() > text.len() - start && string.starts_with(&text[*start..])
                })
            };
            assert_eq!(
                finder.incomplete_from(&text),
                (0..text.len()).find(begins).unwrap_or(text.len())
            );
        }
    }

    #[test]
    fn all_machines_find_the_same() {
        let begins = Begins::of([&b"  "[..], b"<|", b"<t", b"\n"].into_iter());
        let text = b"a  b <| c\n<t<".repeat(100);
        let all = |instructions: Instructions| {
            let (mut all, mut from) = (Vec::new(), 0);
            while from < text.len() {
                let places = instructions.run(NextStarts { begins: &begins, text: &text, from });
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
