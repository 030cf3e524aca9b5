//! Relations as terms.
//!
//! A relation of three atoms is written as a few terms, each three sets of atoms: for the character
//! before, at and after a place. Eight terms share three small tables, one bit each, so that three
//! lookups and an AND evaluate them for 64 characters at once.

use std::cmp::Reverse;

use crate::pretokenize::alphabet::MOST_ATOMS;
use crate::pretokenize::local::{Relation, Set};
use crate::vectors::Vectors;

/// Three sets of atoms: for the character before, at and after a place.
#[derive(Clone, Copy)]
struct Term {
    before: Set,
    at: Set,
    behind: Set,
}

/// Up to eight terms, one bit each, and the relations that they are for. Three neighbouring atoms
/// fulfil a term if the entries of all three have its bit.
#[derive(Clone, Default)]
pub struct Eight {
    /// For each atom, the terms that allow it before, at and after the place.
    pub tables: [[u8; MOST_ATOMS]; 3],
    count: usize,
    /// Relations, and the terms of each: it holds where one of these is fulfilled, too.
    pub uses: Vec<(usize, u8)>,
}

/// Returns the terms of all relations, eight by eight. Those of one relation are together as far as
/// they can be. The terms are right among some atoms only.
pub fn eights(relations: &[&Relation], atoms: u8, among: Set) -> Vec<Eight> {
    let mut parts: Vec<(usize, Vec<Term>)> = Vec::new();
    for (number, relation) in relations.iter().enumerate() {
        for part in terms(&relation.among(among), atoms).chunks(8) {
            parts.push((number, part.to_vec()));
        }
    }
    // The largest first: the small ones then fill what room there is.
    parts.sort_by_key(|(_, terms)| Reverse(terms.len()));
    let mut eights: Vec<Eight> = Vec::new();
    for (relation, terms) in &parts {
        let has_room = |eight: &&mut Eight| eight.count + terms.len() <= 8;
        match eights.iter_mut().find(has_room) {
            Some(eight) => eight.add(*relation, terms),
            None => {
                let mut eight = Eight::default();
                eight.add(*relation, terms);
                eights.push(eight);
            }
        }
    }
    eights
}

impl Eight {
    fn add(&mut self, relation: usize, terms: &[Term]) {
        let mut bits = 0;
        for term in terms {
            for (table, set) in self.tables.iter_mut().zip([term.before, term.at, term.behind]) {
                for (atom, entry) in table.iter_mut().enumerate() {
                    *entry |= ((set >> atom & 1) as u8) << self.count;
                }
            }
            bits |= 1 << self.count;
            self.count += 1;
        }
        self.uses.push((relation, bits));
    }

    /// Finds which terms are fulfilled at the places of some words, and returns those that are
    /// fulfilled anywhere. The atom at the first place is the second one; what is behind each place
    /// is given, as it may be the end of a piece. Only the first `ATOMS` entries of the tables are
    /// used.
    #[inline(always)]
    pub fn fulfilled<const ATOMS: usize>(
        &self,
        vectors: impl Vectors,
        atoms: &[u8],
        behind: &[u8],
        fulfilled: &mut [[u8; 64]],
    ) -> u8 {
        let [before_table, at_table, behind_table] =
            self.tables.each_ref().map(|table| table.as_chunks::<ATOMS>().0[0]);
        let before = atoms.as_chunks().0.iter();
        let at = atoms.get(1..).unwrap_or(&[]).as_chunks().0.iter();
        let places = before.zip(at).zip(behind.as_chunks().0);
        let mut anywhere = vectors.splat(0);
        for (fulfilled, ((before, at), behind)) in fulfilled.iter_mut().zip(places) {
            let before = vectors.look_up(&before_table, vectors.load(before));
            let at = vectors.look_up(&at_table, vectors.load(at));
            let behind = vectors.look_up(&behind_table, vectors.load(behind));
            let all = vectors.and(vectors.and(before, at), behind);
            anywhere = vectors.or(anywhere, all);
            vectors.store(all, fulfilled);
        }
        let mut bytes = [0; 64];
        vectors.store(anywhere, &mut bytes);
        let words = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
        words
            .fold(0, |all, word| all | word)
            .to_le_bytes()
            .into_iter()
            .fold(0, |all, byte| all | byte)
    }
}

/// Covers a relation by terms, greedily: each new term starts from a triple that is not covered
/// yet, is widened as far as the relation allows, and the widest of four candidates is taken.
fn terms(relation: &Relation, atoms: u8) -> Vec<Term> {
    // For each pair, the atoms behind it that no term covers yet.
    let mut uncovered: Vec<(u8, u8, Set)> = Vec::new();
    for before in 0..atoms {
        for at in 0..atoms {
            uncovered.push((before, at, relation.holds(before, at)));
        }
    }
    let mut terms = Vec::new();
    loop {
        uncovered.retain(|(.., behind)| *behind != 0);
        let Some(&(before, at, behind)) = uncovered.first() else { return terms };
        let newly_covered = |term: &Term| -> u32 {
            let mut count = 0;
            for &(before, at, behind) in &uncovered {
                if term.has_pair(before, at) {
                    count += (behind & term.behind).count_ones();
                }
            }
            count
        };
        let narrow = Term { before: 1 << before, at: 1 << at, behind };
        let wide = Term { behind: first_atoms(atoms) & !relation.fails(before, at), ..narrow };
        let candidates = [
            narrow.widened(relation, atoms, [Side::Before, Side::At]),
            narrow.widened(relation, atoms, [Side::At, Side::Before]),
            wide.widened(relation, atoms, [Side::Before, Side::At]),
            wide.widened(relation, atoms, [Side::At, Side::Before]),
        ];
        let Some(widest) = candidates.into_iter().max_by_key(newly_covered) else { return terms };
        for (before, at, behind) in &mut uncovered {
            if widest.has_pair(*before, *at) {
                *behind &= !widest.behind;
            }
        }
        terms.push(widest);
    }
}

/// Returns the set of so many atoms.
fn first_atoms(atoms: u8) -> Set {
    Set::MAX >> (MOST_ATOMS - usize::from(atoms))
}

/// A set of a term that is widened.
#[derive(Clone, Copy)]
enum Side {
    Before,
    At,
}

impl Term {
    fn has_pair(&self, before: u8, at: u8) -> bool {
        self.before >> before & self.at >> at & 1 != 0
    }

    /// Returns the term with as many further atoms before, at (in this order) and after as the
    /// relation allows.
    fn widened(mut self, relation: &Relation, atoms: u8, order: [Side; 2]) -> Self {
        let members = move |set: Set| (0..atoms).filter(move |atom| set >> atom & 1 != 0);
        for side in order {
            for atom in 0..atoms {
                let fits = |before: u8, at: u8| relation.fails(before, at) & self.behind == 0;
                match side {
                    Side::Before if members(self.at).all(|at| fits(atom, at)) => {
                        self.before |= 1 << atom
                    }
                    Side::At if members(self.before).all(|before| fits(before, atom)) => {
                        self.at |= 1 << atom
                    }
                    _ => {}
                }
            }
        }
        let mut fails = 0;
        for before in members(self.before) {
            for at in members(self.at) {
                fails |= relation.fails(before, at);
            }
        }
        self.behind |= first_atoms(atoms) & !fails;
        self
    }
}
