//! Differences between the runs of a series that explain how a figure varies.
//!
//! Each run has circumstances of its phases: others at the device, limits, hits of the page cache, stolen CPUs.
//! A circumstance is named as a cause if all of this is true:
//! - it is known of every run that states the figure, and of five at least;
//! - it differs between the runs by as much as its own detector warns of;
//! - the figure goes with it, in the direction in which it must: more foreign I/O, a lower rate, a longer latency;
//! - at least half of the figure's variance goes with it, and chance alone would bring that about for one figure in a
//!   hundred at most: Student's t of the correlation, the hundredth shared by the circumstances that are compared with
//!   the figure (Bonferroni).
//!
//! It is not shared by the figures, most of which are the same measurement in other words: of a hundred phases whose
//! runs differ by chance alone, one can be given a cause.

use activebench_model::fact::FactName;
use activebench_model::limiter::LimiterKind;
use activebench_model::phase::{Direction, Phase};
use activebench_model::report::JudgedRun;
use activebench_model::series::{Cause, Circumstance, CircumstanceKind, Circumstances, Repeated, RunOfSeries, Sample};
use activebench_model::units::{Quantity, Unit};
use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::statistics::Statistics;

use crate::series::steady_state::truest;
use crate::thresholds::Thresholds;

/// Share of the variance that a cause must explain.
const EXPLAINED_LEAST: f64 = 0.5;
/// Probability up to which chance alone may explain as much of a figure.
const CHANCE_MOST: f64 = 0.01;

/// Returns the circumstances of the phases of a run, as far as they were completely observed.
pub(crate) fn circumstances(run: &JudgedRun) -> Vec<Circumstances> {
    run.phases.iter().map(|phase| Circumstances { phase: phase.id.clone(), seen: seen(run, phase) }).collect()
}

fn seen(run: &JudgedRun, phase: &Phase) -> Vec<Circumstance> {
    use CircumstanceKind::{AtLimit, CacheHits, ForeignIo, Heat, IoLimit, MemoryStalls, RunQueue, Steal};
    let fact = |name| phase.facts.complete(name).ok();
    let over = |part: Option<f64>, whole: Option<f64>| Some(part? / whole.filter(|whole| *whole > 0.0)?);
    let threads =
        fact(FactName::UserCpu).and_then(|user| Some(user + fact(FactName::KernelCpu)? + fact(FactName::OffCpu)?));
    let hits = || {
        let buffered = fact(FactName::ReadBytes)? * (1.0 - fact(FactName::DirectShare)?);
        Some(1.0 - over(fact(FactName::CacheInsertedBytes), Some(buffered))?.clamp(0.0, 1.0))
    };
    let reads = matches!(phase.direction, Direction::Read | Direction::Mixed);
    let shares = [
        (ForeignIo, phase.foreign_io_ratio()),
        (CacheHits, if reads { hits() } else { None }),
        (Steal, fact(FactName::StealShare)),
        (RunQueue, over(fact(FactName::Preempted), threads)),
        (MemoryStalls, fact(FactName::MemoryStallShare)),
    ];
    let mut seen: Vec<Circumstance> = shares
        .into_iter()
        .filter_map(|(kind, share)| Some(Circumstance { kind, value: Quantity::ratio(share?) }))
        .collect();
    let limiter = run.limiters.iter().find(|limiter| limiter.phase == phase.id);
    if let Some((limiter, kind)) = limiter.and_then(|limiter| Some((limiter, limiter.kind?))) {
        let limit = limiter.figures.first().filter(|_| kind == LimiterKind::Throttling);
        seen.push(Circumstance { kind: AtLimit, value: Quantity::ratio(f64::from(u8::from(limit.is_some()))) });
        seen.extend(limit.map(|limit| Circumstance { kind: IoLimit, value: limit.value }));
    }
    if let Some(times) = fact(FactName::ThermalThrottles) {
        seen.push(Circumstance { kind: Heat, value: Quantity { value: times, ..Quantity::count(0) } });
    }
    seen
}

