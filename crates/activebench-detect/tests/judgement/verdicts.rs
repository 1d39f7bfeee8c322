//! Runs and the verdicts that they deserve: on each claim, on the run, and the exit code.

use crate::cases;

use std::fmt::Write;

use activebench_detect::detector::Question;
use activebench_detect::judge::verdicts::{Judgement, judge};
use activebench_model::verdict::{ClaimVerdict, RunVerdict};
use serde_json::{Value, json};

/// Judges an honest run, changed, under a profile.
fn judged(base: &str, case: &Value, profile: &str) -> Judgement {
    judge(&cases::changed(base, case).under(profile).run())
}

fn check(base: &str, case: Value, expected: (RunVerdict, i32, ClaimVerdict)) {
    let judgement = judged(base, &case, "default");
    let claim = judgement.judged.first().map_or(ClaimVerdict::Unverifiable, |claim| claim.verdict());
    assert_eq!((judgement.verdict, judgement.exit_code, claim), expected, "{case}: {}", judgement.because);
    for claim in &judgement.judged {
        let holds = claim.verdict() == ClaimVerdict::Confirmed;
        assert_eq!(holds, claim.corrected.is_none() && claim.no_correction.is_none(), "{case}: {claim:?}");
        assert_eq!(claim.measured_instead.is_some(), claim.verdict() == ClaimVerdict::Misleading, "{case}: {claim:?}");
    }
}

/// The parent saw two thirds of the children's sum, and so did we.
fn parent_far_below() -> Value {
    json!({
        "claims": [{}, {"value": {"value": 60000000.0}}],
        "facts": {"window_ns": 18000000000_u64, "durable_span_ns": 18000000000_u64, "parent_window_ns": 18000000000_u64}
    })
}

#[test]
fn honest_runs_are_verified() {
    for path in cases::files(&cases::fixtures().join("honest")) {
        let stored = cases::honest(&cases::stem(&path));
        for profile in ["default", "strict"] {
            let judgement = judged(&cases::stem(&path), &json!({}), profile);
            assert_eq!((judgement.verdict, judgement.exit_code), (RunVerdict::Verified, 0), "{}", judgement.because);
            assert_eq!(judgement.judged.len(), stored.parsed.claims.len());
            for claim in &judgement.judged {
                assert_eq!(claim.verdict(), ClaimVerdict::Confirmed, "{}: {claim:?}", stored.says);
            }
        }
    }
}

#[test]
fn a_tracer_confirms_nothing_that_is_taken_for_storage() {
    use activebench_model::coverage::Backend;
    let mut all = 0;
    for path in cases::files(&cases::fixtures().join("honest")) {
        let mut stored = cases::honest(&cases::stem(&path));
        // All facts are there: the backend alone decides.
        stored.manifest.coverage.backend = Backend::Ptrace;
        let run = stored.run();
        let judgement = judge(&run);
        for (claim, judged) in run.parsed.claims.iter().zip(&judgement.judged) {
            let of_storage = run.subject_of(claim).is_storage() && !claim.metric.is_count() && !claim.metric.is_cpu();
            all += usize::from(of_storage);
            let is_confirmed = judged.verdict() == ClaimVerdict::Confirmed;
            assert!(!(of_storage && is_confirmed), "{}: {judged:?}", stored.says);
        }
        assert_ne!(judgement.verdict, RunVerdict::Discrepancy, "{}: {}", stored.says, judgement.because);
    }
    assert!(all > 0, "there are such claims");
}

#[test]
fn the_child_s_end_comes_first() {
    use ClaimVerdict::Confirmed;
    for (child, verdict, code) in [
        (json!({"exit_code": 42}), RunVerdict::Failed, 4),
        (json!({"exit_code": null, "signal": 9}), RunVerdict::Failed, 4),
        (json!({"exit_code": null, "start_error": "no such file"}), RunVerdict::Failed, 4),
        (json!({"exit_code": null, "signal": 2, "stopped_by_us": "timed out"}), RunVerdict::Inconclusive, 3),
        (json!({"exit_code": null}), RunVerdict::Inconclusive, 3),
    ] {
        check("write", json!({"manifest": {"child": child}}), (verdict, code, Confirmed));
    }
}

