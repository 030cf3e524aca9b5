//! Decodes ids: joins the bytes of their tokens.

use crate::error::Result;
use crate::memory;
use crate::tokens::TokenBytes;
use crate::watch::Pulse;

/// The maximum number of ids that are decoded between two beats of the pulse, and the room in bytes
/// that is reserved for them, as if each were the longest token.
const IDS_PER_BEAT: usize = 1 << 9;
const ROOM: usize = 1 << 18;

/// Most texts have at most this many bytes for each token.
const COMMON_LENGTH: usize = 5;

/// Appends the bytes of the ids to a vector.
pub fn decode_onto(
    tokens: &TokenBytes,
    ids: &[u32],
    bytes: &mut Vec<u8>,
    pulse: &mut Pulse,
) -> Result<()> {
    let ids_per_beat = (ROOM / tokens.longest().max(1)).clamp(1, IDS_PER_BEAT);
    for (number, chunk) in ids.chunks(ids_per_beat).enumerate() {
        memory::reserve(bytes, chunk.len() * tokens.longest())?;
        let length = tokens.write(chunk, bytes.spare_capacity_mut())?;
        // SAFETY: `length` bytes were written after the existing ones.
        unsafe { bytes.set_len(bytes.len() + length) };
        pulse.beat(4 * chunk.len())?;
        if number == 0 {
            // Room for the rest: a vector that grows takes new memory from the system again and
            // again.
            let rest = ids.len() - chunk.len();
            let bytes_per_token = COMMON_LENGTH.min(length.div_ceil(chunk.len()));
            memory::reserve(bytes, rest.saturating_mul(bytes_per_token))?;
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
            let expected = [
                b"before",
                &*b"ab".repeat(IDS_PER_BEAT + 1),
                &long,
                &b"ab".repeat(IDS_PER_BEAT - 1),
            ];
            assert!(bytes == expected.concat());
            assert!(decode_onto(&tokens, &[0, 1], &mut bytes, pulse).is_err());
        }
    }
}
