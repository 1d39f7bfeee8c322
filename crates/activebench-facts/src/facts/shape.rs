//! The shape of a phase's calls, by direction: sizes, order of offsets, latencies.

use std::collections::BTreeMap;

use activebench_model::call::{Call, Op};
use activebench_model::fact::{Fact, FactName, Facts, Scope};
use activebench_model::units::Quantity;
use foldhash::HashMap;

use super::latency::{Latencies, LatencyNames, Timing};
use super::order::{Order, Stream};
use super::record_losses::{CALLS_HOOK, Gap};

/// Largest number of distinct sizes that are distinguished.
const MOST_SIZES: usize = 1 << 16;

/// Reads and writes of one phase.
///
/// Memory: one [`Latencies`] per direction, about 60 bytes per distinct size (at most [`MOST_SIZES`]),
/// and about 60 bytes per stream until the count ends.
#[derive(Debug, Default)]
pub(super) struct Shape {
    reads: Directed,
    writes: Directed,
    /// Latencies of discards; their sizes and order are not recorded.
    discards: Latencies,
}

#[derive(Debug, Default)]
struct Directed {
    sizes: Sizes,
    streams: Streams,
    order: Order,
    latencies: Latencies,
}

/// The streams of one direction.
#[derive(Debug, Default)]
struct Streams {
    /// Index of each stream by its key.
    numbers: HashMap<StreamKey, u32>,
    streams: Vec<Stream>,
    /// Stream of the last call; the next call is mostly in the same one.
    last: Option<(StreamKey, u32)>,
}

/// 16 bytes: there may be a million streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct StreamKey {
    /// Number of the file.
    file: u32,
    tgid: u32,
    tid: u32,
    fd: i32,
}

impl Streams {
    /// Returns the stream of a call on a file.
    fn of(&mut self, file: u32, call: &Call) -> &mut Stream {
        let key = StreamKey { file, tgid: call.tgid, tid: call.tid, fd: call.fd };
        let number = match self.last {
            Some((last, number)) if last == key => number,
            _ => *self.numbers.entry(key).or_insert_with(|| {
                self.streams.push(Stream::default());
                u32::try_from(self.streams.len() - 1).expect("fewer than 2^32 streams fit into memory")
            }),
        };
        self.last = Some((key, number));
        &mut self.streams[number as usize]
    }
}

impl Shape {
    /// Processes a data call inside the phase's window. `file` is the number of its file.
    pub(super) fn feed(&mut self, file: u32, call: &Call) {
        if call.op == Op::Discard {
            if call.returned >= 0 {
                self.discards.record(call.end_ns.saturating_sub(call.start_ns), Timing::of(call));
            }
            return;
        }
        let directed = if call.op.is_write() { &mut self.writes } else { &mut self.reads };
        directed.sizes.add(call.requested);
        directed.streams.of(file, call).feed(call, &mut directed.order);
        if call.returned >= 0 {
            directed.latencies.record(call.end_ns.saturating_sub(call.start_ns), Timing::of(call));
        }
    }

    /// Adds the facts of the directions that have calls.
    pub(super) fn add_facts(&self, gap: &Gap, facts: &mut Facts) {
        self.reads.add_facts(gap, &READS, facts);
        self.writes.add_facts(gap, &WRITES, facts);
        for (name, latency) in self.discards.quantities(&LatencyNames::DISCARDS).into_iter().flatten() {
            facts.insert(name, gap.fact(latency, Scope::Tree, CALLS_HOOK));
        }
    }
}

/// Function that selects one of an order's counts.
type OrderCount = fn(&Order) -> u64;

/// Names of one direction's facts.
struct Names {
    smallest: FactName,
    largest: FactName,
    mean: FactName,
    modal: FactName,
    modal_share: FactName,
    sizes: FactName,
    order: [(OrderCount, FactName); 5],
    latency: LatencyNames,
}

const READS: Names = Names {
    smallest: FactName::ReadSizeMin,
    largest: FactName::ReadSizeMax,
    mean: FactName::ReadSizeMean,
    modal: FactName::ReadSizeModal,
    modal_share: FactName::ReadSizeModalShare,
    sizes: FactName::ReadSizes,
    order: [
        (|order| order.sequential, FactName::ReadSequential),
        (|order| order.backward, FactName::ReadBackward),
        (|order| order.strided, FactName::ReadStrided),
        (|order| order.repeated, FactName::ReadRepeated),
        (|order| order.random, FactName::ReadRandom),
    ],
    latency: LatencyNames::READS,
};

const WRITES: Names = Names {
    smallest: FactName::WriteSizeMin,
    largest: FactName::WriteSizeMax,
    mean: FactName::WriteSizeMean,
    modal: FactName::WriteSizeModal,
    modal_share: FactName::WriteSizeModalShare,
    sizes: FactName::WriteSizes,
    order: [
        (|order| order.sequential, FactName::WriteSequential),
        (|order| order.backward, FactName::WriteBackward),
        (|order| order.strided, FactName::WriteStrided),
        (|order| order.repeated, FactName::WriteRepeated),
        (|order| order.random, FactName::WriteRandom),
    ],
    latency: LatencyNames::WRITES,
};

