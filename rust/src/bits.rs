//! Sets of places: a bit for each, in words of 64.

/// The places whose bits are set, from one place on.
pub fn places_in(first: usize, mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (bits != 0).then(|| first + bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        place
    })
}

pub fn is_in(bits: &[u64], place: usize) -> bool {
    bits[place / 64] >> (place % 64) & 1 != 0
}

/// Clears the bits from a place on, up to another one.
#[inline(always)]
pub fn clear(bits: &mut [u64], from: usize, to: usize) {
    let before = |place: usize, word: usize| {
        !(!0_u64).checked_shl(place.saturating_sub(64 * word) as u32).unwrap_or(0)
    };
    for word in from / 64..to.div_ceil(64).min(bits.len()) {
        bits[word] &= before(from, word) | !before(to, word);
    }
}

/// The last place before another one whose bit is set.
#[inline(always)]
pub fn last_in(bits: &[u64], place: usize) -> Option<usize> {
    last(place, |word| bits[word])
}

/// The last place before another one whose bit is not set.
#[inline(always)]
pub fn last_not_in(bits: &[u64], place: usize) -> Option<usize> {
    last(place, |word| !bits[word])
}

#[inline(always)]
fn last(place: usize, bits: impl Fn(usize) -> u64) -> Option<usize> {
    for word in (0..place.div_ceil(64)).rev() {
        let bits = bits(word) & if word == place / 64 { (1 << (place % 64)) - 1 } else { !0 };
        if bits != 0 {
            return Some(64 * word + 63 - bits.leading_zeros() as usize);
        }
    }
    None
}

/// The first place from one on whose bit is set.
#[inline(always)]
pub fn first_from(bits: &[u64], place: usize) -> Option<usize> {
    first(place, bits.len(), |word| bits[word])
}

/// The first place from one on whose bit is not set.
#[inline(always)]
pub fn first_not_from(bits: &[u64], place: usize) -> Option<usize> {
    first(place, bits.len(), |word| !bits[word])
}

#[inline(always)]
fn first(place: usize, words: usize, bits: impl Fn(usize) -> u64) -> Option<usize> {
    (place / 64..words).find_map(|word| {
        let from = if word == place / 64 { !0 << (place % 64) } else { !0 };
        let bits = bits(word) & from;
        (bits != 0).then(|| 64 * word + bits.trailing_zeros() as usize)
    })
}

/// Sets the bit of a place, if there is one.
pub fn mark(bits: &mut [u64], place: usize) {
    if let Some(word) = bits.get_mut(place / 64) {
        *word |= 1 << (place % 64);
    }
}
