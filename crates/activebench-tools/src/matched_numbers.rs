//! Claims of a program that no adapter knows: printed numbers that agree with one pass of its I/O, and cannot agree by
//! chance.
//!
//! A number agrees with a pass if it differs from the pass's figure by at most 2 % and its printed resolution. It becomes
//! a claim on that pass if the probability of such an agreement by chance is below [`MOST_CHANCE`] for the whole run.
//! Everything else is unverifiable: that a number agrees with no pass may mean that it is about something else, so it
//! refutes nothing.
//!
//! # The chance
//! A number that has nothing to do with the I/O is taken to lie anywhere in [`DECADES`] decades, each ratio equally
//! likely. The figures with which it is compared (of each pass of its direction, each window that the program can have
//! timed, each meaning of its unit) each cover the actual distance to both sides. Their union's share of the decades is
//! the chance of one number. An exact count of bytes or operations has a chance of its own, as sizes are often round.
//! Where another number of the same line or JSON object agrees with the same window, and one is an amount and the other a
//! time or rate, their chances are multiplied, and by the number of pairs that there are: a line is about one thing. All
//! of it is multiplied by the number of numbers that can agree by chance ([`attainable`]). Series of numbers under the
//! same words ([`series`]) and numbers beside a claim ([`beside`]) have parts of the chance for themselves.
//!
//! What a program prints is mostly about most of its I/O. So a number is compared with the main passes first
//! ([`LEAST_OF_MAIN`]), and with all of them then. The larger part of the chance is for the former (a weighted Bonferroni method: Genovese,
//! Roeder, Wasserman, *False discovery control with p-value weighting*, Biometrika 93, 2006).
//!
//! # The time of printing
//! A number is not about what happened after it was printed: a window that ended later is not compared with it. Where
//! several passes agree, one that began after the number before was printed goes before those that a number claimed
//! already. Where numbers of a row were printed together behind as many passes, they are about them in their order.

mod attainable;
mod bare;
mod beside;
mod chance;
mod figures;
mod print_times;
mod row_order;
mod series;
mod statement;
mod subject;

use std::collections::{BTreeMap, BTreeSet};

use activebench_model::claim::{Claim, Metric, NearestPass, Parsed, Subject, Unmatched, UnmatchedNumber};
use activebench_model::direction::Direction;
use activebench_model::observed_pass::{ObservedPass, ObservedWindow};
use activebench_model::output::ToolOutput;
use activebench_model::units::{Quantity, Unit};

use crate::printed_numbers::{Counted, OfTask, PrintedNumber, Reading, printed_numbers};
use crate::stated_claims::{StatedClaim, StatedNumber};
use figures::{fits, targets};
use series::Series;

/// Largest probability, over the whole run, that a number agrees by chance.
pub const MOST_CHANCE: f64 = 0.01;

/// The same of numbers alone: what series and numbers beside claims take for themselves is left out.
const MOST_CHANCE_OF_NUMBER: f64 = MOST_CHANCE * (1.0 - series::SHARE - beside::SHARE);

/// Decades over which a number without a relation to the I/O is taken to be spread.
pub const DECADES: f64 = 6.0;

/// Largest distance beside the printed resolution, as a share of the figure.
const TOLERANCE: f64 = 0.02;

/// Share of the bytes or of the calls of the largest pass from which on a pass is a main one.
const LEAST_OF_MAIN: f64 = 0.1;

/// Part of the chance of a number with which it is compared with the main passes; the rest is for all passes.
const SHARE_OF_MAIN: f64 = 0.6;

/// Distance, as a share, up to which the meaning of a unit is clear, if the other one is at least [`UNCLEAR_BASE`] away.
const CLEAR_BASE: f64 = 0.005;

/// See [`CLEAR_BASE`].
const UNCLEAR_BASE: f64 = 0.015;

/// Distance, as a share, of a pass that does not agree where another one agrees to [`SAME_WINDOW`].
const FAR: f64 = 0.005;

/// Coarsest size that shows the meaning of a unit, as a share: half a printed step.
const FINE_SIZE: f64 = 0.01;

/// Distance, as a share, by which a window may agree less than the best one and be taken for the one that was timed.
const SAME_WINDOW: f64 = 0.001;

/// Lines around a member of a JSON object within which others of its indentation are of its object.
const MOST_OF_OBJECT: u64 = 8;

/// Lines without a gap between them form a block of at most this many numbers.
const MOST_OF_BLOCK: usize = 16;

pub use print_times::PrintTimes;
pub(crate) use print_times::writes_of_stream;

/// What is known of a run beside its passes and output.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The file name of the program.
    pub program: &'a str,
    /// The user's `--subject`.
    pub subject: Option<Subject>,
    /// When the output was printed.
    pub print_times: &'a PrintTimes,
}

/// Claims, and the passes and windows that they are about.
#[derive(Clone, Debug, Default)]
pub struct Matched {
    /// Claims, notes, unmatched numbers.
    pub parsed: Parsed,
    /// The passes with claims, in their order.
    pub phases: Vec<About>,
}

/// What a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct About {
    /// The place of the pass.
    pub pass: usize,
    /// The place of its window.
    pub window: usize,
    /// Calls of one operation.
    pub calls: u64,
    /// The place of a clock of the processes of the pass, if the claim is about each of them over its own time.
    pub each_task: Option<usize>,
}

/// Finds the claims of an output.
pub fn matched(output: &ToolOutput, stated: &[StatedClaim], passes: &[ObservedPass], known: Known<'_>) -> Matched {
    let printed = printed_numbers(output);
    let stated: Vec<StatedNumber> = stated.iter().flat_map(|claim| claim.numbers(output)).collect();
    let is_stated = |number: &PrintedNumber| {
        let same =
            |one: &StatedNumber| one.number.source == number.source && number.printed.text == one.number.printed.text;
        stated.iter().any(same)
    };
    let mut candidates: Vec<Candidate> =
        printed.numbers.into_iter().filter(|number| !is_stated(number)).map(|number| found(number, known)).collect();
    candidates.extend(stated.into_iter().map(|StatedNumber { number, latency }| {
        let metric = latency.or_else(|| metric_of(&number));
        let printed_ns = printed_ns(&number, known);
        Candidate { printed_ns, number, metric, latency, is_stated: true, is_bare: false }
    }));
    candidates.sort_by_key(|candidate| (candidate.number.source.stream != "stdout", candidate.number.source.line));
    // Behind all others: they are beside no number.
    candidates.extend(
        printed.bare.iter().flat_map(bare::meanings).map(|number| Candidate { is_bare: true, ..found(number, known) }),
    );
    settle_units(&mut candidates);
    let is_base_known = keep_base(&mut candidates, &printed.settings, passes);
    let mut matching = Matching::new(&candidates, is_base_known, passes);
    matching.settle();
    matching.report(known, printed.left_out)
}

