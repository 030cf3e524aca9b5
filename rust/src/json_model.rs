//! Cuts the vocabulary and the merges out of a `tokenizer.json`: they are most of the file, and as Python's objects most of
//! the time.

use std::ops::Range;

use memchr::{memchr3, memmem};

use crate::text_pairs::{BETWEEN, WITHIN};
use crate::token_numbers::NO_TOKEN;

/// The two lists of a model, and the places where they stand.
#[derive(Debug, PartialEq, Eq)]
pub struct CutModel {
    pub vocab: Range<usize>,
    /// The texts of all tokens in the order of the file, the end of each, and their ids.
    pub texts: Vec<u8>,
    pub ends: Vec<usize>,
    pub ids: Vec<u32>,
    pub merges: Range<usize>,
    /// The merges, each a text `left right` or a list of two texts, with [`WITHIN`] and [`BETWEEN`] them.
    pub pairs: Vec<u8>,
}

/// Find the first vocabulary and the first list of merges. `None` if there is none, or if anything in it is unusual.
pub fn find_model(json: &[u8]) -> Option<CutModel> {
    std::str::from_utf8(json).ok()?;
    let mut cursor = ModelCursor { json, place: value_of(json, b"\"vocab\"", b'{')? };
    let mut model = CutModel {
        vocab: cursor.place..0,
        texts: Vec::new(),
        ends: Vec::new(),
        ids: Vec::new(),
        merges: 0..0,
        pairs: Vec::new(),
    };
    cursor.vocabulary(&mut model)?;
    model.vocab.end = cursor.place;
    if !are_ids(&model.ids) {
        return None;
    }
    cursor.place = value_of(json, b"\"merges\"", b'[')?;
    model.merges.start = cursor.place;
    model.pairs = cursor.merges()?;
    model.merges.end = cursor.place;
    // Where one holds the other, it is no such file.
    let are_apart = model.vocab.end <= model.merges.start || model.merges.end <= model.vocab.start;
    are_apart.then_some(model)
}

/// Whether numbers are distinct ids.
fn are_ids(numbers: &[u32]) -> bool {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.is_sorted_by(|one, other| one < other) && sorted.last() != Some(&NO_TOKEN)
}

/// The place of the first value of a key that begins with `opening`.
fn value_of(json: &[u8], key: &[u8], opening: u8) -> Option<usize> {
    memmem::find_iter(json, key).find_map(|place| {
        let mut cursor = ModelCursor { json, place: place + key.len() };
        (cursor.take(b':') && cursor.peek()? == opening).then_some(cursor.place)
    })
}

struct ModelCursor<'a> {
    json: &'a [u8],
    place: usize,
}

