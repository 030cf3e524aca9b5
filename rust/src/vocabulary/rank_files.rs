//! Reads lines of a token in base64, a space and a number, as tiktoken's files have them.
//!
//! ```text
//! YWI= 1
//! YQ== 0      tokens: 0 a, 1 ab
//! ```

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::TokenList;
use super::check::shown;
use crate::error::{Error, Result};

/// A line that was read.
struct Line {
    number: u32,
    /// The number of the line itself, from 1.
    line: u32,
    /// The place among the decoded bytes.
    token: Range<u32>,
}

/// Reads lines of a token in base64, spelled in the one canonical way, a space and a number; `=` is
/// an empty token. Returns the tokens in the order of their numbers, and the numbers of empty ones.
pub fn numbered_lines(content: &[u8], largest: u32) -> Result<(TokenList, Vec<u32>)> {
    if u32::try_from(content.len()).is_err() {
        return Err(Error::Value(format!(
            "{} bytes are too many for a file of ranks",
            content.len()
        )));
    }
    let mut decoded = Vec::with_capacity(content.len() / 2);
    let mut lines = Vec::new();
    for (line, text) in (1_u32..).zip(content.split(|&byte| byte == b'\n')) {
        if text.is_empty() {
            continue;
        }
        let wrong = |part: &[u8], expected: &str| {
            Error::Value(format!("line {line}: {} is not {expected}", shown(part)))
        };
        let end = text.iter().rposition(|&byte| byte != b'\r').map_or(0, |last| last + 1);
        let text = &text[..end];
        let space = text.iter().position(|&byte| byte == b' ').unwrap_or(text.len());
        let spelled = &text[..space];
        let digits = text.get(space + 1..).unwrap_or_default();

        let start = decoded.len() as u32;
        decode(spelled, &mut decoded).ok_or_else(|| wrong(spelled, "the base64 of a token"))?;
        let token = start..decoded.len() as u32;
        let number = number(digits, largest);
        let number = number.ok_or_else(|| wrong(digits, &format!("a rank from 0 to {largest}")))?;
        lines.push(Line { number, line, token });
    }
    // Of equal numbers, the later line is the wrong one.
    lines.sort_unstable_by_key(|line| (line.number, line.line));

    let mut tokens = TokenList::default();
    let mut empty = Vec::new();
    let mut last = None;
    for Line { number, line, token } in lines {
        if last.replace(number) == Some(number) {
            return Err(Error::Value(format!("line {line}: rank {number} appears twice")));
        }
        if token.is_empty() {
            empty.push(number);
        } else {
            tokens.push(number, &decoded[token.start as usize..token.end as usize]);
        }
    }
    Ok((tokens, empty))
}

/// Reads a number of at most ten digits.
fn number(digits: &[u8], largest: u32) -> Option<u32> {
    let has_length = (1..=10).contains(&digits.len());
    if !has_length || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = str::from_utf8(digits).ok()?.parse().ok()?;
    (number <= largest).then_some(number)
}

/// Appends the bytes that base64 spells, with its padding.
fn decode(spelled: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    match spelled {
        b"" => None,
        b"=" => Some(()),
        _ => STANDARD.decode_vec(spelled, bytes).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(content: &str) -> std::result::Result<Vec<(u32, String)>, String> {
        let (read, empty) =
            numbered_lines(content.as_bytes(), 999).map_err(|error| error.to_string())?;
        let starts = [0].into_iter().chain(read.ends.iter().copied());
        let texts = starts.zip(&read.ends).map(|(start, &end)| {
            String::from_utf8_lossy(&read.joined[start as usize..end as usize]).into_owned()
        });
        let empty = empty.iter().map(|&number| (number, String::new()));
        Ok(read.ids.iter().copied().zip(texts).chain(empty).collect())
    }

    #[test]
    fn lines_are_tokens_in_the_order_of_their_numbers() {
        let expected = [(0, "a"), (2, "ab"), (7, "abc"), (999, "abcd"), (8, "")];
        let expected = expected.map(|(number, text)| (number, text.to_owned()));
        for end in ["", "\n", "\r\n", "\n\n"] {
            let lines = format!("YWI= 2\nYQ== 0\n\nYWJj 7\r\n= 8\nYWJjZA== 999{end}");
            assert_eq!(tokens(&lines).unwrap(), expected);
        }
        assert_eq!(tokens(""), Ok(vec![]));
    }

    #[test]
    fn a_wrong_line_is_told() {
        for wrong in [
            "YQ= 0",
            "YQ 0",
            "YR== 0",
            "YWJ= 0",
            "==== 0",
            "Y=== 0",
            "Y=Q= 0",
            "YQ==YQ== 0",
            "Y!== 0",
            " 0",
        ] {
            let spelled = &wrong[..wrong.len() - 2];
            let said = format!("line 2: b'{spelled}' is not the base64 of a token");
            assert_eq!(tokens(&format!("YQ== 7\n{wrong}")), Err(said));
        }
        for wrong in ["", "x", " 0", "1000", "00000000000", "-1", "+1", "1\r "] {
            let said = tokens(&format!("YQ== {wrong}")).unwrap_err();
            assert!(said.ends_with("is not a rank from 0 to 999"), "{said}");
        }
        assert_eq!(
            tokens("YQ== 1\nYg== 0\nYg== 1"),
            Err("line 3: rank 1 appears twice".to_owned())
        );
    }
}
