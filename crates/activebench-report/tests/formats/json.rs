//! `json`: snapshots, and the schema in `docs/`.

use activebench_model::report::JudgedRun;
use activebench_report::document::Document;
use std::collections::BTreeSet;

use activebench_model::claim::{Metric, Subject};
use activebench_model::fact::{Fact, FactName, Scope};
use activebench_model::finding::{Effect, Outcome, Severity};
use activebench_model::host::Tier;
use activebench_model::limiter::LimiterKind;
use activebench_model::run::FailOn;
use activebench_model::units::{Quantity, Unit};
use serde::Serialize;
use serde_json::{Value, json};

use crate::samples;

const SCHEMA_FILE: &str = include_str!("../../../../docs/report.schema.json");

fn schema() -> Value {
    serde_json::from_str(SCHEMA_FILE).expect("the schema is JSON")
}

fn report(run: &activebench_model::report::JudgedRun) -> Value {
    serde_json::from_str(&samples::of_run("json", run)).expect("the report is JSON")
}

fn errors(report: &Value) -> Vec<String> {
    let validator = jsonschema::draft202012::new(&schema()).expect("the schema is a schema");
    validator.iter_errors(report).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn every_sample_reads_as_intended() {
    for (name, run) in samples::all() {
        // 200 claims are 10,000 lines; the schema checks them below.
        if name != "many_claims" {
            insta::assert_snapshot!(name, samples::of_run("json", &run));
        }
    }
}

#[test]
fn every_sample_follows_the_schema() {
    assert_eq!(jsonschema::meta::validate(&schema()).map_err(|error| error.to_string()), Ok(()));
    assert_eq!(schema()["properties"]["schema"]["const"], JudgedRun::SCHEMA);
    for (name, run) in samples::all() {
        assert_eq!(errors(&report(&run)), Vec::<String>::new(), "{name}");
    }
}

/// The same report with one thing changed, by JSON pointer; `None` removes it.
#[test]
fn a_report_that_breaks_the_schema_is_noticed() {
    for (pointer, value) in [
        ("/schema", Some(json!("activebench.report/2"))),
        ("/verdict", Some(json!("fine"))),
        ("/verdict", None),
        ("/exit_code", Some(json!("0"))),
        ("/extra", Some(json!(1))),
        ("/claims/0/unit", Some(json!("MB"))),
        ("/claims/0/corrected/meaning", None),
        ("/claims/0/observed", None),
        ("/claims/0/verdict", Some(json!("right"))),
        ("/claims/0/subject", Some(json!("disk"))),
        ("/claims/0/metric", Some(json!("speed"))),
        ("/claims/0/source/line", Some(json!(0))),
        ("/phases/0/window/end_ns", None),
        ("/phases/0/facts/write_bytes/completeness", Some(json!("complete"))),
        ("/phases/0/facts/write_bytes/value", Some(json!("1"))),
        ("/phases/0/facts/write_bytes/value", Some(Value::Null)),
        ("/findings/0/outcome", Some(json!("fired"))),
        ("/findings/0/severity", Some(Value::Null)),
        ("/findings/4/severity", Some(json!("fail"))),
        ("/questions/did_it_error/answer", None),
        ("/coverage/lost/block/made", None),
        ("/host/targets/0/tier", Some(json!("cloud"))),
        ("/run/sha256/stdout.txt", Some(json!("none"))),
        ("/run/directory", None),
        ("/phases/0/limiter", None),
        ("/phases/0/limiter/kind", Some(json!("disk"))),
        ("/phases/0/limiter/figures/0/unit", Some(json!("percent"))),
        ("/purpose", None),
        ("/changed_thresholds", None),
    ] {
        let mut report = report(&samples::misleading());
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer has a slash");
        let parent = report.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer} has no parent"));
        let fields = parent.as_object_mut().expect("the parent is an object");
        match value {
            Some(value) => fields.insert(key.to_owned(), value),
            None => Some(fields.remove(key).unwrap_or_else(|| panic!("{pointer} is not there"))),
        };
        assert_ne!(errors(&report), Vec::<String>::new(), "{pointer} was changed");
    }
}

