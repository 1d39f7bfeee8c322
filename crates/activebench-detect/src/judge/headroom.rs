//! The upper bounds of a figure, and its distance to them. The model is described in `docs/ceiling.md`.
//!
//! A pass is compared with every part that its bytes pass: copying, if they go through the page cache, and the storage
//! and the link, if the storage moved them. The report names the tightest bound. `activebench ceiling` measures the
//! parts; without a measurement, only the link bounds a pass. Nothing is extrapolated: a pass for which no part was
//! measured has no bound.

use activebench_model::bound::{Bound, Exceeded, Share, ShareOf, Shares};
use activebench_model::ceiling::{Ceiling, Part, PartKind, UsedCeiling, size};
use activebench_model::claim::{Claim, Metric};
use activebench_model::command::shell_word;
use activebench_model::fact::FactName;
use activebench_model::host::{Target, Tier};
use activebench_model::phase::{Direction, Pattern, Phase, Submission};
use activebench_model::sentence::as_sentence;
use activebench_model::units::{Quantity, Unit};
use activebench_model::verdict::{ClaimVerdict, JudgedClaim};

use crate::evidence::device_link::link_of;
use crate::evidence::each_write::EachWrite;
use crate::evidence::payload::packs;
use crate::evidence::rebuilt_figure::tasks_of;
use crate::run::Run;

/// Share of a pass's bytes from which on they count as all. Proposed: the rest moves a bound by no more than that.
const NEARLY_ALL: f64 = 0.99;
/// Below this share of its bytes the storage does not bound a pass. Proposed: no pass comes near a bound of a hundred
/// times the rate of the storage.
const HARDLY_ANY: f64 = 0.01;
/// Share of a measured bound from which on an honest figure proves it wrong. Proposed: below it, they are equal.
const EXCEEDED: f64 = 1.05;
/// Size of the random parts' requests.
const RANDOM_BYTES: u64 = 4096;
/// Size of the sequential parts' requests.
const SEQUENTIAL_BYTES: u64 = 1 << 20;
/// Depth of the deep parts.
const DEEP: u32 = 32;
/// The most bytes in flight in a measurement: a pass with more may be faster (a wide stripe).
const MOST_ON_THE_WAY: u64 = DEEP as u64 * SEQUENTIAL_BYTES;

/// The part of the I/O path that a figure describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The one that the bytes of the pass took.
    Observed,
    /// All of them to or from the storage: the subject of a storage figure.
    Storage,
}

/// A bound on a pass's rate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Limit {
    pub(crate) bytes_per_sec: f64,
    /// See [`Share::part`].
    pub(crate) part: String,
    pub(crate) measured: bool,
    /// `true` for the storage, `false` for the machine.
    pub(crate) of_storage: bool,
    /// Bounds the time of a write with the sync that makes it durable.
    pub(crate) durable: Option<EachWrite>,
    /// The spread of its repetitions; 0 if it was not measured.
    pub(crate) spread: f64,
}

/// Returns every claim's figures with their bounds.
pub(crate) fn of_run(run: &Run<'_>, judged: &[JudgedClaim]) -> Shares {
    let mut shares = Vec::new();
    let mut exceeded = Vec::new();
    for (claim, judged) in run.parsed.claims.iter().zip(judged) {
        let Some(phase) = run.phase_of(claim).filter(|phase| phase.is_found()) else { continue };
        let way = match judged.verdict() {
            ClaimVerdict::Confirmed | ClaimVerdict::NotChecked => Way::Observed,
            _ if run.subject_of(claim).is_storage() => Way::Storage,
            _ => Way::Observed,
        };
        if let Some(honest) = judged.honest(claim) {
            shares.extend(share(run, phase, claim, ShareOf::Honest, honest, way, &mut exceeded));
        }
        if judged.verdict().is_contradicted() {
            // A false figure exceeds a bound and proves nothing about it.
            shares.extend(share(run, phase, claim, ShareOf::Claimed, claim.value, Way::Observed, &mut Vec::new()));
        }
    }
    let notes = notes(run, &shares, &exceeded);
    Shares { shares, notes, exceeded }
}

