//! Totals of the records past the log's cut.

use std::collections::HashMap;
use std::hash::Hash;

use activebench_model::call::{Call, DeviceNumber, FileId, FileKind, Op};
use activebench_model::event::{BlockAction, BlockEvent, BlockEventKind, CacheEvent, KernelClass};
use activebench_model::log::{BlockTotals, CacheTotals, CallTotals, Totals};
use activebench_probe_abi::decode::KernelEvent;
use activebench_probe_abi::{BlockRecord, CacheRecord, CallRecord};

/// Maximum number of entries of a table. Above it files share an entry: a benchmark that creates files without end
/// must not make memory grow without end.
const MOST_ENTRIES: usize = 8192;

/// File, its kind, op and open flags.
type CallKey = (Option<FileId>, FileKind, Op, u32);

/// Running sums.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    calls: HashMap<CallKey, CallTotals>,
    block: HashMap<(DeviceNumber, BlockEventKind, BlockAction), BlockTotals>,
    cache: HashMap<Option<FileId>, CacheTotals>,
}

impl Sums {
    /// Adds a call and returns its start.
    pub(crate) fn call(&mut self, record: &CallRecord) -> Option<u64> {
        let call = Call::decode(KernelClass::Calls, record, &|_| false)?;
        let key = (call.file, call.kind, call.op, call.open_flags);
        let shared = (None, call.kind, call.op, call.open_flags);
        let sum = entry(&mut self.calls, key, shared, |(file, kind, op, open_flags)| CallTotals {
            file: *file,
            kind: *kind,
            op: *op,
            open_flags: *open_flags,
            calls: 0,
            failed_calls: 0,
            returned: 0,
            storage_read_bytes: 0,
            first_start_ns: u64::MAX,
            last_end_ns: 0,
        });
        sum.calls += 1;
        match u64::try_from(call.returned) {
            Ok(returned) => sum.returned = sum.returned.saturating_add(returned),
            Err(_) => sum.failed_calls += 1,
        }
        sum.storage_read_bytes += call.storage_read_bytes;
        sum.first_start_ns = sum.first_start_ns.min(call.start_ns);
        sum.last_end_ns = sum.last_end_ns.max(call.end_ns);
        Some(call.start_ns)
    }

    /// Adds a block event and returns its time.
    pub(crate) fn block(&mut self, class: KernelClass, record: &BlockRecord) -> Option<u64> {
        let event = BlockEvent::decode(class, record, &|_| false)?;
        let key = (event.device, event.kind, event.action);
        // Devices are few: no entry is shared.
        let sum = entry(&mut self.block, key, key, |(device, kind, action)| BlockTotals {
            device: *device,
            kind: *kind,
            action: *action,
            requests: 0,
            bytes: 0,
        });
        sum.requests += u64::from(event.first_of_request || event.kind == BlockEventKind::Queued);
        sum.bytes += event.bytes;
        Some(event.at_ns)
    }

    /// Adds an insertion and returns its time.
    pub(crate) fn cache(&mut self, record: &CacheRecord) -> Option<u64> {
        let event = CacheEvent::decode(KernelClass::PageCache, record, &|_| false)?;
        let sum =
            entry(&mut self.cache, Some(event.file), None, |file| CacheTotals { file: *file, folios: 0, bytes: 0 });
        sum.folios += 1;
        sum.bytes += event.bytes;
        Some(event.at_ns)
    }

    /// Returns the sums, in the order of files and devices.
    pub(crate) fn totals(&self) -> Totals {
        let mut totals = Totals {
            calls: self.calls.values().cloned().collect(),
            block: self.block.values().cloned().collect(),
            cache: self.cache.values().cloned().collect(),
        };
        totals.calls.sort_by_key(|sum| (sum.file, sum.op, sum.open_flags));
        totals.block.sort_by_key(|sum| (sum.device, sum.kind as u8, sum.action as u8));
        totals.cache.sort_by_key(|sum| sum.file);
        totals
    }
}

/// Returns the entry of a key, or the shared one when there are too many.
fn entry<K: Copy + Eq + Hash, V>(table: &mut HashMap<K, V>, key: K, shared: K, new: impl Fn(&K) -> V) -> &mut V {
    let key = if table.len() < MOST_ENTRIES || table.contains_key(&key) { key } else { shared };
    table.entry(key).or_insert_with(|| new(&key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_go_on_past_what_32_bits_hold() {
        // SAFETY: all zeroes is a value of every `Record`.
        let mut call: CallRecord = unsafe { std::mem::zeroed() };
        (call.op, call.file_kind, call.ino, call.s_dev, call.returned) = (Op::Pread as u16, 1, 7, 9, 1 << 30);
        let mut sums = Sums::default();
        sums.call(&call);
        for sum in sums.calls.values_mut() {
            sum.calls = u64::from(u32::MAX);
        }
        for hours in 1..=100 {
            call.start_ns = hours * 3600 * 1_000_000_000;
            call.end_ns = call.start_ns + 1;
            assert_eq!(sums.call(&call), Some(call.start_ns));
        }
        let sum = &sums.totals().calls[0];
        assert_eq!((sum.calls, sum.returned), (u64::from(u32::MAX) + 100, 101 << 30));
        assert_eq!((sum.first_start_ns, sum.last_end_ns), (0, 360_000_000_000_001));
    }
}
