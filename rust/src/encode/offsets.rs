//! Ids and their text in, the span of every token out.

use crate::tokens::TokenBytes;

/// What spans are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Characters,
    Bytes,
}

/// The start and end of every token in the text that the ids encode.
///
/// In bytes, spans tile the text. In characters, a token that holds part of a character spans the whole of it: the
/// span begins with the character of the token's first byte and ends with the character of its last, so that tokens
/// which share a character overlap in it, and every span cuts out text that contains the token.
pub fn spans(ids: &[u32], text: &str, tokens: &TokenBytes, unit: Unit) -> Vec<(usize, usize)> {
    let mut end = 0;
    let in_bytes = ids.iter().map(|&id| {
        let start = end;
        end += tokens.length(id).unwrap_or(0);
        (start, end)
    });
    if unit == Unit::Bytes || text.is_ascii() {
        return in_bytes.collect();
    }
    let bytes = text.as_bytes();
    // Invariant: `seen` is the number of characters that begin in the first `position` bytes.
    let (mut position, mut seen) = (0, 0);
    let mut begun_before = |offset: usize| {
        seen += bytes[position..offset].iter().filter(|&&byte| !is_continuation(byte)).count();
        position = offset;
        seen
    };
    in_bytes
        .map(|(start, end)| {
            let begun = begun_before(start);
            let first = if is_continuation(bytes[start]) { begun - 1 } else { begun };
            (first, begun_before(end))
        })
        .collect()
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_with_part_of_a_character_spans_all_of_it() {
        let given: Vec<(u32, &[u8])> =
            vec![(0, b"a\xC3"), (1, b"\xA9"), (2, b"b"), (3, b"\xE4\xB8"), (4, b"\xADc")];
        let tokens = TokenBytes::new(given.into_iter()).unwrap();
        let in_unit = |unit| spans(&[0, 1, 2, 3, 4], "aébéc".replace("béc", "b中c").as_str(), &tokens, unit);
        assert_eq!(in_unit(Unit::Characters), [(0, 2), (1, 2), (2, 3), (3, 4), (3, 5)]);
        assert_eq!(in_unit(Unit::Bytes), [(0, 2), (2, 3), (3, 4), (4, 6), (6, 8)]);
    }
}
