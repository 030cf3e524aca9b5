//! NEON: four registers of sixteen bytes, which are looked up in tables of up to 64.

use std::arch::aarch64::*;

use super::{Job, Vectors};
use crate::memory::cells::Plain;

#[derive(Clone, Copy, Debug)]
pub struct Neon;

impl Neon {
    #[inline(never)]
    pub fn run<J: Job>(self, job: J) -> J::Result {
        job.run(self)
    }
}

type Quarters = [uint8x16_t; 4];

const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

// SAFETY: any bytes are four valid vectors.
unsafe impl Plain for Quarters {}

impl Vectors for Neon {
    type Bytes = Quarters;

    #[inline(always)]
    fn splat(self, byte: u8) -> Quarters {
        // SAFETY: every aarch64 machine has NEON.
        [unsafe { vdupq_n_u8(byte) }; 4]
    }

    #[inline(always)]
    fn and(self, one: Quarters, other: Quarters) -> Quarters {
        // SAFETY: every aarch64 machine has NEON.
        std::array::from_fn(|quarter| unsafe { vandq_u8(one[quarter], other[quarter]) })
    }

    #[inline(always)]
    fn or(self, one: Quarters, other: Quarters) -> Quarters {
        // SAFETY: every aarch64 machine has NEON.
        std::array::from_fn(|quarter| unsafe { vorrq_u8(one[quarter], other[quarter]) })
    }

    #[inline(always)]
    fn non_zero(self, bytes: Quarters) -> u64 {
        // SAFETY: every aarch64 machine has NEON; the load reads the 16 bytes of `BITS`.
        unsafe {
            // One bit of each byte that is not zero; three rounds of pairwise addition bring them
            // together.
            let bits = vld1q_u8(BITS.as_ptr());
            let [a, b, c, d] = bytes.map(|quarter| vandq_u8(vtstq_u8(quarter, quarter), bits));
            let pairs = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
            vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(pairs, pairs)))
        }
    }

    #[inline(always)]
    fn choose(self, places: u64, one: Quarters, other: Quarters) -> Quarters {
        let bytes = places.to_le_bytes();
        // SAFETY: every aarch64 machine has NEON; the load reads the 16 bytes of `BITS`.
        std::array::from_fn(|quarter| unsafe {
            let two = vcombine_u8(vdup_n_u8(bytes[2 * quarter]), vdup_n_u8(bytes[2 * quarter + 1]));
            vbslq_u8(vtstq_u8(two, vld1q_u8(BITS.as_ptr())), one[quarter], other[quarter])
        })
    }

    #[inline(always)]
    fn look_up<const LENGTH: usize>(self, table: &[u8; LENGTH], index: Quarters) -> Quarters {
        let mut entries = [0; 128];
        entries[..LENGTH].copy_from_slice(table);
        // SAFETY: every aarch64 machine has NEON; both loads read half of the 128 bytes.
        let [first, second] =
            unsafe { [vld1q_u8_x4(entries.as_ptr()), vld1q_u8_x4(entries.as_ptr().add(64))] };
        // SAFETY: every aarch64 machine has NEON.
        index.map(|index| unsafe {
            match LENGTH {
                ..=16 => vqtbl1q_u8(first.0, index),
                ..=32 => vqtbl2q_u8(uint8x16x2_t(first.0, first.1), index),
                ..=64 => vqtbl4q_u8(first, index),
                // An index outside of the table gives zero in the first lookup, and keeps the
                // result in the second.
                _ => vqtbx4q_u8(vqtbl4q_u8(first, index), second, vsubq_u8(index, vdupq_n_u8(64))),
            }
        })
    }
}
