//! A replication as a document: claimed, observed and replicated figures side by side.

use activebench_model::replication::{
    CacheState, Moved, RateOver, Replay, Replicated, ReplicatedFigure, ReplicatedPass, Replication, ReplicationOutcome,
};
use activebench_model::units::{Quantity, significant};
use activebench_model::verdict::ClaimVerdict;
use serde::Serialize;

use crate::document::{Block, Content, Dispensable, Document, Line, Room, Section, Table};
use crate::escape;
use crate::html::{replicated, strip};
use crate::page::{Set, Tone};
use crate::wording::{between, capitalised, count, list, metric, shell_command};

/// Figures shown to a person; the rest is counted.
const FIGURES_SHOWN: usize = 48;
/// Notes shown to a person; the rest is counted.
const NOTES_SHOWN: usize = 60;
/// Longest name of foreign origin, in characters.
const NAME_SHOWN: usize = 200;
/// Maximum phases of a pass that are named.
const PHASES_NAMED: usize = 3;

const HEADS: [&str; 9] =
    ["phase", "cache", "claimed", "observed", "replicated", "range", ": claimed", ": observed", "agrees"];
/// Index of the column that is left out on a narrow terminal.
const SPREAD: usize = 5;

fn rows(replication: &Replication) -> Vec<Vec<String>> {
    let of_pass = |pass: &ReplicatedPass| pass.figures.iter().map(|figure| row(pass, figure)).collect::<Vec<_>>();
    replication.passes.iter().flat_map(of_pass).take(FIGURES_SHOWN).collect()
}

fn row(pass: &ReplicatedPass, figure: &ReplicatedFigure) -> Vec<String> {
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let durable = if figure.over == RateOver::UntilDurable { ", durable" } else { "" };
    vec![
        escape::clipped(&figure.phase, 100) + durable,
        cache(&pass.cache).to_owned(),
        figure.claimed.map_or_else(|| "not stated".to_owned(), |claimed| claimed.to_string()),
        or_dash(figure.observed.map(|observed| observed.to_string())),
        figure.replicated.map_or_else(|| "none".to_owned(), |replicated| replicated.median.to_string()),
        or_dash(figure.replicated.filter(|replicated| replicated.runs > 1).map(|it| spread(&it))),
        or_dash(figure.of_claimed_ratio.map(significant)),
        or_dash(figure.of_observed_ratio.map(significant)),
        or_dash(figure.agrees.map(|agrees| if agrees { "yes" } else { "no" }.to_owned())),
    ]
}

/// State of the cache, as a table cell.
fn cache(state: &CacheState) -> &'static str {
    match state {
        CacheState::PassedBy => "direct",
        CacheState::Cold => "cold",
        CacheState::Warm => "warm",
        CacheState::Mixed { .. } => "mixed",
        CacheState::WritesOnly => "-",
        CacheState::Unknown { .. } => "unknown",
    }
}

/// Range of a replicated rate: `90.02 to 93.50 MiB/s`.
pub(crate) fn spread(replicated: &Replicated) -> String {
    between(&replicated.least.to_string(), &replicated.most.to_string())
}

/// Operations of each pass and the method of its replay, one sentence each.
fn passes(replication: &Replication) -> Vec<String> {
    let of = |pass: &ReplicatedPass| {
        let name = escape::clipped(&list(&pass.phases, PHASES_NAMED), NAME_SHOWN);
        match &pass.not_replayed {
            Some(why) => format!("{name}: not replayed: {}", escape::clipped(why, NAME_SHOWN)),
            None => {
                let same = pass.replays.iter().filter(|replay| replay.differs.is_none()).count();
                format!(
                    "{name}: {}, replayed {} as {}{}. {same} of {} repeated every operation.{}",
                    moved(pass.recorded),
                    count(pass.replays.len(), "time"),
                    pass.replayed_as,
                    spreads(pass),
                    count(pass.replays.len(), "replay"),
                    device_reads(pass)
                )
            }
        }
    };
    replication.passes.iter().map(of).collect()
}

