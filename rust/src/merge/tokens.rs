//! The tokens of a training run: their bytes and lengths, and a lookup of the token that spells given bytes.
//!
//! Bytes are stored only where ties are decided by them. For shared tokens, a digest of the bytes of a merge is computed
//! from the digests of its two tokens, and finds a token of equal bytes, if there is one. Equal digests are compared by
//! their bytes, so a collision costs time but never changes the result.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use crate::error::{Error, Result};
use crate::memory::cells::{Cells, Content, Plain};
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
    /// The two tokens that a token was first made of; `BOUNDARY` for symbols.
    parents: Rows<[Code; 2]>,
    /// The bytes of the symbols, concatenated; with `keeps_bytes`, those of all tokens.
    bytes: Vec<u8>,
    keeps_bytes: bool,
    /// For each token whose bytes are stored, their end, and the first eight as a number.
    ends: Vec<usize>,
    prefixes: Vec<u64>,
    by_bytes: Option<Codes>,
}

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for Token {}
// SAFETY: the same.
unsafe impl Plain for [Code; 2] {}

/// What a merge needs to know of its two tokens, in one place.
#[derive(Clone, Copy)]
struct Token {
    digest: Digest,
    /// In bytes.
    length: u64,
    /// In slots.
    span: u32,
}

impl Tokens {
    /// Starts with the base symbols. `keep_bytes` stores the bytes of all tokens, to decide ties; `shared` lets a merge
    /// result in an existing token of equal bytes.
    pub fn new<'a>(
        symbols: impl Iterator<Item = &'a [u8]> + Clone,
        keep_bytes: bool,
        shared: bool,
    ) -> Result<Self> {
        let mut tokens = Self {
            tokens: Rows::default(),
            parents: Rows::default(),
            bytes: Vec::new(),
            keeps_bytes: keep_bytes,
            ends: vec![0; FIRST as usize],
            prefixes: vec![0; FIRST as usize],
            by_bytes: if shared { Some(Codes::new()?) } else { None },
        };
        for _ in 0..FIRST {
            tokens.push(0, 1, [BOUNDARY; 2], Digest::EMPTY)?;
        }
        // When different merges may result in the same token, its span must follow from its bytes. One slot per symbol
        // guarantees that if all symbols have one length; otherwise each byte needs a slot.
        let first_length = symbols.clone().next().map_or(1, <[u8]>::len);
        let uniform = symbols.clone().all(|symbol| symbol.len() == first_length);
        for symbol in symbols {
            if shared && symbol.is_empty() {
                return Err(Error::Value("symbols: an empty symbol cannot be merged".to_string()));
            }
            let span = if !shared || uniform { 1 } else { symbol.len() };
            if tokens.keeps_bytes || shared {
                tokens.reserve(symbol.len())?;
                tokens.bytes.extend_from_slice(symbol);
            }
            let digest = tokens.by_bytes.as_ref().map_or(Digest::EMPTY, |codes| codes.digest_of(symbol));
            let known = tokens.find(digest, |code| tokens.bytes(code).1 == symbol);
            let code = tokens.push(symbol.len() as u64, span as u64, [BOUNDARY; 2], digest)?;
            tokens.note_bytes();
            // Among equal symbols, merges result in the first.
            if known.is_none() {
                tokens.share(code)?;
            }
        }
        Ok(tokens)
    }

    /// Makes room for more tokens, so that they need not be moved.
    pub fn make_room(&mut self, more: usize) -> Result<()> {
        self.tokens.reserve(more)?;
        self.parents.reserve(more)?;
        if let Some(codes) = &mut self.by_bytes {
            codes.lengthen(2 * (codes.len + more))?;
        }
        Ok(())
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

    /// The token's bytes, which must be stored, and before them the first eight as a number of the same order (padded with zeros).
    pub fn bytes(&self, code: Code) -> (u64, &[u8]) {
        (self.prefixes[code as usize], &self.bytes[self.range(code)])
    }

    fn range(&self, code: Code) -> Range<usize> {
        self.ends[code as usize - 1]..self.ends[code as usize]
    }

    /// The token that a merge results in, and whether it is new.
    pub fn join(&mut self, left: Code, right: Code) -> Result<(Code, bool)> {
        let [first, second] = [left, right].map(|code| self.tokens[code as usize]);
        let digest = if self.by_bytes.is_some() { first.digest.concat(second.digest) } else { Digest::EMPTY };
        if let Some(codes) = &mut self.by_bytes {
            codes.make_room_for_one()?;
        }
        let is_same = |code| self.spell(&[code]).eq(self.spell(&[left, right]));
        let place = match self.look_up(digest, is_same) {
            Ok(known) => return Ok((known, false)),
            Err(place) => place,
        };
        let span = u64::from(first.span) + u64::from(second.span);
        let code = self.push(first.length.saturating_add(second.length), span, [left, right], digest)?;
        if self.keeps_bytes {
            self.reserve(self.range(left).len() + self.range(right).len())?;
            for part in [left, right] {
                self.bytes.extend_from_within(self.range(part));
            }
            self.note_bytes();
        }
        if let Some(codes) = &mut self.by_bytes {
            codes.fill(place, code, digest);
        }
        Ok((code, true))
    }

    /// Prefetches two tokens that will be joined.
    pub fn prefetch(&self, left: Code, right: Code) {
        [left, right].iter().for_each(|&code| prefetch(&self.tokens, code as usize));
    }

    /// Prefetches the lookup for two tokens that will be joined; call it after `prefetch`.
    pub fn prefetch_join(&self, left: Code, right: Code) {
        if let Some(codes) = &self.by_bytes {
            let [first, second] = [left, right].map(|code| self.tokens[code as usize].digest);
            prefetch(&codes.entries, codes.place(first.concat(second)));
        }
    }

    /// The bytes of tokens, concatenated.
    fn spell(&self, tokens: &[Code]) -> impl Iterator<Item = u8> {
        let mut stack: Vec<Code> = tokens.iter().rev().copied().collect();
        let symbols = std::iter::from_fn(move || {
            loop {
                let code = stack.pop()?;
                match self.parents[code as usize] {
                    [BOUNDARY, _] => return Some(code),
                    [first, second] => stack.extend([second, first]),
                }
            }
        });
        symbols.flat_map(|code| self.bytes(code).1.iter().copied())
    }

    fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.bytes
            .try_reserve(bytes)
            .map_err(|_| Error::Memory("no memory for the bytes of the tokens".to_string()))
    }

    /// The shared token that has this digest and satisfies `is_same`.
    fn find(&self, digest: Digest, is_same: impl Fn(Code) -> bool) -> Option<Code> {
        self.look_up(digest, is_same).ok()
    }

    /// The same, or else the place in the lookup where a token with this digest belongs.
    fn look_up(&self, digest: Digest, is_same: impl Fn(Code) -> bool) -> std::result::Result<Code, usize> {
        let Some(codes) = &self.by_bytes else { return Err(0) };
        codes.look_up(digest, |code| self.tokens[code as usize].digest == digest && is_same(code))
    }

    /// Adds a token.
    fn push(&mut self, length: u64, span: u64, parents: [Code; 2], digest: Digest) -> Result<Code> {
        let too_many = || Error::Memory("the number of tokens does not fit 32 bits".to_string());
        let code = Code::try_from(self.tokens.len()).map_err(|_| too_many())?;
        let span = u32::try_from(span).map_err(|_| too_many())?;
        self.tokens.push(Token { digest, length, span })?;
        self.parents.push(parents)?;
        Ok(code)
    }

    /// Takes what was appended to `bytes` for the bytes of the last token.
    fn note_bytes(&mut self) {
        let bytes = self.ends.last().map_or(&[][..], |&end| &self.bytes[end..]);
        let mut prefix = [0; 8];
        let known = bytes.len().min(8);
        prefix[..known].copy_from_slice(&bytes[..known]);
        self.prefixes.push(u64::from_be_bytes(prefix));
        self.ends.push(self.bytes.len());
    }

    /// Adds the token to the lookup: from now on merges may result in it.
    fn share(&mut self, code: Code) -> Result<()> {
        match &mut self.by_bytes {
            Some(codes) => codes.add(code, self.tokens[code as usize].digest),
            None => Ok(()),
        }
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

    fn concat(self, next: Self) -> Self {
        let value = remainder(times(self.value, next.shift) + next.value);
        Self { value, shift: times(self.shift, next.shift) }
    }
}

