//! Counts in the order of their pretokens' bytes: several sorted sources are merged into one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::error::{Error, Result};
use crate::memory;

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

/// A sorted source of pretokens: changes a pretoken into the next one and returns its count, or
/// `None` at the end.
pub type Source<'a> = Box<dyn FnMut(&mut Vec<u8>) -> Result<Option<u64>> + Send + 'a>;

/// The pretokens of several sources, sorted, each once.
pub struct Merged<'a> {
    /// The sources, each with the count of its current pretoken.
    sources: Vec<(u64, Source<'a>)>,
    /// The current pretoken of each source, and the source's number; the first pretoken is on top.
    current: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    /// The pretoken that was taken last.
    pretoken: Vec<u8>,
}

impl<'a> Merged<'a> {
    pub fn of(sources: impl IntoIterator<Item = Source<'a>>) -> Result<Self> {
        let mut merged =
            Self { sources: Vec::new(), current: BinaryHeap::new(), pretoken: Vec::new() };
        for mut source in sources {
            let mut first = Vec::new();
            if let Some(count) = source(&mut first)? {
                merged.current.push(Reverse((first, merged.sources.len())));
                merged.sources.push((count, source));
            }
        }
        Ok(merged)
    }

    /// Visits every pretoken with the sum of its counts.
    pub fn visit(&mut self, visitor: &mut dyn FnMut(&[u8], u64) -> Result<()>) -> Result<()> {
        while let Some((pretoken, count)) = self.next()? {
            visitor(pretoken, count)?;
        }
        Ok(())
    }

    /// Returns the next pretoken and the sum of its counts.
    pub fn next(&mut self) -> Result<Option<(&[u8], u64)>> {
        let Some(mut sum) = self.take_first()? else { return Ok(None) };
        while self.current.peek().is_some_and(|Reverse((next, _))| *next == self.pretoken) {
            let more = self.take_first()?.unwrap_or(0);
            sum = sum.checked_add(more).ok_or_else(|| overflow(&self.pretoken))?;
        }
        Ok(Some((&self.pretoken, sum)))
    }

    /// Takes the pretoken on top, and returns its count.
    fn take_first(&mut self) -> Result<Option<u64>> {
        let Some(mut top) = self.current.peek_mut() else { return Ok(None) };
        let Reverse((pretoken, number)) = &mut *top;
        let (count, source) = &mut self.sources[*number];
        self.pretoken.clear();
        memory::extend(&mut self.pretoken, pretoken)?;
        let count_on_top = *count;
        // The source changes its entry in place; the heap then moves it.
        match source(pretoken)? {
            Some(next) => *count = next,
            None => drop(PeekMut::pop(top)),
        }
        Ok(Some(count_on_top))
    }
}

/// Returns the error of a count that does not fit 64 bits.
pub fn overflow(pretoken: &[u8]) -> Error {
    let pretoken = String::from_utf8_lossy(pretoken);
    Error::Overflow(format!("the count of {pretoken:?} does not fit 64 bits"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::shard_of_entries;
    use super::*;
    use crate::key::LONGEST;

    #[test]
    fn entries_are_merged_by_bytes_whatever_their_length() {
        let pretokens = [
            "a",
            "a\0",
            "a\0\0",
            "b",
            "aa",
            "\u{7f}",
            "é",
            "abcdefghijklmno",
            "abcdefgh",
            "abcdefghi",
        ];
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
        let sorted = [shard.sorted().unwrap(), more.sorted().unwrap()];
        Merged::of(sorted.into_iter().flatten()).unwrap().visit(&mut see).unwrap();
        all.sort();
        let counted =
            |text: String| (text.clone().into_bytes(), if text.len() <= LONGEST { 2 } else { 1 });
        assert_eq!(seen, all.into_iter().map(counted).collect::<Vec<_>>());
    }
}
