//! Derives local rules from an automaton: whether a piece begins at a character, decided by its neighbours.
//!
//! An automaton must be run from the start of a text, one character after the other. But its state after a character
//! hardly ever depends on more than that character, the next one, and one of four [labels](Label). The label of a character,
//! together with this character and the next two, determines the label of the next character. With `'s| ?\p{L}+|\s`:
//!
//! ```text
//!     text     i t ' s a b
//!     begins   x   x   x       a piece begins at the character
//!     usual      x       x     the state is the most frequent one for these two characters: letters go on
//!     first          x         the state is less frequent: a contraction is complete, and does not go on
//!
//!     some rules:   before   at       behind   label of the second
//!                   letter   '        any      begins, whatever the label of the first is
//!                   '        s        letter   first, if the label of the first is begins
//!                   letter   letter   any      begins, if the label of the first is first; else usual
//! ```
//!
//! Since a piece begins at the first character of a text, all labels follow one from another. If a state has no label,
//! the place is *unsure*, and the user of the rules runs the automaton from the last certain start of a piece. Which states
//! have labels affects only how often a place is unsure, never the result.
//!
//! A gap lasts until a match begins. Whether one begins at a character is usually clear from this character and the next:
//! the states of gaps wait for one character more than those of the automaton.
//!
//! A match may end at a place and still become longer (`\s*[\r\n]+` after a line end and before blanks). Such a state is
//! *open*: the piece is assumed to end, places are marked as open while the state is alive, and if it reaches a match
//! after all, that place is unsure.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::alphabet::{Alphabet, MOST_ATOMS};
use super::automaton::{Automaton, DEAD, Move, START};
use super::views::Views;

/// The maximum number of open states at one place.
const MAX_OPEN: usize = 64;

/// The maximum number of states at one place, with and without labels.
const MAX_CONFIGS: usize = 64;

/// If one of this many places is unsure, among all combinations of ASCII characters, the automaton alone is faster.
const MAX_UNSURE: usize = 10;

/// A set of atoms, and one for each label of the character before.
pub type Set = u32;
type LabelSets = [Set; Label::ALL.len()];

/// The label of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// A piece begins at the character, so the state is the one after a single step from the start.
    Begins,
    /// No piece begins there, and the state is the one that is possible at most places, for this character and the next.
    Usual,
    /// No piece begins there, and the state is one of two less frequent ones.
    First,
    Second,
}

impl Label {
    /// All labels, and those but the usual one.
    pub const ALL: [Self; 4] = [Self::Begins, Self::Usual, Self::First, Self::Second];
    pub const MARKED: [Self; 3] = [Self::Begins, Self::First, Self::Second];
    const SPECIAL: [Self; 2] = [Self::First, Self::Second];
}

/// A relation of three adjacent atoms: for each triple, it must hold at the second atom, must not hold, or is free.
#[derive(Clone)]
pub struct Relation {
    holds: Vec<Set>,
    fails: Vec<Set>,
}

impl Relation {
    fn new() -> Self {
        Self { holds: vec![0; MOST_ATOMS * MOST_ATOMS], fails: vec![0; MOST_ATOMS * MOST_ATOMS] }
    }

    /// For the atoms before and at a place: the next atoms with which the relation must hold.
    pub fn holds(&self, before: u8, at: u8) -> Set {
        self.holds[place(before, at)]
    }

    /// The same relation among some atoms; among others it does not matter.
    pub fn among(&self, atoms: Set) -> Self {
        let among = |sets: &[Set]| -> Vec<Set> {
            let is_member = |atom: usize| atoms >> atom & 1 != 0;
            let both = |place: usize| is_member(place / MOST_ATOMS) && is_member(place % MOST_ATOMS);
            sets.iter().enumerate().map(|(place, set)| if both(place) { set & atoms } else { 0 }).collect()
        };
        Self { holds: among(&self.holds), fails: among(&self.fails) }
    }

    /// The next atoms with which it must not hold.
    pub fn fails(&self, before: u8, at: u8) -> Set {
        self.fails[place(before, at)]
    }

    pub fn holds_anywhere(&self) -> bool {
        self.holds.iter().any(|behind| *behind != 0)
    }

    fn add(&mut self, place: usize, holds: Set, fails: Set) {
        self.holds[place] |= holds;
        self.fails[place] |= fails;
    }
}

fn place(before: u8, at: u8) -> usize {
    usize::from(before) * MOST_ATOMS + usize::from(at)
}

