//! Every detector over its cases: the outcome is in the file's name, the words in a snapshot.

use crate::{cases, series};

use std::collections::BTreeSet;
use std::fmt::Write;

use activebench_detect::detector::Detector;
use activebench_detect::registry::DETECTORS;
use activebench_detect::run::{Run, RunIndex};
use activebench_detect::thresholds::Thresholds;
use activebench_model::advice::NoAdvisor;
use activebench_model::claim::Parsed;
use activebench_model::fact::Facts;
use activebench_model::finding::{Finding, Outcome};
use activebench_model::run::Manifest;
use activebench_model::thread_stacks::Profiles;

fn word<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("it serialises").trim_matches('"').to_owned()
}

fn render(finding: &Finding) -> String {
    let mut text = word(&finding.outcome);
    if let Some(severity) = &finding.severity {
        write!(text, " {}", word(severity)).expect("a string takes it");
    }
    if let Some(effect) = &finding.effect {
        write!(text, ", claims become {}", word(effect)).expect("a string takes it");
    }
    let phase = finding.phase.as_deref().unwrap_or("run");
    writeln!(text, " [{phase}: {}]", finding.claims.join(" ")).expect("a string takes it");
    if let (Some(observed), Some(threshold)) = (&finding.observed, &finding.threshold) {
        writeln!(text, "  {observed} against {} ({})", threshold.value, threshold.source).expect("a string takes it");
    }
    for line in [&finding.message.to_string(), &finding.meaning, &finding.advice] {
        if !line.is_empty() {
            writeln!(text, "  {line}").expect("a string takes it");
        }
    }
    text
}

/// Judges the cases of one detector, holds each against its file name, and the words of all
/// against the snapshot.
fn check(detector: &Detector, wrong: &mut Vec<String>) {
    let folder = format!("{}-{}", detector.code.to_lowercase(), detector.name);
    let mut text = String::new();
    let mut outcomes = BTreeSet::new();
    for path in cases::files(&cases::fixtures().join(&folder)) {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let (says, findings) = if detector.is_of_the_series() {
            let case = series::case(&path);
            let findings = case.judge(detector);
            (case.says, findings)
        } else {
            let stored = cases::case(&path);
            let findings = detector.judge(&stored.run());
            (stored.says, findings)
        };
        assert!(
            !says.starts_with("Fill in"),
            "fixtures/detectors/{folder}/{name}.json is not written yet: {says}; name it for its outcome and for what it holds",
        );
        let has = |outcome: Outcome| findings.iter().any(|finding| finding.outcome == outcome);
        let seen = if has(Outcome::Fires) {
            "fires"
        } else if has(Outcome::Undecided) {
            "undecided"
        } else if has(Outcome::Silent) {
            "silent"
        } else {
            "not-applicable"
        };
        if !name.starts_with(seen) {
            wrong.push(format!("{folder}/{name} is {seen}:\n{}", findings.iter().map(render).collect::<String>()));
        }
        outcomes.insert(seen);
        for finding in &findings {
            assert_eq!((finding.code.as_str(), finding.name.as_str()), (detector.code, detector.name));
            assert_eq!(finding.severity.is_some(), finding.outcome == Outcome::Fires, "{folder}/{name}");
            let said = !finding.message.is_empty() || finding.outcome == Outcome::Silent;
            assert!(said, "{folder}/{name}: no message");
            if finding.outcome == Outcome::Fires {
                assert!(finding.threshold.is_some(), "{folder}/{name}: no threshold");
                assert!(!finding.meaning.is_empty() && !finding.advice.is_empty(), "{folder}/{name}");
            }
        }
        writeln!(text, "{name}: {says}").expect("a string takes it");
        for finding in &findings {
            text.push_str(&render(finding));
        }
        text.push('\n');
    }
    // A command line is never lost.
    let expected = if detector.is_of_the_plan() { &["fires", "silent"][..] } else { &["fires", "silent", "undecided"] };
    for outcome in expected {
        assert!(outcomes.contains(outcome), "{folder} has no case that is {outcome}");
    }
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(folder, text);
    });
}

