//! Translates a pattern of another library to our syntax, with the same meaning.
//!
//! `tiktoken` uses Rust's `fancy-regex`, `tokenizers` uses Oniguruma with Ruby's syntax. The same characters have different
//! meanings there: sets with `&&`, classes such as `\w`, `$`, `{1,3}+`, ignored case. Parts that all engines read alike are
//! kept unchanged; other parts are rewritten or refused. Every set is verified: its members are computed by the rules of
//! its own syntax, and the translated set must have the same members.
//!
//! Classes follow our Unicode version, whatever the version of the other library.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};

use super::cursor::Cursor;
use super::expression::Expression;
use super::on_large_stack;
use super::set::CharSet;
use super::syntax::{MOST_BYTES, MOST_NESTED, MOST_RANGES, SHOWN_CHARACTERS, check_length, parse, refusal};
use crate::error::{Error, Result};
use crate::unicode::lookup::{Property, case_pairs};

/// The maximum number of ranges for writing any set as a list of ranges.
const MOST_LISTED: usize = 4;
/// The maximum number of ranges for correcting a set whose members differ between the syntaxes.
const MOST_MENDED: usize = 64;

/// The syntaxes of patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Ours: that of Python's `regex` module.
    Bpetite,
    /// That of `fancy-regex`, as `tiktoken` uses it.
    Rust,
    /// That of Oniguruma, as `tokenizers` uses it.
    Oniguruma,
    /// The same, where text is cut at both ends of every match: also where a match is empty.
    OnigurumaCuts,
}

/// Translate a pattern to our syntax; a pattern without an equivalent is refused.
pub fn read(source: &str, syntax: Syntax) -> Result<String> {
    if syntax == Syntax::Bpetite {
        super::Pattern::new(source)?;
        return Ok(source.to_owned());
    }
    check_length(source)?;
    on_large_stack(|| translated(source, syntax))
}

fn translated(source: &str, syntax: Syntax) -> Result<String> {
    let (syntax, cuts) = match syntax {
        Syntax::OnigurumaCuts => (Syntax::Oniguruma, true),
        other => (other, false),
    };
    let mut reader = PatternReader {
        cursor: Cursor::new(source),
        syntax,
        flags: SourceFlags::default(),
        depth: 0,
        ranges: Cell::new(0),
        names: false,
        refers: false,
    };
    let written = reader.choice()?;
    if reader.peek().is_some() {
        return Err(reader.refuse(reader.place, "a parenthesis is closed that was not opened"));
    }
    let expression =
        parse(&written).map_err(|reason| refusal(source, &format!("written in our syntax, {reason}")))?;
    if repeats_nothing(&expression) {
        return Err(refusal(source, "engines differ in how often they repeat a part that may match nothing"));
    }
    match (expression.can_be_empty(), syntax) {
        (false, _) => Ok(written),
        // What does not begin with a match of some length goes on up to the next match, of any length.
        (true, Syntax::Oniguruma) if cuts && !reader.refers => {
            Ok(format!("(?>{written})|(?s:.)(?:(?!{written})(?s:.))*+"))
        }
        (true, Syntax::Oniguruma) => {
            Err(refusal(source, "it may match nothing, and Oniguruma would cut text at each such place"))
        }
        (true, _) if matches!(expression, Expression::Atomic(_)) => Ok(written),
        // If the preferred match is empty, that engine goes on with the next character; ours looks for a non-empty
        // match.
        (true, _) => Ok(format!("(?>{written})")),
    }
}

/// Whether two patterns in our syntax differ in their spelling only.
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

#[derive(Clone, Copy, Default)]
struct SourceFlags {
    ignore_case: bool,
    /// `^` and `$` match at line ends, as they always do in Oniguruma.
    lines: bool,
    dot_all: bool,
    verbose: bool,
}

/// A translated part of a pattern.
struct Piece {
    written: String,
    kind: Quantifiable,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quantifiable {
    /// A character, a set or a group: a quantifier may follow directly.
    Whole,
    /// Several of them: a quantifier would apply to the last only.
    Compound,
    /// A place in the text.
    Place,
    /// Flags or a comment.
    Nothing,
}

/// A set of characters and its structure.
enum SetNode {
    /// A character, a range or a class: its members, and its spelling within a set.
    Item(CharSet, String),
    Any(Vec<SetNode>),
    Not(Box<SetNode>),
    Both(Box<SetNode>, Box<SetNode>),
    Minus(Box<SetNode>, Box<SetNode>),
    Either(Box<SetNode>, Box<SetNode>),
}

impl SetNode {
    fn members(&self) -> CharSet {
        match self {
            Self::Item(members, _) => members.clone(),
            Self::Any(items) => CharSet::new(items.iter().flat_map(|item| item.members().ranges().to_vec())),
            Self::Not(inner) => inner.members().complement(),
            Self::Both(left, right) => left.members().intersection(&right.members()),
            Self::Minus(left, right) => left.members().difference(&right.members()),
            Self::Either(left, right) => {
                let (left, right) = (left.members(), right.members());
                left.difference(&right).union(&right.difference(&left))
            }
        }
    }

