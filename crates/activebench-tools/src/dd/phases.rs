//! The copy of dd in the observed calls.
//!
//! dd opens its files, puts them on descriptors 0 and 1, reads its clock, copies, syncs, closes both, prints the records
//! and reads its clock again (BusyBox: reads its clock before the opens). The clock is read between two calls. Where
//! between them is not observed: the window follows the printed seconds there, and no further.

use activebench_model::activity::{Activity, CallSpan, Pass, Step, StepKind};
use activebench_model::command::CommandLine;
use activebench_model::output::ToolOutput;
use activebench_model::phase::{Direction, Part, PartEnd, Phase, Window};

use super::options::Options;
use super::output::reported;
use super::plan;
use super::report::{self, Maker, Report};
use crate::syncs::{Syncs, last_component, moves_data};

/// Longest time from the last call before the clock to the clock, where the next call is not observed: dd waits for a
/// CPU there at most. A longer one, such as a first read of a generator or a pipe, is inside the clock.
const MOST_BEFORE_NS: u64 = 100_000_000;

/// See [`crate::Adapter::phases`].
pub(super) fn phases(command: &CommandLine, output: &ToolOutput, activity: &Activity) -> Vec<Phase> {
    let options = Options::parse(&command.argv);
    let (_, text) = reported(&options, output);
    let report = report::last(&text);
    let incomplete =
        |why: &str| Phase { incomplete: Some(why.to_owned()), ..plan::phase(&options, plan::direction(&options)) };
    let Some(process) = Process::of(command, activity) else {
        return vec![incomplete("the execution of dd was not observed")];
    };
    // What it counts is what it wrote.
    let (copied, direction) = match (process.output, process.input) {
        (Some(output), _) => (output, Direction::Write),
        (None, Some(input)) => (input, Direction::Read),
        (None, None) => return vec![incomplete("neither the input nor the output was a file or a block device")],
    };
    let mut phase = plan::phase(&options, direction);
    match process.window(report.as_ref()) {
        Ok(window) => {
            phase.window = Some(window);
            phase.parts = vec![part(copied, window, activity)];
        }
        Err(why) => phase.incomplete = Some(why.to_owned()),
    }
    vec![phase]
}

/// The process of a dd, with what is on its descriptors.
struct Process<'a> {
    activity: &'a Activity,
    tgid: u32,
    /// When dd was executed.
    executed_ns: u64,
    /// The pass that it read, on descriptor 0.
    input: Option<&'a Pass>,
    /// The pass that it wrote, on descriptor 1.
    output: Option<&'a Pass>,
}

impl<'a> Process<'a> {
    /// Finds the execution with these words; of several the last one.
    fn of(command: &CommandLine, activity: &'a Activity) -> Option<Self> {
        let operands = command.argv.get(1..).unwrap_or_default();
        let is_own = |arguments: &[String]| {
            arguments.ends_with(operands) && arguments.len() - operands.len() <= 2 && arguments.len() > operands.len()
        };
        let executed = activity.execs.iter().rev().find(|exec| is_own(&exec.arguments));
        // Without arguments in the record, the only process is dd.
        let only = || activity.execs.last().filter(|_| activity.execs.len() == 1);
        let exec = executed.or_else(only)?;
        let own = |fd: i32, kind: StepKind| {
            let moves = move |pass: &&Pass| {
                pass.tgid == exec.tgid
                    && pass.fd == fd
                    && (pass.open.is_some_and(|open| open.start_ns >= exec.at_ns)
                        || pass.steps.iter().any(|step| step.kind == kind && step.start_ns >= exec.at_ns))
            };
            activity.passes.iter().rfind(moves)
        };
        let (input, output) = (own(0, StepKind::Read), own(1, StepKind::Write));
        Some(Self { activity, tgid: exec.tgid, executed_ns: exec.at_ns, input, output })
    }

