//! Reads the texts of one field of lines of JSON.
//!
//! The specification is Python's `json.loads(line)[field]`. This reader takes only lines for which
//! that result is certain. It leaves all others to Python, including the error message: lines that
//! are not UTF-8 or not JSON, that lack the field, whose field is not a string or contains a lone
//! surrogate, and lines with very long numbers or deep nesting, for which Python has limits of its
//! own.

use memchr::{memchr, memchr2};

use super::GatheredTexts;
use crate::error::Result;

/// The maximum depth of nested objects and lists.
pub(crate) const DEPTH: u32 = 64;

/// The maximum number of digits in a row: Python's own limit can be set as low as 640.
const DIGITS: usize = 600;

/// The part of a block that was read.
#[derive(Debug, Default, PartialEq)]
pub struct LinesRead<'a> {
    pub bytes: usize,
    pub lines: usize,
    /// The last of these lines, if it is left to Python.
    pub for_python: Option<&'a [u8]>,
}

impl GatheredTexts {
    /// Takes the texts of a field, which is UTF-8 (other bytes match none), from whole lines, up to
    /// a line that is left to Python. Lines of only white space have no text.
    pub fn take_lines<'a>(&mut self, block: &'a [u8]) -> Result<LinesRead<'a>> {
        let mut passed = LinesRead::default();
        // A text, like a key before it, is never longer than its JSON.
        self.make_room(block.len())?;
        while passed.for_python.is_none()
            && let Some(length) = memchr(b'\n', &block[passed.bytes..])
        {
            let line = &block[passed.bytes..][..length];
            passed.bytes += length + 1;
            passed.lines += 1;
            match Line::new(line).and_then(|line| line.text(&self.by, &mut self.bytes)) {
                // The text is there already: this ends it.
                Some(Content::Text) => self.append(b"")?,
                Some(Content::WhiteSpace) => {}
                None => {
                    self.drop_rest();
                    passed.for_python = Some(line);
                }
            }
        }
        Ok(passed)
    }
}

/// The content of a line that is not left to Python.
enum Content {
    Text,
    WhiteSpace,
}

/// The rest of a line, or of a whole file. Methods return `None` where it must be left to Python.
pub(crate) struct Line<'a> {
    pub(crate) rest: &'a [u8],
    /// Whether there are control characters, which may be between values but not in strings.
    has_controls: bool,
}

impl<'a> Line<'a> {
    pub(crate) fn new(line: &'a [u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // Without a branch, so that it takes many bytes at a time.
        let has_controls = line.iter().fold(false, |any, &byte| any | (byte < b' '));
        simdutf8::basic::from_utf8(line).ok()?;
        Some(Self { rest: line, has_controls })
    }

    /// Appends the string of the field to `text`; if an object has the field several times, the
    /// last one counts.
    fn text(mut self, field: &[u8], text: &mut Vec<u8>) -> Option<Content> {
        if self.next().is_none() {
            return Some(Content::WhiteSpace);
        }
        let mut is_text = false;
        let start = text.len();
        self.items(*b"{}", |line| {
            // The key is read behind the text, and removed again.
            let key = text.len();
            line.string_onto(text)?;
            let is_field = text[key..] == *field;
            text.truncate(key);
            line.byte(b':')?;
            if !is_field {
                return line.value(DEPTH);
            }
            text.truncate(start);
            is_text = line.next() == Some(b'"');
            if is_text { line.string_onto(text) } else { line.value(DEPTH) }
        })?;
        (is_text && self.next().is_none()).then_some(Content::Text)
    }

    /// Returns the next byte that is not white space, and skips what is before it.
    pub(crate) fn next(&mut self) -> Option<u8> {
        while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = self.rest {
            self.rest = rest;
        }
        self.rest.first().copied()
    }

