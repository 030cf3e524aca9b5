//! The last pieces of a text that grows: a piece is read on from where the text ended before.

use super::Pattern;
use super::automaton::{Automaton, DEAD, START};
use crate::error::Result;
use crate::watch::Pulse;

/// The number of bytes that are read between two beats of the pulse.
const BEAT: usize = 1 << 12;

/// A piece at the end of a text, which may become longer or shorter as the text grows.
#[derive(Clone, Copy)]
pub struct OpenPiece {
    pub start: usize,
    /// Where it ends, if the text ends as it does now.
    pub end: usize,
    /// Whether it ends there, whatever follows.
    pub is_final: bool,
    /// The state of the automaton, the place up to which it has read, and the last match that it
    /// came across.
    state: u16,
    position: usize,
    matched: Option<usize>,
}

impl OpenPiece {
    /// A piece of which nothing has been read.
    pub fn new(start: usize) -> Self {
        Self { start, end: start, is_final: false, state: START, position: start, matched: None }
    }

    /// The same piece after bytes before it were removed from the text.
    pub fn moved_back(self, bytes: usize) -> Self {
        Self {
            start: self.start - bytes,
            end: self.end - bytes,
            position: self.position - bytes,
            matched: self.matched.map(|end| end - bytes),
            ..self
        }
    }

    fn read_on(&mut self, automaton: &Automaton, text: &[u8], pulse: &mut Pulse) -> Result<()> {
        let is_final_line_feed =
            automaton.alphabet.tells_final_line_feed() && text.last() == Some(&b'\n');
        // Whether that line feed is the final one is only known when more follows.
        let sure = text.len() - usize::from(is_final_line_feed);
        while !self.is_final && self.position < sure {
            let begin = self.position;
            let stop = sure.min(begin + BEAT);
            while self.position < stop {
                let (atom, next) = automaton.atom_at(text, self.position);
                let to = automaton.step(self.state, atom);
                if to.matched {
                    self.matched = Some(self.position);
                }
                if to.next == DEAD {
                    self.is_final = true;
                    break;
                }
                (self.state, self.position) = (to.next, next);
            }
            pulse.beat(self.position - begin)?;
        }
        self.end = if self.is_final { self.matched } else { self.matched_at_end(automaton, text) }
            .unwrap_or(text.len());
        Ok(())
    }

    /// The end of the match if the text ends as it does now.
    fn matched_at_end(&self, automaton: &Automaton, text: &[u8]) -> Option<usize> {
        let Self { mut state, mut position, mut matched, .. } = *self;
        loop {
            let (atom, next) = automaton.atom_at(text, position);
            let to = automaton.step(state, atom);
            if to.matched {
                matched = Some(position);
            }
            if to.next == DEAD || position >= text.len() {
                return matched;
            }
            (state, position) = (to.next, next);
        }
    }
}

impl Pattern {
    /// Whether pieces can be read on: an automaton finds them, none is a gap, and nothing looks at
    /// what is before them.
    pub fn reads_on(&self) -> bool {
        self.covers_all_text()
    }

    /// Reads on to the end of a text whose pieces can be read on.
    pub fn read_on(&self, piece: &mut OpenPiece, text: &str, pulse: &mut Pulse) -> Result<()> {
        match self.sequence.only().and_then(|pattern| pattern.automaton.as_deref()) {
            Some(automaton) if !piece.is_final => piece.read_on(automaton, text.as_bytes(), pulse),
            _ => Ok(()),
        }
    }
}
