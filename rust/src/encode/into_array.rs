//! Encodes texts on the calling thread into an array that the caller provides and reuses.

use super::{Encoder, Id, Sink, Special, TextSource, Workspace};
use crate::error::{Error, Result};
use crate::memory::reserve;
use crate::watch::Pulse;

/// Memory for ids; the first `taken` of them are used.
struct Row<'r, T> {
    ids: &'r mut [T],
    taken: usize,
}

impl<T: Id> Sink for Row<'_, T> {
    #[inline]
    fn put(&mut self, ids: &[u32]) {
        let places = &mut self.ids[self.taken..self.taken + ids.len()];
        for (place, &id) in places.iter_mut().zip(ids) {
            *place = T::from_id(id);
        }
        self.taken += ids.len();
    }

    fn expect(&mut self, _: usize) {}

    #[inline]
    fn make_room(&mut self, ids: usize) -> Result<()> {
        if ids <= self.ids.len() - self.taken { Ok(()) } else { Err(no_room()) }
    }

    fn finish(&mut self) {}

    #[inline]
    fn taken(&self) -> usize {
        self.taken
    }
}

#[cold]
fn no_room() -> Error {
    Error::Value("the array is too small for the ids".into())
}

impl Encoder {
    /// The maximum number of ids of texts that keep their length: one per byte, and one appended to each text.
    pub fn most_ids<'t>(&self, texts: &impl TextSource<'t>, append: Option<u32>) -> usize {
        let number = texts.number();
        let bytes: usize = (0..number).map(|text| self.model.pattern.max_bytes(texts.length(text))).sum();
        bytes + append.map_or(0, |_| number)
    }

    /// Write the ids of texts to `ids`, each followed by the id `append`; return the offsets, beginning with 0. A length of
    /// `most_ids` is always enough.
    pub fn encode_into<'t, T: Id>(
        &self,
        texts: &impl TextSource<'t>,
        ids: &mut [T],
        special: Special,
        append: Option<u32>,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<Vec<u64>> {
        self.model.check_fits::<T>()?;
        let mut row = Row { ids, taken: 0 };
        let mut offsets = Vec::new();
        reserve(&mut offsets, texts.number() + 1)?;
        offsets.push(0);
        for text in 0..texts.number() {
            self.encode(texts.text(text)?, special, &mut row, workspace, pulse)?;
            if let Some(id) = append {
                row.make_room(1)?;
                row.put(&[id]);
            }
            offsets.push(row.taken as u64);
        }
        Ok(offsets)
    }
}
