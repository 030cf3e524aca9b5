//! A deterministic automaton for a pattern: one table lookup per character, without backtracking.
//!
//! The pattern is a net of nodes (an NFA). Each state of the automaton is a list of nodes that a
//! match may have reached, in the order of preference. A node that leads to a match at once ends
//! the list: later nodes would be tried only if it failed, and it cannot fail. So the last place
//! where a list contained a match is the end that a backtracking machine would find. Look-ahead of
//! one character needs no extra step: an entry of the table, for a state and the next character,
//! also says whether a match ends before that character.
//!
//! Patterns with look-behind or longer look-ahead have no automaton.

use std::collections::HashMap;

use super::alphabet::{Alphabet, Atoms};
use super::graph::Graph;
use super::net::{Net, NetNode};
use crate::error::Result;
use crate::watch::Pulse;

/// The number of steps between two looks at the clock.
const STEPS_PER_BEAT: usize = 1 << 12;

/// The state that cannot reach a match any more.
pub const DEAD: u16 = 0;
/// The state before the first character.
pub const START: u16 = 1;

/// The maximum numbers of nodes and states.
const MAX_NODES: usize = 1 << 12;
const MAX_STATES: usize = 1 << 11;

/// The maximum number of nodes that are looked at to find all states: with more, there is no
/// automaton.
const MAX_VISITS: usize = 1 << 25;

/// The maximum number of moves that are compared to find the smallest automaton: with more, it is
/// left as it is.
const MAX_COMPARED: usize = 1 << 22;

/// Finds the matches of a pattern.
pub struct Automaton {
    pub alphabet: Alphabet,
    /// For each state and atom, the next state, and in the highest bit whether a match may end
    /// before the atom.
    table: Vec<u16>,
    shift: u32,
    pub states: usize,
    /// For each state, whether it can die before it reaches a match.
    may_fail: Vec<bool>,
    /// For each atom, the atoms after which a cut before it changes no match.
    keeps_matches: Vec<Atoms>,
    /// The atoms that may lie in a gap.
    in_gaps: Atoms,
}

const MATCHED: u16 = 1 << 15;

/// The transition of a state at an atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Move {
    /// Whether a match may end before the atom.
    pub matched: bool,
    /// The state after the atom.
    pub next: u16,
}

/// The result of a search in a part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialMatch {
    /// No match.
    Nothing,
    /// A match of this many characters.
    End(usize),
    /// The result depends on the text after the part.
    GoesOn,
}

impl Automaton {
    /// Builds the automaton of a pattern, if it can have one.
    #[expect(clippy::large_stack_frames, reason = "patterns are compiled on a large stack")]
    pub fn new(graph: &Graph) -> Option<Self> {
        if graph.nodes.len() > MAX_NODES {
            return None;
        }
        let alphabet = Alphabet::new(&graph.sets)?;
        let net = Net::new(graph, &alphabet)?;
        let (automaton, _) = Self::over(&net, alphabet, graph.has_final_line_feed(), |_| 0)?;
        Some(automaton)
    }

    /// Builds the automaton of a net over an alphabet; returns also its atoms by those of the net.
    /// Atoms of different kinds stay different.
    pub fn over(
        net: &Net,
        mut alphabet: Alphabet,
        tells_final: bool,
        kind: impl Fn(usize) -> usize,
    ) -> Option<(Self, Vec<u8>)> {
        let moves = smallest(net.states(alphabet.count)?, alphabet.count);
        let (moves, joined) = join_alike(moves, &mut alphabet, tells_final, kind);
        Some((Self::of(&moves, alphabet), joined))
    }

    fn of(moves: &[Vec<Move>], alphabet: Alphabet) -> Self {
        let states = moves.len();
        let shift = alphabet.count.next_power_of_two().trailing_zeros();
        let mut table = vec![DEAD; states << shift];
        for (state, moves) in moves.iter().enumerate() {
            for (atom, to) in moves.iter().enumerate() {
                table[state << shift | atom] = to.next | if to.matched { MATCHED } else { 0 };
            }
        }
        let may_fail = may_fail(moves);
        let keeps_matches = vec![0; alphabet.count];
        let mut automaton =
            Self { alphabet, table, shift, states, may_fail, keeps_matches, in_gaps: 0 };
        automaton.find_cuts();
        automaton
    }