impl ModelCursor<'_> {
    /// The next byte behind white space.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.json[self.place..];
        self.place += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')).count();
        self.json.get(self.place).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.place += usize::from(is_next);
        is_next
    }

    /// Read texts with ids, up to the closing brace.
    fn vocabulary(&mut self, model: &mut CutModel) -> Option<()> {
        if !self.take(b'{') {
            return None;
        }
        if self.take(b'}') {
            return Some(());
        }
        loop {
            self.text(&mut model.texts)?;
            model.ends.push(model.texts.len());
            if !self.take(b':') {
                return None;
            }
            model.ids.push(self.number()?);
            if self.take(b'}') {
                return Some(());
            }
            if !self.take(b',') {
                return None;
            }
        }
    }

    fn number(&mut self) -> Option<u32> {
        self.peek()?;
        let rest = &self.json[self.place..];
        let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.place += length;
        if length > 1 && rest[0] == b'0' {
            return None;
        }
        std::str::from_utf8(&rest[..length]).ok()?.parse().ok()
    }

    fn merges(&mut self) -> Option<Vec<u8>> {
        let mut pairs = Vec::new();
        if !self.take(b'[') {
            return None;
        }
        if self.take(b']') {
            return Some(pairs);
        }
        let are_texts = self.peek()? == b'"';
        loop {
            let start = pairs.len();
            if are_texts {
                self.text(&mut pairs)?;
                let mut spaces = pairs[start..].iter_mut().filter(|byte| **byte == b' ');
                *spaces.next()? = WITHIN;
                if spaces.next().is_some() {
                    return None;
                }
            } else {
                self.pair(&mut pairs)?;
            }
            if self.take(b']') {
                return Some(pairs);
            }
            pairs.push(BETWEEN);
            if !self.take(b',') {
                return None;
            }
        }
    }

    fn pair(&mut self, out: &mut Vec<u8>) -> Option<()> {
        if !self.take(b'[') {
            return None;
        }
        self.text(out)?;
        out.push(WITHIN);
        if !self.take(b',') {
            return None;
        }
        self.text(out)?;
        self.take(b']').then_some(())
    }

    fn text(&mut self, out: &mut Vec<u8>) -> Option<()> {
        if !self.take(b'"') {
            return None;
        }
        loop {
            let rest = &self.json[self.place..];
            let length = memchr3(b'"', b'\\', b'\n', rest)?;
            if rest[..length].iter().any(|&byte| byte < b' ') {
                return None;
            }
            out.extend_from_slice(&rest[..length]);
            self.place += length + 1;
            match rest[length] {
                b'"' => return Some(()),
                b'\\' => self.escaped(out)?,
                _ => return None,
            }
        }
    }

    fn escaped(&mut self, out: &mut Vec<u8>) -> Option<()> {
        let kind = *self.json.get(self.place)?;
        self.place += 1;
        out.push(match kind {
            b'"' | b'\\' | b'/' => kind,
            b'b' => 0x08,
            b't' => b'\t',
            b'n' => b'\n',
            b'f' => 0x0C,
            b'r' => b'\r',
            b'u' => {
                let character = self.numbered()?;
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Some(());
            }
            _ => return None,
        });
        Some(())
    }

    /// The character whose number, or the two halves of it, follow.
    fn numbered(&mut self) -> Option<char> {
        let first = self.digits()?;
        if !(0xD800..0xDC00).contains(&first) {
            return char::from_u32(first);
        }
        if self.json.get(self.place..self.place + 2)? != b"\\u" {
            return None;
        }
        self.place += 2;
        let second = self.digits()?.checked_sub(0xDC00).filter(|&second| second < 0x400)?;
        char::from_u32(0x10000 + ((first - 0xD800) << 10) + second)
    }

    fn digits(&mut self) -> Option<u32> {
        let digits = self.json.get(self.place..self.place + 4)?;
        self.place += 4;
        let digits = std::str::from_utf8(digits).ok()?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merges_of(list: &str) -> Option<(String, String)> {
        let json = format!("{{\"vocab\": {{}}, \"merges\" : {list}");
        let model = find_model(json.as_bytes())?;
        let shown = model.pairs.iter().map(|&byte| match byte {
            WITHIN => b'|',
            BETWEEN => b';',
            other => other,
        });
        Some((json[model.merges].to_owned(), String::from_utf8(shown.collect()).unwrap()))
    }

    #[test]
    fn merges_of_either_form_are_read() {
        let texts = r#"["a b", "\u0120 \"", "\\ é", "\n \ud83d\ude00"]"#;
        let read = "a|b;\u{120}|\";\\|é;\n|😀".to_owned();
        assert_eq!(merges_of(&format!("{texts}, \"merges\": [1]")).unwrap(), (texts.to_owned(), read));
        let pairs = "[[\"a\",\"b\"],\n [ \"a b\" , \"\\u00e9\" ] ]";
        assert_eq!(merges_of(pairs).unwrap(), (pairs.to_owned(), "a|b;a b|é".to_owned()));
        assert_eq!(merges_of("[ ]").unwrap(), ("[ ]".to_owned(), String::new()));
    }

    #[test]
    fn what_is_unusual_in_merges_is_left_to_others() {
        for list in [
            r#"["ab"]"#,
            r#"["a b c"]"#,
            r#"[["a"]]"#,
            r#"[["a", "b", "c"]]"#,
            r#"["a b", ["a", "b"]]"#,
            r#"["a b""#,
            r#"["a b",]"#,
            r#"["a \ud800"]"#,
            r#"["a \ud800\u0041"]"#,
            r#"["a \udc00"]"#,
            r#"["a \ud800\"]"#,
            r#"["a \x"]"#,
            r#"["a \u+061"]"#,
            "[\"a \t\"]",
            "[1]",
            "[null]",
            "[",
            "{}",
            r#"["a b"#,
            r#"["a \u00"#,
            "[\"a \n\"]",
        ] {
            assert_eq!(merges_of(list), None, "{list}");
        }
        assert_eq!(find_model(b"{\"vocab\": {}, \"merges\": [\"a \xFF\"]}"), None);
        assert_eq!(find_model(b"{\"merges\": []}"), None);
    }

    fn vocabulary_of(object: &str) -> Option<(Vec<String>, Vec<u32>)> {
        let json = format!("{{\"note\": \"\\\"vocab\\\": {{\", \"merges\": [], \"vocab\":{object}}}");
        let model = find_model(json.as_bytes())?;
        assert_eq!(&json[model.vocab], object);
        let starts = std::iter::once(0).chain(model.ends.iter().copied());
        let texts = starts.zip(&model.ends).map(|(start, &end)| &model.texts[start..end]);
        Some((texts.map(|text| String::from_utf8(text.to_vec()).unwrap()).collect(), model.ids))
    }

    #[test]
    fn a_vocabulary_is_read() {
        let found = vocabulary_of("{ \"a\": 10, \"\\u2581\" :0,\n\"\": 4294967294 }").unwrap();
        assert_eq!(found, (vec!["a".to_owned(), "▁".to_owned(), String::new()], vec![10, 0, u32::MAX - 1]));
        assert_eq!(vocabulary_of("{ }").unwrap(), (vec![], vec![]));
    }

    #[test]
    fn what_is_unusual_in_a_vocabulary_is_left_to_others() {
        for number in
            ["-1", "01", "1.0", "1e3", "4294967295", "4294967296", "true", "\"1\"", "", "1 2", "[1]"]
        {
            assert_eq!(vocabulary_of(&format!("{{\"a\": {number}}}")), None, "{number}");
        }
        for object in ["{\"a\": 1, \"b\"", "{\"a\": 1, \"b\": 1}", "{\"a\": 1,}", "{\"a\" 1}", "{1: 1}", "[]"]
        {
            assert_eq!(vocabulary_of(object), None, "{object}");
        }
        assert_eq!(find_model(b"{\"vocab\": {\"\\\"merges\\\": []\": 0}}"), None);
        assert_eq!(find_model(b"{\"vocab\": {\"a\": 0, \"merges\": []}}"), None);
    }
}
