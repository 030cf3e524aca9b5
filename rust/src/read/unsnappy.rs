//! Decompresses a block of Snappy that arrives in pieces.
//!
//! A copy may reach back to the beginning of a block, but compressors divide their input into stretches of 64 KiB and
//! reach no further. [`Unsnappy`] keeps a little more than that, so it needs [`Reach`] to look at a block first.

use crate::error::{Error, Result};
use crate::memory;

/// How far a copy may reach back.
const WINDOW: usize = 1 << 16;

/// What comes next in a block.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Element {
    /// Bytes that follow as they are.
    Literal(usize),
    /// Bytes again, as many as stand so far back.
    Copy { length: usize, back: usize },
}

/// The elements of a block whose pieces arrive one after the other.
#[derive(Default)]
struct Elements {
    /// The beginning of an element, or of the size of the whole, that the last piece did not complete.
    head: [u8; 5],
    begun: usize,
    /// The uncompressed size, once it is known.
    size: Option<usize>,
}

impl Elements {
    /// The next element; `None` if the piece ends within it. Its bytes are removed from the piece.
    fn next(&mut self, piece: &mut &[u8]) -> Result<Option<Element>> {
        while let Some((&byte, rest)) = piece.split_first() {
            *piece = rest;
            self.head[self.begun] = byte;
            self.begun += 1;
            let head = &self.head[..self.begun];
            if self.size.is_none() {
                if byte < 128 {
                    let size =
                        head.iter().rev().fold(0, |size: u64, &byte| size << 7 | u64::from(byte & 127));
                    let size = u32::try_from(size).map_err(|_| broken())?;
                    (self.size, self.begun) = (Some(size as usize), 0);
                } else if self.begun == self.head.len() {
                    return Err(broken());
                }
            } else if let Some(element) = element(head) {
                self.begun = 0;
                return Ok(Some(element));
            }
        }
        Ok(None)
    }

    /// Whether a block may end here.
    fn is_between(&self) -> bool {
        self.size.is_some() && self.begun == 0
    }
}

/// The element that these bytes are, if they are complete.
fn element(head: &[u8]) -> Option<Element> {
    let (&tag, rest) = head.split_first()?;
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte));
    let upper = usize::from(tag >> 2);
    let width = match tag & 3 {
        0 => upper.saturating_sub(59),
        1 => 1,
        2 => 2,
        _ => 4,
    };
    if rest.len() < width {
        return None;
    }
    Some(match tag & 3 {
        0 if width == 0 => Element::Literal(upper + 1),
        0 => Element::Literal(number(rest).saturating_add(1)),
        1 => Element::Copy { length: 4 + (upper & 7), back: upper >> 3 << 8 | number(rest) },
        _ => Element::Copy { length: upper + 1, back: number(rest) },
    })
}

fn broken() -> Error {
    Error::Value("no Snappy".into())
}

/// Finds out whether a block can be decompressed in pieces, without decompressing it.
#[derive(Default)]
pub struct Reach {
    elements: Elements,
    /// The number of bytes of a literal that were not seen yet.
    literal: usize,
    /// The number of uncompressed bytes so far.
    made: usize,
}

impl Reach {
    /// Look at the next piece; fails if the block is broken, or a copy reaches back too far.
    pub fn take_piece(&mut self, mut piece: &[u8]) -> Result<()> {
        loop {
            let passed = self.literal.min(piece.len());
            (self.literal, piece) = (self.literal - passed, &piece[passed..]);
            match self.elements.next(&mut piece)? {
                None => return Ok(()),
                Some(Element::Literal(length)) => {
                    (self.literal, self.made) = (length, self.made.saturating_add(length));
                }
                Some(Element::Copy { length, back }) => {
                    if back == 0 || back > self.made.min(WINDOW) {
                        return Err(broken());
                    }
                    self.made += length;
                }
            }
            if self.elements.size.is_none_or(|size| self.made > size) {
                return Err(broken());
            }
        }
    }

    /// The uncompressed size, if the block is complete.
    pub fn size(&self) -> Option<usize> {
        let is_whole = self.elements.is_between() && self.literal == 0;
        self.elements.size.filter(|&size| is_whole && size == self.made)
    }
}

