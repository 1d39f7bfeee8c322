//! Figures over many runs as a document, and as tables.
//!
//! `wording` has the raw text that the formats for people share.

pub mod tables;
pub(crate) mod wording;

use activebench_model::history::{AgainstBaseline, FigureKind, Followed, History, Outcome, RunOfHistory};
use serde::Serialize;

use self::wording::{
    BASELINE_HEADS, BATCH_HEADS, BATCHES_SHOWN, HEADS, Names, SideBySide, about, baseline, baseline_rows, batches,
    date, extent, notes, reading, row, sections,
};
use crate::document::{Block, Content, Document, Line, Room, Section as Part, Table};
use crate::format::csv;
use crate::html;
use crate::page::{Set, Tone};
use crate::wording::{capitalised, count};

/// Formats that only a history has, as text.
pub const HISTORY_CSV: [&str; 2] = ["csv", "runs-csv"];

/// Renders a format that only a history has, as text; `None` for other names.
pub fn render_table(format: &str, history: &History) -> Option<String> {
    match format {
        "csv" => Some(csv::written(&tables::figures(history))),
        "runs-csv" => Some(csv::written(&tables::runs(history))),
        _ => None,
    }
}

impl Document for History {
    const NOUN: &'static str = "a history";
    const SCHEMA: &'static str = "activebench.history/1";

    fn keys(&self) -> impl Serialize {
        self
    }

    fn content(&self, room: Room) -> Content {
        let names = Names::of(self);
        let worse = |figure: &Followed| {
            matches!(figure.against, Some(AgainstBaseline::Compared { outcome: Outcome::Worse, .. }))
        };
        let tone = if self.figures.iter().any(worse) { Tone::Bad } else { Tone::Head };
        let (title, rest, first) = match room {
            // The title of a page is the whole answer.
            Room::Page => (answer(self, &names), String::new(), vec![Block::Chart(html::strip(&environment(self)))]),
            _ => ("Figures over time".to_owned(), extent(self), Vec::new()),
        };
        let words = match (room, tone) {
            (Room::Page, Tone::Bad) => "WORSE".to_owned(),
            (Room::Page, _) => title.clone(),
            _ => "HISTORY".to_owned(),
        };
        Content {
            title,
            head: Line::new(words, tone, rest),
            sections: vec![
                Part::new("", "lines", first),
                // Requested parts come before the parts that are always present.
                Part::new("Against the baseline", "figures", baseline_blocks(self, &names)),
                Part::new("Side by side", "members", batch_blocks(self, &names, room)),
                Part::new("Figures", "figures", figure_blocks(self, &names)),
                Part::new("Runs that were read", "lines", read_blocks(self)),
            ],
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

fn baseline_blocks(history: &History, names: &Names<'_>) -> Vec<Block> {
    if history.baseline.is_none() {
        return Vec::new();
    }
    let sets = [Set::Left, Set::Left, Set::Whole, Set::Left, Set::Right, Set::Right];
    let rows = baseline_rows(history, names);
    vec![
        Block::Heading(Line::new("against the baseline", Tone::Head, "")),
        Block::Table(Table::new("Against the baseline", &BASELINE_HEADS, &sets, rows)),
        Block::List { label: "baseline", items: baseline(history, names) },
    ]
}

/// The first screen in one line: the result of the gate or of the baseline, and else what was followed.
fn answer(history: &History, names: &Names<'_>) -> String {
    let gate = history.baseline.as_ref().and_then(|baseline| baseline.gate.as_ref());
    match gate {
        Some(gate) => capitalised(&wording::limit(gate, history, names)),
        None => extent(history),
    }
}

fn environment(history: &History) -> Vec<(&'static str, Option<String>)> {
    let at = |run: Option<&RunOfHistory>| run.map(|run| date(run.started_unix_s));
    let kind = match history.kind {
        FigureKind::Honest => "honest",
        FigureKind::Claimed => "claimed",
    };
    let mut environment = vec![
        ("Runs", Some(count(history.runs.len(), "run"))),
        ("First run", at(history.runs.first())),
        ("Last run", at(history.runs.last())),
        ("Figures", Some(format!("{}, {kind}", history.figures.len()))),
        ("By", Some(history.by.as_str().to_owned())),
    ];
    environment.extend(history.baseline.as_ref().map(|baseline| ("Baseline", Some(baseline.named.clone()))));
    environment
}

fn batch_blocks(history: &History, names: &Names<'_>, room: Room) -> Vec<Block> {
    let (batches, more) = batches(history, names, BATCHES_SHOWN);
    let mut blocks = Vec::new();
    if room == Room::Page {
        blocks.push(Block::Chart(html::side_by_side::section(history, names)));
    }
    for SideBySide { head, rows, notes } in batches {
        blocks.push(Block::Heading(Line::new("side by side", Tone::Head, format!("  {head}"))));
        let sets = [Set::Left, Set::Right, Set::Right, Set::Right, Set::Whole];
        let tone = |word: &str| if word == "OUTLIER" { Tone::Bad } else { Tone::Plain };
        blocks.push(Block::Table(Table { tone, ..Table::new("Side by side", &BATCH_HEADS, &sets, rows) }));
        blocks.push(Block::List { label: "notes", items: notes });
    }
    if more > 0 {
        blocks.push(Block::Facts(vec![(
            "left out",
            format!("{}, which JSON and CSV have", count(more, "side-by-side table")),
        )]));
    }
    blocks
}

fn figure_blocks(history: &History, names: &Names<'_>) -> Vec<Block> {
    let (sections, left_out) = sections(history);
    let mut blocks = Vec::new();
    if sections.is_empty() {
        blocks.push(Block::Paragraph("No run states a figure that was asked for.".to_owned()));
    }
    let mut charts = html::history::Charts::default();
    for of in &sections {
        blocks.push(Block::Heading(Line::new(of.group.clone(), Tone::Head, format!("  {}", of.load))));
        let rows = of.figures.iter().map(|figure| row(figure, names, &history.rules)).collect();
        let sets = [Set::Left, Set::Left, Set::Right, Set::Right, Set::Left, Set::Right, Set::Right, Set::Left];
        blocks.push(Block::Table(Table::new("Figures", &HEADS, &sets, rows)));
        blocks.push(Block::List { label: "notes", items: notes(of, names) });
        blocks.push(Block::Chart(charts.of_section(history, of, names)));
    }
    if left_out > 0 {
        blocks
            .push(Block::Facts(vec![("left out", format!("{}, which JSON and CSV have", count(left_out, "figure")))]));
    }
    blocks
}

fn read_blocks(history: &History) -> Vec<Block> {
    vec![
        Block::List { label: "notes", items: about(history) },
        Block::List { label: "read", items: reading(&history.reading) },
    ]
}
