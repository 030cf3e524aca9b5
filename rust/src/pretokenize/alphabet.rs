//! The alphabet of a pattern: characters that belong to the same sets of the pattern form one
//! *atom*.

use super::set::CharSet;

/// The bits of a code point that select an entry of a page; the code points of a page differ only
/// in the last byte of their UTF-8.
const PAGE_BITS: u32 = 6;
const PAGE: usize = 1 << PAGE_BITS;
const CODE_POINTS: usize = 0x11_0000;

/// The maximum number of atoms; with the two extra atoms, sets of them fit 128 bits.
const MAX_ATOMS: usize = 120;

/// The maximum number of atoms for masks, local rules and views, whose sets of atoms have 32 bits.
pub const MOST_ATOMS: usize = 32;

/// The maximum number of sets, which should be distinct.
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
    /// By the last six bits of the first byte of a multi-byte character: the atom of all characters
    /// with this first byte, or `MIXED`.
    pub leads: [u8; PAGE],
    /// The same for the first two bytes of a 3-byte character: by the last bits of the first, then
    /// of the second.
    pub leads_of_three: [[u8; PAGE]; 16],
    /// The page of each block of code points.
    pages: Vec<u16>,
    atoms: Vec<u8>,
    /// The number of atoms, including the following two.
    pub count: usize,
    /// The atom after the last character.
    pub end: u8,
    /// The atom of a line feed at the end of the text.
    pub final_line_feed: u8,
    /// The atoms of each set, and the first code point of each atom, before atoms are joined.
    pub members: Vec<Atoms>,
    first: Vec<usize>,
}

impl Alphabet {
    /// Finds the coarsest atoms such that each set is a union of them; `None` if there are too
    /// many.
    pub fn new(sets: &[CharSet]) -> Option<Self> {
        if sets.len() > MAX_SETS {
            return None;
        }
        // Between two changes of membership, all code points have the same signature: a bit for
        // each set that has them.
        let mut changes: Vec<(usize, u128)> = vec![(0, 0)];
        for (index, set) in sets.iter().enumerate() {
            for &(first, last) in set.ranges() {
                changes.extend([(first as usize, 1 << index), (last as usize + 1, 1 << index)]);
            }
        }
        // The changes of each set are in order already, which `sort_unstable` would not notice.
        changes.sort();
        let mut signatures: Vec<u128> = Vec::new();
        let mut first = Vec::new();
        let mut all = vec![0; CODE_POINTS];
        let mut signature = 0;
        for (index, &(place, change)) in changes.iter().enumerate() {
            signature ^= change;
            let next = changes.get(index + 1).map_or(CODE_POINTS, |next| next.0);
            if next == place {
                continue;
            }
            let atom = place_in(&mut signatures, signature);
            if atom == MAX_ATOMS {
                return None;
            }
            if atom == first.len() {
                first.push(place);
            }
            all[place..next].fill(atom as u8);
        }
        let end = signatures.len() as u8;
        let final_line_feed = end + 1;
        let (pages, atoms) = make_pages(&all);
        let (leads, leads_of_three) = make_leads(&pages, &atoms);
        let ascii: [u8; 128] = std::array::from_fn(|byte| all[byte]);
        let mut members = Vec::new();
        for index in 0..sets.len() {
            let mut atoms: Atoms = 0;
            for (atom, signature) in signatures.iter().enumerate() {
                atoms |= (signature >> index & 1) << atom;
            }
            // A final line feed is in the sets of any line feed.
            atoms |= (atoms >> ascii[usize::from(b'\n')] & 1) << final_line_feed;
            members.push(atoms);
        }
        Some(Self {
            ascii,
            leads,
            leads_of_three,
            members,
            pages,
            atoms,
            count: signatures.len() + 2,
            end,
            final_line_feed,
            first,
        })
    }

    /// Finds the coarsest alphabet whose atoms tell the atoms of all these alphabets, and for each
    /// of them its atoms by the common ones; `None` if it would have more than `most`. The sets are
    /// those that the alphabets were made for.
    pub fn joint(
        sets: &[CharSet],
        alphabets: &[&Self],
        most: usize,
    ) -> Option<(Self, Vec<Vec<u8>>)> {
        let mut common = Self::new(sets)?;
        // The atoms in all alphabets that characters have together.
        let mut together: Vec<Vec<u8>> = Vec::new();
        let mut joined = Vec::new();
        for &first in &common.first {
            let atoms = alphabets.iter().map(|alphabet| alphabet.of(first)).collect();
            joined.push(place_in(&mut together, atoms) as u8);
        }
        together.push(alphabets.iter().map(|alphabet| alphabet.end).collect());
        let count = together.len();
        if count > most {
            return None;
        }
        common.join(&joined, count);
        let by_common = |index: usize| together.iter().map(|atoms| atoms[index]).collect();
        let atoms_by_common = (0..alphabets.len()).map(by_common).collect();
        Some((common, atoms_by_common))
    }