/// Decompresses a block piece by piece.
#[derive(Default)]
pub struct Unsnappy {
    elements: Elements,
    literal: usize,
    /// The last bytes that were handed out, as far as copies may reach, and those that were not.
    made: Vec<u8>,
    /// The number of bytes that were handed out.
    old: usize,
}

impl Unsnappy {
    /// Decompress a piece.
    pub fn take_piece(&mut self, mut piece: &[u8]) -> Result<()> {
        let kept = self.old.saturating_sub(WINDOW);
        self.made.drain(..kept);
        self.old -= kept;
        loop {
            let (literal, rest) = piece.split_at(self.literal.min(piece.len()));
            memory::extend(&mut self.made, literal)?;
            (self.literal, piece) = (self.literal - literal.len(), rest);
            match self.elements.next(&mut piece)? {
                None => return Ok(()),
                Some(Element::Literal(length)) => self.literal = length,
                Some(Element::Copy { length, back }) => {
                    let start = self.made.len().checked_sub(back).filter(|_| back > 0).ok_or_else(broken)?;
                    memory::reserve(&mut self.made, length)?;
                    if back >= length {
                        self.made.extend_from_within(start..start + length);
                    } else {
                        (start..start + length).for_each(|place| self.made.push(self.made[place]));
                    }
                }
            }
        }
    }

    /// The bytes that were decompressed since the last call.
    pub fn take(&mut self) -> &[u8] {
        let old = std::mem::replace(&mut self.old, self.made.len());
        &self.made[old..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> Vec<u8> {
        let words = |number: u32| format!("{} ", number.wrapping_mul(2_654_435_761) % 5000).into_bytes();
        let mut text: Vec<u8> = (0..60_000).flat_map(words).collect();
        text.extend([b'a'; 100_000]);
        text.extend((0..100_000_u32).map(|number| (number.wrapping_mul(number) >> 7) as u8));
        text
    }

    fn unpacked(packed: &[u8], step: usize) -> Result<Vec<u8>> {
        let (mut snappy, mut whole) = (Unsnappy::default(), Vec::new());
        for piece in packed.chunks(step) {
            snappy.take_piece(piece)?;
            whole.extend_from_slice(snappy.take());
        }
        Ok(whole)
    }

    fn size(packed: &[u8], step: usize) -> Option<usize> {
        let mut reach = Reach::default();
        packed.chunks(step).try_for_each(|piece| reach.take_piece(piece)).ok()?;
        reach.size()
    }

    #[test]
    fn a_block_is_unpacked_however_it_is_divided() {
        for text in [text(), Vec::new(), b"a".to_vec()] {
            let packed = snap::raw::Encoder::new().compress_vec(&text).unwrap();
            for step in [1, 2, 3, 1000, 1 << 16, 1 << 22] {
                assert_eq!(size(&packed, step), Some(text.len()), "{step}");
                assert!(unpacked(&packed, step).unwrap() == text, "{step}");
            }
        }
    }

    #[test]
    fn a_block_that_is_broken_or_reaches_far_is_refused() {
        let text = text();
        let packed = snap::raw::Encoder::new().compress_vec(&text).unwrap();
        for end in [0, 1, 2, 3, 1000, packed.len() - 1] {
            assert_eq!(size(&packed[..end], 100), None, "{end}");
        }
        assert_eq!(size(&[&packed[..], b"\0a"].concat(), 100), None);
        assert_eq!(size(&[255, 255, 255, 255, 255, 1], 100), None);
        // One byte, then a copy of one byte from 1, 0 and 2 bytes back.
        for (back, size_found) in [(1, Some(2)), (0, None), (2, None)] {
            assert_eq!(size(&[2, 0, b'a', 2, back, 0], 1), size_found);
        }
        let far = |back: u32| {
            let mut packed = vec![0xf1, 0xa2, 0x04, 62 << 2];
            packed.extend(&69_999_u32.to_le_bytes()[..3]);
            packed.extend([b'a'; 70_000]);
            packed.push(3);
            packed.extend(back.to_le_bytes());
            packed
        };
        assert_eq!(size(&far(1 << 16), 100), Some(70_001));
        assert_eq!(size(&far((1 << 16) + 1), 100), None);
        assert_eq!(unpacked(&far(1 << 16), 100).unwrap().len(), 70_001);
    }
}
