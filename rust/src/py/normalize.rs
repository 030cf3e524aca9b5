//! The Python class `Normalizer`.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::ids::BYTES_PER_PAIR;
use super::texts::OneText;
use super::watch::PyWatch;
use crate::error::Result;
use crate::memory;
use crate::normalize::{Alignment, Beginning, Normalizer};
use crate::watch::Pulse;

/// Normalizes texts.
#[pyclass(name = "Normalizer", module = "bpetite._engine", frozen)]
pub struct PyNormalizer(Normalizer);

#[pymethods]
impl PyNormalizer {
    #[new]
    fn new(steps: Vec<Vec<String>>) -> PyResult<Self> {
        Ok(Self(Normalizer::new(&steps)?))
    }

    /// Normalize a text; the same object is returned if nothing changes.
    #[pyo3(signature = (text, at=Beginning::Text))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        text: OneText<'_, 'py>,
        at: Beginning,
    ) -> PyResult<Bound<'py, PyString>> {
        let original = text.to_str()?;
        let watch = &mut PyWatch::default();
        Ok(match py.detach(|| self.0.normalize(original, at, &mut Pulse::of(watch)))? {
            Cow::Borrowed(_) => (*text).clone(),
            Cow::Owned(normalized) => {
                memory::ensure(4 * normalized.len())?;
                PyString::new(py, &normalized)
            }
        })
    }

    /// Normalize a text, and return also the place of each character in it.
    #[pyo3(signature = (text, at=Beginning::Text))]
    fn aligned(
        &self,
        py: Python<'_>,
        text: OneText<'_, '_>,
        at: Beginning,
    ) -> PyResult<(String, Vec<(usize, usize)>)> {
        let original = text.to_str()?;
        let watch = &mut PyWatch::default();
        let aligned = py.detach(|| -> Result<_> {
            let written = self.0.written::<true>(original, at, &mut Pulse::of(watch))?;
            let (text, alignment) = match written {
                Some(written) => (written.text, written.alignment),
                None => {
                    let mut copy = String::new();
                    memory::append(&mut copy, original)?;
                    (copy, Alignment::default())
                }
            };
            let places = (0..text.chars().count()).map(|place| alignment.place(place, place + 1));
            let places = memory::gathered(places)?;
            memory::ensure(4 * text.len() + places.len() * BYTES_PER_PAIR)?;
            Ok((text, places))
        })?;
        Ok(aligned)
    }

    /// Whether a text may be cut before a character.
    fn starts(&self, character: char) -> bool {
        self.0.starts(character)
    }

    /// Whether a character starts, and becomes itself when what follows starts.
    fn keeps(&self, character: char) -> bool {
        self.0.keeps(character)
    }
}
