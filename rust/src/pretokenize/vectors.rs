//! Vector instructions for 64 bytes at a time: a small trait, and an implementation for each kind of machine.
//!
//! The others are tested against the portable implementation, which `BPETITE_PORTABLE` selects on every machine.
//!
//! A value of a machine's type proves that the machine has its instructions. All functions from the one that enables them
//! down to the intrinsics are inlined always, and contain no closures around intrinsics: elsewhere, each intrinsic would be
//! a call, with arguments in memory.

use crate::portable;

/// The number of atoms that tables have entries for.
pub const ATOMS: usize = 32;

/// How many words of 64 places stand in the largest window.
pub const WORDS: usize = 8;

/// A bit for every character of a window of `N` words, which are at most [`WORDS`].
pub type Bits<const N: usize> = [u64; N];

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

/// The operations on 64 bytes, and on bits.
pub trait Vectors: Copy {
    /// Look up the atom of each byte; for a byte that is not ASCII, any atom will do.
    fn atoms(self, bytes: &[u8; 64], table: &[u8; 128], atoms: &mut [u8; 64]) -> Kinds;

    /// Find which terms are fulfilled at each place, and return those that are fulfilled anywhere. The atom at the first
    /// place is the second one; what is behind each place is given, as it may be the end of a piece.
    fn fulfilled(self, atoms: &[u8], after: &[u8], terms: &Terms, fulfilled: &mut Fulfilled) -> u8;

    /// Add the places that fulfil one of some terms.
    fn places(self, fulfilled: &Fulfilled, terms: u8, places: &mut [u64]);

    /// The places where a byte occurs.
    fn equal(self, bytes: &[u8; 64], byte: u8) -> u64;

    /// At some places, store the table's entry for the last six bits of the index; returns the places whose entry has its
    /// highest bit set.
    fn look_up(self, table: &[u8; 64], index: &[u8; 64], places: u64, found: &mut [u8; 64]) -> u64;

    /// Move the bytes of some places together; the bytes after them are undefined.
    #[inline(always)]
    fn gather(self, bytes: &[u8; 64], mut places: u64, gathered: &mut [u8; 64]) {
        for to in gathered {
            if places == 0 {
                break;
            }
            *to = bytes[places.trailing_zeros() as usize];
            places &= places - 1;
        }
    }

    /// Of some places, those whose bit is set: the lowest bit is for the first of these places, and so on.
    #[inline(always)]
    fn choose(self, mut bits: u64, mut places: u64) -> u64 {
        let mut chosen = 0;
        while bits != 0 && places != 0 {
            chosen |= (places & places.wrapping_neg()) * (bits & 1);
            places &= places - 1;
            bits >>= 1;
        }
        chosen
    }

    /// The bits, moved one place up.
    #[inline(always)]
    fn up<const N: usize>(self, bits: &Bits<N>) -> Bits<N> {
        std::array::from_fn(|word| bits[word] << 1 | if word == 0 { 0 } else { bits[word - 1] >> 63 })
    }

    /// Add the bits of `more` that are among others.
    #[inline(always)]
    fn join<const N: usize>(self, bits: &mut Bits<N>, more: &Bits<N>, among: &Bits<N>) {
        for (bits, (more, among)) in bits.iter_mut().zip(more.iter().zip(among)) {
            *bits |= more & among;
        }
    }

    /// Take bits away.
    #[inline(always)]
    fn take_away<const N: usize>(self, bits: &mut Bits<N>, others: &Bits<N>) {
        for (bits, others) in bits.iter_mut().zip(others) {
            *bits &= !others;
        }
    }

    /// The sum of two numbers, lowest word first, without what does not fit.
    #[inline(always)]
    fn add<const N: usize>(self, one: &Bits<N>, other: &Bits<N>) -> Bits<N> {
        let mut carry = false;
        std::array::from_fn(|word| {
            let (sum, over) = one[word].overflowing_add(other[word]);
            let (sum, also) = sum.overflowing_add(carry.into());
            carry = over | also;
            sum
        })
    }

