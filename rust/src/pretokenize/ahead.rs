//! Look-ahead of any length as a property of characters: atoms that tell what follows.
//!
//! Whether a look-ahead holds at a place depends on the characters behind it alone. So a text is
//! read from its end backwards by a small table, as for [views](super::views), and each character
//! gets an atom that *answers* which look-aheads hold before it. Over these atoms, a look-ahead is
//! a test of the next character, so the pattern has an automaton and local rules like others. With
//! `\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))`, digits have two atoms: of those before which the rest of
//! the digits are groups of three, and of the others.
//!
//! ```text
//!     text       a 1 2 3 4 5 6 7 b
//!     holds      x . . . . x . . x      (x: the look-ahead holds before the character)
//! ```
//!
//! Before most characters, it holds or not whatever follows. Only the others, such as digits, are
//! *open*: from the next character that is not, one lookup for each finds their atoms. So a text
//! without them costs a test for each 64 characters.
//!
//! The automaton accepts atoms in any order, also such as no text has. That costs a few terms, and
//! changes no result.

use std::collections::HashMap;
use std::sync::Arc;

use super::alphabet::{Alphabet, Atoms, MOST_ATOMS, place_in};
use super::automaton::{Automaton, CutEffect};
use super::graph::Graph;
use super::net::{Net, NetNode};
use super::views::View;

/// The maximum number of different answers to what follows a place.
const MAX_VIEWS: usize = 64;

/// The maximum number of nodes of a pattern.
const MAX_NODES: usize = 512;

/// The view at the end of the text.
const AT_END: u8 = 0;

/// An automaton over atoms that tell what follows.
pub struct Ahead {
    /// Its alphabet knows one atom of each character: for an open one, the first of several.
    pub automaton: Arc<Automaton>,
    /// The atoms that are open, each with those it may become.
    open: Vec<(u8, Vec<u8>)>,
    /// For each atom: the view before it, if it is the same whatever follows.
    certain: [Option<u8>; MOST_ATOMS],
    /// For an open atom and each view behind it: its view, and the atom that it becomes.
    before: Vec<[(u8, u8); MAX_VIEWS]>,
    /// For each atom, whether it is open.
    pub is_open: [u8; MOST_ATOMS],
}

impl Ahead {
    /// Builds the automaton of a pattern that looks ahead, if it can have one.
    #[expect(clippy::large_stack_frames, reason = "patterns are compiled on a large stack")]
    pub fn new(graph: &Graph) -> Option<Self> {
        if graph.nodes.len() > MAX_NODES || graph.has_final_line_feed() {
            return None;
        }
        let mut alphabet =
            Alphabet::new(&graph.sets).filter(|alphabet| alphabet.count <= MOST_ATOMS)?;
        let net = Net::new(graph, &alphabet)?;
        let characters = usize::from(alphabet.end);
        let parts = net.looked_ahead();
        if parts.is_empty() {
            return None;
        }
        let (views, before) = net.views_ahead(&parts, alphabet.end)?;
        let answers = |view: u8| -> Vec<bool> {
            let view = &views[usize::from(view)];
            parts.iter().map(|part| view[*part]).collect()
        };
        let mut certain = Vec::new();
        for views in &before {
            let is_certain = views.iter().all(|view| *view == views[0]);
            certain.push(is_certain.then_some(views[0]));
        }

        // The answering atoms. The atoms of characters keep their numbers; others of the same
        // characters follow.
        let mut atoms = Vec::new();
        for (atom, views) in before.iter().enumerate() {
            atoms.push((atom, answers(views[0])));
        }
        let mut becomes: Vec<Vec<u8>> = Vec::new();
        for (atom, views) in before.iter().enumerate() {
            let mut of_atom = Vec::new();
            for view in views {
                of_atom.push(place_in(&mut atoms, (atom, answers(*view))) as u8);
            }
            becomes.push(of_atom);
        }
        let end = atoms.len();
        if end + 2 > MOST_ATOMS {
            return None;
        }
        let answering = |members: Atoms, condition: &dyn Fn(&[bool]) -> bool| -> Atoms {
            let mut all: Atoms = 0;
            for (number, (atom, answers)) in atoms.iter().enumerate() {
                let fits = members >> atom & 1 != 0 && condition(answers);
                all |= Atoms::from(fits) << number;
            }
            let end_fits = members >> characters & 1 != 0 && condition(&answers(AT_END));
            all | Atoms::from(end_fits) << end
        };
        let net = net.over_answers(&parts, answering);
        alphabet.end = end as u8;
        alphabet.final_line_feed = end as u8 + 1;
        alphabet.count = end + 2;

        // What is open is not joined with others, nor are characters with different views before
        // them.
        let kind = |atom: usize| match certain.get(atom) {
            Some(Some(view)) => usize::from(*view),
            Some(None) => MAX_VIEWS + atom,
            None => usize::MAX,
        };
        let (automaton, joined) = Automaton::over(&net, alphabet, false, kind)?;
        let mut this = Self {
            automaton: Arc::new(automaton),
            open: Vec::new(),
            certain: [None; MOST_ATOMS],
            before: vec![[(0, 0); MAX_VIEWS]; MOST_ATOMS],
            is_open: [0; MOST_ATOMS],
        };
        for atom in 0..characters {
            let number = usize::from(joined[atom]);
            this.certain[number] = certain[atom];
            if certain[atom].is_some() {
                continue;
            }
            this.is_open[number] = 1;
            let mut becomes_joined = Vec::new();
            for (behind, &view) in before[atom].iter().enumerate() {
                let answering = joined[usize::from(becomes[atom][behind])];
                this.before[number][behind] = (view, answering);
                becomes_joined.push(answering);
            }
            this.open.push((joined[atom], becomes_joined));
        }
        Some(this)
    }

