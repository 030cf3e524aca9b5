//! A deterministic automaton for a pattern: one table lookup per character, without backtracking.
//!
//! The expression becomes a graph of nodes (an NFA). Each state of the automaton is a list of nodes that a match may have
//! reached, in the order of preference. A `Match` node ends the list: later nodes would be tried only if it failed, and it
//! cannot fail. So the last place where a list contained a match is the end that a backtracking machine would find.
//! Look-ahead of one character needs no extra step: an entry of the table, for a state and the next character, also
//! says whether a match ends before that character.
//!
//! Patterns with back-references, look-behind or longer look-ahead have no automaton. The graph may have longer look-ahead, for
//! [views](super::views).

use std::collections::HashMap;

use super::Batch;
use super::alphabet::{Alphabet, Atoms};
use super::expression::{Expression, Greed};
use super::search::{STRIDE, Search};
use super::set::CharSet;

/// The state that cannot reach a match any more.
pub const DEAD: u16 = 0;
/// The state before the first character.
pub const START: u16 = 1;

/// The maximum numbers of nodes and states.
const MAX_NODES: usize = 1 << 12;
const MAX_STATES: usize = 1 << 11;

/// The maximum number of nodes that are looked at to find all states: with more, there is no automaton.
const MAX_VISITS: usize = 1 << 25;

/// The maximum number of moves that are compared to find the smallest automaton: with more, it is left as it is.
const MAX_COMPARED: usize = 1 << 22;

/// Finds the matches of a pattern.
pub struct Automaton {
    pub alphabet: Alphabet,
    /// For each state and atom, the next state, and in the highest bit whether a match may end before the atom.
    table: Vec<u16>,
    shift: u32,
    pub states: usize,
    looks_for_final_line_feed: bool,
    /// For each state, whether it can die before it reaches a match.
    may_fail: Vec<bool>,
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

/// An attempt to match: how far it has come, and where its last match ends.
struct Attempt {
    state: u16,
    position: usize,
    end: Option<usize>,
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
    /// The automaton of a pattern, if it can have one.
    pub fn new(expression: &Expression) -> Option<Self> {
        let mut alphabet = Alphabet::new(&sets(expression))?;
        let net = Net::new(expression, &alphabet)?;
        let looks_for_final_line_feed = has_final_line_feed(expression);
        let (moves, states) = smallest(net.states()?, alphabet.count);
        let moves = join_alike(moves, &mut alphabet, looks_for_final_line_feed);
        let shift = alphabet.count.next_power_of_two().trailing_zeros();
        let mut table = vec![DEAD; states << shift];
        for (state, moves) in moves.iter().enumerate() {
            for (atom, to) in moves.iter().enumerate() {
                table[state << shift | atom] = to.next | if to.matched { MATCHED } else { 0 };
            }
        }
        let may_fail = may_fail(&moves);
        Some(Self { alphabet, table, shift, states, looks_for_final_line_feed, may_fail })
    }

    /// The transition of a state at an atom.
    #[inline(always)]
    pub fn step(&self, state: u16, atom: u8) -> Move {
        #[cfg(test)]
        super::tests::count_steps(1);
        let entry = self.table[usize::from(state) << self.shift | usize::from(atom)];
        Move { matched: entry & MATCHED != 0, next: entry & !MATCHED }
    }

    /// The atom of the character that begins at `position`, and where it ends.
    #[inline(always)]
    pub fn atom_at(&self, text: &[u8], position: usize) -> (u8, usize) {
        if self.looks_for_final_line_feed && text.get(position..) == Some(b"\n") {
            return (self.alphabet.final_line_feed, position + 1);
        }
        self.alphabet.at(text, position)
    }

    /// The end of the match that begins at `start`, if there is one.
    #[inline(always)]
    pub fn match_end(&self, text: &[u8], start: usize, search: &mut Search) -> Option<usize> {
        let mut attempt = Attempt { state: START, position: start, end: None };
        match self.go_on(text, &mut attempt) {
            true => self.match_end_from_checkpoint(text, start, attempt, search),
            false => attempt.end,
        }
    }

