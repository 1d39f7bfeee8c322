//! The tests of the large file in the observed calls.
//!
//! Each test opens the file anew (1.03: the files, one per GiB; the seekers: each its own) and closes
//! it inside its clock. So descriptors that are open at the same time and move data belong to one test,
//! and the tests come in a fixed order.

use std::collections::HashSet;

use activebench_model::activity::{Activity, CallSpan, Pass, Step, StepKind};
use activebench_model::call::open_bits;
use activebench_model::phase::{Part, PartEnd};

use super::catalogue::Kind;
use super::csv::Generation;
use super::options::Options;
use super::plan::Planned;
use super::progress::Framed;
use crate::syncs::{Syncs, last_component, moves_data};

/// The descriptors of one test.
#[derive(Clone, Debug)]
pub(super) struct Group<'a> {
    pub(super) passes: Vec<&'a Pass>,
    /// Other processes that opened the file and moved no data; several times where they opened it so often.
    pub(super) idle: Vec<u32>,
    /// Entry of the first call that moves data.
    pub(super) first_data_ns: u64,
    /// Exit of the last call, the close included.
    pub(super) end_ns: u64,
}

/// The parts of a test, found in its calls.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) parts: Vec<Part>,
    /// Other processes that opened the file for this test and moved no data.
    pub(super) idle: u32,
    /// Reason why the phase is incomplete.
    pub(super) doubt: Option<String>,
}

/// Returns the descriptors of the large file that move data, test by test.
pub(super) fn groups<'a>(options: &Options, activity: &'a Activity) -> Vec<Group<'a>> {
    let over = activity.passes_named(is_large_file);
    let mut passes: Vec<&Pass> = over.iter().copied().filter(|pass| is_of_large_file(pass, options)).collect();
    passes.sort_by_key(|pass| begun_ns(pass));
    let mut groups: Vec<Group<'a>> = Vec::new();
    for pass in passes {
        let (first_data_ns, end_ns) = (first_data_ns(pass), ended_ns(pass));
        match groups.last_mut() {
            Some(group) if begun_ns(pass) < group.end_ns => {
                group.passes.push(pass);
                group.first_data_ns = group.first_data_ns.min(first_data_ns);
                group.end_ns = group.end_ns.max(end_ns);
            }
            _ => groups.push(Group { passes: vec![pass], idle: Vec::new(), first_data_ns, end_ns }),
        }
    }
    // The first test is that of the main process, which is no seeker.
    let main = groups.first().map(|group| group.passes[0].tgid);
    let is_idle = |pass: &&Pass| data_steps(pass).next().is_none() && pass.open.is_some() && Some(pass.tgid) != main;
    for pass in over.into_iter().filter(is_idle) {
        let after = groups.partition_point(|group| begun_ns(group.passes[0]) <= begun_ns(pass));
        if let Some(group) = after.checked_sub(1).map(|place| &mut groups[place])
            && group.passes.iter().all(|other| other.tgid != pass.tgid)
        {
            group.idle.push(pass.tgid);
        }
    }
    groups
}

/// Returns true for `Bonnie.PID`, in 1.03 `Bonnie.PID.000`.
pub(super) fn is_large_file(name: &str) -> bool {
    last_component(name).strip_prefix("Bonnie.").is_some_and(|rest| {
        let mut numbers = rest.split('.');
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        numbers.next().is_some_and(is_number) && numbers.next().is_none_or(is_number) && numbers.next().is_none()
    })
}

/// Returns true if a pass is over the large file, which every test opens for reading and writing. A small file of
/// the later tests may get its inode: that one is created and contains little, or is opened for reading only.
fn is_of_large_file(pass: &Pass, options: &Options) -> bool {
    let small = options.max_file_bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
    let moved: u64 = data_steps(pass).map(|step| step.bytes).sum();
    let created = pass.open_flags & open_bits::CREATE != 0;
    let opened_to_write = pass.open.is_none() || pass.open_flags & open_bits::WRITABLE != 0;
    data_steps(pass).next().is_some() && opened_to_write && (!created || moved > small)
}

fn data_steps(pass: &Pass) -> impl Iterator<Item = &Step> {
    pass.steps.iter().filter(|step| matches!(step.kind, StepKind::Read | StepKind::Write) && step.calls > 0)
}

fn begun_ns(pass: &Pass) -> u64 {
    pass.open.map_or_else(|| first_data_ns(pass), |open| open.start_ns)
}

fn first_data_ns(pass: &Pass) -> u64 {
    data_steps(pass).map(|step| step.start_ns).min().unwrap_or(u64::MAX)
}

fn ended_ns(pass: &Pass) -> u64 {
    let last_step = pass.steps.iter().map(|step| step.last_end_ns).max();
    pass.close.map(|close| close.end_ns).into_iter().chain(last_step).max().unwrap_or(0)
}