/// A number that may become a claim.
#[derive(Clone, Debug)]
struct Candidate {
    number: PrintedNumber,
    /// The claim that it would make; `None` for one that only supports others: a time.
    metric: Option<Metric>,
    /// A latency that the user named. It is not compared here.
    latency: Option<Metric>,
    is_stated: bool,
    /// True for one meaning of a number without a unit.
    is_bare: bool,
    /// When it was printed, if that is known.
    printed_ns: Option<u64>,
}

fn found(number: PrintedNumber, known: Known<'_>) -> Candidate {
    let (metric, printed_ns) = (metric_of(&number), printed_ns(&number, known));
    Candidate { metric, number, latency: None, is_stated: false, is_bare: false, printed_ns }
}

fn printed_ns(number: &PrintedNumber, known: Known<'_>) -> Option<u64> {
    known.print_times.at(&number.source.stream, number.printed_bytes)
}

/// Returns the metric of a number; `None` for one that no pass has a figure for.
fn metric_of(number: &PrintedNumber) -> Option<Metric> {
    match (number.unit, number.counted) {
        (_, Counted::Syncs) => None,
        _ if number.is_mean_of_several => None,
        (Unit::BytesPerSec, _) => Some(match number.of_task {
            Some(OfTask::Min) => Metric::MinTaskThroughput,
            Some(OfTask::Max) => Metric::MaxTaskThroughput,
            Some(OfTask::Mean) => Metric::MeanTaskThroughput,
            None => Metric::Throughput,
        }),
        (Unit::OpsPerSec, _) => Some(Metric::OperationRate),
        (Unit::Ns, Counted::PerOperation) => Some(Metric::TimePerOperation),
        (Unit::Bytes, _) if !number.is_statistic => Some(Metric::BytesMoved),
        (Unit::Count, Counted::Files | Counted::Creates | Counted::Deletes) => None,
        (Unit::Count, _) if !number.is_statistic => Some(Metric::OperationsDone),
        _ => None,
    }
}

fn is_rate(metric: Option<Metric>) -> bool {
    metric.is_some_and(|metric| metric.is_rate(false) || metric.is_latency())
}

/// A figure of a pass with which a number is compared.
#[derive(Clone, Copy, Debug)]
struct Target {
    pass: usize,
    window: usize,
    /// Calls of one operation.
    calls: u64,
    /// The place of a clock of the processes, for a figure of each of them over its own time.
    each_task: Option<usize>,
    value: f64,
    /// The share by which it can be wrong.
    unsure: f64,
}

/// Figures that numbers are compared with, and those that agree.
struct View {
    /// The number of figures to compare with, by candidate.
    targets: Vec<usize>,
    /// Figures that agree, by candidate.
    fits: Vec<Vec<Fit>>,
    /// The chance of each candidate alone.
    alone: Vec<f64>,
    /// The least chance that each candidate could have alone, at the smallest distance; `None` without a figure.
    least: Vec<Option<f64>>,
}

/// A view in which a number is looked for.
struct Look<'a> {
    view: &'a View,
    /// The inverse of its part of the chance of a number.
    factor: f64,
    /// All passes, where the view has the main ones alone.
    wider: Option<&'a View>,
}

impl View {
    /// Compares each number with what happened after a time: with all passes, and with the main ones.
    fn both(candidates: &[Candidate], passes: &[ObservedPass], since: impl Fn(&Candidate) -> Option<u64>) -> [Self; 2] {
        let all: Vec<Vec<Target>> = candidates.iter().map(|one| targets(one, passes, since(one))).collect();
        let is_main = main_passes(passes);
        let of_main = |targets: &Vec<Target>| targets.iter().filter(|one| is_main[one.pass]).copied().collect();
        let main: Vec<Vec<Target>> = all.iter().map(of_main).collect();
        [Self::of(candidates, &all), Self::of(candidates, &main)]
    }

    fn of(candidates: &[Candidate], targets: &[Vec<Target>]) -> Self {
        let fits: Vec<Vec<Fit>> =
            candidates.iter().zip(targets).map(|(one, targets)| fits(&one.number, targets)).collect();
        let values = |targets: &Vec<Target>| targets.iter().map(|target| target.value).collect::<Vec<f64>>();
        let alone = candidates.iter().zip(targets).zip(&fits).map(|((one, targets), fits)| {
            let distance = fits.iter().map(|fit| fit.distance).fold(f64::MAX, f64::min);
            chance::of_number(&one.number, &values(targets), distance)
        });
        let least = candidates
            .iter()
            .zip(targets)
            .map(|(one, targets)| (!targets.is_empty()).then(|| chance::of_number(&one.number, &values(targets), 0.0)));
        Self { targets: targets.iter().map(Vec::len).collect(), alone: alone.collect(), least: least.collect(), fits }
    }
}

/// Returns which passes are main ones: those with a tenth of the bytes or of the calls of the largest pass.
fn main_passes(passes: &[ObservedPass]) -> Vec<bool> {
    let largest = |of: fn(&ObservedPass) -> u64| passes.iter().map(of).fold(0, u64::max) as f64;
    let (bytes, calls) = (largest(|pass| pass.bytes), largest(|pass| pass.calls));
    let is_main = |pass: &ObservedPass| {
        pass.bytes > 0 && pass.bytes as f64 >= LEAST_OF_MAIN * bytes || pass.calls as f64 >= LEAST_OF_MAIN * calls
    };
    passes.iter().map(is_main).collect()
}

/// Settles the units of rates by the amounts and times of their lines.
fn settle_units(candidates: &mut [Candidate]) {
    let mut of_lines: BTreeMap<(&str, u64), Vec<usize>> = BTreeMap::new();
    for (place, candidate) in candidates.iter().enumerate().filter(|(_, candidate)| !candidate.is_bare) {
        let source = &candidate.number.source;
        of_lines.entry((&source.stream, source.line)).or_default().push(place);
    }
    let lines: Vec<Vec<usize>> = of_lines.into_values().filter(|line| line.len() <= MOST_OF_BLOCK).collect();
    for line in lines {
        statement::settle_units(candidates, &line);
    }
}

/// Leaves out readings of units as powers of another base than the one of the output. Returns true if that one is known.
fn keep_base(candidates: &mut [Candidate], settings: &[Vec<Reading>], passes: &[ObservedPass]) -> bool {
    let amounts = candidates.iter().filter(|one| one.number.unit == Unit::Bytes).map(|one| &one.number.readings);
    let base = base_of_units(amounts.chain(settings), passes);
    for candidate in candidates.iter_mut() {
        candidate.number.readings.retain(|one| base.is_none() || one.is_binary.is_none() || one.is_binary == base);
    }
    base.is_some()
}

