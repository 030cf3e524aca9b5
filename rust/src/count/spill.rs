//! Counts that do not fit in memory: sorted pretokens in, a temporary file of runs, and all of them merged again out.
//!
//! A run is a list of pretokens in the order of their bytes, each as: the length it shares with the one before, the
//! length of the rest, the rest, its count. Numbers are written seven bits to a byte, the low ones first.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering as MemoryOrder};

use super::source::read_exact_at;
use crate::error::{Error, Result};
use crate::memory;

/// How much is written at once.
const WRITTEN: usize = if cfg!(test) { 40 } else { 1 << 18 };

/// How much of all runs is held in memory while they are merged, and the least of each run.
const READ: usize = if cfg!(test) { 100 } else { 1 << 22 };
const READ_OF_EACH: usize = if cfg!(test) { 24 } else { 1 << 12 };

/// A temporary file of runs. It has no name any more, so that it is gone with the process, however that ends.
pub struct Spill {
    file: File,
    path: PathBuf,
    end: u64,
    runs: Vec<Range<u64>>,
}

impl Spill {
    pub fn new() -> Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, MemoryOrder::Relaxed);
        let path = std::env::temp_dir().join(format!("bpetite-counts-{}-{number}", std::process::id()));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(windows)]
        {
            // FILE_FLAG_DELETE_ON_CLOSE
            std::os::windows::fs::OpenOptionsExt::custom_flags(&mut options, 0x0400_0000);
        }
        let failed = |source| Error::Io { path: path.clone(), source };
        let file = options.open(&path).map_err(failed)?;
        #[cfg(not(windows))]
        std::fs::remove_file(&path).map_err(failed)?;
        Ok(Self { file, path, end: 0, runs: Vec::new() })
    }

    /// How many runs there are.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Begin a run.
    pub fn write(&mut self) -> RunWriter<'_> {
        let start = self.end;
        RunWriter { spill: self, start, last: Vec::new(), buffer: Vec::with_capacity(WRITTEN) }
    }

    fn io_error(&self, source: std::io::Error) -> Error {
        Error::Io { path: self.path.clone(), source }
    }
}

/// Writes one run.
pub struct RunWriter<'a> {
    spill: &'a mut Spill,
    start: u64,
    last: Vec<u8>,
    buffer: Vec<u8>,
}

impl RunWriter<'_> {
    /// Add a pretoken, which must come after the one before it.
    pub fn push(&mut self, pretoken: &[u8], count: u64) -> Result<()> {
        let shared = self.last.iter().zip(pretoken).take_while(|(one, other)| one == other).count();
        push_number(&mut self.buffer, shared as u64);
        push_number(&mut self.buffer, (pretoken.len() - shared) as u64);
        memory::extend(&mut self.buffer, &pretoken[shared..])?;
        push_number(&mut self.buffer, count);
        self.last.truncate(shared);
        memory::extend(&mut self.last, &pretoken[shared..])?;
        if self.buffer.len() >= WRITTEN { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.spill.file.write_all(&self.buffer).map_err(|source| self.spill.io_error(source))?;
        self.spill.end += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// End the run.
    pub fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.spill.runs.push(self.start..self.spill.end);
        Ok(())
    }
}

fn push_number(buffer: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        buffer.push(number as u8 | 0x80);
        number >>= 7;
    }
    buffer.push(number as u8);
}

/// Reads one run.
struct RunReader<'a> {
    spill: &'a Spill,
    /// What was not read yet.
    left: Range<u64>,
    buffer: Vec<u8>,
    position: usize,
    capacity: usize,
    pretoken: Vec<u8>,
    count: u64,
}

impl<'a> RunReader<'a> {
    fn new(spill: &'a Spill, left: Range<u64>, capacity: usize) -> Self {
        Self { spill, left, buffer: Vec::new(), position: 0, capacity, pretoken: Vec::new(), count: 0 }
    }

    /// Go to the next pretoken; `false` at the end.
    fn advance(&mut self) -> Result<bool> {
        if self.position == self.buffer.len() && self.left.is_empty() {
            return Ok(false);
        }
        let shared = self.number()? as usize;
        let mut rest = self.number()? as usize;
        self.pretoken.truncate(shared);
        while rest > 0 {
            self.refill()?;
            let part = &self.buffer[self.position..];
            let part = &part[..part.len().min(rest)];
            memory::extend(&mut self.pretoken, part)?;
            self.position += part.len();
            rest -= part.len();
        }
        self.count = self.number()?;
        Ok(true)
    }

    fn number(&mut self) -> Result<u64> {
        let (mut number, mut shift) = (0, 0);
        loop {
            self.refill()?;
            let byte = self.buffer[self.position];
            self.position += 1;
            number |= u64::from(byte & 0x7F) << shift;
            shift += 7;
            if byte < 0x80 {
                return Ok(number);
            }
        }
    }

