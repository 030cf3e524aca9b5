//! Encoding: added tokens are found, the text between them is normalized and cut into pretokens,
//! and each is merged.

use std::sync::Arc;

use crate::decode::{Drops, Writing};
use crate::error::Result;
use crate::memory::push;
use crate::tokens::TokenBytes;
use crate::watch::Pulse;

mod added;
mod cache;
mod choice;
mod dropout;
mod growing;
mod merges;
mod merging;
mod model;
mod ordinary;
mod parallel;
mod parts;
mod places;
mod pretokens;
mod stages;
mod superwords;
mod tail;
mod whole;
mod written;

pub use added::AddedToken;
use cache::{Cache, default_memory};
pub use choice::{Choice, ChoicePart, Special};
pub use dropout::Dropout;
pub use growing::{EncodeStream, Growing};
pub use merges::Merges;
pub use merging::{Merger, Scratch};
pub use model::{Definition, Model, Unknown, ranks};
pub use ordinary::Workspace;
pub use parallel::{Encoded, is_for_one_thread};
pub use parts::TextSource;
pub use places::{Span, Trim, Unit};
pub use pretokens::PretokenEncoder;
use stages::Section;
pub use stages::{SectionPlaces, Stages, Stretch};
pub use written::Mark;

/// The id of a byte without a token.
const NO_ID: u32 = u32::MAX;

/// Everything from a text to its ids. It never changes, and any number of threads may use it at
/// once.
#[derive(Clone)]
pub struct Encoder {
    pub stages: Arc<Stages>,
    pub model: Arc<Model>,
    pub cache: Arc<Cache>,
    /// Of the pieces of new pretokens, where some tokens join words.
    pieces: Option<Arc<Cache>>,
    /// For `encode`, `encode_all` and the places of their ids alone.
    pub dropout: Option<Dropout>,
}

/// An integer type for storing ids; the empty one only counts them.
pub trait Id: Copy + Default + Send + Sync + 'static {
    /// The largest id that fits.
    const LARGEST: u32;
    /// Converts an id that is known to fit.
    fn from_id(id: u32) -> Self;

    /// Appends ids for which there is room.
    #[inline]
    fn put(ids: &mut Vec<Self>, more: &[u32]) {
        ids.extend(more.iter().map(|&id| Self::from_id(id)));
    }
}

impl Id for u32 {
    const LARGEST: u32 = u32::MAX;
    #[inline]
    fn put(ids: &mut Vec<Self>, more: &[u32]) {
        ids.extend_from_slice(more);
    }
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

impl Id for () {
    const LARGEST: u32 = u32::MAX;
    #[inline]
    fn from_id(_: u32) {}
}

impl Encoder {
    /// Checks the definition and builds the tables.
    pub fn new(definition: &Definition, stages: Stages) -> Result<Self> {
        let model = Model::new(definition)?;
        let (cache, pieces) = model.caches(default_memory())?;
        let (stages, model) = (Arc::new(stages), Arc::new(model));
        Ok(Self { stages, model, cache, pieces, dropout: None })
    }

    /// The same model behind other stages.
    pub fn with_stages(&self, stages: Stages) -> Self {
        Self { stages: Arc::new(stages), ..self.clone() }
    }

    /// The same with a cache of its own, which takes no more than this memory.
    pub fn with_memory(&self, memory: usize) -> Result<Self> {
        let (cache, pieces) = self.model.caches(memory)?;
        Ok(Self { cache, pieces, ..self.clone() })
    }

    /// The memory that its caches take at most.
    pub fn memory(&self) -> usize {
        self.cache.memory() + self.pieces.as_ref().map_or(0, |pieces| pieces.memory())
    }

    /// The same, if it is not the one that encoders of this process have by default.
    pub fn chosen_memory(&self) -> Option<usize> {
        let default = self.model.memory_of_caches(default_memory());
        Some(self.memory()).filter(|&memory| memory != default)
    }

    /// The same with dropout.
    pub fn with_dropout(&self, dropout: Dropout) -> Self {
        Self { dropout: Some(dropout), ..self.clone() }
    }

    /// The bytes of every token, as decoding writes them.
    pub fn tokens(&self) -> &TokenBytes {
        self.model.written()
    }

    /// How ids become text, which may omit spaces.
    pub fn writing(&self, drops: Drops) -> Writing<'_> {
        Writing { tokens: self.model.written(), behind: self.model.written_behind(), drops }
    }

    /// Encodes one text on this thread.
    #[inline]
    pub fn encode<T: Id>(
        &self,
        text: &str,
        choice: Choice,
        ids: &mut Vec<T>,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let stretch = Stretch::whole(text);
        if let Some(dropout) = self.dropout {
            return self.encode_dropping(stretch, choice, dropout, ids, workspace, pulse);
        }
        self.encode_stretch(stretch, choice, ids, workspace, pulse)
    }

    #[inline]
    fn encode_stretch<T: Id>(
        &self,
        stretch: Stretch,
        choice: Choice,
        ids: &mut Vec<T>,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        if let Some(section) = self.stages.only_section(&stretch) {
            return self.encode_ordinary(section, ids, workspace, pulse);
        }
        self.stages.sections(
            stretch,
            choice,
            SectionPlaces::Unneeded,
            pulse,
            &mut |section, pulse| match section.id {
                None => self.encode_ordinary(section.text, ids, workspace, pulse),
                Some(id) => push(ids, T::from_id(id)),
            },
        )
    }
}

/// The last character boundary at or before `at`.
fn character_start(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&place| text.is_char_boundary(place)).unwrap_or(0)
}

#[cfg(test)]
mod tests;
