//! Cuts the list of merges out of a `tokenizer.json`: it is most of the file, and as Python's objects most of the time.

use std::ops::Range;

use memchr::{memchr3, memmem};

const KEY: &[u8] = b"\"merges\"";

/// Find the first list of merges, each a text `left right` or a list of two texts: its place, and the merges as lines
/// `left right`. `None` if there is none, or if anything in it is unusual.
pub fn find_merges(json: &[u8]) -> Option<(Range<usize>, Vec<u8>)> {
    let start = memmem::find_iter(json, KEY).find_map(|place| {
        let mut cursor = MergeCursor { json, place: place + KEY.len() };
        (cursor.take(b':') && cursor.peek()? == b'[').then_some(cursor.place)
    })?;
    let mut cursor = MergeCursor { json, place: start };
    let lines = cursor.merges()?;
    std::str::from_utf8(&lines).ok()?;
    Some((start..cursor.place, lines))
}

struct MergeCursor<'a> {
    json: &'a [u8],
    place: usize,
}

impl MergeCursor<'_> {
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

    fn merges(&mut self) -> Option<Vec<u8>> {
        let mut lines = Vec::new();
        if !self.take(b'[') {
            return None;
        }
        if self.take(b']') {
            return Some(lines);
        }
        let are_texts = self.peek()? == b'"';
        loop {
            let line = lines.len();
            if are_texts {
                self.text(&mut lines)?;
            } else {
                self.pair(&mut lines)?;
            }
            if lines[line..].iter().filter(|&&byte| byte == b' ').count() != 1 {
                return None;
            }
            if self.take(b']') {
                return Some(lines);
            }
            lines.push(b'\n');
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
        out.push(b' ');
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
        match kind {
            b'"' | b'\\' | b'/' => out.push(kind),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'u' => {
                let digits = std::str::from_utf8(self.json.get(self.place..self.place + 4)?).ok()?;
                let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
                // Half a surrogate pair is no character, and a line break would end the line.
                let code = u32::from_str_radix(digits, 16).ok().filter(|&code| is_number && code != 0x0A)?;
                let character = char::from_u32(code)?;
                self.place += 4;
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(json: &str) -> Option<(&str, String)> {
        let (place, lines) = find_merges(json.as_bytes())?;
        Some((&json[place], String::from_utf8(lines).unwrap()))
    }

    #[test]
    fn merges_of_either_form_become_lines() {
        let texts = r#"["a b", "\u0120 \"", "\\ é"]"#;
        let json = format!(r#"{{"note": "\"merges\": [1]", "model": {{"merges" : {texts}}}}}"#);
        assert_eq!(found(&json).unwrap(), (texts, "a b\n\u{120} \"\n\\ é".to_owned()));
        let pairs = "[[\"a\",\"b\"],\n [ \"ab\" , \"\\u00e9\" ] ]";
        assert_eq!(found(&format!("{{\"merges\":{pairs}}}")).unwrap(), (pairs, "a b\nab é".to_owned()));
        assert_eq!(found(r#"{"merges": [ ]}"#).unwrap(), ("[ ]", String::new()));
    }

    #[test]
    fn what_is_unusual_is_left_to_others() {
        for list in [
            r#"["ab"]"#,
            r#"["a b c"]"#,
            r#"[["a b", "c"]]"#,
            r#"[["a"]]"#,
            r#"[["a", "b", "c"]]"#,
            r#"["a b", ["a", "b"]]"#,
            r#"["a b""#,
            r#"["a b",]"#,
            r#"["a \ud800"]"#,
            r#"["a \n"]"#,
            r#"["a \u000a"]"#,
            r#"["a \u+061"]"#,
            "[\"a \t\"]",
            "[1]",
            "[null]",
            "[",
            r#"["a b"#,
            r#"["a \u00"#,
            "[\"a \n\"]",
        ] {
            assert_eq!(found(&format!("{{\"merges\": {list}")), None, "{list}");
        }
        assert_eq!(find_merges(b"{\"merges\": [\"a \xFF\"]}"), None);
        assert_eq!(find_merges(b"{\"merges\": {}}"), None);
        assert_eq!(find_merges(b"{}"), None);
    }
}
