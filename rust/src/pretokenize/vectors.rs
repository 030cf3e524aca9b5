//! Vector instructions for 64 bytes at a time: a small trait, and an implementation for each kind of machine.
//!
//! The others are tested against the portable implementation, which `BPETITE_PORTABLE` selects on every machine.
//!
//! Each function that uses intrinsics enables the instructions itself and contains no closures: intrinsics are not inlined
//! into a function that does not enable them, such as a closure, but called, with arguments in memory.

use crate::portable;

/// The number of atoms that tables have entries for.
pub const ATOMS: usize = 32;

/// How many words of 64 places stand in a window.
pub const WORDS: usize = 8;

/// Eight terms, one bit each: three neighbouring atoms fulfil a term if the entries of all three have its bit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    /// For each atom, the terms that allow it before the place.
    pub before: [u8; ATOMS],
    /// For each atom, the terms that allow it at the place.
    pub at: [u8; ATOMS],
    /// For each atom, the terms that allow it after the place.
    pub behind: [u8; ATOMS],
    /// Whether there are at most 16 atoms.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(dead_code, reason = "only AVX2 has a shorter way for few")
    )]
    pub few_atoms: bool,
}

/// For each of up to 512 places, which terms are fulfilled there.
pub type Fulfilled = [[u8; 64]];

/// The kinds of 64 bytes, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// Bytes of characters beyond ASCII.
    pub wide: u64,
    /// Bytes of characters other than the first.
    pub inside: u64,
}

/// The operations on 64 bytes.
pub trait Vectors {
    /// Look up the atom of each byte; for a byte that is not ASCII, any atom will do.
    ///
    /// # Safety
    /// The machine must have the instructions that the implementation names.
    unsafe fn atoms(bytes: &[u8; 64], table: &[u8; 128], atoms: &mut [u8; 64]) -> Kinds;

    /// Find which terms are fulfilled at each place, and return those that are fulfilled anywhere. The atom at the first
    /// place is the second one; what is behind each place is given, as it may be the end of a piece.
    ///
    /// # Safety
    /// The machine must have the instructions that the implementation names.
    unsafe fn fulfilled(atoms: &[u8], after: &[u8], terms: &Terms, fulfilled: &mut Fulfilled) -> u8;

    /// Add the places that fulfil one of some terms.
    ///
    /// # Safety
    /// The machine must have the instructions that the implementation names.
    unsafe fn places(fulfilled: &Fulfilled, terms: u8, places: &mut [u64]);

    /// Up to 64 bytes, with zeros behind them.
    ///
    /// # Safety
    /// The machine must have the instructions that the implementation names.
    #[inline(always)]
    unsafe fn padded(bytes: &[u8]) -> [u8; 64] {
        let mut padded = [0; 64];
        padded[..bytes.len()].copy_from_slice(bytes);
        padded
    }

    /// The places where a byte occurs.
    ///
    /// # Safety
    /// The machine must have the instructions that the implementation names.
    unsafe fn equal(bytes: &[u8; 64], byte: u8) -> u64;

    /// At some places, store the table's entry for the last six bits of the index; returns the places whose entry has its
    /// highest bit set.
    ///
    /// # Safety
    /// The machine must have the instructions that the implementation names.
    unsafe fn look_up(table: &[u8; 64], index: &[u8; 64], places: u64, found: &mut [u8; 64]) -> u64;

    /// Move the bytes of some places together; the bytes after them are undefined.
    ///
    /// # Safety
    /// The machine must have the instructions that the implementation names.
    #[inline(always)]
    unsafe fn gather(bytes: &[u8; 64], mut places: u64, gathered: &mut [u8; 64]) {
        for to in gathered {
            if places == 0 {
                break;
            }
            *to = bytes[places.trailing_zeros() as usize];
            places &= places - 1;
        }
    }

    /// Of some places, those whose bit is set: the lowest bit is for the first of these places, and so on.
    ///
    /// # Safety
    /// The machine must have the instructions that the implementation names.
    #[inline(always)]
    unsafe fn choose(mut bits: u64, mut places: u64) -> u64 {
        let mut chosen = 0;
        while bits != 0 && places != 0 {
            chosen |= (places & places.wrapping_neg()) * (bits & 1);
            places &= places - 1;
            bits >>= 1;
        }
        chosen
    }

    /// The bits, moved one place up.
    ///
    /// # Safety
    /// The machine must have the instructions that the implementation names.
    #[inline(always)]
    unsafe fn up(bits: &[u64; 8]) -> [u64; 8] {
        std::array::from_fn(|word| bits[word] << 1 | if word == 0 { 0 } else { bits[word - 1] >> 63 })
    }

    /// Add the bits of `more` that are among others.
    ///
    /// # Safety
    /// The machine must have the instructions that the implementation names.
    #[inline(always)]
    unsafe fn join(bits: &mut [u64; 8], more: &[u64; 8], among: &[u64; 8]) {
        for (bits, (more, among)) in bits.iter_mut().zip(more.iter().zip(among)) {
            *bits |= more & among;
        }
    }

    /// Take bits away.
    ///
    /// # Safety
    /// The machine must have the instructions that the implementation names.
    #[inline(always)]
    unsafe fn take_away(bits: &mut [u64; 8], others: &[u64; 8]) {
        for (bits, others) in bits.iter_mut().zip(others) {
            *bits &= !others;
        }
    }

    /// The sum of two numbers of 512 bits, lowest word first, without what does not fit.
    ///
    /// # Safety
    /// The machine must have the instructions that the implementation names.
    #[inline(always)]
    unsafe fn add(one: &[u64; 8], other: &[u64; 8]) -> [u64; 8] {
        let mut carry = false;
        std::array::from_fn(|word| {
            let (sum, over) = one[word].overflowing_add(other[word]);
            let (sum, also) = sum.overflowing_add(carry.into());
            carry = over | also;
            sum
        })
    }

