//! Reports of an acceptance: snapshots, the schema, hostile text and the size limit of a ticket.

use activebench_model::acceptance::{
    Acceptance, AcceptanceOutcome, AcceptedBenchmark, AcceptedRun, AcceptedTarget, AgreedFile, AgreedLimit, Bound,
    Condition, ConditionState, DecisionRule, DeviceIdentity, FigureOfRun, JudgedLimit, Parties, Uncertainty,
    WrittenUnit,
};
use activebench_model::acceptance_batch::{AcceptanceBatch, AcceptedUnit, LimitOfUnit};
use activebench_model::claim::Metric;
use activebench_model::series::{Steadiness, SteadyWindow};
use activebench_model::units::{Quantity, Unit};
use activebench_model::verdict::{ClaimVerdict, RunVerdict};
use activebench_report::document_formats;
use activebench_report::ticket::LIMIT;

use crate::html;
use crate::samples::{rendered, schema_faults};

fn figure(run: &str, claimed: f64, honest: Option<f64>, verdict: ClaimVerdict) -> FigureOfRun {
    FigureOfRun {
        run: run.to_owned(),
        claimed: Some(Quantity::bytes_per_sec(claimed)),
        honest: honest.map(Quantity::bytes_per_sec),
        no_honest: honest.is_none().then(|| "no sync made the bytes durable".to_owned()),
        verdict: Some(verdict),
        resolution: Some(Quantity::bytes_per_sec(1e5)),
    }
}

fn run(directory: &str) -> AcceptedRun {
    AcceptedRun {
        directory: directory.to_owned(),
        run_json_sha256: "ab".repeat(32),
        started_unix_s: 1_700_000_000,
        verdict: RunVerdict::Discrepancy,
        recorded_for_sha256: Some("cd".repeat(32)),
    }
}

fn condition(name: &str, asks: &str, state: ConditionState, evidence: &[&str]) -> Condition {
    Condition {
        name: name.to_owned(),
        asks: asks.to_owned(),
        state,
        evidence: evidence.iter().map(|why| (*why).to_owned()).collect(),
        observed: None,
        why: (state == ConditionState::NotMet).then(|| "a control group limited run 1 of reads".to_owned()),
    }
}

fn steadiness() -> Steadiness {
    let window = SteadyWindow {
        runs: vec![1, 2, 3, 4, 5],
        values: vec![205e6, 203e6, 204e6, 204e6, 204e6],
        unit: Unit::BytesPerSec,
        mean: 204e6,
        range_ratio: 0.01,
        excursion_ratio: 0.002,
        slope: -1e5,
        line_at_first: 204.2e6,
        steady: true,
    };
    Steadiness {
        figure: "f1".to_owned(),
        phase: "a-write".to_owned(),
        of_honest: true,
        range_limit_ratio: 0.2,
        excursion_limit_ratio: 0.1,
        windows: vec![window],
        not_judged: None,
        first_steady_run: Some(5),
    }
}

