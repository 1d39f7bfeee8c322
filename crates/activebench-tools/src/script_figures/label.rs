//! The words of a script around one of its numbers.

use std::collections::BTreeSet;
use std::ops::Range;

use activebench_model::direction::Direction;
use activebench_model::script_figure::{Derivation, Fault};
use activebench_model::units::Unit;

use super::candidates::{Candidate, Candidates, Statistic};
use super::load::Load;
use crate::printed_numbers::{Order, PrintedNumber, STATISTICS, direction_of, order_of, words};

/// What the words around a number say.
#[derive(Debug, Default)]
pub(super) struct Label {
    direction: Option<Direction>,
    order: Option<Order>,
    derivation: Option<Derivation>,
    /// The load that it names.
    load: Load,
    /// It speaks of a best, a peak or a limit.
    names_best: bool,
    /// It speaks of runs: `mean of 3 runs`.
    names_runs: bool,
    /// It says that both directions are added up.
    says_both: bool,
    /// The only statistic of latencies that it names.
    statistic: Option<Statistic>,
    /// It has a word for latency, or names a statistic of latencies.
    names_latency: bool,
    /// One of [`OTHER_RUNS`] stands around it.
    names_other_run: bool,
    /// One of [`EXTREMES`] stands around it, or one of [`MEANS_OF_SAMPLES`] before it.
    names_extreme: bool,
    /// Its words, in lower case; then those of what it is in, from the inside.
    words: Vec<BTreeSet<String>>,
}

/// Words of what is no result of this run: expectations, other runs, other memory, and parts of a latency.
const OTHER_RUNS: &[&str] = &[
    "limit",
    "spec",
    "specification",
    "datasheet",
    "rated",
    "nominal",
    "advertised",
    "expect",
    "expected",
    "expectation",
    "target",
    "goal",
    "sla",
    "require",
    "required",
    "requires",
    "requirement",
    "requirements",
    "needed",
    "threshold",
    "allowed",
    "theoretical",
    "link",
    "network",
    "nic",
    "ethernet",
    "bus",
    "pcie",
    "interface",
    "cache",
    "memory",
    "previous",
    "baseline",
    "last",
    "slat",
    "submission",
];
/// Words of the extremes of a tool's own samples.
const EXTREMES: &[&str] = &["max", "maximum", "peak", "burst", "best", "highest"];
/// Names of the mean of a tool's own samples, which may be above the rate of the run (fio's JSON).
const MEANS_OF_SAMPLES: &[&str] = &["iops_mean", "bw_mean"];

/// Where the labels of the numbers of a line stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// `read 812 MB/s write 640 MB/s`.
    Before,
    /// `812 MB/s read 640 MB/s write`.
    Behind,
    /// A pass is named before the first number and behind the last: that of the others may stand on either side.
    Unknown,
}

impl Side {
    /// Reads a line with numbers between these places.
    pub(super) fn of(line: &str, first: usize, last: usize) -> Self {
        match (names_pass(&line[..first]), names_pass(&line[last..])) {
            (_, false) => Self::Before,
            (false, true) => Self::Behind,
            (true, true) => Self::Unknown,
        }
    }
}

/// Returns `true` if a text names a direction or an order.
pub(super) fn names_pass(text: &str) -> bool {
    direction_of(text).is_some() || order_of(text).is_some()
}

/// Returns the words of a line that name the pass of all its numbers: those before the first one, or those behind the
/// last one where none stand before. `None` where another place names a pass, too.
pub(super) fn of_all<'a>(line: &'a str, first: &Range<usize>, last: &PrintedNumber, side: Side) -> Option<&'a str> {
    let (rest, words) = match side {
        Side::Before => (line.get(first.end..), &line[..first.start]),
        Side::Behind => (line.get(first.end..last.place.start.max(first.end)), &line[last.end..]),
        Side::Unknown => return None,
    };
    rest.is_some_and(|rest| !names_pass(rest)).then_some(words)
}

