//! The steps of a normalization, each of which writes a text anew.

use once_cell::race::OnceBox;
use unicode_normalization_alignments::char::is_combining_mark;

use super::Beginning;
use super::clusters::{NewTexts, replace_clusters};
use super::code_points::CodePoints;
use super::forms::Form;
use super::output::{Output, Written};
use super::replacements::Replacements;
use crate::error::{Error, Result};
use crate::pretokenize::{Compiled, Cursor};
use crate::watch::Pulse;

/// All steps.
const NAMES: &str = "NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip left, Strip right, Map, \
                     Map clusters, Prepend, Prepend first, Replace";

pub enum NormalizerStep {
    Form(Form),
    Lowercase,
    StripAccents,
    StripLeft,
    StripRight,
    /// Put a text before a text or a segment, or only before the whole text.
    Prepend {
        more: String,
        only_first: bool,
    },
    Replace(Box<Replacements>),
    /// Replace texts in grapheme clusters, as the `Precompiled` of `tokenizers` does.
    ReplaceClusters(NewTexts),
    /// Replace each match by a text.
    ReplaceMatches {
        expression: Box<Compiled>,
        content: String,
    },
}

impl NormalizerStep {
    /// The step of a name and its arguments.
    pub fn new(written: &[String]) -> Result<Self> {
        let words: Vec<&str> = written.iter().map(String::as_str).collect();
        Ok(match words[..] {
            ["Lowercase"] => Self::Lowercase,
            ["StripAccents"] => Self::StripAccents,
            ["Strip left"] => Self::StripLeft,
            ["Strip right"] => Self::StripRight,
            ["Prepend", more] => Self::Prepend { more: more.to_owned(), only_first: false },
            ["Prepend first", more] => Self::Prepend { more: more.to_owned(), only_first: true },
            ["Replace", pattern, content] => match literal(pattern) {
                Some(replaced) => Self::Replace(Box::new(Replacements::new(
                    vec![(replaced, content.to_owned())],
                    true,
                )?)),
                None => Self::ReplaceMatches {
                    expression: Box::new(Compiled::new(pattern)?),
                    content: content.to_owned(),
                },
            },
            ["Map clusters", ref pairs @ ..] if pairs.len() % 2 == 0 => {
                let pairs = pairs.chunks_exact(2);
                let new_texts = pairs.map(|pair| (pair[0].to_owned(), pair[1].to_owned()));
                Self::ReplaceClusters(new_texts.collect())
            }
            ["Map", ref pairs @ ..] if pairs.len() % 2 == 0 => {
                let pairs =
                    pairs.chunks_exact(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned()));
                Self::Replace(Box::new(Replacements::new(pairs.collect(), false)?))
            }
            [name] if let Some(form) = Form::named(name) => Self::Form(form),
            _ => {
                return Err(Error::Value(format!(
                    "normalization: {written:?} is not one of {NAMES}"
                )));
            }
        })
    }

    /// Whether it only concerns the beginning of a text.
    pub fn prepends(&self) -> bool {
        matches!(self, Self::Prepend { .. })
    }

    /// Whether a text may be cut before some characters.
    pub fn is_local(&self) -> bool {
        !matches!(
            self,
            Self::StripLeft
                | Self::StripRight
                | Self::ReplaceMatches { .. }
                | Self::ReplaceClusters(_)
        )
    }

    /// Whether what a character becomes depends on those beside it, so that this step decides where
    /// a text may be cut.
    pub fn decides(&self) -> bool {
        match self {
            Self::Lowercase | Self::StripAccents | Self::Prepend { .. } => false,
            Self::Replace(replacements) => !replacements.are_of_characters(),
            _ => true,
        }
    }

    /// Whether nothing may be left of a text.
    pub fn may_drop(&self) -> bool {
        match self {
            Self::Form(_) | Self::Lowercase | Self::Prepend { .. } => false,
            Self::Replace(replacements) => replacements.may_drop(),
            _ => true,
        }
    }

    /// Whether a text may be cut before a character.
    pub fn starts(&self, character: char) -> bool {
        match self {
            Self::Form(form) => form.starts(character),
            Self::Replace(replacements) => replacements.starts(character),
            _ => self.is_local(),
        }
    }

    /// Whether a character starts, and becomes itself if what follows starts.
    pub fn keeps(&self, character: char) -> bool {
        match self {
            Self::Form(form) => !form.changes().contains(character),
            Self::Lowercase => !character.is_ascii_uppercase() && !capitals().contains(character),
            Self::StripAccents => !marks().contains(character),
            Self::Replace(replacements) => replacements.keeps(character),
            _ => self.is_local(),
        }
    }

    /// What a text becomes that is not empty; `None` if it stays as it is.
    pub fn apply<const ALIGNS: bool>(
        &self,
        text: &str,
        at: Beginning,
        pulse: &mut Pulse,
    ) -> Result<Option<Written>> {
        let mut out = Output::<ALIGNS>::new(text);
        match self {
            Self::Form(form) => form.apply(text, &mut out, pulse)?,
            Self::Lowercase => make_small(text, &mut out, pulse)?,
            Self::StripAccents => loop {
                let mark = marks().find(text, out.done);
                pulse.beat(mark - out.done)?;
                let Some(character) = text[mark..].chars().next() else { break };
                out.keep_to(mark)?;
                out.take_to(mark + character.len_utf8());
            },
            Self::StripLeft => out.take_to(text.len() - text.trim_start().len()),
            Self::StripRight => {
                let end = text.trim_end().len();
                if end < text.len() {
                    out.keep_to(end)?;
                    out.take_to(text.len());
                }
            }
            Self::Prepend { more, only_first } => {
                if at == Beginning::Text || at == Beginning::Segment && !only_first {
                    out.put(more, 1)?;
                }
            }
            Self::Replace(replacements) => replacements.apply(text, &mut out, pulse)?,
            Self::ReplaceClusters(new_texts) => {
                replace_clusters(text, new_texts, &mut out, pulse)?;
            }
            Self::ReplaceMatches { expression, content } => {
                let mut cursor = Cursor::new(expression, text);
                while cursor.place() < text.len() {
                    let start = cursor.place();
                    let piece = cursor.next_piece(pulse)?;
                    pulse.beat(piece.end - start)?;
                    if piece.is_match {
                        out.keep_to(start)?;
                        out.take_to(piece.end);
                        out.put(content, 1)?;
                    }
                }
            }
        }
        out.finish()
    }
}

