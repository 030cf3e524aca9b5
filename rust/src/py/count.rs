//! The Python class `CountTable`.

use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::arguments::{Threads, bytes_of};
use super::calls;
use super::columns::TextColumn;
use super::encode::{Flagged, PyEncoder, flagged};
use super::pretokenize::Steps;
use super::watch::{PyWatch, raised};
use crate::count::{self, CountRows, Documents, Limits};
use crate::encode::Stages;
use crate::error::Result;
use crate::memory;
use crate::watch::Pulse;

/// The size in bytes of a batch of documents from Python.
const BATCH_BYTES: usize = 1 << 20;

/// The maximum number of documents in a batch: they may all be empty.
const BATCH_DOCUMENTS: usize = 1 << 16;

/// The maximum time to collect a batch, so that slowly produced documents are counted meanwhile.
const BATCH_TIME: Duration = Duration::from_millis(100);

/// The number of rows that are passed to a visitor at a time.
const ROWS: usize = 1 << 16;

type Array = Py<PyArray1<u64>>;

/// Pretokens and their counts.
#[pyclass(name = "CountTable", module = "bpetite._engine")]
pub struct PyCountTable {
    pub table: count::CountTable,
}

#[pymethods]
impl PyCountTable {
    #[new]
    #[pyo3(
        signature = (
            pattern, boundaries=vec![], count_unmatched=true, normalization=vec![], added_tokens=vec![]
        ),
        text_signature = "(pattern, boundaries=(), count_unmatched=True, normalization=(), added_tokens=())"
    )]
    fn new(
        py: Python<'_>,
        pattern: Steps,
        boundaries: Vec<String>,
        count_unmatched: bool,
        normalization: Vec<Vec<String>>,
        added_tokens: Vec<Flagged>,
    ) -> PyResult<Self> {
        pattern.compiled(py)?;
        let stages = Stages::new(flagged(&added_tokens), &normalization)?;
        let table = count::CountTable::new(&pattern.0, &boundaries, count_unmatched, stages)?;
        Ok(Self { table })
    }

    #[pyo3(signature = (
        paths, *, num_threads=Threads(None), memory_limit=None, progress=None, on_documents=None
    ))]
    fn add_files(
        &mut self,
        py: Python<'_>,
        paths: Vec<PathBuf>,
        num_threads: Threads,
        memory_limit: Option<u64>,
        progress: Option<Py<PyAny>>,
        on_documents: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let limits = Limits { threads: num_threads.0, memory: memory_limit };
        let mut watch =
            PyWatch { documents: on_documents.as_ref(), ..PyWatch::of(progress.as_ref()) };
        Ok(py.detach(|| self.table.add_files(&paths, limits, &mut watch))?)
    }

    #[pyo3(signature = (
        documents, *, num_threads=Threads(None), memory_limit=None, progress=None, on_documents=None
    ))]
    fn add_documents(
        &mut self,
        py: Python<'_>,
        documents: &Bound<'_, PyAny>,
        num_threads: Threads,
        memory_limit: Option<u64>,
        progress: Option<Py<PyAny>>,
        on_documents: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        if documents.is_instance_of::<PyString>() || documents.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err(
                "documents: one str or bytes was given where many are expected",
            ));
        }
        let limits = Limits { threads: num_threads.0, memory: memory_limit };
        let mut watch =
            PyWatch { documents: on_documents.as_ref(), ..PyWatch::of(progress.as_ref()) };
        let next = documents.try_iter()?.getattr("__next__")?.unbind();
        let mut batching = Batching { next, column: None, number: 0 };
        let mut next = |counted: Vec<NumberedTexts>| {
            calls::attach(|py| {
                // References must be dropped while the GIL is held.
                drop(counted);
                batching.next(py)
            })
            .map_err(raised)
        };
        Ok(py.detach(|| self.table.add_documents(limits, &mut watch, &mut next))?)
    }

    fn add_counts(
        &mut self,
        py: Python<'_>,
        pretokens: &[u8],
        ends: PyReadonlyArray1<'_, u64>,
        counts: PyReadonlyArray1<'_, u64>,
    ) -> PyResult<()> {
        let contiguous = |_| PyValueError::new_err("ends and counts must be contiguous arrays");
        let ends = ends.as_slice().map_err(contiguous)?;
        let counts = counts.as_slice().map_err(contiguous)?;
        Ok(py.detach(|| self.table.add_counts(pretokens, ends, counts))?)
    }

    #[pyo3(signature = (other, times=1))]
    fn merge(&mut self, py: Python<'_>, other: PyRef<'_, Self>, times: u128) -> PyResult<()> {
        let other = &other.table;
        Ok(py.detach(|| self.table.merge(other, times))?)
    }

    fn settle(&mut self, py: Python<'_>) -> PyResult<()> {
        Ok(py.detach(|| self.table.settle())?)
    }

    fn spill(&mut self, py: Python<'_>, most: u64) -> PyResult<()> {
        Ok(py.detach(|| self.table.spill(most))?)
    }

    #[pyo3(signature = (*, num_threads=Threads(None)))]
    fn sorted(
        &self,
        py: Python<'_>,
        num_threads: Threads,
    ) -> PyResult<(Py<PyBytes>, Array, Array)> {
        let mut watch = PyWatch::default();
        let sorted = py.detach(|| self.table.sorted(num_threads.0, &mut Pulse::of(&mut watch)))?;
        memory::ensure(sorted.pretokens.len())?;
        let pretokens = PyBytes::new(py, &sorted.pretokens).unbind();
        Ok((
            pretokens,
            sorted.ends.into_pyarray(py).unbind(),
            sorted.counts.into_pyarray(py).unbind(),
        ))
    }

    /// Call `visitor(pretokens, ends, counts)` with the rows of `sorted`, in batches.
    #[pyo3(signature = (visitor, *, num_threads=Threads(None)))]
    fn visit_sorted(
        &self,
        py: Python<'_>,
        visitor: &Bound<'_, PyAny>,
        num_threads: Threads,
    ) -> PyResult<()> {
        let mut watch = PyWatch::default();
        let visitor = visitor.clone().unbind();
        let mut rows = CountRows::default();
        py.detach(|| {
            self.table.visit_sorted(
                num_threads.0,
                &mut Pulse::of(&mut watch),
                &mut |pretoken, count| {
                    rows.push(pretoken, count)?;
                    if rows.ends.len() < ROWS && rows.pretokens.len() < BATCH_BYTES {
                        return Ok(());
                    }
                    pass_rows(&visitor, std::mem::take(&mut rows))
                },
            )
        })?;
        Ok(pass_rows(&visitor, rows)?)
    }

    #[pyo3(signature = (encoder, *, num_threads=Threads(None), progress=None))]
    fn uses(
        &self,
        py: Python<'_>,
        encoder: &PyEncoder,
        num_threads: Threads,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Py<PyArray1<u32>>, Array)> {
        let mut watch = PyWatch::of(progress.as_ref());
        let mut pulse = Pulse::of(&mut watch);
        let pairs =
            py.detach(|| self.table.uses(&encoder.encoder.model, num_threads.0, &mut pulse))?;
        let (ids, uses): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        Ok((ids.into_pyarray(py).unbind(), uses.into_pyarray(py).unbind()))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(py.detach(|| self.table.distinct())?)
    }

    #[getter]
    fn memory_limit(&self) -> Option<u64> {
        self.table.limit
    }

    #[getter]
    fn total(&self) -> u128 {
        self.table.total
    }

    #[getter]
    fn documents(&self) -> u64 {
        self.table.documents
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.table.bytes
    }
}

