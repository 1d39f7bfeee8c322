//! Reports of a series: snapshots, the schema, hostile text and the size limit of a ticket.

use activebench_model::claim::Metric;
use activebench_model::finding::{Finding, Outcome, Severity, Threshold};
use activebench_model::series::{
    Cause, CircumstanceKind, FORMAT, Interval, JudgedSeries, Repeated, RunOfSeries, Sample, SeriesManifest, Steadiness,
    SteadyWindow, Stopping, Until,
};
use activebench_model::units::{Quantity, Unit};
use activebench_model::verdict::{ClaimVerdict, RunVerdict};
use activebench_report::document_formats;
use activebench_report::ticket::LIMIT;

use crate::html;
use crate::samples::{self, schema_faults};

fn render(name: &str, series: &JudgedSeries) -> String {
    samples::rendered(name, series)
}

fn run(number: u32) -> RunOfSeries {
    RunOfSeries {
        number,
        directory: number.to_string(),
        started_unix_s: 1_700_000_000 + i64::from(number),
        verdict: RunVerdict::Verified,
        exit_code: 0,
        claims: Vec::new(),
        beginnings: Vec::new(),
        circumstances: Vec::new(),
        preparation: None,
    }
}

fn figure(id: &str, phase: &str, metric: Metric, quantity: fn(f64) -> Quantity, values: &[f64]) -> Repeated {
    Repeated {
        id: id.to_owned(),
        phase: phase.to_owned(),
        metric,
        of_storage: true,
        claimed: claimed(quantity, values),
        verdicts: vec![Some(ClaimVerdict::Confirmed); values.len()],
        honest: Some(claimed(quantity, values)),
        resolution: 0.5,
        causes: Vec::new(),
    }
}

fn claimed(quantity: fn(f64) -> Quantity, values: &[f64]) -> Sample {
    Sample {
        values: values.iter().copied().map(Some).collect(),
        median: quantity(values[2]),
        mean: quantity(values[2]),
        least: quantity(values[0]),
        most: quantity(values[4]),
        deviation: Some(quantity(1.0)),
        spread_ratio: Some((values[4] - values[0]) / values[2]),
        median_interval: Some(Interval {
            low: quantity(values[0]),
            high: quantity(values[4]),
            confidence_ratio: 0.96875,
        }),
    }
}

fn finding(code: &str, outcome: Outcome, message: &str) -> Finding {
    let fires = outcome == Outcome::Fires;
    let said = |text: &str| if fires { text.to_owned() } else { String::new() };
    Finding {
        code: code.to_owned(),
        name: "not-reproducible".to_owned(),
        outcome,
        severity: fires.then_some(Severity::Warn),
        phase: Some("read".to_owned()),
        claims: vec!["f1".to_owned()],
        observed: fires.then(|| Quantity::ratio(0.08)),
        threshold: fires.then(|| Threshold { value: Quantity::ratio(0.05), source: "MLPerf Storage 6.7".to_owned() }),
        message: message.into(),
        meaning: said("one run could have given any of these"),
        advice: said("quote the median with its interval"),
        facts: Vec::new(),
        effect: None,
    }
}

