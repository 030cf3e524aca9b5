//! Counts that do not fit in memory: sorted pretokens are written to runs in temporary files, and
//! merged again.
//!
//! A run is a list of pretokens, ordered by their bytes. Each is written as: the length of the
//! prefix that it shares with the one before, the length of the rest, the rest, and its count.
//! Numbers take seven bits a byte, the lowest first.
//!
//! A run never changes, and all reads and writes name their position in the file, so a forked
//! process can read the runs that it shares with its parent. It writes new runs to a file of its
//! own.

use std::env::temp_dir;
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Take, Write};
use std::mem::take;
#[cfg(unix)]
use std::os::unix::fs::{FileExt, OpenOptionsExt};
#[cfg(windows)]
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;

use super::sorted::{Merged, Source};
use crate::error::{Error, Result};
use crate::memory;

/// The number of bytes that are written at once.
const WRITTEN: usize = if cfg!(test) { 40 } else { 1 << 18 };

/// The number of runs of a generation that are merged into one run of the next.
const MOST_RUNS: usize = if cfg!(test) { 3 } else { 64 };

/// The runs that were written, in generations. These are few, so a count is not written often, and
/// all runs can be read at once. A pretoken that many runs repeat is soon in one of them.
#[derive(Default)]
pub struct Spill {
    generations: Vec<Generation>,
}

/// Runs, and the place for the next one in a file. The file disappears with the last of them.
#[derive(Default)]
struct Generation {
    runs: Vec<SortedRun>,
    end: Option<Place>,
}

/// Sorted pretokens: `length` bytes from a place on.
#[derive(Clone)]
pub struct SortedRun {
    start: Place,
    length: u64,
}

/// A place in a file, which moves on with each read and write.
#[derive(Clone)]
struct Place {
    file: Arc<TemporaryFile>,
    at: u64,
}

impl Read for Place {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let read = self.file.file.read_at(buffer, self.at)?;
        #[cfg(windows)]
        let read = self.file.file.seek_read(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let written = self.file.file.write_at(bytes, self.at)?;
        #[cfg(windows)]
        let written = self.file.file.seek_write(bytes, self.at)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file without a name that only this user can read: it disappears with the process, however that
/// ends.
struct TemporaryFile {
    file: File,
    /// The folder that it is in.
    folder: PathBuf,
    /// The process that writes to it.
    process: u32,
}

impl TemporaryFile {
    /// Creates the file under a name that nobody can guess. The name is removed at once or, on
    /// Windows, with the file when it is closed.
    fn new(folder: PathBuf) -> Result<Self> {
        let path = folder.join(format!("bpetite-{:016x}", RandomState::new().hash_one(0)));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        options.mode(0o600);
        #[cfg(windows)]
        options.custom_flags(0x0400_0000); // FILE_FLAG_DELETE_ON_CLOSE
        let opened = options.open(&path);
        #[cfg(not(windows))]
        let opened = opened.and_then(|file| std::fs::remove_file(&path).map(|()| file));
        match opened {
            Ok(file) => Ok(Self { file, folder, process: std::process::id() }),
            Err(source) => Err(Error::Io { path: folder, source }),
        }
    }

    fn error(&self, source: io::Error) -> Error {
        Error::Io { path: self.folder.clone(), source }
    }
}

impl Spill {
    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.generations.is_empty()
    }

    /// Returns all runs.
    pub fn runs(&self) -> Vec<SortedRun> {
        self.generations.iter().flat_map(|generation| &generation.runs).cloned().collect()
    }

    /// Writes sorted pretokens to a run. Generations that are full then are merged.
    pub fn write(&mut self, pretokens: Merged<'_>) -> Result<()> {
        self.write_to(0, pretokens)?;
        let mut number = 0;
        while self.generations[number].runs.len() >= MOST_RUNS {
            let full = take(&mut self.generations[number]);
            number += 1;
            // There is a next generation after this.
            self.write_to(number, Merged::of(sources(&full.runs)?)?)?;
        }
        Ok(())
    }

    /// Writes sorted pretokens to a run of a generation.
    fn write_to(&mut self, number: usize, mut pretokens: Merged<'_>) -> Result<()> {
        if self.generations.len() == number {
            memory::push(&mut self.generations, Generation::default())?;
        }
        let Generation { runs, end } = &mut self.generations[number];
        // A forked process begins a file of its own.
        let start = match end.take_if(|end| end.file.process == std::process::id()) {
            Some(place) => place,
            None => Place { file: Arc::new(TemporaryFile::new(temp_dir())?), at: 0 },
        };
        let writer = BufWriter::with_capacity(WRITTEN, start.clone());
        let mut run = RunWriter { writer, last: Vec::new() };
        pretokens.visit(&mut |pretoken, count| run.push(pretoken, count))?;
        let written =
            run.writer.into_inner().map_err(|error| start.file.error(error.into_error()))?;
        memory::push(runs, SortedRun { length: written.at - start.at, start })?;
        *end = Some(written);
        Ok(())
    }
}

/// Writes one run.
struct RunWriter {
    writer: BufWriter<Place>,
    /// The pretoken that was written last.
    last: Vec<u8>,
}

impl RunWriter {
    /// Adds a pretoken, which must come after the one before it.
    fn push(&mut self, pretoken: &[u8], count: u64) -> Result<()> {
        let shared = self.last.iter().zip(pretoken).take_while(|(last, new)| last == new).count();
        let rest = &pretoken[shared..];
        self.last.truncate(shared);
        memory::extend(&mut self.last, rest)?;
        self.write(shared, rest, count).map_err(|source| self.writer.get_ref().file.error(source))
    }

