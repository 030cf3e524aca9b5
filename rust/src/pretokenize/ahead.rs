//! Look-ahead of any length as a property of characters: atoms that tell what follows.
//!
//! Whether a look-ahead holds at a place depends on the characters behind it alone. So a text is read from its end
//! backwards by a small table, as for [views](super::views), and each character gets an atom that says which look-aheads
//! hold before it. Over these atoms, a look-ahead is a test of the next character, so the pattern has an automaton and local
//! rules like others. With `\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))`, digits have two atoms: of those before which the rest of
//! the digits are groups of three, and of the others.
//!
//! ```text
//!     text       a 1 2 3 4 5 6 7 b
//!     holds      x . . . . x . . x      (x: the look-ahead holds before the character)
//! ```
//!
//! Before most characters, it holds or not whatever follows. Only the others, such as digits, are *open*: from the next
//! character that is not, one lookup for each finds their atoms. So a text without them costs a test for each 64 characters.
//!
//! The automaton accepts atoms in any order, also such as no text has. That costs a few terms, and changes no result.

use std::collections::HashMap;
use std::sync::Arc;

use super::alphabet::{Alphabet, Atoms, MOST_ATOMS};
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
    /// For each atom: the view before it, whatever follows.
    certain: [Option<u8>; MOST_ATOMS],
    /// For an open atom and each view behind it: its view, and the atom that it becomes.
    before: Vec<[(u8, u8); MAX_VIEWS]>,
    /// For each atom, whether it is open.
    pub is_open: [u8; MOST_ATOMS],
}

impl Ahead {
    /// The automaton of a pattern that looks ahead, if it can have one.
    #[expect(clippy::large_stack_frames, reason = "patterns are compiled on a large stack")]
    pub fn new(graph: &Graph) -> Option<Self> {
        if graph.nodes.len() > MAX_NODES || graph.has_final_line_feed() {
            return None;
        }
        let mut alphabet = Alphabet::new(&graph.sets).filter(|alphabet| alphabet.count <= MOST_ATOMS)?;
        let net = Net::new(graph, &alphabet)?;
        let characters = usize::from(alphabet.end);
        let parts = net.looked_ahead();
        if parts.is_empty() {
            return None;
        }
        let (views, before) = net.views_ahead(&parts, alphabet.end)?;
        let truths = |view: usize| -> Vec<bool> { parts.iter().map(|part| views[view][*part]).collect() };
        let certain: Vec<Option<u8>> = before
            .iter()
            .map(|views| views.iter().all(|view| *view == views[0]).then_some(views[0]))
            .collect();

        // The atoms of characters keep their numbers; others with the same characters follow.
        let mut atoms: Vec<(usize, Vec<bool>)> =
            (0..characters).map(|atom| (atom, truths(before[atom][0].into()))).collect();
        let mut becomes: Vec<Vec<u8>> = Vec::new();
        for (atom, views) in before.iter().enumerate() {
            let mut of_atom = Vec::new();
            for view in views {
                let told = (atom, truths(usize::from(*view)));
                let place = atoms.iter().position(|known| *known == told).unwrap_or(atoms.len());
                if place == atoms.len() {
                    atoms.push(told);
                }
                of_atom.push(place as u8);
            }
            becomes.push(of_atom);
        }
        if atoms.len() + 2 > MOST_ATOMS {
            return None;
        }
        let end = atoms.len();
        let telling = |of: Atoms, holds: &dyn Fn(&[bool]) -> bool| -> Atoms {
            let mut found = Atoms::from(of >> characters & 1 != 0 && holds(&truths(AT_END.into()))) << end;
            for (number, (atom, truths)) in atoms.iter().enumerate() {
                found |= Atoms::from(of >> atom & 1 != 0 && holds(truths)) << number;
            }
            found
        };
        let net = net.told(&parts, telling);
        alphabet.end = end as u8;
        alphabet.final_line_feed = end as u8 + 1;
        alphabet.count = end + 2;

        // What is open is not joined with others, nor are characters with different views before them.
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
            let become_joined: Vec<u8> =
                becomes[atom].iter().map(|told| joined[usize::from(*told)]).collect();
            for (behind, (view, told)) in before[atom].iter().zip(&become_joined).enumerate() {
                this.before[number][behind] = (*view, *told);
            }
            this.is_open[number] = 1;
            this.open.push((joined[atom], become_joined));
        }
        Some(this)
    }

    /// The atoms that characters of ASCII may become.
    pub fn plain(&self) -> u32 {
        let plain = self.automaton.alphabet.plain();
        let open = self.open.iter().filter(|(atom, _)| plain >> atom & 1 != 0);
        open.flat_map(|(_, told)| told).fold(plain, |all, told| all | 1 << told)
    }

    /// Give open characters their atoms, from the last one back to the first of several in succession: `places` are theirs,
    /// and what is behind the last one is known, perhaps that the text ends.
    #[inline]
    pub fn tell(&self, atoms: &mut [u8], behind: Option<u8>) {
        let behind = behind.map_or(Some(AT_END), |atom| self.certain[usize::from(atom) % MOST_ATOMS]);
        let mut view = behind.unwrap_or(AT_END);
        for atom in atoms.iter_mut().rev() {
            let (before, told) = self.before[usize::from(*atom) % MOST_ATOMS][usize::from(view) % MAX_VIEWS];
            view = before;
            *atom = told;
        }
    }

    /// What a cut at a place does: if it changes no answer about what follows a place before it, what the automaton says.
    pub fn cut_effect(&self, text: &[u8], place: usize) -> CutEffect {
        let alphabet = &self.automaton.alphabet;
        let (after, end) = alphabet.at(text, place);
        let before = alphabet.before(text, place).filter(|_| place < text.len() && end <= text.len());
        let Some(before) = before.filter(|before| self.certain[usize::from(*before)].is_some()) else {
            return CutEffect::Unknown;
        };
        let open = self.open.iter().find(|(atom, _)| *atom == after);
        let after = open.map_or(vec![after], |(_, told)| told.clone());
        let effects: Vec<CutEffect> =
            after.iter().map(|after| self.automaton.cut_between(before, *after)).collect();
        match effects {
            effects if effects.contains(&CutEffect::Unknown) => CutEffect::Unknown,
            effects if effects.contains(&CutEffect::PartsGap) => CutEffect::PartsGap,
            _ => CutEffect::Nothing,
        }
    }
}

