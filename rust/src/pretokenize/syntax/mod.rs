//! Parses a pattern to the tree of its [`Expression`].
//!
//! The dialect is that of Python's `regex` module (version 0), which the specification uses. A
//! pattern of another library is [translated](foreign) to it first.
//!
//! Every pattern either has the same meaning here, for every code point, or is refused. Limits on
//! size make it safe to pass any string.

use std::collections::HashMap;

use super::expression::Expression;
use super::on_large_stack;
use super::set::CharSet;
use crate::error::{Error, Result};
use crate::unicode::lookup::Property;
use source::Source;

mod foreign;
mod sets;
mod source;

pub use foreign::{Dialect, alike, read};

/// The maximum length of a pattern in bytes.
const MOST_BYTES: usize = 1 << 13;
/// The maximum depth of nested groups and sets.
const MOST_NESTED: usize = 100;
/// The maximum number of ranges of all sets together.
const MOST_RANGES: usize = 50_000;
/// The maximum number of sets after all repetitions are expanded.
const MOST_STEPS: u64 = 100_000;

/// The length of the part of a pattern that an error message shows.
const SHOWN_CHARACTERS: usize = 80;

/// Parses a pattern.
pub fn parse(pattern: &str) -> Result<Expression> {
    check_length(pattern)?;
    let source = Source::new(pattern, "");
    let mut parser =
        Parser { source, flags: Flags::default(), depth: 0, ranges: 0, properties: HashMap::new() };
    let expression = parser.choice()?;
    if parser.source.peek().is_some() {
        let place = parser.source.place;
        return parser.source.refuse(place, "a closing parenthesis has no opening one");
    }
    match steps(&expression) {
        0..=MOST_STEPS => Ok(expression),
        _ => Err(refusal(pattern, "it repeats too much")),
    }
}

/// Returns the characters of a pattern that is a set, such as `\s` or `[a-z]`.
pub fn set_of(pattern: &str) -> Result<CharSet> {
    on_large_stack(|| match parse(pattern)? {
        Expression::Set(set) => Ok(set),
        _ => Err(refusal(pattern, "it is not a set of characters")),
    })
}

/// Whether no match of a pattern has any of the characters of a set.
pub fn avoids(pattern: &str, characters: &str) -> Result<bool> {
    let set = set_of(characters)?;
    on_large_stack(|| Ok(parse(pattern)?.avoids(&set)))
}

fn check_length(source: &str) -> Result<()> {
    let length = source.len();
    if length <= MOST_BYTES {
        return Ok(());
    }
    Err(refusal(source, &format!("it has {length} bytes, more than the limit of {MOST_BYTES}")))
}

/// Returns the error for a pattern; a long pattern is shortened.
pub fn refusal(source: &str, reason: &str) -> Error {
    let beginning: String = source.chars().take(SHOWN_CHARACTERS).collect();
    let more = if beginning.len() < source.len() { "…" } else { "" };
    Error::Value(format!("pattern {beginning:?}{more} is not supported: {reason}"))
}

/// Returns the number of sets after all repetitions are expanded.
fn steps(expression: &Expression) -> u64 {
    let parts = expression.parts().iter().fold(0, |sum: u64, part| sum.saturating_add(steps(part)));
    match expression {
        Expression::Sequence(_) | Expression::Choice(_) => parts.saturating_add(1),
        Expression::Repeat { least, most, .. } => {
            let copies = most.unwrap_or(*least).max(1);
            parts.saturating_mul(copies.into())
        }
        _ => parts.max(1),
    }
}

/// The flags `(?ims)`.
#[derive(Clone, Copy, Default)]
struct Flags {
    ignore_case: bool,
    lines: bool,
    dot_all: bool,
}

struct Parser<'s> {
    source: Source<'s>,
    flags: Flags,
    /// The number of groups around this place.
    depth: usize,
    /// The number of ranges of all sets so far.
    ranges: usize,
    /// The sets of properties that were looked up before.
    properties: HashMap<Property, CharSet>,
}