/// Assigns each planned test its descriptors, in the order of `planned`; the error says why there
/// are none. `complete`: true if the output ends like that of a complete run.
pub(super) fn find(
    planned: &[&Planned],
    groups: &[Group<'_>],
    framed: &[Framed],
    complete: bool,
    activity: &Activity,
) -> Vec<Result<Found, String>> {
    let miscounted = match groups.len() {
        0 if activity.passes.is_empty() => Some("no calls were observed".to_owned()),
        0 => Some("no open of the tool's file was observed".to_owned()),
        seen if seen > planned.len() || (complete && seen < planned.len()) => {
            Some(format!("{seen} passes over the file were observed and {} expected", planned.len()))
        }
        _ => None,
    };
    let all = groups.iter().flat_map(|group| group.passes.iter().copied());
    let syncs = Syncs::new(activity, all, moves_data, last_component);
    let mut out_of_step = false;
    planned
        .iter()
        .enumerate()
        .map(|(place, planned)| {
            if let Some(why) = &miscounted {
                return Err(why.clone());
            }
            let group = groups.get(place).ok_or("this pass was not found in the observed calls")?;
            if out_of_step || !agrees(group, planned.kind) {
                // From here on the order differs from the plan.
                out_of_step = true;
                return Err(format!(
                    "the observed pass in the place of {} moves data another way",
                    planned.kind.name()
                ));
            }
            Ok(found(group, planned, framed, &syncs))
        })
        .collect()
}

fn agrees(group: &Group<'_>, kind: Kind) -> bool {
    let moved = |kind| group.passes.iter().any(|pass| data_steps(pass).any(|step| step.kind == kind));
    let (reads, writes) = (moved(StepKind::Read), moved(StepKind::Write));
    match kind {
        Kind::PutChar | Kind::PutBlock => writes && !reads,
        Kind::Rewrite => reads && writes,
        Kind::GetChar | Kind::GetBlock => reads && !writes,
        _ => reads,
    }
}

fn found(group: &Group<'_>, planned: &Planned, framed: &[Framed], syncs: &Syncs<'_>) -> Found {
    let clock = clock(group, planned, framed);
    let parts = group
        .passes
        .iter()
        .map(|pass| {
            // Seekers keep their own time; the figure covers the first start to the last end.
            let (start_ns, end_ns) =
                if planned.kind == Kind::Seeks { (first_call_ns(pass), ended_ns(pass)) } else { clock };
            let last_data_ns = data_steps(pass).map(|step| step.end_ns).max().unwrap_or(start_ns);
            Part {
                tgid: pass.tgid,
                tids: if planned.kind == Kind::Seeks { threads(pass) } else { Vec::new() },
                fd: pass.fd,
                file: pass.file,
                start_ns,
                end: PartEnd::At(end_ns),
                last_data_ns,
                sync_inside: last_sync(pass, last_data_ns).map(Box::new),
                sync_after: syncs.after(pass.file, end_ns, Some(pass)).map(Box::new),
                close_ns: pass.close.map(|close| close.end_ns),
            }
        })
        .collect();
    let idle: HashSet<u32> = group.idle.iter().copied().collect();
    Found { parts, idle: u32::try_from(idle.len()).unwrap_or(u32::MAX), doubt: doubt(group, planned) }
}

/// Returns the threads that moved data; a seeker has a descriptor of its own.
fn threads(pass: &Pass) -> Vec<u32> {
    let mut tids: Vec<u32> = data_steps(pass).flat_map(|step| step.tids.iter().copied()).collect();
    tids.sort_unstable();
    tids.dedup();
    tids
}

/// Returns the window from the message to the `done`, which are next to the tool's own readings of its clock. Without
/// messages, or if they do not match the calls, it is from call to call.
fn clock(group: &Group<'_>, planned: &Planned, framed: &[Framed]) -> (u64, u64) {
    let of_calls = (group.first_data_ns, group.end_ns);
    let Some(said) = framed.iter().find(|said| (said.kind, said.run) == (planned.kind, planned.run)) else {
        return of_calls;
    };
    // The first test's clock starts before its message, the clocks of the others after it.
    let before_message = planned.kind == Kind::PutChar && planned.generation == Generation::Modern;
    let start_ns = if before_message { said.begun.start_ns } else { said.begun.end_ns };
    let end_ns = said.done.start_ns;
    if start_ns <= group.first_data_ns && group.end_ns <= end_ns { (start_ns, end_ns) } else { of_calls }
}

/// Returns the entry of the first call; a seeker seeks before it reads.
fn first_call_ns(pass: &Pass) -> u64 {
    let seeks_and_data = |step: &&Step| matches!(step.kind, StepKind::Seek | StepKind::Read | StepKind::Write);
    let first = pass.steps.iter().find(seeks_and_data);
    first.map_or(u64::MAX, |step| step.head.first().map_or(step.start_ns, |call| call.span.start_ns.min(step.start_ns)))
}

/// Returns the sync between the last data and the close.
fn last_sync(pass: &Pass, last_data_ns: u64) -> Option<CallSpan> {
    pass.steps
        .iter()
        .filter(|step| step.kind == StepKind::Sync)
        .flat_map(|step| &step.head)
        .map(|call| call.span)
        .find(|span| span.op.is_file_sync() && span.returned >= 0 && span.start_ns >= last_data_ns)
}

fn doubt(group: &Group<'_>, planned: &Planned) -> Option<String> {
    if group.passes.iter().any(|pass| pass.close.is_none()) {
        return Some("the close that the clock covers was not seen".to_owned());
    }
    let counted = match planned.kind {
        Kind::PutChar | Kind::PutBlock | Kind::Rewrite => StepKind::Write,
        _ => StepKind::Read,
    };
    let of_pass =
        |pass: &&Pass| data_steps(pass).filter(|step| step.kind == counted).map(|step| step.bytes).sum::<u64>();
    let moved: u64 = group.passes.iter().map(of_pass).sum();
    let wanted = planned.bytes?;
    (moved < wanted).then(|| format!("the pass moved {moved} of {wanted} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_large_file_is_known_by_its_name() {
        for name in ["./Bonnie.645", "Bonnie.645", "/mnt/0/Bonnie.1.003"] {
            assert!(is_large_file(name), "{name}");
        }
        for name in ["Bonnie.", "Bonnie.x", "Bonnie.645/0000000000io23", "Bonnie.1.2.3", "bonnie.1", "Bonnie.1."] {
            assert!(!is_large_file(name), "{name}");
        }
    }
}
