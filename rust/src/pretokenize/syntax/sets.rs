//! Sets in brackets, classes and escapes.

use super::{Dialect, MOST_RANGES, Parser, SHOWN_CHARACTERS, ahead, behind, end_of_text};
use crate::error::Result;
use crate::pretokenize::expression::Expression;
use crate::pretokenize::set::CharSet;
use crate::pretokenize::syntax::written::{listed, ranges};
use crate::unicode::lookup::{Property, Range, case_pairs};

/// A set of characters, and how it is written in our dialect. (In our own dialect, that is of no use.)
pub(super) struct Class {
    members: CharSet,
    spelling: Spelling,
}

enum Spelling {
    /// Items between brackets.
    Items(String),
    /// A part of a pattern.
    Part(String),
}

impl From<CharSet> for Class {
    fn from(members: CharSet) -> Self {
        Self { spelling: Spelling::Part(listed(&members)), members }
    }
}

impl Class {
    fn text(&self) -> String {
        match &self.spelling {
            Spelling::Items(items) => format!("[{items}]"),
            Spelling::Part(part) => part.clone(),
        }
    }

    fn complement(self) -> Self {
        let text = match &self.spelling {
            Spelling::Items(items) => format!("[^{items}]"),
            Spelling::Part(part) => format!(r"(?:(?!{part})[\s\S])"),
        };
        Self { members: self.members.complement(), spelling: Spelling::Part(text) }
    }

    fn intersection(&self, other: &Self) -> Self {
        let text = format!("(?:(?={}){})", self.text(), other.text());
        Self { members: self.members.intersection(&other.members), spelling: Spelling::Part(text) }
    }

    fn difference(&self, other: &Self) -> Self {
        let text = format!("(?:(?!{}){})", other.text(), self.text());
        Self { members: self.members.difference(&other.members), spelling: Spelling::Part(text) }
    }
}

/// The meaning of an escape, or of an item of a set.
enum Item {
    Character(u32),
    Class(Class),
}

/// The items of a set in brackets.
#[derive(Default)]
struct SetItems {
    count: usize,
    ranges: Vec<Range>,
    properties: Vec<(Property, bool)>,
    /// How they are written in our dialect: as items, or as parts of a pattern.
    spelled: String,
    parts: Vec<String>,
}

/// Oniguruma's `\w` in a set, as items of ours.
const WORD: &str = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}";
/// The same outside a set, where Oniguruma uses its table of Latin-1 for the first 256 characters.
const WORD_ALONE: &str = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}²³¹¼½¾";

/// Names of properties that other engines do not have, or understand in another way.
const ONLY_OURS: [&str; 11] =
    ["alnum", "blank", "cntrl", "graph", "h", "horizspace", "print", "v", "vertspace", "word", "xdigit"];