    /// Write `base + i` for every bit `i` that is set; the numbers after them are undefined.
    ///
    /// # Safety
    /// The machine must have the instructions that the implementation names.
    #[inline(always)]
    unsafe fn positions(base: usize, mut bits: u64, positions: &mut [usize; 64]) {
        // Always eight at a time: the surplus is overwritten later.
        let count = bits.count_ones() as usize;
        for eight in positions.chunks_exact_mut(8).take(count.div_ceil(8)) {
            for position in eight {
                *position = base + bits.trailing_zeros() as usize;
                bits &= bits.wrapping_sub(1);
            }
        }
    }
}

/// The atoms before and at the 64 places of each word, and those behind them.
#[inline(always)]
fn nearby<'a>(atoms: &'a [u8], behind: &'a [u8]) -> impl Iterator<Item = (&'a [u8; 65], &'a [u8; 64])> {
    let at = atoms.windows(65).step_by(64).filter_map(|near| near.first_chunk());
    at.zip(behind.as_chunks().0)
}

/// The bits that any byte of a word has.
#[inline(always)]
fn any_byte(word: u64) -> u8 {
    let half = word | word >> 32;
    let quarter = half | half >> 16;
    (quarter | quarter >> 8) as u8
}

/// The implementations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// Any machine.
    Portable,
    /// x86-64 with AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// x86-64 with AVX-512 and its permutations of bytes.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// aarch64.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Instructions {
    /// The best implementation for this machine.
    pub fn this() -> Self {
        if portable::is_wanted() {
            return Self::Portable;
        }
        Self::all().pop().unwrap_or(Self::Portable)
    }

    /// All implementations that this machine can run, the best one last.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            let bits = is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            if bits && is_x86_feature_detected!("avx2") {
                all.push(Self::Avx2);
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vbmi")
                    && is_x86_feature_detected!("avx512vbmi2")
                {
                    all.push(Self::Avx512);
                }
            }
        }
        #[cfg(target_arch = "aarch64")]
        all.push(Self::Neon);
        all
    }
}

/// For any machine.
pub struct Portable;

impl Vectors for Portable {
    #[inline(always)]
    unsafe fn atoms(bytes: &[u8; 64], table: &[u8; 128], atoms: &mut [u8; 64]) -> Kinds {
        let mut kinds = Kinds::default();
        for (place, (atom, &byte)) in atoms.iter_mut().zip(bytes).enumerate() {
            *atom = table[usize::from(byte & 0x7F)];
            kinds.wide |= u64::from(byte >> 7) << place;
            kinds.inside |= u64::from(byte & 0xC0 == 0x80) << place;
        }
        kinds
    }

    unsafe fn fulfilled(atoms: &[u8], after: &[u8], terms: &Terms, fulfilled: &mut Fulfilled) -> u8 {
        let mut anywhere = 0;
        for (fulfilled, (near, behind)) in fulfilled.iter_mut().zip(nearby(atoms, after)) {
            for (place, fulfilled) in fulfilled.iter_mut().enumerate() {
                let [before, at, behind] =
                    [near[place], near[place + 1], behind[place]].map(|atom| usize::from(atom) % ATOMS);
                *fulfilled = terms.before[before] & terms.at[at] & terms.behind[behind];
                anywhere |= *fulfilled;
            }
        }
        anywhere
    }

    unsafe fn places(fulfilled: &Fulfilled, terms: u8, places: &mut [u64]) {
        const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
        let terms = u64::from_le_bytes([terms; 8]);
        for (fulfilled, places) in fulfilled.iter().zip(places) {
            let (eights, _) = fulfilled.as_chunks();
            for (eight, bytes) in eights.iter().enumerate() {
                let word = u64::from_le_bytes(*bytes) & terms;
                // Set the highest bit of each byte that is not zero; the product gathers these bits.
                let set = ((((word & LOW) + LOW) | word) & !LOW) >> 7;
                *places |= (set.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * eight);
            }
        }
    }

    #[inline(always)]
    unsafe fn equal(bytes: &[u8; 64], byte: u8) -> u64 {
        bytes.iter().enumerate().fold(0, |places, (place, &other)| places | u64::from(other == byte) << place)
    }

    #[inline(always)]
    unsafe fn look_up(table: &[u8; 64], index: &[u8; 64], mut places: u64, found: &mut [u8; 64]) -> u64 {
        let mut high = 0;
        while places != 0 {
            let place = places.trailing_zeros() as usize;
            found[place] = table[usize::from(index[place] & 63)];
            high |= u64::from(found[place] >> 7) << place;
            places &= places - 1;
        }
        high
    }
}

