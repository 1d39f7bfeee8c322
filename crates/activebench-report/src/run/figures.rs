//! The figures of a run that people quote: of each phase its rate and its latency, and their words.

use std::collections::BTreeMap;

use activebench_model::claim::{Claim, Metric};
use activebench_model::finding::Finding;
use activebench_model::limiter::LimiterKind;
use activebench_model::report::JudgedRun;
use activebench_model::units::{Quantity, Unit, significant};
use activebench_model::verdict::{ClaimVerdict, JudgedClaim};

use super::causes::cause_of_figure;
use crate::document::Glance;

/// One figure.
pub(crate) struct Figure<'run> {
    pub(crate) claim: &'run Claim,
    pub(crate) judged: Option<&'run JudgedClaim>,
    /// Order in which rows are left out: the smallest stays longest.
    pub(crate) dispensable: u8,
}

/// The figures that have a row, and what is left out.
pub(crate) struct Selection<'run> {
    /// In the order of the output if all have a row; of a selection, what is not confirmed comes first.
    pub(crate) figures: Vec<Figure<'run>>,
    /// Number of the run's figures without a row.
    pub(crate) left_out: usize,
    /// Those of them that are contradicted.
    pub(crate) left_out_wrong: usize,
}

impl<'run> Selection<'run> {
    /// Returns at most this many figures.
    pub(crate) fn of(run: &'run JudgedRun, most: usize) -> Self {
        let mut figures = figures(run);
        let all = figures.len();
        // The order of the output is kept among those that stay.
        let mut order: Vec<usize> = (0..all).collect();
        order.sort_by_key(|place| (figures[*place].dispensable, *place));
        order.truncate(most);
        let mut place = 0;
        figures.retain(|_| {
            place += 1;
            order.contains(&(place - 1))
        });
        if figures.len() < all {
            figures.sort_by_key(|figure| figure.dispensable);
        }
        let is_wrong = |judged: &JudgedClaim| judged.verdict().is_contradicted();
        let wrong = run.judged.iter().filter(|judged| is_wrong(judged)).count();
        let shown_wrong = figures.iter().filter(|figure| figure.judged.is_some_and(is_wrong)).count();
        let left_out = run.parsed.claims.len() - figures.len();
        Self { figures, left_out, left_out_wrong: wrong - shown_wrong }
    }
}

/// The figures that have a row if there is room for all, in the order of the output.
fn figures(run: &JudgedRun) -> Vec<Figure<'_>> {
    let judged: BTreeMap<&str, &JudgedClaim> = run.judged.iter().map(|j| (j.claim.as_str(), j)).collect();
    let of = |claim: &Claim| judged.get(claim.id.as_str()).copied();
    let weight = |claim: &Claim| match of(claim).map(JudgedClaim::verdict) {
        Some(verdict) if verdict.is_contradicted() => 0_u8,
        Some(ClaimVerdict::Unverifiable) | None => 1,
        Some(ClaimVerdict::NotChecked) => 2,
        Some(ClaimVerdict::Confirmed) => 3,
        Some(_) => 1,
    };
    // Of each phase its worst rate and its worst latency; among equals the one that people quote.
    let mut rates: BTreeMap<&str, (u8, u8, usize)> = BTreeMap::new();
    let mut latencies: BTreeMap<&str, (u8, u8, usize)> = BTreeMap::new();
    let mut others = Vec::new();
    let is_small: BTreeMap<&str, bool> =
        run.phases.iter().map(|p| (p.id.as_str(), p.block_bytes.is_some_and(|bytes| bytes <= 16 << 10))).collect();
    for (place, claim) in run.parsed.claims.iter().enumerate() {
        let is_small = is_small.get(claim.phase.as_str()).copied().unwrap_or(false);
        let of_phase = if claim.metric.is_latency() {
            &mut latencies
        } else if claim.metric.is_rate(false) {
            &mut rates
        } else {
            if weight(claim) == 0 {
                others.push(place);
            }
            continue;
        };
        // A rate that fails comes first; a latency that is only not checked does not replace the one that people quote.
        let weight = if claim.metric.is_latency() { weight(claim).min(1) } else { weight(claim) };
        let rank = (weight, preference(claim.metric, is_small), place);
        let best = of_phase.entry(claim.phase.as_str()).or_insert(rank);
        *best = rank.min(*best);
    }
    let is_checked = |place: usize| weight(&run.parsed.claims[place]) != 2;
    let mut places: Vec<(usize, u8)> = Vec::new();
    places.extend(rates.values().map(|(weight, _, place)| (*place, if *weight == 0 { 0 } else { 2 })));
    let latency = |(weight, _, place): &(u8, u8, usize)| match weight {
        0 => (*place, 1),
        _ => (*place, if is_checked(*place) { 4 } else { 5 }),
    };
    places.extend(latencies.values().map(latency));
    places.extend(others.into_iter().map(|place| (place, 3)));
    places.sort_unstable();
    places
        .into_iter()
        .map(|(place, dispensable)| {
            let claim = &run.parsed.claims[place];
            Figure { claim, judged: of(claim), dispensable }
        })
        .collect()
}

