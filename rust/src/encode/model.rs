//! A vocabulary without its added tokens, which encodes ordinary text.
//!
//! ```text
//! pretoken -> its own token, if that replaces it -> else tokens, by merging -> ids
//! ```
//!
//! Tokens are ids, with two exceptions: a provisional token is replaced by the ids of its bytes,
//! and a byte without a token by what [`Unknown`] says.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::cache::{Bound, Cache};
use super::merges::Merges;
use super::superwords::Superwords;
use super::whole::{WholeTokens, is_first};
use super::written::{Mark, MarkPlace, WrittenTokens};
use super::{Id, NO_ID};
use crate::error::{Error, Result};
use crate::key::hasher::Keyed;
use crate::memory::{boxed_array, ensure, gathered, push};
use crate::pretokenize::{CharSet, Pattern, set_of};
use crate::tokens::TokenBytes;

/// Everything that decides the ids of a text.
#[derive(Default)]
pub struct Definition<'a> {
    /// The steps that cut text into pretokens.
    pub pattern: &'a [String],
    /// The id and bytes of every token except the special ones.
    pub tokens: &'a [(u32, &'a [u8])],
    /// What stands for bytes that have no token. Without it, text with such a byte is refused.
    pub unknown: Option<Unknown>,
    /// Tokens that encoding never gives; only for decoding.
    pub decode_only: &'a [(u32, Vec<u8>)],
    /// The left id, right id and resulting id of every merge, in the order of rank.
    pub merges: &'a [[u32; 3]],
    /// Where merges begin and end that have the same rank: the leftmost of their pairs comes first.
    pub equal_ranks: &'a [(u32, u32)],
    /// The texts and ids of added tokens, which ids are decoded to. (`Stages` says where they are
    /// found.)
    pub added_tokens: &'a [(&'a str, u32)],
    /// Whether a pretoken that is itself a token becomes that token before any merge is tried.
    pub whole_pretoken_first: bool,
    /// A set of characters in our syntax: a pretoken of these alone has no ids.
    pub left_out: Option<&'a str>,
    /// The ids, after all others, of tokens that exist only to be merged further: if one remains,
    /// it is replaced by the ids of its bytes. With `unknown`, or if some are single bytes, they are
    /// parts of characters, and the remaining part of a character is unknown.
    pub provisional: &'a [u32],
    /// What is put to each pretoken before it is merged.
    pub mark: Option<Mark<'a>>,
    /// Whether decoding puts a space between tokens.
    pub spaced: bool,
    /// Decoding writes a token that begins with this directly behind another one, and without it.
    pub glued: Option<&'a str>,
    /// What decoding replaces in each token, one after the other.
    pub cleaned: &'a [(String, String)],
}

/// What stands for bytes without a token.
#[derive(Clone, Copy)]
pub enum Unknown {
    /// An id for each.
    Each(u32),
    /// An id for successive ones of a pretoken.
    Joined(u32),
    /// Nothing: a pretoken is merged without them. (With provisional tokens, without the characters
    /// that have no token.)
    Dropped,
}

impl Unknown {
    pub(super) fn id(self) -> Option<u32> {
        match self {
            Self::Each(id) | Self::Joined(id) => Some(id),
            Self::Dropped => None,
        }
    }

    pub(super) fn put(self, ids: &mut Vec<u32>) {
        if matches!(self, Self::Joined(_)) {
            ids.dedup_by(|next, before| *next == NO_ID && *before == NO_ID);
        }
        let Some(unknown) = self.id() else {
            ids.retain(|&id| id != NO_ID);
            return;
        };
        for id in ids.iter_mut().filter(|id| **id == NO_ID) {
            *id = unknown;
        }
    }
}

/// What decides the ids of ordinary text. It never changes, and any number of threads may use it at
/// once.
pub struct Model {
    pub(super) pattern: Arc<Pattern>,
    pub(super) merges: Merges,
    pub(super) tokens: TokenBytes,
    /// What decoding writes for each token, where that is not its bytes.
    written: Option<Box<WrittenTokens>>,
    /// Where pretokens get a mark before they are merged.
    pub(super) mark: Option<MarkPlace>,
    /// Tokens that replace a whole pretoken though merging it would not result in them.
    pub(super) replacing: Replacing,
    /// The length of the longest of these.
    pub(super) longest_replacing: usize,
    /// Tokens that a new cache holds.
    first: Vec<u32>,
    tokens_merged: usize,
    pub largest_id: u32,
    /// Whether some bytes of UTF-8 have no token.
    pub(super) lacks_bytes: bool,
    pub(super) unknown: Option<Unknown>,
    /// Whether merges begin with characters, so that some of their parts are provisional.
    pub(super) has_characters: bool,
    /// The characters whose pretokens have no ids.
    left_out: Option<CharSet>,
    /// What makes encoding faster if some tokens join words.
    pub(super) superwords: Option<Box<Superwords>>,
    /// For each provisional token, the ids of its bytes.
    pub(super) provisional: HashMap<u32, Box<[u32]>>,
    /// The characters that have a token, if those without one are dropped.
    characters: Option<HashSet<Box<[u8]>, Keyed>>,
}