#[cfg(target_arch = "x86_64")]
pub use x86_64::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::*;

    use super::{ATOMS, Fulfilled, Kinds, Terms, Vectors, WORDS, any_byte, nearby};

    /// AVX-512F, BW, VBMI and VBMI2: one instruction looks up 64 bytes in 128, another moves chosen bytes together.
    pub struct Avx512;

    impl Vectors for Avx512 {
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn atoms(bytes: &[u8; 64], table: &[u8; 128], atoms: &mut [u8; 64]) -> Kinds {
            // SAFETY: the caller vouches for the instructions; what is loaded and stored are the arrays' own bytes.
            unsafe {
                let bytes = _mm512_loadu_si512(bytes.as_ptr().cast());
                let low = _mm512_loadu_si512(table.as_ptr().cast());
                let high = _mm512_loadu_si512(table.as_ptr().add(64).cast());
                let found = _mm512_permutex2var_epi8(low, bytes, high);
                _mm512_storeu_si512(atoms.as_mut_ptr().cast(), found);
                // As signed numbers, continuation bytes are the smallest 64.
                let first_lead = _mm512_set1_epi8(0xC0_u8 as i8);
                Kinds { wide: _mm512_movepi8_mask(bytes), inside: _mm512_cmplt_epi8_mask(bytes, first_lead) }
            }
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn fulfilled(atoms: &[u8], after: &[u8], terms: &Terms, fulfilled: &mut Fulfilled) -> u8 {
            // SAFETY: the caller vouches for the instructions; what is loaded and stored are the arrays' own bytes: from
            // 65, 64 twice.
            unsafe {
                let before = _mm512_castsi256_si512(_mm256_loadu_si256(terms.before.as_ptr().cast()));
                let at = _mm512_castsi256_si512(_mm256_loadu_si256(terms.at.as_ptr().cast()));
                let behind = _mm512_castsi256_si512(_mm256_loadu_si256(terms.behind.as_ptr().cast()));
                let mut anywhere = _mm512_setzero_si512();
                for (fulfilled, (near, after)) in fulfilled.iter_mut().zip(nearby(atoms, after)) {
                    let near = near.as_ptr();
                    let before = _mm512_permutexvar_epi8(_mm512_loadu_si512(near.cast()), before);
                    let at = _mm512_permutexvar_epi8(_mm512_loadu_si512(near.add(1).cast()), at);
                    let behind = _mm512_permutexvar_epi8(_mm512_loadu_si512(after.as_ptr().cast()), behind);
                    let all = _mm512_ternarylogic_epi64::<0x80>(before, at, behind);
                    anywhere = _mm512_or_si512(anywhere, all);
                    _mm512_storeu_si512(fulfilled.as_mut_ptr().cast(), all);
                }
                any_byte(_mm512_reduce_or_epi64(anywhere) as u64)
            }
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn places(fulfilled: &Fulfilled, terms: u8, places: &mut [u64]) {
            let terms = _mm512_set1_epi8(terms as i8);
            for (fulfilled, places) in fulfilled.iter().zip(places) {
                // SAFETY: the caller vouches for the instructions; what is loaded are the array's own bytes.
                let fulfilled = unsafe { _mm512_loadu_si512(fulfilled.as_ptr().cast()) };
                *places |= _mm512_test_epi8_mask(fulfilled, terms);
            }
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn padded(bytes: &[u8]) -> [u8; 64] {
            let mut padded = [0; 64];
            let mask = _bzhi_u64(!0, bytes.len() as u32);
            // SAFETY: the caller vouches for the instructions; what is loaded are the first 64 of these bytes, or all.
            unsafe {
                let bytes = _mm512_maskz_loadu_epi8(mask, bytes.as_ptr().cast());
                _mm512_storeu_si512(padded.as_mut_ptr().cast(), bytes);
            }
            padded
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn equal(bytes: &[u8; 64], byte: u8) -> u64 {
            // SAFETY: the caller vouches for the instructions; what is loaded are the array's own bytes.
            unsafe {
                let bytes = _mm512_loadu_si512(bytes.as_ptr().cast());
                _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8))
            }
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn look_up(table: &[u8; 64], index: &[u8; 64], places: u64, found: &mut [u8; 64]) -> u64 {
            // SAFETY: the caller vouches for the instructions; what is loaded and stored are the arrays' own bytes.
            unsafe {
                let table = _mm512_loadu_si512(table.as_ptr().cast());
                let index = _mm512_loadu_si512(index.as_ptr().cast());
                let known = _mm512_loadu_si512(found.as_ptr().cast());
                // The instruction itself ignores all but six bits of the index.
                let all = _mm512_mask_permutexvar_epi8(known, places, index, table);
                _mm512_storeu_si512(found.as_mut_ptr().cast(), all);
                _mm512_movepi8_mask(all) & places
            }
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn gather(bytes: &[u8; 64], places: u64, gathered: &mut [u8; 64]) {
            // SAFETY: the caller vouches for the instructions; what is loaded and stored are the arrays' own bytes.
            unsafe {
                let bytes = _mm512_loadu_si512(bytes.as_ptr().cast());
                let side_by_side = _mm512_maskz_compress_epi8(places, bytes);
                _mm512_storeu_si512(gathered.as_mut_ptr().cast(), side_by_side);
            }
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn choose(bits: u64, places: u64) -> u64 {
            _pdep_u64(bits, places)
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn up(bits: &[u64; 8]) -> [u64; 8] {
            // SAFETY: the caller vouches for the instructions; what is loaded and stored are the arrays' own bytes.
            unsafe {
                let bits = _mm512_loadu_si512(bits.as_ptr().cast());
                let before = _mm512_alignr_epi64::<7>(bits, _mm512_setzero_si512());
                let mut up = [0; 8];
                _mm512_storeu_si512(up.as_mut_ptr().cast(), _mm512_shldi_epi64::<1>(bits, before));
                up
            }
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn join(bits: &mut [u64; 8], more: &[u64; 8], among: &[u64; 8]) {
            // SAFETY: the caller vouches for the instructions; what is loaded and stored are the arrays' own bytes.
            unsafe {
                let old = _mm512_loadu_si512(bits.as_ptr().cast());
                let more = _mm512_loadu_si512(more.as_ptr().cast());
                let among = _mm512_loadu_si512(among.as_ptr().cast());
                let all = _mm512_ternarylogic_epi64::<0xF8>(old, more, among);
                _mm512_storeu_si512(bits.as_mut_ptr().cast(), all);
            }
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn take_away(bits: &mut [u64; 8], others: &[u64; 8]) {
            // SAFETY: the caller vouches for the instructions; what is loaded and stored are the arrays' own bytes.
            unsafe {
                let all = _mm512_loadu_si512(bits.as_ptr().cast());
                let rest = _mm512_andnot_si512(_mm512_loadu_si512(others.as_ptr().cast()), all);
                _mm512_storeu_si512(bits.as_mut_ptr().cast(), rest);
            }
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn add(one: &[u64; 8], other: &[u64; 8]) -> [u64; 8] {
            // SAFETY: the caller vouches for the instructions; what is loaded and stored are the arrays' own bytes.
            unsafe {
                let one = _mm512_loadu_si512(one.as_ptr().cast());
                let sums = _mm512_add_epi64(one, _mm512_loadu_si512(other.as_ptr().cast()));
                let all_ones = _mm512_set1_epi64(-1);
                // A bit for each word: a carry leaves it, or passes through it. Adding both finds the words that get one.
                let over = u32::from(_mm512_cmplt_epu64_mask(sums, one));
                let passes = u32::from(_mm512_cmpeq_epi64_mask(sums, all_ones));
                let carried = (((over << 1) + passes) ^ passes) as u8;
                let mut sum = [0; 8];
                _mm512_storeu_si512(
                    sum.as_mut_ptr().cast(),
                    _mm512_mask_sub_epi64(sums, carried, sums, all_ones),
                );
                sum
            }
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn positions(base: usize, bits: u64, positions: &mut [usize; 64]) {
            const PLACES: [u8; 64] = {
                let mut places = [0; 64];
                let mut place = 0;
                while place < 64 {
                    places[place] = place as u8;
                    place += 1;
                }
                places
            };
            let count = bits.count_ones() as usize;
            // SAFETY: the caller vouches for the instructions; what is loaded are the arrays' own bytes, and what is
            // stored are eight whole numbers of 64 bits in each chunk of eight.
            unsafe {
                let places = _mm512_loadu_si512(PLACES.as_ptr().cast());
                let mut offsets = [0_u8; 64];
                let set = _mm512_maskz_compress_epi8(bits, places);
                _mm512_storeu_si512(offsets.as_mut_ptr().cast(), set);
                let base = _mm512_set1_epi64(base as i64);
                let chunks = positions.chunks_exact_mut(8).zip(offsets.chunks_exact(8));
                // Nearly all words have fewer than 24: always as many chunks, so that no branch is mispredicted.
                for (positions, offsets) in chunks.take(count.div_ceil(8).max(3)) {
                    let offsets = _mm512_cvtepu8_epi64(_mm_loadl_epi64(offsets.as_ptr().cast()));
                    _mm512_storeu_si512(positions.as_mut_ptr().cast(), _mm512_add_epi64(base, offsets));
                }
            }
        }
    }

    /// AVX2: bytes are looked up in tables of sixteen; an index outside of a table finds zero.
    pub struct Avx2;

    impl Vectors for Avx2 {
        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn atoms(bytes: &[u8; 64], table: &[u8; 128], atoms: &mut [u8; 64]) -> Kinds {
            let mut kinds = Kinds::default();
            for half in 0..2 {
                // SAFETY: the caller vouches for the instructions; what is loaded and stored are the arrays' own
                // bytes: 32 of 64 in each half, and 16 of 128 eight times.
                unsafe {
                    let bytes = _mm256_loadu_si256(bytes.as_ptr().add(32 * half).cast());
                    // Look up in all eight tables of sixteen; the three bits above the lowest four choose the result.
                    let mut parts = [_mm256_setzero_si256(); 8];
                    for (part, found) in parts.iter_mut().enumerate() {
                        let table = _mm_loadu_si128(table.as_ptr().add(16 * part).cast());
                        *found = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), bytes);
                    }
                    let bit = _mm256_slli_epi16::<3>(bytes);
                    for part in 0..4 {
                        parts[part] = _mm256_blendv_epi8(parts[2 * part], parts[2 * part + 1], bit);
                    }
                    let bit = _mm256_slli_epi16::<2>(bytes);
                    for part in 0..2 {
                        parts[part] = _mm256_blendv_epi8(parts[2 * part], parts[2 * part + 1], bit);
                    }
                    let found = _mm256_blendv_epi8(parts[0], parts[1], _mm256_slli_epi16::<1>(bytes));
                    _mm256_storeu_si256(atoms.as_mut_ptr().add(32 * half).cast(), found);
                    let inside = _mm256_cmpgt_epi8(_mm256_set1_epi8(0xC0_u8 as i8), bytes);
                    kinds.wide |= u64::from(_mm256_movemask_epi8(bytes) as u32) << (32 * half);
                    kinds.inside |= u64::from(_mm256_movemask_epi8(inside) as u32) << (32 * half);
                }
            }
            kinds
        }

        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn fulfilled(atoms: &[u8], after: &[u8], terms: &Terms, fulfilled: &mut Fulfilled) -> u8 {
            let mut anywhere = _mm256_setzero_si256();
            for (fulfilled, (near, after)) in fulfilled.iter_mut().zip(nearby(atoms, after)) {
                for half in [0, 32] {
                    // SAFETY: the caller vouches for the instructions; what is loaded and stored are the arrays' own
                    // bytes: 32 of 64, and of 65 twice.
                    unsafe {
                        let (near, after) = (near.as_ptr().add(half), after.as_ptr().add(half));
                        let before = look_up_atoms(&terms.before, near, terms.few_atoms);
                        let at = look_up_atoms(&terms.at, near.add(1), terms.few_atoms);
                        let behind = look_up_atoms(&terms.behind, after, terms.few_atoms);
                        let all = _mm256_and_si256(_mm256_and_si256(before, at), behind);
                        anywhere = _mm256_or_si256(anywhere, all);
                        _mm256_storeu_si256(fulfilled.as_mut_ptr().add(half).cast(), all);
                    }
                }
            }
            let halves = [_mm256_castsi256_si128(anywhere), _mm256_extracti128_si256::<1>(anywhere)];
            let both = _mm_or_si128(halves[0], halves[1]);
            any_byte((_mm_extract_epi64::<0>(both) | _mm_extract_epi64::<1>(both)) as u64)
        }

        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn places(fulfilled: &Fulfilled, terms: u8, places: &mut [u64]) {
            let (terms, below) = (_mm256_set1_epi8(terms as i8), _mm256_set1_epi8(0x7F));
            for (fulfilled, places) in fulfilled.iter().zip(places) {
                // SAFETY: the caller vouches for the instructions; what is loaded are the array's own bytes: 32 of 64.
                let (low, high) = unsafe {
                    let halves = fulfilled.as_ptr();
                    (_mm256_loadu_si256(halves.cast()), _mm256_loadu_si256(halves.add(32).cast()))
                };
                // What is not zero comes to have the highest bit.
                let low = _mm256_adds_epu8(_mm256_and_si256(low, terms), below);
                let high = _mm256_adds_epu8(_mm256_and_si256(high, terms), below);
                // SAFETY: the caller vouches for the instructions.
                *places |= unsafe { to_mask(low, high) };
            }
        }

        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn equal(bytes: &[u8; 64], byte: u8) -> u64 {
            // SAFETY: the caller vouches for the instructions; what is loaded are the array's own bytes.
            unsafe {
                let byte = _mm256_set1_epi8(byte as i8);
                let low = _mm256_loadu_si256(bytes.as_ptr().cast());
                let high = _mm256_loadu_si256(bytes.as_ptr().add(32).cast());
                to_mask(_mm256_cmpeq_epi8(low, byte), _mm256_cmpeq_epi8(high, byte))
            }
        }

        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn look_up(table: &[u8; 64], index: &[u8; 64], places: u64, found: &mut [u8; 64]) -> u64 {
            let mut high = 0;
            for half in 0..2 {
                // SAFETY: the caller vouches for the instructions; what is loaded and stored are the arrays' own
                // bytes: 32 of 64 in each half, and 16 of 64 four times.
                unsafe {
                    let index = _mm256_loadu_si256(index.as_ptr().add(32 * half).cast());
                    let index = _mm256_and_si256(index, _mm256_set1_epi8(63));
                    let mut all = _mm256_setzero_si256();
                    for part in 0..4 {
                        let table = _mm_loadu_si128(table.as_ptr().add(16 * part).cast());
                        all = _mm256_or_si256(all, look_up(table, index, part));
                    }
                    let chosen = (places >> (32 * half)) as u32;
                    let known = _mm256_loadu_si256(found.as_ptr().add(32 * half).cast());
                    let all = _mm256_blendv_epi8(known, all, to_bytes(chosen));
                    _mm256_storeu_si256(found.as_mut_ptr().add(32 * half).cast(), all);
                    high |= u64::from(_mm256_movemask_epi8(all) as u32 & chosen) << (32 * half);
                }
            }
            high
        }

        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn gather(bytes: &[u8; 64], places: u64, gathered: &mut [u8; 64]) {
            let mut count = 0;
            for (eight, places) in places.to_le_bytes().into_iter().enumerate() {
                // SAFETY: the caller vouches for the instructions; what is loaded are 8 of 64 bytes, and the row of a
                // table. What is stored are 8 of 64 bytes: `count` is at most 8 for each eight before.
                unsafe {
                    let bytes = _mm_loadl_epi64(bytes.as_ptr().add(8 * eight).cast());
                    let chosen = _mm_loadl_epi64(CHOSEN[usize::from(places)].as_ptr().cast());
                    let chosen = _mm_shuffle_epi8(bytes, chosen);
                    _mm_storel_epi64(gathered.as_mut_ptr().add(count).cast(), chosen);
                }
                count += places.count_ones() as usize;
            }
        }

        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn choose(bits: u64, places: u64) -> u64 {
            _pdep_u64(bits, places)
        }

        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn join(bits: &mut [u64; 8], more: &[u64; 8], among: &[u64; 8]) {
            for half in [0, 4] {
                // SAFETY: the caller vouches for the instructions; what is loaded and stored are four of eight numbers.
                unsafe {
                    let old = _mm256_loadu_si256(bits.as_ptr().add(half).cast());
                    let more = _mm256_loadu_si256(more.as_ptr().add(half).cast());
                    let among = _mm256_loadu_si256(among.as_ptr().add(half).cast());
                    let all = _mm256_or_si256(old, _mm256_and_si256(more, among));
                    _mm256_storeu_si256(bits.as_mut_ptr().add(half).cast(), all);
                }
            }
        }

        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn take_away(bits: &mut [u64; 8], others: &[u64; 8]) {
            for half in [0, 4] {
                // SAFETY: the caller vouches for the instructions; what is loaded and stored are four of eight numbers.
                unsafe {
                    let all = _mm256_loadu_si256(bits.as_ptr().add(half).cast());
                    let others = _mm256_loadu_si256(others.as_ptr().add(half).cast());
                    let rest = _mm256_andnot_si256(others, all);
                    _mm256_storeu_si256(bits.as_mut_ptr().add(half).cast(), rest);
                }
            }
        }

        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn up(bits: &[u64; WORDS]) -> [u64; WORDS] {
            let mut up = [0; WORDS];
            // SAFETY: the caller vouches for the instructions; what is loaded and stored are four of eight numbers.
            unsafe {
                let low = _mm256_loadu_si256(bits.as_ptr().cast());
                let high = _mm256_loadu_si256(bits.as_ptr().add(4).cast());
                let (low_turned, high_turned) =
                    (_mm256_permute4x64_epi64::<0x93>(low), _mm256_permute4x64_epi64::<0x93>(high));
                let before_low = _mm256_blend_epi32::<3>(low_turned, _mm256_setzero_si256());
                let before_high = _mm256_blend_epi32::<3>(high_turned, low_turned);
                let shifted =
                    _mm256_or_si256(_mm256_slli_epi64::<1>(low), _mm256_srli_epi64::<63>(before_low));
                _mm256_storeu_si256(up.as_mut_ptr().cast(), shifted);
                let shifted =
                    _mm256_or_si256(_mm256_slli_epi64::<1>(high), _mm256_srli_epi64::<63>(before_high));
                _mm256_storeu_si256(up.as_mut_ptr().add(4).cast(), shifted);
            }
            up
        }
    }

    /// For each choice among eight places, the numbers of those chosen, in order.
    static CHOSEN: [[u8; 8]; 256] = {
        let mut chosen = [[0; 8]; 256];
        let mut choice = 0;
        while choice < 256 {
            let (mut place, mut count) = (0, 0);
            while place < 8 {
                if choice >> place & 1 != 0 {
                    chosen[choice][count] = place as u8;
                    count += 1;
                }
                place += 1;
            }
            choice += 1;
        }
        chosen
    };

    /// What a table has for 32 atoms.
    ///
    /// # Safety
    /// The machine must have AVX2, and there must be 32 atoms.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn look_up_atoms(table: &[u8; ATOMS], atoms: *const u8, few_atoms: bool) -> __m256i {
        // SAFETY: the caller vouches for the instructions and the atoms; else, 16 of 32 bytes are loaded twice.
        unsafe {
            let atoms = _mm256_loadu_si256(atoms.cast());
            let low = _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast()));
            let low = _mm256_shuffle_epi8(low, atoms);
            if few_atoms {
                return low;
            }
            let high = _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().add(16).cast()));
            let high = _mm256_shuffle_epi8(high, atoms);
            // Move the bit that chooses the table to where the blend expects it.
            _mm256_blendv_epi8(low, high, _mm256_slli_epi16::<3>(atoms))
        }
    }

    /// The highest bit of each byte.
    ///
    /// # Safety
    /// The machine must have AVX2.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn to_mask(low: __m256i, high: __m256i) -> u64 {
        let (low, high) = (_mm256_movemask_epi8(low) as u32, _mm256_movemask_epi8(high) as u32);
        u64::from(low) | u64::from(high) << 32
    }

    /// A byte of ones for every bit that is set.
    ///
    /// # Safety
    /// The machine must have AVX2.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn to_bytes(bits: u32) -> __m256i {
        let bits = _mm256_shuffle_epi8(
            _mm256_set1_epi32(bits as i32),
            _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303),
        );
        let each = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
        _mm256_cmpeq_epi8(_mm256_and_si256(bits, each), each)
    }

    /// The entries of a table for indices from `16 * part` on, zero for others.
    ///
    /// # Safety
    /// The machine must have AVX2.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn look_up(table: __m128i, bytes: __m256i, part: usize) -> __m256i {
        let index = _mm256_xor_si256(bytes, _mm256_set1_epi8(16 * part as i8));
        // An index of sixteen or more gets its highest bit set, for which the shuffle returns zero.
        let index = _mm256_adds_epu8(index, _mm256_set1_epi8(0x70));
        _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), index)
    }
}

