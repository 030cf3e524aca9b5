//! Ids in, bytes out: the bytes of each token, joined.

use crate::error::Result;
use crate::tokens::Tokens;
use crate::watch::Pulse;

/// How many ids are decoded between two beats of the pulse.
const STRETCH: usize = 1 << 14;

/// Most texts have tokens that are shorter than this on average.
const LIKELY_LENGTH: usize = 4;

/// Append the bytes of every id; an unknown id is an error.
pub fn decode(tokens: &Tokens, ids: &[u32], bytes: &mut Vec<u8>, pulse: &mut Pulse) -> Result<()> {
    bytes.reserve(ids.len().saturating_mul(LIKELY_LENGTH));
    for stretch in ids.chunks(STRETCH) {
        tokens.append(stretch, bytes)?;
        pulse.beat(4 * stretch.len())?;
    }
    Ok(())
}
