//! The backtracking machine, for patterns without an automaton: it tries one way after the other.
//!
//! An expression is compiled to steps. At a split there are two ways: one is taken, and the other put on a stack, to be
//! taken if the first fails. A look-around or an atomic part leaves a barrier on the stack, so that its end finds the
//! place where it was entered.
//!
//! What is found from a split on depends on its place in the text alone, unless the pattern refers to groups. So [`Marks`]
//! remember its [`Fate`] there: no place is tried twice, and the work is proportional to the text, times the number of
//! splits. Patterns that refer to groups may take a fixed number of steps
//! for each byte.
//!
//! A part that may match nothing is repeated only as long as it matches something. So within it, the rest depends on
//! whether it has, too, and only the places where it has are remembered.

use std::collections::HashMap;

use super::Batch;
use super::expression::{Expression, Greed};
use super::search::Marks;
use super::set::CharSet;
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::Pulse;

/// The maximum number of steps in a text: so many, and so many more for each byte up to the place that is tried.
const MOST_STEPS: usize = 100_000_000;
const MOST_STEPS_PER_BYTE: usize = 10_000;

/// The number of steps between two looks at the clock.
const STEPS_PER_BEAT: usize = 1 << 12;

/// What the machine does at a place of the text.
#[derive(Clone, Copy)]
enum MachineStep {
    /// Consume a character of the set with this number.
    Take(usize),
    /// Go on at the first step; if that fails, at the second. The last is the number of the split.
    Split(usize, usize, usize),
    Jump(usize),
    /// Go on at the beginning of the text.
    Start,
    /// Go on at its end.
    End {
        before_line_feed: bool,
    },
    /// Enter a part, up to its `Leave`; after it, the machine goes on at the step `rest`.
    Enter {
        part: EnteredPart,
        rest: usize,
    },
    Leave,
    /// Store the place in a slot.
    Store(usize),
    /// Go to a step if nothing was consumed since the place in a slot.
    UnlessProgress(usize, usize),
    /// The group whose slots begin with this one ends.
    Close(usize),
    /// Consume what the group matched.
    Same(usize),
    Match,
}

/// A part that is left as a whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EnteredPart {
    /// No other way through it is tried.
    Atomic,
    /// It matches so many characters before the place, or what follows it, or must not.
    Look { back: u32, negated: bool },
}

/// What is known about a split at a place of the text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Both ways fail.
    Fails,
    /// One leads to the end of the look-around that is around it.
    Reaches,
    /// One leads to the end of this many atomic parts around it, and what follows them fails: no other way through them is
    /// tried.
    Strands(u8),
}

/// An entry of the stack: what to do when all that was put on it later has failed.
#[derive(Clone, Copy)]
enum StackEntry {
    /// Take the second way of a split.
    Retry(u32, usize),
    /// There is no other way: if this fails, a split has this number of atomic parts around it that were left.
    Tried(u32, u8, usize),
    /// A part was entered by a step at a place, and not left; the part has failed.
    Barrier(u32, usize),
    /// A part was left.
    Nothing,
    /// Put a place back into a slot.
    Restore(u32, usize),
}

/// The value of a slot without a place.
const NOWHERE: usize = usize::MAX;

/// The characters of a set.
struct Members {
    ascii: u128,
    set: CharSet,
}

impl Members {
    fn contains(&self, character: char) -> bool {
        match u32::from(character) {
            code @ 0..128 => self.ascii >> code & 1 != 0,
            _ => self.set.contains(character),
        }
    }
}

/// A compiled pattern.
pub struct Machine {
    steps: Vec<MachineStep>,
    sets: Vec<Members>,
    splits: Vec<SplitContext>,
    /// The number of marks of each place.
    marks: usize,
    slots: usize,
    /// Whether what is found depends on the place alone.
    remembers: bool,
}

/// What is around a split, up to a look-around.
struct SplitContext {
    /// The first of its marks, one for each fate.
    first_mark: usize,
    /// The number of atomic parts.
    atomic: u8,
    /// The slots of repetitions of parts that may match nothing.
    repeated: Vec<usize>,
}

/// What a run through a text works with.
#[derive(Default)]
pub struct MachineRun {
    stack: Vec<StackEntry>,
    /// The places of barriers on the stack.
    barriers: Vec<usize>,
    slots: Vec<usize>,
    marks: Marks,
    /// The number of steps, and of those since the last look at the clock.
    steps: usize,
    fresh: usize,
    /// A match that was found behind a gap.
    next: Option<(usize, usize)>,
}

