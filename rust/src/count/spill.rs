//! Counts that do not fit in memory: sorted pretokens are written to runs in temporary files, and merged again.
//!
//! A run is a list of pretokens, ordered by their bytes. Each is written as: the length of the prefix that it shares with
//! the one before, the length of the rest, the rest, and its count. Numbers take seven bits a byte, the lowest first.
//!
//! A run never changes, and all reads and writes name their position in the file, so a forked process can read the runs
//! that it shares with its parent. It writes its own runs to a file of its own.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::mem::take;
use std::ops::Range;
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
#[cfg(windows)]
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::sorted::Merged;
use super::source::{read_exact_at, write_all_at};
use crate::error::{Error, Result};
use crate::memory;

/// The number of bytes that are written at once.
const WRITTEN: usize = if cfg!(test) { 40 } else { 1 << 18 };

/// The number of runs of a generation: so many are merged into one of the next.
const MOST_RUNS: usize = if cfg!(test) { 3 } else { 64 };

/// The runs that were written. Counts are written once for each generation, which are few: there are only so many runs as
/// to read all at once, and what many runs repeat is soon written once.
#[derive(Default)]
pub struct Spill {
    generations: Vec<Generation>,
}

/// Runs, and the file for the next one: it disappears with the last of them.
#[derive(Default)]
struct Generation {
    runs: Vec<Run>,
    file: Option<Arc<TemporaryFile>>,
    end: u64,
}

/// Sorted pretokens in a part of a file.
#[derive(Clone)]
pub struct Run {
    file: Arc<TemporaryFile>,
    range: Range<u64>,
}

/// A file without a name that only this user can read: it disappears with the process, however that ends.
struct TemporaryFile {
    file: File,
    /// The folder that it is in.
    folder: PathBuf,
    /// The process that writes to it.
    process: u32,
}

impl TemporaryFile {
    fn new() -> Result<Self> {
        let folder = std::env::temp_dir();
        match without_name(&folder) {
            Ok(file) => Ok(Self { file, folder, process: std::process::id() }),
            Err(source) => Err(Error::Io { path: folder, source }),
        }
    }

    fn error(&self, source: io::Error) -> Error {
        Error::Io { path: self.folder.clone(), source }
    }
}

/// Create a file under a name that nobody can guess, which is removed at once or, on Windows, when it is closed.
fn without_name(folder: &Path) -> io::Result<File> {
    let path = folder.join(format!("bpetite-{:016x}", RandomState::new().hash_one(0)));
    let file = private().create_new(true).open(&path)?;
    #[cfg(not(windows))]
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Options for a file that only this user can read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    options.mode(0o600);
    #[cfg(windows)]
    {
        // FILE_FLAG_DELETE_ON_CLOSE
        options.custom_flags(0x0400_0000);
    }
    options
}

impl Spill {
    /// Whether nothing was written so far.
    pub fn is_empty(&self) -> bool {
        self.generations.is_empty()
    }

    /// The runs that were written so far.
    pub fn runs(&self) -> Vec<Run> {
        self.generations.iter().flat_map(|generation| &generation.runs).cloned().collect()
    }