/// What a relation tells of the character at its second place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Told {
    /// It has a label that is marked.
    Begins,
    First,
    Second,
    /// The automaton must find its label.
    Unsure,
    /// It has the label of the character before, which is one of the special ones.
    StaysFirst,
    StaysSecond,
    /// A state becomes open: wherever the place is, and if a piece begins there.
    Opens,
    OpensHere,
    /// A state that is open stays so, or reaches a match.
    StaysOpen,
    Contradicted,
}

impl Told {
    pub const COUNT: usize = Self::Contradicted as usize + 1;
    pub const MARKED: [Self; Label::MARKED.len()] = [Self::Begins, Self::First, Self::Second];
}

/// What must be so for a relation to tell it: the character before has this label, or no piece begins there, or nothing.
pub const NO_BEGINNING: usize = Label::ALL.len();
pub const ALWAYS: usize = NO_BEGINNING + 1;

/// The rules for the labels of characters.
pub struct LocalRules {
    /// Whether places are unsure so rarely that the rules are faster than the automaton alone.
    pub pays: bool,
    /// The number of atoms, and those of ASCII and of no character.
    pub atoms: u8,
    pub plain: Set,
    /// What relations tell, on which conditions.
    pub relations: BTreeMap<(Told, usize), Relation>,
}

/// The configuration after a character: the move of the state there at the next character.
type Config = Move;

/// The result of a config and the next atom.
#[derive(Clone, Copy)]
enum Then {
    Begins,
    GoesOn(Config),
    Unsure,
}

impl LocalRules {
    fn empty(alphabet: &Alphabet) -> Self {
        let (atoms, plain) = (alphabet.count as u8, alphabet.plain());
        Self { pays: false, atoms, plain, relations: BTreeMap::new() }
    }

    fn add(&mut self, told: Told, condition: usize, place: usize, holds: Set, fails: Set) {
        self.relations.entry((told, condition)).or_insert_with(Relation::new).add(place, holds, fails);
    }

    /// Add the next atoms with which a relation holds; with all others, it must not.
    fn set(&mut self, told: Told, place: usize, holds: Set) {
        let all = Set::MAX >> (MOST_ATOMS - usize::from(self.atoms));
        self.add(told, ALWAYS, place, holds & all, all & !holds);
    }

    /// Add what follows at a place from each label of its first character: the next atoms with which something is told, and
    /// those with which it must not be. A relation without a condition is used if it is right for all labels.
    fn add_for_labels(&mut self, told: Told, place: usize, holds: LabelSets, fails: LabelSets) {
        let union = |sets: &[Set]| sets.iter().fold(0, |all, set| all | set);
        let (wrong_for_some, wrong_for_others) = (union(&fails), union(&fails[1..]));
        let without_beginning = wrong_for_some & union(&holds[1..]) & !wrong_for_others;
        self.add(told, ALWAYS, place, union(&holds) & !wrong_for_some, wrong_for_some);
        self.add(told, NO_BEGINNING, place, without_beginning, wrong_for_others);
        for label in Label::ALL {
            let covered = if label == Label::Begins { 0 } else { without_beginning };
            let holds = holds[label as usize] & wrong_for_some & !covered;
            let (told, condition) = match (told, label) {
                (Told::First, Label::First) => (Told::StaysFirst, ALWAYS),
                (Told::Second, Label::Second) => (Told::StaysSecond, ALWAYS),
                _ => (told, label as usize),
            };
            self.add(told, condition, place, holds, fails[label as usize]);
        }
    }

    /// The rules of an automaton, if it has few enough atoms.
    pub fn new(automaton: &Automaton) -> Option<Self> {
        if automaton.alphabet.count > MOST_ATOMS {
            return None;
        }
        Some(Labels::new(automaton)?.rules())
    }

    /// Whether two characters always tell whether a match begins at the first, so that what is found never turns out wrong
    /// because a match that has begun fails.
    pub fn decide_at_once(automaton: &Automaton) -> bool {
        let atoms = automaton.alphabet.count as u8;
        let mut characters = (0..atoms).filter(|at| *at != automaton.alphabet.end);
        characters.all(|at| (0..atoms).all(|next| match_begins(automaton, at, next).is_some()))
    }

