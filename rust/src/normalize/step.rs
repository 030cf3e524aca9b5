//! The steps of a normalization, each of which writes a text anew.

use super::Beginning;
use super::forms::{self, Form};
use super::map::Replacements;
use super::output::Output;
use super::quick::CodePoints;
use super::tables::MARKS;
use crate::error::{Error, Result};
use crate::pretokenize::{Compiled, Run};
use crate::watch::Pulse;
use once_cell::race::OnceBox;

/// All steps.
const NAMES: &str = "NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip left, Strip right, Map, Prepend, Prepend first, \
                     Replace";

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
    Replace(Replacements),
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
                Some(replaced) => Self::Replace(Replacements::literal(&replaced, content)?),
                None => Self::ReplaceMatches {
                    expression: Box::new(Compiled::new(pattern)?),
                    content: content.to_owned(),
                },
            },
            ["Map", ref pairs @ ..] if pairs.len() % 2 == 0 => {
                Self::Replace(Replacements::map(pairs.chunks_exact(2).map(|pair| (pair[0], pair[1])))?)
            }
            [name] if let Some(form) = Form::named(name) => Self::Form(form),
            _ => return Err(Error::Value(format!("normalization: {written:?} is not one of {NAMES}"))),
        })
    }

    /// Whether it only concerns the beginning of a text.
    pub fn prepends(&self, at: Beginning) -> bool {
        match self {
            Self::Prepend { only_first, .. } => {
                at == Beginning::Text || at == Beginning::Segment && !only_first
            }
            _ => false,
        }
    }

    /// Whether a text may be cut before some characters.
    pub fn is_local(&self) -> bool {
        !matches!(self, Self::StripLeft | Self::StripRight | Self::ReplaceMatches { .. })
    }

    /// Whether nothing may be left of a text.
    pub fn may_drop(&self) -> bool {
        match self {
            Self::StripAccents | Self::StripLeft | Self::StripRight => true,
            Self::Replace(replacements) => replacements.may_drop(),
            Self::ReplaceMatches { content, .. } => content.is_empty(),
            Self::Form(_) | Self::Lowercase | Self::Prepend { .. } => false,
        }
    }

    /// Whether a text may be cut before a character, of which something is left.
    pub fn starts(&self, character: char) -> bool {
        match self {
            Self::Form(form) => form.starts(character),
            Self::StripAccents => !marks().contains(character),
            Self::Replace(replacements) => replacements.starts(character),
            Self::Lowercase | Self::Prepend { .. } => true,
            Self::StripLeft | Self::StripRight | Self::ReplaceMatches { .. } => false,
        }
    }

    /// The characters that what some characters become may begin with; each of them starts.
    pub fn images(&self, characters: &[char]) -> Vec<char> {
        match self {
            Self::Form(form) => {
                let firsts = distinct(characters.iter().map(|&character| form.first(character)));
                if form.composes { firsts.into_iter().flat_map(forms::composites).collect() } else { firsts }
            }
            Self::Lowercase => distinct(characters.iter().flat_map(|&character| lower(character).take(1))),
            Self::Replace(replacements) => {
                distinct(characters.iter().flat_map(|&character| replacements.images(character)))
            }
            _ => characters.to_vec(),
        }
    }

    /// Characters that may become others with what follows, though they start and stay otherwise: those that become the
    /// same ones together, and these.
    pub fn groups(&self) -> Vec<(Vec<char>, Vec<char>)> {
        match self {
            Self::Form(form) if form.composes => forms::composing()
                .map(|first| forms::composites(first).collect())
                .map(|group: Vec<char>| (group.clone(), group))
                .collect(),
            Self::Replace(replacements) => {
                replacements.beginnings().map(|first| (vec![first], replacements.images(first))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether a character may start while one that it composes to does not.
    pub fn tells_composites_apart(&self) -> bool {
        !matches!(self, Self::Form(_) | Self::Lowercase | Self::Prepend { .. })
    }

    /// Add the characters that do not start, or do not become themselves though what follows starts.
    pub fn add_changes(&self, changes: &mut CodePoints) {
        match self {
            Self::Form(form) => changes.add_all(form.changes()),
            Self::Lowercase => changes.add_all(capitals()),
            Self::StripAccents => changes.add_all(marks()),
            Self::Replace(replacements) => replacements.add_changes(changes),
            Self::Prepend { .. } | Self::StripLeft | Self::StripRight | Self::ReplaceMatches { .. } => {}
        }
    }

    /// Write what a text becomes.
    pub fn apply<const ALIGNS: bool>(
        &self,
        text: &str,
        at: Beginning,
        out: &mut Output<ALIGNS>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        match self {
            Self::Form(form) => form.apply(text, out, pulse),
            Self::Lowercase => text.chars().try_for_each(|character| {
                pulse.beat(character.len_utf8())?;
                out.take(1);
                lower(character).try_for_each(|small| out.put(small))
            }),
            Self::StripAccents => {
                for part in text.split_inclusive(is_mark) {
                    let mark = part.chars().next_back().filter(|&last| is_mark(last));
                    out.keep(&part[..part.len() - mark.map_or(0, char::len_utf8)])?;
                    out.take(usize::from(mark.is_some()));
                }
                Ok(())
            }
            Self::StripLeft => {
                let rest = text.trim_start();
                out.take(text[..text.len() - rest.len()].chars().count());
                out.keep(rest)
            }
            Self::StripRight => out.keep(text.trim_end()),
            Self::Prepend { more, .. } => {
                if !text.is_empty() && self.prepends(at) {
                    more.chars().try_for_each(|character| out.put(character))?;
                }
                out.keep(text)
            }
            Self::Replace(replacements) => replacements.apply(text, out),
            Self::ReplaceMatches { expression, content } => {
                replace_matches(expression, content, text, out, pulse)
            }
        }
    }
}

fn replace_matches<const ALIGNS: bool>(
    expression: &Compiled,
    content: &str,
    text: &str,
    out: &mut Output<ALIGNS>,
    pulse: &mut Pulse,
) -> Result<()> {
    let (mut run, mut start) = (Run::default(), 0);
    while start < text.len() {
        let (end, is_gap) = expression.piece_end(text, start, &mut run, pulse)?;
        pulse.beat(end - start)?;
        let part = &text[start..end];
        if is_gap {
            out.keep(part)?;
        } else {
            out.take(part.chars().count());
            out.put_all(content, 1)?;
        }
        start = end;
    }
    Ok(())
}

fn distinct(characters: impl Iterator<Item = char>) -> Vec<char> {
    let mut characters: Vec<char> = characters.collect();
    characters.sort_unstable();
    characters.dedup();
    characters
}

/// The text that a pattern matches, if it is only one.
fn literal(pattern: &str) -> Option<String> {
    let mut text = String::new();
    let mut signs = pattern.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => text.push(signs.next().filter(char::is_ascii_punctuation)?),
            '.' | '^' | '$' | '*' | '+' | '?' | '{' | '}' | '(' | ')' | '[' | ']' | '|' => return None,
            _ => text.push(sign),
        }
    }
    (!text.is_empty()).then_some(text)
}

/// A character in lower case, regardless of its neighbours.
#[inline]
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
        let mut capitals = CodePoints::default();
        for character in ('\u{80}'..='\u{1ffff}').filter(|&character| !lower(character).eq([character])) {
            capitals.add(character);
        }
        Box::new(capitals)
    })
}

fn is_mark(character: char) -> bool {
    marks().contains(character)
}

/// The combining marks.
fn marks() -> &'static CodePoints {
    static ALL: OnceBox<CodePoints> = OnceBox::new();
    ALL.get_or_init(|| Box::new(CodePoints::of_ranges(MARKS)))
}
