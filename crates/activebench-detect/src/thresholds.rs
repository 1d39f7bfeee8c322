//! Every threshold, with its unit and its origin.
//!
//! The profiles that choose other values are in `profiles`. One threshold serves one detector and one meaning (AB8xx,
//! which look ahead, use those of the detector that will judge the run); the field's name says the code, the meaning
//! and the unit. `proposed` marks a starting point that no experiment has replaced yet. Reports print the threshold and
//! its origin with each finding.

pub mod profiles;

use activebench_model::finding::Threshold;
use activebench_model::report::ChangedThreshold;
use activebench_model::units::{Quantity, Unit};
use serde::Serialize;

/// Why a profile or an override could not be used.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum ThresholdError {
    /// No profile has this name.
    #[error("there is no profile {name:?} (hint: choose one of {})", profiles::names().join(", "))]
    UnknownProfile {
        /// As asked for.
        name: String,
    },
    /// The override file is not TOML.
    #[error(
        "cannot read the thresholds in {file}: {answer} (hint: write lines like `ab302_late_sync_fail_ratio = 0.1`)"
    )]
    NotToml {
        /// The file, as the user names it.
        file: String,
        /// The TOML reader's own words.
        answer: String,
    },
    /// The override file names a threshold that does not exist.
    #[error(
        "{file} sets {key:?}, which is not a threshold (hint: `activebench detectors --profile default` lists them)"
    )]
    UnknownThreshold {
        /// The file, as the user names it.
        file: String,
        /// The key.
        key: String,
    },
    /// A threshold is not a finite number from 0 on.
    #[error("{file} sets {key} to {value}, which is not a number from 0 on (hint: its unit is {unit})", unit = unit.as_str())]
    NotANumber {
        /// The file, as the user names it.
        file: String,
        /// The key.
        key: String,
        /// The value, as written.
        value: String,
        /// The unit that it should have.
        unit: Unit,
    },
}