/// Sequences, repetitions and groups.
impl Parser<'_> {
    fn choice(&mut self) -> Result<Expression> {
        let mut parts = vec![self.sequence()?];
        while self.source.take("|") {
            parts.push(self.sequence()?);
        }
        Ok(one_of(parts))
    }

    fn sequence(&mut self) -> Result<Expression> {
        let mut parts: Vec<Expression> = Vec::new();
        // Whether the last part may be repeated: it exists, and is not a repetition.
        let mut repeatable = false;
        loop {
            let place = self.source.place;
            if self.source.peek().is_none_or(|sign| "|)".contains(sign)) {
                return Ok(in_sequence(parts));
            }
            if let Some(limits) = self.count()? {
                let Some(part) = parts.pop().filter(|_| repeatable) else {
                    let reason = "there is nothing to repeat, or a repetition is repeated; put it \
                                  into a group";
                    return self.source.refuse(place, reason);
                };
                parts.push(self.repeat(place, part, limits)?);
                repeatable = false;
                continue;
            }
            let part = self.part()?;
            repeatable = part.is_some();
            parts.extend(part);
        }
    }

    /// Parses the next part, which no repetition begins; `None` for flags.
    fn part(&mut self) -> Result<Option<Expression>> {
        let place = self.source.place;
        Ok(Some(match self.source.next() {
            Some('(') => return self.group(place),
            Some('[') => self.bracketed(place)?,
            Some('\\') => self.escape(place)?,
            Some('.') if self.flags.dot_all => Expression::Set(CharSet::all()),
            Some('.') => Expression::Set(CharSet::of('\n').complement()),
            Some('^') if self.flags.lines => {
                Expression::Choice(vec![Expression::Start, behind(CharSet::of('\n'), false)])
            }
            Some('^') => Expression::Start,
            Some('$') if self.flags.lines => Expression::Choice(vec![
                Expression::End { before_line_feed: false },
                ahead(CharSet::of('\n'), false),
            ]),
            Some('$') => Expression::End { before_line_feed: true },
            Some('{') => {
                let reason = r"approximate matching is not supported; write \{ for a brace";
                return self.source.refuse(place, reason);
            }
            Some(sign) => self.literal(sign.into())?,
            None => return Ok(None),
        }))
    }

    /// Parses `?`, `*`, `+` or `{...}` after a part; `None` if it is something else, such as an
    /// ordinary brace.
    fn count(&mut self) -> Result<Option<(u32, Option<u32>)>> {
        let place = self.source.place;
        let limits = match self.source.next() {
            Some('?') => return Ok(Some((0, Some(1)))),
            Some('*') => return Ok(Some((0, None))),
            Some('+') => return Ok(Some((1, None))),
            Some('{') => self.source.take_while(|sign| sign.is_ascii_digit() || sign == ','),
            _ => "",
        };
        let (least, most) = limits.split_once(',').unwrap_or((limits, limits));
        if limits.is_empty() || most.contains(',') || !self.source.take("}") {
            self.source.place = place;
            return Ok(None);
        }
        let number = |digits: &str| match digits.parse::<u32>() {
            _ if digits.is_empty() => Ok(None),
            Ok(number) if u64::from(number) <= MOST_STEPS => Ok(Some(number)),
            _ => self.source.refuse(place, "it repeats too much"),
        };
        let least = number(least)?.unwrap_or(0);
        let most = number(most)?;
        if most.is_some_and(|most| most < least) {
            return self
                .source
                .refuse(place, "the lower bound of a repetition is above its upper bound");
        }
        Ok(Some((least, most)))
    }

    /// Repeats a part. A following `?` or `+` makes the repetition lazy or possessive.
    fn repeat(
        &mut self,
        place: usize,
        part: Expression,
        (least, most): (u32, Option<u32>),
    ) -> Result<Expression> {
        let lazy = self.source.take("?");
        let possessive = !lazy && self.source.take("+");
        // A part that consumes nothing need not be repeated.
        if part.length() == Some(0) {
            return Ok(if least == 0 { Expression::Sequence(Vec::new()) } else { part });
        }
        if most != Some(1) && part.can_be_empty() {
            let reason =
                "a part that may match nothing is repeated, which engines do in different ways";
            return self.source.refuse(place, reason);
        }
        if (least, most) == (1, Some(1)) {
            return Ok(part);
        }
        let repeated = Expression::Repeat { part: Box::new(part), least, most, lazy };
        if possessive {
            return Ok(Expression::Atomic(Box::new(repeated)));
        }
        Ok(repeated)
    }

    /// Parses a group after its opening parenthesis; `None` for flags.
    fn group(&mut self, place: usize) -> Result<Option<Expression>> {
        let opening =
            ["?=", "?!", "?>", "?<=", "?<!"].into_iter().find(|opening| self.source.take(opening));
        let Some(opening) = opening else {
            if self.source.take("?") {
                return self.flagged(place);
            }
            return match self.source.peek() {
                Some('*') => self.source.refuse(place, "a verb such as (*FAIL) is not supported"),
                _ => self.enclosed().map(Some),
            };
        };
        let inner = self.enclosed()?;
        Ok(Some(match opening {
            "?>" => Expression::Atomic(Box::new(inner)),
            "?=" | "?!" => Expression::Ahead { part: Box::new(inner), negated: opening == "?!" },
            _ => self.look_behind(place, inner, opening == "?<!")?,
        }))
    }

    /// Makes a look-behind: one for each alternative, each of which has a fixed length.
    fn look_behind(&self, place: usize, part: Expression, negated: bool) -> Result<Expression> {
        let alternatives = match part {
            Expression::Choice(parts) if parts.len() <= 64 => parts,
            part => vec![part],
        };
        let mut looks = Vec::new();
        for part in alternatives {
            let Some(length) = part.length() else {
                let reason = "a look-behind has to match a fixed number of characters, or \
                              alternatives that do";
                return self.source.refuse(place, reason);
            };
            looks.push(Expression::Behind { part: Box::new(part), length, negated });
        }
        Ok(match (looks.len(), negated) {
            (1, _) => looks.remove(0),
            (_, true) => Expression::Sequence(looks),
            (_, false) => Expression::Choice(looks),
        })
    }

    /// Parses `(?i)` or `(?i:...)` after the question mark.
    fn flagged(&mut self, place: usize) -> Result<Option<Expression>> {
        let written = self.source.take_while(|sign| sign.is_ascii_alphanumeric() || sign == '-');
        let (on, off) = written.split_once('-').unwrap_or((written, ""));
        let is_flagged = !written.is_empty() || self.source.rest().starts_with(':');
        if written.ends_with('-') || !is_flagged {
            return self
                .source
                .refuse(place, "this kind of group is not supported, or a flag is missing");
        }
        let outer = self.flags;
        for (letters, value) in [(on, true), (off, false)] {
            for letter in letters.chars() {
                match letter {
                    'i' => self.flags.ignore_case = value,
                    'm' => self.flags.lines = value,
                    's' => self.flags.dot_all = value,
                    'x' => {
                        let reason = "verbose mode, (?x), is not supported; write the pattern \
                                      without blanks and comments";
                        return self.source.refuse(place, reason);
                    }
                    _ => {
                        let reason = format!("the flag {letter} of (?{written} is not supported");
                        return self.source.refuse(place, reason);
                    }
                }
                if value && off.contains(letter) {
                    return self.source.refuse(place, "a flag is turned on and off");
                }
            }
        }
        if !self.source.take(":") {
            self.expect(")")?;
            return Ok(None);
        }
        let part = self.enclosed()?;
        self.flags = outer;
        Ok(Some(part))
    }

    /// Parses the content of a group and its closing parenthesis.
    fn enclosed(&mut self) -> Result<Expression> {
        if self.depth == MOST_NESTED {
            let reason = format!("groups nested deeper than {MOST_NESTED} are not supported");
            return self.source.refuse(self.source.place, reason);
        }
        self.depth += 1;
        let flags = self.flags;
        let inner = self.choice()?;
        self.expect(")")?;
        self.flags = flags;
        self.depth -= 1;
        Ok(inner)
    }

    fn expect(&mut self, expected: &str) -> Result<()> {
        if self.source.take(expected) {
            return Ok(());
        }
        self.source.refuse(self.source.place, format!("{expected} is missing"))
    }
}

