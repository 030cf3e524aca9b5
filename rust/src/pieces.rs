//! Tokens that are made of characters, as SentencePiece's are, in; tokens of bytes out, with the merges that put the bytes
//! of each character together.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::memory;

/// How a space is spelled in a piece, if spaces are spelled by marks.
const MARK: char = '\u{2581}';

/// The memory of a piece while it is read, besides its bytes, and of a character.
const BYTES_PER_PIECE: usize = 64;

/// What is known of pieces before they are read.
#[derive(Clone, Copy)]
pub struct PieceRules<'a> {
    /// Whether spaces are spelled U+2581. A text has no other spaces then.
    pub has_marks: bool,
    /// The ids of tokens for single bytes, such as `<0x0A>`.
    pub byte_ids: &'a [(u8, u32)],
    /// The bytes that get provisional tokens if they have no others.
    pub needed: &'a [u8],
    /// The first id of provisional tokens: all others are smaller.
    pub first_free: u32,
}

/// Tokens of bytes in the order of their ids; provisional tokens are the last.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReadPieces {
    pub ids: Vec<u32>,
    /// The bytes of all tokens, and the end of each.
    pub joined: Vec<u8>,
    pub ends: Vec<u64>,
    /// The tokens of a single byte.
    pub single_bytes: Vec<(u32, u8)>,
    /// The merges that put characters together, as rows of ids.
    pub characters: Vec<[u32; 3]>,
    /// The places of pieces that no text becomes.
    pub others: Vec<usize>,
    /// The tokens of single bytes in whose place a piece stands, and the bytes.
    pub spare: Vec<(u32, u8)>,
    /// Whether a piece has a space behind another character, and whether one has line breaks beside others.
    pub has_inner_spaces: bool,
    pub has_joined_lines: bool,
}

/// Read pieces, each with its id, in any order.
pub fn read_pieces(pieces: &[(u32, &str)], rules: PieceRules) -> Result<ReadPieces> {
    let length: usize = pieces.iter().map(|(_, text)| text.len()).sum();
    memory::ensure(length + pieces.len() * BYTES_PER_PIECE)?;
    let mut read = ReadPieces::default();
    let mut tokens = Vec::with_capacity(pieces.len());
    let mut characters = PieceCharacters::default();
    for (place, &(id, text)) in pieces.iter().enumerate() {
        if text.is_empty() || (rules.has_marks && text.contains(' ')) {
            read.others.push(place);
        } else {
            tokens.push((id, PieceSpelling::Text(text)));
            characters.add(id, text, rules.has_marks);
        }
    }
    let mut free = rules.first_free..u32::MAX - 1;
    let bytes = token_of_each_byte(&characters, rules, &mut free, &mut tokens, &mut read.spare)?;
    read.characters = characters.put_together(&bytes, &mut free, &mut tokens)?;
    if !tokens.is_sorted_by_key(|&(id, _)| id) {
        tokens.sort_unstable_by_key(|&(id, _)| id);
    }
    read.joined.reserve(length);
    for (id, spelled) in tokens {
        let start = read.joined.len();
        match spelled {
            PieceSpelling::Text(text) if rules.has_marks => push_with_spaces(&mut read.joined, text),
            PieceSpelling::Text(text) => read.joined.extend_from_slice(text.as_bytes()),
            PieceSpelling::Part(part) => read.joined.extend_from_slice(part.bytes()),
        }
        for two in read.joined[start..].windows(2) {
            read.has_inner_spaces |= two[0] != b' ' && two[1] == b' ';
            read.has_joined_lines |= (two[0] == b'\n') != (two[1] == b'\n');
        }
        if let &[byte] = &read.joined[start..] {
            read.single_bytes.push((id, byte));
        }
        read.ids.push(id);
        read.ends.push(read.joined.len() as u64);
    }
    Ok(read)
}

/// The text of a piece, or a character or the beginning of one.
enum PieceSpelling<'a> {
    Text(&'a str),
    Part(Part),
}

fn push_with_spaces(joined: &mut Vec<u8>, text: &str) {
    for (number, stretch) in text.split(MARK).enumerate() {
        if number > 0 {
            joined.push(b' ');
        }
        joined.extend_from_slice(stretch.as_bytes());
    }
}

