//! Several patterns at once: each cuts the pieces of the one before, and all look at the same windows.
//!
//! The starts of the pieces of a pattern are a mask for the next one. A piece begins at each of them, and the character
//! before it has nothing behind it: whatever a rule says about the end of the text holds there.
//!
//! A pattern without local rules, or whose matches may begin and fail, is run in places with [views](super::super::views), if
//! a match can begin at few of them.
//!
//! Where the masks of a pattern are unsure, the pattern is run within its own piece, as if it were alone.
//!
//! A window begins with the last character of the one before, whose labels are known; so it may begin within a piece. What
//! depends on more than a window is left to the caller: a whole piece of the first pattern is then cut step by step.

use super::reading::{Characters, Reader};
use super::*;
use crate::pretokenize::alphabet::Alphabet;
use crate::pretokenize::local::USUAL;
use crate::pretokenize::views::Viewed;

/// The maximum number of patterns.
const MOST: usize = 8;

/// In a window, this many characters are read again at most where masks are unsure.
const MAX_READ: usize = 4 * WINDOW;

/// Patterns that cut text together.
pub struct Joint {
    instructions: Instructions,
    alphabet: Alphabet,
    steps: Vec<JointStep>,
}

struct JointStep {
    /// The scanner, or if the pattern is run in places, the rule for these.
    scanner: MaskScanner,
    in_places: bool,
    /// The atoms of the pattern, by those that all patterns share.
    atoms: [u8; ATOMS],
}

impl Joint {
    /// As many of the first patterns as can be cut together, if there are several.
    pub fn new(patterns: &[&Compiled]) -> Option<Self> {
        let found = patterns.iter().take(MOST).map_while(|pattern| pattern.for_windows());
        let found: Vec<(&Alphabet, MaskScanner, bool)> = found.collect();
        (2..=found.len()).rev().find_map(|count| Self::of(&found[..count]))
    }

    fn of(patterns: &[(&Alphabet, MaskScanner, bool)]) -> Option<Self> {
        let alphabets: Vec<&Alphabet> = patterns.iter().map(|(alphabet, ..)| *alphabet).collect();
        let (alphabet, atoms) = Alphabet::joint(&alphabets, ATOMS)?;
        let step = |((_, scanner, in_places), atoms): (&(_, MaskScanner, bool), Vec<u8>)| {
            let mut own = [0; ATOMS];
            own[..atoms.len()].copy_from_slice(&atoms);
            JointStep {
                scanner: scanner.with_atoms(&own, &alphabet, !in_places),
                in_places: *in_places,
                atoms: own,
            }
        };
        let steps = patterns.iter().zip(atoms).map(step).collect();
        Some(Self { instructions: Instructions::this(), alphabet, steps })
    }

    /// How many of the patterns.
    pub fn count(&self) -> usize {
        self.steps.len()
    }

    /// Use other instructions, which this machine must support.
    #[cfg(test)]
    pub fn on(mut self, instructions: Instructions) -> Self {
        self.instructions = instructions;
        self
    }

    /// Begin to cut a part of a text.
    pub fn scan<'a>(
        &'a self,
        patterns: impl Iterator<Item = &'a Compiled>,
        text: &'a str,
        start: usize,
    ) -> JointScan<'a> {
        let patterns: Vec<&Compiled> = patterns.take(self.steps.len()).collect();
        JointScan {
            joint: self,
            patterns,
            run: Run::default(),
            text,
            base: start,
            labels: [0; MOST],
            piece: start,
            done: start,
        }
    }
}

impl MaskScanner {
    /// The same for other atoms, without the rules of gaps. If the label of the first character of a window is known, no
    /// rule is about it, but the one for what its label implies.
    fn with_atoms(&self, own: &[u8; ATOMS], alphabet: &Alphabet, is_known: bool) -> Self {
        let mut scanner = self.clone();
        for eight in scanner.plain.iter_mut().chain(&mut scanner.wide) {
            let Terms { before, at, behind, few_atoms } = &mut eight.terms;
            for entries in [&mut *before, at, behind] {
                *entries = own.map(|atom| entries[usize::from(atom)]);
            }
            let about_first = |part: &&Use| !is_known || Some(part.relation) == self.opens_here;
            before[usize::from(alphabet.end)] &=
                eight.uses.iter().filter(about_first).fold(0, |terms, part| terms | part.terms);
            *few_atoms = alphabet.count <= 16;
            eight.uses.retain(|part| Some(part.relation) != self.gaps);
        }
        scanner.gaps = None;
        scanner
    }

