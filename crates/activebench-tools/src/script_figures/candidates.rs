//! What a script's number may come from: the figures of the run, and what a script computes from them.

use std::collections::{BTreeSet, HashMap, HashSet};

use activebench_model::claim::{Claim, Metric};
use activebench_model::direction::Direction;
use activebench_model::phase::{Pattern, Phase};
use activebench_model::script_figure::{Derivation, Origin};
use activebench_model::units::{Quantity, Unit};

use super::load::Load;
use super::{COPY_RATIO, Measured};
use crate::printed_numbers::{Order, Reading, STATISTICS, direction_of, number_of, order_of, words};

/// Most figures that are taken together: a script adds up a few.
const MOST_TOGETHER: usize = 64;

/// A figure, or what follows from several.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) derivation: Derivation,
    /// Places of the claims.
    pub(super) places: Vec<usize>,
    /// Their identifiers.
    ids: Vec<String>,
    pub(super) value: f64,
    /// Half a step of the printed figures together.
    resolution: f64,
    pub(super) unit: Unit,
    /// Direction of all of them; `None` where they differ.
    pub(super) direction: Option<Direction>,
    /// Order of the offsets of all of them; `None` where they differ or it is not known.
    pub(super) order: Option<Order>,
    /// What all of them have in common of their loads.
    pub(super) load: Load,
    /// Number of the measurement of all of them; `None` where they differ.
    pub(super) measurement: Option<u32>,
    /// Number of the pass of all of them among those of the run; `None` where they differ.
    pass: Option<usize>,
    /// The statistic, for latencies.
    pub(super) statistic: Option<Statistic>,
}

/// A statistic of latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Statistic {
    Mean,
    P50,
    P95,
    P99,
    P999,
    Max,
    /// One of which no figure is read: the smallest, the deviation, the 90th percentile.
    Other,
}

impl Statistic {
    fn of(metric: Metric) -> Option<Self> {
        Some(match metric {
            Metric::LatencyMean | Metric::CompletionLatencyMean | Metric::SyncLatencyMean => Self::Mean,
            Metric::LatencyP50 | Metric::CompletionLatencyP50 | Metric::SyncLatencyP50 => Self::P50,
            Metric::LatencyP95 | Metric::CompletionLatencyP95 | Metric::SyncLatencyP95 => Self::P95,
            Metric::LatencyP99 | Metric::CompletionLatencyP99 | Metric::SyncLatencyP99 => Self::P99,
            Metric::LatencyP999 | Metric::CompletionLatencyP999 | Metric::SyncLatencyP999 => Self::P999,
            Metric::LatencyMax => Self::Max,
            _ => return None,
        })
    }
}

impl Candidate {
    /// Returns `true` if a number is this one within the digits of both and a share of it. A number that was cut off
    /// may be a whole step below.
    pub(super) fn agrees(&self, reading: Reading, share: f64) -> bool {
        (self.value - reading.value).abs() <= self.tolerance(reading, share)
    }

    pub(super) fn tolerance(&self, reading: Reading, share: f64) -> f64 {
        2.0 * (reading.resolution + self.resolution) + share * reading.value
    }

    /// Returns `true` if a number is this one by its own digits: a script computed it from more digits than the tool
    /// printed of the figure (bytes and seconds of `1.5 GB/s`).
    pub(super) fn agrees_by_own_digits(&self, reading: Reading) -> bool {
        (self.value - reading.value).abs() <= own_digits(reading)
    }

    pub(super) fn origin(&self) -> Origin {
        let value = Quantity { value: self.value, unit: self.unit };
        Origin { derivation: self.derivation, claims: self.ids.clone(), value }
    }

    pub(super) fn is_time(&self) -> bool {
        self.unit == Unit::Ns
    }

    /// Returns `true` for a rate of a whole pass.
    pub(super) fn is_rate(&self, candidates: &Candidates<'_>) -> bool {
        self.places.iter().all(|place| candidates.claims[*place].metric.is_rate(true))
    }
}

