//! Files as documents: each worker reads the part of a file that it counts.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::PathBuf;
use std::time::SystemTime;

use super::feed::Documents;
use crate::error::{Error, Result};
use crate::memory;

/// Files, each of which is a document.
pub struct Files(Vec<Source>);

/// A file, as it was when the call began.
struct Source {
    path: PathBuf,
    size: u64,
    modified: Option<SystemTime>,
}

impl Files {
    pub fn new(paths: &[PathBuf]) -> Result<Self> {
        let mut sources = Vec::new();
        for path in paths {
            let metadata =
                fs::metadata(path).map_err(|source| Error::Io { path: path.clone(), source })?;
            let size = if metadata.is_file() { metadata.len() } else { 0 };
            sources.push(Source { path: path.clone(), size, modified: metadata.modified().ok() });
        }
        Ok(Self(sources))
    }

    /// Returns the sum of their sizes.
    pub fn size(&self) -> u64 {
        self.0.iter().map(|source| source.size).sum()
    }
}

impl Source {
    /// Fills a buffer with the bytes from a place on. Returns false if the file has changed.
    fn read(&self, start: usize, buffer: &mut [u8]) -> io::Result<bool> {
        let mut file = File::open(&self.path)?;
        if start > 0 {
            file.seek(SeekFrom::Start(start as u64))?;
        }
        match file.read_exact(buffer) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
            read => read?,
        }
        // A file that grew must not be taken for one that ends here.
        let is_end = (start + buffer.len()) as u64 == self.size;
        if is_end && file.read(&mut [0])? > 0 {
            return Ok(false);
        }
        let now = file.metadata()?;
        Ok(now.len() == self.size && now.modified().ok() == self.modified)
    }
}

impl Documents for Files {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn length(&self, index: usize) -> usize {
        usize::try_from(self.0[index].size).unwrap_or(usize::MAX)
    }

    fn read<'b>(
        &'b self,
        index: usize,
        range: Range<usize>,
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b [u8]> {
        let source = &self.0[index];
        let name = || self.name(index);
        memory::lengthen(buffer, range.len())
            .map_err(|_| Error::Memory(format!("{}: not enough memory for its text", name())))?;
        let bytes = &mut buffer[..range.len()];
        match source.read(range.start, bytes) {
            Ok(true) => Ok(bytes),
            Ok(false) => {
                Err(Error::Value(format!("{}: the file changed while it was read", name())))
            }
            Err(error) => Err(Error::Io { path: source.path.clone(), source: error }),
        }
    }

    fn name(&self, index: usize) -> String {
        self.0[index].path.display().to_string()
    }
}
