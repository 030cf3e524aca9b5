//! The [graph](Graph) of a pattern over its alphabet: what a node allows is a set of atoms.
//!
//! It has no atomic groups and nothing that looks back. A look-ahead that the next character
//! decides becomes a test of that character.

use super::alphabet::{Alphabet, Atoms};
use super::graph::{Graph, Node};

/// How many nodes of a look-ahead are looked at to tell whether one character decides it.
const MOST_LOOKED_AT: usize = 1000;

/// A node of the net; it has the number of the graph's node.
pub enum NetNode {
    /// Consume one character of these atoms.
    Take(Atoms, usize),
    /// Go on if one of these atoms follows.
    Look(Atoms, usize),
    /// Go on if what follows can be matched from the node `part`, or if it cannot.
    Ahead { part: usize, negated: bool, next: usize },
    /// Continue at each of these nodes, in the order of preference.
    Split(Vec<usize>),
    /// The pattern, or a part, has matched.
    Match,
}

pub struct Net {
    pub nodes: Vec<NetNode>,
    pub entry: usize,
    /// Whether there is no match where the preferred one is empty.
    pub is_atomic: bool,
}

impl Net {
    /// Builds the net of a graph, if it can have one.
    pub fn new(graph: &Graph, alphabet: &Alphabet) -> Option<Self> {
        let nodes = Vec::with_capacity(graph.nodes.len());
        let mut net = Self { nodes, entry: graph.entry, is_atomic: graph.is_atomic };
        let everything = alphabet.everything();
        for node in &graph.nodes {
            let node = match node {
                Node::Match => NetNode::Match,
                Node::Take { set, next } => NetNode::Take(alphabet.members[*set], *next),
                Node::Split { ways, .. } => NetNode::Split(ways.clone()),
                Node::Look { part, back: 0, negated, next } => {
                    let mut budget = MOST_LOOKED_AT;
                    let (matching, failing) = net.decided(*part, everything, &mut budget);
                    if matching | failing == everything {
                        NetNode::Look(if *negated { failing } else { matching }, *next)
                    } else {
                        NetNode::Ahead { part: *part, negated: *negated, next: *next }
                    }
                }
                Node::End { before_line_feed, next } => {
                    let line_feed = Atoms::from(*before_line_feed) << alphabet.final_line_feed;
                    NetNode::Look(1 << alphabet.end | line_feed, *next)
                }
                _ => return None,
            };
            net.nodes.push(node);
        }
        Some(net)
    }

    /// Returns the next atoms with which a node certainly leads to a match, and those with which it
    /// does not.
    fn decided(&self, node: usize, everything: Atoms, budget: &mut usize) -> (Atoms, Atoms) {
        if *budget == 0 {
            return (0, 0);
        }
        *budget -= 1;
        match &self.nodes[node] {
            NetNode::Match => (everything, 0),
            NetNode::Take(atoms, next) => {
                let matches = |node: usize| matches!(self.nodes[node], NetNode::Match);
                let may_stop = match &self.nodes[*next] {
                    NetNode::Split(ways) => ways.iter().any(|way| matches(*way)),
                    _ => matches(*next),
                };
                (if may_stop { *atoms } else { 0 }, everything & !atoms)
            }
            NetNode::Look(atoms, next) => {
                let (matching, failing) = self.decided(*next, everything, budget);
                (matching & atoms, failing | everything & !atoms)
            }
            NetNode::Ahead { .. } => (0, 0),
            NetNode::Split(ways) => {
                let mut matching = 0;
                let mut failing = everything;
                for way in ways {
                    let (way_matching, way_failing) = self.decided(*way, everything, budget);
                    matching |= way_matching;
                    failing &= way_failing;
                }
                (matching, failing)
            }
        }
    }
}
