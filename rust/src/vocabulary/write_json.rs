//! Writes the long lists of an artifact as JSON, without a Python object for each number;
//! [`cut_json`](super::cut_json) reads them.

use crate::error::Result;
use crate::memory;

/// How tokens are written, each with its id.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TokenForm {
    /// `{"97":[97],"256":[97,98]}`, sorted as texts: `256` is before `97`.
    ListsByIds,
    /// `{"97":"61","256":"6162"}`, sorted as texts.
    HexadecimalByIds,
    /// `[[97,"61"],[256,"6162"]]`, in the order of the slice.
    HexadecimalRows,
}

/// The most bytes that a number of 32 bits has in decimal.
const DIGITS: usize = 10;

/// The most bytes for a byte of a token: three digits and a comma.
const PER_BYTE: usize = 4;

/// The most bytes for a token besides its own: quotes, brackets, a colon and commas.
const PER_TOKEN: usize = DIGITS + 8;

/// Writes a list of numbers.
pub fn numbers(numbers: &[u32]) -> Result<Vec<u8>> {
    let mut json = Json::with_room(numbers.len() * (DIGITS + 1))?;
    json.enclosed(*b"[]", numbers, |json, &number| json.decimal(number));
    Ok(json.bytes)
}

/// Writes a list of lists of two numbers.
pub fn pairs(pairs: &[[u32; 2]]) -> Result<Vec<u8>> {
    let mut json = Json::with_room(pairs.len() * (2 * DIGITS + 4))?;
    json.enclosed(*b"[]", pairs, |json, pair| {
        json.enclosed(*b"[]", pair, |json, &number| json.decimal(number));
    });
    Ok(json.bytes)
}

/// Writes tokens with their ids.
pub fn tokens(tokens: &[(u32, &[u8])], form: TokenForm) -> Result<Vec<u8>> {
    let length: usize = tokens.iter().map(|(_, token)| token.len()).sum();
    let mut json = Json::with_room(tokens.len() * PER_TOKEN + length * PER_BYTE)?;
    if form == TokenForm::HexadecimalRows {
        json.enclosed(*b"[]", tokens, |json, &(id, token)| {
            json.bytes.push(b'[');
            json.decimal(id);
            json.bytes.push(b',');
            json.hexadecimal(token);
            json.bytes.push(b']');
        });
        return Ok(json.bytes);
    }
    let mut sorted = memory::gathered(tokens.iter().copied())?;
    sorted.sort_by_cached_key(|&(id, _)| Decimal::of(id).as_text());
    json.enclosed(*b"{}", &sorted, |json, &(id, token)| {
        json.bytes.push(b'"');
        json.decimal(id);
        json.bytes.extend_from_slice(b"\":");
        if form == TokenForm::HexadecimalByIds {
            json.hexadecimal(token);
        } else {
            json.enclosed(*b"[]", token, |json, &byte| json.decimal(byte.into()));
        }
    });
    Ok(json.bytes)
}

/// JSON that is being written, in memory that is enough for all of it.
struct Json {
    bytes: Vec<u8>,
}

impl Json {
    fn with_room(most: usize) -> Result<Self> {
        let brackets = 2;
        let mut bytes = Vec::new();
        memory::reserve(&mut bytes, most + brackets)?;
        Ok(Self { bytes })
    }

    /// Writes items between brackets, with commas between them.
    fn enclosed<T>(
        &mut self,
        [open, close]: [u8; 2],
        items: &[T],
        mut write: impl FnMut(&mut Self, &T),
    ) {
        self.bytes.push(open);
        for (place, item) in items.iter().enumerate() {
            if place > 0 {
                self.bytes.push(b',');
            }
            write(self, item);
        }
        self.bytes.push(close);
    }

    fn decimal(&mut self, number: u32) {
        self.bytes.extend_from_slice(Decimal::of(number).digits());
    }

    fn hexadecimal(&mut self, token: &[u8]) {
        const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";
        self.bytes.push(b'"');
        for &byte in token {
            let [high, low] = [byte >> 4, byte & 15];
            self.bytes.extend([high, low].map(|half| HEXADECIMAL[usize::from(half)]));
        }
        self.bytes.push(b'"');
    }
}

/// A number in decimal: its digits, after zero bytes.
struct Decimal {
    digits: [u8; DIGITS],
    start: usize,
}

impl Decimal {
    fn of(mut number: u32) -> Self {
        let mut digits = [0; DIGITS];
        let mut start = DIGITS;
        loop {
            start -= 1;
            digits[start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return Self { digits, start };
            }
        }
    }

    fn digits(&self) -> &[u8] {
        &self.digits[self.start..]
    }

    /// Returns the digits before the zero bytes, which are less than any digit: so arrays have the
    /// order of texts.
    fn as_text(&self) -> [u8; DIGITS] {
        let mut text = self.digits;
        text.rotate_left(self.start);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: Result<Vec<u8>>) -> String {
        String::from_utf8(json.unwrap()).unwrap()
    }

    #[test]
    fn numbers_are_written_in_decimal() {
        assert_eq!(text(numbers(&[])), "[]");
        assert_eq!(text(numbers(&[0, 9, 10, 1_000, u32::MAX])), "[0,9,10,1000,4294967295]");
        assert_eq!(text(pairs(&[[1, 20], [300, 4]])), "[[1,20],[300,4]]");
    }

    #[test]
    fn tokens_are_sorted_by_the_text_of_their_ids() {
        let all: [(u32, &[u8]); 4] = [(9, b"\t"), (97, b"a"), (256, b"ab"), (1_000, b"")];
        let written = |form| text(tokens(&all, form));
        assert_eq!(
            written(TokenForm::ListsByIds),
            r#"{"1000":[],"256":[97,98],"9":[9],"97":[97]}"#
        );
        assert_eq!(
            written(TokenForm::HexadecimalByIds),
            r#"{"1000":"","256":"6162","9":"09","97":"61"}"#
        );
        assert_eq!(
            written(TokenForm::HexadecimalRows),
            r#"[[9,"09"],[97,"61"],[256,"6162"],[1000,""]]"#
        );
    }
}
