//! A pattern as a graph, which all machines run.
//!
//! Nodes are added from the end of the pattern to its beginning, each with the node that follows it. `a*b` becomes
//!
//! ```text
//!     split ──> take a ──┐         split: first try `take a`, then `take b`
//!       │ ^──────────────┘
//!       └─────> take b ──> match
//! ```
//!
//! A part that has matched nothing is not repeated. So within a repetition, what follows a part depends on whether anything
//! was consumed since the repetition began; there are two [nodes](Next) for that, and each is reached by its own copy of what
//! may match nothing. No way through the graph returns to a node at the same place.

use std::collections::HashMap;

use super::expression::{Expression, Greed};
use super::set::CharSet;

/// The maximum number of nodes: repetitions within others, of what may match nothing, need ever more.
const MOST_NODES: usize = 1 << 20;

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
    /// Try each of these nodes, in the order of preference. Splits are numbered; in an atomic group, it matters where the
    /// match of the group ends.
    Split { ways: Vec<usize>, number: usize, in_atomic: bool },
    /// Go on if the node `part` leads to a match, or if it does not, from so many characters before.
    Look { part: usize, back: u32, negated: bool, next: usize },
    /// Consume what the node `part` matches first, and try nothing else.
    Atomic { part: usize, next: Next },
    /// Go on at the start of the text.
    Start { next: usize },
    /// Go on at its end.
    End { before_line_feed: bool, next: usize },
}

/// What follows a part, in the innermost repetition of what may match nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// If nothing was consumed since the repetition began.
    pub fresh: usize,
    /// If something was.
    pub moved: usize,
}

impl Next {
    fn always(next: usize) -> Self {
        Self { fresh: next, moved: next }
    }

    /// What follows a part that has consumed a text.
    pub fn behind(self, is_empty: bool) -> usize {
        if is_empty { self.fresh } else { self.moved }
    }
}

/// The graph of a pattern.
pub struct Graph {
    pub nodes: Vec<Node>,
    pub entry: usize,
    /// The distinct sets of characters.
    pub sets: Vec<CharSet>,
    /// The number of splits.
    pub splits: usize,
    /// Whether there is no match where the preferred one is empty.
    pub is_atomic: bool,
    pub can_be_empty: bool,
    numbers: HashMap<CharSet, usize>,
    /// Whether the present part is in an atomic group.
    in_atomic: bool,
}

impl Graph {
    /// The graph of a pattern, unless it is too large.
    pub fn new(expression: &Expression) -> Option<Self> {
        let mut graph = Self {
            nodes: vec![Node::Match, Node::Match],
            entry: MATCHED,
            sets: Vec::new(),
            splits: 0,
            is_atomic: matches!(expression, Expression::Atomic(_)),
            can_be_empty: expression.can_be_empty(),
            numbers: HashMap::new(),
            in_atomic: false,
        };
        // If the empty text matches, the search for a longer match backtracks.
        let last = graph.is_atomic || !graph.can_be_empty;
        graph.entry = graph.add(expression, Next::always(MATCHED), last).fresh;
        (graph.nodes.len() <= MOST_NODES).then_some(graph)
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
        self.push(Node::Split { ways, number: self.splits - 1, in_atomic: self.in_atomic })
    }

    /// Add a node where nothing was consumed so far, and one where something was; only one if the same follows.
    fn each(&mut self, next: Next, mut add: impl FnMut(&mut Self, Next) -> usize) -> Next {
        let moved = add(self, Next::always(next.moved));
        let fresh = if next.fresh == next.moved { moved } else { add(self, next) };
        Next { fresh, moved }
    }

    fn choose(&mut self, ways: &[Next]) -> Next {
        let moved = self.split(ways.iter().map(|way| way.moved).collect());
        let same = ways.iter().all(|way| way.fresh == way.moved);
        let fresh = if same { moved } else { self.split(ways.iter().map(|way| way.fresh).collect()) };
        Next { fresh, moved }
    }

    /// Add the nodes of a part that is followed by others, and return the first. A part is `last` if whatever follows it
    /// always matches, so that no backtracking into it ever happens.
    fn add(&mut self, expression: &Expression, next: Next, last: bool) -> Next {
        if self.nodes.len() > MOST_NODES {
            return next;
        }
        match expression {
            Expression::Set(set) => Next::always(self.take(set, next.moved)),
            Expression::Sequence(parts) => {
                let (mut next, mut last) = (next, last);
                for part in parts.iter().rev() {
                    next = self.add(part, next, last);
                    last &= part.always_matches();
                }
                next
            }
            Expression::Choice(parts) => {
                let ways: Vec<Next> = parts.iter().map(|part| self.add(part, next, last)).collect();
                self.choose(&ways)
            }
            Expression::Repeat { greed: Greed::Possessive, .. } | Expression::Atomic(_) => {
                self.add_atomic(expression, next, last)
            }
            Expression::Repeat { part, least, most, greed } => {
                self.add_repeat(part, *least, *most, *greed == Greed::Lazy, next)
            }
            Expression::Ahead { part, negated } => self.add_look(part, 0, *negated, next),
            Expression::Behind { part, length, negated } => self.add_look(part, *length, *negated, next),
            Expression::Start => self.each(next, |graph, next| graph.push(Node::Start { next: next.fresh })),
            Expression::End { before_line_feed } => {
                let before_line_feed = *before_line_feed;
                if before_line_feed {
                    self.number(&CharSet::of('\n'));
                }
                self.each(next, |graph, next| graph.push(Node::End { before_line_feed, next: next.fresh }))
            }
        }
    }