/// Returns the ceiling of the storage of a phase.
pub(crate) fn ceiling_of<'a>(run: &Run<'a>, phase: &Phase) -> Option<&'a UsedCeiling> {
    let target = run.target_of(phase)?;
    let used = run.manifest.ceilings.as_ref()?.used.iter();
    used.filter(|used| used.targets.contains(&target.s_dev)).max_by_key(|used| used.ceiling.measured_unix_s)
}

/// Returns a figure's share of its tightest bound. An honest figure that exceeds a measured bound proves that it was too
/// low: such a bound goes to `exceeded`.
fn share(
    run: &Run<'_>,
    phase: &Phase,
    claim: &Claim,
    figure: ShareOf,
    value: Quantity,
    way: Way,
    exceeded: &mut Vec<Exceeded>,
) -> Option<Share> {
    if value.value <= 0.0 || !value.value.is_finite() {
        return None;
    }
    // The time of a write that a sync follows does not contain the sync.
    let times_writes_alone = claim.metric == Metric::LatencyMean;
    let mut bounds: Vec<(f64, Bound)> = limits(run, phase, way)
        .into_iter()
        .filter(|limit| !(times_writes_alone && limit.durable == Some(EachWrite::Synced)))
        .filter_map(|limit| {
            let (bound, ratio) = of_figure(run, phase, claim.metric, value, limit.bytes_per_sec)?;
            Some((ratio, Bound { part: limit.part, value: bound, measured: limit.measured }))
        })
        .collect();
    if figure == ShareOf::Honest
        && let Some(used) = ceiling_of(run, phase)
    {
        let wrong = bounds.extract_if(.., |(ratio, bound)| bound.measured && *ratio > EXCEEDED);
        exceeded.extend(wrong.map(|(_, bound)| Exceeded { value, bound, file: used.file.clone() }));
    }
    // The tightest is the one to which the figure is nearest; of equal ones the first.
    bounds.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let (ratio, tightest) = bounds.first()?.clone();
    Some(Share {
        claim: claim.id.clone(),
        figure,
        value,
        bound: tightest.value,
        ratio,
        part: tightest.part,
        measured: tightest.measured,
        bounds: bounds.into_iter().map(|(_, bound)| bound).collect(),
    })
}

/// Returns a bound on bytes per second in the unit of a figure, and the figure's share of it.
fn of_figure(
    run: &Run<'_>,
    phase: &Phase,
    metric: Metric,
    value: Quantity,
    bytes_per_sec: f64,
) -> Option<(Quantity, f64)> {
    let rate = |bound: f64| Some((Quantity { value: bound, unit: value.unit }, value.value / bound));
    let time = |bound: f64| Some((Quantity { value: bound, unit: value.unit }, bound / value.value));
    match (metric, value.unit) {
        (Metric::Throughput | Metric::SumOfTaskThroughput | Metric::ParentThroughput, Unit::BytesPerSec) => {
            rate(bytes_per_sec)
        }
        (Metric::OperationRate | Metric::SumOfTaskOperationRate | Metric::ParentOperationRate, Unit::OpsPerSec) => {
            rate(bytes_per_sec / request(run, phase)? as f64)
        }
        (Metric::TimePerOperation, Unit::Ns) => time(request(run, phase)? as f64 * 1e9 / bytes_per_sec),
        // Each of the tasks has one operation in flight.
        (Metric::LatencyMean, Unit::Ns) if is_synchronous(run, phase) => {
            time(tasks_of(phase) * request(run, phase)? as f64 * 1e9 / bytes_per_sec)
        }
        _ => None,
    }
}

