//! Finds where a pretoken may be cut into parts that are merged by themselves.
//!
//! A token that spans two characters was made by a merge that joined a token with the end of the first one, or all of it, to a
//! token with the beginning of the second one. If the vocabulary has no such merge, no step of merging crosses the place between
//! the two. Then the steps on each side are the same, in the same order, as without the other side: each is the one of the lowest
//! rank, the leftmost among equals, and stays so if fewer compete. So the ids are those of the parts, one after the other.
//!
//! Of a character, the first or last three bytes are looked at. A merge that says less about the character counts for all that
//! share the byte at the place. This, and a collision of hashes, may hide a cut, and never makes one.

use crate::error::Result;
use crate::memory;
use crate::memory::cells::{Cells, Content};

/// Bytes of a character that are looked at.
const SEEN: usize = 3;
/// The mean number of bytes of parts is at most this: longer ones are seldom known, and few of them are merged no faster than
/// all at once.
const MEAN: usize = 6;

/// What merges join.
pub struct CharacterCuts {
    /// A bit for the hash of each pair of characters that a merge joins.
    characters: Cells<u64>,
    shift: u32,
    /// A bit for each pair of bytes that a merge joins which tells no more of both characters.
    bytes: Box<[u64; 1024]>,
}

impl CharacterCuts {
    /// For so many merges.
    pub fn new(merges: usize) -> Result<Self> {
        let bits = (2 * merges).next_power_of_two().max(1 << 12);
        Ok(Self {
            characters: Cells::new(bits / 64, Content::LateZeros)?,
            shift: u64::BITS - bits.trailing_zeros(),
            bytes: memory::boxed_array(|| 0)?,
        })
    }

    /// Learn what a merge of two tokens joins.
    pub fn join(&mut self, left: &[u8], right: &[u8]) {
        let (Some(&last), Some(&first)) = (left.last(), right.first()) else { return };
        if is_inside(first) {
            return;
        }
        let inside = left.iter().rev().take(SEEN).take_while(|&&byte| is_inside(byte)).count();
        let before = left.len().checked_sub((inside + 1).min(SEEN));
        let behind = right.get(..length_of_first(first).min(SEEN));
        if let Some((before, behind)) = before.zip(behind) {
            let bit = self.hash(&left[before..], behind);
            self.characters[bit / 64] |= 1 << (bit % 64);
        } else {
            let bit = usize::from(last) << 8 | usize::from(first);
            self.bytes[bit / 64] |= 1 << (bit % 64);
        }
    }

    /// Where a pretoken is cut, which begins at some place of a text: the ends of its parts, or none if they would be too long.
    /// There must be as many ends as the pretoken has bytes.
    pub fn ends<'a>(&self, pretoken: &[u8], start: usize, ends: &'a mut [usize]) -> &'a [usize] {
        let (mut count, mut before, mut end) = (0, &pretoken[..0], 0);
        while let Some(&first) = pretoken.get(end) {
            let Some(next) = pretoken.get(end..end + length_of_first(first)) else { return &[] };
            if end > 0 && !self.may_join(before, next) {
                ends[count] = start + end;
                count += 1;
            }
            (before, end) = (next, end + next.len());
        }
        ends[count] = start + end;
        if (count + 1) * MEAN < pretoken.len() { &[] } else { &ends[..=count] }
    }

    /// Whether some merge may join tokens at the place between two characters.
    #[inline]
    fn may_join(&self, before: &[u8], behind: &[u8]) -> bool {
        let is_set = |bits: &[u64], bit: usize| bits[bit / 64] >> (bit % 64) & 1 != 0;
        let bytes = usize::from(before[before.len() - 1]) << 8 | usize::from(behind[0]);
        let seen = &before[before.len().saturating_sub(SEEN)..];
        is_set(&self.bytes[..], bytes)
            || is_set(&self.characters, self.hash(seen, &behind[..behind.len().min(SEEN)]))
    }

    #[inline]
    fn hash(&self, before: &[u8], behind: &[u8]) -> usize {
        let number = |bytes: &[u8]| bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
        let pair = number(before) << (8 * SEEN) | number(behind);
        ((pair ^ pair >> 23).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }
}

