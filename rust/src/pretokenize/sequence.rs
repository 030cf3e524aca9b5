//! Patterns in a sequence: each cuts the pieces of the one before, and treats each piece as a whole
//! text. Most sequences are of one pattern.
//!
//! Two steps are not regular expressions. `(?space)` puts a space before every piece that does not
//! begin with one. After `(?bytes)`, patterns match printable characters that stand for single
//! bytes (as in byte-level tokenizers), so that they may cut within a character.
//!
//! A [`Scanner`] cuts a piece of the text (without `(?space)`, all of it) by the first pattern, or
//! at once by as many as masks cut together. The next steps cut many of these pieces at a time,
//! again as many steps at once as masks cut together. What they make of them waits until there is
//! room for it in a batch:
//!
//! ```text
//! step a        |-----------|--------|----       the first pattern finds the ends of some pieces
//! step b        |---|---|---|-----|--|----       the next one cuts each of these
//! pending           x   x   x     x  x
//! ```

use std::borrow::Cow;
use std::ops::Range;
use std::slice::Iter;

use super::automaton::CutEffect;
use super::compiled::{Compiled, Cursor, Way};
use super::masks::{Joint, JointScan, Seen, USUAL_PIECES, WINDOW};
use super::{BATCH, Batch};
use crate::error::{Error, Result};
use crate::memory;
use crate::unicode::bytes::character_of;
use crate::watch::Pulse;

const SPACE: &str = "(?space)";
const BYTES: &str = "(?bytes)";

/// The reason why an empty pattern, or step, is refused: it would match nothing, and cut no text.
const EMPTY: &str = "the pattern is empty, or one of its steps: the pattern named none keeps each \
                     text in one piece";

/// The maximum number of steps.
const MAX_STEPS: usize = 64;

/// This many pieces of the first patterns are cut at once by the next ones, whose last window is
/// seldom full.
const MANY_PIECES: usize = 4 * BATCH;

/// Shorter pieces are cut by the automaton alone: a window of masks costs as much as a short text.
const MIN_MASKED: usize = 64;

/// Patterns, ready to cut text.
pub struct Sequence {
    /// The steps up to the last one that inserts spaces; they are applied to the whole text first.
    first: Vec<Step>,
    /// The next steps: the pieces of the first are found batch by batch, and the others are applied
    /// to these.
    last: Vec<Step>,
    /// As many of these as cut text together, if there are several.
    pub joint: Option<Box<Joint>>,
    /// The number of steps, among them those that only change how others see the text.
    count: usize,
}

pub enum Step {
    /// Cut by a pattern.
    Cut {
        pattern: Box<Compiled>,
        seen: Seen,
        /// This pattern and as many of the next ones as cut the pieces of the step before together.
        together: Option<Box<Joint>>,
    },
    /// Put a space before pieces.
    Space,
}

