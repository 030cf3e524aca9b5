//! Conversion of ids: from lists, arrays and other iterables, and to lists and arrays.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

use numpy::{Element, PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyKeyError, PyOverflowError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyInt, PyList, PyString, PyTuple};

use super::{is_integer, items};
use crate::encode::Id;
use crate::memory;

/// For vocabularies with larger ids than this, no integer objects are shared.
const LARGEST_SHARED: usize = 1 << 20;

/// The memory of an id in a list: a reference, and possibly a new integer.
const BYTES_PER_ID: usize = 40;

/// The memory of a list besides its ids, and of a reference in it.
const BYTES_PER_LIST: usize = 96;
const BYTES_PER_REFERENCE: usize = size_of::<usize>();

/// The memory of a pair of numbers in a list.
pub const BYTES_PER_PAIR: usize = 160;

/// The ids of a vocabulary as Python integers, each created once, so that a list of ids holds references only.
pub struct Integers(Box<[PyOnceLock<Py<PyInt>>]>);

impl Integers {
    pub fn up_to(largest_id: u32) -> Self {
        let count = if largest_id as usize <= LARGEST_SHARED { largest_id as usize + 1 } else { 0 };
        Self(std::iter::repeat_with(PyOnceLock::new).take(count).collect())
    }

    pub fn list<'py>(&self, py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyList>> {
        memory::ensure(ids.len() * BYTES_PER_ID)?;
        PyList::new(py, ids.iter().map(|&id| self.get(py, id)))
    }

    /// The memory of lists that hold so many ids in all, besides integers that will be shared.
    pub fn bytes_of_lists(&self, lists: usize, ids: usize) -> usize {
        lists * BYTES_PER_LIST + ids * if self.0.is_empty() { BYTES_PER_ID } else { BYTES_PER_REFERENCE }
    }

    /// The integer of any number.
    #[inline]
    fn of<'py>(&self, py: Python<'py>, number: usize) -> Bound<'py, PyInt> {
        match u32::try_from(number) {
            Ok(small) => self.get(py, small),
            Err(_) => PyInt::new(py, number),
        }
    }

    #[inline]
    fn get<'py>(&self, py: Python<'py>, id: u32) -> Bound<'py, PyInt> {
        match self.0.get(id as usize) {
            Some(integer) => new_reference(integer.get_or_init(py, || PyInt::new(py, id).unbind()).bind(py)),
            None => PyInt::new(py, id),
        }
    }
}

/// A new reference to an object.
#[cfg(Py_GIL_DISABLED)]
fn new_reference<'py, T>(shared: &Bound<'py, T>) -> Bound<'py, T> {
    shared.clone()
}

/// A new reference to an object, without a function call: it saves a third of the time per id.
#[cfg(not(Py_GIL_DISABLED))]
#[inline(always)]
fn new_reference<'py, T>(shared: &Bound<'py, T>) -> Bound<'py, T> {
    let object = shared.as_ptr();
    // SAFETY: the GIL is held. C extensions compiled for the stable ABI of Python 3.11 increment this field directly, so
    // every later Python must support it.
    unsafe {
        (*object).ob_refcnt += 1;
        Bound::from_owned_ptr(shared.py(), object).cast_into_unchecked()
    }
}

/// A list of new integers.
pub fn list<'py>(py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyList>> {
    memory::ensure(ids.len() * BYTES_PER_ID)?;
    PyList::new(py, ids)
}

/// Tuples of a start and an end, each created once, for starts and lengths below these: lists of the places of tokens
/// then hold references only, which takes a third of the time and a tenth of the memory. At most 75 MB are kept, after
/// texts that have tokens of all these lengths at all these places.
static SHARED_PAIRS: PyOnceLock<Box<[SharedPairs]>> = PyOnceLock::new();
const SHARED_STARTS: usize = 1 << 16;
const SHARED_LENGTHS: usize = 1 << 4;

/// From here on, only pairs of fewer lengths are shared.
const FAR: usize = 1 << 14;
const FAR_LENGTHS: usize = 1 << 3;

/// The tuples of this many starts, which exist once one of them was used.
type SharedPairs = PyOnceLock<Box<[PyOnceLock<Py<PyTuple>>]>>;
const STARTS_TOGETHER: usize = 1 << 7;

