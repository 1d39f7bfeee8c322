//! Series of runs: their cases, and what becomes of the verdicts of their runs.

use std::path::Path;

use activebench_detect::detector::Detector;
use activebench_detect::run::Series;
use activebench_detect::series::statistics::figures;
use activebench_detect::series::stopping::stopping;
use activebench_detect::series::{computed, judge};
use activebench_detect::thresholds::Thresholds;
use activebench_model::claim::Metric;
use activebench_model::finding::Finding;
use activebench_model::run::FailOn;
use activebench_model::series::{
    Beginning, Circumstance, CircumstanceKind, Circumstances, ClaimOfRun, FORMAT, RunOfSeries, SeriesManifest, Until,
};
use activebench_model::units::{Quantity, Unit};
use activebench_model::verdict::{ClaimVerdict, RunVerdict};
use serde::Deserialize;

/// A case of a series as its file says it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    says: String,
    /// Throughput of the phase `read` in each run, in MB/s.
    values: Vec<Option<f64>>,
    /// Half a step of the printed number, in MB/s.
    #[serde(default)]
    resolution: f64,
    /// Another kind of number than throughput; its values are in its own unit.
    #[serde(default)]
    metric: Option<Metric>,
    /// `pts` and its kin.
    #[serde(default)]
    steady_state_required: bool,
    #[serde(default)]
    region_blocks: Option<f64>,
    /// First offsets of each run: `count` of them from `from` on, in steps of 4 KiB.
    #[serde(default)]
    offsets: Vec<Offsets>,
    /// Honest throughput of each run in MB/s, where the claims are misleading; null where it is not known.
    #[serde(default)]
    honest: Vec<Option<f64>>,
    /// Share of the device's bytes that others moved in each run; null where it is not known.
    #[serde(default)]
    foreign: Vec<Option<f64>>,
    /// Limit of the control group that each run reached, in MB/s; null where none was.
    #[serde(default)]
    limits: Vec<Option<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Offsets {
    from: u64,
    count: u64,
}

/// A series, owned.
pub(crate) struct Case {
    pub(crate) says: String,
    manifest: SeriesManifest,
    runs: Vec<RunOfSeries>,
    pub(crate) thresholds: Thresholds,
}

impl Case {
    pub(crate) fn judge(&self, detector: &Detector) -> Vec<Finding> {
        let (figures, steadiness) = computed(&self.runs, &self.thresholds);
        detector.judge_series(&Series {
            manifest: &self.manifest,
            runs: &self.runs,
            figures: &figures,
            steadiness: &steadiness,
            thresholds: &self.thresholds,
        })
    }
}

