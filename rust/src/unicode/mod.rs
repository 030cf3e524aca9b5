//! Unicode data: properties and case pairs, in the one version that all scanners use.

mod cases;
mod categories;
pub mod lookup;
mod properties;

pub use categories::UNICODE_VERSION;
