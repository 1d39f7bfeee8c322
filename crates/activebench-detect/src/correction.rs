//! The honest figure for a claim that does not hold, or the reason why there is none.

use activebench_model::claim::{Claim, Metric};
use activebench_model::fact::FactName;
use activebench_model::host::Tier;
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::{Quantity, Unit};
use activebench_model::verdict::Corrected;

use crate::amount::BELOW_READ;
use crate::comparison::{operations, rebuild, tasks_of};
use crate::context::Run;
use crate::detectors::cliff_or_throttling::Basis;
use crate::layers::below;

/// What decides the corrected figure of a misleading claim, and what the claim measured
/// instead: the first that fires. What never happened comes before what was not timed, and
/// that before what limited the pass.
const ORDER: [(&str, Remedy, &str); 27] = [
    ("AB106", Remedy::None("no byte of the phase passed a device that keeps data"), "I/O that reached no device"),
    (
        "AB303",
        Remedy::None("the device was never told to flush its cache, so there is no durable rate"),
        "writing into the device's volatile cache",
    ),
    (
        "AB301",
        Remedy::None("no sync made the bytes durable, so there is no durable rate"),
        "copying into the page cache",
    ),
    ("AB302", Remedy::Durable, "copying into the page cache"),
    ("AB201", Remedy::FromDevice, "copying from the page cache"),
    (
        "AB205",
        Remedy::None("what passed the cache below the loop device is not known"),
        "I/O through the page cache of a loop device's backing file",
    ),
    (
        "AB208",
        Remedy::None("what the server would have taken to send all of it was not measured"),
        "copying from the client's page cache",
    ),
    ("AB207", Remedy::FromDevice, "reading blocks that hold no data, in part"),
    ("AB203", Remedy::FromDevice, "copying from the page cache, in part"),
    ("AB204", Remedy::ByDirection, "I/O through the page cache"),
    ("AB112", Remedy::ByDirection, "the same pass without what the option promises"),
    ("AB110", Remedy::Together, "fewer tasks at once than it is printed for"),
    ("AB401", Remedy::None("the rate over the whole region was not measured"), "a small set of blocks"),
    (
        "AB403",
        Remedy::Reached {
            condition: "with the operations made one after the other, not at the depth that the command asks for",
            otherwise: "the latency at the claimed depth was not measured",
        },
        "operations made one after the other",
    ),
    ("AB108", Remedy::None("the rate of the promised mix was not measured"), "another mix of reads and writes"),
    ("AB107", Remedy::None("the rate at the claimed block size was not measured"), "calls of another size"),
    (
        "AB406",
        Remedy::None("what the storage does with data that it cannot pack was not measured"),
        "storing packed data",
    ),
    (
        "AB404",
        Remedy::None("what the storage does with data that it cannot pack was not measured"),
        "storing packed data",
    ),
    (
        "AB405",
        Remedy::None("what the storage does with data that it cannot pack was not measured"),
        "storing data once",
    ),
    ("AB606", Remedy::None("what the whole device gives was not measured"), "a device of which a part is missing"),
    ("AB503", Remedy::ByDirection, "something on this side of the link to the device"),
    ("AB505", Remedy::None("what the device gives without the limit was not measured"), "a control group's limit"),
    (
        "AB504",
        Remedy::None("what the medium alone would have given was not measured"),
        "a cache of the disk or controller",
    ),
    ("AB102", Remedy::ByDirection, "more than the device moved"),
    (
        "AB506",
        Remedy::Reached {
            condition: "at the pace to which the tool limits itself; what the storage gives without that limit was not measured",
            otherwise: "what the storage gives without the tool's own limit was not measured",
        },
        "the tool's pace",
    ),
    ("AB703", Remedy::LaterPart, "a fast beginning and a slower rest"),
    ("AB105", Remedy::None("what the failed calls would have taken is not known"), "a pass with failed calls"),
];

/// As [`ORDER`], for what the processor did; asked last.
const BY_PROCESSOR: [(&str, Remedy, &str); 2] = [
    (
        "AB502",
        Remedy::Reached {
            condition: "with the checking of the data inside the clock; what the pass takes without it is not known",
            otherwise: "what the pass would have taken without checking is not known",
        },
        "the storage and the checking of its data together",
    ),
    ("AB501", Remedy::None("the storage was not at its limit, so its rate was not measured"), "the processor"),
];

