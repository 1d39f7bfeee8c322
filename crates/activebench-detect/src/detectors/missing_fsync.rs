//! # What it finds
//! Bytes written that no sync ever made durable.
//!
//! # Why it matters
//! When a write returns, the data is in the page cache. Without a sync, the storage may not have received it when the
//! clock stopped. A file that is deleted while dirty never reaches the storage.
//!
//! # How it decides
//! It warns when `unsynced_bytes` is above 1 % of `write_bytes`, and fails above 5 %: a tool that syncs every N writes
//! leaves the last ones to the cache, and its rate is at most this share too high. A byte counts as synced if one of
//! these covered it:
//!
//! - a successful fsync, fdatasync or msync;
//! - an O_SYNC or O_DSYNC write;
//! - a completed O_DIRECT write.
//!
//! This must happen before a later pass writes the file again, the file is deleted, or the tool ends.
//!
//! Where it fails, rates claimed for storage are misleading. For the file system with its cache it is a note.
//!
//! In a pass through a mapping no call shows the bytes. There it reports when no sync was seen and the device took
//! less than 5 % of what the tool reports as written.
//!
//! # When it is wrong
//! A sync on a path that is not decoded is not seen: see AB901. The kernel's own writeback may reach the device
//! later. That changes nothing, because nobody waited for it.
//!
//! # What to do
//! Bring an fsync inside the clock (`iozone -e -c`; with `-c` alone there is none at all).
//!
//! # References
//! bonnie++ 1.03 without `-b`: 2 GiB "written", 0 bytes at the device (measured). IO500 rule 6, MLPerf's fsync rule;
//! IOR tutorial: 41,326 MiB/s become 2,937.89 with `-e`.

use activebench_model::advice::Improvement;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::host::Tier;
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::Quantity;

use activebench_model::claim::Subject;

use crate::advice::wording::advise;
use crate::cases::run::{Case, Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge};
use crate::evidence::mapped_files::{self, Mapped};
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::WriteBytes,
    FactName::UnsyncedBytes,
    FactName::SyncedBytes,
    FactName::DeviceWriteBytesDurable,
    FactName::Mappings,
];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB301",
    name: "missing-fsync",
    title: "Data was never made durable",
    explained_by: &["AB106"],
    source: include_str!("missing_fsync.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::RatesOfStorage,
    correction: Some(Correction {
        rank: 30,
        honest: Honest::None("no sync made the bytes durable, so there is no durable rate"),
        measured_instead: |_, _| "copying into the page cache",
    }),
    improvement: Some(Improvement::SyncInsideClock),
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    if !matches!(phase.direction, Direction::Write | Direction::Mixed) {
        return Err(Halt::not_applicable("The pass does not write."));
    }
    let run = &case.run;
    if run.target_of(phase).is_some_and(|target| target.tier == Tier::Memory) {
        return Err(Halt::not_applicable("The file is in memory. See AB106."));
    }
    let storage = case.concerning_storage().ok();
    let cached = |claim: &&&activebench_model::claim::Claim| run.subject_of(claim) == Subject::CachedFilesystem;
    if storage.is_none() && case.claims().iter().filter(cached).count() == 0 {
        return Err(Halt::not_applicable("No figure of this pass is about written data."));
    }
    if let Some(Mapped::Unsynced { written, synced_later }) = mapped_files::of(run, phase)? {
        if synced_later {
            return Err(Halt::not_applicable("A sync came after the clock had stopped. See AB302."));
        }
        let case = storage.as_ref().unwrap_or(case).resting_on(mapped_files::FACTS.to_vec());
        return Ok(case.fires(unsynced_mapping(run, written, storage.is_some())));
    }
    run.moved(phase)?;
    let written = run.fact(phase, FactName::WriteBytes)?;
    if written == 0.0 {
        return Err(Halt::not_applicable("No byte was written."));
    }
    let unsynced = run.fact(phase, FactName::UnsyncedBytes)?;
    let share = unsynced / written;
    let limits = case.thresholds();
    if share <= limits.ab301_unsynced_warn_ratio.value.value {
        return Ok(case.silent(""));
    }
    let most = share > limits.ab301_unsynced_fail_ratio.value.value;
    let limit = if most { &limits.ab301_unsynced_fail_ratio } else { &limits.ab301_unsynced_warn_ratio };
    let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
    let unreached = match run.fact(phase, FactName::DeviceWriteBytesDurable) {
        Ok(reached) if reached < written => format!(
            " {} had not reached the disk when the file was overwritten or deleted, or the tool ended.",
            in_bytes(written - reached)
        ),
        _ => String::new(),
    };
    let case = storage.as_ref().unwrap_or(case);
    Ok(case.fires(Firing {
        weight: match (storage.is_some(), most) {
            (true, true) => Weight::Fail(Effect::Misleading),
            (true, false) => Weight::Warn(Effect::Misleading),
            (false, _) => Weight::Note,
        },
        observed: Some(Quantity::ratio(share)),
        threshold: limit.clone(),
        message: format!(
            "{} was written, and no sync made {} of it durable.{unreached}",
            in_bytes(written),
            in_bytes(unsynced)
        ),
        meaning: match most {
            true => "The figure is the rate of copying into the page cache.".to_owned(),
            false => format!("The figure is up to {} too high.", Quantity::ratio(share / (1.0 - share))),
        },
        advice: advise(run, None, Improvement::SyncInsideClock),
    }))
}

fn unsynced_mapping(run: &Run<'_>, written: f64, of_storage: bool) -> Firing {
    let written = Quantity { value: written, ..Quantity::bytes(0) };
    Firing {
        weight: if of_storage { Weight::Fail(Effect::Misleading) } else { Weight::Note },
        observed: Some(Quantity::ratio(1.0)),
        threshold: run.thresholds.ab301_unsynced_fail_ratio.clone(),
        message: format!("{written} was written through a mapping, and no sync made it durable."),
        meaning: "The figure is the rate of writing memory.".to_owned(),
        advice: advise(run, None, Improvement::SyncInsideClock),
    }
}
