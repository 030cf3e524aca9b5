//! The Python class `TextColumn`: texts in memory that something else keeps.
//!
//! The memory belongs to an Arrow column, which `bpetite._internal.columns` reads, or to a buffer of
//! a file's texts.

use std::any::Any;
use std::sync::Arc;

use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PySlice};

use super::arguments::{bytes_of, checked, kind_of};
use super::watch::raised;
use crate::decode::Writing;
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::Pulse;

/// A column of texts from any library that supports Arrow, accepted wherever several texts are;
/// each item is `bytes`.
///
/// `nulls` decides what a null row is: an error that names the row (`"error"`, the default), left
/// out (`"skip"`), or an empty text (`"empty"`). The texts are not copied. As Arrow requires, nobody
/// may change them while the column exists.
///
/// >>> import pyarrow
/// >>> column = TextColumn(pyarrow.array(["ab", None]), nulls="skip")
/// >>> Tokenizer.train("ab ab ab", 258).encode_batch(column)
/// [[256]]
#[pyclass(module = "bpetite", frozen, sequence)]
pub struct TextColumn {
    places: Vec<TextPlace>,
    /// The numbers of the rows that were left out.
    left_out: Vec<usize>,
    kept: Kept,
}

type Kept = Arc<dyn Any + Send + Sync>;

/// The offsets and the content of each part of a column, and the rows that are left out.
type Buffers<'py> = (Vec<(PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, u8>)>, Vec<usize>);

/// Where a text is in memory that something else keeps.
#[derive(Clone, Copy)]
struct TextPlace {
    start: *const u8,
    length: usize,
}

// SAFETY: a place only reads bytes, which nobody changes while they are kept.
unsafe impl Send for TextPlace {}
// SAFETY: as above.
unsafe impl Sync for TextPlace {}

impl TextPlace {
    fn of(bytes: &[u8]) -> Self {
        Self { start: bytes.as_ptr(), length: bytes.len() }
    }
}

#[pymethods]
impl TextColumn {
    #[new]
    #[pyo3(signature = (column, *, nulls=None))]
    fn new(column: &Bound<'_, PyAny>, nulls: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        if let Some(column) = Self::read(column, nulls)? {
            return Ok(column);
        }
        let kind = kind_of(column);
        Err(PyTypeError::new_err(format!(
            "column must be a column of Arrow (with __arrow_c_stream__ or __arrow_c_array__), \
             not {kind}"
        )))
    }

    fn __len__(&self) -> usize {
        self.count()
    }

    /// The number of bytes of all texts.
    #[getter]
    fn size(&self) -> usize {
        self.places.iter().map(|place| place.length).sum()
    }

    /// Whether all texts are UTF-8.
    fn are_text(&self, py: Python<'_>) -> bool {
        let is_text = |row| simdutf8::basic::from_utf8(self.bytes(row)).is_ok();
        py.detach(|| (0..self.count()).all(is_text))
    }

    fn __getitem__<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = index.py();
        if let Ok(slice) = index.cast::<PySlice>() {
            return Ok(Bound::new(py, self.slice(slice)?)?.into_any());
        }
        let index: isize = index.extract()?;
        let from_front = if index < 0 { index + self.count() as isize } else { index };
        match usize::try_from(from_front) {
            Ok(row) if row < self.count() => Ok(PyBytes::new(py, self.bytes(row)).into_any()),
            _ => Err(PyIndexError::new_err("the index is beyond the last text")),
        }
    }
}

