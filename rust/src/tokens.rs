//! A table from ids to the bytes of tokens, shared by decoding and encoding with offsets.
//!
//! Ids may have gaps and any value of 32 bits. A record has 16 bytes: a token of up to 15 bytes and
//! its length, read with one load; or a reference to a longer token.

use std::collections::{HashMap, HashSet};
use std::mem::MaybeUninit;

use crate::error::{Error, Result};

const INLINE: usize = 15;
const RECORD: usize = INLINE + 1;

/// The last byte of tokens that end a pretoken, which no text has. A provisional token with it
/// stands for a unit at the end of a pretoken that has no token there: it is unknown.
pub const WORD_END: u8 = 0xFF;

/// The mark for the beginning of a word, which no UTF-8 has either.
pub const WORD_START: u8 = 0xFE;

/// The number of tokens that are written at a time, and the room that they need: each writes a
/// whole record.
const GROUP: usize = 8;
const GROUP_ROOM: usize = (GROUP + 1) * RECORD;

/// Ids below this factor times the number of tokens are indices of an array; larger ones are in a
/// hash map.
const SPREAD: usize = 8;

/// Values of a record's last byte that are not the length of a short token.
const LONG: u8 = 0xFE;
const ABSENT: u8 = 0xFF;

const NO_RECORD: Record = Record([ABSENT; RECORD]);

/// Up to 15 bytes and their length; or the start (8 bytes) and length (4 bytes) of a longer token,
/// and `LONG`.
#[derive(Clone, Copy)]
struct Record([u8; RECORD]);

/// The bytes of every token, special ones included, by id.
pub struct TokenBytes {
    records: Vec<Record>,
    /// The last byte of each record, which is enough for the length of most texts.
    lengths: Vec<u8>,
    /// The records of ids that are too large for the array.
    far: HashMap<u32, Record>,
    long: Vec<u8>,
    longest: usize,
    /// Tokens that end with a space which is only written if another token follows.
    pub spaced: HashSet<u32>,
}

impl TokenBytes {
    /// Builds the table. Tokens with the same id must be alike.
    pub fn new<'a>(tokens: impl Iterator<Item = (u32, &'a [u8])> + Clone) -> Result<Self> {
        let near = tokens.clone().count().saturating_mul(SPREAD);
        let mut end = 0;
        for (id, _) in tokens.clone() {
            let id = id as usize;
            if id < near {
                end = end.max(id + 1);
            }
        }
        let mut table = Self {
            records: vec![NO_RECORD; end],
            lengths: Vec::new(),
            far: HashMap::new(),
            long: Vec::new(),
            longest: 0,
            spaced: HashSet::new(),
        };
        for (id, token) in tokens {
            table.add(id, token)?;
        }
        table.lengths = table.records.iter().map(|record| record.0[INLINE]).collect();
        Ok(table)
    }

    fn add(&mut self, id: u32, token: &[u8]) -> Result<()> {
        match self.get(id) {
            None => {}
            Some(earlier) if earlier == token => return Ok(()),
            Some(_) => return Err(Error::Value(format!("id {id} is given to two tokens"))),
        }
        let record = self.make_record(token)?;
        match self.records.get_mut(id as usize) {
            Some(place) => *place = record,
            None => drop(self.far.insert(id, record)),
        }
        self.longest = self.longest.max(token.len());
        Ok(())
    }

    fn make_record(&mut self, token: &[u8]) -> Result<Record> {
        let mut record = Record([0; RECORD]);
        if token.len() <= INLINE {
            record.0[..token.len()].copy_from_slice(token);
            record.0[INLINE] = token.len() as u8;
            return Ok(record);
        }
        let Ok(length) = u32::try_from(token.len()) else {
            return Err(Error::Value(format!("a token of {} bytes is too long", token.len())));
        };
        record.0[..8].copy_from_slice(&(self.long.len() as u64).to_le_bytes());
        record.0[8..12].copy_from_slice(&length.to_le_bytes());
        record.0[INLINE] = LONG;
        self.long.extend_from_slice(token);
        Ok(record)
    }

    /// Returns the bytes of a token, if there is a token of that id.
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
        self.records.get(id as usize).unwrap_or_else(|| self.far_record(id))
    }

    #[cold]
    fn far_record(&self, id: u32) -> &Record {
        self.far.get(&id).unwrap_or(&NO_RECORD)
    }

    fn long_bytes(&self, record: &Record) -> &[u8] {
        let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = record.0;
        let start = u64::from_le_bytes([a, b, c, d, e, f, g, h]) as usize;
        let length = u32::from_le_bytes([i, j, k, l]) as usize;
        self.long.get(start..start + length).unwrap_or_default()
    }

    /// Returns the length of a token in bytes, if there is a token of that id.
    #[inline]
    pub fn length(&self, id: u32) -> Option<usize> {
        match self.lengths.get(id as usize) {
            Some(&length) if length <= INLINE as u8 => Some(usize::from(length)),
            _ => self.get(id).map(<[u8]>::len),
        }
    }

    /// Returns the length of the longest token.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Writes the bytes of tokens to the start of `room`, and returns their number. An unknown id
    /// is an error, and so is too little room.
    pub fn write(&self, ids: &[u32], room: &mut [MaybeUninit<u8>]) -> Result<usize> {
        let mut written = 0;
        let (groups, rest) = ids.as_chunks::<GROUP>();
        for group in groups {
            let place = room[written..].first_chunk_mut();
            written += match place.and_then(|place| self.write_short(group, place)) {
                Some(length) => length,
                None => self.write_each(group, &mut room[written..])?,
            };
        }
        Ok(written + self.write_each(rest, &mut room[written..])?)
    }

    /// Write a group of tokens without a branch for each, if all of them are short: whole records
    /// are copied, and each overwrites the unused end of the one before.
    #[inline(always)]
    fn write_short(
        &self,
        ids: &[u32; GROUP],
        room: &mut [MaybeUninit<u8>; GROUP_ROOM],
    ) -> Option<usize> {
        let (mut written, mut all) = (0, 0);
        for &id in ids {
            let record = &self.records.get(id as usize).unwrap_or(&NO_RECORD).0;
            let place = written % (GROUP * RECORD);
            copy(record, &mut room[place..place + RECORD]);
            written += usize::from(record[INLINE]) % RECORD;
            all |= record[INLINE];
        }
        (all <= INLINE as u8).then_some(written)
    }

    /// Write tokens one by one, of any length.
    fn write_each(&self, ids: &[u32], room: &mut [MaybeUninit<u8>]) -> Result<usize> {
        let mut written = 0;
        for &id in ids {
            let token = self.known(id)?;
            let place = room.get_mut(written..written + token.len()).ok_or_else(no_room)?;
            copy(token, place);
            written += token.len();
        }
        Ok(written)
    }

    #[inline]
    fn known(&self, id: u32) -> Result<&[u8]> {
        self.get(id).ok_or(Error::UnknownId(u64::from(id)))
    }
}

