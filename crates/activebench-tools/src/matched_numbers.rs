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
//! Where another number of the same line or block agrees with the same window, and one is an amount and the other a
//! time or rate, their chances are multiplied, and by the number of pairs that there are. All of it is multiplied by the
//! number of lines with numbers.

mod chance;
mod subject;

use std::collections::BTreeMap;

use activebench_model::claim::{Claim, Metric, NearestPass, Parsed, Subject, Unmatched, UnmatchedNumber};
use activebench_model::direction::Direction;
use activebench_model::observed_pass::ObservedPass;
use activebench_model::output::ToolOutput;
use activebench_model::units::{Quantity, Unit};

use crate::printed_numbers::{Counted, PrintedNumber, Reading, printed_numbers};
use crate::stated_claims::{StatedClaim, StatedNumber};

/// Largest probability, over the whole run, that a number agrees by chance.
pub const MOST_CHANCE: f64 = 0.01;

/// Decades over which a number without a relation to the I/O is taken to be spread.
pub const DECADES: f64 = 6.0;

/// Largest distance beside the printed resolution, as a share of the figure.
const TOLERANCE: f64 = 0.02;

/// Distance, as a share, by which a window may agree less than the best one and be taken for the one that was timed.
const SAME_WINDOW: f64 = 0.001;

/// Lines without a gap between them form a block of at most this many numbers.
const MOST_OF_BLOCK: usize = 16;

/// What is known of a run beside its passes and output.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The file name of the program.
    pub program: &'a str,
    /// The user's `--subject`.
    pub subject: Option<Subject>,
}

/// Claims, and the passes and windows that they are about.
#[derive(Clone, Debug, Default)]
pub struct Matched {
    /// Claims, notes, unmatched numbers.
    pub parsed: Parsed,
    /// The passes with claims, each with one of its windows, in the order of the passes.
    pub phases: Vec<(usize, usize)>,
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
        printed.numbers.into_iter().filter(|number| !is_stated(number)).map(found).collect();
    candidates.extend(stated.into_iter().map(|StatedNumber { number, latency }| {
        let metric = latency.or_else(|| metric_of(&number));
        Candidate { number, metric, latency, is_stated: true }
    }));
    candidates.sort_by_key(|candidate| (candidate.number.source.stream != "stdout", candidate.number.source.line));
    let mut matching = Matching::new(&candidates, passes);
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
}

fn found(number: PrintedNumber) -> Candidate {
    Candidate { metric: metric_of(&number), number, latency: None, is_stated: false }
}

/// Returns the metric of a number; `None` for one that no pass has a figure for.
fn metric_of(number: &PrintedNumber) -> Option<Metric> {
    match (number.unit, number.counted) {
        (_, Counted::Syncs) => None,
        (Unit::BytesPerSec, _) => Some(Metric::Throughput),
        (Unit::OpsPerSec, _) => Some(Metric::OperationRate),
        (Unit::Ns, Counted::PerOperation) => Some(Metric::TimePerOperation),
        (Unit::Bytes, _) if !number.is_statistic => Some(Metric::BytesMoved),
        (Unit::Count, Counted::Files) => None,
        (Unit::Count, _) if !number.is_statistic => Some(Metric::OperationsDone),
        _ => None,
    }
}

fn is_rate(metric: Option<Metric>) -> bool {
    metric.is_some_and(|metric| metric.is_rate(true) || metric.is_latency())
}

/// A figure of a pass with which a number is compared.
#[derive(Clone, Copy, Debug)]
struct Target {
    pass: usize,
    window: usize,
    value: f64,
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

struct Matching<'a> {
    candidates: &'a [Candidate],
    passes: &'a [ObservedPass],
    /// Figures that agree, by candidate.
    fits: Vec<Vec<Fit>>,
    /// The chance of each candidate alone.
    alone: Vec<f64>,
    outcomes: Vec<Outcome>,
    /// Lines with numbers that may become claims: found ones, stated ones.
    lines: [f64; 2],
    /// First candidate of each block.
    blocks: Vec<std::ops::Range<usize>>,
}

