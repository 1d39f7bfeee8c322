//! Many runs over time: snapshots, the schema, hostile text, and charts with their sentences.

use std::collections::BTreeMap;

use activebench_model::claim::{Metric, Subject};
use activebench_model::compare::RatioInterval;
use activebench_model::history::{
    AgainstBaseline, Baseline, Batch, By, Counts, FigureKind, Followed, Gate, History, LeftOut, Member, Outcome, Point,
    Reading, Rules, RunOfHistory, Slope, Summary, Trend,
};
use activebench_model::series::Interval;
use activebench_model::units::Quantity;
use activebench_model::verdict::{ClaimVerdict, RunVerdict};
use activebench_report::document_formats;
use activebench_report::history::tables::HISTORY_TABLES;
use activebench_report::history::{HISTORY_CSV, render_table};
use activebench_report::ticket::LIMIT;

use crate::samples::{rendered, schema_faults};

fn mib(value: f64) -> Quantity {
    Quantity::bytes_per_sec(value * 1_048_576.0)
}

fn point(run: usize, value: Option<f64>, why_not: Option<&str>) -> Point {
    Point {
        run,
        value: value.map(mib),
        claimed: mib(900.0),
        verdict: ClaimVerdict::Misleading,
        foreign_io_ratio: Some(0.01),
        counts: why_not.is_none(),
        why_not: why_not.map(str::to_owned),
    }
}

fn slope(change: f64, probability: f64) -> Slope {
    Slope { per_day: mib(change), over_span_ratio: Some(change * 70.0 / 400.0), span_days: 70.0, probability }
}

const RULES: Rules = Rules { confidence_ratio: 0.95, interval_least_runs: 6, trend_probability: 0.01 };

fn figure(id: &str, phase: &str, group: &str) -> Followed {
    let interval = Interval { low: mib(380.0), high: mib(410.0), confidence_ratio: 0.96875 };
    Followed {
        id: id.to_owned(),
        tool: "iozone".to_owned(),
        load: "iozone -i0 -s1g -f TARGET/file".to_owned(),
        phase: phase.to_owned(),
        metric: Metric::Throughput,
        place: 0,
        subject: Subject::Device,
        group: group.to_owned(),
        points: vec![
            point(0, Some(410.0), None),
            point(1, Some(400.0), None),
            point(2, Some(120.0), Some("the run is inconclusive: it may have measured a part of the load")),
            point(3, Some(380.0), None),
            point(4, None, Some("nothing was read from the device")),
        ],
        counts: Counts { counted: 3, of_discrepancy: 1, apart: 1, without: 1 },
        summary: Some(Summary {
            median: mib(400.0),
            interval: Some(interval),
            least: mib(380.0),
            most: mib(410.0),
            spread_ratio: Some(0.075),
            last: mib(380.0),
        }),
        trend: Trend::Falling(slope(-0.4, 0.002)),
        varied: BTreeMap::from([("kernel".to_owned(), vec!["6.1.0".to_owned(), "6.12.1".to_owned()])]),
        against: Some(AgainstBaseline::Compared {
            outcome: Outcome::Worse,
            ratio: 0.93,
            interval: RatioInterval { low: 0.91, high: 0.96, confidence_ratio: 0.97 },
            probability: 0.01,
            baseline_runs: 5,
            later_runs: 6,
        }),
    }
}

