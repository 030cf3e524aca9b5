//! Patterns in a sequence, joined by `(?then)`: each cuts the pieces of the one before, and treats each piece as a whole
//! text.
//!
//! Two steps are not regular expressions. `(?space)` puts a space before every piece that does not begin with one. After
//! `(?bytes)`, patterns match printable characters that stand for single bytes (as in byte-level tokenizers), so that
//! they may cut within a character.

use std::borrow::Cow;

use super::automaton::CutEffect;
use super::compiled::{Compiled, Search, Way};
use super::masks::{Joint, JointScan, Needs, USUAL_PIECES};
use super::{Batch, Scanner};
use crate::error::{Error, Result};
use crate::memory;
use crate::watch::Pulse;

const THEN: &str = "(?then)";
const SPACE: &str = "(?space)";
const BYTES: &str = "(?bytes)";

/// The maximum number of steps.
const MAX_STEPS: usize = 64;

/// Several patterns, ready to cut text.
pub struct Sequence {
    /// The steps up to the last one that inserts spaces; they are applied to the whole text first.
    first: Vec<Step>,
    /// The next steps: the pieces of the first are found batch by batch, and the others are applied to these.
    last: Vec<Step>,
    /// As many of these as cut text together.
    joint: Option<Box<Joint>>,
}

enum Step {
    Cut(Compiled),
    Space,
    Bytes,
}

/// A text with the spaces that a pattern inserts.
pub struct Prepared<'t> {
    text: Cow<'t, str>,
    /// The ends of the pieces, so far.
    ends: Vec<usize>,
}

impl<'t> Prepared<'t> {
    /// A text without inserted spaces.
    pub fn plain(text: &'t str) -> Self {
        Self { text: Cow::Borrowed(text), ends: Vec::new() }
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Sequence {
    /// Compile a sequence; `None` if the pattern is a single regular expression.
    pub fn new(source: &str) -> Result<Option<Self>> {
        let parts: Vec<&str> = source.split(THEN).collect();
        if let [part] = parts[..]
            && !matches!(part, SPACE | BYTES)
        {
            return Ok(None);
        }
        if parts.len() > MAX_STEPS {
            return Err(Error::Value(format!(
                "a pattern of {} steps is not supported: the maximum is {MAX_STEPS}",
                parts.len()
            )));
        }
        let mut steps = parts.into_iter().map(Step::new).collect::<Result<Vec<_>>>()?;
        let last_space = steps.iter().rposition(|step| matches!(step, Step::Space));
        let first_bytes = steps.iter().position(|step| matches!(step, Step::Bytes));
        let last_bytes = steps.iter().rposition(|step| matches!(step, Step::Bytes));
        if first_bytes != last_bytes || first_bytes.is_some_and(|bytes| last_space > Some(bytes)) {
            return Err(Error::Value("only patterns may follow (?bytes)".to_owned()));
        }
        let last = steps.split_off(last_space.map_or(0, |place| place + 1));
        let joint = Joint::new(&patterns(&last).collect::<Vec<_>>()).map(Box::new);
        Ok(Some(Self { first: steps, last, joint }))
    }

    /// Use other instructions, which this machine must support.
    #[cfg(test)]
    pub fn on(mut self, instructions: super::vectors::Instructions) -> Self {
        self.joint = self.joint.map(|joint| Box::new(joint.on(instructions)));
        self
    }

    /// Whether a step inserts spaces.
    pub fn puts_spaces(&self) -> bool {
        !self.first.is_empty()
    }

    /// The way of the slowest pattern; patterns that cut text together do so by masks.
    pub fn way(&self) -> Way {
        let joint = self.joint.as_ref().map_or(0, |joint| joint.count());
        let others = self.first.iter().chain(&self.last[joint..]).filter_map(Step::pattern);
        others.map(Compiled::way).max().unwrap_or(Way::Masks)
    }

    /// Whether a cut at a place, where a character begins, provably changes no piece.
    ///
    /// One pattern whose pieces stay the same is enough: the patterns after it see each piece by itself. After a pattern
    /// that may split a gap, the next one sees either the two parts, or a piece in which the same characters are adjacent,
    /// so the question is the same for that pattern. A text that gets spaces is never cut: it would get one more.
    pub fn keeps_pieces(&self, text: &[u8], place: usize) -> bool {
        if !self.first.is_empty() {
            return false;
        }
        let mut effects = patterns(&self.last).map(|pattern| pattern.cut_effect(text, place));
        effects.find(|effect| *effect != CutEffect::PartsGap) == Some(CutEffect::Nothing)
    }

    /// The first such place at or after `from`.
    pub fn safe_cut(&self, text: &[u8], mut from: usize) -> Option<usize> {
        let first = patterns(&self.last).next()?;
        loop {
            let place = first.find_cut(text, from, |effect| effect != CutEffect::Unknown)?;
            if self.keeps_pieces(text, place) {
                return Some(place);
            }
            from = place + 1;
        }
    }

    /// Insert spaces.
    pub fn prepare<'t>(&self, text: &'t str, pulse: &mut Pulse) -> Result<Prepared<'t>> {
        let mut prepared = Prepared::plain(text);
        if !text.is_empty() {
            prepared.ends.push(text.len());
        }
        for step in &self.first {
            match step {
                Step::Cut(pattern) => {
                    let mut cut = Vec::new();
                    cut_each(&prepared.text, 0, &prepared.ends, pattern, &mut cut, pulse)?;
                    prepared.ends = cut;
                }
                Step::Space => put_spaces(&mut prepared)?,
                Step::Bytes => {}
            }
        }
        Ok(prepared)
    }

