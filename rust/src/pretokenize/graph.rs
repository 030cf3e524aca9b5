//! A pattern as a graph, which all machines run.
//!
//! Nodes are added from the end of the pattern to its beginning, each with the node that follows
//! it. `a*b` becomes
//!
//! ```text
//!     split ──> take a ──┐         split: first try `take a`, then `take b`
//!       │ ^──────────────┘
//!       └─────> take b ──> match
//! ```
//!
//! What is repeated consumes something, so no way through the graph returns to a node at the same
//! place.

use std::collections::HashMap;

use super::expression::Expression;
use super::set::CharSet;

/// Where the pattern has matched.
pub const MATCHED: usize = 0;
/// Where a part in a look-around or an atomic group has matched.
pub const PART_MATCHED: usize = 1;

/// A node of the graph. `next` is the node that follows.
pub enum Node {
    /// The pattern, or a part, has matched.
    Match,
    /// Consume one character of the set with this number.
    Take { set: usize, next: usize },
    /// Try each of these nodes, in the order of preference. Splits are numbered.
    Split { ways: Vec<usize>, number: usize },
    /// Go on if the node `part` leads to a match, or if it does not, from `back` characters before.
    Look { part: usize, back: u32, negated: bool, next: usize },
    /// Consume what the node `part` matches first, and try nothing else.
    Atomic { part: usize, next: usize },
    /// Go on at the start of the text.
    Start { next: usize },
    /// Go on at its end.
    End { before_line_feed: bool, next: usize },
}

/// The graph of a pattern.
pub struct Graph {
    pub nodes: Vec<Node>,
    pub entry: usize,
    /// The distinct sets of characters.
    pub sets: Vec<CharSet>,
    /// The number of splits.
    pub splits: usize,
    /// How many characters before a place of a match there may be splits, in a look-behind.
    pub reach: u32,
    /// How many characters the look-behinds go back that are around the part that is being added.
    back: u32,
    /// Whether there is no match where the preferred one is empty.
    pub is_atomic: bool,
    pub can_be_empty: bool,
    numbers: HashMap<CharSet, usize>,
}

impl Graph {
    pub fn new(expression: &Expression) -> Self {
        let mut graph = Self {
            nodes: vec![Node::Match, Node::Match],
            entry: MATCHED,
            sets: Vec::new(),
            splits: 0,
            reach: 0,
            back: 0,
            is_atomic: matches!(expression, Expression::Atomic(_)),
            can_be_empty: expression.can_be_empty(),
            numbers: HashMap::new(),
        };
        // If the empty text matches, the search for a longer match backtracks.
        let last = graph.is_atomic || !graph.can_be_empty;
        graph.entry = graph.add(expression, MATCHED, last);
        graph
    }

    /// Whether the pattern tells a line feed at the end of the text from others.
    pub fn has_final_line_feed(&self) -> bool {
        self.nodes.iter().any(|node| matches!(node, Node::End { before_line_feed: true, .. }))
    }

    fn push(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn split(&mut self, ways: Vec<usize>) -> usize {
        self.splits += 1;
        self.push(Node::Split { ways, number: self.splits - 1 })
    }

    /// Adds the nodes of a part that is followed by others, and returns the first. A part is `last`
    /// if whatever follows it always matches, so that no backtracking into it ever happens.
    fn add(&mut self, expression: &Expression, next: usize, last: bool) -> usize {
        match expression {
            Expression::Set(set) => self.take(set, next),
            Expression::Sequence(parts) => {
                let mut next = next;
                let mut last = last;
                for part in parts.iter().rev() {
                    next = self.add(part, next, last);
                    last &= part.always_matches();
                }
                next
            }
            Expression::Choice(parts) => {
                let ways = parts.iter().map(|part| self.add(part, next, last)).collect();
                self.split(ways)
            }
            Expression::Atomic(part) => self.add_atomic(part, next, last),
            Expression::Repeat { part, least, most, lazy } => {
                self.add_repeat(part, *least, *most, *lazy, next)
            }
            Expression::Ahead { part, negated } => self.add_look(part, 0, *negated, next),
            Expression::Behind { part, length, negated } => {
                self.add_look(part, *length, *negated, next)
            }
            Expression::Start => self.push(Node::Start { next }),
            Expression::End { before_line_feed } => {
                if *before_line_feed {
                    self.number(&CharSet::of('\n'));
                }
                self.push(Node::End { before_line_feed: *before_line_feed, next })
            }
        }
    }

    fn take(&mut self, set: &CharSet, next: usize) -> usize {
        let set = self.number(set);
        self.push(Node::Take { set, next })
    }

    fn number(&mut self, set: &CharSet) -> usize {
        if let Some(&number) = self.numbers.get(set) {
            return number;
        }
        let number = self.sets.len();
        self.sets.push(set.clone());
        self.numbers.insert(set.clone(), number);
        number
    }

    fn add_look(&mut self, part: &Expression, back: u32, negated: bool, next: usize) -> usize {
        let splits_before = self.splits;
        self.back += back;
        let part = self.add(part, PART_MATCHED, true);
        if self.splits > splits_before {
            self.reach = self.reach.max(self.back);
        }
        self.back -= back;
        self.push(Node::Look { part, back, negated, next })
    }

    /// Adds `(?>X)`, and possessively `X{least,most}+`.
    fn add_atomic(&mut self, part: &Expression, next: usize, last: bool) -> usize {
        match part {
            Expression::Set(_) | Expression::Atomic(_) => self.add(part, next, last),
            _ if last => self.add(part, next, true),
            Expression::Repeat { part, least, most, lazy: false }
                if matches!(**part, Expression::Set(_)) =>
            {
                self.add_possessive(part, *least, *most, next)
            }
            _ => {
                let part = self.add(part, PART_MATCHED, true);
                self.push(Node::Atomic { part, next })
            }
        }
    }

    /// Adds `X{least,most}+` of a set: either `most` characters, or fewer that are not followed by
    /// another one.
    fn add_possessive(
        &mut self,
        part: &Expression,
        least: u32,
        most: Option<u32>,
        next: usize,
    ) -> usize {
        let another = self.add(part, PART_MATCHED, false);
        let ended = self.push(Node::Look { part: another, back: 0, negated: true, next });
        match most {
            None => self.add_repeat(part, least, None, false, ended),
            Some(most) if most <= least => self.add_repeat(part, most, Some(most), false, next),
            Some(most) => {
                let all = self.add_repeat(part, most, Some(most), false, next);
                let fewer = self.add_repeat(part, least, Some(most - 1), false, ended);
                self.split(vec![all, fewer])
            }
        }
    }

    /// Adds `X{least,most}`, and lazily `X{least,most}?`.
    fn add_repeat(
        &mut self,
        part: &Expression,
        least: u32,
        most: Option<u32>,
        lazy: bool,
        next: usize,
    ) -> usize {
        let ways =
            |again: usize, next: usize| if lazy { vec![next, again] } else { vec![again, next] };
        let mut entry = next;
        let mut copies = least;
        if let Some(most) = most {
            for _ in least..most {
                let again = self.add(part, entry, false);
                entry = self.split(ways(again, next));
            }
        } else {
            entry = self.split(Vec::new());
            let again = self.add(part, entry, false);
            if let Node::Split { ways: empty, .. } = &mut self.nodes[entry] {
                *empty = ways(again, next);
            }
            // The first part is not written twice.
            if least > 0 {
                entry = again;
                copies -= 1;
            }
        }
        for _ in 0..copies {
            entry = self.add(part, entry, false);
        }
        entry
    }
}