/// Returns every bound on the rate of a pass, unordered; empty if none is known.
pub(crate) fn limits(run: &Run<'_>, phase: &Phase, way: Way) -> Vec<Limit> {
    // Both halves of a mix share what was measured of each alone.
    if !matches!(phase.direction, Direction::Read | Direction::Write) || phase.mix.is_some() || phase.names.is_some() {
        return Vec::new();
    }
    let Some(target) = run.target_of(phase) else { return Vec::new() };
    let ceiling = ceiling_of(run, phase).map(|used| &used.ceiling);
    let mut limits = Vec::new();
    if let Some(share) = storage_share(run, phase, target, way) {
        if let Ok(link) = link_of(run, phase) {
            limits.push(Limit {
                bytes_per_sec: link.bytes_per_sec / share,
                part: format!("what {} carries", link.name),
                measured: false,
                of_storage: true,
                durable: None,
                spread: 0.0,
            });
        }
        if let Some(ceiling) = ceiling {
            limits.extend(of_storage(run, phase, target, ceiling, share));
        }
    }
    limits.extend(ceiling.and_then(|ceiling| of_copies(run, phase, ceiling)));
    limits.retain(|limit| limit.bytes_per_sec.is_finite() && limit.bytes_per_sec > 0.0);
    limits
}

/// Returns the share of a pass's bytes that the storage moved, at most 1; `None` if it is unknown, or almost zero.
fn storage_share(run: &Run<'_>, phase: &Phase, target: &Target, way: Way) -> Option<f64> {
    // Data that is packed in flight needs less of everything than the ceilings were measured with.
    if target.tier == Tier::Memory && target.device().is_none() || packs(target).is_some() {
        return None;
    }
    let share = match way {
        Way::Storage => 1.0,
        // Blocks are not seen there; what passes the cache by is the server's.
        Way::Observed if target.tier == Tier::Network => run.fact(phase, FactName::DirectShare).ok()?,
        Way::Observed => {
            let name =
                if phase.direction == Direction::Read { FactName::DeviceReadBytes } else { FactName::DeviceWriteBytes };
            let moved = run.moved(phase).ok().filter(|bytes| *bytes > 0.0)?;
            run.fact(phase, name).ok()? / moved
        }
    };
    (share >= HARDLY_ANY).then_some(share.min(1.0))
}

/// Bytes of one call; `None` where they differ.
fn request(run: &Run<'_>, phase: &Phase) -> Option<u64> {
    if let Some(block) = phase.block_bytes.filter(|bytes| *bytes > 0) {
        return Some(block);
    }
    let (modal, share) = match phase.direction {
        Direction::Write => (FactName::WriteSizeModal, FactName::WriteSizeModalShare),
        _ => (FactName::ReadSizeModal, FactName::ReadSizeModalShare),
    };
    let alike = run.fact(phase, share).is_ok_and(|share| share >= NEARLY_ALL);
    run.fact(phase, modal).ok().filter(|bytes| alike && *bytes >= 1.0).map(|bytes| bytes as u64)
}

fn is_direct(run: &Run<'_>, phase: &Phase) -> bool {
    run.fact(phase, FactName::DirectShare).is_ok_and(|share| share >= NEARLY_ALL)
}

/// Each call of a task ends before its next begins.
fn is_synchronous(run: &Run<'_>, phase: &Phase) -> bool {
    match phase.submission {
        Submission::Synchronous => true,
        Submission::AsynchronousIfDirect => run.fact(phase, FactName::DirectShare).is_ok_and(|share| share == 0.0),
        _ => false,
    }
}

/// Calls that all tasks together can have in flight; `None` where it is not known.
fn depth(run: &Run<'_>, phase: &Phase) -> Option<u32> {
    let each = if is_synchronous(run, phase) { 1 } else { phase.promised_depth()?.0 };
    each.checked_mul(phase.requested_tasks.max(1))
}

