//! Rebuilds the figure of a claim from the observed calls, compares the two, and attributes a difference to the unit,
//! the byte count or the clock.
//!
//! The equation rate = bytes / time has two unknowns. If the tool also prints the bytes that it counted, they can be
//! separated: if the bytes agree, the clock is wrong (AB104), otherwise the byte count (AB101). If it prints none,
//! AB101 reports the difference. AB103 alone reports a difference that is a well-known conversion factor.

use activebench_model::claim::{Claim, Metric};
use activebench_model::fact::{Fact, FactName};
use activebench_model::finding::{Finding, Threshold};
use activebench_model::phase::{Direction, Division, Phase, RateClock, Submission};
use activebench_model::units::{Quantity, Unit};

use crate::cases::plan::read_whole;
use crate::cases::run::{Case, Firing, Halt, fact_if_any, seen};
use crate::evidence::latency_facts::{LatencyFact, LatencyFacts};
use crate::evidence::system_clock::{self, ran_evenly};
use crate::evidence::traced::is_traced;
use crate::run::Run;

/// The figure of a claim, computed from the observation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rebuilt {
    /// Lowest value that the observation allows.
    pub(crate) low: f64,
    /// Highest value that it allows.
    pub(crate) high: f64,
    /// The figure itself, or the reason why the evidence gives only bounds.
    pub(crate) figure: Result<Quantity, String>,
    /// Unit of all three.
    pub(crate) unit: Unit,
}

/// The relation between a claim and the observation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Agreement {
    /// They agree, within the resolution of the printed number and of the window.
    Agrees,
    /// They differ by a conversion factor, named.
    UnitMixUp(Difference, &'static str),
    /// They differ, and the byte count is wrong, or nothing distinguishes it from the clock.
    Bytes(Difference),
    /// They differ though the bytes agree.
    Clock(Difference),
}

/// A difference between claim and observation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Difference {
    /// The observed figure: the bound of [`Rebuilt`] that is nearer to the claim, or the figure itself if the bound
    /// comes from our own slack.
    pub(crate) observed: Quantity,
    /// `observed` is a bound: the figure itself is not known.
    pub(crate) is_bound: bool,
    /// How much better (above 0) or worse (below 0) than the bound the claim is, as a share of the bound. The
    /// resolution of the printed number is subtracted.
    pub(crate) excess: f64,
    /// The share from which on a difference in this direction warns.
    pub(crate) warn: f64,
    /// The share from which on it fails.
    pub(crate) fail: f64,
}

impl Difference {
    /// Returns `true` if the claim is better than the observation.
    pub(crate) fn overstates(&self) -> bool {
        self.excess > 0.0
    }

    pub(crate) fn fails(&self) -> bool {
        self.excess.abs() > self.fail
    }

    /// The profile's threshold, widened to the limit that was applied to this window.
    pub(crate) fn threshold(&self, threshold: &Threshold, applied: f64) -> Threshold {
        if applied <= threshold.value.value {
            return threshold.clone();
        }
        let source = format!("{}; widened to the noise of a short window", threshold.source);
        Threshold { value: Quantity::ratio(applied), source }
    }
}

/// Operations of the pass: the bytes in blocks of the size that the tool was given
/// (its library may cut them into other calls), or the calls where none was stated; of a pass
/// over names its calls.
pub(crate) fn operations(run: &Run<'_>, phase: &Phase) -> Result<f64, String> {
    if phase.names.is_some() {
        return run.fact(phase, FactName::NameCalls);
    }
    match (phase.block_bytes.filter(|bytes| *bytes > 0), &phase.division) {
        (Some(block), _) => Ok(run.moved(phase)? / block as f64),
        (None, Division::OneCall) => calls(run, phase),
        (None, Division::Calls { .. } | Division::Unstated) => {
            Err("the tool divides its operations into several calls, and the size of one is not known".to_owned())
        }
    }
}

/// Operations of one direction of the pass: its calls, or its blocks where the tool divides an operation into several
/// calls.
///
/// # Errors
/// When a fact is missing or partial, or when nothing shows how many operations the calls are.
pub(crate) fn operations_in(run: &Run<'_>, phase: &Phase, direction: Direction) -> Result<f64, String> {
    match phase.division {
        Division::OneCall => calls_in(run, phase, direction),
        Division::Calls { .. } | Division::Unstated if phase.direction == direction => operations(run, phase),
        Division::Calls { .. } | Division::Unstated => {
            Err("the tool divides its operations into several calls".to_owned())
        }
    }
}

/// Tasks that the command asks for, at least one.
pub(crate) fn tasks_of(phase: &Phase) -> f64 {
    f64::from(phase.requested_tasks.max(1))
}

/// Data calls of the pass, in its direction.
pub(crate) fn calls(run: &Run<'_>, phase: &Phase) -> Result<f64, String> {
    calls_in(run, phase, phase.direction)
}

fn calls_in(run: &Run<'_>, phase: &Phase, direction: Direction) -> Result<f64, String> {
    match direction {
        Direction::Read => run.fact(phase, FactName::ReadCalls),
        Direction::Write => run.fact(phase, FactName::WriteCalls),
        Direction::Discard => run.fact(phase, FactName::DiscardCalls),
        Direction::Mixed => Ok(run.fact(phase, FactName::ReadCalls)? + run.fact(phase, FactName::WriteCalls)?),
        Direction::None => Err("the pass does not move data".to_owned()),
    }
}

/// The time by which the tool divides the work of all tasks of a pass: its own clock, if that differs from the length
/// of the pass.
pub(crate) fn rate_window(phase: &Phase) -> FactName {
    match phase.rate_clock {
        RateClock::LongestTask if phase.requested_tasks > 1 => FactName::LongestTask,
        _ => FactName::Window,
    }
}

/// Bytes of the buffers of a pass: one buffer for each operation in flight. 0 where no size of an operation is known, so
/// that nothing is excused.
pub(crate) fn buffers_bytes(phase: &Phase) -> f64 {
    let depth = phase.promised_depth().map_or(1.0, |(depth, _)| f64::from(depth));
    depth * tasks_of(phase) * phase.block_bytes.map_or(0.0, |bytes| bytes as f64)
}

/// The figure of a claim, rebuilt from the facts of its phase; computed once per judgement.
///
/// # Errors
/// When a fact that it needs is missing or partial.
pub(crate) fn rebuild(run: &Run<'_>, phase: &Phase, claim: &Claim) -> Result<Rebuilt, String> {
    if let Some(known) = run.index.rebuilt.borrow().get(&claim.id) {
        return known.clone();
    }
    let rebuilt = computed(run, phase, claim);
    run.index.rebuilt.borrow_mut().insert(claim.id.clone(), rebuilt.clone());
    rebuilt
}