    /// A rule for the places where a match may begin, if they are few.
    pub fn possible_matches(views: &Views) -> Option<Self> {
        let alphabet = &views.alphabet;
        let mut rules = Self::empty(alphabet);
        let mut begins = [0; MOST_ATOMS];
        for at in 0..alphabet.end {
            let may_begin = |next: u8| Set::from(views.may_begin(at, next)) << next;
            let holds = (0..=alphabet.end).fold(0, |all, next| all | may_begin(next));
            (0..rules.atoms).for_each(|before| rules.set(Told::Begins, place(before, at), holds));
            begins[usize::from(at)] = holds;
        }
        let possible = alphabet.ascii.map(|at| {
            alphabet.ascii.iter().filter(|next| begins[usize::from(at)] >> **next & 1 != 0).count()
        });
        rules.pays = possible.iter().sum::<usize>() <= alphabet.ascii.len().pow(2) / MAX_UNSURE;
        rules.pays.then_some(rules)
    }
}

/// Whether a match begins at the first of two characters, or `None` if this depends on the characters after them.
fn match_begins(automaton: &Automaton, at: u8, next: u8) -> Option<bool> {
    let to = automaton.step(automaton.step(START, at).next, next);
    match to.matched || automaton.surely_matches(to.next) {
        true => Some(true),
        false => (to.next == DEAD).then_some(false),
    }
}

/// The assignment of configs to labels.
struct Labels<'a> {
    automaton: &'a Automaton,
    /// The first of the states of gaps, which follow those of the automaton: after a character at which no match begins. The
    /// others are about each character at which a match may begin.
    gap: u16,
    /// The number of atoms.
    atoms: u8,
    /// For each state, whether it may be open: it cannot reach a match at the next character, which does not always tell
    /// whether it will.
    settles: Vec<bool>,
    /// For each label and two atoms, the config, if the label is used there.
    configs: Vec<Option<Config>>,
}

impl<'a> Labels<'a> {
    fn new(automaton: &'a Automaton) -> Option<Self> {
        let characters = automaton.alphabet.end;
        let is_told = |to: Move| to.next == DEAD || automaton.surely_matches(to.next);
        let settles = (0..automaton.states as u16).map(|state| {
            let mut moves = (0..characters).map(|at| automaton.step(state, at));
            moves.clone().all(|to| !to.matched) && !moves.all(is_told)
        });
        let settles = settles.collect();
        let atoms = automaton.alphabet.count as u8;
        let configs = vec![None; Label::ALL.len() * MOST_ATOMS * MOST_ATOMS];
        let mut this = Self { automaton, gap: automaton.states as u16, atoms, settles, configs };
        for (at, next) in this.pairs() {
            let begun = match match_begins(automaton, at, next) {
                Some(false) => this.gap_step(next),
                _ => this.settle(automaton.step(automaton.step(START, at).next, next)).0,
            };
            this.set(Label::Begins, at, next, begun);
        }
        this.choose()?;
        Some(this)
    }

    fn config(&self, label: Label, at: u8, next: u8) -> Option<Config> {
        self.configs[label as usize * MOST_ATOMS * MOST_ATOMS + place(at, next)]
    }

    fn set(&mut self, label: Label, at: u8, next: u8, config: Config) {
        self.configs[label as usize * MOST_ATOMS * MOST_ATOMS + place(at, next)] = Some(config);
    }

    /// Assign labels to the possible configs of each pair of characters: `Usual` to one that goes on and is possible at most
    /// pairs, `First` and `Second` to two others. Where possible, a config has the same label everywhere.
    fn choose(&mut self) -> Option<()> {
        let known = self.possible()?;
        let mut count: BTreeMap<Config, usize> = BTreeMap::new();
        for config in known.iter().flatten() {
            *count.entry(*config).or_default() += 1;
        }
        for (at, next) in self.pairs() {
            let known = known[place(at, next)].iter().copied();
            if let Some(usual) = known.max_by_key(|config| (config.next != DEAD, count.get(config), *config))
            {
                self.set(Label::Usual, at, next, usual);
            }
        }
        let mut configs: Vec<Config> = count.keys().copied().collect();
        configs.sort_by_key(|config| Reverse(count.get(config)));
        for config in configs {
            let is_unusual = |&(at, next): &(u8, u8)| {
                known[place(at, next)].contains(&config)
                    && self.config(Label::Usual, at, next) != Some(config)
            };
            let unusual: Vec<(u8, u8)> = self.pairs().filter(is_unusual).collect();
            let taken = |label: &Label| {
                unusual.iter().filter(|(at, next)| self.config(*label, *at, *next).is_some()).count()
            };
            let mut labels = Label::SPECIAL;
            labels.sort_by_key(taken);
            for (at, next) in unusual {
                let is_free = |label: &&Label| self.config(**label, at, next).is_none();
                if let Some(&label) = labels.iter().find(is_free) {
                    self.set(label, at, next, config);
                }
            }
        }
        Some(())
    }

