//! Observation, target, host and next commands. Raw text; the format escapes it.

use activebench_model::coverage::{Backend, Coverage, OtherTracer, RecordAccount};
use activebench_model::event::RecordClass;
use activebench_model::finding::Outcome;
use activebench_model::host::{Host, Layer, Target, Tier};
use activebench_model::log::EventLog;
use activebench_model::preparation::{Preparation, Purge};
use activebench_model::report::JudgedRun;
use activebench_model::run::FailOn;
use activebench_model::units::Quantity;

use crate::escape::clipped;
use crate::findings::{firing, tally};
use crate::wording::{count, list, shell_word};

/// Maximum unattached probes named; the rest is counted.
const PROBES_NAMED: usize = 3;
/// Maximum other tracers named; the rest is counted.
const TRACERS_NAMED: usize = 3;
/// Maximum changed thresholds named; the rest is counted.
const THRESHOLDS_NAMED: usize = 8;
/// Longest name of a threshold, and longest origin of one, in characters.
const NAME_SHOWN: usize = 60;
const SOURCE_SHOWN: usize = 160;
/// Minimum packed size of an event log, in bytes, for which the log is reported.
const LOG_WORTH_SAYING: u64 = 16 << 20;

/// Minimum entries and exits of calls for which the slow path is reported.
const LEAST_MET: u64 = 10_000;

/// Returns the observation in one line: backend, records, blind paths, probes, cost.
pub(crate) fn observation(coverage: &Coverage) -> String {
    let backend = match coverage.backend {
        Backend::None => "nothing was observed (backend none)".to_owned(),
        backend => format!("backend {}", backend.as_str()),
    };
    let mut parts = vec![backend, records(coverage)];

    let blind: Vec<String> =
        coverage.blind_paths.iter().map(|path| format!("{} ({} calls)", path.path, path.calls)).collect();
    parts.push(if blind.is_empty() { "no blind paths".to_owned() } else { format!("blind to {}", list(&blind, 6)) });

    let detached: Vec<String> = coverage
        .probes
        .iter()
        .filter(|probe| !probe.attached)
        .map(|probe| format!("{} ({})", probe.hook, probe.why_not.as_deref().unwrap_or("reason not known")))
        .collect();
    if !detached.is_empty() {
        let probes = count(coverage.probes.len(), "probe");
        parts.push(format!("{} of {probes} not attached: {}", detached.len(), list(&detached, PROBES_NAMED)));
    }
    let missed: Vec<String> = coverage
        .probes
        .iter()
        .filter(|probe| probe.missed > 0)
        .map(|probe| format!("{} at {}", probe.missed, probe.hook))
        .collect();
    if !missed.is_empty() {
        parts.push(format!("events that the kernel skipped: {}", list(&missed, PROBES_NAMED)));
    }

    let inferred: u64 = coverage.records.values().map(|account| account.inferred).sum();
    if inferred > 0 {
        parts.push(format!("{} not seen, proved by later events", count(inferred as usize, "completion")));
    }

    parts.extend(coverage.log.as_ref().and_then(log));
    let estimated: u64 = coverage.records.values().map(|account| account.estimated).sum();
    if estimated > 0 {
        parts.push(format!(
            "{} with an estimated start, the latency of fast calls is sampled (--latency full times every one)",
            count(estimated as usize, "call")
        ));
    }

    parts.extend(coverage.records.get(&RecordClass::Calls).and_then(longer_way));

    // Anyone who shares the run must know this.
    if let Some(kept) = coverage.payload.as_ref().map(|payload| payload.kept_bytes).filter(|bytes| *bytes > 0) {
        parts.push(format!("{} of what the tool wrote are kept in the run directory", Quantity::bytes(kept)));
    }
    let run_time = Quantity::ns(coverage.overhead.run_ns);
    parts.push(match coverage.overhead.observer_cpu_ns {
        Some(cpu_ns) => format!("observer CPU {} in {run_time}", Quantity::ns(cpu_ns)),
        None => format!("observer CPU not measured, run {run_time}"),
    });
    if let Some(bpf_ns) = coverage.overhead.bpf_run_ns {
        parts.push(format!("kernel programs {}", Quantity::ns(bpf_ns)));
    }
    match coverage.other_tracers.as_deref() {
        None if coverage.backend == Backend::Bpf => parts.push("other tracers not known".to_owned()),
        None | Some([]) => {}
        Some(tracers) => {
            let named: Vec<String> = tracers.iter().map(tracer).collect();
            parts.push(format!(
                "{} on the same hooks: {}",
                count(named.len(), "other tracer"),
                list(&named, TRACERS_NAMED)
            ));
        }
    }
    parts.join("; ")
}