    /// Returns the transition of a state at an atom.
    #[inline(always)]
    pub fn step(&self, state: u16, atom: u8) -> Move {
        #[cfg(test)]
        super::tests::count_steps(1);
        let entry = self.table[usize::from(state) << self.shift | usize::from(atom)];
        Move { matched: entry & MATCHED != 0, next: entry & !MATCHED }
    }

    /// Returns the atom of the character that begins at `position`, and where it ends.
    #[inline(always)]
    pub fn atom_at(&self, text: &[u8], position: usize) -> (u8, usize) {
        if self.alphabet.tells_final_line_feed() && text.get(position..) == Some(b"\n") {
            return (self.alphabet.final_line_feed, position + 1);
        }
        self.alphabet.at(text, position)
    }

    /// Returns the end of the match that begins at `start`, if there is one, and how far the text
    /// was looked at for it.
    #[inline(always)]
    pub fn match_end(
        &self,
        text: &[u8],
        start: usize,
        pulse: &mut Pulse,
    ) -> Result<(Option<usize>, usize)> {
        let (mut state, mut position, mut end) = (START, start, None);
        loop {
            let checkpoint = position + STEPS_PER_BEAT;
            while position < checkpoint {
                let (atom, next) = self.atom_at(text, position);
                let to = self.step(state, atom);
                if to.matched {
                    end = Some(position);
                }
                if to.next == DEAD {
                    return Ok((end, position));
                }
                (state, position) = (to.next, next);
            }
            pulse.beat(STEPS_PER_BEAT)?;
        }
    }

    /// Looks for a match at the beginning of a part of a text, whose atoms are given.
    pub fn match_within(&self, atoms: impl Iterator<Item = u8>) -> PartialMatch {
        let mut state = START;
        let mut longest = PartialMatch::Nothing;
        for (place, atom) in atoms.enumerate() {
            let to = self.step(state, atom);
            if to.matched {
                longest = PartialMatch::End(place);
            }
            if to.next == DEAD {
                return longest;
            }
            state = to.next;
        }
        PartialMatch::GoesOn
    }

    /// Whether a match begins wherever another one ends, so that there is never text between two.
    pub fn matches_all_text(&self) -> bool {
        let alphabet = &self.alphabet;
        (0..alphabet.end).all(|atom| self.surely_begins(atom))
            && (!alphabet.tells_final_line_feed() || self.surely_begins(alphabet.final_line_feed))
    }

    /// Whether a match begins at a place, if the character there tells.
    #[inline]
    pub fn begins(&self, text: &[u8], start: usize) -> Option<bool> {
        let state = self.step(START, self.atom_at(text, start).0).next;
        if state == DEAD {
            return Some(false);
        }
        self.surely_matches(state).then_some(true)
    }

    /// Whether a match begins at each character of an atom, whatever follows.
    fn surely_begins(&self, atom: u8) -> bool {
        self.surely_matches(self.step(START, atom).next)
    }

    /// Whether a state reaches a match, whatever follows.
    pub fn surely_matches(&self, state: u16) -> bool {
        !self.may_fail[usize::from(state)]
    }

    /// Finds out what a cut between two characters does.
    ///
    /// Proof: let `a` and `b` be adjacent, and let both of these hold for each state before `a`:
    ///
    /// - it does not survive `a` and `b`;
    /// - after `a`, it gives the same answer about a match that ends at `b` and at the end of the
    ///   text.
    ///
    /// Then:
    ///
    /// 1. No match contains both, so none goes on past the cut.
    /// 2. Nothing looks back before `b`, so the matches from `b` on are found as if the text began
    ///    there.
    /// 3. By the second condition, the matches before are found as if the text ended at the cut.
    /// 4. So all matches stay, and at most a gap that contains both `a` and `b` becomes two. If `b`
    ///    certainly begins a match, it is in no gap.
    fn find_cuts(&mut self) {
        let end = self.alphabet.end;
        let line_feed = self.alphabet.ascii[usize::from(b'\n')];
        let tells_final_line_feed = self.alphabet.tells_final_line_feed();
        let may_be_last = |atom: u8| tells_final_line_feed && atom == line_feed;
        let covers = self.matches_all_text();
        for b in (0..end).filter(|&b| !may_be_last(b)) {
            if !covers && !self.surely_begins(b) {
                self.in_gaps |= 1 << b;
            }
            for a in (0..end).filter(|&a| !may_be_last(a)) {
                let ends = (START..self.states as u16).all(|state| {
                    let after = self.step(state, a).next;
                    let to = self.step(after, b);
                    to.next == DEAD && to.matched == self.step(after, end).matched
                });
                if ends {
                    self.keeps_matches[usize::from(b)] |= 1 << a;
                }
            }
        }
    }

