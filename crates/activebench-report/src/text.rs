//! The report for a terminal: one screen for a normal run, verdict first.
//!
//! Merging and wording are in `headline`, `claims`, `findings` and `run_context`; wrapping, escaping and colour are in
//! `page`.

use activebench_model::finding::Severity;
use activebench_model::report::JudgedRun;
use activebench_model::verdict::{ClaimVerdict, RunVerdict};

use crate::claims::{self, SCREEN_ROWS};
use crate::escape;
use crate::findings::Group;
use crate::page::{Page, Set, Tone};
use crate::{Format, Style, cpu_time, findings, headline, limiter, questions, run_context};

/// Longest command line in the first line, in characters; `run.json` has all of it.
const COMMAND_SHOWN: usize = 160;
/// Targets shown; the rest is counted.
const TARGETS_SHOWN: usize = 3;
/// Maximum phases whose thread times and bottlenecks are shown.
const PROFILES_SHOWN: usize = 4;

/// Format `text`.
pub struct Text;

impl Format for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn extension(&self) -> &'static str {
        "txt"
    }

    fn shows_timelines(&self) -> bool {
        false
    }

    fn render(&self, run: &JudgedRun, style: Style) -> String {
        let mut page = Page::new(style);
        add_headline(&mut page, run);
        if run.parsed.claims.is_empty() {
            add_facts(&mut page, run);
        } else {
            add_claims(&mut page, run);
        }
        add_findings(&mut page, run);
        add_run_context(&mut page, run);
        page.finish()
    }
}

fn add_headline(page: &mut Page, run: &JudgedRun) {
    let tone = match run.verdict {
        RunVerdict::Verified => Tone::Good,
        RunVerdict::Qualified | RunVerdict::Inconclusive => Tone::Doubtful,
        RunVerdict::Discrepancy | RunVerdict::Failed => Tone::Bad,
    };
    let command = escape::clipped(&headline::command(run), COMMAND_SHOWN);
    let rest = format!("  {} ({command}): {}.", headline::tool(run), headline::why(run));
    page.headed(&run.verdict.as_str().to_uppercase(), tone, &rest);
    for notice in headline::notices(run) {
        page.headed(notice.label, if notice.grave { Tone::Bad } else { Tone::Doubtful }, &format!(": {}", notice.text));
    }
}

fn add_claims(page: &mut Page, run: &JudgedRun) {
    let claims::Table { mut heads, rows } = claims::table(run);
    let (rows, left_out) = claims::shortened(rows, SCREEN_ROWS);
    let codes = codes_that_fit(page, &heads, &rows);
    let mut cells = said_once(rows.into_iter().map(|row| row.cells));
    if let Some(codes) = codes {
        heads.push("codes");
        cells.iter_mut().zip(codes).for_each(|(cells, codes)| cells.push(codes));
    }
    page.blank();
    if !cells.is_empty() {
        page.table(&heads, &sets(&heads), &cells, verdict_tone);
    }
    if let Some(left_out) = left_out {
        page.paragraph(&format!("{left_out}: {} --stage claims", run_context::show(run)), Tone::Plain);
    }
    for remark in claims::remarks(run) {
        page.paragraph(&remark, Tone::Aside);
    }
}

/// Layout of the columns of claims.
fn sets(heads: &[&str]) -> Vec<Set> {
    let set = |head: &&str| match *head {
        "claimed" | "observed" | "honest" => Set::Right,
        "verdict" => Set::Whole,
        // The quotation mark separates the tool's words from the previous column.
        "as printed" | "codes" => Set::Close,
        _ => Set::Left,
    };
    heads.iter().map(set).collect()
}

/// Returns the last column: all codes, or only the first code of each row if more do not fit beside the figures. `None`
/// if there are no codes, or no room; the findings show them too.
fn codes_that_fit(page: &Page, heads: &[&str], rows: &[claims::Row]) -> Option<Vec<String>> {
    if rows.iter().all(|row| row.codes.is_empty()) {
        return None;
    }
    let heads: Vec<&str> = heads.iter().copied().chain(["codes"]).collect();
    [true, false].into_iter().find_map(|all| {
        let codes: Vec<String> = rows.iter().map(|row| row.codes(all)).collect();
        let cells: Vec<Vec<String>> = rows
            .iter()
            .zip(&codes)
            .map(|(row, codes)| [row.cells.as_slice(), std::slice::from_ref(codes)].concat())
            .collect();
        page.has_room(&heads, &sets(&heads), &cells).then_some(codes)
    })
}

