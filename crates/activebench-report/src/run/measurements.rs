//! The measurements of a command that started several: their commands and what became of their figures.

use std::collections::BTreeMap;

use activebench_model::claim::Claim;
use activebench_model::measurement::Measurement;
use activebench_model::remedy::Advised;
use activebench_model::report::{JudgedMeasurement, JudgedRun, NO_FIGURE, Together};
use activebench_model::units::Quantity;
use activebench_model::verdict::{ClaimVerdict, JudgedClaim, RunVerdict};
use serde::Serialize;

use super::keys::AdviceEntry;
use crate::document::{Block, Section, Table};
use crate::escape;
use crate::page::{Set, Tone};
use crate::wording::{count, list, merged, shell_command};

/// Longest command of a measurement in its line, in characters.
const COMMAND_SHOWN: usize = 96;
/// Most numbers of measurements that a sentence lists.
const NUMBERS_SHOWN: usize = 12;
/// Most lines.
const ROWS: usize = 100;
/// Most commands to run instead.
const ADVICE_SHOWN: usize = 4;

/// A measurement in `report.json`.
#[derive(Serialize)]
pub(crate) struct MeasurementEntry<'run> {
    number: u32,
    tool: &'run str,
    command: &'run [String],
    started_ns: u64,
    ended_ns: Option<u64>,
    exit_status: Option<i32>,
    /// Numbers of those that ran at the same time.
    beside: Vec<u32>,
    /// Devices that it used at the same time as others.
    shared: Vec<SharedEntry<'run>>,
    verdict: Option<RunVerdict>,
    because: Option<&'run str>,
    advice: Option<AdviceEntry<'run>>,
    no_advice: Option<&'run str>,
    claims_by_verdict: BTreeMap<&'static str, usize>,
}

/// A device that measurements used at the same time.
#[derive(Serialize)]
struct SharedEntry<'run> {
    device: &'run str,
    numbers: &'run [u32],
    rate: Option<Quantity>,
}

/// The measurements of a run; empty for a command that made at most one.
pub(crate) fn entries(run: &JudgedRun) -> Vec<MeasurementEntry<'_>> {
    several(run).iter().map(|measurement| entry(run, measurement)).collect()
}

fn several(run: &JudgedRun) -> &[Measurement] {
    let all = run.manifest.measurements.as_slice();
    if all.len() > 1 { all } else { &[] }
}

fn entry<'run>(run: &'run JudgedRun, measurement: &'run Measurement) -> MeasurementEntry<'run> {
    let others = several(run).iter().filter(|other| other.number != measurement.number);
    let is_own = |(claim, _): &(&Claim, &JudgedClaim)| measurement.owns(&claim.phase);
    let judged = || run.parsed.claims.iter().zip(&run.judged).filter(is_own);
    let count = |verdict: &ClaimVerdict| judged().filter(|(_, judged)| judged.verdict() == *verdict).count();
    let own = judgement(run, measurement);
    let shared = run.together.iter().filter(|together| together.numbers.contains(&measurement.number));
    let advised: Option<&'run Result<Advised, String>> = own.map(|judged| &judged.advised);
    MeasurementEntry {
        number: measurement.number,
        tool: &measurement.tool,
        command: &measurement.command.argv,
        started_ns: measurement.started_ns,
        ended_ns: measurement.ended_ns,
        exit_status: measurement.exit_status,
        beside: others.filter(|other| other.overlaps(measurement)).map(|other| other.number).collect(),
        shared: shared
            .map(|together| SharedEntry { device: &together.device, numbers: &together.numbers, rate: together.rate })
            .collect(),
        verdict: own.map(|judged| judged.verdict),
        because: own.map(|judged| judged.because.as_str()),
        advice: advised.and_then(|advised| advised.as_ref().ok()).map(AdviceEntry::of),
        no_advice: advised.and_then(|advised| advised.as_ref().err()).map(String::as_str),
        claims_by_verdict: ClaimVerdict::ALL.iter().map(|verdict| (verdict.as_str(), count(verdict))).collect(),
    }
}

/// The judgement of a measurement; `None` in a record that was judged without.
fn judgement<'run>(run: &'run JudgedRun, measurement: &Measurement) -> Option<&'run JudgedMeasurement> {
    run.measurements.iter().find(|judged| judged.number == measurement.number)
}

/// Returns what the first measurement leaves open of which something is known: `measurement 1 (fio): ...`. `None` where none
/// does.
pub(crate) fn first_open(run: &JudgedRun) -> Option<String> {
    several(run).iter().find_map(|measurement| {
        let judged = judgement(run, measurement)?;
        let is_open = judged.verdict == RunVerdict::Inconclusive && judged.because != NO_FIGURE;
        is_open.then(|| format!("measurement {} ({}): {}", measurement.number, measurement.tool, judged.because))
    })
}