impl Directed {
    fn add_facts(&self, gap: &Gap, names: &Names, facts: &mut Facts) {
        let sizes = &self.sizes;
        let Some(range) = sizes.range else { return };
        let mut add = |name, quantity, gap: &Gap| facts.insert(name, gap.fact(quantity, Scope::Tree, CALLS_HOOK));
        add(names.smallest, Quantity::bytes(range.0), gap);
        add(names.largest, Quantity::bytes(range.1), gap);
        let mean = sizes.sum as f64 / sizes.calls as f64;
        add(names.mean, Quantity { value: mean, ..Quantity::bytes(0) }, gap);
        let untold = (sizes.untold > 0).then(|| format!("{} calls had sizes beyond {MOST_SIZES} others", sizes.untold));
        let of_sizes = gap.clone().and_lost(untold);
        add(names.sizes, Quantity::count(sizes.distinct()), &of_sizes);
        if let Some((modal, calls)) = sizes.modal() {
            add(names.modal, Quantity::bytes(modal), &of_sizes);
            add(names.modal_share, Quantity::ratio(calls as f64 / sizes.calls as f64), &of_sizes);
        }
        for (name, latency) in self.latencies.quantities(&names.latency).into_iter().flatten() {
            add(name, latency, gap);
        }
        self.add_order(gap, names, facts);
    }

    fn add_order(&self, gap: &Gap, names: &Names, facts: &mut Facts) {
        let (order, steps) = (&self.order, self.order.steps());
        let unplaced = (order.unplaced > 0).then(|| format!("the offsets of {} calls are not known", order.unplaced));
        let gap = gap.clone().and_lost(unplaced);
        for (count, name) in &names.order {
            let fact = if steps == 0 {
                let why = match order.unplaced {
                    0 => "no stream has two calls that moved data".to_owned(),
                    unplaced => format!("the offsets of {unplaced} calls are not known"),
                };
                Fact::missing(why, Scope::Tree, CALLS_HOOK)
            } else {
                gap.fact(Quantity::ratio(count(order) as f64 / steps as f64), Scope::Tree, CALLS_HOOK)
            };
            facts.insert(*name, fact);
        }
    }
}

/// The requested sizes of calls.
#[derive(Debug, Default)]
struct Sizes {
    calls_by_size: BTreeMap<u64, u64>,
    /// The last size, with its calls that are not in the map yet.
    last: (u64, u64),
    calls: u64,
    sum: u128,
    range: Option<(u64, u64)>,
    /// Calls whose size was not recorded for lack of room.
    untold: u64,
}

impl Sizes {
    fn add(&mut self, bytes: u64) {
        self.calls += 1;
        self.sum += u128::from(bytes);
        self.range = Some(self.range.map_or((bytes, bytes), |(least, most)| (least.min(bytes), most.max(bytes))));
        if self.last.0 != bytes {
            self.close();
            self.last = (bytes, 0);
        }
        self.last.1 += 1;
    }

    /// Moves the last size's calls into the map.
    fn close(&mut self) {
        let (bytes, calls) = std::mem::take(&mut self.last);
        if calls == 0 {
            return;
        }
        if self.calls_by_size.len() < MOST_SIZES || self.calls_by_size.contains_key(&bytes) {
            *self.calls_by_size.entry(bytes).or_default() += calls;
        } else {
            self.untold += calls;
        }
    }

    fn distinct(&self) -> u64 {
        self.calls_by_size.len() as u64
    }

    fn modal(&self) -> Option<(u64, u64)> {
        let most = self.calls_by_size.iter().max_by_key(|(size, calls)| (**calls, **size));
        most.map(|(size, calls)| (*size, *calls))
    }
}

impl Shape {
    /// Ends the count; call it after the last call, before the facts.
    pub(super) fn close(&mut self) {
        for directed in [&mut self.reads, &mut self.writes] {
            directed.sizes.close();
            directed.streams = Streams::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(all: impl IntoIterator<Item = u64>) -> Sizes {
        let mut sizes = Sizes::default();
        all.into_iter().for_each(|bytes| sizes.add(bytes));
        sizes.close();
        sizes
    }

    #[test]
    fn sizes_are_told_apart_up_to_a_limit() {
        for (all, range, distinct, modal) in [
            (vec![], None, 0, None),
            (vec![0], Some((0, 0)), 1, Some((0, 1))),
            (vec![8, 8, 4, 8, 4, 16], Some((4, 16)), 3, Some((8, 3))),
            (vec![4, 8], Some((4, 8)), 2, Some((8, 1))),
        ] {
            let found = sizes(all.clone());
            assert_eq!((found.range, found.distinct(), found.modal()), (range, distinct, modal), "{all:?}");
        }
        let most = MOST_SIZES as u64;
        let many = sizes((1..=most + 10).chain([1]));
        assert_eq!((many.distinct(), many.untold, many.modal()), (most, 10, Some((1, 2))));
        assert_eq!((many.range, many.calls), (Some((1, most + 10)), most + 11));
    }
}
