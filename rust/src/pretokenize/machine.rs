//! The backtracking machine: it runs every pattern, one way after the other.
//!
//! It walks through the [graph](Graph) of the pattern. At a split it takes the first way, and puts a [`Frame`] on the stack
//! that says how to go on when the result of this way is known. So a node is called, and returns where the match of its
//! part ends, or that there is none:
//!
//! ```text
//!     a*b in "aac"     call split at 0 ── call take a ── call split at 1 ── call take a ── call split at 2
//!                      take a fails, take b fails: split at 2 fails; take b fails: split at 1 fails; ...
//! ```
//!
//! What a split returns depends on its place in the text alone. So it is remembered: no split is tried twice at a place, and
//! the work is proportional to the text, times the number of splits.

use super::expression::Expression;
use super::graph::{Graph, MATCHED, Node};
use super::set::CharSet;
use crate::error::Result;
use crate::memory;
use crate::watch::Pulse;

/// The number of steps between two looks at the clock.
const STEPS_PER_BEAT: usize = 1 << 12;

/// A pattern, ready to be run.
pub struct Machine {
    pub graph: Graph,
    /// The characters of ASCII in each set.
    ascii: Vec<u128>,
}

/// What a run through a text works with.
#[derive(Default)]
pub struct MachineRun {
    stack: Vec<Frame>,
    known: Known,
    /// The number of steps since the last look at the clock.
    fresh: usize,
}

/// A node and a place in the text.
#[derive(Clone, Copy)]
struct Call {
    node: usize,
    place: usize,
}

/// What was called, to go on when it returns.
struct Frame {
    call: Call,
    /// The number of ways of a split that were tried.
    tried: usize,
}

/// What happens next: a call, or a return to the last frame, with the end of a match.
enum Step {
    Call(Call),
    Return(Option<usize>),
}

impl Machine {
    pub fn new(expression: &Expression) -> Self {
        let graph = Graph::new(expression);
        let of_set = |set: &CharSet| {
            (0..128_u8).filter(|&code| set.contains(code.into())).fold(0, |ascii, code| ascii | 1 << code)
        };
        let ascii = graph.sets.iter().map(of_set).collect();
        Self { graph, ascii }
    }

    /// The end of the match that begins at a place and is not empty, if there is one.
    pub fn match_end(
        &self,
        text: &str,
        start: usize,
        run: &mut MachineRun,
        pulse: &mut Pulse,
    ) -> Result<Option<usize>> {
        run.known.forget_up_to(start, self.graph.splits);
        run.stack.clear();
        let mut step = Step::Call(Call { node: self.graph.entry, place: start });
        loop {
            run.fresh += 1;
            #[cfg(test)]
            super::tests::count_steps(1);
            if run.fresh >= STEPS_PER_BEAT {
                pulse.beat(std::mem::take(&mut run.fresh))?;
            }
            step = match step {
                Step::Call(Call { node: MATCHED, place, .. }) if place > start => return Ok(Some(place)),
                Step::Call(Call { node: MATCHED, .. }) if self.graph.is_atomic => return Ok(None),
                Step::Call(Call { node: MATCHED, .. }) => Step::Return(None),
                Step::Call(call) => self.call(text, call, run)?,
                Step::Return(found) => match run.stack.pop() {
                    Some(frame) => self.go_on(frame, found, run)?,
                    None => return Ok(None),
                },
            };
        }
    }