/// Characters and classes outside of brackets.
impl Parser<'_> {
    /// A character outside a set, whose escape begins at `place`.
    pub(super) fn literal(&mut self, place: usize, code_point: u32) -> Result<Expression> {
        let letter = char::from_u32(code_point).is_some_and(char::is_alphabetic);
        if letter && self.ignores_case_by_text() && self.source[place..].starts_with('\\') {
            return Err(self.refuse(place, "case is ignored in a letter that is written as a number"));
        }
        let class = self.fold(CharSet::new([(code_point, code_point)])).into();
        self.set(place, class)
    }

    /// A set of characters, which is spelled from `place` on.
    pub(super) fn set(&mut self, place: usize, class: Class) -> Result<Expression> {
        self.spend(class.members.ranges().len())?;
        let spelling = &self.source[place..self.place];
        if self.ignores_case_by_text() {
            let ascii = CharSet::new([(0, 0x7F), (0x17F, 0x17F), (0x212A, 0x212A)]);
            let beyond = |set: &CharSet| !set.difference(&ascii).is_empty();
            let is_class = [r"\s", r"\S", r"\d", r"\D", "."].contains(&spelling);
            if beyond(&class.members) && beyond(&class.members.complement()) && !is_class {
                return Err(self.refuse(place, "case is ignored in a set beyond ASCII"));
            }
        }
        self.spell(&class.members, |parser| match parser.flags.ignore_case {
            true => format!("(?i:{spelling})"),
            false => spelling.to_owned(),
        });
        self.spell(&class.members, |_| class.text());
        Ok(Expression::Set(class.members))
    }

    pub(super) fn spend(&mut self, ranges: usize) -> Result<()> {
        self.ranges += ranges;
        match self.ranges {
            0..=MOST_RANGES => Ok(()),
            _ => Err(self.refuse(self.place, "it names too many classes")),
        }
    }

    /// Where case is ignored, the set extended by all characters that match a member; other engines do not match the
    /// Turkish letters with `i`.
    fn fold(&self, set: CharSet) -> CharSet {
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

    fn members(&mut self, property: Property) -> CharSet {
        self.known.entry(property).or_insert_with(|| CharSet::new(property.ranges())).clone()
    }

    /// The members of a property that stands alone: in our dialect, no others match them where case is ignored.
    fn members_alone(&mut self, property: Property) -> CharSet {
        if self.is_foreign() {
            let members = self.members(property);
            return self.fold(members);
        }
        self.members(if self.flags.ignore_case { property.ignoring_case() } else { property })
    }

    /// Parse an escape outside a set, after its backslash at `place`.
    pub(super) fn escape(&mut self, place: usize) -> Result<Expression> {
        let letter = self.next();
        let rust = self.dialect == Dialect::Rust;
        if matches!(letter, Some('b' | 'B')) && rust && self.peek() == Some('{') {
            return Err(self.refuse(place, r"\b with a brace is not supported"));
        }
        Ok(match letter {
            Some('A') => Expression::Start,
            Some('z') if self.is_foreign() => end_of_text(),
            Some('z') => Expression::End { before_line_feed: false },
            Some('Z') => match self.dialect {
                Dialect::Bpetite => Expression::End { before_line_feed: false },
                Dialect::Oniguruma => Expression::End { before_line_feed: true },
                Dialect::Rust => return Err(self.refuse(place, r"\Z is not supported; write \z")),
            },
            Some('b') => self.word_border()?,
            Some('B') => Expression::Ahead { part: Box::new(self.word_border()?), negated: true },
            Some('w' | 'W') if self.dialect == Dialect::Oniguruma => {
                let class = self.word(WORD_ALONE, letter == Some('W'))?;
                self.set(place, class)?
            }
            Some(letter) => match self.item_of(place, letter)? {
                (Item::Character(code_point), _) => self.literal(place, code_point)?,
                (Item::Class(class), None) => self.set(place, class)?,
                (Item::Class(_), Some((property, negated))) => {
                    let members = self.members_alone(property);
                    let members = if negated { members.complement() } else { members };
                    self.set(place, members.into())?
                }
            },
            None => return Err(self.refuse(place, "nothing follows the backslash")),
        })
    }

    /// The start or the end of a word.
    fn word_border(&mut self) -> Result<Expression> {
        let word = match self.dialect {
            Dialect::Oniguruma => self.word(WORD_ALONE, false)?,
            _ => self.word(r"\w", false)?,
        };
        let set = word.members.clone();
        self.spell(&set, |_| word.text());
        self.spend(set.ranges().len())?;
        let border =
            |starts| Expression::Sequence(vec![behind(set.clone(), starts), ahead(set.clone(), !starts)]);
        Ok(Expression::Choice(vec![border(true), border(false)]))
    }

    /// The class of these items of our dialect.
    fn word(&mut self, items: &str, negated: bool) -> Result<Class> {
        let Expression::Set(members) = super::parse(&format!("[{items}]"))? else {
            return Err(self.refuse(self.place, "a class has no members"));
        };
        let class = Class { members: self.fold(members), spelling: Spelling::Items(items.to_owned()) };
        Ok(if negated { class.complement() } else { class })
    }
}

