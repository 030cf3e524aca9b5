//! What a character's neighbours tell of whether a piece begins at it: an automaton in, relations of atoms out.
//!
//! An automaton has to be walked from the start of a text, one character after the other. But what it has come to at
//! a character hardly ever depends on more than that character, the next one, and whether a piece begins at it:
//!
//! - Where a piece begins, the state behind its first character is that of the start's one move: always known.
//! - Elsewhere there is one *usual* state for each two characters, found by walking through a sample.
//!
//! Supposing the usual state, each three characters (before, at, behind) tell whether a piece begins at the second,
//! and whether the state behind it is again the usual one. Where it is not, the place is *unsure*, and whoever uses
//! the rules walks the automaton from the last sure start of a piece. So the sample decides only how often that
//! happens, never what is found.
//!
//! A match may end here and yet go on to a longer one (`\s*[\r\n]+` behind a line end and before blanks). A state that
//! lives on like that is *left open*: the piece is taken to end, the place is marked as open as long as the state
//! lives, and if it comes to a match after all, that place is unsure.

use std::collections::{BTreeMap, BTreeSet};

use super::automaton::{Automaton, DEAD, Move, START};

/// Text of many kinds, of which the usual states are learned.
const SAMPLE: &str = include_str!("sample.txt");

/// The most atoms that rules are made for: a set of them has 32 bits.
pub const MOST_ATOMS: usize = 32;

/// The most states that are left open.
const MOST_OPEN: usize = 64;

/// Where one of so many characters of the sample is unsure, the automaton alone is faster.
const MOST_UNSURE: usize = 10;

/// A set of atoms.
pub type Set = u32;

/// For two atoms side by side, which ones behind them belong to a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    behind: Vec<Set>,
}

impl Relation {
    /// The relation that nothing belongs to.
    pub fn new() -> Self {
        Self { behind: vec![0; MOST_ATOMS * MOST_ATOMS] }
    }

    /// The atoms behind, for the one before and the one at a place.
    pub fn get(&self, before: u8, at: u8) -> Set {
        self.behind[usize::from(before) * MOST_ATOMS + usize::from(at)]
    }

    fn add(&mut self, before: u8, at: u8, behind: Set) {
        self.behind[usize::from(before) * MOST_ATOMS + usize::from(at)] |= behind;
    }
}

/// The atoms before a place, at it, and behind it.
type Triple = (u8, u8, u8);

/// Where pieces begin, as three characters tell it, and a bit for whether one begins at the first of them.
pub struct LocalRules {
    /// Whether the pattern matches all text.
    pub covers: bool,
    /// Whether they are so seldom unsure that they are faster than the automaton alone.
    pub pays: bool,
    /// A piece begins.
    pub begins: Relation,
    /// A piece begins if one begins at the character before, and not otherwise.
    pub begins_with_before: Relation,
    /// A piece begins if none begins at the character before, and not otherwise.
    pub begins_without_before: Relation,
    /// It does not matter whether these rules say that a piece begins.
    pub indifferent: Relation,
    /// It is unsure what the automaton does.
    pub unsure: Relation,
    /// It is unsure if a piece begins at the character before.
    pub unsure_with_before: Relation,
    /// It is unsure if no piece begins at the character before.
    pub unsure_without_before: Relation,
    /// A state may have been left open.
    pub open: Relation,
}

/// What is known behind a character: what the state there does at the next one.
type Config = Move;

/// Something three characters do, supposing a config before them.
#[derive(Clone, Copy)]
struct Outcome {
    begins: bool,
    unsure: bool,
    /// A state left open, as it is behind the third character.
    open: Option<u16>,
}

impl LocalRules {
    /// The rules of an automaton that has few atoms.
    pub fn new(automaton: &Automaton) -> Option<Self> {
        if automaton.alphabet.count > MOST_ATOMS {
            return None;
        }
        let sample = Sample::new(automaton);
        let mut may_stay_open: BTreeSet<u16> = sample.left_open.clone();
        let (mut best, mut fewest) = Supposition::new(automaton, &sample, &may_stay_open).rules(&sample);
        for state in &sample.left_open {
            may_stay_open.remove(state);
            let (rules, unsure) = Supposition::new(automaton, &sample, &may_stay_open).rules(&sample);
            if unsure < fewest {
                (best, fewest) = (rules, unsure);
            } else {
                may_stay_open.insert(*state);
            }
        }
        best.pays = fewest <= sample.atoms.len() / MOST_UNSURE;
        Some(best)
    }
}

/// What the automaton does in the sample.
struct Sample {
    atoms: Vec<u8>,
    /// Where pieces begin.
    begins: Vec<bool>,
    /// The state behind each character.
    states: Vec<u16>,
    /// States that were alive when a piece had ended.
    left_open: BTreeSet<u16>,
}

