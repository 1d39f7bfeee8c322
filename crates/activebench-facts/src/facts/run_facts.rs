//! Facts on the whole run: for the report, and for tools that no adapter knows.

use std::collections::BTreeMap;

use activebench_model::call::{Call, FileId, FileKind, open_bits};
use activebench_model::fact::{Fact, FactName, Facts, Scope};
use activebench_model::log::CallTotals;
use activebench_model::phase::{Direction, Window};
use activebench_model::run::Manifest;
use activebench_model::units::Quantity;
use foldhash::{HashMap, HashSet};

use super::Gaps;
use super::device::{Below, DevicePlan, DeviceSeen, DevicesOfFiles, FilePlan};
use super::device_facts;
use super::index::Index;
use super::record_losses::CACHE_HOOK;
use super::record_losses::CALLS_HOOK;
use crate::evidence::LEAST_READ_BYTES;

/// Source of the CPU time of the tree.
const CPU_HOOK: &str = "tp_btf/sched_process_exit, tp_btf/sched_switch";

/// Device facts that are only meaningful for a single device.
const OF_ONE_DEVICE: [FactName; 7] = [
    FactName::DeviceTotalBytes,
    FactName::ForeignBytes,
    FactName::DeviceBusy,
    FactName::DeviceQueueDepthMean,
    FactName::DeviceQueueDepthMax,
    FactName::Flushes,
    FactName::FuaWrites,
];

/// Sums of the tree's calls on regular files and block devices.
#[derive(Debug, Default)]
pub(super) struct WholeRun {
    read_bytes: u64,
    write_bytes: u64,
    read_calls: u64,
    write_calls: u64,
    failed_calls: u64,
    direct_bytes: u64,
    sync_write_bytes: u64,
    storage_read_bytes: u64,
    /// `(read, written)` by file, without those of `last`.
    files: BTreeMap<FileId, (u64, u64)>,
    /// The file of the last call, and the bytes that consecutive calls moved there: mostly it stays the same.
    last: Option<(FileId, (u64, u64))>,
}

impl WholeRun {
    pub(super) fn feed(&mut self, call: &Call) {
        if call.file.is_some() {
            self.feed_sum(&CallTotals {
                file: call.file,
                kind: call.kind,
                op: call.op,
                open_flags: call.open_flags,
                calls: 1,
                failed_calls: u64::from(call.returned < 0),
                returned: u64::try_from(call.returned).unwrap_or(0),
                storage_read_bytes: call.storage_read_bytes,
                first_start_ns: call.start_ns,
                last_end_ns: call.end_ns,
            });
        }
    }

    /// Adds calls of which only the sum is known.
    pub(super) fn feed_sum(&mut self, sum: &CallTotals) {
        if sum.kind == FileKind::Other {
            return;
        }
        let (is_read, is_write) = (sum.op.is_read(), sum.op.is_write());
        if !is_read && !is_write {
            self.failed_calls += if sum.op.is_file_sync() { sum.failed_calls } else { 0 };
            return;
        }
        let bytes = sum.returned;
        if let Some(file) = sum.file
            && self.last.is_none_or(|(last, _)| last != file)
        {
            self.close();
            self.last = Some((file, (0, 0)));
        }
        let mut unnamed = (0, 0);
        let (read, written) = match &mut self.last {
            Some((_, moved)) if sum.file.is_some() => moved,
            _ => &mut unnamed,
        };
        if is_read {
            self.read_calls += sum.calls;
            self.read_bytes += bytes;
            *read += bytes;
        } else {
            self.write_calls += sum.calls;
            self.write_bytes += bytes;
            *written += bytes;
            if sum.open_flags & (open_bits::SYNC | open_bits::DSYNC) != 0 {
                self.sync_write_bytes += bytes;
            }
        }
        if sum.open_flags & open_bits::DIRECT != 0 {
            self.direct_bytes += bytes;
        }
        self.failed_calls += sum.failed_calls;
        self.storage_read_bytes += sum.storage_read_bytes;
    }

    /// Adds the bytes of the last file to the others; call it after the last call.
    pub(super) fn close(&mut self) {
        if let Some((file, (read, written))) = self.last.take() {
            let moved = self.files.entry(file).or_default();
            moved.0 += read;
            moved.1 += written;
        }
    }

