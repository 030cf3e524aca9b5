//! The backtracking machine: it runs every pattern, one way after the other.
//!
//! It walks through the [graph](Graph) of the pattern. At a split it takes the first way, and puts
//! a [`Frame`] on the stack that says how to go on when the result of this way is known. So a node
//! is called, and returns where the match of its part ends, or that there is none:
//!
//! ```text
//!     a*b in "aac"     call split at 0 ── call take a ── call split at 1 ── call take a ──
//!                      call split at 2: take a fails, take b fails, so split at 2 fails;
//!                      take b fails, so split at 1 fails; ...
//! ```
//!
//! What a split returns depends on its place in the text alone. So it is remembered: no split is
//! tried twice at a place, and the work is proportional to the text, times the number of splits.
//! Only the split at which a match begins is an exception: there, an empty match counts as none. So
//! the starts of matches must ascend, and a [`MachineRun`] refuses to go back.
//!
//! What is remembered, and the stack, have a budget of memory. If a match needs more, the error
//! names the pattern.

use super::graph::{Graph, MATCHED, Node};
use super::set::CharSet;
use super::syntax::{parse, refusal};
use crate::error::Result;
use crate::memory;
use crate::watch::Pulse;

/// The number of steps between two looks at the clock.
const STEPS_PER_BEAT: usize = 1 << 12;

/// Clearing this many results takes as long as a step.
const RESULTS_PER_STEP: usize = 16;

/// The memory that a match may take, in bytes. Without a limit, long repetitions could take any:
/// `(?:a|b){1,30000}c` remembers up to 30,000 results for each place. Other patterns need 20 to 100
/// bytes for each byte of the longest pretoken.
const MOST_MEMORY: usize = 1 << 30;

/// A pattern, ready to be run.
pub struct Machine {
    source: String,
    pub graph: Graph,
    /// The characters of ASCII in each set, one bit for each.
    ascii: Vec<u128>,
}

/// What a run through a text works with.
#[derive(Default)]
pub struct MachineRun {
    /// Where the last match was looked for.
    start: usize,
    stack: Vec<Frame>,
    memo: Memo,
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
    node: u32,
    /// The number of ways of a split that were tried.
    tried: u32,
    place: usize,
}

/// What happens next: a call, or a return to the last frame, with the end of a match.
enum Step {
    Call(Call),
    Return(Option<usize>),
}

impl Machine {
    pub fn new(source: &str) -> Result<Self> {
        let graph = Graph::new(&parse(source)?);
        let of_set = |set: &CharSet| {
            let mut ascii = 0;
            for code in 0..128_u8 {
                ascii |= u128::from(set.contains(code.into())) << code;
            }
            ascii
        };
        let ascii = graph.sets.iter().map(of_set).collect();
        Ok(Self { source: source.to_owned(), graph, ascii })
    }

