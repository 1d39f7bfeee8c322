//! The numbers that a script prints itself, traced to the figures of the tools that it ran.
//!
//! A line is the script's own if no tool of the run wrote it. A number in it agrees with a figure, or with the sum, mean,
//! median, smallest or largest of several, within the printed digits of all of them and [`CONVERSION_RATIO`]. A number
//! for which no such figure is found is not traced, which accuses nobody.
//!
//! A fault is stated only where nothing honest explains the number, and where one of as many figures would agree with
//! it by chance in less than [`MOST_CHANCE`] of the cases.

mod alone;
mod altered;
mod candidates;
mod label;
mod load;
mod reprinted;
mod sections;
mod tool_lines;

use std::collections::HashSet;

use activebench_model::claim::{Claim, Note, Printed, SourceLine};
use activebench_model::measurement::Measurement;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_model::phase::Phase;
use activebench_model::script_figure::{Derivation, Fault, Origin, ScriptFigure};
use activebench_model::units::{Quantity, Unit};

use crate::matched_numbers::PrintTimes;
use crate::printed_numbers::{PrintedNumber, Reading, printed_numbers};
use crate::registry::ADAPTERS;
pub(crate) use alone::{NumbersAlone, rates_of, restates};
use candidates::{Candidate, Candidates, Repeats, own_digits};
use label::{Label, Side};
use load::Load;
use sections::{Sections, keys_around};
use tool_lines::{OwnNumbers, ToolLines};

/// Largest difference that is put down to intermediate rounding of the script, as a share of the number.
const CONVERSION_RATIO: f64 = 0.003;

/// Largest difference of a faulty number beyond its digits: what it comes from is then copied, not computed.
const COPY_RATIO: f64 = 0.0001;

/// Largest chance with which a stated fault is a coincidence.
const MOST_CHANCE: f64 = 0.01;

/// The same where the digits of a number decide against an honest origin.
const MOST_CHANCE_OF_DIGITS: f64 = MOST_CHANCE / 10.0;

/// Least ratio of two prefixes for which one of them is wrong: 1.049 for MiB and MB, 1.024 for KiB and kB.
const LEAST_PREFIX_RATIO: f64 = 1.04;

/// Decades over which figures are spread: a tenth of a MiB/s to some GiB/s.
const DECADES: f64 = 4.0;

/// From this share on, the last printed digit decides so much that a number agrees with almost anything.
const COARSE_RATIO: f64 = 0.1;

/// Difference from the figure from which on a number that was cut off is misleading, as a share of the figure.
const CUT_RATIO: f64 = 0.2;
/// The same of a number that was rounded to its nearest digit, which is what a reader expects.
const ROUNDED_RATIO: f64 = 0.5;

/// What the tools of a script printed and what was read of it.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// The executions of known tools.
    pub measurements: &'a [Measurement],
    /// What they printed, in their order.
    pub outputs: &'a [ToolOutput],
    /// Their claims.
    pub claims: &'a [Claim],
    /// The phases of the claims.
    pub phases: &'a [Phase],
    /// When the command printed what.
    pub print_times: &'a PrintTimes,
}

impl Measured<'_> {
    /// Returns when the first pass of all had ended; of a measurement whose passes are not all known, when it began. Before
    /// that there was no figure.
    fn first_figure_ns(&self) -> Option<u64> {
        let ended = |measurement: &Measurement| {
            let own = self.phases.iter().filter(|phase| measurement.owns(&phase.id));
            let ends: Option<Vec<u64>> = own.map(|phase| phase.window.map(|window| window.end_ns)).collect();
            ends.and_then(|ends| ends.into_iter().min()).unwrap_or(measurement.started_ns)
        };
        self.measurements.iter().map(ended).min()
    }
}

/// What was read of a script's own lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptNumbers {
    /// The numbers that are a figure or have the unit of one.
    pub figures: Vec<ScriptFigure>,
    /// The lines with other numbers alone.
    pub notes: Vec<Note>,
}