/// A list of pairs of numbers.
pub fn pairs<'py>(
    py: Python<'py>,
    integers: &Integers,
    pairs: impl IntoIterator<Item = (usize, usize)>,
) -> PyResult<Bound<'py, PyList>> {
    let pairs = pairs.into_iter();
    memory::ensure(pairs.size_hint().0 * BYTES_PER_PAIR)?;
    let shared = SHARED_PAIRS.get_or_init(py, || locks(SHARED_STARTS / STARTS_TOGETHER));
    let numbers = &Numbers { integers, last: Cell::new(None) };
    PyList::new(py, pairs.map(|(start, end)| PairOfNumbers { shared, numbers, start, end }))
}

fn locks<T>(count: usize) -> Box<[PyOnceLock<T>]> {
    std::iter::repeat_with(PyOnceLock::new).take(count).collect()
}

/// The integers of successive pairs: most pairs begin where the one before ends.
struct Numbers<'a, 'py> {
    integers: &'a Integers,
    last: Cell<Option<(usize, Bound<'py, PyInt>)>>,
}

impl<'py> Numbers<'_, 'py> {
    fn of_pair(&self, py: Python<'py>, start: usize, end: usize) -> [Bound<'py, PyInt>; 2] {
        let first = match self.last.take() {
            Some((number, integer)) if number == start => integer,
            _ => self.integers.of(py, start),
        };
        let second = self.integers.of(py, end);
        self.last.set(Some((end, second.clone())));
        [first, second]
    }
}

/// A pair that becomes a tuple.
struct PairOfNumbers<'a, 'py> {
    shared: &'a [SharedPairs],
    numbers: &'a Numbers<'a, 'py>,
    start: usize,
    end: usize,
}

impl<'py> IntoPyObject<'py> for PairOfNumbers<'_, 'py> {
    type Target = PyTuple;
    type Output = Bound<'py, PyTuple>;
    type Error = PyErr;

    #[inline]
    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let Self { shared, numbers, start, end } = self;
        let new = || {
            let pair = PyTuple::new(py, numbers.of_pair(py, start, end))?;
            // SAFETY: the tuple is complete, and the garbage collector tracks it. It need not, as integers refer to
            // nothing; the collector itself stops tracking such a tuple when it first examines it.
            unsafe { ffi::PyObject_GC_UnTrack(pair.as_ptr().cast()) };
            Ok::<_, PyErr>(pair)
        };
        let length = end.wrapping_sub(start);
        let lengths = if start < FAR { SHARED_LENGTHS } else { FAR_LENGTHS };
        if start >= SHARED_STARTS || length >= lengths {
            return new();
        }
        let (together, start) = (start / STARTS_TOGETHER, start % STARTS_TOGETHER);
        let pairs = shared[together].get_or_init(py, || locks(STARTS_TOGETHER * lengths));
        let pair = pairs[start * lengths + length].get_or_try_init(py, || new().map(Bound::unbind))?;
        Ok(new_reference(pair.bind(py)))
    }
}

/// A new array of a few ids: this is faster than to hand over a vector, which needs another object to own the memory.
pub fn copied_array<'py, T: Id + Element>(py: Python<'py>, ids: &[u32]) -> Bound<'py, PyAny> {
    // SAFETY: every element is written before anybody else has the array.
    let array = unsafe {
        let array = PyArray1::<T>::new(py, ids.len(), false);
        let first = array.data();
        ids.iter().enumerate().for_each(|(place, &id)| first.add(place).write(T::from_id(id)));
        array
    };
    array.into_any()
}

/// Ids from a caller: borrowed if they are in memory as the engine needs them, otherwise copied.
pub enum Ids<'py> {
    Borrowed(SharedIds<'py>),
    Copied(Vec<u32>),
}

impl Ids<'_> {
    pub fn len(&self) -> usize {
        match self {
            Self::Borrowed(array) => array.ids().len(),
            Self::Copied(ids) => ids.len(),
        }
    }
}

/// Ids in an array, which other threads may write to while they are read.
pub struct SharedIds<'py> {
    ids: &'py [AtomicU32],
    _array: Bound<'py, PyArray1<u32>>,
}

impl SharedIds<'_> {
    /// The ids; each is read atomically.
    pub fn ids(&self) -> &[AtomicU32] {
        self.ids
    }
}

