//! A compiled regular expression: the machine that can run it, and the faster ways that it has.

use std::sync::Arc;

use super::automaton::{Automaton, CutEffect};
use super::local::LocalRules;
use super::machine::{Machine, MachineRun};
use super::masks::{Finder, Joint, JointScan, MaskRules, Needs, WINDOW};
use super::set::CharSet;
use super::syntax::parse;
use super::views::Views;
use super::{Batch, Scanner, State, on_large_stack};
use crate::error::Result;
use crate::memory;
use crate::watch::Pulse;

/// Texts of fewer bytes are cut by the automaton alone: a window of masks costs as much as a short text.
const MIN_MASKED: usize = 64;

/// The automaton may look at so many bytes in vain, and at so many more for each byte that it passes. Then the machine takes its
/// place, which does no work twice.
const MOST_IN_VAIN: usize = 1 << 12;
const MOST_IN_VAIN_PER_BYTE: usize = 16;

/// The way text is cut, from the fastest to the slowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// By rules about neighbouring characters, hundreds of bytes at a time.
    Masks,
    /// One character after the other.
    Automaton,
    /// By backtracking.
    Machine,
}

/// A regular expression, ready to cut text.
pub struct Compiled {
    machine: Machine,
    automaton: Option<Arc<Automaton>>,
    masks: Option<Box<Joint>>,
    /// Whether masks decide at once, without a look at what follows, where matches begin.
    is_decided: bool,
    /// For patterns that masks alone do not decide at once.
    views: Option<Arc<Views>>,
}

/// What the search for matches in one text remembers.
#[derive(Default)]
pub struct Search {
    machine: MachineRun,
    /// How many bytes the automaton may be said to have looked at in vain.
    in_vain: usize,
    is_slow: bool,
    /// A match that was found behind a gap.
    next: Option<(usize, usize)>,
}

impl Compiled {
    /// Compile a regular expression. The error says why it cannot be run.
    pub fn new(source: &str) -> Result<Self> {
        memory::ensure_spare()?;
        on_large_stack(|| Ok(Self::of(Machine::new(&parse(source)?))))
    }

    fn of(machine: Machine) -> Self {
        let automaton = Automaton::new(&machine.graph).map(Arc::new);
        let decides = automaton.as_deref().is_some_and(LocalRules::decide_at_once);
        let masks = automaton.as_ref().and_then(|automaton| {
            let rules = LocalRules::new(automaton).filter(|rules| rules.pays)?;
            Some(Box::new(Joint::of_one(automaton, &MaskRules::new(&rules)?, decides)))
        });
        let is_decided = masks.is_some() && decides;
        let views = if is_decided { None } else { Views::new(&machine.graph).map(Arc::new) };
        Self { machine, automaton, masks, is_decided, views }
    }

    /// Whether it certainly matches all of every text.
    pub fn covers_all_text(&self) -> bool {
        self.automaton.as_ref().is_some_and(|automaton| automaton.matches_all_text())
    }

    pub fn way(&self) -> Way {
        match (&self.masks, &self.automaton) {
            (Some(_), _) => Way::Masks,
            (None, Some(_)) => Way::Automaton,
            (None, None) => Way::Machine,
        }
    }

    #[cfg(test)]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The automaton, if there is one.
    pub fn automaton(&self) -> Option<&Arc<Automaton>> {
        self.automaton.as_ref()
    }

    /// The sets of characters of the pattern.
    pub fn sets(&self) -> &[CharSet] {
        &self.machine.graph.sets
    }

    /// The end of the match that begins at a place and is not empty, if there is one.
    #[inline]
    fn match_end(
        &self,
        text: &str,
        start: usize,
        run: &mut Search,
        pulse: &mut Pulse,
    ) -> Result<Option<usize>> {
        let Some(automaton) = self.automaton.as_ref().filter(|_| !run.is_slow) else {
            return self.machine.match_end(text, start, &mut run.machine, pulse);
        };
        let (end, looked) = automaton.match_end(text.as_bytes(), start, pulse)?;
        let matched = end.unwrap_or(start);
        let may_be_in_vain = MOST_IN_VAIN_PER_BYTE * (matched - start).max(1);
        run.in_vain = (run.in_vain + looked - matched).saturating_sub(may_be_in_vain);
        run.is_slow = run.in_vain > MOST_IN_VAIN;
        Ok(end)
    }

