//! Texts from Python: `str`, or `bytes` that must be UTF-8; one object per text, or many texts in one buffer.

use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use super::columns::TextColumn;
use super::{items, raised};
use crate::columns::Nulls;
use crate::columns::texts::TextPlace;
use crate::encode::{ChoicePart, RawText, Special, TextSource};
use crate::error::{Error, Result};
use crate::memory;
use crate::read::{GatheredTexts, split};

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
fn not_a_text(given: Borrowed<'_, '_, PyAny>) -> PyErr {
    let kind = match given.get_type().name() {
        Ok(kind) => kind,
        Err(error) => return error,
    };
    PyTypeError::new_err(if given.is_instance_of::<PyBytes>() {
        "text must be a str, not bytes: give text.decode(\"utf-8\")".to_owned()
    } else if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        format!("text must be one str, not a {kind}: encode_batch and count_batch take several texts")
    } else {
        format!("text must be a str, not {kind}")
    })
}

/// Refuse what is not one text: for functions that are written in Python.
#[pyfunction]
pub fn check_text(text: OneText<'_, '_>) {
    let _ = text;
}

/// Whether bytes are UTF-8, without a `str`, which may be four times as large.
#[pyfunction]
pub fn is_utf8(py: Python<'_>, content: PyBackedBytes) -> bool {
    py.detach(|| simdutf8::basic::from_utf8(&content).is_ok())
}

/// The text that several parts are together, each given as a pair of a text and what is done with special tokens in it.
#[derive(Default)]
pub struct JoinedParts {
    pub text: String,
    pub parts: Vec<ChoicePart>,
}

impl JoinedParts {
    /// From an iterable of pairs; an error begins with `place`.
    pub fn new(given: &Bound<'_, PyAny>, place: &str) -> PyResult<Self> {
        let mut joined = Self::default();
        for pair in items(given, &format!("{place}parts must be several pairs of a text and special"))? {
            let (pair, number) = (pair?, joined.parts.len());
            let wrong = |what, given: &Bound<'_, PyAny>| match given.get_type().name() {
                Ok(kind) => PyTypeError::new_err(format!("{place}part {number} must be {what}, not {kind}")),
                Err(error) => error,
            };
            let tuple = pair.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2);
            let tuple = tuple.ok_or_else(|| wrong("a pair of a text and special", &pair))?;
            let text = tuple.get_borrowed_item(0)?;
            let text = text.cast::<PyString>().map_err(|_| wrong("a pair that begins with a str", &text))?;
            memory::append(&mut joined.text, text.to_str()?)?;
            let special = Some(tuple.get_borrowed_item(1)?.extract::<Special>()?);
            memory::push(&mut joined.parts, ChoicePart { end: joined.text.len(), special, is_open: false })?;
        }
        Ok(joined)
    }
}

/// A text whose bytes stay valid while this value lives, with or without the GIL.
pub enum OwnedText {
    Str(PyBackedStr),
    Bytes(PyBackedBytes),
}

impl OwnedText {
    /// Accepts `str` and `bytes`; `what` is the name in the error for anything else.
    pub fn new(text: &Bound<'_, PyAny>, what: impl FnOnce() -> String) -> PyResult<Self> {
        if let Ok(text) = text.cast::<PyString>() {
            Ok(Self::Str(text.clone().try_into()?))
        } else if let Ok(bytes) = text.cast::<PyBytes>() {
            Ok(Self::Bytes(bytes.clone().into()))
        } else {
            let kind = text.get_type().name()?;
            Err(PyTypeError::new_err(format!("{} must be str or bytes, not {kind}", what())))
        }
    }

    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Str(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    /// The text; bytes are checked, and `what` is the name in the error.
    pub fn text(&self, what: impl FnOnce() -> String) -> Result<&str> {
        match self {
            Self::Str(text) => Ok(text),
            Self::Bytes(bytes) => checked(bytes, what),
        }
    }
}

/// Splits blocks into texts at a separator.
#[pyclass(name = "SplitTexts", module = "bpetite._engine")]
pub struct PySplitTexts {
    texts: split::SplitTexts,
    buffers: Py<Buffers>,
}

#[pymethods]
impl PySplitTexts {
    #[new]
    fn new(separator: &[u8], buffers: Py<Buffers>) -> Self {
        Self { texts: split::SplitTexts::new(separator), buffers }
    }