fn computed(run: &Run<'_>, phase: &Phase, claim: &Claim) -> Result<Rebuilt, String> {
    let in_unit = |bytes_per_sec: f64| match claim.value.unit {
        Unit::OpsPerSec => match phase.block_bytes.filter(|bytes| *bytes > 0) {
            Some(block) => Ok(bytes_per_sec / block as f64),
            None => Err("the operations of the tasks are unknown: the block size varies".to_owned()),
        },
        _ => Ok(bytes_per_sec),
    };
    let exactly = |value: f64| {
        let unit = claim.value.unit;
        Rebuilt { low: value, high: value, figure: Ok(Quantity { value, unit }), unit }
    };
    let between = |low: f64, high: f64, figure: Result<f64, String>| {
        let unit = claim.value.unit;
        Rebuilt { low, high, figure: figure.map(|value| Quantity { value, unit }), unit }
    };
    let expected: &[Unit] = match claim.metric {
        Metric::Throughput | Metric::SumOfTaskThroughput | Metric::ParentThroughput => &[Unit::BytesPerSec],
        Metric::OperationRate | Metric::SumOfTaskOperationRate | Metric::ParentOperationRate => &[Unit::OpsPerSec],
        Metric::MinTaskThroughput | Metric::MaxTaskThroughput | Metric::MeanTaskThroughput | Metric::TaskThroughput => {
            &[Unit::BytesPerSec, Unit::OpsPerSec]
        }
        Metric::TimePerOperation => &[Unit::Ns],
        Metric::BytesMoved | Metric::MinTaskBytes => &[Unit::Bytes],
        Metric::OperationsDone | Metric::SyncsDone => &[Unit::Count],
        Metric::CpuUser | Metric::CpuSystem | Metric::CpuTotal => &[Unit::Ratio],
        metric if metric.is_latency() => &[Unit::Ns],
        _ => &[],
    };
    if !expected.contains(&claim.value.unit) {
        return Err(format!("a figure in {} cannot be rebuilt for this metric", claim.value.unit.as_str()));
    }
    let clock_ns = |window: FactName| Ok::<f64, String>(run.fact(phase, window)? - phase.excluded_ns as f64);
    let per_second = |amount: f64, window: FactName| -> Result<f64, String> {
        let window_ns = clock_ns(window)?;
        if window_ns > 0.0 { Ok(amount * 1e9 / window_ns) } else { Err(format!("{} is zero", window.as_str())) }
    };
    let fact = |name| run.fact(phase, name);
    match claim.metric {
        Metric::Throughput => Ok(exactly(per_second(run.moved(phase)?, rate_window(phase))?)),
        Metric::OperationRate => Ok(exactly(per_second(operations(run, phase)?, rate_window(phase))?)),
        Metric::TimePerOperation => {
            let operations = operations(run, phase)?;
            if operations > 0.0 {
                Ok(exactly(clock_ns(rate_window(phase))? / operations))
            } else {
                Err("no operation was seen".to_owned())
            }
        }
        Metric::SumOfTaskThroughput => Ok(exactly(fact(FactName::SumOfTaskRates)?)),
        Metric::SumOfTaskOperationRate => Ok(exactly(match phase.block_bytes.filter(|bytes| *bytes > 0) {
            Some(block) => fact(FactName::SumOfTaskRates)? / block as f64,
            None => fact(FactName::SumOfTaskOpRates)?,
        })),
        // The parent's clock runs from when it has told its tasks to begin to some point after their last call, which calls
        // do not show.
        Metric::ParentThroughput | Metric::ParentOperationRate => {
            let amount = match claim.value.unit {
                Unit::OpsPerSec => operations(run, phase)?,
                _ => run.moved(phase)?,
            };
            let figure = per_second(amount, FactName::ParentWindow);
            let of_window = per_second(amount, FactName::Window)?;
            let most = match claim.value.value > of_window {
                true => amount * 1e9 / least_of_parent_ns(run, phase)?,
                false => of_window,
            };
            Ok(between(0.0, most, figure))
        }
        Metric::MinTaskThroughput => {
            let slowest = in_unit(fact(FactName::MinTaskRate)?)?;
            if !may_leave_tasks_out(run, phase)? {
                return Ok(exactly(slowest));
            }
            Ok(between(slowest, in_unit(fact(FactName::MaxTaskRate)?)?, Ok(slowest)))
        }
        Metric::MaxTaskThroughput => Ok(exactly(in_unit(fact(FactName::MaxTaskRate)?)?)),
        // A mean over the requested tasks: AB110 reports a missing one.
        Metric::MeanTaskThroughput => Ok(exactly(in_unit(fact(FactName::SumOfTaskRates)?)? / tasks_of(phase))),
        // The facts are those of the pass: for one of several tasks, only bounds are known.
        Metric::TaskThroughput => {
            let (low, high) = (in_unit(fact(FactName::MinTaskRate)?)?, in_unit(fact(FactName::MaxTaskRate)?)?);
            let figure = match low == high || tasks_of(phase) <= 2.0 {
                // With one or two tasks, each bound is the rate of one of them.
                true if claim.value.value - low < high - claim.value.value => Ok(low),
                true => Ok(high),
                false => Err("of more than two tasks only the slowest and the fastest rate are known".to_owned()),
            };
            Ok(between(low, high, figure))
        }
        Metric::BytesMoved => {
            let moved = run.moved(phase)?;
            let alone = phase.requested_tasks <= 1 || moved_by_all(run, phase, claim);
            if alone {
                return Ok(exactly(moved));
            }
            let fewest =
                fact(FactName::MinTaskBytes).and_then(|fewest| Ok((fewest, fewest * fact(FactName::ActiveTasks)?)));
            let figure = match fewest {
                Ok((fewest, all)) if all == moved => Ok(fewest),
                Ok(_) => Err("the tasks moved different amounts, and whose is whose is not known".to_owned()),
                Err(why) => Err(why),
            };
            Ok(between(0.0, moved, figure))
        }
        Metric::OperationsDone => Ok(exactly(operations(run, phase)?)),
        Metric::SyncsDone => Ok(exactly(fact(FactName::SyncsInside)?)),
        Metric::CpuUser | Metric::CpuSystem | Metric::CpuTotal => {
            let used = share_of_processor(run, phase, claim.metric)?;
            // Most kernels sample at their ticks how a task's time divides into user and system: all of it can fall to
            // either of them, so only their sum bounds a claim.
            let all = share_of_processor(run, phase, Metric::CpuTotal)?;
            // Its clock and its accounting begin and end outside the calls of the pass.
            let before = CPU_BEFORE_NS * tasks_of(phase) / run.fact(phase, FactName::Window)?;
            let slack = run.thresholds.ab101_cpu_slack_ratio.value.value * all.max(1.0) + before;
            let accounting = run.thresholds.ab101_cpu_below_ratio.value.value * all;
            let low = if claim.metric == Metric::CpuTotal { least_processor(run, phase, used, slack)? } else { 0.0 };
            Ok(between(low, all + accounting + slack, Ok(used)))
        }
        metric if metric.is_latency() => {
            let (low, figure) = latency(run, phase, metric)?;
            Ok(between(low, f64::MAX, figure))
        }
        Metric::MinTaskBytes => {
            let moved = run.moved(phase)?;
            if tasks_of(phase) <= 1.0 {
                return Ok(exactly(moved));
            }
            if may_leave_tasks_out(run, phase)? {
                let of_each = phase.requested_bytes.map(|bytes| bytes as f64 / tasks_of(phase));
                let most = of_each.map_or(moved, |bytes| bytes.min(moved));
                return Ok(between(0.0, most, fact(FactName::MinTaskBytes)));
            }
            let active = fact(FactName::ActiveTasks)?.max(1.0);
            Ok(between(0.0, moved / active, fact(FactName::MinTaskBytes)))
        }
        _ => Err("this metric has no rule".to_owned()),
    }
}