pub(crate) fn sample() -> JudgedSeries {
    let argv = ["fio", "--name=a b", "--rw=read"].map(str::to_owned).to_vec();
    let command = activebench_model::command::CommandLine { argv, ..Default::default() };
    let rates = [92e6, 96e6, 100e6, 100e6, 104e6];
    let mut short = figure("f2", "read", Metric::BytesMoved, |value| Quantity::bytes(value as u64), &rates);
    short.claimed.median_interval = None;
    short.claimed.values[3] = None;
    short.verdicts = [vec![Some(ClaimVerdict::Unverifiable); 3], vec![None, Some(ClaimVerdict::Unverifiable)]].concat();
    short.honest = None;
    JudgedSeries {
        manifest: SeriesManifest {
            format: FORMAT,
            activebench: "0.1.0".to_owned(),
            command,
            planned_runs: 6,
            until: None,
            preconditioning: None,
            runs: (1..=5).map(|number| number.to_string()).collect(),
            choices: Default::default(),
            incomplete: vec!["interrupted".to_owned()],
        },
        directory: "/tmp/a series".to_owned(),
        runs: (1..=5).map(run).collect(),
        figures: vec![short, figure("f1", "read", Metric::Throughput, Quantity::bytes_per_sec, &rates)],
        findings: vec![
            finding("AB705", Outcome::Fires, "5 runs range from 87.7 MiB/s to 99.2 MiB/s: 12 % of the median"),
            finding("AB702", Outcome::Undecided, "5 runs are needed, and 4 state this figure"),
            finding("AB704", Outcome::Silent, ""),
        ],
        steadiness: Vec::new(),
        stopping: None,
        verdict: RunVerdict::Inconclusive,
        because: "5 of 6 runs were recorded: interrupted".to_owned(),
        exit_code: 3,
    }
}

/// Seven rounds on a prepared device that reach steady state. Their claims were twice too high, and a limit explains
/// their differences.
fn settling() -> JudgedSeries {
    let rates = [60e6, 80e6, 96e6, 99e6, 100e6, 104e6, 101e6];
    let twice: Vec<f64> = rates.iter().map(|rate| 2.0 * rate).collect();
    let quantity = Quantity::bytes_per_sec;
    let figure = Repeated {
        claimed: claimed(quantity, &twice),
        verdicts: vec![Some(ClaimVerdict::Misleading); rates.len()],
        honest: Some(claimed(quantity, &rates)),
        causes: vec![Cause {
            kind: CircumstanceKind::IoLimit,
            values: rates.iter().map(|rate| Some(rate + 1e6)).collect(),
            unit: Unit::BytesPerSec,
            explained_ratio: 0.97,
            sentence: "the limit of a control group: 58.2 MiB/s in run 1, 100 MiB/s in run 6; 97 % of the variance \
                       goes with it"
                .to_owned(),
        }],
        ..figure("f1", "read", Metric::Throughput, quantity, &rates)
    };
    let window = |first: u32, mean: f64, steady| SteadyWindow {
        runs: (first..first + 5).collect(),
        values: rates[first as usize - 1..first as usize + 4].to_vec(),
        unit: Unit::BytesPerSec,
        mean,
        range_ratio: if steady { 0.08 } else { 0.46 },
        excursion_ratio: if steady { 0.06 } else { 0.456 },
        slope: 1.5e6,
        line_at_first: mean - 3e6,
        steady,
    };
    let base = sample();
    let preparation = samples::preparation("/dev/vda", "it takes no discards");
    JudgedSeries {
        manifest: SeriesManifest {
            planned_runs: 25,
            until: Some(Until::SteadyState),
            incomplete: Vec::new(),
            ..base.manifest
        },
        runs: (1..=7).map(|number| RunOfSeries { preparation: Some(preparation.clone()), ..run(number) }).collect(),
        steadiness: vec![Steadiness {
            figure: "f1".to_owned(),
            phase: "read".to_owned(),
            of_honest: true,
            range_limit_ratio: 0.2,
            excursion_limit_ratio: 0.1,
            windows: vec![window(1, 87e6, false), window(2, 95.8e6, false), window(3, 100e6, true)],
            not_judged: None,
            first_steady_run: Some(7),
        }],
        stopping: Some(Stopping {
            until: Until::SteadyState,
            reached: true,
            because: "read: rounds 3 to 7 range over 8 % of their mean (20 % is permitted), and their line moves by \
                      6 % (10 %)"
                .to_owned(),
        }),
        figures: vec![figure],
        findings: Vec::new(),
        verdict: RunVerdict::Qualified,
        because: "over 7 runs 1 warning, 0 questions undecided".to_owned(),
        exit_code: 0,
        ..base
    }
}