    /// Says what a cut between two atoms does.
    #[inline(always)]
    pub fn cut_between(&self, before: u8, after: u8) -> CutEffect {
        match self.keeps_matches[usize::from(after)] >> before & 1 != 0 {
            true if self.in_gaps >> after & 1 == 0 => CutEffect::Nothing,
            true => CutEffect::PartsGap,
            false => CutEffect::Unknown,
        }
    }
}

/// What a cut between two characters does, wherever they are adjacent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutEffect {
    /// All pieces stay as they are.
    Nothing,
    /// A gap may become two.
    PartsGap,
    /// Not known.
    Unknown,
}

/// Joins atoms of one kind for which all states have the same transitions, and returns what each
/// one becomes. A final line feed keeps an atom of its own only if the pattern distinguishes it.
fn join_alike(
    moves: Vec<Vec<Move>>,
    alphabet: &mut Alphabet,
    tells_final: bool,
    kind: impl Fn(usize) -> usize,
) -> (Vec<Vec<Move>>, Vec<u8>) {
    let characters = usize::from(alphabet.end);
    let mut numbers: HashMap<(usize, Vec<Move>), u8> = HashMap::new();
    let mut kept = Vec::new();
    let mut joined = Vec::new();
    for atom in 0..characters {
        let column = moves.iter().map(|row| row[atom]).collect();
        let number = *numbers.entry((kind(atom), column)).or_insert(kept.len() as u8);
        if usize::from(number) == kept.len() {
            kept.push(atom);
        }
        joined.push(number);
    }
    kept.push(characters);
    if tells_final {
        kept.push(usize::from(alphabet.final_line_feed));
    }
    alphabet.join(&joined, kept.len());
    let kept_moves = |row: &Vec<Move>| kept.iter().map(|&atom| row[atom]).collect();
    (moves.iter().map(kept_moves).collect(), joined)
}

/// Returns for each state whether some text makes it die without a match.
fn may_fail(moves: &[Vec<Move>]) -> Vec<bool> {
    // For each state, those that come to it without a match.
    let mut origins: Vec<Vec<usize>> = vec![Vec::new(); moves.len()];
    for (state, row) in moves.iter().enumerate() {
        for to in row {
            if !to.matched {
                origins[usize::from(to.next)].push(state);
            }
        }
    }
    let mut may_fail = vec![false; moves.len()];
    let mut pending = vec![usize::from(DEAD)];
    while let Some(state) = pending.pop() {
        if !std::mem::replace(&mut may_fail[state], true) {
            pending.append(&mut origins[state]);
        }
    }
    may_fail
}

