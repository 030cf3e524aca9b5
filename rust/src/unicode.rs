//! Unicode data: properties and case pairs, in the one version that all scanners use.

mod cases;
mod categories;
pub mod lookup;
mod properties;
pub mod utf8;

pub use categories::UNICODE_VERSION;
