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

use super::bits::{clear, first_from, is_in, last_in, last_not_in, mark};
use super::reading::{Characters, Reader};
use super::*;
use crate::error::Result;
use crate::pretokenize::Batch;
use crate::pretokenize::alphabet::Alphabet;
use crate::pretokenize::automaton::PartialMatch;
use crate::pretokenize::compiled::{Compiled, Run};
use crate::pretokenize::set::CharSet;
#[cfg(target_arch = "aarch64")]
use crate::pretokenize::vectors::Neon;
use crate::pretokenize::vectors::{ATOMS, Portable, Terms};
#[cfg(target_arch = "x86_64")]
use crate::pretokenize::vectors::{Avx2, Avx512};
use crate::pretokenize::views::Viewed;
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
    instructions: Instructions,
    alphabet: Alphabet,
    steps: Vec<JointStep>,
    /// Whether matches that have begun never fail. If not, a piece may turn out wrong at its end: a long one is not cut by
    /// masks.
    is_decided: bool,
}

struct JointStep {
    /// The rules, or if the pattern is run in places, the rule for these.
    rules: MaskRules,
    in_places: bool,
    /// The atoms of the pattern, by those that all patterns share.
    atoms: [u8; ATOMS],
}

impl Joint {
    /// A pattern alone.
    pub fn of_one(alphabet: &Alphabet, rules: &MaskRules, is_decided: bool) -> Self {
        let atoms = std::array::from_fn(|atom| atom as u8);
        let step = JointStep { rules: rules.with_atoms(&atoms, alphabet, true), in_places: false, atoms };
        let (alphabet, steps) = (alphabet.clone(), vec![step]);
        Self { instructions: Instructions::this(), alphabet, steps, is_decided }
    }

    /// As many of the first patterns as can be cut together, if there are several.
    pub fn new(patterns: &[&Compiled]) -> Option<Self> {
        let found = patterns.iter().take(MOST).map_while(|pattern| pattern.for_windows());
        let found: Vec<(&Alphabet, MaskRules, bool)> = found.collect();
        (2..=found.len()).rev().find_map(|count| {
            let sets: Vec<CharSet> =
                patterns[..count].iter().flat_map(|pattern| pattern.sets()).cloned().collect();
            Self::of(&found[..count], &sets)
        })
    }

    fn of(patterns: &[(&Alphabet, MaskRules, bool)], sets: &[CharSet]) -> Option<Self> {
        let alphabets: Vec<&Alphabet> = patterns.iter().map(|(alphabet, ..)| *alphabet).collect();
        let (alphabet, atoms) = Alphabet::joint(sets, &alphabets, ATOMS)?;
        let step = |((_, rules, in_places), atoms): (&(_, MaskRules, bool), Vec<u8>)| {
            let mut own = [0; ATOMS];
            own[..atoms.len()].copy_from_slice(&atoms);
            let rules = rules.with_atoms(&own, &alphabet, !in_places);
            JointStep { rules, in_places: *in_places, atoms: own }
        };
        let steps = patterns.iter().zip(atoms).map(step).collect();
        Some(Self { instructions: Instructions::this(), alphabet, steps, is_decided: true })
    }

    /// How many of the patterns.
    pub fn count(&self) -> usize {
        self.steps.len()
    }

    /// The rules of the first pattern.
    pub fn first_rules(&self) -> Option<&MaskRules> {
        self.steps.first().map(|step| &step.rules)
    }

    /// Use other instructions, which this machine must support.
    #[cfg(test)]
    pub fn on(mut self, instructions: Instructions) -> Self {
        self.instructions = instructions;
        self
    }

    #[cfg(test)]
    pub fn instructions(&self) -> Instructions {
        self.instructions
    }

    /// Begin to cut a part of a text.
    pub fn scan<'a>(
        &'a self,
        patterns: impl IntoIterator<Item = &'a Compiled>,
        text: &'a str,
        start: usize,
    ) -> JointScan<'a> {
        let mut patterns = patterns.into_iter().take(self.steps.len());
        JointScan {
            joint: self,
            patterns: std::array::from_fn(|_| patterns.next()),
            run: Run::default(),
            text,
            base: start,
            before: [Before::Label(Label::Begins); MOST],
            piece: start,
            done: start,
        }
    }
}

