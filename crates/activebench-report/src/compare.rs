//! Runs side by side, as a document.

use activebench_model::compare::{Against, Cell, Compared, Comparison, OtherPass};
use activebench_model::units::significant;
use activebench_model::verdict::RunVerdict;
use serde::Serialize;

use crate::document::{Block, Content, Document, Line, Room, Section, Table};
use crate::escape;
use crate::html::{compared, strip};
use crate::page::{Set, Tone};
use crate::wording::{count, metric};

const TITLE: &str = "Runs side by side";
/// Figures shown to a person; the rest is counted.
const FIGURES_SHOWN: usize = 48;
/// Columns of a table for a person; the rest is counted.
const COLUMNS_SHOWN: usize = 8;
/// Runs in the strip of a page.
const RUNS_IN_STRIP: usize = 24;
/// Longest name of foreign origin, in characters.
const NAME_SHOWN: usize = 160;

/// Sentence for runs that do not differ.
const ALIKE: &str = "Only the figures differ: tool, command, host, storage and rules are the same.";

/// Column heads of the table: one per run, and one per ratio.
fn heads(comparison: &Comparison) -> Vec<String> {
    let shown = comparison.columns.len().min(COLUMNS_SHOWN);
    let mut heads = vec!["phase".to_owned(), "figure".to_owned()];
    for number in 1..=shown {
        heads.push(format!("run {number}"));
        if number > 1 {
            heads.push(format!("{number} : 1"));
        }
    }
    heads
}

fn rows(comparison: &Comparison) -> Vec<Vec<String>> {
    comparison.figures.iter().take(FIGURES_SHOWN).map(row).collect()
}

fn row(figure: &Compared) -> Vec<String> {
    let mut cells = vec![escape::clipped(&figure.phase, 100), metric(figure.metric).to_owned()];
    for (place, cell) in figure.cells.iter().take(COLUMNS_SHOWN).enumerate() {
        cells.push(cell.as_ref().map_or_else(|| "not stated".to_owned(), figure_of));
        if place > 0 {
            cells
                .push(cell.as_ref().and_then(|cell| cell.against_first.as_ref()).map_or_else(|| "-".to_owned(), ratio));
        }
    }
    cells
}

/// The honest figure with its verdict, and the claimed figure if it is different.
fn figure_of(cell: &Cell) -> String {
    let verdict = cell.verdict.as_str();
    let of_runs = match cell.runs {
        runs if cell.confirmed == runs || runs == 1 => String::new(),
        runs => format!(" ({} of {runs} runs confirmed)", cell.confirmed),
    };
    match cell.honest {
        Some(honest) if honest == cell.claimed => format!("{honest} {verdict}{of_runs}"),
        Some(honest) => format!("{honest} honest; {} claimed: {verdict}{of_runs}", cell.claimed),
        None => format!("no honest figure; {} claimed: {verdict}{of_runs}", cell.claimed),
    }
}

fn ratio(against: &Against) -> String {
    match against {
        Against::Compared { ratio, interval: Some(interval) } => {
            let (low, high) = (significant(interval.low), significant(interval.high));
            format!("{} ({low} to {high})", significant(*ratio))
        }
        Against::Compared { ratio, interval: None } => significant(*ratio),
        Against::NotCompared { .. } => "not compared".to_owned(),
    }
}

/// Notes on the table, one sentence each.
fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes: Vec<String> = comparison.other_passes.iter().map(other_pass).collect();
    let all =
        || comparison.figures.iter().flat_map(|figure| figure.cells.iter().enumerate().map(move |at| (figure, at)));
    for (figure, (place, cell)) in all() {
        let Some(cell) = cell else { continue };
        let of = format!("{} {}, run {}", escape::clipped(&figure.phase, 100), metric(figure.metric), place + 1);
        match (&cell.no_honest, &cell.against_first) {
            (Some(why), _) => notes.push(format!("{of}: no honest figure: {why}")),
            // The table says that the first does not state it.
            (None, Some(Against::NotCompared { why })) if figure.cells[0].is_some() => {
                notes.push(format!("{of}: not compared: {why}"));
            }
            (None, _) => {}
        }
    }
    let left_out = notes.len().saturating_sub(FIGURES_SHOWN);
    notes.truncate(FIGURES_SHOWN);
    if left_out > 0 {
        notes.push(format!("The JSON report has {}.", count(left_out, "more note")));
    }
    let more = comparison.figures.len().saturating_sub(FIGURES_SHOWN);
    if more > 0 {
        notes.push(format!("The JSON report has {}.", count(more, "more figure")));
    }
    let columns = comparison.columns.len().saturating_sub(COLUMNS_SHOWN);
    if columns > 0 {
        notes.push(format!("The JSON report has {}.", count(columns, "more run")));
    }
    notes.push(intervals(comparison));
    notes
}