pub(crate) fn sample() -> Acceptance {
    let kept = JudgedLimit {
        agreed: AgreedLimit {
            benchmark: "writes".to_owned(),
            phase: "a-write".to_owned(),
            metric: Metric::Throughput,
            bound: Bound::AtLeast,
            limit: Quantity::bytes_per_sec(2e8),
            as_written: "200 MB/s".to_owned(),
            unit: WrittenUnit { name: "MB/s".to_owned(), factor: 1e6 },
        },
        figures: vec![
            figure("out/writes/1", 205e6, Some(205e6), ClaimVerdict::Confirmed),
            figure("out/writes/2", 900e6, Some(203e6), ClaimVerdict::Misleading),
        ],
        honest: Some(Quantity::bytes_per_sec(204e6)),
        uncertainty: Some(Uncertainty {
            statistical: Quantity::bytes_per_sec(5e6),
            statistical_basis: "Student's t of 2 runs (12.71)".to_owned(),
            resolution: Quantity::bytes_per_sec(1e5),
            tolerance: Quantity::bytes_per_sec(4e6),
            expanded: Quantity::bytes_per_sec(6.404e6),
        }),
        guard_band: Some(Quantity::bytes_per_sec(6.404e6)),
        margin: Some(Quantity::bytes_per_sec(4e6)),
        outcome: AcceptanceOutcome::ConditionalPass,
        because: "the median is 4.000 MB/s above the limit, within U = 6.404 MB/s".to_owned(),
        warnings: vec!["the queue depth was not reached in 1 of 2 runs".to_owned()],
    };
    let open = JudgedLimit {
        agreed: AgreedLimit {
            benchmark: "reads".to_owned(),
            phase: "a-read".to_owned(),
            metric: Metric::LatencyP99,
            bound: Bound::AtMost,
            limit: Quantity::ns(5_000_000),
            as_written: "5 ms".to_owned(),
            unit: WrittenUnit { name: "ms".to_owned(), factor: 1e6 },
        },
        figures: vec![figure("out/reads/1", 1e6, None, ClaimVerdict::Unverifiable)],
        honest: None,
        uncertainty: None,
        guard_band: None,
        margin: None,
        outcome: AcceptanceOutcome::NotJudged,
        because: "a control group limited run 1 of reads".to_owned(),
        warnings: Vec::new(),
    };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    Acceptance {
        activebench: "0.1.0".to_owned(),
        file: AgreedFile { name: "offer 42.toml".to_owned(), sha256: "ef".repeat(32) },
        parties: Parties {
            buyer: "Example Archive".to_owned(),
            vendor: "Example Disks".to_owned(),
            reference: Some("offer 42".to_owned()),
            date: None,
        },
        target: AcceptedTarget {
            path: "/dev/nvme0n1".to_owned(),
            destroy: true,
            file_systems: vec!["the device /dev/nvme0n1 itself".to_owned()],
            devices: vec![
                DeviceIdentity {
                    name: "nvme0n1".to_owned(),
                    kind: "nvme".to_owned(),
                    model: Some("EXAMPLE SSD 1".to_owned()),
                    serial: Some("S0123".to_owned()),
                    firmware: Some("FW1".to_owned()),
                    links: vec!["PCIe 8.0 GT/s x4".to_owned()],
                    size_bytes: Some(1 << 40),
                },
                DeviceIdentity { name: "loop0".to_owned(), kind: "loop".to_owned(), ..Default::default() },
            ],
            hosts: vec!["Linux 6.18.5, x86_64, 8 CPUs, 16 GiB".to_owned()],
        },
        rule: DecisionRule::GuardBand,
        rule_words: "guard band w = U (ILAC-G8:09/2019, 4.2.3)".to_owned(),
        benchmarks: vec![
            AcceptedBenchmark {
                name: "writes".to_owned(),
                command: words(&["fio", "--name=a", "--size={2 x ram in MiB}M", "--filename={target}"]),
                resolved: words(&["fio", "--name=a", "--size=32768M", "--filename=/dev/nvme0n1"]),
                planned: "2 runs".to_owned(),
                runs: vec![run("out/writes/1"), run("out/writes/2")],
                incomplete: Vec::new(),
                conditions: vec![
                    Condition {
                        observed: Some(Quantity::ratio(0.001)),
                        ..condition(
                            "foreign_io_at_most",
                            "foreign I/O at most 2 %",
                            ConditionState::Met,
                            &["run 1, a-write: 1 MiB of 1 GiB at the device were of others"],
                        )
                    },
                    condition("steady_state", "the last five runs", ConditionState::NotAsked, &[]),
                ],
                steadiness: vec![steadiness()],
            },
            AcceptedBenchmark {
                name: "reads".to_owned(),
                command: words(&["fio", "--name=a"]),
                resolved: Vec::new(),
                planned: "5 runs".to_owned(),
                runs: vec![run("out/reads/1")],
                incomplete: vec!["interrupted".to_owned()],
                conditions: vec![
                    condition(
                        "no_throttling",
                        "no control group",
                        ConditionState::NotMet,
                        &["run 1: AB505 throttled-by-policy: 32 MiB/s"],
                    ),
                    condition("probes_complete", "nothing lost", ConditionState::NotKnown, &["AB901 undecided"; 7]),
                ],
                steadiness: Vec::new(),
            },
        ],
        limits: vec![kept, open],
        notes: vec!["1 of 3 runs were recorded for no acceptance file".to_owned()],
        outcome: AcceptanceOutcome::NotJudged,
        because: "1 of 2 limits could not be judged: a control group limited run 1 of reads".to_owned(),
        exit_code: 3,
        recheck: words(&["activebench", "accept", "offer 42.toml", "out"]),
    }
}

/// Three units: one that passes by little, one that is not judged, one that was not tested.
fn batch() -> AcceptanceBatch {
    let one = sample();
    let tested = AcceptedUnit {
        name: "nvme0n1".to_owned(),
        path: "/dev/nvme0n1".to_owned(),
        device: one.target.devices.first().cloned(),
        directory: "out/nvme0n1".to_owned(),
        not_tested: None,
        outcome: one.outcome,
        because: one.because.clone(),
        limits: one.limits.iter().map(LimitOfUnit::from).collect(),
        notes: Vec::new(),
    };
    let absent = AcceptedUnit {
        name: "sdb".to_owned(),
        path: "/dev/sdb".to_owned(),
        device: None,
        directory: "out/sdb".to_owned(),
        not_tested: Some("/dev/sdb is mounted on /srv".to_owned()),
        outcome: AcceptanceOutcome::NotJudged,
        because: "it was not tested: /dev/sdb is mounted on /srv".to_owned(),
        limits: Vec::new(),
        notes: Vec::new(),
    };
    AcceptanceBatch {
        activebench: one.activebench.clone(),
        file: one.file.clone(),
        parties: one.parties.clone(),
        rule_words: one.rule_words.clone(),
        limits: one.limits.iter().map(|limit| limit.agreed.clone()).collect(),
        units: vec![tested, absent],
        outcome: AcceptanceOutcome::NotJudged,
        because: "2 of 2 units are not judged".to_owned(),
        exit_code: 3,
        recheck: vec!["activebench".to_owned(), "accept".to_owned()],
    }
}

