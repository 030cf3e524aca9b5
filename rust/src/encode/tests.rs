//! Vocabularies that look random, the definition of merging, and that every way of merging gives
//! what is defined.

use std::collections::BinaryHeap;

use super::merges::{Merge, Merges};
use super::merging::{Merger, Scratch};
use crate::tokens::TokenBytes;
use crate::watch::{Pulse, Unwatched};

/// Numbers that look random and are the same in every run.
pub struct RandomNumbers(pub u64);

impl RandomNumbers {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % bound
    }
}

/// Some letters, and the bytes of characters of three bytes.
const LETTERS: &[u8] = b"abcd";
const BYTES_OF_THREE: &[u8] = b"\xE4\xE5\x80\xBD ";

/// A merge list over the first letters, in which several merges may make the same token.
pub struct RandomVocabulary {
    pub merges: Merges,
    pub tokens: TokenBytes,
    pub rows: Vec<[u32; 3]>,
    pub ranks: Vec<u32>,
}

impl RandomVocabulary {
    pub fn new(numbers: &mut RandomNumbers, letters: usize, count: usize) -> Self {
        Self::of(numbers, &LETTERS[..letters], count, false)
    }

    /// The same over some bytes; half of the merges may be of the bytes of one character.
    fn of(numbers: &mut RandomNumbers, letters: &[u8], count: usize, of_characters: bool) -> Self {
        let mut spelled: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        let mut made: Vec<u32> = letters.iter().map(|&letter| u32::from(letter)).collect();
        let mut rows: Vec<[u32; 3]> = Vec::new();
        while rows.len() < count {
            let (mut left, mut right) =
                (made[numbers.below(made.len())], made[numbers.below(made.len())]);
            if of_characters && numbers.below(2) == 0 {
                let begins = |id: &&u32| {
                    matches!(spelled[**id as usize][..], [0xE4 | 0xE5] | [0xE4 | 0xE5, _])
                };
                let beginnings: Vec<u32> = made.iter().filter(begins).copied().collect();
                left = beginnings[numbers.below(beginnings.len())];
                right = [0x80, 0xBD][numbers.below(2)];
            }
            let token = [&spelled[left as usize][..], &spelled[right as usize]].concat();
            if token.len() > 40 || rows.iter().any(|row| row[..2] == [left, right]) {
                continue;
            }
            let known =
                (numbers.below(2) == 0).then(|| spelled.iter().position(|other| *other == token));
            let id = known.flatten().unwrap_or(spelled.len());
            if id == spelled.len() {
                spelled.push(token);
                made.push(id as u32);
            }
            rows.push([left, right, id as u32]);
        }
        let tokens =
            TokenBytes::new(spelled.iter().enumerate().map(|(id, token)| (id as u32, &token[..])))
                .unwrap();
        // Tokens may be used by merges that come before their own.
        let shuffled = numbers.below(2) == 0;
        for last in (1..rows.len()).rev().filter(|_| shuffled) {
            rows.swap(last, numbers.below(last + 1));
        }
        let base = Box::new(std::array::from_fn(|byte| byte as u32));
        // Of few ranks, or of one for each merge.
        let equal = [1, 1, 2, 5, 60][numbers.below(5)];
        let ranks: Vec<u32> = (0..rows.len() as u32).map(|rank| rank / equal * equal).collect();
        Self { merges: Merges::new(base, &rows, &ranks, &tokens).unwrap(), tokens, rows, ranks }
    }
}

/// The definition: the lowest-ranked, leftmost pair, again and again.
pub fn defined(merges: &Merges, bytes: &[u8]) -> Vec<u32> {
    let mut ids: Vec<u32> = bytes.iter().map(|&byte| merges.base(byte)).collect();
    loop {
        let merge = |i: usize| merges.pairs.get(ids[i - 1], ids[i]);
        let possible = (1..ids.len()).filter(|&i| merge(i) != Merge::NONE);
        let Some(i) = possible.min_by_key(|&i| (merge(i).rank(), i)) else { return ids };
        let id = merge(i).id();
        ids.splice(i - 1..=i, [id]);
    }
}

fn text(numbers: &mut RandomNumbers, letters: &[u8], length: usize) -> Vec<u8> {
    let repeat = 1 + numbers.below(12);
    let mut bytes: Vec<u8> = (0..length).map(|_| letters[numbers.below(letters.len())]).collect();
    if numbers.below(2) == 0 {
        for i in repeat..length {
            bytes[i] = bytes[i - repeat];
        }
    }
    bytes
}

#[test]
fn every_way_of_merging_gives_what_is_defined() {
    let mut numbers = RandomNumbers(7);
    for round in 0..300 {
        let letters = 1 + numbers.below(4);
        let count = numbers.below(if letters == 1 { 8 } else { 60 });
        let RandomVocabulary { merges, tokens, .. } =
            RandomVocabulary::new(&mut numbers, letters, count);
        for _ in 0..20 {
            let length = numbers.below(if round % 3 == 0 { 400 } else { 100 });
            let bytes = text(&mut numbers, &LETTERS[..letters], length);
            let expected = defined(&merges, &bytes);
            let mut scratch = Scratch::new().unwrap();
            let mut unwatched = Unwatched;
            let (scratch, pulse) = (&mut scratch, &mut Pulse::of(&mut unwatched));
            let mut merger = Merger { merges: &merges, tokens: &tokens, scratch, pulse };
            let mut ids = vec![1];
            merger.merge(&bytes, &mut ids).unwrap();
            assert_eq!(ids[1..], expected);
            ids.clear();
            ids.extend(bytes.iter().map(|&byte| merges.base(byte)));
            merger.merge_with_heap(&mut ids, BinaryHeap::pop).unwrap();
            assert_eq!(ids, expected);
        }
    }
}

#[test]
fn characters_that_are_merged_at_once_change_no_result() {
    let mut numbers = RandomNumbers(11);
    let mut characters = 0;
    for _ in 0..2000 {
        let count = 4 + numbers.below(30);
        let RandomVocabulary { merges, tokens, .. } =
            RandomVocabulary::of(&mut numbers, BYTES_OF_THREE, count, true);
        characters += merges.characters_known();
        let (mut scratch, mut unwatched) = (Scratch::new().unwrap(), Unwatched);
        let (scratch, pulse) = (&mut scratch, &mut Pulse::of(&mut unwatched));
        let mut merger = Merger { merges: &merges, tokens: &tokens, scratch, pulse };
        for round in 0..20 {
            let length = numbers.below(20);
            let mut bytes = text(&mut numbers, BYTES_OF_THREE, length);
            if round % 2 == 0 {
                // Bytes of whole characters, of which some stand behind a space.
                let whole = ["\u{4000}", "\u{4F7D}", "\u{403D}", "\u{5F40}", " "];
                bytes =
                    (0..length).flat_map(|_| whole[numbers.below(whole.len())].bytes()).collect();
            }
            let mut ids = Vec::new();
            merger.merge(&bytes, &mut ids).unwrap();
            assert_eq!(ids, defined(&merges, &bytes), "{bytes:?}");
        }
    }
    assert!(characters > 500, "{characters}");
}
