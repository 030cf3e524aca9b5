//! Text in, counts out: how often each pretoken occurs in files and documents.
//!
//! A document is a stretch of text between two inputs' ends or boundaries; boundaries are special tokens, which are
//! never counted and which no pretoken crosses. Counts do not depend on the order or the partition of documents.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::error::{Error, Result};
use crate::pretokenize::{Batch, Pattern};
use crate::watch::{Stage, Watch};

/// What a long count may use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Means {
    /// How many threads; `None` is one for each core.
    pub threads: Option<usize>,
    /// How many bytes the table may take; beyond that it is kept in temporary files.
    pub memory_limit: Option<u64>,
}

/// Pretokens and their counts.
pub struct CountTable {
    pattern: Pattern,
    boundaries: Option<AhoCorasick>,
    count_unmatched: bool,
    counts: HashMap<Box<[u8]>, u64>,
    total: u128,
    documents: u64,
    bytes: u64,
}

/// Pretokens in the order of their bytes, with their counts: pretoken `i` ends at `ends[i]` of `pretokens`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SortedCounts {
    pub pretokens: Vec<u8>,
    pub ends: Vec<u64>,
    pub counts: Vec<u64>,
}

impl CountTable {
    /// An empty table. `boundaries` are the texts that cut documents, of which the longest of the leftmost counts;
    /// `count_unmatched` says whether text that the pattern does not match is counted or left out.
    pub fn new(pattern: &str, boundaries: &[String], count_unmatched: bool) -> Result<Self> {
        if boundaries.iter().any(String::is_empty) {
            return Err(Error::Value("boundaries: an empty string bounds nothing".into()));
        }
        let boundaries = match boundaries {
            [] => None,
            _ => Some(boundary_finder(boundaries)?),
        };
        Ok(Self {
            pattern: Pattern::new(pattern)?,
            boundaries,
            count_unmatched,
            counts: HashMap::new(),
            total: 0,
            documents: 0,
            bytes: 0,
        })
    }

    /// How many distinct pretokens there are.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The sum of all counts.
    pub fn total(&self) -> u128 {
        self.total
    }

    /// How many documents were counted; empty ones are none.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// How many bytes of text were read.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Count files. After an error the table holds a part of them and is of no further use.
    pub fn add_files(&mut self, paths: &[PathBuf], _means: Means, watch: &mut dyn Watch) -> Result<()> {
        let failed = |path: &PathBuf| {
            let path = path.clone();
            move |source| Error::Io { path, source }
        };
        let mut total = 0;
        for path in paths {
            total += fs::metadata(path).map_err(failed(path))?.len();
        }
        let mut done = 0;
        watch.report(Stage::Counting, done, total)?;
        for path in paths {
            let content = fs::read(path).map_err(failed(path))?;
            self.add_document(as_text(&content, || path.display().to_string())?)?;
            done += content.len() as u64;
            watch.report(Stage::Counting, done, total)?;
        }
        Ok(())
    }

    /// Count documents that are in memory. `named` gives a document's name, should it not be UTF-8.
    pub fn add_documents(
        &mut self,
        documents: &[&[u8]],
        _means: Means,
        named: &dyn Fn(usize) -> String,
    ) -> Result<()> {
        for (index, document) in documents.iter().enumerate() {
            self.add_document(as_text(document, || named(index))?)?;
        }
        Ok(())
    }

    fn add_document(&mut self, text: &str) -> Result<()> {
        self.bytes += text.len() as u64;
        let mut start = 0;
        let Some(finder) = &self.boundaries else { return self.add_stretch(text) };
        for found in finder.clone().find_iter(text) {
            self.add_stretch(&text[start..found.start()])?;
            start = found.end();
        }
        self.add_stretch(&text[start..])
    }

    fn add_stretch(&mut self, text: &str) -> Result<()> {
        self.documents += u64::from(!text.is_empty());
        let mut batch = Batch::default();
        let mut scanner = self.pattern.scan(text);
        let mut start = 0;
        while scanner.fill(&mut batch)? > 0 {
            for (piece, &end) in batch.ends().iter().enumerate() {
                if self.count_unmatched || !batch.is_gap(piece) {
                    add(&mut self.counts, &mut self.total, &text.as_bytes()[start..end], 1)?;
                }
                start = end;
            }
        }
        Ok(())
    }

    /// Add counts that were made elsewhere: pretoken `i` ends at `ends[i]` of `pretokens`.
    pub fn add_counts(&mut self, pretokens: &[u8], ends: &[u64], counts: &[u64]) -> Result<()> {
        if ends.len() != counts.len() {
            return Err(Error::Value(format!("counts: {} for {} pretokens", counts.len(), ends.len())));
        }
        if ends.last().copied().unwrap_or(0) != pretokens.len() as u64 {
            return Err(Error::Value("ends: the last one is not the end of the pretokens".into()));
        }
        let mut start = 0;
        for (&end, &count) in ends.iter().zip(counts) {
            match pretokens.get(start as usize..end as usize) {
                Some(pretoken) if start < end => add(&mut self.counts, &mut self.total, pretoken, count)?,
                _ => return Err(Error::Value(format!("ends: {end} does not come after {start}"))),
            }
            start = end;
        }
        Ok(())
    }

    /// Add everything that another table counted.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        for (pretoken, &count) in &other.counts {
            add(&mut self.counts, &mut self.total, pretoken, count)?;
        }
        self.documents += other.documents;
        self.bytes += other.bytes;
        Ok(())
    }

    /// The pretokens that were counted at least `min_count` times, sorted.
    pub fn sorted(&self, min_count: u64) -> Result<SortedCounts> {
        let mut entries: Vec<_> = self.counts.iter().filter(|(_, count)| **count >= min_count).collect();
        entries.sort_unstable();
        let mut sorted = SortedCounts::default();
        for (pretoken, &count) in entries {
            sorted.pretokens.extend_from_slice(pretoken);
            sorted.ends.push(sorted.pretokens.len() as u64);
            sorted.counts.push(count);
        }
        Ok(sorted)
    }
}

fn add(counts: &mut HashMap<Box<[u8]>, u64>, total: &mut u128, pretoken: &[u8], count: u64) -> Result<()> {
    *total += u128::from(count);
    match counts.get_mut(pretoken) {
        Some(sum) => {
            *sum = sum.checked_add(count).ok_or_else(|| {
                let pretoken = String::from_utf8_lossy(pretoken);
                Error::Overflow(format!("the count of {pretoken:?} does not fit 64 bits"))
            })?;
        }
        None if count > 0 => drop(counts.insert(pretoken.into(), count)),
        None => {}
    }
    Ok(())
}

fn boundary_finder(boundaries: &[String]) -> Result<AhoCorasick> {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(boundaries)
        .map_err(|reason| Error::Value(format!("boundaries: {reason}")))
}

fn as_text(bytes: &[u8], input: impl FnOnce() -> String) -> Result<&str> {
    std::str::from_utf8(bytes)
        .map_err(|bad| Error::NotUtf8 { input: input(), offset: bad.valid_up_to() as u64 })
}
