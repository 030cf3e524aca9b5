//! Cuts text by several patterns together, or by one: each cuts the pieces of the one before, and
//! all look at the same windows.
//!
//! ```text
//! window      read 512 characters as atoms
//! pattern 1   relations -> labels -> where pieces begin (`starts`)
//! pattern 2   the same, and each piece of pattern 1 is a text of its own
//! limit       up to which character all of this is final
//! push        the ends of pieces into a batch; the next window begins with the last final one
//! ```
//!
//! The starts of the pieces of a pattern are a mask for the next one. A piece begins at each of
//! them, and the character before it has nothing behind it: rules about the end of a text apply
//! there.
//!
//! A pattern without local rules, or whose matches may begin and fail, is run in places with
//! [views](Views), if a match can begin at few of them.
//!
//! Where the masks of a pattern are unsure, its automaton runs within its own piece, from the last
//! certain start until it finds one that the masks found, too; from there on the masks are right
//! again ([`JointScan::settle`]).
//!
//! What holds between windows:
//!
//! 1. A window begins with the last character of the one before whose labels are known. So it may
//!    begin within a piece.
//! 2. No window begins with an *open* character, because what follows may still change the labels
//!    before it.
//! 3. If only the first character of a window is final, the whole piece of the first pattern is cut
//!    step by step: the caller is given its start.
//!
//! Patterns may also cut given pieces, which something else has cut. These are then the mask for
//! the first pattern. Such patterns may see each byte as the character that it is printed as.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::reading::{ByteAtoms, Characters, Reader};
use super::*;
use crate::bits::{clear, first_from, is_in, last_in, last_not_in, mark, places_in};
use crate::error::Result;
use crate::pretokenize::Batch;
use crate::pretokenize::ahead::Ahead;
use crate::pretokenize::alphabet::Alphabet;
use crate::pretokenize::automaton::{Automaton, PartialMatch};
use crate::pretokenize::compiled::Compiled;
use crate::pretokenize::set::CharSet;
use crate::pretokenize::views::{Viewed, Views};
use crate::vectors::{Instructions, Job};
use crate::watch::Pulse;

/// The maximum number of patterns.
const MOST: usize = 8;

/// In a window, this many characters are read again at most where masks are unsure.
const MAX_READ: usize = 4 * WINDOW;

/// Up to so many bytes that are left of a text are scanned in windows of two words or one: a whole
/// window takes as long for a few bytes as for many.
const SHORT_REST: usize = 128;

/// Patterns that cut text together.
pub struct Joint {
    /// Those of this machine.
    pub instructions: Instructions,
    alphabet: Alphabet,
    /// The atoms of bytes, if the patterns see these as characters.
    bytes: Option<Box<ByteAtoms>>,
    /// What gives characters the atoms that tell what follows, if the only pattern needs them.
    ahead: Option<Arc<Ahead>>,
    steps: Vec<JointStep>,
    /// Whether matches that have begun never fail. If not, a piece may turn out wrong at its end: a
    /// long one is not cut by masks.
    is_decided: bool,
}

struct JointStep {
    /// The rules, or the one for the places where a match may begin.
    rules: MaskRules,
    matcher: Matcher,
    /// The atoms of the pattern, by those that all patterns share.
    atoms: [u8; MOST_ATOMS],
}

/// What finds the matches of a pattern that masks do not find.
#[derive(Clone)]
pub enum Matcher {
    /// Where the masks are unsure.
    Automaton(Arc<Automaton>),
    /// Wherever a match may begin.
    Views(Arc<Views>),
}

/// What patterns see of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    Characters,
    /// Each byte, as the character that it is printed as.
    Bytes,
}

impl Joint {
    /// A pattern alone.
    pub fn of_one(
        automaton: &Arc<Automaton>,
        rules: &MaskRules,
        ahead: Option<Arc<Ahead>>,
        is_decided: bool,
    ) -> Self {
        let alphabet = automaton.alphabet.clone();
        let atoms = (0..alphabet.count as u8).collect();
        let step =
            JointStep::new(Matcher::Automaton(Arc::clone(automaton)), rules, atoms, &alphabet);
        Self {
            instructions: Instructions::this(),
            alphabet,
            bytes: None,
            ahead,
            steps: vec![step],
            is_decided,
        }
    }