    fn take_block(&mut self, py: Python<'_>, block: PyBackedBytes) -> PyResult<()> {
        Ok(py.detach(|| {
            self.buffers.get().lend_to(&mut self.texts.texts)?;
            self.texts.take_block(&block)
        })?)
    }

    fn __len__(&self) -> usize {
        self.texts.texts.places().len()
    }

    #[getter]
    fn size(&self) -> usize {
        self.texts.length() + size_of_val(self.texts.texts.places())
    }

    /// Return the texts that are complete.
    fn take(&mut self) -> PyResult<TextColumn> {
        let buffers = self.buffers.get();
        let room = if self.texts.rest().is_empty() { Vec::new() } else { buffers.free()? };
        Ok(buffers.hand_out(self.texts.take(room)?))
    }

    /// Return the start of the text that is not complete yet.
    fn take_rest<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        memory::ensure(self.texts.rest().len())?;
        let rest = PyBytes::new(py, self.texts.rest());
        self.texts.drop_rest();
        Ok(rest)
    }
}

impl Drop for PySplitTexts {
    fn drop(&mut self) {
        self.buffers.get().hand_out(self.texts.texts.take());
    }
}

/// The buffers of texts that were returned to Python. A buffer is reused once Python has dropped its texts: new memory
/// costs page faults.
#[pyclass(module = "bpetite._engine", frozen)]
pub struct Buffers {
    room: usize,
    handed_out: Mutex<Vec<Arc<Vec<u8>>>>,
}

#[pymethods]
impl Buffers {
    #[new]
    fn new(room: usize) -> Self {
        Self { room, handed_out: Mutex::default() }
    }
}

impl Buffers {
    /// A buffer that is no longer in use, or a new one.
    fn free(&self) -> Result<Vec<u8>> {
        let mut handed_out = self.handed_out.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = handed_out.iter_mut().position(|buffer| Arc::get_mut(buffer).is_some())
            && let Some(bytes) = Arc::into_inner(handed_out.swap_remove(place))
        {
            return Ok(bytes);
        }
        memory::ensure(self.room)?;
        // The system provides zeroed pages when they are first touched.
        Ok(vec![0; self.room])
    }

    /// Give texts a buffer if they have none.
    pub fn lend_to(&self, texts: &mut GatheredTexts) -> Result<()> {
        if texts.lacks_room() {
            texts.use_buffer(self.free()?);
        }
        Ok(())
    }

    /// Wrap texts for Python. Their buffer will be reused, unless it had to grow much.
    pub fn hand_out(&self, (bytes, places): (Vec<u8>, Vec<Range<usize>>)) -> TextColumn {
        let buffer = Arc::new(bytes);
        if (1..=2 * self.room).contains(&buffer.len()) {
            self.handed_out.lock().unwrap_or_else(PoisonError::into_inner).push(buffer.clone());
        }
        let places = places.into_iter().map(|place| TextPlace::of(&buffer[place])).collect();
        TextColumn::of(places, buffer)
    }
}

/// Texts that stay valid while the GIL is released.
pub enum HeldTexts {
    Each(Vec<OwnedText>),
    Column(Py<TextColumn>),
}