impl Sample {
    fn new(automaton: &Automaton) -> Self {
        let text = SAMPLE.as_bytes();
        let mut sample =
            Self { atoms: Vec::new(), begins: Vec::new(), states: Vec::new(), left_open: BTreeSet::new() };
        let mut start = 0;
        while start < text.len() {
            // A gap is no piece that could be learned from; it is unsure by itself.
            let end = automaton.match_end(text, start).unwrap_or_else(|| automaton.atom_at(text, start).1);
            let (mut state, mut position) = (START, start);
            while position < end {
                let (atom, next) = automaton.atom_at(text, position);
                state = automaton.step(state, atom).next;
                sample.begins.push(position == start);
                sample.atoms.push(atom);
                sample.states.push(state);
                position = next;
            }
            for _ in 0..2 {
                let (atom, next) = automaton.atom_at(text, position);
                state = automaton.step(state, atom).next;
                position = next;
                if state != DEAD {
                    sample.left_open.insert(state);
                }
            }
            start = end;
        }
        sample
    }

    /// How often there are which three atoms, for whether a piece begins at the first of them.
    fn seen(&self) -> Seen {
        let mut seen = Seen { counts: vec![0; 2 * MOST_ATOMS.pow(3)] };
        for (three, &begins) in self.atoms.windows(3).zip(&self.begins) {
            seen.counts[Seen::place(begins, three[0], three[1], three[2])] += 1;
        }
        seen
    }

    /// What is seldom in it.
    fn few(&self) -> usize {
        self.atoms.len() / 500
    }
}

/// How often three atoms stand side by side.
struct Seen {
    counts: Vec<usize>,
}

impl Seen {
    fn place(begins: bool, before: u8, at: u8, behind: u8) -> usize {
        let places = [before, at, behind].into_iter().map(usize::from);
        places.fold(begins.into(), |place, atom| place * MOST_ATOMS + atom)
    }

    /// How often there are two atoms and one of a set behind them.
    fn often(&self, begins: bool, before: u8, at: u8, behind: Set) -> usize {
        (0..MOST_ATOMS as u8)
            .filter(|atom| behind >> atom & 1 != 0)
            .map(|atom| self.counts[Self::place(begins, before, at, atom)])
            .sum()
    }
}

/// What is supposed of the states behind characters, and what follows from it.
struct Supposition<'a> {
    automaton: &'a Automaton,
    atoms: u8,
    /// For each state, whether it may be left open behind a match: it comes to no other one at once.
    settles: Vec<bool>,
    may_stay_open: &'a BTreeSet<u16>,
    /// The config where no piece begins, for a character and the next one.
    usual: Vec<Config>,
}

impl<'a> Supposition<'a> {
    fn new(automaton: &'a Automaton, sample: &Sample, may_stay_open: &'a BTreeSet<u16>) -> Self {
        let atoms = automaton.alphabet.count as u8;
        let settles = (0..automaton.states as u16).map(|state| {
            let characters = 0..automaton.alphabet.end;
            may_stay_open.contains(&state)
                && !characters.into_iter().any(|at| automaton.step(state, at).matched)
        });
        let settles = settles.collect();
        let mut this = Self { automaton, atoms, settles, may_stay_open, usual: Vec::new() };
        let mut seen: BTreeMap<(u8, u8, Config), usize> = BTreeMap::new();
        for (place, two) in sample.atoms.windows(2).enumerate().filter(|(place, _)| !sample.begins[*place]) {
            let (config, _) = this.settle(automaton.step(sample.states[place], two[1]));
            *seen.entry((two[0], two[1], config)).or_default() += 1;
        }
        let mut usual: BTreeMap<(u8, u8), (usize, Config)> = BTreeMap::new();
        for ((at, next, config), count) in seen {
            let best = usual.entry((at, next)).or_insert((count, config));
            if count > best.0 {
                *best = (count, config);
            }
        }
        for at in 0..atoms {
            let state = this.state_inside_a_piece(at);
            for next in 0..atoms {
                let known = usual.get(&(at, next)).map(|(_, config)| *config);
                this.usual.push(known.unwrap_or_else(|| this.settle(automaton.step(state, next)).0));
            }
        }
        this
    }

    /// A state behind a character that is not the first of its piece, for characters that are not in the sample.
    fn state_inside_a_piece(&self, at: u8) -> u16 {
        let first = |atom| self.automaton.step(START, atom).next;
        let after = |atom| self.automaton.step(first(atom), at).next;
        let others = (0..self.atoms).map(after).find(|state| *state != DEAD);
        if after(at) != DEAD { after(at) } else { others.unwrap_or_else(|| first(at)) }
    }