pub(crate) fn sample() -> History {
    let run = |day: i64, verdict| RunOfHistory {
        directory: format!("runs/{day}"),
        started_unix_s: 1_767_225_600 + day * 86_400,
        verdict,
        in_baseline: day < 20,
    };
    let lone = Followed {
        points: vec![point(0, None, Some("nothing was read from the device"))],
        counts: Counts { without: 1, ..Counts::default() },
        summary: None,
        trend: Trend::NotAsked { why: "fewer than 6 runs count".to_owned() },
        varied: BTreeMap::new(),
        against: Some(AgainstBaseline::NotCompared { why: "no later run has this figure".to_owned(), open: true }),
        ..figure("f2", "read", "ACME 9000 S1")
    };
    let steady = Followed { trend: Trend::NotSeen(slope(0.01, 0.47)), ..figure("f3", "write", "ACME 9000 S2") };
    let member = |figure: &str, group: &str, median, deviations: f64, outlier| Member {
        figure: figure.to_owned(),
        group: group.to_owned(),
        runs: 3,
        median: mib(median),
        deviations: Some(deviations),
        outlier,
    };
    History {
        reading: Reading {
            found: 1_009,
            from_table: 1_000,
            from_report: 2,
            copies: 1,
            filtered: 3,
            without_figures: 1,
            left_out: vec![LeftOut { directory: "runs/broken".to_owned(), why: "it was never finished".to_owned() }],
            bundles: 2,
        },
        kind: FigureKind::Honest,
        by: By::Device,
        rules: RULES,
        runs: vec![
            run(0, RunVerdict::Discrepancy),
            run(14, RunVerdict::Verified),
            run(30, RunVerdict::Inconclusive),
            run(60, RunVerdict::Qualified),
            run(70, RunVerdict::Verified),
        ],
        figures: vec![figure("f1", "write", "ACME 9000 S1"), lone, steady],
        batches: vec![Batch {
            tool: "iozone".to_owned(),
            load: "iozone -i0 -s1g -f TARGET/file".to_owned(),
            phase: "write".to_owned(),
            metric: Metric::Throughput,
            members: vec![
                member("f1", "ACME 9000 S1", 400.0, 0.5, false),
                member("f3", "ACME 9000 S2", 200.0, 40.0, true),
            ],
            without: vec!["ACME 9000 S3".to_owned()],
            median: mib(400.0),
            deviation: mib(5.0),
            outlier_deviations: 14.826,
            not_judged: None,
        }],
        baseline: Some(Baseline {
            named: "runs/accepted".to_owned(),
            runs: 2,
            later: 3,
            gate: Some(Gate {
                limit_ratio: 0.05,
                compared: 2,
                least_runs: 5,
                failing: vec!["f1".to_owned()],
                open: vec!["f2".to_owned()],
            }),
        }),
        exit_code: 1,
    }
}

fn empty() -> History {
    History {
        reading: Reading::default(),
        kind: FigureKind::Claimed,
        by: By::Host,
        rules: RULES,
        runs: Vec::new(),
        figures: Vec::new(),
        batches: Vec::new(),
        baseline: None,
        exit_code: 0,
    }
}

#[test]
fn every_format_reads_as_intended() {
    for format in formats() {
        let report = either(format, &sample());
        insta::assert_snapshot!(format, report);
    }
}

#[test]
fn nothing_is_said_of_no_runs_but_that() {
    for format in formats() {
        let report = either(format, &empty());
        assert!(!report.is_empty(), "{format}");
    }
    insta::assert_snapshot!("empty", either("text", &empty()));
}

#[test]
fn the_json_report_is_what_its_schema_says() {
    let schema = include_str!("../../../../docs/history.schema.json");
    let faults = |history: &History| -> Vec<String> { schema_faults(schema, &either("json", history)) };
    for history in [sample(), empty()] {
        assert_eq!(faults(&history), Vec::<String>::new());
    }
    let no_points =
        History { figures: vec![Followed { points: Vec::new(), ..figure("f1", "write", "S1") }], ..sample() };
    assert_ne!(faults(&no_points), Vec::<String>::new(), "a figure is one of a run");
}