#[test]
fn findings_decide_the_claims_and_the_run() {
    use ClaimVerdict::{Confirmed, Misleading, Refuted, Unverifiable};
    use RunVerdict::{Discrepancy, Inconclusive, Qualified, Verified};
    let device = json!([{"subject": "device"}]);
    let costly = json!({"manifest": {"coverage": {"overhead": {"bpf_run_ns": 6_000_000_000_u64}}}});
    let lost = json!({"coverage": {"records": {"calls": {"made": 10, "received": 9, "lost": 1}}}});
    let words = include_str!("../../../../fixtures/detectors/ab114-script-figure-differs/fires-another-pass.json");
    let words: serde_json::Value = serde_json::from_str(words).expect("JSON");
    let (of_script, measured) = (&words["parsed"], &words["manifest"]);
    for (base, case, expected) in [
        // The sync after the clock.
        ("write-default", json!({"claims": device}), (Discrepancy, 1, Misleading)),
        // The user says what the figure is taken for.
        ("write-default", json!({"manifest": {"choices": {"subject": "device"}}}), (Discrepancy, 1, Misleading)),
        ("read-cached", json!({"manifest": {"choices": {"subject": "device"}}}), (Discrepancy, 1, Misleading)),
        // Nothing says that the figure is about storage: it is not confirmed, and nobody is accused.
        ("write-default", json!({"claims": [{"subject": "unknown"}]}), (Inconclusive, 3, Unverifiable)),
        ("read-cached", json!({"claims": [{"subject": "unknown"}]}), (Inconclusive, 3, Unverifiable)),
        ("write", json!({"claims": [{"subject": "unknown"}]}), (Verified, 0, Confirmed)),
        ("read-cached", json!({}), (Verified, 0, Confirmed)),
        // No byte moved.
        ("write", json!({"facts": {"write_bytes": 0, "write_calls": 0}}), (Discrepancy, 1, Refuted)),
        // Refuted is stronger than misleading.
        (
            "write-default",
            json!({"claims": [{"subject": "device", "value": {"value": 9e8}, "claimed_bytes": null}]}),
            (Discrepancy, 1, Refuted),
        ),
        // Evidence lost is stronger than both.
        ("write-default", json!({"claims": device, "manifest": lost}), (Inconclusive, 3, Unverifiable)),
        ("write", json!({"facts": {"mappings": 1}}), (Inconclusive, 3, Unverifiable)),
        // Others at the device take nothing back that was shown.
        ("write", json!({"facts": {"foreign_bytes": 500000000}}), (Inconclusive, 3, Unverifiable)),
        (
            "write-default",
            json!({"claims": device, "facts": {"foreign_bytes": 500000000}}),
            (Discrepancy, 1, Misleading),
        ),
        // What is lost says nothing of what was printed: a script's wrong number stays one.
        ("write", json!({"parsed": of_script, "manifest": measured}), (Discrepancy, 1, Confirmed)),
        (
            "write",
            json!({"parsed": of_script, "manifest": measured, "facts": {"foreign_bytes": 500000000}}),
            (Discrepancy, 1, Unverifiable),
        ),
        // A deciding question that is open.
        (
            "read-cold",
            json!({"facts": {"cache_inserted_bytes": {"missing": "no probe"}}}),
            (Inconclusive, 3, Unverifiable),
        ),
        ("write", json!({"facts": {"window_ns": {"missing": "not seen"}}}), (Inconclusive, 3, Unverifiable)),
        // The same question under a subject that does not rest on it.
        ("read-cached", json!({"facts": {"cache_inserted_bytes": {"missing": "no probe"}}}), (Verified, 0, Confirmed)),
        // An open question that decides nothing about the claim.
        ("write", json!({"layer": {"write_cache": null}}), (Qualified, 0, Confirmed)),
        ("write-osync", json!({"layer": {"write_cache": null}}), (Inconclusive, 3, Unverifiable)),
        // The cost of the observation: unknown, and far too high.
        ("write", json!({"manifest": {"coverage": {"overhead": {"bpf_run_ns": null}}}}), (Verified, 0, Confirmed)),
        ("write", costly.clone(), (Qualified, 0, Confirmed)),
        ("write-default", json!({"claims": device, "manifest": costly["manifest"]}), (Discrepancy, 1, Misleading)),
        // A pass that was not found, or is cut short.
        ("write", json!({"phase": {"parts": [], "incomplete": "not found"}}), (Inconclusive, 3, Unverifiable)),
        ("write", json!({"phase": {"incomplete": "cut short"}}), (Inconclusive, 3, Unverifiable)),
        // Warnings qualify.
        ("write", json!({"facts": {"foreign_bytes": 50000000}}), (Qualified, 0, Confirmed)),
        ("throughput", parent_far_below(), (Qualified, 0, Confirmed)),
        // Notes do not.
        ("write", json!({"phase": {"requested_bytes": 1073741825}}), (Verified, 0, Confirmed)),
        // Nothing was claimed.
        ("write", json!({"parsed": {"claims": []}}), (Inconclusive, 3, Unverifiable)),
    ] {
        check(base, case, expected);
    }
}

