//! # What it finds
//! Reads, writes or syncs that failed, or moved less than asked, while the clock ran. The tool reports no error and
//! ends with success.
//!
//! # Why it matters
//! A failed call is fast. A rate that includes calls which did not do their work does not describe the storage.
//!
//! # How it decides
//! It fails, and the phase's claims are misleading, when all of these are true:
//!
//! - `failed_calls` or `short_calls` inside the window is above 0;
//! - the tool's own messages contain no error;
//! - the exit code is 0.
//!
//! It warns, and changes no claim, where no adapter knows the tool: what it prints of errors is not read.
//!
//! Short calls alone are a note when the pass moved all the bytes that were asked for: the tool continued with the
//! rest. A read that ends at the end of the file is not a short call.
//!
//! # When it is wrong
//! It is wrong when a call is meant to fail. iozone's backward test ends with an lseek that fails with EINVAL; seeks
//! are not counted.
//!
//! # What to do
//! Look at the kernel log and at the free space; repeat the run.
//!
//! # References
//! Gregg, active benchmarking: did it error? IO500 declares a run invalid on any IOR error.

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::units::Quantity;

use crate::cases::run::{Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge, Question};
use crate::run::Run;

const FACTS: &[FactName] = &[FactName::FailedCalls, FactName::ShortCalls, FactName::ReadBytes, FactName::WriteBytes];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB105",
    name: "errors-swallowed",
    title: "Calls failed, and the tool does not say so",
    explained_by: &[],
    source: include_str!("errors_swallowed.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: Some(Correction {
        rank: 270,
        honest: Honest::None("the time of the failed calls is not known"),
        measured_instead: |_, _| "a pass with failed calls",
    }),
    improvement: None,
    questions: &[Question::DidItError],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, |case, phase| {
        let failed = case.run.fact(phase, FactName::FailedCalls)?;
        let short = case.run.fact(phase, FactName::ShortCalls)?;
        let limit = &case.thresholds().ab105_unreported_calls_count;
        if failed + short <= limit.value.value {
            return Ok(case.silent(""));
        }
        if let Some(error) = run.parsed.errors.first() {
            return Ok(case.silent(format!(
                "{failed} calls failed and {short} were short. The tool reports errors itself ({} line {}).",
                error.source.stream, error.source.line
            )));
        }
        if run.manifest.child.exit_code.is_none() && run.manifest.child.signal.is_none() {
            return Err(Halt::undecided("Calls failed or were short. The exit code of the tool is not known."));
        }
        if run.manifest.child.exit_code != Some(0) {
            return Ok(case.silent(format!(
                "{failed} calls failed and {short} were short. The tool did not exit with \
                                     success."
            )));
        }
        let whole = match phase.requested_bytes {
            Some(requested) => case.run.moved(phase)? >= requested as f64,
            None => false,
        };
        let resumed = failed == 0.0 && whole;
        Ok(case.fires(Firing {
            weight: match resumed {
                true => Weight::Note,
                false if case.run.has_adapter() => Weight::Fail(Effect::Misleading),
                false => Weight::WarnOfRun,
            },
            observed: Some(Quantity { value: failed + short, ..Quantity::count(0) }),
            threshold: limit.clone(),
            message: format!(
                "While the clock ran, {failed} calls failed and {short} moved less than requested. {} exit code 0.",
                if case.run.has_adapter() { "The tool reports 0 errors and" } else { "The tool ends with" }
            ),
            meaning: match resumed {
                true => "The tool repeated the rest, so all requested bytes moved.".to_owned(),
                false => "A part of the work behind the figure was not done.".to_owned(),
            },
            advice: "check the kernel log and the free space of the file system, and repeat the run".to_owned(),
        }))
    })
}
