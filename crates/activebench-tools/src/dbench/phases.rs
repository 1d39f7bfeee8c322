//! Finds the calls of dbench's clients, and the time that its clock covered.
//!
//! The clock starts when the clients are released, or one second before the first second that is printed behind the
//! warm-up. The figure is that of the last second that is printed: what follows, and the deletion of the files, is
//! outside. dbench ends each line with a write of its own, which shows these times.

use activebench_model::activity::Activity;
use activebench_model::claim::Parsed;
use activebench_model::output::ToolOutput;
use activebench_model::phase::{Direction, Mechanism, OwnLimit, Phase, Promise, Submission, Window};

use super::options::Options;
use super::texts::{RELEASED, Second, second, warmup_seconds};
use crate::adapter::Plan;
use crate::clocked::{clock, part_within};
use crate::matched_numbers::PrintTimes;
use crate::printed::{Line, lines};

/// The replayed load, and the id of its phase.
pub(super) const LOAD: &str = "load";
/// Begin of the folder that each client has.
const FOLDER: &str = "clients/client";
/// The time between two lines.
const SECOND_NS: u64 = 1_000_000_000;

/// Returns the plan of a command.
pub(super) fn plan(options: &Options) -> Plan {
    match options.processes {
        Some(_) => Plan { phases: vec![phase(options)], notes: Vec::new() },
        None => Plan { phases: Vec::new(), notes: vec!["the number of processes is missing".to_owned()] },
    }
}

fn phase(options: &Options) -> Phase {
    let promises =
        [(options.sync_open, "-s", Mechanism::SyncWrites), (options.fsync, "-F", Mechanism::SyncInsideClock)];
    let promise = |(_, option, mechanism): (bool, &str, Mechanism)| Promise { option: option.to_owned(), mechanism };
    let limit = |rate: &String| OwnLimit { option: format!("-R {rate}"), computes: false, untimed: false };
    Phase {
        requested_tasks: options.processes.unwrap_or(1).max(1),
        clock: "release of the clients, or the end of the warm-up, to the last second that is printed".to_owned(),
        submission: Submission::Synchronous,
        promises: promises.into_iter().filter(|(given, ..)| *given).map(promise).collect(),
        own_limits: options.rate.iter().map(limit).collect(),
        time_limit_ns: options.seconds.checked_mul(SECOND_NS),
        ..Phase::planned(LOAD, LOAD, Direction::Mixed)
    }
}

/// See [`crate::Adapter::phases`].
pub(super) fn phases(options: &Options, output: &ToolOutput, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
    if parsed.claims.is_empty() {
        return Vec::new();
    }
    let mut phase = phase(options);
    match window(output, activity) {
        Ok(window) => {
            let passes = activity.passes_named(|name| name.contains(FOLDER));
            phase.parts = passes.into_iter().filter_map(|pass| part_within(pass, window)).collect();
            match phase.parts.first() {
                Some(first) => {
                    phase.parts.push(clock(first, window));
                    phase.window = Some(window);
                }
                None => phase.incomplete = Some("no file of its clients was observed".to_owned()),
            }
        }
        Err(why) => phase.incomplete = Some(why.to_owned()),
    }
    vec![phase]
}

/// Returns the time that the clock covered.
fn window(output: &ToolOutput, activity: &Activity) -> Result<Window, &'static str> {
    if activity.passes.is_empty() {
        return Err("no calls were observed");
    }
    let times = PrintTimes::new(&activity.output_writes, output);
    let all = lines(output);
    let stdout: Vec<&Line> = all.iter().filter(|line| line.stream == "stdout").collect();
    let at = |line: &Line| times.of_line(output, &line.source());
    let of_kind = |kind: Second| stdout.iter().filter(move |line| second(&line.text) == Some(kind));
    let unknown = "the times of its messages were not observed";
    let last = of_kind(Second::Execute).next_back().and_then(|line| at(line)).ok_or(unknown)?;
    let released = stdout.iter().find(|line| line.text == RELEASED).and_then(|line| at(line)).ok_or(unknown)?;
    let start_ns = match stdout.iter().find_map(|line| warmup_seconds(&line.text)) {
        Some(0) => released,
        // The second in which the clock is set is the only one without a line.
        Some(_) => {
            let first = of_kind(Second::Execute).next().and_then(|line| at(line)).ok_or(unknown)?;
            let warm_ns = of_kind(Second::Warmup).next_back().and_then(|line| at(line)).unwrap_or(released);
            first.saturating_sub(SECOND_NS).max(warm_ns)
        }
        None => return Err("the length of its warm-up is not known"),
    };
    if start_ns < last { Ok(Window { start_ns, end_ns: last }) } else { Err(unknown) }
}