impl Net {
    /// The nodes at which parts begin that are looked ahead for.
    fn looked_ahead(&self) -> Vec<usize> {
        let part = |node: &NetNode| match node {
            NetNode::Ahead { part, .. } => Some(*part),
            _ => None,
        };
        let mut parts: Vec<usize> = self.nodes.iter().filter_map(part).collect();
        parts.sort_unstable();
        parts.dedup();
        parts
    }

    /// All views of some parts, the first of which is at the end of the text; and for each atom and view, the one before it.
    fn views_ahead(&self, parts: &[usize], end: u8) -> Option<(Vec<View>, Vec<Vec<u8>>)> {
        let mut is_used = vec![false; self.nodes.len()];
        let mut left = parts.to_vec();
        while let Some(node) = left.pop() {
            if std::mem::replace(&mut is_used[node], true) {
                continue;
            }
            match &self.nodes[node] {
                NetNode::Match => {}
                NetNode::Take(_, next) | NetNode::Look(_, next) => left.push(*next),
                NetNode::Ahead { part, next, .. } => left.extend([*part, *next]),
                NetNode::Split(ways) => left.extend(ways),
            }
        }
        let view = |atom: u8, behind: &View| -> View {
            self.view(atom, behind).iter().zip(&is_used).map(|(matches, used)| *matches && *used).collect()
        };
        let mut views = vec![view(end, &vec![false; self.nodes.len()])];
        let mut number = HashMap::from([(views[0].clone(), AT_END)]);
        let mut before = vec![Vec::new(); usize::from(end)];
        let mut done = 0;
        while let Some(behind) = views.get(done).cloned() {
            for (atom, before) in before.iter_mut().enumerate() {
                let found = view(atom as u8, &behind);
                let new = views.len();
                before.push(*number.entry(found).or_insert_with_key(|found| {
                    views.push(found.clone());
                    new as u8
                }));
                if views.len() > MAX_VIEWS {
                    return None;
                }
            }
            done += 1;
        }
        Some((views, before))
    }

    /// The same net over atoms that tell which parts follow: `telling` gives those of some characters.
    fn told(&self, parts: &[usize], telling: impl Fn(Atoms, &dyn Fn(&[bool]) -> bool) -> Atoms) -> Self {
        let nodes = self.nodes.iter().map(|node| match node {
            NetNode::Take(atoms, next) => NetNode::Take(telling(*atoms, &|_| true), *next),
            NetNode::Look(atoms, next) => NetNode::Look(telling(*atoms, &|_| true), *next),
            NetNode::Ahead { part, negated, next } => {
                let index = parts.iter().position(|known| known == part).unwrap_or(0);
                NetNode::Look(telling(Atoms::MAX, &|truths| truths[index] != *negated), *next)
            }
            NetNode::Split(ways) => NetNode::Split(ways.clone()),
            NetNode::Match => NetNode::Match,
        });
        Self { nodes: nodes.collect(), entry: self.entry, is_atomic: self.is_atomic }
    }
}
