//! # What it finds
//! A pass that visits the same blocks again and again, instead of the region that the reader expects.
//!
//! # Why it matters
//! A small set of blocks fits in a cache of the host, the controller or the device. The figure then describes that
//! cache.
//!
//! # How it decides
//! It compares `unique_blocks` with the number of distinct blocks that the pattern should touch. Below 0.9 of that
//! number it warns. Below 0.5 it fails, and the claim is misleading.
//!
//! The expected number follows from N blocks moved (bytes moved / `block_grid_bytes`) over M blocks:
//!
//! - min(N, M) where each block is visited once;
//! - M(1 - exp(-N/M)) for independent draws, and where the pattern is not known.
//!
//! M is the region touched or, if larger, the size that the command asks for. Two cases change N:
//!
//! - Under a time limit, fast tasks may begin again while slow ones are in their first pass. N is then what all tasks
//!   would have moved at the pace of the slowest (`min_task_bytes`).
//! - The command may repeat the same offsets (loops, tasks that share a file in one order). N is then that of one
//!   repetition, because the repetitions were asked for.
//!
//! A window behind a warm-up (fio `ramp_time`) begins somewhere within a permutation, and may go on into the next one,
//! which visits other blocks first. Up to N = 2M, the expected number is then at least N - N²/4M.
//!
//! For independent draws and such windows, the shortfall must also exceed four standard deviations of the occupancy. Its variance is
//! cM(e^-a - (1+a)e^-2a) with a = N/M and c blocks moved per call, at least 1. Patterns that repeat by design (one
//! record again and again, a stride) are a note. So is every repetition under claims that are not for storage.
//!
//! Where several tasks visit a file, it says what share of their offsets is common to more than one, and how many of them
//! began at the same one (`common_offsets_ratio`, `equal_start_tasks`): streams with equal starts are a usual cause.
//!
//! A further rule applies to any pattern: blocks are written repeatedly through the page cache and synced. Both the
//! distinct blocks and the bytes at the device until durable are less than half of the bytes written. The rest was
//! overwritten in memory. This fails, and rates claimed for storage are misleading. It only warns where the command
//! asks for it: with loops or a time limit the rates are then unverifiable, because the device did less than half of
//! what they say; a test of one record again and again is known as one of memory.
//!
//! Where a tracer observed, `device_write_until_durable_at_most_bytes` stands in for the bytes at the device. Where the
//! bytes at the device are not known, the blocks that the calls visited still decide if too few of them were.
//!
//! For a program that no adapter knows, both rules only warn: nobody said which blocks it means to visit.
//!
//! # When it is wrong
//! It is wrong for a tool that repeats one region in one pass when its adapter does not know that.
//!
//! # What to do
//! Enlarge the region or the number of operations; use a generator that visits each block once.
//!
//! # References
//! fio's `norandommap`; IO500 pull request #91; Orion 11.2: 98,305 of 12,582,912 blocks, 803 hits each, 768 MiB.
//! Occupancy: W. Feller, An Introduction to Probability Theory, volume I, IV.2.

use activebench_model::advice::Improvement;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding, Outcome, Threshold};
use activebench_model::host::Tier;
use activebench_model::phase::{Direction, Pattern, Phase};
use activebench_model::units::{Quantity, significant};

use crate::advice::wording::advise;
use crate::cases::plan::read_whole;
use crate::cases::run::{Case, Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge};
use crate::evidence::bytes::{Amount, Own, WRITTEN};
use crate::evidence::device_layers::to_lowest;
use crate::evidence::rebuilt_figure::calls;
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::UniqueBlocks,
    FactName::RegionBlocks,
    FactName::MaxBlockHits,
    FactName::CommonOffsets,
    FactName::EqualStarts,
    FactName::BlockGrid,
    FactName::ReadCalls,
    FactName::WriteCalls,
    FactName::ReadBytes,
    FactName::WriteBytes,
    FactName::UnsyncedBytes,
    FactName::DeviceWriteBytesDurable,
    FactName::DeviceWriteDurableAtMost,
    FactName::DeviceTotalBytes,
    FactName::ForeignBytes,
    FactName::BelowWriteBytesDurable,
];

/// Which blocks the calls visited: the first of [`FACTS`], up to `WriteBytes`.
const OF_CALLS: &[FactName] = FACTS.split_at(10).0;

