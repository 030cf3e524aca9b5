//! `pretokenize` and what it is made of, as Python sees them.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::pretokenize as scan;
use crate::unicode::{UNICODE_VERSION, class_table};

pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("UNICODE_VERSION", UNICODE_VERSION)?;
    module.add_function(wrap_pyfunction!(pretokenize, module)?)?;
    module.add_function(wrap_pyfunction!(check_pattern, module)?)?;
    module.add_function(wrap_pyfunction!(character_classes, module)?)
}

/// Every piece of the text, in order.
#[pyfunction]
fn pretokenize<'py>(py: Python<'py>, text: &str, pattern: &str) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let pieces = py.detach(|| scan::pretokenize(text, &scan::Pattern::new(pattern)?))?;
    Ok(pieces.into_iter().map(|piece| PyBytes::new(py, piece.as_bytes())).collect())
}

/// Refuse a pattern that the engine cannot run.
#[pyfunction]
fn check_pattern(pattern: &str) -> PyResult<()> {
    scan::Pattern::new(pattern)?;
    Ok(())
}

/// One byte for each code point: the classes that the named patterns tell apart.
#[pyfunction]
fn character_classes(py: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, class_table())
}
