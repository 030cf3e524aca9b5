//! Patterns that cut text together, often only one: each cuts the pieces of the one before, and all look at the same
//! windows.
//!
//! The starts of the pieces of a pattern are a mask for the next one. A piece begins at each of them, and the character
//! before it has nothing behind it: whatever a rule says about the end of the text holds there.
//!
//! A pattern without local rules, or whose matches may begin and fail, is run in places with [views](Views), if
//! a match can begin at few of them.
//!
//! Where the masks of a pattern are unsure, its automaton runs within its own piece, from the last certain start until it
//! finds one that the masks found, too; from there on the masks are right again.
//!
//! A window begins with the last character of the one before, whose labels are known; so it may begin within a piece. What
//! depends on more than a window is left to the caller: a whole piece of the first pattern is then cut step by step.
//!
//! Patterns may also cut pieces that are given, whatever they were cut by: these are then the mask for the first pattern.
//! Such patterns may see each byte as the character that it is printed as.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::bits::{clear, first_from, is_in, last_in, last_not_in, mark, places_in};
use super::reading::{ByteAtoms, Characters, Reader};
use super::*;
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

/// Up to so many bytes that are left of a text are scanned in windows of two words or one: a whole window takes as long for a
/// few bytes as for many.
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
    /// Whether matches that have begun never fail. If not, a piece may turn out wrong at its end: a long one is not cut by
    /// masks.
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
        let step = JointStep::new(Matcher::Automaton(Arc::clone(automaton)), rules, atoms, &alphabet);
        Self {
            instructions: Instructions::this(),
            alphabet,
            bytes: None,
            ahead,
            steps: vec![step],
            is_decided,
        }
    }

    /// As many of the first patterns as can be cut together, if there are at least so many. They see characters, or bytes as
    /// they are printed.
    pub fn new(patterns: &[&Compiled], least: usize, as_bytes: bool) -> Option<Self> {
        let found: Vec<&(Matcher, MaskRules)> =
            patterns.iter().take(MOST).map_while(|pattern| pattern.in_windows.as_ref()).collect();
        (least..=found.len()).rev().find_map(|count| {
            let sets = patterns[..count].iter().flat_map(|pattern| &pattern.machine.graph.sets);
            let sets: Vec<CharSet> = sets.collect::<BTreeSet<_>>().into_iter().cloned().collect();
            let alphabets = found[..count].iter().map(|(matcher, _)| match matcher {
                Matcher::Automaton(automaton) => &automaton.alphabet,
                Matcher::Views(views) => &views.alphabet,
            });
            let alphabets: Vec<&Alphabet> = alphabets.collect();
            let (alphabet, atoms) = Alphabet::joint(&sets, &alphabets, MOST_ATOMS)?;
            let found = found.iter().zip(atoms);
            let steps = found
                .map(|((matcher, rules), atoms)| JointStep::new(matcher.clone(), rules, atoms, &alphabet));
            let (instructions, mut steps): (_, Vec<JointStep>) = (Instructions::this(), steps.collect());
            let bytes = as_bytes.then(|| Box::new(ByteAtoms::new(&alphabet)));
            if as_bytes {
                // The bytes of ASCII are not all printed in ASCII.
                steps.iter_mut().for_each(|step| step.rules.plain.clone_from(&step.rules.wide));
            }
            Some(Self { instructions, steps, alphabet, bytes, ahead: None, is_decided: true })
        })
    }

    /// How many of the patterns.
    pub fn count(&self) -> usize {
        self.steps.len()
    }

    /// Begin to cut a part of a text.
    #[inline]
    pub fn scan<'a>(&'a self, text: &'a str, start: usize) -> JointScan<'a> {
        let first = [Label::Begins; MOST];
        JointScan {
            joint: self,
            text: text.as_bytes(),
            given: None,
            base: start,
            first,
            piece: start,
            done: start,
        }
    }

    /// Begin to cut pieces, the first of which begins at a place.
    pub fn scan_pieces<'a>(&'a self, text: &'a [u8], start: usize, ends: &'a [usize]) -> JointScan<'a> {
        let text = &text[..ends.last().copied().unwrap_or(start)];
        let first = [Label::Begins; MOST];
        JointScan { joint: self, text, given: Some(ends), base: start, first, piece: start, done: start }
    }
}