/// Returns the cells of the rows; only the first row of a phase names it.
fn said_once(rows: impl Iterator<Item = Vec<String>>) -> Vec<Vec<String>> {
    let mut said = String::new();
    rows.map(|mut cells| {
        if let Some(phase) = cells.first_mut() {
            if *phase == said { phase.clear() } else { said.clone_from(phase) }
        }
        cells
    })
    .collect()
}

fn verdict_tone(word: &str) -> Tone {
    let is = |verdict: ClaimVerdict| verdict.as_str() == word;
    if is(ClaimVerdict::Confirmed) {
        Tone::Good
    } else if is(ClaimVerdict::Misleading) || is(ClaimVerdict::Refuted) {
        Tone::Bad
    } else {
        Tone::Doubtful
    }
}

fn add_facts(page: &mut Page, run: &JudgedRun) {
    page.blank();
    page.paragraph(&headline::no_claims(run), Tone::Plain);
    page.paragraph(&headline::phases(run), Tone::Plain);
    let mut rows = said_once(claims::facts(run).into_iter().map(Vec::from));
    if rows.is_empty() {
        return;
    }
    let left_out = rows.len().saturating_sub(SCREEN_ROWS);
    rows.truncate(SCREEN_ROWS);
    page.blank();
    page.table(&["phase", "fact", "observed"], &[Set::Left, Set::Left, Set::Left], &rows, |_| Tone::Plain);
    if left_out > 0 {
        page.paragraph(&format!("and {left_out} more: {} --stage facts", run_context::show(run)), Tone::Plain);
    }
    for remark in claims::remarks(run) {
        page.paragraph(&remark, Tone::Aside);
    }
}

/// Adds one block per detector, without blank lines between blocks, so that they fit a screen. Notes share one line.
fn add_findings(page: &mut Page, run: &JudgedRun) {
    page.blank();
    let (notes, grave): (Vec<Group>, Vec<Group>) =
        findings::firing(run).into_iter().partition(|group| group.severity == Severity::Note);
    for group in grave {
        let tone = if group.severity == Severity::Fail { Tone::Bad } else { Tone::Doubtful };
        let head = format!("{}[{}]", findings::severity_name(group.severity), group.code);
        page.headed(&head, tone, &format!(" {} ({}){}", group.name, group.phases, group.limit));
        for sentence in [&group.statement, &group.meaning].into_iter().filter(|sentence| !sentence.is_empty()) {
            page.paragraph(sentence, Tone::Plain);
        }
        if !group.advice.is_empty() {
            page.marked("→ ", &group.advice, Tone::Head);
        }
    }
    if !notes.is_empty() {
        let notes: Vec<String> = notes.iter().map(|n| format!("{} {} ({})", n.code, n.name, n.phases)).collect();
        page.labelled("notes", &notes.join("; "));
    }
    if let Some(undecided) = findings::undecided(run) {
        page.labelled("undecided", &undecided);
    }
}

fn add_run_context(page: &mut Page, run: &JudgedRun) {
    page.blank();
    page.labelled("observed", &run_context::observation(&run.manifest.coverage));
    for (index, line) in cpu_time::lines(run, PROFILES_SHOWN).iter().enumerate() {
        page.labelled(if index == 0 { "time" } else { "" }, line);
    }
    let targets = run_context::targets(&run.manifest.host);
    for target in targets.iter().take(TARGETS_SHOWN) {
        page.labelled("target", target);
    }
    if targets.len() > TARGETS_SHOWN {
        page.labelled("", &format!("and {} more", targets.len() - TARGETS_SHOWN));
    }
    if let Some(preparation) = &run.manifest.preparation {
        page.labelled("prepared", &run_context::prepared(preparation));
    }
    page.labelled("checked", &run_context::checked(run));
    if let Some(changed) = run_context::changed_thresholds(run) {
        page.labelled("changed", &format!("thresholds: {changed}"));
    }
    if let Some(redacted) = run_context::redacted(run) {
        page.labelled("redacted", &redacted);
    }
    add_questions(page, run);
    page.labelled_verbatim("run", &run.directory);
    for (index, command) in run_context::next_commands(run).iter().enumerate() {
        page.labelled_verbatim(if index == 0 { "next" } else { "" }, command);
    }
}

/// Adds the seven questions with their answers, after the bottlenecks of the phases that the answers do not cover. The
/// answers contain the figures. Their evidence is only in the other formats, so that the report fits a screen.
fn add_questions(page: &mut Page, run: &JudgedRun) {
    for (index, line) in limiter::lines_beside_answers(run, PROFILES_SHOWN).iter().enumerate() {
        page.labelled(if index == 0 { "bottleneck" } else { "" }, line);
    }
    for (index, (question, answer)) in questions::answered(run).iter().enumerate() {
        page.labelled(if index == 0 { "checklist" } else { "" }, &format!("{question} {}", answer.answer));
    }
}
