//! # What it finds
//! Data that moved on a path which the observation does not decode: mapped files, io_uring,
//! asynchronous I/O.
//!
//! # Why it matters
//! What was not seen can neither confirm nor refute a figure; nor is a sync missing that went
//! a way that nobody watched.
//!
//! # How it decides
//! A phase with `mappings` above 0 of its own files: its claims are unverifiable, unless the device answers: it moved
//! all that the tool says it moved while the clock ran (then that is what was seen), or next to nothing of it (AB201 for
//! reads; AB301 and AB302 for writes that no sync inside the clock took there). Calls into
//! any other undecoded path by the tree: all claims are, since the calls do not say which pass
//! they belong to. It warns. Mappings of libraries and programs do not count.
//!
//! # When it is wrong
//! A tool may use such a path outside its measurement.
//!
//! # What to do
//! Choose an engine of plain calls for the run that is to be verified (iozone without `-B`).
//!
//! # References
//! aquasecurity/tracee #309; Darshan counts mmaps and not their I/O.

use activebench_model::advice::Improvement;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::units::Quantity;

use crate::advice::wording::advise;
use crate::cases::run::{Case, Firing, Halt, Weight, fact_if_any, of_each_seen_phase};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::evidence::mapped_files::{self, Mapped};
use crate::run::Run;

const FACTS: &[FactName] = &mapped_files::FACTS;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB901",
    name: "blind-path",
    source: include_str!("blind_path.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Everything,
    correction: None,
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    let limit = &run.thresholds.ab901_blind_calls_count;
    let mut findings = of_each_seen_phase(&DETECTOR, run, |case, phase| {
        if matches!(run.manifest.coverage.backend.as_str(), "" | "none") {
            return Err(Halt::undecided("nothing was observed: it is not known on which path data moved"));
        }
        let mappings = fact_if_any(phase, FactName::Mappings)?.unwrap_or(0.0);
        if mappings <= limit.value.value {
            return Ok(case.silent(""));
        }
        if !matches!(mapped_files::of(run, phase)?, Some(Mapped::Open) | None) {
            return Ok(case.silent("what moved through the mapping is told by what the device did"));
        }
        Ok(case.fires(Firing {
            weight: Weight::WarnWith(Effect::Unverifiable),
            observed: Some(Quantity { value: mappings, ..Quantity::count(0) }),
            threshold: limit.clone(),
            message: format!(
                "the phase mapped its files {mappings} times; data that moves through a mapping shows in 0 calls"
            ),
            meaning: "the figure can be neither confirmed nor refuted from the calls".to_owned(),
            advice: advise(run, Some(phase), Improvement::AvoidMappings),
        }))
    });
    // The tool's libraries are mapped too: of mappings only those of the phases' files count.
    let used: Vec<String> = run
        .manifest
        .coverage
        .blind_paths
        .iter()
        .filter(|path| path.path != "mmap" && path.calls as f64 > limit.value.value)
        .map(|path| format!("{} ({} calls)", path.path, path.calls))
        .collect();
    if !used.is_empty() {
        let calls: u64 =
            run.manifest.coverage.blind_paths.iter().filter(|path| path.path != "mmap").map(|path| path.calls).sum();
        let case = Case::of_run(&DETECTOR, run).concerning(run.parsed.claims.iter().collect());
        findings.push(case.fires(Firing {
            weight: Weight::WarnWith(Effect::Unverifiable),
            observed: Some(Quantity::count(calls)),
            threshold: limit.clone(),
            message: format!("the tool used {}, of which 0 are decoded", used.join(", ")),
            meaning: "what moved that way was not seen: the figures can be neither confirmed nor refuted".to_owned(),
            advice: "choose an engine of plain reads and writes where the figure is to be verified".to_owned(),
        }));
    }
    findings
}
