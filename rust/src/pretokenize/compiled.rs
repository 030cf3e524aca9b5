//! A compiled regular expression: the machine that can run it, and the faster ways that it has.

use std::sync::Arc;

use super::ahead::Ahead;
use super::automaton::{Automaton, CutEffect};
use super::expression::Expression;
use super::graph::Graph;
use super::local::LocalRules;
use super::machine::{Machine, MachineRun};
use super::masks::{Joint, MaskRules, Matcher};
use super::on_large_stack;
use super::syntax::parse;
use super::views::Views;
use crate::error::Result;
use crate::memory;
use crate::watch::Pulse;

/// The automaton may look at this many bytes in vain, and at this many more for each byte that it
/// passes. Then the machine takes its place, which does no work twice.
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
    /// The automaton that knows what follows each character, if it needs to.
    ahead: Option<Arc<Ahead>>,
    /// The masks of this pattern alone.
    pub masks: Option<Box<Joint>>,
    /// What cuts windows together with other patterns: masks for the starts of pieces, or for the
    /// few places where a match may begin, to be found by views.
    pub in_windows: Option<(Matcher, MaskRules)>,
}

/// Goes through one text and finds its pieces. It can only move forward, because what it remembers
/// holds from its place on.
pub struct Cursor<'a> {
    pattern: &'a Compiled,
    text: &'a str,
    place: usize,
    /// Where the match ends that begins at the place, if there is one; the outer `None` if that was
    /// not looked for.
    match_here: Option<Option<usize>>,
    run: MachineRun,
    /// How many bytes the automaton has looked at in vain, less those that it was allowed.
    in_vain: usize,
}

/// A piece of a text: a match, or the gap between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub end: usize,
    pub is_match: bool,
}

impl Compiled {
    /// Compiles a regular expression. The error says why it cannot be run.
    pub fn new(source: &str) -> Result<Self> {
        memory::ensure_spare()?;
        on_large_stack(|| Ok(Self::of(&parse(source)?, Machine::new(source)?)))
    }

    fn of(expression: &Expression, machine: Machine) -> Self {
        let automaton = Automaton::new(&machine.graph).map(Arc::new);
        let looking = expression.looking_ahead(!machine.graph.can_be_empty);
        let ahead = match &automaton {
            // A match that may fail is decided sooner by look-ahead.
            Some(_) if looking != *expression => Ahead::new(&Graph::new(&looking)),
            Some(_) => None,
            None => Ahead::new(&machine.graph),
        };
        let ahead = ahead.map(Arc::new);
        let of_ahead = ahead.as_ref().map(|ahead| &ahead.automaton);
        let of_masks = of_ahead.or(automaton.as_ref());
        let decides = of_masks.is_some_and(|automaton| LocalRules::decide_at_once(automaton));
        let rules = of_masks.and_then(|automaton| {
            let mut rules = LocalRules::new(automaton).filter(|rules| rules.pays)?;
            if let Some(ahead) = &ahead {
                rules.plain |= ahead.plain();
            }
            Some((automaton, MaskRules::new(&rules)?))
        });
        let mut masks = None;
        if let Some((automaton, rules)) = &rules {
            masks = Some(Box::new(Joint::of_one(automaton, rules, ahead.clone(), decides)));
        }
        let in_windows = match rules {
            Some((automaton, rules)) if decides && ahead.is_none() => {
                let matcher = Matcher::Automaton(Arc::clone(automaton));
                (!automaton.alphabet.tells_final_line_feed()).then_some((matcher, rules))
            }
            _ => by_views(&machine),
        };
        Self { machine, automaton, ahead, masks, in_windows }
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

    /// Says what a cut at a place between two characters does.
    pub fn cut_effect(&self, text: &[u8], place: usize) -> CutEffect {
        let automaton = match (&self.automaton, &self.ahead) {
            (Some(automaton), _) => automaton,
            (None, Some(ahead)) => return ahead.cut_effect(text, place),
            (None, None) => return CutEffect::Unknown,
        };
        let (after, end) = automaton.alphabet.at(text, place);
        match automaton.alphabet.before(text, place) {
            Some(before) if place < text.len() && end <= text.len() => {
                automaton.cut_between(before, after)
            }
            _ => CutEffect::Unknown,
        }
    }
}

/// Returns what finds matches in windows by views, if the pattern has few of them.
fn by_views(machine: &Machine) -> Option<(Matcher, MaskRules)> {
    let views = Views::new(&machine.graph)?;
    let rules = MaskRules::new(&LocalRules::possible_matches(&views)?)?;
    Some((Matcher::Views(Arc::new(views)), rules))
}

impl<'a> Cursor<'a> {
    /// Returns a cursor at the beginning of a text.
    pub fn new(pattern: &'a Compiled, text: &'a str) -> Self {
        Self { pattern, text, place: 0, match_here: None, run: MachineRun::default(), in_vain: 0 }
    }

    pub fn place(&self) -> usize {
        self.place
    }

    /// Moves forward, without a look at the pieces between.
    pub fn skip(&mut self, bytes: usize) {
        if bytes > 0 {
            self.place += bytes;
            self.match_here = None;
        }
    }

    /// Returns the piece that begins here, and moves to its end. At the end of the text, it is
    /// empty.
    pub fn next_piece(&mut self, pulse: &mut Pulse) -> Result<Piece> {
        if let Some(end) = self.match_end(pulse)? {
            self.skip(end - self.place);
            return Ok(Piece { end, is_match: true });
        }
        // A gap: up to the next match.
        while let Some(character) = self.text[self.place..].chars().next() {
            self.skip(character.len_utf8());
            if self.place < self.text.len() && self.match_end(pulse)?.is_some() {
                break;
            }
        }
        Ok(Piece { end: self.place, is_match: false })
    }

    /// Whether a match begins here.
    pub fn is_at_match(&mut self, pulse: &mut Pulse) -> Result<bool> {
        let automaton = self.pattern.automaton.as_ref();
        if let Some(automaton) = automaton
            && let Some(begins) = automaton.begins(self.text.as_bytes(), self.place)
        {
            return Ok(begins);
        }
        Ok(self.match_end(pulse)?.is_some())
    }

    /// Returns the end of the match that begins here and is not empty, if there is one.
    #[inline]
    fn match_end(&mut self, pulse: &mut Pulse) -> Result<Option<usize>> {
        if let Some(end) = self.match_here {
            return Ok(end);
        }
        let end = self.find_match_end(pulse)?;
        self.match_here = Some(end);
        Ok(end)
    }

    #[inline]
    fn find_match_end(&mut self, pulse: &mut Pulse) -> Result<Option<usize>> {
        let start = self.place;
        let automaton = match &self.pattern.automaton {
            Some(automaton) if self.in_vain <= MOST_IN_VAIN => automaton,
            _ => return self.pattern.machine.match_end(self.text, start, &mut self.run, pulse),
        };
        let (end, looked) = automaton.match_end(self.text.as_bytes(), start, pulse)?;
        let matched = end.unwrap_or(start);
        let may_be_in_vain = MOST_IN_VAIN_PER_BYTE * (matched - start).max(1);
        self.in_vain = (self.in_vain + looked - matched).saturating_sub(may_be_in_vain);
        Ok(end)
    }
}
