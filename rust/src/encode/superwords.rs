//! Encodes with superwords: tokens that join words, such as ` of the`.
//!
//! The pretokens of such a vocabulary may be as long as a line, and few of them occur twice. But
//! its merges come in two stages, and early ones join no words:
//!
//! ```text
//! pretoken       the best of times
//! pieces         the| best| of| times      no early merge joins `e` and a space
//! early tokens   the| best| of| times      cached for each piece
//! runs           the best of| times        no late merge joins ` of` and ` times`
//! tokens         the best| of| times       late merges, in each run
//! ```
//!
//! 1. A pretoken is cut into pieces where no early merge joins the two bytes. So each is merged by
//!    itself as long as there are early merges, which have the lower ranks.
//! 2. Then there are late merges only. The first one that crosses a border of early tokens joins
//!    two parts that are made of these, and at the border are the last one of the left part and the
//!    first one of the right part. So if no late merge has parts that meet with these two, none
//!    ever crosses the border.
//! 3. Each run of early tokens between such borders is merged by itself.
//!
//! Whether two tokens may meet can be answered by "perhaps" at any time, which makes a run longer
//! and changes no result.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use super::cache::{Cache, INLINE, LONGEST, Table};
use super::merges::{Merge, MergeTable, Merges};
use super::merging::{Merger, Scratch};
use super::{Model, NO_ID};
use crate::bits::{first_from, first_not_from, last_not_in};
use crate::error::Result;
use crate::key::block::{BLOCK, Block, Lookups};
use crate::key::hasher::Keyed;
use crate::memory::{boxed_array, expect, extend, filled, reserve};
use crate::tokens::TokenBytes;
use crate::watch::Pulse;

/// Early merges are at least this part of all: with fewer, pieces are hardly longer than bytes.
const EARLY: usize = 8;

/// Places in a table for each late merge, so that few other pairs of tokens have a place in use.
const PLACES: usize = 16;
/// What is known of two early tokens, in two bits: some late merge joins parts that meet with them;
/// some late merge joins the two.
const MEET: u64 = 0b01;
const JOIN: u64 = 0b10;

/// What joins the pieces of long pretokens.
pub struct Superwords {
    /// The merges of the first stage, and their number.
    early: Merges,
    count: usize,
    /// The later ones.
    late: MergeTable,
    /// For each pair of bytes, whether an early merge joins them.
    joined: Box<[u64; 1 << 10]>,
    /// By the hash of two early tokens: what late merges do with them.
    meetings: Vec<u64>,
    shift: u32,
}

/// The early tokens at the ends of a token.
#[derive(Clone, Copy)]
struct Ends {
    first: u32,
    last: u32,
}

impl Superwords {
    /// Finds the two stages of some merges, with their ranks; `None` if there are not two.
    pub fn new(
        merges: &Merges,
        rows: &[[u32; 3]],
        ranks: &[u32],
        tokens: &TokenBytes,
    ) -> Result<Option<Box<Self>>> {
        let Some(count) = count_early(merges, rows, ranks, tokens) else { return Ok(None) };
        let (early_rows, late_rows) = rows.split_at(count);
        let places = (PLACES * late_rows.len()).next_power_of_two();
        let early = merges.of_rows(early_rows, &ranks[..count], tokens)?;
        let mut superwords = Box::new(Self {
            joined: joined_bytes(&early)?,
            early,
            count,
            late: MergeTable::new(late_rows, &ranks[count..])?,
            meetings: filled(0, places.div_ceil(32))?,
            shift: u64::BITS - places.trailing_zeros(),
        });
        let added = superwords.add_meetings(early_rows, late_rows);
        Ok(added.map(|()| superwords))
    }

