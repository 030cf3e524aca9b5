//! Writes merges and tokens as JSON, and reads numbers back: the long lists in files of vocabularies.

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
    /// An object, sorted by key: from id to the list of bytes.
    Lists,
    /// An object, sorted by key: from id to the bytes in hexadecimal.
    Hexadecimal,
    /// A list of `[id,"bytes in hexadecimal"]`, in the order given.
    Rows,
}

/// The maximum size of a merge, of a token, and of a byte of a token in JSON.
pub const BYTES_PER_MERGE: usize = 24;
pub const BYTES_PER_TOKEN: usize = 16;
pub const BYTES_PER_BYTE: usize = 4;

/// Write the merges, rows of left, right and resulting id, as JSON.
pub fn write_merges(merges: &[[u32; 3]], form: MergeForm) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 + merges.len() * BYTES_PER_MERGE);
    out.push(b'[');
    for &[left, right, result] in merges {
        match form {
            MergeForm::Pairs => {
                out.push(b'[');
                push_two(&mut out, left, right);
                out.extend_from_slice(b"],");
            }
            MergeForm::Flat => {
                push_two(&mut out, left, right);
                out.push(b',');
            }
            MergeForm::Results => {
                push_number(&mut out, result);
                out.push(b',');
            }
        }
    }
    close(&mut out, b']');
    out
}

/// Write tokens, each with its id, as JSON.
pub fn write_tokens(tokens: &[(u32, &[u8])], form: TokenForm) -> Vec<u8> {
    let bytes: usize = tokens.iter().map(|(_, token)| token.len()).sum();
    let mut out = Vec::with_capacity(2 + tokens.len() * BYTES_PER_TOKEN + bytes * BYTES_PER_BYTE);
    if let TokenForm::Rows = form {
        out.push(b'[');
        for &(id, token) in tokens {
            out.push(b'[');
            push_number(&mut out, id);
            out.push(b',');
            push_hexadecimal(&mut out, token);
            out.extend_from_slice(b"],");
        }
        close(&mut out, b']');
        return out;
    }
    let mut order: Vec<_> = tokens.iter().zip(0..).map(|(&(id, _), at)| (as_text(id), at)).collect();
    // Ids usually ascend, and so do then those of equal length as text: this sort makes use of it.
    order.sort();
    out.push(b'{');
    for (_, at) in order {
        let (id, token) = tokens[at];
        out.push(b'"');
        push_number(&mut out, id);
        out.extend_from_slice(b"\":");
        match form {
            TokenForm::Lists => push_list(&mut out, token),
            _ => push_hexadecimal(&mut out, token),
        }
        out.push(b',');
    }
    close(&mut out, b'}');
    out
}

/// Read all numbers in a text, whatever is between them; `None` if one does not fit 32 bits.
pub fn read_numbers(text: &[u8]) -> Option<Vec<u32>> {
    let count = text.windows(2).filter(|two| two[0].is_ascii_digit() && !two[1].is_ascii_digit()).count();
    let mut numbers = Vec::with_capacity(count + 1);
    let mut open: Option<u32> = None;
    for &byte in text {
        if byte.is_ascii_digit() {
            open = Some(open.unwrap_or(0).checked_mul(10)?.checked_add(u32::from(byte - b'0'))?);
        } else if let Some(number) = open.take() {
            numbers.push(number);
        }
    }
    numbers.extend(open);
    Some(numbers)
}

/// Close a list or an object, with the bracket in the place of the last comma, if there is one.
fn close(out: &mut Vec<u8>, bracket: u8) {
    out.pop_if(|last| *last == b',');
    out.push(bracket);
}

fn push_two(out: &mut Vec<u8>, first: u32, second: u32) {
    push_number(out, first);
    out.push(b',');
    push_number(out, second);
}

/// The three digits of every number below a thousand, and a comma.
const DIGITS: [[u8; 4]; 1000] = {
    let mut digits = [[b','; 4]; 1000];
    let mut number = 0;
    while number < 1000 {
        digits[number][0] = b'0' + (number / 100) as u8;
        digits[number][1] = b'0' + (number / 10 % 10) as u8;
        digits[number][2] = b'0' + (number % 10) as u8;
        number += 1;
    }
    digits
};

