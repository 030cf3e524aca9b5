//! Text in, the starts of many pieces out, hundreds of bytes at a time: the rules of three neighbours as masks.
//!
//! A relation of three atoms is a few terms: sets of atoms before, at and behind a place, of which all three must be
//! members. Eight terms are a bit each in three small tables, so that three look-ups and an AND tell for 64 bytes at
//! once which of them are fulfilled. A character of several bytes has its atom in all of them.
//!
//! Where the rules are unsure, the automaton is walked from the last sure start of a piece until one begins where the
//! masks say so, too: from there on they are right.
//!
//! A window begins at the start of a piece, which is all that there is to know of the text before. The pieces at its
//! end that are not sure yet are found again at the beginning of the next window.

use super::Batch;
use super::automaton::Automaton;
use super::local::{LocalRules, MOST_ATOMS, Relation, Set};
use super::vectors::{ATOMS, Instructions, Nearby, Portable, Terms, Vectors};

/// How many words of 64 bytes a window has.
const WORDS: usize = 8;
const WINDOW: usize = 64 * WORDS;

/// How many bytes at the end of a window may lack what is behind them: a character of four, of which one is there.
const UNSURE_END: usize = 4;

/// The most terms, in eights, that a scanner may have: with more of them, the automaton is not slower.
const MOST_EIGHTS: usize = 8;

/// A bit for every byte of a window.
type Bits = [u64; WORDS];

const NONE: Bits = [0; WORDS];

/// The relations, by their places in arrays.
const BEGINS: usize = 0;
const BEGINS_WITH_BEFORE: usize = 1;
const BEGINS_WITHOUT_BEFORE: usize = 2;
const UNSURE: usize = 3;
const UNSURE_WITH_BEFORE: usize = 4;
const UNSURE_WITHOUT_BEFORE: usize = 5;
const OPEN: usize = 6;
const RELATIONS: usize = 7;

/// Finds the starts of pieces by masks.
pub struct MaskScanner {
    instructions: Instructions,
    /// Whether the pattern matches all text.
    covers: bool,
    eights: Vec<Eight>,
    /// Which relations have terms.
    used: [bool; RELATIONS],
}

/// Eight terms, and the relations that some of them belong to.
struct Eight {
    terms: Terms,
    uses: Vec<(usize, u8)>,
}

impl MaskScanner {
    /// The scanner of some rules, unless they have too many terms.
    pub fn new(rules: &LocalRules) -> Option<Self> {
        let nothing = Relation::new();
        let relations = [
            terms(&rules.begins, &rules.indifferent),
            terms(&rules.begins_with_before, &rules.indifferent),
            terms(&rules.begins_without_before, &rules.indifferent),
            terms(&rules.unsure, &nothing),
            terms(&rules.unsure_with_before, &nothing),
            terms(&rules.unsure_without_before, &nothing),
            terms(&rules.open, &nothing),
        ];
        let used = relations.each_ref().map(|terms| !terms.is_empty());
        let all: Vec<(usize, Term)> = relations
            .into_iter()
            .enumerate()
            .flat_map(|(relation, terms)| terms.into_iter().map(move |term| (relation, term)))
            .collect();
        let eights: Vec<Eight> = all.chunks(8).map(Eight::new).collect();
        let instructions = Instructions::this();
        (eights.len() <= MOST_EIGHTS).then_some(Self { instructions, covers: rules.covers, eights, used })
    }

    /// Scan as another machine would, which this one has to be able to.
    #[cfg(test)]
    pub fn on(mut self, instructions: Instructions) -> Self {
        self.instructions = instructions;
        self
    }

