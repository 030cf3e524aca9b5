//! The alphabet of a pattern: characters that belong to the same sets of the pattern form one *atom*.

use std::collections::HashMap;

use super::set::CharSet;

/// The bits of a code point that select an entry of a page; the code points of a page differ only in the last byte of
/// their UTF-8.
const PAGE_BITS: u32 = 6;
const PAGE: usize = 1 << PAGE_BITS;
const PAGES: usize = 0x11_0000 >> PAGE_BITS;

/// The maximum number of atoms; with the two extra atoms, sets of them fit 128 bits.
const MAX_ATOMS: usize = 120;

/// The maximum number of distinct sets.
const MAX_SETS: usize = 128;

/// The entry of tables of atoms where characters have different atoms.
pub const MIXED: u8 = 0xFF;

/// A set of atoms, one bit for each.
pub type Atoms = u128;

/// A map from characters to atoms.
#[derive(Clone)]
pub struct Alphabet {
    /// The atom of each character below 128.
    pub ascii: [u8; 128],
    /// By the last six bits of the first byte of a multi-byte character: the atom of all characters with this first byte, or
    /// `MIXED`.
    pub leads: [u8; PAGE],
    /// The same for the first two bytes of a 3-byte character: by the last bits of the first, then of the second.
    pub leads_of_three: [[u8; PAGE]; 16],
    /// The page of each block of code points.
    pages: Box<[u16]>,
    atoms: Vec<u8>,
    /// The number of atoms, including the following two.
    pub count: usize,
    /// The atom after the last character.
    pub end: u8,
    /// The atom of a line feed at the end of the text.
    pub final_line_feed: u8,
    members: HashMap<CharSet, Atoms>,
    /// The first code point of each atom, before atoms are joined.
    first: Vec<usize>,
}