/// Finds the numbers in the lines of a command's output that no tool wrote, and traces each. Returns none if a part of
/// what the tools printed was not kept: its lines could not be told from the script's.
pub fn script_numbers(of_command: &ToolOutput, measured: Measured<'_>) -> ScriptNumbers {
    if measured.measurements.iter().any(|measurement| measurement.missing_output_bytes > 0) {
        return ScriptNumbers::default();
    }
    let of_tools = ToolLines::of(measured.outputs, &of_command.files);
    let numbers = printed_numbers(of_command).numbers;
    let mut own_numbers = OwnNumbers::of(&of_tools, is_of_a_helper);
    let own = numbers.iter().filter(|number| own_numbers.include(&number.source, &number.place));
    let own: Vec<&PrintedNumber> = own.collect();
    let candidates = Candidates::of(measured);
    let lines_before = |stream| {
        let first_ns = measured.first_figure_ns()?;
        Some(measured.print_times.lines_before(of_command, stream, first_ns))
    };
    let too_early = [("stdout", lines_before("stdout")), ("stderr", lines_before("stderr"))];
    let is_too_early = |source: &SourceLine| {
        too_early
            .iter()
            .any(|(stream, lines)| source.stream == *stream && lines.is_some_and(|lines| source.line <= lines))
    };
    let sections = Sections::of(of_command);
    let mut figures: Vec<ScriptFigure> = Vec::new();
    let mut means: Vec<usize> = Vec::new();
    for row in own.chunk_by(|one, next| one.source == next.source) {
        let load = load_of_row(row);
        let is_too_early = is_too_early(&row[0].source);
        let mut names_no_result = false;
        let line = row[0].source.text.as_str();
        let side = Side::of(line, row[0].place.start, row[row.len() - 1].end);
        let of_all = label::of_all(line, &row[0].place, row[row.len() - 1], side);
        // The label of a number stands behind the number before it.
        let mut begin = 0;
        for number in row {
            let place = &number.place;
            let label = Label::of(line, begin, &(place.start..number.end), side);
            begin = number.end;
            // The label of the row says what the column of a cell leaves open, and what words of metrics do.
            let of_row = match (number.column.is_some() && label.is_empty(), label.names_metrics_alone()) {
                (true, _) => Some(&line[..row[0].place.start]),
                (false, true) => of_all,
                (false, false) => None,
            };
            let of_row = of_row.map(str::to_owned);
            let of_line = number.column.iter().cloned().chain(of_row).chain(keys_around(line, place.start));
            let around: Vec<String> = of_line.chain(sections.over(&number.source).iter().cloned()).collect();
            let label = label.within(around.iter().map(String::as_str));
            let label = label.of_counted(number.counted.direction()).in_row(load);
            // `required: 500 MB/s and 9000 IOPS`.
            let goes_on = names_no_result && number.column.is_none() && label.only_goes_on();
            names_no_result = goes_on || label.names_no_result(number.unit);
            if let Some(figure) = trace(number, &label, &candidates, is_too_early) {
                let is_no_result = figure.is_no_result || names_no_result;
                let figure = ScriptFigure { is_no_result, ..figure };
                means.extend(label.says_mean().then_some(figures.len()));
                figures.push(figure);
            }
        }
    }
    mark_means_of_one(&mut figures, &means, &candidates);
    let mut alone = alone::numbers_alone(of_command);
    let every_number = alone.len();
    alone.retain(|one| own_numbers.include(&one.source, &one.place));
    let traced: Vec<(SourceLine, Printed)> =
        figures.iter().map(|figure| (figure.source.clone(), figure.printed.clone())).collect();
    let has_unit = |one: &alone::Alone| {
        let is_it = |source: &SourceLine, printed: &Printed| *source == one.source && printed.text == one.text;
        // `READ=98765432` says how many reads or bytes, and may be a rate.
        let mut others = numbers.iter().filter(|number| number.unit != Unit::Count);
        others.any(|number| is_it(&number.source, &number.printed))
            || traced.iter().any(|(source, printed)| is_it(source, printed))
    };
    for (place, one) in alone.iter().enumerate().filter(|(_, one)| !has_unit(one)) {
        let Some(claim) = alone::origin(one, every_number, measured.claims) else { continue };
        let origin = Origin { derivation: Derivation::Equal, claims: vec![claim.id.clone()], value: claim.value };
        let line = one.source.text.as_str();
        let first = alone[..place].iter().rev().take_while(|before| before.source == one.source).last().unwrap_or(one);
        let last = alone[place..].iter().take_while(|after| after.source == one.source).last().unwrap_or(one);
        let begin = if first == one { 0 } else { alone[place - 1].place.end };
        let label = Label::of(line, begin, &one.place, Side::of(line, first.place.start, last.place.end));
        let around = one.column.iter().cloned().chain(keys_around(line, one.place.start));
        let around: Vec<String> = around.chain(sections.over(&one.source).iter().cloned()).collect();
        let label = label.within(around.iter().map(String::as_str));
        figures.push(ScriptFigure {
            printed: Printed { text: one.text.clone(), unit: String::new() },
            value: claim.value,
            source: one.source.clone(),
            fault: candidates.single_of(&claim.id).and_then(|candidate| label.of_another(candidate, &candidates)),
            origin: Some(origin),
            meant: Vec::new(),
            is_no_result: false,
        });
    }
    let shown = of_tools.shown(of_command);
    without_listed_repeats(&mut figures, &candidates, &shown);
    let is_written = |line: &str| of_tools.include(line);
    // `fio --output=FILE`: the report is in a file, and the script prints that.
    let of_file = |file: &ToolFile| ToolOutput { stdout: file.bytes.clone(), ..ToolOutput::default() };
    let files: Vec<ToolOutput> = of_command.files.iter().map(of_file).collect();
    let mut of_script = numbers.iter().map(|number| number.source.text.as_str()).filter(|line| !is_written(line));
    let is_beside_a_helper = of_script.any(is_of_a_helper);
    let written = altered::Written { printed: measured.outputs, files: &files, shown: &shown, is_beside_a_helper };
    altered::mark(of_command, written, |line| !is_written(line), measured.claims, &mut figures);
    reprinted::mark(of_command, measured, |line| !is_written(line), &mut figures);
    let compared: HashSet<(&str, u64)> =
        figures.iter().map(|figure| (figure.source.stream.as_str(), figure.source.line)).collect();
    let is_compared = |source: &SourceLine| compared.contains(&(source.stream.as_str(), source.line));
    let is_left = |one: &&alone::Alone| one.may_be_figure() && !is_compared(&one.source);
    let mut left: Vec<&SourceLine> = alone.iter().filter(is_left).map(|one| &one.source).collect();
    left.dedup();
    let message = "numbers of the script whose unit is not known: compared with nothing";
    let notes = left.into_iter().map(|source| Note { source: source.clone(), message: message.to_owned() }).collect();
    ScriptNumbers { figures, notes }
}

