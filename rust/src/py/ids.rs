//! Ids as Python has them: lists, arrays and other iterables in, lists and arrays out.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

use numpy::ndarray::ArrayView1;
use numpy::{Element, PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyKeyError, PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyInt, PyList, PyString};

use crate::encode::Id;
use crate::memory;
use crate::memory::pool::Pooled;

/// Vocabularies with larger ids than this get no shared objects for theirs.
const LARGEST_SHARED: usize = 1 << 20;

/// What an id takes in a list: a reference, and an integer that may have to be made.
const FOR_EACH_ID: usize = 40;

/// The ids of a vocabulary as Python integers, each made once: a list of them is then a list of references.
pub struct Integers(Box<[PyOnceLock<Py<PyInt>>]>);

impl Integers {
    pub fn up_to(largest_id: u32) -> Self {
        let count = if largest_id as usize <= LARGEST_SHARED { largest_id as usize + 1 } else { 0 };
        Self(std::iter::repeat_with(PyOnceLock::new).take(count).collect())
    }

    pub fn list<'py>(&self, py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyList>> {
        memory::ensure(ids.len() * FOR_EACH_ID)?;
        PyList::new(py, ids.iter().map(|&id| self.get(py, id)))
    }

    #[inline]
    fn get<'py>(&self, py: Python<'py>, id: u32) -> Bound<'py, PyInt> {
        match self.0.get(id as usize) {
            Some(integer) => shared(integer.get_or_init(py, || PyInt::new(py, id).unbind()).bind(py)),
            None => PyInt::new(py, id),
        }
    }
}

/// One more reference to an integer.
#[cfg(Py_GIL_DISABLED)]
fn shared<'py>(integer: &Bound<'py, PyInt>) -> Bound<'py, PyInt> {
    integer.clone()
}

/// One more reference to an integer, without a call for it: a third of what an id in a list costs.
#[cfg(not(Py_GIL_DISABLED))]
#[inline(always)]
fn shared<'py>(integer: &Bound<'py, PyInt>) -> Bound<'py, PyInt> {
    let object = integer.as_ptr();
    // SAFETY: whoever holds the GIL may count references, and the stable interface of Python 3.10 counts them in this
    // field: every extension in C that was compiled for it does, so every later Python allows for it.
    unsafe {
        (*object).ob_refcnt += 1;
        Bound::from_owned_ptr(integer.py(), object).cast_into_unchecked()
    }
}

/// A list of new integers.
pub fn list<'py>(py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyList>> {
    memory::ensure(ids.len() * FOR_EACH_ID)?;
    PyList::new(py, ids)
}

/// What an array lies in.
#[pyclass(module = "bpetite._engine", frozen)]
struct Memory(#[allow(dead_code)] Box<dyn Any + Send + Sync>);

/// An array in the memory of ids.
pub fn array<T: Id + Element>(py: Python<'_>, mut ids: Pooled<T>) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the ids stay where they are when their owner moves, and it lives as long as the array, which has it.
    let view = unsafe { ArrayView1::from_shape_ptr(ids.len(), ids.as_mut_ptr().cast_const()) };
    let memory = Bound::new(py, Memory(Box::new(ids)))?.into_any();
    // SAFETY: nothing but the array reads or writes the ids from now on; the memory only drops them.
    Ok(unsafe { PyArray1::borrow_from_array(&view, memory) }.into_any())
}

/// Ids that a caller gave: borrowed where they lie in memory as the engine has them, else copied.
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

/// Ids in an array, into which other threads may write while they are read.
pub struct SharedIds<'py> {
    ids: &'py [AtomicU32],
    _array: Bound<'py, PyArray1<u32>>,
}

impl SharedIds<'_> {
    /// The ids; each is read as a whole, before or after whatever is written.
    pub fn ids(&self) -> &[AtomicU32] {
        self.ids
    }
}

/// The ids of a list, an array of integers, or any iterable of integers.
///
/// An integer that is no id anywhere (negative, or beyond 32 bits) is a `KeyError`, as an unknown id is.
pub fn ids_from<'py>(ids: &Bound<'py, PyAny>) -> PyResult<Ids<'py>> {
    // Of a list is known that it is no array without NumPy, which need not be imported for it.
    if !ids.is_instance_of::<PyList>()
        && let Some(plain) = plain_array(ids)
    {
        return Ok(Ids::Borrowed(plain));
    }
    copied(ids).map(Ids::Copied)
}

/// An array that has ids as the engine does, one behind the other.
fn plain_array<'py>(ids: &Bound<'py, PyAny>) -> Option<SharedIds<'py>> {
    let array = ids.cast::<PyArray1<u32>>().ok()?.clone();
    if !array.is_c_contiguous() || !array.data().is_aligned() {
        return None;
    }
    let start =
        if array.is_empty() { NonNull::dangling().as_ptr() } else { array.data().cast::<AtomicU32>() };
    // SAFETY: so many ids lie there one behind the other, aligned as they must be; they stay there as long as `SharedIds`
    // has the array: NumPy neither moves nor frees what an array lies in that somebody else refers to (unless told by
    // `resize(refcheck=False)` not to look). They are only read, and as atomics, which every other thread of the process may write to meanwhile.
    let ids = unsafe { std::slice::from_raw_parts(start.cast_const(), array.len()) };
    Some(SharedIds { ids, _array: array })
}

fn copied(ids: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    let mut copied = Vec::new();
    if let Ok(list) = ids.cast::<PyList>() {
        for id in list.iter() {
            memory::push(&mut copied, id_from(&id)?)?;
        }
        return Ok(copied);
    }
    if let Ok(array) = ids.cast::<PyUntypedArray>() {
        return ids_from_array(array);
    }
    if ids.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("ids: a str was given where integers are expected"));
    }
    for id in ids.try_iter()? {
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
        // An empty array has no ids, whatever it could hold: `np.array([])` is one of floats.
        if array.is_empty() {
            Ok(Vec::new())
        } else {
            Err(PyTypeError::new_err(format!("ids must be integers, not {kind}")))
        }
    })
}

/// The elements of an array of this type as ids; nothing if it is of another type.
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
