//! Decodes ids: joins the bytes of their tokens, of all at once or as they arrive.

use crate::error::Result;
use crate::memory;
use crate::tokens::TokenBytes;
use crate::watch::Pulse;

/// The maximum number of ids that are decoded between two beats of the pulse, and the room in bytes
/// that is reserved for them, as if each were the longest token.
const IDS_PER_BEAT: usize = 1 << 9;
const ROOM: usize = 1 << 18;

/// Most texts have at most this many bytes for each token.
const COMMON_LENGTH: usize = 5;

/// Which spaces a text omits at its beginning.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Drops {
    Nothing,
    /// One, if it begins with one.
    One,
    /// All those of the first token.
    OfFirst,
}

/// How ids become text.
#[derive(Clone, Copy)]
pub struct Writing<'a> {
    /// The bytes of the first token, and of all others unless these are behind it.
    pub tokens: &'a TokenBytes,
    pub behind: Option<&'a TokenBytes>,
    pub drops: Drops,
}

impl Writing<'_> {
    /// How ids become text if there are others before them.
    pub fn behind_others(self) -> Self {
        let tokens = self.behind.unwrap_or(self.tokens);
        Self { tokens, behind: None, drops: Drops::Nothing }
    }

    /// Appends the bytes of ids to what is in a vector, without such spaces.
    pub fn append(self, ids: &[u32], bytes: &mut Vec<u8>, pulse: &mut Pulse) -> Result<()> {
        let Self { tokens, behind, drops } = self;
        let start = bytes.len();
        let ids_in_front = if behind.is_some() { ids.len().min(1) } else { ids.len() };
        let (first, others) = ids.split_at(ids_in_front);
        decode_onto(tokens, first, bytes, pulse)?;
        if let Some(behind) = behind {
            decode_onto(behind, others, bytes, pulse)?;
        }
        if ids.last().is_some_and(|id| tokens.spaced.contains(id)) {
            bytes.pop();
        }
        match drops {
            Drops::Nothing => {}
            Drops::One => {
                if bytes.get(start) == Some(&b' ') {
                    bytes.remove(start);
                }
            }
            Drops::OfFirst => {
                let first = ids.first().and_then(|&id| tokens.length(id)).unwrap_or(0);
                let end = start + first;
                let mut kept_to = start;
                for place in start..end {
                    if bytes[place] != b' ' {
                        bytes[kept_to] = bytes[place];
                        kept_to += 1;
                    }
                }
                bytes.drain(kept_to..end);
            }
        }
        Ok(())
    }
}

/// A text whose ids arrive in pieces.
#[derive(Clone, Default)]
pub struct OpenText {
    /// The bytes that nobody has taken yet: those of an incomplete character.
    pub waiting: Vec<u8>,
    has_begun: bool,
    /// A space is written if another token follows.
    owes_space: bool,
}

impl OpenText {
    /// Returns the bytes of one more token, if nothing else is written for it.
    #[inline]
    pub fn next_token<'a>(&self, id: u32, writing: Writing<'a>) -> Option<&'a [u8]> {
        let is_alone = self.has_begun && self.waiting.is_empty() && !self.owes_space;
        if !is_alone || writing.tokens.spaced.contains(&id) {
            return None;
        }
        writing.behind_others().tokens.get(id)
    }

    /// Returns the same text with more ids: their bytes wait.
    pub fn with(&self, ids: &[u32], writing: Writing, pulse: &mut Pulse) -> Result<Self> {
        let mut longer = self.clone();
        let Some(last) = ids.last() else { return Ok(longer) };
        if self.owes_space {
            memory::push(&mut longer.waiting, b' ')?;
        }
        if self.has_begun {
            writing.behind_others().append(ids, &mut longer.waiting, pulse)?;
        } else {
            writing.append(ids, &mut longer.waiting, pulse)?;
            // Where a text only loses its first space, tokens without bytes do not begin it.
            let first_token_counts = writing.behind.is_some() || writing.drops == Drops::OfFirst;
            let has_bytes = |&id: &u32| writing.tokens.length(id) > Some(0);
            longer.has_begun = first_token_counts || ids.iter().any(has_bytes);
        }
        longer.owes_space = writing.drops == Drops::Nothing && writing.tokens.spaced.contains(last);
        Ok(longer)
    }
}

/// A text whose ids arrive in pieces, in the chunks of `tokenizers.decoders.DecodeStream`: nothing
/// comes while the text ends with U+FFFD, which an incomplete character also becomes.
#[derive(Clone, Default)]
pub struct Chunks {
    /// The ids of the latest chunk, and those that came later.
    pub read: Vec<u32>,
    pub waiting: Vec<u32>,
    bytes: Vec<u8>,
}

