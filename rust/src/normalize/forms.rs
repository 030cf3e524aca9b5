//! The normal forms NFC, NFD, NFKC and NFKD, by the tables of Unicode 9: characters that were added
//! later stay as they are.
//!
//! Only a stretch around characters that may change is written anew: from the character before, up
//! to the next one that stays and does not compose with what is before it.
//!
//! ```text
//! original: a b c e ◌́ d       `◌́` may change, `d` stays
//! written:  a b c é   d       the stretch is `e ◌́`, the rest is copied
//! ```

use std::iter::once;

use once_cell::race::OnceBox;
use unicode_normalization_alignments::char::{
    canonical_combining_class, decompose_canonical, decompose_compatible,
};
use unicode_normalization_alignments::{
    IsNormalized, UnicodeNormalization, is_nfc_quick, is_nfd_quick, is_nfkc_quick, is_nfkd_quick,
};

use super::code_points::CodePoints;
use super::output::Output;
use crate::error::Result;
use crate::memory;
use crate::watch::Pulse;

/// The bytes that a character takes while a stretch is written.
const BYTES_PER_CHARACTER: usize = 32;

/// A normal form.
#[derive(Clone, Copy)]
pub enum Form {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

impl Form {
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "NFC" => Self::Nfc,
            "NFD" => Self::Nfd,
            "NFKC" => Self::Nfkc,
            "NFKD" => Self::Nfkd,
            _ => return None,
        })
    }

    /// Whether a text may be cut before a character: it is neither moved, nor composed with what is
    /// before it.
    pub fn starts(self, character: char) -> bool {
        // The first character that it decomposes to.
        let mut first = None;
        let part = |part| {
            first.get_or_insert(part);
        };
        match self {
            Self::Nfc | Self::Nfd => decompose_canonical(character, part),
            Self::Nfkc | Self::Nfkd => decompose_compatible(character, part),
        }
        let first = first.unwrap_or(character);
        let may_compose = matches!(self, Self::Nfc | Self::Nfkc)
            && matches!(is_nfc_quick(once(first)), IsNormalized::Maybe);
        canonical_combining_class(first) == 0 && !may_compose
    }

    /// Returns the characters that may not start, or that may change though what follows starts.
    pub fn changes(self) -> &'static CodePoints {
        static CHANGES: [OnceBox<CodePoints>; 4] = [const { OnceBox::new() }; 4];
        CHANGES[self as usize].get_or_init(|| {
            // No ideograph of the large blocks changes.
            let candidates = ('\u{a0}'..='\u{33ff}')
                .chain('\u{a000}'..='\u{16fff}')
                .chain('\u{1b000}'..='\u{1ffff}');
            let candidates = candidates.chain('\u{2f800}'..='\u{2ffff}');
            Box::new(candidates.filter(|&candidate| self.may_change(candidate)).collect())
        })
    }

    fn may_change(self, character: char) -> bool {
        let text = once(character);
        let is_normal = match self {
            Self::Nfc => is_nfc_quick(text),
            Self::Nfd => is_nfd_quick(text),
            Self::Nfkc => is_nfkc_quick(text),
            Self::Nfkd => is_nfkd_quick(text),
        };
        is_normal != IsNormalized::Yes || canonical_combining_class(character) != 0
    }

    /// Writes the normal form of a text.
    pub fn apply<const ALIGNS: bool>(
        self,
        text: &str,
        out: &mut Output<'_, ALIGNS>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let changes = self.changes();
        loop {
            let from = out.done;
            let place = changes.find(text, from);
            pulse.beat(place - from)?;
            if place == text.len() {
                return Ok(());
            }
            // The character before, if there is one.
            let before = text[from..place].char_indices().next_back();
            let start = before.map_or(from, |(offset, _)| from + offset);
            // Up to the next one that stays.
            let mut later = text[place..].char_indices().skip(1);
            let end = match later.find(|&(_, character)| !changes.contains(character)) {
                Some((offset, _)) => place + offset,
                None => text.len(),
            };
            out.keep_to(start)?;
            self.write(&text[start..end], out, pulse)?;
            out.done = end;
        }
    }

    fn write<const ALIGNS: bool>(
        self,
        stretch: &str,
        out: &mut Output<'_, ALIGNS>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        memory::ensure(BYTES_PER_CHARACTER * stretch.len())?;
        let mut stopped = Ok(());
        let characters = stretch.chars().map_while(|character| {
            stopped = pulse.beat(character.len_utf8());
            stopped.is_ok().then_some(character)
        });
        let written: Box<dyn Iterator<Item = (char, isize)>> = match self {
            Self::Nfc => Box::new(characters.nfc()),
            Self::Nfd => Box::new(characters.nfd()),
            Self::Nfkc => Box::new(characters.nfkc()),
            Self::Nfkd => Box::new(characters.nfkd()),
        };
        // A character comes with how many more are written than taken: one of several that a
        // character becomes with 1, one that several become with less than 0. It has the place of
        // the first one that was taken for it, or of the last before.
        for (character, more) in written {
            let taken = 1_usize.saturating_add_signed(-more);
            out.take(taken.min(1));
            out.put(character.encode_utf8(&mut [0; 4]), 1)?;
            out.take(taken.saturating_sub(1));
        }
        stopped
    }
}
