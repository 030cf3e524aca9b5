//! Counts sorted by the bytes of their pretokens.
//!
//! Short and long pretokens are sorted separately, the short ones as numbers, and merged when they are visited.

use super::short::Short;
use crate::error::Result;
use crate::key::Key;
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

/// Entries of tables.
#[derive(Default)]
pub struct Entries<'a> {
    pub short: Vec<Short>,
    pub long: Vec<(&'a [u8], u64)>,
}

impl<'a> Entries<'a> {
    /// Sort entries; free slots are left out.
    pub fn sorted(mut short: Vec<Short>, mut long: Vec<(&'a [u8], u64)>) -> Self {
        short.retain(|slot| !slot.key.is_none());
        short.sort_unstable_by_key(|slot| order(slot.key));
        long.sort_unstable();
        Self { short, long }
    }

    /// Sort the entries of all parts together.
    pub fn sorted_together(mut parts: Vec<Self>) -> Result<Self> {
        let Self { mut short, mut long } = parts.pop().unwrap_or_default();
        for part in parts {
            memory::extend(&mut short, &part.short)?;
            memory::extend(&mut long, &part.long)?;
        }
        Ok(Self::sorted(short, long))
    }

    /// Visit every pretoken and its count, in order.
    pub fn visit(&self, visitor: &mut dyn FnMut(&[u8], u64) -> Result<()>) -> Result<()> {
        let mut long = self.long.iter().peekable();
        for entry in &self.short {
            let bytes = entry.key.bytes();
            let pretoken = &bytes[..entry.key.length()];
            while let Some((before, count)) = long.next_if(|(longer, _)| *longer < pretoken) {
                visitor(before, *count)?;
            }
            visitor(pretoken, entry.count)?;
        }
        long.try_for_each(|(pretoken, count)| visitor(pretoken, *count))
    }
}

/// A number that sorts like the first bytes of a pretoken.
pub fn head(pretoken: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = pretoken.len().min(bytes.len());
    bytes[..length].copy_from_slice(&pretoken[..length]);
    u64::from_be_bytes(bytes)
}

/// A number that sorts like the pretoken's bytes: the bytes in big-endian order, padded with zeros, then the length.
pub fn order(key: Key) -> (u64, u64) {
    (key.low.swap_bytes(), key.high.swap_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::LONGEST;

    #[test]
    fn entries_are_sorted_by_bytes_whatever_their_length() {
        let pretokens =
            ["a", "a\0", "a\0\0", "b", "aa", "", "\u{7f}", "é", "abcdefghijklmno", "abcdefgh", "abcdefghi"];
        let mut all: Vec<String> =
            pretokens.iter().map(ToString::to_string).filter(|text| !text.is_empty()).collect();
        all.extend(["a".repeat(16), "b".repeat(40), "abcdefghijklmnop".into()]);
        let is_short = |text: &&String| text.len() <= LONGEST;
        let short = all
            .iter()
            .filter(is_short)
            .map(|text| Short { key: Key::new(text.as_bytes(), 0, text.len()), count: text.len() as u64 });
        let long = all.iter().filter(|text| !is_short(text)).map(|text| (text.as_bytes(), text.len() as u64));
        let mut seen = vec![];
        let entries = Entries::sorted(short.chain([Short::default()]).collect(), long.collect());
        let mut see = |pretoken: &[u8], count| {
            seen.push((pretoken.to_vec(), count));
            Ok(())
        };
        entries.visit(&mut see).unwrap();
        all.sort();
        assert_eq!(
            seen,
            all.iter().map(|text| (text.clone().into_bytes(), text.len() as u64)).collect::<Vec<_>>()
        );
    }
}