/// The shortest time of a parent's clock. A task may have called before the parent, which waited for a CPU, read it.
fn least_of_parent_ns(run: &Run<'_>, phase: &Phase) -> Result<f64, String> {
    let window_ns = run.fact(phase, FactName::Window)?;
    // Without a limit the parent may have waited for as long as anything waits.
    let waited_ns = phase.facts.complete(FactName::CpuWaitedAtMost).unwrap_or(f64::INFINITY);
    let waited_ns = waited_ns.min(run.thresholds.ab104_wait_ns.value.value);
    if waited_ns >= window_ns {
        return Err(format!(
            "the parent's clock may have begun late: it may have waited for a CPU for all of the {}",
            Quantity { value: window_ns, ..Quantity::ns(0) }
        ));
    }
    Ok(window_ns - waited_ns)
}

/// The most CPU time of a task before its first call: it fills its buffers and sets up its generators then, and the
/// tool's account of CPU time has begun.
const CPU_BEFORE_NS: f64 = 50e6;

/// CPU time of the pass's threads over its window.
fn share_of_processor(run: &Run<'_>, phase: &Phase, metric: Metric) -> Result<f64, String> {
    let window = run.fact(phase, FactName::Window)?;
    if window <= 0.0 {
        return Err("the pass does not have a measurable duration".to_owned());
    }
    let used = match metric {
        Metric::CpuUser => run.fact(phase, FactName::UserCpu)?,
        Metric::CpuSystem => run.fact(phase, FactName::KernelCpu)?,
        _ => run.fact(phase, FactName::UserCpu)? + run.fact(phase, FactName::KernelCpu)?,
    };
    Ok(used / window)
}

/// The least share of CPU time that the kernel can have accounted for: what the threads used between their
/// switches, without what the hypervisor may have taken meanwhile, which the kernel may leave out.
fn least_processor(run: &Run<'_>, phase: &Phase, used: f64, slack: f64) -> Result<f64, String> {
    let stolen = time_at_most(phase, FactName::Steal)? / run.fact(phase, FactName::Window)?;
    let unaccounted = run.thresholds.ab101_cpu_below_ratio.value.value * used;
    Ok((used - unaccounted - stolen - slack).max(0.0))
}

/// The longest time that a fact can mean, which only widens a tolerance. 0 if it was not asked for:
/// recorded without it.
///
/// # Errors
/// When it is missing, or partial by more than is known.
pub(crate) fn time_at_most(phase: &Phase, name: FactName) -> Result<f64, String> {
    let beside = match name {
        FactName::Steal => FactName::StealError,
        _ => FactName::CpuTimesError,
    };
    let error_ns = phase.facts.complete(beside);
    match (phase.facts.get(name), phase.facts.complete(name)) {
        (None, _) => Ok(0.0),
        (Some(_), Ok(time_ns)) => Ok(time_ns + error_ns.unwrap_or(0.0)),
        // Partial only because it is imprecise, by a known amount.
        (Some(Fact { value: Some(time), .. }), Err(why)) => {
            error_ns.map(|error_ns| time.value + error_ns).map_err(|_| why)
        }
        (Some(_), Err(why)) => Err(why),
    }
}

/// The time for which the threads of a pass waited for a CPU, and for which the hypervisor took one.
pub(crate) fn waited_ns(phase: &Phase) -> Result<f64, String> {
    Ok(time_at_most(phase, FactName::Preempted)? + time_at_most(phase, FactName::Steal)?)
}

