//! Lines of JSON in, the texts of one of their fields out.
//!
//! The specification is Python's `json.loads(line)[field]`. This reader takes only lines for which that result is certain.
//! It leaves all others to Python, including the error message: lines that are not UTF-8 or not JSON, that lack the field,
//! whose field is not a string or contains a lone surrogate, and lines with very long numbers or deep nesting, for which
//! Python has limits of its own.

use std::mem;

use memchr::memchr;

use super::GatheredTexts;
use crate::error::Result;
use crate::memory;

/// The maximum depth of nested objects and lists.
const DEPTH: u32 = 64;

/// The maximum number of digits in a row: Python's own limit can be set as low as 640.
const DIGITS: usize = 600;

/// The texts of a field.
pub struct FieldTexts {
    field: Vec<u8>,
    pub texts: GatheredTexts,
    /// The beginning of an incomplete line.
    rest: Vec<u8>,
}

/// The part of a block that was read.
#[derive(Debug, Default, PartialEq)]
pub struct Passed {
    pub bytes: usize,
    pub lines: usize,
    /// The last of these lines, if it is left to Python.
    pub left: Option<Vec<u8>>,
}

impl FieldTexts {
    /// `field` is UTF-8; other bytes match no field.
    pub fn new(field: Vec<u8>) -> Self {
        Self { field, texts: GatheredTexts::default(), rest: Vec::new() }
    }

    /// Take the texts of lines, up to a line that is left to Python. Lines of only white space have no text. The beginning of
    /// an incomplete line is kept for the next block.
    pub fn take_block(&mut self, block: &[u8]) -> Result<Passed> {
        let mut passed = Passed::default();
        if !self.rest.is_empty() {
            passed = self.take_rest(block)?;
        }
        if passed.left.is_none() {
            self.take_lines(block, &mut passed)?;
        }
        Ok(passed)
    }

    /// The number of bytes of the incomplete line.
    pub fn rest_length(&self) -> usize {
        self.rest.len()
    }

    /// Complete the incomplete line with the next block, if it ends there.
    fn take_rest(&mut self, block: &[u8]) -> Result<Passed> {
        let end = memchr(b'\n', block).map(|end| end + 1);
        let bytes = end.unwrap_or(block.len());
        memory::extend(&mut self.rest, &block[..bytes])?;
        let mut passed = Passed::default();
        if end.is_some() {
            let mut line = mem::take(&mut self.rest);
            self.take_lines(&line, &mut passed)?;
            line.clear();
            self.rest = line;
        }
        Ok(Passed { bytes, ..passed })
    }

    /// Take the texts of the lines after those that were read.
    fn take_lines(&mut self, lines: &[u8], passed: &mut Passed) -> Result<()> {
        // A text is never longer than its JSON.
        self.texts.room_for(lines.len() - passed.bytes)?;
        while let Some(length) = memchr(b'\n', &lines[passed.bytes..]) {
            let line = &lines[passed.bytes..][..length];
            passed.bytes += length + 1;
            passed.lines += 1;
            let mut text = Text { room: self.texts.room_for(0)?, length: 0 };
            match Line::new(line).and_then(|line| line.text(&self.field, &mut text)) {
                Some(LineContent::Text) => {
                    let length = text.length;
                    self.texts.end_text(length)?;
                }
                Some(LineContent::Nothing) => {}
                None => {
                    passed.left = Some(memory::gathered(line.iter().copied())?);
                    return Ok(());
                }
            }
        }
        memory::extend(&mut self.rest, &lines[passed.bytes..])?;
        passed.bytes = lines.len();
        Ok(())
    }
}

/// A text that is being written.
struct Text<'a> {
    room: &'a mut [u8],
    length: usize,
}

/// The content of a line.
enum LineContent {
    Text,
    Nothing,
}

/// The rest of a line. Methods return `None` where the line must be left to Python.
struct Line<'a> {
    rest: &'a [u8],
}

impl<'a> Line<'a> {
    fn new(line: &'a [u8]) -> Option<Self> {
        simdutf8::basic::from_utf8(line).ok().map(|_| Self { rest: line })
    }