/// Returns a note if most calls were observed on the slow path. This happens on a machine whose kernel
/// stacks are not where x86-64 usually has them.
fn longer_way(calls: &RecordAccount) -> Option<String> {
    // Each call is met twice, at its entry and its exit.
    let met = 2 * calls.made;
    let most = met >= LEAST_MET && calls.looked_up * 2 > met;
    most.then(|| {
        format!(
            "calls observed by the slow path ({} of {met} times the thread was looked up), which costs each some tens of nanoseconds more",
            calls.looked_up
        )
    })
}

/// Returns `block_rq_complete by bpftrace (pid 4711)`.
fn tracer(tracer: &OtherTracer) -> String {
    let hook = tracer.hook.rsplit('/').next().unwrap_or(&tracer.hook);
    match (&tracer.comm, tracer.pid) {
        (Some(comm), Some(pid)) => format!("{hook} by {comm} (pid {pid})"),
        (None, Some(pid)) => format!("{hook} by pid {pid}"),
        (_, None) => format!("{hook} by an unknown process (program {})", tracer.id),
    }
}

/// Returns `event log 9.2 MB, written while the tool ran, to a device that it did not use`, the reason why the log was
/// in memory, and where it was cut. `None` for an uncut log that is too small to matter.
fn log(log: &EventLog) -> Option<String> {
    let mut text = format!("event log {}", Quantity::bytes(log.packed_bytes));
    match &log.in_memory_because {
        Some(why) if log.packed_bytes >= LOG_WORTH_SAYING => text.push_str(&format!(", held in memory: {why}")),
        _ if log.spooled_bytes > 0 => text.push_str(", written while the tool ran, to a device that it did not use"),
        _ => {}
    }
    match &log.cut {
        Some(cut) => {
            let later: u64 = cut.records.values().sum();
            text.push_str(&format!(", cut: {}; {later} later records are only counted", cut.why));
        }
        None if log.packed_bytes < LOG_WORTH_SAYING => return None,
        None => {}
    }
    Some(text)
}

/// Returns `18438 records received, none lost`, or the record classes with losses and their counts.
fn records(coverage: &Coverage) -> String {
    if coverage.records.is_empty() {
        return "no account of records".to_owned();
    }
    let received: u64 = coverage.records.values().map(|account| account.received).sum();
    let short: Vec<String> = coverage
        .records
        .iter()
        .filter(|(_, account)| !account.is_whole())
        .map(|(class, account)| {
            format!("{class}: {} of {} received, {} lost", account.received, account.made, account.lost)
        })
        .collect();
    if short.is_empty() {
        format!("{received} records received, none lost")
    } else {
        format!("records short in {}", list(&short, 6))
    }
}

/// Returns one line per target: mount point, stack, write cache. Never empty.
pub(crate) fn targets(host: &Host) -> Vec<String> {
    if host.targets.is_empty() {
        let unread = if host.unread.is_empty() { String::new() } else { format!(": {}", list(&host.unread, 3)) };
        return vec![format!("not known{unread}")];
    }
    host.targets.iter().map(|of| target(of) + &served_by(host, of)).collect()
}

/// Returns ` served by bindfs (process 9) from loop0` for a FUSE file system whose daemon was looked for.
fn served_by(host: &Host, target: &Target) -> String {
    let Some(daemon) = host.daemons.iter().find(|daemon| daemon.s_dev == target.s_dev) else { return String::new() };
    if let Some(why) = &daemon.unknown {
        return format!(", served by a daemon that is not known: {why}");
    }
    let mut from: Vec<&str> =
        daemon.storage.iter().flat_map(Target::devices).map(|device| device.name.as_str()).collect();
    from.extend(daemon.elsewhere.iter().map(String::as_str));
    let from = if from.is_empty() { "memory".to_owned() } else { list(&from, 3) };
    format!(", served by {} from {from}", daemon.name())
}

/// Returns `/: ext4 < vda (virtio); write cache of vda: write back`.
pub(crate) fn target(target: &Target) -> String {
    let mut stack = vec![target.fs_type.clone()];
    stack.extend(target.layers.iter().map(layer));
    let below = match (target.device(), target.tier) {
        (Some(device), _) => match &device.write_cache {
            Some(write_cache) => format!("write cache of {}: {write_cache}", device.name),
            None => format!("write cache of {}: not known", device.name),
        },
        (None, Tier::Memory) => "in memory, no block device".to_owned(),
        (None, Tier::Network) => "network file system, no block device".to_owned(),
        (None, Tier::Fuse) => "FUSE, no block device".to_owned(),
        (None, Tier::Block | Tier::Unknown) => "no block device is known below".to_owned(),
    };
    let place = if target.mount_point.is_empty() { "no mount was seen" } else { &target.mount_point };
    format!("{place}: {}; {below}", stack.join(" < "))
}