pub(crate) fn case(path: &Path) -> Case {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    read(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

fn read(written: Written) -> Case {
    let mut runs = Vec::new();
    for (index, value) in written.values.iter().enumerate() {
        let mut run = run(index as u32 + 1, RunVerdict::Verified);
        run.claims = value.iter().map(|value| claim(*value, written.resolution, written.metric)).collect();
        if let Some(Offsets { from, count }) = written.offsets.get(index) {
            run.beginnings = vec![Beginning {
                phase: "read".to_owned(),
                first_offsets: vec![(*from..from + count).map(|block| block * 4096).collect()],
                region_blocks: written.region_blocks,
            }];
        }
        if let Some(honest) = written.honest.get(index) {
            for claim in &mut run.claims {
                claim.verdict = ClaimVerdict::Misleading;
                claim.corrected = honest.map(|value| Quantity { value: value * 1e6, ..claim.value });
            }
        }
        run.circumstances = vec![Circumstances { phase: "read".to_owned(), seen: seen(&written, index) }];
        runs.push(run);
    }
    let mut thresholds = Thresholds::profile("default").expect("the profile exists");
    thresholds.steady_state_required = written.steady_state_required;
    Case { says: written.says, manifest: manifest(runs.len() as u32), runs, thresholds }
}

fn seen(written: &Written, index: usize) -> Vec<Circumstance> {
    let known = |of: &[Option<f64>]| of.get(index).copied().flatten();
    let share = |kind, value| Circumstance { kind, value: Quantity::ratio(value) };
    let foreign = known(&written.foreign).map(|value| share(CircumstanceKind::ForeignIo, value));
    let limit = known(&written.limits);
    let reached = share(CircumstanceKind::AtLimit, f64::from(u8::from(limit.is_some())));
    let limit = limit.map(|value| Circumstance {
        kind: CircumstanceKind::IoLimit,
        value: Quantity { value: value * 1e6, unit: Unit::BytesPerSec },
    });
    foreign.into_iter().chain(limit).chain((!written.limits.is_empty()).then_some(reached)).collect()
}

fn claim(value: f64, resolution: f64, metric: Option<Metric>) -> ClaimOfRun {
    let (factor, unit) = match metric {
        None | Some(Metric::Throughput) => (1e6, Unit::BytesPerSec),
        Some(_) => (1.0, Unit::Ns),
    };
    ClaimOfRun {
        phase: "read".to_owned(),
        metric: metric.unwrap_or(Metric::Throughput),
        value: Quantity { value: value * factor, unit },
        resolution: resolution * factor,
        of_storage: true,
        verdict: ClaimVerdict::Confirmed,
        corrected: None,
    }
}

fn run(number: u32, verdict: RunVerdict) -> RunOfSeries {
    RunOfSeries {
        number,
        directory: number.to_string(),
        started_unix_s: 0,
        verdict,
        exit_code: match verdict {
            RunVerdict::Verified | RunVerdict::Qualified => 0,
            RunVerdict::Discrepancy => 1,
            RunVerdict::Inconclusive => 3,
            RunVerdict::Failed => 4,
        },
        claims: Vec::new(),
        beginnings: Vec::new(),
        circumstances: Vec::new(),
        preparation: None,
    }
}

fn manifest(planned_runs: u32) -> SeriesManifest {
    let argv = vec!["fio".to_owned(), "--name=a".to_owned()];
    let command = activebench_model::command::CommandLine { argv, ..Default::default() };
    SeriesManifest {
        format: FORMAT,
        activebench: "0.1.0".to_owned(),
        command,
        planned_runs,
        until: None,
        preconditioning: None,
        runs: (1..=planned_runs).map(|number| number.to_string()).collect(),
        choices: Default::default(),
        incomplete: Vec::new(),
    }
}

#[test]
fn a_series_is_as_good_as_its_worst_run_and_its_own_findings() {
    use RunVerdict::{Discrepancy, Failed, Inconclusive, Qualified, Verified};
    for (verdicts, values, fail_on, expected) in [
        (vec![Verified; 5], [100.0, 101.0, 100.0, 99.0, 100.0], FailOn::Fail, (Verified, 0)),
        (vec![Verified; 5], [100.0, 101.0, 100.0, 99.0, 110.0], FailOn::Fail, (Qualified, 0)),
        (vec![Verified; 5], [100.0, 101.0, 100.0, 99.0, 110.0], FailOn::Warn, (Qualified, 1)),
        (vec![Verified, Inconclusive, Verified, Verified, Verified], [100.0; 5], FailOn::Fail, (Inconclusive, 3)),
        (vec![Verified, Inconclusive, Discrepancy, Verified, Verified], [100.0; 5], FailOn::Fail, (Discrepancy, 1)),
        (vec![Failed, Inconclusive, Discrepancy, Verified, Verified], [100.0; 5], FailOn::Fail, (Failed, 4)),
    ] {
        let runs: Vec<RunOfSeries> = verdicts
            .iter()
            .zip(values)
            .enumerate()
            .map(|(index, (verdict, value))| RunOfSeries {
                claims: vec![claim(value, 0.5, None)],
                ..run(index as u32 + 1, *verdict)
            })
            .collect();
        let mut manifest = manifest(5);
        manifest.choices.fail_on = fail_on;
        let thresholds = Thresholds::profile("default").expect("the profile exists");
        let judged = judge(manifest, "series".to_owned(), runs, &thresholds);
        assert_eq!((judged.verdict, judged.exit_code), expected, "{verdicts:?} {values:?}: {}", judged.because);
    }
}

#[test]
fn a_series_that_was_cut_short_is_inconclusive_and_an_empty_one_too() {
    let thresholds = Thresholds::profile("default").expect("the profile exists");
    let empty = judge(manifest(5), "series".to_owned(), Vec::new(), &thresholds);
    assert_eq!((empty.verdict, empty.exit_code), (RunVerdict::Inconclusive, 3));
    assert!(empty.figures.is_empty() && !empty.findings.is_empty());
    let mut cut = manifest(5);
    cut.incomplete = vec!["interrupted".to_owned()];
    let judged = judge(cut, "series".to_owned(), vec![run(1, RunVerdict::Verified)], &thresholds);
    assert_eq!((judged.verdict, judged.exit_code), (RunVerdict::Inconclusive, 3));
    assert!(judged.because.contains("1 of 5 runs"), "{}", judged.because);
}

#[test]
fn figures_of_runs_are_paired_by_phase_kind_and_place() {
    let claims = |values: &[f64]| values.iter().map(|value| claim(*value, 0.0, None)).collect();
    let one = RunOfSeries { claims: claims(&[1.0, 10.0]), ..run(1, RunVerdict::Verified) };
    let two = RunOfSeries { claims: claims(&[3.0]), ..run(2, RunVerdict::Verified) };
    let figures = figures(&[one, two]);
    let seen: Vec<_> = figures.iter().map(|figure| (figure.id.as_str(), figure.claimed.values.clone())).collect();
    assert_eq!(seen, [("f1", vec![Some(1e6), Some(3e6)]), ("f2", vec![Some(1e7), None])]);
    assert_eq!((figures[0].claimed.median.value, figures[0].claimed.spread_ratio), (2e6, Some(1.0)));
    assert_eq!(figures[1].claimed.deviation, None);
}

#[test]
fn a_series_goes_on_until_it_has_what_was_asked_for() {
    let thresholds = Thresholds::profile("default").expect("the profile exists");
    let within = |ratio| Until::MedianWithin { ratio };
    // Six values: the interval is from the least to the most, 6 of a median of 100.
    let six = [100.0, 97.0, 103.0, 100.0, 100.0, 100.0];
    for (values, until, reached, says) in [
        (&six[..5], within(0.5), false, "6 runs are needed"),
        (&six[..], within(0.06), true, "6 % of it, at most 6 %"),
        (&six[..], within(0.0599), false, "6 % of it, at most 5.99 %"),
        (&six[..4], Until::SteadyState, false, "5 rounds are needed, and there are 4"),
        (&six[..], Until::SteadyState, true, "rounds 2 to 6"),
        (&[100.0, 100.0, 100.0, 100.0, 150.0][..], Until::SteadyState, false, "rounds 1 to 5"),
        (&[0.0; 6][..], within(0.5), false, "6 runs are needed"),
        (&[][..], within(0.5), false, "no run states a rate"),
    ] {
        let runs: Vec<RunOfSeries> = (1..)
            .zip(values)
            .map(|(number, value)| RunOfSeries {
                claims: vec![claim(*value, 0.0, None)],
                ..run(number, RunVerdict::Verified)
            })
            .collect();
        let (figures, steadiness) = computed(&runs, &thresholds);
        let found = stopping(until, &figures, &steadiness);
        assert!(found.reached == reached && found.because.contains(says), "{values:?} {until:?}: {found:?}");
    }
}

#[test]
fn a_target_that_was_not_reached_is_said_and_no_success() {
    let thresholds = Thresholds::profile("default").expect("the profile exists");
    let runs: Vec<RunOfSeries> = (1..=6)
        .map(|number| RunOfSeries {
            claims: vec![claim(100.0 + f64::from(number), 0.0, None)],
            ..run(number, RunVerdict::Verified)
        })
        .collect();
    for (ratio, expected) in [(0.04, (RunVerdict::Inconclusive, 3)), (0.06, (RunVerdict::Verified, 0))] {
        let mut manifest = manifest(6);
        manifest.until = Some(Until::MedianWithin { ratio });
        let judged = judge(manifest, "series".to_owned(), runs.clone(), &thresholds);
        assert_eq!((judged.verdict, judged.exit_code), expected, "{}", judged.because);
        let said = judged.because.starts_with("target not reached in 6 runs: read: ");
        assert_eq!(said, judged.exit_code == 3, "{}", judged.because);
    }
}

#[test]
fn a_cause_moves_a_latency_up_where_it_moves_a_rate_down() {
    let foreign = serde_json::json!([0, 0.25, 0.001, 0.4, 0.002, 0]);
    let (falls, climbs) = ([100, 70, 101, 55, 99, 100], [100, 140, 99, 180, 101, 100]);
    for (metric, values, named) in [
        (Metric::Throughput, falls, true),
        (Metric::Throughput, climbs, false),
        (Metric::LatencyP99, climbs, true),
        (Metric::LatencyP99, falls, false),
        (Metric::SyncLatencyMean, climbs, true),
        (Metric::TimePerOperation, climbs, true),
        // More of it is neither better nor worse.
        (Metric::OperationsDone, falls, false),
        (Metric::CpuSystem, falls, false),
        (Metric::CpuSystem, climbs, false),
    ] {
        let found = causes(serde_json::json!({"metric": metric, "values": values, "foreign": foreign}));
        assert_eq!(found, if named { vec![CircumstanceKind::ForeignIo] } else { Vec::new() }, "{metric:?} {values:?}");
    }
}

#[test]
fn what_chance_may_do_is_shared_by_the_circumstances_that_are_compared() {
    // r^2 is 0.826 and t 4.36, which chance gives 0.60 % of the time: less than 1 %, more than half of it.
    let values = [100, 92, 81, 88, 70, 72];
    let alone = serde_json::json!({"values": values, "foreign": [0, 0.1, 0.2, 0.3, 0.4, 0.5]});
    assert_eq!(causes(alone.clone()), [CircumstanceKind::ForeignIo]);
    let with = |limits: [u32; 6]| {
        let mut both = alone.clone();
        both["limits"] = serde_json::json!(limits);
        causes(both)
    };
    assert_eq!(with([40, 20, 40, 40, 20, 40]), []);
    // Circumstances that do not differ are not compared.
    assert_eq!(with([40; 6]), [CircumstanceKind::ForeignIo]);
}

/// The kinds of the causes that are named for the first figure of a written case.
fn causes(mut written: serde_json::Value) -> Vec<CircumstanceKind> {
    written["says"] = "".into();
    let case = read(serde_json::from_value(written).expect("a case"));
    let (figures, _) = computed(&case.runs, &case.thresholds);
    figures[0].causes.iter().map(|cause| cause.kind).collect()
}

#[test]
fn a_series_is_not_long_enough_while_its_last_rounds_are_not_known() {
    let within = |ratio| Until::MedianWithin { ratio };
    for (values, honest, until, reached, says) in [
        // Of the last five rounds one states nothing; five more are needed.
        ("[100, 100, null, 100, 100, 100]", "[]", Until::SteadyState, false, "run 3 does not state the figure"),
        ("[100, 100, null, null, 100, 100]", "[]", Until::SteadyState, false, "runs 3, 4 do not state the figure"),
        ("[100, 100, 100, 100, 100, null]", "[]", Until::SteadyState, false, "run 6 does not state the figure"),
        ("[100, null, 100, 100, 100, 100, 100]", "[]", Until::SteadyState, true, "rounds 3 to 7"),
        // Refuted claims are not compared.
        ("[200, 200, 200, 200, 200]", "[100, 90, null, 70, 60]", Until::SteadyState, false, "figure of run 3 is not"),
        ("[200, 200, 200, 200, 200]", "[null, 90, null, 70, 60]", Until::SteadyState, false, "of runs 1, 3 are not"),
        // Runs that all measure something else, without a corrected figure, have that in common.
        ("[200, 200, 200, 200, 200]", "[null, null, null, null, null]", Until::SteadyState, true, "rounds 1 to 5"),
        ("[200, 200, 200, 200, 200, 200]", "[null, 90, 90, 90, 90, 90]", Until::SteadyState, true, "rounds 2 to 6"),
        ("[0, 0, 0, 0, 0]", "[]", Until::SteadyState, false, "the mean of the rounds is 0"),
        ("[9, 9, 9, 9, 9, 9, 9]", "[null, 8, 8, 8, 8, 8, 8]", within(0.5), false, "figure of run 1 is not known"),
        ("[9, 9, 9, 9, 9]", "[8, 8, 8, 8, 8]", within(0.5), false, "6 runs are needed"),
        ("[9, 9, 9, 9, 9, 9]", "[8, 8, 8, 8, 8, 8]", within(0.5), true, "the median of honest figures spans"),
    ] {
        let text = format!(r#"{{"says": "", "values": {values}, "honest": {honest}}}"#);
        let case = read(serde_json::from_str(&text).expect("a case"));
        let (figures, steadiness) = computed(&case.runs, &case.thresholds);
        let found = stopping(until, &figures, &steadiness);
        assert!(found.reached == reached && found.because.contains(says), "{text} {until:?}: {found:?}");
    }
    // One that is refuted is not what the run did.
    for (until, says) in
        [(Until::SteadyState, "runs 2, 3, 4, 5, 6 are not"), (within(0.5), "runs 1, 2, 3, 4, 5, 6 are")]
    {
        let refuted = |number| ClaimOfRun { verdict: ClaimVerdict::Refuted, ..claim(f64::from(number), 0.0, None) };
        let run = |number| RunOfSeries { claims: vec![refuted(100)], ..run(number, RunVerdict::Discrepancy) };
        let (figures, steadiness) = computed(
            &(1..=6).map(run).collect::<Vec<_>>(),
            &Thresholds::profile("default").expect("the profile exists"),
        );
        let found = stopping(until, &figures, &steadiness);
        assert!(!found.reached && found.because.contains(says), "{until:?}: {found:?}");
    }
}

#[test]
fn a_limit_of_which_no_run_knows_better_still_explains_the_claims() {
    let honest = [(); 6];
    let written = serde_json::json!({"values": [40, 40.2, 39.9, 20.1, 20, 20.2], "honest": honest, "limits": [40, 40, 40, 20, 20, 20]});
    assert_eq!(causes(written), [CircumstanceKind::IoLimit]);
}

#[test]
fn one_warning_and_one_question_are_said_in_the_singular() {
    for (values, because) in [
        (vec![100.0, 101.0, 100.0, 99.0, 110.0], "1 warning"),
        (vec![100.0, 101.0, 100.0, 99.0, 140.0], "3 warnings"),
        (vec![100.0, 101.0, 100.0, 99.0], "no warnings. Whether the runs agree takes at least 6 runs"),
    ] {
        let runs = (1..).zip(&values).map(|(number, value)| RunOfSeries {
            claims: vec![claim(*value, 0.5, None)],
            ..run(number, RunVerdict::Verified)
        });
        let thresholds = Thresholds::profile("default").expect("the profile exists");
        let judged = judge(manifest(values.len() as u32), "series".to_owned(), runs.collect(), &thresholds);
        assert_eq!((judged.verdict, judged.because.as_str()), (RunVerdict::Qualified, because), "{values:?}");
    }
}

#[test]
fn evidence_that_is_not_as_the_runs_say_is_told_without_a_count_of_runs() {
    let mut manifest = manifest(5);
    manifest.incomplete = vec!["the preconditioning is another".to_owned()];
    let runs = (1..=5).map(|number| run(number, RunVerdict::Verified)).collect();
    let thresholds = Thresholds::profile("default").expect("the profile exists");
    let judged = judge(manifest, "series".to_owned(), runs, &thresholds);
    assert_eq!((judged.verdict, judged.because.as_str()), (RunVerdict::Inconclusive, "the preconditioning is another"));
}