    /// Append the string of the field to `text`; if an object has the field several times, the last one counts.
    fn text(mut self, field: &[u8], text: &mut Text) -> Option<LineContent> {
        if self.next().is_none() {
            return Some(LineContent::Nothing);
        }
        let mut is_text = false;
        self.byte(b'{')?;
        self.items(b'}', |line| {
            if !line.key(field, text)? {
                return line.value(DEPTH);
            }
            text.length = 0;
            is_text = line.next() == Some(b'"');
            if is_text { line.string(text) } else { line.value(DEPTH) }
        })?;
        (is_text && self.next().is_none()).then_some(LineContent::Text)
    }

    /// The next byte that is not white space.
    fn next(&mut self) -> Option<u8> {
        while let [b' ' | b'\t' | b'\r', rest @ ..] = self.rest {
            self.rest = rest;
        }
        self.rest.first().copied()
    }

    /// Skip a byte, and white space before it.
    fn byte(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.rest = &self.rest[1..])
    }

    /// Skip items with commas between them, and the closing byte.
    fn items(&mut self, close: u8, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if self.next()? != close {
            item(self)?;
            while self.next()? != close {
                self.byte(b',')?;
                item(self)?;
            }
        }
        self.byte(close)
    }

    /// Skip a key and its colon; returns whether the key is the field. `text` stays as it was.
    fn key(&mut self, field: &[u8], text: &mut Text) -> Option<bool> {
        self.next();
        let start = text.length;
        self.string(text)?;
        let is_field = &text.room[start..text.length] == field;
        text.length = start;
        self.byte(b':')?;
        Some(is_field)
    }

    fn value(&mut self, depth: u32) -> Option<()> {
        let deeper = depth.checked_sub(1)?;
        match self.next()? {
            b'"' => self.skip_string(),
            b'[' => {
                self.byte(b'[')?;
                self.items(b']', |line| line.value(deeper))
            }
            b'{' => {
                self.byte(b'{')?;
                self.items(b'}', |line| {
                    line.next();
                    line.skip_string()?;
                    line.byte(b':')?;
                    line.value(deeper)
                })
            }
            b'-' | b'0'..=b'9' => self.number(),
            _ => ["null", "true", "false", "NaN", "Infinity"].iter().find_map(|word| self.word(word)),
        }
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(word.as_bytes())?;
        Some(())
    }

    fn number(&mut self) -> Option<()> {
        if self.word("-").is_some() && self.word("Infinity").is_some() {
            return Some(());
        }
        if self.word("0").is_none() {
            self.digits()?;
        }
        if self.word(".").is_some() {
            self.digits()?;
        }
        if let [b'e' | b'E', rest @ ..] = self.rest {
            self.rest = rest;
            let _sign = self.word("+").or_else(|| self.word("-"));
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let length = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.rest = &self.rest[length..];
        (1..=DIGITS).contains(&length).then_some(())
    }

    /// Skip a string.
    fn skip_string(&mut self) -> Option<()> {
        self.word("\"")?;
        loop {
            self.rest = &self.rest[plain_length(self.rest)..];
            match self.take()? {
                b'"' => return Some(()),
                b'\\' => self.escaped()?,
                _ => return None,
            };
        }
    }

    /// Skip a string and append its value to `text`; it must not contain a lone surrogate.
    fn string(&mut self, text: &mut Text) -> Option<()> {
        self.word("\"")?;
        let room = &mut text.room[text.length..];
        let mut copying = Copying { line: self.rest, room, read: 0, written: 0 };
        copying.string()?;
        self.rest = &self.rest[copying.read..];
        text.length += copying.written;
        Some(())
    }

    fn take(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    /// The code point of an escape, after its backslash; it may be a lone surrogate.
    fn escaped(&mut self) -> Option<u32> {
        match self.take()? {
            b'u' => self.code_point(),
            letter => Some(SAID[usize::from(letter)]).filter(|&said| said != NOTHING).map(u32::from),
        }
    }

    /// Four hexadecimal digits, or two groups of four for a surrogate pair.
    fn code_point(&mut self) -> Option<u32> {
        let first = self.hexadecimal()?;
        let [b'\\', b'u', rest @ ..] = self.rest else { return Some(first) };
        if !(0xd800..0xdc00).contains(&first) {
            return Some(first);
        }
        let second = Self { rest }.hexadecimal()?;
        if !(0xdc00..0xe000).contains(&second) {
            return Some(first);
        }
        self.rest = &rest[4..];
        Some(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
    }

    fn hexadecimal(&mut self) -> Option<u32> {
        let (digits, rest) = self.rest.split_first_chunk::<4>()?;
        self.rest = rest;
        let [a, b, c, d] = digits.map(|digit| DIGIT[usize::from(digit)]);
        let number = a << 12 | b << 8 | c << 4 | d;
        (number < NO_DIGIT).then_some(number)
    }
}

/// Copies the value of a string from a line to its destination.
struct Copying<'a> {
    line: &'a [u8],
    room: &'a mut [u8],
    read: usize,
    written: usize,
}

impl Copying<'_> {
    /// Copy up to the quote that ends the string, and skip the quote.
    fn string(&mut self) -> Option<()> {
        let mut start = 0;
        // An escape may reach into the next block, and a whole block is copied from its end.
        while self.line.len() - start >= 3 * BLOCK
            && let Some(block) = self.line[start..].first_chunk()
        {
            let mut specials = special_bits(block);
            loop {
                specials &= u64::MAX.checked_shl((self.read - start) as u32).unwrap_or(0);
                if specials == 0 {
                    break;
                }
                self.copy_up_to(start + specials.trailing_zeros() as usize)?;
                if self.special()? {
                    return Some(());
                }
            }
            start += BLOCK;
            self.copy_up_to(start.max(self.read))?;
        }
        loop {
            let plain = plain_length(&self.line[self.read..]);
            self.room[self.written..][..plain].copy_from_slice(&self.line[self.read..][..plain]);
            self.read += plain;
            self.written += plain;
            if self.special()? {
                return Some(());
            }
        }
    }

    /// Copy plain bytes up to a place: at most a block, of a line that has another block after it.
    #[inline(always)]
    fn copy_up_to(&mut self, place: usize) -> Option<()> {
        let block: &[u8; BLOCK] = self.line[self.read..].first_chunk()?;
        *self.room[self.written..].first_chunk_mut()? = *block;
        self.written += place - self.read;
        self.read = place;
        Some(())
    }

    /// Skip a quote, or copy the character of an escape; returns whether the string ends.
    #[inline(always)]
    fn special(&mut self) -> Option<bool> {
        match *self.line.get(self.read)? {
            b'"' => {
                self.read += 1;
                Some(true)
            }
            b'\\' => {
                let said = SAID[usize::from(*self.line.get(self.read + 1)?)];
                if said == NOTHING {
                    return self.code_point();
                }
                self.room[self.written] = said;
                self.written += 1;
                self.read += 2;
                Some(false)
            }
            _ => None,
        }
    }

    /// Copy the character of an escape with a code point.
    #[cold]
    fn code_point(&mut self) -> Option<bool> {
        let mut behind = Line { rest: &self.line[self.read + 1..] };
        let said = char::from_u32(behind.escaped()?)?;
        self.read = self.line.len() - behind.rest.len();
        self.written += said.encode_utf8(&mut self.room[self.written..]).len();
        Some(false)
    }
}

