//! Arguments that many functions take, each refused with the same sentence everywhere.

use pyo3::Borrowed;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyString};

use crate::decode::Drops;
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

/// How a pattern is spelled.
#[derive(Clone, Copy)]
pub enum Syntax {
    Ours,
    Read(Dialect),
}

/// Makes types the values of arguments that are one of a few words. The usual words are known by
/// their place, without reading them: Python has one object for each.
macro_rules! words {
    ($($type:ty, $argument:literal: $($word:literal => $value:expr),+;)+) => {$(
        impl<'py> FromPyObject<'_, 'py> for $type {
            type Error = PyErr;

            fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                $(if value.is(intern!(value.py(), $word)) {
                    return Ok($value);
                })+
                one_of(value, $argument, [$(($word, $value)),+])
            }
        }
    )+};
}

words! {
    Special, "special": "parse" => Self::Parse, "text" => Self::Text, "error" => Self::Error;
    Width, "dtype": "uint32" => Self::Bits32, "uint16" => Self::Bits16;
    Unit, "unit": "characters" => Self::Characters, "bytes" => Self::Bytes;
    Trim, "trim": "no" => Self::No, "yes" => Self::Yes, "keep first" => Self::KeepFirst;
    Drops, "spaces": "" => Self::Nothing, "one" => Self::One, "all" => Self::OfFirst;
    Beginning, "at": "text" => Self::Text, "segment" => Self::Segment, "within" => Self::Within;
    Syntax, "syntax": "bpetite" => Self::Ours, "rust" => Self::Read(Dialect::Rust),
        "oniguruma" => Self::Read(Dialect::Oniguruma { cuts: false }),
        "oniguruma cuts" => Self::Read(Dialect::Oniguruma { cuts: true });
    TieBreak, "tie_break": "smallest_ids" => Self::SmallestIds,
        "largest_bytes" => Self::LargestBytes, "smallest_bytes" => Self::SmallestBytes;
}

fn one_of<T: Copy, const N: usize>(
    value: Borrowed<'_, '_, PyAny>,
    argument: &str,
    choices: [(&str, T); N],
) -> PyResult<T> {
    let names = choices.map(|(name, _)| name);
    let (first, last) = names.split_at(N - 1);
    let expected = format!("{argument}: must be {} or {}", first.join(", "), last.concat());
    if value.cast::<PyString>().is_err() {
        return Err(PyTypeError::new_err(format!("{expected}, not {}", value.repr()?)));
    }
    let word: &str = value.extract()?;
    match choices.iter().find(|(name, _)| *name == word) {
        Some((_, meaning)) => Ok(*meaning),
        None => Err(PyValueError::new_err(format!("{expected}, not {word:?}"))),
    }
}

/// `num_threads`: none means one thread per core, and any positive number is accepted.
#[derive(Clone, Copy, Default)]
pub struct Threads(pub Option<usize>);

impl<'py> FromPyObject<'_, 'py> for Threads {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if value.is_none() {
            return Ok(Self(None));
        }
        if !is_integer(&value)? {
            let shown = value.repr()?;
            return Err(PyTypeError::new_err(format!(
                "num_threads must be an integer, not {shown}"
            )));
        }
        let number = value.call_method0(intern!(value.py(), "__index__"))?;
        if number.lt(1)? {
            return Err(PyValueError::new_err(format!(
                "num_threads must be at least 1, not {number}"
            )));
        }
        Ok(Self(Some(number.extract().unwrap_or(usize::MAX))))
    }
}

/// Returns the name of the type of a value.
pub fn kind_of(value: &Bound<'_, PyAny>) -> String {
    match value.get_type().name() {
        Ok(name) => name.to_string(),
        Err(_) => "something else".to_owned(),
    }
}

/// Whether a value is an integer of any type (it has `__index__`); a bool is not.
pub fn is_integer(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(!value.is_instance_of::<PyBool>() && value.hasattr(intern!(value.py(), "__index__"))?)
}

/// Returns a number of characters or ids.
pub fn natural(name: &str, number: i64) -> PyResult<usize> {
    usize::try_from(number)
        .map_err(|_| PyValueError::new_err(format!("{name} must be at least 0, not {number}")))
}

/// Returns the UTF-8 of a `str`, or `bytes` as they are; `name` is for the error for anything else.
pub fn bytes_of<'a>(
    text: &'a Bound<'_, PyAny>,
    name: impl FnOnce() -> String,
) -> PyResult<&'a [u8]> {
    if let Ok(text) = text.cast::<PyString>() {
        return Ok(text.to_str()?.as_bytes());
    }
    match text.cast::<PyBytes>() {
        Ok(bytes) => Ok(bytes.as_bytes()),
        Err(_) => {
            let message = format!("{} must be str or bytes, not {}", name(), kind_of(text));
            Err(PyTypeError::new_err(message))
        }
    }
}

/// Returns the text that bytes are; `name` is for the error if they are not UTF-8.
pub fn checked(bytes: &[u8], name: impl FnOnce() -> String) -> Result<&str> {
    simdutf8::compat::from_utf8(bytes)
        .map_err(|bad| Error::NotUtf8 { input: name(), offset: bad.valid_up_to() as u64 })
}

/// How many items are taken between two checks for signals.
const ITEMS_PER_CHECK: usize = 1 << 12;

/// The items of an iterable; `expected` begins the error for what is none. Signals are checked: an
/// iterable that is endless and written in C, such as `itertools.repeat`, runs no code that would
/// do so.
pub fn items<'py>(
    iterable: &Bound<'py, PyAny>,
    expected: &str,
) -> PyResult<impl Iterator<Item = PyResult<Bound<'py, PyAny>>> + use<'py>> {
    let py = iterable.py();
    let iterator =
        iterable.try_iter().map_err(|error| match iterable.hasattr(intern!(py, "__iter__")) {
            Ok(false) => PyTypeError::new_err(format!("{expected}, not {}", kind_of(iterable))),
            _ => error,
        })?;
    Ok(iterator.enumerate().map(move |(number, item)| {
        if number % ITEMS_PER_CHECK == ITEMS_PER_CHECK - 1 {
            py.check_signals()?;
        }
        item
    }))
}
