//! Reports of repeated runs, one file a format. As for single runs, a renderer computes nothing and
//! escapes every text.

mod html;
mod json;
mod markdown;
mod text;

use activebench_model::finding::{Finding, Outcome, Severity};
use activebench_model::series::{JudgedSeries, Repeated};
use activebench_model::units::Quantity;

use crate::Style;
use crate::escape::clipped;
use crate::findings::severity_name;
use crate::wording;

/// Figures shown to a person; the rest is counted.
const FIGURES_SHOWN: usize = 24;
/// Most characters of a phase's id; it can hold a tool's own words.
const PHASE_SHOWN: usize = 100;

/// One report format for a series.
pub trait SeriesFormat: Sync {
    /// As given to `--format`.
    fn name(&self) -> &'static str;
    /// Ending of its default file, without dot.
    fn extension(&self) -> &'static str;
    /// The whole report.
    fn render(&self, series: &JudgedSeries, style: Style) -> String;
}

/// Every format of a series.
pub const SERIES_FORMATS: &[&dyn SeriesFormat] = &[&text::Text, &json::Json, &markdown::Markdown, &html::Html];

/// The format of a name.
pub fn series_format_by_name(name: &str) -> Option<&'static dyn SeriesFormat> {
    SERIES_FORMATS.iter().copied().find(|format| format.name() == name)
}

/// The columns of the table of figures.
const HEADS: [&str; 7] = ["phase", "figure", "runs", "median", "95 % interval", "range", "spread"];

/// The figures as rows: rates before counts and latencies; how many are left out.
fn rows(series: &JudgedSeries) -> (Vec<Vec<String>>, usize) {
    let is_rate =
        |figure: &&Repeated| !figure.metric.is_count() && !figure.metric.is_cpu() && !figure.metric.is_latency();
    let (rates, others): (Vec<_>, Vec<_>) = series.figures.iter().partition(is_rate);
    let rows: Vec<Vec<String>> = rates.into_iter().chain(others).take(FIGURES_SHOWN).map(row).collect();
    let left_out = series.figures.len() - rows.len();
    (rows, left_out)
}

fn row(figure: &Repeated) -> Vec<String> {
    let stated = figure.values.iter().flatten().count();
    let interval = match &figure.median_interval {
        Some(interval) => format!("{} to {}", interval.low, interval.high),
        None => "needs 6 runs".to_owned(),
    };
    let spread = figure.spread_ratio.map_or_else(|| "-".to_owned(), |spread| Quantity::ratio(spread).to_string());
    vec![
        clipped(&figure.phase, PHASE_SHOWN),
        wording::metric(figure.metric).to_owned(),
        stated.to_string(),
        figure.median.to_string(),
        interval,
        format!("{} to {}", figure.least, figure.most),
        spread,
    ]
}

/// The columns of the table of runs.
const RUN_HEADS: [&str; 4] = ["run", "verdict", "exit code", "first rate"];

/// The runs as rows.
fn run_rows(series: &JudgedSeries) -> Vec<Vec<String>> {
    let first = series.figures.iter().find(|figure| !figure.metric.is_count() && !figure.metric.is_cpu());
    let value = |index: usize| {
        let figure = first?;
        let value = (*figure.values.get(index)?)?;
        Some(Quantity { value, ..figure.median }.to_string())
    };
    let row = |(index, run): (usize, &activebench_model::series::RunOfSeries)| {
        vec![
            run.number.to_string(),
            run.verdict.as_str().to_owned(),
            run.exit_code.to_string(),
            value(index).unwrap_or_else(|| "-".to_owned()),
        ]
    };
    series.runs.iter().enumerate().map(row).collect()
}

/// The findings that fire, the gravest first.
fn firing(series: &JudgedSeries) -> Vec<&Finding> {
    let mut firing: Vec<&Finding> =
        series.findings.iter().filter(|finding| finding.outcome == Outcome::Fires).collect();
    firing.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    firing
}

/// `warn[AB705]`.
fn head(finding: &Finding) -> String {
    format!("{}[{}]", severity_name(finding.severity.unwrap_or(Severity::Note)), finding.code)
}

/// ` not-reproducible (read): limit 5 %`.
fn title(finding: &Finding) -> String {
    let limit = finding
        .threshold
        .as_ref()
        .map_or_else(String::new, |threshold| format!(": limit {} ({})", threshold.value, threshold.source));
    format!(" {} ({}){limit}", finding.name, clipped(finding.phase.as_deref().unwrap_or("the series"), PHASE_SHOWN))
}

/// What could not be decided, each with its reason.
fn undecided(series: &JudgedSeries) -> Vec<String> {
    let undecided = series.findings.iter().filter(|finding| finding.outcome == Outcome::Undecided);
    undecided
        .map(|finding| {
            let of = clipped(finding.phase.as_deref().unwrap_or("the series"), PHASE_SHOWN);
            format!("{} {} ({of}): {}", finding.code, finding.name, finding.message)
        })
        .collect()
}

/// How many runs there are, of how many.
fn extent(series: &JudgedSeries) -> String {
    let (done, planned) = (series.runs.len(), series.manifest.planned_runs);
    match usize::try_from(planned) == Ok(done) {
        true => wording::count(done, "run"),
        false => format!("{done} of {planned} runs"),
    }
}
