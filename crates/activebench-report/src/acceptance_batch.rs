//! The acceptance of several units as a document: one row a unit, one column a limit, and why a unit does not pass.

use activebench_model::acceptance::{AcceptanceOutcome, AgreedLimit};
use activebench_model::acceptance_batch::{AcceptanceBatch, AcceptedUnit, LimitOfUnit};
use serde::Serialize;

use crate::acceptance::{Terms, agreement, answer, clip, headline, limit_bound, limit_name, tone, tone_of};
use crate::document::{Block, Content, Document, Line, Room, Section, Table};
use crate::html::{accepted_units, strip};
use crate::page::{Set, Tone};
use crate::wording::{count, shell_command};

/// Reasons that are shown to a person; the rest is counted.
const REASONS_SHOWN: usize = 200;

impl Document for AcceptanceBatch {
    const NOUN: &'static str = "an acceptance of several units";
    const SCHEMA: &'static str = "activebench.acceptance-batch/1";

    fn keys(&self) -> impl Serialize {
        self
    }

    fn content(&self, room: Room) -> Content {
        let terms = Terms { parties: &self.parties, file: &self.file, rule_words: &self.rule_words };
        let mut first = Vec::new();
        if room == Room::Page {
            first.extend([Block::Chart(accepted_units::section(self)), Block::Chart(strip(&environment(self)))]);
        }
        let sections = vec![
            Section::new("", "limits", first),
            Section::new("Units", "units", units(self, room)),
            Section::new("Why", "reasons", reasons(self)),
            Section::new("Agreement", "lines", vec![Block::Facts(agreement(&terms))]),
            Section { is_folded: true, ..Section::new("Evidence", "units", evidence(self)) },
        ];
        let (title, rest) = answer("acceptance of several units", &self.because, room);
        Content {
            title,
            head: Line::new(headline(self.outcome), tone(self.outcome), rest),
            sections,
            version: self.activebench.clone(),
        }
    }
}

/// How many units were tested, for whom, and by which file.
fn environment(batch: &AcceptanceBatch) -> Vec<(&'static str, Option<String>)> {
    let tested = batch.units.iter().filter(|unit| unit.not_tested.is_none()).count();
    vec![
        ("Units", Some(format!("{tested} of {} tested", batch.units.len()))),
        ("Buyer", Some(batch.parties.buyer.clone())),
        ("Vendor", Some(batch.parties.vendor.clone())),
        ("Reference", batch.parties.reference.clone()),
        ("Agreed on", batch.parties.date.clone()),
        ("Agreement", Some(batch.file.name.clone())),
    ]
}

/// The units, and the limits behind the numbers of the columns. A page has room for the limits in the heads.
fn units(batch: &AcceptanceBatch, room: Room) -> Vec<Block> {
    let numbers: Vec<String> = (1..=batch.limits.len()).map(|number| format!("limit {number}")).collect();
    let names = || batch.limits.iter().map(|limit| format!("{}, {}", limit_name(limit), limit_bound(limit)));
    let limits = if room == Room::Page { names().collect() } else { numbers.clone() };
    let mut heads: Vec<String> = ["unit", "model", "serial number", "verdict"].map(str::to_owned).to_vec();
    heads.extend(limits);
    let sets: Vec<Set> = [Set::Left, Set::Left, Set::Left, Set::Whole]
        .into_iter()
        .chain(batch.limits.iter().map(|_| Set::Left))
        .collect();
    let rows = batch.units.iter().map(|unit| row(batch, unit)).collect();
    let table = Table { heads, tone: tone_of, ..Table::new("Units", &[], &sets, rows) };
    let mut blocks = vec![Block::Table(table)];
    if room != Room::Page {
        let rows = numbers
            .into_iter()
            .zip(&batch.limits)
            .map(|(number, limit)| vec![number, limit_name(limit), limit_bound(limit)]);
        blocks.push(Block::Table(Table::new("Limits", &["limit", "figure", ""], &[Set::Left; 3], rows.collect())));
    }
    blocks
}

