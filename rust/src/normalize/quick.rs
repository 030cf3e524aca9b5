//! Finds the characters of a text that normalizing may change, and passes over all others as fast as it can.
//!
//! Three looks, from the fastest to the slowest: at many bytes, whether they are ASCII that stays; at each byte, whether a
//! character that begins with it may change; at each character.

/// The number of code points in a block. The last byte of a character in UTF-8 tells its place in a block, the others the
/// block.
const BLOCK: usize = 64;
const BLOCKS: usize = 0x11_0000 / BLOCK;

/// The number of bytes that are looked at together.
const CHUNK: usize = 32;

/// A set of code points: a bit for each, in blocks.
#[derive(Clone)]
pub struct CodePoints(Vec<u64>);

impl Default for CodePoints {
    /// The empty set. (Only the pages of its members take memory.)
    fn default() -> Self {
        Self(vec![0; BLOCKS])
    }
}

impl CodePoints {
    /// The set that is written as ranges in hexadecimal: `41-5a 61`.
    pub fn of_ranges(written: &str) -> Self {
        let mut set = Self::default();
        for range in written.split_ascii_whitespace() {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let end = |digits| u32::from_str_radix(digits, 16).unwrap_or(0);
            (end(first)..=end(last)).filter_map(char::from_u32).for_each(|member| set.add(member));
        }
        set
    }

    pub fn add(&mut self, member: char) {
        let code = member as usize;
        self.0[code / BLOCK] |= 1 << (code % BLOCK);
    }

    pub fn add_all(&mut self, other: &Self) {
        for (block, more) in self.0.iter_mut().zip(&other.0) {
            *block |= more;
        }
    }

    #[inline(always)]
    pub fn contains(&self, character: char) -> bool {
        let code = character as usize;
        self.0[code / BLOCK] >> (code % BLOCK) & 1 != 0
    }
}

/// Finds characters of a set.
pub struct QuickCheck {
    set: CodePoints,
    /// For each byte, whether a member begins with it.
    begins: [bool; 256],
    /// Whether a character of ASCII is a member.
    has_ascii: bool,
}

impl QuickCheck {
    pub fn new(set: CodePoints) -> Self {
        let mut begins = [false; 256];
        for (block, _) in set.0.iter().enumerate().filter(|(_, members)| **members != 0) {
            for code in block * BLOCK..(block + 1) * BLOCK {
                if let Some(member) = char::from_u32(code as u32).filter(|&member| set.contains(member)) {
                    begins[usize::from(member.encode_utf8(&mut [0; 4]).as_bytes()[0])] = true;
                }
            }
        }
        let has_ascii = begins[..128].contains(&true);
        Self { set, begins, has_ascii }
    }

    pub fn contains(&self, character: char) -> bool {
        self.set.contains(character)
    }

    /// The place of the first member in a text, from a character on; the end if there is none.
    pub fn find(&self, text: &str, from: usize) -> usize {
        let bytes = text.as_bytes();
        let mut place = from;
        while let Some(chunk) = bytes[place..].first_chunk::<CHUNK>() {
            if !self.may_begin_in(chunk) {
                place += CHUNK;
                continue;
            }
            // What began before the chunk is no member.
            let begin = place + chunk.iter().take_while(|&&byte| byte & 0xC0 == 0x80).count();
            let (found, end) = self.find_slowly(bytes, begin, place + CHUNK);
            if found {
                return end;
            }
            place = end;
        }
        place += bytes[place..].iter().take_while(|&&byte| byte & 0xC0 == 0x80).count();
        self.find_slowly(bytes, place, bytes.len()).1
    }

    #[inline(always)]
    fn may_begin_in(&self, chunk: &[u8; CHUNK]) -> bool {
        if !self.has_ascii && chunk.is_ascii() {
            return false;
        }
        chunk.iter().fold(false, |any, &byte| any | self.begins[usize::from(byte)])
    }

    /// Look at each character from `place` to `end`: whether there is a member, and its place, or where it stopped.
    #[inline(always)]
    fn find_slowly(&self, bytes: &[u8], mut place: usize, end: usize) -> (bool, usize) {
        while place < end {
            let (block, last, length) = match bytes[place..] {
                [one @ ..0x80, ..] => (usize::from(one >> 6), one, 1),
                [one @ ..0xE0, two, ..] => (usize::from(one & 0x1F), two, 2),
                [one @ ..0xF0, two, three, ..] => {
                    (usize::from(one & 0xF) << 6 | usize::from(two & 0x3F), three, 3)
                }
                [one, two, three, four, ..] => {
                    let high = usize::from(one & 7) << 12 | usize::from(two & 0x3F) << 6;
                    (high | usize::from(three & 0x3F), four, 4)
                }
                _ => break,
            };
            if self.set.0[block] >> (last & 0x3F) & 1 != 0 {
                return (true, place);
            }
            place += length;
        }
        (false, place)
    }
}