/// Words of what is measured, of its units, and those between them: like [`STATISTICS`], none says of which pass.
const METRICS: &[&str] = &[
    "iops",
    "io",
    "ops",
    "op",
    "bw",
    "bandwidth",
    "rate",
    "speed",
    "throughput",
    "p999",
    "time",
    "took",
    "elapsed",
    "in",
    "at",
    "and",
    "with",
    "of",
    "s",
    "sec",
    "seconds",
    "ms",
    "us",
    "usec",
    "msec",
];
/// Words of a sum.
const SUMS: &[&str] = &["total", "sum", "aggregate", "aggregated", "combined", "overall", "together", "all"];
/// Words of a latency.
const LATENCIES: &[&str] = &["latency", "latencies", "lat", "clat", "response"];
/// Words of a best, a peak or a limit.
const BESTS: &[&str] = &["best", "peak", "max", "maximum", "highest", "fastest", "top", "min", "minimum", "lowest"];

impl Label {
    /// Reads the label of a number between two places of a line, from a place on. The label stands before the number.
    /// Where nothing does, or where that is the habit of the line, it is what follows: `812 MB/s written`.
    pub(super) fn of(line: &str, begin: usize, number: &Range<usize>, side: Side) -> Self {
        let all_before = line.get(begin..number.start).unwrap_or("");
        let behind = &line[number.end..];
        let after = &behind[..behind.find(|c: char| c.is_ascii_digit() || ",;|".contains(c)).unwrap_or(behind.len())];
        let first = line.split(|c: char| c.is_ascii_digit()).next().unwrap_or("");
        let around: Vec<String> = [first, all_before, after].into_iter().flat_map(words).collect();
        let around_has = |names: &[&str]| around.iter().any(|word| names.contains(&word.as_str()));
        let mut names = all_before.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let names_extreme = around_has(EXTREMES) || names.any(|name| MEANS_OF_SAMPLES.contains(&name));
        let names_other_run = around_has(OTHER_RUNS);
        let before = match side {
            Side::Behind => "",
            Side::Unknown if begin > 0 => return Self { names_other_run, names_extreme, ..Self::default() },
            Side::Before | Side::Unknown => all_before,
        };
        // Behind another number, what stands before a comma is still about that one.
        let before = if begin > 0 { before.rsplit([',', ';', '|']).next().unwrap_or(before) } else { before };
        let text = if before.contains(char::is_alphabetic) { before } else { after };
        let words: BTreeSet<String> = words(text).collect();
        let has = |names: &[&str]| names.iter().any(|name| words.contains(*name));
        // `812 MB/s on average`, at the end of the line.
        let is_last = after.len() == behind.len() && !names_pass(after);
        let derivation =
            derivation_of(&words).or_else(|| derivation_of(&self::words(after).collect()).filter(|_| is_last));
        // The first words of a line speak for each cell of its row that has none itself. They explain a number, and accuse none.
        let row = if words.is_empty() { first } else { "" };
        let of_row: BTreeSet<String> = self::words(row).collect();
        let row_has = |names: &[&str]| names.iter().any(|name| of_row.contains(*name));
        let names_best = has(BESTS) || row_has(BESTS);
        let is_both =
            |text: &str, words: &BTreeSet<String>| direction_of(text) == Some(Direction::Mixed) || names_both(words);
        let says_both = has(SUMS) || row_has(SUMS) || is_both(text, &words) || is_both(row, &of_row);
        // A text that names both directions names none.
        let direction = direction_of(text).filter(|_| !names_both(&words));
        let names_runs = has(&["runs", "repeats", "repetitions", "iterations", "rounds", "trials", "of"]);
        let load = Load::of_words(text);
        let order = order_of(text).filter(|_| !names_both_orders(&words));
        let statistic = only_statistic(text);
        let names_latency = statistic.is_some() || has(LATENCIES);
        let words = vec![words];
        Self {
            direction,
            order,
            derivation,
            load,
            names_best,
            names_runs,
            says_both,
            statistic,
            names_latency,
            names_other_run,
            names_extreme,
            words,
        }
    }

