//! Encoding: added tokens are found, the text between them is normalized and cut into pretokens, and each is merged.

use std::sync::Arc;

use crate::error::Result;
use crate::memory::{expect, reserve};
use crate::normalize::Beginning;
use crate::tokens::TokenBytes;
use crate::watch::Pulse;

mod added;
mod cache;
mod candidates;
mod choice;
mod cuts;
mod growing;
mod grown;
mod jobs;
mod merged;
mod merges;
mod merging;
mod model;
mod offsets;
mod ordinary;
mod pair_filter;
mod parallel;
mod parts;
mod settled;
mod stages;
mod stream;
mod whole;

pub use added::AddedToken;
pub use choice::{Choice, ChoicePart, Choices, Special};
pub use growing::Growing;
pub use model::{Definition, Model, Unknown, ranks};
pub use offsets::{CharacterSpan, Trim, Unit};
pub use ordinary::Workspace;
pub use parallel::Encoded;
pub use parts::{RawText, TextSource};
use stages::Section;
pub use stages::Stages;
pub use stream::EncodeStream;

/// The id of a byte without a token.
const NO_ID: u32 = u32::MAX;

/// Everything from a text to its ids. It never changes, and any number of threads may use it at once.
pub struct Encoder {
    pub stages: Arc<Stages>,
    pub model: Arc<Model>,
}

/// The destination of ids.
pub trait Sink {
    /// Append the ids of the next part of the text.
    fn put(&mut self, ids: &[u32]);
    /// Reserve memory for the ids of a text of this size, if available: an estimate from above.
    fn expect(&mut self, bytes: usize);
    /// Guarantee room for this many ids.
    fn make_room(&mut self, ids: usize) -> Result<()>;
    /// Release unused memory.
    fn finish(&mut self);
    /// The number of ids so far.
    fn taken(&self) -> usize;
}

/// An integer type for storing ids.
pub trait Id: Copy + Default + Send + Sync + 'static {
    /// The largest id that fits.
    const LARGEST: u32;
    /// Convert an id that is known to fit.
    fn from_id(id: u32) -> Self;
}

impl Id for u32 {
    const LARGEST: u32 = u32::MAX;
    #[inline]
    fn from_id(id: u32) -> Self {
        id
    }
}

impl Id for u16 {
    const LARGEST: u32 = u16::MAX as u32;
    #[inline]
    fn from_id(id: u32) -> Self {
        id as u16
    }
}

impl<T: Id> Sink for Vec<T> {
    #[inline]
    fn put(&mut self, ids: &[u32]) {
        self.extend(ids.iter().map(|&id| T::from_id(id)));
    }

    fn expect(&mut self, bytes: usize) {
        // No text has more ids than bytes. Unused memory is never touched, and released at the end.
        if self.capacity() == 0 {
            expect(self, bytes);
        }
    }

    #[inline]
    fn make_room(&mut self, ids: usize) -> Result<()> {
        reserve(self, ids)
    }

    fn finish(&mut self) {
        self.shrink_to_fit();
    }

    #[inline]
    fn taken(&self) -> usize {
        self.len()
    }
}

/// Counts ids without storing them.
#[derive(Default)]
pub struct Count(usize);

impl Sink for Count {
    #[inline]
    fn put(&mut self, ids: &[u32]) {
        self.0 += ids.len();
    }

    fn expect(&mut self, _: usize) {}

    fn make_room(&mut self, _: usize) -> Result<()> {
        Ok(())
    }

    fn finish(&mut self) {}

    #[inline]
    fn taken(&self) -> usize {
        self.0
    }
}

impl Encoder {
    /// Check the definition and build the tables.
    pub fn new(definition: &Definition, stages: Stages) -> Result<Self> {
        Ok(Self { stages: Arc::new(stages), model: Arc::new(Model::new(definition)?) })
    }

    /// The same model behind other stages.
    pub fn with_stages(&self, stages: Stages) -> Self {
        Self { stages: Arc::new(stages), model: Arc::clone(&self.model) }
    }

    /// The same with a cache of its own, which takes this much memory at most.
    pub fn with_memory(&self, memory: usize) -> Result<Self> {
        Ok(Self { stages: Arc::clone(&self.stages), model: Arc::new(self.model.with_memory(memory)?) })
    }

    /// The bytes of every token.
    pub fn tokens(&self) -> &TokenBytes {
        self.model.tokens()
    }

    /// Encode one text on this thread.
    pub fn encode(
        &self,
        text: &str,
        choice: Choice,
        sink: &mut impl Sink,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let mut put = |section: Section, pulse: &mut Pulse| self.put(section, sink, workspace, pulse);
        let encoded = self.stages.sections(text, Beginning::Text, choice, pulse, &mut put);
        encoded.map_err(|error| self.stages.in_whole(error, text, choice))
    }

    /// Encode a section of a text.
    #[inline(always)]
    fn put(
        &self,
        section: Section,
        sink: &mut impl Sink,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        match section.id {
            None => self.model.encode_ordinary(section.text, sink, workspace, pulse),
            Some(id) => {
                sink.make_room(1)?;
                sink.put(&[id]);
                Ok(())
            }
        }
    }
}

/// The last character boundary at or before `at`.
fn character_start(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&place| text.is_char_boundary(place)).unwrap_or(0)
}
