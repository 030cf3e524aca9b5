//! Ids in, bytes out: the bytes of each token, joined.
//!
//! The ids are gone through twice: their bytes are counted, so that the caller can make just the room they need, and
//! then written to it.

use std::mem::MaybeUninit;

use crate::error::Result;
use crate::tokens::Tokens;
use crate::watch::Pulse;

/// How many ids are decoded between two beats of the pulse.
const STRETCH: usize = 1 << 14;

/// How many bytes the ids are together; an unknown id is an error.
pub fn decoded_length(tokens: &Tokens, ids: &[u32], pulse: &mut Pulse) -> Result<usize> {
    let mut length = 0;
    for stretch in ids.chunks(STRETCH) {
        length += tokens.total_length(stretch)?;
        pulse.beat(4 * stretch.len())?;
    }
    Ok(length)
}

/// Write the bytes of the ids to the start of the room and return their number.
pub fn decode(
    tokens: &Tokens,
    ids: &[u32],
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