    /// Completes what the words leave open by those of its column and of the objects that it is in, from the inside.
    pub(super) fn within<'a>(mut self, around: impl Iterator<Item = &'a str>) -> Self {
        for text in around {
            let words: BTreeSet<String> = words(text).collect();
            self.direction = self.direction.or_else(|| direction_of(text).filter(|_| !names_both(&words)));
            self.order = self.order.or_else(|| order_of(text).filter(|_| !names_both_orders(&words)));
            self.statistic = self.statistic.or_else(|| only_statistic(text));
            self.load = self.load.or(Load::of_words(text));
            self.names_latency |=
                self.statistic.is_some() || words.iter().any(|word| LATENCIES.contains(&word.as_str()));
            self.names_other_run |= words.iter().any(|word| OTHER_RUNS.contains(&word.as_str()));
            self.names_extreme |= words.iter().any(|word| EXTREMES.contains(&word.as_str()));
            self.says_both |= words.iter().any(|word| SUMS.contains(&word.as_str())) || names_both(&words);
            self.words.push(words);
        }
        self
    }

    /// Returns `true` if the words say that a number of this unit is no result of this run. The largest latency is one.
    pub(super) fn names_no_result(&self, unit: Unit) -> bool {
        self.names_other_run || self.names_extreme && unit != Unit::Ns
    }

    /// Returns `true` if there are no words.
    pub(super) fn is_empty(&self) -> bool {
        self.words.iter().all(BTreeSet::is_empty)
    }

    /// Returns `true` if it has no words but those of metrics and statistics: they are about the pass that stands before them.
    pub(super) fn names_metrics_alone(&self) -> bool {
        self.words.iter().flatten().all(|word| [METRICS, STATISTICS].iter().any(|names| names.contains(&word.as_str())))
    }

    /// Returns `true` if its own words only go on with what stands before them: `3500 MB/s read, 3000 MB/s write`.
    pub(super) fn only_goes_on(&self) -> bool {
        let goes_on = |word: &String| ["and", "or", "at"].contains(&word.as_str()) || direction_of(word).is_some();
        self.words.first().is_none_or(|own| own.iter().all(goes_on))
    }

    /// Takes the direction of what the unit counts: `571 reads/s`.
    pub(super) fn of_counted(mut self, direction: Option<Direction>) -> Self {
        self.direction = direction.or(self.direction);
        self
    }

    /// Completes the load by what the row of the number says of it.
    pub(super) fn in_row(mut self, row: Load) -> Self {
        self.load = self.load.or(row);
        self
    }

    /// Returns `true` if they speak of a mean or a median.
    pub(super) fn says_mean(&self) -> bool {
        matches!(self.derivation, Some(Derivation::Mean | Derivation::Median))
    }

    /// Returns how far a candidate is from what the words say: 0 when they name it.
    pub(super) fn distance(&self, candidate: &Candidate) -> u32 {
        let other_kind = match (self.derivation, candidate.derivation) {
            (Some(named), derivation) if named == derivation => 0,
            (None, Derivation::Equal) => 0,
            (_, Derivation::Equal) => 1,
            _ => 2,
        };
        let apart = u32::from(!self.admits_direction(candidate)) * 8 + u32::from(!self.admits_order(candidate)) * 4;
        apart + other_kind
    }

    /// Returns `true` if the words name how this one is computed.
    pub(super) fn names_derivation_of(&self, candidate: &Candidate) -> bool {
        self.derivation == Some(candidate.derivation)
    }

    /// Returns `true` if the words name no other direction and no other order.
    pub(super) fn admits(&self, candidate: &Candidate) -> bool {
        self.admits_direction(candidate) && self.admits_order(candidate)
    }

    /// Returns `true` if the words name something else than this one.
    pub(super) fn contradicts(&self, candidate: &Candidate, candidates: &Candidates<'_>) -> bool {
        // The largest of several is one of them: it explains a number only where the words speak of it.
        let is_one_of_them =
            matches!(candidate.derivation, Derivation::Smallest | Derivation::Largest | Derivation::Median);
        !self.admits(candidate)
            || self.names_another(candidate, candidates)
            || self.names_other_pass(candidate, candidates)
            || self.names_other_load(candidate, candidates)
            || self.names_other_statistic(candidate, candidates)
            || is_one_of_them && !self.names_derivation_of(candidate)
    }

    /// Returns the fault of a number that is this figure, if the words are about another one.
    pub(super) fn of_another(&self, candidate: &Candidate, candidates: &Candidates<'_>) -> Option<Fault> {
        if !self.contradicts(candidate, candidates) || !self.names_some(candidate.unit, candidates) {
            return None;
        }
        Some(match self.names_other_statistic(candidate, candidates) {
            true => Fault::OtherStatistic,
            false => Fault::OtherPass,
        })
    }

    /// Returns `true` if there is a figure of a whole pass that the words do name.
    fn names_some(&self, unit: Unit, candidates: &Candidates<'_>) -> bool {
        candidates.of_unit(unit).any(|candidate| {
            // Latencies are put into classes: those of two passes may be equal. So their statistic must be named, too.
            let is_meant = match candidate.statistic {
                Some(own) => self.statistic == Some(own),
                None => candidate.is_rate(candidates),
            };
            candidate.derivation == Derivation::Equal && is_meant && !self.contradicts(candidate, candidates)
        })
    }

    /// Returns `true` if the words name another statistic of the latencies, which the tool printed, too.
    fn names_other_statistic(&self, candidate: &Candidate, candidates: &Candidates<'_>) -> bool {
        let (Some(named), Some(own)) = (self.statistic, candidate.statistic) else { return false };
        named != own && candidates.all().iter().any(|other| other.statistic == Some(named))
    }

    /// Returns `true` if the words name a latency and a statistic of which there is a figure.
    pub(super) fn names_statistic_of(&self, candidates: &Candidates<'_>) -> bool {
        let is_figure = |candidate: &Candidate| candidate.statistic == self.statistic && self.admits(candidate);
        self.names_latency && self.statistic.is_some() && candidates.all().iter().any(is_figure)
    }

    /// Returns `true` for a figure of the statistic that they name, in a pass that they may mean.
    pub(super) fn may_mean_latency(&self, candidate: &Candidate, candidates: &Candidates<'_>) -> bool {
        self.statistic.is_some() && candidate.statistic == self.statistic && !self.contradicts(candidate, candidates)
    }

    /// Returns `true` for what is no time, and for a latency of which the words may speak: not each time is one.
    pub(super) fn speaks_of(&self, candidate: &Candidate) -> bool {
        let is_named = self.statistic.is_none() || candidate.statistic == self.statistic;
        !candidate.is_time() || self.names_latency && is_named
    }

    /// Returns `true` if the words name another pass, of the same measurement or not: those of the innermost that name any.
    fn names_other_pass(&self, candidate: &Candidate, candidates: &Candidates<'_>) -> bool {
        self.words.iter().find_map(|words| candidates.names_other_pass(words, candidate)).unwrap_or(false)
    }

    /// Returns `true` if the words name the load of another pass.
    fn names_other_load(&self, candidate: &Candidate, candidates: &Candidates<'_>) -> bool {
        self.load != Load::default()
            && candidates.loads.iter().any(|other| self.load.names_other(candidate.load, *other))
    }

    fn admits_direction(&self, candidate: &Candidate) -> bool {
        match (self.one_way(), candidate.direction) {
            (Some(named), Some(Direction::Read | Direction::Write)) => Some(named) == candidate.direction,
            _ => true,
        }
    }

    fn admits_order(&self, candidate: &Candidate) -> bool {
        self.order.is_none() || candidate.order.is_none() || self.order == candidate.order
    }

    /// Returns the only direction that the words name.
    fn one_way(&self) -> Option<Direction> {
        self.direction.filter(|direction| matches!(direction, Direction::Read | Direction::Write))
    }

    /// Returns what the words conceal of a number that each of these explains.
    pub(super) fn concealed(&self, honest: &[&Candidate], candidates: &Candidates<'_>) -> Option<Fault> {
        let adds_both =
            |candidate: &&Candidate| candidate.derivation == Derivation::Sum && candidate.direction.is_none();
        if honest.iter().all(adds_both) {
            // The size of a file is as much as was read and written of it together.
            let is_rate = honest.iter().all(|candidate| candidate.is_rate(candidates));
            let is_silent = is_rate && (!self.says_both || self.one_way().is_some());
            return is_silent.then_some(Fault::AddedDirections);
        }
        if self.names_best || !honest.iter().all(|candidate| candidate.derivation == Derivation::Equal) {
            return None;
        }
        let names_it = |candidate: &&&Candidate| self.named(candidates) == candidate.measurement;
        if honest.iter().any(|candidate| self.named(candidates).is_some() && names_it(&candidate)) {
            return None;
        }
        match self.derivation {
            None => {
                let best = candidates.best_of(honest.first()?, 3)?;
                (!best.is_last).then_some(Fault::BestOfSeveral)
            }
            Some(Derivation::Mean | Derivation::Median) => {
                let best = match candidates.best_of(honest.first()?, 2) {
                    // Figures of short runs are often equal: what is also that of a run of another command.
                    None if self.names_runs => honest.iter().find_map(|one| candidates.best_of(one, 2))?,
                    best => best?,
                };
                // fio calls the rate of one run an average, too.
                (self.names_runs || best.of > 2 && !best.is_last).then_some(Fault::OtherSummary)
            }
            Some(_) => None,
        }
    }

    /// Returns `true` if the words name the pass of one other measurement.
    fn names_another(&self, candidate: &Candidate, candidates: &Candidates<'_>) -> bool {
        self.named(candidates).is_some_and(|only| candidate.measurement.is_some_and(|number| number != only))
    }

    /// Returns the only measurement that the words name by its pass: those of the innermost that name any.
    fn named(&self, candidates: &Candidates<'_>) -> Option<u32> {
        let named = |words: &BTreeSet<String>| -> BTreeSet<u32> {
            words.iter().filter_map(|word| candidates.words.get(word)).copied().collect()
        };
        let named = self.words.iter().map(named).find(|named| !named.is_empty())?;
        let mut named = named.into_iter();
        named.next().filter(|_| named.next().is_none())
    }
}

