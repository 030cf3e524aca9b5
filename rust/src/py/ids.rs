//! Conversion of ids: from lists, arrays and other iterables, and to lists and arrays.

use std::mem;
use std::ptr;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

use numpy::{PyArray1, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyKeyError, PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyInt, PyList, PyString, PyTuple};
use pyo3::{ffi, intern};

use super::arguments::{is_integer, items, kind_of};
use crate::memory;
use crate::prefetch::{prefetch, prefetch_at};

/// For vocabularies with larger ids than this, no integer objects are shared.
const LARGEST_SHARED: usize = 1 << 20;

/// The memory of an id in a list: a reference, and possibly a new integer.
pub const BYTES_PER_ID: usize = 40;

/// The memory of a list besides its ids, and of a reference in it.
const BYTES_PER_LIST: usize = 96;
const BYTES_PER_REFERENCE: usize = size_of::<usize>();

/// The memory of a pair of numbers in a list.
pub const BYTES_PER_PAIR: usize = 160;

/// The ids of a vocabulary as Python integers, each created once, so that a list of ids holds
/// references only.
pub struct Integers(Box<[SharedInteger]>);

/// So many ids before it is written to a list, an integer is fetched: rare ones are in no cache of
/// the processor, and neither are their places among all.
const AHEAD: usize = 12;

impl Integers {
    pub fn up_to(largest_id: u32) -> Self {
        let count = if largest_id as usize <= LARGEST_SHARED { largest_id as usize + 1 } else { 0 };
        Self(std::iter::repeat_with(SharedInteger::default).take(count).collect())
    }

    pub fn list<'py>(&self, py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyList>> {
        memory::ensure(ids.len() * BYTES_PER_ID)?;
        let references = ids.iter().enumerate().map(|(place, &id)| {
            if let Some(&much_later) = ids.get(place + 2 * AHEAD) {
                prefetch(&self.0, much_later as usize);
                let later = self.0.get(ids[place + AHEAD] as usize);
                if let Some(integer) = later.and_then(|shared| shared.get(py)) {
                    prefetch_at(integer.as_ptr().cast());
                }
            }
            self.get(py, id)
        });
        PyList::new(py, references)
    }

    /// Returns the memory of lists that hold this many ids in all, besides integers that will be
    /// shared.
    pub fn bytes_of_lists(&self, lists: usize, ids: usize) -> usize {
        let bytes_per_id = if self.0.is_empty() { BYTES_PER_ID } else { BYTES_PER_REFERENCE };
        lists * BYTES_PER_LIST + ids * bytes_per_id
    }

    /// Returns the integer of any number.
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
            Some(integer) => integer.get_or_make(py, id),
            None => PyInt::new(py, id),
        }
    }
}

impl Drop for Integers {
    fn drop(&mut self) {
        // At the end of the interpreter there is nobody to give them back to.
        Python::try_attach(|py| {
            for integer in &mut self.0 {
                let object = *integer.0.get_mut();
                // SAFETY: null, or an object of which this held a reference.
                drop(unsafe { Bound::<PyAny>::from_owned_ptr_or_opt(py, object) });
            }
        });
    }
}

/// An integer that is made when it is first asked for: null, or an object of which this holds a
/// reference. It takes half of the memory of a `PyOnceLock`, so that those of a vocabulary are
/// more often in a cache of the processor.
#[derive(Default)]
struct SharedInteger(AtomicPtr<ffi::PyObject>);

impl SharedInteger {
    #[inline]
    fn get<'a, 'py>(&'a self, py: Python<'py>) -> Option<Borrowed<'a, 'py, PyInt>> {
        let object = self.0.load(Acquire);
        // SAFETY: what is not null is an integer that exists for as long as this does.
        unsafe { Some(Borrowed::from_ptr_or_opt(py, object)?.cast_unchecked()) }
    }

    #[inline]
    fn get_or_make<'py>(&self, py: Python<'py>, number: u32) -> Bound<'py, PyInt> {
        match self.get(py) {
            Some(integer) => new_reference(&integer),
            None => self.make(py, number),
        }
    }

    #[cold]
    fn make<'py>(&self, py: Python<'py>, number: u32) -> Bound<'py, PyInt> {
        let integer = PyInt::new(py, number);
        let before = self.0.compare_exchange(ptr::null_mut(), integer.as_ptr(), AcqRel, Acquire);
        // Without a GIL, another thread may have been first.
        if before.is_ok() {
            mem::forget(integer.clone());
        }
        integer
    }
}

