//! What is mapped at each address of a process.

use std::collections::BTreeMap;

/// Mapped ranges of addresses, each with a value. A later mapping replaces an earlier one where both overlap.
///
/// Memory: a fixed size per mapping. Each operation takes time with the logarithm of the mappings, besides those that
/// it replaces or removes.
#[derive(Debug)]
pub(crate) struct AddressMap<T> {
    /// Disjoint: start, with end and value.
    ranges: BTreeMap<u64, (u64, T)>,
}

impl<T> Default for AddressMap<T> {
    fn default() -> Self {
        Self { ranges: BTreeMap::new() }
    }
}

impl<T: Copy> AddressMap<T> {
    /// Maps a range.
    pub(crate) fn map(&mut self, start: u64, end: u64, value: T) {
        if start < end {
            self.unmap(start, end);
            self.ranges.insert(start, (end, value));
        }
    }

    /// Removes what is mapped in a range.
    pub(crate) fn unmap(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let before = self.ranges.range(..start).next_back().map(|(at, range)| (*at, *range));
        if let Some((at, (reach, value))) = before.filter(|(_, (reach, _))| *reach > start) {
            self.ranges.insert(at, (start, value));
            self.ranges.insert(start, (reach, value));
        }
        while let Some((at, (reach, value))) = self.ranges.range(start..end).next().map(|(at, range)| (*at, *range)) {
            self.ranges.remove(&at);
            if reach > end {
                self.ranges.insert(end, (reach, value));
            }
        }
    }

    /// Returns the value of the first mapping that shares an address with a range.
    pub(crate) fn first_in(&self, start: u64, end: u64) -> Option<T> {
        let before = self.ranges.range(..=start).next_back().filter(|(_, (reach, _))| *reach > start);
        let found = before.or_else(|| self.ranges.range(start..end).next());
        found.map(|(_, (_, value))| *value)
    }

    /// Returns the value at an address.
    pub(crate) fn at(&self, address: u64) -> Option<T> {
        self.first_in(address, address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_mapping_of_an_address_is_in_effect() {
        let mut map = AddressMap::default();
        map.map(100, 200, 'a');
        map.map(120, 140, 'b');
        map.map(190, 250, 'c');
        map.map(300, 300, 'd');
        let at = |map: &AddressMap<char>| [99, 100, 119, 120, 139, 140, 189, 190, 249, 250, 300].map(|at| map.at(at));
        let (a, b, c) = (Some('a'), Some('b'), Some('c'));
        assert_eq!(at(&map), [None, a, a, b, b, a, a, c, c, None, None]);
        map.unmap(110, 195);
        assert_eq!(at(&map), [None, a, None, None, None, None, None, None, c, None, None]);
        assert_eq!([map.first_in(110, 195), map.first_in(110, 196), map.first_in(0, 101)], [None, c, a]);
    }
}