#[cfg(target_arch = "aarch64")]
pub use aarch64::Neon;

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use std::arch::aarch64::*;

    use super::{Fulfilled, Kinds, Terms, Vectors, any_byte, nearby};

    /// NEON: sixteen bytes at a time are looked up in tables of 64.
    pub struct Neon;

    impl Vectors for Neon {
        #[inline(always)]
        unsafe fn atoms(bytes: &[u8; 64], table: &[u8; 128], atoms: &mut [u8; 64]) -> Kinds {
            // SAFETY: every aarch64 machine has NEON; what is loaded and stored are the arrays' own bytes.
            unsafe {
                let (low, high) = (vld1q_u8_x4(table.as_ptr()), vld1q_u8_x4(table.as_ptr().add(64)));
                let quarters = vld1q_u8_x4(bytes.as_ptr());
                let quarters = [quarters.0, quarters.1, quarters.2, quarters.3];
                for (place, &quarter) in quarters.iter().enumerate() {
                    // An index outside of the table gives zero in the first lookup, and keeps the result in the second.
                    let found = vqtbl4q_u8(low, quarter);
                    let found = vqtbx4q_u8(found, high, vsubq_u8(quarter, vdupq_n_u8(64)));
                    vst1q_u8(atoms.as_mut_ptr().add(16 * place), found);
                }
                Kinds {
                    wide: to_mask(quarters.map(|quarter| vcgeq_u8(quarter, vdupq_n_u8(0x80)))),
                    inside: to_mask(
                        quarters
                            .map(|quarter| vcltq_u8(vsubq_u8(quarter, vdupq_n_u8(0x80)), vdupq_n_u8(0x40))),
                    ),
                }
            }
        }

        unsafe fn fulfilled(atoms: &[u8], after: &[u8], terms: &Terms, fulfilled: &mut Fulfilled) -> u8 {
            // SAFETY: every aarch64 machine has NEON; what is loaded and stored are the arrays' own bytes: 32 of each
            // table, 16 of 64, and of 65 twice.
            unsafe {
                let before = vld1q_u8_x2(terms.before.as_ptr());
                let at = vld1q_u8_x2(terms.at.as_ptr());
                let behind = vld1q_u8_x2(terms.behind.as_ptr());
                let mut anywhere = vdupq_n_u8(0);
                for (fulfilled, (near, after)) in fulfilled.iter_mut().zip(nearby(atoms, after)) {
                    for quarter in [0, 16, 32, 48] {
                        let (near, after) = (near.as_ptr().add(quarter), after.as_ptr().add(quarter));
                        let before = vqtbl2q_u8(before, vld1q_u8(near));
                        let at = vqtbl2q_u8(at, vld1q_u8(near.add(1)));
                        let behind = vqtbl2q_u8(behind, vld1q_u8(after));
                        let all = vandq_u8(vandq_u8(before, at), behind);
                        anywhere = vorrq_u8(anywhere, all);
                        vst1q_u8(fulfilled.as_mut_ptr().add(quarter), all);
                    }
                }
                let anywhere = vreinterpretq_u64_u8(anywhere);
                any_byte(vgetq_lane_u64::<0>(anywhere) | vgetq_lane_u64::<1>(anywhere))
            }
        }

        unsafe fn places(fulfilled: &Fulfilled, terms: u8, places: &mut [u64]) {
            for (fulfilled, places) in fulfilled.iter().zip(places) {
                // SAFETY: every aarch64 machine has NEON; what is loaded are the array's own bytes: 16 of 64.
                *places |= to_mask(std::array::from_fn(|quarter| unsafe {
                    vtstq_u8(vld1q_u8(fulfilled.as_ptr().add(16 * quarter)), vdupq_n_u8(terms))
                }));
            }
        }

        #[inline(always)]
        unsafe fn equal(bytes: &[u8; 64], byte: u8) -> u64 {
            // SAFETY: every aarch64 machine has NEON; what is loaded are the array's own bytes: 16 of 64.
            to_mask(std::array::from_fn(|quarter| unsafe {
                vceqq_u8(vld1q_u8(bytes.as_ptr().add(16 * quarter)), vdupq_n_u8(byte))
            }))
        }

        #[inline(always)]
        unsafe fn look_up(table: &[u8; 64], index: &[u8; 64], places: u64, found: &mut [u8; 64]) -> u64 {
            // SAFETY: every aarch64 machine has NEON; what is loaded and stored are the arrays' own bytes: 16 of 64.
            let high: [uint8x16_t; 4] = std::array::from_fn(|quarter| unsafe {
                let index = vld1q_u8(index.as_ptr().add(16 * quarter));
                let all = vqtbl4q_u8(vld1q_u8_x4(table.as_ptr()), vandq_u8(index, vdupq_n_u8(63)));
                let known = vld1q_u8(found.as_ptr().add(16 * quarter));
                let all = vbslq_u8(to_bytes((places >> (16 * quarter)) as u16), all, known);
                vst1q_u8(found.as_mut_ptr().add(16 * quarter), all);
                vcgeq_u8(all, vdupq_n_u8(0x80))
            });
            to_mask(high) & places
        }
    }

    /// A byte of ones for every bit that is set.
    #[inline(always)]
    fn to_bytes(bits: u16) -> uint8x16_t {
        const EACH: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
        let [low, high] = bits.to_le_bytes();
        // SAFETY: every aarch64 machine has NEON; the load reads the 16 bytes of `EACH`.
        unsafe {
            let bits = vcombine_u8(vdup_n_u8(low), vdup_n_u8(high));
            vtstq_u8(bits, vld1q_u8(EACH.as_ptr()))
        }
    }

    /// One bit for each byte, all of whose bits are equal: three rounds of pairwise addition.
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

    /// Every byte value at every place, and blocks of one byte.
    fn blocks() -> impl Iterator<Item = [u8; 64]> {
        let mixed = (0..=255).map(|first: u8| std::array::from_fn(|place| first.wrapping_add(place as u8)));
        mixed.chain((0..=255).map(|byte: u8| [byte; 64]))
    }

    fn agrees_with_portable<V: Vectors>() {
        let table: [u8; 128] = std::array::from_fn(|byte| (byte * 37 % 101 % ATOMS) as u8);
        let members = |factor: usize| std::array::from_fn(|atom| (atom * factor % 251) as u8);
        let terms = Terms { before: members(89), at: members(57), behind: members(131), few_atoms: false };
        for block in blocks() {
            let (mut expected, mut found) = ([0; 64], [0; 64]);
            // SAFETY: the callers test for the instructions first.
            let kinds = unsafe {
                (Portable::atoms(&block, &table, &mut expected), V::atoms(&block, &table, &mut found))
            };
            assert_eq!(kinds.0, kinds.1);
            for (place, byte) in block.iter().enumerate() {
                assert!(*byte >= 0x80 || expected[place] == found[place], "{block:?} at {place}");
            }
            let atoms: [u8; 66 + 64] = std::array::from_fn(|place| expected[(place * place + place) % 64]);
            let few = expected.iter().all(|atom| *atom < 16);
            for terms in [terms, Terms { few_atoms: few, ..terms }] {
                let (mut expected, mut found) = ([[0; 64]; 2], [[0; 64]; 2]);
                // SAFETY: the callers test for the instructions first.
                unsafe {
                    let anywhere = Portable::fulfilled(&atoms, &atoms[2..], &terms, &mut expected);
                    assert_eq!(anywhere, V::fulfilled(&atoms, &atoms[2..], &terms, &mut found));
                }
                assert_eq!(expected, found);
                for some in 0..=255 {
                    let (mut expected_places, mut found_places) = ([0; WORDS], [0; WORDS]);
                    // SAFETY: the callers test for the instructions first.
                    unsafe {
                        Portable::places(&expected, some, &mut expected_places);
                        V::places(&found, some, &mut found_places);
                    }
                    assert_eq!(expected_places, found_places);
                }
            }
            let table: [u8; 64] = std::array::from_fn(|index| (index * 7) as u8);
            let places = kinds.0.inside ^ kinds.0.wide.rotate_left(7) ^ 0xF0F0_1234_5678_9ABC;
            let (mut expected, mut found) = (block, block);
            // SAFETY: the callers test for the instructions first.
            unsafe {
                let high = Portable::look_up(&table, &block, places, &mut expected);
                assert_eq!(high, V::look_up(&table, &block, places, &mut found));
                assert_eq!(expected, found);
                assert_eq!(Portable::equal(&block, 200), V::equal(&block, 200));
                let count = places.count_ones() as usize;
                Portable::gather(&block, places, &mut expected);
                V::gather(&block, places, &mut found);
                assert_eq!(expected[..count], found[..count]);
                for bits in [!0, 0, 0x0123_4567_89AB_CDEF, places] {
                    assert_eq!(Portable::choose(bits, places), V::choose(bits, places));
                    let (mut expected, mut found) = ([0; 64], [0; 64]);
                    Portable::positions(1 << 30, bits, &mut expected);
                    V::positions(1 << 30, bits, &mut found);
                    let count = bits.count_ones() as usize;
                    assert_eq!(expected[..count], found[..count]);
                    let words = std::array::from_fn(|word| bits.rotate_left(9 * word as u32));
                    assert_eq!(Portable::up(&words), V::up(&words));
                    for others in [words.map(|word| !word), [!0; 8], [1, 0, 0, 0, 0, 0, 0, 0], [places; 8]] {
                        assert_eq!(Portable::add(&words, &others), V::add(&words, &others));
                        let (mut expected, mut found) = ([others; 2], [others; 2]);
                        Portable::join(&mut expected[0], &words, &[places; 8]);
                        V::join(&mut found[0], &words, &[places; 8]);
                        Portable::take_away(&mut expected[1], &words);
                        V::take_away(&mut found[1], &words);
                        assert_eq!(expected, found);
                    }
                }
            }
        }
    }

    #[test]
    fn every_machine_agrees_with_the_portable_way() {
        for machine in Instructions::all() {
            match machine {
                Instructions::Portable => agrees_with_portable::<Portable>(),
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx2 => agrees_with_portable::<Avx2>(),
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx512 => agrees_with_portable::<Avx512>(),
                #[cfg(target_arch = "aarch64")]
                Instructions::Neon => agrees_with_portable::<Neon>(),
            }
        }
    }

    #[test]
    fn the_portable_way_says_what_tables_say() {
        let table: [u8; 128] = std::array::from_fn(|byte| (byte % 7) as u8);
        let block: [u8; 64] = std::array::from_fn(|place| place as u8 * 4);
        let mut atoms = [0; 64];
        // SAFETY: the portable way asks for nothing.
        let kinds = unsafe { Portable::atoms(&block, &table, &mut atoms) };
        assert_eq!(kinds, Kinds { wide: !0 << 32, inside: (1 << 48) - (1 << 32) });
        let only = |wanted: usize| std::array::from_fn(|atom| if atom == wanted { 0b10 } else { 0b100 });
        let terms = Terms { before: only(1), at: only(5), behind: only(2), few_atoms: true };
        let (mut fulfilled, mut places) = ([[0; 64]], [0; WORDS]);
        // SAFETY: the portable way asks for nothing.
        let anywhere = unsafe {
            let near = [&[1][..], &atoms, &[2]].concat();
            let anywhere = Portable::fulfilled(&near, &near[2..], &terms, &mut fulfilled);
            Portable::places(&fulfilled, 0b10, &mut places);
            anywhere
        };
        let is_there = |place: usize| atoms[place] == 5 && atoms[place - 1] == 1 && atoms[place + 1] == 2;
        for place in 1..63 {
            assert_eq!(places[0] >> place & 1 != 0, is_there(place));
        }
        assert_eq!(anywhere & 0b10 != 0, places[0] != 0);
    }

    #[test]
    fn the_portable_way_chooses_among_places() {
        let places = 0b1101_0010 | 1 << 63;
        let block: [u8; 64] = std::array::from_fn(|place| place as u8);
        let (mut gathered, mut positions) = ([0; 64], [0; 64]);
        // SAFETY: the portable way asks for nothing.
        unsafe {
            assert_eq!(Portable::choose(0b1_0011, places), 0b1_0010 | 1 << 63);
            assert_eq!(Portable::choose(!0, places), places);
            assert_eq!(Portable::equal(&block, 7), 1 << 7);
            assert_eq!(Portable::up(&[1 << 63, 5, 0, 0, 0, 0, 0, 1])[..3], [0, 11, 0]);
            assert_eq!(
                Portable::add(&[!0, !0, 1, 0, 0, 0, 0, !0], &[1, 0, 1, 0, 0, 0, 0, 1])[..4],
                [0, 0, 3, 0]
            );
            let mut bits = [3, 0, 0, 0, 0, 0, 0, 8];
            Portable::join(&mut bits, &[12, 1, 0, 0, 0, 0, 0, 0], &[4; 8]);
            assert_eq!(bits, [7, 0, 0, 0, 0, 0, 0, 8]);
            Portable::take_away(&mut bits, &[2; 8]);
            assert_eq!(bits, [5, 0, 0, 0, 0, 0, 0, 8]);
            Portable::gather(&block, places, &mut gathered);
            Portable::positions(100, places, &mut positions);
        }
        assert_eq!(gathered[..5], [1, 4, 6, 7, 63]);
        assert_eq!(positions[..5], [101, 104, 106, 107, 163]);
    }
}