    /// Takes as many of the first patterns as can be cut together, if there are at least `least`.
    pub fn new(patterns: &[&Compiled], least: usize, seen: Seen) -> Option<Self> {
        let in_windows =
            patterns.iter().take(MOST).map_while(|pattern| pattern.in_windows.as_ref());
        let most = in_windows.count();
        (least..=most).rev().find_map(|count| Self::of_all(&patterns[..count], seen))
    }

    /// All of these patterns, which are run in windows, if their atoms are not too many together.
    fn of_all(patterns: &[&Compiled], seen: Seen) -> Option<Self> {
        let in_windows: Vec<&(Matcher, MaskRules)> =
            patterns.iter().filter_map(|pattern| pattern.in_windows.as_ref()).collect();
        let sets = patterns.iter().flat_map(|pattern| &pattern.machine.graph.sets);
        let distinct_sets: BTreeSet<&CharSet> = sets.collect();
        let sets: Vec<CharSet> = distinct_sets.into_iter().cloned().collect();
        let alphabets: Vec<&Alphabet> =
            in_windows.iter().map(|(matcher, _)| matcher.alphabet()).collect();
        let (alphabet, atoms_of_patterns) = Alphabet::joint(&sets, &alphabets, MOST_ATOMS)?;

        let steps = in_windows.into_iter().zip(atoms_of_patterns);
        let steps = steps.map(|((matcher, rules), atoms)| {
            let mut step = JointStep::new(matcher.clone(), rules, atoms, &alphabet);
            if seen == Seen::Bytes {
                // The bytes of ASCII are not all printed in ASCII.
                step.rules.plain.clone_from(&step.rules.wide);
            }
            step
        });
        let steps = steps.collect();
        Some(Self {
            instructions: Instructions::this(),
            bytes: (seen == Seen::Bytes).then(|| Box::new(ByteAtoms::new(&alphabet))),
            alphabet,
            ahead: None,
            steps,
            is_decided: true,
        })
    }

    /// The number of patterns.
    pub fn count(&self) -> usize {
        self.steps.len()
    }

    /// Begins to cut a part of a text.
    #[inline]
    pub fn scan<'a>(&'a self, text: &'a str, start: usize) -> JointScan<'a> {
        self.scan_from(text.as_bytes(), start, None)
    }

    /// Begins to cut pieces, the first of which begins at a place.
    pub fn scan_pieces<'a>(
        &'a self,
        text: &'a [u8],
        start: usize,
        ends: &'a [usize],
    ) -> JointScan<'a> {
        let end = ends.last().copied().unwrap_or(start);
        self.scan_from(&text[..end], start, Some(ends))
    }

    #[inline]
    fn scan_from<'a>(
        &'a self,
        text: &'a [u8],
        start: usize,
        given: Option<&'a [usize]>,
    ) -> JointScan<'a> {
        JointScan {
            joint: self,
            text,
            given,
            base: start,
            first: [Label::Begins; MOST],
            piece: start,
            done: start,
        }
    }
}

impl Matcher {
    fn alphabet(&self) -> &Alphabet {
        match self {
            Self::Automaton(automaton) => &automaton.alphabet,
            Self::Views(views) => &views.alphabet,
        }
    }
}

