//! How often each id is used in the pretokens of a table, as often as these were counted.

use std::collections::HashMap;

use super::CountTable;
use crate::encode::{Encoder, PretokenEncoder};
use crate::error::{Error, Result};
use crate::memory::filled;
use crate::watch::Pulse;
use crate::workers::{each, thread_count};

/// How often ids are used.
struct Uses {
    near: Vec<u64>,
    far: HashMap<u32, u64>,
}

impl Uses {
    fn new(encoder: &Encoder) -> Result<Self> {
        Ok(Self { near: filled(0, encoder.tokens().near())?, far: HashMap::new() })
    }

    fn add(&mut self, id: u32, times: u64) -> Result<()> {
        let uses = match self.near.get_mut(id as usize) {
            Some(uses) => uses,
            None => self.far.entry(id).or_default(),
        };
        *uses = uses.checked_add(times).ok_or_else(|| too_many(id))?;
        Ok(())
    }

    /// The ids that are used at all, and how often.
    fn pairs(self) -> impl Iterator<Item = (u32, u64)> {
        (0..).zip(self.near).chain(self.far).filter(|(_, uses)| *uses > 0)
    }
}

fn too_many(id: u32) -> Error {
    Error::Overflow(format!("id {id} is used more often than 64 bits can count"))
}

impl CountTable {
    /// Returns the ids that the pretokens become, in ascending order, and how often.
    pub fn uses(
        &self,
        encoder: &Encoder,
        threads: Option<usize>,
        pulse: &mut Pulse,
    ) -> Result<Vec<(u32, u64)>> {
        let threads = thread_count(threads, self.shards.len());
        let parts = each(threads, 0..threads, pulse, |thread, pulse| {
            let mut uses = Uses::new(encoder)?;
            let mut pretokens = PretokenEncoder::new(&encoder.model)?;
            for shard in self.shards.iter().skip(thread).step_by(threads) {
                shard.visit(&mut |pretoken, times| {
                    pulse.beat(pretoken.len())?;
                    let ids = pretokens.ids(pretoken, pulse)?;
                    ids.iter().try_for_each(|&id| uses.add(id, times))
                })?;
            }
            Ok(uses)
        })?;
        let mut sum = Uses::new(encoder)?;
        for (id, times) in parts.into_iter().flat_map(Uses::pairs) {
            sum.add(id, times)?;
        }
        let mut pairs: Vec<_> = sum.pairs().collect();
        pairs.sort_unstable();
        Ok(pairs)
    }
}