/// The runs of one command.
pub(super) struct Repeats<'a> {
    /// Identifiers of the claims of one figure, in the order of the runs.
    pub(super) claims: Vec<&'a str>,
    /// Their lines.
    pub(super) lines: Vec<&'a str>,
}

/// All that a number may come from.
pub(super) struct Candidates<'a> {
    all: Vec<Candidate>,
    claims: &'a [Claim],
    /// Places of the claims of one figure in runs of one command, for each that has several.
    repeats: Vec<Vec<usize>>,
    /// Words of the phases, by the only measurement whose phases have them.
    pub(super) words: HashMap<String, u32>,
    /// The loads that there are.
    pub(super) loads: HashSet<Load>,
    /// The passes that have a word in their names, and one that is no direction and no order: `rewrite`, names of jobs.
    passes: HashMap<String, HashSet<usize>>,
}

impl<'a> Candidates<'a> {
    pub(super) fn of(measured: Measured<'a>) -> Self {
        let Measured { measurements, claims, phases, .. } = measured;
        let numbers: HashMap<&str, usize> = phases.iter().map(|phase| phase.id.as_str()).zip(0..).collect();
        let phases: HashMap<&str, &Phase> = phases.iter().map(|phase| (phase.id.as_str(), phase)).collect();
        let number_of = |claim: &Claim| match measurements {
            [only] => Some(only.number),
            _ => claim.phase.split_once('-').and_then(|(number, _)| number.parse().ok()),
        };
        let described: Vec<Described<'_>> = claims
            .iter()
            .map(|claim| {
                let phase = phases.get(claim.phase.as_str()).copied();
                let number = phase.and_then(|phase| numbers.get(phase.id.as_str())).copied();
                Described { phase, number, measurement: number_of(claim) }
            })
            .collect();
        let mut groups: HashMap<Group, Vec<usize>> = HashMap::new();
        let mut repeats: HashMap<Repeat, Vec<usize>> = HashMap::new();
        for (place, (claim, own)) in claims.iter().zip(&described).enumerate() {
            let of_all = claim.metric.is_rate(true) || claim.metric.is_latency() || claim.metric.is_count();
            let Some(phase) = own.phase.filter(|_| of_all) else { continue };
            let mut add = |of: Together| groups.entry(Group { metric: claim.metric, of }).or_default().push(place);
            add(Together::All);
            add(Together::Direction(phase.direction));
            add(Together::Pass(own.pass().to_owned()));
            add(Together::Measurement(own.measurement));
            let command = measurements
                .iter()
                .find(|one| Some(one.number) == own.measurement)
                .map(|one| one.command.argv.iter().map(|word| without_numbers_of_names(word)).collect());
            let key = Repeat {
                metric: claim.metric,
                pass: without_digits(own.pass()),
                block_bytes: phase.block_bytes,
                command: command.unwrap_or_default(),
            };
            repeats.entry(key).or_default().push(place);
        }
        let mut together: Vec<Vec<usize>> = groups.into_values().chain(repeats.values().cloned()).collect();
        together.retain(|places| (2..=MOST_TOGETHER).contains(&places.len()));
        together.sort_unstable();
        together.dedup();
        let mut all: Vec<Candidate> = (0..claims.len()).map(|place| single(place, claims, &described)).collect();
        all.extend((0..claims.len()).filter_map(|place| in_blocks(place, claims, &described)));
        all.extend(together.iter().flat_map(|places| of_several(places, claims, &described)));
        let repeats = repeats.into_values().filter(|places| places.len() > 1).collect();
        let loads = all.iter().map(|candidate| candidate.load).collect();
        Self { all, claims, repeats, words: words_of(&described), loads, passes: passes_of(&described) }
    }