/// Returns true if the output's `k` and `M` are powers of 1024, as sizes show that are those of a pass, of one of its files
/// or of its calls; `None` where they show neither or both.
fn base_of_units<'a>(sizes: impl Iterator<Item = &'a Vec<Reading>>, passes: &[ObservedPass]) -> Option<bool> {
    let of_pass = |pass: &ObservedPass| {
        let shares = [Some(pass.bytes), pass.bytes.checked_div(pass.opens), pass.bytes.checked_div(pass.calls)];
        shares.into_iter().flatten().filter(|bytes| *bytes > 0)
    };
    let amounts: BTreeSet<u64> = passes.iter().flat_map(of_pass).collect();
    let is_one = |reading: &&Reading| {
        let is_fine = reading.resolution <= reading.value * FINE_SIZE;
        let least = (reading.value - reading.resolution).ceil() as u64;
        let next = amounts.range(least..).next();
        is_fine && next.is_some_and(|amount| *amount as f64 <= reading.value + reading.resolution)
    };
    let shown = |readings: &Vec<Reading>| {
        let mut bases = readings.iter().filter(is_one).map(|reading| reading.is_binary);
        bases.next().flatten().filter(|one| bases.all(|other| other == Some(*one)))
    };
    let mut shown: Vec<bool> = sizes.filter_map(shown).collect();
    shown.sort_unstable();
    shown.dedup();
    if let [one] = shown[..] { Some(one) } else { None }
}

/// A figure that agrees with a number.
#[derive(Clone, Copy, Debug)]
struct Fit {
    target: Target,
    reading: Reading,
    /// |printed / figure - 1|.
    distance: f64,
}

/// What became of a candidate.
#[derive(Clone, Debug)]
enum Outcome {
    /// It is a claim.
    Claim { fit: Fit, chance: f64, bytes: Option<u64> },
    /// It agrees with the pass of another number, and is none itself.
    Support,
    /// It is not a claim, with the reason.
    Open(String),
}

/// A pass that a number agrees with.
struct Agreeing {
    pass: usize,
    fit: Fit,
    /// The chance, before the number of tests.
    chance: f64,
    /// All agreements with the pass.
    of_pass: Vec<Fit>,
}

struct Matching<'a> {
    candidates: &'a [Candidate],
    passes: &'a [ObservedPass],
    /// What happened between the number printed before and a number, and of it the main passes.
    new: View,
    new_main: View,
    /// All that happened before a number was printed, and of it the main passes.
    all: View,
    all_main: View,
    /// When the number before the last I/O was printed, by candidate.
    since: Vec<Option<u64>>,
    /// The passes that a candidate can be about by its place in a row; `None` for all.
    in_row: Vec<Option<Vec<usize>>>,
    /// True if the output shows whether its `k` is 1000 or 1024.
    is_base_known: bool,
    outcomes: Vec<Outcome>,
    /// Numbers under the same words.
    series: Vec<Series>,
    /// The least chance that each candidate can have, before the number of numbers; `None` where it is compared with
    /// nothing.
    attainable: Vec<Option<f64>>,
    /// Numbers that may agree by chance: found ones, stated ones.
    tests: [f64; 2],
    /// First candidate of each block.
    blocks: Vec<std::ops::Range<usize>>,
}

impl<'a> Matching<'a> {
    fn new(candidates: &'a [Candidate], is_base_known: bool, passes: &'a [ObservedPass]) -> Self {
        let with_units = candidates.iter().filter(|one| !one.is_bare);
        let mut times: Vec<u64> = with_units.filter_map(|one| one.printed_ns).collect();
        times.sort_unstable();
        let mut ends: Vec<u64> = passes.iter().map(|pass| pass.windows[0].end_ns).collect();
        ends.sort_unstable();
        let last = |of: &[u64], until_ns: u64| of[..of.partition_point(|at_ns| *at_ns <= until_ns)].last().copied();
        // What is printed without I/O between it is printed together.
        let before = |one: &Candidate| last(&times, last(&ends, one.printed_ns?)?);
        // Without an earlier number nothing is new.
        let [new, new_main] = View::both(candidates, passes, |one| Some(before(one).unwrap_or(u64::MAX)));
        let [all, all_main] = View::both(candidates, passes, |_| None);
        let outcomes = candidates.iter().map(|_| Outcome::Open(String::new())).collect();
        let since: Vec<Option<u64>> = candidates.iter().map(before).collect();
        let in_row = row_order::of_rows(candidates, passes, &since);
        let blocks = blocks(candidates);
        let (series, attainable, tests) = (series::of_words(candidates), Vec::new(), [1.0; 2]);
        Self {
            candidates,
            passes,
            new,
            new_main,
            all,
            all_main,
            since,
            in_row,
            is_base_known,
            outcomes,
            series,
            attainable,
            tests,
            blocks,
        }
    }

    /// Decides on each candidate, then chooses one window for each pass where one is enough.
    fn settle(&mut self) {
        self.find_related();
        self.attainable = (0..self.candidates.len()).map(|place| self.attainable_of(place)).collect();
        // Each number that is a claim is one less that may agree by chance (Holm).
        loop {
            self.tests = self.count_tests();
            let before = self.claims();
            for place in 0..self.candidates.len() {
                if !self.is_claim(place) {
                    self.outcomes[place] = self.decided(place);
                }
            }
            if self.claims() == before && !self.claim_together() {
                break;
            }
        }
        self.let_claims_speak();
        self.keep_one_meaning();
        self.unite_windows();
        self.let_finest_speak();
        self.find_supporting();
    }

    fn decided(&self, place: usize) -> Outcome {
        let candidate = &self.candidates[place];
        if candidate.latency.is_some() {
            return self.of_latency(candidate);
        }
        let Some(metric) = candidate.metric else {
            let why = match candidate.number.counted {
                Counted::Syncs => "syncs are not compared with a number that no adapter reads",
                Counted::Files | Counted::Creates | Counted::Deletes => {
                    "files are not compared with a number that no adapter reads"
                }
                _ if candidate.number.is_mean_of_several => "a mean of several is the figure of no pass",
                _ if candidate.number.is_statistic => "a statistic of single operations (hint: `--claim` says which)",
                _ => "a time alone says nothing of the I/O",
            };
            return Outcome::Open(why.to_owned());
        };
        let outcomes = self.looks(place).into_iter().map(|look| self.decided_in(place, metric, &look));
        outcomes
            .reduce(|one, other| if matches!(one, Outcome::Claim { .. }) { one } else { other })
            .unwrap_or_else(|| Outcome::Open("no pass has this figure".to_owned()))
    }

