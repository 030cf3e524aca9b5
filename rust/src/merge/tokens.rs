//! The tokens of a training run: their lengths, and a lookup of the token that spells given bytes.
//!
//! Bytes are stored only where ties are decided by them. For shared tokens, a digest of the bytes of a merge is computed
//! from the digests of its two tokens, and finds a token of equal bytes, if there is one. Equal digests are compared by
//! their bytes, so a collision costs time but never changes the result.

use crate::error::{Error, Result};
use crate::key::HashSeed;
use crate::key::table::{HashTable, TableSlot};
use crate::memory;
use crate::memory::cells::Plain;
use crate::memory::rows::Rows;
use crate::prefetch::prefetch;

/// The number of a token inside the merge stage. Two codes are reserved; those of the symbols follow.
pub type Code = u32;

/// The slot between two words, before the first and after the last.
pub const BOUNDARY: Code = 0;
/// The slot where a token began that is now inside another.
pub const HOLE: Code = 1;
/// The code of symbol 0.
pub const FIRST: Code = 2;

/// All tokens, indexed by code.
pub struct Tokens {
    tokens: Rows<Token>,
    spellings: Rows<Spelling>,
    /// The bytes of the symbols, concatenated; with `keeps_bytes`, those of all tokens.
    bytes: Vec<u8>,
    keeps_bytes: bool,
    /// If tokens are shared: those that merges may result in.
    shared: Option<HashTable<SharedToken>>,
}

/// What a merge needs to know of its two tokens: half a cache line.
#[derive(Clone, Copy)]
struct Token {
    digest: Digest,
    /// In bytes.
    length: u64,
    /// In slots.
    span: u32,
}

// SAFETY: it consists of integers and padding, for which any bytes are valid.
unsafe impl Plain for Token {}

/// How the bytes of a token are found.
#[derive(Clone, Copy)]
struct Spelling {
    /// The two tokens that it was first made of; `BOUNDARY` for symbols.
    parents: [Code; 2],
    /// If its bytes are stored: their start, and the first eight as a number of the same order (padded with zeros).
    start: usize,
    prefix: u64,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for Spelling {}

impl Tokens {
    /// Starts with the base symbols. `keeps_bytes` stores the bytes of all tokens, to decide ties; `shares` lets a merge
    /// result in an existing token of equal bytes.
    pub fn new<'a>(
        symbols: impl Iterator<Item = &'a [u8]> + Clone,
        keeps_bytes: bool,
        shares: bool,
    ) -> Result<Self> {
        let shared = if shares { Some(HashTable::with_capacity(0)?) } else { None };
        let point = HashSeed::random().hash_number(0) % PRIME;
        let mut tokens = Self {
            tokens: Rows::default(),
            spellings: Rows::default(),
            bytes: Vec::new(),
            keeps_bytes,
            shared,
        };
        for _ in 0..FIRST {
            tokens.push(0, 1, [BOUNDARY; 2], Digest::EMPTY)?;
        }
        // When different merges may result in the same token, its span must follow from its bytes. One slot per symbol
        // guarantees that if all symbols have one length; otherwise each byte needs a slot.
        let first_length = symbols.clone().next().map_or(1, <[u8]>::len);
        let uniform = symbols.clone().all(|symbol| symbol.len() == first_length);
        for symbol in symbols {
            if shares && symbol.is_empty() {
                return Err(Error::Value("symbols: an empty symbol cannot be merged".to_string()));
            }
            let span = if !shares || uniform { 1 } else { symbol.len() };
            let digest = if shares { Digest::of(symbol, point) } else { Digest::EMPTY };
            // Among equal symbols, merges result in the first.
            let known = tokens.find(digest, |code| tokens.bytes(code).1 == symbol);
            let code = tokens.push(symbol.len() as u64, span as u64, [BOUNDARY; 2], digest)?;
            memory::extend(&mut tokens.bytes, symbol)?;
            tokens.note_bytes();
            if known.is_none() {
                tokens.share(code)?;
            }
        }
        Ok(tokens)
    }

    /// Makes room for more tokens, so that they need not be moved.
    pub fn make_room(&mut self, more: usize) -> Result<()> {
        self.tokens.reserve(more)?;
        self.spellings.reserve(more)
    }

    /// The number of codes in use.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The length of the token in bytes.
    pub fn length(&self, code: Code) -> u64 {
        self.tokens[code as usize].length
    }

    /// The number of slots of the token.
    pub fn span(&self, code: Code) -> u32 {
        self.tokens[code as usize].span
    }

    /// The spans of all tokens.
    pub fn spans(&self) -> Vec<u32> {
        self.tokens.iter().map(|token| token.span).collect()
    }

    /// The token's bytes, which must be stored, and before them their prefix.
    pub fn bytes(&self, code: Code) -> (u64, &[u8]) {
        let Spelling { start, prefix, .. } = self.spellings[code as usize];
        (prefix, &self.bytes[start..][..self.length(code) as usize])
    }

    /// The token that a merge results in, and whether it is new.
    pub fn join(&mut self, left: Code, right: Code) -> Result<(Code, bool)> {
        let [first, second] = [left, right].map(|code| self.tokens[code as usize]);
        let digest = if self.shared.is_some() { first.digest.concat(second.digest) } else { Digest::EMPTY };
        let is_it = |code| self.spell(&[code]).eq(self.spell(&[left, right]));
        if let Some(known) = self.find(digest, is_it) {
            return Ok((known, false));
        }
        let span = u64::from(first.span) + u64::from(second.span);
        let code = self.push(first.length.saturating_add(second.length), span, [left, right], digest)?;
        if self.keeps_bytes {
            memory::reserve(&mut self.bytes, (first.length + second.length) as usize)?;
            for (code, part) in [(left, first), (right, second)] {
                let start = self.spellings[code as usize].start;
                self.bytes.extend_from_within(start..start + part.length as usize);
            }
            self.note_bytes();
        }
        self.share(code)?;
        Ok((code, true))
    }

