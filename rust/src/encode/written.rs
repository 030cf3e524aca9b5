//! What decoding writes for each token, where that is not just its bytes.

use std::collections::HashSet;

use super::Definition;
use crate::error::Result;
use crate::memory::push;
use crate::tokens::{TokenBytes, WORD_END, WORD_START};

/// A byte that is put to each pretoken before it is merged, so that tokens there are others.
#[derive(Clone, Copy)]
pub enum Mark<'a> {
    /// [`WORD_START`] before it. The names of all other tokens begin with a prefix.
    Start(&'a str),
    /// [`WORD_END`] behind it, for which decoding writes a text.
    End(&'a str),
}

/// Where pretokens have a mark.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum MarkPlace {
    Start,
    End,
}

impl Mark<'_> {
    pub fn side(self) -> MarkPlace {
        match self {
            Self::Start(_) => MarkPlace::Start,
            Self::End(_) => MarkPlace::End,
        }
    }
}

impl MarkPlace {
    pub fn byte(self) -> u8 {
        match self {
            Self::Start => WORD_START,
            Self::End => WORD_END,
        }
    }

    /// A token without its mark, if it has one.
    pub fn unmarked(self, token: &[u8]) -> Option<&[u8]> {
        match self {
            Self::Start => token.strip_prefix(&[WORD_START]),
            Self::End => token.strip_suffix(&[WORD_END]),
        }
    }
}

/// The tables of a decoder that writes other bytes than those that are merged.
pub struct WrittenTokens {
    /// For the first token of a text, and for all where no other table is.
    pub first: TokenBytes,
    /// For the tokens behind it, if there is a space between tokens.
    pub behind: Option<TokenBytes>,
}

impl WrittenTokens {
    /// Makes the tables, if a definition needs some; `others` are tokens that no text is merged to.
    pub fn of(definition: &Definition, others: &[(u32, &[u8])]) -> Result<Option<Box<Self>>> {
        if definition.mark.is_none() && !definition.spaced {
            return Ok(None);
        }
        let mut names = Vec::new();
        let mut spaced = HashSet::new();
        for &(id, token) in definition.tokens {
            push(&mut names, (id, name_of(token, definition)))?;
            let ends_word = MarkPlace::End.unmarked(token).is_some();
            // The last token of a text does not write this space.
            if ends_word && matches!(definition.mark, Some(Mark::End(" "))) {
                spaced.insert(id);
            }
        }
        for &(id, token) in others {
            push(&mut names, (id, token.to_vec()))?;
        }
        let mut behind = None;
        if definition.spaced {
            let mut spelled = Vec::new();
            for (id, name) in &names {
                push(&mut spelled, (*id, cleaned(spelled_behind(name, definition), definition)))?;
            }
            behind = Some(table_of(&spelled)?);
        }
        for (_, name) in &mut names {
            *name = cleaned(std::mem::take(name), definition);
        }
        let mut first = table_of(&names)?;
        first.spaced = spaced;
        Ok(Some(Box::new(Self { first, behind })))
    }
}

fn table_of(spelled: &[(u32, Vec<u8>)]) -> Result<TokenBytes> {
    TokenBytes::new(spelled.iter().map(|(id, bytes)| (*id, &**bytes)))
}

/// What stands for a token that texts are merged to.
fn name_of(token: &[u8], definition: &Definition) -> Vec<u8> {
    match definition.mark {
        Some(Mark::End(text)) => match MarkPlace::End.unmarked(token) {
            Some(word) => [word, text.as_bytes()].concat(),
            None => token.to_vec(),
        },
        Some(Mark::Start(prefix)) => match MarkPlace::Start.unmarked(token) {
            Some(word) => word.to_vec(),
            None if definition.spaced => [prefix.as_bytes(), token].concat(),
            None => token.to_vec(),
        },
        None => token.to_vec(),
    }
}

/// What is written behind another token.
fn spelled_behind(name: &[u8], definition: &Definition) -> Vec<u8> {
    let within = definition.glued.and_then(|prefix| name.strip_prefix(prefix.as_bytes()));
    match within {
        Some(word) => word.to_vec(),
        None => [b" ", name].concat(),
    }
}

/// A token with what is replaced in each.
fn cleaned(token: Vec<u8>, definition: &Definition) -> Vec<u8> {
    if definition.cleaned.is_empty() {
        return token;
    }
    match String::from_utf8(token) {
        Ok(mut text) => {
            for (replaced, content) in definition.cleaned {
                text = text.replace(replaced, content);
            }
            text.into_bytes()
        }
        // A part of a character has none of it.
        Err(error) => error.into_bytes(),
    }
}
