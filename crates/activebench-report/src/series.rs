//! A series of runs as a document.

pub(crate) mod steady;

use activebench_model::finding::{Finding, Outcome, Severity};
use activebench_model::preparation::Preparation;
use activebench_model::series::{JudgedSeries, LEAST_RUNS, Repeated, RunOfSeries, Steadiness, Stopping};
use activebench_model::units::Quantity;
use activebench_model::verdict::RunVerdict;
use serde::Serialize;

use crate::document::{Block, Content, Document, Line, Room, Section, Table};
use crate::escape::clipped;
use crate::findings::{round, severity_name};
use crate::html::{repeated, rounds, strip};
use crate::page::{Set, Tone};
use crate::run_context::prepared;
use crate::wording::{self, shell_command, shell_word, started};

/// Longest command line in the first line, in characters.
const COMMAND_SHOWN: usize = 160;
/// Runs shown to a person; the rest is counted.
const RUNS_SHOWN: usize = 1_000;
/// Findings shown to a person; the rest is counted.
const FINDINGS_SHOWN: usize = 100;
/// Undecided findings shown to a person; the rest is counted.
const OPEN_SHOWN: usize = 100;

/// Figures shown to a person; the rest is counted.
const FIGURES_SHOWN: usize = 24;
/// Longest id of a phase, in characters; it can contain words of the tool.
const PHASE_SHOWN: usize = 100;

impl Document for JudgedSeries {
    const NOUN: &'static str = "a series";
    const SCHEMA: &'static str = "activebench.series/1";

    fn keys(&self) -> impl Serialize {
        Keys::of(self)
    }

    fn content(&self, room: Room) -> Content {
        let tone = match self.verdict {
            RunVerdict::Verified => Tone::Good,
            RunVerdict::Qualified | RunVerdict::Inconclusive => Tone::Doubtful,
            RunVerdict::Discrepancy | RunVerdict::Failed => Tone::Bad,
        };
        let command = clipped(&shell_command(&self.manifest.command.argv), COMMAND_SHOWN);
        let verdict = self.verdict.as_str().to_uppercase();
        let extent = extent(self);
        let (title, rest, first) = match room {
            // The title of a page is the whole answer.
            Room::Page => (format!("{extent}: {}", self.because), String::new(), first_screen(self)),
            _ => (extent.clone(), format!("{extent} ({command}): {}.", self.because), Vec::new()),
        };
        let stopping = stopping(self).into_iter().map(Block::Paragraph);
        Content {
            head: Line::new(verdict, tone, rest),
            title,
            sections: vec![
                Section::new("", "lines", stopping.chain(first).collect()),
                // A page has the same figures on its first screen.
                Section { is_folded: true, ..Section::new("Figures", "figures", figures(self)) },
                Section::new("Runs", "runs", runs(self, room)),
                Section::new("Steady state", "figures", steady_state(self, room)),
                Section::new("Differences between the runs", "causes", differences(self)),
                Section::new("Findings", "findings", findings(self)),
                Section::new("Record", "lines", record(self)),
            ],
            version: self.manifest.activebench.clone(),
        }
    }
}

fn figures(series: &JudgedSeries) -> Vec<Block> {
    let (figures, left_out) = rows(series);
    let sets: [Set; HEADS.len()] = std::array::from_fn(|column| if column < 2 { Set::Left } else { Set::Right });
    let heads = heads(series);
    let mut blocks = vec![Block::Table(Table::new("Figures", heads, &sets[..heads.len()], figures))];
    if left_out > 0 {
        blocks.push(Block::Paragraph(format!("and {left_out} more figures in the JSON report")));
    }
    blocks
}

/// The rows of dots, and where the series was recorded.
fn first_screen(series: &JudgedSeries) -> Vec<Block> {
    let runs = &series.runs;
    let at = |run: Option<&RunOfSeries>| run.map(|run| started(run.started_unix_s));
    let environment = [
        ("Command", Some(shell_command(&series.manifest.command.argv))),
        ("Runs", Some(extent(series))),
        ("First run", at(runs.first())),
        ("Last run", at(runs.last())),
        ("Directory", Some(series.directory.clone())),
    ];
    vec![Block::Chart(repeated::section(series)), Block::Chart(strip(&environment))]
}

