//! Results, as written to JSON and rendered to the page, and the aims that they are compared with.

use serde::Serialize;

use crate::overhead::offsets::{OffsetsCheck, READS};
use crate::overhead::outputs::{OwnAccount, Records};
use crate::overhead::statistics::{self, Cost, Interval, Pair};
use crate::overhead::unobserved::{self, UnobservedCheck};
use crate::overhead::variants::Variant;
use crate::overhead::workloads::Workload;

/// The value of the key `schema`.
pub(crate) const SCHEMA: &str = "activebench.overhead/2";

/// One run of the task.
#[derive(Debug, Serialize)]
pub(crate) struct Measurement {
    pub(crate) schema: &'static str,
    /// Conditions of the measurement.
    pub(crate) provenance: Provenance,
    /// One entry per requested workload.
    pub(crate) workloads: Vec<WorkloadResult>,
    /// The check for lost records; `None` when it was not requested.
    pub(crate) loss: Option<LossCheck>,
    /// The analysis of repeated offsets; `None` when it was not requested.
    pub(crate) offsets: Option<OffsetsCheck>,
    /// Stated intervals beside runs without observation; `None` when it was not requested.
    pub(crate) unobserved: Option<UnobservedCheck>,
    /// The aims, compared with the results.
    pub(crate) aims: Vec<Aim>,
}

/// Place and conditions of the measurement.
#[derive(Debug, Serialize)]
pub(crate) struct Provenance {
    /// CPUs, their model, memory.
    pub(crate) machine: String,
    /// Release of the kernel.
    pub(crate) kernel: String,
    /// File system of the files that are read.
    pub(crate) file_system: String,
    /// Build of the product.
    pub(crate) build: String,
    /// First lines of the other tools' `--version`.
    pub(crate) tool_versions: Vec<String>,
    /// Requested rounds with all variants.
    pub(crate) rounds: u32,
    /// `true` for a run that was shortened for a trial.
    pub(crate) quick: bool,
    /// UTC day of the measurement, `2026-11-21`; `None` when `date` does not print it.
    pub(crate) day: Option<String>,
    /// The load average of the last minute before the first round; `None` when it cannot be read.
    pub(crate) load_before: Option<f64>,
    /// Duration in seconds.
    pub(crate) seconds: u64,
    /// Reason for an early end; `None` for a complete measurement.
    pub(crate) incomplete: Option<String>,
}

/// One workload under all its variants.
#[derive(Debug, Serialize)]
pub(crate) struct WorkloadResult {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// Reason for missing figures; `None` when figures exist.
    pub(crate) reason: Option<String>,
    /// Rounds that were run.
    pub(crate) rounds: u32,
    /// Of those, rounds at whose start or end other processes had tracing programs loaded.
    pub(crate) rounds_beside_others: u32,
    /// Names of those programs.
    pub(crate) foreign_tracers: Vec<String>,
    pub(crate) variants: Vec<VariantResult>,
}

/// One variant of one workload.
#[derive(Debug, Serialize)]
pub(crate) struct VariantResult {
    pub(crate) name: &'static str,
    pub(crate) title: String,
    /// Command line of the variant.
    pub(crate) command: String,
    /// Nanoseconds per call by round; `None` for a round in which it was not run or gave no figure.
    pub(crate) ns_per_call: Vec<Option<f64>>,
    /// Median nanoseconds per call by round, for workloads in which the device takes most of the time.
    pub(crate) median_ns: Vec<Option<f64>>,
    /// The cost from these medians; `None` without them.
    pub(crate) median_cost: Option<Cost>,
    /// The cost; `None` when no round has a figure for it and for untraced.
    pub(crate) cost: Option<Cost>,
    /// The account of activebench's records over all rounds; `None` for other variants.
    pub(crate) records: Option<Records>,
    /// activebench's own figures on the cost of observing, over all rounds; `None` for other variants.
    pub(crate) own_account: Option<OwnAccount>,
    /// Reason for missing figures; `None` when none are missing.
    pub(crate) reason: Option<String>,
}

