//! `CountTable` as Python sees it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyIterator, PyString};

use super::texts::{JoinedTexts, OwnedText};
use super::{PyWatch, thread_count};
use crate::count::{self, Means, SortedCounts};
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::{Stage, Watch};

/// How many bytes of documents are gathered from Python before they are counted with the GIL released.
const GATHERED: usize = 8 << 20;

/// How many documents are gathered at most: they may all be empty.
const GATHERED_DOCUMENTS: usize = 1 << 17;

/// How long a report is waited for.
const REPORT_EVERY: Duration = Duration::from_millis(100);

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
        if let Ok(joined) = documents.cast::<JoinedTexts>() {
            let texts = memory::gathered(joined.get().texts())?;
            let named = |index| format!("document {index}");
            return Ok(py.detach(|| self.table.add_documents(&texts, means, &named, &mut watch, 0))?);
        }
        let mut documents = documents.try_iter()?;
        let first = Gathered::next(&mut documents, Place::default())?;
        if first.is_last {
            return Ok(py.detach(|| first.count(&mut self.table, means, &mut watch))?);
        }
        count_while_gathering(py, &mut self.table, first, &mut documents, means, &mut watch)
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
        memory::ensure(sorted.pretokens.len())?;
        let pretokens = PyBytes::new(py, &sorted.pretokens).unbind();
        Ok((pretokens, sorted.ends.into_pyarray(py).unbind(), sorted.counts.into_pyarray(py).unbind()))
    }

    /// `visitor(pretokens, ends, counts)` takes the rows of `sorted` a few at a time. It must not use this table.
    fn visit_sorted(&self, py: Python<'_>, visitor: &Bound<'_, PyAny>) -> PyResult<()> {
        let visitor = visitor.clone().unbind();
        let mut rows = SortedCounts::default();
        py.detach(|| {
            self.table.visit_sorted(1, &mut |pretoken, count| {
                rows.push(pretoken, count)?;
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
    memory::ensure(rows.pretokens.len())?;
    Python::attach(|py| {
        py.check_signals()?;
        let pretokens = PyBytes::new(py, &rows.pretokens);
        visitor.call1(py, (pretokens, rows.ends.into_pyarray(py), rows.counts.into_pyarray(py)))
    })
    .map_err(|raised: PyErr| Error::Caller(Box::new(raised)))?;
    Ok(())
}

/// Count what was gathered on other threads while this one, which holds the GIL, gathers more.
fn count_while_gathering(
    py: Python<'_>,
    mut table: &mut count::CountTable,
    mut gathered: Gathered,
    documents: &mut Bound<'_, PyIterator>,
    means: Means,
    watch: &mut PyWatch<'_>,
) -> PyResult<()> {
    let stopped = &AtomicBool::new(false);
    thread::scope(|scope| {
        loop {
            let place = gathered.end();
            let is_last = gathered.is_last;
            let (finished, news) = mpsc::channel::<()>();
            if memory::threads(1) == 0 {
                return Err(no_thread("not enough memory").into());
            }
            let counting = thread::Builder::new().spawn_scoped(scope, move || {
                let result = gathered.count(table, means, &mut StopFlag(stopped));
                drop(finished);
                (table, gathered, result)
            });
            let counting = counting.map_err(|refused| no_thread(&refused.to_string()))?;
            let next = if is_last { None } else { Some(Gathered::next(documents, place)) };
            let mut watched = Ok(());
            // Whoever waits without the GIL may be on any thread, as far as PyO3 knows: hence the lock.
            let news = Mutex::new(news);
            let wait = || news.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(REPORT_EVERY);
            while watched.is_ok() && py.detach(wait) == Err(RecvTimeoutError::Timeout) {
                watched = watch.report(Stage::Counting, place.bytes, 0);
                stopped.store(watched.is_err(), Ordering::Relaxed);
            }
            let joined = py.detach(|| counting.join());
            let (returned, counted, result) = joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            // The references are given back here, where the GIL is held.
            drop(counted);
            table = returned;
            watched?;
            result?;
            watch.report(Stage::Counting, place.bytes, 0)?;
            match next {
                None => return Ok(()),
                Some(next) => gathered = next?,
            }
        }
    })
}

fn no_thread(reason: &str) -> Error {
    Error::Memory(format!("no thread could be started: {reason}"))
}

/// Stops a count on another thread; that count's own reports go nowhere.
struct StopFlag<'a>(&'a AtomicBool);

impl Watch for StopFlag<'_> {
    fn report(&mut self, _: Stage, _: u64, _: u64) -> Result<()> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(Error::Value("counting was stopped".into())),
            false => Ok(()),
        }
    }
}

/// How far into an iterable of documents something is.
#[derive(Clone, Copy, Default)]
struct Place {
    documents: usize,
    bytes: u64,
}

/// Some documents of an iterable, in order.
struct Gathered {
    documents: Vec<OwnedText>,
    start: Place,
    size: usize,
    is_last: bool,
}

impl Gathered {
    /// Take documents until they are a few megabytes or no more come.
    fn next(documents: &mut Bound<'_, PyIterator>, start: Place) -> PyResult<Self> {
        let mut gathered = Self { documents: Vec::new(), start, size: 0, is_last: false };
        while gathered.size < GATHERED && gathered.documents.len() < GATHERED_DOCUMENTS {
            let Some(document) = documents.next() else {
                gathered.is_last = true;
                break;
            };
            let document = OwnedText::new(&document?, || "documents".into())?;
            gathered.size += document.bytes().len();
            gathered.documents.push(document);
        }
        Ok(gathered)
    }

    fn end(&self) -> Place {
        Place {
            documents: self.start.documents + self.documents.len(),
            bytes: self.start.bytes + self.size as u64,
        }
    }

    fn count(&self, table: &mut count::CountTable, means: Means, watch: &mut dyn Watch) -> Result<()> {
        memory::ensure(self.documents.len() * size_of::<&[u8]>())?;
        let borrowed: Vec<&[u8]> = self.documents.iter().map(OwnedText::bytes).collect();
        let named = |index| format!("document {}", self.start.documents + index);
        table.add_documents(&borrowed, means, &named, watch, self.start.bytes)
    }
}