impl JointStep {
    /// The rules for other atoms: `own` has those of the pattern by them. If the label of the first character of a window is
    /// known, no rule is about it, but the one for what its label implies.
    fn new(matcher: Matcher, rules: &MaskRules, own: Vec<u8>, alphabet: &Alphabet) -> Self {
        let mut atoms = [0; MOST_ATOMS];
        atoms[..own.len()].copy_from_slice(&own);
        let mut rules = rules.clone();
        let is_known = matches!(matcher, Matcher::Automaton(_));
        for Eight { tables, uses, .. } in rules.plain.iter_mut().chain(&mut rules.wide) {
            for entries in &mut *tables {
                *entries = atoms.map(|atom| entries[usize::from(atom)]);
            }
            let is_about_first =
                |relation: usize| !is_known || Some(relation) == rules.always[Told::OpensHere as usize];
            let about_first = uses.iter().filter(|(relation, _)| is_about_first(*relation));
            tables[0][usize::from(alphabet.end)] &= about_first.fold(0, |all, (_, terms)| all | terms);
        }
        rules.few_atoms = alphabet.count <= FEW_ATOMS;
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
    /// The start of the last piece of the first pattern, and the place up to which all pieces are done.
    piece: usize,
    done: usize,
}

impl JointScan<'_> {
    /// Add the next pieces to a batch while there is room. Returns where a piece of the first pattern begins that must be cut
    /// step by step, if one must be.
    pub fn fill(&mut self, batch: &mut Batch, pulse: &mut Pulse) -> Result<Option<usize>> {
        while self.base < self.text.len() && batch.room() >= USUAL_PIECES {
            let help = match self.text.len() - self.base {
                ..=64 => self.fill_by::<1>(|kept| &mut kept.0, batch, pulse)?,
                65..=SHORT_REST => self.fill_by::<2>(|kept| &mut kept.1, batch, pulse)?,
                _ => self.fill_by(|kept| &mut kept.2, batch, pulse)?,
            };
            if help.is_some() {
                return Ok(help);
            }
        }
        Ok(None)
    }

    /// The same by windows of one size.
    fn fill_by<const N: usize>(
        &mut self,
        kept: fn(&mut Windows) -> &mut Option<Box<Window<N>>>,
        batch: &mut Batch,
        pulse: &mut Pulse,
    ) -> Result<Option<usize>> {
        let mut window = kept(&mut batch.windows).take().unwrap_or_default();
        let instructions = self.joint.instructions;
        let help = instructions.run(Filling { scan: self, window: &mut *window, batch, pulse })?;
        *kept(&mut batch.windows) = Some(window);
        Ok(help)
    }

    /// Whether all of the text is cut.
    pub fn is_done(&self) -> bool {
        self.base >= self.text.len()
    }

    /// Up to where all pieces are found.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Go on where a piece of the first pattern ends, whose pieces are found, or one that was given.
    pub fn go_on_at(&mut self, end: usize) {
        (self.base, self.piece, self.done) = (end, end, end);
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
        let left = if N == WORDS { SHORT_REST } else { 0 };
        while self.scan.text.len() - self.scan.base > left && self.batch.room() >= USUAL_PIECES {
            self.pulse.beat((self.scan.text.len() - self.scan.base).min(64 * N))?;
            self.scan.look(vectors, self.window);
            if let Some(start) = self.scan.push(vectors, self.window, self.batch) {
                return Ok(Some(start));
            }
        }
        Ok(None)
    }
}

/// Windows of each size that wait for the next text: to clear a large one for each batch would take 1 to 2 % of the time of
/// counting.
#[derive(Default)]
pub struct Windows(Option<Box<Window<1>>>, Option<Box<Window<2>>>, Option<Box<Window<WORDS>>>);

/// All that is found out about a window. One value serves many windows: what is of no use to the next one stays.
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
    found: [[Bits<N>; MARKED]; MOST],
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
    /// The first character of which this is not known. It is 0 if a piece must be cut step by step.
    limit: usize,
}

