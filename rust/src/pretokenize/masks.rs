//! Finds the starts of pieces with bit masks, hundreds of bytes at a time.
//!
//! A relation of three atoms is written as a few *terms*. A term is three sets of atoms: for the character before, at and
//! after a place. Eight terms share three small tables, one bit each, so that three lookups and an AND evaluate them for
//! 64 characters at once.
//!
//! Rules depend on the label of the character before. Therefore labels are propagated from each character to the next,
//! for all characters of a window at once, until nothing changes; two or three rounds are nearly always enough. Since the
//! label of the first character is known, all labels are then correct.
//!
//! Most labels are rare, and most relations hold nowhere in most windows: both are then left out.
//!
//! Where the rules are unsure, the automaton runs from the last certain start of a piece until it finds a start that the
//! masks found, too; from there on the masks are right again.
//!
//! A window begins at the start of a piece, so the text before it does not matter. Pieces at its end that are not certain
//! yet are found again in the next window.

use std::cmp::Reverse;

use super::automaton::{Automaton, PartialMatch};
use super::compiled::{Compiled, Run};
use super::local::{
    BEGINS, GAP, If, LABELS, LabelRule, LocalRules, MOST_ATOMS, OPEN, Relation, SPECIAL, Set, TARGETS, UNSURE,
};
use super::vectors::{ATOMS, Fulfilled, Instructions, Portable, Terms, Vectors, WORDS};
use super::{BATCH, Batch};
use crate::error::Result;
use crate::watch::Pulse;

mod joint;
mod reading;

pub use joint::{Joint, JointScan, Needs};
use reading::{Characters, Reader};

const WINDOW: usize = 64 * WORDS;

/// A window seldom has more pieces: those for which there is no room are found a second time.
pub const USUAL_PIECES: usize = 3 * WINDOW / 8;

/// The atom before the first character of a window, the atoms of the window, and those after it, up to a whole word.
pub const ATOMS_OF_WINDOW: usize = 64 + WINDOW + 64;

/// The maximum numbers of groups of eight terms, for ASCII and for any text: with more, the automaton is as fast.
const MAX_PLAIN_EIGHTS: usize = 11;
const MAX_WIDE_EIGHTS: usize = 14;

/// Up to so many bytes that are left of a text are scanned in windows of two words or one: a whole window takes as long for a
/// few bytes as for many.
const SHORT_REST: usize = 128;

/// A bit for every character of a window of `N` words.
type Bits<const N: usize> = [u64; N];

/// A bit for every byte of the characters of a window.
type BytesBits<const N: usize> = [Bits<N>; 2];

/// The labels that have masks; all other characters have the usual label.
const LABELLED: [usize; 3] = [BEGINS, SPECIAL[0], SPECIAL[1]];

/// The maximum number of rounds in which labels are propagated within a window; characters that still change are then
/// unsure.
const MAX_ROUNDS: usize = 12;

/// The capacity for relations: enough for all rules, and a power of two, so that the compiler can drop bounds checks.
const MAX_RELATIONS: usize = 32;

/// Finds the starts of pieces by masks.
#[derive(Clone)]
pub struct MaskScanner {
    instructions: Instructions,
    /// Whether the pattern matches all text.
    covers: bool,
    /// The relation for characters with which a gap begins, if a piece begins there.
    gaps: Option<usize>,
    /// The terms for windows of ASCII, and those for any text.
    plain: Vec<Eight>,
    wide: Vec<Eight>,
    /// For each target, the relation of its rule without a condition.
    always: [Option<usize>; TARGETS],
    /// For each label, the rules that depend on the label of the character before.
    propagated: [Vec<Link>; LABELLED.len()],
    /// For each special label, the relation under which the next character has the same label.
    stays: [Option<usize>; SPECIAL.len()],
    /// The rules with conditions for unsure places.
    unsure: Vec<Link>,
    /// The relations for a state that becomes open where a piece begins, that stays open, and that reaches a match.
    opens_here: Option<usize>,
    stays_open: Option<usize>,
    contradicts: Option<usize>,
    /// Whether a state may be open.
    opens: bool,
}

/// A rule with a condition: its relation, and the mask that the character before must be in.
#[derive(Clone, Copy)]
struct Link {
    relation: usize,
    before: usize,
}

/// The index of the mask of characters at which no piece begins; it follows the masks of the labels.
const NO_BEGINNING: usize = LABELS;

