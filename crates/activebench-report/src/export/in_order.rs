//! Sorts an almost sorted stream by time, with bounded memory.
//!
//! Records arrive when a call ends, from several CPUs. The order of starts differs in two ways. Nearby records are
//! swapped; these are sorted by holding back some thousands of records. A long call arrives after thousands that
//! started later; these calls are collected in a first pass. The stream is therefore read twice.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// Maximum items held back. Each takes its own size plus 16 bytes.
const HELD: usize = 1 << 16;

/// The first pass: finds the items that arrive too late to be sorted by holding others back.
///
/// More than [`HELD`] others have overtaken such an item. For each task that waits at the same time, there are about as
/// many late items as all items divided by [`HELD`].
pub(super) struct Late<T> {
    window: Window<()>,
    late: Vec<Entry<T>>,
}

/// The second pass, over the same items in the same order.
pub(super) struct InOrder<T> {
    window: Window<T>,
    late: VecDeque<Entry<T>>,
}

/// Items that are held back.
struct Window<T> {
    held: BinaryHeap<Entry<T>>,
    most: usize,
    /// Time of the last item that left the window.
    passed_ns: u64,
    /// Number of items received.
    serial: u64,
}

/// An item with its sort key. The earlier time is greater; of equal times, the item that arrived first.
struct Entry<T> {
    at_ns: u64,
    serial: u64,
    item: T,
}

impl<T> Entry<T> {
    fn place(&self) -> (u64, u64) {
        (self.at_ns, self.serial)
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.place().cmp(&self.place())
    }
}

/// Result of pushing an item.
enum Passed<T> {
    /// The item is held back; the window was not full.
    Held,
    /// The item is held back, and the earliest item has left.
    First(Entry<T>),
    /// The item belongs before one that has already left.
    Late(Entry<T>),
}

impl<T> Window<T> {
    fn new(most: usize) -> Self {
        Self { held: BinaryHeap::new(), most, passed_ns: 0, serial: 0 }
    }

    fn push(&mut self, at_ns: u64, item: T) -> Passed<T> {
        let entry = Entry { at_ns, serial: self.serial, item };
        self.serial += 1;
        if at_ns < self.passed_ns {
            return Passed::Late(entry);
        }
        self.held.push(entry);
        if self.held.len() <= self.most {
            return Passed::Held;
        }
        match self.held.pop() {
            Some(first) => {
                self.passed_ns = first.at_ns;
                Passed::First(first)
            }
            None => Passed::Held,
        }
    }
}

impl<T> Late<T> {
    pub(super) fn new() -> Self {
        Self::holding(HELD)
    }

    fn holding(most: usize) -> Self {
        Self { window: Window::new(most), late: Vec::new() }
    }

    /// Examines the next item.
    pub(super) fn look(&mut self, at_ns: u64, item: T) {
        if let Passed::Late(Entry { at_ns, serial, .. }) = self.window.push(at_ns, ()) {
            self.late.push(Entry { at_ns, serial, item });
        }
    }

    /// Switches to the second pass.
    pub(super) fn again(mut self) -> InOrder<T> {
        self.late.sort_unstable_by_key(Entry::place);
        InOrder { window: Window::new(self.window.most), late: self.late.into() }
    }
}

impl<T> InOrder<T> {
    /// Accepts the next item, and passes items that are due to `take`.
    pub(super) fn push<E>(
        &mut self,
        at_ns: u64,
        item: T,
        take: &mut impl FnMut(u64, T) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.window.push(at_ns, item) {
            // The first pass has collected late items.
            Passed::Held | Passed::Late(_) => Ok(()),
            Passed::First(first) => self.give(first, take),
        }
    }

    /// Passes the remaining items to `take`.
    pub(super) fn finish<E>(mut self, take: &mut impl FnMut(u64, T) -> Result<(), E>) -> Result<(), E> {
        while let Some(first) = self.window.held.pop() {
            self.give(first, take)?;
        }
        self.late.into_iter().try_for_each(|late| take(late.at_ns, late.item))
    }

    fn give<E>(&mut self, next: Entry<T>, take: &mut impl FnMut(u64, T) -> Result<(), E>) -> Result<(), E> {
        while self.late.front().is_some_and(|late| late.place() < next.place()) {
            if let Some(late) = self.late.pop_front() {
                take(late.at_ns, late.item)?;
            }
        }
        take(next.at_ns, next.item)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ordered(times: &[u64], most: usize) -> Vec<(u64, usize)> {
        let mut late = Late::holding(most);
        times.iter().enumerate().for_each(|(number, at_ns)| late.look(*at_ns, number));
        let mut again = late.again();
        let mut out = Vec::new();
        let mut take = |at_ns, number| -> Result<(), std::convert::Infallible> {
            out.push((at_ns, number));
            Ok(())
        };
        for (number, at_ns) in times.iter().enumerate() {
            let Ok(()) = again.push(*at_ns, number, &mut take);
        }
        let Ok(()) = again.finish(&mut take);
        out
    }

    proptest! {
        #[test]
        fn any_stream_comes_out_as_if_it_were_sorted(times in prop::collection::vec(0_u64..50, 0..80), most in 0_usize..9) {
            let mut sorted: Vec<(u64, usize)> = times.iter().copied().zip(0..).collect();
            sorted.sort_unstable();
            prop_assert_eq!(ordered(&times, most), sorted);
        }
    }

    #[test]
    fn what_took_long_goes_to_its_place() {
        assert_eq!(ordered(&[10, 20, 30, 40, 5, 50], 2), [(5, 4), (10, 0), (20, 1), (30, 2), (40, 3), (50, 5)]);
    }
}
