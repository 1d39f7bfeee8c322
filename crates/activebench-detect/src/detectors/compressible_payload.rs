//! # What it finds
//! Written data that compresses to a much smaller size, or consists of zeros.
//!
//! # Why it matters
//! Storage that compresses data, or does not store zeros, moves only a part of it. The figure then describes the
//! payload and not the storage.
//!
//! # How it decides
//! It uses samples of the first 4 KiB of writes (32 of them, or all). It reports when less than half is left after
//! compression, or more than 1 % of the samples are zeros. If something below reports that it compresses (btrfs with
//! a compress option, zram, ZFS), it fails, and rates claimed for storage are misleading. Elsewhere it is a note,
//! because a device need not report compression.
//!
//! It is silent when the device received all bytes written (98 %, counting copies of the file system's own RAID).
//! Then nothing was compressed above it, whatever the options and samples say.
//!
//! # When it is wrong
//! It looks only at the beginning of each write, and compresses each sample on its own.
//!
//! # What to do
//! Let the tool write random data (iozone `-+w 0 -+y 0 -+C 0`, fio `--refill_buffers`).
//!
//! # References
//! IO500 rule 7; ior #203; fio #1539. iozone's default buffers are more than 99 % zeros: 512 MiB took 18 MiB on btrfs
//! with zstd (measured).

use activebench_model::advice::Improvement;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::phase::Phase;
use activebench_model::units::Quantity;

use crate::advice::wording::advise;
use crate::cases::run::{Case, Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge};
use crate::evidence::payload::{COMPRESSION, by_payload};
use crate::run::Run;

const FACTS: &[FactName] =
    &[FactName::PayloadSamples, FactName::PayloadCompressed, FactName::PayloadZeroShare, FactName::WriteCalls];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB404",
    name: "compressible-payload",
    title: "The data is compressible",
    explained_by: &["AB406"],
    source: include_str!("compressible_payload.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::ObservedFirst(COMPRESSION),
    decides: Decides::RatesOfStorage,
    correction: Some(Correction {
        rank: 180,
        honest: Honest::None("the rate for incompressible data was not measured"),
        measured_instead: |_, _| "storing compressed data",
    }),
    improvement: Some(Improvement::RandomPayload),
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    by_payload(case, phase, COMPRESSION, |case, packer| by_samples(case, phase, packer))
}

fn by_samples(case: &Case<'_>, phase: &Phase, packer: Option<&str>) -> Result<Finding, Halt> {
    let (run, limits) = (&case.run, case.thresholds());
    let left = run.fact(phase, FactName::PayloadCompressed)?;
    let zeros = run.fact(phase, FactName::PayloadZeroShare)?;
    let (observed, threshold) = match zeros > limits.ab404_zeros_most_ratio.value.value {
        true => (zeros, &limits.ab404_zeros_most_ratio),
        false if left < limits.ab404_compressed_least_ratio.value.value => (left, &limits.ab404_compressed_least_ratio),
        false => return Ok(case.silent("")),
    };
    Ok(case.fires(Firing {
        weight: if packer.is_some() { Weight::Fail(Effect::Misleading) } else { Weight::Note },
        observed: Some(Quantity::ratio(observed)),
        threshold: threshold.clone(),
        message: format!(
            "Compression leaves {} of the written data, and {} of the samples are zeros.{}",
            Quantity::ratio(left),
            Quantity::ratio(zeros),
            packer.map_or_else(String::new, |packer| format!(" The storage compresses data ({packer})."))
        ),
        meaning: match packer.is_some() {
            true => "The storage moved only a part of these bytes.".to_owned(),
            false => "A device that compresses data would move only a part of these bytes.".to_owned(),
        },
        advice: advise(run, None, Improvement::RandomPayload),
    }))
}