impl Machine {
    pub fn new(expression: &Expression) -> Self {
        let mut compiler = Compiler {
            machine: Self {
                steps: Vec::new(),
                sets: Vec::new(),
                splits: Vec::new(),
                marks: 0,
                slots: 0,
                remembers: true,
            },
            known: HashMap::new(),
            groups: HashMap::new(),
            repeated: Vec::new(),
            atomic: 0,
        };
        compiler.add(expression);
        compiler.push(MachineStep::Match);
        compiler.machine
    }

    /// Add pieces to the batch until it is full or the text ends.
    pub fn fill(
        &self,
        text: &str,
        mut start: usize,
        batch: &mut Batch,
        run: &mut MachineRun,
        pulse: &mut Pulse,
    ) -> Result<()> {
        while start < text.len() && !batch.is_full() {
            let (end, is_gap) = self.piece_end(text, start, run, pulse)?;
            if is_gap {
                batch.push_gap(end);
            } else {
                batch.push(end);
            }
            start = end;
        }
        Ok(())
    }

    /// The end of the piece that begins at `start`, and whether it is a gap.
    pub fn piece_end(
        &self,
        text: &str,
        start: usize,
        run: &mut MachineRun,
        pulse: &mut Pulse,
    ) -> Result<(usize, bool)> {
        let mut place = start;
        let end = loop {
            let found = match run.next {
                Some((at, end)) if at == place => Some(end),
                _ => self.match_end(text, place, run, pulse)?,
            };
            if found.is_some() || place >= text.len() {
                break found;
            }
            place += text[place..].chars().next().map_or(1, char::len_utf8);
        };
        run.next = end.map(|end| (place, end));
        Ok(end.filter(|_| place == start).map_or((place, true), |end| (end, false)))
    }

    /// The end of the match that begins at a place and is not empty, if there is one.
    pub fn match_end(
        &self,
        text: &str,
        start: usize,
        run: &mut MachineRun,
        pulse: &mut Pulse,
    ) -> Result<Option<usize>> {
        run.marks.forget_before(start, self.marks);
        run.stack.clear();
        run.barriers.clear();
        run.slots.clear();
        run.slots.resize(self.slots, NOWHERE);
        let (mut step, mut place) = (0, start);
        loop {
            run.fresh += 1;
            #[cfg(test)]
            super::tests::count_steps(1);
            if run.fresh >= STEPS_PER_BEAT {
                pulse.beat(run.fresh)?;
                run.steps += std::mem::take(&mut run.fresh);
                if run.steps > MOST_STEPS.saturating_add(start.saturating_mul(MOST_STEPS_PER_BYTE)) {
                    return Err(took_too_long(text, start));
                }
            }
            if let MachineStep::Match = self.steps[step]
                && place > start
            {
                return Ok(Some(place));
            }
            let next = match self.advance(text, step, place, run)? {
                None => self.retry(run)?,
                next => next,
            };
            let Some(next) = next else { return Ok(None) };
            (step, place) = next;
        }
    }

    /// Do a step; returns the next one and its place, or nothing if it fails.
    fn advance(
        &self,
        text: &str,
        step: usize,
        place: usize,
        run: &mut MachineRun,
    ) -> Result<Option<(usize, usize)>> {
        let goes_on = |holds: bool| holds.then_some((step + 1, place));
        Ok(match self.steps[step] {
            MachineStep::Take(set) => {
                let character = text[place..].chars().next().filter(|&next| self.sets[set].contains(next));
                character.map(|taken| (step + 1, place + taken.len_utf8()))
            }
            MachineStep::Split(first, _, number) => {
                match self.fate(number, place, run) {
                    None => {}
                    Some(Fate::Fails) => return Ok(None),
                    Some(Fate::Reaches) => return self.leave_look(run),
                    Some(Fate::Strands(parts)) => {
                        (0..parts).for_each(|_| run.leave_atomic());
                        return Ok(None);
                    }
                }
                memory::push(&mut run.stack, StackEntry::Retry(step as u32, place))?;
                Some((first, place))
            }
            MachineStep::Jump(to) => Some((to, place)),
            MachineStep::Start => goes_on(place == 0),
            MachineStep::End { before_line_feed } => {
                goes_on(place == text.len() || before_line_feed && &text[place..] == "\n")
            }
            MachineStep::Enter { part, rest } => {
                let (back, negated) = match part {
                    EnteredPart::Atomic => (0, false),
                    EnteredPart::Look { back, negated } => (back, negated),
                };
                run.fresh += back as usize;
                match back_by(text, place, back) {
                    None if negated => Some((rest, place)),
                    None => None,
                    Some(begin) => {
                        run.barriers.push(run.stack.len());
                        memory::push(&mut run.stack, StackEntry::Barrier(step as u32, place))?;
                        Some((step + 1, begin))
                    }
                }
            }
            MachineStep::Leave => self.leave(place, run)?,
            MachineStep::Store(slot) => {
                run.store(slot, place)?;
                goes_on(true)
            }
            MachineStep::UnlessProgress(slot, rest) => {
                Some((if run.slots[slot] == place { rest } else { step + 1 }, place))
            }
            MachineStep::Close(group) => {
                run.store(group, run.slots[group + 2])?;
                run.store(group + 1, place)?;
                goes_on(true)
            }
            MachineStep::Same(group) => {
                let same = text.get(run.slots[group]..run.slots[group + 1]);
                let same = same.filter(|same| text[place..].starts_with(same));
                run.fresh += same.map_or(0, str::len);
                same.map(|same| (step + 1, place + same.len()))
            }
            MachineStep::Match => None,
        })
    }

