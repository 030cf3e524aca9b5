//! A position in the source of a pattern, for its parsers.

/// The source, and the place of the next character in it.
pub struct Cursor<'s> {
    pub source: &'s str,
    pub place: usize,
}

impl<'s> Cursor<'s> {
    pub fn new(source: &'s str) -> Self {
        Self { source, place: 0 }
    }

    pub fn rest(&self) -> &'s str {
        &self.source[self.place..]
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub fn next(&mut self) -> Option<char> {
        let sign = self.peek()?;
        self.place += sign.len_utf8();
        Some(sign)
    }

    /// Consume a text if it comes next.
    pub fn take(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        self.place += if found { expected.len() } else { 0 };
        found
    }

    /// Consume characters while they satisfy a condition.
    pub fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'s str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|sign| !belongs(sign)).unwrap_or(rest.len())];
        self.place += taken.len();
        taken
    }

    /// The number of the character at a place.
    pub fn character(&self, place: usize) -> usize {
        self.source[..place].chars().count()
    }
}