impl<'a> Matching<'a> {
    fn new(candidates: &'a [Candidate], passes: &'a [ObservedPass]) -> Self {
        let targets: Vec<Vec<Target>> = candidates.iter().map(|candidate| targets(candidate, passes)).collect();
        let fits: Vec<Vec<Fit>> =
            candidates.iter().zip(&targets).map(|(one, targets)| fits(&one.number, targets)).collect();
        let alone = candidates.iter().zip(&targets).zip(&fits).map(|((one, targets), fits)| {
            let values: Vec<f64> = targets.iter().map(|target| target.value).collect();
            let distance = fits.iter().map(|fit| fit.distance).fold(f64::MAX, f64::min);
            chance::of_number(&one.number, &values, distance)
        });
        let count = |is_stated: bool| {
            let own = candidates.iter().filter(|one| one.metric.is_some() && one.is_stated == is_stated);
            let mut lines: Vec<(&str, u64)> =
                own.map(|one| (one.number.source.stream.as_str(), one.number.source.line)).collect();
            lines.dedup();
            (lines.len() as f64).max(1.0)
        };
        let alone = alone.collect();
        let outcomes = candidates.iter().map(|_| Outcome::Open(String::new())).collect();
        let lines = [count(false), count(true)];
        Self { candidates, passes, fits, alone, outcomes, lines, blocks: blocks(candidates) }
    }

