//! Sets of characters, as sorted ranges of code points.

/// The last code point.
pub const LAST: u32 = 0x10_FFFF;

/// A set of code points: ranges, both ends included, in order, with a gap between any two.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CharSet {
    ranges: Vec<(u32, u32)>,
}

impl CharSet {
    /// Returns the set of ranges, which may overlap and be in any order; a range whose ends are
    /// swapped is empty.
    pub fn new(ranges: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut sorted: Vec<(u32, u32)> =
            ranges.into_iter().filter(|(first, last)| first <= last).collect();
        sorted.sort(); // Mostly a few ascending lists, one after the other.
        let mut ranges: Vec<(u32, u32)> = Vec::with_capacity(sorted.len());
        for (first, last) in sorted {
            match ranges.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last)
                }
                _ => ranges.push((first, last)),
            }
        }
        Self { ranges }
    }

    /// Returns the set of every code point.
    pub fn all() -> Self {
        Self { ranges: vec![(0, LAST)] }
    }

    /// Returns the set of one character.
    pub fn of(character: char) -> Self {
        Self { ranges: vec![(character.into(), character.into())] }
    }

    /// Returns the ranges, both ends included.
    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether the set contains a character.
    pub fn contains(&self, character: char) -> bool {
        let code_point = character.into();
        let past = self.ranges.partition_point(|(first, _)| *first <= code_point);
        past > 0 && self.ranges[past - 1].1 >= code_point
    }

    /// Returns the union.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self::new(self.ranges.iter().chain(&other.ranges).copied())
    }

    /// Returns the intersection.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.complement().union(&other.complement()).complement()
    }

    /// Returns the complement.
    #[must_use]
    pub fn complement(&self) -> Self {
        let mut ranges = Vec::with_capacity(self.ranges.len() + 1);
        let mut next = 0;
        for &(first, last) in &self.ranges {
            if next < first {
                ranges.push((next, first - 1));
            }
            next = last + 1;
        }
        if next <= LAST {
            ranges.push((next, LAST));
        }
        Self { ranges }
    }

    /// Returns the difference: this set without the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.intersection(&other.complement())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(set: &CharSet) -> Vec<u32> {
        (0..40).filter(|&code_point| set.contains(char::from_u32(code_point).unwrap())).collect()
    }

    #[test]
    fn ranges_that_overlap_or_touch_become_one() {
        assert_eq!(CharSet::new([(5, 9), (1, 2), (3, 4), (8, 12), (7, 6)]).ranges(), [(1, 12)]);
    }

    #[test]
    fn operations_agree_with_membership() {
        let sets = [
            CharSet::default(),
            CharSet::all(),
            CharSet::of('\u{7}'),
            CharSet::new([(0, 3), (6, 6), (10, 20)]),
            CharSet::new([(3, 6), (9, 9), (12, 13), (20, 0x10_FFFF)]),
        ];
        for a in &sets {
            assert_eq!(a.complement().complement(), *a);
            for b in &sets {
                for code_point in 0..40 {
                    let c = char::from_u32(code_point).unwrap();
                    assert_eq!(a.union(b).contains(c), a.contains(c) || b.contains(c));
                    assert_eq!(a.intersection(b).contains(c), a.contains(c) && b.contains(c));
                    assert_eq!(a.difference(b).contains(c), a.contains(c) && !b.contains(c));
                }
                assert_eq!(
                    CharSet::new(members(a).iter().map(|&m| (m, m))).contains('\u{5}'),
                    a.contains('\u{5}')
                );
            }
        }
    }
}
