//! # What it finds
//! A sync that made the data durable, but only after the tool's clock had stopped.
//!
//! # Why it matters
//! "No fsync was seen" and "no fsync was timed" are different findings, and the second is more common. The figure
//! counts bytes that the storage had not yet written.
//!
//! # How it decides
//! (`durable_span_ns` - `window_ns`) / `window_ns` is the time that the sync continued after the clock, as a share of
//! the clock's time. Above 1 % it warns, above 5 % it fails. In both cases the claim is misleading: the share depends
//! on how busy writeback was, but the clock left out the sync either way. The durable rate is all bytes of the pass,
//! including those after the clock, over the durable span.
//!
//! It does not judge:
//!
//! - passes that wrote all bytes with O_DIRECT (the device has them; AB303 checks its cache), O_SYNC or O_DSYNC;
//! - a parent's figure whose own clock (bytes over figure) ran past the sync;
//! - a pass that syncs as it goes (fio's `fsync=N`) and leaves less unsynced at its end than AB301 allows.
//!
//! # When it is wrong
//! It is wrong when the sync waited for data of another program; AB601 shows others at the device.
//!
//! # What to do
//! Bring the sync inside the clock (`iozone -e -c`), or quote the durable rate.
//!
//! # References
//! iozone documents `-e` and `-c` because its default leaves flush and close out; IO500 rule 6.

use activebench_model::advice::Improvement;
use activebench_model::claim::{Claim, Metric};
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::host::Tier;
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::Quantity;

use crate::advice::wording::advise;
use crate::cases::run::{Case, Firing, Halt, Weight, fact_if_any, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge};
use crate::evidence::mapped_files::{self, Mapped};
use crate::evidence::rebuilt_figure::operations;
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::Window,
    FactName::DurableSpan,
    FactName::WriteBytes,
    FactName::UntimedBytes,
    FactName::UnsyncedBytes,
    FactName::SyncsInside,
    FactName::DirectShare,
    FactName::SyncWriteShare,
    FactName::Mappings,
];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB302",
    name: "sync-outside-clock",
    title: "The sync is missing from the figure",
    explained_by: &["AB106"],
    source: include_str!("sync_outside_clock.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::RatesOfStorage,
    correction: Some(Correction {
        rank: 40,
        honest: Honest::Durable,
        measured_instead: |_, _| "copying into the page cache",
    }),
    improvement: Some(Improvement::SyncInsideClock),
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

/// Returns the claims whose own clock stopped before the sync ended. A parent's clock runs on after the tasks' clocks
/// and may cover their syncs; its length follows from its figure.
fn timed_without<'a>(case: &Case<'a>, phase: &Phase, span: f64) -> Result<Vec<&'a Claim>, String> {
    let run = &case.run;
    let nearly = span / (1.0 + run.thresholds.ab302_late_sync_warn_ratio.value.value);
    let mut claims = Vec::new();
    for claim in case.claims() {
        let amount = match claim.metric {
            Metric::ParentThroughput => run.moved(phase)?,
            Metric::ParentOperationRate => operations(run, phase)?,
            _ => {
                claims.push(*claim);
                continue;
            }
        };
        if amount * 1e9 < claim.value.value * nearly {
            claims.push(claim);
        }
    }
    Ok(claims)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    if !matches!(phase.direction, Direction::Write | Direction::Mixed) {
        return Err(Halt::not_applicable("The pass does not write."));
    }
    let case = &case.concerning_storage()?;
    let (run, limits) = (&case.run, case.thresholds());
    if run.target_of(phase).is_some_and(|target| target.tier == Tier::Memory) {
        return Err(Halt::not_applicable("The file is in memory. See AB106."));
    }
    if let Some(Mapped::Unsynced { written, synced_later }) = mapped_files::of(run, phase)? {
        if !synced_later {
            return Err(Halt::not_applicable("No sync made the bytes durable. See AB301."));
        }
        return Ok(case.resting_on(mapped_files::FACTS.to_vec()).fires(Firing {
            weight: Weight::Fail(Effect::Misleading),
            observed: None,
            threshold: limits.ab302_late_sync_fail_ratio.clone(),
            message: format!(
                "{} was written through a mapping. The sync came after the clock had stopped.",
                Quantity { value: written, ..Quantity::bytes(0) }
            ),
            meaning: "The figure is the rate of writing memory.".to_owned(),
            advice: advise(run, None, Improvement::SyncInsideClock),
        }));
    }
    run.moved(phase)?;
    let written = run.fact(phase, FactName::WriteBytes)?;
    if written == 0.0 {
        return Err(Halt::not_applicable("No byte was written."));
    }
    if run.fact(phase, FactName::DirectShare)? >= 1.0 {
        return Err(Halt::not_applicable("All bytes were written with O_DIRECT."));
    }
    if run.fact(phase, FactName::SyncWriteShare)? >= 1.0 {
        return Err(Halt::not_applicable("All bytes were written with O_SYNC or O_DSYNC."));
    }
    let window = run.fact(phase, FactName::Window)?;
    let span = match run.fact(phase, FactName::DurableSpan) {
        Ok(span) => span,
        Err(why) => {
            let unsynced = run.fact(phase, FactName::UnsyncedBytes)?;
            if unsynced > written * limits.ab301_unsynced_warn_ratio.value.value {
                return Err(Halt::not_applicable("No sync made the bytes durable. See AB301."));
            }
            if unsynced > 0.0 && run.fact(phase, FactName::SyncsInside)? > 0.0 {
                return Ok(case.silent("All but the end was synced while the clock ran. AB301 checks that end."));
            }
            return Err(Halt::undecided(why));
        }
    };
    if window <= 0.0 {
        return Err(Halt::undecided("The pass does not have a measurable duration."));
    }
    let late = (span - window) / window;
    if late <= limits.ab302_late_sync_warn_ratio.value.value {
        return Ok(case.silent(""));
    }
    let (weight, threshold) = match late > limits.ab302_late_sync_fail_ratio.value.value {
        true => (Weight::Fail(Effect::Misleading), &limits.ab302_late_sync_fail_ratio),
        false => (Weight::WarnWith(Effect::Misleading), &limits.ab302_late_sync_warn_ratio),
    };
    let case = &case.concerning(timed_without(case, phase, span)?);
    if case.claims().is_empty() {
        return Ok(case.silent("The parent's clock ran past the sync."));
    }
    let bytes = written + fact_if_any(phase, FactName::UntimedBytes)?.unwrap_or(0.0);
    let rate = Quantity::rate(bytes, span).map_or_else(String::new, |rate| format!(" The durable rate is {rate}."));
    let tool = run.tool();
    let in_ns = |value| Quantity { value, ..Quantity::ns(0) };
    Ok(case.fires(Firing {
        weight,
        observed: Some(Quantity::ratio(late)),
        threshold: threshold.clone(),
        message: format!(
            "{tool} stopped its clock after {}. The {} was on the disk {} later.{rate}",
            in_ns(window),
            Quantity { value: bytes, ..Quantity::bytes(0) },
            in_ns(span - window)
        ),
        meaning: "The figure excludes the time that the disk needed to store the data.".to_owned(),
        advice: advise(run, None, Improvement::SyncInsideClock),
    }))
}
