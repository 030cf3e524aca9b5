//! The Python class `Xxh3128`: the hash of the bytes of files.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use xxhash_rust::xxh3::Xxh3;

/// A fast 128-bit hash, of bytes that arrive in pieces, that detects changed files.
#[pyclass(module = "bpetite._engine")]
pub struct Xxh3128 {
    hash: Xxh3,
}

#[pymethods]
impl Xxh3128 {
    #[new]
    fn new() -> Self {
        Self { hash: Xxh3::new() }
    }

    /// Add the next bytes.
    fn update(&mut self, py: Python<'_>, data: PyBackedBytes) {
        py.detach(|| self.hash.update(&data));
    }

    /// The hash of all bytes so far, as `xxh128sum` writes it.
    fn hexdigest(&self) -> String {
        format!("{:032x}", self.hash.digest128())
    }
}
