//! XXH3 of 128 bits as Python sees it: a hash that tells changed files from unchanged ones at the speed of reading.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use xxhash_rust::xxh3::Xxh3;

/// The hash of bytes that arrive in pieces.
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

    /// Take the next bytes.
    fn update(&mut self, py: Python<'_>, data: PyBackedBytes) {
        py.detach(|| self.hash.update(&data));
    }

    /// The hash of all bytes so far, as `xxh128sum` writes it.
    fn hexdigest(&self) -> String {
        format!("{:032x}", self.hash.digest128())
    }
}
