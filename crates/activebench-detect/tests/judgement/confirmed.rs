//! *Confirmed* always means observed: over every stored case, and over claims of every kind and size.

use activebench_detect::judge::verdicts::judge;
use activebench_detect::registry::DETECTORS;
use activebench_model::claim::Metric;
use activebench_model::fact::{Fact, FactName, Scope};
use activebench_model::units::Quantity;
use activebench_model::verdict::{ClaimVerdict, RunVerdict};
use serde_json::{Value, json};

use crate::cases::{self, Stored};

/// How far a printed figure can be rounded, and the widest tolerance, as a share of the observed figure.
const WIDEST: f64 = 0.10;

/// Every confirmed claim of a run has an observed figure, and is within its tolerance.
fn check(stored: &Stored, says: &str) {
    let judgement = judge(&stored.run());
    for (claim, judged) in stored.parsed.claims.iter().zip(&judgement.judged) {
        let is_confirmed = judged.verdict() == ClaimVerdict::Confirmed;
        assert_eq!(judged.tolerance().is_some(), is_confirmed, "{says}: {judged:?}");
        assert_eq!(judged.honest(claim).is_some() && judged.corrected.is_none(), is_confirmed, "{says}: {judged:?}");
        if !is_confirmed {
            let why = judged.corrected.is_some() || judged.no_correction.as_ref().is_some_and(|why| !why.is_empty());
            assert!(why, "{says}: {judged:?}");
            continue;
        }
        let observed = judged.observed().unwrap_or_else(|| panic!("{says}: nothing was observed for {claim:?}"));
        // A latency may be longer by what the tool's own clock takes, a share of CPU time may differ by two points.
        let beside = match claim.metric {
            metric if metric.is_cpu() => 0.02,
            metric if metric.is_latency() && claim.value.value > observed.value => 500.0,
            _ => 0.0,
        };
        let rounding = if claim.metric.is_cpu() { 0.0 } else { 2.0 * claim.resolution };
        let off = (claim.value.value - observed.value).abs();
        assert_eq!(claim.value.unit, observed.unit, "{says}: {judged:?}");
        assert!(off <= WIDEST * observed.value + beside + rounding, "{says}: {claim:?} {judged:?}");
    }
}

#[test]
fn a_confirmed_claim_of_a_stored_case_was_observed() {
    for detector in DETECTORS.iter().filter(|detector| !detector.is_of_the_series()) {
        let folder = format!("{}-{}", detector.code.to_lowercase(), detector.name);
        for path in cases::files(&cases::fixtures().join(folder)) {
            for profile in ["default", "strict"] {
                check(&cases::case(&path).under(profile), &path.display().to_string());
            }
        }
    }
}

#[test]
fn a_confirmed_claim_of_any_kind_and_size_was_observed() {
    for path in cases::files(&cases::fixtures().join("honest")) {
        let name = cases::stem(&path);
        for metric in Metric::ALL {
            for value in [0.0, 0.75, 1.0, 1e6, 44e6, 85e6, 90e6, 100e6, 1e300] {
                for resolution in [0.0, 0.5] {
                    let mut stored = cases::honest(&name);
                    let claim = &mut stored.parsed.claims[0];
                    (claim.metric, claim.resolution) = (*metric, resolution);
                    claim.value = Quantity { value, unit: metric.unit() };
                    check(&stored, &format!("{name}: {} {value}", metric.as_str()));
                }
            }
        }
    }
}

/// The verdict on the first claim and on the run, of an honest run changed so.
fn verdicts(base: &str, case: Value) -> (ClaimVerdict, RunVerdict, i32) {
    let judgement = judge(&cases::changed(base, &case).run());
    (judgement.judged[0].verdict(), judgement.verdict, judgement.exit_code)
}

/// The run with its own rate and another claim before it.
fn beside_the_rate(metric: &str, value: f64, unit: &str, facts: Value) -> Value {
    let claim = json!({
        "metric": metric, "value": {"value": value, "unit": unit}, "printed": {"text": "1", "unit": unit},
        "resolution": 0.0, "claimed_bytes": null, "subject": "device"
    });
    json!({"claims": [claim], "facts": facts})
}