/// A circumstance that differs between the runs by as much as matters.
struct Compared<'a> {
    of: &'a Kind,
    all: Vec<Option<Quantity>>,
    /// Of the runs that have the figure.
    known: Vec<f64>,
    unit: Unit,
}

/// Returns the explanations of how a figure varies, the strongest first; none if more of it is neither better nor worse.
pub(crate) fn of_figure(runs: &[RunOfSeries], figure: &Repeated, thresholds: &Thresholds) -> Vec<Cause> {
    let Some(more_is_worse) = figure.metric.more_is_worse() else { return Vec::new() };
    let known = |sample: &Sample| sample.values.iter().flatten().count();
    let (truest, _) = truest(figure);
    let sample = truest.filter(|truest| known(truest) == known(&figure.claimed)).unwrap_or(&figure.claimed);
    let rounds: Vec<(usize, f64)> =
        sample.values.iter().enumerate().filter_map(|(index, value)| Some((index, (*value)?))).collect();
    if (rounds.len() as f64) < thresholds.ab705_runs_least_count.value.value {
        return Vec::new();
    }
    let values: Vec<f64> = rounds.iter().map(|(_, value)| *value).collect();
    let compared = KINDS.iter().filter_map(|of| {
        let all: Vec<Option<Quantity>> = runs.iter().map(|run| of.known(run, &figure.phase)).collect();
        let known: Option<Vec<f64>> = rounds.iter().map(|(index, _)| Some(all[*index]?.value)).collect();
        let known = known?;
        let unit = all.iter().flatten().next()?.unit;
        let (least, most) = ((&known).min(), (&known).max());
        let differs = most - least >= (of.matters)(thresholds) && most > least;
        let of_one_unit = all.iter().flatten().all(|value| value.unit == unit);
        (differs && of_one_unit).then_some(Compared { of, all, known, unit })
    });
    let compared: Vec<Compared<'_>> = compared.collect();
    let chance_most = CHANCE_MOST / compared.len() as f64;
    let mut causes: Vec<Cause> = compared
        .iter()
        .filter_map(|Compared { of, all, known, unit }| {
            let correlation = correlation(known, &values)?;
            let as_it_must = (correlation > 0.0) == (of.speeds_up != more_is_worse);
            let explained = correlation * correlation;
            if !as_it_must || explained < EXPLAINED_LEAST || by_chance(correlation, values.len())? > chance_most {
                return None;
            }
            Some(Cause {
                kind: of.kind,
                sentence: sentence(of, runs, all, *unit, explained),
                values: all.iter().map(|value| value.map(|value| value.value)).collect(),
                unit: *unit,
                explained_ratio: explained,
            })
        })
        .collect();
    causes.sort_by(|one, other| other.explained_ratio.total_cmp(&one.explained_ratio));
    causes
}

/// One kind of circumstance, and its effect on a rate.
struct Kind {
    kind: CircumstanceKind,
    /// `true` if more of it makes a pass faster.
    speeds_up: bool,
    /// The difference between runs from which on it matters.
    matters: fn(&Thresholds) -> f64,
    /// The circumstance in words.
    words: &'static str,
}

