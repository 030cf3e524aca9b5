//! Boundaries between documents, and the places where a text may be cut without changing its
//! pretokens.
//!
//! With a pattern that allows cuts, a text is cut where the pattern says it is safe and no boundary
//! touches. Otherwise it is cut only after boundaries, and only after those that no other boundary
//! overlaps: these are matched wherever a search begins. Every decision depends on
//! [`Cutter::context`] bytes on both sides alone, so all workers find the same cuts.

use std::ops::Range;

use crate::encode::Stages;
use crate::error::{Error, Result};
use crate::finder::{Finder, Search, Touched};
use crate::pretokenize::Pattern;

/// Texts that separate documents.
pub struct Boundaries(Finder);

impl Boundaries {
    /// `None` if there are no texts.
    pub fn new(texts: &[String]) -> Result<Option<Self>> {
        if texts.iter().any(String::is_empty) {
            return Err(Error::Value("boundaries: an empty text cannot be a boundary".into()));
        }
        if texts.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self(Finder::new(texts.iter().map(String::as_bytes)))))
    }

    /// Returns the leftmost-longest boundaries from a place on.
    fn matches(&self, bytes: &[u8], mut from: usize) -> impl Iterator<Item = Range<usize>> {
        let mut search = Search::default();
        std::iter::from_fn(move || {
            let (boundary, _) = self.0.find(bytes, from..bytes.len(), &mut search, |_, _| true)?;
            from = boundary.end;
            Some(boundary)
        })
    }

    /// Returns the segments of text before, between and after the leftmost-longest boundaries; some
    /// may be empty.
    pub fn segments<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let mut start = 0;
        let text_end = text.len()..text.len();
        let boundaries = self.matches(text.as_bytes(), 0).chain(std::iter::once(text_end));
        boundaries.map(move |boundary| {
            let segment = &text[start..boundary.start];
            start = boundary.end;
            segment
        })
    }

    /// Returns the first place at or after `from` where a boundary ends that no other boundary's
    /// text overlaps. Such a boundary is a leftmost-longest match wherever the search begins.
    fn next_end(&self, bytes: &[u8], from: usize) -> Option<usize> {
        for boundary in self.matches(bytes, from.saturating_sub(self.0.longest)) {
            if boundary.end >= from && !self.is_overlapped(bytes, &boundary) {
                return Some(boundary.end);
            }
        }
        None
    }

    /// Whether the text of another boundary overlaps this one, and does not lie within it.
    fn is_overlapped(&self, bytes: &[u8], Range { start, end }: &Range<usize>) -> bool {
        (start.saturating_sub(self.0.longest)..*end).any(|other_start| {
            let Some(other_end) = self.0.end_at(bytes, other_start) else { return false };
            other_end > *start && (other_start < *start || other_end > *end)
        })
    }
}

/// Finds the places where a text may be cut without changing its pretokens.
///
/// The decision depends on [`Cutter::context`] bytes on both sides alone. So all workers find the
/// same first cut at or after an offset, however much of the text they see.
#[derive(Clone, Copy)]
pub struct Cutter<'a> {
    pub pattern: &'a Pattern,
    pub boundaries: Option<&'a Boundaries>,
    pub stages: &'a Stages,
}