#[test]
fn every_detector_judges_its_cases_as_their_names_say() {
    let mut wrong = Vec::new();
    for detector in DETECTORS {
        check(detector, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_folder_of_cases_belongs_to_a_detector() {
    for entry in std::fs::read_dir(cases::fixtures()).expect("the fixtures are there") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().expect("a type").is_dir() && name != "honest" {
            let known =
                DETECTORS.iter().any(|detector| format!("{}-{}", detector.code.to_lowercase(), detector.name) == name);
            assert!(known, "no detector for {name}");
        }
    }
}

#[test]
fn no_detector_fires_on_an_honest_run() {
    for path in cases::files(&cases::fixtures().join("honest")) {
        let stored = cases::honest(&cases::stem(&path));
        for detector in DETECTORS {
            for finding in detector.judge(&stored.run()) {
                let quiet = matches!(finding.outcome, Outcome::Silent | Outcome::NotApplicable);
                assert!(quiet, "{}: {finding:#?}", path.display());
            }
        }
    }
}

#[test]
fn no_detector_fires_or_panics_on_an_empty_run() {
    let manifest = Manifest::default();
    let (parsed, facts) = (Parsed::default(), Facts::default());
    let thresholds = Thresholds::profile("default").expect("the profile exists");
    let profiles = Profiles::default();
    let run = Run {
        manifest: &manifest,
        parsed: &parsed,
        phases: &[],
        facts: &facts,
        profiles: &profiles,
        thresholds: &thresholds,
        advisor: &NoAdvisor,
        index: &RunIndex::default(),
        part: None,
    };
    for detector in DETECTORS {
        let findings = detector.judge(&run);
        assert!(!findings.is_empty(), "{} says nothing", detector.code);
        assert!(findings.iter().all(|finding| finding.outcome != Outcome::Fires), "{findings:#?}");
    }
}

#[test]
fn a_run_without_facts_is_undecided_and_never_accused() {
    for path in cases::files(&cases::fixtures().join("honest")) {
        let mut stored = cases::honest(&cases::stem(&path));
        for phase in &mut stored.phases {
            phase.facts = Facts::default();
        }
        for detector in DETECTORS {
            for finding in detector.judge(&stored.run()) {
                assert!(finding.outcome != Outcome::Fires, "{}: {finding:#?}", path.display());
            }
        }
    }
}

#[test]
fn one_missing_fact_never_makes_an_honest_run_fire() {
    use activebench_model::fact::{Fact, FactName, Scope};
    for path in cases::files(&cases::fixtures().join("honest")) {
        for name in FactName::ALL {
            let mut stored = cases::honest(&cases::stem(&path));
            for phase in &mut stored.phases {
                if phase.facts.get(*name).is_some() {
                    phase.facts.insert(*name, Fact::missing("it was lost", Scope::Tree, "test"));
                }
            }
            for detector in DETECTORS {
                for finding in detector.judge(&stored.run()) {
                    // AB202 is arithmetic for where the page cache was not observed: it warns there, and accuses nobody.
                    let stands_in = finding.code == "AB202" && *name == FactName::CacheInsertedBytes;
                    let quiet = finding.outcome != Outcome::Fires || stands_in;
                    assert!(quiet, "{} without {}: {finding:#?}", path.display(), name.as_str());
                }
            }
        }
    }
}

/// The threads' times of an honest run are those of somebody's clock: they fill the tasks' windows.
#[test]
fn the_times_of_honest_runs_add_up() {
    use activebench_model::fact::FactName;
    for path in cases::files(&cases::fixtures().join("honest")) {
        for phase in cases::honest(&cases::stem(&path)).phases {
            let fact = |name| phase.facts.complete(name).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
            let on_cpu = fact(FactName::UserCpu) + fact(FactName::KernelCpu);
            let off_cpu = fact(FactName::OffCpu);
            assert_eq!(on_cpu + off_cpu, fact(FactName::TaskWindows), "{}", path.display());
            assert_eq!(fact(FactName::Blocked) + fact(FactName::Preempted), off_cpu, "{}", path.display());
            assert!(fact(FactName::IoWait) <= fact(FactName::Blocked), "{}", path.display());
        }
    }
}
