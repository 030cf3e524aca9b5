//! Translates a pattern of another library to our dialect.
//!
//! It stays as it is if it means the same there. If not, each part is written as our dialect spells
//! it:
//!
//! ```text
//! [a-z&&[^b]]+|\z                in Rust's dialect
//! (?:(?=[a-z])[^b])+|(?![\s\S])  in ours
//! ```
//!
//! What is not written in another way is copied, and the parser of our dialect refuses what it does
//! not know. Classes follow our Unicode version, whatever the version of the other library.

use std::fmt::Display;

use super::source::Source;
use super::{MOST_BYTES, MOST_NESTED, check_length, parse, refusal};
use crate::error::Result;
use crate::pretokenize::expression::Expression;
use crate::pretokenize::on_large_stack;
use crate::pretokenize::set::CharSet;

/// Whose syntax a pattern has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// That of `fancy-regex`, as `tiktoken` uses it.
    Rust,
    /// That of Oniguruma with Ruby's syntax, as `tokenizers` uses it.
    Oniguruma {
        /// Whether text is cut at both ends of every match, also where a match is empty.
        cuts: bool,
    },
}

/// Names of properties that other engines do not have, or understand in another way.
const ONLY_OURS: [&str; 11] = [
    "alnum",
    "blank",
    "cntrl",
    "graph",
    "h",
    "horizspace",
    "print",
    "v",
    "vertspace",
    "word",
    "xdigit",
];

/// Oniguruma's `\w` in a set.
const WORD: &str = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}";
/// The same outside a set, where Oniguruma uses its table of Latin-1 for the first 256 characters.
const WORD_ALONE: &str = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}²³¹¼½¾";

/// The end of the text, as all engines read it.
const END: &str = r"(?![\s\S])";

/// The start of a line in Oniguruma, for which no line begins at the end of the text.
const LINE_START: &str = r"(?:\A|(?<=\n)(?=[\s\S]))";

/// Translates a pattern to our dialect; a pattern without an equivalent is refused.
pub fn read(source: &str, dialect: Dialect) -> Result<String> {
    check_length(source)?;
    on_large_stack(|| translated(source, dialect))
}

/// Whether two patterns in our dialect differ in their spelling only.
pub fn alike(first: &str, second: &str) -> Result<bool> {
    on_large_stack(|| Ok(parse(first)? == parse(second)?))
}

fn translated(source: &str, dialect: Dialect) -> Result<String> {
    let is_oniguruma = dialect != Dialect::Rust;
    let reader = if is_oniguruma { "as Oniguruma reads it, " } else { "as fancy-regex reads it, " };
    let translator = Translator {
        source: Source::new(source, reader),
        is_oniguruma,
        written: String::new(),
        groups: vec![Group::default()],
        begin: 0,
        last: 0,
        letter: None,
    };
    let written = translator.translate()?;
    let expression = parse(&written)
        .map_err(|reason| refusal(source, &format!("written in our syntax, {reason}")))?;
    let is_alike = parse(source).is_ok_and(|read| read == expression);
    let written = if is_alike { source.to_owned() } else { written };
    if !expression.can_be_empty() {
        return Ok(written);
    }
    match dialect {
        // What does not begin with a match of some length goes on up to the next match, of any
        // length.
        Dialect::Oniguruma { cuts: true } => {
            Ok(format!("(?>{written})|(?s:.)(?:(?!{written})(?s:.))*+"))
        }
        Dialect::Oniguruma { cuts: false } => Err(refusal(
            source,
            "it may match nothing, and Oniguruma would cut text at each such place",
        )),
        Dialect::Rust if matches!(expression, Expression::Atomic(_)) => Ok(written),
        // If the preferred match is empty, that engine goes on with the next character; ours looks
        // for a non-empty match.
        Dialect::Rust => Ok(format!("(?>{written})")),
    }
}

/// A group of the pattern, and the flags that hold in it.
#[derive(Clone, Copy, Default)]
struct Group {
    /// Where it is written.
    start: usize,
    ignores_case: bool,
    in_lines: bool,
}

/// Reads a pattern of another dialect part by part, and writes each one in ours.
struct Translator<'s> {
    source: Source<'s>,
    is_oniguruma: bool,
    written: String,
    /// The open groups; the first is the whole pattern.
    groups: Vec<Group>,
    /// Where the present part begins in the source.
    begin: usize,
    /// Where the last part is written, if it may be repeated.
    last: usize,
    /// The last part, if it is one letter.
    letter: Option<char>,
}

