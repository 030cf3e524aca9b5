//! `CountTable` as Python sees it.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString};

use super::texts::OwnedText;
use super::{PyWatch, thread_count};
use crate::count::{self, Means, SortedCounts};
use crate::error::{Error, Result};

/// How many bytes of documents are gathered from Python before they are counted with the GIL released.
const GATHERED: usize = 4 << 20;

/// How many rows are shown at a time.
const ROWS: usize = 1 << 16;

type Array = Py<PyArray1<u64>>;

/// Pretokens and their counts.
#[pyclass(module = "bpetite._engine")]
pub struct CountTable {
    pub table: count::CountTable,
}

#[pymethods]
impl CountTable {
    #[new]
    #[pyo3(
        signature = (pattern, boundaries=vec![], count_unmatched=true),
        text_signature = "(pattern, boundaries=(), count_unmatched=True)"
    )]
    fn new(pattern: &str, boundaries: Vec<String>, count_unmatched: bool) -> PyResult<Self> {
        Ok(Self { table: count::CountTable::new(pattern, &boundaries, count_unmatched)? })
    }

    #[pyo3(signature = (paths, *, num_threads=None, memory_limit=None, progress=None))]
    fn add_files(
        &mut self,
        py: Python<'_>,
        paths: Vec<PathBuf>,
        num_threads: Option<&Bound<'_, PyInt>>,
        memory_limit: Option<u64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let means = Means { threads: thread_count(num_threads)?, memory_limit };
        let mut watch = PyWatch { progress: progress.as_ref() };
        Ok(py.detach(|| self.table.add_files(&paths, means, &mut watch))?)
    }

    #[pyo3(signature = (documents, *, num_threads=None, memory_limit=None, progress=None))]
    fn add_documents(
        &mut self,
        py: Python<'_>,
        documents: &Bound<'_, PyAny>,
        num_threads: Option<&Bound<'_, PyInt>>,
        memory_limit: Option<u64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        if documents.is_instance_of::<PyString>() || documents.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err(
                "documents: one str or bytes was given where many are expected",
            ));
        }
        let means = Means { threads: thread_count(num_threads)?, memory_limit };
        let mut watch = PyWatch { progress: progress.as_ref() };
        let mut gathered = Vec::new();
        let (mut size, mut first) = (0, 0);
        let mut done = 0;
        let mut documents = documents.try_iter()?;
        loop {
            let document = documents
                .next()
                .transpose()?
                .map(|document| OwnedText::new(&document, || "documents".into()))
                .transpose()?;
            let finished = document.is_none();
            if let Some(document) = document {
                size += document.bytes().len();
                gathered.push(document);
            }
            if finished || size >= GATHERED {
                let table = &mut self.table;
                py.detach(|| {
                    let borrowed: Vec<&[u8]> = gathered.iter().map(OwnedText::bytes).collect();
                    let named = |index| format!("document {}", first + index);
                    table.add_documents(&borrowed, means, &named, &mut watch, done)
                })?;
                done += size as u64;
                first += gathered.len();
                gathered.clear();
                size = 0;
            }
            if finished {
                return Ok(());
            }
        }
    }

    fn add_counts(
        &mut self,
        py: Python<'_>,
        pretokens: &[u8],
        ends: PyReadonlyArray1<'_, u64>,
        counts: PyReadonlyArray1<'_, u64>,
    ) -> PyResult<()> {
        let contiguous = |_| PyValueError::new_err("ends and counts must be contiguous arrays");
        let (ends, counts) = (ends.as_slice().map_err(contiguous)?, counts.as_slice().map_err(contiguous)?);
        Ok(py.detach(|| self.table.add_counts(pretokens, ends, counts))?)
    }

    fn merge(&mut self, py: Python<'_>, other: PyRef<'_, Self>) -> PyResult<()> {
        let other = &other.table;
        Ok(py.detach(|| self.table.merge(other))?)
    }

    #[pyo3(signature = (min_count=1))]
    fn sorted(&self, py: Python<'_>, min_count: u64) -> PyResult<(Py<PyBytes>, Array, Array)> {
        let sorted = py.detach(|| self.table.sorted(min_count))?;
        let pretokens = PyBytes::new(py, &sorted.pretokens).unbind();
        Ok((pretokens, sorted.ends.into_pyarray(py).unbind(), sorted.counts.into_pyarray(py).unbind()))
    }

    /// `visitor(pretokens, ends, counts)` takes the rows of `sorted` a few at a time. It must not use this table.
    fn visit_sorted(&self, py: Python<'_>, visitor: &Bound<'_, PyAny>) -> PyResult<()> {
        let visitor = visitor.clone().unbind();
        let mut rows = SortedCounts::default();
        py.detach(|| {
            self.table.visit_sorted(1, &mut |pretoken, count| {
                rows.push(pretoken, count);
                if rows.ends.len() < ROWS && rows.pretokens.len() < GATHERED {
                    return Ok(());
                }
                show(&visitor, std::mem::take(&mut rows))
            })
        })?;
        Ok(show(&visitor, rows)?)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(py.detach(|| self.table.distinct())?)
    }

    #[getter]
    fn total(&self) -> u128 {
        self.table.total()
    }

    #[getter]
    fn documents(&self) -> u64 {
        self.table.documents()
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.table.bytes()
    }
}

/// Show rows to a Python function.
fn show(visitor: &Py<PyAny>, rows: SortedCounts) -> Result<()> {
    Python::attach(|py| {
        py.check_signals()?;
        let pretokens = PyBytes::new(py, &rows.pretokens);
        visitor.call1(py, (pretokens, rows.ends.into_pyarray(py), rows.counts.into_pyarray(py)))
    })
    .map_err(|raised: PyErr| Error::Caller(Box::new(raised)))?;
    Ok(())
}