    /// Joins atoms: `joined` says which atom each one becomes, and `count` how many there are then,
    /// including the atom of the end and, if it is used, that of a final line feed. The members of
    /// sets are forgotten.
    pub fn join(&mut self, joined: &[u8], count: usize) {
        for atom in self.atoms.iter_mut().chain(&mut self.ascii) {
            *atom = joined[usize::from(*atom)];
        }
        (self.leads, self.leads_of_three) = make_leads(&self.pages, &self.atoms);
        self.members.clear();
        self.end = joined.iter().max().map_or(0, |last| last + 1);
        self.final_line_feed = self.end + 1;
        self.count = count;
    }

    /// Whether a line feed at the end of the text has an atom of its own.
    pub fn tells_final_line_feed(&self) -> bool {
        self.count > usize::from(self.end) + 1
    }

    /// Returns every atom, the end of the text included.
    pub fn everything(&self) -> Atoms {
        (1 << self.count) - 1
    }

    /// Returns the atoms of ASCII, of the end and of a final line feed.
    pub fn plain(&self) -> u32 {
        let mut atoms = 1 << self.end | 1 << self.final_line_feed;
        for atom in self.ascii {
            atoms |= 1 << atom;
        }
        atoms
    }

    /// Returns the atom of a code point.
    #[inline(always)]
    pub fn of(&self, code_point: usize) -> u8 {
        self.page(code_point)[code_point % PAGE]
    }

    /// Returns the atoms of the code points that share all but the last six bits with one of them.
    #[inline(always)]
    pub fn page(&self, code_point: usize) -> &[u8; PAGE] {
        let page = self.pages.get(code_point >> PAGE_BITS).copied().unwrap_or(0);
        self.atoms[usize::from(page) * PAGE..].first_chunk().unwrap_or(&[0; PAGE])
    }

    /// Returns the atom of the character that begins at `position`, and the character's end.
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

    /// Returns the atom of the character that ends at `position`, if there is a whole one.
    pub fn before(&self, text: &[u8], position: usize) -> Option<u8> {
        let longest = position.saturating_sub(4);
        let start =
            longest + text[longest..position].iter().rposition(|byte| byte & 0xC0 != 0x80)?;
        let (atom, end) = self.at(text, start);
        (end == position).then_some(atom)
    }
}

/// Returns the place of an item in a list, to which it is appended if it is new.
pub fn place_in<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    let place = list.iter().position(|other| *other == item);
    if place.is_none() {
        list.push(item);
    }
    place.unwrap_or(list.len() - 1)
}

/// Builds pages from the atoms of all code points; a page like the one before it is not stored
/// again.
fn make_pages(all: &[u8]) -> (Vec<u16>, Vec<u8>) {
    let mut pages = Vec::new();
    let mut atoms = Vec::new();
    for page in all.chunks_exact(PAGE) {
        if !atoms.ends_with(page) {
            atoms.extend(page);
        }
        pages.push((atoms.len() / PAGE - 1) as u16);
    }
    (pages, atoms)
}

/// Builds the tables for the first byte of multi-byte characters, and for the first two bytes of
/// 3-byte characters.
fn make_leads(pages: &[u16], atoms: &[u8]) -> ([u8; PAGE], [[u8; PAGE]; 16]) {
    let common = |members: &[u8]| match members {
        [first, rest @ ..] if rest.iter().all(|atom| atom == first) => *first,
        _ => MIXED,
    };
    let of_pages: Vec<u8> = atoms.chunks_exact(PAGE).map(common).collect();
    let of = |page: usize| of_pages[usize::from(pages[page])];
    let mut of_three = [[0; PAGE]; 16];
    for (lead, row) in of_three.iter_mut().enumerate() {
        *row = std::array::from_fn(|second| of(lead << PAGE_BITS | second));
    }
    let leads = std::array::from_fn(|lead| match lead {
        0..32 => of(lead),
        // Shorter characters and surrogates are not written so.
        32 => common(&of_three[0][32..]),
        45 => common(&of_three[13][..32]),
        33..48 => common(&of_three[lead - 32]),
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
            for (set, members) in sets.iter().zip(&alphabet.members) {
                assert_eq!(members >> atom & 1 != 0, set.contains(character), "{character:?}");
            }
        }
        assert_ne!(alphabet.leads[usize::from("\u{6000}".as_bytes()[0]) & 63], MIXED);
        assert_eq!(alphabet.members[2] >> alphabet.final_line_feed & 1, 1);
        assert_eq!(alphabet.members[3] >> alphabet.end & 1, 0);
    }

    #[test]
    fn atoms_that_are_joined_are_one_everywhere() {
        let sets =
            [CharSet::of('a'), CharSet::new([(0xE9, 0xE9), (0x4E00, 0x9FFF)]), CharSet::of('\n')];
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