impl JointStep {
    /// The rules by atoms that all patterns share: `atoms_of_pattern` has those of the pattern by
    /// them.
    ///
    /// The label of the first character of a window is known, except where views run. So no rule is
    /// about it, but the one for what its label implies.
    fn new(
        matcher: Matcher,
        rules: &MaskRules,
        atoms_of_pattern: Vec<u8>,
        alphabet: &Alphabet,
    ) -> Self {
        let mut atoms = [0; MOST_ATOMS];
        atoms[..atoms_of_pattern.len()].copy_from_slice(&atoms_of_pattern);
        let mut rules = rules.clone();
        let first_is_known = matches!(matcher, Matcher::Automaton(_));
        let opens_here = rules.always[Fact::OpensHere as usize];
        for Eight { tables, uses, .. } in rules.plain.iter_mut().chain(&mut rules.wide) {
            for entries in &mut *tables {
                *entries = atoms.map(|atom| entries[usize::from(atom)]);
            }
            let mut about_first = 0;
            for &(relation, terms) in &*uses {
                if !first_is_known || Some(relation) == opens_here {
                    about_first |= terms;
                }
            }
            // Only the first character of a window has the atom of the end of the text before it.
            tables[0][usize::from(alphabet.end)] &= about_first;
        }
        rules.has_few_atoms = alphabet.count <= FEW_ATOMS;
        Self { rules, matcher, atoms }
    }
}

/// Cuts one text.
pub struct JointScan<'a> {
    joint: &'a Joint,
    text: &'a [u8],
    /// The ends of the pieces that are cut, if that is not the whole text.
    given: Option<&'a [usize]>,
    /// The start of the next window, and the label of its first character for each pattern.
    base: usize,
    first: [Label; MOST],
    /// The start of the last piece of the first pattern, and the place up to which all pieces are
    /// done.
    piece: usize,
    done: usize,
}

impl JointScan<'_> {
    /// Adds the next pieces to a batch while there is room. Returns where a piece of the first
    /// pattern begins that must be cut step by step, if one must be.
    pub fn fill(&mut self, batch: &mut Batch, pulse: &mut Pulse) -> Result<Option<usize>> {
        while self.base < self.text.len() && batch.room() >= USUAL_PIECES {
            let start_of_long_piece = match self.text.len() - self.base {
                ..=64 => self.fill_by::<1>(|windows| &mut windows.one, batch, pulse)?,
                65..=SHORT_REST => self.fill_by::<2>(|windows| &mut windows.two, batch, pulse)?,
                _ => self.fill_by(|windows| &mut windows.whole, batch, pulse)?,
            };
            if start_of_long_piece.is_some() {
                return Ok(start_of_long_piece);
            }
        }
        Ok(None)
    }

    /// The same by windows of one size.
    fn fill_by<const N: usize>(
        &mut self,
        place_of: fn(&mut Windows) -> &mut Option<Box<Window<N>>>,
        batch: &mut Batch,
        pulse: &mut Pulse,
    ) -> Result<Option<usize>> {
        let mut window = place_of(&mut batch.windows).take().unwrap_or_default();
        let instructions = self.joint.instructions;
        let start_of_long_piece =
            instructions.run(Filling { scan: self, window: &mut *window, batch, pulse })?;
        *place_of(&mut batch.windows) = Some(window);
        Ok(start_of_long_piece)
    }

    /// Whether all of the text is cut.
    pub fn is_done(&self) -> bool {
        self.base >= self.text.len()
    }

    /// Up to where all pieces are found.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Goes on behind a piece of the first pattern, or a given one, that the caller has cut.
    pub fn go_on_at(&mut self, end: usize) {
        self.base = end;
        self.piece = end;
        self.done = end;
        self.first = [Label::Begins; MOST];
    }
}

/// Fills a batch from windows of `N` words. If there are larger windows, a short rest is left.
struct Filling<'f, 'a, 'p, const N: usize> {
    scan: &'f mut JointScan<'a>,
    window: &'f mut Window<N>,
    batch: &'f mut Batch,
    pulse: &'f mut Pulse<'p>,
}

