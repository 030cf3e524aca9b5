//! The Python classes `Gunzip` and `Xxh3128`: the bytes of files.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use xxhash_rust::xxh3::Xxh3;

use crate::memory;
use crate::read::gunzip;

/// Unpacks gzip that arrives in blocks.
#[pyclass(name = "Gunzip", module = "bpetite._engine")]
pub struct PyGunzip {
    gunzip: gunzip::Gunzip,
    /// The current block, and the number of its bytes already read; an empty block marks the end of
    /// the input.
    block: Option<PyBackedBytes>,
    taken: usize,
    /// What is unpacked and not returned yet.
    unpacked: Vec<u8>,
}

#[pymethods]
impl PyGunzip {
    #[new]
    fn new() -> Self {
        Self { gunzip: gunzip::Gunzip::default(), block: None, taken: 0, unpacked: Vec::new() }
    }

    fn take_block(&mut self, block: PyBackedBytes) {
        self.block = Some(block);
        self.taken = 0;
    }

    fn read<'py>(&mut self, py: Python<'py>, size: usize) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Some(block) = &self.block else { return Ok(None) };
        let room = size.saturating_sub(self.unpacked.len());
        memory::reserve(&mut self.unpacked, room)?;
        self.taken +=
            py.detach(|| self.gunzip.take_block(&block[self.taken..], &mut self.unpacked))?;
        if self.unpacked.len() < size {
            if !block.is_empty() {
                return Ok(None);
            }
            self.gunzip.check_end()?;
        }
        memory::ensure(self.unpacked.len())?;
        let read = PyBytes::new(py, &self.unpacked);
        self.unpacked.clear();
        Ok(Some(read))
    }
}

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
