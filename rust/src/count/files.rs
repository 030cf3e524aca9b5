//! Reads files as batches of documents: many small files in one batch, or a stretch of a long one.
//!
//! ```text
//! a.txt, b.txt, c.txt      ->  [ a.txt | b.txt | c.txt up to a safe place ]  [ c.txt from there on | ... ]
//! ```
//!
//! A file is divided where a cut changes no pretoken; without such a place, it is one document.

use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::boundary::Cutter;
use super::feed::Documents;
use crate::error::{Error, Result};
use crate::memory;

/// A batch has about so many bytes: enough for several threads, few enough to wait for them in a near cache.
const BATCH: usize = if cfg!(test) { 100 } else { 1 << 20 };

/// How many bytes before the end of a stretch the search for its last cut begins.
const BACK: usize = if cfg!(test) { 2 } else { 1024 };

/// A file, with its size and time of modification when counting began.
struct Source {
    path: Arc<Path>,
    /// 0 if it is no regular file.
    size: u64,
    is_regular: bool,
    modified: Option<SystemTime>,
}

impl Source {
    fn new(path: PathBuf) -> Result<Self> {
        let metadata = fs::metadata(&path).map_err(|source| io_error(&path, source))?;
        let is_regular = metadata.is_file();
        let size = if is_regular { metadata.len() } else { 0 };
        Ok(Self { path: path.into(), size, is_regular, modified: metadata.modified().ok() })
    }

    fn is_unchanged(&self, now: &Metadata) -> bool {
        now.len() == self.size && now.modified().ok() == self.modified
    }
}

fn io_error(path: &Path, source: std::io::Error) -> Error {
    match source.kind() {
        ErrorKind::OutOfMemory => {
            Error::Memory(format!("{}: not enough memory for its text", path.display()))
        }
        _ => Error::Io { path: path.to_owned(), source },
    }
}

/// The files of one call.
pub struct Files<'a> {
    cutter: Cutter<'a>,
    /// The sum of their sizes.
    pub size: u64,
    waiting: std::vec::IntoIter<Source>,
    open: Option<OpenFile>,
    /// Batches that were counted, whose memory is used again.
    counted: Vec<FileTexts>,
}

/// A file that is being read.
struct OpenFile {
    source: Source,
    file: File,
    /// The number of bytes in earlier batches.
    offset: u64,
    /// What was read behind the last cut.
    rest: Vec<u8>,
}

impl<'a> Files<'a> {
    pub fn new(paths: &[PathBuf], cutter: Cutter<'a>) -> Result<Self> {
        let sources: Vec<Source> = paths.iter().cloned().map(Source::new).collect::<Result<_>>()?;
        let size = sources.iter().map(|source| source.size).sum();
        Ok(Self { cutter, size, waiting: sources.into_iter(), open: None, counted: Vec::new() })
    }

    /// The next batch; `None` at the end.
    pub fn next(&mut self, counted: Vec<FileTexts>) -> Result<Option<FileTexts>> {
        self.counted.extend(counted);
        let mut batch = self.counted.pop().unwrap_or_default();
        batch.bytes.clear();
        batch.texts.clear();
        while batch.bytes.len() < BATCH {
            let mut open = match self.open.take() {
                Some(open) => open,
                None => match self.waiting.next() {
                    Some(source) => {
                        let file = File::open(&source.path).map_err(|error| io_error(&source.path, error))?;
                        OpenFile { source, file, offset: 0, rest: Vec::new() }
                    }
                    None => break,
                },
            };
            if !open.read(&mut batch, self.cutter)? {
                self.open = Some(open);
            }
        }
        Ok((!batch.texts.is_empty()).then_some(batch))
    }
}

impl OpenFile {
    /// Append the next stretch; returns whether the file ends there.
    fn read(&mut self, batch: &mut FileTexts, cutter: Cutter) -> Result<bool> {
        let begin = batch.bytes.len();
        let mut wanted = if cutter.can_cut() { BATCH } else { usize::MAX };
        memory::extend(&mut batch.bytes, &self.rest)?;
        self.rest.clear();
        let (length, is_over) = loop {
            let is_over = self.fill(&mut batch.bytes, begin, wanted)?;
            let text = &batch.bytes[begin..];
            if is_over {
                break (text.len(), true);
            }
            if let Some(cut) = last_cut(text, cutter) {
                break (cut, false);
            }
            // Doubling keeps the total cost of repeated searches linear.
            wanted = text.len().saturating_mul(2);
        };
        memory::extend(&mut self.rest, &batch.bytes[begin + length..])?;
        batch.bytes.truncate(begin + length);
        let text =
            FileText { path: self.source.path.clone(), range: begin..begin + length, offset: self.offset };
        memory::push(&mut batch.texts, text)?;
        self.offset += length as u64;
        Ok(is_over)
    }

    /// Read until there are so many bytes from `begin` on, or the file ends.
    fn fill(&mut self, bytes: &mut Vec<u8>, begin: usize, wanted: usize) -> Result<bool> {
        let Source { path, size, is_regular, .. } = &self.source;
        while bytes.len() - begin < wanted {
            let left = size.saturating_sub(self.offset + (bytes.len() - begin) as u64);
            // One byte more than a regular file has left, to see its end.
            let more = (wanted - (bytes.len() - begin)).min((left as usize).saturating_add(1).max(BATCH));
            memory::reserve(bytes, more)?;
            let read = self.file.by_ref().take(more as u64).read_to_end(bytes);
            let is_over = read.map_err(|error| io_error(path, error))? < more;
            let read = self.offset + (bytes.len() - begin) as u64;
            if *is_regular && (read > *size || is_over) {
                let now = self.file.metadata().map_err(|error| io_error(path, error))?;
                if read != *size || !self.source.is_unchanged(&now) {
                    let path = path.display();
                    return Err(Error::Value(format!("{path}: the file changed while it was read")));
                }
            }
            if is_over {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A cut near the end of a text that goes on.
fn last_cut(text: &[u8], cutter: Cutter) -> Option<usize> {
    let certain = text.len().checked_sub(cutter.context())?;
    let mut back = BACK;
    loop {
        let from = certain.saturating_sub(back);
        match cutter.next(text, from) {
            Some(cut) if 0 < cut && cut <= certain => return Some(cut),
            _ if from == 0 => return None,
            _ => back *= 2,
        }
    }
}

/// A batch of texts in files.
#[derive(Default)]
pub struct FileTexts {
    bytes: Vec<u8>,
    texts: Vec<FileText>,
}

/// A stretch of a file that begins at an offset, and its place in the batch.
struct FileText {
    path: Arc<Path>,
    range: Range<usize>,
    offset: u64,
}

impl Documents for FileTexts {
    fn count(&self) -> usize {
        self.texts.len()
    }

    fn document(&self, index: usize) -> &[u8] {
        &self.bytes[self.texts[index].range.clone()]
    }

    fn name(&self, index: usize) -> String {
        self.texts[index].path.display().to_string()
    }

    fn offset(&self, index: usize) -> u64 {
        self.texts[index].offset
    }

    fn continues(&self, index: usize) -> bool {
        self.offset(index) > 0
    }
}
