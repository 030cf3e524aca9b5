//! The counter of one worker: it counts text into the shards that all workers share.
//!
//! A few thousand pretokens make up most of any text. They are counted in a small table of the
//! worker's own (`front`), which stays in the processor's cache. Each slot holds one pretoken. When
//! another one takes its place, the pretoken and its count go to a buffer for its shard, so that a
//! shard is locked once for many additions.

use super::boundary::Cutter;
use super::buffers::{ShardBuffers, SharedShards};
use super::shard::CountSlot;
use crate::encode::{SectionPlaces, Special, Stretch};
use crate::error::Result;
use crate::key::block::{BLOCK, Block, KeyTable, Lookups};
use crate::key::instructions::KeyHasher;
use crate::memory::boxed_array;
use crate::normalize::Beginning;
use crate::prefetch::prefetch_at;
use crate::pretokenize::Batch;
use crate::watch::Pulse;

/// The number of slots of the worker's own table. It takes 768 KB, of which an L2 cache keeps what
/// is used often; with half as many, more pretokens replace each other (1.02 to 1.04 of the time
/// for English and code).
const FRONT_SLOTS: usize = 1 << 15;

/// Counts text on one thread.
pub struct Counter<'a, 's> {
    pub cutter: Cutter<'a>,
    count_unmatched: bool,
    hasher: KeyHasher,
    lookups: Lookups,
    front: Box<[CountSlot; FRONT_SLOTS]>,
    buffers: ShardBuffers<'a, 's>,
    counted: Amount,
}

/// The slots of a worker's own table. The place of a slot is its index.
#[derive(Clone, Copy)]
struct FrontSlots<'f>(&'f [CountSlot; FRONT_SLOTS]);

impl KeyTable for FrontSlots<'_> {
    #[inline(always)]
    fn place(self, hash: u64) -> u32 {
        hash as u32 % FRONT_SLOTS as u32
    }

    #[inline(always)]
    fn prefetch(self, place: u32) {
        prefetch_at(self.0.as_ptr().wrapping_add(place as usize).cast());
    }
}

/// An amount of counted text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Amount {
    pub pretokens: u64,
    pub documents: u64,
    pub bytes: u64,
}

impl Amount {
    pub fn add(&mut self, other: &Self) {
        self.pretokens += other.pretokens;
        self.documents += other.documents;
        self.bytes += other.bytes;
    }
}

impl<'a, 's> Counter<'a, 's> {
    pub fn new(
        cutter: Cutter<'a>,
        count_unmatched: bool,
        shards: &'a SharedShards<'s>,
    ) -> Result<Self> {
        let hasher = KeyHasher::of_process();
        let buffers = ShardBuffers::new(shards)?;
        Ok(Self {
            cutter,
            // If no text is left between two matches, every piece is a match, and need not be
            // tested.
            count_unmatched: count_unmatched || cutter.pattern.covers_all_text(),
            hasher,
            lookups: Lookups::new()?,
            front: boxed_array(CountSlot::default)?,
            buffers,
            counted: Amount::default(),
        })
    }

    /// Counts a part of a corpus: one document, or several with boundaries between them.
    /// `continues` means that the first document began in an earlier part.
    pub fn count(&mut self, text: &str, continues: bool, pulse: &mut Pulse) -> Result<()> {
        self.counted.bytes += text.len() as u64;
        let Some(boundaries) = self.cutter.boundaries else {
            return self.count_segment(Stretch::whole(text), continues, pulse);
        };
        let mut continues = continues;
        let mut at = Beginning::Text;
        for segment in boundaries.segments(text) {
            let segment = Stretch { text: segment, range: 0..segment.len(), at };
            self.count_segment(segment, continues, pulse)?;
            continues = false;
            at = Beginning::Segment;
        }
        Ok(())
    }

    /// Counts the text between two boundaries.
    fn count_segment(
        &mut self,
        segment: Stretch,
        continues: bool,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let stages = self.cutter.stages;
        let has_tokens = stages.have_tokens();
        // Added tokens divide a document as boundaries do.
        self.counted.documents += u64::from(!segment.text.is_empty() && !continues && !has_tokens);
        let (all, places) = (Special::Parse.into(), SectionPlaces::Unneeded);
        stages.sections(segment, all, places, pulse, &mut |section, pulse| match section.id {
            Some(_) => Ok(()), // An added token, which is never merged.
            None => {
                self.counted.documents += u64::from(has_tokens);
                self.count_section(section.text, pulse)
            }
        })
    }

    /// Counts text as it is cut into pretokens.
    fn count_section(&mut self, text: &str, pulse: &mut Pulse) -> Result<()> {
        let text = self.cutter.pattern.prepare(text, pulse)?;
        let mut scanner = self.cutter.pattern.scan(&text);
        let mut match_test = self.cutter.pattern.match_test(&text);
        let mut batch = Batch::default();
        let mut start = 0;
        while scanner.fill(&mut batch, pulse)? > 0 {
            for ends in batch.ends().chunks(BLOCK) {
                let block = Block { text: text.text().as_bytes(), start, ends };
                start = block.end();
                self.lookups.prepare(&block, &self.hasher, FrontSlots(&self.front));
                if self.count_unmatched {
                    self.count_block(&block, |_| true)?;
                } else {
                    let mut is_match = [false; BLOCK];
                    for (index, is_match) in is_match.iter_mut().enumerate().take(ends.len()) {
                        *is_match = match_test.next(block.pretoken(index).len(), pulse)?;
                    }
                    self.count_block(&block, |index| is_match[index])?;
                }
            }
        }
        Ok(())
    }

    /// Counts the pretokens of a block that are matches, after their lookups were prepared. A
    /// function of its own, so that the loop has all registers.
    #[inline(never)]
    fn count_block(&mut self, block: &Block, is_match: impl Fn(usize) -> bool) -> Result<()> {
        let (front, buffers) = (&mut *self.front, &mut self.buffers);
        let (keys, places) = (&*self.lookups.keys, &*self.lookups.places);
        let mut counted = 0;
        for index in 0..block.ends.len().min(BLOCK) {
            if !is_match(index) {
                continue;
            }
            counted += 1;
            let (key, slot) = (keys[index], &mut front[places[index] as usize % FRONT_SLOTS]);
            if slot.key == key {
                slot.count += 1;
            } else if key.is_short() {
                let replaced = std::mem::replace(slot, CountSlot { key, count: 1 });
                if !replaced.key.is_none() {
                    buffers.add_short(replaced)?;
                }
            } else {
                // A long pretoken never takes a slot.
                buffers.add_long(CountSlot { key, count: 1 }, block.pretoken(index))?;
            }
        }
        self.counted.pretokens += counted;
        Ok(())
    }

    /// Returns the amount that was counted since the last call.
    pub fn take_amount(&mut self) -> Amount {
        std::mem::take(&mut self.counted)
    }

    /// Flushes the table and all buffers to the shards.
    pub fn finish(mut self) -> Result<()> {
        for &entry in self.front.iter().filter(|entry| !entry.key.is_none()) {
            self.buffers.add_short(entry)?;
        }
        self.buffers.finish()
    }
}
