//! Strings of a page that arrives in blocks, each after its length.

/// What comes next in a block.
#[derive(Debug, PartialEq)]
pub enum StringPart<'a> {
    /// A string of this length.
    Begins(usize),
    /// The next bytes of it.
    Continues(&'a [u8]),
    Ends,
}

#[derive(Default)]
pub struct StreamedStrings {
    /// The number of strings that have not begun.
    left: usize,
    /// The length of the next string, as far as it was read.
    head: [u8; 4],
    begun: usize,
    /// The number of bytes that the current string lacks, if there is one.
    lacks: Option<usize>,
}

impl StreamedStrings {
    pub fn new(count: usize) -> Self {
        Self { left: count, ..Self::default() }
    }

    /// What comes next; `None` if the block ends first, or the last string has ended. What is read is removed from the block.
    pub fn next<'a>(&mut self, block: &mut &'a [u8]) -> Option<StringPart<'a>> {
        if let Some(lacks) = self.lacks {
            if lacks == 0 {
                self.lacks = None;
                return Some(StringPart::Ends);
            }
            let (part, rest) = block.split_at(lacks.min(block.len()));
            (*block, self.lacks) = (rest, Some(lacks - part.len()));
            return (!part.is_empty()).then_some(StringPart::Continues(part));
        }
        if self.left == 0 {
            return None;
        }
        let missing = self.head.len() - self.begun;
        let (part, rest) = block.split_at(missing.min(block.len()));
        self.head[self.begun..][..part.len()].copy_from_slice(part);
        (*block, self.begun) = (rest, self.begun + part.len());
        if self.begun < self.head.len() {
            return None;
        }
        let length = u32::from_le_bytes(self.head) as usize;
        (self.left, self.begun, self.lacks) = (self.left - 1, 0, Some(length));
        Some(StringPart::Begins(length))
    }

    /// Leave the current string to someone else, who reads its bytes.
    pub fn leave(&mut self) {
        self.lacks = None;
    }

    /// Whether the last string has ended.
    pub fn is_done(&self) -> bool {
        self.left == 0 && self.lacks.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_the_same_wherever_blocks_end() {
        let page = b"\x02\0\0\0ab\0\0\0\0\x03\0\0\0cdebehind";
        for step in 1..=page.len() {
            let (mut strings, mut found, mut left) = (StreamedStrings::new(3), Vec::new(), 0);
            for mut block in page.chunks(step) {
                while let Some(event) = strings.next(&mut block) {
                    match event {
                        StringPart::Begins(length) => found.push((length, Vec::new())),
                        StringPart::Continues(part) => found.last_mut().unwrap().1.extend_from_slice(part),
                        StringPart::Ends => {
                            assert_eq!(found.last().unwrap().0, found.last().unwrap().1.len())
                        }
                    }
                }
                left += block.len();
            }
            let expected = [(2, b"ab".to_vec()), (0, Vec::new()), (3, b"cde".to_vec())];
            assert_eq!((&found[..], left), (&expected[..], 6), "{step}");
            assert!(strings.is_done());
        }
        let mut strings = StreamedStrings::new(3);
        let mut block = &page[..15];
        while strings.next(&mut block).is_some() {}
        assert!(!strings.is_done());
    }
}
