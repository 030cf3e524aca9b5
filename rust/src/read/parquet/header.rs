//! The metadata of Parquet: the places of a column's pages, and the header of each page.

use super::none_is_null;
use super::thrift::{Fields, Value};

/// The header of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// The size of the header, and of the levels before the page.
    pub length: usize,
    /// The size of the page, compressed and uncompressed.
    pub packed: usize,
    pub unpacked: usize,
    /// Whether the page is compressed, if its column is.
    pub is_packed: bool,
    pub levels: Levels,
    pub kind: PageKind,
    /// The number of rows, or of entries of a dictionary.
    pub values: usize,
}

/// The kinds of pages that nearly all files have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PageKind {
    /// Strings to which later pages refer by number.
    Dictionary,
    Strings,
    Numbers,
}

/// The place of the levels, which say which rows are null.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Levels {
    /// At the beginning of the page, if its column has nulls.
    Within,
    /// Before the page, so many bytes. They say that no row is null.
    Before(usize),
}

/// The encoding of strings in a row, each after its length.
const PLAIN: i64 = 0;
/// The encoding of numbers in a dictionary, which is also an older name of `PLAIN` within one.
const PLAIN_DICTIONARY: i64 = 2;
const RLE_DICTIONARY: i64 = 8;
/// The encoding of which rows are null.
const RLE: i64 = 3;

impl Header {
    /// The header at the beginning of `bytes`; `None` if it is incomplete or that of another kind of page.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(bytes);
        let (mut page, mut is_packed) = ([None; 6], true);
        let [kind, unpacked, packed] = fields.integers(|fields, number, value| match (number, value) {
            (5 | 7 | 8, Value::Structure) => {
                page = fields.integers(|fields, number, value| match (number, value) {
                    (7, Value::Boolean(is)) => {
                        is_packed = is;
                        Some(())
                    }
                    _ => fields.skip(number, value),
                })?;
                Some(())
            }
            _ => fields.skip(number, value),
        })?;
        let size = |value: Option<i64>| usize::try_from(value?).ok();
        let (kind, unpacked, packed, length) = (kind?, size(unpacked)?, size(packed)?, fields.place());
        let values = size(page[0])?;
        if kind == 3 {
            return Self {
                length,
                packed,
                unpacked,
                kind: PageKind::Strings,
                values,
                is_packed,
                levels: Levels::Within,
            }
            .behind_levels(page, bytes.get(length..)?);
        }
        let [_, encoding, levels, repetitions, ..] = page;
        let kind = match (kind, encoding?) {
            (0, PLAIN) => PageKind::Strings,
            (0, PLAIN_DICTIONARY | RLE_DICTIONARY) => PageKind::Numbers,
            (2, PLAIN | PLAIN_DICTIONARY) => PageKind::Dictionary,
            _ => return None,
        };
        let knows_levels = kind == PageKind::Dictionary || levels == Some(RLE) && repetitions.is_some();
        knows_levels.then_some(Self {
            length,
            packed,
            unpacked,
            is_packed: true,
            levels: Levels::Within,
            kind,
            values,
        })
    }

    /// The header of a page of version 2: the levels, which are not compressed, become a part of it.
    fn behind_levels(self, page: [Option<i64>; 6], behind: &[u8]) -> Option<Self> {
        let [_, nulls, rows, encoding, levels, repetitions] = page;
        if nulls != Some(0) || repetitions != Some(0) || usize::try_from(rows?) != Ok(self.values) {
            return None;
        }
        let kind = match encoding? {
            PLAIN => PageKind::Strings,
            PLAIN_DICTIONARY | RLE_DICTIONARY => PageKind::Numbers,
            _ => return None,
        };
        let size = usize::try_from(levels?).ok()?;
        if size > 0 && !none_is_null(behind.get(..size)?, self.values)? {
            return None;
        }
        Some(Self {
            length: self.length + size,
            packed: self.packed.checked_sub(size)?,
            unpacked: self.unpacked.checked_sub(size)?,
            kind,
            levels: Levels::Before(size),
            ..self
        })
    }

    pub fn is_dictionary(&self) -> bool {
        self.kind == PageKind::Dictionary
    }
}

/// The places of a column's pages in one row group.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// The encodings that its pages may have.
    pub encodings: Vec<i64>,
    pub codec: i64,
    pub values: i64,
    /// The size of all pages, uncompressed and compressed.
    pub unpacked: i64,
    pub packed: i64,
    /// The position of the first page.
    pub start: i64,
}

impl Chunk {
    /// Those of a column, from the metadata of a file; `None` if anything about them is unclear.
    pub fn read_all(metadata: &[u8], column: usize) -> Option<Vec<Self>> {
        let mut all = Vec::new();
        Fields::new(metadata).structure(&mut |fields, number, value| match (number, value) {
            (4, Value::List(groups)) => fields.structures(groups, &mut |fields, _| {
                all.push(Self::read_in_group(fields, column)?);
                Some(())
            }),
            _ => fields.skip(number, value),
        })?;
        Some(all)
    }

    fn read_in_group(fields: &mut Fields, column: usize) -> Option<Self> {
        let mut found = None;
        fields.structure(&mut |fields, number, value| match (number, value) {
            (1, Value::List(chunks)) => fields.structures(chunks, &mut |fields, place| {
                let chunk = Self::read(fields);
                if place == column {
                    found = chunk?;
                }
                Some(())
            }),
            _ => fields.skip(number, value),
        })?;
        found
    }

    /// The next one; `Some(None)` if it is in another file, or lacks a field.
    fn read(fields: &mut Fields) -> Option<Option<Self>> {
        let (mut told, mut encodings, mut is_here) = ([None; 11], Vec::new(), true);
        fields.structure(&mut |fields, number, value| match (number, value) {
            (3, Value::Structure) => {
                told = fields.integers(|fields, number, value| match (number, value) {
                    (2, Value::List(list)) => {
                        encodings = fields.integers_of(list)?;
                        Some(())
                    }
                    _ => fields.skip(number, value),
                })?;
                Some(())
            }
            _ => {
                is_here &= number != 1;
                fields.skip(number, value)
            }
        })?;
        let [_, _, _, codec, values, unpacked, packed, _, data, _, dictionary] = told;
        let chunk = || {
            let start = dictionary.filter(|&start| start > 0).or(data)?;
            let (codec, values, unpacked, packed) = (codec?, values?, unpacked?, packed?);
            Some(Self { encodings, codec, values, unpacked, packed, start })
        };
        Some(chunk().filter(|_| is_here))
    }
}
