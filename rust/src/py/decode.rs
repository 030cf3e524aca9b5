//! Decoding ids to Python `bytes` and `str`.

use std::borrow::Cow;
use std::mem::MaybeUninit;
use std::os::raw::c_char;
use std::str::FromStr;
use std::sync::Arc;

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString};

use super::encode::not_picklable;
use super::ids::{Ids, id_from, ids_from};
use super::{PyWatch, is_integer};
use crate::decode::{decode, decode_onto, decoded_length};
use crate::encode::Encoder;
use crate::error::Result;
use crate::tokens::{StoredId, TokenBytes};
use crate::watch::{Pulse, Unwatched};

/// Fewer ids than this are decoded without releasing the GIL.
const SHORT: usize = 1 << 13;

/// Which spaces a text omits at its beginning.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Drops {
    Nothing,
    /// One, if it begins with one.
    One,
    /// All those of the first token.
    OfFirst,
}

impl FromStr for Drops {
    type Err = PyErr;

    fn from_str(name: &str) -> PyResult<Self> {
        match name {
            "" => Ok(Self::Nothing),
            "one" => Ok(Self::One),
            "all" => Ok(Self::OfFirst),
            _ => Err(PyValueError::new_err(format!("drops_space: {name:?} is not known"))),
        }
    }
}

impl Drops {
    /// The bytes of ids without such spaces; `first` is the number of bytes of the first id.
    pub fn apply(self, bytes: &[u8], first: usize) -> Cow<'_, [u8]> {
        match self {
            Self::Nothing => bytes.into(),
            Self::One => bytes.strip_prefix(b" ").unwrap_or(bytes).into(),
            Self::OfFirst => {
                let (first, rest) = bytes.split_at(first);
                first.iter().copied().filter(|&byte| byte != b' ').chain(rest.iter().copied()).collect()
            }
        }
    }
}

/// The bytes of all ids.
pub fn bytes_of<'py>(
    py: Python<'py>,
    tokens: &TokenBytes,
    ids: &Ids,
    drops: Drops,
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = match ids {
        Ids::Borrowed(array) => bytes_of_stored(py, tokens, array.ids()),
        Ids::Copied(ids) => bytes_of_stored(py, tokens, ids),
    }?;
    if drops == Drops::Nothing {
        return Ok(bytes);
    }
    Ok(PyBytes::new(py, &drops.apply(bytes.as_bytes(), first_length(tokens, ids))))
}

/// The number of bytes of the first id.
fn first_length(tokens: &TokenBytes, ids: &Ids) -> usize {
    let first = match ids {
        Ids::Borrowed(array) => array.ids().first().map(StoredId::load),
        Ids::Copied(ids) => ids.first().copied(),
    };
    first.and_then(|id| tokens.length(id)).unwrap_or(0)
}

fn bytes_of_stored<'py, I: StoredId>(
    py: Python<'py>,
    tokens: &TokenBytes,
    ids: &[I],
) -> PyResult<Bound<'py, PyBytes>> {
    let length = watched(py, ids.len(), |pulse| decoded_length(tokens, ids, pulse))?;
    // SAFETY: a null pointer leaves the object uninitialized; the result is a new reference, or null with an
    // exception set.
    let object: Bound<PyBytes> = unsafe {
        let object = ffi::PyBytes_FromStringAndSize(std::ptr::null(), as_size(length)?);
        Bound::from_owned_ptr_or_err(py, object)?.cast_into_unchecked()
    };
    // SAFETY: the object has `length` bytes, and nothing else refers to it.
    let room = unsafe {
        let start = ffi::PyBytes_AsString(object.as_ptr()).cast::<MaybeUninit<u8>>();
        std::slice::from_raw_parts_mut(start, length)
    };
    if watched(py, ids.len(), |pulse| decode(tokens, ids, room, pulse))? != length {
        return Err(PyValueError::new_err("the ids were changed while they were decoded"));
    }
    Ok(object)
}

/// Run work on so many ids, or bytes, if it is long without the GIL and with checks for Ctrl-C.
pub fn watched<T: Send>(
    py: Python<'_>,
    amount: usize,
    work: impl FnOnce(&mut Pulse) -> Result<T> + Send,
) -> PyResult<T> {
    if amount < SHORT {
        return Ok(work(&mut Pulse::of(&mut Unwatched))?);
    }
    Ok(py.detach(|| work(&mut Pulse::of(&mut PyWatch::default())))?)
}