/// Up to eight terms, and the relations that they are for.
#[derive(Clone)]
struct Eight {
    terms: Terms,
    count: usize,
    uses: Vec<Use>,
}

/// A relation holds where one of these terms is fulfilled, too.
#[derive(Clone, Copy)]
struct Use {
    relation: usize,
    terms: u8,
    /// Whether no terms before are for the same relation.
    is_first: bool,
}

impl MaskScanner {
    /// The scanner for some rules, unless they need too many terms.
    pub fn new(rules: &LocalRules) -> Option<Self> {
        let find = |target, condition| {
            rules.rules.iter().position(|rule| (rule.target, rule.condition) == (target, condition))
        };
        let links = |target: usize| -> Vec<Link> {
            let link = |(relation, rule): (usize, &LabelRule)| {
                let before = match rule.condition {
                    If::With(label) if label < LABELS => label,
                    If::WithoutBeginning => NO_BEGINNING,
                    If::With(_) | If::Always | If::Here => return None,
                };
                let stays = rule.condition == If::With(target) && target != BEGINS;
                (rule.target == target && !stays).then_some(Link { relation, before })
            };
            rules.rules.iter().enumerate().filter_map(link).collect()
        };
        let scanner = Self {
            instructions: Instructions::this(),
            covers: rules.covers,
            gaps: find(GAP, If::Always),
            plain: eights(rules, rules.plain),
            wide: eights(rules, Set::MAX),
            always: std::array::from_fn(|target| find(target, If::Always)),
            propagated: LABELLED.map(links),
            stays: SPECIAL.map(|label| find(label, If::With(label))),
            unsure: links(UNSURE),
            opens_here: find(OPEN, If::Here),
            stays_open: find(OPEN, If::With(OPEN)),
            contradicts: find(UNSURE, If::With(OPEN)),
            opens: rules.rules.iter().any(|rule| rule.target == OPEN),
        };
        let is_fast = scanner.plain.len() <= MAX_PLAIN_EIGHTS && scanner.wide.len() <= MAX_WIDE_EIGHTS;
        is_fast.then_some(scanner)
    }

    /// Use other instructions, which this machine must support.
    #[cfg(test)]
    pub fn on(mut self, instructions: Instructions) -> Self {
        self.instructions = instructions;
        self
    }

    /// Add the pieces from `start` on to the batch, until it is nearly full or the text ends.
    #[allow(clippy::too_many_arguments)]
    pub fn fill(
        &self,
        compiled: &Compiled,
        automaton: &Automaton,
        text: &str,
        start: usize,
        batch: &mut Batch,
        run: &mut Run,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let input = ScanInput { scanner: self, compiled, automaton, text };
        let mut job = Filling { input, start, batch, run, pulse };
        while job.start < text.len() && job.batch.room() >= USUAL_PIECES {
            run_in_windows(self.instructions, text.len() - job.start, &mut job)?;
        }
        Ok(())
    }
}

/// Work that is done in windows of `N` words with the instructions of `V`.
trait WindowJob {
    /// In windows of most words, a short rest is left.
    ///
    /// # Safety
    /// The machine must have the instructions of `V`.
    unsafe fn run<V: Vectors, const N: usize>(&mut self) -> Result<()>;
}

/// Run a job in windows of the size that is best for so many bytes.
fn run_in_windows(instructions: Instructions, bytes: usize, job: &mut impl WindowJob) -> Result<()> {
    match bytes {
        ..=64 => run_in::<1>(instructions, job),
        65..=SHORT_REST => run_in::<2>(instructions, job),
        _ => run_in::<WORDS>(instructions, job),
    }
}

