//! Calls to Python that may not return.
//!
//! If the interpreter ends while a call runs in another thread, Python before 3.14 ends that thread
//! by unwinding its stack. PyO3's own calls are not made for that: the process would be aborted.
//! Nor may a thread take the GIL once the interpreter has ended, while the process still does.
//! Here, such a thread waits for the end of the process instead, as it does under later versions.

use std::hint::black_box;
use std::mem;
use std::ptr;

use pyo3::exceptions::PyStopIteration;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The function as PyO3 declares it, and as it is: it may unwind.
type PlainCall = unsafe extern "C" fn(*mut PyObject, *mut PyObject, *mut PyObject) -> *mut PyObject;
type Call =
    unsafe extern "C-unwind" fn(*mut PyObject, *mut PyObject, *mut PyObject) -> *mut PyObject;

/// Does work with the GIL, in a thread that had it and has perhaps released it.
#[expect(clippy::disallowed_methods)]
pub fn attach<R>(work: impl FnOnce(Python<'_>) -> R) -> R {
    // SAFETY: both may be called at any moment. While the interpreter ends, the thread that ends it
    // still has a state.
    if unsafe { ffi::Py_IsInitialized() == 0 && ffi::PyGILState_GetThisThreadState().is_null() } {
        wait_for_the_end();
    }
    Python::attach(work)
}

/// Calls a function.
pub fn call<'py>(
    function: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    // The compiler must not see which function it is: by its declaration, it never unwinds.
    let plain: PlainCall = black_box(ffi::PyObject_Call);
    // SAFETY: both are the same function; the new type adds that it may unwind.
    let call = unsafe { mem::transmute::<PlainCall, Call>(plain) };
    // SAFETY: these are a callable object and a tuple, which are borrowed for the call; the GIL is
    // held.
    let result =
        returning(|| unsafe { call(function.as_ptr(), arguments.as_ptr(), ptr::null_mut()) });
    // SAFETY: the result is a new reference, or null after an error.
    unsafe { Bound::from_owned_ptr_or_err(function.py(), result) }
}

/// Returns the next value of an iterator, of which this is the method `__next__`.
pub fn next<'py>(method: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    match call(method, &PyTuple::empty(method.py())) {
        Err(error) if error.is_instance_of::<PyStopIteration>(method.py()) => Ok(None),
        value => value.map(Some),
    }
}

/// Makes a call of the interpreter, and nothing else: if it is unwound, this thread stops. (Errors
/// are fetched afterwards, as PyO3 panics if one is its `PanicException`.)
fn returning<R>(call: impl FnOnce() -> R) -> R {
    let unwound = Unwound;
    let result = call();
    mem::forget(unwound);
    result
}

/// Stops the thread that drops it.
struct Unwound;

impl Drop for Unwound {
    fn drop(&mut self) {
        wait_for_the_end();
    }
}

/// Waits until the process has ended.
fn wait_for_the_end() -> ! {
    loop {
        std::thread::park();
    }
}
