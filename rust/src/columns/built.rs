//! Columns that the engine has made, as other libraries take them.

use std::any::Any;
use std::ffi::{CStr, c_void};
use std::ptr::null;
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
    buffers: Vec<Option<BuiltBuffer>>,
    child: Option<Arc<Self>>,
}

/// Values that stay where they are.
struct BuiltBuffer {
    start: *const c_void,
    _kept: Box<dyn Any + Send + Sync>,
}

// SAFETY: the values are not changed, and what keeps them may be used by any thread.
unsafe impl Send for BuiltBuffer {}
// SAFETY: as above.
unsafe impl Sync for BuiltBuffer {}

impl BuiltBuffer {
    /// Values on the heap, which stay where they are when what keeps them moves.
    fn of<T>(start: *const T, kept: impl Any + Send + Sync) -> Self {
        Self { start: start.cast(), _kept: Box::new(kept) }
    }
}

impl BuiltColumn {
    pub fn counts(counts: Vec<u64>, nulls: &[usize]) -> Result<Self> {
        Self::new(c"L", counts.len(), nulls, vec![BuiltBuffer::of(counts.as_ptr(), counts)], None)
    }

    /// Lists of ids; `offsets` has the end of each behind a zero.
    pub fn ids<T: Id>(ids: Vec<T>, offsets: Vec<u64>, nulls: &[usize]) -> Result<Self> {
        let format = if size_of::<T>() == 2 { c"S" } else { c"I" };
        let values = Self::new(format, ids.len(), &[], vec![BuiltBuffer::of(ids.as_ptr(), ids)], None)?;
        let rows = offsets.len() - 1;
        let (format, offsets) = narrow(c"+l", c"+L", offsets)?;
        let values = Arc::new(Self { name: c"item", ..values });
        Self::new(format, rows, nulls, vec![offsets], Some(values))
    }

    /// Texts; `offsets` has the end of each behind a zero.
    pub fn texts(offsets: Vec<u64>, bytes: Vec<u8>, nulls: &[usize]) -> Result<Self> {
        let rows = offsets.len() - 1;
        let (format, offsets) = narrow(c"u", c"U", offsets)?;
        Self::new(format, rows, nulls, vec![offsets, BuiltBuffer::of(bytes.as_ptr(), bytes)], None)
    }

    fn new(
        format: &'static CStr,
        rows: usize,
        nulls: &[usize],
        buffers: Vec<BuiltBuffer>,
        child: Option<Arc<Self>>,
    ) -> Result<Self> {
        let mut all = vec![validity(rows, nulls)?];
        all.extend(buffers.into_iter().map(Some));
        Ok(Self { rows, format, name: c"", nulls: nulls.len(), buffers: all, child })
    }

    /// The schema, for another library to release.
    pub fn schema(&self) -> ArrowSchema {
        const NULLABLE: i64 = 2;
        let children = self.child.as_ref().map(|child| child.schema());
        let mut kept = Box::new(Children::new(children));
        ArrowSchema {
            format: self.format.as_ptr(),
            name: self.name.as_ptr(),
            flags: NULLABLE,
            n_children: kept.pointers.len() as i64,
            children: kept.pointers.as_mut_ptr(),
            release: Some(release_schema),
            private_data: Box::into_raw(kept).cast(),
            ..ArrowSchema::empty()
        }
    }

    /// The values, for another library to release.
    pub fn array(self: &Arc<Self>) -> ArrowArray {
        let children = Children::new(self.child.as_ref().map(BuiltColumn::array));
        let buffers = self.buffers.iter();
        let buffers = buffers.map(|buffer| buffer.as_ref().map_or(null(), |buffer| buffer.start));
        let mut kept = Box::new(Exported { buffers: buffers.collect(), children, _column: self.clone() });
        ArrowArray {
            length: self.rows as i64,
            null_count: self.nulls as i64,
            n_buffers: kept.buffers.len() as i64,
            n_children: kept.children.pointers.len() as i64,
            buffers: kept.buffers.as_mut_ptr(),
            children: kept.children.pointers.as_mut_ptr(),
            release: Some(release_array),
            private_data: Box::into_raw(kept).cast(),
            ..ArrowArray::empty()
        }
    }
}

/// A bit for each row that is not null, if any is.
fn validity(rows: usize, nulls: &[usize]) -> Result<Option<BuiltBuffer>> {
    if nulls.is_empty() {
        return Ok(None);
    }
    memory::ensure(rows.div_ceil(8))?;
    let mut bits = vec![u8::MAX; rows.div_ceil(8)];
    nulls.iter().for_each(|row| bits[row / 8] &= !(1 << (row % 8)));
    Ok(Some(BuiltBuffer::of(bits.as_ptr(), bits)))
}

/// Offsets of 32 bits with the first format if they fit, as all libraries take these, or else of 64 bits with the other.
fn narrow(
    short: &'static CStr,
    long: &'static CStr,
    offsets: Vec<u64>,
) -> Result<(&'static CStr, BuiltBuffer)> {
    if offsets.last().is_none_or(|&end| end > i32::MAX as u64) {
        return Ok((long, BuiltBuffer::of(offsets.as_ptr(), offsets)));
    }
    let offsets: Vec<i32> = memory::gathered(offsets.iter().map(|&offset| offset as i32))?;
    Ok((short, BuiltBuffer::of(offsets.as_ptr(), offsets)))
}

/// The children of a struct that was handed out; dropping them releases those that nobody took.
struct Children<T> {
    pointers: Vec<*mut T>,
}

impl<T> Children<T> {
    fn new(children: impl IntoIterator<Item = T>) -> Self {
        Self { pointers: children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect() }
    }
}

impl<T> Drop for Children<T> {
    fn drop(&mut self) {
        for &child in &self.pointers {
            // SAFETY: each was made from a box, and is dropped once.
            drop(unsafe { Box::from_raw(child) });
        }
    }
}

struct Exported {
    buffers: Vec<*const c_void>,
    children: Children<ArrowArray>,
    _column: Arc<BuiltColumn>,
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the interface calls this once, for a schema that `BuiltColumn::schema` made.
    unsafe {
        drop(Box::from_raw((*schema).private_data.cast::<Children<ArrowSchema>>()));
        (*schema).release = None;
    }
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: the interface calls this once, for an array that `BuiltColumn::array` made.
    unsafe {
        drop(Box::from_raw((*array).private_data.cast::<Exported>()));
        (*array).release = None;
    }
}
