use activebench_model::figures::RunFigures;
use activebench_model::history::{Outcome, Trend};
use activebench_model::run::Manifest;
use activebench_model::verdict::ClaimVerdict;

use super::*;

const DAY_S: i64 = 86_400;

fn figure(phase: &str, metric: Metric, value: Quantity) -> RunFigure {
    RunFigure {
        phase: phase.to_owned(),
        metric,
        place: 0,
        subject: Subject::Device,
        claimed: Quantity { value: value.value * 2.0, ..value },
        honest: Some(value.value),
        no_honest: None,
        verdict: ClaimVerdict::Misleading,
        disk: Disk { name: Some("sda".into()), model: Some("ACME".into()), ..Disk::default() },
        foreign_io_ratio: Some(0.0),
    }
}

/// A run of one figure, so many days after the first.
fn run(day: i64, value: f64) -> Placed {
    let mut about = RunFigures::of(&Manifest::default());
    about.started_unix_s = day * DAY_S;
    about.tool = "fio".to_owned();
    about.load = "fio a.fio".to_owned();
    about.verdict = RunVerdict::Discrepancy;
    about.push(figure("write", Metric::Throughput, Quantity::bytes_per_sec(value)));
    Placed { directory: format!("runs/{day}"), run: about, in_baseline: false, is_later: false }
}

fn on(mut placed: Placed, serial: &str) -> Placed {
    placed.directory = format!("{serial}/{}", placed.directory);
    placed.run.figures.iter_mut().for_each(|figure| figure.disk.serial = Some(serial.to_owned()));
    placed
}

fn asked() -> Asked {
    Asked {
        kind: FigureKind::Honest,
        by: By::Device,
        side_by_side: true,
        figures: Vec::new(),
        baseline: None,
        limit_ratio: None,
    }
}

fn of(runs: Vec<Placed>, asked: &Asked) -> History {
    history(Reading::default(), runs, asked, &Thresholds::profile("default").expect("it is there"))
}

#[test]
fn no_runs_are_no_figures() {
    let history = of(Vec::new(), &asked());
    assert!(history.figures.is_empty() && history.runs.is_empty() && history.exit_code == 0);
}

#[test]
fn values_come_by_date_and_the_summary_is_that_of_the_honest_figures() {
    let history = of((0..8).rev().map(|day| run(day, 100.0 - day as f64)).collect(), &asked());
    let figure = &history.figures[0];
    let summary = figure.summary.as_ref().expect("there are values");
    let values: Vec<f64> = figure.points.iter().map(|point| point.value.expect("each has one").value).collect();
    assert_eq!(values, [100.0, 99.0, 98.0, 97.0, 96.0, 95.0, 94.0, 93.0]);
    assert_eq!((summary.median.value, summary.last.value, summary.most.value), (96.5, 93.0, 100.0));
    assert!(summary.interval.is_some() && matches!(figure.trend, Trend::Falling(_)));
    assert_eq!(figure.counts, Counts { counted: 8, of_discrepancy: 8, apart: 0, without: 0 });
    let claimed = of(vec![run(0, 100.0)], &Asked { kind: FigureKind::Claimed, ..asked() });
    assert_eq!(claimed.figures[0].summary.as_ref().map(|summary| summary.median.value), Some(200.0));
}

#[test]
fn runs_that_are_open_are_shown_and_not_counted_and_a_missing_figure_is_no_zero() {
    let mut runs: Vec<Placed> = (0..4).map(|day| run(day, 100.0)).collect();
    runs[1].run.verdict = RunVerdict::Inconclusive;
    runs[2].run.verdict = RunVerdict::Failed;
    runs[3].run.figures[0].honest = None;
    runs[3].run.figures[0].no_honest = Some("nothing was read".to_owned());
    let history = of(runs, &asked());
    let figure = &history.figures[0];
    assert_eq!(figure.counts, Counts { counted: 1, of_discrepancy: 1, apart: 2, without: 1 });
    let why: Vec<Option<&str>> = figure.points.iter().map(|point| point.why_not.as_deref()).collect();
    assert_eq!(why[0], None);
    assert_eq!(why[1], Some("the run is inconclusive: it may have measured a part of the load"));
    assert_eq!(why[3], Some("nothing was read"));
    assert_eq!(figure.points[3].value, None);
}