impl<const N: usize> Job for Filling<'_, '_, '_, N> {
    type Result = Result<Option<usize>>;

    #[inline(always)]
    fn run(self, vectors: impl Vectors) -> Result<Option<usize>> {
        let left_for_smaller = if N == WORDS { SHORT_REST } else { 0 };
        loop {
            let rest = self.scan.text.len() - self.scan.base;
            if rest <= left_for_smaller || self.batch.room() < USUAL_PIECES {
                return Ok(None);
            }
            self.pulse.beat(rest.min(64 * N))?;
            self.scan.look(vectors, self.window);
            if let Some(start) = self.scan.push(vectors, self.window, self.batch) {
                return Ok(Some(start));
            }
        }
    }
}

/// Windows of each size that wait for the next text: to clear a large one for each batch would take
/// 1 to 2 % of the time of counting.
#[derive(Default)]
pub struct Windows {
    one: Option<Box<Window<1>>>,
    two: Option<Box<Window<2>>>,
    whole: Option<Box<Window<WORDS>>>,
}

/// All that is found out about a window. One value serves many windows: what is of no use to the
/// next one stays.
///
/// Masks are aligned to cache lines, so that no load or store of 64 bytes touches two.
#[repr(C, align(64))]
struct Window<const N: usize> {
    relations: Relations<N>,
    labels: Labels<N>,
    fulfilled: [[u8; 64]; N],
    /// The atoms behind each place: the end of the text where a piece of the pattern before ends.
    behind: [[u8; 64]; N],
    /// The labels for each pattern; for one that is run in places, only where pieces begin.
    labels_of: [[Bits<N>; MARKED]; MOST],
    /// Where given pieces begin, and a byte for each place.
    given: Bits<N>,
    marks: [[[u8; 64]; N]; 2],
    /// Where the pieces of the patterns so far begin.
    starts: Bits<N>,
    /// The characters after which a state of any pattern may be open.
    open: Bits<N>,
    /// The characters within pieces of patterns that may be unsure.
    within: Bits<N>,
    characters: Characters<N>,
    /// The first character for which `starts` may still be wrong. The label of the first character
    /// is known before, so with 0 or 1 nothing was gained (see [`Window::last_known`]).
    limit: usize,
}

impl<const N: usize> Default for Window<N> {
    fn default() -> Self {
        Self {
            relations: Relations([[0; N]; MAX_RELATIONS]),
            labels: Labels {
                at: [[0; N]; MARKED],
                before: [[0; N]; 1 + NO_BEGINNING],
                special: false,
            },
            fulfilled: [[0; 64]; N],
            characters: Characters::new(),
            behind: [[0; 64]; N],
            labels_of: [[[0; N]; MARKED]; MOST],
            given: [0; N],
            marks: [[[0; 64]; N]; 2],
            starts: [0; N],
            open: [0; N],
            within: [0; N],
            limit: 0,
        }
    }
}

impl<const N: usize> Window<N> {
    /// Marks where given pieces begin: the characters of the window begin at a place of the text.
    #[inline(always)]
    fn mark_given(&mut self, vectors: impl Vectors, base: usize, ends: &[usize]) {
        let is_wide = self.characters.wide;
        let words = if is_wide { 2 * N } else { N };
        let first = ends.partition_point(|end| *end < base);
        let count = ends[first..].partition_point(|end| *end < base + 64 * words);
        // A byte for each place: a mark in a mask would wait for the mark before.
        let marks = &mut self.marks.as_flattened_mut()[..words];
        marks.as_flattened_mut().fill(0);
        for end in &ends[first..first + count] {
            marks.as_flattened_mut()[end - base] = 1;
        }
        let mut at_bytes = [[0; N]; 2];
        for (bits, marks) in at_bytes.as_flattened_mut().iter_mut().zip(marks) {
            *bits = vectors.non_zero(vectors.load(marks));
        }
        self.given =
            if is_wide { at_characters(&at_bytes, &self.characters.leads) } else { at_bytes[0] };
        self.starts = self.given;
    }

