//! Parses patterns to expressions.
//!
//! The syntax is that of Python's `regex` module (version 0), which the specification uses. Every pattern either has the
//! same meaning here, for every code point, or is refused. Limits on size make it safe to pass any string.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};

use super::behind::of_fixed_length;
use super::cursor::Cursor;
use super::expression::{Expression, Greed};
use super::set::CharSet;
use crate::error::{Error, Result};
use crate::unicode::lookup::{Property, Range, case_pairs};

/// The maximum length of a pattern in bytes.
pub const MOST_BYTES: usize = 1 << 13;
/// The maximum depth of nested groups.
pub const MOST_NESTED: usize = 100;
/// The maximum number of ranges of all sets together.
pub const MOST_RANGES: usize = 50_000;
/// The maximum number of sets after all repetitions are expanded.
const MOST_STEPS: u64 = 100_000;

/// The length of the part of a pattern that an error message shows.
pub const SHOWN_CHARACTERS: usize = 80;

/// Parse a pattern.
pub fn parse(source: &str) -> Result<Expression> {
    check_length(source)?;
    let mut parser = Parser::new(source, false);
    let mut expression = parser.whole()?;
    if !parser.references.is_empty() {
        parser = Parser::new(source, true);
        expression = parser.whole()?;
    }
    match steps(&expression) {
        0..=MOST_STEPS => Ok(expression),
        _ => Err(refusal(source, "it repeats too much")),
    }
}

/// Refuse a pattern that is too long to be read.
pub fn check_length(source: &str) -> Result<()> {
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
    match expression {
        Expression::Sequence(parts) | Expression::Choice(parts) => {
            parts.iter().fold(1, |sum, part| steps(part).saturating_add(sum))
        }
        Expression::Repeat { part, least, most, .. } => {
            steps(part).saturating_mul(u64::from(most.unwrap_or(*least)).max(1))
        }
        Expression::Ahead { part, .. } | Expression::Behind { part, .. } => steps(part),
        Expression::Atomic(part) | Expression::Group(_, part) => steps(part),
        Expression::Set(_) | Expression::End { .. } | Expression::Start | Expression::Reference(_) => 1,
    }
}

/// The flags `(?ims)`.
#[derive(Clone, Copy, Default)]
struct Flags {
    ignore_case: bool,
    lines: bool,
    dot_all: bool,
}

/// The meaning of an escape.
enum Escape {
    Character(u32),
    Class(Property, bool),
    Part(Expression),
}

struct Parser<'s> {
    cursor: Cursor<'s>,
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
}

impl<'s> Deref for Parser<'s> {
    type Target = Cursor<'s>;

    fn deref(&self) -> &Cursor<'s> {
        &self.cursor
    }
}

impl DerefMut for Parser<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.cursor
    }
}

impl<'s> Parser<'s> {
    fn new(source: &'s str, capturing: bool) -> Self {
        Self {
            cursor: Cursor::new(source),
            flags: Flags::default(),
            depth: 0,
            ranges: 0,
            known: HashMap::new(),
            capturing,
            groups: Vec::new(),
            open: Vec::new(),
            references: Vec::new(),
        }
    }

    fn expect(&mut self, expected: &str) -> Result<()> {
        match self.take(expected) {
            true => Ok(()),
            false => Err(self.refuse(self.place, &format!("{expected} is missing"))),
        }
    }