/// The first bytes of a character: at least one, at most all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Part {
    length: u8,
    padded: [u8; 4],
}

impl Part {
    fn new(bytes: &[u8]) -> Self {
        let mut padded = [0; 4];
        padded[..bytes.len()].copy_from_slice(bytes);
        Self { length: bytes.len() as u8, padded }
    }

    fn bytes(&self) -> &[u8] {
        &self.padded[..usize::from(self.length)]
    }
}

/// The characters that pieces have.
#[derive(Default)]
struct PieceCharacters {
    /// The ids of pieces of a single character.
    ids: HashMap<char, u32>,
    /// Those of several bytes, as bits by their numbers.
    long: Vec<u64>,
}

impl PieceCharacters {
    fn add(&mut self, id: u32, text: &str, has_marks: bool) {
        let mut characters = text.chars().map(|one| if has_marks && one == MARK { ' ' } else { one });
        if let (Some(only), None) = (characters.next(), characters.next()) {
            self.ids.insert(only, id);
        }
        if text.is_ascii() {
            return;
        }
        self.long.resize((char::MAX as usize + 1) / 64, 0);
        for number in text.chars().filter(|&one| !(one.is_ascii() || has_marks && one == MARK)) {
            self.long[number as usize / 64] |= 1 << (number as usize % 64);
        }
    }

