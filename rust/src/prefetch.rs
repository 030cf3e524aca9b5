//! A hint to the processor that memory will soon be read.

/// Prefetches the cache line of `items[at]`. It is harmless past the end, and does nothing on
/// processors without a hint.
#[inline(always)]
pub fn prefetch<T>(items: &[T], at: usize) {
    prefetch_at(items.as_ptr().wrapping_add(at).cast());
}

/// Prefetches the cache line of an address, any address.
#[inline(always)]
pub fn prefetch_at(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the hint has no visible effect, and is allowed for any address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the hint has no visible effect, and is allowed for any address.
    unsafe {
        std::arch::asm!(
            "prfm pldl1keep, [{}]",
            in(reg) address,
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
