//! The in-toto Statement: a test result of a bundle's files.

use std::collections::BTreeMap;

use activebench_model::sha256;
use activebench_model::verdict::RunVerdict;
use serde::{Deserialize, Serialize};

use crate::MANIFEST;
use crate::error::{BundleError, Fault};
use crate::manifest::BundleManifest;

/// <https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md>
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// <https://github.com/in-toto/attestation/blob/main/spec/predicates/test-result.md>
const PREDICATE_TYPE: &str = "https://in-toto.io/attestation/test-result/v0.1";
/// The profile in which an open question is a failure.
const STRICT: &str = "strict";

/// in-toto's three results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum TestResult {
    /// No claim is contradicted, and there are no warnings.
    Passed,
    /// No claim is contradicted, with warnings; or, outside the strict profile, the evidence does not suffice.
    Warned,
    /// A claim is contradicted, the benchmark failed, or, in the strict profile, the evidence does not suffice. Also
    /// where no claim is contradicted and the run's exit code is not 0: `--fail-on warn` makes a warning a failure.
    Failed,
}

impl TestResult {
    /// As in-toto writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::Warned => "WARNED",
            Self::Failed => "FAILED",
        }
    }

    /// Maps a verdict to in-toto's results, which do not include "inconclusive". The exit code counts because
    /// `--fail-on warn` makes a warning a failure.
    pub fn of(verdict: RunVerdict, exit_code: i32, profile: &str) -> Self {
        match verdict {
            RunVerdict::Discrepancy | RunVerdict::Failed => Self::Failed,
            RunVerdict::Inconclusive if profile == STRICT => Self::Failed,
            RunVerdict::Verified | RunVerdict::Qualified if exit_code != 0 => Self::Failed,
            RunVerdict::Inconclusive | RunVerdict::Qualified => Self::Warned,
            RunVerdict::Verified => Self::Passed,
        }
    }
}

/// The detectors by their outcome, each once, as `AB302 sync-outside-clock`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tests {
    /// Detectors that looked and found nothing.
    pub passed: Vec<String>,
    /// Detectors that warn, or that lack a fact that they need.
    pub warned: Vec<String>,
    /// Detectors that report a failure.
    pub failed: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Statement {
    #[serde(rename = "_type")]
    statement_type: String,
    subject: Vec<Resource>,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    predicate: Predicate,
}

