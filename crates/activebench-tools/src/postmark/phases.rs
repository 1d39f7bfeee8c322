//! Finds PostMark's files in the observed calls.
//!
//! It prints a message before each of its passes: the files of the first are created between the first message and the
//! next one, those of the last are deleted behind the last message. Data is moved from the first to the last, and its
//! rates divide by the time of all.

use std::collections::HashSet;

use activebench_model::activity::{Activity, Pass, Step, StepKind};
use activebench_model::call::open_bits;
use activebench_model::claim::Parsed;
use activebench_model::phase::{
    Direction, NameOperation, NamePass, Part, PartEnd, Phase, Submission, TaskSpan, Window,
};

use super::config::Config;
use crate::adapter::Plan;
use crate::clocked::{clock, ended_ns};
use crate::syncs::last_component;

/// Files that are created before the transactions.
pub(super) const CREATE: &str = "create";
/// The transactions.
pub(super) const TRANSACTIONS: &str = "transactions";
/// Files that are deleted behind the transactions.
pub(super) const DELETE: &str = "delete";
/// Data read from the first file to the last.
pub(super) const READ: &str = "read";
/// Data written from the first file to the last.
pub(super) const WRITE: &str = "write";

/// Returns the plan of a command.
pub(super) fn plan(config: &Config) -> Plan {
    let notes = match config.runs {
        None => vec!["its commands are not known".to_owned()],
        Some(0) => vec!["its commands run nothing".to_owned()],
        Some(_) => Vec::new(),
    };
    Plan { phases: all(config), notes }
}

fn all(config: &Config) -> Vec<Phase> {
    let named = |id: &str, operation, requested| Phase {
        clock: "whole seconds from before the first file to behind the last".to_owned(),
        submission: Submission::Synchronous,
        names: Some(NamePass { operation, requested, spans: Vec::new() }),
        ..Phase::planned(id, id, Direction::None)
    };
    let data = |id: &str, direction| Phase {
        clock: "whole seconds from before the first file is created to behind the last that is deleted".to_owned(),
        submission: Submission::Synchronous,
        ..Phase::planned(id, id, direction)
    };
    let requested = config.runs.map(|_| config.number);
    vec![
        named(CREATE, NameOperation::Create, requested),
        Phase {
            clock: "whole seconds of the transactions".to_owned(),
            ..Phase::planned(TRANSACTIONS, TRANSACTIONS, Direction::Mixed)
        },
        named(DELETE, NameOperation::Delete, None),
        data(READ, Direction::Read),
        data(WRITE, Direction::Write),
    ]
}

/// See [`crate::Adapter::phases`].
pub(super) fn phases(config: &Config, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
    let claimed: HashSet<&str> = parsed.claims.iter().map(|claim| claim.phase.as_str()).collect();
    let found = match config.runs {
        Some(runs) if runs > 1 => Err(format!("{runs} runs follow each other, and only the first report is read")),
        _ => Found::new(activity),
    };
    let mut phases = all(config);
    phases.retain(|phase| claimed.contains(phase.id.as_str()));
    for phase in &mut phases {
        let outcome = match &found {
            Ok(found) => found.complete(phase),
            Err(why) => Err(why.clone()),
        };
        if let Err(why) = outcome {
            phase.incomplete = Some(why);
        }
    }
    phases
}

struct Found<'a> {
    tgid: u32,
    passes: Vec<&'a Pass>,
    /// From the first file to the last deletion.
    whole: Window,
    /// From the first file to the message behind the last one.
    creation: Option<Window>,
    /// From the last message before the last deletion to that.
    deletion: Option<Window>,
}

impl<'a> Found<'a> {
    fn new(activity: &'a Activity) -> Result<Self, String> {
        let is_own_name = |name: &str| {
            let name = last_component(name);
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
        };
        let mut passes = activity.passes_named(is_own_name);
        passes.retain(|pass| pass.open.is_some());
        passes.sort_by_key(|pass| opened_ns(pass));
        let Some(first) = passes.iter().find(|pass| pass.open_flags & open_bits::CREATE != 0) else {
            let why = if activity.passes.is_empty() { "no calls were observed" } else { "no file was created" };
            return Err(why.to_owned());
        };
        let (tgid, start_ns) = (first.tgid, opened_ns(first));
        passes.retain(|pass| pass.tgid == tgid);
        let unlinks = activity
            .unlinks
            .iter()
            .filter(|unlink| unlink.span.tid == tgid && unlink.span.start_ns >= start_ns && is_own_name(&unlink.name));
        let deleted = unlinks.map(|unlink| (unlink.span.start_ns, unlink.span.end_ns)).max();
        let closed_ns = passes.iter().map(|pass| ended_ns(pass)).max().unwrap_or(start_ns);
        let end_ns = deleted.map_or(closed_ns, |(_, end_ns)| end_ns.max(closed_ns));
        let mut messages: Vec<u64> = activity
            .output_writes
            .iter()
            .filter(|write| write.tgid == tgid && write.fd == 1)
            .map(|write| write.span.start_ns)
            .collect();
        messages.sort_unstable();
        let creation = messages.iter().find(|at_ns| **at_ns > start_ns && **at_ns < end_ns);
        let deletion = deleted.and_then(|(last_ns, end_ns)| {
            let before = messages.iter().rfind(|at_ns| **at_ns > start_ns && **at_ns < last_ns)?;
            Some(Window { start_ns: *before, end_ns })
        });
        Ok(Self {
            tgid,
            passes,
            whole: Window { start_ns, end_ns },
            creation: creation.map(|end_ns| Window { start_ns, end_ns: *end_ns }),
            deletion,
        })
    }

    /// Adds the window of a phase, and its parts or spans.
    fn complete(&self, phase: &mut Phase) -> Result<(), String> {
        if phase.id == TRANSACTIONS {
            return Err("a transaction is two steps of PostMark, of which the calls do not show every one".to_owned());
        }
        if let Some(names) = &mut phase.names {
            let window = if names.operation == NameOperation::Create { self.creation } else { self.deletion };
            let window = window.ok_or("PostMark's messages between its passes were not observed")?;
            let Window { start_ns, end_ns } = window;
            names.spans = vec![TaskSpan { tgid: self.tgid, tids: Vec::new(), start_ns, end_ns }];
            phase.window = Some(window);
            return Ok(());
        }
        // The files are the same in both directions: what is read was written before.
        let mut parts: Vec<Part> = self.passes.iter().filter_map(|pass| part(pass)).collect();
        let last = parts.last().cloned().ok_or("no data was moved")?;
        // Its clock runs from the first file to the last, whichever of them move data in this direction.
        parts.push(clock(&last, self.whole));
        phase.parts = parts;
        phase.window = Some(self.whole);
        Ok(())
    }
}

fn part(pass: &Pass) -> Option<Part> {
    let moved = |step: &&Step| matches!(step.kind, StepKind::Read | StepKind::Write);
    let last_data_ns = pass.steps.iter().filter(moved).map(|step| step.end_ns).max()?;
    Some(Part {
        tgid: pass.tgid,
        tids: Vec::new(),
        fd: pass.fd,
        file: pass.file,
        start_ns: opened_ns(pass),
        end: PartEnd::At(ended_ns(pass)),
        last_data_ns,
        sync_inside: None,
        sync_after: None,
        close_ns: pass.close.map(|close| close.end_ns),
    })
}

fn opened_ns(pass: &Pass) -> u64 {
    pass.open.map_or(u64::MAX, |open| open.start_ns)
}
