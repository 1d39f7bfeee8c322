//! The passes that the command line requests, in order.
//!
//! The claims state which sizes were really run; if the output is cut off, the options determine
//! the remaining ones.

use std::collections::{HashMap, HashSet};

use activebench_model::claim::{Claim, Metric, Parsed};
use activebench_model::phase::{Direction, Mechanism, Mix, MixOf, OwnLimit, Pattern, Phase, Promise, Submission};

use super::catalogue::{Kind, PhaseName, THROUGHPUT_TESTS, single_id, throughput_id};
use super::options::Options;
use super::output::runs_alone;

/// iozone's limits of the auto mode: KiB of files, bytes of records.
const AUTO_FILES_KIB: (u64, u64) = (64, 512 << 10);
const AUTO_RECORDS: (u64, u64) = (4096, 16 << 20);
/// Above this file size (KiB) the auto mode omits records below `CROSSOVER_RECORD`.
const CROSSOVER_KIB: u64 = 32 << 10;
const CROSSOVER_RECORD: u64 = 64 << 10;
/// Maximum number of streams to which `-u` is expanded: 3.489 refuses more than 256.
const MAX_STREAMS: u32 = 1024;

/// A requested pass.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    /// Phase id.
    pub id: String,
    /// iozone's word.
    pub name: String,
    pub kind: Kind,
    /// Requested size of one task's file; `None` if unknown.
    pub file_bytes: Option<u64>,
    /// Bytes of a record; `None` when it varies.
    pub record_bytes: Option<u64>,
    /// Processes or threads.
    pub tasks: u32,
    /// True for a test of the throughput mode.
    pub throughput: bool,
    /// True if the output states a figure for it.
    pub claimed: bool,
    /// Bytes counted by the children of a throughput test, by child, if printed (-C).
    pub counted: Vec<u64>,
    /// The smallest of them, if it is printed and that of all children.
    pub least_counted: Option<u64>,
}

impl Planned {
    /// Returns the bytes that one task really moves: whole records only.
    pub(super) fn moved_bytes(&self) -> Option<u64> {
        let record = self.record_bytes.filter(|&record| record > 0)?;
        Some(self.file_bytes? / record * record)
    }
}

/// A part of the plan that runs on one file: one row of the table.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// In the order in which they run.
    pub passes: Vec<Planned>,
}

/// Returns the passes of the single-stream mode, row by row.
pub(super) fn single(options: &Options, parsed: &Parsed) -> Vec<Group> {
    let claimed: HashMap<&str, &Claim> = parsed.claims.iter().map(|claim| (claim.phase.as_str(), claim)).collect();
    let mut rows: Vec<(u64, u64)> = Vec::new();
    let mut known = HashSet::new();
    let mut bare_bytes = None;
    for claim in &parsed.claims {
        match PhaseName::parse(&claim.phase) {
            Some(PhaseName::Single { sizes_kib: Some(sizes), .. }) if known.insert(sizes) => rows.push(sizes),
            Some(PhaseName::Single { sizes_kib: None, .. }) => bare_bytes = claim.claimed_bytes,
            _ => {}
        }
    }
    let mut groups = Vec::new();
    if bare_bytes.is_some() || (rows.is_empty() && !options.loops()) {
        let bytes = bare_bytes.or_else(|| options.single_file_kib().checked_mul(1024));
        let record = options.single_record_bytes();
        groups.push(group(options, &claimed, None, bytes, record));
    }
    if options.loops() {
        let planned = loop_sizes(options);
        if planned.starts_with(&rows) {
            rows = planned;
        }
    }
    for (file_kib, record_kib) in rows {
        let bytes = file_kib.checked_mul(1024);
        groups.push(group(options, &claimed, Some((file_kib, record_kib)), bytes, record_kib.saturating_mul(1024)));
    }
    groups
}

