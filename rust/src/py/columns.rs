//! Columns of other libraries, which hand over Arrow's structs in capsules.

use std::any::Any;
use std::ffi::CStr;
use std::sync::Arc;

use pyo3::exceptions::{PyImportError, PyIndexError, PyKeyError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PySlice, PyTuple};

use super::arguments::kind_of;
use super::decode::{Drops, append};
use super::raised;
use super::texts::checked;
use crate::columns::built::BuiltColumn;
use crate::columns::interface::{ArrowArray, ArrowSchema, ArrowStream};
use crate::columns::lists::IdLists;
use crate::columns::texts::{ColumnTexts, TextPlace, check_format};
use crate::columns::{Nulls, null_row};
use crate::error::{Error, Result};
use crate::memory;
use crate::tokens::TokenBytes;
use crate::watch::Pulse;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// The arrays of a column, one after the other.
pub struct Arrays {
    pub schema: ArrowSchema,
    left: Left,
}

enum Left {
    One(Option<ArrowArray>),
    Of(ArrowStream),
}

impl Arrays {
    /// The column that an object is or holds, if it is one.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let py = object.py();
        if let Some(get) = object.getattr_opt(intern!(py, "__arrow_c_array__"))? {
            let given = get.call0()?;
            let pair = given.cast::<PyTuple>()?;
            // SAFETY: by the protocol, the capsules of these names hold these structs.
            let (schema, array) = unsafe {
                (
                    taken(&pair.get_item(0)?, SCHEMA, ArrowSchema::taken)?,
                    taken(&pair.get_item(1)?, ARRAY, ArrowArray::taken)?,
                )
            };
            return Ok(Some(Self { schema, left: Left::One(Some(array)) }));
        }
        let Some(get) = object.getattr_opt(intern!(py, "__arrow_c_stream__"))? else { return Ok(None) };
        let given = match get.call0() {
            // Of libraries that need another one for this: their values can be had one by one.
            Err(error) if error.is_instance_of::<PyImportError>(py) => return Ok(None),
            given => given?,
        };
        // SAFETY: as above.
        let mut stream = unsafe { taken(&given, STREAM, ArrowStream::taken)? };
        Ok(Some(Self { schema: stream.schema()?, left: Left::Of(stream) }))
    }

    /// The next array. A stream may run code of Python.
    pub fn next(&mut self, py: Python<'_>) -> PyResult<Option<ArrowArray>> {
        py.check_signals()?;
        Ok(match &mut self.left {
            Left::One(array) => array.take(),
            Left::Of(stream) => py.detach(|| stream.next_array())?,
        })
    }
}

fn no_column(given: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!(
        "column must be a column of Arrow (with __arrow_c_stream__ or __arrow_c_array__), not {}",
        kind_of(given)
    ))
}

/// # Safety
/// Capsules of this name must hold a `T`.
unsafe fn taken<T>(
    capsule: &Bound<'_, PyAny>,
    name: &CStr,
    take: unsafe fn(*mut T) -> Result<T>,
) -> PyResult<T> {
    let pointer = capsule.cast::<PyCapsule>()?.pointer_checked(Some(name))?;
    // SAFETY: by the condition above; whoever made the capsule gave it to us alone.
    Ok(unsafe { take(pointer.as_ptr().cast()) }?)
}

/// A column of texts of any library that speaks Arrow, for whatever takes several texts; each is `bytes`.
///
/// `nulls` says what becomes of a row without a text: it is an error that names it, is left out (`"skip"`), or is an
/// empty text (`"empty"`).
///
/// >>> import pyarrow
/// >>> column = TextColumn(pyarrow.array(["ab", None]), nulls="skip")
/// >>> Tokenizer.train("ab ab ab", 258).encode_batch(column)
/// [[256]]
#[pyclass(module = "bpetite", frozen, sequence)]
pub struct TextColumn {
    places: Vec<TextPlace>,
    /// The numbers of the rows that are null, which are left out or empty.
    nulls: Vec<usize>,
    leaves_out: bool,
    kept: Kept,
}

type Kept = Arc<dyn Any + Send + Sync>;

