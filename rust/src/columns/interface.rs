//! The structs of Arrow's C interface. Each is released when it is dropped, by the library that made it.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null;

use crate::error::{Error, Result};

type Release<T> = Option<unsafe extern "C" fn(*mut T)>;

/// What the values of an array are.
#[repr(C)]
pub struct ArrowSchema {
    pub format: *const c_char,
    pub name: *const c_char,
    pub metadata: *const c_char,
    pub flags: i64,
    pub n_children: i64,
    pub children: *mut *mut ArrowSchema,
    pub dictionary: *mut ArrowSchema,
    pub release: Release<Self>,
    pub private_data: *mut c_void,
}

/// The values.
#[repr(C)]
pub struct ArrowArray {
    pub length: i64,
    pub null_count: i64,
    pub offset: i64,
    pub n_buffers: i64,
    pub n_children: i64,
    pub buffers: *mut *const c_void,
    pub children: *mut *mut ArrowArray,
    pub dictionary: *mut ArrowArray,
    pub release: Release<Self>,
    pub private_data: *mut c_void,
}

/// Successive arrays of one schema.
#[repr(C)]
pub struct ArrowStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowStream) -> *const c_char>,
    release: Release<Self>,
    private_data: *mut c_void,
}

macro_rules! released_when_dropped {
    ($($struct:ident)*) => {$(
        impl Drop for $struct {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: what is not released yet may be, once, by whoever owns it; release() marks it.
                    unsafe { release(self) }
                }
            }
        }

        // SAFETY: the interface lets any one thread at a time use and release a struct.
        unsafe impl Send for $struct {}
        // SAFETY: whoever only borrows a struct reads its fields, which nobody changes meanwhile.
        unsafe impl Sync for $struct {}

        impl $struct {
            /// One that is released.
            pub fn empty() -> Self {
                // SAFETY: zeros are null pointers, numbers, and no functions.
                unsafe { std::mem::zeroed() }
            }

            /// Take over what a library has made.
            ///
            /// # Safety
            /// It must be a valid struct that nobody else uses; it is left as a released one.
            pub unsafe fn taken(from: *mut Self) -> Result<Self> {
                // SAFETY: by the condition above.
                let taken = unsafe { from.replace(Self::empty()) };
                if taken.release.is_some() { Ok(taken) } else { Err(used_up()) }
            }
        }
    )*};
}

released_when_dropped!(ArrowSchema ArrowArray ArrowStream);

impl ArrowSchema {
    /// The format of the values, as Arrow writes it.
    pub fn format(&self) -> &str {
        text_at(self.format)
    }

    pub fn name(&self) -> &str {
        text_at(self.name)
    }

    /// What the values of a dictionary are.
    pub fn dictionary(&self) -> Option<&Self> {
        // SAFETY: if there is one, it lives as long as this schema.
        unsafe { self.dictionary.as_ref() }
    }

    pub fn child(&self, number: usize) -> Option<&Self> {
        // SAFETY: there are as many children as the schema says, which live as long.
        unsafe { child_of(self.children, self.n_children, number)?.as_ref() }
    }
}

impl ArrowArray {
    pub fn dictionary(&self) -> Option<&Self> {
        // SAFETY: if there is one, it lives as long as this array.
        unsafe { self.dictionary.as_ref() }
    }

    pub fn child(&self, number: usize) -> Option<&Self> {
        // SAFETY: there are as many children as the array says, which live as long.
        unsafe { child_of(self.children, self.n_children, number)?.as_ref() }
    }

    /// Where a buffer begins.
    pub fn buffer(&self, number: usize) -> Option<*const u8> {
        let is_there = i64::try_from(number).is_ok_and(|number| number < self.n_buffers);
        if !is_there || self.buffers.is_null() {
            return None;
        }
        // SAFETY: there are as many buffers as the array says.
        let start = unsafe { *self.buffers.add(number) };
        (!start.is_null()).then_some(start.cast())
    }
}

/// # Safety
/// There must be so many children.
unsafe fn child_of<T>(children: *mut *mut T, count: i64, number: usize) -> Option<*const T> {
    let is_there = i64::try_from(number).is_ok_and(|number| number < count);
    // SAFETY: by the condition above.
    (is_there && !children.is_null()).then(|| unsafe { (*children.add(number)).cast_const() })
}

fn text_at<'a>(text: *const c_char) -> &'a str {
    if text.is_null() {
        return "";
    }
    // SAFETY: a text of the interface ends in a null byte, and lives as long as the struct that is borrowed by callers.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}

impl ArrowStream {
    /// The schema of all arrays.
    pub fn schema(&mut self) -> Result<ArrowSchema> {
        let mut schema = ArrowSchema::empty();
        let Some(get) = self.get_schema else { return Err(used_up()) };
        // SAFETY: the stream is not released, and the schema is an empty struct.
        let code = unsafe { get(self, &raw mut schema) };
        self.checked(code).map(|()| schema)
    }

    /// The next array, if there is one.
    pub fn next_array(&mut self) -> Result<Option<ArrowArray>> {
        let mut array = ArrowArray::empty();
        let Some(get) = self.get_next else { return Err(used_up()) };
        // SAFETY: the stream is not released, and the array is an empty struct.
        let code = unsafe { get(self, &raw mut array) };
        self.checked(code)?;
        Ok(array.release.is_some().then_some(array))
    }

    fn checked(&mut self, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let said = match self.get_last_error {
            // SAFETY: the stream is not released, and its last call failed.
            Some(get) => unsafe { get(self) },
            None => null(),
        };
        let reason = match text_at(said) {
            "" => format!("error {code}"),
            reason => reason.to_owned(),
        };
        Err(Error::Value(format!("the stream of columns ended with an error: {reason}")))
    }
}

fn used_up() -> Error {
    Error::Value("the column was used up before".to_owned())
}
