//! An acceptance as a document, fit for a contract: the agreement and its parties, the tested hardware, each condition
//! with its evidence, each limit with its outcome, and the command that checks all of it again.

use activebench_model::acceptance::{
    Acceptance, AcceptanceOutcome, AcceptedBenchmark, AgreedFile, AgreedLimit, Condition, ConditionState,
    DeviceIdentity, FigureOfRun, JudgedLimit, Parties, Uncertainty,
};
use activebench_model::units::Quantity;
use serde::Serialize;

use crate::document::{Block, Content, Document, Line, Room, Section, Table};
use crate::escape;
use crate::html::{accepted, rounds, strip};
use crate::page::{Set, Tone};
use crate::wording::{capitalised, count, metric, shell_command, utc};

/// Longest name of foreign origin, in characters.
const NAME_SHOWN: usize = 200;
/// Runs of a limit whose figures are shown to a person; the rest is counted.
const FIGURES_SHOWN: usize = 30;
/// Reasons of a condition that are shown to a person; the rest is counted.
const EVIDENCE_SHOWN: usize = 5;

impl Document for Acceptance {
    const NOUN: &'static str = "an acceptance";
    const SCHEMA: &'static str = "activebench.acceptance/1";

    fn keys(&self) -> impl Serialize {
        self
    }

    fn content(&self, room: Room) -> Content {
        let terms = Terms { parties: &self.parties, file: &self.file, rule_words: &self.rule_words };
        let mut first: Vec<Block> = self.notes.iter().cloned().map(Block::Notice).collect();
        let mut steady = Vec::new();
        if room == Room::Page {
            first.extend([Block::Chart(accepted::section(self)), Block::Chart(strip(&environment(self)))]);
            if self.benchmarks.iter().any(|benchmark| !benchmark.steadiness.is_empty()) {
                steady.push(Section::new("Steady state", "figures", vec![Block::Chart(rounds::of_acceptance(self))]));
            }
        }
        let mut sections = vec![Section::new("", "notes", first), Section::new("Limits", "limits", limits(self))];
        sections.extend(steady);
        sections.extend([
            Section::new("Conditions", "conditions", self.benchmarks.iter().flat_map(conditions).collect()),
            Section::new("Tested target", "lines", tested(self)),
            Section::new("Agreement", "lines", vec![Block::Facts(agreement(&terms))]),
            Section { is_folded: true, ..Section::new("Evidence", "runs", evidence(self)) },
        ]);
        let (title, rest) = answer("acceptance", &self.because, room);
        Content {
            title,
            head: Line::new(headline(self.outcome), tone(self.outcome), rest),
            sections,
            version: self.activebench.clone(),
        }
    }
}

/// Title and first sentence of an acceptance. The title of a page is the whole answer.
pub(crate) fn answer(noun: &str, because: &str, room: Room) -> (String, String) {
    match room {
        Room::Page => (capitalised(&clip(because)), String::new()),
        _ => (noun.to_owned(), format!("{because}.")),
    }
}

/// What was tested, for whom, and by which file.
fn environment(acceptance: &Acceptance) -> Vec<(&'static str, Option<String>)> {
    let Acceptance { target, parties, file, .. } = acceptance;
    let device = target.devices.first();
    let more = target.devices.len().saturating_sub(1);
    let name = device.map(|device| {
        let size = device.size_bytes.map_or_else(String::new, |bytes| format!(", {}", Quantity::bytes(bytes)));
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("{}{size}{more}", device.name)
    });
    vec![
        ("Device", name),
        ("Model", device.and_then(|device| device.model.clone())),
        ("Serial number", device.and_then(|device| device.serial.clone())),
        ("Firmware", device.and_then(|device| device.firmware.clone())),
        ("File system", target.file_systems.first().cloned()),
        ("Machine", target.hosts.first().cloned()),
        ("Buyer", Some(parties.buyer.clone())),
        ("Vendor", Some(parties.vendor.clone())),
        ("Reference", parties.reference.clone()),
        ("Agreement", Some(file.name.clone())),
    ]
}

