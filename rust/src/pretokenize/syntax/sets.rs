//! Parses sets in brackets, classes and escapes.

use super::{MOST_RANGES, Parser, SHOWN_CHARACTERS, ahead, behind};
use crate::error::Result;
use crate::pretokenize::expression::Expression;
use crate::pretokenize::set::CharSet;
use crate::unicode::lookup::{Property, Range, case_pairs};

/// The meaning of an escape, or of an item of a set.
enum Item {
    Character(u32),
    /// The characters that have a property, or if it is negated, lack it.
    Class(Property, bool),
}

/// The items of a set in brackets.
#[derive(Default)]
struct SetItems {
    count: usize,
    ranges: Vec<Range>,
    classes: Vec<(Property, bool)>,
}

/// Outside of brackets.
impl Parser<'_> {
    pub(super) fn literal(&mut self, code_point: u32) -> Result<Expression> {
        self.set(self.fold(CharSet::new([(code_point, code_point)])))
    }

    fn set(&mut self, members: CharSet) -> Result<Expression> {
        self.spend(members.ranges().len())?;
        Ok(Expression::Set(members))
    }

    fn spend(&mut self, ranges: usize) -> Result<()> {
        self.ranges += ranges;
        match self.ranges {
            0..=MOST_RANGES => Ok(()),
            _ => self.source.refuse(self.source.place, "it names too many classes"),
        }
    }

    /// Where case is ignored, extends the set by all characters that match a member.
    fn fold(&self, set: CharSet) -> CharSet {
        if !self.flags.ignore_case {
            return set;
        }
        let pairs = case_pairs();
        let mut ranges = set.ranges().to_vec();
        for &(first, last) in set.ranges() {
            let start = pairs.partition_point(|(member, _)| *member < first);
            let end = start + pairs[start..].partition_point(|(member, _)| *member <= last);
            for &(_, match_of_member) in &pairs[start..end] {
                ranges.push((match_of_member, match_of_member));
            }
        }
        CharSet::new(ranges)
    }

    fn members(&mut self, property: Property) -> CharSet {
        self.properties.entry(property).or_insert_with(|| CharSet::new(property.ranges())).clone()
    }

    /// Returns the members of a class that is not in a set with others: where case is ignored,
    /// nothing else matches them.
    fn class_alone(&mut self, property: Property, negated: bool) -> CharSet {
        let property = if self.flags.ignore_case { property.ignoring_case() } else { property };
        let members = self.members(property);
        if negated { members.complement() } else { members }
    }

    /// Parses an escape outside a set, after its backslash at `place`.
    pub(super) fn escape(&mut self, place: usize) -> Result<Expression> {
        Ok(match self.source.next() {
            Some('A') => Expression::Start,
            Some('z' | 'Z') => Expression::End { before_line_feed: false },
            Some('b') => self.word_border()?,
            Some('B') => Expression::Ahead { part: Box::new(self.word_border()?), negated: true },
            Some(letter) => match self.item_of(place, letter)? {
                Item::Character(code_point) => self.literal(code_point)?,
                Item::Class(property, negated) => {
                    let members = self.class_alone(property, negated);
                    self.set(members)?
                }
            },
            None => return self.source.refuse(place, "nothing follows the backslash"),
        })
    }

    /// Returns what matches at the start or the end of a word.
    fn word_border(&mut self) -> Result<Expression> {
        let word =
            Property::named("Word").map(|property| self.members(property)).unwrap_or_default();
        let word = self.fold(word);
        self.spend(word.ranges().len())?;
        let start = vec![behind(word.clone(), true), ahead(word.clone(), false)];
        let end = vec![behind(word.clone(), false), ahead(word, true)];
        Ok(Expression::Choice(vec![Expression::Sequence(start), Expression::Sequence(end)]))
    }

    /// Parses an escape after its letter, in or outside of brackets.
    fn item_of(&mut self, place: usize, letter: char) -> Result<Item> {
        let property = match letter {
            'd' | 'D' => Property::named("Digit"),
            's' | 'S' => Property::named("Space"),
            'w' | 'W' => Property::named("Word"),
            'h' => Property::named("Blank"),
            'p' | 'P' => return self.property(place, letter == 'P'),
            _ => None,
        };
        if let Some(property) = property {
            return Ok(Item::Class(property, letter.is_ascii_uppercase()));
        }
        Ok(Item::Character(match letter {
            'x' => self.source.hexadecimal(place, 2, false)?,
            'u' => self.source.hexadecimal(place, 4, false)?,
            'U' => self.source.hexadecimal(place, 8, false)?,
            'a' => 7,
            't' => 9,
            'n' => 10,
            'v' => 11,
            'f' => 12,
            'r' => 13,
            _ if !letter.is_ascii_alphanumeric() => letter.into(),
            _ => return self.source.refuse(place, format!(r"\{letter} is not supported")),
        }))
    }

    /// Parses `\p{...}` or `\pL` after the letter p.
    fn property(&mut self, place: usize, negated: bool) -> Result<Item> {
        let class = self.source.property().and_then(|(is_negated, name, value)| {
            let (property, is_absent) = match value {
                Some(value) => Property::with_value(name, value)?,
                None => (Property::named(name)?, false),
            };
            Some(Item::Class(property, negated ^ is_negated ^ is_absent))
        });
        if let Some(class) = class {
            return Ok(class);
        }
        let end =
            self.source.whole[place..].find('}').map_or(self.source.place, |at| place + at + 1);
        let name: String = self.source.whole[place..end].chars().take(SHOWN_CHARACTERS).collect();
        self.source.refuse(place, format!("there is no property {name}"))
    }
}

