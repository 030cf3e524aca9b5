//! Reads the characters of a window as atoms.

use super::ATOMS_OF_WINDOW;
use super::bits::Bits;
use crate::bits::places_in;
use crate::pretokenize::alphabet::Alphabet;
use crate::unicode::bytes::character_of;
use crate::vectors::Vectors;

/// The atoms of the characters that bytes are printed as, of those below 128 and of the others.
pub struct ByteAtoms([[u8; 128]; 2]);

impl ByteAtoms {
    pub fn new(alphabet: &Alphabet) -> Self {
        let atom = |byte: usize| alphabet.of(character_of(byte as u8) as usize);
        let low_atoms = std::array::from_fn(atom);
        let high_atoms = std::array::from_fn(|byte| atom(128 + byte));
        Self([low_atoms, high_atoms])
    }
}

/// A text, and the alphabet as which it is read.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    pub text: &'a [u8],
    pub alphabet: &'a Alphabet,
}

/// The characters of a window: as many as its masks have bits for, in up to twice as many bytes.
pub struct Characters<const N: usize> {
    /// Their atoms, from the second place on.
    pub atoms: [u8; ATOMS_OF_WINDOW],
    pub count: usize,
    /// The first bytes of the characters, and whether any character has several bytes.
    pub leads: [Bits<N>; 2],
    pub wide: bool,
    /// Whether the text ends with them.
    pub ends: bool,
}

impl<const N: usize> Characters<N> {
    pub fn new() -> Self {
        Self { atoms: [0; ATOMS_OF_WINDOW], count: 0, leads: [[0; N]; 2], wide: false, ends: false }
    }

    /// The first byte of the character at a place.
    #[inline(always)]
    pub fn byte_of(&self, vectors: impl Vectors, mut place: usize) -> usize {
        if !self.wide {
            return place;
        }
        for (word, &leads) in self.leads.as_flattened().iter().enumerate() {
            let count = leads.count_ones() as usize;
            if place < count {
                return 64 * word + vectors.spread(1 << place, leads).trailing_zeros() as usize;
            }
            place -= count;
        }
        0
    }
}

