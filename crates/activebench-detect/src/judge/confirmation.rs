//! The observation that confirms a claim, or the reason why none does.
//!
//! A claim that no detector accuses is not yet true. It is confirmed when the same figure was observed and the claim
//! is within that figure's tolerance. These tolerances are narrower than the differences from which on a claim is
//! accused: between the two a claim is *not checked*.

use activebench_model::claim::{Claim, Metric};
use activebench_model::phase::Phase;
use activebench_model::units::Quantity;
use activebench_model::verdict::{Confirmation, Tolerance};

use crate::evidence::rebuilt_figure::{noise_share, rebuild};
use crate::run::Run;

/// The observation that confirms a claim.
///
/// # Errors
/// The reason if there is none: a lower-case fragment without the figures, which the report prints next to it.
pub(crate) fn confirmation(run: &Run<'_>, phase: &Phase, claim: &Claim) -> Result<Confirmation, String> {
    let observed = rebuild(run, phase, claim)?.figure?;
    let tolerance = tolerance(run, phase, claim, observed)?;
    // The resolution of a share of CPU time includes how the kernel divides it, not only how it is printed; its
    // tolerance is wider than what is printed, and so is that of a rate. A truncated number is up to a whole step,
    // twice the resolution, from the true one.
    let rounding = match claim.metric {
        metric if metric.is_count() || metric.is_latency() => 2.0 * claim.resolution,
        _ => 0.0,
    };
    Confirmation::of(claim.value, rounding, observed, tolerance).ok_or_else(|| outside(claim, observed).to_owned())
}

/// Returns the tolerance around the observed figure.
///
/// # Errors
/// The reason if it is not known how much the figure of this pass can scatter.
pub(crate) fn tolerance(run: &Run<'_>, phase: &Phase, claim: &Claim, observed: Quantity) -> Result<Tolerance, String> {
    let limits = run.thresholds;
    let percent = |ratio: f64| Quantity::ratio(ratio);
    let value = observed.value;
    let metric = claim.metric;
    if metric.is_count() {
        let ratio = limits.confirmed_count_ratio.value.value;
        return Ok(around(value, ratio * value, ratio * value, percent(ratio).to_string()));
    }
    if metric.is_cpu() {
        let (ratio, share) = (limits.confirmed_cpu_ratio.value.value, limits.confirmed_cpu_points_ratio.value.value);
        let by = ratio * value + share;
        return Ok(around(value, by, by, format!("{} and {} of a CPU", percent(ratio), percent(share))));
    }
    if metric.is_latency() {
        let (ratio, clock) = (limits.confirmed_latency_ratio.value.value, limits.confirmed_latency_ns.value);
        let by = ratio * value;
        // The tool reads its clock around the calls.
        let reason = format!("{0} below, {0} and {clock} for the tool's own clock above", percent(ratio));
        return Ok(around(value, by, by + clock.value, reason));
    }
    // Rounding by the tool's clock: up, which makes a rate worse, by more than down.
    let rounding = 2.0 * claim.resolution / value;
    let side = |excess: f64| -> Result<f64, String> {
        let noise = noise_share(run, phase, excess)?;
        // Unknown noise does not widen the tolerance.
        let noise = 2.0 * noise.typical + noise.bound.unwrap_or(0.0);
        let of_a_short_pass = limits.confirmed_short_window_ratio.value.value;
        let most = if excess > 0.0 { of_a_short_pass } else { limits.confirmed_coarse_clock_ratio.value.value };
        Ok((limits.confirmed_rate_ratio.value.value.max(noise.min(of_a_short_pass)) + rounding).min(most))
    };
    let (better, worse) = (side(1.0)?, side(-1.0)?);
    // A short time of one operation is a high rate.
    let (below, above) = if metric == Metric::TimePerOperation { (better, worse) } else { (worse, better) };
    let reason = match below == above {
        true => percent(below).to_string(),
        false => format!("{} below, {} above", percent(below), percent(above)),
    };
    Ok(around(value, below * value, above * value, reason))
}

fn around(value: f64, below: f64, above: f64, reason: String) -> Tolerance {
    Tolerance { low: value - below, high: value + above, reason }
}

/// Returns the reason why a claim outside the tolerance is not contradicted either.
fn outside(claim: &Claim, observed: Quantity) -> &'static str {
    match claim.metric {
        metric if metric.is_cpu() => {
            "the kernel accounts CPU time by rules of its own (timer ticks, stolen time, interrupts), and its figure is too \
             far from the observed one to be confirmed by it"
        }
        metric if metric.is_latency() && claim.value.value > observed.value => {
            "the tool's clock also covers its own work and its waits around the calls, and its figure is too far above \
             that of the calls to be confirmed by it"
        }
        metric if metric.is_latency() => {
            "the tool reads its clock some time before or after the calls, or only a sample of them was timed, and its \
             figure is too far below that of the calls to be confirmed by it"
        }
        metric if metric.is_count() => "it differs from the observed count by more than the tolerance",
        _ => {
            "the tool's clock may cover waits that no call shows, and its figure is too far from the observed one to be \
             confirmed by it"
        }
    }
}
