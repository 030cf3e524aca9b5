//! Lines of base64 and a number in, tokens by number out; nothing, if any line is in another form.

/// Tokens in the order of their numbers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NumberedTokens {
    pub numbers: Vec<u32>,
    /// The bytes of all tokens, one behind the other.
    pub joined: Vec<u8>,
    pub ends: Vec<u64>,
}

/// Read lines of a token in base64, a space and a number; `=` alone is an empty token.
///
/// `None` where a line is not that, a token is not spelled in the one canonical way, or a number is not larger than the
/// one before it or is more than `largest`: the caller then looks for what is wrong, if anything is.
pub fn numbered_lines(content: &[u8], largest: u32) -> Option<NumberedTokens> {
    let mut read =
        NumberedTokens { joined: Vec::with_capacity(content.len() / 2), ..NumberedTokens::default() };
    let lines = content.strip_suffix(b"\n").unwrap_or(content);
    for line in lines.split(|&byte| byte == b'\n') {
        let space = line.iter().position(|&byte| byte == b' ')?;
        let number = number(&line[space + 1..])?;
        if number > u64::from(largest) || read.numbers.last().is_some_and(|&last| u64::from(last) >= number) {
            return None;
        }
        decode(&line[..space], &mut read.joined)?;
        read.numbers.push(number as u32);
        read.ends.push(read.joined.len() as u64);
    }
    Some(read)
}

/// A number of at most ten digits.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 10 {
        return None;
    }
    digits
        .iter()
        .try_fold(0, |number, &digit| digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0')))
}

const NO_DIGIT: u8 = 64;
/// What each character of base64 stands for.
const VALUES: [u8; 256] = {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = [NO_DIGIT; 256];
    let mut value = 0;
    while value < digits.len() {
        values[digits[value] as usize] = value as u8;
        value += 1;
    }
    values
};

/// Append the bytes that base64 spells, padding and all.
fn decode(spelled: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    if spelled == b"=" {
        return Some(());
    }
    let (whole, []) = spelled.as_chunks::<4>() else { return None };
    let (&last, whole) = whole.split_last()?;
    for &four in whole {
        let [_, first, second, third] = bits(four)?.to_be_bytes();
        bytes.extend([first, second, third]);
    }
    let padding = last.iter().rev().take_while(|&&byte| byte == b'=').count();
    let kept = 3usize.checked_sub(padding).filter(|&kept| kept > 0)?;
    let mut four = last;
    four[4 - padding..].fill(b'A');
    let [_, three @ ..] = bits(four)?.to_be_bytes();
    bytes.extend(&three[..kept]);
    // What is behind the last byte must not be anything else than zeros.
    three[kept..].iter().all(|&byte| byte == 0).then_some(())
}

/// The 24 bits of four characters.
fn bits(four: [u8; 4]) -> Option<u32> {
    let values = four.map(|byte| VALUES[usize::from(byte)]);
    if values.contains(&NO_DIGIT) {
        return None;
    }
    Some(values.iter().fold(0, |bits, &value| bits << 6 | u32::from(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(content: &str) -> Option<Vec<(u32, String)>> {
        let read = numbered_lines(content.as_bytes(), 999)?;
        let starts = [0].into_iter().chain(read.ends.iter().copied());
        let texts = starts.zip(&read.ends).map(|(start, &end)| {
            String::from_utf8_lossy(&read.joined[start as usize..end as usize]).into_owned()
        });
        Some(read.numbers.iter().copied().zip(texts).collect())
    }

    #[test]
    fn lines_are_tokens_with_their_numbers() {
        let expected = [(0, "a"), (2, "ab"), (7, "abc"), (8, ""), (999, "abcd")];
        let expected = expected.map(|(number, text)| (number, text.to_owned()));
        for end in ["", "\n"] {
            let lines = format!("YQ== 0\nYWI= 2\nYWJj 7\n= 8\nYWJjZA== 999{end}");
            assert_eq!(tokens(&lines).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_not_canonical_or_not_in_order_is_left_to_the_caller() {
        for wrong in [
            "",
            "\n",
            "YQ==",
            "YQ== ",
            " 0",
            "YQ== x",
            "YQ==  0",
            "YQ= 0",
            "YQ 0",
            "YR== 0",
            "YWJ= 0",
            "==== 0",
            "Y=== 0",
            "Y=Q= 0",
            "YQ==YQ== 0",
            "Y!== 0",
            "YQ== 1000",
            "YQ== 00000000000",
            "YQ== -1",
            "YQ== 0\n\n",
            "YQ== 0\r\n",
            "YQ== 1\nYg== 1",
            "YQ== 1\nYg== 0",
        ] {
            assert_eq!(tokens(wrong), None, "{wrong:?}");
        }
    }
}