    /// Decides on each candidate, then chooses one window for each pass where one is enough.
    fn settle(&mut self) {
        for place in 0..self.candidates.len() {
            self.outcomes[place] = self.decided(place);
        }
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
                Counted::Files => "files are not compared with a number that no adapter reads",
                _ if candidate.number.is_statistic => "a statistic of single operations (hint: `--claim` says which)",
                _ => "a time alone says nothing of the I/O",
            };
            return Outcome::Open(why.to_owned());
        };
        let fits = &self.fits[place];
        if fits.is_empty() {
            return Outcome::Open("no pass has this figure".to_owned());
        }
        let with_time = self.with_time_of_line(place, fits);
        if with_time.is_empty() {
            return Outcome::Open("a pass has this figure, and another time than its line".to_owned());
        }
        let own = self.own_fits(place, &with_time);
        let mut passes: Vec<usize> = own.iter().map(|(fit, _)| fit.target.pass).collect();
        passes.sort_unstable();
        passes.dedup();
        let distinct = self.outermost(&passes);
        let [pass] = distinct[..] else {
            let names: Vec<&str> = distinct.iter().take(3).map(|pass| self.passes[*pass].name.as_str()).collect();
            return Outcome::Open(format!("{} passes agree with it: {}", distinct.len(), names.join(", ")));
        };
        let best = own.iter().filter(|(fit, _)| fit.target.pass == pass).min_by(|(one, _), (other, _)| {
            let key = |fit: &Fit| {
                // What the printed digits cannot distinguish is the same; a sync inside is the milder reading.
                let printed = fit.reading.resolution / fit.reading.value;
                (fit.distance.max(printed), !self.passes[pass].windows[fit.target.window].has_sync)
            };
            let ((one, mild), (other, milder)) = (key(one), key(other));
            one.total_cmp(&other).then(mild.cmp(&milder))
        });
        let Some((fit, chance)) = best.copied() else { return Outcome::Open("no pass has this figure".to_owned()) };
        let chance = (chance * self.lines[usize::from(candidate.is_stated)]).min(1.0);
        if chance >= MOST_CHANCE {
            return Outcome::Open(format!(
                "it agrees with {}, but by chance with a probability of {}",
                self.passes[pass].name,
                percent(chance)
            ));
        }
        let bytes = match metric {
            Metric::BytesMoved => None,
            _ => self.bytes_beside(place, pass),
        };
        Outcome::Claim { fit, chance, bytes }
    }

    /// A latency that the user named is about all operations of its direction.
    fn of_latency(&self, candidate: &Candidate) -> Outcome {
        let is_of = |pass: &ObservedPass| Some(pass.direction) == candidate.number.direction;
        let outermost = (0..self.passes.len()).rev().find(|place| is_of(&self.passes[*place]));
        let (Some(pass), Some(reading)) = (outermost, candidate.number.readings.first()) else {
            return Outcome::Open("no pass has this direction".to_owned());
        };
        let target = Target { pass, window: 0, value: reading.value };
        Outcome::Claim { fit: Fit { target, reading: *reading, distance: 0.0 }, chance: 0.0, bytes: None }
    }

    /// Returns the fits of a rate that the time of its line agrees with, if the line states an amount and one time.
    fn with_time_of_line(&self, place: usize, fits: &[Fit]) -> Vec<Fit> {
        let candidate = &self.candidates[place];
        let source = &candidate.number.source;
        let is_beside = |other: &usize| {
            let one = &self.candidates[*other];
            one.number.source.line == source.line && one.number.source.stream == source.stream
        };
        let beside: Vec<usize> = (0..self.candidates.len()).filter(is_beside).collect();
        let is_time = |other: &&usize| {
            let number = &self.candidates[**other].number;
            number.unit == Unit::Ns && number.counted == Counted::Amount && !number.is_statistic
        };
        let has_amount = beside.iter().any(|other| is_amount(self.candidates[*other].number.unit));
        let times: Vec<&usize> = beside.iter().filter(is_time).collect();
        let ([time], true, false) = (&times[..], has_amount, is_amount(candidate.number.unit)) else {
            return fits.to_vec();
        };
        let agrees =
            |fit: &&Fit| self.fits[**time].iter().any(|one| is_same_window(&one.target, &fit.target, Unit::Ns));
        fits.iter().filter(agrees).copied().collect()
    }

    /// Returns the fits of a candidate that other numbers support most, each with its chance before the number of lines.
    fn own_fits(&self, place: usize, fits: &[Fit]) -> Vec<(Fit, f64)> {
        let with: Vec<(Fit, f64, usize)> = fits
            .iter()
            .map(|fit| {
                let (supported, supporters) = self.supported(place, fit);
                (*fit, supported.min(self.alone[place]), supporters)
            })
            .collect();
        let most = with.iter().map(|(_, _, supporters)| *supporters).max().unwrap_or(0);
        with.into_iter()
            .filter(|(_, _, supporters)| *supporters == most)
            .map(|(fit, chance, _)| (fit, chance))
            .collect()
    }

    /// Returns the chance of a fit together with the numbers beside it that agree with the same window, and whether any
    /// of another kind does.
    fn supported(&self, place: usize, fit: &Fit) -> (f64, usize) {
        let block = self.blocks.iter().find(|block| block.contains(&place)).cloned().unwrap_or(place..place + 1);
        let own_line = self.candidates[place].number.source.line;
        let is_line = |other: &usize| self.candidates[*other].number.source.line == own_line;
        let line: Vec<usize> = block.clone().filter(is_line).collect();
        let all: Vec<usize> = block.collect();
        let mut least = (1.0_f64, 0);
        for (group, weight) in [(&line, 2), (&all, 1)] {
            let agreeing = group.iter().copied().filter(|other| {
                *other == place
                    || self.fits[*other]
                        .iter()
                        .any(|one| is_same_window(&one.target, &fit.target, self.candidates[*other].number.unit))
            });
            let (mut amount, mut rate) = (None::<f64>, None::<f64>);
            for other in agreeing {
                let kind = if is_amount(self.candidates[other].number.unit) { &mut amount } else { &mut rate };
                *kind = Some(kind.map_or(self.alone[other], |known| known.min(self.alone[other])));
            }
            if let (Some(amount), Some(rate)) = (amount, rate) {
                let pairs = (group.len() * (group.len() - 1) / 2).max(1) as f64;
                // Once for the line and once for the block.
                let chance = amount * rate * pairs * 2.0;
                if least.1 == 0 || chance < least.0 {
                    least = (chance.min(least.0), least.1.max(weight));
                }
            }
        }
        least
    }

    /// Returns the bytes of a pass if a number beside a candidate states them exactly.
    fn bytes_beside(&self, place: usize, pass: usize) -> Option<u64> {
        let block = self.blocks.iter().find(|block| block.contains(&place))?;
        let states = |other: &usize| {
            let one = &self.candidates[*other].number;
            one.unit == Unit::Bytes
                && self.fits[*other].iter().any(|fit| fit.target.pass == pass && fit.distance == 0.0)
        };
        block.clone().find(states).map(|_| self.passes[pass].bytes)
    }

    /// Returns the passes without those that are a part of another one of them. Reads and writes together count only
    /// where neither direction alone does.
    fn outermost(&self, passes: &[usize]) -> Vec<usize> {
        let is_mixed = |pass: usize| self.passes[pass].direction == Direction::Mixed;
        let one_way: Vec<usize> = passes.iter().copied().filter(|pass| !is_mixed(*pass)).collect();
        let passes = if one_way.is_empty() { passes } else { &one_way };
        let is_inside = |pass: usize| {
            let mut at = self.passes[pass].parent;
            while let Some(around) = at {
                if passes.contains(&around) {
                    return true;
                }
                at = self.passes[around].parent;
            }
            false
        };
        passes.iter().copied().filter(|pass| !is_inside(*pass)).collect()
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
                let of_pass = || self.fits[place].iter().filter(|fit| fit.target.pass == pass);
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
                let own = self.fits[place].iter().filter(|one| one.target.pass == pass && one.target.window == window);
                let nearest = own.min_by(|one, other| one.distance.total_cmp(&other.distance)).copied();
                if let Outcome::Claim { fit, .. } = &mut self.outcomes[place] {
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
            if is_open && candidate.metric.is_some() && self.fits[place].iter().any(again) {
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
                let agrees =
                    self.fits[place].iter().any(|fit| claimed.iter().any(|one| is_same_window(&fit.target, one, unit)));
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
        for (candidate, outcome) in self.candidates.iter().zip(&self.outcomes) {
            match outcome {
                Outcome::Support => {}
                Outcome::Open(reason) => unmatched.numbers.push(UnmatchedNumber {
                    printed: candidate.number.printed.clone(),
                    is_rate: is_rate(candidate.metric) && !candidate.number.is_extreme,
                    is_stated: candidate.is_stated,
                    reason: reason.clone(),
                    nearest: self.nearest(candidate),
                    source: candidate.number.source.clone(),
                }),
                Outcome::Claim { fit, chance, bytes } => {
                    let Some(metric) = candidate.metric else { continue };
                    let Target { pass, window, .. } = fit.target;
                    let observed = &self.passes[pass];
                    matched.phases.push((pass, window));
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
                        phase: observed.windows[window].phase.clone(),
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

    fn nearest(&self, candidate: &Candidate) -> Option<NearestPass> {
        let all = targets(candidate, self.passes);
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

fn is_amount(unit: Unit) -> bool {
    matches!(unit, Unit::Bytes | Unit::Count)
}

/// Returns true if two figures belong to one window; an amount belongs to every window of its pass.
fn is_same_window(of_other: &Target, own: &Target, unit: Unit) -> bool {
    of_other.pass == own.pass && (is_amount(unit) || of_other.window == own.window)
}

/// Returns the figures of the passes with which a number can agree.
fn targets(candidate: &Candidate, passes: &[ObservedPass]) -> Vec<Target> {
    let number = &candidate.number;
    let is_time = number.unit == Unit::Ns && number.counted == Counted::Amount && !number.is_statistic;
    if candidate.metric.is_none() && !is_time || candidate.latency.is_some() {
        return Vec::new();
    }
    let is_of = |pass: &ObservedPass| match number.direction {
        Some(direction) => pass.direction == direction,
        None => true,
    };
    let mut targets = Vec::new();
    for (place, pass) in passes.iter().enumerate().filter(|(_, pass)| is_of(pass)) {
        let operations = match number.counted {
            Counted::Files if pass.opens != pass.calls => None,
            _ => Some(pass.calls as f64),
        };
        let windows = if is_amount(number.unit) { &pass.windows[..1] } else { &pass.windows[..] };
        for (window, span) in windows.iter().enumerate() {
            let seconds = span.duration_ns() as f64 / 1e9;
            let value = match (number.unit, number.counted) {
                (Unit::BytesPerSec, _) => Some(pass.bytes as f64 / seconds),
                (Unit::OpsPerSec, _) => operations.map(|operations| operations / seconds),
                (Unit::Ns, Counted::PerOperation) => operations.map(|operations| seconds * 1e9 / operations),
                (Unit::Ns, _) => Some(seconds * 1e9),
                (Unit::Bytes, _) => Some(pass.bytes as f64),
                _ => operations,
            };
            if let Some(value) = value.filter(|value| value.is_finite() && *value > 0.0) {
                targets.push(Target { pass: place, window, value });
            }
        }
    }
    targets
}

/// Returns the figures with which a number agrees.
fn fits(number: &PrintedNumber, targets: &[Target]) -> Vec<Fit> {
    let mut fits = Vec::new();
    for target in targets {
        for reading in &number.readings {
            let difference = (reading.value - target.value).abs();
            // An amount is counted, not measured.
            let tolerance = if is_amount(number.unit) { 0.0 } else { TOLERANCE * target.value };
            if difference <= reading.resolution + tolerance {
                fits.push(Fit { target: *target, reading: *reading, distance: difference / target.value });
            }
        }
    }
    fits
}

/// Divides the candidates into blocks: lines without a line between them, of one stream.
fn blocks(candidates: &[Candidate]) -> Vec<std::ops::Range<usize>> {
    let mut blocks = Vec::new();
    let mut begin = 0;
    for place in 1..=candidates.len() {
        let ends = candidates.get(place).is_none_or(|next| {
            let (before, next) = (&candidates[place - 1].number.source, &next.number.source);
            let follows = before.stream == next.stream && next.line - before.line <= 1;
            // A line is never divided.
            !follows || place - begin >= MOST_OF_BLOCK && next.line != before.line
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
