//! Code points in, classes out: the one Unicode version that every scanner of the engine uses.

/// The version of the Unicode database the tables were made from.
pub const UNICODE_VERSION: &str = "17.0.0";
