//! Counts in the order of their pretokens' bytes: several sorted sources are merged into one.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::shard::Short;
use super::spill::{Run, RunReader, overflow};
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

/// Pretokens and counts that were sorted, at one of them.
struct Source<'a> {
    pretoken: Vec<u8>,
    count: u64,
    rest: Rest<'a>,
}

/// What comes after it.
enum Rest<'a> {
    Run(RunReader),
    Short(std::vec::IntoIter<Short>),
    Long(std::vec::IntoIter<(&'a [u8], u64)>),
}

impl Source<'_> {
    /// Go to the next pretoken; `false` at the end.
    fn advance(&mut self) -> Result<bool> {
        let mut bytes = [0; 16];
        let next = match &mut self.rest {
            Rest::Run(reader) => {
                let count = reader.next(&mut self.pretoken)?;
                self.count = count.unwrap_or(0);
                return Ok(count.is_some());
            }
            Rest::Short(entries) => entries.next().map(|entry| {
                bytes = entry.key.bytes();
                (&bytes[..entry.key.length()], entry.count)
            }),
            Rest::Long(entries) => entries.next(),
        };
        let Some((pretoken, count)) = next else { return Ok(false) };
        self.pretoken.clear();
        memory::extend(&mut self.pretoken, pretoken)?;
        self.count = count;
        Ok(true)
    }
}

impl Ord for Source<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.pretoken.cmp(&self.pretoken)
    }
}

impl PartialOrd for Source<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Source<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Source<'_> {}

/// The entries of a table in memory, sorted: short pretokens, and long ones.
#[derive(Default)]
pub struct Entries<'a> {
    pub short: Vec<Short>,
    pub long: Vec<(&'a [u8], u64)>,
}

/// The pretokens of several sources, sorted, each once.
pub struct Merged<'a> {
    /// The source with the first pretoken is on top.
    sources: BinaryHeap<Source<'a>>,
    pretoken: Vec<u8>,
}

impl<'a> Merged<'a> {
    /// The pretokens of runs in files, and of tables in memory.
    pub fn of(runs: &[Run], entries: Vec<Entries<'a>>) -> Result<Self> {
        let capacity = (READ / runs.len().max(1)).max(READ_OF_EACH);
        memory::ensure(runs.len() * capacity)?;
        let mut merged = Self { sources: BinaryHeap::new(), pretoken: Vec::new() };
        for run in runs {
            merged.add(Rest::Run(RunReader::new(run, capacity)))?;
        }
        for Entries { short, long } in entries {
            merged.add(Rest::Short(short.into_iter()))?;
            merged.add(Rest::Long(long.into_iter()))?;
        }
        Ok(merged)
    }

    fn add(&mut self, rest: Rest<'a>) -> Result<()> {
        let mut source = Source { pretoken: Vec::new(), count: 0, rest };
        if source.advance()? {
            self.sources.push(source);
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
        while self.sources.peek().is_some_and(|source| source.pretoken == self.pretoken) {
            let more = self.take_first()?.unwrap_or(0);
            sum = sum.checked_add(more).ok_or_else(|| overflow(&self.pretoken))?;
        }
        Ok(Some((&self.pretoken, sum)))
    }

    /// Take the first pretoken of the source on top, and return its count.
    fn take_first(&mut self) -> Result<Option<u64>> {
        let Some(mut top) = self.sources.peek_mut() else { return Ok(None) };
        self.pretoken.clear();
        memory::extend(&mut self.pretoken, &top.pretoken)?;
        let count = top.count;
        if !top.advance()? {
            PeekMut::pop(top);
        }
        Ok(Some(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Key, LONGEST};

    #[test]
    fn entries_are_merged_by_bytes_whatever_their_length() {
        let pretokens =
            ["a", "a\0", "a\0\0", "b", "aa", "\u{7f}", "é", "abcdefghijklmno", "abcdefgh", "abcdefghi"];
        let mut all: Vec<String> = pretokens.iter().map(ToString::to_string).collect();
        all.extend(["a".repeat(16), "b".repeat(40), "abcdefghijklmnop".into()]);
        all.sort();
        let (short, long): (Vec<_>, Vec<_>) = all.iter().partition(|text| text.len() <= LONGEST);
        let short =
            short.into_iter().map(|text| Short { key: Key::new(text.as_bytes(), 0, text.len()), count: 1 });
        let long = long.into_iter().map(|text| (text.as_bytes(), 1));
        let entries = Entries { short: short.collect(), long: long.collect() };
        let more = Entries { short: entries.short.clone(), long: Vec::new() };
        let mut seen = vec![];
        let mut see = |pretoken: &[u8], count| {
            seen.push((pretoken.to_vec(), count));
            Ok(())
        };
        Merged::of(&[], vec![entries, more]).unwrap().visit(&mut see).unwrap();
        let counted = |text: String| (text.clone().into_bytes(), if text.len() <= LONGEST { 2 } else { 1 });
        assert_eq!(seen, all.into_iter().map(counted).collect::<Vec<_>>());
    }
}
