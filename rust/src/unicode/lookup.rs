//! Looks up sets of code points by the names of properties, and pairs of characters that differ
//! only in case.

use once_cell::race::OnceBox;

use super::cases::CASES;
use super::categories::CATEGORIES;
use super::properties::{BINARY, BLOCKS, CATEGORY_NAMES, SCRIPT_EXTENSIONS, SCRIPTS};

/// A range of code points, both ends included.
pub type Range = (u32, u32);

type NameTable = &'static [(&'static str, &'static str)];

/// A property that a character has or lacks, such as a general category, a script or a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Property {
    table: PropertyKind,
    row: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum PropertyKind {
    Category,
    Script,
    ScriptExtension,
    Block,
    Binary,
}

impl PropertyKind {
    fn table(self) -> NameTable {
        match self {
            Self::Category => &CATEGORY_NAMES,
            Self::Script => &SCRIPTS,
            Self::ScriptExtension => &SCRIPT_EXTENSIONS,
            Self::Block => &BLOCKS,
            Self::Binary => &BINARY,
        }
    }

    fn find(self, name: &str) -> Option<Property> {
        let row = self
            .table()
            .iter()
            .position(|(names, _)| names.split(' ').any(|known| known == name))?;
        Some(Property { table: self, row })
    }
}

impl Property {
    /// Find a property by its name (`Han`, `Lu`, `Alphabetic`, `IsGreek`, `InThai`); case, blanks,
    /// `_` and `-` do not matter.
    pub fn named(name: &str) -> Option<Self> {
        let name = normalized_name(name);
        let whole = [
            PropertyKind::Category,
            PropertyKind::Script,
            PropertyKind::Block,
            PropertyKind::Binary,
        ];
        whole.iter().find_map(|kind| kind.find(&name)).or_else(|| {
            let is = name.strip_prefix("IS").and_then(|name| {
                PropertyKind::Binary.find(name).or_else(|| PropertyKind::Script.find(name))
            });
            is.or_else(|| PropertyKind::Block.find(name.strip_prefix("IN")?))
        })
    }

    /// Find a property by name and value (`Script=Han`, `gc=Lu`, `Alphabetic=No`), and whether it
    /// is negated.
    pub fn with_value(name: &str, value: &str) -> Option<(Self, bool)> {
        let value = normalized_name(value);
        let found = match normalized_name(name).as_str() {
            "GC" | "GENERALCATEGORY" => PropertyKind::Category.find(&value)?,
            "SC" | "SCRIPT" => PropertyKind::Script.find(&value)?,
            "SCX" | "SCRIPTEXTENSIONS" => PropertyKind::ScriptExtension
                .find(&value)
                .or_else(|| PropertyKind::Script.find(&value))?,
            "BLK" | "BLOCK" => PropertyKind::Block.find(&value)?,
            name => {
                let absent = match value.as_str() {
                    "Y" | "YES" | "T" | "TRUE" => false,
                    "N" | "NO" | "F" | "FALSE" => true,
                    _ => return None,
                };
                return Some((PropertyKind::Binary.find(name)?, absent));
            }
        };
        Some((found, false))
    }

    /// The property to use when case is ignored: uppercase, lowercase and titlecase letters become
    /// all three of them. Other properties are unchanged.
    pub fn ignoring_case(self) -> Self {
        let (names, _) = self.table.table()[self.row];
        let wider = match (self.table, names) {
            (
                PropertyKind::Category,
                "LU UPPERCASELETTER" | "LL LOWERCASELETTER" | "LT TITLECASELETTER",
            ) => PropertyKind::Category.find("LC"),
            (PropertyKind::Binary, "UPPER UPPERCASE" | "LOWER LOWERCASE") => {
                PropertyKind::Binary.find("CASED")
            }
            _ => None,
        };
        wider.unwrap_or(self)
    }

    /// The code points with the property: those that an odd number of the sets in its row contains.
    pub fn ranges(self) -> Vec<Range> {
        let (_, sets) = self.table.table()[self.row];
        let mut ends: Vec<u32> = sets
            .split(' ')
            .flat_map(|set| self.set(set))
            .flat_map(|(first, last)| [first, last + 1])
            .collect();
        ends.sort(); // a few ascending lists, one after the other
        let mut odd: Vec<u32> = Vec::with_capacity(ends.len());
        for end in ends {
            if odd.last() == Some(&end) {
                odd.pop();
            } else {
                odd.push(end);
            }
        }
        odd.chunks_exact(2).map(|range| (range[0], range[1] - 1)).collect()
    }