fn group(
    options: &Options,
    claimed: &HashMap<&str, &Claim>,
    sizes_kib: Option<(u64, u64)>,
    file_bytes: Option<u64>,
    record_bytes: u64,
) -> Group {
    let passes = Kind::COLUMNS
        .into_iter()
        .filter(|&kind| runs_alone(kind, options) && !(options.no_retest && kind.is_retest()))
        .map(|kind| {
            let id = single_id(kind, sizes_kib);
            Planned {
                claimed: claimed.contains_key(id.as_str()),
                id,
                name: kind.name().to_owned(),
                kind,
                file_bytes: file_bytes.filter(|_| !options.telemetry()),
                record_bytes: (!options.telemetry()).then_some(record_bytes),
                tasks: 1,
                throughput: false,
                counted: Vec::new(),
                least_counted: None,
            }
        })
        .collect();
    Group { passes }
}

/// Returns the sizes of a run that loops, in the order in which iozone runs them, in KiB.
fn loop_sizes(options: &Options) -> Vec<(u64, u64)> {
    let multiplier = options.multiplier.unwrap_or(2);
    let files = if options.sizes_kib.is_empty() {
        steps(
            options.min_file_kib.unwrap_or(AUTO_FILES_KIB.0),
            options.max_file_kib.unwrap_or(AUTO_FILES_KIB.1),
            multiplier,
        )
    } else {
        options.sizes_kib.clone()
    };
    let records_given =
        !options.records_bytes.is_empty() || options.min_record_bytes.is_some() || options.max_record_bytes.is_some();
    let mut sizes = Vec::new();
    let mut known = HashSet::new();
    for file_kib in files {
        let records = if options.records_bytes.is_empty() {
            let crossed =
                file_kib > CROSSOVER_KIB && !options.no_crossover && !records_given && options.sizes_kib.is_empty();
            let least = if crossed { CROSSOVER_RECORD } else { AUTO_RECORDS.0 };
            steps(
                options.min_record_bytes.unwrap_or(least),
                options.max_record_bytes.unwrap_or(AUTO_RECORDS.1),
                multiplier,
            )
        } else {
            options.records_bytes.clone()
        };
        for record in records {
            if record > file_kib.saturating_mul(1024) {
                break;
            }
            if known.insert((file_kib, record)) {
                sizes.push((file_kib, record / 1024));
            }
        }
    }
    sizes
}

/// Returns `from`, repeatedly multiplied by `multiplier`, up to `to`.
fn steps(from: u64, to: u64, multiplier: u64) -> Vec<u64> {
    let mut steps = Vec::new();
    let mut next = Some(from.max(1));
    while let Some(step) = next.filter(|&step| step <= to) {
        steps.push(step);
        next = step.checked_mul(multiplier.max(2));
    }
    steps
}

/// Share by which a sum of printed rates can differ from the printed sum.
const PRINTED_RATIO: f64 = 0.001;

/// Returns the tests of the throughput mode in order.
pub(super) fn throughput(options: &Options, parsed: &Parsed) -> Vec<Planned> {
    let mut planned: Vec<Planned> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    // The sum of the rates of a test's children, and the least of them.
    let mut rates: HashMap<usize, (f64, f64)> = HashMap::new();
    for claim in &parsed.claims {
        let Some(PhaseName::Throughput { kind, name, tasks }) = PhaseName::parse(&claim.phase) else { continue };
        let index = *known.entry(claim.phase.clone()).or_insert_with(|| {
            planned.push(test(options, claim.phase.clone(), name, kind, tasks, true));
            planned.len() - 1
        });
        match (claim.metric, claim.claimed_bytes) {
            (Metric::BytesMoved, Some(bytes)) => planned[index].counted.push(bytes),
            (Metric::MinTaskBytes, bytes) => planned[index].least_counted = bytes,
            (Metric::SumOfTaskThroughput | Metric::SumOfTaskOperationRate, _) => {
                rates.entry(index).or_default().0 = claim.value.value;
            }
            (Metric::MinTaskThroughput, _) => rates.entry(index).or_default().1 = claim.value.value,
            _ => {}
        }
    }
    for (index, (sum, least)) in rates {
        // Behind a child that counts nothing iozone begins anew: its least figures are not those of all.
        if f64::from(planned[index].tasks) * least > sum * (1.0 + PRINTED_RATIO) {
            planned[index].least_counted = None;
        }
    }
    // The tests that would have followed if the output had not been cut off.
    if !parsed.complete {
        for tasks in streams(options) {
            for (name, kind) in THROUGHPUT_TESTS {
                let id = throughput_id(tasks, name, 1);
                let left_out = !options.wants(kind.test()) || (options.no_retest && kind.is_retest());
                if !left_out && !known.contains_key(&id) {
                    known.insert(id.clone(), planned.len());
                    planned.push(test(options, id, name.to_owned(), kind, tasks, false));
                }
            }
        }
    }
    planned
}

