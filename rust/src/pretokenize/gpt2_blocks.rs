//! The GPT-2 pattern, 64 bytes at a time: text and a start in, the ends of many pieces out.
//!
//! Where a piece begins shows in the classes of a character and its two neighbours (and, for contractions, in the
//! two letters behind an apostrophe), so that it is found for 64 bytes at once by shifting masks of classes. A
//! character of several bytes has its class in all of them. The one thing that does not fit is white space that
//! is not ASCII; where there is some, the scalar scanner goes on for a stretch.
//!
//! Scanning can begin anew at the start of any piece, because the pattern does not look back.

use super::Batch;
use super::classify::{Classify, Masks};
use super::ends::Text;
use crate::unicode::{LETTER, NUMBER, SPACE};

/// The classes of 64 bytes of a text; past the text's end is white space, as for `\s+(?!\S)`.
#[derive(Clone, Copy)]
struct Block {
    masks: Masks,
    /// Whether there is white space that is not ASCII.
    wide_space: bool,
}

const PAST_THE_END: Block = Block {
    masks: Masks {
        letters: 0,
        numbers: 0,
        spaces: !0,
        blanks: 0,
        apostrophes: 0,
        non_ascii: 0,
        continuations: 0,
    },
    wide_space: false,
};

/// What the bytes before a block mean for it: one bit each, at the block's first byte.
#[derive(Clone, Copy, Default)]
struct Carry {
    letter: u64,
    number: u64,
    other: u64,
    space: u64,
    blank: u64,
    /// Starts that a contraction before the block takes away from it.
    inside_contraction: u64,
    /// Starts that a contraction before the block adds to it.
    past_contraction: u64,
}

