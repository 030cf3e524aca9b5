//! A set of characters, which finds its members in a text and passes over all others as fast as it
//! can.
//!
//! There are three checks, from the fastest to the slowest:
//!
//! 1. of many bytes, whether they are ASCII without a member;
//! 2. of each byte, whether a member begins with it;
//! 3. of each character.
//!
//! If members begin with at most three different bytes, these are searched instead.

use memchr::memchr3_iter;

/// The number of code points in a block of bits.
const BLOCK: usize = 64;
const BLOCKS: usize = 0x11_0000 / BLOCK;

/// The number of bytes that are looked at together.
const CHUNK: usize = 32;

/// A set of characters.
pub struct CodePoints {
    /// A bit for each code point. (Only the pages of members take memory.)
    bits: Vec<u64>,
    /// For each byte, whether a member begins with it.
    begins: [bool; 256],
    /// These bytes, if they are up to three; some of them may be the same.
    few: Option<[u8; 3]>,
    /// Whether a character of ASCII is a member.
    has_ascii: bool,
}

impl FromIterator<char> for CodePoints {
    fn from_iter<I: IntoIterator<Item = char>>(members: I) -> Self {
        let mut set =
            Self { bits: vec![0; BLOCKS], begins: [false; 256], few: None, has_ascii: false };
        for member in members {
            set.bits[member as usize / BLOCK] |= 1 << (member as usize % BLOCK);
            set.begins[usize::from(member.encode_utf8(&mut [0; 4]).as_bytes()[0])] = true;
            set.has_ascii |= member.is_ascii();
        }
        let bytes: Vec<u8> = (0..=u8::MAX).filter(|&byte| set.begins[usize::from(byte)]).collect();
        set.few = match bytes[..] {
            [a] => Some([a; 3]),
            [a, b] => Some([a, b, b]),
            [a, b, c] => Some([a, b, c]),
            _ => None,
        };
        set
    }
}

impl CodePoints {
    #[inline(always)]
    pub fn contains(&self, character: char) -> bool {
        let code = character as usize;
        self.bits[code / BLOCK] >> (code % BLOCK) & 1 != 0
    }

    /// Returns the place of the first member in a text, from a character on; the end if there is
    /// none.
    pub fn find(&self, text: &str, from: usize) -> usize {
        if let Some([a, b, c]) = self.few {
            for offset in memchr3_iter(a, b, c, &text.as_bytes()[from..]) {
                let place = from + offset;
                if text[place..].chars().next().is_some_and(|first| self.contains(first)) {
                    return place;
                }
            }
            return text.len();
        }
        let mut place = from;
        loop {
            while let Some(chunk) = text.as_bytes()[place..].first_chunk()
                && !self.may_begin_in(chunk)
            {
                place += CHUNK;
            }
            let rest = &text.as_bytes()[place..];
            if !self.has_ascii && rest.len() < CHUNK && rest.is_ascii() {
                return text.len();
            }
            // What began before the chunk is no member.
            while !text.is_char_boundary(place) {
                place += 1;
            }
            let end = place + CHUNK;
            for character in text[place..].chars() {
                if self.contains(character) {
                    return place;
                }
                place += character.len_utf8();
                if place >= end {
                    break;
                }
            }
            if place == text.len() {
                return place;
            }
        }
    }

    #[inline(always)]
    fn may_begin_in(&self, chunk: &[u8; CHUNK]) -> bool {
        if !self.has_ascii && chunk.is_ascii() {
            return false;
        }
        chunk.iter().fold(false, |any, &byte| any | self.begins[usize::from(byte)])
    }
}
