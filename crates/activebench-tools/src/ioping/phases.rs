//! Finds ioping's requests among the calls on its target.
//!
//! A temporary file is first filled and synced with fsync; requests sync with fdatasync. Two phases share the calls:
//! all requests, for the line `generated`, and those behind the warm-up, for the latencies.

use activebench_model::activity::{Activity, Pass, Step, StepKind};
use activebench_model::call::Op;
use activebench_model::claim::Parsed;
use activebench_model::phase::{
    Direction, Mechanism, OwnLimit, Part, PartEnd, Pattern, Phase, Promise, Submission, Window,
};

use super::options::Options;
use crate::adapter::Plan;
use crate::syncs::{Syncs, last_component, moves_data};

/// The phase of all requests.
pub(super) const ALL: &str = "requests";
/// The phase of the requests behind the warm-up.
pub(super) const COUNTED: &str = "requests-after-warm-up";

/// Returns the plan of a command.
pub(super) fn plan(options: &Options) -> Plan {
    let mut notes = Vec::new();
    if options.waits {
        notes.push("ioping waits between requests, so it prints no rate of the storage".to_owned());
    }
    if options.periods {
        notes.push("figures of single periods (-p, -P) are not read".to_owned());
    }
    Plan { phases: vec![phase(options, ALL), phase(options, COUNTED)], notes }
}

fn phase(options: &Options, id: &str) -> Phase {
    let direction = match (options.both, options.write) {
        (true, _) => Direction::Mixed,
        (false, true) => Direction::Write,
        (false, false) => Direction::Read,
    };
    let syncs = direction != Direction::Read && !options.cached;
    let promised = [
        (options.direct, "-D", Mechanism::DirectIo),
        (options.sync, "-Y", Mechanism::SyncWrites),
        (options.data_sync && !options.sync, "-y", Mechanism::DataSyncWrites),
        (syncs, "-W", Mechanism::SyncEachWrites(1)),
    ];
    let promise = |(_, option, mechanism): (bool, &str, Mechanism)| Promise { option: option.to_owned(), mechanism };
    let is_counted = id == COUNTED;
    let counted =
        if is_counted { options.count.map(|count| count.saturating_sub(options.warmup)) } else { options.count };
    let limit = options.pause.clone().or_else(|| options.waits.then(|| "the default interval".to_owned()));
    let name = if is_counted { "requests after the warm-up" } else { "all requests" };
    let clock = if is_counted { "sum of the times of the requests" } else { "first request to last request" };
    Phase {
        pattern: if options.linear { Pattern::Sequential } else { Pattern::RandomIndependent },
        block_bytes: options.size,
        requested_bytes: counted
            .zip(options.size)
            .and_then(|(count, size)| count.checked_mul(size))
            .filter(|_| options.time_ns.is_none()),
        // Without `-S` a file is requested from as a whole: the calls show how large it is, the requested bytes do not.
        region_bytes: options.working_set.or(options.size),
        clock: clock.to_owned(),
        submission: if options.asynchronous { Submission::Asynchronous } else { Submission::Synchronous },
        promises: promised.into_iter().filter(|(given, _, _)| *given).map(promise).collect(),
        own_limits: limit.map(|option| OwnLimit { option, computes: false, untimed: false }).into_iter().collect(),
        time_limit_ns: options.time_ns,
        ..Phase::planned(id, name, direction)
    }
}

/// See [`crate::Adapter::phases`].
pub(super) fn phases(options: &Options, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
    let is_claimed = |id: &&str| parsed.claims.iter().any(|claim| claim.phase == *id);
    let found = Found::new(options, activity);
    let mut phases = Vec::new();
    for id in [ALL, COUNTED].into_iter().filter(is_claimed) {
        let mut phase = phase(options, id);
        let skipped = if id == COUNTED { options.warmup } else { 0 };
        match found.as_ref().map_err(|why| (*why).to_owned()).and_then(|found| found.part(skipped)) {
            Ok(part) => {
                if let PartEnd::At(end_ns) = part.end {
                    phase.window = Some(Window { start_ns: part.start_ns, end_ns });
                }
                phase.parts = vec![part];
            }
            Err(why) => phase.incomplete = Some(why),
        }
        phases.push(phase);
    }
    phases
}