    /// Begin to cut a prepared text.
    pub fn scan<'a>(&'a self, text: &'a Prepared<'_>) -> Steps<'a> {
        Steps {
            sequence: self,
            text: &text.text,
            pieces: text.ends.iter(),
            piece_end: 0,
            scan: None,
            batch: Batch::default(),
            pending: Vec::new(),
            taken: 0,
            cut_to: 0,
        }
    }
}

/// The patterns that a sequence of steps begins with.
fn patterns(steps: &[Step]) -> impl Iterator<Item = &Compiled> {
    steps.iter().map_while(Step::pattern)
}

impl Step {
    fn new(source: &str) -> Result<Self> {
        match source {
            SPACE => Ok(Self::Space),
            BYTES => Ok(Self::Bytes),
            "" => Err(Error::Value("a step of the pattern is empty".to_owned())),
            _ => Ok(Self::Cut(Compiled::new(source)?)),
        }
    }

    fn pattern(&self) -> Option<&Compiled> {
        match self {
            Self::Cut(pattern) => Some(pattern),
            Self::Space | Self::Bytes => None,
        }
    }
}

fn put_spaces(prepared: &mut Prepared) -> Result<()> {
    let mut written = String::new();
    let mut start = 0;
    for end in &mut prepared.ends {
        let piece = &prepared.text[start..*end];
        start = *end;
        if !piece.starts_with(' ') {
            memory::append(&mut written, " ")?;
        }
        memory::append(&mut written, piece)?;
        *end = written.len();
    }
    prepared.text = Cow::Owned(written);
    Ok(())
}

/// Cut pieces, the first of which begins at `start`; add the ends of the new pieces.
fn cut_each(
    text: &str,
    mut start: usize,
    ends: &[usize],
    pattern: &Compiled,
    cut: &mut Vec<usize>,
    pulse: &mut Pulse,
) -> Result<()> {
    let mut batch = Batch::default();
    for &end in ends {
        if Compiled::is_short(end - start) {
            memory::reserve(cut, end - start)?;
            let mut run = Search::default();
            while start < end {
                start = pattern.piece_end(&text[..end], start, &mut run, pulse)?.0;
                cut.push(start);
            }
            continue;
        }
        let mut scanner = pattern.scan(&text[start..end]);
        while scanner.fill(&mut batch, pulse)? > 0 {
            memory::reserve(cut, batch.ends().len())?;
            cut.extend(batch.ends().iter().map(|place| start + place));
        }
        start = end;
    }
    Ok(())
}

