//! Texts as their source has them, and the parts of them that threads encode.

use std::ops::Range;

use super::added::Stretch;
use super::stages::Section;
use super::{Choice, Encoder, Sink, Workspace, character_start};
use crate::error::{Error, Result};
use crate::normalize::Beginning;
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

    /// A text as it is got fastest; the thread that encodes it does the rest.
    fn get(&self, text: usize) -> Result<RawText<'t>> {
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
}

impl RawText<'_> {
    /// The length in bytes.
    fn length(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
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
    /// Where text between first tokens is in a text, and how it begins.
    Between(&'t str, Range<usize>, Beginning),
    Ordinary(&'t str),
    Token(u32),
}

impl<'t> TextPart<'t> {
    pub fn whole(text: usize, given: RawText<'t>) -> Self {
        Self { text, is_last: true, content: PartContent::Whole(given) }
    }

    /// The length in bytes, or less if it is not known yet.
    pub fn length(&self) -> usize {
        match &self.content {
            PartContent::Whole(given) => given.length(),
            PartContent::Between(_, range, _) => range.len(),
            PartContent::Ordinary(text) => text.len(),
            PartContent::Token(_) => 0,
        }
    }
}

impl Encoder {
    /// Cut a text into parts for jobs of a size: at added tokens, and elsewhere as far as that is safe.
    pub fn cut_text<'e, 't>(
        &'e self,
        (text, content): (usize, &'t str),
        choice: Choice<'e>,
        job: usize,
    ) -> impl Iterator<Item = Result<TextPart<'t>>> + use<'e, 't>
    where
        't: 'e,
    {
        let is_plain = self.stages.is_plain();
        let tokens = if is_plain { &self.stages.later } else { &self.stages.first };
        let stretches = tokens.stretches(content, choice);
        let mut parts =
            stretches.flat_map(move |stretch| self.cut(content, stretch, is_plain, job)).peekable();
        std::iter::from_fn(move || {
            let content = parts.next()?;
            let is_last = parts.peek().is_none();
            Some(content.map(|content| TextPart { text, is_last, content }))
        })
    }

    /// Cut a stretch of a text into parts of about the size of a job.
    fn cut<'t>(
        &self,
        whole: &'t str,
        stretch: Result<Stretch>,
        is_plain: bool,
        job: usize,
    ) -> impl Iterator<Item = Result<PartContent<'t>>> + use<'t, '_> {
        let mut at = match &stretch {
            Ok(stretch) if stretch.range.start > 0 => Beginning::Segment,
            _ => Beginning::Text,
        };
        let mut left = Some(stretch);
        std::iter::from_fn(move || {
            let range = match left.take()? {
                Err(error) => return Some(Err(error)),
                Ok(Stretch { id: Some(id), .. }) => return Some(Ok(PartContent::Token(id))),
                Ok(Stretch { range, .. }) => range,
            };
            let (start, text) = (range.start, &whole[range.clone()]);
            let part = match self.safe_cut(text, character_start(text, job), is_plain) {
                None => text,
                Some(cut) => {
                    left = Some(Ok(Stretch { range: start + cut..range.end, id: None }));
                    &text[..cut]
                }
            };
            let begins = std::mem::replace(&mut at, Beginning::Within);
            Some(Ok(match is_plain {
                true => PartContent::Ordinary(part),
                false => PartContent::Between(whole, start..start + part.len(), begins),
            }))
        })
    }

    /// The first place from one on where a text between added tokens may be cut, if there is one before its end.
    fn safe_cut(&self, text: &str, mut from: usize, is_plain: bool) -> Option<usize> {
        while from < text.len() {
            let cut = self.model.pattern.safe_cut(text, from).filter(|&cut| cut < text.len())?;
            if is_plain || self.stages.may_cut(text, cut) {
                return Some(cut);
            }
            from = cut + text[cut..].chars().next().map_or(1, char::len_utf8);
        }
        None
    }

    pub fn encode_part(
        &self,
        part: &TextPart,
        choice: Choice,
        sink: &mut impl Sink,
        workspace: &mut Workspace,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let text = match &part.content {
            PartContent::Whole(RawText::Text(text)) => text,
            PartContent::Whole(RawText::Bytes(bytes)) => checked(bytes, part.text)?,
            PartContent::Between(whole, range, at) => {
                let mut put = |section: Section, pulse: &mut Pulse| self.put(section, sink, workspace, pulse);
                let (text, own) = (&whole[range.clone()], choice.behind(range.start));
                let encoded = self.stages.sections_between(text, *at, own, pulse, &mut put);
                return encoded.map_err(|error| self.stages.in_whole(error, whole, choice));
            }
            PartContent::Ordinary(text) => return self.model.encode_ordinary(text, sink, workspace, pulse),
            PartContent::Token(id) => {
                sink.make_room(1)?;
                sink.put(&[*id]);
                return Ok(());
            }
        };
        self.encode(text, choice, sink, workspace, pulse)
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
