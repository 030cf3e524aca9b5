//! Encoding: added tokens are found, the text between them is normalized and cut into pretokens, and each is merged.

use std::sync::Arc;

use crate::error::Result;
use crate::memory::reserve;
use crate::tokens::TokenBytes;
use crate::watch::Pulse;

mod added;
mod cache;
mod candidates;
mod choice;
mod growing;
mod merges;
mod merging;
mod model;
mod ordinary;
mod parallel;
mod parts;
mod places;
mod stages;
mod whole;

pub use added::AddedToken;
pub use choice::{Choice, ChoicePart, Choices, Special};
pub use growing::{EncodeStream, Growing};
pub use model::{Definition, Model, Unknown, ranks};
use ordinary::Run;
pub use ordinary::Workspace;
pub use parallel::Encoded;
pub use parts::TextSource;
pub use places::{Span, Trim, Unit};
pub use stages::Stages;
use stages::{Section, Stretch};

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
    /// Guarantee room for this many ids.
    fn make_room(&mut self, ids: usize) -> Result<()>;
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

    #[inline]
    fn make_room(&mut self, ids: usize) -> Result<()> {
        reserve(self, ids)
    }
}

/// Counts ids without storing them.
#[derive(Default)]
pub struct Count(pub usize);

impl Sink for Count {
    #[inline]
    fn put(&mut self, ids: &[u32]) {
        self.0 += ids.len();
    }

    fn make_room(&mut self, _: usize) -> Result<()> {
        Ok(())
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
    #[inline]
    pub fn encode(
        &self,
        text: &str,
        choice: Choice,
        sink: &mut impl Sink,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        self.encode_stretch(Stretch::whole(text), choice, sink, workspace, pulse)
    }

    #[inline]
    fn encode_stretch(
        &self,
        stretch: Stretch,
        choice: Choice,
        sink: &mut impl Sink,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        self.stages.sections(stretch, choice, false, pulse, &mut |section, pulse| match section.id {
            None => self.model.encode_ordinary(section.text, sink, &mut Run { workspace, pulse }),
            Some(id) => {
                sink.make_room(1)?;
                sink.put(&[id]);
                Ok(())
            }
        })
    }
}

/// The last character boundary at or before `at`.
fn character_start(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&place| text.is_char_boundary(place)).unwrap_or(0)
}

#[cfg(test)]
mod tests;
