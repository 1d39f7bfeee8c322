//! The report of a single run as a document.
//!
//! A terminal gets the answer, a ticket also the evidence of each finding and answer, a page everything with charts.

pub(crate) mod causes;
pub(crate) mod figures;
mod glance;
pub(crate) mod keys;
pub(crate) mod measurements;
pub(crate) mod script_figures;
pub(crate) mod sentence;

use activebench_model::finding::Severity;
use activebench_model::report::JudgedRun;
use activebench_model::verdict::{ClaimVerdict, RunVerdict};
use serde::Serialize;

use self::keys::Report;
use self::sentence::sentence;
use crate::claims::{self, SCREEN_ROWS};
use crate::document::{Block, Content, Dispensable, Document, Line, Room, Section, Table};
use crate::escape;
use crate::findings::{self, Group};
use crate::page::{Set, Tone};
use crate::wording::{self, list};
use crate::{cpu_time, headline, html, library_calls, limiter, questions, run_context, serving, unmatched};

/// Longest command line in the first line of a terminal, in characters; `run.json` has all of it.
const COMMAND_SHOWN: usize = 160;
/// Targets on a terminal; the rest is counted.
const TARGETS_SHOWN: usize = 3;

impl Document for JudgedRun {
    const NOUN: &'static str = "a run";
    const SCHEMA: &'static str = "activebench.report/1";

    fn keys(&self) -> impl Serialize {
        Report::of(self)
    }

    fn content(&self, room: Room) -> Content {
        if let Room::Glance(glance) = room {
            return glance::content(self, glance);
        }
        let tool = headline::tool(self);
        let why = headline::why(self);
        // The title of a page is the whole answer.
        let (title, rest) = match room {
            Room::Page => (sentence(self).trim_end_matches('.').to_owned(), String::new()),
            Room::Screen | Room::Glance(_) => {
                let command = escape::clipped(&headline::command(self), COMMAND_SHOWN);
                let rest = format!("{tool} ({command}): {why}.");
                (tool, rest)
            }
            Room::Ticket => {
                let rest = format!("{tool}: {why}.");
                (tool, rest)
            }
        };
        let mut content = Content {
            title,
            head: Line::new(self.verdict.as_str().to_uppercase(), tone(self.verdict), rest),
            sections: match room {
                Room::Screen | Room::Glance(_) => vec![
                    Section::new("", "notices", head(self, room)),
                    Section::new("Claims", "claims", claim_blocks(self, room)),
                    Section::new("Findings", "findings", screen_findings(self)),
                    Section::new("Run", "lines", screen_context(self)),
                ],
                Room::Ticket => vec![
                    Section::new("", "notices", head(self, room)),
                    Section::new("Claims", "claims", claim_blocks(self, room)),
                    Section::new("Findings", "findings", ticket_findings(self)),
                    Section::new("Observation and target", "lines", ticket_context(self)),
                    Section::new("Seven questions", "answers", answers(self)),
                    Section::new("Record", "lines", record(self)),
                ],
                Room::Page => {
                    let mut sections = html::sections(self);
                    // What must be read first belongs to the first screen.
                    if let Some(first) = sections.first_mut() {
                        first.blocks.splice(0..0, head(self, room));
                    }
                    sections
                }
            },
            version: self.manifest.activebench.clone(),
        };
        let of_script = [measurements::section(self), script_figures::section(self)];
        content.sections.splice(1..1, of_script.into_iter().flatten());
        content
    }
}

/// Returns the colour of a verdict.
pub(crate) fn tone(verdict: RunVerdict) -> Tone {
    match verdict {
        RunVerdict::Verified => Tone::Good,
        RunVerdict::Qualified | RunVerdict::Inconclusive => Tone::Doubtful,
        RunVerdict::Discrepancy | RunVerdict::Failed => Tone::Bad,
    }
}

/// The target in one line; `None` for a run without one.
fn target(run: &JudgedRun) -> Option<Line> {
    let target = run.target.as_ref()?;
    let (word, tone) = match target.met {
        Some(true) => ("TARGET MET", Tone::Good),
        Some(false) => ("TARGET MISSED", Tone::Bad),
        None => ("TARGET NOT KNOWN", Tone::Doubtful),
    };
    Some(Line::new(word, tone, target.sentence.clone()))
}