/// A text with the spaces that a pattern inserts.
pub struct Prepared<'t> {
    text: Cow<'t, str>,
    /// The ends of the pieces, if steps have cut it.
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
    /// Compiles a sequence.
    pub fn new(sources: &[String], pulse: &mut Pulse) -> Result<Self> {
        let count = sources.len();
        if !(1..=MAX_STEPS).contains(&count) {
            return Err(Error::Value(format!("a pattern has 1 to {MAX_STEPS} steps, not {count}")));
        }
        let mut steps = Vec::new();
        let mut seen = Seen::Characters;
        for source in sources {
            pulse.check()?;
            match &source[..] {
                SPACE | BYTES if seen == Seen::Bytes => {
                    return Err(Error::Value(
                        "pattern: only expressions may follow (?bytes)".to_owned(),
                    ));
                }
                BYTES => seen = Seen::Bytes,
                SPACE => steps.push(Step::Space),
                "" => return Err(Error::Value(EMPTY.to_owned())),
                _ => {
                    let pattern = Box::new(Compiled::new(source)?);
                    steps.push(Step::Cut { pattern, seen, together: None });
                }
            }
        }
        let last_space = steps.iter().rposition(|step| matches!(step, Step::Space));
        let mut last = steps.split_off(last_space.map_or(0, |place| place + 1));
        // One pattern alone has masks of its own.
        let least = 2;
        let last_patterns: Vec<_> = patterns(&last).collect();
        let joint = Joint::new(&last_patterns, least, Seen::Characters).map(Box::new);
        // The steps that a scanner does not begin with: they cut pieces.
        let has_first = last.first().is_some_and(|step| step.pattern().is_some());
        let mut index = joint.as_ref().map_or(usize::from(has_first), |joint| joint.count());
        while index < last.len() {
            let from_here = cutting_together(&last[index..]);
            let count = from_here.as_ref().map_or(1, Joint::count);
            if let Step::Cut { together, .. } = &mut last[index] {
                *together = from_here.map(Box::new);
            }
            index += count;
        }
        Ok(Self { first: steps, last, joint, count })
    }

    /// Returns all that cuts by masks.
    #[cfg(test)]
    pub fn joints(&mut self) -> impl Iterator<Item = &mut Joint> {
        let of_steps = self.last.iter_mut().flat_map(|step| match step {
            Step::Cut { pattern, together, .. } => {
                [pattern.masks.as_deref_mut(), together.as_deref_mut()]
            }
            Step::Space => [None, None],
        });
        self.joint.as_deref_mut().into_iter().chain(of_steps.flatten())
    }

    /// Returns the only step, if it is an expression.
    pub fn only(&self) -> Option<&Compiled> {
        match &self.last[..] {
            [step] if self.count == 1 => step.pattern(),
            _ => None,
        }
    }

    /// Whether a step inserts spaces.
    pub fn puts_spaces(&self) -> bool {
        !self.first.is_empty()
    }

    /// Returns the way of the slowest pattern; patterns that cut text together do so by masks.
    pub fn way(&self) -> Way {
        let mut index = self.joint.as_ref().map_or(0, |joint| joint.count());
        let mut way = self.first.iter().map(Step::way).max().unwrap_or(Way::Masks);
        while let Some(step) = self.last.get(index) {
            if let Some(joint) = step.together() {
                index += joint.count();
            } else {
                way = way.max(step.way());
                index += 1;
            }
        }
        way
    }

    /// Whether a cut at a place, where a character begins, provably changes no piece.
    ///
    /// One pattern whose pieces stay the same is enough: the patterns after it see each piece by
    /// itself. After a pattern that may split a gap, the next one sees either the two parts, or a
    /// piece in which the same characters are adjacent, so the question is the same for that
    /// pattern. A text that gets spaces is never cut: it would get one more.
    pub fn keeps_pieces(&self, text: &[u8], place: usize) -> bool {
        if !self.first.is_empty() {
            return false;
        }
        for pattern in patterns(&self.last) {
            match pattern.cut_effect(text, place) {
                CutEffect::PartsGap => {}
                effect => return effect == CutEffect::Nothing,
            }
        }
        false
    }

    /// Returns the first such place at or after `from`.
    pub fn safe_cut(&self, text: &[u8], from: usize) -> Option<usize> {
        for place in from..text.len() {
            let begins_character = text[place] & 0xC0 != 0x80;
            if begins_character && self.keeps_pieces(text, place) {
                return Some(place);
            }
        }
        None
    }

    /// Inserts spaces.
    #[inline(always)]
    pub fn prepare<'t>(&self, text: &'t str, pulse: &mut Pulse) -> Result<Prepared<'t>> {
        let plain = Prepared::plain(text);
        if self.first.is_empty() || text.is_empty() {
            return Ok(plain);
        }
        self.apply_first(plain, pulse)
    }

    #[inline(never)]
    fn apply_first<'t>(
        &self,
        mut prepared: Prepared<'t>,
        pulse: &mut Pulse,
    ) -> Result<Prepared<'t>> {
        prepared.ends.push(prepared.text.len());
        for step in &self.first {
            match step {
                Step::Cut { .. } => {
                    prepared.ends = cut_each(&prepared.text, 0, &prepared.ends, step, pulse)?
                }
                Step::Space => put_spaces(&mut prepared)?,
            }
        }
        Ok(prepared)
    }

    /// Begins to cut a prepared text.
    #[inline]
    pub fn scan<'a>(&'a self, text: &'a Prepared<'_>) -> Scanner<'a> {
        let first = patterns(&self.last).next();
        let next_steps = &self.last[usize::from(first.is_some())..];
        let masks =
            self.joint.as_deref().or_else(|| first.and_then(|first| first.masks.as_deref()));
        Scanner::new(first, masks, next_steps, &text.text, &text.ends)
    }

    /// Begins to ask which pieces of a prepared text are matches.
    pub fn match_test<'a>(&'a self, text: &'a Prepared<'_>) -> MatchTest<'a> {
        MatchTest(self.only().map(|pattern| Cursor::new(pattern, &text.text)))
    }
}

