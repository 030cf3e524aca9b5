//! Tokens in the printable form of GPT-2's and Hugging Face's files, one character for each byte, in; their bytes out.

use crate::vocabulary::TokenList;

/// Read tokens with their ids. Those that are empty or have a character that stands for no byte are left out; their ids
/// are returned, too.
pub fn read_printed<'a>(tokens: impl Iterator<Item = (u32, &'a str)>) -> (TokenList, Vec<u32>) {
    let (mut read, mut others) = (TokenList::default(), Vec::new());
    for (id, text) in tokens {
        let start = read.joined.len();
        let bytes = text.chars().map_while(byte_of);
        read.joined.extend(bytes);
        if !text.is_empty() && read.joined.len() - start == text.chars().count() {
            read.end(id);
        } else {
            read.joined.truncate(start);
            others.push(id);
        }
    }
    (read, others)
}

/// The byte that a character stands for. Those that are no printable Latin-1 are numbered from U+0100 on.
fn byte_of(character: char) -> Option<u8> {
    let code = u32::from(character);
    Some(match code {
        0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF => code as u8,
        0x100..=0x120 => (code - 0x100) as u8,
        0x121..=0x142 => (code - 0x121) as u8 + 0x7F,
        0x143 => 0xAD,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_character() {
        let mut bytes: Vec<u8> = ('\0'..='\u{200}').filter_map(byte_of).collect();
        bytes.sort_unstable();
        assert_eq!(bytes, (0..=255).collect::<Vec<u8>>());
        assert_eq!(['!', 'Ġ', 'Ċ', 'ġ', 'Ń'].map(byte_of), [b'!', b' ', b'\n', 0x7F, 0xAD].map(Some));
        assert_eq!(['中', ' ', 'ń'].map(byte_of), [None; 3]);
    }

    #[test]
    fn what_stands_for_no_bytes_is_told() {
        let (read, others) = read_printed([(3, "a"), (4, "a b"), (5, ""), (7, "Ġb"), (9, "é")].into_iter());
        assert_eq!((read.ids, read.joined, read.ends), (vec![3, 7, 9], b"a b\xe9".to_vec(), vec![1, 3, 4]));
        assert_eq!(others, [4, 5]);
    }
}