macro_rules! thresholds {
    ($($(#[$doc:meta])* $field:ident = $value:expr, $unit:ident, $source:literal;)*) => {
        /// The thresholds of one profile.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        pub struct Thresholds {
            /// The profile's name.
            pub profile: String,
            /// `true` if each warning counts as a failure (`strict`).
            pub warn_counts_as_fail: bool,
            /// `true` if a series must be in a steady state: AB702 then fails instead of warning.
            pub steady_state_required: bool,
            /// `true` if AB606 asks for preconditioning of the device in the run itself (SNIA PTS).
            pub requires_preconditioning: bool,
            $($(#[$doc])* pub $field: Threshold,)*
        }

        impl Thresholds {
            /// The thresholds of the profile `default`.
            fn base() -> Self {
                Self {
                    profile: "default".to_owned(),
                    warn_counts_as_fail: false,
                    steady_state_required: false,
                    requires_preconditioning: false,
                    $($field: Threshold {
                        value: Quantity { value: $value, unit: Unit::$unit },
                        source: $source.to_owned(),
                    },)*
                }
            }

            /// Every threshold by name, in the order of the codes.
            pub fn table(&self) -> Vec<(&'static str, &Threshold)> {
                vec![$((stringify!($field), &self.$field),)*]
            }

            fn entry(&mut self, name: &str) -> Option<&mut Threshold> {
                match name {
                    $(stringify!($field) => Some(&mut self.$field),)*
                    _ => None,
                }
            }
        }
    };
}

thresholds! {
    /// AB101: difference between the bytes that a claim needs and those that calls moved, as
    /// a share of the latter, from which on it warns.
    ab101_difference_warn_ratio = 0.01, Ratio, "default";
    /// AB101: the same, from which on it fails.
    ab101_difference_fail_ratio = 0.05, Ratio, "default";
    /// The most that a latency may be below that of the calls: a tool's histogram rounds.
    ab101_latency_slack_ratio = 0.05, Ratio, "default; fio's histograms round by up to 1.6 %";
    /// The same where of fast calls a sample was timed.
    ab101_sampled_latency_slack_ratio = 0.5, Ratio, "default: the tail of a sample is not that of all calls";
    /// The largest difference between a claimed share of CPU time and that of the calls, for each CPU used.
    ab101_cpu_slack_ratio = 0.05, Ratio, "default: the tool's accounting begins and ends outside its calls";
    /// The largest further difference, as a share of the observed one: the kernel's accounting leaves out interrupts
    /// and what a hypervisor took, which the time between two switches holds, and counts work before the first call.
    ab101_cpu_below_ratio = 0.20, Ratio, "default; up to 12 % below, measured with bonnie++ 2.00a on a busy virtual machine";
    /// Share of the window in which the threads waited for a CPU, or the hypervisor took one, from which on a
    /// completion latency is not refuted: the tool reads its clock after such waits.
    ab101_waiting_ratio = 0.01, Ratio, "default";
    /// AB102: bytes claimed for direct I/O over bytes at the device, above which it fails.
    ab102_excess_fail_ratio = 1.02, Ratio, "default; fio #752";
    /// AB103: the largest distance between the ratio of claim and observation and a conversion factor.
    ab103_factor_tolerance_ratio = 0.005, Ratio, "default; rebuilt rates differ by up to 0.1 %, measured with iozone 3.489";
    /// AB103: a confusion that changes the figure by more than this fails, a smaller one warns.
    ab103_difference_fail_ratio = 0.05, Ratio, "default";
    /// AB104: difference between the tool's clock and the window, as a share of the window,
    /// from which on it warns.
    ab104_difference_warn_ratio = 0.01, Ratio, "default; rebuilt windows differ by up to 0.1 %, measured with iozone 3.489";
    /// AB104: the same, from which on it fails.
    ab104_difference_fail_ratio = 0.05, Ratio, "default";
    /// AB104: time between the tool's reading of its clock and the nearest call that does not count as a
    /// disagreement. Added to the step of the tool's clock.
    ab104_noise_ns = 100_000.0, Ns, "measured: 37 us at a window of 33 ms (iozone 3.489 read), with a margin";
    /// AB104: the longest wait for a CPU between the tool's reading of its clock and the nearest call.
    ab104_wait_ns = 100_000_000.0, Ns, "period of the scheduler's bandwidth control (Linux, sched-bwc.rst): 100 ms";
    /// AB104: what a tool does between its reading of the clock and its first call (opens its files, makes its
    /// buffers), where its clock ran longer than the calls.
    ab104_start_ns = 5_000_000.0, Ns, "measured: 3.6 ms at a window of 33 ms (fio 3.33 beside others), with a margin";
    /// AB104: operations' worth of time that a tool may spend before its first call and after
    /// its last one (filling a buffer, checking the last block) without a disagreement.
    ab104_idle_operations_count = 2.0, Count, "default: one operation at either end";
    /// AB105: failed or short calls above this number that the tool does not report.
    ab105_unreported_calls_count = 0.0, Count, "Gregg: did it error?";
    /// AB106: bytes at the device up to this number mean that it was not touched.
    ab106_device_floor_bytes = 0.0, Bytes, "Gregg: did it even happen?";
    /// AB106: share of the bytes claimed for a pass that the whole run must have moved for the
    /// pass to have happened at all.
    ab106_run_share_ratio = 0.5, Ratio, "default: far beyond what any rounding explains";
    /// AB106: synced bytes below this may be in the inode or the journal alone.
    ab106_inline_ceiling_bytes = 1_048_576.0, Bytes, "default; ext4 and btrfs keep files of a few KiB in metadata";
    /// AB106: share of the bytes that must pass the device, whoever they are put down to, to
    /// doubt our attribution rather than the run.
    ab106_unattributed_ratio = 0.01, Ratio, "default";
    /// AB106: share of the bytes that a FUSE file system was asked for which its daemon's devices must move to have served
    /// them.
    ab106_daemon_all_ratio = 0.9, Ratio, "default: read ahead before the pass, and a daemon's own cache, may take a tenth";
    /// AB106: share above which others must have used the same daemon.
    ab106_daemon_others_ratio = 1.3, Ratio, "measured: 1.23 (zfs-fuse 0.7, cold reads) and 1.16 (fuse2fs 1.47), with a margin";
    /// AB106: share up to which the devices served nothing that counts.
    ab106_daemon_nothing_ratio = 0.05, Ratio, "default: far below what compression leaves of ordinary data";
    /// AB108: difference between the promised share of reads and the observed one, from which on it warns.
    ab108_difference_warn_ratio = 0.02, Ratio, "default; Drishti P01 to P04 warn of 10 %";
    /// AB108: standard deviations that chance may take from a share that is drawn.
    ab108_chance_deviations_count = 4.0, Count, "default: 1 honest pass in 16,000";
    /// AB109: the least share of consecutive calls in a sequential pass.
    ab109_sequential_least_ratio = 0.8, Ratio, "default; 20 % as in Drishti's random_operations";
    /// AB109: the largest share of consecutive calls in a random pass.
    ab109_random_most_ratio = 0.2, Ratio, "default; 20 % as in Drishti's random_operations";
    /// AB110: the parent's rate as a share of the children's sum, below which it warns.
    ab110_parent_share_warn_ratio = 0.95, Ratio, "default";
    /// AB111: difference between two statements of one figure beyond what their digits leave open, from
    /// which on it warns.
    ab111_difference_warn_ratio = 0.01, Ratio, "default";
    /// AB111: the same, from which on it fails where no known defect of the tool explains it.
    ab111_difference_fail_ratio = 0.05, Ratio, "default";
    /// AB111: by what factor the depth that follows from rate and latency may exceed the one claimed.
    ab111_depth_factor_ratio = 1.5, Ratio, "default; Little's law is exact, the mean latency may leave out a slow start";
    /// AB112: share of the bytes that must go the promised way.
    ab112_promised_share_ratio = 0.999, Ratio, "default: all of them, but for rounding";
    /// AB112: share of the promised syncs that must be made.
    ab112_promised_syncs_ratio = 0.9, Ratio, "default; fio 3.33 makes all of them but the last of each task (measured)";
    /// AB112: share of the bytes read that may still be resident after a purge.
    ab112_purge_leftover_ratio = 0.5, Ratio, "default: an unmount leaves nothing";
    /// AB112: share of reads served by the page cache from which on a purge of the CPU's
    /// cache alone is worth a word.
    ab112_page_cache_served_ratio = 0.05, Ratio, "default";
    /// AB112: by how much the share that compression leaves, or that repeats, may differ from what the option asks for.
    ab112_content_difference_ratio = 0.15, Ratio, "default; fio 3.33 stays within 0.02 (measured)";
    /// AB112: standard deviations that chance may take from the share of duplicates among as many draws.
    ab112_chance_deviations_count = 4.0, Count, "default: 1 honest pass in 16,000";
    /// AB113: bytes by which size and movement may differ.
    ab113_difference_bytes = 0.0, Bytes, "both are exact counts";
    /// AB201: share of the bytes read that did not enter the page cache, from which on it warns.
    ab201_cache_share_warn_ratio = 0.05, Ratio, "default";
    /// AB201: the same, from which on it fails.
    ab201_cache_share_fail_ratio = 0.20, Ratio, "default";
    /// AB201: bytes read from storage beyond those that entered the cache, as a share of the
    /// bytes read, above which the two sources contradict each other.
    ab201_contradiction_ratio = 0.05, Ratio, "default; both sources are exact for buffered reads, measured";
    /// AB202: bytes read as a multiple of the memory, below which it warns where the page cache was not observed.
    ab202_memory_warn_ratio = 2.0, Ratio, "bonnie++ refuses less than twice the memory";
    /// AB202: bytes read as a multiple of the memory that the profile's rule asks for, whatever was observed;
    /// 0 where none does.
    ab202_required_memory_ratio = 0.0, Ratio, "no rule asks for a size: where the bytes came from is observed";
    /// AB203: share of the bytes read that were resident before a cold pass began.
    ab203_resident_fail_ratio = 0.01, Ratio, "default";
    /// AB204: bytes that direct I/O put into the page cache, as a share of the direct bytes, from which on it warns.
    ab204_cached_warn_ratio = 0.001, Ratio, "kernel commit 825cf206ed51: statx reports where O_DIRECT is not supported; share proposed";
    /// AB204: the same, from which on it fails.
    ab204_cached_fail_ratio = 0.05, Ratio, "default, as AB201's; btrfs gave 2 of 512 direct reads to its cache (measured)";
    /// AB205: bytes at a device that did not pass the layers below a page cache between them, as a share of those at the
    /// device, from which on it warns.
    ab205_cached_warn_ratio = 0.05, Ratio, "default, as AB201's";
    /// AB205: the same, from which on it fails.
    ab205_cached_fail_ratio = 0.20, Ratio, "default, as AB201's";
    /// AB206: distinct bytes touched over the size of the device's cache, below which the cache can hold them.
    ab206_cache_warn_ratio = 1.0, Ratio, "mlcommons/storage #464: 37 TB that an array's cache served";
    /// AB206: visits of each block of a set, repetitions that the command asks for left out, from which on the set is
    /// one that a cache can answer.
    ab206_visits_least_count = 8.0, Count, "default";
    /// AB206: distinct bytes of such a set up to which every device's own cache is taken to hold it.
    ab206_small_set_bytes = 16_777_216.0, Bytes, "default: disks of today have 64 MiB and more";
    /// AB207: share of the bytes read for which the device was not asked, from which on it warns.
    ab207_unwritten_warn_ratio = 0.001, Ratio, "default";
    /// AB207: the same, from which on it fails.
    ab207_unwritten_fail_ratio = 0.01, Ratio, "default";
    /// AB207: bytes of buffered reads that the layers below the device need not have read while the clock ran: those on
    /// their way when it starts and stops.
    ab207_below_floor_bytes = 1_048_576.0, Bytes, "default: several windows of readahead, each mostly of 128 KiB";
    /// AB208: bytes received over bytes read, below which it warns.
    ab208_received_warn_ratio = 0.95, Ratio, "default; mlcommons/storage #464, ior #139";
    /// AB208: the same, below which it fails.
    ab208_received_fail_ratio = 0.8, Ratio, "default; mlcommons/storage #464, ior #139";
    /// AB301: share of the bytes written that no sync made durable, above which it warns.
    ab301_unsynced_warn_ratio = 0.01, Ratio, "default";
    /// AB301: the same, above which it fails.
    ab301_unsynced_fail_ratio = 0.05, Ratio, "default: as far as a figure may be above what the calls allow (AB101)";
    /// AB302: time from the end of the window to the end of the sync, as a share of the window,
    /// from which on it warns.
    ab302_late_sync_warn_ratio = 0.01, Ratio, "default";
    /// AB302: the same, from which on it fails.
    ab302_late_sync_fail_ratio = 0.05, Ratio, "default";
    /// AB303: FLUSH and FUA requests up to this number mean that the cache was not flushed.
    ab303_flushes_floor_count = 0.0, Count, "fio #719: a benchmark on ext4 mounted nobarrier";
    /// AB401: distinct blocks as a share of those expected, below which it warns.
    ab401_distinct_warn_ratio = 0.9, Ratio, "default";
    /// AB401: the same, below which it fails.
    ab401_distinct_fail_ratio = 0.5, Ratio, "default";
    /// AB401: standard deviations that chance may take from the expectation of independent draws.
    ab401_chance_deviations_count = 4.0, Count, "default: 1 honest pass in 30,000";
    /// AB401: distinct bytes, and bytes at the device until durable, over the bytes written, below which most of them
    /// were overwritten in the page cache.
    ab401_overwritten_fail_ratio = 0.5, Ratio, "default";
    /// AB402: Jaccard index of the first offsets of two runs, above which they are the same.
    ab402_same_offsets_warn_ratio = 0.9, Ratio, "default";
    /// AB402: blocks of the region for each offset that is compared, at least: two runs then share few by chance.
    ab402_blocks_per_offset_count = 8.0, Count, "default: independent draws share 1 in 15";
    /// AB402: offsets that must be compared.
    ab402_offsets_least_count = 32.0, Count, "default";
    /// AB403: requests in flight as a share of those claimed, below which it warns.
    ab403_depth_warn_ratio = 0.5, Ratio, "default";
    /// AB403: the same, below which it fails.
    ab403_depth_fail_ratio = 0.25, Ratio, "default";
    /// AB403: share of the tasks' time in io_submit from which on requests that pass the page cache are
    /// worked off there.
    ab403_submit_share_ratio = 0.25, Ratio, "default: io_submit of buffered I/O returns when the copy is done; fio 3.33 spends 40 % and more of its time there, handing over direct I/O a few percent";
    /// AB403: operations in flight at the device below which they went one by one.
    ab403_serial_count = 1.5, Count, "default: between one and two";
    /// AB403: share of the bytes that must pass the device for its depth to be that of the pass.
    ab403_device_share_ratio = 0.9, Ratio, "default";
    /// AB403: share of the window with a request at the device, from which on the device had enough to do.
    ab403_device_busy_ratio = 0.5, Ratio, "default: below it something before the device was slow, which no depth shows";
    /// AB404, AB405: the least number of samples that represent a pass of which not every write was sampled.
    ab404_samples_least_count = 32.0, Count, "a share of 32 samples is off by 9 points at most (standard error); at most 256 per second are taken";
    /// AB404: bytes left after compression, as a share, below which the payload is compressible.
    ab404_compressed_least_ratio = 0.5, Ratio, "default";
    /// AB404: share of the samples that are zeros alone.
    ab404_zeros_most_ratio = 0.01, Ratio, "default";
    /// AB404 and AB405: bytes that reached the device over the bytes that were written, from which on nothing was
    /// packed.
    ab404_reached_least_ratio = 0.98, Ratio, "default; without packing 100 % were counted, measured on btrfs with preallocated extents";
    /// AB405: share of the samples that equal another one, from which on it warns.
    ab405_duplicates_warn_ratio = 0.01, Ratio, "default";
    /// AB405: the same, from which on it fails.
    ab405_duplicates_fail_ratio = 0.10, Ratio, "default";
    /// AB406: bytes at the device as a share of those that had to get there, below which data was reduced.
    ab406_reduced_fail_ratio = 0.9, Ratio, "default";
    /// AB406: the same, above which data was amplified.
    ab406_amplified_note_ratio = 1.5, Ratio, "default";
    /// AB407: requests at the device as a share of the calls, below which readahead merged them.
    ab407_requests_note_ratio = 0.5, Ratio, "default";
    /// AB501: CPU time as a share of what the busy threads could have used.
    ab501_cpu_share_fail_ratio = 0.90, Ratio, "default; Gregg's bonnie++ example shows 99 %";
    /// AB501: share of the window with a request at the device, below which the device did not limit.
    ab501_device_busy_ceiling_ratio = 0.50, Ratio, "default";
    /// AB502: user time as a share of the threads' wall time, from which on checking is what was timed.
    ab502_user_share_warn_ratio = 0.50, Ratio, "default";
    /// AB502: user time for one byte (records of 4 KiB and more), from which on every byte is looked at.
    ab502_user_time_per_byte_ns = 1.0, Ns, "default: crc32c by the CPU's own instruction takes 0.14 to 0.33 ns a byte, xxhash 0.56, md5 1.5";
    /// AB502: bytes read by a writing pass, as a share of those written.
    ab502_reads_beside_claim_warn_ratio = 0.01, Ratio, "default";
    /// AB503: claimed rate over what the link carries at most, above which it is beyond it.
    ab503_link_fail_ratio = 1.0, Ratio, "Gregg: did it break limits? The link's speed less its encoding";
    /// AB503: claimed rate over what the storage gave when its ceiling was measured, its spread on top, above which
    /// it is noted.
    ab503_measured_note_ratio = 2.0, Ratio, "default: caches inside of devices and bursts pass a measured ceiling";
    /// AB504: mean latency of the device over the mean latency claimed, above which the claim is refuted.
    ab504_latency_fail_ratio = 1.05, Ratio, "default";
    /// AB504: random operations a second that a rotating disk does not make.
    ab504_rotating_fail_per_sec = 500.0, OpsPerSec, "default; fio #41: 20,000 on a disk of 7,200 rpm";
    /// AB505: rate at the device as a share of what a control group allows, from which on the limit was in the way.
    ab505_limit_share_fail_ratio = 0.8, Ratio, "default: a limit is kept on average over a slice of time";
    /// AB506: share of the tasks' time in which they idled although no option limits them, from which on it warns.
    ab506_idle_warn_ratio = 0.5, Ratio, "default: most of the time";
    /// AB506: time for which all tasks together idled at least. Where all CPUs are busy, a thread that makes the calls of
    /// another one starts some milliseconds late.
    ab506_least_idle_ns = 20e6, Ns, "default: a few slices of a scheduler whose CPUs are all busy";
    /// AB506: the same share with an option of the tool that limits it.
    ab506_own_limit_idle_warn_ratio = 0.1, Ratio, "default: the pause is a tenth of the figure";
    /// AB506: share of the window with a request at the device, below which the device did not set the pace.
    ab506_device_busy_ceiling_ratio = 0.5, Ratio, "reference rule: device busy below 50 %";
    /// AB601: share of the device's bytes that others moved, from which on it warns.
    ab601_foreign_warn_ratio = 0.02, Ratio, "default";
    /// AB601: the same, from which on it fails.
    ab601_foreign_fail_ratio = 0.10, Ratio, "default";
    /// AB601: bytes of others below this are the host's own housekeeping.
    ab601_foreign_floor_bytes = 1_048_576.0, Bytes, "default: a few log lines and their journal commits";
    /// AB602: share of the CPUs' time that the hypervisor gave to others, from which on it warns.
    ab602_steal_warn_ratio = 0.01, Ratio, "default; hyperfine and Phoronix only infer it from variance";
    /// AB602: the same, from which on it fails.
    ab602_steal_fail_ratio = 0.05, Ratio, "default; hyperfine and Phoronix only infer it from variance";
    /// AB602: windows below this do not fail for what the hypervisor took: it is one disturbance there.
    ab602_steal_fail_window_ns = 10_000_000_000.0, Ns, "default; 6 % of a window of half a second, measured on a virtual machine in an honest run";
    /// AB602: share of their time for which threads waited for a CPU.
    ab602_run_queue_warn_ratio = 0.05, Ratio, "default; hyperfine and Phoronix only infer it from variance";
    /// AB602: share of the CPUs' time that threads which outnumber them must have used to have waited for one
    /// another.
    ab602_own_share_ratio = 0.9, Ratio, "default: as AB501, a CPU at its limit";
    /// AB603: others' data waiting to be written back over the bytes that a pass writes.
    ab603_dirty_warn_ratio = 0.01, Ratio, "default";
    /// AB603: data waiting to be written back up to this is the host's own housekeeping.
    ab603_dirty_floor_bytes = 8_388_608.0, Bytes, "default; 2 to 3 MiB measured on a virtual machine that compiles";
    /// AB604: fall of the CPUs' mean frequency inside the window.
    ab604_frequency_drop_note_ratio = 0.10, Ratio, "default; NVBench #231 discards trials below 75 % of the clock";
    /// AB605: pages swapped in and out above this number.
    ab605_swapped_warn_count = 0.0, Count, "default: a benchmark's machine does not swap";
    /// AB605: share of the window in which all tasks waited for memory.
    ab605_stall_warn_ratio = 0.001, Ratio, "default";
    /// AB607: time by which the system clock was set or the machine was suspended, as a share of the window.
    ab607_change_warn_ratio = 0.001, Ratio, "default: a fiftieth of what a confirmed rate may differ by";
    /// AB608: share of the window in which a thread of the tool was stopped.
    ab608_stopped_warn_ratio = 0.01, Ratio, "default: a fifth of what a confirmed rate may differ by";
    /// AB606: bytes that a profile with preconditioning asks to be written before a pass, over the device's size.
    ab606_preconditioning_least_ratio = 2.0, Ratio, "SNIA PTS 2.0.2: twice the capacity";
    /// AB701: windows below this warn.
    ab701_window_warn_ns = 500_000_000.0, Ns, "bonnie++ prints +++++ below it";
    /// AB701: windows below this are worth a note.
    ab701_window_note_ns = 10_000_000_000.0, Ns, "default";
    /// AB701: windows of writing passes below this fail; 0 where no rule asks for a length.
    ab701_write_window_fail_ns = 0.0, Ns, "no rule asks for a length";
    /// AB701: steps of the tool's own clock that a window must have.
    ab701_clock_steps_fail_count = 100.0, Count, "default: one step is then 1 % of the figure";
    /// AB702: (largest - smallest) / mean over the last rounds, above which they are not steady.
    ab702_range_ratio = 0.20, Ratio, "SNIA PTS 2.0.2, section 2.1.24";
    /// AB702: excursion of the least-squares line / mean over the same rounds.
    ab702_excursion_ratio = 0.10, Ratio, "SNIA PTS 2.0.2, section 2.1.24";
    /// AB702: rounds that are looked at, the last ones: the measurement window.
    ab702_rounds_count = 5.0, Count, "SNIA PTS 2.0.2: five rounds";
    /// AB703: rate of the last fifth of the window as a share of the first's, below which it warns.
    ab703_last_fifth_warn_ratio = 0.8, Ratio, "default; NVBench #231 discards trials below 75 % of the clock";
    /// AB703: windows below this have no cliff, only pauses.
    ab703_window_least_ns = 5_000_000_000.0, Ns, "default: a fifth is then a second";
    /// AB703: calls below this number have no rate that changes.
    ab703_calls_least_count = 100.0, Count, "default: 20 a fifth";
    /// AB703 where a tracer observed: share of the window in which somebody waited for a CPU, from which on that may be
    /// why the calls of the last fifth took longer.
    ab703_cpu_waited_least_ratio = 0.02, Ratio, "a fifth that falls by a fifth loses 4 % of the window";
    /// AB703: standard errors by which the first and the last fifth must differ.
    ab703_error_deviations_count = 4.0, Count, "default: a pause of a part of a fifth stays below it";
    /// AB704: median absolute deviations from the median, above which a run is an outlier.
    ab704_deviations_count = 14.826, Count, "hyperfine: ten standard deviations of a normal distribution";
    /// AB704: runs below this have no outliers.
    ab704_runs_least_count = 5.0, Count, "default: of fewer the deviation is a matter of luck";
    /// AB705: (largest - smallest) / median, above which a figure does not reproduce.
    ab705_spread_warn_ratio = 0.05, Ratio, "MLPerf Storage 6.7: five runs within 5 %";
    /// AB705: standard deviation / mean, above which more runs are asked for.
    ab705_deviation_note_ratio = 0.025, Ratio, "Phoronix Test Suite, default configuration";
    /// AB705: runs that are needed.
    ab705_runs_least_count = 5.0, Count, "MLPerf Storage 6.7";
    /// The share of a pass that must have reached the device for the device's figure to replace a misleading claim.
    corrected_device_share_ratio = 0.10, Ratio, "default: of fewer operations it is a figure of cache misses";
    /// The share of the time for which the device must have been busy for its rate to replace a misleading claim.
    corrected_device_busy_ratio = 0.50, Ratio, "default, as what limits a phase";
    /// The largest distance between a rate and the observed one that still confirms it, as a share of the latter.
    confirmed_rate_ratio = 0.05, Ratio, "as AB101 and AB104, which accuse beyond it";
    /// The same where a short window or waits for a CPU make more noise than that: it never confirms more.
    confirmed_short_window_ratio = 0.10, Ratio, "default";
    /// The same for a rate below the observed one, which a clock of whole steps, rounded up, makes worse than it is.
    confirmed_coarse_clock_ratio = 0.25, Ratio, "default; fio rounds 3.1 ms to 4 ms (measured)";
    /// The same of a count.
    confirmed_count_ratio = 0.01, Ratio, "as AB101, which warns beyond it";
    /// The same of a latency. Above the observed one the next is added.
    confirmed_latency_ratio = 0.10, Ratio, "default; fio's histograms round by up to 1.6 %";
    /// The most that reading the tool's own clock may add to a latency.
    confirmed_latency_ns = 500.0, Ns, "default";
    /// The largest distance between a share of CPU time and the observed one, as a share of it. The next is added.
    confirmed_cpu_ratio = 0.10, Ratio, "default";
    /// The same, as a share of one CPU.
    confirmed_cpu_points_ratio = 0.02, Ratio, "default: bonnie++ prints whole percents, and accounting begins outside the calls";
    /// The limiter: share of the threads' time that one thing must take to have limited a pass.
    limiter_share_ratio = 0.5, Ratio, "more than half: nothing else can have taken as much";
    /// The limiter: share of the window with a request at the device, from which on the threads waited for it.
    limiter_busy_ratio = 0.5, Ratio, "default, as AB501";
    /// The limiter: requests at the device at once, below which they went one by one.
    limiter_serial_count = 1.5, Count, "default, as AB403: between one and two";
    /// The limiter: bytes a sync, up to which it is the sync that takes the time and not its data.
    limiter_sync_bytes = 1_048_576.0, Bytes, "default: at 200 MB/s 1 MiB takes 5 ms, as long as a sync of a slow device";
    /// The limiter: bytes a call, below which the call costs more than what it copies.
    limiter_copy_request_bytes = 512.0, Bytes, "default: one sector; a call takes some 200 ns, copying 512 bytes a tenth of that";
    /// AB901: calls into an undecoded path above this number.
    ab901_blind_calls_count = 0.0, Count, "tracee #309: undecoded paths hide I/O";
    /// AB902: lost records or missed events above this number.
    ab902_lost_records_count = 0.0, Count, "tracee #223: 387,569 of 1,000,000 events accounted for";
    /// AB903: run time of the kernel programs as a share of the run's time, from which on it is
    /// worth a note.
    ab903_programs_note_ratio = 0.01, Ratio, "default; rezolus #1148 lost 12.7 % to probes";
    /// AB903: the same, from which on it warns.
    ab903_programs_warn_ratio = 0.05, Ratio, "default; rezolus #1148 lost 12.7 % to probes";
    /// AB903: CPU time of our own process as a share of the run, from which on it is worth a note.
    ab903_own_process_note_ratio = 0.01, Ratio, "default";
    /// AB903: programs of others on hooks that I/O passes, above this number.
    ab903_other_tracers_count = 0.0, Count, "measured: a forgotten bpftrace raised a cached read from 475 to 711 ns";
}

impl Thresholds {
    /// The thresholds of a profile.
    ///
    /// # Errors
    /// When no profile has this name; the error names those that exist.
    pub fn profile(name: &str) -> Result<Self, ThresholdError> {
        let Some(profile) = profiles::find(name) else {
            return Err(ThresholdError::UnknownProfile { name: name.to_owned() });
        };
        let mut thresholds = Self {
            profile: name.to_owned(),
            warn_counts_as_fail: profile.warn_counts_as_fail,
            steady_state_required: profile.steady_state_required,
            requires_preconditioning: profile.requires_preconditioning,
            ..Self::base()
        };
        for (name, value, rule) in profile.rules {
            // A test looks every name up.
            if let Some(threshold) = thresholds.entry(name) {
                threshold.value.value = *value;
                threshold.source = (*rule).to_owned();
            }
        }
        Ok(thresholds)
    }

    /// The thresholds whose value is another one than in the profile `default`, by name, in the
    /// order of the codes.
    pub fn changed(&self) -> Vec<ChangedThreshold> {
        let default = Self::base();
        let pairs = self.table().into_iter().zip(default.table());
        pairs
            .filter(|((_, here), (_, default))| here.value != default.value)
            .map(|((name, here), (_, default))| ChangedThreshold {
                name: name.to_owned(),
                threshold: here.clone(),
                default: default.value,
            })
            .collect()
    }

    /// The same thresholds with those replaced that a TOML text sets (`name = number`);
    /// `file` becomes the origin of each replaced one.
    ///
    /// # Errors
    /// When the text is not TOML, names an unknown threshold, or gives one no number from 0 on.
    pub fn overridden(mut self, text: &str, file: &str) -> Result<Self, ThresholdError> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| ThresholdError::NotToml {
            file: file.to_owned(),
            answer: error.message().to_owned(),
        })?;
        for (key, value) in table {
            let Some(threshold) = self.entry(&key) else {
                return Err(ThresholdError::UnknownThreshold { file: file.to_owned(), key });
            };
            let number = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
            match number.filter(|number| number.is_finite() && *number >= 0.0) {
                Some(number) => {
                    threshold.value.value = number;
                    threshold.source = file.to_owned();
                }
                None => {
                    let (value, unit) = (value.to_string(), threshold.value.unit);
                    return Err(ThresholdError::NotANumber { file: file.to_owned(), key, value, unit });
                }
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_threshold_names_code_and_unit_and_origin() {
        let thresholds = Thresholds::profile("default").expect("the profile exists");
        for (name, threshold) in thresholds.table() {
            let suffix = match threshold.value.unit {
                Unit::Ratio => "_ratio",
                Unit::Bytes => "_bytes",
                Unit::Ns => "_ns",
                Unit::Count => "_count",
                Unit::OpsPerSec => "_per_sec",
                unit => panic!("{name}: no threshold has the unit {unit:?}"),
            };
            assert!(name.ends_with(suffix), "{name} should end with {suffix}");
            assert!(!threshold.source.is_empty(), "{name} has no origin");
            let code = name.split('_').next().expect("a name").to_uppercase();
            let is_known = code == "LIMITER"
                || code == "CONFIRMED"
                || code == "CORRECTED"
                || crate::registry::find(&code).is_some();
            assert!(is_known, "{name}: no detector {code}");
        }
    }

    #[test]
    fn profiles_are_found_by_name_and_the_error_names_them() {
        assert!(Thresholds::profile("strict").expect("the profile exists").warn_counts_as_fail);
        for name in profiles::names() {
            assert_eq!(Thresholds::profile(name).expect("a listed profile exists").profile, name);
        }
        let error = Thresholds::profile("ptss").expect_err("not there");
        assert_eq!(
            error.to_string(),
            "there is no profile \"ptss\" (hint: choose one of default, strict, pts, io500, mlperf, bonnie)"
        );
    }

    #[test]
    fn a_profile_sets_thresholds_that_exist_and_names_its_rule() {
        for profile in profiles::PROFILES {
            let thresholds = Thresholds::profile(profile.name).expect("a listed profile exists");
            for (name, value, rule) in profile.rules {
                let table = thresholds.table();
                let (_, set) = table.iter().find(|(known, _)| known == name).expect("a threshold of this name");
                assert_eq!((set.value.value, set.source.as_str()), (*value, *rule), "{}: {name}", profile.name);
            }
        }
    }

    #[test]
    fn what_differs_from_default_is_told_with_both_values() {
        let changed = |profile: &str| Thresholds::profile(profile).expect("the profile exists").changed();
        assert_eq!(changed("default"), []);
        assert_eq!(changed("strict"), []);
        let io500 = changed("io500");
        let window = io500.iter().find(|entry| entry.name == "ab701_write_window_fail_ns").expect("it is changed");
        assert_eq!((window.threshold.value.value, window.default.value), (300e9, 0.0));
        assert!(window.threshold.source.contains("300 s"), "{}", window.threshold.source);
        let overridden = Thresholds::profile("default").expect("the profile exists");
        let overridden = overridden.overridden("ab302_late_sync_fail_ratio = 0.1", "limits.toml").expect("good");
        let names: Vec<String> = overridden.changed().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["ab302_late_sync_fail_ratio"]);
    }

    #[test]
    fn an_override_replaces_value_and_origin_or_says_what_is_wrong() {
        fn check(text: &str, expected: Result<f64, &str>) {
            let base = Thresholds::profile("default").expect("the profile exists");
            let answer = base.overridden(text, "limits.toml");
            match (answer, expected) {
                (Ok(thresholds), Ok(value)) => {
                    let changed = &thresholds.ab302_late_sync_fail_ratio;
                    assert_eq!((changed.value.value, changed.source.as_str()), (value, "limits.toml"));
                }
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
                (answer, _) => panic!("{text:?} gave {answer:?}"),
            }
        }
        check("ab302_late_sync_fail_ratio = 0.1", Ok(0.1));
        check("ab302_late_sync_fail_ratio = 1", Ok(1.0));
        check("ab302_late_sync_fail_ratio = -0.1", Err("not a number from 0 on"));
        check("ab302_late_sync_fail_ratio = nan", Err("not a number from 0 on"));
        check("ab302_late_sync_fail_ratio = \"10 %\"", Err("its unit is ratio"));
        check("ab999_x = 1", Err("\"ab999_x\", which is not a threshold"));
        check("= 1", Err("cannot read the thresholds in limits.toml"));
    }
}