fn limits(acceptance: &Acceptance) -> Vec<Block> {
    if acceptance.limits.is_empty() {
        return vec![Block::Paragraph("The file has no limit.".to_owned())];
    }
    // Why a limit is not judged stands in its row.
    let columns = match acceptance.limits.iter().any(|limit| limit.outcome == AcceptanceOutcome::NotJudged) {
        true => LIMIT_HEADS.len(),
        false => LIMIT_HEADS.len() - 1,
    };
    let sets = [Set::Left, Set::Left, Set::Right, Set::Right, Set::Right, Set::Whole, Set::Left];
    let rows = limit_rows(acceptance, columns);
    let table = Table { tone: tone_of, ..Table::new("Limits", &LIMIT_HEADS[..columns], &sets[..columns], rows) };
    let mut blocks = vec![Block::Table(table)];
    for limit in &acceptance.limits {
        blocks.push(Block::Heading(Line::new(limit_name(&limit.agreed), Tone::Head, "")));
        blocks.extend(limit_reasons(limit).into_iter().map(Block::Paragraph));
    }
    blocks
}

/// Tone of an outcome.
pub(crate) fn tone(outcome: AcceptanceOutcome) -> Tone {
    match outcome {
        AcceptanceOutcome::Pass => Tone::Good,
        AcceptanceOutcome::ConditionalPass | AcceptanceOutcome::NotJudged => Tone::Doubtful,
        AcceptanceOutcome::ConditionalFail | AcceptanceOutcome::Fail => Tone::Bad,
    }
}

/// Tone of an outcome, by its first word.
pub(crate) fn tone_of(word: &str) -> Tone {
    match word {
        "pass" => Tone::Good,
        "conditional" | "not" => Tone::Doubtful,
        "fail" => Tone::Bad,
        _ => Tone::Plain,
    }
}

fn conditions(benchmark: &AcceptedBenchmark) -> Vec<Block> {
    let heading = Line::new(format!("conditions of {}", benchmark.name), Tone::Head, "");
    let rows = condition_rows(benchmark);
    vec![
        Block::Heading(heading),
        Block::Table(Table::new("Conditions", &CONDITION_HEADS, &[Set::Left; 3], rows)),
        Block::Facts(suite(benchmark)),
    ]
}

fn tested(acceptance: &Acceptance) -> Vec<Block> {
    let devices = Table::new("Devices", &DEVICE_HEADS, &[Set::Left; 7], device_rows(acceptance));
    vec![Block::Facts(target_lines(acceptance)), Block::Table(devices)]
}

/// The recorded runs with their checksums, which are never wrapped, because readers copy them.
fn evidence(acceptance: &Acceptance) -> Vec<Block> {
    let runs = acceptance.benchmarks.iter().flat_map(|benchmark| &benchmark.runs);
    let mut blocks = Vec::new();
    for run in runs {
        let began = utc(run.started_unix_s).unwrap_or_else(|| "not known".to_owned());
        blocks
            .push(Block::Facts(vec![("run", format!("{}  {began}  {}", clip(&run.directory), run.verdict.as_str()))]));
        blocks.push(Block::Verbatim { label: "run.json", text: run.run_json_sha256.clone() });
    }
    blocks.push(Block::Paragraph(HOW_TO_CHECK.to_owned()));
    blocks.push(Block::Verbatim { label: "recheck", text: shell_command(&acceptance.recheck) });
    blocks
}

/// Headline of an outcome: `CONDITIONAL PASS`.
pub(crate) fn headline(outcome: AcceptanceOutcome) -> String {
    outcome.words().to_uppercase()
}

pub(crate) fn clip(text: &str) -> String {
    escape::clipped(text, NAME_SHOWN)
}

/// The agreement of one unit or of several.
pub(crate) struct Terms<'a> {
    pub(crate) parties: &'a Parties,
    pub(crate) file: &'a AgreedFile,
    pub(crate) rule_words: &'a str,
}

