//! Converts tokens of characters, as SentencePiece has them, to tokens of bytes, and adds the
//! merges that put the bytes of each character together.
//!
//! ```text
//! pieces    10 "é▁"    11 "é"    12 "ü"    and 3 <0xC3>    4 <0xA9>    5 <0xBC>
//! tokens    3 C3    4 A9    5 BC    10 C3 A9 20    11 C3 A9    12 C3 BC
//! merges    3 + 4 = 11    3 + 5 = 12
//! ```
//!
//! Where words have ends, each unit is also put together with the mark of an end; where they have
//! beginnings, each with the mark of one, as soon as all units are there.
//!
//! Merges may make what is no piece: a character that occurs only within pieces, or the first bytes
//! of one that has three or four. These results get provisional tokens.

use std::collections::HashMap;
use std::ops::Range;

use super::TokenList;
use crate::error::{Error, Result};
use crate::memory;
use crate::tokens::{WORD_END, WORD_START};

/// How a space is spelled in a piece, if spaces are spelled by marks.
const MARK: char = '\u{2581}';

/// What a piece ends with that has the mark for the end of a word, [`WORD_END`], or begins with that
/// has the one for its beginning, [`WORD_START`]: two characters that no text has.
const MARKED: &str = "\u{10FFFF}\u{10FFFF}";

/// The memory of a piece while it is read, besides its bytes.
const BYTES_PER_PIECE: usize = 64;

/// Tokens of bytes; provisional tokens are the last.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReadPieces {
    pub tokens: TokenList,
    /// The merges that put characters together, as rows of ids.
    pub characters: Vec<[u32; 3]>,
    /// The ids of pieces that no text becomes.
    pub unread: Vec<u32>,
}

/// Reads pieces and tokens of single bytes, each with its id. Provisional tokens have ids from
/// `first_free` on.
///
/// `has_marks` says that spaces are spelled U+2581. A text has no other spaces then. `word_mark` is
/// [`WORD_END`] or [`WORD_START`], which has an id, if words have ends or beginnings.
pub fn read_pieces<'a>(
    pieces: impl ExactSizeIterator<Item = (u32, &'a str)>,
    byte_ids: &[(u8, u32)],
    first_free: u32,
    has_marks: bool,
    word_mark: Option<u8>,
) -> Result<ReadPieces> {
    memory::ensure(pieces.len() * BYTES_PER_PIECE)?;
    let mut read = ReadPieces::default();
    let mut tokens: Vec<(u32, &[u8], bool)> = Vec::new();
    let ends_words = word_mark == Some(WORD_END);
    let starts_words = word_mark == Some(WORD_START);
    let mut id_of_unit = HashMap::new();
    let mut occurs = memory::filled(false, char::MAX as usize + 1)?;
    for (id, text) in pieces {
        if text.is_empty() || (has_marks && text.contains(' ')) {
            read.unread.push(id);
            continue;
        }
        let at_end = text.strip_suffix(MARKED).filter(|_| ends_words);
        let at_start = text.strip_prefix(MARKED).filter(|_| starts_words);
        let marked = at_end.or(at_start);
        let word = marked.unwrap_or(text);
        tokens.push((id, word.as_bytes(), marked.is_some()));
        let mut characters = word.chars();
        if let (Some(only), None) = (characters.next(), characters.next()) {
            id_of_unit.insert((only, marked.is_some()), id);
        }
        for character in word.chars() {
            occurs[character as usize] = true;
        }
    }
    // A mark is spelled as a space, which is one byte.
    occurs[MARK as usize] &= !has_marks;
    for (byte, id) in byte_ids {
        tokens.push((*id, std::slice::from_ref(byte), false));
    }
    tokens.sort_by_key(|&(id, _, _)| id);
    for (id, bytes, is_marked) in tokens {
        let start = if is_marked && starts_words { &[WORD_START][..] } else { &[] };
        let end = if is_marked && ends_words { &[WORD_END][..] } else { &[] };
        match std::str::from_utf8(bytes) {
            Ok(text) if has_marks => push_with_spaces(&mut read.tokens, id, text),
            _ => read.tokens.push(id, &[start, bytes, end].concat()),
        }
    }
    let mut units = Vec::new();
    for character in (char::MIN..=char::MAX).filter(|&character| occurs[character as usize]) {
        units.push((character, false));
        if ends_words {
            units.push((character, true));
        }
    }
    let mut free = first_free..u32::MAX - 1;
    let id_of_character = put_together(&units, &id_of_unit, byte_ids, &mut free, &mut read)?;
    let is_start = |&&(byte, _): &&(u8, u32)| starts_words && byte == WORD_START;
    if let Some(&(_, mark)) = byte_ids.iter().find(is_start) {
        for (&(character, _), within) in units.iter().zip(id_of_character) {
            let begun = match id_of_unit.get(&(character, true)) {
                Some(&id) => id,
                None => {
                    let id = next_free(&mut free)?;
                    let mut bytes = [WORD_START; 5];
                    let length = 1 + character.encode_utf8(&mut bytes[1..]).len();
                    read.tokens.push(id, &bytes[..length]);
                    id
                }
            };
            if let Some(within) = within {
                read.characters.push([mark, within, begun]);
            }
        }
    }
    Ok(read)
}