    /// The items of a set that is a plain list.
    fn items(&self) -> Option<String> {
        match self {
            Self::Item(_, written) => Some(written.clone()),
            Self::Any(nodes) => nodes.iter().map(Self::items).collect(),
            _ => None,
        }
    }

    /// The set in our syntax: brackets, and a look-ahead for each further set of an intersection or difference.
    fn written(&self) -> Option<String> {
        if let Some(items) = self.items() {
            let escape = items.starts_with('\\') && matches!(parse(&items), Ok(Expression::Set(_)));
            let class = escape || items.len() == 1 && items.bytes().all(|sign| sign.is_ascii_alphanumeric());
            return Some(if class { items } else { format!("[{items}]") });
        }
        match self {
            Self::Item(..) => None,
            Self::Any(nodes) => {
                let parts: Option<Vec<String>> = nodes.iter().map(Self::written).collect();
                Some(format!("(?:{})", parts?.join("|")))
            }
            Self::Not(inner) => Some(match inner.items() {
                Some(items) => format!("[^{items}]"),
                None => format!("(?!{})(?s:.)", inner.written()?),
            }),
            Self::Both(left, right) => match (&**left, &**right) {
                (kept, Self::Not(other)) | (Self::Not(other), kept) => without(kept, other),
                _ => Some(format!("(?={}){}", right.written()?, left.written()?)),
            },
            Self::Minus(left, right) => without(left, right),
            Self::Either(..) => None,
        }
    }
}

fn without(kept: &SetNode, other: &SetNode) -> Option<String> {
    Some(format!("(?!{}){}", other.written()?, kept.written()?))
}

struct PatternReader<'s> {
    cursor: Cursor<'s>,
    syntax: Syntax,
    flags: SourceFlags,
    depth: usize,
    /// The number of ranges of all sets so far.
    ranges: Cell<usize>,
    /// Whether a group has a name: Oniguruma then does not number the others.
    names: bool,
    /// Whether the pattern refers to a group, so that it cannot be written twice.
    refers: bool,
}

impl<'s> Deref for PatternReader<'s> {
    type Target = Cursor<'s>;

    fn deref(&self) -> &Cursor<'s> {
        &self.cursor
    }
}

impl DerefMut for PatternReader<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.cursor
    }
}

impl<'s> PatternReader<'s> {
    fn refuse(&self, place: usize, reason: &str) -> Error {
        let character = self.character(place);
        let engine = match self.syntax {
            Syntax::Rust => "as fancy-regex reads it",
            _ => "as Oniguruma reads it",
        };
        refusal(self.source, &format!("{engine}, {reason} (at character {character})"))
    }

    fn rust(&self) -> bool {
        self.syntax == Syntax::Rust
    }