/// Push the decimal digits of a number.
fn push_number(out: &mut Vec<u8>, number: u32) {
    if number < 1000 {
        push_small(out, number);
        out.pop();
    } else {
        push_number(out, number / 1000);
        out.extend_from_slice(&DIGITS[number as usize % 1000][..3]);
    }
}

/// Push the decimal digits of a number below a thousand, and a comma.
#[inline(always)]
fn push_small(out: &mut Vec<u8>, number: u32) {
    let zeros = usize::from(number < 100) + usize::from(number < 10);
    // Four bytes are written whatever is needed of them: more quickly than so many as are needed.
    let digits = u32::from_le_bytes(DIGITS[number as usize]) >> (8 * zeros);
    out.extend_from_slice(&digits.to_le_bytes());
    out.truncate(out.len() - zeros);
}

fn push_list(out: &mut Vec<u8>, token: &[u8]) {
    out.push(b'[');
    token.iter().for_each(|&byte| push_small(out, byte.into()));
    close(out, b']');
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
        assert_eq!(write_merges(&merges, MergeForm::Pairs), b"[[97,98],[256,4294967295]]");
        assert_eq!(write_merges(&merges, MergeForm::Flat), b"[97,98,256,4294967295]");
        assert_eq!(write_merges(&merges, MergeForm::Results), b"[256,0]");
        assert_eq!(write_merges(&[], MergeForm::Pairs), b"[]");
    }

    #[test]
    fn tokens_are_written_in_each_form() {
        let tokens: [(u32, &[u8]); 3] = [(2, b"\x00\xff"), (10, b"ab"), (1, b"")];
        assert_eq!(write_tokens(&tokens, TokenForm::Lists), br#"{"1":[],"10":[97,98],"2":[0,255]}"#);
        assert_eq!(write_tokens(&tokens, TokenForm::Hexadecimal), br#"{"1":"","10":"6162","2":"00ff"}"#);
        assert_eq!(write_tokens(&tokens, TokenForm::Rows), br#"[[2,"00ff"],[10,"6162"],[1,""]]"#);
        assert_eq!(write_tokens(&[], TokenForm::Lists), b"{}");
    }

    #[test]
    fn numbers_of_all_lengths_have_their_digits() {
        for number in (0..10_010).chain([99_999, 100_000, 1_000_000, 999_999_999, u32::MAX]) {
            let mut out = b"x".to_vec();
            push_number(&mut out, number);
            assert_eq!(out, format!("x{number}").into_bytes());
        }
        let bytes: Vec<u8> = (0..=255).collect();
        let written = String::from_utf8(write_tokens(&[(7, &bytes)], TokenForm::Lists)).unwrap();
        assert_eq!(written, format!("{{\"7\":{bytes:?}}}").replace(' ', ""));
    }

    #[test]
    fn keys_are_in_the_order_of_their_text() {
        let mut numbers: Vec<u32> = (0..1200).chain([99_999, 100_000, u32::MAX, u32::MAX / 10]).collect();
        numbers.sort_by_key(|&number| as_text(number));
        assert!(numbers.windows(2).all(|two| two[0].to_string() < two[1].to_string()));
    }

    #[test]
    fn written_numbers_are_read_back() {
        let merges: Vec<[u32; 3]> = (0..5000).map(|n| [n * n, n, n]).collect();
        for form in [MergeForm::Pairs, MergeForm::Flat] {
            let read = read_numbers(&write_merges(&merges, form)).unwrap();
            assert_eq!(read, merges.iter().flat_map(|row| [row[0], row[1]]).collect::<Vec<_>>());
        }
        assert_eq!(read_numbers(b"4294967295"), Some(vec![u32::MAX]));
        assert_eq!(read_numbers(b"4294967296"), None);
        assert_eq!(read_numbers(b"[]"), Some(vec![]));
    }
}