    /// Returns with what a number is compared: with what happened since the number before, then with all; and of each with
    /// the main passes first. Each has its part of the chance.
    fn looks(&self, place: usize) -> Vec<Look<'_>> {
        let (new, all) = (self.new.targets[place], self.all.targets[place]);
        let is_of_series = self.series.iter().any(|one| one.is_related && one.places.contains(&place));
        let views = match new {
            0 => vec![(&self.all, &self.all_main)],
            _ if new == all || is_of_series || self.continues_line(place) => vec![(&self.new, &self.new_main)],
            _ => vec![(&self.new, &self.new_main), (&self.all, &self.all_main)],
        };
        let number = views.len() as f64;
        let mut looks = Vec::new();
        for (view, main) in views {
            let has_main = (1..view.targets[place]).contains(&main.targets[place]);
            if has_main {
                looks.push(Look { view: main, factor: number / SHARE_OF_MAIN, wider: Some(view) });
            }
            let rest = if has_main { 1.0 - SHARE_OF_MAIN } else { 1.0 };
            looks.push(Look { view, factor: number / rest, wider: None });
        }
        looks
    }

    fn decided_in(&self, place: usize, metric: Metric, look: &Look<'_>) -> Outcome {
        let candidate = &self.candidates[place];
        let (pass, fit, chance, of_pass) = match self.agreeing(place, look.view) {
            Ok(Agreeing { pass, fit, chance, of_pass }) => (pass, fit, chance, of_pass),
            Err(why) => return Outcome::Open(why),
        };
        let chance = (chance * look.factor * self.tests[usize::from(candidate.is_stated)]).min(1.0);
        if chance >= MOST_CHANCE_OF_NUMBER {
            return Outcome::Open(format!(
                "it agrees with {}, but by chance with a probability of {}",
                self.passes[pass].name,
                percent(chance)
            ));
        }
        if self.is_measured_in_parts(place, &fit, look.view) {
            let why = "figures were printed in the middle of the pass that it agrees with, and it may be about a part";
            return Outcome::Open(why.to_owned());
        }
        if let Some(nearer) = look.wider.and_then(|wider| self.nearer_elsewhere(place, &fit, wider)) {
            return Outcome::Open(format!(
                "2 passes agree with it: {}, {}",
                self.passes[pass].name, self.passes[nearer].name
            ));
        }
        if !self.is_base_known && has_other_base(&fit, &candidate.number, of_pass.iter()) {
            let why = "its unit may be a power of 1000 or of 1024, and nothing shows which";
            return Outcome::Open(why.to_owned());
        }
        let bytes = match metric {
            Metric::BytesMoved => None,
            _ => self.bytes_beside(place, pass),
        };
        Outcome::Claim { fit, chance, bytes }
    }

    /// Returns true for a rate in whose pass the program printed others: it measures parts, and the rate of a part is nearly
    /// that of the whole. An amount or a time beside the rate says which it is, and so does the time of the whole
    /// (`total time: 3.0091s`) that was printed with it.
    fn is_measured_in_parts(&self, place: usize, fit: &Fit, view: &View) -> bool {
        let candidate = &self.candidates[place];
        let span = &self.passes[fit.target.pass].windows[fit.target.window];
        let is_inside = |other: &Candidate| {
            other.metric == candidate.metric
                && other.printed_ns.is_some_and(|at_ns| at_ns > span.start_ns && at_ns < span.end_ns)
        };
        let is_time_of_it = |other: usize| {
            let one = &self.candidates[other];
            is_time(&one.number)
                && self.since[other] == self.since[place]
                && view.fits[other].iter().any(|time| {
                    // `cleanup 3 sec` does not say which of several times of about 3 s it is.
                    time.reading.resolution <= TOLERANCE * time.reading.value
                        && is_same_window(&time.target, &fit.target, Unit::Ns)
                })
        };
        is_rate(candidate.metric)
            && self.candidates.iter().any(is_inside)
            && self.supported(place, fit, view).1 == 0
            && !(0..self.candidates.len()).any(is_time_of_it)
    }

    /// Returns another pass that a number agrees with more closely.
    fn nearer_elsewhere(&self, place: usize, best: &Fit, view: &View) -> Option<usize> {
        let own = best.target.pass;
        let is_own = |other: usize| {
            other == own || self.is_same(other, own) || self.is_inside(other, own) || self.is_inside(own, other)
        };
        let nearer = view.fits[place].iter().filter(|fit| fit.distance < best.distance && !is_own(fit.target.pass));
        nearer.map(|fit| fit.target.pass).next()
    }

    /// Finds the pass that a number agrees with.
    ///
    /// # Errors
    /// Why there is none.
    fn agreeing(&self, place: usize, view: &View) -> Result<Agreeing, String> {
        let fits = &view.fits[place];
        if fits.is_empty() {
            return Err("no pass has this figure".to_owned());
        }
        let is_in_row = |fit: &&Fit| self.in_row[place].as_ref().is_none_or(|own| own.contains(&fit.target.pass));
        let fits: Vec<Fit> = fits.iter().filter(is_in_row).copied().collect();
        if fits.is_empty() {
            return Err("the pass in its place of the row has another figure".to_owned());
        }
        let row_ns = self.row_above(place);
        let is_new = |fit: &Fit| {
            row_ns.is_none_or(|at_ns| self.passes[fit.target.pass].windows[fit.target.window].end_ns > at_ns)
        };
        let fits: Vec<Fit> = fits.into_iter().filter(is_new).collect();
        if fits.is_empty() {
            return Err("a pass has this figure that ended before the number above it was printed".to_owned());
        }
        let with_time = self.with_time_of_line(place, &fits, view);
        if with_time.is_empty() {
            return Err("a pass has this figure, and another time than its line".to_owned());
        }
        let own = self.own_fits(place, &with_time, view);
        let mut passes: Vec<usize> = own.iter().map(|(fit, _)| fit.target.pass).collect();
        passes.sort_unstable();
        passes.dedup();
        self.leave_out_claimed(place, &mut passes);
        self.keep_clearest(&own, &mut passes);
        let distinct = self.outermost(&passes);
        let distinct = self.nearest_of_same(&own, distinct);
        // What is a part of the pass and has its figure may be meant as well.
        let is_rival = |pass: &usize| !distinct.contains(pass) && !self.is_same(*pass, distinct[0]);
        let rivals: Vec<usize> = passes.iter().copied().filter(is_rival).collect();
        let ([pass], []) = (&distinct[..], &rivals[..]) else {
            let all: Vec<usize> = distinct.into_iter().chain(rivals).collect();
            let names: Vec<&str> = all.iter().take(3).map(|pass| self.passes[*pass].name.as_str()).collect();
            return Err(format!("{} passes agree with it: {}", all.len(), names.join(", ")));
        };
        let pass = *pass;
        let best = own.iter().filter(|(fit, _)| fit.target.pass == pass).min_by(|(one, _), (other, _)| {
            let key = |fit: &Fit| {
                // What the printed digits cannot distinguish is the same; a sync inside is the milder reading.
                let printed = fit.reading.resolution / fit.reading.value;
                (fit.distance.max(printed), !self.passes[pass].windows[fit.target.window].has_sync)
            };
            let ((one, mild), (other, milder)) = (key(one), key(other));
            one.total_cmp(&other).then(mild.cmp(&milder))
        });
        let Some((fit, chance)) = best.copied() else { return Err("no pass has this figure".to_owned()) };
        let of_pass = own.iter().map(|(fit, _)| *fit).filter(|fit| fit.target.pass == pass).collect();
        Ok(Agreeing { pass, fit, chance, of_pass })
    }

    /// Leaves out passes that are nearly the same as one that agrees better. Of a copy it leaves out the read: its figure
    /// is that of both, and only the write can be missing from the storage afterwards.
    fn nearest_of_same(&self, own: &[(Fit, f64)], mut passes: Vec<usize>) -> Vec<usize> {
        passes.sort_by(|one, other| {
            let is_read = |pass: usize| self.passes[pass].direction == Direction::Read;
            let by_distance = distance_of(own, *one).total_cmp(&distance_of(own, *other));
            is_read(*one).cmp(&is_read(*other)).then(by_distance)
        });
        let mut kept: Vec<usize> = Vec::new();
        for pass in passes {
            if !kept.iter().any(|known| self.is_same(pass, *known)) {
                kept.push(pass);
            }
        }
        kept
    }

    /// Keeps the pass that agrees as closely as a clock and the printed digits allow, if all others are further away.
    fn keep_clearest(&self, own: &[(Fit, f64)], passes: &mut Vec<usize>) {
        let distance = |pass: usize| distance_of(own, pass);
        let Some(best) = passes.iter().copied().min_by(|one, other| distance(*one).total_cmp(&distance(*other))) else {
            return;
        };
        let least = distance(best);
        let is_far = |pass: &usize| self.is_same(*pass, best) || distance(*pass) >= FAR.max(least * 5.0);
        if least <= SAME_WINDOW && passes.iter().all(is_far) {
            passes.retain(|pass| self.is_same(*pass, best));
        }
    }

    /// Returns true if two passes are nearly the same: as much in the same time.
    fn is_same(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.passes[one], &self.passes[other]);
        let is_near = |one: u64, other: u64| one.abs_diff(other) as f64 <= TOLERANCE * one.max(other) as f64;
        let (own, others) = (&one.windows[0], &other.windows[0]);
        let together = own.end_ns.min(others.end_ns).saturating_sub(own.start_ns.max(others.start_ns));
        let longest = own.duration_ns().max(others.duration_ns());
        // Without its first call, with which programs warm up.
        let is_without_first = own.end_ns == others.end_ns && one.calls.abs_diff(other.calls) == 1;
        one.names == other.names
            && is_near(one.bytes, other.bytes)
            && is_near(one.calls, other.calls)
            && (is_near(together, longest) || is_without_first)
    }

    /// Returns when the number above was printed, under the same words and with I/O behind it: a line that is printed after
    /// each test is about something new. `None` without such a number, and for a figure that is printed again.
    fn row_above(&self, place: usize) -> Option<u64> {
        let since_ns = self.since[place]?;
        let series = self.series.iter().find(|one| one.places.contains(&place))?;
        let is_above = |other: &&usize| self.candidates[**other].printed_ns.is_some_and(|at_ns| at_ns <= since_ns);
        let mut above = series.places.iter().filter(is_above).peekable();
        let own = &self.candidates[place].number.readings;
        let is_new_figure = |other: &usize| self.candidates[*other].number.readings != *own;
        (above.peek().is_some() && above.all(is_new_figure)).then_some(since_ns)
    }

    /// Returns true if a number of its line was printed before the last I/O: the tests of a row follow each other.
    fn continues_line(&self, place: usize) -> bool {
        let own = &self.candidates[place].number.source;
        let is_earlier = |other: &Candidate| {
            let source = &other.number.source;
            (source.line, &source.stream) == (own.line, &own.stream)
                && other.printed_ns.is_some_and(|at_ns| self.since[place].is_some_and(|since_ns| at_ns <= since_ns))
        };
        self.candidates[..place].iter().rev().take(MOST_OF_BLOCK).any(is_earlier)
    }

    /// Leaves out passes that a number claimed which was printed before one of the others began.
    fn leave_out_claimed(&self, place: usize, passes: &mut Vec<usize>) {
        let candidate = &self.candidates[place];
        let Some(since_ns) = self.since[place] else { return };
        let before = (self.candidates.iter().zip(&self.outcomes))
            .filter(|(other, _)| other.printed_ns.is_some_and(|at_ns| at_ns <= since_ns));
        let is_new = |pass: &usize| self.passes[*pass].windows[0].start_ns >= since_ns;
        if !passes.iter().any(is_new) {
            return;
        }
        let claimed: Vec<usize> = before
            .filter(|(other, _)| other.metric == candidate.metric)
            .filter_map(|(_, outcome)| match outcome {
                Outcome::Claim { fit, .. } => Some(fit.target.pass),
                _ => None,
            })
            .collect();
        let is_claimed = |pass: usize| claimed.iter().any(|one| *one == pass || self.is_inside(*one, pass));
        passes.retain(|pass| is_new(pass) || !is_claimed(*pass));
    }

    /// Returns true if a pass is a part of another one.
    fn is_inside(&self, pass: usize, around: usize) -> bool {
        std::iter::successors(self.passes[pass].parent, |at| self.passes[*at].parent).any(|at| at == around)
    }

    /// A latency that the user named is about all operations of its direction.
    fn of_latency(&self, candidate: &Candidate) -> Outcome {
        let is_of = |pass: &ObservedPass| Some(pass.direction) == candidate.number.direction;
        let outermost = (0..self.passes.len()).rev().find(|place| is_of(&self.passes[*place]));
        let (Some(pass), Some(reading)) = (outermost, candidate.number.readings.first()) else {
            return Outcome::Open("no pass has this direction".to_owned());
        };
        let target = Target { pass, window: 0, calls: 1, each_task: None, value: reading.value, unsure: 0.0 };
        Outcome::Claim { fit: Fit { target, reading: *reading, distance: 0.0 }, chance: 0.0, bytes: None }
    }

    /// Returns the fits of a rate that a time of its line agrees with, if the line states an amount and times.
    fn with_time_of_line(&self, place: usize, fits: &[Fit], view: &View) -> Vec<Fit> {
        let candidate = &self.candidates[place];
        let source = &candidate.number.source;
        let is_beside = |other: &usize| {
            let one = &self.candidates[*other];
            one.number.source.line == source.line && one.number.source.stream == source.stream
        };
        let beside: Vec<usize> = (0..self.candidates.len()).filter(is_beside).collect();
        let is_time = |other: &&usize| is_time(&self.candidates[**other].number);
        let has_amount = beside.iter().any(|other| is_amount(self.candidates[*other].number.unit));
        let times: Vec<&usize> = beside.iter().filter(is_time).collect();
        if times.is_empty() || !has_amount || is_amount(candidate.number.unit) {
            return fits.to_vec();
        }
        let of_times = times.iter().flat_map(|time| &view.fits[**time]);
        let agrees = |fit: &&Fit| of_times.clone().any(|one| is_same_window(&one.target, &fit.target, Unit::Ns));
        fits.iter().filter(agrees).copied().collect()
    }

    /// Returns the fits of a candidate that other numbers support most, each with its chance before the number of lines.
    fn own_fits(&self, place: usize, fits: &[Fit], view: &View) -> Vec<(Fit, f64)> {
        let with: Vec<(Fit, f64, usize)> = fits
            .iter()
            .map(|fit| {
                let (supported, supporters) = self.supported(place, fit, view);
                let is_other = self.states_other_amount(place, fit, view);
                (*fit, if is_other { 1.0 } else { supported.min(view.alone[place]) }, supporters)
            })
            .collect();
        let most = with.iter().map(|(_, _, supporters)| *supporters).max().unwrap_or(0);
        with.into_iter()
            .filter(|(_, _, supporters)| *supporters == most)
            .map(|(fit, chance, _)| (fit, chance))
            .collect()
    }

    /// Returns the places of the numbers on the line of a candidate, or of the members of its JSON object near it.
    fn line_of(&self, place: usize) -> Vec<usize> {
        let own = &self.candidates[place].number.source;
        let object = indent_of_member(&own.text);
        let is_beside = |other: &usize| {
            let source = &self.candidates[*other].number.source;
            let is_of_object = object.is_some()
                && indent_of_member(&source.text) == object
                && source.line.abs_diff(own.line) <= MOST_OF_OBJECT;
            source.stream == own.stream && (source.line == own.line || is_of_object)
        };
        let is_bare = self.candidates[place].is_bare;
        (0..self.candidates.len())
            .filter(|other| self.candidates[*other].is_bare == is_bare)
            .filter(is_beside)
            .collect()
    }

    /// Returns true for the rate of a statement whose amount is not that of the pass: then it is about something else.
    fn states_other_amount(&self, place: usize, fit: &Fit, view: &View) -> bool {
        if self.counts_other_files(place, fit, view) {
            return true;
        }
        let statement = statement::around(self.candidates, &self.line_of(place), place);
        statement.is_some_and(|[amount, _, rate]| place == rate && !self.states_amount(amount, fit, view))
    }

    /// Returns true if an amount of a statement is that of the pass of its rate. A program may count a little more or less
    /// than all of its calls ([`TOLERANCE`]).
    fn states_amount(&self, amount: usize, of_rate: &Fit, view: &View) -> bool {
        let Target { pass, calls, .. } = of_rate.target;
        let number = &self.candidates[amount].number;
        let observed = match number.unit {
            Unit::Bytes => self.passes[pass].bytes as f64,
            _ => self.passes[pass].calls as f64 / calls as f64,
        };
        let is_near = |reading: &Reading| (reading.value - observed).abs() <= TOLERANCE * observed + reading.resolution;
        let is_same_base = |reading: &&Reading| reading.is_binary == of_rate.reading.is_binary;
        view.fits[amount].iter().any(|one| one.target.pass == pass)
            || number.readings.iter().filter(is_same_base).any(is_near)
    }

    /// Returns true for a rate of files whose line counts other files than those of the pass. A count that grows from row to
    /// row counts those of all rows before it.
    fn counts_other_files(&self, place: usize, fit: &Fit, view: &View) -> bool {
        let rate = &self.candidates[place].number;
        if rate.unit != Unit::OpsPerSec || rate.counted != Counted::Files {
            return false;
        }
        let is_count = |other: &usize| {
            let one = &self.candidates[*other].number;
            one.unit == Unit::Count && one.counted == rate.counted
        };
        let value = |other: usize| self.candidates[other].number.readings.first().map_or(0.0, |one| one.value);
        let observed = &self.passes[fit.target.pass];
        let files = if observed.names.is_some() { observed.calls } else { observed.opens } as f64;
        let is_of_pass = |other: usize| {
            let text = &self.candidates[other].number.printed.unit;
            let mut before = (0..other).rev().filter(is_count);
            let before = before.find(|earlier| self.candidates[*earlier].number.printed.unit == *text);
            view.fits[other].iter().any(|one| one.target.pass == fit.target.pass)
                || before.is_some_and(|before| value(other) - value(before) == files)
        };
        let counts: Vec<usize> = self.line_of(place).into_iter().filter(is_count).collect();
        !counts.is_empty() && !counts.into_iter().any(is_of_pass)
    }

    /// Returns the chance of a fit together with the numbers beside it that agree with the same window, and whether any
    /// of another kind does.
    fn supported(&self, place: usize, fit: &Fit, view: &View) -> (f64, usize) {
        let line = self.line_of(place);
        let mut least = (1.0_f64, 0);
        // The other numbers of a statement are chosen by what was printed, not by what agrees.
        if let Some([amount, time, rate]) = statement::around(self.candidates, &line, place) {
            let agrees =
                |other: usize| view.fits[other].iter().any(|one| is_same_window(&one.target, &fit.target, Unit::Ns));
            let states_amount = self.states_amount(amount, fit, view);
            // A statement of another amount is about something else.
            if place == rate && !states_amount {
                return (1.0, 0);
            }
            if place == rate && agrees(time) {
                let chance = self.chance_in(time, fit, view) * self.chance_in(rate, fit, view);
                least = (chance, 2 * MOST_OF_BLOCK + 2);
            }
        }
        let agreeing = line.iter().copied().filter(|other| {
            *other == place
                || view.fits[*other]
                    .iter()
                    .any(|one| is_same_window(&one.target, &fit.target, self.candidates[*other].number.unit))
        });
        let (mut amount, mut rate) = (None::<f64>, None::<f64>);
        let mut others = 0;
        for other in agreeing {
            others += usize::from(self.candidates[other].number.unit != self.candidates[place].number.unit);
            let kind = if is_amount(self.candidates[other].number.unit) { &mut amount } else { &mut rate };
            let chance = self.chance_in(other, fit, view);
            *kind = Some(kind.map_or(chance, |known| known.min(chance)));
        }
        if let (Some(amount), Some(rate)) = (amount, rate) {
            let chance = amount * rate * of_pairs(line.len());
            if least.1 == 0 || chance < least.0 {
                least = (chance.min(least.0), least.1.max(2 * MOST_OF_BLOCK + others.min(MOST_OF_BLOCK - 1)));
            }
        }
        least
    }

    /// Returns the chance that a number agrees as closely as it does with the window of a fit. The chance of a number
    /// alone is that of its closest fit, which may be another.
    fn chance_in(&self, place: usize, fit: &Fit, view: &View) -> f64 {
        let number = &self.candidates[place].number;
        let distance = |fits: &mut dyn Iterator<Item = &Fit>| fits.map(|fit| fit.distance).fold(f64::MAX, f64::min);
        let fits = &view.fits[place];
        let closest = distance(&mut fits.iter());
        let here = distance(&mut fits.iter().filter(|one| is_same_window(&one.target, &fit.target, number.unit)));
        chance::further_away(number, view.alone[place], closest, here)
    }

    /// Returns the bytes of a pass if a number beside a candidate states them exactly.
    fn bytes_beside(&self, place: usize, pass: usize) -> Option<u64> {
        let block = self.blocks.iter().find(|block| block.contains(&place))?;
        let states = |other: &usize| {
            let one = &self.candidates[*other].number;
            one.unit == Unit::Bytes
                && self.all.fits[*other].iter().any(|fit| fit.target.pass == pass && fit.distance == 0.0)
        };
        block.clone().find(states).map(|_| self.passes[pass].bytes)
    }

    /// Returns the passes without those that are a part of another one of them. Reads and writes together count only
    /// where neither direction alone does.
    fn outermost(&self, passes: &[usize]) -> Vec<usize> {
        let is_mixed = |pass: usize| self.passes[pass].direction == Direction::Mixed;
        let one_way: Vec<usize> = passes.iter().copied().filter(|pass| !is_mixed(*pass)).collect();
        let passes = if one_way.is_empty() { passes } else { &one_way };
        let is_inside_one = |pass: usize| passes.iter().any(|around| self.is_inside(pass, *around));
        passes.iter().copied().filter(|pass| !is_inside_one(*pass)).collect()
    }

    /// Gives all claims on a pass one window, if one agrees with all of them.
    fn unite_windows(&mut self) {
        let mut by_pass: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (place, outcome) in self.outcomes.iter().enumerate() {
            if let Outcome::Claim { fit, .. } = outcome {
                by_pass.entry(fit.target.pass).or_default().push(place);
            }
        }
        for (pass, places) in by_pass {
            let fit_in = |place: usize, window: usize| {
                let candidate = &self.candidates[place];
                if candidate.latency.is_some() || is_amount(candidate.number.unit) {
                    return Some(0.0);
                }
                let of_pass = || self.all.fits[place].iter().filter(|fit| fit.target.pass == pass);
                let best = of_pass().map(|fit| fit.distance).min_by(f64::total_cmp)?;
                let in_window = of_pass().filter(|fit| fit.target.window == window);
                // Its own window, but for what the printed digits and a clock cannot distinguish.
                let printed = candidate.number.readings.first().map_or(0.0, |one| one.resolution / one.value);
                let most = best + printed + SAME_WINDOW;
                in_window.map(|fit| fit.distance).filter(|distance| *distance <= most).min_by(f64::total_cmp)
            };
            let windows = 0..self.passes[pass].windows.len();
            let all = windows.filter_map(|window| {
                let distances: Option<Vec<f64>> = places.iter().map(|place| fit_in(*place, window)).collect();
                Some((window, distances?.into_iter().sum::<f64>()))
            });
            let Some((window, _)) = all.min_by(|one, other| one.1.total_cmp(&other.1)) else { continue };
            for place in places {
                let of_window = self.all.fits[place].iter();
                let of_window = of_window.filter(|one| one.target.pass == pass && one.target.window == window);
                if let Outcome::Claim { fit, .. } = &mut self.outcomes[place] {
                    let own = of_window.filter(|one| {
                        (one.target.calls, one.target.each_task) == (fit.target.calls, fit.target.each_task)
                            && one.reading.is_binary == fit.reading.is_binary
                    });
                    let nearest = own.min_by(|one, other| one.distance.total_cmp(&other.distance)).copied();
                    fit.target.window = window;
                    if let Some(nearest) = nearest {
                        *fit = nearest;
                    }
                }
            }
        }
    }

    /// Of several numbers of a line for one figure (`1.3 GB, 1.2 GiB`), the finest is the claim.
    fn let_finest_speak(&mut self) {
        let mut finest: BTreeMap<(String, u64, usize, &'static str), (usize, f64)> = BTreeMap::new();
        for place in 0..self.candidates.len() {
            let candidate = &self.candidates[place];
            let (Outcome::Claim { fit, .. }, Some(metric)) = (&self.outcomes[place], candidate.metric) else {
                continue;
            };
            let source = &candidate.number.source;
            let key = (source.stream.clone(), source.line, fit.target.pass, metric.as_str());
            let step = fit.reading.resolution / fit.reading.value;
            match finest.get(&key) {
                Some((_, known)) if *known <= step => self.outcomes[place] = Outcome::Support,
                known => {
                    if let Some((coarse, _)) = known {
                        self.outcomes[*coarse] = Outcome::Support;
                    }
                    finest.insert(key, (place, step));
                }
            }
        }
    }

    /// Times and coarse amounts that agree with a claim beside them need not be listed as open, and a figure that is
    /// claimed already neither.
    fn find_supporting(&mut self) {
        let claims: Vec<(Target, Option<Metric>)> = (self.outcomes.iter().zip(self.candidates))
            .filter_map(|(outcome, candidate)| match outcome {
                Outcome::Claim { fit, .. } => Some((fit.target, candidate.metric)),
                _ => None,
            })
            .collect();
        for place in 0..self.candidates.len() {
            let candidate = &self.candidates[place];
            let again = |fit: &Fit| {
                let same = |(target, metric): &(Target, Option<Metric>)| {
                    *metric == candidate.metric && is_same_window(&fit.target, target, candidate.number.unit)
                };
                claims.iter().any(same)
            };
            let is_open = matches!(self.outcomes[place], Outcome::Open(_));
            if is_open && candidate.metric.is_some() && self.all.fits[place].iter().any(again) {
                self.outcomes[place] = Outcome::Support;
            }
        }
        for block in self.blocks.clone() {
            let claimed: Vec<Target> = block
                .clone()
                .filter_map(|place| match &self.outcomes[place] {
                    Outcome::Claim { fit, .. } => Some(fit.target),
                    _ => None,
                })
                .collect();
            for place in block {
                let unit = self.candidates[place].number.unit;
                let agrees = self.all.fits[place]
                    .iter()
                    .any(|fit| claimed.iter().any(|one| is_same_window(&fit.target, one, unit)));
                if matches!(self.outcomes[place], Outcome::Open(_)) && agrees && !is_rate(self.candidates[place].metric)
                {
                    self.outcomes[place] = Outcome::Support;
                }
            }
        }
    }

    fn report(self, known: Known<'_>, left_out: u64) -> Matched {
        let mut matched = Matched::default();
        let mut unmatched = Unmatched { numbers: Vec::new(), left_out };
        for (place, (candidate, outcome)) in self.candidates.iter().zip(&self.outcomes).enumerate() {
            match outcome {
                Outcome::Support => {}
                // Nothing says that it is a figure at all.
                Outcome::Open(_) if candidate.is_bare => {}
                Outcome::Open(reason) => unmatched.numbers.push(UnmatchedNumber {
                    printed: candidate.number.printed.clone(),
                    is_rate: is_rate(candidate.metric) && !candidate.number.is_extreme || self.is_divisor(place),
                    is_stated: candidate.is_stated,
                    reason: reason.clone(),
                    nearest: self.nearest(candidate),
                    source: candidate.number.source.clone(),
                }),
                Outcome::Claim { fit, chance, bytes } => {
                    let Some(metric) = candidate.metric else { continue };
                    let Target { pass, window, calls, each_task, .. } = fit.target;
                    let observed = &self.passes[pass];
                    let metric = match metric {
                        Metric::Throughput if each_task.is_some() => Metric::SumOfTaskThroughput,
                        metric => metric,
                    };
                    matched.phases.push(About { pass, window, calls, each_task });
                    let (subject, why) = subject::of(&candidate.number, observed, &observed.windows[window], known);
                    let how = match (candidate.latency, candidate.is_stated) {
                        (Some(_), _) => "`--claim` names it".to_owned(),
                        (None, is_stated) => format!(
                            "{}it agrees with this pass to {}, by chance with a probability of {}",
                            if is_stated { "`--claim` names it, and " } else { "" },
                            percent(fit.distance),
                            percent(*chance)
                        ),
                    };
                    matched.parsed.claims.push(Claim {
                        id: format!("c{}", matched.parsed.claims.len() + 1),
                        phase: observed.windows[window]
                            .phase_of(calls, each_task.map(|place| &observed.task_clocks[place])),
                        metric,
                        value: Quantity { value: fit.reading.value, unit: metric.unit() },
                        printed: candidate.number.printed.clone(),
                        resolution: fit.reading.resolution,
                        subject,
                        subject_reason: format!("{why}; {how}"),
                        claimed_bytes: *bytes,
                        source: candidate.number.source.clone(),
                    });
                }
            }
        }
        matched.phases.sort_unstable();
        matched.phases.dedup();
        matched.parsed.complete = true;
        matched.parsed.unmatched = unmatched;
        matched
    }

    /// Returns true for a time that nothing explains in the line of a claimed amount: `200 MiB in 0.1 s` is a rate. A time
    /// that is longer than all that the program can have timed has more in it than the pass, and flatters nobody.
    fn is_divisor(&self, place: usize) -> bool {
        let number = &self.candidates[place].number;
        let line = &number.source;
        if !is_time(number) {
            return false;
        }
        let beside = self
            .line_of(place)
            .into_iter()
            .filter(|other| *other != place && self.candidates[*other].number.source.line == line.line);
        let mut longest_ns = None;
        for other in beside {
            let number = &self.candidates[other].number;
            match &self.outcomes[other] {
                // Another number of the line says what its amount was divided by.
                Outcome::Claim { .. } | Outcome::Support if !is_amount(number.unit) => return false,
                Outcome::Claim { fit, .. } => {
                    let windows = &self.passes[fit.target.pass].windows;
                    longest_ns = longest_ns.max(windows.iter().map(ObservedWindow::duration_ns).max());
                }
                _ => {}
            }
        }
        let is_shorter = |longest_ns: u64| {
            number.readings.iter().all(|time| time.value + time.resolution < longest_ns as f64 * (1.0 - TOLERANCE))
        };
        longest_ns.is_some_and(is_shorter)
    }

    fn nearest(&self, candidate: &Candidate) -> Option<NearestPass> {
        let all = targets(candidate, self.passes, None);
        let with = all.iter().flat_map(|target| candidate.number.readings.iter().map(move |one| (target, one.value)));
        let (target, value) = with.min_by(|(one, value), (other, other_value)| {
            (value / one.value).ln().abs().total_cmp(&(other_value / other.value).ln().abs())
        })?;
        Some(NearestPass {
            pass: self.passes[target.pass].name.clone(),
            observed: Quantity { value: target.value, unit: candidate.number.unit },
            excess: value / target.value - 1.0,
        })
    }
}

