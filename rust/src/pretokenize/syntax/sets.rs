//! Sets in brackets, classes and escapes.

use super::{Dialect, Escape, MOST_RANGES, Parser, SHOWN_CHARACTERS, behind};
use crate::error::Result;
use crate::pretokenize::expression::Expression;
use crate::pretokenize::set::CharSet;
use crate::unicode::lookup::{Property, Range, case_pairs};

/// The items of a set in brackets.
#[derive(Default)]
struct SetItems {
    count: usize,
    ranges: Vec<Range>,
    properties: Vec<(Property, bool)>,
}

impl<'s> Parser<'s> {
    /// A character outside a set, whose escape begins at `place`.
    pub(super) fn literal(&mut self, place: usize, code_point: u32) -> Result<Expression> {
        let letter = char::from_u32(code_point).is_some_and(char::is_alphabetic);
        if letter && self.ignores_case_by_text() && self.source[place..].starts_with('\\') {
            return Err(self.refuse(place, "case is ignored in a letter that is written as a number"));
        }
        let set = self.range(code_point, code_point);
        self.set(place, set)
    }

    /// A set of characters, which is spelled from `place` on.
    pub(super) fn set(&mut self, place: usize, set: CharSet) -> Result<Expression> {
        self.spend(set.ranges().len())?;
        if self.is_foreign() {
            self.write_set(place, &set)?;
        }
        Ok(Expression::Set(set))
    }

    pub(super) fn spend(&mut self, ranges: usize) -> Result<()> {
        self.ranges += ranges;
        match self.ranges {
            0..=MOST_RANGES => Ok(()),
            _ => Err(self.refuse(self.place, "it names too many classes")),
        }
    }

    /// The members of a property outside a set.
    pub(super) fn class(&mut self, property: Property, negated: bool) -> CharSet {
        let property = if self.flags.ignore_case { property.ignoring_case() } else { property };
        let set = self.members(property);
        if negated { set.complement() } else { set.clone() }
    }

    fn members(&mut self, property: Property) -> &CharSet {
        self.known.entry(property).or_insert_with(|| CharSet::new(property.ranges()))
    }

    /// The members of a range.
    fn range(&mut self, first: u32, last: u32) -> CharSet {
        self.note_range(first, last);
        self.fold(CharSet::new([(first, last)]))
    }

    /// Where case is ignored, the set extended by all characters that match a member; other engines do not match the
    /// Turkish letters with `i`.
    pub(super) fn fold(&self, set: CharSet) -> CharSet {
        if !self.flags.ignore_case {
            return set;
        }
        let (pairs, foreign) = (case_pairs(), self.is_foreign());
        let others = set.ranges().iter().flat_map(|&(first, last)| {
            let start = pairs.partition_point(|(one, _)| *one < first);
            let end = start + pairs[start..].partition_point(|(one, _)| *one <= last);
            let turkish = |code_point| matches!(code_point, 0x130 | 0x131);
            let matching = pairs[start..end].iter();
            let matching =
                matching.filter(move |&&(one, other)| !(foreign && (turkish(one) || turkish(other))));
            matching.map(|&(_, other)| (other, other))
        });
        CharSet::new(set.ranges().iter().copied().chain(others))
    }