/// Tokens by their bytes.
type Replacing = HashMap<Box<[u8]>, u32, Keyed>;

/// The maximum memory of a token and of a merge in the tables, besides the bytes of long tokens.
const BYTES_PER_TOKEN: usize = 256;
const BYTES_PER_MERGE: usize = 64;

impl Model {
    /// Checks the definition and builds the tables.
    pub fn new(definition: &Definition) -> Result<Self> {
        ensure(
            definition.tokens.len() * BYTES_PER_TOKEN + definition.merges.len() * BYTES_PER_MERGE,
        )?;
        let decode_only: HashSet<u32> = definition.decode_only.iter().map(|&(id, _)| id).collect();
        let mut others: Vec<(u32, &[u8])> = Vec::new();
        for (id, token) in definition.decode_only {
            push(&mut others, (*id, token))?;
        }
        for (text, id) in definition.added_tokens {
            if !decode_only.contains(id) {
                push(&mut others, (*id, text.as_bytes()))?;
            }
        }
        let all = || definition.tokens.iter().chain(&others).copied();
        if let Some((id, token)) = all().find(|&(id, _)| id == NO_ID) {
            return Err(Error::Value(format!(
                "token {:?} has the id {id}: the largest possible id is {}",
                String::from_utf8_lossy(token),
                NO_ID - 1
            )));
        }
        let tokens = TokenBytes::new(all())?;
        let base = base_ids(definition.tokens)?;
        let mark = definition.mark.map(Mark::side);
        let is_marked = |id| mark.is_some_and(|mark| has_mark(&tokens, mark, id));
        let (marked, unmarked): (Vec<u32>, Vec<u32>) =
            definition.provisional.iter().partition(|&&id| is_marked(id));
        let lacks_characters = unmarked.iter().any(|&id| tokens.length(id) == Some(1));
        // Units may also lack a token for the end of a word, or its beginning.
        let lacks_bytes = mark.is_some()
            || lacks_characters
            || BYTES_OF_UTF8.into_iter().flatten().any(|byte| base[byte] == NO_ID);
        let mut provisional = if definition.unknown.is_some() || lacks_characters {
            ids_of_beginnings(&unmarked, &tokens)
        } else {
            ids_of_bytes(&unmarked, &tokens, &base)?
        };
        let drops = matches!(definition.unknown, Some(Unknown::Dropped));
        let characters = (drops && !unmarked.is_empty()).then(|| {
            let lasting = definition.tokens.iter().filter(|(id, _)| !provisional.contains_key(id));
            let is_character = |token: &&[u8]| token.len() == character_length(token[0]);
            lasting.map(|&(_, token)| token).filter(is_character).map(Box::from).collect()
        });
        for id in marked {
            let is_mark_alone = tokens.length(id) == Some(1);
            provisional.insert(id, if is_mark_alone { [].into() } else { [NO_ID].into() });
        }
        let ranks = ranks(definition.merges.len(), definition.equal_ranks)?;
        let merges = Merges::new(base, definition.merges, &ranks, &tokens)?;
        let ids = all().map(|(id, _)| id).chain(definition.unknown.and_then(Unknown::id));
        let largest_id = ids.filter(|id| !provisional.contains_key(id)).max().unwrap_or(0);
        if let Some(id) = provisional.keys().find(|&&id| id <= largest_id) {
            return Err(Error::Value(format!(
                "provisional token {id} must have an id after all others"
            )));
        }
        // Only where pretokens are nothing but merged.
        let is_plain = mark.is_none()
            && definition.left_out.is_none()
            && !definition.whole_pretoken_first
            && !lacks_bytes
            && provisional.is_empty();
        let superwords = match is_plain {
            true => Superwords::new(&merges, definition.merges, &ranks, &tokens)?,
            false => None,
        };
        // The id of the mark is after all others.
        let among_all = definition.whole_pretoken_first || mark.is_some();
        // What a new cache holds are pretokens, or pieces of these, which are merged early.
        let (cached, rows) = match &superwords {
            Some(superwords) => superwords.early(definition.merges),
            None => (&merges, definition.merges),
        };
        let whole = WholeTokens::new(cached, rows, &ranks, among_all)?;
        let is_merged = |id| whole.holds(id) && !provisional.contains_key(&id);
        let replacing = replacing_tokens(definition, is_merged);
        let left_out = definition.left_out.map(set_of).transpose()?;
        let has_ids = |token: &[u8]| {
            let unmarked = mark.and_then(|mark| mark.unmarked(token));
            let text = unmarked.unwrap_or(token);
            !left_out.as_ref().is_some_and(|set| consists_of(text, set))
        };
        let mut first = Vec::new();
        for &(id, token) in definition.tokens {
            let is_merged = is_merged(id) && !replacing.contains_key(token);
            if is_first(id) && is_merged && has_ids(token) {
                push(&mut first, id)?;
            }
        }
        let longest_replacing = replacing.keys().map(|token| token.len()).max();
        Ok(Self {
            pattern: Pattern::new(definition.pattern)?,
            largest_id,
            lacks_bytes,
            unknown: definition.unknown,
            has_characters: !unmarked.is_empty(),
            left_out,
            superwords,
            provisional,
            characters,
            longest_replacing: longest_replacing.unwrap_or(0),
            replacing,
            first,
            written: WrittenTokens::of(definition, &others)?,
            mark,
            tokens_merged: definition.tokens.len(),
            merges,
            tokens,
        })
    }

