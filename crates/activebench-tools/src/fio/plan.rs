//! What a job makes of its command: the part of a phase that no observation adds to.

use activebench_model::phase::{
    Direction, Mechanism, Mix, MixOf, NamePass, OwnLimit, Pattern, Phase, Promise, RateClock,
};

use super::engine::{self, Kind};
use super::entries::{self, Paired};
use super::jobs::{Job, JobOptions, Setup};
use super::numbers::is_true;
use super::report::Way;
use crate::Plan;

/// fio's block where none is stated.
const DEFAULT_BLOCK: u64 = 4096;

/// See [`crate::Adapter::plan`].
pub(super) fn plan(setup: &Setup) -> Plan {
    let mut plan = Plan { phases: Vec::new(), notes: setup.notes.clone() };
    if setup.command.runs_nothing {
        plan.notes.push("no job is run by this command on this machine".to_owned());
        return plan;
    }
    for paired in entries::planned(setup) {
        let Some(job) = paired.job() else { continue };
        let reads = job.reads() || job.verifies_after();
        for (way, happens) in [(Way::Read, reads), (Way::Write, job.writes()), (Way::Trim, job.trims())] {
            if happens && engine::kind(job.engine()) != Kind::Processor {
                plan.phases.push(phase(&paired, way, None));
            }
        }
    }
    plan
}

/// A direction of an entry, as its jobs ask for it. `tasks` is their number where the report
/// states it.
pub(super) fn phase(paired: &Paired, way: Way, tasks: Option<u32>) -> Phase {
    let direction = match way {
        Way::Read => Direction::Read,
        Way::Write => Direction::Write,
        Way::Trim => Direction::Discard,
    };
    let id = paired.phase_id(way);
    let count = u32::try_from(paired.jobs.len()).unwrap_or(u32::MAX);
    let tasks = tasks.unwrap_or(count).max(1);
    let Some(job) = paired.job() else {
        return Phase {
            requested_tasks: tasks,
            clock: clock(None),
            rate_clock: RateClock::LongestTask,
            ..Phase::planned(id, format!("{}: {}", paired.base, way.word()), direction)
        };
    };
    let checks = way == Way::Read && !job.reads();
    // Of several jobs their names tell the passes apart.
    let name = match (checks, job.mixes()) {
        (true, _) => format!("{}: verify", paired.base),
        (false, true) => format!("{}: {} of {}", paired.base, way.word(), job.rw()),
        (false, false) => format!("{}: {}", paired.base, job.rw()),
    };
    let kind = engine::kind(job.engine());
    let region = Region::of(&paired.jobs);
    Phase {
        pattern: if checks { Pattern::Unknown } else { pattern(job, &region) },
        block_bytes: agreed(&paired.jobs, |job| block_bytes(job, way)).filter(|_| !matches!(kind, Kind::Names(_))),
        requested_bytes: requested_bytes(&paired.jobs, way).filter(|_| !matches!(kind, Kind::Names(_))),
        size_bytes: size_bytes(&paired.jobs, way).filter(|_| !matches!(kind, Kind::Names(_))),
        region_bytes: region.bytes,
        rounds: region.rounds(job),
        requested_tasks: tasks,
        clock: clock(Some(job)),
        // fio adds the bytes of a group and takes the longest of its jobs' times (stat.c, `sum_thread_stats`, 3.33).
        rate_clock: RateClock::LongestTask,
        submission: kind.submission(),
        promises: promises(&paired.jobs, way),
        mix: agreed(&paired.jobs, JobOptions::mix).map(|(option, read_ratio)| Mix {
            option,
            read_ratio,
            of: MixOf::Operations,
        }),
        own_limits: own_limits(job, way),
        time_limit_ns: job.seconds_as_ns("runtime").filter(|limit| *limit > 0),
        names: match kind {
            Kind::Names(operation) => {
                Some(NamePass { operation, requested: files_of(&paired.jobs), spans: Vec::new() })
            }
            _ => None,
        },
        cold_by_design: way == Way::Read && job.is_on("invalidate"),
        verifies: job.verify().filter(|_| way == Way::Read).map(|method| format!("verify={method}")),
        ..Phase::planned(id, name, if matches!(kind, Kind::Names(_)) { Direction::None } else { direction })
    }
}

/// What all jobs of an entry have in common.
fn agreed<T: PartialEq>(jobs: &[Job], of: impl Fn(&JobOptions) -> Option<T>) -> Option<T> {
    let first = of(&jobs.first()?.options)?;
    jobs.iter().all(|job| of(&job.options).as_ref() == Some(&first)).then_some(first)
}

