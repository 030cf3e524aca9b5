//! Any other pattern, run by a regex machine: its regular expression and text in, matches and gaps out.
//!
//! The machine's own Unicode tables are of another version than ours, so the properties that our table knows
//! (general categories, `\s`, `\d`, and `\w` for the letters, marks and digits it lacks) are written out as ranges
//! before the expression is compiled. Scripts, `\b` and the folding of case are the machine's own.

use std::fmt::Display;
use std::ops::RangeInclusive;

use fancy_regex::{CompileError, Matches, Regex, RegexBuilder};

use super::Batch;
use crate::error::{Error, Result};
use crate::memory;
use crate::unicode::{category_ranges, space_ranges};

/// How often one match may go back and try another way before the pattern is given up as hopeless.
const BACKTRACK_LIMIT: usize = 10_000_000;

/// How long a pattern may be, as it is given and once its classes are written out: compiling takes time and memory
/// by its length, and a file may bring any pattern.
const MOST_PATTERN_BYTES: usize = 1 << 13;
const MOST_EXPLICIT_BYTES: usize = 1 << 20;

/// How much of a pattern an error tells.
const SHOWN_CHARACTERS: usize = 80;

const SURROGATES: RangeInclusive<u32> = 0xD800..=0xDFFF;

/// A compiled regular expression; `None` is one that can only match nothing, so that all text is a gap.
pub struct Custom(Option<Regex>);

impl Custom {
    pub fn new(source: &str) -> Result<Self> {
        if source.len() > MOST_PATTERN_BYTES {
            return Err(Error::Value(format!(
                "a pattern of {} bytes is not supported: {MOST_PATTERN_BYTES} are the most",
                source.len()
            )));
        }
        memory::ensure_spare()?;
        let explicit = write_out(source)?;
        // A match of nothing is no piece. Python's `finditer` reports it and then looks for another match at the same
        // place that is not empty; the machine finds just those.
        match RegexBuilder::new(&explicit).find_not_empty(true).backtrack_limit(BACKTRACK_LIMIT).build() {
            Ok(regex) => Ok(Self(Some(regex))),
            Err(fancy_regex::Error::CompileError(reason))
                if matches!(*reason, CompileError::PatternCanNeverMatch) =>
            {
                Ok(Self(None))
            }
            Err(reason) => Err(unsupported(source, &reason)),
        }
    }

    /// Begin to cut a text.
    pub fn gaps<'a>(&'a self, text: &'a str) -> Gaps<'a> {
        Gaps { matches: self.0.as_ref().map(|regex| regex.find_iter(text)), pending: None }
    }
}

/// The matches of a text, and the gaps between them.
pub struct Gaps<'a> {
    matches: Option<Matches<'a, 'a, str>>,
    /// The end of a match whose gap is in the batch already.
    pending: Option<usize>,
}

impl Gaps<'_> {
    /// Add pieces to the batch until it is full or the text ends.
    pub fn fill(&mut self, text: &str, mut position: usize, batch: &mut Batch) -> Result<()> {
        while position < text.len() && !batch.is_full() {
            if let Some(end) = self.pending.take() {
                batch.push(end);
                position = end;
                continue;
            }
            match self.next_match()? {
                None => {
                    batch.push_gap(text.len());
                    position = text.len();
                }
                Some((start, end)) if start > position => {
                    batch.push_gap(start);
                    position = start;
                    self.pending = Some(end);
                }
                Some((_, end)) => {
                    batch.push(end);
                    position = end;
                }
            }
        }
        Ok(())
    }

    fn next_match(&mut self) -> Result<Option<(usize, usize)>> {
        match self.matches.as_mut().and_then(Iterator::next) {
            None => Ok(None),
            Some(Ok(found)) => Ok(Some((found.start(), found.end()))),
            Some(Err(reason)) => Err(Error::Value(format!("the pattern could not be matched: {reason}"))),
        }
    }
}

