//! The honest figure for a claim that does not hold, or the reason why there is none.

use activebench_model::claim::{Claim, Metric};
use activebench_model::fact::FactName;
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::{Quantity, Unit};
use activebench_model::verdict::Corrected;

use crate::detector::{Correction, Detector, Honest};
use crate::detectors::cliff_or_throttling::RateSource;
use crate::evidence::bytes::BELOW_READ;
use crate::evidence::device_layers::below;
use crate::evidence::rebuilt_figure::{operations, rebuild, tasks_of};
use crate::run::Run;

/// Returns the quantity that a misleading claim measured, according to the detectors that make it misleading.
pub(crate) fn measured_instead(run: &Run<'_>, phase: &Phase, misleading: &[&Detector]) -> Option<String> {
    let decides = in_order(misleading).into_iter().next()?;
    Some((decides.measured_instead)(run, phase).to_owned())
}

/// The corrections of these detectors, the one that decides first.
fn in_order(misleading: &[&Detector]) -> Vec<Correction> {
    let mut corrections: Vec<Correction> = misleading.iter().filter_map(|detector| detector.correction).collect();
    corrections.sort_by_key(|correction| correction.rank);
    corrections
}

/// The honest figure of a misleading claim, by the detectors that make it so.
///
/// # Errors
/// Why it cannot be given.
pub(crate) fn of_misleading(
    run: &Run<'_>,
    phase: &Phase,
    claim: &Claim,
    misleading: &[&Detector],
) -> Result<Corrected, String> {
    let corrections: Vec<Honest> = in_order(misleading).into_iter().map(|correction| correction.honest).collect();
    // A rate that was reached under a condition is honest where nothing else is wrong with it.
    let beyond = corrections.iter().find(|honest| !matches!(honest, Honest::Reached { .. }));
    let Some(honest) = beyond.or(corrections.first()) else {
        return Err("no rule gives the figure that was meant".to_owned());
    };
    match honest {
        Honest::Reached { otherwise, .. } if claim.metric.is_latency() => Err((*otherwise).to_owned()),
        Honest::Reached { .. } => {
            let condition = |honest: &Honest| match honest {
                Honest::Reached { condition, .. } => Some(*condition),
                _ => None,
            };
            let conditions: Vec<&str> = corrections.iter().filter_map(condition).collect();
            let value = rebuild(run, phase, claim)?.figure?;
            Ok(Corrected { value, meaning: conditions.join(", and ") })
        }
        Honest::None(why) => Err((*why).to_owned()),
        Honest::Durable => durable(run, phase, claim),
        Honest::FromDevice => from_device(run, phase, claim),
        Honest::LaterPart => later_part(run, phase, claim),
        Honest::ByDirection if phase.direction == Direction::Read => from_device(run, phase, claim),
        Honest::ByDirection if phase.direction == Direction::Discard => {
            Err("what the device would have taken was not seen".to_owned())
        }
        Honest::ByDirection => durable(run, phase, claim),
        Honest::Together => together(run, phase, claim),
    }
}

/// The observed figure, for a refuted claim.
///
/// # Errors
/// Why it cannot be given.
pub(crate) fn of_refuted(run: &Run<'_>, phase: &Phase, claim: &Claim) -> Result<Corrected, String> {
    let rebuilt = rebuild(run, phase, claim)?;
    if rebuilt.high == 0.0 {
        return Err("no call moved data".to_owned());
    }
    let value = rebuilt.figure?;
    Ok(Corrected { value, meaning: "what the calls inside the clock give".to_owned() })
}

/// A figure for all tasks in the claim's own metric, from an amount of bytes and operations.
fn in_metric(phase: &Phase, claim: &Claim, bytes: f64, operations: f64, span_ns: f64) -> Result<Quantity, String> {
    if span_ns <= 0.0 {
        return Err("the span has no length".to_owned());
    }
    let amount = if claim.value.unit == Unit::OpsPerSec { operations } else { bytes };
    let rate = Quantity { value: amount * 1e9 / span_ns, unit: claim.value.unit };
    match claim.metric {
        Metric::Throughput
        | Metric::OperationRate
        | Metric::SumOfTaskThroughput
        | Metric::SumOfTaskOperationRate
        | Metric::ParentThroughput
        | Metric::ParentOperationRate => Ok(rate),
        Metric::MeanTaskThroughput => Ok(Quantity { value: rate.value / tasks_of(phase), ..rate }),
        Metric::TimePerOperation if operations > 0.0 => Ok(Quantity { value: span_ns / operations, unit: Unit::Ns }),
        Metric::TimePerOperation => Err("no operation reached the device".to_owned()),
        Metric::MinTaskThroughput | Metric::MaxTaskThroughput | Metric::TaskThroughput => {
            Err("the evidence is of the pass, not of each task".to_owned())
        }
        metric if metric.is_count() => Err("what was counted has no other figure".to_owned()),
        metric if metric.is_latency() => Err("the evidence gives rates for this, and no latency".to_owned()),
        _ => Err("a share of CPU time has no other figure".to_owned()),
    }
}

fn durable(run: &Run<'_>, phase: &Phase, claim: &Claim) -> Result<Corrected, String> {
    let moved = run.moved(phase)?;
    let untimed = match phase.facts.get(FactName::UntimedBytes) {
        None => 0.0,
        Some(_) => run.fact(phase, FactName::UntimedBytes)?,
    };
    let span = run.fact(phase, FactName::DurableSpan)?;
    let bytes = moved + untimed;
    let operations = if moved > 0.0 { operations(run, phase)? * bytes / moved } else { 0.0 };
    let value = in_metric(phase, claim, bytes, operations, span)?;
    let size = Quantity { value: bytes, unit: Unit::Bytes };
    let time = Quantity { value: span, unit: Unit::Ns };
    Ok(Corrected { value, meaning: format!("durable write rate: {size} in the {time} to the end of the sync") })
}