    /// Gives each character the atom that tells what follows. If that is not in the window, the
    /// window is shorter.
    #[inline(always)]
    fn tell_ahead(&mut self, vectors: impl Vectors, ahead: &Ahead) {
        let mut depends = [0; N];
        for (bits, atoms) in depends.iter_mut().zip(self.characters.atoms[1..].as_chunks().0) {
            *bits = vectors.non_zero(vectors.look_up(&ahead.is_open, vectors.load(atoms)));
        }
        clear(&mut depends, self.characters.count, 64 * N);
        if depends != [0; N] {
            self.tell_runs(ahead, &depends);
        }
    }

    /// The same for each run of characters that depend on what follows.
    #[inline(never)]
    fn tell_runs(&mut self, ahead: &Ahead, depends: &Bits<N>) {
        let Characters { atoms, count, ends, .. } = &mut self.characters;
        let others = depends.map(|word| !word);
        let mut place = 0;
        while let Some(start) = first_from(depends, place) {
            let end = first_from(&others, start).map_or(*count, |end| end.min(*count));
            if end == *count && !*ends {
                // What follows the run is not in the window.
                self.limit = start.saturating_sub(1);
                return;
            }
            let behind = (end < *count).then(|| atoms[1 + end]);
            ahead.tell(&mut atoms[1 + start..1 + end], behind);
            place = end;
        }
    }

    /// Limits the window to what cannot change: results after the last place that is not open may,
    /// and a window begins at such a place.
    fn limit_to_sure(&mut self) {
        if self.is_whole() {
            return;
        }
        self.limit = match last_not_in(&self.open, self.limit) {
            Some(place) => place + 1,
            None => 0,
        };
    }

    /// Lets the next window begin where a piece does, if it can: a place that is unsure is settled
    /// from there on.
    fn limit_to_beginning(&mut self) {
        if self.is_whole() {
            return;
        }
        let mut within = self.open;
        for (all, within) in within.iter_mut().zip(self.within) {
            *all |= within;
        }
        match last_not_in(&within, self.limit) {
            Some(place) if place > 0 => self.limit = place + 1,
            _ => self.limit_to_sure(),
        }
    }

    /// The last character whose labels are known, where the next window begins; `None` if that is
    /// the first one.
    fn last_known(&self) -> Option<usize> {
        self.limit.checked_sub(1).filter(|last| *last > 0)
    }

    /// How far the piece of the pattern before is known that a place is in, and whether it ends
    /// there.
    fn piece_end(&self, index: usize, starts_before: &Bits<N>, place: usize) -> (usize, bool) {
        let is_whole = self.is_whole();
        // Behind the first pattern, the limit is one less than what the patterns before have found.
        let known = if is_whole || index == 0 { self.limit } else { self.limit + 1 };
        match first_from(starts_before, place + 1) {
            Some(next) if next < known => (next, true),
            _ => (known, is_whole),
        }
    }

    /// Whether everything up to the end of the text is known.
    fn is_whole(&self) -> bool {
        self.characters.ends && self.limit == self.characters.count
    }
}

