//! Vector instructions for 64 bytes at a time: a small trait, and an implementation for each kind
//! of machine.
//!
//! The others are tested against the portable implementation, which `BPETITE_PORTABLE` selects on
//! every machine.
//!
//! A value of a machine's type proves that the machine has its instructions. All functions from the
//! one that enables them down to the intrinsics are inlined always, and contain no closures around
//! intrinsics: elsewhere, each intrinsic would be a call, with arguments in memory.

use std::ptr::{from_mut, from_ref};

use crate::memory::cells::Plain;
use crate::portable;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;

#[cfg(target_arch = "x86_64")]
use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
use avx512::Avx512;
#[cfg(target_arch = "aarch64")]
use neon::Neon;

/// The operations on 64 bytes.
pub trait Vectors: Copy {
    /// 64 bytes, in as many registers as they need.
    type Bytes: Copy + Plain;

    #[inline(always)]
    fn load(self, from: &[u8; 64]) -> Self::Bytes {
        const { assert!(size_of::<Self::Bytes>() == 64) };
        // SAFETY: the array has as many bytes as the value, for which any are valid. They may be
        // read at any address.
        unsafe { from_ref(from).cast::<Self::Bytes>().read_unaligned() }
    }

    #[inline(always)]
    fn store(self, bytes: Self::Bytes, to: &mut [u8; 64]) {
        const { assert!(size_of::<Self::Bytes>() == 64) };
        // SAFETY: the array has as many bytes as the value. They may be written at any address.
        unsafe { from_mut(to).cast::<Self::Bytes>().write_unaligned(bytes) }
    }

    /// The same byte at all places.
    fn splat(self, byte: u8) -> Self::Bytes;
    fn and(self, one: Self::Bytes, other: Self::Bytes) -> Self::Bytes;
    fn or(self, one: Self::Bytes, other: Self::Bytes) -> Self::Bytes;

    /// The places of bytes other than zero.
    fn non_zero(self, bytes: Self::Bytes) -> u64;

    /// The bytes of `one` at some places, and those of `other` at the others.
    fn choose(self, places: u64, one: Self::Bytes, other: Self::Bytes) -> Self::Bytes;

    /// What a table of 16, 32, 64 or 128 bytes has for each index; for an index beyond its end, any
    /// byte will do.
    fn look_up<const LENGTH: usize>(self, table: &[u8; LENGTH], index: Self::Bytes) -> Self::Bytes;

    /// The places where a byte occurs.
    #[inline(always)]
    fn equal(self, bytes: &[u8; 64], byte: u8) -> u64 {
        !self.non_zero(self.load(&bytes.map(|own| own ^ byte)))
    }

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

    /// Of some places, those whose bit is set: the lowest bit is for the first of these places, and
    /// so on.
    #[inline(always)]
    fn spread(self, mut bits: u64, mut places: u64) -> u64 {
        let mut chosen = 0;
        while bits != 0 && places != 0 {
            chosen |= (places & places.wrapping_neg()) * (bits & 1);
            places &= places - 1;
            bits >>= 1;
        }
        chosen
    }

    /// Add the bits of `more` that are among others.
    #[inline(always)]
    fn join<const N: usize>(self, bits: &mut [u64; N], more: &[u64; N], among: &[u64; N]) {
        for word in 0..N {
            bits[word] |= more[word] & among[word];
        }
    }

    /// Add the bits in which two differ.
    #[inline(always)]
    fn join_changes<const N: usize>(self, bits: &mut [u64; N], one: &[u64; N], other: &[u64; N]) {
        for word in 0..N {
            bits[word] |= one[word] ^ other[word];
        }
    }

    /// Take bits away.
    #[inline(always)]
    fn take_away<const N: usize>(self, bits: &mut [u64; N], others: &[u64; N]) {
        for word in 0..N {
            bits[word] &= !others[word];
        }
    }

    /// The bits of some words, moved one place up.
    #[inline(always)]
    fn up<const N: usize>(self, bits: &[u64; N]) -> [u64; N] {
        std::array::from_fn(|word| {
            bits[word] << 1 | if word == 0 { 0 } else { bits[word - 1] >> 63 }
        })
    }