    fn config(&self, begins: bool, at: u8, next: u8) -> (Config, Option<u16>) {
        if begins {
            return self.settle(self.automaton.step(self.automaton.step(START, at).next, next));
        }
        (self.usual[usize::from(at) * usize::from(self.atoms) + usize::from(next)], None)
    }

    /// The same config, in which a state that lives on behind a match without coming to another one at once is left
    /// open, if it may be.
    fn settle(&self, config: Config) -> (Config, Option<u16>) {
        if config.matched && self.settles[usize::from(config.next)] {
            return (Move { next: DEAD, ..config }, Some(config.next));
        }
        (config, None)
    }

    /// What three characters do, if the config behind the first is the one supposed.
    fn outcome(&self, (before, at, behind): Triple, begins_before: bool) -> Outcome {
        let sure = |begins, open| Outcome { begins, unsure: false, open };
        let unsure = Outcome { begins: false, unsure: true, open: None };
        let (config, _) = self.config(begins_before, before, at);
        if config.next == DEAD {
            return if config.matched { sure(true, self.config(true, at, behind).1) } else { unsure };
        }
        let then = self.automaton.step(config.next, behind);
        if then.matched || !config.matched {
            let (then, open) = self.settle(then);
            let as_supposed = then == self.config(false, at, behind).0;
            let lives = then.matched || then.next != DEAD;
            return if as_supposed && lives { sure(false, open) } else { unsure };
        }
        // The match has ended, unless the state comes to a longer one.
        match then.next {
            DEAD => sure(true, self.config(true, at, behind).1),
            state if self.may_stay_open.contains(&state) => sure(true, Some(state)),
            _ => unsure,
        }
    }

    /// The rules, and how often they are unsure in the sample.
    fn rules(&self, sample: &Sample) -> (LocalRules, usize) {
        let open = OpenStates::new(self);
        let reached = self.reached(&open);
        let everything = everything(self.atoms);
        let mut rules = LocalRules {
            covers: self.automaton.matches_all_text(),
            pays: true,
            begins: Relation::new(),
            begins_with_before: Relation::new(),
            begins_without_before: Relation::new(),
            indifferent: Relation::new(),
            unsure: Relation::new(),
            unsure_with_before: Relation::new(),
            unsure_without_before: Relation::new(),
            open: Relation::new(),
        };
        let seen = sample.seen();
        let mut unsure_in_sample = 0;
        for (before, at) in self.pairs() {
            let [without, with] = [false, true].map(|begins| {
                let mut says = self.says(before, at, begins, &open);
                let reached = reached.contains(&(begins, before, at));
                if !reached {
                    return Says { begins: 0, unsure: 0, matters: 0 };
                }
                let often = |behind| seen.often(begins, before, at, behind);
                // One rule for whatever is behind is simpler; it may cost little.
                if says.unsure != 0 && often(everything & !says.unsure) <= sample.few() {
                    says.unsure = everything;
                }
                unsure_in_sample += often(says.unsure);
                says.matters &= !says.unsure;
                says
            });
            rules.add(before, at, with, without, everything);
        }
        for (before, at) in self.pairs() {
            let left_open = (0..self.atoms).filter(|&behind| open.any(at, behind));
            rules.open.add(before, at, left_open.fold(0, |set, behind| set | 1 << behind));
        }
        (rules, unsure_in_sample)
    }

    /// What two characters, and each one behind them, do.
    fn says(&self, before: u8, at: u8, begins_before: bool, open: &OpenStates) -> Says {
        let mut says = Says { begins: 0, unsure: 0, matters: everything(self.atoms) };
        for behind in 0..self.atoms {
            let outcome = self.outcome((before, at, behind), begins_before);
            let unsure = outcome.unsure || open.contradict((before, at, behind), begins_before);
            says.unsure |= Set::from(unsure) << behind;
            says.begins |= Set::from(outcome.begins) << behind;
        }
        says
    }

    /// For whether a piece begins at a character, that character and the next one: whether the automaton gets there
    /// without being unsure on the way.
    fn reached(&self, open: &OpenStates) -> BTreeSet<(bool, u8, u8)> {
        let mut reached = BTreeSet::new();
        for triple @ (before, at, behind) in self.triples() {
            reached.insert((true, before, at));
            for begins in [false, true] {
                let outcome = self.outcome(triple, begins);
                if !outcome.begins && !outcome.unsure && !open.contradict(triple, begins) {
                    reached.insert((false, at, behind));
                }
            }
        }
        reached
    }