    /// Prefetches two tokens that will be joined.
    pub fn prefetch(&self, left: Code, right: Code) {
        [left, right].iter().for_each(|&code| prefetch(&self.tokens, code as usize));
    }

    /// The bytes of tokens, concatenated.
    fn spell(&self, tokens: &[Code]) -> impl Iterator<Item = u8> {
        let mut stack: Vec<Code> = tokens.iter().rev().copied().collect();
        let symbols = std::iter::from_fn(move || {
            loop {
                let code = stack.pop()?;
                match self.spellings[code as usize].parents {
                    [BOUNDARY, _] => return Some(code),
                    [first, second] => stack.extend([second, first]),
                }
            }
        });
        symbols.flat_map(|code| self.bytes(code).1.iter().copied())
    }

    /// Adds a token, whose bytes come next if they are stored.
    fn push(&mut self, length: u64, span: u64, parents: [Code; 2], digest: Digest) -> Result<Code> {
        let too_many = || Error::Memory("the number of tokens does not fit 32 bits".to_string());
        let code = Code::try_from(self.tokens.len()).map_err(|_| too_many())?;
        let span = u32::try_from(span).map_err(|_| too_many())?;
        self.tokens.push(Token { digest, length, span })?;
        self.spellings.push(Spelling { parents, start: self.bytes.len(), prefix: 0 })?;
        Ok(code)
    }

    /// Notes the prefix of the last token, whose bytes are stored now.
    fn note_bytes(&mut self) {
        if let Some(spelling) = self.spellings.last_mut() {
            let bytes = &self.bytes[spelling.start..];
            let mut prefix = [0; 8];
            let known = bytes.len().min(8);
            prefix[..known].copy_from_slice(&bytes[..known]);
            spelling.prefix = u64::from_be_bytes(prefix);
        }
    }

    /// The shared token with this digest that is the one.
    fn find(&self, digest: Digest, is_it: impl Fn(Code) -> bool) -> Option<Code> {
        let wanted = SharedToken { digest: digest.value, code: BOUNDARY };
        let is_same = |token: &SharedToken| token.digest == wanted.digest && is_it(token.code);
        self.shared.as_ref()?.find(&wanted, is_same).map(|token| token.code)
    }

    /// Lets merges result in a token, if tokens are shared.
    fn share(&mut self, code: Code) -> Result<()> {
        let Some(shared) = &mut self.shared else { return Ok(()) };
        let digest = self.tokens[code as usize].digest.value;
        shared.make_room()?;
        shared.insert(SharedToken { digest, code }, |_| false)?;
        Ok(())
    }
}

/// A token that merges may result in. A free slot has code 0.
#[derive(Clone, Copy, Default)]
struct SharedToken {
    digest: u64,
    code: Code,
}

// SAFETY: it consists of integers and padding, for which any bytes are valid.
unsafe impl Plain for SharedToken {}

impl TableSlot for SharedToken {
    fn is_free(&self) -> bool {
        self.code == BOUNDARY
    }

    fn hash(&self, seed: HashSeed) -> u64 {
        seed.hash_number(self.digest)
    }
}

/// A polynomial hash of bytes: the bytes are the coefficients, evaluated at a random point. The digest of a concatenation
/// follows from the digests of its parts. Different bytes hardly ever have the same digest.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Digest {
    value: u64,
    /// The point raised to the power of the number of bytes.
    shift: u64,
}

/// Digests are numbers modulo this prime.
const PRIME: u64 = (1 << PRIME_BITS) - 1;
const PRIME_BITS: u32 = 61;

/// The remainder of a number below 2^62. As 2^61 leaves 1, what is above 61 bits is added to what is below.
fn remainder(number: u64) -> u64 {
    let sum = (number & PRIME) + (number >> PRIME_BITS);
    if sum >= PRIME { sum - PRIME } else { sum }
}

/// The product of two remainders.
fn times(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    remainder((product as u64 & PRIME) + (product >> PRIME_BITS) as u64)
}

impl Digest {
    const EMPTY: Self = Self { value: 0, shift: 1 };

    fn of(bytes: &[u8], point: u64) -> Self {
        let digest_of = |&byte: &u8| Self { value: u64::from(byte) + 1, shift: point };
        bytes.iter().map(digest_of).fold(Self::EMPTY, Self::concat)
    }

    fn concat(self, next: Self) -> Self {
        let value = remainder(times(self.value, next.shift) + next.value);
        Self { value, shift: times(self.shift, next.shift) }
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
        assert_eq!(tokens.spell(&[bc, abc]).collect::<Vec<u8>>(), b"bcabc");
    }

    #[test]
    fn tokens_with_equal_digests_are_told_apart_by_their_bytes() {
        let mut tokens = letters();
        tokens.tokens.iter_mut().for_each(|token| token.digest.shift = 0);
        let [a, b, c] = [FIRST, FIRST + 1, FIRST + 2];
        let (ab, is_new) = tokens.join(a, b).unwrap();
        assert!(is_new);
        let (cb, is_new) = tokens.join(c, b).unwrap();
        assert!(is_new && cb != ab);
        assert_eq!(tokens.join(a, b).unwrap(), (ab, false));
        assert_eq!(tokens.join(c, b).unwrap(), (cb, false));
    }
}
