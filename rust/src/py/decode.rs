//! Ids to bytes and text, as Python sees it.

use std::os::raw::c_char;
use std::sync::Arc;

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString};

use super::PyWatch;
use super::ids::{id_from, ids_from};
use crate::decode::decode;
use crate::encode::Encoder;
use crate::tokens::Tokens;
use crate::watch::{Pulse, Unwatched};

/// Fewer ids than this are decoded without letting go of the GIL.
const SHORT: usize = 1 << 13;

/// The joined bytes of all ids.
pub fn bytes_of(py: Python<'_>, tokens: &Tokens, ids: &[u32]) -> PyResult<Vec<u8>> {
    let mut bytes = Vec::new();
    if ids.len() < SHORT {
        decode(tokens, ids, &mut bytes, &mut Pulse::of(&mut Unwatched))?;
    } else {
        py.detach(|| decode(tokens, ids, &mut bytes, &mut Pulse::of(&mut PyWatch { progress: None })))?;
    }
    Ok(bytes)
}

/// Decode UTF-8 with one of Python's error handlers.
pub fn text_of<'py>(py: Python<'py>, bytes: &[u8], errors: &str) -> PyResult<Bound<'py, PyString>> {
    let handler = std::ffi::CString::new(errors)
        .map_err(|_| PyValueError::new_err("errors: the name of an error handler has no null characters"))?;
    let length =
        isize::try_from(bytes.len()).map_err(|_| PyOverflowError::new_err("the text is too long"))?;
    // SAFETY: the pointer and length are those of a slice that outlives the call, the handler ends in a null byte,
    // and the result is a new reference to a str, or null with an exception set.
    unsafe {
        let text = ffi::PyUnicode_DecodeUTF8(bytes.as_ptr().cast::<c_char>(), length, handler.as_ptr());
        Ok(Bound::from_owned_ptr_or_err(py, text)?.cast_into_unchecked())
    }
}

/// Takes ids, gives the text they complete; bytes of an unfinished character wait for the next ids.
#[pyclass(module = "bpetite._engine")]
pub struct DecodeStream {
    encoder: Arc<Encoder>,
    /// `codecs.getincrementaldecoder("utf-8")(errors)`
    decoder: Py<PyAny>,
}

#[pymethods]
impl DecodeStream {
    /// Take one id, or several.
    fn push<'py>(&mut self, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = ids.py();
        let ids = if ids.is_instance_of::<PyInt>() { vec![id_from(ids)?] } else { ids_from(ids)? };
        let bytes = bytes_of(py, self.encoder.tokens(), &ids)?;
        self.decode(py, &bytes, false)
    }

    /// Give what is left; an unfinished character is handled as the error handler says. A new text may then begin.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = self.decode(py, b"", true);
        self.decoder.call_method0(py, "reset")?;
        text
    }
}

impl DecodeStream {
    pub fn new(py: Python<'_>, encoder: Arc<Encoder>, errors: &str) -> PyResult<Self> {
        let codecs = py.import("codecs")?;
        codecs.call_method1("lookup_error", (errors,))?;
        let decoder = codecs.call_method1("getincrementaldecoder", ("utf-8",))?.call1((errors,))?;
        Ok(Self { encoder, decoder: decoder.unbind() })
    }

    fn decode<'py>(&self, py: Python<'py>, bytes: &[u8], last: bool) -> PyResult<Bound<'py, PyAny>> {
        self.decoder.bind(py).call_method1("decode", (PyBytes::new(py, bytes), last))
    }
}
