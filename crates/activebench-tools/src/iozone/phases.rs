//! The observed calls, turned into phases: which pass of the file is which pass of iozone.
//!
//! Passes are told by their order, which iozone fixes, and accepted only where their
//! number and their direction agree with the plan: a wrong window is worse than none.

use std::collections::HashMap;

use activebench_model::activity::{Activity, CallSpan, Pass, StepKind};
use activebench_model::call::open_bits;
use activebench_model::claim::Parsed;
use activebench_model::phase::{Direction, Part, PartEnd, Phase, Window};

use super::catalogue::Kind;
use super::children::throughput_phases;
use super::files::{Observed, started_ns};
use super::options::Options;
use super::plan::{self, Planned};
use super::window::{Clock, clock};

/// See [`crate::Adapter::phases`].
pub(super) fn phases(options: &Options, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
    let observed = Observed::new(options, activity);
    let throughput = options.is_throughput() || parsed.claims.iter().any(|claim| claim.phase.starts_with('t'));
    if throughput { throughput_phases(options, parsed, &observed) } else { single_phases(options, parsed, &observed) }
}

/// Which way a pass moves data; `None` for a mapped file, whose data moves without calls.
fn moved_direction(pass: &Pass) -> Option<Direction> {
    if pass.steps.iter().any(|step| step.kind == StepKind::Map) {
        return None;
    }
    let moved = |kind| pass.steps.iter().any(|step| step.kind == kind && step.calls > 0);
    match (moved(StepKind::Read), moved(StepKind::Write)) {
        (true, false) => Some(Direction::Read),
        (false, true) => Some(Direction::Write),
        _ => Some(Direction::Mixed),
    }
}

pub(super) fn agrees(pass: &Pass, planned: &Planned) -> bool {
    let wanted = planned.kind.direction();
    match moved_direction(pass) {
        None => wanted != Direction::Write || pass.open_flags & open_bits::WRITABLE != 0,
        Some(direction) => wanted == Direction::Mixed || direction == wanted,
    }
}

fn single_phases(options: &Options, parsed: &Parsed, observed: &Observed<'_>) -> Vec<Phase> {
    let groups = plan::single(options, parsed);
    let expected: Vec<Vec<Option<&Planned>>> = groups
        .iter()
        .map(|group| {
            group
                .passes
                .iter()
                .flat_map(|planned| {
                    // Test 3 runs twice; only the first run is timed.
                    let untimed = planned.kind == Kind::BackwardRead && !options.no_retest;
                    std::iter::once(Some(planned)).chain(untimed.then_some(None))
                })
                .collect()
        })
        .collect();
    let assigned: HashMap<&str, Result<&Pass, String>> = assign(&expected, observed, parsed.complete)
        .into_iter()
        .map(|found| (found.planned.id.as_str(), found.pass))
        .collect();
    let mut phases = Vec::new();
    for planned in groups.iter().flat_map(|group| &group.passes) {
        let outcome = match assigned.get(planned.id.as_str()) {
            Some(Ok(pass)) => single_part(pass, planned, options, observed),
            Some(Err(why)) => Err(why.clone()),
            None => Err(observed.nothing().to_owned()),
        };
        let mut phase = plan::phase(planned, options);
        match outcome {
            Ok((part, doubt)) => {
                phase.incomplete = doubt;
                phase.parts = vec![part];
                phase.window = union(&phase.parts);
            }
            Err(_) if !planned.claimed => continue,
            Err(why) => phase.incomplete = Some(why),
        }
        phases.push(phase);
    }
    phases
}

struct Assigned<'p, 'a> {
    planned: &'p Planned,
    pass: Result<&'a Pass, String>,
}