impl MaskRules {
    /// The same for other atoms. If the label of the first character of a window is known, no rule is about it, but the one
    /// for what its label implies.
    fn with_atoms(&self, own: &[u8; ATOMS], alphabet: &Alphabet, is_known: bool) -> Self {
        let mut rules = self.clone();
        for eight in rules.plain.iter_mut().chain(&mut rules.wide) {
            let Terms { before, at, behind, few_atoms } = &mut eight.terms;
            for entries in [&mut *before, at, behind] {
                *entries = own.map(|atom| entries[usize::from(atom)]);
            }
            let about_first = |part: &&Use| !is_known || Some(part.relation) == self.open.opens_here;
            before[usize::from(alphabet.end)] &=
                eight.uses.iter().filter(about_first).fold(0, |terms, part| terms | part.terms);
            *few_atoms = alphabet.count <= 16;
        }
        rules
    }
}

/// What is known about the first character of a window, for one pattern.
#[derive(Clone, Copy)]
enum Before {
    Label(Label),
    /// The pattern is run in places: so many characters belong to a match that has begun before.
    Match(usize),
}

/// Cuts one text.
pub struct JointScan<'a> {
    joint: &'a Joint,
    patterns: [Option<&'a Compiled>; MOST],
    /// The search for matches of the first pattern.
    run: Run,
    text: &'a str,
    /// The start of the next window, and what each pattern knows of it.
    base: usize,
    before: [Before; MOST],
    /// The start of the last piece of the first pattern, and the place up to which all pieces are done.
    piece: usize,
    done: usize,
}

/// What a joint scan needs next.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Room, or nothing if the text is at its end.
    Room,
    /// The piece of the first pattern that begins here must be cut step by step.
    Help(usize),
}

impl JointScan<'_> {
    /// Add the next pieces to a batch that is nearly empty.
    pub fn fill(&mut self, batch: &mut Batch, pulse: &mut Pulse) -> Result<Needs> {
        while self.base < self.text.len() {
            let left = self.text.len() - self.base;
            let filling = Filling { scan: self, batch, pulse };
            let needs = match left {
                ..=64 => filling.run::<1>()?,
                65..=SHORT_REST => filling.run::<2>()?,
                _ => filling.run::<WORDS>()?,
            };
            if let Some(needs) = needs {
                return Ok(needs);
            }
        }
        Ok(Needs::Room)
    }

    /// The same for a pattern alone, which helps itself.
    pub fn fill_alone(&mut self, batch: &mut Batch, pulse: &mut Pulse) -> Result<()> {
        while let Needs::Help(start) = self.fill(batch, pulse)? {
            // Where one piece is not told by a window, the next ones often are not, either.
            let mut end = start;
            while end < self.text.len().min(start + WINDOW) && batch.room() > 0 {
                end = self.piece_end(end, pulse)?;
                batch.push(end);
            }
            self.go_on_at(end);
        }
        Ok(())
    }

    /// The place up to which all pieces are done.
    pub fn done(&self) -> usize {
        self.done
    }

    /// The end of the piece of the first pattern that begins at a place. (Not inlined: it needs much of a small stack.)
    #[inline(never)]
    pub fn piece_end(&mut self, start: usize, pulse: &mut Pulse) -> Result<usize> {
        let Some(pattern) = self.patterns[0] else { return Ok(self.text.len()) };
        Ok(pattern.piece_end(self.text, start, &mut self.run, pulse)?.0)
    }

    /// Go on where a piece of the first pattern ends, whose pieces are found.
    pub fn go_on_at(&mut self, end: usize) {
        (self.base, self.piece, self.done) = (end, end, end);
        self.before = [Before::Label(Label::Begins); MOST];
    }
}

/// Fills a batch from windows.
struct Filling<'f, 'a, 'p> {
    scan: &'f mut JointScan<'a>,
    batch: &'f mut Batch,
    pulse: &'f mut Pulse<'p>,
}