impl WorkloadResult {
    /// Makes a result without figures, with the rows in the workload's order.
    pub(crate) fn new(workload: &Workload) -> WorkloadResult {
        let row = |variant: &Variant| VariantResult {
            name: variant.name(),
            title: variant.title(workload.syscall),
            command: variant.shown(workload.syscall),
            ns_per_call: Vec::new(),
            median_ns: Vec::new(),
            median_cost: None,
            cost: None,
            records: None,
            own_account: None,
            reason: workload.left_out(*variant).map(str::to_owned),
        };
        WorkloadResult {
            name: workload.name,
            title: workload.title,
            reason: None,
            rounds: 0,
            rounds_beside_others: 0,
            foreign_tracers: Vec::new(),
            variants: workload.variants.iter().map(row).collect(),
        }
    }

    /// Computes each variant's cost against the first row, which is untraced.
    pub(crate) fn conclude(&mut self) {
        let Some(untraced) = self.variants.first() else { return };
        let (mean, median) = (untraced.ns_per_call.clone(), untraced.median_ns.clone());
        for row in &mut self.variants {
            row.cost = statistics::cost(&pairs(&mean, &row.ns_per_call));
            row.median_cost = statistics::cost(&pairs(&median, &row.median_ns));
        }
    }

    fn row(&self, variant: Variant) -> Option<&VariantResult> {
        self.variants.iter().find(|row| row.name == variant.name())
    }

    fn cost_of(&self, variant: Variant) -> Option<Cost> {
        self.row(variant)?.cost
    }

    /// Returns the nanoseconds per call that a variant and empty programs add, for each round with both.
    fn added_beside_the_floor(&self, variant: Variant) -> Vec<(f64, f64)> {
        self.added_beside(variant, Variant::Floor)
    }

    /// The same of any two variants.
    fn added_beside(&self, variant: Variant, other: Variant) -> Vec<(f64, f64)> {
        let figures = |variant| self.row(variant).map_or(&[][..], |row| &row.ns_per_call);
        let (untraced, floor) = (figures(Variant::Untraced), figures(other));
        let rounds = figures(variant).iter().zip(floor).zip(untraced);
        rounds
            .filter_map(|((ours, floor), untraced)| Some(((*ours)? - (*untraced)?, (*floor)? - (*untraced)?)))
            .collect()
    }

    /// Returns the nanoseconds per call that the first variant takes more than the second, for each round with both;
    /// empty when one was not measured.
    fn differences(&self, first: Variant, second: Variant) -> Vec<f64> {
        let figures = |variant| self.row(variant).map_or(&[][..], |row| &row.ns_per_call);
        let pairs = figures(first).iter().zip(figures(second));
        pairs.filter_map(|(first, second)| Some((*first)? - (*second)?)).collect()
    }
}

/// Returns the rounds in which both sides have a figure.
fn pairs(untraced: &[Option<f64>], observed: &[Option<f64>]) -> Vec<Pair> {
    let pair = |(untraced, observed): (&Option<f64>, &Option<f64>)| {
        Some(Pair { untraced_ns: (*untraced)?, observed_ns: (*observed)? })
    };
    untraced.iter().zip(observed).filter_map(pair).collect()
}

/// Check for lost records at the highest rate of calls that the machine reaches.
#[derive(Debug, Serialize)]
pub(crate) struct LossCheck {
    /// Threads that read at the same time.
    pub(crate) threads: u64,
    /// preads of all threads together.
    pub(crate) preads: u64,
    /// preads per second; `None` with a reason.
    pub(crate) preads_per_sec: Option<f64>,
    /// The counts of records; `None` with a reason.
    pub(crate) records: Option<Records>,
    /// Reason for missing counts; `None` when they are present.
    pub(crate) reason: Option<String>,
}

impl LossCheck {
    /// Returns `true` when every pread has its record: more can be made (opening, loading), but never fewer. `None`
    /// without counts.
    pub(crate) fn is_whole(&self) -> Option<bool> {
        let records = self.records?;
        Some(records.lost == 0 && records.calls_received == records.calls_made && records.calls_made >= self.preads)
    }
}