    /// The same for an attempt that has come to a checkpoint.
    #[inline(never)]
    fn match_end_from_checkpoint(
        &self,
        text: &[u8],
        start: usize,
        mut attempt: Attempt,
        search: &mut Search,
    ) -> Option<usize> {
        while search.goes_on(attempt.position / STRIDE, attempt.state, self.states, attempt.end)
            && self.go_on(text, &mut attempt)
        {}
        search.ended(start, self.states, attempt.end);
        attempt.end
    }

    /// Go on to the next checkpoint; returns false if the attempt ends before.
    #[inline(always)]
    fn go_on(&self, text: &[u8], attempt: &mut Attempt) -> bool {
        let Attempt { mut state, mut position, mut end } = *attempt;
        let checkpoint = (position / STRIDE + 1) * STRIDE;
        while position < checkpoint {
            let (atom, next) = self.atom_at(text, position);
            let to = self.step(state, atom);
            if to.matched {
                end = Some(position);
            }
            if to.next == DEAD {
                attempt.end = end;
                return false;
            }
            (state, position) = (to.next, next);
        }
        *attempt = Attempt { state, position, end };
        true
    }

    /// The same for a part of a text, given as atoms.
    pub fn match_within(&self, atoms: impl Iterator<Item = u8>) -> PartialMatch {
        let (mut state, mut found) = (START, PartialMatch::Nothing);
        for (place, atom) in atoms.enumerate() {
            let to = self.step(state, atom);
            if to.matched {
                found = PartialMatch::End(place);
            }
            if to.next == DEAD {
                return found;
            }
            state = to.next;
        }
        PartialMatch::GoesOn
    }

    /// Add the piece that begins at `start` to the batch, which must have room, and return its end.
    pub fn fill_one(&self, text: &[u8], start: usize, batch: &mut Batch, search: &mut Search) -> usize {
        let (end, is_gap) = self.piece_end(text, start, search);
        if is_gap {
            batch.push_gap(end);
        } else {
            batch.push(end);
        }
        end
    }

    /// The end of the piece that begins at `start`, and whether it is a gap.
    pub fn piece_end(&self, text: &[u8], start: usize, search: &mut Search) -> (usize, bool) {
        if let Some(end) = self.match_end(text, start, search) {
            return (end, false);
        }
        let mut end = self.alphabet.at(text, start).1;
        while end < text.len() && self.match_end(text, end, search).is_none() {
            if !search.work(1) {
                return (text.len(), true);
            }
            end = self.alphabet.at(text, end).1;
        }
        (end, true)
    }

    /// Whether a line feed at the end of the text has an atom of its own.
    pub fn tells_final_line_feed(&self) -> bool {
        self.looks_for_final_line_feed
    }

    /// Whether a match begins wherever another one ends, so that there is never text between two.
    pub fn matches_all_text(&self) -> bool {
        let last = self.looks_for_final_line_feed.then_some(self.alphabet.final_line_feed);
        (0..self.characters()).chain(last).all(|atom| self.surely_begins(atom))
    }

    /// Whether a match begins at each character of an atom, whatever follows.
    fn surely_begins(&self, atom: u8) -> bool {
        self.surely_matches(self.step(START, atom).next)
    }

    /// Whether a state reaches a match, whatever follows.
    pub fn surely_matches(&self, state: u16) -> bool {
        !self.may_fail[usize::from(state)]
    }

    /// The number of atoms that are characters.
    fn characters(&self) -> u8 {
        self.alphabet.end
    }