/// The shortest time that the observation allows for a latency, and the time that it gives.
///
/// A tool's clock surrounds the calls, so its figure is never below that of the calls by more
/// than its own rounding; no call shows by how much it is above.
fn latency(run: &Run<'_>, phase: &Phase, metric: Metric) -> Result<(f64, Result<f64, String>), String> {
    let fact = |name| run.fact(phase, name);
    let limits = run.thresholds;
    let exact = 1.0 - limits.ab101_latency_slack_ratio.value.value;
    if metric.is_sync_latency() {
        let observed = fact(sync_latency(metric))?;
        if counts_other_syncs(run, phase)? {
            return Ok((0.0, Err("the tool counts other syncs than the calls show".to_owned())));
        }
        return Ok(match phase.submission {
            // fio's clock of a sync starts when io_uring has taken it over, and a sync is handed to a thread of the kernel.
            Submission::Asynchronous | Submission::Unknown => {
                (0.0, Err("the end of the hand-over was not seen for each sync".to_owned()))
            }
            Submission::Synchronous | Submission::AsynchronousIfDirect | Submission::Mapped | Submission::Nothing => {
                (observed * exact, Ok(observed))
            }
        });
    }
    if phase.names.is_some() {
        let observed = fact(FactName::NameLatencyMax)?;
        return match metric {
            Metric::LatencyMax => Ok((observed * exact, Ok(observed))),
            _ => Err("of calls with names only the longest is known".to_owned()),
        };
    }
    let coarse = 1.0 - limits.ab101_sampled_latency_slack_ratio.value.value;
    // The longest is one call, whose time is known.
    let share_of = |sampled| if sampled && metric != Metric::LatencyMax { coarse } else { exact };
    let facts = match LatencyFacts::of(phase.direction) {
        [] => return Err("the pass does not move data".to_owned()),
        [facts] => facts,
        directions => {
            let both = latency_both_ways(run, phase, metric, directions)?;
            return Ok((both.least * share_of(both.sampled), both.figure));
        }
    };
    let observed_of = |metric| fact(facts.fact(metric)?.observed);
    let observed = observed_of(metric)?;
    // A sample of fast calls: its tail is not that of all calls. Nor is that of a tool which leaves some out.
    let sampled = fact(facts.timed)? < fact(facts.calls)?;
    let left_out = left_out(run, phase)?;
    let below = percentile_below(metric);
    let other_tail_below = below.filter(|_| sampled || left_out > 0.0);
    let share = share_of(sampled);
    // What the timed calls say: an untimed one that looks long may be a pause of the program, or several calls together.
    // A median between fast and slow calls can be on either side of the step.
    let least_of = |metric| match facts.fact(metric)?.least.filter(|_| sampled) {
        Some(name) => Ok(fact(name)?.min(observed_of(metric)?)),
        None => observed_of(metric),
    };
    if metric.is_completion_latency() {
        let figure = match (sampled, completion_latency(metric).filter(|name| phase.facts.get(*name).is_some())) {
            (_, Some(name)) => fact(name),
            (false, None) => Err("the end of the hand-over was not seen for each request".to_owned()),
            (true, None) => Err("of fast calls a sample was timed".to_owned()),
        };
        if other_tail_below.is_some() {
            return Ok((0.0, figure));
        }
        // Only the p99.9 of the hand-over is known, possibly of a sample. Its slowest may belong to any calls, which can
        // move a percentile by that few calls: between fast and slow calls, the percentile below bounds it.
        let handed_over = match phase.facts.get(FactName::SubmitLatencyP999) {
            Some(_) => fact(FactName::SubmitLatencyP999)?,
            None => 0.0,
        };
        let bound = match below.filter(|_| handed_over > 0.0) {
            Some(below) => least_of(below)?.min(observed),
            None => least_of(metric)?,
        };
        return Ok(((bound - handed_over).max(0.0) * coarse, figure));
    }
    // If a percentile is between fast and slow calls, a few calls that are not in the sample move it
    // from the ones to the others: the percentile below bounds it.
    let least = match other_tail_below {
        Some(below) => least_of(below)?.min(observed),
        None => least_of(metric)?,
    };
    // A thread that waits for the completion learns of it some time after the kernel posted it.
    let collected = match metric {
        Metric::LatencyMean => Some(FactName::CollectedLatencyMean),
        Metric::LatencyMax => Some(FactName::CollectedLatencyMax),
        _ => None,
    };
    let figure = match collected.filter(|name| phase.facts.get(*name).is_some()) {
        Some(name) => fact(name),
        None if metric == Metric::LatencyMax && least < observed * exact => Err(of_untimed(least, observed)),
        None => Ok(observed),
    };
    if left_out > 0.0 && matches!(metric, Metric::LatencyMean | Metric::LatencyMax) {
        let longest = observed_of(Metric::LatencyMax)?;
        let without = if metric == Metric::LatencyMax { 0.0 } else { least - left_out * longest };
        return Ok(((without * share).max(0.0), figure));
    }
    Ok((least * share, figure))
}

/// Returns true if the tool counts fewer syncs than the calls show, beyond one per task: it also makes some that are a part
/// of its writes (fio's `mmap` with `direct=1`).
fn counts_other_syncs(run: &Run<'_>, phase: &Phase) -> Result<bool, String> {
    let inside = run.fact(phase, FactName::SyncsInside)?;
    let mut counts = run.claims_of(phase).filter(|claim| claim.metric == Metric::SyncsDone);
    Ok(counts.any(|count| count.value.value + tasks_of(phase) < inside))
}

/// The share of the moved bytes that the tool does not count, because it leaves out its last few calls (fio's `vsync` does):
/// these may be the slowest. 0 if it counts all. It is also 0 if more is missing than 1 % of the bytes and than the tasks'
/// buffers hold: AB101 judges such a count.
fn left_out(run: &Run<'_>, phase: &Phase) -> Result<f64, String> {
    let few = run.thresholds.confirmed_count_ratio.value.value;
    let mut left_out = 0.0_f64;
    for counted in run.claims_of(phase).filter(|claim| claim.metric == Metric::BytesMoved) {
        let moved = run.moved(phase)?;
        let missing = moved - counted.value.value;
        if missing > 2.0 * counted.resolution && missing <= (few * moved).max(buffers_bytes(phase)) {
            left_out = left_out.max(missing / moved);
        }
    }
    Ok(left_out)
}

/// Why the longest of fast calls is not known.
fn of_untimed(least_ns: f64, most_ns: f64) -> String {
    format!(
        "of fast calls a sample was timed: the longest took between {} and {}",
        Quantity { value: least_ns, ..Quantity::ns(0) },
        Quantity { value: most_ns, ..Quantity::ns(0) }
    )
}

/// The latency of reads and writes together.
struct BothWays {
    /// The least that it can be.
    least: f64,
    /// `Err` where the longest is not known.
    figure: Result<f64, String>,
    /// Fast calls of either were sampled.
    sampled: bool,
}

/// Returns the latency of reads and writes together.
///
/// Means are weighted by their calls and the longest is the longer of two; percentiles of two
/// distributions do not add up to one of both.
fn latency_both_ways(
    run: &Run<'_>,
    phase: &Phase,
    metric: Metric,
    directions: &[&LatencyFacts],
) -> Result<BothWays, String> {
    let exact = 1.0 - run.thresholds.ab101_latency_slack_ratio.value.value;
    if !matches!(metric, Metric::LatencyMean | Metric::LatencyMax) {
        return Err("the pass has no one direction".to_owned());
    }
    let (mut longest, mut sum, mut all, mut sampled) = ([0.0_f64; 2], [0.0; 2], 0.0, false);
    for facts in directions {
        let calls = run.fact(phase, facts.calls)?;
        if calls > 0.0 {
            let LatencyFact { observed, least } = facts.fact(metric)?;
            let latency = run.fact(phase, observed)?;
            let is_sample = run.fact(phase, facts.timed)? < calls;
            let least = match least.filter(|_| is_sample) {
                Some(least) => run.fact(phase, least)?.min(latency),
                None => latency,
            };
            sampled |= is_sample;
            longest = [longest[0].max(least), longest[1].max(latency)];
            sum = [sum[0] + least * calls, sum[1] + latency * calls];
            all += calls;
        }
    }
    match metric {
        _ if all <= 0.0 => Err("no operation was seen".to_owned()),
        Metric::LatencyMax => {
            let [least, most] = longest;
            let figure = if least < most * exact { Err(of_untimed(least, most)) } else { Ok(most) };
            Ok(BothWays { least, figure, sampled })
        }
        _ => Ok(BothWays { least: sum[0] / all, figure: Ok(sum[1] / all), sampled }),
    }
}

