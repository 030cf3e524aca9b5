//! Finds the starts of pieces with bit masks, hundreds of bytes at a time.
//!
//! A window is read as atoms. A mask has a bit for each of its characters. For each relation of
//! three neighbours that the [local rules](super::local) use, a mask tells where it holds. With
//! `'s| ?\p{L}+|\s`:
//!
//! ```text
//!     text                                         i t ' s a b
//!     letter, ' and any: begins                    . . x . . .
//!     ', s, letter: first, if behind a beginning   . . . x . .
//!     two letters: begins, if behind first         . x . . x x
//!     round 1: labels without a condition          x . x . . .   begins (a text begins a piece)
//!     round 2: the relation there                  . . . x . .   first
//!     round 3:                                     x . x . x .   begins
//!     round 4: nothing changes
//! ```
//!
//! So labels are propagated from each character to the next, for all characters of a window at
//! once, until nothing changes; two or three rounds are nearly always enough. Since the label of
//! the first character is known, all labels are then correct. Most labels are rare, and most
//! relations hold nowhere in most windows: both are then left out.

use super::alphabet::MOST_ATOMS;
use super::local::{ALWAYS, Fact, Label, LocalRules, NO_BEGINNING, Set};
use crate::vectors::Vectors;
use bits::{Bits, extend};
use reading::Characters;
use terms::{Eight, eights};

mod bits;
mod joint;
mod reading;
mod terms;

pub use joint::{Joint, JointScan, Matcher, Seen, Windows};

/// The number of words of 64 places in the largest window.
const WORDS: usize = 8;
pub const WINDOW: usize = 64 * WORDS;

/// A window seldom has more pieces: those for which there is no room are found a second time.
pub const USUAL_PIECES: usize = 3 * WINDOW / 8;

/// The atom before the first character of a window, the atoms of the window, and those after it, up
/// to a whole word.
pub const ATOMS_OF_WINDOW: usize = 64 + WINDOW + 64;

/// The maximum numbers of groups of eight terms, for ASCII and for any text: with more, the
/// automaton is as fast.
const MAX_PLAIN_EIGHTS: usize = 11;
const MAX_WIDE_EIGHTS: usize = 14;

/// The number of labels that have masks; all other characters have the usual label.
const MARKED: usize = Label::MARKED.len();

/// The maximum number of rounds in which labels are propagated within a window; characters that
/// still change are then unsure.
const MAX_ROUNDS: usize = 12;

/// Small tables are faster on some machines.
const FEW_ATOMS: usize = 16;

/// The capacity for relations: enough for all rules, and a power of two, so that the compiler can
/// drop bounds checks.
const MAX_RELATIONS: usize = 32;

/// The rules of one pattern, for masks.
#[derive(Clone)]
pub struct MaskRules {
    /// The number of relations.
    relations: usize,
    /// The terms for windows of ASCII, and those for any text.
    plain: Vec<Eight>,
    wide: Vec<Eight>,
    /// Whether there are at most 16 atoms.
    has_few_atoms: bool,
    /// By fact: the relation without a condition; and those with one, each with the number of the
    /// mask that the character before must be in.
    always: [Option<usize>; Fact::COUNT],
    links: [Vec<(usize, usize)>; Fact::COUNT],
}

impl MaskRules {
    /// The masks for some rules, unless they need too many terms.
    pub fn new(rules: &LocalRules) -> Option<Self> {
        let mut relations = Vec::new();
        let mut always = [None; _];
        let mut links = [const { Vec::new() }; _];
        for (&(fact, condition), relation) in &rules.relations {
            if !relation.holds_anywhere() {
                continue;
            }
            let number = relations.len();
            match condition {
                ALWAYS => always[fact as usize] = Some(number),
                _ => links[fact as usize].push((number, condition)),
            }
            relations.push(relation);
        }
        let plain = eights(&relations, rules.atoms, rules.plain);
        let wide = eights(&relations, rules.atoms, Set::MAX);
        if plain.len() > MAX_PLAIN_EIGHTS || wide.len() > MAX_WIDE_EIGHTS {
            return None;
        }
        Some(Self {
            relations: relations.len(),
            plain,
            wide,
            has_few_atoms: usize::from(rules.atoms) <= FEW_ATOMS,
            always,
            links,
        })
    }

