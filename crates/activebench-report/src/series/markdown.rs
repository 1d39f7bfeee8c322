//! A series for a ticket: plain Markdown, verdict first. The tables are bounded and so is each field, so
//! that it fits.

use activebench_model::series::JudgedSeries;

use super::{HEADS, RUN_HEADS, SeriesFormat, extent, firing, head, rows, run_rows, title, undecided};
use crate::Style;
use crate::escape::{markdown as text, markdown_code as code};
use crate::wording::shell_command;

/// Runs shown; the rest is counted.
const RUNS_SHOWN: usize = 100;
/// Findings shown; the rest is counted.
const FINDINGS_SHOWN: usize = 12;
/// Open questions shown; the rest is counted.
const OPEN_SHOWN: usize = 10;

/// `markdown`.
pub(super) struct Markdown;

impl SeriesFormat for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn extension(&self) -> &'static str {
        "md"
    }

    fn render(&self, series: &JudgedSeries, _style: Style) -> String {
        let mut report = format!(
            "# {}: {}\n\nWhy: {}.\n\nCommand: {}\n",
            series.verdict.as_str().to_uppercase(),
            text(&extent(series)),
            text(&series.because),
            code(&shell_command(&series.manifest.command.argv)),
        );
        let (figures, left_out) = rows(series);
        if !figures.is_empty() {
            report.push_str(&format!("\n## Figures\n\n{}", table(&HEADS, &figures)));
        }
        if left_out > 0 {
            report.push_str(&format!("\nLeft out: {left_out} more figures, which the JSON report has.\n"));
        }
        let runs = run_rows(series);
        if !runs.is_empty() {
            report.push_str(&format!("\n## Runs\n\n{}", table(&RUN_HEADS, &runs[..runs.len().min(RUNS_SHOWN)])));
        }
        if runs.len() > RUNS_SHOWN {
            report.push_str(&format!("\nLeft out: {} more runs.\n", runs.len() - RUNS_SHOWN));
        }
        report.push_str("\n## Findings\n");
        let firing = firing(series);
        if firing.is_empty() {
            report.push_str("\nNone.\n");
        }
        for finding in firing.iter().take(FINDINGS_SHOWN) {
            report.push_str(&format!("\n### {}\n", text(&format!("{}{}", head(finding), title(finding)))));
            for sentence in [&finding.message, &finding.meaning].into_iter().filter(|sentence| !sentence.is_empty()) {
                report.push_str(&format!("\n{}\n", text(sentence)));
            }
            if !finding.advice.is_empty() {
                report.push_str(&format!("\n**What to do:** {}\n", text(&finding.advice)));
            }
        }
        if firing.len() > FINDINGS_SHOWN {
            report.push_str(&format!("\nLeft out: {} more findings.\n", firing.len() - FINDINGS_SHOWN));
        }
        let open = undecided(series);
        if !open.is_empty() {
            report.push_str("\n### Undecided\n\n");
            open.iter().take(OPEN_SHOWN).for_each(|line| report.push_str(&format!("- {}\n", text(line))));
        }
        if open.len() > OPEN_SHOWN {
            report.push_str(&format!("\nLeft out: {} more open questions.\n", open.len() - OPEN_SHOWN));
        }
        report.push_str(&format!(
            "\n## Record\n\nWritten by activebench {}.\n\n- Series directory: {}\n",
            text(&series.manifest.activebench),
            code(&series.directory)
        ));
        report
    }
}

fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let rule = vec!["---"; heads.len()].join(" | ");
    let mut table = format!("| {} |\n| {rule} |\n", heads.join(" | "));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| text(cell)).collect();
        table.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    table
}