/// Escapes in and outside of brackets.
impl<'s> Parser<'s> {
    /// Parse an escape after its letter: a character, or a class, and its property if it has one.
    fn item_of(&mut self, place: usize, letter: char) -> Result<(Item, Option<(Property, bool)>)> {
        let (rust, ours) = (self.dialect == Dialect::Rust, !self.is_foreign());
        let code_point = match letter {
            'd' | 'D' => return self.class(place, Property::named("Digit"), letter == 'D'),
            's' | 'S' => return self.class(place, Property::named("Space"), letter == 'S'),
            'h' if ours => return self.class(place, Property::named("Blank"), false),
            'w' | 'W' if self.dialect == Dialect::Oniguruma => {
                return Ok((Item::Class(self.word(WORD, letter == 'W')?), None));
            }
            'w' | 'W' => return self.class(place, Property::named("Word"), letter == 'W'),
            'p' | 'P' => return self.property(place, letter == 'P'),
            'x' => self.hexadecimal(place, 2)?,
            'u' => self.hexadecimal(place, 4)?,
            'U' if self.dialect != Dialect::Oniguruma => self.hexadecimal(place, 8)?,
            'a' => 7,
            't' => 9,
            'n' => 10,
            'v' => 11,
            'f' => 12,
            'r' => 13,
            'e' if !ours => 27,
            '<' | '>' if rust => {
                return Err(self.refuse(place, &format!(r"\{letter} is not supported")));
            }
            _ if ours && !letter.is_ascii_alphanumeric() || !letter.is_alphanumeric() => letter.into(),
            _ => return Err(self.refuse(place, &format!(r"\{letter} is not supported"))),
        };
        Ok((Item::Character(code_point), None))
    }

    /// The class of a property, as an item of a set.
    fn class(
        &mut self,
        place: usize,
        property: Option<Property>,
        negated: bool,
    ) -> Result<(Item, Option<(Property, bool)>)> {
        let Some(property) = property else {
            let end = self.source[place..].find('}').map_or(self.place, |at| place + at + 1);
            let name: String = self.source[place..end].chars().take(SHOWN_CHARACTERS).collect();
            return Err(self.refuse(place, &format!("there is no property {name}")));
        };
        let members = self.members(property);
        let members = self.fold(members);
        let spelling = Spelling::Items(self.source[place..self.place].to_owned());
        let members = if negated { members.complement() } else { members };
        Ok((Item::Class(Class { members, spelling }), Some((property, negated))))
    }

    /// A code point in hexadecimal: a fixed number of digits, or in other dialects any number in braces.
    fn hexadecimal(&mut self, place: usize, digits: usize) -> Result<u32> {
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
        Ok(code_point)
    }

    /// Parse `\p{...}` or `\pL` after the letter p.
    fn property(&mut self, place: usize, negated: bool) -> Result<(Item, Option<(Property, bool)>)> {
        if !self.take("{") {
            let letter = self.rest().get(..1).filter(|letter| "CLMNPSZ".contains(letter));
            let letter = letter.filter(|_| self.dialect != Dialect::Oniguruma);
            self.place += letter.map_or(0, str::len);
            return self.class(place, letter.and_then(Property::named), negated);
        }
        let turned = self.take("^");
        let name = self.take_while(|sign| sign.is_ascii_alphanumeric() || " &_-.:=/".contains(sign));
        let found = match name.split_once([':', '=']) {
            Some(_) if self.dialect == Dialect::Oniguruma => None,
            Some((name, value)) => Property::with_value(name, value),
            None => Property::named(name).filter(|_| !self.is_only_ours(name)).map(|found| (found, false)),
        };
        let found = found.filter(|_| self.take("}"));
        let absent = found.is_some_and(|(_, absent)| absent);
        self.class(place, found.map(|(property, _)| property), negated ^ turned ^ absent)
    }

    fn is_only_ours(&self, name: &str) -> bool {
        let plain: String = name.chars().filter(|sign| !" _-".contains(*sign)).collect();
        let plain = plain.to_ascii_lowercase();
        self.is_foreign() && (ONLY_OURS.contains(&&*plain) || plain.starts_with("posix"))
    }
}

