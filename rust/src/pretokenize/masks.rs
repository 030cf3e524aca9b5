//! Text in, the starts of many pieces out, hundreds of bytes at a time: the rules of three neighbours as masks.
//!
//! A relation of three atoms is a few terms: sets of atoms before, at and behind a place, of which all three must be
//! members. Eight terms are a bit each in three small tables, so that three look-ups and an AND tell for 64
//! characters at once which of them are fulfilled.
//!
//! Where the rules are unsure, the automaton is walked from the last sure start of a piece until one begins where the
//! masks say so, too: from there on they are right.
//!
//! A window begins at the start of a piece, which is all that there is to know of the text before. The pieces at its
//! end that are not sure yet are found again at the beginning of the next window.

use super::Batch;
use super::automaton::{Automaton, Found};
use super::local::{LocalRules, MOST_ATOMS, Relation, Set};
use super::vectors::{ATOMS, Instructions, Nearby, Portable, Terms, Vectors};

/// How many words of 64 bytes a window has.
const WORDS: usize = 8;
const WINDOW: usize = 64 * WORDS;

/// The atom before a window's first character, theirs, and what is behind the last one, up to a whole word.
const ATOMS_OF_WINDOW: usize = 64 + WINDOW + 64;

/// The most terms, in eights, that a scanner may have: with more of them, the automaton is not slower.
const MOST_EIGHTS: usize = 8;

/// A bit for every byte, or every character, of a window.
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
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
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

/// The characters of a window.
struct Characters {
    atoms: [u8; ATOMS_OF_WINDOW],
    count: usize,
    /// The bytes that begin them, and whether any has more than one.
    leads: Bits,
    wide: bool,
}

/// What the masks tell of the characters of a window.
struct Told {
    begins: Bits,
    unsure: Bits,
    open: Bits,
}

