//! Texts from Python: `str`, or `bytes` that must be UTF-8; one, several, or in parts.

use std::ops::Deref;

use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use super::arguments::{bytes_of, checked, items, kind_of};
use super::columns::TextColumn;
use super::watch::raised;
use crate::encode::{ChoicePart, Special, TextSource};
use crate::error::Result;
use crate::memory;

/// An argument that is one text. What is not is refused with the same words by every function.
#[derive(Clone, Copy)]
pub struct OneText<'a, 'py>(Borrowed<'a, 'py, PyString>);

impl<'a, 'py> FromPyObject<'a, 'py> for OneText<'a, 'py> {
    type Error = PyErr;

    #[inline(always)]
    fn extract(text: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        text.cast().map(Self).map_err(|_| not_a_text(text))
    }
}

impl<'py> Deref for OneText<'_, 'py> {
    type Target = Bound<'py, PyString>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

#[cold]
fn not_a_text(value: Borrowed<'_, '_, PyAny>) -> PyErr {
    let kind = kind_of(&value);
    let message = if value.is_instance_of::<PyBytes>() {
        "text must be a str, not bytes: give text.decode(\"utf-8\")".to_owned()
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        format!(
            "text must be one str, not a {kind}: encode_batch and count_batch take several texts"
        )
    } else {
        format!("text must be a str, not {kind}")
    };
    PyTypeError::new_err(message)
}

/// Whether bytes are UTF-8, without a `str`, which may be four times as large.
#[pyfunction]
pub fn is_utf8(py: Python<'_>, content: PyBackedBytes) -> bool {
    py.detach(|| simdutf8::basic::from_utf8(&content).is_ok())
}

/// The text of several parts, each a pair of a text and what is done with special tokens in it.
#[derive(Default)]
pub struct JoinedParts {
    pub text: String,
    pub parts: Vec<ChoicePart>,
}

impl JoinedParts {
    /// Joins an iterable of pairs; an error begins with `place`.
    pub fn new(parts: &Bound<'_, PyAny>, place: &str) -> PyResult<Self> {
        let mut joined = Self::default();
        for pair in items(
            parts,
            &format!("{place}parts must be an iterable of pairs of a text and special"),
        )? {
            let pair = pair?;
            let number = joined.parts.len();
            let wrong = |expected, value: &Bound<'_, PyAny>| {
                let kind = kind_of(value);
                PyTypeError::new_err(format!("{place}part {number} must be {expected}, not {kind}"))
            };
            let tuple = pair.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2);
            let tuple = tuple.ok_or_else(|| wrong("a pair of a text and special", &pair))?;
            let text = tuple.get_borrowed_item(0)?;
            let text = text
                .cast::<PyString>()
                .map_err(|_| wrong("a pair that begins with a str", &text))?;
            memory::append(&mut joined.text, text.to_str()?)?;
            let special = Some(tuple.get_borrowed_item(1)?.extract::<Special>()?);
            memory::push(
                &mut joined.parts,
                ChoicePart { end: joined.text.len(), special, is_open: false },
            )?;
        }
        Ok(joined)
    }
}

/// Texts to encode: a column, or each by itself.
pub enum Texts<'py> {
    Each(Python<'py>, Vec<Bound<'py, PyAny>>),
    Column(Bound<'py, TextColumn>),
}

impl<'py> Texts<'py> {
    /// Takes a column or an iterable of texts.
    pub fn new(texts: &Bound<'py, PyAny>) -> PyResult<Self> {
        let mut each = Vec::new();
        memory::reserve(&mut each, texts.cast_exact::<PyList>().map_or(0, |list| list.len()))?;
        let mut add = |text: Bound<'py, PyAny>| {
            if !text.is_instance_of::<PyString>() {
                bytes_of(&text, || format!("texts: item {}", each.len()))?;
            }
            Ok::<_, PyErr>(memory::push(&mut each, text)?)
        };
        // These two types have no methods of their own, so no code of the caller runs.
        if let Ok(list) = texts.cast_exact::<PyList>() {
            list.iter().try_for_each(add)?;
        } else if let Ok(tuple) = texts.cast_exact::<PyTuple>() {
            tuple.iter().try_for_each(add)?;
        } else if let Some(column) = TextColumn::within(texts)? {
            return Ok(Self::Column(column));
        } else if texts.is_instance_of::<PyString>() || texts.is_instance_of::<PyBytes>() {
            let kind = kind_of(texts);
            let message = format!("texts: one {kind} was given where several are expected");
            return Err(PyTypeError::new_err(message));
        } else {
            items(texts, "texts must be an iterable of str or bytes")?
                .try_for_each(|text| add(text?))?;
        }
        Ok(Self::Each(texts.py(), each))
    }
}

/// Making UTF-8 of a `str` that is not ASCII needs the GIL; Python keeps it for the next use.
impl<'t> TextSource<'t> for &'t Texts<'_> {
    fn number(&self) -> usize {
        match self {
            Texts::Each(_, texts) => texts.len(),
            Texts::Column(texts) => texts.get().count(),
        }
    }

    fn length(&self, text: usize) -> usize {
        match self {
            Texts::Each(_, texts) => texts[text].len().unwrap_or(0),
            Texts::Column(texts) => texts.get().bytes(text).len(),
        }
    }

    fn most_ids(&self) -> usize {
        2 * self.bytes()
    }

    fn text(&self, number: usize) -> Result<&'t str> {
        match self {
            Texts::Each(_, texts) => match texts[number].cast::<PyString>() {
                Ok(text) => text.to_str().map_err(raised),
                Err(_) => {
                    let bytes = bytes_of(&texts[number], String::new).map_err(raised)?;
                    checked(bytes, || format!("text {number}"))
                }
            },
            Texts::Column(texts) => texts.get().text(number),
        }
    }

    fn aside<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match self {
            Texts::Each(py, _) => py.detach(work),
            Texts::Column(texts) => texts.py().detach(work),
        }
    }
}