#[test]
fn a_batch_has_a_row_a_unit_and_a_column_a_limit() {
    for format in document_formats().map(|format| format.name) {
        let mut report = rendered(format, &batch());
        if format == "html" {
            html::check(&report);
            report = html::outline(&report);
        }
        insta::assert_snapshot!(format!("acceptance-batch-{format}"), report);
    }
    let schema = include_str!("../../../../docs/acceptance-batch.schema.json");
    assert_eq!(schema_faults(schema, &rendered("json", &batch())), Vec::<String>::new());
    let hostile = "\u{1b}[31m|<img src=x>@root\n# x \u{202e}".repeat(50);
    let mut batch = batch();
    for unit in &mut batch.units {
        unit.name.clone_from(&hostile);
        unit.because.clone_from(&hostile);
        unit.not_tested = unit.not_tested.as_ref().map(|_| hostile.clone());
    }
    batch.units = vec![batch.units[1].clone(); 500];
    for format in document_formats().map(|format| format.name) {
        let report = rendered(format, &batch);
        assert!(!report.contains(['\u{1b}', '\u{202e}']), "{format}");
    }
    assert!(rendered("markdown", &batch).chars().count() < LIMIT);
}

#[test]
fn every_format_reads_as_intended() {
    for format in document_formats().map(|format| format.name) {
        let mut report = rendered(format, &sample());
        if format == "html" {
            html::check(&report);
            report = html::outline(&report);
        }
        insta::assert_snapshot!(format!("acceptance-{format}"), report);
    }
    assert!(document_formats().all(|format| format.name != "junit"));
}

#[test]
fn the_json_report_is_what_its_schema_says() {
    let schema = include_str!("../../../../docs/acceptance.schema.json");
    let empty = Acceptance { limits: Vec::new(), benchmarks: Vec::new(), notes: Vec::new(), ..sample() };
    for acceptance in [sample(), empty] {
        let report = rendered("json", &acceptance);
        assert_eq!(schema_faults(schema, &report), Vec::<String>::new());
    }
}

#[test]
fn hostile_text_stays_text_and_a_long_acceptance_fits_a_ticket() {
    let hostile = "\u{1b}[31m|<img src=x>@root\n# x \u{202e}".repeat(50);
    let mut acceptance = sample();
    acceptance.because.clone_from(&hostile);
    acceptance.parties.buyer.clone_from(&hostile);
    acceptance.file.name.clone_from(&hostile);
    acceptance.notes = vec![hostile.clone(); 100];
    acceptance.recheck = vec![hostile.clone()];
    let device = &mut acceptance.target.devices[0];
    device.model = Some(hostile.clone());
    device.serial = Some(hostile.clone());
    acceptance.target.devices = vec![acceptance.target.devices[0].clone(); 100];
    for limit in &mut acceptance.limits {
        limit.agreed.phase.clone_from(&hostile);
        limit.because.clone_from(&hostile);
        limit.agreed.as_written.clone_from(&hostile);
        limit.figures = vec![limit.figures[0].clone(); 1_000];
    }
    for benchmark in &mut acceptance.benchmarks {
        benchmark.name.clone_from(&hostile);
        benchmark.command = vec![hostile.clone()];
        for condition in &mut benchmark.conditions {
            condition.evidence = vec![hostile.clone(); 100];
        }
        benchmark.runs = vec![run(&hostile); 500];
    }
    acceptance.limits = vec![acceptance.limits[0].clone(); 200];
    for format in document_formats().map(|format| format.name) {
        let report = rendered(format, &acceptance);
        assert!(!report.contains(['\u{1b}', '\u{202e}']), "{format}");
    }
    html::check(&rendered("html", &acceptance));
    let report = rendered("markdown", &acceptance);
    assert!(report.chars().count() < LIMIT, "{}", report.chars().count());
    assert!(!report.contains("\n# x") && report.contains("Left out"));
    // The command is in a code span, where markup has no effect.
    assert!(report.lines().filter(|line| !line.starts_with('`')).all(|line| !line.contains("|<img")));
}
