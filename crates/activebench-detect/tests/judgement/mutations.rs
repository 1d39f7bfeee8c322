//! Every threshold matters: twice or half of it changes what some case is judged.

use std::path::PathBuf;

use activebench_detect::detector::Detector;
use activebench_detect::registry::DETECTORS;
use activebench_detect::thresholds::Thresholds;
use activebench_model::finding::{Effect, Finding, Outcome, Severity};
use activebench_model::units::Unit;

use crate::cases::{self, Stored};
use crate::series;

/// The outcome of a finding without its words, which may change with any threshold.
pub(crate) type Weight = (Option<String>, Outcome, Option<Severity>, Option<Effect>);

pub(crate) fn weight(finding: &Finding) -> Weight {
    (finding.phase.clone(), finding.outcome, finding.severity, finding.effect)
}

/// A case of a run, or of a series of runs.
enum Case {
    Run(Box<Stored>),
    Series(Box<series::Case>),
}

impl Case {
    fn judged(&mut self, detector: &Detector, thresholds: &Thresholds) -> Vec<Weight> {
        let findings = match self {
            Case::Run(stored) => {
                // Requirements of a profile besides the numbers are the case's own.
                let requires_preconditioning = stored.thresholds.requires_preconditioning;
                stored.thresholds = Thresholds { requires_preconditioning, ..thresholds.clone() };
                detector.judge(&stored.run())
            }
            Case::Series(case) => {
                // Settings of a case besides the numbers are its own.
                let steady_state_required = case.thresholds.steady_state_required;
                case.thresholds = Thresholds { steady_state_required, ..thresholds.clone() };
                case.judge(detector)
            }
        };
        findings.iter().map(weight).collect()
    }
}

/// Every case, of runs or of series.
fn every_case(of_series: bool) -> Vec<Case> {
    let read = |path: &PathBuf| match of_series {
        true => Case::Series(Box::new(series::case(path))),
        false => Case::Run(Box::new(cases::case(path))),
    };
    let detectors = DETECTORS.iter().filter(|detector| detector.is_of_the_series() == of_series);
    let folders = detectors.map(|detector| format!("{}-{}", detector.code.to_lowercase(), detector.name));
    let paths = folders.flat_map(|folder| cases::files(&cases::fixtures().join(folder)));
    paths.map(|path| read(&path)).collect()
}

#[test]
fn twice_or_half_of_any_threshold_changes_a_judgement() {
    let base = Thresholds::profile("default").expect("the profile exists");
    let (mut of_runs, mut of_series) = (every_case(false), every_case(true));
    let mut idle = Vec::new();
    // Bottlenecks are not judgements, and the tolerance that confirms a claim does not belong to a detector;
    // `limiter.rs` and `verdicts.rs` beside this have cases on both sides of their thresholds.
    let of_detectors = |name: &str| !["limiter_", "confirmed_", "corrected_"].iter().any(|of| name.starts_with(of));
    for (name, threshold) in base.table().into_iter().filter(|(name, _)| of_detectors(name)) {
        let code = format!("AB{}", &name[2..5]);
        let Some(detector) = DETECTORS.iter().find(|detector| detector.code == code) else {
            panic!("{name} is of no detector");
        };
        let cases = if detector.is_of_the_series() { &mut of_series } else { &mut of_runs };
        let value = threshold.value.value;
        // Twice nothing is nothing: one more takes its place, of bytes one more sector, since no device
        // moves less, of time a minute.
        let mutations = match (value, threshold.value.unit) {
            (0.0, Unit::Bytes) => vec![512.0],
            (0.0, Unit::Ns) => vec![60e9],
            (0.0, _) => vec![1.0],
            _ => vec![value * 2.0, value / 2.0],
        };
        for mutation in mutations {
            let line = format!("{name} = {mutation:?}");
            let mutated = base.clone().overridden(&line, "mutation").expect("a threshold takes any number");
            let changes = cases.iter_mut().any(|case| case.judged(detector, &base) != case.judged(detector, &mutated));
            if !changes {
                idle.push(line);
            }
        }
    }
    assert!(idle.is_empty(), "no case tells the difference to:\n{}", idle.join("\n"));
}
