//! A series for programs: schema `activebench.series/1`, `docs/series.schema.json`.
//!
//! An unknown value is `null`, never 0, and its key is never left out. The reports of the runs stay in their
//! directories.

use activebench_model::finding::Finding;
use activebench_model::preparation::Preparation;
use activebench_model::series::{JudgedSeries, Repeated, Steadiness, Stopping};
use activebench_model::verdict::RunVerdict;
use serde::Serialize;

use super::SeriesFormat;
use crate::{Style, escape};

/// Value of the key `schema`. A consumer refuses a value that it does not know.
const SCHEMA: &str = "activebench.series/1";

/// Format `json`.
pub(super) struct Json;

impl SeriesFormat for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn extension(&self) -> &'static str {
        "json"
    }

    fn render(&self, series: &JudgedSeries, _style: Style) -> String {
        let document = serde_json::to_string_pretty(&Report::of(series))
            .expect("a report has text keys only and no serialiser of its own that fails");
        escape::json(&document) + "\n"
    }
}

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    verdict: RunVerdict,
    because: &'a str,
    exit_code: i32,
    command: &'a [String],
    profile: &'a str,
    directory: &'a str,
    planned_runs: u32,
    stopping: Option<&'a Stopping>,
    incomplete: &'a [String],
    preparation: Option<&'a Preparation>,
    runs: Vec<RunEntry<'a>>,
    figures: &'a [Repeated],
    steadiness: &'a [Steadiness],
    findings: &'a [Finding],
}

#[derive(Serialize)]
struct RunEntry<'a> {
    number: u32,
    directory: &'a str,
    started_unix_s: i64,
    verdict: RunVerdict,
    exit_code: i32,
}

impl<'a> Report<'a> {
    fn of(series: &'a JudgedSeries) -> Self {
        let manifest = &series.manifest;
        Self {
            schema: SCHEMA,
            verdict: series.verdict,
            because: &series.because,
            exit_code: series.exit_code,
            command: &manifest.command.argv,
            profile: &manifest.choices.profile,
            directory: &series.directory,
            planned_runs: manifest.planned_runs,
            stopping: series.stopping.as_ref(),
            incomplete: &manifest.incomplete,
            preparation: series.preparation(),
            runs: series
                .runs
                .iter()
                .map(|run| RunEntry {
                    number: run.number,
                    directory: &run.directory,
                    started_unix_s: run.started_unix_s,
                    verdict: run.verdict,
                    exit_code: run.exit_code,
                })
                .collect(),
            figures: &series.figures,
            steadiness: &series.steadiness,
            findings: &series.findings,
        }
    }
}