/// The requests.
struct Found<'a> {
    pass: &'a Pass,
    steps: Vec<&'a Step>,
    syncs: Syncs<'a>,
}

impl<'a> Found<'a> {
    fn new(options: &Options, activity: &'a Activity) -> Result<Self, &'static str> {
        if activity.passes.is_empty() {
            return Err("no calls were observed");
        }
        let target = options.target.as_deref().unwrap_or("");
        let is_target = |name: &str| {
            name == target
                || name.strip_prefix(target).is_some_and(|rest| rest.trim_start_matches('/').starts_with("ioping.tmp"))
        };
        let passes = activity.passes_named(is_target);
        let requests = |pass: &&'a Pass| (*pass, requests(pass, options));
        let (pass, steps) = passes
            .iter()
            .map(requests)
            .max_by_key(|(_, steps)| steps.iter().map(|step| step.calls).sum::<u64>())
            .filter(|(_, steps)| !steps.is_empty())
            .ok_or("no requests to the target were observed")?;
        Ok(Self { pass, steps, syncs: Syncs::new(activity, passes.iter().copied(), moves_data, last_component) })
    }

    /// Returns the part without the first requests.
    fn part(&self, skipped: u64) -> Result<Part, String> {
        let start_ns = self.start_ns(skipped).ok_or("the first request behind the warm-up was not found")?;
        let synced = self.pass.steps.iter().filter(|step| step.kind == StepKind::Sync && step.start_ns >= start_ns);
        let data_ns = self.steps.iter().map(|step| step.end_ns).max().unwrap_or(start_ns);
        let end_ns = synced.clone().map(|step| step.end_ns).max().unwrap_or(0).max(data_ns);
        let last_sync = synced.flat_map(|step| &step.head).map(|call| call.span).rfind(|span| span.returned >= 0);
        Ok(Part {
            tgid: self.pass.tgid,
            tids: Vec::new(),
            fd: self.pass.fd,
            file: self.pass.file,
            start_ns,
            end: PartEnd::At(end_ns),
            last_data_ns: data_ns,
            sync_inside: last_sync.map(Box::new),
            sync_after: self.syncs.after(self.pass.file, end_ns, Some(self.pass)).map(Box::new),
            close_ns: self.pass.close.map(|close| close.end_ns),
        })
    }

    /// Returns the entry of a request, counted from 0; `None` where it is not among those that are kept.
    fn start_ns(&self, mut number: u64) -> Option<u64> {
        for step in &self.steps {
            if number < step.calls {
                let data = |call: &&activebench_model::activity::CallBrief| call.span.op != Op::Lseek;
                return step.head.iter().filter(data).nth(usize::try_from(number).ok()?).map(|call| call.span.start_ns);
            }
            number -= step.calls;
        }
        None
    }
}

/// Returns the steps of the requests: behind the fsync with which ioping ends the filling of a temporary file.
fn requests<'a>(pass: &'a Pass, options: &Options) -> Vec<&'a Step> {
    let filled = pass.steps.iter().filter(|step| step.kind == StepKind::Sync);
    let fsyncs = filled.filter(|step| step.head.iter().any(|call| call.span.op == Op::Fsync));
    let filled_ns = fsyncs.map(|step| step.end_ns).next().unwrap_or(0);
    let is_own = |step: &&Step| match step.kind {
        StepKind::Read => !options.write || options.both,
        StepKind::Write => options.write || options.both,
        _ => false,
    };
    pass.steps.iter().filter(is_own).filter(|step| step.start_ns >= filled_ns).collect()
}