    /// What a cut between two characters does.
    ///
    /// Proof: let `a` and `b` be adjacent. If no state survives both, no match contains both, so none goes on past the cut.
    /// Nothing looks back before `b`, so the matches from `b` on are found as if the text began there. The matches before
    /// are found as if the text ended there, if each state after `a` gives the same answer about a match that ends at `b`
    /// and at the end of the text. So all matches stay, and at most a gap that contains both `a` and `b` becomes two. If
    /// `b` certainly begins a match, it is in no gap.
    pub fn cuts(&self) -> Cuts {
        let line_feed = self.alphabet.ascii[usize::from(b'\n')];
        let may_be_last = |atom: u8| self.looks_for_final_line_feed && atom == line_feed;
        let covers = self.matches_all_text();
        let mut cuts = Cuts { keeps_matches: vec![0; self.alphabet.count], in_gaps: 0 };
        for b in (0..self.characters()).filter(|&b| !may_be_last(b)) {
            cuts.in_gaps |= Atoms::from(!covers && !self.surely_begins(b)) << b;
            for a in (0..self.characters()).filter(|&a| !may_be_last(a)) {
                let ends = (START..self.states as u16).map(|state| self.step(state, a).next).all(|state| {
                    let (to, end) = (self.step(state, b), self.step(state, self.alphabet.end));
                    to.next == DEAD && to.matched == end.matched
                });
                cuts.keeps_matches[usize::from(b)] |= Atoms::from(ends) << a;
            }
        }
        cuts
    }
}

/// Where a text may be cut.
pub struct Cuts {
    /// For each atom, the atoms after which a cut before it changes no match.
    keeps_matches: Vec<Atoms>,
    /// The atoms that may lie in a gap.
    in_gaps: Atoms,
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

impl Cuts {
    /// What a cut between two atoms does.
    #[inline(always)]
    pub fn between(&self, before: u8, after: u8) -> CutEffect {
        match self.keeps_matches[usize::from(after)] >> before & 1 != 0 {
            true if self.in_gaps >> after & 1 == 0 => CutEffect::Nothing,
            true => CutEffect::PartsGap,
            false => CutEffect::Unknown,
        }
    }
}

/// Join atoms for which all states have the same transitions. A final line feed keeps an atom of its own only if the
/// pattern distinguishes it.
fn join_alike(moves: Vec<Vec<Move>>, alphabet: &mut Alphabet, tells_final: bool) -> Vec<Vec<Move>> {
    let characters = usize::from(alphabet.end);
    let mut first: HashMap<Vec<Move>, u8> = HashMap::new();
    let mut kept = Vec::new();
    let joined: Vec<u8> = (0..characters)
        .map(|atom| {
            let column = moves.iter().map(|row| row[atom]).collect();
            *first.entry(column).or_insert_with(|| {
                kept.push(atom);
                (kept.len() - 1) as u8
            })
        })
        .collect();
    kept.push(characters);
    kept.extend(tells_final.then_some(usize::from(alphabet.final_line_feed)));
    alphabet.join(&joined, kept.len());
    moves.iter().map(|row| kept.iter().map(|&atom| row[atom]).collect()).collect()
}

/// For each state, whether some text makes it die without a match.
fn may_fail(moves: &[Vec<Move>]) -> Vec<bool> {
    let mut from: Vec<Vec<usize>> = vec![Vec::new(); moves.len()];
    for (state, row) in moves.iter().enumerate() {
        row.iter().filter(|to| !to.matched).for_each(|to| from[usize::from(to.next)].push(state));
    }
    let mut may_fail = vec![false; moves.len()];
    let mut found = vec![usize::from(DEAD)];
    while let Some(state) = found.pop() {
        if !std::mem::replace(&mut may_fail[state], true) {
            found.append(&mut from[state]);
        }
    }
    may_fail
}

/// All sets of an expression; for one that tests for a final line feed, also the set of the line feed.
pub fn sets(expression: &Expression) -> Vec<CharSet> {
    let mut found = Vec::new();
    visit(expression, &mut |part| match part {
        Expression::Set(set) => found.push(set.clone()),
        Expression::End { before_line_feed: true } => found.push(CharSet::of('\n')),
        _ => {}
    });
    found
}

pub fn has_final_line_feed(expression: &Expression) -> bool {
    let mut found = false;
    visit(expression, &mut |part| found |= matches!(part, Expression::End { before_line_feed: true }));
    found
}

fn visit(expression: &Expression, see: &mut impl FnMut(&Expression)) {
    see(expression);
    expression.parts().iter().for_each(|part| visit(part, see));
}

/// A node of the graph.
pub enum Node {
    /// Consume one character of these atoms.
    Take(Atoms, usize),
    /// Go on if one of these atoms follows.
    Look(Atoms, usize),
    /// Go on if what follows can be matched from the node `part`, or if it cannot.
    Ahead { part: usize, negated: bool, next: usize },
    /// Continue at each of these nodes, in the order of preference.
    Split(Vec<usize>),
    /// The pattern has matched.
    Match,
}

/// The graph of a pattern.
pub struct Net<'a> {
    pub nodes: Vec<Node>,
    pub entry: usize,
    alphabet: &'a Alphabet,
    /// Whether there is no match where the preferred one is empty.
    is_atomic: bool,
}

impl<'a> Net<'a> {
    pub fn new(expression: &Expression, alphabet: &'a Alphabet) -> Option<Self> {
        let is_atomic = matches!(expression, Expression::Atomic(_));
        let mut net = Self { nodes: vec![Node::Match], entry: 0, alphabet, is_atomic };
        // If the empty text matches, the search for a longer match backtracks.
        net.entry = net.add(expression, 0, net.is_atomic || !expression.can_be_empty())?;
        Some(net)
    }