impl HeldTexts {
    /// From a column or an iterable of texts.
    pub fn new(texts: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Some(column) = TextColumn::within(texts, Nulls::Error)? {
            return Ok(Self::Column(column));
        }
        if texts.is_instance_of::<PyString>() || texts.is_instance_of::<PyBytes>() {
            let kind = texts.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "texts: one {kind} was given where several are expected"
            )));
        }
        let mut texts_of_python = Vec::new();
        for text in items(texts, "texts must be several str or bytes")? {
            let text = OwnedText::new(&text?, || format!("texts: item {}", texts_of_python.len()))?;
            memory::push(&mut texts_of_python, text)?;
        }
        Ok(Self::Each(texts_of_python))
    }

    pub fn count(&self) -> usize {
        match self {
            Self::Column(texts) => texts.get().count(),
            Self::Each(texts) => texts.len(),
        }
    }

    /// The bytes of one text.
    pub fn bytes(&self, index: usize) -> &[u8] {
        match self {
            Self::Column(texts) => texts.get().bytes(index),
            Self::Each(texts) => texts[index].bytes(),
        }
    }

    /// One text, checked to be UTF-8; the error names its number.
    fn text(&self, index: usize) -> Result<&str> {
        match self {
            Self::Column(texts) => texts.get().text(index),
            Self::Each(texts) => texts[index].text(|| format!("text {index}")),
        }
    }
}

/// `bytes` are checked by the thread that encodes them.
impl<'t> TextSource<'t> for &'t HeldTexts {
    fn number(&self) -> usize {
        self.count()
    }

    fn length(&self, text: usize) -> usize {
        HeldTexts::bytes(self, text).len()
    }

    fn text(&self, text: usize) -> Result<&'t str> {
        HeldTexts::text(self, text)
    }

    fn get(&self, text: usize) -> Result<RawText<'t>> {
        match self {
            HeldTexts::Each(texts) if let OwnedText::Str(text) = &texts[text] => Ok(RawText::Text(text)),
            _ => Ok(RawText::Bytes(HeldTexts::bytes(self, text))),
        }
    }
}

/// The texts of a list or tuple, if all of them are `str`: none has methods of its own, so no code of the caller runs.
pub fn strings_in<'py>(texts: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyString>>>> {
    if let Ok(list) = texts.cast_exact::<PyList>() {
        all_strings(list.iter())
    } else if let Ok(tuple) = texts.cast_exact::<PyTuple>() {
        all_strings(tuple.iter())
    } else {
        Ok(None)
    }
}

fn all_strings<'py>(
    texts: impl ExactSizeIterator<Item = Bound<'py, PyAny>>,
) -> PyResult<Option<Vec<Bound<'py, PyString>>>> {
    let mut strings = Vec::new();
    memory::reserve(&mut strings, texts.len())?;
    for text in texts {
        let Ok(text) = text.cast_into_exact::<PyString>() else { return Ok(None) };
        memory::push(&mut strings, text)?;
    }
    Ok(Some(strings))
}

/// Strings of Python. Making UTF-8 of one that is not ASCII needs the GIL; Python keeps it for the next use.
pub struct Strings<'a, 'py> {
    py: Python<'py>,
    strings: &'a [Bound<'py, PyString>],
    characters: usize,
}

impl<'a, 'py> Strings<'a, 'py> {
    pub fn of(py: Python<'py>, strings: &'a [Bound<'py, PyString>]) -> PyResult<Self> {
        let lengths = strings.iter().map(|text| text.len());
        Ok(Self { py, strings, characters: lengths.sum::<PyResult<usize>>()? })
    }
}

impl<'a> TextSource<'a> for Strings<'a, '_> {
    fn number(&self) -> usize {
        self.strings.len()
    }

    fn length(&self, text: usize) -> usize {
        self.strings[text].len().unwrap_or(0)
    }

    fn bytes(&self) -> usize {
        self.characters
    }

    fn most_ids(&self) -> usize {
        2 * self.characters
    }

    fn text(&self, text: usize) -> Result<&'a str> {
        self.strings[text].to_str().map_err(raised)
    }

    fn aside<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.py.detach(work)
    }
}

pub fn checked(bytes: &[u8], what: impl FnOnce() -> String) -> Result<&str> {
    simdutf8::compat::from_utf8(bytes)
        .map_err(|bad| Error::NotUtf8 { input: what(), offset: bad.valid_up_to() as u64 })
}