impl JointScan<'_> {
    /// Finds where pieces begin in the next window.
    #[inline(always)]
    fn look<const N: usize>(&self, vectors: impl Vectors, window: &mut Window<N>) {
        #[cfg(test)]
        crate::pretokenize::tests::count_steps(64 * N);
        let joint = self.joint;
        let reader = Reader { text: self.text, alphabet: &joint.alphabet };
        match &joint.bytes {
            Some(atoms) => reader.read_bytes(vectors, atoms, self.base, &mut window.characters),
            None => reader.read(vectors, self.base, &mut window.characters),
        }
        let Characters { count, ends, .. } = window.characters;
        // The character behind the last one is not known, unless the text ends there.
        window.limit = if ends { count } else { count - 1 };
        window.starts = [0; N];
        window.open = [0; N];
        window.within = [0; N];
        if let Some(ahead) = &joint.ahead {
            window.tell_ahead(vectors, ahead);
        }
        if let Some(given) = self.given {
            window.mark_given(vectors, self.base, given);
        }
        for (index, (step, first)) in joint.steps.iter().zip(self.first).enumerate() {
            self.find_relations(vectors, index, window);
            if index > 0 && !window.is_whole() {
                // A rule looks at the next character, whose start the patterns before must have
                // found.
                window.limit_to_sure();
                window.limit = window.limit.saturating_sub(1);
            }
            match &step.matcher {
                Matcher::Automaton(automaton) => {
                    self.label(vectors, index, automaton, first, window)
                }
                Matcher::Views(views) => self.run_in_places(index, views, window),
            }
        }
        window.limit_to_beginning();
    }

    /// Finds the relations of a pattern, for which the text ends where the pieces that it cuts do.
    #[inline(always)]
    fn find_relations<const N: usize>(
        &self,
        vectors: impl Vectors,
        index: usize,
        window: &mut Window<N>,
    ) {
        let Window { relations, fulfilled, characters, behind: atoms_behind, starts, .. } = window;
        let mut behind = &characters.atoms[2..2 + 64 * N];
        let first_of_pieces = usize::from(self.given.is_none());
        if index == first_of_pieces {
            atoms_behind.as_flattened_mut().copy_from_slice(behind);
        }
        if index >= first_of_pieces {
            end_before(vectors, starts, self.joint.alphabet.end, atoms_behind);
            behind = atoms_behind.as_flattened();
        }
        let rules = &self.joint.steps[index].rules;
        rules.find_relations(vectors, characters, behind, relations, fulfilled);
    }

    /// Finds the labels of all characters for a pattern, given that of the first.
    #[inline(always)]
    fn label<const N: usize>(
        &self,
        vectors: impl Vectors,
        index: usize,
        automaton: &Automaton,
        first: Label,
        window: &mut Window<N>,
    ) {
        let rules = &self.joint.steps[index].rules;
        // A piece of this pattern begins wherever one of the pattern before does.
        let mut given = [window.starts, [0; N], [0; N]];
        for (label, given) in Label::MARKED.into_iter().zip(&mut given) {
            given[0] |= u64::from(label == first);
        }
        let [unsure, open] = rules.label(vectors, &window.relations, &mut window.labels, &given);
        if unsure != [0; N] && first_from(&unsure, 0).is_some_and(|place| place < window.limit) {
            self.settle(index, automaton, &unsure, &open, window);
        }
        window.labels_of[index % MOST] = window.labels.at;
        window.starts = window.labels.at[0];
        if rules.has(Fact::Unsure) || rules.has(Fact::Contradicted) {
            window.within = [!0; N];
            vectors.take_away(&mut window.within, &window.labels.at[0]);
        }
        if rules.opens() {
            vectors.join(&mut window.open, &open, &open);
        }
    }

    /// Runs a pattern where the masks are unsure, and corrects their result. What is within a piece
    /// that is found so has no label, and counts as open.
    #[inline(never)]
    fn settle<const N: usize>(
        &self,
        index: usize,
        automaton: &Automaton,
        unsure: &Bits<N>,
        open: &Bits<N>,
        window: &mut Window<N>,
    ) {
        let starts_before = window.starts;
        // Up to here, all is settled; and so many characters may be read again.
        let mut settled = 0;
        let mut left_to_read = MAX_READ;
        while let Some(place) =
            first_from(unsure, settled + 1).filter(|place| *place < window.limit)
        {
            let sure = last_not_in(open, place).unwrap_or(0).max(settled);
            let Some(mut start) = last_in(&window.labels.at[0], sure + 1) else {
                window.limit = 0;
                return;
            };
            loop {
                let end = self.piece_end_within(
                    index,
                    automaton,
                    start,
                    &starts_before,
                    window,
                    &mut left_to_read,
                );
                if left_to_read == 0 {
                    window.limit = 0;
                    return;
                }
                let Some(end) = end else {
                    window.limit = start;
                    return;
                };
                let starts = &mut window.labels.at[0];
                let masks_know_it = end < window.limit && is_in(starts, end) && !is_in(unsure, end);
                let end_within = end.min(window.limit);
                clear(starts, start + 1, end_within);
                for within in start + 1..end_within {
                    mark(&mut window.open, within);
                }
                if end >= window.limit {
                    return;
                }
                mark(starts, end);
                start = end;
                if end > place && masks_know_it {
                    break;
                }
            }
            settled = start;
        }
    }

    /// The end of the piece of a pattern that begins at a place, if it is known in the window.
    fn piece_end_within<const N: usize>(
        &self,
        index: usize,
        automaton: &Automaton,
        start: usize,
        starts_before: &Bits<N>,
        window: &Window<N>,
        left_to_read: &mut usize,
    ) -> Option<usize> {
        let (piece_end, is_end) = window.piece_end(index, starts_before, start);
        let atoms_of_pattern = &self.joint.steps[index].atoms;
        for place in start..piece_end {
            let atoms = window.characters.atoms[1 + place..=piece_end].iter();
            let atoms = atoms.map(|atom| atoms_of_pattern[usize::from(*atom) % MOST_ATOMS]);
            let atoms = atoms.chain(is_end.then_some(automaton.alphabet.end));
            let counted = atoms.inspect(|_| *left_to_read = left_to_read.saturating_sub(1));
            match automaton.match_within(counted) {
                PartialMatch::End(length) if place == start => return Some(start + length),
                // The piece is a gap, which this match ends.
                PartialMatch::End(_) => return Some(place),
                PartialMatch::GoesOn => return None,
                PartialMatch::Nothing => {}
            }
        }
        is_end.then_some(piece_end)
    }

    /// Runs a pattern from each place where a match may begin. No window begins within a match.
    #[inline(never)]
    fn run_in_places<const N: usize>(&self, index: usize, views: &Views, window: &mut Window<N>) {
        let step = &self.joint.steps[index];
        let starts_before = window.starts;
        let may_begin = *step.rules.always(&window.relations, Fact::Begins);
        let mut viewed = Viewed { known: [0; ATOMS_OF_WINDOW], until: 0 };
        let mut starts = [0; N];
        let mut from = 0;
        while let Some(place) = first_from(&may_begin, from).filter(|place| *place < window.limit) {
            let piece = window.piece_end(index, &starts_before, place);
            let atom = |at: usize| {
                let atom = window.characters.atoms[1 + at];
                usize::from(step.atoms[usize::from(atom) % MOST_ATOMS])
            };
            match views.match_at(&mut viewed, place, piece, atom) {
                PartialMatch::Nothing => from = place + 1,
                PartialMatch::GoesOn => window.limit = place,
                PartialMatch::End(length) => {
                    from = place + length;
                    mark(&mut starts, place);
                    mark(&mut starts, from);
                    for within in place + 1..from {
                        mark(&mut window.open, within);
                    }
                }
            }
        }
        for (all, new) in window.starts.iter_mut().zip(starts) {
            *all |= new;
        }
        window.labels_of[index % MOST][0] = starts;
    }

    /// Pushes the pieces of a window and goes on to the next one, unless a piece must be cut step
    /// by step: returns its start.
    #[inline(always)]
    fn push<const N: usize>(
        &mut self,
        vectors: impl Vectors,
        window: &Window<N>,
        batch: &mut Batch,
    ) -> Option<usize> {
        let has_room = self.push_ends(vectors, window, batch);
        if !has_room || batch.room() == 0 {
            return None;
        }
        if window.is_whole() {
            self.base = self.text.len();
            self.done = batch.push_to(self.text.len());
            return None;
        }
        let starts_of_first =
            if self.given.is_some() { &window.given } else { &window.labels_of[0][0] };
        if let Some(start) = last_in(starts_of_first, window.limit) {
            self.piece = self.base + window.characters.byte_of(vectors, start);
        }
        let Some(last) = window.last_known() else {
            return Some(self.piece);
        };
        self.base += window.characters.byte_of(vectors, last);
        if !self.joint.is_decided && self.base - self.piece >= WINDOW {
            return Some(self.piece);
        }
        for (labels, first) in
            window.labels_of.iter().zip(&mut self.first).take(self.joint.steps.len())
        {
            *first = label_at(labels, last);
        }
        None
    }

    /// Pushes the ends of the pieces that are not done yet, up to the limit; returns whether there
    /// was room for all.
    #[inline(always)]
    fn push_ends<const N: usize>(
        &mut self,
        vectors: impl Vectors,
        window: &Window<N>,
        batch: &mut Batch,
    ) -> bool {
        let done = self.done.saturating_sub(self.base);
        let mut starts = window.starts;
        clear(&mut starts, window.limit, 64 * N);
        let (end, has_room) = if window.characters.wide {
            let mut at_bytes = at_bytes(vectors, &starts, &window.characters.leads);
            clear(at_bytes.as_flattened_mut(), 0, done + 1);
            push_starts(vectors, self.base, at_bytes.as_flattened(), batch)
        } else {
            clear(&mut starts, 0, done + 1);
            push_starts(vectors, self.base, &starts, batch)
        };
        self.done = self.done.max(end);
        has_room
    }
}

