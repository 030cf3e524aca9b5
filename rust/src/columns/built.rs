//! Columns that the engine has made, as other libraries take them.

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use super::interface::{ArrowArray, ArrowSchema};
use crate::encode::Id;
use crate::error::Result;
use crate::memory;

/// A column, whose buffers stay as long as anybody has it.
pub struct BuiltColumn {
    pub rows: usize,
    format: &'static CStr,
    name: &'static CStr,
    nulls: usize,
    /// The first has a bit for each row that is not null, if any is.
    buffers: Vec<Option<Box<dyn Buffer>>>,
    child: Option<Arc<Self>>,
}

/// Values on the heap, which stay where they are.
trait Buffer: Send + Sync {
    fn start(&self) -> *const c_void;
}

impl<T: Send + Sync> Buffer for Vec<T> {
    fn start(&self) -> *const c_void {
        self.as_ptr().cast()
    }
}

impl BuiltColumn {
    pub fn counts(counts: Vec<u64>, nulls: &[usize]) -> Result<Self> {
        Self::new(c"L", counts.len(), nulls, vec![Some(Box::new(counts))])
    }

    /// Lists of ids; `offsets` has the end of each behind a zero.
    pub fn ids<T: Id>(ids: Vec<T>, offsets: Vec<u64>, nulls: &[usize]) -> Result<Self> {
        let format = if size_of::<T>() == 2 { c"S" } else { c"I" };
        let values = Self::new(format, ids.len(), &[], vec![Some(Box::new(ids))])?;
        let rows = offsets.len() - 1;
        let (format, offsets) = narrow(c"+l", c"+L", offsets)?;
        let lists = Self::new(format, rows, nulls, vec![Some(offsets)])?;
        Ok(Self { child: Some(Arc::new(Self { name: c"item", ..values })), ..lists })
    }

    /// Texts; `offsets` has the end of each behind a zero.
    pub fn texts(offsets: Vec<u64>, bytes: Vec<u8>, nulls: &[usize]) -> Result<Self> {
        let rows = offsets.len() - 1;
        let (format, offsets) = narrow(c"u", c"U", offsets)?;
        Self::new(format, rows, nulls, vec![Some(offsets), Some(Box::new(bytes))])
    }

    fn new(
        format: &'static CStr,
        rows: usize,
        nulls: &[usize],
        mut buffers: Vec<Option<Box<dyn Buffer>>>,
    ) -> Result<Self> {
        let mut bits = Vec::new();
        if !nulls.is_empty() {
            bits = memory::filled(u8::MAX, rows.div_ceil(8))?;
            nulls.iter().for_each(|row| bits[row / 8] &= !(1 << (row % 8)));
        }
        buffers.insert(0, (!nulls.is_empty()).then(|| Box::new(bits) as Box<dyn Buffer>));
        Ok(Self { rows, format, name: c"", nulls: nulls.len(), buffers, child: None })
    }

    /// The schema, for another library to release.
    pub fn schema(&self) -> ArrowSchema {
        const NULLABLE: i64 = 2;
        let kept = Kept::new(self.child.as_ref().map(|child| child.schema()), Vec::new(), None);
        ArrowSchema {
            format: self.format.as_ptr(),
            name: self.name.as_ptr(),
            flags: NULLABLE,
            n_children: self.child.is_some().into(),
            // SAFETY: it was just made.
            children: unsafe { &raw mut (*kept).pointer },
            release: Some(release_schema),
            private_data: kept.cast(),
            ..ArrowSchema::empty()
        }
    }

    /// The values, for another library to release.
    pub fn array(self: &Arc<Self>) -> ArrowArray {
        let child = self.child.as_ref().map(Self::array);
        let buffers =
            self.buffers.iter().map(|buffer| buffer.as_ref().map_or(null(), |buffer| buffer.start()));
        let kept = Kept::new(child, buffers.collect(), Some(self.clone()));
        ArrowArray {
            length: self.rows as i64,
            null_count: self.nulls as i64,
            n_buffers: self.buffers.len() as i64,
            n_children: self.child.is_some().into(),
            // SAFETY: it was just made.
            buffers: unsafe { (*kept).buffers.as_mut_ptr() },
            // SAFETY: as above.
            children: unsafe { &raw mut (*kept).pointer },
            release: Some(release_array),
            private_data: kept.cast(),
            ..ArrowArray::empty()
        }
    }
}

/// Offsets of 32 bits with the first format if they fit, as all libraries take these, or else of 64 bits with the other.
fn narrow(
    short: &'static CStr,
    long: &'static CStr,
    offsets: Vec<u64>,
) -> Result<(&'static CStr, Box<dyn Buffer>)> {
    if offsets.last().is_none_or(|&end| end > i32::MAX as u64) {
        return Ok((long, Box::new(offsets)));
    }
    let offsets: Vec<i32> = memory::gathered(offsets.iter().map(|&offset| offset as i32))?;
    Ok((short, Box::new(offsets)))
}

/// What a struct that was handed out refers to. Dropping it releases the child, if nobody took it.
struct Kept<T> {
    _child: Option<Box<T>>,
    /// Where the child is.
    pointer: *mut T,
    buffers: Vec<*const c_void>,
    _column: Option<Arc<BuiltColumn>>,
}

impl<T> Kept<T> {
    fn new(child: Option<T>, buffers: Vec<*const c_void>, column: Option<Arc<BuiltColumn>>) -> *mut Self {
        let child = child.map(Box::new);
        let mut kept = Box::new(Self { _child: child, pointer: null_mut(), buffers, _column: column });
        kept.pointer = kept._child.as_deref_mut().map_or(null_mut(), |child| child);
        Box::into_raw(kept)
    }
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the interface calls this once, for a schema that `BuiltColumn::schema` made.
    unsafe {
        drop(Box::from_raw((*schema).private_data.cast::<Kept<ArrowSchema>>()));
        (*schema).release = None;
    }
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: the interface calls this once, for an array that `BuiltColumn::array` made.
    unsafe {
        drop(Box::from_raw((*array).private_data.cast::<Kept<ArrowArray>>()));
        (*array).release = None;
    }
}
