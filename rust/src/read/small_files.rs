//! Reads many small files in one call: for each by itself, the fixed costs would exceed those of reading.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::memory;

/// The contents of small files.
#[derive(Default)]
pub struct SmallFiles {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl SmallFiles {
    /// Read files of at most so many bytes each. `None` means that one of them is larger, changes meanwhile or cannot be
    /// read; who reads it by itself learns why.
    pub fn read(paths: &[PathBuf], most: usize) -> Result<Option<Self>> {
        let mut files = Self::default();
        for path in paths {
            if !files.add(path, most)? {
                return Ok(None);
            }
        }
        Ok(Some(files))
    }

    /// The content of each file.
    pub fn contents(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| &self.bytes[std::mem::replace(&mut start, end)..end])
    }

    /// Read a file; false if that is not possible.
    fn add(&mut self, path: &Path, most: usize) -> Result<bool> {
        let Ok(mut file) = File::open(path) else { return Ok(false) };
        let Some(size) = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|found| found.len())
        else {
            return Ok(false);
        };
        let Some(size) = usize::try_from(size).ok().filter(|&size| size <= most) else { return Ok(false) };
        let start = self.ends.last().map_or(0, |&end| end);
        memory::lengthen(&mut self.bytes, start + size + 1)?;
        let room = &mut self.bytes[start..][..size + 1]; // One byte more, to see whether it grew.
        let mut length = 0;
        loop {
            match file.read(&mut room[length..]) {
                Ok(0) => break,
                Ok(more) => length += more,
                Err(_) => return Ok(false),
            }
            if length >= size {
                break;
            }
        }
        memory::push(&mut self.ends, start + length)?;
        Ok(length == size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn small_files_are_read_whole_and_others_are_left() {
        let folder = std::env::temp_dir().join(format!("bpetite-small-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let paths: Vec<PathBuf> = ["a", "", "bcd"]
            .iter()
            .map(|content| {
                let path = folder.join(format!("{}.txt", content.len()));
                fs::write(&path, content).unwrap();
                path
            })
            .collect();
        let files = SmallFiles::read(&paths, 3).unwrap().unwrap();
        assert_eq!(files.contents().collect::<Vec<_>>(), [&b"a"[..], b"", b"bcd"]);
        assert!(SmallFiles::read(&paths, 2).unwrap().is_none());
        assert!(SmallFiles::read(&[folder.join("none")], 2).unwrap().is_none());
        assert!(SmallFiles::read(std::slice::from_ref(&folder), 1 << 20).unwrap().is_none());
        fs::remove_dir_all(&folder).unwrap();
    }
}