impl TextColumn {
    /// Creates a column of texts in memory that `kept` keeps alive.
    pub fn of<'a>(texts: impl ExactSizeIterator<Item = &'a [u8]>, kept: Kept) -> Result<Self> {
        let places = memory::gathered(texts.map(TextPlace::of))?;
        Ok(Self { places, left_out: Vec::new(), kept })
    }

    /// Creates a column of texts that are `str` or `bytes`.
    pub fn held(texts: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        let mut places = Vec::new();
        memory::reserve(&mut places, texts.len())?;
        for text in &texts {
            places.push(TextPlace::of(bytes_of(text, String::new)?));
        }
        // A `str` keeps its UTF-8.
        let kept = memory::gathered(texts.into_iter().map(Bound::unbind))?;
        Ok(Self { places, left_out: Vec::new(), kept: Arc::new(kept) })
    }

    /// Returns an object that is a column as one; `None` for any other object.
    pub fn within<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, Self>>> {
        let py = object.py();
        if let Ok(column) = object.cast::<Self>() {
            return Ok(Some(column.clone()));
        }
        let is_arrow = object.hasattr(intern!(py, "__arrow_c_stream__"))?
            || object.hasattr(intern!(py, "__arrow_c_array__"))?;
        if is_arrow && let Some(column) = Self::read(object, None)? {
            return Ok(Some(Bound::new(py, column)?));
        }
        Ok(None)
    }

    /// Reads the Arrow column of an object; `None` if it is not one.
    fn read(object: &Bound<'_, PyAny>, nulls: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Self>> {
        let reader = object.py().import("bpetite._internal.columns")?.getattr("buffers_in")?;
        let read = reader.call1((object, nulls))?.extract::<Option<Buffers>>()?;
        let Some((parts, left_out)) = read else { return Ok(None) };
        let mut places = Vec::new();
        let mut kept = Vec::new();
        for (offsets, content) in parts {
            let offsets = offsets.as_slice()?;
            let bytes = content.as_slice()?;
            memory::reserve(&mut places, offsets.len())?;
            for bounds in offsets.windows(2) {
                let text = bytes.get(bounds[0] as usize..bounds[1] as usize);
                let text =
                    text.ok_or_else(|| PyValueError::new_err("a text lies outside of its column"))?;
                places.push(TextPlace::of(text));
            }
            kept.push((*content).clone().unbind());
        }
        Ok(Some(Self { places, left_out, kept: Arc::new(kept) }))
    }

    /// Returns a column of some successive texts of this one.
    fn slice(&self, slice: &Bound<'_, PySlice>) -> PyResult<Self> {
        let chosen = slice.indices(self.count() as isize)?;
        if chosen.step != 1 {
            return Err(PyValueError::new_err("texts: a slice must have step 1"));
        }
        let start = chosen.start as usize;
        let rows = start..start + chosen.slicelength;
        Ok(Self::of(rows.map(|row| self.bytes(row)), self.kept.clone())?)
    }

    /// Returns the number of texts.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Returns the bytes of a text.
    pub fn bytes(&self, row: usize) -> &[u8] {
        let TextPlace { start, length } = self.places[row];
        // SAFETY: a place comes from a slice of the memory that `kept` keeps, which nobody changes.
        unsafe { std::slice::from_raw_parts(start, length) }
    }

    /// Returns a text, checked to be UTF-8; the error names its row.
    pub fn text(&self, place: usize) -> Result<&str> {
        checked(self.bytes(place), || {
            // Rows that were left out also count.
            let mut row = place;
            for left_out in &self.left_out {
                row += usize::from(*left_out <= row);
            }
            format!("row {row}")
        })
    }
}

/// Decodes lists of ids. Returns the joined bytes of their texts, and the ends of the texts after a
/// zero; `ends` has the ends of the lists of ids in the same way.
pub fn decoded_lists(
    writing: Writing,
    ids: &[u32],
    ends: &[u64],
    pulse: &mut Pulse,
) -> Result<(Vec<u8>, Vec<u64>)> {
    let mut content = Vec::new();
    let mut text_ends = Vec::new();
    memory::reserve(&mut text_ends, ends.len())?;
    text_ends.push(0);
    for (row, bounds) in ends.windows(2).enumerate() {
        let ids = ids.get(bounds[0] as usize..bounds[1] as usize).unwrap_or_default();
        writing.append(ids, &mut content, pulse).map_err(|error| match error {
            Error::UnknownId(id) => {
                raised(PyKeyError::new_err(format!("row {row}: no token has the id {id}")))
            }
            other => other,
        })?;
        text_ends.push(content.len() as u64);
    }
    Ok((content, text_ends))
}