    /// Plans the block events of the whole run on the files that the tool worked on: the files that it
    /// wrote, or without written files those that it read. Small files count only where there are no
    /// others. Its libraries and its logs may be on other devices than its data, and the counts of devices
    /// of one stack must not be added up.
    pub(super) fn device_plan(&self, manifest: &Manifest) -> DevicePlan {
        let clocks = manifest.clocks;
        let window = Window { start_ns: clocks.started_ns, end_ns: clocks.ended_ns.max(clocks.started_ns) };
        let moved = |(read, written): &(u64, u64)| if self.write_bytes > 0 { *written } else { *read };
        let least = if self.files.values().any(|file| moved(file) >= LEAST_READ_BYTES) { LEAST_READ_BYTES } else { 1 };
        let mut files = HashMap::default();
        let mut all = HashSet::default();
        let mut why_none = None;
        let mut devices_of_files = DevicesOfFiles::new(&manifest.host);
        for (file, _) in self.files.iter().filter(|(_, file)| moved(file) >= least) {
            match devices_of_files.of(*file) {
                Ok(devices) => {
                    all.extend(devices.iter().copied());
                    files.insert(*file, FilePlan { durable_ns: window.end_ns, devices });
                }
                Err(why) => why_none = Some(why),
            }
        }
        let devices = match why_none {
            Some(why) => Err(why),
            None if all.is_empty() => Err("no data moved".to_owned()),
            None => Ok(all),
        };
        DevicePlan {
            devices,
            window,
            files,
            span_end_ns: window.end_ns,
            direction: Direction::Mixed,
            together: None,
            below: Below::default(),
        }
    }

    pub(super) fn facts(&self, manifest: &Manifest, index: &Index<'_>, cached_bytes: u64, seen: DeviceSeen) -> Facts {
        // Sums continue after the cut of the log.
        let (gaps, log_gaps) = (Gaps::of(manifest), Gaps::of_log(manifest, u64::MAX));
        let mut facts = Facts::default();
        let mappings = Quantity::count(index.data_mappings);
        facts.insert(FactName::Mappings, log_gaps.calls.fact(mappings, Scope::Tree, CALLS_HOOK));
        let mut add = |name, quantity| facts.insert(name, gaps.calls.fact(quantity, Scope::Tree, CALLS_HOOK));
        add(FactName::ReadBytes, Quantity::bytes(self.read_bytes));
        add(FactName::WriteBytes, Quantity::bytes(self.write_bytes));
        add(FactName::ReadCalls, Quantity::count(self.read_calls));
        add(FactName::WriteCalls, Quantity::count(self.write_calls));
        add(FactName::FailedCalls, Quantity::count(self.failed_calls));
        let from_storage = Quantity::bytes(self.storage_read_bytes);
        facts.insert(FactName::StorageReadBytes, gaps.storage_reads.fact(from_storage, Scope::Tree, CALLS_HOOK));
        let mut add = |name, quantity| facts.insert(name, gaps.calls.fact(quantity, Scope::Tree, CALLS_HOOK));
        let bytes = self.read_bytes + self.write_bytes;
        if bytes > 0 {
            add(FactName::DirectShare, Quantity::ratio(self.direct_bytes as f64 / bytes as f64));
        }
        if self.write_bytes > 0 {
            let share = self.sync_write_bytes as f64 / self.write_bytes as f64;
            add(FactName::SyncWriteShare, Quantity::ratio(share));
        }
        // Every task's times are reported at its end.
        let (user_ns, kernel_ns) =
            index.tasks.iter().fold((0, 0), |(user, kernel), task| (user + task.user_ns, kernel + task.kernel_ns));
        let outlived = index.tasks.iter().filter(|task| task.end_ns.is_none()).count();
        let lost = (outlived > 0).then(|| format!("{outlived} of the tree's tasks outlived the observation"));
        let gap = gaps.cpu.clone().and(&gaps.tasks).and_lost(lost);
        for (name, ns) in [(FactName::UserCpu, user_ns), (FactName::KernelCpu, kernel_ns)] {
            facts.insert(name, gap.fact(Quantity::ns(ns), Scope::Tree, CPU_HOOK));
        }

        let clocks = manifest.clocks;
        let window = match clocks.ended_ns.checked_sub(clocks.started_ns) {
            Some(run_ns) if clocks.ended_ns > 0 => Fact::complete(Quantity::ns(run_ns), Scope::Tree, "run.json"),
            _ => Fact::missing("the end of the run was not recorded", Scope::Tree, "run.json"),
        };
        facts.insert(FactName::Window, window);
        let cached = gaps.cache.fact(Quantity::bytes(cached_bytes), Scope::File, CACHE_HOOK);
        facts.insert(FactName::CacheInsertedBytes, cached);

        let one_device = seen.devices.count() <= 1;
        device_facts::add(&log_gaps, seen, &mut facts);
        // A whole run has no durable span.
        facts.0.remove(&FactName::DeviceWriteBytesDurable);
        if !one_device {
            facts.0.retain(|name, _| !OF_ONE_DEVICE.contains(name));
        }
        facts
    }
}