impl Filling<'_, '_, '_> {
    fn run<const N: usize>(self) -> Result<Option<Needs>> {
        match self.scan.joint.instructions {
            Instructions::Portable(vectors) => self.run_portably::<N>(vectors),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the value proves that this machine has the instructions.
            Instructions::Avx2(vectors) => unsafe { self.run_by_avx2::<N>(vectors) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the value proves that this machine has the instructions.
            Instructions::Avx512(vectors) => unsafe { self.run_by_avx512::<N>(vectors) },
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon(vectors) => self.run_by_neon::<N>(vectors),
        }
    }

    // Functions of their own for each size of window: together they would need too much of a small stack.

    #[inline(never)]
    fn run_portably<const N: usize>(self, vectors: Portable) -> Result<Option<Needs>> {
        self.run_by::<N>(vectors)
    }

    #[cfg(target_arch = "aarch64")]
    #[inline(never)]
    fn run_by_neon<const N: usize>(self, vectors: Neon) -> Result<Option<Needs>> {
        self.run_by::<N>(vectors)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn run_by_avx512<const N: usize>(self, vectors: Avx512) -> Result<Option<Needs>> {
        self.run_by::<N>(vectors)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(never)]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn run_by_avx2<const N: usize>(self, vectors: Avx2) -> Result<Option<Needs>> {
        self.run_by::<N>(vectors)
    }

    /// Add the pieces of windows of `N` words. If there are larger windows, a short rest is left.
    #[inline(always)]
    fn run_by<const N: usize>(self, vectors: impl Vectors) -> Result<Option<Needs>> {
        let left = if N == WORDS { SHORT_REST } else { 0 };
        let mut window = Window::<N>::new();
        while self.scan.text.len() - self.scan.base > left {
            self.pulse.beat((self.scan.text.len() - self.scan.base).min(64 * N))?;
            if self.batch.room() < USUAL_PIECES {
                return Ok(Some(Needs::Room));
            }
            self.scan.look(vectors, &mut window);
            if let Some(needs) = self.scan.push(vectors, &window, self.batch) {
                return Ok(Some(needs));
            }
        }
        Ok(None)
    }
}

/// All that is found out about a window. One value serves all windows of a call: what is of no use to the next one stays.
///
/// Masks are aligned to cache lines, so that no load or store of 64 bytes touches two.
#[repr(C, align(64))]
struct Window<const N: usize> {
    relations: Relations<N>,
    labels: Labels<N>,
    fulfilled: [[u8; 64]; N],
    characters: Characters<N>,
    /// The atoms behind each place: the end of the text where a piece of the pattern before ends.
    behind: [[u8; 64]; N],
    /// The labels for each pattern; for one that is run in places, where matches begin and end.
    found: [[Bits<N>; MARKED]; MOST],
    /// Where the pieces of the patterns so far begin.
    starts: Bits<N>,
    /// The characters after which a state of any pattern may be open.
    open: Bits<N>,
    /// The characters within pieces of patterns that may be unsure.
    within: Bits<N>,
    /// The first character of which this is not known, and whether that is so whatever the next window says.
    limit: usize,
    is_unsure: bool,
}

impl<const N: usize> Window<N> {
    fn new() -> Self {
        let labels = Labels { at: [[0; N]; MARKED], before: [[0; N]; 1 + NO_BEGINNING], special: false };
        Self {
            relations: Relations([[0; N]; MAX_RELATIONS]),
            labels,
            fulfilled: [[0; 64]; N],
            characters: Characters::new(),
            behind: [[0; 64]; N],
            found: [[[0; N]; MARKED]; MOST],
            starts: [0; N],
            open: [0; N],
            within: [0; N],
            limit: 0,
            is_unsure: false,
        }
    }

    /// Where the pieces of the first pattern begin.
    fn first_starts(&self, joint: &Joint) -> Bits<N> {
        let [begins, ends, _] = self.found[0];
        let in_places = joint.steps.first().is_some_and(|step| step.in_places);
        std::array::from_fn(|word| begins[word] | if in_places { ends[word] } else { 0 })
    }

    /// Results after the last place that is not open may still change, and a window begins at such a place.
    fn limit_to_sure(&mut self) {
        if !self.is_whole() {
            self.limit = last_not_in(&self.open, self.limit).map_or(0, |place| place + 1);
        }
    }

    /// Let the next window begin where a piece does, if it can: a place that is unsure is settled from there on.
    fn limit_to_beginning(&mut self) {
        let within: Bits<N> = std::array::from_fn(|word| self.open[word] | self.within[word]);
        match last_not_in(&within, self.limit).filter(|place| *place > 0) {
            Some(place) if !self.is_whole() => self.limit = place + 1,
            _ => self.limit_to_sure(),
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
        let reader = Reader { text: self.text.as_bytes(), alphabet: &joint.alphabet };
        reader.read(vectors, self.base, &mut window.characters);
        let Characters { count, ends, .. } = window.characters;
        (window.limit, window.is_unsure) = (count - usize::from(!ends), false);
        (window.starts, window.open, window.within) = ([0; N], [0; N], [0; N]);
        for (index, (step, before)) in joint.steps.iter().zip(self.before).enumerate() {
            let Window { relations, fulfilled, characters, behind, starts, .. } = window;
            let atoms_behind = &characters.atoms[2..2 + 64 * N];
            if index == 0 {
                step.rules.find_relations(vectors, characters, atoms_behind, relations, fulfilled);
            } else {
                if index == 1 {
                    behind.as_flattened_mut().copy_from_slice(atoms_behind);
                }
                end_before(vectors, starts, joint.alphabet.end, behind);
                let behind = behind.as_flattened();
                step.rules.find_relations(vectors, characters, behind, relations, fulfilled);
                if !window.is_whole() {
                    window.limit = window.limit.saturating_sub(1);
                }
            }
            if step.in_places {
                self.run_in_places(index, before, window);
                continue;
            }
            let mut given = [window.starts, [0; N], [0; N]];
            for (label, given) in Label::MARKED.into_iter().zip(&mut given) {
                given[0] |= u64::from(matches!(before, Before::Label(known) if known == label));
            }
            let mut found = step.rules.label(vectors, &window.relations, &mut window.labels, &given);
            window.found[index % MOST] = window.labels.at;
            if first_from(&found.unsure, 0).is_some_and(|place| place < window.limit) {
                self.settle(index, &mut found, window);
                window.found[index % MOST][0] = found.begins;
            }
            window.starts = found.begins;
            if step.rules.may_be_unsure() {
                vectors.join(&mut window.within, &[!0; N], &[!0; N]);
                vectors.take_away(&mut window.within, &found.begins);
            }
            if step.rules.opens() {
                vectors.join(&mut window.open, &found.open, &found.open);
                window.limit_to_sure();
            }
        }
        window.limit_to_beginning();
    }

    /// Run a pattern where the masks are unsure, and correct their result. What is within a piece that is found so has no
    /// label.
    #[inline(never)]
    fn settle<const N: usize>(&self, index: usize, found: &mut WindowBits<N>, window: &mut Window<N>) {
        let (before, mut settled, mut left) = (window.starts, 0, MAX_READ);
        while let Some(unsure) =
            first_from(&found.unsure, settled + 1).filter(|unsure| *unsure < window.limit)
        {
            let sure = last_not_in(&found.open, unsure).unwrap_or(0).max(settled);
            let Some(mut start) = last_in(&found.begins, sure + 1) else {
                (window.limit, window.is_unsure) = (unsure, true);
                return;
            };
            loop {
                let end = self.piece_end_within(index, start, &before, window, &mut left);
                let Some(end) = end.filter(|_| left > 0) else {
                    (window.limit, window.is_unsure) = (start, left == 0);
                    return;
                };
                let known = end < window.limit && is_in(&found.begins, end) && !is_in(&found.unsure, end);
                clear(&mut found.begins, start + 1, end.min(window.limit));
                (start + 1..end.min(window.limit)).for_each(|within| mark(&mut window.open, within));
                if end >= window.limit {
                    return;
                }
                mark(&mut found.begins, end);
                start = end;
                if end > unsure && known {
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
        start: usize,
        before: &Bits<N>,
        window: &Window<N>,
        left: &mut usize,
    ) -> Option<usize> {
        let automaton = self.patterns[index]?.automaton()?;
        let (piece_end, has_end) = window.piece_end(index, before, start);
        let own = &self.joint.steps[index].atoms;
        for place in start..piece_end {
            let atoms = window.characters.atoms[1 + place..=piece_end].iter();
            let atoms = atoms.map(|atom| own[usize::from(*atom) % ATOMS]);
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

    /// Run a pattern from each place where a match may begin.
    #[inline(never)]
    fn run_in_places<const N: usize>(&self, index: usize, before: Before, window: &mut Window<N>) {
        let busy = if let Before::Match(characters) = before { characters } else { 0 };
        let (before, mut begins, mut ends) = (window.starts, [0; N], [0; N]);
        let Some(views) = self.patterns[index].and_then(Compiled::views) else { return };
        let (step, mut viewed, mut from) = (&self.joint.steps[index], Viewed::new(), busy);
        if busy > 0 {
            mark(&mut ends, busy);
        }
        let may_begin = *window.relations.places(step.rules.marked[0].always);
        while let Some(place) = first_from(&may_begin, from).filter(|place| *place < window.limit) {
            viewed.go_on(place, window.piece_end(index, &before, place));
            let atoms = &window.characters.atoms;
            match viewed.match_at(views, place, |at| step.atoms[usize::from(atoms[1 + at]) % ATOMS]) {
                PartialMatch::Nothing => from = place + 1,
                PartialMatch::GoesOn => window.limit = place,
                PartialMatch::End(length) => {
                    from = place + length;
                    mark(&mut begins, place);
                    mark(&mut ends, from);
                }
            }
        }
        for word in 0..N {
            window.starts[word] |= begins[word] | ends[word];
        }
        window.found[index][..2].copy_from_slice(&[begins, ends]);
    }

    /// Push the pieces of a window and go on to the next one.
    #[inline(always)]
    fn push<const N: usize>(
        &mut self,
        vectors: impl Vectors,
        window: &Window<N>,
        batch: &mut Batch,
    ) -> Option<Needs> {
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
            return Some(Needs::Room);
        }
        if let Some(place) = last_in(&window.first_starts(self.joint), window.limit) {
            self.piece = self.base + window.characters.byte_of(place);
        }
        if window.is_whole() {
            (self.base, self.done) = (self.text.len(), batch.push_to(self.text.len()));
            return None;
        }
        let Some(last) = window.limit.checked_sub(1).filter(|last| *last > 0 && !window.is_unsure) else {
            return Some(Needs::Help(self.piece));
        };
        self.base += window.characters.byte_of(last);
        if !self.joint.is_decided && self.base - self.piece >= WINDOW {
            return Some(Needs::Help(self.piece));
        }
        for (step, (before, found)) in self.joint.steps.iter().zip(self.before.iter_mut().zip(&window.found))
        {
            *before = match *before {
                _ if !step.in_places => {
                    let marked = Label::MARKED.into_iter().zip(found);
                    let label = marked.clone().find(|(_, places)| is_in(&places[..], last));
                    Before::Label(label.map_or(Label::Usual, |(label, _)| label))
                }
                before => {
                    let known = if let Before::Match(characters) = before { characters } else { 0 };
                    let begin = last_in(&found[0], last + 1);
                    let end = begin.map_or(known, |begin| first_from(&found[1], begin + 1).unwrap_or(64 * N));
                    Before::Match(end.saturating_sub(last))
                }
            };
        }
        None
    }
}

/// Let the text end before each start of a piece.
#[inline(always)]
fn end_before<const N: usize>(vectors: impl Vectors, starts: &Bits<N>, end: u8, behind: &mut [[u8; 64]; N]) {
    for (word, behind) in behind.iter_mut().enumerate() {
        let next = starts.get(word + 1).copied().unwrap_or(0);
        vectors.look_up(&[end; 64], &[0; 64], starts[word] >> 1 | next << 63, behind);
    }
}

/// Move bits of characters to the first bytes of the characters.
#[inline(always)]
fn at_bytes<const N: usize>(vectors: impl Vectors, bits: &Bits<N>, leads: &BytesBits<N>) -> BytesBits<N> {
    let mut at_bytes = [[0; N]; 2];
    let mut place = 0;
    for (at_bytes, &leads) in at_bytes.as_flattened_mut().iter_mut().zip(leads.as_flattened()) {
        let (first, from) = (place / 64 % N, place % 64);
        let behind = bits.get(first + 1).copied().unwrap_or(0);
        let next = bits[first] >> from | (behind << 1) << (63 - from);
        place += leads.count_ones() as usize;
        *at_bytes = vectors.choose(next, leads);
    }
    at_bytes
}

/// Add the pieces that end where the next ones begin, as far as there is room; returns the last place where one begins,
/// and whether there was room for all.
#[inline(always)]
fn push_starts(vectors: impl Vectors, base: usize, begins: &[u64], batch: &mut Batch) -> (usize, bool) {
    let mut end = base;
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