    /// Add pieces to the batch, of which `start` is the first one's start, until it is nearly full or the text ends.
    pub fn fill(&self, automaton: &Automaton, text: &[u8], start: usize, batch: &mut Batch) {
        let work = Work { scanner: self, automaton, text };
        match self.instructions {
            // SAFETY: the portable way asks for nothing.
            Instructions::Portable => unsafe { work.fill::<Portable>(start, batch) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this machine was found to have the instructions.
            Instructions::Avx2 => unsafe { fill_avx2(work, start, batch) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this machine was found to have the instructions.
            Instructions::Avx512 => unsafe { fill_avx512(work, start, batch) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: every aarch64 machine has NEON.
            Instructions::Neon => unsafe { work.fill::<super::vectors::Neon>(start, batch) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn fill_avx512(work: Work, start: usize, batch: &mut Batch) {
    // SAFETY: this function is only entered where there are the instructions that it enables.
    unsafe { work.fill::<super::vectors::Avx512>(start, batch) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn fill_avx2(work: Work, start: usize, batch: &mut Batch) {
    // SAFETY: this function is only entered where there are the instructions that it enables.
    unsafe { work.fill::<super::vectors::Avx2>(start, batch) }
}

/// Three sets of atoms: places where the character before, the one there and the one behind are members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Term {
    before: Set,
    at: Set,
    behind: Set,
}

/// Terms that together are a relation: one for each of what may be behind and what may be before. Where it is
/// indifferent whether the relation holds, whatever needs fewer terms is taken.
fn terms(relation: &Relation, indifferent: &Relation) -> Vec<Term> {
    let atoms = MOST_ATOMS as u8;
    let mut behinds: Vec<Set> = Vec::new();
    for before in 0..atoms {
        for at in 0..atoms {
            let behind = relation.get(before, at);
            if behind != 0 && !behinds.contains(&behind) {
                behinds.push(behind);
            }
        }
    }
    let mut terms = Vec::new();
    for behind in behinds {
        // Which befores the members of a group need, and which of them they all allow.
        let mut groups: Vec<(Set, Set, Set)> = Vec::new();
        for at in 0..atoms {
            let befores = |fits: &dyn Fn(u8) -> bool| {
                (0..atoms).filter(|&before| fits(before)).fold(0, |set: Set, before| set | 1 << before)
            };
            let needed = befores(&|before| relation.get(before, at) == behind);
            let allowed = needed | befores(&|before| behind & !indifferent.get(before, at) == 0);
            let fits = |group: &&mut (Set, Set, Set)| (group.0 | needed) & !(group.1 & allowed) == 0;
            match groups.iter_mut().find(fits) {
                _ if needed == 0 => {}
                Some(group) => *group = (group.0 | needed, group.1 & allowed, group.2 | 1 << at),
                None => groups.push((needed, allowed, 1 << at)),
            }
        }
        terms.extend(groups.into_iter().map(|(before, _, at)| Term { before, at, behind }));
    }
    terms
}

impl Eight {
    fn new(terms: &[(usize, Term)]) -> Self {
        let mut eight = Self { terms: Terms::default(), uses: Vec::new() };
        for (bit, (relation, term)) in terms.iter().enumerate() {
            for atom in 0..ATOMS {
                let bit_if = |set: Set| ((set >> atom & 1) as u8) << bit;
                eight.terms.before[atom] |= bit_if(term.before);
                eight.terms.at[atom] |= bit_if(term.at);
                eight.terms.behind[atom] |= bit_if(term.behind);
            }
            match eight.uses.iter_mut().find(|(known, _)| known == relation) {
                Some((_, bits)) => *bits |= 1 << bit,
                None => eight.uses.push((*relation, 1 << bit)),
            }
        }
        eight
    }
}

/// A text to be scanned.
#[derive(Clone, Copy)]
struct Work<'a> {
    scanner: &'a MaskScanner,
    automaton: &'a Automaton,
    text: &'a [u8],
}

/// What the masks tell of a window.
struct Window {
    begins: Bits,
    unsure: Bits,
    open: Bits,
}

/// How a walk of the automaton has left a window.
enum Left {
    /// At the end of a piece, behind the window.
    Piece(usize),
    /// At a place of the window where no match begins.
    Gap(usize),
}

impl Work<'_> {
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn fill<V: Vectors>(self, mut start: usize, batch: &mut Batch) {
        while start < self.text.len() && batch.room() > 64 {
            // SAFETY: the caller vouches for the instructions of `V`.
            start = unsafe { self.scan_window::<V>(start, batch) };
        }
    }

    /// Add the pieces of a window that begins at the start of a piece; where the first one begins that is not there.
    ///
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn scan_window<V: Vectors>(self, base: usize, batch: &mut Batch) -> usize {
        let rest = self.text.len() - base;
        // SAFETY: the caller vouches for the instructions of `V`.
        let mut window = unsafe { self.look::<V>(base) };
        let (limit, ends) = if rest < WINDOW { (rest, true) } else { (WINDOW - UNSURE_END, false) };
        let left = if window.unsure == NONE { None } else { self.settle(base, limit, &mut window) };
        let last = match left {
            Some(Left::Piece(_)) => limit,
            Some(Left::Gap(start)) => start + 1,
            None if ends => limit,
            // What is found behind the last place that is not open may turn out otherwise.
            None if self.scanner.used[OPEN] => last_not_in(&window.open, limit).map_or(0, |place| place + 1),
            None => limit,
        };
        clear_from(&mut window.begins, last);
        window.begins[0] &= !1;
        let mut end = base;
        for (word, &bits) in window.begins.iter().enumerate() {
            if bits != 0 {
                if batch.room() < 64 {
                    return end;
                }
                batch.push_bits(base + 64 * word, bits);
                end = base + 64 * word + 63 - bits.leading_zeros() as usize;
            }
        }
        match left {
            _ if batch.room() == 0 => end,
            Some(Left::Piece(past)) => batch.push_to(past),
            Some(Left::Gap(_)) => self.automaton.fill_one(self.text, end, batch),
            None if ends && self.scanner.covers => batch.push_to(self.text.len()),
            // One piece fills the window, or what it is shows only behind it.
            None if ends || end == base => self.automaton.fill_one(self.text, end, batch),
            None => end,
        }
    }

    /// Walk the automaton where the masks are unsure, and put right what they say; how the walk has left the window, if
    /// it has.
    #[inline(never)]
    fn settle(self, base: usize, limit: usize, window: &mut Window) -> Option<Left> {
        let mut settled = 0;
        while let Some(unsure) = first_from(&window.unsure, settled + 1).filter(|place| *place < limit) {
            let sure = last_not_in(&window.open, unsure).unwrap_or(0).max(settled);
            let mut start = last_in(&window.begins, sure + 1).unwrap_or(0).max(settled);
            loop {
                let Some(end) = self.automaton.match_end(self.text, base + start) else {
                    return Some(Left::Gap(start));
                };
                let end = end - base;
                let known = end < limit && is_in(&window.begins, end) && !is_in(&window.unsure, end);
                clear_between(&mut window.begins, start, end.min(limit));
                if end >= limit {
                    return Some(Left::Piece(base + end));
                }
                window.begins[end / 64] |= 1 << (end % 64);
                start = end;
                if end > unsure && known {
                    break;
                }
            }
            settled = start;
        }
        None
    }

    /// What the masks tell of the window at `base`.
    ///
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn look<V: Vectors>(self, base: usize) -> Window {
        let used = &self.scanner.used;
        // SAFETY: the caller vouches for the instructions of `V`.
        let (mut places, inside, wide) = unsafe { self.places::<V>(base) };
        if wide {
            // What is open there is told of every byte, so that none of a character is taken for sure.
            for places in &mut places[..OPEN] {
                for (word, bits) in places.iter_mut().enumerate() {
                    *bits &= !inside[word];
                }
            }
        }
        let mut begins = places[BEGINS];
        let mut unsure = places[UNSURE];
        let open = places[OPEN];
        begins[0] |= 1;
        if used[BEGINS_WITH_BEFORE] || used[BEGINS_WITHOUT_BEFORE] {
            let (with, without) = (&places[BEGINS_WITH_BEFORE], &places[BEGINS_WITHOUT_BEFORE]);
            let before = behind_characters(&begins, &inside, wide);
            // Of two such places side by side, the second one would have to wait for the first.
            let depending: Bits = std::array::from_fn(|word| with[word] | without[word]);
            let chained = behind_characters(&depending, &inside, wide);
            for word in 0..WORDS {
                begins[word] |= with[word] & before[word] | without[word] & !before[word];
                unsure[word] |= depending[word] & chained[word];
            }
        }
        if used[UNSURE_WITH_BEFORE] || used[UNSURE_WITHOUT_BEFORE] {
            let (with, without) = (&places[UNSURE_WITH_BEFORE], &places[UNSURE_WITHOUT_BEFORE]);
            let before = behind_characters(&begins, &inside, wide);
            for word in 0..WORDS {
                unsure[word] |= with[word] & before[word] | without[word] & !before[word];
            }
        }
        unsure[0] &= !1;
        Window { begins, unsure, open }
    }

    /// Where the relations hold in the window at `base`, which bytes go on with a character, and whether any do.
    ///
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn places<V: Vectors>(self, base: usize) -> ([Bits; RELATIONS], [u64; WORDS + 1], bool) {
        let mut atoms = [self.automaton.alphabet.end; 1 + WINDOW + 64];
        let mut inside = [0; WORDS + 1];
        let mut wide = false;
        let words = ((self.text.len() - base) / 64 + 1).min(WORDS);
        for (word, inside) in inside.iter_mut().enumerate().take(words) {
            let Some(atoms) = atoms[1 + 64 * word..].first_chunk_mut() else { break };
            // SAFETY: the caller vouches for the instructions of `V`.
            *inside = unsafe { self.atoms::<V>(base + 64 * word, atoms, &mut wide) };
        }
        let mut places = [NONE; RELATIONS];
        for word in 0..words {
            let window = &atoms[64 * word..];
            let (Some(before), Some(at), Some(next), Some(more)) = (
                window.first_chunk(),
                window[1..].first_chunk(),
                window[2..].first_chunk(),
                window[1..].first_chunk(),
            ) else {
                break;
            };
            let mut behind = [0; 64];
            let behind = if wide {
                // SAFETY: the caller vouches for the instructions of `V`.
                unsafe { V::behind(more, [inside[word], inside[word + 1]], &mut behind) };
                &behind
            } else {
                next
            };
            let nearby = Nearby { before, at, behind };
            for eight in &self.scanner.eights {
                // SAFETY: the caller vouches for the instructions of `V`.
                let fulfilled = unsafe { V::fulfilled(nearby, &eight.terms) };
                for &(relation, terms) in &eight.uses {
                    // SAFETY: the caller vouches for the instructions of `V`.
                    places[relation % RELATIONS][word] |= unsafe { V::places(fulfilled, terms) };
                }
            }
        }
        (places, inside, wide)
    }

    /// The atoms of 64 bytes, each byte of a character with the character's; which bytes go on with one.
    ///
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn atoms<V: Vectors>(self, base: usize, atoms: &mut [u8; 64], wide: &mut bool) -> u64 {
        let alphabet = &self.automaton.alphabet;
        let rest = &self.text[base..];
        let mut padded = [0; 64];
        let bytes = match rest.first_chunk() {
            Some(bytes) => bytes,
            None => {
                padded[..rest.len()].copy_from_slice(rest);
                &padded
            }
        };
        // SAFETY: the caller vouches for the instructions of `V`.
        let kinds = unsafe { V::atoms(bytes, &alphabet.ascii, atoms) };
        if kinds.wide != 0 {
            *wide = true;
            self.wide_atoms(base, kinds.wide & !kinds.inside, kinds.inside & 1 != 0, atoms);
        }
        if rest.len() < 64 {
            atoms[rest.len()..].fill(alphabet.end);
        }
        if rest.len() <= 64 && self.automaton.tells_final_line_feed() && rest.last() == Some(&b'\n') {
            atoms[rest.len() - 1] = alphabet.final_line_feed;
        }
        kinds.inside
    }

    /// Give the bytes of characters that are not ASCII their atoms.
    #[inline(always)]
    fn wide_atoms(self, base: usize, mut leads: u64, begins_inside: bool, atoms: &mut [u8; 64]) {
        let alphabet = &self.automaton.alphabet;
        if begins_inside {
            let before = self.text[..base].iter().rposition(|byte| byte & 0xC0 != 0x80).unwrap_or(0);
            let (atom, end) = alphabet.at(self.text, before);
            atoms[..(end - base).min(64)].fill(atom);
        }
        while leads != 0 {
            let place = leads.trailing_zeros() as usize;
            leads &= leads - 1;
            let (atom, end) = alphabet.at(self.text, base + place);
            for atom_at in &mut atoms[place..(end - base).min(64)] {
                *atom_at = atom;
            }
        }
    }
}

/// Places whose character before has its bit set: at its first byte.
#[inline(always)]
fn behind_characters(bits: &Bits, inside: &[u64; WORDS + 1], wide: bool) -> Bits {
    let up = |bits: &Bits| {
        std::array::from_fn(|word| bits[word] << 1 | if word == 0 { 0 } else { bits[word - 1] >> 63 })
    };
    let mut spread = *bits;
    if wide {
        for _ in 0..3 {
            let next: Bits = up(&spread);
            for word in 0..WORDS {
                spread[word] |= next[word] & inside[word];
            }
        }
    }
    up(&spread)
}

fn is_in(bits: &Bits, place: usize) -> bool {
    bits[place / 64] >> (place % 64) & 1 != 0
}

/// Clear the bits from a place on.
#[inline(always)]
fn clear_from(bits: &mut Bits, place: usize) {
    if let Some(word) = bits.get_mut(place / 64) {
        *word &= (1 << (place % 64)) - 1;
    }
    for word in bits.iter_mut().skip(place / 64 + 1) {
        *word = 0;
    }
}

/// Clear the bits behind one place and before another.
#[inline(always)]
fn clear_between(bits: &mut Bits, after: usize, before: usize) {
    for (word, bits) in bits.iter_mut().enumerate().take(before.div_ceil(64)).skip(after / 64) {
        let behind = if word == after / 64 { !0 << (after % 64) << 1 } else { !0 };
        let not_there = if word == before / 64 { !0 << (before % 64) } else { 0 };
        *bits &= !behind | not_there;
    }
}

/// The last place before another one whose bit is set.
#[inline(always)]
fn last_in(bits: &Bits, place: usize) -> Option<usize> {
    last(place, |word| bits[word])
}

/// The last place before another one whose bit is not set.
#[inline(always)]
fn last_not_in(bits: &Bits, place: usize) -> Option<usize> {
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
fn first_from(bits: &Bits, place: usize) -> Option<usize> {
    (place / 64..WORDS).find_map(|word| {
        let bits = if word == place / 64 { bits[word] & !0 << (place % 64) } else { bits[word] };
        (bits != 0).then(|| 64 * word + bits.trailing_zeros() as usize)
    })
}
