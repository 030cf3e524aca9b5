//! Parses patterns: a pattern in, the tree of its [`Expression`] out.
//!
//! There are three [dialects](Dialect): ours is that of Python's `regex` module (version 0), which the specification uses;
//! the others are those of `tiktoken` and `tokenizers`. One parser reads all three. A pattern of another dialect that means
//! something else in ours is [written](written) again from its tree:
//!
//! ```text
//! [a-z&&[^b]]+|\z                               in Rust's dialect
//! choice(repeat(a c-z, 1..), not ahead(all))    its tree
//! (?:(?=[a-z])[^b])+|(?![\s\S])                 in ours
//! ```
//!
//! Every pattern either has the same meaning here, for every code point, or is refused. Limits on size make it safe to
//! pass any string.

use std::collections::HashMap;

use super::expression::{Expression, Greed};
use super::set::CharSet;
use crate::error::{Error, Result};
use crate::unicode::lookup::Property;

mod sets;
mod written;

pub use written::{alike, read};

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
    let expression = Parser::new(source, Dialect::Bpetite).whole()?;
    match steps(&expression) {
        0..=MOST_STEPS => Ok(expression),
        _ => Err(refusal(source, "it repeats too much")),
    }
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

/// The flags `(?ims)`.
#[derive(Clone, Copy, Default)]
struct Flags {
    ignore_case: bool,
    lines: bool,
    dot_all: bool,
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
    /// In other dialects, how sets are written in ours.
    spellings: HashMap<CharSet, String>,
}

/// The source, character by character.
impl<'s> Parser<'s> {
    fn new(source: &'s str, dialect: Dialect) -> Self {
        let (known, spellings, flags) = (HashMap::new(), HashMap::new(), Flags::default());
        Self { source, place: 0, dialect, flags, depth: 0, ranges: 0, known, spellings }
    }

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
}

