//! Derives local rules from an automaton: whether a piece begins at a character, decided by its
//! neighbours.
//!
//! An automaton must be run from the start of a text, one character after the other. But its state
//! after a character hardly ever depends on more than that character, the next one, and one of four
//! [labels](Label). The label of a character, together with this character and the next two,
//! determines the label of the next character. With `'s| ?\p{L}+|\s`:
//!
//! ```text
//!     text     i t ' s a b
//!     begins   x   x   x       a piece begins at the character
//!     usual      x       x     the state is the most frequent for both characters: letters go on
//!     first          x         the state is less frequent: a contraction is complete, and ends
//!
//!     some rules:   before   at       behind   label of the second
//!                   letter   '        any      begins, regardless of the label of the first
//!                   '        s        letter   first, if the label of the first is begins
//!                   letter   letter   any      begins, if that of the first is first, else usual
//! ```
//!
//! A piece begins at the first character of a text, so all labels follow one from another. Two
//! kinds of places need care:
//!
//! - **Unsure**: a state has no label. The user of the rules runs the automaton from the last
//!   certain start of a piece. Which states have labels affects only how often a place is unsure,
//!   never the result.
//! - **Open**: a match may end at a place and still become longer (`\s*[\r\n]+` after a line end
//!   and before blanks). The piece is assumed to end. Places are marked as open while the state is
//!   alive. If it reaches a match after all, that place is unsure.
//!
//! A gap lasts until a match begins. This character and the next usually decide whether one begins
//! at a character, so the states of gaps wait for one character more than those of the automaton.
//!
//! The file is in the order of the work: [`Labels`] assigns labels to states, [`Labels::rules`]
//! asks what follows from each label, [`OpenStates`] follows the open states, and [`LocalRules`]
//! holds the result.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::alphabet::{Alphabet, MOST_ATOMS};
use super::automaton::{Automaton, DEAD, Move, START};
use super::views::Views;

/// The maximum number of open states at one place.
const MAX_OPEN: usize = 64;

/// The maximum number of states at one place, with and without labels.
const MAX_CONFIGS: usize = 64;

/// If one of this many places is unsure, among all combinations of ASCII characters, the automaton
/// alone is faster.
const MAX_UNSURE: usize = 10;

/// The number of pairs of atoms.
const PAIRS: usize = MOST_ATOMS * MOST_ATOMS;

/// A set of atoms, and one for each label of the character before.
pub type Set = u32;
type LabelSets = [Set; Label::ALL.len()];

/// The label of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// A piece begins at the character, so the state is the one after a single step from the start.
    Begins,
    /// No piece begins there, and the state is the one that is possible at most places, for this
    /// character and the next.
    Usual,
    /// No piece begins there, and the state is one of two less frequent ones.
    First,
    Second,
}

impl Label {
    /// All labels, and all but the usual one.
    pub const ALL: [Self; 4] = [Self::Begins, Self::Usual, Self::First, Self::Second];
    pub const MARKED: [Self; 3] = [Self::Begins, Self::First, Self::Second];
    const SPECIAL: [Self; 2] = [Self::First, Self::Second];
    const NOT_BEGINNING: [Self; 3] = [Self::Usual, Self::First, Self::Second];
}

/// A relation of three adjacent atoms: for each triple, it must hold at the second atom, must not
/// hold, or is free.
#[derive(Clone)]
pub struct Relation {
    /// By the first two atoms: the third ones with which it must hold, and those with which it must
    /// not.
    holds: Vec<Set>,
    fails: Vec<Set>,
}

impl Relation {
    fn new() -> Self {
        Self { holds: vec![0; PAIRS], fails: vec![0; PAIRS] }
    }

    /// For the atoms before and at a place: the next atoms with which the relation must hold.
    pub fn holds(&self, before: u8, at: u8) -> Set {
        self.holds[pair_index(before, at)]
    }

    /// The next atoms with which it must not hold.
    pub fn fails(&self, before: u8, at: u8) -> Set {
        self.fails[pair_index(before, at)]
    }

    pub fn holds_anywhere(&self) -> bool {
        self.holds.iter().any(|behind| *behind != 0)
    }