/// Parties and terms of the agreement, as pairs of label and text.
pub(crate) fn agreement(terms: &Terms<'_>) -> Vec<(&'static str, String)> {
    let parties = terms.parties;
    let not_named = || "not named".to_owned();
    vec![
        ("buyer", clip(&parties.buyer)),
        ("vendor", clip(&parties.vendor)),
        ("reference", parties.reference.as_deref().map_or_else(not_named, clip)),
        ("agreed on", parties.date.as_deref().map_or_else(not_named, clip)),
        ("file", clip(&terms.file.name)),
        ("sha256", terms.file.sha256.clone()),
        ("rule", terms.rule_words.to_owned()),
    ]
}

/// The tested target, as pairs of label and text.
fn target_lines(acceptance: &Acceptance) -> Vec<(&'static str, String)> {
    let target = &acceptance.target;
    let destroy = if target.destroy { ", whose contents may be destroyed" } else { "" };
    let mut lines = vec![("target", format!("{}{destroy}", clip(&target.path)))];
    let mut listed = |label, entries: &[String]| {
        for (place, entry) in entries.iter().enumerate() {
            lines.push((if place == 0 { label } else { "" }, clip(entry)));
        }
    };
    listed("storage", &target.file_systems);
    listed("host", &target.hosts);
    lines
}

const DEVICE_HEADS: [&str; 7] = ["device", "kind", "model", "serial number", "firmware", "link", "size"];

fn device_rows(acceptance: &Acceptance) -> Vec<Vec<String>> {
    let or_unsaid = |text: &Option<String>| text.as_deref().map_or_else(|| "not said".to_owned(), clip);
    let row = |device: &DeviceIdentity| {
        vec![
            clip(&device.name),
            clip(&device.kind),
            or_unsaid(&device.model),
            or_unsaid(&device.serial),
            or_unsaid(&device.firmware),
            if device.links.is_empty() { "not known".to_owned() } else { clip(&device.links.join("; ")) },
            device.size_bytes.map_or_else(|| "not known".to_owned(), |bytes| Quantity::bytes(bytes).to_string()),
        ]
    };
    acceptance.target.devices.iter().map(row).collect()
}

const LIMIT_HEADS: [&str; 7] = ["limit", "", "honest median", "U", "runs", "outcome", "why"];

fn limit_rows(acceptance: &Acceptance, columns: usize) -> Vec<Vec<String>> {
    let row = |limit: &JudgedLimit| {
        let unit = |quantity: Quantity| limit.agreed.unit.show(quantity);
        vec![
            limit_name(&limit.agreed),
            limit_bound(&limit.agreed),
            limit.honest.map_or_else(|| "none".to_owned(), unit),
            limit.uncertainty.as_ref().map_or_else(|| "not known".to_owned(), |known| unit(known.expanded)),
            limit.figures.len().to_string(),
            limit.outcome.words().to_owned(),
            if limit.outcome == AcceptanceOutcome::NotJudged { clip(&limit.because) } else { String::new() },
        ]
    };
    let cut = |mut cells: Vec<String>| {
        cells.truncate(columns);
        cells
    };
    acceptance.limits.iter().map(row).map(cut).collect()
}

/// Full name of a limit: `random-read: random-read operation rate`.
pub(crate) fn limit_name(limit: &AgreedLimit) -> String {
    format!("{}: {} {}", clip(&limit.benchmark), clip(&limit.phase), metric(limit.metric))
}

/// The limit in words: `at least 200 MB/s`.
pub(crate) fn limit_bound(limit: &AgreedLimit) -> String {
    format!("{} {}", limit.bound.words(), clip(&limit.as_written))
}