#[cold]
fn no_room() -> Error {
    Error::Value("too little room".to_owned())
}

/// Copy bytes to a slice of the same length.
#[inline(always)]
fn copy(bytes: &[u8], place: &mut [MaybeUninit<u8>]) {
    for (place, &byte) in place.iter_mut().zip(bytes) {
        place.write(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that are written to a buffer of this size.
    fn written(tokens: &TokenBytes, ids: &[u32], room: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![MaybeUninit::new(0); room];
        let length = tokens.write(ids, &mut bytes)?;
        // SAFETY: all bytes were initialized.
        Ok(bytes[..length].iter().map(|byte| unsafe { byte.assume_init() }).collect())
    }

    #[test]
    fn tokens_short_and_long_are_found_and_gaps_are_not() {
        let long = [b'x'; 40];
        let given: Vec<(u32, &[u8])> =
            vec![(0, b"a"), (5, b"123456789012345"), (6, b"1234567890123456"), (u32::MAX, &long)];
        let tokens = TokenBytes::new(given.iter().copied()).unwrap();
        for &(id, token) in &given {
            assert_eq!(tokens.get(id), Some(token));
            let expected = [b"a", token].concat();
            for room in [expected.len(), 100] {
                assert_eq!(written(&tokens, &[0, id], room).unwrap(), expected);
            }
            assert!(written(&tokens, &[0, id], expected.len() - 1).is_err());
        }
        for gap in [1, 4, 7, 1023, 1024, u32::MAX - 1] {
            assert_eq!(tokens.get(gap), None);
            assert!(written(&tokens, &[0, gap], 100).is_err());
        }
        assert_eq!(tokens.longest(), 40);
    }

    #[test]
    fn tokens_in_groups_are_written_as_one_by_one() {
        let long = [b'x'; 16];
        let given: [(u32, &[u8]); 4] =
            [(0, b"a"), (1, b"bc"), (2, b"123456789012345"), (u32::MAX, &long)];
        let tokens = TokenBytes::new(given.into_iter()).unwrap();
        for length in 0..3 * GROUP {
            for odd in 0..=length {
                let ids: Vec<u32> =
                    (0..length).map(|i| if i == odd { u32::MAX } else { i as u32 % 3 }).collect();
                let expected: Vec<u8> =
                    ids.iter().flat_map(|&id| tokens.get(id).unwrap()).copied().collect();
                for room in [expected.len(), expected.len() + 1, expected.len() + GROUP_ROOM] {
                    assert_eq!(written(&tokens, &ids, room).unwrap(), expected);
                }
                assert!(expected.is_empty() || written(&tokens, &ids, expected.len() - 1).is_err());
                let unknown: Vec<u32> =
                    ids.iter().map(|&id| if id == u32::MAX { 3 } else { id }).collect();
                assert_eq!(written(&tokens, &unknown, 1000).is_err(), odd < length);
            }
        }
    }

    #[test]
    fn an_id_given_twice_is_refused() {
        let twice: Vec<(u32, &[u8])> = vec![(3, b"a"), (3, b"b")];
        assert!(TokenBytes::new(twice.into_iter()).is_err());
    }

    #[test]
    fn an_empty_token_writes_nothing() {
        let given: Vec<(u32, &[u8])> = vec![(3, b""), (4, b"ab")];
        let tokens = TokenBytes::new(given.into_iter()).unwrap();
        assert_eq!(tokens.get(3), Some(&b""[..]));
        for count in [0, 1, GROUP, 3 * GROUP] {
            let ids = [&[4][..], &vec![3; count], &[4]].concat();
            assert_eq!(written(&tokens, &ids, 4).unwrap(), b"abab");
        }
    }
}
