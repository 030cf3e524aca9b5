//! Finds the places of a text where one of many byte strings begins: the leftmost, and there the longest.

use std::ops::Range;

use super::pair_filter::{PairBlock, PairFilter};

/// Byte strings that are looked for all at once.
pub struct Candidates {
    filter: PairFilter,
    trie: Trie,
    longest: usize,
}

impl Candidates {
    /// From distinct strings, none of them empty.
    pub fn new<'t>(texts: impl Iterator<Item = &'t [u8]>) -> Self {
        let mut sorted: Vec<_> = texts.zip(0..).collect();
        sorted.sort_unstable();
        let longest = sorted.iter().map(|(text, _)| text.len()).max().unwrap_or(0);
        Self {
            filter: PairFilter::new(sorted.iter().map(|&(text, _)| text)),
            trie: Trie::new(&sorted),
            longest,
        }
    }

    /// The length of the longest string; 0 where there is none.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// The first string that begins within a range and may lie where it does: where it is, and its number. The range begins
    /// where the one of the call before did, or later.
    pub fn find(
        &self,
        text: &[u8],
        starts: Range<usize>,
        block: &mut PairBlock,
        may_lie: impl Fn(Range<usize>, usize) -> bool,
    ) -> Option<(Range<usize>, usize)> {
        block.forget_before(starts.start);
        loop {
            while let Some(start) = block.next() {
                if start >= starts.end {
                    return None;
                }
                if let Some((length, number)) = self
                    .trie
                    .longest(&text[start..], |length, number| may_lie(start..start + length, number as usize))
                {
                    return Some((start..start + length, number as usize));
                }
            }
            let from = block.end().max(starts.start);
            if from >= starts.end {
                return None;
            }
            *block = self.filter.next(text, from);
        }
    }

    /// Whether any string lies across a place or touches it.
    pub fn any_touches(&self, text: &[u8], place: usize) -> bool {
        let touches = |start: usize| {
            self.filter.may_begin(&text[start..])
                && self
                    .trie
                    .longest(&text[start..], |_, _| true)
                    .is_some_and(|(length, _)| start + length >= place)
        };
        (place.saturating_sub(self.longest)..=place).any(touches)
    }
}

/// Strings, each one a way from the first node; the children of a node are neighbours, sorted by byte.
struct Trie {
    nodes: Vec<TrieNode>,
}

struct TrieNode {
    children: Range<u32>,
    /// The number of the string that ends here.
    number: Option<u32>,
    /// The last byte of the way to it.
    byte: u8,
}

impl Trie {
    /// From sorted strings and their numbers.
    fn new(sorted: &[(&[u8], u32)]) -> Self {
        let mut nodes = vec![TrieNode { children: 0..0, number: None, byte: 0 }];
        // Of each node, the length of its way and the strings that begin with it.
        let mut begins = vec![(0, sorted)];
        let mut place = 0;
        while let Some(&(length, mut within)) = begins.get(place) {
            if let Some((text, number)) = within.first()
                && text.len() == length
            {
                nodes[place].number = Some(*number);
                within = &within[1..];
            }
            let first = nodes.len() as u32;
            for strings in within.chunk_by(|(one, _), (another, _)| one[length] == another[length]) {
                nodes.push(TrieNode { children: 0..0, number: None, byte: strings[0].0[length] });
                begins.push((length + 1, strings));
            }
            nodes[place].children = first..nodes.len() as u32;
            place += 1;
        }
        Self { nodes }
    }

    /// The length and number of the longest string that a text begins with, of those that are allowed.
    #[inline]
    fn longest(&self, text: &[u8], is_allowed: impl Fn(usize, u32) -> bool) -> Option<(usize, u32)> {
        let mut node = &self.nodes[0];
        let mut longest = None;
        for (place, byte) in text.iter().enumerate() {
            let children = &self.nodes[node.children.start as usize..node.children.end as usize];
            let child = match children {
                [] => break,
                [only] if only.byte == *byte => only,
                [_] => break,
                _ => match children.binary_search_by_key(byte, |child| child.byte) {
                    Ok(child) => &children[child],
                    Err(_) => break,
                },
            };
            node = child;
            let found = node.number.filter(|&number| is_allowed(place + 1, number));
            longest = found.map(|number| (place + 1, number)).or(longest);
        }
        longest
    }
}
