//! The syntax tree of a pattern. Different spellings of the same pattern have the same tree.

use super::set::CharSet;

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// One character of a set: a literal, a class or an escape. An empty set never matches.
    Set(CharSet),
    /// Parts in sequence; without parts, the empty text.
    Sequence(Vec<Expression>),
    /// Alternatives; the first one that leads to a match is taken.
    Choice(Vec<Expression>),
    /// A repeated part.
    Repeat {
        /// The part.
        part: Box<Expression>,
        /// The minimum number.
        least: u32,
        /// The maximum number; `None` for no limit.
        most: Option<u32>,
        /// Whether the minimum is tried first, then more.
        lazy: bool,
    },
    /// Look-ahead: `(?=...)`, or `(?!...)` if negated.
    Ahead {
        /// The part that must follow, or must not.
        part: Box<Expression>,
        /// Whether the part must not follow.
        negated: bool,
    },
    /// The end of the text: `\z`; `$` and `\Z` with the meaning of their own syntax.
    End {
        /// Whether the place before a final line feed matches, too.
        before_line_feed: bool,
    },
    /// `(?>...)`, or a repetition such as `*+`: no backtracking into it.
    Atomic(Box<Expression>),
    /// The start of the text. This and the following, only the backtracking machine can run.
    Start,
    /// Look-behind: `(?<=...)`, or `(?<!...)` if negated.
    Behind {
        /// The part that must precede the place, or must not.
        part: Box<Expression>,
        /// The number of characters of each of its matches.
        length: u32,
        /// Whether the part must not precede it.
        negated: bool,
    },
}

impl Expression {
    /// Returns the number of characters that it matches, if every match has the same.
    pub fn length(&self) -> Option<u32> {
        match self {
            Self::Set(_) => Some(1),
            Self::Sequence(parts) => {
                parts.iter().try_fold(0, |sum: u32, part| sum.checked_add(part.length()?))
            }
            Self::Choice(parts) => {
                let mut lengths = parts.iter().map(Self::length);
                let first = lengths.next()??;
                lengths.all(|length| length == Some(first)).then_some(first)
            }
            Self::Repeat { part, least, most, .. } if *most == Some(*least) => {
                part.length()?.checked_mul(*least)
            }
            Self::Repeat { .. } => None,
            Self::Ahead { .. } | Self::End { .. } | Self::Start | Self::Behind { .. } => Some(0),
            Self::Atomic(part) => part.length(),
        }
    }

    /// Whether the expression can match the empty text.
    pub fn can_be_empty(&self) -> bool {
        self.is_empty_where(true)
    }

    /// Whether the expression matches, perhaps nothing, wherever it is tried.
    pub fn always_matches(&self) -> bool {
        self.is_empty_where(false)
    }

    /// Whether the expression matches the empty text where each look at what is around holds, or
    /// where none does.
    fn is_empty_where(&self, looks_hold: bool) -> bool {
        let is_empty = |part: &Self| part.is_empty_where(looks_hold);
        match self {
            Self::Set(_) => false,
            Self::Sequence(parts) => parts.iter().all(is_empty),
            Self::Choice(parts) => parts.iter().any(is_empty),
            Self::Repeat { part, least, .. } => *least == 0 || is_empty(part),
            Self::Atomic(part) => is_empty(part),
            Self::Ahead { .. } | Self::End { .. } | Self::Start | Self::Behind { .. } => looks_hold,
        }
    }

    /// The same pattern with look-ahead for the characters that a run needs: `X{2,}` as
    /// `(?=X{2})X+`. A run is `last` if whatever follows always matches, so that it never gives
    /// back characters; others stay as they are.
    pub fn looking_ahead(&self, last: bool) -> Self {
        match self {
            Self::Sequence(parts) => {
                let mut last = last;
                let mut looking = Vec::new();
                for part in parts.iter().rev() {
                    looking.push(part.looking_ahead(last));
                    last &= part.always_matches();
                }
                looking.reverse();
                Self::Sequence(looking)
            }
            Self::Choice(parts) => {
                Self::Choice(parts.iter().map(|part| part.looking_ahead(last)).collect())
            }
            Self::Atomic(part) => Self::Atomic(Box::new(part.looking_ahead(true))),
            Self::Repeat { part, least: least @ 2.., most: None, lazy: false }
                if last && matches!(**part, Self::Set(_)) =>
            {
                let repeat = |least, most| {
                    let part = part.clone();
                    Self::Repeat { part, least, most, lazy: false }
                };
                let needed = Box::new(repeat(*least, Some(*least)));
                let needed = Self::Ahead { part: needed, negated: false };
                Self::Sequence(vec![needed, repeat(1, None)])
            }
            _ => self.clone(),
        }
    }

    /// Whether no match has a character of a set.
    pub fn avoids(&self, set: &CharSet) -> bool {
        match self {
            Self::Set(own) => own.intersection(set).is_empty(),
            Self::Ahead { .. } | Self::Behind { .. } => true,
            _ => self.parts().iter().all(|part| part.avoids(set)),
        }
    }

    /// Returns the parts that it consists of.
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::Sequence(parts) | Self::Choice(parts) => parts,
            Self::Repeat { part, .. } | Self::Ahead { part, .. } | Self::Behind { part, .. } => {
                std::slice::from_ref(part)
            }
            Self::Atomic(part) => std::slice::from_ref(part),
            Self::Set(_) | Self::End { .. } | Self::Start => &[],
        }
    }
}