/// Returns the load that a row of numbers is about: what its cells say below the heads of their columns, or what stands
/// before its first rate.
fn load_of_row(row: &[&PrintedNumber]) -> Load {
    let Some(first) = row.first() else { return Load::default() };
    let line = first.source.text.as_str();
    let is_rate = |number: &&&PrintedNumber| matches!(number.unit, Unit::BytesPerSec | Unit::OpsPerSec);
    let rate = row.iter().find(is_rate).unwrap_or(first);
    let named = Load::of_words(&line[..rate.place.start]);
    first.row.as_deref().map_or(named, |cells| Load::of_words(cells).or(named))
}

/// Returns `true` for a figure of a program that scripts also use for other work, which is not among the measurements.
fn is_of_a_helper(line: &str) -> bool {
    let mut everyday = ADAPTERS.iter().filter(|adapter| adapter.is_everyday());
    everyday.any(|adapter| (adapter.forms().states_figures)(line.trim()))
}

/// Traces a number. `None` for one that is no figure: a size, a count or a time that comes from no figure of the run. One
/// that was printed before there was any figure comes from none.
fn trace(
    number: &PrintedNumber,
    label: &Label,
    candidates: &Candidates<'_>,
    is_too_early: bool,
) -> Option<ScriptFigure> {
    let first = *number.readings.first()?;
    let figure = |reading: Reading, origin: Option<Origin>, fault: Option<Fault>| ScriptFigure {
        printed: number.printed.clone(),
        value: Quantity { value: reading.value, unit: number.unit },
        source: number.source.clone(),
        origin,
        fault,
        meant: Vec::new(),
        is_no_result: is_too_early || label.names_no_result(number.unit),
    };
    if is_too_early {
        return matches!(number.unit, Unit::BytesPerSec | Unit::OpsPerSec).then(|| figure(first, None, None));
    }
    let of_unit: Vec<&Candidate> = candidates.of_unit(number.unit).collect();
    let singles = of_unit.iter().filter(|candidate| candidate.derivation == Derivation::Equal).count();
    let is_coarse = |reading: &Reading| 2.0 * reading.resolution > COARSE_RATIO * reading.value;
    if is_coarse(&first) {
        let (origin, fault) = coarse(number, label, candidates, &of_unit)?;
        return Some(figure(first, Some(origin), fault));
    }
    let mut explained: Vec<Explanation<'_>> = Vec::new();
    for reading in number.readings.iter().copied().chain(with_decimal_comma(number)) {
        explained.extend(of_unit.iter().filter_map(|candidate| Explanation::of(reading, candidate, label)));
    }
    let (contradicted, mut honest): (Vec<_>, Vec<_>) =
        explained.into_iter().partition(|explained| label.contradicts(explained.candidate, candidates));
    // What is copied explains a number better than what is near it, unless the words name how it was computed; and the
    // number's own digits better than those that the tool printed of a figure.
    let is_known =
        |explained: &Explanation<'_>| explained.is_by_own_digits && explained.chance(singles) < MOST_CHANCE_OF_DIGITS;
    if honest.iter().any(|explained| explained.is_by_own_digits) || contradicted.iter().any(is_known) {
        honest.retain(|explained| explained.is_by_own_digits || label.names_derivation_of(explained.candidate));
    }
    if honest.iter().any(|explained| explained.is_copied) {
        honest.retain(|explained| explained.is_copied || label.names_derivation_of(explained.candidate));
    }
    // The nearest in meaning comes first: what the words name, then what they do not contradict.
    honest.sort_by_key(|explained| label.distance(explained.candidate));
    let is_certain = |explained: &Explanation<'_>| explained.is_copied && explained.chance(singles) < MOST_CHANCE;
    if let Some(nearest) = honest.first() {
        // `kB` for 1024 is what most tools print, and sizes are named in either.
        let is_near = |reading: Reading| reading.value < LEAST_PREFIX_RATIO * first.value;
        let as_printed = number.unit != Unit::BytesPerSec || honest.iter().any(|explained| is_near(explained.reading));
        let fault = match as_printed {
            false => Some(Fault::OtherPrefix),
            true => {
                label.concealed(&honest.iter().map(|explained| explained.candidate).collect::<Vec<_>>(), candidates)
            }
        };
        return match fault {
            // Words that conceal what the number is are no proof that it is this.
            Some(Fault::AddedDirections | Fault::OtherSummary) if !is_certain(nearest) => {
                Some(figure(first, None, None))
            }
            Some(_) if !is_certain(nearest) => Some(figure(nearest.reading, Some(nearest.candidate.origin()), None)),
            fault => Some(figure(nearest.reading, Some(nearest.candidate.origin()), fault)),
        };
    }
    let mut certain = contradicted
        .iter()
        .filter(|explained| explained.candidate.derivation == Derivation::Equal && is_certain(explained));
    let of_another =
        certain.find_map(|explained| Some((explained, label.of_another(explained.candidate, candidates)?)));
    if let Some((Explanation { reading, candidate, .. }, fault)) = of_another {
        return Some(figure(*reading, Some(candidate.origin()), Some(fault)));
    }
    let faulty = scaled(number).into_iter().find_map(|(reading, fault)| {
        let mut near = of_unit.iter().filter(|candidate| candidate.agrees(reading, COPY_RATIO));
        let is_named = |candidate: &&&Candidate| {
            candidate.derivation == Derivation::Equal
                && label.speaks_of(candidate)
                && !label.contradicts(candidate, candidates)
        };
        let candidate = near.find(is_named)?;
        let chance = chance(singles, reading, candidate.tolerance(reading, COPY_RATIO));
        (chance < MOST_CHANCE).then_some((candidate, fault))
    });
    match faulty {
        Some((candidate, fault)) => Some(figure(first, Some(candidate.origin()), Some(fault))),
        // The tool printed this statistic, and it is another number.
        None if label.names_statistic_of(candidates) => {
            Some(ScriptFigure { meant: meant_latencies(label, &of_unit, candidates), ..figure(first, None, None) })
        }
        // Not every size and time that a script prints is a figure.
        None if matches!(number.unit, Unit::Bytes | Unit::Count | Unit::Ns) => None,
        None => Some(ScriptFigure { meant: meant_rates(label, &of_unit, candidates), ..figure(first, None, None) }),
    }
}

