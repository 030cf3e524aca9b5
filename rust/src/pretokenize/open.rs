//! The piece at the end of a text that grows: where it ends, without going over its beginning again.

use super::automaton::{Automaton, DEAD, START};
use crate::error::Result;
use crate::watch::Pulse;

/// An attempt to match that goes further than this, and fails, is not repeated at the next character.
const FAR: usize = 64;

/// A run of the automaton from the beginning of a piece on, as far as no later text changes it.
#[derive(Clone, Copy)]
pub struct OpenPiece {
    piece: usize,
    /// Where a match is tried: behind the beginning of a piece that is a gap.
    start: usize,
    state: u16,
    /// The end of the text that was looked at.
    position: usize,
    /// The end of the match so far; of the piece, once it is `done`.
    end: Option<usize>,
    done: bool,
}

impl OpenPiece {
    /// Begin a piece.
    pub fn new(piece: usize) -> Self {
        Self { piece, start: piece, state: START, position: piece, end: None, done: false }
    }

    /// Where the piece begins.
    pub fn piece(&self) -> usize {
        self.piece
    }

    /// How far the text was looked at.
    pub fn looked(&self) -> usize {
        self.position
    }

    /// Whether no later text changes the end of the piece.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Go on in a longer text, and return the end of the piece in it. Text from `sure` on may still change. `None` says that
    /// an attempt to match went far and failed: only a search that remembers such attempts is quick.
    pub fn piece_end(
        &mut self,
        automaton: &Automaton,
        text: &[u8],
        sure: usize,
        pulse: &mut Pulse,
    ) -> Result<Option<usize>> {
        let found = self.go_on(automaton, text, sure, pulse)?;
        if !matches!(found, Found::Open) {
            return Ok(found.end());
        }
        let mut ahead = *self;
        Ok(ahead.go_on(automaton, text, usize::MAX, pulse)?.end())
    }

    fn go_on(&mut self, automaton: &Automaton, text: &[u8], sure: usize, pulse: &mut Pulse) -> Result<Found> {
        loop {
            if let (true, Some(end)) = (self.done, self.end) {
                return Ok(Found::End(end));
            }
            let (atom, next) = automaton.atom_at(text, self.position);
            // A line feed is the last character or not: one more must follow.
            if next >= sure {
                return Ok(Found::Open);
            }
            pulse.beat(1)?;
            let to = automaton.step(self.state, atom);
            if to.matched {
                let is_gap = self.start > self.piece;
                self.end = Some(if is_gap { self.start } else { self.position });
                self.done = is_gap;
            }
            if to.next != DEAD {
                (self.state, self.position) = (to.next, next);
            } else if self.end.is_some() {
                self.done = true;
            } else if self.position > self.start + FAR {
                return Ok(Found::Failure);
            } else if self.start < text.len() {
                self.start = automaton.alphabet.at(text, self.start).1;
                (self.state, self.position) = (START, self.start);
            } else {
                (self.end, self.done) = (Some(text.len()), true);
            }
        }
    }
}

/// The result of a run.
enum Found {
    End(usize),
    /// It depends on text that may still change.
    Open,
    /// An attempt went far and failed.
    Failure,
}

impl Found {
    fn end(&self) -> Option<usize> {
        match self {
            Self::End(end) => Some(*end),
            Self::Open | Self::Failure => None,
        }
    }
}
