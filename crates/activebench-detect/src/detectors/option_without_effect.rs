//! # What it finds
//! An option that promises a mechanism of which the calls show nothing.
//!
//! # Why it matters
//! The reader takes the figure for what the option says: "direct", "synchronous", "cold".
//!
//! # How it decides
//! It checks each promise of the phase against one fact:
//!
//! | promise | shown by |
//! | --- | --- |
//! | O_DIRECT | `direct_ratio` at least 99.9 %; of writes, all but the rest behind the last whole block (with a sync inside the clock if there is no whole block) |
//! | O_SYNC, O_DSYNC (writing passes) | `sync_write_ratio` at least 99.9 % |
//! | a sync inside the clock (writing passes) | `syncs_inside` or `msyncs` above 0, or a sync found in the pass |
//! | a sync after each N writes (writing passes) | `syncs_inside` and `msyncs` at least 90 % of `write_calls` / N, less one and the writes in flight per task; nothing is promised where that is below 1 |
//! | mapped files | `mappings` above 0 |
//! | msync for each record (writing passes) | `mappings` and `msyncs` above 0 |
//! | page cache purged (reading passes) | `resident_at_start_bytes` below half of the bytes read |
//! | data that compresses by a percentage (writing passes) | what compression leaves of the samples differs by at most 15 points |
//! | data with a percentage of duplicates (writing passes) | duplicates among the samples are at most 15 points more, or 4 standard deviations of the draw (binomial); fewer only where all writes were sampled |
//! | random data for each write | compression leaves at least 85 % of the samples, and at most 15 % are duplicates |
//! | CPU cache purged (reading passes) | nothing promised for storage: warns when 5 % of reads came from the page cache |
//!
//! It warns when a promise was not kept. It fails, and the claims are misleading, when they depend on the mechanism:
//! storage rates on O_DIRECT, syncs and a purged page cache, durable-write rates on msync. AB403 judges queue depths.
//! Where the tool divides a write into several calls, the syncs are compared with the blocks that were written.
//!
//! # When it is wrong
//! Closing the file inside the clock leaves no trace and is not checked. Sync promises are not checked for reading
//! passes, where nothing depends on them. Of the data it sees samples of the first 4 KiB (32 of them, or all).
//!
//! # What to do
//! Add the option that the mechanism needs (`iozone -G` needs `-B`), or drop the promise.
//!
//! # References
//! iozone 3.489: `-G` without `-B` makes plain writes, `-p` purges only the CPU cache, `-k` keeps one request in
//! flight per file (measured). bonnie++ `-D` opens directly in two phases only.

use activebench_model::advice::Improvement;
use activebench_model::claim::{Claim, Subject};
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding, Threshold};
use activebench_model::phase::{Direction, Mechanism, Phase, Promise};
use activebench_model::units::Quantity;

use crate::advice::wording::advise;
use crate::cases::plan::read_whole;
use crate::cases::run::{Case, Firing, Halt, Weight, fact_if_any, of_each_phase, seen};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge, Question};
use crate::evidence::payload::enough_samples;
use crate::evidence::rebuilt_figure::operations_in;
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::DirectShare,
    FactName::SyncWriteShare,
    FactName::SyncsInside,
    FactName::Mappings,
    FactName::Msyncs,
    FactName::ResidentAtStart,
    FactName::CacheInsertedBytes,
    FactName::ReadBytes,
    FactName::WriteBytes,
    FactName::WriteCalls,
    FactName::PayloadSamples,
    FactName::PayloadCompressed,
    FactName::PayloadDuplicates,
];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB112",
    name: "option-without-effect",
    title: "An option had no effect",
    explained_by: &[],
    source: include_str!("option_without_effect.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: Some(Correction {
        rank: 110,
        honest: Honest::ByDirection,
        measured_instead: |_, _| "the same pass without the effect of the option",
    }),
    improvement: Some(Improvement::MapFiles),
    questions: &[Question::WasItTuned],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_phase(&DETECTOR, run, |case, phase| {
        if phase.promises.is_empty() {
            read_whole(phase)?;
            return Err(Halt::not_applicable("No option requests a mechanism for this pass."));
        }
        seen(phase)?;
        let (mut fired, mut kept, mut undecided) = (Vec::new(), false, None);
        for promise in &phase.promises {
            match judge(case, phase, promise) {
                Ok(Some(broken)) => fired.push(state(case, promise, broken)),
                Ok(None) => kept = true,
                Err(Halt::NotApplicable(_)) => {}
                Err(halt) => undecided = undecided.or(Some(halt)),
            }
        }
        if let Some(halt) = undecided {
            fired.push(case.halted(halt));
        } else if fired.is_empty() && kept {
            fired.push(case.silent(""));
        } else if fired.is_empty() {
            fired.push(case.halted(Halt::not_applicable("No figure of this pass depends on these options.")));
        }
        Ok(fired)
    })
}

