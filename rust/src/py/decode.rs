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

/// Appends the bytes of ids to what is in a vector, without such spaces.
pub fn append(
    tokens: &TokenBytes,
    ids: &[u32],
    drops: Drops,
    bytes: &mut Vec<u8>,
    pulse: &mut Pulse,
) -> Result<()> {
    let start = bytes.len();
    if drops == Drops::Spaced {
        for (place, id) in ids.chunks(1).enumerate() {
            if place > 0 {
                memory::push(bytes, b' ')?;
            }
            decode_onto(tokens, id, bytes, pulse)?;
        }
        return Ok(());
    }
    decode_onto(tokens, ids, bytes, pulse)?;
    if ids.last().is_some_and(|id| tokens.spaced.contains(id)) {
        bytes.pop();
    }
    match drops {
        Drops::Nothing | Drops::Spaced => {}
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
pub fn joined(
    py: Python<'_>,
    tokens: &TokenBytes,
    ids: Vec<u32>,
    drops: Drops,
) -> PyResult<Vec<u8>> {
    let mut bytes = Vec::new();
    watched(py, ids.len(), |pulse| append(tokens, &ids, drops, &mut bytes, pulse))?;
    Ok(bytes)
}

/// Returns the bytes of each row of ids, on up to this many threads.
pub fn decoded_rows(
    tokens: &TokenBytes,
    rows: &[Vec<u32>],
    drops: Drops,
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
            append(tokens, ids, drops, &mut bytes, pulse)?;
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
