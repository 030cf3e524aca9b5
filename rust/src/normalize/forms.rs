//! The normal forms NFC, NFD, NFKC and NFKD, by the tables of Unicode 9: characters that were added later stay as they are.

use unicode_normalization::char::{
    canonical_combining_class, compose, decompose_canonical, decompose_compatible,
};

use super::output::Output;
use super::quick::CodePoints;
use super::tables::{COMPOSING_STARTERS, YOUNG};
use crate::error::Result;
use crate::memory;
use crate::watch::Pulse;
use once_cell::race::OnceBox;

/// A normal form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Whether characters that only look or mean the same are replaced, too.
    pub compatible: bool,
    pub composes: bool,
}

/// A character of a decomposed text.
#[derive(Clone, Copy)]
struct FormPart {
    character: char,
    class: u8,
    /// How many characters of the given text it stands for; the parts of a character but the first stand for none.
    taken: usize,
}

impl Form {
    pub fn named(name: &str) -> Option<Self> {
        let (compatible, composes) = match name {
            "NFC" => (false, true),
            "NFD" => (false, false),
            "NFKC" => (true, true),
            "NFKD" => (true, false),
            _ => return None,
        };
        Some(Self { compatible, composes })
    }

    /// Whether a text may be cut before a character: it is neither moved, nor composed with what is before it.
    pub fn starts(self, character: char) -> bool {
        let first = self.first(character);
        class(first) == 0 && !(self.composes && composing_starters().contains(first))
    }

    /// The first character of a character's decomposition.
    pub fn first(self, character: char) -> char {
        let mut first = None;
        self.decompose(character, |part| {
            first.get_or_insert(part);
        });
        first.unwrap_or(character)
    }

    /// The characters that may not start, or that may change though what follows starts.
    pub fn changes(self) -> &'static CodePoints {
        static CHANGES: [OnceBox<CodePoints>; 4] = [const { OnceBox::new() }; 4];
        let which = usize::from(self.compatible) * 2 + usize::from(self.composes);
        CHANGES[which].get_or_init(|| {
            let mut changes = CodePoints::default();
            for character in candidates().filter(|&character| self.changes_alone(character)) {
                changes.add(character);
            }
            Box::new(changes)
        })
    }

    fn changes_alone(self, character: char) -> bool {
        let mut length = 0;
        let mut composed = None;
        self.decompose(character, |part| {
            length += 1;
            composed = match composed {
                None => Some(part),
                Some(first) if self.composes => composite(first, part),
                Some(_) => None,
            };
        });
        composed != Some(character) || length == 0 || !self.starts(character)
    }

    #[inline]
    fn decompose(self, character: char, part: impl FnMut(char)) {
        if young().contains(character) {
            let mut part = part;
            part(character);
        } else if self.compatible {
            decompose_compatible(character, part);
        } else {
            decompose_canonical(character, part);
        }
    }

    /// Write the normal form of a text.
    pub fn apply<const ALIGNS: bool>(
        self,
        text: &str,
        out: &mut Output<ALIGNS>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let mut composer = Composer::default();
        let mut waiting = Vec::new();
        for character in text.chars() {
            pulse.beat(character.len_utf8())?;
            let mut done = Ok(());
            let mut taken = 1;
            self.decompose(character, |part| {
                let part =
                    FormPart { character: part, class: class(part), taken: std::mem::take(&mut taken) };
                if done.is_ok() {
                    done = if part.class == 0 {
                        self.write_sorted(&mut waiting, &mut composer, out)
                            .and_then(|()| self.write(part, &mut composer, out))
                    } else {
                        memory::push(&mut waiting, part)
                    };
                }
            });
            done?;
        }
        self.write_sorted(&mut waiting, &mut composer, out)?;
        composer.flush(out)
    }

    /// Write parts in the order of their classes. There are few classes, so that this is linear.
    fn write_sorted<const ALIGNS: bool>(
        self,
        waiting: &mut Vec<FormPart>,
        composer: &mut Composer,
        out: &mut Output<ALIGNS>,
    ) -> Result<()> {
        let mut done = 0;
        while let Some(next) = waiting.iter().map(|part| part.class).filter(|&class| class > done).min() {
            for &part in waiting.iter().filter(|part| part.class == next) {
                self.write(part, composer, out)?;
            }
            done = next;
        }
        waiting.clear();
        Ok(())
    }

    fn write<const ALIGNS: bool>(
        self,
        part: FormPart,
        composer: &mut Composer,
        out: &mut Output<ALIGNS>,
    ) -> Result<()> {
        if self.composes { composer.add(part, out) } else { put(part, out) }
    }
}

