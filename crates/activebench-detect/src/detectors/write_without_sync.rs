//! # What it finds
//! A writing pass that goes through the page cache and syncs nothing inside its clock.
//!
//! # Why it matters
//! The figure will be the rate of copying into memory, until the memory is full.
//!
//! # How it decides
//! From the command line, before the run: no option asks for O_DIRECT, O_SYNC, O_DSYNC, or a sync inside the clock.
//! It warns. After the run, AB301 and AB302 report what was durable, and when.
//!
//! # When it is wrong
//! It is wrong when the figure is meant to describe the page cache. With `--subject cached-filesystem` it is silent.
//!
//! # What to do
//! Bring the sync inside the clock (iozone `-e -c`, fio `--end_fsync=1`, bonnie++ 1.03 `-b`).
//!
//! # References
//! IO500 rule 6; IOR tutorial: 41,326 MiB/s become 2,937.89 with `-e`.

use activebench_model::advice::Improvement;
use activebench_model::finding::{Effect, Finding, Threshold};
use activebench_model::phase::{Mechanism, Submission};
use activebench_model::units::Quantity;

use crate::advice::wording::advise;
use crate::cases::plan::{of_each_planned, promise, writes};
use crate::cases::run::{Firing, Halt, Weight};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::run::Run;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB803",
    name: "write-without-sync",
    title: "Nothing syncs the written data",
    explained_by: &[],
    source: include_str!("write_without_sync.rs"),
    judge: Judge::CommandLine(judge_command),
    facts: &[],
    basis: Basis::Statements,
    decides: Decides::Nothing,
    correction: None,
    improvement: None,
    questions: &[],
};

fn judge_command(run: &Run<'_>) -> Vec<Finding> {
    of_each_planned(&DETECTOR, run, |case, phase| {
        if !writes(phase) || phase.submission == Submission::Nothing {
            return Err(Halt::not_applicable("The pass writes nothing."));
        }
        if phase.block_bytes == Some(1) {
            return Err(Halt::not_applicable("A pass of one byte per call measures the CPU."));
        }
        if run.manifest.choices.subject.is_some_and(|subject| !subject.is_storage()) {
            return Err(Halt::not_applicable("The figures are not about storage (`--subject`)."));
        }
        let durable = promise(phase, |mechanism| {
            matches!(mechanism, Mechanism::DirectIo | Mechanism::SyncWrites | Mechanism::DataSyncWrites)
                || mechanism.syncs_inside_clock()
                || (mechanism == Mechanism::SynchronousMsync && phase.submission == Submission::Mapped)
        });
        if durable.is_some() {
            return Ok(case.silent(""));
        }
        Ok(case.fires(Firing {
            weight: Weight::Warn(Effect::Misleading),
            observed: None,
            threshold: Threshold { value: Quantity::count(1), source: "one sync inside the clock".to_owned() },
            message: "No option makes the writes durable inside the clock.".to_owned(),
            meaning: "The figure will be the rate of copying into the page cache.".to_owned(),
            advice: advise(run, None, Improvement::SyncInsideClock),
        }))
    })
}