/// A promise that was not kept.
struct Broken {
    /// `true` when the claims depend on it.
    rests: bool,
    observed: Quantity,
    threshold: Threshold,
    /// The rest of the sentence `OPTION promises ...`: the mechanism and what was seen instead.
    seen: String,
    meaning: &'static str,
    advice: String,
}

fn state(case: &Case<'_>, promise: &Promise, broken: Broken) -> Finding {
    // Counts and shares of CPU time do not depend on a storage mechanism.
    let storage = case.concerning_storage().ok().filter(|_| broken.rests);
    storage.as_ref().unwrap_or(case).fires(Firing {
        weight: if broken.rests { Weight::Fail(Effect::Misleading) } else { Weight::Warn(Effect::Misleading) },
        observed: Some(broken.observed),
        threshold: broken.threshold,
        message: format!("`{}` requests {}", promise.option, broken.seen),
        meaning: broken.meaning.to_owned(),
        advice: broken.advice,
    })
}

fn at_least_one() -> Threshold {
    Threshold { value: Quantity::count(1), source: "what the option promises".to_owned() }
}

/// Returns the discrepancy between a promise and the facts; `None` when the promise was kept.
fn judge(case: &Case<'_>, phase: &Phase, promise: &Promise) -> Result<Option<Broken>, Halt> {
    let run = &case.run;
    let limits = case.thresholds();
    let storage = !run.storage_rates_of(phase).is_empty();
    let writes = matches!(phase.direction, Direction::Write | Direction::Mixed);
    let reads = matches!(phase.direction, Direction::Read | Direction::Mixed);
    let nothing_rests = || Halt::not_applicable("No figure of this pass depends on it.");
    let share_of = |name: FactName, words: &str, meaning, advice: &str| -> Result<Option<Broken>, Halt> {
        let share = run.fact(phase, name)?;
        Ok((share < limits.ab112_promised_share_ratio.value.value).then(|| Broken {
            rests: storage,
            observed: Quantity::ratio(share),
            threshold: limits.ab112_promised_share_ratio.clone(),
            seen: format!("{words}. {} of the bytes used it.", Quantity::ratio(share)),
            meaning,
            advice: advice.to_owned(),
        }))
    };
    match promise.mechanism {
        Mechanism::DirectIo if is_rest_of_a_block(run, phase)? => Ok(None),
        Mechanism::DirectIo => share_of(
            FactName::DirectShare,
            "direct I/O (O_DIRECT)",
            "The page cache took part in a figure that is read as direct.",
            &advise(run, None, Improvement::OpenDirect),
        ),
        Mechanism::SyncWrites | Mechanism::DataSyncWrites if writes => share_of(
            FactName::SyncWriteShare,
            "synchronous writes (O_SYNC or O_DSYNC)",
            "The writes returned before their data was durable.",
            "check why the file was opened without O_SYNC in this pass",
        ),
        Mechanism::SyncInsideClock if writes => {
            Ok((syncs_inside(run, phase)? == 0.0 && !is_sync_found(phase)).then(|| Broken {
                rests: storage,
                observed: Quantity::count(0),
                threshold: at_least_one(),
                seen: "a sync inside the clock. 0 syncs were observed there.".to_owned(),
                meaning: "The figure leaves out the time to make the data durable.",
                advice: advise(run, None, Improvement::SyncInsideClock),
            }))
        }
        Mechanism::SyncEachWrites(each) if writes => sync_each(case, phase, each, storage),
        Mechanism::MappedIo => {
            let mappings = run.fact(phase, FactName::Mappings)?;
            Ok((mappings == 0.0).then(|| Broken {
                rests: false,
                observed: Quantity::count(0),
                threshold: at_least_one(),
                seen: "mapped files. 0 mappings of them were observed.".to_owned(),
                meaning: "The figure is that of plain calls.",
                advice: "drop the option, or check which option enables mapping".to_owned(),
            }))
        }
        Mechanism::SynchronousMsync | Mechanism::AsynchronousMsync if writes => {
            let (mappings, msyncs) = (run.fact(phase, FactName::Mappings)?, run.fact(phase, FactName::Msyncs)?);
            let durable = |claim: &&Claim| run.subject_of(claim) == Subject::DurableWrite;
            Ok((mappings == 0.0 || msyncs == 0.0).then(|| Broken {
                rests: case.claims().iter().any(durable),
                observed: Quantity { value: msyncs, ..Quantity::count(0) },
                threshold: at_least_one(),
                seen: format!("an msync for each record. {mappings} mappings and {msyncs} msyncs were observed."),
                meaning: "The figure is that of plain writes, without a sync.",
                advice: advise(run, Some(phase), Improvement::MapFiles),
            }))
        }
        Mechanism::CachePurge if reads => {
            if run.fact(phase, FactName::DirectShare)? > 0.0 {
                return Err(nothing_rests());
            }
            let (resident, moved) = (run.fact(phase, FactName::ResidentAtStart)?, run.moved(phase)?);
            let share = if moved > 0.0 { resident / moved } else { 0.0 };
            Ok((share >= limits.ab112_purge_leftover_ratio.value.value).then(|| Broken {
                rests: storage,
                observed: Quantity::ratio(share),
                threshold: limits.ab112_purge_leftover_ratio.clone(),
                seen: format!("an empty page cache. {} of the bytes read were resident.", Quantity::ratio(share)),
                meaning: "The purge did not empty the cache, so the pass is not cold.",
                advice: "check the messages of the unmount: it needs root rights and an entry in /etc/fstab".to_owned(),
            }))
        }
        Mechanism::CpuCachePurge if reads && storage => {
            let direct = run.fact(phase, FactName::DirectShare)?;
            let (inserted, moved) = (run.fact(phase, FactName::CacheInsertedBytes)?, run.moved(phase)?);
            if direct > 0.0 || moved <= 0.0 {
                return Err(nothing_rests());
            }
            let served = (1.0 - inserted / moved).max(0.0);
            Ok((served >= limits.ab112_page_cache_served_ratio.value.value).then(|| Broken {
                rests: false,
                observed: Quantity::ratio(served),
                threshold: limits.ab112_page_cache_served_ratio.clone(),
                seen: format!(
                    "a purged CPU cache only. {} of the bytes read came from the page cache.",
                    Quantity::ratio(served)
                ),
                meaning: "The option does not make the reads cold.",
                advice: advise(run, Some(phase), Improvement::ReadFromStorage),
            }))
        }
        Mechanism::CompressibleData(_) | Mechanism::DuplicateData(_) | Mechanism::FreshData if writes => {
            content(case, phase, promise.mechanism)
        }
        Mechanism::QueueDepth(_) => Err(Halt::not_applicable("AB403 checks the requests in flight.")),
        _ => Err(nothing_rests()),
    }
}

