//! The answer at a glance: at most 24 lines, whatever was run.

use activebench_model::claim::Metric;
use activebench_model::finding::Severity;
use activebench_model::report::JudgedRun;
use activebench_model::target::{JudgedTarget, TargetFigure};
use activebench_model::units::Quantity;
use activebench_model::verdict::RunVerdict;
use activebench_report::{Detail, Style};
use textwrap::core::display_width;

use crate::parts::{base, cached_write, claim, confirmed, confirmed_by, fires, kib_rate, write_phase};
use crate::samples;

const LINES: usize = 24;
const WIDTHS: [u16; 4] = [60, 80, 100, 120];

fn glance(run: &JudgedRun, width: u16, ascii: bool) -> String {
    samples::styled("text", run, Style { width: Some(width), detail: Detail::Glance, ascii, ..Style::default() })
}

/// Lines on a terminal of this width, where a longer line takes several.
fn lines(text: &str, width: u16) -> usize {
    text.lines().map(|line| display_width(line).div_ceil(width.into()).max(1)).sum()
}

fn check_fits(name: &str, run: &JudgedRun) {
    for width in WIDTHS {
        for ascii in [false, true] {
            let text = glance(run, width, ascii);
            assert!(lines(&text, width) <= LINES, "{name}, {width} columns: {} lines\n{text}", lines(&text, width));
            assert!(!ascii || text.is_ascii(), "{name}: {text}");
            for line in text.lines().filter(|line| !line.starts_with("Run ") && !line.contains("activebench verify")) {
                assert!(display_width(line) <= width.into(), "{name}, {width} columns: {line}");
            }
        }
    }
}

/// fio with four jobs: a rate, operations, and latencies of each.
fn four_jobs() -> JudgedRun {
    let mut run = base(&["fio", "--name=randread-4k-qd32", "--rw=randread"]);
    run.parsed.tool = "fio".into();
    run.parsed.version = Some("3.33".into());
    for job in 1..=4_u64 {
        let phase = format!("randread-4k-qd32-{job}-read");
        run.phases.push(write_phase(&phase, &phase, job * 1_000_000_000));
        for (metric, value) in [
            (Metric::Throughput, kib_rate(400_000.0)),
            (Metric::OperationRate, Quantity::ops_per_sec(100_000.0)),
            (Metric::LatencyMean, Quantity::ns(312_000)),
            (Metric::CompletionLatencyP99, Quantity::ns(914_000)),
            (Metric::CpuUser, Quantity::ratio(0.12)),
        ] {
            let id = format!("c{}", run.parsed.claims.len() + 1);
            run.parsed.claims.push(activebench_model::claim::Claim { metric, value, ..claim(&id, &phase, 1) });
            run.judged.push(confirmed_by(&id, value));
        }
    }
    run.verdict = RunVerdict::Verified;
    run
}

/// bonnie++: data, names, CPU shares.
fn bonnie() -> JudgedRun {
    let mut run = base(&["bonnie++", "-d", "/mnt/bench", "-s", "2g"]);
    run.parsed.tool = "bonnie++".into();
    run.parsed.version = Some("2.00a".into());
    let passes = ["putc", "write", "rewrite", "getc", "read", "seeks", "seq-create", "seq-stat", "seq-delete"];
    for (place, pass) in passes.into_iter().chain(["ran-create", "ran-stat", "ran-delete"]).enumerate() {
        run.phases.push(write_phase(pass, pass, place as u64 * 1_000_000_000));
        let is_rate = place < 5;
        let id = format!("c{}", run.parsed.claims.len() + 1);
        let mut rate = claim(&id, pass, 571_000);
        if !is_rate {
            rate.metric = Metric::OperationRate;
            rate.value = Quantity::ops_per_sec(21_300.0);
        }
        let value = rate.value;
        run.parsed.claims.push(rate);
        run.judged.push(if place < 3 {
            cached_write(&id, 571_000.0, 204_000.0, "2 GiB in the 10.3 s to the end of the sync")
        } else {
            confirmed_by(&id, value)
        });
        let id = format!("c{}", run.parsed.claims.len() + 1);
        let cpu = activebench_model::claim::Claim {
            metric: Metric::CpuTotal,
            value: Quantity::ratio(0.93),
            ..claim(&id, pass, 1)
        };
        run.parsed.claims.push(cpu);
        run.judged.push(confirmed_by(&id, Quantity::ratio(0.93)));
    }
    run.findings = ["putc", "write", "rewrite"]
        .map(|pass| {
            let words = ["The data was on the disk 4.2 s after bonnie++ stopped its clock.", "", ""];
            fires("AB302", "sync-outside-clock", Severity::Fail, Some(pass), &[], words)
        })
        .to_vec();
    run.verdict = RunVerdict::Discrepancy;
    run.exit_code = 1;
    run
}

