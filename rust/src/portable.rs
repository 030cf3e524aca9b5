//! Whether the engine does without special instructions of the processor, for tests: where
//! `BPETITE_PORTABLE` is set.

use once_cell::race::OnceBox;

/// The answer at the first call, which is made at import: while other threads run, the environment
/// may be changed.
pub fn is_wanted() -> bool {
    static WANTED: OnceBox<bool> = OnceBox::new();
    *WANTED.get_or_init(|| Box::new(std::env::var_os("BPETITE_PORTABLE").is_some()))
}