/// A map from digests to tokens: a hash table with open addressing.
struct Codes {
    /// The point where polynomials are evaluated.
    at: u64,
    /// The low 32 bits of digest values, and codes; code 0 marks a free entry.
    entries: Cells<CodeEntry>,
    len: usize,
}

type CodeEntry = (u32, Code);

// SAFETY: it consists of integers, for which any bytes are valid.
unsafe impl Plain for CodeEntry {}

/// The minimum size of the table.
const SMALLEST: usize = 1 << 10;

impl Codes {
    fn new() -> Result<Self> {
        let at = RandomState::new().hash_one(0) % PRIME;
        Ok(Self { at, entries: Cells::new(SMALLEST, Content::LateZeros)?, len: 0 })
    }

    fn digest_of(&self, bytes: &[u8]) -> Digest {
        let digest_of = |&byte: &u8| Digest { value: u64::from(byte) + 1, shift: self.at };
        bytes.iter().map(digest_of).fold(Digest::EMPTY, Digest::concat)
    }

    fn add(&mut self, code: Code, digest: Digest) -> Result<()> {
        self.make_room_for_one()?;
        self.put((digest.value as u32, code));
        self.len += 1;
        Ok(())
    }

    fn make_room_for_one(&mut self) -> Result<()> {
        if 2 * self.len >= self.entries.len() { self.lengthen(2 * self.entries.len()) } else { Ok(()) }
    }