    /// Read on if nothing is left in the buffer.
    fn refill(&mut self) -> Result<()> {
        if self.position < self.buffer.len() {
            return Ok(());
        }
        let size = (self.left.end - self.left.start).min(self.capacity as u64);
        self.buffer.resize(size as usize, 0);
        self.position = 0;
        let read = read_exact_at(&self.spill.file, &mut self.buffer, self.left.start);
        read.map_err(|source| self.spill.io_error(source))?;
        self.left.start += size;
        Ok(())
    }
}

/// Pretokens from several runs, each once, in the order of their bytes.
pub struct Merged<'a> {
    /// The run whose pretoken comes first is on top.
    runs: BinaryHeap<Run<'a>>,
    pretoken: Vec<u8>,
}

struct Run<'a>(RunReader<'a>);

impl Ord for Run<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.pretoken.cmp(&self.0.pretoken)
    }
}

impl PartialOrd for Run<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Run<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Run<'_> {}

impl<'a> Merged<'a> {
    /// All runs of some files.
    pub fn of(spills: impl IntoIterator<Item = &'a Spill>) -> Result<Self> {
        let of_one = |spill: &'a Spill| spill.runs.iter().map(move |run| (spill, run.clone()));
        let runs: Vec<_> = spills.into_iter().flat_map(of_one).collect();
        let capacity = (READ / runs.len().max(1)).max(READ_OF_EACH);
        memory::ensure(runs.len() * capacity)?;
        let mut merged = Self { runs: BinaryHeap::with_capacity(runs.len()), pretoken: Vec::new() };
        for (spill, run) in runs {
            let mut reader = RunReader::new(spill, run, capacity);
            if reader.advance()? {
                merged.runs.push(Run(reader));
            }
        }
        Ok(merged)
    }

    /// The next pretoken and the sum of its counts.
    pub fn next(&mut self) -> Result<Option<(&[u8], u64)>> {
        let Some(count) = self.take_first()? else { return Ok(None) };
        let mut sum = count;
        while self.runs.peek().is_some_and(|run| run.0.pretoken == self.pretoken) {
            let more = self.take_first()?.unwrap_or(0);
            sum = sum.checked_add(more).ok_or_else(|| overflow(&self.pretoken))?;
        }
        Ok(Some((&self.pretoken, sum)))
    }

    /// Take the first pretoken of the run on top, and return its count.
    fn take_first(&mut self) -> Result<Option<u64>> {
        let Some(mut top) = self.runs.peek_mut() else { return Ok(None) };
        self.pretoken.clear();
        memory::extend(&mut self.pretoken, &top.0.pretoken)?;
        let count = top.0.count;
        if !top.0.advance()? {
            std::collections::binary_heap::PeekMut::pop(top);
        }
        Ok(Some(count))
    }
}

/// The error of a count that does not fit 64 bits.
pub fn overflow(pretoken: &[u8]) -> Error {
    let pretoken = String::from_utf8_lossy(pretoken);
    Error::Overflow(format!("the count of {pretoken:?} does not fit 64 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(spill: &Spill) -> Vec<(Vec<u8>, u64)> {
        let mut merged = Merged::of([spill]).unwrap();
        let mut entries = vec![];
        while let Some((pretoken, count)) = merged.next().unwrap() {
            entries.push((pretoken.to_vec(), count));
        }
        entries
    }

    #[test]
    fn runs_are_merged_and_their_counts_added() {
        let mut spill = Spill::new().unwrap();
        let long = vec![b'c'; 1000];
        for entries in [
            vec![(b"a".as_slice(), 1), (b"ab", 300), (&long, 70_000)],
            vec![],
            vec![(b"\0", u64::MAX), (b"ab", 5), (b"abc", 1), (&long, 1)],
        ] {
            let mut run = spill.write();
            entries.iter().for_each(|(pretoken, count)| run.push(pretoken, *count).unwrap());
            run.finish().unwrap();
        }
        let expected = [(b"\0".as_slice(), u64::MAX), (b"a", 1), (b"ab", 305), (b"abc", 1), (&long, 70_001)];
        assert_eq!(all(&spill), expected.map(|(pretoken, count)| (pretoken.to_vec(), count)));
    }

    #[test]
    fn a_sum_past_64_bits_is_an_error() {
        let mut spill = Spill::new().unwrap();
        for _ in 0..2 {
            let mut run = spill.write();
            run.push(b"a", u64::MAX - 1).unwrap();
            run.finish().unwrap();
        }
        assert!(matches!(Merged::of([&spill]).unwrap().next(), Err(Error::Overflow(_))));
    }
}