/// Say the same to the machine as the expression says to Python's `regex` module.
///
/// Properties become the ranges of their members; `$` and `\Z` get the module's meaning; in a set, the signs that
/// only the machine would take for set operators are escaped. What the two read differently otherwise is refused.
fn write_out(source: &str) -> Result<String> {
    let refuse = |what: &str| unsupported(source, &what);
    let flags = inline_flags(source);
    if flags.contains('x') {
        return Err(refuse("verbose mode, (?x), is not; write the pattern without blanks and comments"));
    }
    let mut written = String::with_capacity(source.len());
    let mut rest = source;
    let mut in_set = false;
    while let Some(sign) = rest.chars().next() {
        let mut length = sign.len_utf8();
        match sign {
            '\\' => {
                length = escape_length(rest);
                match &rest[1..length] {
                    "h" | "H" | "N" | "O" => return Err(refuse(&format!("{} is not", &rest[..length]))),
                    "Z" if !in_set => written.push_str(r"\z"),
                    name => written.push_str(&property(name).unwrap_or_else(|| format!(r"\{name}"))),
                }
            }
            '[' if in_set && rest.starts_with("[:") => {
                return Err(refuse(r"[:name:] is not; write \p{name}"));
            }
            '-' if in_set && rest.starts_with("--") => return Err(refuse(r"-- in a set is not; write \-")),
            '[' | '&' | '~' if in_set => written.extend(['\\', sign]),
            '[' => {
                in_set = true;
                let negated = rest[1..].starts_with('^');
                written.push_str(if negated { "[^" } else { "[" });
                length += usize::from(negated);
                // The first sign of a set is a member, even if it is the bracket that would close it.
                if rest[length..].starts_with(']') {
                    written.push_str(r"\]");
                    length += 1;
                }
            }
            ']' if in_set => {
                in_set = false;
                written.push(']');
            }
            '$' if !in_set && !flags.contains('m') => written.push_str(r"(?=\n?\z)"),
            _ => written.push(sign),
        }
        if written.len() > MOST_EXPLICIT_BYTES {
            return Err(refuse("it names too many classes"));
        }
        rest = &rest[length..];
    }
    Ok(written)
}

/// The error for a pattern, of which a long one is told by its beginning.
fn unsupported(source: &str, what: &dyn Display) -> Error {
    let beginning: String = source.chars().take(SHOWN_CHARACTERS).collect();
    let more = if beginning.len() < source.len() { "…" } else { "" };
    Error::Value(format!("pattern {beginning:?}{more} is not supported: {what}"))
}

/// The letters of all flags that are set inside the expression, as in `(?i)` and `(?s:...)`.
fn inline_flags(source: &str) -> String {
    let groups = source.split("(?").skip(1);
    groups.flat_map(|group| group.chars().take_while(char::is_ascii_alphabetic)).collect()
}

/// The length of the escape that `rest` begins with.
fn escape_length(rest: &str) -> usize {
    let mut signs = rest.char_indices().skip(1);
    let braced = match signs.next() {
        Some((_, 'p' | 'P')) => rest[2..].starts_with('{'),
        Some((at, sign)) => return at + sign.len_utf8(),
        None => return rest.len(),
    };
    match rest.find('}') {
        Some(end) if braced => end + 1,
        _ => signs.next().map_or(rest.len(), |(at, sign)| at + sign.len_utf8()),
    }
}

/// The set of a property that our table knows, by what follows the backslash.
fn property(name: &str) -> Option<String> {
    let categories =
        |names: &[&str]| names.iter().filter_map(|name| category_ranges(name)).flatten().collect();
    match name {
        "s" | "S" => Some(set(name == "S", "", space_ranges())),
        "d" | "D" => Some(set(name == "D", "", categories(&["Nd"]))),
        "w" | "W" => Some(set(name == "W", r"\w", categories(&["L", "M", "Nl", "Nd", "Pc"]))),
        _ => {
            let bare = name.strip_prefix(['p', 'P'])?;
            let braced = bare.strip_prefix('{').and_then(|bare| bare.strip_suffix('}')).unwrap_or(bare);
            let turned = braced.strip_prefix('^');
            let negated = name.starts_with('P') != turned.is_some();
            Some(set(negated, "", category_ranges(turned.unwrap_or(braced))?))
        }
    }
}

fn set(negated: bool, first: &str, ranges: Vec<RangeInclusive<u32>>) -> String {
    let mut written = format!("[{}{first}", if negated { "^" } else { "" });
    for range in ranges {
        // Neither a string nor the machine knows surrogates; a range that spans them stays one range.
        let first = if SURROGATES.contains(range.start()) { 0xE000 } else { *range.start() };
        let last = if SURROGATES.contains(range.end()) { 0xD7FF } else { *range.end() };
        if first <= last {
            written.push_str(&format!(r"\x{{{first:x}}}-\x{{{last:x}}}"));
        }
    }
    written.push(']');
    written
}
