//! Converts the observed calls to phases: one per job (or group) and claimed direction.
//!
//! fio's clock runs from the start of a job, which opens its file next, to the last completion, the
//! fsync at the end included. Every descriptor from its open to its close is a part; a loop is
//! another open. Writes of the main process before the jobs start belong to no part.

use std::collections::{HashMap, HashSet};

use activebench_model::activity::{Activity, CallSpan, Pass, Step, StepKind};
use activebench_model::call::{FileId, open_bits};
use activebench_model::claim::{Metric, Parsed};
use activebench_model::grouped::Grouped;
use activebench_model::output::ToolOutput;
use activebench_model::phase::{NameOperation, Part, PartEnd, Phase, TaskSpan};

use super::engine::{self, Kind};
use super::entries::{self, Paired};
use super::jobs::{Setup, last_component};
use super::observed_calls::{Asides, Seen};
use super::options::JobOptions;
use super::output;
use super::plan;
use super::report::Way;
use super::subject::syncs;
use super::tasks::{self, JobTask};

/// Largest relative difference between the bytes of an entry and those of its tasks before the assignment is doubted.
const DOUBTFUL_BYTES: f64 = 0.01;

/// See [`crate::Adapter::phases`].
pub(super) fn phases(setup: &Setup, output: &ToolOutput, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
    let mut report = output::read(setup, output).report;
    let as_printed = entries::pair(setup, &report.entries);
    let options = || setup.jobs.iter().chain(as_printed.iter().flat_map(|paired| &paired.jobs)).map(|job| &job.options);
    let seen = Seen::new(activity, &Asides::of(options()));
    tasks::count_jobs(setup, &mut report.entries, &seen);
    let paired = entries::pair(setup, &report.entries);
    let assigned = tasks::assign(setup, &report.entries, &paired, &seen);
    let mut phases = Vec::new();
    let mut totals = (0.0, 0.0);
    let mut apart = false;
    let claimed: HashSet<&str> = parsed.claims.iter().map(|claim| claim.phase.as_str()).collect();
    let mut claimed_bytes: HashMap<&str, f64> = HashMap::new();
    for claim in parsed.claims.iter().filter(|claim| claim.metric == Metric::BytesMoved) {
        claimed_bytes.entry(&claim.phase).or_insert(claim.value.value);
    }
    for ((entry, paired), tasks) in report.entries.iter().zip(&paired).zip(&assigned.of_entry) {
        for way in Way::ALL {
            let id = paired.phase_id(way);
            if !claimed.contains(id.as_str()) {
                continue;
            }
            let mut phase = plan::phase(paired, way, paired.jobs_of(entry));
            phase.elsewhere = setup.command.runs_at();
            match tasks {
                _ if phase.elsewhere.is_some() => {}
                Ok(tasks) => {
                    let moved = Locator { seen: &seen, paired, way }.locate(tasks, &mut phase);
                    if let (Some(claimed), Some(moved)) = (claimed_bytes.get(id.as_str()), moved) {
                        totals = (totals.0 + claimed, totals.1 + moved);
                        apart |= differ(*claimed, moved);
                    }
                }
                Err(why) => phase.incomplete = Some(why.clone()),
            }
            phases.push(phase);
        }
    }
    // The sum matches but its terms do not: the jobs were not created in their order.
    if assigned.by_order && apart && report.entries.len() > 1 && !differ(totals.0, totals.1) {
        for phase in &mut phases {
            phase.incomplete.get_or_insert_with(|| "which task belongs to which job is not known".to_owned());
        }
    }
    phases
}

fn differ(claimed: f64, moved: f64) -> bool {
    (claimed - moved).abs() > DOUBTFUL_BYTES * claimed
}

/// Finds the calls of one direction of one entry.
struct Locator<'a> {
    seen: &'a Seen<'a>,
    paired: &'a Paired,
    way: Way,
}