fn run_in<const N: usize>(instructions: Instructions, job: &mut impl WindowJob) -> Result<()> {
    match instructions {
        Instructions::Portable => run_portable::<N>(job),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: this machine was found to have the instructions.
        Instructions::Avx2 => unsafe { run_avx2::<N>(job) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: this machine was found to have the instructions.
        Instructions::Avx512 => unsafe { run_avx512::<N>(job) },
        #[cfg(target_arch = "aarch64")]
        Instructions::Neon => run_neon::<N>(job),
    }
}

// Functions of their own for each size of window: together they would need too much of a small stack.

#[inline(never)]
fn run_portable<const N: usize>(job: &mut impl WindowJob) -> Result<()> {
    // SAFETY: the portable way needs no special instructions.
    unsafe { job.run::<Portable, N>() }
}

#[cfg(target_arch = "aarch64")]
#[inline(never)]
fn run_neon<const N: usize>(job: &mut impl WindowJob) -> Result<()> {
    // SAFETY: every aarch64 machine has NEON.
    unsafe { job.run::<super::vectors::Neon, N>() }
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run_avx512<const N: usize>(job: &mut impl WindowJob) -> Result<()> {
    // SAFETY: this function is only entered where there are the instructions that it enables.
    unsafe { job.run::<super::vectors::Avx512, N>() }
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run_avx2<const N: usize>(job: &mut impl WindowJob) -> Result<()> {
    // SAFETY: this function is only entered where there are the instructions that it enables.
    unsafe { job.run::<super::vectors::Avx2, N>() }
}

/// Three sets of atoms: for the character before, at and after a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Term {
    before: Set,
    at: Set,
    behind: Set,
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
            let within = |before: u8, at: u8| term.before >> before & term.at >> at & 1 != 0;
            let counts =
                left.iter().map(
                    |&(before, at, behind)| {
                        if within(before, at) { (behind & term.behind).count_ones() } else { 0 }
                    },
                );
            counts.sum()
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

/// The terms of all relations, eight by eight, so that those of one relation stand together as far as they can.
/// What they tell is right among some atoms only.
fn eights(rules: &LocalRules, among: Set) -> Vec<Eight> {
    let relations = rules.rules.iter().map(|rule| terms(&rule.relation.among(among), rules.atoms));
    let mut parts: Vec<(usize, Vec<Term>)> = Vec::new();
    for (relation, terms) in relations.enumerate() {
        // A relation that holds nowhere has one part, too, so that its places are written.
        parts.extend(terms.chunks(8).map(|part| (relation, part.to_vec())));
        parts.extend(terms.is_empty().then_some((relation, terms)));
    }
    parts.sort_by_key(|(_, terms)| Reverse(terms.len()));
    let mut eights: Vec<Eight> = Vec::new();
    for (relation, terms) in &parts {
        let place = eights.iter().position(|eight| eight.count + terms.len() <= 8);
        let place = place.unwrap_or_else(|| {
            eights.push(Eight::new(rules.atoms));
            eights.len() - 1
        });
        eights[place].add(*relation, terms);
    }
    let mut seen = vec![false; rules.rules.len()];
    for part in eights.iter_mut().flat_map(|eight| &mut eight.uses) {
        part.is_first = !std::mem::replace(&mut seen[part.relation], true);
    }
    eights
}

impl Eight {
    fn new(atoms: u8) -> Self {
        let terms = Terms { few_atoms: atoms <= 16, ..Terms::default() };
        Self { terms, count: 0, uses: Vec::new() }
    }

    fn add(&mut self, relation: usize, terms: &[Term]) {
        let mut bits = 0;
        for term in terms {
            for atom in 0..ATOMS {
                let bit_if = |set: Set| ((set >> atom & 1) as u8) << self.count;
                self.terms.before[atom] |= bit_if(term.before);
                self.terms.at[atom] |= bit_if(term.at);
                self.terms.behind[atom] |= bit_if(term.behind);
            }
            bits |= 1 << self.count;
            self.count += 1;
        }
        self.uses.push(Use { relation, terms: bits, is_first: false });
    }
}

/// A text with its scanner and automaton.
#[derive(Clone, Copy)]
struct ScanInput<'a> {
    scanner: &'a MaskScanner,
    compiled: &'a Compiled,
    automaton: &'a Automaton,
    text: &'a str,
}

/// All that is found out about a window. One value serves all windows of a call: what is of no use to the next one stays.
///
/// Masks are aligned to cache lines, so that no load or store of 64 bytes touches two.
#[repr(C, align(64))]
struct ScanWindow<const N: usize> {
    relations: Relations<N>,
    labels: Labelled<N>,
    fulfilled: [[u8; 64]; N],
    characters: Characters<N>,
}

impl<const N: usize> ScanWindow<N> {
    fn new() -> Self {
        Self {
            relations: Relations([[0; N]; MAX_RELATIONS]),
            labels: Labelled { at: [[0; N]; LABELLED.len()], before: [[0; N]; 1 + LABELS], special: false },
            fulfilled: [[0; 64]; N],
            characters: Characters::new(),
        }
    }
}

/// The result of the masks for the characters of a window.
struct WindowBits<const N: usize> {
    begins: Bits<N>,
    unsure: Bits<N>,
    open: Bits<N>,
    /// Where a gap begins if a piece does.
    gaps: Bits<N>,
}

/// Where the automaton's run has left a window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeftAt {
    /// Within a piece that begins here.
    Piece(usize),
    /// At a place where no match begins.
    Gap(usize),
}

/// Fills a batch with the pieces of a text from `start` on.
struct Filling<'a, 'b, 'p> {
    input: ScanInput<'a>,
    start: usize,
    batch: &'b mut Batch,
    run: &'b mut Run,
    pulse: &'b mut Pulse<'p>,
}

