//! A series for a terminal: verdict first.

use activebench_model::finding::Severity;
use activebench_model::series::JudgedSeries;
use activebench_model::verdict::RunVerdict;

use super::{
    RUN_HEADS, SeriesFormat, causes, extent, firing, head, heads, rows, run_rows, steady, stopping, title, undecided,
};
use crate::page::{Page, Set, Tone};
use crate::surroundings::prepared;
use crate::wording::{count, shell_command, shell_word};
use crate::{Style, escape};

/// Longest command line in the first line, in characters.
const COMMAND_SHOWN: usize = 160;

/// Format `text`.
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
        if let Some(sentence) = stopping(series) {
            page.paragraph(&sentence, Tone::Plain);
        }
        page.blank();
        let (figures, left_out) = rows(series);
        if !figures.is_empty() {
            let right = [Set::Right; 6];
            let sets = [&[Set::Left, Set::Left][..], &right].concat();
            let heads = heads(series);
            page.table(heads, &sets[..heads.len()], &figures, |_| Tone::Plain);
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
        if let Some(rule) = steady::rule(series) {
            page.headed("steady state", Tone::Head, &format!("  {rule}."));
            let (told, left_out) = steady::windows(series);
            for (sentence, rows) in told {
                page.paragraph(&sentence, Tone::Plain);
                if !rows.is_empty() {
                    let sets = [Set::Right, Set::Right, Set::Right, Set::Left];
                    page.table(&steady::WINDOW_HEADS, &sets, &rows, |_| Tone::Plain);
                }
            }
            if left_out > 0 {
                let of = count(left_out, "further figure");
                page.paragraph(&format!("round by round in the JSON report: {of}"), Tone::Plain);
            }
            page.blank();
        }
        let (causes, left_out) = causes(series);
        for (index, sentence) in causes.iter().enumerate() {
            page.labelled(if index == 0 { "because" } else { "" }, sentence);
        }
        if left_out > 0 {
            page.labelled("", &format!("and {left_out} more in the JSON report"));
        }
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
        if let Some(preparation) = series.preparation() {
            page.labelled("prepared", &prepared(preparation));
        }
        page.labelled_verbatim("series", &series.directory);
        page.labelled_verbatim("next", &format!("activebench recheck {}", shell_word(&series.directory)));
        page.finish()
    }
}
