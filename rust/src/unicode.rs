//! Code points in, classes out: the one Unicode version that every scanner of the engine uses.

use std::iter::StepBy;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

mod categories;

use categories::{CATEGORIES, WHITE_SPACE};

pub use categories::UNICODE_VERSION;

/// How many code points there are.
pub const CODE_POINTS: usize = 0x11_0000;

/// `\p{L}`.
pub const LETTER: u8 = 1;
/// `\p{N}`.
pub const NUMBER: u8 = 2;
/// `\s`.
pub const SPACE: u8 = 4;
/// None of the three before: every code point has exactly one of these four.
pub const OTHER: u8 = 8;
/// What begins a word of the o200k pattern: `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`.
pub const UPPER: u8 = 16;
/// What goes on in a word of the o200k pattern: `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`.
pub const LOWER: u8 = 32;
/// `[\r\n]`.
pub const NEWLINE: u8 = 64;

/// The classes of every code point, as a set of the bits above.
pub type ClassTable = [u8; CODE_POINTS];

/// The table, made when it is first asked for.
pub fn class_table() -> &'static ClassTable {
    static TABLE: OnceLock<Box<ClassTable>> = OnceLock::new();
    TABLE.get_or_init(make_class_table)
}

fn make_class_table() -> Box<ClassTable> {
    // A boxed array of zeros: the allocator's fresh pages, never a megabyte on the stack.
    let mut table: Box<ClassTable> = match vec![0; CODE_POINTS].into_boxed_slice().try_into() {
        Ok(table) => table,
        Err(_) => unreachable!("the slice was made with the table's length"),
    };
    table.fill(OTHER);
    for (name, members) in CATEGORIES {
        let class = match name {
            "Lu" | "Lt" => LETTER | UPPER,
            "Ll" => LETTER | LOWER,
            "Lm" | "Lo" => LETTER | UPPER | LOWER,
            "Mn" | "Mc" | "Me" => OTHER | UPPER | LOWER,
            "Nd" | "Nl" | "No" => NUMBER,
            _ => continue,
        };
        for range in ranges(members) {
            range.for_each(|code_point| table[code_point] = class);
        }
    }
    for range in ranges(WHITE_SPACE) {
        range.for_each(|code_point| table[code_point] = SPACE);
    }
    for newline in *b"\r\n" {
        table[usize::from(newline)] |= NEWLINE;
    }
    table
}

/// The ranges of a set as [`categories`] writes it.
fn ranges(set: &str) -> impl Iterator<Item = StepBy<RangeInclusive<usize>>> + '_ {
    set.split_ascii_whitespace().map(|written| {
        let (range, step) = written.split_once('/').map_or((written, 1), |(range, _)| (range, 2));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let code_point = |digits| usize::from_str_radix(digits, 16).unwrap_or(CODE_POINTS);
        (code_point(first)..=code_point(last)).step_by(step)
    })
}

/// The general categories and their groups: short name, and long name in loose spelling.
const PROPERTIES: [(&str, &str); 38] = [
    ("L", "letter"),
    ("LC", "casedletter"),
    ("Lu", "uppercaseletter"),
    ("Ll", "lowercaseletter"),
    ("Lt", "titlecaseletter"),
    ("Lm", "modifierletter"),
    ("Lo", "otherletter"),
    ("M", "mark"),
    ("Mn", "nonspacingmark"),
    ("Mc", "spacingmark"),
    ("Me", "enclosingmark"),
    ("N", "number"),
    ("Nd", "decimalnumber"),
    ("Nl", "letternumber"),
    ("No", "othernumber"),
    ("P", "punctuation"),
    ("Pc", "connectorpunctuation"),
    ("Pd", "dashpunctuation"),
    ("Ps", "openpunctuation"),
    ("Pe", "closepunctuation"),
    ("Pi", "initialpunctuation"),
    ("Pf", "finalpunctuation"),
    ("Po", "otherpunctuation"),
    ("S", "symbol"),
    ("Sm", "mathsymbol"),
    ("Sc", "currencysymbol"),
    ("Sk", "modifiersymbol"),
    ("So", "othersymbol"),
    ("Z", "separator"),
    ("Zs", "spaceseparator"),
    ("Zl", "lineseparator"),
    ("Zp", "paragraphseparator"),
    ("C", "other"),
    ("Cc", "control"),
    ("Cf", "format"),
    ("Cs", "surrogate"),
    ("Co", "privateuse"),
    ("Cn", "unassigned"),
];

/// The code points of a general category (`Lu`, `Uppercase_Letter`, `gc=Lu`) or of a group of them (`L`), as
/// sorted ranges; `None` for any other name.
pub fn category_ranges(name: &str) -> Option<Vec<RangeInclusive<u32>>> {
    let loose: String = name.chars().filter(|c| !" _-".contains(*c)).collect::<String>().to_ascii_lowercase();
    let loose = ["gc=", "generalcategory="].iter().find_map(|p| loose.strip_prefix(p)).unwrap_or(&loose);
    let (short, _) =
        PROPERTIES.iter().find(|(short, long)| loose == *long || short.eq_ignore_ascii_case(loose))?;
    Some(code_points_where(|code_point| match *short {
        "LC" => ["Lu", "Ll", "Lt"].contains(&category(code_point)),
        short => category(code_point).starts_with(short),
    }))
}

/// The code points that `\s` matches, as sorted ranges.
pub fn space_ranges() -> Vec<RangeInclusive<u32>> {
    code_points_where(|code_point| class_table()[code_point] & SPACE != 0)
}

fn code_points_where(belongs: impl Fn(usize) -> bool) -> Vec<RangeInclusive<u32>> {
    let mut found: Vec<RangeInclusive<u32>> = Vec::new();
    for (code_point, value) in (0u32..).enumerate().take(CODE_POINTS) {
        if belongs(code_point) {
            match found.last_mut() {
                Some(last) if *last.end() + 1 == value => *last = *last.start()..=value,
                _ => found.push(value..=value),
            }
        }
    }
    found
}

/// The general category of a code point.
fn category(code_point: usize) -> &'static str {
    static TABLE: OnceLock<Vec<&'static str>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = vec!["Cn"; CODE_POINTS];
        for (name, members) in CATEGORIES {
            ranges(members).flatten().for_each(|member| table[member] = name);
        }
        table
    })[code_point]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_point_has_one_of_the_four_main_classes() {
        assert!(class_table().iter().all(|c| (c & (LETTER | NUMBER | SPACE | OTHER)).count_ones() == 1));
    }

    #[test]
    fn alternating_ranges_give_each_case_its_own() {
        let [upper, lower] = ['Ā', 'ā'].map(|c| class_table()[c as usize]);
        assert_eq!((upper, lower), (LETTER | UPPER, LETTER | LOWER));
    }

    #[test]
    fn categories_are_found_by_any_spelling() {
        for name in ["Zs", "zs", "Space_Separator", "gc=Zs", "General_Category = Space Separator"] {
            assert_eq!(category_ranges(name).unwrap()[0], 32..=32);
        }
        assert!(category_ranges("Han").is_none());
        assert_eq!(category_ranges("C").unwrap()[0], 0..=31);
        assert_eq!(category_ranges("LC").unwrap()[..2], [65..=90, 97..=122]);
    }
}
