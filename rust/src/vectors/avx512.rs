//! AVX-512F, BW, VBMI and VBMI2: one instruction looks up 64 bytes in 128, another moves chosen
//! bytes together.

use std::arch::x86_64::*;
use std::ptr::{from_mut, from_ref};

use super::avx2::Avx2;
use super::{Job, Portable, Vectors};
use crate::memory::cells::Plain;

#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

impl Avx512 {
    /// The proof that this machine has the instructions, if it does.
    pub fn new() -> Option<Self> {
        let has_all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2");
        Avx2::new().filter(|_| has_all).map(|_| Self(()))
    }

    /// Load up to eight words, and zeros behind them.
    #[inline(always)]
    fn words<const N: usize>(self, from: &[u64; N]) -> __m512i {
        // SAFETY: this value proves that there are the instructions; only the words of the array
        // are loaded.
        unsafe { _mm512_maskz_loadu_epi64(const { mask(N) }, from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_words<const N: usize>(self, words: __m512i, to: &mut [u64; N]) {
        // SAFETY: this value proves that there are the instructions; only the words of the array
        // are stored.
        unsafe { _mm512_mask_storeu_epi64(to.as_mut_ptr().cast(), const { mask(N) }, words) }
    }

    #[inline(never)]
    #[target_feature(
        enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt"
    )]
    pub fn run<J: Job>(self, job: J) -> J::Result {
        job.run(self)
    }
}

/// A bit for each of up to eight words.
const fn mask(words: usize) -> u8 {
    assert!(words <= 8);
    (0xFF_u16 >> (8 - words)) as u8
}

// SAFETY: any bytes are a valid vector.
unsafe impl Plain for __m512i {}

impl Vectors for Avx512 {
    type Bytes = __m512i;

    #[inline(always)]
    fn splat(self, byte: u8) -> __m512i {
        // SAFETY: this value proves that there are the instructions.
        unsafe { _mm512_set1_epi8(byte as i8) }
    }

    #[inline(always)]
    fn and(self, one: __m512i, other: __m512i) -> __m512i {
        // SAFETY: this value proves that there are the instructions.
        unsafe { _mm512_and_si512(one, other) }
    }

    #[inline(always)]
    fn or(self, one: __m512i, other: __m512i) -> __m512i {
        // SAFETY: this value proves that there are the instructions.
        unsafe { _mm512_or_si512(one, other) }
    }

    #[inline(always)]
    fn non_zero(self, bytes: __m512i) -> u64 {
        // SAFETY: this value proves that there are the instructions.
        unsafe { _mm512_test_epi8_mask(bytes, bytes) }
    }

    #[inline(always)]
    fn choose(self, places: u64, one: __m512i, other: __m512i) -> __m512i {
        // SAFETY: this value proves that there are the instructions.
        unsafe { _mm512_mask_blend_epi8(places, other, one) }
    }

    #[inline(always)]
    fn look_up<const LENGTH: usize>(self, table: &[u8; LENGTH], index: __m512i) -> __m512i {
        const { assert!(LENGTH == 16 || LENGTH == 32 || LENGTH == 64 || LENGTH == 128) };
        let table = table.as_ptr();
        // SAFETY: this value proves that there are the instructions; as many bytes are loaded as
        // the table has.
        unsafe {
            let entries = match LENGTH {
                16 => _mm512_broadcast_i32x4(_mm_loadu_si128(table.cast())),
                32 => _mm512_broadcast_i64x4(_mm256_loadu_si256(table.cast())),
                _ => _mm512_loadu_si512(table.cast()),
            };
            match LENGTH {
                128 => _mm512_permutex2var_epi8(
                    entries,
                    index,
                    _mm512_loadu_si512(table.add(64).cast()),
                ),
                _ => _mm512_permutexvar_epi8(index, entries),
            }
        }
    }

    #[inline(always)]
    fn gather(self, bytes: &[u8; 64], places: u64, gathered: &mut [u8; 64]) {
        // SAFETY: this value proves that there are the instructions.
        let side_by_side = unsafe { _mm512_maskz_compress_epi8(places, self.load(bytes)) };
        self.store(side_by_side, gathered);
    }

    #[inline(always)]
    fn spread(self, bits: u64, places: u64) -> u64 {
        // SAFETY: this value proves that there are the instructions.
        unsafe { _pdep_u64(bits, places) }
    }