/// Reasons for the outcome of a limit, one sentence each.
fn limit_reasons(limit: &JudgedLimit) -> Vec<String> {
    let mut reasons = vec![format!("{}: {}", limit.outcome.words(), limit.because)];
    reasons.extend(limit.warnings.iter().map(|warning| format!("warning: {warning}")));
    if let Some(known) = &limit.uncertainty {
        reasons.push(uncertainty(limit, known));
    }
    let figures: Vec<String> =
        limit.figures.iter().zip(1..).take(FIGURES_SHOWN).map(|(figure, run)| figure_of(limit, figure, run)).collect();
    if !figures.is_empty() {
        let more = limit.figures.len().saturating_sub(FIGURES_SHOWN);
        let more = if more == 0 { String::new() } else { format!(", and {} more", count(more, "run")) };
        reasons.push(format!("honest figures: {}{more}", figures.join(", ")));
    }
    reasons
}

fn uncertainty(limit: &JudgedLimit, known: &Uncertainty) -> String {
    let unit = |quantity: Quantity| limit.agreed.unit.show(quantity);
    let band = match limit.guard_band {
        None => String::new(),
        Some(band) if band.value == 0.0 => String::new(),
        Some(band) => format!("; guard band {} on both sides of the limit", unit(band)),
    };
    format!(
        "U = {} from repetition {} ({}), resolution {}, tolerance {}{band}",
        unit(known.expanded),
        unit(known.statistical),
        known.statistical_basis,
        unit(known.resolution),
        unit(known.tolerance)
    )
}

fn figure_of(limit: &JudgedLimit, figure: &FigureOfRun, run: usize) -> String {
    let unit = |quantity: Quantity| limit.agreed.unit.show(quantity);
    let verdict = figure.verdict.map_or("not stated", |verdict| verdict.as_str());
    match (figure.honest, figure.claimed) {
        (Some(honest), Some(claimed)) if honest == claimed => format!("{run}: {} ({verdict})", unit(honest)),
        (Some(honest), Some(claimed)) => format!("{run}: {} ({verdict}, claimed {})", unit(honest), unit(claimed)),
        (Some(honest), None) => format!("{run}: {}", unit(honest)),
        (None, Some(claimed)) => format!("{run}: none ({verdict}, claimed {})", unit(claimed)),
        (None, None) => format!("{run}: none (not stated)"),
    }
}

const CONDITION_HEADS: [&str; 3] = ["condition", "state", "rests on"];

fn condition_rows(benchmark: &AcceptedBenchmark) -> Vec<Vec<String>> {
    let row = |condition: &Condition| {
        let shown: Vec<String> =
            condition.evidence.iter().take(EVIDENCE_SHOWN).map(|why| escape::clipped(why, 400)).collect();
        let more = condition.evidence.len().saturating_sub(EVIDENCE_SHOWN);
        let more = if more == 0 { String::new() } else { format!("; and {more} more") };
        let evidence = match condition.state {
            ConditionState::NotAsked => "the file does not ask for it".to_owned(),
            _ => format!("{}{more}", shown.join("; ")),
        };
        let observed = condition.observed.map(|value| format!("largest {value}: ")).unwrap_or_default();
        vec![condition.asks.clone(), condition.state.words().to_owned(), format!("{observed}{evidence}")]
    };
    benchmark.conditions.iter().map(row).collect()
}

/// Agreed and recorded command lines, as pairs of label and text.
fn suite(benchmark: &AcceptedBenchmark) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("agreed", format!("{} ({})", shell_command(&benchmark.command), benchmark.planned)),
        (
            "recorded",
            match benchmark.resolved.is_empty() {
                true => "nothing".to_owned(),
                false => format!("{} ({})", shell_command(&benchmark.resolved), count(benchmark.runs.len(), "run")),
            },
        ),
    ];
    lines.extend(benchmark.incomplete.iter().map(|why| ("short", clip(why))));
    lines
}

/// Purpose of the checksums.
const HOW_TO_CHECK: &str = "Each run is listed with the SHA-256 of its run.json. Each run.json has the SHA-256 of every file of its run; a file that was changed leaves its \
                            run's figures unverifiable. The command judges the stored runs again, without root, on any machine.";