/// Returns the bound from the measured storage.
fn of_storage(run: &Run<'_>, phase: &Phase, target: &Target, ceiling: &Ceiling, share: f64) -> Vec<Limit> {
    let storage = if target.tier == Tier::Network { "the server" } else { "the device" };
    let find = |kind, depth| part(ceiling, kind, phase.direction, |part| part.depth == depth);
    let limit = |(part, value): (&Part, f64), bytes_per_sec: f64, together: &str| Limit {
        bytes_per_sec: value * bytes_per_sec / share,
        part: format!("what {storage} gives for {}{together}", part.words()),
        measured: true,
        of_storage: true,
        durable: None,
        spread: part.spread_ratio.unwrap_or(0.0),
    };
    let request = request(run, phase);
    let depth = depth(run, phase).filter(|_| is_direct(run, phase));
    let mut limits = Vec::new();
    let on_the_way = depth.zip(request).map(|(depth, bytes)| u64::from(depth).saturating_mul(bytes));
    // One request at a time is bounded by the measured single requests of at least this size. All other passes count as
    // having at most the measured number in flight, unless they state more: that of the page cache is unknown.
    let sequential = match (depth, request) {
        (Some(1), Some(bytes)) if bytes <= SEQUENTIAL_BYTES => Some(1),
        _ => on_the_way.is_none_or(|bytes| bytes <= MOST_ON_THE_WAY).then_some(DEEP),
    };
    let sequential = sequential.and_then(|depth| find(PartKind::Sequential, depth));
    limits.extend(sequential.map(|found| limit(found, 1.0, "")));
    let is_random = matches!(phase.pattern, Pattern::RandomPermutation | Pattern::RandomIndependent);
    // A larger request takes at least the time of one of 4 KiB.
    if let (true, Some(bytes), Some(depth)) = (is_random, request.filter(|bytes| *bytes >= RANDOM_BYTES), depth) {
        let bytes = bytes as f64;
        // As many at once as there are, each no faster than alone (Little 1961).
        let together = if depth == 1 { String::new() } else { format!(", {depth} of them at once") };
        if depth < DEEP {
            limits.extend(find(PartKind::Random, 1).map(|found| limit(found, bytes * f64::from(depth), &together)));
        }
        if depth > 1 && depth <= DEEP {
            limits.extend(find(PartKind::Random, DEEP).map(|found| limit(found, bytes, "")));
        }
    }
    // One task at a time: the syncs of several can share a flush. A larger write takes at least the time of one of 4 KiB.
    let alone = phase.requested_tasks <= 1 && is_synchronous(run, phase);
    if let (true, Some(bytes), Ok(Some(each))) =
        (alone, request.filter(|bytes| *bytes >= RANDOM_BYTES), EachWrite::of(phase))
    {
        let found = find(PartKind::Durable, 1);
        limits.extend(found.map(|found| Limit { durable: Some(each), ..limit(found, bytes as f64, "") }));
    }
    // A call that the client does not answer asks the server at least once.
    if let (Some(bytes), Some(depth)) = (request, depth)
        && let Some((trip, ns)) = part(ceiling, PartKind::RoundTrip, Direction::None, |_| true)
    {
        limits.push(Limit {
            bytes_per_sec: bytes as f64 * f64::from(depth) * 1e9 / ns / share,
            part: format!("what {} to the server a call allows", trip.words()),
            measured: true,
            of_storage: true,
            durable: None,
            spread: trip.spread_ratio.unwrap_or(0.0),
        });
    }
    limits
}

/// A part that has a value, and the value.
fn part(
    ceiling: &Ceiling,
    kind: PartKind,
    direction: Direction,
    is_it: impl Fn(&Part) -> bool,
) -> Option<(&Part, f64)> {
    let mut parts = ceiling.parts.iter();
    let part = parts.find(|part| (part.kind, part.direction) == (kind, direction) && is_it(part))?;
    Some((part, part.value.filter(|value| value.value > 0.0)?.value))
}