    fn may_be_unsure(&self) -> bool {
        self.always[UNSURE].or(self.contradicts).is_some() || !self.unsure.is_empty()
    }
}

/// Cuts one text.
pub struct JointScan<'a> {
    joint: &'a Joint,
    patterns: Vec<&'a Compiled>,
    /// The search for matches of the first pattern.
    run: Run,
    text: &'a str,
    /// The start of the next window.
    base: usize,
    /// For each pattern, the label of the character there; for one that is run in places, how many characters from there on
    /// belong to a match that has begun before.
    labels: [usize; MOST],
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
        let mut job = Joining { scan: self, batch, pulse, needs: None };
        while job.needs.is_none() && job.scan.base < job.scan.text.len() {
            run_in_windows(job.scan.joint.instructions, job.scan.text.len() - job.scan.base, &mut job)?;
        }
        Ok(job.needs.unwrap_or(Needs::Room))
    }

    /// The place up to which all pieces are done.
    pub fn done(&self) -> usize {
        self.done
    }

    /// The end of the piece of the first pattern that begins at a place.
    pub fn piece_end(&mut self, start: usize, pulse: &mut Pulse) -> Result<usize> {
        Ok(self.patterns[0].piece_end(self.text, start, &mut self.run, pulse)?.0)
    }

    /// Go on where a piece of the first pattern ends, whose pieces are found.
    pub fn go_on_at(&mut self, end: usize) {
        (self.base, self.piece, self.done, self.labels) = (end, end, end, [0; MOST]);
    }
}

struct Joining<'j, 'a, 'p> {
    scan: &'j mut JointScan<'a>,
    batch: &'j mut Batch,
    pulse: &'j mut Pulse<'p>,
    needs: Option<Needs>,
}

/// What is found out about a window by all patterns.
#[repr(C, align(64))]
struct JointWindow<const N: usize> {
    scan: ScanWindow<N>,
    /// The atoms behind each place: the end of the text where a piece ends.
    behind: [[u8; 64]; WORDS],
    /// The labels for each pattern; for one that is run in places, where matches begin and end.
    labels: [[Bits<N>; LABELLED.len()]; MOST],
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

impl<const N: usize> JointWindow<N> {
    /// Where the pieces of the first pattern begin.
    fn first_starts(&self, joint: &Joint) -> Bits<N> {
        let [begins, ends, _] = self.labels[0];
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
        self.scan.characters.ends && self.limit == self.scan.characters.count
    }
}

impl WindowJob for Joining<'_, '_, '_> {
    #[inline(always)]
    unsafe fn run<V: Vectors, const N: usize>(&mut self) -> Result<()> {
        let left = if N == WORDS { SHORT_REST } else { 0 };
        let mut window = JointWindow {
            scan: ScanWindow::new(),
            behind: [[0; 64]; WORDS],
            labels: [[[0; N]; LABELLED.len()]; MOST],
            starts: [0; N],
            open: [0; N],
            within: [0; N],
            limit: 0,
            is_unsure: false,
        };
        while self.needs.is_none() && self.scan.text.len() - self.scan.base > left {
            self.pulse.beat(64 * N)?;
            if self.batch.room() < USUAL_PIECES {
                self.needs = Some(Needs::Room);
                break;
            }
            // SAFETY: the caller vouches for the instructions of `V`.
            unsafe {
                self.scan.look::<V, N>(&mut window);
                self.needs = self.scan.push::<V, N>(&window, self.batch);
            }
        }
        Ok(())
    }
}

