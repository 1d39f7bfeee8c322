//! Series of runs: their cases, and what becomes of the verdicts of their runs.

use std::path::Path;

use activebench_detect::context::{Detector, Series};
use activebench_detect::series::judge;
use activebench_detect::statistics::figures;
use activebench_detect::thresholds::Thresholds;
use activebench_model::claim::Metric;
use activebench_model::finding::Finding;
use activebench_model::run::FailOn;
use activebench_model::series::{Beginning, ClaimOfRun, FORMAT, RunOfSeries, SeriesManifest};
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
    pub(crate) fn judge(&self, detector: &dyn Detector) -> Vec<Finding> {
        let figures = figures(&self.runs);
        detector.judge_series(&Series {
            manifest: &self.manifest,
            runs: &self.runs,
            figures: &figures,
            thresholds: &self.thresholds,
        })
    }
}

pub(crate) fn case(path: &Path) -> Case {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let written: Written = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
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
        runs.push(run);
    }
    let mut thresholds = Thresholds::profile("default").expect("the profile exists");
    thresholds.steady_state_required = written.steady_state_required;
    Case { says: written.says, manifest: manifest(runs.len() as u32), runs, thresholds }
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
    let seen: Vec<_> = figures.iter().map(|figure| (figure.id.as_str(), figure.values.clone())).collect();
    assert_eq!(seen, [("f1", vec![Some(1e6), Some(3e6)]), ("f2", vec![Some(1e7), None])]);
    assert_eq!((figures[0].median.value, figures[0].spread_ratio), (2e6, Some(1.0)));
    assert_eq!(figures[1].deviation, None);
}
