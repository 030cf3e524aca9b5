//! The Python class `FileTexts`: the texts of a file, in one buffer for each batch.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::columns::TextColumn;
use crate::memory;
use crate::read::GatheredTexts;

/// A larger buffer than this is not kept.
const MOST: usize = 16 << 20;

/// Gathers the texts that end with a separator, or those of one field of lines of JSON.
#[pyclass(name = "FileTexts", module = "bpetite._engine")]
pub struct PyFileTexts {
    texts: GatheredTexts,
    /// The buffers of texts that Python has or had. One that it has dropped is used again, while it
    /// is in the processor's cache: with a new one for each batch, counting takes 1.1 times as
    /// long.
    buffers: Vec<Arc<Vec<u8>>>,
}

/// The offset that was reached in a block, the number of lines, and the last line if Python must
/// parse it.
type PassedTuple<'py> = (usize, usize, Option<Bound<'py, PyBytes>>);

#[pymethods]
impl PyFileTexts {
    #[new]
    fn new(by: Vec<u8>) -> Self {
        Self { texts: GatheredTexts::new(by), buffers: Vec::new() }
    }

    fn take_block(&mut self, py: Python<'_>, block: PyBackedBytes) -> PyResult<()> {
        Ok(py.detach(|| self.texts.take_block(&block))?)
    }

    fn take_lines<'py>(
        &mut self,
        py: Python<'py>,
        block: PyBackedBytes,
        start: usize,
    ) -> PyResult<PassedTuple<'py>> {
        let lines = block.get(start..).unwrap_or_default();
        let passed = py.detach(|| self.texts.take_lines(lines))?;
        let for_python = passed.for_python.map(|line| PyBytes::new(py, line));
        Ok((start + passed.bytes, passed.lines, for_python))
    }

    fn append(&mut self, text: &str) -> PyResult<()> {
        Ok(self.texts.append(text.as_bytes())?)
    }

    fn __len__(&self) -> usize {
        self.texts.places.len()
    }

    #[getter]
    fn size(&self) -> usize {
        self.texts.bytes.len() + size_of_val(&self.texts.places[..])
    }

    /// Return the texts that are complete.
    fn take(&mut self) -> PyResult<TextColumn> {
        let dropped = self.buffers.iter_mut().position(|buffer| Arc::get_mut(buffer).is_some());
        let reused = dropped.and_then(|place| Arc::into_inner(self.buffers.swap_remove(place)));
        let mut empty = reused.filter(|bytes| bytes.capacity() <= MOST).unwrap_or_default();
        empty.clear();
        let (bytes, places) = self.texts.take(empty)?;
        let buffer = Arc::new(bytes);
        self.buffers.push(Arc::clone(&buffer));
        Ok(TextColumn::of(
            places.into_iter().map(|place| &buffer[place]),
            Arc::clone(&buffer) as _,
        )?)
    }

    /// Return the start of the text that is not complete yet.
    fn take_rest<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        memory::ensure(self.texts.rest().len())?;
        let rest = PyBytes::new(py, self.texts.rest());
        self.texts.drop_rest();
        Ok(rest)
    }
}
