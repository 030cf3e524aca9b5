//! A range of an array, checked against what the array says of itself.

use super::interface::{ArrowArray, ArrowSchema};
use crate::error::{Error, Result};

/// The values of an array from `start` on.
#[derive(Clone, Copy)]
pub struct ArrayPart<'a> {
    pub schema: &'a ArrowSchema,
    pub array: &'a ArrowArray,
    pub start: usize,
    pub length: usize,
}

impl<'a> ArrayPart<'a> {
    pub fn new(schema: &'a ArrowSchema, array: &'a ArrowArray) -> Result<Self> {
        let length = usize::try_from(array.length).map_err(|_| broken("its length is negative"))?;
        let start = usize::try_from(array.offset).map_err(|_| broken("its offset is negative"))?;
        if start.checked_add(length).is_none_or(|end| end > MOST) {
            return Err(broken("it is too long"));
        }
        Ok(Self { schema, array, start, length })
    }

    /// The child at the places of a range.
    pub fn child(self, number: usize, start: usize, length: usize) -> Result<Self> {
        let (schema, array) = self.schema.child(number).zip(self.array.child(number)).ok_or_else(missing)?;
        let whole = Self::new(schema, array)?;
        if start.checked_add(length).is_none_or(|end| end > whole.length) {
            return Err(broken("it has more rows than what it is made of"));
        }
        Ok(Self { start: whole.start + start, length, ..whole })
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

    /// The values of a buffer at the places of this view.
    pub fn values<const SIZE: usize>(self, number: usize) -> Result<&'a [[u8; SIZE]]> {
        if self.length == 0 {
            return Ok(&[]);
        }
        Ok(&self.buffer(number, self.start + self.length)?[self.start..])
    }

    /// Which of the values are not null; `None` if all of them are there.
    pub fn validity(self) -> Result<Option<Validity<'a>>> {
        if self.array.null_count == 0 || self.length == 0 || self.array.buffer(0).is_none() {
            return Ok(None);
        }
        let bits = self.buffer::<1>(0, (self.start + self.length).div_ceil(8))?.as_flattened();
        Ok(Some(Validity { bits, start: self.start }))
    }

    /// The bounds of strings or lists: one more than there are. They ascend.
    pub fn bounds<const SIZE: usize>(self, read: fn([u8; SIZE]) -> i64) -> Result<Bounds<'a, SIZE>> {
        let offsets = match self.length {
            0 => &[],
            _ => &self.buffer(1, self.start + self.length + 1)?[self.start..],
        };
        let ascend = offsets.is_sorted_by(|&before, &after| read(before) <= read(after));
        if !ascend || offsets.first().is_some_and(|&first| read(first) < 0) {
            return Err(broken("its offsets do not ascend"));
        }
        Ok(Bounds { offsets, read })
    }
}

/// No array has more values, nor more bytes.
const MOST: usize = isize::MAX as usize / 16;

/// Which values are not null.
#[derive(Clone, Copy)]
pub struct Validity<'a> {
    bits: &'a [u8],
    start: usize,
}

impl Validity<'_> {
    pub fn has(self, row: usize) -> bool {
        let bit = self.start + row;
        self.bits[bit / 8] >> (bit % 8) & 1 == 1
    }
}

/// Where strings or lists begin and end.
pub struct Bounds<'a, const SIZE: usize> {
    offsets: &'a [[u8; SIZE]],
    read: fn([u8; SIZE]) -> i64,
}

impl<const SIZE: usize> Bounds<'_, SIZE> {
    /// The end of the last one.
    pub fn end(&self) -> usize {
        self.offsets.last().map_or(0, |&last| (self.read)(last) as usize)
    }

    /// Each as a range.
    pub fn ranges(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        self.offsets.windows(2).map(|pair| (self.read)(pair[0]) as usize..(self.read)(pair[1]) as usize)
    }
}

pub fn of_32(offset: [u8; 4]) -> i64 {
    i32::from_ne_bytes(offset).into()
}

pub fn broken(why: &str) -> Error {
    Error::Value(format!("the column contradicts itself: {why}"))
}

fn missing() -> Error {
    broken("a part of it is missing")
}