/// Gives each expected pass (`None`: one that iozone does not time) its observed pass.
fn assign<'p, 'a>(
    expected: &[Vec<Option<&'p Planned>>],
    observed: &Observed<'a>,
    complete: bool,
) -> Vec<Assigned<'p, 'a>> {
    let passes = observed.data_passes();
    if passes.is_empty() {
        return Vec::new();
    }
    let all: Vec<_> = expected.iter().flatten().copied().collect();
    if all.len() == passes.len() {
        return pair(&all, &passes, observed);
    }
    // The counts differ. iozone calls sync(2) before each row, which cuts the passes into
    // rows; a row whose count is right is still certain.
    let rows = cut_at_syncs(&passes, &observed.activity.global_syncs);
    let mut assigned = Vec::new();
    if rows.len() > expected.len() {
        let why = format!("{} passes over the file were observed and {} expected", passes.len(), all.len());
        return all.into_iter().flatten().map(|planned| Assigned { planned, pass: Err(why.clone()) }).collect();
    }
    for (index, (row, found)) in expected.iter().zip(&rows).enumerate() {
        let broke_off = index + 1 == rows.len() && !complete && found.len() < row.len();
        if row.len() == found.len() || broke_off {
            assigned.extend(pair(row, found, observed));
        } else {
            let why = format!("{} passes over the file were observed and {} expected", found.len(), row.len());
            assigned.extend(row.iter().flatten().map(|planned| Assigned { planned, pass: Err(why.clone()) }));
        }
    }
    assigned
}

fn pair<'p, 'a>(
    expected: &[Option<&'p Planned>],
    passes: &[&'a Pass],
    observed: &Observed<'_>,
) -> Vec<Assigned<'p, 'a>> {
    let mut out_of_step = false;
    expected
        .iter()
        .enumerate()
        .filter_map(|(index, planned)| {
            let planned = (*planned)?;
            let pass = match passes.get(index) {
                None => Err(observed.nothing().to_owned()),
                Some(pass) if !out_of_step && agrees(pass, planned) => Ok(*pass),
                Some(_) => {
                    // From here on the order is not what the plan says.
                    out_of_step = true;
                    Err(format!("the observed pass in the place of {} moves data another way", planned.name))
                }
            };
            Some(Assigned { planned, pass })
        })
        .collect()
}

fn cut_at_syncs<'a>(passes: &[&'a Pass], syncs: &[CallSpan]) -> Vec<Vec<&'a Pass>> {
    let mut rows: Vec<Vec<&Pass>> = Vec::new();
    let mut previous_ns = None;
    for pass in passes {
        let start_ns = started_ns(pass);
        let cut = match previous_ns {
            None => true,
            Some(previous) => syncs.iter().any(|sync| sync.start_ns > previous && sync.start_ns < start_ns),
        };
        match rows.last_mut() {
            Some(row) if !cut => row.push(pass),
            _ => rows.push(vec![pass]),
        }
        previous_ns = Some(start_ns);
    }
    rows
}

fn single_part(
    pass: &Pass,
    planned: &Planned,
    options: &Options,
    observed: &Observed<'_>,
) -> Result<(Part, Option<String>), String> {
    let clock = clock(pass, planned, options)?;
    let mut doubt = clock.doubt.clone();
    if let (Some(moved), Some(wanted)) = (clock.bytes, planned.moved_bytes())
        && moved < wanted
    {
        doubt = Some(format!("the pass moved {moved} of {wanted} bytes"));
    }
    let end = PartEnd::At(clock.end_ns);
    Ok((part(pass, &clock, end, clock.end_ns, Vec::new(), observed), doubt))
}

/// `stopped_ns` is from where a later sync is looked for.
pub(super) fn part(
    pass: &Pass,
    clock: &Clock,
    end: PartEnd,
    stopped_ns: u64,
    tids: Vec<u32>,
    observed: &Observed<'_>,
) -> Part {
    Part {
        tgid: pass.tgid,
        tids,
        fd: pass.fd,
        file: pass.file,
        start_ns: clock.start_ns,
        end,
        last_data_ns: clock.last_data_ns,
        sync_inside: clock.sync_inside,
        sync_after: observed.sync_after(pass, stopped_ns),
        close_ns: pass.close.map(|close| close.end_ns),
    }
}

pub(super) fn union(parts: &[Part]) -> Option<Window> {
    let mut window: Option<Window> = None;
    for part in parts {
        let PartEnd::At(end_ns) = part.end else { return None };
        let (start_ns, end_ns) = (part.start_ns, end_ns.max(part.start_ns));
        window = Some(match window {
            None => Window { start_ns, end_ns },
            Some(window) => Window { start_ns: window.start_ns.min(start_ns), end_ns: window.end_ns.max(end_ns) },
        });
    }
    window
}
