//! Without its evidence a detector is undecided: it neither accuses nor says that all is well.

use activebench_detect::detector::Detector;
use activebench_detect::registry::DETECTORS;
use activebench_model::coverage::Coverage;
use activebench_model::fact::{Fact, FactName, Facts, Scope};
use activebench_model::finding::{Finding, Outcome};

use crate::cases::{self, Stored};
use crate::mutations::{Weight, weight};

/// Who may judge without any fact of the pass, and what by.
const BY_OTHER_EVIDENCE: &[(&str, &str)] = &[
    ("AB111", "the tool's output contradicts itself"),
    ("AB114", "what the script prints beside its tools"),
    ("AB403", "the engine that the options name makes one call at a time"),
    ("AB502", "the tool itself says that its figures are invalid"),
    ("AB503", "the speed of the links, of the host's own files"),
    ("AB604", "the governors, of the host's own files"),
    ("AB606", "the state of the devices, of the host's own files"),
    ("AB801", "the command line"),
    ("AB802", "the command line"),
    ("AB803", "the command line"),
    ("AB804", "the command line and the size of memory"),
    ("AB805", "the command line"),
    ("AB806", "the command line"),
    ("AB807", "the command line"),
    ("AB901", "what the coverage says of undecoded paths"),
    ("AB902", "the coverage's accounts"),
    ("AB903", "what the coverage says of other tracers and of our own process"),
];

/// Those of them that rest on what was read of the host's hardware.
const BY_HARDWARE: &[&str] = &["AB503", "AB604", "AB606"];

/// Detectors that replace a fact, and warn because it is missing.
const STANDS_IN: (&str, FactName) = ("AB202", FactName::CacheInsertedBytes);