/// The label of a character, given the masks of the labels that are marked.
#[inline(always)]
fn label_at<const N: usize>(labels: &[Bits<N>; MARKED], place: usize) -> Label {
    for (label, places) in Label::MARKED.into_iter().zip(labels) {
        if is_in(places, place) {
            return label;
        }
    }
    Label::Usual
}

/// Lets the text end before each start of a piece.
#[inline(always)]
fn end_before<const N: usize>(
    vectors: impl Vectors,
    starts: &Bits<N>,
    end: u8,
    behind: &mut [[u8; 64]; N],
) {
    for (word, behind) in behind.iter_mut().enumerate() {
        let next = starts.get(word + 1).copied().unwrap_or(0);
        let ended = starts[word] >> 1 | next << 63;
        vectors.store(vectors.choose(ended, vectors.splat(end), vectors.load(behind)), behind);
    }
}

/// Moves bits of the first bytes of characters to the characters.
fn at_characters<const N: usize>(bits: &[Bits<N>; 2], leads: &[Bits<N>; 2]) -> Bits<N> {
    let mut at_characters = [0; N];
    let mut before = 0;
    for (bits, leads) in bits.as_flattened().iter().zip(leads.as_flattened()) {
        for place in places_in(0, bits & leads) {
            mark(&mut at_characters, before + (leads & ((1 << place) - 1)).count_ones() as usize);
        }
        before += leads.count_ones() as usize;
    }
    at_characters
}

