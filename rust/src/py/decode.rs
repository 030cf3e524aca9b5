//! Decoding ids to Python `bytes` and `str`.

use std::os::raw::c_char;

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::arguments::Drops;
use super::watch::PyWatch;
use crate::decode::decode_onto;
use crate::error::Result;
use crate::memory;
use crate::tokens::TokenBytes;
use crate::watch::{Pulse, Unwatched};
use crate::workers::{self, thread_count};

/// Fewer ids or bytes than this are worked on without releasing the GIL.
const SHORT: usize = 1 << 13;

/// With fewer ids, a thread costs more than it saves.
const IDS_FOR_THREAD: usize = 1 << 16;

/// The number of jobs for each thread: rows may be of very different lengths.
const JOBS_FOR_THREAD: usize = 8;

/// How ids become text.
#[derive(Clone, Copy)]
pub struct Writing<'a> {
    /// The bytes of the first token, and of all others unless these are behind it.
    pub tokens: &'a TokenBytes,
    pub behind: Option<&'a TokenBytes>,
    pub drops: Drops,
}

/// Appends the bytes of ids to what is in a vector, without such spaces.
pub fn append(writing: Writing, ids: &[u32], bytes: &mut Vec<u8>, pulse: &mut Pulse) -> Result<()> {
    let Writing { tokens, behind, drops } = writing;
    let start = bytes.len();
    let (first, others) = ids.split_at(if behind.is_some() { ids.len().min(1) } else { ids.len() });
    decode_onto(tokens, first, bytes, pulse)?;
    if let Some(behind) = behind {
        decode_onto(behind, others, bytes, pulse)?;
    }
    if ids.last().is_some_and(|id| tokens.spaced.contains(id)) {
        bytes.pop();
    }
    match drops {
        Drops::Nothing => {}
        Drops::One => {
            if bytes.get(start) == Some(&b' ') {
                bytes.remove(start);
            }
        }
        Drops::OfFirst => {
            let first = ids.first().and_then(|&id| tokens.length(id)).unwrap_or(0);
            let end = start + first;
            let mut kept_to = start;
            for place in start..end {
                if bytes[place] != b' ' {
                    bytes[kept_to] = bytes[place];
                    kept_to += 1;
                }
            }
            bytes.drain(kept_to..end);
        }
    }
    Ok(())
}

/// Returns the bytes of all ids.
pub fn joined(py: Python<'_>, writing: Writing, ids: Vec<u32>) -> PyResult<Vec<u8>> {
    let mut bytes = Vec::new();
    watched(py, ids.len(), |pulse| append(writing, &ids, &mut bytes, pulse))?;
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
            append(writing, ids, &mut bytes, pulse)?;
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
    let handler = std::ffi::CString::new(errors).map_err(|_| {
        PyValueError::new_err(
            "errors: the name of an error handler must not contain null characters",
        )
    })?;
    let length = isize::try_from(bytes.len())
        .map_err(|_| PyOverflowError::new_err("the text is too long"))?;
    // SAFETY: the pointer and length are those of a slice that outlives the call, the handler ends
    // in a null byte, and the result is a new reference to a str, or null with an exception set.
    unsafe {
        let text =
            ffi::PyUnicode_DecodeUTF8(bytes.as_ptr().cast::<c_char>(), length, handler.as_ptr());
        Ok(Bound::from_owned_ptr_or_err(py, text)?.cast_into_unchecked())
    }
}
