//! A compiled regular expression: the fastest of the three ways that can run it.

use super::alphabet::Alphabet;
use super::automaton::{Automaton, CutEffect, Cuts};
use super::expression::Expression;
use super::local::LocalRules;
use super::machine::{Machine, MachineRun};
use super::masks::MaskScanner;
use super::search::{Failures, Search};
use super::syntax::{parse, steps};
use super::views::Views;
use super::{Batch, Scanner, State, on_large_stack};
use crate::error::Result;
use crate::memory;
use crate::watch::Pulse;

/// A pattern with at most this many steps and this depth of groups needs little stack.
const FEW_STEPS: u64 = 200;
const FEW_NESTED: usize = 4;

/// Texts of fewer bytes are cut by the automaton alone.
const MIN_MASKED: usize = 64;

fn is_nested_deeply(source: &str) -> bool {
    let depths = source.bytes().scan(0_usize, |depth, byte| {
        *depth = match byte {
            b'(' => *depth + 1,
            b')' => depth.saturating_sub(1),
            _ => *depth,
        };
        Some(*depth)
    });
    depths.max().unwrap_or(0) > FEW_NESTED
}

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
pub enum Compiled {
    Automaton {
        automaton: Box<Automaton>,
        masks: Option<Box<MaskScanner>>,
        cuts: Cuts,
        /// For patterns that masks alone do not decide at once.
        views: Option<Box<Views>>,
    },
    Machine {
        machine: Machine,
        views: Option<Box<Views>>,
    },
}

impl Compiled {
    /// Compile a regular expression. The error says why it cannot be run.
    pub fn new(source: &str) -> Result<Self> {
        memory::ensure_spare()?;
        if !is_nested_deeply(source) {
            let expression = parse(source)?;
            if steps(&expression) <= FEW_STEPS
                && let Some(compiled) = Self::by_automaton(&expression)
            {
                return Ok(compiled);
            }
        }
        on_large_stack(|| {
            let expression = parse(source)?;
            match Self::by_automaton(&expression) {
                Some(compiled) => Ok(compiled),
                None => Ok(Self::by_machine(&expression)),
            }
        })
    }

    fn by_automaton(expression: &Expression) -> Option<Self> {
        let automaton = Box::new(Automaton::new(expression)?);
        let rules = LocalRules::new(&automaton).filter(|rules| rules.pays);
        let masks = rules.and_then(|rules| MaskScanner::new(&rules)).map(Box::new);
        let cuts = automaton.cuts();
        let is_decided = masks.is_some() && LocalRules::decide_at_once(&automaton);
        let views = if is_decided { None } else { Views::new(expression).map(Box::new) };
        Some(Self::Automaton { automaton, masks, cuts, views })
    }

    fn by_machine(expression: &Expression) -> Self {
        let views = Views::new(expression).map(Box::new);
        Self::Machine { machine: Machine::new(expression), views }
    }

    pub fn way(&self) -> Way {
        match self {
            Self::Automaton { masks: Some(_), .. } => Way::Masks,
            Self::Automaton { masks: None, .. } => Way::Automaton,
            Self::Machine { .. } => Way::Machine,
        }
    }

    /// Begin to cut a text.
    pub fn scan<'a>(&'a self, text: &'a str) -> Scanner<'a> {
        let scan = match self {
            Self::Automaton { automaton, masks: Some(masks), .. } => {
                Scan::Masks(masks, automaton, Failures::default())
            }
            Self::Automaton { automaton, masks: None, .. } => Scan::Automaton(automaton, Failures::default()),
            Self::Machine { machine, .. } => Scan::Machine(machine, Box::default()),
        };
        Scanner { text, position: 0, state: State::Once(scan) }
    }

    /// The automaton, if there is one.
    pub fn automaton(&self) -> Option<&Automaton> {
        match self {
            Self::Automaton { automaton, .. } => Some(automaton),
            Self::Machine { .. } => None,
        }
    }

    /// The views, if the pattern has any.
    pub fn views(&self) -> Option<&Views> {
        match self {
            Self::Automaton { views, .. } | Self::Machine { views, .. } => views.as_deref(),
        }
    }

    /// What cuts windows together with other patterns: an alphabet, and masks for the starts of pieces; or, as is told
    /// last, for the few places where a match may begin, to be found by views.
    pub fn for_windows(&self) -> Option<(&Alphabet, MaskScanner, bool)> {
        match self {
            Self::Automaton { automaton, .. } if automaton.tells_final_line_feed() => None,
            Self::Automaton { automaton, masks: Some(masks), .. }
                if LocalRules::decide_at_once(automaton) =>
            {
                Some((&automaton.alphabet, MaskScanner::clone(masks), false))
            }
            _ => {
                let views = self.views()?;
                Some((&views.alphabet, MaskScanner::new(&LocalRules::possible_matches(views)?)?, true))
            }
        }
    }

    /// The automaton, if it is the fastest for a text of some bytes: a window of masks costs as much as a short text.
    pub fn automaton_for(&self, bytes: usize) -> Option<&Automaton> {
        match self {
            Self::Automaton { automaton, .. } if bytes < MIN_MASKED => Some(automaton),
            Self::Automaton { .. } | Self::Machine { .. } => None,
        }
    }

    /// What a cut at a place between two characters does.
    pub fn cut_effect(&self, text: &[u8], place: usize) -> CutEffect {
        let Self::Automaton { automaton, cuts, .. } = self else { return CutEffect::Unknown };
        let (after, end) = automaton.alphabet.at(text, place);
        match automaton.alphabet.before(text, place) {
            Some(before) if place < text.len() && end <= text.len() => cuts.between(before, after),
            _ => CutEffect::Unknown,
        }
    }

    /// The first place at or after `from` where a cut has an effect that is wanted.
    pub fn find_cut(&self, text: &[u8], from: usize, wanted: impl Fn(CutEffect) -> bool) -> Option<usize> {
        let Self::Automaton { automaton, cuts, .. } = self else { return None };
        let alphabet = &automaton.alphabet;
        let mut place = from + text.get(from..)?.iter().take_while(|byte| **byte & 0xC0 == 0x80).count();
        let mut before = alphabet.before(text, place);
        while place < text.len() {
            let (after, end) = alphabet.at(text, place);
            if end <= text.len() && before.is_some_and(|before| wanted(cuts.between(before, after))) {
                return Some(place);
            }
            (before, place) = (Some(after), end);
        }
        None
    }
}

/// Cuts one text.
pub enum Scan<'a> {
    Masks(&'a MaskScanner, &'a Automaton, Failures),
    Automaton(&'a Automaton, Failures),
    Machine(&'a Machine, Box<MachineRun>),
}

impl Scan<'_> {
    /// Add pieces to the batch until it is nearly full or the text ends.
    pub fn fill(
        &mut self,
        text: &str,
        mut position: usize,
        batch: &mut Batch,
        pulse: &mut Pulse,
    ) -> Result<()> {
        match self {
            Self::Masks(masks, automaton, failures) => {
                let mut search = Search::new(failures, pulse);
                masks.fill(automaton, text.as_bytes(), position, batch, &mut search);
                search.finish()
            }
            Self::Automaton(automaton, failures) => {
                let mut search = Search::new(failures, pulse);
                while position < text.len() && !batch.is_full() {
                    position = automaton.fill_one(text.as_bytes(), position, batch, &mut search);
                }
                search.finish()
            }
            Self::Machine(machine, run) => machine.fill(text, position, batch, run, pulse),
        }
    }
}
