//! Reports of runs side by side. As for single runs, a renderer computes nothing and escapes every text.

use activebench_model::compare::{Against, Cell, Compared, Comparison};
use activebench_model::units::significant;
use activebench_model::verdict::RunVerdict;
use serde::Serialize;

use crate::page::{Page, Set, Tone};
use crate::ticket::{LIMIT, Section, assembled};
use crate::wording::{count, metric};
use crate::{Style, escape, html};

/// Value of the key `schema`. A consumer refuses a value that it does not know.
const SCHEMA: &str = "activebench.compare/1";
/// Formats of a comparison.
pub const COMPARE_FORMATS: [&str; 4] = ["text", "json", "markdown", "html"];
/// Figures shown to a person; the rest is counted.
const FIGURES_SHOWN: usize = 48;
/// Columns of a table for a person; the rest is counted.
const COLUMNS_SHOWN: usize = 8;
/// Longest name of foreign origin, in characters.
const NAME_SHOWN: usize = 160;

/// Sentence for runs that do not differ.
const ALIKE: &str = "Nothing but the figures: same tool, command, host, storage and rules.";

/// Renders the comparison; `None` for a format that is not in [`COMPARE_FORMATS`].
pub fn render(format: &str, comparison: &Comparison, style: Style) -> Option<String> {
    match format {
        "text" => Some(text(comparison, style)),
        "json" => Some(json(comparison)),
        "markdown" => Some(markdown(comparison)),
        "html" => Some(page(comparison)),
        _ => None,
    }
}

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
    let mut notes = Vec::new();
    let all =
        || comparison.figures.iter().flat_map(|figure| figure.cells.iter().enumerate().map(move |at| (figure, at)));
    for (figure, (place, cell)) in all() {
        let Some(cell) = cell else { continue };
        let of = format!("{} {}, run {}", escape::clipped(&figure.phase, 100), metric(figure.metric), place + 1);
        match (&cell.no_honest, &cell.against_first) {
            (Some(why), _) => notes.push(format!("{of}: no honest figure: {why}")),
            (None, Some(Against::NotCompared { why })) => notes.push(format!("{of}: not compared: {why}")),
            (None, _) => {}
        }
    }
    let left_out = notes.len().saturating_sub(FIGURES_SHOWN);
    notes.truncate(FIGURES_SHOWN);
    if left_out > 0 {
        notes.push(format!("and {left_out} more such notes, in the JSON report"));
    }
    let more = comparison.figures.len().saturating_sub(FIGURES_SHOWN);
    if more > 0 {
        notes.push(format!("{} left out, which the JSON report has", count(more, "figure")));
    }
    let columns = comparison.columns.len().saturating_sub(COLUMNS_SHOWN);
    if columns > 0 {
        notes.push(format!("{} left out, which the JSON report has", count(columns, "run")));
    }
    notes.push(intervals(comparison));
    notes
}

/// Confidence of the ratios.
fn intervals(comparison: &Comparison) -> String {
    let has_interval = |cell: &Cell| matches!(cell.against_first, Some(Against::Compared { interval: Some(_), .. }));
    match comparison.figures.iter().flat_map(|figure| figure.cells.iter().flatten()).any(has_interval) {
        true => {
            "in brackets: where the ratio of the medians lies with at least 95 %, whatever the distribution".to_owned()
        }
        false => "a ratio has an interval where both are series of at least 7 runs (`verify --repeat 7`)".to_owned(),
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
            .map(move |why| format!("the record of run {number} is not whole: {why}"))
    });
    said.chain(incomplete).collect()
}