/// The command, and notices to read before the figures.
fn head(run: &JudgedRun, room: Room) -> Vec<Block> {
    let text = headline::command(run);
    // A terminal has it in the first line.
    let command = match room {
        Room::Screen | Room::Glance(_) => None,
        Room::Ticket => Some(Block::Verbatim { label: "Command", text }),
        Room::Page => Some(Block::Verbatim { label: "", text }),
    };
    let notice = |notice: headline::Notice| {
        let tone = if notice.grave { Tone::Bad } else { Tone::Doubtful };
        Block::Alert(Line::new(notice.label, tone, notice.text))
    };
    let notices = headline::notices(run).into_iter().map(notice);
    let target = target(run).filter(|_| room == Room::Page).map(Block::Alert);
    command.into_iter().chain(target).chain(notices).collect()
}

/// The claims; the observed facts for a run without claims.
fn claim_blocks(run: &JudgedRun, room: Room) -> Vec<Block> {
    let mut blocks = if run.parsed.claims.is_empty() { facts(run, room) } else { claims_table(run, room) };
    blocks.extend(claims::remarks(run).into_iter().map(Block::Remark));
    let items = unmatched::lines(run);
    if !items.is_empty() {
        blocks.push(Block::List { label: unmatched::LABEL, items });
    }
    blocks
}

fn claims_table(run: &JudgedRun, room: Room) -> Vec<Block> {
    let mut blocks = Vec::new();
    let (claims::Table { heads, rows }, left_out) = match room {
        Room::Screen | Room::Glance(_) => claims::shortened(run, SCREEN_ROWS),
        Room::Ticket | Room::Page => {
            let mut table = claims::table(run);
            if table.rows.len() > SCREEN_ROWS {
                blocks.push(Block::Paragraph("Claims that do not hold come first.".to_owned()));
                table.rows.sort_by_key(|row| row.verdict == Some(ClaimVerdict::Confirmed));
            }
            (table, None)
        }
    };
    let codes: Vec<[String; 2]> = rows.iter().map(|row| [row.codes(true), row.codes(false)]).collect();
    let mut cells: Vec<Vec<String>> = rows.into_iter().map(|row| row.cells).collect();
    if room == Room::Screen {
        cells = said_once(cells);
    }
    let mut heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let mut dispensable = None;
    if room == Room::Ticket || codes.iter().any(|[all, _]| !all.is_empty()) {
        dispensable = Some(Dispensable {
            column: heads.len(),
            shorter: codes.iter().map(|[_, shorter]| shorter.clone()).collect(),
        });
        heads.push("codes".to_owned());
        cells.iter_mut().zip(codes).for_each(|(cells, [all, _])| cells.push(all));
    }
    let sets = heads.iter().map(|head| set(head)).collect();
    blocks.push(Block::Table(Table { name: "Claims", heads, sets, rows: cells, tone: verdict_tone, dispensable }));
    blocks.extend(
        left_out.map(|left_out| Block::Paragraph(format!("{left_out}: {} --stage claims", run_context::show(run)))),
    );
    blocks
}

/// Returns the layout of a column of the claims.
fn set(head: &str) -> Set {
    match head {
        "claimed" | "observed" | "honest" => Set::Right,
        "verdict" => Set::Whole,
        // The quotation mark separates the tool's words from the previous column.
        "as printed" | "codes" => Set::Close,
        _ => Set::Left,
    }
}