/// What the clock covers, in words.
fn clock(job: Option<&JobOptions>) -> String {
    let start = match job.and_then(|job| job.get("ramp_time")) {
        Some(_) => "from the end of the ramp time",
        None => "from the job's start, the open of its file included,",
    };
    let end = match job {
        Some(job) if job.is_on("end_fsync") => "the end of the fsync at its end",
        Some(job) if job.is_on("fsync_on_close") => "the end of the fsync before the close",
        _ => "the last completion",
    };
    format!("{start} to {end}")
}

fn block_bytes(job: &JobOptions, way: Way) -> Option<u64> {
    if ["bsrange", "bssplit"].iter().any(|name| job.get(name).is_some()) || job.is_on("bs_unaligned") {
        return None;
    }
    let Some(sizes) = job.get("bs") else { return Some(DEFAULT_BLOCK) };
    let base = if job.get("kb_base") == Some("1000") { 1000 } else { 1024 };
    let sizes: Vec<&str> = sizes.split(',').collect();
    // A direction that is not stated has the size of the one before.
    let stated = sizes.iter().take(way as usize + 1).rfind(|size| !size.trim().is_empty())?;
    super::numbers::bytes(stated, base).filter(|bytes| *bytes > 0)
}

fn requested_bytes(jobs: &[Job], way: Way) -> Option<u64> {
    let of_one = |job: &JobOptions| {
        // How a mixed job divides its size is drawn.
        let shared = job.mixes() || (job.trims() && way != Way::Trim && job.rw() != "write");
        if shared || job.get("runtime").is_some() { None } else { amount(job) }
    };
    sum_over(jobs, of_one)
}

/// See [`Phase::size_bytes`].
fn size_bytes(jobs: &[Job], way: Way) -> Option<u64> {
    let of_one = |job: &JobOptions| if job.trims() || job.verifies_after() { None } else { amount(job) };
    match requested_bytes(jobs, way) {
        Some(_) => None,
        None => sum_over(jobs, of_one),
    }
}

fn sum_over(jobs: &[Job], of_one: impl Fn(&JobOptions) -> Option<u64>) -> Option<u64> {
    jobs.iter().map(|job| of_one(&job.options)).try_fold(0_u64, |sum, bytes| sum.checked_add(bytes?))
}

/// Bytes that a job moves where no time limit ends it, both directions together; `None` where
/// another option bounds them.
fn amount(job: &JobOptions) -> Option<u64> {
    let bound = [
        "number_ios",
        "fill_device",
        "read_iolog",
        "zonemode",
        "zonesize",
        "offset",
        "offset_increment",
        "bs_unaligned",
    ];
    if bound.iter().any(|name| job.get(name).is_some()) || job.is_on("time_based") {
        return None;
    }
    let size = size(job)?;
    job.size("io_size").unwrap_or(size).checked_mul(loops(job))
}

/// Bytes of one job's files together.
fn size(job: &JobOptions) -> Option<u64> {
    if job.get("size").is_some() {
        return job.size("size").filter(|size| *size > 0);
    }
    let files = job.get("nrfiles").map_or(Some(1), |count| count.parse::<u64>().ok())?;
    job.size("filesize")?.checked_mul(files)
}

fn files_of(jobs: &[Job]) -> Option<u64> {
    let of_one = |job: &JobOptions| job.get("nrfiles").map_or(Some(1), |count| count.parse::<u64>().ok());
    jobs.iter().try_fold(0_u64, |sum, job| sum.checked_add(of_one(&job.options)?.checked_mul(loops(&job.options))?))
}

pub(super) fn loops(job: &JobOptions) -> u64 {
    job.get("loops").and_then(|loops| loops.parse().ok()).filter(|loops| *loops > 0).unwrap_or(1)
}

/// The bytes that jobs go over, and how often by design.
struct Region {
    /// All files together; `None` where it cannot be told.
    bytes: Option<u64>,
    /// How many jobs go over the same bytes.
    sharing: u64,
}

