//! Converts the observed calls to phases: assigns passes over the file to iozone's passes.
//!
//! Passes are identified by their order, which iozone fixes, and accepted only if their
//! number and direction agree with the plan: a wrong window is worse than none.

use std::collections::HashMap;

use activebench_model::activity::{Activity, CallSpan, Pass};
use activebench_model::claim::Parsed;
use activebench_model::phase::{Part, PartEnd, Phase};

use super::catalogue::Kind;
use super::children::throughput_phases;
use super::files::{Observed, started_ns};
use super::options::Options;
use super::parts::{agrees, part, union};
use super::plan::{self, Planned};
use super::window::{clock, untimed_start_ns};

/// See [`crate::Adapter::phases`].
pub(super) fn phases(options: &Options, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
    let observed = Observed::new(options, activity);
    let throughput = options.is_throughput() || parsed.claims.iter().any(|claim| claim.phase.starts_with('t'));
    if throughput { throughput_phases(options, parsed, &observed) } else { single_phases(options, parsed, &observed) }
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
            Some(Ok(pass)) => single_part(pass, planned, options, observed).map(|found| (*pass, found)),
            Some(Err(why)) => Err(why.clone()),
            None => Err(observed.nothing().to_owned()),
        };
        let mut phase = plan::phase(planned, options);
        match outcome {
            Ok((pass, (part, doubt))) => {
                phase.untimed_start_ns = untimed_start_ns(pass, part.start_ns, phase.untimed_start_ns);
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

/// Assigns each expected pass (`None`: one that iozone does not time) its observed pass.
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
    // The counts differ. iozone calls sync(2) before each row, which divides the passes into
    // rows; a row with the right count is still certain.
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
                    // From here on the order differs from the plan.
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
    // They are in order.
    let first_after = |at_ns| syncs.get(syncs.partition_point(|sync| sync.start_ns <= at_ns));
    for pass in passes {
        let start_ns = started_ns(pass);
        let cut = match previous_ns {
            None => true,
            Some(previous) => first_after(previous).is_some_and(|sync| sync.start_ns < start_ns),
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