/// Returns by how much the chance of a pair grows: by the number of pairs.
fn of_pairs(numbers: usize) -> f64 {
    (numbers * numbers.saturating_sub(1) / 2).max(1) as f64
}

/// Returns the indentation of a member of a JSON object that stands on a line of its own: `  "iops" : 120,`.
fn indent_of_member(text: &str) -> Option<usize> {
    let body = text.trim_start();
    let (_, rest) = body.strip_prefix('"')?.split_once('"')?;
    rest.trim_start().starts_with(':').then_some(text.len() - body.len())
}

/// Returns the distance of a pass that agrees.
fn distance_of(own: &[(Fit, f64)], pass: usize) -> f64 {
    let of_pass = own.iter().filter(|(fit, _)| fit.target.pass == pass);
    of_pass.map(|(fit, _)| fit.distance).fold(f64::MAX, f64::min)
}

/// Returns true for the time that something took as a whole.
fn is_time(number: &PrintedNumber) -> bool {
    number.unit == Unit::Ns && number.counted == Counted::Amount && !number.is_statistic
}

fn is_amount(unit: Unit) -> bool {
    matches!(unit, Unit::Bytes | Unit::Count)
}

/// Returns true if two figures belong to one window; an amount belongs to every window of its pass.
fn is_same_window(of_other: &Target, own: &Target, unit: Unit) -> bool {
    let is_same_clock = (of_other.window, of_other.each_task) == (own.window, own.each_task);
    of_other.pass == own.pass && (is_amount(unit) || is_same_clock)
}

