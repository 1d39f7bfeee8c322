//! A series for a terminal: verdict first.

use activebench_model::finding::Severity;
use activebench_model::series::JudgedSeries;
use activebench_model::verdict::RunVerdict;

use super::{HEADS, RUN_HEADS, SeriesFormat, extent, firing, head, rows, run_rows, title, undecided};
use crate::page::{Page, Set, Tone};
use crate::wording::{shell_command, shell_word};
use crate::{Style, escape};

/// Most characters of a command line in the first line.
const COMMAND_SHOWN: usize = 160;

/// `text`.
pub(super) struct Text;

impl SeriesFormat for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn extension(&self) -> &'static str {
        "txt"
    }

    fn render(&self, series: &JudgedSeries, style: Style) -> String {
        let mut page = Page::new(style);
        let tone = match series.verdict {
            RunVerdict::Verified => Tone::Good,
            RunVerdict::Qualified | RunVerdict::Inconclusive => Tone::Doubtful,
            RunVerdict::Discrepancy | RunVerdict::Failed => Tone::Bad,
        };
        let command = escape::clipped(&shell_command(&series.manifest.command.argv), COMMAND_SHOWN);
        let rest = format!("  {} ({command}): {}.", extent(series), series.because);
        page.headed(&series.verdict.as_str().to_uppercase(), tone, &rest);
        page.blank();
        let (figures, left_out) = rows(series);
        if !figures.is_empty() {
            let sets = [Set::Left, Set::Left, Set::Right, Set::Right, Set::Right, Set::Right, Set::Right];
            page.table(&HEADS, &sets, &figures, |_| Tone::Plain);
        }
        if left_out > 0 {
            page.paragraph(&format!("and {left_out} more figures in the JSON report"), Tone::Plain);
        }
        page.blank();
        let runs = run_rows(series);
        if !runs.is_empty() {
            page.table(&RUN_HEADS, &[Set::Right, Set::Whole, Set::Right, Set::Right], &runs, |_| Tone::Plain);
        }
        page.blank();
        for finding in firing(series) {
            let tone = if finding.severity == Some(Severity::Fail) { Tone::Bad } else { Tone::Doubtful };
            page.headed(&head(finding), tone, &title(finding));
            for sentence in [&finding.message, &finding.meaning].into_iter().filter(|sentence| !sentence.is_empty()) {
                page.paragraph(sentence, Tone::Plain);
            }
            if !finding.advice.is_empty() {
                page.marked("→ ", &finding.advice, Tone::Head);
            }
        }
        for (index, sentence) in undecided(series).iter().enumerate() {
            page.labelled(if index == 0 { "undecided" } else { "" }, sentence);
        }
        page.blank();
        page.labelled_verbatim("series", &series.directory);
        page.labelled_verbatim("next", &format!("activebench recheck {}", shell_word(&series.directory)));
        page.finish()
    }
}
