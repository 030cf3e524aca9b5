//! Texts of a column: the place of each, in the buffers where it is.

use super::interface::{ArrowArray, ArrowSchema};
use super::view::{ArrayPart, broken, described};
use super::{Nulls, null_row};
use crate::error::{Error, Result};
use crate::memory;

/// Where a text is in memory that something else keeps.
#[derive(Clone, Copy)]
pub struct TextPlace {
    start: *const u8,
    length: usize,
}

// SAFETY: it says where bytes are, and only reads them as whoever keeps these allows.
unsafe impl Send for TextPlace {}
// SAFETY: as above.
unsafe impl Sync for TextPlace {}

impl TextPlace {
    pub fn of(bytes: &[u8]) -> Self {
        Self { start: bytes.as_ptr(), length: bytes.len() }
    }

    pub fn length(self) -> usize {
        self.length
    }

    /// The bytes at the place.
    ///
    /// # Safety
    /// They must be kept, unchanged, as long as the result is used.
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: a place is that of a slice, which is kept by the condition above.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

/// The places of the texts of successive arrays.
pub struct ColumnTexts {
    pub places: Vec<TextPlace>,
    /// The numbers of the rows that are null, if these are kept or left out.
    pub nulls: Vec<usize>,
    treatment: Nulls,
    /// The number of rows so far.
    number: usize,
}

impl ColumnTexts {
    pub fn new(treatment: Nulls) -> Self {
        Self { places: Vec::new(), nulls: Vec::new(), treatment, number: 0 }
    }

    /// Add the texts of an array: of strings, or of a table with a single column of strings.
    pub fn add(&mut self, schema: &ArrowSchema, array: &ArrowArray) -> Result<()> {
        let texts = texts_of(single_column(ArrayPart::new(schema, array)?)?)?;
        memory::reserve(&mut self.places, texts.len())?;
        texts.into_iter().try_for_each(|text| self.push(text))
    }

    fn push(&mut self, text: Option<&[u8]>) -> Result<()> {
        let row = self.number;
        self.number += 1;
        if text.is_none() {
            match self.treatment {
                Nulls::Error => return Err(null_row(row)),
                Nulls::Skip => return memory::push(&mut self.nulls, row),
                Nulls::Keep => memory::push(&mut self.nulls, row)?,
                Nulls::Empty => {}
            }
        }
        memory::push(&mut self.places, TextPlace::of(text.unwrap_or_default()))
    }
}

/// A column is one, or the only one of a table.
fn single_column(table: ArrayPart) -> Result<ArrayPart> {
    if table.schema.format() != "+s" {
        return Ok(table);
    }
    let rows = table.validity()?;
    if !(0..table.length).all(|row| rows.has(row)) {
        return Err(Error::Value("a table is no column of texts: it has rows that are null".to_owned()));
    }
    table.child(table.start..table.start + table.length)
}

/// Refuse what is no column of texts, nor a table of one such column.
pub fn check_format(schema: &ArrowSchema) -> Result<()> {
    let children: Vec<&ArrowSchema> = (0..).map_while(|number| schema.child(number)).collect();
    let column = match (schema.format(), &children[..]) {
        ("+s", [column]) => column,
        ("+s", columns) => {
            let names = columns.iter().map(|column| column.name()).collect::<Vec<_>>().join(", ");
            let message = format!("a table is no column of texts: choose one of its columns ({names})");
            return Err(Error::Type(message));
        }
        _ => schema,
    };
    match column.dictionary().unwrap_or(column).format() {
        "u" | "z" | "U" | "Z" | "vu" | "vz" | "n" => Ok(()),
        format => {
            Err(Error::Type(format!("the column must hold strings or bytes, not {}", described(format))))
        }
    }
}

/// The texts of a column; None for those that are null.
fn texts_of(view: ArrayPart<'_>) -> Result<Vec<Option<&[u8]>>> {
    if view.array.dictionary().is_some() {
        return of_dictionary(view);
    }
    match view.schema.format() {
        "u" | "z" | "U" | "Z" => of_strings(view),
        "vu" | "vz" => of_views(view),
        "n" => memory::gathered((0..view.length).map(|_| None)),
        _ => Err(broken("its dictionary is missing")),
    }
}

fn of_strings(view: ArrayPart<'_>) -> Result<Vec<Option<&[u8]>>> {
    let (validity, bounds) = (view.validity()?, view.bounds()?);
    let content = view.buffer::<1>(2, bounds.last().copied().unwrap_or(0))?.as_flattened();
    let rows = bounds.windows(2).enumerate();
    memory::gathered(rows.map(|(row, bounds)| validity.has(row).then(|| &content[bounds[0]..bounds[1]])))
}

/// The bytes of a text in its view, if they are so few.
const IN_VIEW: usize = 12;

fn of_views(view: ArrayPart<'_>) -> Result<Vec<Option<&[u8]>>> {
    let count = usize::try_from(view.array.n_buffers).ok().and_then(|count| count.checked_sub(3));
    let count = count.ok_or_else(|| broken("a part of it is missing"))?;
    let sizes = view.buffer::<8>(count + 2, count)?;
    let contents = sizes.iter().enumerate().map(|(number, &size)| {
        let size = usize::try_from(i64::from_ne_bytes(size)).map_err(|_| broken("a size is negative"))?;
        Ok(view.buffer::<1>(number + 2, size)?.as_flattened())
    });
    let contents = contents.collect::<Result<Vec<&[u8]>>>()?;
    let (validity, mut texts) = (view.validity()?, Vec::new());
    for (row, text) in view.values::<16>(1, 0)?.iter().enumerate() {
        let [length, _, buffer, start] = fields(text);
        let bytes = match length {
            0..=IN_VIEW => text.get(4..4 + length),
            _ => contents.get(buffer).and_then(|content| content.get(start..start.checked_add(length)?)),
        };
        if validity.has(row) && bytes.is_none() {
            return Err(broken("a text lies outside of its buffer"));
        }
        memory::push(&mut texts, bytes.filter(|_| validity.has(row)))?;
    }
    Ok(texts)
}

/// The four numbers of a view: the length of a text, its beginning, the number of its buffer and its place there.
fn fields(view: &[u8; 16]) -> [usize; 4] {
    let numbers = view.as_chunks::<4>().0;
    std::array::from_fn(|at| usize::try_from(i32::from_ne_bytes(numbers[at])).unwrap_or(usize::MAX))
}

fn of_dictionary(view: ArrayPart<'_>) -> Result<Vec<Option<&[u8]>>> {
    let texts = texts_of(view.dictionary()?)?;
    let (validity, mut chosen) = (view.validity()?, Vec::new());
    for (row, index) in view.integers("the indices of a dictionary")?.into_iter().enumerate() {
        let text = usize::try_from(index).ok().and_then(|index| texts.get(index));
        if validity.has(row) && text.is_none() {
            return Err(broken("an index lies outside of its dictionary"));
        }
        memory::push(&mut chosen, text.copied().flatten().filter(|_| validity.has(row)))?;
    }
    Ok(chosen)
}
