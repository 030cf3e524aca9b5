//! Texts that Python owns: `str`, or `bytes` that must be UTF-8, each an object or many of them in one.

use std::ops::Range;
use std::sync::Arc;

use memchr::memmem;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PySlice, PyString};

use crate::error::{Error, Result};
use crate::memory;

/// A text whose bytes stay where they are while this is held, with or without the GIL.
pub enum OwnedText {
    Str(PyBackedStr),
    Bytes(PyBackedBytes),
}

impl OwnedText {
    /// `what` is the item's name in the error for anything but `str` and `bytes`.
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

/// Texts that stand in one buffer: they are found in it without a copy or an object of their own for each.
#[pyclass(module = "bpetite._engine", frozen, sequence)]
pub struct JoinedTexts {
    /// A text that comes first and begins outside of the buffer.
    first: Option<Vec<u8>>,
    buffer: Buffer,
    /// Where the others are, in order; all of them lie in the buffer.
    places: Vec<Range<usize>>,
}

/// Bytes that Python owns, or the engine.
pub type Buffer = Arc<dyn AsRef<[u8]> + Send + Sync>;

#[pymethods]
impl JoinedTexts {
    /// Text `i` is `buffer[offsets[i]:offsets[i + 1]]`.
    #[new]
    fn new(buffer: PyBackedBytes, offsets: PyReadonlyArray1<'_, i64>) -> PyResult<Self> {
        memory::ensure(offsets.len()? * 3 * size_of::<usize>())?;
        let offsets: Option<Vec<usize>> =
            offsets.as_array().iter().map(|&offset| usize::try_from(offset).ok()).collect();
        let offsets = offsets
            .filter(|offsets| offsets.is_sorted() && offsets.last().is_none_or(|&end| end <= buffer.len()))
            .ok_or_else(|| PyValueError::new_err("offsets must ascend within the buffer"))?;
        let places = offsets.windows(2).map(|bounds| bounds[0]..bounds[1]).collect();
        Ok(Self::new_in(Arc::new(buffer), places))
    }

    /// What `(before + buffer).split(separator)` gives if there is no separator in `before`.
    #[staticmethod]
    #[pyo3(signature = (buffer, separator, before=None))]
    fn split(
        py: Python<'_>,
        buffer: PyBackedBytes,
        separator: &[u8],
        before: Option<PyBackedBytes>,
    ) -> PyResult<Self> {
        if separator.is_empty() {
            return Err(PyValueError::new_err("separator must not be empty"));
        }
        let before = before.as_deref().unwrap_or_default();
        let (first, places) = py.detach(|| {
            let (first, from) = first_text(before, &buffer, separator)?;
            let places = from.map_or_else(|| Ok(Vec::new()), |from| places(&buffer, from, separator))?;
            Ok::<_, Error>((first, places))
        })?;
        Ok(Self { first: Some(first), buffer: Arc::new(buffer), places })
    }

    fn __len__(&self) -> usize {
        self.places.len() + usize::from(self.first.is_some())
    }

    fn __getitem__<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = index.py();
        if let Ok(slice) = index.cast::<PySlice>() {
            return Ok(Bound::new(py, self.slice(slice)?)?.into_any());
        }
        let index: isize = index.extract()?;
        let from_front = if index < 0 { index + self.__len__() as isize } else { index };
        let text = usize::try_from(from_front).ok().and_then(|index| self.text(index));
        let text = text.ok_or_else(|| PyIndexError::new_err("there are fewer texts"))?;
        Ok(PyBytes::new(py, text).into_any())
    }
}

impl JoinedTexts {
    /// Texts at places, in order, that lie in the buffer.
    pub fn new_in(buffer: Buffer, places: Vec<Range<usize>>) -> Self {
        Self { first: None, buffer, places }
    }

    fn slice(&self, slice: &Bound<'_, PySlice>) -> PyResult<Self> {
        let chosen = slice.indices(self.__len__() as isize)?;
        if chosen.step != 1 {
            return Err(PyValueError::new_err("texts are taken in one stretch"));
        }
        let (start, end) = (chosen.start as usize, chosen.start as usize + chosen.slicelength);
        let before = usize::from(self.first.is_some());
        memory::ensure(chosen.slicelength * size_of::<Range<usize>>())?;
        let places = self.places[start.saturating_sub(before)..end.saturating_sub(before)].to_vec();
        let first = self.first.clone().filter(|_| start == 0 && end > 0);
        Ok(Self { first, buffer: self.buffer.clone(), places })
    }