impl Locator<'_> {
    /// Fills in parts or spans; returns the bytes that the parts' calls moved, if calls show them.
    fn locate(&self, tasks: &[JobTask], phase: &mut Phase) -> Option<f64> {
        let unknown = JobOptions::unknown("the job is not known");
        let mut moved = 0.0;
        let mut exact = true;
        for (number, task) in tasks.iter().enumerate() {
            let job = self.paired.jobs.get(number).map_or(&unknown, |job| &job.options);
            let passes = self.passes_of(task, job);
            if let Kind::Names(operation) = engine::kind(job.engine()) {
                let span = self.span_of(task, operation, &passes, phase);
                phase.names.iter_mut().for_each(|names| names.spans.extend(span.clone()));
                exact = false;
                continue;
            }
            exact &= job.seconds_as_ns("ramp_time") == Some(0) && engine::kind(job.engine()) != Kind::Mapped;
            if self.way == Way::Mixed && job.verifies_after() != Some(false) {
                let why = "the check of the data, on another clock, is reported with the rest";
                phase.incomplete = Some(why.to_owned());
                continue;
            }
            // Its clock is a sum of separate spans, so no single window matches it.
            if job.verifies_after() == Some(true) && (job.loops() != Some(1) || writes_after_check(&passes)) {
                phase.incomplete = Some("between the loops lies the check of the data, on another clock".to_owned());
                continue;
            }
            if job.stated("latency_target").is_some() {
                let why = "with latency_target fio starts to count again whenever it tries another depth";
                phase.incomplete = Some(why.to_owned());
                continue;
            }
            moved += self.add_parts(task, job, &passes, phase);
        }
        if !phase.is_found() && phase.incomplete.is_none() {
            phase.incomplete = Some(match self.seen.activity.passes.is_empty() {
                true => "no calls were observed".to_owned(),
                false => format!("no call of the job's tasks moved data by {}", self.way.word()),
            });
        }
        (exact && phase.incomplete.is_none()).then_some(moved)
    }

    /// Returns the passes of a task over files that may be the job's own, ordered by time.
    fn passes_of(&self, task: &JobTask, job: &JobOptions) -> Vec<&Pass> {
        let mut passes: Vec<&Pass> = match task.is_thread {
            true => self.seen.passes_of_threads(task.tgid, &self.tids_of(task)),
            false => self.seen.passes_of(task.tgid).to_vec(),
        };
        if let Some(names) =
            job.filenames().filter(|names| !names.is_empty() && !names.iter().any(|name| name.contains('$')))
        {
            let names: HashSet<&str> = names.into_iter().map(last_component).collect();
            let named = |pass: &&Pass| match &pass.name {
                Some(name) => names.contains(last_component(name)),
                None => self.seen.names_of(pass.file).any(|name| names.contains(last_component(name))),
            };
            let of_names: Vec<&Pass> = passes.iter().copied().filter(named).collect();
            if !of_names.is_empty() {
                passes = of_names;
            }
        }
        if job.has("pre_read") {
            let mut known: HashSet<FileId> = HashSet::new();
            passes.retain(|pass| {
                let first = known.insert(pass.file);
                let reads_only = pass.steps.iter().all(|step| step.kind != StepKind::Write);
                let mut own = self.seen.passes_over(pass.file).iter().filter(|other| other.tgid == task.tgid);
                !(first && reads_only && moves(pass, Way::Read) && own.nth(1).is_some())
            });
        }
        passes.sort_by_key(|pass| started_ns(pass));
        passes
    }

    fn add_parts(&self, task: &JobTask, job: &JobOptions, passes: &[&Pass], phase: &mut Phase) -> f64 {
        let mapped = engine::kind(job.engine()) == Kind::Mapped;
        let Some(begun_ns) = passes.iter().map(|pass| started_ns(pass)).min() else { return 0.0 };
        let ended_ns = passes.iter().flat_map(|pass| &pass.steps).map(|step| step.end_ns).max().unwrap_or(begun_ns);
        let ramp_ns = match job.seconds_as_ns("ramp_time") {
            Some(ramp_ns) if begun_ns.saturating_add(ramp_ns) <= ended_ns => ramp_ns,
            // A job that ends before its ramp does counts all of it.
            Some(_) => 0,
            // Options that were not read: `Phase::unread` says so, and all calls are kept.
            None => 0,
        };
        let counted_ns = begun_ns.saturating_add(ramp_ns);
        let by_file = Grouped::new(passes.iter().map(|pass| (pass.file, *pass)), |_| ());
        phase.parts.reserve(passes.len());
        let mut moved = 0.0;
        for pass in passes {
            let is_mapped = mapped && pass.steps.iter().any(|step| step.kind == StepKind::Map);
            if !moves(pass, self.way) && !is_mapped {
                continue;
            }
            let clock = if is_check(pass, job) && !is_mapped {
                check_clock(pass)
            } else {
                let clock = if is_mapped { mapped_clock(pass, job) } else { call_clock(pass, job) };
                clock.map(|clock| with_later_syncs(clock, by_file.get(&pass.file), job))
            };
            let Some(clock) = clock.filter(|clock| clock.end_ns > counted_ns || ramp_ns == 0) else { continue };
            moved += bytes_of(pass, self.way);
            let start_ns = if ramp_ns > 0 { started_ns(pass).max(counted_ns) } else { started_ns(pass) };
            phase.parts.push(Part {
                tgid: pass.tgid,
                tids: self.threads_of(task, job, pass),
                fd: pass.fd,
                file: pass.file,
                start_ns,
                end: PartEnd::At(clock.end_ns),
                last_data_ns: clock.last_data_ns,
                sync_inside: clock.sync_inside.map(Box::new),
                sync_after: self.seen.sync_after(pass.file, clock.end_ns).map(Box::new),
                close_ns: pass.close.map(|close| close.end_ns),
            });
        }
        moved
    }

    /// Returns a job's own thread and the kernel's threads for its io_uring, whose names contain its number.
    fn tids_of(&self, task: &JobTask) -> Vec<u32> {
        self.seen.kernel_threads_of(task.tid).iter().copied().chain([task.tid]).collect()
    }

    /// Returns the threads whose calls count for a job.
    fn threads_of(&self, task: &JobTask, job: &JobOptions, pass: &Pass) -> Vec<u32> {
        if !task.is_thread {
            return Vec::new();
        }
        let mut tids = self.tids_of(task);
        // The C library's helper threads make the calls.
        if job.engine() == Some("posixaio") {
            tids.extend(pass.steps.iter().flat_map(|step| step.tids.iter().copied()));
        }
        tids.sort_unstable();
        tids.dedup();
        tids
    }

    /// Adds the span from the first call of its kind to the last one.
    fn span_of(
        &self,
        task: &JobTask,
        operation: NameOperation,
        passes: &[&Pass],
        phase: &mut Phase,
    ) -> Option<TaskSpan> {
        let calls: Vec<(u64, u64)> = match operation {
            NameOperation::Create => passes
                .iter()
                .filter(|pass| pass.open_flags & open_bits::CREATE != 0)
                .filter_map(|pass| pass.open.map(|open| (open.start_ns, open.end_ns)))
                .collect(),
            NameOperation::Delete => {
                let own = self.seen.activity.unlinks.iter().filter(|unlink| unlink.span.tid == task.tid);
                own.map(|unlink| (unlink.span.start_ns, unlink.span.end_ns)).collect()
            }
            NameOperation::Stat => {
                phase.incomplete =
                    Some("when the job's clock began and stopped shows in no call that is kept".to_owned());
                return None;
            }
        };
        let start_ns = calls.iter().map(|(start_ns, _)| *start_ns).min()?;
        let end_ns = calls.iter().map(|(_, end_ns)| *end_ns).max()?;
        Some(TaskSpan {
            tgid: task.tgid,
            tids: if task.is_thread { vec![task.tid] } else { Vec::new() },
            start_ns,
            end_ns,
        })
    }
}

