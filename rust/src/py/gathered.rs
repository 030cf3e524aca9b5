//! The Python classes `SplitTexts`, `FieldTexts` and `Buffers`: the texts of a file, in one buffer for each batch.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::columns::TextColumn;
use crate::error::Result;
use crate::memory;
use crate::read::{GatheredTexts, json_lines, split};

/// Splits blocks into texts at a separator.
#[pyclass(name = "SplitTexts", module = "bpetite._engine")]
pub struct PySplitTexts {
    texts: split::SplitTexts,
    buffers: Py<Buffers>,
}

#[pymethods]
impl PySplitTexts {
    #[new]
    fn new(separator: &[u8], buffers: Py<Buffers>) -> Self {
        Self { texts: split::SplitTexts::new(separator), buffers }
    }

    fn take_block(&mut self, py: Python<'_>, block: PyBackedBytes) -> PyResult<()> {
        Ok(py.detach(|| {
            self.buffers.get().lend_to(&mut self.texts.texts)?;
            self.texts.take_block(&block)
        })?)
    }

    fn __len__(&self) -> usize {
        self.texts.texts.places().len()
    }

    #[getter]
    fn size(&self) -> usize {
        self.texts.length() + size_of_val(self.texts.texts.places())
    }

    /// Return the texts that are complete.
    fn take(&mut self) -> PyResult<TextColumn> {
        let buffers = self.buffers.get();
        let room = if self.texts.rest().is_empty() { Vec::new() } else { buffers.free()? };
        Ok(buffers.hand_out(self.texts.take(room)?)?)
    }

    /// Return the start of the text that is not complete yet.
    fn take_rest<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        memory::ensure(self.texts.rest().len())?;
        let rest = PyBytes::new(py, self.texts.rest());
        self.texts.drop_rest();
        Ok(rest)
    }
}

impl Drop for PySplitTexts {
    fn drop(&mut self) {
        drop(self.buffers.get().hand_out(self.texts.texts.take()));
    }
}

/// The buffers of texts that were returned to Python. A buffer is reused once Python has dropped its texts: new memory
/// costs page faults.
#[pyclass(module = "bpetite._engine", frozen)]
pub struct Buffers {
    room: usize,
    handed_out: Mutex<Vec<Arc<Vec<u8>>>>,
}

#[pymethods]
impl Buffers {
    #[new]
    fn new(room: usize) -> Self {
        Self { room, handed_out: Mutex::default() }
    }
}

impl Buffers {
    /// A buffer that is no longer in use, or a new one.
    fn free(&self) -> Result<Vec<u8>> {
        let mut handed_out = self.handed_out.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = handed_out.iter_mut().position(|buffer| Arc::get_mut(buffer).is_some())
            && let Some(bytes) = Arc::into_inner(handed_out.swap_remove(place))
        {
            return Ok(bytes);
        }
        memory::ensure(self.room)?;
        // The system provides zeroed pages when they are first touched.
        Ok(vec![0; self.room])
    }

    /// Give texts a buffer if they have none.
    pub fn lend_to(&self, texts: &mut GatheredTexts) -> Result<()> {
        if texts.lacks_room() {
            texts.use_buffer(self.free()?);
        }
        Ok(())
    }

    /// Wrap texts for Python. Their buffer will be reused, unless it had to grow much.
    pub fn hand_out(&self, (bytes, places): (Vec<u8>, Vec<Range<usize>>)) -> Result<TextColumn> {
        let buffer = Arc::new(bytes);
        if (1..=2 * self.room).contains(&buffer.len()) {
            self.handed_out.lock().unwrap_or_else(PoisonError::into_inner).push(buffer.clone());
        }
        TextColumn::of(places.into_iter().map(|place| &buffer[place]), buffer.clone())
    }
}

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
    fn take(&mut self) -> PyResult<TextColumn> {
        Ok(self.buffers.get().hand_out(self.texts.texts.take())?)
    }
}

impl Drop for PyFieldTexts {
    fn drop(&mut self) {
        drop(self.buffers.get().hand_out(self.texts.texts.take()));
    }
}