/// The ids of a list, an array of integers, or any iterable of integers.
///
/// An integer that cannot be an id (negative, or beyond 32 bits) is a `KeyError`, like an unknown id.
pub fn ids_from<'py>(ids: &Bound<'py, PyAny>) -> PyResult<Ids<'py>> {
    // The check for an array imports NumPy; a list does not need it.
    if !ids.is_instance_of::<PyList>()
        && let Some(plain) = plain_array(ids)
    {
        return Ok(Ids::Borrowed(plain));
    }
    copied(ids).map(Ids::Copied)
}

/// An array of contiguous 32-bit ids.
fn plain_array<'py>(ids: &Bound<'py, PyAny>) -> Option<SharedIds<'py>> {
    let array = ids.cast::<PyArray1<u32>>().ok()?.clone();
    if !array.is_c_contiguous() || !array.data().is_aligned() {
        return None;
    }
    let start =
        if array.is_empty() { NonNull::dangling().as_ptr() } else { array.data().cast::<AtomicU32>() };
    // SAFETY: the array holds this many contiguous, aligned ids, and `SharedIds` keeps it alive. NumPy neither moves nor
    // frees the memory of an array that has other references (unless `resize(refcheck=False)` disables the check). The ids
    // are only read, and as atomics, so other threads may write to them meanwhile.
    let ids = unsafe { std::slice::from_raw_parts(start.cast_const(), array.len()) };
    Some(SharedIds { ids, _array: array })
}

/// The ids of a list.
pub fn ids_in_list(list: &Bound<'_, PyList>) -> PyResult<Vec<u32>> {
    let mut copied = Vec::new();
    memory::reserve(&mut copied, list.len())?;
    for id in list.iter() {
        memory::push(&mut copied, id_from(&id)?)?;
    }
    Ok(copied)
}

fn copied(ids: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    if let Ok(list) = ids.cast::<PyList>() {
        return ids_in_list(list);
    }
    let mut copied = Vec::new();
    if let Ok(array) = ids.cast::<PyUntypedArray>() {
        return ids_from_array(array);
    }
    if ids.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("ids: a str was given where integers are expected"));
    }
    if is_integer(ids)? {
        return Err(PyTypeError::new_err(format!("ids must be several integers: give [{ids}]")));
    }
    for id in items(ids, "ids must be several integers")? {
        memory::push(&mut copied, id_from(&id?)?)?;
    }
    Ok(copied)
}

/// One id. `bool` is refused although Python counts it among the integers.
pub fn id_from(id: &Bound<'_, PyAny>) -> PyResult<u32> {
    if id.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err(format!("ids must be integers, not {id}")));
    }
    id.extract::<u32>().map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(id.py()) {
            return PyKeyError::new_err(id.clone().unbind());
        }
        let kind = id.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!("ids must be integers, not {kind}"))
    })
}

fn ids_from_array(array: &Bound<'_, PyUntypedArray>) -> PyResult<Vec<u32>> {
    if array.ndim() != 1 {
        return Err(PyTypeError::new_err(format!("ids: the array has {} dimensions, not one", array.ndim())));
    }
    let ids = copy::<u32>(array)
        .or_else(|| copy::<u16>(array))
        .or_else(|| copy::<i64>(array))
        .or_else(|| copy::<i32>(array))
        .or_else(|| copy::<u64>(array))
        .or_else(|| copy::<u8>(array))
        .or_else(|| copy::<i16>(array))
        .or_else(|| copy::<i8>(array));
    ids.unwrap_or_else(|| {
        let kind = array.dtype();
        // An empty array is accepted whatever its type: `np.array([])` has floats.
        if array.is_empty() {
            Ok(Vec::new())
        } else {
            Err(PyTypeError::new_err(format!("ids must be integers, not {kind}")))
        }
    })
}

/// The elements of an array of this type as ids; `None` if the array has another type.
fn copy<T: Element + Copy + TryInto<u32> + Into<i128>>(
    array: &Bound<'_, PyUntypedArray>,
) -> Option<PyResult<Vec<u32>>> {
    let array = array.cast::<PyArray1<T>>().ok()?;
    let readonly = array.try_readonly().ok()?;
    let mut ids = Vec::new();
    let fitting = memory::reserve(&mut ids, readonly.len()).map_err(PyErr::from).and_then(|()| {
        readonly.as_array().iter().try_for_each(|&id| {
            ids.push(id.try_into().map_err(|_| unknown(id))?);
            Ok(())
        })
    });
    Some(fitting.map(|()| ids))
}

fn unknown(id: impl Into<i128>) -> PyErr {
    PyKeyError::new_err(id.into())
}
