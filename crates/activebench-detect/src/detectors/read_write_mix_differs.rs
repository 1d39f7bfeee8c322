//! # What it finds
//! A pass whose mix of reads and writes differs from the one that its command promises.
//!
//! # Why it matters
//! Storage reads and writes at different rates. The figures of a 70/30 mix say nothing about another mix.
//!
//! # How it decides
//! It compares `read_calls` / (`read_calls` + `write_calls`) inside the window with the promised share of reads. The
//! promise comes from fio `rwmixread` or `rwmixwrite`, from the half that `rw=randrw` alone means, from orion
//! `-write` or from iozone `-+p`. It warns from a difference of 2 percentage points on. Reads and writes that a tool
//! reports apart are one mix.
//!
//! The tool draws each operation of such a mix at random, so a short pass can miss the share by chance. A difference
//! within 4 standard deviations of the draw (binomial) is undecided. A pass that repeats its blocks repeats its first
//! draws (fio, `time_based`). Its number of draws is the operations divided by the mean visits per block
//! (`mean_block_hits`).
//!
//! Where the tool divides an operation into several calls, the blocks count, and without a size of the blocks it is
//! undecided.
//!
//! # When it is wrong
//! iozone's `-+p` is a share of the tasks. Their clocks stop together, and the faster kind of task has done more work
//! by that time. The figure still describes the observed mix.
//!
//! # What to do
//! Remove limits for one direction (fio `rate`, `rate_iops`), let the pass run longer, or quote the observed mix.
//!
//! # References
//! Drishti P01 to P04 warn of imbalances of 10 %. fio draws the direction of each operation (io_u.c, `get_rand_ddir`,
//! 3.33).

use activebench_model::claim::Claim;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::phase::{Direction, Mix, MixOf, Phase};
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge};
use crate::evidence::rebuilt_figure::operations_in;
use crate::run::Run;

const FACTS: &[FactName] = &[FactName::ReadCalls, FactName::WriteCalls];

/// The facts from which the number of draws is computed.
const FACTS_OF_DRAWS: [FactName; 3] = [FactName::ReadCalls, FactName::WriteCalls, FactName::MeanBlockHits];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB108",
    name: "read-write-mix-differs",
    title: "The mix of reads and writes differs",
    explained_by: &[],
    source: include_str!("read_write_mix_differs.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: Some(Correction {
        rank: 150,
        honest: Honest::None("the rate of the requested mix was not measured"),
        measured_instead: |_, _| "another mix of reads and writes",
    }),
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let run = &case.run;
    let Some(mix) = &phase.mix else {
        return Err(Halt::not_applicable("The command does not request a mix of reads and writes."));
    };
    let (reading, writing) = match phase.direction {
        Direction::Read => (phase, run.counterpart(phase, Direction::Write).unwrap_or(phase)),
        Direction::Write => match run.counterpart(phase, Direction::Read) {
            Some(reads) => return Err(Halt::not_applicable(format!("The mix is checked in the pass {}.", reads.id))),
            None => (phase, phase),
        },
        Direction::Mixed => (phase, phase),
        Direction::Discard | Direction::None => return Err(Halt::not_applicable("The pass does not move data.")),
    };
    if run.maps_files(phase) {
        return Err(Halt::undecided("Data moved through a mapping, which calls do not show."));
    }
    let reads = operations_in(run, reading, Direction::Read)?;
    let writes = operations_in(run, writing, Direction::Write)?;
    let operations = reads + writes;
    if operations == 0.0 {
        return Err(Halt::not_applicable("No byte was moved. See AB106."));
    }
    let of_mix = |claim: &&Claim| claim.phase == reading.id || claim.phase == writing.id;
    let rates = run.parsed.claims.iter().filter(of_mix).filter(|claim| !claim.metric.is_count());
    let case = &case.concerning(rates.filter(|claim| !claim.metric.is_cpu()).collect());
    let observed = reads / operations;
    let difference = (observed - mix.read_ratio).abs();
    let limits = case.thresholds();
    let limit = &limits.ab108_difference_warn_ratio;
    if difference <= limit.value.value {
        return Ok(case.silent(""));
    }
    let case = &case.resting_on(FACTS_OF_DRAWS.to_vec());
    let draws = operations / run.fact(reading, FactName::MeanBlockHits)?.max(1.0);
    let deviation = (mix.read_ratio * (1.0 - mix.read_ratio) / draws).sqrt();
    if difference <= limits.ab108_chance_deviations_count.value.value * deviation {
        return Err(Halt::undecided(format!(
            "{draws:.0} operations are too few to decide. With {} reads by design, {} can occur by chance.",
            Quantity::ratio(mix.read_ratio),
            Quantity::ratio(observed)
        )));
    }
    Ok(case.fires(Firing {
        weight: Weight::Warn(Effect::Misleading),
        observed: Some(Quantity::ratio(observed)),
        threshold: limit.clone(),
        message: message(mix, reads, operations),
        meaning: "The figures are those of the observed mix, not of the requested one.".to_owned(),
        advice: match mix.of {
            MixOf::Operations => {
                "remove limits per direction (`rate`, `rate_iops`), or quote the observed mix".to_owned()
            }
            MixOf::Tasks => "quote the observed mix with the figure".to_owned(),
        },
    }))
}

fn message(mix: &Mix, reads: f64, operations: f64) -> String {
    let of = match mix.of {
        MixOf::Operations => "operations",
        MixOf::Tasks => "tasks",
    };
    format!(
        "`{}` requests {} reads of all {of}. {} of the {operations:.0} operations inside the clock were reads.",
        mix.option,
        Quantity::ratio(mix.read_ratio),
        Quantity::ratio(reads / operations)
    )
}