    /// The same relation among some atoms; among others it is free.
    pub fn among(&self, atoms: Set) -> Self {
        let mut limited = Self::new();
        for before in members(atoms) {
            for at in members(atoms) {
                let pair = pair_index(before, at);
                limited.holds[pair] = self.holds[pair] & atoms;
                limited.fails[pair] = self.fails[pair] & atoms;
            }
        }
        limited
    }

    fn add(&mut self, pair: usize, holds: Set, fails: Set) {
        self.holds[pair] |= holds;
        self.fails[pair] |= fails;
    }
}

fn pair_index(before: u8, at: u8) -> usize {
    usize::from(before) * MOST_ATOMS + usize::from(at)
}

/// The atoms in a set.
fn members(atoms: Set) -> impl Iterator<Item = u8> {
    (0..MOST_ATOMS as u8).filter(move |atom| atoms >> atom & 1 != 0)
}

/// What a relation says of the character at its second place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// It has a label that is marked.
    Begins,
    First,
    Second,
    /// The automaton must find its label.
    Unsure,
    /// It has the label of the character before, which is one of the special ones.
    StaysFirst,
    StaysSecond,
    /// A state becomes open: in any case, and if a piece begins there.
    Opens,
    OpensHere,
    /// A state that is open stays so, or reaches a match.
    StaysOpen,
    Contradicted,
}

impl Fact {
    pub const COUNT: usize = Self::Contradicted as usize + 1;
    pub const MARKED: [Self; Label::MARKED.len()] = [Self::Begins, Self::First, Self::Second];
}

/// The condition of a relation: the character before has this label (its number), no piece begins
/// there, or none.
pub const NO_BEGINNING: usize = Label::ALL.len();
pub const ALWAYS: usize = NO_BEGINNING + 1;

/// The rules for the labels of characters.
pub struct LocalRules {
    /// Whether places are unsure so rarely that the rules are faster than the automaton alone.
    pub pays: bool,
    /// The number of atoms, and those of ASCII and of no character.
    pub atoms: u8,
    pub plain: Set,
    /// By fact and condition.
    pub relations: BTreeMap<(Fact, usize), Relation>,
}

/// The configuration after a character: the move of the state there at the next character.
type Config = Move;

/// What becomes of a config at the next atom.
#[derive(Clone, Copy)]
enum Outcome {
    Begins,
    GoesOn(Config),
    Unsure,
}

impl LocalRules {
    fn empty(alphabet: &Alphabet) -> Self {
        Self {
            pays: false,
            atoms: alphabet.count as u8,
            plain: alphabet.plain(),
            relations: BTreeMap::new(),
        }
    }

    fn add(&mut self, fact: Fact, condition: usize, pair: usize, holds: Set, fails: Set) {
        let relation = self.relations.entry((fact, condition)).or_insert_with(Relation::new);
        relation.add(pair, holds, fails);
    }

    /// Adds the next atoms with which a fact holds without a condition; with all others, it must
    /// not.
    fn add_exactly(&mut self, fact: Fact, pair: usize, holds: Set) {
        let all = Set::MAX >> (MOST_ATOMS - usize::from(self.atoms));
        self.add(fact, ALWAYS, pair, holds & all, all & !holds);
    }

    /// Adds what follows at a pair from each label of its first character: the next atoms with
    /// which a fact holds, and those with which it must not. A relation with a weaker condition is
    /// used wherever it is right for all labels.
    fn add_for_labels(&mut self, fact: Fact, pair: usize, holds: LabelSets, fails: LabelSets) {
        let holds_for_any = union(&holds);
        let fails_for_any = union(&fails);
        self.add(fact, ALWAYS, pair, holds_for_any & !fails_for_any, fails_for_any);

        let fails_for_others = union(&fails[1..]);
        let without_beginning = fails_for_any & union(&holds[1..]) & !fails_for_others;
        self.add(fact, NO_BEGINNING, pair, without_beginning, fails_for_others);

        for label in Label::ALL {
            let is_covered = if label == Label::Begins { 0 } else { without_beginning };
            let left = holds[label as usize] & fails_for_any & !is_covered;
            let (fact, condition) = match (fact, label) {
                (Fact::First, Label::First) => (Fact::StaysFirst, ALWAYS),
                (Fact::Second, Label::Second) => (Fact::StaysSecond, ALWAYS),
                _ => (fact, label as usize),
            };
            self.add(fact, condition, pair, left, fails[label as usize]);
        }
    }