    /// For each pair of characters, the configs that are possible where no piece begins at the first.
    fn possible(&self) -> Option<Vec<Vec<Config>>> {
        let mut known: Vec<Vec<Config>> = vec![Vec::new(); MOST_ATOMS * MOST_ATOMS];
        let begins = |(at, next)| Some((at, next, self.config(Label::Begins, at, next)?));
        let mut fresh: Vec<(u8, u8, Config)> = self.pairs().filter_map(begins).collect();
        while let Some((_, at, config)) = fresh.pop() {
            for behind in 0..self.atoms {
                let (Then::GoesOn(then), _) = self.then(config, behind) else { continue };
                let known = &mut known[place(at, behind)];
                if !known.contains(&then) {
                    known.push(then);
                    fresh.push((at, behind, then));
                }
                if known.len() > MAX_CONFIGS {
                    return None;
                }
            }
        }
        Some(known)
    }

    /// The move of a state, of the automaton or of a gap, at the next character.
    fn step(&self, state: u16, at: u8) -> Move {
        if state == self.gap { self.gap_step(at) } else { self.automaton.step(state, at) }
    }

    /// The move of a gap at its next character.
    fn gap_step(&self, at: u8) -> Move {
        let state = self.automaton.step(START, at).next;
        if at == self.automaton.alphabet.end || self.automaton.surely_matches(state) {
            return Move { matched: true, next: DEAD };
        }
        let may_begin = if state == DEAD { 0 } else { 1 + u16::from(at) };
        Move { matched: false, next: self.gap + may_begin }
    }

    /// If the state of a config goes on after a match without reaching another one at once: the config without the state,
    /// and the state, which is then open.
    fn settle(&self, config: Config) -> (Config, Option<u16>) {
        if config.matched && self.settles[usize::from(config.next)] && config.next != DEAD {
            return (Move { next: DEAD, ..config }, Some(config.next));
        }
        (config, None)
    }

    /// The result of a config at the next character, and the state that becomes open there, if any.
    fn then(&self, config: Config, behind: u8) -> (Then, Option<u16>) {
        if config.next == DEAD {
            return (if config.matched { Then::Begins } else { Then::Unsure }, None);
        }
        if let Some(at) = config.next.checked_sub(self.gap + 1) {
            let then = match match_begins(self.automaton, at as u8, behind) {
                Some(true) => Then::Begins,
                Some(false) => Then::GoesOn(self.gap_step(behind)),
                None => Then::Unsure,
            };
            return (then, None);
        }
        let then = self.step(config.next, behind);
        if then.matched || !config.matched || self.automaton.surely_matches(then.next) {
            let (then, open) = self.settle(then);
            let lives = then.matched || then.next != DEAD;
            return if lives { (Then::GoesOn(then), open) } else { (Then::Unsure, None) };
        }
        // The match has ended, unless the state comes to a longer one.
        (Then::Begins, (then.next != DEAD).then_some(then.next))
    }

    /// The label of the second of three characters, given the label of the first, unless it is unsure; and the state that
    /// becomes open, if any.
    fn outcome(&self, label: Label, before: u8, at: u8, behind: u8) -> (Option<Label>, Option<u16>) {
        let Some(config) = self.config(label, before, at) else { return (None, None) };
        match self.then(config, behind) {
            (Then::Unsure, _) => (None, None),
            (Then::Begins, open) => (Some(Label::Begins), open),
            (Then::GoesOn(then), open) => {
                let is = |label: &&Label| self.config(**label, at, behind) == Some(then);
                let label = Label::ALL[1..].iter().find(is).copied();
                (label, open.filter(|_| label.is_some()))
            }
        }
    }

    /// The state that becomes open where a piece begins.
    fn opened_by_beginning(&self, at: u8, next: u8) -> Option<u16> {
        self.settle(self.automaton.step(self.automaton.step(START, at).next, next)).1
    }

    /// All pairs of adjacent atoms; the second may be the end of the text.
    fn pairs(&self) -> impl Iterator<Item = (u8, u8)> + use<> {
        let (atoms, end) = (self.atoms, self.automaton.alphabet.end);
        (0..atoms).filter(move |&at| at != end).flat_map(move |at| (0..atoms).map(move |next| (at, next)))
    }