    /// Returns the end of the match that begins at a place and is not empty, if there is one. No
    /// later call is about an earlier place.
    pub fn match_end(
        &self,
        text: &str,
        start: usize,
        run: &mut MachineRun,
        pulse: &mut Pulse,
    ) -> Result<Option<usize>> {
        assert!(start >= run.start, "a search for matches goes forward");
        run.start = start;
        // A look-behind goes back from a place, and remembers results there.
        let first_needed = start.saturating_sub(char::MAX.len_utf8() * self.graph.reach as usize);
        run.memo.forget_before(first_needed, self.graph.splits);
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
                Step::Call(Call { node: MATCHED, place, .. }) if place > start => {
                    return Ok(Some(place));
                }
                Step::Call(Call { node: MATCHED, .. }) if self.graph.is_atomic => return Ok(None),
                Step::Call(Call { node: MATCHED, .. }) => Step::Return(None),
                Step::Call(call) => self.call(text, call, run)?,
                Step::Return(end) => match run.stack.pop() {
                    Some(frame) => self.go_on(frame, end, run)?,
                    None => return Ok(None),
                },
            };
        }
    }

    /// Calls a node.
    fn call(&self, text: &str, call: Call, run: &mut MachineRun) -> Result<Step> {
        let place = call.place;
        let go_to = |node| Step::Call(Call { node, place });
        let go_to_if = |holds, node| if holds { go_to(node) } else { Step::Return(None) };
        Ok(match &self.graph.nodes[call.node] {
            Node::Match => Step::Return(Some(place)),
            Node::Take { set, next } => match text[place..].chars().next() {
                Some(taken) if self.contains(*set, taken) => {
                    Step::Call(Call { node: *next, place: place + taken.len_utf8() })
                }
                _ => Step::Return(None),
            },
            Node::Split { ways, number, .. } => {
                if let Some(end) = run.memo.result(place, *number, self.graph.splits) {
                    return Ok(Step::Return(end));
                }
                self.put(call, 1, run)?;
                go_to(ways[0])
            }
            Node::Look { part, back, negated, next } => {
                run.fresh += *back as usize;
                let Some(begin) = back_by(text, place, *back) else {
                    return Ok(go_to_if(*negated, *next));
                };
                self.put(call, 0, run)?;
                Step::Call(Call { node: *part, place: begin })
            }
            Node::Atomic { part, .. } => {
                self.put(call, 0, run)?;
                go_to(*part)
            }
            Node::Start { next } => go_to_if(place == 0, *next),
            Node::End { before_line_feed, next } => {
                let is_end = place == text.len() || *before_line_feed && &text[place..] == "\n";
                go_to_if(is_end, *next)
            }
        })
    }

    /// Goes on where something was called that returns now, with the end of a match.
    fn go_on(&self, frame: Frame, end: Option<usize>, run: &mut MachineRun) -> Result<Step> {
        let Frame { node, tried, place } = frame;
        Ok(match (&self.graph.nodes[node as usize], end) {
            (Node::Split { ways, .. }, None) if (tried as usize) < ways.len() => {
                run.stack.push(Frame { tried: tried + 1, ..frame });
                Step::Call(Call { node: ways[tried as usize], place })
            }
            (Node::Split { number, .. }, end) => {
                self.remember(place, *number, end, run)?;
                Step::Return(end)
            }
            (Node::Look { negated, next, .. }, end) if end.is_some() != *negated => {
                Step::Call(Call { node: *next, place })
            }
            (Node::Atomic { next, .. }, Some(end)) => Step::Call(Call { node: *next, place: end }),
            _ => Step::Return(None),
        })
    }

    /// Puts a call on the stack.
    #[inline]
    fn put(&self, call: Call, tried: u32, run: &mut MachineRun) -> Result<()> {
        if run.stack.len() == run.stack.capacity() {
            self.enlarge_stack(run)?;
        }
        run.stack.push(Frame { node: call.node as u32, tried, place: call.place });
        Ok(())
    }

    /// Remembers the result of a split at a place.
    #[inline]
    fn remember(
        &self,
        place: usize,
        split: usize,
        end: Option<usize>,
        run: &mut MachineRun,
    ) -> Result<()> {
        let index = run.memo.index(place, split, self.graph.splits);
        if index >= run.memo.results.len() {
            self.add_results_to(place, run)?;
        }
        run.memo.results[index] = match end {
            None => 1,
            // A match too long for a result is looked for again.
            Some(end) => u32::try_from(end - place + 2).unwrap_or(0),
        };
        Ok(())
    }

    // Not inlined, so that the loop has all registers.

    #[cold]
    #[inline(never)]
    fn enlarge_stack(&self, run: &mut MachineRun) -> Result<()> {
        let more = run.stack.len().max(1);
        self.check_memory(more * size_of::<Frame>(), run)?;
        memory::reserve(&mut run.stack, more)
    }

    /// Adds the results of all splits up to a place, none of which is known.
    #[inline(never)]
    fn add_results_to(&self, place: usize, run: &mut MachineRun) -> Result<()> {
        let length = run.memo.index(place + 1, 0, self.graph.splits);
        let more = length - run.memo.results.len();
        run.fresh += more / RESULTS_PER_STEP;
        if length > run.memo.results.capacity() {
            let more = more.max(run.memo.results.len());
            self.check_memory(more * size_of::<u32>(), run)?;
            memory::reserve(&mut run.memo.results, more)?;
        }
        run.memo.results.resize(length, 0);
        Ok(())
    }

    /// Fails if there is no budget for this many bytes more.
    fn check_memory(&self, more: usize, run: &MachineRun) -> Result<()> {
        let frames = run.stack.capacity() * size_of::<Frame>();
        let results = run.memo.results.capacity() * size_of::<u32>();
        if frames + results + more <= MOST_MEMORY {
            return Ok(());
        }
        let limit = MOST_MEMORY >> 30;
        let reason = format!(
            "to match this text takes more than {limit} GB of memory; make its repetitions shorter"
        );
        Err(refusal(&self.source, &reason))
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
struct Memo {
    first: usize,
    /// For each place and split: 0 if it is not known, 1 that it failed, or 2 more than the length
    /// of its match.
    results: Vec<u32>,
}

impl Memo {
    #[inline]
    fn index(&self, place: usize, split: usize, splits: usize) -> usize {
        (place - self.first) * splits + split
    }

    /// Returns the result of a split at a place, if it is known: where the match ends.
    #[inline]
    fn result(&self, place: usize, split: usize, splits: usize) -> Option<Option<usize>> {
        match *self.results.get(self.index(place, split, splits))? {
            0 => None,
            1 => Some(None),
            length => Some(Some(place + length as usize - 2)),
        }
    }

    /// Forgets everything before a place, if that makes much room.
    #[inline]
    fn forget_before(&mut self, place: usize, splits: usize) {
        let past = place.saturating_sub(self.first).saturating_mul(splits);
        if 2 * past >= self.results.len() {
            self.results.drain(..past.min(self.results.len()));
            self.first = self.first.max(place);
        }
    }
}

/// Returns the place this many characters before another, if there is one.
fn back_by(text: &str, place: usize, characters: u32) -> Option<usize> {
    match characters {
        0 => Some(place),
        _ => {
            let (begin, _) = text[..place].char_indices().rev().nth(characters as usize - 1)?;
            Some(begin)
        }
    }
}
