//! # What it finds
//! Data that moved on a path that activebench does not decode: mapped files, io_uring, asynchronous I/O.
//!
//! # Why it matters
//! I/O that was not observed can neither confirm nor refute a figure. A sync on such a path is not observed either,
//! so it cannot be called missing.
//!
//! # How it decides
//! It warns, and the claims are unverifiable, in two cases:
//!
//! - The phase mapped its own files (`mappings` above 0). Its claims are unverifiable unless the device gives the
//!   answer. It does when it moved all the bytes that the tool reports while the clock ran; these then count as
//!   observed. It also does when it moved next to nothing: AB201 judges such reads, AB301 and AB302 judge writes that
//!   no sync inside the clock took to the device. Mappings of libraries and programs do not count.
//! - The process tree made calls into any other undecoded path: requests of io_uring without plain data, lists of
//!   requests past the budget of a call, calls of the x32 ABI (docs/io-paths.md). All claims of the run are
//!   unverifiable, because the calls do not show which pass they belong to. Where a tracer observed and kernel programs
//!   decode all of these paths (io_uring), it is undecided instead.
//!
//! # When it is wrong
//! A tool may use such a path outside its measurement.
//!
//! # What to do
//! For the run to be verified, choose an engine that uses plain calls (iozone without `-B`).
//!
//! # References
//! aquasecurity/tracee #309; Darshan counts mmaps and not their I/O.

use activebench_model::advice::Improvement;
use activebench_model::coverage::{Backend, BlindPath};
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::units::Quantity;

use crate::advice::wording::advise;
use crate::cases::run::{Case, Firing, Halt, Weight, fact_if_any, of_each_seen_phase};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::evidence::mapped_files::{self, Mapped};
use crate::evidence::traced::{SHOWN_BY, is_traced};
use crate::judge::seven_questions::count;
use crate::run::Run;

const FACTS: &[FactName] = &mapped_files::FACTS;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB901",
    name: "blind-path",
    title: "Some data moved unobserved",
    explained_by: &[],
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
        if run.manifest.coverage.backend == Backend::None {
            return Err(Halt::undecided("Nothing was observed, so the path of the data is not known."));
        }
        let mappings = fact_if_any(phase, FactName::Mappings)?.unwrap_or(0.0);
        if mappings <= limit.value.value {
            return Ok(case.silent(""));
        }
        if !matches!(mapped_files::of(run, phase)?, Some(Mapped::Open) | None) {
            return Ok(case.silent("The requests at the device show the data that moved through the mapping."));
        }
        let times = count(mappings as usize, "mapping");
        Ok(case.fires(Firing {
            weight: Weight::WarnWith(Effect::Unverifiable),
            observed: Some(Quantity { value: mappings, ..Quantity::count(0) }),
            threshold: limit.clone(),
            message: format!(
                "The pass mapped its files ({times}). Data that moves through a mapping is visible in no call."
            ),
            meaning: "The calls can neither confirm nor refute the figure.".to_owned(),
            advice: advise(run, Some(phase), Improvement::AvoidMappings),
        }))
    });
    // The tool's libraries are mapped too: only mappings of the phases' files count.
    let counts = |path: &&BlindPath| path.path != "mmap" && path.calls as f64 > limit.value.value;
    let paths: Vec<&BlindPath> = run.manifest.coverage.blind_paths.iter().filter(counts).collect();
    if !paths.is_empty() {
        let case = Case::of_run(&DETECTOR, run).concerning(run.parsed.claims.iter().collect());
        let used: Vec<String> = paths.iter().map(|path| format!("{} ({} calls)", path.path, path.calls)).collect();
        let used = used.join(", ");
        // The observation lacks something, and not the run.
        if is_traced(run) && paths.iter().all(|path| path.is_decoded_by_kernel_programs()) {
            findings.push(case.halted(Halt::undecided(format!(
                "The tool used {used}. A tracer does not see what moved this way (hint: {SHOWN_BY})."
            ))));
            return findings;
        }
        findings.push(
            case.fires(Firing {
                weight: Weight::WarnWith(Effect::Unverifiable),
                observed: Some(Quantity::count(paths.iter().map(|path| path.calls).sum())),
                threshold: limit.clone(),
                message: format!("The tool used {used}. activebench decodes 0 of these calls."),
                meaning: "Data that moved this way was not observed. The figures can be neither confirmed nor refuted."
                    .to_owned(),
                advice: "choose an engine of plain reads and writes to verify the figure".to_owned(),
            }),
        );
    }
    findings
}
