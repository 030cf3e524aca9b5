//! Parses patterns: a pattern in, the tree of its [`Expression`] out.
//!
//! There are three [dialects](Dialect): ours is that of Python's `regex` module (version 0), which the specification uses;
//! the [others](foreign) are those of `tiktoken` and `tokenizers`. One parser reads all three, and while it reads another
//! dialect it writes the pattern in ours: what both read alike is copied, what differs is replaced.
//!
//! ```text
//! [a-z&&[^b]]+ # not b    in Rust's dialect, where (?x) allows blanks and comments
//! └──────────┘ └──────┘
//! (?:(?!b)[a-z])+         in ours
//! ```
//!
//! Every pattern either has the same meaning here, for every code point, or is refused. Limits on size make it safe to
//! pass any string.

use std::collections::HashMap;

use super::behind::of_fixed_length;
use super::expression::{Expression, Greed};
use super::set::CharSet;
use crate::error::{Error, Result};
use crate::unicode::lookup::Property;

mod foreign;
mod sets;

pub use foreign::{alike, read};

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

/// Whose syntax a pattern has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Ours: that of Python's `regex` module.
    Bpetite,
    /// That of `fancy-regex`, as `tiktoken` uses it.
    Rust,
    /// That of Oniguruma with Ruby's syntax, as `tokenizers` uses it.
    Oniguruma,
}

/// Parse a pattern of our dialect.
pub fn parse(source: &str) -> Result<Expression> {
    check_length(source)?;
    let (expression, _) = parse_as(source, Dialect::Bpetite)?;
    match steps(&expression) {
        0..=MOST_STEPS => Ok(expression),
        _ => Err(refusal(source, "it repeats too much")),
    }
}

/// Parse a pattern; returns its parser, too, which has written it in our dialect.
fn parse_as(source: &str, dialect: Dialect) -> Result<(Expression, Parser<'_>)> {
    let mut parser = Parser::new(source, dialect);
    let mut expression = parser.whole()?;
    if !parser.references.is_empty() {
        parser = Parser { capturing: true, ..Parser::new(source, dialect) };
        expression = parser.whole()?;
    }
    Ok((expression, parser))
}

fn check_length(source: &str) -> Result<()> {
    match source.len() {
        0..=MOST_BYTES => Ok(()),
        length => {
            Err(refusal(source, &format!("it has {length} bytes, more than the limit of {MOST_BYTES}")))
        }
    }
}

/// The error for a pattern; a long pattern is shortened.
pub fn refusal(source: &str, reason: &str) -> Error {
    let beginning: String = source.chars().take(SHOWN_CHARACTERS).collect();
    let more = if beginning.len() < source.len() { "…" } else { "" };
    Error::Value(format!("pattern {beginning:?}{more} is not supported: {reason}"))
}

/// The number of sets after all repetitions are expanded.
pub fn steps(expression: &Expression) -> u64 {
    let parts = expression.parts().iter().fold(0, |sum: u64, part| sum.saturating_add(steps(part)));
    match expression {
        Expression::Sequence(_) | Expression::Choice(_) => parts.saturating_add(1),
        Expression::Repeat { least, most, .. } => {
            parts.saturating_mul(u64::from(most.unwrap_or(*least)).max(1))
        }
        _ => parts.max(1),
    }
}

/// The flags `(?ims)`, and `(?x)` of other dialects.
#[derive(Clone, Copy, Default)]
struct Flags {
    ignore_case: bool,
    lines: bool,
    dot_all: bool,
    verbose: bool,
}

/// The meaning of an escape, or of an item of a set.
enum Escape {
    Character(u32),
    Class(Property, bool),
    Members(CharSet),
    Part(Expression),
}

struct Parser<'s> {
    source: &'s str,
    /// Where the next character is.
    place: usize,
    dialect: Dialect,
    flags: Flags,
    depth: usize,
    ranges: usize,
    known: HashMap<Property, CharSet>,
    /// Whether groups are numbered, for references.
    capturing: bool,
    /// The name, where there is one, of each group in the order in which they open.
    groups: Vec<Option<&'s str>>,
    open: Vec<usize>,
    references: Vec<(usize, usize)>,
    /// The source up to `copied`, in our dialect.
    written: String,
    copied: usize,
    /// The items of the present set, in our dialect, and their members.
    items: Vec<(String, CharSet)>,
}