    fn push(&mut self, node: Node) -> Option<usize> {
        self.nodes.push(node);
        (self.nodes.len() <= MAX_NODES).then_some(self.nodes.len() - 1)
    }

    /// Add the nodes of a part that is followed by `next`, and return the first. A part is `last` if whatever follows it
    /// always matches, so that no backtracking into it ever happens.
    fn add(&mut self, expression: &Expression, next: usize, last: bool) -> Option<usize> {
        match expression {
            Expression::Set(set) => self.push(Node::Take(self.alphabet.members(set), next)),
            Expression::Sequence(parts) => {
                let mut next = next;
                let mut last = last;
                for part in parts.iter().rev() {
                    next = self.add(part, next, last)?;
                    last &= part.always_matches();
                }
                Some(next)
            }
            Expression::Choice(parts) => {
                let ways = parts.iter().map(|part| self.add(part, next, last)).collect::<Option<_>>()?;
                self.push(Node::Split(ways))
            }
            Expression::Repeat { part, least, most, greed: Greed::Possessive } => {
                self.add_possessive(part, *least, *most, next, last)
            }
            Expression::Repeat { part, least, most, greed } => {
                self.add_repeat(part, *least, *most, *greed == Greed::Lazy, next)
            }
            Expression::Ahead { part, negated } => {
                if let Some(follows) = self.first_atoms(part) {
                    let allowed = if *negated { self.alphabet.everything() & !follows } else { follows };
                    return self.push(Node::Look(allowed, next));
                }
                let part = self.add(part, 0, true)?;
                self.push(Node::Ahead { part, negated: *negated, next })
            }
            Expression::End { .. } => {
                let allowed = self.first_atoms(expression)?;
                self.push(Node::Look(allowed, next))
            }
            Expression::Atomic(part) if last => self.add(part, next, true),
            Expression::Atomic(part) => match &**part {
                Expression::Set(_) => self.add(part, next, false),
                Expression::Repeat { part, least, most, greed: Greed::Greedy | Greed::Possessive } => {
                    self.add_possessive(part, *least, *most, next, false)
                }
                _ => None,
            },
            Expression::Start | Expression::Behind { .. } => None,
            Expression::Group(..) | Expression::Reference(_) => None,
        }
    }

    /// `X{least,most}`, and lazily `X{least,most}?`.
    fn add_repeat(
        &mut self,
        part: &Expression,
        least: u32,
        most: Option<u32>,
        lazy: bool,
        next: usize,
    ) -> Option<usize> {
        let ways = |again, next| if lazy { vec![next, again] } else { vec![again, next] };
        let mut entry = next;
        let mut copies = least;
        if let Some(most) = most {
            // Backtracking machines do not repeat a part that has matched nothing.
            if most > least.saturating_add(1) && part.can_be_empty() {
                return None;
            }
            for _ in least..most {
                let again = self.add(part, entry, false)?;
                entry = self.push(Node::Split(ways(again, next)))?;
            }
        } else {
            // A loop over the empty text has no equivalent in backtracking machines.
            if part.can_be_empty() {
                return None;
            }
            let split = self.push(Node::Split(Vec::new()))?;
            let again = self.add(part, split, false)?;
            self.nodes[split] = Node::Split(ways(again, next));
            entry = if least == 0 { split } else { again };
            copies = copies.saturating_sub(1);
        }
        for _ in 0..copies {
            entry = self.add(part, entry, false)?;
        }
        Some(entry)
    }

