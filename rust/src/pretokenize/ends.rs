//! A text and a start in, the end of the piece that begins there out, for every pattern that is scanned by hand.
//!
//! Every function follows the alternatives of its pattern in their order; a comment names the one at hand.

use crate::unicode::{ClassTable, LETTER, LOWER, NEWLINE, NUMBER, OTHER, SPACE, UPPER};

/// Where the relatives of cl100k differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cl100k {
    /// The longest run of digits that is one piece.
    pub digits: usize,
    /// Whether white space at the end of the text is one piece even where it holds a newline.
    pub whole_ending: bool,
}

/// A text with the class of each of its characters.
pub struct Text<'a> {
    pub bytes: &'a [u8],
    pub classes: &'a ClassTable,
}

/// By the third and fourth bit of a character's first byte: how far to shift its bits, and which are its code point.
const WIDE: [(u32, u32); 4] = [(12, 0x7FF), (12, 0x7FF), (6, 0xFFFF), (0, 0x1F_FFFF)];

impl Text<'_> {
    /// The class of the character at `position`, and where the next one begins; no class at the end.
    #[inline(always)]
    pub fn at(&self, position: usize) -> (u8, usize) {
        match self.bytes.get(position) {
            None => (0, position),
            Some(&byte) if byte < 0x80 => (self.classes[usize::from(byte)], position + 1),
            Some(&byte) => self.non_ascii_at(byte, position),
        }
    }

    #[inline(always)]
    fn non_ascii_at(&self, lead: u8, position: usize) -> (u8, usize) {
        let tail = |offset| usize::from(self.bytes.get(position + offset).copied().unwrap_or(0) & 0x3F);
        let lead = usize::from(lead);
        let (code_point, length) = match lead {
            ..0xE0 => ((lead & 0x1F) << 6 | tail(1), 2),
            0xE0..0xF0 => ((lead & 0x0F) << 12 | tail(1) << 6 | tail(2), 3),
            _ => ((lead & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4),
        };
        (self.classes.get(code_point).copied().unwrap_or(OTHER), position + length)
    }

    /// The class of the character of several bytes that begins at `position`, found without a branch on how many.
    #[inline(always)]
    pub fn wide_class(&self, position: usize) -> u8 {
        let Some(bytes) = self.bytes.get(position..).and_then(<[u8]>::first_chunk) else {
            return self.at(position).0;
        };
        let word = u32::from_be_bytes(*bytes);
        // Six bits of each of four bytes, of which the shift takes away those of the characters behind.
        let bits = word & 0x3F | word >> 2 & 0xFC0 | word >> 4 & 0x3F000 | word >> 6 & 0xFC_0000;
        let (shift, mask) = WIDE[(word >> 28 & 3) as usize];
        self.classes.get((bits >> shift & mask) as usize).copied().unwrap_or(OTHER)
    }

    /// The class of the character that ends at `position`; no class at the start.
    pub fn class_before(&self, position: usize) -> u8 {
        let longest = position.saturating_sub(4);
        let start = self.bytes[longest..position].iter().rposition(|byte| byte & 0xC0 != 0x80);
        start.map_or(0, |start| self.at(longest + start).0)
    }

    /// The end of the run of characters with any of these classes.
    #[inline(always)]
    pub fn run(&self, mut position: usize, classes: u8) -> usize {
        loop {
            let (class, next) = self.at(position);
            if class & classes == 0 {
                return position;
            }
            position = next;
        }
    }

    /// The end of a run that is at most `limit` characters long.
    fn short_run(&self, mut position: usize, classes: u8, limit: usize) -> usize {
        for _ in 0..limit {
            let (class, next) = self.at(position);
            if class & classes == 0 {
                break;
            }
            position = next;
        }
        position
    }

    /// The end of `'(?:[sdmt]|ll|ve|re)`, in which `fold` lets capitals and the long s in.
    pub fn contraction(&self, start: usize, fold: bool) -> Option<usize> {
        let rest = self.bytes.get(start..)?;
        let letter = |offset: usize| {
            rest.get(offset).map_or(0, |byte| if fold { byte.to_ascii_lowercase() } else { *byte })
        };
        if letter(0) != b'\'' {
            return None;
        }
        match (letter(1), letter(2)) {
            (b's' | b'd' | b'm' | b't', _) => Some(start + 2),
            (b'l', b'l') | (b'v' | b'r', b'e') => Some(start + 3),
            _ if fold && rest[1..].starts_with("ſ".as_bytes()) => Some(start + 3),
            _ => None,
        }
    }

    /// The end of the white space at `start` by `\s+(?!\S)|\s+`: the last character is left to what follows.
    fn space_end(&self, start: usize) -> usize {
        let (mut last, mut end) = (start, start);
        loop {
            let (class, next) = self.at(end);
            if class & SPACE == 0 {
                return if class == 0 || last == start { end } else { last };
            }
            (last, end) = (end, next);
        }
    }

    /// The end of the white space at `start` by `\s*[\r\n]`: the last newline of the run.
    fn newline_end(&self, start: usize) -> Option<usize> {
        let run = &self.bytes[start..self.run(start, SPACE)];
        run.iter().rposition(|byte| matches!(byte, b'\r' | b'\n')).map(|newline| start + newline + 1)
    }

    /// The start of what follows an optional space, ` ?`.
    #[inline(always)]
    fn past_space(&self, start: usize) -> usize {
        start + usize::from(self.bytes.get(start) == Some(&b' '))
    }

    pub fn gpt2_end(&self, start: usize) -> usize {
        // '(?:[sdmt]|ll|ve|re)
        if let Some(end) = self.contraction(start, false) {
            return end;
        }
        // ` ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+`
        let (class, next) = self.at(self.past_space(start));
        let class = class & (LETTER | NUMBER | OTHER);
        if class != 0 {
            return self.run(next, class);
        }
        // `\s+(?!\S)|\s+`
        self.space_end(start)
    }

    pub fn cl100k_end(&self, start: usize, variant: Cl100k) -> usize {
        // `'(?i:[sdmt]|ll|ve|re)`
        if let Some(end) = self.contraction(start, true) {
            return end;
        }
        // `[^\r\n\p{L}\p{N}]?+\p{L}++`
        let (class, next) = self.at(start);
        let letters = if class & (LETTER | NUMBER | NEWLINE) == 0 { next } else { start };
        let end = self.run(letters, LETTER);
        if end > letters {
            return end;
        }
        // `\p{N}{1,3}+`
        if class & NUMBER != 0 {
            return self.short_run(start, NUMBER, variant.digits);
        }
        // ` ?[^\s\p{L}\p{N}]++[\r\n]*+`
        let others = self.past_space(start);
        let end = self.run(others, OTHER);
        if end > others {
            return self.run(end, NEWLINE);
        }
        // `\s++$` (in the spellings that have it), `\s*[\r\n]`, `\s+(?!\S)`, `\s`
        if variant.whole_ending && self.run(start, SPACE) == self.bytes.len() {
            return self.bytes.len();
        }
        self.newline_end(start).unwrap_or_else(|| self.space_end(start))
    }

    pub fn o200k_end(&self, start: usize) -> usize {
        // `[^\r\n\p{L}\p{N}]?` before a word, which is tried with it first.
        let (class, next) = self.at(start);
        let past_prefix = if class & (LETTER | NUMBER | NEWLINE) == 0 { next } else { start };
        let word = (self.word_with_small_end(past_prefix))
            .or_else(|| self.word_with_small_end(start))
            .or_else(|| self.word_of_capitals(past_prefix))
            .or_else(|| self.word_of_capitals(start));
        if let Some(end) = word {
            // `(?i:'s|'t|'re|'ve|'m|'ll|'d)?`
            return self.contraction(end, true).unwrap_or(end);
        }
        // `\p{N}{1,3}`
        if class & NUMBER != 0 {
            return self.short_run(start, NUMBER, 3);
        }
        // ` ?[^\s\p{L}\p{N}]+[\r\n/]*`
        let others = self.past_space(start);
        let end = self.run(others, OTHER);
        if end > others {
            let ending = self.bytes[end..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n' | b'/'));
            return end + ending.count();
        }
        // `\s*[\r\n]+|\s+(?!\S)|\s+`
        self.newline_end(start).unwrap_or_else(|| self.space_end(start))
    }

    /// The end of `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`.
    fn word_with_small_end(&self, start: usize) -> Option<usize> {
        let mut position = start;
        // Where the second half would begin and end if the first gave back characters that are in both halves.
        let mut given_back = None;
        loop {
            let (class, next) = self.at(position);
            if class & UPPER == 0 {
                break;
            }
            if class & LOWER != 0 {
                given_back = Some(next);
            }
            position = next;
        }
        let end = self.run(position, LOWER);
        if end > position { Some(end) } else { given_back }
    }

    /// The end of `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`.
    fn word_of_capitals(&self, start: usize) -> Option<usize> {
        let end = self.run(start, UPPER);
        (end > start).then(|| self.run(end, LOWER))
    }

    pub fn whitespace_end(&self, start: usize) -> usize {
        let (class, next) = self.at(start);
        let wanted = if class & SPACE != 0 { SPACE } else { LETTER | NUMBER | OTHER };
        self.run(next, wanted)
    }
}
