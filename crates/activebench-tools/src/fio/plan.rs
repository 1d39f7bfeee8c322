//! The part of a phase that follows from the command alone, without observations.

use activebench_model::phase::{
    Direction, Division, Mechanism, Mix, MixOf, NamePass, OwnLimit, Pattern, Phase, Promise, RateClock,
};

use super::engine::{self, Kind};
use super::entries::{self, Paired};
use super::jobs::{Job, Setup};
use super::numbers::is_true;
use super::options::{Answer, JobOptions};
use super::report::Way;
use crate::adapter::Plan;

/// See [`crate::Adapter::plan`].
pub(super) fn plan(setup: &Setup) -> Plan {
    let mut plan = Plan { phases: Vec::new(), notes: setup.notes.clone() };
    if setup.command.runs_nothing {
        plan.notes.push("no job is run by this command on this machine".to_owned());
        return plan;
    }
    for paired in entries::planned(setup) {
        let goes = |way| paired.jobs.iter().map(move |job| job.options.goes(way));
        if let Some(job) =
            paired.jobs.iter().find(|job| job.options.rw().is_none() && job.options.goes(Way::Mixed) == Some(true))
        {
            let replays = job.options.replays();
            let why = job.options.unread().unwrap_or(if replays {
                "its directions, blocks and sizes stand in a log"
            } else {
                "its directions are known to fio alone"
            });
            // A job whose directions are unknown may do anything.
            let direction = if replays { Direction::None } else { Direction::Mixed };
            plan.phases.push(Phase {
                requested_tasks: u32::try_from(paired.jobs.len()).unwrap_or(u32::MAX),
                unread: Some(why.to_owned()),
                ..Phase::planned(&paired.base, &paired.base, direction)
            });
            continue;
        }
        let unified = paired.job().and_then(|job| job.stated("unified_rw_reporting"));
        if matches!(unified, Some("mixed" | "1")) && goes(Way::Mixed).any(|goes| goes == Some(true)) {
            plan.phases.push(phase(&paired, Way::Mixed, None));
            continue;
        }
        for way in Way::DIRECTIONS {
            if goes(way).any(|goes| goes == Some(true)) {
                plan.phases.push(phase(&paired, way, None));
            }
        }
    }
    plan
}