fn is_of(step: &Step, way: Way) -> bool {
    let is_kind = match way {
        Way::Read => step.kind == StepKind::Read,
        Way::Write => step.kind == StepKind::Write,
        Way::Trim => step.kind == StepKind::Discard,
        Way::Mixed => is_data(step),
    };
    is_kind && step.calls > 0
}

fn is_data(step: &Step) -> bool {
    matches!(step.kind, StepKind::Read | StepKind::Write | StepKind::Discard)
}

fn moves(pass: &Pass, way: Way) -> bool {
    pass.steps.iter().any(|step| is_of(step, way))
}

/// Returns true if a job writes again after it has read back what it wrote. fio does so without `loops`, too: with
/// `time_based` it checks the data after each `size` of an asynchronous engine (backend.c, `do_io`, 3.33). It reopens its
/// files for the check. The passes are ordered by time.
fn writes_after_check(passes: &[&Pass]) -> bool {
    let mut later = passes.iter().skip_while(|pass| !moves(pass, Way::Write));
    later.any(|pass| moves(pass, Way::Read) && !moves(pass, Way::Write)) && later.any(|pass| moves(pass, Way::Write))
}

fn bytes_of(pass: &Pass, way: Way) -> f64 {
    pass.steps.iter().filter(|step| is_of(step, way)).map(|step| step.bytes as f64).sum()
}