impl Chunks {
    /// A text behind these ids.
    pub fn behind(read: Vec<u32>) -> Self {
        Self { read, ..Self::default() }
    }

    /// Adds ids, of which the `shown` ones are text, and returns the text that is now complete.
    pub fn step(
        &mut self,
        ids: &[u32],
        shown: &[u32],
        tokens: &TokenBytes,
        pulse: &mut Pulse,
    ) -> Result<Option<String>> {
        let before = self.bytes.len();
        let decoded = decode_onto(tokens, shown, &mut self.bytes, pulse);
        if let Err(error) = decoded.and_then(|()| memory::extend(&mut self.waiting, ids)) {
            self.bytes.truncate(before);
            return Err(error);
        }
        if !ends_with_text(&self.bytes) {
            return Ok(None);
        }
        let chunk = String::from_utf8_lossy(&self.bytes).into_owned();
        self.bytes.clear();
        std::mem::swap(&mut self.read, &mut self.waiting);
        self.waiting.clear();
        Ok(Some(chunk))
    }
}

/// Whether bytes end with a complete character other than U+FFFD.
fn ends_with_text(bytes: &[u8]) -> bool {
    let tail = &bytes[bytes.len().saturating_sub(4)..];
    let is_continued = |byte: &u8| byte & 0xC0 == 0x80;
    let Some(start) = tail.iter().rposition(|byte| !is_continued(byte)) else { return false };
    str::from_utf8(&tail[start..]).is_ok_and(|last| last != "\u{FFFD}")
}

/// Appends the bytes of the ids to a vector.
pub fn decode_onto(
    tokens: &TokenBytes,
    ids: &[u32],
    bytes: &mut Vec<u8>,
    pulse: &mut Pulse,
) -> Result<()> {
    let ids_per_beat = (ROOM / tokens.longest().max(1)).clamp(1, IDS_PER_BEAT);
    for (number, chunk) in ids.chunks(ids_per_beat).enumerate() {
        memory::reserve(bytes, chunk.len() * tokens.longest())?;
        let length = tokens.write(chunk, bytes.spare_capacity_mut())?;
        // SAFETY: `length` bytes were written after the existing ones.
        unsafe { bytes.set_len(bytes.len() + length) };
        pulse.beat(4 * chunk.len())?;
        if number == 0 {
            // Room for the rest: a vector that grows takes new memory from the system again and
            // again.
            let rest = ids.len() - chunk.len();
            let bytes_per_token = COMMON_LENGTH.min(length.div_ceil(chunk.len()));
            memory::reserve(bytes, rest.saturating_mul(bytes_per_token))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Unwatched;

    #[test]
    fn text_ends_where_its_last_character_is_complete() {
        for complete in ["a", "\u{e9}", "a\u{65e5}", "\u{1F600}", "\u{FFFD}a"] {
            assert!(ends_with_text(complete.as_bytes()));
        }
        let replaced: [&[u8]; 6] =
            [b"", b"\xFF", b"a\x80", b"\xF0\x9F\x98", b"\x80\x80\x80\x80", b"\xEF\xBF\xBD"];
        for bytes in replaced {
            assert!(!ends_with_text(bytes));
            assert!(bytes.is_empty() || String::from_utf8_lossy(bytes).ends_with('\u{FFFD}'));
        }
    }

    #[test]
    fn bytes_are_appended_however_long_tokens_are() {
        for longest in [1, 40, 5000, ROOM + 1] {
            let long = vec![b'x'; longest];
            let given: [(u32, &[u8]); 2] = [(0, b"ab"), (7, &long)];
            let tokens = TokenBytes::new(given.into_iter()).unwrap();
            let mut ids = vec![0; 2 * IDS_PER_BEAT + 1];
            ids[IDS_PER_BEAT + 1] = 7;
            let mut bytes = b"before".to_vec();
            let watch = &mut Unwatched;
            let pulse = &mut Pulse::of(watch);
            decode_onto(&tokens, &ids, &mut bytes, pulse).unwrap();
            let expected = [
                b"before",
                &*b"ab".repeat(IDS_PER_BEAT + 1),
                &long,
                &b"ab".repeat(IDS_PER_BEAT - 1),
            ];
            assert!(bytes == expected.concat());
            assert!(decode_onto(&tokens, &[0, 1], &mut bytes, pulse).is_err());
        }
    }
}