#[pymethods]
impl TextColumn {
    #[new]
    #[pyo3(signature = (column, *, nulls=TextNulls(Nulls::Error)))]
    fn new(column: &Bound<'_, PyAny>, nulls: TextNulls) -> PyResult<Self> {
        Self::read(column, nulls.0)?.ok_or_else(|| no_column(column))
    }

    fn __len__(&self) -> usize {
        self.count()
    }

    /// The number of bytes of all texts.
    #[getter]
    fn size(&self) -> usize {
        self.places.iter().map(|place| place.length()).sum()
    }

    /// Whether all texts are UTF-8.
    fn are_text(&self, py: Python<'_>) -> bool {
        py.detach(|| (0..self.places.len()).all(|row| simdutf8::basic::from_utf8(self.bytes(row)).is_ok()))
    }

    fn __getitem__<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = index.py();
        if let Ok(slice) = index.cast::<PySlice>() {
            return Ok(Bound::new(py, self.slice(slice)?)?.into_any());
        }
        let index: isize = index.extract()?;
        let from_front = if index < 0 { index + self.count() as isize } else { index };
        let row = usize::try_from(from_front).ok().filter(|&row| row < self.count());
        let row = row.ok_or_else(|| PyIndexError::new_err("the index is beyond the last text"))?;
        Ok(PyBytes::new(py, self.bytes(row)).into_any())
    }
}

impl TextColumn {
    /// Texts in memory that `kept` keeps.
    pub fn of(places: Vec<TextPlace>, kept: Kept) -> Self {
        Self { places, nulls: Vec::new(), leaves_out: false, kept }
    }

    /// The column that an object is or holds, if it is one.
    pub fn within<'py>(object: &Bound<'py, PyAny>, nulls: Nulls) -> PyResult<Option<Bound<'py, Self>>> {
        if let Ok(column) = object.cast::<Self>() {
            return Ok(Some(column.clone()));
        }
        Self::read(object, nulls)?.map(|column| Bound::new(object.py(), column)).transpose()
    }

    fn read(object: &Bound<'_, PyAny>, nulls: Nulls) -> PyResult<Option<Self>> {
        let Some(mut arrays) = Arrays::of(object)? else { return Ok(None) };
        check_format(&arrays.schema)?;
        let (mut rows, mut kept) = (ColumnTexts::new(nulls), Vec::new());
        while let Some(array) = arrays.next(object.py())? {
            object.py().detach(|| rows.add(&arrays.schema, &array))?;
            memory::push(&mut kept, array)?;
        }
        Ok(Some(Self {
            places: rows.places,
            nulls: rows.nulls,
            leaves_out: nulls == Nulls::Skip,
            kept: Arc::new(kept),
        }))
    }

    /// The texts of a column, of which a null one may stay.
    pub fn rows<'py>(column: &Bound<'py, PyAny>, nulls: RowNulls) -> PyResult<Bound<'py, Self>> {
        Self::within(column, nulls.0)?.ok_or_else(|| no_column(column))
    }

    fn slice(&self, slice: &Bound<'_, PySlice>) -> PyResult<Self> {
        let chosen = slice.indices(self.count() as isize)?;
        if chosen.step != 1 {
            return Err(PyValueError::new_err("texts: a slice must have step 1"));
        }
        let chosen = &self.places[chosen.start as usize..][..chosen.slicelength];
        Ok(Self::of(memory::gathered(chosen.iter().copied())?, self.kept.clone()))
    }

    pub fn count(&self) -> usize {
        self.places.len()
    }

    pub fn bytes(&self, row: usize) -> &[u8] {
        // SAFETY: what is kept has the bytes at all these places.
        unsafe { self.places[row].bytes() }
    }

    /// A text, checked to be UTF-8; the error names its row.
    pub fn text(&self, place: usize) -> Result<&str> {
        checked(self.bytes(place), || {
            let left_out = self.nulls.iter().enumerate().take_while(|(before, row)| **row <= place + before);
            format!("row {}", place + if self.leaves_out { left_out.count() } else { 0 })
        })
    }

    /// The rows that are null and stay.
    pub fn kept_nulls(&self) -> &[usize] {
        if self.leaves_out { &[] } else { &self.nulls }
    }
}

