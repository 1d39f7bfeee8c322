//! One figure of several disks side by side, and which of them are far from the others.
//!
//! The rule is that for the runs of a series (AB704): a member is named when its median is more than 14.826 median
//! absolute deviations from the median of all medians. Nothing is dropped.

use activebench_model::claim::{Metric, Subject};
use activebench_model::history::{Batch, Followed, Member};
use activebench_model::units::{Quantity, Unit};

use crate::series::statistics::{median, median_deviation};
use crate::thresholds::Thresholds;

/// Returns the batches of the figures that several groups have. Figures that differ only in their group are together.
pub(super) fn batches(figures: &[Followed], thresholds: &Thresholds) -> Vec<Batch> {
    let together = figures.chunk_by(|one, other| key(one) == key(other));
    together.filter(|members| members.len() > 1).filter_map(|members| batch(members, thresholds)).collect()
}

fn key(figure: &Followed) -> (&str, &str, &str, Metric, Subject, u32, Option<Unit>) {
    let unit = figure.points.first().map(|point| point.claimed.unit);
    (&figure.tool, &figure.load, &figure.phase, figure.metric, figure.subject, figure.place, unit)
}

fn batch(figures: &[Followed], thresholds: &Thresholds) -> Option<Batch> {
    let first = figures.first()?;
    let unit = first.points.first()?.claimed.unit;
    let quantity = |value| Quantity { value, unit };
    let with = figures.iter().filter_map(|figure| Some((figure, figure.summary.as_ref()?.median.value)));
    let with: Vec<(&Followed, f64)> = with.collect();
    let medians: Vec<f64> = with.iter().map(|(_, median)| *median).collect();
    let (middle, deviation) = (median(&medians)?, median_deviation(&medians)?);
    let least = thresholds.ab704_runs_least_count.value.value;
    let not_judged = match (medians.len() as f64) < least {
        true => Some(format!("{least:.0} are needed to name an outlier, and {} have this figure", medians.len())),
        false if deviation <= 0.0 => Some("most of them are equal, so there is no deviation to go by".to_owned()),
        false => None,
    };
    let limit = thresholds.ab704_deviations_count.value.value;
    let member = |(figure, median): &(&Followed, f64)| {
        let deviations = (deviation > 0.0).then(|| (median - middle).abs() / deviation);
        Member {
            figure: figure.id.clone(),
            group: figure.group.clone(),
            runs: figure.counts.counted,
            median: quantity(*median),
            deviations,
            outlier: not_judged.is_none() && deviations.is_some_and(|deviations| deviations > limit),
        }
    };
    let mut members: Vec<Member> = with.iter().map(member).collect();
    members.sort_by(|one, other| other.median.value.total_cmp(&one.median.value));
    Some(Batch {
        tool: first.tool.clone(),
        load: first.load.clone(),
        phase: first.phase.clone(),
        metric: first.metric,
        members,
        without: figures.iter().filter(|figure| figure.summary.is_none()).map(|figure| figure.group.clone()).collect(),
        median: quantity(middle),
        deviation: quantity(deviation),
        outlier_deviations: limit,
        not_judged,
    })
}
