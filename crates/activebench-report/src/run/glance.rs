//! The answer at a glance: what a terminal shows of a run, in at most 24 lines.
//!
//! Verdict, target, a row per figure, findings by cause, one command, the evidence, and where the rest is. How much of
//! each fits is found by trying: [`Glance::tightness`] grows until the lines fit. The long form is in `run.rs`.

mod figures;

use activebench_model::coverage::Backend;
use activebench_model::finding::{Outcome, Severity};
use activebench_model::report::JudgedRun;
use activebench_model::run::FailOn;
use activebench_model::units::Quantity;
use activebench_model::verdict::RunVerdict;

use super::causes::Cause;
use super::sentence::sentence;
use crate::document::{Block, Content, Glance, Line, Section};
use crate::page::Tone;
use crate::wording::{count, grouped, list, shell_command, shell_word};
use crate::{headline, library_calls};

/// Findings shown, by tightness.
const FINDINGS: [usize; Glance::TIGHTEST + 1] = [5, 5, 5, 4, 3];
/// Notices shown, by tightness.
const NOTICES: [usize; Glance::TIGHTEST + 1] = [4, 3, 2, 1, 1];
/// Phases shown with their calls of the library, by tightness.
const LIBRARIES: [usize; Glance::TIGHTEST + 1] = [4, 3, 2, 1, 1];
/// Columns of the labels, and of a finding's mark and code.
const LABEL_COLUMNS: usize = 12;

/// Returns what a terminal shows of a run.
pub(super) fn content(run: &JudgedRun, glance: Glance) -> Content {
    let head = Line::new(
        run.verdict.as_str().to_uppercase(),
        super::tone(run.verdict),
        glance.in_lines(if glance.tightness == 0 { 3 } else { 2 }, run.verdict.as_str().len() + 2, 2, &sentence(run)),
    );
    Content {
        title: headline::tool(run),
        head,
        sections: vec![
            Section::new("", "notices", notices(run, glance)),
            Section::new("Figures", "figures", figures::blocks(run, glance)),
            Section::new("Findings", "findings", causes(run, glance)),
            Section::new("Advice", "commands", advice(run, glance)),
            Section::new("Run", "lines", rest(run, glance)),
        ],
        version: run.manifest.activebench.clone(),
    }
}

/// What must be read before the figures, and the target.
fn notices(run: &JudgedRun, glance: Glance) -> Vec<Block> {
    let mut blocks = Vec::new();
    blocks.extend(super::target(run).map(|line| {
        let rest = glance.in_lines(2, line.words.len() + 2, 2, &line.rest);
        Block::Alert(Line { rest, ..line })
    }));
    let mut notices = headline::notices(run);
    notices.sort_by_key(|notice| !notice.grave);
    let lines = if glance.tightness == 0 { 2 } else { 1 };
    blocks.extend(notices.into_iter().take(NOTICES[glance.tightness]).map(|notice| {
        let tone = if notice.grave { Tone::Bad } else { Tone::Doubtful };
        let text = glance.in_lines(lines, notice.label.len() + 2, 2, &notice.text);
        Block::Alert(Line::new(notice.label, tone, text))
    }));
    blocks
}

/// Returns `true` if two sentences have their first three words in common.
fn begins_alike(one: &str, other: &str) -> bool {
    let first = |text: &str| text.split(' ').take(3).map(str::to_owned).collect::<Vec<_>>();
    first(one).len() == 3 && first(one) == first(other)
}

fn causes(run: &JudgedRun, glance: Glance) -> Vec<Block> {
    let causes = Cause::of(run);
    let names = crate::wording::PhaseNames::of(run);
    let shown = FINDINGS[glance.tightness];
    let mut lines = Vec::new();
    for (place, cause) in causes.iter().take(shown).enumerate() {
        // The gravest keep their sentence longest.
        let lines_each = match glance.tightness {
            0 => 3,
            1 if place < 2 => 2,
            2 if place < 1 => 2,
            _ => 1,
        };
        let (mark, tone) = match cause.severity {
            Severity::Fail => ('✗', Tone::Bad),
            _ => ('!', Tone::Doubtful),
        };
        let mut phases: Vec<&str> = cause.findings.iter().filter_map(|f| f.phase.as_deref()).collect();
        phases.dedup();
        let phases: Vec<&str> = phases.into_iter().map(|id| names.get(id)).collect();
        let about = if phases.is_empty() { String::new() } else { format!(" ({})", list(&phases, 2)) };
        let mut text = format!("{}{}.", cause.title, Glance::cell(&about, 60));
        if lines_each > 1 {
            let said = cause.findings.first().map_or("", |finding| finding.message.sentence()).trim();
            if begins_alike(said, &cause.title) {
                // The sentence has all that the title says.
                text = format!("{}{}.", said.trim_end_matches('.'), Glance::cell(&about, 60));
            } else if !said.is_empty() {
                text.push_str(&format!(" {}.", said.trim_end_matches('.')));
            }
        }
        if glance.tightness == 0 && !cause.explains.is_empty() {
            text.push_str(&format!(" It explains {}.", list(&cause.explains, 4)));
        }
        let text = glance.in_lines(lines_each, LABEL_COLUMNS, LABEL_COLUMNS, &text);
        lines.push(Block::State(Line::new(format!("{mark} {}", Glance::cell(cause.code, 8)), tone, text)));
    }
    let notes: std::collections::BTreeSet<&str> = run
        .findings
        .iter()
        .filter(|f| f.outcome == Outcome::Fires && f.severity == Some(Severity::Note))
        .map(|f| f.code.as_str())
        .collect();
    let more = causes.len().saturating_sub(shown);
    let mut left_out = Vec::new();
    if more > 0 {
        left_out.push(count(more, "more finding"));
    }
    if !notes.is_empty() {
        left_out.push(count(notes.len(), "note"));
    }
    if !left_out.is_empty() {
        let text = format!("{}: activebench report -v{}", left_out.join(" and "), named(run));
        lines.push(Block::State(Line::new("", Tone::Aside, glance.in_lines(2, LABEL_COLUMNS, LABEL_COLUMNS, &text))));
    }
    lines
}

