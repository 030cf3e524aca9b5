//! Arguments that many functions take, each refused with the same sentence everywhere.

use pyo3::Borrowed;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyString};

use super::decode::Drops;
use super::pretokenize::Syntax;
use crate::encode::{Special, Trim, Unit};
use crate::error::{Error, Result};
use crate::merge::TieBreak;
use crate::normalize::Beginning;
use crate::pretokenize::Dialect;

/// The type of the ids in an array.
#[derive(Clone, Copy)]
pub enum Width {
    Bits16,
    Bits32,
}

/// Makes types the values of arguments that are one of a few words. The usual words are known by their place, without
/// reading them: Python has one object for each.
macro_rules! words {
    ($($type:ty, $argument:literal: $($word:literal => $value:expr),+;)+) => {$(
        impl<'py> FromPyObject<'_, 'py> for $type {
            type Error = PyErr;

            fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                $(if given.is(intern!(given.py(), $word)) {
                    return Ok($value);
                })+
                one_of(given, $argument, [$(($word, $value)),+])
            }
        }
    )+};
}

words! {
    Special, "special": "parse" => Self::Parse, "text" => Self::Text, "error" => Self::Error;
    Width, "dtype": "uint32" => Self::Bits32, "uint16" => Self::Bits16;
    Unit, "unit": "characters" => Self::Characters, "bytes" => Self::Bytes;
    Trim, "trim": "no" => Self::No, "yes" => Self::Yes, "keep first" => Self::KeepFirst;
    Drops, "drops_space": "" => Self::Nothing, "one" => Self::One, "all" => Self::OfFirst;
    Beginning, "at": "text" => Self::Text, "segment" => Self::Segment, "within" => Self::Within;
    Syntax, "syntax": "bpetite" => Self::Ours, "rust" => Self::Read(Dialect::Rust),
        "oniguruma" => Self::Read(Dialect::Oniguruma { cuts: false }),
        "oniguruma cuts" => Self::Read(Dialect::Oniguruma { cuts: true });
    TieBreak, "tie_break": "smallest_ids" => Self::SmallestIds, "largest_bytes" => Self::LargestBytes,
        "smallest_bytes" => Self::SmallestBytes;
}

fn one_of<T: Copy, const N: usize>(
    given: Borrowed<'_, '_, PyAny>,
    argument: &str,
    known: [(&str, T); N],
) -> PyResult<T> {
    let names = known.map(|(name, _)| name);
    let (others, last) = names.split_at(N - 1);
    let expected = format!("{argument}: must be {} or {}", others.join(", "), last.concat());
    if given.cast::<PyString>().is_err() {
        return Err(PyTypeError::new_err(format!("{expected}, not {}", given.repr()?)));
    }
    let word: &str = given.extract()?;
    let found = known.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
    found.ok_or_else(|| PyValueError::new_err(format!("{expected}, not {word:?}")))
}

/// `num_threads`: none means one thread per core, and any positive number is accepted.
#[derive(Clone, Copy, Default)]
pub struct Threads(pub Option<usize>);

impl<'py> FromPyObject<'_, 'py> for Threads {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if given.is_none() {
            return Ok(Self(None));
        }
        if !is_integer(&given)? {
            let given = given.repr()?;
            return Err(PyTypeError::new_err(format!("num_threads must be an integer, not {given}")));
        }
        let number = given.call_method0(intern!(given.py(), "__index__"))?;
        if number.lt(1)? {
            return Err(PyValueError::new_err(format!("num_threads must be at least 1, not {number}")));
        }
        Ok(Self(Some(number.extract().unwrap_or(usize::MAX))))
    }
}

/// The name of the type of a value.
pub fn kind_of(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string())
}

/// Whether a value is an integer of any type (it has `__index__`); a bool is not.
pub fn is_integer(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(!value.is_instance_of::<PyBool>() && value.hasattr(intern!(value.py(), "__index__"))?)
}

/// A number of characters or ids.
pub fn natural(name: &str, number: i64) -> PyResult<usize> {
    usize::try_from(number)
        .map_err(|_| PyValueError::new_err(format!("{name} must be at least 0, not {number}")))
}

/// The UTF-8 of a `str`, or `bytes` as they are; `what` is the name in the error for anything else.
pub fn bytes_of<'a>(text: &'a Bound<'_, PyAny>, what: impl FnOnce() -> String) -> PyResult<&'a [u8]> {
    if let Ok(text) = text.cast::<PyString>() {
        return Ok(text.to_str()?.as_bytes());
    }
    match text.cast::<PyBytes>() {
        Ok(bytes) => Ok(bytes.as_bytes()),
        Err(_) => {
            Err(PyTypeError::new_err(format!("{} must be str or bytes, not {}", what(), kind_of(text))))
        }
    }
}

/// The text that bytes are; `what` is the name in the error if they are not UTF-8.
pub fn checked(bytes: &[u8], what: impl FnOnce() -> String) -> Result<&str> {
    simdutf8::compat::from_utf8(bytes)
        .map_err(|bad| Error::NotUtf8 { input: what(), offset: bad.valid_up_to() as u64 })
}
