//! Lines of JSON in, the texts of one of their fields out.
//!
//! What `json.loads(line)[field]` gives in Python is the specification. Only lines that are plainly well-formed are
//! taken here: of those there is no doubt what it gives. All others are left to it, with whatever it says of them: lines
//! that are not UTF-8 or not JSON, that lack the field, whose field is no string or has a lone surrogate in it, and
//! those with very long numbers or deep nesting, for which Python has limits of its own.

use std::mem;
use std::ops::Range;

use memchr::memchr;

use crate::error::Result;
use crate::memory;

/// How deep objects and lists may be nested.
const DEPTH: u32 = 64;

/// How many digits a number may have in a row: Python can be told to take no more than 640.
const DIGITS: usize = 600;

/// The texts of a field, one behind the other.
pub struct FieldTexts {
    field: Vec<u8>,
    /// The texts, and behind them room for more.
    pub bytes: Vec<u8>,
    pub places: Vec<Range<usize>>,
    /// The beginning of a line that has no end yet.
    rest: Vec<u8>,
}

/// How far a block was gone through.
#[derive(Debug, Default, PartialEq)]
pub struct Passed {
    pub bytes: usize,
    pub lines: usize,
    /// The last of these lines, if it was not taken.
    pub left: Option<Vec<u8>>,
}

impl FieldTexts {
    /// `field` is UTF-8; anything else is the name of no field in lines that are plainly well-formed.
    pub fn new(field: Vec<u8>) -> Self {
        Self { field, bytes: Vec::new(), places: Vec::new(), rest: Vec::new() }
    }

    /// How many bytes the texts are.
    pub fn length(&self) -> usize {
        self.places.last().map_or(0, |place| place.end)
    }

    /// Put a text behind the others.
    pub fn push(&mut self, text: &str) -> Result<()> {
        self.make_room(text.len())?;
        let start = self.length();
        let place = start..start + text.len();
        memory::push(&mut self.places, place.clone())?;
        self.bytes[place].copy_from_slice(text.as_bytes());
        Ok(())
    }

    /// Take the texts of lines, up to a line that is not plainly well-formed. Lines of white space alone hold none.
    /// A line that has no end is gone on with in the next block.
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

    /// Take the line that had no end, if it has one now.
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

    /// Take the texts of lines from where those end that were passed.
    fn take_lines(&mut self, lines: &[u8], passed: &mut Passed) -> Result<()> {
        self.make_room(lines.len() - passed.bytes)?;
        while let Some(length) = memchr(b'\n', &lines[passed.bytes..]) {
            let line = &lines[passed.bytes..][..length];
            passed.bytes += length + 1;
            passed.lines += 1;
            let start = self.length();
            let mut text = Text { room: &mut self.bytes[start..], length: 0 };
            match Line::new(line).and_then(|line| line.text(&self.field, &mut text)) {
                Some(Found::Text) => {
                    let end = start + text.length;
                    memory::push(&mut self.places, start..end)?;
                }
                Some(Found::Nothing) => {}
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

    /// Make room for what so many bytes of JSON may say: a text is never longer than what it is written as.
    fn make_room(&mut self, more: usize) -> Result<()> {
        let length = self.length();
        memory::lengthen(&mut self.bytes, length + more)
    }
}

/// A text that is being written.
struct Text<'a> {
    room: &'a mut [u8],
    length: usize,
}

impl Text<'_> {
    fn push(&mut self, bytes: &[u8]) {
        self.room[self.length..][..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }
}

/// What a line holds.
enum Found {
    Text,
    Nothing,
}

/// What is left of a line. `None` is: not plainly well-formed.
struct Line<'a> {
    rest: &'a [u8],
}

impl<'a> Line<'a> {
    fn new(line: &'a [u8]) -> Option<Self> {
        simdutf8::basic::from_utf8(line).ok().map(|_| Self { rest: line })
    }