    fn take(&mut self, set: &CharSet, next: usize) -> usize {
        let set = self.number(set);
        self.push(Node::Take { set, next })
    }

    fn number(&mut self, set: &CharSet) -> usize {
        if let Some(&known) = self.numbers.get(set) {
            return known;
        }
        self.sets.push(set.clone());
        self.numbers.insert(set.clone(), self.sets.len() - 1);
        self.sets.len() - 1
    }

    fn add_look(&mut self, part: &Expression, back: u32, negated: bool, next: Next) -> Next {
        let part = self.add(part, Next::always(PART_MATCHED), true).fresh;
        self.each(next, |graph, next| graph.push(Node::Look { part, back, negated, next: next.fresh }))
    }

    /// `(?>X)`, and possessively `X{least,most}+`.
    fn add_atomic(&mut self, expression: &Expression, next: Next, last: bool) -> Next {
        let mut part = expression;
        while let Expression::Atomic(inner) = part {
            part = inner;
        }
        let Expression::Repeat { part: repeated, least, most, greed } = part else {
            return match part {
                Expression::Set(_) => self.add(part, next, false),
                _ if last => self.add(part, next, true),
                _ => self.add_atomic_part(next, |graph, next| graph.add(part, next, true)),
            };
        };
        match &**repeated {
            _ if last => self.add_repeat(repeated, *least, *most, *greed == Greed::Lazy, next),
            Expression::Set(set) if *greed != Greed::Lazy => {
                self.add_possessive(repeated, set, *least, *most, next)
            }
            _ => self.add_atomic_part(next, |graph, next| {
                graph.add_repeat(repeated, *least, *most, *greed == Greed::Lazy, next)
            }),
        }
    }

    fn add_atomic_part(&mut self, next: Next, add: impl FnOnce(&mut Self, Next) -> Next) -> Next {
        let around = std::mem::replace(&mut self.in_atomic, true);
        let part = add(self, Next::always(PART_MATCHED)).fresh;
        self.in_atomic = around;
        self.each(next, |graph, next| graph.push(Node::Atomic { part, next }))
    }

    /// `X{least,most}+` of a set: either `most` characters, or fewer that are not followed by another one.
    fn add_possessive(
        &mut self,
        part: &Expression,
        set: &CharSet,
        least: u32,
        most: Option<u32>,
        next: Next,
    ) -> Next {
        let another = self.take(set, PART_MATCHED);
        let ended = self.each(next, |graph, next| {
            graph.push(Node::Look { part: another, back: 0, negated: true, next: next.fresh })
        });
        match most {
            None => self.add_repeat(part, least, None, false, ended),
            Some(most) if most <= least => self.add_repeat(part, most, Some(most), false, next),
            Some(most) => {
                let all = self.add_repeat(part, most, Some(most), false, next);
                let fewer = self.add_repeat(part, least, Some(most - 1), false, ended);
                self.choose(&[all, fewer])
            }
        }
    }

    /// `X{least,most}`, and lazily `X{least,most}?`.
    fn add_repeat(
        &mut self,
        part: &Expression,
        least: u32,
        most: Option<u32>,
        lazy: bool,
        next: Next,
    ) -> Next {
        let ways = |again: usize, next: usize| if lazy { vec![next, again] } else { vec![again, next] };
        let (mut entry, mut copies) = (next, least);
        if let Some(most) = most {
            for _ in least..most {
                let behind = entry.moved;
                entry = self.each(next, |graph, Next { fresh: rest, .. }| {
                    let again = graph.add(part, Next { fresh: rest, moved: behind }, false).fresh;
                    graph.split(ways(again, rest))
                });
            }
        } else {
            let split = self.split(Vec::new());
            let again = self.add(part, Next { fresh: next.moved, moved: split }, false).fresh;
            if let Node::Split { ways: empty, .. } = &mut self.nodes[split] {
                *empty = ways(again, next.moved);
            }
            entry = Next::always(split);
            if next.fresh != next.moved {
                let again = self.add(part, Next { fresh: next.fresh, moved: split }, false).fresh;
                entry.fresh = self.split(ways(again, next.fresh));
            }
            // What certainly consumes something is not written twice.
            if least > 0 && !part.can_be_empty() {
                entry = Next::always(again);
                copies -= 1;
            }
        }
        for _ in 0..copies {
            entry = self.add(part, entry, false);
        }
        entry
    }
}