    /// Returns `true` if one of the words is of a pass's name, and none of them is of the name of this pass.
    pub(super) fn names_other_pass(&self, words: &BTreeSet<String>, candidate: &Candidate) -> Option<bool> {
        let mut known = words.iter().filter_map(|word| self.passes.get(word)).peekable();
        known.peek()?;
        Some(candidate.pass.is_some_and(|pass| !known.any(|passes| passes.contains(&pass))))
    }

    pub(super) fn all(&self) -> &[Candidate] {
        &self.all
    }

    pub(super) fn of_unit(&self, unit: Unit) -> impl Iterator<Item = &Candidate> {
        self.all.iter().filter(move |candidate| candidate.unit == unit)
    }

    /// Returns the other runs of the command that a claim is of, with this one; `None` where there is one run.
    pub(super) fn repeats_of(&self, claim: &str) -> Option<Repeats<'a>> {
        let has = |places: &&Vec<usize>| places.iter().any(|place| self.claims[*place].id == claim);
        let places = self.repeats.iter().find(has)?;
        let claims = places.iter().map(|place| self.claims[*place].id.as_str()).collect();
        let lines = places.iter().map(|place| self.claims[*place].source.text.as_str()).collect();
        Some(Repeats { claims, lines })
    }

    /// Returns `true` if a claim's figure is the best of several runs of one command.
    pub(super) fn is_best(&self, claim: &str) -> bool {
        self.single_of(claim).is_some_and(|one| self.best_of(one, 2).is_some())
    }

    /// Returns a claim's figure.
    pub(super) fn single_of(&self, claim: &str) -> Option<&Candidate> {
        self.all.iter().find(|one| one.derivation == Derivation::Equal && one.ids == [claim])
    }

    /// Returns the runs of one command if a figure is the best of them; at least `least`.
    pub(super) fn best_of(&self, candidate: &Candidate, least: usize) -> Option<Best> {
        let [place] = candidate.places[..] else { return None };
        let claim = &self.claims[place];
        let places =
            self.repeats.iter().find(|places| places.contains(&place)).filter(|places| places.len() >= least)?;
        let less_is_better = claim.metric.more_is_worse() == Some(true);
        let is_rate = claim.metric.is_rate(true) || claim.metric.is_latency();
        // Figures of short runs are often equal: their clock has a millisecond.
        let by = |other: &usize| {
            let apart = self.claims[*other].value.value - claim.value.value;
            if less_is_better { -apart } else { apart }
        };
        let is_best = places.iter().all(|other| by(other) <= 0.0) && places.iter().any(|other| by(other) < 0.0);
        let best = Best { is_last: places.last().is_some_and(|last| by(last) == 0.0), of: places.len() };
        (is_rate && is_best).then_some(best)
    }
}

/// A figure that is the best of several runs of one command.
pub(super) struct Best {
    /// It is that of the last of them, which a script's variable holds in the end.
    pub(super) is_last: bool,
    /// How many they are.
    pub(super) of: usize,
}

/// Returns how far a number may be from what its digits stand for.
pub(super) fn own_digits(reading: Reading) -> f64 {
    2.0 * reading.resolution + COPY_RATIO * reading.value
}

/// Returns half a step of a claim's printed digits: a script copies these, whatever the tool's clock resolves.
fn half_step(claim: &Claim) -> f64 {
    match number_of(&claim.printed.text) {
        Some((printed, step)) if printed > 0.0 => (claim.value.value / printed * step / 2.0).abs(),
        _ => claim.resolution,
    }
}

fn without_digits(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Returns a word of a command line without the numbers of file and job names. Numbers that are an option's value stay:
/// with another one it is another load.
fn without_numbers_of_names(word: &str) -> String {
    let (option, value) = word.split_once('=').map_or(("", word), |(option, value)| (option, value));
    match value.starts_with(|c: char| c.is_ascii_digit()) {
        true => word.to_owned(),
        false => format!("{option}={}", without_digits(value)),
    }
}

/// A claim's phase and measurement.
struct Described<'a> {
    phase: Option<&'a Phase>,
    /// Its place among the phases.
    number: Option<usize>,
    measurement: Option<u32>,
}