/// Returns true if all that did not use `O_DIRECT` is the rest behind the last whole block. A device takes whole blocks
/// only. dd writes the rest through the page cache and syncs it inside its clock. If the rest is all, this sync is
/// required.
fn is_rest_of_a_block(run: &Run<'_>, phase: &Phase) -> Result<bool, Halt> {
    let Some(block) = phase.block_bytes.filter(|block| *block > 0 && phase.direction == Direction::Write) else {
        return Ok(false);
    };
    let (moved, direct) = (run.moved(phase)?, run.fact(phase, FactName::DirectShare)?);
    let rest = moved % block as f64;
    // The share is a quotient of bytes.
    Ok(rest > 0.0 && moved * (1.0 - direct) < rest + 0.5 && (direct > 0.0 || syncs_inside(run, phase)? > 0.0))
}

/// Returns the number of syncs inside the clock. A pass without mapped files has no `msync`, and no fact of it.
fn syncs_inside(run: &Run<'_>, phase: &Phase) -> Result<f64, Halt> {
    Ok(run.fact(phase, FactName::SyncsInside)? + fact_if_any(phase, FactName::Msyncs)?.unwrap_or(0.0))
}

fn is_sync_found(phase: &Phase) -> bool {
    phase.parts.iter().any(|part| part.sync_inside.is_some())
}

