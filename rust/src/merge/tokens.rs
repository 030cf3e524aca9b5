//! The tokens of a training run: their bytes, their lengths, and which one spells given bytes.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use crate::error::{Error, Result};

/// The number a symbol has inside the merge stage: two codes come before the symbols' own.
pub type Code = u32;

/// Stands between two words, and before the first and after the last.
pub const BOUNDARY: Code = 0;
/// Stands where a token once began that is now inside another.
pub const HOLE: Code = 1;
/// The code of symbol 0.
pub const FIRST: Code = 2;

/// All tokens, indexed by code.
pub struct Tokens {
    /// The bytes of all tokens, one behind the other, where they are kept.
    bytes: Vec<u8>,
    keeps_bytes: bool,
    ends: Vec<usize>,
    prefixes: Vec<u64>,
    lengths: Vec<u64>,
    spans: Vec<u32>,
    by_bytes: Option<Codes>,
}

impl Tokens {
    /// Starts with the base symbols. Bytes are kept where they decide ties; with `shared` they also decide
    /// which token a merge results in.
    pub fn new<'a>(
        symbols: impl Iterator<Item = &'a [u8]> + Clone,
        keep_bytes: bool,
        shared: bool,
    ) -> Result<Self> {
        let mut tokens = Self {
            bytes: Vec::new(),
            keeps_bytes: keep_bytes || shared,
            ends: vec![0; FIRST as usize],
            prefixes: vec![0; FIRST as usize],
            lengths: vec![0; FIRST as usize],
            spans: vec![1; FIRST as usize],
            by_bytes: shared.then(Codes::default),
        };
        // A token's span must follow from its bytes when merges of different spans may make the same token;
        // symbols of one length guarantee that with one slot each, others need a slot for every byte.
        let first_length = symbols.clone().next().map_or(1, <[u8]>::len);
        let uniform = symbols.clone().all(|symbol| symbol.len() == first_length);
        for symbol in symbols {
            if shared && symbol.is_empty() {
                return Err(Error::Value("symbols: an empty symbol cannot be merged".to_string()));
            }
            let span = if !shared || uniform { 1 } else { symbol.len() };
            if tokens.keeps_bytes {
                tokens.reserve(symbol.len())?;
                tokens.bytes.extend_from_slice(symbol);
            }
            // Among equal symbols, the first is what merges result in.
            let hash = tokens.hash(symbol).filter(|&hash| tokens.find(hash, symbol).is_none());
            tokens.push(symbol.len() as u64, span as u64, hash)?;
        }
        Ok(tokens)
    }

    /// How many codes are in use.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// How many bytes the token spells.
    pub fn length(&self, code: Code) -> u64 {
        self.lengths[code as usize]
    }

    /// How many slots an occurrence of the token takes.
    pub fn span(&self, code: Code) -> u32 {
        self.spans[code as usize]
    }

    /// The spans of all tokens.
    pub fn spans(&self) -> &[u32] {
        &self.spans
    }

    /// The token's bytes, and the first eight of them as a number that sorts alike (padded with zeros).
    pub fn bytes(&self, code: Code) -> (u64, &[u8]) {
        (self.prefixes[code as usize], &self.bytes[self.range(code)])
    }

    fn range(&self, code: Code) -> Range<usize> {
        self.ends[code as usize - 1]..self.ends[code as usize]
    }

    /// The code of what a merge results in, and whether it is a new token.
    pub fn join(&mut self, left: Code, right: Code) -> Result<(Code, bool)> {
        let start = self.bytes.len();
        self.reserve(self.range(left).len() + self.range(right).len())?;
        for part in [left, right] {
            self.bytes.extend_from_within(self.range(part));
        }
        let joined = &self.bytes[start..];
        let hash = self.hash(joined);
        if let Some(known) = hash.and_then(|hash| self.find(hash, joined)) {
            self.bytes.truncate(start);
            return Ok((known, false));
        }
        let length = self.length(left).saturating_add(self.length(right));
        let span = u64::from(self.span(left)) + u64::from(self.span(right));
        Ok((self.push(length, span, hash)?, true))
    }

    fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.bytes
            .try_reserve(bytes)
            .map_err(|_| Error::Memory("no memory for the bytes of the tokens".to_string()))
    }

    /// The hash by which a token is found that has these bytes, where tokens are shared.
    fn hash(&self, bytes: &[u8]) -> Option<u32> {
        self.by_bytes.as_ref().map(|codes| codes.hasher.hash_one(bytes) as u32)
    }

    /// The shared token that has these bytes.
    fn find(&self, hash: u32, bytes: &[u8]) -> Option<Code> {
        self.by_bytes.as_ref()?.with_hash(hash).find(|&code| self.bytes(code).1 == bytes)
    }

    /// Makes a token of the bytes behind those of the last one; with a hash, merges may result in it.
    fn push(&mut self, length: u64, span: u64, hash: Option<u32>) -> Result<Code> {
        let too_many = || Error::Memory("more tokens than 32-bit numbers can tell apart".to_string());
        let code = Code::try_from(self.spans.len()).map_err(|_| too_many())?;
        self.spans.push(u32::try_from(span).map_err(|_| too_many())?);
        self.lengths.push(length);
        let bytes = &self.bytes[self.ends[code as usize - 1]..];
        let mut prefix = [0; 8];
        let known = bytes.len().min(8);
        prefix[..known].copy_from_slice(&bytes[..known]);
        self.prefixes.push(u64::from_be_bytes(prefix));
        self.ends.push(self.bytes.len());
        if let (Some(codes), Some(hash)) = (&mut self.by_bytes, hash) {
            codes.add(hash, code);
        }
        Ok(code)
    }
}

/// From the hash of some bytes to the codes of tokens that may have them: a table with open addressing.
#[derive(Default)]
struct Codes {
    hasher: RandomState,
    /// Hashes and codes; code 0 where there is none.
    entries: Vec<(u32, Code)>,
    len: usize,
}

/// The fewest entries of a table.
const SMALLEST: usize = 1 << 10;

impl Codes {
    fn add(&mut self, hash: u32, code: Code) {
        if 2 * self.len >= self.entries.len() {
            let larger = vec![(0, 0); (2 * self.entries.len()).max(SMALLEST)];
            for (hash, code) in std::mem::replace(&mut self.entries, larger) {
                if code != 0 {
                    self.put(hash, code);
                }
            }
        }
        self.put(hash, code);
        self.len += 1;
    }

    fn put(&mut self, hash: u32, code: Code) {
        if let Some(place) = self.places(hash).find(|&place| self.entries[place].1 == 0) {
            self.entries[place] = (hash, code);
        }
    }

    /// The codes that were added with this hash.
    fn with_hash(&self, hash: u32) -> impl Iterator<Item = Code> {
        let entries = self.places(hash).map(|place| self.entries[place]).take_while(|&(_, code)| code != 0);
        entries.filter(move |&(other, _)| other == hash).map(|(_, code)| code)
    }

    /// All places of the table, beginning with that where a hash belongs.
    fn places(&self, hash: u32) -> impl Iterator<Item = usize> + use<> {
        let size = self.entries.len();
        (0..size).map(move |step| (hash as usize + step) & (size - 1))
    }
}