/// How the walk of an automaton has left a window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// Within a piece that begins here.
    Piece(usize),
    /// At a place where no match begins.
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
        // SAFETY: the caller vouches for the instructions of `V`.
        let (characters, mut told) = unsafe {
            let characters = self.characters::<V>(base);
            let told = self.look::<V>(&characters);
            (characters, told)
        };
        let ends = self.text.len() - base <= WINDOW;
        // Nothing is known of what is behind the last character of a window, unless the text ends there.
        let limit = if ends { characters.count } else { characters.count - 1 };
        let left =
            if told.unsure == NONE { None } else { self.settle(&characters.atoms, limit, ends, &mut told) };
        let last = match left {
            Some(Left::Piece(start) | Left::Gap(start)) => start + 1,
            None if ends => limit,
            // What is found behind the last place that is not open may turn out otherwise.
            None if self.scanner.used[OPEN] => last_not_in(&told.open, limit).map_or(0, |place| place + 1),
            None => limit,
        };
        clear_from(&mut told.begins, last);
        told.begins[0] &= !1;
        if characters.wide {
            // SAFETY: the caller vouches for the instructions of `V`.
            told.begins = unsafe { at_bytes::<V>(&told.begins, &characters.leads) };
        }
        let mut end = base;
        for (word, &bits) in told.begins.iter().enumerate() {
            if bits != 0 {
                if batch.room() < 64 {
                    return end;
                }
                batch.push_many(bits.count_ones() as usize, |ends| {
                    // SAFETY: the caller vouches for the instructions of `V`.
                    unsafe { V::positions(base + 64 * word, bits, ends) }
                });
                end = base + 64 * word + 63 - bits.leading_zeros() as usize;
            }
        }
        match left {
            _ if batch.room() == 0 => end,
            Some(Left::Gap(_)) => self.automaton.fill_one(self.text, end, batch),
            None if ends && self.scanner.covers => batch.push_to(self.text.len()),
            // One piece fills the window, or what it is shows only behind it.
            _ if ends || end == base => self.automaton.fill_one(self.text, end, batch),
            _ => end,
        }
    }

    /// Walk the automaton where the masks are unsure, and put right what they say; how the walk has left the window, if
    /// it has.
    #[inline(never)]
    fn settle(
        self,
        atoms: &[u8; ATOMS_OF_WINDOW],
        limit: usize,
        ends: bool,
        told: &mut Told,
    ) -> Option<Left> {
        // What is behind the last character is known, too.
        let atoms = &atoms[1..limit + 2];
        let mut settled = 0;
        while let Some(unsure) = first_from(&told.unsure, settled + 1).filter(|place| *place < limit) {
            let sure = last_not_in(&told.open, unsure).unwrap_or(0).max(settled);
            let mut start = last_in(&told.begins, sure + 1).unwrap_or(0).max(settled);
            loop {
                let end = match self.automaton.match_within(&atoms[start..]) {
                    Found::Nothing => return Some(Left::Gap(start)),
                    Found::GoesOn => return Some(Left::Piece(start)),
                    Found::End(length) => start + length,
                };
                let known = end < limit && is_in(&told.begins, end) && !is_in(&told.unsure, end);
                clear_between(&mut told.begins, start, end.min(limit));
                if end >= limit {
                    return (!ends).then_some(Left::Piece(start));
                }
                told.begins[end / 64] |= 1 << (end % 64);
                start = end;
                if end > unsure && known {
                    break;
                }
            }
            settled = start;
        }
        None
    }

    /// What the masks tell of a window.
    ///
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn look<V: Vectors>(self, characters: &Characters) -> Told {
        let used = &self.scanner.used;
        // SAFETY: the caller vouches for the instructions of `V`.
        let places = unsafe { self.places::<V>(characters) };
        let mut begins = places[BEGINS];
        let mut unsure = places[UNSURE];
        let open = places[OPEN];
        begins[0] |= 1;
        if used[BEGINS_WITH_BEFORE] || used[BEGINS_WITHOUT_BEFORE] {
            let (with, without) = (&places[BEGINS_WITH_BEFORE], &places[BEGINS_WITHOUT_BEFORE]);
            let before = up(&begins);
            // Of two such places side by side, the second one would have to wait for the first.
            let depending: Bits = std::array::from_fn(|word| with[word] | without[word]);
            let chained = up(&depending);
            for word in 0..WORDS {
                begins[word] |= with[word] & before[word] | without[word] & !before[word];
                unsure[word] |= depending[word] & chained[word];
            }
        }
        if used[UNSURE_WITH_BEFORE] || used[UNSURE_WITHOUT_BEFORE] {
            let (with, without) = (&places[UNSURE_WITH_BEFORE], &places[UNSURE_WITHOUT_BEFORE]);
            let before = up(&begins);
            for word in 0..WORDS {
                unsure[word] |= with[word] & before[word] | without[word] & !before[word];
            }
        }
        unsure[0] &= !1;
        Told { begins, unsure, open }
    }

    /// Where the relations hold.
    ///
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn places<V: Vectors>(self, characters: &Characters) -> [Bits; RELATIONS] {
        let mut places = [NONE; RELATIONS];
        let words = characters.atoms.windows(128).step_by(64).take(characters.count.div_ceil(64));
        for (word, window) in words.enumerate() {
            let (Some(before), Some(at), Some(behind)) =
                (window.first_chunk(), window[1..].first_chunk(), window[2..].first_chunk())
            else {
                break;
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
        places
    }

    /// The characters that begin in the window at `base`.
    ///
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn characters<V: Vectors>(self, base: usize) -> Characters {
        let alphabet = &self.automaton.alphabet;
        let mut this =
            Characters { atoms: [alphabet.end; ATOMS_OF_WINDOW], count: 0, leads: NONE, wide: false };
        for (word, rest) in self.text[base..].chunks(64).take(WORDS).enumerate() {
            let mut padded = [0; 64];
            let bytes = match rest.first_chunk() {
                Some(bytes) => bytes,
                None => {
                    padded[..rest.len()].copy_from_slice(rest);
                    &padded
                }
            };
            let Some(atoms) = this.atoms[1 + this.count..].first_chunk_mut() else { break };
            // SAFETY: the caller vouches for the instructions of `V`.
            let kinds = unsafe { V::atoms(bytes, &alphabet.ascii, atoms) };
            this.leads[word] = !kinds.inside & !0 >> (64 - rest.len());
            if kinds.wide != 0 {
                this.wide = true;
                let leads = kinds.wide & this.leads[word];
                // SAFETY: the caller vouches for the instructions of `V`.
                unsafe {
                    let mut all = *atoms;
                    self.wide_atoms::<V>(base + 64 * word, bytes, leads, &mut all);
                    V::gather(&all, this.leads[word], atoms);
                }
            }
            this.count += this.leads[word].count_ones() as usize;
        }
        if self.text.len() - base <= WINDOW {
            if self.automaton.tells_final_line_feed() && self.text.last() == Some(&b'\n') {
                this.atoms[this.count] = alphabet.final_line_feed;
            }
            this.atoms[this.count + 1..].fill(alphabet.end);
        }
        this
    }

    /// Put in the atoms of characters beyond ASCII, at the bytes that begin them: those of each first byte at once, or
    /// of each two first bytes.
    ///
    /// # Safety
    /// The machine must have the instructions of `V`.
    #[inline(always)]
    unsafe fn wide_atoms<V: Vectors>(self, base: usize, bytes: &[u8; 64], leads: u64, atoms: &mut [u8; 64]) {
        let alphabet = &self.automaton.alphabet;
        let mut padded = [[0; 64]; 2];
        for (behind, bytes) in padded.iter_mut().enumerate() {
            match self.text[base..].get(1 + behind..65 + behind) {
                Some(whole) => bytes.copy_from_slice(whole),
                None => {
                    let rest = self.text.get(base + 1 + behind..).unwrap_or(&[]);
                    bytes[..rest.len()].copy_from_slice(rest);
                }
            }
        }
        let [second, third] = &padded;
        // SAFETY: the caller vouches for the instructions of `V`.
        unsafe {
            let mut mixed = V::look_up(&alphabet.leads, bytes, leads, atoms);
            while mixed != 0 {
                let place = mixed.trailing_zeros() as usize;
                let lead = bytes[place];
                if lead >= 0xF0 {
                    atoms[place] = alphabet.at(self.text, base + place).0;
                    mixed &= mixed - 1;
                    continue;
                }
                let same = V::equal(bytes, lead) & mixed;
                mixed &= !same;
                if lead < 0xE0 {
                    V::look_up(alphabet.page(usize::from(lead & 0x1F) << 6), second, same, atoms);
                    continue;
                }
                let lead = usize::from(lead & 0x0F);
                let mut still_mixed = V::look_up(&alphabet.leads_of_three[lead], second, same, atoms);
                while still_mixed != 0 {
                    let next = second[still_mixed.trailing_zeros() as usize];
                    let same = V::equal(second, next) & still_mixed;
                    still_mixed &= !same;
                    let page = alphabet.page(lead << 12 | usize::from(next & 0x3F) << 6);
                    V::look_up(page, third, same, atoms);
                }
            }
        }
    }
}

/// The same bits one place further.
#[inline(always)]
fn up(bits: &Bits) -> Bits {
    std::array::from_fn(|word| bits[word] << 1 | if word == 0 { 0 } else { bits[word - 1] >> 63 })
}

/// Bits for characters, at the bytes that begin these.
///
/// # Safety
/// The machine must have the instructions of `V`.
#[inline(always)]
unsafe fn at_bytes<V: Vectors>(bits: &Bits, leads: &Bits) -> Bits {
    let mut place = 0;
    std::array::from_fn(|word| {
        let (first, from) = (place / 64 % WORDS, place % 64);
        let behind = bits.get(first + 1).copied().unwrap_or(0);
        let next = bits[first] >> from | (behind << 1) << (63 - from);
        place += leads[word].count_ones() as usize;
        // SAFETY: the caller vouches for the instructions of `V`.
        unsafe { V::choose(next, leads[word]) }
    })
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