    /// Adds the early tokens between which late merges join their parts; `None` if a token is made in
    /// several ways, or used before it is made.
    fn add_meetings(&mut self, early_rows: &[[u32; 3]], late_rows: &[[u32; 3]]) -> Option<()> {
        let late: HashSet<u32, Keyed> = late_rows.iter().map(|&[_, _, id]| id).collect();
        let is_regular = late.len() == late_rows.len();
        if !is_regular || early_rows.iter().flatten().any(|token| late.contains(token)) {
            return None;
        }
        let mut made: HashMap<u32, Ends, Keyed> = HashMap::default();
        for &[left, right, id] in late_rows {
            let ends_of = |token| match late.contains(&token) {
                true => made.get(&token).copied(),
                false => Some(Ends { first: token, last: token }),
            };
            let left_ends = ends_of(left)?;
            let right_ends = ends_of(right)?;
            let place = self.place(left_ends.last, right_ends.first);
            let are_early = left_ends.last == left && right_ends.first == right;
            let known = if are_early { MEET | JOIN } else { MEET };
            self.meetings[place / 32] |= known << (place % 32 * 2);
            made.insert(id, Ends { first: left_ends.first, last: right_ends.last });
        }
        Some(())
    }

    /// The early merges, as a table and as rows.
    pub fn early<'a>(&'a self, rows: &'a [[u32; 3]]) -> (&'a Merges, &'a [[u32; 3]]) {
        (&self.early, &rows[..self.count])
    }

    /// The place of what is known of two early tokens.
    #[inline(always)]
    fn place(&self, left: u32, right: u32) -> usize {
        let pair = u64::from(left) << 32 | u64::from(right);
        (pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    /// What late merges may do with two early tokens.
    #[inline(always)]
    fn known(&self, left: u32, right: u32) -> u64 {
        let place = self.place(left, right);
        self.meetings[place / 32] >> (place % 32 * 2)
    }

    /// Lists the places between bytes that no early merge joins, the first of which is at `first`;
    /// returns their number.
    #[inline]
    fn cut(&self, bytes: &[u8], first: usize, places: &mut [usize]) -> usize {
        let mut count = 0;
        for (place, pair) in (first..).zip(bytes.windows(2)) {
            let pair = usize::from(pair[0]) << 8 | usize::from(pair[1]);
            let is_joined = self.joined[pair / 64] >> (pair % 64) & 1 != 0;
            places[count] = place;
            count += usize::from(!is_joined);
        }
        count
    }
}

/// How many merges come before the first one that joins a letter or a digit to a space; `None` if
/// no merge does so, or it is among the first.
fn count_early(
    merges: &Merges,
    rows: &[[u32; 3]],
    ranks: &[u32],
    tokens: &TokenBytes,
) -> Option<usize> {
    if !(0..=u8::MAX).any(|byte| may_end_word(byte) && merges.of_bytes(byte, b' ').are_joined()) {
        return None;
    }
    let starts_with_space = |id| tokens.get(id).is_some_and(|token| token[0] == b' ');
    let is_late = |&[left, right, _]: &[u32; 3]| {
        starts_with_space(right) && tokens.get(left).is_some_and(ends_word)
    };
    let late = rows.iter().position(is_late)?;
    // All of those with its rank.
    let early = ranks[late] as usize;
    (early >= rows.len() / EARLY).then_some(early)
}

/// Whether a letter or a digit may end with a byte.
fn may_end_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte & 0xC0 == 0x80
}

/// Whether the last character of a token is a letter or a digit.
fn ends_word(token: &[u8]) -> bool {
    let is_start = |&byte: &u8| byte & 0xC0 != 0x80;
    let start = token.iter().rposition(is_start).unwrap_or(0);
    let last = std::str::from_utf8(&token[start..]).unwrap_or_default();
    last.chars().all(char::is_alphanumeric) && !last.is_empty()
}

/// A bit for each pair of bytes that merges join.
fn joined_bytes(merges: &Merges) -> Result<Box<[u64; 1 << 10]>> {
    let mut joined = boxed_array(|| 0)?;
    for left in 0..=u8::MAX {
        for right in 0..=u8::MAX {
            let pair = usize::from(left) << 8 | usize::from(right);
            if merges.of_bytes(left, right).are_joined() {
                joined[pair / 64] |= 1 << (pair % 64);
            }
        }
    }
    Ok(joined)
}

/// A block of pieces ends if there is room for fewer than this.
const SPARE: usize = 32;
/// The words that a piece takes if its entry holds its tokens.
const ROOM: usize = INLINE;
/// The longest run whose tokens are moved when two are merged.
const SHORT_RUN: usize = 16;

