//! The dialects of other libraries: `tiktoken` uses Rust's `fancy-regex`, `tokenizers` uses Oniguruma with Ruby's syntax.
//!
//! The same characters have different meanings there: sets with `&&`, classes such as `\w`, `$`, `{1,3}+`, ignored case.
//! What they read differently is written in our dialect while it is parsed, and what is written is parsed again: it must
//! have the same tree, with the same members in every set.
//!
//! Classes follow our Unicode version, whatever the version of the other library.

use super::{Dialect, Escape, Expression, Flags, Greed, MOST_BYTES, Parser, SHOWN_CHARACTERS};
use super::{check_length, parse, parse_as, refusal};
use crate::error::Result;
use crate::pretokenize::set::CharSet;
use crate::pretokenize::syntax::sets::control;
use crate::pretokenize::{Pattern, on_large_stack};
use crate::unicode::lookup::Property;

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

fn translated(source: &str, dialect: Dialect, cuts: bool) -> Result<String> {
    let (expression, mut parser) = parse_as(source, dialect)?;
    parser.copy();
    let written = parser.written;
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
        // What does not begin with a match of some length goes on up to the next match, of any length. (A reference to a
        // group cannot be written twice.)
        (true, Dialect::Oniguruma) if cuts && parser.references.is_empty() => {
            Ok(format!("(?>{written})|(?s:.)(?:(?!{written})(?s:.))*+"))
        }
        (true, Dialect::Oniguruma) => {
            Err(refusal(source, "it may match nothing, and Oniguruma would cut text at each such place"))
        }
        (true, _) if matches!(expression, Expression::Atomic(_)) => Ok(written),
        // If the preferred match is empty, that engine goes on with the next character; ours looks for a non-empty
        // match.
        (true, _) => Ok(format!("(?>{written})")),
    }
}

/// Whether two patterns in our dialect differ in their spelling only.
pub fn alike(one: &str, other: &str) -> Result<bool> {
    on_large_stack(|| Ok(parse(one)? == parse(other)?))
}

fn repeats_nothing(expression: &Expression) -> bool {
    let repeats = match expression {
        Expression::Repeat { part, most, .. } => *most != Some(1) && part.can_be_empty(),
        _ => false,
    };
    repeats || expression.parts().iter().any(repeats_nothing)
}

/// The end of the text, as all engines read it.
const END: &str = r"(?![\s\S])";

/// Escapes that match a place or several characters, in Rust's dialect and in Oniguruma's, and in ours.
const RUST_PARTS: [(&str, &str); 12] = [
    ("A", r"\A"),
    ("z", END),
    ("Z", r"(?=\n*(?![\s\S]))"),
    ("b{start}", r"\m"),
    ("b{end}", r"\M"),
    ("<", r"\m"),
    (">", r"\M"),
    ("b", r"\b"),
    ("B", r"\B"),
    ("O", "(?s:.)"),
    ("N", r"[^\n]"),
    ("R", r"\R"),
];
const ONIGURUMA_PARTS: [(&str, &str); 6] = [
    ("A", r"\A"),
    ("z", END),
    ("Z", "$"),
    ("b", "(?:(?<=WORD)(?!WORD)|(?<!WORD)(?=WORD))"),
    ("B", "(?:(?<=WORD)(?=WORD)|(?<!WORD)(?!WORD))"),
    ("R", r"\R"),
];

/// Oniguruma's `\w` in a set, as items of ours.
const WORD: &str = r"\p{Alphabetic} \p{M} \p{Nd} \p{Pc}";
/// The same outside a set, where Oniguruma uses its table of Latin-1 for the first 256 characters.
const WORD_ALONE: &str = r"\p{Alphabetic} \p{M} \p{Nd} \p{Pc} ² ³ ¹ ¼ ½ ¾";