    /// All two atoms that can stand side by side.
    fn pairs(&self) -> impl Iterator<Item = (u8, u8)> {
        let (atoms, characters) = (self.atoms, self.automaton.alphabet.end);
        let final_line_feed = self.automaton.alphabet.final_line_feed;
        (0..characters).flat_map(move |before| {
            (0..atoms).filter(move |&at| at < characters || at == final_line_feed).map(move |at| (before, at))
        })
    }

    /// All three atoms that can stand side by side.
    fn triples(&self) -> impl Iterator<Item = Triple> {
        let atoms = self.atoms;
        self.pairs().flat_map(move |(before, at)| (0..atoms).map(move |behind| (before, at, behind)))
    }
}

/// What is so at a place, for each atom behind it.
struct Says {
    begins: Set,
    unsure: Set,
    /// Where it matters what `begins` says.
    matters: Set,
}

/// All atoms.
fn everything(atoms: u8) -> Set {
    Set::MAX >> (MOST_ATOMS - usize::from(atoms))
}

impl LocalRules {
    /// Add what is so between two atoms, if a piece begins at the first and if not.
    fn add(&mut self, before: u8, at: u8, with: Says, without: Says, everything: Set) {
        self.unsure.add(before, at, with.unsure & without.unsure);
        self.unsure_with_before.add(before, at, with.unsure & !without.unsure);
        self.unsure_without_before.add(before, at, without.unsure & !with.unsure);
        self.indifferent.add(before, at, everything & !(with.matters | without.matters));
        let [begins, not] =
            [!0, 0].map(|value| [&with, &without].map(|says| says.matters & !(says.begins ^ value)));
        // One rule for whatever is behind, if one fits.
        let [begins_with, begins_without] = begins;
        let [not_with, not_without] = not;
        if begins_with | begins_without == 0 {
        } else if not_with | not_without == 0 {
            self.begins.add(before, at, everything);
        } else if not_with | begins_without == 0 {
            self.begins_with_before.add(before, at, everything);
        } else if begins_with | not_without == 0 {
            self.begins_without_before.add(before, at, everything);
        } else {
            let begins = begins_with | begins_without;
            let not = not_with | not_without;
            self.begins.add(before, at, begins & !not);
            self.begins_with_before.add(before, at, begins_with & not_without);
            self.begins_without_before.add(before, at, begins_without & not_with);
        }
    }
}

/// The states that may be open, for whether a piece begins at a character, that character, and the next one: each as
/// it is behind the next one.
struct OpenStates<'a> {
    supposed: &'a Supposition<'a>,
    sets: BTreeMap<(bool, u8, u8), BTreeSet<u16>>,
    /// Whether there are so many that none may be trusted.
    too_many: bool,
}

impl<'a> OpenStates<'a> {
    fn new(supposed: &'a Supposition<'a>) -> Self {
        let mut this = Self { supposed, sets: BTreeMap::new(), too_many: false };
        let mut changed = Vec::new();
        for triple @ (_, at, behind) in supposed.triples() {
            for begins in [false, true] {
                let outcome = supposed.outcome(triple, begins);
                if let Some(state) = outcome.open {
                    this.leave_open((outcome.begins, at, behind), state, &mut changed);
                }
            }
        }
        for at in 0..supposed.automaton.alphabet.end {
            for behind in 0..supposed.atoms {
                if let (_, Some(state)) = supposed.config(true, at, behind) {
                    this.leave_open((true, at, behind), state, &mut changed);
                }
            }
        }
        while let Some(((begins, before, at), state)) = changed.pop() {
            for behind in 0..supposed.atoms {
                let outcome = supposed.outcome((before, at, behind), begins);
                let to = supposed.automaton.step(state, behind);
                if !outcome.unsure && !to.matched && to.next != DEAD {
                    this.leave_open((outcome.begins, at, behind), to.next, &mut changed);
                }
            }
        }
        this
    }

    fn leave_open(&mut self, place: (bool, u8, u8), state: u16, changed: &mut Vec<((bool, u8, u8), u16)>) {
        let states = self.sets.entry(place).or_default();
        if states.len() < MOST_OPEN && states.insert(state) {
            changed.push((place, state));
        }
        self.too_many |= states.len() == MOST_OPEN;
    }

    /// Whether a state that may be open comes to a match.
    fn contradict(&self, (before, at, behind): Triple, begins_before: bool) -> bool {
        let matched = |state: &u16| self.supposed.automaton.step(*state, behind).matched;
        self.too_many
            || self.sets.get(&(begins_before, before, at)).is_some_and(|states| states.iter().any(matched))
    }

    fn any(&self, at: u8, next: u8) -> bool {
        [false, true].iter().any(|&begins| self.sets.contains_key(&(begins, at, next)))
    }
}