/// Passes rows to a Python function.
fn pass_rows(visitor: &Py<PyAny>, rows: CountRows) -> Result<()> {
    memory::ensure(rows.pretokens.len())?;
    calls::attach(|py| {
        py.check_signals()?;
        let pretokens = PyBytes::new(py, &rows.pretokens);
        let arrays = (pretokens, rows.ends.into_pyarray(py), rows.counts.into_pyarray(py));
        calls::call(visitor.bind(py), &arrays.into_pyobject(py)?).map(drop)
    })
    .map_err(raised)
}

/// A batch of documents.
struct NumberedTexts {
    texts: Py<TextColumn>,
    /// The number of the first document.
    first: usize,
}

impl Documents for NumberedTexts {
    fn count(&self) -> usize {
        self.texts.get().count()
    }

    fn length(&self, index: usize) -> usize {
        self.texts.get().bytes(index).len()
    }

    fn read<'b>(
        &'b self,
        index: usize,
        range: Range<usize>,
        _: &'b mut Vec<u8>,
    ) -> Result<&'b [u8]> {
        Ok(&self.texts.get().bytes(index)[range])
    }

    fn name(&self, index: usize) -> String {
        format!("document {}", self.first + index)
    }
}

/// Collects the documents of an iterable into batches; a column among them is a batch of its own.
struct Batching {
    /// The method of an iterator.
    next: Py<PyAny>,
    /// A column that comes after the batch that was collected last.
    column: Option<Py<TextColumn>>,
    /// The number of the next document.
    number: usize,
}

impl Batching {
    /// Collects documents until they are large or many enough, the time is over, or none is left.
    fn next(&mut self, py: Python<'_>) -> PyResult<Option<NumberedTexts>> {
        let mut collected = Vec::new();
        let mut size = 0;
        let began = Instant::now();
        let next = self.next.bind(py);
        while self.column.is_none() && size < BATCH_BYTES && collected.len() < BATCH_DOCUMENTS {
            let Some(document) = calls::next(next)? else { break };
            if let Ok(column) = document.cast::<TextColumn>() {
                self.column = Some(column.clone().unbind());
                break;
            }
            size += bytes_of(&document, || "documents".into())?.len();
            memory::push(&mut collected, document)?;
            // Reading the clock takes as long as a short document.
            if collected.len().is_power_of_two() && began.elapsed() > BATCH_TIME {
                break;
            }
        }
        if collected.is_empty() {
            // The column comes after the documents before it.
            return Ok(self.column.take().map(|column| self.batch(column)));
        }
        let texts = Py::new(py, TextColumn::held(collected)?)?;
        Ok(Some(self.batch(texts)))
    }

    fn batch(&mut self, texts: Py<TextColumn>) -> NumberedTexts {
        let first = self.number;
        self.number += texts.get().count();
        NumberedTexts { texts, first }
    }
}