#[test]
fn units_subjects_loads_disks_and_hosts_are_never_mixed() {
    let mut unit = run(1, 5.0);
    unit.run.figures[0].claimed.unit = Unit::OpsPerSec;
    let mut subject = run(2, 5.0);
    subject.run.figures[0].subject = Subject::CachedFilesystem;
    let mut load = run(3, 5.0);
    load.run.load = "fio b.fio".to_owned();
    let mut host = run(4, 5.0);
    host.run.host = Some("other".to_owned());
    let mut twice = run(5, 5.0);
    twice.run.push(figure("write", Metric::Throughput, Quantity::bytes_per_sec(6.0)));
    let runs = vec![run(0, 5.0), unit, subject, load, host, on(run(6, 5.0), "S1"), twice];
    let history = of(runs, &asked());
    let groups: Vec<(&str, usize)> =
        history.figures.iter().map(|figure| (figure.group.as_str(), figure.points.len())).collect();
    let expected = [("ACME S1", 1), ("sda", 2), ("sda on other", 1), ("sda", 1), ("sda", 1), ("sda", 1), ("sda", 1)];
    assert_eq!(groups, expected);
    let models = of(vec![run(0, 5.0), on(run(1, 5.0), "S1")], &Asked { by: By::Model, ..asked() });
    assert_eq!(models.figures.len(), 1);
    assert_eq!(models.figures[0].varied["device"], ["sda", "ACME S1"]);
    let hosts = of(vec![run(0, 5.0)], &Asked { by: By::Host, ..asked() });
    assert_eq!(hosts.figures[0].group, "host not known");
}

#[test]
fn what_changed_between_the_runs_is_told_in_its_order() {
    let mut runs: Vec<Placed> = (0..3).map(|day| run(day, 1.0)).collect();
    runs[0].run.kernel = "6.1".to_owned();
    runs[1].run.kernel = "6.12".to_owned();
    runs[2].run.kernel = "6.1".to_owned();
    let history = of(runs, &asked());
    assert_eq!(history.figures[0].varied.len(), 1);
    assert_eq!(history.figures[0].varied["kernel"], ["6.1", "6.12"]);
}

#[test]
fn figures_are_chosen_by_phase_and_metric() {
    let mut placed = run(0, 1.0);
    placed.run.push(figure("write-4k", Metric::LatencyP99, Quantity::ns(5)));
    placed.run.push(figure("rewrite", Metric::Throughput, Quantity::bytes_per_sec(5.0)));
    for (phase, metric, expected) in [
        (None, None, 3),
        (Some("write"), None, 2),
        (Some("write"), Some(Metric::Throughput), 1),
        (Some("write-4k"), None, 1),
        (Some("writ"), None, 0),
        (None, Some(Metric::Throughput), 2),
    ] {
        let wanted = Wanted { phase: phase.map(str::to_owned), metric };
        let history = of(vec![placed.clone()], &Asked { figures: vec![wanted], ..asked() });
        assert_eq!(history.figures.len(), expected, "{phase:?} {metric:?}");
        assert_eq!(history.reading.without_figures, usize::from(expected == 0));
    }
}