    /// Whether any relation is about this fact.
    fn has(&self, fact: Fact) -> bool {
        self.always[fact as usize].is_some() || !self.links[fact as usize].is_empty()
    }

    /// Whether a state may be open.
    fn opens(&self) -> bool {
        self.has(Fact::Opens) || self.has(Fact::OpensHere)
    }

    /// Where a fact holds without a condition.
    #[inline(always)]
    fn always<'r, const N: usize>(&self, relations: &'r Relations<N>, fact: Fact) -> &'r Bits<N> {
        relations.places(self.always[fact as usize])
    }

    /// Finds the places where each relation holds. What is behind each place is given: it may be
    /// the end of a piece.
    #[inline(always)]
    fn find_relations<const N: usize>(
        &self,
        vectors: impl Vectors,
        characters: &Characters<N>,
        behind: &[u8],
        relations: &mut Relations<N>,
        fulfilled: &mut [[u8; 64]; N],
    ) {
        relations.0[..self.relations].fill([0; N]);
        // Nearly all windows are full: for these, the compiler knows how many words there are.
        match characters.count.div_ceil(64) {
            words if words < N => {
                self.add_relations(vectors, characters, behind, relations, &mut fulfilled[..words]);
            }
            _ => self.add_relations(vectors, characters, behind, relations, fulfilled),
        }
    }

    /// The same in some words, where no relation holds so far.
    #[inline(always)]
    fn add_relations<const N: usize>(
        &self,
        vectors: impl Vectors,
        characters: &Characters<N>,
        behind: &[u8],
        relations: &mut Relations<N>,
        fulfilled: &mut [[u8; 64]],
    ) {
        let eights = if characters.wide { &self.wide } else { &self.plain };
        match self.has_few_atoms {
            true => {
                relations.find::<FEW_ATOMS>(vectors, eights, &characters.atoms, behind, fulfilled)
            }
            false => {
                relations.find::<MOST_ATOMS>(vectors, eights, &characters.atoms, behind, fulfilled)
            }
        }
    }

    /// Finds the labels of all characters, some of which are fixed: that of the first, and where
    /// pieces begin. Returns which are unsure, and where a state is open.
    #[inline(always)]
    fn label<const N: usize>(
        &self,
        vectors: impl Vectors,
        relations: &Relations<N>,
        labels: &mut Labels<N>,
        fixed: &[Bits<N>; MARKED],
    ) -> [Bits<N>; 2] {
        let mut always = Fact::MARKED.map(|fact| *self.always(relations, fact));
        for (places, fixed) in always.iter_mut().zip(fixed) {
            vectors.join(places, fixed, fixed);
        }
        labels.at = always;
        labels.look_back(vectors);
        let mut changed = [0; N];
        for _ in 0..MAX_ROUNDS {
            let next = self.next_labels(vectors, &always, labels, relations);
            changed = labels.change_to(vectors, &next);
            if changed == [0; N] {
                break;
            }
        }
        let (mut unsure, mut open) = (changed, [0; N]);
        vectors.join(&mut unsure, self.always(relations, Fact::Unsure), &[!0; N]);
        labels.follow(vectors, &self.links[Fact::Unsure as usize], relations, &mut unsure);
        if self.opens() {
            vectors.join(&mut open, self.always(relations, Fact::OpensHere), &labels.at[0]);
            vectors.join(&mut open, self.always(relations, Fact::Opens), &[!0; N]);
            if open != [0; N] {
                open = extend(vectors, &open, self.always(relations, Fact::StaysOpen));
                let contradicted = self.always(relations, Fact::Contradicted);
                vectors.join(&mut unsure, contradicted, &vectors.up(&open));
            }
        }
        vectors.take_away(&mut unsure, &fixed[0]);
        [unsure, open]
    }

    /// Returns the masks of labels, by the labels of the characters before.
    #[inline(always)]
    fn next_labels<const N: usize>(
        &self,
        vectors: impl Vectors,
        always: &[Bits<N>; MARKED],
        labels: &Labels<N>,
        relations: &Relations<N>,
    ) -> [Bits<N>; MARKED] {
        let mut next = *always;
        for (fact, places) in Fact::MARKED.into_iter().zip(&mut next) {
            labels.follow(vectors, &self.links[fact as usize], relations, places);
        }
        // After an unsure place, rules may give a character two labels. A beginning takes
        // precedence, because it is right if the automaton confirms it.
        let [begins, first, second] = &mut next;
        for (special, stays) in [(first, Fact::StaysFirst), (second, Fact::StaysSecond)] {
            if *special == [0; N] {
                continue;
            }
            vectors.take_away(special, begins);
            if self.has(stays) {
                let mut through = *self.always(relations, stays);
                vectors.take_away(&mut through, begins);
                *special = extend(vectors, special, &through);
            }
        }
        next
    }
}

