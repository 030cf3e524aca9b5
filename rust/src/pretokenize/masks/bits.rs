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