/// The fact of a completion latency.
fn completion_latency(metric: Metric) -> Option<FactName> {
    match metric {
        Metric::CompletionLatencyMean => Some(FactName::CompletionLatencyMean),
        Metric::CompletionLatencyP50 => Some(FactName::CompletionLatencyP50),
        Metric::CompletionLatencyP95 => Some(FactName::CompletionLatencyP95),
        Metric::CompletionLatencyP99 => Some(FactName::CompletionLatencyP99),
        Metric::CompletionLatencyP999 => Some(FactName::CompletionLatencyP999),
        _ => None,
    }
}

/// Returns how many requests have to take less for a latency to be lower: a wait of one request lowers no percentile
/// above which there are others.
fn requests_above(run: &Run<'_>, phase: &Phase, metric: Metric) -> Result<f64, String> {
    let above = match metric {
        Metric::CompletionLatencyP50 => 0.5,
        Metric::CompletionLatencyP95 => 0.05,
        Metric::CompletionLatencyP99 => 0.01,
        Metric::CompletionLatencyP999 => 0.001,
        _ => 1.0,
    };
    Ok((calls(run, phase)? * above).max(1.0))
}

/// The percentile before one, of those that are facts.
fn percentile_below(metric: Metric) -> Option<Metric> {
    match metric {
        Metric::LatencyP95 | Metric::CompletionLatencyP95 => Some(Metric::LatencyP50),
        Metric::LatencyP99 | Metric::CompletionLatencyP99 => Some(Metric::LatencyP95),
        Metric::LatencyP999 | Metric::CompletionLatencyP999 => Some(Metric::LatencyP99),
        _ => None,
    }
}

fn sync_latency(metric: Metric) -> FactName {
    match metric {
        Metric::SyncLatencyMean => FactName::SyncLatencyMean,
        Metric::SyncLatencyP50 => FactName::SyncLatencyP50,
        Metric::SyncLatencyP95 => FactName::SyncLatencyP95,
        Metric::SyncLatencyP99 => FactName::SyncLatencyP99,
        _ => FactName::SyncLatencyP999,
    }
}

/// Returns `true` if the least figure of a task may not be that of the slowest one. To iozone a least figure of 0 means
/// that it has none yet: it is the least of the tasks behind the last one that counts nothing. The record in which a task
/// was stopped is not counted.
fn may_leave_tasks_out(run: &Run<'_>, phase: &Phase) -> Result<bool, String> {
    if phase.requested_tasks <= 1 {
        return Ok(false);
    }
    if run.fact(phase, FactName::ActiveTasks)? < tasks_of(phase) {
        return Ok(true);
    }
    if !stonewalled(run, phase)? {
        return Ok(false);
    }
    // Between the end of a call that a tracer sees and its return to the tool lies a stop: which records were counted is
    // not known.
    if is_traced(run) {
        return Ok(true);
    }
    let record = phase.block_bytes.ok_or("the size of the records is not known")?;
    Ok(run.fact(phase, FactName::MinTaskBytes)? <= record as f64)
}

/// Returns `true` if tasks of the pass were stopped before they had moved all that was asked for.
fn stonewalled(run: &Run<'_>, phase: &Phase) -> Result<bool, String> {
    let untimed = fact_if_any(phase, FactName::UntimedBytes)?.unwrap_or(0.0);
    let moved = run.moved(phase)?;
    Ok(untimed > 0.0 || phase.requested_bytes.is_some_and(|requested| moved < requested as f64))
}

/// Returns `true` if a claim of counted bytes is about all tasks together: it is the phase's only one.
fn moved_by_all(run: &Run<'_>, phase: &Phase, claim: &Claim) -> bool {
    let counted = |other: &&Claim| matches!(other.metric, Metric::BytesMoved | Metric::TaskThroughput);
    run.claims_of(phase).filter(counted).all(|other| other.id == claim.id)
}

/// The facts on which the comparison of a claim rests: those of [`rebuild`], and those that say whether a
/// difference has a meaning.
pub(crate) fn basis(phase: &Phase, claim: &Claim) -> Vec<FactName> {
    let by_direction = |read, write, discard| match phase.direction {
        Direction::Read => vec![read],
        Direction::Write => vec![write],
        Direction::Discard => vec![discard],
        Direction::Mixed => vec![read, write],
        Direction::None => Vec::new(),
    };
    let bytes = || by_direction(FactName::ReadBytes, FactName::WriteBytes, FactName::DiscardBytes);
    let calls = || by_direction(FactName::ReadCalls, FactName::WriteCalls, FactName::DiscardCalls);
    let operations = || match (&phase.names, phase.block_bytes) {
        (Some(_), _) => vec![FactName::NameCalls],
        (None, Some(1..)) => bytes(),
        (None, _) => calls(),
    };
    let metric = claim.metric;
    let mut facts = match metric {
        Metric::Throughput => bytes(),
        Metric::BytesMoved | Metric::MinTaskBytes => {
            [bytes(), vec![FactName::ActiveTasks, FactName::MinTaskBytes]].concat()
        }
        Metric::OperationRate | Metric::TimePerOperation | Metric::OperationsDone => operations(),
        Metric::SumOfTaskThroughput | Metric::MeanTaskThroughput => vec![FactName::SumOfTaskRates],
        Metric::SumOfTaskOperationRate => vec![FactName::SumOfTaskRates, FactName::SumOfTaskOpRates],
        Metric::ParentThroughput => [bytes(), vec![FactName::ParentWindow, FactName::CpuWaitedAtMost]].concat(),
        Metric::ParentOperationRate => [operations(), vec![FactName::ParentWindow, FactName::CpuWaitedAtMost]].concat(),
        Metric::MinTaskThroughput => {
            vec![FactName::MinTaskRate, FactName::MaxTaskRate, FactName::MinTaskBytes, FactName::ActiveTasks]
        }
        Metric::MaxTaskThroughput => vec![FactName::MaxTaskRate],
        Metric::TaskThroughput => vec![FactName::MinTaskRate, FactName::MaxTaskRate],
        Metric::SyncsDone => vec![FactName::SyncsInside],
        _ if metric.is_cpu() => {
            vec![FactName::UserCpu, FactName::KernelCpu, FactName::Steal, FactName::StealError]
        }
        _ if metric.is_sync_latency() => vec![sync_latency(metric), FactName::SyncsInside],
        _ if metric.is_latency() && phase.names.is_some() => vec![FactName::NameLatencyMax],
        _ if metric.is_latency() => {
            let directions = LatencyFacts::of(phase.direction);
            // No fact where the metric is no latency of calls.
            let known = |metric| directions.iter().filter_map(move |facts| facts.fact(metric).ok());
            let of = |metric| Vec::from_iter(known(metric).map(|fact| fact.observed));
            let least_of = |metric| known(metric).filter_map(|fact| fact.least);
            let timed = directions.iter().map(|facts| facts.timed).collect();
            let handed_over = metric.is_completion_latency().then_some(FactName::SubmitLatencyP999);
            let below = percentile_below(metric).map(of).unwrap_or_default();
            let waits = [FactName::Window, FactName::Preempted, FactName::Steal, FactName::CpuTimesError];
            let completions: Vec<FactName> = handed_over
                .into_iter()
                .chain(completion_latency(metric))
                .chain(handed_over.is_some().then_some(waits).into_iter().flatten())
                .collect();
            // Of a tool that leaves out its last calls.
            let longest = match metric {
                Metric::LatencyMean => of(Metric::LatencyMax),
                _ => Vec::new(),
            };
            let least = [Some(metric), percentile_below(metric)].into_iter().flatten().flat_map(least_of).collect();
            [of(metric), least, below, longest, bytes(), calls(), timed, completions].concat()
        }
        _ => Vec::new(),
    };
    if !metric.is_count() {
        facts.extend([FactName::Preempted, FactName::Steal, FactName::CpuTimesError, FactName::StealError]);
        let is_of_the_pass =
            metric.is_cpu() || matches!(metric, Metric::ParentThroughput | Metric::ParentOperationRate);
        facts.extend(is_of_the_pass.then_some(FactName::Window));
        facts.push(rate_window(phase));
        facts.extend(operations());
    }
    if phase.after_ramp && !metric.is_latency() && !metric.is_cpu() {
        facts.push(rate_window(phase));
        facts.extend(bytes());
        facts.extend(longest_operations(phase));
        facts.push(FactName::InFlightAtStart);
    }
    if phase.requested_tasks > 1 {
        facts.extend(bytes());
        facts.push(FactName::UntimedBytes);
    }
    facts
}