fn text(comparison: &Comparison, style: Style) -> String {
    let mut page = Page::new(style);
    let tone = |verdict: RunVerdict| match verdict {
        RunVerdict::Verified => Tone::Good,
        RunVerdict::Qualified | RunVerdict::Inconclusive => Tone::Doubtful,
        RunVerdict::Discrepancy | RunVerdict::Failed => Tone::Bad,
    };
    for (place, column) in comparison.columns.iter().enumerate() {
        page.headed(&format!("run {}", place + 1), tone(column.verdict), &format!("  {}", named(comparison, place)));
    }
    page.blank();
    let rows = rows(comparison);
    if rows.is_empty() {
        page.paragraph("No run states a figure.", Tone::Plain);
    } else {
        let heads = heads(comparison);
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let set = |head: &&str| if head.contains(" : ") { Set::Right } else { Set::Left };
        page.table(&heads, &heads.iter().map(set).collect::<Vec<_>>(), &rows, |_| Tone::Plain);
    }
    page.blank();
    for (index, note) in notes(comparison).iter().enumerate() {
        page.labelled(if index == 0 { "notes" } else { "" }, note);
    }
    page.blank();
    let differences = differences(comparison);
    for (index, difference) in differences.iter().enumerate() {
        page.labelled(if index == 0 { "differs" } else { "" }, difference);
    }
    if differences.is_empty() {
        page.labelled("differs", ALIKE);
    }
    page.finish()
}

fn markdown(comparison: &Comparison) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escape::markdown(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let list = |sentences: &[String]| -> Vec<String> {
        sentences.iter().map(|sentence| format!("- {}\n", escape::markdown(sentence))).collect()
    };
    let columns = (0..comparison.columns.len()).map(|place| format!("run {}: {}", place + 1, named(comparison, place)));
    let heads = heads(comparison);
    let differences = differences(comparison);
    let alike = if differences.is_empty() { format!("{ALIKE}\n") } else { String::new() };
    let sections = [
        Section {
            lead: "# Runs side by side\n\n".to_owned(),
            items: list(&columns.collect::<Vec<_>>()),
            noun: "runs",
            share: 150,
        },
        Section {
            lead: format!("{}| {} |\n", line(&heads), vec!["---"; heads.len()].join(" | ")),
            items: rows(comparison).iter().map(|cells| line(cells)).collect(),
            noun: "figures",
            share: 450,
        },
        Section { lead: String::new(), items: list(&notes(comparison)), noun: "notes", share: 150 },
        Section {
            lead: format!("## What differs\n\n{alike}"),
            items: list(&differences),
            noun: "differences",
            share: 200,
        },
    ];
    assembled(&sections, LIMIT)
}

fn page(comparison: &Comparison) -> String {
    use escape::terminal as shown;
    const TITLE: &str = "Runs side by side";
    let header = maud::html! {
        h1 { (TITLE) }
        ol {
            @for (place, column) in comparison.columns.iter().enumerate() {
                li { (html::verdict(column.verdict)) " " (shown(&named(comparison, place))) }
            }
        }
    };
    let contents = maud::html! {
        ol {
            li { a href="#figures" { "Figures" } }
            li { a href="#differences" { "What differs" } }
        }
    };
    let (heads, rows) = (heads(comparison), rows(comparison));
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let figures = maud::html! {
        @if rows.is_empty() { p { "No run states a figure." } } @else { (html::table("Figures", &heads, &rows)) }
        ul { @for note in notes(comparison) { li { (html::prose(&note)) } } }
    };
    let differences = differences(comparison);
    let differences = maud::html! {
        @if differences.is_empty() { p { (ALIKE) } }
        ul { @for difference in differences { li { (html::prose(&difference)) } } }
    };
    let main = maud::html! {
        (html::part("figures", "Figures", figures))
        (html::part("differences", "What differs", differences))
    };
    html::visible(&html::page(TITLE, header, contents, main, env!("CARGO_PKG_VERSION")).into_string())
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

fn json(comparison: &Comparison) -> String {
    let text = serde_json::to_string_pretty(&Document { schema: SCHEMA, comparison })
        .expect("it has text keys only and no serialiser of its own that fails");
    escape::json(&text) + "\n"
}