fn runs(series: &JudgedSeries, room: Room) -> Vec<Block> {
    let mut rows = run_rows(series);
    let more = rows.len().saturating_sub(RUNS_SHOWN);
    rows.truncate(RUNS_SHOWN);
    let sets = [Set::Right, Set::Whole, Set::Right, Set::Right];
    let mut blocks = Vec::new();
    if room == Room::Page {
        blocks.push(Block::Chart(rounds::by_run(series)));
    }
    blocks.push(Block::Table(Table::new("Runs", &RUN_HEADS, &sets, rows)));
    if more > 0 {
        blocks.push(Block::Paragraph(format!("and {more} more runs in the JSON report")));
    }
    blocks
}

fn steady_state(series: &JudgedSeries, room: Room) -> Vec<Block> {
    let Some(rule) = steady::rule(series) else { return Vec::new() };
    if room == Room::Page {
        let unknown = series.steadiness.iter().filter(|of| !of.windows.is_empty() && of.last().is_err());
        let mut blocks = vec![Block::Remark(format!("{rule}.")), Block::Chart(rounds::steady_state(series))];
        blocks.extend(unknown.map(|of| Block::Paragraph(format!("{}.", steady::sentence(of)))));
        return blocks;
    }
    let mut blocks = vec![Block::Heading(Line::new("steady state", Tone::Head, format!("  {rule}.")))];
    let (windows, left_out) = steady::windows(series);
    for (sentence, rows) in windows {
        blocks.push(Block::Paragraph(sentence));
        let sets = [Set::Right, Set::Right, Set::Right, Set::Left];
        blocks.push(Block::Table(Table::new("Rounds", &steady::WINDOW_HEADS, &sets, rows)));
    }
    if left_out > 0 {
        let more = wording::count(left_out, "further figure");
        blocks.push(Block::Paragraph(format!("round by round in the JSON report: {more}")));
    }
    blocks
}

fn differences(series: &JudgedSeries) -> Vec<Block> {
    let (mut items, left_out) = causes(series);
    if left_out > 0 {
        items.push(format!("and {left_out} more in the JSON report"));
    }
    vec![Block::List { label: "because", items }]
}

fn findings(series: &JudgedSeries) -> Vec<Block> {
    let firing = firing(series);
    let mut blocks = Vec::new();
    for finding in firing.iter().take(FINDINGS_SHOWN) {
        let tone = if finding.severity == Some(Severity::Fail) { Tone::Bad } else { Tone::Doubtful };
        blocks.push(Block::Heading(Line::new(head(finding), tone, title(finding))));
        let sentences =
            [finding.message.to_string(), finding.meaning.clone()].into_iter().filter(|sentence| !sentence.is_empty());
        blocks.extend(sentences.map(Block::Paragraph));
        if !finding.advice.is_empty() {
            blocks.push(Block::Advice(finding.advice.clone()));
        }
    }
    if firing.len() > FINDINGS_SHOWN {
        let more = firing.len() - FINDINGS_SHOWN;
        blocks.push(Block::Paragraph(format!("and {more} more findings in the JSON report")));
    }
    let mut open = undecided(series);
    let more = open.len().saturating_sub(OPEN_SHOWN);
    open.truncate(OPEN_SHOWN);
    if more > 0 {
        open.push(format!("and {more} more in the JSON report"));
    }
    blocks.push(Block::List { label: "undecided", items: open });
    blocks
}

fn record(series: &JudgedSeries) -> Vec<Block> {
    let preparation = series.preparation().map(|preparation| ("prepared", prepared(preparation)));
    vec![
        Block::Facts(preparation.into_iter().collect()),
        Block::Verbatim { label: "series", text: series.directory.clone() },
        Block::Verbatim { label: "next", text: format!("activebench recheck {}", shell_word(&series.directory)) },
    ]
}

/// The form for programs, `docs/series.schema.json`. An unknown value is `null`, never 0, and its key is never left
/// out. The reports of the runs stay in their directories.
#[derive(Serialize)]
struct Keys<'a> {
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

impl<'a> Keys<'a> {
    fn of(series: &'a JudgedSeries) -> Self {
        let manifest = &series.manifest;
        Self {
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
        None => format!("needs {LEAST_RUNS} runs"),
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
    let row = |(index, run): (usize, &RunOfSeries)| {
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

/// Title of a finding: ` not-reproducible (read): threshold 5 % (SOURCE)`.
fn title(finding: &Finding) -> String {
    let limit = finding
        .threshold
        .as_ref()
        .map_or_else(String::new, |threshold| format!(": threshold {} ({})", round(threshold.value), threshold.source));
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