    fn content(&self) -> &[u8] {
        (*self.buffer).as_ref()
    }

    fn text(&self, index: usize) -> Option<&[u8]> {
        match &self.first {
            Some(first) if index == 0 => Some(first),
            first => {
                let place = self.places.get(index - usize::from(first.is_some()))?;
                Some(&self.content()[place.clone()])
            }
        }
    }

    pub fn texts(&self) -> impl Iterator<Item = &[u8]> {
        let content = self.content();
        self.first.as_deref().into_iter().chain(self.places.iter().map(|place| &content[place.clone()]))
    }

    /// The texts as the engine takes them: those in the buffer are checked at once, and each by itself where that
    /// fails.
    fn checked(&self) -> Result<Vec<&str>> {
        let start = self.places.first().map_or(0, |place| place.start);
        let end = self.places.last().map_or(0, |place| place.end);
        let content = self.content();
        let whole = simdutf8::basic::from_utf8(&content[start..end]).ok();
        let mut texts = Vec::new();
        memory::reserve(&mut texts, self.__len__())?;
        if let Some(first) = &self.first {
            texts.push(checked(first, || "text 0".to_owned())?);
        }
        for place in &self.places {
            let text = whole.and_then(|whole| whole.get(place.start - start..place.end - start));
            texts.push(match text {
                Some(text) => text,
                None => checked(&content[place.clone()], || format!("text {}", texts.len()))?,
            });
        }
        Ok(texts)
    }
}

/// The first text of `before` and `buffer` together, and where in the buffer the one behind it begins.
fn first_text(before: &[u8], buffer: &[u8], separator: &[u8]) -> Result<(Vec<u8>, Option<usize>)> {
    memory::ensure(before.len() + buffer.len())?;
    // A separator may begin in the one and end in the other.
    let reach = separator.len() - 1;
    let tail = &before[before.len().saturating_sub(reach)..];
    let seam = [tail, &buffer[..reach.min(buffer.len())]].concat();
    if let Some(found) = memmem::find(&seam, separator) {
        let first = &before[..before.len() - tail.len() + found];
        return Ok((first.to_vec(), Some(found + separator.len() - tail.len())));
    }
    let found = memmem::find(buffer, separator);
    let first = [before, &buffer[..found.unwrap_or(buffer.len())]].concat();
    Ok((first, found.map(|found| found + separator.len())))
}

/// Where the texts of a buffer are from a place on.
fn places(buffer: &[u8], from: usize, separator: &[u8]) -> Result<Vec<Range<usize>>> {
    let mut start = from;
    let ends = memmem::find_iter(&buffer[from..], separator).map(|end| from + end);
    memory::gathered(
        ends.chain(std::iter::once(buffer.len()))
            .map(|end| std::mem::replace(&mut start, end + separator.len())..end),
    )
}

/// Texts that stay alive while the GIL is released.
pub enum HeldTexts {
    Each(Vec<OwnedText>),
    Joined(Py<JoinedTexts>),
}

impl HeldTexts {
    /// Take an iterable of texts.
    pub fn new(texts: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(joined) = texts.cast::<JoinedTexts>() {
            return Ok(Self::Joined(joined.clone().unbind()));
        }
        if texts.is_instance_of::<PyString>() || texts.is_instance_of::<PyBytes>() {
            let kind = texts.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "texts: one {kind} was given where several are expected"
            )));
        }
        let mut held = Vec::new();
        for text in texts.try_iter()? {
            let text = OwnedText::new(&text?, || format!("texts: item {}", held.len()))?;
            memory::push(&mut held, text)?;
        }
        Ok(Self::Each(held))
    }

    /// The texts as the engine takes them; bytes that are not UTF-8 are refused by their number.
    pub fn checked(&self) -> Result<Vec<&str>> {
        match self {
            Self::Joined(texts) => texts.get().checked(),
            Self::Each(texts) => {
                let mut checked = Vec::new();
                memory::reserve(&mut checked, texts.len())?;
                for (number, text) in texts.iter().enumerate() {
                    checked.push(text.text(|| format!("text {number}"))?);
                }
                Ok(checked)
            }
        }
    }
}

fn checked(bytes: &[u8], what: impl FnOnce() -> String) -> Result<&str> {
    simdutf8::compat::from_utf8(bytes)
        .map_err(|bad| Error::NotUtf8 { input: what(), offset: bad.valid_up_to() as u64 })
}