/// An aim compared with its measurement. A comparison, not a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Aim {
    /// The aim.
    pub(crate) aim: String,
    /// The measurement; `None` without one.
    pub(crate) measured: Option<String>,
    /// The comparison; `None` without a measurement.
    pub(crate) standing: Option<Standing>,
}

/// Result of the comparison of a measurement with an aim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Standing {
    /// The whole interval is within the aim.
    Within,
    /// The whole interval is beyond it.
    Beyond,
    /// The interval contains the limit of the aim, or there are too few rounds for an interval. Also when the whole
    /// interval shows the observed run faster by more than the aim allows it to be slower: then something else differed
    /// between the two.
    CannotTell,
}

impl Standing {
    /// Compares an interval with the highest accepted value, and with the lowest plausible one.
    pub(crate) fn of(interval: Option<Interval>, most: f64, least: f64) -> Standing {
        match interval {
            Some(interval) if interval.low > most => Standing::Beyond,
            Some(interval) if interval.high <= most && interval.high >= least => Standing::Within,
            _ => Standing::CannotTell,
        }
    }

    /// Returns its word in a table.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Standing::Within => "within",
            Standing::Beyond => "beyond",
            Standing::CannotTell => "cannot tell",
        }
    }
}

/// Highest accepted nanoseconds added to a cached pread; for all aims see `docs/design/README.md`.
const CACHED_PREAD_NS: f64 = 150.0;
/// Highest accepted nanoseconds added to a cached pread of a process outside the tree.
const OUTSIDE_NS: f64 = 110.0;
/// Largest accepted ratio of a cached read of an asynchronous engine, and largest accepted multiple of the floor's cost.
const ASYNCHRONOUS_RATIO: f64 = 1.12;
const ASYNCHRONOUS_FLOORS: f64 = 3.0;
/// Largest accepted multiples of the floor's cost for a cached pread, with and without stack samples, and for one of a
/// process outside the tree.
const PREAD_FLOORS: f64 = 2.0;
const PREAD_FLOORS_WITHOUT_SAMPLES: f64 = 1.3;
const OUTSIDE_FLOORS: f64 = 1.3;
/// Most nanoseconds of the observer's own CPU time per record: one CPU then keeps up with more than 4 million calls per
/// second of four.
const CONSUMER_NS: f64 = 60.0;
/// Smallest accepted factor by which repeated offsets are found faster than by `sort | uniq -c`.
const OFFSETS_FACTOR: f64 = 10.0;
/// Most seconds for it, for any number of reads up to 100 million, and most memory.
const OFFSETS_SECONDS: f64 = 20.0;
const OFFSETS_BYTES: u64 = 512 << 20;
/// Largest accepted ratio of a run that waits for a device.
const DEVICE_BOUND_RATIO: f64 = 1.01;

/// Largest accepted share of what strace adds, for the tracer and a call of the C library.
const NOTED_STRACES: f64 = 0.1;

/// Returns the aims, compared with these results.
pub(crate) fn aims(
    workloads: &[WorkloadResult],
    offsets: Option<&OffsetsCheck>,
    unobserved: Option<&UnobservedCheck>,
) -> Vec<Aim> {
    let result = |name: &str| workloads.iter().find(|result| result.name == name);
    vec![
        of_nanoseconds("a cached pread", CACHED_PREAD_NS, result("preads")),
        of_nanoseconds("a cached pread outside the tree", OUTSIDE_NS, result("bystander")),
        of_floors("a cached pread", Variant::Activebench, PREAD_FLOORS, result("preads")),
        of_floors(
            "a cached pread, without stack samples",
            Variant::WithoutSamples,
            PREAD_FLOORS_WITHOUT_SAMPLES,
            result("preads"),
        ),
        of_floors("a cached pread outside the tree", Variant::Activebench, OUTSIDE_FLOORS, result("bystander")),
        of_consumer(result("preads")),
        of_asynchronous("io_uring", Variant::Activebench, result("fio-io-uring")),
        of_asynchronous("io_uring", Variant::WithoutSamples, result("fio-io-uring")),
        of_floors("a cached read through io_uring", Variant::Activebench, ASYNCHRONOUS_FLOORS, result("fio-io-uring")),
        of_asynchronous("libaio", Variant::Activebench, result("fio-libaio")),
        of_asynchronous("libaio", Variant::WithoutSamples, result("fio-libaio")),
        of_floors("a cached read through libaio", Variant::Activebench, ASYNCHRONOUS_FLOORS, result("fio-libaio")),
        of_ratio("direct reads of a loop device", result("direct-loop")),
        of_median("a loop device", result("direct-loop")),
        of_ratio("direct reads of a file", result("direct-file")),
        of_median("a file", result("direct-file")),
        of_counting(
            "when it counts calls by process, its tutorial's one-liner",
            [Variant::Activebench, Variant::BpftraceByProcess],
            result("preads"),
        ),
        of_counting(
            "when it counts calls by process; activebench without stack samples too",
            [Variant::WithoutSamples, Variant::BpftraceByProcess],
            result("preads"),
        ),
        of_counting(
            "when it counts calls without a key, the least it can do",
            [Variant::Activebench, Variant::BpftraceCount],
            result("preads"),
        ),
        of_straces("a cached pread", NOTED_STRACES, result("preads")),
        of_straces("a cached pread of fio", NOTED_STRACES, result("fio-psync")),
        of_offsets(offsets),
        of_unobserved(unobserved),
    ]
}