impl WindowJob for Filling<'_, '_, '_> {
    #[inline(always)]
    unsafe fn run<V: Vectors, const N: usize>(&mut self) -> Result<()> {
        let left = if N == WORDS { SHORT_REST } else { 0 };
        let mut window = ScanWindow::new();
        let (input, mut start, batch) = (self.input, self.start, &mut *self.batch);
        while input.text.len() - start > left && batch.room() >= USUAL_PIECES {
            // SAFETY: the caller vouches for the instructions of `V`.
            start = unsafe { input.scan_window::<V, N>(start, &mut window, batch, self.run, self.pulse)? };
        }
        self.start = start;
        Ok(())
    }
}

impl ScanInput<'_> {
    /// Add the certain pieces of a window of `N` words that begins at the start of a piece; return the start of the next piece.
    ///
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn scan_window<V: Vectors, const N: usize>(
        self,
        base: usize,
        window: &mut ScanWindow<N>,
        batch: &mut Batch,
        run: &mut Run,
        pulse: &mut Pulse,
    ) -> Result<usize> {
        #[cfg(test)]
        super::tests::count_steps(64 * N);
        // SAFETY: the caller vouches for the instructions of `V`.
        unsafe { self.reader().read::<V, N>(base, &mut window.characters) };
        // SAFETY: the caller vouches for the instructions of `V`.
        let mut labels = unsafe { self.look::<V, N>(window) };
        let characters = &window.characters;
        let ends = characters.ends;
        // The character after the window is not known, unless the text ends there.
        let limit = if ends { characters.count } else { characters.count - 1 };
        let left = if labels.unsure == [0; N] {
            None
        } else {
            self.settle(&characters.atoms, limit, ends, &mut labels)
        };
        let last = match left {
            Some(LeftAt::Piece(start) | LeftAt::Gap(start)) => start + 1,
            None if ends => limit,
            // Results after the last place that is not open may still change.
            None if self.scanner.opens => last_not_in(&labels.open, limit).map_or(0, |place| place + 1),
            None => limit,
        };
        clear_from(&mut labels.begins, last);
        labels.begins[0] &= !1;
        if !self.scanner.covers {
            mark_gaps(&labels, batch);
        }
        // SAFETY: the caller vouches for the instructions of `V`.
        let (end, had_room) = unsafe {
            if characters.wide {
                let begins = at_bytes::<V, N>(&labels.begins, &characters.leads);
                push_starts::<V>(base, begins.as_flattened(), batch)
            } else {
                push_starts::<V>(base, &labels.begins, batch)
            }
        };
        match left {
            _ if !had_room || batch.room() == 0 => Ok(end),
            Some(LeftAt::Gap(_)) => self.compiled.fill_one(self.text, end, batch, run, pulse),
            None if ends && self.scanner.covers => Ok(batch.push_to(self.text.len())),
            // One piece fills the window, or its end depends on the text after it.
            _ if ends || end == base => self.compiled.fill_one(self.text, end, batch, run, pulse),
            _ => Ok(end),
        }
    }

    /// Run the automaton where the masks are unsure, and correct their result; returns where the run has left the window,
    /// if it has.
    #[inline(never)]
    fn settle<const N: usize>(
        self,
        atoms: &[u8; ATOMS_OF_WINDOW],
        limit: usize,
        ends: bool,
        labels: &mut WindowBits<N>,
    ) -> Option<LeftAt> {
        // The atom after the last character is known, too.
        let atoms = &atoms[1..limit + 2];
        let mut settled = 0;
        while let Some(unsure) = first_from(&labels.unsure, settled + 1).filter(|place| *place < limit) {
            let sure = last_not_in(&labels.open, unsure).unwrap_or(0).max(settled);
            let mut start = last_in(&labels.begins, sure + 1).unwrap_or(0).max(settled);
            loop {
                let end = match self.automaton.match_within(atoms[start..].iter().copied()) {
                    PartialMatch::Nothing => {
                        let Some(end) = self.gap_end(&atoms[..=limit], start) else {
                            return Some(LeftAt::Gap(start));
                        };
                        labels.gaps[start / 64] |= 1 << (start % 64);
                        end
                    }
                    PartialMatch::GoesOn => return Some(LeftAt::Piece(start)),
                    PartialMatch::End(length) => start + length,
                };
                let known = end < limit && is_in(&labels.begins, end) && !is_in(&labels.unsure, end);
                clear_between(&mut labels.begins, start, end.min(limit));
                if end >= limit {
                    return (!ends).then_some(LeftAt::Piece(start));
                }
                labels.begins[end / 64] |= 1 << (end % 64);
                start = end;
                if end > unsure && known {
                    break;
                }
            }
            settled = start;
        }
        None
    }

    /// The end of the gap that begins at `start`, if a match certainly begins in the window.
    fn gap_end(self, atoms: &[u8], start: usize) -> Option<usize> {
        let mut places = (start + 1..atoms.len() - 1)
            .map(|end| (end, self.automaton.match_within(atoms[end..].iter().copied())));
        match places.find(|(_, found)| *found != PartialMatch::Nothing)? {
            (end, PartialMatch::End(_)) => Some(end),
            _ => None,
        }
    }

    /// Evaluate the rules for a window.
    ///
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn look<V: Vectors, const N: usize>(self, window: &mut ScanWindow<N>) -> WindowBits<N> {
        let ScanWindow { relations, labels, fulfilled, characters } = window;
        // A piece begins at the first character of a window.
        let mut first = [[0; N]; LABELLED.len()];
        first[BEGINS][0] = 1;
        // SAFETY: the caller vouches for the instructions of `V`.
        unsafe {
            self.scanner.find_relations::<V, N>(characters, &characters.atoms[2..], relations, fulfilled);
            self.scanner.label::<V, N>(relations, labels, &first)
        }
    }

    #[inline(always)]
    fn reader(&self) -> Reader<'_> {
        let Self { automaton, text, .. } = self;
        let tells_final_line_feed = automaton.tells_final_line_feed();
        Reader { text: text.as_bytes(), alphabet: &automaton.alphabet, tells_final_line_feed }
    }
}