/// Largest share of the bytes of a device that other passes may have caused, where they are taken for those of one pass.
const MOST_OF_OTHERS: f64 = 0.01;

fn from_device(run: &Run<'_>, phase: &Phase, claim: &Claim) -> Result<Corrected, String> {
    let mut bytes = run.fact(phase, FactName::DeviceReadBytes)?;
    if let Some(below) = below(run, phase, BELOW_READ)? {
        bytes = bytes.min(below.bytes());
    }
    if bytes == 0.0 {
        return Err("nothing was read from the device".to_owned());
    }
    // The device counts by file, whoever reads it.
    if phase.facts.get(FactName::OthersReadBytes).is_some() {
        let others = run.fact(phase, FactName::OthersReadBytes)?;
        if others > MOST_OF_OTHERS * bytes {
            let [bytes, others] = [bytes, others].map(|value| Quantity { value, unit: Unit::Bytes });
            return Err(format!(
                "the device read {bytes} of the files meanwhile, up to {others} of it for other passes"
            ));
        }
    }
    let by_operation = matches!(claim.value.unit, Unit::OpsPerSec | Unit::Ns);
    // Requests are split and merged on the way: neither may the device be credited with more
    // operations than its bytes make blocks, nor with more than it completed requests.
    let requests = match (by_operation, phase.block_bytes.filter(|block| *block > 0)) {
        (false, _) => 0.0,
        (true, Some(block)) => run.fact(phase, FactName::DeviceRequests)?.min(bytes / block as f64),
        (true, None) => run.fact(phase, FactName::DeviceRequests)?,
    };
    let window = run.fact(phase, FactName::Window)?;
    let time = Quantity { value: window, unit: Unit::Ns };
    let (part, whole) = match by_operation {
        true => (requests, operations(run, phase)?),
        false => (bytes, run.moved(phase)?),
    };
    let share = if whole > 0.0 { part / whole } else { 0.0 };
    let what = match by_operation {
        true if requests >= 1.0 => format!("{requests:.0} operations"),
        _ => Quantity { value: bytes, unit: Unit::Bytes }.to_string(),
    };
    if share < run.thresholds.corrected_device_share_ratio.value.value {
        let share = Quantity::ratio(share);
        let rate = match claim.metric.is_latency() {
            true => String::new(),
            false => format!(" ({})", in_metric(phase, claim, bytes, requests, window)?),
        };
        return Err(format!("{what} in {time} reached the device{rate}, {share} of the pass"));
    }
    if claim.metric.is_latency() {
        let value = Quantity { value: run.fact(phase, device_latency(claim.metric)?)?, unit: Unit::Ns };
        return Ok(Corrected { value, meaning: "of the requests that reached the device".to_owned() });
    }
    // A device that waited most of the time does more than that.
    let busy = if window > 0.0 { run.fact(phase, FactName::DeviceBusy)? / window } else { 0.0 };
    if busy < run.thresholds.corrected_device_busy_ratio.value.value {
        let busy = Quantity::ratio(busy);
        let rate = in_metric(phase, claim, bytes, requests, window)?;
        return Err(format!(
            "{what} in {time} reached the device ({rate}), which was busy for {busy} of the time and did not limit the pass"
        ));
    }
    let value = in_metric(phase, claim, bytes, requests, window)?;
    Ok(Corrected { value, meaning: format!("from the device: {what} in {time}") })
}

fn device_latency(metric: Metric) -> Result<FactName, String> {
    match metric {
        Metric::LatencyMean | Metric::CompletionLatencyMean => Ok(FactName::DeviceLatencyMean),
        Metric::LatencyP50 | Metric::CompletionLatencyP50 => Ok(FactName::DeviceLatencyP50),
        Metric::LatencyP95 | Metric::CompletionLatencyP95 => Ok(FactName::DeviceLatencyP95),
        Metric::LatencyP99 | Metric::CompletionLatencyP99 => Ok(FactName::DeviceLatencyP99),
        Metric::LatencyP999 | Metric::CompletionLatencyP999 => Ok(FactName::DeviceLatencyP999),
        Metric::LatencyMax => Ok(FactName::DeviceLatencyMax),
        _ => Err("the device has no latency of syncs".to_owned()),
    }
}

fn later_part(run: &Run<'_>, phase: &Phase, claim: &Claim) -> Result<Corrected, String> {
    let [_, last, _] = RateSource::of(run, phase)?.facts();
    let (rate, moved) = (run.fact(phase, last)?, run.moved(phase)?);
    let operations = if moved > 0.0 { operations(run, phase)? * rate / moved } else { 0.0 };
    let value = in_metric(phase, claim, rate, operations, 1e9)?;
    Ok(Corrected { value, meaning: "the later part: the last fifth of the window".to_owned() })
}

fn together(run: &Run<'_>, phase: &Phase, claim: &Claim) -> Result<Corrected, String> {
    let (bytes, window) = (run.moved(phase)?, run.fact(phase, FactName::Window)?);
    let value = in_metric(phase, claim, bytes, operations(run, phase)?, window)?;
    Ok(Corrected { value, meaning: "all tasks' bytes from the first start to the last end of their clocks".to_owned() })
}