/// By how much a count of bytes may be off a conversion, in addition to the resolution of the printed number: calls at
/// the edges of the pass.
const EXACT_COUNT_RATIO: f64 = 0.000_5;

/// The conversion factors that tools and readers confuse.
const FACTORS: [(f64, &str); 8] = [
    (1.024, "kB (1000) and KiB (1024)"),
    (1.048_576, "MB (1000²) and MiB (1024²)"),
    (1.073_741_824, "GB (1000³) and GiB (1024³)"),
    (1.0 / 1.024, "KiB (1024) and kB (1000)"),
    (1.0 / 1.048_576, "MiB (1024²) and MB (1000²)"),
    (1.0 / 1.073_741_824, "GiB (1024³) and GB (1000³)"),
    (8.0, "bits and bytes"),
    (0.125, "bytes and bits"),
];

/// Compares a claim with the observation.
///
/// # Errors
/// When the pass was not found, when a fact is missing or partial, or when an option moves
/// the tool's clock by an amount that no call shows.
pub(crate) fn compare(run: &Run<'_>, phase: &Phase, claim: &Claim) -> Result<Agreement, Halt> {
    seen(phase)?;
    let rebuilt = rebuild(run, phase, claim)?;
    if rebuilt.high == 0.0 && phase.names.is_none() {
        return Err(Halt::not_applicable("No call moved data. See AB106."));
    }
    let finite = [rebuilt.low, rebuilt.high, claim.value.value, claim.resolution].iter().all(|value| value.is_finite());
    if !finite {
        return Err(Halt::undecided("The figure or its observed value is not a finite number."));
    }
    let limits = run.thresholds;
    let timed = !claim.metric.is_count();
    // A truncated number is up to a whole step, twice the resolution, from the true one.
    let (low, high) = (claim.value.value - 2.0 * claim.resolution, claim.value.value + 2.0 * claim.resolution);
    // A shorter time of one operation is a better figure: such a claim overstates if it is too low.
    let inverse = claim.metric == Metric::TimePerOperation || claim.metric.is_latency();
    let (excess, nearest) = if high < rebuilt.low {
        if inverse && high <= 0.0 {
            return Ok(Agreement::Agrees);
        }
        let share = high / rebuilt.low;
        (if inverse { 1.0 / share } else { share } - 1.0, rebuilt.low)
    } else if low > rebuilt.high {
        let share = low / rebuilt.high;
        (if inverse { 1.0 / share } else { share } - 1.0, rebuilt.high)
    } else {
        return Ok(Agreement::Agrees);
    };
    // Of several tasks each may wait for a CPU between its last call and its reading of
    // the clock. That makes its own figure smaller, never larger, and no call shows for how long.
    if timed && excess < 0.0 && phase.requested_tasks > 1 && !claim.metric.is_cpu() {
        return Ok(Agreement::Agrees);
    }
    // The clock of a stonewalled task stops when another task ends, which shows in no call. Only a
    // printed count of its bytes says where; without one the rebuilt rate is an estimate, and an
    // estimate refutes nobody.
    let counted = run.claims_of(phase).any(|other| other.metric == Metric::BytesMoved);
    let stopped_early = phase.requested_tasks > 1 && stonewalled(run, phase)?;
    let excess_matters = excess.abs() > limits.ab104_difference_warn_ratio.value.value;
    if timed && stopped_early && !counted && excess_matters && !exceeds_any_clock(run, phase, low, &rebuilt)? {
        return Err(Halt::undecided(
            "A task was stopped early, so the end of its clock is not known. A printed byte count would show it \
             (iozone: `-C`).",
        ));
    }
    // The bounds of a share of CPU time and of a latency are those of our slack: the observed figure is within them.
    let ours = claim.metric.is_cpu() || claim.metric.is_latency();
    let seen = rebuilt.figure.as_ref().ok().filter(|_| ours).map_or(nearest, |figure| figure.value);
    let observed = Quantity { value: seen, unit: rebuilt.unit };
    // The tool reads its clock some time after the hand-over: where it waits for a CPU there, an honest figure is
    // shorter than what was observed.
    if claim.metric.is_completion_latency() {
        let waited_ns = waited_ns(phase)?;
        let is_long = waited_ns > limits.ab101_waiting_ratio.value.value * run.fact(phase, FactName::Window)?;
        let is_short = high < rebuilt.low;
        if is_long || is_short && waited_ns >= (rebuilt.low - high) * requests_above(run, phase, claim.metric)? {
            return Ok(Agreement::Agrees);
        }
    }
    if claim.metric == Metric::CpuTotal && excess < 0.0 {
        time_at_most(phase, FactName::Steal)?;
    }
    let Noise { typical, bound } = match timed {
        true => noise_share(run, phase, excess)?,
        false if claim.metric.is_count() && phase.after_ramp => Noise {
            typical: at_the_ramps_end(run, phase)?,
            bound: begun_before(phase, run.fact(phase, rate_window(phase))?),
        },
        false => Noise::none(),
    };
    // An unknown figure does not widen the bounds; a difference that it could explain is undecided.
    let least_warn = limits.ab104_difference_warn_ratio.value.value.min(limits.ab101_difference_warn_ratio.value.value);
    let bound = match bound {
        Ok(bound) => bound,
        Err(_) if excess.abs() <= least_warn.max(typical) => return Ok(Agreement::Agrees),
        Err(why) => return Err(Halt::undecided(why)),
    };
    let noise = typical + bound;
    // Twice the typical size before anything fails.
    let is_bound = rebuilt.figure.is_err();
    let sized = |warn: f64, fail: f64| Difference {
        observed,
        is_bound,
        excess,
        warn: warn.max(noise),
        fail: fail.max(2.0 * typical + bound),
    };
    let by_clock =
        sized(limits.ab104_difference_warn_ratio.value.value, limits.ab104_difference_fail_ratio.value.value);
    let by_bytes =
        sized(limits.ab101_difference_warn_ratio.value.value, limits.ab101_difference_fail_ratio.value.value);
    if excess.abs() <= by_clock.warn.min(by_bytes.warn) {
        return Ok(Agreement::Agrees);
    }
    if let (true, Some(limit)) = (timed, phase.own_limits.iter().find(|limit| limit.untimed)) {
        let why = "excludes its delays from the tool's clock. Calls do not show these delays";
        return Err(Halt::undecided(format!("The option `{}` {why}.", limit.option)));
    }
    let share = claim.value.value / nearest;
    let ratio = if inverse { 1.0 / share } else { share };
    let tolerance = limits.ab103_factor_tolerance_ratio.value.value;
    // Only bytes have such units.
    let converted = matches!(rebuilt.unit, Unit::Bytes | Unit::BytesPerSec);
    if converted
        && typical <= tolerance
        && !operations_differ_too(run, phase, ratio, tolerance)
        && !miscounts(run, phase, ratio, tolerance)
        && let Some(name) = conversion(ratio, tolerance)
    {
        let fail = limits.ab103_difference_fail_ratio.value.value;
        return Ok(Agreement::UnitMixUp(Difference { observed, is_bound, excess, warn: 0.0, fail }, name));
    }
    if timed && bytes_agree(run, phase, claim) {
        return Ok(if excess.abs() > by_clock.warn { Agreement::Clock(by_clock) } else { Agreement::Agrees });
    }
    Ok(if excess.abs() > by_bytes.warn { Agreement::Bytes(by_bytes) } else { Agreement::Agrees })
}