/// Returns a new reference to an object.
#[cfg(Py_GIL_DISABLED)]
fn new_reference<'py, T>(shared: &Bound<'py, T>) -> Bound<'py, T> {
    shared.clone()
}

/// Returns a new reference to an object, without a function call: it saves a third of the time per
/// id.
#[cfg(not(Py_GIL_DISABLED))]
#[inline(always)]
fn new_reference<'py, T>(shared: &Bound<'py, T>) -> Bound<'py, T> {
    let object = shared.as_ptr();
    // SAFETY: the GIL is held. C extensions compiled for the stable ABI of Python 3.11 increment
    // this field directly, so every later Python must support it.
    unsafe {
        (*object).ob_refcnt += 1;
        Bound::from_owned_ptr(shared.py(), object).cast_into_unchecked()
    }
}

/// Returns a list of new integers.
pub fn list<'py>(py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyList>> {
    memory::ensure(ids.len() * BYTES_PER_ID)?;
    PyList::new(py, ids)
}

/// Tuples of a start and an end, each created once, for starts and lengths below these: lists of
/// the places of tokens then hold references only, which takes a third of the time and a tenth of
/// the memory. At most 50 MB are kept, after texts that have tokens of all these lengths at all
/// these places.
static SHARED_PAIRS: PyOnceLock<Box<[SharedPairs]>> = PyOnceLock::new();
const SHARED_STARTS: usize = 1 << 15;
const SHARED_LENGTHS: usize = 1 << 4;

/// The tuples of this many starts, which exist once one of them was used.
type SharedPairs = PyOnceLock<Box<[PyOnceLock<Py<PyTuple>>]>>;
const STARTS_TOGETHER: usize = 1 << 7;

/// Returns a list of pairs of numbers.
pub fn pairs<'py>(
    py: Python<'py>,
    integers: &Integers,
    pairs: impl IntoIterator<Item = (usize, usize)>,
) -> PyResult<Bound<'py, PyList>> {
    let pairs = pairs.into_iter();
    let count = pairs.size_hint().0;
    memory::ensure(count * BYTES_PER_PAIR)?;
    let shared = SHARED_PAIRS.get_or_init(py, || locks(SHARED_STARTS / STARTS_TOGETHER));
    let tuple = |start: usize, end: usize| {
        let new = || PyTuple::new(py, [integers.of(py, start), integers.of(py, end)]);
        let length = end.wrapping_sub(start);
        if start >= SHARED_STARTS || length >= SHARED_LENGTHS {
            return new();
        }
        let together = start / STARTS_TOGETHER;
        let start = start % STARTS_TOGETHER;
        let pairs = shared[together].get_or_init(py, || locks(STARTS_TOGETHER * SHARED_LENGTHS));
        let pair = pairs[start * SHARED_LENGTHS + length]
            .get_or_try_init(py, || new().map(Bound::unbind))?;
        Ok(new_reference(pair.bind(py)))
    };
    let mut list = Vec::new();
    memory::reserve(&mut list, count)?;
    for (start, end) in pairs {
        list.push(tuple(start, end)?);
    }
    PyList::new(py, list)
}

fn locks<T>(count: usize) -> Box<[PyOnceLock<T>]> {
    std::iter::repeat_with(PyOnceLock::new).take(count).collect()
}

/// Returns the ids of a list, an array of integers, or any iterable of integers.
///
/// An integer that cannot be an id (negative, or beyond 32 bits) is a `KeyError`, like an unknown
/// id.
pub fn ids_from(ids: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    numbers_from(ids, "ids")
}