/// The source, character by character.
impl<'s> Parser<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.place..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let sign = self.peek()?;
        self.place += sign.len_utf8();
        Some(sign)
    }

    /// Consume a text if it comes next.
    fn take(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        self.place += if found { expected.len() } else { 0 };
        found
    }

    /// Consume characters while they satisfy a condition.
    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'s str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|sign| !belongs(sign)).unwrap_or(rest.len())];
        self.place += taken.len();
        taken
    }

    fn expect(&mut self, expected: &str) -> Result<()> {
        match self.take(expected) {
            true => Ok(()),
            false => Err(self.refuse(self.place, &format!("{expected} is missing"))),
        }
    }

    fn refuse(&self, place: usize, reason: &str) -> Error {
        let engine = match self.dialect {
            Dialect::Bpetite => "",
            Dialect::Rust => "as fancy-regex reads it, ",
            Dialect::Oniguruma => "as Oniguruma reads it, ",
        };
        let character = self.source[..place].chars().count();
        refusal(self.source, &format!("{engine}{reason} (at character {character})"))
    }

    /// Copy what was read to what is written.
    fn copy(&mut self) {
        self.written.push_str(&self.source[self.copied..self.place]);
        self.copied = self.place;
    }

    /// Write a text of our dialect instead of what was read since the last copy.
    fn replace(&mut self, text: &str) {
        self.written.push_str(text);
        self.copied = self.place;
    }
}

/// Sequences, repetitions and groups.
impl<'s> Parser<'s> {
    fn new(source: &'s str, dialect: Dialect) -> Self {
        Self {
            source,
            place: 0,
            dialect,
            flags: Flags::default(),
            depth: 0,
            ranges: 0,
            known: HashMap::new(),
            capturing: false,
            groups: Vec::new(),
            open: Vec::new(),
            references: Vec::new(),
            written: String::new(),
            copied: 0,
            items: Vec::new(),
        }
    }

    fn is_foreign(&self) -> bool {
        self.dialect != Dialect::Bpetite
    }

    fn whole(&mut self) -> Result<Expression> {
        let expression = self.choice()?;
        if self.peek().is_some() {
            return Err(self.refuse(self.place, "a parenthesis is closed that was not opened"));
        }
        for &(group, place) in &self.references {
            if group == 0 || group > self.groups.len() {
                return Err(self.refuse(place, "there is no such group"));
            }
        }
        Ok(expression)
    }

    fn choice(&mut self) -> Result<Expression> {
        let mut parts = vec![self.sequence()?];
        while self.take("|") {
            parts.push(self.sequence()?);
        }
        Ok(one_of(parts))
    }

    fn sequence(&mut self) -> Result<Expression> {
        let mut parts: Vec<Expression> = Vec::new();
        // Whether the last part may be repeated: it exists, and is not a repetition.
        let mut repeatable = false;
        // The last part if it is one letter, and where it is written.
        let (mut letter, mut start) = (None, 0);
        loop {
            self.skip_blanks()?;
            let place = self.place;
            if self.peek().is_none_or(|sign| "|)".contains(sign)) {
                return Ok(in_sequence(parts));
            }
            if let Some((least, most)) = self.count()? {
                let Some(part) = parts.pop().filter(|_| repeatable) else {
                    let reason =
                        "there is nothing to repeat, or a repetition is repeated; put it into a group";
                    return Err(self.refuse(place, reason));
                };
                self.check_repeated(&part, place, letter)?;
                let count = &self.source[place..self.place];
                parts.push(self.repeat(part, (least, most), count, start)?);
                repeatable = false;
                continue;
            }
            start = self.written.len();
            match self.part(parts.last())? {
                Some(part) => {
                    parts.push(part);
                    repeatable = true;
                    letter = self.letter_since(place, letter)?;
                }
                // In our dialect, what stands before a comment may be repeated behind it.
                None => repeatable &= !self.is_foreign(),
            }
        }
    }