impl JointScan<'_> {
    /// Find where pieces begin in the next window.
    ///
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn look<V: Vectors, const N: usize>(&self, window: &mut JointWindow<N>) {
        #[cfg(test)]
        crate::pretokenize::tests::count_steps(64 * N);
        let joint = self.joint;
        let reader =
            Reader { text: self.text.as_bytes(), alphabet: &joint.alphabet, tells_final_line_feed: false };
        // SAFETY: the caller vouches for the instructions of `V`.
        unsafe { reader.read::<V, N>(self.base, &mut window.scan.characters) };
        let Characters { atoms, count, ends, .. } = &window.scan.characters;
        window.behind.as_flattened_mut().copy_from_slice(&atoms[2..2 + WINDOW]);
        (window.limit, window.is_unsure) = (count - usize::from(!ends), false);
        (window.starts, window.open, window.within) = ([0; N], [0; N], [0; N]);
        for (index, (step, first)) in joint.steps.iter().zip(self.labels).enumerate() {
            if index > 0 && !window.is_whole() {
                window.limit = window.limit.saturating_sub(1);
            }
            // SAFETY: the caller vouches for the instructions of `V`.
            unsafe {
                if index > 0 {
                    end_before::<V, N>(&window.starts, joint.alphabet.end, &mut window.behind);
                }
                let ScanWindow { relations, labels, fulfilled, characters } = &mut window.scan;
                let behind = window.behind.as_flattened();
                step.scanner.find_relations::<V, N>(characters, behind, relations, fulfilled);
                if step.in_places {
                    self.run_in_places(index, first, window);
                    continue;
                }
                let mut given = [window.starts, [0; N], [0; N]];
                if let Some(label) = LABELLED.iter().position(|label| *label == first) {
                    given[label][0] |= 1;
                }
                let mut found = step.scanner.label::<V, N>(relations, labels, &given);
                window.labels[index % MOST] = labels.at;
                if first_from(&found.unsure, 0).is_some_and(|place| place < window.limit) {
                    self.settle(index, &mut found, window);
                    window.labels[index % MOST][BEGINS] = found.begins;
                }
                window.starts = found.begins;
                if step.scanner.may_be_unsure() {
                    add::<V, N>(&mut window.within, &[!0; N], &[!0; N]);
                    take_away::<V, N>(&mut window.within, &found.begins);
                }
                if step.scanner.opens {
                    add::<V, N>(&mut window.open, &found.open, &found.open);
                    window.limit_to_sure();
                }
            }
        }
        window.limit_to_beginning();
    }

    /// Run a pattern where the masks are unsure, and correct their result. What is within a piece that is found so has no
    /// label.
    #[inline(never)]
    fn settle<const N: usize>(&self, index: usize, found: &mut WindowBits<N>, window: &mut JointWindow<N>) {
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
                let (piece_end, has_end) = window.piece_end(index, &before, start);
                let mut place = start;
                let end = loop {
                    match self.match_at(index, place, &before, window, &mut left) {
                        PartialMatch::End(length) if place == start => break Some(start + length),
                        PartialMatch::End(_) => break Some(place),
                        PartialMatch::GoesOn => break None,
                        PartialMatch::Nothing if place + 1 < piece_end => place += 1,
                        PartialMatch::Nothing => break has_end.then_some(piece_end),
                    }
                };
                let Some(end) = end.filter(|_| left > 0) else {
                    (window.limit, window.is_unsure) = (start, left == 0);
                    return;
                };
                let known = end < window.limit && is_in(&found.begins, end) && !is_in(&found.unsure, end);
                clear_between(&mut found.begins, start, end.min(window.limit));
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

    /// The match of a pattern that begins at a place, in its piece.
    fn match_at<const N: usize>(
        &self,
        index: usize,
        place: usize,
        before: &Bits<N>,
        window: &JointWindow<N>,
        left: &mut usize,
    ) -> PartialMatch {
        let (end, has_end) = window.piece_end(index, before, place);
        let Some(automaton) = self.patterns[index].automaton() else { return PartialMatch::GoesOn };
        let step = &self.joint.steps[index];
        let atoms = window.scan.characters.atoms[1 + place..=end].iter();
        let own = atoms.map(|atom| step.atoms[usize::from(*atom) % ATOMS]);
        let own = own.chain(has_end.then_some(automaton.alphabet.end));
        automaton.match_within(own.inspect(|_| *left = left.saturating_sub(1)))
    }

    /// Run a pattern from each place where a match may begin.
    #[inline(never)]
    fn run_in_places<const N: usize>(&self, index: usize, busy: usize, window: &mut JointWindow<N>) {
        let (before, mut begins, mut ends) = (window.starts, [0; N], [0; N]);
        let Some(views) = self.patterns[index].views() else { return };
        let (step, mut viewed, mut from) = (&self.joint.steps[index], Viewed::new(), busy);
        if busy > 0 {
            mark(&mut ends, busy);
        }
        let may_begin = *window.scan.relations.places(step.scanner.always[BEGINS]);
        while let Some(place) = first_from(&may_begin, from).filter(|place| *place < window.limit) {
            viewed.go_on(place, window.piece_end(index, &before, place));
            let atoms = &window.scan.characters.atoms;
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
        window.labels[index][..2].copy_from_slice(&[begins, ends]);
    }

    /// Push the pieces of a window and go on to the next one.
    ///
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn push<V: Vectors, const N: usize>(
        &mut self,
        window: &JointWindow<N>,
        batch: &mut Batch,
    ) -> Option<Needs> {
        let Characters { leads, wide, .. } = &window.scan.characters;
        let (mut starts, done) = (window.starts, self.done.saturating_sub(self.base));
        clear_from(&mut starts, window.limit);
        // SAFETY: the caller vouches for the instructions of `V`.
        let (end, had_room) = unsafe {
            if *wide {
                let mut starts = at_bytes::<V, N>(&starts, leads);
                clear_to(starts.as_flattened_mut(), done);
                push_starts::<V>(self.base, starts.as_flattened(), batch)
            } else {
                clear_to(&mut starts, done);
                push_starts::<V>(self.base, &starts, batch)
            }
        };
        self.done = self.done.max(end);
        if !had_room || batch.room() == 0 {
            return Some(Needs::Room);
        }
        if let Some(place) = last_in(&window.first_starts(self.joint), window.limit) {
            self.piece = self.base + window.scan.characters.byte_of(place);
        }
        if window.is_whole() {
            (self.base, self.done) = (self.text.len(), batch.push_to(self.text.len()));
            return None;
        }
        let Some(last) = window.limit.checked_sub(1).filter(|last| *last > 0 && !window.is_unsure) else {
            return Some(Needs::Help(self.piece));
        };
        self.base += window.scan.characters.byte_of(last);
        for (step, (label, found)) in self.joint.steps.iter().zip(self.labels.iter_mut().zip(&window.labels))
        {
            *label = if step.in_places {
                let begin = last_in(&found[0], last + 1);
                let end = |begin| first_from(&found[1], begin + 1).unwrap_or(64 * N);
                begin.map_or(*label, end).saturating_sub(last)
            } else {
                let label = LABELLED.iter().zip(found).find(|(_, places)| is_in(&places[..], last));
                label.map_or(USUAL, |(label, _)| *label)
            };
        }
        None
    }
}

/// Set the bit of a place, if there is one.
fn mark(bits: &mut [u64], place: usize) {
    bits.get_mut(place / 64).into_iter().for_each(|word| *word |= 1 << (place % 64));
}

/// Let the text end before each start of a piece.
///
/// # Safety
/// The machine must have the instructions of `V`.
#[inline(always)]
unsafe fn end_before<V: Vectors, const N: usize>(starts: &Bits<N>, end: u8, behind: &mut [[u8; 64]; WORDS]) {
    for (word, behind) in behind.iter_mut().enumerate().take(N) {
        let next = starts.get(word + 1).copied().unwrap_or(0);
        // SAFETY: the caller vouches for the instructions of `V`.
        unsafe { V::look_up(&[end; 64], &[0; 64], starts[word] >> 1 | next << 63, behind) };
    }
}

/// Clear the bits up to a place.
#[inline(always)]
fn clear_to(bits: &mut [u64], place: usize) {
    for word in bits.iter_mut().take(place / 64) {
        *word = 0;
    }
    if let Some(word) = bits.get_mut(place / 64) {
        *word &= !0 << (place % 64) << 1;
    }
}
