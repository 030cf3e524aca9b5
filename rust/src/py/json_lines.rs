//! `FieldTexts` as Python sees it.

use std::mem;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::texts::JoinedTexts;
use crate::json_lines;

/// Gathers the texts that one field has in lines of JSON.
#[pyclass(module = "bpetite._engine")]
pub struct FieldTexts {
    texts: json_lines::FieldTexts,
    /// How many bytes there is room for from the first on, so that texts need not move.
    room: usize,
    /// What texts were handed out in. It is used again when nobody holds them any more.
    buffers: Vec<Arc<Vec<u8>>>,
}

/// How far a block was gone through, over how many lines, and the last of them if Python must look at it.
type Passed<'py> = (usize, usize, Option<Bound<'py, PyBytes>>);

#[pymethods]
impl FieldTexts {
    #[new]
    fn new(field: Vec<u8>, room: usize) -> Self {
        Self { texts: json_lines::FieldTexts::new(field), room, buffers: Vec::new() }
    }

    fn take_lines<'py>(
        &mut self,
        py: Python<'py>,
        block: PyBackedBytes,
        start: usize,
    ) -> PyResult<Passed<'py>> {
        let lines = block.get(start..).unwrap_or_default();
        let passed = py.detach(|| {
            if self.texts.places.is_empty() {
                self.texts.make_room(self.room)?;
            }
            self.texts.take_block(lines)
        })?;
        let left = passed.left.map(|line| PyBytes::new(py, &line));
        Ok((start + passed.bytes, passed.lines, left))
    }

    fn append(&mut self, text: &str) -> PyResult<()> {
        Ok(self.texts.push(text)?)
    }

    fn __len__(&self) -> usize {
        self.texts.places.len()
    }

    #[getter]
    fn size(&self) -> usize {
        self.texts.length() + size_of_val(self.texts.places.as_slice())
    }

    /// Hand out the texts so far.
    fn take(&mut self) -> JoinedTexts {
        let free = self.free_buffer();
        let bytes = Arc::new(mem::replace(&mut self.texts.bytes, free));
        if bytes.len() <= 2 * self.room {
            self.buffers.push(bytes.clone());
        }
        JoinedTexts::new_in(bytes, mem::take(&mut self.texts.places))
    }
}

impl FieldTexts {
    fn free_buffer(&mut self) -> Vec<u8> {
        let free = self.buffers.iter_mut().position(|buffer| Arc::get_mut(buffer).is_some());
        free.and_then(|place| Arc::into_inner(self.buffers.swap_remove(place))).unwrap_or_default()
    }
}
