//! The report for a ticket: plain Markdown without HTML, verdict first.
//!
//! It is always shorter than [`LIMIT`] characters. Sections are cut between items (a claim's row, a finding, an
//! answer), never inside one. A cut section reports how many items are left out and where they are.

use activebench_model::report::JudgedRun;

use crate::escape::{clipped, markdown as text, markdown_code as code};
use crate::findings::Group;
use crate::ticket::{LIMIT, Section, assembled};
use crate::wording::list;
use crate::{Format, Style, claims, cpu_time, findings, headline, limiter, questions, run_context};

/// Number of rows above which unconfirmed claims come first.
const ROWS_IN_ORDER: usize = claims::SCREEN_ROWS;

/// Format `markdown`.
pub struct Markdown;

impl Format for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn extension(&self) -> &'static str {
        "md"
    }

    fn shows_timelines(&self) -> bool {
        false
    }

    fn render(&self, run: &JudgedRun, _style: Style) -> String {
        within(run, LIMIT)
    }
}

/// Renders the report in fewer than `limit` characters, for use before other text.
pub(crate) fn within(run: &JudgedRun, limit: usize) -> String {
    let sections = [
        verdict(run),
        figures(run),
        remarks(run),
        findings_section(run),
        run_context_section(run),
        questions_section(run),
        record(run),
    ];
    assembled(&sections, limit)
}

fn verdict(run: &JudgedRun) -> Section {
    let lead = format!(
        "# {}: {}\n\nWhy: {}.\n\nCommand: {}\n",
        run.verdict.as_str().to_uppercase(),
        text(&headline::tool(run)),
        text(&headline::why(run)),
        code(&headline::command(run)),
    );
    let notice = |notice: headline::Notice| format!("\n**{}**: {}\n", notice.label, text(&notice.text));
    Section { lead, items: headline::notices(run).into_iter().map(notice).collect(), noun: "notices", share: 165 }
}

/// The claims; the observed facts for a run without claims.
fn figures(run: &JudgedRun) -> Section {
    let row =
        |cells: &[String]| format!("| {} |\n", cells.iter().map(|cell| text(cell)).collect::<Vec<_>>().join(" | "));
    if run.parsed.claims.is_empty() {
        let rows: Vec<String> = claims::facts(run).iter().map(|cells| row(cells)).collect();
        let words = format!("{}\n\n{}\n", text(&headline::no_claims(run)), text(&headline::phases(run)));
        let head = if rows.is_empty() { "" } else { "\n| phase | fact | observed |\n| --- | --- | --- |\n" };
        return Section { lead: format!("## Claims\n\n{words}{head}"), items: rows, noun: "facts", share: 265 };
    }
    let claims::Table { mut heads, mut rows } = claims::table(run);
    heads.push("codes");
    let mut lead = "## Claims\n\n".to_owned();
    if rows.len() > ROWS_IN_ORDER {
        lead.push_str("Claims that do not hold come first.\n\n");
        rows.sort_by_key(|row| row.verdict == Some(activebench_model::verdict::ClaimVerdict::Confirmed));
    }
    let rule = |head: &&str| match *head {
        "claimed" | "observed" | "honest" => "---:",
        _ => "---",
    };
    let rules: Vec<&str> = heads.iter().map(rule).collect();
    lead.push_str(&format!("| {} |\n| {} |\n", heads.join(" | "), rules.join(" | ")));
    Section {
        lead,
        items: rows.iter().map(|r| row(&[r.cells.as_slice(), &[r.codes(true)]].concat())).collect(),
        noun: "claims",
        share: 265,
    }
}

fn remarks(run: &JudgedRun) -> Section {
    let items = claims::remarks(run).iter().map(|remark| bullet(remark)).collect();
    Section { lead: String::new(), items, noun: "remarks on claims", share: 65 }
}

