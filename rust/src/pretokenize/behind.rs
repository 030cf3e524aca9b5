//! Look-behind: what must stand before a place, as alternatives that each match a fixed number of characters.
//!
//! The machine finds the beginning of such an alternative by its length. (With parts that may be empty, its search for a
//! beginning gives wrong answers.)

use super::expression::{Expression, Greed};

/// More alternatives take too long to try.
const MOST_ALTERNATIVES: usize = 64;

/// The alternatives of a part; `None` if there are too many, or if the order in which they are tried matters.
pub fn of_fixed_length(part: Expression) -> Option<Vec<Expression>> {
    if part.length().is_some() {
        return Some(vec![part]);
    }
    let alternatives = match part {
        Expression::Choice(parts) => {
            let alternatives: Option<Vec<_>> = parts.into_iter().map(of_fixed_length).collect();
            alternatives?.concat()
        }
        Expression::Sequence(parts) => in_sequence(parts)?,
        Expression::Repeat { part, least, most: Some(most), greed } if greed != Greed::Possessive => {
            let mut alternatives = Vec::new();
            for number in least..=most {
                alternatives.extend(repeated(&part, number)?);
                if alternatives.len() > MOST_ALTERNATIVES {
                    return None;
                }
            }
            alternatives
        }
        _ => return None,
    };
    (alternatives.len() <= MOST_ALTERNATIVES).then_some(alternatives)
}

/// The alternatives of a part that is repeated so many times.
fn repeated(part: &Expression, number: u32) -> Option<Vec<Expression>> {
    if number > 1 && part.length().is_some() {
        let (part, most) = (Box::new(part.clone()), Some(number));
        return Some(vec![Expression::Repeat { part, least: number, most, greed: Greed::Greedy }]);
    }
    in_sequence(std::iter::repeat_n(part.clone(), number as usize))
}

/// The alternatives of parts in sequence: every choice of one for each part.
fn in_sequence(parts: impl IntoIterator<Item = Expression>) -> Option<Vec<Expression>> {
    let mut sequences = vec![Vec::new()];
    for part in parts {
        let alternatives = of_fixed_length(part)?;
        if sequences.len() * alternatives.len() > MOST_ALTERNATIVES {
            return None;
        }
        let longer = sequences.iter().flat_map(|sequence: &Vec<Expression>| {
            alternatives.iter().map(|alternative| [&sequence[..], std::slice::from_ref(alternative)].concat())
        });
        sequences = longer.collect();
    }
    Some(sequences.into_iter().map(Expression::Sequence).collect())
}
