//! # What it finds
//! A device that is not in a state fit for measurement: an array that is being rebuilt or checked or lacks a member,
//! a btrfs that lacks one, a disk that is too hot or being reset. If the profile requires preconditioning, also a
//! device without it.
//!
//! # Why it matters
//! The figure describes a device that is busy with itself, or only a part of the device.
//!
//! # How it decides
//! It uses what the layers below the file report after the run:
//!
//! - `md/sync_action` other than `idle` and `frozen`: it fails, and rates claimed for storage are unverifiable.
//! - `md/degraded` above 0, or a btrfs member that is `missing`: it fails, and they are misleading.
//! - An NVMe controller that is not `live`, a SCSI disk that is not `running`, or a temperature alarm: it fails, and
//!   they are unverifiable.
//! - Errors that btrfs has counted on a member: a note, because btrfs never forgets them.
//!
//! A profile with preconditioning (SNIA PTS) requires that twice the size of the device was written to it before the
//! pass. Otherwise it fails, and rates are unverifiable. The bytes counted are those observed at the device in
//! earlier passes of the run, and in the preconditioning before it (`--destroy DEVICE`). Tools write only whole
//! blocks. A remainder of the device smaller than a block of 128 KiB, or of an earlier pass's own size, need not be
//! written. It is undecided when calls outside the known passes wrote enough to have done it.
//!
//! It is not applicable where no layer below reports its state, and undecided where a state could not be read.
//!
//! # When it is wrong
//! The states are read after the run, so a rebuild that ended just before is not seen. An empty array that the
//! distribution checks once a month is honest, and slow. Preconditioning by an earlier run of the user's own is not
//! seen.
//!
//! # What to do
//! Let the array finish or replace the member, cool the disk, precondition the device, and repeat the run.
//!
//! # References
//! Documentation/admin-guide/md.rst; drivers/nvme/host/hwmon.c; SNIA PTS 2.0.2 (purge and preconditioning).

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding, Threshold};
use activebench_model::hardware::{State, StateKind};
use activebench_model::host::Target;
use activebench_model::phase::{Direction, Phase};
use activebench_model::preparation::Preparation;
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Weight, of_each_phase, seen};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Inference, Judge};
use crate::run::Run;

