//! Reports of repeated runs, one file per format. As for single runs, a renderer computes nothing and escapes every
//! text.

mod html;
mod json;
mod markdown;
pub(crate) mod steady;
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
/// Longest id of a phase, in characters; it can contain words of the tool.
const PHASE_SHOWN: usize = 100;

/// One report format for a series.
pub trait SeriesFormat: Sync {
    /// Name, as given to `--format`.
    fn name(&self) -> &'static str;
    /// File name extension of the default file, without the dot.
    fn extension(&self) -> &'static str;
    /// Renders the whole report.
    fn render(&self, series: &JudgedSeries, style: Style) -> String;
}

/// Every format of a series.
pub const SERIES_FORMATS: &[&dyn SeriesFormat] = &[&text::Text, &json::Json, &markdown::Markdown, &html::Html];

/// Returns the format with this name.
pub fn series_format_by_name(name: &str) -> Option<&'static dyn SeriesFormat> {
    SERIES_FORMATS.iter().copied().find(|format| format.name() == name)
}

/// Columns of the table of figures. The last one is left out if all honest values equal the claims.
const HEADS: [&str; 8] = ["phase", "figure", "runs", "median", "95 % interval", "range", "spread", "honest median"];

/// Returns the column heads that a series needs.
fn heads(series: &JudgedSeries) -> &'static [&'static str] {
    if series.figures.iter().any(has_honest) { &HEADS } else { &HEADS[..HEADS.len() - 1] }
}

/// Returns `true` unless a figure's honest values equal its claims.
fn has_honest(figure: &Repeated) -> bool {
    figure.honest.as_ref().map(|honest| &honest.values) != Some(&figure.claimed.values)
}

/// Returns the figures as rows, rates before counts and latencies, and the number of figures left out.
fn rows(series: &JudgedSeries) -> (Vec<Vec<String>>, usize) {
    let is_rate =
        |figure: &&Repeated| !figure.metric.is_count() && !figure.metric.is_cpu() && !figure.metric.is_latency();
    let (rates, others): (Vec<_>, Vec<_>) = series.figures.iter().partition(is_rate);
    let columns = heads(series).len();
    let row = |figure: &Repeated| row(figure).into_iter().take(columns).collect();
    let rows: Vec<Vec<String>> = rates.into_iter().chain(others).take(FIGURES_SHOWN).map(row).collect();
    let left_out = series.figures.len() - rows.len();
    (rows, left_out)
}

fn row(figure: &Repeated) -> Vec<String> {
    let sample = &figure.claimed;
    let stated = sample.values.iter().flatten().count();
    let interval = match &sample.median_interval {
        Some(interval) => format!("{} to {}", interval.low, interval.high),
        None => "needs 6 runs".to_owned(),
    };
    let spread = sample.spread_ratio.map_or_else(|| "-".to_owned(), |spread| Quantity::ratio(spread).to_string());
    let honest = match &figure.honest {
        None => "not known".to_owned(),
        Some(_) if !has_honest(figure) => "the same".to_owned(),
        Some(honest) => {
            let known = honest.values.iter().flatten().count();
            let of = if known < stated { format!(" ({})", wording::count(known, "run")) } else { String::new() };
            format!("{}{of}", honest.median)
        }
    };
    vec![
        clipped(&figure.phase, PHASE_SHOWN),
        wording::metric(figure.metric).to_owned(),
        stated.to_string(),
        sample.median.to_string(),
        interval,
        format!("{} to {}", sample.least, sample.most),
        spread,
        honest,
    ]
}

/// Maximum causes shown.
const CAUSES_SHOWN: usize = 24;

/// Returns the differences between runs that explain a figure, one sentence each, and the number left out. A cause that
/// several rates of a phase share is reported once.
fn causes(series: &JudgedSeries) -> (Vec<String>, usize) {
    let mut told: Vec<String> = Vec::new();
    for figure in &series.figures {
        for cause in &figure.causes {
            let sentence = format!("{}: {}", clipped(&figure.phase, PHASE_SHOWN), cause.sentence);
            let of_kind = |known: &String| known.split("; ").next() == sentence.split("; ").next();
            if !told.iter().any(of_kind) {
                told.push(sentence);
            }
        }
    }
    let left_out = told.len().saturating_sub(CAUSES_SHOWN);
    told.truncate(CAUSES_SHOWN);
    (told, left_out)
}

/// Returns whether the series reached its stopping target: `target reached: ...`.
fn stopping(series: &JudgedSeries) -> Option<String> {
    let stopping = series.stopping.as_ref()?;
    let word = if stopping.reached { "target reached" } else { "target not reached" };
    Some(format!("{word}: {}", stopping.because))
}

/// Columns of the table of runs.
const RUN_HEADS: [&str; 4] = ["run", "verdict", "exit code", "first rate"];

/// Returns the runs as rows.
fn run_rows(series: &JudgedSeries) -> Vec<Vec<String>> {
    let first = series.figures.iter().find(|figure| !figure.metric.is_count() && !figure.metric.is_cpu());
    let value = |index: usize| {
        let figure = first?;
        let value = (*figure.claimed.values.get(index)?)?;
        Some(Quantity { value, ..figure.claimed.median }.to_string())
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

/// Returns the findings that fire, most severe first.
fn firing(series: &JudgedSeries) -> Vec<&Finding> {
    let mut firing: Vec<&Finding> =
        series.findings.iter().filter(|finding| finding.outcome == Outcome::Fires).collect();
    firing.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    firing
}

/// Severity and code: `warn[AB705]`.
fn head(finding: &Finding) -> String {
    format!("{}[{}]", severity_name(finding.severity.unwrap_or(Severity::Note)), finding.code)
}

/// Title of a finding: ` not-reproducible (read): limit 5 % (SOURCE)`.
fn title(finding: &Finding) -> String {
    let limit = finding
        .threshold
        .as_ref()
        .map_or_else(String::new, |threshold| format!(": limit {} ({})", threshold.value, threshold.source));
    format!(" {} ({}){limit}", finding.name, clipped(finding.phase.as_deref().unwrap_or("the series"), PHASE_SHOWN))
}

/// Undecided findings, each with its reason.
fn undecided(series: &JudgedSeries) -> Vec<String> {
    let undecided = series.findings.iter().filter(|finding| finding.outcome == Outcome::Undecided);
    undecided
        .map(|finding| {
            let of = clipped(finding.phase.as_deref().unwrap_or("the series"), PHASE_SHOWN);
            format!("{} {} ({of}): {}", finding.code, finding.name, finding.message)
        })
        .collect()
}

/// Number of runs done, and of runs planned.
fn extent(series: &JudgedSeries) -> String {
    let (done, planned) = (series.runs.len(), series.manifest.planned_runs);
    if series.manifest.until.is_some() && series.manifest.incomplete.is_empty() {
        return format!("{} of at most {planned}", wording::count(done, "run"));
    }
    match usize::try_from(planned) == Ok(done) {
        true => wording::count(done, "run"),
        false => format!("{done} of {planned} runs"),
    }
}
