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
    /// An object, sorted by key: from id to the bytes in hexadecimal.
    Hexadecimal,
    /// A list of `[id,"bytes in hexadecimal"]`, in the order given.
    Rows,
}

/// Text is passed on in pieces of about this size: their memory is used again and again, while the whole text would take
/// memory that is new to the process, whose pages take longer than what is written to them.
pub const PIECE: usize = 1 << 16;

/// JSON that is passed on piece by piece.
struct JsonPieces<P> {
    text: Vec<u8>,
    pass_on: P,
}

impl<E, P: FnMut(&[u8]) -> Result<(), E>> JsonPieces<P> {
    fn new(bracket: u8, pass_on: P) -> Self {
        let mut text = Vec::with_capacity(2 * PIECE);
        text.push(bracket);
        Self { text, pass_on }
    }

    /// Add an element, which ends with a comma.
    #[inline(always)]
    fn add(&mut self, element: impl FnOnce(&mut Vec<u8>)) -> Result<(), E> {
        // The last comma stays, as a bracket may take its place.
        if self.text.len() > PIECE {
            let end = self.text.len() - 1;
            (self.pass_on)(&self.text[..end])?;
            self.text.drain(..end);
        }
        element(&mut self.text);
        Ok(())
    }

    fn finish(mut self, bracket: u8) -> Result<(), E> {
        close(&mut self.text, bracket);
        (self.pass_on)(&self.text)
    }
}

/// Write the merges, rows of left, right and resulting id, as JSON.
pub fn write_merges<E>(
    merges: &[[u32; 3]],
    form: MergeForm,
    pass_on: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut json = JsonPieces::new(b'[', pass_on);
    for &[left, right, result] in merges {
        json.add(|out| match form {
            MergeForm::Pairs => {
                out.push(b'[');
                push_two(out, left, right);
                out.extend_from_slice(b"],");
            }
            MergeForm::Flat => {
                push_two(out, left, right);
                out.push(b',');
            }
            MergeForm::Results => {
                push_number(out, result);
                out.push(b',');
            }
        })?;
    }
    json.finish(b']')
}

/// Write tokens, each with its id, as JSON.
pub fn write_tokens<E>(
    ids: &[u32],
    tokens: &[&[u8]],
    form: TokenForm,
    pass_on: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    if let TokenForm::Rows = form {
        let mut json = JsonPieces::new(b'[', pass_on);
        for (&id, token) in ids.iter().zip(tokens) {
            json.add(|out| {
                out.push(b'[');
                push_number(out, id);
                out.push(b',');
                push_hexadecimal(out, token);
                out.extend_from_slice(b"],");
            })?;
        }
        return json.finish(b']');
    }
    let mut json = JsonPieces::new(b'{', pass_on);
    for (id, token) in in_text_order(ids).map(|place| (ids[place], tokens[place])) {
        json.add(|out| {
            out.push(b'"');
            push_number(out, id);
            out.extend_from_slice(b"\":");
            push_hexadecimal(out, token);
            out.push(b',');
        })?;
    }
    json.finish(b'}')
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

fn push_hexadecimal(out: &mut Vec<u8>, token: &[u8]) {
    let digit = |four: u8| b"0123456789abcdef"[usize::from(four)];
    out.push(b'"');
    out.extend(token.iter().flat_map(|&byte| [digit(byte >> 4), digit(byte & 15)]));
    out.push(b'"');
}

/// The places of ids in the order of their decimal digits as text.
fn in_text_order(ids: &[u32]) -> Box<dyn Iterator<Item = usize> + '_> {
    if ids.iter().zip(0..).all(|(&id, place)| id == place) {
        let first = if ids.is_empty() { None } else { Some(0) };
        return Box::new(std::iter::successors(first, |&number| next_in_text_order(number, ids.len())));
    }
    let mut order: Vec<_> = ids.iter().zip(0..).map(|(&id, place)| (as_text(id), place)).collect();
    order.sort();
    Box::new(order.into_iter().map(|(_, place)| place))
}