#[test]
fn every_format_reads_as_intended() {
    for format in document_formats() {
        let mut report = render(format.name, &sample());
        if format.name == "html" {
            html::check(&report);
            report = html::outline(&report);
        }
        insta::assert_snapshot!(format!("series-{}", format.name), report);
    }
}

#[test]
fn steady_state_and_what_explains_the_variance_are_shown_in_every_format() {
    for format in document_formats() {
        let mut report = render(format.name, &settling());
        if format.name == "html" {
            html::check(&report);
            assert!(report.contains(r#"id="rounds-0""#) && !report.contains("No chart"));
            report = html::outline(&report);
        }
        insta::assert_snapshot!(format!("series-steady-{}", format.name), report);
    }
}

#[test]
fn what_is_left_out_is_counted() {
    let mut series = settling();
    let (figure, steadiness) = (series.figures.remove(0), series.steadiness.remove(0));
    for number in 1..=30 {
        let phase = format!("pass {number}");
        series.figures.push(Repeated { phase: phase.clone(), ..figure.clone() });
        series.steadiness.push(Steadiness { phase, ..steadiness.clone() });
    }
    // The last rounds of one figure are not known.
    series.steadiness[1].not_judged = Some("run 6 does not state the figure".to_owned());
    let text = render("text", &series);
    assert_eq!(text.matches("round  ").count(), 4, "{text}");
    assert!(text.contains("round by round in the JSON report: 25 further figures"), "{text}");
    assert!(text.contains("pass 2: not known of the last rounds: run 6 does not state the figure"), "{text}");
    assert!(text.contains("pass 30 (honest figures): steady in rounds 3 to 7"), "{text}");
    assert!(text.contains("and 6 more in the JSON report"), "{text}");
    for (format, told) in [
        ("markdown", "and 6 more in the JSON report"),
        ("html", "and 6 more in the JSON report"),
        ("html", "Charts of 12 of 29 figures."),
    ] {
        let report = render(format, &series);
        assert!(report.contains(told), "{format}: {report}");
    }
    // The report does not mention left-out items if there are none.
    for format in ["text", "markdown", "html"] {
        assert!(!render(format, &settling()).contains("in the JSON report"), "{format}");
    }
}

#[test]
fn the_json_report_is_what_its_schema_says() {
    let schema = include_str!("../../../../docs/series.schema.json");
    let mut empty = sample();
    empty.runs.clear();
    empty.figures.clear();
    empty.findings.clear();
    for series in [sample(), settling(), empty] {
        assert_eq!(schema_faults(schema, &render("json", &series)), Vec::<String>::new());
    }
}

#[test]
fn hostile_text_stays_text_and_a_long_series_fits_a_ticket() {
    let mut series = sample();
    let hostile = "\u{1b}[31m|<img>@a\n# x ".repeat(200);
    series.because.clone_from(&hostile);
    series.manifest.command.argv = vec![hostile.clone()];
    series.runs = (1..=1_000).map(run).collect();
    series.runs[0].preparation = Some(samples::preparation(&hostile, &hostile));
    let figure = Repeated { phase: hostile.clone(), ..series.figures[1].clone() };
    series.figures = vec![figure; 500];
    let fired = Finding {
        message: hostile.clone().into(),
        advice: hostile.clone(),
        meaning: hostile,
        ..series.findings[0].clone()
    };
    series.findings = vec![fired; 500];
    series.findings.extend(vec![sample().findings[1].clone(); 500]);
    for format in document_formats() {
        assert!(!render(format.name, &series).contains('\u{1b}'), "{}", format.name);
    }
    html::check(&render("html", &series));
    let report = render("markdown", &series);
    assert!(report.chars().count() < LIMIT, "{}", report.chars().count());
    // Markup has no effect inside a code span.
    let mut outside = report.lines().filter(|line| !line.starts_with("Command: `"));
    assert!(outside.all(|line| !line.contains("<img>")) && report.contains("Left out"));
}
