//! Columns of other libraries, through the C interface of Arrow: texts and ids are read where they are, and results are
//! handed out without a copy.
//!
//! [`interface`] has the three structs that all libraries share, [`texts`] and [`lists`] read from them, and
//! [`built`] hands columns out.
//!
//! A library says where its buffers are, but hardly ever how long: only what can be checked is, so that a column that
//! contradicts itself is an error. Offsets beyond a buffer cannot be seen by anybody.

pub mod built;
pub mod interface;
pub mod lists;
pub mod texts;
mod view;

use crate::error::Error;

/// What a missing text becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// An error that names the row.
    Error,
    /// Its row is left out.
    Skip,
    /// An empty text.
    Empty,
    /// An empty text, and the row is noted.
    Keep,
}

pub fn null_row(row: usize) -> Error {
    Error::Value(format!(
        "row {row} is null; nulls=\"empty\" takes such rows as empty (where texts are taken one by one: \
         TextColumn(column, nulls=\"empty\") or \"skip\")"
    ))
}
