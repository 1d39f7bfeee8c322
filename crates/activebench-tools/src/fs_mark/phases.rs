//! Finds the files of each row in the observed calls. Each task is a process of its own in each row; its clock covers
//! its files from the first open to the last close, or to the syncs behind them, and leaves the deletions out.

use std::collections::{BTreeMap, HashMap, HashSet};

use activebench_model::activity::{Activity, CallSpan, Pass, Step, StepKind};
use activebench_model::call::open_bits;
use activebench_model::claim::Parsed;
use activebench_model::phase::{
    Direction, Division, Mechanism, NameOperation, NamePass, Part, PartEnd, Pattern, Phase, Promise, Submission,
    TaskSpan, Window,
};

use super::options::{Options, Sync};
use crate::adapter::Plan;
use crate::syncs::{Syncs, last_component, moves_data};

/// Returns the id of the phase of a row, counted from 1.
pub(super) fn id(row: u32) -> String {
    if row <= 1 { "files".to_owned() } else { format!("files-{row}") }
}

/// Returns the plan of a command.
pub(super) fn plan(options: &Options) -> Plan {
    Plan { phases: (1..=options.rows).map(|row| phase(options, row)).collect(), notes: Vec::new() }
}

fn phase(options: &Options, row: u32) -> Phase {
    let files = options.files.and_then(|files| files.checked_mul(u64::from(options.tasks)));
    let clock = match options.sync {
        Sync::Behind => "first open to the last sync behind the files",
        _ => "first open to last close",
    };
    let name = if row <= 1 { "files".to_owned() } else { format!("files, row {row}") };
    let is_empty = options.size == 0;
    let direction = if is_empty { Direction::None } else { Direction::Write };
    let promise = Promise { option: options.sync_option.clone(), mechanism: Mechanism::SyncInsideClock };
    Phase {
        // A task that is done deletes its files, and those that others still make get their numbers again: the blocks of a
        // number are not those of one file.
        pattern: if is_empty || options.tasks > 1 { Pattern::Unknown } else { Pattern::Sequential },
        // A file is one operation.
        block_bytes: (!is_empty).then_some(options.size),
        division: Division::into_calls_of((!is_empty).then(|| options.size.min(options.write_bytes))),
        requested_bytes: files.and_then(|files| files.checked_mul(options.size)).filter(|_| !is_empty),
        requested_tasks: options.tasks,
        clock: clock.to_owned(),
        submission: Submission::Synchronous,
        promises: if options.sync == Sync::Nothing || is_empty { Vec::new() } else { vec![promise] },
        names: is_empty.then(|| NamePass { operation: NameOperation::Create, requested: files, spans: Vec::new() }),
        ..Phase::planned(id(row), name, direction)
    }
}

/// See [`crate::Adapter::phases`].
pub(super) fn phases(options: &Options, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
    let found = Found::new(options, activity);
    let claimed: HashSet<&str> = parsed.claims.iter().map(|claim| claim.phase.as_str()).collect();
    let rows = (1..).take_while(|row| claimed.contains(id(*row).as_str()));
    let mut phases = Vec::new();
    for row in rows {
        let mut phase = phase(options, row);
        let first = (row - 1) as usize * options.tasks as usize;
        let tasks: Vec<&Vec<&Pass>> = found.tasks.iter().skip(first).take(options.tasks as usize).collect();
        if tasks.len() < options.tasks as usize {
            let why = match activity.passes.is_empty() {
                true => "no calls were observed".to_owned(),
                false => format!(
                    "{} processes made files, and {} were expected",
                    found.tasks.len(),
                    first + options.tasks as usize
                ),
            };
            phase.incomplete = Some(why);
            phases.push(phase);
            continue;
        }
        let spans: Vec<TaskSpan> = tasks.iter().map(|passes| found.span(passes)).collect();
        let start_ns = spans.iter().map(|span| span.start_ns).min().unwrap_or(0);
        let end_ns = spans.iter().map(|span| span.end_ns).max().unwrap_or(start_ns);
        phase.window = Some(Window { start_ns, end_ns });
        match &mut phase.names {
            Some(names) => names.spans = spans,
            None => {
                let parts = tasks.iter().zip(&spans).flat_map(|(passes, span)| found.parts(passes, span.end_ns));
                phase.parts = parts.collect();
            }
        }
        phases.push(phase);
    }
    phases
}