/// What a thread merges pretokens with.
pub struct Superworder {
    pieces: Pieces,
    runs: Runs,
}

/// Merges a pretoken in two stages.
pub struct StageMerger<'a, 'p> {
    pub model: &'a Model,
    pub superwords: &'a Superwords,
    pub scratch: &'a mut Scratch,
    pub pulse: &'a mut Pulse<'p>,
}

impl Superworder {
    pub fn new() -> Result<Self> {
        Ok(Self { pieces: Pieces::new()?, runs: Runs::default() })
    }

    /// Takes the current table of a cache of pieces.
    pub fn take_table(&mut self, cache: &Cache) {
        let Pieces { table, learned, .. } = &mut self.pieces;
        *table = cache.renewed(table.take(), mem::take(learned));
    }

    /// Releases it.
    pub fn release_table(&mut self, cache: &Cache) {
        self.take_table(cache);
        self.pieces.table = None;
    }

    /// Sets `ids` to those of a pretoken at a place of a text.
    pub fn merge(
        &mut self,
        text: &[u8],
        pretoken: Range<usize>,
        ids: &mut Vec<u32>,
        merger: &mut StageMerger,
    ) -> Result<()> {
        let Self { pieces, runs } = self;
        ids.clear();
        runs.clear();
        let mut place = Place { start: pretoken.start, searched: pretoken.start + 1 };
        while place.start < pretoken.end {
            let before = place.start;
            pieces.add_tokens(text, &mut place, pretoken.end, &mut runs.tokens, merger)?;
            let is_last = place.start == pretoken.end;
            runs.merge(is_last, merger, ids)?;
            merger.pulse.beat(place.start - before)?;
        }
        Ok(())
    }
}

/// How far a pretoken is cut into pieces.
struct Place {
    /// Where the next piece begins.
    start: usize,
    /// The next place that may be its end.
    searched: usize,
}

/// Finds the early tokens of pieces.
struct Pieces {
    lookups: Lookups,
    /// Where the pieces of a block end.
    ends: Box<[usize; BLOCK]>,
    /// The table of pieces, and how many of its entries were used since it was taken.
    table: Option<Arc<Table>>,
    learned: usize,
    /// The tokens of a new piece.
    new: Vec<u32>,
}

impl Pieces {
    fn new() -> Result<Self> {
        Ok(Self {
            lookups: Lookups::new()?,
            ends: boxed_array(|| 0)?,
            table: None,
            learned: 0,
            new: Vec::new(),
        })
    }

    /// Appends the early tokens of the next block of pieces.
    fn add_tokens(
        &mut self,
        text: &[u8],
        place: &mut Place,
        end: usize,
        tokens: &mut Vec<u32>,
        merger: &mut StageMerger,
    ) -> Result<()> {
        let count = self.find_ends(text, place, end, merger.superwords);
        let Self { lookups, ends, table, learned, new } = self;
        let block = Block { text, start: place.start, ends: &ends[..count] };
        place.start = block.end();
        let mut length = tokens.len();
        make_room(tokens, length + ROOM * count)?;
        let Some(table) = table else {
            tokens.truncate(length);
            for index in 0..count {
                merger.merge_early(block.pretoken(index), new)?;
                extend(tokens, new)?;
            }
            return Ok(());
        };
        lookups.prepare(&block, &table.hasher, table.entries());
        for index in 0..count {
            let (key, entry) = (lookups.keys[index], lookups.places[index]);
            if let Some(held) = table.entries().at(entry).get_own(key) {
                // All four are copied, and the next ones overwrite those too many.
                tokens[length..length + INLINE].copy_from_slice(held.ids);
                length += held.count;
                continue;
            }
            let piece = block.pretoken(index);
            let known = table.find(key, entry, piece).or_else(|| {
                let unused = table.find_unused(key, entry)?;
                *learned += 1;
                Some(unused)
            });
            let known = match known {
                Some(known) => known,
                None => {
                    merger.merge_early(piece, new)?;
                    if piece.len() <= LONGEST {
                        *learned += usize::from(table.insert(key, entry, piece, new));
                    }
                    &new[..]
                }
            };
            let known_end = length + known.len();
            make_room(tokens, known_end + ROOM * (count - index))?;
            tokens[length..known_end].copy_from_slice(known);
            length = known_end;
        }
        tokens.truncate(length);
        Ok(())
    }

