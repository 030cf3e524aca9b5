//! Decoding: joins the bytes of the tokens of ids.

use crate::error::Result;
use crate::memory;
use crate::tokens::TokenBytes;
use crate::watch::Pulse;

/// The number of ids that are decoded between two beats of the pulse: few, as room is made for the longest token each.
const IDS_PER_BEAT: usize = 1 << 9;

/// If an upper bound of the length exceeds this, the exact length is computed.
const LARGE_BOUND: usize = 1 << 18;

/// Most texts have fewer bytes for each token.
const COMMON_LENGTH: usize = 5;

/// Append the bytes of the ids to a vector.
pub fn decode_onto(tokens: &TokenBytes, ids: &[u32], bytes: &mut Vec<u8>, pulse: &mut Pulse) -> Result<()> {
    for (stretch, some) in ids.chunks(IDS_PER_BEAT).enumerate() {
        memory::reserve(bytes, max_bytes(tokens, some)?)?;
        let length = tokens.write(some, bytes.spare_capacity_mut())?;
        // SAFETY: `length` bytes were written after the existing ones.
        unsafe { bytes.set_len(bytes.len() + length) };
        pulse.beat(4 * some.len())?;
        if stretch == 0 {
            // Room for the rest: a vector that grows takes new memory from the system again and again.
            let rest = ids.len() - some.len();
            memory::reserve(bytes, rest.saturating_mul(COMMON_LENGTH.min(length.div_ceil(IDS_PER_BEAT))))?;
        }
    }
    Ok(())
}

/// An upper bound of the length of the decoded ids: a cheap one if it is small enough, otherwise the exact length.
fn max_bytes(tokens: &TokenBytes, ids: &[u32]) -> Result<usize> {
    let most = ids.len().saturating_mul(tokens.longest());
    if most <= LARGE_BOUND { Ok(most) } else { tokens.total_length(ids) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Unwatched;

    #[test]
    fn bytes_are_appended_however_long_tokens_are() {
        for longest in [1, 40, 5000, LARGE_BOUND + 1] {
            let long = vec![b'x'; longest];
            let given: [(u32, &[u8]); 2] = [(0, b"ab"), (7, &long)];
            let tokens = TokenBytes::new(given.into_iter()).unwrap();
            let mut ids = vec![0; 2 * IDS_PER_BEAT + 1];
            ids[IDS_PER_BEAT + 1] = 7;
            let mut bytes = b"before".to_vec();
            let watch = &mut Unwatched;
            let pulse = &mut Pulse::of(watch);
            decode_onto(&tokens, &ids, &mut bytes, pulse).unwrap();
            let expected =
                [b"before", &*b"ab".repeat(IDS_PER_BEAT + 1), &long, &b"ab".repeat(IDS_PER_BEAT - 1)];
            assert!(bytes == expected.concat());
            assert!(decode_onto(&tokens, &[0, 1], &mut bytes, pulse).is_err());
        }
    }
}