    /// Whether a pretoken has no ids.
    #[inline]
    pub(super) fn leaves_out(&self, pretoken: &[u8]) -> bool {
        self.left_out.as_ref().is_some_and(|set| consists_of(pretoken, set))
    }

    /// Whether a text may have a pretoken without ids.
    pub(super) fn may_leave_out(&self, text: &str) -> bool {
        let is_in_text = |set: &CharSet| text.chars().any(|character| set.contains(character));
        self.left_out.as_ref().is_some_and(is_in_text)
    }

    /// What stands for bytes without a token, if tokens do not tile a text.
    pub(super) fn gaps(&self) -> Option<Unknown> {
        self.unknown.or(self.left_out.is_some().then_some(Unknown::Dropped))
    }

    /// A new cache, and one of pieces if pretokens are merged from these. Together they take no more
    /// than some memory.
    pub fn caches(&self, memory: usize) -> Result<(Arc<Cache>, Option<Arc<Cache>>)> {
        let bound = self.bound(memory);
        let mut first = Vec::new();
        for &id in &self.first {
            let Some(token) = self.tokens.get(id) else { continue };
            // What a pretoken becomes has the mark, which the pretoken does not have.
            let pretoken = match self.mark {
                Some(mark) => mark.unmarked(token),
                None => Some(token),
            };
            if let Some(pretoken) = pretoken {
                push(&mut first, (id, pretoken))?;
            }
        }
        let of_tokens = Arc::new(Cache::new(&first, self.tokens_merged, bound)?);
        if self.superwords.is_none() {
            return Ok((of_tokens, None));
        }
        let of_pretokens = Arc::new(Cache::new(&[], self.tokens_merged, bound)?);
        Ok((of_pretokens, Some(of_tokens)))
    }

    /// The memory that caches take at most, where they may take so much.
    pub fn memory_of_caches(&self, memory: usize) -> usize {
        self.number_of_caches() * self.bound(memory).memory()
    }

    /// The bound of each cache.
    fn bound(&self, memory: usize) -> Bound {
        Bound::of(memory / self.number_of_caches())
    }

    fn number_of_caches(&self) -> usize {
        1 + usize::from(self.superwords.is_some())
    }

    /// The bytes that decoding writes for each token, as the first one of a text.
    pub fn written(&self) -> &TokenBytes {
        self.written.as_ref().map_or(&self.tokens, |written| &written.first)
    }

    /// The bytes that decoding writes for tokens behind the first one, if these are others.
    pub fn written_behind(&self) -> Option<&TokenBytes> {
        self.written.as_ref()?.behind.as_ref()
    }

    /// The number of bytes of a text that a token stands for, if there is a token of that id.
    #[inline]
    pub(super) fn length_in_text(&self, id: u32) -> Option<usize> {
        let length = self.tokens.length(id)?;
        let is_marked = self.mark.is_some_and(|mark| has_mark(&self.tokens, mark, id));
        Some(length - usize::from(is_marked))
    }

    /// The places of the bytes of a text that are merged, where others are dropped.
    pub(super) fn merged_places(&self, text: &[u8]) -> Result<Vec<usize>> {
        let Some(characters) = &self.characters else {
            return gathered((0..text.len()).filter(|&at| self.merges.base(text[at]) != NO_ID));
        };
        let mut places = Vec::new();
        let mut start = 0;
        while start < text.len() {
            let end = text.len().min(start + character_length(text[start]));
            if characters.contains(&text[start..end]) {
                for place in start..end {
                    push(&mut places, place)?;
                }
            }
            start = end;
        }
        Ok(places)
    }