impl Region {
    fn of(jobs: &[Job]) -> Self {
        let named = |job: &Job| job.options.get("filename").filter(|name| !name.contains('$')).map(str::to_owned);
        let first = jobs.first().and_then(named);
        let shared = jobs.len() > 1 && first.is_some() && jobs.iter().all(|job| named(job) == first);
        let placed = |job: &Job| {
            ["offset", "offset_increment", "zonesize", "zonemode", "read_iolog"]
                .iter()
                .any(|name| job.options.get(name).is_some())
        };
        if jobs.iter().any(placed) {
            return Region { bytes: None, sharing: jobs.len() as u64 };
        }
        let sizes = || jobs.iter().map(|job| size(&job.options));
        if shared {
            let first = jobs.first().and_then(|job| size(&job.options));
            let bytes = first.filter(|first| sizes().all(|size| size == Some(*first)));
            return Region { bytes, sharing: jobs.len() as u64 };
        }
        Region { bytes: sizes().try_fold(0_u64, |sum, size| sum.checked_add(size?)), sharing: 1 }
    }

    fn rounds(&self, job: &JobOptions) -> u32 {
        // Jobs that draw do so apart from each other.
        let sharing = if job.is_random() { 1 } else { self.sharing };
        u32::try_from(loops(job).saturating_mul(sharing)).unwrap_or(u32::MAX)
    }
}

fn pattern(job: &JobOptions, region: &Region) -> Pattern {
    let modified = job.get("rw").is_some_and(|rw| rw.contains(':'));
    if job.get("read_iolog").is_some() || job.get("zonemode").is_some_and(|mode| mode != "none") {
        return Pattern::Unknown;
    }
    if !job.is_random() {
        return match modified {
            true => Pattern::Strided,
            false => Pattern::Sequential,
        };
    }
    let other_draws = job.get("random_distribution").is_some_and(|draws| draws != "random");
    let partly = job.get("percentage_random").is_some_and(|share| !share.starts_with("100"));
    if modified || partly {
        Pattern::Unknown
    } else if other_draws || job.is_on("norandommap") || region.sharing > 1 {
        // Zipf and its kin are no permutation, and "random" is what the reader takes the figure for.
        Pattern::RandomIndependent
    } else if job.is_on("softrandommap") {
        Pattern::Unknown
    } else {
        Pattern::RandomPermutation
    }
}

/// Options that hold a direction of the job back.
fn own_limits(job: &JobOptions, way: Way) -> Vec<OwnLimit> {
    let mut limits = Vec::new();
    for name in ["rate", "rate_iops"] {
        let Some(value) = job.get(name) else { continue };
        // One value for all directions, or one each: `rate=,10m` leaves the reads alone.
        let of_way = match value.contains(',') {
            true => value.split(',').nth(way as usize).unwrap_or(""),
            false => value,
        };
        if !of_way.trim().is_empty() && is_true(of_way) {
            limits.push(OwnLimit { option: format!("{name}={value}"), computes: false });
        }
    }
    if let Some(value) = job.get("thinktime").filter(|value| is_true(value)) {
        let computes = job.get("thinktime_spin").is_some_and(is_true);
        limits.push(OwnLimit { option: format!("thinktime={value}"), computes });
    }
    limits
}

fn promises(jobs: &[Job], way: Way) -> Vec<Promise> {
    let mut promises: Vec<Promise> = Vec::new();
    let Some(job) = jobs.first().map(|job| &job.options) else { return promises };
    let kind = engine::kind(job.engine());
    let mut promise = |option: String, mechanism| promises.push(Promise { option, mechanism });
    if matches!(kind, Kind::Names(_)) || way == Way::Trim {
        return promises;
    }
    let all = |name: &str| jobs.iter().all(|job| job.options.is_on(name));
    if all("direct") && kind != Kind::Mapped {
        promise("direct=1".to_owned(), Mechanism::DirectIo);
    }
    if way == Way::Write {
        match job.get("sync") {
            Some("dsync") => promise("sync=dsync".to_owned(), Mechanism::DataSyncWrites),
            Some(value) if is_true(value) => promise(format!("sync={value}"), Mechanism::SyncWrites),
            _ => {}
        }
        for name in ["end_fsync", "fsync_on_close", "fsync", "fdatasync"] {
            if let Some(value) = job.get(name).filter(|value| is_true(value)) {
                promise(format!("{name}={value}"), Mechanism::SyncInsideClock);
            }
        }
    }
    if kind == Kind::Mapped {
        promise("ioengine=mmap".to_owned(), Mechanism::MappedIo);
    }
    if let Some(depth) = job.get("iodepth").and_then(|depth| depth.parse::<u32>().ok()).filter(|depth| *depth > 1) {
        promise(format!("iodepth={depth}"), Mechanism::QueueDepth(depth));
    }
    promises
}
