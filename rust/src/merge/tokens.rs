//! The tokens of a training run: their bytes, their lengths, and which one spells given bytes.

use std::collections::HashMap;

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
    bytes: Option<Vec<u8>>,
    ends: Vec<usize>,
    prefixes: Vec<u64>,
    lengths: Vec<u64>,
    spans: Vec<u32>,
    by_bytes: Option<HashMap<Box<[u8]>, Code>>,
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
            bytes: (keep_bytes || shared).then(Vec::new),
            ends: vec![0; FIRST as usize],
            prefixes: vec![0; FIRST as usize],
            lengths: vec![0; FIRST as usize],
            spans: vec![1; FIRST as usize],
            by_bytes: shared.then(HashMap::new),
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
            tokens.push(symbol, symbol.len() as u64, span as u64)?;
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
        let start = self.ends[code as usize - 1];
        let bytes = self.bytes.as_deref().map_or(&[][..], |all| &all[start..self.ends[code as usize]]);
        (self.prefixes[code as usize], bytes)
    }

    /// The code of what a merge results in, and whether it is a new token.
    pub fn join(&mut self, left: Code, right: Code) -> Result<(Code, bool)> {
        let joined = [self.bytes(left).1, self.bytes(right).1].concat();
        if let Some(&code) = self.by_bytes.as_ref().and_then(|known| known.get(joined.as_slice())) {
            return Ok((code, false));
        }
        let length = self.length(left).saturating_add(self.length(right));
        let span = u64::from(self.span(left)) + u64::from(self.span(right));
        Ok((self.push(&joined, length, span)?, true))
    }

    fn push(&mut self, bytes: &[u8], length: u64, span: u64) -> Result<Code> {
        let too_many = || Error::Memory("more tokens than 32-bit numbers can tell apart".to_string());
        let code = Code::try_from(self.spans.len()).map_err(|_| too_many())?;
        self.spans.push(u32::try_from(span).map_err(|_| too_many())?);
        self.lengths.push(length);
        if let Some(all) = &mut self.bytes {
            all.try_reserve(bytes.len())
                .map_err(|_| Error::Memory("no memory for the bytes of the tokens".to_string()))?;
            all.extend_from_slice(bytes);
            let mut prefix = [0; 8];
            let known = bytes.len().min(8);
            prefix[..known].copy_from_slice(&bytes[..known]);
            self.prefixes.push(u64::from_be_bytes(prefix));
            self.ends.push(all.len());
        } else {
            self.prefixes.push(0);
            self.ends.push(0);
        }
        if let Some(known) = &mut self.by_bytes {
            known.entry(bytes.into()).or_insert(code);
        }
        Ok(code)
    }
}