/// What `[:name:]` has as members in Rust's dialect and in Oniguruma's.
const POSIX: [(&str, &str, &str); 14] = [
    ("alnum", "0-9 A-Z a-z", r"\p{Alphabetic} \p{Nd}"),
    ("alpha", "A-Z a-z", r"\p{Alphabetic}"),
    ("ascii", r"\x00-\x7f", r"\x00-\x7f"),
    ("blank", r"\t \x20", r"\h"),
    ("cntrl", r"\x00-\x1f \x7f", r"\p{Cc}"),
    ("digit", "0-9", r"\d"),
    ("graph", "!-~", r"\p{Graph}"),
    ("lower", "a-z", r"\p{Lowercase}"),
    ("print", r"\x20-~", r"\p{Print}"),
    ("punct", r"!-/ :-@ \[-` {-~", r"\p{P} \p{S}"),
    ("space", r"\t-\r \x20", r"\s"),
    ("upper", "A-Z", r"\p{Uppercase}"),
    ("word", "0-9 A-Z a-z _", WORD),
    ("xdigit", "0-9 A-F a-f", "0-9 A-F a-f"),
];

/// Sequences, repetitions and groups.
impl Parser<'_> {
    /// Parse a text of our dialect, as it is read within the present flags.
    fn ours(&self, text: &str) -> Result<Expression> {
        let mut parser = Parser::new(text, Dialect::Bpetite);
        parser.flags.ignore_case = self.flags.ignore_case;
        parser.whole()
    }

    /// Write a text of our dialect instead of what was read, and parse it.
    pub(super) fn instead(&mut self, text: &str) -> Result<Expression> {
        self.replace(text);
        self.ours(text)
    }

    /// Put what is written from `start` on, where the last part begins, into a group.
    pub(super) fn enclose_written(&mut self, start: usize) {
        self.written.insert_str(start, "(?:");
        self.written.push(')');
    }

    /// Copy what was read, and leave out what verbose mode ignores.
    pub(super) fn skip_blanks(&mut self) -> Result<()> {
        self.copy();
        if self.written.len() > MOST_BYTES {
            let reason = format!("it takes more than {MOST_BYTES} bytes to write in our syntax");
            return Err(self.refuse(self.place, &reason));
        }
        while self.flags.verbose {
            let blanks = self.take_while(|sign| matches!(sign, ' ' | '\t'..='\r'));
            if self.peek() == Some('#') {
                self.take_while(|sign| sign != '\n');
            } else if blanks.is_empty() {
                break;
            }
        }
        self.replace("");
        Ok(())
    }

    /// `^` or `$` behind a part.
    pub(super) fn foreign_line(&mut self, sign: char, before: Option<&Expression>) -> Result<Expression> {
        match (sign, self.dialect) {
            ('^', Dialect::Rust) => Ok(Expression::Start),
            ('^', _) => self.instead(r"(?:\A|(?<=\n)(?=[\s\S]))"),
            (_, Dialect::Oniguruma) => self.instead("(?m:$)"),
            _ => match before {
                // No line feed is left, so this is the end of the text in our dialect, too.
                Some(Expression::Repeat { part, most: None, greed: Greed::Possessive, .. }) if matches!(&**part, Expression::Set(set) if set.contains('\n')) => {
                    Ok(Expression::End { before_line_feed: true })
                }
                _ => self.instead(END),
            },
        }
    }

    /// Whether case is ignored as Oniguruma does, which compares texts of different lengths.
    pub(super) fn ignores_case_by_text(&self) -> bool {
        self.flags.ignore_case && self.dialect == Dialect::Oniguruma
    }

    /// The part since `place`, if it is one letter in Oniguruma, where case is ignored; `before` is the letter before it.
    ///
    /// Refuses texts that Oniguruma matches with a text of another length: `ss` with `ß`, `fi` with its ligature.
    pub(super) fn letter_since(&self, place: usize, before: Option<char>) -> Result<Option<char>> {
        let mut signs = self.source[place..self.place].chars();
        let (Some(letter), None) = (signs.next().filter(|sign| *sign != '.'), signs.next()) else {
            return Ok(None);
        };
        if !self.ignores_case_by_text() {
            return Ok(None);
        }
        let letter = letter.to_ascii_lowercase();
        let joined = matches!((before, letter), (Some('s'), 's' | 't') | (Some('f'), 'f' | 'i' | 'l'));
        if joined || !letter.is_ascii() {
            return Err(self.refuse(place, "ignoring case here would match text of another length"));
        }
        Ok(Some(letter))
    }

    /// Refuse what other engines repeat in another way than ours.
    pub(super) fn check_repeated(&self, part: &Expression, place: usize, letter: Option<char>) -> Result<()> {
        if self.is_foreign() && part.length() == Some(0) {
            return Err(self.refuse(place, "what matches only a place, such as ^, is repeated"));
        }
        if letter.is_some_and(|letter| "sf".contains(letter)) && &self.source[place..self.place] != "?" {
            return Err(self.refuse(place, "ignoring case here would match text of another length"));
        }
        Ok(())
    }

    /// Parse what follows the flags `written`: the content of their group, or in Oniguruma the rest of the group around
    /// them.
    pub(super) fn foreign_flags(
        &mut self,
        place: usize,
        written: &str,
        is_group: bool,
        outer: Flags,
    ) -> Result<Option<Expression>> {
        let kept = match self.dialect {
            Dialect::Oniguruma => written.replace(['m', 'x'], ""),
            _ => written.replace('x', ""),
        };
        let kept = kept.trim_end_matches('-');
        if !is_group && self.dialect == Dialect::Rust {
            if self.depth > 0 {
                return Err(self.refuse(place, "flags within a group also apply after it; write (?i:...)"));
            }
            self.replace(&if kept.is_empty() { String::new() } else { format!("(?{kept})") });
            return Ok(None);
        }
        self.replace(&format!("(?{kept}:"));
        let inner = if is_group {
            self.enclosed()?
        } else {
            self.enter("groups")?;
            let inner = self.choice()?;
            self.depth -= 1;
            self.written.push(')');
            inner
        };
        self.flags = outer;
        Ok(Some(inner))
    }
}

