//! The tokens of a training run: their lengths, and a lookup of the token with certain bytes.
//!
//! Bytes are stored only if they decide ties or tokens are shared.

use crate::error::{Error, Result};
use crate::key::HashSeed;
use crate::key::table::{HashTable, TableSlot};
use crate::memory;
use crate::memory::cells::{Cells, Plain};
use crate::prefetch::prefetch;

/// The number of a token inside the merge stage. Two codes are reserved; those of the symbols
/// follow.
pub type Code = u32;

/// The slot between two words, before the first and after the last.
pub const BOUNDARY: Code = 0;
/// The slot where a token began that is now inside another.
pub const HOLE: Code = 1;
/// The code of symbol 0.
pub const FIRST: Code = 2;

/// All tokens, indexed by code.
pub struct Tokens {
    tokens: Cells<Token>,
    /// The number of slots of each token.
    spans: Cells<u32>,
    /// The bytes of all tokens, concatenated, or of none.
    bytes: Vec<u8>,
    keeps_bytes: bool,
    /// If tokens are shared: the tokens that merges may result in.
    shared: Option<HashTable<Shared>>,
    seed: HashSeed,
}

/// A token.
#[derive(Clone, Copy, Default)]
struct Token {
    /// The number of its bytes.
    length: u64,
    /// If its bytes are stored: where they start, and the first eight as a number of the same order
    /// (padded with zeros).
    start: usize,
    prefix: u64,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for Token {}

/// The code of a token, and some bits of the hash of its bytes.
#[derive(Clone, Copy, Default)]
struct Shared {
    code: Code,
    hash: u32,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for Shared {}

impl TableSlot for Shared {
    fn is_free(&self) -> bool {
        self.code < FIRST
    }

    fn hash(&self, seed: HashSeed) -> u64 {
        seed.hash_number(self.hash.into())
    }
}

impl Tokens {
    /// Returns the base symbols as tokens. `keeps_bytes` stores the bytes of all tokens, to decide
    /// ties; `shares` lets a merge result in an existing token of equal bytes.
    pub fn new<'a>(
        symbols: impl Iterator<Item = &'a [u8]> + Clone,
        keeps_bytes: bool,
        shares: bool,
    ) -> Result<Self> {
        let mut tokens = Self {
            tokens: Cells::default(),
            spans: Cells::default(),
            bytes: Vec::new(),
            keeps_bytes: keeps_bytes || shares,
            shared: shares.then(HashTable::default),
            seed: HashSeed::of_process(),
        };
        for _ in 0..FIRST {
            tokens.push(1, Token::default())?;
        }
        // When different merges may result in the same token, its span must follow from its bytes.
        // One slot per symbol guarantees that if all symbols have one length; otherwise each byte
        // needs a slot.
        let first_length = symbols.clone().next().map_or(1, <[u8]>::len);
        let is_uniform = symbols.clone().all(|symbol| symbol.len() == first_length);
        for symbol in symbols {
            if shares && symbol.is_empty() {
                return Err(Error::Value("symbols: an empty symbol cannot be merged".to_string()));
            }
            let span = if !shares || is_uniform { 1 } else { symbol.len() };
            let start = tokens.bytes.len();
            if tokens.keeps_bytes {
                memory::extend(&mut tokens.bytes, symbol)?;
            }
            // Among equal symbols, merges result in the first: a later one is not shared.
            tokens.share(start)?;
            let mut prefix = [0; 8];
            for (of_prefix, &byte) in prefix.iter_mut().zip(&tokens.bytes[start..]) {
                *of_prefix = byte;
            }
            let prefix = u64::from_be_bytes(prefix);
            tokens.push(span as u64, Token { length: symbol.len() as u64, start, prefix })?;
        }
        Ok(tokens)
    }

    /// Makes room for more tokens, so that they need not be moved.
    pub fn make_room(&mut self, more: usize) -> Result<()> {
        self.spans.reserve(more)?;
        self.tokens.reserve(more)
    }

    /// Returns the number of codes in use.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Returns the length of the token in bytes.
    pub fn length(&self, code: Code) -> u64 {
        self.tokens[code as usize].length
    }