/// Heads of the columns of the tool's figures and the honest ones.
pub(crate) fn heads(run: &JudgedRun, figures: &[Figure<'_>]) -> [String; 2] {
    let tool = if run.parsed.tool.is_empty() { "the tool" } else { run.parsed.tool.as_str() };
    let is_of_the_disk = |figure: &Figure<'_>| figure.claim.subject.is_storage() && !figure.claim.metric.is_latency();
    let honest = if figures.iter().all(is_of_the_disk) { "the disk did" } else { "honest" };
    [format!("{} says", Glance::cell(tool, 12)), honest.to_owned()]
}

/// Which of a phase's figures people quote: the smallest number first.
fn preference(metric: Metric, is_small: bool) -> u8 {
    match metric {
        Metric::OperationRate if is_small => 0,
        Metric::Throughput | Metric::SumOfTaskThroughput => 1,
        Metric::OperationRate | Metric::SumOfTaskOperationRate => 2,
        Metric::LatencyP99 | Metric::CompletionLatencyP99 => 1,
        Metric::LatencyMean | Metric::CompletionLatencyMean => 2,
        Metric::ParentThroughput | Metric::ParentOperationRate => 3,
        _ => 4,
    }
}

pub(crate) fn difference(claim: &Claim, judged: Option<&JudgedClaim>, honest: Option<Quantity>) -> String {
    let Some(honest) = honest.filter(|_| judged.is_some_and(|j| j.verdict() != ClaimVerdict::Confirmed)) else {
        return String::new();
    };
    let change = honest.value / claim.value.value - 1.0;
    if !change.is_finite() {
        return String::new();
    }
    match change.abs() {
        none if none < 0.0005 => String::new(),
        small if small < 0.0995 => format!("{:+.1} %", change * 100.0),
        usual if usual < 9.995 => format!("{:+.0} %", change * 100.0),
        _ => format!("{} times", significant(honest.value / claim.value.value)),
    }
}

pub(crate) fn cause(run: &JudgedRun, figure: &Figure<'_>, concerning: &[&Finding]) -> String {
    let verdict = figure.judged.map(JudgedClaim::verdict);
    match verdict {
        Some(ClaimVerdict::Confirmed) => {
            let limiter = run.limiters.iter().find(|limiter| limiter.phase == figure.claim.phase);
            match limiter.and_then(|limiter| limiter.kind) {
                Some(LimiterKind::QueueDepth) => "confirmed, QD 1".to_owned(),
                _ => "confirmed".to_owned(),
            }
        }
        None => "not judged".to_owned(),
        Some(verdict) => match cause_of_figure(run, concerning) {
            Some(code) => Glance::cell(code, 8),
            None => verdict.words().to_owned(),
        },
    }
}

/// The metric in one word beside others.
pub(crate) fn short_metric(claim: &Claim) -> &'static str {
    match claim.metric {
        // The unit says it.
        Metric::Throughput | Metric::SumOfTaskThroughput | Metric::ParentThroughput => "",
        Metric::OperationRate | Metric::SumOfTaskOperationRate | Metric::ParentOperationRate => "",
        Metric::LatencyP99 | Metric::CompletionLatencyP99 => " p99",
        Metric::LatencyMean | Metric::CompletionLatencyMean => " mean latency",
        Metric::TaskThroughput => " one task",
        Metric::MinTaskThroughput => " slowest task",
        Metric::MaxTaskThroughput => " fastest task",
        Metric::MeanTaskThroughput => " mean of tasks",
        Metric::TimePerOperation => " per operation",
        Metric::BytesMoved | Metric::MinTaskBytes => " amount",
        Metric::OperationsDone | Metric::SyncsDone => " count",
        Metric::LatencyP50 | Metric::CompletionLatencyP50 => " p50",
        Metric::LatencyP95 | Metric::CompletionLatencyP95 => " p95",
        Metric::LatencyP999 | Metric::CompletionLatencyP999 => " p99.9",
        Metric::LatencyMax => " max",
        Metric::SyncLatencyMean => " mean sync",
        Metric::SyncLatencyP50 => " p50 sync",
        Metric::SyncLatencyP95 => " p95 sync",
        Metric::SyncLatencyP99 => " p99 sync",
        Metric::SyncLatencyP999 => " p99.9 sync",
        Metric::CpuUser => " user CPU",
        Metric::CpuSystem => " kernel CPU",
        Metric::CpuTotal => " CPU",
    }
}