    /// The rules of an automaton, if it has few enough atoms.
    pub fn new(automaton: &Automaton) -> Option<Self> {
        if automaton.alphabet.count > MOST_ATOMS {
            return None;
        }
        Some(Labels::new(automaton)?.rules())
    }

    /// Whether two characters always decide whether a match begins at the first. What is found then
    /// never turns out wrong because a match that has begun fails.
    pub fn decide_at_once(automaton: &Automaton) -> bool {
        let atoms = automaton.alphabet.count as u8;
        let mut characters = (0..atoms).filter(|at| *at != automaton.alphabet.end);
        characters.all(|at| (0..atoms).all(|next| match_begins(automaton, at, next).is_some()))
    }

    /// A rule for the places where a match may begin, if they are few.
    pub fn possible_matches(views: &Views) -> Option<Self> {
        let alphabet = &views.alphabet;
        let mut rules = Self::empty(alphabet);
        // By the first atom: the next ones with which a match may begin.
        let mut begins: [Set; MOST_ATOMS] = [0; MOST_ATOMS];
        for at in 0..alphabet.end {
            let mut next_atoms = 0;
            for next in 0..=alphabet.end {
                next_atoms |= Set::from(views.may_begin(at, next)) << next;
            }
            for before in 0..rules.atoms {
                rules.add_exactly(Fact::Begins, pair_index(before, at), next_atoms);
            }
            begins[usize::from(at)] = next_atoms;
        }

        let mut possible_pairs = 0;
        for at in alphabet.ascii {
            let next_atoms = begins[usize::from(at)];
            possible_pairs +=
                alphabet.ascii.iter().filter(|next| next_atoms >> **next & 1 != 0).count();
        }
        let all_pairs = alphabet.ascii.len() * alphabet.ascii.len();
        rules.pays = possible_pairs <= all_pairs / MAX_UNSURE;
        rules.pays.then_some(rules)
    }
}

fn union(sets: &[Set]) -> Set {
    sets.iter().fold(0, |all, set| all | set)
}

/// Whether a match begins at the first of two characters, or `None` if this depends on the
/// characters after them.
fn match_begins(automaton: &Automaton, at: u8, next: u8) -> Option<bool> {
    let to = automaton.step(automaton.step(START, at).next, next);
    if to.matched || automaton.surely_matches(to.next) {
        return Some(true);
    }
    (to.next == DEAD).then_some(false)
}

/// The assignment of configs to labels.
struct Labels<'a> {
    automaton: &'a Automaton,
    /// The first state of gaps, which follow those of the automaton: the one after a character at
    /// which no match begins. Each of the others is about a character at which a match may begin.
    gap: u16,
    /// The number of atoms.
    atoms: u8,
    /// For each state, whether it may be open: it cannot reach a match at the next character, which
    /// does not always tell whether it will.
    may_be_open: Vec<bool>,
    /// For each label and two atoms, the config, if the label is used there.
    configs: Vec<Option<Config>>,
}

impl<'a> Labels<'a> {
    fn new(automaton: &'a Automaton) -> Option<Self> {
        let states = 0..automaton.states as u16;
        let mut labels = Self {
            automaton,
            gap: automaton.states as u16,
            atoms: automaton.alphabet.count as u8,
            may_be_open: states.map(|state| may_be_open(automaton, state)).collect(),
            configs: vec![None; Label::ALL.len() * PAIRS],
        };
        for (at, next) in labels.pairs() {
            let config = if match_begins(automaton, at, next) == Some(false) {
                labels.gap_step(next)
            } else {
                labels.split_open(labels.begun(at, next)).0
            };
            labels.set(Label::Begins, at, next, config);
        }
        labels.choose()?;
        Some(labels)
    }

    fn config(&self, label: Label, at: u8, next: u8) -> Option<Config> {
        self.configs[label as usize * PAIRS + pair_index(at, next)]
    }

    fn set(&mut self, label: Label, at: u8, next: u8, config: Config) {
        self.configs[label as usize * PAIRS + pair_index(at, next)] = Some(config);
    }