fn of_nanoseconds(what: &str, limit: f64, result: Option<&WorkloadResult>) -> Aim {
    let cost = result.and_then(|result| result.cost_of(Variant::Activebench));
    Aim {
        aim: format!("at most {limit:.0} ns added to {what}"),
        measured: cost.map(|cost| {
            let interval = said(cost.added_ns_interval, cost.rounds, |ns| format!("{ns:.0}"), " ns");
            format!("{:.0} ns ({interval}; p5 {:.0} ns)", cost.added_ns_median, cost.added_ns_p5)
        }),
        standing: cost.map(|cost| Standing::of(cost.added_ns_interval, limit, -limit)),
    }
}

/// Compares what the tracer adds with what strace adds in the same rounds.
fn of_straces(what: &str, limit: f64, result: Option<&WorkloadResult>) -> Aim {
    let measured = result.and_then(|result| {
        let costs = result.cost_of(Variant::Traced).zip(result.cost_of(Variant::Strace))?;
        let rounds = result.added_beside(Variant::Traced, Variant::Strace);
        Some((costs, rounds.iter().map(|(ours, theirs)| ours / theirs).collect::<Vec<_>>()))
    });
    Aim {
        aim: format!("without rights at most {:.0} % of what strace adds to {what}", 100.0 * limit),
        measured: measured.as_ref().map(|((ours, theirs), shares)| {
            let percent = |share: f64| format!("{:.1}", 100.0 * share);
            let interval = said(statistics::median_interval(shares), shares.len(), percent, " %");
            let (ours, theirs) = (ours.added_ns_median, theirs.added_ns_median);
            format!("{} %: {ours:.0} ns, strace {theirs:.0} ns ({interval})", percent(ours / theirs))
        }),
        standing: measured.map(|(_, shares)| Standing::of(statistics::median_interval(&shares), limit, -limit)),
    }
}

fn of_asynchronous(engine: &str, variant: Variant, result: Option<&WorkloadResult>) -> Aim {
    let cost = result.and_then(|result| result.cost_of(variant));
    let floor = result.and_then(|result| result.cost_of(Variant::Floor));
    let how = if variant == Variant::WithoutSamples { ", without stack samples" } else { "" };
    Aim {
        aim: format!("a cached read through {engine} takes at most {ASYNCHRONOUS_RATIO} times as long{how}"),
        measured: cost.map(|cost| {
            let interval = said(cost.ratio_interval, cost.rounds, |ratio| format!("{ratio:.2}"), "");
            let floor = floor.filter(|floor| floor.ratio_median > ASYNCHRONOUS_RATIO);
            let beyond = floor.map_or_else(String::new, |floor| {
                format!("; programs that do nothing already take {:.2} times as long here", floor.ratio_median)
            });
            format!("{:.2} times, {:.0} ns more ({interval}){beyond}", cost.ratio_median, cost.added_ns_median)
        }),
        standing: cost.map(|cost| Standing::of(cost.ratio_interval, ASYNCHRONOUS_RATIO, 1.0 / ASYNCHRONOUS_RATIO)),
    }
}

