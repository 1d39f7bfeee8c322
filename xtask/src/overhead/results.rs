//! What was measured, as it is written to JSON and rendered to the page; and the aims that
//! it is compared with.

use serde::Serialize;

use crate::overhead::offsets::{OffsetsCheck, READS};
use crate::overhead::outputs::Records;
use crate::overhead::statistics::{self, Cost, Pair};
use crate::overhead::variants::Variant;
use crate::overhead::workloads::Workload;

/// The value of the key `schema`.
pub(crate) const SCHEMA: &str = "activebench.overhead/1";

/// One run of the task.
#[derive(Debug, Serialize)]
pub(crate) struct Measurement {
    pub(crate) schema: &'static str,
    /// How it came about.
    pub(crate) provenance: Provenance,
    /// One entry a workload that was asked for.
    pub(crate) workloads: Vec<WorkloadResult>,
    /// The check for lost records; `None` when it was not asked for.
    pub(crate) loss: Option<LossCheck>,
    /// The analysis of repeated offsets; `None` when it was not asked for.
    pub(crate) offsets: Option<OffsetsCheck>,
    /// The aims beside what was measured.
    pub(crate) aims: Vec<Aim>,
}

/// Where and how it was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Provenance {
    /// Processors, their model, memory.
    pub(crate) machine: String,
    /// Release of the kernel.
    pub(crate) kernel: String,
    /// The file system of the files that are read.
    pub(crate) file_system: String,
    /// Which build of the product.
    pub(crate) build: String,
    /// First lines of the other tools' `--version`.
    pub(crate) tool_versions: Vec<String>,
    /// Rounds that were asked for.
    pub(crate) rounds: u32,
    /// Whether runs were shortened to try the task out.
    pub(crate) quick: bool,
    /// UTC day of the measurement, `2026-11-21`; `None` when `date` does not say it.
    pub(crate) day: Option<String>,
    /// The load average of the last minute before the first round; `None` when it cannot be read.
    pub(crate) load_before: Option<f64>,
    /// How long it took, in seconds.
    pub(crate) seconds: u64,
    /// Why it ended early; `None` when it did not.
    pub(crate) incomplete: Option<String>,
}

/// One workload under all its variants.
#[derive(Debug, Serialize)]
pub(crate) struct WorkloadResult {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// Why there are no figures; `None` when there are.
    pub(crate) reason: Option<String>,
    /// Rounds that were run.
    pub(crate) rounds: u32,
    /// Of those, rounds at whose start or end others had tracing programs loaded.
    pub(crate) rounds_beside_others: u32,
    /// Those programs.
    pub(crate) foreign_tracers: Vec<String>,
    pub(crate) variants: Vec<VariantResult>,
}

/// One variant of one workload.
#[derive(Debug, Serialize)]
pub(crate) struct VariantResult {
    pub(crate) name: &'static str,
    pub(crate) title: String,
    /// How the variant was called.
    pub(crate) command: String,
    /// Nanoseconds a call by round; `None` for a round that gave no figure.
    pub(crate) ns_per_call: Vec<Option<f64>>,
    /// `None` when no round gave a figure for it and for untraced.
    pub(crate) cost: Option<Cost>,
    /// The account of activebench's records over all rounds; `None` for other variants.
    pub(crate) records: Option<Records>,
    /// Why figures are missing; `None` when none are.
    pub(crate) reason: Option<String>,
}

