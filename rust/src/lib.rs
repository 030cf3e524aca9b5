//! The engine of bpetite: the hot loops behind the Python package, and nothing else.
//!
//! Data flows one way: text is cut into pretokens, pretokens are counted, counts become merges;
//! merges turn text into ids, and ids become bytes again ([`decode`]). The Python specification is
//! readable code with the same results; the tests compare the two.

// Keys, files and masks are read as little-endian words.
#[cfg(target_endian = "big")]
compile_error!("bpetite is made for little-endian processors");

mod bits;
pub mod count;
pub mod decode;
pub mod encode;
pub mod error;
mod finder;
pub mod key;
mod memory;
pub mod merge;
pub mod normalize;
mod portable;
mod prefetch;
pub mod pretokenize;
pub mod read;
pub mod tokens;
pub mod unicode;
mod vectors;
pub mod vocabulary;
pub mod watch;
mod workers;

#[cfg(feature = "python")]
mod py;
