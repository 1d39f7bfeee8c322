//! # What it finds
//! A pass that was much slower at its end than at its beginning.
//!
//! # Why it matters
//! The mean over the window then describes neither a short transfer nor a long one. Causes are a cache that filled,
//! burst credit that was used up, or a device that became hot. A longer run gives the later rate.
//!
//! # How it decides
//! It divides the time in which all tasks were active into fifths. It warns when the rate of the last fifth is below
//! 0.8 times that of the first. The corrected figure is the rate of the last fifth.
//!
//! - Normally it uses the rate of the calls (`throughput_fifth_*`).
//! - For buffered writes with a sync inside the clock it uses the rate of the device (`device_throughput_fifth_*`).
//!   Their calls show only when the data was copied.
//!
//! Of a pass over names (create, stat, delete) the fifths of its rate are compared in the same way
//! (`name_rate_fifth_*`). A fall is a note: a directory can become slower with the number of its files. It does so
//! inside a fifth too. So the error of a fifth is how far its times per name are from a straight line.
//!
//! Where a tracer observed, it is undecided when somebody waited for a CPU for 2 % of the window or more: a tracer stops
//! the tool at calls, and that takes longer when others want the CPUs.
//!
//! It is undecided when steal time alone may explain the fall. For this the last rate is divided by the rest of its fifth
//! (1 - `steal_last_fifth_at_most_ratio`). The steal time is a sum over the CPUs, because one task may have lost all of it.
//!
//! The fall must be more than 4 standard errors (ten slices per fifth), so that a short pause does not count. Windows
//! below 5 s and passes of fewer than 100 calls are not judged.
//!
//! # When it is wrong
//! A disk is slower on its inner tracks, and a file that ends there is read more slowly by design. Buffered writes
//! become slower when the limit of dirty pages is reached. That cliff is real, but it describes the page cache.
//!
//! # What to do
//! Let the pass run until its rate is steady, and quote that rate. Bring the device into a known state first
//! (discard, preconditioning), and look at its temperature and its cache.
//!
//! # References
//! fio #1112 (a rate that falls during a run); NVBench #231 discards trials in which the clock fell below 75 %.

use activebench_model::coverage::Backend;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge};
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::Fifth1Rate,
    FactName::Fifth5Rate,
    FactName::FifthsError,
    FactName::DeviceFifth1Rate,
    FactName::DeviceFifth5Rate,
    FactName::DeviceFifthsError,
    FactName::SyncsInside,
    FactName::Window,
    FactName::ReadBytes,
    FactName::ReadCalls,
    FactName::WriteBytes,
    FactName::WriteCalls,
    FactName::DirectShare,
    FactName::SyncWriteShare,
    FactName::CpuWaitedAtMost,
    FactName::LastFifthStealAtMost,
];

/// Share of the written bytes that must go past the page cache, or be synced by the call itself. Only then do the
/// calls show when the storage took the bytes.
const MOSTLY: f64 = 0.9;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB703",
    name: "cliff-or-throttling",
    title: "The pass became much slower",
    explained_by: &["AB505", "AB608"],
    source: include_str!("cliff_or_throttling.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: Some(Correction {
        rank: 260,
        honest: Honest::LaterPart,
        measured_instead: |_, _| "a fast beginning and a slower rest",
    }),
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

/// The source of the rates of a pass.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RateSource {
    /// The calls: each ends when its data has been read or is on the storage.
    Calls,
    /// The calls, which end when the page cache has taken the data.
    Copies,
    /// The device: a sync inside the clock stored what the calls had copied.
    Device,
}

impl RateSource {
    /// Returns the source for a pass, by how its writes become durable.
    pub(crate) fn of(run: &Run<'_>, phase: &Phase) -> Result<Self, String> {
        if phase.direction != Direction::Write {
            return Ok(RateSource::Calls);
        }
        let through = run.fact(phase, FactName::DirectShare)?.max(run.fact(phase, FactName::SyncWriteShare)?);
        let syncs = run.fact(phase, FactName::SyncsInside)?;
        Ok(match (through >= MOSTLY, syncs > 0.0) {
            (true, _) => RateSource::Calls,
            (false, true) => RateSource::Device,
            (false, false) => RateSource::Copies,
        })
    }

    /// The facts for the first rate, the last rate, and the error of their difference.
    pub(crate) fn facts(self) -> [FactName; 3] {
        match self {
            RateSource::Calls | RateSource::Copies => {
                [FactName::Fifth1Rate, FactName::Fifth5Rate, FactName::FifthsError]
            }
            RateSource::Device => [FactName::DeviceFifth1Rate, FactName::DeviceFifth5Rate, FactName::DeviceFifthsError],
        }
    }
}

/// A tracer needs a CPU at each call, and so does the tool at once after it: where others want the CPUs too, all calls
/// take longer, and the storage has no part in that.
fn starved_by_observation(run: &Run<'_>, phase: &Phase) -> Result<(), Halt> {
    match run.manifest.coverage.backend {
        Backend::Bpf => return Ok(()),
        Backend::Ptrace => {}
        Backend::None => return Err(Halt::undecided("Nothing was observed.")),
    }
    let waited = run.fact(phase, FactName::CpuWaitedAtMost)?;
    let limit = run.thresholds.ab703_cpu_waited_least_ratio.value.value;
    if waited >= limit * run.fact(phase, FactName::Window)? {
        return Err(Halt::undecided(format!(
            "The calls became slower, and somebody waited for a CPU for up to {} of the pass. A tracer stops the tool at \
             calls, which takes longer then (hint: CAP_BPF and CAP_PERFMON, or root, observe without stops: \
             --backend bpf).",
            Quantity { value: waited, ..Quantity::ns(0) }
        )));
    }
    Ok(())
}

