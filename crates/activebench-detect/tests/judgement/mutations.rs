//! Every threshold matters: twice or half of it changes what some case is judged.

use std::path::PathBuf;

use activebench_detect::registry::DETECTORS;
use activebench_detect::thresholds::Thresholds;
use activebench_model::finding::{Effect, Finding, Outcome, Severity};
use activebench_model::units::Unit;

use crate::cases::{self, Stored};

/// What a finding weighs; its words may change with any threshold.
pub(crate) type Weight = (Option<String>, Outcome, Option<Severity>, Option<Effect>);

pub(crate) fn weight(finding: &Finding) -> Weight {
    (finding.phase.clone(), finding.outcome, finding.severity, finding.effect)
}

/// Every case of every detector.
fn every_case() -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(cases::fixtures()).expect("the fixtures are there") {
        let folder = entry.expect("an entry").path();
        if folder.is_dir() && !folder.ends_with("honest") {
            all.extend(cases::files(&folder));
        }
    }
    all
}

fn judged(stored: &Stored, code: &str) -> Vec<Weight> {
    let own = DETECTORS.iter().filter(|detector| detector.code() == code);
    own.flat_map(|detector| detector.judge(&stored.run())).map(|finding| weight(&finding)).collect()
}

#[test]
fn twice_or_half_of_any_threshold_changes_a_judgement() {
    let base = Thresholds::profile("default").expect("the profile exists");
    let mut cases: Vec<Stored> = every_case().iter().map(|path| cases::case(path)).collect();
    let mut idle = Vec::new();
    for (name, threshold) in base.table() {
        let code = format!("AB{}", &name[2..5]);
        let value = threshold.value.value;
        // Nothing is twice nothing: one more stands for it, of bytes one more sector, since no device moves less.
        let mutations = match (value, threshold.value.unit) {
            (0.0, Unit::Bytes) => vec![512.0],
            (0.0, _) => vec![1.0],
            _ => vec![value * 2.0, value / 2.0],
        };
        for mutation in mutations {
            let line = format!("{name} = {mutation:?}");
            let mutated = base.clone().overridden(&line, "mutation").expect("a threshold takes any number");
            let changes = cases.iter_mut().any(|stored| {
                stored.thresholds = base.clone();
                let before = judged(stored, &code);
                stored.thresholds = mutated.clone();
                before != judged(stored, &code)
            });
            if !changes {
                idle.push(line);
            }
        }
    }
    assert!(idle.is_empty(), "no case tells the difference to:\n{}", idle.join("\n"));
}
