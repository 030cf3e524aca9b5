//! The Python classes `EncodeStream` and `GrowingEncoding`: texts that arrive piece by piece.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use super::arguments::natural;
use super::decode::watched;
use super::ids::{BYTES_PER_ID, list};
use super::texts::OneText;
use super::workspace::with_workspace;
use crate::encode::{self, Special, Unit, Workspace};
use crate::error::Result;
use crate::memory;
use crate::watch::Pulse;

/// Encodes a text that arrives in pieces; returns ids as soon as they are final.
#[pyclass(name = "EncodeStream", module = "bpetite._engine")]
pub struct PyEncodeStream(pub encode::EncodeStream);

#[pymethods]
impl PyEncodeStream {
    fn feed<'py>(&mut self, piece: OneText<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        let py = piece.py();
        let text = piece.to_str()?;
        let ids = working(py, usize::MAX, |workspace, pulse| self.0.feed(text, workspace, pulse))?;
        list(py, &ids)
    }

    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let ids = working(py, usize::MAX, |workspace, pulse| self.0.finish(workspace, pulse))?;
        list(py, &ids)
    }
}

/// A text that grows at its end, and its ids, which are always those of the whole text.
#[pyclass(module = "bpetite._engine")]
pub struct GrowingEncoding(pub encode::Growing);

#[pymethods]
impl GrowingEncoding {
    #[pyo3(signature = (text, special=None))]
    fn append(&mut self, text: OneText<'_, '_>, special: Option<Special>) -> PyResult<usize> {
        let py = text.py();
        let piece = text.to_str()?;
        let bytes = piece.len() + self.0.open();
        working(py, bytes, |workspace, pulse| self.0.append(piece, special, workspace, pulse))
    }

    #[pyo3(signature = (length=None, *, ids=None))]
    fn truncate(
        &mut self,
        py: Python<'_>,
        length: Option<i64>,
        ids: Option<i64>,
    ) -> PyResult<usize> {
        let text = self.0.text();
        let place = match (length, ids) {
            (Some(length), None) => match text.char_indices().nth(natural("length", length)?) {
                Some((place, _)) => place,
                None => text.len(),
            },
            (None, Some(ids)) => {
                let ids = natural("ids", ids)?;
                watched(py, text.len(), |pulse| self.0.end_of(ids, pulse))?
            }
            _ => return Err(PyTypeError::new_err("truncate: takes either a length or ids")),
        };
        if place >= text.len() {
            return Ok(self.0.ids().len());
        }
        working(py, place, |workspace, pulse| self.0.truncate(place, workspace, pulse))
    }

    fn copy(&self) -> PyResult<Self> {
        Ok(Self(self.0.copy()?))
    }

    fn __copy__(&self) -> PyResult<Self> {
        self.copy()
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy()
    }

    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.ids_from(py, 0)
    }

    fn ids_from<'py>(&self, py: Python<'py>, start: i64) -> PyResult<Bound<'py, PyList>> {
        let start = natural("start", start)?;
        list(py, self.0.ids().get(start..).unwrap_or_default())
    }

    #[getter]
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let numbers = watched(py, self.0.text().len(), |pulse| self.0.numbers_of_parts(pulse))?;
        list(py, &numbers)
    }

    #[getter]
    fn starts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let work = |pulse: &mut Pulse| self.0.offsets(Unit::Characters, pulse);
        let spans = watched(py, self.0.text().len(), work)?;
        memory::ensure(spans.len() * BYTES_PER_ID)?;
        PyList::new(py, spans.iter().map(|&(start, _)| start))
    }

    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        memory::ensure(4 * self.0.text().len())?;
        Ok(PyString::new(py, self.0.text()))
    }

    #[getter]
    fn settled(&self) -> usize {
        self.0.settled_ids()
    }

    fn __len__(&self) -> usize {
        self.0.ids().len()
    }

    fn __repr__(&self) -> String {
        format!(
            "GrowingEncoding({} ids, {} of them settled)",
            self.0.ids().len(),
            self.0.settled_ids()
        )
    }
}

/// Does work on this many bytes of text with a workspace of this thread.
fn working<T: Send>(
    py: Python<'_>,
    bytes: usize,
    work: impl FnOnce(&mut Workspace, &mut Pulse) -> Result<T> + Send,
) -> PyResult<T> {
    watched(py, bytes, |pulse| with_workspace(|workspace, _| work(workspace, pulse)))
}