fn streams(options: &Options) -> Vec<u32> {
    if options.min_streams.is_some() || options.max_streams.is_some() {
        let least = options.min_streams.unwrap_or(1);
        let most = options.max_streams.unwrap_or(least);
        (least..=most.min(MAX_STREAMS)).collect()
    } else {
        options.streams.clone()
    }
}

fn test(options: &Options, id: String, name: String, kind: Kind, tasks: u32, claimed: bool) -> Planned {
    let share = if options.constant_aggregate { u64::from(tasks.max(1)) } else { 1 };
    Planned {
        id,
        name,
        kind,
        file_bytes: (options.single_file_kib() / share).checked_mul(1024).filter(|_| !options.telemetry()),
        record_bytes: (!options.telemetry()).then_some(options.single_record_bytes()),
        tasks,
        throughput: true,
        claimed,
        counted: Vec::new(),
        least_counted: None,
    }
}

/// Longest time that filling a record takes, in nanoseconds for each byte: 0.3 with the page faults of a new buffer, on
/// a quiet machine (AMD EPYC, 2026-11-28).
const MOST_FILLING_NS_PER_BYTE: u64 = 1;

/// Returns the phase of a planned pass, without its parts.
pub(super) fn phase(planned: &Planned, options: &Options) -> Phase {
    let kind = planned.kind;
    let follows_a_file = options.telemetry() || (options.jitter && kind.direction() == Direction::Read);
    let submission = match () {
        () if options.mapping.active() && !kind.is_stdio() => Submission::Mapped,
        () if options.is_asynchronous() => Submission::Asynchronous,
        () => Submission::Synchronous,
    };
    Phase {
        pattern: match kind {
            _ if follows_a_file => Pattern::Unknown,
            Kind::Mixed if options.sequential_mix => Pattern::Sequential,
            _ => kind.pattern(),
        },
        block_bytes: planned.record_bytes,
        requested_bytes: planned.file_bytes.and_then(|bytes| bytes.checked_mul(u64::from(planned.tasks))),
        requested_tasks: planned.tasks,
        clock: clock(planned, options),
        submission,
        // It fills its record before its clock starts, and no call of the tool itself shows when.
        untimed_start_ns: match submission {
            Submission::Synchronous | Submission::Nothing => 0,
            Submission::Asynchronous | Submission::AsynchronousIfDirect | Submission::Mapped | Submission::Unknown => {
                // Filling a record of unknown size may take any time.
                planned.record_bytes.map_or(u64::MAX, |bytes| bytes.saturating_mul(MOST_FILLING_NS_PER_BYTE))
            }
        },
        promises: promises(kind, options),
        mix: mix(planned, options),
        own_limits: options
            .compute_ms
            .filter(|ms| *ms > 0)
            .map(|ms| OwnLimit { option: format!("-J {ms}"), computes: true, untimed: true })
            .into_iter()
            .collect(),
        cold_by_design: options.remount && kind.direction() == Direction::Read,
        verifies: verifies(options),
        ..Phase::planned(&planned.id, &planned.name, kind.direction())
    }
}

