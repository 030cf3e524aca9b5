//! The Python classes `SplitTexts` and `FieldTexts`: the texts of a file, in one buffer for each batch.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::columns::TextColumn;
use crate::memory;
use crate::read::{JoinedTexts, json_lines, split};

/// A larger buffer than this is not kept.
const MOST: usize = 16 << 20;

/// Splits blocks into texts at a separator.
#[pyclass(name = "SplitTexts", module = "bpetite._engine")]
pub struct PySplitTexts(split::SplitTexts, Buffers);

#[pymethods]
impl PySplitTexts {
    #[new]
    fn new(separator: &[u8]) -> Self {
        Self(split::SplitTexts::new(separator), Buffers::default())
    }

    fn take_block(&mut self, py: Python<'_>, block: PyBackedBytes) -> PyResult<()> {
        Ok(py.detach(|| self.0.take_block(&block))?)
    }

    fn __len__(&self) -> usize {
        self.0.places.len()
    }

    #[getter]
    fn size(&self) -> usize {
        self.0.bytes.len() + size_of_val(&self.0.places[..])
    }

    /// Return the texts that are complete.
    fn take(&mut self) -> PyResult<TextColumn> {
        let taken = self.0.take(self.1.free())?;
        self.1.column_of(taken)
    }

    /// Return the start of the text that is not complete yet.
    fn take_rest<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        memory::ensure(self.0.rest().len())?;
        let rest = PyBytes::new(py, self.0.rest());
        self.0.drop_rest();
        Ok(rest)
    }
}

/// The buffers of texts that Python has or had. One that it has dropped is used again, while it is in the processor's cache:
/// with a new one for each batch, counting takes 1.1 times as long.
#[derive(Default)]
struct Buffers(Vec<Arc<Vec<u8>>>);

impl Buffers {
    fn free(&mut self) -> Vec<u8> {
        let dropped = self.0.iter_mut().position(|buffer| Arc::get_mut(buffer).is_some());
        let buffer = dropped.and_then(|place| Arc::into_inner(self.0.swap_remove(place)));
        let mut bytes = buffer.filter(|bytes| bytes.capacity() <= MOST).unwrap_or_default();
        bytes.clear();
        bytes
    }

    fn column_of(&mut self, (bytes, places): JoinedTexts) -> PyResult<TextColumn> {
        let buffer = Arc::new(bytes);
        self.0.push(Arc::clone(&buffer));
        Ok(TextColumn::of(places.into_iter().map(|place| &buffer[place]), Arc::clone(&buffer) as _)?)
    }
}

/// Collects the texts of one field from lines of JSON.
#[pyclass(name = "FieldTexts", module = "bpetite._engine")]
pub struct PyFieldTexts(json_lines::FieldTexts, Buffers);

/// The offset that was reached in a block, the number of lines, and the last line if Python must parse it.
type PassedTuple<'py> = (usize, usize, Option<Bound<'py, PyBytes>>);

#[pymethods]
impl PyFieldTexts {
    #[new]
    fn new(field: Vec<u8>) -> Self {
        Self(json_lines::FieldTexts::new(field), Buffers::default())
    }

    fn take_lines<'py>(
        &mut self,
        py: Python<'py>,
        block: PyBackedBytes,
        start: usize,
    ) -> PyResult<PassedTuple<'py>> {
        let lines = block.get(start..).unwrap_or_default();
        let passed = py.detach(|| self.0.take_lines(lines))?;
        let left = passed.left.map(|line| PyBytes::new(py, line));
        Ok((start + passed.bytes, passed.lines, left))
    }

    fn append(&mut self, text: &str) -> PyResult<()> {
        memory::extend(&mut self.0.bytes, text.as_bytes())?;
        let start = self.0.bytes.len() - text.len();
        Ok(memory::push(&mut self.0.places, start..self.0.bytes.len())?)
    }

    fn __len__(&self) -> usize {
        self.0.places.len()
    }

    #[getter]
    fn size(&self) -> usize {
        self.0.bytes.len() + size_of_val(&self.0.places[..])
    }

    /// Hand out the texts so far.
    fn take(&mut self) -> PyResult<TextColumn> {
        let taken = self.0.take(self.1.free());
        self.1.column_of(taken)
    }
}
