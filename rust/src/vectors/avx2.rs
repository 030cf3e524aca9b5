//! AVX2: two registers of 32 bytes, which are looked up in tables of sixteen.

use std::arch::x86_64::*;
use std::ptr::from_ref;

use super::{Job, Vectors};
use crate::memory::cells::Plain;

#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

impl Avx2 {
    /// The proof that this machine has the instructions, if it does.
    pub fn new() -> Option<Self> {
        let has_all = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        has_all.then_some(Self(()))
    }

    #[inline(never)]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub fn run<J: Job>(self, job: J) -> J::Result {
        job.run(self)
    }

    #[inline(always)]
    fn look_up_half(self, tables: &[__m256i], index: __m256i) -> __m256i {
        // SAFETY: this value proves that there are the instructions.
        unsafe {
            let mut found = [index; 8];
            for (found, table) in found.iter_mut().zip(tables) {
                *found = _mm256_shuffle_epi8(*table, index);
            }
            // The bits of the index that choose between two tables, two pairs, two fours: each
            // where the blend expects it.
            let bits = [
                _mm256_slli_epi16::<3>(index),
                _mm256_slli_epi16::<2>(index),
                _mm256_slli_epi16::<1>(index),
            ];
            let mut count = tables.len();
            for bit in bits {
                count /= 2;
                for part in 0..count {
                    found[part] = _mm256_blendv_epi8(found[2 * part], found[2 * part + 1], bit);
                }
            }
            found[0]
        }
    }

    /// A byte of ones for each of 32 bits that is set.
    #[inline(always)]
    fn to_bytes(self, bits: u32) -> __m256i {
        // SAFETY: this value proves that there are the instructions.
        unsafe {
            let number_of_byte = _mm256_setr_epi64x(
                0,
                0x0101_0101_0101_0101,
                0x0202_0202_0202_0202,
                0x0303_0303_0303_0303,
            );
            let each = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
            let bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(bits as i32), number_of_byte);
            _mm256_cmpeq_epi8(_mm256_and_si256(bytes, each), each)
        }
    }
}

// SAFETY: any bytes are two valid vectors.
unsafe impl Plain for [__m256i; 2] {}

impl Vectors for Avx2 {
    type Bytes = [__m256i; 2];

    #[inline(always)]
    fn splat(self, byte: u8) -> [__m256i; 2] {
        // SAFETY: this value proves that there are the instructions.
        unsafe { [_mm256_set1_epi8(byte as i8); 2] }
    }

    #[inline(always)]
    fn and(self, one: [__m256i; 2], other: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: this value proves that there are the instructions.
        unsafe { [_mm256_and_si256(one[0], other[0]), _mm256_and_si256(one[1], other[1])] }
    }

    #[inline(always)]
    fn or(self, one: [__m256i; 2], other: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: this value proves that there are the instructions.
        unsafe { [_mm256_or_si256(one[0], other[0]), _mm256_or_si256(one[1], other[1])] }
    }

    #[inline(always)]
    fn non_zero(self, bytes: [__m256i; 2]) -> u64 {
        // SAFETY: this value proves that there are the instructions.
        unsafe {
            // What is not zero comes to have the highest bit.
            let low = _mm256_movemask_epi8(_mm256_adds_epu8(bytes[0], _mm256_set1_epi8(0x7F)));
            let high = _mm256_movemask_epi8(_mm256_adds_epu8(bytes[1], _mm256_set1_epi8(0x7F)));
            u64::from(low as u32) | u64::from(high as u32) << 32
        }
    }

    #[inline(always)]
    fn choose(self, places: u64, one: [__m256i; 2], other: [__m256i; 2]) -> [__m256i; 2] {
        let (low, high) = (self.to_bytes(places as u32), self.to_bytes((places >> 32) as u32));
        // SAFETY: this value proves that there are the instructions.
        unsafe {
            [_mm256_blendv_epi8(other[0], one[0], low), _mm256_blendv_epi8(other[1], one[1], high)]
        }
    }

    #[inline(always)]
    fn look_up<const LENGTH: usize>(
        self,
        table: &[u8; LENGTH],
        index: [__m256i; 2],
    ) -> [__m256i; 2] {
        // Sixteen entries in each register, twice.
        let mut all = [self.splat(0)[0]; 8];
        for (to, table) in all.iter_mut().zip(table.as_chunks::<16>().0) {
            // SAFETY: this value proves that there are the instructions; 16 bytes are loaded, which
            // are the array.
            *to = unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(from_ref(table).cast())) };
        }
        let tables = &all[..LENGTH / 16];
        [self.look_up_half(tables, index[0]), self.look_up_half(tables, index[1])]
    }

    #[inline(always)]
    fn gather(self, bytes: &[u8; 64], places: u64, gathered: &mut [u8; 64]) {
        let mut count = 0;
        for (bytes, places) in bytes.as_chunks().0.iter().zip(places.to_le_bytes()) {
            // SAFETY: this value proves that there are the instructions; 8 of 64 bytes are stored,
            // as `count` is at most 8 for each eight before.
            unsafe {
                let chosen = _pdep_u64(places.into(), 0x0101_0101_0101_0101) * 0xFF;
                let together = _pext_u64(u64::from_le_bytes(*bytes), chosen);
                gathered.as_mut_ptr().add(count).cast::<u64>().write_unaligned(together);
            }
            count += places.count_ones() as usize;
        }
    }

    #[inline(always)]
    fn spread(self, bits: u64, places: u64) -> u64 {
        // SAFETY: this value proves that there are the instructions.
        unsafe { _pdep_u64(bits, places) }
    }
}