/// The places of each relation in a window.
#[repr(align(64))]
struct Relations<const N: usize>([Bits<N>; MAX_RELATIONS]);

impl<const N: usize> Relations<N> {
    /// Finds the places of all relations among words of atoms.
    #[inline(always)]
    fn find<const ATOMS: usize>(
        &mut self,
        vectors: impl Vectors,
        eights: &[Eight],
        atoms: &[u8],
        behind: &[u8],
        fulfilled: &mut [[u8; 64]],
    ) {
        for eight in eights {
            let anywhere = eight.fulfilled::<ATOMS>(vectors, atoms, behind, fulfilled);
            for &(relation, terms) in &eight.uses {
                let places = &mut self.0[relation % MAX_RELATIONS];
                // Most relations hold nowhere in most windows; in a short one, to ask takes longer.
                if N <= 2 || anywhere & terms != 0 {
                    for (places, fulfilled) in places.iter_mut().zip(&*fulfilled) {
                        *places |= vectors
                            .non_zero(vectors.and(vectors.load(fulfilled), vectors.splat(terms)));
                    }
                }
            }
        }
    }

    /// The places of a relation; none if there is no such relation.
    #[inline(always)]
    fn places(&self, relation: Option<usize>) -> &Bits<N> {
        relation.map_or(const { &[0; N] }, |relation| &self.0[relation % MAX_RELATIONS])
    }
}

/// The labels of characters: a mask for each label but the usual one.
#[repr(C, align(64))]
struct Labels<const N: usize> {
    at: [Bits<N>; MARKED],
    /// For each character, masks for the label of the character before, and for no piece beginning
    /// there.
    before: [Bits<N>; 1 + NO_BEGINNING],
    /// Whether there is any label that is neither usual nor a beginning.
    special: bool,
}

impl<const N: usize> Labels<N> {
    /// Makes the masks for the character before.
    #[inline(always)]
    fn look_back(&mut self, vectors: impl Vectors) {
        let [begins, usual, first, second, no_beginning] = &mut self.before;
        self.special = self.at[1] != [0; N] || self.at[2] != [0; N];
        *begins = vectors.up(&self.at[0]);
        *no_beginning = [!0; N];
        vectors.take_away(no_beginning, begins);
        *usual = *no_beginning;
        if self.special {
            (*first, *second) = (vectors.up(&self.at[1]), vectors.up(&self.at[2]));
            vectors.take_away(usual, first);
            vectors.take_away(usual, second);
        }
    }

    /// Takes other masks for labels; returns the characters whose labels change.
    #[inline(always)]
    fn change_to(&mut self, vectors: impl Vectors, at: &[Bits<N>; MARKED]) -> Bits<N> {
        let mut changed = [0; N];
        for (before, after) in self.at.iter().zip(at) {
            vectors.join_changes(&mut changed, before, after);
        }
        if changed != [0; N] {
            self.at = *at;
            self.look_back(vectors);
        }
        changed
    }

    /// Adds the places where a link's relation holds behind a character that has the label which it
    /// asks for.
    #[inline(always)]
    fn follow(
        &self,
        vectors: impl Vectors,
        links: &[(usize, usize)],
        relations: &Relations<N>,
        places: &mut Bits<N>,
    ) {
        for &(relation, before) in links {
            let is_special = before == Label::First as usize || before == Label::Second as usize;
            if self.special || !is_special {
                vectors.join(places, relations.places(Some(relation)), &self.before[before]);
            }
        }
    }
}