    /// Fails unless every id fits the integer type.
    pub fn check_fits<T: Id>(&self) -> Result<()> {
        if self.largest_id <= T::LARGEST {
            return Ok(());
        }
        let bits = 8 * size_of::<T>();
        Err(Error::Value(format!(
            "the vocabulary has ids up to {}, which do not fit uint{bits}",
            self.largest_id
        )))
    }
}

/// Whether a token has the mark of a pretoken.
fn has_mark(tokens: &TokenBytes, mark: MarkPlace, id: u32) -> bool {
    tokens.get(id).is_some_and(|token| mark.unmarked(token).is_some())
}

/// The rank of each merge: its place, or the first place of the merges with the same rank.
pub fn ranks(count: usize, equal: &[(u32, u32)]) -> Result<Vec<u32>> {
    let mut ranks: Vec<u32> = gathered(0..count as u32)?;
    for &(start, end) in equal {
        let Some(equal) = ranks.get_mut(start as usize..end as usize) else {
            return Err(Error::Value(format!("equal_ranks: there are no merges {start} to {end}")));
        };
        equal.fill(start);
    }
    Ok(ranks)
}

/// The bytes that occur in UTF-8.
const BYTES_OF_UTF8: [RangeInclusive<usize>; 2] = [0..=0xBF, 0xC2..=0xF4];

/// The id of every byte; `NO_ID` if it has none.
fn base_ids(tokens: &[(u32, &[u8])]) -> Result<Box<[u32; 256]>> {
    let mut ids: Box<[u32; 256]> = boxed_array(|| NO_ID)?;
    for &(id, token) in tokens {
        if token.is_empty() {
            return Err(Error::Value(format!("token {id} is empty")));
        }
        if let &[byte] = token {
            let other = std::mem::replace(&mut ids[usize::from(byte)], id);
            if other != NO_ID {
                return Err(Error::Value(format!("byte {byte} has two ids, {other} and {id}")));
            }
        }
    }
    Ok(ids)
}

/// The ids of the bytes of provisional tokens.
fn ids_of_bytes(
    provisional: &[u32],
    tokens: &TokenBytes,
    base: &[u32; 256],
) -> Result<HashMap<u32, Box<[u32]>>> {
    let mut ids = HashMap::new();
    for &id in provisional {
        let Some(token) = tokens.get(id).filter(|token| token.len() > 1) else {
            return Err(Error::Value(format!("provisional token {id} is not made by any merge")));
        };
        let of_bytes = token.iter().map(|&byte| base[usize::from(byte)]);
        ids.insert(id, of_bytes.collect());
    }
    Ok(ids)
}

/// The length of the character that begins with a byte; of any other byte, 1.
fn character_length(first: u8) -> usize {
    match first {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    }
}

/// What provisional tokens become that are parts of characters: the beginning of a character is
/// unknown, and the rest is nothing.
fn ids_of_beginnings(provisional: &[u32], tokens: &TokenBytes) -> HashMap<u32, Box<[u32]>> {
    let mut ids = HashMap::new();
    for &id in provisional {
        let of_token: Box<[u32]> = match tokens.get(id) {
            Some([byte, ..]) if byte & 0xC0 != 0x80 => [NO_ID].into(),
            _ => [].into(),
        };
        ids.insert(id, of_token);
    }
    ids
}

/// Refuses text with a byte that has no token.
pub(super) fn check_known(pretoken: &[u8], ids: &[u32]) -> Result<()> {
    if !ids.contains(&NO_ID) {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&pretoken[..pretoken.len().min(80)]);
    Err(Error::Value(format!("{text:?} has a byte for which this vocabulary has no token")))
}

/// The tokens that replace a pretoken of their bytes though merging does not result in them; for
/// equal bytes the smallest id.
fn replacing_tokens(definition: &Definition, is_merged: impl Fn(u32) -> bool) -> Replacing {
    let mut replacing = Replacing::default();
    if !definition.whole_pretoken_first {
        return replacing;
    }
    let mut smallest = HashMap::<_, _, Keyed>::default();
    for &(id, token) in definition.tokens {
        if !is_merged(id) {
            smallest.insert(token, id);
        }
    }
    for &(id, token) in definition.tokens {
        if let Some(smaller) = smallest.get_mut(token) {
            *smaller = id.min(*smaller);
        }
    }
    for (token, id) in smallest {
        if !is_merged(id) {
            replacing.insert(Box::from(token), id);
        }
    }
    replacing
}

/// Whether some text has only characters of a set.
fn consists_of(text: &[u8], set: &CharSet) -> bool {
    let is_of_set = |text: &str| text.chars().all(|character| set.contains(character));
    std::str::from_utf8(text).is_ok_and(is_of_set)
}