fn layer(layer: &Layer) -> String {
    let loop_mode = match (layer.kind.as_str(), layer.loop_direct_io) {
        (_, Some(true)) => ", direct I/O to its backing file",
        (_, Some(false)) => ", buffered I/O to its backing file",
        ("loop", None) => ", I/O mode to its backing file not known",
        _ => "",
    };
    format!("{} ({}{loop_mode})", layer.name, layer.kind)
}

/// Returns the preparation of the device before the run: `/dev/sdb was purged (all of it discarded) and preconditioned:
/// it took 2.00 times its size`.
pub(crate) fn prepared(preparation: &Preparation) -> String {
    let purged = match &preparation.purge {
        Purge::Discard => "was purged (all of it discarded)".to_owned(),
        Purge::Not { why } => format!("was not purged ({})", clipped(why, SOURCE_SHOWN)),
    };
    let taken = match preparation.preconditioning.written_bytes {
        Some(bytes) => format!("it took {:.2} times its size", bytes / preparation.size_bytes as f64),
        None => "what it took of that was not seen whole".to_owned(),
    };
    format!("{} {purged} and preconditioned: {taken}", clipped(&preparation.device, NAME_SHOWN))
}

/// Returns the machine in one line.
pub(crate) fn machine(host: &Host) -> String {
    let known = |text: &str, what: &str| if text.is_empty() { format!("{what} not known") } else { text.to_owned() };
    let memory = match host.memory_bytes {
        Some(bytes) => format!("memory {}", Quantity::bytes(bytes)),
        None => "memory not known".to_owned(),
    };
    let mut parts = vec![
        format!("kernel {}", known(&host.kernel, "version")),
        known(&host.architecture, "architecture"),
        if host.cpus == 0 { "CPUs not known".to_owned() } else { count(host.cpus as usize, "CPU") },
        memory,
    ];
    if let Some(limit) = host.memory_limit_bytes {
        parts.push(format!("memory limit {}", Quantity::bytes(limit)));
    }
    if let Some(hostname) = &host.hostname {
        parts.push(format!("host {hostname}"));
    }
    parts.join(", ")
}

/// Returns the outcomes of the detectors, the profile, and the severity at which a run fails.
pub(crate) fn checked(run: &JudgedRun) -> String {
    let choices = &run.manifest.choices;
    let profile = if choices.profile.is_empty() { "default" } else { &choices.profile };
    let fail_on = match choices.fail_on {
        FailOn::Warn => "warn",
        FailOn::Fail => "fail",
        FailOn::Never => "never",
    };
    format!("{} (profile: {profile}; exit code 1 from severity: {fail_on})", tally(run))
}

/// Returns a note that the run is a redacted copy, with the number of replaced words and the files left out; `None` for
/// an original run.
pub(crate) fn redacted(run: &JudgedRun) -> Option<String> {
    let redaction = run.manifest.redacted.as_ref()?;
    let replaced: Vec<String> = redaction.replaced.iter().map(|(kind, words)| format!("{kind} {words}")).collect();
    let replaced = if replaced.is_empty() { "nothing".to_owned() } else { replaced.join(", ") };
    let left_out: Vec<String> = redaction.left_out.iter().map(|(name, why)| format!("{name} ({why})")).collect();
    let left_out = if left_out.is_empty() { String::new() } else { format!("; left out: {}", list(&left_out, 3)) };
    Some(format!("a copy with names replaced, distinct words: {replaced}{left_out}"))
}

/// Returns the thresholds that differ from the profile `default`, with their origin; `None` when none differ.
pub(crate) fn changed_thresholds(run: &JudgedRun) -> Option<String> {
    let changed: Vec<String> = run
        .changed_thresholds
        .iter()
        .map(|changed| {
            let name = clipped(&changed.name, NAME_SHOWN);
            let source = clipped(&changed.threshold.source, SOURCE_SHOWN);
            format!("{name} {} instead of {} ({source})", changed.threshold.value, changed.default)
        })
        .collect();
    (!changed.is_empty()).then(|| list(&changed, THRESHOLDS_NAMED))
}

/// Returns commands for the next steps, ready for a shell.
pub(crate) fn next_commands(run: &JudgedRun) -> Vec<String> {
    let mut commands = vec![format!("{} --stage facts", show(run))];
    let undecided = || run.findings.iter().find(|f| f.outcome == Outcome::Undecided).map(|f| f.code.clone());
    if let Some(code) = firing(run).first().map(|group| group.code.clone()).or_else(undecided) {
        commands.push(format!("activebench explain {}", shell_word(&code)));
    }
    commands
}

/// Returns `activebench show RUN`.
pub(crate) fn show(run: &JudgedRun) -> String {
    format!("activebench show {}", shell_word(&run.directory))
}
