//! Reads a text backwards and finds at each place which strings begin there, in time that does not
//! depend on their lengths.
//!
//! It is the automaton of Aho and Corasick, of the reversed strings. A node is an end of one or
//! more strings; the node of a place is the longest one that the text there begins with. The next
//! shorter such node follows from it, and so on until none remains: the strings that begin at the
//! place are among these nodes.
//!
//! ```text
//! strings: ab  cab  b      nodes: (nothing)  b  ab  cab
//! text:    x c a b         at c: cab, which is a string; next shorter: nothing
//! ```

use std::iter;
use std::ops::Range;

use super::Numbered;

/// The ends of strings. Node 0 is the empty end.
pub struct SuffixTree {
    /// For each node, the first of its children, which have one more byte before it. They end where
    /// the children of the next node begin.
    first_child: Vec<u32>,
    /// For each node, the first of its bytes. The children of a node are in the order of these.
    byte: Vec<u8>,
    /// For each node, the longest node that it begins with and that is not the node itself.
    shorter: Vec<u32>,
    /// For each node, the longest node that it begins with, or is, and that is a whole string; 0 if
    /// there is none.
    whole: Vec<u32>,
    /// For each node that is a whole string, its length and its number.
    strings: Vec<(u32, u32)>,
}

impl SuffixTree {
    /// Builds the tree of some strings, level by level: shorter nodes come first.
    pub fn new(strings: &[Numbered]) -> Self {
        let mut reversed = strings.to_vec();
        for (string, _) in &mut reversed {
            string.reverse();
        }
        reversed.sort_unstable();
        let mut tree = Self {
            first_child: Vec::new(),
            byte: vec![0],
            shorter: vec![0],
            whole: vec![0],
            strings: vec![(0, 0)],
        };
        // For each node: which strings end in it, its length, and the node without its first byte.
        let mut nodes: Vec<(Range<usize>, usize, u32)> = vec![(0..reversed.len(), 0, 0)];
        let mut node = 0;
        while node < nodes.len() {
            let (Range { mut start, end }, length, parent) = nodes[node].clone();
            tree.first_child.push(nodes.len() as u32);
            if node > 0 {
                tree.link(node, parent);
            }
            // The string that is the node itself comes before the longer ones.
            if start < end && reversed[start].0.len() == length {
                tree.strings[node] = (length as u32, reversed[start].1 as u32);
                tree.whole[node] = node as u32;
                start += 1;
            }
            while start < end {
                let byte = reversed[start].0[length];
                let count =
                    reversed[start..end].partition_point(|(string, _)| string[length] == byte);
                nodes.push((start..start + count, length + 1, node as u32));
                tree.byte.push(byte);
                tree.strings.push((0, 0));
                start += count;
            }
            // `link` sets the new entries before it uses them, as shorter nodes come first.
            tree.shorter.resize(nodes.len(), 0);
            tree.whole.resize(nodes.len(), 0);
            node += 1;
        }
        tree.first_child.push(nodes.len() as u32);
        tree
    }

    /// Sets the shorter node and the whole string of a node that is one byte longer than its
    /// parent.
    fn link(&mut self, node: usize, parent: u32) {
        if parent > 0 {
            self.shorter[node] = self.step(self.shorter[parent as usize], self.byte[node]);
        }
        self.whole[node] = self.whole[self.shorter[node] as usize];
    }

    /// Returns the longest node that a byte, followed by a node, begins with.
    #[inline]
    fn step(&self, mut node: u32, byte: u8) -> u32 {
        loop {
            let children = self.first_child[node as usize]..self.first_child[node as usize + 1];
            let bytes = &self.byte[children.start as usize..children.end as usize];
            if let Ok(place) = bytes.binary_search(&byte) {
                return children.start + place as u32;
            }
            if node == 0 {
                return 0;
            }
            node = self.shorter[node as usize];
        }
    }

    /// Reads a text from its end, and sets `nodes` to the nodes of its first `places` places.
    pub fn read_backwards(&self, text: &[u8], places: usize, nodes: &mut Vec<u32>) {
        nodes.clear();
        nodes.resize(places, 0);
        let mut node = 0;
        for (place, &byte) in text.iter().enumerate().rev() {
            node = self.step(node, byte);
            if let Some(of_place) = nodes.get_mut(place) {
                *of_place = node;
            }
        }
    }

    /// Returns the length and number of each string that a node begins with, from the longest to
    /// the shortest.
    pub fn strings_at(&self, node: u32) -> impl Iterator<Item = (usize, usize)> {
        let mut whole = self.whole[node as usize];
        iter::from_fn(move || {
            if whole == 0 {
                return None;
            }
            let (length, number) = self.strings[whole as usize];
            whole = self.whole[self.shorter[whole as usize] as usize];
            Some((length as usize, number as usize))
        })
    }
}