    /// Parse the next part, which no repetition begins; `None` for flags and comments.
    fn part(&mut self, before: Option<&Expression>) -> Result<Option<Expression>> {
        let place = self.place;
        let line_feed = || CharSet::of('\n');
        Ok(Some(match self.next() {
            Some('(') => return self.group(place),
            Some('[') => {
                let set = self.bracketed(place)?;
                self.set(place, set)?
            }
            Some('\\') => match self.escape(place, false)? {
                Escape::Character(code_point) => self.literal(place, code_point)?,
                Escape::Class(property, negated) => {
                    let set = self.class(property, negated);
                    self.set(place, set)?
                }
                Escape::Members(set) => self.set(place, set)?,
                Escape::Part(part) => part,
            },
            Some('.') if self.flags.dot_all && self.dialect == Dialect::Oniguruma => {
                self.instead("(?s:.)")?
            }
            Some('.') if self.flags.dot_all => Expression::Set(CharSet::all()),
            Some('.') => Expression::Set(line_feed().complement()),
            Some(sign @ ('^' | '$')) if self.is_foreign() && !self.flags.lines => {
                self.foreign_line(sign, before)?
            }
            Some('^') if self.flags.lines => {
                Expression::Choice(vec![Expression::Start, behind(line_feed(), false)])
            }
            Some('^') => Expression::Start,
            Some('$') if self.flags.lines => Expression::Choice(vec![
                Expression::End { before_line_feed: false },
                Expression::Ahead { part: Box::new(Expression::Set(line_feed())), negated: false },
            ]),
            Some('$') => Expression::End { before_line_feed: true },
            Some('{') if self.is_foreign() => self.instead(r"\{")?,
            Some('{') if self.peek().is_some_and(|sign| "deis".contains(sign)) || self.looks_fuzzy() => {
                return Err(
                    self.refuse(place, r"approximate matching is not supported; write \{ for a brace")
                );
            }
            Some(sign) => self.literal(place, sign.into())?,
            None => return Ok(None),
        }))
    }

    /// Parse `{...}` after a part; `None` if the brace is an ordinary character.
    fn count(&mut self) -> Result<Option<(u32, Option<u32>)>> {
        let place = self.place;
        let found = match self.next() {
            Some('?') => return Ok(Some((0, Some(1)))),
            Some('*') => return Ok(Some((0, None))),
            Some('+') => return Ok(Some((1, None))),
            Some('{') => self.take_while(|sign| sign.is_ascii_digit() || sign == ','),
            _ => "",
        };
        let (least, most) = found.split_once(',').unwrap_or((found, found));
        if found.is_empty() || most.contains(',') || !self.take("}") {
            self.place = place;
            return Ok(None);
        }
        if self.is_foreign() && found == "," {
            return Err(self.refuse(place, "{,} is not a plain repetition"));
        }
        let number = |digits: &str, absent| match digits.parse::<u32>() {
            _ if digits.is_empty() => Ok(absent),
            Ok(number) if u64::from(number) <= MOST_STEPS => Ok(Some(number)),
            _ => Err(self.refuse(place, "it repeats too much")),
        };
        let (least, most) = (number(least, Some(0))?.unwrap_or(0), number(most, None)?);
        if most.is_some_and(|most| most < least) {
            return Err(self.refuse(place, "a repetition has to go from the smaller number to the larger"));
        }
        Ok(Some((least, most)))
    }

    /// Whether a brace begins an approximate match as in `{1<=e<=3}` or `{2i+1d<4}`.
    fn looks_fuzzy(&self) -> bool {
        let rest = self.rest();
        let inner =
            &rest[..rest.find(|sign: char| !"0123456789deis<=+".contains(sign)).unwrap_or(rest.len())];
        inner.contains('<') && inner.contains(['d', 'e', 'i', 's'])
    }

