//! The parts of a SARIF 2.1.0 log that we write.
//!
//! These are our own types instead of the crate `serde-sarif` (0.8), for three reasons. It generates its types from the
//! schema at build time, with two more versions of `syn` and 40 crates. It does not build unless another crate enables
//! serde's derive macros. It has a hundred types, of which only these are needed. A test checks our output against the
//! schema.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// The whole file.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Log {
    #[serde(rename = "$schema")]
    pub(super) schema: &'static str,
    pub(super) version: &'static str,
    pub(super) runs: Vec<Run>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run {
    pub(super) tool: Tool,
    pub(super) invocations: Vec<Invocation>,
    pub(super) automation_details: AutomationDetails,
    pub(super) original_uri_base_ids: BTreeMap<&'static str, ArtifactLocation>,
    pub(super) artifacts: Vec<Artifact>,
    pub(super) results: Vec<Report>,
    pub(super) properties: BTreeMap<&'static str, Value>,
}

#[derive(Debug, Serialize)]
pub(super) struct AutomationDetails {
    pub(super) id: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Tool {
    pub(super) driver: Driver,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Driver {
    pub(super) name: &'static str,
    pub(super) version: String,
    pub(super) information_uri: &'static str,
    pub(super) rules: Vec<Rule>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rule {
    pub(super) id: String,
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) short_description: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) full_description: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) help: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) help_uri: Option<String>,
    pub(super) default_configuration: Configuration,
}

#[derive(Debug, Serialize)]
pub(super) struct Configuration {
    pub(super) level: Level,
}

/// SARIF's message and multiformat message string.
#[derive(Debug, Serialize)]
pub(super) struct Text {
    pub(super) text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) markdown: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Note,
    Warning,
    Error,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Invocation {
    pub(super) command_line: String,
    pub(super) arguments: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) start_time_utc: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) end_time_utc: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exit_code_description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exit_signal_number: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) process_start_failure_message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) process_id: Option<u32>,
    pub(super) execution_successful: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) working_directory: Option<ArtifactLocation>,
    pub(super) tool_execution_notifications: Vec<Notification>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Notification {
    pub(super) level: Level,
    pub(super) message: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) associated_rule: Option<RuleReference>,
}

#[derive(Debug, Serialize)]
pub(super) struct RuleReference {
    pub(super) id: String,
    pub(super) index: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct Artifact {
    pub(super) location: ArtifactLocation,
    pub(super) hashes: BTreeMap<&'static str, String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArtifactLocation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uri_base_id: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<Text>,
}

/// SARIF's result.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    pub(super) rule_id: String,
    pub(super) rule_index: usize,
    pub(super) level: Level,
    pub(super) message: Text,
    pub(super) locations: Vec<Location>,
    pub(super) partial_fingerprints: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) suppressions: Vec<Suppression>,
    pub(super) properties: BTreeMap<&'static str, Value>,
}

#[derive(Debug, Serialize)]
pub(super) struct Suppression {
    pub(super) kind: &'static str,
    pub(super) justification: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Location {
    pub(super) physical_location: PhysicalLocation,
    pub(super) logical_locations: Vec<LogicalLocation>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PhysicalLocation {
    pub(super) artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) region: Option<Region>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Region {
    pub(super) start_line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) snippet: Option<Text>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogicalLocation {
    pub(super) name: String,
    pub(super) fully_qualified_name: String,
    pub(super) kind: &'static str,
}
