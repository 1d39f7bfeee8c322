//! Figures of a run while it goes on, for what is shown of it. Facts are made of the records, and not of these.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use activebench_model::call::{Call, FileKind, Op, open_bits};
use activebench_model::event::{BlockAction, BlockEvent, KernelClass};
use activebench_probe_abi::decode::KernelEvent;
use activebench_probe_abi::{BlockRecord, CallRecord, add_calls};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::pack::records_of;

/// Significant decimal digits of a latency: it is at most 1 % too high.
const SIGNIFICANT_DIGITS: u8 = 2;

/// Figures of a run so far. They lag by one reading of the ring, and by what waits in the kernel for a full batch: 16
/// calls of a thread, 32 requests of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveFigures {
    /// Bytes that read calls of the tree returned.
    pub read_bytes: u64,
    /// Bytes that write calls of the tree accepted.
    pub write_bytes: u64,
    /// Bytes that block devices completed, on all devices and for all processes.
    pub device_bytes: u64,
    /// More about calls and devices; `None` unless [`ProbeOptions::live_details`](crate::ProbeOptions) asks for it.
    pub details: Option<LiveDetails>,
}

/// More about the calls of the tree, and about block devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveDetails {
    /// Reads and writes that moved data.
    pub data_calls: u64,
    /// 99th percentile of the latency of reads and writes since the figures were read before, of those that were timed.
    /// `None` if none was.
    pub latency_p99_ns: Option<u64>,
    /// Bytes that synchronous reads without `O_DIRECT` returned of regular files.
    pub buffered_read_bytes: u64,
    /// Bytes that these reads added to the page cache, readahead included: it may be ahead of `buffered_read_bytes`.
    pub cache_added_bytes: u64,
    /// Bytes that devices read, on all devices and for all processes.
    pub device_read_bytes: u64,
    /// Bytes that they wrote.
    pub device_write_bytes: u64,
    /// Time from issue to completion, summed over all completed requests: divided by a span it is the mean queue depth.
    pub in_flight_ns: u64,
}

#[derive(Debug)]
struct Counted {
    sums: LiveDetails,
    latencies: Histogram<u64>,
    /// Room for the calls of one message.
    calls: Vec<CallRecord>,
}

/// The counters behind the figures. One thread counts, another one reads.
#[derive(Debug, Default)]
pub(crate) struct LiveCounters {
    read_bytes: AtomicU64,
    write_bytes: AtomicU64,
    device_bytes: AtomicU64,
    details: Option<Mutex<Counted>>,
}

impl LiveCounters {
    /// Counters at zero, those of the details only if they are wanted: they take CPU time for each call.
    pub(crate) fn new(with_details: bool) -> Self {
        let latencies = with_details.then(|| Histogram::new(SIGNIFICANT_DIGITS).ok()).flatten();
        let counted = |latencies| Counted { sums: LiveDetails::default(), latencies, calls: Vec::new() };
        Self { details: latencies.map(counted).map(Mutex::new), ..Self::default() }
    }

    /// Returns the figures; the next percentile begins here.
    pub(crate) fn read(&self) -> LiveFigures {
        let details = self.details.as_ref().map(|counted| {
            let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
            let latencies = &mut counted.latencies;
            let p99 = (!latencies.is_empty()).then(|| latencies.value_at_quantile(0.99));
            latencies.reset();
            LiveDetails { latency_p99_ns: p99, ..counted.sums }
        });
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LiveFigures {
            read_bytes: of(&self.read_bytes),
            write_bytes: of(&self.write_bytes),
            device_bytes: of(&self.device_bytes),
            details,
        }
    }

    /// Adds bytes that calls read and wrote.
    pub(crate) fn add_moved(&self, read: u64, written: u64) {
        self.read_bytes.fetch_add(read, Ordering::Relaxed);
        self.write_bytes.fetch_add(written, Ordering::Relaxed);
    }

    /// Adds the calls of a whole message to the details.
    pub(crate) fn add_calls(&self, records: &[u8]) {
        let Some(counted) = &self.details else { return };
        let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut calls = std::mem::take(&mut counted.calls);
        calls.clear();
        // What makes no sense is counted as malformed elsewhere.
        let _ = add_calls(records, &mut calls);
        for call in calls.iter().filter_map(|record| Call::decode(KernelClass::Calls, record, &|_| false)) {
            counted.add_call(&call);
        }
        counted.calls = calls;
    }

    /// Adds the requests of a message, if it is about completed ones.
    pub(crate) fn add_block(&self, class: KernelClass, records: &[u8]) {
        if class != KernelClass::BlockCompleted {
            return;
        }
        let records = records_of::<BlockRecord>(records);
        let bytes = records.iter().map(|record| u64::from(record.bytes)).sum();
        self.device_bytes.fetch_add(bytes, Ordering::Relaxed);
        let Some(counted) = &self.details else { return };
        let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
        for event in records.iter().filter_map(|record| BlockEvent::decode(class, record, &|_| false)) {
            counted.add_request(&event);
        }
    }
}