/// Sequences, repetitions and groups.
impl Translator<'_> {
    fn translate(mut self) -> Result<String> {
        loop {
            self.begin = self.source.place;
            let start = self.written.len();
            let before = self.letter.take();
            let Some(sign) = self.source.next() else { return Ok(self.written) };
            match sign {
                '(' => self.open()?,
                ')' => {
                    self.last = self.group().start;
                    self.groups.truncate((self.groups.len() - 1).max(1));
                    self.written.push(')');
                }
                '|' => self.written.push('|'),
                '?' | '*' | '+' | '{' => self.repeat(before)?,
                _ => {
                    self.last = start;
                    let part = self.part(sign, before)?;
                    self.written += &part;
                }
            }
            if self.written.len() > MOST_BYTES {
                return self.refuse(format!(
                    "it takes more than {MOST_BYTES} bytes to write in our syntax"
                ));
            }
        }
    }

    fn refuse<T>(&self, reason: impl Display) -> Result<T> {
        self.source.refuse(self.begin, reason)
    }

    fn group(&self) -> Group {
        self.groups.last().copied().unwrap_or_default()
    }

    /// Opens a group, or set flags.
    fn open(&mut self) -> Result<()> {
        let mut group = Group { start: self.written.len(), ..self.group() };
        let is_flag = |sign: char| sign.is_ascii_alphanumeric() || sign == '-';
        let mut flags = "";
        if self.source.take("?") {
            flags = self.source.take_while(is_flag);
        }
        let mut value = true;
        for letter in flags.chars() {
            match letter {
                '-' => value = false,
                'i' => group.ignores_case = value,
                'm' => group.in_lines = value,
                's' if self.is_oniguruma => {
                    return self.refuse("the flag s of (?s is not supported");
                }
                _ => {}
            }
        }
        let opening = self.source.since(self.begin);
        if self.is_oniguruma {
            // There, `m` lets a dot match line feeds.
            self.written += &opening.replace('m', "s");
        } else {
            self.written += opening;
        }
        if flags.is_empty() || !self.source.take(")") {
            self.groups.push(group);
        } else if self.begin > 0 {
            let reason =
                "flags within a group or behind other parts are not supported; write (?i:...)";
            return self.refuse(reason);
        } else {
            self.written.push(')');
            self.groups = vec![group];
        }
        Ok(())
    }

    /// Translates a count, or a brace that is an ordinary character. `before` is the last part if
    /// it is one letter.
    fn repeat(&mut self, before: Option<char>) -> Result<()> {
        if self.source.since(self.begin) == "{" {
            let digits = self.source.take_while(|sign| sign.is_ascii_digit() || sign == ',');
            if digits.is_empty() || !self.source.take("}") {
                self.last = self.written.len();
                self.source.place = self.begin + 1;
                self.written += r"\{";
                return Ok(());
            }
        }
        let count = self.source.since(self.begin);
        if count == "{,}" {
            return self.refuse("{,} is not a plain repetition");
        }
        if count != "?" {
            self.check_letters(before, 's')?;
        }
        self.written += count;
        if let Some(sign @ ('?' | '+')) = self.source.peek() {
            self.source.next();
            // Behind some braces, Oniguruma reads another sign as a second repetition.
            if self.is_oniguruma && count.starts_with('{') && (sign == '+' || !count.contains(','))
            {
                self.written.insert_str(self.last, "(?:");
                self.written.push(')');
            }
            self.written.push(sign);
        }
        Ok(())
    }

    /// Where case is ignored, Oniguruma compares texts of different lengths: `ss` with `ß`, `fi`
    /// with its ligature. Refuses two letters that may begin such a text.
    fn check_letters(&self, before: Option<char>, letter: char) -> Result<()> {
        let may_begin = match before {
            Some('s') => "st".contains(letter),
            Some('f') => "sfil".contains(letter),
            _ => false,
        };
        if may_begin && self.is_oniguruma && self.group().ignores_case {
            return self.refuse("ignoring case here would match text of another length");
        }
        Ok(())
    }

    /// Where case is ignored, refuses a set that engines extend in different ways: all but ASCII
    /// without `i`, which has Turkish forms.
    fn check_case(&self, written: &str) -> Result<()> {
        if !self.group().ignores_case || [r"\s", r"\S", r"\d", r"\D"].contains(&written) {
            return Ok(());
        }
        let Expression::Set(members) = parse(written)? else { return Ok(()) };
        let alike = CharSet::new([(0, 0x48), (0x4A, 0x68), (0x6A, 0x7F)]);
        if [&members, &members.complement()].iter().any(|set| set.difference(&alike).is_empty()) {
            return Ok(());
        }
        self.refuse(
            "case is ignored in i, which has other forms (write [iI]), or in a set beyond ASCII",
        )
    }

    /// Returns a part that begins with a sign, as it is written. `before` is the last part if it is
    /// one letter.
    fn part(&mut self, sign: char, before: Option<char>) -> Result<String> {
        // No line feed is left behind these, so this is the end of the text in our dialect, too.
        let is_behind_spaces = self.written.ends_with(r"\s++") && !self.written.ends_with(r"\\s++");
        let written = match sign {
            '[' => self.bracketed(MOST_NESTED)?,
            '\\' => self.escape()?,
            '^' if self.is_oniguruma => LINE_START.to_owned(),
            '$' if self.is_oniguruma => "(?m:$)".to_owned(),
            '$' if !self.group().in_lines && !is_behind_spaces => END.to_owned(),
            '.' | '^' | '$' => return Ok(sign.to_string()),
            '}' => r"\}".to_owned(),
            _ => {
                let letter = sign.to_ascii_lowercase();
                self.check_letters(before, letter)?;
                self.letter = Some(letter);
                sign.to_string()
            }
        };
        self.check_case(&written)?;
        Ok(written)
    }

    /// Parses an escape outside a set, after its backslash.
    fn escape(&mut self) -> Result<String> {
        let is_oniguruma = self.is_oniguruma;
        let word = format!("[{WORD_ALONE}]");
        let border = format!("(?<!{word})(?={word})|(?<={word})(?!{word})");
        let written = match self.source.peek() {
            Some('z') => END.to_owned(),
            Some('Z') if is_oniguruma => "$".to_owned(),
            Some('b') if is_oniguruma => format!("(?:{border})"),
            Some('B') if is_oniguruma => format!("(?!{border})"),
            Some('w') if is_oniguruma => word,
            Some('W') if is_oniguruma => complement(&word),
            Some(letter @ ('A' | 'b' | 'B')) => format!(r"\{letter}"),
            _ => return Ok(self.item_of()?.0),
        };
        self.source.next();
        if self.source.since(self.begin) == r"\b" && self.source.peek() == Some('{') {
            return self.refuse(r"\b with a brace is not supported");
        }
        Ok(written)
    }

    /// Parses an escape after its backslash, in or outside of brackets. Returns how it is written,
    /// and whether it is a character.
    fn item_of(&mut self) -> Result<(String, bool)> {
        let place = self.source.place - 1;
        let letter = self.source.next().unwrap_or('y');
        let digits = match letter {
            'p' | 'P' => return Ok((self.property(place)?, false)),
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => return Ok((format!(r"\{letter}"), false)),
            'x' => 2,
            'u' => 4,
            'U' if !self.is_oniguruma => 8,
            'a' | 't' | 'n' | 'v' | 'f' | 'r' => return Ok((format!(r"\{letter}"), true)),
            _ if letter.is_alphanumeric() || "<>".contains(letter) => {
                return self.refuse(format!(r"\{letter} is not supported"));
            }
            _ => return Ok((format!(r"\{letter}"), true)),
        };
        // In Oniguruma, two digits are a byte.
        let is_byte = self.is_oniguruma && digits == 2 && !self.source.rest().starts_with('{');
        let may_have_braces = !self.is_oniguruma || digits == 2;
        let code_point = self.source.hexadecimal(place, digits, may_have_braces)?;
        match char::from_u32(code_point).filter(|character| character.is_ascii() || !is_byte) {
            Some(character) => Ok((escaped(character), true)),
            None => self.refuse(format!("{} is not supported", self.source.since(place))),
        }
    }

    /// Parses a property after the letter p.
    fn property(&mut self, place: usize) -> Result<String> {
        let has_braces = self.source.rest().starts_with('{');
        let property = self.source.property();
        let written = self.source.since(place);
        if let Some((_, name, value)) = property {
            let plain = name.replace([' ', '_', '-'], "").to_ascii_lowercase();
            let is_known = !ONLY_OURS.contains(&&*plain) && !plain.starts_with("posix");
            let is_allowed = has_braces && value.is_none() || !self.is_oniguruma;
            if is_known && is_allowed {
                return Ok(written.to_owned());
            }
        }
        self.refuse(format!("there is no property {written}"))
    }
}