/// Returns how words say that a number was computed from several.
fn derivation_of(words: &BTreeSet<String>) -> Option<Derivation> {
    let has = |names: &[&str]| names.iter().any(|name| words.contains(*name));
    Some(if has(SUMS) {
        Derivation::Sum
    } else if has(&["mean", "average", "avg"]) {
        Derivation::Mean
    } else if has(&["median"]) {
        Derivation::Median
    } else if has(&["min", "minimum", "lowest", "slowest", "worst", "least"]) {
        Derivation::Smallest
    } else if has(&["max", "maximum", "highest", "fastest", "best", "peak", "top"]) {
        Derivation::Largest
    } else {
        return None;
    })
}

/// Returns the statistic of latencies that a text names, if it names one: `p99`, `99.9th`, `avg`.
fn only_statistic(text: &str) -> Option<Statistic> {
    let text = text.to_lowercase();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '.').map(|word| word.trim_matches('.'));
    let named = words.filter_map(|word| {
        let percentile = word.strip_prefix('p').or_else(|| word.strip_suffix("th"));
        let is_number = |text: &&str| text.starts_with(|c: char| c.is_ascii_digit()) && text.parse::<f64>().is_ok();
        Some(match (word, percentile.filter(is_number)) {
            ("mean" | "avg" | "average", _) => Statistic::Mean,
            ("median", _) | (_, Some("50" | "50.0" | "50.00")) => Statistic::P50,
            (_, Some("95" | "95.0" | "95.00")) => Statistic::P95,
            (_, Some("99" | "99.0" | "99.00")) => Statistic::P99,
            (_, Some("99.9" | "99.90" | "999")) => Statistic::P999,
            ("max" | "maximum" | "worst" | "slowest", _) => Statistic::Max,
            ("min" | "minimum" | "best" | "fastest" | "stddev" | "stdev" | "deviation", _) | (_, Some(_)) => {
                Statistic::Other
            }
            _ => return None,
        })
    });
    let named: BTreeSet<Statistic> = named.collect();
    let mut named = named.into_iter();
    named.next().filter(|_| named.next().is_none())
}

/// Returns `true` if words name random offsets as well as sequential ones: `random write after a sequential fill`.
fn names_both_orders(words: &BTreeSet<String>) -> bool {
    let names = |order: Order| words.iter().any(|word| order_of(word) == Some(order));
    names(Order::Sequential) && names(Order::Random)
}

/// Returns `true` if words name reads as well as writes.
fn names_both(words: &BTreeSet<String>) -> bool {
    let names = |direction: Direction| words.iter().any(|word| direction_of(word) == Some(direction));
    names(Direction::Read) && names(Direction::Write)
}