    /// Put the string that the field of an object has at last behind `text`.
    fn text(mut self, field: &[u8], text: &mut Text) -> Option<Found> {
        if self.next().is_none() {
            return Some(Found::Nothing);
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
        (is_text && self.next().is_none()).then_some(Found::Text)
    }

    /// The next byte that is not white space.
    fn next(&mut self) -> Option<u8> {
        while let [b' ' | b'\t' | b'\r', rest @ ..] = self.rest {
            self.rest = rest;
        }
        self.rest.first().copied()
    }

    /// Go past a byte, and white space before it.
    fn byte(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.rest = &self.rest[1..])
    }

    /// Go past items with commas between them, and what closes them.
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

    /// Go past a key and its colon: is it the field? `text` is left as it was.
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

    /// Go past a string.
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

    /// Go past a string and put what it says, which must not have a lone surrogate in it, behind `text`.
    fn string(&mut self, text: &mut Text) -> Option<()> {
        self.word("\"")?;
        loop {
            self.copy_plain(text);
            match self.take()? {
                b'"' => return Some(()),
                b'\\' => {
                    let said = char::from_u32(self.escaped()?)?;
                    text.push(said.encode_utf8(&mut [0; 4]).as_bytes());
                }
                _ => return None,
            }
        }
    }

    /// Go past what stands for itself, and put it behind `text`.
    fn copy_plain(&mut self, text: &mut Text) {
        while let Some(word) = self.rest.first_chunk::<8>()
            && let Some(room) = text.room[text.length..].first_chunk_mut::<8>()
        {
            *room = *word;
            let special = special_bytes(u64::from_le_bytes(*word));
            let plain = special.trailing_zeros() as usize / 8;
            self.rest = &self.rest[plain..];
            text.length += plain;
            if special != 0 {
                return;
            }
        }
        let (plain, rest) = self.rest.split_at(plain_length(self.rest));
        text.push(plain);
        self.rest = rest;
    }

    fn take(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    /// What stands behind a backslash: a code point, which may be a lone surrogate.
    fn escaped(&mut self) -> Option<u32> {
        let letter = self.take()?;
        Some(u32::from(match letter {
            b'"' | b'\\' | b'/' => letter,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => return self.code_point(),
            _ => return None,
        }))
    }

    /// Four hexadecimal digits, and four more where they are the two halves of a pair.
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

/// What hexadecimal digits stand for.
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

/// More than four of them can say, wherever it is among them.
const NO_DIGIT: u32 = 1 << 16;

/// How many bytes there are up to the first quote, backslash or control character.
fn plain_length(bytes: &[u8]) -> usize {
    let (words, tail) = bytes.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let special = special_bytes(u64::from_le_bytes(*word));
        if special != 0 {
            return 8 * number + special.trailing_zeros() as usize / 8;
        }
    }
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    8 * words.len() + tail.iter().position(special).unwrap_or(tail.len())
}

/// The high bits of the bytes of a word that are a quote, a backslash or a control character. Above the lowest of
/// them others may be set.
fn special_bytes(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // A byte below n borrows from its high bit, unless that was set before.
    let below = |word: u64, n: u64| word.wrapping_sub(EACH * n) & !word;
    let quotes = below(word ^ (EACH * u64::from(b'"')), 1);
    let backslashes = below(word ^ (EACH * u64::from(b'\\')), 1);
    (quotes | backslashes | below(word, 0x20)) & (EACH << 7)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let text = |place: &Range<usize>| String::from_utf8(texts.bytes[place.clone()].to_vec()).unwrap();
        (texts.places.iter().map(text).collect(), left)
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
        for length in 0..40 {
            let plain = vec![b'!'; length];
            assert_eq!(plain_length(&plain), length);
            for place in 0..length {
                for byte in 0..=255 {
                    let mut bytes = plain.clone();
                    bytes[place] = byte;
                    let is_special = byte < 0x20 || byte == b'"' || byte == b'\\';
                    assert_eq!(plain_length(&bytes), if is_special { place } else { length }, "{bytes:?}");
                }
            }
        }
    }
}