    /// Skip what verbose mode ignores.
    fn skip_blanks(&mut self) {
        while self.flags.verbose {
            let blanks = self.take_while(|sign| matches!(sign, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c'));
            if self.peek() == Some('#') {
                self.take_while(|sign| sign != '\n');
            } else if blanks.is_empty() {
                break;
            }
        }
    }

    fn choice(&mut self) -> Result<String> {
        let mut written = self.sequence()?;
        while self.take("|") {
            written.push('|');
            written.push_str(&self.sequence()?);
        }
        Ok(written)
    }

    fn sequence(&mut self) -> Result<String> {
        let mut written = String::new();
        let mut before: Option<char> = None;
        loop {
            self.skip_blanks();
            let start = self.place;
            let Some(sign) = self.peek().filter(|sign| !"|)".contains(*sign)) else { return Ok(written) };
            let mut piece = self.piece(&written)?;
            let source = &self.source[start..self.place];
            if self.flags.ignore_case && !self.rust() {
                let literal = Some(sign).filter(|sign| source.len() == sign.len_utf8() && *sign != '.');
                self.check_folds_alone(start, before, literal)?;
                before = if piece.kind == Quantifiable::Nothing { before } else { literal };
            }
            self.skip_blanks();
            if piece.kind != Quantifiable::Nothing {
                self.quantify(&mut piece, before)?;
            }
            written.push_str(&piece.written);
            self.check_size(written.len())?;
        }
    }

    /// Refuse a pattern whose translation is, so far, larger than any that can be read.
    fn check_size(&self, written: usize) -> Result<()> {
        match (written, self.ranges.get()) {
            (0..=MOST_BYTES, 0..=MOST_RANGES) => Ok(()),
            (0..=MOST_BYTES, _) => Err(self.refuse(self.place, "it names too many classes")),
            _ => Err(self.refuse(
                self.place,
                &format!("it takes more than {MOST_BYTES} bytes to write in our syntax"),
            )),
        }
    }

    /// Enter a group or a set.
    fn enter(&mut self, place: usize, kind: &str) -> Result<()> {
        if self.depth == MOST_NESTED {
            return Err(self.refuse(place, &format!("{kind} are nested too deeply")));
        }
        self.depth += 1;
        Ok(())
    }

    /// Refuse texts that Oniguruma, ignoring case, matches with a text of another length: `ss` with `ß`, `fi` with its
    /// ligature.
    fn check_folds_alone(&self, place: usize, before: Option<char>, literal: Option<char>) -> Result<()> {
        let Some(literal) = literal.map(|sign| sign.to_ascii_lowercase()) else { return Ok(()) };
        let before = before.map(|sign| sign.to_ascii_lowercase());
        let joined = matches!((before, literal), (Some('s'), 's' | 't') | (Some('f'), 'f' | 'i' | 'l'));
        if joined || !literal.is_ascii() {
            return Err(self.refuse(place, "ignoring case here would match text of another length"));
        }
        Ok(())
    }

    /// Translate the next part, up to a quantifier; `before` is the translated sequence before it.
    fn piece(&mut self, before: &str) -> Result<Piece> {
        let place = self.place;
        let piece = |written: &str, kind| Ok(Piece { written: written.to_owned(), kind });
        match self.next() {
            Some('(') => self.group(place),
            Some('[') => {
                let node = self.bracketed(place)?;
                self.write_set(place, &node)
            }
            Some('.') if self.flags.dot_all => {
                piece(if self.rust() { "." } else { "(?s:.)" }, Quantifiable::Whole)
            }
            Some('.') => piece(".", Quantifiable::Whole),
            Some('^') if self.rust() => piece("^", Quantifiable::Place),
            Some('^') => piece(r"(?:\A|(?<=\n)(?=[\s\S]))", Quantifiable::Place),
            Some('$') if !self.rust() => piece("(?m:$)", Quantifiable::Place),
            Some('$') if self.flags.lines => piece("$", Quantifiable::Place),
            // After all white space, `$` can only match at the end of the text.
            Some('$') if before.ends_with(r"\s++") || before.ends_with(r"\s*+") => {
                piece("$", Quantifiable::Place)
            }
            Some('$') => piece(END, Quantifiable::Place),
            Some('\\') => self.escape(place),
            Some('{') => piece(r"\{", Quantifiable::Whole),
            Some('?' | '*' | '+') => Err(self.refuse(place, "there is nothing to repeat")),
            Some(sign) => self.write_set(place, &self.literal(sign.into(), &self.source[place..self.place])),
            None => piece("", Quantifiable::Nothing),
        }
    }

    /// Translate the quantifier that follows a part.
    fn quantify(&mut self, piece: &mut Piece, literal: Option<char>) -> Result<()> {
        let place = self.place;
        let Some((count, is_interval)) = self.count()? else { return Ok(()) };
        if piece.kind == Quantifiable::Place || piece.written.is_empty() {
            return Err(self.refuse(place, "what matches only a place, such as ^, is repeated"));
        }
        if !self.rust()
            && self.flags.ignore_case
            && count != "?"
            && literal.is_some_and(|sign| "sSfF".contains(sign))
        {
            return Err(self.refuse(place, "ignoring case here would match text of another length"));
        }
        if piece.kind == Quantifiable::Compound {
            piece.written = format!("(?:{})", piece.written);
            piece.kind = Quantifiable::Whole;
        }
        piece.written.push_str(&count);
        self.skip_blanks();
        if self.take("?") {
            let fixed = is_interval && !count.contains(',');
            if fixed && !self.rust() {
                piece.written = format!("(?:{})?", piece.written);
            } else {
                piece.written.push('?');
            }
        } else if self.take("+") {
            if is_interval && !self.rust() {
                piece.written = format!("(?:{})+", piece.written);
            } else {
                piece.written.push('+');
            }
        }
        self.skip_blanks();
        let place = self.place;
        if self.count()?.is_some() {
            return Err(self.refuse(place, "a repetition is repeated; put it into a group"));
        }
        Ok(())
    }

    /// Parse a quantifier; returns whether it is in braces, too.
    fn count(&mut self) -> Result<Option<(String, bool)>> {
        let place = self.place;
        if let Some(sign) = self.peek().filter(|sign| "?*+".contains(*sign)) {
            self.next();
            return Ok(Some((sign.to_string(), false)));
        }
        if !self.take("{") {
            return Ok(None);
        }
        let least = self.take_while(|sign| sign.is_ascii_digit());
        let most = if self.take(",") { self.take_while(|sign| sign.is_ascii_digit()) } else { least };
        let inner = &self.source[place + 1..self.place];
        if inner.is_empty() || !self.take("}") {
            self.place = place;
            return Ok(None);
        }
        let number = |digits: &str| digits.parse::<u32>().ok();
        if inner == "," || !least.is_empty() && !most.is_empty() && number(least) > number(most) {
            return Err(self.refuse(place, &format!("{{{inner}}} is not a plain repetition")));
        }
        Ok(Some((format!("{{{inner}}}"), true)))
    }

    /// Translate a group.
    fn group(&mut self, place: usize) -> Result<Piece> {
        for (opening, kind) in [
            ("?:", Quantifiable::Whole),
            ("?>", Quantifiable::Whole),
            ("?=", Quantifiable::Place),
            ("?!", Quantifiable::Place),
            ("?<=", Quantifiable::Place),
            ("?<!", Quantifiable::Place),
        ] {
            if self.take(opening) {
                let inner = self.enclosed(place)?;
                return Ok(Piece { written: format!("({opening}{inner})"), kind });
            }
        }
        if self.take("?#") {
            self.take_while(|sign| sign != ')' && sign != '\\');
            if !self.take(")") {
                return Err(self.refuse(place, "a comment is not closed, or has a backslash"));
            }
            return Ok(Piece { written: String::new(), kind: Quantifiable::Nothing });
        }
        if self.rust() && self.take("?P<") || self.take("?<") {
            let name = self.take_while(|sign| sign.is_ascii_alphanumeric() || sign == '_');
            if name.is_empty() || name.starts_with(|sign: char| sign.is_ascii_digit()) || !self.take(">") {
                return Err(self.refuse(place, "the name of a group is missing"));
            }
            self.names = true;
            let inner = self.enclosed(place)?;
            return Ok(Piece { written: format!("(?P<{name}>{inner})"), kind: Quantifiable::Whole });
        }
        if self.rust() && self.take("?P=") {
            let name = self.take_while(|sign| sign.is_ascii_alphanumeric() || sign == '_');
            if name.is_empty() || !self.take(")") {
                return Err(self.refuse(place, "the name of a group is missing"));
            }
            return Ok(Piece { written: format!("(?P={name})"), kind: Quantifiable::Whole });
        }
        if self.take("?") {
            return self.flagged(place);
        }
        if self.peek() == Some('*') {
            return Err(self.refuse(place, "a verb such as (*FAIL) is not supported"));
        }
        let inner = self.enclosed(place)?;
        Ok(Piece { written: format!("({inner})"), kind: Quantifiable::Whole })
    }

    /// Translate the content of a group and its closing parenthesis.
    fn enclosed(&mut self, place: usize) -> Result<String> {
        self.enter(place, "groups")?;
        let flags = self.flags;
        let inner = self.choice()?;
        if !self.take(")") {
            return Err(self.refuse(place, "a parenthesis is not closed"));
        }
        self.flags = flags;
        self.depth -= 1;
        Ok(inner)
    }

    /// Translate `(?i)` or `(?i:...)` after the question mark.
    fn flagged(&mut self, place: usize) -> Result<Piece> {
        let outer = self.flags;
        let mut value = true;
        let mut kept = String::new();
        let letters = self.take_while(|sign| sign.is_ascii_alphabetic() || sign == '-');
        for letter in letters.chars() {
            match (letter, self.syntax) {
                ('-', _) if value => value = false,
                ('i', _) => self.flags.ignore_case = value,
                ('x', _) => self.flags.verbose = value,
                ('m', Syntax::Rust) => self.flags.lines = value,
                ('s', Syntax::Rust) | ('m', Syntax::Oniguruma) => self.flags.dot_all = value,
                ('u', Syntax::Rust) if value => {}
                _ => return Err(self.refuse(place, &format!("the group (?{letters} is not supported"))),
            }
            // Oniguruma's dot is written as a set, so only the flags that all syntaxes share are kept.
            if letter == 'i' || self.rust() && letter == 's' || self.rust() && letter == 'm' {
                kept.push_str(if value || kept.contains('-') { "" } else { "-" });
                kept.push(letter);
            }
        }
        if letters.is_empty() && !self.rest().starts_with(':') || letters.ends_with('-') {
            return Err(self.refuse(place, "this kind of group is not supported"));
        }
        if self.take(":") {
            let inner = self.enclosed(place)?;
            self.flags = outer;
            return Ok(Piece { written: format!("(?{kept}:{inner})"), kind: Quantifiable::Whole });
        }
        if !self.take(")") {
            return Err(self.refuse(place, "this kind of group is not supported"));
        }
        if self.rust() {
            if self.depth > 0 {
                return Err(self.refuse(place, "flags within a group also apply after it; write (?i:...)"));
            }
            let written = if kept.is_empty() { String::new() } else { format!("(?{kept})") };
            return Ok(Piece { written, kind: Quantifiable::Nothing });
        }
        // In Ruby, flags put the rest of their group, including alternatives, into a group of its own.
        self.enter(place, "groups")?;
        let inner = self.choice()?;
        self.depth -= 1;
        self.flags = outer;
        Ok(Piece { written: format!("(?{kept}:{inner})"), kind: Quantifiable::Whole })
    }

    // Sets ----------------------------------------------------------------------------------------------

    /// Translate a set, with the same members.
    fn write_set(&self, place: usize, node: &SetNode) -> Result<Piece> {
        let members = node.members();
        if self.flags.ignore_case && !self.rust() {
            let ascii = CharSet::new([(0, 0x7f), (0x17f, 0x17f), (0x212a, 0x212a)]);
            let outside = members.difference(&ascii);
            if !outside.is_empty()
                && !members.complement().difference(&ascii).is_empty()
                && !self.is_class(place)
            {
                return Err(self.refuse(place, "case is ignored in a set beyond ASCII"));
            }
        }
        let verbatim = self.source[place..self.place].to_owned();
        let written = node.written();
        let candidates = [Some(verbatim), written.clone()];
        for candidate in candidates.iter().flatten() {
            if self.meaning(candidate).as_ref() == Some(&members) {
                return Ok(as_piece(candidate.clone()));
            }
        }
        let plain =
            |text: &str| if self.flags.ignore_case { format!("(?-i:{text})") } else { text.to_owned() };
        if members.ranges().len() <= MOST_LISTED {
            return Ok(as_piece(plain(&explicit(&members))));
        }
        if let Some(text) = &written {
            let text = plain(text);
            if let Some(found) = self.meaning(&text) {
                let (missing, extra) = (members.difference(&found), found.difference(&members));
                if missing.ranges().len() + extra.ranges().len() <= MOST_MENDED {
                    let mut text = text;
                    if !extra.is_empty() {
                        text = format!("(?!{}){text}", plain(&explicit(&extra)));
                    }
                    if !missing.is_empty() {
                        text = format!("(?:{text}|{})", plain(&explicit(&missing)));
                    }
                    return Ok(as_piece(text));
                }
            }
        }
        Ok(as_piece(plain(&explicit(&members))))
    }

    /// Whether the next class is one that Oniguruma does not fold.
    fn is_class(&self, place: usize) -> bool {
        let rest = &self.source[place..];
        ["\\s", "\\S", "\\d", "\\D"].iter().any(|class| rest.starts_with(class))
    }

    /// The members of a set in our syntax, with the current flags.
    fn meaning(&self, written: &str) -> Option<CharSet> {
        let flags = if self.flags.ignore_case { "(?i)" } else { "" };
        match parse(&format!("{flags}{written}")) {
            Ok(Expression::Set(members)) => Some(members),
            _ => None,
        }
    }

    /// Fold a set as both engines do: simple case folding, without the Turkish pairs.
    fn fold(&self, set: &CharSet) -> CharSet {
        self.ranges.set(self.ranges.get() + set.ranges().len());
        if !self.flags.ignore_case {
            return set.clone();
        }
        let pairs = case_pairs();
        let others = set.ranges().iter().flat_map(|&(first, last)| {
            let start = pairs.partition_point(|(one, _)| *one < first);
            let end = start + pairs[start..].partition_point(|(one, _)| *one <= last);
            pairs[start..end].iter().filter(|pair| !is_turkish(**pair)).map(|&(_, other)| (other, other))
        });
        CharSet::new(set.ranges().iter().copied().chain(others))
    }

    /// A character; `written` is its spelling in the source.
    fn literal(&self, code_point: u32, written: &str) -> SetNode {
        let members = self.fold(&CharSet::new([(code_point, code_point)]));
        let kept = self.item_meaning(written).as_ref() == Some(&members);
        SetNode::Item(members, if kept { written.to_owned() } else { escaped(code_point) })
    }

    fn range(&self, first: u32, last: u32, written: &str) -> SetNode {
        let members = self.fold(&CharSet::new([(first, last)]));
        let kept = self.item_meaning(written).as_ref() == Some(&members);
        SetNode::Item(
            members,
            if kept { written.to_owned() } else { format!("{}-{}", escaped(first), escaped(last)) },
        )
    }

    /// The members of an item of a set in our syntax.
    fn item_meaning(&self, written: &str) -> Option<CharSet> {
        if written.starts_with(['-', '^', '[', ']', '&', '~', '|']) {
            return None;
        }
        self.meaning(&format!("[{written}]"))
    }

    /// A class, by its spelling within a set of our syntax.
    fn class(&self, written: &str, negated: bool) -> SetNode {
        let members = match parse(&format!("[{written}]")) {
            Ok(Expression::Set(members)) => self.fold(&members),
            _ => CharSet::default(),
        };
        let opposite = |written: &str| match written.as_bytes() {
            [b'\\', letter @ (b'd' | b's' | b'w')] => {
                Some(format!("\\{}", letter.to_ascii_uppercase() as char))
            }
            [b'\\', b'p', b'{', ..] if written.matches('\\').count() == 1 && written.ends_with('}') => {
                Some(written.replacen("\\p", "\\P", 1))
            }
            _ => None,
        };
        match opposite(written) {
            Some(opposite) if negated => SetNode::Item(members.complement(), opposite),
            _ if negated => SetNode::Not(Box::new(SetNode::Item(members, written.to_owned()))),
            _ => SetNode::Item(members, written.to_owned()),
        }
    }

    /// Parse a set after its opening bracket at `place`.
    fn bracketed(&mut self, place: usize) -> Result<SetNode> {
        self.enter(place, "sets")?;
        let negated = self.take("^");
        if self.rest().starts_with(']') {
            return Err(self.refuse(place, r"a set begins with its end; write \] for a bracket"));
        }
        let mut set: Option<(Operator, SetNode)> = None;
        let node = loop {
            let node = SetNode::Any(self.items(place)?);
            let node = match set.take() {
                None => node,
                Some((operator, left)) => operator.join(left, node),
            };
            match self.operator()? {
                None => break node,
                Some(operator) => set = Some((operator, node)),
            }
        };
        if !self.take("]") {
            return Err(self.refuse(place, "a set is not closed"));
        }
        self.depth -= 1;
        let node = single(node);
        Ok(if negated { SetNode::Not(Box::new(node)) } else { node })
    }

    /// Parse an operator between two sets, if one follows.
    fn operator(&mut self) -> Result<Option<Operator>> {
        let place = self.place;
        for (sign, operator) in [("&&", Operator::Both), ("--", Operator::Minus), ("~~", Operator::Either)] {
            if (self.rust() || operator == Operator::Both) && self.take(sign) {
                if self.rest().starts_with(['&', '-', '~', ']']) {
                    return Err(self.refuse(place, "a set is missing beside its operator"));
                }
                return Ok(Some(operator));
            }
        }
        Ok(None)
    }

    fn at_operator(&self) -> bool {
        let rest = self.rest();
        rest.starts_with("&&") || self.rust() && (rest.starts_with("--") || rest.starts_with("~~"))
    }

    /// Parse items up to the end of a set or an operator.
    fn items(&mut self, opening: usize) -> Result<Vec<SetNode>> {
        let mut items = Vec::new();
        while !self.at_operator() && !self.rest().starts_with(']') {
            let place = self.place;
            self.check_size(0)?;
            if self.flags.verbose && self.peek().is_some_and(char::is_whitespace) {
                return Err(self.refuse(place, "a blank stands in a set in verbose mode"));
            }
            match self.member(opening, items.is_empty())? {
                Member::Set(node) => {
                    if self.rest().starts_with('-') && !self.rest().starts_with("-]") && !self.at_operator() {
                        return Err(self.refuse(place, "a range begins with a class"));
                    }
                    items.push(node);
                }
                Member::Character(first) => {
                    let ranged =
                        self.rest().starts_with('-') && !self.rest().starts_with("-]") && !self.at_operator();
                    if !ranged {
                        items.push(self.literal(first, &self.source[place..self.place]));
                        continue;
                    }
                    self.next();
                    let Member::Character(last) = self.member(opening, false)? else {
                        return Err(self.refuse(place, "a range ends with a class"));
                    };
                    if last < first {
                        return Err(
                            self.refuse(place, "a range goes from the larger character to the smaller")
                        );
                    }
                    items.push(self.range(first, last, &self.source[place..self.place]));
                }
            }
        }
        Ok(items)
    }

    /// A character, a class or a set inside a set.
    fn member(&mut self, opening: usize, first: bool) -> Result<Member> {
        let place = self.place;
        if self.take("[:") {
            return self.posix(place).map(Member::Set);
        }
        match self.next() {
            None => Err(self.refuse(opening, "a set is not closed")),
            Some('[') => self.bracketed(place).map(Member::Set),
            Some('\\') => self.set_escape(place, false),
            Some('-') if !first && !self.rest().starts_with(']') => {
                Err(self.refuse(place, r"a hyphen stands between two items of a set; write \-"))
            }
            Some(sign) => Ok(Member::Character(sign.into())),
        }
    }

    /// Parse `[:alpha:]` after `[:`.
    fn posix(&mut self, place: usize) -> Result<SetNode> {
        let negated = self.take("^");
        let name = self.take_while(|sign| sign.is_ascii_alphabetic());
        if !self.take(":]") {
            return Err(self.refuse(place, "[: begins no class"));
        }
        let written = match (name, self.rust()) {
            ("alnum", true) => "0-9A-Za-z",
            ("alpha", true) => "A-Za-z",
            ("blank", true) => r"\t ",
            ("cntrl", true) => r"\x00-\x1f\x7f",
            ("digit", true) => "0-9",
            ("graph", true) => "!-~",
            ("lower", true) => "a-z",
            ("print", true) => " -~",
            ("punct", true) => r"!-/:-@\[-`{-~",
            ("space", true) => r"\t\n\v\f\r ",
            ("upper", true) => "A-Z",
            ("word", true) => "0-9A-Za-z_",
            ("xdigit", _) => "0-9A-Fa-f",
            ("ascii", _) => r"\x00-\x7f",
            ("alnum", false) => r"\p{Alphabetic}\p{Nd}",
            ("alpha", false) => r"\p{Alphabetic}",
            ("blank", false) => r"\h",
            ("cntrl", false) => r"\p{Cc}",
            ("digit", false) => r"\d",
            ("graph", false) => r"\p{Graph}",
            ("lower", false) => r"\p{Lowercase}",
            ("print", false) => r"\p{Print}",
            ("punct", false) => r"\p{P}\p{S}",
            ("space", false) => r"\s",
            ("upper", false) => r"\p{Uppercase}",
            ("word", false) => WORD,
            _ => return Err(self.refuse(place, &format!("there is no class [:{name}:]"))),
        };
        Ok(self.class(written, negated))
    }

    // Escapes -------------------------------------------------------------------------------------------

    /// Translate an escape outside a set, after its backslash at `place`.
    fn escape(&mut self, place: usize) -> Result<Piece> {
        let piece = |written: &str, kind| Ok(Piece { written: written.to_owned(), kind });
        let rest = self.rest();
        for (letters, written, syntaxes) in PLACES {
            if rest.starts_with(letters) && syntaxes.contains(&self.syntax) {
                self.place += letters.len();
                return piece(written, Quantifiable::Place);
            }
        }
        if self.rust() && self.peek() == Some('b') && rest.starts_with("b{") {
            return Err(self.refuse(place, r"\b with a brace is not supported"));
        }
        match self.peek() {
            Some('R') => {
                self.next();
                return piece(r"\R", Quantifiable::Whole);
            }
            Some(letter @ ('b' | 'B')) if !self.rust() => {
                self.next();
                let [first, second] = if letter == 'b' { ["!", "="] } else { ["=", "!"] };
                let written = format!(
                    "(?:(?<=[{WORD_ALONE}])(?{first}[{WORD_ALONE}])|(?<![{WORD_ALONE}])(?{second}[{WORD_ALONE}]))"
                );
                return piece(&written, Quantifiable::Place);
            }
            Some('O') if self.rust() => {
                self.next();
                return piece("(?s:.)", Quantifiable::Whole);
            }
            Some('N') if self.rust() => {
                self.next();
                return piece(r"[^\n]", Quantifiable::Whole);
            }
            Some('1'..='9') => {
                let digits = self.take_while(|sign| sign.is_ascii_digit());
                if digits.len() > 1 || !self.rust() && self.names {
                    return Err(self.refuse(place, "such a reference to a group is not supported"));
                }
                self.refers = true;
                return Ok(Piece { written: format!(r"(?:\{digits})"), kind: Quantifiable::Whole });
            }
            Some('k') if self.rust() && rest.starts_with("k<") => {
                self.place += 2;
                let name = self.take_while(|sign| sign.is_ascii_alphanumeric() || sign == '_');
                if !self.take(">") || name.is_empty() || name.starts_with(|sign: char| sign.is_ascii_digit())
                {
                    return Err(self.refuse(place, "such a reference to a group is not supported"));
                }
                return Ok(Piece { written: format!("(?P={name})"), kind: Quantifiable::Whole });
            }
            _ => {}
        }
        match self.set_escape(place, true)? {
            Member::Set(node) => self.write_set(place, &node),
            Member::Character(code_point) => {
                let letter = char::from_u32(code_point).is_some_and(char::is_alphabetic);
                if letter && self.flags.ignore_case && !self.rust() {
                    return Err(self.refuse(place, "case is ignored in a letter that is written as a number"));
                }
                self.write_set(place, &self.literal(code_point, &self.source[place..self.place]))
            }
        }
    }

    /// Parse an escape of a character or a class, after its backslash at `place`.
    fn set_escape(&mut self, place: usize, alone: bool) -> Result<Member> {
        let Some(letter) = self.next() else {
            return Err(self.refuse(place, "nothing follows the backslash"));
        };
        let negated = letter.is_ascii_uppercase();
        let class = match letter {
            'd' | 'D' => self.class(r"\d", negated),
            's' | 'S' => self.class(r"\s", negated),
            'w' | 'W' if self.rust() => self.class(r"\w", negated),
            'w' | 'W' if alone => self.class(WORD_ALONE, negated),
            'w' | 'W' => self.class(WORD, negated),
            'h' | 'H' => self.class("0-9A-Fa-f", negated),
            'p' | 'P' => self.property(place, negated, alone)?,
            'a' => return Ok(Member::Character(7)),
            'e' => return Ok(Member::Character(27)),
            'f' => return Ok(Member::Character(12)),
            'n' => return Ok(Member::Character(10)),
            'r' => return Ok(Member::Character(13)),
            't' => return Ok(Member::Character(9)),
            'v' => return Ok(Member::Character(11)),
            'x' => return self.code_point(place, 2),
            'u' => return self.code_point(place, 4),
            'U' if self.rust() => return self.code_point(place, 8),
            '<' | '>' if self.rust() => {
                return Err(self.refuse(place, &format!(r"\{letter} in a set is not supported")));
            }
            _ if !letter.is_alphanumeric() => return Ok(Member::Character(letter.into())),
            _ => return Err(self.refuse(place, &format!(r"\{letter} is not supported"))),
        };
        Ok(Member::Set(class))
    }

    /// A code point in hexadecimal: a fixed number of digits, or any number in braces.
    fn code_point(&mut self, place: usize, digits: usize) -> Result<Member> {
        let rest = self.rest();
        let (written, length) = match rest.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some((inner, _)) if self.rust() || digits == 2 => (inner, inner.len() + 2),
            _ => (rest.get(..digits).unwrap_or(""), digits),
        };
        let valid =
            (1..=8).contains(&written.len()) && written.bytes().all(|digit| digit.is_ascii_hexdigit());
        let code_point = u32::from_str_radix(written, 16).ok().filter(|_| valid).and_then(char::from_u32);
        match code_point {
            // In Oniguruma, two digits are a byte.
            Some(character) if self.rust() || digits == 4 || length > 2 || character.is_ascii() => {
                self.place += length;
                Ok(Member::Character(character.into()))
            }
            _ => Err(self.refuse(place, "hexadecimal digits of a character are missing")),
        }
    }

    /// Parse `\p{...}` or `\pL` after the letter p.
    fn property(&mut self, place: usize, negated: bool, alone: bool) -> Result<SetNode> {
        if self.rust() && !self.rest().starts_with('{') {
            let letter = self.rest().get(..1).filter(|letter| "CLMNPSZ".contains(letter));
            let Some(letter) = letter else {
                return Err(self.refuse(place, "the name of a property is missing"));
            };
            self.place += 1;
            return Ok(self.class(&format!(r"\p{{{letter}}}"), negated));
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
        let written = match (plain.as_str(), self.rust()) {
            ("alnum", _) => r"\p{Alphabetic}\p{Nd}".to_owned(),
            ("blank", true) => r"\p{Zs}\t".to_owned(),
            ("cntrl", _) => r"\p{Cc}".to_owned(),
            ("word", true) => r"\w".to_owned(),
            ("word", false) if alone => WORD_ALONE.to_owned(),
            ("word", false) => WORD.to_owned(),
            ("print" | "graph", true) => {
                return Err(self.refuse(place, &format!(r"\p{{{name}}} is not supported")));
            }
            ("xdigit", false) => "0-9A-Fa-f".to_owned(),
            ("any", _) => r"\p{Any}".to_owned(),
            _ => {
                let known = match name.split_once(['=', ':']) {
                    Some((name, value)) if self.rust() => {
                        Property::with_value(name, value).map(|(property, _)| property)
                    }
                    Some(_) => None,
                    None => Property::named(name),
                };
                let module_only = ["h", "v", "horizspace", "vertspace"].contains(&plain.as_str())
                    || plain.starts_with("posix");
                match known.filter(|_| !module_only) {
                    Some(_) => format!(r"\p{{{name}}}"),
                    None => {
                        return Err(self.refuse(
                            place,
                            &format!(r"the property \p{{{}}} is not supported", shown(name)),
                        ));
                    }
                }
            }
        };
        Ok(self.class(&written, negated))
    }
}

/// Oniguruma's `\w` in a set, as items of ours.
const WORD: &str = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}";
/// The same outside a set, where Oniguruma uses its table of Latin-1 for the first 256 characters.
const WORD_ALONE: &str = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}²³¹¼½¾";

