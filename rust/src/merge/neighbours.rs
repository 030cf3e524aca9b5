//! What one merge changes, summed per neighbouring token.

use super::tokens::Code;

/// The occurrences of a merge that have one token on one of their sides.
#[derive(Clone, Copy, Default)]
pub struct Tally {
    /// The sum of their words' counts.
    pub weight: u64,
    /// How many they are.
    pub number: u32,
    /// Where in the arena the next of their positions goes; `None` for a pair that is not followed.
    pub cursor: Option<usize>,
}

/// A tally for every token, and which ones are in use.
#[derive(Default)]
pub struct Neighbours {
    tallies: Vec<Tally>,
    touched: Vec<Code>,
}

impl Neighbours {
    /// Makes room for codes below `codes`.
    pub fn widen(&mut self, codes: usize) {
        if codes > self.tallies.len() {
            self.tallies.resize(codes.next_power_of_two(), Tally::default());
        }
    }

    pub fn add(&mut self, code: Code, weight: u64) {
        let tally = &mut self.tallies[code as usize];
        if tally.number == 0 {
            self.touched.push(code);
        }
        // No overflow: the merged pair's own count is the sum over all its neighbours, and it fits.
        tally.weight += weight;
        tally.number += 1;
    }

    pub fn touched(&self) -> usize {
        self.touched.len()
    }

    pub fn code(&self, nth: usize) -> Code {
        self.touched[nth]
    }

    pub fn tally(&mut self, code: Code) -> &mut Tally {
        &mut self.tallies[code as usize]
    }

    /// Forgets all tallies.
    pub fn clear(&mut self) {
        for &code in &self.touched {
            self.tallies[code as usize] = Tally::default();
        }
        self.touched.clear();
    }
}