/// How the honest figure follows from the facts.
#[derive(Clone, Copy, Debug)]
enum Remedy {
    /// Bytes over the time until they were durable.
    Durable,
    /// Bytes, or requests, that came from the device over the window.
    FromDevice,
    /// The former for passes that write, the latter for those that read.
    ByDirection,
    /// All tasks' bytes over one wall clock.
    Together,
    /// What was done in the last fifth of the window.
    LaterPart,
    /// The rate as it was, which holds under a condition that the claim does not state. The storage does at least as
    /// much without it. A latency is no better for that: `otherwise` says why there is none.
    Reached { condition: &'static str, otherwise: &'static str },
    /// There is none: why.
    None(&'static str),
}

/// What a misleading claim measured, by the codes that make it so.
pub(crate) fn measured_instead(run: &Run<'_>, phase: &Phase, codes: &[&str]) -> Option<String> {
    let (code, _, instead) = deciding(codes)?;
    let in_memory = run.target_of(phase).is_some_and(|target| target.tier == Tier::Memory);
    let instead = match (*code, phase.direction) {
        ("AB106", _) if in_memory => "copying in memory",
        ("AB106", Direction::Discard) => "freeing room in the file system",
        ("AB106", Direction::Read) => "reading blocks that hold no data",
        _ => instead,
    };
    Some(instead.to_owned())
}

fn deciding(codes: &[&str]) -> Option<&'static (&'static str, Remedy, &'static str)> {
    ORDER.iter().chain(&BY_PROCESSOR).find(|(code, _, _)| codes.contains(code))
}

/// The honest figure of a misleading claim, by the codes that make it so.
///
/// # Errors
/// Why it cannot be given.
pub(crate) fn of_misleading(run: &Run<'_>, phase: &Phase, claim: &Claim, codes: &[&str]) -> Result<Corrected, String> {
    let ruled = || ORDER.iter().chain(&BY_PROCESSOR).filter(|(code, _, _)| codes.contains(code));
    // A rate that was reached under a condition is honest where nothing else is wrong with it.
    let beyond = ruled().find(|(_, remedy, _)| !matches!(remedy, Remedy::Reached { .. }));
    let Some((_, remedy, _)) = beyond.or(deciding(codes)) else {
        return Err("no rule gives the figure that was meant".to_owned());
    };
    match remedy {
        Remedy::Reached { otherwise, .. } if claim.metric.is_latency() => Err((*otherwise).to_owned()),
        Remedy::Reached { .. } => {
            let conditions: Vec<&str> = ruled()
                .filter_map(|(_, remedy, _)| match remedy {
                    Remedy::Reached { condition, .. } => Some(*condition),
                    _ => None,
                })
                .collect();
            let value = rebuild(run, phase, claim)?.figure?;
            Ok(Corrected { value, meaning: conditions.join(", and ") })
        }
        Remedy::None(why) => Err((*why).to_owned()),
        Remedy::Durable => durable(run, phase, claim),
        Remedy::FromDevice => from_device(run, phase, claim),
        Remedy::LaterPart => later_part(run, phase, claim),
        Remedy::ByDirection if phase.direction == Direction::Read => from_device(run, phase, claim),
        Remedy::ByDirection if phase.direction == Direction::Discard => {
            Err("what the device would have taken was not seen".to_owned())
        }
        Remedy::ByDirection => durable(run, phase, claim),
        Remedy::Together => together(run, phase, claim),
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
        _ => Err("a share of processor time has no other figure".to_owned()),
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

fn from_device(run: &Run<'_>, phase: &Phase, claim: &Claim) -> Result<Corrected, String> {
    let mut bytes = run.fact(phase, FactName::DeviceReadBytes)?;
    if let Some(below) = below(run, phase, BELOW_READ)? {
        bytes = bytes.min(below.bytes());
    }
    if bytes == 0.0 {
        return Err("nothing was read from the device".to_owned());
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
    let [_, last, _] = Basis::of(run, phase)?.facts();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_in_the_order_is_a_detector() {
        for (code, _, instead) in ORDER.iter().chain(&BY_PROCESSOR) {
            assert!(crate::registry::find(code).is_some(), "{code}");
            assert!(!instead.is_empty());
        }
    }
}
