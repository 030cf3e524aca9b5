//! What one merge changes, summed per neighbouring token.

use super::tokens::Code;

/// The occurrences of a merge that have one token on one of their sides.
#[derive(Clone, Copy, Default)]
pub struct NeighbourCount {
    /// The sum of their words' counts.
    pub weight: u64,
    /// How many they are.
    pub number: u32,
    /// Where the next of their positions goes, plus one; 0 for a pair that is not followed.
    pub cursor: u32,
}

/// A tally for every token, and which ones are in use.
#[derive(Default)]
pub struct Neighbours {
    tallies: Vec<NeighbourCount>,
    touched: Vec<Code>,
}

impl Neighbours {
    /// Makes room for codes below `codes`.
    pub fn widen(&mut self, codes: usize) {
        if codes > self.tallies.len() {
            self.tallies.resize(codes.next_power_of_two(), NeighbourCount::default());
        }
    }

    /// Adds occurrences whose words' counts sum up to `weight`.
    pub fn add(&mut self, code: Code, weight: u64, number: u32) {
        let tally = &mut self.tallies[code as usize];
        if tally.weight == 0 {
            self.touched.push(code);
        }
        // No overflow: the merged pair's own count is the sum over all its neighbours, and it fits.
        tally.weight += weight;
        tally.number += number;
    }

    /// The tokens in use.
    pub fn touched(&self) -> &[Code] {
        &self.touched
    }

    pub fn get(&self, code: Code) -> NeighbourCount {
        self.tallies[code as usize]
    }

    /// Where the next position goes, if positions are wanted.
    pub fn next_place(&mut self, code: Code) -> Option<usize> {
        let cursor = &mut self.tallies[code as usize].cursor;
        let place = cursor.checked_sub(1)?;
        *cursor += 1;
        Some(place as usize)
    }

    /// Says where the positions of the occurrences go, if there are any.
    pub fn set_cursor(&mut self, code: Code, start: u32) {
        let tally = &mut self.tallies[code as usize];
        if tally.number > 0 {
            tally.cursor = start + 1;
        }
    }

    /// Forgets all tallies.
    pub fn clear(&mut self) {
        for &code in &self.touched {
            self.tallies[code as usize] = NeighbourCount::default();
        }
        self.touched.clear();
    }
}