/// The end of the text, as all engines read it.
const END: &str = r"(?![\s\S])";

/// Escapes that match a position: their spelling, that in our syntax, and the engines that have them.
const PLACES: [(&str, &str, &[Syntax]); 10] = [
    ("A", r"\A", &[Syntax::Rust, Syntax::Oniguruma]),
    ("z", END, &[Syntax::Rust, Syntax::Oniguruma]),
    ("Z", r"(?=\n*(?![\s\S]))", &[Syntax::Rust]),
    ("Z", "$", &[Syntax::Oniguruma]),
    ("b{start}", r"\m", &[Syntax::Rust]),
    ("b{end}", r"\M", &[Syntax::Rust]),
    ("<", r"\m", &[Syntax::Rust]),
    (">", r"\M", &[Syntax::Rust]),
    ("b", r"\b", &[Syntax::Rust]),
    ("B", r"\B", &[Syntax::Rust]),
];

enum Member {
    Character(u32),
    Set(SetNode),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    Both,
    Minus,
    Either,
}

impl Operator {
    fn join(self, left: SetNode, right: SetNode) -> SetNode {
        let (left, right) = (Box::new(single(left)), Box::new(single(right)));
        match self {
            Self::Both => SetNode::Both(left, right),
            Self::Minus => SetNode::Minus(left, right),
            Self::Either => SetNode::Either(left, right),
        }
    }
}

