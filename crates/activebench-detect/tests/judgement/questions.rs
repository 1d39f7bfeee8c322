//! The seven questions: each answered in every run, and with the user's purpose and target.

use activebench_detect::detector::Question;
use activebench_detect::judge::verdicts::judge;
use activebench_model::report::Answer;
use serde_json::{Value, json};

use crate::cases;

fn matter(base: &str, case: &Value) -> Answer {
    judge(&cases::changed(base, case).run()).questions["does_it_matter"].clone()
}

#[test]
fn every_question_has_an_answer_and_evidence() {
    for path in cases::files(&cases::fixtures().join("honest")) {
        let base = cases::stem(&path);
        for case in
            [json!({}), json!({"facts": {"window_ns": {"missing": "no call"}}}), json!({"parsed": {"claims": []}})]
        {
            let questions = judge(&cases::changed(&base, &case).run()).questions;
            for key in Question::ALL.map(Question::key) {
                let Answer { answer, evidence } = &questions[key];
                assert!(!answer.is_empty() && !evidence.is_empty(), "{base} {key}: {answer} {evidence:?}");
            }
        }
    }
}

#[test]
fn a_limit_that_a_detector_knows_is_one_that_was_broken_or_reached() {
    let limit = json!({"group": "/bench", "file": "io.max", "device": 265_289_728, "direction": "read",
        "per_second": {"value": 89_478_485.0, "unit": "bytes_per_sec"}});
    let case = json!({"manifest": {"host": {"io_limits": [limit]}}});
    let answer = judge(&cases::changed("read-direct", &case).run()).questions["did_it_break_limits"].clone();
    assert!(
        answer.answer.starts_with("The quota in io.max of the control group /bench is 85.3 MiB/s"),
        "{}",
        answer.answer
    );
    assert!(answer.evidence.contains(&"AB505".to_owned()), "{:?}", answer.evidence);
}

/// 1 GiB in 12 s is 85.33 MiB/s, or 89.48 MB/s.
#[test]
fn whether_it_matters_is_told_by_purpose_and_target() {
    let check = |base: &str, choices: Value, more: Value, expected: &[&str], evidence: &[&str]| {
        let mut case = json!({"manifest": {"choices": choices}});
        case.as_object_mut().expect("a case").extend(more.as_object().expect("a case").clone());
        let found = matter(base, &case);
        for part in expected {
            assert!(found.answer.contains(part), "no {part:?} in {}", found.answer);
        }
        for name in evidence {
            assert!(found.evidence.iter().any(|found| found == name), "no {name} in {:?}", found.evidence);
        }
    };
    let none = json!({});
    check(
        "write",
        none.clone(),
        none.clone(),
        &["the figure that you need with `--target`", "sequential writes"],
        &["phases"],
    );
    let purpose = json!({"purpose": "nightly backup"});
    check("write", purpose, none.clone(), &["The purpose is \"nightly backup\".", "with `--target`"], &["--purpose"]);
    let target = |text: &str| json!({"target": text});
    let met = ["The target >= 89 MB/s is met: write 85.3 MiB/s, at least 84.9 MiB/s required. Workload of this run"];
    check("write", target(">= 89 MB/s"), none.clone(), &met, &["--target", "c1"]);
    check("write", target(">= 90 MB/s"), none.clone(), &[">= 90 MB/s is missed"], &["c1"]);
    check("write", target("< 85 MiB/s"), none.clone(), &["is missed"], &["c1"]);
    check("write", target("write >= 1 kB/s"), none.clone(), &["is met"], &["c1"]);
    check("write", target("rewrite >= 1 kB/s"), none.clone(), &["The run has no figure of this kind"], &["--target"]);
    check("write", target("p99 <= 5 ms"), none.clone(), &["The run has no figure of this kind"], &["--target"]);
    // The honest figure counts, not the one that was claimed: 1 GiB until durable, 15 s, is 71.58 MB/s.
    let late = json!({"claims": [{"subject": "device"}], "facts": {"durable_span_ns": 15_000_000_000_u64}});
    check("write-default", target(">= 80 MB/s"), late.clone(), &["is missed", "68.3 MiB/s"], &["c1"]);
    check("write-default", target(">= 71 MB/s"), late, &["is met"], &["c1"]);
    // And where there is none, nobody knows.
    let lost = json!({"phase": {"parts": [], "window": null, "incomplete": "lost"}});
    check("write", target(">= 1 MB/s"), lost, &[">= 1 MB/s is not known"], &["c1"]);
    // Stored by a hand that wrote no figure.
    check("write", target("fast"), none, &["is unreadable"], &["--target"]);
}