/// The same, where the pattern matches printable characters for bytes.
fn cut_each_of_bytes(
    text: &[u8],
    mut start: usize,
    ends: &[usize],
    pattern: &Compiled,
    cut: &mut Vec<usize>,
    pulse: &mut Pulse,
) -> Result<()> {
    let mut batch = Batch::default();
    let mut printed = String::new();
    for &end in ends {
        printed.clear();
        memory::ensure(2 * (end - start))?;
        printed.extend(text[start..end].iter().map(|&byte| printable(byte)));
        let mut scanner = pattern.scan(&printed);
        let mut position = 0;
        while scanner.fill(&mut batch, pulse)? > 0 {
            memory::reserve(cut, batch.ends().len())?;
            for &place in batch.ends() {
                start += printed[position..place].chars().count();
                position = place;
                cut.push(start);
            }
        }
    }
    Ok(())
}

/// The character that byte-level tokenizers use for a byte: itself if it is printable in Latin-1, otherwise one from
/// U+0100 on.
fn printable(byte: u8) -> char {
    let code = match byte {
        0..=0x20 => 0x100 + u32::from(byte),
        0x7F..=0xA0 => 0x121 + u32::from(byte - 0x7F),
        0xAD => 0x143,
        _ => u32::from(byte),
    };
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Cuts one prepared text.
pub struct Steps<'a> {
    sequence: &'a Sequence,
    text: &'a str,
    /// The ends of the pieces of the prepared text.
    pieces: std::slice::Iter<'a, usize>,
    /// The end of the current one.
    piece_end: usize,
    /// The scan of the current piece.
    scan: Option<PieceScan<'a>>,
    batch: Batch,
    /// The ends of finished pieces, the number of them that were returned, and the end of the last.
    pending: Vec<usize>,
    taken: usize,
    cut_to: usize,
}

