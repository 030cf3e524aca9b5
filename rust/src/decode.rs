//! Decoding: joins the bytes of the tokens of ids.

use crate::error::Result;
use crate::memory;
use crate::tokens::TokenBytes;
use crate::watch::Pulse;

/// The number of ids that are decoded between two beats of the pulse, at most, and the room that is made for these: that of the
/// longest token for each.
const IDS_PER_BEAT: usize = 1 << 9;
const ROOM: usize = 1 << 18;

/// Most texts have fewer bytes for each token.
const COMMON_LENGTH: usize = 5;

/// Append the bytes of the ids to a vector.
pub fn decode_onto(tokens: &TokenBytes, ids: &[u32], bytes: &mut Vec<u8>, pulse: &mut Pulse) -> Result<()> {
    let ids_per_beat = (ROOM / tokens.longest().max(1)).clamp(1, IDS_PER_BEAT);
    for (stretch, some) in ids.chunks(ids_per_beat).enumerate() {
        memory::reserve(bytes, some.len() * tokens.longest())?;
        let length = tokens.write(some, bytes.spare_capacity_mut())?;
        // SAFETY: `length` bytes were written after the existing ones.
        unsafe { bytes.set_len(bytes.len() + length) };
        pulse.beat(4 * some.len())?;
        if stretch == 0 {
            // Room for the rest: a vector that grows takes new memory from the system again and again.
            let rest = ids.len() - some.len();
            memory::reserve(bytes, rest.saturating_mul(COMMON_LENGTH.min(length.div_ceil(some.len()))))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Unwatched;

    #[test]
    fn bytes_are_appended_however_long_tokens_are() {
        for longest in [1, 40, 5000, ROOM + 1] {
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
