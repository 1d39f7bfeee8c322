//! Rates and latencies that a script prints itself, that come from no figure of its tools, and that are better than all of
//! them.
//!
//! A script that takes the time around its tools finds a rate below theirs: its clock covers theirs, and their starts. A
//! higher rate is not explained by that. Neither is a latency of less than half of theirs (fio has three kinds of one
//! request), or a mean of less than three quarters of the mean that is meant. It may be about something else, or
//! invented; the output does not say which.

use std::collections::{HashMap, HashSet};

use activebench_model::claim::{Claim, Metric};
use activebench_model::phase::Phase;
use activebench_model::script_figure::ScriptFigure;
use activebench_model::units::{Quantity, Unit};

use crate::run::Run;

/// From this share of the tools' lowest latency on it may be another kind of latency of the same requests.
const OTHER_KIND_RATIO: f64 = 0.5;

/// The same where a mean is meant, of which the tools' kinds are known.
const OTHER_MEAN_RATIO: f64 = 0.75;

/// A rate or latency of the script, and the best of its tools in the same unit.
pub(crate) struct Beyond<'a> {
    pub(crate) figure: &'a ScriptFigure,
    pub(crate) best: Quantity,
}

/// Finds the rates that exceed those of all passes that their words may mean by this share or more, and the latencies that
/// are below all of the run.
pub(crate) fn beyond_the_tools<'a>(run: &Run<'a>, share: f64) -> Vec<Beyond<'a>> {
    let untraced = run.parsed.script_figures.iter().filter(|figure| figure.origin.is_none() && !figure.is_no_result);
    // Many figures mean the same claims.
    let mut best: HashMap<(Unit, &[String]), Option<Quantity>> = HashMap::new();
    let found = untraced.filter_map(|figure| {
        let (unit, meant) = (figure.value.unit, figure.meant.as_slice());
        let is_latency = match unit {
            Unit::Ns => true,
            Unit::BytesPerSec | Unit::OpsPerSec => false,
            _ => return None,
        };
        let of_tools = || if is_latency { lowest_latency(run, meant) } else { highest_rate(run, unit, meant) };
        let best = (*best.entry((unit, meant)).or_insert_with(of_tools))?;
        let is_beyond = match is_latency {
            true => figure.value.value < best.value * least_share(run, meant),
            false => figure.value.value > best.value * (1.0 + share),
        };
        is_beyond.then_some(Beyond { figure, best })
    });
    found.collect()
}

/// Returns the share of the tools' lowest latency below which a latency is not one of theirs.
fn least_share(run: &Run<'_>, meant: &[String]) -> f64 {
    let is_mean =
        |metric| matches!(metric, Metric::LatencyMean | Metric::CompletionLatencyMean | Metric::SyncLatencyMean);
    let mut meant = run.parsed.claims.iter().filter(|claim| meant.contains(&claim.id)).peekable();
    match meant.peek().is_some() && meant.all(|claim| is_mean(claim.metric)) {
        true => OTHER_MEAN_RATIO,
        false => OTHER_KIND_RATIO,
    }
}

/// The lowest of these latencies (of all where none are given); `None` where the tools printed none.
fn lowest_latency(run: &Run<'_>, meant: &[String]) -> Option<Quantity> {
    let latencies = run.parsed.claims.iter().filter(|claim| claim.metric.is_latency() && claim.value.unit == Unit::Ns);
    let latencies = latencies.filter(|claim| meant.is_empty() || meant.contains(&claim.id));
    let lowest = latencies.map(|claim| claim.value.value).reduce(f64::min)?;
    Some(Quantity { value: lowest, unit: Unit::Ns })
}

/// The highest rate of the passes of these claims (of all where none are given), those at the same time added up; `None` where no figure
/// is in this unit, and none in bytes of a known block size.
fn highest_rate(run: &Run<'_>, unit: Unit, meant: &[String]) -> Option<Quantity> {
    let claims = run.parsed.claims.iter().filter(|claim| meant.contains(&claim.id));
    let meant: HashSet<&str> = claims.map(|claim| claim.phase.as_str()).collect();
    let is_meant = |phase: &&Phase| meant.is_empty() || meant.contains(phase.id.as_str());
    let rate = |claim: &Claim, phase: &Phase| match (claim.value.unit, unit, phase.block_bytes) {
        _ if claim.metric.is_count() => None,
        (own, wanted, _) if own == wanted => Some(claim.value.value),
        (Unit::BytesPerSec, Unit::OpsPerSec, Some(block)) if block > 0 => Some(claim.value.value / block as f64),
        _ => None,
    };
    // Passes of which no time is known may be at the same time as any other.
    let mut at_any_time = 0.0;
    let mut changes: Vec<(u64, f64)> = Vec::new();
    let mut found = false;
    for phase in run.phases.iter().filter(is_meant) {
        let rates = run.claims_of(phase).filter_map(|claim| rate(claim, phase));
        let Some(highest) = rates.reduce(f64::max) else { continue };
        found = true;
        match phase.window {
            Some(window) => changes.extend([(window.start_ns, highest), (window.end_ns, -highest)]),
            None => at_any_time += highest,
        }
    }
    changes.sort_by(|one, other| one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)));
    let (mut now, mut most) = (0.0_f64, 0.0_f64);
    for (_, change) in changes {
        now += change;
        most = most.max(now);
    }
    found.then_some(Quantity { value: at_any_time + most, unit })
}