/// The command to run instead, and what it measures.
fn advice(run: &JudgedRun, glance: Glance) -> Vec<Block> {
    let Ok(advised) = &run.advised else { return Vec::new() };
    let command = format!("activebench verify -- {}", shell_command(&advised.argv));
    // What a terminal breaks into many lines is in the report.
    let is_short = command.chars().count() <= 3 * glance.columns;
    let command = if is_short { command } else { format!("activebench report -v{} has the command", named(run)) };
    let duration = advised.seconds.map_or_else(String::new, |seconds| format!("about {:.0} s: ", seconds.max(1.0)));
    let what = format!("{duration}{}", advised.answers);
    vec![
        Block::Verbatim { label: "Run this", text: command },
        Block::State(Line::new("", Tone::Aside, glance.in_lines(1, LABEL_COLUMNS, LABEL_COLUMNS, &what))),
    ]
}

/// The evidence, and where the rest is.
fn rest(run: &JudgedRun, glance: Glance) -> Vec<Block> {
    let evidence = glance.in_lines(2, LABEL_COLUMNS, LABEL_COLUMNS, &evidence(run));
    let mut blocks: Vec<Block> = library_calls::lines(run, LIBRARIES[glance.tightness])
        .into_iter()
        .enumerate()
        .map(|(place, line)| {
            let label = if place == 0 { "Library" } else { "" };
            Block::State(Line::new(label, Tone::Aside, glance.in_lines(2, LABEL_COLUMNS, LABEL_COLUMNS, &line)))
        })
        .collect();
    blocks.push(Block::State(Line::new("Evidence", Tone::Aside, evidence)));
    blocks.push(Block::Verbatim { label: "Run", text: run.directory.clone() });
    blocks.push(Block::State(Line::new(
        format!("Exit {}", run.exit_code),
        Tone::Aside,
        glance.in_lines(2, LABEL_COLUMNS, LABEL_COLUMNS, &ending(run)),
    )));
    blocks
}

/// ` RUN` for a run that is not where the latest one is looked for; its directory stands below.
fn named(run: &JudgedRun) -> &'static str {
    if run.directory.starts_with("activebench-runs/") { "" } else { " RUN" }
}

/// Completeness and cost of the observation.
fn evidence(run: &JudgedRun) -> String {
    let coverage = &run.manifest.coverage;
    if coverage.records.is_empty() {
        return "none: nothing was observed".to_owned();
    }
    let received: u64 = coverage.records.values().map(|account| account.received).sum();
    let lost: u64 = coverage.records.values().map(|account| account.lost).sum();
    let is_whole = coverage.records.values().all(|account| account.is_whole());
    let blind = match coverage.blind_paths.as_slice() {
        [] => String::new(),
        paths => format!("; not seen: {}", list(&paths.iter().map(|path| path.path.as_str()).collect::<Vec<_>>(), 2)),
    };
    let records = match (is_whole, lost) {
        (true, _) => format!("complete: {} events, none lost", grouped(received)),
        (false, 0) => format!("incomplete: {} events received", grouped(received)),
        (false, lost) => format!("incomplete: {} of {} events lost", grouped(lost), grouped(received + lost)),
    };
    let overhead = &coverage.overhead;
    let cost = overhead.bpf_run_ns.filter(|_| overhead.run_ns > 0).map_or_else(String::new, |bpf_ns| {
        format!("; observing cost {}", Quantity::ratio(bpf_ns as f64 / overhead.run_ns as f64))
    });
    match coverage.backend {
        Backend::Ptrace => {
            let records = records.strip_prefix("complete: ").unwrap_or(&records);
            format!(
                "{records}{blind}; observed without rights (backend trace): no device, page cache or CPU time was seen"
            )
        }
        Backend::Bpf | Backend::None => format!("{records}{blind}{cost}"),
    }
}

/// What the exit code means, and the command that says more.
fn ending(run: &JudgedRun) -> String {
    let means = match (run.exit_code, run.verdict) {
        (0, RunVerdict::Discrepancy) if run.manifest.choices.fail_on == FailOn::Never => "--fail-on never was given",
        (0, _) => "nothing contradicts the figures",
        (1, _) if run.target.as_ref().is_some_and(|target| target.met == Some(false)) => "the target is missed",
        (1, RunVerdict::Qualified) => "a warning, and --fail-on warn was given",
        (1, _) => "at least one figure is not what it seems",
        (3, _) => "the evidence does not suffice",
        (4, _) => "the benchmark failed",
        _ => "see docs/exit-codes.md",
    };
    let undecided = || run.findings.iter().find(|f| f.outcome == Outcome::Undecided).map(|f| f.code.as_str());
    match Cause::of(run).first().map(|cause| cause.code).or_else(undecided) {
        Some(code) => format!("{means}; activebench explain {}", shell_word(code)),
        None => format!("{means}; activebench report -v{} has the rest", named(run)),
    }
}
