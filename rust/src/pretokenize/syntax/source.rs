//! Reads the characters of a pattern, one after the other, and what all dialects spell alike.

use std::fmt::Display;

use super::refusal;
use crate::error::Result;
use crate::pretokenize::set::LAST;

/// The part of a pattern that is not yet parsed.
pub struct Source<'s> {
    pub whole: &'s str,
    /// Where the next character is.
    pub place: usize,
    /// Whose pattern it is, for messages.
    pub reader: &'static str,
}

impl<'s> Source<'s> {
    pub fn new(whole: &'s str, reader: &'static str) -> Self {
        Self { whole, place: 0, reader }
    }

    pub fn rest(&self) -> &'s str {
        &self.whole[self.place..]
    }

    pub fn since(&self, place: usize) -> &'s str {
        &self.whole[place..self.place]
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub fn next(&mut self) -> Option<char> {
        let sign = self.peek()?;
        self.place += sign.len_utf8();
        Some(sign)
    }

    /// Consumes a text if it comes next.
    pub fn take(&mut self, expected: &str) -> bool {
        let is_next = self.rest().starts_with(expected);
        if is_next {
            self.place += expected.len();
        }
        is_next
    }

    /// Consumes characters while they satisfy a condition.
    pub fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'s str {
        let rest = self.rest();
        let end = rest.find(|sign| !belongs(sign)).unwrap_or(rest.len());
        self.place += end;
        &rest[..end]
    }

    pub fn refuse<T>(&self, place: usize, reason: impl Display) -> Result<T> {
        let character = self.whole[..place].chars().count();
        Err(refusal(self.whole, &format!("{}{reason} (at character {character})", self.reader)))
    }

    /// Parses a code point of this many hexadecimal digits, or of any number in braces.
    pub fn hexadecimal(
        &mut self,
        place: usize,
        digits: usize,
        may_have_braces: bool,
    ) -> Result<u32> {
        let is_braced = may_have_braces && self.take("{");
        let written;
        let is_whole;
        if is_braced {
            written = self.take_while(|sign| sign.is_ascii_hexdigit());
            is_whole = self.take("}");
        } else {
            written = self.rest().get(..digits).unwrap_or("");
            is_whole = written.bytes().all(|digit| digit.is_ascii_hexdigit());
        }
        match u32::from_str_radix(written, 16) {
            Ok(code_point) if is_whole && code_point <= LAST => {
                self.place += if is_braced { 0 } else { digits };
                Ok(code_point)
            }
            _ => self.refuse(
                place,
                format!("{digits} hexadecimal digits of a code point were expected"),
            ),
        }
    }

    /// Parses `{...}` of a property, or its only letter, after the letter p. Returns whether it is
    /// negated, its name and its value.
    pub fn property(&mut self) -> Option<(bool, &'s str, Option<&'s str>)> {
        if !self.take("{") {
            let letter = self.rest().get(..1).filter(|letter| "CLMNPSZ".contains(letter))?;
            self.place += 1;
            return Some((false, letter, None));
        }
        let is_negated = self.take("^");
        let name =
            self.take_while(|sign| sign.is_ascii_alphanumeric() || " &_-.:=/".contains(sign));
        let (name, value) = match name.split_once([':', '=']) {
            Some((name, value)) => (name, Some(value)),
            None => (name, None),
        };
        self.take("}").then_some((is_negated, name, value))
    }
}