/// The facts that show preconditioning: bytes at the device in earlier passes, and bytes written by the calls of the
/// passes and of the whole run. The states come from the host's own files.
const FACTS: &[FactName] = &[FactName::DeviceWriteBytes, FactName::DeviceWriteBytesDurable, FactName::WriteBytes];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB606",
    name: "device-not-fit",
    title: "The device is not ready to be measured",
    explained_by: &[],
    source: include_str!("device_not_fit.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Circumstances(&[Inference::DeviceSettings]),
    decides: Decides::Nothing,
    correction: Some(Correction {
        rank: 200,
        honest: Honest::None("the rate of the whole device was not measured"),
        measured_instead: |_, _| "an incomplete device",
    }),
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Vec<Finding>, Halt> {
    seen(phase)?;
    let case = &case.concerning_storage()?;
    let target = case.run.known_target(phase)?;
    let mut findings = Vec::new();
    if case.thresholds().requires_preconditioning {
        findings.push(preconditioned(case, phase, target).unwrap_or_else(|halt| case.halted(halt)));
    }
    let of_states = &case.resting_on(Vec::new());
    match states(of_states, target) {
        Ok(told) => findings.extend(told),
        // The preconditioning that the profile requires was judged.
        Err(Halt::NotApplicable(_)) if !findings.is_empty() => {}
        Err(halt) => findings.push(of_states.halted(halt)),
    }
    Ok(findings)
}

fn states(case: &Case<'_>, target: &Target) -> Result<Vec<Finding>, Halt> {
    let hardware = case.run.manifest.host.hardware.as_ref();
    let hardware = hardware.ok_or_else(|| Halt::undecided("This run did not record the state of the devices."))?;
    let below =
        |state: &&State| state.device == target.s_dev || target.layers.iter().any(|layer| layer.device == state.device);
    let told: Vec<&State> = hardware.states.iter().filter(below).collect();
    let mut findings = Vec::new();
    let mut not_understood = None;
    for state in &told {
        match finding_of(case, state) {
            Ok(finding) => findings.extend(finding),
            Err(halt) => not_understood = Some(halt),
        }
    }
    if !findings.is_empty() {
        return Ok(findings);
    }
    if let Some(halt) = not_understood {
        return Err(halt);
    }
    if let Some(why) = hardware.unread_of(STATE_FILES) {
        return Err(Halt::undecided(format!("A state of the device was not read: {why}.")));
    }
    if told.is_empty() {
        return Err(Halt::not_applicable("No device below the file reports a state."));
    }
    Ok(vec![case.silent("")])
}

/// Parts of paths that identify state files.
const STATE_FILES: &[&str] = &["/md/", "/state", "_alarm", "/sys/fs/btrfs", "/sys/dev/block"];

/// Returns the finding on a state that makes its device unfit; `None` when the state is good.
///
/// # Errors
/// When this version does not know the kernel's value.
fn finding_of(case: &Case<'_>, state: &State) -> Result<Option<Finding>, Halt> {
    const BUSY: &str = "The device was busy with its own work, which changes the figure.";
    const A_PART: &str = "The figure is that of the remaining part of the device.";
    let (name, value) = (state.name.as_str(), state.value.as_str());
    let not_understood =
        || Halt::undecided(format!("The state {value:?} of {name} is not understood ({}).", state.source));
    let number = match state.kind {
        StateKind::ArrayDegraded | StateKind::MemberMissing | StateKind::TemperatureAlarm => {
            Some(value.parse::<u64>().map_err(|_| not_understood())?)
        }
        StateKind::MemberErrors => Some(errors(value).ok_or_else(not_understood)?),
        StateKind::ArraySync | StateKind::Controller | StateKind::ScsiDisk => None,
    };
    let told = match state.kind {
        StateKind::ArraySync => !matches!(value, "idle" | "frozen"),
        StateKind::Controller => value != "live",
        StateKind::ScsiDisk => value != "running",
        _ => number != Some(0),
    };
    if !told {
        return Ok(None);
    }
    let busy = Weight::Fail(Effect::Unverifiable);
    let (weight, message, meaning, advice) = match state.kind {
        StateKind::ArraySync => {
            (busy, format!("The array {name} was busy: {value}"), BUSY, "wait until it is idle, and repeat the run")
        }
        StateKind::ArrayDegraded => (
            Weight::Fail(Effect::Misleading),
            format!("The array {name} is degraded: {value} of its members are missing"),
            A_PART,
            "replace the missing members, wait for the rebuild, and repeat the run",
        ),
        StateKind::MemberMissing => (
            Weight::Fail(Effect::Misleading),
            format!("A member is missing: {name}"),
            A_PART,
            "replace it (`btrfs replace`), and repeat the run",
        ),
        StateKind::Controller => (
            busy,
            format!("The controller {name} is {value}, not live"),
            BUSY,
            "check the kernel's log for resets of the controller",
        ),
        StateKind::ScsiDisk => (
            busy,
            format!("The disk {name} is {value}, not running"),
            BUSY,
            "check the kernel's log for errors of the disk",
        ),
        StateKind::TemperatureAlarm => (
            busy,
            format!("A temperature alarm is on: {name}"),
            "A hot disk reduces its speed, which changes the figure.",
            "cool it, and repeat the run",
        ),
        StateKind::MemberErrors => (
            Weight::Note,
            format!("The member {name} counts errors: {value}"),
            "The member failed since its counters were last reset.",
            "check `btrfs device stats` and the kernel's log",
        ),
    };
    Ok(Some(case.fires(Firing {
        weight,
        observed: number.map(Quantity::count),
        threshold: Threshold { value: Quantity::count(0), source: "a device that is fit".to_owned() },
        message: format!("{message} ({}).", state.source),
        meaning: meaning.to_owned(),
        advice: advice.to_owned(),
    })))
}

/// Returns the sum of the counters in `write_errs 0, read_errs 2, ...`; `None` when one is not a number.
fn errors(value: &str) -> Option<u64> {
    value.split(',').map(|counter| counter.split_whitespace().last()?.parse::<u64>().ok()).sum()
}

/// Block size of the standard's preconditioning (SNIA PTS 2.0.2: 128 KiB sequential writes).
const BLOCK_BYTES: u64 = 128 << 10;

/// Bytes of a device that whole blocks fill: fio ends a pass before a block that does not fit (io_u.c, `io_u_fits`,
/// 3.33).
fn in_whole_blocks(size_bytes: u64, block_bytes: u64) -> f64 {
    let block_bytes = block_bytes.max(1);
    ((size_bytes / block_bytes).max(1) * block_bytes) as f64
}

/// Judges whether enough was written to the device before the pass, by the run itself or during its preparation.
fn preconditioned(case: &Case<'_>, phase: &Phase, target: &Target) -> Result<Finding, Halt> {
    let device = target.device().ok_or_else(|| Halt::not_applicable("There is no block device below the file."))?;
    let size = device.size_bytes.filter(|size| *size > 0);
    let size = size.ok_or_else(|| Halt::undecided(format!("The size of {} is not known.", device.name)))?;
    let start = phase.window.map(|window| window.start_ns);
    let start = start.ok_or_else(|| Halt::undecided("The start of the pass is not known."))?;
    let limit = &case.thresholds().ab606_preconditioning_least_ratio;
    let mut block = BLOCK_BYTES;
    let mut written = beforehand(case, target)?;
    if written >= in_whole_blocks(size, block) * limit.value.value {
        return Ok(case.resting_on(Vec::new()).silent(""));
    }
    for other in case.run.phases {
        let on_it = case.run.target_of(other).is_some_and(|one| one.s_dev == target.s_dev);
        if on_it && other.window.is_some_and(|window| window.end_ns <= start) {
            // Bytes that a sync after the pass wrote to the device count as well.
            let until_durable = case.run.fact(other, FactName::DeviceWriteBytesDurable)?;
            let of_pass = case.run.fact(other, FactName::DeviceWriteBytes)?.max(until_durable);
            if of_pass > 0.0 {
                block = block.max(other.block_bytes.unwrap_or(0));
            }
            written += of_pass;
        }
    }
    let needed = in_whole_blocks(size, block) * limit.value.value;
    if written >= needed {
        return Ok(case.silent(""));
    }
    let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
    // Another tool of the same run may have preconditioned it, or a pass that was not found.
    let beside = beside_the_passes(case, start)?;
    if written + beside >= needed {
        return Err(Halt::undecided(format!(
            "Calls outside the known passes wrote {}. It is not known whether they wrote to {} before this pass.",
            in_bytes(beside),
            device.name
        )));
    }
    Ok(case.fires(Firing {
        weight: Weight::Fail(Effect::Unverifiable),
        observed: Some(Quantity::ratio(written / size as f64)),
        threshold: limit.clone(),
        message: format!(
            "{} was written to {} before this pass. Its size is {}.",
            in_bytes(written),
            device.name,
            Quantity::bytes(size)
        ),
        meaning: "A device without preconditioning is faster than in its steady state.".to_owned(),
        advice: format!(
            "purge {0}, write twice its size sequentially, then measure: `--destroy` with the path of {0} does all \
             three",
            device.name
        ),
    }))
}

/// Bytes written to the device when it was prepared for the run.
fn beforehand(case: &Case<'_>, target: &Target) -> Result<f64, Halt> {
    let preparation = case.run.manifest.preparation.as_ref();
    let of_target = |preparation: &&Preparation| {
        target.s_dev == preparation.number || target.layers.iter().any(|layer| layer.device == preparation.number)
    };
    match preparation.filter(of_target) {
        None => Ok(0.0),
        Some(preparation) => preparation.preconditioning.written_bytes.ok_or_else(|| {
            Halt::undecided(format!(
                "The writes of the preconditioning of {} were not observed completely.",
                preparation.device
            ))
        }),
    }
}

/// Bytes that the run's calls wrote outside the passes that are known to be before or after `start_ns`.
fn beside_the_passes(case: &Case<'_>, start_ns: u64) -> Result<f64, Halt> {
    let run = &case.run;
    let mut beside = run.facts.complete(FactName::WriteBytes)?;
    for pass in run.phases.iter().filter(|pass| matches!(pass.direction, Direction::Write | Direction::Mixed)) {
        if pass.window.is_some_and(|window| window.end_ns <= start_ns || window.start_ns >= start_ns) {
            beside -= run.fact(pass, FactName::WriteBytes)?;
        }
    }
    Ok(beside.max(0.0))
}
