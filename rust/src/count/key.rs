//! Short pretokens as two registers: bytes in, key and hash out.

/// The longest pretoken that is its own key.
pub const LONGEST: usize = 15;

/// A pretoken of 1 to 15 bytes: they fill 16 bytes from the first on, zeros follow, and the last byte is the length.
/// All zeros are no pretoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    pub low: u64,
    pub high: u64,
}

/// A short pretoken and its count.
#[derive(Clone, Copy, Default)]
pub struct Short {
    pub key: Key,
    pub count: u64,
}

/// Which bits of both halves belong to a pretoken of each length, and where that length is written.
const KEEP: [(u64, u64); LONGEST + 1] = {
    let mut masks = [(0, 0); LONGEST + 1];
    let mut length = 1;
    while length <= LONGEST {
        let low = if length >= 8 { !0 } else { !(!0 << (8 * length)) };
        let high = if length <= 8 { 0 } else { !(!0 << (8 * (length - 8))) };
        masks[length] = (low, high);
        length += 1;
    }
    masks
};

impl Key {
    /// The key of the pretoken `text[start..end]`, which is at most `LONGEST` bytes long.
    #[inline(always)]
    pub fn new(text: &[u8], start: usize, end: usize) -> Self {
        let length = end - start;
        let (keep_low, keep_high) = KEEP[length & LONGEST];
        let (low, high) = match text.get(start..).and_then(|rest| rest.first_chunk::<16>()) {
            Some(bytes) => halves(bytes),
            // The text ends within 16 bytes.
            None => {
                let mut bytes = [0; 16];
                bytes[..length].copy_from_slice(&text[start..end]);
                halves(&bytes)
            }
        };
        Self { low: low & keep_low, high: high & keep_high | (length as u64) << 56 }
    }

    /// Whether this is no pretoken.
    #[inline(always)]
    pub fn is_none(self) -> bool {
        self.high == 0
    }

    /// The pretoken.
    pub fn bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.low.to_le_bytes());
        bytes[8..].copy_from_slice(&self.high.to_le_bytes());
        bytes
    }

    /// The length of the pretoken.
    pub fn length(self) -> usize {
        (self.high >> 56) as usize
    }

    #[inline(always)]
    pub fn hash(self) -> u64 {
        mix(self.low ^ SEEDS[0], self.high ^ SEEDS[1])
    }
}

fn halves(bytes: &[u8; 16]) -> (u64, u64) {
    let whole = u128::from_le_bytes(*bytes);
    (whole as u64, (whole >> 64) as u64)
}

/// Odd numbers with bits set everywhere: the digits of pi.
const SEEDS: [u64; 3] = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345, 0xa409_3822_299f_31d1];

/// Both halves of a product, folded: every bit of the result depends on every bit of both numbers.
#[inline(always)]
fn mix(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    (product as u64) ^ (product >> 64) as u64
}

/// The hash of a pretoken of any length.
pub fn hash_bytes(pretoken: &[u8]) -> u64 {
    let mut hash = pretoken.len() as u64 ^ SEEDS[2];
    let (blocks, rest) = pretoken.as_chunks::<16>();
    for block in blocks {
        let (low, high) = halves(block);
        hash = mix(low ^ SEEDS[0] ^ hash, high ^ SEEDS[1]);
    }
    let mut last = [0; 16];
    last[..rest.len()].copy_from_slice(rest);
    let (low, high) = halves(&last);
    mix(low ^ SEEDS[0] ^ hash, high ^ SEEDS[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_pretoken_and_its_length() {
        let text = b"abcdefghijklmnopqrstuvwxyz";
        for start in 0..text.len() {
            for end in start + 1..=(start + LONGEST).min(text.len()) {
                let key = Key::new(text, start, end);
                assert_eq!(&key.bytes()[..key.length()], &text[start..end]);
                assert_eq!(key, Key::new(&text[start..end], 0, end - start));
            }
        }
    }

    #[test]
    fn zeros_are_told_apart_by_their_number() {
        assert_ne!(Key::new(b"\0", 0, 1), Key::new(b"\0\0", 0, 2));
        assert_ne!(hash_bytes(&[0; 16]), hash_bytes(&[0; 17]));
    }
}