    /// Repeat a part, which is written from `start` on, as often as `count` says. A following `?` or `+` makes the
    /// repetition lazy or possessive; behind some braces, Oniguruma reads it as a second repetition.
    fn repeat(
        &mut self,
        part: Expression,
        (least, most): (u32, Option<u32>),
        count: &str,
        start: usize,
    ) -> Result<Expression> {
        if self.written[start..].starts_with("(?!") && matches!(part, Expression::Set(_)) {
            self.enclose_written(start);
        }
        self.skip_blanks()?;
        let (greed, again) = match self.peek() {
            Some('?') => (Greed::Lazy, (0, Some(1))),
            Some('+') => (Greed::Possessive, (1, None)),
            _ => return Ok(self.repeated(part, (least, most), Greed::Greedy)),
        };
        self.next();
        let braces = self.dialect == Dialect::Oniguruma && count.starts_with('{');
        if braces && (greed == Greed::Possessive || !count.contains(',')) {
            self.enclose_written(start);
            let once = self.repeated(part, (least, most), Greed::Greedy);
            return Ok(self.repeated(once, again, Greed::Greedy));
        }
        Ok(self.repeated(part, (least, most), greed))
    }

    fn repeated(&self, part: Expression, (least, most): (u32, Option<u32>), greed: Greed) -> Expression {
        // A part that consumes nothing need not be repeated.
        if part.length() == Some(0) && !self.capturing {
            return if least == 0 { Expression::Sequence(Vec::new()) } else { part };
        }
        if (least, most) == (1, Some(1)) || part == Expression::Sequence(Vec::new()) {
            return part;
        }
        Expression::Repeat { part: Box::new(part), least, most, greed }
    }

    /// Parse a group after its opening parenthesis; `None` for flags and comments.
    fn group(&mut self, place: usize) -> Result<Option<Expression>> {
        if self.take("*") {
            return Err(self.refuse(place, "a verb such as (*FAIL) is not supported"));
        }
        if !self.take("?") {
            return self.capture(None).map(Some);
        }
        if self.take("#") {
            return self.comment().map(|()| None);
        }
        let has_p = self.dialect != Dialect::Oniguruma;
        let part = if self.take("=") {
            Expression::Ahead { part: Box::new(self.enclosed()?), negated: false }
        } else if self.take("!") {
            Expression::Ahead { part: Box::new(self.enclosed()?), negated: true }
        } else if self.take(">") {
            Expression::Atomic(Box::new(self.enclosed()?))
        } else if self.take("<=") {
            self.behind(place, false)?
        } else if self.take("<!") {
            self.behind(place, true)?
        } else if has_p && self.take("P=") {
            let group = self.group_named(place, ")")?;
            self.reference(group, place)?
        } else if has_p && self.take("P<") || self.take("<") {
            let name = self.name(">")?;
            self.capture(Some(name))?
        } else if self.peek().is_some_and(|sign| "|(R&P+0123456789".contains(sign))
            || self.rest().starts_with('-')
                && self.rest()[1..].starts_with(|sign: char| sign.is_ascii_digit())
        {
            return Err(self.refuse(
                place,
                "groups that depend on or call another, and branches that share groups, are not supported",
            ));
        } else {
            return self.flagged(place);
        };
        Ok(Some(part))
    }

    /// Parse a look-behind after its opening: one for each length.
    fn behind(&mut self, place: usize, negated: bool) -> Result<Expression> {
        let groups = self.groups.len();
        let enclosed = self.enclosed()?;
        let has_groups = self.capturing && self.groups.len() > groups;
        let Some(parts) = of_fixed_length(enclosed) else {
            return Err(self.refuse(
                place,
                "a look-behind has to match a fixed number of characters, or one of at most 64 alternatives that do",
            ));
        };
        if parts.len() > 1 && has_groups {
            return Err(self.refuse(
                place,
                "a look-behind of several lengths with a group is not supported beside references",
            ));
        }
        self.spend(parts.iter().map(Expression::size).sum())?;
        let looks = parts.into_iter().map(|part| {
            let length = part.length().unwrap_or(0);
            Expression::Behind { part: Box::new(part), length, negated }
        });
        Ok(if negated { in_sequence(looks.collect()) } else { one_of(looks.collect()) })
    }

