//! 64 bytes in, one bit mask for each class out, by whatever instructions the machine has.
//!
//! Bit `i` of a mask speaks of byte `i`. Bytes that are not ASCII are only marked as such.

/// What each of 64 bytes is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Masks {
    pub letters: u64,
    pub numbers: u64,
    pub spaces: u64,
    /// The space itself, U+0020.
    pub blanks: u64,
    pub apostrophes: u64,
    pub non_ascii: u64,
    /// Bytes that go on with a character of several bytes.
    pub continuations: u64,
}

/// One way to make masks.
pub trait Classify {
    /// # Safety
    /// The machine must have the instructions that the implementation names.
    unsafe fn classify(block: &[u8; 64]) -> Masks;
}

/// The portable way, which the others are tested against.
pub struct Portable;

impl Classify for Portable {
    #[inline(always)]
    unsafe fn classify(block: &[u8; 64]) -> Masks {
        let mut masks = Masks::default();
        for (bit, &byte) in block.iter().enumerate() {
            let mark = |is: bool| u64::from(is) << bit;
            masks.letters |= mark(byte.is_ascii_alphabetic());
            masks.numbers |= mark(byte.is_ascii_digit());
            masks.spaces |= mark(matches!(byte, b'\t'..=b'\r' | b' '));
            masks.blanks |= mark(byte == b' ');
            masks.apostrophes |= mark(byte == b'\'');
            masks.non_ascii |= mark(byte >= 0x80);
            masks.continuations |= mark(byte & 0xC0 == 0x80);
        }
        masks
    }
}

#[cfg(target_arch = "x86_64")]
pub use x86_64::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::*;

    use super::{Classify, Masks};

    /// AVX-512 with byte instructions: one comparison for each class.
    pub struct Avx512;

    impl Classify for Avx512 {
        #[inline(always)]
        unsafe fn classify(block: &[u8; 64]) -> Masks {
            // SAFETY: the caller vouches for AVX-512F and BW; the load reads the 64 bytes of `block`.
            unsafe {
                let bytes = _mm512_loadu_si512(block.as_ptr().cast());
                let below = |value, first: u8, count: u8| {
                    let offset = _mm512_sub_epi8(value, _mm512_set1_epi8(first as i8));
                    _mm512_cmplt_epu8_mask(offset, _mm512_set1_epi8(count as i8))
                };
                let equal = |sign: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(sign as i8));
                let blanks = equal(b' ');
                Masks {
                    letters: below(_mm512_or_si512(bytes, _mm512_set1_epi8(0x20)), b'a', 26),
                    numbers: below(bytes, b'0', 10),
                    spaces: blanks | below(bytes, b'\t', 5),
                    blanks,
                    apostrophes: equal(b'\''),
                    non_ascii: _mm512_movepi8_mask(bytes),
                    continuations: below(bytes, 0x80, 0x40),
                }
            }
        }
    }

    /// AVX2: two halves of 32 bytes.
    pub struct Avx2;

    impl Classify for Avx2 {
        #[inline(always)]
        unsafe fn classify(block: &[u8; 64]) -> Masks {
            // SAFETY: the caller vouches for AVX2; the loads read bytes 0..32 and 32..64 of `block`.
            unsafe {
                let low = _mm256_loadu_si256(block.as_ptr().cast());
                let high = _mm256_loadu_si256(block.as_ptr().add(32).cast());
                let mask = |of: &dyn Fn(__m256i) -> __m256i| {
                    let half = |value| u64::from(_mm256_movemask_epi8(of(value)) as u32);
                    half(low) | half(high) << 32
                };
                let below = |value, first: u8, count: u8| {
                    let offset = _mm256_sub_epi8(value, _mm256_set1_epi8(first as i8));
                    let last = _mm256_set1_epi8((count - 1) as i8);
                    _mm256_cmpeq_epi8(_mm256_min_epu8(offset, last), offset)
                };
                let equal =
                    |sign: u8| mask(&move |bytes| _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(sign as i8)));
                let blanks = equal(b' ');
                Masks {
                    letters: mask(&|bytes| below(_mm256_or_si256(bytes, _mm256_set1_epi8(0x20)), b'a', 26)),
                    numbers: mask(&|bytes| below(bytes, b'0', 10)),
                    spaces: blanks | mask(&|bytes| below(bytes, b'\t', 5)),
                    blanks,
                    apostrophes: equal(b'\''),
                    non_ascii: mask(&|bytes| bytes),
                    continuations: mask(&|bytes| below(bytes, 0x80, 0x40)),
                }
            }
        }
    }
}

