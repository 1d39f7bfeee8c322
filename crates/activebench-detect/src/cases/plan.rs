//! Detectors that ask the command line, before anything ran.

use activebench_model::finding::Finding;
use activebench_model::phase::{Direction, Mechanism, Phase, Promise};

use crate::cases::run::{Case, Halt};
use crate::detector::Detector;
use crate::run::Run;

/// Asks a question of every pass that the command asks for; one finding a pass. Of a run that has begun it
/// is not asked.
pub(crate) fn of_each_planned<'a>(
    detector: &Detector,
    run: &Run<'a>,
    question: impl Fn(&Case<'a>, &'a Phase) -> Result<Finding, Halt>,
) -> Vec<Finding> {
    let of_run = Case::of_run(detector, run);
    if run.manifest.child.pid.is_some() {
        let why = "The run was observed, which shows more than its command line.";
        return vec![of_run.halted(Halt::not_applicable(why))];
    }
    if run.phases.is_empty() {
        return vec![of_run.halted(Halt::not_applicable("The command does not ask for a known pass."))];
    }
    let each = run.phases.iter().map(|phase| {
        let case = Case::of_phase(detector, run, phase);
        read_whole(phase).and_then(|()| question(&case, phase)).unwrap_or_else(|halt| case.halted(halt))
    });
    each.collect()
}

/// Leaves open what rests on options that were not read.
pub(crate) fn read_whole(phase: &Phase) -> Result<(), Halt> {
    match &phase.unread {
        Some(why) => Err(Halt::undecided(format!("Some options of the command are not known: {why}."))),
        None => Ok(()),
    }
}

/// The promise of a kind that an option makes for a pass.
pub(crate) fn promise(phase: &Phase, of_kind: impl Fn(Mechanism) -> bool) -> Option<&Promise> {
    phase.promises.iter().find(|promise| of_kind(promise.mechanism))
}

/// Returns `true` if the pass is to go past the page cache.
pub(crate) fn is_direct(phase: &Phase) -> bool {
    promise(phase, |mechanism| mechanism == Mechanism::DirectIo).is_some()
}

pub(crate) fn writes(phase: &Phase) -> bool {
    matches!(phase.direction, Direction::Write | Direction::Mixed)
}

pub(crate) fn reads(phase: &Phase) -> bool {
    matches!(phase.direction, Direction::Read | Direction::Mixed)
}