impl Described<'_> {
    /// Returns the pass's name in its own measurement.
    fn pass(&self) -> &str {
        let id = self.phase.map_or("", |phase| phase.id.as_str());
        let own = self.measurement.and_then(|number| id.strip_prefix(&format!("{number}-")));
        own.unwrap_or(id)
    }

    fn load(&self) -> Load {
        self.phase.map_or_else(Load::default, Load::of_phase)
    }

    fn order(&self) -> Option<Order> {
        match self.phase?.pattern {
            Pattern::Sequential => Some(Order::Sequential),
            Pattern::RandomPermutation | Pattern::RandomIndependent => Some(Order::Random),
            Pattern::Backward | Pattern::SingleBlock | Pattern::Strided | Pattern::Unknown => None,
        }
    }
}

/// Claims that a script may take together.
#[derive(PartialEq, Eq, Hash)]
struct Group {
    metric: Metric,
    of: Together,
}

#[derive(PartialEq, Eq, Hash)]
enum Together {
    All,
    Direction(Direction),
    Pass(String),
    Measurement(Option<u32>),
}

/// The same figure of the same command, whatever numbers its file names have.
#[derive(PartialEq, Eq, Hash)]
struct Repeat {
    metric: Metric,
    pass: String,
    block_bytes: Option<u64>,
    command: Vec<String>,
}