fn as_size(length: usize) -> PyResult<isize> {
    isize::try_from(length).map_err(|_| PyOverflowError::new_err("the text is too long"))
}

/// The text of all ids.
pub fn text_of<'py>(
    py: Python<'py>,
    tokens: &TokenBytes,
    ids: &Ids,
    errors: &str,
    drops: Drops,
) -> PyResult<Bound<'py, PyString>> {
    let mut bytes = Vec::new();
    let room = &mut bytes;
    match ids {
        Ids::Borrowed(array) => {
            let ids = array.ids();
            watched(py, ids.len(), |pulse| decode_onto(tokens, ids, room, pulse))?;
        }
        Ids::Copied(ids) => watched(py, ids.len(), |pulse| decode_onto(tokens, ids, room, pulse))?,
    }
    utf8(py, &drops.apply(&bytes, first_length(tokens, ids)), errors)
}

/// Decode UTF-8 with one of Python's error handlers.
fn utf8<'py>(py: Python<'py>, bytes: &[u8], errors: &str) -> PyResult<Bound<'py, PyString>> {
    let handler = std::ffi::CString::new(errors).map_err(|_| {
        PyValueError::new_err("errors: the name of an error handler must not contain null characters")
    })?;
    let length = as_size(bytes.len())?;
    // SAFETY: the pointer and length are those of a slice that outlives the call, the handler ends in a null byte,
    // and the result is a new reference to a str, or null with an exception set.
    unsafe {
        let text = ffi::PyUnicode_DecodeUTF8(bytes.as_ptr().cast::<c_char>(), length, handler.as_ptr());
        Ok(Bound::from_owned_ptr_or_err(py, text)?.cast_into_unchecked())
    }
}

/// Decodes ids as they arrive; the bytes of an incomplete character wait for the next ids.
#[pyclass(module = "bpetite._engine")]
pub struct DecodeStream {
    encoder: Arc<Encoder>,
    /// `codecs.getincrementaldecoder("utf-8")(errors)`
    decoder: Py<PyAny>,
    drops: Drops,
    /// Whether nothing was decoded yet.
    is_first: bool,
}

#[pymethods]
impl DecodeStream {
    /// Decode one id or several, and return the text that is complete.
    fn push<'py>(&mut self, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = ids.py();
        let ids = if ids.is_instance_of::<PyInt>() || !ids.hasattr("__len__")? && is_integer(ids)? {
            Ids::Copied(vec![id_from(ids)?])
        } else {
            ids_from(ids)?
        };
        let bytes = bytes_of(py, self.encoder.tokens(), &ids, Drops::Nothing)?;
        if !self.is_first || self.drops == Drops::Nothing {
            return self.decode(bytes, false);
        }
        self.is_first = match self.drops {
            Drops::One => bytes.as_bytes().is_empty(),
            _ => ids.len() == 0,
        };
        let bytes = self.drops.apply(bytes.as_bytes(), first_length(self.encoder.tokens(), &ids));
        let bytes = PyBytes::new(py, &bytes);
        self.decode(bytes, false)
    }

    /// Return the rest; the error handler decides about an incomplete character. A new text may then begin.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = self.decode(PyBytes::new(py, b""), true);
        self.decoder.call_method0(py, "reset")?;
        self.is_first = true;
        text
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copied(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copied(py)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(not_picklable("a stream"))
    }
}

impl DecodeStream {
    fn copied(&self, py: Python<'_>) -> PyResult<Self> {
        let decoder = self.decoder.bind(py);
        let errors: String = decoder.getattr("errors")?.extract()?;
        let mut copy = Self::new(py, Arc::clone(&self.encoder), &errors, self.drops)?;
        copy.is_first = self.is_first;
        copy.decoder.call_method1(py, "setstate", (decoder.call_method0("getstate")?,))?;
        Ok(copy)
    }

    pub fn new(py: Python<'_>, encoder: Arc<Encoder>, errors: &str, drops: Drops) -> PyResult<Self> {
        let codecs = py.import("codecs")?;
        codecs.call_method1("lookup_error", (errors,))?;
        let decoder = codecs.call_method1("getincrementaldecoder", ("utf-8",))?.call1((errors,))?;
        Ok(Self { encoder, decoder: decoder.unbind(), drops, is_first: true })
    }

    fn decode<'py>(&self, bytes: Bound<'py, PyBytes>, last: bool) -> PyResult<Bound<'py, PyAny>> {
        self.decoder.bind(bytes.py()).call_method1("decode", (&bytes, last))
    }
}