fn row(batch: &AcceptanceBatch, unit: &AcceptedUnit) -> Vec<String> {
    let device = unit.device.as_ref();
    let said = |part: Option<&String>| part.map_or_else(|| "not known".to_owned(), |part| clip(part));
    let verdict = if unit.not_tested.is_some() { "not tested" } else { unit.outcome.words() };
    let mut cells = vec![
        clip(&unit.name),
        said(device.and_then(|device| device.model.as_ref())),
        said(device.and_then(|device| device.serial.as_ref())),
        verdict.to_owned(),
    ];
    let cell = |place: usize, limit: &AgreedLimit| match unit.limits.get(place) {
        Some(of) => figure(limit, of),
        None => "not judged".to_owned(),
    };
    cells.extend(batch.limits.iter().enumerate().map(|(place, limit)| cell(place, limit)));
    cells
}

/// A figure and whether it meets its limit: `204 MB/s met`.
fn figure(limit: &AgreedLimit, of: &LimitOfUnit) -> String {
    let warned = if of.warnings.is_empty() { "" } else { " (warning)" };
    match of.honest.map(|honest| limit.unit.show(honest)) {
        Some(honest) => format!("{honest} {}{warned}", met(of.outcome)),
        None => format!("{}{warned}", met(of.outcome)),
    }
}

/// The outcome of a limit in a cell.
fn met(outcome: AcceptanceOutcome) -> &'static str {
    match outcome {
        AcceptanceOutcome::Pass => "met",
        AcceptanceOutcome::ConditionalPass => "met within U",
        AcceptanceOutcome::ConditionalFail => "missed within U",
        AcceptanceOutcome::Fail => "missed",
        AcceptanceOutcome::NotJudged => "not judged",
    }
}

/// Why units do not pass, and what a reader must know of those that do: a sentence for each.
fn reasons(batch: &AcceptanceBatch) -> Vec<Block> {
    let mut lines = Vec::new();
    for unit in &batch.units {
        let unit_name = clip(&unit.name);
        if let Some(why) = &unit.not_tested {
            lines.push(Line::new(unit_name, Tone::Doubtful, format!("was not tested: {}", clip(why))));
            continue;
        }
        let mut any = false;
        for ((number, limit), of) in (1..).zip(&batch.limits).zip(&unit.limits) {
            let said = format!("limit {number} ({}): ", limit.benchmark);
            if of.outcome != AcceptanceOutcome::Pass {
                any = true;
                let rest = format!("{said}{}, {}", met(of.outcome), clip(&of.because));
                lines.push(Line::new(unit_name.clone(), tone(of.outcome), rest));
            }
            for warning in &of.warnings {
                lines.push(Line::new(unit_name.clone(), Tone::Doubtful, format!("{said}warning: {}", clip(warning))));
            }
        }
        // A condition can fail a unit whose limits are all met.
        if !any && unit.outcome != AcceptanceOutcome::Pass {
            lines.push(Line::new(unit_name.clone(), tone(unit.outcome), clip(&unit.because)));
        }
        let notes = unit.notes.iter().map(|note| Line::new(unit_name.clone(), Tone::Plain, clip(note)));
        lines.extend(notes);
    }
    let more = lines.len().saturating_sub(REASONS_SHOWN);
    lines.truncate(REASONS_SHOWN);
    let mut blocks = if lines.is_empty() { Vec::new() } else { vec![Block::Lines(lines)] };
    if more > 0 {
        blocks.push(Block::Facts(vec![("left out", format!("{}, which JSON has", count(more, "reason")))]));
    }
    blocks
}

/// Where the protocol of each unit is, and the command that judges all of it again.
fn evidence(batch: &AcceptanceBatch) -> Vec<Block> {
    let of_unit = |unit: &AcceptedUnit| ("unit", format!("{}  {}", clip(&unit.path), clip(&unit.directory)));
    vec![
        Block::Facts(batch.units.iter().map(of_unit).collect()),
        Block::Paragraph(
            "Each folder has the protocol of its unit (acceptance.txt, .json, .md, .html) and its runs, and can be judged by itself."
                .to_owned(),
        ),
        Block::Verbatim { label: "recheck", text: shell_command(&batch.recheck) },
    ]
}
