//! A range of an array, checked against what the array says of itself.

use std::ops::Range;

use super::interface::{ArrowArray, ArrowSchema};
use crate::error::{Error, Result};
use crate::memory;

/// The values of an array from `start` on.
#[derive(Clone, Copy)]
pub struct ArrayPart<'a> {
    pub schema: &'a ArrowSchema,
    pub array: &'a ArrowArray,
    pub start: usize,
    pub length: usize,
}

/// No array has more values, nor more bytes.
const MOST: usize = isize::MAX as usize / 16;

impl<'a> ArrayPart<'a> {
    pub fn new(schema: &'a ArrowSchema, array: &'a ArrowArray) -> Result<Self> {
        let length = usize::try_from(array.length).map_err(|_| broken("its length is negative"))?;
        let start = usize::try_from(array.offset).map_err(|_| broken("its offset is negative"))?;
        if start.checked_add(length).is_none_or(|end| end > MOST) {
            return Err(broken("it is too long"));
        }
        Ok(Self { schema, array, start, length })
    }

    /// The first child at the places of a range.
    pub fn child(self, range: Range<usize>) -> Result<Self> {
        let (schema, array) = self.schema.child(0).zip(self.array.child(0)).ok_or_else(missing)?;
        let whole = Self::new(schema, array)?;
        if range.end > whole.length {
            return Err(broken("it has more rows than what it is made of"));
        }
        Ok(Self { start: whole.start + range.start, length: range.len(), ..whole })
    }

    /// The values of the dictionary.
    pub fn dictionary(self) -> Result<Self> {
        let (schema, array) = self.schema.dictionary().zip(self.array.dictionary()).ok_or_else(missing)?;
        Self::new(schema, array)
    }

    /// A buffer of values of some bytes each, from the first value of the array on, whatever its view begins with. They
    /// need not be aligned.
    pub fn buffer<const SIZE: usize>(self, number: usize, values: usize) -> Result<&'a [[u8; SIZE]]> {
        if values == 0 {
            return Ok(&[]);
        }
        let start = self.array.buffer(number).ok_or_else(missing)?;
        if values > MOST {
            return Err(broken("it is too long"));
        }
        // SAFETY: the library answers for the length of its buffers, which live as long as the array.
        Ok(unsafe { std::slice::from_raw_parts(start.cast(), values) })
    }

    /// The values of a buffer at the places of this view, and so many more.
    pub fn values<const SIZE: usize>(self, number: usize, more: usize) -> Result<&'a [[u8; SIZE]]> {
        if self.length == 0 {
            return Ok(&[]);
        }
        Ok(&self.buffer(number, self.start + self.length + more)?[self.start..])
    }

    /// Which of the values are not null.
    pub fn validity(self) -> Result<Validity<'a>> {
        if self.array.null_count == 0 || self.length == 0 || self.array.buffer(0).is_none() {
            return Ok(Validity { bits: None, start: 0 });
        }
        let bits = self.buffer::<1>(0, (self.start + self.length).div_ceil(8))?.as_flattened();
        Ok(Validity { bits: Some(bits), start: self.start })
    }

    /// The bounds of strings or lists: one more than there are, unless there are none. They ascend.
    pub fn bounds(self) -> Result<Vec<usize>> {
        // Formats with upper-case letters have offsets of 64 bits. A negative number becomes one that is too large.
        let bounds: Vec<usize> = if self.schema.format().contains(['U', 'Z', 'L']) {
            let offsets = self.values(1, 1)?.iter();
            memory::gathered(offsets.map(|&offset| i64::from_ne_bytes(offset) as usize))
        } else {
            let offsets = self.values(1, 1)?.iter();
            memory::gathered(offsets.map(|&offset| i32::from_ne_bytes(offset) as usize))
        }?;
        if bounds.is_sorted() && bounds.last().is_none_or(|&end| end <= MOST) {
            return Ok(bounds);
        }
        Err(broken("its offsets do not ascend"))
    }

    /// Integers of any width; one that is too large becomes negative. `what` they are is for the error.
    pub fn integers(self, what: &str) -> Result<Vec<i64>> {
        macro_rules! of {
            ($type:ty) => {
                memory::gathered(self.values(1, 0)?.iter().map(|&bytes| <$type>::from_ne_bytes(bytes) as i64))
            };
        }
        match self.schema.format() {
            "c" => of!(i8),
            "C" => of!(u8),
            "s" => of!(i16),
            "S" => of!(u16),
            "i" => of!(i32),
            "I" => of!(u32),
            "l" => of!(i64),
            "L" => of!(u64),
            format => Err(Error::Type(format!("{what} must be integers, not {}", described(format)))),
        }
    }
}

/// Which values are not null; without bits, all of them are there.
#[derive(Clone, Copy)]
pub struct Validity<'a> {
    bits: Option<&'a [u8]>,
    start: usize,
}

impl Validity<'_> {
    pub fn has(self, row: usize) -> bool {
        let bit = self.start + row;
        self.bits.is_none_or(|bits| bits[bit / 8] >> (bit % 8) & 1 == 1)
    }
}

/// The usual name of a format.
pub fn described(format: &str) -> &str {
    match format {
        "b" => "bool",
        "c" | "s" | "i" | "l" | "C" | "S" | "I" | "L" => "integers",
        "e" | "f" | "g" => "floating-point numbers",
        "+l" | "+L" | "+vl" | "+vL" => "lists",
        "+s" => "structs",
        "+m" => "maps",
        "+r" => "runs (run-end encoded)",
        "u" | "U" | "vu" => "strings",
        "z" | "Z" | "vz" => "bytes",
        _ if format.starts_with("+w:") => "lists of a fixed size",
        _ if format.starts_with("w:") => "bytes of a fixed size",
        _ if format.starts_with('t') => "times",
        _ => format,
    }
}

pub fn broken(why: &str) -> Error {
    Error::Value(format!("the column contradicts itself: {why}"))
}

fn missing() -> Error {
    broken("a part of it is missing")
}
