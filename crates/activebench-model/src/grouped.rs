//! Values by key, without an allocation per key: a run may have a million files, descriptors or threads, each with one
//! value.

use std::cell::Cell;
use std::ops::Range;

/// Values by key. Keys are numbered in ascending order. Sorted lists take half of the memory of a hash table, and calls
/// mostly come in an order in which the next key is near the last one.
#[derive(Clone, Debug)]
pub struct Grouped<K, V> {
    /// Distinct, ascending.
    keys: Vec<K>,
    /// Of each key the place of its first value; at the end the number of values.
    starts: Vec<u32>,
    values: Vec<V>,
    /// Number of keys below the key that was looked up last.
    last: Cell<usize>,
}

impl<K: Copy + Ord, V> Grouped<K, V> {
    /// Groups values by key; those of a key are sorted by `order`, and equal ones stay in the order in which they came.
    pub fn new<O: Ord>(values: impl IntoIterator<Item = (K, V)>, order: impl Fn(&V) -> O) -> Self {
        let mut keyed: Vec<(K, V)> = values.into_iter().collect();
        let rank = |(key, value): &(K, V)| (*key, order(value));
        if !keyed.is_sorted_by_key(rank) {
            keyed.sort_by_key(rank);
        }
        let distinct = keyed.chunk_by(|(one, _), (other, _)| one == other).count();
        let mut keys: Vec<K> = Vec::with_capacity(distinct);
        let mut starts = Vec::with_capacity(distinct + 1);
        for (at, (key, _)) in keyed.iter().enumerate() {
            if keys.last() != Some(key) {
                keys.push(*key);
                starts.push(place(at));
            }
        }
        starts.push(place(keyed.len()));
        let mut values: Vec<V> = keyed.into_iter().map(|(_, value)| value).collect();
        values.shrink_to_fit();
        Self { keys, starts, values, last: Cell::default() }
    }

    /// Returns the number of a key, if it has values.
    pub fn number(&self, key: &K) -> Option<usize> {
        let last = self.last.get();
        // Mostly it is the last key again, or the next one.
        let is_below = |number: usize| number.checked_sub(1).is_none_or(|before| self.keys[before] < *key);
        let is_from = |number: usize| self.keys.get(number).is_none_or(|own| own >= key);
        let near = (last..=last + 1).find(|number| *number <= self.keys.len() && is_below(*number) && is_from(*number));
        let number = near.unwrap_or_else(|| self.keys.partition_point(|own| own < key));
        self.last.set(number);
        (self.keys.get(number) == Some(key)).then_some(number)
    }

    /// Returns the places of the values of a key, by its number.
    pub fn places(&self, number: usize) -> Range<usize> {
        self.starts[number] as usize..self.starts[number + 1] as usize
    }

    /// Returns the values of a key.
    pub fn get(&self, key: &K) -> &[V] {
        self.number(key).map_or(&[], |number| &self.values[self.places(number)])
    }

    /// Returns all values, by place.
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// Returns each key with its values, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (K, &[V])> {
        self.keys.iter().enumerate().map(|(number, key)| (*key, &self.values[self.places(number)]))
    }

    /// Returns `true` if no key is left.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Replaces each value by another one.
    pub fn map<W>(self, to: impl FnMut(V) -> W) -> Grouped<K, W> {
        let mut values: Vec<W> = self.values.into_iter().map(to).collect();
        values.shrink_to_fit();
        Grouped { keys: self.keys, starts: self.starts, values, last: self.last }
    }
}

/// Returns a place in a list; memory ends long before these numbers do.
fn place(index: usize) -> u32 {
    u32::try_from(index).expect("fewer than 2^32 values fit into memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_values_in_order() {
        let grouped = Grouped::new([('a', 3), ('b', 5), ('a', 1), ('c', 0)], |value| *value);
        let expected: [(char, &[i32]); 5] = [('a', &[1, 3]), ('b', &[5]), ('c', &[0]), ('d', &[]), ('A', &[])];
        // In each order of look-ups.
        for (key, expected) in expected.iter().flat_map(|first| expected.iter().flat_map(move |next| [first, next])) {
            assert_eq!(grouped.get(key), *expected, "{key}");
        }
        assert_eq!((grouped.len(), grouped.number(&'b'), grouped.places(1)), (3, Some(1), 2..3));
        assert!(Grouped::<char, u8>::new([], |value| *value).get(&'a').is_empty());
    }
}
