//! Finds hdparm's timings among the reads of each device.
//!
//! hdparm syncs the device after each timing, which separates the reads of one from those of the next. `-T` reads one
//! block before its clock.

use activebench_model::activity::{Activity, Pass, Step, StepKind};
use activebench_model::claim::Parsed;
use activebench_model::phase::{Part, PartEnd, Phase, Window};

use super::options::Options;
use super::timings::{READ_BYTES, Timing};
use crate::adapter::Plan;

/// Returns the plan of a command.
pub(super) fn plan(options: &Options) -> Plan {
    let phases = (1..=options.devices.len())
        .flat_map(|device| timings(options).map(move |timing| timing.phase(device, options.direct)));
    Plan { phases: phases.collect(), notes: Vec::new() }
}

/// Returns the timings of each device, in their order.
fn timings(options: &Options) -> impl Iterator<Item = Timing> + use<> {
    let wanted = [(options.cached, Timing::Cached), (options.disk, Timing::Disk)];
    wanted.into_iter().filter(|(wanted, _)| *wanted).map(|(_, timing)| timing)
}

/// See [`crate::Adapter::phases`].
pub(super) fn phases(options: &Options, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
    let mut phases = Vec::new();
    for (device, name) in (1..).zip(&options.devices) {
        for timing in timings(options) {
            let mut phase = timing.phase(device, options.direct);
            let is_claimed = parsed.claims.iter().any(|claim| claim.phase == phase.id);
            match found(timing, options, device, name, activity) {
                Ok((part, excluded_ns)) => {
                    phase.excluded_ns = excluded_ns;
                    let end_ns = part.last_data_ns;
                    phase.window = Some(Window { start_ns: part.start_ns, end_ns });
                    phase.parts = vec![part];
                }
                Err(_) if !is_claimed => continue,
                Err(why) => phase.incomplete = Some(why),
            }
            phases.push(phase);
        }
    }
    phases
}

fn found(
    timing: Timing,
    options: &Options,
    device: usize,
    name: &str,
    activity: &Activity,
) -> Result<(Part, u64), String> {
    let earlier = options.devices[..device - 1].iter().filter(|other| *other == name).count();
    let pass = passes_over(name, activity).nth(earlier).ok_or_else(|| match activity.passes.is_empty() {
        true => "no calls were observed".to_owned(),
        false => "no reads of the device were observed".to_owned(),
    })?;
    let steps: Vec<&Step> = reads(pass).collect();
    let step = match (steps.as_slice(), timing) {
        ([priming, step, ..], Timing::Cached) if priming.calls == 1 => step,
        ([step], Timing::Disk) if !options.cached => step,
        ([priming, _, step], Timing::Disk) if options.cached && priming.calls == 1 => step,
        _ => return Err("the reads of the device do not come as the timings of the command do".to_owned()),
    };
    let part = Part {
        tgid: pass.tgid,
        tids: Vec::new(),
        fd: pass.fd,
        file: pass.file,
        start_ns: step.start_ns,
        end: PartEnd::At(step.end_ns),
        last_data_ns: step.end_ns,
        sync_inside: None,
        sync_after: None,
        close_ns: pass.close.map(|close| close.end_ns),
    };
    // Behind the reads of -T hdparm repeats its seeks without them, and takes the time of that out of its clock.
    let excluded_ns = match timing {
        Timing::Cached => step.last_end_ns.saturating_sub(step.end_ns),
        Timing::Disk => 0,
    };
    Ok((part, excluded_ns))
}

fn passes_over<'a>(name: &'a str, activity: &'a Activity) -> impl Iterator<Item = &'a Pass> {
    activity.passes_named(|other| other == name).into_iter().filter(|pass| reads(pass).next().is_some())
}

fn reads(pass: &Pass) -> impl Iterator<Item = &Step> {
    let is_own =
        |step: &&Step| step.kind == StepKind::Read && step.head.iter().any(|call| call.requested == READ_BYTES);
    pass.steps.iter().filter(is_own)
}