/// A list of one item becomes the item.
fn single(node: SetNode) -> SetNode {
    match node {
        SetNode::Any(mut items) if items.len() == 1 => items.remove(0),
        node => node,
    }
}

fn as_piece(written: String) -> Piece {
    let kind = if written.starts_with("(?!") || written.starts_with("(?=") {
        Quantifiable::Compound
    } else {
        Quantifiable::Whole
    };
    Piece { written, kind }
}

fn is_turkish((one, other): (u32, u32)) -> bool {
    [one, other].iter().any(|code_point| matches!(code_point, 0x130 | 0x131))
}

/// A set with all its ranges.
fn explicit(set: &CharSet) -> String {
    let ranges = set.ranges().iter().map(|&(first, last)| match last - first {
        0 => escaped(first),
        _ => format!("{}-{}", escaped(first), escaped(last)),
    });
    match set.is_empty() {
        true => "(?!)".to_owned(),
        false => format!("[{}]", ranges.collect::<String>()),
    }
}

/// A character as an item of a set.
fn escaped(code_point: u32) -> String {
    match char::from_u32(code_point) {
        Some(character) if character.is_ascii_alphanumeric() => character.to_string(),
        Some(character) if character.is_ascii_graphic() => format!("\\{character}"),
        _ if code_point < 0x100 => format!("\\x{code_point:02x}"),
        _ if code_point < 0x1_0000 => format!("\\u{code_point:04x}"),
        _ => format!("\\U{code_point:08x}"),
    }
}

fn shown(name: &str) -> String {
    name.chars().take(SHOWN_CHARACTERS).collect()
}
