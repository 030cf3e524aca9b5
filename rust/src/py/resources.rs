//! The Python functions `thread_count` and `trim_memory`.

use pyo3::prelude::*;

use super::wanted_threads;
use crate::{memory, workers};

pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(thread_count, module)?)?;
    module.add_function(wrap_pyfunction!(trim_memory, module)?)
}

/// The number of threads of a call: at most 256; by default one for each core that this process may use.
///
/// >>> thread_count(2)
/// 2
#[pyfunction]
#[pyo3(signature = (num_threads=None))]
fn thread_count(num_threads: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
    Ok(workers::thread_count(wanted_threads(num_threads)?, usize::MAX))
}

/// Return memory that is kept for later results to the system.
///
/// >>> trim_memory()
#[pyfunction]
fn trim_memory(py: Python<'_>) {
    py.detach(memory::trim);
}