impl Reader<'_> {
    /// Reads the characters of the window at `base`.
    #[inline(always)]
    pub fn read<const N: usize>(
        self,
        vectors: impl Vectors,
        base: usize,
        this: &mut Characters<N>,
    ) {
        let alphabet = self.alphabet;
        this.wide = false;
        this.leads = [[0; N]; 2];
        this.atoms[0] = alphabet.end;
        let text = &self.text[base..];
        this.ends = text.len() <= 64 * N;
        let mut words = text.chunks(64).enumerate();
        let mut count = 0;
        for (word, bytes) in words.by_ref().take(N) {
            let leads = self.read_word(vectors, base + 64 * word, bytes, count, this);
            this.leads[0][word] = leads;
            count += leads.count_ones() as usize;
        }
        if this.wide {
            // Characters of several bytes leave room for more.
            for (word, bytes) in words.take(N) {
                if count > 64 * (N - 1) {
                    break;
                }
                let leads = self.read_word(vectors, base + 64 * word, bytes, count, this);
                this.leads[1][word - N] = leads;
                count += leads.count_ones() as usize;
                this.ends = text.len() <= 64 * (word + 1);
            }
        }
        this.count = count;
        if this.ends {
            if alphabet.tells_final_line_feed() && self.text.last() == Some(&b'\n') {
                this.atoms[count] = alphabet.final_line_feed;
            }
            // A word is read whole: after the last character, it has the atom of the end of the
            // text.
            if let Some(behind) = this.atoms[count + 1..].first_chunk_mut::<64>() {
                behind.fill(alphabet.end);
            }
        }
    }

    /// Reads the bytes of the window at `base`, each as a character.
    #[inline(always)]
    pub fn read_bytes<const N: usize>(
        self,
        vectors: impl Vectors,
        atoms: &ByteAtoms,
        base: usize,
        this: &mut Characters<N>,
    ) {
        let ByteAtoms([low_atoms, high_atoms]) = atoms;
        let text = &self.text[base..];
        (this.wide, this.count, this.ends) = (false, text.len().min(64 * N), text.len() <= 64 * N);
        this.atoms[0] = self.alphabet.end;
        for (word, atoms) in text.chunks(64).zip(this.atoms[1..].as_chunks_mut().0).take(N) {
            let mut bytes = [0; 64];
            bytes[..word.len()].copy_from_slice(word);
            let loaded = vectors.load(&bytes);
            let high = vectors.non_zero(vectors.and(loaded, vectors.splat(0x80)));
            let mut looked_up = vectors.look_up(low_atoms, loaded);
            if high != 0 {
                let of_high = vectors.look_up(high_atoms, vectors.and(loaded, vectors.splat(0x7F)));
                looked_up = vectors.choose(high, of_high, looked_up);
            }
            vectors.store(looked_up, atoms);
        }
        if this.ends {
            this.atoms[1 + this.count..].fill(self.alphabet.end);
        }
    }

    /// Adds the characters that begin in a word of up to 64 bytes at `base` behind `count` others;
    /// returns their first bytes.
    #[inline(always)]
    fn read_word<const N: usize>(
        self,
        vectors: impl Vectors,
        base: usize,
        word: &[u8],
        count: usize,
        this: &mut Characters<N>,
    ) -> u64 {
        let padded;
        let bytes = match word.first_chunk() {
            Some(bytes) => bytes,
            None => {
                padded = std::array::from_fn(|place| word.get(place).copied().unwrap_or(0));
                &padded
            }
        };
        let Some(atoms) = this.atoms[1 + count..].first_chunk_mut() else { return 0 };
        let loaded = vectors.load(bytes);
        vectors.store(vectors.look_up(&self.alphabet.ascii, loaded), atoms);
        let wide = vectors.non_zero(vectors.and(loaded, vectors.splat(0x80)));
        let mut leads = !0 >> (64 - word.len());
        if wide != 0 {
            leads &= !wide | vectors.non_zero(vectors.and(loaded, vectors.splat(0x40)));
            this.wide = true;
            let mut all = *atoms;
            self.wide_atoms(vectors, base, bytes, wide & leads, &mut all);
            vectors.gather(&all, leads, atoms);
        }
        leads
    }

    /// Looks up the atoms of characters beyond ASCII and stores them at their first bytes: all
    /// characters that share the first byte, or the first two, at once.
    #[inline(always)]
    fn wide_atoms(
        self,
        vectors: impl Vectors,
        base: usize,
        bytes: &[u8; 64],
        leads: u64,
        atoms: &mut [u8; 64],
    ) {
        let alphabet = self.alphabet;
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
        let mut mixed = look_up_at(vectors, &alphabet.leads, bytes, leads, atoms);
        let mut of_four = 0;
        while mixed != 0 {
            let lead = bytes[mixed.trailing_zeros() as usize];
            let same = vectors.equal(bytes, lead) & mixed;
            mixed &= !same;
            if lead >= 0xF0 {
                of_four |= same;
                continue;
            }
            if lead < 0xE0 {
                look_up_at(
                    vectors,
                    alphabet.page(usize::from(lead & 0x1F) << 6),
                    second,
                    same,
                    atoms,
                );
                continue;
            }
            let lead = usize::from(lead & 0x0F);
            let mut still_mixed =
                look_up_at(vectors, &alphabet.leads_of_three[lead], second, same, atoms);
            while still_mixed != 0 {
                let next = second[still_mixed.trailing_zeros() as usize];
                let same = vectors.equal(second, next) & still_mixed;
                still_mixed &= !same;
                let page = alphabet.page(lead << 12 | usize::from(next & 0x3F) << 6);
                look_up_at(vectors, page, third, same, atoms);
            }
        }
        for place in places_in(0, of_four) {
            atoms[place] = alphabet.at(self.text, base + place).0;
        }
    }
}

/// At some places, stores the table's entry for the last six bits of the index; returns the places
/// whose entry has its highest bit set.
#[inline(always)]
fn look_up_at(
    vectors: impl Vectors,
    table: &[u8; 64],
    index: &[u8; 64],
    places: u64,
    atoms: &mut [u8; 64],
) -> u64 {
    let entries = vectors.look_up(table, vectors.and(vectors.load(index), vectors.splat(63)));
    vectors.store(vectors.choose(places, entries, vectors.load(atoms)), atoms);
    vectors.non_zero(vectors.and(entries, vectors.splat(0x80))) & places
}
