//! The history for a ticket.

use activebench_model::history::History;

use super::{
    BASELINE_HEADS, BATCH_HEADS, HEADS, Names, SideBySide, about, baseline, baseline_rows, batches, extent, notes,
    reading, row, sections,
};
use crate::escape;
use crate::ticket::{LIMIT, Section, assembled};

pub(super) fn markdown(history: &History) -> String {
    let names = Names::of(history);
    let (figures, left_out) = sections(history);
    let mut parts = vec![Section {
        lead: format!("# Figures over time\n\n{}\n", escape::markdown(&extent(history))),
        items: Vec::new(),
        noun: "lines",
        share: 50,
    }];
    // Requested parts come before the parts that are always present.
    if history.baseline.is_some() {
        let rows = baseline_rows(history, &names);
        let table = if rows.is_empty() { String::new() } else { head(&BASELINE_HEADS) };
        parts.push(Section {
            lead: format!("## Against the baseline\n\n{table}"),
            items: rows.iter().map(|cells| line(cells)).collect(),
            noun: "figures",
            share: 200,
        });
        parts.push(bullets(String::new(), &baseline(history, &names), "notes", 50));
    }
    let (batches, more) = batches(history, &names, BATCHES);
    for SideBySide { head: title, rows, notes } in batches {
        parts.push(Section {
            lead: format!("## Side by side: {}\n\n{}", escape::markdown(&title), head(&BATCH_HEADS)),
            items: rows.iter().map(|cells| line(cells)).collect(),
            noun: "members",
            share: 20,
        });
        parts.push(bullets(String::new(), &notes, "notes", 10));
    }
    if more > 0 {
        parts.push(bullets(
            String::new(),
            &[format!("{more} more figures side by side are in the JSON report")],
            "notes",
            5,
        ));
    }
    let shown = figures.iter().take(TABLES);
    for section in shown {
        let title = format!("{}: {}", section.group, section.load);
        parts.push(Section {
            lead: format!("## {}\n\n{}", escape::markdown(&title), head(&HEADS)),
            items: section.figures.iter().map(|figure| line(&row(figure, &names, &history.rules))).collect(),
            noun: "figures",
            share: 20,
        });
        parts.push(bullets(String::new(), &notes(section, &names), "notes", 10));
    }
    let more: usize = figures.iter().skip(TABLES).map(|section| section.figures.len()).sum::<usize>() + left_out;
    let mut last = about(history);
    if more > 0 {
        last.push(format!("{more} more figures are in the JSON report"));
    }
    last.extend(reading(&history.reading));
    parts.push(bullets("## What was read\n\n".to_owned(), &last, "lines", 80));
    assembled(&parts, LIMIT)
}

/// Maximum tables of figures and of figures side by side. Their shares of a ticket add up to less than the whole
/// ticket.
const TABLES: usize = 12;
const BATCHES: usize = 6;

fn head(heads: &[&str]) -> String {
    let cells: Vec<String> = heads.iter().map(|cell| (*cell).to_owned()).collect();
    format!("{}| {} |\n", line(&cells), vec!["---"; heads.len()].join(" | "))
}

fn line(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| escape::markdown(cell)).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn bullets(lead: String, sentences: &[String], noun: &'static str, share: usize) -> Section {
    let items = sentences.iter().map(|sentence| format!("- {}\n", escape::markdown(sentence))).collect();
    Section { lead, items, noun, share }
}