/// Returns the verification of every byte that an option asks for. The default touch of eight bytes per page
/// is not counted.
fn verifies(options: &Options) -> Option<String> {
    if options.diagnose {
        Some("-+d".to_owned())
    } else if options.verify {
        Some("-V".to_owned())
    } else {
        None
    }
}

/// Returns the mix of the mixed test, in which each task either reads or writes; without `-+p` the shares are unknown.
fn mix(planned: &Planned, options: &Options) -> Option<Mix> {
    let percent = options.mix_percent.filter(|percent| (1..=100).contains(percent))?;
    let mixes = planned.kind == Kind::Mixed && planned.throughput && planned.tasks > 1;
    mixes.then(|| Mix {
        option: format!("-+p {percent}"),
        read_ratio: f64::from(percent) / 100.0,
        of: MixOf::Tasks,
        other_phase: None,
    })
}

fn promises(kind: Kind, options: &Options) -> Vec<Promise> {
    let mut promises = Vec::new();
    let mut promise = |given: bool, option: &str, mechanism| {
        if given {
            promises.push(Promise { option: option.to_owned(), mechanism });
        }
    };
    let writes = kind.direction() != Direction::Read;
    let reads = kind.direction() != Direction::Write;
    promise(options.direct, "-I", Mechanism::DirectIo);
    promise(options.sync_writes && writes, "-o", Mechanism::SyncWrites);
    promise(options.read_sync && writes, "-+r", Mechanism::SyncWrites);
    promise(options.data_sync_writes && writes, "-+D", Mechanism::DataSyncWrites);
    promise(options.include_flush && writes, "-e", Mechanism::SyncInsideClock);
    promise(options.include_close, "-c", Mechanism::CloseInsideClock);
    promise(options.mapping.plain, "-B", Mechanism::MappedIo);
    promise(options.mapping.msync_async, "-D", Mechanism::MappedIo);
    promise(options.mapping.msync_async && writes, "-D", Mechanism::AsynchronousMsync);
    promise(options.mapping.msync_sync && writes, "-G", Mechanism::SynchronousMsync);
    if let Some((letter, depth)) = options.asynchronous {
        promise(true, &format!("-{letter}"), Mechanism::QueueDepth(depth));
    }
    promise(options.remount && reads, "-U", Mechanism::CachePurge);
    promise(options.purge_cpu_cache, "-p", Mechanism::CpuCachePurge);
    promises
}

