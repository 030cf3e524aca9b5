//! What the engine calls in Python while it works: checks for signals, and the caller's functions.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::calls;
use crate::error::{Error, Result};
use crate::watch::{Stage, Watch};

/// Checks for signals (Ctrl-C) and calls the caller's `progress(stage, done, total)`,
/// `documents(so_far)` and `expect(bytes)`; it takes the GIL only for these moments.
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

/// Checks for signals, and calls a Python function, if there is one, from work that has released
/// the GIL.
fn call_with(
    function: Option<&Py<PyAny>>,
    arguments: impl for<'py> IntoPyObject<
        'py,
        Target = PyTuple,
        Output = Bound<'py, PyTuple>,
        Error = PyErr,
    >,
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