/// Sets and escapes.
impl Parser<'_> {
    /// Note a range of a set, to write it.
    pub(super) fn note_range(&mut self, first: u32, last: u32) {
        if self.is_foreign() {
            let set = CharSet::new([(first, last)]);
            self.items.push((ranges(&set), set));
        }
    }

    /// The members of items of our dialect, which are noted.
    fn listed(&mut self, items: &str, negated: bool) -> CharSet {
        let mut members = CharSet::default();
        for item in items.split(' ') {
            let set = match parse(&format!("[{item}]")) {
                Ok(Expression::Set(set)) => set,
                _ => CharSet::default(),
            };
            members = members.union(&set);
            self.items.push((item.to_owned(), set));
        }
        let members = self.fold(members);
        if negated { members.complement() } else { members }
    }

    pub(super) fn at_operator(&self) -> bool {
        let operators: &[&str] = match self.dialect {
            Dialect::Bpetite => &[],
            Dialect::Rust => &["&&", "--", "~~"],
            Dialect::Oniguruma => &["&&"],
        };
        operators.iter().any(|operator| self.rest().starts_with(operator))
    }

    /// Parse an operator between two sets, if one follows; returns its sign.
    pub(super) fn operator(&mut self) -> Result<Option<char>> {
        if !self.at_operator() {
            return Ok(None);
        }
        let place = self.place;
        let sign = self.next();
        self.next();
        if self.rest().starts_with(['&', '-', '~', ']']) {
            return Err(self.refuse(place, "a set is missing beside its operator"));
        }
        Ok(sign)
    }

    /// Parse `[:alpha:]` after `[:`.
    pub(super) fn foreign_posix(&mut self, place: usize) -> Result<CharSet> {
        let negated = self.take("^");
        let name = self.take_while(|sign| sign.is_ascii_alphabetic());
        let Some(&(_, rust, oniguruma)) = POSIX.iter().find(|(known, ..)| *known == name) else {
            return Err(self.refuse(place, &format!("there is no class [:{name}:]")));
        };
        self.expect(":]")?;
        Ok(self.listed(if self.dialect == Dialect::Rust { rust } else { oniguruma }, negated))
    }

    /// Parse an escape after its backslash at `place`.
    pub(super) fn foreign_escape(&mut self, place: usize, in_set: bool) -> Result<Escape> {
        let rust = self.dialect == Dialect::Rust;
        if !in_set && let Some(part) = self.foreign_part(place)? {
            return Ok(Escape::Part(part));
        }
        let Some(letter) = self.next() else {
            return Err(self.refuse(place, "nothing follows the backslash"));
        };
        let items = match letter {
            'd' | 'D' => r"\d".to_owned(),
            's' | 'S' => r"\s".to_owned(),
            'w' | 'W' if rust => r"\w".to_owned(),
            'w' | 'W' => (if in_set { WORD } else { WORD_ALONE }).to_owned(),
            'h' | 'H' => "0-9 A-F a-f".to_owned(),
            'p' | 'P' => return self.foreign_property(place, letter == 'P', in_set).map(Escape::Members),
            'a' | 'e' | 'f' | 'n' | 'r' | 't' | 'v' => return Ok(Escape::Character(control(letter))),
            'x' => return self.hexadecimal(place, 2),
            'u' => return self.hexadecimal(place, 4),
            'U' if rust => return self.hexadecimal(place, 8),
            '<' | '>' if rust => {
                return Err(self.refuse(place, &format!(r"\{letter} in a set is not supported")));
            }
            _ if !letter.is_alphanumeric() => return Ok(Escape::Character(letter.into())),
            _ => return Err(self.refuse(place, &format!(r"\{letter} is not supported"))),
        };
        Ok(Escape::Members(self.listed(&items, letter.is_ascii_uppercase())))
    }

    /// Parse an escape that is no set of characters: a place in the text, or a reference to a group.
    fn foreign_part(&mut self, place: usize) -> Result<Option<Expression>> {
        let rust = self.dialect == Dialect::Rust;
        let parts: &[_] = if rust { &RUST_PARTS } else { &ONIGURUMA_PARTS };
        let rest = self.rest();
        if let Some((escape, text)) = parts.iter().find(|(escape, _)| rest.starts_with(escape)) {
            self.place += escape.len();
            if *escape == "b" && self.peek() == Some('{') {
                return Err(self.refuse(place, r"\b with a brace is not supported"));
            }
            let word = format!("[{}]", WORD_ALONE.replace(' ', ""));
            return self.instead(&text.replace("WORD", &word)).map(Some);
        }
        let (group, text) = if rust && self.take("k<") {
            let start = self.place;
            let group = self.group_named(place, ">")?;
            (group, format!("(?P={})", &self.source[start..self.place - 1]))
        } else {
            let digits = self.take_while(|sign| sign.is_ascii_digit());
            if digits.is_empty() {
                return Ok(None);
            }
            let has_names = !rust && self.groups.iter().any(Option::is_some);
            let Some(group) = digits.parse().ok().filter(|group| (1..10).contains(group) && !has_names)
            else {
                return Err(self.refuse(place, "such a reference to a group is not supported"));
            };
            (group, format!(r"(?:\{group})"))
        };
        self.replace(&text);
        self.reference(group, place).map(Some)
    }

    /// Parse `\p{...}` or `\pL` after the letter p.
    fn foreign_property(&mut self, place: usize, negated: bool, in_set: bool) -> Result<CharSet> {
        let rust = self.dialect == Dialect::Rust;
        if rust && let Some(letter) = self.property_letter() {
            let items = format!(r"\p{{{letter}}}");
            return Ok(self.listed(&items, negated));
        }
        if !self.take("{") {
            return Err(self.refuse(place, "the name of a property is missing"));
        }
        let negated = negated ^ self.take("^");
        let name = self.take_while(|sign| sign != '}');
        if !self.take("}") {
            return Err(self.refuse(place, "the name of a property is not ended"));
        }
        let plain: String =
            name.chars().filter(|sign| !" _-".contains(*sign)).collect::<String>().to_ascii_lowercase();
        let items = match (plain.as_str(), rust) {
            ("alnum", _) => r"\p{Alphabetic} \p{Nd}",
            ("blank", true) => r"\p{Zs} \t",
            ("cntrl", _) => r"\p{Cc}",
            ("word", true) => r"\w",
            ("word", false) if in_set => WORD,
            ("word", false) => WORD_ALONE,
            ("xdigit", false) => "0-9 A-F a-f",
            ("any", _) => r"\p{Any}",
            _ => "",
        };
        if !items.is_empty() {
            return Ok(self.listed(items, negated));
        }
        let known = match name.split_once(['=', ':']) {
            Some((name, value)) if rust => Property::with_value(name, value).is_some(),
            Some(_) => false,
            None => Property::named(name).is_some(),
        };
        let only_ours = ["h", "v", "horizspace", "vertspace"].contains(&plain.as_str())
            || plain.starts_with("posix")
            || rust && ["print", "graph"].contains(&plain.as_str());
        if !known || only_ours {
            let name: String = name.chars().take(SHOWN_CHARACTERS).collect();
            return Err(self.refuse(place, &format!(r"the property \p{{{name}}} is not supported")));
        }
        Ok(self.listed(&format!(r"\p{{{}}}", name.replace(' ', "")), negated))
    }

    /// Write a set that is spelled from `place` on, unless its spelling means the same in our dialect.
    pub(super) fn write_set(&mut self, place: usize, members: &CharSet) -> Result<()> {
        let items = std::mem::take(&mut self.items);
        let spelling = &self.source[place..self.place];
        if self.ignores_case_by_text() {
            let ascii = CharSet::new([(0, 0x7F), (0x17F, 0x17F), (0x212A, 0x212A)]);
            let beyond = |set: &CharSet| !set.difference(&ascii).is_empty();
            let is_class = [r"\s", r"\S", r"\d", r"\D"].contains(&spelling);
            if beyond(members) && beyond(&members.complement()) && !is_class {
                return Err(self.refuse(place, "case is ignored in a set beyond ASCII"));
            }
        }
        if !matches!(self.ours(spelling), Ok(Expression::Set(read)) if read == *members) {
            let text = written_set(members, &items);
            self.replace(&if self.flags.ignore_case { format!("(?-i:{text})") } else { text });
        }
        Ok(())
    }
}

