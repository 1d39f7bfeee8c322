//! The history for a terminal.

use activebench_model::history::{AgainstBaseline, History, Outcome};

use super::{
    BASELINE_HEADS, BATCH_HEADS, BATCHES_SHOWN, HEADS, Names, SideBySide, about, baseline, baseline_rows, batches,
    extent, notes, reading, row, sections,
};
use crate::Style;
use crate::page::{Page, Set, Tone};
use crate::wording::count;

pub(super) fn text(history: &History, style: Style) -> String {
    let mut page = Page::new(style);
    page.headed("history", tone(history), &format!("  {}", extent(history)));
    page.blank();
    let names = Names::of(history);
    let (sections, left_out) = sections(history);
    if sections.is_empty() {
        page.paragraph("No run states a figure that was asked for.", Tone::Plain);
        page.blank();
    }
    for section in &sections {
        page.headed(&section.group, Tone::Head, &format!("  {}", section.load));
        let rows: Vec<Vec<String>> = section.figures.iter().map(|figure| row(figure, &names, &history.rules)).collect();
        let sets = [Set::Left, Set::Left, Set::Right, Set::Right, Set::Left, Set::Right, Set::Right, Set::Left];
        page.table(&HEADS, &sets, &rows, |_| Tone::Plain);
        listed(&mut page, "notes", &notes(section, &names));
        page.blank();
    }
    let (batches, more_batches) = batches(history, &names, BATCHES_SHOWN);
    for SideBySide { head, rows, notes } in &batches {
        page.headed("side by side", Tone::Head, &format!("  {head}"));
        page.table(&BATCH_HEADS, &[Set::Left, Set::Right, Set::Right, Set::Right, Set::Whole], rows, tone_of);
        listed(&mut page, "notes", notes);
        page.blank();
    }
    if history.baseline.is_some() {
        page.headed("against the baseline", Tone::Head, "");
        let sets = [Set::Left, Set::Left, Set::Whole, Set::Left, Set::Right, Set::Right];
        let rows = baseline_rows(history, &names);
        if !rows.is_empty() {
            page.table(&BASELINE_HEADS, &sets, &rows, |_| Tone::Plain);
        }
        listed(&mut page, "baseline", &baseline(history, &names));
        page.blank();
    }
    for (number, what) in [(left_out, "figure"), (more_batches, "side-by-side table")] {
        if number > 0 {
            page.labelled("left out", &format!("{}, which JSON and CSV have", count(number, what)));
        }
    }
    listed(&mut page, "told", &about(history));
    listed(&mut page, "read", &reading(&history.reading));
    page.finish()
}

fn listed(page: &mut Page, label: &str, sentences: &[String]) {
    for (index, sentence) in sentences.iter().enumerate() {
        page.labelled(if index == 0 { label } else { "" }, sentence);
    }
}

fn tone_of(word: &str) -> Tone {
    if word == "OUTLIER" { Tone::Bad } else { Tone::Plain }
}

/// Bad if a figure became worse.
fn tone(history: &History) -> Tone {
    let worse = |figure: &activebench_model::history::Followed| {
        matches!(figure.against, Some(AgainstBaseline::Compared { outcome: Outcome::Worse, .. }))
    };
    if history.figures.iter().any(worse) { Tone::Bad } else { Tone::Head }
}