    /// Parse `(?i)` or `(?i:...)` after the question mark.
    fn flagged(&mut self, place: usize) -> Result<Option<Expression>> {
        let written = self.take_while(|sign| sign.is_ascii_alphanumeric() || sign == '-');
        let (on, off) = written.split_once('-').unwrap_or((written, ""));
        if written.ends_with('-') || written.is_empty() && !self.rest().starts_with(':') {
            return Err(self.refuse(place, "a flag is missing, or this kind of group is not supported"));
        }
        let outer = self.flags;
        for (letters, value) in [(on, true), (off, false)] {
            for letter in letters.chars() {
                match (letter, self.dialect) {
                    ('i', _) => self.flags.ignore_case = value,
                    ('m', Dialect::Oniguruma) => self.flags.dot_all = value,
                    ('m', _) => self.flags.lines = value,
                    ('s', Dialect::Bpetite | Dialect::Rust) => self.flags.dot_all = value,
                    ('u', Dialect::Bpetite | Dialect::Rust) if value => {}
                    ('x', Dialect::Bpetite) => {
                        let reason = "verbose mode, (?x), is not supported; write the pattern without blanks and comments";
                        return Err(self.refuse(place, reason));
                    }
                    ('x', _) => self.flags.verbose = value,
                    _ => {
                        let reason = format!("the flag {letter} of (?{written} is not supported");
                        return Err(self.refuse(place, &reason));
                    }
                }
                if value && off.contains(letter) {
                    return Err(self.refuse(place, "a flag is turned on and off"));
                }
            }
        }
        let is_group = self.take(":");
        if !is_group {
            self.expect(")")?;
        }
        if self.is_foreign() {
            return self.foreign_flags(place, written, is_group, outer);
        }
        if !is_group {
            return Ok(None);
        }
        let part = self.enclosed()?;
        self.flags = outer;
        Ok(Some(part))
    }

    /// Enter a group or a set.
    fn enter(&mut self, kind: &str) -> Result<()> {
        if self.depth == MOST_NESTED {
            let reason = format!("{kind} nested deeper than {MOST_NESTED} are not supported");
            return Err(self.refuse(self.place, &reason));
        }
        self.depth += 1;
        Ok(())
    }

    /// Parse the content of a group and its closing parenthesis.
    fn enclosed(&mut self) -> Result<Expression> {
        self.enter("groups")?;
        let flags = self.flags;
        let inner = self.choice()?;
        self.expect(")")?;
        self.flags = flags;
        self.depth -= 1;
        Ok(inner)
    }

    fn capture(&mut self, name: Option<&'s str>) -> Result<Expression> {
        if self.capturing && name.is_some() && self.groups.contains(&name) {
            return Err(self.refuse(self.place, "two groups of the same name are not supported"));
        }
        self.groups.push(name);
        let number = self.groups.len();
        self.open.push(number);
        let inner = self.enclosed()?;
        self.open.pop();
        Ok(if self.capturing { Expression::Group(number, Box::new(inner)) } else { inner })
    }

    fn comment(&mut self) -> Result<()> {
        while let Some(sign) = self.peek().filter(|sign| *sign != ')') {
            self.next();
            if sign == '\\' {
                if self.is_foreign() {
                    return Err(self.refuse(self.place, "a comment has a backslash"));
                }
                self.next();
            }
        }
        self.expect(")")
    }