impl<const N: usize> Default for Window<N> {
    fn default() -> Self {
        let labels = Labels { at: [[0; N]; MARKED], before: [[0; N]; 1 + NO_BEGINNING], special: false };
        Self {
            relations: Relations([[0; N]; MAX_RELATIONS]),
            labels,
            fulfilled: [[0; 64]; N],
            characters: Characters::new(),
            behind: [[0; 64]; N],
            found: [[[0; N]; MARKED]; MOST],
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
    /// Mark where given pieces begin: the characters of the window begin at a place of the text.
    #[inline(always)]
    fn give(&mut self, vectors: impl Vectors, base: usize, ends: &[usize]) {
        let Characters { leads, wide, .. } = &self.characters;
        let words = if *wide { 2 * N } else { N };
        let first = ends.partition_point(|end| *end < base);
        let count = ends[first..].partition_point(|end| *end < base + 64 * words);
        // A byte for each place: a mark in a mask would wait for the mark before.
        let marks = &mut self.marks.as_flattened_mut()[..words];
        marks.as_flattened_mut().fill(0);
        for end in &ends[first..first + count] {
            marks.as_flattened_mut()[end - base] = 1;
        }
        let mut at_bytes = [[0; N]; 2];
        for (at_bytes, marks) in at_bytes.as_flattened_mut().iter_mut().zip(marks) {
            *at_bytes = vectors.non_zero(vectors.load(marks));
        }
        self.given = at_bytes[0];
        if *wide {
            let (mut given, mut before) = ([0; N], 0);
            for (at_bytes, leads) in at_bytes.as_flattened().iter().zip(leads.as_flattened()) {
                for place in places_in(0, at_bytes & leads) {
                    mark(&mut given, before + (leads & ((1 << place) - 1)).count_ones() as usize);
                }
                before += leads.count_ones() as usize;
            }
            self.given = given;
        }
        self.starts = self.given;
    }

    /// Give each character the atom that tells what follows. If that is not in the window, the window is shorter.
    #[inline(always)]
    fn tell_ahead(&mut self, vectors: impl Vectors, ahead: &Ahead) {
        let mut open = [0; N];
        for (open, atoms) in open.iter_mut().zip(self.characters.atoms[1..].as_chunks().0) {
            *open = vectors.non_zero(vectors.look_up(&ahead.is_open, vectors.load(atoms)));
        }
        clear(&mut open, self.characters.count, 64 * N);
        if open != [0; N] {
            self.tell_open(ahead, &open);
        }
    }

    #[inline(never)]
    fn tell_open(&mut self, ahead: &Ahead, open: &Bits<N>) {
        let Characters { atoms, count, ends, .. } = &mut self.characters;
        let others = open.map(|word| !word);
        let mut place = 0;
        while let Some(start) = first_from(open, place) {
            let end = first_from(&others, start).map_or(*count, |end| end.min(*count));
            if end == *count && !*ends {
                self.limit = start.saturating_sub(1);
                return;
            }
            let behind = (end < *count).then(|| atoms[1 + end]);
            ahead.tell(&mut atoms[1 + start..1 + end], behind);
            place = end;
        }
    }

    /// Results after the last place that is not open may still change, and a window begins at such a place.
    fn limit_to_sure(&mut self) {
        if !self.is_whole() {
            self.limit = last_not_in(&self.open, self.limit).map_or(0, |place| place + 1);
        }
    }

    /// Let the next window begin where a piece does, if it can: a place that is unsure is settled from there on.
    fn limit_to_beginning(&mut self) {
        if self.is_whole() {
            return;
        }
        let within: Bits<N> = std::array::from_fn(|word| self.open[word] | self.within[word]);
        match last_not_in(&within, self.limit).filter(|place| *place > 0) {
            Some(place) => self.limit = place + 1,
            None => self.limit_to_sure(),
        }
    }

    /// How far the piece of the pattern before is known that a place is in, and whether it ends there.
    fn piece_end(&self, index: usize, before: &Bits<N>, place: usize) -> (usize, bool) {
        let whole = self.is_whole();
        let known = if whole { self.limit } else { self.limit + usize::from(index > 0) };
        let next = first_from(before, place + 1).filter(|next| *next < known);
        (next.unwrap_or(known), next.is_some() || whole)
    }

    /// Whether everything up to the end of the text is known.
    fn is_whole(&self) -> bool {
        self.characters.ends && self.limit == self.characters.count
    }
}

impl JointScan<'_> {
    /// Find where pieces begin in the next window.
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
        window.limit = count - usize::from(!ends);
        (window.starts, window.open, window.within) = ([0; N], [0; N], [0; N]);
        if let Some(ahead) = &joint.ahead {
            window.tell_ahead(vectors, ahead);
        }
        let first_cut = match self.given {
            Some(given) => {
                window.give(vectors, self.base, given);
                0
            }
            None => 1,
        };
        for (index, (step, first)) in joint.steps.iter().zip(self.first).enumerate() {
            let Window { relations, fulfilled, characters, behind: ended, starts, .. } = window;
            let mut behind = &characters.atoms[2..2 + 64 * N];
            if index >= first_cut {
                if index == first_cut {
                    ended.as_flattened_mut().copy_from_slice(behind);
                }
                end_before(vectors, starts, joint.alphabet.end, ended);
                behind = ended.as_flattened();
            }
            step.rules.find_relations(vectors, characters, behind, relations, fulfilled);
            if index > 0 && !window.is_whole() {
                window.limit_to_sure();
                window.limit = window.limit.saturating_sub(1);
            }
            match &step.matcher {
                Matcher::Automaton(automaton) => self.label(vectors, index, automaton, first, window),
                Matcher::Views(views) => self.run_in_places(index, views, window),
            }
        }
        window.limit_to_beginning();
    }