    /// Leave the part that was entered last, as it has matched up to a place.
    fn leave(&self, place: usize, run: &mut MachineRun) -> Result<Option<(usize, usize)>> {
        let Some(&barrier) = run.barriers.last() else { return Ok(None) };
        let StackEntry::Barrier(entered, back) = run.stack[barrier] else { return Ok(None) };
        let MachineStep::Enter { part, rest } = self.steps[entered as usize] else { return Ok(None) };
        let EnteredPart::Look { negated, .. } = part else {
            run.leave_atomic();
            return Ok(Some((rest, place)));
        };
        run.fresh += run.stack.len() - barrier;
        run.barriers.pop();
        let mut kept = barrier;
        for index in barrier..run.stack.len() {
            match run.stack[index] {
                StackEntry::Retry(split, at) | StackEntry::Tried(split, _, at) => {
                    self.mark(split, at, Fate::Reaches, run)?;
                }
                restore @ StackEntry::Restore(..) => {
                    run.stack[kept] = restore;
                    kept += 1;
                }
                StackEntry::Barrier(..) | StackEntry::Nothing => {}
            }
        }
        run.stack.truncate(kept);
        // What the part has stored is put back when this fails.
        Ok((!negated).then_some((rest, back)))
    }

    /// Leave the look-around that was entered last, as its end is known to be reached.
    fn leave_look(&self, run: &mut MachineRun) -> Result<Option<(usize, usize)>> {
        while let Some(&barrier) = run.barriers.last()
            && let StackEntry::Barrier(entered, place) = run.stack[barrier]
        {
            match self.steps[entered as usize] {
                MachineStep::Enter { part: EnteredPart::Atomic, .. } => run.barriers.pop(),
                _ => return self.leave(place, run),
            };
        }
        Ok(None)
    }

    /// Take the next way that is left, if there is one.
    fn retry(&self, run: &mut MachineRun) -> Result<Option<(usize, usize)>> {
        while let Some(entry) = run.stack.pop() {
            match entry {
                StackEntry::Retry(split, place) => {
                    let MachineStep::Split(_, second, _) = self.steps[split as usize] else {
                        return Ok(None);
                    };
                    if self.remembers {
                        run.stack.push(StackEntry::Tried(split, 0, place));
                    }
                    return Ok(Some((second, place)));
                }
                StackEntry::Tried(split, 0, place) => self.mark(split, place, Fate::Fails, run)?,
                StackEntry::Tried(split, left, place) => self.mark(split, place, Fate::Strands(left), run)?,
                StackEntry::Barrier(entered, place) => {
                    run.barriers.pop();
                    if let MachineStep::Enter { part: EnteredPart::Look { negated: true, .. }, rest } =
                        self.steps[entered as usize]
                    {
                        return Ok(Some((rest, place)));
                    }
                }
                StackEntry::Nothing => {}
                StackEntry::Restore(slot, place) => run.slots[slot as usize] = place,
            }
        }
        Ok(None)
    }