    fn name(&mut self, end: &str) -> Result<&'s str> {
        let place = self.place;
        let name = self.take_while(|sign| sign.is_alphanumeric() || sign == '_');
        if name.is_empty() || !self.take(end) {
            return Err(self.refuse(place, "the name of a group is missing"));
        }
        Ok(name)
    }

    /// Parse the name or number of a group; returns its number.
    fn group_named(&mut self, place: usize, end: &str) -> Result<usize> {
        let name = self.name(end)?;
        if let Ok(number) = name.parse() {
            return Ok(number);
        }
        match self.groups.iter().position(|known| *known == Some(name)) {
            Some(index) => Ok(index + 1),
            None => Err(self.refuse(place, "there is no such group")),
        }
    }

    /// A back-reference to a group.
    fn reference(&mut self, group: usize, place: usize) -> Result<Expression> {
        if self.open.contains(&group) {
            return Err(self.refuse(place, "a group cannot refer to itself"));
        }
        if self.flags.ignore_case {
            return Err(self.refuse(place, "a reference to a group that ignores case is not supported"));
        }
        self.references.push((group, place));
        Ok(Expression::Reference(group))
    }
}

/// A look-behind at one character.
fn behind(set: CharSet, negated: bool) -> Expression {
    Expression::Behind { part: Box::new(Expression::Set(set)), length: 1, negated }
}

/// A sequence of parts. A look-ahead at the next part's only character becomes a smaller set.
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

/// Alternatives. If all are sets, the result is a set.
fn one_of(mut parts: Vec<Expression>) -> Expression {
    let sets: Option<Vec<&CharSet>> =
        parts.iter().map(|part| if let Expression::Set(set) = part { Some(set) } else { None }).collect();
    match sets {
        Some(sets) => Expression::Set(CharSet::new(sets.iter().flat_map(|set| set.ranges().iter().copied()))),
        None if parts.len() == 1 => parts.remove(0),
        None => Expression::Choice(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ranges: &[(char, char)]) -> Expression {
        Expression::Set(CharSet::new(ranges.iter().map(|&(first, last)| (first.into(), last.into()))))
    }

    fn one(character: char) -> Expression {
        set(&[(character, character)])
    }

    #[test]
    fn a_pattern_is_its_parts() {
        let repeated =
            |part, least, most, greed| Expression::Repeat { part: Box::new(part), least, most, greed };
        let tail = Expression::Ahead {
            part: Box::new(Expression::Sequence(vec![one('d'), one('e')])),
            negated: true,
        };
        let parts = [
            repeated(set(&[('a', 'b')]), 1, None, Greed::Possessive),
            repeated(Expression::Sequence(vec![one('c'), tail]), 0, Some(3), Greed::Lazy),
            Expression::Sequence(vec![]),
            Expression::End { before_line_feed: true },
        ];
        assert_eq!(parse("[ba]++|(?:c(?!de)){,3}?||$").unwrap(), Expression::Choice(parts.into()));
    }

    #[test]
    fn ignored_case_adds_what_matches() {
        let expected = [one('-'), set(&[('K', 'K'), ('k', 'k'), ('\u{212a}', '\u{212a}')]), one('k')];
        assert_eq!(
            parse("(?i:-k)k").unwrap(),
            Expression::Sequence(vec![Expression::Sequence(expected[..2].to_vec()), expected[2].clone()])
        );
    }

    #[test]
    fn look_behind_has_fixed_lengths_and_groups_have_numbers_where_one_is_named() {
        let before = |part, length| Expression::Behind { part: Box::new(part), length, negated: true };
        let alternative = |first| Expression::Sequence(vec![Expression::Sequence(first), one('a')]);
        assert_eq!(
            parse(r"^(?<!b?a)").unwrap(),
            Expression::Sequence(vec![
                Expression::Start,
                Expression::Sequence(vec![
                    before(alternative(vec![]), 1),
                    before(alternative(vec![one('b')]), 2)
                ])
            ])
        );
        let group = |number, part| Expression::Group(number, Box::new(part));
        assert_eq!(parse(r"(?P<x>a)(c)").unwrap(), Expression::Sequence(vec![one('a'), one('c')]));
        assert_eq!(
            parse(r"(?P<x>a)(c)(?P=x)\2").unwrap(),
            Expression::Sequence(vec![
                group(1, one('a')),
                group(2, one('c')),
                Expression::Reference(1),
                Expression::Reference(2)
            ])
        );
    }
}