/// Steal time in the last fifth makes calls longer there, however fast the storage is. `kept` is the last rate divided by
/// the first.
fn starved_by_hypervisor(run: &Run<'_>, phase: &Phase, kept: f64) -> Result<(), Halt> {
    let stolen = run.fact(phase, FactName::LastFifthStealAtMost)?;
    if kept < run.thresholds.ab703_last_fifth_warn_ratio.value.value * (1.0 - stolen) {
        return Ok(());
    }
    Err(Halt::undecided(format!(
        "The last fifth of the pass ran at {} of the rate of the first. The hypervisor gave up to {} of that fifth to \
         others, and that alone may explain it.",
        Quantity::ratio(kept),
        Quantity::ratio(stolen.min(1.0))
    )))
}

/// The facts for a pass over names.
const FACTS_OF_NAMES: &[FactName] = &[
    FactName::Window,
    FactName::NameFifth1Rate,
    FactName::NameFifth5Rate,
    FactName::NameFifthsError,
    FactName::LastFifthStealAtMost,
];

/// Judges a pass over names: a directory can slow down with the number of its files.
fn of_names(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let (run, limits) = (&case.run, case.thresholds());
    if run.fact(phase, FactName::Window)? < limits.ab703_window_least_ns.value.value {
        return Err(Halt::not_applicable("The pass is too short to distinguish a cliff from a pause."));
    }
    let [first, last, error] = [FactName::NameFifth1Rate, FactName::NameFifth5Rate, FactName::NameFifthsError]
        .map(|name| run.fact(phase, name));
    let (first, last, error) = (first?, last?, error?);
    let limit = &limits.ab703_last_fifth_warn_ratio;
    let is_noise = first - last <= limits.ab703_error_deviations_count.value.value * error;
    if first <= 0.0 || last >= limit.value.value * first || is_noise {
        return Ok(case.silent(""));
    }
    starved_by_observation(run, phase)?;
    starved_by_hypervisor(run, phase, last / first)?;
    let rate = |value| Quantity::ops_per_sec(value);
    Ok(case.fires(Firing {
        weight: Weight::Note,
        observed: Some(Quantity::ratio(last / first)),
        threshold: limit.clone(),
        message: format!(
            "The names took {} in the last fifth of the pass and {} in the first (a ratio of {}).",
            rate(last),
            rate(first),
            Quantity::ratio(last / first)
        ),
        meaning: "A directory can become slower with the number of its files. The figure is a mean over all sizes."
            .to_owned(),
        advice: "quote the number of files with the figure".to_owned(),
    }))
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    if phase.names.is_some() {
        return of_names(&case.resting_on(FACTS_OF_NAMES.to_vec()), phase);
    }
    let case = &case.concerning_storage()?;
    let (run, limits) = (&case.run, case.thresholds());
    if phase.direction == Direction::None {
        return Err(Halt::not_applicable("The pass does not move data."));
    }
    if run.fact(phase, FactName::Window)? < limits.ab703_window_least_ns.value.value {
        return Err(Halt::not_applicable("The pass is too short to distinguish a cliff from a pause."));
    }
    if run.moved(phase)? == 0.0 {
        return Err(Halt::not_applicable("No byte was moved. See AB106."));
    }
    let calls = match phase.direction {
        Direction::Read => run.fact(phase, FactName::ReadCalls)?,
        Direction::Write => run.fact(phase, FactName::WriteCalls)?,
        _ => run.fact(phase, FactName::ReadCalls)? + run.fact(phase, FactName::WriteCalls)?,
    };
    if calls < limits.ab703_calls_least_count.value.value {
        return Err(Halt::not_applicable("There are too few calls to show a change of the rate."));
    }
    let source = RateSource::of(run, phase)?;
    let [first, last, error] = source.facts();
    let (first, last, error) = (run.fact(phase, first)?, run.fact(phase, last)?, run.fact(phase, error)?);
    let limit = &limits.ab703_last_fifth_warn_ratio;
    if first <= 0.0 || last >= limit.value.value * first {
        return Ok(case.silent(""));
    }
    let rate = |value| Quantity::bytes_per_sec(value);
    if first - last <= limits.ab703_error_deviations_count.value.value * error {
        return Ok(case.silent(format!(
            "The last fifth ran at {} and the first at {}. The rate varies as much within each.",
            rate(last),
            rate(first)
        )));
    }
    starved_by_observation(run, phase)?;
    starved_by_hypervisor(run, phase, last / first)?;
    let whose = match source {
        RateSource::Calls => "The calls moved",
        RateSource::Copies => "The page cache took",
        RateSource::Device => "The device took",
    };
    Ok(case.fires(Firing {
        weight: Weight::Warn(Effect::Misleading),
        observed: Some(Quantity::ratio(last / first)),
        threshold: limit.clone(),
        message: format!(
            "{whose} {} in the last fifth of the pass and {} in the first (a ratio of {}).",
            rate(last),
            rate(first),
            Quantity::ratio(last / first)
        ),
        meaning: match source {
            RateSource::Copies => {
                "The page cache took the first part, up to its threshold of dirty pages. A longer run shows the \
                 later rate."
            }
            _ => "The figure is a mean of two rates. A longer run shows the later one.",
        }
        .to_owned(),
        advice: format!(
            "quote {} for the later part, and run the pass until its rate is steady. Check the device's temperature \
             and its cache",
            rate(last)
        ),
    }))
}
