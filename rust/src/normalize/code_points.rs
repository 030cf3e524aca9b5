//! A set of characters, which finds its members in a text and passes over all others as fast as it can.
//!
//! Three looks, from the fastest to the slowest: at many bytes, whether they are ASCII without a member; at each byte,
//! whether a member begins with it; at each character.

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
    /// Whether a character of ASCII is a member.
    has_ascii: bool,
}

impl FromIterator<char> for CodePoints {
    fn from_iter<I: IntoIterator<Item = char>>(members: I) -> Self {
        let mut set = Self { bits: vec![0; BLOCKS], begins: [false; 256], has_ascii: false };
        for member in members {
            set.bits[member as usize / BLOCK] |= 1 << (member as usize % BLOCK);
            set.begins[usize::from(member.encode_utf8(&mut [0; 4]).as_bytes()[0])] = true;
            set.has_ascii |= member.is_ascii();
        }
        set
    }
}

impl CodePoints {
    #[inline(always)]
    pub fn contains(&self, character: char) -> bool {
        let code = character as usize;
        self.bits[code / BLOCK] >> (code % BLOCK) & 1 != 0
    }

    /// The place of the first member in a text, from a character on; the end if there is none.
    pub fn find(&self, text: &str, from: usize) -> usize {
        let mut place = from;
        loop {
            while let Some(chunk) = text.as_bytes()[place..].first_chunk()
                && !self.may_begin_in(chunk)
            {
                place += CHUNK;
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
