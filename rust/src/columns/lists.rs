//! Lists of ids in a column.

use super::interface::{ArrowArray, ArrowSchema};
use super::texts::described;
use super::view::{ArrayPart, of_32};
use crate::error::{Error, Result};
use crate::memory;

/// Lists of ids: all ids, and where each list ends.
#[derive(Default)]
pub struct IdLists {
    pub ids: Vec<u32>,
    pub ends: Vec<usize>,
    /// The numbers of the rows that are null: their lists are empty.
    pub nulls: Vec<usize>,
}

impl IdLists {
    /// Add the lists of an array.
    pub fn add(&mut self, schema: &ArrowSchema, array: &ArrowArray) -> Result<()> {
        let view = ArrayPart::new(schema, array)?;
        match schema.format() {
            "+l" => self.add_lists(view, of_32),
            "+L" => self.add_lists(view, i64::from_ne_bytes),
            format => {
                Err(Error::Type(format!("the column must hold lists of ids, not {}", described(format))))
            }
        }
    }

    fn add_lists<const SIZE: usize>(&mut self, view: ArrayPart, offset: fn([u8; SIZE]) -> i64) -> Result<()> {
        let (validity, bounds) = (view.validity()?, view.bounds(offset)?);
        let first = bounds.ranges().next().map_or(0, |range| range.start);
        let child = view.child(0, first, bounds.end() - first)?;
        if child.validity()?.is_some_and(|validity| (0..child.length).any(|place| !validity.has(place))) {
            return Err(Error::Value("the column has lists with an id that is null".to_owned()));
        }
        let (mut ids, before) = (integers(child, "ids")?, self.ends.len());
        memory::reserve(&mut self.ids, child.length)?;
        memory::reserve(&mut self.ends, view.length)?;
        for (row, range) in bounds.ranges().enumerate() {
            let is_there = validity.is_none_or(|validity| validity.has(row));
            for id in ids.by_ref().take(range.len()).filter(|_| is_there) {
                let id = id.and_then(|id| u32::try_from(id).ok());
                self.ids.push(id.ok_or_else(|| {
                    Error::Value(format!("row {}: an id is negative or too large", before + row))
                })?);
            }
            if !is_there {
                memory::push(&mut self.nulls, before + row)?;
            }
            self.ends.push(self.ids.len());
        }
        Ok(())
    }
}

/// Integers of any width; `None` for one that is negative. `what` they are is for the error.
pub fn integers<'a>(view: ArrayPart<'a>, what: &str) -> Result<Box<dyn Iterator<Item = Option<usize>> + 'a>> {
    macro_rules! of {
        ($type:ty) => {
            Box::new(view.values(1)?.iter().map(|&bytes| usize::try_from(<$type>::from_ne_bytes(bytes)).ok()))
        };
    }
    Ok(match view.schema.format() {
        "c" => of!(i8),
        "C" => of!(u8),
        "s" => of!(i16),
        "S" => of!(u16),
        "i" => of!(i32),
        "I" => of!(u32),
        "l" => of!(i64),
        "L" => of!(u64),
        format => {
            return Err(Error::Type(format!("{what} must be integers, not {}", described(format))));
        }
    })
}
