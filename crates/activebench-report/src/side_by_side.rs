//! Two runs of one benchmark side by side: with its original command, and with the advice applied.
//!
//! The report of the first run comes first in full, in the requested format. As for single runs, a renderer computes
//! nothing and escapes every text.

use activebench_model::remedy::{Beside, Side, SideBySide};
use activebench_model::verdict::RunVerdict;
use serde::Serialize;

use crate::envelope::Envelope;
use crate::json::{Report, report};
use crate::markdown::within;
use crate::page::{Page, Set, Tone};
use crate::ticket::{LIMIT, length};
use crate::wording::{self, shell_command, shell_word};
use crate::{Style, escape, format_by_name, html};

/// Value of the key `schema`. A consumer refuses a value that it does not know.
const SCHEMA: &str = "activebench.advice/1";
/// Figures shown to a person; the rest is counted.
const FIGURES_SHOWN: usize = 24;
/// Formats for two runs side by side.
pub const SIDE_BY_SIDE_FORMATS: [&str; 4] = ["text", "json", "markdown", "html"];
/// Columns of the table.
const HEADS: [&str; 7] = ["phase", "figure", "as given", "honest", "verdict", "with the advice", "verdict then"];

/// Renders both runs; `None` for a format that is not in [`SIDE_BY_SIDE_FORMATS`].
pub fn render(format: &str, sides: &SideBySide, style: Style) -> Option<String> {
    match format {
        "text" => Some(text(sides, style)),
        "json" => Some(json(sides)),
        "markdown" => Some(markdown(sides)),
        "html" => Some(page_of(sides)),
        _ => None,
    }
}

fn rows(sides: &SideBySide) -> Vec<Vec<String>> {
    let figure = |figure: &Beside| {
        let honest = |side: &Side| side.honest.map_or_else(|| "not known".to_owned(), |value| value.to_string());
        let advised = figure.with_advice.as_ref();
        vec![
            escape::clipped(&figure.phase, 100),
            wording::metric(figure.metric).to_owned(),
            figure.as_given.claimed.to_string(),
            honest(&figure.as_given),
            figure.as_given.verdict.as_str().to_owned(),
            advised.map_or_else(|| "not printed".to_owned(), |side| side.claimed.to_string()),
            advised.map_or_else(|| "-".to_owned(), |side| side.verdict.as_str().to_owned()),
        ]
    };
    sides.figures.iter().take(FIGURES_SHOWN).map(figure).collect()
}

/// Returns the applied changes, and the reasons for those not applied, one sentence each.
fn changes(sides: &SideBySide) -> Vec<String> {
    let applied =
        sides.remedied.applied.iter().map(|applied| format!("{}: {}", applied.codes.join(", "), applied.change));
    let left = sides.remedied.left.iter().map(|left| format!("{}: nothing changed: {}", left.code, left.why));
    applied.chain(left).collect()
}

fn left_out(sides: &SideBySide) -> Option<String> {
    let more = sides.figures.len().saturating_sub(FIGURES_SHOWN);
    (more > 0).then(|| format!("and {more} more figures in the JSON report"))
}

fn because(sides: &SideBySide) -> String {
    format!("{} of {} figures hold with the advice applied", sides.holding, sides.figures.len())
}