/// Returns the phase of one direction of an entry, as its jobs ask for it. `tasks` is the number of tasks if the
/// report states it.
pub(super) fn phase(paired: &Paired, way: Way, tasks: Option<u32>) -> Phase {
    let (paired, tasks) = &of_way(paired, way, tasks);
    let direction = match way {
        Way::Read => Direction::Read,
        Way::Write => Direction::Write,
        Way::Trim => Direction::Discard,
        Way::Mixed => match paired.job().map(|job| (job.reads(), job.writes(), job.trims())) {
            Some((Some(true), Some(false), Some(false))) => Direction::Read,
            Some((Some(false), Some(true), Some(false))) => Direction::Write,
            Some((Some(false), Some(false), Some(true))) => Direction::Discard,
            _ => Direction::Mixed,
        },
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
    // If the directions of a job are unknown, its reads may be a verification.
    let checks = if way == Way::Read { job.reads().map(|reads| !reads) } else { Some(false) };
    // If there are several jobs, their names distinguish the passes.
    let name = match (checks, job.mixes(), job.order()) {
        (Some(true), ..) => format!("{}: verify", paired.base),
        (_, Some(true), _) => format!("{}: {} of {}", paired.base, way.word(), job.rw().unwrap_or("")),
        (Some(false), _, Some(_)) => format!("{}: {}", paired.base, job.rw().unwrap_or("")),
        _ => format!("{}: {}", paired.base, way.word()),
    };
    let kind = engine::kind(job.engine());
    let moves = !matches!(kind, Kind::Names(_));
    // What a pipe holds decides how many calls splice needs for one block.
    let is_divided = paired.jobs.iter().any(|job| job.options.engine() == Some("splice"));
    let region = Region::of(&paired.jobs);
    // Values common to several jobs apply to each of them.
    let loops = agreed(&paired.jobs, |job| region.loops(job));
    let turns = agreed(&paired.jobs, turns);
    // A job that mixes and checks reads blocks of its own, and then those that it wrote: both may be the same.
    let reads_and_checks =
        |job: &Job| job.options.reads() != Some(false) && job.options.verifies_after() != Some(false);
    let checks_too = way == Way::Read && paired.jobs.iter().any(reads_and_checks);
    Phase {
        pattern: match (checks, loops, turns) {
            (Some(false), Some(_), Some(_)) => {
                let common = agreed(&paired.jobs, |job| Some(pattern(job, &region))).unwrap_or(Pattern::Unknown);
                // Jobs that differ draw from regions of their own, and each direction goes over the files separately.
                let unlike = agreed(&paired.jobs, |job| Some((job.block_bytes(way), size(job), files(job)))).is_none();
                match common {
                    _ if checks_too => Pattern::Unknown,
                    Pattern::Sequential if way == Way::Mixed => Pattern::Unknown,
                    // Each job goes over the region once.
                    Pattern::Sequential if paired.jobs.iter().all(|job| goes_once(&job.options)) => common,
                    _ if unlike => Pattern::Unknown,
                    _ => common,
                }
            }
            _ => Pattern::Unknown,
        },
        block_bytes: agreed(&paired.jobs, |job| job.block_bytes(way)).filter(|_| moves),
        division: if is_divided { Division::Unstated } else { Division::OneCall },
        requested_bytes: requested_bytes(paired, way).filter(|_| moves),
        size_bytes: size_bytes(paired, way).filter(|_| moves),
        region_bytes: region.bytes,
        loops: loops.unwrap_or(1).saturating_mul(if checks_too { 2 } else { 1 }),
        turns: turns.unwrap_or(1),
        requested_tasks: tasks,
        clock: clock(Some(job)),
        // fio adds the bytes of a group and takes the longest of its jobs' times (stat.c, `sum_thread_stats`, 3.33).
        rate_clock: RateClock::LongestTask,
        submission: agreed(&paired.jobs, |job| Some(engine::kind(job.engine()).submission())).unwrap_or_default(),
        promises: promises(&paired.jobs, way),
        mix: agreed(&paired.jobs, JobOptions::mix).map(|(option, read_ratio)| Mix {
            option,
            read_ratio,
            of: MixOf::Operations,
            other_phase: match way {
                Way::Read => Some(paired.phase_id(Way::Write)),
                Way::Write => Some(paired.phase_id(Way::Read)),
                Way::Trim | Way::Mixed => None,
            },
        }),
        own_limits: own_limits_of(&paired.jobs, way),
        // A job that ends by its clock runs for the whole time.
        time_limit_ns: paired
            .jobs
            .iter()
            .find_map(|job| job.options.seconds_as_ns("runtime").filter(|limit| *limit > 0)),
        names: match kind {
            Kind::Names(operation) => {
                Some(NamePass { operation, requested: files_of(&paired.jobs), spans: Vec::new() })
            }
            _ => None,
        },
        after_ramp: paired.jobs.iter().any(|job| job.options.seconds_as_ns("ramp_time") != Some(0)),
        cold_by_design: way == Way::Read && paired.jobs.iter().all(|job| job.options.has("invalidate")),
        verifies: agreed(&paired.jobs, |job| {
            job.verify().flatten().filter(|_| way == Way::Read).map(|method| format!("verify={method}"))
        }),
        unread: paired.unread().map(str::to_owned),
        ..Phase::planned(id, name, if moves { direction } else { Direction::None })
    }
}

/// Returns an entry with only the jobs of this direction, and their number of tasks: the jobs of a group may differ.
fn of_way(paired: &Paired, way: Way, tasks: Option<u32>) -> (Paired, Option<u32>) {
    let mut own = paired.clone();
    own.jobs.retain(|job| job.options.goes(way) != Some(false));
    if own.jobs.is_empty() || own.jobs.len() == paired.jobs.len() {
        return (paired.clone(), tasks);
    }
    let count = u32::try_from(own.jobs.len()).ok();
    (own, count)
}

/// Returns a value that all jobs of an entry share; `None` if they differ.
fn agreed<T: PartialEq>(jobs: &[Job], of: impl Fn(&JobOptions) -> Option<T>) -> Option<T> {
    let first = of(&jobs.first()?.options)?;
    jobs.iter().all(|job| of(&job.options).as_ref() == Some(&first)).then_some(first)
}

/// Describes the interval that the clock covers.
fn clock(job: Option<&JobOptions>) -> String {
    let start = match job.and_then(|job| job.stated("ramp_time")) {
        Some(_) => "from the end of the ramp time",
        None => "from the job's start, the open of its file included,",
    };
    let end = match job {
        Some(job) if job.has("end_fsync") => "the end of the fsync at its end",
        Some(job) if job.has("fsync_on_close") => "the end of the fsync before the close",
        _ => "the last completion",
    };
    format!("{start} to {end}")
}

fn requested_bytes(paired: &Paired, way: Way) -> Option<u64> {
    let of_one = |job: &JobOptions| {
        // A mixed job divides its size between directions at random.
        let shared =
            way != Way::Mixed && job.mixes()? || (job.trims()? && way != Way::Trim && job.rw() != Some("write"));
        if shared || !job.lacks("runtime") { None } else { amount(job) }
    };
    sum_over(paired, of_one)
}

/// See [`Phase::size_bytes`].
fn size_bytes(paired: &Paired, way: Way) -> Option<u64> {
    let of_one = |job: &JobOptions| if job.trims()? || job.verifies_after()? { None } else { amount(job) };
    match requested_bytes(paired, way) {
        Some(_) => None,
        None => sum_over(paired, of_one),
    }
}

fn sum_over(paired: &Paired, of_one: impl Fn(&JobOptions) -> Option<u64>) -> Option<u64> {
    let each = || paired.jobs.iter().map(|job| of_one(&job.options));
    each().try_fold(0_u64, |sum, bytes| sum.checked_add(bytes?)).filter(|_| paired.counted)
}

/// Returns the bytes that a job moves if no time limit ends it, both directions together; `None` if another option
/// bounds them.
fn amount(job: &JobOptions) -> Option<u64> {
    let bound = [
        "number_ios",
        "fill_device",
        "read_iolog",
        "zonemode",
        "zonesize",
        "offset",
        "offset_increment",
        "verify_only",
    ];
    let timed = !job.lacks("runtime") && job.is_on("time_based") != Some(false);
    if timed || bound.iter().any(|name| !job.lacks(name) && !is_switched_off(job, name)) {
        return None;
    }
    // The map of visited blocks uses the smallest block of all directions: at the end, larger blocks no longer fit into
    // the gaps.
    let blocks = Way::DIRECTIONS.map(|way| job.block_bytes(way));
    let alike = blocks[0].is_some() && blocks.iter().all(|block| *block == blocks[0]);
    if job.is_random() != Some(false) && !alike {
        return None;
    }
    let size = size(job)?;
    let moved = if job.lacks("io_size") { size } else { job.size("io_size")? };
    // Each loop ends at the end of the files; further loops move the rest of a larger amount.
    Some(moved.min(size).checked_mul(job.loops()?)?.max(moved))
}

/// Returns true if an option is known to be off: set to a false value, or not given.
fn is_switched_off(job: &JobOptions, name: &str) -> bool {
    match job.get(name) {
        Answer::Stated(value) => !is_true(value),
        Answer::Default => true,
        Answer::Unknown => false,
    }
}

/// Returns the total bytes of one job's files.
fn size(job: &JobOptions) -> Option<u64> {
    if !job.lacks("size") {
        return job.size("size").filter(|size| *size > 0);
    }
    job.size("filesize")?.checked_mul(files(job)?)
}

/// Returns the total bytes of one job's files that its blocks reach. With several files, the remainder at the end of
/// each, less than a block, is left out.
fn size_in_blocks(job: &JobOptions) -> Option<u64> {
    let (size, files) = (size(job)?, files(job)?);
    let block = job.block_bytes(Way::Read).filter(|block| job.block_bytes(Way::Write) == Some(*block));
    match block.filter(|block| files > 1 && *block > 0) {
        Some(block) => Some(size / files / block * block * files),
        None => Some(size),
    }
}

/// Returns the number of files of a job.
fn files(job: &JobOptions) -> Option<u64> {
    match job.filenames()?.len() {
        0 => job.files(),
        named => u64::try_from(named).ok(),
    }
}

fn files_of(jobs: &[Job]) -> Option<u64> {
    let of_one = |job: &JobOptions| files(job)?.checked_mul(job.loops()?);
    jobs.iter().try_fold(0_u64, |sum, job| sum.checked_add(of_one(&job.options)?))
}

/// The bytes that jobs go over, and the number of passes by design.
struct Region {
    /// All files together; `None` if unknown.
    bytes: Option<u64>,
    /// Number of jobs that go over the same bytes.
    sharing: u64,
}

impl Region {
    fn of(jobs: &[Job]) -> Self {
        let named = |job: &Job| -> Option<Vec<String>> {
            let names = job.options.filenames()?;
            let plain = !names.is_empty() && names.iter().all(|name| !name.contains('$'));
            plain.then(|| names.into_iter().map(str::to_owned).collect())
        };
        let first = jobs.first().and_then(named);
        let shared = jobs.len() > 1 && first.is_some() && jobs.iter().all(|job| named(job) == first);
        let placed = |job: &Job| {
            ["offset", "offset_increment", "zonesize", "zonemode", "read_iolog"]
                .iter()
                .any(|name| !job.options.lacks(name))
        };
        if jobs.iter().any(placed) {
            return Region { bytes: None, sharing: jobs.len() as u64 };
        }
        let sizes = || jobs.iter().map(|job| size_in_blocks(&job.options));
        if shared {
            let first = jobs.first().and_then(|job| size_in_blocks(&job.options));
            let bytes = first.filter(|first| sizes().all(|size| size == Some(*first)));
            return Region { bytes, sharing: jobs.len() as u64 };
        }
        Region { bytes: sizes().try_fold(0_u64, |sum, size| sum.checked_add(size?)), sharing: 1 }
    }

    /// Returns the number of times that the jobs go over the region; `None` if unknown.
    fn loops(&self, job: &JobOptions) -> Option<u32> {
        // Jobs with random offsets draw them independently.
        let sharing = if job.is_random()? { 1 } else { self.sharing };
        Some(u32::try_from(job.loops()?.saturating_mul(sharing)).unwrap_or(u32::MAX))
    }
}

/// Returns how many times a job begins in its files until it has moved `io_size`; `None` if that is not known. Each
/// time it draws the same numbers (backend.c, `clear_io_state`, 3.33).
fn turns(job: &JobOptions) -> Option<u32> {
    if job.lacks("io_size") {
        return Some(1);
    }
    let turns = job.size("io_size")?.div_ceil(size(job)?).max(1);
    Some(u32::try_from(turns).unwrap_or(u32::MAX))
}

fn pattern(job: &JobOptions, region: &Region) -> Pattern {
    let (Some(order), Some(random)) = (job.order(), job.is_random()) else { return Pattern::Unknown };
    let modified = order.contains(':');
    match job.get("zonemode") {
        Answer::Default | Answer::Stated("none") => {}
        // It skips a part of the file, and begins again until it has moved the size of all.
        Answer::Stated("strided") => return Pattern::Strided,
        Answer::Stated(_) | Answer::Unknown => return Pattern::Unknown,
    }
    if !random {
        return match modified {
            true => Pattern::Strided,
            // Each loop begins at the start of the files again, and each direction of the mix covers only its share.
            false if has_a_part_of_each_loop(job) => Pattern::Unknown,
            false => Pattern::Sequential,
        };
    }
    let answers = ["random_distribution", "percentage_random", "ba", "softrandommap"].map(|name| job.get(name));
    let [distribution, share, aligned, soft] = answers;
    if modified || answers.contains(&Answer::Unknown) {
        return Pattern::Unknown;
    }
    let other_draws = matches!(distribution, Answer::Stated(draws) if draws != "random");
    let partly = matches!(share, Answer::Stated(share) if !share.starts_with("100"));
    if partly {
        Pattern::Unknown
    } else if other_draws {
        // Zipf and similar distributions are not a permutation, whatever the files and blocks, while the reader of the
        // figure expects "random".
        Pattern::RandomIndependent
    } else if job.block_bytes(Way::Read) != job.block_bytes(Way::Write) || (files(job) != Some(1) && !goes_once(job)) {
        // The map of blocks of one size does not fit blocks of another. The file that is restarted first depends on the
        // order in which files are served.
        Pattern::Unknown
    } else if aligned != Answer::Default {
        // Blocks begin at multiples of another size: they overlap or leave gaps, and the map of visited blocks is off
        // (init.c, `fixup_options`, 3.33).
        Pattern::Strided
    } else if job.is_on("norandommap") != Some(false)
        || region.sharing > 1
        || has_a_part_of_each_loop(job)
        || is_without_map(job)
    {
        // If it is unknown whether blocks may repeat, the plan promises only random draws.
        Pattern::RandomIndependent
    } else if matches!(soft, Answer::Stated(soft) if is_true(soft)) {
        Pattern::Unknown
    } else {
        Pattern::RandomPermutation
    }
}

/// Returns true if the order may restart before the job ends, so that each direction of the mix gets other blocks of it
/// each time.
fn has_a_part_of_each_loop(job: &JobOptions) -> bool {
    job.mixes() != Some(false) && !goes_once(job)
}

/// Returns true if the order is known to be gone through at most once.
fn goes_once(job: &JobOptions) -> bool {
    job.lacks("time_based") && job.lacks("io_size") && job.loops() == Some(1)
}

/// Returns true for fio's lfsr generator with several block sizes: it keeps no map then (init.c, 3.33).
fn is_without_map(job: &JobOptions) -> bool {
    let sizes_differ = ["bsrange", "bssplit", "bs_unaligned"].iter().any(|name| !job.lacks(name))
        || job.block_bytes(Way::Read) != job.block_bytes(Way::Write);
    matches!(job.get("random_generator"), Answer::Stated("lfsr")) && sizes_differ
}

/// Returns the options that throttle a direction of any job.
fn own_limits_of(jobs: &[Job], way: Way) -> Vec<OwnLimit> {
    let mut limits: Vec<OwnLimit> = Vec::new();
    for limit in jobs.iter().flat_map(|job| own_limits(&job.options, way)) {
        if !limits.contains(&limit) {
            limits.push(limit);
        }
    }
    limits
}

/// Returns the options that throttle a direction of the job.
fn own_limits(job: &JobOptions, way: Way) -> Vec<OwnLimit> {
    let mut limits = Vec::new();
    for name in ["rate", "rate_iops"] {
        let Some(value) = job.stated(name) else { continue };
        // One value for all directions, or one per direction: `rate=,10m` does not limit the reads.
        let of_way = match value.contains(',') {
            true if way == Way::Mixed => value.split(',').find(|value| is_true(value)).unwrap_or(""),
            true => value.split(',').nth(way as usize).unwrap_or(""),
            false => value,
        };
        if !of_way.trim().is_empty() && is_true(of_way) {
            limits.push(OwnLimit { option: format!("{name}={value}"), computes: false, untimed: false });
        }
    }
    if let Some(value) = job.stated("thinktime").filter(|value| is_true(value)) {
        let computes = job.has("thinktime_spin");
        limits.push(OwnLimit { option: format!("thinktime={value}"), computes, untimed: false });
    }
    limits
}

/// Returns the promises that all jobs make.
fn promises(jobs: &[Job], way: Way) -> Vec<Promise> {
    let mut of_each = jobs.iter().map(|job| promises_of(&job.options, way));
    let mut common = of_each.next().unwrap_or_default();
    of_each.for_each(|others| common.retain(|promise| others.contains(promise)));
    common
}

/// Largest piece of data of which a part is compressible, as a whole, that a sample of 4 KiB shows.
const LARGEST_CHUNK: u64 = 4096;

/// The promises about the content of the written data. A pattern or a checksum inside changes it in a way that is not
/// read.
fn content_of(job: &JobOptions, promise: &mut impl FnMut(String, Mechanism)) {
    let is_shaped = ["buffer_pattern", "verify", "verify_pattern"].iter().any(|name| !job.lacks(name));
    if is_shaped {
        return;
    }
    let percent = |name: &str| {
        let value = job.stated(name)?.trim_end_matches('%');
        value.parse::<u32>().ok().filter(|percent| (1..=100).contains(percent))
    };
    let (compressible, duplicates) = (percent("buffer_compress_percentage"), percent("dedupe_percentage"));
    let is_shown = job.number("buffer_compress_chunk", 512).is_some_and(|chunk| chunk <= LARGEST_CHUNK);
    if let Some(percent) = compressible.filter(|_| is_shown) {
        promise(format!("buffer_compress_percentage={percent}"), Mechanism::CompressibleData(percent));
    }
    let repeats = may_repeat_data(job);
    if let Some(percent) = duplicates.filter(|_| !repeats) {
        promise(format!("dedupe_percentage={percent}"), Mechanism::DuplicateData(percent));
    }
    let is_random = ["buffer_compress_percentage", "dedupe_percentage"].iter().all(|name| job.lacks(name));
    if is_random && job.has("refill_buffers") {
        let mechanism = if repeats { Mechanism::CompressibleData(0) } else { Mechanism::FreshData };
        promise("refill_buffers".to_owned(), mechanism);
    }
}

/// Returns true if the data of a job may repeat by design: another pass over its files begins with the seeds of the first
/// one, unless `randrepeat=0` (backend.c, `clear_io_state`, 3.33).
fn may_repeat_data(job: &JobOptions) -> bool {
    let one_pass = job.loops() == Some(1) && job.is_on("time_based") == Some(false) && job.lacks("io_size");
    let new_seeds = matches!(job.get("randrepeat"), Answer::Stated(value) if !is_true(value));
    !one_pass && !new_seeds
}

fn promises_of(job: &JobOptions, way: Way) -> Vec<Promise> {
    let mut promises: Vec<Promise> = Vec::new();
    let kind = engine::kind(job.engine());
    let mut promise = |option: String, mechanism| promises.push(Promise { option, mechanism });
    if matches!(kind, Kind::Names(_)) || way == Way::Trim {
        return promises;
    }
    if job.has("direct") && kind != Kind::Mapped {
        promise("direct=1".to_owned(), Mechanism::DirectIo);
    }
    let writes = way == Way::Write || (way == Way::Mixed && job.writes() != Some(false));
    if writes {
        match job.stated("sync") {
            Some("dsync") => promise("sync=dsync".to_owned(), Mechanism::DataSyncWrites),
            Some(value) if is_true(value) => promise(format!("sync={value}"), Mechanism::SyncWrites),
            _ => {}
        }
        for name in ["end_fsync", "fsync_on_close"] {
            if let Some(value) = job.stated(name).filter(|value| is_true(value)) {
                promise(format!("{name}={value}"), Mechanism::SyncInsideClock);
            }
        }
        for name in ["fsync", "fdatasync"] {
            let writes = job.number(name, 0).and_then(|writes| u32::try_from(writes).ok()).filter(|writes| *writes > 0);
            if let (Some(writes), Some(value)) = (writes, job.stated(name)) {
                promise(format!("{name}={value}"), Mechanism::SyncEachWrites(writes));
            }
        }
    }
    if writes {
        content_of(job, &mut promise);
    }
    if kind == Kind::Mapped {
        promise("ioengine=mmap".to_owned(), Mechanism::MappedIo);
    }
    // With a target latency, fio searches for the depth itself.
    let searches = !job.lacks("latency_target");
    let depth = job.number("iodepth", 1).and_then(|depth| u32::try_from(depth).ok());
    if let Some(depth) = depth.filter(|depth| *depth > 1 && !searches) {
        promise(format!("iodepth={depth}"), Mechanism::QueueDepth(depth));
    }
    promises
}

#[cfg(test)]
mod tests {
    use activebench_model::command::CommandLine;

    use super::*;
    use crate::adapter::Adapter;
    use crate::fio::Fio;

    fn phases(options: &str) -> Vec<Phase> {
        let argv = format!("fio --name=a --size=1m {options}").split_whitespace().map(str::to_owned).collect();
        Fio.plan(&CommandLine { argv, cwd: "/".to_owned() }, &[]).phases
    }

    #[test]
    fn data_is_new_in_one_pass_over_the_files_alone() {
        for (options, expected) in [
            ("", Mechanism::FreshData),
            ("--loops=1", Mechanism::FreshData),
            ("--loops=2", Mechanism::CompressibleData(0)),
            ("--time_based --runtime=1", Mechanism::CompressibleData(0)),
            ("--io_size=4m", Mechanism::CompressibleData(0)),
            ("--loops=2 --randrepeat=0", Mechanism::FreshData),
        ] {
            let phases = phases(&format!("--rw=write --refill_buffers {options}"));
            let found: Vec<_> = phases[0].promises.iter().map(|promise| promise.mechanism).collect();
            assert_eq!(found, [expected], "{options}");
        }
        let duplicates =
            |options: &str| phases(&format!("--rw=write --dedupe_percentage=20 {options}"))[0].promises.len();
        assert_eq!((duplicates(""), duplicates("--loops=2")), (1, 0));
    }

    #[test]
    fn a_mixed_job_that_checks_reads_twice_by_design_and_so_do_strided_zones() {
        let reads = |options: &str| {
            let phase = phases(options).into_iter().find(|phase| phase.direction == Direction::Read).expect("reads");
            (phase.pattern, phase.loops)
        };
        assert_eq!(reads("--rw=rw"), (Pattern::Sequential, 1));
        assert_eq!(reads("--rw=rw --verify=crc32c"), (Pattern::Unknown, 2));
        assert_eq!(reads("--rw=read --verify=crc32c"), (Pattern::Sequential, 1));
        assert_eq!(reads("--rw=read"), (Pattern::Sequential, 1));
        let zones = "--zonesize=64k --zonerange=128k --zoneskip=64k";
        assert_eq!(reads(&format!("--rw=read --zonemode=strided {zones}")), (Pattern::Strided, 1));
        assert_eq!(reads(&format!("--rw=read --zonemode=zbd {zones}")).0, Pattern::Unknown);
    }

    #[test]
    fn a_job_that_moves_more_than_its_files_begins_anew_with_the_same_draws() {
        let reads = |options: &str| {
            let phase = phases(options).into_iter().find(|phase| phase.direction == Direction::Read).expect("reads");
            (phase.loops, phase.turns)
        };
        assert_eq!(reads("--rw=randrw --size=4m --io_size=40m"), (1, 10));
        assert_eq!(reads("--rw=randrw --size=4m --io_size=10m"), (1, 3));
        assert_eq!(reads("--rw=randrw --size=4m --io_size=10m --loops=2"), (2, 3));
        assert_eq!(reads("--rw=randrw --size=4m --io_size=1m"), (1, 1));
        assert_eq!(reads("--rw=randrw --size=4m"), (1, 1));
    }
}