#[test]
fn each_tolerance_has_two_sides() {
    use ClaimVerdict::{Confirmed, NotChecked};
    // 9 s of 12 s: 75 % of a CPU, within 10 % of it and 2 points.
    let cpu = json!({"user_cpu_ns": 1_000_000_000_u64, "kernel_cpu_ns": 8_000_000_000_u64});
    let latency = json!({"write_latency_max_ns": 43_870, "write_latency_mean_ns": 2_000, "write_latency_timed": 1024});
    // Of 1024 calls 200 were timed: the longest of all is known if it was one of these.
    let longest = |least: u64| {
        json!({
            "write_latency_max_ns": 5_000_000, "write_latency_max_least_ns": least, "write_latency_timed": 200
        })
    };
    let (timed, untimed) = (longest(4_936_000), longest(400_000));
    for (metric, value, unit, facts, expected) in [
        ("latency-max", 5_000_000.0, "ns", &timed, Confirmed),
        ("latency-max", 5_000_000.0, "ns", &untimed, NotChecked),
        ("cpu-total", 0.75, "ratio", &cpu, Confirmed),
        ("cpu-total", 0.66, "ratio", &cpu, Confirmed),
        ("cpu-total", 0.65, "ratio", &cpu, NotChecked),
        ("cpu-total", 0.50, "ratio", &cpu, NotChecked),
        ("cpu-total", 0.86, "ratio", &cpu, NotChecked),
        ("latency-max", 43_870.0, "ns", &latency, Confirmed),
        ("latency-max", 48_700.0, "ns", &latency, Confirmed),
        ("latency-max", 48_800.0, "ns", &latency, NotChecked),
        ("latency-max", 4_049_000.0, "ns", &latency, NotChecked),
        ("latency-mean", 2_690.0, "ns", &latency, Confirmed),
        ("latency-mean", 2_710.0, "ns", &latency, NotChecked),
    ] {
        let (found, _, _) = verdicts("write", beside_the_rate(metric, value, unit, facts.clone()));
        assert_eq!(found, expected, "{metric} {value}");
    }
}

#[test]
fn what_is_not_checked_leaves_the_rates_alone_and_no_rate_leaves_nothing() {
    let latency = |value: f64| {
        let mut stored = cases::honest("write");
        let facts = &mut stored.phases[0].facts;
        for (name, value) in
            [(FactName::WriteLatencyMax, Quantity::ns(43_870)), (FactName::WriteLatencyTimed, Quantity::count(1024))]
        {
            facts.insert(name, Fact::complete(value, Scope::Tree, "calls"));
        }
        let mut claim = stored.parsed.claims[0].clone();
        (claim.id, claim.metric, claim.resolution) = ("c9".to_owned(), Metric::LatencyMax, 0.0);
        (claim.value, claim.claimed_bytes) = (Quantity { value, ..Quantity::ns(0) }, None);
        stored.parsed.claims.push(claim);
        stored
    };
    let judged = |stored: &Stored| {
        let judgement = judge(&stored.run());
        let last = judgement.judged.last().expect("a claim").verdict();
        (last, judgement.verdict, judgement.exit_code)
    };
    assert_eq!(judged(&latency(44_000.0)), (ClaimVerdict::Confirmed, RunVerdict::Verified, 0));
    let above = latency(4_049_000.0);
    assert_eq!(judged(&above), (ClaimVerdict::NotChecked, RunVerdict::Verified, 0));
    assert_eq!(judge(&above.run()).because, "1 of 2 figures are confirmed, 1 could not be checked");
    // The latency alone: nothing was checked.
    let mut alone = above;
    alone.parsed.claims.remove(0);
    assert_eq!(judged(&alone), (ClaimVerdict::NotChecked, RunVerdict::Inconclusive, 3));
    // A rate that may have waited at both ends of a short window: 15 % below, of which 20 % may be waits.
    let facts = json!({"preempted_ns": 60_000_000_000_u64, "window_ns": 1_000_000_000_u64,
        "durable_span_ns": 1_000_000_000_u64});
    let value = json!({"value": {"value": 0.85 * 1_073_741_824.0}});
    let (claim, run, code) = verdicts("write", json!({"claims": [value], "facts": facts}));
    assert_eq!((claim, run, code), (ClaimVerdict::NotChecked, RunVerdict::Inconclusive, 3));
}

/// The digits of a coarse clock widen what confirms a rate, more where rounding up made it worse, and never to a
/// multiple.
#[test]
fn a_coarse_clock_confirms_no_multiple() {
    let observed = 1_073_741_824.0 / 12.0;
    for (share, expected) in [
        (0.76, ClaimVerdict::Confirmed),
        (0.74, ClaimVerdict::NotChecked),
        (1.09, ClaimVerdict::Confirmed),
        (1.11, ClaimVerdict::NotChecked),
        (1.93, ClaimVerdict::NotChecked),
    ] {
        let claim = json!({"value": {"value": share * observed}, "resolution": 0.5 * observed});
        let (found, _, _) = verdicts("write", json!({"claims": [claim]}));
        assert_eq!(found, expected, "{share}");
    }
}

/// A rate that was reached under a condition is honest with it, where nothing else is wrong; a latency is not.
#[test]
fn what_was_reached_under_a_condition_is_honest_with_it() {
    let mut conditions = 0;
    for code in ["AB403", "AB502", "AB506"] {
        let detector = DETECTORS.iter().find(|detector| detector.code == code).expect("a detector");
        let folder = format!("{}-{}", code.to_lowercase(), detector.name);
        for path in cases::files(&cases::fixtures().join(folder)) {
            let stored = cases::case(&path);
            for (claim, judged) in stored.parsed.claims.iter().zip(&judge(&stored.run()).judged) {
                if judged.verdict() != ClaimVerdict::Misleading || judged.findings != [code] {
                    continue;
                }
                conditions += 1;
                let corrected = judged.corrected.as_ref().map(|corrected| corrected.value);
                let expected = judged.observed().filter(|_| !claim.metric.is_latency());
                assert_eq!(corrected, expected, "{}: {judged:?}", path.display());
            }
        }
    }
    assert!(conditions >= 3, "{conditions}");
}
