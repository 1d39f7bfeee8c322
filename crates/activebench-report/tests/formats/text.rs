//! `text`: snapshots of every sample, and properties of all of them.

use activebench_model::finding::Outcome;
use activebench_model::verdict::RunVerdict;
use activebench_report::Style;

use crate::samples;

fn render(run: &activebench_model::report::JudgedRun, colour: bool, width: Option<u16>) -> String {
    samples::styled("text", run, Style { colour, width, ..Style::default() })
}

#[test]
fn every_sample_reads_as_intended() {
    for (name, run) in samples::all() {
        insta::assert_snapshot!(name, render(&run, false, None));
    }
}

#[test]
fn a_qualified_run_without_a_warning_says_what_could_not_be_decided() {
    let mut run = samples::qualified();
    run.findings.retain(|finding| finding.outcome != Outcome::Fires);
    let text = render(&run, false, None);
    assert!(text.contains("confirmed; AB601 could not be decided"), "{text}");
    run.findings.clear();
    assert!(!render(&run, false, None).contains("could not be decided"));
}

#[test]
fn a_narrow_terminal_still_shows_every_column() {
    insta::assert_snapshot!("narrow", render(&samples::misleading(), false, Some(60)));
    insta::assert_snapshot!("columns_80", render(&samples::misleading(), false, Some(80)));
}

#[test]
fn colours_are_set_where_a_verdict_stands() {
    insta::assert_snapshot!("colour", render(&samples::misleading(), true, None).replace('\x1b', "ESC"));
}

#[test]
fn a_normal_run_fits_one_screen() {
    for run in
        [samples::misleading(), samples::cached(), samples::verified(), samples::throughput(), samples::many_claims()]
    {
        let lines = render(&run, false, None).lines().count();
        // Seven of the lines are the answers to the seven questions.
        assert!(lines <= 52, "{lines} lines");
    }
}

#[test]
fn only_what_is_copied_is_wider_than_the_terminal() {
    for (name, run) in samples::all() {
        for width in [60, 72, 100, 160] {
            for line in render(&run, false, Some(width)).lines() {
                let is_copied = ["run ", "next ", "          "].iter().any(|start| line.starts_with(start));
                assert!(
                    is_copied || textwrap::core::display_width(line) <= usize::from(width),
                    "{name} {width}: {line}"
                );
            }
        }
    }
}

#[test]
fn a_run_that_one_measurement_leaves_open_says_why() {
    let mut run = samples::script();
    let open = "a later measurement wrote to o.json, too: its figures are those of the last";
    run.measurements[0].verdict = RunVerdict::Inconclusive;
    run.measurements[0].because = open.to_owned();
    run.judged[1] = run.judged[0].clone();
    run.findings[0].outcome = Outcome::Undecided;
    run.verdict = RunVerdict::Inconclusive;
    let report = render(&run, false, Some(400));
    assert!(report.contains(&format!("Measurement 1 (iozone): {open}")), "{report}");
}

#[test]
fn a_run_full_of_discrepancies_stays_short() {
    let mut run = samples::many_claims();
    let (wrong, finding) = (run.judged[7].clone(), run.findings[0].clone());
    run.findings.clear();
    for (index, judged) in run.judged.iter_mut().enumerate() {
        judged.clone_from(&activebench_model::verdict::JudgedClaim::misleading(
            &judged.claim,
            wrong.observed(),
            wrong.measured_instead.clone(),
            Err(String::new()),
        ));
        judged.findings.clone_from(&wrong.findings);
        judged.no_correction = None;
        let mut corrected = wrong.corrected.clone().expect("it is misleading");
        corrected.meaning = format!("durable write rate over {index} ms");
        judged.corrected = Some(corrected);
        let mut finding = finding.clone();
        finding.phase = Some(run.phases[index].id.clone());
        finding.message = format!("the fsync ended {index} ms after the clock had stopped").into();
        run.findings.push(finding);
    }
    let report = render(&run, false, None);
    assert!(report.lines().count() <= 62, "{report}");
    for expected in
        ["none of the 200 figures is valid", "and 176 more that are wrong or could not be verified", "and 194 more"]
    {
        assert!(report.contains(expected), "{expected}:\n{report}");
    }
}

#[test]
fn no_finding_that_fires_is_lost() {
    for (name, run) in samples::all() {
        // Its codes and phases are as hostile as its text, and are shown escaped.
        if name == "hostile" {
            continue;
        }
        let report = render(&run, false, Some(1_000));
        for finding in run.findings.iter().filter(|finding| finding.outcome == Outcome::Fires) {
            let phase = match &finding.phase {
                None => "the whole run",
                Some(id) => run.phases.iter().find(|phase| phase.id == *id).map_or(id, |phase| match name {
                    "many_claims" => &phase.id,
                    _ => &phase.name,
                }),
            };
            let is_said = |line: &str| {
                let in_title = line.contains(&format!("[{}]  {} (", finding.code, finding.name));
                let in_notes = line.contains(&format!("{} {} (", finding.code, finding.name));
                (in_title || in_notes) && line.contains(phase)
            };
            assert!(report.lines().any(is_said), "{name}: {} on {phase}:\n{report}", finding.code);
        }
    }
}

#[test]
fn what_is_said_of_several_claims_of_a_phase_is_said_once() {
    let once = samples::throughput();
    let mut often = once.clone();
    for message in ["the window lasted 320 ms", "another claim says the window lasted 320 ms"] {
        let mut finding = once.findings[0].clone();
        finding.message = message.into();
        often.findings.push(finding);
    }
    assert_eq!(render(&often, false, None), render(&once, false, None));
}

#[test]
fn the_reason_to_suppress_is_given_once() {
    let run = samples::suppressed();
    for format in ["text", "markdown"] {
        let report = samples::of_run(format, &run);
        assert_eq!(report.matches("agreed with the vendor").count(), 1, "{report}");
    }
}

#[test]
fn codes_are_all_shown_or_counted_where_they_do_not_fit() {
    for (width, expected) in
        [(None, "misleading AB302 AB501 AB701"), (Some(92), "misleading AB302 +2"), (Some(80), "AB302")]
    {
        let report = render(&samples::cached(), false, width);
        assert!(report.contains(expected), "{width:?}: {report}");
    }
}

#[test]
fn who_passes_a_run_on_is_told_what_is_in_it() {
    let mut run = samples::verified();
    assert!(!render(&run, false, None).contains("what the tool wrote"));
    let payload = run.manifest.coverage.payload.as_mut().expect("sampled");
    payload.kept_bytes = 8192;
    let text = render(&run, false, Some(400));
    assert!(text.contains("8 KiB of what the tool wrote are kept in the run directory"), "{text}");
}
