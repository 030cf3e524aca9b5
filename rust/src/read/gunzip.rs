//! Decompresses gzip block by block.

use flate2::{Decompress, FlushDecompress, Status};

use crate::error::{Error, Result};
use crate::memory;

/// The logarithm of the size of gzip's window.
const WINDOW: u8 = 15;

/// Decompresses gzip with any number of members.
pub struct Gunzip {
    stream: Decompress,
    /// Whether a member has ended, or none begun.
    between: bool,
    /// Whether any member has begun.
    begun: bool,
    /// The decompressed bytes, followed by free space.
    room: Vec<u8>,
    length: usize,
}

impl Default for Gunzip {
    fn default() -> Self {
        Self {
            stream: Decompress::new_gzip(WINDOW),
            between: true,
            begun: false,
            room: Vec::new(),
            length: 0,
        }
    }
}

impl Gunzip {
    /// Unpack a block until there are so many bytes; how much of it that took.
    pub fn take_block(&mut self, block: &[u8], size: usize) -> Result<usize> {
        memory::lengthen(&mut self.room, size)?;
        let mut taken = 0;
        while self.length < size {
            if self.between && self.begun {
                // Zeros after a member are padding, as in `gzip -d` and Python.
                taken += block[taken..].iter().take_while(|&&byte| byte == 0).count();
            }
            let block = &block[taken..];
            if self.between && block.is_empty() {
                break;
            }
            self.begun = true;
            let (more, unpacked) = self.step(block, size)?;
            taken += more;
            self.length += unpacked;
            if more == 0 && unpacked == 0 && !self.between {
                break;
            }
        }
        Ok(taken)
    }

    /// Go on within a member, or with the next one: how many bytes were taken, and how many unpacked.
    fn step(&mut self, block: &[u8], size: usize) -> Result<(usize, usize)> {
        if self.between {
            self.stream.reset(true);
        }
        let before = (self.stream.total_in(), self.stream.total_out());
        let room = &mut self.room[self.length..size];
        let status = self
            .stream
            .decompress(block, room, FlushDecompress::None)
            .map_err(|error| Error::Value(error.message().unwrap_or("no gzip").to_owned()))?;
        self.between = matches!(status, Status::StreamEnd);
        let (taken, unpacked) = (self.stream.total_in() - before.0, self.stream.total_out() - before.1);
        Ok((taken as usize, unpacked as usize))
    }

    /// The decompressed bytes.
    pub fn unpacked(&self) -> &[u8] {
        &self.room[..self.length]
    }

    /// Make room for more decompressed bytes.
    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// Fail if a member is incomplete.
    pub fn check_end(&self) -> Result<()> {
        if self.between { Ok(()) } else { Err(Error::Value("it ends too early".into())) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// What blocks hold, so many bytes at a time.
    fn unpacked(blocks: &[&[u8]], size: usize) -> Result<Vec<u8>> {
        let (mut gunzip, mut unpacked) = (Gunzip::default(), Vec::new());
        for mut block in blocks.iter().copied() {
            loop {
                let taken = gunzip.take_block(block, size)?;
                block = &block[taken..];
                if gunzip.unpacked().len() < size {
                    assert!(block.is_empty());
                    break;
                }
                unpacked.extend_from_slice(gunzip.unpacked());
                gunzip.clear();
            }
        }
        gunzip.check_end()?;
        unpacked.extend_from_slice(gunzip.unpacked());
        Ok(unpacked)
    }

    #[test]
    fn members_are_unpacked_wherever_blocks_end_and_however_much_at_a_time() {
        let text: Vec<u8> = (0..5000u32).flat_map(|number| [b'a', (number * number % 251) as u8]).collect();
        let members = [packed(&text), packed(b""), packed(&[7; 70_000])].concat();
        let whole = [&text[..], &[7; 70_000]].concat();
        for (step, size) in
            [(1, 1000), (2, 65_536), (3, 7), (100, 1), (members.len(), 1 << 20), (members.len(), 3)]
        {
            let blocks: Vec<&[u8]> = members.chunks(step).collect();
            assert_eq!(unpacked(&blocks, size).unwrap(), whole, "blocks of {step}, {size} at a time");
        }
    }

    #[test]
    fn zeros_behind_members_are_left_out() {
        for zeros in [1, 7, 512] {
            let padded = [packed(b"one "), vec![0; zeros], packed(b"two"), vec![0; zeros]].concat();
            for step in [1, 5, padded.len()] {
                let blocks: Vec<&[u8]> = padded.chunks(step).collect();
                assert_eq!(unpacked(&blocks, 64).unwrap(), b"one two");
            }
        }
        assert!(unpacked(&[&[0; 20]], 64).is_err());
        assert!(unpacked(&[&[&[0], &packed(b"a")[..]].concat()], 64).is_err());
    }

    #[test]
    fn what_breaks_off_anywhere_or_is_damaged_is_refused() {
        let whole = [packed(b"some text, some text"), packed(b"more")].concat();
        let first = packed(b"some text, some text").len();
        for end in 1..whole.len() {
            assert_eq!(unpacked(&[&whole[..end]], 64).is_err(), end != first, "{end}");
        }
        for (place, message) in
            [(1, "header"), (first - 8, "data check"), (first - 4, "length check"), (first, "header")]
        {
            let mut damaged = whole.clone();
            damaged[place] ^= 1;
            let error = unpacked(&[&damaged], 64).unwrap_err().to_string();
            assert!(error.contains(message), "{place}: {error}");
        }
    }
}