struct Found<'a> {
    activity: &'a Activity,
    /// The passes that made a file, of each process that made some, both in the order of their opens.
    tasks: Vec<Vec<&'a Pass>>,
    /// The passes that opened a file again, by process.
    again: HashMap<u32, Vec<&'a Pass>>,
    syncs: Syncs<'a>,
}

impl<'a> Found<'a> {
    fn new(options: &Options, activity: &'a Activity) -> Self {
        let is_own_name = |name: &str| {
            options
                .folders
                .iter()
                .any(|folder| name.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/')))
        };
        let mut own = activity.passes_named(is_own_name);
        own.retain(|pass| pass.open.is_some());
        own.sort_by_key(|pass| opened_ns(pass));
        let syncs = Syncs::new(activity, own.iter().copied(), moves_data, last_component);
        let (made, opened): (Vec<&Pass>, Vec<&Pass>) =
            own.into_iter().partition(|pass| pass.open_flags & open_bits::CREATE != 0);
        let mut by_task: BTreeMap<(u64, u32), Vec<&Pass>> = BTreeMap::new();
        let mut first_ns: HashMap<u32, u64> = HashMap::new();
        for pass in made {
            let first_ns = *first_ns.entry(pass.tgid).or_insert_with(|| opened_ns(pass));
            by_task.entry((first_ns, pass.tgid)).or_default().push(pass);
        }
        let mut again: HashMap<u32, Vec<&Pass>> = HashMap::new();
        opened.into_iter().for_each(|pass| again.entry(pass.tgid).or_default().push(pass));
        Self { activity, tasks: by_task.into_values().collect(), again, syncs }
    }

    /// Returns the time that the clock of a task covered.
    fn span(&self, passes: &[&Pass]) -> TaskSpan {
        let tgid = passes.first().map_or(0, |pass| pass.tgid);
        let start_ns = passes.first().map_or(0, |pass| opened_ns(pass));
        let again = self.again.get(&tgid).map_or(&[][..], Vec::as_slice);
        let closed = passes.iter().chain(again).map(|pass| ended_ns(pass));
        let end_ns = closed.max().unwrap_or(start_ns);
        // A sync of the whole system is followed by the fsync of a file.
        let global = self.activity.global_syncs.iter().filter(|span| span.tid == tgid && span.start_ns >= start_ns);
        let end_ns = global.map(|span| span.end_ns).max().unwrap_or(0).max(end_ns);
        TaskSpan { tgid, tids: Vec::new(), start_ns, end_ns }
    }

    /// Returns a part for each file. Each lasts until the next file, so that together they cover what the clock did.
    fn parts(&self, passes: &[&'a Pass], end_ns: u64) -> Vec<Part> {
        let part = |(place, pass): (usize, &&'a Pass)| {
            let written = pass.steps.iter().filter(|step| step.kind == StepKind::Write);
            let last_data_ns = written.map(|step| step.end_ns).max().unwrap_or_else(|| opened_ns(pass));
            let until_ns = passes.get(place + 1).map_or(end_ns, |next| opened_ns(next));
            // A sync behind all files is inside the clock as well.
            let behind = self.syncs.after(pass.file, last_data_ns, Some(pass));
            let inside = own_sync(pass).or(behind.filter(|span| span.end_ns <= end_ns));
            Part {
                tgid: pass.tgid,
                tids: Vec::new(),
                fd: pass.fd,
                file: pass.file,
                start_ns: opened_ns(pass),
                end: PartEnd::At(until_ns),
                last_data_ns,
                sync_inside: inside.map(Box::new),
                sync_after: self.syncs.after(pass.file, end_ns, Some(pass)).map(Box::new),
                close_ns: pass.close.map(|close| close.end_ns),
            }
        };
        passes.iter().enumerate().map(part).collect()
    }
}

fn own_sync(pass: &Pass) -> Option<CallSpan> {
    let steps = pass.steps.iter().filter(|step: &&Step| step.kind == StepKind::Sync);
    steps.flat_map(|step| &step.head).map(|call| call.span).rfind(|span| span.returned >= 0)
}

fn opened_ns(pass: &Pass) -> u64 {
    pass.open.map_or(u64::MAX, |open| open.start_ns)
}

fn ended_ns(pass: &Pass) -> u64 {
    let steps = pass.steps.iter().map(|step| step.last_end_ns);
    pass.close.map(|close| close.end_ns).into_iter().chain(steps).max().unwrap_or(0)
}
