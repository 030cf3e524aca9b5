//! Texts as their source has them, and the parts of them that threads encode.

use std::ops::Range;

use super::stages::Section;
use super::{Choice, Encoder, Run, Sink, Workspace, character_start, put_token};
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
        Self { text, content: PartContent::Whole(given) }
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
    pub fn cut_text<'t>(
        &self,
        (text, content): (usize, &'t str),
        choice: Choice,
        job: usize,
        add: &mut impl FnMut(TextPart<'t>) -> Result<()>,
    ) -> Result<()> {
        let is_plain = self.stages.is_plain();
        let tokens = if is_plain { &self.stages.later } else { &self.stages.first };
        tokens.stretches(content, choice, &mut |range, id| {
            if let Some(id) = id {
                return add(TextPart { text, content: PartContent::Token(id) });
            }
            let mut at = if range.start > 0 { Beginning::Segment } else { Beginning::Text };
            let mut start = range.start;
            while start < range.end {
                let rest = &content[start..range.end];
                let cut = self.safe_cut(rest, character_start(rest, job), is_plain);
                let end = start + cut.unwrap_or(rest.len());
                let content = match is_plain {
                    true => PartContent::Ordinary(&content[start..end]),
                    false => PartContent::Between(content, start..end, at),
                };
                add(TextPart { text, content })?;
                (start, at) = (end, Beginning::Within);
            }
            Ok(())
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
        match &part.content {
            PartContent::Whole(RawText::Text(text)) => self.encode(text, choice, sink, workspace, pulse),
            PartContent::Whole(RawText::Bytes(bytes)) => {
                let text = simdutf8::basic::from_utf8(bytes).map_err(|_| Error::NotText(part.text))?;
                self.encode(text, choice, sink, workspace, pulse)
            }
            PartContent::Between(whole, range, at) => {
                let put = &mut |section: Section, pulse: &mut Pulse| {
                    self.put(section, sink, &mut Run { workspace, pulse })
                };
                let encoded =
                    self.stages.sections_between(whole, range.clone(), *at, choice, false, pulse, put);
                encoded.map_err(|error| self.stages.in_whole(error, whole, choice))
            }
            PartContent::Ordinary(text) => {
                self.model.encode_ordinary(text, sink, &mut Run { workspace, pulse })
            }
            PartContent::Token(id) => put_token(*id, sink),
        }
    }
}