    /// Call a node.
    fn call(&self, text: &str, call: Call, run: &mut MachineRun) -> Result<Step> {
        let place = call.place;
        let goes_on = |holds: bool, node| match holds {
            true => Step::Call(Call { node, place }),
            false => Step::Return(None),
        };
        Ok(match &self.graph.nodes[call.node] {
            Node::Match => Step::Return(Some(place)),
            Node::Take { set, next } => match text[place..].chars().next() {
                Some(taken) if self.contains(*set, taken) => {
                    Step::Call(Call { node: *next, place: place + taken.len_utf8() })
                }
                _ => Step::Return(None),
            },
            Node::Split { ways, number, .. } => {
                if let Some(known) = run.known.result(place, *number, self.graph.splits) {
                    return Ok(Step::Return(known));
                }
                memory::push(&mut run.stack, Frame { call, tried: 1 })?;
                goes_on(true, ways[0])
            }
            Node::Look { part, back, negated, next } => {
                run.fresh += *back as usize;
                let Some(begin) = back_by(text, place, *back) else { return Ok(goes_on(*negated, *next)) };
                memory::push(&mut run.stack, Frame { call, tried: 0 })?;
                Step::Call(Call { node: *part, place: begin })
            }
            Node::Atomic { part, .. } => {
                memory::push(&mut run.stack, Frame { call, tried: 0 })?;
                goes_on(true, *part)
            }
            Node::Start { next } => goes_on(place == 0, *next),
            Node::End { before_line_feed, next } => {
                goes_on(place == text.len() || *before_line_feed && &text[place..] == "\n", *next)
            }
        })
    }

    /// Go on where something was called that returns now.
    fn go_on(&self, frame: Frame, found: Option<usize>, run: &mut MachineRun) -> Result<Step> {
        let Frame { call, tried } = frame;
        Ok(match (&self.graph.nodes[call.node], found) {
            (Node::Split { ways, .. }, None) if tried < ways.len() => {
                run.stack.push(Frame { call, tried: tried + 1 });
                Step::Call(Call { node: ways[tried], ..call })
            }
            (Node::Split { number, .. }, found) => {
                run.known.add(call.place, *number, self.graph.splits, found)?;
                Step::Return(found)
            }
            (Node::Look { negated, next, .. }, found) if found.is_some() != *negated => {
                Step::Call(Call { node: *next, place: call.place })
            }
            (Node::Atomic { next, .. }, Some(place)) => Step::Call(Call { node: *next, place }),
            _ => Step::Return(None),
        })
    }

    fn contains(&self, set: usize, character: char) -> bool {
        match u32::from(character) {
            code @ 0..128 => self.ascii[set] >> code & 1 != 0,
            _ => self.graph.sets[set].contains(character),
        }
    }
}

/// What splits have returned, from a place on.
#[derive(Default)]
struct Known {
    first: usize,
    /// For each place and split: 0 if it is not known, 1 that it failed, or 2 more than the place where its match ends.
    results: Vec<usize>,
}

impl Known {
    /// The result of a split at a place, if it is known: where the match ends.
    #[inline]
    fn result(&self, place: usize, split: usize, splits: usize) -> Option<Option<usize>> {
        let index = place.checked_sub(self.first)? * splits + split;
        self.results.get(index)?.checked_sub(1).map(|found| found.checked_sub(1))
    }

    fn add(&mut self, place: usize, split: usize, splits: usize, end: Option<usize>) -> Result<()> {
        let Some(row) = place.checked_sub(self.first).map(|row| row * splits) else { return Ok(()) };
        if row >= self.results.len() {
            let more = row + splits - self.results.len();
            memory::reserve(&mut self.results, more)?;
            self.results.resize(row + splits, 0);
        }
        self.results[row + split] = end.map_or(1, |end| end + 2);
        Ok(())
    }

    /// Forget a place, where a match must not be empty, and those before it, if that makes much room.
    #[inline]
    fn forget_up_to(&mut self, place: usize, splits: usize) {
        let past = place.saturating_sub(self.first).saturating_mul(splits);
        if 2 * past >= self.results.len() {
            self.results.drain(..past.min(self.results.len()));
            self.first = place;
        }
        let row = (place - self.first) * splits;
        self.results.iter_mut().skip(row).take(splits).for_each(|result| *result = 0);
    }
}

/// The place so many characters before another, if there is one.
fn back_by(text: &str, place: usize, characters: u32) -> Option<usize> {
    match characters {
        0 => Some(place),
        more => text[..place].char_indices().rev().nth(more as usize - 1).map(|(begin, _)| begin),
    }
}