/// Returns the patterns that some steps begin with.
fn patterns(steps: &[Step]) -> impl Iterator<Item = &Compiled> {
    steps.iter().map_while(Step::pattern)
}

/// Returns as many of the first steps as cut pieces together, if any do.
fn cutting_together(steps: &[Step]) -> Option<Joint> {
    let Step::Cut { seen: seen_by_first, .. } = steps.first()? else { return None };
    let mut patterns = Vec::new();
    for step in steps {
        match step {
            Step::Cut { pattern, seen, .. } if seen == seen_by_first => patterns.push(&**pattern),
            _ => break,
        }
    }
    Joint::new(&patterns, 1, *seen_by_first)
}

impl Step {
    fn way(&self) -> Way {
        match self {
            Self::Cut { pattern, .. } => pattern.way(),
            Self::Space => Way::Masks,
        }
    }

    /// Returns what cuts pieces by this step and perhaps the next ones.
    fn together(&self) -> Option<&Joint> {
        match self {
            Self::Cut { together, .. } => together.as_deref(),
            Self::Space => None,
        }
    }

    /// Returns the pattern that it cuts text by.
    pub fn pattern(&self) -> Option<&Compiled> {
        match self {
            Self::Cut { pattern, seen: Seen::Characters, .. } => Some(pattern),
            _ => None,
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

/// Cuts pieces, the first of which begins at `start`; returns the ends of the new ones.
fn cut_each(
    text: &str,
    mut start: usize,
    ends: &[usize],
    step: &Step,
    pulse: &mut Pulse,
) -> Result<Vec<usize>> {
    let Step::Cut { pattern, seen, .. } = step else { return Ok(ends.to_vec()) };
    let mut batch = Box::<Batch>::default();
    let mut printed = String::new();
    let mut cut = Vec::new();
    for &end in ends {
        let piece = match seen {
            Seen::Characters => &text[start..end],
            Seen::Bytes => {
                printed.clear();
                memory::ensure(2 * (end - start))?;
                for &byte in &text.as_bytes()[start..end] {
                    printed.push(character_of(byte));
                }
                &printed
            }
        };
        let masks = pattern.masks.as_deref().filter(|_| piece.len() >= MIN_MASKED);
        let mut scanner = Scanner::new(Some(pattern), masks, &[], piece, &[]);
        let mut position = 0;
        while scanner.fill(&mut batch, pulse)? > 0 {
            memory::reserve(&mut cut, batch.ends().len())?;
            for &place in batch.ends() {
                let new_piece = &piece[position..place];
                // A printed character is one byte of the text.
                start += match seen {
                    Seen::Characters => new_piece.len(),
                    Seen::Bytes => new_piece.chars().count(),
                };
                position = place;
                cut.push(start);
            }
        }
    }
    Ok(cut)
}

/// Cuts one prepared text, a batch at a time.
pub struct Scanner<'a> {
    text: &'a str,
    /// What cuts each piece: the first pattern, or as many at once as masks do, if there are any;
    /// and the steps after the first pattern.
    first: Option<&'a Compiled>,
    masks: Option<&'a Joint>,
    next_steps: &'a [Step],
    /// The ends of the next pieces of the prepared text, and the present piece.
    pieces: Iter<'a, usize>,
    piece: Range<usize>,
    /// What cuts the present piece.
    scan: Option<JointScan<'a>>,
    cursor: Option<Box<Cursor<'a>>>,
    /// The ends of finished pieces, and the number of them that were returned.
    pending: Vec<usize>,
    /// The pieces of the next steps while they are found, and lists that are of no use now.
    batch: Option<Box<Batch>>,
    spare: Vec<Vec<usize>>,
    returned: usize,
    /// The ends of the last piece that is finished, and of the last one that was returned.
    cut_to: usize,
    position: usize,
}

impl<'a> Scanner<'a> {
    /// Begins to cut a text, or each of its pieces, if there are ends of any.
    #[inline]
    pub fn new(
        first: Option<&'a Compiled>,
        masks: Option<&'a Joint>,
        next_steps: &'a [Step],
        text: &'a str,
        pieces: &'a [usize],
    ) -> Self {
        // Before the first of several pieces, there is an empty one.
        let end = if pieces.is_empty() { text.len() } else { 0 };
        let piece = 0..end;
        Self {
            text,
            first,
            masks,
            next_steps,
            pieces: pieces.iter(),
            scan: masks.map(|masks| masks.scan(&text[..end], 0)),
            piece,
            cursor: None,
            pending: Vec::new(),
            batch: None,
            spare: Vec::new(),
            returned: 0,
            cut_to: 0,
            position: 0,
        }
    }

    /// Returns where the next piece begins.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Replaces the batch by the next pieces and returns their number: 0 only at the end of the
    /// text.
    #[inline]
    pub fn fill(&mut self, batch: &mut Batch, pulse: &mut Pulse) -> Result<usize> {
        batch.clear();
        while batch.room() >= USUAL_PIECES {
            let pending = &self.pending[self.returned..];
            if !pending.is_empty() {
                self.returned += batch.push_all(pending);
            } else if self.cut_to < self.piece.end {
                self.cut_more(batch, pulse)?;
            } else {
                let Some(&end) = self.pieces.next() else { break };
                self.piece = self.piece.end..end;
                self.scan = self.masks.map(|masks| masks.scan(&self.text[..end], self.cut_to));
                self.cursor = None;
            }
        }
        self.position = batch.ends().last().copied().unwrap_or(self.position);
        Ok(batch.ends().len())
    }

    /// Cuts more of the present piece: by masks into the batch, if these are all steps; else the
    /// ends are then pending.
    #[inline]
    fn cut_more(&mut self, batch: &mut Batch, pulse: &mut Pulse) -> Result<()> {
        let (Some(scan), Some(masks)) = (&mut self.scan, self.masks) else {
            return self.cut_long_piece(self.cut_to, pulse);
        };
        if self.next_steps.len() >= masks.count() {
            return self.cut_by_all_steps(batch, pulse);
        }
        let long_piece = scan.fill(batch, pulse)?;
        if let Some(end) = batch.ends().last() {
            self.cut_to = self.cut_to.max(*end);
        }
        match long_piece {
            Some(start) => self.cut_long_piece(start, pulse),
            None => Ok(()),
        }
    }

    /// Cuts many pieces by masks, and these by the next steps.
    #[inline(never)]
    fn cut_by_all_steps(&mut self, batch: &mut Batch, pulse: &mut Pulse) -> Result<()> {
        self.forget_returned();
        let (Some(scan), Some(masks)) = (&mut self.scan, self.masks) else { return Ok(()) };
        // The batch is only borrowed: its own pieces stay.
        let before = batch.ends().len();
        let mut ends = self.spare.pop().unwrap_or_default();
        let mut long_piece = None;
        while long_piece.is_none() && ends.len() < MANY_PIECES && !scan.is_done() {
            long_piece = scan.fill(batch, pulse)?;
            memory::extend(&mut ends, &batch.ends()[before..])?;
            batch.shorten(before);
        }
        let next_steps = &self.next_steps[masks.count() - 1..];
        self.cut_by(next_steps, self.cut_to, ends, pulse)?;
        match long_piece {
            Some(start) => self.cut_more_by_first(start, pulse),
            None => Ok(()),
        }
    }

    /// Cuts by the first pattern, if there is one, from the start of a piece that it must find.
    #[inline(never)]
    fn cut_long_piece(&mut self, start: usize, pulse: &mut Pulse) -> Result<()> {
        self.forget_returned();
        self.cut_more_by_first(start, pulse)
    }

    /// The same; adds to what is pending.
    fn cut_more_by_first(&mut self, start: usize, pulse: &mut Pulse) -> Result<()> {
        let Some(first) = self.first else {
            return self.cut_by(self.next_steps, self.cut_to, vec![self.piece.end], pulse);
        };
        // Where a window does not tell one piece, it often does not tell the next ones, either.
        let text = &self.text[self.piece.clone()];
        let base = self.piece.start;
        let cursor = self.cursor.get_or_insert_with(|| Box::new(Cursor::new(first, text)));
        cursor.skip(start - base - cursor.place());
        let enough = text.len().min(cursor.place() + WINDOW);
        let mut ends = Vec::new();
        while cursor.place() < enough {
            let piece = cursor.next_piece(pulse)?;
            ends.push(base + piece.end);
        }
        if let Some(scan) = &mut self.scan {
            scan.go_on_at(base + cursor.place());
        }
        self.cut_by(self.next_steps, start, ends, pulse)
    }

    /// Drops the ends that were returned.
    fn forget_returned(&mut self) {
        self.pending.clear();
        self.returned = 0;
    }

    /// Cuts pieces, the first of which begins at a place, by the next steps. The new pieces are
    /// pending, but for those up to where the piece is cut already.
    fn cut_by(
        &mut self,
        mut next_steps: &[Step],
        start: usize,
        mut ends: Vec<usize>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        while let Some(step) = next_steps.first() {
            let count = step.together().map_or(1, Joint::count);
            let (steps, later) = next_steps.split_at(count);
            next_steps = later;
            let mut cut = self.spare.pop().unwrap_or_default();
            match step.together() {
                Some(joint) => self.cut_together(steps, joint, start, &ends, &mut cut, pulse)?,
                None => cut = cut_each(self.text, start, &ends, step, pulse)?,
            }
            std::mem::swap(&mut ends, &mut cut);
            self.put_away(cut);
        }
        let new_ends = &ends[ends.partition_point(|end| *end <= self.cut_to)..];
        memory::extend(&mut self.pending, new_ends)?;
        self.cut_to = new_ends.last().copied().unwrap_or(self.cut_to);
        self.put_away(ends);
        Ok(())
    }

    /// Cuts pieces, the first of which begins at `start`, by some steps at once; adds the ends of
    /// the new ones.
    fn cut_together(
        &mut self,
        steps: &[Step],
        joint: &Joint,
        start: usize,
        ends: &[usize],
        cut: &mut Vec<usize>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let batch = self.batch.get_or_insert_default();
        let mut scan = joint.scan_pieces(self.text.as_bytes(), start, ends);
        while !scan.is_done() {
            batch.clear();
            let long_piece = scan.fill(batch, pulse)?;
            memory::extend(cut, batch.ends())?;
            if let Some(start) = long_piece {
                // Up to the end of its piece, the steps cut one after the other.
                let end = ends[ends.partition_point(|end| *end <= start)];
                let mut by_step = vec![end];
                for step in steps {
                    by_step = cut_each(self.text, start, &by_step, step, pulse)?;
                }
                let new_ends = &by_step[by_step.partition_point(|end| *end <= scan.done())..];
                memory::extend(cut, new_ends)?;
                scan.go_on_at(end);
            }
        }
        Ok(())
    }

    /// Keeps a list for later use: at most two, as two are in use at once.
    fn put_away(&mut self, mut list: Vec<usize>) {
        if self.spare.len() < 2 {
            list.clear();
            self.spare.push(list);
        }
    }
}

/// Tells which pieces of a text are matches, and which are gaps between two. (The pieces of several
/// steps are all taken for matches.)
pub struct MatchTest<'a>(Option<Cursor<'a>>);

impl MatchTest<'_> {
    /// Whether the next piece, which has so many bytes, is a match.
    pub fn next(&mut self, length: usize, pulse: &mut Pulse) -> Result<bool> {
        let Some(cursor) = &mut self.0 else { return Ok(true) };
        let is_match = cursor.is_at_match(pulse)?;
        cursor.skip(length);
        Ok(is_match)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pretokenize::tests::sources;
    use crate::pretokenize::{Pattern, pretokenize};
    use crate::watch::Unwatched;

    fn pieces(text: &str, source: &str) -> Vec<String> {
        let pieces = pretokenize(
            text,
            &Pattern::new(&sources(source)).unwrap(),
            &mut Pulse::of(&mut Unwatched),
        )
        .unwrap();
        pieces.iter().map(|piece: &[u8]| String::from_utf8_lossy(piece).into_owned()).collect()
    }

    #[test]
    fn each_step_cuts_what_the_one_before_left() {
        assert_eq!(pieces("ab12 c3", r"\p{N} then [a-c]"), ["a", "b", "1", "2", " ", "c", "3"]);
        assert_eq!(pieces("ab  1", r"\p{N} then \s+(?!\S)|\s+|\S+"), ["ab", "  ", "1"]);
    }

    #[test]
    fn a_space_is_put_before_pieces_without_one() {
        assert_eq!(pieces("ab c", r"(?space) then  ?\S+"), [" ab", " c"]);
        assert_eq!(pieces(" ab", r"(?space) then  ?\S+"), [" ab"]);
        assert_eq!(pieces("1a 2", r"[0-9] then (?space) then  ?[a-z0-9]"), [" 1", " a", " ", " 2"]);
        assert_eq!(pieces("", "(?space)"), Vec::<String>::new());
    }

    #[test]
    fn bytes_are_seen_as_they_are_printed() {
        let cut = |text: &str, source: &str| -> Vec<usize> {
            let pieces = pretokenize(
                text,
                &Pattern::new(&sources(source)).unwrap(),
                &mut Pulse::of(&mut Unwatched),
            )
            .unwrap();
            pieces.iter().map(<[u8]>::len).collect()
        };
        assert_eq!(cut("a²b", r"(?bytes) then \p{N}"), [2, 1, 1]);
        assert_eq!(cut("a b\u{AD}", r"(?bytes) then [\u0120\u0143]"), [1, 1, 2, 1]);
        let all: Vec<char> = (0..=255).map(character_of).collect();
        assert!(all.iter().all(|character| !character.is_whitespace() && !character.is_control()));
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), 256);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for source in
            [" then a", "a then ", "(?bytes) then (?space)", "(?bytes) then (?bytes)", "a then ("]
        {
            assert!(Pattern::new(&sources(source)).is_err(), "{source}");
        }
        assert!(Pattern::new(&vec![SPACE.to_owned(); 65]).is_err());
        assert!(Pattern::new(&[]).is_err());
    }
}