    /// Derive the rules.
    fn rules(&self) -> LocalRules {
        let alphabet = &self.automaton.alphabet;
        let characters = |atom: u8| alphabet.ascii.iter().filter(|other| **other == atom).count();
        let characters: Vec<usize> = (0..self.atoms).map(characters).collect();
        // The combinations of three characters, and those of which the second may be unsure.
        let (mut all_combinations, mut unsure_combinations) = (0, 0);
        let mut open = OpenStates { found: vec![Vec::new(); MOST_ATOMS * MOST_ATOMS], fresh: Vec::new() };
        let mut rules = LocalRules::empty(alphabet);
        let end = self.automaton.alphabet.end;
        let pairs = || self.pairs().filter(|(before, at)| *before < end && *at != end);
        for (before, at) in pairs() {
            let (place, mut opens) = (place(before, at), 0);
            let (mut found, mut unsure) = ([[0; Label::ALL.len()]; Label::ALL.len()], [0; Label::ALL.len()]);
            for label in Label::ALL.into_iter().filter(|&label| self.config(label, before, at).is_some()) {
                for behind in 0..self.atoms {
                    let (target, opened) = self.outcome(label, before, at, behind);
                    let combinations: usize =
                        [before, at, behind].iter().map(|atom| characters[usize::from(*atom)]).product();
                    all_combinations += combinations;
                    match target {
                        Some(target) => found[target as usize][label as usize] |= 1 << behind,
                        None => {
                            unsure[label as usize] |= 1 << behind;
                            unsure_combinations += combinations;
                        }
                    }
                    opens |= open.add(at, behind, opened);
                }
            }
            let other_than = |target: Option<Label>| {
                let others = Label::ALL.into_iter().filter(|label| Some(*label) != target);
                let others: Vec<_> = others.map(|label| found[label as usize]).collect();
                std::array::from_fn(|from| others.iter().fold(0, |all, found| all | found[from]))
            };
            for (told, target) in Told::MARKED.into_iter().zip(Label::MARKED) {
                rules.add_for_labels(told, place, found[target as usize], other_than(Some(target)));
            }
            rules.add_for_labels(Told::Unsure, place, unsure, other_than(None));
            rules.set(Told::Opens, place, opens);
        }
        // A text may begin with any character.
        for at in (0..self.atoms).filter(|at| *at != end) {
            let opens = |behind| open.add(at, behind, self.opened_by_beginning(at, behind));
            let opens = (0..self.atoms).map(opens).fold(0, |all, opens| all | opens);
            (0..=end).for_each(|before| rules.set(Told::OpensHere, place(before, at), opens));
        }
        let (stays, matches) = open.outcomes(self.automaton, self.atoms);
        for (before, at) in pairs() {
            let place = place(before, at);
            rules.set(Told::StaysOpen, place, stays[place]);
            rules.set(Told::Contradicted, place, matches[place]);
        }
        rules.pays = unsure_combinations <= all_combinations / MAX_UNSURE;
        rules
    }
}

/// The states that may be open at each pair of characters, after the second one; and those of them that are new.
struct OpenStates {
    found: Vec<Vec<u16>>,
    fresh: Vec<(u8, u8, u16)>,
}

impl OpenStates {
    /// Add a state, if there is one; returns the second atom then.
    fn add(&mut self, at: u8, next: u8, state: Option<u16>) -> Set {
        let Some(state) = state else { return 0 };
        let found = &mut self.found[place(at, next)];
        if found.len() <= MAX_OPEN && !found.contains(&state) {
            found.push(state);
            self.fresh.push((at, next, state));
        }
        1 << next
    }

    /// For each pair, the next atoms at which a state stays open, and those at which one reaches a match. Where there are too
    /// many states, the place is always unsure.
    fn outcomes(mut self, automaton: &Automaton, atoms: u8) -> (Vec<Set>, Vec<Set>) {
        let mut stays = vec![0; MOST_ATOMS * MOST_ATOMS];
        let mut matches = stays.clone();
        while let Some((before, at, state)) = self.fresh.pop() {
            let place = place(before, at);
            if self.found[place].len() > MAX_OPEN {
                (stays[place], matches[place]) = (Set::MAX, Set::MAX);
            }
            for behind in 0..atoms {
                let to = automaton.step(state, behind);
                if to.matched {
                    matches[place] |= 1 << behind;
                } else if to.next != DEAD {
                    stays[place] |= self.add(at, behind, Some(to.next));
                }
            }
        }
        (stays, matches)
    }
}