/// Returns the bound from copying between the page cache and the tool, for passes whose bytes all move by calls.
fn of_copies(run: &Run<'_>, phase: &Phase, ceiling: &Ceiling) -> Option<Limit> {
    let direct = run.fact(phase, FactName::DirectShare).ok()?;
    if direct > 0.0 || !is_synchronous(run, phase) || run.maps_files(phase) {
        return None;
    }
    let request = request(run, phase)?;
    let region = region(run, phase);
    let one = copies(ceiling, phase.direction, request, region, 1)?;
    let tasks = phase.requested_tasks.max(1);
    let together = if tasks == 1 {
        one.bytes_per_sec
    } else {
        let all = ceiling.machine.cpus.max(1);
        let all = copies(ceiling, phase.direction, request, region, all).map_or(f64::INFINITY, |all| all.bytes_per_sec);
        (one.bytes_per_sec * f64::from(tasks)).min(all)
    };
    let what = if phase.direction == Direction::Write { "writes" } else { "reads" };
    let by = if tasks == 1 { "one thread".to_owned() } else { format!("{tasks} threads") };
    let most = if one.call_share > 0.5 { "calls" } else { "copies" };
    Some(Limit {
        bytes_per_sec: together,
        part: format!("what this machine gives for cached {} {what} by {by}, mostly {most}", size(request)),
        measured: true,
        of_storage: false,
        durable: None,
        spread: one.spread,
    })
}

/// Distinct bytes of the pass, where they are known.
fn region(run: &Run<'_>, phase: &Phase) -> Option<f64> {
    let blocks = run.fact(phase, FactName::UniqueBlocks).ok();
    let grid = run.fact(phase, FactName::BlockGrid).ok();
    blocks.zip(grid).map(|(blocks, grid)| blocks * grid)
}

struct Copies {
    bytes_per_sec: f64,
    /// How much of a call's time is that of a call of one byte.
    call_share: f64,
    spread: f64,
}

/// Returns the rate of cached calls of a size. Between the measured sizes, the time of a call grows linearly with its
/// bytes: the cost of a call, and that of the copy. Beyond the largest, it continues in the same way.
fn copies(ceiling: &Ceiling, direction: Direction, request: u64, region: Option<f64>, threads: u32) -> Option<Copies> {
    let (_, calls) = part(ceiling, PartKind::Calls, direction, |part| part.threads == threads)?;
    let call_ns = f64::from(threads) * 1e9 / calls;
    let mut copies: Vec<&Part> = ceiling
        .parts
        .iter()
        .filter(|part| (part.kind, part.direction, part.threads) == (PartKind::Copy, direction, threads))
        .filter(|part| part.value.is_some_and(|value| value.value > 0.0))
        .collect();
    // A ceiling measured over a region too large for the CPU caches applies to passes over as large a region.
    let of = |part: &&Part| part.region_bytes.unwrap_or(0);
    let largest = copies.iter().map(of).max()?;
    let smallest = copies.iter().map(of).min()?;
    let over = if region.is_some_and(|region| region >= largest as f64) { largest } else { smallest };
    copies.retain(|part| of(part) == over);
    let mut spread = 0.0_f64;
    let mut points = vec![(1.0, call_ns)];
    for part in &copies {
        let (bytes, rate) = (part.request_bytes? as f64, part.value?.value);
        points.push((bytes, f64::from(threads) * bytes * 1e9 / rate));
        spread = spread.max(part.spread_ratio.unwrap_or(0.0));
    }
    points.sort_by(|(one, one_ns), (other, other_ns)| one.total_cmp(other).then(one_ns.total_cmp(other_ns)));
    // Of two measurements the better one counts: disturbances only make it worse.
    points.dedup_by_key(|(bytes, _)| *bytes);
    let ns = call_time(&points, request as f64)?;
    Some(Copies { bytes_per_sec: f64::from(threads) * request as f64 * 1e9 / ns, call_share: call_ns / ns, spread })
}