    /// Skips a byte, and white space before it.
    pub(crate) fn byte(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.rest = &self.rest[1..])
    }

    /// Skips a list or an object: its items with commas between them, and the brackets around all.
    pub(crate) fn items(
        &mut self,
        [open, close]: [u8; 2],
        mut item: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.byte(open)?;
        if self.next()? != close {
            item(self)?;
            while self.next()? != close {
                self.byte(b',')?;
                item(self)?;
            }
        }
        self.byte(close)
    }

    pub(crate) fn value(&mut self, depth: u32) -> Option<()> {
        let deeper = depth.checked_sub(1)?;
        match self.next()? {
            b'"' => self.skip_string(),
            b'[' => self.items(*b"[]", |line| line.value(deeper)),
            b'{' => self.items(*b"{}", |line| {
                line.next();
                line.skip_string()?;
                line.byte(b':')?;
                line.value(deeper)
            }),
            b'-' | b'0'..=b'9' => self.number(),
            _ => {
                ["null", "true", "false", "NaN", "Infinity"].iter().find_map(|word| self.word(word))
            }
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

    /// Appends what a string says; one with a lone surrogate is not text.
    #[inline(always)]
    pub(crate) fn string_onto(&mut self, text: &mut Vec<u8>) -> Option<()> {
        self.next();
        self.string(|piece| {
            text.extend_from_slice(piece?);
            Some(())
        })
    }

    /// Skips a string, whatever it says.
    fn skip_string(&mut self) -> Option<()> {
        self.string(|_| Some(()))
    }

    /// Skips a string, and passes what it says to `say`, piece by piece; a lone surrogate is no
    /// piece, but `None`.
    fn string(&mut self, mut say: impl FnMut(Option<&[u8]>) -> Option<()>) -> Option<()> {
        self.word("\"")?;
        loop {
            let (plain, special) = self.rest.split_at(memchr2(b'"', b'\\', self.rest)?);
            if self.has_controls && plain.iter().any(|&byte| byte < b' ') {
                return None;
            }
            say(Some(plain))?;
            self.rest = &special[1..];
            if special[0] == b'"' {
                return Some(());
            }
            let code_point = self.escaped()?;
            let mut utf8 = [0; 4];
            match char::from_u32(code_point) {
                Some(character) => say(Some(character.encode_utf8(&mut utf8).as_bytes()))?,
                None => say(None)?,
            }
        }
    }

    /// Reads the code point of an escape, after its backslash; it may be a lone surrogate.
    fn escaped(&mut self) -> Option<u32> {
        let (&letter, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(match letter {
            b'"' | b'\\' | b'/' => u32::from(letter),
            b'b' => 8,
            b'f' => 12,
            b'n' => 10,
            b'r' => 13,
            b't' => 9,
            b'u' => return self.code_point(),
            _ => return None,
        })
    }

    /// Reads four hexadecimal digits, or two groups of four for a surrogate pair.
    fn code_point(&mut self) -> Option<u32> {
        let first = self.hexadecimal()?;
        let [b'\\', b'u', rest @ ..] = self.rest else { return Some(first) };
        if !(0xd800..0xdc00).contains(&first) {
            return Some(first);
        }
        let second = Self { rest, ..*self }.hexadecimal()?;
        // Not a pair: the second escape is read by itself.
        if !(0xdc00..0xe000).contains(&second) {
            return Some(first);
        }
        self.rest = &rest[4..];
        Some(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
    }

    fn hexadecimal(&mut self) -> Option<u32> {
        let (digits, rest) = self.rest.split_first_chunk::<4>()?;
        self.rest = rest;
        let mut number = 0;
        for &digit in digits {
            number = 16 * number + char::from(digit).to_digit(16)?;
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is taken of lines and what is left.
    fn taken(lines: &str) -> (Vec<String>, Vec<String>) {
        let mut texts = GatheredTexts::new(b"text".to_vec());
        let (mut left, mut block) = (Vec::new(), lines.as_bytes());
        while !block.is_empty() {
            let passed = texts.take_lines(block).unwrap();
            left.extend(passed.for_python.map(|line| String::from_utf8(line.to_vec()).unwrap()));
            block = &block[passed.bytes..];
        }
        let (bytes, places) = texts.take(Vec::new()).unwrap();
        let text =
            |place: std::ops::Range<usize>| String::from_utf8(bytes[place].to_vec()).unwrap();
        (places.into_iter().map(text).collect(), left)
    }

    #[test]
    fn an_incomplete_line_is_not_read() {
        let mut texts = GatheredTexts::new(b"text".to_vec());
        let passed = texts.take_lines(b"{\"text\": \"a\"}\n{\"text\": \"b\"}").unwrap();
        assert_eq!(passed, LinesRead { bytes: 14, lines: 1, for_python: None });
        assert_eq!(texts.bytes, b"a");
    }

    #[test]
    fn the_last_string_of_the_field_is_the_text() {
        for (line, text) in [
            (r#"{"text": "a"}"#, "a"),
            (r#" { "n" : [ 1 , -2.5e+3 , NaN , -Infinity ] , "text" : "" } "#, ""),
            (
                r#"{"text": "é\n\u00e9\ud83d\ude00\/, more than a word"}"#,
                "é\né😀/, more than a word",
            ),
            (
                r#"{"text": 1, "te\u0078t": "first", "text": "last", "o": {"text": "deeper"}}"#,
                "last",
            ),
            (r#"{"a": "\ud800", "text": "lone only elsewhere"}"#, "lone only elsewhere"),
        ] {
            assert_eq!(
                taken(&format!("{line}\n\n \t\r\n")),
                (vec![text.to_owned()], vec![]),
                "{line}"
            );
        }
    }

    #[test]
    fn what_is_not_plain_is_left() {
        let (deep, long) = ("[".repeat(65) + &"]".repeat(65), "1".repeat(601));
        let values = [
            "01", "1.", "-", ".5", "1e", "+1", "nul", "tru e", "[1,]", "[1 2]", "{,}", "'a'",
            &deep, &long,
        ];
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
    fn strings_say_the_same_wherever_escapes_stand() {
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
                        assert_eq!(taken(&format!("{line}\n")), (vec![text], vec![]), "{line}");
                    }
                }
            }
            for wrong in ["\t", "\\x", "\\u12"] {
                let line =
                    format!(r#"{{"text": "{}{wrong}{}"}}"#, "x".repeat(before), "y".repeat(200));
                assert_eq!(taken(&format!("{line}\n")), (vec![], vec![line]));
            }
        }
    }
}
