//! Conditions on the bytes of the tokens that merges create.
//!
//! A pair is asked when it is frequent enough to be followed, not at each of its occurrences: the
//! bytes of both tokens are joined for it.

use std::collections::HashSet;

use super::tokens::{Code, Tokens};
use crate::error::Result;
use crate::key::hasher::Keyed;
use crate::memory;

/// Texts that are looked up.
pub type Texts = HashSet<Vec<u8>, Keyed>;

/// What the bytes of a token that a merge results in must fulfil.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    /// They hold at most this many words: runs of bytes other than spaces.
    pub max_words: Option<u64>,
    /// They contain none of these texts.
    pub without: Vec<Vec<u8>>,
    /// They are valid UTF-8, or the first bytes of one character and nothing else.
    pub whole_characters: bool,
    /// They are none of these, and no token of an earlier merge.
    pub taken: Option<Texts>,
}

impl Conditions {
    /// Whether there is any condition.
    pub fn any(&self) -> bool {
        self.max_words.is_some()
            || !self.without.is_empty()
            || self.whole_characters
            || self.taken.is_some()
    }

    /// Whether the token of a pair fulfils all conditions. If there is any, the bytes of tokens
    /// must be stored.
    pub fn allow(&self, tokens: &Tokens, left: Code, right: Code) -> Result<bool> {
        if !self.any() {
            return Ok(true);
        }
        let mut token = Vec::new();
        for part in [left, right] {
            memory::extend(&mut token, tokens.bytes(part).1)?;
        }
        Ok(self.allow_token(&token))
    }

    /// Whether a token with these bytes fulfils all conditions.
    pub fn allow_token(&self, token: &[u8]) -> bool {
        if self.max_words.is_some_and(|most| words(token) > most) {
            return false;
        }
        if self.without.iter().any(|text| memchr::memmem::find(token, text).is_some()) {
            return false;
        }
        if self.whole_characters && !is_of_whole_characters(token) {
            return false;
        }
        self.taken.as_ref().is_none_or(|taken| !taken.contains(token))
    }

    /// Whether a pair that was allowed when it was counted may be refused now.
    pub fn may_change(&self) -> bool {
        self.taken.is_some()
    }

    /// Notes the token that a merge resulted in.
    pub fn note(&mut self, token: &[u8]) {
        if let Some(taken) = &mut self.taken {
            taken.insert(token.to_vec());
        }
    }
}

/// Returns the number of runs of bytes other than spaces.
fn words(token: &[u8]) -> u64 {
    let runs = token.split(|&byte| byte == b' ');
    runs.filter(|run| !run.is_empty()).count() as u64
}

fn is_of_whole_characters(token: &[u8]) -> bool {
    match std::str::from_utf8(token) {
        Ok(_) => true,
        // The end is missing, and nothing comes before.
        Err(error) => error.error_len().is_none() && error.valid_up_to() == 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_bytes_other_than_spaces() {
        let texts = [&b""[..], b" ", b"a", b" a", b"a ", b"a b", b" a  b ", b"a\nb"];
        assert_eq!(texts.map(words), [0, 0, 1, 1, 1, 2, 2, 1]);
    }

    #[test]
    fn whole_characters_are_utf8_or_the_beginning_of_one_character() {
        let whole = [&b"a"[..], b"", "é€𝄞".as_bytes(), b"\xC3", b"\xE2\x82", b"\xF0\x9D\x84"];
        assert!(whole.iter().all(|token| is_of_whole_characters(token)));
        let partial =
            [&b"\x82"[..], b"a\xC3", b"\xC3a", b"\xE2\x82\xE2", b"\xE0\x80", b"\xED\xA0", b"\xFF"];
        assert!(!partial.iter().any(|token| is_of_whole_characters(token)));
    }
}