    /// Parse an escape after its backslash at `place`.
    pub(super) fn escape(&mut self, place: usize, in_set: bool) -> Result<Escape> {
        if self.is_foreign() {
            return self.foreign_escape(place, in_set);
        }
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
            'b' if in_set => return Ok(Escape::Character(8)),
            'a' | 'f' | 'n' | 'r' | 't' | 'v' => return Ok(Escape::Character(control(letter))),
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
        let word = CharSet::new(Property::named("Word").map(Property::ranges).unwrap_or_default());
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

    /// A code point in hexadecimal: a fixed number of digits, or in other dialects any number in braces.
    pub(super) fn hexadecimal(&mut self, place: usize, digits: usize) -> Result<Escape> {
        let braces = self.dialect == Dialect::Rust || self.dialect == Dialect::Oniguruma && digits == 2;
        let braced = braces && self.take("{");
        let written = match braced {
            true => self.take_while(|sign| sign.is_ascii_hexdigit()),
            false => self.rest().get(..digits).unwrap_or(""),
        };
        let complete =
            if braced { self.take("}") } else { written.bytes().all(|digit| digit.is_ascii_hexdigit()) };
        // In Oniguruma, two digits are a byte.
        let most = match self.dialect {
            Dialect::Oniguruma if digits == 2 && !braced => 0x7F,
            _ => 0x10_FFFF,
        };
        let code_point = u32::from_str_radix(written, 16).ok().filter(|code_point| {
            complete && *code_point <= most && !(self.is_foreign() && char::from_u32(*code_point).is_none())
        });
        let Some(code_point) = code_point else {
            let reason = format!("{digits} hexadecimal digits of a code point are missing");
            return Err(self.refuse(place, &reason));
        };
        self.place += if braced { 0 } else { digits };
        Ok(Escape::Character(code_point))
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
            (self.property_letter().and_then(Property::named), negated)
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

    /// The letter of `\pL`.
    pub(super) fn property_letter(&mut self) -> Option<&'s str> {
        let letter = self.rest().get(..1).filter(|letter| "CLMNPSZ".contains(letter));
        self.place += letter.map_or(0, str::len);
        letter
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

    /// Parse a set after its opening bracket at `place`. In other dialects, a set may be in a set, and operators may stand
    /// between sets.
    pub(super) fn bracketed(&mut self, place: usize) -> Result<CharSet> {
        self.enter("sets")?;
        let negated = self.take("^");
        if self.is_foreign() && self.rest().starts_with(']') {
            return Err(self.refuse(place, r"a set begins with its end; write \] for a bracket"));
        }
        let mut set = self.operand(place, negated)?;
        while let Some(operator) = self.operator()? {
            let other = self.operand(place, false)?;
            set = match operator {
                '&' => set.intersection(&other),
                '-' => set.difference(&other),
                _ => set.difference(&other).union(&other.difference(&set)),
            };
        }
        self.expect("]")?;
        self.depth -= 1;
        Ok(if negated { set.complement() } else { set })
    }

    /// Parse the items of a set up to its end, or to an operator.
    fn operand(&mut self, opening: usize, negated: bool) -> Result<CharSet> {
        let mut items = SetItems::default();
        let begins_with_any = !self.is_foreign();
        while begins_with_any && items.count == 0 || !(self.rest().starts_with(']') || self.at_operator()) {
            self.item(opening, &mut items)?;
        }
        let both = |&(property, negated): &(Property, bool)| items.properties.contains(&(property, !negated));
        if negated && items.properties.iter().any(both) {
            let reason = "a set that excludes both a class and its complement is not supported";
            return Err(self.refuse(opening, reason));
        }
        Ok(match items.properties[..] {
            [(property, absent)] if items.count == 1 => self.class(property, absent),
            _ => CharSet::new(items.ranges),
        })
    }

    /// Read one item of a set: a character, a range or a class.
    fn item(&mut self, opening: usize, items: &mut SetItems) -> Result<()> {
        self.refuse_operator()?;
        let is_first = items.count == 0;
        let first = self.member(opening, is_first)?;
        self.refuse_operator()?;
        let place = self.place;
        let is_range = self.rest().starts_with('-') && !self.rest().starts_with("-]") && !self.at_operator();
        let Escape::Character(first) = first else {
            if is_range && self.is_foreign() {
                return Err(self.refuse(place, "a range begins with a class"));
            }
            return self.add(first, items);
        };
        if !is_range {
            return self.add(Escape::Character(first), items);
        }
        self.next();
        match self.member(opening, false)? {
            Escape::Character(last) if first <= last => {
                let range = self.range(first, last);
                self.add(Escape::Members(range), items)
            }
            Escape::Character(_) => {
                Err(self.refuse(place, "a range has to go from the smaller character to the larger"))
            }
            _ if self.is_foreign() => Err(self.refuse(place, "a range ends with a class")),
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
            Some(sign) if !self.is_foreign() && (sign != "[" || nested) => {
                let escaped: String = sign.chars().flat_map(|sign| ['\\', sign]).collect();
                let reason =
                    format!("{sign} within a set, unless escaped ({escaped}): engines read it differently");
                Err(self.refuse(self.place, &reason))
            }
            _ => Ok(()),
        }
    }

    fn add(&mut self, item: Escape, items: &mut SetItems) -> Result<()> {
        let set = match item {
            Escape::Character(code_point) => self.range(code_point, code_point),
            Escape::Members(set) => set,
            Escape::Class(property, negated) => {
                items.properties.push((property, negated));
                let set = self.members(property).clone();
                let set = self.fold(set);
                if negated { set.complement() } else { set }
            }
            Escape::Part(_) => CharSet::default(),
        };
        self.spend(set.ranges().len())?;
        items.ranges.extend(set.ranges());
        items.count += 1;
        Ok(())
    }

    /// A character, a class or, in other dialects, a set inside a set.
    fn member(&mut self, opening: usize, is_first: bool) -> Result<Escape> {
        let place = self.place;
        if self.take("[:") {
            if self.is_foreign() {
                return self.foreign_posix(place).map(Escape::Members);
            }
            if let Some(class) = self.posix(place)? {
                return Ok(class);
            }
            self.place = place;
        }
        match self.next() {
            Some('\\') => self.escape(place, true),
            Some('[') if self.is_foreign() => self.bracketed(place).map(Escape::Members),
            Some('-') if self.is_foreign() && !is_first && !self.rest().starts_with(']') => {
                Err(self.refuse(place, r"a hyphen stands between two items of a set; write \-"))
            }
            Some(sign) if self.flags.verbose && sign.is_whitespace() => {
                Err(self.refuse(place, "a blank stands in a set in verbose mode"))
            }
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

/// The control character of an escape such as `\n`.
pub(super) fn control(letter: char) -> u32 {
    match letter {
        'a' => 7,
        't' => 9,
        'n' => 10,
        'v' => 11,
        'f' => 12,
        'r' => 13,
        _ => 27,
    }
}