/// Sets in brackets.
impl Translator<'_> {
    /// Parses a set after its opening bracket, with at most this many sets in one another. There
    /// may be operators between sets.
    fn bracketed(&mut self, most_nested: usize) -> Result<String> {
        if most_nested == 0 {
            return self.refuse(format!("sets nested deeper than {MOST_NESTED} are not supported"));
        }
        let negated = self.source.take("^");
        if self.source.rest().starts_with(']') {
            return self.refuse(r"a set begins with its end; write \] for a bracket");
        }
        let mut set = self.operand(most_nested)?;
        while !self.source.take("]") {
            let operator = self.source.next();
            self.source.next();
            if self.source.rest().starts_with(['&', '-', '~', ']']) {
                return self.refuse("an operator of sets lacks an operand");
            }
            let right = self.operand(most_nested)?;
            set = match operator {
                Some('&') => format!("(?:(?={set}){right})"),
                Some('-') => format!("(?:(?!{right}){set})"),
                _ => return self.refuse("~~ within a set is not supported"),
            };
        }
        Ok(if negated { complement(&set) } else { set })
    }

    fn at_operator(&self) -> bool {
        let operators: &[&str] = if self.is_oniguruma { &["&&"] } else { &["&&", "--", "~~"] };
        operators.iter().any(|operator| self.source.rest().starts_with(operator))
    }

    /// Parses the items of a set up to its end, or to an operator.
    fn operand(&mut self, most_nested: usize) -> Result<String> {
        // What one set in brackets can have, and what needs sets of its own.
        let mut items = String::new();
        let mut parts = Vec::new();
        while !(self.source.rest().starts_with(']') || self.at_operator()) {
            let is_first = items.is_empty() && parts.is_empty();
            let item = self.item(is_first, most_nested)?;
            match item.strip_prefix('[').and_then(|set| set.strip_suffix(']')) {
                Some(inner_items) if !inner_items.starts_with('^') => items += inner_items,
                None if !item.starts_with("(?:") => items += &item,
                _ => parts.push(item),
            }
        }
        if !items.is_empty() || parts.is_empty() {
            parts.insert(0, format!("[{items}]"));
        }
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        Ok(format!("(?:{})", parts.join("|")))
    }

    /// Parses one item of a set: a character, a range, a class or a set.
    fn item(&mut self, is_first: bool, most_nested: usize) -> Result<String> {
        let rest = self.source.rest();
        if rest.starts_with("[:") {
            return self.refuse(r"[: within a set is not supported; write a property, \p{...}");
        }
        if rest.starts_with('-') && !is_first && !rest.starts_with("-]") {
            return self.refuse(r"a hyphen is between two items of a set; write \-");
        }
        if self.source.take("[") {
            return self.bracketed(most_nested - 1);
        }
        if self.is_oniguruma && self.source.take(r"\w") {
            return Ok(format!("[{WORD}]"));
        }
        if self.is_oniguruma && self.source.take(r"\W") {
            return Ok(format!("[^{WORD}]"));
        }
        let (first, is_character) = self.member()?;
        if self.source.rest().starts_with("-]") || self.at_operator() || !self.source.take("-") {
            return Ok(first);
        }
        match self.member()? {
            (last, true) if is_character => Ok(format!("{first}-{last}")),
            _ => self.refuse("a class cannot begin or end a range"),
        }
    }

    /// Returns a character or a class, and whether it is a character.
    fn member(&mut self) -> Result<(String, bool)> {
        match self.source.next() {
            Some('\\') => self.item_of(),
            Some(sign) if "[]^&|~-".contains(sign) => Ok((format!("\\{sign}"), true)),
            Some(sign) => Ok((sign.to_string(), true)),
            None => self.refuse("a set is not closed"),
        }
    }
}

/// Returns all characters but those of a set.
fn complement(set: &str) -> String {
    if let Some(items) = set.strip_prefix("[^") {
        return format!("[{items}");
    }
    match set.strip_prefix('[') {
        Some(items) => format!("[^{items}"),
        None => format!(r"(?:(?!{set})[\s\S])"),
    }
}

/// Spells a character, in or outside of brackets.
fn escaped(character: char) -> String {
    match u32::from(character) {
        _ if character.is_ascii_alphanumeric() => character.to_string(),
        code_point @ ..0x100 => format!("\\x{code_point:02x}"),
        code_point @ ..0x1_0000 => format!("\\u{code_point:04x}"),
        code_point => format!("\\U{code_point:08x}"),
    }
}
