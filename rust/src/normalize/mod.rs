//! Text in, normalized text out, with the place of each character: the steps that a vocabulary asks for, in order.
//!
//! Most text is normal already, or nearly so. So successive steps make a pass, and the quick check of a pass finds the
//! characters that one of its steps may change; all others start a text of their own and become themselves, if what follows
//! starts, too. (Capitals of ASCII that only become small are left to the copying.) Only the stretches around the characters that were found are written anew, each by all steps in order:
//! from the character before, up to the next one that stays. What is between them is copied, or not even that if nothing
//! changes.
//!
//! Some steps must see the whole text (`Strip left`, regular expressions): each is a pass of its own, whose only stretch
//! is the text.

use std::borrow::Cow;
use std::mem;
use std::ops::Range;

use memchr::memmem::Finder;

use crate::error::Result;
use crate::watch::Pulse;

mod forms;
mod map;
mod output;
mod quick;
mod step;
mod tables;
#[cfg(test)]
mod tests;

pub use output::Alignment;
use output::Output;
use quick::{CodePoints, QuickCheck};
use step::NormalizerStep;

/// Where a text that is to be normalized begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// Where the whole text does: what is put before it only once is put there.
    Text,
    /// Behind a token.
    Segment,
    /// In the middle of a segment: nothing is put before it.
    Within,
}

/// The steps of a normalization.
pub struct Normalizer {
    passes: Vec<Pass>,
}

/// Steps that are taken together.
struct Pass {
    steps: Vec<NormalizerStep>,
    search: StretchSearch,
    /// Whether the only thing that happens to the capitals of ASCII is that they become small.
    lowers: bool,
}

/// How a pass finds the stretches that it writes anew.
enum StretchSearch {
    /// Around the characters that may change.
    Around(Box<QuickCheck>),
    /// The one text that is replaced.
    Only(Box<Finder<'static>>, Box<CodePoints>),
    /// The whole text.
    All,
}

impl Normalizer {
    /// The normalizer of steps, each a name and its arguments.
    pub fn new(steps: &[Vec<String>]) -> Result<Self> {
        let mut passes: Vec<Vec<NormalizerStep>> = Vec::new();
        for written in steps {
            let step = NormalizerStep::new(written)?;
            match passes.last_mut() {
                Some(pass) if goes_with(pass, &step) => pass.push(step),
                _ => passes.push(vec![step]),
            }
        }
        Ok(Self { passes: passes.into_iter().map(Pass::new).collect() })
    }

    /// Whether no text is changed.
    pub fn is_identity(&self) -> bool {
        self.passes.is_empty()
    }

    /// Normalize a text; it is borrowed if nothing changes.
    pub fn normalize<'t>(&self, text: &'t str, at: Beginning, pulse: &mut Pulse) -> Result<Cow<'t, str>> {
        Ok(self.written::<false>(text, at, pulse)?.map_or(Cow::Borrowed(text), |out| Cow::Owned(out.text)))
    }

    /// Normalize a text, and say where each character stands in it.
    pub fn aligned<'t>(
        &self,
        text: &'t str,
        at: Beginning,
        pulse: &mut Pulse,
    ) -> Result<(Cow<'t, str>, Alignment)> {
        let same = (Cow::Borrowed(text), Alignment::default());
        Ok(self.written::<true>(text, at, pulse)?.map_or(same, |out| (Cow::Owned(out.text), out.alignment)))
    }

    /// What is written for a text, if anything changes.
    fn written<const ALIGNS: bool>(
        &self,
        text: &str,
        at: Beginning,
        pulse: &mut Pulse,
    ) -> Result<Option<Output<ALIGNS>>> {
        let mut last: Option<Output<ALIGNS>> = None;
        for pass in &self.passes {
            let given = last.as_ref().map_or(text, |output| &output.text);
            if let Some(mut output) = pass.apply(given, at, pulse)? {
                last.iter().try_for_each(|earlier| output.follow(earlier))?;
                last = Some(output);
            }
        }
        Ok(last)
    }

    /// Whether a text may be cut before some characters.
    pub fn can_cut(&self) -> bool {
        match &self.passes[..] {
            [] => true,
            [pass] => !matches!(pass.search, StretchSearch::All),
            _ => false,
        }
    }

    /// Whether a text may be cut before this character, whatever stands before it and follows: both parts are normalized
    /// on their own, the second one as [`Beginning::Within`].
    pub fn starts(&self, character: char) -> bool {
        self.can_cut() && self.passes.iter().all(|pass| pass.starts(character))
    }

    /// Whether a character starts, and becomes itself when what follows starts.
    pub fn keeps(&self, character: char) -> bool {
        self.can_cut() && self.passes.iter().all(|pass| pass.keeps(character))
    }

    /// The last place of a text where it may be cut, whatever follows; 0 if there is none.
    pub fn last_cut(&self, text: &str) -> usize {
        let mut characters = text.char_indices().rev();
        let found = if self.can_cut() { characters.find(|&(_, last)| self.starts(last)) } else { None };
        found.map_or(0, |(place, _)| place)
    }
}

/// Whether a step can be taken together with those before it. A text is put only before what is not empty, so what may
/// drop characters must have seen the whole text.
fn goes_with(pass: &[NormalizerStep], step: &NormalizerStep) -> bool {
    let puts = matches!(step, NormalizerStep::Prepend { .. });
    step.is_local() && pass.iter().all(|before| before.is_local() && !(puts && before.may_drop()))
}

