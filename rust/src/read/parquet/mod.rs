//! Pages of a Parquet column in, the texts in them out.
//!
//! The specification is pyarrow. This reader takes only well-formed pages of the kinds that nearly all files have: strings
//! in a row, or their numbers in a dictionary of strings. It leaves all others to pyarrow, including the error message: other
//! encodings, nulls, and broken files.

use std::ops::Range;

use super::GatheredTexts;
use crate::error::Result;
use crate::memory;

mod header;
mod strings;
mod thrift;

pub use header::{Chunk, Header};

use header::{Levels, PageKind};
use strings::{StreamedStrings, StringPart};
use thrift::unsigned;

/// The maximum number of values of a page.
const VALUES: usize = 1 << 18;

/// A buffer for a page that is larger than this is freed before the next page.
const ROOM: usize = 1 << 26;

/// The places from here on are those of strings in a dictionary's page that is not in memory. (A page is smaller.)
const ABSENT: usize = 1 << 31;

/// A string of a dictionary that arrives in blocks is kept up to this size.
const KEPT: usize = 1 << 16;

/// Bytes with another owner.
pub type Owned = Box<dyn AsRef<[u8]> + Send + Sync>;

/// A page, as the caller gives it.
pub enum Given<'a> {
    /// Compressed by Snappy.
    Snappy(&'a [u8]),
    /// Not compressed, to be copied.
    Plain(&'a [u8]),
    /// Not compressed, to be used in place, so that a large page is in memory once.
    Kept(Owned),
}

/// An uncompressed page, in a buffer that may be larger.
#[derive(Default)]
struct Page {
    room: Vec<u8>,
    /// The page, if it is used in place.
    kept: Option<Owned>,
    /// The places of the strings: in this page, or in the dictionary if the page refers to it.
    places: Vec<Range<usize>>,
}

/// The texts of a column.
#[derive(Default)]
pub struct PageTexts {
    /// Whether rows may be null, so that pages say which ones are.
    optional: bool,
    dictionary: Page,
    page: Page,
    has_numbers: bool,
    /// The number of rows of the page that are among the texts.
    gathered: usize,
    /// The number of bytes of the next row that were handed out.
    sliced: usize,
    pub texts: GatheredTexts,
    /// The strings of a page that arrives in blocks.
    strings: StreamedStrings,
    /// The number of bytes of a text in the free space behind the others, where its other bytes will follow.
    part: usize,
    /// These bytes, while there is no buffer.
    waiting: Vec<u8>,
}

impl PageTexts {
    /// Begin another row group; it has a dictionary of its own.
    pub fn begin_group(&mut self, optional: bool) {
        self.optional = optional;
        for page in [&mut self.dictionary, &mut self.page] {
            page.places.clear();
            page.kept = None;
        }
        (self.strings, self.part) = (StreamedStrings::default(), 0);
        self.waiting.clear();
    }

    /// Take a page of at most this many rows, whose texts are gathered next. Returns the number of its rows, or `None` if the
    /// page must be left to pyarrow.
    pub fn take_page(&mut self, header: Header, given: Given, most: usize) -> Result<Option<usize>> {
        let is_dictionary = header.is_dictionary();
        if header.values > if is_dictionary { VALUES } else { VALUES.min(most) } {
            return Ok(None);
        }
        memory::ensure(header.values * (size_of::<Range<usize>>() + size_of::<u32>()))?;
        self.page.places.clear();
        (self.has_numbers, self.gathered, self.sliced) = (header.kind == PageKind::Numbers, 0, 0);
        let page = if is_dictionary { &mut self.dictionary } else { &mut self.page };
        if !page.unpack(given, header.unpacked)? {
            return Ok(None);
        }
        let Some(places) = self.find(header) else { return Ok(None) };
        if is_dictionary {
            self.dictionary.places = places;
            return Ok(Some(0));
        }
        self.page.places = places;
        Ok(Some(header.values))
    }

    /// The places of the strings of the last page.
    fn find(&self, header: Header) -> Option<Vec<Range<usize>>> {
        if header.is_dictionary() {
            return strings(&self.dictionary.bytes()[..header.unpacked], header.values);
        }
        let page = &self.page.bytes()[..header.unpacked];
        let start = self.start_of_values(header, page)?;
        if header.kind == PageKind::Strings {
            let mut places = strings(&page[start..], header.values)?;
            places.iter_mut().for_each(|place| *place = place.start + start..place.end + start);
            return Some(places);
        }
        let (&width, numbers) = page[start..].split_first()?;
        let known = &self.dictionary.places;
        let place = |number: u32| known.get(number as usize).cloned();
        runs(numbers, width.into(), header.values)?.into_iter().map(place).collect()
    }

    /// The position in a page behind the levels, which must say that no row is null.
    fn start_of_values(&self, header: Header, page: &[u8]) -> Option<usize> {
        match header.levels {
            Levels::Within if self.optional => behind_levels(page, header.values),
            Levels::Within => Some(0),
            Levels::Before(size) => (self.optional == (size > 0)).then_some(0),
        }
    }

    /// Append rows of the last page to the texts, until these have `size` bytes or the next row is longer than `longest`.
    /// Returns whether no row is left.
    pub fn gather(&mut self, size: usize, longest: usize) -> Result<bool> {
        let page = if self.has_numbers { &self.dictionary } else { &self.page };
        for row in &self.page.places[self.gathered..] {
            if self.texts.length() >= size || row.len() > longest || row.start >= ABSENT {
                return Ok(false);
            }
            self.texts.push(&page.bytes()[row.clone()])?;
            self.gathered += 1;
        }
        Ok(true)
    }

    /// The size of the next row.
    pub fn next_length(&self) -> usize {
        self.page.places.get(self.gathered).map_or(0, ExactSizeIterator::len)
    }

    /// The next bytes of the next row, at most this many; after its last byte nothing, once, and the row is done.
    pub fn take_slice(&mut self, size: usize) -> &[u8] {
        let Some(row) = self.page.places.get(self.gathered).cloned() else { return &[] };
        let start = row.start + self.sliced;
        let end = row.end.min(start + size);
        self.sliced += end - start;
        if start == end {
            (self.gathered, self.sliced) = (self.gathered + 1, 0);
        }
        let page = if self.has_numbers { &self.dictionary } else { &self.page };
        &page.bytes()[start..end]
    }

    /// The place in the dictionary's page of the next row, if it must be read from there.
    pub fn next_absent(&self) -> Option<usize> {
        self.page.places.get(self.gathered)?.start.checked_sub(ABSENT)
    }

    /// Go on behind the next row, which was read from the dictionary's page.
    pub fn skip_row(&mut self) {
        self.gathered += 1;
    }

    /// Whether the rows of the page that must be read from the dictionary's page stand there in their order, from a place on.
    pub fn are_in_order(&self, from: usize) -> bool {
        let mut last = ABSENT + from;
        self.page.places[self.gathered..].iter().filter(|row| row.start >= ABSENT).all(|row| {
            let is_behind = row.start >= last;
            last = row.end;
            is_behind
        })
    }

    /// Begin a page of at most this many rows that arrives in blocks, the first of which is given. Returns how much of it is
    /// not strings, and the number of strings, or `None` if the page must be left to pyarrow.
    pub fn begin_stream(&mut self, header: Header, block: &[u8], most: usize) -> Option<(usize, usize)> {
        self.page.places.clear();
        let is_dictionary = header.is_dictionary();
        if header.kind == PageKind::Numbers || header.values > VALUES.min(most) {
            return None;
        }
        let start = if is_dictionary { 0 } else { self.start_of_values(header, block)? };
        self.strings = StreamedStrings::new(header.values);
        self.gathered = 0;
        if is_dictionary {
            self.dictionary = Page::default();
        }
        Some((start, header.values))
    }

    /// Append the texts of a block, up to one that is longer than `longest`, whose bytes the caller reads. Returns how many
    /// bytes were read, and the length of the long text.
    pub fn stream_block(&mut self, block: &[u8], longest: usize) -> Result<(usize, Option<usize>)> {
        if !self.waiting.is_empty() {
            self.texts.room_for(self.waiting.len())?[..self.waiting.len()].copy_from_slice(&self.waiting);
            self.waiting = Vec::new();
        }
        let mut rest = block;
        while let Some(event) = self.strings.next(&mut rest) {
            match event {
                StringPart::Begins(length) if length > longest => {
                    self.strings.leave();
                    return Ok((block.len() - rest.len(), Some(length)));
                }
                StringPart::Begins(_) => {}
                StringPart::Continues(part) => {
                    let end = self.part + part.len();
                    self.texts.room_for(end)?[self.part..end].copy_from_slice(part);
                    self.part = end;
                }
                StringPart::Ends => {
                    self.texts.end_text(self.part)?;
                    self.part = 0;
                }
            }
        }
        Ok((block.len() - rest.len(), None))
    }

    /// Whether the last text of a page in blocks has ended.
    pub fn has_streamed(&self) -> bool {
        self.strings.is_done()
    }

    /// Take the next block of a dictionary: short strings are kept, and of others the places. Returns whether they fit.
    pub fn stream_dictionary(&mut self, block: &[u8], place: usize) -> Result<bool> {
        let mut rest = block;
        while let Some(event) = self.strings.next(&mut rest) {
            let Page { room, places, .. } = &mut self.dictionary;
            match event {
                StringPart::Begins(length) => {
                    let here = place + block.len() - rest.len();
                    let start = if length > KEPT { ABSENT + here } else { room.len() };
                    // The page is smaller than `ABSENT`; a string that claims to be longer is refused at its end.
                    memory::push(places, start..start.saturating_add(length))?;
                }
                StringPart::Continues(part) => {
                    if places.last().is_some_and(|place| place.start < ABSENT) {
                        memory::extend(room, part)?;
                    }
                }
                StringPart::Ends => {}
            }
            if room.len() > ROOM {
                return Ok(false);
            }
        }
        Ok(rest.is_empty())
    }

    /// Return the texts and their buffer, without the beginning of one that goes on.
    pub fn take_texts(&mut self) -> (Vec<u8>, Vec<Range<usize>>) {
        if self.part > 0 && self.waiting.is_empty() {
            let start = self.texts.length();
            self.waiting = self.texts.bytes[start..start + self.part].to_vec();
        }
        self.texts.take()
    }

    /// Drop a page that is used in place.
    pub fn drop_kept(&mut self) {
        if self.page.kept.take().is_some() {
            self.page.places.clear();
        }
    }
}

impl Page {
    fn bytes(&self) -> &[u8] {
        self.kept.as_deref().map_or(&self.room, AsRef::as_ref)
    }

    /// Take a page and decompress it; returns whether it has the size that its header says.
    fn unpack(&mut self, given: Given, size: usize) -> Result<bool> {
        let is_kept = matches!(given, Given::Kept(_));
        if self.room.len() > ROOM || (!is_kept && self.room.len() < size) {
            self.room = Vec::new();
        }
        self.kept = None;
        if !is_kept && self.room.len() < size {
            memory::ensure(2 * size)?;
            // The system provides zeros, and only when they are touched.
            self.room = vec![0; 2 * size];
            #[cfg(target_os = "linux")]
            memory::pages::ask_for_large_pages(self.room.as_ptr(), self.room.len(), size);
        }
        Ok(match given {
            Given::Kept(page) => self.kept.insert(page).as_ref().as_ref().len() == size,
            Given::Plain(page) if page.len() == size => {
                self.room[..size].copy_from_slice(page);
                true
            }
            Given::Plain(_) => false,
            Given::Snappy(packed) => {
                let unpacked = snap::raw::Decoder::new().decompress(packed, &mut self.room[..size]);
                unpacked.is_ok_and(|is| is == size)
            }
        })
    }
}

/// The places of the strings that fill a page, each after its length.
fn strings(page: &[u8], count: usize) -> Option<Vec<Range<usize>>> {
    let mut places = Vec::with_capacity(count);
    let mut end = 0;
    for _ in 0..count {
        let (length, rest) = page[end..].split_first_chunk()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        if length > rest.len() {
            return None;
        }
        let start = page.len() - rest.len();
        end = start + length;
        places.push(start..end);
    }
    (end == page.len()).then_some(places)
}

/// The position of the values in a page that first says that no row is null.
fn behind_levels(page: &[u8], count: usize) -> Option<usize> {
    let (length, rest) = page.split_first_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    none_is_null(rest.get(..length)?, count)?.then_some(size_of::<u32>() + length)
}

/// Whether these levels say that no row is null.
fn none_is_null(levels: &[u8], count: usize) -> Option<bool> {
    Some(runs(levels, 1, count)?.iter().all(|&level| level == 1))
}

/// Numbers of `width` bits in runs: one number repeated, or groups of eight packed numbers.
fn runs(mut bytes: &[u8], width: usize, count: usize) -> Option<Vec<u32>> {
    let mut numbers = Vec::with_capacity(count);
    while width <= 32 && numbers.len() < count {
        let (run, length) = unsigned(bytes)?;
        let times = usize::try_from(run >> 1).ok().filter(|&times| 0 < times && times <= count)?;
        let left = count - numbers.len();
        let is_packed = run & 1 == 1;
        let size = if is_packed { times * width } else { width.div_ceil(8) };
        let (values, rest) = bytes[length..].split_at_checked(size)?;
        if is_packed {
            numbers.extend((0..left.min(8 * times)).map(|place| bits(values, place * width, width)));
        } else {
            let value = bits(values, 0, 8 * values.len());
            numbers.extend(std::iter::repeat_n(value, left.min(times)));
        }
        bytes = rest;
    }
    (bytes.is_empty() && numbers.len() == count).then_some(numbers)
}

/// The bits from a place on, the lowest first.
fn bits(packed: &[u8], place: usize, width: usize) -> u32 {
    let mut window = [0; 8];
    let bytes = &packed[place / 8..packed.len().min(place / 8 + 8)];
    window[..bytes.len()].copy_from_slice(bytes);
    let mask = (1_u64 << width) - 1;
    (u64::from_le_bytes(window) >> (place % 8) & mask) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One run of packed numbers: eight for each group.
    fn packed(numbers: &[u32], width: usize) -> Vec<u8> {
        let mut bytes = vec![(((numbers.len() / 8) << 1) | 1) as u8];
        let bit = |place: usize| width > 0 && numbers[place / width] >> (place % width) & 1 == 1;
        let bits: Vec<bool> = (0..numbers.len() * width).map(bit).collect();
        let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
        bytes.extend(bits.chunks(8).map(byte));
        bytes
    }

    #[test]
    fn runs_of_any_width_are_read() {
        for width in 0..=32 {
            let most = ((1_u64 << width) - 1) as u32;
            let numbers: Vec<u32> = (0..24_u32).map(|n| n.wrapping_mul(2_654_435_761) & most).collect();
            let mut bytes = packed(&numbers, width);
            bytes.push(5 << 1);
            bytes.extend(&most.to_le_bytes()[..width.div_ceil(8)]);
            let expected = [&numbers[..], &[most; 5]].concat();
            assert_eq!(runs(&bytes, width, 29), Some(expected), "{width} bits");
            assert_eq!(runs(&packed(&numbers, width), width, 19), Some(numbers[..19].to_vec()));
        }
    }

    #[test]
    fn runs_that_lack_something_or_have_more_are_left() {
        let bytes = [3, 0b1010_1010, 4, 1];
        assert!(runs(&bytes, 1, 10).is_some());
        for (bytes, width, count) in [
            (&bytes[..3], 1, 10),
            (&bytes[..2], 1, 10),
            (&bytes[..], 1, 8),
            (&bytes[..], 33, 10),
            (&[0, 1], 1, 1),
            (&[255, 255, 255, 255, 255, 255, 255, 255, 255, 1], 32, 10),
            (&[], 1, 1),
        ] {
            assert_eq!(runs(bytes, width, count), None, "{bytes:?}");
        }
    }

    #[test]
    fn strings_fill_a_page() {
        let page = [2, 0, 0, 0, b'a', b'b', 0, 0, 0, 0, 1, 0, 0, 0, b'c'];
        assert_eq!(strings(&page, 3), Some(vec![4..6, 10..10, 14..15]));
        assert_eq!(strings(&page, 2), None);
        assert_eq!(strings(&page, 4), None);
        assert_eq!(strings(&page[..14], 3), None);
        assert_eq!(strings(&[255, 255, 255, 255], 1), None);
    }

    #[test]
    fn pages_of_numbers_need_the_dictionary_of_their_own_row_group() {
        let dictionary = Header {
            length: 0,
            packed: 10,
            unpacked: 10,
            kind: PageKind::Dictionary,
            values: 2,
            is_packed: true,
            levels: Levels::Within,
        };
        let numbers = Header { kind: PageKind::Numbers, packed: 3, unpacked: 3, values: 8, ..dictionary };
        let mut texts = PageTexts::default();
        texts.begin_group(false);
        let take = |header, page: &[u8], texts: &mut PageTexts| {
            texts.take_page(header, Given::Plain(page), 8).unwrap()
        };
        assert_eq!(take(dictionary, &[1, 0, 0, 0, b'a', 1, 0, 0, 0, b'b'], &mut texts), Some(0));
        assert_eq!(take(numbers, &[1, 3, 0b0000_0110], &mut texts), Some(8));
        assert!(texts.gather(100, 100).unwrap());
        assert_eq!(&texts.texts.bytes[..texts.texts.length()], b"abbaaaaa");
        texts.begin_group(false);
        assert_eq!(take(numbers, &[1, 3, 0b0000_0110], &mut texts), None);
        assert!(texts.gather(100, 100).unwrap());
        assert_eq!(texts.texts.places().len(), 8);
    }

    #[test]
    fn a_long_row_is_handed_out_in_slices() {
        let page = [1, 0, 0, 0, b'a', 5, 0, 0, 0, b'b', b'c', b'd', b'e', b'f', 0, 0, 0, 0];
        let header = Header {
            length: 0,
            packed: page.len(),
            unpacked: page.len(),
            kind: PageKind::Strings,
            values: 3,
            is_packed: true,
            levels: Levels::Within,
        };
        for given in [Given::Plain(&page), Given::Kept(Box::new(page))] {
            let mut texts = PageTexts::default();
            texts.begin_group(false);
            assert_eq!(texts.take_page(header, given, 3).unwrap(), Some(3));
            assert!(!texts.gather(100, 4).unwrap());
            assert_eq!((texts.texts.length(), texts.next_length()), (1, 5));
            for slice in [&b"bcd"[..], b"ef", b""] {
                assert_eq!(texts.take_slice(3), slice);
            }
            assert!(texts.gather(100, 4).unwrap());
            assert_eq!(texts.texts.places(), [0..1, 1..1]);
            assert_eq!((texts.next_length(), texts.take_slice(3)), (0, &b""[..]));
            texts.drop_kept();
        }
    }
}
