//! Reads a text backwards and tells at each place which strings begin there, in time that does not depend on their lengths.
//!
//! It is the automaton of Aho and Corasick, of the reversed strings. A node is an end of strings; at each place of the text,
//! the node is the longest that the text there begins with. The next shorter one of these is another node, and so on, until
//! none remains: strings that begin at the place are among them.
//!
//! ```text
//! strings: ab  cab  b      nodes: (nothing)  b  ab  cab
//! text:    x c a b         at c: cab; begins with the string cab
//! ```

use std::iter;
use std::ops::Range;

/// The ends of strings. Node 0 is the empty end.
pub struct SuffixTree {
    /// For each node, the first one that is longer by one byte before it; the next ones follow, up to those of the next node.
    first_child: Vec<u32>,
    /// For each node, the first of its bytes. Those of the children of a node are in order.
    byte: Vec<u8>,
    /// For each node, the longest node that it begins with and that is not the node itself.
    shorter: Vec<u32>,
    /// For each node, the longest node that it begins with, or is, and that is a whole string; 0 if there is none.
    whole: Vec<u32>,
    /// For each node that is a whole string, its length and its number.
    strings: Vec<(u32, u32)>,
}

impl SuffixTree {
    /// From strings with their numbers.
    pub fn new(strings: &[(Box<[u8]>, usize)]) -> Self {
        let reversed =
            |(string, number): &(Box<[u8]>, usize)| (string.iter().rev().copied().collect(), *number);
        let mut reversed: Vec<(Vec<u8>, usize)> = strings.iter().map(reversed).collect();
        reversed.sort_unstable();
        let mut tree = Self {
            first_child: Vec::new(),
            byte: vec![0],
            shorter: vec![0],
            whole: vec![0],
            strings: vec![(0, 0)],
        };
        // Of each node: which strings end in it, how long it is, and the node without its first byte.
        let mut open: Vec<(Range<usize>, usize, u32)> = vec![(0..reversed.len(), 0, 0)];
        let mut node = 0;
        while node < open.len() {
            let (Range { mut start, end }, length, parent) = open[node].clone();
            tree.first_child.push(open.len() as u32);
            if node > 0 {
                tree.link(node, parent);
            }
            if start < end && reversed[start].0.len() == length {
                tree.strings[node] = (length as u32, reversed[start].1 as u32);
                tree.whole[node] = node as u32;
                start += 1;
            }
            while start < end {
                let byte = reversed[start].0[length];
                let count = reversed[start..end].partition_point(|(string, _)| string[length] == byte);
                open.push((start..start + count, length + 1, node as u32));
                tree.byte.push(byte);
                tree.strings.push((0, 0));
                start += count;
            }
            // They are set before they are used: shorter nodes come first.
            tree.shorter.resize(open.len(), 0);
            tree.whole.resize(open.len(), 0);
            node += 1;
        }
        tree.first_child.push(open.len() as u32);
        tree
    }

    /// Set the shorter node and the whole string of a node that is one byte longer than its parent.
    fn link(&mut self, node: usize, parent: u32) {
        if parent > 0 {
            self.shorter[node] = self.step(self.shorter[parent as usize], self.byte[node]);
        }
        self.whole[node] = self.whole[self.shorter[node] as usize];
    }

    /// The longest node that a byte, and a node behind it, begin with.
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

    /// The nodes of the first places of a text.
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

    /// The length and number of each string that begins where a node does, from the longest to the shortest.
    pub fn strings_at(&self, node: u32) -> impl Iterator<Item = (usize, usize)> {
        let longest = self.whole[node as usize];
        let wholes =
            iter::successors(Some(longest), |&whole| Some(self.whole[self.shorter[whole as usize] as usize]));
        wholes.take_while(|&whole| whole > 0).map(|whole| {
            let (length, number) = self.strings[whole as usize];
            (length as usize, number as usize)
        })
    }
}
