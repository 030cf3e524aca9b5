//! Finds matches with the text behind in view: no way is tried in vain.
//!
//! A *view* tells, for each node of the [net](Net) of a pattern, whether what follows a place can
//! be matched from it. It depends on the next character and the view behind that; so views are
//! found from the end of a text backwards, by one table lookup for each character, however far a
//! look-ahead may go. Most characters tell the view before them whatever follows, and one need not
//! begin further back than there. With the views, a match takes at each place the first way that
//! will succeed.

use std::collections::HashMap;

use super::alphabet::{Alphabet, Atoms, MOST_ATOMS};
use super::automaton::PartialMatch;
use super::graph::Graph;
use super::net::{Net, NetNode};

/// The maximum numbers of nodes and of views.
const MAX_NODES: usize = 128;
const MAX_VIEWS: usize = 255;

/// The ways from nodes that have matched, and from those that cannot.
const MATCHED: u8 = 0xFF;
const FAILED: u8 = 0xFE;

/// The view at the end of the text.
const AT_END: u8 = 0;

/// The view for each node.
pub type View = Vec<bool>;

/// The views before characters and the ways, as [`Views`] has them.
type ViewTables = (Vec<[u8; MAX_VIEWS + 1]>, Vec<[u8; MAX_NODES]>);

/// The views of a pattern.
pub struct Views {
    pub alphabet: Alphabet,
    entry: u8,
    /// For each atom and view, the view before a character with this atom.
    before: Vec<[u8; MAX_VIEWS + 1]>,
    /// For each atom, the view before it, if it is the same whatever follows.
    certain: Vec<Option<u8>>,
    /// For each view and node, the node behind the next character.
    ways: Vec<[u8; MAX_NODES]>,
}

impl Views {
    /// Finds the views of a pattern, if it has few.
    pub fn new(graph: &Graph) -> Option<Self> {
        let alphabet =
            Alphabet::new(&graph.sets).filter(|alphabet| alphabet.count <= MOST_ATOMS)?;
        let is_small = graph.nodes.len() <= MAX_NODES;
        if !is_small || graph.can_be_empty || graph.has_final_line_feed() {
            return None;
        }
        let net = Net::new(graph, &alphabet)?;
        let (before, ways) = net.tables(alphabet.end)?;
        let mut certain = Vec::new();
        for before in &before {
            let all = &before[..ways.len()];
            let is_certain = all.iter().all(|view| *view == all[0]);
            certain.push(is_certain.then_some(all[0]));
        }
        Some(Self { entry: net.entry as u8, certain, before, ways, alphabet })
    }

    /// Whether a match may begin at the first of two characters.
    pub fn may_begin(&self, at: u8, next: u8) -> bool {
        let before_at = &self.before[usize::from(at)];
        let may_match = |view: u8| {
            let view = before_at[usize::from(view)];
            self.ways[usize::from(view)][usize::from(self.entry)] != FAILED
        };
        match self.before.get(usize::from(next)) {
            // Whatever view is behind the second one.
            Some(before_next) => before_next[..self.ways.len()].iter().any(|view| may_match(*view)),
            None => may_match(AT_END),
        }
    }

    /// Finds the match that begins at a place, in a piece that is known up to `end`; `has_end` says
    /// whether it ends there. No later call is about an earlier piece.
    pub fn match_at<const N: usize>(
        &self,
        Viewed { known, until }: &mut Viewed<N>,
        place: usize,
        (end, has_end): (usize, bool),
        atom: impl Fn(usize) -> usize,
    ) -> PartialMatch {
        let mut node = self.entry;
        for at in place.. {
            if at >= *until {
                // Find the views up to the next one that is certain.
                let certain = |at: usize| self.certain[atom(at)].map(|view| (at, view));
                let last = (at..end).find_map(certain).or(has_end.then_some((end, AT_END)));
                let Some((last, mut view)) = last else { return PartialMatch::GoesOn };
                // From there back, each view tells the one before it.
                known[last] = view;
                for before in (at..last).rev() {
                    view = self.before[atom(before)][usize::from(view)];
                    known[before] = view;
                }
                // Another piece begins at the end.
                *until = end.min(last + 1);
            }
            node = self.ways[usize::from(known[at])][usize::from(node)];
            match node {
                FAILED => return PartialMatch::Nothing,
                MATCHED => return PartialMatch::End(at - place),
                _ => {}
            }
        }
        PartialMatch::GoesOn
    }
}

impl Net {
    fn tables(&self, end: u8) -> Option<ViewTables> {
        let nothing = vec![false; self.nodes.len()];
        let mut views = vec![self.view(end, &nothing)];
        let mut number = HashMap::from([(views[0].clone(), AT_END)]);
        let mut before = vec![[AT_END; MAX_VIEWS + 1]; usize::from(end)];
        let mut ways = Vec::new();
        while let Some(view) = views.get(ways.len()).cloned() {
            for (atom, before) in before.iter_mut().enumerate() {
                let new = views.len() as u8;
                let view_before = self.view(atom as u8, &view);
                before[ways.len()] = *number.entry(view_before).or_insert_with_key(|view| {
                    views.push(view.clone());
                    new
                });
                if views.len() > MAX_VIEWS {
                    return None;
                }
            }
            ways.push(std::array::from_fn(|node| self.way(node, &view)));
        }
        Some((before, ways))
    }

    /// Returns the view before a character, from the view behind it.
    pub fn view(&self, atom: u8, behind: &View) -> View {
        let mut memo = vec![None; self.nodes.len()];
        (0..memo.len()).map(|node| self.matches(node, 1 << atom, behind, &mut memo)).collect()
    }

    fn matches(&self, node: usize, atom: Atoms, behind: &View, memo: &mut [Option<bool>]) -> bool {
        if let Some(matches) = memo[node] {
            return matches;
        }
        let matches = match &self.nodes[node] {
            NetNode::Match => true,
            NetNode::Take(atoms, next) => atoms & atom != 0 && behind[*next],
            NetNode::Look(atoms, next) => {
                atoms & atom != 0 && self.matches(*next, atom, behind, memo)
            }
            NetNode::Split(ways) => ways.iter().any(|way| self.matches(*way, atom, behind, memo)),
            NetNode::Ahead { part, negated, next } => {
                let holds = self.matches(*part, atom, behind, memo) != *negated;
                holds && self.matches(*next, atom, behind, memo)
            }
        };
        memo[node] = Some(matches);
        matches
    }

    /// Returns the node behind the next character.
    fn way(&self, node: usize, view: &View) -> u8 {
        if view.get(node) != Some(&true) {
            return FAILED;
        }
        match &self.nodes[node] {
            NetNode::Match => MATCHED,
            NetNode::Take(_, next) => *next as u8,
            NetNode::Look(_, next) | NetNode::Ahead { next, .. } => self.way(*next, view),
            // The first that will succeed.
            NetNode::Split(ways) => match ways.iter().find(|way| view[**way]) {
                Some(way) => self.way(*way, view),
                None => FAILED,
            },
        }
    }
}

/// The views within pieces, at up to `N` places.
pub struct Viewed<const N: usize> {
    pub known: [u8; N],
    /// The first place whose view is not known.
    pub until: usize,
}