/// Cuts a piece of the prepared text by the first of the last steps, or by as many as cut together.
enum PieceScan<'a> {
    /// The piece begins here.
    First(usize, Box<Scanner<'a>>),
    Joint(Box<JointScan<'a>>, Search),
}

impl Steps<'_> {
    /// Add pieces to the batch until it is nearly full or the text ends.
    pub fn fill(&mut self, batch: &mut Batch, pulse: &mut Pulse) -> Result<()> {
        loop {
            let pending = &self.pending[self.taken..];
            let count = pending.len().min(batch.room());
            pending[..count].iter().for_each(|&end| batch.push(end));
            self.taken += count;
            if batch.room() < USUAL_PIECES || !self.cut_more(pulse)? {
                return Ok(());
            }
        }
    }

    /// Replace the pending ends by the next ones, if there are any.
    fn cut_more(&mut self, pulse: &mut Pulse) -> Result<bool> {
        let Some((mut ends, steps)) = self.next_ends(pulse)? else { return Ok(false) };
        let (start, text) = (self.cut_to, self.text);
        self.cut_to = ends.last().copied().unwrap_or(start);
        let mut as_bytes = false;
        for step in &self.sequence.last[steps..] {
            let mut cut = Vec::new();
            match step {
                Step::Cut(pattern) if as_bytes => {
                    cut_each_of_bytes(text.as_bytes(), start, &ends, pattern, &mut cut, pulse)?;
                }
                Step::Cut(pattern) => cut_each(text, start, &ends, pattern, &mut cut, pulse)?,
                Step::Space | Step::Bytes => {
                    as_bytes = true;
                    continue;
                }
            }
            ends = cut;
        }
        (self.pending, self.taken) = (ends, 0);
        Ok(true)
    }

    /// The ends of the next pieces, and how many of the last steps have been applied to them.
    fn next_ends(&mut self, pulse: &mut Pulse) -> Result<Option<(Vec<usize>, usize)>> {
        loop {
            self.batch.clear();
            match &mut self.scan {
                Some(PieceScan::First(base, scanner)) => {
                    scanner.fill(&mut self.batch, pulse)?;
                    let ends: Vec<usize> = self.batch.ends().iter().map(|end| *base + end).collect();
                    if !ends.is_empty() {
                        return Ok(Some((ends, 1)));
                    }
                }
                Some(PieceScan::Joint(scan, _)) => {
                    let needs = scan.fill(&mut self.batch, pulse)?;
                    let mut ends = self.batch.ends().to_vec();
                    if let Needs::Help(start) = needs {
                        let done = scan.done();
                        let cut = self.help(start, pulse)?;
                        memory::extend(&mut ends, &cut[cut.partition_point(|end| *end <= done)..])?;
                    }
                    if !ends.is_empty() {
                        return Ok(Some((
                            ends,
                            self.sequence.joint.as_ref().map_or(0, |joint| joint.count()),
                        )));
                    }
                }
                None => {}
            }
            let Some(&end) = self.pieces.next() else { return Ok(None) };
            let start = std::mem::replace(&mut self.piece_end, end);
            let Some(first) = patterns(&self.sequence.last).next() else { return Ok(Some((vec![end], 0))) };
            self.scan = Some(match &self.sequence.joint {
                Some(joint) => {
                    PieceScan::Joint(Box::new(joint.scan(&self.text[..end], start)), Search::default())
                }
                None => PieceScan::First(start, Box::new(first.scan(&self.text[start..end]))),
            });
        }
    }

    /// Cut a piece of the first pattern by one step after the other, where the patterns cannot cut it together.
    fn help(&mut self, start: usize, pulse: &mut Pulse) -> Result<Vec<usize>> {
        let (Some(PieceScan::Joint(scan, run)), Some(first)) =
            (&mut self.scan, patterns(&self.sequence.last).next())
        else {
            return Ok(Vec::new());
        };
        let (end, _) = first.piece_end(&self.text[..self.piece_end], start, run, pulse)?;
        scan.go_on_at(end);
        let count = self.sequence.joint.as_ref().map_or(0, |joint| joint.count());
        let mut ends = vec![end];
        for pattern in patterns(&self.sequence.last).take(count).skip(1) {
            let mut cut = Vec::new();
            cut_each(self.text, start, &ends, pattern, &mut cut, pulse)?;
            ends = cut;
        }
        Ok(ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pretokenize::{Pattern, pretokenize};
    use crate::watch::Unwatched;

    fn pieces(text: &str, source: &str) -> Vec<String> {
        let pieces =
            pretokenize(text, &Pattern::new(source).unwrap(), &mut Pulse::of(&mut Unwatched)).unwrap();
        pieces.iter().map(|piece: &[u8]| String::from_utf8_lossy(piece).into_owned()).collect()
    }

    #[test]
    fn each_step_cuts_what_the_one_before_left() {
        assert_eq!(pieces("ab12 c3", r"\p{N}(?then)[a-c]"), ["a", "b", "1", "2", " ", "c", "3"]);
        assert_eq!(pieces("ab  1", r"\p{N}(?then)\s+(?!\S)|\s+|\S+"), ["ab", "  ", "1"]);
    }

    #[test]
    fn a_space_is_put_before_pieces_without_one() {
        assert_eq!(pieces("ab c", r"(?space)(?then) ?\S+"), [" ab", " c"]);
        assert_eq!(pieces(" ab", r"(?space)(?then) ?\S+"), [" ab"]);
        assert_eq!(pieces("1a 2", r"[0-9](?then)(?space)(?then) ?[a-z0-9]"), [" 1", " a", " ", " 2"]);
        assert_eq!(pieces("", "(?space)"), Vec::<String>::new());
    }

    #[test]
    fn bytes_are_seen_as_they_are_printed() {
        let cut = |text: &str, source: &str| -> Vec<usize> {
            let pieces =
                pretokenize(text, &Pattern::new(source).unwrap(), &mut Pulse::of(&mut Unwatched)).unwrap();
            pieces.iter().map(<[u8]>::len).collect()
        };
        assert_eq!(cut("a²b", r"(?bytes)(?then)\p{N}"), [2, 1, 1]);
        assert_eq!(cut("a b\u{AD}", r"(?bytes)(?then)[\u0120\u0143]"), [1, 1, 2, 1]);
        let all: Vec<char> = (0..=255).map(printable).collect();
        assert!(all.iter().all(|character| !character.is_whitespace() && !character.is_control()));
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), 256);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for source in [
            "(?then)a",
            "a(?then)",
            "[(?then)]",
            r"\(?then)",
            "(?bytes)(?then)(?space)",
            "(?bytes)(?then)(?bytes)",
            "a(?then)(",
        ] {
            assert!(Pattern::new(source).is_err(), "{source}");
        }
        assert!(Pattern::new(&["a"; 65].join(THEN)).is_err());
    }
}