impl Alphabet {
    /// The coarsest atoms such that each set is a union of them; `None` if there are too many.
    pub fn new(sets: &[CharSet]) -> Option<Self> {
        let mut distinct: Vec<&CharSet> = sets.iter().collect();
        distinct.sort_unstable_by(|a, b| a.ranges().cmp(b.ranges()));
        distinct.dedup();
        if distinct.len() > MAX_SETS {
            return None;
        }
        // Between two changes of membership, all code points have the same atom.
        let mut changes: Vec<(u32, u128)> = vec![(0, 0)];
        for (index, set) in distinct.iter().enumerate() {
            for &(first, last) in set.ranges() {
                changes.extend([(first, 1 << index), (last + 1, 1 << index)]);
            }
        }
        changes.sort(); // The changes of each set are in order already, which `sort_unstable` would not notice.
        let mut signatures: Vec<u128> = Vec::new();
        let (mut ranges, mut first): (Vec<(usize, u8)>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut signature = 0;
        for (index, &(place, change)) in changes.iter().enumerate() {
            signature ^= change;
            if place >= 0x11_0000 || changes.get(index + 1).is_some_and(|next| next.0 == place) {
                continue;
            }
            let known = signatures.iter().position(|known| *known == signature);
            let atom = known.unwrap_or(signatures.len());
            if atom == MAX_ATOMS {
                return None;
            }
            if known.is_none() {
                signatures.push(signature);
                first.push(place as usize);
            }
            ranges.push((place as usize, atom as u8));
        }
        let (end, final_line_feed) = (signatures.len() as u8, signatures.len() as u8 + 1);
        let (pages, atoms) = make_pages(&ranges);
        let (leads, leads_of_three) = make_leads(&pages, &atoms);
        let ascii =
            std::array::from_fn(|byte| atoms[usize::from(pages[byte >> PAGE_BITS]) * PAGE + byte % PAGE]);
        let line_feed = ascii[usize::from(b'\n')];
        let members = distinct.iter().enumerate().map(|(index, set)| {
            let mut members: Atoms = 0;
            for (atom, signature) in signatures.iter().enumerate() {
                members |= (signature >> index & 1) << atom;
            }
            members |= (members >> line_feed & 1) << final_line_feed;
            ((*set).clone(), members)
        });
        Some(Self {
            ascii,
            leads,
            leads_of_three,
            pages,
            atoms,
            count: signatures.len() + 2,
            end,
            final_line_feed,
            members: members.collect(),
            first,
        })
    }

    /// The coarsest alphabet whose atoms tell those of some others, and for each of the others its atoms by the common
    /// ones; `None` if it would have more than `most`. The sets are those that the others were made for.
    pub fn joint(sets: &[CharSet], others: &[&Self], most: usize) -> Option<(Self, Vec<Vec<u8>>)> {
        let mut alphabet = Self::new(sets)?;
        let mut own: Vec<Vec<u8>> = vec![Vec::new(); others.len()];
        let mut known: HashMap<Vec<u8>, u8> = HashMap::new();
        let mut joined = Vec::new();
        for first in std::mem::take(&mut alphabet.first) {
            let atoms: Vec<u8> = others.iter().map(|other| other.of(first)).collect();
            let new = known.len() as u8;
            if !known.contains_key(&atoms) {
                own.iter_mut().zip(&atoms).for_each(|(own, atom)| own.push(*atom));
            }
            joined.push(*known.entry(atoms).or_insert(new));
        }
        own.iter_mut().zip(others).for_each(|(own, other)| own.push(other.end));
        let count = known.len() + 1;
        alphabet.join(&joined, count);
        (count <= most).then_some((alphabet, own))
    }

    /// Join atoms: `joined` says which atom each one becomes, and `count` how many there are then, including the atom of the
    /// end and, if it is used, that of a final line feed. The members of sets are forgotten.
    pub fn join(&mut self, joined: &[u8], count: usize) {
        for atom in self.atoms.iter_mut().chain(&mut self.ascii) {
            *atom = joined[usize::from(*atom)];
        }
        (self.leads, self.leads_of_three) = make_leads(&self.pages, &self.atoms);
        self.members.clear();
        self.end = joined.iter().max().map_or(0, |last| last + 1);
        (self.final_line_feed, self.count) = (self.end + 1, count);
    }

    /// The atoms of one of the sets that the alphabet was made for.
    pub fn members(&self, set: &CharSet) -> Atoms {
        self.members.get(set).copied().unwrap_or(0)
    }

    /// Whether a line feed at the end of the text has an atom of its own.
    pub fn tells_final_line_feed(&self) -> bool {
        self.count > usize::from(self.end) + 1
    }

    /// Every atom, the end of the text included.
    pub fn everything(&self) -> Atoms {
        (1 << self.count) - 1
    }

    /// The atoms of ASCII, of the end and of a final line feed.
    pub fn plain(&self) -> u32 {
        self.ascii.iter().fold(1 << self.end | 1 << self.final_line_feed, |all, atom| all | 1 << atom)
    }

    /// The atom of a code point.
    #[inline(always)]
    pub fn of(&self, code_point: usize) -> u8 {
        let page = self.pages.get(code_point >> PAGE_BITS).copied().unwrap_or(0);
        self.atoms[usize::from(page) * PAGE + code_point % PAGE]
    }

    /// The atoms of the code points that share all but the last six bits with one of them.
    #[inline(always)]
    pub fn page(&self, code_point: usize) -> &[u8; PAGE] {
        let page = self.pages.get(code_point >> PAGE_BITS).copied().unwrap_or(0);
        self.atoms[usize::from(page) * PAGE..].first_chunk().unwrap_or(&[0; PAGE])
    }

    /// The atom of the character that begins at `position`, and the character's end.
    #[inline(always)]
    pub fn at(&self, text: &[u8], position: usize) -> (u8, usize) {
        match text.get(position) {
            Some(&byte) if byte < 0x80 => (self.ascii[usize::from(byte)], position + 1),
            Some(&lead) => self.wide_at(text, position, lead),
            None => (self.end, position),
        }
    }

    #[inline(always)]
    fn wide_at(&self, text: &[u8], position: usize, lead: u8) -> (u8, usize) {
        let tail = |offset| usize::from(text.get(position + offset).copied().unwrap_or(0) & 0x3F);
        let lead = usize::from(lead);
        let (code_point, length) = match lead {
            ..0xE0 => ((lead & 0x1F) << 6 | tail(1), 2),
            0xE0..0xF0 => ((lead & 0x0F) << 12 | tail(1) << 6 | tail(2), 3),
            _ => ((lead & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4),
        };
        (self.of(code_point), position + length)
    }

    /// The atom of the character that ends at `position`, if there is a whole one.
    pub fn before(&self, text: &[u8], position: usize) -> Option<u8> {
        let longest = position.saturating_sub(4);
        let start = longest + text[longest..position].iter().rposition(|byte| byte & 0xC0 != 0x80)?;
        let (atom, end) = self.at(text, start);
        (end == position).then_some(atom)
    }
}

/// Build pages from ranges of atoms, each given by its start; uniform pages are stored once.
fn make_pages(ranges: &[(usize, u8)]) -> (Box<[u16]>, Vec<u8>) {
    let mut pages = vec![0_u16; PAGES].into_boxed_slice();
    let mut atoms: Vec<u8> = Vec::new();
    let mut uniform: [Option<u16>; MAX_ATOMS] = [None; MAX_ATOMS];
    let mut next = 0;
    let mut current = 0;
    for (index, page) in pages.iter_mut().enumerate() {
        let (first, last) = (index * PAGE, (index + 1) * PAGE);
        while next < ranges.len() && ranges[next].0 <= first {
            current = ranges[next].1;
            next += 1;
        }
        let new = (atoms.len() >> PAGE_BITS) as u16;
        if ranges.get(next).is_none_or(|range| range.0 >= last) {
            *page = *uniform[usize::from(current)].get_or_insert_with(|| {
                atoms.extend([current; PAGE]);
                new
            });
            continue;
        }
        let mut place = first;
        while let Some(&(from, atom)) = ranges.get(next).filter(|range| range.0 < last) {
            atoms.extend(std::iter::repeat_n(current, from - place));
            (place, current) = (from, atom);
            next += 1;
        }
        atoms.extend(std::iter::repeat_n(current, last - place));
        *page = new;
    }
    (pages, atoms)
}

/// Build the tables for the first byte of multi-byte characters, and for the first two bytes of 3-byte characters.
fn make_leads(pages: &[u16], atoms: &[u8]) -> ([u8; PAGE], [[u8; PAGE]; 16]) {
    let alike = |members: &[u8]| match members {
        [first, others @ ..] if others.iter().all(|other| other == first) => *first,
        _ => MIXED,
    };
    let known: Vec<u8> = atoms.chunks_exact(PAGE).map(alike).collect();
    let of = |page: usize| known[usize::from(pages[page])];
    let of_three: [[u8; PAGE]; 16] =
        std::array::from_fn(|lead| std::array::from_fn(|second| of(lead << PAGE_BITS | second)));
    let leads = std::array::from_fn(|lead| match lead {
        0..32 => of(lead),
        // Shorter characters and surrogates are not written so.
        32 => alike(&of_three[0][32..]),
        45 => alike(&of_three[13][..32]),
        33..48 => alike(&of_three[lead - 32]),
        _ => MIXED,
    });
    (leads, of_three)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_is_the_union_of_its_atoms() {
        let sets = [
            CharSet::new([(97, 122), (0xE0, 0xFF), (0x4E00, 0x9FFF), (0x1_F600, 0x1_F64F)]),
            CharSet::new([(100, 110), (0xF0, 0x101), (0x5000, 0x5001)]),
            CharSet::of('\n'),
            CharSet::all(),
            CharSet::default(),
        ];
        let alphabet = Alphabet::new(&sets).unwrap();
        for code_point in 0..0x11_0000 {
            let Some(character) = char::from_u32(code_point) else { continue };
            let text = character.to_string();
            let (atom, end) = alphabet.at(text.as_bytes(), 0);
            assert_eq!((alphabet.of(code_point as usize), text.len()), (atom, end));
            assert_eq!(alphabet.before(text.as_bytes(), end), Some(atom));
            assert_eq!(alphabet.page(code_point as usize)[code_point as usize % PAGE], atom);
            if let [lead, second, ref others @ ..] = *text.as_bytes() {
                let [lead, second] = [lead, second].map(|byte| usize::from(byte) & 63);
                assert!([MIXED, atom].contains(&alphabet.leads[lead]), "{character:?}");
                if let [_] = others {
                    assert!([MIXED, atom].contains(&alphabet.leads_of_three[lead - 32][second]));
                }
            }
            for set in &sets {
                assert_eq!(alphabet.members(set) >> atom & 1 != 0, set.contains(character), "{character:?}");
            }
        }
        assert_ne!(alphabet.leads[usize::from("\u{6000}".as_bytes()[0]) & 63], MIXED);
        assert_eq!(alphabet.members(&sets[2]) >> alphabet.final_line_feed & 1, 1);
        assert_eq!(alphabet.members(&sets[3]) >> alphabet.end & 1, 0);
    }

    #[test]
    fn atoms_that_are_joined_are_one_everywhere() {
        let sets = [CharSet::of('a'), CharSet::new([(0xE9, 0xE9), (0x4E00, 0x9FFF)]), CharSet::of('\n')];
        let mut alphabet = Alphabet::new(&sets).unwrap();
        let before = ['a', 'é', '中', '\n', 'x'].map(|character| alphabet.of(character as usize));
        let joined: Vec<u8> = (0..alphabet.end).map(|atom| u8::from(atom != before[1])).collect();
        alphabet.join(&joined, 3);
        assert_eq!([before[1], before[2]], [before[2]; 2]);
        assert_eq!((alphabet.end, alphabet.count), (2, 3));
        for text in ["a", "é", "中", "\n", "x", "\u{1F600}"] {
            let expected = u8::from(!matches!(text, "é" | "中"));
            assert_eq!(alphabet.at(text.as_bytes(), 0), (expected, text.len()), "{text:?}");
        }
        assert_eq!(alphabet.plain(), 0b1110);
    }

    #[test]
    fn a_pattern_of_too_many_atoms_has_no_alphabet() {
        let sets: Vec<CharSet> = (0..125).map(|index| CharSet::new([(index, index)])).collect();
        assert!(Alphabet::new(&sets).is_none());
    }
}