    /// Find the labels of all characters for a pattern, given that of the first.
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
        let mut given = [window.starts, [0; N], [0; N]];
        for (label, given) in Label::MARKED.into_iter().zip(&mut given) {
            given[0] |= u64::from(label == first);
        }
        let [unsure, open] = rules.label(vectors, &window.relations, &mut window.labels, &given);
        if unsure != [0; N] && first_from(&unsure, 0).is_some_and(|place| place < window.limit) {
            self.settle(index, automaton, &unsure, &open, window);
        }
        window.found[index % MOST] = window.labels.at;
        window.starts = window.labels.at[0];
        if rules.tells(Told::Unsure) || rules.tells(Told::Contradicted) {
            window.within = [!0; N];
            vectors.take_away(&mut window.within, &window.labels.at[0]);
        }
        if rules.opens() {
            vectors.join(&mut window.open, &open, &open);
        }
    }

    /// Run a pattern where the masks are unsure, and correct their result. What is within a piece that is found so has no
    /// label.
    #[inline(never)]
    fn settle<const N: usize>(
        &self,
        index: usize,
        automaton: &Automaton,
        unsure: &Bits<N>,
        open: &Bits<N>,
        window: &mut Window<N>,
    ) {
        let (before, mut settled, mut left) = (window.starts, 0, MAX_READ);
        while let Some(place) = first_from(unsure, settled + 1).filter(|place| *place < window.limit) {
            let sure = last_not_in(open, place).unwrap_or(0).max(settled);
            let Some(mut start) = last_in(&window.labels.at[0], sure + 1) else {
                window.limit = 0;
                return;
            };
            loop {
                let end = self.piece_end_within(index, automaton, start, &before, window, &mut left);
                let Some(end) = end.filter(|_| left > 0) else {
                    window.limit = if left == 0 { 0 } else { start };
                    return;
                };
                let known = end < window.limit && is_in(&window.labels.at[0], end) && !is_in(unsure, end);
                clear(&mut window.labels.at[0], start + 1, end.min(window.limit));
                (start + 1..end.min(window.limit)).for_each(|within| mark(&mut window.open, within));
                if end >= window.limit {
                    return;
                }
                mark(&mut window.labels.at[0], end);
                start = end;
                if end > place && known {
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
        before: &Bits<N>,
        window: &Window<N>,
        left: &mut usize,
    ) -> Option<usize> {
        let (piece_end, has_end) = window.piece_end(index, before, start);
        let own = &self.joint.steps[index].atoms;
        for place in start..piece_end {
            let atoms = window.characters.atoms[1 + place..=piece_end].iter();
            let atoms = atoms.map(|atom| own[usize::from(*atom) % MOST_ATOMS]);
            let atoms = atoms.chain(has_end.then_some(automaton.alphabet.end));
            match automaton.match_within(atoms.inspect(|_| *left = left.saturating_sub(1))) {
                PartialMatch::End(length) if place == start => return Some(start + length),
                PartialMatch::End(_) => return Some(place),
                PartialMatch::GoesOn => return None,
                PartialMatch::Nothing => {}
            }
        }
        has_end.then_some(piece_end)
    }

    /// Run a pattern from each place where a match may begin. No window begins within a match.
    #[inline(never)]
    fn run_in_places<const N: usize>(&self, index: usize, views: &Views, window: &mut Window<N>) {
        let (before, mut starts, mut from) = (window.starts, [0; N], 0);
        let (step, mut viewed) = (&self.joint.steps[index], Viewed { known: [0; ATOMS_OF_WINDOW], until: 0 });
        let may_begin = *step.rules.always(&window.relations, Told::Begins);
        while let Some(place) = first_from(&may_begin, from).filter(|place| *place < window.limit) {
            let piece = window.piece_end(index, &before, place);
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
                    (place + 1..from).for_each(|within| mark(&mut window.open, within));
                }
            }
        }
        for (all, new) in window.starts.iter_mut().zip(starts) {
            *all |= new;
        }
        window.found[index % MOST][0] = starts;
    }

    /// Push the pieces of a window and go on to the next one, unless a piece must be cut step by step: returns its start.
    #[inline(always)]
    fn push<const N: usize>(
        &mut self,
        vectors: impl Vectors,
        window: &Window<N>,
        batch: &mut Batch,
    ) -> Option<usize> {
        let Characters { leads, wide, .. } = &window.characters;
        let (mut starts, done) = (window.starts, self.done.saturating_sub(self.base));
        clear(&mut starts, window.limit, 64 * N);
        let (end, had_room) = if *wide {
            let mut starts = at_bytes(vectors, &starts, leads);
            clear(starts.as_flattened_mut(), 0, done + 1);
            push_starts(vectors, self.base, starts.as_flattened(), batch)
        } else {
            clear(&mut starts, 0, done + 1);
            push_starts(vectors, self.base, &starts, batch)
        };
        self.done = self.done.max(end);
        if !had_room || batch.room() == 0 {
            return None;
        }
        if window.is_whole() {
            (self.base, self.done) = (self.text.len(), batch.push_to(self.text.len()));
            return None;
        }
        let first_starts = if self.given.is_some() { &window.given } else { &window.found[0][0] };
        if let Some(start) = last_in(first_starts, window.limit) {
            self.piece = self.base + window.characters.byte_of(vectors, start);
        }
        let Some(last) = window.limit.checked_sub(1).filter(|last| *last > 0) else {
            return Some(self.piece);
        };
        self.base += window.characters.byte_of(vectors, last);
        if !self.joint.is_decided && self.base - self.piece >= WINDOW {
            return Some(self.piece);
        }
        for (found, first) in window.found.iter().zip(&mut self.first).take(self.joint.steps.len()) {
            let label = Label::MARKED.into_iter().zip(found).find(|(_, places)| is_in(&places[..], last));
            *first = label.map_or(Label::Usual, |(label, _)| label);
        }
        None
    }
}