/// Sets in brackets.
impl Parser<'_> {
    /// Parse a set after its opening bracket at `place`. In other dialects, a set may be in a set, and operators may stand
    /// between sets.
    pub(super) fn bracketed(&mut self, place: usize) -> Result<Class> {
        self.enter("sets")?;
        let negated = self.take("^");
        if self.is_foreign() && self.rest().starts_with(']') {
            return Err(self.refuse(place, r"a set begins with its end; write \] for a bracket"));
        }
        let mut class = self.operand(place, negated)?;
        while self.at_operator() {
            let (operator, sign) = (self.place, self.next());
            self.next();
            if self.rest().starts_with(['&', '-', '~', ']']) {
                return Err(self.refuse(operator, "a set is missing beside its operator"));
            }
            let other = self.operand(place, false)?;
            class = match sign {
                Some('&') => class.intersection(&other),
                Some('-') => class.difference(&other),
                _ => return Err(self.refuse(operator, "~~ within a set is not supported")),
            };
        }
        self.expect("]")?;
        self.depth -= 1;
        Ok(if negated { class.complement() } else { class })
    }

    fn at_operator(&self) -> bool {
        let operators: &[&str] = match self.dialect {
            Dialect::Bpetite => &[],
            Dialect::Rust => &["&&", "--", "~~"],
            Dialect::Oniguruma => &["&&"],
        };
        operators.iter().any(|operator| self.rest().starts_with(operator))
    }

    /// Parse the items of a set up to its end, or to an operator.
    fn operand(&mut self, opening: usize, negated: bool) -> Result<Class> {
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
        let members = match items.properties[..] {
            [(property, absent)] if items.count == 1 => {
                let members = self.members_alone(property);
                if absent { members.complement() } else { members }
            }
            _ => CharSet::new(items.ranges),
        };
        let spelling = match (items.spelled.is_empty(), &items.parts[..]) {
            (_, []) => Spelling::Items(items.spelled),
            (true, [part]) => Spelling::Part(part.clone()),
            (true, parts) => Spelling::Part(format!("(?:{})", parts.join("|"))),
            (false, parts) => Spelling::Part(format!("(?:[{}]|{})", items.spelled, parts.join("|"))),
        };
        Ok(Class { members, spelling })
    }

    /// Read one item of a set: a character, a range or a class.
    fn item(&mut self, opening: usize, items: &mut SetItems) -> Result<()> {
        self.refuse_operator()?;
        let is_first = items.count == 0;
        let (first, property) = self.member(opening, is_first)?;
        self.refuse_operator()?;
        let place = self.place;
        let is_range = self.rest().starts_with('-') && !self.rest().starts_with("-]") && !self.at_operator();
        items.properties.extend(property);
        let Item::Character(first) = first else {
            if is_range && self.is_foreign() {
                return Err(self.refuse(place, "a range begins with a class"));
            }
            return self.add(first, items);
        };
        if !is_range {
            return self.add_range(first, first, items);
        }
        self.next();
        match self.member(opening, false)? {
            (Item::Character(last), _) if first <= last => self.add_range(first, last, items),
            (Item::Character(_), _) => {
                Err(self.refuse(place, "a range has to go from the smaller character to the larger"))
            }
            _ if self.is_foreign() => Err(self.refuse(place, "a range ends with a class")),
            (class, property) => {
                items.properties.extend(property);
                self.add_range(first, first, items)?;
                self.add_range('-'.into(), '-'.into(), items)?;
                self.add(class, items)
            }
        }
    }

    /// Refuse characters in a set that are ordinary for the `regex` module, but begin a nested set or an operation for
    /// other engines.
    fn refuse_operator(&self) -> Result<()> {
        let rest = self.rest();
        match ["&&", "||", "--", "~~", "["].into_iter().find(|sign| rest.starts_with(sign)) {
            Some(sign) if !self.is_foreign() => {
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
        let class = Class { spelling: Spelling::Items(ranges(&range)), members: self.fold(range) };
        self.add(Item::Class(class), items)
    }

    fn add(&mut self, item: Item, items: &mut SetItems) -> Result<()> {
        let Item::Class(class) = item else { return Ok(()) };
        self.spend(class.members.ranges().len())?;
        items.ranges.extend(class.members.ranges());
        items.count += 1;
        match class.spelling {
            Spelling::Items(spelled) => items.spelled += &spelled,
            Spelling::Part(part) => items.parts.push(part),
        }
        Ok(())
    }

    /// A character, a class or, in other dialects, a set inside a set.
    fn member(&mut self, opening: usize, is_first: bool) -> Result<(Item, Option<(Property, bool)>)> {
        let place = self.place;
        if self.take("[:") {
            return Err(self.refuse(place, r"[: within a set is not supported; write a property, \p{...}"));
        }
        match self.next() {
            Some('\\') => match self.next() {
                Some('b') if !self.is_foreign() => Ok((Item::Character(8), None)),
                Some(letter) => self.item_of(place, letter),
                None => Err(self.refuse(place, "nothing follows the backslash")),
            },
            Some('[') if self.is_foreign() => Ok((Item::Class(self.bracketed(place)?), None)),
            Some('-') if self.is_foreign() && !is_first && !self.rest().starts_with(']') => {
                Err(self.refuse(place, r"a hyphen stands between two items of a set; write \-"))
            }
            Some(sign) => Ok((Item::Character(sign.into()), None)),
            None => Err(self.refuse(opening, "a set is not closed")),
        }
    }
}