fn push_with_spaces(tokens: &mut TokenList, id: u32, text: &str) {
    for (number, stretch) in text.split(MARK).enumerate() {
        if number > 0 {
            tokens.joined.push(b' ');
        }
        tokens.joined.extend_from_slice(stretch.as_bytes());
    }
    tokens.end(id);
}

/// A character, and whether it is at the end of a word, or at its beginning.
type Unit = (char, bool);

/// Adds merges that put each unit together, byte by byte, and provisional tokens for what they make
/// on the way. Returns the ids of the units; an ASCII character may have none.
fn put_together(
    units: &[Unit],
    id_of_unit: &HashMap<Unit, u32>,
    byte_ids: &[(u8, u32)],
    free: &mut Range<u32>,
    read: &mut ReadPieces,
) -> Result<Vec<Option<u32>>> {
    let mut id_of_byte = [None; 256];
    for &(byte, id) in byte_ids {
        id_of_byte[usize::from(byte)] = Some(id);
    }
    for byte in 0..0x80 {
        // An ASCII character is a byte.
        let id = id_of_unit.get(&(char::from(byte), false)).copied();
        id_of_byte[usize::from(byte)] = id_of_byte[usize::from(byte)].or(id);
    }
    let id_of = |byte: u8| {
        let missing = || Error::Value(format!("there is no token for byte {byte:#04x}"));
        id_of_byte[usize::from(byte)].ok_or_else(missing)
    };
    let mut id_of_units = Vec::new();
    // Units that begin alike follow each other. Of the unit before: its bytes, and the id of its
    // bytes up to each of them.
    let mut previous = [0; 5];
    let mut ids = [0; 5];
    for &(character, is_at_end) in units {
        let mut bytes = [0; 5];
        let mut length = character.encode_utf8(&mut bytes).len();
        if is_at_end {
            bytes[length] = WORD_END;
            length += 1;
        }
        if length == 1 {
            memory::push(&mut id_of_units, id_of_byte[usize::from(bytes[0])])?;
            continue;
        }
        let common =
            previous.iter().zip(&bytes).take_while(|(before, byte)| before == byte).count();
        let mut left = id_of(bytes[0])?;
        for last in 1..length {
            if last >= common {
                let mut id = None;
                if last + 1 == length {
                    id = id_of_unit.get(&(character, is_at_end)).copied();
                }
                ids[last] = match id {
                    Some(id) => id,
                    None => {
                        let id = next_free(free)?;
                        read.tokens.push(id, &bytes[..=last]);
                        id
                    }
                };
                read.characters.push([left, id_of(bytes[last])?, ids[last]]);
            }
            left = ids[last];
        }
        memory::push(&mut id_of_units, Some(left))?;
        previous = bytes;
    }
    Ok(id_of_units)
}