    /// Write `base + i` for every bit `i` that is set; the numbers after them are undefined.
    #[inline(always)]
    fn positions(self, base: usize, mut bits: u64, positions: &mut [usize; 64]) {
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

/// The atoms before, at and behind the 64 places of each word.
#[inline(always)]
fn nearby<'a>(
    atoms: &'a [u8],
    behind: &'a [u8],
) -> impl Iterator<Item = (&'a [u8; 64], &'a [u8; 64], &'a [u8; 64])> {
    let before = atoms.as_chunks().0.iter();
    let at = atoms.get(1..).unwrap_or(&[]).as_chunks().0.iter();
    before.zip(at).zip(behind.as_chunks().0).map(|((before, at), behind)| (before, at, behind))
}

/// The bits that any byte of a word has.
#[inline(always)]
fn any_byte(word: u64) -> u8 {
    let half = word | word >> 32;
    let quarter = half | half >> 16;
    (quarter | quarter >> 8) as u8
}

/// The implementations.
#[derive(Clone, Copy, Debug)]
pub enum Instructions {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
}

impl Instructions {
    /// The best implementation for this machine.
    pub fn this() -> Self {
        let portable = Self::Portable(Portable);
        if portable::is_wanted() { portable } else { Self::all().pop().unwrap_or(portable) }
    }

    /// All implementations that this machine can run, the best one last.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::Portable(Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(Avx2::new().map(Self::Avx2));
            all.extend(Avx512::new().map(Self::Avx512));
        }
        #[cfg(target_arch = "aarch64")]
        all.push(Self::Neon(Neon));
        all
    }
}

/// For any machine.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

impl Vectors for Portable {
    #[inline(always)]
    fn atoms(self, bytes: &[u8; 64], table: &[u8; 128], atoms: &mut [u8; 64]) -> Kinds {
        let mut kinds = Kinds::default();
        for (place, (atom, &byte)) in atoms.iter_mut().zip(bytes).enumerate() {
            *atom = table[usize::from(byte & 0x7F)];
            kinds.wide |= u64::from(byte >> 7) << place;
            kinds.inside |= u64::from(byte & 0xC0 == 0x80) << place;
        }
        kinds
    }

    #[inline(always)]
    fn fulfilled(self, atoms: &[u8], after: &[u8], terms: &Terms, fulfilled: &mut Fulfilled) -> u8 {
        let mut anywhere = 0;
        for (fulfilled, (before, at, behind)) in fulfilled.iter_mut().zip(nearby(atoms, after)) {
            for (place, fulfilled) in fulfilled.iter_mut().enumerate() {
                let [before, at, behind] =
                    [before[place], at[place], behind[place]].map(|atom| usize::from(atom) % ATOMS);
                *fulfilled = terms.before[before] & terms.at[at] & terms.behind[behind];
                anywhere |= *fulfilled;
            }
        }
        anywhere
    }

