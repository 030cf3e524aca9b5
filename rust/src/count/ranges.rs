//! Ranges of pretokens, which several threads sort.

use super::shard::{SHARDS, Shard};
use super::sorted::{Entries, head, order};
use crate::error::Result;
use crate::memory;

/// The usual number of pretokens in a range: they are sorted in the second-level cache.
const RANGE: usize = 1 << 16;

/// The first bytes, as numbers, at which ranges of about [`RANGE`] pretokens begin (the first range has no number).
/// A hash has chosen the pretokens of a shard, so those of one are a fair sample of all.
pub fn splitters(shard: &Shard, min_count: u64) -> Result<Vec<u64>> {
    let short = shard.tables().0.filter(|slot| slot.count >= min_count);
    let mut sample = memory::gathered(short.map(|slot| order(slot.key).0))?;
    sample.sort_unstable();
    Ok(sample.into_iter().step_by(RANGE / SHARDS).skip(1).collect())
}

/// The entries of shards with a count of at least `min_count`, unsorted, in ranges that begin at the splitters.
pub fn in_ranges<'a>(shards: &'a [Shard], splitters: &[u64], min_count: u64) -> Result<Vec<Entries<'a>>> {
    let range_of = |head| splitters.partition_point(|first| *first <= head);
    let mut ranges = Vec::new();
    ranges.resize_with(splitters.len() + 1, Entries::default);
    for shard in shards {
        let (short, long) = shard.tables();
        for slot in short.filter(|slot| slot.count >= min_count) {
            memory::push(&mut ranges[range_of(order(slot.key).0)].short, *slot)?;
        }
        for entry in long.filter(|(_, count)| *count >= min_count) {
            memory::push(&mut ranges[range_of(head(entry.0))].long, entry)?;
        }
    }
    Ok(ranges)
}