/// Joins parts to a sequence. A look-ahead at the next part's only character becomes a smaller set.
fn in_sequence(parts: Vec<Expression>) -> Expression {
    let mut joined: Vec<Expression> = Vec::with_capacity(parts.len());
    for part in parts {
        let Expression::Set(mut set) = part else {
            joined.push(part);
            continue;
        };
        while let Some(Expression::Ahead { part, negated }) = joined.last()
            && let Expression::Set(seen) = &**part
        {
            set = if *negated { set.difference(seen) } else { set.intersection(seen) };
            joined.pop();
        }
        joined.push(Expression::Set(set));
    }
    match joined.len() {
        1 => joined.remove(0),
        _ => Expression::Sequence(joined),
    }
}

/// Joins alternatives. If all are sets, the result is a set.
fn one_of(mut parts: Vec<Expression>) -> Expression {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let mut ranges = Vec::new();
    for part in &parts {
        let Expression::Set(set) = part else { return Expression::Choice(parts) };
        ranges.extend(set.ranges());
    }
    Expression::Set(CharSet::new(ranges))
}

/// A look-behind at one character.
fn behind(set: CharSet, negated: bool) -> Expression {
    Expression::Behind { part: Box::new(Expression::Set(set)), length: 1, negated }
}

/// A look-ahead at one character.
fn ahead(set: CharSet, negated: bool) -> Expression {
    Expression::Ahead { part: Box::new(Expression::Set(set)), negated }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ranges: &[(char, char)]) -> Expression {
        Expression::Set(CharSet::new(
            ranges.iter().map(|&(first, last)| (first.into(), last.into())),
        ))
    }

    fn one(character: char) -> Expression {
        set(&[(character, character)])
    }

    #[test]
    fn a_pattern_is_its_parts() {
        let repeated = |part, least, most, lazy| Expression::Repeat {
            part: Box::new(part),
            least,
            most,
            lazy,
        };
        let tail = Expression::Ahead {
            part: Box::new(Expression::Sequence(vec![one('d'), one('e')])),
            negated: true,
        };
        let parts = [
            Expression::Atomic(Box::new(repeated(set(&[('a', 'b')]), 1, None, false))),
            repeated(Expression::Sequence(vec![one('c'), tail]), 0, Some(3), true),
            Expression::Sequence(vec![]),
            Expression::End { before_line_feed: true },
        ];
        assert_eq!(parse("[ba]++|(?:c(?!de)){,3}?||$").unwrap(), Expression::Choice(parts.into()));
    }

    #[test]
    fn ignored_case_adds_what_matches() {
        let expected =
            [one('-'), set(&[('K', 'K'), ('k', 'k'), ('\u{212a}', '\u{212a}')]), one('k')];
        assert_eq!(
            parse("(?i:-k)k").unwrap(),
            Expression::Sequence(vec![
                Expression::Sequence(expected[..2].to_vec()),
                expected[2].clone()
            ])
        );
    }

    #[test]
    fn each_alternative_of_a_look_behind_has_a_fixed_length() {
        let before =
            |part, length| Expression::Behind { part: Box::new(part), length, negated: true };
        let longer = Expression::Sequence(vec![one('b'), one('a')]);
        assert_eq!(
            parse(r"(?<!a|ba)").unwrap(),
            Expression::Sequence(vec![before(one('a'), 1), before(longer, 2)])
        );
        assert!(parse("(?<!b?a)").is_err());
    }

    #[test]
    fn a_look_ahead_at_one_character_makes_a_smaller_set() {
        assert_eq!(parse(r"(?!b)(?=[a-c])[b-z]").unwrap(), one('c'));
    }
}