fn next_free(free: &mut Range<u32>) -> Result<u32> {
    let none_left = "its ids leave no free ones for the parts of characters";
    free.next().ok_or_else(|| Error::Value(none_left.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        pieces: &[(u32, &'static str)],
        byte_ids: &[(u8, u32)],
        has_marks: bool,
    ) -> Result<ReadPieces> {
        read_pieces(pieces.iter().copied(), byte_ids, 20, has_marks, None)
    }

    fn tokens(read: &ReadPieces) -> Vec<(u32, &[u8])> {
        let TokenList { ids, joined, ends } = &read.tokens;
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let bytes = starts.zip(ends).map(|(start, &end)| &joined[start as usize..end as usize]);
        ids.iter().copied().zip(bytes).collect()
    }

    #[test]
    fn characters_are_put_together_from_their_bytes() {
        let byte_ids = [(0xC3, 3), (0xA9, 4), (0xE4, 6), (0xBD, 7), (0xA0, 8), (0xA1, 13)];
        let read =
            read(&[(10, "▁é"), (9, "a"), (11, "é"), (12, "你a佡")], &byte_ids, true).unwrap();
        let expected: [(u32, &[u8]); 13] = [
            (3, b"\xC3"),
            (4, b"\xA9"),
            (6, b"\xE4"),
            (7, b"\xBD"),
            (8, b"\xA0"),
            (9, b"a"),
            (10, " é".as_bytes()),
            (11, "é".as_bytes()),
            (12, "你a佡".as_bytes()),
            (13, b"\xA1"),
            (20, b"\xE4\xBD"),
            (21, "你".as_bytes()),
            (22, "佡".as_bytes()),
        ];
        assert_eq!(tokens(&read), expected);
        assert_eq!(read.characters, [[3, 4, 11], [6, 7, 20], [20, 8, 21], [20, 13, 22]]);
    }

    #[test]
    fn characters_that_begin_words_are_made_behind_all_others() {
        let byte_ids = [(0xC3, 3), (0xA9, 4), (WORD_START, 5)];
        let pieces = [(1, "a"), (2, "\u{10FFFF}\u{10FFFF}aé")];
        let mark = Some(WORD_START);
        let read = read_pieces(pieces.into_iter(), &byte_ids, 20, false, mark).unwrap();
        let made = [(20, "é".as_bytes()), (21, b"\xFEa"), (22, b"\xFE\xC3\xA9")];
        assert_eq!(tokens(&read)[1], (2, &b"\xFEa\xC3\xA9"[..]));
        assert_eq!(tokens(&read)[5..], made);
        assert_eq!(read.characters, [[3, 4, 20], [5, 1, 21], [5, 20, 22]]);
    }

    #[test]
    fn what_no_text_becomes_is_told() {
        let pieces = [(0, "a b"), (1, ""), (2, "a▁b")];
        let marked = read(&pieces, &[], true).unwrap();
        assert_eq!(
            (marked.unread.as_slice(), tokens(&marked)),
            (&[0, 1][..], vec![(2, &b"a b"[..])])
        );
        let plain = read(&pieces[..2], &[], false).unwrap();
        assert_eq!((plain.unread.as_slice(), tokens(&plain)), (&[1][..], vec![(0, &b"a b"[..])]));
    }

    #[test]
    fn without_a_byte_or_a_free_id_there_is_no_token() {
        assert!(read(&[(3, "é")], &[(0xC3, 1)], true).is_err());
        let bytes = [(0xC3, 1), (0xA9, 2)];
        assert!(read_pieces([(3, "aé")].into_iter(), &bytes, u32::MAX - 1, true, None).is_err());
        assert_eq!(read(&[(3, "aé")], &bytes, true).unwrap().characters, [[1, 2, 20]]);
    }
}