/// Returns the claims of rates that the words do not exclude; none where they exclude nothing.
fn meant_rates(label: &Label, of_unit: &[&Candidate], candidates: &Candidates<'_>) -> Vec<String> {
    let rates =
        of_unit.iter().filter(|candidate| candidate.derivation == Derivation::Equal && candidate.is_rate(candidates));
    let (excluded, meant): (Vec<&Candidate>, Vec<&Candidate>) =
        rates.copied().partition(|candidate| label.contradicts(candidate, candidates));
    if excluded.is_empty() { Vec::new() } else { identifiers(meant) }
}

/// Returns the claims of the statistic of latencies that the words name.
fn meant_latencies(label: &Label, of_unit: &[&Candidate], candidates: &Candidates<'_>) -> Vec<String> {
    let is_meant = |candidate: &&Candidate| {
        candidate.derivation == Derivation::Equal && label.may_mean_latency(candidate, candidates)
    };
    identifiers(of_unit.iter().copied().filter(is_meant).collect())
}

fn identifiers(candidates: Vec<&Candidate>) -> Vec<String> {
    let mut found: Vec<String> = candidates.into_iter().flat_map(|candidate| candidate.origin().claims).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// A candidate that a number may be, in one of its readings.
struct Explanation<'a> {
    reading: Reading,
    candidate: &'a Candidate,
    /// They agree within the printed digits: it is no coincidence of figures that are alike.
    is_copied: bool,
    /// They agree within the digits of the number alone.
    is_by_own_digits: bool,
}