/// Sequences, repetitions and groups.
impl Parser<'_> {
    fn is_foreign(&self) -> bool {
        self.dialect != Dialect::Bpetite
    }

    fn whole(&mut self) -> Result<Expression> {
        let expression = self.choice()?;
        match self.peek() {
            None => Ok(expression),
            Some(_) => Err(self.refuse(self.place, "a parenthesis is closed that was not opened")),
        }
    }

    fn choice(&mut self) -> Result<Expression> {
        let mut parts = vec![self.sequence()?];
        while self.take("|") {
            parts.push(self.sequence()?);
        }
        Ok(self.one_of(parts))
    }

    fn sequence(&mut self) -> Result<Expression> {
        let mut parts: Vec<Expression> = Vec::new();
        // Whether the last part may be repeated: it exists, and is not a repetition.
        let mut repeatable = false;
        // The last part if it is one letter.
        let mut letter = None;
        loop {
            let place = self.place;
            if self.peek().is_none_or(|sign| "|)".contains(sign)) {
                return Ok(self.in_sequence(parts));
            }
            if let Some(limits) = self.count()? {
                let Some(part) = parts.pop().filter(|_| repeatable) else {
                    let reason =
                        "there is nothing to repeat, or a repetition is repeated; put it into a group";
                    return Err(self.refuse(place, reason));
                };
                self.check_repeated(&part, place, letter)?;
                let count = &self.source[place..self.place];
                parts.push(self.repeat(part, limits, count));
                repeatable = false;
                continue;
            }
            let part = self.part(parts.last())?;
            repeatable = part.is_some();
            if part.is_some() {
                letter = self.letter_since(place, letter)?;
            }
            parts.extend(part);
        }
    }

    /// Parse the next part, which no repetition begins; `None` for flags.
    fn part(&mut self, before: Option<&Expression>) -> Result<Option<Expression>> {
        let place = self.place;
        Ok(Some(match self.next() {
            Some('(') => return self.group(place),
            Some('[') => {
                let class = self.bracketed(place)?;
                self.set(place, class)?
            }
            Some('\\') => self.escape(place)?,
            Some('.') => {
                let line_feed = CharSet::of('\n').complement();
                let members = if self.flags.dot_all { CharSet::all() } else { line_feed };
                self.set(place, members.into())?
            }
            Some(sign @ ('^' | '$')) => self.line_border(sign, before)?,
            Some('{') if !self.is_foreign() => {
                let reason = r"approximate matching is not supported; write \{ for a brace";
                return Err(self.refuse(place, reason));
            }
            Some(sign) => self.literal(place, sign.into())?,
            None => return Ok(None),
        }))
    }

    /// `^` or `$` behind a part.
    fn line_border(&self, sign: char, before: Option<&Expression>) -> Result<Expression> {
        let line_feed = || CharSet::of('\n');
        let in_lines = self.flags.lines || self.dialect == Dialect::Oniguruma;
        Ok(match (sign, self.dialect) {
            // There, no line begins at the end of the text.
            ('^', Dialect::Oniguruma) => Expression::Choice(vec![
                Expression::Start,
                Expression::Sequence(vec![behind(line_feed(), false), ahead(CharSet::all(), false)]),
            ]),
            ('^', _) if in_lines => Expression::Choice(vec![Expression::Start, behind(line_feed(), false)]),
            ('^', _) => Expression::Start,
            _ if in_lines => end_of_line(),
            (_, Dialect::Rust) => match before {
                // No line feed is left, so this is the end of the text in our dialect, too.
                Some(Expression::Repeat { part, most: None, greed: Greed::Possessive, .. }) if matches!(&**part, Expression::Set(set) if set.contains('\n')) => {
                    Expression::End { before_line_feed: true }
                }
                _ => end_of_text(),
            },
            _ => Expression::End { before_line_feed: true },
        })
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

    /// Repeat a part as often as `count` says. A following `?` or `+` makes the repetition lazy or possessive; behind some
    /// braces, Oniguruma reads it as a second repetition.
    fn repeat(&mut self, part: Expression, limits: (u32, Option<u32>), count: &str) -> Expression {
        let (greed, again) = match self.peek() {
            Some('?') => (Greed::Lazy, (0, Some(1))),
            Some('+') => (Greed::Possessive, (1, None)),
            _ => return repeated(part, limits, Greed::Greedy),
        };
        self.next();
        let braces = self.dialect == Dialect::Oniguruma && count.starts_with('{');
        match braces && (greed == Greed::Possessive || !count.contains(',')) {
            true => repeated(repeated(part, limits, Greed::Greedy), again, Greed::Greedy),
            false => repeated(part, limits, greed),
        }
    }

    /// Refuse what other engines repeat in another way than ours.
    fn check_repeated(&self, part: &Expression, place: usize, letter: Option<char>) -> Result<()> {
        if self.is_foreign() && part.length() == Some(0) {
            return Err(self.refuse(place, "what matches only a place, such as ^, is repeated"));
        }
        if letter.is_some_and(|letter| "sf".contains(letter)) && &self.source[place..self.place] != "?" {
            return Err(self.refuse(place, "ignoring case here would match text of another length"));
        }
        Ok(())
    }

    /// The part since `place`, if it is one letter in Oniguruma, where case is ignored; `before` is the letter before it.
    ///
    /// Refuses texts that Oniguruma matches with a text of another length: `ss` with `ß`, `fi` with its ligature.
    fn letter_since(&self, place: usize, before: Option<char>) -> Result<Option<char>> {
        let mut signs = self.source[place..self.place].chars();
        let (Some(letter), None) = (signs.next().filter(|sign| *sign != '.'), signs.next()) else {
            return Ok(None);
        };
        if !self.ignores_case_by_text() {
            return Ok(None);
        }
        let letter = letter.to_ascii_lowercase();
        let joined = matches!((before, letter), (Some('s'), 's' | 't') | (Some('f'), 'f' | 'i' | 'l'));
        if joined || !letter.is_ascii() {
            return Err(self.refuse(place, "ignoring case here would match text of another length"));
        }
        Ok(Some(letter))
    }

    /// Whether case is ignored as Oniguruma does, which compares texts of different lengths.
    fn ignores_case_by_text(&self) -> bool {
        self.flags.ignore_case && self.dialect == Dialect::Oniguruma
    }

    /// Parse a group after its opening parenthesis; `None` for flags.
    fn group(&mut self, place: usize) -> Result<Option<Expression>> {
        let opening = ["?=", "?!", "?>", "?<=", "?<!"].into_iter().find(|opening| self.take(opening));
        let Some(opening) = opening else {
            if self.take("?") {
                return self.flagged(place);
            }
            return match self.peek() {
                Some('*') => Err(self.refuse(place, "a verb such as (*FAIL) is not supported")),
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

    /// A look-behind: one for each alternative, each of which has a fixed length.
    fn look_behind(&self, place: usize, part: Expression, negated: bool) -> Result<Expression> {
        let alternatives = match part {
            Expression::Choice(parts) if parts.len() <= 64 => parts,
            part => vec![part],
        };
        let looks = alternatives.into_iter().map(|part| match part.length() {
            Some(length) => Ok(Expression::Behind { part: Box::new(part), length, negated }),
            None => {
                let reason =
                    "a look-behind has to match a fixed number of characters, or alternatives that do";
                Err(self.refuse(place, reason))
            }
        });
        let mut looks = looks.collect::<Result<Vec<_>>>()?;
        Ok(match (looks.len(), negated) {
            (1, _) => looks.remove(0),
            (_, true) => Expression::Sequence(looks),
            (_, false) => Expression::Choice(looks),
        })
    }

    /// Parse `(?i)` or `(?i:...)` after the question mark.
    fn flagged(&mut self, place: usize) -> Result<Option<Expression>> {
        let written = self.take_while(|sign| sign.is_ascii_alphanumeric() || sign == '-');
        let (on, off) = written.split_once('-').unwrap_or((written, ""));
        if written.ends_with('-') || written.is_empty() && !self.rest().starts_with(':') {
            return Err(self.refuse(place, "this kind of group is not supported, or a flag is missing"));
        }
        let outer = self.flags;
        for (letters, value) in [(on, true), (off, false)] {
            for letter in letters.chars() {
                match (letter, self.dialect) {
                    ('i', _) => self.flags.ignore_case = value,
                    ('m', Dialect::Oniguruma) => self.flags.dot_all = value,
                    ('m', _) => self.flags.lines = value,
                    ('s', Dialect::Bpetite | Dialect::Rust) => self.flags.dot_all = value,
                    ('x', _) => {
                        let reason = "verbose mode, (?x), is not supported; write the pattern without blanks and comments";
                        return Err(self.refuse(place, reason));
                    }
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
        if self.take(":") {
            let part = self.enclosed()?;
            self.flags = outer;
            return Ok(Some(part));
        }
        self.expect(")")?;
        match self.dialect {
            // They apply to the rest of the group around them, as if it were a group of its own.
            Dialect::Oniguruma => {
                self.enter("groups")?;
                let rest = self.choice()?;
                self.depth -= 1;
                self.flags = outer;
                Ok(Some(rest))
            }
            Dialect::Rust if self.depth > 0 => {
                Err(self.refuse(place, "flags within a group also apply after it; write (?i:...)"))
            }
            _ => Ok(None),
        }
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

    /// A sequence of parts. A look-ahead at the next part's only character becomes a smaller set.
    fn in_sequence(&mut self, parts: Vec<Expression>) -> Expression {
        let mut joined: Vec<Expression> = Vec::with_capacity(parts.len());
        for part in parts {
            let Expression::Set(mut set) = part else {
                joined.push(part);
                continue;
            };
            while let Some(Expression::Ahead { part, negated }) = joined.last()
                && let Expression::Set(seen) = &**part
            {
                let smaller = if *negated { set.difference(seen) } else { set.intersection(seen) };
                let sign = if *negated { '!' } else { '=' };
                self.spell(&smaller, |parser| {
                    format!("(?:(?{sign}{}){})", parser.spelled(seen), parser.spelled(&set))
                });
                set = smaller;
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
    fn one_of(&mut self, mut parts: Vec<Expression>) -> Expression {
        if parts.len() == 1 {
            return parts.remove(0);
        }
        let sets = parts.iter().map(|part| if let Expression::Set(set) = part { Some(set) } else { None });
        let Some(sets) = sets.collect::<Option<Vec<_>>>() else { return Expression::Choice(parts) };
        let union = CharSet::new(sets.iter().flat_map(|set| set.ranges().iter().copied()));
        self.spell(&union, |parser| {
            let sets: Vec<String> = sets.iter().map(|set| parser.spelled(set)).collect();
            format!("(?:{})", sets.join("|"))
        });
        Expression::Set(union)
    }
}

fn repeated(part: Expression, (least, most): (u32, Option<u32>), greed: Greed) -> Expression {
    // A part that consumes nothing need not be repeated.
    if part.length() == Some(0) {
        return if least == 0 { Expression::Sequence(Vec::new()) } else { part };
    }
    if (least, most) == (1, Some(1)) {
        return part;
    }
    Expression::Repeat { part: Box::new(part), least, most, greed }
}

/// A look-behind at one character.
fn behind(set: CharSet, negated: bool) -> Expression {
    Expression::Behind { part: Box::new(Expression::Set(set)), length: 1, negated }
}

/// A look-ahead at one character.
fn ahead(set: CharSet, negated: bool) -> Expression {
    Expression::Ahead { part: Box::new(Expression::Set(set)), negated }
}

/// The end of a line, spelled `(?m:$)`, as other engines read it, too.
fn end_of_line() -> Expression {
    Expression::Choice(vec![Expression::End { before_line_feed: false }, ahead(CharSet::of('\n'), false)])
}

/// The end of the text, spelled `(?![\s\S])`, as all engines read it.
fn end_of_text() -> Expression {
    ahead(CharSet::all(), true)
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
    fn each_alternative_of_a_look_behind_has_a_fixed_length() {
        let before = |part, length| Expression::Behind { part: Box::new(part), length, negated: true };
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