/// Compares what is added with what empty programs on the same hooks add, by the difference to the accepted multiple
/// in each round.
fn of_floors(what: &str, variant: Variant, limit: f64, result: Option<&WorkloadResult>) -> Aim {
    let measured = result.and_then(|result| {
        let costs = result.cost_of(variant).zip(result.cost_of(Variant::Floor))?;
        let rounds = result.added_beside_the_floor(variant);
        Some((costs, rounds))
    });
    Aim {
        aim: format!("at most {limit} times what empty programs add to {what}"),
        measured: measured.as_ref().map(|((ours, floor), rounds)| {
            let interval = statistics::multiple_interval(rounds);
            let interval = match interval {
                None if rounds.len() >= statistics::LEAST_ROUNDS => {
                    format!("{} rounds scatter too much for an interval", rounds.len())
                }
                interval => said(interval, rounds.len(), |multiple| format!("{multiple:.1}"), " times"),
            };
            let (ours, floor) = (ours.added_ns_median, floor.added_ns_median);
            let multiple = if floor > 0.0 { format!("{:.1} times", ours / floor) } else { "no multiple".to_owned() };
            format!("{multiple}: {ours:.0} ns, empty programs {floor:.0} ns ({interval})")
        }),
        standing: measured.map(|(_, rounds)| match statistics::multiple_interval(&rounds) {
            Some(interval) if interval.high <= limit => Standing::Within,
            Some(interval) if interval.low > limit => Standing::Beyond,
            _ => Standing::CannotTell,
        }),
    }
}

/// Compares the observer's own CPU time per record, over all rounds.
fn of_consumer(result: Option<&WorkloadResult>) -> Aim {
    let row = result.and_then(|result| result.row(Variant::WithoutSamples));
    let ns = row.and_then(|row| {
        let records = row.records.filter(|records| records.calls_received > 0)?;
        Some(row.own_account?.observer_cpu_ns? as f64 / records.calls_received as f64)
    });
    Aim {
        aim: format!("at most {CONSUMER_NS:.0} ns of the observer's own CPU time per recorded pread"),
        measured: ns.map(|ns| format!("{ns:.0} ns, the observer's waking every 4 ms included")),
        // A sum over all rounds: there is no interval.
        standing: ns.map(|ns| if ns <= CONSUMER_NS { Standing::Within } else { Standing::Beyond }),
    }
}

fn of_ratio(what: &str, result: Option<&WorkloadResult>) -> Aim {
    let cost = result.and_then(|result| result.cost_of(Variant::Activebench));
    let account = result.and_then(|result| result.row(Variant::Activebench)?.own_account);
    let percent = |ratio: f64| format!("{:+.1}", (ratio - 1.0) * 100.0);
    let share =
        |share: Option<f64>| share.map_or_else(|| "unknown".to_owned(), |share| format!("{:.2} %", share * 100.0));
    let own = account.map_or_else(String::new, |account| {
        format!(
            "; by its own account its kernel programs ran for {} of the run, its process for {}",
            share(account.bpf_share()),
            share(account.observer_share())
        )
    });
    Aim {
        aim: format!("at most 1 % added to {what}"),
        measured: cost.map(|cost| {
            let interval = said(cost.ratio_interval, cost.rounds, percent, " %");
            format!("{} % ({interval}){own}", percent(cost.ratio_median))
        }),
        standing: cost.map(|cost| Standing::of(cost.ratio_interval, DEVICE_BOUND_RATIO, 1.0 / DEVICE_BOUND_RATIO)),
    }
}