impl<'a> Explanation<'a> {
    /// `None` where they do not agree. What the words do not name has to agree within the digits.
    fn of(reading: Reading, candidate: &'a Candidate, label: &Label) -> Option<Self> {
        let is_copied = candidate.agrees(reading, COPY_RATIO);
        let is_named = candidate.derivation == Derivation::Equal || label.names_derivation_of(candidate);
        let agrees = is_copied || is_named && candidate.agrees(reading, CONVERSION_RATIO);
        let is_by_own_digits = candidate.agrees_by_own_digits(reading);
        agrees.then_some(Self { reading, candidate, is_copied, is_by_own_digits })
    }

    /// The chance that one of as many figures agrees so well.
    fn chance(&self, figures: usize) -> f64 {
        let most = match self.is_by_own_digits {
            true => own_digits(self.reading),
            false => self.candidate.tolerance(self.reading, COPY_RATIO),
        };
        chance(figures, self.reading, most)
    }
}

/// The chance that one of as many figures is not further from a number than so much.
fn chance(figures: usize, reading: Reading, most: f64) -> f64 {
    let share = 2.0 * most / reading.value;
    figures as f64 * share / (DECADES * std::f64::consts::LN_10)
}

/// The readings of `196,422` as a decimal fraction, which it is in many languages.
fn with_decimal_comma(number: &PrintedNumber) -> Vec<Reading> {
    let has_three_decimals = number.printed.text.split_once(',').is_some_and(|(whole, decimals)| {
        decimals.len() == 3 && [whole, decimals].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    });
    let smaller = |one: &Reading| Reading { value: one.value / 1000.0, resolution: one.resolution / 1000.0, ..*one };
    if has_three_decimals { number.readings.iter().map(smaller).collect() } else { Vec::new() }
}

/// What the number would be if its unit were meant otherwise, with the fault that this is.
fn scaled(number: &PrintedNumber) -> Vec<(Reading, Fault)> {
    if !matches!(number.unit, Unit::BytesPerSec | Unit::OpsPerSec | Unit::Ns) {
        return Vec::new();
    }
    let Some(first) = number.readings.first() else { return Vec::new() };
    let by =
        |factor: f64| Reading { value: first.value * factor, resolution: first.resolution * factor, is_binary: None };
    let mut readings = Vec::new();
    if number.unit == Unit::BytesPerSec {
        readings.extend(prefixes(number).into_iter().map(|factor| (by(factor), Fault::OtherPrefix)));
    }
    let factors = match number.unit {
        Unit::BytesPerSec => &[1e3, 1e-3, 1024.0, 1.0 / 1024.0, 8.0, 0.125][..],
        Unit::Ns => &[1e3, 1e-3, 1e6, 1e-6],
        _ => &[1e3, 1e-3],
    };
    for factor in factors {
        readings.extend(number.readings.iter().map(|reading| {
            let (value, resolution) = (reading.value * factor, reading.resolution * factor);
            let scaled = Reading { value, resolution, is_binary: None };
            (scaled, Fault::OtherMagnitude)
        }));
    }
    readings
}

