//! `sarif`: snapshots, the standard's schema, and the limits of a consumer.

use std::collections::BTreeSet;

use activebench_model::finding::{Finding, Severity};
use activebench_model::report::JudgedRun;
use activebench_report::format::sarif::{MOST_RESULT_BYTES, MOST_RESULTS};
use serde_json::{Value, json};

use crate::samples;

/// Its origin is in `sarif-schema.toml`.
const SCHEMA: &str = include_str!("sarif-schema-2.1.0.json");

fn render(run: &JudgedRun) -> Value {
    serde_json::from_str(&samples::of_run("sarif", run)).expect("the report is JSON")
}

fn errors(log: &Value) -> Vec<String> {
    let mut schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    // A superfluous bracket makes these patterns of the standard invalid regular expressions; we write no `language`.
    for of in ["run", "toolComponent"] {
        let language = schema["definitions"][of]["properties"]["language"].as_object_mut().expect("a property");
        assert!(language.remove("pattern").is_some(), "the standard has fixed {of}");
    }
    let validator = jsonschema::draft7::new(&schema).expect("the schema is a schema");
    validator.iter_errors(log).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

fn results(log: &Value) -> &[Value] {
    log["runs"][0]["results"].as_array().expect("results")
}

#[test]
fn every_sample_reads_as_intended() {
    for (name, run) in samples::all() {
        if name != "many_claims" {
            insta::assert_snapshot!(name, samples::of_run("sarif", &run));
        }
    }
}

#[test]
fn every_sample_follows_the_schema_of_the_standard() {
    for (name, run) in samples::all() {
        assert_eq!(errors(&render(&run)), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_log_that_breaks_the_schema_is_noticed() {
    for (pointer, value) in [
        ("/runs/0/results/0/level", json!("fail")),
        ("/runs/0/results/0/message", json!({})),
        ("/runs/0/results/0/locations/0/physicalLocation/region/startLine", json!(0)),
        ("/runs/0/invocations/0/executionSuccessful", Value::Null),
        ("/runs/0/tool/driver/rules/0/id", Value::Null),
        ("/runs/0/extra", json!(1)),
        ("/version", json!("2.0.0")),
    ] {
        let mut log = render(&samples::misleading());
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer has a slash");
        log.pointer_mut(parent).unwrap_or_else(|| panic!("{parent}"))[key] = value;
        assert_ne!(errors(&log), Vec::<String>::new(), "{pointer} was changed");
    }
}

/// GitHub refuses a whole file if one result has no location in a file.
#[test]
fn every_result_has_a_place_and_its_rule() {
    for (name, run) in samples::all() {
        let log = render(&run);
        let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules");
        for result in results(&log) {
            let uri = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
            assert!(uri.is_string(), "{name}: {result}");
            let index = usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("a small one");
            assert_eq!(rules[index]["id"], result["ruleId"], "{name}");
        }
    }
}

#[test]
fn fingerprints_tell_results_apart_and_outlive_a_run() {
    let fingerprints = |run: &JudgedRun| -> Vec<String> {
        let log = render(run);
        let of = |result: &Value| result["partialFingerprints"]["primaryLocationLineHash"].to_string();
        results(&log).iter().map(of).collect()
    };
    let first = samples::cached();
    let known = fingerprints(&first);
    assert_eq!(known.iter().collect::<BTreeSet<_>>().len(), known.len());
    let mut second = first.clone();
    second.directory = "elsewhere".into();
    second.manifest.clocks.started_unix_s += 86_400;
    for finding in &mut second.findings {
        finding.message = finding.message.sentence().replace('1', "2").into();
    }
    for claim in &mut second.parsed.claims {
        claim.source.line += 1;
        claim.value.value *= 1.5;
    }
    assert_eq!(known, fingerprints(&second));
    second.manifest.command.argv.push("-e".into());
    assert!(fingerprints(&second).iter().all(|other| !known.contains(other)));
}

#[test]
fn a_run_that_shows_nothing_is_no_successful_one() {
    for (name, run) in samples::all() {
        let log = render(&run);
        let invocation = &log["runs"][0]["invocations"][0];
        let successful = invocation["executionSuccessful"] == json!(true);
        assert_eq!(successful, matches!(run.exit_code, 0 | 1), "{name}");
        let notifications = invocation["toolExecutionNotifications"].as_array().expect("a list");
        let has_error = notifications.iter().any(|notification| notification["level"] == "error");
        assert!(successful || has_error, "{name}");
    }
}

#[test]
fn a_file_stays_within_the_bounds_and_says_what_it_leaves_out() {
    let base = samples::misleading();
    let of = |severity, message: String| Finding {
        severity: Some(severity),
        message: message.into(),
        ..base.findings[2].clone()
    };
    for (what, message) in [("many", String::new()), ("large", "word ".repeat(200))] {
        let mut run = base.clone();
        run.findings = vec![of(Severity::Note, message.clone()); MOST_RESULTS];
        run.findings.extend(vec![of(Severity::Fail, message); 100]);
        let file = samples::of_run("sarif", &run);
        assert!(file.len() < 10_000_000, "{what}: {} bytes", file.len());
        assert!(file.len() > MOST_RESULT_BYTES / 2, "{what}: {} bytes", file.len());
        let log: Value = serde_json::from_str(&file).expect("JSON");
        let results = results(&log);
        assert!(results.len() <= MOST_RESULTS, "{what}");
        assert_eq!(results.iter().filter(|result| result["level"] == "error").count(), 100, "{what}");
        let first = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"][0];
        let left_out = run.findings.len() - results.len();
        let said = first["message"]["text"].as_str().expect("a text");
        assert!(said.starts_with(&format!("{left_out} results are left out")), "{what}: {said}");
    }
}