/// Of the numbers below `end`, the next one in the order of their decimal digits as text.
fn next_in_text_order(mut number: usize, end: usize) -> Option<usize> {
    if number > 0 && number <= (end - 1) / 10 {
        return Some(10 * number);
    }
    while number % 10 == 9 || number + 1 == end {
        number /= 10;
        if number == 0 {
            return None;
        }
    }
    Some(number + 1)
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

    /// All that is passed on, and the number of pieces.
    fn written(
        write: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), ()>) -> Result<(), ()>,
    ) -> (Vec<u8>, usize) {
        let (mut text, mut pieces) = (Vec::new(), 0);
        write(&mut |piece| {
            text.extend_from_slice(piece);
            pieces += 1;
            Ok(())
        })
        .unwrap();
        (text, pieces)
    }

    fn merges_json(merges: &[[u32; 3]], form: MergeForm) -> Vec<u8> {
        written(|pass_on| write_merges(merges, form, pass_on)).0
    }

    fn tokens_json(tokens: &[(u32, &[u8])], form: TokenForm) -> Vec<u8> {
        let (ids, bytes): (Vec<_>, Vec<_>) = tokens.iter().copied().unzip();
        written(|pass_on| write_tokens(&ids, &bytes, form, pass_on)).0
    }

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
        assert_eq!(tokens_json(&tokens, TokenForm::Hexadecimal), br#"{"1":"","10":"6162","2":"00ff"}"#);
        assert_eq!(tokens_json(&tokens, TokenForm::Rows), br#"[[2,"00ff"],[10,"6162"],[1,""]]"#);
        assert_eq!(tokens_json(&[], TokenForm::Hexadecimal), b"{}");
    }

    #[test]
    fn long_lists_are_passed_on_in_pieces() {
        let merges: Vec<[u32; 3]> = (0..50_000).map(|n| [n, n + 1, n + 2]).collect();
        let (text, pieces) = written(|pass_on| write_merges(&merges, MergeForm::Results, pass_on));
        let numbers: Vec<u32> = merges.iter().map(|merge| merge[2]).collect();
        assert_eq!(String::from_utf8(text).unwrap(), format!("{numbers:?}").replace(' ', ""));
        assert!((4..8).contains(&pieces));
        let failing = write_merges(&merges, MergeForm::Results, |_| Err("full"));
        assert_eq!(failing, Err("full"));
    }

    #[test]
    fn numbers_of_all_lengths_have_their_digits() {
        for number in (0..10_010).chain([99_999, 100_000, 1_000_000, 999_999_999, u32::MAX]) {
            let mut out = b"x".to_vec();
            push_number(&mut out, number);
            assert_eq!(out, format!("x{number}").into_bytes());
        }
    }

    #[test]
    fn keys_are_in_the_order_of_their_text() {
        let mut numbers: Vec<u32> = (0..1200).chain([99_999, 100_000, u32::MAX, u32::MAX / 10]).collect();
        numbers.sort_by_key(|&number| as_text(number));
        assert!(numbers.windows(2).all(|two| two[0].to_string() < two[1].to_string()));
        for end in (0..130).chain([999, 1000, 1001, 1010, 12_345]) {
            let ids: Vec<u32> = (0..end).collect();
            let texts: Vec<_> = in_text_order(&ids).map(|place| place.to_string()).collect();
            assert!(texts.is_sorted_by(|one, next| one < next) && texts.len() == ids.len());
        }
    }

    #[test]
    fn written_numbers_are_read_back() {
        let merges: Vec<[u32; 3]> = (0..5000).map(|n| [n * n, n, n]).collect();
        for form in [MergeForm::Pairs, MergeForm::Flat] {
            let read = read_numbers(&merges_json(&merges, form)).unwrap();
            assert_eq!(read, merges.iter().flat_map(|row| [row[0], row[1]]).collect::<Vec<_>>());
        }
        assert_eq!(read_numbers(b"4294967295"), Some(vec![u32::MAX]));
        assert_eq!(read_numbers(b"4294967296"), None);
        assert_eq!(read_numbers(b"[]"), Some(vec![]));
    }
}