/// The time of a call of so many bytes, from measured ones in ascending order.
fn call_time(points: &[(f64, f64)], bytes: f64) -> Option<f64> {
    let above = points.iter().position(|(at, _)| *at >= bytes).unwrap_or(points.len() - 1).max(1);
    let ((low, low_ns), (high, high_ns)) = (*points.get(above - 1)?, *points.get(above)?);
    // A larger call that took less time than a smaller one is noise: the time then stays the same.
    let grows = ((high_ns - low_ns) / (high - low)).max(0.0);
    Some((low_ns + grows * (bytes - low)).max(f64::MIN_POSITIVE))
}

/// Returns notes on the bounds.
fn notes(run: &Run<'_>, shares: &[Share], exceeded: &[Exceeded]) -> Vec<String> {
    let Some(ceilings) = &run.manifest.ceilings else { return Vec::new() };
    let mut notes: Vec<String> = Vec::new();
    for used in &ceilings.used {
        let ceiling = &used.ceiling;
        let age = age(run.manifest.clocks.started_unix_s - ceiling.measured_unix_s);
        notes.push(format!("The ceiling of {} was measured {age}.", ceiling.place));
        notes.extend(ceiling.notes.iter().cloned());
    }
    for (place, Exceeded { value, bound, .. }) in exceeded.iter().enumerate() {
        // One note a part.
        if exceeded[..place].iter().all(|other| other.bound.part != bound.part) {
            notes.push(as_sentence(&format!(
                "{} was measured as {}, and the run reached {value}: that maximum is not used",
                bound.part, bound.value
            )));
        }
    }
    if let (Some(used), false) = (ceilings.used.first(), exceeded.is_empty()) {
        notes.push(format!("Measure the ceiling again: `activebench ceiling {}`.", shell_word(&used.ceiling.place)));
    }
    notes.extend(ceilings.left_out.iter().map(|why| format!("A ceiling is left out: {why}.")));
    let rates = |phase: &&Phase| !run.storage_rates_of(phase).is_empty();
    if notes.is_empty()
        && !shares.iter().any(|share| share.measured)
        && let Some(phase) = run.phases.iter().filter(|phase| phase.is_found()).find(rates)
        && let Some(target) = run.target_of(phase).filter(|target| !target.mount_point.is_empty())
    {
        notes.push(format!(
            "The disk's maximum is not known. Measure it: `activebench ceiling {}`.",
            shell_word(&target.mount_point)
        ));
    }
    notes
}

/// `3 days before the run`.
fn age(seconds: i64) -> String {
    let (amount, unit) = match seconds {
        ..0 => return "after the run".to_owned(),
        0..120 => return "just before the run".to_owned(),
        120..7_200 => (seconds / 60, "minutes"),
        7_200..172_800 => (seconds / 3_600, "hours"),
        _ => (seconds / 86_400, "days"),
    };
    format!("{amount} {unit} before the run")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_call_is_its_cost_and_its_copy() {
        // 100 ns a call, then 0.1 ns a byte, then less.
        let points = [(1.0, 100.0), (4096.0, 509.5), (1_048_576.0, 52_732.5)];
        for (bytes, expected) in [
            (1.0, 100.0),
            (4096.0, 509.5),
            (2048.5, 304.75),
            (1_048_576.0, 52_732.5),
            // Beyond the largest it continues to grow.
            (2_093_056.0, 104_955.5),
        ] {
            let time = call_time(&points, bytes).expect("two points");
            assert!((time - expected).abs() < 1e-6, "{bytes}: {time}");
        }
        // Noise does not make a call faster than a smaller one.
        assert_eq!(call_time(&[(1.0, 100.0), (4096.0, 90.0)], 4096.0), Some(100.0));
        assert_eq!(call_time(&[(1.0, 100.0)], 4096.0), None);
    }

    #[test]
    fn an_age_is_said_in_one_unit() {
        for (seconds, expected) in [
            (-1, "after the run"),
            (0, "just before the run"),
            (119, "just before the run"),
            (120, "2 minutes before the run"),
            (7_200, "2 hours before the run"),
            (172_800, "2 days before the run"),
        ] {
            assert_eq!(age(seconds), expected);
        }
    }
}
