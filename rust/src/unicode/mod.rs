//! Unicode data: properties and case pairs, in the one version that all scanners use; and the
//! characters of bytes.

pub mod bytes;
mod cases;
mod categories;
pub mod lookup;
mod properties;

pub use categories::UNICODE_VERSION;
