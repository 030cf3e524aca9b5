//! Reads many small files in one call: for each by itself, the fixed costs would exceed those of reading.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::memory;

/// The contents of small files.
pub struct SmallFiles {
    contents: Vec<Vec<u8>>,
}

impl SmallFiles {
    /// Read files of at most so many bytes each. `None` means that one of them is larger, changes meanwhile or cannot be
    /// read; who reads it by itself learns why.
    pub fn read(paths: &[PathBuf], most: usize) -> Result<Option<Self>> {
        let mut contents = Vec::new();
        for path in paths {
            let Some(content) = content_of(path, most) else { return Ok(None) };
            memory::push(&mut contents, content)?;
        }
        Ok(Some(Self { contents }))
    }

    /// The content of each file.
    pub fn contents(&self) -> impl Iterator<Item = &[u8]> {
        self.contents.iter().map(Vec::as_slice)
    }
}

fn content_of(path: &Path, most: usize) -> Option<Vec<u8>> {
    let found = fs::metadata(path).ok().filter(|found| found.is_file() && found.len() <= most as u64)?;
    fs::read(path).ok().filter(|content| content.len() as u64 == found.len())
}

#[cfg(test)]
mod tests {
    use super::*;

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