    // Fewer than eight words are faster one by one. Eight are always loaded and stored whole: what
    // was stored in two halves cannot be loaded whole before both halves have left the processor.

    #[inline(always)]
    fn join<const N: usize>(self, bits: &mut [u64; N], more: &[u64; N], among: &[u64; N]) {
        if N < 8 {
            return Portable.join(bits, more, among);
        }
        // SAFETY: this value proves that there are the instructions.
        let joined = unsafe {
            let added = _mm512_and_si512(self.words(more), self.words(among));
            _mm512_or_si512(self.words(bits), added)
        };
        self.store_words(joined, bits);
    }

    #[inline(always)]
    fn join_changes<const N: usize>(self, bits: &mut [u64; N], one: &[u64; N], other: &[u64; N]) {
        if N < 8 {
            return Portable.join_changes(bits, one, other);
        }
        // SAFETY: this value proves that there are the instructions.
        let joined = unsafe {
            let changes = _mm512_xor_si512(self.words(one), self.words(other));
            _mm512_or_si512(self.words(bits), changes)
        };
        self.store_words(joined, bits);
    }

    #[inline(always)]
    fn take_away<const N: usize>(self, bits: &mut [u64; N], others: &[u64; N]) {
        if N < 8 {
            return Portable.take_away(bits, others);
        }
        // SAFETY: this value proves that there are the instructions.
        let rest = unsafe { _mm512_andnot_si512(self.words(others), self.words(bits)) };
        self.store_words(rest, bits);
    }

    #[inline(always)]
    fn up<const N: usize>(self, bits: &[u64; N]) -> [u64; N] {
        if N < 8 {
            return Portable.up(bits);
        }
        let (words, mut up) = (self.words(bits), [0; N]);
        // SAFETY: this value proves that there are the instructions.
        let shifted = unsafe {
            let before = _mm512_alignr_epi64::<7>(words, _mm512_setzero_si512());
            _mm512_shldi_epi64::<1>(words, before)
        };
        self.store_words(shifted, &mut up);
        up
    }

    #[inline(always)]
    fn sum<const N: usize>(self, one: &[u64; N], other: &[u64; N]) -> [u64; N] {
        if N < 8 {
            return Portable.sum(one, other);
        }
        let (one, other, mut sum) = (self.words(one), self.words(other), [0; N]);
        // SAFETY: this value proves that there are the instructions.
        let carried = unsafe {
            let sums = _mm512_add_epi64(one, other);
            let all_ones = _mm512_set1_epi64(-1);
            // A bit for each word: a carry leaves it, or passes through it. Adding both finds the
            // words that get one.
            let over = u32::from(_mm512_cmplt_epu64_mask(sums, one));
            let passes = u32::from(_mm512_cmpeq_epi64_mask(sums, all_ones));
            let carried = (((over << 1) + passes) ^ passes) as u8;
            _mm512_mask_sub_epi64(sums, carried, sums, all_ones)
        };
        self.store_words(carried, &mut sum);
        sum
    }

    #[inline(always)]
    fn positions(self, base: usize, bits: u64, positions: &mut [usize; 64]) {
        let mut offsets = [0; 64];
        self.gather(&PLACES, bits, &mut offsets);
        // Nearly all words have fewer than 24: always as many chunks, so that no branch is
        // mispredicted.
        let chunks = (bits.count_ones() as usize).div_ceil(8).max(3);
        let eights = positions.as_chunks_mut::<8>().0.iter_mut().zip(offsets.as_chunks::<8>().0);
        for (positions, offsets) in eights.take(chunks) {
            // SAFETY: this value proves that there are the instructions; 8 bytes are loaded and 64
            // are stored, which are the arrays.
            unsafe {
                let offsets = _mm512_cvtepu8_epi64(_mm_loadl_epi64(from_ref(offsets).cast()));
                let all = _mm512_add_epi64(_mm512_set1_epi64(base as i64), offsets);
                _mm512_storeu_si512(from_mut(positions).cast(), all);
            }
        }
    }
}

static PLACES: [u8; 64] = {
    let mut places = [0; 64];
    let mut place = 0;
    while place < 64 {
        places[place] = place as u8;
        place += 1;
    }
    places
};