fn findings_section(run: &JudgedRun) -> Section {
    let mut items: Vec<String> = findings::firing(run).iter().map(finding).collect();
    if let Some(undecided) = findings::undecided(run) {
        items.push(format!("\n### Undecided\n\n{}.\n", text(&undecided)));
    }
    let lead = if items.is_empty() { "## Findings\n\nNone.\n" } else { "## Findings\n" };
    Section { lead: lead.to_owned(), items, noun: "findings", share: 250 }
}

fn finding(group: &Group) -> String {
    let heading = format!(
        "{}: {} {} ({})",
        findings::severity_name(group.severity),
        group.code,
        group.name,
        clipped(&group.phases, 200)
    );
    let mut item = format!("\n### {}\n", text(&heading));
    let sentences = group.statements.iter().chain([&group.meaning]).filter(|sentence| !sentence.is_empty());
    for sentence in sentences {
        item.push_str(&format!("\n{}\n", text(sentence)));
    }
    if !group.evidence.is_empty() {
        item.push_str(&format!("\nEvidence: {}.\n", text(&group.evidence)));
    }
    if !group.advice.is_empty() {
        item.push_str(&format!("\n**What to do:** {}\n", text(&group.advice)));
    }
    item
}

/// Maximum phases whose thread times and bottlenecks are shown.
const PROFILES_SHOWN: usize = 12;

fn run_context_section(run: &JudgedRun) -> Section {
    let host = &run.manifest.host;
    let mut items = vec![
        bullet(&format!("Observed: {}.", run_context::observation(&run.manifest.coverage))),
        bullet(&format!("Machine: {}.", run_context::machine(host))),
        bullet(&format!("Checked: {}.", run_context::checked(run))),
    ];
    items.extend(run_context::redacted(run).map(|redacted| bullet(&format!("Redacted: {redacted}."))));
    items
        .extend(run_context::changed_thresholds(run).map(|changed| bullet(&format!("Changed thresholds: {changed}."))));
    let times = cpu_time::lines(run, PROFILES_SHOWN);
    items.splice(1..1, times.iter().map(|line| bullet(&format!("Time of the threads in {line}."))));
    let limits = limiter::lines(run, PROFILES_SHOWN);
    items.splice(1..1, limits.iter().map(|line| bullet(&format!("Limit of {line}."))));
    let targets = run_context::targets(host);
    let prepared = run.manifest.preparation.as_ref().map(run_context::prepared);
    items.splice(1..1, prepared.map(|prepared| bullet(&format!("Prepared: {prepared}."))));
    items.splice(1..1, targets.iter().map(|target| bullet(&format!("Target: {target}."))));
    if !host.unread.is_empty() {
        items.push(bullet(&format!("Could not be read: {}.", list(&host.unread, 6))));
    }
    Section { lead: "## Observation and target\n\n".to_owned(), items, noun: "lines", share: 85 }
}

fn questions_section(run: &JudgedRun) -> Section {
    let items: Vec<String> = questions::answered(run)
        .into_iter()
        .map(|(question, answer)| {
            let evidence = if answer.evidence.is_empty() {
                String::new()
            } else {
                format!("\nEvidence: {}.\n", text(&answer.evidence.join("; ")))
            };
            format!("\n### {}\n\n{}\n{evidence}", text(question), text(&answer.answer))
        })
        .collect();
    let lead = if items.is_empty() { String::new() } else { "## Seven questions\n".to_owned() };
    Section { lead, items, noun: "answers", share: 85 }
}

/// Location of the whole record.
fn record(run: &JudgedRun) -> Section {
    let mut items = vec![format!("- Run directory: {}\n", code(&run.directory))];
    items.extend(run_context::next_commands(run).iter().map(|command| format!("- {}\n", code(command))));
    let lead = format!("## Record\n\nWritten by activebench {}.\n\n", text(&run.manifest.activebench));
    Section { lead, items, noun: "lines", share: 40 }
}

fn bullet(sentence: &str) -> String {
    format!("- {}\n", text(sentence))
}