/// Sets in brackets.
impl Parser<'_> {
    /// Parses a set after its opening bracket at `place`.
    pub(super) fn bracketed(&mut self, place: usize) -> Result<Expression> {
        let negated = self.source.take("^");
        let mut items = SetItems::default();
        while items.count == 0 || !self.source.rest().starts_with(']') {
            self.item(place, &mut items)?;
        }
        self.source.next();
        let has_complement =
            |&(property, negated): &(Property, bool)| items.classes.contains(&(property, !negated));
        if negated && items.classes.iter().any(has_complement) {
            let reason = "a set that excludes both a class and its complement is not supported";
            return self.source.refuse(place, reason);
        }
        let members = match items.classes[..] {
            [(property, negated)] if items.count == 1 => self.class_alone(property, negated),
            _ => CharSet::new(items.ranges),
        };
        self.set(if negated { members.complement() } else { members })
    }

    /// Reads one item of a set: a character, a range or a class.
    fn item(&mut self, opening: usize, items: &mut SetItems) -> Result<()> {
        self.refuse_operator()?;
        let first = self.member(opening)?;
        self.refuse_operator()?;
        let place = self.source.place;
        let Item::Character(first) = first else { return self.add(first, items) };
        if self.source.rest().starts_with("-]") || !self.source.take("-") {
            return self.add_range(first, first, items);
        }
        match self.member(opening)? {
            Item::Character(last) if first <= last => self.add_range(first, last, items),
            Item::Character(_) => {
                self.source.refuse(place, "the first character of a range comes after its last")
            }
            // A hyphen before a class is a character.
            class => {
                self.add_range(first, first, items)?;
                self.add_range('-'.into(), '-'.into(), items)?;
                self.add(class, items)
            }
        }
    }

    /// Refuses characters in a set that are ordinary for the `regex` module, but begin a nested set
    /// or an operation for other engines.
    fn refuse_operator(&self) -> Result<()> {
        let rest = self.source.rest();
        let Some(sign) =
            ["&&", "||", "--", "~~", "["].into_iter().find(|sign| rest.starts_with(sign))
        else {
            return Ok(());
        };
        let escaped: String = sign.chars().flat_map(|sign| ['\\', sign]).collect();
        let reason =
            format!("{sign} within a set, unless escaped ({escaped}): engines read it differently");
        self.source.refuse(self.source.place, reason)
    }

    fn add(&mut self, item: Item, items: &mut SetItems) -> Result<()> {
        let (property, negated) = match item {
            Item::Character(code_point) => return self.add_range(code_point, code_point, items),
            Item::Class(property, negated) => (property, negated),
        };
        items.classes.push((property, negated));
        let members = self.members(property);
        let members = self.fold(members);
        self.add_members(&if negated { members.complement() } else { members }, items)
    }

    fn add_range(&mut self, first: u32, last: u32, items: &mut SetItems) -> Result<()> {
        self.add_members(&self.fold(CharSet::new([(first, last)])), items)
    }

    fn add_members(&mut self, members: &CharSet, items: &mut SetItems) -> Result<()> {
        self.spend(members.ranges().len())?;
        items.ranges.extend(members.ranges());
        items.count += 1;
        Ok(())
    }

    /// Reads a character or a class.
    fn member(&mut self, opening: usize) -> Result<Item> {
        let place = self.source.place;
        match self.source.next() {
            Some('\\') => match self.source.next() {
                Some('b') => Ok(Item::Character(8)),
                Some(letter) => self.item_of(place, letter),
                None => self.source.refuse(place, "nothing follows the backslash"),
            },
            Some(sign) => Ok(Item::Character(sign.into())),
            None => self.source.refuse(opening, "a set is not closed"),
        }
    }
}
