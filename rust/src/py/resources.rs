//! The Python functions `thread_count` and `trim_memory`.

use pyo3::prelude::*;

use super::arguments::Threads;
use crate::{memory, workers};

/// Return the number of threads that a call uses: at most 256; by default one for each core that
/// this process may use.
///
/// >>> thread_count(2)
/// 2
#[pyfunction]
#[pyo3(signature = (num_threads=Threads(None)))]
pub fn thread_count(num_threads: Threads) -> usize {
    workers::thread_count(num_threads.0, usize::MAX)
}

/// Return to the system the memory that is kept for later results.
///
/// >>> trim_memory()
#[pyfunction]
pub fn trim_memory(py: Python<'_>) {
    py.detach(memory::trim);
}
