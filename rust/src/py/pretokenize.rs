//! The Python functions about patterns and pretokens.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::arguments::Syntax;
use super::texts::OneText;
use super::watch::PyWatch;
use crate::error::{Error, Result};
use crate::memory;
use crate::pretokenize as scan;
use crate::watch::Pulse;

/// The memory of a pretoken besides its bytes: an object, and references to it.
pub const BYTES_PER_PIECE: usize = 72;

/// The steps of a pattern, which may be one regular expression.
pub struct Steps(pub Vec<String>);

impl Steps {
    /// Compiles them, with checks for Ctrl-C. (Whatever is created from the same steps afterwards
    /// finds the pattern in the cache.)
    pub fn compiled(&self, py: Python<'_>) -> Result<Arc<scan::Pattern>> {
        py.detach(|| scan::Pattern::watched(&self.0, &mut Pulse::of(&mut PyWatch::default())))
    }
}

impl FromPyObject<'_, '_> for Steps {
    type Error = PyErr;

    fn extract(steps: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if steps.is_instance_of::<PyString>() {
            return Ok(Self(vec![steps.extract()?]));
        }
        Ok(Self(steps.extract()?))
    }
}

/// All pretokens and unmatched pieces of the text, in order.
#[pyfunction]
pub fn pretokenize<'py>(
    py: Python<'py>,
    text: OneText<'_, 'py>,
    pattern: Steps,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let text = text.to_str()?;
    let watch = &mut PyWatch::default();
    let cut = || {
        let pulse = &mut Pulse::of(watch);
        let pattern = scan::Pattern::watched(&pattern.0, pulse)?;
        scan::pretokenize(text, &pattern, pulse)
    };
    let pieces = py.detach(cut)?;
    memory::ensure(text.len() + pieces.iter().len() * BYTES_PER_PIECE)?;
    Ok(pieces.iter().map(|piece| PyBytes::new(py, piece)).collect())
}

/// Translate a pattern to our syntax, with the meaning that it has in `tiktoken` ("rust") or
/// `tokenizers` ("oniguruma").
#[pyfunction]
pub fn read_pattern(py: Python<'_>, pattern: &str, syntax: Syntax) -> PyResult<String> {
    Ok(match syntax {
        Syntax::Ours => {
            Steps(vec![pattern.to_owned()]).compiled(py)?;
            pattern.to_owned()
        }
        Syntax::Read(dialect) => scan::read(pattern, dialect)?,
    })
}

/// Whether two patterns in our syntax differ in their spelling only.
#[pyfunction]
pub fn same_pattern(one: &str, other: &str) -> PyResult<bool> {
    Ok(scan::alike(one, other)?)
}

/// Whether a pattern certainly matches all of every text.
#[pyfunction]
pub fn covers_all_text(py: Python<'_>, pattern: &str) -> PyResult<bool> {
    Ok(Steps(vec![pattern.to_owned()]).compiled(py)?.covers_all_text())
}

/// Whether no match of a pattern has any of the characters of a set such as `\s`. What a pattern
/// only looks at does not count.
#[pyfunction]
pub fn avoids(pattern: &str, characters: &str) -> PyResult<bool> {
    Ok(scan::avoids(pattern, characters)?)
}

/// The first place after the start of a UTF-8 text where a cut provably changes no pretoken; `None`
/// without such a proof. The proof holds for every text in which the same characters are adjacent.
#[pyfunction]
pub fn safe_cut(text: &Bound<'_, PyBytes>, pattern: Steps) -> PyResult<Option<usize>> {
    let py = text.py();
    let text = std::str::from_utf8(text.as_bytes())
        .map_err(|bad| Error::NotUtf8 { input: "text".into(), offset: bad.valid_up_to() as u64 })?;
    Ok(pattern.compiled(py)?.safe_cut(text, 1))
}

/// The way a pattern is run: "masks", "automaton" or "machine", from the fastest to the slowest.
#[pyfunction]
pub fn pattern_way(py: Python<'_>, pattern: Steps) -> PyResult<&'static str> {
    Ok(match pattern.compiled(py)?.way() {
        scan::Way::Masks => "masks",
        scan::Way::Automaton => "automaton",
        scan::Way::Machine => "machine",
    })
}