impl WorkloadResult {
    /// Without figures yet, the rows in the workload's order.
    pub(crate) fn new(workload: &Workload) -> WorkloadResult {
        let row = |variant: &Variant| VariantResult {
            name: variant.name(),
            title: variant.title(workload.syscall),
            command: variant.shown(workload.syscall),
            ns_per_call: Vec::new(),
            cost: None,
            records: None,
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
        let Some(untraced) = self.variants.first().map(|row| row.ns_per_call.clone()) else { return };
        for row in &mut self.variants {
            row.cost = statistics::cost(&pairs(&untraced, &row.ns_per_call));
        }
    }

    fn cost_of(&self, variant: Variant) -> Option<Cost> {
        self.variants.iter().find(|row| row.name == variant.name())?.cost
    }
}

/// The rounds in which both sides gave a figure.
fn pairs(untraced: &[Option<f64>], observed: &[Option<f64>]) -> Vec<Pair> {
    let pair = |(untraced, observed): (&Option<f64>, &Option<f64>)| {
        Some(Pair { untraced_ns: (*untraced)?, observed_ns: (*observed)? })
    };
    untraced.iter().zip(observed).filter_map(pair).collect()
}

/// Whether records were lost at the highest rate of calls that the machine gives.
#[derive(Debug, Serialize)]
pub(crate) struct LossCheck {
    /// Threads that read at once.
    pub(crate) threads: u64,
    /// preads that they made together.
    pub(crate) preads: u64,
    /// preads a second; `None` with a reason.
    pub(crate) preads_per_sec: Option<f64>,
    /// The account of records; `None` with a reason.
    pub(crate) records: Option<Records>,
    /// Why there is no account; `None` when there is.
    pub(crate) reason: Option<String>,
}

impl LossCheck {
    /// Whether every pread has its record: more are made (opening, loading), never fewer.
    /// `None` without an account.
    pub(crate) fn is_whole(&self) -> Option<bool> {
        let records = self.records?;
        Some(records.lost == 0 && records.calls_received == records.calls_made && records.calls_made >= self.preads)
    }
}

/// What we aim at, beside what was measured. A comparison, not a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Aim {
    /// What is aimed at.
    pub(crate) aim: String,
    /// What was measured; `None` when it was not.
    pub(crate) measured: Option<String>,
    /// Whether the median is within the aim; `None` when nothing was measured.
    pub(crate) within: Option<bool>,
    /// Whether the rounds scatter too much to tell: they lie on both sides of the aim, or in
    /// one the observed run was the faster by more than the aim allows it to be slower.
    /// `None` when nothing was measured.
    pub(crate) scattered: Option<bool>,
}

/// Most nanoseconds added to a cached pread; for all aims see `docs/design/README.md`.
const CACHED_PREAD_NS: f64 = 150.0;
/// Most nanoseconds added to a cached pread of a process outside the tree.
const OUTSIDE_NS: f64 = 110.0;
/// Least factor by which repeated offsets are found faster than by `sort | uniq -c`.
const OFFSETS_FACTOR: f64 = 10.0;
/// Most seconds for it, whatever the number of reads up to 100 million, and most memory.
const OFFSETS_SECONDS: f64 = 20.0;
const OFFSETS_BYTES: u64 = 512 << 20;
/// Largest ratio of a run that waits for a device.
const DEVICE_BOUND_RATIO: f64 = 1.01;

/// The aims, beside these results.
pub(crate) fn aims(workloads: &[WorkloadResult], offsets: Option<&OffsetsCheck>) -> Vec<Aim> {
    let cost = |workload: &str, variant: Variant| {
        workloads.iter().find(|result| result.name == workload).and_then(|result| result.cost_of(variant))
    };
    let observed = |workload: &str| cost(workload, Variant::Activebench);
    let nanoseconds = |what: &str, limit: f64, cost: Option<Cost>| Aim {
        aim: format!("at most {limit:.0} ns added to {what}"),
        measured: cost.map(|cost| format!("{:.0} ns (p5 {:.0} ns)", cost.added_ns_median, cost.added_ns_p5)),
        within: cost.map(|cost| cost.added_ns_median <= limit),
        scattered: cost.map(|cost| {
            let on_both_sides = cost.added_ns_p5 <= limit && limit < cost.added_ns_max;
            on_both_sides || cost.added_ns_p5 < -limit
        }),
    };
    let ratio = |what: &str, cost: Option<Cost>| Aim {
        aim: format!("at most 1 % added to {what}"),
        measured: cost.map(|cost| {
            let percent = |ratio: f64| (ratio - 1.0) * 100.0;
            let (min, max) = (percent(cost.ratio_min), percent(cost.ratio_max));
            format!("{:+.1} % ({min:+.1} to {max:+.1} %)", percent(cost.ratio_median))
        }),
        within: cost.map(|cost| cost.ratio_median <= DEVICE_BOUND_RATIO),
        scattered: cost.map(|cost| {
            let on_both_sides = cost.ratio_min <= DEVICE_BOUND_RATIO && DEVICE_BOUND_RATIO < cost.ratio_max;
            on_both_sides || cost.ratio_min < 1.0 / DEVICE_BOUND_RATIO
        }),
    };
    let (ours, theirs) = (observed("preads"), cost("preads", Variant::BpftraceCount));
    let counting = ours.zip(theirs);
    vec![
        nanoseconds("a cached pread", CACHED_PREAD_NS, ours),
        nanoseconds("a cached pread outside the tree", OUTSIDE_NS, observed("bystander")),
        ratio("direct reads of a loop device", observed("direct-loop")),
        ratio("direct reads of a file", observed("direct-file")),
        Aim {
            aim: "below what bpftrace adds when it only counts".to_owned(),
            measured: counting.map(|(ours, theirs)| {
                format!("{:.0} ns, bpftrace {:.0} ns", ours.added_ns_median, theirs.added_ns_median)
            }),
            within: counting.map(|(ours, theirs)| ours.added_ns_median < theirs.added_ns_median),
            scattered: counting.map(|(ours, theirs)| {
                ours.added_ns_p5 < theirs.added_ns_max && theirs.added_ns_p5 <= ours.added_ns_max
            }),
        },
        of_offsets(offsets),
    ]
}