    fn refuse(&self, place: usize, reason: &str) -> Error {
        let character = self.character(place);
        refusal(self.source, &format!("{reason} (at character {character})"))
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
        let mut parts = Vec::new();
        // Whether the last part may be repeated: it exists, and is not a repetition.
        let mut repeatable = false;
        loop {
            let place = self.place;
            let part = match self.next() {
                None => break,
                Some('|' | ')') => {
                    self.place = place;
                    break;
                }
                Some('(') => match self.group(place)? {
                    Some(part) => part,
                    None => continue,
                },
                Some('?' | '*' | '+' | '{') => {
                    self.place = place;
                    if let Some((least, most)) = self.count()? {
                        let Some(part) = parts.pop().filter(|_| repeatable) else {
                            return Err(self.refuse(place, "there is nothing to repeat"));
                        };
                        parts.push(self.repeat(part, least, most));
                        repeatable = false;
                        continue;
                    }
                    self.next();
                    if self.peek().is_some_and(|sign| "deis".contains(sign)) || self.looks_fuzzy() {
                        return Err(self
                            .refuse(place, r"approximate matching is not supported; write \{ for a brace"));
                    }
                    self.literal('{'.into())?
                }
                Some('\\') => match self.escape(place, false)? {
                    Escape::Character(code_point) => self.literal(code_point)?,
                    Escape::Class(property, negated) => {
                        let set = self.class(property, negated);
                        self.set(set)?
                    }
                    Escape::Part(part) => part,
                },
                Some('[') => self.bracketed(place)?,
                Some('.') if self.flags.dot_all => Expression::Set(CharSet::all()),
                Some('.') => Expression::Set(CharSet::of('\n').complement()),
                Some('^') if self.flags.lines => {
                    Expression::Choice(vec![Expression::Start, behind(CharSet::of('\n'), false)])
                }
                Some('^') => Expression::Start,
                Some('$') if self.flags.lines => Expression::Choice(vec![
                    Expression::End { before_line_feed: false },
                    Expression::Ahead { part: Box::new(Expression::Set(CharSet::of('\n'))), negated: false },
                ]),
                Some('$') => Expression::End { before_line_feed: true },
                Some(sign) => self.literal(sign.into())?,
            };
            parts.push(part);
            repeatable = true;
        }
        Ok(in_sequence(parts))
    }

    /// A character outside a set.
    fn literal(&mut self, code_point: u32) -> Result<Expression> {
        let one = CharSet::new([(code_point, code_point)]);
        self.set(if self.flags.ignore_case { fold(&one) } else { one })
    }

    fn set(&mut self, set: CharSet) -> Result<Expression> {
        self.spend(set.ranges().len())?;
        Ok(Expression::Set(set))
    }

    fn spend(&mut self, ranges: usize) -> Result<()> {
        self.ranges += ranges;
        match self.ranges {
            0..=MOST_RANGES => Ok(()),
            _ => Err(self.refuse(self.place, "it names too many classes")),
        }
    }

    /// The members of a property outside a set.
    fn class(&mut self, property: Property, negated: bool) -> CharSet {
        let property = if self.flags.ignore_case { property.ignoring_case() } else { property };
        let set = self.members(property);
        if negated { set.complement() } else { set.clone() }
    }

    fn members(&mut self, property: Property) -> &CharSet {
        self.known.entry(property).or_insert_with(|| CharSet::new(property.ranges()))
    }