    /// Assigns labels to the possible configs of each pair of characters: `Usual` to one that goes
    /// on and is possible at most pairs, `First` and `Second` to two others. Where possible, a
    /// config has the same label everywhere.
    fn choose(&mut self) -> Option<()> {
        let possible = self.possible()?;
        let mut count_of: BTreeMap<Config, usize> = BTreeMap::new();
        for config in possible.iter().flatten() {
            *count_of.entry(*config).or_default() += 1;
        }
        self.choose_usual(&possible, &count_of);
        // The most frequent configs choose first.
        let mut configs: Vec<Config> = count_of.keys().copied().collect();
        configs.sort_by_key(|config| Reverse(count_of[config]));
        for config in configs {
            self.choose_special(&possible, config);
        }
        Some(())
    }

    fn choose_usual(&mut self, possible: &[Vec<Config>], count_of: &BTreeMap<Config, usize>) {
        for (at, next) in self.pairs() {
            let configs = possible[pair_index(at, next)].iter().copied();
            let rank = |config: &Config| (config.next != DEAD, count_of.get(config), *config);
            if let Some(usual) = configs.max_by_key(rank) {
                self.set(Label::Usual, at, next, usual);
            }
        }
    }

    /// Gives a config a special label at each pair where it is possible and not the usual one. The
    /// label that fewer of these pairs use already is preferred.
    fn choose_special(&mut self, possible: &[Vec<Config>], config: Config) {
        let mut pairs: Vec<(u8, u8)> = self.pairs().collect();
        pairs.retain(|&(at, next)| {
            let is_possible = possible[pair_index(at, next)].contains(&config);
            is_possible && self.config(Label::Usual, at, next) != Some(config)
        });
        let mut labels = Label::SPECIAL;
        labels.sort_by_key(|label| {
            let is_used = |&&(at, next): &&(u8, u8)| self.config(*label, at, next).is_some();
            pairs.iter().filter(is_used).count()
        });
        for (at, next) in pairs {
            let is_free = |label: &&Label| self.config(**label, at, next).is_none();
            if let Some(&label) = labels.iter().find(is_free) {
                self.set(label, at, next, config);
            }
        }
    }

    /// For each pair of characters, the configs that are possible where no piece begins at the
    /// first.
    fn possible(&self) -> Option<Vec<Vec<Config>>> {
        let mut possible: Vec<Vec<Config>> = vec![Vec::new(); PAIRS];
        // Those whose outcomes were not followed yet, with the second atom of their pair.
        let mut fresh: Vec<(u8, Config)> = Vec::new();
        for (at, next) in self.pairs() {
            if let Some(config) = self.config(Label::Begins, at, next) {
                fresh.push((next, config));
            }
        }
        while let Some((at, config)) = fresh.pop() {
            for behind in 0..self.atoms {
                let (Outcome::GoesOn(next), _) = self.after(config, behind) else { continue };
                let configs = &mut possible[pair_index(at, behind)];
                if !configs.contains(&next) {
                    configs.push(next);
                    fresh.push((behind, next));
                }
                if configs.len() > MAX_CONFIGS {
                    return None;
                }
            }
        }
        Some(possible)
    }

    /// The move of a state, of the automaton or of a gap, at the next character.
    fn step(&self, state: u16, at: u8) -> Move {
        if state == self.gap { self.gap_step(at) } else { self.automaton.step(state, at) }
    }