/// Makes what was seen whole a part, or nothing.
fn lose(facts: &mut Facts, name: FactName, how: How) {
    match (how, facts.get(name).cloned()) {
        (How::Missing, _) => facts.insert(name, Fact::missing("it was lost", Scope::Tree, "test")),
        (How::Partial, Some(fact)) => facts.insert(name, fact.partial("a part was lost")),
        (How::Partial, None) => {}
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Missing,
    Partial,
}

fn without(mut stored: Stored, names: &[FactName], how: How) -> Stored {
    let all = stored.phases.iter_mut().map(|phase| &mut phase.facts).chain([&mut stored.facts]);
    for facts in all {
        for name in names {
            lose(facts, *name, how);
        }
    }
    stored
}

fn is_loud(finding: &Finding) -> bool {
    matches!(finding.outcome, Outcome::Fires | Outcome::Silent)
}

/// Returns `true` if a judgement states the facts that it rests on, and so must fall with them.
fn rests_on_facts(finding: &Finding) -> bool {
    is_loud(finding) && !finding.facts.is_empty()
}

/// Each case of each detector, with what it finds there.
pub(crate) fn each_judged(mut look: impl FnMut(&Detector, &str, &Stored, &[Finding])) {
    // A series rests on its runs alone.
    for detector in DETECTORS.iter().filter(|detector| !detector.is_of_the_series()) {
        let folder = format!("{}-{}", detector.code.to_lowercase(), detector.name);
        for path in cases::files(&cases::fixtures().join(&folder)) {
            let stored = cases::case(&path);
            let findings = detector.judge(&stored.run());
            let name = format!("{folder}/{}", cases::stem(&path));
            look(detector, &name, &stored, &findings);
        }
    }
}

/// Each case of each detector without each of its facts, with what it finds there.
pub(crate) fn each_with_a_lost_fact(mut look: impl FnMut(&str, &[Finding])) {
    each_judged(|detector, case, stored, before| {
        for name in basis(before) {
            look(case, &detector.judge(&without(stored.clone(), &[name], How::Missing).run()));
        }
    });
}

/// The facts on which judgements rest, each once.
fn basis(findings: &[Finding]) -> Vec<FactName> {
    let mut names: Vec<FactName> =
        findings.iter().filter(|finding| rests_on_facts(finding)).flat_map(|finding| finding.facts.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn a_judgement_states_its_facts_or_is_listed_with_what_it_rests_on() {
    let mut used = Vec::new();
    each_judged(|detector, case, _, findings| {
        if findings.iter().any(|finding| is_loud(finding) && finding.facts.is_empty()) {
            assert!(BY_OTHER_EVIDENCE.iter().any(|(code, _)| *code == detector.code), "{case}: judged by no fact");
            used.push(detector.code);
        }
    });
    for (code, why) in BY_OTHER_EVIDENCE {
        assert!(used.contains(code), "{code} does not judge by {why:?} alone");
    }
}

#[test]
fn without_its_facts_every_detector_is_undecided() {
    let mut wrong = Vec::new();
    each_judged(|detector, case, stored, findings| {
        let names = basis(findings);
        for how in [How::Missing, How::Partial] {
            let after = detector.judge(&without(stored.clone(), &names, how).run());
            wrong.extend(after.iter().filter(|finding| rests_on_facts(finding)).map(|finding| {
                format!("{case} with all of {names:?} {how:?}: {:?} {}", finding.outcome, finding.message)
            }));
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// One lost fact takes judgements away and makes no new one, be it milder or harsher; and where it takes one
/// away, it is among those that the judgement states.
#[test]
fn one_lost_fact_makes_no_judgement() {
    let mut wrong = Vec::new();
    each_judged(|detector, case, stored, before| {
        let named = basis(before);
        let loud =
            |findings: &[Finding]| -> Vec<Weight> { findings.iter().filter(|f| is_loud(f)).map(weight).collect() };
        for name in FactName::ALL {
            let known = stored.phases.iter().any(|phase| phase.facts.get(*name).is_some());
            if !known && stored.facts.get(*name).is_none() {
                continue;
            }
            for how in [How::Missing, How::Partial] {
                let after = detector.judge(&without(stored.clone(), &[*name], how).run());
                let stands_in = (detector.code, *name) == STANDS_IN;
                let new = after.iter().filter(|finding| is_loud(finding) && !loud(before).contains(&weight(finding)));
                for finding in new.filter(|_| !stands_in) {
                    wrong.push(format!("{case}: {} {how:?} makes {finding:#?}", name.as_str()));
                }
                if loud(&after) != loud(before) && !named.contains(name) {
                    wrong.push(format!("{case} rests on {} and does not say so", name.as_str()));
                }
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_rests_on_the_hosts_own_files_is_undecided_without_them() {
    let without_any: fn(&mut Stored) = |stored| stored.manifest.host.hardware = None;
    // Each file that is named could not be read: what it said is not there, and the host says why.
    let unreadable: fn(&mut Stored) = |stored| {
        let Some(hardware) = &mut stored.manifest.host.hardware else { return };
        let mut unread: Vec<String> = hardware.links.drain(..).map(|link| link.source).collect();
        unread.extend(hardware.states.drain(..).map(|state| state.source));
        if !std::mem::take(&mut hardware.governors).is_empty() {
            unread.push("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor".to_owned());
        }
        let refused = |path: String| format!("cannot read {path}: Input/output error (os error 5)");
        hardware.unread.extend(unread.into_iter().map(refused));
    };
    let mut wrong = Vec::new();
    let mut undecided = Vec::new();
    for remove in [without_any, unreadable] {
        each_judged(|detector, case, stored, before| {
            let by_it = |finding: &Finding| is_loud(finding) && finding.facts.is_empty();
            // The preparation of the device is recorded in the run itself.
            let prepared = stored.manifest.preparation.is_some();
            if !BY_HARDWARE.contains(&detector.code) || !before.iter().any(by_it) || prepared {
                return;
            }
            let mut less = stored.clone();
            remove(&mut less);
            let after = detector.judge(&less.run());
            let open = |finding: &Finding| finding.outcome == Outcome::Undecided;
            if after.iter().any(by_it) || !after.iter().any(open) {
                wrong.push(format!("{case}: {after:#?}"));
            }
            undecided.push(detector.code);
        });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(BY_HARDWARE.iter().all(|code| undecided.contains(code)), "{undecided:?}");
}

/// Evidence that is removed from a stored run besides its facts.
type Removal = (&'static str, fn(&mut Stored), &'static [&'static str]);

/// Evidence besides the facts of a pass, and the detectors that cannot judge without it.
const OTHER_EVIDENCE: &[Removal] = &[
    (
        "what the file is on",
        |stored| stored.manifest.host.targets.clear(),
        &["AB102", "AB205", "AB207", "AB303", "AB404", "AB405", "AB406", "AB505", "AB601"],
    ),
    (
        "the devices below it",
        |stored| {
            let host = &mut stored.manifest.host;
            let behind = host.daemons.iter_mut().flat_map(|daemon| &mut daemon.storage);
            host.targets.iter_mut().chain(behind).for_each(|target| target.layers.clear());
        },
        &["AB205", "AB303", "AB601"],
    ),
    ("the size of memory", |stored| stored.manifest.host.memory_bytes = None, &[]),
    ("the number of CPUs", |stored| stored.manifest.host.cpus = 0, &[]),
    ("what was read of its hardware", |stored| stored.manifest.host.hardware = None, &[]),
    ("its readings while the tool ran", |stored| stored.manifest.host.readings = None, &[]),
    ("how the tool ended", |stored| stored.manifest.child.exit_code = None, &[]),
    (
        "the observation's account of itself",
        |stored| {
            stored.manifest.coverage = Coverage::default();
            stored.manifest.incomplete.clear();
        },
        &["AB901", "AB902", "AB903"],
    ),
    ("the list of hooks", |stored| stored.manifest.coverage.probes.clear(), &[]),
    ("the accounts of records", |stored| stored.manifest.coverage.records.clear(), &[]),
];

#[test]
fn without_host_or_coverage_those_that_rest_on_it_are_undecided() {
    let mut wrong = Vec::new();
    for (what, remove, codes) in OTHER_EVIDENCE {
        each_judged(|detector, case, stored, before| {
            let mut less = stored.clone();
            remove(&mut less);
            let after = detector.judge(&less.run());
            for finding in after.iter().filter(|finding| is_loud(finding)) {
                let new = !before.iter().any(|other| weight(other) == weight(finding));
                if codes.contains(&detector.code) || new {
                    wrong.push(format!("{case} without {what}: {:?} {}", finding.outcome, finding.message));
                }
            }
        });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