#[test]
fn fail_on_moves_the_exit_code_and_not_the_verdict() {
    for (base, case, fail_on, expected) in [
        ("write", json!({"facts": {"foreign_bytes": 50000000}}), "warn", (RunVerdict::Qualified, 1)),
        ("write", json!({"facts": {"foreign_bytes": 50000000}}), "never", (RunVerdict::Qualified, 0)),
        ("write-default", json!({"claims": [{"subject": "device"}]}), "warn", (RunVerdict::Discrepancy, 1)),
        ("write-default", json!({"claims": [{"subject": "device"}]}), "never", (RunVerdict::Discrepancy, 0)),
        ("write", json!({"facts": {"mappings": 1}}), "never", (RunVerdict::Inconclusive, 3)),
        ("write", json!({}), "warn", (RunVerdict::Verified, 0)),
    ] {
        let mut case = case;
        case["manifest"] = json!({"choices": {"fail_on": fail_on}});
        let judgement = judged(base, &case, "default");
        assert_eq!((judgement.verdict, judgement.exit_code), expected, "{case}");
    }
}

#[test]
fn strict_makes_each_warning_fail() {
    for (base, case, expected) in [
        ("throughput", parent_far_below(), RunVerdict::Discrepancy),
        (
            "write-default",
            json!({"claims": [{"subject": "device"}], "facts": {"durable_span_ns": 12360000000_u64}}),
            RunVerdict::Discrepancy,
        ),
        // A finding that does not accuse under `default` does not accuse under `strict`.
        ("write", json!({"facts": {"foreign_bytes": 50000000}}), RunVerdict::Inconclusive),
        ("write", json!({"facts": {"mappings": 1}}), RunVerdict::Inconclusive),
    ] {
        assert_eq!(judged(base, &case, "strict").verdict, expected, "{case}");
    }
}

#[test]
fn a_suppressed_finding_is_shown_and_weighs_nothing() {
    for key in ["AB302", "ab302", "sync-outside-clock"] {
        let case = json!({
            "claims": [{"subject": "device"}],
            "manifest": {"choices": {"suppressed": {key: "agreed with the vendor"}}}
        });
        let judgement = judged("write-default", &case, "default");
        assert_eq!(judgement.verdict, RunVerdict::Verified, "{}", judgement.because);
        let finding = judgement.findings.iter().find(|finding| finding.code == "AB302").expect("it is shown");
        assert_eq!(finding.effect, None);
        assert!(finding.message.to_string().ends_with("(suppressed: agreed with the vendor)"), "{}", finding.message);
        assert_eq!(judgement.judged[0].findings, ["AB302"]);
    }
}

#[test]
fn no_number_is_confirmed_that_is_none() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut stored = cases::honest("write");
        stored.parsed.claims[0].value.value = value;
        assert_eq!(judge(&stored.run()).judged[0].verdict(), ClaimVerdict::Unverifiable);
    }
}

/// The judged claims and the seven questions, as a reader would compare them.
fn render(judgement: &Judgement) -> String {
    let mut text = String::new();
    let verdict = judgement.verdict.as_str();
    writeln!(text, "{verdict}, exit {}: {}", judgement.exit_code, judgement.because).expect("a string takes it");
    for claim in &judgement.judged {
        write!(text, "{}: {}", claim.claim, claim.verdict().as_str()).expect("a string takes it");
        if let Some(observed) = &claim.observed() {
            write!(text, ", observed {observed}").expect("a string takes it");
        }
        if let Some(corrected) = &claim.corrected {
            write!(text, ", corrected {} ({})", corrected.value, corrected.meaning).expect("a string takes it");
        }
        if let Some(why) = &claim.no_correction {
            write!(text, ", not corrected: {why}").expect("a string takes it");
        }
        if let Some(instead) = &claim.measured_instead {
            write!(text, ", measured {instead}").expect("a string takes it");
        }
        writeln!(text, " [{}]", claim.findings.join(" ")).expect("a string takes it");
    }
    for key in Question::ALL.map(Question::key) {
        let answer = &judgement.questions[key];
        writeln!(text, "{key}: {} ({})", answer.answer, answer.evidence.join(", ")).expect("a string takes it");
    }
    text
}