/// Lowest and highest rates of a pass.
fn spreads(pass: &ReplicatedPass) -> String {
    let of = |figure: &ReplicatedFigure| {
        let replicated = figure.replicated.filter(|replicated| replicated.runs > 1)?;
        Some(format!("{} {}", spread(&replicated), figure.over.words()))
    };
    let spreads: Vec<String> = pass.figures.iter().filter_map(of).collect();
    if spreads.is_empty() { String::new() } else { format!(": {}", spreads.join(", ")) }
}

fn device_reads(pass: &ReplicatedPass) -> String {
    let replayed: Vec<String> = pass
        .replays
        .iter()
        .filter_map(|replay| replay.device_read_bytes)
        .map(|bytes| Quantity::bytes(bytes).to_string())
        .collect();
    match pass.device_read_bytes {
        Some(recorded) if pass.cache == CacheState::Cold && !replayed.is_empty() => {
            format!(
                " Bytes read from the device: {} recorded, {} replayed.",
                Quantity::bytes(recorded),
                list(&replayed, 5)
            )
        }
        _ => String::new(),
    }
}

fn moved(moved: Moved) -> String {
    let some = |number: u64, bytes: u64, noun: &str| {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        (number > 0).then(|| format!("{} ({} in total)", count(number, noun), Quantity::bytes(bytes)))
    };
    let syncs = usize::try_from(moved.syncs).unwrap_or(usize::MAX);
    let parts = [
        some(moved.reads, moved.read_bytes, "read"),
        some(moved.writes, moved.write_bytes, "write"),
        (syncs > 0).then(|| count(syncs, "sync")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => parts.concat(),
    }
}

/// Notes on the table, one sentence each.
fn notes(replication: &Replication) -> Vec<String> {
    let mut notes: Vec<String> = replication.incomplete.iter().map(|why| format!("incomplete: {why}")).collect();
    notes.extend(replication.gaps.iter().cloned());
    for pass in &replication.passes {
        let name = list(&pass.phases, PHASES_NAMED);
        let mut add = |words: String| notes.push(format!("{name}: {words}"));
        pass.left_out.iter().for_each(|words| add(format!("not replayed: {words}")));
        for (number, replay) in (1..).zip(&pass.replays) {
            replay_notes(replay).into_iter().for_each(|words| add(format!("replay {number}: {words}")));
        }
        for figure in pass.figures.iter().filter(|_| pass.not_replayed.is_none()) {
            if figure.over == RateOver::ToolClock {
                claim_notes(figure).into_iter().for_each(&mut add);
            }
            if let Some(why) = &figure.no_replicated {
                add(format!("no replicated rate {}: {why}", figure.over.words()));
            }
        }
        pass.notes.iter().for_each(|words| add(words.clone()));
    }
    notes.dedup();
    let left_out = notes.len().saturating_sub(NOTES_SHOWN);
    notes.truncate(NOTES_SHOWN);
    if left_out > 0 {
        notes.push(format!("and {left_out} more such notes, in the JSON report"));
    }
    let figures: usize = replication.passes.iter().map(|pass| pass.figures.len()).sum();
    if figures > FIGURES_SHOWN {
        notes.push(format!("{} left out, which the JSON report has", count(figures - FIGURES_SHOWN, "figure")));
    }
    notes.push(
        "Rates cover the time of the tool's clock. Those marked durable cover the time to the end of the next sync."
            .to_owned(),
    );
    notes.push(format!(
        "A rate agrees if the observed one is within the range of the replays, or within {} of their median.",
        Quantity::ratio(replication.tolerance_ratio)
    ));
    if replication.passes.iter().any(|pass| matches!(pass.cache, CacheState::Cold | CacheState::PassedBy)) {
        notes.push(
            "Cold means the page cache of this host. Caches of devices, arrays and virtual machines' hosts are not emptied."
                .to_owned(),
        );
    }
    notes.iter().map(|note| escape::clipped(note, 2 * NAME_SHOWN)).collect()
}

/// The verdict on an unconfirmed claim, and the honest figure of the recording.
fn claim_notes(figure: &ReplicatedFigure) -> Option<String> {
    let (claimed, verdict) = (figure.claimed?, figure.verdict.filter(|verdict| *verdict != ClaimVerdict::Confirmed)?);
    let honest = match figure.honest {
        Some(honest) => format!("the honest figure of the recording is {honest}"),
        None => "the recording has no honest figure".to_owned(),
    };
    Some(format!("the claim {claimed} ({}) is {}; {honest}", metric(figure.metric), verdict.as_str()))
}

/// Notes on a replay: gaps in its observation, and differences from the recording.
fn replay_notes(replay: &Replay) -> Vec<String> {
    let mut notes: Vec<String> =
        replay.incomplete.iter().map(|why| format!("its observation is incomplete: {why}")).collect();
    notes.extend(replay.differs.clone());
    if !replay.same_cache {
        notes.push(format!("its cache was not in the state of the recorded pass: {}", replay.cache.words()));
    }
    notes.extend(replay.engine_refuted.iter().map(|text| format!("the engine's own count is wrong: {text}")));
    notes
}

fn headline(replication: &Replication) -> String {
    format!(
        "{} {}",
        escape::clipped(&replication.tool, 60),
        escape::clipped(&shell_command(&replication.command), NAME_SHOWN)
    )
}

/// Pairs of label and text.
fn facts(replication: &Replication) -> Vec<(&'static str, String)> {
    let on = |targets: &[String]| list(targets, PHASES_NAMED);
    let mut facts = vec![
        ("because", replication.because.clone()),
        ("run", format!("{}: {}", escape::clipped(&replication.run, NAME_SHOWN), replication.verdict.as_str())),
    ];
    if !replication.recorded_on.is_empty() {
        facts.push(("recorded", on(&replication.recorded_on)));
    }
    let mut target = escape::clipped(&replication.target, NAME_SHOWN);
    if !replication.replayed_on.is_empty() {
        target = format!("{target}, on {}", on(&replication.replayed_on));
    }
    facts.push(("target", target));
    facts.push((
        "engine",
        format!("{}, {} planned", replication.engine, count(replication.planned_runs as usize, "replay")),
    ));
    facts
}

impl Document for Replication {
    const NOUN: &'static str = "a replication";
    const SCHEMA: &'static str = "activebench.replication/1";

    fn keys(&self) -> impl Serialize {
        self
    }

    fn content(&self, room: Room) -> Content {
        let tone = match self.outcome {
            ReplicationOutcome::Replicated => Tone::Good,
            ReplicationOutcome::Differs => Tone::Bad,
            ReplicationOutcome::Incomplete => Tone::Doubtful,
        };
        let sets =
            std::array::from_fn::<_, { HEADS.len() }, _>(|column| if column < 2 { Set::Left } else { Set::Right });
        let figures = Table {
            dispensable: Some(Dispensable { column: SPREAD, shorter: Vec::new() }),
            ..Table::new("Figures", &HEADS, &sets, rows(self))
        };
        let list = |label, items| vec![Block::List { label, items }];
        let mut sections = vec![
            Section::new("Figures", "figures", vec![Block::Table(figures)]),
            Section::new("Runs", "facts", vec![Block::Facts(facts(self))]),
            Section::new("Passes", "passes", list("passes", passes(self))),
            Section::new("Notes", "notes", list("notes", notes(self))),
        ];
        let (mut title, mut rest) = ("Replication".to_owned(), headline(self));
        if room == Room::Page {
            // The title of a page is the whole answer.
            title = capitalised(&escape::clipped(&self.because, 2 * NAME_SHOWN));
            rest = String::new();
            let first = [replicated::section(self), strip(&environment(self))].map(Block::Chart);
            sections.insert(0, Section::new("", "figures", first.to_vec()));
        }
        Content {
            title,
            head: Line::new(self.outcome.as_str().to_uppercase(), tone, rest),
            sections,
            version: self.activebench.clone(),
        }
    }
}

/// What was recorded where, and how it was replayed.
fn environment(replication: &Replication) -> Vec<(&'static str, Option<String>)> {
    let on = |targets: &[String]| (!targets.is_empty()).then(|| list(targets, PHASES_NAMED));
    vec![
        ("Tool", Some(replication.tool.clone())),
        ("Command", Some(shell_command(&replication.command))),
        ("Recorded on", on(&replication.recorded_on)),
        ("Replayed on", on(&replication.replayed_on)),
        ("Engine", Some(replication.engine.clone())),
        ("Replays", Some(format!("{} of each pass planned", replication.planned_runs))),
        ("Run", Some(replication.run.clone())),
        ("Verdict of the run", Some(replication.verdict.as_str().to_owned())),
    ]
}
