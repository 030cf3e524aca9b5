//! Sets of places in a window: a bit for each place.

use crate::vectors::Vectors;

/// A bit for every character of a window of `N` words.
pub type Bits<const N: usize> = [u64; N];

/// The bits of `from`, each extended through the run of `through` bits that follows it.
#[inline(always)]
pub fn extend<const N: usize>(vectors: impl Vectors, from: &Bits<N>, through: &Bits<N>) -> Bits<N> {
    let (mut first, mut inside, mut all) = ([0; N], *through, *from);
    vectors.join(&mut first, &vectors.up(from), through);
    // Adding the first bit of a run to the run clears the run and sets the bit after it.
    vectors.take_away(&mut inside, &vectors.sum(&first, through));
    vectors.join(&mut all, &first, &first);
    vectors.join(&mut all, &inside, &inside);
    all
}

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
    (place / 64..bits.len()).find_map(|word| {
        let bits = if word == place / 64 { bits[word] & !0 << (place % 64) } else { bits[word] };
        (bits != 0).then(|| 64 * word + bits.trailing_zeros() as usize)
    })
}

/// Sets the bit of a place, if there is one.
pub fn mark(bits: &mut [u64], place: usize) {
    if let Some(word) = bits.get_mut(place / 64) {
        *word |= 1 << (place % 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::Portable;

    #[test]
    fn bits_are_extended_across_words() {
        assert_eq!(
            extend(Portable, &[1 << 62, 0, 1 << 9], &[1 << 63, 0b1011, 1 << 9 | 1 << 11]),
            [0b11 << 62, 0b11, 1 << 9]
        );
        assert_eq!(extend(Portable, &[0b1000_0001], &[0b0110_0110]), [0b1000_0111]);
    }
}
