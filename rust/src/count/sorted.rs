//! Counts in the order of their pretokens' bytes: several sorted sources are merged into one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::shard::{SortedEntries, pretoken_of};
use super::spill::{RunReader, SortedRun, overflow};
use crate::error::Result;
use crate::memory;

/// The size of all read buffers while runs are merged, and the minimum for each run.
const READ: usize = if cfg!(test) { 100 } else { 1 << 22 };
const READ_OF_EACH: usize = if cfg!(test) { 24 } else { 1 << 12 };

/// Pretokens with their counts: pretoken `i` ends at `ends[i]` of `pretokens`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountRows {
    pub pretokens: Vec<u8>,
    pub ends: Vec<u64>,
    pub counts: Vec<u64>,
}

impl CountRows {
    pub fn push(&mut self, pretoken: &[u8], count: u64) -> Result<()> {
        memory::extend(&mut self.pretokens, pretoken)?;
        memory::push(&mut self.ends, self.pretokens.len() as u64)?;
        memory::push(&mut self.counts, count)
    }
}

/// A sorted source: changes a pretoken into the next one and returns its count; `None` at the end.
type Source<'a> = Box<dyn FnMut(&mut Vec<u8>) -> Result<Option<u64>> + 'a>;

/// The pretokens of several sources, sorted, each once.
pub struct Merged<'a> {
    /// The sources, each with the count of its current pretoken.
    sources: Vec<(u64, Source<'a>)>,
    /// The current pretoken of each source, and the source's number; the first pretoken is on top.
    current: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    pretoken: Vec<u8>,
}

impl<'a> Merged<'a> {
    /// The pretokens of runs in files, and of tables in memory.
    pub fn of(runs: &[SortedRun], tables: impl IntoIterator<Item = SortedEntries<'a>>) -> Result<Self> {
        let capacity = (READ / runs.len().max(1)).max(READ_OF_EACH);
        memory::ensure(runs.len() * capacity)?;
        let mut merged = Self { sources: Vec::new(), current: BinaryHeap::new(), pretoken: Vec::new() };
        for run in runs {
            let mut reader = RunReader::new(run, capacity);
            merged.add(Box::new(move |pretoken| reader.next(pretoken)))?;
        }
        for SortedEntries { entries, arena } in tables {
            let mut entries = entries.into_iter();
            merged.add(Box::new(move |pretoken| {
                let Some(entry) = entries.next() else { return Ok(None) };
                pretoken.clear();
                memory::extend(pretoken, pretoken_of(entry.key, arena, &mut [0; 16]))?;
                Ok(Some(entry.count))
            }))?;
        }
        Ok(merged)
    }

    fn add(&mut self, mut source: Source<'a>) -> Result<()> {
        let mut first = Vec::new();
        if let Some(count) = source(&mut first)? {
            self.current.push(Reverse((first, self.sources.len())));
            self.sources.push((count, source));
        }
        Ok(())
    }

    /// Show every pretoken and the sum of its counts.
    pub fn visit(&mut self, visitor: &mut dyn FnMut(&[u8], u64) -> Result<()>) -> Result<()> {
        while let Some((pretoken, count)) = self.next()? {
            visitor(pretoken, count)?;
        }
        Ok(())
    }

    /// The next pretoken and the sum of its counts.
    pub fn next(&mut self) -> Result<Option<(&[u8], u64)>> {
        let Some(mut sum) = self.take_first()? else { return Ok(None) };
        while self.current.peek().is_some_and(|Reverse((next, _))| *next == self.pretoken) {
            let more = self.take_first()?.unwrap_or(0);
            sum = sum.checked_add(more).ok_or_else(|| overflow(&self.pretoken))?;
        }
        Ok(Some((&self.pretoken, sum)))
    }

    /// Take the pretoken on top, and return its count.
    fn take_first(&mut self) -> Result<Option<u64>> {
        let Some(mut top) = self.current.peek_mut() else { return Ok(None) };
        let Reverse((pretoken, number)) = &mut *top;
        let (count, source) = &mut self.sources[*number];
        self.pretoken.clear();
        memory::extend(&mut self.pretoken, pretoken)?;
        let taken = *count;
        match source(pretoken)? {
            Some(next) => *count = next,
            None => drop(PeekMut::pop(top)),
        }
        Ok(Some(taken))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::shard_of_entries;
    use super::*;
    use crate::key::LONGEST;

    #[test]
    fn entries_are_merged_by_bytes_whatever_their_length() {
        let pretokens =
            ["a", "a\0", "a\0\0", "b", "aa", "\u{7f}", "é", "abcdefghijklmno", "abcdefgh", "abcdefghi"];
        let mut all: Vec<String> = pretokens.iter().map(ToString::to_string).collect();
        all.extend(["a".repeat(16), "b".repeat(40), "abcdefghijklmnop".into()]);
        let count_all = |some: &[String]| {
            let entries: Vec<_> = some.iter().map(|text| (text.as_bytes(), 1)).collect();
            shard_of_entries(&entries)
        };
        let short: Vec<String> = all.iter().filter(|text| text.len() <= LONGEST).cloned().collect();
        let (shard, more) = (count_all(&all), count_all(&short));
        let mut seen = vec![];
        let mut see = |pretoken: &[u8], count| {
            seen.push((pretoken.to_vec(), count));
            Ok(())
        };
        let sorted = [shard.sorted(1).unwrap(), more.sorted(1).unwrap()];
        Merged::of(&[], sorted.into_iter().flatten()).unwrap().visit(&mut see).unwrap();
        all.sort();
        let counted = |text: String| (text.clone().into_bytes(), if text.len() <= LONGEST { 2 } else { 1 });
        assert_eq!(seen, all.into_iter().map(counted).collect::<Vec<_>>());
    }
}