fn single(place: usize, claims: &[Claim], described: &[Described<'_>]) -> Candidate {
    let claim = &claims[place];
    Candidate {
        derivation: Derivation::Equal,
        places: vec![place],
        ids: vec![claim.id.clone()],
        value: claim.value.value,
        resolution: half_step(claim),
        unit: claim.value.unit,
        direction: described[place].phase.map(|phase| phase.direction),
        order: described[place].order(),
        load: described[place].load(),
        measurement: described[place].measurement,
        pass: described[place].number,
        statistic: Statistic::of(claim.metric),
    }
}

/// Returns a rate as operations of the pass's blocks, where the tool printed bytes alone: `dd` prints no IOPS.
fn in_blocks(place: usize, claims: &[Claim], described: &[Described<'_>]) -> Option<Candidate> {
    let (claim, own) = (&claims[place], &described[place]);
    let block_bytes = own.phase?.block_bytes.filter(|bytes| *bytes > 1)? as f64;
    let of_pass = |other: &&Claim| other.phase == claim.phase;
    let prints_operations = claims.iter().filter(of_pass).any(|other| other.value.unit == Unit::OpsPerSec);
    if claim.value.unit != Unit::BytesPerSec || !claim.metric.is_rate(true) || prints_operations {
        return None;
    }
    let single = single(place, claims, described);
    let (value, resolution) = (single.value / block_bytes, single.resolution / block_bytes);
    Some(Candidate { value, resolution, unit: Unit::OpsPerSec, ..single })
}

/// Returns what a script computes from several figures.
fn of_several(places: &[usize], claims: &[Claim], described: &[Described<'_>]) -> Vec<Candidate> {
    let mut values: Vec<f64> = places.iter().map(|place| claims[*place].value.value).collect();
    values.sort_by(f64::total_cmp);
    let count = values.len() as f64;
    let sum: f64 = values.iter().sum();
    let steps: f64 = places.iter().map(|place| half_step(&claims[*place])).sum();
    let same = |first: Option<Direction>| {
        places
            .iter()
            .all(|place| described[*place].phase.map(|phase| phase.direction) == first)
            .then_some(first)
            .flatten()
    };
    let first = &described[places[0]];
    let order = first.order().filter(|order| places.iter().all(|place| described[*place].order() == Some(*order)));
    let load = places.iter().fold(first.load(), |load, place| load.common(described[*place].load())).of_several();
    let measurement =
        first.measurement.filter(|_| places.iter().all(|place| described[*place].measurement == first.measurement));
    let candidate = |derivation: Derivation, value: f64, resolution: f64| Candidate {
        derivation,
        places: places.to_vec(),
        ids: places.iter().map(|place| claims[*place].id.clone()).collect(),
        value,
        resolution,
        unit: claims[places[0]].value.unit,
        direction: same(first.phase.map(|phase| phase.direction)),
        order,
        load,
        measurement,
        pass: first.number.filter(|_| places.iter().all(|place| described[*place].number == first.number)),
        statistic: Statistic::of(claims[places[0]].metric),
    };
    let mut computed = vec![candidate(Derivation::Mean, sum / count, steps / count)];
    let is_latency = claims[places[0]].metric.is_latency();
    if !is_latency {
        computed.push(candidate(Derivation::Sum, sum, steps));
    }
    if let (Some(smallest), Some(largest)) = (values.first(), values.last()) {
        computed.push(candidate(Derivation::Smallest, *smallest, steps / count));
        computed.push(candidate(Derivation::Largest, *largest, steps / count));
    }
    // Of an even number it is the mean of both in the middle; scripts that sort and take one take either.
    let middle = values.len() / 2;
    let medians = match (values.len() % 2, values.get(middle.saturating_sub(1)), values.get(middle)) {
        (0, Some(below), Some(above)) => vec![*below, *above, f64::midpoint(*below, *above)],
        (1, _, Some(own)) if values.len() > 2 => vec![*own],
        _ => Vec::new(),
    };
    computed.extend(medians.into_iter().map(|value| candidate(Derivation::Median, value, steps / count)));
    computed
}

/// Returns the words that name the passes of one measurement and of no other: names of jobs, not directions.
fn words_of(described: &[Described<'_>]) -> HashMap<String, u32> {
    let mut owners: HashMap<String, Option<u32>> = HashMap::new();
    for own in described {
        let Some(number) = own.measurement else { continue };
        let names = words(own.pass()).filter(|word| is_name(word));
        for word in names.filter(|word| direction_of(word).is_none() && order_of(word).is_none()) {
            let owner = owners.entry(word).or_insert(Some(number));
            *owner = owner.filter(|owner| *owner == number);
        }
    }
    owners.into_iter().filter_map(|(word, owner)| Some((word, owner?))).collect()
}

/// Returns the words of the passes' names that tell passes apart. A direction alone does not: `write` may stand before the
/// rate of a rewrite.
fn passes_of(described: &[Described<'_>]) -> HashMap<String, HashSet<usize>> {
    let mut passes: HashMap<String, HashSet<usize>> = HashMap::new();
    for own in described {
        let Some(number) = own.number else { continue };
        for word in words(own.pass()).filter(|word| is_name(word) && !is_plain(word)) {
            passes.entry(word).or_default().insert(number);
        }
    }
    passes
}

/// Words that, as those of latencies and statistics do, say what a number is, though jobs are named so: `write_iops`, `read_throughput`.
const METRICS: &[&str] = &[
    "iops",
    "ops",
    "io",
    "bw",
    "bandwidth",
    "throughput",
    "rate",
    "speed",
    "time",
    "mb",
    "mib",
    "kb",
    "kib",
    "gb",
    "gib",
    "bytes",
    "sec",
    "seconds",
    "ms",
    "us",
    "ns",
    "best",
    "worst",
    "total",
    "sum",
    "all",
    "result",
    "results",
    "summary",
    "perf",
    "performance",
    "file",
    "files",
    "disk",
    "drive",
    "device",
    "test",
    "tests",
    "job",
    "jobs",
    "run",
    "runs",
    "bench",
    "benchmark",
    "size",
    "block",
    "threads",
    "depth",
    "pass",
];

fn is_name(word: &str) -> bool {
    word.len() > 1 && !METRICS.contains(&word) && !STATISTICS.contains(&word)
}

fn is_plain(word: &str) -> bool {
    let is_direction = direction_of(word).is_some() && (word.starts_with("read") || word.starts_with("writ"));
    is_direction || order_of(word).is_some() && direction_of(word).is_none()
}