/// Returns the cells of the rows; only the first row of a phase names it.
fn said_once(rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let mut said = String::new();
    let named_once = |mut cells: Vec<String>| {
        if let Some(phase) = cells.first_mut() {
            if *phase == said { phase.clear() } else { said.clone_from(phase) }
        }
        cells
    };
    rows.into_iter().map(named_once).collect()
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

fn facts(run: &JudgedRun, room: Room) -> Vec<Block> {
    let mut blocks = vec![Block::Paragraph(headline::no_claims(run)), Block::Paragraph(headline::phases(run))];
    let mut rows: Vec<Vec<String>> = claims::facts(run).into_iter().map(Vec::from).collect();
    let mut left_out = 0;
    if room == Room::Screen {
        rows = said_once(rows);
        left_out = rows.len().saturating_sub(SCREEN_ROWS);
        rows.truncate(SCREEN_ROWS);
    }
    blocks.push(Block::Table(Table::new("Facts", &["phase", "fact", "observed"], &[Set::Left; 3], rows)));
    if left_out > 0 {
        blocks.push(Block::Paragraph(format!("and {left_out} more: {} --stage facts", run_context::show(run))));
    }
    blocks
}

/// Returns one block per detector; notes share one line.
fn screen_findings(run: &JudgedRun) -> Vec<Block> {
    let (notes, grave): (Vec<Group>, Vec<Group>) =
        findings::firing(run).into_iter().partition(|group| group.severity == Severity::Note);
    let mut blocks = Vec::new();
    for Group { code, name, severity, phases, statement, meaning, advice, limit, .. } in grave {
        let tone = if severity == Severity::Fail { Tone::Bad } else { Tone::Doubtful };
        let head = format!("{}[{code}]", findings::severity_name(severity));
        blocks.push(Block::Lines(vec![Line::new(head, tone, format!("{name} ({phases}){limit}"))]));
        blocks.extend([statement, meaning].into_iter().filter(|text| !text.is_empty()).map(Block::Paragraph));
        blocks.extend(Some(advice).filter(|text| !text.is_empty()).map(Block::Advice));
    }
    let mut facts = Vec::new();
    if !notes.is_empty() {
        let notes: Vec<String> = notes.iter().map(|n| format!("{} {} ({})", n.code, n.name, n.phases)).collect();
        facts.push(("notes", notes.join("; ")));
    }
    facts.extend(findings::undecided(run).map(|undecided| ("undecided", undecided)));
    blocks.push(Block::Facts(facts));
    blocks
}

fn ticket_findings(run: &JudgedRun) -> Vec<Block> {
    let mut blocks: Vec<Block> = findings::firing(run).into_iter().map(ticket_finding).collect();
    if let Some(undecided) = findings::undecided(run) {
        let undecided = Block::Paragraph(format!("{undecided}."));
        blocks.push(Block::Together(vec![Block::Heading(Line::new("Undecided", Tone::Plain, "")), undecided]));
    }
    if blocks.is_empty() {
        blocks.push(Block::Paragraph("None.".to_owned()));
    }
    blocks
}

fn ticket_finding(group: Group) -> Block {
    let Group { code, name, severity, phases, statements, meaning, advice, evidence, .. } = group;
    let head = format!("{}: {code} {name} ({})", findings::severity_name(severity), escape::clipped(&phases, 200));
    let sentences = statements.into_iter().chain([meaning]).filter(|sentence| !sentence.is_empty());
    let evidence = Some(evidence).filter(|text| !text.is_empty()).map(|text| format!("Evidence: {text}."));
    let mut blocks = vec![Block::Heading(Line::new(head, Tone::Plain, ""))];
    blocks.extend(sentences.chain(evidence).map(Block::Paragraph));
    blocks.extend(Some(advice).filter(|text| !text.is_empty()).map(Block::Advice));
    Block::Together(blocks)
}

/// Maximum phases of a terminal whose thread times and bottlenecks are shown.
const PROFILES_ON_SCREEN: usize = 4;
/// Maximum phases of a ticket whose thread times and bottlenecks are shown.
const PROFILES_IN_TICKET: usize = 12;

/// Returns facts, of which only the first has the label.
fn labelled(label: &'static str, lines: Vec<String>) -> Vec<(&'static str, String)> {
    lines.into_iter().enumerate().map(|(index, line)| (if index == 0 { label } else { "" }, line)).collect()
}

/// The command to run instead, for the long form and a ticket.
fn advised(run: &JudgedRun, label: &'static str) -> Option<Block> {
    let advised = run.advised.as_ref().ok()?;
    Some(Block::Verbatim { label, text: format!("activebench verify -- {}", wording::shell_command(&advised.argv)) })
}

fn screen_context(run: &JudgedRun) -> Vec<Block> {
    let manifest = &run.manifest;
    let mut facts = vec![("observed", run_context::observation(&manifest.coverage))];
    facts.extend(labelled("time", cpu_time::lines(run, PROFILES_ON_SCREEN)));
    facts.extend(labelled("beside", serving::lines(run, PROFILES_ON_SCREEN)));
    facts.extend(labelled("library", library_calls::lines(run, PROFILES_ON_SCREEN)));
    let targets = run_context::targets(&manifest.host);
    facts.extend(targets.iter().take(TARGETS_SHOWN).map(|target| ("target", target.clone())));
    if targets.len() > TARGETS_SHOWN {
        facts.push(("", format!("and {} more", targets.len() - TARGETS_SHOWN)));
    }
    facts.extend(manifest.preparation.as_ref().map(|preparation| ("prepared", run_context::prepared(preparation))));
    facts.push(("checked", run_context::checked(run)));
    facts.extend(run_context::changed_thresholds(run).map(|changed| ("changed", format!("thresholds: {changed}"))));
    facts.extend(run_context::redacted(run).map(|redacted| ("redacted", redacted)));
    // The answers contain the figures. Their evidence is only in the other formats, so that the report fits a screen.
    facts.extend(labelled("bottleneck", limiter::lines_beside_answers(run, PROFILES_ON_SCREEN)));
    let answered = questions::answered(run);
    let answers = answered.iter().map(|(question, answer)| format!("{question} {}", answer.answer)).collect();
    facts.extend(labelled("checklist", answers));
    let mut blocks = vec![Block::Facts(facts), Block::Verbatim { label: "run", text: run.directory.clone() }];
    blocks.extend(advised(run, "run this"));
    blocks.extend(next(run, "next"));
    blocks
}

/// Returns the next commands; the first one has the label.
fn next(run: &JudgedRun, label: &'static str) -> Vec<Block> {
    labelled(label, run_context::next_commands(run))
        .into_iter()
        .map(|(label, text)| Block::Verbatim { label, text })
        .collect()
}

fn ticket_context(run: &JudgedRun) -> Vec<Block> {
    let manifest = &run.manifest;
    let host = &manifest.host;
    let mut facts = vec![("Observed", format!("{}.", run_context::observation(&manifest.coverage)))];
    let mut add = |label, text: String| facts.push((label, format!("{text}.")));
    run_context::targets(host).into_iter().for_each(|target| add("Target", target));
    manifest.preparation.iter().for_each(|preparation| add("Prepared", run_context::prepared(preparation)));
    limiter::lines(run, PROFILES_IN_TICKET).into_iter().for_each(|line| add("Bottleneck", line));
    cpu_time::lines(run, PROFILES_IN_TICKET).into_iter().for_each(|line| add("Time of the threads", line));
    serving::lines(run, PROFILES_IN_TICKET).into_iter().for_each(|line| add("Beside the tool", line));
    library_calls::lines(run, PROFILES_IN_TICKET).into_iter().for_each(|line| add("Calls of the library", line));
    add("Machine", run_context::machine(host));
    add("Checked", run_context::checked(run));
    run_context::redacted(run).into_iter().for_each(|redacted| add("Redacted", redacted));
    run_context::changed_thresholds(run).into_iter().for_each(|changed| add("Changed thresholds", changed));
    if !host.unread.is_empty() {
        add("Could not be read", list(&host.unread, 6));
    }
    vec![Block::Facts(facts)]
}

fn answers(run: &JudgedRun) -> Vec<Block> {
    let answer = |(question, answer): (&str, &activebench_model::report::Answer)| {
        let mut blocks =
            vec![Block::Heading(Line::new(question, Tone::Plain, "")), Block::Paragraph(answer.answer.clone())];
        if !answer.evidence.is_empty() {
            blocks.push(Block::Paragraph(format!("Evidence: {}.", answer.evidence.join("; "))));
        }
        Block::Together(blocks)
    };
    questions::answered(run).into_iter().map(answer).collect()
}

/// Location of the whole record.
fn record(run: &JudgedRun) -> Vec<Block> {
    let mut blocks = vec![
        Block::Facts(vec![("Written by", format!("activebench {}", run.manifest.activebench))]),
        Block::Verbatim { label: "Run directory", text: run.directory.clone() },
    ];
    blocks.extend(advised(run, "Run this instead"));
    blocks.extend(next(run, ""));
    blocks
}