    /// Adds a code at the place where a search for its digest ended.
    fn fill(&mut self, place: usize, code: Code, digest: Digest) {
        self.entries[place] = (digest.value as u32, code);
        self.len += 1;
    }

    /// Makes the table at least this long.
    fn lengthen(&mut self, entries: usize) -> Result<()> {
        let larger = Cells::new(entries.next_power_of_two().max(SMALLEST), Content::LateZeros)?;
        let entries = std::mem::replace(&mut self.entries, larger);
        entries.iter().filter(|entry| entry.1 != 0).for_each(|&entry| self.put(entry));
        Ok(())
    }

    fn put(&mut self, entry: (u32, Code)) {
        if let Some(place) = self.places(entry.0).find(|&place| self.entries[place].1 == 0) {
            self.entries[place] = entry;
        }
    }

    /// The code with the same low bits of its digest that is the one, or the free place where the search ended.
    fn look_up(&self, digest: Digest, is_it: impl Fn(Code) -> bool) -> std::result::Result<Code, usize> {
        let (low, mask) = (digest.value as u32, self.entries.len() - 1);
        let mut place = self.place(digest);
        loop {
            let (bits, code) = self.entries[place];
            if code == 0 {
                return Err(place);
            }
            if bits == low && is_it(code) {
                return Ok(code);
            }
            place = (place + 1) & mask;
        }
    }

    /// The index where the search for a digest begins.
    fn place(&self, digest: Digest) -> usize {
        digest.value as u32 as usize & (self.entries.len() - 1)
    }

    /// All indices of the table, starting where the search for a digest with these low bits begins.
    fn places(&self, low: u32) -> impl Iterator<Item = usize> + use<> {
        let (first, size) = (low as usize & (self.entries.len() - 1), self.entries.len());
        (0..size).map(move |step| (first + step) & (size - 1))
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
