//! Decoding ids to Python `bytes` and `str`.

use std::os::raw::c_char;
use std::ptr;

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::watch::PyWatch;
use crate::decode::Writing;
use crate::error::Result;
use crate::memory;
use crate::watch::{Pulse, Unwatched};
use crate::workers::{self, thread_count};

/// Fewer ids or bytes than this are worked on without releasing the GIL.
const SHORT: usize = 1 << 13;

/// With fewer ids, a thread costs more than it saves.
const IDS_FOR_THREAD: usize = 1 << 16;

/// The number of jobs for each thread: rows may be of very different lengths.
const JOBS_FOR_THREAD: usize = 8;

/// Returns the bytes of all ids.
pub fn joined(py: Python<'_>, writing: Writing, ids: Vec<u32>) -> PyResult<Vec<u8>> {
    let mut bytes = Vec::new();
    watched(py, ids.len(), |pulse| writing.append(&ids, &mut bytes, pulse))?;
    Ok(bytes)
}

/// Returns the bytes of each row of ids, on up to this many threads.
pub fn decoded_rows(
    writing: Writing,
    rows: &[Vec<u32>],
    threads: Option<usize>,
    pulse: &mut Pulse,
) -> Result<Vec<Vec<u8>>> {
    let ids: usize = rows.iter().map(Vec::len).sum();
    let threads = thread_count(threads, ids / IDS_FOR_THREAD);
    let in_job = rows.len().div_ceil(JOBS_FOR_THREAD * threads).max(1);
    let decode = |rows: &[Vec<u32>], pulse: &mut Pulse| {
        let mut decoded = Vec::new();
        memory::reserve(&mut decoded, rows.len())?;
        for ids in rows {
            let mut bytes = Vec::new();
            writing.append(ids, &mut bytes, pulse)?;
            decoded.push(bytes);
        }
        Ok(decoded)
    };
    let jobs = workers::each(threads, rows.chunks(in_job), pulse, decode)?;
    memory::gathered(jobs.into_iter().flatten())
}

/// Does work on this many ids, or bytes, if it is long without the GIL and with checks for Ctrl-C.
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

/// Decodes UTF-8 with one of Python's error handlers.
pub fn utf8<'py>(py: Python<'py>, bytes: &[u8], errors: &str) -> PyResult<Bound<'py, PyString>> {
    decoded(py, bytes, errors, ptr::null_mut())
}

/// Decodes UTF-8 up to a character that is incomplete at the end, and takes what is decoded out of
/// the vector.
pub fn take_utf8<'py>(
    py: Python<'py>,
    bytes: &mut Vec<u8>,
    errors: &str,
) -> PyResult<Bound<'py, PyString>> {
    memory::ensure(4 * bytes.len())?;
    if let Ok(text) = str::from_utf8(bytes) {
        let text = PyString::new(py, text);
        bytes.clear();
        return Ok(text);
    }
    let mut consumed = 0;
    let text = decoded(py, bytes, errors, &raw mut consumed)?;
    // A handler may continue at any place.
    let consumed = usize::try_from(consumed).unwrap_or(0).min(bytes.len());
    bytes.drain(..consumed);
    Ok(text)
}

/// Decodes UTF-8; a place for the number of decoded bytes says that a character may be incomplete.
fn decoded<'py>(
    py: Python<'py>,
    bytes: &[u8],
    errors: &str,
    consumed: *mut isize,
) -> PyResult<Bound<'py, PyString>> {
    let handler = std::ffi::CString::new(errors).map_err(|_| {
        PyValueError::new_err(
            "errors: the name of an error handler must not contain null characters",
        )
    })?;
    let length = isize::try_from(bytes.len())
        .map_err(|_| PyOverflowError::new_err("the text is too long"))?;
    let start = bytes.as_ptr().cast::<c_char>();
    // SAFETY: the pointer and length are those of a slice that outlives the call, the handler ends
    // in a null byte, `consumed` is null or a place that outlives the call, and the result is a new
    // reference to a str, or null with an exception set.
    unsafe {
        let text = ffi::PyUnicode_DecodeUTF8Stateful(start, length, handler.as_ptr(), consumed);
        Ok(Bound::from_owned_ptr_or_err(py, text)?.cast_into_unchecked())
    }
}