#[test]
fn samples_fit_24_lines_at_every_width() {
    for (name, run) in samples::all() {
        check_fits(name, &run);
    }
    check_fits("four jobs", &four_jobs());
    check_fits("bonnie++", &bonnie());
}

#[test]
fn what_a_terminal_shows() {
    for (name, run) in [
        ("iozone", samples::cached()),
        ("fio", four_jobs()),
        ("bonnie", bonnie()),
        ("verified", samples::verified()),
        ("undecided", samples::undecided()),
        ("no_claims", samples::no_claims()),
        ("failed", samples::failed_child()),
        ("many", samples::many_claims()),
    ] {
        insta::assert_snapshot!(name, glance(&run, 80, false));
    }
    insta::assert_snapshot!("narrow_ascii", glance(&samples::cached(), 60, true));
}

/// Everything that grows, grown: figures, phases, detectors, words without a blank, a long directory and tool name.
#[test]
fn no_run_takes_more_than_24_lines() {
    let word = "x".repeat(400);
    let sentence = "The device needed longer than the clock of the tool was running. ".repeat(12);
    for (figures, detectors, text) in
        [(1, 40, &sentence), (60, 1, &word), (300, 40, &sentence), (300, 40, &word), (12, 6, &sentence)]
    {
        let mut run = base(&["fio", &word]);
        run.parsed.version = Some(word.clone());
        run.directory = format!("activebench-runs/{}", "d".repeat(50));
        run.verdict = RunVerdict::Discrepancy;
        for figure in 0..figures {
            let (id, phase) = (format!("c{figure}"), format!("{figure}-{word}"));
            run.phases.push(write_phase(&phase, &phase, figure * 1_000));
            let mut claimed = claim(&id, &phase, 1 << (figure % 30));
            if figure % 2 == 1 {
                claimed.metric = Metric::LatencyP99;
                claimed.value = Quantity::ns(1 << (figure % 40));
            }
            run.parsed.claims.push(claimed);
            run.judged.push(match figure % 3 {
                0 => cached_write(&id, 1.0, 0.001, text),
                1 => crate::parts::unverifiable(&id),
                _ => confirmed(&id, 400_000.0),
            });
            for detector in 0..detectors {
                let severity = if detector % 2 == 0 { Severity::Fail } else { Severity::Warn };
                let code = format!("AB{:03}", 100 + detector);
                run.findings.push(fires(&code, &word, severity, Some(&phase), &[&id], [text, text, text]));
            }
        }
        run.parsed.errors = (0..20).map(|line| crate::parts::note(line, &word, text)).collect();
        run.manifest.incomplete = vec![text.clone(), word.clone()];
        run.target = Some(JudgedTarget {
            text: word.clone(),
            met: None,
            threshold: Quantity::ns(1),
            figures: Vec::new(),
            sentence: text.clone(),
        });
        check_fits(&format!("{figures} figures, {detectors} detectors"), &run);
    }
}

#[test]
fn a_consequence_is_shown_below_its_cause_alone() {
    let text = glance(&samples::cached(), 100, false);
    for code in ["AB501", "AB701"] {
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('!') || line.starts_with('✗')).collect();
        assert!(!lines.iter().any(|line| line.contains(&format!(" {code} "))), "{code} has a line of its own:\n{text}");
    }
    // Without the cause it is one itself.
    let mut run = samples::cached();
    run.findings.retain(|finding| finding.code != "AB201" && finding.code != "AB302");
    let text = glance(&run, 100, false);
    assert!(text.contains("✗ AB501") || text.contains("! AB501"), "{text}");
}

#[test]
fn a_figure_that_is_not_what_it_seems_is_shown_or_counted() {
    let run = samples::many_claims();
    let wrong = run.judged.iter().filter(|judged| judged.verdict().is_contradicted()).count();
    let text = glance(&run, 80, false);
    let shown = text.lines().filter(|line| line.starts_with("  ") && line.contains("AB302")).count();
    assert_eq!(shown, wrong, "{text}");
}

#[test]
fn the_target_is_answered_in_the_second_line() {
    let mut run = samples::verified();
    let figure =
        TargetFigure { claim: "c1".into(), phase: "write".into(), honest: Some(kib_rate(434_921.0)), met: Some(false) };
    run.target = Some(JudgedTarget {
        text: "write >= 2 GiB/s".into(),
        met: Some(false),
        threshold: kib_rate(2_097_152.0),
        figures: vec![figure],
        sentence: "write 425 MiB/s, at least 2 GiB/s required.".into(),
    });
    let text = glance(&run, 80, false);
    let second = text.lines().nth(1).expect("a second line");
    assert_eq!(second, "TARGET MISSED: write 425 MiB/s, at least 2 GiB/s required.", "{text}");
}