/// The byte that a letter after a backslash stands for.
const SAID: [u8; 256] = {
    let mut said = [NOTHING; 256];
    let letters = [
        (b'"', b'"'),
        (b'\\', b'\\'),
        (b'/', b'/'),
        (b'b', 8),
        (b'f', 12),
        (b'n', 10),
        (b'r', 13),
        (b't', 9),
    ];
    let mut place = 0;
    while place < letters.len() {
        said[letters[place].0 as usize] = letters[place].1;
        place += 1;
    }
    said
};

const NOTHING: u8 = 0;

/// The values of hexadecimal digits.
const DIGIT: [u32; 256] = {
    let mut digits = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 16 {
        digits[b"0123456789abcdef"[value] as usize] = value as u32;
        digits[b"0123456789ABCDEF"[value] as usize] = value as u32;
        value += 1;
    }
    digits
};

/// Larger than any number of four digits, whichever of them it stands for.
const NO_DIGIT: u32 = 1 << 16;

/// The number of bytes that are examined at once.
const BLOCK: usize = 64;

/// A bit for each byte of a block that is a quote, a backslash or a control character.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn special_bits(block: &[u8; BLOCK]) -> u64 {
    use std::arch::x86_64::*;
    let (quarters, _) = block.as_chunks::<16>();
    let bits = |quarter: &[u8; 16]| {
        // SAFETY: sixteen bytes are read, which may be at any address; SSE2 is a part of every x86-64 processor.
        unsafe {
            let bytes = _mm_loadu_si128(quarter.as_ptr().cast());
            let quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'"'.cast_signed()));
            let backslashes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\'.cast_signed()));
            let controls = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
            _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quotes, backslashes), controls))
        }
    };
    quarters.iter().rev().fold(0, |above, quarter| above << 16 | bits(quarter) as u64)
}