/// Add the pieces that end where the next ones begin, as far as there is room; returns the last place where one begins,
/// and whether there was room for all.
///
/// # Safety
/// The machine must have the instructions of `V`.
#[inline(always)]
unsafe fn push_starts<V: Vectors>(base: usize, begins: &[u64], batch: &mut Batch) -> (usize, bool) {
    let mut end = base;
    for (word, &bits) in begins.iter().enumerate() {
        if bits != 0 {
            if batch.room() < 64 {
                return (end, false);
            }
            batch.push_many(bits.count_ones() as usize, |ends| {
                // SAFETY: the caller vouches for the instructions of `V`.
                unsafe { V::positions(base + 64 * word, bits, ends) }
            });
            end = base + 64 * word + 63 - bits.leading_zeros() as usize;
        }
    }
    (end, true)
}

/// Mark the gaps among the pieces that are to be added: each ends where the next one begins.
fn mark_gaps<const N: usize>(labels: &WindowBits<N>, batch: &mut Batch) {
    let added: usize = labels.begins.iter().map(|bits| bits.count_ones() as usize).sum();
    let first = batch.ends().len();
    // The number of pieces that end up to the current word.
    let mut ended = 0;
    for (word, (&begins, &gaps)) in labels.begins.iter().zip(&labels.gaps).enumerate() {
        // The first piece begins with the window.
        let begins_here = if word == 0 { begins | 1 } else { begins };
        for place in places_in(0, gaps & begins_here) {
            let piece = ended + (begins & !0 >> (63 - place)).count_ones() as usize;
            if piece < added && first + piece < BATCH {
                batch.mark_gap(first + piece);
            }
        }
        ended += begins.count_ones() as usize;
    }
}

impl MaskScanner {
    /// Find the places where each relation holds. What is behind each place is given: it may be the end of a piece.
    ///
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn find_relations<V: Vectors, const N: usize>(
        &self,
        characters: &Characters<N>,
        behind: &[u8],
        relations: &mut Relations<N>,
        fulfilled: &mut [[u8; 64]; N],
    ) {
        let eights = if characters.wide { &self.wide } else { &self.plain };
        match characters.count.div_ceil(64) {
            // SAFETY: the caller vouches for the instructions of `V`.
            words if words < N => unsafe {
                relations.find::<V>(eights, &characters.atoms, behind, &mut fulfilled[..words]);
            },
            // SAFETY: the caller vouches for the instructions of `V`.
            _ => unsafe { relations.find::<V>(eights, &characters.atoms, behind, fulfilled) },
        }
    }

