//! Checks vocabularies, and reads and writes the long lists in their files.
//!
//! - `check`: checks tokens and merges, and lists all tokens in the order of their ids.
//! - `rank_files`: reads tiktoken's lines of a token in base64 and its rank.
//! - `printed`: reads tokens in the printable form of GPT-2 and Hugging Face, which has one
//!   character for each byte.
//! - `pieces`: converts the characters of SentencePiece's tokens to bytes.
//! - `text_pairs`: resolves merges that are listed as pairs of texts.
//! - `recover`: finds the merges of tokens that have only ranks.
//! - `spellings`: finds the number of a token by its bytes.
//! - `cut_json`, `write_json`: read and write long lists of JSON without a Python object for each
//!   item.

pub mod check;
pub mod cut_json;
pub mod pieces;
pub mod printed;
pub mod rank_files;
pub mod recover;
mod spellings;
pub mod text_pairs;
pub mod write_json;

/// Tokens in the order of their ids.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TokenList {
    pub ids: Vec<u32>,
    /// The bytes of all tokens, joined, and the end of each.
    pub joined: Vec<u8>,
    pub ends: Vec<u64>,
}

impl TokenList {
    pub fn push(&mut self, id: u32, token: &[u8]) {
        self.joined.extend_from_slice(token);
        self.end(id);
    }

    /// Ends a token, whose bytes are joined already.
    pub fn end(&mut self, id: u32) {
        self.ids.push(id);
        self.ends.push(self.joined.len() as u64);
    }
}