#[test]
fn judged_runs_read_as_they_should() {
    let nowhere = json!({"device_read_bytes": 0, "device_total_bytes": 0, "device_requests": 0, "device_busy_ns": 0});
    let ops = json!([{
        "subject": "device", "metric": "operation-rate", "claimed_bytes": null, "resolution": 0.5,
        "value": {"value": 85.0, "unit": "ops_per_sec"}, "printed": {"text": "85", "unit": "ops/sec"}
    }]);
    let usec = json!([{
        "subject": "device", "metric": "time-per-operation", "claimed_bytes": null, "resolution": 500.0,
        "value": {"value": 11718000.0, "unit": "ns"}, "printed": {"text": "11718", "unit": "usec/op"}
    }]);
    let half_cached = json!({"cache_inserted_bytes": 536870912, "storage_read_bytes": 536870912,
        "device_read_bytes": 536870912, "device_requests": 4096, "device_busy_ns": 11000000000_u64});
    let half_cached_idle = json!({"cache_inserted_bytes": 536870912, "storage_read_bytes": 536870912,
        "device_read_bytes": 536870912, "device_requests": 4096, "device_busy_ns": 600000000_u64});
    let few_misses = json!({"cache_inserted_bytes": 73728, "storage_read_bytes": 73728,
        "device_read_bytes": 73728, "device_requests": 18, "device_busy_ns": 3000000});
    let stonewalled = json!({"write_bytes": 838860800, "untimed_bytes": 234881024, "min_task_bytes": 314572800, "durable_span_ns": 15000000000_u64,
        "sum_of_task_rates_bytes_per_sec": 89478485.33});
    let mut text = String::new();
    for (says, base, case) in [
        ("an honest write", "write", json!({})),
        ("honest throughput of two tasks", "throughput", json!({})),
        ("the sync after the clock", "write-default", json!({"claims": [{"subject": "device"}]})),
        ("the same in operations per second", "write-default", json!({"claims": ops})),
        ("the same in microseconds per operation", "write-default", json!({"claims": usec})),
        ("a re-read from memory", "read-cached", json!({"claims": [{"subject": "device"}]})),
        ("half from memory", "read-cached", json!({"claims": [{"subject": "device"}], "facts": half_cached})),
        (
            "half from memory, and the device waited",
            "read-cached",
            json!({"claims": [{"subject": "device"}], "facts": half_cached_idle}),
        ),
        ("a few cache misses", "read-cached", json!({"claims": ops, "facts": few_misses})),
        ("half from memory, in operations per second", "read-cached", json!({"claims": ops, "facts": half_cached})),
        ("direct reads of holes", "read-direct", json!({"facts": nowhere})),
        (
            "no sync at all",
            "write",
            json!({
            "facts": {"syncs_inside": 0, "synced_bytes": 0, "unsynced_bytes": 1073741824,
                "durable_span_ns": {"missing": "no sync made all bytes durable"}},
            "phase": {"promises": []}}),
        ),
        ("no flush", "write", json!({"facts": {"flushes": 0, "fua_writes": 0}})),
        (
            "bytes that no call moved",
            "write",
            json!({"claims": [{"value": {"value": 178956288.0}, "claimed_bytes": 2147483648_u64}]}),
        ),
        (
            "a stonewalled task",
            "throughput",
            json!({"facts": stonewalled, "claims": [
            {}, {"value": {"value": 64512000.0}}, {}, {}, {"value": {"value": 314572800.0}}]}),
        ),
        ("one of two tasks", "throughput", json!({"facts": {"active_tasks": 1}})),
        (
            "a loss",
            "write",
            json!({"manifest": {"coverage": {"records": {"calls": {"made": 10, "received": 9, "lost": 1}}}}}),
        ),
    ] {
        writeln!(text, "{says}\n{}", render(&judged(base, &case, "default"))).expect("a string takes it");
    }
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("judged-runs", text);
    });
}