    fn both(&self) -> impl Iterator<Item = &'a Pass> {
        self.input.into_iter().chain(self.output)
    }

    /// Returns the span of dd's clock; the error says why it is not known.
    fn window(&self, report: Option<&Report<'_>>) -> Result<Window, &'static str> {
        let closes: Option<Vec<u64>> = self.both().map(|pass| Some(pass.close?.end_ns)).collect();
        let closes =
            closes.ok_or("dd was ended before it closed its files, and what it printed is of an earlier time")?;
        let closed_ns = closes.into_iter().max().ok_or("nothing was closed")?;
        let maker = report.map_or(Maker::Gnu, |report| report.maker);
        let (mut start_ns, latest_ns) = match maker {
            Maker::Gnu => self.opened_ns(),
            Maker::BusyBox => {
                let first = self.both().filter_map(|pass| pass.open).map(|open| open.start_ns).min();
                let first = first.unwrap_or(self.executed_ns).max(self.executed_ns);
                (first.saturating_sub(MOST_BEFORE_NS).max(self.executed_ns), first)
            }
        };
        // Where the input is observed, the next call is its first read.
        let most_ns = if self.input.is_some() { u64::MAX } else { start_ns + MOST_BEFORE_NS };
        let latest_ns = latest_ns.clamp(start_ns, most_ns).min(closed_ns);
        let mut end_ns = closed_ns.max(start_ns);
        let Some(report) = report else { return Ok(Window { start_ns, end_ns }) };
        let seconds_ns = (report.seconds.min(1e9) * 1e9) as u64;
        if seconds_ns > end_ns - start_ns {
            end_ns = self.printed_ns(closed_ns, maker).min(start_ns + seconds_ns).max(end_ns);
        } else {
            start_ns = latest_ns.min(end_ns - seconds_ns).max(start_ns);
        }
        Ok(Window { start_ns, end_ns })
    }

    /// Returns the earliest and the latest time at which GNU's dd reads its clock first: the end of its last call before
    /// it, and the start of the first call behind it.
    fn opened_ns(&self) -> (u64, u64) {
        let is_data = |step: &&Step| matches!(step.kind, StepKind::Read | StepKind::Write);
        let first_data_ns =
            self.both().flat_map(|pass| pass.steps.iter().find(is_data)).map(|step| step.start_ns).min();
        let before = |at_ns: &u64| first_data_ns.is_none_or(|first_ns| *at_ns <= first_ns);
        // It opens a file on any descriptor, copies that to 0 or 1, and closes it.
        let is_opening = |pass: &&Pass| {
            pass.tgid == self.tgid
                && pass.fd > 2
                && self.both().any(|own| own.file == pass.file)
                && pass.steps.is_empty()
        };
        let openings = self.activity.passes.iter().filter(is_opening).filter_map(|pass| pass.close);
        let opens = self.both().filter_map(|pass| pass.open);
        // `seek=` cuts the file behind its open.
        let cuts = self.output.into_iter().flat_map(|pass| {
            let prepares = |step: &&Step| step.kind == StepKind::Other;
            let cut = pass.steps.iter().take_while(prepares).map(|step| step.last_end_ns);
            cut.filter(|_| pass.steps.iter().any(|step| step.kind == StepKind::Write))
        });
        let calls = openings.chain(opens).map(|span| span.end_ns).chain(cuts);
        let opened_ns = calls.filter(|end_ns| *end_ns >= self.executed_ns).filter(before).max();
        match opened_ns {
            Some(opened_ns) => (opened_ns, first_data_ns.unwrap_or(opened_ns)),
            // A shell opened both: all that dd does before its clock makes no call here.
            None => {
                let latest_ns = first_data_ns.unwrap_or(self.executed_ns);
                (latest_ns.saturating_sub(MOST_BEFORE_NS).max(self.executed_ns), latest_ns)
            }
        }
    }

    /// Returns the latest time at which it reads its clock last: when it prints the line with the seconds, behind the
    /// lines of records.
    fn printed_ns(&self, closed_ns: u64, maker: Maker) -> u64 {
        let is_report = |write: &&activebench_model::activity::OutputWrite| {
            write.tgid == self.tgid && write.fd == 2 && write.span.start_ns >= closed_ns
        };
        let mut writes = self.activity.output_writes.iter().filter(is_report).map(|write| write.span.start_ns);
        let with_seconds = match maker {
            Maker::Gnu => 1,
            Maker::BusyBox => 2,
        };
        writes.nth(with_seconds).unwrap_or(closed_ns)
    }
}

fn part(pass: &Pass, window: Window, activity: &Activity) -> Part {
    let is_data = |step: &Step| matches!(step.kind, StepKind::Read | StepKind::Write);
    let last_data = pass.steps.iter().rposition(is_data);
    let after_data = pass.steps.iter().skip(last_data.map_or(0, |place| place + 1));
    let is_sync = |span: &CallSpan| span.op.is_file_sync() && span.returned >= 0;
    let sync_inside = after_data
        .filter(|step| step.kind == StepKind::Sync)
        .flat_map(|step| &step.head)
        .map(|call| call.span)
        .find(|span| is_sync(span) && span.end_ns <= window.end_ns);
    let own = activity.passes.iter().filter(|other| other.file == pass.file);
    let syncs = Syncs::new(activity, own, moves_data, last_component);
    Part {
        tgid: pass.tgid,
        tids: Vec::new(),
        fd: pass.fd,
        file: pass.file,
        start_ns: window.start_ns,
        end: PartEnd::At(window.end_ns),
        last_data_ns: last_data.map_or(window.end_ns, |place| pass.steps[place].end_ns).min(window.end_ns),
        sync_inside: sync_inside.map(Box::new),
        sync_after: syncs.after(pass.file, window.end_ns, Some(pass)).map(Box::new),
        close_ns: pass.close.map(|close| close.end_ns),
    }
}
