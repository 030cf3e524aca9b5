//! Ids in, bytes out: the bytes of each token, joined.

use crate::error::{Error, Result};
use crate::tokens::Tokens;
use crate::watch::Pulse;

/// How many ids are decoded between two beats of the pulse.
const STRETCH: usize = 1 << 14;

/// Append the bytes of every id; an unknown id is an error.
pub fn decode(tokens: &Tokens, ids: &[u32], bytes: &mut Vec<u8>, pulse: &mut Pulse) -> Result<()> {
    for stretch in ids.chunks(STRETCH) {
        for &id in stretch {
            tokens.append(id, bytes).ok_or(Error::UnknownId(u64::from(id)))?;
        }
        pulse.beat(4 * stretch.len())?;
    }
    Ok(())
}