impl Net {
    /// Builds all states and their transitions (the subset construction).
    fn states(&self, atoms: usize) -> Option<Vec<Vec<Move>>> {
        if self.nodes.iter().any(|node| matches!(node, NetNode::Ahead { .. })) {
            return None;
        }
        // For each node, whether it leads to a match whatever follows: the nodes behind a split
        // have lower numbers, but for those that consume something.
        let mut ends: Vec<bool> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            ends.push(match node {
                NetNode::Split(ways) => ways.iter().any(|way| ends.get(*way) == Some(&true)),
                node => matches!(node, NetNode::Match),
            });
        }
        let mut number: HashMap<Vec<usize>, u16> = HashMap::from([(Vec::new(), DEAD)]);
        let mut moves = vec![vec![Move { matched: false, next: DEAD }; atoms]];
        let mut lists = vec![Vec::new(), vec![self.entry]];
        let mut visits = 0;
        while let Some(list) = lists.get(moves.len()).cloned() {
            let at_start = moves.len() == usize::from(START);
            let mut row = Vec::with_capacity(atoms);
            for atom in 0..atoms {
                let mut step = NetStep {
                    net: self,
                    ends: &ends,
                    atom: 1 << atom,
                    at_start,
                    next: Vec::new(),
                    ended: false,
                    taken: vec![false; self.nodes.len()],
                    seen: vec![false; self.nodes.len()],
                    visits: self.nodes.len() / 16,
                };
                let matched = list.iter().any(|&node| step.go(node)) && !at_start;
                visits += step.visits;
                if visits > MAX_VISITS {
                    return None;
                }
                let new = lists.len() as u16;
                let next = *number.entry(step.next).or_insert_with_key(|list| {
                    lists.push(list.clone());
                    new
                });
                row.push(Move { matched, next });
            }
            moves.push(row);
            if lists.len() > MAX_STATES {
                return None;
            }
        }
        Some(moves)
    }
}

/// One step from a list of nodes at an atom.
struct NetStep<'a> {
    net: &'a Net,
    ends: &'a [bool],
    atom: Atoms,
    at_start: bool,
    next: Vec<usize>,
    /// Whether the next list ends with a node that leads to a match.
    ended: bool,
    taken: Vec<bool>,
    seen: Vec<bool>,
    /// The number of nodes that were looked at.
    visits: usize,
}

impl NetStep<'_> {
    /// Continues from a node; returns true at a match, which ends the list, unless it is empty and
    /// need not be the end.
    fn go(&mut self, node: usize) -> bool {
        self.visits += 1;
        #[cfg(test)]
        super::tests::count_steps(1);
        if std::mem::replace(&mut self.seen[node], true) {
            return false;
        }
        match &self.net.nodes[node] {
            NetNode::Match => !self.at_start || self.net.is_atomic,
            NetNode::Take(atoms, next) => {
                let is_new = atoms & self.atom != 0 && !self.ended;
                if is_new && !std::mem::replace(&mut self.taken[*next], true) {
                    self.next.push(*next);
                    self.ended = self.ends[*next];
                }
                false
            }
            NetNode::Look(atoms, next) => atoms & self.atom != 0 && self.go(*next),
            NetNode::Split(ways) => ways.iter().any(|way| self.go(*way)),
            NetNode::Ahead { .. } => false,
        }
    }
}

/// Minimizes the automaton, unless that takes long: states with the same behaviour become one.
fn smallest(moves: Vec<Vec<Move>>, width: usize) -> Vec<Vec<Move>> {
    // All states begin in one class. Those of a class whose moves differ are divided, until nothing
    // changes.
    let mut class: Vec<u16> = vec![0; moves.len()];
    let mut count = 1;
    let mut compared = 0;
    loop {
        compared += moves.len() * width;
        #[cfg(test)]
        super::tests::count_steps(moves.len() * width);
        if compared > MAX_COMPARED {
            return moves;
        }
        let mut numbers: HashMap<(u16, Vec<Move>), u16> = HashMap::new();
        let mut refined = Vec::with_capacity(moves.len());
        for (state, row) in moves.iter().enumerate() {
            // The dead state and the start keep their numbers: no other state is merged with
            // either.
            let own_class = if state == usize::from(START) { u16::MAX } else { class[state] };
            let next = numbers.len() as u16;
            refined.push(*numbers.entry((own_class, by_class(row, &class))).or_insert(next));
        }
        class = refined;
        if numbers.len() == count {
            break;
        }
        count = numbers.len();
    }
    let mut rows = vec![Vec::new(); count];
    for (state, row) in moves.iter().enumerate() {
        rows[usize::from(class[state])] = by_class(row, &class);
    }
    rows
}

/// Returns the moves to the classes of states.
fn by_class(row: &[Move], class: &[u16]) -> Vec<Move> {
    row.iter().map(|to| Move { next: class[usize::from(to.next)], ..*to }).collect()
}