#[cfg(not(target_arch = "x86_64"))]
use special_bits_portably as special_bits;

/// The same on any processor.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn special_bits_portably(block: &[u8; BLOCK]) -> u64 {
    /// Moves the lowest bit of each byte to the highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let (words, _) = block.as_chunks::<8>();
    let bits = |word: &[u8; 8]| (special_bytes(u64::from_le_bytes(*word)) >> 7).wrapping_mul(GATHER) >> 56;
    words.iter().rev().fold(0, |above, word| above << 8 | bits(word))
}

/// The number of bytes before the first quote, backslash or control character.
fn plain_length(bytes: &[u8]) -> usize {
    let (words, tail) = bytes.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let special = special_bytes(u64::from_le_bytes(*word));
        if special != 0 {
            return 8 * number + special.trailing_zeros() as usize / 8;
        }
    }
    8 * words.len() + tail.iter().position(|byte| is_special(*byte)).unwrap_or(tail.len())
}

fn is_special(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..=0x1f)
}

/// The high bits of the bytes of a word that are a quote, a backslash or a control character.
fn special_bytes(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // A byte reaches its high bit by 0x80 - n, unless it is below n.
    let below = |word: u64, n: u64| !(((word & (EACH * 0x7F)) + EACH * (0x80 - n)) | word);
    let quotes = below(word ^ (EACH * u64::from(b'"')), 1);
    let backslashes = below(word ^ (EACH * u64::from(b'\\')), 1);
    (quotes | backslashes | below(word, 0x20)) & (EACH << 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_bytes_are_found_alike_on_every_processor() {
        for byte in 0..=255 {
            for place in 0..BLOCK {
                let mut block = [b'a'; BLOCK];
                block[place] = byte;
                block[(7 * place + 3) % BLOCK] = byte.wrapping_mul(31);
                assert_eq!(special_bits(&block), special_bits_portably(&block));
            }
        }
    }

    /// What is taken of lines and what is left, the same wherever they are cut into two blocks.
    fn taken(lines: &str) -> (Vec<String>, Vec<String>) {
        let whole = cut(lines.as_bytes(), 0);
        for place in 1..lines.len() {
            assert_eq!(cut(lines.as_bytes(), place), whole, "{lines:?} cut at {place}");
        }
        whole
    }

    fn cut(lines: &[u8], place: usize) -> (Vec<String>, Vec<String>) {
        let mut texts = FieldTexts::new(b"text".to_vec());
        let mut left = Vec::new();
        for mut block in [&lines[..place], &lines[place..]] {
            while !block.is_empty() {
                let passed = texts.take_block(block).unwrap();
                left.extend(passed.left.map(|line| String::from_utf8(line).unwrap()));
                block = &block[passed.bytes..];
            }
        }
        let (bytes, places) = texts.texts.take();
        let text = |place: std::ops::Range<usize>| String::from_utf8(bytes[place].to_vec()).unwrap();
        (places.into_iter().map(text).collect(), left)
    }

    #[test]
    fn the_last_string_of_the_field_is_the_text() {
        for (line, text) in [
            (r#"{"text": "a"}"#, "a"),
            (r#" { "n" : [ 1 , -2.5e+3 , NaN , -Infinity ] , "text" : "" } "#, ""),
            (r#"{"text": "é\n\u00e9\ud83d\ude00\/, more than a word"}"#, "é\né😀/, more than a word"),
            (r#"{"text": 1, "te\u0078t": "first", "text": "last", "o": {"text": "deeper"}}"#, "last"),
            (r#"{"a": "\ud800", "text": "lone only elsewhere"}"#, "lone only elsewhere"),
        ] {
            assert_eq!(taken(&format!("{line}\n\n \t\r\n")), (vec![text.to_owned()], vec![]), "{line}");
        }
    }

    #[test]
    fn what_is_not_plain_is_left() {
        let (deep, long) = ("[".repeat(65) + &"]".repeat(65), "1".repeat(601));
        let values =
            ["01", "1.", "-", ".5", "1e", "+1", "nul", "tru e", "[1,]", "[1 2]", "{,}", "'a'", &deep, &long];
        let lines = values.map(|value| format!(r#"{{"text": "a", "n": {value}}}"#));
        let others = [
            r#"{"text": 1}"#,
            r#"{"text": "a", "text": null}"#,
            r#"{"body": "a"}"#,
            "{}",
            "[]",
            "\u{feff}{}",
            "\u{b}",
            r#"{"text": "a"} x"#,
            r#"{"text": "a""#,
            r#"{"text": "a",}"#,
            r#"{"text" "a"}"#,
            r#"{text: "a"}"#,
            r#"{"text": "\ud800"}"#,
            r#"{"text": "\ud800\ud800"}"#,
            r#"{"text": "\udc00\ud800"}"#,
            r#"{"text": "\x"}"#,
            r#"{"text": "\u12g4"}"#,
            r#"{"text": "\ud800\u12"}"#,
            "{\"text\": \"\t\"}",
            "{\"a\": \"\u{1}\", \"text\": \"\"}",
        ];
        for line in lines.iter().map(String::as_str).chain(others) {
            let plain = r#"{"text": "plain"}"#;
            let (texts, left) = taken(&format!("{plain}\n{line}\n{plain}\n"));
            assert_eq!((texts, left), (vec!["plain".to_owned(); 2], vec![line.to_owned()]));
        }
    }

    #[test]
    fn special_bytes_are_found_wherever_they_are() {
        for length in 0..70 {
            let plain = vec![b'!'; length];
            assert_eq!(plain_length(&plain), length);
            for place in 0..length {
                for byte in 0..=255 {
                    let mut bytes = plain.clone();
                    bytes[place] = byte;
                    let is_special = byte < 0x20 || byte == b'"' || byte == b'\\';
                    assert_eq!(plain_length(&bytes), if is_special { place } else { length }, "{bytes:?}");
                    if let Some(block) = bytes.first_chunk() {
                        let bit = 1_u64.checked_shl(place as u32).filter(|_| is_special).unwrap_or(0);
                        assert_eq!(special_bits(block), bit, "{bytes:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn strings_say_the_same_however_escapes_lie_in_blocks() {
        let escapes = [
            (r"\n", "\n"),
            (r#"\""#, "\""),
            (r"\\", "\\"),
            (r"\u00e9", "é"),
            (r"\ud83d\ude00", "😀"),
            ("中", "中"),
        ];
        for before in 0..140 {
            for (number, (first, said)) in escapes.iter().enumerate() {
                for between in 0..4 {
                    let (second, said_second) = escapes[(number + between) % escapes.len()];
                    let (plain, gap) = ("x".repeat(before), "-".repeat(between));
                    for after in [0, 5, 200] {
                        let end = "y".repeat(after);
                        let line = format!(r#"{{"text": "{plain}{first}{gap}{second}{end}"}}"#);
                        let text = format!("{plain}{said}{gap}{said_second}{end}");
                        assert_eq!(cut(format!("{line}\n").as_bytes(), 0), (vec![text], vec![]), "{line}");
                    }
                }
            }
            for wrong in ["\t", "\\x", "\\u12"] {
                let line = format!(r#"{{"text": "{}{wrong}{}"}}"#, "x".repeat(before), "y".repeat(200));
                assert_eq!(cut(format!("{line}\n").as_bytes(), 0), (vec![], vec![line]));
            }
        }
    }
}