    /// Write what `fill` pushes to a run, in order.
    pub fn write(&mut self, fill: impl FnOnce(&mut RunWriter<'_>) -> Result<()>) -> Result<()> {
        self.write_to(0, fill)?;
        let is_full = |generation: &Generation| generation.runs.len() >= MOST_RUNS;
        for number in 0.. {
            if !self.generations.get(number).is_some_and(is_full) {
                break;
            }
            let full = take(&mut self.generations[number]);
            self.write_to(number + 1, |run| {
                Merged::of(&full.runs, vec![])?.visit(&mut |pretoken, count| run.push(pretoken, count))
            })?;
        }
        Ok(())
    }

    fn write_to(&mut self, number: usize, fill: impl FnOnce(&mut RunWriter<'_>) -> Result<()>) -> Result<()> {
        if self.generations.len() == number {
            memory::push(&mut self.generations, Generation::default())?;
        }
        let mut run = self.generations[number].begin()?;
        fill(&mut run)?;
        run.finish()
    }
}

impl Generation {
    /// Begin a run.
    fn begin(&mut self) -> Result<RunWriter<'_>> {
        let file = match self.file.take_if(|file| file.process == std::process::id()) {
            Some(file) => file,
            None => {
                self.end = 0;
                Arc::new(TemporaryFile::new()?)
            }
        };
        self.file = Some(file.clone());
        Ok(RunWriter {
            generation: self,
            file,
            written: 0,
            last: Vec::new(),
            buffer: Vec::with_capacity(WRITTEN),
        })
    }
}

/// Writes one run.
pub struct RunWriter<'a> {
    generation: &'a mut Generation,
    file: Arc<TemporaryFile>,
    /// The number of bytes of the run that are in the file.
    written: u64,
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
        let written = write_all_at(&self.file.file, &self.buffer, self.generation.end + self.written);
        written.map_err(|source| self.file.error(source))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// End the run.
    fn finish(mut self) -> Result<()> {
        self.flush()?;
        let Generation { runs, end, .. } = self.generation;
        let range = *end..*end + self.written;
        *end = range.end;
        memory::push(runs, Run { file: self.file, range })
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
pub struct RunReader<'a> {
    file: &'a TemporaryFile,
    /// The part of the file that was not read yet.
    left: Range<u64>,
    buffer: Vec<u8>,
    position: usize,
    capacity: usize,
}

impl<'a> RunReader<'a> {
    pub fn new(run: &'a Run, capacity: usize) -> Self {
        Self { file: &run.file, left: run.range.clone(), buffer: Vec::new(), position: 0, capacity }
    }

    /// Change a pretoken into the next one and return its count; `None` at the end.
    pub fn next(&mut self, pretoken: &mut Vec<u8>) -> Result<Option<u64>> {
        if self.position == self.buffer.len() && self.left.is_empty() {
            return Ok(None);
        }
        let shared = self.number()? as usize;
        let mut rest = self.number()? as usize;
        pretoken.truncate(shared);
        while rest > 0 {
            self.refill()?;
            let part = &self.buffer[self.position..];
            let part = &part[..part.len().min(rest)];
            memory::extend(pretoken, part)?;
            self.position += part.len();
            rest -= part.len();
        }
        self.number().map(Some)
    }

    fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            self.refill()?;
            let byte = self.buffer[self.position];
            self.position += 1;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.file.error(io::Error::new(ErrorKind::InvalidData, "the temporary file has changed")))
    }

    /// Read more if the buffer is used up.
    fn refill(&mut self) -> Result<()> {
        if self.position < self.buffer.len() {
            return Ok(());
        }
        if self.left.is_empty() {
            return Err(self.file.error(ErrorKind::UnexpectedEof.into()));
        }
        let size = (self.left.end - self.left.start).min(self.capacity as u64);
        self.buffer.resize(size as usize, 0);
        self.position = 0;
        let read = read_exact_at(&self.file.file, &mut self.buffer, self.left.start);
        read.map_err(|source| self.file.error(source))?;
        self.left.start += size;
        Ok(())
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
        let mut entries = vec![];
        let mut visitor = |pretoken: &[u8], count| {
            entries.push((pretoken.to_vec(), count));
            Ok(())
        };
        Merged::of(&spill.runs(), vec![]).unwrap().visit(&mut visitor).unwrap();
        entries
    }

    #[test]
    fn runs_are_merged_and_their_counts_added() {
        let mut spill = Spill::default();
        let long = vec![b'c'; 1000];
        for entries in [
            vec![(b"a".as_slice(), 1), (b"ab", 300), (&long, 70_000)],
            vec![],
            vec![(b"\0", u64::MAX), (b"ab", 5), (b"abc", 1), (&long, 1)],
        ] {
            let fill =
                |run: &mut RunWriter| entries.iter().try_for_each(|&(key, count)| run.push(key, count));
            spill.write(fill).unwrap();
        }
        let expected = [(b"\0".as_slice(), u64::MAX), (b"a", 1), (b"ab", 305), (b"abc", 1), (&long, 70_001)];
        assert_eq!(all(&spill), expected.map(|(pretoken, count)| (pretoken.to_vec(), count)));
    }

    #[test]
    fn a_sum_past_64_bits_is_an_error() {
        let mut spill = Spill::default();
        for _ in 0..2 {
            spill.write(|run| run.push(b"a", u64::MAX - 1)).unwrap();
        }
        assert!(matches!(Merged::of(&spill.runs(), vec![]).unwrap().next(), Err(Error::Overflow(_))));
        assert!(matches!(spill.write(|run| run.push(b"a", 1)), Err(Error::Overflow(_))), "they are merged");
    }

    #[test]
    fn many_runs_become_few() {
        let (mut spill, numbers) = (Spill::default(), 0..200_u8);
        for number in numbers.clone() {
            spill.write(|run| run.push(b"of all", 1).and_then(|()| run.push(&[b'p', number], 1))).unwrap();
            // No generation has more than two, and each is three times as old as the one before.
            assert!(spill.runs().len() <= 10);
        }
        let single = numbers.map(|number| (vec![b'p', number], 1));
        assert_eq!(all(&spill), [(b"of all".to_vec(), 200)].into_iter().chain(single).collect::<Vec<_>>());
        for Generation { runs, end, .. } in &spill.generations {
            assert_eq!(
                *end,
                runs.iter().map(|run| run.range.end - run.range.start).sum::<u64>(),
                "no old runs"
            );
        }
    }

    #[test]
    fn a_process_that_was_forked_writes_to_a_file_of_its_own() {
        let mut spill = Spill::default();
        for (pretoken, writer) in [(b"a", 0), (b"b", 1)] {
            spill.write(|run| run.push(pretoken, 1)).unwrap();
            // As if another process had opened it.
            let generation = &mut spill.generations[0];
            let file = generation.file.take().and_then(Arc::into_inner);
            assert!(file.is_none(), "the run holds it too");
            let other = TemporaryFile { process: writer, ..TemporaryFile::new().unwrap() };
            (generation.file, generation.end) = (Some(Arc::new(other)), 1000);
        }
        assert_eq!(all(&spill), [(b"a".to_vec(), 1), (b"b".to_vec(), 1)]);
    }

    #[cfg(unix)]
    #[test]
    fn temporary_files_have_no_name_and_are_for_this_user_alone() {
        use std::os::unix::fs::MetadataExt;
        let folder = std::env::temp_dir();
        let found = without_name(&folder).unwrap().metadata().unwrap();
        assert_eq!((found.mode() & 0o777, found.nlink()), (0o600, 0));
        assert!(without_name(Path::new("no such folder")).is_err());
    }

    #[test]
    fn what_is_not_as_it_was_written_is_an_error() {
        let mut spill = Spill::default();
        spill.write(|run| (0..100u8).try_for_each(|byte| run.push(&[byte; 3], u64::MAX))).unwrap();
        let Run { file, range } = spill.runs()[0].clone();
        let error = |runs: &[Run]| match Merged::of(runs, vec![])
            .and_then(|mut merged| merged.visit(&mut |_, _| Ok(())))
        {
            Err(Error::Io { source, .. }) => source.kind(),
            other => panic!("{other:?}"),
        };
        let cut = Run { file: file.clone(), range: range.start..range.end - 1 };
        assert_eq!(error(&[cut]), ErrorKind::UnexpectedEof);
        write_all_at(&file.file, &[0xFF; 40], 20).unwrap();
        assert_eq!(error(&spill.runs()), ErrorKind::InvalidData);
        file.file.set_len(30).unwrap();
        assert_eq!(error(&[Run { file, range: 0..100 }]), ErrorKind::UnexpectedEof);
    }
}