    /// A set that a row names: a general category, another row, or a range.
    fn set(self, name: &str) -> Vec<Range> {
        let kind = if self.table == PropertyKind::ScriptExtension {
            PropertyKind::Script
        } else {
            self.table
        };
        match name.as_bytes() {
            [b'A'..=b'Z', b'a'..=b'z'] => category(name),
            [b'A'..=b'Z', ..] => kind.find(name).map(Self::ranges).unwrap_or_default(),
            _ => members(name).collect(),
        }
    }
}

/// All pairs of characters that match when case is ignored, in both orders, sorted.
pub fn case_pairs() -> &'static [(u32, u32)] {
    static PAIRS: OnceBox<Vec<(u32, u32)>> = OnceBox::new();
    PAIRS.get_or_init(|| {
        let mut pairs = Vec::new();
        for run in CASES.split_ascii_whitespace() {
            let (run, other) = run.split_once('=').unwrap_or((run, ""));
            let (first, last, step) = range(run);
            let distance = u32::from_str_radix(other, 16).unwrap_or(0) - first;
            for one in (first..=last).step_by(step) {
                pairs.extend([(one, one + distance), (one + distance, one)]);
            }
        }
        pairs.sort_unstable();
        Box::new(pairs)
    })
}

fn normalized_name(name: &str) -> String {
    name.chars().filter(|sign| !" _-".contains(*sign)).collect::<String>().to_ascii_uppercase()
}

/// The members of one general category; for those in no category, all code points and all
/// categories.
fn category(name: &str) -> Vec<Range> {
    match CATEGORIES.iter().find(|(known, _)| *known == name) {
        Some((_, set)) => members(set).collect(),
        None => {
            members("0-10ffff").chain(CATEGORIES.iter().flat_map(|(_, set)| members(set))).collect()
        }
    }
}

/// The ranges of a set of the tables; with `/2`, every second code point is a range.
fn members(set: &str) -> impl Iterator<Item = Range> + '_ {
    set.split_ascii_whitespace().flat_map(|written| {
        let (first, last, step) = range(written);
        let length = if step == 1 { last - first } else { 0 };
        (first..=last).step_by(length as usize + step).map(move |start| (start, start + length))
    })
}

/// The first and the last code point of a range of the tables, and the distance between two of its
/// members.
fn range(written: &str) -> (u32, u32, usize) {
    let (range, step) = written.split_once('/').map_or((written, 1), |(range, _)| (range, 2));
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let code_point = |digits| u32::from_str_radix(digits, 16).unwrap_or(0);
    (code_point(first), code_point(last), step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(property: Property, character: char) -> bool {
        property
            .ranges()
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&u32::from(character)))
    }

    #[test]
    fn properties_are_found_by_any_spelling() {
        for name in ["Zs", "zs", "Space_Separator", "space separator"] {
            assert_eq!(Property::named(name).unwrap().ranges()[0], (32, 32));
        }
        assert!(has(Property::named("Han").unwrap(), '漢'));
        assert!(has(Property::named("IsGreek").unwrap(), 'α'));
        assert!(has(Property::named("InThai").unwrap(), 'ก'));
        assert!(has(Property::with_value("scx", "Deva").unwrap().0, '।'));
        assert!(Property::with_value("Alphabetic", "no").unwrap().1);
        assert_eq!(Property::named("Elvish"), None);
        assert_eq!(Property::with_value("Script", "Lu"), None);
    }

    #[test]
    fn unassigned_is_what_is_in_no_category() {
        let unassigned = Property::named("Cn").unwrap();
        assert!(has(unassigned, '\u{378}') && !has(unassigned, 'a'));
        let all: u32 = ["Cn", "Assigned"]
            .iter()
            .flat_map(|name| Property::named(name).unwrap().ranges())
            .map(|(first, last)| last - first + 1)
            .sum();
        assert_eq!(all, 0x11_0000);
    }

    #[test]
    fn case_pairs_go_both_ways() {
        let pairs = case_pairs();
        for (one, another) in pairs {
            assert!(pairs.binary_search(&(*another, *one)).is_ok());
        }
        let of = |c: char| {
            pairs
                .iter()
                .filter(|(one, _)| *one == u32::from(c))
                .filter_map(|(_, other)| char::from_u32(*other))
                .collect::<String>()
        };
        assert_eq!([of('k'), of('i'), of('I'), of('ſ')], ["K\u{212a}", "Iİ", "iı", "Ss"]);
    }
}
