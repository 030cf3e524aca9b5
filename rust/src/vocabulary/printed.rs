//! Reads tokens in the printable form of GPT-2's and Hugging Face's files, which have one character
//! for each byte: `Ġthe` is ` the`.

use super::TokenList;
use crate::unicode::bytes::character_of;

/// Reads tokens with their ids. Those that are empty or have a character of no byte are left out;
/// their ids are returned, too.
pub fn read_printed<'a>(tokens: impl Iterator<Item = (u32, &'a str)>) -> (TokenList, Vec<u32>) {
    let mut read = TokenList::default();
    let mut unread = Vec::new();
    let mut byte_of = [None; 0x144];
    for byte in 0..=u8::MAX {
        byte_of[character_of(byte) as usize] = Some(byte);
    }
    for (id, text) in tokens {
        let start = read.joined.len();
        // Up to the first character of no byte.
        let bytes = text.chars().map_while(|character| *byte_of.get(character as usize)?);
        read.joined.extend(bytes);
        let is_whole = read.joined.len() - start == text.chars().count();
        if is_whole && !text.is_empty() {
            read.end(id);
        } else {
            read.joined.truncate(start);
            unread.push(id);
        }
    }
    (read, unread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_character() {
        let all: String = (0..=255).map(character_of).collect();
        let (read, unread) = read_printed([(3, &*all)].into_iter());
        assert_eq!((read.joined, unread), ((0..=255).collect::<Vec<u8>>(), vec![]));
        assert_eq!([b'!', b' ', b'\n', 0x7F, 0xAD].map(character_of), ['!', 'Ġ', 'Ċ', 'ġ', 'Ń']);
        assert_eq!(read_printed([(0, "中"), (1, " "), (2, "ń")].into_iter()).1, [0, 1, 2]);
    }

    #[test]
    fn what_stands_for_no_bytes_is_told() {
        let (read, unread) =
            read_printed([(3, "a"), (4, "a b"), (5, ""), (7, "Ġb"), (9, "é")].into_iter());
        assert_eq!(
            (read.ids, read.joined, read.ends),
            (vec![3, 7, 9], b"a b\xe9".to_vec(), vec![1, 3, 4])
        );
        assert_eq!(unread, [4, 5]);
    }
}