/// Let the text end before each start of a piece.
#[inline(always)]
fn end_before<const N: usize>(vectors: impl Vectors, starts: &Bits<N>, end: u8, behind: &mut [[u8; 64]; N]) {
    for (word, behind) in behind.iter_mut().enumerate() {
        let next = starts.get(word + 1).copied().unwrap_or(0);
        let ended = starts[word] >> 1 | next << 63;
        vectors.store(vectors.choose(ended, vectors.splat(end), vectors.load(behind)), behind);
    }
}

/// Move bits of characters to the first bytes of the characters.
#[inline(always)]
fn at_bytes<const N: usize>(vectors: impl Vectors, bits: &Bits<N>, leads: &[Bits<N>; 2]) -> [Bits<N>; 2] {
    let mut at_bytes = [[0; N]; 2];
    let mut place = 0;
    for (at_bytes, &leads) in at_bytes.as_flattened_mut().iter_mut().zip(leads.as_flattened()) {
        let (first, from) = (place / 64 % N, place % 64);
        let behind = bits.get(first + 1).copied().unwrap_or(0);
        let next = bits[first] >> from | (behind << 1) << (63 - from);
        place += leads.count_ones() as usize;
        *at_bytes = vectors.spread(next, leads);
    }
    at_bytes
}

/// Add the pieces that end where the next ones begin, as far as there is room; returns the last place where one begins,
/// or 0, and whether there was room for all.
#[inline(always)]
fn push_starts(vectors: impl Vectors, base: usize, begins: &[u64], batch: &mut Batch) -> (usize, bool) {
    let mut end = 0;
    for (word, &bits) in begins.iter().enumerate() {
        if bits != 0 {
            let Some(ends) = batch.spare() else { return (end, false) };
            vectors.positions(base + 64 * word, bits, ends);
            batch.add(bits.count_ones() as usize);
            end = base + 64 * word + 63 - bits.leading_zeros() as usize;
        }
    }
    (end, true)
}