/// Share of common offsets from which on they explain why blocks repeat.
const SHARED: f64 = 0.5;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB401",
    name: "repeated-offsets",
    title: "The same blocks were accessed repeatedly",
    explained_by: &[],
    source: include_str!("repeated_offsets.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::RatesOfStorage,
    correction: Some(Correction {
        rank: 130,
        honest: Honest::None("the rate over the whole region was not measured"),
        measured_instead: |_, _| "a small set of blocks",
    }),
    improvement: Some(Improvement::VisitBlocksOnce),
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

/// Returns the expected number of distinct blocks of a window that begins within a permutation, and its standard deviation.
/// Where in it is not known: the number is that of the place with most repetitions, half of the blocks before the next
/// permutation and half after.
fn expectation_after_ramp(blocks: f64, calls: f64, region: f64) -> (f64, f64) {
    let half = blocks / 2.0;
    if half >= region {
        return (region, 0.0);
    }
    let repeated = half * half / region;
    // Of a hypergeometric distribution: how many of `half` draws are among `half` of the region's blocks.
    let variance = repeated * (region - half) * (region - half) / (region * (region - 1.0).max(1.0));
    (blocks - repeated, (variance * (blocks / calls).max(1.0)).sqrt())
}

/// Returns the expected number of distinct blocks of `region` that `blocks` moved by `calls` should touch, and its
/// standard deviation: the blocks of one call are drawn together.
fn expectation(pattern: Pattern, blocks: f64, calls: f64, region: f64) -> (f64, f64) {
    match pattern {
        Pattern::RandomIndependent | Pattern::Unknown => {
            let load = blocks / region;
            let empty = (-load).exp();
            let variance = (blocks / calls).max(1.0) * region * (empty - (1.0 + load) * empty * empty);
            (region * (1.0 - empty), variance.max(0.0).sqrt())
        }
        _ => (blocks.min(region), 0.0),
    }
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    if phase.direction == Direction::None {
        return Err(Halt::not_applicable("The pass does not move data."));
    }
    let run = &case.run;
    if phase.names.is_some() {
        return Err(Halt::not_applicable("The pass works on file names and does not move data."));
    }
    let moved = run.moved(phase)?;
    let calls = calls(run, phase)?;
    if moved == 0.0 || calls == 0.0 {
        return Err(Halt::not_applicable("No byte was moved."));
    }
    let unique = run.fact(phase, FactName::UniqueBlocks)?;
    let block = run.fact(phase, FactName::BlockGrid)?;
    if unique <= 0.0 || block <= 0.0 {
        return Err(Halt::undecided("No block was counted."));
    }
    let visited = Visited { moved, calls, unique, block };
    match overwritten(case, phase, unique * block) {
        Ok(Some(finding)) => Ok(finding),
        Ok(None) => repeated(case, phase, visited),
        // Blocks that repeat in the calls do so whatever the device received.
        Err(why) => {
            let found = repeated(&case.resting_on(OF_CALLS.to_vec()), phase, visited)?;
            if found.outcome == Outcome::Fires { Ok(found) } else { Err(why) }
        }
    }
}

/// What a pass moved, and where.
#[derive(Clone, Copy, Debug)]
struct Visited {
    /// Bytes moved.
    moved: f64,
    /// Calls that moved them.
    calls: f64,
    /// Distinct blocks.
    unique: f64,
    /// Bytes of a block.
    block: f64,
}

/// Compares the blocks that were visited with those that the pattern should visit.
fn repeated(case: &Case<'_>, phase: &Phase, visited: Visited) -> Result<Finding, Halt> {
    let (run, limits) = (&case.run, case.thresholds());
    let Visited { moved, calls, unique, block } = visited;
    // The requested bytes count a region that is repeated by design once per loop.
    let loops = f64::from(phase.loops.max(1)) * f64::from(phase.turns.max(1));
    let asked = match phase.region_bytes {
        Some(bytes) => (bytes as f64 / block).floor(),
        None => phase.requested_bytes.map_or(0.0, |bytes| (bytes as f64 / loops / block).floor()),
    };
    let region = run.fact(phase, FactName::RegionBlocks)?.max(asked).max(1.0);
    // Failed calls move nothing, and calls off the grid touch more blocks than they move. Counting blocks by bytes
    // expects fewer of them.
    let blocks = (moved / block).max(1.0);
    let of_a_loop = (blocks / loops).max(1.0);
    let expectation = |blocks: f64, calls: f64| match phase.after_ramp && phase.pattern == Pattern::RandomPermutation {
        true => expectation_after_ramp(blocks, calls, region),
        false => expectation(phase.pattern, blocks, calls, region),
    };
    let (expected, deviation) = expectation(of_a_loop, (calls / loops).max(1.0));
    let is_enough = |expected: f64, deviation: f64| {
        let chance = deviation * limits.ab401_chance_deviations_count.value.value;
        unique >= limits.ab401_distinct_warn_ratio.value.value * expected || expected - unique <= chance
    };
    if is_enough(expected, deviation) {
        return Ok(case.silent(""));
    }
    let at_unlike_speeds = phase.time_limit_ns.is_some() && phase.requested_tasks > 1;
    let of_the_slowest: &[FactName] = if at_unlike_speeds { &[FactName::MinTaskBytes] } else { &[] };
    let case = &case.resting_on([case.facts.as_slice(), of_the_slowest].concat());
    let (expected, deviation) = match at_unlike_speeds {
        true => {
            let of_the_slowest = run.fact(phase, FactName::MinTaskBytes)? * f64::from(phase.requested_tasks);
            let blocks = of_a_loop.min((of_the_slowest / loops / block).max(1.0));
            expectation(blocks, (calls * blocks / (of_a_loop * loops)).max(1.0))
        }
        false => (expected, deviation),
    };
    if is_enough(expected, deviation) {
        return Ok(case.silent("The tasks differ in speed, and none repeats its blocks early."));
    }
    let share = unique / expected;
    read_whole(phase)?;
    // Jobs that differ, and a direction of a mix that begins again, do not promise which blocks they visit.
    let untold = phase.pattern == Pattern::Unknown
        && run.has_adapter()
        && (phase.mix.is_some() || phase.requested_tasks > 1 || phase.time_limit_ns.is_some());
    let by_design = untold || matches!(phase.pattern, Pattern::SingleBlock | Pattern::Strided);
    let storage = case.concerning_storage().ok();
    let threshold = match share < limits.ab401_distinct_fail_ratio.value.value {
        true => &limits.ab401_distinct_fail_ratio,
        false => &limits.ab401_distinct_warn_ratio,
    };
    let weight = match (by_design || storage.is_none(), share < limits.ab401_distinct_fail_ratio.value.value) {
        (true, _) => Weight::Note,
        // Nobody said which blocks the program means to visit.
        (false, true) if !run.has_adapter() => Weight::Warn(Effect::Misleading),
        (false, true) => Weight::Fail(Effect::Misleading),
        (false, false) => Weight::Warn(Effect::Misleading),
    };
    let in_blocks = |count: f64| Quantity { value: count.round(), ..Quantity::count(0) };
    let set = Quantity { value: unique * block, ..Quantity::bytes(0) };
    let fits = match run.manifest.host.memory_bytes {
        Some(memory) if set.value <= memory as f64 => {
            format!(", which fits the memory of {}", Quantity::bytes(memory))
        }
        _ => String::new(),
    };
    let most = match run.fact(phase, FactName::MaxBlockHits) {
        Ok(hits) => format!(", at most {hits} times"),
        Err(_) => String::new(),
    };
    let streams = common_to_tasks(run, phase);
    let meaning = if by_design {
        "The test repeats offsets by design, so the figure is that of a small set of blocks."
    } else if storage.is_some() {
        "The figure is that of a small set of blocks, which may fit into a cache."
    } else {
        "The figure is that of a small set of blocks. It is not judged as a figure about storage."
    };
    let case = storage.as_ref().unwrap_or(case);
    Ok(case.fires(Firing {
        weight,
        observed: Some(Quantity::ratio(share)),
        threshold: Threshold { value: threshold.value, source: threshold.source.clone() },
        message: format!(
            "{} of {} expected blocks of {} were touched (region: {} blocks). Each was visited {} times on \
             average{most}. They are a set of {set}{fits}.{streams}",
            in_blocks(unique),
            in_blocks(expected),
            Quantity { value: block, ..Quantity::bytes(0) },
            in_blocks(region),
            significant(blocks / unique),
        ),
        meaning: meaning.to_owned(),
        advice: match by_design {
            true => "read the figure as that of a small set, or add a random or sequential test".to_owned(),
            false => advise(run, None, Improvement::VisitBlocksOnce),
        },
    }))
}

/// Returns a sentence on tasks that visit the same offsets, with a space before it; nothing where they do not.
fn common_to_tasks(run: &Run<'_>, phase: &Phase) -> String {
    let Ok(common) = run.fact(phase, FactName::CommonOffsets) else { return String::new() };
    if common < SHARED {
        return String::new();
    }
    let starts = match run.fact(phase, FactName::EqualStarts) {
        Ok(starts) if starts > 0.0 => format!(", and {starts} of them began at the offset of another one"),
        _ => String::new(),
    };
    format!(" The tasks have {} of their offsets in common{starts}.", Quantity::ratio(common))
}

/// Returns a finding when most of the written and synced data was overwritten before it reached the device.
fn overwritten(case: &Case<'_>, phase: &Phase, distinct: f64) -> Result<Option<Finding>, Halt> {
    let Ok(case) = case.concerning_storage() else { return Ok(None) };
    let (run, limit) = (&case.run, &case.thresholds().ab401_overwritten_fail_ratio);
    if phase.direction != Direction::Write {
        return Ok(None);
    }
    let written = run.amount(phase, WRITTEN)?;
    let half = Amount::<_, Own>::of(written.bytes() * limit.value.value);
    if distinct >= half.bytes() || run.fact(phase, FactName::UnsyncedBytes)? > 0.0 {
        return Ok(None);
    }
    let target = run.known_target(phase)?;
    if target.tier != Tier::Block {
        return Ok(None);
    }
    let (reached, is_observed) = match to_lowest(run, phase) {
        Ok(reached) => (reached, Ok(())),
        Err(why) => (Amount::of(run.at_most(phase, FactName::DeviceWriteBytesDurable)?), Err(why)),
    };
    if reached.short_of(&half.at_least_of_files()) == 0.0 {
        return Ok(is_observed.map(|()| None)?);
    }
    let is_asked_for = !run.has_adapter() || phase.loops > 1 || phase.time_limit_ns.is_some();
    let weight = match phase.pattern {
        Pattern::SingleBlock => Weight::Warn(Effect::Misleading),
        _ if is_asked_for => Weight::WarnWith(Effect::Unverifiable),
        _ => Weight::Fail(Effect::Misleading),
    };
    let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
    Ok(Some(
        case.fires(Firing {
            weight,
            observed: Some(Quantity::ratio(reached.bytes() / written.bytes())),
            threshold: limit.clone(),
            message: format!(
                "{} was written to {} of blocks. The device received {} before it was durable.",
                in_bytes(written.bytes()),
                in_bytes(distinct),
                in_bytes(reached.bytes())
            ),
            meaning: "The rest was overwritten in the page cache. The figure is mostly the rate of copying to memory."
                .to_owned(),
            advice: "write each block once, or write with O_DIRECT".to_owned(),
        }),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_within_a_permutation_repeats_blocks_of_the_next_one() {
        // A permutation of 2432 blocks, of which 1093 were visited before the window of 2990 began: 2085 distinct ones.
        let (expected, deviation) = expectation_after_ramp(2990.0, 2990.0, 2432.0);
        assert!((2065.0..2085.0).contains(&expected), "{expected}");
        assert!((5.0..20.0).contains(&deviation), "{deviation}");
        // Less than a permutation, and whatever contains a whole one.
        assert_eq!(expectation_after_ramp(100.0, 100.0, 100.0).0, 75.0);
        assert_eq!(expectation_after_ramp(200.0, 50.0, 100.0), (100.0, 0.0));
        assert_eq!(expectation_after_ramp(1.0, 1.0, 1.0).0, 0.75);
    }

    #[test]
    fn expectations_are_those_of_the_literature() {
        fn check(pattern: Pattern, moved: f64, region: f64, expected: f64) {
            let (blocks, deviation) = expectation(pattern, moved, moved, region);
            assert!((blocks / expected - 1.0).abs() < 1e-3, "{pattern:?}: {blocks}");
            assert!(deviation.is_finite() && deviation >= 0.0);
        }
        check(Pattern::Sequential, 100.0, 50.0, 50.0);
        check(Pattern::RandomPermutation, 40.0, 50.0, 40.0);
        // One pass of independent draws touches 1 - 1/e of the region.
        check(Pattern::RandomIndependent, 16384.0, 16384.0, 10356.7);
        // Orion 11.2: 78.95 million reads over 12,582,912 blocks should have touched nearly all.
        check(Pattern::RandomIndependent, 78_950_000.0, 12_582_912.0, 12_559_211.0);
    }
}