#[test]
fn later_runs_are_held_against_the_baseline_and_a_limit_gives_the_exit_code() {
    let runs = |later: &[f64]| -> Vec<Placed> {
        let base = [100.0, 101.0, 99.0, 100.5, 99.5];
        let all = base.iter().chain(later).zip(0..);
        all.map(|(value, day)| Placed { in_baseline: day < 5, is_later: day >= 5, ..run(day, *value) }).collect()
    };
    let with = |limit_ratio| Asked { baseline: Some("base".to_owned()), limit_ratio, ..asked() };
    for (later, limit, outcome, exit_code) in [
        (&[90.0, 91.0, 89.0, 90.5][..], Some(0.05), Some(Outcome::Worse), 1),
        (&[90.0, 91.0, 89.0, 90.5], Some(0.2), Some(Outcome::Worse), 0),
        (&[90.0, 91.0, 89.0, 90.5], None, Some(Outcome::Worse), 0),
        (&[110.0, 111.0, 109.0, 110.5], Some(0.05), Some(Outcome::Better), 0),
        (&[100.0, 100.4, 99.6, 100.2], Some(0.0), Some(Outcome::NoDifferenceSeen), 0),
        (&[100.0, 98.0, 99.6, 100.2], Some(0.0), Some(Outcome::NoDifferenceSeen), 0),
        // The middle is worse by half, but the interval contains 1: no difference is shown.
        (&[40.0, 100.2, 50.0, 102.0], Some(0.05), Some(Outcome::NoDifferenceSeen), 3),
        (&[40.0, 100.2, 50.0, 102.0], None, Some(Outcome::NoDifferenceSeen), 0),
        (&[50.0], Some(0.05), None, 3),
        (&[], Some(0.05), None, 3),
        (&[], None, None, 0),
    ] {
        let history = of(runs(later), &with(limit));
        let found = match history.figures[0].against.as_ref().expect("there is a baseline") {
            AgainstBaseline::Compared { outcome, .. } => Some(*outcome),
            AgainstBaseline::NotCompared { .. } => None,
        };
        assert_eq!((found, history.exit_code), (outcome, exit_code), "{later:?}");
    }
    // A figure that the baseline does not have is not an open question.
    let elsewhere = vec![Placed { is_later: true, ..run(0, 5.0) }];
    let history = of(elsewhere, &with(Some(0.05)));
    let Some(AgainstBaseline::NotCompared { open, .. }) = &history.figures[0].against else { panic!("not compared") };
    assert_eq!((*open, history.exit_code), (false, 3), "but when nothing at all was compared, nothing is known");
}

/// An honest run of many figures must not fail because one of them is far away by chance.
#[test]
fn of_many_figures_one_that_is_far_away_is_an_open_question() {
    let runs = |figures: usize, days: i64| -> Vec<Placed> {
        let run = |day: i64| {
            let (far, level) = (day >= days / 2, 100.0 + 0.1 * (day * 7 % days) as f64);
            let mut placed = run(day, if far { 0.5 * level } else { level });
            for number in 1..figures {
                let value = Quantity::bytes_per_sec(level);
                placed.run.push(figure(&format!("read-{number}"), Metric::Throughput, value));
            }
            Placed { in_baseline: !far, is_later: far, ..placed }
        };
        (0..days).map(run).collect()
    };
    let asked = Asked { baseline: Some("base".to_owned()), limit_ratio: Some(0.05), ..asked() };
    for (figures, days, failing, open, exit_code) in
        [(1, 8, 1, 0, 1), (2, 8, 0, 1, 3), (2, 10, 1, 0, 1), (20, 10, 0, 1, 3), (20, 12, 1, 0, 1)]
    {
        let history = of(runs(figures, days), &asked);
        let gate = history.baseline.as_ref().and_then(|baseline| baseline.gate.as_ref()).expect("there is a limit");
        let found = (gate.compared, gate.failing.len(), gate.open.len(), history.exit_code);
        assert_eq!(found, (figures, failing, open, exit_code), "{figures} figures of {days} runs");
        assert_eq!(gate.least_runs <= days as usize / 2, failing > 0);
    }
}

#[test]
fn the_disk_that_is_far_from_the_others_is_named_and_stays() {
    let disks = |values: &[f64]| {
        let runs = values.iter().zip(1..).map(|(value, number)| on(run(number, *value), &format!("S{number}")));
        of(runs.collect(), &asked())
    };
    let batch = disks(&[100.0, 101.0, 99.0, 100.5, 60.0, 99.5]);
    let batch = &batch.batches[0];
    let named: Vec<&str> = batch.members.iter().filter(|m| m.outlier).map(|member| member.group.as_str()).collect();
    assert_eq!((named, batch.members.len(), &batch.not_judged), (vec!["ACME S5"], 6, &None));
    assert_eq!(batch.members[5].group, "ACME S5", "from the largest down");
    let few = disks(&[100.0, 60.0, 100.0]);
    assert_eq!(few.batches[0].not_judged.as_deref(), Some("5 are needed to name an outlier, and 3 have this figure"));
    let equal = disks(&[100.0, 100.0, 100.0, 100.0, 60.0]);
    assert!(equal.batches[0].not_judged.is_some() && equal.batches[0].members.iter().all(|m| !m.outlier));
    assert!(disks(&[100.0]).batches.is_empty(), "one disk is not a batch");
}
