//! Texts that Python owns: `str`, or `bytes` that must be UTF-8.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyString};

use crate::error::{Error, Result};

/// A text whose bytes stay where they are while this is held, with or without the GIL.
pub enum OwnedText {
    Str(PyBackedStr),
    Bytes(PyBackedBytes),
}

impl OwnedText {
    /// `what` is the item's name in the error for anything but `str` and `bytes`.
    pub fn new(text: &Bound<'_, PyAny>, what: impl FnOnce() -> String) -> PyResult<Self> {
        if let Ok(text) = text.cast::<PyString>() {
            Ok(Self::Str(text.clone().try_into()?))
        } else if let Ok(bytes) = text.cast::<PyBytes>() {
            Ok(Self::Bytes(bytes.clone().into()))
        } else {
            let kind = text.get_type().name()?;
            Err(PyTypeError::new_err(format!("{} must be str or bytes, not {kind}", what())))
        }
    }

    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Str(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    /// The text; bytes are checked, and `what` is the name in the error.
    pub fn text(&self, what: impl FnOnce() -> String) -> Result<&str> {
        match self {
            Self::Str(text) => Ok(text),
            Self::Bytes(bytes) => std::str::from_utf8(bytes)
                .map_err(|bad| Error::NotUtf8 { input: what(), offset: bad.valid_up_to() as u64 }),
        }
    }
}
