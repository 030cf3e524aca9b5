//! The Python bindings, in the only folder that names PyO3: they convert Python objects, call the engine, and convert
//! its results back.

use pyo3::exceptions::{
    PyException, PyKeyError, PyMemoryError, PyOSError, PyOverflowError, PyRuntimeError, PyTypeError,
    PyValueError,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::{Error, Result};
use crate::portable;
use crate::watch::{Stage, Watch};

mod arguments;
mod calls;
mod columns;
mod count;
mod decode;
mod encode;
mod files;
mod framed;
mod gathered;
mod ids;
mod merge;
mod normalize;
mod pretokenize;
mod resources;
mod streams;
mod text_pairs;
mod texts;
mod vocabulary;
mod workspace;

/// The hot loops of bpetite. They are not tested without the GIL, so the module asks a free-threaded Python to enable
/// it.
#[allow(clippy::large_stack_frames)] // It runs once.
#[pymodule(gil_used = true)]
mod _engine {
    use super::*;
    #[pymodule_export]
    use super::{
        columns::TextColumn,
        count::PyCountTable,
        encode::PyEncoder,
        files::{PyGunzip, Xxh3128},
        framed::{FramedEncoder, FramedEncoding},
        gathered::PyFileTexts,
        merge::{train_merges, train_symbol_merges},
        normalize::PyNormalizer,
        pretokenize::{covers_all_text, pattern_way, pretokenize, read_pattern, safe_cut, same_pattern},
        resources::{thread_count, trim_memory},
        streams::{GrowingEncoding, PyEncodeStream},
        text_pairs::{cut_json, listed_merges, merges_that_happen, read_pieces, read_printed},
        texts::is_utf8,
        vocabulary::{base64_lines, complete_tokens, numbers_json, pairs_json, recover_merges, tokens_json},
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        portable::is_wanted();
        module.add("UNICODE_VERSION", crate::unicode::UNICODE_VERSION)
    }
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        match error {
            Error::UnknownId(id) => PyKeyError::new_err(id),
            Error::Type(message) => PyTypeError::new_err(message),
            Error::Overflow(message) => PyOverflowError::new_err(message),
            Error::Memory(message) => PyMemoryError::new_err(message),
            // Two arguments let OSError pick its subclass (FileNotFoundError, PermissionError, ...).
            Error::Io { path, source } => match source.raw_os_error() {
                Some(code) => {
                    PyOSError::new_err((code, system_message(&source, code), path.into_os_string()))
                }
                None => PyOSError::new_err(format!("{}: {source}", path.display())),
            },
            Error::Caller { raised, .. } => match raised.downcast::<PyErr>() {
                Ok(exception) => *exception,
                Err(other) => PyRuntimeError::new_err(other.to_string()),
            },
            Error::Forked => PyRuntimeError::new_err(Error::Forked.to_string()),
            other => PyValueError::new_err(other.to_string()),
        }
    }
}

/// The system's message for an error, without the number that Rust appends.
fn system_message(error: &std::io::Error, code: i32) -> String {
    let message = error.to_string();
    message.strip_suffix(&format!(" (os error {code})")).unwrap_or(&message).to_owned()
}

/// Checks for signals (Ctrl-C) and calls the caller's `progress(stage, done, total)`, `documents(so_far)` and
/// `expect(bytes)`; it takes the GIL only for these moments.
#[derive(Default)]
pub struct PyWatch<'a> {
    pub progress: Option<&'a Py<PyAny>>,
    pub documents: Option<&'a Py<PyAny>>,
    pub expect: Option<&'a Py<PyAny>>,
}

impl<'a> PyWatch<'a> {
    pub fn of(progress: Option<&'a Py<PyAny>>) -> Self {
        Self { progress, ..Self::default() }
    }
}

impl Watch for PyWatch<'_> {
    fn report(&mut self, stage: Stage, done: u64, total: u64) -> Result<()> {
        call_with(self.progress, (stage, done, total))
    }

    fn documents(&mut self, so_far: u64) -> Result<()> {
        call_with(self.documents, (so_far,))
    }

    fn expect(&mut self, bytes: u64) -> Result<()> {
        call_with(self.expect, (bytes,))
    }
}

/// Checks for signals, and calls a Python function, if there is one, from work that has released the GIL.
fn call_with(
    function: Option<&Py<PyAny>>,
    arguments: impl for<'py> IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> Result<()> {
    calls::attach(|py| {
        py.check_signals()?;
        if let Some(function) = function {
            calls::call(function.bind(py), &arguments.into_pyobject(py)?)?;
        }
        Ok(())
    })
    .map_err(raised)
}

/// Wraps a Python exception for its way through the engine.
pub fn raised(exception: PyErr) -> Error {
    let interrupts = calls::attach(|py| !exception.is_instance_of::<PyException>(py));
    Error::Caller { raised: Box::new(exception), interrupts }
}

/// How many items are taken between two checks for signals.
const ITEMS_PER_CHECK: usize = 1 << 12;

/// The items of an iterable; `expected` begins the error for what is none. Signals are checked: an iterable that is
/// endless and written in C, such as `itertools.repeat`, runs no code that would do so.
fn items<'py>(
    iterable: &Bound<'py, PyAny>,
    expected: &str,
) -> PyResult<impl Iterator<Item = PyResult<Bound<'py, PyAny>>> + use<'py>> {
    let py = iterable.py();
    let iterator = iterable.try_iter().map_err(|error| match iterable.hasattr(intern!(py, "__iter__")) {
        Ok(false) => PyTypeError::new_err(format!("{expected}, not {}", arguments::kind_of(iterable))),
        _ => error,
    })?;
    Ok(iterator.enumerate().map(move |(number, item)| {
        if number % ITEMS_PER_CHECK == ITEMS_PER_CHECK - 1 {
            py.check_signals()?;
        }
        item
    }))
}