/// What to read before the figures: how many commands measured, and their verdicts. `None` for a command that made at
/// most one.
pub(crate) fn notice(run: &JudgedRun) -> Option<String> {
    let all = several(run);
    if all.is_empty() {
        return None;
    }
    let mut verdicts = merged(run.measurements.iter().map(|judged| (judged.number.to_string(), judged.verdict)));
    // The worst comes first: a terminal may show no more.
    verdicts.sort_by_key(|(_, verdict)| std::cmp::Reverse(weight(*verdict)));
    let said = verdicts.iter().map(|(numbers, verdict)| {
        let numbers = list(numbers, NUMBERS_SHOWN);
        format!("{numbers} {}", verdict.as_str())
    });
    let said: Vec<String> = said.collect();
    let verdicts = if said.is_empty() { String::new() } else { format!(": {}", said.join("; ")) };
    Some(format!("{} commands measured, each is judged{verdicts}.", all.len()))
}

/// How much a reader has to look at a measurement.
fn weight(verdict: RunVerdict) -> u8 {
    match verdict {
        RunVerdict::Discrepancy => 4,
        RunVerdict::Failed => 3,
        RunVerdict::Inconclusive => 2,
        RunVerdict::Qualified => 1,
        RunVerdict::Verified => 0,
    }
}

/// A line for each measurement, what those reached together that used one device at the same time, and the commands to
/// run instead. `None` for a command that made at most one.
pub(crate) fn section(run: &JudgedRun) -> Option<Section> {
    let all = several(run);
    if all.is_empty() {
        return None;
    }
    let rows = all.iter().take(ROWS).map(|measurement| row(run, measurement)).collect();
    let heads = ["no.", "verdict", "figures", "command"];
    let mut table = Table::new("Measurements", &heads, &[Set::Left, Set::Whole, Set::Left, Set::Left], rows);
    table.tone = verdict_tone;
    let mut blocks = vec![Block::Table(table)];
    if all.len() > ROWS {
        blocks.push(Block::Paragraph(format!("{} more are in report.json.", all.len() - ROWS)));
    }
    let together: Vec<String> = run.together.iter().map(together).collect();
    if !together.is_empty() {
        blocks.push(Block::List { label: "together", items: together });
    }
    blocks.extend(advice(run, ADVICE_SHOWN));
    Some(Section::new("Measurements", "measurements", blocks))
}

/// The commands to run instead of those of measurements, at most so many.
fn advice(run: &JudgedRun, most: usize) -> Vec<Block> {
    let advised = run.measurements.iter().filter_map(|judged| Some((judged, judged.advised.as_ref().ok()?)));
    let mut advised: Vec<_> = advised.collect();
    // That of figures that do not hold comes first.
    advised.sort_by_key(|(judged, _)| std::cmp::Reverse(weight(judged.verdict)));
    let mut blocks: Vec<Block> = Vec::new();
    for (JudgedMeasurement { number, .. }, advised) in advised.iter().take(most) {
        let text = format!("activebench verify -- {}", shell_command(&advised.argv));
        let answers = advised.answers.split(';').next().unwrap_or("");
        blocks.push(Block::Remark(format!("Instead of {number}, in the folder where the script runs it ({answers}):")));
        blocks.push(Block::Verbatim { label: "run this", text });
    }
    if advised.len() > most {
        blocks.push(Block::Paragraph(format!("{} more are in report.json.", count(advised.len() - most, "command"))));
    }
    blocks
}

fn row(run: &JudgedRun, measurement: &Measurement) -> Vec<String> {
    let judged = judgement(run, measurement);
    let of = |verdict: ClaimVerdict| {
        let own = run.parsed.claims.iter().zip(&run.judged).filter(|(claim, _)| measurement.owns(&claim.id));
        own.filter(|(_, judged)| judged.verdict() == verdict).count()
    };
    let counts = ClaimVerdict::ALL.iter().map(|verdict| (of(*verdict), verdict.words()));
    let counts: Vec<String> =
        counts.filter(|(number, _)| *number > 0).map(|(number, words)| format!("{number} {words}")).collect();
    let figures = match (counts.is_empty(), judged) {
        (true, Some(judged)) => judged.because.clone(),
        _ => counts.join(", "),
    };
    vec![
        measurement.number.to_string(),
        judged.map_or("not judged", |judged| judged.verdict.as_str()).to_owned(),
        figures,
        escape::clipped(&shell_command(&measurement.command.argv), COMMAND_SHOWN),
    ]
}

/// What measurements reached together, as a sentence.
fn together(together: &Together) -> String {
    let numbers: Vec<String> = together.numbers.iter().map(u32::to_string).collect();
    let numbers = match numbers.split_last() {
        Some((last, [first])) => format!("{first} and {last}"),
        _ => list(&numbers, NUMBERS_SHOWN),
    };
    let rate = together.rate.map_or_else(String::new, |rate| format!(" Together they moved {rate}."));
    format!(
        "{numbers} used {} at the same time, and each had a part of its time.{rate} None of them is foreign to the \
         others.",
        together.device
    )
}

fn verdict_tone(word: &str) -> Tone {
    let all = [
        RunVerdict::Verified,
        RunVerdict::Qualified,
        RunVerdict::Discrepancy,
        RunVerdict::Inconclusive,
        RunVerdict::Failed,
    ];
    all.into_iter().find(|verdict| verdict.as_str() == word).map_or(Tone::Plain, super::tone)
}