fn text(sides: &SideBySide, style: Style) -> String {
    let first = format_by_name("text").map_or_else(String::new, |text| text.render(&sides.as_given, style));
    let mut page = Page::new(style);
    let advised = &sides.with_advice;
    let tone = match advised.verdict {
        RunVerdict::Verified => Tone::Good,
        RunVerdict::Qualified | RunVerdict::Inconclusive => Tone::Doubtful,
        RunVerdict::Discrepancy | RunVerdict::Failed => Tone::Bad,
    };
    let command = escape::clipped(&shell_command(&sides.remedied.argv), 160);
    let head = format!("WITH THE ADVICE: {}", advised.verdict.as_str().to_uppercase());
    page.headed(&head, tone, &format!("  {command}: {}.", because(sides)));
    changes(sides).iter().for_each(|change| page.marked("→ ", change, Tone::Plain));
    page.blank();
    let table = rows(sides);
    if !table.is_empty() {
        let sets = [Set::Left, Set::Left, Set::Right, Set::Right, Set::Whole, Set::Right, Set::Whole];
        page.table(&HEADS, &sets, &table, |_| Tone::Plain);
    }
    if let Some(more) = left_out(sides) {
        page.paragraph(&more, Tone::Plain);
    }
    page.blank();
    page.labelled_verbatim("run", &advised.directory);
    page.labelled_verbatim("next", &format!("activebench report {}", shell_word(&advised.directory)));
    format!("{first}\n{}", page.finish())
}

/// The table gets at most half of a ticket; the first run's report gets the rest.
fn markdown(sides: &SideBySide) -> String {
    let row = |cells: Vec<String>| {
        let cells: Vec<String> = cells.iter().map(|cell| escape::markdown(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut second = format!(
        "\n## With the advice: {}\n\nCommand: {}\n\n{}.\n\n",
        sides.with_advice.verdict.as_str(),
        escape::markdown_code(&shell_command(&sides.remedied.argv)),
        escape::markdown(&because(sides)),
    );
    changes(sides).iter().for_each(|change| second.push_str(&format!("- {}\n", escape::markdown(change))));
    second.push_str(&format!("\n| {} |\n| {} |\n", HEADS.join(" | "), ["---"; 7].join(" | ")));
    let rows: Vec<String> = rows(sides).into_iter().map(row).collect();
    let mut room = (LIMIT / 2).saturating_sub(length(&second));
    let fits = |row: &&String| {
        let is_room = length(row) < room;
        room = room.saturating_sub(length(row));
        is_room
    };
    let shown = rows.iter().take_while(fits).inspect(|row| second.push_str(row)).count();
    let more = sides.figures.len() - shown;
    if more > 0 {
        second.push_str(&format!("\nAnd {more} more figures, in the JSON report.\n"));
    }
    within(&sides.as_given, LIMIT.saturating_sub(length(&second))) + &second
}

/// Page of the first run, with the second run as its last section.
fn page_of(sides: &SideBySide) -> String {
    use escape::terminal as shown;
    let section = maud::html! {
        p { (html::verdict(sides.with_advice.verdict)) " " (shown(&because(sides))) "." }
        p.command { code { (shown(&shell_command(&sides.remedied.argv))) } }
        ul { @for change in changes(sides) { li { (html::prose(&change)) } } }
        (html::table("Figures with the advice", &HEADS, &rows(sides)))
        @if let Some(more) = left_out(sides) { p { (shown(&more)) "." } }
        p { "Its run directory: " code { (shown(&sides.with_advice.directory)) } }
    };
    html::visible(&html::document(&sides.as_given, Some(("With the advice", section))).into_string())
}

#[derive(Serialize)]
struct Document<'a> {
    exit_code: i32,
    command: &'a [String],
    advised_command: &'a [String],
    applied: &'a [activebench_model::remedy::Applied],
    left: &'a [activebench_model::remedy::Left],
    figures: &'a [Beside],
    holding: usize,
    as_given: Envelope<Report<'a>>,
    with_advice: Envelope<Report<'a>>,
}

fn json(sides: &SideBySide) -> String {
    let document = Document {
        exit_code: sides.as_given.exit_code,
        command: &sides.as_given.manifest.command.argv,
        advised_command: &sides.remedied.argv,
        applied: &sides.remedied.applied,
        left: &sides.remedied.left,
        figures: &sides.figures,
        holding: sides.holding,
        as_given: report(&sides.as_given),
        with_advice: report(&sides.with_advice),
    };
    Envelope { schema: SCHEMA, keys: document }.json()
}