/// Judges a case as that of a program that no adapter knows, whose claims were found by their agreement with its I/O.
fn without_adapter(base: &str, case: &Value, unmatched_rates: usize) -> Judgement {
    let mut stored = cases::changed(base, case);
    stored.parsed.tool.clear();
    let number = json!({
        "printed": {"text": "500", "unit": "MB/s"}, "is_rate": true, "reason": "no pass has this figure",
        "nearest": null, "source": {"stream": "stdout", "line": 9, "text": "500 MB/s"}
    });
    let unmatched = json!({"numbers": vec![number; unmatched_rates], "left_out": 0});
    stored.parsed.unmatched = serde_json::from_value(unmatched).expect("unmatched numbers");
    judge(&stored.run())
}

#[test]
fn without_an_adapter_honest_runs_are_not_accused_and_nothing_is_refuted() {
    for path in cases::files(&cases::fixtures().join("honest")) {
        let judgement = without_adapter(&cases::stem(&path), &json!({}), 0);
        let contradicted = judgement.judged.iter().any(|claim| claim.verdict().is_contradicted());
        let code = judgement.exit_code;
        assert!(!contradicted && code == 0, "{}: {} {:?}", path.display(), judgement.because, judgement.judged);
    }
    let no_byte = json!({"facts": {"write_bytes": 0, "write_calls": 0}});
    let judgement = without_adapter("write", &no_byte, 0);
    assert!(judgement.judged.iter().all(|claim| claim.verdict() != ClaimVerdict::Refuted), "{:?}", judgement.judged);
}

#[test]
fn without_an_adapter_what_misleads_is_named_and_an_unmatched_rate_leaves_the_run_open() {
    let device = json!({"manifest": {"choices": {"subject": "device"}}});
    for base in ["write-default", "read-cached"] {
        let judgement = without_adapter(base, &device, 0);
        let verdicts = (judgement.verdict, judgement.exit_code, judgement.judged[0].verdict());
        assert_eq!(verdicts, (RunVerdict::Discrepancy, 1, ClaimVerdict::Misleading), "{}", judgement.because);
    }
    let open = without_adapter("write", &json!({}), 2);
    assert_eq!((open.verdict, open.exit_code), (RunVerdict::Inconclusive, 3), "{}", open.because);
    assert!(open.because.contains("2 are about I/O that was not found"), "{}", open.because);
}

#[test]
fn a_figure_that_no_adapter_could_read_leaves_the_run_open() {
    for is_rate in [true, false] {
        let mut stored = cases::changed("write", &json!({}));
        let number = json!({
            "printed": {"text": "-1", "unit": "bw_bytes"}, "is_rate": is_rate, "reason": "not a number",
            "nearest": null, "source": {"stream": "stdout", "line": 9, "text": "\"bw_bytes\" : -1"}
        });
        stored.parsed.unmatched.numbers = vec![serde_json::from_value(number).expect("an unread figure")];
        let open = judge(&stored.run());
        assert_eq!((open.verdict, open.exit_code), (RunVerdict::Inconclusive, 3), "{}", open.because);
        assert_eq!(open.judged[0].verdict(), ClaimVerdict::Confirmed);
    }
}

#[test]
fn a_script_s_rate_above_all_of_its_tools_leaves_the_run_open_and_accuses_nobody() {
    let words = include_str!("../../../../fixtures/detectors/ab114-script-figure-differs/fires-another-pass.json");
    let words: serde_json::Value = serde_json::from_str(words).expect("JSON");
    let none = json!({});
    let suppressed = json!({"suppressed": {"AB114": "agreed with the vendor"}});
    for (line, value, choices, expected) in [
        ("write: 950 MB/s", 950e6, &none, RunVerdict::Inconclusive),
        ("write: 950 MB/s", 950e6, &suppressed, RunVerdict::Verified),
        ("write: 20 MB/s", 20e6, &none, RunVerdict::Verified),
        ("peak: 950 MB/s", 950e6, &none, RunVerdict::Verified),
    ] {
        let mut manifest = words["manifest"].clone();
        manifest["choices"] = choices.clone();
        let mut stored = cases::changed("write", &json!({"manifest": manifest}));
        let figure = json!({
            "printed": {"text": "950", "unit": "MB/s"}, "value": {"value": value, "unit": "bytes_per_sec"},
            "source": {"stream": "stdout", "line": 9, "text": line}, "origin": null, "fault": null,
            "is_no_result": line.starts_with("peak")
        });
        stored.parsed.script_figures = vec![serde_json::from_value(figure).expect("a script's figure")];
        let judgement = judge(&stored.run());
        assert_eq!(judgement.verdict, expected, "{line}: {}", judgement.because);
        assert_eq!(judgement.judged[0].verdict(), ClaimVerdict::Confirmed, "{line}");
    }
}