impl Cutter<'_> {
    /// Whether a text can be cut at all.
    pub fn can_cut(self) -> bool {
        self.can_cut_within_segments() || self.boundaries.is_some()
    }

    /// Whether a segment between boundaries can be cut. The proof of a pattern is about the
    /// normalized text between added tokens, which is only known once the segment goes through the
    /// stages as a whole.
    fn can_cut_within_segments(self) -> bool {
        self.pattern.can_cut() && self.stages.are_none()
    }

    /// Returns the number of bytes on each side that decide on a cut: the longest character, or the
    /// longest boundary and another that overlaps it.
    pub fn context(self) -> usize {
        self.boundaries.map_or(0, |boundaries| 2 * boundaries.0.longest).max(4)
    }

    /// Returns the first cut at or after `from`.
    pub fn next(self, bytes: &[u8], from: usize) -> Option<usize> {
        if !self.can_cut_within_segments() {
            return self.boundaries?.next_end(bytes, from);
        }
        let mut place = self.pattern.safe_cut_of_bytes(bytes, from)?;
        let mut touched = Touched::default();
        while self
            .boundaries
            .is_some_and(|boundaries| boundaries.0.any_touches(bytes, place, &mut touched))
        {
            place = self.pattern.safe_cut_of_bytes(bytes, place + 1)?;
        }
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pretokenize::pretokenize;
    use crate::watch::{Pulse, Unwatched};

    const GPT2: &str = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
    const CL100K: &str = concat!(
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+",
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    );
    const O200K: &str = concat!(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    );

    fn pieces(text: &str, pattern: &Pattern, boundaries: Option<&Boundaries>) -> Vec<Vec<u8>> {
        let segments: Vec<&str> =
            boundaries.map_or(vec![text], |some| some.segments(text).collect());
        let cut = |segment| -> Vec<_> {
            pretokenize(segment, pattern, &mut Pulse::of(&mut Unwatched))
                .unwrap()
                .iter()
                .map(Vec::from)
                .collect()
        };
        segments.into_iter().flat_map(cut).collect()
    }

    /// Checks that every text over the letters has the same pretokens when it is cut wherever the
    /// cutter allows.
    fn every_cut_is_safe(letters: &[&str], length: u32, source: &str, boundaries: &[&str]) {
        let pattern = Pattern::new(&[source.into()]).unwrap();
        let texts: Vec<String> = boundaries.iter().map(ToString::to_string).collect();
        let boundaries = Boundaries::new(&texts).unwrap();
        let stages = Stages::none();
        let cutter = Cutter { pattern: &pattern, boundaries: boundaries.as_ref(), stages: &stages };
        let mut cuts = 0;
        for number in 0..letters.len().pow(length) {
            let letter = |place| letters[number / letters.len().pow(place) % letters.len()];
            let text: String = (0..length).map(letter).collect();
            let whole = pieces(&text, &pattern, boundaries.as_ref());
            for from in 0..text.len() {
                let Some(cut) = cutter.next(text.as_bytes(), from) else { continue };
                assert!(cut >= from);
                let (before, after) = text.split_at(cut);
                let mut halves = pieces(before, &pattern, boundaries.as_ref());
                halves.extend(pieces(after, &pattern, boundaries.as_ref()));
                assert_eq!(halves, whole, "{text:?} cut at {cut} with {source}");
                cuts += 1;
                let context = cutter.context();
                let visible = from.saturating_sub(context)..(cut + context).min(text.len());
                let found = cutter.next(&text.as_bytes()[visible.clone()], from - visible.start);
                assert_eq!(found, Some(cut - visible.start), "{text:?} visible at {visible:?}");
            }
        }
        assert!(cuts > 0);
    }

    #[test]
    fn cuts_change_no_pretoken() {
        for source in [GPT2, CL100K, O200K, r"\S+|\s+"] {
            every_cut_is_safe(
                &[" ", "\n", "a", "'", "s", "1", "!", "A", "\u{301}"],
                5,
                source,
                &[],
            );
            every_cut_is_safe(&[" ", "\n", "l", "é", "\u{3000}", "'", "/"], 5, source, &[]);
        }
    }

    #[test]
    fn cuts_keep_clear_of_boundaries() {
        for source in [GPT2, r"\w+", r"(?s:.+)"] {
            every_cut_is_safe(&["a", "b", " "], 8, source, &["aba", "a b", "b b a"]);
            every_cut_is_safe(&["a", " ", "<"], 8, source, &["< ", " a <", "<a"]);
        }
    }
}