    /// Finds where the next pieces end; returns their number.
    fn find_ends(
        &mut self,
        text: &[u8],
        place: &mut Place,
        end: usize,
        superwords: &Superwords,
    ) -> usize {
        let mut count = 0;
        while count <= BLOCK - SPARE {
            // At each place a piece may end, and one does at the last.
            let stop = end.min(place.searched + BLOCK - 1 - count);
            let ends = &mut self.ends[count..];
            count += superwords.cut(&text[place.searched - 1..stop], place.searched, ends);
            place.searched = stop;
            if stop == end {
                self.ends[count] = end;
                return count + 1;
            }
        }
        count
    }
}

/// Runs of early tokens, which are merged.
#[derive(Default)]
struct Runs {
    /// The tokens of the last block of pieces, and before them those of a run that may go on.
    tokens: Vec<u32>,
    /// The number of the latter.
    open: usize,
    /// For each token from the last of these on: whether it and the next one may be in a run, and
    /// whether they may be merged.
    meet: Vec<u64>,
    join: Vec<u64>,
    merged: Vec<u32>,
}

impl Runs {
    fn clear(&mut self) {
        self.tokens.clear();
        self.open = 0;
    }

    /// Appends the ids of all runs but the last one, which may go on unless it `is_last`.
    fn merge(&mut self, is_last: bool, merger: &mut StageMerger, ids: &mut Vec<u32>) -> Result<()> {
        self.compare_tokens(merger.superwords)?;
        let done = self.merge_some(is_last, merger)?;
        reserve(ids, done)?;
        ids.extend(self.tokens.drain(..done).filter(|&id| id != NO_ID));
        self.open = self.tokens.len();
        Ok(())
    }

    /// Sets the bits of new tokens.
    fn compare_tokens(&mut self, superwords: &Superwords) -> Result<()> {
        let Self { tokens, open, meet, join, .. } = self;
        let compared = &tokens[open.saturating_sub(1)..];
        meet.clear();
        join.clear();
        let words = compared.len() / 64 + 2;
        reserve(meet, words)?;
        reserve(join, words)?;
        for first in (0..compared.len()).step_by(64) {
            let end = compared.len().min(first + 65);
            let (mut meets, mut joins) = (0, 0);
            for (bit, pair) in compared[first..end].windows(2).enumerate() {
                let known = superwords.known(pair[0], pair[1]);
                meets |= (known & 1) << bit;
                joins |= (known >> 1 & 1) << bit;
            }
            meet.push(meets);
            join.push(joins);
        }
        // Behind the last one there is an end.
        meet.push(0);
        Ok(())
    }

    /// Merges all runs but the last one, which may go on unless it `is_last`, and writes `NO_ID`
    /// for tokens that are gone. Returns where the runs end.
    fn merge_some(&mut self, is_last: bool, merger: &mut StageMerger) -> Result<usize> {
        let count = self.tokens.len();
        let compared = self.open.saturating_sub(1);
        // A run that was open goes on, or ends with its last token.
        let mut next = if self.open > 0 { Some(0) } else { first_from(&self.join, 0) };
        let mut done = 0;
        while let Some(bit) = next {
            let before = last_not_in(&self.meet, bit);
            let start = before.map_or(0, |before| compared + before + 1);
            let behind = first_not_from(&self.meet, bit).unwrap_or(bit);
            let end = compared + behind + 1;
            if end == count && !is_last {
                return Ok(start);
            }
            self.merge_run(start..end, merger)?;
            done = end;
            next = first_from(&self.join, behind + 1);
        }
        if is_last {
            return Ok(count);
        }
        let before = last_not_in(&self.meet, count - 1 - compared);
        Ok(before.map_or(0, |before| compared + before + 1).max(done))
    }