/// Returns `true` if a rate of stonewalled tasks is twice what they can have had: all that they moved, also behind their
/// clocks, in the time of what they moved inside. Where it is not known what they moved behind them, it is `false`.
fn exceeds_any_clock(run: &Run<'_>, phase: &Phase, claimed_at_least: f64, rebuilt: &Rebuilt) -> Result<bool, Halt> {
    let moved = run.moved(phase)?;
    let Some(untimed) = fact_if_any(phase, FactName::UntimedBytes)? else { return Ok(false) };
    let is_rate = matches!(rebuilt.unit, Unit::BytesPerSec | Unit::OpsPerSec);
    Ok(is_rate && moved > 0.0 && claimed_at_least > 2.0 * rebuilt.high * (moved + untimed) / moved)
}

/// Returns `true` if a rate of operations of the same pass is off by the same ratio: then it is the time that both were
/// divided by, and no unit.
fn operations_differ_too(run: &Run<'_>, phase: &Phase, ratio: f64, tolerance: f64) -> bool {
    let mut rates = run.claims_of(phase).filter(|other| other.metric == Metric::OperationRate);
    rates.any(|other| {
        let rebuilt = rebuild(run, phase, other).and_then(|rebuilt| rebuilt.figure);
        rebuilt.is_ok_and(|rebuilt| (other.value.value / rebuilt.value / ratio - 1.0).abs() <= tolerance)
    })
}

/// Returns `true` if the tool's count of bytes is off by this ratio, and by no conversion: a count of bytes has no noise,
/// so a conversion shows in it to the last printed digit.
fn miscounts(run: &Run<'_>, phase: &Phase, ratio: f64, tolerance: f64) -> bool {
    let mut counts = run.claims_of(phase).filter(|other| other.metric == Metric::BytesMoved);
    counts.any(|count| {
        let Ok(moved) = rebuild(run, phase, count).and_then(|rebuilt| rebuilt.figure) else { return false };
        let printed_ratio = 2.0 * count.resolution / count.value.value + EXACT_COUNT_RATIO;
        let of_count = count.value.value / moved.value;
        (of_count / ratio - 1.0).abs() <= tolerance && conversion(of_count, printed_ratio.min(tolerance)).is_none()
    })
}

/// Returns the name of the conversion that a ratio is.
fn conversion(ratio: f64, tolerance: f64) -> Option<&'static str> {
    FACTORS.iter().find(|(factor, _)| (ratio / factor - 1.0).abs() <= tolerance).map(|(_, name)| *name)
}

/// Judges each claim on a phase: one finding for each claim that fires, and one for all others.
pub(crate) fn of_each_claim<'a>(
    case: &Case<'a>,
    phase: &Phase,
    firing: impl Fn(&'a Claim, &Agreement) -> Option<Firing>,
) -> Result<Vec<Finding>, Halt> {
    let (mut findings, mut silent, mut open, mut outside) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut undecided, mut not_applicable) = (None, None);
    let concerning = |claims: Vec<&'a Claim>| {
        let mut facts: Vec<FactName> = claims.iter().flat_map(|claim| basis(phase, claim)).collect();
        facts.extend(system_clock::FACTS.iter().filter(|name| phase.facts.get(**name).is_some()));
        facts.sort_unstable();
        facts.dedup();
        case.concerning(claims).resting_on(facts)
    };
    for claim in case.claims() {
        let compared = compare(&case.run, phase, claim);
        // An option that nobody read may move the clock: a ramp, say.
        let known = match &compared {
            Ok(Agreement::Agrees) | Err(_) => Ok(()),
            Ok(_) => read_whole(phase).and_then(|()| ran_evenly(&case.run, phase, rate_window(phase))),
        };
        match known.and(compared) {
            Ok(agreement) => match firing(claim, &agreement) {
                Some(firing) => findings.push(concerning(vec![claim]).fires(firing)),
                None => silent.push(*claim),
            },
            Err(halt @ Halt::Undecided(_)) => {
                undecided.get_or_insert(halt);
                open.push(*claim);
            }
            Err(halt) => {
                not_applicable.get_or_insert(halt);
                outside.push(*claim);
            }
        }
    }
    if !silent.is_empty() {
        findings.push(concerning(silent).silent(""));
    }
    if let Some(halt) = undecided {
        findings.push(concerning(open).halted(halt));
    }
    if let Some(halt) = not_applicable {
        findings.push(concerning(outside).halted(halt));
    }
    Ok(findings)
}

