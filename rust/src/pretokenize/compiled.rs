//! A compiled regular expression: the machine that can run it, and the faster ways that it has.

use std::sync::Arc;

use super::automaton::{Automaton, CutEffect};
use super::local::LocalRules;
use super::machine::{Machine, MachineRun};
use super::masks::{Joint, MaskRules, Matcher};
use super::on_large_stack;
use super::syntax::parse;
use super::views::Views;
use crate::error::Result;
use crate::memory;
use crate::watch::Pulse;

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
    pub machine: Machine,
    pub automaton: Option<Arc<Automaton>>,
    /// The masks of this pattern alone.
    pub masks: Option<Box<Joint>>,
    /// What cuts windows together with other patterns: masks for the starts of pieces, or for the few places where a match may
    /// begin, to be found by views.
    pub in_windows: Option<(Matcher, MaskRules)>,
}

/// What the search for matches in one text remembers.
#[derive(Default)]
pub struct Search {
    machine: MachineRun,
    /// How many bytes the automaton may be said to have looked at in vain.
    in_vain: usize,
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
        let rules = automaton.as_ref().and_then(|automaton| {
            let rules = LocalRules::new(automaton).filter(|rules| rules.pays)?;
            Some((automaton, MaskRules::new(&rules)?))
        });
        let masks =
            rules.as_ref().map(|(automaton, rules)| Box::new(Joint::of_one(automaton, rules, decides)));
        let in_windows = match rules {
            Some((automaton, rules)) if decides => {
                let matcher = Matcher::Automaton(Arc::clone(automaton));
                (!automaton.alphabet.tells_final_line_feed()).then_some((matcher, rules))
            }
            _ => Views::new(&machine.graph).and_then(|views| {
                let rules = MaskRules::new(&LocalRules::possible_matches(&views)?)?;
                Some((Matcher::Views(Arc::new(views)), rules))
            }),
        };
        Self { machine, automaton, masks, in_windows }
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

    /// The end of the match that begins at a place and is not empty, if there is one.
    #[inline]
    fn match_end(
        &self,
        text: &str,
        start: usize,
        run: &mut Search,
        pulse: &mut Pulse,
    ) -> Result<Option<usize>> {
        let Some(automaton) = self.automaton.as_ref().filter(|_| run.in_vain <= MOST_IN_VAIN) else {
            return self.machine.match_end(text, start, &mut run.machine, pulse);
        };
        let (end, looked) = automaton.match_end(text.as_bytes(), start, pulse)?;
        let matched = end.unwrap_or(start);
        let may_be_in_vain = MOST_IN_VAIN_PER_BYTE * (matched - start).max(1);
        run.in_vain = (run.in_vain + looked - matched).saturating_sub(may_be_in_vain);
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

    /// What a cut at a place between two characters does.
    pub fn cut_effect(&self, text: &[u8], place: usize) -> CutEffect {
        let Some(automaton) = &self.automaton else { return CutEffect::Unknown };
        let (after, end) = automaton.alphabet.at(text, place);
        match automaton.alphabet.before(text, place) {
            Some(before) if place < text.len() && end <= text.len() => automaton.cut_between(before, after),
            _ => CutEffect::Unknown,
        }
    }
}
