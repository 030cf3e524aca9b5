//! Decompresses gzip block by block.

use flate2::{Decompress, FlushDecompress, Status};

use crate::error::{Error, Result};

/// The logarithm of the size of gzip's window.
const WINDOW: u8 = 15;

/// Decompresses gzip with any number of members.
pub struct Gunzip {
    stream: Decompress,
    /// Whether a member has ended, or none begun.
    between: bool,
}

impl Default for Gunzip {
    fn default() -> Self {
        Self { stream: Decompress::new_gzip(WINDOW), between: true }
    }
}

impl Gunzip {
    /// Unpacks a block until `unpacked` is full, and returns how much of the block that took. Zeros
    /// between members are padding, as in `gzip -d` and Python.
    pub fn take_block(&mut self, block: &[u8], unpacked: &mut Vec<u8>) -> Result<usize> {
        let mut rest = block;
        while unpacked.len() < unpacked.capacity() {
            if self.between {
                let padding = rest.iter().take_while(|&&byte| byte == 0).count();
                rest = &rest[padding..];
                if rest.is_empty() {
                    break;
                }
                self.stream.reset(true);
            }
            let read_before = self.stream.total_in();
            let length_before = unpacked.len();
            let status = self
                .stream
                .decompress_vec(rest, unpacked, FlushDecompress::None)
                .map_err(|error| Error::Value(error.message().unwrap_or("no gzip").to_owned()))?;
            let read = (self.stream.total_in() - read_before) as usize;
            rest = &rest[read..];
            self.between = matches!(status, Status::StreamEnd);
            let has_stopped = read == 0 && unpacked.len() == length_before;
            if has_stopped && !self.between {
                break;
            }
        }
        Ok(block.len() - rest.len())
    }

    /// Fails if a member is incomplete.
    pub fn check_end(&self) -> Result<()> {
        if self.between {
            return Ok(());
        }
        Err(Error::Value("it ends too early".into()))
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
        let (mut gunzip, mut all, mut unpacked) =
            (Gunzip::default(), Vec::new(), Vec::with_capacity(size));
        for mut block in blocks.iter().copied() {
            loop {
                let taken = gunzip.take_block(block, &mut unpacked)?;
                block = &block[taken..];
                if unpacked.len() < unpacked.capacity() {
                    assert!(block.is_empty());
                    break;
                }
                all.append(&mut unpacked);
            }
        }
        gunzip.check_end()?;
        all.append(&mut unpacked);
        Ok(all)
    }

    #[test]
    fn members_are_unpacked_wherever_blocks_end_and_however_much_at_a_time() {
        let text: Vec<u8> =
            (0..5000u32).flat_map(|number| [b'a', (number * number % 251) as u8]).collect();
        let members = [packed(&text), packed(b""), packed(&[7; 70_000])].concat();
        let whole = [&text[..], &[7; 70_000]].concat();
        for (step, size) in
            [(1, 1000), (2, 65_536), (3, 7), (100, 1), (members.len(), 1 << 20), (members.len(), 3)]
        {
            let blocks: Vec<&[u8]> = members.chunks(step).collect();
            assert_eq!(
                unpacked(&blocks, size).unwrap(),
                whole,
                "blocks of {step}, {size} at a time"
            );
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
    }

    #[test]
    fn what_breaks_off_anywhere_or_is_damaged_is_refused() {
        let whole = [packed(b"some text, some text"), packed(b"more")].concat();
        let first = packed(b"some text, some text").len();
        for end in 1..whole.len() {
            assert_eq!(unpacked(&[&whole[..end]], 64).is_err(), end != first, "{end}");
        }
        for (place, message) in [
            (1, "header"),
            (first - 8, "data check"),
            (first - 4, "length check"),
            (first, "header"),
        ] {
            let mut damaged = whole.clone();
            damaged[place] ^= 1;
            let error = unpacked(&[&damaged], 64).unwrap_err().to_string();
            assert!(error.contains(message), "{place}: {error}");
        }
    }
}