    /// The config of a piece that begins at the first of two characters.
    fn begun(&self, at: u8, next: u8) -> Config {
        self.automaton.step(self.automaton.step(START, at).next, next)
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

    /// If the state of a config goes on after a match without reaching another one at once: the
    /// config without the state, and the state, which is then open.
    fn split_open(&self, config: Config) -> (Config, Option<u16>) {
        let is_open =
            config.matched && config.next != DEAD && self.may_be_open[usize::from(config.next)];
        if is_open {
            return (Move { next: DEAD, ..config }, Some(config.next));
        }
        (config, None)
    }

    /// What becomes of a config at the next character, and the state that becomes open there, if
    /// any.
    fn after(&self, config: Config, behind: u8) -> (Outcome, Option<u16>) {
        if config.next == DEAD {
            let outcome = if config.matched { Outcome::Begins } else { Outcome::Unsure };
            return (outcome, None);
        }
        if let Some(at) = config.next.checked_sub(self.gap + 1) {
            // In a gap, before a character at which a match may begin.
            let outcome = match match_begins(self.automaton, at as u8, behind) {
                Some(true) => Outcome::Begins,
                Some(false) => Outcome::GoesOn(self.gap_step(behind)),
                None => Outcome::Unsure,
            };
            return (outcome, None);
        }
        let next = self.step(config.next, behind);
        let match_ends =
            config.matched && !next.matched && !self.automaton.surely_matches(next.next);
        if match_ends {
            // Unless the state comes to a longer one.
            return (Outcome::Begins, (next.next != DEAD).then_some(next.next));
        }
        let (next, open) = self.split_open(next);
        if !next.matched && next.next == DEAD {
            return (Outcome::Unsure, None);
        }
        (Outcome::GoesOn(next), open)
    }

    /// The label of the second of three characters, given the label of the first, unless it is
    /// unsure; and the state that becomes open, if any.
    fn next_label(
        &self,
        label: Label,
        before: u8,
        at: u8,
        behind: u8,
    ) -> (Option<Label>, Option<u16>) {
        let Some(config) = self.config(label, before, at) else { return (None, None) };
        match self.after(config, behind) {
            (Outcome::Unsure, _) => (None, None),
            (Outcome::Begins, open) => (Some(Label::Begins), open),
            (Outcome::GoesOn(next), open) => {
                let has_it = |label: &Label| self.config(*label, at, behind) == Some(next);
                let label = Label::NOT_BEGINNING.into_iter().find(has_it);
                (label, open.filter(|_| label.is_some()))
            }
        }
    }

    /// All pairs of adjacent atoms; the second may be the end of the text.
    fn pairs(&self) -> impl Iterator<Item = (u8, u8)> + use<> {
        let atoms = self.atoms;
        let end = self.automaton.alphabet.end;
        let characters = (0..atoms).filter(move |&at| at != end);
        characters.flat_map(move |at| (0..atoms).map(move |next| (at, next)))
    }

    /// All pairs of adjacent characters.
    fn inner_pairs(&self) -> impl Iterator<Item = (u8, u8)> + use<> {
        let end = self.automaton.alphabet.end;
        self.pairs().filter(move |&(before, at)| before < end && at != end)
    }

    /// Derives the rules.
    fn rules(&self) -> LocalRules {
        let mut rules = LocalRules::empty(&self.automaton.alphabet);
        let mut open = OpenStates::new();
        let mut share = UnsureShare::new(&self.automaton.alphabet);
        for (before, at) in self.inner_pairs() {
            self.add_pair(before, at, &mut rules, &mut open, &mut share);
        }
        self.add_beginnings(&mut rules, &mut open);
        let outcomes = open.follow(self.automaton, self.atoms);
        for (before, at) in self.inner_pairs() {
            let pair = pair_index(before, at);
            rules.add_exactly(Fact::StaysOpen, pair, outcomes.stays[pair]);
            rules.add_exactly(Fact::Contradicted, pair, outcomes.matches[pair]);
        }
        rules.pays = share.is_small();
        rules
    }

    /// Adds what the labels of the first of two characters tell of the second.
    fn add_pair(
        &self,
        before: u8,
        at: u8,
        rules: &mut LocalRules,
        open: &mut OpenStates,
        share: &mut UnsureShare,
    ) {
        // By the label of the second and that of the first: the next atoms with which it is so.
        let mut next_atoms: [LabelSets; Label::ALL.len()] = [[0; _]; _];
        let mut unsure: LabelSets = [0; _];
        let mut opens: Set = 0;
        for label in Label::ALL {
            if self.config(label, before, at).is_none() {
                continue;
            }
            for behind in 0..self.atoms {
                let (target, opened) = self.next_label(label, before, at, behind);
                match target {
                    Some(target) => next_atoms[target as usize][label as usize] |= 1 << behind,
                    None => unsure[label as usize] |= 1 << behind,
                }
                share.add([before, at, behind], target.is_none());
                opens |= open.add(at, behind, opened);
            }
        }

        // By the label of the first: the next atoms with which the second has another label than
        // this one.
        let other_than = |target: Option<Label>| -> LabelSets {
            let mut others: LabelSets = [0; _];
            for label in Label::ALL {
                if Some(label) == target {
                    continue;
                }
                for (all, atoms) in others.iter_mut().zip(next_atoms[label as usize]) {
                    *all |= atoms;
                }
            }
            others
        };
        let pair = pair_index(before, at);
        for (fact, target) in Fact::MARKED.into_iter().zip(Label::MARKED) {
            rules.add_for_labels(fact, pair, next_atoms[target as usize], other_than(Some(target)));
        }
        rules.add_for_labels(Fact::Unsure, pair, unsure, other_than(None));
        rules.add_exactly(Fact::Opens, pair, opens);
    }

    /// Adds the states that become open where a piece begins. A text may begin with any character.
    fn add_beginnings(&self, rules: &mut LocalRules, open: &mut OpenStates) {
        let end = self.automaton.alphabet.end;
        for at in (0..self.atoms).filter(|at| *at != end) {
            let mut opens = 0;
            for behind in 0..self.atoms {
                let (_, opened) = self.split_open(self.begun(at, behind));
                opens |= open.add(at, behind, opened);
            }
            for before in 0..=end {
                rules.add_exactly(Fact::OpensHere, pair_index(before, at), opens);
            }
        }
    }
}

/// Whether a state cannot reach a match at the next character, which does not always tell whether
/// it will.
fn may_be_open(automaton: &Automaton, state: u16) -> bool {
    let mut is_always_told = true;
    for at in 0..automaton.alphabet.end {
        let to = automaton.step(state, at);
        if to.matched {
            return false;
        }
        is_always_told &= to.next == DEAD || automaton.surely_matches(to.next);
    }
    !is_always_told
}

/// The combinations of three ASCII characters, and those of which the second may be unsure.
struct UnsureShare {
    /// The number of characters of each atom.
    characters: [usize; MOST_ATOMS],
    all: usize,
    unsure: usize,
}

impl UnsureShare {
    fn new(alphabet: &Alphabet) -> Self {
        let mut characters = [0; MOST_ATOMS];
        for atom in alphabet.ascii {
            characters[usize::from(atom)] += 1;
        }
        Self { characters, all: 0, unsure: 0 }
    }

