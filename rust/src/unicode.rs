//! Code points in, classes out: the one Unicode version that every scanner of the engine uses.

use std::iter::StepBy;
use std::ops::RangeInclusive;

use crate::once::Once;

mod cases;
mod categories;
pub mod lookup;
mod properties;

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
    static TABLE: Once<ClassTable> = Once::new();
    TABLE.get_or_make(make_class_table)
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
}