/// The characters that do not start, or do not become themselves though what follows starts; but for the capitals of ASCII
/// that only become small.
fn changes(steps: &[NormalizerStep]) -> CodePoints {
    let mut changes = CodePoints::default();
    for (place, step) in steps.iter().enumerate() {
        step.add_changes(&mut changes);
        // What a character becomes with what follows must start, too.
        let rest = &steps[place + 1..];
        if rest.iter().any(NormalizerStep::tells_composites_apart) {
            for (characters, images) in step.groups() {
                if !all_start(rest, images) {
                    characters.into_iter().for_each(|character| changes.add(character));
                }
            }
        }
    }
    changes
}

/// Whether a text may be cut before each of these characters, whatever stands before it and follows.
fn all_start(steps: &[NormalizerStep], mut characters: Vec<char>) -> bool {
    for step in steps {
        if !characters.iter().all(|&character| step.starts(character)) {
            return false;
        }
        characters = step.images(&characters);
    }
    true
}

impl Pass {
    fn new(steps: Vec<NormalizerStep>) -> Self {
        let mut changes = changes(&steps);
        let mut letters = ('A'..='Z').chain('a'..='z');
        let makes_small = steps.iter().any(|step| matches!(step, NormalizerStep::Lowercase));
        let lowers = makes_small && !letters.any(|letter| changes.contains(letter));
        if makes_small && !lowers {
            ('A'..='Z').for_each(|capital| changes.add(capital));
        }
        Self { search: StretchSearch::new(&steps, changes), steps, lowers }
    }

    fn keeps(&self, character: char) -> bool {
        self.copies(character) && !(self.lowers && character.is_ascii_uppercase())
    }

    /// Whether a character starts, and is copied when what follows starts.
    fn copies(&self, character: char) -> bool {
        match &self.search {
            StretchSearch::Around(check) => !check.contains(character),
            StretchSearch::Only(_, changes) => !changes.contains(character),
            StretchSearch::All => false,
        }
    }

    fn starts(&self, character: char) -> bool {
        self.copies(character) || all_start(&self.steps, vec![character])
    }

    /// Write a text anew, if anything changes.
    fn apply<const ALIGNS: bool>(
        &self,
        text: &str,
        at: Beginning,
        pulse: &mut Pulse,
    ) -> Result<Option<Output<ALIGNS>>> {
        let (mut out, mut room) = (Output::default(), Room::default());
        let (mut from, mut done) = (0, 0);
        while let Some(stretch) = self.stretch(text, from, at) {
            pulse.beat(stretch.end - from)?;
            let part = &text[stretch.clone()];
            let at = if stretch.start == 0 { at } else { Beginning::Within };
            self.rewrite(part, at, &mut room, pulse)?;
            if !room.last.is(part) {
                self.copy(&text[done..stretch.start], &mut out)?;
                out.append(&mut room.last, part)?;
                done = stretch.end;
            }
            from = stretch.end;
        }
        pulse.beat(text.len() - from)?;
        if done == 0 && !(self.lowers && text.bytes().any(|byte| byte.is_ascii_uppercase())) {
            return Ok(None);
        }
        self.copy(&text[done..], &mut out)?;
        Ok(Some(out))
    }

    /// Write what is not written anew.
    fn copy<const ALIGNS: bool>(&self, part: &str, out: &mut Output<ALIGNS>) -> Result<()> {
        if self.lowers { out.keep_small(part) } else { out.keep(part) }
    }

    /// The next stretch that is written anew, from a place on where the text may be cut. The first one begins where the
    /// text does if something is put there.
    fn stretch(&self, text: &str, from: usize, at: Beginning) -> Option<Range<usize>> {
        if from == text.len() {
            return None;
        }
        let puts = from == 0 && self.steps.iter().any(|step| step.prepends(at));
        let found = match &self.search {
            _ if puts => 0,
            StretchSearch::All => return Some(0..text.len()),
            StretchSearch::Only(finder, _) => {
                let found = from + finder.find(&text.as_bytes()[from..])?;
                return Some(found..found + finder.needle().len());
            }
            StretchSearch::Around(check) => check.find(text, from),
        };
        let mut behind = text[found..].char_indices();
        behind.next()?;
        let end = behind.find(|&(_, character)| self.copies(character));
        let end = end.map_or(text.len(), |(behind, _)| found + behind);
        let start = text[from..found].char_indices().next_back().map_or(from, |(before, _)| from + before);
        Some(start..end)
    }

    /// Write a stretch anew by all steps.
    fn rewrite<const ALIGNS: bool>(
        &self,
        part: &str,
        at: Beginning,
        room: &mut Room<ALIGNS>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let Some((first, others)) = self.steps.split_first() else { return Ok(()) };
        room.last.clear();
        first.apply(part, at, &mut room.last, pulse)?;
        for step in others {
            mem::swap(&mut room.last, &mut room.before);
            room.last.clear();
            step.apply(&room.before.text, at, &mut room.last, pulse)?;
            room.last.follow(&room.before)?;
        }
        Ok(())
    }
}

impl StretchSearch {
    fn new(steps: &[NormalizerStep], changes: CodePoints) -> Self {
        if !steps.iter().all(NormalizerStep::is_local) {
            return Self::All;
        }
        let mut others = steps.iter().filter(|step| !matches!(step, NormalizerStep::Prepend { .. }));
        match (others.next(), others.next()) {
            (Some(NormalizerStep::Replace(replacements)), None) if replacements.only().is_some() => {
                let text = replacements.only().unwrap_or_default();
                Self::Only(Box::new(Finder::new(text).into_owned()), Box::new(changes))
            }
            _ => Self::Around(Box::new(QuickCheck::new(changes))),
        }
    }
}

/// Where stretches are written.
#[derive(Default)]
struct Room<const ALIGNS: bool> {
    last: Output<ALIGNS>,
    before: Output<ALIGNS>,
}