/// Returns the discrepancy between the syncs that an option asks for and those inside the clock.
fn sync_each(case: &Case<'_>, phase: &Phase, each: u32, storage: bool) -> Result<Option<Broken>, Halt> {
    let run = &case.run;
    let share = &case.thresholds().ab112_promised_syncs_ratio;
    let inside = syncs_inside(run, phase)?;
    let written = operations_in(run, phase, Direction::Write)?;
    let tasks = f64::from(phase.requested_tasks.max(1));
    // A task that has submitted its last write ends behind those in flight, without a sync of them.
    let in_flight = phase.promised_depth().map_or(0, |(depth, _)| depth.saturating_sub(1));
    // Each task begins to count anew, and its clock can stop before its last sync.
    let asked = (written - tasks * f64::from(in_flight)) / f64::from(each) - tasks;
    if asked < 1.0 {
        return Err(Halt::not_applicable("The tasks made too few writes for a sync."));
    }
    if inside == 0.0 && is_sync_found(phase) {
        return Err(Halt::not_applicable("The syncs of the pass are not counted."));
    }
    let count = |value: f64| Quantity { value, ..Quantity::count(0) };
    let of_each = if each == 1 { "write".to_owned() } else { format!("{each} writes") };
    let many = if inside == 1.0 { "sync was" } else { "syncs were" };
    Ok((inside < share.value.value * asked).then(|| Broken {
        rests: storage,
        observed: count(inside),
        threshold: Threshold { value: count(asked), source: "what the option promises".to_owned() },
        seen: format!("a sync after each {of_each}. {} {many} observed for {} writes.", count(inside), count(written)),
        meaning: "The figure leaves out time to make the data durable.",
        advice: "check what keeps the syncs from the kernel".to_owned(),
    }))
}

/// Returns the discrepancy between the data that an option asks for and the samples of what was written.
fn content(case: &Case<'_>, phase: &Phase, mechanism: Mechanism) -> Result<Option<Broken>, Halt> {
    let run = &case.run;
    if !enough_samples(run, phase)? {
        return Err(Halt::not_applicable("Too few writes were sampled."));
    }
    let threshold = &case.thresholds().ab112_content_difference_ratio;
    let most = threshold.value.value;
    let (left, repeated) =
        (run.fact(phase, FactName::PayloadCompressed)?, run.fact(phase, FactName::PayloadDuplicates)?);
    let samples = run.fact(phase, FactName::PayloadSamples)?;
    let are_all = samples >= run.fact(phase, FactName::WriteCalls)?;
    let of_left = || format!("Compression leaves {} of the sampled data.", Quantity::ratio(left));
    let of_repeated = || format!("{} of the sampled writes repeat another one.", Quantity::ratio(repeated));
    let share = |percent: u32| f64::from(percent) / 100.0;
    let broken = match mechanism {
        Mechanism::CompressibleData(percent) => {
            let asked = format!("data that compresses by {percent} %");
            let differs = (left - (1.0 - share(percent))).abs();
            (differs > most).then(|| (differs, asked, of_left()))
        }
        Mechanism::DuplicateData(percent) => {
            let (asked, words) = (share(percent), format!("data with {percent} % duplicates"));
            // Of samples, the other one of two like writes may be missing.
            let differs = if are_all { (repeated - asked).abs() } else { repeated - asked };
            // The tool draws for each write if it repeats another one.
            let deviation = (asked * (1.0 - asked) / samples.max(1.0)).sqrt();
            let by_chance = case.thresholds().ab112_chance_deviations_count.value.value * deviation;
            (differs > most.max(by_chance)).then(|| (differs, words, of_repeated()))
        }
        _ => {
            let asked = "random data for each write".to_owned();
            let (saved, seen) =
                if 1.0 - left >= repeated { (1.0 - left, of_left()) } else { (repeated, of_repeated()) };
            (saved > most).then_some((saved, asked, seen))
        }
    };
    Ok(broken.map(|(observed, asked, seen)| Broken {
        rests: false,
        observed: Quantity::ratio(observed),
        threshold: threshold.clone(),
        seen: format!("{asked}. {seen}"),
        meaning: "Storage that packs data got another payload than the option says.",
        advice: "look at what else shapes the buffers (`zero_buffers`, `buffer_pattern`)".to_owned(),
    }))
}