    #[inline(always)]
    fn places(self, fulfilled: &Fulfilled, terms: u8, places: &mut [u64]) {
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
    fn equal(self, bytes: &[u8; 64], byte: u8) -> u64 {
        bytes.iter().enumerate().fold(0, |places, (place, &other)| places | u64::from(other == byte) << place)
    }

    #[inline(always)]
    fn look_up(self, table: &[u8; 64], index: &[u8; 64], mut places: u64, found: &mut [u8; 64]) -> u64 {
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
    use std::ptr::{from_mut, from_ref};

    use super::{ATOMS, Bits, Fulfilled, Kinds, Terms, Vectors, any_byte, nearby};

    /// AVX-512F, BW, VBMI and VBMI2: one instruction looks up 64 bytes in 128, another moves chosen bytes together.
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

        #[inline(always)]
        fn load<T: Copy, const LENGTH: usize>(self, from: &[T; LENGTH]) -> __m512i {
            const { assert!(size_of::<[T; LENGTH]>() == 64) };
            // SAFETY: this value proves that there are the instructions; 64 bytes are loaded, which is the array.
            unsafe { _mm512_loadu_si512(from_ref(from).cast()) }
        }

        #[inline(always)]
        fn store(self, to: &mut [u8; 64], vector: __m512i) {
            // SAFETY: this value proves that there are the instructions; 64 bytes are stored, which is the array.
            unsafe { _mm512_storeu_si512(from_mut(to).cast(), vector) }
        }

        /// Load up to eight words, and zeros behind them.
        #[inline(always)]
        fn words<const N: usize>(self, from: &Bits<N>) -> __m512i {
            // SAFETY: this value proves that there are the instructions; only the words of the array are loaded.
            unsafe { _mm512_maskz_loadu_epi64(const { mask(N) }, from.as_ptr().cast()) }
        }

        #[inline(always)]
        fn store_words<const N: usize>(self, to: &mut Bits<N>, vector: __m512i) {
            // SAFETY: this value proves that there are the instructions; only the words of the array are stored.
            unsafe { _mm512_mask_storeu_epi64(to.as_mut_ptr().cast(), const { mask(N) }, vector) }
        }

        /// Load a table for up to 32 atoms.
        #[inline(always)]
        fn table(self, table: &[u8; ATOMS]) -> __m512i {
            // SAFETY: this value proves that there are the instructions; 32 bytes are loaded, which is the array.
            unsafe { _mm512_castsi256_si512(_mm256_loadu_si256(from_ref(table).cast())) }
        }
    }

    /// A bit for each of up to eight words.
    const fn mask(words: usize) -> u8 {
        assert!(words <= 8);
        (0xFF_u16 >> (8 - words)) as u8
    }

    impl Vectors for Avx512 {
        #[inline(always)]
        fn atoms(self, bytes: &[u8; 64], table: &[u8; 128], atoms: &mut [u8; 64]) -> Kinds {
            let [low, high] = [0, 1].map(|half| table.as_chunks().0[half]);
            let (bytes, low, high) =
                (self.load(bytes), self.load::<u8, 64>(&low), self.load::<u8, 64>(&high));
            // SAFETY: this value proves that there are the instructions.
            unsafe {
                self.store(atoms, _mm512_permutex2var_epi8(low, bytes, high));
                // As signed numbers, continuation bytes are the smallest 64.
                let first_lead = _mm512_set1_epi8(0xC0_u8 as i8);
                Kinds { wide: _mm512_movepi8_mask(bytes), inside: _mm512_cmplt_epi8_mask(bytes, first_lead) }
            }
        }

        #[inline(always)]
        fn fulfilled(self, atoms: &[u8], after: &[u8], terms: &Terms, fulfilled: &mut Fulfilled) -> u8 {
            let (befores, ats) = (self.table(&terms.before), self.table(&terms.at));
            let behinds = self.table(&terms.behind);
            // SAFETY: this value proves that there are the instructions.
            let mut anywhere = unsafe { _mm512_setzero_si512() };
            for (fulfilled, (before, at, behind)) in fulfilled.iter_mut().zip(nearby(atoms, after)) {
                let (before, at, behind) = (self.load(before), self.load(at), self.load(behind));
                // SAFETY: this value proves that there are the instructions.
                unsafe {
                    let before = _mm512_permutexvar_epi8(before, befores);
                    let at = _mm512_permutexvar_epi8(at, ats);
                    let behind = _mm512_permutexvar_epi8(behind, behinds);
                    let all = _mm512_ternarylogic_epi64::<0x80>(before, at, behind);
                    anywhere = _mm512_or_si512(anywhere, all);
                    self.store(fulfilled, all);
                }
            }
            // SAFETY: this value proves that there are the instructions.
            any_byte(unsafe { _mm512_reduce_or_epi64(anywhere) } as u64)
        }

        #[inline(always)]
        fn places(self, fulfilled: &Fulfilled, terms: u8, places: &mut [u64]) {
            for (fulfilled, places) in fulfilled.iter().zip(places) {
                // SAFETY: this value proves that there are the instructions.
                *places |=
                    unsafe { _mm512_test_epi8_mask(self.load(fulfilled), _mm512_set1_epi8(terms as i8)) };
            }
        }

        #[inline(always)]
        fn equal(self, bytes: &[u8; 64], byte: u8) -> u64 {
            // SAFETY: this value proves that there are the instructions.
            unsafe { _mm512_cmpeq_epi8_mask(self.load(bytes), _mm512_set1_epi8(byte as i8)) }
        }

        #[inline(always)]
        fn look_up(self, table: &[u8; 64], index: &[u8; 64], places: u64, found: &mut [u8; 64]) -> u64 {
            let (table, index, known) = (self.load(table), self.load(index), self.load(found));
            // SAFETY: this value proves that there are the instructions.
            unsafe {
                // The instruction itself ignores all but six bits of the index.
                let all = _mm512_mask_permutexvar_epi8(known, places, index, table);
                self.store(found, all);
                _mm512_movepi8_mask(all) & places
            }
        }

        #[inline(always)]
        fn gather(self, bytes: &[u8; 64], places: u64, gathered: &mut [u8; 64]) {
            // SAFETY: this value proves that there are the instructions.
            let side_by_side = unsafe { _mm512_maskz_compress_epi8(places, self.load(bytes)) };
            self.store(gathered, side_by_side);
        }

        #[inline(always)]
        fn choose(self, bits: u64, places: u64) -> u64 {
            // SAFETY: this value proves that there are the instructions.
            unsafe { _pdep_u64(bits, places) }
        }

        #[inline(always)]
        fn up<const N: usize>(self, bits: &Bits<N>) -> Bits<N> {
            let (words, mut up) = (self.words(bits), [0; N]);
            // SAFETY: this value proves that there are the instructions.
            let shifted = unsafe {
                let before = _mm512_alignr_epi64::<7>(words, _mm512_setzero_si512());
                _mm512_shldi_epi64::<1>(words, before)
            };
            self.store_words(&mut up, shifted);
            up
        }

        #[inline(always)]
        fn join<const N: usize>(self, bits: &mut Bits<N>, more: &Bits<N>, among: &Bits<N>) {
            let (old, more, among) = (self.words(bits), self.words(more), self.words(among));
            // SAFETY: this value proves that there are the instructions.
            let all = unsafe { _mm512_ternarylogic_epi64::<0xF8>(old, more, among) };
            self.store_words(bits, all);
        }

        #[inline(always)]
        fn take_away<const N: usize>(self, bits: &mut Bits<N>, others: &Bits<N>) {
            // SAFETY: this value proves that there are the instructions.
            let rest = unsafe { _mm512_andnot_si512(self.words(others), self.words(bits)) };
            self.store_words(bits, rest);
        }

        #[inline(always)]
        fn add<const N: usize>(self, one: &Bits<N>, other: &Bits<N>) -> Bits<N> {
            let (one, other, mut sum) = (self.words(one), self.words(other), [0; N]);
            // SAFETY: this value proves that there are the instructions.
            let carried = unsafe {
                let sums = _mm512_add_epi64(one, other);
                let all_ones = _mm512_set1_epi64(-1);
                // A bit for each word: a carry leaves it, or passes through it. Adding both finds the words that get one.
                let over = u32::from(_mm512_cmplt_epu64_mask(sums, one));
                let passes = u32::from(_mm512_cmpeq_epi64_mask(sums, all_ones));
                let carried = (((over << 1) + passes) ^ passes) as u8;
                _mm512_mask_sub_epi64(sums, carried, sums, all_ones)
            };
            self.store_words(&mut sum, carried);
            sum
        }

        #[inline(always)]
        fn positions(self, base: usize, bits: u64, positions: &mut [usize; 64]) {
            let mut offsets = [0; 64];
            self.gather(&PLACES, bits, &mut offsets);
            // Nearly all words have fewer than 24: always as many chunks, so that no branch is mispredicted.
            let chunks = (bits.count_ones() as usize).div_ceil(8).max(3);
            let eights = positions.as_chunks_mut::<8>().0.iter_mut().zip(offsets.as_chunks::<8>().0);
            for (positions, offsets) in eights.take(chunks) {
                // SAFETY: this value proves that there are the instructions; 8 bytes are loaded and 64 are stored, which are
                // the arrays.
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

    /// AVX2: bytes are looked up in tables of sixteen; an index outside of a table finds zero.
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

        /// One half of 64 bytes.
        #[inline(always)]
        fn load(self, from: &[u8; 64], half: usize) -> __m256i {
            // SAFETY: this value proves that there are the instructions; 32 of the array's bytes are loaded.
            unsafe { _mm256_loadu_si256(from_ref(&from.as_chunks::<32>().0[half]).cast()) }
        }

        #[inline(always)]
        fn store(self, to: &mut [u8; 64], half: usize, vector: __m256i) {
            // SAFETY: this value proves that there are the instructions; 32 of the array's bytes are stored.
            unsafe { _mm256_storeu_si256(from_mut(&mut to.as_chunks_mut::<32>().0[half]).cast(), vector) }
        }

        /// A table of sixteen, for both halves of a vector.
        #[inline(always)]
        fn table(self, table: &[u8; 16]) -> __m256i {
            // SAFETY: this value proves that there are the instructions; 16 bytes are loaded, which is the array.
            unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(from_ref(table).cast())) }
        }

        /// What a table has for 32 atoms.
        #[inline(always)]
        fn of_atoms(self, table: &[u8; ATOMS], atoms: __m256i, few_atoms: bool) -> __m256i {
            let [low, high] = [table.as_chunks().0[0], table.as_chunks().0[1]];
            // SAFETY: this value proves that there are the instructions.
            unsafe {
                let low = _mm256_shuffle_epi8(self.table(&low), atoms);
                if few_atoms {
                    return low;
                }
                let high = _mm256_shuffle_epi8(self.table(&high), atoms);
                // Move the bit that chooses the table to where the blend expects it.
                _mm256_blendv_epi8(low, high, _mm256_slli_epi16::<3>(atoms))
            }
        }

        /// The highest bits of the bytes of one half, in their place.
        #[inline(always)]
        fn highest(self, half: usize, vector: __m256i) -> u64 {
            // SAFETY: this value proves that there are the instructions.
            u64::from(unsafe { _mm256_movemask_epi8(vector) } as u32) << (32 * half)
        }
    }

    impl Vectors for Avx2 {
        #[inline(always)]
        fn atoms(self, bytes: &[u8; 64], table: &[u8; 128], atoms: &mut [u8; 64]) -> Kinds {
            let mut kinds = Kinds::default();
            for half in 0..2 {
                let bytes = self.load(bytes, half);
                // SAFETY: this value proves that there are the instructions.
                unsafe {
                    // Look up in all eight tables of sixteen; the three bits above the lowest four choose the result.
                    let mut parts = [bytes; 8];
                    for (found, table) in parts.iter_mut().zip(table.as_chunks().0) {
                        *found = _mm256_shuffle_epi8(self.table(table), bytes);
                    }
                    let bit = _mm256_slli_epi16::<3>(bytes);
                    for part in 0..4 {
                        parts[part] = _mm256_blendv_epi8(parts[2 * part], parts[2 * part + 1], bit);
                    }
                    let bit = _mm256_slli_epi16::<2>(bytes);
                    for part in 0..2 {
                        parts[part] = _mm256_blendv_epi8(parts[2 * part], parts[2 * part + 1], bit);
                    }
                    let bit = _mm256_slli_epi16::<1>(bytes);
                    self.store(atoms, half, _mm256_blendv_epi8(parts[0], parts[1], bit));
                    kinds.wide |= self.highest(half, bytes);
                    let inside = _mm256_cmpgt_epi8(_mm256_set1_epi8(0xC0_u8 as i8), bytes);
                    kinds.inside |= self.highest(half, inside);
                }
            }
            kinds
        }

        #[inline(always)]
        fn fulfilled(self, atoms: &[u8], after: &[u8], terms: &Terms, fulfilled: &mut Fulfilled) -> u8 {
            // SAFETY: this value proves that there are the instructions.
            let mut anywhere = unsafe { _mm256_setzero_si256() };
            for (fulfilled, (before, at, behind)) in fulfilled.iter_mut().zip(nearby(atoms, after)) {
                for half in 0..2 {
                    let before = self.of_atoms(&terms.before, self.load(before, half), terms.few_atoms);
                    let at = self.of_atoms(&terms.at, self.load(at, half), terms.few_atoms);
                    let behind = self.of_atoms(&terms.behind, self.load(behind, half), terms.few_atoms);
                    // SAFETY: this value proves that there are the instructions.
                    let all = unsafe { _mm256_and_si256(_mm256_and_si256(before, at), behind) };
                    // SAFETY: this value proves that there are the instructions.
                    anywhere = unsafe { _mm256_or_si256(anywhere, all) };
                    self.store(fulfilled, half, all);
                }
            }
            // SAFETY: this value proves that there are the instructions.
            unsafe {
                let halves = [_mm256_castsi256_si128(anywhere), _mm256_extracti128_si256::<1>(anywhere)];
                let both = _mm_or_si128(halves[0], halves[1]);
                any_byte((_mm_extract_epi64::<0>(both) | _mm_extract_epi64::<1>(both)) as u64)
            }
        }

        #[inline(always)]
        fn places(self, fulfilled: &Fulfilled, terms: u8, places: &mut [u64]) {
            for (fulfilled, places) in fulfilled.iter().zip(places) {
                for half in 0..2 {
                    // SAFETY: this value proves that there are the instructions.
                    let found = unsafe {
                        let some =
                            _mm256_and_si256(self.load(fulfilled, half), _mm256_set1_epi8(terms as i8));
                        // What is not zero comes to have the highest bit.
                        _mm256_adds_epu8(some, _mm256_set1_epi8(0x7F))
                    };
                    *places |= self.highest(half, found);
                }
            }
        }

        #[inline(always)]
        fn equal(self, bytes: &[u8; 64], byte: u8) -> u64 {
            let mut places = 0;
            for half in 0..2 {
                // SAFETY: this value proves that there are the instructions.
                let same = unsafe { _mm256_cmpeq_epi8(self.load(bytes, half), _mm256_set1_epi8(byte as i8)) };
                places |= self.highest(half, same);
            }
            places
        }

        #[inline(always)]
        fn look_up(self, table: &[u8; 64], index: &[u8; 64], places: u64, found: &mut [u8; 64]) -> u64 {
            let mut high = 0;
            for half in 0..2 {
                // SAFETY: this value proves that there are the instructions.
                unsafe {
                    let index = _mm256_and_si256(self.load(index, half), _mm256_set1_epi8(63));
                    let mut all = _mm256_setzero_si256();
                    for (part, table) in table.as_chunks().0.iter().enumerate() {
                        let index = _mm256_xor_si256(index, _mm256_set1_epi8(16 * part as i8));
                        // An index of sixteen or more gets its highest bit set, for which the shuffle finds zero.
                        let index = _mm256_adds_epu8(index, _mm256_set1_epi8(0x70));
                        all = _mm256_or_si256(all, _mm256_shuffle_epi8(self.table(table), index));
                    }
                    // A byte of ones for every place.
                    let bits = _mm256_set1_epi32((places >> (32 * half)) as i32);
                    let bytes = _mm256_setr_epi64x(
                        0,
                        0x0101_0101_0101_0101,
                        0x0202_0202_0202_0202,
                        0x0303_0303_0303_0303,
                    );
                    let each = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
                    let bits = _mm256_and_si256(_mm256_shuffle_epi8(bits, bytes), each);
                    let chosen = _mm256_cmpeq_epi8(bits, each);
                    let all = _mm256_blendv_epi8(self.load(found, half), all, chosen);
                    self.store(found, half, all);
                    high |= self.highest(half, all);
                }
            }
            high & places
        }

        #[inline(always)]
        fn gather(self, bytes: &[u8; 64], places: u64, gathered: &mut [u8; 64]) {
            let mut count = 0;
            for (bytes, places) in bytes.as_chunks::<8>().0.iter().zip(places.to_le_bytes()) {
                // SAFETY: this value proves that there are the instructions; 8 bytes are loaded twice, which are arrays, and
                // 8 of 64 are stored: `count` is at most 8 for each eight before.
                unsafe {
                    let bytes = _mm_loadl_epi64(from_ref(bytes).cast());
                    let chosen = _mm_loadl_epi64(from_ref(&CHOSEN[usize::from(places)]).cast());
                    let chosen = _mm_shuffle_epi8(bytes, chosen);
                    _mm_storel_epi64(gathered.as_mut_ptr().add(count).cast(), chosen);
                }
                count += places.count_ones() as usize;
            }
        }

        #[inline(always)]
        fn choose(self, bits: u64, places: u64) -> u64 {
            // SAFETY: this value proves that there are the instructions.
            unsafe { _pdep_u64(bits, places) }
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
}

#[cfg(target_arch = "aarch64")]
pub use aarch64::Neon;

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use std::arch::aarch64::*;

    use super::{Fulfilled, Kinds, Terms, Vectors, any_byte, nearby};

    /// NEON: sixteen bytes at a time are looked up in tables of 64.
    #[derive(Clone, Copy, Debug)]
    pub struct Neon;

    impl Vectors for Neon {
        #[inline(always)]
        fn atoms(self, bytes: &[u8; 64], table: &[u8; 128], atoms: &mut [u8; 64]) -> Kinds {
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

        #[inline(always)]
        fn fulfilled(self, atoms: &[u8], after: &[u8], terms: &Terms, fulfilled: &mut Fulfilled) -> u8 {
            // SAFETY: every aarch64 machine has NEON; what is loaded and stored are the arrays' own bytes: 32 of each
            // table, 16 of 64 three times.
            unsafe {
                let before = vld1q_u8_x2(terms.before.as_ptr());
                let at = vld1q_u8_x2(terms.at.as_ptr());
                let behind = vld1q_u8_x2(terms.behind.as_ptr());
                let mut anywhere = vdupq_n_u8(0);
                for (fulfilled, (left, here, right)) in fulfilled.iter_mut().zip(nearby(atoms, after)) {
                    for quarter in [0, 16, 32, 48] {
                        let before = vqtbl2q_u8(before, vld1q_u8(left.as_ptr().add(quarter)));
                        let at = vqtbl2q_u8(at, vld1q_u8(here.as_ptr().add(quarter)));
                        let behind = vqtbl2q_u8(behind, vld1q_u8(right.as_ptr().add(quarter)));
                        let all = vandq_u8(vandq_u8(before, at), behind);
                        anywhere = vorrq_u8(anywhere, all);
                        vst1q_u8(fulfilled.as_mut_ptr().add(quarter), all);
                    }
                }
                let anywhere = vreinterpretq_u64_u8(anywhere);
                any_byte(vgetq_lane_u64::<0>(anywhere) | vgetq_lane_u64::<1>(anywhere))
            }
        }

        #[inline(always)]
        fn places(self, fulfilled: &Fulfilled, terms: u8, places: &mut [u64]) {
            for (fulfilled, places) in fulfilled.iter().zip(places) {
                // SAFETY: every aarch64 machine has NEON; what is loaded are the array's own bytes: 16 of 64.
                *places |= to_mask(std::array::from_fn(|quarter| unsafe {
                    vtstq_u8(vld1q_u8(fulfilled.as_ptr().add(16 * quarter)), vdupq_n_u8(terms))
                }));
            }
        }

        #[inline(always)]
        fn equal(self, bytes: &[u8; 64], byte: u8) -> u64 {
            // SAFETY: every aarch64 machine has NEON; what is loaded are the array's own bytes: 16 of 64.
            to_mask(std::array::from_fn(|quarter| unsafe {
                vceqq_u8(vld1q_u8(bytes.as_ptr().add(16 * quarter)), vdupq_n_u8(byte))
            }))
        }

        #[inline(always)]
        fn look_up(self, table: &[u8; 64], index: &[u8; 64], places: u64, found: &mut [u8; 64]) -> u64 {
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

    fn agrees_with_portable(vectors: impl Vectors) {
        let table: [u8; 128] = std::array::from_fn(|byte| (byte * 37 % 101 % ATOMS) as u8);
        let members = |factor: usize| std::array::from_fn(|atom| (atom * factor % 251) as u8);
        let terms = Terms { before: members(89), at: members(57), behind: members(131), few_atoms: false };
        for block in blocks() {
            let (mut expected, mut found) = ([0; 64], [0; 64]);
            let kinds = {
                (Portable.atoms(&block, &table, &mut expected), vectors.atoms(&block, &table, &mut found))
            };
            assert_eq!(kinds.0, kinds.1);
            for (place, byte) in block.iter().enumerate() {
                assert!(*byte >= 0x80 || expected[place] == found[place], "{block:?} at {place}");
            }
            let atoms: [u8; 66 + 64] = std::array::from_fn(|place| expected[(place * place + place) % 64]);
            let few = expected.iter().all(|atom| *atom < 16);
            for terms in [terms, Terms { few_atoms: few, ..terms }] {
                let (mut expected, mut found) = ([[0; 64]; 2], [[0; 64]; 2]);
                let anywhere = Portable.fulfilled(&atoms, &atoms[2..], &terms, &mut expected);
                assert_eq!(anywhere, vectors.fulfilled(&atoms, &atoms[2..], &terms, &mut found));
                assert_eq!(expected, found);
                for some in 0..=255 {
                    let (mut expected_places, mut found_places) = ([0; WORDS], [0; WORDS]);
                    Portable.places(&expected, some, &mut expected_places);
                    vectors.places(&found, some, &mut found_places);
                    assert_eq!(expected_places, found_places);
                }
            }
            let table: [u8; 64] = std::array::from_fn(|index| (index * 7) as u8);
            let places = kinds.0.inside ^ kinds.0.wide.rotate_left(7) ^ 0xF0F0_1234_5678_9ABC;
            let (mut expected, mut found) = (block, block);
            let high = Portable.look_up(&table, &block, places, &mut expected);
            assert_eq!(high, vectors.look_up(&table, &block, places, &mut found));
            assert_eq!(expected, found);
            assert_eq!(Portable.equal(&block, 200), vectors.equal(&block, 200));
            let count = places.count_ones() as usize;
            Portable.gather(&block, places, &mut expected);
            vectors.gather(&block, places, &mut found);
            assert_eq!(expected[..count], found[..count]);
            for bits in [!0, 0, 0x0123_4567_89AB_CDEF, places] {
                assert_eq!(Portable.choose(bits, places), vectors.choose(bits, places));
                let (mut expected, mut found) = ([0; 64], [0; 64]);
                Portable.positions(1 << 30, bits, &mut expected);
                vectors.positions(1 << 30, bits, &mut found);
                let count = bits.count_ones() as usize;
                assert_eq!(expected[..count], found[..count]);
                let words = std::array::from_fn(|word| bits.rotate_left(9 * word as u32));
                assert_eq!(Portable.up(&words), vectors.up(&words));
                for others in [words.map(|word| !word), [!0; 8], [1, 0, 0, 0, 0, 0, 0, 0], [places; 8]] {
                    assert_eq!(Portable.add(&words, &others), vectors.add(&words, &others));
                    let (mut expected, mut found) = ([others; 2], [others; 2]);
                    Portable.join(&mut expected[0], &words, &[places; 8]);
                    vectors.join(&mut found[0], &words, &[places; 8]);
                    Portable.take_away(&mut expected[1], &words);
                    vectors.take_away(&mut found[1], &words);
                    assert_eq!(expected, found);
                }
            }
        }
    }

    #[test]
    fn every_machine_agrees_with_the_portable_way() {
        for machine in Instructions::all() {
            match machine {
                Instructions::Portable(vectors) => agrees_with_portable(vectors),
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx2(vectors) => agrees_with_portable(vectors),
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx512(vectors) => agrees_with_portable(vectors),
                #[cfg(target_arch = "aarch64")]
                Instructions::Neon(vectors) => agrees_with_portable(vectors),
            }
        }
    }

    #[test]
    fn the_portable_way_says_what_tables_say() {
        let table: [u8; 128] = std::array::from_fn(|byte| (byte % 7) as u8);
        let block: [u8; 64] = std::array::from_fn(|place| place as u8 * 4);
        let mut atoms = [0; 64];
        let kinds = { Portable.atoms(&block, &table, &mut atoms) };
        assert_eq!(kinds, Kinds { wide: !0 << 32, inside: (1 << 48) - (1 << 32) });
        let only = |wanted: usize| std::array::from_fn(|atom| if atom == wanted { 0b10 } else { 0b100 });
        let terms = Terms { before: only(1), at: only(5), behind: only(2), few_atoms: true };
        let (mut fulfilled, mut places) = ([[0; 64]], [0; WORDS]);
        let anywhere = {
            let near = [&[1][..], &atoms, &[2]].concat();
            let anywhere = Portable.fulfilled(&near, &near[2..], &terms, &mut fulfilled);
            Portable.places(&fulfilled, 0b10, &mut places);
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
        assert_eq!(Portable.choose(0b1_0011, places), 0b1_0010 | 1 << 63);
        assert_eq!(Portable.choose(!0, places), places);
        assert_eq!(Portable.equal(&block, 7), 1 << 7);
        assert_eq!(Portable.up(&[1 << 63, 5, 0, 0, 0, 0, 0, 1])[..3], [0, 11, 0]);
        assert_eq!(Portable.add(&[!0, !0, 1, 0, 0, 0, 0, !0], &[1, 0, 1, 0, 0, 0, 0, 1])[..4], [0, 0, 3, 0]);
        let mut bits = [3, 0, 0, 0, 0, 0, 0, 8];
        Portable.join(&mut bits, &[12, 1, 0, 0, 0, 0, 0, 0], &[4; 8]);
        assert_eq!(bits, [7, 0, 0, 0, 0, 0, 0, 8]);
        Portable.take_away(&mut bits, &[2; 8]);
        assert_eq!(bits, [5, 0, 0, 0, 0, 0, 0, 8]);
        Portable.gather(&block, places, &mut gathered);
        Portable.positions(100, places, &mut positions);
        assert_eq!(gathered[..5], [1, 4, 6, 7, 63]);
        assert_eq!(positions[..5], [101, 104, 106, 107, 163]);
    }
}
