//! Writes merges and tokens as JSON: the long lists in files of vocabularies.

/// The JSON form of merges.
#[derive(Clone, Copy, Debug)]
pub enum MergeForm {
    /// A list of `[left,right]`.
    Pairs,
    /// A list of left and right ids in turn.
    Flat,
    /// A list of resulting ids.
    Results,
}

/// The JSON form of tokens.
#[derive(Clone, Copy, Debug)]
pub enum TokenForm {
    /// An object, sorted by key: from id to the bytes in hexadecimal.
    Hexadecimal,
    /// A list of `[id,"bytes in hexadecimal"]`, in the order given.
    Rows,
}

/// The maximum size of a merge in JSON, of a token without its bytes, and of a byte of a token.
pub const BYTES_PER_MERGE: usize = 24;
pub const BYTES_PER_TOKEN: usize = 16;
pub const BYTES_PER_BYTE: usize = 2;

/// Write the merges, rows of left, right and resulting id, as JSON.
pub fn merges_json(merges: &[[u32; 3]], form: MergeForm) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 + merges.len() * BYTES_PER_MERGE);
    out.push(b'[');
    for &[left, right, result] in merges {
        match form {
            MergeForm::Pairs => {
                out.push(b'[');
                push_number(&mut out, left, b',');
                push_number(&mut out, right, b']');
                out.push(b',');
            }
            MergeForm::Flat => {
                push_number(&mut out, left, b',');
                push_number(&mut out, right, b',');
            }
            MergeForm::Results => push_number(&mut out, result, b','),
        }
    }
    closed(out, b']')
}

/// Write tokens, each with its id, as JSON.
pub fn tokens_json(ids: &[u32], tokens: &[&[u8]], form: TokenForm) -> Vec<u8> {
    let mut tokens: Vec<_> = ids.iter().copied().zip(tokens.iter().copied()).collect();
    let size: usize = tokens.iter().map(|(_, token)| BYTES_PER_TOKEN + BYTES_PER_BYTE * token.len()).sum();
    let mut out = Vec::with_capacity(2 + size);
    match form {
        TokenForm::Rows => {
            out.push(b'[');
            for (id, token) in tokens {
                out.push(b'[');
                push_number(&mut out, id, b',');
                push_hexadecimal(&mut out, token);
                out.extend_from_slice(b"],");
            }
            closed(out, b']')
        }
        TokenForm::Hexadecimal => {
            tokens.sort_unstable_by_key(|&(id, _)| as_text(id));
            out.push(b'{');
            for (id, token) in tokens {
                out.push(b'"');
                push_number(&mut out, id, b'"');
                out.push(b':');
                push_hexadecimal(&mut out, token);
                out.push(b',');
            }
            closed(out, b'}')
        }
    }
}

/// Close a list or an object, with the bracket in the place of the last comma, if there is one.
fn closed(mut out: Vec<u8>, bracket: u8) -> Vec<u8> {
    out.pop_if(|last| *last == b',');
    out.push(bracket);
    out
}

/// Push the decimal digits of a number, and what follows.
fn push_number(out: &mut Vec<u8>, mut number: u32, behind: u8) {
    let (mut digits, mut start) = ([behind; 11], 10);
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return out.extend_from_slice(&digits[start..]);
        }
    }
}

fn push_hexadecimal(out: &mut Vec<u8>, token: &[u8]) {
    let digit = |four: u8| b"0123456789abcdef"[usize::from(four)];
    out.push(b'"');
    out.extend(token.iter().flat_map(|&byte| [digit(byte >> 4), digit(byte & 15)]));
    out.push(b'"');
}

/// A sort key that orders numbers like their decimal digits as text: the digits padded with zeros on the right, and
/// the number of digits.
fn as_text(number: u32) -> (u64, u32) {
    let digits = number.checked_ilog10().map_or(1, |tens| tens + 1);
    (u64::from(number) * 10_u64.pow(10 - digits), digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_are_written_in_each_form() {
        let merges = [[97, 98, 256], [256, u32::MAX, 0]];
        assert_eq!(merges_json(&merges, MergeForm::Pairs), b"[[97,98],[256,4294967295]]");
        assert_eq!(merges_json(&merges, MergeForm::Flat), b"[97,98,256,4294967295]");
        assert_eq!(merges_json(&merges, MergeForm::Results), b"[256,0]");
        assert_eq!(merges_json(&[], MergeForm::Pairs), b"[]");
    }

    #[test]
    fn tokens_are_written_in_each_form() {
        let tokens: [(u32, &[u8]); 3] = [(2, b"\x00\xff"), (10, b"ab"), (1, b"")];
        let (ids, bytes): (Vec<_>, Vec<_>) = tokens.into_iter().unzip();
        let written = |form| tokens_json(&ids, &bytes, form);
        assert_eq!(written(TokenForm::Hexadecimal), br#"{"1":"","10":"6162","2":"00ff"}"#);
        assert_eq!(written(TokenForm::Rows), br#"[[2,"00ff"],[10,"6162"],[1,""]]"#);
        assert_eq!(tokens_json(&[], &[], TokenForm::Hexadecimal), b"{}");
    }

    #[test]
    fn numbers_of_all_lengths_have_their_digits() {
        for number in (0..10_010).chain([99_999, 100_000, 1_000_000, 999_999_999, u32::MAX]) {
            let mut out = b"x".to_vec();
            push_number(&mut out, number, b',');
            assert_eq!(out, format!("x{number},").into_bytes());
        }
    }

    #[test]
    fn keys_are_in_the_order_of_their_text() {
        let mut numbers: Vec<u32> = (0..1200).chain([99_999, 100_000, u32::MAX, u32::MAX / 10]).collect();
        numbers.sort_by_key(|&number| as_text(number));
        assert!(numbers.windows(2).all(|two| two[0].to_string() < two[1].to_string()));
    }
}