    fn add(&mut self, atoms: [u8; 3], is_unsure: bool) {
        let combinations: usize =
            atoms.iter().map(|atom| self.characters[usize::from(*atom)]).product();
        self.all += combinations;
        if is_unsure {
            self.unsure += combinations;
        }
    }

    fn is_small(&self) -> bool {
        self.unsure <= self.all / MAX_UNSURE
    }
}

/// The states that may be open at each pair of characters, after the second one; and those of them
/// that are new.
struct OpenStates {
    of_pairs: Vec<Vec<u16>>,
    fresh: Vec<(u8, u8, u16)>,
}

/// What becomes of open states: for each pair, the next atoms at which one stays open, and those at
/// which one reaches a match.
struct OpenOutcomes {
    stays: Vec<Set>,
    matches: Vec<Set>,
}

impl OpenStates {
    fn new() -> Self {
        Self { of_pairs: vec![Vec::new(); PAIRS], fresh: Vec::new() }
    }

    /// Adds a state, if there is one; returns the second atom then.
    fn add(&mut self, at: u8, next: u8, state: Option<u16>) -> Set {
        let Some(state) = state else { return 0 };
        let states = &mut self.of_pairs[pair_index(at, next)];
        if states.len() <= MAX_OPEN && !states.contains(&state) {
            states.push(state);
            self.fresh.push((at, next, state));
        }
        1 << next
    }

    /// Follows all states until no new one is found. Where there are too many states, the place is
    /// always unsure.
    fn follow(mut self, automaton: &Automaton, atoms: u8) -> OpenOutcomes {
        let mut outcomes = OpenOutcomes { stays: vec![0; PAIRS], matches: vec![0; PAIRS] };
        while let Some((before, at, state)) = self.fresh.pop() {
            let pair = pair_index(before, at);
            if self.of_pairs[pair].len() > MAX_OPEN {
                outcomes.stays[pair] = Set::MAX;
                outcomes.matches[pair] = Set::MAX;
            }
            for behind in 0..atoms {
                let to = automaton.step(state, behind);
                if to.matched {
                    outcomes.matches[pair] |= 1 << behind;
                } else if to.next != DEAD {
                    outcomes.stays[pair] |= self.add(at, behind, Some(to.next));
                }
            }
        }
        outcomes
    }
}