    /// Returns the number of slots of the token.
    pub fn span(&self, code: Code) -> u32 {
        self.spans[code as usize]
    }

    /// Returns the spans of all tokens.
    pub fn spans(&self) -> &[u32] {
        &self.spans
    }

    /// Returns the token's bytes, which must be stored, and their prefix as a number, which is
    /// compared first.
    pub fn bytes(&self, code: Code) -> (u64, &[u8]) {
        let Token { length, start, prefix, .. } = self.tokens[code as usize];
        (prefix, &self.bytes[start..][..length as usize])
    }

    /// Returns the token that a merge results in, and whether it is new.
    pub fn join(&mut self, left: Code, right: Code) -> Result<(Code, bool)> {
        let first = self.tokens[left as usize];
        let second = self.tokens[right as usize];
        let start = self.bytes.len();
        if self.keeps_bytes {
            memory::reserve(&mut self.bytes, (first.length + second.length) as usize)?;
            for part in [first, second] {
                self.bytes.extend_from_within(part.start..part.start + part.length as usize);
            }
        }
        if let Some(existing) = self.share(start)? {
            self.bytes.truncate(start);
            return Ok((existing, false));
        }
        let span = u64::from(self.span(left)) + u64::from(self.span(right));
        let length = first.length.saturating_add(second.length);
        let prefix = first.prefix | second.prefix.unbounded_shr(8 * first.length.min(8) as u32);
        Ok((self.push(span, Token { length, start, prefix })?, true))
    }

    /// Prefetches two tokens that will be joined.
    pub fn prefetch(&self, left: Code, right: Code) {
        prefetch(&self.tokens, left as usize);
        prefetch(&self.tokens, right as usize);
    }

    /// Prefetches the bytes of two tokens that will be joined, if they are stored.
    pub fn prefetch_bytes(&self, left: Code, right: Code) {
        prefetch(&self.bytes, self.tokens[left as usize].start);
        prefetch(&self.bytes, self.tokens[right as usize].start);
    }

    /// Adds a token. If bytes are kept, its bytes must be stored before.
    fn push(&mut self, span: u64, token: Token) -> Result<Code> {
        let too_many = || Error::Memory("the number of tokens does not fit 32 bits".to_string());
        let code = Code::try_from(self.tokens.len()).map_err(|_| too_many())?;
        self.spans.push(u32::try_from(span).map_err(|_| too_many())?)?;
        self.tokens.push(token)?;
        Ok(code)
    }

    /// If tokens are shared, returns the token with the stored bytes from `start` on. If there is
    /// none, the next token, which has these bytes, becomes shared.
    fn share(&mut self, start: usize) -> Result<Option<Code>> {
        let Self { tokens, bytes, shared: Some(shared), seed, .. } = self else { return Ok(None) };
        if shared.growth().is_some() {
            shared.grow()?;
        }
        let text = &bytes[start..];
        let new = Shared { code: tokens.len() as Code, hash: seed.hash_bytes(text) as u32 };
        let is_same = |entry: &Shared| {
            let token = &tokens[entry.code as usize];
            entry.hash == new.hash && &bytes[token.start..][..token.length as usize] == text
        };
        let (entry, is_new) = shared.insert(new, is_same)?;
        Ok((!is_new).then_some(entry.code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters() -> Tokens {
        Tokens::new([&b"a"[..], b"b", b"c"].into_iter(), false, true).unwrap()
    }

    #[test]
    fn a_token_is_found_by_its_bytes_however_it_is_made() {
        let mut tokens = letters();
        let [a, b, c] = [FIRST, FIRST + 1, FIRST + 2];
        let (ab, _) = tokens.join(a, b).unwrap();
        let (bc, _) = tokens.join(b, c).unwrap();
        let (abc, is_new) = tokens.join(ab, c).unwrap();
        assert!(is_new);
        assert_eq!(tokens.join(a, bc).unwrap(), (abc, false));
        assert_eq!([bc, abc].map(|code| tokens.bytes(code).1), [&b"bc"[..], b"abc"]);
    }
}
