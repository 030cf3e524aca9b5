//! Lists of ids in a column.

use super::interface::{ArrowArray, ArrowSchema};
use super::view::{ArrayPart, described};
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
        if !["+l", "+L"].contains(&schema.format()) {
            let kind = described(schema.format());
            return Err(Error::Type(format!("the column must hold lists of ids, not {kind}")));
        }
        let view = ArrayPart::new(schema, array)?;
        let (validity, bounds) = (view.validity()?, view.bounds()?);
        let (Some(&first), Some(&last)) = (bounds.first(), bounds.last()) else { return Ok(()) };
        let child = view.child(first..last)?;
        let are_there = child.validity()?;
        if !(0..child.length).all(|place| are_there.has(place)) {
            return Err(Error::Value("the column has lists with an id that is null".to_owned()));
        }
        let ids = child.integers("ids")?;
        memory::reserve(&mut self.ids, ids.len())?;
        memory::reserve(&mut self.ends, view.length)?;
        for (row, bounds) in bounds.windows(2).enumerate() {
            let number = self.ends.len();
            if validity.has(row) {
                for &id in &ids[bounds[0] - first..bounds[1] - first] {
                    self.ids.push(u32::try_from(id).map_err(|_| {
                        Error::Value(format!("row {number}: an id is negative or too large"))
                    })?);
                }
            } else {
                memory::push(&mut self.nulls, number)?;
            }
            self.ends.push(self.ids.len());
        }
        Ok(())
    }
}