/// The same for the median read, which unlike the mean does not scatter with the few slowest reads.
fn of_median(what: &str, result: Option<&WorkloadResult>) -> Aim {
    let cost = result.and_then(|result| result.row(Variant::Activebench)?.median_cost);
    let percent = |ratio: f64| format!("{:+.2}", (ratio - 1.0) * 100.0);
    Aim {
        aim: format!("at most 1 % added to the median direct read of {what}"),
        measured: cost.map(|cost| {
            let interval = said(cost.ratio_interval, cost.rounds, percent, " %");
            format!("{} % of {:.1} us ({interval})", percent(cost.ratio_median), cost.ns_per_call / 1000.0)
        }),
        standing: cost.map(|cost| Standing::of(cost.ratio_interval, DEVICE_BOUND_RATIO, 1.0 / DEVICE_BOUND_RATIO)),
    }
}

/// Compares two variants. Both use the same rounds, and so do each of them and the untraced run.
fn of_counting(how: &str, [ours, theirs]: [Variant; 2], result: Option<&WorkloadResult>) -> Aim {
    let measured = result.and_then(|result| {
        let costs = result.cost_of(ours).zip(result.cost_of(theirs))?;
        Some((costs, result.differences(ours, theirs)))
    });
    let interval = |differences: &[f64]| statistics::median_interval(differences);
    Aim {
        aim: format!("below what bpftrace adds {how}"),
        measured: measured.as_ref().map(|((ours, theirs), differences)| {
            let more = said(interval(differences), differences.len(), |ns| format!("{ns:+.0}"), " ns");
            format!("{:.0} ns, bpftrace {:.0} ns (difference: {more})", ours.added_ns_median, theirs.added_ns_median)
        }),
        standing: measured.map(|(_, differences)| match interval(&differences) {
            Some(interval) if interval.high < 0.0 => Standing::Within,
            Some(interval) if interval.low >= 0.0 => Standing::Beyond,
            _ => Standing::CannotTell,
        }),
    }
}

/// Formats `95 % interval +0.1 to +0.4 %, 57 rounds`.
fn said(interval: Option<Interval>, rounds: usize, number: impl Fn(f64) -> String, unit: &str) -> String {
    match interval {
        Some(Interval { low, high }) => {
            format!("95 % interval {} to {}{unit}, {rounds} rounds", number(low), number(high))
        }
        None if rounds == 1 => "1 round: no interval".to_owned(),
        None => format!("{rounds} rounds, too few for an interval"),
    }
}

fn of_offsets(check: Option<&OffsetsCheck>) -> Aim {
    // A quick run sorts too few reads for a result.
    let measured = check.filter(|check| check.reads >= READS).and_then(|check| check.measured);
    Aim {
        aim: format!(
            "repeated offsets of 100 million recorded reads found in {OFFSETS_SECONDS:.0} s and {} MiB, {OFFSETS_FACTOR:.0} times \
             faster than by sort and uniq",
            OFFSETS_BYTES >> 20
        ),
        measured: measured.map(|found| {
            format!("{:.1} s, {} MiB, {:.0} times", found.ours_seconds, found.ours_peak_bytes >> 20, found.factor())
        }),
        // The result is far from its limits and was measured once, so there is no interval.
        standing: measured.map(|found| {
            let within = found.ours_seconds <= OFFSETS_SECONDS
                && found.ours_peak_bytes <= OFFSETS_BYTES
                && found.factor() >= OFFSETS_FACTOR;
            if within { Standing::Within } else { Standing::Beyond }
        }),
    }
}

