//! The Python class `FieldTexts`.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::columns::TextColumn;
use super::texts::Buffers;
use crate::read::json_lines;

/// Collects the texts of one field from lines of JSON.
#[pyclass(name = "FieldTexts", module = "bpetite._engine")]
pub struct PyFieldTexts {
    texts: json_lines::FieldTexts,
    buffers: Py<Buffers>,
}

/// The offset that was reached in a block, the number of lines, and the last line if Python must parse it.
type PassedTuple<'py> = (usize, usize, Option<Bound<'py, PyBytes>>);

#[pymethods]
impl PyFieldTexts {
    #[new]
    fn new(field: Vec<u8>, buffers: Py<Buffers>) -> Self {
        Self { texts: json_lines::FieldTexts::new(field), buffers }
    }

    fn take_lines<'py>(
        &mut self,
        py: Python<'py>,
        block: PyBackedBytes,
        start: usize,
    ) -> PyResult<PassedTuple<'py>> {
        let lines = block.get(start..).unwrap_or_default();
        let passed = py.detach(|| {
            self.buffers.get().lend_to(&mut self.texts.texts)?;
            self.texts.take_block(lines)
        })?;
        let left = passed.left.map(|line| PyBytes::new(py, &line));
        Ok((start + passed.bytes, passed.lines, left))
    }

    fn append(&mut self, text: &str) -> PyResult<()> {
        Ok(self.texts.texts.push(text.as_bytes())?)
    }

    fn __len__(&self) -> usize {
        self.texts.texts.places().len()
    }

    #[getter]
    fn size(&self) -> usize {
        self.texts.texts.length() + size_of_val(self.texts.texts.places())
    }

    #[getter]
    fn rest_size(&self) -> usize {
        self.texts.rest_length()
    }

    /// Hand out the texts so far.
    fn take(&mut self) -> TextColumn {
        self.buffers.get().hand_out(self.texts.texts.take())
    }
}

impl Drop for PyFieldTexts {
    fn drop(&mut self) {
        self.buffers.get().hand_out(self.texts.texts.take());
    }
}