    fn write(&mut self, shared: usize, rest: &[u8], count: u64) -> io::Result<()> {
        self.number(shared as u64)?;
        self.number(rest.len() as u64)?;
        self.writer.write_all(rest)?;
        self.number(count)
    }

    /// Writes a number, seven bits a byte. All bytes but the last are marked.
    fn number(&mut self, mut number: u64) -> io::Result<()> {
        while number >= 0x80 {
            self.writer.write_all(&[number as u8 | 0x80])?;
            number >>= 7;
        }
        self.writer.write_all(&[number as u8])
    }
}

/// The size of all read buffers while runs are merged, and the minimum for each run.
const READ: usize = if cfg!(test) { 100 } else { 1 << 22 };
const READ_OF_EACH: usize = if cfg!(test) { 24 } else { 1 << 12 };

/// Returns the pretokens of several runs.
pub fn sources(runs: &[SortedRun]) -> Result<Vec<Source<'static>>> {
    let capacity = (READ / runs.len().max(1)).max(READ_OF_EACH);
    memory::ensure(runs.len() * capacity)?;
    let source = |run| {
        let mut reader = RunReader::new(run, capacity);
        Box::new(move |pretoken: &mut Vec<u8>| reader.next(pretoken)) as Source<'static>
    };
    Ok(runs.iter().map(source).collect())
}

/// Reads one run.
struct RunReader {
    reader: BufReader<Take<Place>>,
    file: Arc<TemporaryFile>,
}

impl RunReader {
    fn new(run: &SortedRun, capacity: usize) -> Self {
        let SortedRun { start, length } = run.clone();
        Self {
            file: start.file.clone(),
            reader: BufReader::with_capacity(capacity, start.take(length)),
        }
    }

    /// Changes a pretoken into the next one and returns its count, or `None` at the end.
    fn next(&mut self, pretoken: &mut Vec<u8>) -> Result<Option<u64>> {
        let Self { reader, file } = self;
        let failed = |source| file.error(source);
        if reader.fill_buf().map_err(failed)?.is_empty() {
            let is_over = reader.get_ref().limit() == 0;
            if is_over {
                return Ok(None);
            }
            // A file that ends before the run does was changed.
            return Err(failed(ErrorKind::UnexpectedEof.into()));
        }
        let shared = read_number(reader).map_err(failed)? as usize;
        let rest = read_number(reader).map_err(failed)? as usize;
        pretoken.truncate(shared);
        memory::lengthen(pretoken, shared.saturating_add(rest))?;
        reader.read_exact(&mut pretoken[shared..]).map_err(failed)?;
        read_number(reader).map(Some).map_err(failed)
    }
}