    /// `X{least,most}+` of a set: either `most` characters, or fewer followed by another character.
    fn add_possessive(
        &mut self,
        part: &Expression,
        least: u32,
        most: Option<u32>,
        next: usize,
        last: bool,
    ) -> Option<usize> {
        if last {
            return self.add_repeat(part, least, most, false, next);
        }
        let Expression::Set(set) = part else { return None };
        let others = self.alphabet.everything() & !self.alphabet.members(set);
        let ended = self.push(Node::Look(others, next))?;
        match most {
            None => self.add_repeat(part, least, None, false, ended),
            Some(0) => Some(next),
            Some(most) if most <= least => self.add_repeat(part, most, Some(most), false, next),
            Some(most) => {
                let all = self.add_repeat(part, most, Some(most), false, next)?;
                let fewer = self.add_repeat(part, least, Some(most - 1), false, ended)?;
                self.push(Node::Split(vec![all, fewer]))
            }
        }
    }

    /// The atoms at which a look-ahead succeeds, if it depends on the next character only.
    fn first_atoms(&self, expression: &Expression) -> Option<Atoms> {
        match expression {
            Expression::Set(set) => Some(self.alphabet.members(set)),
            Expression::Choice(parts) => {
                parts.iter().try_fold(0, |atoms, part| Some(atoms | self.first_atoms(part)?))
            }
            Expression::Repeat { least: 0, .. } => Some(self.alphabet.everything()),
            Expression::Repeat { part, least: 1, .. } | Expression::Atomic(part) => self.first_atoms(part),
            Expression::Ahead { part, negated } => {
                let follows = self.first_atoms(part)?;
                Some(if *negated { self.alphabet.everything() & !follows } else { follows })
            }
            Expression::End { before_line_feed } => {
                let line_feed = Atoms::from(*before_line_feed) << self.alphabet.final_line_feed;
                Some(1 << self.alphabet.end | line_feed)
            }
            Expression::Sequence(parts) => {
                let mut atoms = self.alphabet.everything();
                for part in parts {
                    atoms &= self.first_atoms(part)?;
                    let takes = !matches!(part, Expression::Ahead { .. } | Expression::End { .. });
                    if takes {
                        // One character decides only if all that follows it is optional.
                        let rest = &parts[1 + parts.iter().position(|other| std::ptr::eq(other, part))?..];
                        let free = |part: &Expression| matches!(part, Expression::Repeat { least: 0, .. });
                        return (!part.can_be_empty() && rest.iter().all(free)).then_some(atoms);
                    }
                }
                Some(atoms)
            }
            _ => None,
        }
    }

    /// Add to `list` the nodes other than splits that are reachable from a node, in the order of preference, up to a
    /// match.
    fn close(&self, node: usize, list: &mut Vec<usize>, seen: &mut [bool]) -> bool {
        if std::mem::replace(&mut seen[node], true) {
            return false;
        }
        match &self.nodes[node] {
            Node::Split(ways) => ways.iter().any(|&way| self.close(way, list, seen)),
            kind => {
                list.push(node);
                matches!(kind, Node::Match)
            }
        }
    }

    /// Build all states and their transitions (the subset construction).
    fn states(&self) -> Option<Vec<Vec<Move>>> {
        if self.nodes.iter().any(|node| matches!(node, Node::Ahead { .. })) {
            return None;
        }
        let mut number: HashMap<Vec<usize>, u16> = HashMap::from([(Vec::new(), DEAD)]);
        let dead = Move { matched: false, next: DEAD };
        let mut moves = vec![vec![dead; self.alphabet.count]];
        let mut lists: Vec<Vec<usize>> = vec![Vec::new(), self.start()];
        let mut visits = 0;
        while let Some(list) = lists.get(moves.len()).cloned() {
            let at_start = moves.len() == usize::from(START);
            let mut row = Vec::with_capacity(self.alphabet.count);
            for atom in 0..self.alphabet.count {
                let mut way = NetStep {
                    net: self,
                    atom: 1 << atom,
                    at_start,
                    next: Vec::new(),
                    ended: false,
                    taken: vec![false; self.nodes.len()],
                    looked: vec![false; self.nodes.len()],
                    visits: self.nodes.len() / 16,
                };
                let matched = list.iter().any(|&node| way.go(node)) && !at_start;
                visits += way.visits;
                if visits > MAX_VISITS {
                    return None;
                }
                let NetStep { next, .. } = way;
                let next = match number.get(&next) {
                    Some(&known) => known,
                    None => {
                        let new = lists.len() as u16;
                        lists.push(next.clone());
                        number.insert(next, new);
                        new
                    }
                };
                row.push(Move { matched, next });
            }
            moves.push(row);
            if lists.len() > MAX_STATES {
                return None;
            }
        }
        Some(moves)
    }