fn of_unobserved(check: Option<&UnobservedCheck>) -> Aim {
    let measured = check.and_then(|check| Some((check.share()?, check.counts())));
    Aim {
        aim: format!(
            "at least {:.0} % of the figures without observation lie in the interval that the observed run states",
            unobserved::AIM * 100.0
        ),
        measured: measured.map(|(share, (stated, inside))| format!("{inside} of {stated} ({:.1} %)", share * 100.0)),
        standing: measured.map(|(share, _)| if share >= unobserved::AIM { Standing::Within } else { Standing::Beyond }),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::overhead::workloads;

    /// Makes a result with these nanoseconds per call by round and variant; other rows stay empty.
    pub(crate) fn result(workload: &str, rounds: &[(Variant, &[Option<f64>])]) -> WorkloadResult {
        let workload = workloads::ALL.iter().find(|known| known.name == workload).expect("a workload");
        let mut result = WorkloadResult::new(workload);
        for (variant, ns_per_call) in rounds {
            let row = result.variants.iter_mut().find(|row| row.name == variant.name()).expect("a variant");
            row.ns_per_call = ns_per_call.to_vec();
        }
        result.conclude();
        result
    }

    #[test]
    fn a_round_counts_only_where_both_sides_have_a_figure() {
        let untraced: &[Option<f64>] = &[Some(400.0), None, Some(500.0), Some(400.0)];
        let observed: &[Option<f64>] = &[Some(500.0), Some(9.0), None];
        let result = result("preads", &[(Variant::Untraced, untraced), (Variant::Activebench, observed)]);
        let cost = result.cost_of(Variant::Activebench).expect("a cost");
        assert_eq!((cost.rounds, cost.added_ns_median), (1, 100.0));
        assert_eq!(result.cost_of(Variant::Strace), None);
    }

    /// Returns six such rounds, the fewest with an interval.
    fn six(ns: [f64; 6]) -> Vec<Option<f64>> {
        ns.map(Some).to_vec()
    }

    #[test]
    fn aims_are_compared_with_intervals_and_missing_ones_stay_open() {
        let preads = result(
            "preads",
            &[
                (Variant::Untraced, &six([400.0; 6])),
                (Variant::Activebench, &six([550.0, 540.0, 545.0, 548.0, 542.0, 550.0])),
                (Variant::WithoutSamples, &six([530.0; 6])),
                (Variant::BpftraceByProcess, &six([800.0; 6])),
                (Variant::BpftraceCount, &six([545.0; 6])),
            ],
        );
        let direct =
            result("direct-file", &[(Variant::Untraced, &[Some(50_000.0)]), (Variant::Activebench, &[Some(51_000.0)])]);
        let aims = aims(&[preads, direct], None, None);
        let standings: Vec<Option<Standing>> = aims.iter().map(|aim| aim.standing).collect();
        let (within, open) = (Some(Standing::Within), Some(Standing::CannotTell));
        assert_eq!(standings, [&[within][..], &[None; 13], &[open, None, within, within, open], &[None; 4]].concat());
        assert_eq!(
            aims[0].measured.as_deref(),
            Some("146 ns (95 % interval 140 to 150 ns, 6 rounds; p5 140 ns)"),
            "the p5 of six is the smallest"
        );
        assert_eq!(aims[1].measured, None);
        assert_eq!(aims[14].measured.as_deref(), Some("+2.0 % (1 round: no interval)"));
        assert_eq!(
            aims[16].measured.as_deref(),
            Some("146 ns, bpftrace 400 ns (difference: 95 % interval -260 to -250 ns, 6 rounds)")
        );
    }

    #[test]
    fn what_the_tracer_adds_is_a_share_of_what_strace_adds() {
        let share = |traced: f64, expected: Standing| {
            let rounds = |ns: f64| (0..24).map(|round| Some(ns + f64::from(round % 3))).collect::<Vec<_>>();
            let variants = [
                (Variant::Untraced, &*rounds(1000.0)),
                (Variant::Traced, &*rounds(traced)),
                (Variant::Strace, &*rounds(31_000.0)),
            ];
            let aims = aims(&[result("fio-psync", &variants)], None, None);
            let aim = aims.iter().find(|aim| aim.aim.ends_with("a cached pread of fio")).expect("the aim");
            assert_eq!(aim.standing, Some(expected), "{aim:?}");
            aim.measured.clone().expect("it is measured")
        };
        let noted = share(1600.0, Standing::Within);
        assert!(noted.starts_with("2.0 %: 600 ns, strace 30000 ns (95 % interval"), "{noted}");
        share(9000.0, Standing::Beyond);
    }

    #[test]
    fn an_aim_is_told_by_the_interval_of_the_median() {
        let check = |observed: [f64; 6], expected: Standing| {
            let direct = result(
                "direct-file",
                &[(Variant::Untraced, &six([1000.0; 6])), (Variant::Activebench, &six(observed))],
            );
            assert_eq!(aims(&[direct], None, None)[14].standing, Some(expected), "{observed:?}");
        };
        check([1001.0, 1004.0, 998.0, 1000.0, 1002.0, 1010.0], Standing::Within);
        check([1020.0, 1030.0, 1025.0, 1011.0, 1040.0, 1030.0], Standing::Beyond);
        // One round is on the other side of the limit: six rounds are not enough to decide.
        check([1001.0, 1004.0, 998.0, 1000.0, 1002.0, 1200.0], Standing::CannotTell);
        // Observation does not make a run faster.
        check([800.0, 950.0, 980.0, 985.0, 970.0, 900.0], Standing::CannotTell);
    }

    #[test]
    fn a_multiple_of_empty_programs_is_told_with_its_interval() {
        let preads = result(
            "preads",
            &[
                (Variant::Untraced, &six([400.0; 6])),
                (Variant::Floor, &six([450.0; 6])),
                (Variant::Activebench, &six([490.0, 480.0, 485.0, 488.0, 482.0, 490.0])),
                (Variant::WithoutSamples, &six([470.0; 6])),
            ],
        );
        let uring = result(
            "fio-io-uring",
            &[
                (Variant::Untraced, &six([1000.0; 6])),
                (Variant::Floor, &six([1130.0; 6])),
                (Variant::Activebench, &six([1250.0; 6])),
            ],
        );
        let aims = aims(&[preads, uring], None, None);
        let expected = "1.7 times: 86 ns, empty programs 50 ns (95 % interval 1.6 to 1.8 times, 6 rounds)";
        assert_eq!((aims[2].measured.as_deref(), aims[2].standing), (Some(expected), Some(Standing::Within)));
        assert_eq!(aims[3].standing, Some(Standing::Beyond));
        let measured = aims[6].measured.as_deref().unwrap_or_default();
        assert!(measured.ends_with("programs that do nothing already take 1.13 times as long here"), "{measured}");
    }

    #[test]
    fn the_median_read_is_compared_beside_the_mean() {
        let mut direct = result("direct-file", &[]);
        for (name, added) in [("untraced", 0.0), ("activebench", 200.0)] {
            let row = direct.variants.iter_mut().find(|row| row.name == name).expect("a variant");
            row.median_ns = (0..6).map(|round| Some(40_000.0 + added + f64::from(round % 2) * 10.0)).collect();
        }
        direct.conclude();
        let aims = aims(&[direct], None, None);
        assert_eq!((aims[14].standing, aims[15].standing), (None, Some(Standing::Within)));
        let measured = aims[15].measured.as_deref().unwrap_or_default();
        assert!(measured.starts_with("+0.50 % of 40.2 us (95 % interval +0.50 to +0.50 %, 6 rounds)"), "{measured}");
    }

    /// Many rounds decide cases that few cannot, though they scatter by more than the aim.
    #[test]
    fn more_rounds_tell_what_few_cannot() {
        let check = |rounds: u32, expected: Standing| {
            // Every fifth run is slower by 10 %, on both sides.
            let jumps = |round: u32, phase: u32| if round % 5 == phase { 1100.0 } else { 1000.0 };
            let figures = |phase: u32, added: f64| -> Vec<Option<f64>> {
                (0..rounds).map(|round| Some(jumps(round, phase) + added + f64::from(round % 3))).collect()
            };
            let direct = result(
                "direct-loop",
                &[(Variant::Untraced, &figures(0, 0.0)), (Variant::Activebench, &figures(3, 2.0))],
            );
            assert_eq!(aims(&[direct], None, None)[12].standing, Some(expected), "{rounds} rounds");
        };
        check(7, Standing::CannotTell);
        check(57, Standing::Within);
    }

    #[test]
    fn a_pread_without_its_record_shows() {
        let check = |calls_made: u64, calls_received: u64, lost: u64, expected: bool| {
            let records = Some(Records { calls_made, calls_received, lost });
            let check = LossCheck { threads: 8, preads: 800, preads_per_sec: None, records, reason: None };
            assert_eq!(check.is_whole(), Some(expected), "{records:?}");
        };
        check(810, 810, 0, true);
        check(810, 809, 1, false);
        check(810, 809, 0, false);
        check(799, 799, 0, false);
    }
}
