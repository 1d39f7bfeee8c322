//! Runs side by side: snapshots, the schema, and hostile text.

use activebench_model::claim::{Metric, Subject};
use activebench_model::compare::{Against, Cell, Column, Compared, Comparison, Difference, OtherPass, RatioInterval};
use activebench_model::series::Interval;
use activebench_model::units::Quantity;
use activebench_model::verdict::{ClaimVerdict, RunVerdict};
use activebench_report::document_formats;
use activebench_report::ticket::LIMIT;

use crate::samples::{rendered, schema_faults};

fn mib(value: f64) -> Quantity {
    Quantity::bytes_per_sec(value * 1_048_576.0)
}

fn cell(value: f64, against_first: Option<Against>) -> Cell {
    let interval = Interval { low: mib(value - 5.0), high: mib(value + 5.0), confidence_ratio: 0.984_375 };
    Cell {
        runs: 7,
        claimed: mib(value),
        honest: Some(mib(value)),
        no_honest: None,
        verdict: ClaimVerdict::Confirmed,
        confirmed: 7,
        subject: Subject::DurableWrite,
        findings: Vec::new(),
        interval: Some(interval),
        against_first,
    }
}

fn compared(ratio: f64, interval: bool) -> Option<Against> {
    let interval =
        interval.then_some(RatioInterval { low: ratio - 0.02, high: ratio + 0.02, confidence_ratio: 0.968_75 });
    Some(Against::Compared { ratio, interval })
}

fn not_compared(why: &str) -> Option<Against> {
    Some(Against::NotCompared { why: why.to_owned() })
}

pub(crate) fn sample() -> Comparison {
    let column = |directory: &str, runs, verdict| Column {
        directory: directory.to_owned(),
        series: runs > 1,
        runs,
        verdict,
        incomplete: Vec::new(),
    };
    let misleading = Cell {
        runs: 1,
        claimed: mib(9_900.0),
        honest: Some(mib(310.0)),
        verdict: ClaimVerdict::Misleading,
        confirmed: 0,
        findings: vec!["AB302".to_owned()],
        interval: None,
        ..cell(0.0, compared(0.75, false))
    };
    let unknown = Cell {
        honest: None,
        no_honest: Some("nothing was read from the device".to_owned()),
        findings: vec!["AB201".to_owned()],
        against_first: not_compared("it has no honest figure"),
        ..misleading.clone()
    };
    let figure = |phase: &str, cells| Compared { phase: phase.to_owned(), metric: Metric::Throughput, cells };
    let difference = |aspect: &str, values: [&str; 3], meaning: &str| Difference {
        aspect: aspect.to_owned(),
        values: values.map(str::to_owned).to_vec(),
        meaning: meaning.to_owned(),
    };
    Comparison {
        answers: vec!["Run 2 is faster than run 1 in all 2 figures: 1.24 to 1.31 times.".into()],
        columns: vec![
            column("runs/disk one", 7, RunVerdict::Verified),
            column("runs/disk-two", 7, RunVerdict::Qualified),
            Column {
                incomplete: vec!["interrupted by SIGINT after 2.70 s".to_owned()],
                ..column("runs/cached", 1, RunVerdict::Discrepancy)
            },
        ],
        figures: vec![
            figure("write", vec![Some(cell(412.0, None)), Some(cell(206.0, compared(0.5, true))), Some(misleading)]),
            figure("read", vec![Some(cell(511.0, None)), Some(cell(613.2, compared(1.2, true))), Some(unknown)]),
            figure("reread", vec![None, Some(cell(600.0, not_compared("the first does not state it"))), None]),
        ],
        other_passes: vec![
            OtherPass {
                run: 3,
                phase: "job-write".into(),
                io: "writes, 1 MiB a call".into(),
                compared_as: Some("write".into()),
                why: None,
            },
            OtherPass {
                run: 3,
                phase: "job-read".into(),
                io: "reads, 4 KiB a call".into(),
                compared_as: None,
                why: Some("unlike read: size of a call: 1 MiB a call in run 1, 4 KiB a call in run 3".into()),
            },
        ],
        differences: vec![
            difference("kernel", ["6.18.5", "6.18.5", "6.12.1"], "the I/O path differs"),
            difference("changed thresholds", ["", "", "a = 1 s"], "they were judged by other thresholds"),
        ],
    }
}

#[test]
fn every_format_reads_as_intended() {
    for format in document_formats().map(|format| format.name) {
        let report = rendered(format, &sample());
        insta::assert_snapshot!(format, report);
    }
}

#[test]
fn the_json_report_is_what_its_schema_says() {
    let schema = include_str!("../../../../docs/compare.schema.json");
    let empty = Comparison { figures: Vec::new(), differences: Vec::new(), ..sample() };
    let faults = |comparison: &Comparison| -> Vec<String> { schema_faults(schema, &rendered("json", comparison)) };
    for comparison in [sample(), empty] {
        assert_eq!(faults(&comparison), Vec::<String>::new());
    }
    let one = Comparison { columns: sample().columns[..1].to_vec(), ..sample() };
    assert_ne!(faults(&one), Vec::<String>::new(), "one run is not a comparison");
}

#[test]
fn hostile_text_stays_text() {
    let hostile = "\u{1b}[31m|<img src=x>@root\n# x \u{202e}".repeat(50);
    let mut comparison = sample();
    for column in &mut comparison.columns {
        column.directory.clone_from(&hostile);
        column.incomplete = vec![hostile.clone()];
    }
    for figure in &mut comparison.figures {
        figure.phase.clone_from(&hostile);
        for cell in figure.cells.iter_mut().flatten() {
            cell.no_honest = Some(hostile.clone());
            cell.findings = vec![hostile.clone()];
        }
    }
    for difference in &mut comparison.differences {
        difference.values = vec![hostile.clone(); 3];
    }
    for format in document_formats().map(|format| format.name) {
        let report = rendered(format, &comparison);
        assert!(!report.contains(['\u{1b}', '\u{202e}']), "{format}:\n{report}");
    }
    let markdown = rendered("markdown", &comparison);
    assert!(!markdown.contains("|<img") && !markdown.contains("\n# x"), "{markdown}");
    assert!(markdown.chars().count() < LIMIT, "{} characters", markdown.chars().count());
    let page = rendered("html", &comparison);
    assert!(!page.contains("<img"), "{page}");
}

#[test]
fn many_runs_and_figures_are_counted() {
    let mut comparison = sample();
    comparison.columns = vec![comparison.columns[0].clone(); 12];
    comparison.figures = vec![comparison.figures[0].clone(); 100];
    for figure in &mut comparison.figures {
        figure.cells = vec![Some(cell(1.0, None)); 12];
    }
    for format in ["text", "markdown"] {
        let report = rendered(format, &comparison);
        assert!(report.contains("52 more figures") && report.contains("4 more runs"), "{format}:\n{report}");
        assert!(format == "text" || report.chars().count() < LIMIT, "{} characters", report.chars().count());
    }
}
