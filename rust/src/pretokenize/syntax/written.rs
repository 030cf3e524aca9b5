//! A pattern of another library in, the same in our dialect out: it stays as it is if it means the same there, or is written
//! from its tree. What is written is parsed again: it must have the same tree, with the same members in every set.
//!
//! Classes follow our Unicode version, whatever the version of the other library.

use super::{Dialect, Expression, Greed, MOST_BYTES, Parser, check_length, end_of_line, parse, refusal};
use crate::error::Result;
use crate::pretokenize::set::CharSet;
use crate::pretokenize::{Pattern, on_large_stack};

/// Translate a pattern to our dialect; a pattern without an equivalent is refused. `cuts` says that text is cut at both
/// ends of every match, also where a match is empty.
pub fn read(source: &str, dialect: Dialect, cuts: bool) -> Result<String> {
    if dialect == Dialect::Bpetite {
        Pattern::new(source)?;
        return Ok(source.to_owned());
    }
    check_length(source)?;
    on_large_stack(|| translated(source, dialect, cuts))
}

/// Whether two patterns in our dialect differ in their spelling only.
pub fn alike(one: &str, other: &str) -> Result<bool> {
    on_large_stack(|| Ok(parse(one)? == parse(other)?))
}

fn translated(source: &str, dialect: Dialect, cuts: bool) -> Result<String> {
    let mut parser = Parser::new(source, dialect);
    let expression = parser.whole()?;
    let is_alike = parse(source).is_ok_and(|read| read == expression);
    let written = if is_alike { source.to_owned() } else { parser.written(&expression) };
    if written.len() > MOST_BYTES {
        let reason = format!("it takes more than {MOST_BYTES} bytes to write in our syntax");
        return Err(refusal(source, &reason));
    }
    let read =
        parse(&written).map_err(|reason| refusal(source, &format!("written in our syntax, {reason}")))?;
    if read != expression {
        return Err(refusal(source, &format!("written in our syntax as {written:?}, it is another pattern")));
    }
    if repeats_nothing(&expression) {
        return Err(refusal(source, "engines differ in how often they repeat a part that may match nothing"));
    }
    match (expression.can_be_empty(), dialect) {
        (false, _) => Ok(written),
        // What does not begin with a match of some length goes on up to the next match, of any length.
        (true, Dialect::Oniguruma) if cuts => Ok(format!("(?>{written})|(?s:.)(?:(?!{written})(?s:.))*+")),
        (true, Dialect::Oniguruma) => {
            Err(refusal(source, "it may match nothing, and Oniguruma would cut text at each such place"))
        }
        (true, _) if matches!(expression, Expression::Atomic(_)) => Ok(written),
        // If the preferred match is empty, that engine goes on with the next character; ours looks for a non-empty
        // match.
        (true, _) => Ok(format!("(?>{written})")),
    }
}

fn repeats_nothing(expression: &Expression) -> bool {
    let repeats = match expression {
        Expression::Repeat { part, most, .. } => *most != Some(1) && part.can_be_empty(),
        _ => false,
    };
    repeats || expression.parts().iter().any(repeats_nothing)
}

impl Parser<'_> {
    /// Remember how a set is written in our dialect, if it means that there and nothing is known yet.
    pub(super) fn spell(&mut self, set: &CharSet, spelling: impl FnOnce(&Self) -> String) {
        if self.is_foreign() && !self.spellings.contains_key(set) {
            let spelling = spelling(self);
            if matches!(parse(&spelling), Ok(Expression::Set(read)) if read == *set) {
                self.spellings.insert(set.clone(), spelling);
            }
        }
    }

    pub(super) fn spelled(&self, set: &CharSet) -> String {
        self.spellings.get(set).cloned().unwrap_or_else(|| listed(set))
    }

    /// Write an expression in our dialect.
    fn written(&self, expression: &Expression) -> String {
        let look = |opening: &str, part: &Expression| format!("({opening}{})", self.written(part));
        let of_parts = |parts: &[Expression], between| {
            let parts: Vec<String> = parts.iter().map(|part| self.enclosed_written(part)).collect();
            parts.join(between)
        };
        match expression {
            Expression::Set(set) => self.spelled(set),
            Expression::Sequence(parts) => of_parts(parts, ""),
            Expression::Choice(_) if *expression == end_of_line() => "(?m:$)".to_owned(),
            Expression::Choice(parts) => {
                let parts = parts.iter().map(|part| match part {
                    Expression::Choice(_) => self.enclosed_written(part),
                    _ => self.written(part),
                });
                parts.collect::<Vec<_>>().join("|")
            }
            Expression::Repeat { part, least, most, greed } => {
                let count = match (least, most) {
                    (0, Some(1)) => "?".to_owned(),
                    (0, None) => "*".to_owned(),
                    (1, None) => "+".to_owned(),
                    (least, Some(most)) if least == most => format!("{{{least}}}"),
                    (least, most) => {
                        format!("{{{least},{}}}", most.map_or(String::new(), |most| most.to_string()))
                    }
                };
                let sign = match greed {
                    Greed::Greedy => "",
                    Greed::Lazy => "?",
                    Greed::Possessive => "+",
                };
                let part = match **part {
                    Expression::Repeat { .. } => format!("(?:{})", self.written(part)),
                    _ => self.enclosed_written(part),
                };
                part + &count + sign
            }
            Expression::Ahead { part, negated: false } => look("?=", part),
            Expression::Ahead { part, negated: true } => look("?!", part),
            Expression::Behind { part, negated: false, .. } => look("?<=", part),
            Expression::Behind { part, negated: true, .. } => look("?<!", part),
            Expression::Atomic(part) => look("?>", part),
            Expression::Start => r"\A".to_owned(),
            Expression::End { before_line_feed: false } => r"\Z".to_owned(),
            Expression::End { before_line_feed: true } => "$".to_owned(),
        }
    }

    /// Write an expression as a part of a sequence.
    fn enclosed_written(&self, expression: &Expression) -> String {
        let written = self.written(expression);
        match expression {
            Expression::Sequence(_) => format!("(?:{written})"),
            Expression::Choice(_) if *expression != end_of_line() => format!("(?:{written})"),
            _ => written,
        }
    }
}

/// A set as a part of a pattern.
pub(super) fn listed(set: &CharSet) -> String {
    match set.ranges() {
        [] => r"[^\x00-\U0010ffff]".to_owned(),
        [(first, last)] if first == last => escaped(*first),
        _ if *set == CharSet::all() => r"[\s\S]".to_owned(),
        _ => format!("[{}]", ranges(set)),
    }
}

/// A set as ranges between brackets.
pub(super) fn ranges(set: &CharSet) -> String {
    let ranges = set.ranges().iter().map(|&(first, last)| match last - first {
        0 => escaped(first),
        _ => format!("{}-{}", escaped(first), escaped(last)),
    });
    ranges.collect()
}

/// A character as an item of a set.
fn escaped(code_point: u32) -> String {
    match char::from_u32(code_point) {
        Some(character) if character.is_ascii_alphanumeric() => character.to_string(),
        Some('\t') => r"\t".to_owned(),
        Some('\n') => r"\n".to_owned(),
        Some('\r') => r"\r".to_owned(),
        Some(character) if character.is_ascii_graphic() => format!("\\{character}"),
        _ if code_point < 0x100 => format!("\\x{code_point:02x}"),
        _ if code_point < 0x1_0000 => format!("\\u{code_point:04x}"),
        _ => format!("\\U{code_point:08x}"),
    }
}
