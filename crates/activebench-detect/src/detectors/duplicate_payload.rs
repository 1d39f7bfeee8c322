//! # What it finds
//! The same data written again and again.
//!
//! # Why it matters
//! Storage that deduplicates keeps one copy. The figure then describes the payload and not the storage.
//!
//! # How it decides
//! It uses samples of the first 4 KiB of writes (32 of them, or all), and computes the share that equals another
//! sample. If something below is known to compress or deduplicate, above 1 % it warns. Above 10 % it fails, and rates
//! claimed for storage are misleading. Elsewhere more than 1 % is a note, because a device need not report what it
//! does.
//!
//! It is silent when the device received all bytes written (98 %, counting copies of the file system's own RAID).
//! Then nothing was reduced above it, whatever the options and samples say.
//!
//! # When it is wrong
//! Two equal samples can be far apart in a stream that a device deduplicates only within a window.
//!
//! # What to do
//! Let the tool write other data each time (fio `--refill_buffers`, iozone `-+w 0`).
//!
//! # References
//! IO500 rule 7; fio: `refill_buffers` is off by default, `scramble_buffers` changes a little of each.

use activebench_model::advice::Improvement;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::phase::Phase;
use activebench_model::units::Quantity;

use crate::advice::wording::advise;
use crate::cases::run::{Case, Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge};
use crate::evidence::payload::{DUPLICATION, by_payload};
use crate::run::Run;

const FACTS: &[FactName] = &[FactName::PayloadSamples, FactName::PayloadDuplicates, FactName::WriteCalls];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB405",
    name: "duplicate-payload",
    title: "The same data was written repeatedly",
    explained_by: &["AB406"],
    source: include_str!("duplicate_payload.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::ObservedFirst(DUPLICATION),
    decides: Decides::Nothing,
    correction: Some(Correction {
        rank: 190,
        honest: Honest::None("the rate for incompressible data was not measured"),
        measured_instead: |_, _| "storing data once",
    }),
    improvement: Some(Improvement::RandomPayload),
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    by_payload(case, phase, DUPLICATION, |case, packer| by_samples(case, phase, packer))
}

fn by_samples(case: &Case<'_>, phase: &Phase, packer: Option<&str>) -> Result<Finding, Halt> {
    let (run, limits) = (&case.run, case.thresholds());
    let duplicates = run.fact(phase, FactName::PayloadDuplicates)?;
    if duplicates <= limits.ab405_duplicates_warn_ratio.value.value {
        return Ok(case.silent(""));
    }
    let fails = duplicates > limits.ab405_duplicates_fail_ratio.value.value;
    let weight = match (packer.is_some(), fails) {
        (false, _) => Weight::Note,
        (true, false) => Weight::Warn(Effect::Misleading),
        (true, true) => Weight::Fail(Effect::Misleading),
    };
    Ok(case.fires(Firing {
        weight,
        observed: Some(Quantity::ratio(duplicates)),
        threshold: if fails { &limits.ab405_duplicates_fail_ratio } else { &limits.ab405_duplicates_warn_ratio }
            .clone(),
        message: format!(
            "{} of the sampled writes repeat the data of another one.{}",
            Quantity::ratio(duplicates),
            packer.map_or_else(String::new, |packer| format!(
                " The storage compresses or deduplicates data \
                                                              ({packer})."
            ))
        ),
        meaning: "Storage that keeps one copy would move only a part of these bytes.".to_owned(),
        advice: advise(run, None, Improvement::RandomPayload),
    }))
}