/// in-toto's ResourceDescriptor, as far as it is used here.
#[derive(Debug, Serialize, Deserialize)]
struct Resource {
    name: String,
    digest: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, serde_json::Value>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Predicate {
    result: TestResult,
    configuration: Vec<Resource>,
    #[serde(default)]
    passed_tests: Vec<String>,
    #[serde(default)]
    warned_tests: Vec<String>,
    #[serde(default)]
    failed_tests: Vec<String>,
}

fn resource(name: &str, sha256: &str) -> Resource {
    let digest = [("sha256".to_owned(), sha256.to_owned())].into();
    Resource { name: name.to_owned(), digest, annotations: BTreeMap::new() }
}

/// True for the files that say what was asked for and by which rules it was judged.
fn is_configuration(name: &str) -> bool {
    matches!(name.rsplit('/').next(), Some("run.json" | "series.json"))
}

/// Returns the statement that is signed, as JSON.
pub(crate) fn make(manifest: &BundleManifest, manifest_json: &[u8], tests: Tests) -> Result<Vec<u8>, BundleError> {
    let files = manifest.files.iter().map(|file| resource(&file.name, &file.sha256));
    let subject = std::iter::once(resource(MANIFEST, &sha256::of_bytes(manifest_json))).chain(files).collect();
    let mut about: BTreeMap<String, serde_json::Value> = BTreeMap::new();
    about.insert("activebench".into(), manifest.activebench.clone().into());
    about.insert("command".into(), manifest.tool.command.clone().into());
    about.insert("profile".into(), manifest.profile.clone().into());
    about.insert("verdict".into(), manifest.verdict.as_str().into());
    about.insert("exit_code".into(), manifest.exit_code.into());
    if manifest.verdict == RunVerdict::Inconclusive {
        let words =
            "inconclusive: the evidence does not suffice; stated as FAILED in the strict profile, as WARNED otherwise";
        about.insert("result_means".into(), words.into());
    }
    if let Some(redaction) = &manifest.redacted {
        let kinds = redaction.replaced.keys().cloned().collect::<Vec<_>>();
        about.insert("redacted_copy".into(), true.into());
        about.insert("redacted_kinds".into(), kinds.into());
    }
    let mut configuration: Vec<Resource> = manifest
        .files
        .iter()
        .filter(|file| is_configuration(&file.name))
        .map(|file| resource(&file.name, &file.sha256))
        .collect();
    // The file about the whole comes first: `series.json` before the runs below it.
    configuration.sort_by_key(|file| file.name.matches('/').count());
    match configuration.first_mut() {
        Some(first) => first.annotations = about,
        None => return Err(BundleError::Encode { name: "the statement", why: "the run has no run.json".to_owned() }),
    }
    let Tests { passed, warned, failed } = tests;
    let statement = Statement {
        statement_type: STATEMENT_TYPE.to_owned(),
        subject,
        predicate_type: PREDICATE_TYPE.to_owned(),
        predicate: Predicate {
            result: TestResult::of(manifest.verdict, manifest.exit_code, &manifest.profile),
            configuration,
            passed_tests: passed,
            warned_tests: warned,
            failed_tests: failed,
        },
    };
    serde_json::to_vec_pretty(&statement)
        .map_err(|error| BundleError::Encode { name: "the statement", why: error.to_string() })
}

/// Checks that a statement describes exactly this manifest and its files.
pub(crate) fn check(statement: &[u8], manifest: &BundleManifest, manifest_json: &[u8]) -> Result<TestResult, Fault> {
    let damaged = |why: String| Fault::Statement { why };
    let differs = |why: String| Fault::Subject { why };
    let statement: Statement = serde_json::from_slice(statement).map_err(|error| damaged(error.to_string()))?;
    if statement.statement_type != STATEMENT_TYPE {
        return Err(damaged(format!("it is a {:?} instead of a {STATEMENT_TYPE:?}", statement.statement_type)));
    }
    if statement.predicate_type != PREDICATE_TYPE {
        return Err(damaged(format!("it states a {:?} instead of a {PREDICATE_TYPE:?}", statement.predicate_type)));
    }
    let mut expected: BTreeMap<&str, String> =
        manifest.files.iter().map(|file| (file.name.as_str(), file.sha256.clone())).collect();
    expected.insert(MANIFEST, sha256::of_bytes(manifest_json));
    for subject in &statement.subject {
        match expected.remove(subject.name.as_str()) {
            None => return Err(differs(format!("it is about {:?}, which bundle.json does not list", subject.name))),
            Some(sha256) if subject.digest.get("sha256") != Some(&sha256) => {
                return Err(differs(format!("it is about another {:?} than the one that is here", subject.name)));
            }
            Some(_) => {}
        }
    }
    if let Some(name) = expected.keys().next() {
        return Err(differs(format!("it does not cover {name:?}")));
    }
    let stated = statement.predicate.result;
    let result = TestResult::of(manifest.verdict, manifest.exit_code, &manifest.profile);
    if stated != result {
        let verdict = manifest.verdict.as_str();
        return Err(differs(format!(
            "it states {}, the verdict in bundle.json, {verdict}, gives {}",
            stated.as_str(),
            result.as_str()
        )));
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_has_a_result() {
        use RunVerdict::*;
        for (verdict, exit_code, profile, expected) in [
            (Verified, 0, "default", TestResult::Passed),
            (Qualified, 0, "default", TestResult::Warned),
            // `--fail-on warn`.
            (Qualified, 1, "default", TestResult::Failed),
            (Discrepancy, 1, "default", TestResult::Failed),
            // `--fail-on never` changes the exit code and not the verdict.
            (Discrepancy, 0, "default", TestResult::Failed),
            (Inconclusive, 3, "default", TestResult::Warned),
            (Inconclusive, 3, "strict", TestResult::Failed),
            (Failed, 4, "default", TestResult::Failed),
        ] {
            assert_eq!(TestResult::of(verdict, exit_code, profile), expected, "{verdict:?} {exit_code} {profile}");
        }
        for result in [TestResult::Passed, TestResult::Warned, TestResult::Failed] {
            assert_eq!(serde_json::to_value(result).unwrap(), result.as_str());
        }
    }
}