/// The length of a character with this first byte.
fn length_of_first(first: u8) -> usize {
    first.leading_ones().max(1) as usize
}

/// Whether a byte stands inside a character.
fn is_inside(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

#[cfg(test)]
mod tests {
    use super::super::merges::Merges;
    use super::super::tests::{RandomNumbers, defined};
    use super::*;
    use crate::tokens::TokenBytes;

    /// Characters of one to four bytes, which have bytes in common.
    const CHARACTERS: [&str; 7] = ["a", "b", "é", "ê", "中", "丮", "🎉"];

    /// A vocabulary whose merges make characters, parts of some with others, and texts; several may be of the same rank.
    fn vocabulary(numbers: &mut RandomNumbers) -> Merges {
        let mut spelled: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        let mut made: Vec<u32> = CHARACTERS.concat().bytes().map(u32::from).collect();
        let mut rows: Vec<[u32; 3]> = Vec::new();
        for _ in 0..1 + numbers.below(60) {
            let pair @ [left, right] = [0, 0].map(|_: u32| made[numbers.below(made.len())]);
            let token = [&spelled[left as usize][..], &spelled[right as usize]].concat();
            if token.len() <= 9 && !rows.iter().any(|row| row[..2] == pair) {
                rows.push([left, right, spelled.len() as u32]);
                made.push(spelled.len() as u32);
                spelled.push(token);
            }
        }
        let tokens = (0..).zip(spelled.iter().map(|token| &token[..]));
        let equal = [1, 2, 5, 60][numbers.below(4)];
        let ranks: Vec<u32> = (0..rows.len() as u32).map(|rank| rank / equal * equal).collect();
        let base = Box::new(std::array::from_fn(|byte| byte as u32));
        Merges::new(base, &rows, &ranks, &TokenBytes::new(tokens).unwrap()).unwrap()
    }

    /// Every text of up to four characters, and longer ones.
    fn texts(numbers: &mut RandomNumbers) -> Vec<String> {
        let mut texts = vec![String::new()];
        for from in 0..400 {
            texts.extend(CHARACTERS.map(|character| format!("{}{character}", texts[from])));
        }
        texts.extend((0..50).map(|_| (0..30).map(|_| CHARACTERS[numbers.below(7)]).collect::<String>()));
        texts
    }

    #[test]
    fn the_ids_of_the_parts_are_those_of_the_whole() {
        let mut numbers = RandomNumbers(11);
        let (mut cut, mut crossed) = (0, 0);
        for _ in 0..60 {
            let merges = vocabulary(&mut numbers);
            for text in texts(&mut numbers) {
                let mut ends = vec![0; text.len() + 1];
                let ends = merges.cuts.ends(text.as_bytes(), 7, &mut ends);
                let parts =
                    ends.iter().scan(0, |start, end| Some(std::mem::replace(start, end - 7)..end - 7));
                let parts: Vec<_> = parts.map(|part| defined(&merges, &text.as_bytes()[part])).collect();
                let whole = defined(&merges, text.as_bytes());
                assert!(ends.is_empty() || parts.concat() == whole, "{text:?} {ends:?}");
                cut += usize::from(ends.len() > 1);
                crossed += usize::from(ends.len() < text.chars().count());
            }
        }
        assert!(cut > 10_000 && crossed > 10_000, "{cut} {crossed}");
    }

    #[test]
    fn nearly_all_places_that_no_merge_crosses_are_found() {
        let mut cuts = CharacterCuts::new(1000).unwrap();
        let common = |number: u32| char::from_u32(0x4E00 + number).unwrap().to_string();
        for number in 0..1000 {
            cuts.join(common(number).as_bytes(), common(number + 1).as_bytes());
        }
        let all: String = (0..1001).map(common).collect();
        let other: String = (0..1001).map(|number| common(number * 7 % 1001)).collect();
        let parts = |text: &str| cuts.ends(text.as_bytes(), 0, &mut vec![0; text.len()]).len();
        assert_eq!(parts(&all), 0);
        assert!(parts(&other) > 700, "{}", parts(&other));
    }
}