    /// Merges a run, and writes `NO_ID` behind the result.
    #[inline]
    fn merge_run(&mut self, run: Range<usize>, merger: &mut StageMerger) -> Result<()> {
        let tokens = &mut self.tokens[run];
        if tokens.len() <= SHORT_RUN {
            let length = merger.superwords.merge_short(tokens);
            tokens[length..].fill(NO_ID);
            return Ok(());
        }
        self.merged.clear();
        extend(&mut self.merged, tokens)?;
        let StageMerger { model: Model { merges, tokens: bytes, .. }, scratch, pulse, .. } = merger;
        let mut merger = Merger { merges, tokens: bytes, scratch, pulse };
        merger.merge_tokens(&mut self.merged)?;
        let (merged, rest) = tokens.split_at_mut(self.merged.len());
        merged.copy_from_slice(&self.merged);
        rest.fill(NO_ID);
        Ok(())
    }
}

/// Lengthens a list to a length at least.
fn make_room(tokens: &mut Vec<u32>, length: usize) -> Result<()> {
    if length > tokens.len() {
        reserve(tokens, length - tokens.len())?;
        tokens.resize(length, NO_ID);
    }
    Ok(())
}

impl StageMerger<'_, '_> {
    /// Sets `tokens` to the early tokens of a piece.
    fn merge_early(&mut self, piece: &[u8], tokens: &mut Vec<u32>) -> Result<()> {
        let Self { model, superwords, scratch, pulse } = self;
        tokens.clear();
        if piece.len() > LONGEST {
            expect(tokens, piece.len());
        }
        let merges = &superwords.early;
        Merger { merges, tokens: &model.tokens, scratch, pulse }.merge(piece, tokens)
    }
}