    /// The nodes of the start state. An empty match does not count.
    fn start(&self) -> Vec<usize> {
        self.closed(self.entry, true)
    }

    /// The nodes other than splits that are reachable from a node: at the start, a match is not empty, so those after an
    /// empty one are reachable, too.
    fn closed(&self, node: usize, at_start: bool) -> Vec<usize> {
        let (mut list, mut seen) = (Vec::new(), vec![false; self.nodes.len()]);
        if at_start && !self.is_atomic {
            self.close_past_matches(node, &mut list, &mut seen);
        } else {
            self.close(node, &mut list, &mut seen);
        }
        list
    }

    fn close_past_matches(&self, node: usize, list: &mut Vec<usize>, seen: &mut [bool]) {
        if std::mem::replace(&mut seen[node], true) {
            return;
        }
        match &self.nodes[node] {
            Node::Split(ways) => ways.iter().for_each(|&way| self.close_past_matches(way, list, seen)),
            Node::Match => {}
            Node::Take(..) | Node::Look(..) | Node::Ahead { .. } => list.push(node),
        }
    }
}

/// One step from a list of nodes at an atom.
struct NetStep<'a> {
    net: &'a Net<'a>,
    atom: Atoms,
    at_start: bool,
    next: Vec<usize>,
    /// Whether the next list ends with a match.
    ended: bool,
    taken: Vec<bool>,
    looked: Vec<bool>,
    /// The number of nodes that were looked at.
    visits: usize,
}

impl NetStep<'_> {
    /// Continue from a node; returns true at a match, which ends the list.
    fn go(&mut self, node: usize) -> bool {
        self.visits += 1;
        #[cfg(test)]
        super::tests::count_steps(1);
        match self.net.nodes[node] {
            Node::Match => true,
            Node::Take(atoms, next) => {
                if atoms & self.atom != 0 && !self.ended {
                    let before = self.next.len();
                    self.ended = self.net.close(next, &mut self.next, &mut self.taken);
                    self.visits += self.next.len() - before;
                }
                false
            }
            Node::Look(atoms, next) => {
                if atoms & self.atom == 0 || std::mem::replace(&mut self.looked[node], true) {
                    return false;
                }
                self.visits += self.net.nodes.len() / 16;
                self.net.closed(next, self.at_start).into_iter().any(|node| self.go(node))
            }
            Node::Split(_) | Node::Ahead { .. } => false,
        }
    }
}

/// Minimize the automaton, unless that takes long: states with the same behaviour become one.
fn smallest(moves: Vec<Vec<Move>>, width: usize) -> (Vec<Vec<Move>>, usize) {
    let mut class: Vec<u16> = vec![0; moves.len()];
    let (mut count, mut compared) = (1, 0);
    loop {
        compared += moves.len() * width;
        #[cfg(test)]
        super::tests::count_steps(moves.len() * width);
        if compared > MAX_COMPARED {
            let count = moves.len();
            return (moves, count);
        }
        let mut numbers: HashMap<(u16, Vec<Move>), u16> = HashMap::new();
        let mut refined = Vec::with_capacity(moves.len());
        for (state, row) in moves.iter().enumerate() {
            let seen = row.iter().map(|to| Move { next: class[usize::from(to.next)], ..*to }).collect();
            // The dead state and the start keep their numbers: no other state is merged with either.
            let own = if state == usize::from(START) { u16::MAX } else { class[state] };
            let next = numbers.len() as u16;
            refined.push(*numbers.entry((own, seen)).or_insert(next));
        }
        let found = numbers.len();
        class = refined;
        if found == count {
            break;
        }
        count = found;
    }
    let mut rows = vec![vec![Move { matched: false, next: DEAD }; width]; count];
    for (state, row) in moves.iter().enumerate() {
        rows[usize::from(class[state])] =
            row.iter().map(|to| Move { next: class[usize::from(to.next)], ..*to }).collect();
    }
    (rows, count)
}