/// Add pieces to the batch, of which `start` is the first one's start, until it is nearly full or the text ends.
pub fn fill(text: &Text, start: usize, batch: &mut Batch) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("bmi2") {
            // SAFETY: the machine was just asked for the instructions.
            return unsafe { fill_avx512(text, start, batch) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
            // SAFETY: the machine was just asked for the instructions.
            return unsafe { fill_avx2(text, start, batch) };
        }
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: every aarch64 machine has NEON.
    return unsafe { fill_with::<super::classify::Neon>(text, start, batch) };
    #[cfg(not(target_arch = "aarch64"))]
    // SAFETY: the portable way asks for nothing.
    unsafe {
        fill_with::<super::classify::Portable>(text, start, batch);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2,lzcnt,popcnt")]
fn fill_avx512(text: &Text, start: usize, batch: &mut Batch) {
    // SAFETY: this function is only entered where AVX-512F and BW are.
    unsafe { fill_with::<super::classify::Avx512>(text, start, batch) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn fill_avx2(text: &Text, start: usize, batch: &mut Batch) {
    // SAFETY: this function is only entered where AVX2 is.
    unsafe { fill_with::<super::classify::Avx2>(text, start, batch) }
}

/// # Safety
/// The machine must have the instructions of `C`.
#[inline(always)]
unsafe fn fill_with<C: Classify>(text: &Text, mut start: usize, batch: &mut Batch) {
    while start < text.bytes.len() && batch.room() > 64 {
        // SAFETY: the caller vouches for the instructions of `C`.
        start = unsafe { fill_from::<C>(text, start, batch) };
    }
}

/// Add pieces up to the end of the text, or to where scanning has to begin anew; return that place.
///
/// # Safety
/// The machine must have the instructions of `C`.
#[inline(always)]
unsafe fn fill_from<C: Classify>(text: &Text, start: usize, batch: &mut Batch) -> usize {
    let length = text.bytes.len();
    let mut base = start;
    let mut last_end = start;
    let mut carry = Carry::default();
    // SAFETY: the caller vouches for the instructions of `C`.
    let mut block = unsafe { classify::<C>(text, base) };
    // The first piece's start is no end.
    let mut no_ends = 1;
    while batch.room() > 64 {
        if block.wide_space {
            return scan_past(text, last_end, base + 64, batch);
        }
        // SAFETY: the caller vouches for the instructions of `C`.
        let next = unsafe { classify::<C>(text, base + 64) };
        let mut ends = starts(text, base, &block.masks, &next.masks, &mut carry) & !no_ends;
        no_ends = 0;
        if length - base < 64 {
            ends &= !(!0 << (length - base));
        }
        if ends != 0 {
            last_end = base + 63 - ends.leading_zeros() as usize;
            batch.push_bits(base, ends);
        }
        base += 64;
        if base >= length {
            batch.push(length);
            return length;
        }
        block = next;
    }
    last_end
}

/// Add pieces one at a time until one ends at `until` or behind it; return that end.
#[cold]
fn scan_past(text: &Text, mut position: usize, until: usize, batch: &mut Batch) -> usize {
    let until = until.min(text.bytes.len());
    while position < until && !batch.is_full() {
        position = text.gpt2_end(position);
        batch.push(position);
    }
    position
}

/// The bytes of a block at which a piece begins.
#[inline(always)]
fn starts(text: &Text, base: usize, masks: &Masks, next: &Masks, carry: &mut Carry) -> u64 {
    let Masks { letters, numbers, spaces, blanks, apostrophes, .. } = *masks;
    let others = !(letters | numbers | spaces);
    let same_as_before = letters & (letters << 1 | carry.letter)
        | numbers & (numbers << 1 | carry.number)
        | others & (others << 1 | carry.other);
    let after_blank = blanks << 1 | carry.blank;
    let after_space = spaces << 1 | carry.space;
    let before_text = !(spaces >> 1 | next.spaces << 63);
    // White space begins a piece after anything else, and its last character begins one before anything else: with
    // a blank that piece goes on, with a newline it is all there is.
    let words = !spaces & !same_as_before & !after_blank;
    let mut starts = words | spaces & (!after_space | before_text);
    starts = starts & !carry.inside_contraction | carry.past_contraction;
    (carry.inside_contraction, carry.past_contraction) = (0, 0);
    let mut candidates = apostrophes & words & (letters >> 1 | next.letters << 63);
    while candidates != 0 {
        let place = candidates.trailing_zeros();
        candidates &= candidates - 1;
        if let Some(end) = text.contraction(base + place as usize, false) {
            let inside = 1u128 << (place + 1);
            let past = 1u128 << (end - base);
            starts = starts & !(inside as u64) | past as u64;
            carry.inside_contraction |= (inside >> 64) as u64;
            carry.past_contraction |= (past >> 64) as u64;
        }
    }
    carry.letter = letters >> 63;
    carry.number = numbers >> 63;
    carry.other = others >> 63;
    carry.space = spaces >> 63;
    carry.blank = blanks >> 63;
    starts
}

/// The classes of the 64 bytes at `base`.
///
/// # Safety
/// The machine must have the instructions of `C`.
#[inline(always)]
unsafe fn classify<C: Classify>(text: &Text, base: usize) -> Block {
    let masks = match text.bytes.get(base..).and_then(|rest| rest.first_chunk()) {
        // SAFETY: the caller vouches for the instructions of `C`.
        Some(block) => unsafe { C::classify(block) },
        None if base >= text.bytes.len() => return PAST_THE_END,
        None => {
            let mut padded = [b'\n'; 64];
            let rest = &text.bytes[base..];
            padded[..rest.len()].copy_from_slice(rest);
            // SAFETY: the caller vouches for the instructions of `C`.
            unsafe { C::classify(&padded) }
        }
    };
    let mut block = Block { masks, wide_space: false };
    if masks.non_ascii != 0 {
        classify_wide(text, base, &mut block);
    }
    block
}

/// Give the bytes that are not ASCII the class of their characters.
#[inline(always)]
fn classify_wide(text: &Text, base: usize, block: &mut Block) {
    let continuations = block.masks.continuations;
    let (mut letters, mut numbers, mut spaces) = (0, 0, 0);
    let mut mark = |class: u8, place: u32| {
        letters |= u64::from(class & LETTER != 0) << place;
        if class & (NUMBER | SPACE) != 0 {
            // Hardly ever.
            numbers |= u64::from(class & NUMBER != 0) << place;
            spaces |= u64::from(class & SPACE != 0) << place;
        }
    };
    if continuations & 1 != 0 {
        // A character that began before the block has some of its bytes here.
        let before = text.bytes[..base].iter().rposition(|byte| byte & 0xC0 != 0x80);
        mark(text.wide_class(before.unwrap_or(0)), 0);
    }
    let mut starts = block.masks.non_ascii & !continuations;
    while starts != 0 {
        let place = starts.trailing_zeros();
        mark(text.wide_class(base + place as usize), place);
        starts &= starts - 1;
    }
    // From a character's first byte here to its others, of which there are at most three.
    let spread = |mut bits: u64| {
        for _ in 0..3 {
            bits |= bits << 1 & continuations;
        }
        bits
    };
    block.masks.letters |= spread(letters);
    block.masks.numbers |= spread(numbers);
    block.masks.spaces |= spread(spaces);
    block.wide_space = spaces != 0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pretokenize::classify::Portable;
    use crate::unicode::class_table;

    type Fill = fn(&Text, usize, &mut Batch);

    fn portable(text: &Text, start: usize, batch: &mut Batch) {
        // SAFETY: the portable way asks for nothing.
        unsafe { fill_with::<Portable>(text, start, batch) }
    }

    /// Every way to fill a batch that this machine can run, the chosen one first.
    fn ways() -> Vec<Fill> {
        let mut ways: Vec<Fill> = vec![fill, portable];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the machine was just asked for the instructions.
            ways.push(|text, start, batch| unsafe { fill_avx2(text, start, batch) });
        }
        ways
    }

    fn ends(text: &Text, fill: Fill) -> Vec<usize> {
        let mut all = vec![];
        let mut batch = Batch::default();
        while all.last().copied().unwrap_or(0) < text.bytes.len() {
            batch.clear();
            fill(text, all.last().copied().unwrap_or(0), &mut batch);
            assert!(!batch.ends().is_empty());
            all.extend_from_slice(batch.ends());
        }
        all
    }

    fn scalar(text: &Text, mut start: usize, batch: &mut Batch) {
        while start < text.bytes.len() && !batch.is_full() {
            start = text.gpt2_end(start);
            batch.push(start);
        }
    }

    fn agree(text: &str) {
        let text = Text { bytes: text.as_bytes(), classes: class_table() };
        let expected = ends(&text, scalar);
        for way in ways() {
            assert_eq!(ends(&text, way), expected, "{:?}", str::from_utf8(text.bytes));
        }
    }

    /// The same numbers every time.
    fn random(state: &mut u64) -> usize {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 33) as usize
    }

    #[test]
    fn every_way_cuts_like_the_scalar_scanner() {
        let pieces = [
            " ",
            "  ",
            "\n",
            "a",
            "'s",
            "'ll",
            "'",
            "l",
            "1",
            "!",
            "é",
            "中",
            "\u{3000}",
            "\u{a0}",
            "\u{301}",
            "😀",
            "s",
            "\t",
            "the",
            " word",
            "x7",
            "ſ",
            "'re",
            "e",
            "v",
            "longer words",
        ];
        let mut state = 1;
        for round in 0..20_000 {
            // Few kinds of pieces in some texts, so that runs come up; all of them in others.
            let kinds = 1 + random(&mut state) % pieces.len();
            let offset = random(&mut state);
            let count = random(&mut state) % if round % 100 == 0 { 3000 } else { 90 };
            let text: String =
                (0..count).map(|_| pieces[(offset + random(&mut state) % kinds) % pieces.len()]).collect();
            agree(&text);
        }
    }

    #[test]
    fn contractions_are_found_across_the_ends_of_blocks() {
        for ahead in 0..140 {
            for contraction in ["'s", "'ll", "'re's", "'lL", "'", "''ve"] {
                for behind in ["", "x", " x", "'t", "1", "\u{3000}y"] {
                    agree(&("a".repeat(ahead) + contraction + behind));
                    agree(&(" ".repeat(ahead) + contraction + behind));
                    agree(&("中".repeat(ahead) + contraction + behind));
                }
            }
        }
    }

    #[test]
    fn a_batch_holds_the_most_pieces_that_blocks_can_give() {
        agree(&"a1".repeat(4000));
        agree(&"\n!".repeat(2049));
    }
}