    /// Return merges that put each character together, byte by byte, and give ids to what they make on the way.
    fn put_together(
        &self,
        bytes: &[Option<u32>; 256],
        free: &mut impl Iterator<Item = u32>,
        tokens: &mut Vec<(u32, PieceSpelling<'_>)>,
    ) -> Result<Vec<[u32; 3]>> {
        let numbers = (0..).zip(&self.long).flat_map(|(block, &word)| {
            (0..64).filter(move |bit| word & (1 << bit) != 0).map(move |bit| block * 64 + bit)
        });
        let mut parts = Vec::new();
        for character in numbers.filter_map(char::from_u32) {
            let mut buffer = [0; 4];
            let whole = character.encode_utf8(&mut buffer).as_bytes();
            parts.extend((2..=whole.len()).map(|end| Part::new(&whole[..end])));
        }
        parts.sort_unstable();
        parts.dedup();
        let byte = |byte: u8| {
            let missing = || Error::Value(format!("there is no token for byte {byte:#04x}"));
            bytes[usize::from(byte)].ok_or_else(missing)
        };
        let mut made = HashMap::with_capacity(parts.len());
        let mut rows = Vec::with_capacity(parts.len());
        for part in parts {
            let whole = std::str::from_utf8(part.bytes()).ok().and_then(|text| text.chars().next());
            let id = match whole.and_then(|whole| self.ids.get(&whole)) {
                Some(&id) => id,
                None => next_of(free, Part::new(part.bytes()), tokens)?,
            };
            made.insert(part, id);
            let [before @ .., last] = part.bytes() else { continue };
            let left = if let &[first] = before { byte(first)? } else { made[&Part::new(before)] };
            rows.push([left, byte(*last)?, id]);
        }
        Ok(rows)
    }
}

/// Give a free id to a provisional token.
fn next_of(
    free: &mut impl Iterator<Item = u32>,
    part: Part,
    tokens: &mut Vec<(u32, PieceSpelling<'_>)>,
) -> Result<u32> {
    let none_left = || Error::Value("its ids leave no free ones for the parts of characters".to_owned());
    let id = free.next().ok_or_else(none_left)?;
    tokens.push((id, PieceSpelling::Part(part)));
    Ok(id)
}

/// The token of each byte: a piece, or else one for that byte.
fn token_of_each_byte(
    characters: &PieceCharacters,
    rules: PieceRules,
    free: &mut impl Iterator<Item = u32>,
    tokens: &mut Vec<(u32, PieceSpelling<'_>)>,
    spare: &mut Vec<(u32, u8)>,
) -> Result<[Option<u32>; 256]> {
    let mut found: [Option<u32>; 256] = std::array::from_fn(|byte| {
        let ascii = char::from_u32(byte as u32).filter(char::is_ascii)?;
        characters.ids.get(&ascii).copied()
    });
    for &(byte, id) in rules.byte_ids {
        if found[usize::from(byte)].is_some() {
            spare.push((id, byte));
        } else {
            found[usize::from(byte)] = Some(id);
            tokens.push((id, PieceSpelling::Part(Part::new(&[byte]))));
        }
    }
    for &byte in rules.needed {
        if found[usize::from(byte)].is_none() {
            found[usize::from(byte)] = Some(next_of(free, Part::new(&[byte]), tokens)?);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules<'a>(byte_ids: &'a [(u8, u32)], needed: &'a [u8]) -> PieceRules<'a> {
        PieceRules { has_marks: true, byte_ids, needed, first_free: 20 }
    }

    fn tokens(read: &ReadPieces) -> Vec<(u32, &[u8])> {
        let starts = std::iter::once(0).chain(read.ends.iter().copied());
        let bytes = starts.zip(&read.ends).map(|(start, &end)| &read.joined[start as usize..end as usize]);
        read.ids.iter().copied().zip(bytes).collect()
    }

    #[test]
    fn characters_are_put_together_from_their_bytes() {
        let byte_ids = [(0xC3, 3), (0xA9, 4), (b'a', 5), (0xE4, 6), (0xBD, 7), (0xA0, 8)];
        let read =
            read_pieces(&[(10, "▁é"), (9, "a"), (11, "é"), (12, "你a")], rules(&byte_ids, &[])).unwrap();
        let expected: [(u32, &[u8]); 11] = [
            (3, b"\xC3"),
            (4, b"\xA9"),
            (6, b"\xE4"),
            (7, b"\xBD"),
            (8, b"\xA0"),
            (9, b"a"),
            (10, " é".as_bytes()),
            (11, "é".as_bytes()),
            (12, "你a".as_bytes()),
            (20, b"\xE4\xBD"),
            (21, "你".as_bytes()),
        ];
        assert_eq!(tokens(&read), expected);
        assert_eq!(read.characters, [[3, 4, 11], [6, 7, 20], [20, 8, 21]]);
        assert_eq!(read.single_bytes, [(3, 0xC3), (4, 0xA9), (6, 0xE4), (7, 0xBD), (8, 0xA0), (9, b'a')]);
        assert_eq!(read.spare, [(5, b'a')]);
    }

    #[test]
    fn what_no_text_becomes_is_told() {
        let read = read_pieces(&[(0, "a b"), (1, ""), (2, "a▁b")], rules(&[], &[])).unwrap();
        assert_eq!((read.others.as_slice(), tokens(&read)), (&[0, 1][..], vec![(2, &b"a b"[..])]));
        let plain = PieceRules { has_marks: false, ..rules(&[], &[]) };
        let read = read_pieces(&[(0, "a b"), (1, "")], plain).unwrap();
        assert_eq!((read.others.as_slice(), tokens(&read)), (&[1][..], vec![(0, &b"a b"[..])]));
    }

    #[test]
    fn bytes_without_a_token_get_one() {
        let read = read_pieces(&[(3, "é"), (4, "▁")], rules(&[], &[b' ', 0xA9, 0xC3])).unwrap();
        assert_eq!(read.ids, [3, 4, 20, 21]);
        assert_eq!(read.characters, [[21, 20, 3]]);
        assert!(read_pieces(&[(3, "é")], rules(&[(0xC3, 1)], &[])).is_err());
        let full = PieceRules { first_free: u32::MAX - 1, ..rules(&[], &[0xA9]) };
        assert!(read_pieces(&[], full).is_err());
    }

    #[test]
    fn spaces_within_pieces_and_joined_lines_are_found() {
        for (text, inner, joined) in [
            ("▁▁a", false, false),
            ("a▁", true, false),
            ("\n\n", false, false),
            ("\n▁", true, true),
            ("a\n", false, true),
            ("é▁", true, false),
            ("▁\n", false, true),
        ] {
            let needed: Vec<u8> = (0..=255).collect();
            let read = read_pieces(&[(0, text)], rules(&[], &needed)).unwrap();
            assert_eq!((read.has_inner_spaces, read.has_joined_lines), (inner, joined), "{text:?}");
        }
    }
}
