//! # What it finds
//! A random pass that visits the same offsets in the same order in every run.
//!
//! # Why it matters
//! Data that the first run left in a cache of the device or array serves the next runs. Repetitions also add no
//! evidence: they measure one random draw several times.
//!
//! # How it decides
//! It compares the first offsets of the tasks between every two runs of a series. It takes as many as an eighth of
//! the region's blocks, and at most 1,024. A Jaccard index of two sets (shared / all) above 0.9 warns.
//!
//! Independent draws share about 1 in 15 of so few offsets, even where each run visits every block once. Below 32
//! offsets (a region of fewer than 256 blocks) it is undecided.
//!
//! # When it is wrong
//! A repeatable sequence is useful when two systems must do exactly the same work. Say so beside the figure.
//!
//! # What to do
//! Give each run a seed of its own (fio `randrepeat=0`, or another `randseed`).
//!
//! # References
//! fio's `randrepeat` is on by default; MLPerf Storage 6.6: the seed must change between runs.

use std::collections::HashSet;

use activebench_model::advice::Improvement;
use activebench_model::finding::Finding;
use activebench_model::series::{Beginning, Repeated, RunOfSeries};
use activebench_model::units::Quantity;

use crate::cases::run::{Firing, Halt, Weight};
use crate::cases::series::{SeriesCase, is_rate};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::run::Series;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB402",
    name: "same-offsets-every-run",
    title: "Every run uses the same offsets",
    explained_by: &[],
    source: include_str!("same_offsets_every_run.rs"),
    judge: Judge::Series(judge_series),
    facts: &[],
    basis: Basis::Series,
    decides: Decides::Nothing,
    correction: None,
    improvement: Some(Improvement::NewOffsetsEachRun),
    questions: &[],
};

fn judge_series(series: &Series<'_>) -> Vec<Finding> {
    let mut phases: Vec<&str> = Vec::new();
    for beginning in series.runs.iter().flat_map(|run| &run.beginnings) {
        if !phases.contains(&beginning.phase.as_str()) {
            phases.push(&beginning.phase);
        }
    }
    let judged = |phase: &&str| {
        let case = SeriesCase::new(&DETECTOR, series, Some(phase));
        judge(&case, phase).unwrap_or_else(|halt| case.halted(halt))
    };
    let findings: Vec<Finding> = phases.iter().map(judged).collect();
    match findings.is_empty() {
        true => {
            let why = Halt::not_applicable("No random pass was observed completely in any run.");
            vec![SeriesCase::new(&DETECTOR, series, None).halted(why)]
        }
        false => findings,
    }
}

/// Set of the first offsets of all tasks: `most` in total, an equal number from each task, at least one.
fn first(beginning: &Beginning, most: usize) -> HashSet<u64> {
    let each = most / beginning.first_offsets.len().max(1);
    beginning.first_offsets.iter().flat_map(|task| task.iter().take(each.max(1)).copied()).collect()
}

fn judge(case: &SeriesCase<'_>, phase: &str) -> Result<Finding, Halt> {
    let (series, limits) = (&case.series, case.thresholds());
    let of_storage = |figure: &Repeated| figure.phase == phase && is_rate(figure.metric) && figure.of_storage;
    if !series.figures.iter().any(of_storage) {
        return Err(Halt::not_applicable("No rate of this pass is judged as a figure about storage."));
    }
    let of_phase = |run: &RunOfSeries| {
        let beginning = run.beginnings.iter().find(|beginning| beginning.phase == phase)?;
        Some((run.number, beginning.clone()))
    };
    let beginnings: Vec<(u32, Beginning)> = series.runs.iter().filter_map(of_phase).collect();
    if beginnings.len() < 2 {
        return Err(Halt::undecided(format!(
            "The offsets of {} runs are known. At least 2 are needed.",
            beginnings.len()
        )));
    }
    let regions: Option<Vec<f64>> = beginnings.iter().map(|(_, beginning)| beginning.region_blocks).collect();
    let region = regions.ok_or_else(|| Halt::undecided("The region of the pass is not known."))?;
    let region = region.into_iter().fold(f64::INFINITY, f64::min);
    let most = (region / limits.ab402_blocks_per_offset_count.value.value.max(1.0)) as usize;
    let least = limits.ab402_offsets_least_count.value.value;
    let sets: Vec<(u32, HashSet<u64>)> =
        beginnings.iter().map(|(number, beginning)| (*number, first(beginning, most))).collect();
    let compared = sets.iter().map(|(_, set)| set.len()).min().unwrap_or(0).min(most);
    if (compared as f64) < least {
        return Err(Halt::undecided(format!(
            "In a region of {region:.0} blocks, {compared} first offsets can be compared. At least {least:.0} are \
             needed."
        )));
    }
    let mut closest: Option<(f64, u32, u32)> = None;
    for (index, (one, first)) in sets.iter().enumerate() {
        for (other, second) in &sets[index + 1..] {
            let shared = first.intersection(second).count() as f64;
            let jaccard = shared / (first.len() as f64 + second.len() as f64 - shared);
            if closest.is_none_or(|(known, ..)| jaccard > known) {
                closest = Some((jaccard, *one, *other));
            }
        }
    }
    let (jaccard, one, other) = closest.ok_or_else(|| Halt::undecided("No two runs can be compared."))?;
    let limit = &limits.ab402_same_offsets_warn_ratio;
    let message = format!(
        "Runs {one} and {other} share {} of the first {compared} offsets of this random pass.",
        Quantity::ratio(jaccard)
    );
    if jaccard <= limit.value.value {
        return Ok(case.silent(message));
    }
    Ok(case.fires(Firing {
        weight: Weight::WarnOfRun,
        observed: Some(Quantity::ratio(jaccard)),
        threshold: limit.clone(),
        message,
        meaning: "All runs use the same offsets, so the cache of one run serves the next.".to_owned(),
        advice: "give each run its own seed (fio: `randrepeat=0`, or another `randseed` each time)".to_owned(),
    }))
}