/// The arrays of a stream, each as texts.
#[pyclass(module = "bpetite._engine")]
pub struct TextColumns {
    arrays: Arrays,
    rows: ColumnTexts,
}

#[pymethods]
impl TextColumns {
    fn __iter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<TextColumn>> {
        let Some(array) = self.arrays.next(py)? else { return Ok(None) };
        py.detach(|| self.rows.add(&self.arrays.schema, &array))?;
        let places = std::mem::take(&mut self.rows.places);
        Ok(Some(TextColumn::of(places, Arc::new(array))))
    }
}

/// The columns that an object holds, one array at a time; `None` if it is no column.
#[pyfunction]
pub fn text_columns(object: &Bound<'_, PyAny>) -> PyResult<Option<TextColumns>> {
    let Some(arrays) = Arrays::of(object)? else { return Ok(None) };
    check_format(&arrays.schema)?;
    Ok(Some(TextColumns { arrays, rows: ColumnTexts::new(Nulls::Error) }))
}

/// A column that the engine has made.
#[pyclass(module = "bpetite._engine", frozen)]
pub struct ArrowColumn(Arc<BuiltColumn>);

#[pymethods]
impl ArrowColumn {
    fn __len__(&self) -> usize {
        self.0.rows
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        PyCapsule::new_with_value(py, self.0.schema(), SCHEMA)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema); // A wish, which other libraries fulfil by a cast.
        Ok((self.__arrow_c_schema__(py)?, PyCapsule::new_with_value(py, self.0.array(), ARRAY)?))
    }
}

/// The lists of ids of a column.
pub fn id_lists(column: &Bound<'_, PyAny>, nulls: RowNulls) -> PyResult<IdLists> {
    let mut arrays = Arrays::of(column)?.ok_or_else(|| no_column(column))?;
    let mut lists = IdLists::default();
    while let Some(array) = arrays.next(column.py())? {
        column.py().detach(|| lists.add(&arrays.schema, &array))?;
    }
    match (nulls.0, lists.nulls.first()) {
        (Nulls::Error, Some(row)) => Err(null_row(*row).into()),
        (Nulls::Empty, _) => Ok(IdLists { nulls: Vec::new(), ..lists }),
        _ => Ok(lists),
    }
}

/// The texts of lists of ids.
pub fn decoded_column(
    tokens: &TokenBytes,
    lists: &IdLists,
    drops: Drops,
    errors: Undecodable,
    pulse: &mut Pulse,
) -> Result<BuiltColumn> {
    let (mut content, mut ends, mut start) = (Vec::new(), Vec::new(), 0);
    memory::reserve(&mut ends, lists.ends.len() + 1)?;
    ends.push(0);
    let mut bytes = Vec::new();
    for (row, &end) in lists.ends.iter().enumerate() {
        bytes.clear();
        append(tokens, &lists.ids[start..end], drops, &mut bytes, pulse).map_err(|error| match error {
            Error::UnknownId(id) => {
                raised(PyKeyError::new_err(format!("row {row}: no token has the id {id}")))
            }
            other => other,
        })?;
        if errors == Undecodable::Strict {
            let text = checked(&bytes, || format!("row {row}, decoded"))?;
            memory::extend(&mut content, text.as_bytes())?;
        } else {
            for chunk in bytes.utf8_chunks() {
                memory::extend(&mut content, chunk.valid().as_bytes())?;
                if errors == Undecodable::Replace && !chunk.invalid().is_empty() {
                    memory::extend(&mut content, "\u{fffd}".as_bytes())?;
                }
            }
        }
        ends.push(content.len() as u64);
        start = end;
    }
    BuiltColumn::texts(ends, content, &lists.nulls)
}

/// What happens to bytes that are not UTF-8.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Undecodable {
    Strict,
    Replace,
    Ignore,
}

impl From<BuiltColumn> for ArrowColumn {
    fn from(column: BuiltColumn) -> Self {
        Self(Arc::new(column))
    }
}

/// What becomes of null rows where each row of a column becomes one: they are an error, stay null, or are empty.
#[derive(Clone, Copy)]
pub struct RowNulls(pub Nulls);

/// What becomes of null rows where texts are given one by one: they are an error, left out, or empty.
#[derive(Clone, Copy)]
pub struct TextNulls(pub Nulls);
