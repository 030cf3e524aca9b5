//! Texts of a column: the place of each, in the buffers where it is.

use super::interface::{ArrowArray, ArrowSchema};
use super::view::{ArrayPart, Validity, broken, of_32};
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
        let view = single_column(ArrayPart::new(schema, array)?)?;
        memory::reserve(&mut self.places, view.length)?;
        read(view, &mut |text| self.push(text))
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
    if table.validity()?.is_some() {
        return Err(Error::Value("a table is no column of texts: it has rows that are null".to_owned()));
    }
    table.child(0, table.start, table.length)
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

type Push<'p, 'a> = &'p mut dyn FnMut(Option<&'a [u8]>) -> Result<()>;

fn read<'a>(view: ArrayPart<'a>, push: Push<'_, 'a>) -> Result<()> {
    if view.array.dictionary().is_some() { of_dictionary(view, push) } else { of_values(view, push) }
}

fn of_values<'a>(view: ArrayPart<'a>, push: Push<'_, 'a>) -> Result<()> {
    let validity = view.validity()?;
    match view.schema.format() {
        "u" | "z" => of_strings(view, of_32, validity, push),
        "U" | "Z" => of_strings(view, i64::from_ne_bytes, validity, push),
        "vu" | "vz" => of_views(view, validity, push),
        "n" => (0..view.length).try_for_each(|_| push(None)),
        _ => Err(broken("its dictionary is missing")),
    }
}

fn has(validity: Option<Validity>, row: usize) -> bool {
    validity.is_none_or(|validity| validity.has(row))
}

fn of_strings<'a, const SIZE: usize>(
    view: ArrayPart<'a>,
    offset: fn([u8; SIZE]) -> i64,
    validity: Option<Validity>,
    push: Push<'_, 'a>,
) -> Result<()> {
    let bounds = view.bounds(offset)?;
    let content = view.buffer::<1>(2, bounds.end())?.as_flattened();
    bounds.ranges().enumerate().try_for_each(|(row, range)| push(has(validity, row).then(|| &content[range])))
}

/// The bytes of a text in its view, if they are so few.
const IN_VIEW: usize = 12;

fn of_views<'a>(view: ArrayPart<'a>, validity: Option<Validity>, push: Push<'_, 'a>) -> Result<()> {
    let count = usize::try_from(view.array.n_buffers).ok().and_then(|count| count.checked_sub(3));
    let count = count.ok_or_else(|| broken("a part of it is missing"))?;
    let sizes = view.buffer::<8>(count + 2, count)?;
    let contents = sizes.iter().enumerate().map(|(number, &size)| {
        let size = usize::try_from(i64::from_ne_bytes(size)).map_err(|_| broken("a size is negative"))?;
        Ok(view.buffer::<1>(number + 2, size)?.as_flattened())
    });
    let contents = contents.collect::<Result<Vec<&[u8]>>>()?;
    for (row, text) in view.values::<16>(1)?.iter().enumerate() {
        if !has(validity, row) {
            push(None)?;
            continue;
        }
        let [length, _, buffer, start] = fields(text);
        let bytes = match length {
            0..=IN_VIEW => text.get(4..4 + length),
            _ => contents.get(buffer).and_then(|content| content.get(start..start.checked_add(length)?)),
        };
        push(Some(bytes.ok_or_else(|| broken("a text lies outside of its buffer"))?))?;
    }
    Ok(())
}

/// The four numbers of a view: the length of a text, its beginning, the number of its buffer and its place there.
fn fields(view: &[u8; 16]) -> [usize; 4] {
    let numbers = view.as_chunks::<4>().0;
    std::array::from_fn(|at| usize::try_from(i32::from_ne_bytes(numbers[at])).unwrap_or(usize::MAX))
}

fn of_dictionary<'a>(view: ArrayPart<'a>, push: Push<'_, 'a>) -> Result<()> {
    let mut texts: Vec<Option<&[u8]>> = Vec::new();
    of_values(view.dictionary()?, &mut |text| memory::push(&mut texts, text))?;
    let validity = view.validity()?;
    let mut push = |(row, index): (usize, Option<usize>)| {
        if !has(validity, row) {
            return push(None);
        }
        let text = index.and_then(|index| texts.get(index));
        push(*text.ok_or_else(|| broken("an index lies outside of its dictionary"))?)
    };
    super::lists::integers(view, "the indices of a dictionary")?.enumerate().try_for_each(&mut push)
}
