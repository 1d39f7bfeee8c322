//! # What it finds
//! libaio used without O_DIRECT.
//!
//! # Why it matters
//! `io_submit` then returns only when the copy to or from the page cache is done. The requests run one by one while
//! the tool submits them. The tool's own figures still show the requested queue depth.
//!
//! # How it decides
//! From the command line, before the run: the engine needs O_DIRECT to be asynchronous, and no option asks for it. It
//! warns. After the run, AB403 reports the depth that was reached.
//!
//! # When it is wrong
//! A file system could process buffered requests asynchronously. None in Linux 6.18 does.
//!
//! # What to do
//! Add the option for O_DIRECT (fio: `--direct=1`), or use an engine without a queue depth.
//!
//! # References
//! fio 3.33, libaio, depth 32: 1.07 requests in flight with buffered I/O, 7.1 with direct I/O (measured).

use activebench_model::finding::{Effect, Finding, Threshold};
use activebench_model::phase::Submission;
use activebench_model::units::Quantity;

use crate::cases::plan::{is_direct, of_each_planned};
use crate::cases::run::{Firing, Halt, Weight};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::run::Run;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB802",
    name: "asynchronous-through-page-cache",
    title: "Asynchronous I/O is not asynchronous here",
    explained_by: &[],
    source: include_str!("asynchronous_through_page_cache.rs"),
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
        if phase.submission == Submission::Unknown {
            return Err(Halt::undecided("The I/O engine is not known."));
        }
        if phase.submission != Submission::AsynchronousIfDirect {
            return Err(Halt::not_applicable("The engine does not depend on O_DIRECT."));
        }
        if is_direct(phase) {
            return Ok(case.silent(""));
        }
        Ok(case.fires(Firing {
            weight: Weight::Warn(Effect::Misleading),
            observed: None,
            threshold: Threshold { value: Quantity::count(1), source: "io_submit of buffered I/O blocks".to_owned() },
            message: "Without O_DIRECT, libaio completes each request while it is submitted.".to_owned(),
            meaning: "The figure will be that of one operation at a time, at any depth.".to_owned(),
            advice: "add the option for O_DIRECT (fio: `--direct=1`)".to_owned(),
        }))
    })
}
