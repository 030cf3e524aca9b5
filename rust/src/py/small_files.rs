//! The Python function that reads small files.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use xxhash_rust::xxh3::xxh3_128;

use crate::memory;
use crate::read::small_files::SmallFiles;

/// A file's content and its hash, if asked for.
type HashedContent<'py> = (Bound<'py, PyBytes>, String);

/// Return the content of each file with its hash; `None` if one is larger than `most` or cannot be read.
#[pyfunction]
pub fn read_small_files<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    most: usize,
    hashed: bool,
) -> PyResult<Option<Vec<HashedContent<'py>>>> {
    let read = py.detach(|| {
        SmallFiles::read(&paths, most).map(|files| {
            files.map(|files| {
                let hash =
                    |content| if hashed { format!("{:032x}", xxh3_128(content)) } else { String::new() };
                let hashes: Vec<String> = files.contents().map(hash).collect();
                (files, hashes)
            })
        })
    })?;
    let Some((files, hashes)) = read else { return Ok(None) };
    memory::ensure(files.contents().map(<[u8]>::len).sum())?;
    Ok(Some(files.contents().map(|content| PyBytes::new(py, content)).zip(hashes).collect()))
}