/// One unit for all figures of a kind, so that a column can be compared at a glance.
pub(crate) struct Scale(BTreeMap<&'static str, (f64, &'static str)>);

impl Scale {
    pub(crate) fn of(values: impl Iterator<Item = Quantity>) -> Self {
        let mut largest: BTreeMap<&'static str, (Unit, Vec<f64>)> = BTreeMap::new();
        for value in values {
            largest.entry(value.unit.as_str()).or_insert((value.unit, Vec::new())).1.push(value.value.abs());
        }
        let pick = |(name, (unit, values)): (&'static str, (Unit, Vec<f64>))| {
            let (base, units): (f64, &[&'static str]) = match unit {
                Unit::Bytes => (1024.0, &["B", "KiB", "MiB", "GiB", "TiB"]),
                Unit::BytesPerSec => (1024.0, &["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s"]),
                Unit::Ns => (1000.0, &["ns", "µs", "ms", "s"]),
                Unit::OpsPerSec => (1000.0, &["IOPS", "k IOPS", "M IOPS"]),
                Unit::Ratio | Unit::Count => return None,
            };
            // The unit of the median: small figures keep their digits, large ones get at most some more.
            let mut values: Vec<f64> = values.into_iter().filter(|value| *value > 0.0).collect();
            values.sort_by(f64::total_cmp);
            let middle = values.get(values.len() / 2).copied().unwrap_or(0.0);
            let power = (0..units.len()).rev().find(|power| middle >= base.powi(*power as i32)).unwrap_or(0);
            Some((name, (base.powi(power as i32), units[power])))
        };
        Self(largest.into_iter().filter_map(pick).collect())
    }

    /// Returns the size and the name of the unit of such figures; `None` for one that has no scale.
    pub(crate) fn unit(&self, unit: Unit) -> Option<(f64, &'static str)> {
        self.0.get(unit.as_str()).copied()
    }

    /// Returns a figure in the unit of its kind.
    pub(crate) fn show(&self, value: Quantity) -> String {
        let Some((divisor, unit)) = self.0.get(value.unit.as_str()) else { return value.to_string() };
        let scaled = value.value / divisor;
        let is_far = scaled != 0.0 && !(0.01..100_000.0).contains(&scaled.abs());
        // Far from the others, its own unit is easier to read.
        if is_far { value.to_string() } else { format!("{} {unit}", significant(scaled)) }
    }
}
