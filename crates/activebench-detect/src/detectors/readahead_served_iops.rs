//! # What it finds
//! Operations per second that readahead merged into fewer, larger requests.
//!
//! # Why it matters
//! The throughput is right, but the device did not perform so many operations.
//!
//! # How it decides
//! It judges rates of operations claimed on a sequential, buffered read. Requests at the device for less than half of
//! the calls are a note.
//!
//! Where a tracer observed, `device_reads_at_most` stands in for the requests: it can be small, and shows nothing else.
//!
//! # When it is wrong
//! Reads from the page cache need no request either; AB201 reports them.
//!
//! # What to do
//! Quote the throughput, or read with O_DIRECT.
//!
//! # References
//! Documentation/admin-guide/sysfs-block: `read_ahead_kb`.

use activebench_model::claim::{Claim, Metric};
use activebench_model::fact::FactName;
use activebench_model::finding::Finding;
use activebench_model::phase::{Direction, Pattern, Phase};
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::run::Run;

const FACTS: &[FactName] =
    &[FactName::ReadCalls, FactName::DeviceRequests, FactName::DeviceReadsAtMost, FactName::DirectShare];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB407",
    name: "readahead-served-iops",
    title: "Readahead merged the reads",
    explained_by: &["AB201", "AB204"],
    source: include_str!("readahead_served_iops.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: None,
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    if phase.direction != Direction::Read || phase.pattern != Pattern::Sequential {
        return Err(Halt::not_applicable("The pass is not a sequential read."));
    }
    let rates = case.concerning_storage()?;
    let operations = |claim: &&&Claim| claim.metric == Metric::OperationRate;
    let claims: Vec<_> = rates.claims().iter().filter(operations).copied().collect();
    if claims.is_empty() {
        return Err(Halt::not_applicable("No operations per second are claimed."));
    }
    let case = &case.concerning(claims);
    let run = &case.run;
    if run.fact(phase, FactName::DirectShare)? > 0.0 {
        return Err(Halt::not_applicable("Readahead does not serve direct reads."));
    }
    let calls = run.fact(phase, FactName::ReadCalls)?;
    let requests = run.at_most(phase, FactName::DeviceRequests)?;
    if requests == 0.0 || calls == 0.0 {
        return Err(Halt::not_applicable("No request reached the device. See AB201."));
    }
    let limit = &case.thresholds().ab407_requests_note_ratio;
    let share = requests / calls;
    if share >= limit.value.value {
        run.fact(phase, FactName::DeviceRequests)?;
        return Ok(case.silent(""));
    }
    Ok(case.fires(Firing {
        weight: Weight::Note,
        observed: Some(Quantity::ratio(share)),
        threshold: limit.clone(),
        message: format!("{requests} requests at the device served {calls} calls."),
        meaning: "The bytes per second are right. The device made fewer, larger operations.".to_owned(),
        advice: "quote the bytes per second, or read with O_DIRECT".to_owned(),
    }))
}
