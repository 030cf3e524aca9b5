//! The search for added tokens, for its tests.

use pyo3::prelude::*;

use crate::encode::{AddedToken, AddedTokens, PassedOn, Special, TokenSearch};
use crate::error::{Error, Result};

/// The text, the id, and the flags `special`, `single_word`, `lstrip` and `rstrip`.
type GivenToken = (String, u32, bool, bool, bool, bool);

/// Tokens that are found all at once.
#[pyclass(name = "AddedTokens", module = "bpetite._engine", frozen)]
pub struct PyAddedTokens {
    tokens: AddedTokens,
}

/// Text, or the id of a token.
#[derive(IntoPyObject)]
enum Told {
    Text(String),
    Token(u32),
}

#[pymethods]
impl PyAddedTokens {
    #[new]
    fn new(tokens: Vec<GivenToken>) -> PyResult<Self> {
        let tokens = tokens.into_iter().map(|(text, id, is_special, single_word, lstrip, rstrip)| {
            AddedToken { text, id, is_special, single_word, lstrip, rstrip }
        });
        Ok(Self { tokens: AddedTokens::new(tokens.collect())? })
    }

    /// The start and end in UTF-8 of each token, with its id, and of the text between them.
    fn cut(&self, text: &str, special: &str) -> PyResult<Vec<(usize, usize, Option<u32>)>> {
        let stretches = self.tokens.stretches(text, special_of(special)?);
        let stretches =
            stretches.map(|stretch| stretch.map(|found| (found.range.start, found.range.end, found.id)));
        Ok(stretches.collect::<Result<_>>()?)
    }

    /// What is found once each piece of a text is there, and at last what is found at its end.
    fn cut_pieces(&self, pieces: Vec<String>, special: &str) -> PyResult<Vec<Vec<Told>>> {
        let special = special_of(special)?;
        let mut search = TokenSearch::default();
        let all = pieces.iter().map(|piece| told(|put| search.feed(&self.tokens, special, piece, put)));
        let mut all = all.collect::<Result<Vec<_>>>()?;
        all.push(told(|put| search.finish(&self.tokens, special, put))?);
        Ok(all)
    }

    /// Whether a text may be cut at a place in UTF-8 without changing what is found.
    fn may_cut(&self, text: &str, place: usize) -> bool {
        self.tokens.may_cut(text, place)
    }
}

/// What a step of the search passes on.
fn told(step: impl FnOnce(&mut dyn FnMut(PassedOn<'_>) -> Result<()>) -> Result<()>) -> Result<Vec<Told>> {
    let mut told = Vec::new();
    step(&mut |found| {
        told.push(match found {
            PassedOn::Text(text) => Told::Text(text.to_owned()),
            PassedOn::Token(_, id) => Told::Token(id),
        });
        Ok(())
    })?;
    Ok(told)
}

fn special_of(special: &str) -> Result<Special> {
    match special {
        "parse" => Ok(Special::Parse),
        "text" => Ok(Special::Text),
        "error" => Ok(Special::Error),
        _ => Err(Error::Value(format!("special: must be parse, text or error, not {special:?}"))),
    }
}