    /// Parse `{...}` after a part; `None` if the brace is an ordinary character.
    fn count(&mut self) -> Result<Option<(u32, Option<u32>)>> {
        let place = self.place;
        match self.next() {
            Some('?') => return Ok(Some((0, Some(1)))),
            Some('*') => return Ok(Some((0, None))),
            Some('+') => return Ok(Some((1, None))),
            _ => {}
        }
        let least = self.take_while(|sign| sign.is_ascii_digit());
        let most = if self.take(",") { self.take_while(|sign| sign.is_ascii_digit()) } else { least };
        let only_brace = most.is_empty() && !self.source[..self.place].ends_with(',');
        if only_brace || !self.take("}") {
            self.place = place;
            return Ok(None);
        }
        let number = |digits: &str| match digits.parse::<u32>() {
            Ok(number) if u64::from(number) <= MOST_STEPS => Ok(number),
            _ => Err(self.refuse(place, "it repeats too much")),
        };
        let least = if least.is_empty() { 0 } else { number(least)? };
        let most = if most.is_empty() { None } else { Some(number(most)?) };
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

    /// Repeat a part; a following `?` or `+` makes the repetition lazy or possessive.
    fn repeat(&mut self, part: Expression, least: u32, most: Option<u32>) -> Expression {
        let greed = match self.peek() {
            Some('?') => Greed::Lazy,
            Some('+') => Greed::Possessive,
            _ => Greed::Greedy,
        };
        self.place += usize::from(greed != Greed::Greedy);
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
        } else if self.take("P=") {
            let group = self.group_named(place, ")")?;
            self.reference(group, place)?
        } else if self.take("P<") || self.take("<") {
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
        let on = self.take_while(|sign| sign.is_ascii_alphanumeric());
        let turns_off = self.take("-");
        let off = if turns_off { self.take_while(|sign| sign.is_ascii_alphanumeric()) } else { "" };
        if turns_off && off.is_empty() || on.is_empty() && !turns_off && !self.rest().starts_with(':') {
            return Err(self.refuse(place, "a flag is missing"));
        }
        let outer = self.flags;
        let mut flags = self.flags;
        for (letters, value) in [(on, true), (off, false)] {
            for letter in letters.chars() {
                match letter {
                    'i' => flags.ignore_case = value,
                    'm' => flags.lines = value,
                    's' => flags.dot_all = value,
                    'u' if value => {}
                    'x' => {
                        let reason = "verbose mode, (?x), is not supported; write the pattern without blanks and comments";
                        return Err(self.refuse(place, reason));
                    }
                    _ => return Err(self.refuse(place, &format!("the flag {letter} is not supported"))),
                }
                if value && off.contains(letter) {
                    return Err(self.refuse(place, "a flag is turned on and off"));
                }
            }
        }
        self.flags = flags;
        if self.take(")") {
            return Ok(None);
        }
        self.expect(":")?;
        let part = self.enclosed()?;
        self.flags = outer;
        Ok(Some(part))
    }

    /// Parse the content of a group and its closing parenthesis.
    fn enclosed(&mut self) -> Result<Expression> {
        if self.depth == MOST_NESTED {
            return Err(self
                .refuse(self.place, &format!("groups nested deeper than {MOST_NESTED} are not supported")));
        }
        self.depth += 1;
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
                self.next();
            }
        }
        self.expect(")")
    }

    fn name(&mut self, end: &str) -> Result<&'s str> {
        let place = self.place;
        let name = self.take_while(|sign| sign.is_alphanumeric() || sign == '_');
        if name.is_empty() || !self.take(end) {
            return Err(self.refuse(place, "a group's name is missing"));
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

    /// Parse an escape after its backslash at `place`.
    fn escape(&mut self, place: usize, in_set: bool) -> Result<Escape> {
        let Some(letter) = self.next() else {
            return Err(self.refuse(place, "nothing follows the backslash"));
        };
        let named = |name| match Property::named(name) {
            Some(property) => Escape::Class(property, letter.is_ascii_uppercase()),
            None => Escape::Character(letter.into()),
        };
        let part = match letter {
            'x' => return self.hexadecimal(place, 2),
            'u' => return self.hexadecimal(place, 4),
            'U' => return self.hexadecimal(place, 8),
            'p' | 'P' => return self.property(place, letter == 'P'),
            'd' | 'D' => return Ok(named("Digit")),
            's' | 'S' => return Ok(named("Space")),
            'w' | 'W' => return Ok(named("Word")),
            'h' => return Ok(named("Blank")),
            'a' => return Ok(Escape::Character(7)),
            'b' if in_set => return Ok(Escape::Character(8)),
            'f' => return Ok(Escape::Character(12)),
            'n' => return Ok(Escape::Character(10)),
            'r' => return Ok(Escape::Character(13)),
            't' => return Ok(Escape::Character(9)),
            'v' => return Ok(Escape::Character(11)),
            '0'..='9' => return self.number(place, letter, in_set),
            _ if !letter.is_ascii_alphanumeric() => return Ok(Escape::Character(letter.into())),
            'A' if !in_set => Expression::Start,
            'Z' | 'z' if !in_set => Expression::End { before_line_feed: false },
            'b' | 'B' | 'm' | 'M' if !in_set => self.word_border(letter)?,
            'R' if !in_set => {
                let one = [(0xA, 0xD), (0x85, 0x85), (0x2028, 0x2029)];
                let two = ['\r', '\n'].map(|sign| Expression::Set(CharSet::of(sign)));
                let either = [Expression::Sequence(two.into()), Expression::Set(CharSet::new(one))];
                Expression::Atomic(Box::new(Expression::Choice(either.into())))
            }
            'g' if !in_set && self.take("<") => {
                let group = self.group_named(place, ">")?;
                self.reference(group, place)?
            }
            _ => return Err(self.refuse(place, &format!(r"\{letter} is not supported"))),
        };
        Ok(Escape::Part(part))
    }

    /// `\b`, `\B`, and the start and end of a word, `\m` and `\M`.
    fn word_border(&mut self, letter: char) -> Result<Expression> {
        let Some(Escape::Class(word, _)) = Property::named("Word").map(|word| Escape::Class(word, false))
        else {
            return Err(self.refuse(self.place, "words are not known"));
        };
        let word = self.members(word).clone();
        self.spend(word.ranges().len())?;
        let ahead = |negated| {
            let part = Box::new(Expression::Set(word.clone()));
            Expression::Ahead { part, negated }
        };
        let start = || Expression::Sequence(vec![behind(word.clone(), true), ahead(false)]);
        let end = || Expression::Sequence(vec![behind(word.clone(), false), ahead(true)]);
        let either = || Expression::Choice(vec![start(), end()]);
        Ok(match letter {
            'b' => either(),
            'B' => Expression::Ahead { part: Box::new(either()), negated: true },
            'm' => start(),
            _ => end(),
        })
    }

    fn hexadecimal(&mut self, place: usize, digits: usize) -> Result<Escape> {
        let written =
            self.rest().get(..digits).filter(|written| written.bytes().all(|b| b.is_ascii_hexdigit()));
        let code_point = written.and_then(|written| u32::from_str_radix(written, 16).ok());
        match code_point.filter(|code_point| *code_point <= 0x10_FFFF) {
            Some(code_point) => {
                self.place += digits;
                Ok(Escape::Character(code_point))
            }
            None => {
                Err(self.refuse(place, &format!("{digits} hexadecimal digits of a code point are missing")))
            }
        }
    }

    /// A digit after a backslash: an octal number, or a back-reference.
    fn number(&mut self, place: usize, first: char, in_set: bool) -> Result<Escape> {
        let rest = self.rest().as_bytes();
        let is_digit = |at: usize| rest.get(at).is_some_and(u8::is_ascii_digit);
        let is_octal = |at: usize| rest.get(at).is_some_and(|sign| (b'0'..=b'7').contains(sign));
        let first_is_octal = first < '8';
        if in_set && !first_is_octal {
            return Err(self.refuse(place, &format!(r"\{first} in a set is not supported")));
        }
        let more = match (is_octal(0), is_octal(1)) {
            (true, true) if first_is_octal => 2,
            (true, _) if in_set || first == '0' => 1,
            _ if in_set || first == '0' => 0,
            // One or two digits name a group.
            _ => {
                self.place += usize::from(is_digit(0));
                let group = self.source[place + 1..self.place].parse().unwrap_or(0);
                return self.reference(group, place).map(Escape::Part);
            }
        };
        self.place += more;
        let number = u32::from_str_radix(&self.source[place + 1..self.place], 8).unwrap_or(0);
        Ok(Escape::Character(number))
    }

    /// Parse `\p{...}` or `\pL` after the letter p.
    fn property(&mut self, place: usize, negated: bool) -> Result<Escape> {
        let (found, negated) = if self.take("{") {
            let turned = self.take("^");
            let (found, absent) = self.property_name();
            (found.filter(|_| self.take("}")), negated ^ turned ^ absent)
        } else {
            let rest = self.rest();
            let letter = rest.get(..1).filter(|letter| "CLMNPSZ".contains(letter));
            self.place += letter.map_or(0, str::len);
            (letter.and_then(Property::named), negated)
        };
        match found {
            Some(property) => Ok(Escape::Class(property, negated)),
            None => {
                let end = self.source[place..].find('}').map_or(self.place, |at| place + at + 1);
                let name: String = self.source[place..end].chars().take(SHOWN_CHARACTERS).collect();
                Err(self.refuse(place, &format!("there is no property {name}")))
            }
        }
    }

    /// Parse the name of a property; returns whether it is negated, too.
    fn property_name(&mut self) -> (Option<Property>, bool) {
        let name = self.take_while(|sign| sign.is_ascii_alphanumeric() || " &_-.".contains(sign));
        let place = self.place;
        let qualified = self.take(":") || self.take("=");
        let value = self.take_while(|sign| sign.is_ascii_alphanumeric() || " &_-./".contains(sign));
        if !qualified || value.trim().is_empty() {
            self.place = place;
            return (Property::named(name), false);
        }
        match Property::with_value(name, value) {
            Some((property, absent)) => (Some(property), absent),
            None => (None, false),
        }
    }

    /// Parse a set after its opening bracket at `place`.
    fn bracketed(&mut self, place: usize) -> Result<Expression> {
        let negated = self.take("^");
        let mut items = SetItems::default();
        while items.count == 0 || !self.take("]") {
            self.item(place, &mut items)?;
        }
        let both = |&(property, negated): &(Property, bool)| items.properties.contains(&(property, !negated));
        if negated && items.properties.iter().any(both) {
            return Err(
                self.refuse(place, "a set that excludes both a class and its complement is not supported")
            );
        }
        let set = match items.properties[..] {
            [(property, absent)] if items.count == 1 => self.class(property, absent),
            _ => CharSet::new(items.ranges),
        };
        self.set(if negated { set.complement() } else { set })
    }

    /// Read one item of a set: a character, a range or a class.
    fn item(&mut self, opening: usize, items: &mut SetItems) -> Result<()> {
        self.refuse_operator()?;
        let first = self.member(opening)?;
        self.refuse_operator()?;
        let place = self.place;
        let Escape::Character(first) = first else { return self.add(first, items) };
        if !self.take("-") || self.rest().starts_with(']') {
            self.place = place;
            return self.add(Escape::Character(first), items);
        }
        match self.member(opening)? {
            Escape::Character(last) if first <= last => self.add_range(first, last, items),
            Escape::Character(_) => {
                Err(self.refuse(place, "a range has to go from the smaller character to the larger"))
            }
            class => {
                self.add(Escape::Character(first), items)?;
                self.add(Escape::Character('-'.into()), items)?;
                self.add(class, items)
            }
        }
    }

    /// Refuse characters in a set that are ordinary for the `regex` module, but begin a nested set or an operation for
    /// other engines.
    fn refuse_operator(&self) -> Result<()> {
        let rest = self.rest();
        let nested = rest.starts_with('[') && !rest.starts_with("[:");
        match ["&&", "||", "--", "~~", "["].into_iter().find(|sign| rest.starts_with(sign)) {
            Some(sign) if sign != "[" || nested => {
                let escaped: String = sign.chars().flat_map(|sign| ['\\', sign]).collect();
                let reason =
                    format!("{sign} within a set, unless escaped ({escaped}): engines read it differently");
                Err(self.refuse(self.place, &reason))
            }
            _ => Ok(()),
        }
    }

    fn add_range(&mut self, first: u32, last: u32, items: &mut SetItems) -> Result<()> {
        let range = CharSet::new([(first, last)]);
        let ranges = if self.flags.ignore_case { fold(&range) } else { range };
        self.spend(ranges.ranges().len())?;
        items.ranges.extend(ranges.ranges());
        items.count += 1;
        Ok(())
    }

    fn add(&mut self, item: Escape, items: &mut SetItems) -> Result<()> {
        match item {
            Escape::Character(code_point) => return self.add_range(code_point, code_point, items),
            Escape::Class(property, negated) => {
                let mut ranges = self.members(property).clone();
                if self.flags.ignore_case {
                    ranges = fold(&ranges);
                }
                if negated {
                    ranges = ranges.complement();
                }
                self.spend(ranges.ranges().len())?;
                items.ranges.extend(ranges.ranges());
                items.properties.push((property, negated));
            }
            Escape::Part(_) => {}
        }
        items.count += 1;
        Ok(())
    }

    /// A character or a class inside a set.
    fn member(&mut self, opening: usize) -> Result<Escape> {
        let place = self.place;
        if self.take("[:") {
            if let Some(class) = self.posix(place)? {
                return Ok(class);
            }
            self.place = place;
        }
        match self.next() {
            Some('\\') => self.escape(place, true),
            Some(sign) => Ok(Escape::Character(sign.into())),
            None => Err(self.refuse(opening, "a set is not closed")),
        }
    }

    /// Parse `[:alpha:]` after `[:`; `None` if it is not a class.
    fn posix(&mut self, place: usize) -> Result<Option<Escape>> {
        let turned = self.take("^");
        let name = self.rest();
        let (mut found, absent) = self.property_name();
        if !self.take(":]") {
            return Ok(None);
        }
        let name = name.split(":]").next().unwrap_or(name).to_ascii_uppercase();
        if ["ALNUM", "DIGIT", "PUNCT", "XDIGIT"].contains(&name.as_str()) {
            found = Property::named(&format!("POSIX{name}"));
        }
        match found {
            Some(property) => Ok(Some(Escape::Class(property, turned ^ absent))),
            None => Err(self.refuse(place, "there is no such class")),
        }
    }
}

/// The items of a set in brackets.
#[derive(Default)]
struct SetItems {
    count: usize,
    ranges: Vec<Range>,
    properties: Vec<(Property, bool)>,
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

/// The set extended by all characters that match a member when case is ignored.
fn fold(set: &CharSet) -> CharSet {
    let pairs = case_pairs();
    let others = set.ranges().iter().flat_map(|&(first, last)| {
        let start = pairs.partition_point(|(one, _)| *one < first);
        let end = start + pairs[start..].partition_point(|(one, _)| *one <= last);
        pairs[start..end].iter().map(|&(_, other)| (other, other))
    });
    CharSet::new(set.ranges().iter().copied().chain(others))
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