/// Write a set in our dialect, by the items that it was spelled with.
///
/// There are two forms. What an intersection or a difference leaves is `(?![dropped])[kept]`: `dropped` are the items
/// without a member, and `kept` are those that have, besides these, members only. What a complement leaves is
/// `(?:[kept]|[^others])`: `kept` are the items that have members only. What a form lacks or has too much is listed as
/// ranges, as is all in a third form. The one that lists the fewest is taken.
fn written_set(members: &CharSet, items: &[(String, CharSet)]) -> String {
    type Items<'i> = Vec<&'i (String, CharSet)>;
    let union = |items: &Items| CharSet::new(items.iter().flat_map(|(_, set)| set.ranges().iter().copied()));
    let text = |items: &Items, more: &CharSet| {
        items.iter().map(|(item, _)| &**item).chain([&*ranges(more)]).collect::<String>()
    };
    if members.is_empty() || *members == CharSet::all() {
        return if members.is_empty() { r"[^\x00-\U0010ffff]" } else { r"[\s\S]" }.to_owned();
    }
    let (mut dropped, others): (Items, Items) =
        items.iter().partition(|(_, set)| set.intersection(members).is_empty());
    let outside = union(&dropped);
    let kept: Items = others
        .into_iter()
        .filter(|(_, set)| set.difference(&outside).difference(members).is_empty())
        .collect();
    if union(&kept).intersection(&outside).is_empty() {
        dropped.clear();
    }
    let (inside, excluded): (Items, Items) =
        items.iter().partition(|(_, set)| set.difference(members).is_empty());
    let difference = union(&kept).difference(&union(&dropped));
    let complement = union(&inside).union(&union(&excluded).complement());
    let forms = [
        (kept, dropped, difference, false),
        (inside, excluded, complement, true),
        (Vec::new(), Vec::new(), CharSet::default(), false),
    ];
    let written = forms.map(|(kept, others, found, is_complement)| {
        let (missing, extra) = (members.difference(&found), found.difference(members));
        let (kept, others) = (text(&kept, &missing), text(&others, &extra));
        let whole = match (is_complement, kept.is_empty(), others.is_empty()) {
            (true, true, _) => format!("[^{others}]"),
            (true, false, _) => format!("(?:{}|[^{others}])", in_brackets(&kept)),
            (false, _, true) => in_brackets(&kept),
            (false, _, false) => format!("(?!{}){}", in_brackets(&others), in_brackets(&kept)),
        };
        (missing.ranges().len() + extra.ranges().len(), whole)
    });
    written.into_iter().min_by_key(|(listed, _)| *listed).map_or(String::new(), |(_, whole)| whole)
}

/// A set of items; a class or a letter needs no brackets.
fn in_brackets(items: &str) -> String {
    match parse(items) {
        Ok(Expression::Set(_)) => items.to_owned(),
        _ => format!("[{items}]"),
    }
}

/// A set as ranges between brackets.
fn ranges(set: &CharSet) -> String {
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