/// The factors by which other prefixes would change a number: each power of 1000 may be one of 1024, and the reverse.
/// `MB/s` for KiB/s divided by 1000 has one of each.
fn prefixes(number: &PrintedNumber) -> Vec<f64> {
    let Some(printed) = number.printed.text.replace(',', "").parse::<f64>().ok().filter(|value| *value > 0.0) else {
        return Vec::new();
    };
    let Some(first) = number.readings.first() else { return Vec::new() };
    let scale = first.value / printed;
    let powers =
        (1..=4).find(|power| [1000.0_f64, 1024.0].iter().any(|base| (scale / base.powi(*power) - 1.0).abs() < 1e-6));
    let Some(powers) = powers else { return Vec::new() };
    let meant = (0..=powers).map(|decimal| 1000.0_f64.powi(decimal) * 1024.0_f64.powi(powers - decimal));
    let is_read =
        |scale: f64| number.readings.iter().any(|reading| (reading.value / printed / scale - 1.0).abs() < 1e-6);
    meant.filter(|scale| !is_read(*scale)).map(|meant| meant / scale).collect()
}

/// Traces a number of one digit, with which almost any figure agrees: only where its words leave one figure.
fn coarse(
    number: &PrintedNumber,
    label: &Label,
    candidates: &Candidates<'_>,
    of_unit: &[&Candidate],
) -> Option<(Origin, Option<Fault>)> {
    let named = of_unit.iter().filter(|candidate| candidate.derivation == Derivation::Equal && label.admits(candidate));
    let mut named: Vec<&&Candidate> = named.filter(|candidate| candidate.is_rate(candidates)).collect();
    named.dedup_by(|one, other| one.value == other.value);
    let [only] = named[..] else { return None };
    let near = |reading: &&Reading| (only.value - reading.value).abs() < 2.0 * reading.resolution;
    let reading = number.readings.iter().find(near)?;
    // In the unit that is kindest to the number.
    let distance = |reading: &Reading| (only.value - reading.value).abs() / only.value;
    let least = number.readings.iter().map(distance).fold(distance(reading), f64::min);
    let is_nearest = |reading: &Reading| (only.value - reading.value).abs() <= 1.001 * reading.resolution;
    let most = if number.readings.iter().any(is_nearest) { ROUNDED_RATIO } else { CUT_RATIO };
    Some((only.origin(), (least >= most).then_some(Fault::Rounded)))
}

/// Finds the best of several runs that is called a mean below the figures of all of them. `means` are the figures of
/// which the words say that; with the last run alone, they may mean that of one run over its time.
fn mark_means_of_one(figures: &mut [ScriptFigure], means: &[usize], candidates: &Candidates<'_>) {
    let single = |figure: &ScriptFigure| match figure.origin.as_ref().map(|origin| &origin.claims[..]) {
        Some([claim]) => Some(claim.clone()),
        _ => None,
    };
    let others = (0..figures.len()).filter(|place| !means.contains(place));
    let printed: HashSet<String> = others.filter_map(|place| single(&figures[place])).collect();
    for place in means {
        let figure = &mut figures[*place];
        let Some(claim) = single(figure).filter(|_| figure.fault.is_none()) else { continue };
        let Some(Repeats { claims, .. }) = candidates.repeats_of(&claim) else { continue };
        if claims.iter().all(|other| printed.contains(*other)) && candidates.is_best(&claim) {
            figure.fault = Some(Fault::OtherSummary);
        }
    }
}

/// Takes the fault from the best of several runs where the others are there to be read, too: as a mean, only where the
/// same words state each.
fn without_listed_repeats(figures: &mut [ScriptFigure], candidates: &Candidates<'_>, shown: &HashSet<String>) {
    let words = |figure: &ScriptFigure| figure.source.text.replace(|c: char| c.is_ascii_digit() || c == '.', "");
    let single = |figure: &ScriptFigure| match figure.origin.as_ref().map(|origin| &origin.claims[..]) {
        Some([claim]) => Some((claim.clone(), words(figure))),
        _ => None,
    };
    let printed: HashSet<(String, String)> = figures.iter().filter_map(single).collect();
    let is_about_repeats = |fault| matches!(fault, Some(Fault::BestOfSeveral | Fault::OtherSummary));
    for figure in figures.iter_mut().filter(|figure| is_about_repeats(figure.fault)) {
        let Some(claim) = figure.origin.as_ref().and_then(|origin| origin.claims.first()) else { continue };
        let Some(Repeats { claims, lines }) = candidates.repeats_of(claim) else { continue };
        let is_mean = figure.fault == Some(Fault::OtherSummary);
        let own = words(figure);
        let is_printed =
            |other: &&&str| printed.iter().any(|(claim, said)| claim == **other && (!is_mean || *said == own));
        let others_printed = claims.iter().filter(is_printed).count() > 1;
        if others_printed || !is_mean && lines.iter().all(|line| shown.contains(line.trim())) {
            figure.fault = None;
        }
    }
}

#[cfg(test)]
mod tests;
