//! Relations as terms.
//!
//! A relation of three atoms is written as a few terms, each three sets of atoms: for the character before, at and after a
//! place. Eight terms share three small tables, one bit each, so that three lookups and an AND evaluate them for 64
//! characters at once.

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

/// Up to eight terms, one bit each, and the relations that they are for. Three neighbouring atoms fulfil a term if the entries
/// of all three have its bit.
#[derive(Clone, Default)]
pub struct Eight {
    /// For each atom, the terms that allow it before, at and after the place.
    pub tables: [[u8; MOST_ATOMS]; 3],
    count: usize,
    /// Relations, and the terms of each: it holds where one of these is fulfilled, too.
    pub uses: Vec<(usize, u8)>,
}

/// The terms of all relations, eight by eight, so that those of one relation stand together as far as they can.
/// What they tell is right among some atoms only.
pub fn eights(relations: &[&Relation], atoms: u8, among: Set) -> Vec<Eight> {
    let mut parts: Vec<(usize, Vec<Term>)> = Vec::new();
    for (number, relation) in relations.iter().enumerate() {
        let terms = terms(&relation.among(among), atoms);
        parts.extend(terms.chunks(8).map(|part| (number, part.to_vec())));
    }
    parts.sort_by_key(|(_, terms)| Reverse(terms.len()));
    let mut eights: Vec<Eight> = Vec::new();
    for (relation, terms) in &parts {
        let place = eights.iter().position(|eight| eight.count + terms.len() <= 8);
        let place = place.unwrap_or_else(|| {
            eights.push(Eight::default());
            eights.len() - 1
        });
        eights[place].add(*relation, terms);
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

    /// Find which terms are fulfilled at the places of some words, and return those that are fulfilled anywhere. The atom at
    /// the first place is the second one; what is behind each place is given, as it may be the end of a piece. Only the first
    /// `ATOMS` entries of the tables are used.
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
        words.fold(0, |all, word| all | word).to_le_bytes().into_iter().fold(0, |all, byte| all | byte)
    }
}

/// Terms that together cover a relation. A greedy cover: each new term starts from a triple that is not covered yet, is
/// widened as far as the relation allows, and the widest of four candidates is taken.
fn terms(relation: &Relation, atoms: u8) -> Vec<Term> {
    let mut left: Vec<(u8, u8, Set)> = Vec::new();
    for before in 0..atoms {
        left.extend((0..atoms).map(|at| (before, at, relation.holds(before, at))));
    }
    let mut terms = Vec::new();
    loop {
        left.retain(|(.., behind)| *behind != 0);
        let Some(&(before, at, behind)) = left.first() else { return terms };
        let covered = |term: &Term| -> u32 {
            let within = |(before, at, _): &&(u8, u8, Set)| term.before >> before & term.at >> at & 1 != 0;
            left.iter().filter(within).map(|(.., behind)| (behind & term.behind).count_ones()).sum()
        };
        let all = Set::MAX >> (MOST_ATOMS - usize::from(atoms));
        let allowed = all & !relation.fails(before, at);
        let narrow = Term { before: 1 << before, at: 1 << at, behind };
        let wide = Term { behind: allowed, ..narrow };
        let ways = [(narrow, true), (narrow, false), (wide, true), (wide, false)];
        let ways = ways.map(|(term, before_first)| term.widened(relation, atoms, before_first));
        let Some(best) = ways.into_iter().max_by_key(covered) else { return terms };
        for (before, at, behind) in &mut left {
            if best.before >> *before & best.at >> *at & 1 != 0 {
                *behind &= !best.behind;
            }
        }
        terms.push(best);
    }
}

impl Term {
    /// The term with as many further atoms before, at and after as the relation allows.
    fn widened(mut self, relation: &Relation, atoms: u8, before_first: bool) -> Self {
        let members = move |set: Set| (0..atoms).filter(move |atom| set >> atom & 1 != 0);
        for before_now in [before_first, !before_first] {
            for atom in 0..atoms {
                let fits = if before_now {
                    members(self.at).all(|at| relation.fails(atom, at) & self.behind == 0)
                } else {
                    members(self.before).all(|before| relation.fails(before, atom) & self.behind == 0)
                };
                let widened = if before_now { &mut self.before } else { &mut self.at };
                *widened |= Set::from(fits) << atom;
            }
        }
        let fails = members(self.before)
            .flat_map(|before| members(self.at).map(move |at| relation.fails(before, at)))
            .fold(0, |all, fails| all | fails);
        self.behind |= Set::MAX >> (MOST_ATOMS - usize::from(atoms)) & !fails;
        self
    }
}