/// Returns `true` if the bytes that the tool states with the figure are those that calls moved.
fn bytes_agree(run: &Run<'_>, phase: &Phase, claim: &Claim) -> bool {
    let limit = run.thresholds.ab101_difference_warn_ratio.value.value;
    match (claim.claimed_bytes, run.moved(phase)) {
        (Some(claimed), Ok(moved)) if claim.metric != Metric::TaskThroughput => {
            moved > 0.0 && (claimed as f64 / moved - 1.0).abs() <= limit
        }
        // A task's own bytes have no counterpart among the facts of the pass; the tool states
        // them, and together they are the pass's.
        (Some(_), Ok(_)) => true,
        _ => false,
    }
}

/// The share of the window up to which a difference has no meaning.
#[derive(Clone, Debug)]
pub(crate) struct Noise {
    /// A measured typical size: a difference can be larger.
    pub(crate) typical: f64,
    /// A size that cannot be exceeded; why it is not known.
    pub(crate) bound: Result<f64, String>,
}

impl Noise {
    fn none() -> Self {
        Self { typical: 0.0, bound: Ok(0.0) }
    }
}

/// The noise of a difference in this direction: the step of the tool's clock, the time between its reading and the
/// nearest call, and, where the tool's clock may have run longer than the calls, the wait for a CPU between the
/// two and the work at either end.
pub(crate) fn noise_share(run: &Run<'_>, phase: &Phase, excess: f64) -> Result<Noise, String> {
    let window_ns = run.fact(phase, rate_window(phase))?;
    if window_ns <= 0.0 {
        return Err("the pass does not have a measurable duration".to_owned());
    }
    let step_ns = run.parsed.clock_step_ns.map_or(0.0, |step| step as f64);
    let typical = (step_ns + run.thresholds.ab104_noise_ns.value.value) / window_ns;
    // A tool reads its clock before the first call and after the last one: a wait between the two makes its time longer,
    // never shorter. Behind a ramp the clock begins after an operation, and after a wait for a CPU to see its end.
    let wait_ns = run.thresholds.ab104_wait_ns.value.value;
    if excess > 0.0 {
        let waited = if phase.after_ramp { waited_ns(phase) } else { Ok(0.0) };
        let bound = begun_before(phase, window_ns)
            .and_then(|begun| Ok(begun + untimed_start(phase, window_ns)? + waited?.min(wait_ns) / window_ns));
        return Ok(Noise { typical, bound });
    }
    // At both ends together no more than two waits.
    let most_ns = 2.0 * wait_ns;
    let start_ns = run.thresholds.ab104_start_ns.value.value;
    // The waits at the ends are outside of the window: those of the whole run bound them, where they were computed.
    let waited = waited_ns(phase).and_then(|inside_ns| match run.facts.get(FactName::Preempted) {
        None => Ok(inside_ns),
        Some(_) => run.facts.complete(FactName::Preempted).map(|of_the_run_ns| inside_ns.max(of_the_run_ns)),
    });
    let bound = waited.map(|waited_ns| (waited_ns.min(most_ns) + start_ns) / window_ns);
    let operations = operations(run, phase)?;
    let idle = run.thresholds.ab104_idle_operations_count.value.value * tasks_of(phase);
    let at_the_ends = if operations > 0.0 { idle / operations } else { 0.0 };
    Ok(Noise { typical: typical + at_the_ends, bound })
}

/// Operations in flight at the end of the ramp that a tool can count, as a share of the pass without the
/// longest of them: its clock may have begun with the end of that one.
fn begun_before(phase: &Phase, window_ns: f64) -> Result<f64, String> {
    if !phase.after_ramp || window_ns <= 0.0 {
        return Ok(0.0);
    }
    let longest_ns = longest_operation_ns(phase)?;
    match longest_ns < window_ns {
        true => Ok(longest_ns / (window_ns - longest_ns)),
        false => Err("an operation was in flight for the whole pass, from before the end of the ramp".to_owned()),
    }
}

/// The work before the tool's clock that the window may contain, as a share of the pass without it.
fn untimed_start(phase: &Phase, window_ns: f64) -> Result<f64, String> {
    let untimed_ns = phase.untimed_start_ns as f64;
    match untimed_ns < window_ns {
        true => Ok(untimed_ns / (window_ns - untimed_ns)),
        false => {
            Err("no call shows when the tool's clock began, and its work before it may have taken as long as the \
                     pass"
                .to_owned())
        }
    }
}

/// The operations at the end of a ramp that the tool and the observer may count differently, as a share of the pass:
/// one for each buffer.
fn at_the_ramps_end(run: &Run<'_>, phase: &Phase) -> Result<f64, String> {
    let moved = run.moved(phase)?;
    Ok(if moved > 0.0 { buffers_bytes(phase) / moved } else { 0.0 })
}

/// The facts with the longest operations that the clock of a pass may have waited for. Both directions of a mix have one
/// clock.
fn longest_operations(phase: &Phase) -> &'static [FactName] {
    match phase.direction {
        Direction::Read | Direction::Write if phase.mix.is_some() => LONGEST_OF_BOTH,
        Direction::Mixed => LONGEST_OF_BOTH,
        Direction::Read => &[FactName::ReadLatencyMax],
        Direction::Write => &[FactName::WriteLatencyMax],
        Direction::Discard => &[FactName::DiscardLatencyMax],
        Direction::None => &[],
    }
}

const LONGEST_OF_BOTH: &[FactName] = &[FactName::ReadLatencyMax, FactName::WriteLatencyMax];

/// The longest of these operations, in nanoseconds: of those inside the window, and of the rest of those that were in
/// flight when it began.
fn longest_operation_ns(phase: &Phase) -> Result<f64, String> {
    let longest = longest_operations(phase).iter().map(|name| phase.facts.complete(*name));
    let longest = longest.reduce(|one, other| Ok(one?.max(other?)));
    let longest_ns = longest.unwrap_or_else(|| Err("the pass does not move data".to_owned()))?;
    // Only passes behind a ramp have it.
    match phase.facts.get(FactName::InFlightAtStart) {
        None => Ok(longest_ns),
        Some(_) => phase.facts.complete(FactName::InFlightAtStart).map(|at_start_ns| longest_ns.max(at_start_ns)),
    }
}

/// Returns `true` if two figures of one claim differ by rounding at most.
#[cfg(test)]
fn close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_factor_has_its_inverse() {
        for (factor, name) in FACTORS {
            assert!(FACTORS.iter().any(|(other, _)| close(factor * other, 1.0)), "{name} has no inverse");
        }
    }
}