    /// Find the labels of all characters, some of which are given: that of the first, and where pieces begin.
    ///
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn label<V: Vectors, const N: usize>(
        &self,
        relations: &Relations<N>,
        labels: &mut Labelled<N>,
        given: &[Bits<N>; LABELLED.len()],
    ) -> WindowBits<N> {
        let mut always = LABELLED.map(|label| *relations.places(self.always[label]));
        for (places, given) in always.iter_mut().zip(given) {
            // SAFETY: the caller vouches for the instructions of `V`.
            unsafe { add::<V, N>(places, given, given) };
        }
        // SAFETY: the caller vouches for the instructions of `V`.
        unsafe { labels.start_from::<V>(&always) };
        let mut changed = [0; N];
        for _ in 0..MAX_ROUNDS {
            // SAFETY: the caller vouches for the instructions of `V`.
            let next = unsafe { self.next_labels::<V, N>(&always, labels, relations) };
            // SAFETY: the caller vouches for the instructions of `V`.
            changed = unsafe { labels.change_to::<V>(&next) };
            if changed == [0; N] {
                break;
            }
        }
        let (mut unsure, mut open) = (changed, [0; N]);
        // SAFETY: the caller vouches for the instructions of `V`.
        unsafe {
            add::<V, N>(&mut unsure, relations.places(self.always[UNSURE]), &[!0; N]);
            unsure = labels.followed::<V>(&self.unsure, relations, unsure);
            if self.opens {
                add::<V, N>(&mut open, relations.places(self.opens_here), &labels.at[BEGINS]);
                add::<V, N>(&mut open, relations.places(self.always[OPEN]), &[!0; N]);
                if open != [0; N] {
                    open = run::<V, N>(&open, relations.places(self.stays_open));
                    let open_before = up::<V, N>(&open);
                    add::<V, N>(&mut unsure, relations.places(self.contradicts), &open_before);
                }
            }
            take_away::<V, N>(&mut unsure, &given[BEGINS]);
        }
        WindowBits { begins: labels.at[BEGINS], unsure, open, gaps: *relations.places(self.gaps) }
    }

    /// The masks of labels, given the labels of the characters before.
    ///
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn next_labels<V: Vectors, const N: usize>(
        &self,
        always: &[Bits<N>; LABELLED.len()],
        labels: &Labelled<N>,
        relations: &Relations<N>,
    ) -> [Bits<N>; LABELLED.len()] {
        let mut next = *always;
        // SAFETY: the caller vouches for the instructions of `V`.
        unsafe {
            for (links, places) in self.propagated.iter().zip(&mut next) {
                *places = labels.followed::<V>(links, relations, *places);
            }
            // After an unsure place, rules may give a character two labels. `BEGINS` takes precedence, because it is
            // right if the automaton confirms it.
            let [begins, first, second] = &mut next;
            for (special, stays) in [(first, self.stays[0]), (second, self.stays[1])] {
                if *special == [0; N] {
                    continue;
                }
                take_away::<V, N>(special, begins);
                if stays.is_some() {
                    let mut through = *relations.places(stays);
                    take_away::<V, N>(&mut through, begins);
                    *special = run::<V, N>(special, &through);
                }
            }
        }
        next
    }
}

/// The places of each relation in a window.
#[repr(align(64))]
struct Relations<const N: usize>([Bits<N>; MAX_RELATIONS]);