impl Counted {
    fn add_call(&mut self, call: &Call) {
        let moves_data = call.op.is_read() || call.op.is_write();
        let Some(bytes) = u64::try_from(call.returned).ok().filter(|bytes| moves_data && *bytes > 0) else { return };
        if call.kind == FileKind::Other {
            return;
        }
        self.sums.data_calls += 1;
        if call.stands_for > 0 {
            let latency_ns = call.end_ns.saturating_sub(call.start_ns).max(1);
            // The histogram grows with the value; without memory for it the value is left out.
            let _ = self.latencies.record_n(latency_ns, call.stands_for.into());
        }
        let is_buffered = call.kind == FileKind::Regular && call.open_flags & open_bits::DIRECT == 0;
        if is_buffered && matches!(call.op, Op::Read | Op::Pread | Op::Readv | Op::Preadv) {
            self.sums.buffered_read_bytes += bytes;
            self.sums.cache_added_bytes += call.cached_bytes;
        }
    }

    fn add_request(&mut self, event: &BlockEvent) {
        match event.action {
            BlockAction::Read => self.sums.device_read_bytes += event.bytes,
            BlockAction::Write => self.sums.device_write_bytes += event.bytes,
            BlockAction::Flush | BlockAction::Discard | BlockAction::Other => {}
        }
        // Every part of a request has the latency of the whole.
        if event.first_of_request {
            self.sums.in_flight_ns += event.latency_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use activebench_probe_abi::bytes_of_all;

    use super::*;

    /// A read of a regular file.
    fn read(bytes: i64, latency_ns: u64) -> CallRecord {
        // SAFETY: all zeroes is a value of every `Record`.
        let call: CallRecord = unsafe { std::mem::zeroed() };
        let requested = bytes.cast_unsigned();
        CallRecord {
            file_kind: 1,
            op: 2,
            s_dev: 9,
            stands_for: 1,
            returned: bytes,
            requested,
            end_ns: latency_ns,
            ..call
        }
    }

    #[test]
    fn calls_are_counted_with_their_latency_and_their_hits() {
        let counters = LiveCounters::new(true);
        let direct = CallRecord { open_flags: 0o40000, ..read(4096, 900_000) };
        let missed = CallRecord { cached_pages: 1, ..read(4096, 100_000) };
        let failed = read(-5, 7);
        let estimated = CallRecord { stands_for: 0, ..read(4096, 5_000_000) };
        let written = CallRecord { op: 6, ..read(4096, 1_000) };
        let other = CallRecord { file_kind: 0, ..read(4096, 1_000) };
        counters.add_calls(bytes_of_all(&[direct, missed, failed, estimated, written, other]));
        let details = counters.read().details.expect("details");
        let p99 = details.latency_p99_ns.expect("three calls were timed");
        assert!((900_000..910_000).contains(&p99), "{p99}");
        let expected = LiveDetails {
            data_calls: 4,
            latency_p99_ns: Some(p99),
            buffered_read_bytes: 8192,
            cache_added_bytes: 4096,
            ..LiveDetails::default()
        };
        assert_eq!(details, expected);
        let later = counters.read().details.expect("details");
        assert_eq!(later, LiveDetails { latency_p99_ns: None, ..expected }, "no call since");
    }

    #[test]
    fn the_time_of_a_request_counts_once_whatever_its_parts() {
        let counters = LiveCounters::new(true);
        // SAFETY: all zeroes is a value of every `Record`.
        let record: BlockRecord = unsafe { std::mem::zeroed() };
        let first = BlockRecord { bytes: 4096, latency_ns: 500, flags: 4, ..record };
        let second = BlockRecord { flags: 0, ..first };
        let written = BlockRecord { operation: 1, bytes: 512, ..first };
        counters.add_block(KernelClass::BlockCompleted, bytes_of_all(&[first, second, written]));
        counters.add_block(KernelClass::BlockQueued, bytes_of_all(&[first]));
        let figures = counters.read();
        let details = figures.details.expect("details");
        assert_eq!((figures.device_bytes, details.device_read_bytes, details.device_write_bytes), (8704, 8192, 512));
        assert_eq!(details.in_flight_ns, 1000);
    }

    #[test]
    fn details_are_there_only_where_they_are_wanted() {
        let counters = LiveCounters::new(false);
        counters.add_calls(bytes_of_all(&[read(4096, 1)]));
        assert_eq!(counters.read().details, None);
    }
}
