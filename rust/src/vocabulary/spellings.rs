//! Finds the number of a token by its bytes, for reading files of other libraries.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::key::hasher::Keyed;

/// The numbers of tokens by their bytes.
pub struct Spellings<'a>(HashMap<&'a [u8], u32, Keyed>);

/// The number that means "no token".
pub const NO_TOKEN: u32 = u32::MAX;

impl<'a> Spellings<'a> {
    /// Builds the table. Of equal tokens, the first is found.
    pub fn new(tokens: &[&'a [u8]]) -> Result<Self> {
        if tokens.len() >= NO_TOKEN as usize {
            let count = tokens.len();
            let message = format!("{count} tokens are too many: their numbers must fit 32 bits");
            return Err(Error::Value(message));
        }
        let mut numbers = HashMap::default();
        numbers.try_reserve(tokens.len()).map_err(|reason| Error::Memory(reason.to_string()))?;
        for (number, &token) in (0..).zip(tokens) {
            numbers.entry(token).or_insert(number);
        }
        Ok(Self(numbers))
    }

    /// Returns the number of the token with these bytes, or `NO_TOKEN`.
    #[inline]
    pub fn find(&self, token: &[u8]) -> u32 {
        self.0.get(token).copied().unwrap_or(NO_TOKEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_found_by_its_bytes_and_nothing_else_is() {
        let spelled: Vec<Vec<u8>> =
            (0..5000u32).map(|number| number.to_string().repeat(3).into()).collect();
        let tokens: Vec<&[u8]> = spelled.iter().map(Vec::as_slice).collect();
        let table = Spellings::new(&tokens).unwrap();
        assert!((0..).zip(&tokens).all(|(number, token)| table.find(token) == number));
        for other in [&b""[..], b"0", b"000000", b"5000 5000"] {
            assert_eq!(table.find(other), NO_TOKEN);
        }
    }

    #[test]
    fn of_equal_tokens_the_first_is_found() {
        let table = Spellings::new(&[b"", b"a", b"b", b"a"])
            .map(|table| [table.find(b"a"), table.find(b"")]);
        assert_eq!(table.unwrap(), [1, 0]);
        assert_eq!(Spellings::new(&[]).unwrap().find(b"a"), NO_TOKEN);
    }
}
