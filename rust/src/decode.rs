//! Ids in, bytes out: the bytes of each token, joined.
//!
//! Where just the room they need is made first, the ids are gone through twice: their bytes are counted, and then
//! written to it. Bytes that are only on the way to a text go to a row that grows.

use std::mem::MaybeUninit;

use crate::error::Result;
use crate::memory;
use crate::tokens::{StoredId, TokenBytes};
use crate::watch::Pulse;

/// How many ids are decoded between two beats of the pulse.
const STRETCH: usize = 1 << 14;

/// More room than this is made only for bytes that are counted.
const MUCH: usize = 1 << 22;

/// How many bytes the ids are together; an unknown id is an error.
pub fn decoded_length<I: StoredId>(tokens: &TokenBytes, ids: &[I], pulse: &mut Pulse) -> Result<usize> {
    let mut length = 0;
    for stretch in ids.chunks(STRETCH) {
        length += tokens.total_length(stretch)?;
        pulse.beat(4 * stretch.len())?;
    }
    Ok(length)
}

/// Write the bytes of the ids to the start of the room and return their number.
pub fn decode<I: StoredId>(
    tokens: &TokenBytes,
    ids: &[I],
    room: &mut [MaybeUninit<u8>],
    pulse: &mut Pulse,
) -> Result<usize> {
    let mut length = 0;
    for stretch in ids.chunks(STRETCH) {
        length += tokens.write(stretch, &mut room[length..])?;
        pulse.beat(4 * stretch.len())?;
    }
    Ok(length)
}

/// Write the bytes of the ids behind those of a row.
pub fn decode_onto<I: StoredId>(
    tokens: &TokenBytes,
    ids: &[I],
    bytes: &mut Vec<u8>,
    pulse: &mut Pulse,
) -> Result<()> {
    for stretch in ids.chunks(STRETCH) {
        memory::reserve(bytes, most_bytes(tokens, stretch)?)?;
        let length = tokens.write(stretch, bytes.spare_capacity_mut())?;
        // SAFETY: so many bytes were written behind those that were there.
        unsafe { bytes.set_len(bytes.len() + length) };
        pulse.beat(4 * stretch.len())?;
    }
    Ok(())
}

/// No less than what the ids are together, and not far more: a bound that costs nothing if it is small enough.
fn most_bytes<I: StoredId>(tokens: &TokenBytes, ids: &[I]) -> Result<usize> {
    let most = ids.len().saturating_mul(tokens.longest());
    if most <= MUCH { Ok(most) } else { tokens.total_length(ids) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Unwatched;

    #[test]
    fn bytes_go_behind_one_another_however_long_tokens_are() {
        for longest in [1, 40, 5000, MUCH + 1] {
            let long = vec![b'x'; longest];
            let given: [(u32, &[u8]); 2] = [(0, b"ab"), (7, &long)];
            let tokens = TokenBytes::new(given.into_iter()).unwrap();
            let mut ids = vec![0; 2 * STRETCH + 1];
            ids[STRETCH + 1] = 7;
            let mut bytes = b"before".to_vec();
            let watch = &mut Unwatched;
            let pulse = &mut Pulse::of(watch);
            decode_onto(&tokens, &ids, &mut bytes, pulse).unwrap();
            let expected = [b"before", &*b"ab".repeat(STRETCH + 1), &long, &b"ab".repeat(STRETCH - 1)];
            assert!(bytes == expected.concat());
            assert!(decode_onto(&tokens, &[0, 1], &mut bytes, pulse).is_err());
        }
    }
}
