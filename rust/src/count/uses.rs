//! How often each id is used in the pretokens of a table, as often as these were counted.

use std::collections::HashMap;

use super::CountTable;
use crate::encode::{Model, PretokenEncoder};
use crate::error::{Error, Result};
use crate::key::hasher::Keyed;
use crate::watch::Pulse;
use crate::workers::{each, thread_count};

/// The ids that are used at all, and how often.
#[derive(Default)]
struct Uses(HashMap<u32, u64, Keyed>);

impl Uses {
    fn add(&mut self, id: u32, times: u64) -> Result<()> {
        let uses = self.0.entry(id).or_default();
        let too_many = || format!("id {id} is used more often than 64 bits can count");
        *uses = uses.checked_add(times).ok_or_else(|| Error::Overflow(too_many()))?;
        Ok(())
    }
}

impl CountTable {
    /// Returns the ids that the pretokens become, in ascending order, and how often.
    pub fn uses(
        &self,
        model: &Model,
        threads: Option<usize>,
        pulse: &mut Pulse,
    ) -> Result<Vec<(u32, u64)>> {
        let threads = thread_count(threads, self.shards.len());
        let parts = each(threads, 0..threads, pulse, |thread, pulse| {
            let mut uses = Uses::default();
            let mut pretokens = PretokenEncoder::new(model)?;
            for shard in self.shards.iter().skip(thread).step_by(threads) {
                shard.visit(&mut |pretoken, times| {
                    pulse.beat(pretoken.len())?;
                    let ids = pretokens.ids(pretoken, pulse)?;
                    ids.iter().try_for_each(|&id| uses.add(id, times))
                })?;
            }
            Ok(uses)
        })?;
        let mut sum = Uses::default();
        for (id, times) in parts.into_iter().flat_map(|uses| uses.0) {
            sum.add(id, times)?;
        }
        let mut pairs: Vec<_> = sum.0.into_iter().collect();
        pairs.sort_unstable();
        Ok(pairs)
    }
}