    /// Returns the atoms that characters of ASCII may become.
    pub fn plain(&self) -> u32 {
        let plain = self.automaton.alphabet.plain();
        let mut all = plain;
        for (atom, becomes) in &self.open {
            if plain >> atom & 1 == 0 {
                continue;
            }
            for answering in becomes {
                all |= 1 << answering;
            }
        }
        all
    }

    /// Gives open characters their atoms, from the last one back to the first of several in
    /// succession: `atoms` are theirs, and `behind` is the atom after the last one, which is
    /// certain, or none at the end of the text.
    #[inline]
    pub fn tell(&self, atoms: &mut [u8], behind: Option<u8>) {
        let behind =
            behind.map_or(Some(AT_END), |atom| self.certain[usize::from(atom) % MOST_ATOMS]);
        let mut view = behind.unwrap_or(AT_END);
        for atom in atoms.iter_mut().rev() {
            let before = &self.before[usize::from(*atom) % MOST_ATOMS];
            (view, *atom) = before[usize::from(view) % MAX_VIEWS];
        }
    }

    /// Says what a cut at a place does: if it changes no answer about what follows an earlier
    /// place, the automaton knows.
    pub fn cut_effect(&self, text: &[u8], place: usize) -> CutEffect {
        let alphabet = &self.automaton.alphabet;
        let (after, end) = alphabet.at(text, place);
        let Some(before) = alphabet.before(text, place) else { return CutEffect::Unknown };
        let is_within = place < text.len() && end <= text.len();
        if !is_within || self.certain[usize::from(before)].is_none() {
            return CutEffect::Unknown;
        }
        let open = self.open.iter().find(|(atom, _)| *atom == after);
        let may_follow = open.map_or(std::slice::from_ref(&after), |(_, becomes)| becomes);
        let mut effect = CutEffect::Nothing;
        for &after in may_follow {
            match self.automaton.cut_between(before, after) {
                CutEffect::Nothing => {}
                CutEffect::PartsGap => effect = CutEffect::PartsGap,
                CutEffect::Unknown => return CutEffect::Unknown,
            }
        }
        effect
    }
}

/// All views of some parts, the first of which is at the end of the text; and for each atom and
/// view, the one before it.
type ViewsAhead = (Vec<View>, Vec<Vec<u8>>);

impl Net {
    /// Returns the nodes at which parts begin that are looked ahead for.
    fn looked_ahead(&self) -> Vec<usize> {
        let mut parts = Vec::new();
        for node in &self.nodes {
            if let NetNode::Ahead { part, .. } = node {
                parts.push(*part);
            }
        }
        parts.sort_unstable();
        parts.dedup();
        parts
    }

    fn views_ahead(&self, parts: &[usize], end: u8) -> Option<ViewsAhead> {
        let is_used = self.reached_from(parts);
        let view = |atom: u8, behind: &View| -> View {
            let view = self.view(atom, behind);
            view.iter().zip(&is_used).map(|(matches, used)| *matches && *used).collect()
        };
        let mut views = vec![view(end, &vec![false; self.nodes.len()])];
        let mut number = HashMap::from([(views[0].clone(), AT_END)]);
        let mut before = vec![Vec::new(); usize::from(end)];
        let mut done = 0;
        while let Some(behind) = views.get(done).cloned() {
            for (atom, before) in before.iter_mut().enumerate() {
                let new = views.len() as u8;
                let view_before = view(atom as u8, &behind);
                before.push(*number.entry(view_before).or_insert_with_key(|view| {
                    views.push(view.clone());
                    new
                }));
                if views.len() > MAX_VIEWS {
                    return None;
                }
            }
            done += 1;
        }
        Some((views, before))
    }

    /// Returns for each node whether a way leads to it from one of these.
    fn reached_from(&self, nodes: &[usize]) -> Vec<bool> {
        let mut is_reached = vec![false; self.nodes.len()];
        let mut remaining = nodes.to_vec();
        while let Some(node) = remaining.pop() {
            if std::mem::replace(&mut is_reached[node], true) {
                continue;
            }
            match &self.nodes[node] {
                NetNode::Match => {}
                NetNode::Take(_, next) | NetNode::Look(_, next) => remaining.push(*next),
                NetNode::Ahead { part, next, .. } => remaining.extend([*part, *next]),
                NetNode::Split(ways) => remaining.extend(ways),
            }
        }
        is_reached
    }

    /// Returns the same net over answering atoms: `answering` gives those of some characters with a
    /// condition.
    fn over_answers(
        &self,
        parts: &[usize],
        answering: impl Fn(Atoms, &dyn Fn(&[bool]) -> bool) -> Atoms,
    ) -> Self {
        let nodes = self.nodes.iter().map(|node| match node {
            NetNode::Take(atoms, next) => NetNode::Take(answering(*atoms, &|_| true), *next),
            NetNode::Look(atoms, next) => NetNode::Look(answering(*atoms, &|_| true), *next),
            NetNode::Ahead { part, negated, next } => {
                let index = parts.iter().position(|other| other == part).unwrap_or(0);
                let holds = |answers: &[bool]| answers[index] != *negated;
                NetNode::Look(answering(Atoms::MAX, &holds), *next)
            }
            NetNode::Split(ways) => NetNode::Split(ways.clone()),
            NetNode::Match => NetNode::Match,
        });
        Self { nodes: nodes.collect(), entry: self.entry, is_atomic: self.is_atomic }
    }
}
