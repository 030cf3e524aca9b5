//! Texts as their source has them, and the parts of them that threads encode.

use std::ops::Range;

use super::special::{Segment, Special};
use super::{Encoder, Sink, Workspace, character_start};
use crate::error::{Error, Result};
use crate::unicode::utf8;
use crate::watch::Pulse;

/// Texts that the calling thread gets one after the other; meanwhile other threads encode those it has got.
pub trait TextSource<'t> {
    /// The number of texts.
    fn number(&self) -> usize;

    /// The length of a text in bytes, or less if it is not known yet.
    fn length(&self, text: usize) -> usize;

    /// The sum of the lengths.
    fn bytes(&self) -> usize {
        (0..self.number()).map(|text| self.length(text)).sum()
    }

    /// No fewer ids than they have, unless they are unusual.
    fn most_ids(&self) -> usize {
        self.bytes()
    }

    /// A text, checked. If it is none, the error says why, whenever it is asked for.
    fn text(&self, text: usize) -> Result<&'t str>;

    /// A text as it is got fastest; the thread that encodes it does the rest. Where it does not have bytes, its characters
    /// may be appended to `characters`, if that is given.
    fn get(&self, text: usize, _characters: Option<&mut Vec<u32>>) -> Result<RawText<'t>> {
        self.text(text).map(RawText::Text)
    }

    /// Do work for which no text must be got.
    fn aside<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        work()
    }
}

/// A text as its source has it.
pub enum RawText<'t> {
    Text(&'t str),
    /// Perhaps it is not UTF-8.
    Bytes(&'t [u8]),
    /// The place of its characters among those of a job. Perhaps some are lone surrogates.
    Characters(Range<usize>),
}

impl RawText<'_> {
    /// The length in bytes, or less if it is not known yet.
    fn length(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Characters(range) => range.len(),
        }
    }
}

impl<'t> TextSource<'t> for &[&'t str] {
    fn number(&self) -> usize {
        self.len()
    }

    fn length(&self, text: usize) -> usize {
        self[text].len()
    }

    fn text(&self, text: usize) -> Result<&'t str> {
        Ok(self[text])
    }
}

/// Part of a text, small enough for one job; in order, the parts are the texts.
pub struct TextPart<'t> {
    pub text: usize,
    pub is_last: bool,
    content: PartContent<'t>,
}

enum PartContent<'t> {
    Whole(RawText<'t>),
    Segment(Segment<'t>),
}

impl<'t> TextPart<'t> {
    pub fn whole(text: usize, given: RawText<'t>) -> Self {
        Self { text, is_last: true, content: PartContent::Whole(given) }
    }

    /// The length in bytes, or less if it is not known yet.
    pub fn length(&self) -> usize {
        match &self.content {
            PartContent::Whole(given) => given.length(),
            PartContent::Segment(Segment::Ordinary(text)) => text.len(),
            PartContent::Segment(Segment::Special(_)) => 0,
        }
    }
}

/// The memory of a thread that encodes parts.
pub struct ThreadMemory {
    workspace: Workspace,
    /// The characters of the job's texts that were not given as bytes.
    pub characters: Vec<u32>,
    /// Room for the bytes of one of them.
    utf8: Vec<u8>,
}

impl ThreadMemory {
    pub fn new() -> Result<Self> {
        Ok(Self { workspace: Workspace::new()?, characters: Vec::new(), utf8: Vec::new() })
    }

    /// The existing memory, or new one.
    pub fn ready(kept: &mut Option<Self>) -> Result<&mut Self> {
        match kept {
            Some(memory) => Ok(memory),
            none => Ok(none.insert(Self::new()?)),
        }
    }
}

impl Encoder {
    /// Cut a text into parts for jobs of a size.
    pub fn cut_text<'e, 't>(
        &'e self,
        (text, content): (usize, &'t str),
        special: Special<'e>,
        job: usize,
    ) -> impl Iterator<Item = Result<TextPart<'t>>> + use<'e, 't> {
        let segments = self.looked_for(special).split(content, special);
        let mut segments = segments.flat_map(move |segment| self.cut(segment, job)).peekable();
        std::iter::from_fn(move || {
            let segment = segments.next()?;
            let is_last = segments.peek().is_none();
            Some(segment.map(|segment| TextPart { text, is_last, content: PartContent::Segment(segment) }))
        })
    }

    /// Cut a segment into segments of about the size of a job, as far as safe cuts allow.
    fn cut<'t>(
        &self,
        segment: Result<Segment<'t>>,
        job: usize,
    ) -> impl Iterator<Item = Result<Segment<'t>>> + use<'t, '_> {
        let mut rest = Some(segment);
        std::iter::from_fn(move || {
            let Some(Ok(Segment::Ordinary(text))) = rest else { return rest.take() };
            let from = character_start(text, job);
            match self.pattern.safe_cut(text, from).filter(|&cut| from < text.len() && cut < text.len()) {
                Some(cut) => {
                    rest = Some(Ok(Segment::Ordinary(&text[cut..])));
                    Some(Ok(Segment::Ordinary(&text[..cut])))
                }
                None => rest.take(),
            }
        })
    }

    pub fn encode_part(
        &self,
        part: &TextPart,
        special: Special,
        sink: &mut impl Sink,
        memory: &mut ThreadMemory,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let ThreadMemory { workspace, characters, utf8 } = memory;
        let text = match &part.content {
            PartContent::Whole(RawText::Text(text)) => text,
            PartContent::Whole(RawText::Bytes(bytes)) => checked(bytes, part.text)?,
            PartContent::Whole(RawText::Characters(range)) => {
                checked(utf8::write(&characters[range.clone()], utf8)?, part.text)?
            }
            PartContent::Segment(Segment::Ordinary(text)) => {
                return self.encode_ordinary(text, sink, workspace, pulse);
            }
            PartContent::Segment(Segment::Special(id)) => {
                sink.make_room(1)?;
                sink.put(&[*id]);
                return Ok(());
            }
        };
        self.encode(text, special, sink, workspace, pulse)
    }
}

fn checked(bytes: &[u8], text: usize) -> Result<&str> {
    simdutf8::basic::from_utf8(bytes).map_err(|_| Error::NotText(text))
}

/// The error that ended the work on texts; for one that is no text, the source knows what is wrong with it.
pub fn explained<'t>(error: Error, texts: &impl TextSource<'t>) -> Error {
    match error {
        Error::NotText(text) => texts.text(text).err().unwrap_or(error),
        _ => error,
    }
}