fn make_small<const ALIGNS: bool>(
    text: &str,
    out: &mut Output<'_, ALIGNS>,
    pulse: &mut Pulse,
) -> Result<()> {
    loop {
        let kept = out.text.len();
        let capital = capitals().find(text, out.done);
        pulse.beat(capital - out.done)?;
        out.keep_to(capital)?;
        out.text[kept..].make_ascii_lowercase();
        let Some(character) = text[capital..].chars().next() else { return Ok(()) };
        out.take_to(capital + character.len_utf8());
        for small in lower(character) {
            out.put(small.encode_utf8(&mut [0; 4]), 1)?;
        }
    }
}

/// The text that a pattern matches, if it is only one.
fn literal(pattern: &str) -> Option<String> {
    let mut text = String::new();
    let mut signs = pattern.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => text.push(signs.next().filter(char::is_ascii_punctuation)?),
            '.' | '^' | '$' | '*' | '+' | '?' | '{' | '}' | '(' | ')' | '[' | ']' | '|' => {
                return None;
            }
            _ => text.push(sign),
        }
    }
    (!text.is_empty()).then_some(text)
}

/// A character in lower case, regardless of its neighbours.
fn lower(character: char) -> impl Iterator<Item = char> {
    // The standard library of an older compiler lacks the letters of Unicode 17.
    let young = match character {
        '\u{a7ce}' | '\u{a7d2}' | '\u{a7d4}' => 1,
        '\u{16ea0}'..='\u{16eb8}' => 0x1b,
        _ => 0,
    };
    let character = char::from_u32(u32::from(character) + young).unwrap_or(character);
    character.to_lowercase()
}

/// The characters that lower case changes, without those of ASCII.
fn capitals() -> &'static CodePoints {
    static CAPITALS: OnceBox<CodePoints> = OnceBox::new();
    CAPITALS.get_or_init(|| {
        let changes = |character: &char| !lower(*character).eq([*character]);
        Box::new(('\u{80}'..='\u{1ffff}').filter(changes).collect())
    })
}

/// The combining marks.
fn marks() -> &'static CodePoints {
    static MARKS: OnceBox<CodePoints> = OnceBox::new();
    MARKS.get_or_init(|| {
        let characters = ('\u{300}'..='\u{1ffff}').chain('\u{e0100}'..='\u{e01ef}');
        Box::new(characters.filter(|&character| is_combining_mark(character)).collect())
    })
}