#[cfg(target_arch = "aarch64")]
pub use aarch64::Neon;

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use std::arch::aarch64::*;

    use super::{Classify, Masks};

    /// NEON: four quarters of 16 bytes.
    pub struct Neon;

    impl Classify for Neon {
        #[inline(always)]
        unsafe fn classify(block: &[u8; 64]) -> Masks {
            // SAFETY: every aarch64 machine has NEON; the loads read the four quarters of `block`.
            unsafe {
                let quarters = vld1q_u8_x4(block.as_ptr());
                let quarters = [quarters.0, quarters.1, quarters.2, quarters.3];
                let mask = |of: &dyn Fn(uint8x16_t) -> uint8x16_t| to_mask(quarters.map(of));
                let below =
                    |value, first, count| vcltq_u8(vsubq_u8(value, vdupq_n_u8(first)), vdupq_n_u8(count));
                let equal = |sign| mask(&move |bytes| vceqq_u8(bytes, vdupq_n_u8(sign)));
                let blanks = equal(b' ');
                Masks {
                    letters: mask(&|bytes| below(vorrq_u8(bytes, vdupq_n_u8(0x20)), b'a', 26)),
                    numbers: mask(&|bytes| below(bytes, b'0', 10)),
                    spaces: blanks | mask(&|bytes| below(bytes, b'\t', 5)),
                    blanks,
                    apostrophes: equal(b'\''),
                    non_ascii: mask(&|bytes| vcgeq_u8(bytes, vdupq_n_u8(0x80))),
                    continuations: mask(&|bytes| below(bytes, 0x80, 0x40)),
                }
            }
        }
    }

    /// One bit for each byte, of which all bits are set or none: three rounds of adding neighbours.
    #[inline(always)]
    fn to_mask(bytes: [uint8x16_t; 4]) -> u64 {
        const WEIGHTS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
        // SAFETY: every aarch64 machine has NEON; the load reads the 16 bytes of `WEIGHTS`.
        unsafe {
            let weights = vld1q_u8(WEIGHTS.as_ptr());
            let [a, b, c, d] = bytes.map(|quarter| vandq_u8(quarter, weights));
            let pairs = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
            vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(pairs, pairs)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte value at every place, and blocks of mixed bytes.
    fn blocks() -> Vec<[u8; 64]> {
        let mut blocks: Vec<[u8; 64]> =
            (0..=255).map(|first: u8| std::array::from_fn(|place| first.wrapping_add(place as u8))).collect();
        blocks.extend((0..=255).map(|byte: u8| [byte; 64]));
        blocks
    }

    fn agrees_with_portable<C: Classify>() {
        for block in blocks() {
            // SAFETY: the callers test for the instructions first.
            unsafe { assert_eq!(C::classify(&block), Portable::classify(&block)) }
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn vector_instructions_agree_with_the_portable_way() {
        if is_x86_feature_detected!("avx2") {
            agrees_with_portable::<Avx2>();
        }
        if is_x86_feature_detected!("avx512bw") {
            agrees_with_portable::<Avx512>();
        }
    }

    #[test]
    #[cfg(target_arch = "aarch64")]
    fn vector_instructions_agree_with_the_portable_way() {
        agrees_with_portable::<Neon>();
    }
}
