//! Ids in, token bytes out: the table that encoding with offsets and decoding share.
//!
//! Ids may have gaps and may be as large as 32 bits allow. A token of up to 15 bytes lies in its record, one
//! 16-byte load away; a longer one is found through it.

use crate::error::{Error, Result};

/// Ids of one page share an entry in the page list, so that gaps between ids cost little.
const PAGE: usize = 1024;
const INLINE: usize = 15;
/// For how many short tokens room is made at a time.
const STRETCH: usize = 256;

/// Values of a record's last byte that are no inline length.
const LONG: u8 = 0xFE;
const ABSENT: u8 = 0xFF;

const NOTHING: Record = Record([ABSENT; 16]);

/// Up to 15 bytes and their number; or the start (8 bytes) and length (4 bytes) of a longer token, and `LONG`.
#[derive(Clone, Copy)]
struct Record([u8; 16]);

/// The bytes of every token, special ones included, by id.
pub struct Tokens {
    /// Where in `records` each page starts, in pages; page 0 of `records` holds nothing.
    pages: Vec<u32>,
    records: Vec<Record>,
    long: Vec<u8>,
    longest: usize,
}

impl Tokens {
    /// Make the table of tokens that are non-empty and have ids of their own.
    pub fn new<'a>(tokens: impl Iterator<Item = (u32, &'a [u8])>) -> Result<Self> {
        let mut table =
            Self { pages: Vec::new(), records: vec![NOTHING; PAGE], long: Vec::new(), longest: 0 };
        for (id, token) in tokens {
            table.add(id, token)?;
        }
        Ok(table)
    }

    fn add(&mut self, id: u32, token: &[u8]) -> Result<()> {
        if token.is_empty() {
            return Err(Error::Value(format!("token {id} is empty")));
        }
        let record = self.make_record(token)?;
        let slot = self.make_slot(id);
        if slot.0[INLINE] != ABSENT {
            return Err(Error::Value(format!("id {id} is given to two tokens")));
        }
        *slot = record;
        self.longest = self.longest.max(token.len());
        Ok(())
    }

    fn make_record(&mut self, token: &[u8]) -> Result<Record> {
        let mut record = Record([0; 16]);
        if token.len() <= INLINE {
            record.0[..token.len()].copy_from_slice(token);
            record.0[INLINE] = token.len() as u8;
            return Ok(record);
        }
        let length = u32::try_from(token.len())
            .map_err(|_| Error::Value(format!("a token of {} bytes is too long", token.len())))?;
        record.0[..8].copy_from_slice(&(self.long.len() as u64).to_le_bytes());
        record.0[8..12].copy_from_slice(&length.to_le_bytes());
        record.0[INLINE] = LONG;
        self.long.extend_from_slice(token);
        Ok(record)
    }

    fn make_slot(&mut self, id: u32) -> &mut Record {
        let (page, place) = (id as usize / PAGE, id as usize % PAGE);
        if self.pages.len() <= page {
            self.pages.resize(page + 1, 0);
        }
        if self.pages[page] == 0 {
            self.pages[page] = (self.records.len() / PAGE) as u32;
            self.records.resize(self.records.len() + PAGE, NOTHING);
        }
        &mut self.records[self.pages[page] as usize * PAGE + place]
    }

    /// The bytes of a token, if there is one of that id.
    #[inline]
    pub fn get(&self, id: u32) -> Option<&[u8]> {
        let record = self.record(id);
        match record.0[INLINE] {
            ABSENT => None,
            LONG => Some(self.long_bytes(record)),
            length => Some(&record.0[..length as usize]),
        }
    }

    #[inline]
    fn record(&self, id: u32) -> &Record {
        let page = self.pages.get(id as usize / PAGE).map_or(0, |&page| page as usize);
        self.records.get(page * PAGE + id as usize % PAGE).unwrap_or(&NOTHING)
    }

    fn long_bytes(&self, record: &Record) -> &[u8] {
        let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = record.0;
        let start = u64::from_le_bytes([a, b, c, d, e, f, g, h]) as usize;
        let length = u32::from_le_bytes([i, j, k, l]) as usize;
        self.long.get(start..start + length).unwrap_or_default()
    }

    /// How many bytes a token has, if there is one of that id.
    #[inline]
    pub fn length(&self, id: u32) -> Option<usize> {
        self.get(id).map(<[u8]>::len)
    }

    /// The length of the longest token.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Append the bytes of every token; an id that none has ends it.
    pub fn append(&self, ids: &[u32], bytes: &mut Vec<u8>) -> Result<()> {
        let mut rest = ids;
        while !rest.is_empty() {
            rest = &rest[self.append_short(&rest[..rest.len().min(STRETCH)], bytes)..];
            if let Some(&id) = rest.first() {
                bytes.extend_from_slice(self.get(id).ok_or(Error::UnknownId(u64::from(id)))?);
                rest = &rest[1..];
            }
        }
        Ok(())
    }

    /// Append the bytes of successive short tokens, at most `STRETCH` of them, and return how many they were.
    #[inline]
    fn append_short(&self, ids: &[u32], bytes: &mut Vec<u8>) -> usize {
        bytes.reserve(STRETCH * size_of::<Record>());
        let mut length = bytes.len();
        let mut done = 0;
        for &id in ids.iter().take(STRETCH) {
            let record = self.record(id);
            let added = record.0[INLINE];
            if added > INLINE as u8 {
                break;
            }
            // All sixteen bytes are copied, and the next ones written over the rest: a copy of fixed size is the
            // cheapest there is.
            // SAFETY: room for `STRETCH` records was reserved, and each of the at most `STRETCH` rounds writes one
            // record and moves on by no more than its size.
            unsafe { bytes.as_mut_ptr().add(length).cast::<[u8; 16]>().write_unaligned(record.0) };
            length += added as usize;
            done += 1;
        }
        // SAFETY: the bytes up to `length` have been written.
        unsafe { bytes.set_len(length) };
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_short_and_long_are_found_and_gaps_are_not() {
        let long = [b'x'; 40];
        let given: Vec<(u32, &[u8])> =
            vec![(0, b"a"), (5, b"123456789012345"), (6, b"1234567890123456"), (u32::MAX, &long)];
        let tokens = Tokens::new(given.iter().copied()).unwrap();
        for &(id, token) in &given {
            assert_eq!(tokens.get(id), Some(token));
            let mut bytes = b"before ".to_vec();
            tokens.append(&[id], &mut bytes).unwrap();
            assert_eq!(bytes, [b"before ", token].concat());
        }
        for gap in [1, 4, 7, 1023, 1024, u32::MAX - 1] {
            assert_eq!(tokens.get(gap), None);
            assert!(tokens.append(&[0, gap], &mut Vec::new()).is_err());
        }
        assert_eq!(tokens.longest(), 40);
    }

    #[test]
    fn an_id_given_twice_and_an_empty_token_are_refused() {
        let twice: Vec<(u32, &[u8])> = vec![(3, b"a"), (3, b"b")];
        assert!(Tokens::new(twice.into_iter()).is_err());
        let empty: Vec<(u32, &[u8])> = vec![(3, b"")];
        assert!(Tokens::new(empty.into_iter()).is_err());
    }
}