    /// The end of the piece that begins at `start`, and whether it is a gap.
    pub fn piece_end(
        &self,
        text: &str,
        start: usize,
        run: &mut Search,
        pulse: &mut Pulse,
    ) -> Result<(usize, bool)> {
        let mut place = start;
        let end = loop {
            let found = match run.next {
                Some((at, end)) if at == place => Some(end),
                _ => self.match_end(text, place, run, pulse)?,
            };
            if found.is_some() || place >= text.len() {
                break found;
            }
            place += text[place..].chars().next().map_or(1, char::len_utf8);
        };
        run.next = end.map(|end| (place, end));
        Ok(end.filter(|_| place == start).map_or((place, true), |end| (end, false)))
    }

    /// Whether a match begins at a place.
    pub fn begins(&self, text: &str, start: usize, run: &mut Search, pulse: &mut Pulse) -> Result<bool> {
        let told = self.automaton.as_ref().and_then(|automaton| automaton.begins(text.as_bytes(), start));
        told.map_or_else(|| Ok(self.match_end(text, start, run, pulse)?.is_some()), Ok)
    }

    /// Begin to cut a text.
    #[inline]
    pub fn scan<'a>(&'a self, text: &'a str) -> Scanner<'a> {
        let masks = self.masks.as_ref().map(|masks| masks.scan(text, 0));
        Scanner { text, position: 0, state: State::Once(self, masks, None) }
    }

    /// Add pieces from a position on to the batch until it is nearly full or the text ends: by masks if there is a scan. The
    /// other ways help it where a window does not tell the end of a piece.
    pub fn fill(
        &self,
        text: &str,
        mut position: usize,
        scan: Option<&mut JointScan>,
        batch: &mut Batch,
        run: &mut Option<Box<Search>>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let Some(scan) = scan else {
            return self.fill_up_to(text, &mut position, text.len(), batch, run, pulse);
        };
        while let Needs::Help(mut place) = scan.fill(batch, pulse)? {
            // Where one piece is not told by a window, the next ones often are not, either.
            let end = text.len().min(place + WINDOW);
            self.fill_up_to(text, &mut place, end, batch, run, pulse)?;
            scan.go_on_at(place);
        }
        Ok(())
    }

    #[inline(never)]
    fn fill_up_to(
        &self,
        text: &str,
        place: &mut usize,
        end: usize,
        batch: &mut Batch,
        run: &mut Option<Box<Search>>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let run = run.get_or_insert_default();
        while *place < end && !batch.is_full() {
            *place = self.piece_end(text, *place, run, pulse)?.0;
            batch.push(*place);
        }
        Ok(())
    }

    /// What cuts windows together with other patterns: masks for the starts of pieces, or for the few places where a match
    /// may begin, to be found by views.
    pub fn for_windows(&self) -> Option<(Finder, MaskRules)> {
        if let (Some(automaton), Some(masks), true) = (&self.automaton, &self.masks, self.is_decided) {
            let rules = masks.first_rules().filter(|_| !automaton.alphabet.tells_final_line_feed());
            return rules.map(|rules| (Finder::Automaton(Arc::clone(automaton)), rules.clone()));
        }
        let views = self.views.as_ref()?;
        let rules = LocalRules::possible_matches(views)?;
        Some((Finder::Views(Arc::clone(views)), MaskRules::new(&rules)?))
    }

    /// Whether a text of so many bytes is cut faster without masks.
    pub fn is_short(bytes: usize) -> bool {
        bytes < MIN_MASKED
    }

    /// What a cut at a place between two characters does.
    pub fn cut_effect(&self, text: &[u8], place: usize) -> CutEffect {
        let Some(automaton) = &self.automaton else { return CutEffect::Unknown };
        let (after, end) = automaton.alphabet.at(text, place);
        match automaton.alphabet.before(text, place) {
            Some(before) if place < text.len() && end <= text.len() => automaton.cuts.between(before, after),
            _ => CutEffect::Unknown,
        }
    }

    /// The first place at or after `from` where a cut has an effect that is wanted.
    pub fn find_cut(&self, text: &[u8], from: usize, wanted: impl Fn(CutEffect) -> bool) -> Option<usize> {
        let automaton = self.automaton.as_ref()?;
        let alphabet = &automaton.alphabet;
        let mut place = from + text.get(from..)?.iter().take_while(|byte| **byte & 0xC0 == 0x80).count();
        let mut before = alphabet.before(text, place);
        while place < text.len() {
            let (after, end) = alphabet.at(text, place);
            if end <= text.len() && before.is_some_and(|before| wanted(automaton.cuts.between(before, after)))
            {
                return Some(place);
            }
            (before, place) = (Some(after), end);
        }
        None
    }
}