/// Composes the parts of a text.
#[derive(Default)]
struct Composer {
    /// The last character of class 0.
    starter: Option<FormPart>,
    /// What did not compose with it.
    behind: Vec<FormPart>,
}

impl Composer {
    fn add<const ALIGNS: bool>(&mut self, part: FormPart, out: &mut Output<ALIGNS>) -> Result<()> {
        let Some(starter) = &mut self.starter else {
            if part.class != 0 {
                return put(part, out);
            }
            self.starter = Some(part);
            return Ok(());
        };
        let is_next = self.behind.last().is_none_or(|last| last.class < part.class);
        if is_next && let Some(composed) = composite(starter.character, part.character) {
            starter.character = composed;
            starter.taken += part.taken;
            return Ok(());
        }
        if part.class != 0 {
            return memory::push(&mut self.behind, part);
        }
        self.flush(out)?;
        self.starter = Some(part);
        Ok(())
    }

    fn flush<const ALIGNS: bool>(&mut self, out: &mut Output<ALIGNS>) -> Result<()> {
        self.starter.take().map_or(Ok(()), |starter| put(starter, out))?;
        self.behind.drain(..).try_for_each(|part| put(part, out))
    }
}

/// Write a part. It stands for the first of the characters that were taken for it, or for the last one before.
fn put<const ALIGNS: bool>(part: FormPart, out: &mut Output<ALIGNS>) -> Result<()> {
    out.take(part.taken.min(1));
    out.put(part.character)?;
    out.take(part.taken.saturating_sub(1));
    Ok(())
}

/// The combining class of a character.
#[inline]
fn class(character: char) -> u8 {
    if character < '\u{300}' || young().contains(character) {
        0
    } else {
        canonical_combining_class(character)
    }
}

/// What two characters compose to.
#[inline]
fn composite(first: char, second: char) -> Option<char> {
    let composed = if second < '\u{300}' { None } else { compose(first, second) };
    composed.filter(|&composed| ![first, second, composed].iter().any(|&one| young().contains(one)))
}

/// The composed characters whose decomposition begins with a character, and that character.
pub fn composites(first: char) -> impl Iterator<Item = char> {
    let composed = composed();
    let start = composed.partition_point(|&(begin, _)| begin < first);
    let those = composed[start..].iter().take_while(move |&&(begin, _)| begin == first);
    std::iter::once(first).chain(those.map(|&(_, composite)| composite))
}

/// The characters that compose with what follows.
pub fn composing() -> impl Iterator<Item = char> {
    composed().chunk_by(|(one, _), (other, _)| one == other).map(|group| group[0].0)
}

/// The composed characters, each behind the first character of its decomposition, in order.
fn composed() -> &'static [(char, char)] {
    static COMPOSED: OnceBox<Vec<(char, char)>> = OnceBox::new();
    COMPOSED.get_or_init(|| {
        let canonical = Form { compatible: false, composes: true };
        let mut composed: Vec<(char, char)> = candidates()
            .map(|character| (canonical.first(character), character))
            .filter(|(first, character)| first != character)
            .collect();
        composed.sort_unstable();
        Box::new(composed)
    })
}

/// All characters that may have a decomposition or a class: all but the large blocks of ideographs.
fn candidates() -> impl Iterator<Item = char> {
    ('\u{a0}'..='\u{33ff}')
        .chain('\u{a000}'..='\u{2ffff}')
        .chain('\u{e0000}'..='\u{e0fff}')
        .filter(|character| !('\u{17000}'..='\u{1afff}').contains(character))
        .filter(|character| !('\u{20000}'..='\u{2f7ff}').contains(character))
}

fn young() -> &'static CodePoints {
    static YOUNGER: OnceBox<CodePoints> = OnceBox::new();
    YOUNGER.get_or_init(|| Box::new(CodePoints::of_ranges(YOUNG)))
}

fn composing_starters() -> &'static CodePoints {
    static STARTERS: OnceBox<CodePoints> = OnceBox::new();
    STARTERS.get_or_init(|| Box::new(CodePoints::of_ranges(COMPOSING_STARTERS)))
}