/// The same for an argument of any name.
pub fn numbers_from(numbers: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<u32>> {
    if let Ok(list) = numbers.cast::<PyList>() {
        return numbers_from_list(list, name);
    }
    if let Ok(tuple) = numbers.cast::<PyTuple>() {
        return numbers_from_list(&tuple.to_list(), name);
    }
    // The check for an array imports NumPy; a list does not need it.
    if let Ok(array) = numbers.cast::<PyUntypedArray>() {
        return numbers_from_array(array, name);
    }
    if numbers.is_instance_of::<PyString>() {
        let message = format!("{name}: a str was given where integers are expected");
        return Err(PyTypeError::new_err(message));
    }
    let expected = format!("{name} must be an iterable of integers");
    if is_integer(numbers)? {
        return Err(PyTypeError::new_err(format!("{expected}: give [{numbers}]")));
    }
    let mut copied = Vec::new();
    for number in items(numbers, &expected)? {
        memory::push(&mut copied, number_from(&number?, name)?)?;
    }
    Ok(copied)
}

fn numbers_from_list(list: &Bound<'_, PyList>, name: &str) -> PyResult<Vec<u32>> {
    let mut ids = Vec::new();
    memory::reserve(&mut ids, list.len())?;
    let mut length = list.len();
    while ids.len() < length {
        let place = ids.len();
        let id = match plain_id(list, place) {
            Some(id) => id,
            None => {
                // An item that is no `int` may run code that changes the list.
                let id = number_from(&list.get_item(place)?, name)?;
                length = list.len();
                id
            }
        };
        memory::push(&mut ids, id)?;
    }
    Ok(ids)
}

/// Returns the id at a place of a list, if it is a plain `int` of 32 bits.
#[cfg(Py_GIL_DISABLED)]
fn plain_id(_: &Bound<'_, PyList>, _: usize) -> Option<u32> {
    None
}

/// Returns the id at a place of a list, if it is a plain `int` of 32 bits. It is read without a
/// reference of its own and without questions that only other types need: together, they take twice
/// as long as the rest.
#[cfg(not(Py_GIL_DISABLED))]
#[inline(always)]
fn plain_id(list: &Bound<'_, PyList>, place: usize) -> Option<u32> {
    let place = isize::try_from(place).ok()?;
    let mut overflow = 0;
    // SAFETY:
    // 1. The GIL is held, and nothing here runs Python code: the conversion of a plain `int` does
    //    not. So the list keeps the item alive.
    // 2. Behind its end, the list gives null, and sets an error, which is cleared.
    let number = unsafe {
        let item = ffi::PyList_GetItem(list.as_ptr(), place);
        if item.is_null() {
            ffi::PyErr_Clear();
            return None;
        }
        if ffi::PyLong_CheckExact(item) == 0 {
            return None;
        }
        ffi::PyLong_AsLongAndOverflow(item, &raw mut overflow)
    };
    if overflow == 0 { u32::try_from(number).ok() } else { None }
}

/// Returns one id. `bool` is refused although Python counts it among the integers.
pub fn id_from(id: &Bound<'_, PyAny>) -> PyResult<u32> {
    number_from(id, "ids")
}

/// The same for an argument of any name.
pub fn number_from(number: &Bound<'_, PyAny>, name: &str) -> PyResult<u32> {
    if number.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err(format!("{name} must be integers, not {number}")));
    }
    number.extract::<u32>().map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(number.py()) {
            return PyKeyError::new_err(number.clone().unbind());
        }
        PyTypeError::new_err(format!("{name} must be integers, not {}", kind_of(number)))
    })
}

fn numbers_from_array(array: &Bound<'_, PyUntypedArray>, name: &str) -> PyResult<Vec<u32>> {
    let dimensions = array.ndim();
    if dimensions != 1 {
        return Err(PyTypeError::new_err(format!(
            "{name}: the array has {dimensions} dimensions, not one"
        )));
    }
    if let Ok(array) = array.cast::<PyArray1<u32>>()
        && let Ok(readonly) = array.try_readonly()
        && let Ok(slice) = readonly.as_slice()
    {
        let mut ids = Vec::new();
        memory::extend(&mut ids, slice)?;
        return Ok(ids);
    }
    // An empty array is accepted whatever its type: `np.array([])` has floats.
    if !array.is_empty() && !matches!(array.dtype().kind(), b'i' | b'u') {
        let kind = array.dtype();
        return Err(PyTypeError::new_err(format!("{name} must be integers, not {kind}")));
    }
    // An id beyond 63 bits becomes another one that no vocabulary has.
    let wide =
        array.call_method1(intern!(array.py(), "astype"), (intern!(array.py(), "int64"),))?;
    let wide = wide.cast::<PyArray1<i64>>()?.readonly();
    let mut ids = Vec::new();
    memory::reserve(&mut ids, wide.len())?;
    for &id in wide.as_slice()? {
        ids.push(u32::try_from(id).map_err(|_| PyKeyError::new_err(id))?);
    }
    Ok(ids)
}