/// Moves bits of characters to the first bytes of the characters.
#[inline(always)]
fn at_bytes<const N: usize>(
    vectors: impl Vectors,
    bits: &Bits<N>,
    leads: &[Bits<N>; 2],
) -> [Bits<N>; 2] {
    let mut at_bytes = [[0; N]; 2];
    let mut place = 0;
    for (at_bytes, &leads) in at_bytes.as_flattened_mut().iter_mut().zip(leads.as_flattened()) {
        let first = place / 64 % N;
        let from = place % 64;
        let behind = bits.get(first + 1).copied().unwrap_or(0);
        let next = bits[first] >> from | (behind << 1) << (63 - from);
        place += leads.count_ones() as usize;
        *at_bytes = vectors.spread(next, leads);
    }
    at_bytes
}

/// Adds the pieces that end where the next ones begin, as far as there is room; returns the last
/// place where one begins, or 0, and whether there was room for all.
#[inline(always)]
fn push_starts(
    vectors: impl Vectors,
    base: usize,
    begins: &[u64],
    batch: &mut Batch,
) -> (usize, bool) {
    let mut end = 0;
    for (word, &bits) in begins.iter().enumerate() {
        if bits == 0 {
            continue;
        }
        let Some(ends) = batch.spare() else { return (end, false) };
        vectors.positions(base + 64 * word, bits, ends);
        batch.add(bits.count_ones() as usize);
        end = base + 64 * word + 63 - bits.leading_zeros() as usize;
    }
    (end, true)
}