#[test]
fn hostile_text_stays_text() {
    let hostile = "=cmd|'/C calc'!A0\u{1b}[31m|<img src=x>@root\n# x \u{202e}".repeat(20);
    let mut history = sample();
    history.reading.left_out = vec![LeftOut { directory: hostile.clone(), why: hostile.clone() }; 20];
    history.runs.iter_mut().for_each(|run| run.directory.clone_from(&hostile));
    for figure in &mut history.figures {
        for text in [&mut figure.tool, &mut figure.load, &mut figure.phase, &mut figure.group] {
            text.clone_from(&hostile);
        }
        figure.points.iter_mut().for_each(|point| point.why_not = point.why_not.as_ref().map(|_| hostile.clone()));
        figure.varied = BTreeMap::from([("kernel".to_owned(), vec![hostile.clone(); 3])]);
        figure.trend = Trend::NotAsked { why: hostile.clone() };
    }
    for batch in &mut history.batches {
        batch.load.clone_from(&hostile);
        batch.phase.clone_from(&hostile);
        batch.members.iter_mut().for_each(|member| member.group.clone_from(&hostile));
        batch.without = vec![hostile.clone()];
    }
    history.baseline.as_mut().expect("there is one").named.clone_from(&hostile);
    for format in formats() {
        let report = either(format, &history);
        assert!(!report.contains(['\u{1b}', '\u{202e}']), "{format}:\n{report}");
    }
    let of = |format| either(format, &history);
    let (markdown, page) = (of("markdown"), of("html"));
    assert!(!markdown.contains("|<img") && !markdown.contains("\n# x"), "{markdown}");
    assert!(markdown.chars().count() < LIMIT, "{} characters", markdown.chars().count());
    assert!(!page.contains("<img"), "{page}");
    for format in ["csv", "runs-csv"] {
        let report = of(format);
        let mut reader = csv::Reader::from_reader(report.as_bytes());
        for record in reader.records() {
            let record = record.expect("CSV");
            assert!(record.iter().all(|field| !field.starts_with('=')), "{format}: {record:?}");
        }
    }
}

/// Figures of one load, group and phase can have the same metric, and different metrics the same words.
#[test]
fn no_two_figures_have_one_name() {
    let of = |id: &str| figure(id, "write", "ACME 9000 S1");
    let rate = |mut figure: Followed| {
        figure.metric = Metric::SumOfTaskOperationRate;
        figure.points.iter_mut().for_each(|point| point.claimed = Quantity::ops_per_sec(9.0));
        figure
    };
    let load = "iozone -i0 -s1g -f TARGET/file".to_owned() + &" -+d".repeat(80);
    let figures = [
        of("f1"),
        Followed { subject: Subject::DurableWrite, ..of("f2") },
        Followed { place: 1, ..of("f3") },
        Followed { metric: Metric::SumOfTaskThroughput, ..of("f4") },
        rate(of("f5")),
        Followed { metric: Metric::LatencyMax, ..of("f6") },
        Followed { metric: Metric::LatencyMax, load: load.clone() + "1", ..of("f7") },
        Followed { metric: Metric::LatencyMax, load: load + "2", ..of("f8") },
    ];
    let history = History { figures: figures.to_vec(), batches: Vec::new(), ..sample() };
    let page = either("html", &history);
    for name in [
        "throughput (device, no. 1)",
        "throughput (durable-write, no. 1)",
        "throughput (device, no. 2)",
        "sum of tasks (bytes_per_sec)",
        "sum of tasks (ops_per_sec)",
    ] {
        // Once in the table of its load and group, and once in the table against the baseline.
        assert_eq!(page.matches(&format!("<td>{name}</td>")).count(), 2, "{name}:\n{page}");
        assert!(page.contains(&format!("<b>write {name}</b>")), "{name}:\n{page}");
    }
    assert_eq!(page.matches("<h3>ACME").count(), 3, "loads that begin alike are kept apart:\n{page}");
    let csv = render_table("csv", &history).expect("there is such a format");
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let heads = reader.headers().expect("heads").clone();
    let column = |name: &str| heads.iter().position(|head| head == name).expect("there is such a column");
    let key = ["load", "device", "phase", "metric", "place", "subject", "unit"].map(column);
    let rows: std::collections::BTreeSet<Vec<String>> = reader
        .records()
        .map(|record| record.expect("CSV"))
        .map(|record| key.iter().map(|column| record[*column].to_owned()).collect())
        .collect();
    assert_eq!(rows.len(), 8, "{rows:#?}");
    assert!(csv.contains(",sum-of-task-operation-rate,") && csv.contains(",worse,"), "{csv}");
}