fn of_offsets(check: Option<&OffsetsCheck>) -> Aim {
    // A quick run sorts so few that it shows nothing.
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
        within: measured.map(|found| {
            found.ours_seconds <= OFFSETS_SECONDS
                && found.ours_peak_bytes <= OFFSETS_BYTES
                && found.factor() >= OFFSETS_FACTOR
        }),
        scattered: measured.map(|_| false),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::overhead::workloads;

    /// A result with these nanoseconds a call by round, by variant; other rows stay empty.
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

    #[test]
    fn aims_are_compared_with_medians_and_missing_ones_stay_open() {
        let preads = result(
            "preads",
            &[
                (Variant::Untraced, &[Some(400.0), Some(400.0), Some(400.0)]),
                (Variant::Activebench, &[Some(550.0), Some(540.0), Some(900.0)]),
                (Variant::BpftraceCount, &[Some(545.0), Some(545.0), Some(545.0)]),
            ],
        );
        let direct =
            result("direct-file", &[(Variant::Untraced, &[Some(50_000.0)]), (Variant::Activebench, &[Some(51_000.0)])]);
        let aims = aims(&[preads, direct], None);
        let within: Vec<Option<bool>> = aims.iter().map(|aim| aim.within).collect();
        assert_eq!(within, [Some(true), None, None, Some(false), Some(false), None]);
        let scattered: Vec<Option<bool>> = aims.iter().map(|aim| aim.scattered).collect();
        assert_eq!(scattered, [Some(true), None, None, Some(false), Some(true), None]);
        assert_eq!(aims[0].measured.as_deref(), Some("150 ns (p5 140 ns)"));
        assert_eq!(aims[1].measured, None);
        assert_eq!(aims[3].measured.as_deref(), Some("+2.0 % (+2.0 to +2.0 %)"));
    }

    #[test]
    fn a_device_that_scatters_more_than_the_aim_decides_nothing() {
        let check = |observed: &[Option<f64>], expected: (bool, bool)| {
            let untraced: &[Option<f64>] = &[Some(1000.0), Some(1000.0), Some(1000.0)];
            let direct = result("direct-file", &[(Variant::Untraced, untraced), (Variant::Activebench, observed)]);
            let aim = aims(&[direct], None).remove(3);
            assert_eq!((aim.within, aim.scattered), (Some(expected.0), Some(expected.1)), "{observed:?}");
        };
        check(&[Some(1001.0), Some(1004.0), Some(998.0)], (true, false));
        check(&[Some(1020.0), Some(1030.0), Some(1025.0)], (false, false));
        check(&[Some(1001.0), Some(1004.0), Some(1200.0)], (true, true));
        check(&[Some(800.0), Some(950.0), Some(990.0)], (true, true));
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
