//! The passes that a command line of sysbench fileio asks for.

use activebench_model::phase::{Direction, Mechanism, Mix, MixOf, OwnLimit, Pattern, Phase, Promise, Submission};

use super::options::{Mode, Options, Task, Way};
use crate::adapter::Plan;

/// Phase of `prepare`.
pub(super) const PREPARE: &str = "prepare";
pub(super) const READ: &str = "read";
pub(super) const WRITE: &str = "write";

/// Returns the passes of a command.
pub(super) fn plan(options: &Options) -> Plan {
    let mut notes = Vec::new();
    if options.has_config {
        notes.push("the file of --config-file was not read".to_owned());
    }
    Plan { phases: phases(options), notes }
}

/// Returns the passes that print figures, without observations.
pub(super) fn phases(options: &Options) -> Vec<Phase> {
    match (options.task, options.mode) {
        (Some(Task::Prepare), _) => vec![prepare(options)],
        (Some(Task::Run), Some(mode)) => {
            directions(mode).iter().map(|direction| run(options, mode, *direction)).collect()
        }
        _ => Vec::new(),
    }
}

fn directions(mode: Mode) -> &'static [Direction] {
    match mode {
        Mode::SeqRead | Mode::RandomRead => &[Direction::Read],
        Mode::SeqWrite | Mode::SeqRewrite | Mode::RandomWrite => &[Direction::Write],
        Mode::RandomMixed => &[Direction::Read, Direction::Write],
    }
}

fn prepare(options: &Options) -> Phase {
    Phase {
        pattern: Pattern::Sequential,
        // Files that are there already are kept.
        size_bytes: options.total_bytes,
        clock: "first open to last close, with an fsync of each file".to_owned(),
        submission: Submission::Synchronous,
        promises: flags(options, Direction::Write),
        ..Phase::planned(PREPARE, "prepare", Direction::Write)
    }
}

fn run(options: &Options, mode: Mode, direction: Direction) -> Phase {
    let is_read = direction == Direction::Read;
    let (id, name) = if is_read { (READ, "read") } else { (WRITE, "write") };
    let is_random = matches!(mode, Mode::RandomRead | Mode::RandomWrite | Mode::RandomMixed);
    let block_bytes = options.request_bytes(Some(mode));
    let all_bytes = block_bytes.and_then(|block| options.events.checked_mul(block));
    // Without a limit of time the requests end it.
    let requested = all_bytes.filter(|bytes| *bytes > 0 && options.seconds == 0 && mode != Mode::RandomMixed);
    // Behind its last block a sequential pass begins again.
    let loops = match (requested, options.total_bytes.filter(|bytes| *bytes > 0)) {
        _ if is_random => 1,
        (Some(requested), Some(total)) => u32::try_from(requested.div_ceil(total)).unwrap_or(u32::MAX),
        // Until the requests are observed.
        _ => 1,
    };
    let mapped = options.way == Way::Mapped;
    let mut promises = flags(options, direction);
    let mut promise = |option: &str, mechanism| promises.push(Promise { option: option.to_owned(), mechanism });
    if mapped {
        promise("--file-io-mode=mmap", Mechanism::MappedIo);
    }
    if !is_read && options.fsync_end && !mapped {
        promise("--file-fsync-end=on", Mechanism::SyncInsideClock);
    }
    if !is_read && options.fsync_all && !mapped {
        promise("--file-fsync-all=on", Mechanism::SyncEachWrites(1));
    }
    Phase {
        pattern: match (is_random, options.threads) {
            (true, _) => Pattern::RandomIndependent,
            (false, 1) => Pattern::Sequential,
            // Each thread takes the next block.
            (false, _) => Pattern::Unknown,
        },
        block_bytes,
        requested_bytes: requested,
        size_bytes: options.total_bytes.filter(|_| requested.is_none()),
        region_bytes: options.total_bytes,
        loops,
        requested_tasks: options.threads.max(1),
        clock: "release of the threads to the report, with the syncs at the end".to_owned(),
        submission: match options.way {
            Way::Sync => Submission::Synchronous,
            Way::Async => Submission::AsynchronousIfDirect,
            Way::Mapped => Submission::Mapped,
        },
        promises,
        mix: (mode == Mode::RandomMixed).then(|| Mix {
            option: format!("--file-rw-ratio={}", options.rw_ratio),
            read_ratio: options.rw_ratio / (1.0 + options.rw_ratio),
            of: MixOf::Operations,
            other_phase: Some(if is_read { WRITE } else { READ }.to_owned()),
        }),
        own_limits: options
            .rate
            .iter()
            .map(|option| OwnLimit { option: option.clone(), computes: false, untimed: false })
            .collect(),
        time_limit_ns: (options.seconds > 0).then(|| options.seconds.saturating_mul(1_000_000_000)),
        verifies: options.validates.then(|| "--validate".to_owned()),
        unread: options.has_config.then(|| "the file of --config-file was not read".to_owned()),
        ..Phase::planned(id, name, direction)
    }
}

/// Returns what `--file-extra-flags` promises.
fn flags(options: &Options, direction: Direction) -> Vec<Promise> {
    let written = direction == Direction::Write;
    [
        ("direct", Mechanism::DirectIo, true),
        ("sync", Mechanism::SyncWrites, written),
        ("dsync", Mechanism::DataSyncWrites, written),
    ]
    .into_iter()
    .filter(|(flag, _, applies)| *applies && options.has_flag(flag))
    .map(|(flag, mechanism, _)| Promise { option: format!("--file-extra-flags={flag}"), mechanism })
    .collect()
}