#[test]
fn many_figures_are_counted_and_fit_a_ticket() {
    let mut history = sample();
    let groups = (0..200).map(|number| figure(&format!("f{number}"), "write", &format!("ACME 9000 S{number}")));
    history.figures = groups.collect();
    history.batches = vec![history.batches[0].clone(); 40];
    let of = |format| either(format, &history);
    let (text, markdown, page) = (of("text"), of("markdown"), of("html"));
    assert!(text.contains("104 figures, which JSON and CSV have"), "{text}");
    assert!(text.contains("16 side-by-side tables, which JSON and CSV have"), "{text}");
    assert!(page.contains("16 side-by-side tables, which JSON and CSV have"), "{page}");
    assert!(text.contains("104 compared figures more, in the JSON report"), "{text}");
    assert!(markdown.contains("Left out to fit a ticket"), "{markdown}");
    assert!(markdown.chars().count() < LIMIT, "{} characters", markdown.chars().count());
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 48);
}

#[test]
fn of_a_large_batch_both_ends_are_shown() {
    let mut history = sample();
    let member = history.batches[0].members[0].clone();
    history.batches[0].members =
        (0..200).map(|number| Member { group: format!("disk-{number}."), ..member.clone() }).collect();
    for format in ["text", "html"] {
        let report = either(format, &history);
        let is_shown = |number: u32| report.contains(&format!("disk-{number}."));
        assert!([0, 31, 168, 199].into_iter().all(is_shown) && ![32, 167].into_iter().any(is_shown), "{report}");
        assert!(report.contains("136 members of the middle left out"), "{report}");
    }
}

#[test]
fn a_chart_has_its_figures_in_words_and_needs_nothing_beside_itself() {
    let page = either("html", &sample());
    let document = scraper::Html::parse_document(&page);
    assert_eq!(document.errors, Vec::<String>::new());
    let select = |selector: &str| scraper::Selector::parse(selector).expect("a selector");
    let charts: Vec<_> = document.select(&select("svg.chart")).collect();
    assert_eq!(charts.len(), 2, "the figure that no run has is none");
    for chart in charts {
        assert!(chart.select(&select("title")).next().is_some() && chart.select(&select("desc")).next().is_some());
    }
    assert!(page.contains("Median 400") || page.contains("median 400"));
    assert!(!page.contains("<script") && !page.contains("http://") && !page.contains("https://"));
    // A single run, and values that are all equal, still have axes.
    let mut flat = sample();
    flat.figures.truncate(1);
    flat.figures[0].points.truncate(1);
    let page = either("html", &flat);
    assert!(page.contains("<svg class=\"chart\""), "{page}");
}

#[test]
fn a_missing_value_is_no_zero_in_a_table() {
    for table in HISTORY_TABLES {
        let made = (table.of)(&sample());
        let rows = made.columns[0].values.len();
        assert!(made.columns.iter().all(|column| column.values.len() == rows), "{}", table.name);
    }
    let csv = render_table("runs-csv", &sample()).expect("there is such a format");
    let missing = csv.lines().filter(|line| line.contains("nothing was read")).collect::<Vec<_>>();
    assert!(missing.iter().all(|line| line.contains(",bytes_per_sec,,")), "{missing:?}");
}

/// Names of all formats that are text.
fn formats() -> Vec<&'static str> {
    document_formats().map(|format| format.name).chain(HISTORY_CSV).collect()
}

/// Renders a document or a table.
fn either(format: &str, history: &History) -> String {
    render_table(format, history).unwrap_or_else(|| rendered(format, history))
}
