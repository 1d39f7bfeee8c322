//! A series for a ticket: plain Markdown, verdict first.

use activebench_model::finding::Finding;
use activebench_model::series::JudgedSeries;

use super::{
    RUN_HEADS, SeriesFormat, causes, extent, firing, head, heads, rows, run_rows, steady, stopping, title, undecided,
};
use crate::Style;
use crate::escape::{markdown as text, markdown_code as code};
use crate::surroundings::prepared;
use crate::ticket::{LIMIT, Section, assembled};
use crate::wording::shell_command;

/// Format `markdown`.
pub(super) struct Markdown;

impl SeriesFormat for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn extension(&self) -> &'static str {
        "md"
    }

    fn render(&self, series: &JudgedSeries, _style: Style) -> String {
        let sections = [
            verdict(series),
            figures(series),
            steady_state(series),
            differences(series),
            runs(series),
            findings(series),
            open_questions(series),
            record(series),
        ];
        assembled(&sections, LIMIT)
    }
}

fn verdict(series: &JudgedSeries) -> Section {
    let lead = format!(
        "# {}: {}\n\nWhy: {}.\n{}\nCommand: {}\n",
        series.verdict.as_str().to_uppercase(),
        text(&extent(series)),
        text(&series.because),
        stopping(series).map_or_else(String::new, |sentence| format!("\n{}.\n", text(&sentence))),
        code(&shell_command(&series.manifest.command.argv)),
    );
    Section { lead, items: Vec::new(), noun: "", share: 150 }
}

fn figures(series: &JudgedSeries) -> Section {
    let (rows, left_out) = rows(series);
    let mut section = table("## Figures", heads(series), &rows, "figures", 250);
    if left_out > 0 {
        section.items.push(format!("\nLeft out: {left_out} more figures, which the JSON report has.\n"));
    }
    section
}

fn steady_state(series: &JudgedSeries) -> Section {
    let lead = match steady::rule(series) {
        Some(rule) => format!("## Steady state\n\n{}.\n\n", text(&rule)),
        None => String::new(),
    };
    let items = steady::sentences(series).iter().map(|sentence| format!("- {}\n", text(sentence))).collect();
    Section { lead, items, noun: "figures", share: 75 }
}

fn differences(series: &JudgedSeries) -> Section {
    let (causes, left_out) = causes(series);
    let lead = if causes.is_empty() { String::new() } else { "## What the runs differ by\n\n".to_owned() };
    let mut items: Vec<String> = causes.iter().map(|sentence| format!("- {}\n", text(sentence))).collect();
    if left_out > 0 {
        items.push(format!("\nLeft out: {left_out} more causes, which the JSON report has.\n"));
    }
    Section { lead, items, noun: "causes", share: 75 }
}

fn runs(series: &JudgedSeries) -> Section {
    table("## Runs", &RUN_HEADS, &run_rows(series), "runs", 100)
}

fn findings(series: &JudgedSeries) -> Section {
    let firing = firing(series);
    let item = |finding: &&Finding| {
        let mut item = format!("\n### {}\n", text(&format!("{}{}", head(finding), title(finding))));
        for sentence in [&finding.message, &finding.meaning].into_iter().filter(|sentence| !sentence.is_empty()) {
            item.push_str(&format!("\n{}\n", text(sentence)));
        }
        if !finding.advice.is_empty() {
            item.push_str(&format!("\n**What to do:** {}\n", text(&finding.advice)));
        }
        item
    };
    let none = if firing.is_empty() { "\nNone.\n" } else { "" };
    let items = firing.iter().map(item).collect();
    Section { lead: format!("## Findings\n{none}"), items, noun: "findings", share: 200 }
}

fn open_questions(series: &JudgedSeries) -> Section {
    let open = undecided(series);
    let lead = if open.is_empty() { String::new() } else { "### Undecided\n\n".to_owned() };
    let items = open.iter().map(|line| format!("- {}\n", text(line))).collect();
    Section { lead, items, noun: "open questions", share: 75 }
}

fn record(series: &JudgedSeries) -> Section {
    let line = series.preparation().map(|preparation| format!("- Prepared: {}.\n", text(&prepared(preparation))));
    let lead = format!(
        "## Record\n\nWritten by activebench {}.\n\n{}- Series directory: {}\n",
        text(&series.manifest.activebench),
        line.unwrap_or_default(),
        code(&series.directory)
    );
    Section { lead, items: Vec::new(), noun: "", share: 50 }
}

fn table(title: &str, heads: &[&str], rows: &[Vec<String>], noun: &'static str, share: usize) -> Section {
    let row = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().map(|cell| text(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let lead = match rows.is_empty() {
        true => String::new(),
        false => {
            format!("{title}\n\n| {} |\n| {} |\n", heads.join(" | "), vec!["---"; heads.len()].join(" | "))
        }
    };
    Section { lead, items: rows.iter().map(row).collect(), noun, share }
}
