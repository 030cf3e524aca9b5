//! A vector in large pages, for values that are read and written in no order.

use std::ops::{Deref, DerefMut};

use super::cells::{Cells, Content, Plain};
use crate::error::Result;

/// Values that take large pages where they are many.
pub struct Rows<T> {
    cells: Cells<T>,
    len: usize,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self { cells: Cells::default(), len: 0 }
    }
}

/// The least capacity.
const FEW: usize = 64;

impl<T: Plain + Copy> Rows<T> {
    /// No values yet, and room for so many. Room that is never used takes addresses, but no memory.
    pub fn with_capacity(values: usize) -> Result<Self> {
        Ok(Self { cells: Cells::new(values, Content::LateZeros)?, len: 0 })
    }

    /// Makes room for `more` values.
    #[inline(always)]
    pub fn reserve(&mut self, more: usize) -> Result<()> {
        if self.cells.len() - self.len >= more { Ok(()) } else { self.grow(more) }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) -> Result<()> {
        let capacity = self.len.saturating_add(more).max(2 * self.cells.len()).max(FEW);
        let mut larger = Cells::new(capacity, Content::LateZeros)?;
        larger[..self.len].copy_from_slice(self);
        self.cells = larger;
        Ok(())
    }

    /// Appends a value.
    #[inline(always)]
    pub fn push(&mut self, value: T) -> Result<()> {
        self.reserve(1)?;
        self.cells[self.len] = value;
        self.len += 1;
        Ok(())
    }

    /// Appends values.
    pub fn extend(&mut self, values: &[T]) -> Result<()> {
        let start = self.len;
        self.lengthen(start + values.len())?;
        self[start..].copy_from_slice(values);
        Ok(())
    }

    /// Makes it at least `len` values long. The new ones are zeros.
    pub fn lengthen(&mut self, len: usize) -> Result<()> {
        self.reserve(len.saturating_sub(self.len))?;
        self.len = self.len.max(len);
        Ok(())
    }
}

impl<T: Plain> Deref for Rows<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.cells[..self.len]
    }
}

impl<T: Plain> DerefMut for Rows<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.cells[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_grow_like_a_vector_beyond_the_size_of_a_large_page() {
        let mut rows = Rows::<u32>::with_capacity(3).unwrap();
        for value in 0..1 << 20 {
            rows.push(value).unwrap();
        }
        rows.extend(&[7, 8]).unwrap();
        rows.lengthen(1).unwrap();
        assert_eq!(rows.len(), (1 << 20) + 2);
        assert!(rows[..1 << 20].iter().copied().eq(0..1 << 20));
        rows[1] = 9;
        assert_eq!((rows[1], rows[1 << 20..].to_vec()), (9, vec![7, 8]));
        rows.lengthen((1 << 20) + 5).unwrap();
        assert_eq!(rows.len(), (1 << 20) + 5);
    }
}