    /// What is known about a split at a place.
    fn fate(&self, split: usize, place: usize, run: &MachineRun) -> Option<Fate> {
        let context = &self.splits[split];
        let has = |fate: &Fate| run.marks.has(place, self.marks, context.mark(*fate));
        let fates = [Fate::Fails, Fate::Reaches].into_iter().chain((1..=context.atomic).map(Fate::Strands));
        fates.filter(|_| self.depends_on_place(split, place, run)).find(has)
    }

    fn mark(&self, step: u32, place: usize, fate: Fate, run: &mut MachineRun) -> Result<()> {
        let MachineStep::Split(_, _, split) = self.steps[step as usize] else { return Ok(()) };
        let context = &self.splits[split];
        // When a look-around ends, the slots within it may have changed since.
        let is_known = fate != Fate::Reaches || context.repeated.is_empty();
        if is_known && self.depends_on_place(split, place, run) {
            run.marks.add(place, self.marks, context.mark(fate))?;
        }
        Ok(())
    }

    /// Whether what is found from a split on depends on its place alone.
    fn depends_on_place(&self, split: usize, place: usize, run: &MachineRun) -> bool {
        self.remembers && self.splits[split].repeated.iter().all(|&slot| run.slots[slot] != place)
    }
}

impl SplitContext {
    fn mark(&self, fate: Fate) -> usize {
        self.first_mark
            + match fate {
                Fate::Fails => 0,
                Fate::Reaches => 1,
                Fate::Strands(parts) => 1 + usize::from(parts),
            }
    }
}

impl MachineRun {
    /// Leave an atomic part: no other way through it is tried.
    fn leave_atomic(&mut self) {
        let Some(barrier) = self.barriers.pop() else { return };
        self.fresh += self.stack.len() - barrier;
        self.stack[barrier] = StackEntry::Nothing;
        for entry in &mut self.stack[barrier..] {
            match *entry {
                StackEntry::Retry(split, place) => *entry = StackEntry::Tried(split, 1, place),
                StackEntry::Tried(split, left, place) => *entry = StackEntry::Tried(split, left + 1, place),
                _ => {}
            }
        }
    }

    fn store(&mut self, slot: usize, place: usize) -> Result<()> {
        memory::push(&mut self.stack, StackEntry::Restore(slot as u32, self.slots[slot]))?;
        self.slots[slot] = place;
        Ok(())
    }
}

/// The place so many characters before another, if there is one.
fn back_by(text: &str, place: usize, characters: u32) -> Option<usize> {
    match characters {
        0 => Some(place),
        more => text[..place].char_indices().rev().nth(more as usize - 1).map(|(begin, _)| begin),
    }
}

#[cold]
fn took_too_long(text: &str, place: usize) -> Error {
    let following: String = text[place..].chars().take(20).collect();
    Error::Value(format!(
        "the pattern could not be matched: at byte {place} of the text, before {following:?}, more than {MOST_STEPS} steps \
         and {MOST_STEPS_PER_BYTE} for each byte were tried; a pattern without back-references takes fewer"
    ))
}

/// Compiles an expression to steps.
struct Compiler {
    machine: Machine,
    known: HashMap<CharSet, usize>,
    /// The first slot of each group.
    groups: HashMap<usize, usize>,
    /// What is around the present part, up to a look-around: the slots of repetitions of parts that may match nothing,
    repeated: Vec<usize>,
    /// and the number of atomic parts.
    atomic: u8,
}

impl Compiler {
    fn push(&mut self, step: MachineStep) -> usize {
        self.machine.steps.push(step);
        self.machine.steps.len() - 1
    }

    fn here(&self) -> usize {
        self.machine.steps.len()
    }

    /// Add a split, whose ways are set later.
    fn split(&mut self) -> usize {
        let (first_mark, atomic, repeated) = (self.machine.marks, self.atomic, self.repeated.clone());
        self.machine.marks += 2 + usize::from(atomic);
        self.machine.splits.push(SplitContext { first_mark, atomic, repeated });
        self.push(MachineStep::Split(0, 0, self.machine.splits.len() - 1))
    }

    fn set_ways(&mut self, split: usize, first: usize, second: usize) {
        if let MachineStep::Split(one, other, _) = &mut self.machine.steps[split] {
            (*one, *other) = (first, second);
        }
    }

    fn slots(&mut self, number: usize) -> usize {
        self.machine.slots += number;
        self.machine.slots - number
    }