impl Superwords {
    /// Merges a short run of early tokens, and writes the result to its beginning; returns the
    /// length of that.
    #[inline]
    fn merge_short(&self, tokens: &mut [u32]) -> usize {
        let mut length = tokens.len();
        let mut merges = [Merge::NONE; SHORT_RUN];
        for (merge, pair) in merges.iter_mut().zip(tokens.windows(2)) {
            *merge = self.late.get(pair[0], pair[1]);
        }
        loop {
            let possible = &merges[..length - 1];
            let mut best = 0;
            for (place, merge) in possible.iter().enumerate() {
                if merge.rank() < merges[best].rank() {
                    best = place;
                }
            }
            if length == 1 || merges[best] == Merge::NONE {
                return length;
            }
            tokens[best] = merges[best].id();
            tokens.copy_within(best + 2..length, best + 1);
            merges.copy_within(best + 1..length, best);
            length -= 1;
            if best > 0 {
                merges[best - 1] = self.late.get(tokens[best - 1], tokens[best]);
            }
            merges[best] = match tokens[..length].get(best + 1) {
                Some(&next) => self.late.get(tokens[best], next),
                None => Merge::NONE,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{RandomNumbers, defined};
    use super::super::{Definition, Encoder, Special, Stages, Workspace};
    use super::*;
    use crate::watch::Unwatched;

    /// Merges in two stages over two letters, a space and a full stop: early ones join nothing to a
    /// space behind it.
    struct RandomStages {
        tokens: Vec<Vec<u8>>,
        rows: Vec<[u32; 3]>,
        early: usize,
    }

    impl RandomStages {
        fn new(numbers: &mut RandomNumbers) -> Self {
            let tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
            let mut made: Vec<u32> = b"ab .".iter().map(|&byte| u32::from(byte)).collect();
            let early = 1 + numbers.below(20);
            let all = early + 1 + numbers.below(30);
            let mut this = Self { tokens, rows: Vec::new(), early };
            for _ in 0..20 * all {
                let left = made[numbers.below(made.len())];
                let right = made[numbers.below(made.len())];
                let is_early = this.rows.len() < early;
                let token =
                    [&this.tokens[left as usize][..], &this.tokens[right as usize]].concat();
                let is_first_late = this.rows.len() == early;
                let joins_words = token.windows(2).any(|pair| pair[0] != b' ' && pair[1] == b' ');
                let joins_letter = ends_word(&this.tokens[left as usize])
                    && this.tokens[right as usize][0] == b' ';
                let fits = if is_early { !joins_words } else { !is_first_late || joins_letter };
                if fits && token.len() <= 24 && !this.tokens.contains(&token) {
                    let id = this.tokens.len() as u32;
                    this.rows.push([left, right, id]);
                    this.tokens.push(token);
                    made.push(id);
                }
                if this.rows.len() == all {
                    break;
                }
            }
            this
        }

        fn encoder(&self) -> Encoder {
            let tokens: Vec<(u32, &[u8])> =
                (0..).zip(&self.tokens).map(|(id, token)| (id, &token[..])).collect();
            let definition = Definition {
                pattern: &[r"[^.]+|\.+".to_owned()],
                tokens: &tokens,
                merges: &self.rows,
                ..Definition::default()
            };
            Encoder::new(&definition, Stages::new(Vec::new(), &[]).unwrap()).unwrap()
        }
    }

    fn random_text(numbers: &mut RandomNumbers, length: usize) -> String {
        let characters = ["a", "b", " ", " ", ".", "é"];
        // In some, nothing but words; in others, no end of a word.
        let used = [3, 2, 4, 6][numbers.below(4)];
        (0..length).map(|_| characters[numbers.below(used)]).collect()
    }

    fn encoded(encoder: &Encoder, text: &str, workspace: &mut Workspace) -> Vec<u32> {
        let mut unwatched = Unwatched;
        let pulse = &mut Pulse::of(&mut unwatched);
        let mut ids = Vec::new();
        encoder.encode(text, Special::Text.into(), &mut ids, workspace, pulse).unwrap();
        ids
    }

    #[test]
    fn the_ids_are_those_that_merging_whole_pretokens_gives() {
        let mut numbers = RandomNumbers(17);
        let mut workspace = Workspace::new().unwrap();
        let (mut in_stages, mut late) = (0, 0);
        for _ in 0..400 {
            let stages = RandomStages::new(&mut numbers);
            let encoder = stages.encoder();
            let Some(superwords) = &encoder.model.superwords else { continue };
            assert_eq!(superwords.count, stages.early);
            in_stages += 1;
            for round in 0..12 {
                let length = if round == 0 { 1200 } else { [4, 30, 100][numbers.below(3)] };
                let text = random_text(&mut numbers, length);
                let mut expected = Vec::new();
                let mut rest = &text[..];
                while !rest.is_empty() {
                    let is_stop = rest.starts_with('.');
                    let end = rest.find(|character| (character == '.') != is_stop);
                    let (pretoken, behind) = rest.split_at(end.unwrap_or(rest.len()));
                    expected.extend(defined(&encoder.model.merges, pretoken.as_bytes()));
                    rest = behind;
                }
                let ids = encoded(&encoder, &text, &mut workspace);
                assert_eq!(ids, expected, "{text:?} {:?}", stages.rows);
                // Now from the cache.
                assert_eq!(encoded(&encoder, &text, &mut workspace), expected);
                late += ids.iter().filter(|&&id| id as usize >= 256 + stages.early).count();
            }
        }
        assert!(in_stages > 300 && late > 10_000, "{in_stages} {late}");
    }

    #[test]
    fn merges_that_come_in_no_two_stages_are_left_alone() {
        let tokens: [(u32, &[u8]); 6] =
            [(0, b"a"), (1, b" "), (2, b" a"), (3, b"a a"), (4, b" a a"), (5, b"a a a")];
        let is_found = |rows: &[[u32; 3]]| {
            let mut base = Box::new([NO_ID; 256]);
            (base[usize::from(b'a')], base[usize::from(b' ')]) = (0, 1);
            let ranks: Vec<u32> = (0..).take(rows.len()).collect();
            let bytes = TokenBytes::new(tokens.into_iter()).unwrap();
            let merges = Merges::new(base, rows, &ranks, &bytes).unwrap();
            Superwords::new(&merges, rows, &ranks, &bytes).unwrap().is_some()
        };
        assert!(is_found(&[[1, 0, 2], [0, 2, 3], [3, 2, 5]]));
        // Without a token that joins words.
        assert!(!is_found(&[[1, 0, 2]]));
        // A late token that two merges make, that an early merge uses, or that is used too soon.
        assert!(!is_found(&[[1, 0, 2], [0, 2, 3], [3, 2, 5], [0, 4, 5]]));
        assert!(!is_found(&[[1, 3, 4], [1, 0, 2], [0, 2, 3]]));
        assert!(!is_found(&[[1, 0, 2], [0, 4, 5], [2, 2, 4]]));
    }
}
