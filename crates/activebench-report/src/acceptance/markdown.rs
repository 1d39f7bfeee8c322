//! An acceptance for a ticket: plain Markdown, the outcome first, shorter than the size limit of a ticket.

use activebench_model::acceptance::{Acceptance, AcceptedBenchmark};

use super::{
    CONDITION_HEADS, DEVICE_HEADS, EVIDENCE_HEADS, HOW_TO_CHECK, LIMIT_HEADS, agreement, condition_rows, device_rows,
    evidence_rows, headline, limit_name, limit_reasons, limit_rows, recheck, suite, tested,
};
use crate::escape::{markdown as text, markdown_code as code};
use crate::ticket::{LIMIT, Section, assembled};

pub(super) fn render(acceptance: &Acceptance) -> String {
    let lead = format!("# {}: acceptance\n\n{}.\n", headline(acceptance.outcome), text(&acceptance.because));
    let notes = acceptance.notes.iter().map(|note| format!("\n**Note:** {}\n", text(note))).collect();
    let reasons = |limit| limit_reasons(limit).iter().map(|reason| format!("- {}\n", text(reason))).collect::<String>();
    let details = acceptance.limits.iter();
    let details = details.map(|limit| format!("\n### {}\n\n{}", text(&limit_name(limit)), reasons(limit))).collect();
    let check = format!("## Check it again\n\n{HOW_TO_CHECK}\n\n{}\n", code(&recheck(acceptance)));
    let sections = [
        Section { lead, items: notes, noun: "notes", share: 100 },
        table("## Limits", &LIMIT_HEADS, &limit_rows(acceptance), "limits", 150),
        Section { lead: String::new(), items: details, noun: "limits", share: 150 },
        Section {
            lead: "## Conditions\n".to_owned(),
            items: acceptance.benchmarks.iter().map(conditions).collect(),
            noun: "benchmarks",
            share: 150,
        },
        Section { lead: "## Agreement\n\n".to_owned(), items: list(agreement(acceptance)), noun: "lines", share: 100 },
        Section {
            lead: "## What was tested\n\n".to_owned(),
            items: list(tested(acceptance)),
            noun: "lines",
            share: 75,
        },
        table("", &DEVICE_HEADS, &device_rows(acceptance), "devices", 75),
        table("## Evidence", &EVIDENCE_HEADS, &evidence_rows(acceptance), "runs", 100),
        Section { lead: check, items: Vec::new(), noun: "", share: 75 },
    ];
    assembled(&sections, LIMIT)
}

fn list(lines: Vec<(&'static str, String)>) -> Vec<String> {
    let item = |(label, words): (&str, String)| match label {
        "" => format!("- {}\n", text(&words)),
        label => format!("- {label}: {}\n", text(&words)),
    };
    lines.into_iter().map(item).collect()
}

fn conditions(benchmark: &AcceptedBenchmark) -> String {
    let rows: String = condition_rows(benchmark).iter().map(|row| line(row)).collect();
    let heads = format!("{}{}", line(&CONDITION_HEADS.map(str::to_owned)), rule(CONDITION_HEADS.len()));
    let suite: String = list(suite(benchmark)).concat();
    format!("\n### {}\n\n{heads}{rows}\n{suite}", text(&benchmark.name))
}

fn line(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| text(cell)).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn rule(columns: usize) -> String {
    format!("| {} |\n", vec!["---"; columns].join(" | "))
}

fn table(title: &str, heads: &[&str], rows: &[Vec<String>], noun: &'static str, share: usize) -> Section {
    let title = if title.is_empty() { String::new() } else { format!("{title}\n\n") };
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let lead = match rows.is_empty() {
        true => String::new(),
        false => format!("{title}{}{}", line(&heads), rule(heads.len())),
    };
    Section { lead, items: rows.iter().map(|row| line(row)).collect(), noun, share }
}
