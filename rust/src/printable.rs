//! Tokens in the printable form of GPT-2's and Hugging Face's files, one character for each byte, in; their bytes out.

/// Tokens in the order of their ids.
#[derive(Default)]
pub struct PrintedTokens {
    pub ids: Vec<u32>,
    /// The bytes of all tokens, and the end of each.
    pub joined: Vec<u8>,
    pub ends: Vec<u64>,
    /// The printable form of all tokens, and the end of each.
    pub printed: Vec<u8>,
    pub printed_ends: Vec<u64>,
    /// The places in the given list of empty tokens, and of those with a character that stands for no byte.
    pub others: Vec<usize>,
}

/// Read tokens, each with its id, in any order.
pub fn read_printed(tokens: &[(u32, &str)]) -> PrintedTokens {
    let mut places: Vec<usize> = (0..tokens.len()).collect();
    if !tokens.is_sorted_by_key(|&(id, _)| id) {
        places.sort_unstable_by_key(|&place| tokens[place].0);
    }
    let mut read = PrintedTokens::default();
    let length = tokens.iter().map(|(_, text)| text.len()).sum();
    read.joined.reserve(length);
    read.printed.reserve(length);
    for place in places {
        let (id, text) = tokens[place];
        let start = read.joined.len();
        let is_of_bytes = !text.is_empty()
            && text.chars().all(|character| match byte_of(character) {
                Some(byte) => {
                    read.joined.push(byte);
                    true
                }
                None => false,
            });
        if is_of_bytes {
            read.ids.push(id);
            read.ends.push(read.joined.len() as u64);
            read.printed.extend_from_slice(text.as_bytes());
            read.printed_ends.push(read.printed.len() as u64);
        } else {
            read.joined.truncate(start);
            read.others.push(place);
        }
    }
    read
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
    fn tokens_are_read_in_the_order_of_their_ids() {
        let read = read_printed(&[(7, "Ġb"), (3, "a"), (5, ""), (4, "a b"), (9, "é")]);
        assert_eq!((read.ids, read.joined, read.ends), (vec![3, 7, 9], b"a b\xe9".to_vec(), vec![1, 3, 4]));
        assert_eq!((read.printed, read.printed_ends), ("aĠbé".into(), vec![1, 4, 6]));
        assert_eq!(read.others, [3, 2]);
    }
}