/// Returns true if the unit of a number may have been another one: as powers of 1000 and as powers of 1024 it agrees with
/// figures, and neither clearly better, or it agrees with none closely. 1000 and 1024 differ by 2.4 %, as much as a number may.
fn has_other_base<'a>(best: &Fit, number: &PrintedNumber, all: impl Iterator<Item = &'a Fit>) -> bool {
    let Some(is_binary) = best.reading.is_binary else { return false };
    let is_other = |reading: &Reading| reading.is_binary == Some(!is_binary);
    let ratio = |reading: &Reading| (reading.value / best.reading.value).ln().abs();
    if number.readings.iter().filter(|reading| is_other(reading)).any(|reading| ratio(reading) < 1.5 * TOLERANCE) {
        return true;
    }
    let others = all.filter(|fit| is_other(&fit.reading)).map(|fit| fit.distance);
    let other = others.min_by(f64::total_cmp);
    // A number that agrees less closely may be one in the other base that agrees with nothing.
    let printed = best.reading.resolution / best.reading.value;
    best.distance > CLEAR_BASE + printed || other.is_some_and(|other| other < UNCLEAR_BASE)
}

/// Divides the candidates into blocks: lines without a line between them, of one stream.
fn blocks(candidates: &[Candidate]) -> Vec<std::ops::Range<usize>> {
    let mut blocks = Vec::new();
    let mut begin = 0;
    for place in 1..=candidates.len() {
        let ends = candidates.get(place).is_none_or(|next| {
            let next_is_bare = next.is_bare;
            let (before, next) = (&candidates[place - 1].number.source, &next.number.source);
            let follows = before.stream == next.stream && next.line.saturating_sub(before.line) <= 1;
            // A line is never divided.
            !follows || next_is_bare || place - begin >= MOST_OF_BLOCK && next.line != before.line
        });
        if ends {
            blocks.push(begin..place);
            begin = place;
        }
    }
    blocks
}

/// A share in percent, with two digits.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        _ if percent >= 10.0 => format!("{percent:.0} %"),
        _ if percent >= 0.1 => format!("{percent:.1} %"),
        _ if percent >= 0.01 => format!("{percent:.2} %"),
        _ => "less than 0.01 %".to_owned(),
    }
}

#[cfg(test)]
mod tests;