fn started_ns(pass: &Pass) -> u64 {
    let first = pass.steps.iter().map(|step| step.start_ns).min();
    pass.open.map(|open| open.start_ns).or(first).unwrap_or(u64::MAX)
}

/// The end of the clock in a pass.
struct Clock {
    end_ns: u64,
    last_data_ns: u64,
    sync_inside: Option<CallSpan>,
}

/// Returns true if a job reads back in this pass what it wrote.
fn is_check(pass: &Pass, job: &JobOptions) -> bool {
    job.verifies_after() == Some(true) && !moves(pass, Way::Write)
}

/// The clock of a check ends with its last read: fio syncs only behind it, when it closes the file (`fsync_on_close`).
fn check_clock(pass: &Pass) -> Option<Clock> {
    let last_data_ns = pass.steps.iter().filter(|step| is_of(step, Way::Mixed)).map(|step| step.end_ns).max()?;
    Some(Clock { end_ns: last_data_ns, last_data_ns, sync_inside: None })
}

fn call_clock(pass: &Pass, job: &JobOptions) -> Option<Clock> {
    let moved = |step: &Step| is_data(step) && step.calls > 0;
    let last = pass.steps.iter().rposition(moved)?;
    let last_data_ns = pass.steps.iter().filter(|step| moved(step)).map(|step| step.end_ns).max()?;
    let mut clock = Clock { end_ns: last_data_ns, last_data_ns, sync_inside: None };
    // fio syncs only if an option asks for it.
    if syncs(job).is_some() || job.unread().is_some() {
        let trailing = pass.steps[last + 1..].iter().find(|step| step.kind == StepKind::Sync);
        clock.end_ns = trailing.map_or(clock.end_ns, |step| step.end_ns).max(clock.end_ns);
        let inside = trailing.or_else(|| pass.steps.iter().rfind(|step| step.kind == StepKind::Sync));
        clock.sync_inside = inside.and_then(|step| step.head.last()).map(|brief| brief.span);
    }
    Some(clock)
}

/// Extends the clock by syncs after the close: for `end_fsync` and `fsync_on_close` fio reopens a file that it has
/// closed (backend.c, `fio_file_fsync`, 3.33). `of_file` are the passes over the file, ordered by time.
fn with_later_syncs(mut clock: Clock, of_file: &[&Pass], job: &JobOptions) -> Clock {
    if ["end_fsync", "fsync_on_close"].iter().all(|name| job.is_on(name) == Some(false)) {
        return clock;
    }
    let later = &of_file[of_file.partition_point(|other| started_ns(other) < clock.last_data_ns)..];
    let syncs_alone =
        later.iter().take_while(|other| other.steps.iter().all(|step| !is_data(step) && step.kind != StepKind::Map));
    for sync in syncs_alone.flat_map(|other| &other.steps).filter(|step| step.kind == StepKind::Sync) {
        clock.end_ns = clock.end_ns.max(sync.end_ns);
        clock.sync_inside = sync.head.last().map(|brief| brief.span).or(clock.sync_inside);
    }
    clock
}

/// Finds the clock of a mapped file: data moves through memory, so the next call ends it.
fn mapped_clock(pass: &Pass, job: &JobOptions) -> Option<Clock> {
    let map = pass.steps.iter().position(|step| step.kind == StepKind::Map)?;
    let sync = pass.steps[map..]
        .iter()
        .rfind(|step| step.kind == StepKind::Sync)
        .filter(|_| syncs(job).is_some() || job.unread().is_some());
    let unmap_ns = pass.steps[map..].iter().rfind(|step| step.kind == StepKind::Unmap).map(|step| step.start_ns);
    let left_ns = unmap_ns.into_iter().chain(pass.close.map(|close| close.start_ns)).min();
    let end_ns = sync.map(|step| step.end_ns).or(left_ns).unwrap_or(pass.steps[map].end_ns);
    let sync_inside = sync.and_then(|step| step.head.last()).map(|brief| brief.span);
    Some(Clock { end_ns, last_data_ns: end_ns, sync_inside })
}
