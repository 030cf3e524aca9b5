//! What a pattern says, as a tree: every way to spell it is the same tree, and all that follows reads the tree.

use super::set::CharSet;

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// One character of a set; every literal, class and escape is one. A set without members never matches.
    Set(CharSet),
    /// One part after the other; without parts, the empty text.
    Sequence(Vec<Expression>),
    /// The first part that leads to a match.
    Choice(Vec<Expression>),
    /// A part again and again.
    Repeat {
        /// What is repeated.
        part: Box<Expression>,
        /// How often at least.
        least: u32,
        /// How often at most; `None` is without end.
        most: Option<u32>,
        /// Which number of times is tried first.
        greed: Greed,
    },
    /// `(?=...)`, or `(?!...)` if it is negated: what follows, without taking it.
    Ahead {
        /// What has to follow, or must not.
        part: Box<Expression>,
        /// Whether it must not.
        negated: bool,
    },
    /// The end of the text: `\z`, and what `$` and `\Z` mean in the syntax that they were written in.
    End {
        /// Whether a place before one last line feed counts, too.
        before_line_feed: bool,
    },
    /// `(?>...)`: once matched, no other way through it is tried.
    Atomic(Box<Expression>),
    /// Anything else that the regex machine can run and the automaton cannot (`\b`, look-behind, back-references,
    /// line starts), spelled for the machine.
    Machine(String),
}

/// Which number of times a repetition tries first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greed {
    /// The most, then fewer: `*`.
    Greedy,
    /// The fewest, then more: `*?`.
    Lazy,
    /// The most, and no other: `*+`.
    Possessive,
}