/// Reads a number that `RunWriter::number` has written.
fn read_number(reader: &mut impl Read) -> io::Result<u64> {
    let mut number = 0;
    let mut byte = [0];
    for shift in (0..u64::BITS).step_by(7) {
        reader.read_exact(&mut byte)?;
        number |= u64::from(byte[0] & 0x7F) << shift;
        if byte[0] < 0x80 {
            return Ok(number);
        }
    }
    Err(io::Error::new(ErrorKind::InvalidData, "the temporary file has changed"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::shard_of_entries;
    use super::*;

    impl Spill {
        fn write_entries(&mut self, entries: &[(&[u8], u64)]) -> Result<()> {
            self.write(Merged::of(shard_of_entries(entries).sorted()?)?)
        }
    }

    fn all(spill: &Spill) -> Vec<(Vec<u8>, u64)> {
        let mut entries = vec![];
        let mut visitor = |pretoken: &[u8], count| {
            entries.push((pretoken.to_vec(), count));
            Ok(())
        };
        Merged::of(sources(&spill.runs()).unwrap()).unwrap().visit(&mut visitor).unwrap();
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
            spill.write_entries(&entries).unwrap();
        }
        let expected =
            [(b"\0".as_slice(), u64::MAX), (b"a", 1), (b"ab", 305), (b"abc", 1), (&long, 70_001)];
        assert_eq!(all(&spill), expected.map(|(pretoken, count)| (pretoken.to_vec(), count)));
    }

    #[test]
    fn a_sum_past_64_bits_is_an_error() {
        let mut spill = Spill::default();
        for _ in 0..2 {
            spill.write_entries(&[(b"a", u64::MAX - 1)]).unwrap();
        }
        assert!(matches!(
            Merged::of(sources(&spill.runs()).unwrap()).unwrap().next(),
            Err(Error::Overflow(_))
        ));
        assert!(
            matches!(spill.write_entries(&[(b"a", 1)]), Err(Error::Overflow(_))),
            "they are merged"
        );
    }

    #[test]
    fn many_runs_become_few() {
        let (mut spill, numbers) = (Spill::default(), 0..200_u8);
        for number in numbers.clone() {
            spill.write_entries(&[(b"of all", 1), (&[b'p', number], 1)]).unwrap();
            // No generation has more than two, and each is three times as old as the one before.
            assert!(spill.runs().len() <= 10);
        }
        let single = numbers.map(|number| (vec![b'p', number], 1));
        assert_eq!(
            all(&spill),
            [(b"of all".to_vec(), 200)].into_iter().chain(single).collect::<Vec<_>>()
        );
        for Generation { runs, end } in &spill.generations {
            let written = end.as_ref().map_or(0, |end| end.at);
            assert_eq!(written, runs.iter().map(|run| run.length).sum::<u64>(), "no old runs");
        }
    }

    #[test]
    fn a_process_that_was_forked_writes_to_a_file_of_its_own() {
        let mut spill = Spill::default();
        for (pretoken, writer) in [(b"a".as_slice(), 0), (b"b", 1)] {
            spill.write_entries(&[(pretoken, 1)]).unwrap();
            // As if another process had opened it.
            let generation = &mut spill.generations[0];
            let other =
                TemporaryFile { process: writer, ..TemporaryFile::new(temp_dir()).unwrap() };
            generation.end = Some(Place { file: Arc::new(other), at: 1000 });
        }
        assert_eq!(all(&spill), [(b"a".to_vec(), 1), (b"b".to_vec(), 1)]);
    }

    #[cfg(unix)]
    #[test]
    fn temporary_files_have_no_name_and_are_for_this_user_alone() {
        use std::os::unix::fs::MetadataExt;
        let found = TemporaryFile::new(temp_dir()).unwrap().file.metadata().unwrap();
        assert_eq!((found.mode() & 0o777, found.nlink()), (0o600, 0));
        assert!(TemporaryFile::new("no such folder".into()).is_err());
    }

    #[test]
    fn what_is_not_as_it_was_written_is_an_error() {
        let mut spill = Spill::default();
        let pretokens: Vec<_> = (0..100u8).map(|byte| [byte; 3]).collect();
        let entries: Vec<_> = pretokens.iter().map(|bytes| (&bytes[..], u64::MAX)).collect();
        spill.write_entries(&entries).unwrap();
        let SortedRun { start, length } = spill.runs()[0].clone();
        let error = |runs: &[SortedRun]| match Merged::of(sources(runs).unwrap())
            .and_then(|mut merged| merged.visit(&mut |_, _| Ok(())))
        {
            Err(Error::Io { source, .. }) => source.kind(),
            other => panic!("{other:?}"),
        };
        let cut = SortedRun { start: start.clone(), length: length - 1 };
        assert_eq!(error(&[cut]), ErrorKind::UnexpectedEof);
        Place { at: 20, ..start.clone() }.write_all(&[0xFF; 40]).unwrap();
        assert_eq!(error(&spill.runs()), ErrorKind::InvalidData);
        start.file.file.set_len(25).unwrap();
        assert_eq!(error(&[SortedRun { start, length: 100 }]), ErrorKind::UnexpectedEof);
    }
}