/// The schema's enumerations have exactly the words of the model.
#[test]
fn the_schema_and_the_model_have_the_same_words() {
    fn check<T: Serialize>(pointer: &str, variants: &[T]) {
        let schema = schema();
        let words = schema.pointer(&format!("{pointer}/enum")).unwrap_or_else(|| panic!("no enum at {pointer}"));
        let words: BTreeSet<&str> = words.as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        let model: Vec<Value> = variants.iter().map(|v| serde_json::to_value(v).expect("a word")).collect();
        assert_eq!(words, model.iter().filter_map(Value::as_str).collect(), "{pointer}");
    }
    use activebench_model::verdict::{ClaimVerdict, RunVerdict};
    check(
        "/properties/verdict",
        &[
            RunVerdict::Verified,
            RunVerdict::Qualified,
            RunVerdict::Discrepancy,
            RunVerdict::Inconclusive,
            RunVerdict::Failed,
        ],
    );
    check("/$defs/claim/properties/verdict", ClaimVerdict::ALL);
    check("/$defs/claim/properties/metric", Metric::ALL);
    check(
        "/$defs/claim/properties/subject",
        &[
            Subject::Device,
            Subject::CachedFilesystem,
            Subject::DurableWrite,
            Subject::Metadata,
            Subject::Cpu,
            Subject::Unknown,
        ],
    );
    check(
        "/$defs/finding/properties/outcome",
        &[Outcome::Fires, Outcome::Silent, Outcome::NotApplicable, Outcome::Undecided],
    );
    check("/$defs/finding/properties/severity", &[Severity::Note, Severity::Warn, Severity::Fail]);
    check("/$defs/finding/properties/effect", &[Effect::Unverifiable, Effect::Misleading, Effect::Refuted]);
    check("/$defs/fact/properties/scope", &[Scope::Tree, Scope::File, Scope::Device, Scope::Host]);
    check("/$defs/target/properties/tier", &[Tier::Block, Tier::Memory, Tier::Network, Tier::Fuse, Tier::Unknown]);
    check("/$defs/run/properties/fail_on", &[FailOn::Warn, FailOn::Fail, FailOn::Never]);
    check("/$defs/limiter/properties/kind", LimiterKind::ALL);
    check("/$defs/unit", &[Unit::Bytes, Unit::Ns, Unit::BytesPerSec, Unit::OpsPerSec, Unit::Ratio, Unit::Count]);
}

#[test]
fn every_fact_of_the_model_fits_the_schema() {
    let mut run = samples::misleading();
    for name in FactName::ALL {
        let value = Quantity { value: 0.25, unit: name.unit() };
        run.run_facts.insert(*name, Fact::complete(value, Scope::Host, "calls"));
    }
    let report = report(&run);
    assert_eq!(errors(&report), Vec::<String>::new());
    assert_eq!(report["run"]["facts"].as_object().map(serde_json::Map::len), Some(FactName::ALL.len()));
}

#[test]
fn a_finding_on_two_claims_has_an_entry_for_each() {
    let run = samples::undecided();
    let report = report(&run);
    let claims: Vec<&str> = report["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|finding| finding["code"] == "AB902")
        .filter_map(|finding| finding["claim"].as_str())
        .collect();
    assert_eq!(claims, ["c1", "c2"]);
}

#[test]
fn every_field_of_the_schema_says_what_it_is() {
    fn check(path: &str, schema: &Value) {
        if let Some(properties) = schema["properties"].as_object() {
            for (name, property) in properties {
                let path = format!("{path}/{name}");
                let says = property.get("description").or_else(|| property.get("$ref"));
                assert!(says.is_some(), "{path} has no description");
                check(&path, property);
            }
        }
        if let Some(definitions) = schema["$defs"].as_object() {
            for (name, definition) in definitions {
                assert!(definition.get("description").is_some(), "$defs/{name} has no description");
                check(&format!("$defs/{name}"), definition);
            }
        }
        if schema.get("items").is_some() {
            check(&format!("{path}[]"), &schema["items"]);
        }
    }
    check("", &schema());
}