    /// The sum of two numbers, lowest word first, without what does not fit.
    #[inline(always)]
    fn sum<const N: usize>(self, one: &[u64; N], other: &[u64; N]) -> [u64; N] {
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

/// Work that is done with the instructions of a machine.
pub trait Job {
    type Result;

    fn run(self, vectors: impl Vectors) -> Self::Result;
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

    pub fn run<J: Job>(self, job: J) -> J::Result {
        match self {
            Self::Portable(vectors) => vectors.run(job),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the value proves that this machine has the instructions.
            Self::Avx2(vectors) => unsafe { vectors.run(job) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the value proves that this machine has the instructions.
            Self::Avx512(vectors) => unsafe { vectors.run(job) },
            #[cfg(target_arch = "aarch64")]
            Self::Neon(vectors) => vectors.run(job),
        }
    }
}

/// For any machine: what the compiler makes of plain loops.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

impl Portable {
    #[inline(never)]
    fn run<J: Job>(self, job: J) -> J::Result {
        job.run(self)
    }
}

// SAFETY: any bytes are valid.
unsafe impl Plain for [u8; 64] {}

impl Vectors for Portable {
    type Bytes = [u8; 64];

    #[inline(always)]
    fn splat(self, byte: u8) -> [u8; 64] {
        [byte; 64]
    }

    #[inline(always)]
    fn and(self, one: [u8; 64], other: [u8; 64]) -> [u8; 64] {
        std::array::from_fn(|place| one[place] & other[place])
    }

    #[inline(always)]
    fn or(self, one: [u8; 64], other: [u8; 64]) -> [u8; 64] {
        std::array::from_fn(|place| one[place] | other[place])
    }

    #[inline(always)]
    fn non_zero(self, bytes: [u8; 64]) -> u64 {
        const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
        bytes.as_chunks().0.iter().rev().fold(0, |places, eight| {
            // Set the highest bit of each byte that is not zero; the product gathers these bits.
            let word = u64::from_le_bytes(*eight);
            let set = ((((word & LOW) + LOW) | word) & !LOW) >> 7;
            places << 8 | set.wrapping_mul(0x0102_0408_1020_4080) >> 56
        })
    }

    #[inline(always)]
    fn choose(self, places: u64, one: [u8; 64], other: [u8; 64]) -> [u8; 64] {
        std::array::from_fn(
            |place| if places >> place & 1 == 0 { other[place] } else { one[place] },
        )
    }

    #[inline(always)]
    fn look_up<const LENGTH: usize>(self, table: &[u8; LENGTH], index: [u8; 64]) -> [u8; 64] {
        index.map(|at| table[usize::from(at) % LENGTH])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every operation on some bytes and places, all of whose results are returned.
    struct Everything {
        one: [u8; 64],
        other: [u8; 64],
        places: u64,
    }

    impl Everything {
        fn look_up<const LENGTH: usize>(&self, vectors: impl Vectors) -> Vec<u8> {
            let table: [u8; LENGTH] = std::array::from_fn(|index| (index * 7) as u8);
            let index = self.one.map(|byte| byte % LENGTH as u8);
            stored(vectors, vectors.look_up(&table, vectors.load(&index)))
        }
    }

    fn stored<V: Vectors>(vectors: V, bytes: V::Bytes) -> Vec<u8> {
        let mut stored = [0; 64];
        vectors.store(bytes, &mut stored);
        stored.to_vec()
    }

    impl Job for Everything {
        type Result = (Vec<Vec<u8>>, Vec<u64>, Vec<usize>);

        fn run(self, vectors: impl Vectors) -> Self::Result {
            let (one, other) = (vectors.load(&self.one), vectors.load(&self.other));
            let (count, byte) = (self.places.count_ones() as usize, self.one[0]);
            let (mut gathered, mut positions) = ([0; 64], [0; 64]);
            vectors.gather(&self.one, self.places, &mut gathered);
            vectors.positions(1 << 30, self.places, &mut positions);
            let bytes = vec![
                stored(vectors, vectors.splat(byte)),
                stored(vectors, vectors.and(one, other)),
                stored(vectors, vectors.or(one, other)),
                stored(vectors, vectors.choose(self.places, one, other)),
                self.look_up::<16>(vectors),
                self.look_up::<32>(vectors),
                self.look_up::<64>(vectors),
                self.look_up::<128>(vectors),
                gathered[..count].to_vec(),
            ];
            let words: [u64; 8] =
                std::array::from_fn(|word| self.places.rotate_left(9 * word as u32));
            let others = words.map(|word| if word % 3 == 0 { !word } else { byte.into() });
            let mut places = vec![
                vectors.non_zero(one),
                vectors.equal(&self.one, byte),
                vectors.spread(self.places, self.places.rotate_left(7)),
                vectors.spread(!0, self.places),
                vectors.spread(0x0123_4567_89AB_CDEF, self.places),
            ];
            places.extend(vectors.up(&words).into_iter().chain(vectors.sum(&words, &others)));
            let mut joined = others;
            vectors.join(&mut joined, &words, &others.map(|word| !word));
            let mut changes = [byte.into(); 8];
            vectors.join_changes(&mut changes, &words, &others);
            let mut rest = words;
            vectors.take_away(&mut rest, &others);
            places.extend([joined, changes, rest].as_flattened());
            places.extend(
                vectors
                    .up(&[words[0], !0])
                    .into_iter()
                    .chain(vectors.sum(&[!0, !0], &[1, byte.into()])),
            );
            (bytes, places, positions[..count].to_vec())
        }
    }

    #[test]
    fn every_machine_agrees_with_the_portable_way() {
        let mixed =
            (0..=255).map(|first: u8| std::array::from_fn(|place| first.wrapping_add(place as u8)));
        let blocks: Vec<[u8; 64]> = mixed.chain((0..=255).map(|byte: u8| [byte; 64])).collect();
        for (number, &one) in blocks.iter().enumerate() {
            let other: [u8; 64] =
                std::array::from_fn(|place| one[place * place % 64].wrapping_mul(number as u8 | 1));
            let places =
                Portable.non_zero(Portable.and(Portable.load(&other), Portable.splat(0xA5)));
            for places in [places, !places.rotate_left(9), 0, !0, 0xF0F0_1234_5678_9ABC] {
                let expected = Portable.run(Everything { one, other, places });
                for machine in Instructions::all() {
                    assert_eq!(
                        machine.run(Everything { one, other, places }),
                        expected,
                        "{machine:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_portable_way_chooses_among_places() {
        let places = 0b1101_0010 | 1 << 63;
        let block: [u8; 64] = std::array::from_fn(|place| place as u8);
        let bytes = Portable.load(&block);
        let (mut gathered, mut positions) = ([0; 64], [0; 64]);
        assert_eq!(Portable.spread(0b1_0011, places), 0b1_0010 | 1 << 63);
        assert_eq!(Portable.spread(!0, places), places);
        assert_eq!(Portable.equal(&block, 7), 1 << 7);
        let mut bits = [3, 8];
        Portable.join(&mut bits, &[12, 1], &[4, 4]);
        Portable.take_away(&mut bits, &[2, 0]);
        assert_eq!(bits, [5, 8]);
        Portable.join_changes(&mut bits, &[6, 3], &[4, 2]);
        assert_eq!(bits, [7, 9]);
        assert_eq!(Portable.up(&[1 << 63, 5, 0]), [0, 11, 0]);
        assert_eq!(Portable.sum(&[!0, !0, 1, !0], &[1, 0, 1, 0]), [0, 0, 3, !0]);
        assert_eq!(Portable.non_zero(bytes), !1);
        assert_eq!(Portable.non_zero(Portable.splat(0x80)), !0);
        let chosen = stored(Portable, Portable.choose(places, bytes, Portable.splat(9)));
        assert_eq!(chosen[..8], [9, 1, 9, 9, 4, 9, 6, 7]);
        let table: [u8; 32] = std::array::from_fn(|index| 100 + index as u8);
        assert_eq!(stored(Portable, Portable.look_up(&table, bytes))[..32], table);
        Portable.gather(&block, places, &mut gathered);
        Portable.positions(100, places, &mut positions);
        assert_eq!(gathered[..5], [1, 4, 6, 7, 63]);
        assert_eq!(positions[..5], [101, 104, 106, 107, 163]);
    }
}