/// Describes the interval that the clock covers.
fn clock(planned: &Planned, options: &Options) -> String {
    let kind = planned.kind;
    if options.mapping.active() && !kind.is_stdio() {
        let end = match (options.include_flush, options.include_close) {
            (_, true) => "the close",
            (true, false) => "the end of the msync that follows",
            (false, false) => "the start of the msync that follows",
        };
        return format!("from the mmap to {end}: stores and loads through memory are not calls");
    }
    let call = match kind.direction() {
        Direction::Write => "write",
        Direction::Read => "read",
        _ => "operation",
    };
    let asynchronous = options.is_asynchronous();
    let start = match kind {
        _ if asynchronous => format!("submission of the first {call}"),
        _ if kind.seeks_first() => "first lseek".to_owned(),
        _ if kind.is_primed() && !planned.throughput => format!("first {call} after the untimed one"),
        _ => format!("first {call}"),
    };
    let syncs = !matches!(kind, Kind::Fread | Kind::Freread);
    let end = match (options.include_flush && syncs, options.include_close) {
        (true, true) => format!("close, the fsync after the last {call} included"),
        (true, false) => "end of the fsync".to_owned(),
        (false, true) => "close; no fsync before it".to_owned(),
        (false, false) if asynchronous => format!("completion of the last {call}; fsync and close come after it"),
        (false, false) if kind.seeks_last() => format!("lseek after the last {call}; fsync and close come after it"),
        (false, false) if syncs => format!("last {call}; fsync and close come after it"),
        (false, false) => format!("last {call}"),
    };
    let stonewall = if planned.throughput && planned.tasks > 1 && !options.no_stonewall && !kind.is_stdio() {
        "; all tasks stop their clocks when the first has finished"
    } else {
        ""
    };
    format!("{start} to {end}{stonewall}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Options {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_auto_mode_doubles_sizes() {
        let check = |line: &str, expected: &[(u64, u64)]| assert_eq!(loop_sizes(&options(line)), expected, "{line}");
        check("iozone -a -n 64 -g 128 -q 16k", &[(64, 4), (64, 8), (64, 16), (128, 4), (128, 8), (128, 16)]);
        check("iozone -a -s 256k -r 16k -r 64k", &[(256, 16), (256, 64)]);
        check("iozone -s 128k -s 256k -r 16k", &[(128, 16), (256, 16)]);
        check("iozone -a -n 64m -g 64m -y 8m", &[(65536, 8192), (65536, 16384)]);
        let crossed = loop_sizes(&options("iozone -a -n 64m -g 64m"));
        assert_eq!(crossed.first(), Some(&(65536, 64)));
        let all = loop_sizes(&options("iozone -a -z -n 64m -g 64m"));
        assert_eq!(all.first(), Some(&(65536, 4)));
        assert!(loop_sizes(&options("iozone -a -n 99999999999999999999999 -+x 99999999")).len() < 100);
    }

    #[test]
    fn a_plan_has_the_passes_in_the_order_of_the_columns() {
        let check = |line: &str, expected: &str| {
            let groups = single(&options(line), &Parsed::default());
            let ids: Vec<_> = groups.iter().flat_map(|group| &group.passes).map(|pass| pass.id.as_str()).collect();
            assert_eq!(ids.join(" "), expected, "{line}");
        };
        check("iozone -i 2 -i 0", "write rewrite random-read random-write");
        check("iozone -+n -i 0 -i 1 -i 3", "write read bkwd-read");
        check("iozone -i 0 -i 8 -i 9", "write rewrite");
        check("iozone -E -i 9 -i 10", "pwrite repwrite pread repread");
        check("iozone -B -E -i 5 -i 6 -i 9", "stride-read");
    }

    #[test]
    fn the_least_count_is_that_of_all_children_where_the_sum_says_so() {
        let least = |sum: &str| {
            let argv: Vec<String> = "iozone -t 8 -s 1m -r 4k -i 0".split(' ').map(str::to_owned).collect();
            let stdout = format!(
                "\tCommand line used: {}\n\tOutput is in kBytes/sec\n\n\
                 \tChildren see throughput for  8 initial writers \t= {sum} kB/sec\n\
                 \tParent sees throughput for  8 initial writers \t=   64984.78 kB/sec\n\
                 \tMin throughput per process \t\t\t=  500000.00 kB/sec \n\
                 \tMax throughput per process \t\t\t=  600000.00 kB/sec\n\
                 \tAvg throughput per process \t\t\t=  200413.23 kB/sec\n\
                 \tMin xfer \t\t\t\t\t=    1024.00 kB\n\niozone test complete.\n",
                argv.join(" ")
            )
            .into_bytes();
            let adapter = crate::registry::adapter_by_name("iozone").expect("it is known");
            let output = activebench_model::output::ToolOutput { stdout, ..Default::default() };
            let command = activebench_model::command::CommandLine { argv: argv.clone(), ..Default::default() };
            let parsed = adapter.parse(&command, &output, None);
            throughput(&Options::parse(&argv), &parsed)[0].least_counted
        };
        assert_eq!(least("4200000.00"), Some(1 << 20));
        // Eight of at least 500,000 kB/s have more.
        assert_eq!(least("1100000.00"), None);
    }

    #[test]
    fn the_throughput_mode_runs_random_reads_before_random_writes() {
        let planned = throughput(&options("iozone -t 2 -i 0 -i 2 -i 3 -+n"), &Parsed::default());
        let ids: Vec<_> = planned.iter().map(|test| test.id.as_str()).collect();
        assert_eq!(ids, ["t2-initial-writers", "t2-reverse-readers", "t2-random-readers", "t2-random-writers"]);
    }
}