    fn set(&mut self, set: &CharSet) -> usize {
        if let Some(&known) = self.known.get(set) {
            return known;
        }
        let ascii = (0..128).filter(|&code| set.contains(code.into()));
        let ascii = ascii.fold(0, |ascii, code: u8| ascii | 1 << code);
        self.machine.sets.push(Members { ascii, set: set.clone() });
        self.known.insert(set.clone(), self.machine.sets.len() - 1);
        self.machine.sets.len() - 1
    }

    fn add(&mut self, expression: &Expression) {
        match expression {
            Expression::Set(set) => {
                let set = self.set(set);
                self.push(MachineStep::Take(set));
            }
            Expression::Sequence(parts) => parts.iter().for_each(|part| self.add(part)),
            Expression::Choice(parts) => self.add_choice(parts),
            Expression::Repeat { part, least, most, greed: Greed::Possessive } => {
                self.add_entered(EnteredPart::Atomic, |this| this.add_repeat(part, *least, *most, false));
            }
            Expression::Repeat { part, least, most, greed } => {
                self.add_repeat(part, *least, *most, *greed == Greed::Lazy);
            }
            Expression::Ahead { part, negated } => {
                let look = EnteredPart::Look { back: 0, negated: *negated };
                self.add_entered(look, |this| this.add(part));
            }
            Expression::Behind { part, length, negated } => {
                let look = EnteredPart::Look { back: *length, negated: *negated };
                self.add_entered(look, |this| this.add(part));
            }
            Expression::Atomic(part) => self.add_entered(EnteredPart::Atomic, |this| this.add(part)),
            Expression::Start => {
                self.push(MachineStep::Start);
            }
            Expression::End { before_line_feed } => {
                self.push(MachineStep::End { before_line_feed: *before_line_feed });
            }
            Expression::Group(number, part) => {
                let group = self.group(*number);
                self.push(MachineStep::Store(group + 2));
                self.add(part);
                self.push(MachineStep::Close(group));
            }
            Expression::Reference(number) => {
                self.machine.remembers = false;
                let group = self.group(*number);
                self.push(MachineStep::Same(group));
            }
        }
    }

    /// The slots of a group: where its last match begins and ends, and where the present one begins.
    fn group(&mut self, number: usize) -> usize {
        if let Some(&known) = self.groups.get(&number) {
            return known;
        }
        let group = self.slots(3);
        self.groups.insert(number, group);
        group
    }

    fn add_choice(&mut self, parts: &[Expression]) {
        let Some((last, others)) = parts.split_last() else { return };
        let mut ends = Vec::new();
        for part in others {
            let split = self.split();
            self.add(part);
            ends.push(self.push(MachineStep::Jump(0)));
            self.set_ways(split, split + 1, self.here());
        }
        self.add(last);
        for end in ends {
            self.machine.steps[end] = MachineStep::Jump(self.here());
        }
    }

    fn add_repeat(&mut self, part: &Expression, least: u32, most: Option<u32>, lazy: bool) {
        (0..least).for_each(|_| self.add(part));
        // A part that has matched nothing is not repeated.
        let slot = (part.can_be_empty() && most != Some(least + 1)).then(|| self.slots(1));
        let (mut splits, mut ends) = (Vec::new(), Vec::new());
        for _ in least..most.unwrap_or(least + 1) {
            splits.push(self.split());
            if let Some(slot) = slot {
                self.push(MachineStep::Store(slot));
                self.repeated.push(slot);
            }
            self.add(part);
            if let Some(slot) = slot {
                self.repeated.pop();
                ends.push((self.push(MachineStep::Jump(0)), slot));
            }
        }
        if most.is_none() {
            self.push(MachineStep::Jump(splits[0]));
        }
        for (end, slot) in ends {
            self.machine.steps[end] = MachineStep::UnlessProgress(slot, self.here());
        }
        for split in splits {
            let (again, rest) = (split + 1, self.here());
            if lazy {
                self.set_ways(split, rest, again);
            } else {
                self.set_ways(split, again, rest);
            }
        }
    }

    fn add_entered(&mut self, part: EnteredPart, add: impl FnOnce(&mut Self)) {
        let entered = self.push(MachineStep::Enter { part, rest: 0 });
        let around = (self.atomic, self.repeated.clone());
        match part {
            EnteredPart::Atomic => self.atomic += 1,
            EnteredPart::Look { .. } => (self.atomic, self.repeated) = (0, Vec::new()),
        }
        add(self);
        (self.atomic, self.repeated) = around;
        self.push(MachineStep::Leave);
        self.machine.steps[entered] = MachineStep::Enter { part, rest: self.here() };
    }
}