const KINDS: &[Kind] = &[
    Kind {
        kind: CircumstanceKind::ForeignIo,
        speeds_up: false,
        matters: |limits| limits.ab601_foreign_warn_ratio.value.value,
        words: "others at the device",
    },
    Kind { kind: CircumstanceKind::IoLimit, speeds_up: true, matters: |_| 0.0, words: "the limit of a control group" },
    Kind {
        kind: CircumstanceKind::AtLimit,
        speeds_up: false,
        matters: |_| 1.0,
        words: "a control group's limit that was reached",
    },
    Kind {
        kind: CircumstanceKind::CacheHits,
        speeds_up: true,
        matters: |limits| limits.ab201_cache_share_warn_ratio.value.value,
        words: "reads that the page cache answered",
    },
    Kind {
        kind: CircumstanceKind::Steal,
        speeds_up: false,
        matters: |limits| limits.ab602_steal_warn_ratio.value.value,
        words: "CPU time that the hypervisor took for others",
    },
    Kind {
        kind: CircumstanceKind::RunQueue,
        speeds_up: false,
        matters: |limits| limits.ab602_run_queue_warn_ratio.value.value,
        words: "threads that waited for a CPU",
    },
    Kind {
        kind: CircumstanceKind::MemoryStalls,
        speeds_up: false,
        matters: |limits| limits.ab605_stall_warn_ratio.value.value,
        words: "waiting for memory",
    },
    Kind { kind: CircumstanceKind::Heat, speeds_up: false, matters: |_| 1.0, words: "CPUs slowed for heat" },
];

impl Kind {
    fn known(&self, run: &RunOfSeries, phase: &str) -> Option<Quantity> {
        let of_phase = run.circumstances.iter().find(|of| of.phase == phase)?;
        of_phase.seen.iter().find(|seen| seen.kind == self.kind).map(|seen| seen.value)
    }
}

/// Returns Pearson's coefficient; `None` if one of both does not vary.
fn correlation(one: &[f64], other: &[f64]) -> Option<f64> {
    let coefficient = one.covariance(other) / (one.std_dev() * other.std_dev());
    coefficient.is_finite().then(|| coefficient.clamp(-1.0, 1.0))
}

/// Returns the probability that independent values correlate so strongly in this direction.
fn by_chance(correlation: f64, count: usize) -> Option<f64> {
    let freedom = count.checked_sub(2).filter(|freedom| *freedom > 0)? as f64;
    let rest = 1.0 - correlation * correlation;
    if rest <= 0.0 {
        return Some(0.0);
    }
    let t = correlation.abs() * (freedom / rest).sqrt();
    Some(1.0 - StudentsT::new(0.0, 1.0, freedom).ok()?.cdf(t))
}

/// `others at the device (0 % in run 1, 45 % in run 4, 97 % of the variance)`.
fn sentence(of: &Kind, runs: &[RunOfSeries], all: &[Option<Quantity>], unit: Unit, explained: f64) -> String {
    let known = || runs.iter().zip(all).filter_map(|(run, value)| Some((run.number, (*value)?.value)));
    let shown = |value: f64| Quantity { value, unit };
    let by_value = |one: &(u32, f64), other: &(u32, f64)| one.1.total_cmp(&other.1);
    let range = match (known().min_by(by_value), known().max_by(by_value)) {
        (Some((at_least, least)), Some((at_most, most))) => {
            format!("{} in run {at_least}, {} in run {at_most}", shown(least), shown(most))
        }
        _ => String::new(),
    };
    format!("{} ({range}, {} of the variance)", of.words, Quantity::ratio(explained))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correlation_is_pearson_s_and_its_chance_student_s() {
        // r of (1..5) with 2, 4, 6, 8, 10 is 1; with (2, 1, 4, 3, 5) it is 0.8: t = 0.8 sqrt(3 / 0.36) = 2.309.
        assert_eq!(correlation(&[1.0, 2.0, 3.0], &[5.0, 5.0, 5.0]), None);
        let whole = correlation(&[1.0, 2.0, 3.0, 4.0, 5.0], &[2.0, 4.0, 6.0, 8.0, 10.0]).expect("it varies");
        assert!((whole - 1.0).abs() < 1e-12 && by_chance(whole, 5).expect("enough") < 1e-9);
        let part = correlation(&[1.0, 2.0, 3.0, 4.0, 5.0], &[2.0, 1.0, 4.0, 3.0, 5.0]).expect("it varies");
        assert!((part - 0.8).abs() < 1e-12, "{part}");
        let chance = by_chance(part, 5).expect("enough");
        assert!((chance - 0.052).abs() < 0.001, "{chance}");
        assert_eq!(by_chance(0.9, 2), None);
    }
}