impl<const N: usize> Relations<N> {
    /// Find the places of all relations among words of atoms.
    ///
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn find<V: Vectors>(
        &mut self,
        eights: &[Eight],
        atoms: &[u8],
        behind: &[u8],
        fulfilled: &mut Fulfilled,
    ) {
        for eight in eights {
            // SAFETY: the caller vouches for the instructions of `V`.
            let anywhere = unsafe { V::fulfilled(atoms, behind, &eight.terms, fulfilled) };
            for &Use { relation, terms, is_first } in &eight.uses {
                let places = &mut self.0[relation % MAX_RELATIONS];
                if is_first {
                    *places = [0; N];
                }
                // Most relations hold nowhere in most windows; in a short one, to ask takes longer.
                if N <= 2 || anywhere & terms != 0 {
                    // SAFETY: the caller vouches for the instructions of `V`.
                    unsafe { V::places(fulfilled, terms, places) }
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
struct Labelled<const N: usize> {
    at: [Bits<N>; LABELLED.len()],
    /// For each character, masks for the label of the character before, and for no piece beginning there.
    before: [Bits<N>; 1 + LABELS],
    /// Whether there is any special label.
    special: bool,
}

impl<const N: usize> Labelled<N> {
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn start_from<V: Vectors>(&mut self, at: &[Bits<N>; LABELLED.len()]) {
        self.at = *at;
        // SAFETY: the caller vouches for the instructions of `V`.
        unsafe { self.look_back::<V>() };
    }

    /// Make the masks for the character before.
    ///
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn look_back<V: Vectors>(&mut self) {
        let [begins, usual, first, second, no_beginning] = &mut self.before;
        self.special = self.at[1] != [0; N] || self.at[2] != [0; N];
        // SAFETY: the caller vouches for the instructions of `V`.
        unsafe {
            *begins = up::<V, N>(&self.at[0]);
            *no_beginning = [!0; N];
            take_away::<V, N>(no_beginning, begins);
            *usual = *no_beginning;
            if self.special {
                (*first, *second) = (up::<V, N>(&self.at[1]), up::<V, N>(&self.at[2]));
                take_away::<V, N>(usual, first);
                take_away::<V, N>(usual, second);
            }
        }
    }

    /// Take other masks for labels; returns the characters whose labels change.
    ///
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn change_to<V: Vectors>(&mut self, at: &[Bits<N>; LABELLED.len()]) -> Bits<N> {
        let mut changed = [0; N];
        for (one, other) in self.at.iter().zip(at) {
            for word in 0..N {
                changed[word] |= one[word] ^ other[word];
            }
        }
        if changed != [0; N] {
            self.at = *at;
            // SAFETY: the caller vouches for the instructions of `V`.
            unsafe { self.look_back::<V>() };
        }
        changed
    }

    /// Add the places where a link's relation holds behind a character that has the label which it asks for.
    ///
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn followed<V: Vectors>(
        &self,
        links: &[Link],
        relations: &Relations<N>,
        mut places: Bits<N>,
    ) -> Bits<N> {
        for link in links {
            if self.special || !SPECIAL.contains(&link.before) {
                let (held, before) = (relations.places(Some(link.relation)), &self.before[link.before]);
                // SAFETY: the caller vouches for the instructions of `V`.
                unsafe { add::<V, N>(&mut places, held, before) };
            }
        }
        places
    }
}

/// Add the places that are among others.
///
/// # Safety
/// The machine must have the instructions of `V`.
#[inline(always)]
unsafe fn add<V: Vectors, const N: usize>(all: &mut Bits<N>, places: &Bits<N>, among: &Bits<N>) {
    if let (Some(all), Some(places), Some(among)) =
        (all.first_chunk_mut(), places.first_chunk(), among.first_chunk())
    {
        // SAFETY: the caller vouches for the instructions of `V`.
        return unsafe { V::join(all, places, among) };
    }
    for word in 0..N {
        all[word] |= places[word] & among[word];
    }
}

/// Take places away.
///
/// # Safety
/// The machine must have the instructions of `V`.
#[inline(always)]
unsafe fn take_away<V: Vectors, const N: usize>(all: &mut Bits<N>, places: &Bits<N>) {
    if let (Some(all), Some(places)) = (all.first_chunk_mut(), places.first_chunk()) {
        // SAFETY: the caller vouches for the instructions of `V`.
        return unsafe { V::take_away(all, places) };
    }
    for word in 0..N {
        all[word] &= !places[word];
    }
}

/// The bits of `from`, each extended through the run of `through` bits that follows it.
///
/// # Safety
/// The machine must have the instructions of `V`.
#[inline(always)]
unsafe fn run<V: Vectors, const N: usize>(from: &Bits<N>, through: &Bits<N>) -> Bits<N> {
    // SAFETY: the caller vouches for the instructions of `V`.
    unsafe {
        let (mut first, mut inside, mut all) = ([0; N], *through, *from);
        add::<V, N>(&mut first, &up::<V, N>(from), through);
        // Adding the first bit of a run to the run clears the run and sets the bit after it.
        take_away::<V, N>(&mut inside, &sum::<V, N>(&first, through));
        add::<V, N>(&mut all, &first, &first);
        add::<V, N>(&mut all, &inside, &inside);
        all
    }
}

/// The sum of the bits as numbers, lowest word first, without what does not fit.
///
/// # Safety
/// The machine must have the instructions of `V`.
#[inline(always)]
unsafe fn sum<V: Vectors, const N: usize>(one: &Bits<N>, other: &Bits<N>) -> Bits<N> {
    let mut sum = [[0; WORDS]; 2];
    sum[0][..N].copy_from_slice(one);
    sum[1][..N].copy_from_slice(other);
    // SAFETY: the caller vouches for the instructions of `V`.
    let sum = unsafe { V::add(&sum[0], &sum[1]) };
    *sum.first_chunk().unwrap_or(&[0; N])
}

/// The bits, moved one place up.
///
/// # Safety
/// The machine must have the instructions of `V`.
#[inline(always)]
unsafe fn up<V: Vectors, const N: usize>(bits: &Bits<N>) -> Bits<N> {
    let mut moved = *bits;
    if let (Some(moved), Some(bits)) = (moved.first_chunk_mut(), bits.first_chunk()) {
        // SAFETY: the caller vouches for the instructions of `V`.
        *moved = unsafe { V::up(bits) };
    } else {
        let mut last = 0;
        for word in &mut moved {
            (*word, last) = (*word << 1 | last, *word >> 63);
        }
    }
    moved
}

/// Moves bits of characters to the first bytes of the characters.
///
/// # Safety
/// The machine must have the instructions of `V`.
#[inline(always)]
unsafe fn at_bytes<V: Vectors, const N: usize>(bits: &Bits<N>, leads: &BytesBits<N>) -> BytesBits<N> {
    let mut at_bytes = [[0; N]; 2];
    let mut place = 0;
    for (at_bytes, &leads) in at_bytes.as_flattened_mut().iter_mut().zip(leads.as_flattened()) {
        let (first, from) = (place / 64 % N, place % 64);
        let behind = bits.get(first + 1).copied().unwrap_or(0);
        let next = bits[first] >> from | (behind << 1) << (63 - from);
        place += leads.count_ones() as usize;
        // SAFETY: the caller vouches for the instructions of `V`.
        *at_bytes = unsafe { V::choose(next, leads) };
    }
    at_bytes
}

/// The places whose bits are set, from one place on.
fn places_in(first: usize, mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (bits != 0).then(|| first + bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        place
    })
}

fn is_in(bits: &[u64], place: usize) -> bool {
    bits[place / 64] >> (place % 64) & 1 != 0
}

/// Clear the bits from a place on.
#[inline(always)]
fn clear_from(bits: &mut [u64], place: usize) {
    if let Some(word) = bits.get_mut(place / 64) {
        *word &= (1 << (place % 64)) - 1;
    }
    for word in bits.iter_mut().skip(place / 64 + 1) {
        *word = 0;
    }
}

/// Clear the bits between two places, both excluded.
#[inline(always)]
fn clear_between(bits: &mut [u64], after: usize, before: usize) {
    for (word, bits) in bits.iter_mut().enumerate().take(before.div_ceil(64)).skip(after / 64) {
        let behind = if word == after / 64 { !0 << (after % 64) << 1 } else { !0 };
        let not_there = if word == before / 64 { !0 << (before % 64) } else { 0 };
        *bits &= !behind | not_there;
    }
}

/// The last place before another one whose bit is set.
#[inline(always)]
fn last_in(bits: &[u64], place: usize) -> Option<usize> {
    last(place, |word| bits[word])
}

/// The last place before another one whose bit is not set.
#[inline(always)]
fn last_not_in(bits: &[u64], place: usize) -> Option<usize> {
    last(place, |word| !bits[word])
}

#[inline(always)]
fn last(place: usize, bits: impl Fn(usize) -> u64) -> Option<usize> {
    (0..place.div_ceil(64)).rev().find_map(|word| {
        let bits = bits(word) & if word == place / 64 { (1 << (place % 64)) - 1 } else { !0 };
        (bits != 0).then(|| 64 * word + 63 - bits.leading_zeros() as usize)
    })
}

/// The first place from one on whose bit is set.
#[inline(always)]
fn first_from(bits: &[u64], place: usize) -> Option<usize> {
    (place / 64..bits.len()).find_map(|word| {
        let bits = if word == place / 64 { bits[word] & !0 << (place % 64) } else { bits[word] };
        (bits != 0).then(|| 64 * word + bits.trailing_zeros() as usize)
    })
}