/// What a pass of another tool is compared with, or why it is not.
fn other_pass(pass: &OtherPass) -> String {
    let name = |phase: &str| escape::clipped(phase, 240);
    let of = format!("{} of run {}", name(&pass.phase), pass.run);
    match (&pass.compared_as, &pass.why) {
        (Some(first), _) => format!("{of} did the same I/O as {} of run 1: {}", name(first), pass.io),
        (None, why) => format!("{of} is not compared: {}", why.as_deref().map(name).unwrap_or_default()),
    }
}

/// Confidence of the ratios.
fn intervals(comparison: &Comparison) -> String {
    let has_interval = |cell: &Cell| matches!(cell.against_first, Some(Against::Compared { interval: Some(_), .. }));
    match comparison.figures.iter().flat_map(|figure| figure.cells.iter().flatten()).any(has_interval) {
        true => "In brackets: the confidence interval of the ratio of the medians, at least 95 % for any distribution."
            .to_owned(),
        false => "A ratio has an interval if both are series of at least 7 runs (`verify --repeat 7`).".to_owned(),
    }
}

/// Directory and verdict of a run, with the number of runs if it is a series.
fn named(comparison: &Comparison, place: usize) -> String {
    let column = &comparison.columns[place];
    let extent = if column.series { format!(", {}", count(column.runs, "run")) } else { String::new() };
    format!("{}{extent}: {}", escape::clipped(&column.directory, NAME_SHOWN), column.verdict.as_str())
}

/// Differences between the runs, one sentence each.
fn differences(comparison: &Comparison) -> Vec<String> {
    let said = comparison.differences.iter().map(|difference| {
        let values = difference.values.iter().zip(1..).take(COLUMNS_SHOWN);
        let values: Vec<String> = values
            .map(|(value, number)| match value.as_str() {
                "" => format!("{number}: none"),
                value => format!("{number}: {}", escape::clipped(value, NAME_SHOWN)),
            })
            .collect();
        format!("{}: {} ({})", difference.aspect, values.join("; "), difference.meaning)
    });
    let incomplete = comparison.columns.iter().zip(1..).flat_map(|(column, number)| {
        column
            .incomplete
            .iter()
            .take(COLUMNS_SHOWN)
            .map(move |why| format!("the record of run {number} is incomplete: {why}"))
    });
    said.chain(incomplete).collect()
}

impl Document for Comparison {
    const NOUN: &'static str = "several runs";
    const SCHEMA: &'static str = "activebench.compare/1";

    fn keys(&self) -> impl Serialize {
        self
    }

    fn content(&self, room: Room) -> Content {
        let tone = |verdict: RunVerdict| match verdict {
            RunVerdict::Verified => Tone::Good,
            RunVerdict::Qualified | RunVerdict::Inconclusive => Tone::Doubtful,
            RunVerdict::Discrepancy | RunVerdict::Failed => Tone::Bad,
        };
        let columns = self.columns.iter().enumerate();
        let runs = columns
            .map(|(place, column)| Line::new(format!("run {}", place + 1), tone(column.verdict), named(self, place)));
        let heads = heads(self);
        let set = |head: &String| if head.contains(" : ") { Set::Right } else { Set::Left };
        let sets = heads.iter().map(set).collect();
        let rows = rows(self);
        let mut figures = Vec::new();
        if rows.is_empty() {
            figures.push(Block::Paragraph("No run states a figure.".to_owned()));
        }
        figures.push(Block::Table(Table { heads, sets, ..Table::new("Figures", &[], &[], rows) }));
        figures.push(Block::List { label: "notes", items: notes(self) });
        let mut differences = differences(self);
        if differences.is_empty() {
            differences.push(ALIKE.to_owned());
        }
        let differences =
            Section::new("Differences", "differences", vec![Block::List { label: "differs", items: differences }]);
        let version = env!("CARGO_PKG_VERSION").to_owned();
        if room == Room::Page {
            let mut answers = self.answers.iter();
            // The first answer is the title.
            let title = answers.next().map_or(TITLE, |answer| answer.trim_end_matches('.')).to_owned();
            let mut first: Vec<Block> = answers.cloned().map(Block::Paragraph).collect();
            let numbered = |place: usize| (format!("Run {}", place + 1), Some(named(self, place)));
            let environment: Vec<_> = (0..self.columns.len().min(RUNS_IN_STRIP)).map(numbered).collect();
            first.extend([Block::Chart(compared::section(self)), Block::Chart(strip(&environment))]);
            return Content {
                head: Line::new(title.clone(), Tone::Head, String::new()),
                title,
                sections: vec![
                    Section::new("", "runs", first),
                    differences,
                    Section { is_folded: true, ..Section::new("All figures", "figures", figures) },
                ],
                version,
            };
        }
        Content {
            title: TITLE.to_owned(),
            head: Line::new(TITLE, Tone::Head, String::new()),
            sections: vec![
                Section::new(
                    "",
                    "runs",
                    self.answers.iter().cloned().map(Block::Paragraph).chain([Block::Lines(runs.collect())]).collect(),
                ),
                Section::new("Figures", "figures", figures),
                differences,
            ],
            version,
        }
    }
}
